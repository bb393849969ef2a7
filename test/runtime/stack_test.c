/* test/runtime/stack_test.c - bodies whose lines share what they read, which kernels for CPUs compute several lines at a time, against
 * plain loops of the program. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "support/nodes.h"

TestSuite(stack_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 27, MOST = 1300, EDGE = 2 };

static float a[ROWS * MOST], b[ROWS * MOST], w[25];
static double c[ROWS * MOST];

static float window(int64_t width, int64_t i, int64_t j)
{
    float s = 0;
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            s += w[(y + 2) * 5 + x + 2] * a[(i + y) * width + j + x];
    return s;
}

/* Two outputs, a condition, variables of blocks, a loop that reads upwards while it counts down, and the indices themselves. */
static void two(int64_t width, int64_t i, int64_t j, float *b_out, double *c_out)
{
    double s = (double)i;
    float most = -1;
    for (int y = 0; y < 3; y++) {
        const float u = a[(i - y) * width + j];
        float v = u * 0.5F;
        if (u > most) {
            v += 1;
            most = u;
        }
        s += (double)v;
    }
    for (int y = 2; y >= 0; y--)
        s += 0.25 * (double)a[(i + y) * width + j + 1];
    *b_out = most + (float)(i * 3 + j);
    *c_out = s;
}

static void compare(dcl_cluster *cluster, const char *map, int64_t width, const dcl_box *box)
{
    dcl_array *A = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, width));
    dcl_array *B = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, width));
    dcl_array *C = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, ROWS, width));
    dcl_array *W = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 5, 5));
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(W, NULL, w, NULL));
    TEST_OK(dcl_forall_over(cluster, box,
                            "float s = 0;\nfor (int y = -2; y <= 2; y++)\n    for (int x = -2; x <= 2; x++)\n"
                            "        s += W(y+2,x+2) * A(i+y,j+x);\nB(i,j) = s;",
                            DCL_INOUT(B), DCL_IN(A), DCL_IN(W)));
    TEST_OK(dcl_read(B, NULL, b, NULL));
    for (int64_t e = 0; e < ROWS * width; e++) {
        int64_t i = e / width, j = e % width;
        bool inside = i >= box->start[0] && i < box->start[0] + box->count[0] && j >= box->start[1] &&
                      j < box->start[1] + box->count[1];
        cr_assert_eq(b[e], inside ? window(width, i, j) : 0,
                     "%s, %" PRId64 " columns: B(%" PRId64 ",%" PRId64 ") is %g", map, width, i, j, (double)b[e]);
    }
    TEST_OK(dcl_forall_over(
        cluster, box,
        "double s = i; float most = -1;\n"
        "for (int y = 0; y < 3; y++) { const float u = A(i-y,j); float v = u * 0.5f;"
        " if (u > most) { v += 1; most = u; } s += v; }\n"
        "for (int y = 2; y >= 0; y--) s += 0.25 * A(i+y,j+1);\nB(i,j) = most + (i * 3 + j); C(i,j) = s;",
        DCL_INOUT(B), DCL_INOUT(C), DCL_IN(A)));
    TEST_OK(dcl_read(B, NULL, b, NULL));
    TEST_OK(dcl_read(C, NULL, c, NULL));
    for (int64_t i = box->start[0]; i < box->start[0] + box->count[0]; i++)
        for (int64_t j = box->start[1]; j < box->start[1] + box->count[1]; j++) {
            float most;
            double s;
            two(width, i, j, &most, &s);
            cr_assert_eq(b[i * width + j], most, "%s: B(%" PRId64 ",%" PRId64 ")", map, i, j);
            cr_assert_eq(c[i * width + j], s, "%s: C(%" PRId64 ",%" PRId64 ")", map, i, j);
        }
    dcl_release(A);
    dcl_release(B);
    dcl_release(C);
    dcl_release(W);
}

Test(stack_on_device, gives_what_plain_loops_give)
{
    static const int64_t widths[] = {MOST, 5, 40};
    static const char *const maps[] = {"block", "cyclic(3),*", "*,cyclic(7)"};
    dcl_cluster *cluster = open_nodes(2);
    for (int e = 0; e < ROWS * MOST; e++)
        a[e] = (float)(e * 7919 % 1009) / 16;
    for (int e = 0; e < 25; e++)
        w[e] = (float)(e * 11 % 25) / 7;
    for (int n = 0; n < 9; n++) {
        int64_t width = widths[n / 3];
        const dcl_box box = {
            .rank = 2, .start = {EDGE, EDGE}, .count = {ROWS - 2 * EDGE - n % 2, width - 2 * EDGE}, .stride = {1, 1}};
        compare(cluster, maps[n % 3], width, &box);
    }
    TEST_OK(dcl_close(cluster));
}

enum {
    LARGE_ROWS = 2150,
    LARGE_COLUMNS = 4100, /* more than 32 MB: stored without caching */
    REACH = 700           /* lines of a part whose first access reads another part: stored without caching, too */
};

static float column(const float *from, int64_t i, int64_t j, bool clamped)
{
    static const float weight[] = {0.0625F, 0.25F, 0.375F, 0.125F};
    static const int64_t apart[] = {-REACH, -1, 0, 1};
    float s = 0;
    for (int n = 0; n < 4; n++) {
        int64_t row = i + apart[n];
        row = clamped && row < 0 ? 0 : clamped && row >= LARGE_ROWS ? LARGE_ROWS - 1 : row;
        s += weight[n] * from[row * LARGE_COLUMNS + j];
    }
    return s;
}

/* Parts begin and end within stacks; lines of other parts are not where those of the own part are. */
Test(stack_on_device, neighbours_that_a_body_names_are_those_of_plain_loops)
{
    static const char *const maps[] = {"block", "cyclic(101),*", "*,cyclic(700)"};
    const dcl_box box = {
        .rank = 2, .start = {REACH, 0}, .count = {LARGE_ROWS - REACH - 1, LARGE_COLUMNS}, .stride = {1, 1}};
    const size_t bytes = sizeof(float) * LARGE_ROWS * LARGE_COLUMNS;
    float *from = malloc(bytes), *to = malloc(bytes);
    dcl_cluster *cluster = open_nodes(2);
    for (int64_t e = 0; e < (int64_t)LARGE_ROWS * LARGE_COLUMNS; e++)
        from[e] = (float)(e * 7919 % 10009) / 16;
    for (int m = 0; m < 3; m++) {
        dcl_array *A = test_array(cluster, maps[m], dcl_grid_2d(DCL_FLOAT, LARGE_ROWS, LARGE_COLUMNS));
        dcl_array *B = test_array(cluster, maps[m], dcl_grid_2d(DCL_FLOAT, LARGE_ROWS, LARGE_COLUMNS));
        TEST_OK(dcl_write(A, NULL, from, NULL));
        for (int clamped = 0; clamped < 2; clamped++) {
            TEST_OK(dcl_forall_over(cluster, clamped ? NULL : &box,
                                    clamped ? "float s = 0; s += 0.0625f * A(clamp(i-700, 0, 2149),j);"
                                              "s += 0.25f * A(clamp(i-1, 0, 2149),j); s += 0.375f * A(i,j);"
                                              "s += 0.125f * A(clamp(i+1, 0, 2149),j); B(i,j) = s;"
                                            : "float s = 0; s += 0.0625f * A(i-700,j); s += 0.25f * A(i-1,j);"
                                              "s += 0.375f * A(i,j); s += 0.125f * A(i+1,j); B(i,j) = s;",
                                    DCL_INOUT(B), DCL_IN(A)));
            TEST_OK(dcl_read(B, NULL, to, NULL));
            for (int64_t i = clamped ? 0 : REACH; i < LARGE_ROWS - !clamped; i++)
                for (int64_t j = 0; j < LARGE_COLUMNS; j++)
                    cr_assert_eq(to[i * LARGE_COLUMNS + j], column(from, i, j, clamped),
                                 "%s: B(%" PRId64 ",%" PRId64 ")", maps[m], i, j);
        }
        dcl_release(A);
        dcl_release(B);
    }
    TEST_OK(dcl_close(cluster));
    free(from);
    free(to);
}
