/* test/worker/plans_test.c - which plans are used again. */
#include <inttypes.h>
#include <malloc.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "worker/plans.h"
#include "workqueue/ops.h"

enum { NODES = 2, ELEMENTS = 16 };

static const dcli_node_ways nowhere[NODES + 1]; /* one more node is a thief */
static const dcli_plan_terms terms = {
    .node_count = NODES, .ways = nowhere, .batch_bytes = 1 << 20, .chunk_bytes = 1 << 20, .pool_bytes = 1 << 20};

static uint64_t hash_words(int count, const int64_t words[])
{
    uint64_t hash = DCLI_HASH_START;
    for (int w = 0; w < count; w++)
        hash = dcli_hash_word(hash, (uint64_t)words[w]);
    return hash;
}

/* The last word that makes other words hash as these do: every step of the hash can be undone. */
static int64_t colliding(int count, const int64_t words[], const int64_t others[])
{
    uint64_t before = hash_words(count - 1, words), other = hash_words(count - 1, others);
    return (int64_t)((uint64_t)words[count - 1] ^ before ^ other);
}

static dcli_cached_plan *plan_with(dcli_plans *plans, dcli_operation *operation, const dcl_box *box)
{
    dcli_replica copy = {.storage = 1, .box = *box};
    dcli_node_replicas copies[NODES] = {{.copy = &copy, .count = 1, .capacity = 1}};
    dcli_directory directory = {.node_count = NODES, .node = copies};
    plans->terms.directory = &directory;
    dcli_cached_plan *plan = dcli_plans_hold(plans, operation, NULL, 0);
    plans->terms.directory = NULL;
    return plan;
}

/* What a node has of kept copies decides what it fetches: a plan for other copies is not its plan, whatever their
 * hash. */
Test(plans, are_told_apart_by_the_copies_themselves)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcli_layout *layout = test_layout("block", NODES, &grid);
    dcli_operation *operation =
        TEST_FORALL(1, "C(i) = A(15 - i);", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_IN, "A", 1, layout});
    operation->operand[1].generation = 1;
    dcli_plan_cache cache;
    dcli_plans plans;
    dcli_plan_cache_init(&cache);
    dcli_plans_init(&plans, 0, &terms, &cache, 1, INT64_MAX);

    /* Copies of 8 elements from 8 on, and of one, whose stride says nothing. */
    dcl_box all = {.rank = 1, .start = {8}, .count = {8}, .stride = {1}};
    dcl_box one = {.rank = 1, .start = {9}, .count = {1}, .stride = {1}};
    const int64_t flat[2][5] = {{32, 1, 8, 8, 1}, {32, 1, 9, 1, 0}}; /* bytes, operand, start, count, stride */
    const int64_t apart[2][7] = {{1, 8, 8, 8, 8, 8, 1}, {1, 8, 9, 8, 1, 8, 0}}; /* the same, with bytes before each */
    dcli_cached_plan *first = plan_with(&plans, operation, &all);
    cr_assert_not_null(first, "%s", dcl_error());
    cr_expect_eq(plan_with(&plans, operation, &all), first, "the same copies, the same plan");
    cr_expect_neq(plan_with(&plans, operation, &one), first, "other copies");
    one.stride[0] = colliding(5, flat[0], flat[1]);
    cr_expect_neq(plan_with(&plans, operation, &one), first, "other copies of the same hash");
    one.stride[0] = colliding(7, apart[0], apart[1]);
    cr_expect_neq(plan_with(&plans, operation, &one), first, "other copies of the same hash, mixed otherwise");
    dcli_plans_free(&plans);
    dcli_plan_cache_free(&cache);
    test_ops_free();
}

/* A plan of as many works, and of the pieces they read, as there are elements: some 10 MB. */
static dcli_cached_plan *plan_part(dcli_plans *plans, dcli_operation *operation, int64_t start)
{
    operation->box.start[0] = start;
    dcli_cached_plan *plan = dcli_plans_hold(plans, operation, NULL, 0);
    cr_assert_not_null(plan, "%s", dcl_error());
    dcli_plans_let_go(plan);
    return plan;
}

/* What a hundred large plans would take was nobody's to limit as long as they were no more than 256. */
Test(plans, are_limited_by_bytes)
{
    enum { SIDE = 4000, PLANS = 24, MOST = 8 << 20 };
    dcl_grid grid = dcl_grid_1d(DCL_INT32, SIDE);
    dcli_layout *layout = test_layout("rows:hash(1)", NODES, &grid);
    dcli_operation *operation =
        TEST_FORALL(1, "C(i) = A(3999 - i);", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_IN, "A", 1, layout});
    dcli_plan_cache cache;
    dcli_plans plans;
    dcli_directory directory = {.node_count = NODES};
    dcli_plan_cache_init(&cache);
    dcli_plans_init(&plans, 0, &terms, &cache, 1, MOST);
    plans.terms.directory = &directory;
    operation->box.count[0] = SIDE - PLANS;
    size_t before = mallinfo2().uordblks;
    dcli_cached_plan *first = plan_part(&plans, operation, 0);
    for (int64_t n = 1; n < PLANS; n++) {
        plan_part(&plans, operation, n);
        cr_expect_leq(plans.bytes, MOST, "%" PRId64 " bytes after plan %" PRId64, plans.bytes, n);
        cr_expect_eq(plan_part(&plans, operation, 0), first, "the plan that was used last but one stays");
    }
    size_t taken = mallinfo2().uordblks - before;
    cr_expect_gt(plans.bytes, 0);
    cr_expect_leq(taken, (size_t)MOST + (1 << 20), "%zu bytes are taken, %" PRId64 " are known of", taken, plans.bytes);
    first->uses++;
    dcli_plans_trim(&plans, 0);
    cr_expect_eq(plans.count, 1, "one plan is in use; %" PRId64 " are left", plans.count);
    cr_expect_eq(plans.bytes, first->bytes);
    dcli_plans_free(&plans);
    dcli_plan_cache_free(&cache);
    cr_expect_eq(plans.bytes, 0);
    test_ops_free();
}

/* A layout that ends takes the plans of it along, and no others: also those that name it twice, or another one
 * first. */
Test(plans, end_with_their_layout_and_their_body)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcli_layout *block = test_layout("block", NODES, &grid), *cyclic = test_layout("cyclic(2)", NODES, &grid);
    dcli_operation *of_block =
        TEST_FORALL(1, "C(i) = A(15 - i);", {DCL_ACCESS_OUT, "C", 0, block}, {DCL_ACCESS_IN, "A", 1, block});
    dcli_operation *of_both =
        TEST_FORALL(2, "C(i) = A(15 - i) + 1;", {DCL_ACCESS_OUT, "C", 2, cyclic}, {DCL_ACCESS_IN, "A", 1, block});
    dcli_operation *of_cyclic =
        TEST_FORALL(3, "C(i) = A(15 - i) + 2;", {DCL_ACCESS_OUT, "C", 2, cyclic}, {DCL_ACCESS_IN, "A", 3, cyclic});
    dcli_operation *const all[] = {of_block, of_both, of_cyclic};
    dcli_plan_cache cache;
    dcli_plans plans;
    dcli_directory directory = {.node_count = NODES};
    dcli_plan_cache_init(&cache);
    dcli_plans_init(&plans, 0, &terms, &cache, 1, INT64_MAX);
    plans.terms.directory = &directory;
    for (int n = 0; n < 3; n++)
        for (int node = 0; node < NODES; node++)
            dcli_plans_let_go(dcli_plans_hold(&plans, all[n], NULL, node));
    cr_expect_eq(plans.count, 3 * NODES);
    dcli_plans_forget(&plans, block);
    cr_expect_eq(plans.count, NODES);
    bool fixed;
    cr_expect(dcli_plans_find(&plans, of_cyclic, NULL, &fixed) != NULL && fixed);
    cr_expect(dcli_plans_find(&plans, of_both, NULL, &fixed) == NULL &&
              dcli_plans_find(&plans, of_block, NULL, &fixed) == NULL);
    dcli_plans_forget_body(&plans, of_both->body);
    cr_expect_eq(plans.count, NODES);
    dcli_plans_forget_body(&plans, of_cyclic->body);
    cr_expect_eq(plans.count, 0);
    cr_expect_eq(plans.bytes, 0);
    dcli_plans_free(&plans);
    dcli_plan_cache_free(&cache);
    test_ops_free();
}

/* Loans of a plan. A failure that will not go away is remembered; without memory, it is tried again. */
Test(plans, loans_that_cannot_be_planned)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcli_layout *layout = test_layout("block;tile=2", NODES, &grid);
    dcli_layout *shifted = test_layout("block;tile=2;nodes=1,0", NODES, &grid);
    dcli_operation *sum =
        TEST_FORALL(1, "C(i) = A(i);", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_IN, "A", 1, layout});
    dcli_operation *elsewhere =
        TEST_FORALL(2, "C(i) = 1; D(i) = 2;", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_OUT, "D", 2, shifted});
    dcli_plan_cache cache;
    dcli_plans plans;
    dcli_cached_loan *loan = NULL, *again;
    dcli_plan_cache_init(&cache);
    dcli_plans_init(&plans, 0, &terms, &cache, 1, INT64_MAX);
    plans.terms.fine_elements = 2;
    dcli_cached_plan *plan = dcli_plans_hold_whole(&plans, sum, NULL, 0);
    dcli_cached_plan *writes = dcli_plans_hold_whole(&plans, elsewhere, NULL, 0);
    cr_assert(plan != NULL && writes != NULL && plan->plan->batch_count == 4, "%s", dcl_error());

    cr_expect_eq(dcli_plans_loan(&plans, plan, sum, 4, 1, 0, 1, &loan), DCL_ERR_INVALID, "there is no batch 4");
    cr_expect_eq(dcli_plans_loan(&plans, plan, sum, -1, 1, 0, 1, &loan), DCL_ERR_INVALID);
    cr_expect_null(loan);
    cr_expect_eq(dcli_plans_loan(&plans, plan, sum, 3, 2, 0, 1, &loan), DCL_ERR_INVALID, "nor a second one from 3 on");
    cr_expect_null(loan->loan);
    cr_expect_eq(dcli_plans_loan(&plans, writes, elsewhere, 0, 1, 0, 1, &loan), DCL_ERR_INVALID);
    cr_expect_eq(dcli_plans_loan(&plans, writes, elsewhere, 0, 1, 0, 1, &again), DCL_ERR_INVALID);
    cr_expect(loan == again && loan->loan == NULL, "it is not planned again");

    int64_t bytes = plans.bytes;
    int failed = 0;
    for (dcl_status status = DCL_ERR_NOMEM; status == DCL_ERR_NOMEM; failed++) {
        dcli_alloc_fail_after(failed + 1);
        status = dcli_plans_loan(&plans, plan, sum, 1, 2, 0, 1, &loan);
        dcli_alloc_fail_after(0);
        cr_expect(status == DCL_OK || (status == DCL_ERR_NOMEM && plans.bytes == bytes), "%s", dcl_error());
    }
    cr_expect_gt(failed, 5, "each allocation has failed once");
    cr_expect(loan->loan != NULL && loan->count == 2 && plans.bytes > bytes);
    cr_expect_eq(dcli_plans_loan(&plans, plan, sum, 1, 2, 0, 1, &again), DCL_OK);
    cr_expect_eq(again, loan);
    cr_expect_eq(dcli_plans_loan(&plans, plan, sum, 1, 1, 0, 1, &again), DCL_OK);
    cr_expect_neq(again, loan, "a loan of one batch is another one");
    cr_expect_eq(dcli_plans_loan(&plans, plan, sum, 1, 2, 0, 2, &again), DCL_OK);
    cr_expect_neq(again, loan, "so is one for another thief");
    dcli_plans_let_go(plan);
    dcli_plans_let_go(writes);
    dcli_plans_free(&plans);
    dcli_plan_cache_free(&cache);
    test_ops_free();
}
