/* Threads that run parts of tasks for others. */
#include "base/helpers.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 200, PARTS = 7, SECONDS = 60 };

TestSuite(helpers, .timeout = SECONDS);

/* A task that counts. */
typedef struct counting {
    dcli_task task;
    int of[PARTS]; /* runs; each written by the thread that runs the part, read when the task is over */
    atomic_int *overs;
} counting;

static void count_run(void *user, int part) { ((counting *)user)->of[part]++; }

static void count_over(void *told) { atomic_fetch_add((atomic_int *)told, 1); }

static void start(dcli_helpers *helpers, counting *counting, int parts, atomic_int *overs)
{
    counting->task = (dcli_task){.run = count_run, .user = counting, .parts = parts, .over = count_over, .told = overs};
    dcli_helpers_start(helpers, &counting->task);
}

static int runs_of(const counting *counting)
{
    int runs = 0;
    for (int part = 0; part < PARTS; part++)
        runs += counting->of[part];
    return runs;
}

ParameterizedTestParameters(helpers, every_part_runs_once)
{
    static int threads[] = {0, 1, 3, 100};
    return cr_make_param_array(int, threads, sizeof threads / sizeof threads[0]);
}

ParameterizedTest(const int *threads, helpers, every_part_runs_once)
{
    static counting counted[TASKS];
    atomic_int overs = 0;
    dcli_helpers *helpers = dcli_helpers_open(*threads);
    cr_assert_not_null(helpers);
    for (int t = 0; t < TASKS; t++)
        start(helpers, &counted[t], 1 + t % PARTS, &overs);
    for (int t = 0; t < TASKS; t++) {
        if (t % 3 == 0)
            dcli_helpers_await(helpers, &counted[t].task);
        while (!dcli_task_is_over(&counted[t].task))
            sched_yield();
        cr_expect_eq(runs_of(&counted[t]), 1 + t % PARTS, "task %d: %d runs", t, runs_of(&counted[t]));
        cr_expect_eq(counted[t].of[t % PARTS], 1, "task %d", t);
    }
    dcli_helpers_settle(helpers);
    cr_expect_eq(atomic_load(&overs), TASKS);
    dcli_helpers_close(helpers);
}

/* Several threads start and await tasks of one pool. */
struct owner {
    dcli_helpers *helpers;
    atomic_int *overs;
    int wrong;
};

static void *own(void *argument)
{
    struct owner *owner = argument;
    for (int t = 0; t < TASKS; t++) {
        counting counted = {.of = {0}}; /* gone as soon as it is over */
        start(owner->helpers, &counted, PARTS, owner->overs);
        dcli_helpers_await(owner->helpers, &counted.task);
        owner->wrong += runs_of(&counted) != PARTS;
    }
    return NULL;
}

Test(helpers, several_threads_share_a_pool)
{
    enum { OWNERS = 3 };
    struct owner owners[OWNERS];
    pthread_t thread[OWNERS];
    atomic_int overs = 0;
    dcli_helpers *helpers = dcli_helpers_open(2);
    cr_assert_not_null(helpers);
    for (int o = 0; o < OWNERS; o++) {
        owners[o] = (struct owner){.helpers = helpers, .overs = &overs};
        cr_assert_eq(pthread_create(&thread[o], NULL, own, &owners[o]), 0);
    }
    for (int o = 0; o < OWNERS; o++) {
        pthread_join(thread[o], NULL);
        cr_expect_eq(owners[o].wrong, 0, "%d tasks of %d", owners[o].wrong, TASKS);
    }
    dcli_helpers_settle(helpers);
    cr_expect_eq(atomic_load(&overs), OWNERS * TASKS);
    dcli_helpers_close(helpers);
    dcli_helpers_close(NULL);
}

Test(helpers, copies_are_whole)
{
    const size_t sizes[] = {0, 1, 1000, (512 << 10) - 1, 512 << 10, (3 << 20) + 77};
    char *from = malloc(4 << 20), *to = malloc(4 << 20);
    cr_assert(from != NULL && to != NULL);
    for (size_t n = 0; n < 4 << 20; n++)
        from[n] = (char)(n * 7 + (n >> 10));
    for (int threads = 0; threads <= 3; threads += 3) {
        dcli_helpers *helpers = dcli_helpers_open(threads);
        cr_assert_not_null(helpers);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            memset(to, 0, 4 << 20);
            dcli_helpers_copy(helpers, to, from, sizes[s]);
            cr_expect(memcmp(to, from, sizes[s]) == 0 && to[sizes[s]] == 0, "%zu bytes, %d threads", sizes[s], threads);
        }
        dcli_helpers_close(helpers);
    }
    free(from);
    free(to);
}

static void do_nothing(void *user, int part)
{
    (void)user;
    (void)part;
}

Test(helpers, a_pool_grows_before_its_first_task)
{
    dcli_helpers_choose(20);
    dcli_helpers *helpers = dcli_helpers_open(dcli_helpers_usual(1));
    cr_expect_eq(dcli_helpers_count(helpers), 12);
    dcli_helpers_serve(helpers, 1);
    cr_expect_eq(dcli_helpers_count(helpers), 12);
    dcli_helpers_serve(helpers, 2);
    cr_expect_eq(dcli_helpers_count(helpers), 20);
    dcli_task task = {.run = do_nothing, .parts = 2};
    dcli_helpers_start(helpers, &task);
    dcli_helpers_await(helpers, &task);
    dcli_helpers_choose(40);
    dcli_helpers_serve(helpers, 4);
    cr_expect_eq(dcli_helpers_count(helpers), 20, "threads run");
    dcli_helpers_close(helpers);
    dcli_helpers_choose(-1);
}

Test(helpers, a_test_chooses_their_number)
{
    cr_expect_leq(dcli_helpers_usual(1), 12);
    dcli_helpers_choose(3);
    cr_expect_eq(dcli_helpers_usual(1), 3);
    dcli_helpers_choose(1000);
    cr_expect_eq(dcli_helpers_usual(1), 12);
    cr_expect_eq(dcli_helpers_usual(0), 12);
    cr_expect_eq(dcli_helpers_usual(2), 24);
    cr_expect_eq(dcli_helpers_usual(1000), 48);
    dcli_helpers_choose(-1);
}
