/* test/base/slice_test.c - short time slices of threads. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/signals.h"
#include "base/slice.h"

static void *slice_of_thread(void *slice_out)
{
    *(uint64_t *)slice_out = dcli_slice_of_thread();
    return NULL;
}

static uint64_t slice_of_new_thread(void)
{
    pthread_t thread;
    uint64_t slice = 0;
    cr_assert_eq(pthread_create(&thread, NULL, slice_of_thread, &slice), 0);
    pthread_join(thread, NULL);
    return slice;
}

Test(slice, is_short_for_one_thread)
{
    uint64_t before = dcli_slice_of_thread();
    if (!dcli_slice_shorten()) {
        cr_expect_eq(dcli_slice_of_thread(), before, "nothing changes where it is not possible");
        cr_skip_test("this kernel, or the policy of this thread, has no slices to set");
    }
    cr_expect_eq(dcli_slice_of_thread(), DCLI_SHORT_SLICE_NS);
    cr_expect_gt(slice_of_new_thread(), DCLI_SHORT_SLICE_NS, "it is not inherited");
}

static void *priority_of_thread(void *priority_out)
{
    *(int *)priority_out = dcli_slice_priority();
    return NULL;
}

static void *raise_in_thread(void *priorities_out)
{
    int *priority = priorities_out;
    pthread_t thread;
    const struct sched_param one = {.sched_priority = 1};
    if (pthread_setschedparam(pthread_self(), SCHED_RR, &one) != 0)
        return NULL;
    cr_expect(dcli_slice_shorten() && dcli_slice_shorten(), "asking twice raises it once");
    cr_expect(dcli_slice_is_raised());
    cr_assert_eq(dcli_thread_start(&thread, priority_of_thread, &priority[1]), 0);
    pthread_join(thread, NULL);
    priority[0] = dcli_slice_priority();
    return NULL;
}

Test(slice, a_real_time_thread_gets_the_next_priority)
{
    pthread_t thread;
    int priority[2] = {0, 0};
    cr_assert_eq(pthread_create(&thread, NULL, raise_in_thread, priority), 0);
    pthread_join(thread, NULL);
    if (priority[0] == 0)
        cr_skip_test("this process may not have real-time priorities");
    cr_expect_eq(priority[0], 2);
    cr_expect_eq(priority[1], 1, "threads that it starts have the priority that it had");
    cr_expect(dcli_slice_priority() == 0 && !dcli_slice_is_raised(), "other threads keep theirs");
}

/* Poll at certain times. The first polls rest if more than 450 us have passed without a pause of 50 us. */
static void *rest_in_thread(void *tried_out)
{
    const struct sched_param one = {.sched_priority = 1};
    cr_expect(!dcli_slice_rest(1) && !dcli_slice_rest(10000000), "a thread whose priority is not raised does not rest");
    if (pthread_setschedparam(pthread_self(), SCHED_RR, &one) != 0 || !dcli_slice_shorten())
        return NULL;
    *(bool *)tried_out = true;
    int64_t now = 1000000000;
    int rests = 0;
    for (int n = 0; n < 45; n++)
        rests += dcli_slice_rest(now += 10000);
    cr_expect_eq(rests, 0, "it has polled for 440 us, and rested %d times", rests);
    cr_expect(dcli_slice_rest(now += 10000), "it has polled for 450 us");
    now += DCLI_REST_NS;
    for (int n = 0; n < 90; n++)
        rests += dcli_slice_rest(now += 10000) ? (now += DCLI_REST_NS, 1) : 0;
    cr_expect_eq(rests, 2, "it has polled for 900 us, and rested %d times", rests);
    for (int n = 0; n < 30; n++)
        cr_expect(!dcli_slice_rest(now += DCLI_REST_NS), "pauses need no further rest");
    return NULL;
}

Test(slice, a_raised_thread_that_polls_rests)
{
    pthread_t thread;
    bool tried = false;
    cr_assert_eq(pthread_create(&thread, NULL, rest_in_thread, &tried), 0);
    pthread_join(thread, NULL);
    if (!tried)
        cr_skip_test("this process may not have real-time priorities");
}
