/* Freed memory of a device with memory of its own: what is reused, what is freed, and when. */
#include "device/opened.h"

#include <string.h>

#include "device/opencl.h"
#include "support/fake_opencl/fake_opencl.h"

TestSuite(spare, .timeout = 60);

enum { BYTES = 100000 };

static fake_opencl fake;

static dcli_device *open_apart(void)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    return test_open(DCLI_OPEN_SEPARATE);
}

static dcli_memory *make(dcli_device *device, size_t bytes)
{
    dcli_memory *memory;
    cr_assert_eq(dcli_memory_create(device, bytes, &memory), DCL_OK, "%s", dcl_error());
    return memory;
}

static void fill(dcli_device *device, dcli_memory *memory, int32_t value)
{
    const int64_t step = 1, count = BYTES / 4;
    cr_assert_eq(dcli_device_fill(device, memory, 0, &step, &value, 1, &count, sizeof value), DCL_OK, "%s",
                 dcl_error());
}

/* NVIDIA's driver waits for all running commands when it frees a buffer. */
Test(spare, nothing_is_freed_or_waited_for_while_commands_run)
{
    dcli_device *device = open_apart();
    dcli_memory *first = make(device, BYTES);
    cr_assert_eq(dcli_memory_settle(first, true), DCL_OK);
    fake.plan("hang kernel 1");
    fill(device, first, 7);
    cr_assert_eq(dcli_device_flush(device), DCL_OK);
    dcli_memory_release(first);
    dcli_memory *second = make(device, BYTES);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 0);
    cr_expect_eq(fake.calls("clCreateBuffer"), 1, "the kernel still writes into the first buffer");
    cr_expect_eq(fake.waits(), 0);
    fake.plan(NULL);
    cr_assert_eq(dcli_memory_settle(second, true), DCL_OK);
    dcli_memory_release(second);
    dcli_memory *third = make(device, BYTES);
    cr_expect_eq(fake.calls("clCreateBuffer"), 0, "no command uses the first two any more");
    unsigned char found[BYTES], zeros[BYTES] = {0};
    cr_assert_eq(dcli_memory_get(third, 0, found, BYTES), DCL_OK, "%s", dcl_error());
    cr_expect_arr_eq(found, zeros, BYTES, "memory is zero also in a buffer that was used before");
    dcli_memory_release(third);
    dcli_device_close(device);
    char left[200];
    cr_expect_str_eq(fake.left(left, sizeof left), "");
}

Test(spare, sizes_near_each_other_share_buffers_and_others_do_not)
{
    static const struct {
        size_t first, second;
        int made;
    } cases[] = {{96, 100, 0},          {200, 256, 0},          {256, 257, 1},         {1 << 20, (1 << 20) - 70000, 0},
                 {9 << 20, 8 << 20, 0}, {10 << 20, 8 << 20, 1}, {8 << 20, 9 << 20, 1}, {BYTES, 1, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        dcli_device *device = open_apart();
        dcli_memory *memory = make(device, cases[c].first);
        cr_assert_eq(dcli_memory_settle(memory, true), DCL_OK);
        size_t taken = dcli_device_taken_bytes(device), spare = dcli_device_spare_bytes(device);
        dcli_memory_release(memory);
        cr_expect_geq(taken, cases[c].first);
        cr_expect_eq(dcli_device_taken_bytes(device), 0);
        cr_expect_eq(dcli_device_spare_bytes(device), spare + taken);
        fake.plan(NULL);
        memory = make(device, cases[c].second);
        cr_expect_eq(fake.calls("clCreateBuffer"), cases[c].made, "%zu bytes after %zu", cases[c].second,
                     cases[c].first);
        cr_expect_eq(dcli_memory_bytes(memory), cases[c].second);
        dcli_memory_release(memory);
        dcli_device_close(device);
    }
}

Test(spare, an_idle_device_retains_no_more_than_its_limit)
{
    dcli_device *device = open_apart();
    dcli_memory *memory[8];
    device->most_pool_bytes = 3 << 20;
    for (int n = 0; n < 8; n++)
        memory[n] = make(device, 1 << 20);
    for (int n = 0; n < 8; n++)
        cr_assert_eq(dcli_memory_settle(memory[n], true), DCL_OK);
    for (int n = 0; n < 8; n++)
        dcli_memory_release(memory[n]);
    cr_expect_eq(dcli_device_spare_bytes(device), 3 << 20);
    dcli_device_drop_spare(device);
    cr_expect_eq(dcli_device_spare_bytes(device), 0);
    dcli_device_close(device);
}

Test(spare, a_busy_device_retains_four_times_as_much_until_it_is_idle)
{
    dcli_device *device = open_apart();
    dcli_memory *memory[20], *filled = make(device, BYTES);
    device->most_pool_bytes = 3 << 20;
    for (int n = 0; n < 20; n++)
        memory[n] = make(device, 1 << 20);
    for (int n = 0; n < 20; n++)
        cr_assert_eq(dcli_memory_settle(memory[n], true), DCL_OK);
    fake.plan("hang kernel 1");
    fill(device, filled, 7);
    for (int n = 0; n < 20; n++)
        dcli_memory_release(memory[n]);
    cr_expect_eq(dcli_device_spare_bytes(device), 12 << 20);
    fake.plan(NULL);
    cr_assert_eq(dcli_memory_settle(filled, true), DCL_OK);
    dcli_memory_release(filled);
    cr_expect_leq(dcli_device_spare_bytes(device), 3 << 20);
    dcli_device_close(device);
}

Test(spare, retained_buffers_give_way_where_memory_is_lacking)
{
    dcli_device *device = open_apart();
    dcli_memory *memory = make(device, 8 << 20), *other;
    cr_assert_eq(dcli_memory_settle(memory, true), DCL_OK);
    dcli_memory_release(memory);
    fake.plan("fail clCreateBuffer 1 -4");
    other = make(device, 20 << 20);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 1);
    dcli_memory_release(other);
    fake.plan(NULL);
    device->info.memory_bytes = 32 << 20; /* drivers that allocate at first use do not say that memory is lacking */
    other = make(device, 12 << 20);
    cr_expect_geq(fake.calls("clReleaseMemObject"), 1);
    dcli_memory_release(other);
    dcli_device_close(device);
}
