/* test/workqueue/scale_test.c - what an operation costs a node of a large cluster: how many pairs it plans, and that
 * planning and bookkeeping grow with these pairs, not with the number of nodes. Times are printed; they are compared
 * with each other, never with a clock. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "workqueue/node.h"
#include "workqueue/ops.h"

enum { MOST_NODES = 10000, ROUNDS = 9 };

/* One node of a large cluster. Its plans are kept by operation shape, as the cache of a process keeps them. */
struct large {
    int nodes, self;
    dcli_node_ways *ways;
    dcli_plan_terms terms;
    dcli_node *node;
    const dcli_operation *shape; /* the operation whose plans are kept; others have none to keep */
    dcli_plan *own, **pair;      /* [nodes] of its pairs */
    int64_t pairs;               /* number of pairs planned */
    dcli_plan *whole;            /* the plan of the last operation of another shape */
};

static const dcli_plan *plan_of(void *user, const dcli_operation *operation, int peer)
{
    struct large *large = user;
    dcli_plan_terms terms = large->terms;
    bool own = peer == large->self, kept = operation->kind == DCLI_OP_FORALL;
    dcli_plan **plan = !kept ? &large->whole : own ? &large->own : &large->pair[peer];
    terms.streams = terms.pair = !own;
    terms.with = large->self;
    if (!kept)
        dcli_plan_free(*plan);
    if (!kept || *plan == NULL) {
        large->pairs += !own;
        cr_assert_eq(dcli_plan_make(operation, peer, &terms, plan), DCL_OK, "%s", dcl_error());
    }
    return *plan;
}

static void forget_plans(struct large *large)
{
    dcli_plan_free(large->own);
    large->own = NULL;
    for (int p = 0; p < large->nodes; p++) {
        dcli_plan_free(large->pair[p]);
        large->pair[p] = NULL;
    }
    large->pairs = 0;
}

static struct large *large_open(int nodes, int self)
{
    static struct large large;
    large = (struct large){.nodes = nodes, .self = self};
    large.ways = calloc((size_t)nodes, sizeof *large.ways);
    large.pair = calloc((size_t)nodes, sizeof *large.pair);
    large.terms = (dcli_plan_terms){.node_count = nodes,
                                    .ways = large.ways,
                                    .batch_bytes = 16 << 20,
                                    .chunk_bytes = 4 << 20,
                                    .pool_bytes = 256 << 20,
                                    .kept_bytes = 1 << 20};
    dcli_node_terms terms = {.plan = large.terms,
                             .self = self,
                             .window_chunks = 2,
                             .made_bytes = 1 << 20,
                             .plan_of = plan_of,
                             .user = &large};
    large.node = dcli_node_open(&terms);
    cr_assert(large.ways != NULL && large.pair != NULL && large.node != NULL);
    return &large;
}

static void large_close(struct large *large)
{
    dcli_node_close(large->node);
    forget_plans(large);
    dcli_plan_free(large->whole);
    free(large->pair);
    free(large->ways);
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

/* Let an operation that was begun run to its end: peers send what is granted, and grant all. */
static void finish(struct large *large, int64_t number)
{
    static int64_t sent[MOST_NODES];
    memset(sent, 0, sizeof sent);
    for (int turn = 0; turn < 2; turn++) {
        dcli_action action;
        while (dcli_node_next(large->node, &action))
            if (action.kind == DCLI_DO_RUN)
                cr_assert_eq(dcli_node_batch_done(large->node, number, action.index, DCL_OK), DCL_OK);
            else if (action.kind == DCLI_DO_PACK)
                cr_assert_eq(dcli_node_chunk_done(large->node, number, action.peer, false, DCL_OK), DCL_OK);
            else if (action.kind == DCLI_DO_GRANT)
                for (int64_t *c = &sent[action.peer]; *c < action.index; ++*c)
                    cr_assert_eq(dcli_node_chunk(large->node, action.peer, number, false, *c, DCL_OK), DCL_OK, "%s",
                                 dcl_error());
        for (int p = 0; p < large->nodes && turn == 0; p++)
            if (large->pair[p] != NULL && large->pair[p]->chunk_count > 0)
                cr_assert_eq(dcli_node_grant(large->node, p, number, large->pair[p]->chunk_count), DCL_OK);
    }
    cr_assert(dcli_node_idle(large->node), "operation %" PRId64 " does not end", number);
}

/* Begin an operation and end it. @return the time that it took to begin it, in us. */
static double run(struct large *large, const dcli_operation *operation)
{
    double begin = now_us();
    cr_assert_eq(dcli_node_operation(large->node, operation), DCL_OK, "%s", dcl_error());
    double took = now_us() - begin;
    if (operation->kind == DCLI_OP_FORALL)
        finish(large, operation->number);
    else
        while (!dcli_node_idle(large->node)) {
            dcli_action action;
            cr_assert(dcli_node_next(large->node, &action));
            if (action.kind == DCLI_DO_RUN)
                cr_assert_eq(dcli_node_batch_done(large->node, operation->number, action.index, DCL_OK), DCL_OK);
        }
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
    double first_us, pair_us, again_us; /* planning a new operation, per pair, and starting a repeated one */
    int64_t pairs;
};

/* A node inside the grid that the nodes form, not on its diagonal. */
static int inside(int nodes, const dcli_layout *layout)
{
    int64_t middle[] = {layout->grid.extent[0] / 2, layout->grid.extent[1] / 3}, offset;
    int node;
    dcli_layout_locate(layout, middle, &node, &offset);
    cr_assert(node >= 0 && node < nodes);
    return node;
}

static struct figures measure(const struct scale_case *c, int nodes)
{
    int64_t side = 500; /* 250,000 elements per node */
    while (side * side < INT64_C(250000) * nodes)
        side += 500;
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    const dcli_layout *layout = test_layout(c->map, nodes, &grid);
    struct large *large = large_open(nodes, inside(nodes, layout));
    struct figures best = {.first_us = 1e30, .again_us = 1e30};
    for (int64_t number = 1; number <= 3; number++)
        run(large, test_operation(number, DCLI_OP_CREATE, number, layout));
    for (int64_t number = 4; number < 4 + 2 * ROUNDS; number++) {
        bool again = number % 2 != 0;
        if (!again)
            forget_plans(large);
        double took = run(large, TEST_FORALL(number, c->body, {DCL_ACCESS_OUT, "C", 1, layout},
                                             {DCL_ACCESS_IN, "A", 2, layout}, {DCL_ACCESS_IN, "B", 3, layout}));
        double *least = again ? &best.again_us : &best.first_us;
        *least = took < *least ? took : *least;
        cr_assert(!again || large->pairs == best.pairs, "%s: a repeated operation plans again", c->what);
        best.pairs = large->pairs;
    }
    large_close(large);
    test_ops_free();
    best.pair_us = best.first_us / (double)(best.pairs > 0 ? best.pairs : 1);
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

/* Measure, and print. @return whether planning takes at most twice as long per pair as `few` does, and so does an
 * operation that is planned already, if there are not more pairs. */
static bool scales(const struct scale_case *c, int nodes, struct figures *few)
{
    struct figures figures = measure(c, nodes);
    fprintf(stderr, "%s, %s, %d nodes: %" PRId64 " pairs, %.1f us, %.2f us per pair; repeated: %.1f us\n", c->what,
            c->map, nodes, figures.pairs, figures.first_us, figures.pair_us, figures.again_us);
    cr_expect(c->pairs < 0 || nodes < 100 || figures.pairs == c->pairs, "%s: %" PRId64 " pairs at %d nodes", c->what,
              figures.pairs, nodes);
    if (few->pairs < 0)
        *few = figures;
    return figures.pair_us <= 2 * few->pair_us && (figures.pairs > few->pairs || figures.again_us <= 2 * few->again_us);
}

/* Times of a busy machine vary, so a comparison that fails is repeated. */
ParameterizedTest(struct scale_case *c, scale, planning)
{
    bool right = false;
    for (int attempt = 0; attempt < 5 && !right; attempt++) {
        struct figures few = {.pairs = -1};
        right = true;
        for (int nodes = 10; nodes <= MOST_NODES; nodes *= 10)
            right &= scales(c, nodes, &few);
    }
    cr_expect(right, "%s, %s: more nodes take more than twice the time", c->what, c->map);
}
