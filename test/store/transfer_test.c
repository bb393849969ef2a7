/* Packing, unpacking, copying and filling regions on a device: in place and with memory of its own, against plain loops. */
#include "store/layout.h"
#include "store/store.h"

enum { ROUNDS = 150 };

/* Two storages of one round: the device's and the other one (of the host, or of the device too). */
struct round {
    dcli_region here, there;
    int64_t here_count, there_count;
    size_t bytes;
    unsigned char *expected, *before, *other; /* contents of the first, twice, and of the second */
};

static struct round make_round(test_random *random)
{
    struct round round = {.bytes = (size_t)1 << test_between(random, 0, 3)};
    int rank = (int)test_between(random, 1, 5);
    int64_t count[DCL_MAX_RANK];
    for (int d = 0; d < rank; d++)
        count[d] = test_between(random, 0, 40) == 0 ? 0 : test_between(random, 1, rank > 3 ? 4 : 9);
    round.here = test_layout(random, rank, count, &round.here_count);
    round.there = test_layout(random, rank, count, &round.there_count);
    round.before = test_bytes(random, (size_t)round.here_count * round.bytes);
    round.expected = malloc((size_t)round.here_count * round.bytes);
    memcpy(round.expected, round.before, (size_t)round.here_count * round.bytes);
    round.other = test_bytes(random, (size_t)round.there_count * round.bytes);
    return round;
}

static void free_round(struct round *round)
{
    free(round->expected);
    free(round->before);
    free(round->other);
}

static dcli_memory *memory_with(dcli_device *device, const void *contents, size_t bytes)
{
    dcli_memory *memory;
    cr_assert_eq(dcli_memory_create(device, bytes, &memory), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_memory_put(memory, 0, contents, bytes), DCL_OK, "%s", dcl_error());
    return memory;
}

static void expect_contents(dcli_memory *memory, const unsigned char *expected, size_t bytes, const char *what,
                            int flags, uint64_t seed)
{
    unsigned char *found = malloc(bytes + 1);
    cr_assert_eq(dcli_memory_get(memory, 0, found, bytes), DCL_OK, "%s", dcl_error());
    cr_assert(memcmp(found, expected, bytes) == 0, "%s, %s, seed %llu: wrong contents", what, test_mode_name(flags),
              (unsigned long long)seed);
    free(found);
}

static void expect_ok(dcl_status status) { cr_assert_eq(status, DCL_OK, "%s", dcl_error()); }

static void unpack_round(dcli_device *device, int flags, uint64_t seed)
{
    test_random random = seed;
    struct round round = make_round(&random);
    size_t bytes = (size_t)round.here_count * round.bytes;
    dcli_memory *memory = memory_with(device, round.before, bytes);
    test_copy(round.expected, &round.here, round.other, &round.there, round.bytes);
    expect_ok(dcli_store_unpack(device, memory, &round.here, round.other, &round.there, round.bytes));
    expect_contents(memory, round.expected, bytes, "unpack", flags, seed);
    dcli_memory_release(memory);
    free_round(&round);
}

static void pack_round(dcli_device *device, int flags, uint64_t seed)
{
    test_random random = seed;
    struct round round = make_round(&random);
    dcli_memory *memory = memory_with(device, round.other, (size_t)round.there_count * round.bytes);
    test_copy(round.expected, &round.here, round.other, &round.there, round.bytes);
    expect_ok(dcli_store_pack(device, memory, &round.there, round.before, &round.here, round.bytes));
    cr_assert(memcmp(round.before, round.expected, (size_t)round.here_count * round.bytes) == 0,
              "pack, %s, seed %llu: wrong contents", test_mode_name(flags), (unsigned long long)seed);
    dcli_memory_release(memory);
    free_round(&round);
}

static void copy_round(dcli_device *device, int flags, uint64_t seed)
{
    test_random random = seed;
    struct round round = make_round(&random);
    size_t bytes = (size_t)round.here_count * round.bytes;
    dcli_memory *target = memory_with(device, round.before, bytes);
    dcli_memory *source = memory_with(device, round.other, (size_t)round.there_count * round.bytes);
    test_copy(round.expected, &round.here, round.other, &round.there, round.bytes);
    expect_ok(dcli_store_copy(device, target, &round.here, source, &round.there, round.bytes));
    expect_contents(target, round.expected, bytes, "copy", flags, seed);
    dcli_memory_release(target);
    dcli_memory_release(source);
    free_round(&round);
}

static void fill_round(dcli_device *device, int flags, uint64_t seed)
{
    test_random random = seed;
    struct round round = make_round(&random);
    size_t bytes = (size_t)round.here_count * round.bytes;
    dcli_memory *memory = memory_with(device, round.before, bytes);
    test_copy(round.expected, &round.here, round.other, NULL, round.bytes);
    expect_ok(dcli_store_fill(device, memory, &round.here, round.other, round.bytes));
    expect_contents(memory, round.expected, bytes, "fill", flags, seed);
    dcli_memory_release(memory);
    free_round(&round);
}

Test(device_transfer, equals_plain_loops_in_both_modes)
{
    const uint64_t seed = 20260723;
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        for (uint64_t n = 0; n < ROUNDS; n++) {
            unpack_round(device, TEST_MODES[mode], seed + 4 * n);
            pack_round(device, TEST_MODES[mode], seed + 4 * n + 1);
            copy_round(device, TEST_MODES[mode], seed + 4 * n + 2);
            fill_round(device, TEST_MODES[mode], seed + 4 * n + 3);
        }
        dcli_device_close(device);
    }
}

/* Larger than the scratch memory that is used at once, and transposed. */
Test(device_transfer, large_regions_cross_in_pieces)
{
    const int64_t rows = 1601, columns = 1500;
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){rows, columns});
    dcli_region plain = dcli_region_packed(&box, 0), turned = plain;
    turned.step[0] = 1;
    turned.step[1] = rows;
    size_t bytes = (size_t)(rows * columns) * sizeof(int);
    int *values = malloc(bytes), *found = malloc(bytes);
    for (int64_t n = 0; n < rows * columns; n++)
        values[n] = (int)n;
    dcli_device *device = test_open(DCLI_OPEN_SEPARATE);
    dcli_memory *memory;
    expect_ok(dcli_memory_create(device, bytes, &memory));
    expect_ok(dcli_store_unpack(device, memory, &plain, values, &turned, sizeof(int)));
    memset(found, 0, bytes);
    expect_ok(dcli_store_pack(device, memory, &plain, found, &plain, sizeof(int)));
    int64_t right = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            right += found[i * columns + j] == values[j * rows + i];
    cr_expect_eq(right, rows * columns, "%lld of %lld elements", (long long)right, (long long)(rows * columns));
    dcli_memory_release(memory);
    dcli_device_close(device);
    free(values);
    free(found);
}

/* Regions follow kernels: what a kernel writes is packed, what is unpacked the next kernel sees. */
Test(device_transfer, keeps_the_order_of_launches)
{
    for (int mode = 0; mode < TEST_MODE_COUNT; mode++) {
        dcli_device *device = test_open(TEST_MODES[mode]);
        dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
        dcli_memory *memory;
        expect_ok(dcli_memory_create(device, 64 * sizeof(int), &memory));
        dcl_box box = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){32});
        dcli_region every_second = {.box = box, .offset = 1, .step = {2}}, packed = dcli_region_packed(&box, 0);
        int values[32], n = 1, ten = 10;
        const size_t global = 64;
        dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
        for (int round = 0; round < 50; round++) {
            expect_ok(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, NULL, NULL));
            expect_ok(dcli_store_pack(device, memory, &every_second, values, &packed, sizeof(int)));
            cr_assert_eq(values[31], round == 0 ? 1 : 11, "%s, round %d: %d", test_mode_name(TEST_MODES[mode]), round,
                         values[31]);
            expect_ok(dcli_store_fill(device, memory, &every_second, &ten, sizeof(int)));
        }
        dcli_memory_release(memory);
        dcli_program_release(program);
        dcli_device_close(device);
    }
}
