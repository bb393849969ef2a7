/* Strided copies and fills by kernels: the units they choose, and contents compared with plain loops. */
#include "device/opened.h"

#include <stdlib.h>
#include <string.h>

#include "device/opencl.h"
#include "device/program.h"
#include "segment/transfer.h"
#include "store/layout.h"

TestSuite(strided, .timeout = 120);

enum { BYTES = 1 << 19, FEW_UNITS = 1 << 20, FILLS = DCLI_COPY_KERNELS / 2 };

/* A device with two memories, and their contents. */
struct pair {
    dcli_device *device;
    dcli_memory *target, *source;
    unsigned char *before, *values, *expected, *found; /* contents of the target before and of the source; results */
};

static void expect_ok(dcl_status status) { cr_assert_eq(status, DCL_OK, "%s", dcl_error()); }

static struct pair open_pair(size_t bytes)
{
    test_random random = 20261123;
    struct pair pair = {.device = test_open(DCLI_OPEN_SEPARATE)};
    expect_ok(dcli_memory_create(pair.device, bytes, &pair.target));
    expect_ok(dcli_memory_create(pair.device, bytes, &pair.source));
    pair.before = test_bytes(&random, bytes);
    pair.values = test_bytes(&random, bytes);
    pair.expected = malloc(bytes);
    pair.found = malloc(bytes);
    expect_ok(dcli_memory_put(pair.source, 0, pair.values, bytes));
    return pair;
}

static void close_pair(struct pair *pair)
{
    free(pair->before);
    free(pair->values);
    free(pair->expected);
    free(pair->found);
    dcli_memory_release(pair->target);
    dcli_memory_release(pair->source);
    dcli_device_close(pair->device);
}

/* Copy, or fill, and compare all bytes of the target with those of a loop. */
static void expect_as_loop(struct pair *pair, const dcli_transfer *transfer, size_t bytes, bool fills, const char *what)
{
    const int64_t *count = transfer->count;
    const dcli_side *to = &transfer->to, *from = &transfer->from;
    dcli_region target = dcli_transfer_region(transfer, to), source = dcli_transfer_region(transfer, from);
    size_t target_base = pair->target->base, source_base = pair->source->base;
    memcpy(pair->expected, pair->before, BYTES);
    test_copy(pair->expected + target_base, &target, pair->values + (fills ? 0 : source_base), fills ? NULL : &source,
              bytes);
    pair->target->base = 0; /* it is for kernels alone */
    expect_ok(dcli_memory_put(pair->target, 0, pair->before, BYTES));
    pair->target->base = target_base;
    if (fills)
        expect_ok(dcli_device_fill(pair->device, pair->target, to->offset, to->step, pair->values, transfer->rank,
                                   count, bytes));
    else
        expect_ok(dcli_device_copy(pair->device, pair->target, to->offset, to->step, pair->source, from->offset,
                                   from->step, transfer->rank, count, bytes));
    pair->target->base = 0;
    expect_ok(dcli_memory_get(pair->target, 0, pair->found, BYTES));
    pair->target->base = target_base;
    if (memcmp(pair->found, pair->expected, BYTES) == 0)
        return;
    size_t n = 0;
    while (pair->found[n] == pair->expected[n])
        n++;
    cr_assert_fail("%s, %s: byte %zu is %d, expected %d (elements of %zu bytes; counts %lld %lld %lld; "
                   "target %lld, steps %lld %lld %lld; source %lld, steps %lld %lld %lld)",
                   fills ? "fill" : "copy", what, n, pair->found[n], pair->expected[n], bytes, (long long)count[0],
                   (long long)count[1], (long long)count[2], (long long)to->offset, (long long)to->step[0],
                   (long long)to->step[1], (long long)to->step[2], (long long)from->offset, (long long)from->step[0],
                   (long long)from->step[1], (long long)from->step[2]);
}

/* ---- units -------------------------------------------------------------------------------------------------------- */

/* Forget which kernels were launched. */
static void forget_launches(dcli_device *device)
{
    for (int n = 0; device->copy_program != NULL && n < DCLI_COPY_KERNELS; n++)
        device->copy_program->kernels[n].last[2].bytes = 0;
}

/* Bytes of the units that were copied or filled since; 0: no kernel was launched. */
static size_t launched_unit(const dcli_device *device, bool fills)
{
    for (int n = 0; device->copy_program != NULL && n < FILLS; n++)
        if (device->copy_program->kernels[fills ? FILLS + n : n].last[2].bytes > 0)
            return (size_t)1 << n;
    return 0;
}

struct unit_case {
    const char *what;
    size_t bytes;
    int64_t count[3];
    int64_t target, target_step[3];
    int64_t source, source_step[3];
    size_t target_base, source_base;
    size_t copied, filled; /* units expected, in bytes */
};

static const struct unit_case unit_cases[] = {
    {"all multiples of 16 bytes", 4, {3, 6, 16}, 4, {128, 16, 1}, 8, {512, 64, 1}, 0, 0, 16, 16},
    {"target at 8 bytes", 4, {3, 6, 16}, 2, {128, 20, 1}, 8, {512, 64, 1}, 0, 0, 8, 8},
    {"target at 4 bytes", 4, {3, 6, 16}, 5, {128, 20, 1}, 8, {512, 64, 1}, 0, 0, 4, 4},
    {"source at 8 bytes", 4, {3, 6, 16}, 4, {128, 20, 1}, 6, {512, 64, 1}, 0, 0, 8, 16},
    {"source at 4 bytes", 4, {3, 6, 16}, 4, {128, 20, 1}, 7, {512, 64, 1}, 0, 0, 4, 16},
    {"rows of 24 bytes", 4, {3, 6, 6}, 4, {128, 20, 1}, 8, {512, 64, 1}, 0, 0, 8, 8},
    {"rows of 28 bytes", 4, {3, 6, 7}, 4, {128, 20, 1}, 8, {512, 64, 1}, 0, 0, 4, 4},
    {"target's rows 72 bytes apart", 4, {3, 6, 16}, 4, {128, 18, 1}, 8, {512, 64, 1}, 0, 0, 8, 8},
    {"target's rows 68 bytes apart", 4, {3, 6, 16}, 4, {128, 17, 1}, 8, {512, 64, 1}, 0, 0, 4, 4},
    {"source's rows 72 bytes apart", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 18, 1}, 0, 0, 8, 16},
    {"source's rows 68 bytes apart", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 17, 1}, 0, 0, 4, 16},
    {"target's planes 520 bytes apart", 4, {3, 6, 16}, 4, {130, 20, 1}, 8, {512, 64, 1}, 0, 0, 8, 8},
    {"source's planes 516 bytes apart", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {129, 20, 1}, 0, 0, 4, 16},
    {"source's planes backwards", 4, {3, 6, 16}, 4, {128, 20, 1}, 520, {-130, 20, 1}, 0, 0, 8, 16},
    {"target's base at 8 bytes", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 64, 1}, 8, 0, 8, 8},
    {"source's base at 4 bytes", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 64, 1}, 0, 20, 4, 16},
    {"bases and offsets add up", 4, {3, 6, 16}, 1, {128, 20, 1}, 2, {512, 64, 1}, 12, 24, 16, 16},
    {"rows of one unit", 4, {30, 6, 4}, 4, {128, 8, 1}, 8, {512, 16, 1}, 0, 0, 16, 16},
    {"rows of one smaller unit", 2, {30, 6, 2}, 4, {128, 8, 1}, 8, {512, 16, 1}, 0, 0, 4, 4},
    {"every second of the source", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 64, 2}, 0, 0, 4, 16},
    {"every second of the target", 4, {3, 6, 16}, 4, {256, 40, 2}, 8, {512, 64, 1}, 0, 0, 4, 4},
    {"source backwards", 4, {3, 6, 16}, 4, {128, 20, 1}, 23, {512, 64, -1}, 0, 0, 4, 16},
    {"both backwards", 4, {3, 6, 16}, 19, {128, 20, -1}, 23, {512, 64, -1}, 0, 0, 16, 16},
    {"transposed", 4, {3, 16, 16}, 4, {512, 20, 1}, 8, {512, 1, 20}, 0, 0, 4, 16},
    {"repeated", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 64, 0}, 0, 0, 4, 16},
    {"rows repeated", 4, {3, 6, 16}, 4, {128, 20, 1}, 8, {512, 0, 1}, 0, 0, 16, 16},
    {"bytes, aligned", 1, {3, 6, 48}, 16, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 16, 16},
    {"bytes, rows of 50", 1, {3, 6, 50}, 16, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 2, 2},
    {"bytes, rows of 52", 1, {3, 6, 52}, 16, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 4, 4},
    {"bytes, rows of 51", 1, {3, 6, 51}, 16, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 1, 1},
    {"bytes, source odd", 1, {3, 6, 48}, 16, {512, 64, 1}, 33, {1024, 96, 1}, 0, 0, 1, 16},
    {"shorts, rows of 14", 2, {3, 6, 7}, 8, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 2, 2},
    {"shorts, rows of 40", 2, {3, 6, 20}, 8, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 8, 8},
    {"doubles, even", 8, {3, 6, 10}, 8, {512, 64, 1}, 32, {1024, 96, 1}, 0, 0, 16, 16},
    {"doubles, odd", 8, {3, 6, 10}, 8, {512, 64, 1}, 33, {1024, 96, 1}, 0, 0, 8, 16},
};

static void check_unit(struct pair *pair, const struct unit_case *c, bool fills)
{
    dcli_transfer box = {.rank = 3, .to.offset = c->target, .from.offset = c->source};
    size_t expected = fills ? c->filled : c->copied;
    memcpy(box.count, c->count, sizeof c->count);
    memcpy(box.to.step, c->target_step, sizeof c->target_step);
    memcpy(box.from.step, c->source_step, sizeof c->source_step);
    pair->target->base = c->target_base;
    pair->source->base = c->source_base;
    forget_launches(pair->device);
    expect_as_loop(pair, &box, c->bytes, fills, c->what);
    cr_expect_eq(launched_unit(pair->device, fills), expected, "%s, %s: units of %zu bytes, expected %zu",
                 fills ? "fill" : "copy", c->what, launched_unit(pair->device, fills), expected);
}

Test(strided, units_are_as_large_as_the_alignment_of_all_rows)
{
    struct pair pair = open_pair(BYTES);
    for (size_t n = 0; n < sizeof unit_cases / sizeof unit_cases[0]; n++) {
        check_unit(&pair, &unit_cases[n], false);
        check_unit(&pair, &unit_cases[n], true);
    }
    pair.target->base = pair.source->base = 0;
    close_pair(&pair);
}

/* Only memory of the caller is aligned to less than a unit. */
Test(strided, unit_fits_the_address_of_wrapped_memory)
{
    enum { COLUMNS = 16, ROWS = 8, STEP = 32 };
    _Alignas(16) static int32_t values[ROWS * STEP + 4], found[ROWS * STEP + 4];
    const int64_t count[2] = {ROWS, COLUMNS}, to[2] = {COLUMNS, 1}, from[2] = {STEP, 1};
    dcli_device *device = test_open(0);
    if (!dcli_device_in_place(device))
        cr_skip_test("the device does not work in host memory");
    for (int n = 0; n < ROWS * STEP; n++)
        values[n] = n;
    for (int shift = 0; shift < 8; shift++) { /* of the source, or of the target */
        int32_t *at = found + (shift < 4 ? 0 : shift - 4), *begin = values + (shift < 4 ? shift : 0);
        const size_t units[4] = {16, 4, 8, 4};
        dcli_memory *target, *source;
        expect_ok(dcli_memory_wrap(device, at, sizeof found / 2, &target));
        expect_ok(dcli_memory_wrap(device, begin, sizeof values - 16, &source));
        memset(found, 0, sizeof found);
        forget_launches(device);
        expect_ok(dcli_device_copy(device, target, 0, to, source, 0, from, 2, count, 4));
        expect_ok(dcli_memory_settle(target, true));
        cr_expect_eq(launched_unit(device, false), units[shift % 4], "shift %d: units of %zu bytes", shift,
                     launched_unit(device, false));
        for (int n = 0; n < ROWS * COLUMNS; n++)
            cr_assert_eq(at[n], begin[n / COLUMNS * STEP + n % COLUMNS], "shift %d, element %d: %d", shift, n, at[n]);
        dcli_memory_release(target);
        dcli_memory_release(source);
    }
    dcli_device_close(device);
}

/* ---- contents ----------------------------------------------------------------------------------------------------- */

/* Several units per work-item, or one: the number depends on the device's size. */
static void set_each(struct pair *pair, bool several) { pair->device->info.compute_units = several ? 0 : FEW_UNITS; }

/* Offsets, and gaps between rows; half of them multiples of 16 bytes. */
static int64_t draw(test_random *random, size_t bytes)
{
    int64_t drawn = test_between(random, 0, 5);
    return test_between(random, 0, 1) == 0 ? drawn : drawn * (int64_t)(16 / bytes);
}

/* Rows and columns around the sizes of groups, with odd and even offsets and steps. */
Test(strided, rows_of_all_lengths)
{
    static const int64_t columns[] = {1, 2, 3, 4, 8, 15, 16, 17, 31, 64, 65, 255, 256, 257, 1023, 1024, 1025, 1030};
    static const int64_t rows[] = {1, 2, 3, 4, 5, 7, 9, 16, 33};
    test_random random = 11;
    struct pair pair = open_pair(BYTES);
    for (size_t bytes = 1; bytes <= 8; bytes *= 2)
        for (size_t n = 0; n < sizeof columns / sizeof columns[0]; n++)
            for (size_t m = 0; m < sizeof rows / sizeof rows[0]; m++) {
                int64_t width = columns[n];
                dcli_transfer box = {.rank = 2, .count = {rows[m], width}};
                box.to = (dcli_side){draw(&random, bytes), {width + draw(&random, bytes), 1}};
                box.from = (dcli_side){draw(&random, bytes), {width + draw(&random, bytes), 1}};
                set_each(&pair, (n + m) % 2 == 0);
                expect_as_loop(&pair, &box, bytes, false, "rows");
                set_each(&pair, (n + m) % 2 != 0);
                expect_as_loop(&pair, &box, bytes, test_between(&random, 0, 3) == 0, "rows");
            }
    close_pair(&pair);
}

/* Two to eight axes in any order on both sides, some backwards, with units of any size in their innermost rows. */
Test(strided, any_axes)
{
    enum { ROUNDS = 400 };
    test_random random = 12;
    struct pair pair = open_pair(BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        dcli_transfer box = {.rank = (int)test_between(&random, 2, DCL_MAX_RANK)};
        size_t bytes = (size_t)1 << test_between(&random, 0, 3);
        int last = box.rank - 1;
        int64_t storage, inner = test_between(&random, 1, 16), most = box.rank < 4 ? 12 : box.rank < 6 ? 4 : 2;
        for (int d = 0; d < last; d++)
            box.count[d] = test_between(&random, 1, most);
        dcli_side *sides[2] = {&box.to, &box.from};
        for (int n = 0; n < 2; n++) { /* the other axes in any order, around rows */
            dcli_region region = test_layout(&random, last, box.count, &storage);
            int64_t pitch = inner + test_between(&random, 0, 1) * draw(&random, bytes);
            *sides[n] = (dcli_side){.offset = region.offset * pitch};
            for (int d = 0; d < last; d++)
                sides[n]->step[d] = region.step[d] * pitch;
            sides[n]->step[last] = 1;
            cr_assert_leq((size_t)(storage * pitch) * bytes, (size_t)BYTES, "round %d", round);
        }
        box.count[last] = inner;
        set_each(&pair, round % 2 == 0);
        expect_as_loop(&pair, &box, bytes, round % 5 == 0, "axes");
    }
    close_pair(&pair);
}

/* Transposed, with counts around the sizes of squares. */
Test(strided, transposed)
{
    static const int64_t counts[] = {1, 2, 7, 8, 31, 32, 33, 65, 130};
    enum { COUNTS = sizeof counts / sizeof counts[0] };
    struct pair pair = open_pair(BYTES);
    for (int n = 0; n < COUNTS * COUNTS; n++) {
        int64_t rows = counts[n / COUNTS], columns = counts[n % COUNTS];
        dcli_transfer box = {.rank = 3, .count = {2, rows, columns}};
        box.to = (dcli_side){n % 3, {rows * (columns + 1), columns + 1, 1}};
        box.from = (dcli_side){n % 2, {rows * (columns + 1), 1, rows + 1}};
        set_each(&pair, n % 2 == 0);
        expect_as_loop(&pair, &box, (size_t)1 << n % 4, false, "transposed");
    }
    close_pair(&pair);
}

/* Work-items continue along y and z, where a launch has no more groups: many rows; many planes of rows. */
Test(strided, more_rows_than_a_launch_has_work_items)
{
    enum { LONG_BYTES = 22 << 20 };
    static const int64_t counts[2][4] = {{1, 1, (1 << 20) + 5, 17}, {190, 180, 200, 2}};
    struct pair pair = open_pair(LONG_BYTES);
    for (int n = 0; n < 2; n++) {
        const int64_t *count = counts[n];
        int64_t to[4] = {[3] = 1}, from[4] = {[3] = 1}, length = count[3];
        for (int d = 2; d >= 0; d--) { /* packed; a gap after every row, plane and body */
            to[d] = to[d + 1] * count[d + 1];
            from[d] = from[d + 1] * count[d + 1] + 1;
        }
        set_each(&pair, true);
        expect_ok(dcli_memory_put(pair.target, 0, pair.before, LONG_BYTES));
        expect_ok(dcli_device_copy(pair.device, pair.target, 0, to, pair.source, 0, from, 4, count, 1));
        expect_ok(dcli_memory_get(pair.target, 0, pair.found, LONG_BYTES));
        const unsigned char *found = pair.found;
        for (int64_t i = 0; i < count[0]; i++)
            for (int64_t j = 0; j < count[1]; j++)
                for (int64_t k = 0; k < count[2]; k++, found += length)
                    cr_assert(memcmp(found, pair.values + i * from[0] + j * from[1] + k * from[2], (size_t)length) == 0,
                              "row %lld, %lld, %lld", (long long)i, (long long)j, (long long)k);
        size_t end = (size_t)(found - pair.found);
        cr_expect(memcmp(found, pair.before + end, LONG_BYTES - end) == 0, "bytes after the last row");
    }
    close_pair(&pair);
}

/* Each slot has a place of its own in the buffer of all scratch memories. */
Test(strided, slots_have_bases)
{
    enum { ROWS = 64, COLUMNS = 256, STEP = 512 };
    const int64_t count[2] = {ROWS, COLUMNS}, packed[2] = {COLUMNS, 1}, step[2] = {STEP, 1};
    struct pair pair = open_pair(BYTES);
    const int32_t *values = (const int32_t *)(void *)pair.values;
    dcli_slot *slot[3];
    for (int n = 0; n < 3; n++) {
        expect_ok(dcli_slot_take(pair.device, ROWS * COLUMNS * 4, &slot[n]));
        cr_assert_eq(
            dcli_device_copy(pair.device, dcli_slot_memory(slot[n]), 0, packed, pair.source, 4 * n, step, 2, count, 4),
            DCL_OK, "%s", dcl_error());
    }
    cr_expect_neq(dcli_slot_memory(slot[1])->base, dcli_slot_memory(slot[2])->base);
    for (int n = 0; n < 3; n++) {
        expect_ok(dcli_slot_fetch(slot[n], dcli_slot_memory(slot[n]), 0, ROWS * COLUMNS * 4));
        expect_ok(dcli_slot_finish(slot[n]));
        for (int i = 0; i < ROWS; i++)
            cr_assert(
                memcmp((int32_t *)dcli_slot_host(slot[n]) + i * COLUMNS, values + 4 * n + i * STEP, COLUMNS * 4) == 0,
                "slot %d, row %d", n, i);
        dcli_slot_give(slot[n]);
    }
    close_pair(&pair);
}
