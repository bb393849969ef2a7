/* Launching kernels, tickets, waiting and notifications, on a device. */
#include "device/opened.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { COUNT = 256 };

/* An array of COUNT ints and the kernel that adds to it. */
struct adder {
    dcli_device *device;
    dcli_program *program;
    dcli_memory *memory;
};

static struct adder make_adder(int flags)
{
    struct adder adder = {.device = test_open(flags)};
    adder.program = test_build(adder.device, TEST_ADD_SOURCE, "add");
    cr_assert_eq(dcli_memory_create(adder.device, COUNT * sizeof(int), &adder.memory), DCL_OK, "%s", dcl_error());
    return adder;
}

static void free_adder(struct adder *adder)
{
    dcli_memory_release(adder->memory);
    dcli_program_release(adder->program);
    dcli_device_close(adder->device);
}

static uint64_t add(struct adder *adder, int n)
{
    uint64_t ticket = 0;
    const size_t global = COUNT, local = 64;
    dcli_argument arguments[] = {{.memory = adder->memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    cr_assert_eq(dcli_device_launch(adder->device, adder->program, 0, 2, arguments, 1, &global, &local, &ticket),
                 DCL_OK, "%s", dcl_error());
    return ticket;
}

static void expect_all(struct adder *adder, int value)
{
    int found[COUNT];
    cr_assert_eq(dcli_memory_get(adder->memory, 0, found, sizeof found), DCL_OK, "%s", dcl_error());
    int right = 0;
    for (int n = 0; n < COUNT; n++)
        right += found[n] == value;
    cr_expect_eq(right, COUNT, "%d of %d elements are %d; the first is %d", right, COUNT, value, found[0]);
}

Test(device_launch, thousand_dependent_launches_run_in_order)
{
    const int modes[] = {0, DCLI_OPEN_SEPARATE, DCLI_OPEN_AS_GPU}; /* as GPU: few launches have events */
    for (int mode = 0; mode < 3; mode++) {
        struct adder adder = make_adder(modes[mode]);
        uint64_t before = dcli_device_launched(adder.device);
        int sum = 0;
        for (int n = 0; n < 1000; n++) {
            cr_expect_eq(add(&adder, n % 7), before + (uint64_t)n + 1);
            sum += n % 7;
        }
        expect_all(&adder, sum);
        cr_expect_geq(dcli_device_retired(adder.device), before + 1000);
        free_adder(&adder);
    }
}

/* Arguments that stay are not set again; those that change are. */
Test(device_launch, changed_arguments_are_seen)
{
    struct adder adder = make_adder(0);
    dcli_memory *first = adder.memory, *second;
    cr_assert_eq(dcli_memory_create(adder.device, COUNT * sizeof(int), &second), DCL_OK);
    add(&adder, 1);
    add(&adder, 1);
    add(&adder, 10);
    adder.memory = second;
    add(&adder, 10);
    add(&adder, 100);
    expect_all(&adder, 110);
    adder.memory = first;
    expect_all(&adder, 12);
    /* memory that takes the place of a released one is another memory */
    dcli_memory_release(second);
    cr_assert_eq(dcli_memory_create(adder.device, COUNT * sizeof(int), &second), DCL_OK);
    adder.memory = second;
    add(&adder, 5);
    expect_all(&adder, 5);
    dcli_memory_release(first);
    free_adder(&adder);
}

Test(device_launch, settle_waits_for_writers)
{
    struct adder adder = make_adder(0);
    if (!dcli_device_in_place(adder.device)) {
        free_adder(&adder);
        cr_skip_test("device 0 does not use host memory in place");
    }
    volatile int *host = dcli_memory_host(adder.memory);
    cr_assert_not_null((void *)host);
    for (int n = 1; n <= 100; n++) {
        add(&adder, 1);
        cr_assert_eq(dcli_memory_settle(adder.memory, n % 2 == 0), DCL_OK, "%s", dcl_error());
        cr_assert_eq(host[COUNT - 1], n);
        host[0] = n; /* and the next launch sees what the host wrote */
    }
    free_adder(&adder);
}

static void finish_one_ticket(int flags)
{
    struct adder adder = make_adder(flags);
    uint64_t first = add(&adder, 1), last = first;
    for (int n = 0; n < 600; n++) /* more than events are kept for */
        last = add(&adder, 1);
    cr_expect_eq(dcli_device_finish(adder.device, first), DCL_OK);
    cr_expect_geq(dcli_device_retired(adder.device), first);
    cr_expect_eq(dcli_device_finish(adder.device, last), DCL_OK);
    cr_expect_eq(dcli_device_retired(adder.device), last);
    cr_expect_eq(dcli_device_finish(adder.device, last), DCL_OK, "a second wait returns at once");
    for (int n = 0; n < 5; n++) /* the last ones have no event on a GPU */
        last = add(&adder, 1);
    cr_expect_eq(dcli_device_finish(adder.device, last - 3), DCL_OK);
    cr_expect_geq(dcli_device_retired(adder.device), last - 3);
    free_adder(&adder);
}

Test(device_launch, finish_waits_for_one_ticket)
{
    finish_one_ticket(0);
    finish_one_ticket(DCLI_OPEN_AS_GPU);
}

Test(device_launch, no_work_items_start_nothing)
{
    struct adder adder = make_adder(0);
    uint64_t before = add(&adder, 1), ticket = 0;
    const size_t global[2] = {COUNT, 0};
    int n = 1;
    dcli_argument arguments[] = {{.memory = adder.memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    cr_expect_eq(dcli_device_launch(adder.device, adder.program, 0, 2, arguments, 2, global, NULL, &ticket), DCL_OK);
    cr_expect_eq(ticket, before);
    cr_expect_eq(dcli_device_launched(adder.device), before);
    expect_all(&adder, 1);
    free_adder(&adder);
}

Test(device_launch, refusals_name_call_and_code)
{
    struct adder adder = make_adder(0);
    int n = 1;
    const size_t global = COUNT, local = 100; /* 256 is no multiple of it */
    dcli_argument arguments[] = {{.memory = adder.memory, .written = true}, {.value = &n, .bytes = 2}};
    cr_expect_eq(dcli_device_launch(adder.device, adder.program, 0, 1, arguments, 1, &global, NULL, NULL),
                 DCL_ERR_INTERNAL);
    cr_expect(strstr(dcl_error(), "1 arguments for the kernel add; it takes 2"), "%s", dcl_error());
    cr_expect_eq(dcli_device_launch(adder.device, adder.program, 0, 2, arguments, 1, &global, NULL, NULL),
                 DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "clSetKernelArg gave CL_INVALID_ARG_SIZE (-51) on device 0"), "%s", dcl_error());
    arguments[1].bytes = sizeof n;
    cr_expect_eq(dcli_device_launch(adder.device, adder.program, 0, 2, arguments, 1, &global, &local, NULL),
                 DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "clEnqueueNDRangeKernel gave CL_INVALID_WORK_GROUP_SIZE (-54)"), "%s", dcl_error());
    add(&adder, 3); /* a refused launch leaves nothing behind */
    expect_all(&adder, 3);
    free_adder(&adder);
}

static void count_up(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

static bool comes_to(atomic_int *counter, int value)
{
    for (int n = 0; n < 5000 && atomic_load(counter) < value; n++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(counter) == value;
}

Test(device_launch, notify_calls_once_when_all_is_done)
{
    struct adder adder = make_adder(0);
    atomic_int calls = 0;
    for (int n = 1; n <= 50; n++) {
        add(&adder, 1);
        cr_assert_eq(dcli_device_notify(adder.device, dcli_device_launched(adder.device), count_up, &calls), DCL_OK,
                     "%s", dcl_error());
    }
    cr_expect(comes_to(&calls, 50), "%d calls", atomic_load(&calls));
    expect_all(&adder, 50);
    cr_expect_eq(dcli_device_notify(adder.device, dcli_device_launched(adder.device), count_up, &calls), DCL_OK);
    cr_expect_eq(atomic_load(&calls), 51, "with nothing launched the call comes at once");
    free_adder(&adder);
    cr_expect_eq(atomic_load(&calls), 51);
}

Test(device_launch, timed_launches_are_measured)
{
    struct adder adder = make_adder(0);
    add(&adder, 1);
    dcli_device_measure(adder.device, 0);
    cr_expect_eq(dcli_device_measured_ns(adder.device, 0), 0, "the launch before does not count");
    add(&adder, 1);
    dcli_device_measure(adder.device, DCLI_MEASURES - 1);
    add(&adder, 1);
    dcli_device_measure(adder.device, -1);
    dcli_device_finish(adder.device, dcli_device_launched(adder.device));
    int64_t one = dcli_device_measured_ns(adder.device, 0);
    cr_expect_gt(one, 0);
    cr_expect_gt(dcli_device_measured_ns(adder.device, DCLI_MEASURES - 1), 0, "two launches in the queue, each timed");
    add(&adder, 1);
    dcli_device_finish(adder.device, dcli_device_launched(adder.device));
    cr_expect_eq(dcli_device_measured_ns(adder.device, 0), one, "nor does the one after");
    add(&adder, 1);
    dcli_device_measure(adder.device, DCLI_MEASURES - 1);
    dcli_device_finish(adder.device, dcli_device_launched(adder.device));
    cr_expect_eq(dcli_device_measured_ns(adder.device, DCLI_MEASURES - 1), 0, "it begins again");
    expect_all(&adder, 5);
    free_adder(&adder);
}

static uint64_t add_and_finish(struct adder *adder)
{
    add(adder, 1);
    uint64_t ticket = dcli_device_launched(adder->device);
    dcli_device_finish(adder->device, ticket);
    return ticket;
}

static void check_kept_times(int flags)
{
    enum { PAUSE_NS = 20000000, MOST_PAUSE_NS = 50000, KEPT = 32 };
    struct adder adder = make_adder(flags);
    uint64_t before = add_and_finish(&adder);
    cr_expect_eq(dcli_device_took_ns(adder.device, 0, before), 0, "times are not kept yet");
    cr_assert_eq(dcli_device_keep_times(adder.device), DCL_OK, "%s", dcl_error());
    uint64_t first = add_and_finish(&adder);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    uint64_t second = add_and_finish(&adder);
    int64_t one = dcli_device_took_ns(adder.device, before, first);
    int64_t other = dcli_device_took_ns(adder.device, first, second);
    int64_t both = dcli_device_took_ns(adder.device, before, second);
    cr_expect(one > 0 && other > 0, "%" PRId64 ", %" PRId64 " ns", one, other);
    cr_expect_geq(both, one + PAUSE_NS, "with the pause between them");
    cr_expect_leq(other, both - one - PAUSE_NS + MOST_PAUSE_NS, "only 50 us of the pause before");
    cr_expect_eq(dcli_device_took_ns(adder.device, second, second), 0, "no launch");
    cr_expect_eq(dcli_device_took_ns(adder.device, before, second + 1), both, "a launch that is not complete");
    for (int n = 0; n < KEPT - 1; n++)
        add_and_finish(&adder);
    cr_expect_eq(dcli_device_took_ns(adder.device, before, first), 0, "too long ago");
    cr_expect_gt(dcli_device_took_ns(adder.device, first, second), 0, "the oldest one that is kept");
    expect_all(&adder, 3 + KEPT - 1);
    free_adder(&adder);
}

Test(device_launch, kept_times_are_those_of_the_device) { check_kept_times(0); }

/* Its first queue records no times, and few of its launches have events. */
Test(device_launch, times_of_a_gpu_are_kept_from_then_on)
{
    check_kept_times(DCLI_OPEN_AS_GPU);
    struct adder adder = make_adder(DCLI_OPEN_AS_GPU);
    for (int n = 0; n < 2; n++) {
        add(&adder, 1); /* must have ended before the queue is replaced */
        dcli_device_measure(adder.device, 0);
        add_and_finish(&adder);
        cr_expect_eq(dcli_device_measured_ns(adder.device, 0) > 0, n == 1);
        cr_assert_eq(dcli_device_keep_times(adder.device), DCL_OK, "%s", dcl_error());
    }
    expect_all(&adder, 4);
    free_adder(&adder);
}

Test(device_launch, closing_waits_for_notifications)
{
    struct adder adder = make_adder(0);
    atomic_int calls = 0;
    for (int n = 0; n < 20; n++) {
        add(&adder, 1);
        dcli_device_notify(adder.device, dcli_device_launched(adder.device), count_up, &calls);
    }
    free_adder(&adder);
    cr_expect_eq(atomic_load(&calls), 20);
}
