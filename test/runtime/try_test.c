/* test/runtime/try_test.c - what stays in a cluster's status: errors of operations, not of calls that only make maps or views,
 * or only ask; and what comes of their NULLs. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(try_on_device, .timeout = TEST_SECONDS);
TestSuite(try_planned, .timeout = TEST_SECONDS);

#define TRY(call, words)                                                                                 \
    do {                                                                                                 \
        dcl_clear_error(cluster);                                                                        \
        cr_expect_null((call), "%s", #call);                                                             \
        cr_expect(strstr(dcl_error(), (words)) != NULL, "%s: \"%s\"", #call, dcl_error());               \
        cr_expect_neq(dcl_status_of(NULL), DCL_OK, "%s", #call);                                         \
        cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s stays in the cluster: %s", #call, dcl_error()); \
    } while (0)

Test(try_planned, maps_and_views_do_not_stay)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_map *map = dcl_map_block(cluster), *cyclic = dcl_map_parse(cluster, "cyclic");
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_INT32, 4, 6), map);
    const int64_t zero[2] = {0}, minus[2] = {-1, 1}, many[2] = {4, 7}, odd[2] = {5, 5};
    const dcl_grid grid = dcl_grid_1d(DCL_INT32, 8);
    const dcl_box wide = {.rank = 2, .count = {9, 9}, .stride = {1, 1}};
    TRY(dcl_map_parse(cluster, "blokc"), "dcl_map_parse: ");
    TRY(dcl_map_axes(cluster, 0, NULL, NULL), "dcl_map_axes: ");
    TRY(dcl_map_dealt(cluster, DCL_ROWS, DCL_DEAL_CYCLIC, 2, zero), "dcl_map_dealt: ");
    TRY(dcl_map_hash(cluster, DCL_ROWS, 2, zero, 1), "dcl_map_hash: ");
    TRY(dcl_map_table(cluster, DCL_ROWS, 1, zero, 1, NULL), "dcl_map_table: ");
    TRY(dcl_map_function(cluster, DCL_ROWS, 1, zero, &grid, NULL, NULL), "dcl_map_function: ");
    TRY(dcl_map_sparse(cluster, DCL_ROWS, 1, zero, 4, 0, NULL), "dcl_map_sparse: ");
    TRY(dcl_map_listed(cluster, 0, NULL, NULL), "dcl_map_listed: ");
    TRY(dcl_map_block_cyclic(cluster, 2, zero), "dcl_map_block_cyclic: ");
    TRY(dcl_map_weighted(cluster, 2, (double[]){0, 0}), "dcl_map_weighted: ");
    TRY(dcl_map_replicated(cluster, 5), "dcl_map_replicated: ");
    TRY(dcl_map_with_grains(map, 2, zero, minus), "dcl_map_with_grains: ");
    TRY(dcl_map_every(map, 2, zero), "dcl_map_every: ");
    TRY(dcl_map_halo(map, 2, minus, NULL, NULL), "dcl_map_halo: ");
    TRY(dcl_map_on(map, 0, NULL), "dcl_map_on: ");
    TRY(dcl_permute(A, (int[]){0, 0}), "dcl_permute: ");
    TRY(dcl_slice(A, zero, many, NULL), "dcl_slice: ");
    TRY(dcl_sub(A, &wide), "dcl_sub: ");
    TRY(dcl_broadcast(A, 7, 2), "dcl_broadcast: ");
    TRY(dcl_reshape(A, 2, odd), "dcl_reshape: ");
    TRY(dcl_take(A, 9, 0), "dcl_take: ");
    TRY(dcl_explain_report(cluster, "A(x,j) = 1;", DCL_OUT(A)), "dcl_explain_report: ");
    dcl_clear_error(cluster);
    dcl_release(A);
    dcl_release(cyclic);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

#define KEPT(call)                                                                                             \
    do {                                                                                                       \
        dcl_clear_error(cluster);                                                                              \
        dcl_clear_error(other);                                                                                \
        dcl_map *none = dcl_map_parse(cluster, "blokc");                                                       \
        dcl_array *view = dcl_transpose(dcl_agile(grid, NULL)); /* NULL passes through */                      \
        cr_assert(none == NULL && view == NULL);                                                               \
        (void)(call);                                                                                          \
        cr_expect(strncmp(dcl_error(), "dcl_map_parse: ", 15) == 0, "%s: \"%s\"", #call, dcl_error());         \
        cr_expect_eq(dcl_status_of(cluster), DCL_ERR_INVALID, "%s: the cluster has no error", #call);          \
        cr_expect(strncmp(dcl_error(), "dcl_map_parse: ", 15) == 0, "%s: kept is \"%s\"", #call, dcl_error()); \
        cr_expect_eq(dcl_status_of(other), DCL_OK, "%s: another cluster has it", #call);                       \
    } while (0)

/* A program that checks once at the end hears of the map that could not be made. */
Test(try_on_device, what_uses_the_null_is_kept)
{
    dcl_cluster *cluster = open_nodes(2), *other = dcl_open_plan(3);
    dcl_map *map = dcl_map_block(cluster);
    const dcl_grid grid = dcl_grid_1d(DCL_INT32, 8);
    dcl_array *A = dcl_agile(grid, map);
    int32_t element = 1, elements[8];
    KEPT(dcl_agile(grid, none));
    KEPT(dcl_fill(view, &element));
    KEPT(dcl_write(view, NULL, elements, NULL));
    KEPT(dcl_read(view, NULL, elements, NULL));
    KEPT(dcl_swap(view, view));
    KEPT(dcl_keep(view, true));
    KEPT(dcl_wait_for(view, -1));
    KEPT(dcl_load_npy(view, "none.npy"));
    KEPT(dcl_save_npy(view, "none.npy"));
    KEPT(dcl_remap(A, none));
    KEPT(dcl_remap(view, none));
    KEPT(dcl_copy(view, A));
    KEPT(dcl_copy(view, view));
    KEPT(dcl_move(view, NULL, 0));
    KEPT(dcl_call_run(DCL_CALL_MOVE(view, NULL, 0)));
    KEPT(dcl_reshape_copy(view, 1, (int64_t[]){8}, NULL));
    KEPT(dcl_forall(cluster, "view(i) = 1;", DCL_OUT(view)));
    dcl_clear_error(cluster);
    dcl_release(A);
    dcl_release(map);
    dcl_close(other);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* Asking about a NULL is no operation; nor is a NULL of a cluster that has been closed kept by anybody. */
Test(try_planned, asking_about_null_does_not_stay)
{
    dcl_cluster *cluster = dcl_open_plan(2), *closed = dcl_open_plan(2);
    const dcl_grid grid = dcl_grid_1d(DCL_INT32, 8);
    const int64_t index[1] = {0};
    dcl_counters counters;
    int64_t offset;
    int node;
    dcl_map *none = dcl_map_parse(cluster, "blokc");
    cr_expect_eq(dcl_map_locate(none, &grid, index, &node, &offset), DCL_ERR_INVALID);
    cr_expect_eq(dcl_call_explain(DCL_CALL_COPY(NULL, NULL), DCL_ALL_NODES, &counters), DCL_ERR_INVALID);
    cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s", dcl_error());
    dcl_clear_error(NULL);
    none = dcl_map_parse(closed, "blokc");
    dcl_close(closed);
    cr_expect_null(dcl_agile(grid, none));
    cr_expect_eq(dcl_status_of(cluster), DCL_OK, "%s", dcl_error());
    dcl_close(cluster);
}
