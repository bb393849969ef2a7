/* Registered memory: limits, refusals, and that it is not given back while a transfer uses it; slots in memory of the caller.
 * The driver is that of support/fake_opencl. */
#include "device/opened.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "device/opencl.h"
#include "support/fake_opencl/fake_opencl.h"

enum { BYTES = 1 << 20, LATE_MS = 100 };

static fake_opencl opencl;
static int said;

static void count_line(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    said += strstr(line, "device 0: 1048576 bytes of shared memory cannot be registered") != NULL;
}

static dcli_device *open_device(const char *plan)
{
    static const dcli_log log = {.level = DCLI_LOG_WARN, .fn = count_line};
    int count = 0;
    dcli_device *device = NULL;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&opencl), "%s", TEST_FAKE_OPENCL);
    opencl.plan(plan);
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    if (count == 0)
        cr_skip_test("no OpenCL device on this host");
    cr_assert_eq(dcli_device_open_as(0, &log, 0, &device), DCL_OK, "%s", dcl_error());
    return device;
}

static void close_device(dcli_device *device)
{
    char left[200];
    dcli_device_close(device);
    cr_expect_str_eq(opencl.left(left, sizeof left), "", "not released: %s", left);
}

static unsigned char *map_pages(void)
{
    void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(at, MAP_FAILED);
    return at;
}

Test(registered, once_and_within_a_limit)
{
    dcli_device *device = open_device("apart");
    unsigned char *a = map_pages(), *b = map_pages();
    int calls = opencl.calls("clCreateBuffer");
    cr_expect(dcli_device_register(device, a, BYTES, BYTES + 5));
    cr_expect(dcli_device_register(device, a, BYTES, BYTES + 5));
    cr_expect_not(dcli_device_register(device, b, BYTES, BYTES + 5), "the limit is reached");
    cr_expect_eq(opencl.calls("clCreateBuffer"), calls + 1);
    cr_expect(dcli_device_unregister(device, a));
    cr_expect(dcli_device_unregister(device, a), "it is no longer registered");
    cr_expect(dcli_device_register(device, b, BYTES, BYTES + 5));
    cr_expect_eq(said, 0);
    close_device(device);
    munmap(a, BYTES);
    munmap(b, BYTES);
}

Test(registered, a_refusal_is_said_once)
{
    dcli_device *device = open_device("apart; no registering");
    unsigned char *a = map_pages(), *b = map_pages();
    int calls = opencl.calls("clCreateBuffer");
    for (int n = 0; n < 3; n++) {
        cr_expect_not(dcli_device_register(device, a, BYTES, 4 * BYTES));
        cr_expect_not(dcli_device_register(device, b, BYTES, 4 * BYTES));
    }
    cr_expect_eq(opencl.calls("clCreateBuffer"), calls + 2, "once for each");
    cr_expect_eq(said, 1);
    cr_expect(dcli_device_unregister(device, a) && dcli_device_unregister(device, b));
    close_device(device);
    munmap(a, BYTES);
    munmap(b, BYTES);
}

/** Memory is given back only when the last transfer that uses it is complete. */
Test(registered, is_not_given_back_while_a_transfer_uses_it)
{
    static const char *const plans[] = {"apart; late clEnqueueWriteBuffer 1+ 100",
                                        "apart; late clEnqueueReadBuffer 1+ 100"};
    for (int enters = 0; enters < 2; enters++) {
        dcli_device *device = open_device("apart");
        unsigned char *host = map_pages();
        dcli_memory *memory = NULL;
        dcli_slot *slot = NULL;
        cr_assert(dcli_device_register(device, host, BYTES, BYTES));
        cr_assert_eq(dcli_memory_create(device, BYTES, &memory), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_slot_take(device, 1, &slot), DCL_OK);
        opencl.plan(plans[!enters]);
        int64_t begin = dcli_monotonic_ns();
        if (enters)
            cr_expect_eq(dcli_slot_send_from(slot, host, memory, 0, BYTES), DCL_OK);
        else {
            dcli_slot *over = NULL;
            cr_assert_eq(dcli_slot_take_over(device, host, BYTES, free, &over), DCL_OK);
            cr_expect_eq(dcli_slot_fetch(over, memory, 0, BYTES), DCL_OK);
            cr_expect_null(dcli_slot_leave(over), "the transfer runs");
            cr_expect_eq(dcli_slot_finish(over), DCL_OK);
            cr_expect_eq(dcli_slot_leave(over), host);
            dcli_slot_give(over);
        }
        dcli_slot_give(slot);
        cr_expect(dcli_device_unregister(device, host));
        cr_expect_geq(dcli_monotonic_ns() - begin, LATE_MS * INT64_C(900000));
        munmap(host, BYTES); /* else the driver would copy from it, or to it */
        dcli_memory_release(memory);
        close_device(device);
    }
}

static int ended;

static void count_end(void *host)
{
    cr_expect_eq(((unsigned char *)host)[BYTES - 1], 9, "all has arrived");
    ended++;
}

/* Scratch memory is used to its end: the last slot of it holds elements like others. */
Test(registered, the_last_of_the_scratch_memory_is_there)
{
    dcli_device *device = open_device("apart");
    dcli_slot *whole_ring = NULL, *slot = NULL;
    unsigned char *found = malloc(BYTES);
    cr_assert_eq(dcli_slot_take_over(device, NULL, ((size_t)128 << 20) - BYTES, NULL, &whole_ring), DCL_OK);
    cr_assert_eq(dcli_slot_take(device, BYTES, &slot), DCL_OK);
    memset(dcli_slot_host(slot), 7, BYTES);
    cr_expect_eq(dcli_slot_send(slot, dcli_slot_memory(slot), 0, BYTES), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_slot_finish(slot), DCL_OK, "%s", dcl_error());
    memset(dcli_slot_host(slot), 0, BYTES);
    cr_expect_eq(dcli_slot_fetch(slot, dcli_slot_memory(slot), 0, BYTES), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_slot_finish(slot), DCL_OK, "%s", dcl_error());
    memcpy(found, dcli_slot_host(slot), BYTES);
    for (size_t n = 0; n < BYTES; n++)
        cr_assert_eq(found[n], 7, "byte %zu is %d", n, found[n]);
    free(found);
    dcli_slot_give(slot);
    dcli_slot_give(whole_ring);
    close_device(device);
}

/** A slot that was returned early keeps the caller's memory until its commands are complete, in the ring and beyond it. */
Test(registered, a_slot_returns_memory_of_the_caller_late)
{
    enum { SLOTS = 3 };
    dcli_device *device = open_device("apart");
    unsigned char *host[SLOTS];
    dcli_memory *memory = NULL;
    dcli_slot *whole_ring = NULL;
    const size_t ring = (size_t)128 << 20; /* of scratch memory */
    cr_assert_eq(dcli_memory_create(device, BYTES, &memory), DCL_OK, "%s", dcl_error());
    unsigned char *nines = malloc(BYTES);
    memset(nines, 9, BYTES);
    cr_assert_eq(dcli_memory_put(memory, 0, nines, BYTES), DCL_OK);
    cr_assert_eq(dcli_memory_settle(memory, true), DCL_OK);
    free(nines);
    for (int n = 0; n < SLOTS; n++) {
        dcli_slot *slot = NULL;
        host[n] = map_pages();
        if (n == SLOTS - 1)
            cr_assert_eq(dcli_slot_take_over(device, NULL, ring - (SLOTS - 1) * BYTES, NULL, &whole_ring), DCL_OK);
        cr_assert_eq(dcli_slot_take_over(device, host[n], BYTES, count_end, &slot), DCL_OK);
        opencl.plan("apart; late clEnqueueReadBuffer 1+ 50");
        cr_expect_eq(dcli_slot_fetch(slot, memory, 0, BYTES), DCL_OK);
        cr_expect_not(dcli_slot_lend(slot), "it is not in the ring");
        dcli_slot_give(slot);
        cr_expect_lt(ended, n + 1);
    }
    dcli_slot_give(whole_ring);
    cr_expect_eq(dcli_device_finish(device, dcli_device_launched(device)), DCL_OK);
    dcli_device_flush(device);
    dcli_memory_release(memory);
    close_device(device);
    cr_expect_eq(ended, SLOTS);
    for (int n = 0; n < SLOTS; n++)
        munmap(host[n], BYTES);
}
