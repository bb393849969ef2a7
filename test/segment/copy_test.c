/* test/segment/copy_test.c - copies and fills of regions against loops over single elements. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "segment/region.h"

#define SEED UINT64_C(4711)

/* Where element t[] of a region lies. */
static int64_t place(const dcli_region *region, const int64_t t[])
{
    int64_t at = region->offset;
    for (int d = 0; d < region->box.rank; d++)
        at += t[d] * region->step[d];
    return at;
}

static bool next_element(const dcl_box *box, int64_t t[])
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++t[d] < box->count[d])
            return true;
        t[d] = 0;
    }
    return false;
}

/* What dcli_region_copy() does, element by element; a NULL source region stands for one element. */
static void copy_by_element(char *target, const dcli_region *to, const char *source, const dcli_region *from,
                            size_t bytes)
{
    int64_t t[DCL_MAX_RANK] = {0};
    if (dcli_box_is_empty(&to->box))
        return;
    do
        memcpy(target + place(to, t) * (int64_t)bytes, source + (from == NULL ? 0 : place(from, t)) * (int64_t)bytes,
               bytes);
    while (next_element(&to->box, t));
}

/* A region with its axes stored in random order, some backwards, some with gaps, in a source some not at all.
 * @return the elements of storage it needs. */
static int64_t random_region(test_random *random, const dcl_box *box, bool source, dcli_region *out)
{
    int order[DCL_MAX_RANK] = {0};
    int64_t size = 1;
    *out = (dcli_region){.box = *box};
    for (int d = 0; d < box->rank; d++) {
        int other = (int)test_between(random, 0, d);
        order[d] = order[other];
        order[other] = d;
    }
    if (test_between(random, 0, 1) == 0) /* often packed in order: loops can be merged */
        for (int d = 0; d < box->rank; d++)
            order[d] = box->rank - 1 - d;
    for (int k = 0; k < box->rank; k++) {
        int d = order[k];
        if (source && test_between(random, 0, 7) == 0)
            continue; /* the same element for all: step 0 */
        out->step[d] = size * (test_between(random, 0, 3) == 0 ? test_between(random, 1, 3) : 1);
        int64_t used = out->step[d] * (box->count[d] > 0 ? box->count[d] : 1);
        if (test_between(random, 0, 3) == 0 && box->count[d] > 0) {
            out->offset += out->step[d] * (box->count[d] - 1);
            out->step[d] = -out->step[d];
        }
        size = used + (test_between(random, 0, 3) == 0 ? test_between(random, 0, 5) : 0);
    }
    int64_t before = test_between(random, 0, 3);
    out->offset += before;
    return size + before;
}

static char *random_bytes(test_random *random, size_t bytes)
{
    char *memory = malloc(bytes);
    cr_assert_not_null(memory);
    for (size_t k = 0; k < bytes; k++)
        memory[k] = (char)test_next(random);
    return memory;
}

/* One case; `seed` says everything about it. */
static void check_copy(uint64_t seed, int rank, int64_t longest, size_t bytes, bool fill)
{
    test_random random = seed;
    dcl_box box = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        box.count[d] = test_between(&random, test_between(&random, 0, 20) > 0, longest);
        box.stride[d] = 1;
    }
    dcli_region to, from;
    size_t target_bytes = (size_t)random_region(&random, &box, false, &to) * bytes;
    size_t source_bytes = (size_t)random_region(&random, &box, true, &from) * bytes;
    char *target = random_bytes(&random, target_bytes), *source = random_bytes(&random, source_bytes);
    char *expected = malloc(target_bytes);
    cr_assert_not_null(expected);
    memcpy(expected, target, target_bytes);
    copy_by_element(expected, &to, source, fill ? NULL : &from, bytes);
    if (fill)
        dcli_region_fill(target, &to, source, bytes);
    else
        dcli_region_copy(target, &to, source, &from, bytes);
    cr_assert(memcmp(target, expected, target_bytes) == 0, "seed %" PRIu64 ", rank %d, %zu bytes", seed, rank, bytes);
    free(target);
    free(source);
    free(expected);
}

static const size_t sizes[] = {1, 2, 4, 8, 3, 16};

Test(copy, random_regions_match_single_elements)
{
    for (uint64_t n = 0; n < 4000; n++) {
        test_random random = SEED + n;
        int rank = (int)test_between(&random, 1, 4);
        static const int64_t longest[] = {0, 70, 18, 9, 6};
        check_copy(SEED + n, rank, longest[rank], sizes[n % 6], n % 5 == 0);
    }
}

struct transposed_case {
    int64_t rows, columns;
    size_t bytes;
};

ParameterizedTestParameters(copy, transposed)
{
    static struct transposed_case cases[] = {
        /* around the sides of squares (a cache line) and panels (512 elements), and primes */
        {64, 64, 1}, {130, 65, 1}, {64, 96, 2}, {67, 33, 2},   {16, 16, 4}, {48, 17, 4}, {513, 530, 4}, {1, 40, 4},
        {600, 3, 4}, {8, 24, 8},   {521, 9, 8}, {1024, 16, 8}, {37, 41, 3}, {7, 12, 16}, {513, 514, 1}, {31, 2, 2},
    };
    return cr_make_param_array(struct transposed_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct transposed_case *c, copy, transposed)
{
    test_random random = SEED;
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){c->rows, c->columns});
    dcli_region to = dcli_region_packed(&box, 0), from = to;
    from.step[0] = 1;
    from.step[1] = c->rows;
    size_t bytes = (size_t)(c->rows * c->columns) * c->bytes;
    char *source = random_bytes(&random, bytes), *target = calloc(1, bytes), *expected = calloc(1, bytes);
    copy_by_element(expected, &to, source, &from, c->bytes);
    dcli_region_copy(target, &to, source, &from, c->bytes);
    cr_expect_eq(memcmp(target, expected, bytes), 0);
    copy_by_element(expected, &from, source, &to, c->bytes);
    dcli_region_copy(target, &from, source, &to, c->bytes);
    cr_expect_eq(memcmp(target, expected, bytes), 0, "the other side is the transposed one");
    free(source);
    free(target);
    free(expected);
}

Test(copy, rotation_of_three_axes)
{
    test_random random = SEED;
    dcl_box box = dcl_box_nd(3, (int64_t[]){0, 0, 0}, (int64_t[]){20, 33, 50});
    dcli_region to = dcli_region_packed(&box, 0), from = to;
    from.step[0] = 1; /* stored as [50][33][20] */
    from.step[1] = 20;
    from.step[2] = 20 * 33;
    size_t bytes = 20 * 33 * 50 * sizeof(float);
    char *source = random_bytes(&random, bytes), *target = calloc(1, bytes), *expected = calloc(1, bytes);
    copy_by_element(expected, &to, source, &from, sizeof(float));
    dcli_region_copy(target, &to, source, &from, sizeof(float));
    cr_expect_eq(memcmp(target, expected, bytes), 0);
    free(source);
    free(target);
    free(expected);
}

Test(copy, fills_only_the_region)
{
    int16_t target[6][8] = {{0}}, seven = 7;
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){2, 3});
    dcli_region region = {.box = box, .offset = 9, .step = {16, 2}};
    dcli_region_fill(target, &region, &seven, sizeof seven);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 8; j++)
            cr_expect_eq(target[i][j], (i == 1 || i == 3) && (j == 1 || j == 3 || j == 5) ? 7 : 0, "[%d][%d]", i, j);
}

/* Rows shorter and longer than those that are stored past the caches, at all offsets within a line, are copied, and nothing beside
 * them. */
Test(copy, long_rows_are_stored_past_the_caches)
{
    enum { ROWS = 2, MOST = 5000, BYTES = ROWS * (MOST + 200) };
    static const int64_t lengths[] = {1, 63, 4095, 4096, 4097, 4160, MOST};
    static char source[BYTES], target[BYTES + 128], right[BYTES + 128];
    for (int k = 0; k < BYTES; k++)
        source[k] = (char)(k * 7 + k / 251);
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (int offset = 0; offset < 70; offset++) {
            int64_t pitch = MOST + 100, counts[] = {ROWS, lengths[l]};
            dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, counts);
            dcli_region from = dcli_region_packed(&box, 0), to = from;
            to.step[0] = pitch;
            memset(target, 99, sizeof target);
            memset(right, 99, sizeof right);
            for (int64_t i = 0; i < ROWS; i++)
                memcpy(right + offset + i * pitch, source + 1 + i * lengths[l], (size_t)lengths[l]);
            dcli_region_stream(target + offset, &to, source + 1, &from, 1);
            cr_assert_eq(memcmp(target, right, sizeof target), 0, "%d bytes at offset %d", (int)lengths[l], offset);
        }
}
