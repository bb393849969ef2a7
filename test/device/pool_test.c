/* What is freed is kept for reuse, in bounds; small memories share slabs. */
#include "device/opened.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/opencl.h"

enum { KB = 1 << 10, MB = 1 << 20 };

/* In place; else the test is skipped. Nothing is kept that the probe has left. */
static dcli_device *open_in_place(int flags)
{
    dcli_device *device = test_open(flags);
    if (!dcli_device_in_place(device)) {
        dcli_device_close(device);
        cr_skip_test("device 0 does not use host memory in place");
    }
    dcli_device_drop_spare(device);
    return device;
}

static dcli_memory *create(dcli_device *device, size_t size)
{
    dcli_memory *memory = NULL;
    cr_assert_eq(dcli_memory_create(device, size, &memory), DCL_OK, "%s", dcl_error());
    return memory;
}

static bool holds(const dcli_memory *memory, unsigned char value)
{
    const unsigned char *at = dcli_memory_host(memory);
    size_t bytes = dcli_memory_bytes(memory);
    return at[0] == value && memcmp(at, at + 1, bytes - 1) == 0;
}

/* Of any size, below and above what slabs serve: they begin as zero, and nothing of one is touched by another. */
Test(device_pool, memories_never_overlap_and_begin_as_zero)
{
    enum { SLOTS = 150, ROUNDS = 3000 };
    const int modes[] = {0, DCLI_OPEN_SHARED};
    for (int mode = 0; mode < 2; mode++) {
        dcli_device *device = open_in_place(modes[mode]);
        dcli_memory *memory[SLOTS] = {0};
        unsigned char value[SLOTS];
        srand(1);
        for (int round = 0; round < ROUNDS; round++) {
            int n = rand() % SLOTS;
            if (memory[n] != NULL) {
                cr_assert(holds(memory[n], value[n]), "round %d: memory %d", round, n);
                dcli_memory_release(memory[n]);
                memory[n] = NULL;
                continue;
            }
            int kind = rand() % 50;
            size_t size = 2 + (size_t)(rand() % (kind == 0 ? 3 * MB : kind < 5 ? 300 * KB : 10000));
            memory[n] = create(device, size);
            value[n] = (unsigned char)(1 + round % 255);
            cr_assert(holds(memory[n], 0), "round %d: %zu bytes do not begin as zero", round, size);
            cr_assert_eq((uintptr_t)dcli_memory_host(memory[n]) % DCLI_MEMORY_SHIFT, 0);
            memset(dcli_memory_host(memory[n]), value[n], size);
        }
        for (int n = 0; n < SLOTS; n++)
            dcli_memory_release(memory[n]);
        dcli_device_drop_spare(device);
        cr_expect_leq(dcli_device_spare_bytes(device), MB, "slabs that hold nothing are given back");
        dcli_device_close(device);
    }
}

/* Thousands of small ones: one slab after the other, filled without gaps. */
Test(device_pool, small_memories_lie_side_by_side)
{
    enum { COUNT = 10000 };
    static dcli_memory *memory[COUNT];
    dcli_device *device = open_in_place(DCLI_OPEN_SHARED);
    dcli_memory_place first, last;
    size_t before = dcli_device_taken_bytes(device);
    for (int n = 0; n < COUNT; n++)
        memory[n] = create(device, 4000);
    cr_assert(dcli_memory_place_of(memory[0], &first) && dcli_memory_place_of(memory[COUNT - 1], &last));
    cr_expect_leq(last.memfd - first.memfd, 1, "40 MB take two slabs of 32");
    cr_expect_eq(dcli_device_taken_bytes(device) - before, COUNT * 4096UL);
    cr_expect_leq(dcli_device_spare_bytes(device), 64 * KB, "what has not been in use takes no memory");
    for (int n = 1; n < COUNT; n += 2)
        dcli_memory_release(memory[n]);
    cr_expect_geq(dcli_device_spare_bytes(device), COUNT / 2 * 4096UL);
    dcli_memory *again = create(device, 4096);
    dcli_memory_place place;
    cr_assert(dcli_memory_place_of(again, &place));
    cr_expect_eq(place.memfd, first.memfd, "gaps are filled first");
    dcli_memory_release(again);
    for (int n = 0; n < COUNT; n += 2)
        dcli_memory_release(memory[n]);
    dcli_device_close(device);
}

/* The pool keeps freed memory up to twice the bytes in use: memory that remaps give back serves the next remaps. */
Test(device_pool, keeps_twice_what_is_in_use)
{
    enum { FREED = 3 };
    dcli_device *device = open_in_place(DCLI_OPEN_SHARED);
    device->most_pool_bytes = 0;
    dcli_memory *used = create(device, 4 * MB), *freed[FREED];
    for (int n = 0; n < FREED; n++)
        freed[n] = create(device, 4 * MB);
    void *at[] = {dcli_memory_host(freed[1]), dcli_memory_host(freed[2])};
    for (int n = 0; n < FREED; n++)
        dcli_memory_release(freed[n]);
    cr_expect_eq(device->pool_count, 2, "%d are kept; expected the two that were freed last", device->pool_count);
    for (int n = 0; n < 2; n++) {
        freed[n] = create(device, 4 * MB);
        cr_expect(dcli_memory_host(freed[n]) == at[0] || dcli_memory_host(freed[n]) == at[1], "fresh memory");
    }
    for (int n = 0; n < 2; n++)
        dcli_memory_release(freed[n]);
    dcli_memory_release(used);
    cr_expect_eq(dcli_device_spare_bytes(device), 0, "nothing is in use, nothing is kept");
    dcli_device_close(device);
}

Test(device_pool, what_is_kept_is_zeroed_only_if_asked)
{
    dcli_device *device = open_in_place(DCLI_OPEN_SHARED);
    device->most_pool_bytes = 0;
    dcli_memory *one = create(device, 4 * MB), *other = create(device, 4 * MB);
    void *at = dcli_memory_host(one);
    memset(at, 1, 4 * MB);
    dcli_memory_release(one);
    cr_expect_eq(device->pool_count, 1);
    for (int round = 0; round < 3; round++) {
        cr_assert_eq(dcli_memory_create_unset(device, 4 * MB, &one), DCL_OK, "%s", dcl_error());
        cr_expect_eq(dcli_memory_host(one), at, "fresh memory");
        cr_expect(holds(one, 1), "what is overwritten anyway is not zeroed");
        dcli_memory_release(one);
    }
    one = create(device, 4 * MB);
    cr_expect_eq(dcli_memory_host(one), at);
    cr_expect(holds(one, 0));
    dcli_memory_release(one);
    dcli_memory_release(other);
    cr_expect_eq(dcli_device_spare_bytes(device), 0, "nothing is in use, nothing is kept");
    dcli_device_close(device);
}

struct unmapped {
    int64_t memfd;
    int descriptor; /* of memory that is to be unmapped */
    bool was_open;  /* when that was told */
};

static void note(void *user, int64_t memfd)
{
    struct unmapped *unmapped = user;
    unmapped->memfd = memfd;
    unmapped->was_open = fcntl(unmapped->descriptor, F_GETFD) >= 0;
}

Test(device_pool, who_shows_memory_is_told_when_it_is_unmapped)
{
    dcli_device *device = open_in_place(DCLI_OPEN_SHARED);
    const size_t sizes[] = {100, 3 * MB};
    for (int s = 0; s < 2; s++) {
        dcli_memory_place place;
        struct unmapped unmapped = {0};
        dcli_memory *memory = create(device, sizes[s]);
        cr_assert(dcli_memory_place_of(memory, &place));
        unmapped.descriptor = place.descriptor;
        dcli_device_on_unmap(device, note, &unmapped);
        dcli_memory_release(memory);
        cr_expect_eq(unmapped.memfd, 0, "it is kept");
        if (s == 1) { /* slabs hold what stands for memory of no bytes, too */
            dcli_device_drop_spare(device);
            cr_expect_eq(unmapped.memfd, place.memfd);
            cr_expect(unmapped.was_open, "messages that wait may still pass its descriptor on");
        }
        dcli_device_on_unmap(device, NULL, NULL);
    }
    dcli_device_close(device);
}

/* The first that does not fit is an error, and nothing of it is left. */
Test(device_pool, a_slab_without_memory_is_told)
{
    dcli_device *device = open_in_place(DCLI_OPEN_SHARED);
    dcli_memory *memory = create(device, 100), *none = NULL;
    size_t taken = dcli_device_taken_bytes(device), spare = dcli_device_spare_bytes(device);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_memory_create(device, 100, &none), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_expect_null(none);
    cr_expect_eq(dcli_device_taken_bytes(device), taken);
    cr_expect_eq(dcli_device_spare_bytes(device), spare);
    dcli_memory_release(memory);
    dcli_device_close(device);
}
