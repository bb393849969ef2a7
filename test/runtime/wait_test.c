/* test/runtime/wait_test.c - threads that wait, and serve the host's worker meanwhile. The driver is that of support/fake_opencl. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/cluster.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"
#include "worker/peer.h"

TestSuite(wait_on_device, .timeout = TEST_SECONDS);

enum { N = 1000, THREADS = 3, ROUNDS = 200 };

static void rest_ms(int64_t milliseconds)
{
    nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}, NULL);
}

typedef struct scene {
    fake_opencl fake;
    dcl_cluster *cluster;
    dcl_array *A, *C;
} scene;

static void begin(scene *s)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->fake), "%s", TEST_FAKE_OPENCL);
    s->cluster = open_nodes(1);
    s->A = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, N));
    s->C = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, N));
    TEST_OK(test_shift(s->C, s->A, 1, 0, 1)); /* compiles */
    TEST_OK(dcl_wait(s->cluster));
}

static void end(scene *s)
{
    dcl_release(s->A);
    dcl_release(s->C);
    TEST_OK(dcl_close(s->cluster));
}

static int64_t open_operations(const scene *s)
{
    dcl_cluster *cluster = TEST_INSIDE(s->cluster);
    pthread_mutex_lock(&cluster->lock);
    int64_t left = cluster->operations - cluster->complete;
    pthread_mutex_unlock(&cluster->lock);
    return left;
}

/* Wait, without serving, until all operations are complete. */
static void expect_complete(const scene *s, int round)
{
    int64_t until_ns = dcli_monotonic_ns() + (int64_t)20e9;
    while (open_operations(s) > 0 && dcli_monotonic_ns() < until_ns)
        rest_ms(1);
    cr_assert_eq(open_operations(s), 0, "round %d: not complete after 20 s", round);
}

/* A program that has always waited at once for what it called does so no more: what it calls starts all the same. */
Test(wait_on_device, what_nobody_waits_for_starts)
{
    scene s;
    begin(&s);
    for (int round = 0; round < 20; round++) {
        for (int n = 0; n < 10; n++) {
            TEST_OK(test_shift(s.C, s.A, 1, 0, n));
            TEST_OK(dcl_wait(s.cluster));
        }
        rest_ms(round % 4);                           /* others wait longer than the worker's own thread rests */
        for (int n = 0; n < 1 + 17 * round % 40; n++) /* of many in a row, some are sent later, together */
            TEST_OK(test_shift(s.C, s.A, 1, 0, round));
        expect_complete(&s, round);
    }
    end(&s);
}

struct stream {
    scene *s;
    dcl_array *X;
    pthread_barrier_t *start;
    int calls;
    bool waits;
};

static void *call_in_a_row(void *user)
{
    const struct stream *stream = user;
    pthread_barrier_wait(stream->start);
    if (stream->waits)
        TEST_OK(dcl_wait(stream->s->cluster));
    for (int n = 0; n < stream->calls; n++)
        TEST_OK(test_shift(stream->X, stream->s->A, 1, 0, n));
    return NULL;
}

/* The same of several threads, one of which may be serving while another one calls. */
Test(wait_on_device, what_no_thread_waits_for_starts)
{
    enum { TURNS = 60 };
    scene s;
    struct stream stream[THREADS];
    pthread_t thread[THREADS];
    pthread_barrier_t start;
    begin(&s);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int t = 0; t < THREADS; t++)
        stream[t] =
            (struct stream){.s = &s, .X = test_array(s.cluster, "block", dcl_grid_1d(DCL_INT32, N)), .start = &start};
    for (int turn = 0; turn < TURNS; turn++) {
        for (int t = 0; t < THREADS; t++) {
            stream[t].calls = (37 * turn + 53 * t) % 150;
            stream[t].waits = (turn + t) % 3 == 0;
            cr_assert_eq(pthread_create(&thread[t], NULL, call_in_a_row, &stream[t]), 0);
        }
        for (int t = 0; t < THREADS; t++)
            pthread_join(thread[t], NULL);
        expect_complete(&s, turn);
    }
    for (int t = 0; t < THREADS; t++)
        dcl_release(stream[t].X);
    pthread_barrier_destroy(&start);
    end(&s);
}

struct caller {
    scene *s;
    dcl_array *X;
    int number;
};

static void *call_and_wait(void *user)
{
    struct caller *caller = user;
    int32_t found[N];
    for (int r = 0; r < ROUNDS; r++) {
        TEST_OK(test_shift(caller->X, caller->s->A, 1, 0, caller->number + r));
        if (r % 3 == 0)
            TEST_OK(dcl_wait(caller->s->cluster));
        if (r % 7 == 0) {
            TEST_OK(dcl_read(caller->X, NULL, found, NULL));
            cr_assert_eq(found[N - 1], caller->number + r);
        }
    }
    return NULL;
}

/* Whichever serves, all come to their end. */
Test(wait_on_device, threads_take_turns)
{
    scene s;
    struct caller caller[THREADS];
    pthread_t thread[THREADS];
    begin(&s);
    for (int t = 0; t < THREADS; t++) {
        caller[t] = (struct caller){
            .s = &s, .X = test_array(s.cluster, "block", dcl_grid_1d(DCL_INT32, N)), .number = 1000 * t};
        cr_assert_eq(pthread_create(&thread[t], NULL, call_and_wait, &caller[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++)
        dcl_release(caller[t].X);
    end(&s);
}

static void *wait_for_all(void *user)
{
    const scene *s = user;
    TEST_OK(dcl_wait(s->cluster));
    return NULL;
}

/* One thread waits, and serves, for long; a second one has a limit. */
Test(wait_on_device, limits_hold_while_another_thread_serves)
{
    scene s;
    pthread_t thread;
    begin(&s);
    s.fake.plan("late clEnqueueNDRangeKernel 1 2000");
    TEST_OK(test_shift(s.C, s.A, 1, 0, 5));
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_all, &s), 0);
    rest_ms(100);
    int64_t begin_ns = dcli_monotonic_ns();
    TEST_REFUSED(dcl_wait_all(s.cluster, 0.05), DCL_ERR_TIMEOUT, "is not complete after 0.05 seconds");
    int64_t spent_ns = dcli_monotonic_ns() - begin_ns;
    cr_expect(open_operations(&s) == 0 || spent_ns < (int64_t)1.5e9, "waited %.3f s", 1e-9 * (double)spent_ns);
    pthread_join(thread, NULL);
    s.fake.plan(NULL);
    end(&s);
}

/* The limit of the thread that serves itself. */
Test(wait_on_device, limits_hold_for_the_thread_that_serves)
{
    scene s;
    begin(&s);
    s.fake.plan("late clEnqueueNDRangeKernel 1 600");
    TEST_OK(test_shift(s.C, s.A, 1, 0, 5));
    TEST_REFUSED(dcl_wait_all(s.cluster, 0), DCL_ERR_TIMEOUT, "is not complete after 0 seconds");
    TEST_REFUSED(dcl_wait_all(s.cluster, 0.05), DCL_ERR_TIMEOUT, "is not complete after 0.05 seconds");
    TEST_OK(dcl_wait(s.cluster));
    s.fake.plan(NULL);
    end(&s);
}

struct busy {
    pthread_mutex_t *serving;
    atomic_bool begun, over;
};

/* What the host's own thread does while it plans for long: it keeps its turn. */
static void *keep_turn(void *user)
{
    struct busy *busy = user;
    pthread_mutex_lock(busy->serving);
    atomic_store(&busy->begun, true);
    for (int64_t ms = 0; ms < 5000 && !atomic_load(&busy->over); ms++)
        rest_ms(1);
    pthread_mutex_unlock(busy->serving);
    return NULL;
}

Test(wait_on_device, limits_hold_while_the_hosts_own_thread_is_busy)
{
    scene s;
    begin(&s);
    dcl_cluster *inside = TEST_INSIDE(s.cluster);
    struct busy busy = {.serving = &inside->worker[inside->host]->as_host->turn.serving};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, keep_turn, &busy), 0);
    while (!atomic_load(&busy.begun))
        rest_ms(1);
    TEST_OK(test_shift(s.C, s.A, 1, 0, 5));
    int64_t begin_ns = dcli_monotonic_ns();
    TEST_REFUSED(dcl_wait_all(s.cluster, 0.05), DCL_ERR_TIMEOUT, "is not complete after 0.05 seconds");
    int64_t spent_ns = dcli_monotonic_ns() - begin_ns;
    cr_expect_lt(spent_ns, (int64_t)3e9, "waited %.3f s", 1e-9 * (double)spent_ns);
    atomic_store(&busy.over, true);
    pthread_join(thread, NULL);
    TEST_OK(dcl_wait(s.cluster)); /* the own thread serves on */
    end(&s);
}
