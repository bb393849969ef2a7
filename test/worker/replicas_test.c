/* test/worker/replicas_test.c - for which operations a node has memory of a copy. */
#include <criterion/criterion.h>

#include "worker/replicas.h"
#include "workqueue/ops.h"

enum { NODES = 2, SELF = 0, ELEMENTS = 16 };

static dcli_operation *read_all(int64_t number, dcli_layout *layout, int64_t generation)
{
    dcli_operation *operation =
        TEST_FORALL(number, "C(i) = A(15 - i);", {DCL_ACCESS_OUT, "C", 0, layout}, {DCL_ACCESS_IN, "A", 1, layout});
    operation->operand[1].generation = generation;
    operation->operand[1].keeps = true;
    return operation;
}

static dcli_plan *plan(dcli_replicas *replicas, const dcli_operation *operation)
{
    static const dcli_node_ways ways[NODES];
    dcli_plan_terms terms = {.node_count = NODES,
                             .ways = ways,
                             .batch_bytes = 1 << 20,
                             .chunk_bytes = 1 << 20,
                             .pool_bytes = 1 << 20,
                             .kept_bytes = 1 << 20,
                             .directory = &replicas->directory};
    dcli_plan *plan;
    cr_assert_eq(dcli_plan_make(operation, SELF, &terms, &plan), DCL_OK, "%s", dcl_error());
    return plan;
}

/* The copy is there from operation 1 to 2, which writes what it is of, and no longer once these are complete. */
Test(replicas, last_until_what_they_are_of_is_written)
{
    static dcli_replicas replicas;
    dcl_grid grid = dcl_grid_1d(DCL_INT32, ELEMENTS);
    dcli_layout *layout = test_layout("block", NODES, &grid);
    dcli_operation *reads = read_all(1, layout, 1);
    dcl_box box = {.rank = 1, .start = {8}, .count = {8}, .stride = {1}};
    replicas = (dcli_replicas){.self = SELF, .directory = {.node_count = NODES}};
    dcli_replicas_begin(&replicas, reads);
    dcli_plan *own = plan(&replicas, reads);
    cr_assert_eq(dcli_replicas_add(&replicas, SELF, reads, own), DCL_OK, "%s", dcl_error());
    dcli_replicas_write(&replicas, reads);
    dcli_replica_memory *copy = dcli_replicas_find(&replicas, reads, 1, &box);
    cr_assert_not_null(copy);
    cr_expect_null(copy->memory, "whoever fills it makes its memory");
    cr_expect_eq(dcli_replicas_bytes(&replicas), 0);

    dcli_operation *writes = TEST_FORALL(2, "A(i) = i;", {DCL_ACCESS_OUT, "A", 1, layout});
    dcli_replicas_begin(&replicas, writes);
    dcli_replicas_write(&replicas, writes);
    cr_expect_eq(dcli_replicas_find(&replicas, reads, 1, &box), copy, "operation 1 is still open");
    cr_expect_eq(copy->until, 3);
    reads->number = 3;
    cr_expect_null(dcli_replicas_find(&replicas, reads, 1, &box));
    dcli_replicas_end(&replicas, 2);
    cr_expect_not_null(replicas.ending, "operation 2 is still open");
    dcli_replicas_end(&replicas, 3);
    cr_expect_null(replicas.ending);
    dcli_plan_free(own);
    dcli_replicas_end(&replicas, INT64_MAX);
    dcli_replicas_free(&replicas);
    test_ops_free();
}
