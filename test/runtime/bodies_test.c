/* test/runtime/bodies_test.c - bodies that were not used for long are forgotten by all, and told of anew when they come
 * again. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/worker_pool_inside.h"
#include "runtime/cluster.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"
#include "worker/peer.h"

TestSuite(bodies_on_device, .timeout = TEST_SECONDS);

/* Sanitizers keep what was freed, and take their time. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_IS_GIVEN_BACK = 0, MANY = 500 };
#else
enum { MEMORY_IS_GIVEN_BACK = 1, MANY = 5000 };
#endif

enum { MOST_KB = 50 << 10, ELEMENTS = 12, BODIES = 6 };

static long resident_kb(pid_t pid)
{
    char path[40];
    long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void expect_little_more(dcl_cluster *cluster, pid_t pid, long before)
{
    const dcli_bodies *bodies = &TEST_INSIDE(cluster)->bodies;
    long more = resident_kb(pid) - before;
    cr_expect_leq(bodies->bytes, bodies->most_bytes);
    if (MEMORY_IS_GIVEN_BACK)
        cr_expect_lt(more, MOST_KB, "%d bodies take %ld KB", MANY, more);
}

/* A body that no other one is. */
static const char *body_number(int n)
{
    static _Thread_local char body[40];
    snprintf(body, sizeof body, "C(i) = A(i) + %d;", n);
    return body;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

Test(bodies_on_device, that_were_explained_are_limited_by_bytes)
{
    dcl_cluster *cluster = dcl_open_plan(3);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *C = test_array(cluster, "cyclic", dcl_grid_1d(DCL_INT32, ELEMENTS));
    long before = resident_kb(getpid());
    for (int n = 0; n < MANY; n++) {
        dcl_counters counters;
        TEST_OK(dcl_explain(cluster, &counters, body_number(n), DCL_OUT(C), DCL_IN(A)));
    }
    expect_little_more(cluster, getpid(), before);
    TEST_OK(dcl_close(cluster));
}

/* The driver compiles one of them. Before, as much is done with one body: what open operations take is none of it. */
static void run_many(dcl_cluster *cluster, pid_t worker)
{
    pid_t pids[] = {getpid(), worker};
    long before[2];
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *C = test_array(cluster, "cyclic", dcl_grid_1d(DCL_INT32, ELEMENTS));
    for (size_t n = 0; n < TEST_INSIDE(cluster)->config.window; n++)
        TEST_OK(dcl_forall(cluster, body_number(0), DCL_OUT(C), DCL_IN(A)));
    TEST_OK(dcl_wait(cluster));
    for (int p = 0; p < 2; p++)
        before[p] = resident_kb(pids[p]);
    for (int n = 0; n < MANY; n++) {
        TEST_OK(dcl_forall(cluster, body_number(n), DCL_OUT(C), DCL_IN(A)));
        if (n % 100 == 0) /* bodies of open operations are in use, however slow the node is */
            TEST_OK(dcl_wait(cluster));
    }
    TEST_OK(dcl_wait(cluster));
    for (int p = 0; p < 2; p++)
        expect_little_more(cluster, pids[p], before[p]);
    TEST_OK(dcl_close(cluster));
}

/* In the program, at the host's side and on the node, which parse each of them. */
Test(bodies_on_device, that_ran_are_limited_by_bytes)
{
    fake_opencl fake = {0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    fake.plan("one dcl_unit");
    run_many(open_nodes(1), getpid());
}

/* What fails for a moment gets another number each time. */
Test(bodies_on_device, that_cannot_be_compiled_are_limited_by_bytes)
{
    fake_opencl fake = {0};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS));
    fake.plan("fail clCreateProgramWithSource 1+ -6");
    long before = resident_kb(getpid());
    for (int n = 0; n < MANY; n++)
        TEST_REFUSED(dcl_forall(cluster, body_number(n % 2), DCL_OUT(C), DCL_IN(A)), DCL_ERR_NOMEM, "CL_OUT_OF");
    expect_little_more(cluster, getpid(), before);
    cr_expect_leq(TEST_INSIDE(cluster)->bodies.forgotten_count, 2);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}

/* ---- results ------------------------------------------------------------------------------------------------------ */

/* Forgets every body that is in nobody's use. */
static void forget_at_once(dcl_cluster *cluster) { TEST_INSIDE(cluster)->bodies.most_bytes = 1; }

/* Calls look among the last bodies first. */
Test(bodies_on_device, that_were_called_last_are_found_without_their_hash)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    const dcli_bodies *bodies = &TEST_INSIDE(cluster)->bodies;
    dcl_counters counters;
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *B = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, ELEMENTS)),
              *C = test_array(cluster, "cyclic", dcl_grid_1d(DCL_INT32, ELEMENTS));
    for (int n = 0; n < 3 * DCLI_RECENT_BODIES; n++)
        TEST_OK(dcl_explain(cluster, &counters, body_number(n % DCLI_RECENT_BODIES), DCL_OUT(C), DCL_IN(A)));
    cr_expect_eq(bodies->next_recent, DCLI_RECENT_BODIES, "each was looked up once, not %u times", bodies->next_recent);
    TEST_OK(dcl_explain(cluster, &counters, body_number(0), DCL_OUT(C), DCL_IN_AS("A", B)));
    cr_expect_eq(bodies->next_recent, DCLI_RECENT_BODIES + 1, "another type of elements is another body");
    forget_at_once(cluster);
    TEST_OK(dcl_explain(cluster, &counters, body_number(DCLI_RECENT_BODIES), DCL_OUT(C), DCL_IN(A)));
    for (int r = 0; r < DCLI_RECENT_BODIES; r++) {
        const dcli_known_body *known = bodies->recent[r];
        bool is_kept = known == NULL || strcmp(known->body->text, body_number(DCLI_RECENT_BODIES)) == 0;
        cr_expect(is_kept, "a body that was evicted can be found");
    }
    TEST_OK(dcl_close(cluster));
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

/* Few bodies in random order, so that most are told of again and again; some are in use when others come. What is
 * computed depends on every one of them. */
static void run_some(dcl_cluster *cluster, const char *map, uint64_t seed, int calls)
{
    int32_t expected[ELEMENTS], found[ELEMENTS];
    uint64_t state = seed;
    dcl_array *A = test_array(cluster, map, dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS));
    for (int e = 0; e < ELEMENTS; e++)
        expected[e] = 0;
    for (int call = 0; call < calls; call++) {
        int n = (int)draw(&state, BODIES);
        char body[60];
        dcl_counters counters;
        snprintf(body, sizeof body, "C(i) = 3 * (A(%d - i) %% 1000) + %d;", ELEMENTS - 1, n);
        TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
        for (int e = 0; e < ELEMENTS / 2; e++) {
            int32_t first = expected[e];
            expected[e] = 3 * (expected[ELEMENTS - 1 - e] % 1000) + n;
            expected[ELEMENTS - 1 - e] = 3 * (first % 1000) + n;
        }
        if (draw(&state, 3) == 0)
            TEST_OK(dcl_explain(cluster, &counters, body_number(n), DCL_OUT(C), DCL_IN(A)));
        dcl_array *other = A;
        A = C;
        C = other;
        if (draw(&state, 4) != 0)
            continue;
        TEST_OK(dcl_read(A, NULL, found, NULL));
        for (int e = 0; e < ELEMENTS; e++)
            cr_assert_eq(found[e], expected[e], "call %d: element %d is %d; expected %d", call, e, found[e],
                         expected[e]);
    }
    dcl_release(A);
    dcl_release(C);
}

Test(bodies_on_device, that_come_again_compute_the_same)
{
    for (int mode = 0; mode < 2; mode++) {
        dcl_config config = test_config(3);
        config.transfer = mode == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        forget_at_once(cluster);
        run_some(cluster, "cyclic(2)", (uint64_t)mode, 120);
        cr_expect_gt(TEST_INSIDE(cluster)->bodies.numbers, 3 * BODIES, "hardly any was forgotten");
        TEST_OK(dcl_close(cluster));
    }
}

struct runner {
    dcl_cluster *cluster;
    uint64_t seed;
};

static void *run_beside(void *argument)
{
    struct runner *runner = argument;
    run_some(runner->cluster, "cyclic(2)", runner->seed, 40);
    return NULL;
}

/* Calls of one thread forget what those of another are waiting for, unless it is held. */
Test(bodies_on_device, that_several_threads_use_compute_the_same)
{
    enum { THREADS = 3 };
    struct runner runner[THREADS];
    pthread_t thread[THREADS];
    dcl_config config = test_config(2);
    config.window = 4; /* calls wait while it is full */
    dcl_cluster *cluster = test_open(&config);
    forget_at_once(cluster);
    for (int t = 0; t < THREADS; t++) {
        runner[t] = (struct runner){.cluster = cluster, .seed = (uint64_t)t};
        cr_assert_eq(pthread_create(&thread[t], NULL, run_beside, &runner[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    TEST_OK(dcl_close(cluster));
}

/* The program's notes on copies name bodies of operations that ran long ago. */
Test(bodies_on_device, that_are_forgotten_leave_a_right_directory)
{
    dcl_config config = test_config(2);
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *C = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, ELEMENTS));
    forget_at_once(cluster);
    test_count_up(A, 5, 1);
    TEST_OK(dcl_keep(A, true));
    int64_t moved = 0;
    for (int n = 0; n < 3 * BODIES; n++) {
        int32_t found[ELEMENTS];
        char body[60];
        dcl_counters planned;
        snprintf(body, sizeof body, "C(i) = 3 * (A(%d - i) %% 1000) + %d;", ELEMENTS - 1, n % BODIES);
        TEST_OK(dcl_forall(cluster, body, DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_read(C, NULL, found, NULL));
        cr_expect_eq(found[0], 3 * (5 + ELEMENTS - 1) + n % BODIES);
        TEST_OK(dcl_explain(cluster, &planned, body, DCL_OUT(C), DCL_IN(A)));
        cr_expect_eq(planned.bytes_moved, 0, "after use %d", n);
        moved += n == 0 ? test_counters(cluster, DCL_ALL_NODES).bytes_moved : 0;
    }
    cr_expect_gt(moved, 0);
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).bytes_moved, moved, "what was kept has moved again");
    TEST_OK(dcl_close(cluster));
}

/* The next node would be lost by it, too. */
Test(bodies_on_device, that_have_cost_a_node_are_not_forgotten)
{
    static const char wild[] = "C(i) = 7;", *const sentence = "node 1: computed `C(i) = 7;` (body 1) for too long";
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = test_array(cluster, "block;nodes=0", dcl_grid_1d(DCL_INT32, ELEMENTS)),
              *C = test_array(cluster, "block;nodes=0", dcl_grid_1d(DCL_INT32, ELEMENTS));
    TEST_OK(dcl_forall(cluster, wild, DCL_OUT(C)));
    TEST_OK(dcl_wait(cluster));
    dcli_cluster_on_lost(TEST_INSIDE(cluster), 1, sentence); /* in the books alone */
    dcl_clear_error(cluster);
    forget_at_once(cluster);
    for (int n = 0; n < 100; n++) {
        dcl_counters counters;
        TEST_OK(dcl_explain(cluster, &counters, body_number(n), DCL_OUT(C), DCL_IN(A)));
    }
    TEST_REFUSED(dcl_forall(cluster, wild, DCL_OUT(C)), DCL_ERR_BODY, "which is not run again");
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

#ifdef TEST_DCL
Test(bodies_on_device, that_ran_in_a_process_are_limited_by_bytes)
{
    fake_opencl_select();
    setenv("TEST_OPENCL", "one dcl_unit", 1);
    dcl_config config = test_config(1);
    config.workers = "local:1";
    config.program = TEST_DCL;
    dcl_cluster *cluster = test_open(&config);
    run_many(cluster, TEST_INSIDE(cluster)->pool->member[0].process.pid);
}

/* Along the tree 0, 1, 2: what node 0 was told last is said again to node 1 when it is lost, with bodies among it that
 * were forgotten since. Who joins is told of those that are known then. */
Test(bodies_on_device, that_come_again_reach_all_nodes_through_losses_and_joins)
{
    for (uint64_t seed = 0; seed < 2; seed++) {
        dcl_config config = test_config(1);
        config.workers = "local:3";
        config.program = TEST_DCL;
        config.fanout = 1;
        config.spare = 1;
        config.transfer = seed == 0 ? "auto" : "send";
        dcl_cluster *cluster = test_open(&config);
        dcl_array *X = test_array(cluster, "block;nodes=0", dcl_grid_1d(DCL_INT32, ELEMENTS)),
                  *Y = test_array(cluster, "block;nodes=0", dcl_grid_1d(DCL_INT32, ELEMENTS));
        dcli_worker_pool *pool = TEST_INSIDE(cluster)->pool;
        forget_at_once(cluster);
        run_some(cluster, "cyclic(2)", seed, 40);
        for (int n = 0; n < 2 * BODIES; n++) /* nothing waits for these */
            TEST_OK(dcl_forall(cluster, body_number(n % BODIES), DCL_OUT_AS("C", X), DCL_IN_AS("A", Y)));
        pthread_mutex_lock(&pool->lock); /* the process monitor clears it once the process is reaped */
        pid_t victim = pool->member[0].process.pid;
        pthread_mutex_unlock(&pool->lock);
        cr_assert_eq(kill(victim, SIGKILL), 0);
        while (dcl_node_is_alive(cluster, 0))
            usleep(1000);
        dcl_wait(cluster); /* some may have told of the loss before */
        dcl_clear_error(cluster);
        run_some(cluster, "cyclic(2);nodes=2,1", seed + 2, 40);
        TEST_OK(dcl_add_workers(cluster, "local:1"));
        run_some(cluster, "cyclic(2);nodes=1,3,2", seed + 4, 40);
        TEST_OK(dcl_close(cluster));
    }
}
#endif
