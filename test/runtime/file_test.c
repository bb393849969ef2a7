/* test/runtime/file_test.c - .npy files loaded and saved, by the nodes and, in small stretches, by the host. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cluster.h"
#include "support/folder.h"
#include "support/mount.h"
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

/* ---- files that others change meanwhile ---------------------------------------------------------------------------- */

/* Cut again and again whatever file there is in the test's folder, at any moment of its writing, until told to stop. */
struct cutter {
    char folder[TEST_PATH];
    atomic_bool stop;
    atomic_int cuts;
};

static void *keep_cutting(void *argument)
{
    struct cutter *cutter = argument;
    while (!atomic_load(&cutter->stop)) {
        DIR *folder = opendir(cutter->folder);
        for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
            int fd = entry->d_name[0] != '.' ? openat(dirfd(folder), entry->d_name, O_WRONLY | O_CLOEXEC) : -1;
            struct stat about;
            if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 100 && ftruncate(fd, 100) == 0)
                atomic_fetch_add(&cutter->cuts, 1);
            close(fd);
        }
        closedir(folder);
        usleep((useconds_t)(random() % 4000));
    }
    return NULL;
}

/* Short runs, as nodes had stored them into the mapped file, and long ones. */
static void save_while_cut(dcl_cluster *cluster, const char *text, struct cutter *cutter, const char *path)
{
    enum { ROUNDS = 6, MOST_SECONDS = 30 };
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_FLOAT, 1000, 1600), map);
    int cuts = atomic_load(&cutter->cuts), failed = 0;
    time_t end = time(NULL) + MOST_SECONDS;
    for (int round = 0; (round < ROUNDS || atomic_load(&cutter->cuts) == cuts) && time(NULL) < end; round++) {
        dcl_status status = dcl_save_npy(A, path);
        failed += status != DCL_OK;
        cr_expect(status == DCL_OK || (status == DCL_ERR_FILE && strstr(dcl_error(), "shortened") != NULL), "%s: %s",
                  text, dcl_error());
        dcl_clear_error(cluster);
        dcl_load_npy(A, path); /* cut or not: an error at most */
        dcl_clear_error(cluster);
        TEST_OK(dcl_fill(A, &(float){1}));
    }
    cr_expect(atomic_load(&cutter->cuts) > cuts, "%s: nothing was cut", text);
    dcl_release(A);
    dcl_release(map);
}

Test(file_on_device, may_be_cut_while_it_is_saved_and_loaded)
{
    struct cutter cutter = {.stop = false};
    char path[TEST_PATH];
    pthread_t thread;
    test_make_folder();
    test_path(cutter.folder, ".");
    test_path(path, "a.npy");
    cr_assert_eq(pthread_create(&thread, NULL, keep_cutting, &cutter), 0);
    for (int w = 0; w < WAYS; w++) {
        dcl_config config = test_config(2);
        dcl_cluster *cluster = test_open(&config);
        dcli_cluster_choose_files(TEST_INSIDE(cluster), ways[w]);
        save_while_cut(cluster, "*,cyclic(16)", &cutter, path);
        save_while_cut(cluster, "block,*", &cutter, path);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
    atomic_store(&cutter.stop, true);
    pthread_join(thread, NULL);
    unlink(path);
    test_remove_folder();
}

Test(file_on_device, that_does_not_fit_the_disk_leaves_the_old_one)
{
    char folder[TEST_PATH], path[TEST_PATH];
    test_make_folder();
    test_path(folder, ".");
    test_path(path, "a.npy");
    test_mount(folder, "size=1m"); /* before there are other threads */
    for (int w = 0; w < WAYS; w++) {
        dcl_cluster *cluster = open_way(2, ways[w]);
        dcl_map *map = dcl_map_block(cluster);
        dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 1000), map),
                  *B = dcl_agile(dcl_grid_1d(DCL_INT32, 300000), map);
        TEST_OK(dcl_fill(A, &(int32_t){7}));
        TEST_OK(dcl_save_npy(A, path));
        TEST_REFUSED(dcl_save_npy(B, path), DCL_ERR_FILE,
                     "cannot be reserved: No space left on device; free some space");
        dcl_clear_error(cluster);
        TEST_OK(dcl_fill(A, &(int32_t){0}));
        TEST_OK(dcl_load_npy(A, path));
        int32_t last;
        TEST_OK(dcl_read(A, &(dcl_box){1, {999}, {1}, {1}}, &last, NULL));
        cr_expect_eq(last, 7);
        cr_expect_eq(test_files_left("a.npy"), 0, "other files are left");
        dcl_release(A);
        dcl_release(B);
        dcl_release(map);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
    test_remove_folder();
    cr_expect_eq(umount2(folder, MNT_DETACH), 0);
    test_remove_folder();
}

/* Loads of a link are loads of what it leads to. */
Test(file_on_device, may_be_loaded_by_a_link)
{
    for (int w = 0; w < WAYS; w++) {
        char path[TEST_PATH], by_link[TEST_PATH];
        dcl_cluster *cluster = open_way(2, ways[w]);
        test_make_folder();
        test_path(path, "a.npy");
        test_path(by_link, "link.npy");
        dcl_map *map = dcl_map_block(cluster);
        dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT16, 6), map);
        make_npy(path, "<i2", "False", "(6,)", (int16_t[]){1, 2, 3, 4, 5, 6}, 12);
        cr_assert_eq(symlink("a.npy", by_link), 0);
        TEST_OK(dcl_load_npy(A, by_link));
        expect_elements(A, (int16_t[]){1, 2, 3, 4, 5, 6}, ways[w]);
        dcl_release(A);
        dcl_release(map);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
        test_remove_folder();
    }
}

/* ---- files that nodes of other hosts write ------------------------------------------------------------------------- */

static int syncs; /* calls of fdatasync() */
static int64_t length_then;
static int32_t first_then;

/* Takes the place of the C library's in this program. */
int fdatasync(int fd)
{
    char path[64];
    struct stat about = {.st_size = 0};
    syncs++;
    first_then = -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY | O_CLOEXEC);
    cr_expect(again >= 0 && fstat(again, &about) == 0 && pread(again, &first_then, 4, about.st_size - 400) == 4);
    length_then = about.st_size;
    close(again);
    return 0;
}

static dcl_status see_all(dcli_worker *host, const char *path, const char token[33], const dcli_file_id *id,
                          bool *seen_out)
{
    (void)host, (void)path, (void)token, (void)id;
    *seen_out = true;
    return DCL_OK;
}

/* A page of the program's that is written out later takes no element along. */
Test(file_on_device, has_its_header_on_the_disk_before_nodes_of_other_hosts_write)
{
    char path[TEST_PATH];
    test_make_folder();
    test_path(path, "a.npy");
    dcl_cluster *cluster = open_way(2, "direct");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 100), map);
    TEST_OK(dcl_fill(A, &(int32_t){7}));
    TEST_OK(dcl_save_npy(A, path));
    cr_expect_eq(syncs, 0, "they have the same pages");
    TEST_INSIDE(cluster)->files.sees = see_all;
    TEST_OK(dcl_save_npy(A, path));
    cr_expect_eq(syncs, 1);
    cr_expect_gt(length_then, 400, "the header and its length are there");
    cr_expect_eq(first_then, 0, "no node has written yet");
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    unlink(path);
    test_remove_folder();
}
