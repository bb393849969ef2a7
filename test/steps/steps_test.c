/* test/steps/steps_test.c - how many steps an operation costs a node of a large cluster, and its host: planning, and the
 * state machine until the operation is retired; and whether planning grows with the elements. segment, resmap, workqueue and net are compiled for this runner so that
 * every basic block calls a function, which counts. Each turn of a loop is a block at least, so a loop over all nodes would show; and
 * unlike times, the counts are the same in every run. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "steps/count.h"
#include "workqueue/large.h"

void __sanitizer_cov_trace_pc(void); /* the name that compilers call */

int64_t steps;

void __sanitizer_cov_trace_pc(void) { steps++; }

struct steps_case {
    char what[24], body[96], map[16];
    double most; /* ratio between numbers of nodes, of steps per pair and per bit of a node's number */
    int64_t
        most_new; /* steps of a new operation with 4 pairs; 0: not limited. Without leaving out what does not concern
                         a pair, a stencil took 65,900 */
};

struct figures {
    int64_t pairs, first, again, messages; /* steps of a new operation, of a repeated one, and its messages */
};

/* An operation with its number. */
static const dcli_operation *sum(const struct steps_case *c, int64_t number, const dcli_layout *layout)
{
    return TEST_FORALL(number, c->body, {DCL_ACCESS_OUT, "C", 1, layout}, {DCL_ACCESS_IN, "A", 2, layout},
                       {DCL_ACCESS_IN, "B", 3, layout});
}

static int64_t run(large *large, const dcli_operation *operation, int64_t *steps_out)
{
    steps = 0;
    large_begin(large, operation);
    int64_t messages = large_finish(large, operation);
    *steps_out = steps;
    return messages;
}

static struct figures measure(const struct steps_case *c, int nodes)
{
    int64_t side = large_side(nodes), ignored;
    struct figures figures;
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    const dcli_layout *layout = test_layout(c->map, nodes, &grid);
    large *large = large_open(nodes, large_inside(nodes, layout));
    for (int64_t number = 1; number <= 3; number++)
        run(large, test_operation(number, DCLI_OP_CREATE, number, layout), &ignored);
    run(large, sum(c, 4, layout), &ignored); /* lists have grown: what follows is as in a long run */
    large_forget_plans(large);
    run(large, sum(c, 5, layout), &figures.first);
    figures.pairs = large->pairs;
    figures.messages = run(large, sum(c, 6, layout), &figures.again);
    large_close(large);
    test_ops_free();
    return figures;
}

ParameterizedTestParameters(steps, of_an_operation)
{
    static struct steps_case cases[] = {
        {"A + B", "C(i,j) = A(i,j) + B(i,j);", "block", 1, 0},
        {"5-point stencil", "C(i,j) = A(i,j) + B(i-1,j) + B(i+1,j) + B(i,j-1) + B(i,j+1);", "block", 1, 60000},
        {"A + B^T", "C(i,j) = A(i,j) + B(j,i);", "block", 2, 0}, /* pairs of different sizes */
        {"A + B^T", "C(i,j) = A(i,j) + B(j,i);", "block,*", 1.5, 0},
    };
    return cr_make_param_array(struct steps_case, cases, sizeof cases / sizeof cases[0]);
}

#ifdef NDEBUG
static const bool is_optimized = true;
#else
static const bool is_optimized = false; /* there are more steps without optimization, and with assertions */
#endif

ParameterizedTest(struct steps_case *c, steps, of_an_operation)
{
    struct figures few = {0};
    for (int nodes = 100; nodes <= LARGE_MOST_NODES; nodes *= 10) {
        struct figures many = measure(c, nodes);
        fprintf(stderr,
                "%s, %s, %d nodes: %" PRId64 " pairs; steps: new %" PRId64 ", repeated %" PRId64 "; %" PRId64
                " messages\n",
                c->what, c->map, nodes, many.pairs, many.first, many.again, many.messages);
        if (nodes == 100)
            few = many;
        double most = c->most * ((double)many.pairs + log2(nodes)) / ((double)few.pairs + log2(100));
        cr_expect((double)many.first <= most * (double)few.first && (double)many.again <= most * (double)few.again,
                  "%s, %s, %d nodes: %" PRId64 " and %" PRId64 " steps with %" PRId64 " pairs; %" PRId64 " and %" PRId64
                  " with %" PRId64 " at 100 nodes",
                  c->what, c->map, nodes, many.first, many.again, many.pairs, few.first, few.again, few.pairs);
        cr_expect(!is_optimized || c->most_new == 0 || many.first <= c->most_new,
                  "%s, %d nodes: %" PRId64 " steps, at most %" PRId64, c->what, nodes, many.first, c->most_new);
        cr_expect(many.messages <= 1 + 2 * many.pairs, "%s: %" PRId64 " messages to %" PRId64 " peers", c->what,
                  many.messages, many.pairs);
    }
}

/* ---- elements that are dealt singly ---- */

/* Plan a body that may read all of B at each index. B has a region for each element, and C one for each two, so every
 * work has the same footprint of many regions. */
static int64_t steps_with_hashed_elements(int nodes, int64_t count)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT64, count);
    const dcli_layout *C = test_layout("rows:hash(2)", nodes, &grid), *B = test_layout("rows:hash", nodes, &grid);
    const dcli_operation *operation =
        TEST_FORALL(1, "C(i) = B(i*i);", {DCL_ACCESS_OUT, "C", 1, C}, {DCL_ACCESS_IN_ALL, "B", 2, B});
    dcli_node_ways ways[2] = {{.can = 0}};
    dcli_plan_terms terms = {.node_count = nodes,
                             .ways = ways,
                             .batch_bytes = 16 << 20,
                             .chunk_bytes = 4 << 20,
                             .pool_bytes = 256 << 20,
                             .kept_bytes = 1 << 20};
    dcli_plan *plan = NULL;
    steps = 0;
    cr_assert_eq(dcli_plan_make(operation, 0, &terms, &plan), DCL_OK, "%s", dcl_error());
    int64_t taken = steps;
    dcli_plan_free(plan);
    test_ops_free();
    return taken;
}

Test(steps, of_elements_that_are_dealt_by_hash)
{
    for (int nodes = 1; nodes <= 2; nodes++) {
        int64_t few = steps_with_hashed_elements(nodes, 2000), many = steps_with_hashed_elements(nodes, 8000);
        fprintf(stderr, "hashed elements, %d nodes: %" PRId64 " steps for 2000, %" PRId64 " for 8000\n", nodes, few,
                many);
        cr_expect(many <= 6 * few, "%d nodes: %" PRId64 " steps for 4 times as many elements, %" PRId64 " before",
                  nodes, many, few);
    }
}

/* ---- the host ---- */

static int64_t steps_at_host(const struct steps_case *c, int nodes, int64_t *messages_out)
{
    int64_t side = large_side(nodes);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    const dcli_layout *layout = test_layout(c->map, nodes, &grid);
    large *large = large_open(nodes, nodes);
    int64_t most = 0;
    for (int64_t number = 1; number <= 20; number++) {
        const dcli_operation *operation =
            number <= 3 ? test_operation(number, DCLI_OP_CREATE, number, layout) : sum(c, number, layout);
        steps = 0;
        large_begin(large, operation);
        *messages_out = large_finish_at_host(large, operation);
        if (number > 10 && steps > most) /* lists have grown */
            most = steps;
    }
    large_close(large);
    test_ops_free();
    return most;
}

ParameterizedTestParameters(steps, of_an_operation_at_the_host)
{
    static struct steps_case cases[] = {
        {"5-point stencil", "C(i,j) = A(i,j) + B(i-1,j) + B(i+1,j) + B(i,j-1) + B(i,j+1);", "block", 1, 0},
        {"A + B^T", "C(i,j) = A(i,j) + B(j,i);", "block,*", 1, 0},
    };
    return cr_make_param_array(struct steps_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct steps_case *c, steps, of_an_operation_at_the_host)
{
    int64_t messages, few = steps_at_host(c, 100, &messages);
    for (int nodes = 1000; nodes <= LARGE_MOST_NODES; nodes *= 10) {
        int64_t many = steps_at_host(c, nodes, &messages);
        fprintf(stderr, "host, %s, %d nodes: %" PRId64 " steps, %" PRId64 " with 100; %" PRId64 " messages\n", c->what,
                nodes, many, few, messages);
        cr_expect((double)many <= c->most * (double)few * log2(nodes) / log2(100), "%" PRId64 " steps, %" PRId64, many,
                  few);
        cr_expect_eq(messages, 0, "the host exchanges no data with nodes");
    }
}
