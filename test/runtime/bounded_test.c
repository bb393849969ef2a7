/* test/runtime/bounded_test.c - declared reads, which kernels for CPUs check line by line or without a branch: values as of plain loops
 * on any number of nodes and for all extents, and what is reported of reads outside. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(bounded, .timeout = TEST_SECONDS);

enum { MOST = 41, WIDEST = 133 };

/* Arrays of a case: a(i, j) and k(i, j) by hand, b as found. */
struct sheet {
    long rows, columns;
    int32_t a[MOST * WIDEST], k[MOST * WIDEST], b[MOST * WIDEST];
};

static long least(long x, long y) { return x < y ? x : y; }
static long most(long x, long y) { return x > y ? x : y; }
static long clamped(long x, long low, long high) { return least(most(x, low), high); }

static int32_t at(const struct sheet *s, long i, long j)
{
    return i >= 0 && i < s->rows && j >= 0 && j < s->columns ? s->a[i * s->columns + j] : 0;
}

static long key(const struct sheet *s, long i, long j) { return s->k[i * s->columns + j]; }

static int32_t row_of_key(const struct sheet *s, long i, long j)
{
    return at(s, clamped(i + key(s, i, j), 0, s->rows - 1), j);
}

static int32_t window(const struct sheet *s, long i, long j)
{
    int32_t sum = 0;
    for (long d = most(i - 2, 0); d <= least(i + 2, s->rows - 1); d++)
        for (long e = least(j + 3, s->columns - 1); e > most(j - 4, -1); e -= 2)
            sum = (3 * sum + at(s, d, e)) & 65535;
    return sum;
}

static int32_t conditional(const struct sheet *s, long i, long j)
{
    int32_t sum = 0;
    for (int d = -2; d < 3; d++)
        if (j + d >= 0 && j + d < s->columns)
            sum = (3 * sum + at(s, i, j + d)) & 65535;
    return sum;
}

static int32_t anywhere(const struct sheet *s, long i, long j)
{
    long p = clamped(7 * key(s, i, j) + i, 0, s->rows - 1), q = most(2 * j - s->columns, 0);
    return at(s, p, q) + at(s, s->rows - 1, least(q + 1, s->columns - 1));
}

static const struct {
    const char *what, *text;
    int kind; /* of declaration, see run() */
    int32_t (*expected)(const struct sheet *, long, long);
} bodies[] = {
    {"a row by a number", "long r = clamp(i + (long)K(i,j), 0L, (long)rows - 1); B(i,j) = A(r,j);", 0, row_of_key},
    {"a window cut at the edges",
     "int s = 0; for (long d = max(i - reach, 0L); d <= min(i + reach, (long)rows - 1); d++)\n"
     "for (long e = min(j + 3, (long)columns - 1); e > max(j - 4, -1L); e -= 2) s = (3 * s + A(d,e)) & 65535; B(i,j) = "
     "s;",
     1, window},
    {"a condition",
     "int s = 0; for (int d = -reach; d < 3; ++d) if (j + d >= 0 && j + d < columns) s = (3 * s + A(i,j+d)) & 65535; "
     "if (s == s) B(i,j) = s;",
     1, conditional},
    {"anything, clamped",
     "const long p = clamp((long)(7 * K(i,j)) + i, 0L, (long)(rows - 1)); int q = max(2 * (int)j - columns, 0);\n"
     "B(i,j) = A(p,q) + A(rows-1+0*p, min(q + 1, columns - 1));",
     2, anywhere}};

static void make(struct sheet *s, long rows, long columns)
{
    uint32_t state = (uint32_t)(rows * 1000 + columns);
    s->rows = rows;
    s->columns = columns;
    for (long n = 0; n < rows * columns; n++) {
        state = state * 1664525 + 1013904223;
        s->a[n] = (int32_t)(state >> 12);
        s->k[n] = (int32_t)(state >> 28) % 5 - 2;
    }
}

/* Run a body on a new cluster's arrays, and compare. @param row_map  of all arrays */
static void run(dcl_cluster *cluster, const char *map, struct sheet *s, size_t b)
{
    dcl_grid grid = dcl_grid_2d(DCL_INT32, s->rows, s->columns);
    dcl_array *A = test_array(cluster, map, grid), *K = test_array(cluster, map, grid);
    dcl_array *B = test_array(cluster, map, grid);
    const int rows = (int)s->rows, columns = (int)s->columns, reach = 2;
    int wrong = 0;
    TEST_OK(dcl_write(A, NULL, s->a, NULL));
    TEST_OK(dcl_write(K, NULL, s->k, NULL));
    TEST_OK(dcl_forall(cluster, "B(i,j) = -1;", DCL_OUT(B)));
    TEST_OK(bodies[b].kind == 0
                ? dcl_forall(cluster, bodies[b].text, DCL_OUT(B), DCL_IN(K), DCL_IN_HALO(A, 2, 0), DCL_VALUE(rows))
            : bodies[b].kind == 1 ? dcl_forall(cluster, bodies[b].text, DCL_INOUT(B), DCL_IN_HALO(A, 2, 3),
                                               DCL_VALUE(rows), DCL_VALUE(columns), DCL_VALUE(reach))
                                  : dcl_forall(cluster, bodies[b].text, DCL_OUT(B), DCL_IN(K), DCL_IN_ALL(A),
                                               DCL_VALUE(rows), DCL_VALUE(columns)));
    TEST_OK(dcl_read(B, NULL, s->b, NULL));
    for (long n = 0; n < s->rows * s->columns; n++)
        wrong += s->b[n] != bodies[b].expected(s, n / s->columns, n % s->columns);
    cr_expect_eq(wrong, 0, "%s, map %s, %ld x %ld: %d elements differ", bodies[b].what, map, s->rows, s->columns,
                 wrong);
    dcl_release(B);
    dcl_release(K);
    dcl_release(A);
}

Test(bounded, as_plain_loops)
{
    static const long extents[][2] = {{1, 1}, {1, 9}, {3, 2}, {8, 17}, {MOST, WIDEST}};
    static const char *const maps[] = {"block", "*,block", "rows:cyclic(3x7)", "block;tile=5x16"};
    static struct sheet sheet;
    for (int nodes = 3; nodes > 0; nodes -= 2) { /* devices are made for the first number */
        dcl_cluster *cluster = open_nodes(nodes);
        for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
            make(&sheet, extents[e][0], extents[e][1]);
            for (size_t b = 0; b < sizeof bodies / sizeof bodies[0]; b++)
                for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++)
                    run(cluster, maps[m], &sheet, b);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* One element reads a row or column too far away, or beyond the array: that is reported, it reads 0, and the others are right. */
Test(bounded, violations_are_reported)
{
    static const struct {
        long i, j, by;
        bool column;
        const char *words;
    } cases[] = {{10, 33, 3, false, "A(13, 33)"}, {20, WIDEST - 1, -3, false, "A(17, 132)"},
                 {0, 5, -1, false, "A(-1, 5)"},   {MOST - 1, 5, 1, false, "A(41, 5)"},
                 {10, 33, 3, true, "A(10, 36)"},  {20, 40, -3, true, "A(20, 37)"},
                 {5, 0, -1, true, "A(5, -1)"},    {5, WIDEST - 1, 2, true, "A(5, 134)"}};
    static struct sheet sheet;
    dcl_cluster *cluster = open_nodes(1);
    dcl_grid grid = dcl_grid_2d(DCL_INT32, MOST, WIDEST);
    dcl_array *A = test_array(cluster, "block", grid), *K = test_array(cluster, "block", grid);
    dcl_array *B = test_array(cluster, "block", grid);
    make(&sheet, MOST, WIDEST);
    TEST_OK(dcl_write(A, NULL, sheet.a, NULL));
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int wrong = 0;
        memset(sheet.k, 0, sizeof sheet.k);
        sheet.k[cases[c].i * WIDEST + cases[c].j] = (int32_t)cases[c].by;
        TEST_OK(dcl_write(K, NULL, sheet.k, NULL));
        TEST_OK(cases[c].column
                    ? dcl_forall(cluster, "B(i,j) = A(i, j + K(i,j));", DCL_OUT(B), DCL_IN(K), DCL_IN_HALO(A, 0, 2))
                    : dcl_forall(cluster, "B(i,j) = A(i + K(i,j), j);", DCL_OUT(B), DCL_IN(K), DCL_IN_HALO(A, 2, 0)));
        TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, cases[c].words);
        dcl_read(B, NULL, sheet.b, NULL);
        for (long n = 0; n < MOST * WIDEST; n++)
            wrong += sheet.b[n] != (n == cases[c].i * WIDEST + cases[c].j ? 0 : sheet.a[n]);
        cr_expect_eq(wrong, 0, "%s: %d elements differ", cases[c].words, wrong);
        dcl_clear_error(cluster);
    }
    dcl_release(B);
    dcl_release(K);
    dcl_release(A);
    dcl_close(cluster);
}
