/* test/runtime/hang_test.c - nodes that are threads of the program, and a driver that does not return. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/cluster.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(hang_on_device, .timeout = TEST_SECONDS);

enum { N = 30000, CHUNK_BYTES = 4096, POOL_BYTES = 1 << 16, SILENCE_MS = 2000 };

/* Beyond the silence, of which one is promised: the machine may be busy. */
static const double most_late_s = 8;

static double now_s(void) { return 1e-9 * (double)dcli_monotonic_ns(); }

static void rest(double seconds)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (time_t)seconds))},
              NULL);
}

typedef struct scene {
    fake_opencl fake;
    dcl_cluster *cluster;
    dcl_array *A, *C;
} scene;

static void open_scene(scene *s, int nodes, size_t silence_ms, size_t kernel_ms)
{
    dcl_config config = test_config(nodes);
    config.chunk_bytes = CHUNK_BYTES;
    config.pool_bytes = POOL_BYTES; /* a write of all elements waits for its node to take some */
    config.silence_ms = silence_ms;
    config.kernel_ms = kernel_ms;
    s->cluster = test_open(&config);
    s->A = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, N));
    s->C = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, N));
}

static void close_scene(scene *s)
{
    dcl_release(s->A);
    dcl_release(s->C);
    TEST_OK(dcl_close(s->cluster));
}

/* PoCL compiles in the first launch of a kernel: here, not later, while silence counts. */
static void begin(scene *s, int nodes, size_t silence_ms, size_t kernel_ms)
{
    int32_t found[N];
    *s = (scene){0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->fake), "%s", TEST_FAKE_OPENCL);
    open_scene(s, nodes, 600000, 600000);
    TEST_OK(test_shift(s->C, s->A, -1, N - 1, 5));
    TEST_OK(dcl_read(s->C, NULL, found, NULL));
    close_scene(s);
    open_scene(s, nodes, silence_ms, kernel_ms);
    TEST_OK(test_shift(s->C, s->A, -1, N - 1, 5));
    TEST_OK(dcl_read(s->C, NULL, found, NULL));
    cr_assert_eq(found[N - 1], 5);
}

/* The thread that hung goes on, in a cluster that has long been closed. */
static void end(scene *s)
{
    s->fake.plan(NULL);
    rest(0.3);
}

static void expect_lost(dcl_status status, double begun_s)
{
    double took_s = now_s() - begun_s;
    cr_expect_eq(status, DCL_ERR_NODE_LOST, "%s: %s", dcl_status_name(status), dcl_error());
    cr_expect_lt(took_s, 1e-3 * SILENCE_MS + most_late_s, "it took %g s", took_s);
}

static dcl_status call_read(scene *s)
{
    static int32_t found[N];
    return dcl_read(s->C, NULL, found, NULL);
}

static dcl_status call_write(scene *s)
{
    enum { MOST_WRITES = 4 }; /* as many as the node takes ahead */
    static const int32_t given[N];
    dcl_status status = DCL_OK;
    for (int n = 0; n < MOST_WRITES && status == DCL_OK; n++)
        status = dcl_write(s->C, NULL, given, NULL);
    return status;
}

static dcl_status call_wait_for(scene *s) { return dcl_wait_for(s->C, -1); }

static dcl_status call_wait(scene *s) { return dcl_wait(s->cluster); }

/* A driver hangs while it starts a kernel; then a call waits for that. */
static void hang_in(dcl_status (*call)(scene *))
{
    scene s;
    begin(&s, 1, SILENCE_MS, 600000);
    s.fake.plan("hang clEnqueueNDRangeKernel 1+");
    double begun_s = now_s();
    TEST_OK(test_shift(s.C, s.A, 1, 0, 6));
    expect_lost(call(&s), begun_s);
    TEST_REFUSED(dcl_status_of(s.cluster), DCL_ERR_NODE_LOST, "DCL_SILENCE_MS");
    cr_expect(!dcl_node_is_alive(s.cluster, 0));
    dcl_release(s.A);
    expect_lost(dcl_close(s.cluster), begun_s);
    end(&s);
}

Test(hang_on_device, ends_a_read) { hang_in(call_read); }

Test(hang_on_device, ends_a_write) { hang_in(call_write); }

Test(hang_on_device, ends_a_wait_for) { hang_in(call_wait_for); }

Test(hang_on_device, ends_a_wait) { hang_in(call_wait); }

/* dcl_close() is the first that waits. */
Test(hang_on_device, ends_closing)
{
    scene s;
    begin(&s, 1, SILENCE_MS, 600000);
    s.fake.plan("hang clEnqueueNDRangeKernel 1+");
    double begun_s = now_s();
    TEST_OK(test_shift(s.C, s.A, 1, 0, 6));
    expect_lost(dcl_close(s.cluster), begun_s);
    end(&s);
}

/* Node 1 hangs while it starts kernels that use copies of elements of node 0. Node 0 has been told before, and overwrites
 * these elements. */
Test(hang_on_device, does_not_delay_the_owner_of_what_was_copied)
{
    enum { FIRST = N / 2 + 1, SOME = 10, MOST_S = 30 };
    static int32_t found[N];
    scene s;
    const dcl_box read = dcl_box_nd(1, (int64_t[]){FIRST}, (int64_t[]){SOME}),
                  owned = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){N / 2});
    begin(&s, 2, 600000, 600000);
    for (int round = 0; round < 2; round++) { /* the first one compiles */
        s.fake.plan(round > 0 ? "hang clEnqueueNDRangeKernel 1" : NULL);
        TEST_OK(dcl_forall_over(s.cluster, &read, "C(i) = A(i-10) + 1;", DCL_OUT_AS("C", s.C), DCL_IN_AS("A", s.A)));
        TEST_OK(dcl_forall_over(s.cluster, &owned, "A(i) = 7 + round;", DCL_OUT_AS("A", s.A), DCL_VALUE(round)));
        double end_s = now_s() + MOST_S;
        while (round > 0 && s.fake.calls("clEnqueueNDRangeKernel") < 2 && now_s() < end_s)
            rest(0.001);
        cr_expect(round == 0 || s.fake.calls("clEnqueueNDRangeKernel") == 2, "node 0 waits for node 1");
        s.fake.plan(NULL);
        TEST_OK(dcl_read(s.C, NULL, found, NULL));
        cr_expect_eq(found[FIRST], round > 0 ? 8 : 1, "%d", found[FIRST]);
    }
    close_scene(&s);
}

/* New arrays over the nodes that are left. */
static void go_on(dcl_cluster *cluster)
{
    int32_t found[N];
    dcl_clear_error(cluster);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N)),
              *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N));
    TEST_OK(test_shift(C, A, -1, N - 1, 7));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    cr_expect_eq(found[0], 7);
    dcl_release(A);
    dcl_release(C);
}

/* One node of three: the others go on, with arrays of their own, and release what the thread that hangs may be reading. */
Test(hang_on_device, costs_one_node)
{
    scene s;
    int32_t found[N];
    begin(&s, 3, SILENCE_MS, 600000);
    s.fake.plan("hang clEnqueueNDRangeKernel 1");
    double begun_s = now_s();
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 6));
    expect_lost(dcl_read(s.C, NULL, found, NULL), begun_s);
    int alive = 0;
    for (int n = 0; n < 3; n++)
        alive += dcl_node_is_alive(s.cluster, n);
    cr_expect_eq(alive, 2, "%d nodes are left", alive);
    go_on(s.cluster);
    dcl_release(s.A);
    dcl_release(s.C);
    TEST_OK(dcl_close(s.cluster));
    end(&s);
}

/* Two nodes with memory of their own. One hangs while its device takes what the other has sent, until the cluster has been closed.
 * @return how many devices are left open. */
static int count_left_open(const char *transfer)
{
    char left[200];
    int32_t found[N];
    scene s = {0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s.fake), "%s", TEST_FAKE_OPENCL);
    s.fake.plan("apart");
    setenv("DCL_TRANSFER", transfer, 1);
    open_scene(&s, 2, 600000, 600000); /* compiles */
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 5));
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    close_scene(&s);
    open_scene(&s, 2, SILENCE_MS, SILENCE_MS); /* a kernel may be running when the other call hangs */
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 5));
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    s.fake.plan("apart; hang clEnqueueWriteBuffer 1");
    double begun_s = now_s();
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 6));
    expect_lost(dcl_wait(s.cluster), begun_s);
    dcl_release(s.A);
    dcl_release(s.C);
    expect_lost(dcl_close(s.cluster), begun_s);
    const char *contexts = strstr(s.fake.left(left, sizeof left), " cl_context");
    s.fake.plan("apart");
    rest(0.3);
    return contexts != NULL ? contexts[-1] - '0' : 0;
}

/* The thread that comes back copies out of slots of the other node's device, which is therefore kept. */
Test(hang_on_device, keeps_devices_whose_slots_are_read)
{
    cr_expect_eq(count_left_open("slots"), 2);
    cr_expect_eq(count_left_open("send"), 1 + 2, "only its own, beside those of before");
}

/* The thread comes back while the cluster is in use: it is lost all the same. */
Test(hang_on_device, that_ends_too_late_changes_nothing)
{
    scene s;
    int32_t found[N];
    begin(&s, 2, SILENCE_MS, 600000);
    s.fake.plan("hang clEnqueueNDRangeKernel 1");
    double begun_s = now_s();
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 6));
    expect_lost(dcl_read(s.C, NULL, found, NULL), begun_s);
    end(&s);
    dcl_clear_error(s.cluster);
    cr_expect_eq(dcl_read(s.C, NULL, found, NULL), DCL_ERR_NODE_LOST, "%s", dcl_error());
    go_on(s.cluster);
    TEST_OK(dcl_close(s.cluster));
}

/* Elements that never arrive in host memory: the node asks its driver again and again, so it is not silent. */
Test(hang_on_device, is_a_copy_that_never_ends)
{
    enum { LIMIT_MS = 1500 };
    static int32_t found[N];
    scene s = {0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s.fake), "%s", TEST_FAKE_OPENCL);
    s.fake.plan("apart");
    open_scene(&s, 2, 600000, 600000);
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 5));
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    close_scene(&s);
    open_scene(&s, 2, 600000, LIMIT_MS);
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 5));
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    s.fake.plan("late clEnqueueReadBuffer 1+ 100000");
    double begun_s = now_s();
    TEST_OK(test_shift(s.C, s.A, -1, N - 1, 6));
    expect_lost(dcl_wait_all(s.cluster, 30), begun_s);
    TEST_REFUSED(dcl_status_of(s.cluster), DCL_ERR_NODE_LOST, "copies between the device and the host");
    dcl_release(s.A);
    dcl_release(s.C);
    expect_lost(dcl_close(s.cluster), begun_s);
    end(&s);
}

/* A kernel that runs is no silence. */
Test(hang_on_device, is_no_long_kernel)
{
    scene s;
    int32_t found[N];
    begin(&s, 1, 1000, 600000);
    s.fake.plan("hang kernel 1");
    TEST_OK(test_shift(s.C, s.A, 1, 0, 6));
    cr_expect_eq(dcl_wait_for(s.C, 3), DCL_ERR_TIMEOUT, "%s", dcl_error());
    s.fake.plan(NULL);
    dcl_clear_error(s.cluster);
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    cr_expect_eq(found[0], 6);
    close_scene(&s);
}

/* Stop this process as a debugger or a batch system does, and let it go on. */
static void be_stopped(double seconds)
{
    pid_t self = getpid(), other = fork();
    cr_assert_geq(other, 0);
    if (other == 0) {
        kill(self, SIGSTOP);
        rest(seconds);
        kill(self, SIGCONT);
        _exit(0);
    }
    int status;
    while (waitpid(other, &status, 0) < 0 && errno == EINTR)
        ;
}

Test(hang_on_device, is_no_stop_of_the_program)
{
    scene s;
    int32_t found[N];
    begin(&s, 1, SILENCE_MS, 2000);
    s.fake.plan("hang kernel 1");
    TEST_OK(test_shift(s.C, s.A, 1, 0, 6));
    cr_expect_eq(dcl_wait_for(s.C, 0.2), DCL_ERR_TIMEOUT, "%s", dcl_error());
    be_stopped(4);
    rest(0.3); /* the guard looks */
    s.fake.plan(NULL);
    dcl_clear_error(s.cluster);
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    cr_expect_eq(found[0], 6);
    close_scene(&s);
}

/* A compiler has a deadline, too: the call that uses a body first waits for it. */
Test(hang_on_device, is_a_compiler_beyond_its_deadline)
{
    scene s;
    begin(&s, 1, 600000, 600000);
    close_scene(&s);
    dcl_config config = test_config(1);
    config.build_ms = 500;
    s.cluster = test_open(&config);
    s.C = test_array(s.cluster, "block", dcl_grid_1d(DCL_INT32, N));
    s.fake.plan("hang clBuildProgram 1");
    dcl_status status = dcl_forall(s.cluster, "C(i) = i;", DCL_OUT_AS("C", s.C));
    cr_expect(status == DCL_ERR_NODE_LOST || status == DCL_ERR_BODY, "%s", dcl_status_name(status));
    cr_expect(strstr(dcl_error(), "its compiler took longer than DCL_BUILD_MS allows while it built `C(i) = i;`") !=
                  NULL,
              "%s", dcl_error());
    cr_expect_neq(dcl_close(s.cluster), DCL_OK);
    end(&s);
}

/* A body that node 0 runs while node 1, which will borrow batches, compiles it in a thread of its own. */
static const char lent_body[] = "int s = 1; for (int n = 0; n < 9999; n++) s = s * 5 + 3; C(i) = s + i;";

enum { LENT_ELEMENTS = 4096 };

static void open_lending(scene *s, const char *steal, size_t build_ms, size_t silence_ms)
{
    dcl_config config = test_config(2);
    config.steal = steal;
    config.build_ms = build_ms;
    config.silence_ms = silence_ms;
    s->cluster = test_open(&config);
    s->A = test_array(s->cluster, "block;nodes=0", dcl_grid_1d(DCL_INT32, LENT_ELEMENTS));
    s->C = test_array(s->cluster, "block", dcl_grid_1d(DCL_INT32, LENT_ELEMENTS));
}

/* Begin with a compiler that hangs in that thread. */
static void begin_lending(scene *s, size_t build_ms, size_t silence_ms)
{
    enum { MOST_ROUNDS = 20 };
    *s = (scene){0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->fake), "%s", TEST_FAKE_OPENCL);
    open_lending(s, "never", 600000, 600000); /* PoCL keeps what it compiles here, so that no other time is long */
    TEST_OK(dcl_forall(s->cluster, lent_body, DCL_OUT_AS("C", s->A)));
    TEST_OK(dcl_forall(s->cluster, lent_body, DCL_OUT_AS("C", s->C)));
    close_scene(s);
    open_lending(s, "always", build_ms, silence_ms);
    s->fake.plan("hang clBuildProgram 2");
    for (int n = 0; n < MOST_ROUNDS && s->fake.calls("clBuildProgram") < 2; n++) {
        TEST_OK(dcl_forall(s->cluster, lent_body, DCL_OUT_AS("C", s->A)));
        TEST_OK(dcl_wait(s->cluster));
    }
    cr_assert_eq(s->fake.calls("clBuildProgram"), 2);
}

/* The time limit of compilers ends a call that needs the program. */
Test(hang_on_device, is_a_compiler_of_what_may_be_borrowed)
{
    scene s;
    begin_lending(&s, 300, 600000);
    double begun_s = now_s();
    dcl_forall(s.cluster, lent_body, DCL_OUT_AS("C", s.C));
    expect_lost(dcl_wait(s.cluster), begun_s);
    cr_expect(strstr(dcl_error(), "its compiler took longer than DCL_BUILD_MS allows while it built `int s = 1;") !=
                  NULL,
              "%s", dcl_error());
    expect_lost(dcl_close(s.cluster), begun_s);
    end(&s);
}

/* It ends closing, too, which needs no program. */
Test(hang_on_device, ends_closing_while_what_may_be_borrowed_is_compiled)
{
    scene s;
    begin_lending(&s, 300, 600000);
    double begun_s = now_s();
    TEST_OK(dcl_close(s.cluster));
    cr_expect_lt(now_s() - begun_s, most_late_s, "it took %g s", now_s() - begun_s);
    end(&s);
}

static void *end_hang(void *fake)
{
    rest(0.8);
    ((fake_opencl *)fake)->plan(NULL);
    return NULL;
}

/* A wait for that thread is no silence. */
Test(hang_on_device, is_no_compiler_within_its_deadline)
{
    enum { LAST = LENT_ELEMENTS - 1 };
    static int32_t found[LENT_ELEMENTS];
    pthread_t other;
    scene s;
    begin_lending(&s, 600000, 500);
    cr_assert_eq(pthread_create(&other, NULL, end_hang, &s.fake), 0);
    TEST_OK(dcl_forall(s.cluster, lent_body, DCL_OUT_AS("C", s.C)));
    TEST_OK(dcl_read(s.C, NULL, found, NULL));
    cr_expect_eq(found[LAST], (int32_t)((uint32_t)found[0] + LAST));
    pthread_join(other, NULL);
    close_scene(&s);
}

/* A kernel has a deadline, after which its body is not run on the nodes that are left. */
Test(hang_on_device, is_a_kernel_beyond_its_deadline)
{
    scene s;
    begin(&s, 2, 600000, 1500);
    s.fake.plan("hang kernel 1");
    TEST_OK(test_shift(s.C, s.A, 1, 0, 6));
    TEST_REFUSED(dcl_wait_for(s.C, -1), DCL_ERR_NODE_LOST, "lost");
    TEST_REFUSED(dcl_status_of(s.cluster), DCL_ERR_NODE_LOST, "DCL_KERNEL_MS allows while it ran `C(i) = A(s*i + t)");
    s.fake.plan(NULL);
    dcl_clear_error(s.cluster);
    dcl_array *A = test_array(s.cluster, "block", dcl_grid_1d(DCL_INT32, N)),
              *C = test_array(s.cluster, "block", dcl_grid_1d(DCL_INT32, N));
    TEST_REFUSED(test_shift(C, A, 1, 0, 7), DCL_ERR_BODY, "a node was lost by this body");
    dcl_clear_error(s.cluster);
    TEST_OK(dcl_close(s.cluster));
    end(&s);
}
