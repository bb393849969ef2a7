/* test/runtime/transfer_test.c - boxes of arrays written from and read into the program's memory. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "segment/random.h"
#include "support/nodes.h"

TestSuite(transfer_on_device, .timeout = TEST_SECONDS);

/* ---- rows a reader can check -------------------------------------------------------------------------------------- */

/* A 3 x 4 array with origin (10, -1) of 0 1 2 3 / 4 5 6 7 / 8 9 10 11 on two nodes. */
static dcl_array *three_by_four(dcl_cluster *cluster)
{
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(2x1)");
    dcl_array *array = dcl_agile(dcl_grid_nd(DCL_INT32, 2, (int64_t[]){3, 4}, (int64_t[]){10, -1}), map);
    dcl_release(map);
    cr_assert_not_null(array, "%s", dcl_error());
    test_count_up(array, 0, 1);
    return array;
}

static void expect_read(dcl_array *array, dcl_box box, const int64_t strides[], int first, const int32_t expected[12])
{
    int32_t target[12];
    for (int e = 0; e < 12; e++)
        target[e] = -1;
    TEST_OK(dcl_read(array, &box, target + first, strides));
    for (int e = 0; e < 12; e++)
        cr_expect_eq(target[e], expected[e], "element %d is %d; expected %d", e, target[e], expected[e]);
}

Test(transfer_on_device, reads_boxes_with_strides)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *array = three_by_four(cluster);
    dcl_box all = dcl_box_nd(2, (int64_t[]){10, -1}, (int64_t[]){3, 4});
    dcl_box column = dcl_box_nd(2, (int64_t[]){10, 1}, (int64_t[]){3, 1}), corners = all;
    corners.count[0] = corners.count[1] = 2;
    corners.stride[0] = 2;
    corners.stride[1] = 3;
    expect_read(array, all, NULL, 0, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    expect_read(array, all, (int64_t[]){1, 3}, 0, (int32_t[]){0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
    expect_read(array, all, (int64_t[]){-4, -1}, 11, (int32_t[]){11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    expect_read(array, all, (int64_t[]){4, -1}, 3, (int32_t[]){3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8});
    expect_read(array, column, NULL, 0, (int32_t[]){2, 6, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1});
    expect_read(array, column, (int64_t[]){5, 1}, 1, (int32_t[]){-1, 2, -1, -1, -1, -1, 6, -1, -1, -1, -1, 10});
    expect_read(array, corners, NULL, 0, (int32_t[]){0, 3, 8, 11, -1, -1, -1, -1, -1, -1, -1, -1});
    expect_read(array, corners, (int64_t[]){-4, 2}, 8, (int32_t[]){-1, -1, -1, -1, 8, -1, 11, -1, 0, -1, 3, -1});
    dcl_release(array);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(transfer_on_device, writes_boxes_with_strides)
{
    static const int32_t source[] = {100, 101, 102, 103};
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *array = three_by_four(cluster);
    dcl_box all = dcl_box_nd(2, (int64_t[]){10, -1}, (int64_t[]){3, 4}), corners = all;
    corners.count[0] = corners.count[1] = 2;
    corners.stride[0] = 2;
    corners.stride[1] = 3;
    TEST_OK(dcl_write(array, &corners, source, NULL));
    expect_read(array, all, NULL, 0, (int32_t[]){100, 1, 2, 101, 4, 5, 6, 7, 102, 9, 10, 103});
    TEST_OK(dcl_write(array, &corners, source + 3, (int64_t[]){-2, -1}));
    expect_read(array, all, NULL, 0, (int32_t[]){103, 1, 2, 102, 4, 5, 6, 7, 101, 9, 10, 100});
    dcl_box row = dcl_box_nd(2, (int64_t[]){11, -1}, (int64_t[]){1, 4});
    TEST_OK(dcl_write(array, &row, source, (int64_t[]){77, 0})); /* one element for all of them */
    expect_read(array, all, NULL, 0, (int32_t[]){103, 1, 2, 102, 100, 100, 100, 100, 101, 9, 10, 100});
    dcl_release(array);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(transfer_on_device, returns_when_the_memory_may_change)
{
    enum { N = 5000 };
    dcl_config config = test_config(2);
    config.chunk_bytes = 1024; /* many messages */
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    static int32_t source[N], target[N];
    for (int round = 0; round < 5; round++) {
        for (int e = 0; e < N; e++)
            source[e] = round * N + e;
        TEST_OK(dcl_write(array, NULL, source, NULL));
        memset(source, -1, sizeof source);
        TEST_OK(dcl_read(array, NULL, target, NULL));
        for (int e = 0; e < N; e++)
            cr_assert_eq(target[e], round * N + e, "round %d: element %d is %d", round, e, target[e]);
    }
    dcl_release(array);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- random boxes against plain loops ----------------------------------------------------------------------------- */

enum { MOST_SIDE = 9, MOST_ELEMENTS = 4000 };

struct layout { /* of a box in the program's memory */
    int64_t step[DCL_MAX_RANK];
    int64_t first, elements;
};

/* Axes in a random order, with gaps and in both directions. */
static struct layout random_layout(test_random *random, const dcl_box *box)
{
    struct layout layout = {.elements = 1};
    bool placed[DCL_MAX_RANK] = {false};
    for (int n = 0; n < box->rank; n++) {
        int d = (int)test_between(random, 0, box->rank - 1);
        while (placed[d])
            d = (d + 1) % box->rank;
        placed[d] = true;
        layout.step[d] = layout.elements * test_between(random, 1, 2);
        layout.elements += layout.step[d] * (box->count[d] - 1);
        if (test_between(random, 0, 1) == 1) {
            layout.first += layout.step[d] * (box->count[d] - 1);
            layout.step[d] = -layout.step[d];
        }
    }
    return layout;
}

static dcl_box random_part(test_random *random, const dcl_grid *grid)
{
    dcl_box box = {.rank = grid->rank};
    for (int d = 0; d < grid->rank; d++) {
        int64_t first = test_between(random, 0, grid->extent[d] - 1);
        box.stride[d] = test_between(random, 1, 3);
        box.start[d] = grid->origin[d] + first;
        box.count[d] = test_between(random, 1, (grid->extent[d] - 1 - first) / box.stride[d] + 1);
    }
    return box;
}

/* Whether t[] was stepped to the next position in the box, last axis fastest. */
static bool next(const dcl_box *box, int64_t t[])
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++t[d] < box->count[d])
            return true;
        t[d] = 0;
    }
    return false;
}

/* Calls for every element of the box: where it is in the program's memory, and in a row-major copy of the grid. */
static void copy_box(const dcl_grid *grid, const dcl_box *box, const struct layout *layout, char *memory, char *model,
                     bool to_model)
{
    size_t bytes = dcl_type_bytes(grid->type);
    int64_t t[DCL_MAX_RANK] = {0};
    do {
        int64_t at = layout->first, element = 0;
        for (int d = 0; d < box->rank; d++) {
            at += t[d] * layout->step[d];
            element = element * grid->extent[d] + box->start[d] + t[d] * box->stride[d] - grid->origin[d];
        }
        char *in_memory = memory + (size_t)at * bytes, *in_model = model + (size_t)element * bytes;
        memcpy(to_model ? in_model : in_memory, to_model ? in_memory : in_model, bytes);
    } while (next(box, t));
}

static const char *random_map(test_random *random, int rank)
{
    static char text[128];
    static const char *const any[] = {"block", "cyclic", "cyclic(2)", "rows:block", "columns:cyclic", "rows:cyclic"};
    int kind = (int)test_between(random, 0, 8);
    if (kind < 6)
        return any[kind];
    char sizes[64] = "";
    for (int d = 0; d < rank; d++)
        sprintf(sizes + strlen(sizes), "%s%d", d > 0 ? "x" : "", (int)test_between(random, 1, 4));
    sprintf(text, "%s(%s)", kind == 6 ? "rows:cyclic" : kind == 7 ? "columns:cyclic" : "rows:block", sizes);
    return text;
}

static void check_random_array(dcl_cluster *cluster, uint64_t seed)
{
    test_random random = seed;
    int rank = (int)test_between(&random, 1, 4);
    dcl_type type = (dcl_type)test_between(&random, DCL_INT8, DCL_DOUBLE);
    type = type == DCL_HALF ? DCL_UINT16 : type;
    int64_t extent[4], origin[4];
    for (int d = 0; d < rank; d++) {
        extent[d] = test_between(&random, 1, rank == 1 ? 200 : MOST_SIDE);
        origin[d] = test_between(&random, -5, 5);
    }
    dcl_grid grid = dcl_grid_nd(type, rank, extent, origin);
    size_t bytes = dcl_type_bytes(type), model_bytes = (size_t)dcl_grid_count(&grid) * bytes;
    const char *text = random_map(&random, rank);
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(grid, map);
    cr_assert_not_null(array, "seed %" PRIu64 ", %s: %s", seed, text, dcl_error());
    char *model = calloc(1, model_bytes), *memory = malloc(16 * MOST_ELEMENTS * 8),
         *expected = malloc(16 * MOST_ELEMENTS * 8);
    for (int n = 0; n < 6; n++) {
        dcl_box box = random_part(&random, &grid);
        struct layout layout = random_layout(&random, &box);
        size_t length = (size_t)layout.elements * bytes;
        cr_assert(layout.elements <= 16 * MOST_ELEMENTS);
        for (size_t b = 0; b < length; b++)
            memory[b] = (char)test_next(&random);
        memcpy(expected, memory, length);
        if (n % 2 == 0) {
            TEST_OK(dcl_write(array, &box, memory + (size_t)layout.first * bytes, layout.step));
            copy_box(&grid, &box, &layout, memory, model, true);
        } else {
            TEST_OK(dcl_read(array, &box, memory + (size_t)layout.first * bytes, layout.step));
            copy_box(&grid, &box, &layout, expected, model, false);
        }
        cr_assert_arr_eq(memory, expected, length, "seed %" PRIu64 ", %s, transfer %d: memory differs", seed, text, n);
    }
    TEST_OK(dcl_read(array, NULL, memory, NULL));
    cr_expect_arr_eq(memory, model, model_bytes, "seed %" PRIu64 ", %s: contents differ", seed, text);
    free(model);
    free(memory);
    free(expected);
    dcl_release(array);
    dcl_release(map);
}

Test(transfer_on_device, agrees_with_plain_loops)
{
    enum { SEEDS = 60 };
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.chunk_bytes = mode == 0 ? 4 << 20 : 64;
        dcl_cluster *cluster = test_open(&config);
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            check_random_array(cluster, seed + 1000 * (uint64_t)mode);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}
