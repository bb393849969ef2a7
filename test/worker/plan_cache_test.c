/* test/worker/plan_cache_test.c - plans that peers share: made once, however many want them at once. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/alloc.h"
#include "worker/plans.h"
#include "workqueue/ops.h"

enum { NODES = 2, ELEMENTS = 64, THREADS = 4, BOXES = 40 };

TestSuite(plan_cache, .timeout = 60);

static const dcli_node_ways nowhere[NODES];
static const dcli_plan_terms terms = {
    .node_count = NODES, .ways = nowhere, .batch_bytes = 1 << 20, .chunk_bytes = 1 << 20, .pool_bytes = 1 << 20};

static dcli_operation *make_operation(void)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcli_layout *layout = test_layout("block", NODES, &grid);
    return TEST_FORALL(1, "C(i) = A(63 - i);", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_IN, "A", 1, layout});
}

/* A peer that wants the plans of all nodes for operations with different boxes, twice. */
struct peer {
    dcli_plan_cache *cache;
    const dcli_operation *operation;
    int self;
    pthread_t thread;
    const dcli_plan *plan[BOXES][NODES]; /* of the first pass */
    int made_anew;
    dcli_cached_plan *held[BOXES][NODES];
    dcli_plans plans;
    dcli_directory directory;
};

static void *plan_all(void *argument)
{
    struct peer *peer = argument;
    peer->directory.node_count = NODES;
    dcli_plans_init(&peer->plans, peer->self, &terms, peer->cache, THREADS - 1, INT64_MAX);
    peer->plans.terms.directory = &peer->directory;
    dcli_operation operation = *peer->operation;
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < BOXES; b++)
            for (int node = 0; node < NODES; node++) {
                operation.box.count[0] = ELEMENTS - b;
                dcli_cached_plan *cached = dcli_plans_hold(&peer->plans, &operation, NULL, node);
                if (pass == 0)
                    peer->plan[b][node] = (peer->held[b][node] = cached) != NULL ? cached->plan : NULL;
                else
                    peer->made_anew += cached == NULL || cached->plan != peer->plan[b][node];
                if (cached != NULL && pass == 1)
                    dcli_plans_let_go(cached);
            }
    return NULL;
}

/* Peers 0 and 1 are the nodes themselves: their own plans are others than those that all others have of them. */
Test(plan_cache, threads_make_each_plan_once)
{
    dcli_plan_cache cache;
    struct peer *peer = dcli_calloc(THREADS, sizeof *peer);
    cr_assert_not_null(peer);
    dcli_plan_cache_init(&cache);
    dcli_operation *operation = make_operation();
    for (int t = 0; t < THREADS; t++) {
        peer[t].cache = &cache;
        peer[t].operation = operation;
        peer[t].self = t;
        cr_assert_eq(pthread_create(&peer[t].thread, NULL, plan_all, &peer[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(peer[t].thread, NULL);
        cr_expect_eq(peer[t].made_anew, 0, "peer %d", t);
    }
    cr_expect_eq(dcli_plan_cache_made(&cache), 2 * NODES * BOXES, "%d plans were made; expected %d",
                 (int)dcli_plan_cache_made(&cache), 2 * NODES * BOXES);
    for (int b = 0; b < BOXES; b++)
        for (int node = 0; node < NODES; node++) {
            cr_expect_eq(peer[2].plan[b][node], peer[3].plan[b][node], "box %d, node %d", b, node);
            cr_expect_eq(peer[1 - node].plan[b][node], peer[3].plan[b][node], "box %d, node %d", b, node);
            cr_expect_neq(peer[node].plan[b][node], peer[3].plan[b][node], "box %d, node %d", b, node);
        }
    for (int t = 0; t < THREADS; t++)
        dcli_plans_free(&peer[t].plans);
    dcli_plan_cache_free(&cache);
    dcli_free(peer);
    test_ops_free();
}

/* Node 1's plan of an operation, with nothing kept. */
static dcli_plan_wanted want_plan(void)
{
    static const dcli_directory_state none;
    dcli_plan_wanted wanted = {.operation = make_operation(), .state = &none, .node = 1};
    wanted.hash = dcli_plan_hash(&wanted);
    return wanted;
}

Test(plan_cache, a_plan_lasts_as_long_as_some_peer_keeps_it)
{
    dcli_plan_cache cache;
    dcli_plan_cache_init(&cache);
    dcli_plan_wanted wanted = want_plan();
    dcli_shared_plan *one = dcli_plan_cache_hold(&cache, &wanted, &terms);
    cr_assert_not_null(one, "%s", dcl_error());
    cr_expect_eq(dcli_plan_cache_hold(&cache, &wanted, &terms), one);
    dcli_plan_cache_let_go(&cache, one);
    cr_expect_eq(dcli_plan_cache_hold(&cache, &wanted, &terms), one);
    dcli_plan_cache_let_go(&cache, one);
    dcli_plan_cache_let_go(&cache, one);
    cr_expect_eq(dcli_plan_cache_made(&cache), 1);
    cr_assert_not_null(one = dcli_plan_cache_hold(&cache, &wanted, &terms), "%s", dcl_error());
    cr_expect_eq(dcli_plan_cache_made(&cache), 2, "nobody had it any more");
    dcli_plan_cache_let_go(&cache, one);
    dcli_plan_cache_free(&cache);
    test_ops_free();
}

/* Keys whose numbers have equal sums have different hashes. */
Test(plan_cache, each_part_of_a_key_counts_in_its_hash)
{
    dcli_plan_wanted wanted = want_plan();
    dcli_operation operation = *wanted.operation;
    uint64_t hash[6];
    wanted.operation = &operation;
    wanted.shapes = (const bool[]){false, true};
    operation.value[1].u = 0;
    hash[0] = dcli_plan_hash(&wanted);
    wanted.with = 1;
    hash[1] = dcli_plan_hash(&wanted);
    wanted.with = 0;
    wanted.fine_elements = 1;
    hash[2] = dcli_plan_hash(&wanted);
    wanted.fine_elements = 0;
    operation.operand[1].generation = 1;
    hash[3] = dcli_plan_hash(&wanted);
    operation.operand[1].generation = 0;
    operation.operand[1].keeps = true;
    hash[4] = dcli_plan_hash(&wanted);
    operation.operand[1].keeps = false;
    operation.value[1].u = 1;
    hash[5] = dcli_plan_hash(&wanted);
    for (int n = 0; n < 6; n++)
        for (int m = 0; m < n; m++)
            cr_expect_neq(hash[n], hash[m], "keys %d and %d", m, n);
    test_ops_free();
}

/* Whichever allocation fails, nothing is left of the plan, and the next one who wants it gets it. */
Test(plan_cache, a_plan_that_could_not_be_made_is_made_later)
{
    dcli_plan_cache cache;
    dcli_plan_cache_init(&cache);
    dcli_plan_wanted wanted = want_plan();
    dcli_shared_plan *plan = NULL;
    int failures = 0;
    for (; plan == NULL && failures < 1000; failures++) {
        dcli_alloc_fail_after(failures + 1);
        plan = dcli_plan_cache_hold(&cache, &wanted, &terms);
        dcli_alloc_fail_after(0);
        cr_expect_eq(plan == NULL, dcli_plan_cache_made(&cache) == 0);
    }
    cr_assert_not_null(plan);
    cr_expect_gt(failures, 2, "the record and parts of the plan");
    dcli_plan_cache_let_go(&cache, plan);
    dcli_plan_cache_free(&cache);
    test_ops_free();
}
