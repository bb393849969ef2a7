/* test/runtime/array_test.c - making, asking about, filling, exchanging and releasing arrays. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(array_on_device, .timeout = TEST_SECONDS);
TestSuite(array_null, .timeout = TEST_SECONDS);

/* ---- at birth ----------------------------------------------------------------------------------------------------- */

enum { MOST_BYTES = 4096 };

/* Elements that differ from `expected`, of a grid of at most MOST_BYTES. */
static int64_t count_other(dcl_array *array, const void *expected)
{
    static char elements[MOST_BYTES];
    dcl_grid grid = dcl_grid_of(array);
    size_t bytes = dcl_type_bytes(grid.type);
    int64_t count = dcl_grid_count(&grid), other = 0;
    cr_assert(count * (int64_t)bytes <= MOST_BYTES);
    memset(elements, 0x5A, sizeof elements);
    TEST_OK(dcl_read(array, NULL, elements, NULL));
    for (int64_t e = 0; e < count; e++)
        other += memcmp(elements + (size_t)e * bytes, expected, bytes) != 0;
    return other;
}

Test(array_on_device, is_zero_at_birth_and_filled_in_every_type_and_rank)
{
    static const char *const maps[] = {"block", "cyclic(3)", "rows:cyclic", "columns:block"};
    static const int64_t ones[DCL_MAX_RANK] = {7, 2, 3, 2, 1, 2, 1, 2},
                         origin[DCL_MAX_RANK] = {-3, 5, 0, -1, 9, 0, 2, 4};
    static const char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8}, zero[8] = {0};
    dcl_cluster *cluster = open_nodes(3);
    for (int m = 0; m < 4; m++) {
        dcl_map *map = dcl_map_parse(cluster, maps[m]);
        for (int rank = 1; rank <= DCL_MAX_RANK; rank++) {
            dcl_type type = (dcl_type)(1 + (m + rank * 3) % DCL_DOUBLE);
            type = type == DCL_HALF ? DCL_DOUBLE : type;
            dcl_array *array = dcl_agile(dcl_grid_nd(type, rank, ones, rank % 2 ? origin : NULL), map);
            cr_assert_not_null(array, "%s", dcl_error());
            cr_expect_eq(count_other(array, zero), 0, "%s, rank %d: not zero at birth", maps[m], rank);
            TEST_OK(dcl_fill(array, pattern));
            cr_expect_eq(count_other(array, pattern), 0, "%s, rank %d: not filled", maps[m], rank);
            dcl_release(array);
        }
        dcl_release(map);
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* Memory that an array had before is given to the next one: still zero. */
Test(array_on_device, is_zero_where_another_array_was)
{
    enum { N = 256 };
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    for (int round = 0; round < 8; round++) {
        dcl_array *array = dcl_agile(dcl_grid_2d(DCL_INT32, 4, N), map);
        int32_t row[N], seven = 7;
        dcl_box last = dcl_box_nd(2, (int64_t[]){3, 0}, (int64_t[]){1, N});
        TEST_OK(dcl_read(array, &last, row, NULL));
        for (int i = 0; i < N; i++)
            cr_assert_eq(row[i], 0, "round %d: element %d is %d", round, i, row[i]);
        TEST_OK(dcl_fill(array, &seven));
        dcl_release(array);
    }
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(array_on_device, may_have_no_elements)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 0), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, 0), map);
    dcl_array *plane = dcl_agile(dcl_grid_2d(DCL_FLOAT, 0, 5), map);
    float one = 1;
    TEST_OK(dcl_fill(plane, &one));
    TEST_OK(dcl_read(plane, NULL, NULL, NULL));
    dcl_release(plane);
    TEST_OK(dcl_fill(A, &one));
    TEST_OK(test_shift(A, B, 1, 0, 1));
    TEST_OK(dcl_write(A, NULL, NULL, NULL));
    TEST_OK(dcl_read(A, NULL, NULL, NULL));
    TEST_OK(dcl_wait_for(A, -1));
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- questions ---------------------------------------------------------------------------------------------------- */

Test(array_on_device, tells_its_grid_map_and_cluster)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(2x3);tile=4x4");
    dcl_grid grid = dcl_grid_nd(DCL_INT16, 2, (int64_t[]){5, 7}, (int64_t[]){-2, 100});
    dcl_array *array = dcl_agile(grid, map);
    cr_expect(dcl_map_equal(dcl_map_of(array), map));
    dcl_release(map); /* the array keeps what it needs */
    dcl_grid kept = dcl_grid_of(array);
    char text[64];
    dcl_map_print(dcl_map_of(array), text, sizeof text);
    cr_expect_str_eq(text, "rows:cyclic(2x3);tile=4x4");
    cr_expect_eq(kept.type, DCL_INT16);
    cr_expect_eq(kept.rank, 2);
    cr_expect_arr_eq(kept.extent, grid.extent, 2 * sizeof(int64_t));
    cr_expect_arr_eq(kept.origin, grid.origin, 2 * sizeof(int64_t));
    cr_expect_eq(dcl_cluster_of(array), cluster);
    cr_expect_eq(dcl_node_count(cluster), 2);
    cr_expect_not_null(dcl_node_name(cluster, 1));
    cr_expect_null(dcl_node_name(cluster, 2));
    cr_expect_null(dcl_node_name(cluster, -1));
    dcl_release(array);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(array_null, passes_through)
{
    dcl_cluster *none = NULL;
    cr_expect_null(dcl_open_plan(0));
    cr_expect(strstr(dcl_error(), "nodes is 0") != NULL, "%s", dcl_error());
    dcl_map *map = dcl_map_parse(none, "block");
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_FLOAT, 4), map);
    cr_expect_null(map);
    cr_expect_null(array);
    cr_expect(strstr(dcl_error(), "nodes is 0") != NULL, "the first cause is gone: %s", dcl_error());
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_INVALID);
    cr_expect_eq(dcl_grid_of(array).rank, 0);
    cr_expect_null(dcl_map_of(array));
    cr_expect_null(dcl_cluster_of(array));
    cr_expect_eq(dcl_node_count(none), 0);
    cr_expect_null(dcl_node_name(none, 0));
    dcl_release(array);
    dcl_release(map);
    cr_expect_eq(dcl_close(none), DCL_OK);
    dcl_clear_error(NULL);
    cr_expect_eq(dcl_status_of(NULL), DCL_OK);
    cr_expect_str_eq(dcl_error(), "");
}

/* ---- exchanging --------------------------------------------------------------------------------------------------- */

static int32_t first_of(dcl_array *array)
{
    int32_t element = -1;
    dcl_box first = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){1});
    TEST_OK(dcl_read(array, &first, &element, NULL));
    return element;
}

Test(array_on_device, swaps_contents_in_the_programs_order)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, 100);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map);
    int32_t one = 1;
    TEST_OK(dcl_fill(A, &one));
    for (int step = 0; step < 10; step++) { /* B = A + 1, and the names change places */
        TEST_OK(test_shift(B, A, 1, 0, 1));
        TEST_OK(dcl_swap(A, B));
    }
    cr_expect_eq(first_of(A), 11);
    cr_expect_eq(first_of(B), 10);
    TEST_OK(dcl_swap(A, A));
    cr_expect_eq(first_of(A), 11);
    dcl_release(A);
    cr_expect_eq(first_of(B), 10, "the other array's contents went with it");
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- releasing ---------------------------------------------------------------------------------------------------- */

Test(array_on_device, is_released_while_operations_use_it)
{
    enum { N = 1000 };
    dcl_cluster *cluster = open_nodes(3);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, N);
    dcl_array *last = dcl_agile(grid, map);
    int32_t zero = 0, elements[N];
    TEST_OK(dcl_fill(last, &zero));
    for (int step = 0; step < 20; step++) {
        dcl_array *A = dcl_agile(grid, map), *B = last;
        TEST_OK(test_shift(A, B, -1, N - 1, step));
        dcl_release(B); /* it is still being read, by all nodes */
        last = A;
    }
    dcl_release(map);
    TEST_OK(dcl_read(last, NULL, elements, NULL));
    for (int i = 0; i < N; i++)
        cr_assert_eq(elements[i], 190, "element %d is %d", i, elements[i]);
    dcl_counters counters = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(counters.storage_bytes, N * 4, "storage of released arrays is kept: %lld bytes",
                 (long long)counters.storage_bytes);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error()); /* and `last` with it */
}

/* Closing waits, and releases what the program has not. */
Test(array_on_device, goes_with_its_cluster)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 100), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, 100), map);
    for (int step = 0; step < 50; step++)
        TEST_OK(test_shift(B, A, 1, 0, 1));
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(array_on_device, serves_from_several_clusters_at_once)
{
    dcl_cluster *first = open_nodes(3), *second = open_nodes(2);
    cr_assert_eq(dcl_node_count(first), 3);
    cr_assert_eq(dcl_node_count(second), 2);
    dcl_map *map = dcl_map_block(first), *other = dcl_map_block(second);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 10), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, 10), other);
    int32_t one = 1, two = 2;
    TEST_OK(dcl_fill(A, &one));
    TEST_OK(dcl_fill(B, &two));
    TEST_REFUSED(dcl_swap(A, B), DCL_ERR_INVALID, "different clusters");
    cr_expect_eq(first_of(A), 1);
    cr_expect_eq(dcl_status_of(second), DCL_OK, "the error of one cluster is kept by the other");
    cr_expect_eq(dcl_close(first), DCL_ERR_INVALID);
    cr_expect_eq(first_of(B), 2);
    dcl_release(map);
    dcl_release(B);
    dcl_release(other);
    cr_expect_eq(dcl_close(second), DCL_OK, "%s", dcl_error());
}
