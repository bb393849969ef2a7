/* test/runtime/registered_test.c - worker processes whose devices have memory of their own copy what they send each other, and
 * the program, from and to memory of messages that they have registered. The driver is that of support/fake_opencl. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(registered_on_device, .timeout = TEST_SECONDS);

#if defined TEST_FAKE_OPENCL && defined TEST_DCL

/* Every chunk between three nodes has more than 256 KB: smaller ones are copied by the host. */
enum { N = 1100, SMALL = 200 << 10 /* bytes of tables and small chunks */ };

typedef struct scene {
    fake_tally *tally;
    dcl_cluster *cluster;
    dcl_array *A, *B, *C, *D; /* B is read, and D written, across the nodes */
    pthread_mutex_t lock;     /* what follows */
    int refusals;             /* log lines that say that memory cannot be registered */
} scene;

static scene stage = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int32_t a[N][N], b[N][N], c[N][N], d[N][N];

static void count_line(void *user, int level, const char *line)
{
    scene *s = user;
    (void)level;
    pthread_mutex_lock(&s->lock);
    s->refusals += strstr(line, "cannot be registered: clCreateBuffer gave CL_OUT_OF_RESOURCES") != NULL;
    pthread_mutex_unlock(&s->lock);
}

static void make_arrays(scene *s)
{
    dcl_grid grid = dcl_grid_2d(DCL_INT32, N, N);
    s->A = test_array(s->cluster, "block,*", grid);
    s->B = test_array(s->cluster, "block,*", grid);
    s->C = test_array(s->cluster, "block,*", grid);
    s->D = test_array(s->cluster, "block,*", grid);
}

/* @param plan  of the driver in each process. */
static scene *open_scene(const char *plan, const char *workers, const char *transfer)
{
    scene *s = &stage;
    s->tally = fake_tally_open();
    cr_assert_not_null(s->tally);
    fake_opencl_select();
    setenv("TEST_OPENCL", plan, 1);
    dcl_config config = test_config(3);
    config.transfer = transfer;
    config.workers = workers;
    config.program = TEST_DCL;
    config.log = "warn";
    config.log_fn = count_line;
    config.log_user = s;
    s->refusals = 0;
    s->cluster = test_open(&config);
    make_arrays(s);
    return s;
}

static void end_scene(scene *s)
{
    dcl_release(s->A);
    dcl_release(s->B);
    dcl_release(s->C);
    dcl_release(s->D);
    TEST_OK(dcl_close(s->cluster));
}

/* What was registered is given back in each process before it ends. */
static void close_scene(scene *s)
{
    end_scene(s);
    cr_expect_eq(atomic_load(&s->tally->registered), 0, "%ld bytes are still registered",
                 atomic_load(&s->tally->registered));
}

static dcl_status write_inputs(scene *s, int round)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i * N + j + round;
            b[i][j] = 7 * i - 3 * j + round;
        }
    dcl_status status = dcl_write(s->A, NULL, a, NULL), other = dcl_write(s->B, NULL, b, NULL);
    return status != DCL_OK ? status : other;
}

static dcl_status compute(scene *s)
{
    return dcl_forall(s->cluster, "C(i,j) = A(i,j) + B(j,i); D(j,i) = A(i,j);", DCL_OUT_AS("C", s->C),
                      DCL_OUT_AS("D", s->D), DCL_IN_AS("A", s->A), DCL_IN_AS("B", s->B));
}

static dcl_status read_outputs(scene *s)
{
    memset(c, 0, sizeof c);
    memset(d, 0, sizeof d);
    dcl_status status = dcl_read(s->C, NULL, c, NULL), other = dcl_read(s->D, NULL, d, NULL);
    return status != DCL_OK ? status : other;
}

static void expect_right(const char *what)
{
    int right = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            right += c[i][j] == a[i][j] + b[j][i] && d[j][i] == a[i][j];
    cr_expect_eq(right, N * N, "%s: %d of %d elements are right", what, right, N * N);
}

typedef struct sums {
    long entered, left, entered_elsewhere, left_elsewhere;
} sums;

/* What has crossed since the last call. */
static sums crossed(const scene *s)
{
    fake_tally *t = s->tally;
    return (sums){atomic_exchange(&t->entered, 0), atomic_exchange(&t->left, 0),
                  atomic_exchange(&t->entered_elsewhere, 0), atomic_exchange(&t->left_elsewhere, 0)};
}

struct way_case {
    char what[40], plan[40], workers[16], transfer[8];
    int apart; /* nodes with memory of their own */
    bool registers;
};

ParameterizedTestParameters(registered_on_device, carries_all)
{
    static struct way_case cases[] = {
        {"two GPUs", "apart", "local:2", "auto", 2, true},
        {"three, demanded", "apart", "local:3", "slots", 3, true},
        {"sent", "apart", "local:2", "send", 2, false},
        {"refused", "apart; no registering", "local:2", "auto", 2, false},
    };
    return cr_make_param_array(struct way_case, cases, sizeof cases / sizeof cases[0]);
}

/* All bytes that move cross directly: none crosses between a device and memory that the host copies to or from. */
ParameterizedTest(struct way_case *k, registered_on_device, carries_all)
{
    scene *s = open_scene(k->plan, k->workers, k->transfer);
    dcl_counters start = test_counters(s->cluster, DCL_ALL_NODES);
    const long all = (long)N * N * 4;
    for (int round = 0; round < 3; round++) {
        crossed(s);
        TEST_OK(write_inputs(s, round));
        TEST_OK(dcl_wait(s->cluster));
        sums written = crossed(s);
        TEST_OK(compute(s));
        TEST_OK(dcl_wait(s->cluster));
        sums moved = crossed(s);
        TEST_OK(read_outputs(s));
        sums read = crossed(s);
        expect_right(k->what);
        dcl_counters end = test_counters(s->cluster, DCL_ALL_NODES);
        long bytes = (long)(end.bytes_moved - start.bytes_moved);
        start = end;
        cr_expect(bytes > all / 2);
        cr_expect_eq(written.entered, k->registers ? 2 * all : 0, "%s: %ld written", k->what, written.entered);
        cr_expect_eq(read.left, k->registers ? 2 * all : 0, "%s: %ld read", k->what, read.left);
        long gaps = moved.left - bytes; /* between what crosses as one piece */
        cr_expect(k->registers ? moved.entered == bytes && gaps >= 0 && gaps < 64 : moved.entered + moved.left == 0,
                  "%s: %ld bytes moved; %ld entered, %ld left", k->what, bytes, moved.entered, moved.left);
        long elsewhere =
            written.entered_elsewhere + moved.entered_elsewhere + moved.left_elsewhere + read.left_elsewhere;
        cr_expect(k->registers ? elsewhere < SMALL : elsewhere > 4 * all, "%s: %ld crossed elsewhere", k->what,
                  elsewhere);
    }
    pthread_mutex_lock(&s->lock);
    int refusals = s->refusals;
    pthread_mutex_unlock(&s->lock);
    cr_expect_eq(refusals, strstr(k->plan, "no registering") != NULL ? k->apart : 0, "%s: %d lines", k->what, refusals);
    close_scene(s);
}

/* A processor and a device with memory of its own: the device copies from and to what the processor sends and receives. */
Test(registered_on_device, beside_a_processor)
{
    scene *s = open_scene("apart 1", "local:2", "auto");
    for (int round = 0; round < 2; round++) {
        TEST_OK(write_inputs(s, round));
        TEST_OK(dcl_wait(s->cluster));
        crossed(s);
        TEST_OK(compute(s));
        TEST_OK(dcl_wait(s->cluster));
        sums moved = crossed(s);
        const long quarter = (long)(N / 2) * (N / 2) * 4; /* of B to each, of D to each */
        cr_expect(moved.entered == 2 * quarter && moved.left == 2 * quarter, "%ld entered, %ld left", moved.entered,
                  moved.left);
        cr_expect(moved.entered_elsewhere + moved.left_elsewhere < SMALL);
        TEST_OK(read_outputs(s));
        expect_right("beside a processor");
    }
    close_scene(s);
}

Test(registered_on_device, not_where_all_are_processors)
{
    scene *s = open_scene("", "local:2", "slots");
    TEST_OK(write_inputs(s, 0));
    TEST_OK(compute(s));
    TEST_OK(read_outputs(s));
    expect_right("processors");
    cr_expect_eq(atomic_load(&s->tally->registrations), 0);
    close_scene(s);
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

struct end_case {
    char what[40], plan[120];
    bool fails;
};

ParameterizedTestParameters(registered_on_device, ends_late_or_with_an_error)
{
    static struct end_case cases[] = {
        {"what enters ends late", "apart; late clEnqueueWriteBuffer 1+ 4", false},
        {"what leaves ends late", "apart; late clEnqueueReadBuffer 1+ 4", false},
        {"every other of what enters", "apart; late clEnqueueWriteBuffer 4 60; late clEnqueueWriteBuffer 6 60", false},
        {"kernels end late", "apart; late clEnqueueNDRangeKernel 1+ 4", false},
        {"what enters fails when it runs", "apart; event clEnqueueWriteBuffer 9 -5", true},
        {"what enters is refused", "apart; fail clEnqueueWriteBuffer 9 -5", true},
        {"what leaves fails when it runs", "apart; event clEnqueueReadBuffer 2 -5", true},
        {"what leaves is refused", "apart; fail clEnqueueReadBuffer 2 -5", true},
    };
    return cr_make_param_array(struct end_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct end_case *k, registered_on_device, ends_late_or_with_an_error)
{
    scene *s = open_scene(k->plan, "local:2", "auto");
    dcl_status worst = DCL_OK;
    for (int round = 0; round < 3; round++) {
        dcl_status status[] = {write_inputs(s, round), compute(s), read_outputs(s)};
        for (int n = 0; n < 3; n++)
            worst = worst != DCL_OK ? worst : status[n];
        if (!k->fails)
            expect_right(k->what);
    }
    cr_expect(k->fails ? worst != DCL_OK : worst == DCL_OK, "%s: %s", k->what, dcl_error());
    if (!k->fails)
        close_scene(s);
    else
        dcl_close(s->cluster); /* gives the failure once more */
}

/* The program closes the session while elements cross. */
Test(registered_on_device, closed_in_between)
{
    scene *s = open_scene("apart; late clEnqueueWriteBuffer 1+ 10; late clEnqueueReadBuffer 1+ 10", "local:3", "auto");
    TEST_OK(write_inputs(s, 0));
    for (int n = 0; n < 3; n++)
        TEST_OK(compute(s));
    close_scene(s);
}

/* The process that serves a node, found by the terms that it was given. */
static pid_t find_worker(int node)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    char wanted[32];
    snprintf(wanted, sizeof wanted, " self=%d ", node);
    for (struct dirent *entry; folder != NULL && found == 0 && (entry = readdir(folder)) != NULL;) {
        char path[300], text[4096], parent[32];
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 ? fopen(path, "re") : NULL;
        size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file != NULL)
            fclose(file);
        for (size_t n = 0; n < length; n++)
            text[n] = text[n] == '\0' ? ' ' : text[n];
        text[length] = '\0';
        snprintf(parent, sizeof parent, "parent=%d ", (int)getpid());
        if (strstr(text, parent) != NULL && strstr(text, wanted) != NULL)
            found = atoi(entry->d_name);
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* A process ends while others still copy from its memory, and it from theirs: they go on. */
Test(registered_on_device, a_process_is_killed_in_between)
{
    scene *s = open_scene("apart; late clEnqueueWriteBuffer 1+ 10; late clEnqueueReadBuffer 1+ 10", "local:3", "auto");
    pid_t worker = find_worker(2);
    cr_assert_gt(worker, 0);
    TEST_OK(write_inputs(s, 0));
    TEST_OK(compute(s));
    nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    kill(worker, SIGKILL);
    cr_expect_eq(dcl_wait(s->cluster), DCL_ERR_NODE_LOST, "%s", dcl_error());
    dcl_clear_error(s->cluster);
    dcl_array *old[] = {s->A, s->B, s->C, s->D};
    make_arrays(s); /* on the nodes alive */
    for (int round = 0; round < 2; round++) {
        TEST_OK(write_inputs(s, round));
        TEST_OK(compute(s));
        TEST_OK(read_outputs(s));
        expect_right("after a loss");
    }
    for (int n = 0; n < 4; n++)
        dcl_release(old[n]);
    end_scene(s);
}

#endif
