/* test/runtime/stream_file_test.c - files that pass through the host: the same files and errors as when the nodes use
 * them, one call at a time, and the question whether the nodes see a file. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/cluster.h"
#include "segment/random.h"
#include "store/files.h"
#include "support/folder.h"
#include "support/mount.h"
#include "support/nodes.h"

TestSuite(stream_file_on_device, .timeout = TEST_SECONDS);

static dcl_cluster *open_streaming(int nodes, size_t stretch_bytes)
{
    dcl_config config = test_config(nodes);
    config.chunk_bytes = stretch_bytes;
    dcl_cluster *cluster = test_open(&config);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "stream");
    return cluster;
}

static int64_t host_copied(dcl_cluster *cluster) { return test_counters(cluster, DCL_HOST).bytes_copied; }

/* ---- the same files ----------------------------------------------------------------------------------------------- */

static size_t read_file(const char *path, char *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t length = fread(bytes, 1, capacity, file);
    cr_assert(length < capacity, "%s is longer than %zu bytes", path, capacity);
    fclose(file);
    return length;
}

static void expect_same_files(const char *path, const char *other, const char *what)
{
    static char first[20000], second[20000];
    size_t length = read_file(path, first, sizeof first);
    cr_assert_eq(read_file(other, second, sizeof second), length, "%s: the lengths differ", what);
    cr_assert(memcmp(first, second, length) == 0, "%s: the files differ", what);
}

/* Reverse the bytes of every element and say so in the header. */
static void swap_file(const char *path, const dcl_npy_info *info)
{
    static char bytes[20000];
    size_t length = read_file(path, bytes, sizeof bytes), element = dcl_type_bytes(info->grid.type);
    char *order = memchr(bytes, '<', (size_t)info->data_start);
    if (order == NULL)
        return; /* a type of one byte */
    *order = '>';
    for (size_t at = (size_t)info->data_start; at < length; at += element)
        for (size_t b = 0; b < element / 2; b++) {
            char kept = bytes[at + b];
            bytes[at + b] = bytes[at + element - 1 - b];
            bytes[at + element - 1 - b] = kept;
        }
    FILE *file = fopen(path, "wb");
    cr_assert_eq(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

/* Saved both ways, the files are equal; loaded from the host, and saved by the nodes, they are still the same. */
static void save_both_ways(dcl_cluster *cluster, dcl_array *A, dcl_array *B, bool fortran_order, bool swapped,
                           const char *what)
{
    char direct[TEST_PATH], stream[TEST_PATH];
    test_path(direct, "direct.npy");
    test_path(stream, "stream.npy");
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "direct");
    TEST_OK(dcl_save_npy_order(A, direct, fortran_order));
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "stream");
    TEST_OK(dcl_save_npy_order(A, stream, fortran_order));
    expect_same_files(direct, stream, what);
    dcl_npy_info info;
    TEST_OK(dcl_npy_inspect(stream, &info));
    if (swapped)
        swap_file(stream, &info);
    TEST_OK(dcl_load_npy(B, stream));
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "direct");
    TEST_OK(dcl_save_npy_order(B, stream, fortran_order));
    expect_same_files(direct, stream, what);
}

static dcl_grid random_grid(test_random *random)
{
    static const dcl_type types[] = {DCL_INT8, DCL_UINT16, DCL_FLOAT, DCL_INT64};
    int64_t extent[DCL_MAX_RANK], origin[DCL_MAX_RANK], left = 1500;
    int rank = (int)test_between(random, 1, 5);
    for (int d = 0; d < rank; d++) {
        extent[d] = test_between(random, 1, test_between(random, 0, 2) == 0 ? left : left < 6 ? left : 6);
        origin[d] = test_between(random, -20, 20);
        left /= extent[d];
    }
    return dcl_grid_nd(types[test_between(random, 0, 3)], rank, extent, origin);
}

Test(stream_file_on_device, equals_what_the_nodes_read_and_write)
{
    static const char *const maps[] = {"block", "cyclic", "rows:cyclic", "cyclic(3)", "columns:block"};
    static char elements[12000];
    test_make_folder();
    for (int seed = 1; seed <= 3; seed++) {
        test_random random = (test_random)seed;
        dcl_cluster *cluster = open_streaming(3, (size_t[]){64, 200, 1000}[seed - 1]);
        for (int n = 0; n < 20; n++) {
            dcl_grid grid = random_grid(&random);
            char what[64];
            snprintf(what, sizeof what, "seed %d, case %d, rank %d", seed, n, grid.rank);
            for (size_t b = 0; b < sizeof elements; b++)
                elements[b] = (char)test_next(&random);
            dcl_map *map = dcl_map_parse(cluster, maps[test_between(&random, 0, grid.rank > 1 ? 4 : 3)]);
            dcl_map *other = dcl_map_parse(cluster, maps[test_between(&random, 0, grid.rank > 1 ? 4 : 3)]);
            dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, other);
            TEST_OK(dcl_write(A, NULL, elements, NULL));
            save_both_ways(cluster, A, B, test_between(&random, 0, 1), test_between(&random, 0, 1), what);
            dcl_release(A);
            dcl_release(B);
            dcl_release(map);
            dcl_release(other);
        }
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
    cr_expect_eq(test_files_left("direct.npy"), 1, "more than stream.npy is left beside direct.npy");
    test_remove_folder();
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

enum { N = 1000 };

static void expect_ints(dcl_array *array, int32_t first, int32_t step)
{
    static int32_t elements[N];
    TEST_OK(dcl_read(array, NULL, elements, NULL));
    for (int e = 0; e < N; e++)
        cr_assert_eq(elements[e], first + e * step, "element %d is %d", e, elements[e]);
}

/* The nodes are asked after the header was read: a moment to do something to the file. */
static dcl_status shorten(dcli_worker *host, const char *path, const char token[33], const dcli_file_id *id,
                          bool *all_see_out)
{
    char file[TEST_PATH];
    (void)host, (void)path, (void)token, (void)id;
    test_path(file, "a.npy");
    cr_assert_eq(truncate(file, 128 + 2000), 0); /* in the middle of the 8th stretch */
    *all_see_out = false;
    return DCL_OK;
}

Test(stream_file_on_device, that_ends_too_early_fails_the_array_until_it_is_loaded_again)
{
    char path[TEST_PATH], whole[TEST_PATH];
    dcl_cluster *cluster = open_streaming(2, 256);
    test_make_folder();
    test_path(path, "a.npy");
    test_path(whole, "whole.npy");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 5, 3);
    TEST_OK(dcl_save_npy(A, path));
    TEST_OK(dcl_save_npy(A, whole));
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "auto");
    TEST_INSIDE(cluster)->files.sees = shorten;
    TEST_REFUSED(dcl_load_npy(B, path), DCL_ERR_FILE,
                 "ends at byte 2128; expected 2176 bytes at least; it was shortened while it was read");
    TEST_REFUSED(dcl_wait_for(B, -1), DCL_ERR_FILE, "ends at byte 2128");
    dcl_clear_error(cluster);
    TEST_INSIDE(cluster)->files.sees = NULL;
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "stream");
    TEST_OK(dcl_load_npy(B, whole));
    expect_ints(B, 5, 3);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    dcli_cluster_forget_files(TEST_INSIDE(cluster));
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

static int times_asked;

static dcl_status stay_busy(dcli_worker *host, const char *path, const char token[33], const dcli_file_id *id,
                            bool *all_see_out)
{
    (void)host, (void)path, (void)token, (void)id;
    times_asked++;
    *all_see_out = false;
    return DCL_ERR_TIMEOUT;
}

/* A node that was busy once would otherwise keep a whole session from reading its files itself. */
Test(stream_file_on_device, nodes_that_do_not_answer_are_asked_again)
{
    char path[TEST_PATH];
    dcl_cluster *cluster = open_streaming(2, 256);
    test_make_folder();
    test_path(path, "a.npy");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 5, 3);
    TEST_OK(dcl_save_npy(A, path));
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "auto");
    TEST_INSIDE(cluster)->files.sees = stay_busy;
    times_asked = 0;
    TEST_OK(dcl_load_npy(A, path));
    cr_expect_eq(times_asked, 1);
    TEST_OK(dcl_load_npy(A, path));
    cr_expect_eq(times_asked, 2);
    expect_ints(A, 5, 3);
    TEST_INSIDE(cluster)->files.sees = NULL;
    dcl_release(A);
    dcl_release(map);
    dcli_cluster_forget_files(TEST_INSIDE(cluster));
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

/* Whether the host had heard of the failure or not. */
Test(stream_file_on_device, heals_an_array_that_had_failed)
{
    char path[TEST_PATH];
    dcl_config config = test_config(3);
    test_make_folder();
    test_path(path, "a.npy");
    config.chunk_bytes = 256;
    test_fault("alloc node=1 count=2");
    for (int known = 0; known < 2; known++) {
        dcl_cluster *cluster = test_open(&config);
        dcli_cluster_choose_files(TEST_INSIDE(cluster), "stream");
        dcl_map *map = dcl_map_block(cluster);
        dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
        test_count_up(A, 7, 1);
        TEST_OK(dcl_save_npy(A, path));
        dcl_array *B = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
        if (known)
            TEST_REFUSED(dcl_wait_for(B, -1), DCL_ERR_NOMEM, "contents have failed");
        TEST_OK(dcl_load_npy(B, path));
        expect_ints(B, 7, 1);
        dcl_release(A);
        dcl_release(B);
        dcl_release(map);
        cr_expect_eq(dcl_close(cluster), DCL_ERR_NOMEM);
    }
    test_remove_folder();
}

static int trap_at; /* which allocation of node 1 fails, counted from when it says that its first array has failed */

static void set_trap(void *user, int level, const char *line)
{
    (void)level, (void)line;
    if (!pthread_equal(pthread_self(), *(pthread_t *)user))
        dcli_alloc_fail_after(trap_at);
}

/* @return whether a load or the save failed, for want of memory on node 1. */
static bool load_without_memory(dcl_config *config, const char *path)
{
    dcl_cluster *cluster = test_open(config);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "stream");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_NOMEM);
    dcl_clear_error(cluster);
    dcl_status status = dcl_load_npy(A, path);
    if (status == DCL_OK)
        status = dcl_save_npy(A, path);
    if (status == DCL_OK)
        expect_ints(A, 0, 1);
    else
        cr_expect(status == DCL_ERR_NOMEM && strstr(dcl_error(), "node 1: out of memory: ") != NULL,
                  "allocation %d: %s: %s", trap_at, dcl_status_name(status), dcl_error());
    cr_expect_eq(test_files_left("a.npy"), 0, "allocation %d: files are left behind", trap_at);
    dcl_release(A);
    dcl_release(map);
    dcl_close(cluster);
    return status != DCL_OK;
}

Test(stream_file_on_device, names_the_node_that_fails)
{
    char path[TEST_PATH];
    pthread_t program = pthread_self();
    dcl_cluster *cluster = open_streaming(2, 512);
    test_make_folder();
    test_path(path, "a.npy");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 0, 1);
    TEST_OK(dcl_save_npy(A, path));
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK);
    dcl_config config = test_config(2);
    config.chunk_bytes = 512;
    test_fault("alloc node=1 count=1");
    config.log = "warn";
    config.log_fn = set_trap;
    config.log_user = &program;
    int failures = 0;
    for (trap_at = 1; trap_at < 200; trap_at += 9)
        failures += load_without_memory(&config, path);
    cr_expect_gt(failures, 5, "only %d loads or saves failed", failures);
    test_remove_folder();
}

/* Refused before anything was written, a load leaves the sevens that were there; else the array has failed. */
static void expect_untouched_or_failed(dcl_array *B, dcl_status loaded, int n)
{
    dcl_status after = dcl_wait_for(B, -1);
    if (after == DCL_OK && loaded != DCL_OK)
        expect_ints(B, 7, 0);
    else
        cr_expect_eq(after, loaded, "allocation %d: %s", n, dcl_error());
}

static void use_without_memory(dcl_array *A, dcl_array *B, const char *path, bool load)
{
    dcl_cluster *cluster = dcl_cluster_of(A);
    dcl_status status = DCL_ERR_NOMEM;
    int32_t seven = 7;
    int n = 0;
    while (status != DCL_OK && ++n < 2000) {
        TEST_OK(dcl_fill(B, &seven));
        TEST_OK(dcl_wait(cluster));
        dcli_alloc_fail_after(n);
        status = load ? dcl_load_npy(B, path) : dcl_save_npy(A, path);
        dcli_alloc_fail_after(0);
        cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM, "allocation %d: %s", n, dcl_error());
        cr_expect_eq(test_files_left("a.npy"), 0, "allocation %d: files are left behind", n);
        char start[7] = "";
        FILE *file = fopen(path, "rb");
        cr_expect(fread(start, 1, 6, file) == 6);
        fclose(file);
        cr_expect_str_eq(start, status == DCL_OK || load ? "\x93NUMPY" : "as it ", "allocation %d", n);
        if (load)
            expect_untouched_or_failed(B, status, n);
        dcl_clear_error(cluster);
    }
    cr_expect(n > 10 && n < 2000, "only %d allocations", n);
}

/* Some allocations fail in the middle of the file. */
Test(stream_file_on_device, without_memory_leaves_the_old_file_and_nothing_else)
{
    char path[TEST_PATH];
    dcl_cluster *cluster = open_streaming(2, 512);
    test_make_folder();
    test_path(path, "a.npy");
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 0, 1);
    FILE *file = fopen(path, "w");
    fputs("as it was", file);
    fclose(file);
    use_without_memory(A, B, path, false);
    use_without_memory(A, B, path, true);
    expect_ints(B, 0, 1);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

/* ---- one call at a time ------------------------------------------------------------------------------------------- */

enum { LOADS = 30 };

struct loader {
    dcl_array *array;
    char path[2][TEST_PATH];
};

static void *load_in_turn(void *argument)
{
    struct loader *loader = argument;
    for (int n = 0; n < LOADS; n++)
        TEST_OK(dcl_load_npy(loader->array, loader->path[n % 2]));
    return NULL;
}

/* What is saved while others load is what one of them has loaded, never a mixture. */
Test(stream_file_on_device, is_one_call_to_other_threads)
{
    struct loader loader;
    char path[TEST_PATH];
    dcl_cluster *cluster = open_streaming(2, 64);
    test_make_folder();
    test_path(path, "saved.npy");
    dcl_map *map = dcl_map_parse(cluster, "cyclic(7)");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, 300), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, 300), map);
    loader.array = A;
    for (int32_t n = 0; n < 2; n++) {
        test_path(loader.path[n], n == 0 ? "0.npy" : "1.npy");
        TEST_OK(dcl_fill(B, &n));
        TEST_OK(dcl_save_npy(B, loader.path[n]));
    }
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, load_in_turn, &loader), 0);
    for (int n = 0; n < LOADS; n++) {
        char bytes[128 + 1200 + 1];
        TEST_OK(dcl_save_npy(A, path));
        cr_assert_eq(read_file(path, bytes, sizeof bytes), sizeof bytes - 1);
        for (int e = 1; e < 300; e++)
            cr_assert(memcmp(bytes + 128, bytes + 128 + 4 * e, 4) == 0, "file %d: element %d is another", n, e);
    }
    pthread_join(thread, NULL);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

/* ---- whether the nodes see a file --------------------------------------------------------------------------------- */

static int times_asked;
static bool answer;
static dcl_status answer_status;

static dcl_status be_asked(dcli_worker *host, const char *path, const char token[33], const dcli_file_id *id,
                           bool *all_see_out)
{
    dcli_files files = dcli_files_everywhere;
    char bytes[64];
    struct stat stat;
    times_asked++;
    cr_expect_not_null(host);
    cr_expect_eq(lstat(path, &stat), 0);
    cr_expect_eq(stat.st_mode & 07777, 0600, "others may read the token: %o", (unsigned)stat.st_mode);
    cr_expect_eq(read_file(path, bytes, sizeof bytes), 32);
    cr_expect(strlen(token) == 32 && strspn(token, "0123456789abcdef") == 32 && memcmp(bytes, token, 32) == 0);
    cr_expect(dcli_files_sees(&files, path, token, id));
    *all_see_out = answer;
    return answer_status == DCL_OK ? DCL_OK : DCLI_FAIL(answer_status, "node 1 gave no answer");
}

static void expect_way(dcl_array *array, const char *path, bool streamed, int asked)
{
    dcl_cluster *cluster = dcl_cluster_of(array);
    int64_t before = host_copied(cluster);
    TEST_OK(dcl_load_npy(array, path));
    cr_expect_eq(host_copied(cluster) - before, streamed ? N * 4 : 0, "%s", path);
    cr_expect_eq(times_asked, asked, "%s: asked %d times; expected %d", path, times_asked, asked);
}

Test(stream_file_on_device, is_what_all_nodes_do_not_see)
{
    char path[TEST_PATH], other[TEST_PATH], inside[TEST_PATH], below[TEST_PATH];
    dcl_cluster *cluster = open_streaming(2, 1024);
    test_make_folder();
    test_path(path, "a.npy");
    test_path(other, "b.npy");
    test_path(inside, "folder");
    test_path(below, "folder/c.npy");
    cr_assert_eq(mkdir(inside, 0700), 0);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "auto");
    TEST_OK(dcl_save_npy(A, path));
    TEST_OK(dcl_save_npy(A, other));
    TEST_OK(dcl_save_npy(A, below));
    expect_way(A, path, false, 0); /* nodes in this process need not be asked */
    TEST_INSIDE(cluster)->files.sees = be_asked;
    answer = true;
    expect_way(A, path, false, 1);
    expect_way(A, other, false, 1); /* remembered for the folder */
    answer = false;
    expect_way(A, below, true, 2);
    expect_way(A, below, true, 2);
    expect_way(A, path, false, 2);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "stream");
    expect_way(A, path, true, 2);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "direct");
    expect_way(A, below, false, 2);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "auto");
    dcli_cluster_forget_files(TEST_INSIDE(cluster));
    expect_way(A, path, true, 3);
    answer_status = DCL_ERR_TIMEOUT; /* a busy node: streamed, and asked again by the next call */
    TEST_OK(dcl_load_npy(A, below));
    answer_status = DCL_ERR_NODE_LOST;
    TEST_REFUSED(dcl_load_npy(A, below), DCL_ERR_NODE_LOST, "node 1 gave no answer");
    cr_expect_eq(test_files_left("a.npy"), 2, "more is left than b.npy and folder");
    cr_expect_eq(unlink(below), 0);
    cr_expect_eq(rmdir(inside), 0, "a token is left in %s", inside);
    dcli_cluster_forget_files(TEST_INSIDE(cluster));
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_NODE_LOST);
    test_remove_folder();
}

/* Where no token can be made, files can still be read. */
Test(stream_file_on_device, is_read_from_folders_that_cannot_be_written)
{
    char path[TEST_PATH], folder[TEST_PATH];
    test_make_folder();
    test_path(folder, "folder");
    test_path(path, "folder/a.npy");
    cr_assert_eq(mkdir(folder, 0700), 0);
    test_mount(folder, "size=1m"); /* before there are other threads */
    dcl_cluster *cluster = open_streaming(2, 1024);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 1, 1);
    TEST_OK(dcl_save_npy(A, path));
    cr_assert_eq(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    dcli_cluster_choose_files(TEST_INSIDE(cluster), "auto");
    TEST_INSIDE(cluster)->files.sees = be_asked;
    answer = true;
    expect_way(A, path, true, 0);
    expect_ints(A, 1, 1);
    cr_expect_eq(umount2(folder, MNT_DETACH), 0);
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}

/* Names are the program's: relative to its folder, wherever the nodes' processes work. */
Test(stream_file_on_device, has_names_relative_to_the_programs_folder)
{
    static const char *const ways[] = {"direct", "stream"};
    char folder[TEST_PATH];
    dcl_cluster *cluster = open_streaming(2, 1024);
    test_make_folder();
    test_path(folder, "");
    cr_assert_eq(chdir(folder), 0);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map), *B = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 2, 2);
    for (int w = 0; w < 2; w++) {
        dcli_cluster_choose_files(TEST_INSIDE(cluster), ways[w]);
        TEST_OK(dcl_save_npy(A, "a.npy"));
        TEST_OK(dcl_load_npy(B, "./a.npy"));
        expect_ints(B, 2, 2);
    }
    cr_expect_eq(test_files_left("a.npy"), 0);
    dcl_release(A);
    dcl_release(B);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    test_remove_folder();
}
