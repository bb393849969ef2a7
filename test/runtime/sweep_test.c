/* test/runtime/sweep_test.c - bodies with long loops, which kernels for CPUs run for many elements at once, against plain loops of the
 * program. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/nodes.h"
#include "support/sweep_bodies.h"

TestSuite(sweep_on_device, .timeout = TEST_SECONDS);

enum { ROWS = 11, MOST = 700, INNER = 37, TERMS = 331 };

static double a[ROWS * INNER], b[INNER * MOST], c[ROWS * MOST], found[ROWS * MOST];
static float f[ROWS * MOST], found_floats[ROWS * MOST];

static void product(int64_t width)
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < width; j++)
            for (int64_t k = 0; k < INNER; k++)
                c[i * width + j] += 1.5 * a[i * INNER + k] * b[k * width + j];
}

static const char product_text[] =
    "double s = C(i,j);\nfor (long k = 0; k < n; k++)\n    s += alpha * A(i,k) * B(k,j);\n"
    "C(i,j) = s;";

/* Limits that depend on both indices, and a condition. */
static void triangle(int64_t width)
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < width; j++) {
            double s = 0.5;
            if (j <= i * 60)
                for (int64_t k = i - 3 > 0 ? i - 3 : 0; k < INNER && k <= 2 * j - 5; k++)
                    s += a[i * INNER + k] * b[k * width + j];
            c[i * width + j] = s;
        }
}

static const char triangle_text[] =
    "double s = 0.5;\nif (j <= i * 60) {\n    for (long k = 0; k < n; k++) {\n        if (k < i - 3) continue;\n"
    "        if (k > 2 * j - 5) break;\n        s += A(i,k) * B(k,j);\n    }\n}\nC(i,j) = s;";

/* Loops in each other, two results of different types, a counter of type int as a value. */
static void nested(int64_t width)
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < width; j++) {
            double s = (double)j;
            float most = -1;
            for (int64_t x = 1; x < 9; x++) {
                if (x > j + 2)
                    break;
                double t = (double)x / 3;
                for (int64_t k = x; k < INNER; k++)
                    t += b[k * width + j] * a[i * INNER + x];
                s = s * 0.75 + t;
                if (t > (double)most)
                    most = (float)t;
            }
            c[i * width + j] += s;
            f[i * width + j] = most + (float)(i * 3);
        }
}

static const char nested_text[] =
    "double s = j; float most = -1;\nfor (int x = 1; x < eight; x++) {\n    if (x > j + 2) break;\n"
    "    double t = x / 3.0;\n    for (int k = 0; k < n; k++) {\n        if (k < x) continue;\n"
    "        t += B(k,j) * A(i,x);\n    }\n    s = s * 0.75 + t;\n    if (t > most) most = t;\n}\n"
    "C(i,j) += s; F(i,j) = most + i * 3;";

static void fill(double *values, int count, int seed)
{
    for (int e = 0; e < count; e++)
        values[e] = (double)((e + seed) * 7919 % 1009) / 17 - 20;
}

static void compare(dcl_cluster *cluster, const char *map, int64_t width)
{
    const int n = INNER, eight = 9;
    const double alpha = 1.5;
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, ROWS, INNER));
    dcl_array *B = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, INNER, width));
    dcl_array *C = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, ROWS, width));
    dcl_array *F = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, width));
    fill(a, ROWS * INNER, 3);
    fill(b, (int)(INNER * width), 5);
    fill(c, (int)(ROWS * width), 7);
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(B, NULL, b, NULL));
    TEST_OK(dcl_write(C, NULL, c, NULL));
    for (int step = 0; step < 3; step++) {
        if (step == 0) {
            product(width);
            TEST_OK(
                dcl_forall(cluster, product_text, DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(n), DCL_VALUE(alpha)));
        } else if (step == 1) {
            triangle(width);
            TEST_OK(dcl_forall(cluster, triangle_text, DCL_OUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(n)));
        } else {
            nested(width);
            TEST_OK(dcl_forall(cluster, nested_text, DCL_INOUT(C), DCL_OUT(F), DCL_IN(A), DCL_IN(B), DCL_VALUE(n),
                               DCL_VALUE(eight)));
        }
        TEST_OK(dcl_read(C, NULL, found, NULL));
        cr_expect_eq(memcmp(found, c, (size_t)(ROWS * width) * sizeof *c), 0, "%s, width %d, step %d", map, (int)width,
                     step);
    }
    TEST_OK(dcl_read(F, NULL, found_floats, NULL));
    cr_expect_eq(memcmp(found_floats, f, (size_t)(ROWS * width) * sizeof *f), 0, "%s, width %d, F", map, (int)width);
    dcl_release(F);
    dcl_release(C);
    dcl_release(B);
    dcl_release(A);
}

static void compare_all(dcl_cluster *cluster)
{
    static const int64_t widths[] = {MOST, 5, 70};
    static const char *const maps[] = {"block", "cyclic(3),*", "*,cyclic(7)"};
    for (int n = 0; n < 5; n++)
        compare(cluster, maps[n % 3], widths[n / 2]);
    dcl_close(cluster);
}

Test(sweep_on_device, has_the_bits_of_plain_loops_on_one_node) { compare_all(open_nodes(1)); }

Test(sweep_on_device, has_the_bits_of_plain_loops_on_three_nodes) { compare_all(open_nodes(3)); }

/* The footprint of y is larger than y: its reads are inside thanks to the limits only. */
Test(sweep_on_device, limits_keep_reads_inside)
{
    static double x[TERMS], y[TERMS], z[2 * TERMS - 1], got[2 * TERMS - 1];
    dcl_cluster *cluster = open_nodes(2);
    const int last = TERMS - 1;
    dcl_array *X = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, TERMS));
    dcl_array *Y = test_array(cluster, "cyclic(9)", dcl_grid_1d(DCL_DOUBLE, TERMS));
    dcl_array *Z = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 2 * TERMS - 1));
    fill(x, TERMS, 1);
    fill(y, TERMS, 2);
    TEST_OK(dcl_write(X, NULL, x, NULL));
    TEST_OK(dcl_write(Y, NULL, y, NULL));
    TEST_OK(dcl_forall(cluster,
                       "double e = Z(i);\nfor (long c = 0; c <= last; c++) {\n    if (c < i - last) continue;\n"
                       "    if (c > i) break;\n    e += X(c) * Y(i - c);\n}\nZ(i) = e;",
                       DCL_INOUT(Z), DCL_IN(X), DCL_IN(Y), DCL_VALUE(last)));
    for (int i = 0; i < TERMS; i++)
        for (int j = 0; j < TERMS; j++)
            z[i + j] += x[i] * y[j];
    TEST_OK(dcl_read(Z, NULL, got, NULL));
    cr_expect_eq(memcmp(got, z, sizeof z), 0);
    dcl_release(Z);
    dcl_release(Y);
    dcl_release(X);
    TEST_OK(dcl_close(cluster));
}

Test(sweep_on_device, reads_outside_are_reported_and_give_zero)
{
    dcl_cluster *cluster = open_nodes(2);
    const int n = 20;
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, 6, 300));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, 6, 300));
    TEST_OK(dcl_forall(cluster, "A(i,j) = 1;", DCL_OUT(A)));
    dcl_forall(cluster, "double s = 0; for (long k = 0; k < n; k++) { s += A(i,j+k); } C(i,j) = s;", DCL_OUT(C),
               DCL_IN(A), DCL_VALUE(n));
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_RANGE);
    cr_expect_not_null(strstr(dcl_error(), "A("), "%s", dcl_error());
    dcl_read(C, NULL, found, NULL);
    for (int e = 0; e < 6 * 300; e++)
        cr_expect_eq(found[e], e % 300 + n <= 300 ? n : 300 - e % 300, "element %d: %g", e, found[e]);
    dcl_clear_error(cluster);
    dcl_release(C);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* ---- bodies that sweeps must not change, or must refuse --------------------------------------------------------------- */

enum { NARROW = 70 };

static double at_b(int k, int j) { return b[k * NARROW + j]; }

static double sum_of(int j, int from, int end)
{
    double s = 0;
    for (int k = from; k < end; k++)
        s += at_b(k, j);
    return s;
}

static double newton(int i, int j)
{
    double x = 1;
    for (int t = 0; t < 100; t++)
        x = x - (x * x - fabs(at_b(i, j)) - 1) / (2 * x);
    return x;
}

static double repeated(int i, int j)
{
    double s = 0;
    for (int k = 0; k < INNER; k++)
        s += at_b(i, j);
    return s;
}

static double weighted(int i, int j)
{
    double s = 0;
    for (int k = 0; k < INNER; k++)
        s += at_b(i, j) * k;
    return s;
}

static double twice_nested(int i, int j)
{
    (void)i;
    double s = 0;
    for (int r = 0; r < INNER; r++)
        for (int k = 0; k < INNER; k++)
            s += at_b(k, j);
    return s;
}

static double whole(int i, int j) { return (void)i, sum_of(j, 0, INNER); }
static double from_three(int i, int j) { return (void)i, sum_of(j, 3, INNER); }
static double none(int i, int j) { return (void)i, (void)j, 0; }
/* The counter -2 is no less than an unsigned 1. */
static double unsigned_limit(int i, int j)
{
    (void)i;
    double s = 0;
    for (int k = -2; k < INNER - 2; k++)
        if (k < 0 || k >= 1)
            s += at_b(k + 2, j);
    return s;
}

static double fractions(int i, int j)
{
    (void)i;
    double s = 0, w = 0;
    for (int k = 0; k < INNER; k++)
        s += modf(at_b(k, j), &w);
    return s + w;
}

static double squares(int i, int j)
{
    (void)i;
    double s = 0;
    for (int k = 0; k < INNER; k++)
        s += at_b(k, j) * at_b(k, j);
    return s;
}

static double remainder_limit(int i, int j) { return i > 0 ? sum_of(j, 0, j % i + 1) : 0; }
static double remainder_condition(int i, int j) { return i > 0 && j % i == 0 ? sum_of(j, 0, INNER) : 0; }

/* The loops of a body over k, with what stands before `s += B(k,j);` in the loop. */
#define SUM(before) "double s = 0; for (long k = 0; k < n; k++) { " before " s += B(k,j); } C(i,j) = s;"

static const struct {
    const char *text;
    double (*value)(int i, int j);
} bodies[] = {
    /* clang-format off */
    {"double x = 1; for (int t = 0; t < 100; t++) x = x - (x * x - fabs(B(i,j)) - 1) / (2 * x); C(i,j) = x;", newton},
    {"double s = 0; for (long k = 0; k < n; k++) s += B(i,j); C(i,j) = s;", repeated},
    {"C(i,j) = 0; for (long k = 0; k < n; k++) C(i,j) += B(i,j);", repeated},
    {"double s = 0; for (long k = 0; k < n; k++) s += B(i,j) * k; C(i,j) = s;", weighted},
    {"double s = 0; for (int r = 0; r < n; r++) { for (long k = 0; k < n; k++) { s += B(k,j); } } C(i,j) = s;", twice_nested},
    {SUM("if (k < alpha) continue;"), from_three},
    {SUM("if (k > 2.5 - alpha - 0.5) break;"), none},
    {"double s = 0; for (int k = -2; k < n - 2; k++) { if (k < u) continue; s += B(k + 2,j); } C(i,j) = s;", unsigned_limit},
    {"double s = 0; for (uint k = 0; k < n; k++) { if (k < 2 - 3) continue; s += B(k,j); } C(i,j) = s;", none},
    {"double s = 0, w = 0; for (long k = 0; k < n; k++) { s += modf(B(k,j), &w); } C(i,j) = s + w;", fractions},
    {"double s = 0, t = 0; for (long k = 0; k < n; k++) { t = ((s) += B(k,j)) * 0; } C(i,j) = s + t;", whole},
    {"double s = 0; for (long k = 0; k < n; k++) { double t = B(k,j); s += t * t; } if (s >= 0) { double t = s; C(i,j) = t; }", squares},
    {"double s = 0; if (i > 0) { for (long k = 0; k < n; k++) { if (k > j % i) break; s += B(k,j); } } C(i,j) = s;", remainder_limit},
    {"double s = 0; if (i > 0) { if (j % i == 0) { for (long k = 0; k < n; k++) s += B(k,j); } } C(i,j) = s;", remainder_condition},
    /* clang-format on */
};

Test(sweep_on_device, doubtful_bodies_have_the_bits_of_plain_loops)
{
    dcl_cluster *cluster = open_nodes(1);
    const int n = INNER;
    const unsigned u = 1;
    const double alpha = 2.5;
    dcl_array *B = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, INNER, NARROW));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, ROWS, NARROW));
    fill(b, INNER * NARROW, 5);
    TEST_OK(dcl_write(B, NULL, b, NULL));
    for (size_t t = 0; t < sizeof bodies / sizeof bodies[0]; t++) {
        TEST_OK(dcl_forall(cluster, "C(i,j) = -1;", DCL_OUT(C)));
        dcl_status status =
            dcl_forall(cluster, bodies[t].text, DCL_INOUT(C), DCL_IN(B), DCL_VALUE(n), DCL_VALUE(u), DCL_VALUE(alpha));
        cr_assert_eq(status, DCL_OK, "%s: %s", bodies[t].text, dcl_error());
        status = dcl_read(C, NULL, found, NULL);
        cr_assert_eq(status, DCL_OK, "%s: %s", bodies[t].text, dcl_error());
        for (int e = 0; e < ROWS * NARROW; e++) {
            double value = bodies[t].value(e / NARROW, e % NARROW);
            cr_assert_eq(found[e], value, "%s: element %d is %g, not %g", bodies[t].text, e, found[e], value);
        }
    }
    dcl_release(C);
    dcl_release(B);
    TEST_OK(dcl_close(cluster));
}

/* Each body is run in sweeps, and with a last statement that makes sweeps impossible. */
Test(sweep_on_device, bodies_give_the_same_with_and_without_sweeps)
{
    static const struct {
        const char *what, *text;
        bool sweeps;
    } rows[] = {TEST_SWEEP_BODIES};
    static float start[ROWS * NARROW], both[2][ROWS * NARROW];
    dcl_cluster *cluster = open_nodes(1);
    const int64_t n = 20, m = 9;
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, NARROW + n + 1));
    dcl_array *B = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, n + 3, NARROW));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, NARROW));
    TEST_OK(dcl_forall(cluster, "A(i,j) = (i * 31 + j * 17) % 101 / 7.0f - 5;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, "B(i,j) = (i * 53 + j * 29) % 103 / 9.0f - 4;", DCL_OUT(B)));
    for (int e = 0; e < ROWS * NARROW; e++)
        start[e] = (float)e / 3;
    for (size_t t = 0; t < sizeof rows / sizeof rows[0]; t++) {
        for (int plain = 0; plain < 2; plain++) {
            char text[300];
            snprintf(text, sizeof text, "%s%s", rows[t].text, plain ? "\ndo ; while (0);" : "");
            TEST_OK(dcl_write(C, NULL, start, NULL));
            dcl_status status =
                dcl_forall(cluster, text, DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(n), DCL_VALUE(m));
            cr_assert_eq(status, DCL_OK, "%s: %s", rows[t].what, dcl_error());
            status = dcl_read(C, NULL, both[plain], NULL);
            cr_assert_eq(status, DCL_OK, "%s: %s", rows[t].what, dcl_error());
        }
        cr_expect_eq(memcmp(both[0], both[1], sizeof both[0]), 0, "%s", rows[t].what);
        cr_expect_neq(memcmp(both[0], start, sizeof start), 0, "%s", rows[t].what);
    }
    dcl_release(C);
    dcl_release(B);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* Ranges of DCL_OVER that depend on the other index: a triangle, its mirror, a band, one that no two lines have in common, and an empty
 * one. */
struct over_case {
    char what[32], over[80];
    int64_t low[2], high[2]; /* of j at index i: low[0] + low[1] * i .. high[0] + high[1] * i, within the row */
};

static const struct over_case overs[] = {
    {"triangle", "0 <= i < 11, max(0, i) <= j < 700", {0, 1}, {699, 0}},
    {"its mirror", "0 <= i < 11, 0 <= j <= i", {0, 0}, {0, 1}},
    {"steep", "0 <= i < 11, 0 <= j <= 60 * i - 30", {0, 0}, {-30, 60}},
    {"band", "0 <= i < 11, 40 * i <= j <= min(699, 40 * i + 290)", {0, 40}, {290, 40}},
    {"lines apart", "0 <= i < 11, 60 * i <= j < min(700, 60 * i + 59)", {0, 60}, {58, 60}},
    {"a few lines", "3 <= i < 9, max(0, 700 - 100 * i) <= j < min(700, 100 * i)", {700, -100}, {-1, 100}},
};

Test(sweep_on_device, ranges_of_lines_may_differ)
{
    const int n = INNER;
    const double alpha = 1.5;
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, ROWS, INNER));
    dcl_array *B = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, INNER, MOST));
    fill(a, ROWS * INNER, 3);
    fill(b, INNER * MOST, 5);
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(B, NULL, b, NULL));
    for (size_t o = 0; o < sizeof overs / sizeof overs[0]; o++) {
        const struct over_case *over = &overs[o];
        dcl_array *C = test_array(cluster, o % 2 == 0 ? "block" : "*,cyclic(7)", dcl_grid_2d(DCL_DOUBLE, ROWS, MOST));
        fill(c, ROWS * MOST, 7);
        TEST_OK(dcl_write(C, NULL, c, NULL));
        TEST_OK(dcl_forall(cluster, product_text, DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(n), DCL_VALUE(alpha),
                           DCL_OVER(over->over)));
        for (int64_t i = o == 5 ? 3 : 0; i < (o == 5 ? 9 : ROWS); i++)
            for (int64_t j = 0; j < MOST; j++)
                for (int64_t k = 0; k < INNER; k++)
                    if (j >= over->low[0] + over->low[1] * i && j <= over->high[0] + over->high[1] * i)
                        c[i * MOST + j] += 1.5 * a[i * INNER + k] * b[k * MOST + j];
        TEST_OK(dcl_read(C, NULL, found, NULL));
        cr_expect_eq(memcmp(found, c, sizeof c), 0, "%s", over->what);
        dcl_release(C);
    }
    dcl_close(cluster);
}

/* Enough lines that a row of a kernel has several. */
enum { TALL = 75, ACROSS = 230 };
static double tall_a[TALL * INNER], tall_b[INNER * ACROSS], tall_c[TALL * ACROSS], tall_found[TALL * ACROSS];

static double tall_b_at(int k, int j) { return tall_b[k * ACROSS + j]; }

static void product_of(int i, int j)
{
    for (int k = 0; k < INNER; k++)
        tall_c[i * ACROSS + j] += 1.5 * tall_a[i * INNER + k] * tall_b_at(k, j);
}

static void sum_within_limits(int i, int j)
{
    for (int k = i; k < INNER && k <= j - 3; k++)
        tall_c[i * ACROSS + j] += tall_b_at(k, j);
}

static void two_sums(int i, int j)
{
    double s = 1 + tall_c[i * ACROSS + j];
    float t = (float)tall_a[i * INNER + 3], u = (float)j;
    for (int k = 0; k < INNER && i > 2; k++)
        s += (double)t * tall_b_at(k, j);
    for (int k = 0; k < INNER; k++)
        u += (float)tall_b_at(k, j);
    tall_c[i * ACROSS + j] = s - (double)t + (double)u;
}

/* Lines of different ranges are computed together, also at places that are in the ranges of some of them only, which must keep their values.
 * Bodies that write in the loop cannot be computed at such places. */
Test(sweep_on_device, elements_outside_of_ranges_stay)
{
    static const struct {
        const char *text;
        void (*compute)(int i, int j);
    } rows[] = {
        /* clang-format off */
        {"double s = C(i,j); for (long k = 0; k < n; k++) s += 1.5 * A(i,k) * B(k,j); C(i,j) = s;", product_of},
        {"for (long k = 0; k < n; k++) C(i,j) += 1.5 * A(i,k) * B(k,j);", product_of},
        {"double s = C(i,j); for (long k = 0; k < n; k++) { if (k < i) continue; if (k > j - 3) break; s += B(k,j); } C(i,j) = s;",
         sum_within_limits},
        {"double s; float t = A(i,3), u = j; s = 1 + C(i,j); if (i > 2) { for (long k = 0; k < n; k++) s += t * B(k,j); }\n"
         "for (long k = 0; k < n; k++) u += (float)B(k,j);\nC(i,j) = s - t + u;", two_sums},
        /* clang-format on */
    };
    const int n = INNER;
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, TALL, INNER));
    dcl_array *B = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, INNER, ACROSS));
    dcl_array *C = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, TALL, ACROSS));
    fill(tall_a, TALL * INNER, 3);
    fill(tall_b, INNER * ACROSS, 5);
    TEST_OK(dcl_write(A, NULL, tall_a, NULL));
    TEST_OK(dcl_write(B, NULL, tall_b, NULL));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        fill(tall_c, TALL * ACROSS, 7);
        TEST_OK(dcl_write(C, NULL, tall_c, NULL));
        TEST_OK(dcl_forall(cluster, rows[r].text, DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_VALUE(n),
                           DCL_OVER("0 <= i < 75, i + 9 <= j <= min(229, 2 * i + 109)")));
        for (int i = 0; i < TALL; i++)
            for (int j = i + 9; j <= 2 * i + 109 && j < ACROSS; j++)
                rows[r].compute(i, j);
        TEST_OK(dcl_read(C, NULL, tall_found, NULL));
        cr_expect_eq(memcmp(tall_found, tall_c, sizeof tall_c), 0, "%s", rows[r].text);
    }
    dcl_close(cluster);
}

/* Three axes: the range of lines depends on the first one, that of elements on both. */
Test(sweep_on_device, ranges_of_planes_may_differ)
{
    enum { PLANES = 6, LINES = 9, WIDE = 40 };
    static double x[PLANES * INNER], y[INNER * WIDE], z[PLANES * LINES * WIDE], got[PLANES * LINES * WIDE];
    const int n = INNER;
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *X = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, PLANES, INNER));
    dcl_array *Y = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, INNER, WIDE));
    dcl_array *Z = test_array(cluster, "block", dcl_grid_3d(DCL_DOUBLE, PLANES, LINES, WIDE));
    fill(x, PLANES * INNER, 1);
    fill(y, INNER * WIDE, 2);
    TEST_OK(dcl_write(X, NULL, x, NULL));
    TEST_OK(dcl_write(Y, NULL, y, NULL));
    TEST_OK(dcl_forall(cluster, "double s = j;\nfor (long c = 0; c < n; c++)\n    s += X(i,c) * Y(c,k);\nZ(i,j,k) = s;",
                       DCL_INOUT(Z), DCL_IN(X), DCL_IN(Y), DCL_VALUE(n),
                       DCL_OVER("0 <= i < 6, 0 <= j <= i + 2, 2 * i <= k < min(40, 30 + j)")));
    for (int i = 0; i < PLANES; i++)
        for (int j = 0; j <= i + 2; j++)
            for (int k = 2 * i; k < 40 && k < 30 + j; k++) {
                double s = j;
                for (int t = 0; t < INNER; t++)
                    s += x[i * INNER + t] * y[t * WIDE + k];
                z[(i * LINES + j) * WIDE + k] = s;
            }
    TEST_OK(dcl_read(Z, NULL, got, NULL));
    cr_expect_eq(memcmp(got, z, sizeof z), 0);
    dcl_close(cluster);
}

/* Counters with factor -1: the reads of successive steps go backwards in memory, in long loops and in unrolled ones, of one's own elements,
 * of other nodes' and of a mirrored view. */
Test(sweep_on_device, reads_that_go_backwards_have_the_bits_of_plain_loops)
{
    enum { TAPS = 5 };
    static const char *const maps[][2] = {
        {"block", "block"}, {"*,block", "cyclic(2)"}, {"*,cyclic(90)", "*,cyclic(50)"}};
    const int n = INNER;
    fill(a, ROWS * INNER, 3);
    test_config(2); /* the first call decides how many devices the process has */
    for (size_t k = 0; k < sizeof maps / sizeof maps[0]; k++) {
        dcl_cluster *cluster = open_nodes(1 + (int)k % 2);
        dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, ROWS, INNER));
        dcl_array *B = test_array(cluster, maps[k][1], dcl_grid_2d(DCL_DOUBLE, ROWS, MOST));
        dcl_array *C = test_array(cluster, maps[k][0], dcl_grid_2d(DCL_DOUBLE, ROWS, MOST));
        const dcl_box inside = {.rank = 2, .start = {0, INNER}, .count = {ROWS, MOST - INNER}, .stride = {1, 1}};
        const int64_t start[] = {0, MOST - 1}, count[] = {ROWS, MOST}, stride[] = {1, -1};
        static double x[ROWS * MOST], y[ROWS * MOST];
        fill(x, ROWS * MOST, 5);
        TEST_OK(dcl_write(A, NULL, a, NULL));
        TEST_OK(dcl_write(B, NULL, x, NULL));
        TEST_OK(dcl_forall(cluster, "C(i,j) = j;", DCL_OUT(C)));
        dcl_array *V = dcl_slice(B, start, count, stride);
        cr_assert_not_null(V, "%s", dcl_error());
        TEST_OK(dcl_forall_over(cluster, &inside,
                                "double s = C(i,j);\nfor (long k = 0; k < n; k++)\n    s += A(i,k) * B(i,j-k);\n"
                                "for (int d = 0; d < 5; d++)\n    s -= B(i,j-d) * V(i,j-d-1);\nC(i,j) = s;",
                                DCL_INOUT(C), DCL_IN(A), DCL_IN(B), DCL_IN(V), DCL_VALUE(n)));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < MOST; j++) {
                double s = j;
                for (int t = 0; t < INNER && j >= INNER; t++)
                    s += a[i * INNER + t] * x[i * MOST + j - t];
                for (int d = 0; d < TAPS && j >= INNER; d++)
                    s -= x[i * MOST + j - d] * x[i * MOST + MOST - 1 - (j - d - 1)];
                y[i * MOST + j] = s;
            }
        TEST_OK(dcl_read(C, NULL, found, NULL));
        cr_expect_eq(memcmp(found, y, sizeof y), 0, "maps %zu", k);
        dcl_release(V);
        dcl_release(C);
        dcl_release(B);
        dcl_release(A);
        TEST_OK(dcl_close(cluster));
    }
}
