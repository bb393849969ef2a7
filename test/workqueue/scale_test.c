/* test/workqueue/scale_test.c - what an operation costs a node of a large cluster: how many pairs it plans, and that
 * planning and bookkeeping grow with these pairs, not with the number of nodes. Times are printed; they are compared
 * with each other, never with a clock. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "workqueue/large.h"

enum { ROUNDS = 9, FEW_NODES = 16, MANY_OPERATIONS = 400 };

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

/* Begin an operation and end it. @return the time that it took to begin it, in us. */
static double run(large *large, const dcli_operation *operation)
{
    double begin = now_us();
    large_begin(large, operation);
    double took = now_us() - begin;
    large_finish(large, operation);
    return took;
}

#define NINE_POINTS                                                                                               \
    "C(i,j) = A(i,j) + B(i-1,j-1) + B(i-1,j) + B(i-1,j+1) + B(i,j-1) + B(i,j) + B(i,j+1) + B(i+1,j-1) + B(i+1,j)" \
    " + B(i+1,j+1);"

struct scale_case {
    char what[24], body[128], map[16];
    int64_t pairs; /* of a node inside the node grid, at 100 nodes and more; -1: not limited */
};

struct figures {
    double first_us, each_us, again_us; /* planning a new operation, per plan: the node's own and one for each pair;
                                           and starting a repeated one */
    int64_t pairs;
};

static struct figures measure(const struct scale_case *c, int nodes)
{
    int64_t side = large_side(nodes);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    const dcli_layout *layout = test_layout(c->map, nodes, &grid);
    large *large = large_open(nodes, large_inside(nodes, layout));
    struct figures best = {.first_us = 1e30, .again_us = 1e30};
    for (int64_t number = 1; number <= 3; number++)
        run(large, test_operation(number, DCLI_OP_CREATE, number, layout));
    for (int64_t number = 4; number < 4 + 2 * ROUNDS; number++) {
        bool again = number % 2 != 0;
        if (!again)
            large_forget_plans(large);
        double took = run(large, TEST_FORALL(number, c->body, {DCL_ACCESS_OUT, "C", 1, layout},
                                             {DCL_ACCESS_IN, "A", 2, layout}, {DCL_ACCESS_IN, "B", 3, layout}));
        double *least = again ? &best.again_us : &best.first_us;
        *least = took < *least ? took : *least;
        cr_assert(!again || large->pairs == best.pairs, "%s: a repeated operation plans again", c->what);
        best.pairs = large->pairs;
    }
    large_close(large);
    test_ops_free();
    best.each_us = best.first_us / (double)(best.pairs + 1);
    return best;
}

ParameterizedTestParameters(scale, planning)
{
    static struct scale_case cases[] = {
        {"A + B", "C(i,j) = A(i,j) + B(i,j);", "block", 0},
        {"5-point stencil", "C(i,j) = A(i,j) + B(i-1,j) + B(i+1,j) + B(i,j-1) + B(i,j+1);", "block", 4},
        {"9-point stencil", NINE_POINTS, "block", 8},
        {"A + B^T", "C(i,j) = A(i,j) + B(j,i);", "block", -1},
        {"A + B^T", "C(i,j) = A(i,j) + B(j,i);", "block,*", -1},
    };
    return cr_make_param_array(struct scale_case, cases, sizeof cases / sizeof cases[0]);
}

/* Measure, and print. @return whether planning takes at most twice as long per plan as `few` does, and so does an
 * operation that is planned already, if there are not more pairs. */
static bool scales(const struct scale_case *c, int nodes, struct figures *few)
{
    struct figures figures = measure(c, nodes);
    fprintf(stderr,
            "%s, %s, %d nodes: %" PRId64 " pairs, %.1f us, %.2f us per plan; repeated: %.1f us; planning %.2f us per "
            "pair\n",
            c->what, c->map, nodes, figures.pairs, figures.first_us, figures.each_us, figures.again_us,
            (figures.first_us - figures.again_us) / (double)(figures.pairs > 0 ? figures.pairs : 1));
    cr_expect(c->pairs < 0 || nodes < 100 || figures.pairs == c->pairs, "%s: %" PRId64 " pairs at %d nodes", c->what,
              figures.pairs, nodes);
    if (few->pairs < 0)
        *few = figures;
    return figures.each_us <= 2 * few->each_us && (figures.pairs > few->pairs || figures.again_us <= 2 * few->again_us);
}

/* Times of a busy machine vary, so a comparison that fails is repeated. */
ParameterizedTest(struct scale_case *c, scale, planning)
{
    bool right = false;
    for (int attempt = 0; attempt < 5 && !right; attempt++) {
        struct figures few = {.pairs = -1};
        right = true;
        for (int nodes = 10; nodes <= LARGE_MOST_NODES; nodes *= 10)
            right &= scales(c, nodes, &few);
    }
    cr_expect(right, "%s, %s: more nodes take more than twice the time", c->what, c->map);
}

/* Chunks that the node has granted: to be sent when their turn comes. */
static int64_t granted[MANY_OPERATIONS + 3][FEW_NODES];

/* Carry out actions until there are none. */
static void act(large *large)
{
    dcli_action action;
    while (dcli_node_next(large->node, &action)) {
        int64_t number = action.operation != NULL ? action.operation->number : 0;
        dcl_status status = DCL_OK;
        if (action.kind == DCLI_DO_RUN)
            status = dcli_node_batch_done(large->node, number, action.index, DCL_OK);
        else if (action.kind == DCLI_DO_PACK)
            status = dcli_node_chunk_done(large->node, number, action.peer, false, DCL_OK);
        else if (action.kind == DCLI_DO_GRANT)
            granted[number][action.peer] = action.index;
        cr_assert_eq(status, DCL_OK, "%s", dcl_error());
    }
}

/* Begin an operation that needs edges of what the one before it computes. The peers grant all that they read. */
static void begin_sweep(large *large, int64_t number, const dcli_layout *layout)
{
    large_begin(large, TEST_FORALL(number, "C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);",
                                   {DCL_ACCESS_OUT, "C", 1 + number % 2, layout},
                                   {DCL_ACCESS_IN, "A", 2 - number % 2, layout}));
    for (int p = 0; p < large->nodes; p++)
        if (large->pair[p] != NULL && large->pair[p]->chunk_count > 0)
            cr_assert_eq(dcli_node_grant(large->node, p, number, large->pair[p]->chunk_count), DCL_OK, "%s",
                         dcl_error());
}

static void send_granted(large *large, int64_t number)
{
    for (int p = 0; p < large->nodes; p++)
        for (int64_t c = 0; c < granted[number][p]; c++)
            cr_assert_eq(dcli_node_chunk(large->node, p, number, false, c, DCL_OK), DCL_OK, "%s", dcl_error());
}

/* Begin many operations, and then let them run one after the other. @return how many the node has looked at for each. */
static double looks_per_operation(int64_t count)
{
    const int64_t first = 3;
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, 400, 400);
    const dcli_layout *layout = test_layout("block", FEW_NODES, &grid);
    large *large = large_open(FEW_NODES, large_inside(FEW_NODES, layout));
    memset(granted, 0, sizeof granted);
    for (int64_t number = 1; number < first; number++)
        run(large, test_operation(number, DCLI_OP_CREATE, number, layout));
    for (int64_t number = first; number < first + count; number++)
        begin_sweep(large, number, layout);
    cr_assert_eq(large->pairs, 4);
    int64_t before = dcli_node_looks(large->node);
    act(large);
    for (int64_t number = first; number < first + count; number++) {
        send_granted(large, number);
        act(large);
    }
    cr_expect(dcli_node_idle(large->node), "of %" PRId64 " operations, not all end", count);
    double looks = (double)(dcli_node_looks(large->node) - before) / (double)count;
    large_close(large);
    test_ops_free();
    return looks;
}

/* A node that has begun many operations, which all wait for others, does not look at all of them for each message. */
Test(scale, open_operations)
{
    double few = looks_per_operation(20), many = looks_per_operation(MANY_OPERATIONS);
    fprintf(stderr, "4 pairs: %.1f operations looked at for each of 20, %.1f for each of %d\n", few, many,
            MANY_OPERATIONS);
    cr_expect_leq(many, 1.2 * few);
    cr_expect_leq(many, 8 * (4 + 1));
}
