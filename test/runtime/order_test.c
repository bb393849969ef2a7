/* test/runtime/order_test.c - calls run in the program's order, return at once, and may come from several threads. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "support/nodes.h"

TestSuite(order_on_device, .timeout = TEST_SECONDS);

enum { SIDE = 12 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- one thread --------------------------------------------------------------------------------------------------- */

/* Every operation reads, transposed and so from other nodes, what the one before has written. */
static void run_dependent(const dcl_config *config, int operations)
{
    dcl_cluster *cluster = test_open(config);
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(3x2)");
    dcl_array *A = dcl_agile(dcl_grid_2d(DCL_INT32, SIDE, SIDE), map),
              *B = dcl_agile(dcl_grid_2d(DCL_INT32, SIDE, SIDE), map);
    test_count_up(A, 0, 1);
    for (int n = 0; n < operations; n++) {
        TEST_OK(dcl_forall(cluster, "B(i,j) = A(j,i) + 1;", DCL_OUT(B), DCL_IN(A)));
        TEST_OK(dcl_swap(A, B));
    }
    int32_t a[SIDE][SIDE];
    TEST_OK(dcl_read(A, NULL, a, NULL));
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int expected = (operations % 2 == 0 ? i * SIDE + j : j * SIDE + i) + operations;
            cr_assert_eq(a[i][j], expected, "%s, window %zu: A(%d,%d) is %d; expected %d", config->transfer,
                         config->window, i, j, a[i][j], expected);
        }
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(order_on_device, keeps_1000_dependent_operations_in_order)
{
    dcl_config config = test_config(3);
    run_dependent(&config, 1000);
    config.transfer = "send";
    run_dependent(&config, 1001);
}

Test(order_on_device, holds_with_any_window)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++)
        for (config.window = 1; config.window <= 5; config.window += 2) {
            config.transfer = mode == 0 ? "auto" : "send";
            run_dependent(&config, 41);
        }
}

/* A reader that was called before the writer sees the old contents, also on other nodes. */
Test(order_on_device, keeps_what_earlier_operations_read)
{
    dcl_config config = test_config(3);
    for (int mode = 0; mode < 2; mode++) {
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(3x2)");
        dcl_grid grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE);
        dcl_array *A = dcl_agile(grid, map), *copies[20];
        for (int32_t n = 0; n < 20; n++) {
            copies[n] = dcl_agile(grid, map);
            TEST_OK(dcl_fill(A, &n));
            TEST_OK(dcl_forall(cluster, "B(i,j) = A(j,i) + 1;", DCL_OUT_AS("B", copies[n]), DCL_IN(A)));
        }
        for (int n = 0; n < 20; n++) {
            int32_t b[SIDE * SIDE];
            TEST_OK(dcl_read(copies[n], NULL, b, NULL));
            for (int e = 0; e < SIDE * SIDE; e++)
                cr_assert_eq(b[e], n + 1, "%s: element %d of copy %d is %d", config.transfer, e, n, b[e]);
        }
        dcl_release(map);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    }
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

static const char *const slow = "float x = A(i); for (int t = 0; t < steps; t++) x = x * 0.5f + 1.0f; A(i) = x;";

Test(order_on_device, returns_at_once_and_waits_as_long_as_it_is_told)
{
    int steps = 1;
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "block@2");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 2), map), *other = dcl_agile(dcl_grid_1d(DCL_FLOAT, 2), map);
    TEST_OK(dcl_forall(cluster, slow, DCL_INOUT(A), DCL_VALUE(steps))); /* compiled, for the first time */
    TEST_OK(dcl_wait(cluster));
    steps = 1 << 27;
    double begin = now(), called, timed_out;
    TEST_OK(dcl_forall(cluster, slow, DCL_INOUT(A), DCL_VALUE(steps)));
    called = now();
    TEST_REFUSED(dcl_wait_for(A, 0.01), DCL_ERR_TIMEOUT, "0.01 seconds; wait longer");
    timed_out = now();
    TEST_OK(dcl_wait_for(other, 0)); /* its operations are complete */
    TEST_OK(dcl_wait_for(A, 1e9));
    TEST_OK(dcl_wait(cluster)); /* a wait that was too short is no failure of the cluster */
    double all = now() - begin;
    cr_expect(called - begin < all / 2, "the call took %g of %g seconds", called - begin, all);
    cr_expect(timed_out - called < all / 2, "waiting for 0.01 seconds took %g of %g", timed_out - called, all);
    dcl_release(A);
    dcl_release(other);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* With DCL_SYNC every call waits for its end, and gives the error of what it started. */
Test(order_on_device, waits_in_every_call_with_sync)
{
    dcl_config config = test_config(2);
    config.sync = true;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 4), map);
    int steps = 1 << 20;
    float one = 1;
    TEST_OK(dcl_fill(A, &one));
    TEST_OK(dcl_wait_for(A, 0));
    TEST_OK(dcl_forall(cluster, slow, DCL_INOUT(A), DCL_VALUE(steps)));
    TEST_OK(dcl_wait_for(A, 0));
    TEST_REFUSED(dcl_forall(cluster, "B(i) = A(i + 1);", DCL_OUT_AS("B", A), DCL_IN(A)), DCL_ERR_BODY, "same array");
    dcl_clear_error(cluster);
    TEST_OK(dcl_fill(A, &one));
    dcl_array *P = dcl_agile(dcl_grid_1d(DCL_INT32, 4), map), *Q = dcl_agile(dcl_grid_1d(DCL_INT32, 4), map);
    TEST_REFUSED(test_shift(P, Q, 1, 1, 0), DCL_ERR_RANGE, "A(4)");
    dcl_release(A);
    dcl_release(P);
    dcl_release(Q);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_RANGE);
}

/* A program that goes on after a call that was refused works the same with DCL_SYNC=1. */
Test(order_on_device, gives_no_old_errors_with_sync)
{
    dcl_config config = test_config(2);
    config.sync = true;
    dcl_cluster *cluster = test_open(&config);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, 4), map);
    float one = 1;
    TEST_REFUSED(dcl_load_npy(A, "/nowhere/a.npy"), DCL_ERR_FILE, "/nowhere/a.npy");
    TEST_OK(dcl_fill(A, &one));
    TEST_OK(dcl_forall(cluster, slow, DCL_INOUT(A), DCL_VALUE_AS("steps", 1)));
    cr_expect_eq(dcl_status_of(cluster), DCL_ERR_FILE); /* which the cluster still has */
    dcl_release(A);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_FILE);
}

/* ---- several threads ---------------------------------------------------------------------------------------------- */

struct thread {
    dcl_cluster *cluster;
    dcl_array *shared, *own, *spare;
    int number, failures;
    dcl_status last;
};

enum { OPERATIONS = 200 };

static void *work(void *argument)
{
    struct thread *thread = argument;
    dcl_array *A = thread->own, *B = thread->spare;
    for (int n = 0; n < OPERATIONS; n++) {
        dcl_status status = DCL_OK;
        if (n % 2 == 0)
            status = dcl_forall(thread->cluster, "B(i,j) = A(j,i) + 1;", DCL_OUT(B), DCL_IN(A));
        else
            status = dcl_swap(A, B);
        thread->failures += status != DCL_OK;
        thread->failures += dcl_forall(thread->cluster, "C(i,j) += one;", DCL_INOUT_AS("C", thread->shared),
                                       DCL_VALUE_AS("one", 1)) != DCL_OK;
        if (n % 64 == 7)
            thread->failures += dcl_wait_for(A, -1) != DCL_OK;
    }
    dcl_wait_for(NULL, 0); /* an error of this thread alone */
    thread->last = dcl_status_of(NULL);
    return NULL;
}

Test(order_on_device, serves_threads_that_share_a_cluster)
{
    enum { THREADS = 2 };
    dcl_cluster *cluster = open_nodes(3);
    dcl_map *map = dcl_map_parse(cluster, "rows:cyclic(3x2)");
    dcl_grid grid = dcl_grid_2d(DCL_INT32, SIDE, SIDE);
    dcl_array *shared = dcl_agile(grid, map);
    struct thread threads[THREADS];
    pthread_t handles[THREADS];
    for (int t = 0; t < THREADS; t++) {
        threads[t] = (struct thread){.cluster = cluster,
                                     .shared = shared,
                                     .own = dcl_agile(grid, map),
                                     .spare = dcl_agile(grid, map),
                                     .number = t};
        cr_assert_eq(pthread_create(&handles[t], NULL, work, &threads[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(handles[t], NULL);
    cr_expect_eq(dcl_status_of(NULL), DCL_OK, "another thread's error is this thread's: %s", dcl_error());
    int32_t elements[SIDE * SIDE];
    for (int t = 0; t < THREADS; t++) {
        cr_expect_eq(threads[t].failures, 0);
        cr_expect_eq(threads[t].last, DCL_ERR_INVALID);
        TEST_OK(dcl_read(threads[t].own, NULL, elements, NULL));
        for (int e = 0; e < SIDE * SIDE; e++)
            cr_assert_eq(elements[e], OPERATIONS / 2, "thread %d: element %d is %d", t, e, elements[e]);
    }
    TEST_OK(dcl_read(shared, NULL, elements, NULL));
    for (int e = 0; e < SIDE * SIDE; e++)
        cr_assert_eq(elements[e], THREADS * OPERATIONS, "element %d is %d", e, elements[e]);
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}
