/* Queues of a device with memory of its own: what orders the commands of different queues, and what runs beside what. The driver
 * is that of support/fake_opencl, which aborts where no event orders two commands that touch the same bytes. */
#include "device/opened.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "device/opencl.h"
#include "support/fake_opencl/fake_opencl.h"

enum { ELEMENTS = 1 << 16, BYTES = 4 * ELEMENTS };

static fake_opencl fake;

static dcli_device *open_apart(const char *plan)
{
    dcli_device *device;
    int count = 0;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    if (count == 0)
        cr_skip_test("no OpenCL device on this host");
    cr_assert_eq(dcli_device_open_as(0, NULL, DCLI_OPEN_SEPARATE, &device), DCL_OK, "%s", dcl_error());
    fake.plan(plan);
    return device;
}

static dcli_memory *make(dcli_device *device)
{
    dcli_memory *memory;
    cr_assert_eq(dcli_memory_create(device, BYTES, &memory), DCL_OK, "%s", dcl_error());
    return memory;
}

static void fill(dcli_device *device, dcli_memory *memory, int32_t value)
{
    const int64_t step = 1, count = ELEMENTS;
    cr_assert_eq(dcli_device_fill(device, memory, 0, &step, &value, 1, &count, sizeof value), DCL_OK, "%s",
                 dcl_error());
}

/* Something the tests of all rooms rely on: a hazard that the library forgets is seen. */
Test(queues, the_driver_aborts_at_two_commands_that_no_event_orders, .signal = SIGABRT)
{
    dcli_device *device = open_apart("late clEnqueueFillBuffer 1 100");
    dcli_memory *memory = make(device);
    dcli_slot *slot;
    fill(device, memory, 1);
    cr_assert_eq(dcli_slot_take(device, BYTES, &slot), DCL_OK);
    memset(memory->used, 0, sizeof memory->used);
    memset(memory->written, 0, sizeof memory->written);
    dcli_slot_fetch(slot, memory, 0, BYTES);
    raise(SIGTERM); /* not reached */
}

Test(queues, a_command_takes_as_long_as_the_plan_says)
{
    dcli_device *device = open_apart("takes clEnqueueFillBuffer 30; takes clEnqueueReadBuffer 40");
    dcli_memory *memory = make(device), *other = make(device);
    dcli_slot *slot, *second;
    int64_t begin = dcli_monotonic_ns();
    fill(device, memory, 7);
    cr_assert_eq(dcli_slot_take(device, BYTES, &slot), DCL_OK);
    cr_assert_eq(dcli_slot_take(device, BYTES, &second), DCL_OK);
    cr_assert_eq(dcli_slot_fetch(slot, memory, 0, BYTES), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_slot_fetch(second, other, 0, BYTES), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_slot_finish(second), DCL_OK, "%s", dcl_error());
    int64_t passed = dcli_monotonic_ns() - begin;
    cr_expect_geq(passed, 3 * 30000000 + 2 * 40000000 - 5000000,
                  "two arrays are cleared, one is filled, two are read in order: %.1f ms", 1e-6 * (double)passed);
    cr_expect_eq(((int32_t *)dcli_slot_host(slot))[ELEMENTS - 1], 7);
    dcli_slot_give(slot);
    dcli_slot_give(second);
    dcli_memory_release(memory);
    dcli_memory_release(other);
    fake.plan(NULL);
    dcli_device_close(device);
}
