/* test/runtime/failure_test.c - what goes wrong after a call has returned: on one node, while the others go on. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cluster.h"
#include "support/folder.h"
#include "support/nodes.h"
#include "worker/peer.h"

TestSuite(failure_on_device, .timeout = TEST_SECONDS);

enum { N = 60 };

static const char *const sum = "C(i) = A(59 - i) + B(i);";

static void expect_ints(dcl_array *array, int first, int step)
{
    int32_t elements[N];
    TEST_OK(dcl_read(array, NULL, elements, NULL));
    for (int e = 0; e < N; e++)
        cr_assert_eq(elements[e], first + step * e, "element %d is %d; expected %d", e, elements[e], first + step * e);
}

/* ---- a node without memory ---------------------------------------------------------------------------------------- */

struct broken {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C; /* node 1 of 3 has no memory for its part of B */
};

static struct broken open_broken(const char *move)
{
    dcl_config config = test_config(3);
    config.transfer = move;
    test_fault("alloc node=1 count=2");
    struct broken b = {.cluster = test_open(&config)};
    dcl_map *map = dcl_map_parse(b.cluster, "cyclic(4)");
    dcl_grid grid = dcl_grid_1d(DCL_INT32, N);
    b.A = dcl_agile(grid, map);
    b.B = dcl_agile(grid, map);
    b.C = dcl_agile(grid, map);
    dcl_release(map);
    cr_assert(b.A != NULL && b.B != NULL && b.C != NULL, "making an array is asynchronous: %s", dcl_error());
    return b;
}

static void close_broken(struct broken *b, dcl_status expected)
{
    dcl_release(b->A);
    dcl_release(b->B);
    dcl_release(b->C);
    cr_expect_eq(dcl_close(b->cluster), expected, "%s", dcl_error());
}

static void expect_cause(void)
{
    cr_expect(strstr(dcl_error(), "node 1: ") != NULL && strstr(dcl_error(), "DCL_FAULT") != NULL,
              "the cause is not named: %s", dcl_error());
}

Test(failure_on_device, of_one_node_is_told_and_does_not_hang_the_others)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        struct broken b = open_broken(moves[mode]);
        test_count_up(b.A, 0, 1);
        TEST_REFUSED(dcl_wait(b.cluster), DCL_ERR_NOMEM, "node 1: ");
        expect_cause();
        cr_expect_eq(dcl_status_of(b.cluster), DCL_ERR_NOMEM);
        TEST_REFUSED(dcl_wait_for(b.B, -1), DCL_ERR_NOMEM, "contents have failed");
        expect_cause();
        TEST_OK(dcl_wait_for(b.A, -1)); /* the other arrays are as they should be */
        expect_ints(b.A, 0, 1);
        expect_ints(b.C, 0, 0);
        TEST_OK(test_shift(b.C, b.A, -1, N - 1, 1));
        expect_ints(b.C, 60, -1);
        close_broken(&b, DCL_ERR_NOMEM);
    }
}

/* Called before anyone knows of the failure: nothing hangs, and what was to be computed from it has failed too. A call that
 * comes later is refused, and leaves what it was to write as it was. */
Test(failure_on_device, reaches_the_operations_that_follow)
{
    static const char *const moves[] = {"auto", "send"};
    for (int mode = 0; mode < 2; mode++) {
        struct broken b = open_broken(moves[mode]);
        dcl_array *A = b.A, *B = b.B, *C = b.C;
        int32_t seven = 7;
        TEST_OK(dcl_fill(A, &seven));
        int started = 0;
        for (int n = 0; n < 10; n++) {
            dcl_status status = dcl_forall(b.cluster, sum, DCL_OUT(C), DCL_IN(A), DCL_IN(B)); /* started or refused */
            cr_expect(status == DCL_OK || status == DCL_ERR_NOMEM, "%s", dcl_error());
            started += status == DCL_OK;
        }
        dcl_status computed = dcl_wait_for(C, -1);
        cr_expect_eq(computed, started > 0 ? DCL_ERR_NOMEM : DCL_OK, "%d started: %s", started, dcl_error());
        if (started > 0)
            expect_cause(); /* not that something had failed, but what and why */
        TEST_REFUSED(dcl_wait(b.cluster), DCL_ERR_NOMEM, "node 1: "); /* the first error: the cause */
        expect_cause();
        expect_ints(A, 7, 0);
        close_broken(&b, DCL_ERR_NOMEM);
    }
}

Test(failure_on_device, refuses_the_users_of_a_failed_array)
{
    char path[TEST_PATH];
    struct broken b = open_broken("auto");
    test_make_folder();
    test_path(path, "b.npy");
    FILE *file = fopen(path, "w");
    fputs("as it was", file);
    fclose(file);
    dcl_array *A = b.A, *B = b.B, *C = b.C;
    dcl_wait(b.cluster);
    int32_t elements[N], seven = 7;
    dcl_clear_error(b.cluster); /* does not heal */
    cr_expect_eq(dcl_status_of(b.cluster), DCL_OK);
    TEST_REFUSED(dcl_read(B, NULL, elements, NULL), DCL_ERR_NOMEM, "overwrite all of it first");
    expect_cause();
    TEST_REFUSED(dcl_save_npy(B, path), DCL_ERR_NOMEM, "cannot save an array whose contents have failed");
    expect_cause();
    char text[16] = "";
    file = fopen(path, "r");
    cr_expect_not_null(fgets(text, sizeof text, file));
    fclose(file);
    cr_expect_str_eq(text, "as it was");
    cr_expect_eq(test_files_left("b.npy"), 0, "a file is left beside");
    TEST_REFUSED(dcl_forall(b.cluster, sum, DCL_OUT(C), DCL_IN(A), DCL_IN(B)), DCL_ERR_NOMEM, "cannot read");
    TEST_OK(dcl_wait_for(C, -1)); /* the output of a call that was refused */
    TEST_REFUSED(dcl_forall(b.cluster, "B(i) = B(i) + 1;", DCL_INOUT(B)), DCL_ERR_NOMEM, "cannot read");
    dcl_clear_error(b.cluster);
    TEST_OK(dcl_fill(C, &seven));
    expect_ints(C, 7, 0);
    cr_expect_eq(dcl_status_of(b.cluster), DCL_OK);
    close_broken(&b, DCL_OK);
    test_remove_folder();
}

static void heal_by_fill(struct broken *b, const char *path)
{
    int32_t five = 5;
    (void)path;
    TEST_OK(dcl_fill(b->B, &five));
    expect_ints(b->B, 5, 0);
}

static void heal_by_write(struct broken *b, const char *path)
{
    (void)path;
    int32_t part[N / 2] = {0};
    dcl_box half = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){N / 2});
    dcl_write(b->B, &half, part, NULL); /* a part is not enough */
    TEST_REFUSED(dcl_wait_for(b->B, -1), DCL_ERR_NOMEM, "contents have failed");
    test_count_up(b->B, 3, 2);
    expect_ints(b->B, 3, 2);
}

static void heal_by_loading(struct broken *b, const char *path)
{
    test_count_up(b->A, 100, 1);
    TEST_OK(dcl_save_npy(b->A, path));
    TEST_OK(dcl_load_npy(b->B, path));
    expect_ints(b->B, 100, 1);
}

static void heal_by_computing(struct broken *b, const char *path)
{
    (void)path;
    dcl_array *A = b->A, *B = b->B;
    test_count_up(A, 0, 1);
    dcl_box half = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){N / 2});
    dcl_forall_over(b->cluster, &half, sum, DCL_OUT_AS("C", B), DCL_IN(A), DCL_IN_AS("B", A));
    TEST_REFUSED(dcl_wait_for(B, -1), DCL_ERR_NOMEM, "contents have failed");
    dcl_forall(b->cluster, "if (A(i) > 3) B(i) = 1;", DCL_OUT(B), DCL_IN(A)); /* not at every index: refused */
    TEST_REFUSED(dcl_wait_for(B, -1), DCL_ERR_NOMEM, "contents have failed");
    TEST_OK(test_shift(B, A, 1, 0, 1));
    expect_ints(B, 1, 1);
}

/* Told before, or not yet known of when it is overwritten. */
Test(failure_on_device, is_healed_by_overwriting_everything)
{
    static void (*const heal[])(struct broken *, const char *) = {heal_by_fill, heal_by_write, heal_by_loading,
                                                                  heal_by_computing};
    char path[TEST_PATH];
    test_config(3); /* skips the test where there are no three nodes */
    test_make_folder();
    test_path(path, "a.npy");
    for (int way = 0; way < 4; way++)
        for (int known = 0; known < 2; known++) {
            struct broken b = open_broken(known ? "auto" : "send");
            if (known)
                TEST_REFUSED(dcl_wait(b.cluster), DCL_ERR_NOMEM, "node 1");
            heal[way](&b, path);
            TEST_OK(dcl_wait_for(b.B, -1));
            TEST_REFUSED(dcl_wait(b.cluster), DCL_ERR_NOMEM, "node 1"); /* the cluster keeps its first error */
            dcl_clear_error(b.cluster);
            TEST_OK(test_shift(b.C, b.B, -1, N - 1, 0));
            TEST_OK(dcl_wait(b.cluster));
            close_broken(&b, DCL_OK);
        }
    test_remove_folder();
}

/* Books are kept per storage: the failure stays with the contents, whatever handle has them. */
Test(failure_on_device, goes_with_the_contents_in_a_swap)
{
    struct broken b = open_broken("auto");
    test_count_up(b.A, 0, 1);
    TEST_OK(dcl_swap(b.A, b.B));
    expect_ints(b.B, 0, 1);
    TEST_REFUSED(dcl_wait_for(b.A, -1), DCL_ERR_NOMEM, "node 1: ");
    TEST_OK(dcl_swap(b.C, b.A));
    TEST_REFUSED(dcl_wait_for(b.C, -1), DCL_ERR_NOMEM, "node 1: ");
    expect_ints(b.A, 0, 0);
    close_broken(&b, DCL_ERR_NOMEM);
}

Test(failure_on_device, of_making_an_array_is_given_by_the_call_with_sync)
{
    dcl_config config = test_config(3);
    test_fault("alloc node=1 count=1");
    config.sync = true;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_NOMEM);
    expect_cause();
    cr_expect_not_null(A, "the array exists, failed");
    test_count_up(A, 0, 1);
    expect_ints(A, 0, 1);
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_NOMEM);
}

/* ---- a pool that is too small ------------------------------------------------------------------------------------- */

Test(failure_on_device, of_a_pool_that_is_too_small_says_what_to_do)
{
    enum { MANY = 20000 };
    dcl_config config = test_config(3);
    config.transfer = "send";
    config.pool_bytes = 4096;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, MANY);
    dcl_array *A = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    static int32_t elements[MANY];
    test_count_up(A, 0, 1); /* goes through the pool bit by bit */
    TEST_OK(dcl_read(A, NULL, elements, NULL));
    for (int e = 0; e < MANY; e++)
        cr_assert_eq(elements[e], e);
    TEST_OK(dcl_forall(cluster, "C(i) = A((i * 7) % 20000);", DCL_OUT(C), DCL_IN_ALL(A)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_NOMEM,
                 "the pool has 4096; set DCL_POOL_BYTES to more, or give the map smaller tiles");
    TEST_REFUSED(dcl_wait_for(C, -1), DCL_ERR_NOMEM, "contents have failed");
    TEST_OK(dcl_wait_for(A, -1));
    dcl_counters planned;
    TEST_REFUSED(dcl_explain(cluster, &planned, "C(i) = A((i * 7) % 20000);", DCL_OUT(C), DCL_IN_ALL(A)), DCL_ERR_NOMEM,
                 "set DCL_POOL_BYTES");
    dcl_clear_error(cluster);
    TEST_OK(test_shift(C, A, 1, 0, 1)); /* nothing moves */
    TEST_OK(dcl_read(C, NULL, elements, NULL));
    for (int e = 0; e < MANY; e++)
        cr_assert_eq(elements[e], e + 1);
    dcl_release(A);
    dcl_release(C);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* What does not fit at once goes through the pool tile by tile. */
Test(failure_on_device, is_none_where_tiles_fit_the_pool)
{
    enum { SIDE = 96 };
    dcl_config config = test_config(3);
    config.transfer = "send";
    config.pool_bytes = 4096;
    config.chunk_bytes = 512;
    config.tile_bytes = 1024;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(16x16);tile=16x16");
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, SIDE, SIDE);
    dcl_array *A = dcl_agile(grid, map), *B = dcl_agile(grid, map), *C = dcl_agile(grid, map);
    test_count_up(A, 0, 1);
    test_count_up(B, 0, 2);
    TEST_OK(dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    static float c[SIDE][SIDE];
    TEST_OK(dcl_read(C, NULL, c, NULL));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            cr_assert_eq(c[i][j], (float)(i * SIDE + j + 2 * (j * SIDE + i)));
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

Test(failure_on_device, of_a_save_leaves_nothing_behind)
{
    char path[TEST_PATH];
    dcl_cluster *cluster = open_nodes(2);
    test_make_folder();
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_path(path, "no/such/folder.npy");
    TEST_REFUSED(dcl_save_npy(A, path), DCL_ERR_FILE, "cannot be made: No such file or directory; expected a folder");
    test_path(path, "");
    TEST_REFUSED(dcl_save_npy(A, path), DCL_ERR_FILE, path); /* a folder */
    cr_expect_eq(test_files_left(""), 0, "files are left behind");
    expect_ints(A, 0, 0); /* the array is as it was */
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_FILE);
    test_remove_folder();
}

/* ---- a slow node --------------------------------------------------------------------------------------------------- */

/* For measurements: a node does everything several times, where that changes nothing. */
Test(failure_on_device, of_speed_repeats_what_can_be_repeated)
{
    dcl_config config = test_config(2);
    test_fault("slow node=1 times=3");
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_parse(cluster, "block");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    test_count_up(A, 0, 1);
    TEST_OK(dcl_wait(cluster));
    int64_t before = test_counters(cluster, 0).launches, slow = test_counters(cluster, 1).launches;
    TEST_OK(dcl_forall(cluster, "A(i) = 2 * i;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, "A(i) = A(i) + 1;", DCL_INOUT(A)));
    TEST_OK(dcl_wait(cluster));
    cr_expect_eq(test_counters(cluster, 0).launches - before, 2);
    cr_expect_eq(test_counters(cluster, 1).launches - slow, 3 + 1, "a body that reads what it writes runs once");
    expect_ints(A, 1, 2);
    dcl_release(A);
    dcl_release(map);
    TEST_OK(dcl_close(cluster));
}

/* ---- late causes ---------------------------------------------------------------------------------------------------- */

/* Tell the host that an operation has failed, as a node does: the last one, or `after` operations after it. */
static void tell_of(dcl_cluster *cluster, const dcl_array *array, int64_t after, bool cause, dcl_status status,
                    const char *sentence)
{
    const dcl_cluster *inside = TEST_INSIDE(cluster);
    int64_t storage = dcli_array_state(TEST_INSIDE(array))->id;
    const dcli_msg_failed failed = {.operation = inside->operations + after,
                                    .status = (int)status,
                                    .cause = cause,
                                    .storage_count = 1,
                                    .storage = &storage,
                                    .sentence = sentence};
    const dcli_host_hooks *hooks = inside->worker[inside->host]->terms.hooks;
    hooks->failed(hooks->user, &failed);
}

static void tell(dcl_cluster *cluster, const dcl_array *array, bool cause, dcl_status status, const char *sentence)
{
    tell_of(cluster, array, 0, cause, status, sentence);
}

/* A node that skips an operation may say so before the node that has failed. */
Test(failure_on_device, a_late_cause_replaces_the_refusal_that_lacked_it)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *array = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N));
    int32_t elements[N], seven = 7;
    TEST_OK(dcl_fill(array, &seven));
    TEST_OK(dcl_wait(cluster));
    tell(cluster, array, false, DCL_ERR_INVALID, "skipped");
    cr_expect_eq(dcl_read(array, NULL, elements, NULL), DCL_ERR_INVALID);
    cr_expect_eq(dcl_status_of(cluster), DCL_ERR_INVALID);
    tell(cluster, array, true, DCL_ERR_DEVICE, "the cause");
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_DEVICE, "%s", dcl_error());
    cr_expect_not_null(strstr(dcl_error(), "the cause"), "%s", dcl_error());
    tell(cluster, array, true, DCL_ERR_NOMEM, "another one");
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_DEVICE, "the first cause stays: %s", dcl_error());
    dcl_clear_error(cluster);
    cr_expect_eq(dcl_fill(array, NULL), DCL_ERR_INVALID);
    tell(cluster, array, true, DCL_ERR_DEVICE, "the cause");
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_INVALID, "an error of another kind stays: %s", dcl_error());
    dcl_clear_error(cluster);
    dcl_release(array);
    TEST_OK(dcl_close(cluster));
}

/* The cause of a refusal is no operation after the one whose results were refused. */
Test(failure_on_device, a_later_failure_is_not_the_cause_of_a_refusal)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *array = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N)),
              *other = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N));
    int32_t elements[N];
    TEST_OK(dcl_wait(cluster));
    tell(cluster, array, false, DCL_ERR_INVALID, "skipped");
    cr_expect_eq(dcl_read(array, NULL, elements, NULL), DCL_ERR_INVALID);
    tell_of(cluster, other, 1, true, DCL_ERR_NOMEM, "a later operation");
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_INVALID, "cannot read an array whose contents have failed");
    tell(cluster, array, true, DCL_ERR_DEVICE, "the cause");
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_DEVICE, "the cause");
    dcl_clear_error(cluster);
    dcl_release(other);
    dcl_release(array);
    TEST_OK(dcl_close(cluster));
}

/* A refusal that does not make the cluster fail has nothing to do with the next failure. */
Test(failure_on_device, a_late_cause_leaves_other_failures_alone)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *array = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N)),
              *other = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N));
    TEST_OK(dcl_wait(cluster));
    tell(cluster, array, false, DCL_ERR_INVALID, "skipped");
    cr_expect_eq(dcl_wait_for(array, -1), DCL_ERR_INVALID);
    TEST_OK(dcl_status_of(cluster));
    cr_expect_eq(dcl_fill(other, NULL), DCL_ERR_INVALID);
    tell(cluster, array, true, DCL_ERR_DEVICE, "the cause");
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_INVALID, "dcl_fill");
    dcl_clear_error(cluster);
    dcl_release(other);
    dcl_release(array);
    TEST_OK(dcl_close(cluster));
}
