/* test/runtime/permute_test.c - permutations of three axes that do not fit one batch: cut along the axis between, if the kernels
 * transpose an input along the slowest one. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "support/nodes.h"

TestSuite(permute_on_device, .timeout = TEST_SECONDS);

enum { FIRST = 168, SECOND = 100, THIRD = 104, COUNT = FIRST * SECOND * THIRD };

/* B(i,j,k) = A(k,j,i) + (i,j,k)'s own number modulo 16, and nothing of it lost or counted twice. */
static void permute(const dcl_config *config, const char *map_a, const char *map_b, int32_t *a, int32_t *b)
{
    dcl_cluster *cluster = test_open(config);
    dcl_array *A = test_array(cluster, map_a, dcl_grid_3d(DCL_INT32, THIRD, SECOND, FIRST));
    dcl_array *B = test_array(cluster, map_b, dcl_grid_3d(DCL_INT32, FIRST, SECOND, THIRD));
    const char *body = "B(i,j,k) = A(k,j,i) + (i + 3 * j + 7 * k) % 16;";
    dcl_counters explained, before, after;
    for (int32_t e = 0; e < COUNT; e++)
        a[e] = e * 17;
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_call_explain(DCL_CALL_BODY(cluster, NULL, body, DCL_OUT(B), DCL_IN(A)), DCL_ALL_NODES, &explained));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_forall(cluster, body, DCL_OUT(B), DCL_IN(A)));
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    TEST_OK(dcl_read(B, NULL, b, NULL));
    cr_expect_eq(after.tasks - before.tasks, explained.tasks);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, explained.bytes_moved);
    cr_expect_eq(after.blocks_moved - before.blocks_moved, explained.blocks_moved);
    for (int32_t i = 0; i < FIRST; i++)
        for (int32_t j = 0; j < SECOND; j++)
            for (int32_t k = 0; k < THIRD; k++) {
                int32_t found = b[(i * SECOND + j) * THIRD + k],
                        expected = a[(k * SECOND + j) * FIRST + i] + (i + 3 * j + 7 * k) % 16;
                cr_assert_eq(found, expected, "%s to %s: (%d,%d,%d) is %d, expected %d", map_a, map_b, i, j, k, found,
                             expected);
            }
    dcl_release(A);
    dcl_release(B);
    TEST_OK(dcl_close(cluster));
}

Test(permute_on_device, large_parts_are_right_in_any_cut)
{
    int32_t *a = malloc(sizeof *a * COUNT), *b = malloc(sizeof *b * COUNT);
    static const struct {
        int nodes;
        const char *transfer, *map_a, *map_b;
    } cases[] = {{3, "place", "cyclic(5)", "block,*,*"}, /* the first call decides how many devices there are */
                 {3, "send", "*,block,*", "cyclic(40)"},
                 {2, "place", "block", "block"},
                 {2, "send", "block", "block"}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcl_config config = test_config(cases[n].nodes);
        config.tile_bytes = 1 << 20; /* a part has 1 or 2 MB: tiles of a few planes are cut */
        config.transfer = cases[n].transfer;
        permute(&config, cases[n].map_a, cases[n].map_b, a, b);
    }
    free(a);
    free(b);
}
