/* test/runtime/random_test.c - Philox against published vectors; arrays under several maps against a plain loop. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(random_on_device, .timeout = TEST_SECONDS);

/* One block, as the paper defines it. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k[2] = {key[0], key[1]};
    memcpy(out, counter, 4 * sizeof *out);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53 * out[0], q = (uint64_t)0xCD9E8D57 * out[2];
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ out[1] ^ k[0], (uint32_t)q, (uint32_t)(p >> 32) ^ out[3] ^ k[1],
                            (uint32_t)p};
        memcpy(out, next, sizeof next);
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
}

/* Source: tests/kat_vectors of Random123 1.14, philox4x32 10. */
static const struct {
    uint64_t number, stream, seed;
    uint32_t words[4];
} vectors[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

enum { VECTORS = sizeof vectors / sizeof vectors[0] };

Test(random_on_device, published_vectors)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *in = test_array(cluster, "block", dcl_grid_2d(DCL_UINT64, VECTORS, 3));
    dcl_array *out = test_array(cluster, "block", dcl_grid_2d(DCL_UINT32, VECTORS, 4));
    uint64_t inputs[VECTORS][3];
    uint32_t found[VECTORS][4], own[4];
    for (int v = 0; v < VECTORS; v++) {
        const uint64_t row[] = {vectors[v].seed, vectors[v].number, vectors[v].stream};
        memcpy(inputs[v], row, sizeof row);
    }
    TEST_OK(dcl_write(in, NULL, inputs, NULL));
    TEST_OK(dcl_forall(cluster,
                       "uint4 b = random_bits(in(i,0), in(i,1), in(i,2));"
                       "out(i,j) = j == 0 ? b.x : j == 1 ? b.y : j == 2 ? b.z : b.w;",
                       DCL_OUT(out), DCL_IN(in), DCL_RANDOM));
    TEST_OK(dcl_read(out, NULL, found, NULL));
    for (int v = 0; v < VECTORS; v++) {
        const uint32_t counter[] = {(uint32_t)vectors[v].number, (uint32_t)(vectors[v].number >> 32),
                                    (uint32_t)vectors[v].stream, (uint32_t)(vectors[v].stream >> 32)};
        const uint32_t key[] = {(uint32_t)vectors[v].seed, (uint32_t)(vectors[v].seed >> 32)};
        philox(counter, key, own);
        for (int w = 0; w < 4; w++) {
            cr_expect_eq(found[v][w], vectors[v].words[w], "vector %d, word %d: %08x, expected %08x", v, w, found[v][w],
                         vectors[v].words[w]);
            cr_expect_eq(own[w], vectors[v].words[w]);
        }
    }
    dcl_release(out);
    dcl_release(in);
    TEST_OK(dcl_close(cluster));
}

enum { ROWS = 37, COLUMNS = 53 };
static const uint64_t SEED = 0x123456789abcdef0;

static void words_of(uint64_t element, uint32_t words[4])
{
    philox((uint32_t[]){(uint32_t)element, (uint32_t)(element >> 32), 0, 0},
           (uint32_t[]){(uint32_t)SEED, (uint32_t)(SEED >> 32)}, words);
}

/* Whatever the map and the first index. */
Test(random_on_device, fills_arrays)
{
    dcl_cluster *cluster = open_nodes(3);
    static const char *const maps[] = {"block", "rows:cyclic(3x7)", "cyclic,*;every=2x1;rest=-1"};
    static float floats[ROWS][COLUMNS];
    static double doubles[COLUMNS];
    static int8_t bytes[ROWS];
    uint32_t words[4];
    for (int m = 0; m < 3; m++) {
        dcl_array *F =
            test_array(cluster, maps[m], dcl_grid_nd(DCL_FLOAT, 2, (int64_t[]){ROWS, COLUMNS}, (int64_t[]){m, -5 * m}));
        TEST_OK(dcl_random(F, SEED));
        TEST_OK(dcl_read(F, NULL, floats, NULL));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                words_of((uint64_t)(i * COLUMNS + j), words);
                float right = m == 2 && i % 2 == 1 ? -1 : (float)(words[0] >> 8) * 0x1p-24F;
                cr_assert_eq(floats[i][j], right, "%s, element %d,%d: %a, expected %a", maps[m], i, j,
                             (double)floats[i][j], (double)right);
            }
        dcl_release(F);
    }
    dcl_array *D = test_array(cluster, "cyclic", dcl_grid_1d(DCL_DOUBLE, COLUMNS));
    dcl_array *B = test_array(cluster, "block", dcl_grid_1d(DCL_INT8, ROWS));
    TEST_OK(dcl_random(D, SEED));
    TEST_OK(dcl_random(B, SEED));
    TEST_OK(dcl_read(D, NULL, doubles, NULL));
    TEST_OK(dcl_read(B, NULL, bytes, NULL));
    for (int i = 0; i < COLUMNS; i++) {
        words_of((uint64_t)i, words);
        double right = (double)(((uint64_t)words[1] << 32 | words[0]) >> 11) * 0x1p-53;
        cr_assert_eq(doubles[i], right, "element %d: %a, expected %a", i, doubles[i], right);
        cr_assert(i >= ROWS || bytes[i] == (int8_t)words[0], "element %d", i);
    }
    TEST_REFUSED(dcl_random(NULL, 1), DCL_ERR_INVALID, "the array to fill is NULL");
    dcl_release(B);
    dcl_release(D);
    TEST_OK(dcl_close(cluster));
}
