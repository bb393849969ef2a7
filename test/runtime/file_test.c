/* test/runtime/file_test.c - .npy files loaded and saved, by the nodes and, in small stretches, by the host. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cluster.h"
#include "support/folder.h"
#include "support/nodes.h"

TestSuite(file_on_device, .timeout = TEST_SECONDS);

static const char *const ways[] = {"direct", "stream"};

enum { WAYS = sizeof ways / sizeof ways[0] };

static dcl_cluster *open_way(int nodes, const char *way)
{
    dcl_config config = test_config(nodes);
    config.chunk_bytes = 64; /* the longest stretch, too */
    dcl_cluster *cluster = test_open(&config);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), way);
    return cluster;
}

/* ---- files made by hand ------------------------------------------------------------------------------------------- */

/* A .npy file of format 1.0. Source: NumPy Enhancement Proposal 1. */
static void make_npy(const char *path, const char *descr, const char *fortran, const char *shape, const void *data,
                     size_t bytes)
{
    char header[128];
    int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    fputc(padded & 255, file);
    fputc(padded >> 8, file);
    fprintf(file, "%-*s\n", padded - 1, header);
    fwrite(data, 1, bytes, file);
    fclose(file);
}

static void expect_elements(dcl_array *array, const int16_t expected[6], const char *what)
{
    int16_t elements[6];
    TEST_OK(dcl_read(array, NULL, elements, NULL));
    for (int e = 0; e < 6; e++)
        cr_expect_eq(elements[e], expected[e], "%s: element %d is %d; expected %d", what, e, elements[e], expected[e]);
}

static void load_all_orders(const char *way)
{
    static const int16_t rows[] = {1, 2, 3, 4, 5, 6}, swapped[] = {0x0100, 0x0200, 0x0300, 0x0400, 0x0500, 0x0600};
    char path[TEST_PATH];
    dcl_cluster *cluster = open_way(2, way);
    test_make_folder();
    dcl_map *map = dcl_map_parse(cluster, "columns:cyclic(1x2)");
    dcl_array *array = dcl_agile(dcl_grid_nd(DCL_INT16, 2, (int64_t[]){2, 3}, (int64_t[]){5, 6}), map);
    test_path(path, "c.npy");
    make_npy(path, "<i2", "False", "(2, 3)", rows, sizeof rows);
    TEST_OK(dcl_load_npy(array, path));
    expect_elements(array, rows, "C order");
    make_npy(path, "<i2", "True", "(2, 3)", rows, sizeof rows);
    TEST_OK(dcl_load_npy(array, path));
    expect_elements(array, (int16_t[]){1, 3, 5, 2, 4, 6}, "Fortran order");
    make_npy(path, ">i2", "False", "(2, 3)", swapped, sizeof swapped);
    TEST_OK(dcl_load_npy(array, path));
    expect_elements(array, rows, "big-endian");
    dcl_npy_info info;
    TEST_OK(dcl_npy_inspect(path, &info));
    cr_expect(info.swapped && !info.fortran_order && info.grid.rank == 2 && info.grid.extent[1] == 3);
    cr_expect_eq(info.grid.type, DCL_INT16);
    cr_expect_eq(info.data_start % 64, 0);
    dcl_release(array);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

Test(file_on_device, loads_both_orders_and_both_byte_orders)
{
    for (int w = 0; w < WAYS; w++)
        load_all_orders(ways[w]);
}

/* The files have changed when the program may change them: loads are complete when they return. */
static void load_and_change(const char *way)
{
    static int32_t data[3000];
    char path[TEST_PATH];
    dcl_cluster *cluster = open_way(3, way);
    test_make_folder();
    test_path(path, "a.npy");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, 3000), map);
    for (int e = 0; e < 3000; e++)
        data[e] = e;
    make_npy(path, "<i4", "False", "(3000,)", data, sizeof data);
    TEST_OK(dcl_load_npy(array, path));
    cr_assert_eq(truncate(path, 0), 0);
    memset(data, 0, sizeof data);
    TEST_OK(dcl_read(array, NULL, data, NULL));
    for (int e = 0; e < 3000; e++)
        cr_assert_eq(data[e], e);
    dcl_release(array);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

Test(file_on_device, may_change_when_loading_returns)
{
    for (int w = 0; w < WAYS; w++)
        load_and_change(ways[w]);
}

/* ---- there and back ----------------------------------------------------------------------------------------------- */

static void save_and_load(dcl_cluster *cluster, const char *path, dcl_grid grid, const char *first, const char *second,
                          bool fortran_order)
{
    static char before[6000], after[6000];
    size_t bytes = (size_t)dcl_grid_count(&grid) * dcl_type_bytes(grid.type);
    dcl_map *map = dcl_map_parse(cluster, first), *other = dcl_map_parse(cluster, second);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, other);
    cr_assert(bytes <= sizeof before && A != NULL && B != NULL, "%s", dcl_error());
    for (size_t b = 0; b < bytes; b++)
        before[b] = (char)(b * 7 + 1);
    TEST_OK(dcl_write(A, NULL, before, NULL));
    TEST_OK(dcl_save_npy_order(A, path, fortran_order));
    TEST_OK(dcl_load_npy(B, path));
    TEST_OK(dcl_read(B, NULL, after, NULL));
    cr_expect_arr_eq(after, before, bytes, "%s, rank %d, %s -> %s: contents differ", dcl_type_name(grid.type),
                     grid.rank, first, second);
    dcl_npy_info info;
    TEST_OK(dcl_npy_inspect(path, &info));
    cr_expect_eq(info.grid.type, grid.type);
    cr_expect_eq(info.grid.rank, grid.rank);
    cr_expect_eq(info.fortran_order, fortran_order);
    cr_expect_not(info.swapped);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    dcl_release(other);
}

static void save_and_load_types(const char *way)
{
    static const char *const maps[] = {"block", "rows:cyclic", "cyclic(3)", "columns:block"};
    char path[TEST_PATH];
    dcl_cluster *cluster = open_way(3, way);
    test_make_folder();
    test_path(path, "there and back.npy");
    for (int type = DCL_INT8; type <= DCL_DOUBLE; type++) {
        if (type == DCL_HALF)
            continue;
        for (int rank = 1; rank <= 4; rank++) {
            int64_t extent[] = {7, rank == 2 ? 31 : 3, 5, 2};
            dcl_grid grid = dcl_grid_nd((dcl_type)type, rank, extent, (int64_t[]){-2, 3, 0, 1});
            save_and_load(cluster, path, grid, maps[(type + rank) % 4], maps[(type + 2 * rank + 1) % 4],
                          (type + rank) % 2);
        }
    }
    cr_expect_eq(test_files_left("there and back.npy"), 0, "other files are left");
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

Test(file_on_device, comes_back_from_a_file_under_another_map)
{
    for (int w = 0; w < WAYS; w++)
        save_and_load_types(ways[w]);
}

Test(file_on_device, holds_arrays_without_elements)
{
    char path[TEST_PATH];
    for (int w = 0; w < WAYS; w++) {
        dcl_cluster *cluster = open_way(2, ways[w]);
        test_make_folder();
        test_path(path, "empty.npy");
        save_and_load(cluster, path, dcl_grid_2d(DCL_FLOAT, 0, 4), "block", "rows:cyclic", false);
        save_and_load(cluster, path, dcl_grid_1d(DCL_FLOAT, 1), "block", "block", false);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
        test_remove_folder();
    }
}

/* Saving waits for the operations before it, and replaces the whole file at once. */
static void replace_in_order(const char *way)
{
    char path[TEST_PATH];
    dcl_cluster *cluster = open_way(2, way);
    test_make_folder();
    test_path(path, "a.npy");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 10000), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, 10000), map);
    make_npy(path, "<i4", "False", "(1,)", "abcd", 4);
    FILE *old = fopen(path, "rb");
    for (int step = 0; step < 30; step++) {
        TEST_OK(test_shift(B, A, 1, 0, 1));
        TEST_OK(dcl_swap(A, B));
    }
    TEST_OK(dcl_save_npy(A, path));
    TEST_OK(dcl_load_npy(B, path));
    int32_t elements[10000];
    TEST_OK(dcl_read(B, NULL, elements, NULL));
    for (int e = 0; e < 10000; e++)
        cr_assert_eq(elements[e], 30, "element %d is %d", e, elements[e]);
    fseek(old, -4, SEEK_END);
    char end[5] = "";
    cr_expect_eq(fread(end, 1, 4, old), 4);
    cr_expect_str_eq(end, "abcd", "the old file was written into");
    fclose(old);
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0666 & ~mask, "the file has mode %o", (unsigned)status.st_mode);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

Test(file_on_device, is_replaced_with_the_array_as_it_is_in_the_programs_order)
{
    for (int w = 0; w < WAYS; w++)
        replace_in_order(ways[w]);
}
