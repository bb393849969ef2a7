/* test/runtime/lanes_test.c - bodies with loops of unknown length, which kernels for CPUs run for many elements at once, against plain
 * loops of the program. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "support/nodes.h"

TestSuite(lanes_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 5, MOST = 100 };

static float root(float x)
{
    float y = x;
    while (fabsf(y * y - x) > 0.0005F * x)
        y = 0.5F * (y + x / y);
    return y;
}

/* As the second body: an element that starts high leaves at once, another one after up to 90 steps. */
static int steps(float start, int64_t i, int64_t j, int limit)
{
    double x = start;
    int s = 0, odd = 0;
    for (; s < limit; s += 1 + odd) {
        if (x > 900)
            break;
        if (s % 3 == 2)
            odd ^= 1;
        else
            x = x * 1.03 + (double)i;
        x -= (float)j * 0.001F;
    }
    return s;
}

Test(lanes_on_device, gives_what_plain_loops_give)
{
    static const int64_t widths[] = {MOST, 1, 31, 32, 33};
    static const char *const maps[] = {"block", "*,cyclic(7)"};
    float a[ROWS * MOST], c[ROWS * MOST];
    int32_t d[ROWS * MOST];
    dcl_cluster *cluster = open_nodes(2);
    for (int n = 0; n < 10; n++) {
        int64_t width = widths[n / 2];
        int limit = 90 - n;
        dcl_array *A = test_array(cluster, maps[n % 2], dcl_grid_2d(DCL_FLOAT, ROWS, width));
        dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, width));
        dcl_array *D = test_array(cluster, maps[n % 2], dcl_grid_2d(DCL_INT32, ROWS, width));
        const dcl_box box = {
            .rank = 2, .start = {0, n % 2}, .count = {ROWS, width > 1 ? width - n % 2 : 1 - n % 2}, .stride = {1, 1}};
        for (int64_t e = 0; e < ROWS * width; e++) {
            a[e] = (float)(e * 7919 % 1009) + 0.5F;
            d[e] = 1000 * (int32_t)e;
        }
        TEST_OK(dcl_write(A, NULL, a, NULL));
        TEST_OK(dcl_write(D, NULL, d, NULL));
        TEST_OK(dcl_forall(cluster,
                           "float x = A(i,j), y = x;\nwhile (fabs(y * y - x) > 0.0005f * x)\n"
                           "    y = 0.5f * (y + x / y);\nC(i,j) = y;",
                           DCL_OUT(C), DCL_IN(A)));
        TEST_OK(dcl_forall_over(cluster, &box,
                                "double x = A(i,j); D(i,j) += 1; int s = 0, odd = 0;"
                                "for (; s < limit; s += 1 + odd) {"
                                "    if (x > 900) break;"
                                "    if (s % 3 == 2) odd ^= 1; else x = x * 1.03 + i;"
                                "    x -= (float)j * 0.001f;"
                                "}"
                                "D(i,j) += s;",
                                DCL_INOUT(D), DCL_IN(A), DCL_VALUE(limit)));
        TEST_OK(dcl_read(C, NULL, c, NULL));
        TEST_OK(dcl_read(D, NULL, d, NULL));
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < width; j++) {
                int64_t e = i * width + j;
                int32_t added = j >= box.start[1] ? 1 + steps(a[e], i, j, limit) : 0;
                cr_assert_eq(c[e], root(a[e]), "width %" PRId64 ": C(%" PRId64 ",%" PRId64 ")", width, i, j);
                cr_assert_eq(d[e], 1000 * (int32_t)e + added,
                             "width %" PRId64 ": D(%" PRId64 ",%" PRId64 ") is %d, expected %d", width, i, j, d[e],
                             1000 * (int32_t)e + added);
            }
        dcl_release(A);
        dcl_release(C);
        dcl_release(D);
    }
    TEST_OK(dcl_close(cluster));
}

/* The condition of a loop may be any number: one whose low bits are 0, or one that is no integer. */
Test(lanes_on_device, conditions_that_are_no_int)
{
    int64_t a[MOST];
    int32_t bits[MOST], halves[MOST];
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT64, MOST)),
              *B = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, MOST)),
              *H = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, MOST));
    for (int i = 0; i < MOST; i++)
        a[i] = (int64_t)1 << (i < 32 ? 40 : i % 40);
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_forall(cluster, "long n = A(i); int c = 0; while (n) { n = n >> 1; c = c + 1; } B(i) = c;", DCL_OUT(B),
                       DCL_IN(A)));
    TEST_OK(dcl_forall(cluster, "float r = i % 5 * 0.5f; int c = 0; while (r) { r = r - 0.5f; c = c + 1; } H(i) = c;",
                       DCL_OUT(H)));
    TEST_OK(dcl_read(B, NULL, bits, NULL));
    TEST_OK(dcl_read(H, NULL, halves, NULL));
    for (int i = 0; i < MOST; i++)
        cr_expect(bits[i] == 1 + (i < 32 ? 40 : i % 40) && halves[i] == i % 5, "%d: %d, %d", i, bits[i], halves[i]);
    dcl_release(H);
    dcl_release(B);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}
