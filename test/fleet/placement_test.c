/* test/fleet/placement_test.c - when a worker process is bound to a processor, and when not. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "fleet/placement.h"

static const int64_t ms = 1000000, second = 1000000000;

/* Let times pass in which the serving thread ran, and in which the others ran or waited, all in ms. */
static bool look(dcli_affinity *affinity, dcli_process_times *times, int64_t now_ns, int served, int ran, int waited)
{
    times->serving.ran += served * ms;
    times->others.ran += ran * ms;
    times->others.waited += waited * ms;
    return dcli_affinity_look(affinity, times, now_ns);
}

struct judged_case {
    char what[48];
    int serving[2], others[2]; /* ran, waited: ms since it was bound */
    bool bound;
};

ParameterizedTestParameters(placement, judged)
{
    static struct judged_case cases[] = {
        {"nothing ran", {0, 0}, {0, 0}, true},
        {"too little to judge", {0, 0}, {4, 15}, true},
        {"they ran alone", {10, 0}, {50, 0}, true},
        {"waiting for a fifth", {0, 0}, {40, 10}, true},
        {"waiting for more than a fifth", {0, 0}, {39, 11}, false},
        {"half of the time another program", {1, 0}, {50, 50}, false},
        {"they waited for each other", {60, 20}, {20, 60}, true},
        {"the serving thread waited for another program", {10, 150}, {40, 5}, false},
        {"as measured beside little other work", {306, 1791}, {1574, 113}, true},
    };
    return cr_make_param_array(struct judged_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct judged_case *c, placement, judged)
{
    dcli_affinity affinity = {0};
    dcli_process_times times = {{5 * second, 6 * second}, {7 * second, 9 * second}};
    cr_assert(look(&affinity, &times, second, 0, 0, 0), "it is bound at first");
    times.serving.waited += c->serving[1] * ms;
    cr_expect_eq(look(&affinity, &times, second + 100 * ms, c->serving[0], c->others[0], c->others[1]), c->bound, "%s",
                 c->what);
}

Test(placement, times_are_added_until_they_suffice)
{
    dcli_affinity affinity = {0};
    dcli_process_times times = {0};
    cr_assert(look(&affinity, &times, second, 0, 0, 0));
    cr_expect(look(&affinity, &times, 2 * second, 0, 8, 8));
    cr_expect_not(look(&affinity, &times, 3 * second, 0, 8, 8));
}

/* A thread that ends takes its times with it. */
Test(placement, threads_that_end_are_not_judged)
{
    dcli_affinity affinity = {0};
    dcli_process_times times = {.others = {second, second}};
    cr_assert(look(&affinity, &times, second, 0, 0, 0));
    cr_expect(look(&affinity, &times, 2 * second, 0, -200, 500));
    cr_expect_not(look(&affinity, &times, 3 * second, 0, 50, 50), "what came after is");
}

Test(placement, is_tried_again_later_each_time)
{
    dcli_affinity affinity = {0};
    dcli_process_times times = {0};
    int64_t now = second, most = 64 * second;
    for (int64_t pause = 100 * ms; pause <= 4 * most; pause *= 2) {
        int64_t expected = pause < most ? pause : most;
        cr_assert(look(&affinity, &times, now, 0, 0, 0), "bound before a pause of %d ms", (int)(expected / ms));
        cr_expect_not(look(&affinity, &times, now += 100 * ms, 0, 50, 50));
        cr_expect_not(look(&affinity, &times, now + expected - 1, 0, 50, 50), "after less than %d ms",
                      (int)(expected / ms));
        now += expected;
    }
    cr_assert(look(&affinity, &times, now, 0, 0, 0));
    now += 10 * most; /* bound for long */
    cr_expect_not(look(&affinity, &times, now, 0, 50, 50));
    cr_expect(look(&affinity, &times, now + 100 * ms, 0, 0, 0), "then the pause is short again");
}

Test(placement, binds_this_process)
{
    cpu_set_t all, now;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    int processors = CPU_COUNT(&all);
    cr_expect_null(dcli_placement_open(0, 1), "a process alone");
    cr_expect_null(dcli_placement_open(0, processors + 1), "more processes than processors");
    if (processors < 2)
        cr_skip("this host has one processor");
    dcli_placement *placement = dcli_placement_open(processors + 1, processors);
    if (placement == NULL)
        cr_skip("this system does not tell the times of threads");
    dcli_placement_look(placement, second);
    cr_assert_eq(sched_getaffinity(0, sizeof now, &now), 0);
    cr_expect_eq(CPU_COUNT(&now), 1);
    int second_one = 0;
    for (int left = 1; !CPU_ISSET(second_one, &all) || left-- > 0;)
        second_one++;
    cr_expect(CPU_ISSET(second_one, &now), "the second of its processors");
    dcli_placement_close(placement);
    cr_assert_eq(sched_getaffinity(0, sizeof now, &now), 0);
    cr_expect(CPU_EQUAL(&now, &all));
}

static void *spin(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        ;
    return NULL;
}

/* Three threads that want the processor wait for each other, which counts as waiting for other programs. */
Test(placement, frees_threads_that_wait, .timeout = 120)
{
    enum { THREADS = 3 };
    cpu_set_t all, now;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    dcli_placement *placement = CPU_COUNT(&all) > 1 ? dcli_placement_open(0, CPU_COUNT(&all)) : NULL;
    if (placement == NULL)
        cr_skip("this host has one processor, or does not tell the times of threads");
    pthread_t thread[THREADS];
    atomic_bool stop = false;
    int64_t at = second;
    dcli_placement_look(placement, at);
    for (int n = 0; n < THREADS; n++)
        cr_assert_eq(pthread_create(&thread[n], NULL, spin, &stop), 0);
    int processors = 1;
    while (processors == 1) { /* until the timeout */
        nanosleep(&(struct timespec){.tv_nsec = 20 * ms}, NULL);
        dcli_placement_look(placement, at += 100 * ms);
        cr_assert_eq(sched_getaffinity(0, sizeof now, &now), 0);
        processors = CPU_COUNT(&now);
    }
    atomic_store(&stop, true);
    for (int n = 0; n < THREADS; n++)
        pthread_join(thread[n], NULL);
    cr_expect(CPU_EQUAL(&now, &all));
    dcli_placement_close(placement);
}
