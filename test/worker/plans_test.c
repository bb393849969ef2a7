/* test/worker/plans_test.c - which plans are used again. */
#include <inttypes.h>
#include <malloc.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "worker/plans.h"
#include "workqueue/ops.h"

enum { NODES = 2, ELEMENTS = 16 };

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

static dcli_kept_plan *plan_with(dcli_catalog *catalog, dcli_entry *entry, const dcl_box *box)
{
    static dcli_kept_plan *plans[NODES];
    dcli_copy copy = {.storage = 1, .box = *box};
    dcli_node_copies copies[NODES] = {{.copy = &copy, .count = 1, .capacity = 1}};
    catalog->kept.node = copies;
    entry->plan = plans;
    plans[0] = plans[1] = NULL;
    dcli_kept_plan *plan = dcli_catalog_plan(catalog, entry, 0);
    catalog->kept.node = NULL;
    return plan;
}

/* What a node has of kept copies decides what it fetches: a plan for other copies is not its plan, whatever their hash. */
Test(plans, are_told_apart_by_the_copies_themselves)
{
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcli_layout *layout = test_layout("block", NODES, &grid);
    dcli_operation *operation =
        TEST_FORALL(1, "C(i) = A(15 - i);", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_IN, "A", 1, layout});
    operation->operand[1].kept = 1;
    dcli_catalog catalog = {.terms = {.node_count = NODES}, .self = 0, .peers = NODES, .kept = {.node_count = NODES}};
    catalog.terms.in_place = (const bool[NODES]){false};
    catalog.terms.kept = &catalog.kept;
    catalog.terms.batch_bytes = catalog.terms.chunk_bytes = catalog.terms.pool_bytes = 1 << 20;
    dcli_entry entry = {.operation = *operation};

    /* Copies of 8 elements from 8 on, and of one, whose stride says nothing. */
    dcl_box all = {.rank = 1, .start = {8}, .count = {8}, .stride = {1}};
    dcl_box one = {.rank = 1, .start = {9}, .count = {1}, .stride = {1}};
    const int64_t flat[2][5] = {{32, 1, 8, 8, 1}, {32, 1, 9, 1, 0}}; /* bytes, operand, start, count, stride */
    const int64_t apart[2][7] = {{1, 8, 8, 8, 8, 8, 1}, {1, 8, 9, 8, 1, 8, 0}}; /* the same, with bytes before each */
    dcli_kept_plan *first = plan_with(&catalog, &entry, &all);
    cr_assert_not_null(first, "%s", dcl_error());
    cr_expect_eq(plan_with(&catalog, &entry, &all), first, "the same copies, the same plan");
    cr_expect_neq(plan_with(&catalog, &entry, &one), first, "other copies");
    one.stride[0] = colliding(5, flat[0], flat[1]);
    cr_expect_neq(plan_with(&catalog, &entry, &one), first, "other copies of the same hash");
    one.stride[0] = colliding(7, apart[0], apart[1]);
    cr_expect_neq(plan_with(&catalog, &entry, &one), first, "other copies of the same hash, mixed otherwise");
    catalog.kept.node = NULL;
    dcli_plans_free(&catalog);
    test_ops_free();
}

/* A plan of as many works, and of the pieces they read, as there are elements: some 10 MB. */
static dcli_kept_plan *plan_part(dcli_catalog *catalog, dcli_entry *entry, int64_t start)
{
    static dcli_kept_plan *plans[NODES];
    entry->plan = plans;
    plans[0] = plans[1] = NULL;
    entry->operation.box.start[0] = start;
    dcli_kept_plan *plan = dcli_catalog_plan(catalog, entry, 0);
    cr_assert_not_null(plan, "%s", dcl_error());
    plan->uses--; /* its operation has ended */
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
    dcli_catalog catalog;
    dcli_plan_terms terms = {.node_count = NODES, .in_place = (const bool[NODES]){false}};
    terms.batch_bytes = terms.chunk_bytes = terms.pool_bytes = 1 << 20;
    dcli_catalog_init(&catalog, 0, &terms);
    catalog.most_plan_bytes = MOST;
    dcli_entry entry = {.operation = *operation};
    entry.operation.box.count[0] = SIDE - PLANS;
    size_t before = mallinfo2().uordblks;
    dcli_kept_plan *first = plan_part(&catalog, &entry, 0);
    for (int64_t n = 1; n < PLANS; n++) {
        plan_part(&catalog, &entry, n);
        cr_expect_leq(catalog.plan_bytes, MOST, "%" PRId64 " bytes after plan %" PRId64, catalog.plan_bytes, n);
        cr_expect_eq(plan_part(&catalog, &entry, 0), first, "the plan that was used last but one stays");
    }
    size_t taken = mallinfo2().uordblks - before;
    cr_expect_gt(catalog.plan_bytes, 0);
    cr_expect_leq(taken, (size_t)MOST + (1 << 20), "%zu bytes are taken, %" PRId64 " are known of", taken,
                  catalog.plan_bytes);
    first->uses++;
    dcli_plans_trim(&catalog, 0);
    cr_expect_eq(catalog.plan_count, 1, "one plan is in use; %" PRId64 " are left", catalog.plan_count);
    cr_expect_eq(catalog.plan_bytes, first->bytes);
    dcli_plans_free(&catalog);
    cr_expect_eq(catalog.plan_bytes, 0);
    test_ops_free();
}
