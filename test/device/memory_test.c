/* Memory of a device: creating, wrapping, putting and getting, reuse. */
#include "device/opened.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { BYTES = 100000 };

static void expect_zero(dcli_memory *memory, size_t bytes, const char *what)
{
    unsigned char *found = malloc(bytes);
    memset(found, 1, bytes);
    cr_assert_eq(dcli_memory_get(memory, 0, found, bytes), DCL_OK, "%s", dcl_error());
    size_t zeros = 0;
    for (size_t n = 0; n < bytes; n++)
        zeros += found[n] == 0;
    cr_expect_eq(zeros, bytes, "%s: %zu of %zu bytes are 0", what, zeros, bytes);
    free(found);
}

Test(device_memory, begins_as_zero_also_when_reused)
{
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        const size_t sizes[] = {1, 17, 4096, BYTES, 3 << 20};
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int round = 0; round < 3; round++) {
                dcli_memory *memory;
                cr_assert_eq(dcli_memory_create(device, sizes[s], &memory), DCL_OK, "%s", dcl_error());
                cr_expect_eq(dcli_memory_bytes(memory), sizes[s]);
                expect_zero(memory, sizes[s], test_mode_name(TEST_MODES[mode]));
                unsigned char *ones = malloc(sizes[s]);
                memset(ones, 255, sizes[s]);
                cr_expect_eq(dcli_memory_put(memory, 0, ones, sizes[s]), DCL_OK);
                free(ones);
                dcli_memory_release(memory);
            }
        dcli_device_close(device);
    }
}

Test(device_memory, in_place_has_an_aligned_address_and_separate_has_none)
{
    dcli_device *device = test_open(0);
    dcli_memory *small, *large;
    cr_assert_eq(dcli_memory_create(device, 100, &small), DCL_OK);
    cr_assert_eq(dcli_memory_create(device, 4 << 20, &large), DCL_OK);
    if (dcli_device_in_place(device)) {
        cr_expect(dcli_device_same_addresses(device), "processors have one address space");
        cr_expect_eq((uintptr_t)dcli_memory_host(small) % 4096, 0);
        cr_expect_eq((uintptr_t)dcli_memory_host(large) % (2 << 20), 0, "huge pages begin at a multiple of their size");
    } else {
        cr_expect_null(dcli_memory_host(small));
    }
    dcli_memory_release(small);
    dcli_memory_release(large);
    dcli_device_close(device);

    device = test_open(DCLI_OPEN_SEPARATE);
    cr_expect_not(dcli_device_in_place(device));
    cr_expect_not(dcli_device_same_addresses(device));
    cr_assert_eq(dcli_memory_create(device, 100, &small), DCL_OK);
    cr_expect_null(dcli_memory_host(small));
    dcli_memory_release(small);
    dcli_device_close(device);
}

/* Four memories in a row begin at four places of a page, the first two at opposite ones; memories that would take much more for it, at its
 * beginning. */
Test(device_memory, successive_memories_begin_at_different_places_of_a_page)
{
    enum { COUNT = 4 };
    const size_t large[] = {(3 << 20) + 4096, (1 << 20) + 64, 64 << 20}, plain[] = {100, 4096, 2 << 20, 6 << 20};
    dcli_device *device = test_open(0);
    for (size_t s = 0; s < sizeof large / sizeof large[0] && dcli_device_in_place(device); s++) {
        dcli_memory *memory[COUNT];
        size_t place[COUNT], seen = 0;
        for (int n = 0; n < COUNT; n++) {
            cr_assert_eq(dcli_memory_create(device, large[s], &memory[n]), DCL_OK, "%s", dcl_error());
            place[n] = (uintptr_t)dcli_memory_host(memory[n]) % DCLI_MEMORY_ALIGN;
            cr_expect_eq(place[n] % DCLI_MEMORY_SHIFT, 0, "%zu bytes begin at %zu", large[s], place[n]);
            seen |= (size_t)1 << place[n] / DCLI_MEMORY_SHIFT;
        }
        cr_expect_eq(seen, 15, "%zu bytes: begin at %zu, %zu, %zu, %zu", large[s], place[0], place[1], place[2],
                     place[3]);
        cr_expect_eq((place[0] + DCLI_MEMORY_ALIGN - place[1]) % DCLI_MEMORY_ALIGN, DCLI_MEMORY_ALIGN / 2);
        for (int n = 0; n < COUNT; n++)
            dcli_memory_release(memory[n]);
    }
    for (size_t s = 0; s < sizeof plain / sizeof plain[0] && dcli_device_in_place(device); s++) {
        dcli_memory *memory;
        cr_assert_eq(dcli_memory_create(device, plain[s], &memory), DCL_OK, "%s", dcl_error());
        cr_expect_eq((uintptr_t)dcli_memory_host(memory) % DCLI_MEMORY_ALIGN, 0, "%zu bytes", plain[s]);
        dcli_memory_release(memory);
    }
    dcli_device_close(device);
}

Test(device_memory, put_and_get_parts)
{
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        dcli_memory *memory;
        char text[] = "................";
        cr_assert_eq(dcli_memory_create(device, 16, &memory), DCL_OK);
        cr_expect_eq(dcli_memory_put(memory, 0, text, 16), DCL_OK);
        cr_expect_eq(dcli_memory_put(memory, 3, "abc", 3), DCL_OK);
        cr_expect_eq(dcli_memory_put(memory, 16, "", 0), DCL_OK, "nothing at the end");
        cr_expect_eq(dcli_memory_get(memory, 2, text, 6), DCL_OK);
        cr_expect(memcmp(text, ".abc..", 6) == 0, "%s: %s", test_mode_name(TEST_MODES[mode]), text);
        cr_expect_eq(dcli_memory_put(memory, 15, "xy", 2), DCL_ERR_INTERNAL);
        cr_expect(strstr(dcl_error(), "15..17 of a memory of 16"), "%s", dcl_error());
        cr_expect_eq(dcli_memory_get(memory, 17, text, 0), DCL_ERR_INTERNAL);
        dcli_memory_release(memory);
        dcli_device_close(device);
    }
}

Test(device_memory, of_no_bytes_works_everywhere)
{
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
        dcli_memory *memory, *wrapped = NULL;
        cr_assert_eq(dcli_memory_create(device, 0, &memory), DCL_OK, "%s", dcl_error());
        if (dcli_device_in_place(device)) {
            cr_expect_not_null(dcli_memory_host(memory));
            cr_expect_eq(dcli_memory_wrap(device, NULL, 0, &wrapped), DCL_OK);
        }
        char byte = 1;
        cr_expect_eq(dcli_memory_bytes(memory), 0);
        cr_expect_eq(dcli_memory_put(memory, 0, &byte, 0), DCL_OK);
        cr_expect_eq(dcli_memory_get(memory, 0, &byte, 0), DCL_OK);
        cr_expect_eq(byte, 1);
        int n = 0;
        const size_t global = 1;
        dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
        cr_expect_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, NULL, NULL), DCL_OK);
        dcli_memory_release(wrapped);
        dcli_memory_release(memory);
        dcli_program_release(program);
        dcli_device_close(device);
    }
}

Test(device_memory, wrapped_memory_is_used_in_place)
{
    dcli_device *device = test_open(0);
    if (!dcli_device_in_place(device)) {
        dcli_device_close(device);
        cr_skip_test("device 0 does not use host memory in place");
    }
    dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
    int values[65] = {0};
    for (int round = 0; round < 3; round++) {
        dcli_memory *memory; /* from the second element on: aligned to an int only */
        cr_assert_eq(dcli_memory_wrap(device, values + 1, 64 * sizeof(int), &memory), DCL_OK, "%s", dcl_error());
        cr_expect_eq(dcli_memory_host(memory), values + 1);
        int n = 2;
        const size_t global = 64, local = 64;
        dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
        cr_expect_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_OK);
        dcli_memory_release(memory); /* waits */
        cr_expect_eq(values[64], 2 * (round + 1));
        cr_expect_eq(values[0], 0);
    }
    dcli_program_release(program);
    dcli_device_close(device);
}

Test(device_memory, refusals)
{
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    dcli_memory *memory = NULL;
    int value = 0;
    cr_expect_eq(dcli_memory_wrap(device, &value, sizeof value, &memory), DCL_ERR_UNSUPPORTED);
    cr_expect(strstr(dcl_error(), "does not use host memory in place"), "%s", dcl_error());
    cr_expect_eq(dcli_memory_create(device, SIZE_MAX, &memory), DCL_ERR_NOMEM);
    cr_expect(strstr(dcl_error(), "its driver allows"), "%s", dcl_error());
    cr_expect_null(memory);
    dcli_device_close(device);

    device = test_open(0);
    cr_expect_eq(dcli_memory_create(device, (size_t)1 << 60, &memory), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_memory_create(device, 100, &memory), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_expect_null(memory);
    dcli_memory_release(NULL);
    dcli_device_close(device);
    dcli_device_close(NULL);
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

/* Slots fill the ring and go beyond it; what was given back is taken again. */
Test(device_memory, slots_go_beyond_their_ring_and_come_back)
{
    enum { SLOTS = 36, SLOT_BYTES = 4 << 20 };
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    dcli_slot *slot[SLOTS];
    for (int round = 0; round < 2; round++) {
        cr_expect_not(dcli_slots_are_short(device));
        for (int n = 0; n < SLOTS; n++) {
            cr_assert_eq(dcli_slot_take(device, SLOT_BYTES, &slot[n]), DCL_OK, "%s", dcl_error());
            memset(dcli_slot_host(slot[n]), n + 1, SLOT_BYTES);
            cr_assert_eq(dcli_slot_send(slot[n], dcli_slot_memory(slot[n]), 0, SLOT_BYTES), DCL_OK, "%s", dcl_error());
        }
        cr_expect(dcli_slots_are_short(device));
        for (int n = 0; n < SLOTS; n++) {
            const unsigned char *host = dcli_slot_host(slot[n]);
            cr_expect_eq(dcli_slot_finish(slot[n]), DCL_OK, "%s", dcl_error());
            memset(dcli_slot_host(slot[n]), 0, SLOT_BYTES);
            cr_expect_eq(dcli_slot_fetch(slot[n], dcli_slot_memory(slot[n]), 0, SLOT_BYTES), DCL_OK);
            cr_expect_eq(dcli_slot_finish(slot[n]), DCL_OK, "%s", dcl_error());
            cr_expect(host[0] == n + 1 && host[SLOT_BYTES - 1] == n + 1, "slot %d has %d", n, host[0]);
        }
        for (int n = 0; n < SLOTS; n++)
            dcli_slot_give(slot[n]);
        dcli_slots_await(device);
    }
    dcli_device_close(device);
}

/* Three quarters of the ring are lent at most; slots that are lent do not make others wait, and are found by their addresses. */
Test(device_memory, most_of_the_slots_are_lent)
{
    enum { SLOTS = 32, SLOT_BYTES = 4 << 20 };
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    dcli_slot *slot[SLOTS], *taken[SLOTS];
    int lent = 0;
    for (int round = 0; round < 2; round++) {
        cr_expect_not(dcli_slots_are_short(device)); /* looks for what was given back */
        for (lent = 0; lent < SLOTS && (slot[lent] = dcli_slot_borrow(device, SLOT_BYTES)) != NULL; lent++)
            memset(dcli_slot_host(slot[lent]), lent + 1, SLOT_BYTES);
        cr_assert_gt(lent, 1);
        cr_assert_lt(lent, SLOTS);
        cr_expect_not(dcli_slots_are_short(device));
        for (int n = 0; n < lent; n++) {
            cr_expect_eq(dcli_slot_at(device, dcli_slot_host(slot[n])), slot[n]);
            cr_assert_eq(dcli_slot_take(device, SLOT_BYTES, &taken[n]), DCL_OK, "%s", dcl_error());
            cr_expect_not(dcli_slot_lend(taken[n]), "slot %d", n);
        }
        for (int n = 0; n < lent; n++) {
            dcli_slot_give(taken[n]);
            cr_expect_eq(dcli_slot_send(slot[n], dcli_slot_memory(slot[n]), 0, SLOT_BYTES), DCL_OK);
            dcli_slot_give(slot[n]);
        }
        cr_expect_eq(dcli_device_finish(device, dcli_device_launched(device)), DCL_OK);
    }
    cr_expect_null(dcli_slot_borrow(device, (size_t)1 << 40));
    cr_expect_null(dcli_slot_at(device, slot));
    dcli_device_close(device);
}

/* How many slots of 4 MB a device lends. */
static int count_lent(int flags, int64_t *memory_out)
{
    enum { MOST = 64, SLOT_BYTES = 4 << 20 };
    dcli_device *device = test_open(flags);
    dcli_slot *slot[MOST];
    int lent = 0;
    *memory_out = dcli_device_about(device)->memory_bytes;
    while (lent < MOST && (slot[lent] = dcli_slot_borrow(device, SLOT_BYTES)) != NULL)
        lent++;
    for (int n = 0; n < lent; n++)
        dcli_slot_give(slot[n]);
    dcli_device_close(device);
    return lent;
}

/* A device beside other nodes of its process has a ring of up to 256 MB, others of up to 128 MB, both at most a 64th of its memory, but at least 64 MB. */
Test(device_memory, devices_beside_others_lend_more)
{
    int64_t memory;
    int lent = count_lent(DCLI_OPEN_SEPARATE, &memory);
    cr_expect_eq(lent, memory >= (int64_t)8 << 30 ? 24 : 12, "%d", lent);
    lent = count_lent(DCLI_OPEN_SEPARATE | DCLI_OPEN_LENDS, &memory);
    cr_expect_eq(lent, memory >= (int64_t)16 << 30 ? 48 : memory >= (int64_t)8 << 30 ? 24 : 12, "%d", lent);
}

/* What is lent can be read, and is given back by another thread, when its device has been closed. */
static void *give_slot(void *slot)
{
    dcli_slot_give(slot);
    return NULL;
}

Test(device_memory, lent_slots_outlive_their_device)
{
    enum { SLOTS = 3, BYTES = 100000 };
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    dcli_slot *slot[SLOTS];
    cr_assert_eq(dcli_slot_take(device, BYTES, &slot[0]), DCL_OK, "%s", dcl_error());
    memset(dcli_slot_host(slot[0]), 7, BYTES);
    cr_assert(dcli_slot_lend(slot[0]));
    for (int n = 1; n < SLOTS; n++)
        cr_assert_not_null(slot[n] = dcli_slot_borrow(device, BYTES));
    dcli_slot_give(slot[1]); /* the device has not looked at it when it is closed */
    dcli_device_close(device);
    const unsigned char *host = dcli_slot_host(slot[0]);
    cr_expect(host[0] == 7 && host[BYTES - 1] == 7);
    dcli_slot_give(slot[2]);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, give_slot, slot[0]), 0);
    pthread_join(thread, NULL);
}

/* What is put is taken at once, and crosses in order with launches. */
Test(device_memory, puts_follow_launches_and_launches_follow_puts)
{
    enum { COUNT = 1000, ROUNDS = 100 };
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
    dcli_memory *memory;
    int values[COUNT], n = 1;
    const size_t global = COUNT;
    cr_assert_eq(dcli_memory_create(device, sizeof values, &memory), DCL_OK, "%s", dcl_error());
    dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = 10 * round + i;
        cr_assert_eq(dcli_memory_put(memory, 0, values, sizeof values), DCL_OK, "%s", dcl_error());
        memset(values, 0, sizeof values);
        cr_assert_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, NULL, NULL), DCL_OK);
        if (round % 10 != 0)
            continue;
        cr_assert_eq(dcli_memory_get(memory, 0, values, sizeof values), DCL_OK, "%s", dcl_error());
        int right = 0;
        for (int i = 0; i < COUNT; i++)
            right += values[i] == 10 * round + i + 1;
        cr_expect_eq(right, COUNT, "round %d: %d of %d are right", round, right, COUNT);
    }
    dcli_memory_release(memory);
    dcli_program_release(program);
    dcli_device_close(device);
}
