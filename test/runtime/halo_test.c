/* test/runtime/halo_test.c - arrays with halos on devices: what moves, what beyond an edge is read, what is refused. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(halo_on_device, .timeout = TEST_SECONDS);

enum { NODES = 3, COUNT = 12 };

static dcl_cluster *open_with(const char *move)
{
    dcl_config config = test_config(NODES);
    config.transfer = move;
    return test_open(&config);
}

static dcl_array *make(dcl_cluster *cluster, dcl_grid grid, const char *text)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(grid, map);
    cr_assert_not_null(array, "%s", dcl_error());
    dcl_map_release(map);
    return array;
}

/* C(i) = A(i-1) + 10 * A(i+1) on what A holds. @return bytes moved, as explained and as counted */
static int64_t run_ring(dcl_array *C, dcl_array *A, const int32_t value[COUNT])
{
    static const char body[] = "C(i) = A(i-1) + 10 * A(i+1);";
    dcl_cluster *cluster = dcl_cluster_of(A);
    dcl_arg args[] = {DCL_OUT(C), DCL_IN(A)};
    int32_t found[COUNT];
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, body, 2, args), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_forall_n(cluster, body, 2, args));
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned);
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(found[i], value[(i + COUNT - 1) % COUNT] + 10 * value[(i + 1) % COUNT], "C(%d) is %d", i,
                     found[i]);
    return planned.bytes_moved;
}

/* 0..3, 4..7 and 8..11: each node needs one element of either side's. */
static void check_ring(const char *move)
{
    dcl_cluster *cluster = open_with(move);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, COUNT);
    dcl_array *A = make(cluster, grid, "block;halo=1;periodic=0"), *C = make(cluster, grid, "block;halo=1;periodic=0");
    int32_t value[COUNT], nine = 9;
    for (int i = 0; i < COUNT; i++)
        value[i] = 3 * i;
    TEST_OK(dcl_write(A, NULL, value, NULL));
    cr_expect_eq(run_ring(C, A, value), 6 * 4);
    for (int k = 0; k < 20; k++)
        cr_assert_eq(run_ring(C, A, value), 0, "%s: use %d", move, k + 2);
    dcl_box first = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){1}),
            inner = dcl_box_nd(1, (int64_t[]){5}, (int64_t[]){1});
    TEST_OK(dcl_write(A, &first, &nine, NULL)); /* node 2 has a copy of it, behind its last */
    value[0] = 9;
    cr_expect_eq(run_ring(C, A, value), 4);
    TEST_OK(dcl_write(A, &inner, &nine, NULL)); /* nobody has */
    value[5] = 9;
    cr_expect_eq(run_ring(C, A, value), 0);
    TEST_OK(dcl_forall(cluster, "A(i) = 5 * i;", DCL_OUT(A)));
    for (int i = 0; i < COUNT; i++)
        value[i] = 5 * i;
    cr_expect_eq(run_ring(C, A, value), 6 * 4);
    cr_expect_eq(run_ring(C, A, value), 0);
    TEST_OK(dcl_swap(A, C)); /* the copies go with the elements */
    TEST_OK(dcl_read(A, NULL, value, NULL));
    cr_expect_eq(run_ring(C, A, value), 6 * 4);
    cr_expect_eq(run_ring(C, A, value), 0);
    dcl_release(A);
    dcl_release(C);
    dcl_close(cluster);
}

Test(halo_on_device, kept_fresh_in_place) { check_ring("place"); }

Test(halo_on_device, kept_fresh_by_streams) { check_ring("send"); }

/* A budget of nothing is for other copies. */
Test(halo_on_device, takes_nothing_of_the_budget)
{
    dcl_config config = test_config(NODES);
    config.kept_bytes = 0;
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, COUNT);
    dcl_array *A = make(cluster, grid, "block;halo=1;periodic=0"), *C = make(cluster, grid, "block");
    int32_t value[COUNT] = {0};
    TEST_OK(dcl_fill(A, &value[0]));
    cr_expect_eq(run_ring(C, A, value), 6 * 4);
    cr_expect_eq(run_ring(C, A, value), 0);
    TEST_OK(dcl_keep(A, true)); /* and what is farther away is kept while there is room: none */
    for (int k = 0; k < 2; k++) {
        static const char far[] = "C(i) = A(11 - i);";
        dcl_arg args[] = {DCL_OUT(C), DCL_IN(A)};
        dcl_counters planned;
        TEST_OK(dcl_call_explain(DCL_CALL_BODY_N(cluster, NULL, far, 2, args), DCL_ALL_NODES, &planned));
        cr_expect_eq(planned.bytes_moved, (3 + 3) * 4); /* ends exchange their four, of which copies have one each */
        TEST_OK(dcl_forall_n(cluster, far, 2, args));
    }
    dcl_release(A);
    dcl_release(C);
    dcl_close(cluster);
}

/* Explain knows what is there also after calls that were not explained: one that reads a halo and writes what was read
 * before ends copies of it, so that the same call makes them anew. */
Test(halo_on_device, of_what_was_written_by_a_body_with_a_halo_of_its_own)
{
    dcl_cluster *cluster = open_with("send");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, COUNT);
    static const char map[] = "block;halo=1;periodic=0", body[] = "C(i) = A(i-1) + 10 * A(i+1);";
    dcl_array *A = make(cluster, grid, map), *B = make(cluster, grid, map), *C = make(cluster, grid, "block");
    int32_t value[COUNT];
    test_count_up(A, 0, 1);
    test_count_up(B, 0, 7);
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
    TEST_OK(dcl_forall(cluster, "A(i) = B(i-1);", DCL_OUT(A), DCL_IN(B)));
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved, (6 + 3 + 6) * 4);
    TEST_OK(dcl_read(A, NULL, value, NULL));
    cr_expect_eq(run_ring(C, A, value), 0);
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_close(cluster);
}

/* Another halo moves nothing; swaps need the same one. */
Test(halo_on_device, is_a_property_of_the_map)
{
    dcl_cluster *cluster = open_with("send");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, COUNT);
    dcl_array *A = make(cluster, grid, "block"), *B = make(cluster, grid, "block;halo=1;periodic=0");
    dcl_map *map = dcl_map_parse(cluster, "block;halo=1;periodic=0");
    dcl_counters planned;
    int32_t value[COUNT];
    test_count_up(A, 4, 7);
    TEST_REFUSED(dcl_swap(A, B), DCL_ERR_INVALID, "the arrays differ in grid, type or map");
    dcl_clear_error(cluster);
    TEST_OK(dcl_call_explain(DCL_CALL_REMAP(A, map, 0), DCL_ALL_NODES, &planned));
    cr_expect_eq(planned.bytes_moved, 0);
    TEST_OK(dcl_remap(A, map));
    TEST_OK(dcl_swap(A, B));
    TEST_OK(dcl_read(B, NULL, value, NULL));
    cr_expect_eq(run_ring(A, B, value), 6 * 4);
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved, 6 * 4);
    dcl_map_release(map);
    dcl_release(A);
    dcl_release(B);
    dcl_close(cluster);
}

/* Beyond the width, and along other axes, the grid ends; what is read there is reported. */
Test(halo_on_device, ends_at_the_width)
{
    dcl_cluster *cluster = open_with("auto");
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 6, 4);
    dcl_array *A = make(cluster, grid, "block,*;halo=1,1;periodic=0"), *C = make(cluster, grid, "block,*");
    test_count_up(A, 0, 1);
    TEST_OK(dcl_forall(cluster, "C(i,j) = A(i-1,j) + A(i+1,j);", DCL_OUT(C), DCL_IN(A)));
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_forall(cluster, "C(i,j) = A(i-2,j);", DCL_OUT(C), DCL_IN(A)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "A(-2, ");
    cr_expect(strstr(dcl_error(),
                     "in [-1:7, 0:4], its grid and as far beyond periodic edges as its map's halo is wide") != NULL,
              "%s", dcl_error());
    dcl_clear_error(cluster);
    TEST_OK(dcl_forall(cluster, "C(i,j) = A(i,j+1);", DCL_OUT(C), DCL_IN(A)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, ", 4)");
    dcl_clear_error(cluster);
    dcl_release(A);
    dcl_release(C);
    dcl_close(cluster);
}

/* What a table stores nowhere reads as its fill value, also beyond the edge and in copies. */
Test(halo_on_device, with_elements_that_are_stored_nowhere)
{
    dcl_cluster *cluster = open_with("send");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, COUNT);
    dcl_array *A = make(cluster, grid, "rows:table(2);owners=-,0,1,-,2,1;rest=50;halo=1;periodic=0"),
              *C = make(cluster, grid, "block");
    static const int32_t value[COUNT] = {50, 50, 7, 7, 7, 7, 50, 50, 7, 7, 7, 7};
    TEST_OK(dcl_fill(A, &value[2]));
    run_ring(C, A, value);
    run_ring(C, A, value);
    dcl_release(A);
    dcl_release(C);
    dcl_close(cluster);
}
