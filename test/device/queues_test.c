/* Queues of a device with memory of its own: what orders the commands of different queues, and what runs beside what. The driver
 * is that of support/fake_opencl, which aborts where no event orders two commands that touch the same bytes. */
#include "device/opened.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "device/opencl.h"
#include "support/fake_opencl/fake_opencl.h"

TestSuite(queues, .timeout = 60);

enum { ELEMENTS = 1 << 16, BYTES = 4 * ELEMENTS };

static fake_opencl fake;

static dcli_device *open_apart(const char *plan)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
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

static dcli_slot *fetch(dcli_device *device, dcli_memory *memory, size_t bytes)
{
    dcli_slot *slot;
    cr_assert_eq(dcli_slot_take(device, bytes, &slot), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_slot_fetch(slot, memory, 0, bytes), DCL_OK, "%s", dcl_error());
    return slot;
}

Test(queues, few_bytes_leave_in_the_queue_of_the_command_before_that_writes_them)
{
    dcli_device *device = open_apart("late clEnqueueFillBuffer 3 30");
    const dcli_queue *compute = &device->queue[DCLI_COMPUTE], *out = &device->queue[DCLI_OUT];
    dcli_memory *memory = make(device), *other = make(device);
    dcli_slot *slot[3];
    fill(device, memory, 7);
    uint64_t filled = compute->last;
    slot[0] = fetch(device, memory, 4096);
    cr_expect(compute->last == filled + 1 && out->last == 0, "few bytes");
    fill(device, memory, 7);
    slot[1] = fetch(device, memory, BYTES);
    cr_expect(compute->last == filled + 2 && out->last == filled + 3, "many bytes");
    fill(device, other, 8);
    slot[2] = fetch(device, memory, 4096);
    cr_expect(compute->last == filled + 4 && out->last == filled + 5, "another command is the last one");
    for (int n = 0; n < 3; n++) {
        cr_expect_eq(dcli_slot_finish(slot[n]), DCL_OK, "%s", dcl_error());
        cr_expect(((int32_t *)dcli_slot_host(slot[n]))[0] == 7 && ((int32_t *)dcli_slot_host(slot[n]))[1023] == 7,
                  "fetch %d: %d", n, ((int32_t *)dcli_slot_host(slot[n]))[0]);
        dcli_slot_give(slot[n]);
    }
    dcli_memory_release(memory);
    dcli_memory_release(other);
    fake.plan(NULL);
    dcli_device_close(device);
}

/* Every second element of a memory, into a slot's scratch memory, and from there into the slot. */
static dcli_slot *pack(dcli_device *device, dcli_memory *memory)
{
    const int64_t step = 2, packed = 1, count = ELEMENTS / 2;
    dcli_slot *slot;
    cr_assert_eq(dcli_slot_take(device, BYTES / 2, &slot), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_device_copy(device, dcli_slot_memory(slot), 0, &packed, memory, 0, &step, 1, &count, 4), DCL_OK,
                 "%s", dcl_error());
    cr_assert_eq(dcli_slot_fetch(slot, dcli_slot_memory(slot), 0, BYTES / 2), DCL_OK, "%s", dcl_error());
    return slot;
}

/* The reverse: elements that are all `value`. */
static void unpack(dcli_device *device, dcli_memory *memory, int32_t value)
{
    const int64_t step = 2, packed = 1, count = ELEMENTS / 2;
    dcli_slot *slot;
    cr_assert_eq(dcli_slot_take(device, BYTES / 2, &slot), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < ELEMENTS / 2; n++)
        ((int32_t *)dcli_slot_host(slot))[n] = value;
    cr_assert_eq(dcli_slot_send(slot, dcli_slot_memory(slot), 0, BYTES / 2), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_device_copy(device, memory, 0, &step, dcli_slot_memory(slot), 0, &packed, 1, &count, 4), DCL_OK,
                 "%s", dcl_error());
    dcli_slot_give(slot);
}

/* By a kernel: every second element. */
static void fill_by_kernel(dcli_device *device, dcli_memory *memory, int32_t value)
{
    const int64_t step = 2, count = ELEMENTS / 2;
    cr_assert_eq(dcli_device_fill(device, memory, 0, &step, &value, 1, &count, sizeof value), DCL_OK, "%s",
                 dcl_error());
}

static void expect_packed(dcli_slot *slot, int32_t value)
{
    int right = 0;
    cr_expect_eq(dcli_slot_finish(slot), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < ELEMENTS / 2; n++)
        right += ((const int32_t *)dcli_slot_host(slot))[n] == value;
    cr_expect_eq(right, ELEMENTS / 2, "%d of %d elements are %d", right, ELEMENTS / 2, value);
    dcli_slot_give(slot);
}

/* The kernel never ends while the first slot is packed and crosses. */
Test(queues, packing_does_not_wait_for_kernels_that_write_other_memory)
{
    dcli_device *device = open_apart("hang kernel 1");
    dcli_memory *packed = make(device), *computed = make(device);
    fill(device, packed, 5);
    fill_by_kernel(device, computed, 6);
    expect_packed(pack(device, packed), 5);
    cr_expect(!dcli_memory_is_settled(computed, false), "the kernel runs still");
    fake.plan(NULL);
    expect_packed(pack(device, computed), 6);
    dcli_memory_release(packed);
    dcli_memory_release(computed);
    dcli_device_close(device);
}

/* What enters is late: it delays neither packing nor kernels. */
Test(queues, unpacking_waits_alone)
{
    dcli_device *device = open_apart("late clEnqueueWriteBuffer 1 500");
    dcli_memory *packed = make(device), *entered = make(device);
    fill_by_kernel(device, packed, 5);
    unpack(device, entered, 8);
    expect_packed(pack(device, packed), 5);
    fill_by_kernel(device, packed, 9);
    cr_expect_eq(dcli_memory_settle(packed, true), DCL_OK);
    cr_expect(!dcli_memory_is_settled(entered, false), "it has not entered yet");
    expect_packed(pack(device, entered), 8);
    dcli_memory_release(packed);
    dcli_memory_release(entered);
    dcli_device_close(device);
}

/* Kernel 1 packs and is late; kernel 2 overwrites; what crosses is older. The next round packs what was written last. */
Test(queues, what_is_overwritten_is_packed_before)
{
    dcli_device *device = open_apart("late clEnqueueNDRangeKernel 1 100; late clEnqueueNDRangeKernel 4 100");
    dcli_memory *memory = make(device);
    fill(device, memory, 1);
    dcli_slot *before = pack(device, memory);
    fill_by_kernel(device, memory, 2);
    dcli_slot *between = pack(device, memory);
    unpack(device, memory, 3);
    dcli_slot *after = pack(device, memory);
    expect_packed(after, 3);
    expect_packed(between, 2);
    expect_packed(before, 1);
    dcli_memory_release(memory);
    dcli_device_close(device);
}
