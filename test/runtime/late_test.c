/* test/runtime/late_test.c - devices whose commands take their time, end late, or end with an error, while messages come and go:
 * devices with memory of their own, and such as use host memory in place. The driver is that of support/fake_opencl. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "net/endpoint.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(late_on_device, .timeout = TEST_SECONDS);

enum { N = 3000, CHUNK_BYTES = 2048, NODES = 2 };

typedef struct scene {
    fake_opencl fake;
    dcl_cluster *cluster;
    dcl_array *A, *C, *D; /* D is dealt otherwise than C: most of it is written for another node */
    int32_t a[N], found[N];
} scene;

static scene stage; /* its arrays are large for a thread's memory */

/* The driver's plan while the nodes open decides how they work. */
static void open_scene(scene *s, const char *kind)
{
    dcl_config config;
    s->fake.plan(kind);
    config = test_config(NODES);
    config.chunk_bytes = CHUNK_BYTES;
    config.transfer = kind != NULL ? "slots" : "send";
    s->cluster = test_open(&config);
    s->A = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, N));
    s->C = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, N));
    s->D = test_array(s->cluster, "cyclic(100)", dcl_grid_1d(DCL_INT32, N));
}

static void find_fake(scene *s)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->fake), "%s", TEST_FAKE_OPENCL);
}

static dcl_status close_cluster(scene *s)
{
    char left[200];
    dcl_release(s->A);
    dcl_release(s->C);
    dcl_release(s->D);
    s->fake.plan(NULL);
    dcl_status status = dcl_close(s->cluster);
    cr_expect_str_eq(s->fake.left(left, sizeof left), "", "not released: %s", left);
    return status;
}

static void close_scene(scene *s) { TEST_OK(close_cluster(s)); }

/* One of each thing that moves: written by the host, read from others, written for others, filled, read by the host.
 * @return the first status that is not DCL_OK. */
static dcl_status play(scene *s, int round)
{
    dcl_status status = DCL_OK, this;
    int shift = round % 7;
    for (int i = 0; i < N; i++)
        s->a[i] = 3 * i + round;
    status = dcl_write(s->A, NULL, s->a, NULL);
    this = test_shift(s->C, s->A, -1, N - 1, shift);
    status = status != DCL_OK ? status : this;
    this = dcl_forall(s->cluster, "C(i) = C(i) + A(i); D(i) = C(i) + v;", DCL_INOUT_AS("C", s->C),
                      DCL_OUT_AS("D", s->D), DCL_IN_AS("A", s->A), DCL_VALUE_AS("v", shift));
    status = status != DCL_OK ? status : this;
    int32_t seven = 7;
    this = dcl_fill(s->A, &seven);
    status = status != DCL_OK ? status : this;
    this = dcl_read(s->D, NULL, s->found, NULL);
    return status != DCL_OK ? status : this;
}

static void expect_found(const scene *s, int round, const char *what)
{
    int shift = round % 7, right = 0;
    for (int i = 0; i < N; i++)
        right += s->found[i] == s->a[N - 1 - i] + shift + s->a[i] + shift;
    cr_expect_eq(right, N, "%s, round %d: %d of %d elements are right", what, round, right, N);
}

/* ---- nobody waits ----------------------------------------------------------------------------------------------- */

/* How long the threads that serve nodes do not look for messages, in time of their own: other threads of a busy machine, and
 * of the driver, do not count. The linker puts this in place of dcli_endpoint_receive() (test/CMakeLists.txt). */

enum { LATE_NS = 2000000 };

static struct looks {
    atomic_bool counts;
    _Atomic int64_t late_ns; /* time in which a message that comes is not looked at within LATE_NS */
    _Atomic int64_t longest_ns, looks;
} looks;

static _Thread_local int64_t looked_ns; /* 0: not yet */

static int64_t own_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void note_look(int64_t spent_ns)
{
    int64_t longest = atomic_load(&looks.longest_ns);
    atomic_fetch_add(&looks.looks, 1);
    if (spent_ns > LATE_NS)
        atomic_fetch_add(&looks.late_ns, spent_ns - LATE_NS);
    while (spent_ns > longest && !atomic_compare_exchange_weak(&looks.longest_ns, &longest, spent_ns))
        ;
}

dcl_status __real_dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out);
dcl_status __wrap_dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out);

dcl_status __wrap_dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out)
{
    bool counts = atomic_load(&looks.counts) && endpoint->self != endpoint->peer_count - 1;
    if (counts && looked_ns != 0)
        note_look(own_ns() - looked_ns);
    dcl_status status = __real_dcli_endpoint_receive(endpoint, milliseconds, received_out);
    looked_ns = counts ? own_ns() : 0;
    return status;
}

struct asking {
    dcl_cluster *cluster;
    atomic_bool ends;
    int64_t ns[10000];
    int count;
};

static void *ask(void *user)
{
    struct asking *asking = user;
    dcl_counters counters;
    while (!atomic_load(&asking->ends) && asking->count < (int)(sizeof asking->ns / sizeof asking->ns[0])) {
        int64_t begin = dcli_monotonic_ns();
        cr_expect_eq(dcl_stats(asking->cluster, 0, &counters), DCL_OK, "%s", dcl_error());
        asking->ns[asking->count++] = dcli_monotonic_ns() - begin;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Run rounds, and count what the serving threads do meanwhile. @return the share of the time after which messages are answered late. */
static double late_share(scene *s, const char *kind)
{
    enum { ROUNDS = 60 };
    atomic_store(&looks.late_ns, 0);
    int64_t begin_ns = dcli_monotonic_ns();
    atomic_store(&looks.counts, true);
    for (int round = 0; round < ROUNDS; round++) {
        TEST_OK(play(s, round));
        expect_found(s, round, kind != NULL ? kind : "in place");
    }
    atomic_store(&looks.counts, false);
    return (double)atomic_load(&looks.late_ns) / (double)(NODES * (dcli_monotonic_ns() - begin_ns));
}

/* Kernels take a few milliseconds and each call that waits 20: the threads that serve nodes make none. On a virtual machine, time
 * in which its host runs others counts as a thread's own, so one of several attempts has to succeed. */
static void play_without_waiting(const char *kind)
{
    enum { ATTEMPTS = 3 };
    const double most = 0.01;
    static struct asking asking;
    scene *s = &stage;
    pthread_t thread;
    find_fake(s);
    open_scene(s, kind);
    for (int round = 0; round < 2; round++) { /* compiles */
        TEST_OK(play(s, round));
        expect_found(s, round, "before");
    }
    asking.cluster = s->cluster;
    s->fake.plan("slow 20; late clEnqueueNDRangeKernel 1+ 3");
    cr_assert_eq(pthread_create(&thread, NULL, ask, &asking), 0);
    double late = 1;
    for (int n = 0; n < ATTEMPTS && late >= most; n++)
        late = late_share(s, kind);
    int waits = s->fake.waits();
    atomic_store(&asking.ends, true);
    pthread_join(thread, NULL);
    cr_expect_eq(waits, 0, "%d calls waited for the device", waits);
    cr_expect_lt(late, most, "messages are answered later than after 2 ms in %.1f of 100 cases", 100 * late);
    qsort(asking.ns, (size_t)asking.count, sizeof asking.ns[0], compare);
    if (getenv("TEST_FIGURES") != NULL) {
        fprintf(stderr, "nodes: %lld looks for messages, %.3f of 100 after 2 ms, the longest after %.2f ms\n",
                (long long)atomic_load(&looks.looks), 100 * late, 1e-6 * (double)atomic_load(&looks.longest_ns));
        fprintf(stderr, "%s: %d calls waited; %d answers: median %.2f ms, 99 of 100 within %.2f ms, last %.2f ms\n",
                kind != NULL ? kind : "in place", waits, asking.count, 1e-6 * asking.ns[asking.count / 2],
                1e-6 * asking.ns[asking.count * 99 / 100], 1e-6 * asking.ns[asking.count - 1]);
    }
    close_scene(s);
}

Test(late_on_device, nobody_waits_for_memory_apart) { play_without_waiting("apart"); }

Test(late_on_device, nobody_waits_in_place) { play_without_waiting(NULL); }

Test(late_on_device, nobody_waits_for_a_gpu) { play_without_waiting("apart; gpu"); }

/* ---- late and out of order -------------------------------------------------------------------------------------- */

struct late_case {
    char plan[200];
    bool apart;
};

ParameterizedTestParameters(late_on_device, commands_end_late)
{
    static struct late_case cases[] = {
        {"late clEnqueueReadBuffer 1+ 3", true},
        {"late clEnqueueWriteBuffer 1+ 3", true},
        {"late clEnqueueCopyBuffer 1+ 3; late clEnqueueFillBuffer 1+ 3", true},
        {"late clEnqueueNDRangeKernel 3 40; late clEnqueueReadBuffer 2 30; late clEnqueueWriteBuffer 4 50", true},
        {"late clEnqueueWriteBuffer 2 60; late clEnqueueWriteBuffer 7 20; late clEnqueueReadBuffer 1+ 1", true},
        {"late clEnqueueReadBuffer 3 60; late clEnqueueReadBuffer 8 30; late clEnqueueNDRangeKernel 1+ 1", true},
        {"late clEnqueueNDRangeKernel 1+ 3", false},
        {"late clEnqueueNDRangeKernel 2 40; late clEnqueueNDRangeKernel 5 20", false},
    };
    return cr_make_param_array(struct late_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct late_case *c, late_on_device, commands_end_late)
{
    scene *s = &stage;
    find_fake(s);
    open_scene(s, c->apart ? "apart" : NULL);
    s->fake.plan(c->plan);
    for (int round = 0; round < 4; round++) {
        TEST_OK(play(s, round));
        expect_found(s, round, c->plan);
    }
    close_scene(s);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

struct failing_case {
    char kind[16]; /* of device: the plan while nodes open; "": works in host memory */
    char function[32];
    bool late; /* other commands are late, too */
};

ParameterizedTestParameters(late_on_device, commands_that_fail_late_fail_the_call)
{
    static struct failing_case cases[] = {
        {"apart", "clEnqueueNDRangeKernel", false},     {"apart", "clEnqueueReadBuffer", false},
        {"apart", "clEnqueueWriteBuffer", false},       {"apart", "clEnqueueFillBuffer", false},
        {"apart", "clEnqueueCopyBuffer", false},        {"apart", "clEnqueueReadBuffer", true},
        {"apart", "clEnqueueWriteBuffer", true},        {"apart", "clEnqueueNDRangeKernel", true},
        {"apart; gpu", "clEnqueueReadBuffer", true},    {"apart; gpu", "clEnqueueWriteBuffer", true},
        {"apart; gpu", "clEnqueueNDRangeKernel", true}, {"apart; gpu", "clEnqueueCopyBuffer", true},
        {"", "clEnqueueNDRangeKernel", false},          {"", "clEnqueueNDRangeKernel", true},
    };
    return cr_make_param_array(struct failing_case, cases, sizeof cases / sizeof cases[0]);
}

/* Let the n-th command fail when it runs: the calls tell so, nothing hangs, and nothing is left. @return false: there are
 * fewer commands. */
static bool play_failing(const struct failing_case *c, int n)
{
    scene *s = &stage;
    char plan[200];
    open_scene(s, c->kind[0] != '\0' ? c->kind : NULL);
    snprintf(plan, sizeof plan, "event %s %d -5%s", c->function, n,
             c->late ? "; late clEnqueueFillBuffer 1+ 2; late clEnqueueCopyBuffer 1+ 2" : "");
    s->fake.plan(plan);
    dcl_status status = play(s, 1);
    dcl_status waited = dcl_wait(s->cluster); /* also if more failures are on their way */
    bool met = s->fake.calls(c->function) >= n;
    /* if the failure is known before the last call, that refuses to read the array, and dcl_wait() tells the cause */
    status = status != DCL_OK && status != DCL_ERR_INVALID ? status : waited;
    if (!met)
        expect_found(s, 1, plan);
    cr_expect_eq(status, met ? DCL_ERR_DEVICE : DCL_OK, "%s: %s: %s: %s", c->kind, plan, dcl_status_name(status),
                 dcl_error());
    dcl_clear_error(s->cluster);
    dcl_status closed = close_cluster(s); /* may tell the failure again: what came of it can be seen later */
    cr_expect(closed == DCL_OK || (met && closed == DCL_ERR_DEVICE), "%s: %s: dcl_close: %s: %s", c->kind, plan,
              dcl_status_name(closed), dcl_error());
    return met;
}

/* With TEST_LONG each command fails in turn, otherwise some. */
ParameterizedTest(struct failing_case *c, late_on_device, commands_that_fail_late_fail_the_call)
{
    static const int numbers[] = {1, 2, 3, 5, 8, 13};
    bool met = true;
    find_fake(&stage);
    if (getenv("TEST_LONG") != NULL)
        for (int n = 1; met; n++) {
            met = play_failing(c, n);
            if (!met)
                fprintf(stderr, "%s: %s: each of %d commands has failed\n", c->kind, c->function, n - 1);
        }
    else
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0] && met; n++)
            met = play_failing(c, numbers[n]);
}
