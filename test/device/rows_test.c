/* Rows that cross between the host and a device with memory of its own in one command. */
#include "device/opened.h"

#include <string.h>

#include "device/opencl.h"
#include "support/fake_opencl/fake_opencl.h"

TestSuite(rows, .timeout = 60);

enum { BYTES = 1 << 16 };

/* Each byte of the memory is its number times 7, of the host its number times 5, so that a byte in the wrong place shows. */
static unsigned char of_memory(size_t at) { return (unsigned char)(at * 7 + at / 256); }
static unsigned char of_host(size_t at) { return (unsigned char)(at * 5 + at / 256 + 1); }

static void cross(dcli_device *device, const dcli_crossing_rows *rows, bool enters)
{
    unsigned char expected[BYTES], found[BYTES];
    dcli_memory *memory;
    dcli_slot *slot;
    for (size_t n = 0; n < BYTES; n++)
        found[n] = of_memory(n);
    cr_assert_eq(dcli_memory_create(device, BYTES, &memory), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_memory_put(memory, 0, found, BYTES), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_slot_take(device, BYTES, &slot), DCL_OK, "%s", dcl_error());
    unsigned char *host = dcli_slot_host(slot);
    for (size_t n = 0; n < BYTES; n++) {
        host[n] = of_host(n);
        expected[n] = enters ? of_memory(n) : of_host(n);
    }
    for (size_t r = 0; r < rows->rows; r++)
        for (size_t b = 0; b < rows->row_bytes; b++) {
            size_t in_memory = rows->memory_at + r * rows->memory_pitch + b,
                   on_host = rows->host_at + r * rows->host_pitch + b;
            expected[enters ? in_memory : on_host] = enters ? of_host(on_host) : of_memory(in_memory);
        }
    dcl_status status =
        enters ? dcli_slot_send_rows(slot, host, memory, rows) : dcli_slot_fetch_rows(slot, memory, rows);
    cr_assert_eq(status, DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_slot_finish(slot), DCL_OK, "%s", dcl_error());
    memcpy(found, host, BYTES);
    if (enters)
        cr_assert_eq(dcli_memory_get(memory, 0, found, BYTES), DCL_OK, "%s", dcl_error());
    cr_expect_arr_eq(found, expected, BYTES, "%zu rows of %zu bytes, memory %zu + %zu, host %zu + %zu, %s", rows->rows,
                     rows->row_bytes, rows->memory_at, rows->memory_pitch, rows->host_at, rows->host_pitch,
                     enters ? "in" : "out");
    dcli_slot_give(slot);
    dcli_memory_release(memory);
}

Test(rows, come_to_their_places)
{
    static const dcli_crossing_rows cases[] = {
        {16, 256, 0, 512, 0, 256},     {16, 256, 256, 512, 0, 256},      {16, 256, 512 * 3 + 100, 512, 300, 256},
        {10, 300, 700, 1000, 64, 900}, {10, 300, 0, 300, 40, 301},       {1, 3, 1000, 3, 77, 3},
        {5, 100, 60, 100, 10, 100},    {63, 1000, 1024, 1024, 24, 1024}, {2, 1000, 30000, 32000, 0, 1000},
        {3, 400, 25136, 20000, 5, 777}};
    fake_opencl_select(); /* it refuses what NVIDIA's driver refuses */
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int enters = 0; enters < 2; enters++) {
            dcli_memory any = {.device = device};
            cr_assert(dcli_slot_takes_rows(&any, &cases[c]), "case %zu", c);
            cross(device, &cases[c], enters == 1);
        }
    dcli_device_close(device);
}

Test(rows, that_are_short_or_cross_lines_or_pieces_are_refused)
{
    dcli_pieces pieces = {.count = 2};
    const dcli_memory plain = {.base = 0}, in_slot = {.base = 400}, in_pieces = {.pieces = &pieces};
    cr_expect_not(dcli_slot_takes_rows(&plain, &(dcli_crossing_rows){16, 255, 0, 512, 0, 255}), "short");
    cr_expect_not(dcli_slot_takes_rows(&plain, &(dcli_crossing_rows){16, 256, 300, 512, 0, 256}), "in two lines");
    cr_expect_not(dcli_slot_takes_rows(&plain, &(dcli_crossing_rows){16, 256, 0, 512, 0, 200}), "on the host");
    cr_expect_not(dcli_slot_takes_rows(&plain, &(dcli_crossing_rows){16, 256, 0, 128, 0, 256}), "one upon another");
    cr_expect_not(dcli_slot_takes_rows(&in_slot, &(dcli_crossing_rows){16, 256, 0, 512, 0, 256}), "by its base");
    cr_expect_not(dcli_slot_takes_rows(&in_pieces, &(dcli_crossing_rows){16, 256, 0, 512, 0, 256}), "in pieces");
    cr_expect(dcli_slot_takes_rows(&in_pieces, &(dcli_crossing_rows){16, 256, 0, 256, 0, 256}), "a run");
}
