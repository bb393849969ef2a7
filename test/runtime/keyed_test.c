/* test/runtime/keyed_test.c - keyed reductions: the same bits on all nodes and under all maps, compared with sequential loops; keys
 * outside; wrong calls. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/sum.h"
#include "support/nodes.h"

TestSuite(keyed, .timeout = TEST_SECONDS);

enum { COUNT = 5003, KEYS = 50, LABELS = 7, AXES = 3, MANY = 20011 /* more than a work-item has of its own */ };

static int32_t bin[COUNT];
static float v[COUNT];
static double X[COUNT][AXES];

static float next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(int32_t)*state * 0x1p-22F;
}

static void fill(void)
{
    uint32_t state = 11;
    for (int i = 0; i < COUNT; i++) {
        float x = next(&state);
        bin[i] = (int32_t)(state >> 8) % KEYS;
        v[i] = ldexpf(x, bin[i] == 3 ? -140 : bin[i] % 2 == 0 ? 0 : (int)(state >> 5) % 40 - 20);
        for (int j = 0; j < AXES; j++)
            X[i][j] = ldexp((double)next(&state) + 0x1p-30, bin[i] % LABELS == 2   ? -1060
                                                            : bin[i] % LABELS == 5 ? 900 + 30 * j
                                                                                   : (int)(state >> 8) % 60 * (j + 1));
    }
    for (int i = 0; i < COUNT; i++)
        if (bin[i] == 7 || bin[i] == 8 || bin[i] == 9)
            v[i] = i % 64 == 0 ? bin[i] == 7 ? NAN : INFINITY : i % 64 == 1 && bin[i] == 9 ? -INFINITY : v[i];
}

/* What the reductions of a cluster have found. */
struct found {
    uint8_t n[KEYS];
    float s[KEYS], many[MANY];
    double S[LABELS][AXES], low[KEYS];
    int64_t bits[KEYS];
};

static void expect(struct found *right)
{
    static dcli_sum s[KEYS], S[LABELS][AXES], many[MANY];
    memset(right, 0, sizeof *right);
    for (int b = 0; b < KEYS; b++) {
        right->low[b] = INFINITY;
        dcli_sum_add(&s[b], 2.5);
    }
    for (int b = 0; b < MANY; b++)
        dcli_sum_add(&many[b], 2.5);
    for (int i = 0; i < COUNT; i++) {
        int b = bin[i], c = (b + i % 2) % KEYS, l = b % LABELS;
        right->n[b]++;
        right->n[c] = (uint8_t)(right->n[c] - 3);
        right->low[c] = right->low[c] != right->low[c] || v[i] != v[i] ? NAN : fmin(right->low[c], (double)v[i]);
        dcli_sum_add(&s[b], -(double)v[i]);
        right->bits[c] ^= i;
        dcli_sum_add(&many[(b * 977 + i) % MANY], (double)v[i]);
        dcli_sum_add(&many[b], (double)v[i]);
        for (int j = 0; j < AXES; j++)
            dcli_sum_add(&S[l][j], X[i][j]);
    }
    for (int b = 0; b < KEYS; b++)
        right->s[b] = (float)dcli_sum_round(&s[b], DCL_FLOAT);
    for (int b = 0; b < MANY; b++)
        right->many[b] = (float)dcli_sum_round(&many[b], DCL_FLOAT);
    for (int l = 0; l < LABELS; l++)
        for (int j = 0; j < AXES; j++)
            right->S[l][j] = dcli_sum_round(&S[l][j], DCL_DOUBLE);
}

static const char *const several = "int b = bin(i), c = (b + i % 2) % 50;\n"
                                   "n(b) += 1; n(c) -= 3; s(b) -= v(i); low(c) min= v(i);\n"
                                   "many((b * 977 + i) % 20011) += v(i); many(b) += v(i);\n"
                                   "if (i >= 0) bits(c) ^= i; else bits(0) ^= 1;\n";

static void reduce_all(dcl_cluster *cluster, const char *map, const char *other, struct found *found)
{
    static float begin[MANY];
    for (int b = 0; b < MANY; b++)
        begin[b] = 2.5F;
    dcl_array *bins = test_array(cluster, map, dcl_grid_1d(DCL_INT32, COUNT));
    dcl_array *values = test_array(cluster, other, dcl_grid_1d(DCL_FLOAT, COUNT));
    dcl_array *points = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, COUNT, AXES));
    dcl_array *n = test_array(cluster, other, dcl_grid_1d(DCL_UINT8, KEYS));
    dcl_array *s = test_array(cluster, map, dcl_grid_1d(DCL_FLOAT, KEYS));
    dcl_array *low = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, KEYS));
    dcl_array *bits = test_array(cluster, map, dcl_grid_1d(DCL_INT64, KEYS));
    dcl_array *turned = test_array(cluster, "*,block", dcl_grid_2d(DCL_DOUBLE, AXES, LABELS)),
              *S = dcl_transpose(turned);
    dcl_array *many = test_array(cluster, map, dcl_grid_1d(DCL_FLOAT, MANY));
    TEST_OK(dcl_write(bins, NULL, bin, NULL));
    TEST_OK(dcl_write(values, NULL, v, NULL));
    TEST_OK(dcl_write(points, NULL, X, NULL));
    TEST_OK(dcl_write(s, NULL, begin, NULL));
    TEST_OK(dcl_write(many, NULL, begin, NULL));
    TEST_OK(dcl_reduce(cluster, several, DCL_OUT(n), DCL_INOUT(s), DCL_OUT(low), DCL_OUT(bits), DCL_INOUT(many),
                       DCL_IN_AS("bin", bins), DCL_IN_AS("v", values)));
    TEST_OK(dcl_read(n, NULL, found->n, NULL));
    TEST_OK(dcl_read(s, NULL, found->s, NULL));
    TEST_OK(dcl_read(low, NULL, found->low, NULL));
    TEST_OK(dcl_read(bits, NULL, found->bits, NULL));
    TEST_OK(
        dcl_reduce(cluster, "S(bin(i) % 7, j) += X(i,j);", DCL_OUT(S), DCL_IN_AS("bin", bins), DCL_IN_AS("X", points)));
    TEST_OK(dcl_read(S, NULL, found->S, NULL));
    TEST_OK(dcl_read(many, NULL, found->many, NULL));
    dcl_array *made[] = {many, S, turned, bits, low, s, n, points, values, bins};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

/* Whether arrays of floating-point numbers are the same: bits of NaN may differ. */
static bool same_floats(int count, const float found[], const float right[])
{
    for (int k = 0; k < count; k++)
        if (memcmp(&found[k], &right[k], sizeof right[k]) != 0 && !(isnan(found[k]) && isnan(right[k])))
            return false;
    return true;
}

#define SAME(field) \
    cr_expect_eq(memcmp(found.field, right->field, sizeof right->field), 0, "%s: " #field " differs", maps[m][0])

static void same_on(dcl_cluster *cluster, const struct found *right, size_t count)
{
    static const char *const maps[][2] = {
        {"block", "cyclic(3)"}, {"cyclic(7)", "block"}, {"rows:cyclic(100)", "replicated"}};
    static struct found found;
    for (size_t m = 0; m < count; m++) {
        memset(&found, 0, sizeof found);
        reduce_all(cluster, maps[m][0], maps[m][1], &found);
        SAME(n);
        SAME(bits);
        SAME(S);
        cr_expect(same_floats(KEYS, found.s, right->s), "%s: s differs", maps[m][0]);
        cr_expect(same_floats(MANY, found.many, right->many), "%s: many differs", maps[m][0]);
        for (int b = 0; b < KEYS; b++)
            cr_expect(found.low[b] == right->low[b] || (isnan(found.low[b]) && isnan(right->low[b])), "%s: low %d",
                      maps[m][0], b);
    }
    TEST_OK(dcl_close(cluster));
}

static struct found right;

Test(keyed, same_bits_of_threads)
{
    fill();
    expect(&right);
    for (int nodes = 4; nodes >= 1; nodes /= 2) {
        dcl_config config = test_config(nodes);
        same_on(test_open(&config), &right, nodes < 3 ? nodes : 3);
    }
}

#ifdef TEST_DCL
Test(keyed, same_bits_of_processes)
{
    dcl_config config = test_config(3);
    fill();
    expect(&right);
    config.program = TEST_DCL;
    config.workers = "local:3";
    same_on(test_open(&config), &right, 3);
}
#endif

/* The operators that the tests above leave out, on one node, with keys below 0. */
Test(keyed, operators)
{
    enum { MOST = 300 };
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    int64_t low[] = {-2};
    int16_t product[4] = {1, 1, 1, 1}, found_product[4];
    uint32_t all[4], found_all[4];
    float high[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, found_high[4], values[MOST];
    dcl_grid keys = dcl_grid_1d(DCL_INT16, 4);
    keys.origin[0] = low[0];
    dcl_array *p = test_array(cluster, "block", keys);
    keys.type = DCL_UINT32;
    dcl_array *a = test_array(cluster, "block", keys);
    keys.type = DCL_FLOAT;
    dcl_array *h = test_array(cluster, "block", keys);
    dcl_array *x = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, MOST));
    for (int k = 0; k < 4; k++)
        all[k] = 0xfffff0ffU;
    TEST_OK(dcl_write(a, NULL, all, NULL));
    for (int i = 0; i < MOST; i++) {
        values[i] = (float)(i - 200) * 0.5F;
        int k = i % 3;
        product[k] = (int16_t)(product[k] * (i | 1));
        all[k] &= ~(1U << i % 32) | 1;
        high[k] = i == 10 ? NAN : isnan(high[k]) ? NAN : fmaxf(high[k], values[i]);
    }
    TEST_OK(dcl_write(x, NULL, values, NULL));
    TEST_OK(dcl_reduce(
        cluster, "long k = i % 3 - 2; p(k) *= i | 1; a(k) &= ~(1u << i % 32) | 1; h(k) max= i == 10 ? NAN : x(i);",
        DCL_OUT(p), DCL_INOUT(a), DCL_OUT(h), DCL_IN(x)));
    TEST_OK(dcl_read(p, NULL, found_product, NULL));
    TEST_OK(dcl_read(a, NULL, found_all, NULL));
    TEST_OK(dcl_read(h, NULL, found_high, NULL));
    for (int k = 0; k < 4; k++) {
        cr_expect_eq(found_product[k], product[k], "product %d is %d, expected %d", k, found_product[k], product[k]);
        cr_expect_eq(found_all[k], all[k], "all %d is %x, expected %x", k, found_all[k], all[k]);
        cr_expect(found_high[k] == high[k] || (isnan(found_high[k]) && isnan(high[k])), "high %d is %g, expected %g", k,
                  (double)found_high[k], (double)high[k]);
    }
    dcl_array *made[] = {x, h, a, p};
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
    TEST_OK(dcl_close(cluster));
}

/* Values with keys outside are left out and reported, in the array and at the next wait; the others are right. */
Test(keyed, keys_outside)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *H = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, KEYS));
    dcl_array *bins = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4));
    const int32_t keys[] = {3, KEYS, 3, 5}, ones[] = {1, 1, 1, 1};
    int32_t found[KEYS];
    TEST_OK(dcl_write(bins, NULL, keys, NULL));
    TEST_OK(dcl_reduce(cluster, "H(bin(i)) += i;", DCL_OUT(H), DCL_IN_AS("bin", bins)));
    TEST_REFUSED(dcl_read(H, NULL, found, NULL), DCL_ERR_RANGE, "H(50) was written, which is outside its grid");
    cr_expect(found[3] == 2 && found[5] == 3 && found[0] == 0, "%d, %d", (int)found[3], (int)found[5]);
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "the value was left out");
    dcl_clear_error(cluster);
    TEST_OK(dcl_write(bins, NULL, ones, NULL));
    TEST_OK(dcl_reduce(cluster, "H(bin(i)) += i;", DCL_OUT(H), DCL_IN_AS("bin", bins)));
    TEST_OK(dcl_read(H, NULL, found, NULL));
    cr_expect_eq(found[1], 6);
    dcl_release(bins);
    dcl_release(H);
    TEST_OK(dcl_close(cluster));
}

/* Kernels look at many keys at once before they reduce the values. */
Test(keyed, keys_outside_among_many)
{
    enum { LONG = 1000, OUTSIDE = 777 };
    static const int64_t origins[] = {0, 100, -7, INT64_C(1) << 30, -(INT64_C(1) << 31)};
    static const char *const bodies[] = {"H(bin(i)) += i;", "H(bin(i) + 0L) += i;"};
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *bins = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, LONG));
    for (size_t o = 0; o < sizeof origins / sizeof origins[0]; o++) {
        dcl_grid grid = dcl_grid_1d(DCL_INT32, KEYS);
        grid.origin[0] = origins[o];
        dcl_array *H = test_array(cluster, "block", grid);
        for (int outside = 0; outside < 4; outside++)
            for (size_t b = 0; b < sizeof bodies / sizeof bodies[0]; b++) {
                int32_t keys[LONG], found[KEYS], right[KEYS] = {0};
                for (int e = 0; e < LONG; e++) {
                    keys[e] = (int32_t)origins[o] + e * 7 % KEYS;
                    right[e * 7 % KEYS] += outside > 0 && e == OUTSIDE ? 0 : e;
                }
                if (outside > 0) /* below, above, and as far above as the type of keys has numbers */
                    keys[OUTSIDE] = (int32_t)(uint32_t)(origins[o] + (outside == 1   ? -1
                                                                      : outside == 2 ? KEYS
                                                                                     : INT32_MAX));
                TEST_OK(dcl_write(bins, NULL, keys, NULL));
                TEST_OK(dcl_reduce(cluster, bodies[b], DCL_OUT(H), DCL_IN_AS("bin", bins)));
                if (outside > 0)
                    TEST_REFUSED(dcl_read(H, NULL, found, NULL), DCL_ERR_RANGE, "which is outside its grid");
                else
                    TEST_OK(dcl_read(H, NULL, found, NULL));
                cr_expect_arr_eq(found, right, sizeof right, "origin %" PRId64 ", %d, %s", origins[o], outside,
                                 bodies[b]);
                dcl_clear_error(cluster);
            }
        dcl_release(H);
    }
    dcl_release(bins);
    TEST_OK(dcl_close(cluster));
}

/* ---- lines ----------------------------------------------------------------------------------------------------------- */

enum { LINES = 6007, WIDE = 19, GROUPS = 5, LOWEST = -2 };

static float Y[LINES][WIDE];
static int32_t group[LINES];

/* Column 1 has zeros, column 2 magnitudes that rise; some values are not finite. */
static void fill_lines(void)
{
    uint32_t state = 3;
    for (int i = 0; i < LINES; i++) {
        next(&state);
        group[i] = LOWEST + (int32_t)(state >> 8) % GROUPS;
        for (int j = 0; j < WIDE; j++) {
            float x = next(&state);
            Y[i][j] = j == 1 ? 0 : j == 2 ? ldexpf(x, i / 100) : x;
            if (i == LINES - 7 && j == 5)
                Y[i][j] = INFINITY;
            if (i == LINES - 5 && j == 6)
                Y[i][j] = NAN;
        }
    }
}

/* @param missing  rows of this group are left out; @param columns  of the output. */
static void expect_lines(int32_t missing, int columns, double right[GROUPS][WIDE])
{
    static dcli_sum sums[GROUPS][WIDE];
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < LINES; i++)
        for (int j = 0; j < columns && group[i] != missing; j++)
            dcli_sum_add(&sums[group[i] - LOWEST][j], -(double)Y[i][j]);
    for (int g = 0; g < GROUPS; g++)
        for (int j = 0; j < columns; j++)
            right[g][j] = dcli_sum_round(&sums[g][j], DCL_DOUBLE);
}

static void compare_lines(int groups, int columns, const double found[], double right[GROUPS][WIDE], const char *what)
{
    for (int g = 0; g < groups; g++)
        for (int j = 0; j < columns; j++) {
            double x = found[g * columns + j], y = right[g][j];
            cr_expect(memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)), "%s: (%d,%d) is %a, not %a", what, g, j,
                      x, y);
        }
}

/* Values that are added as vectors have the bits of values that are added one by one, also beside keys outside: those of whole lines,
 * those of the ends of all lines. */
Test(keyed, lines)
{
    static double found[GROUPS * WIDE], right[GROUPS][WIDE];
    static const int nodes[] = {3, 1}; /* the first cluster decides how many devices there are */
    fill_lines();
    for (int n = 0; n < 2; n++) {
        dcl_config config = test_config(nodes[n]);
        dcl_cluster *cluster = test_open(&config);
        dcl_grid all = dcl_grid_2d(DCL_DOUBLE, GROUPS, WIDE), fewer = dcl_grid_2d(DCL_DOUBLE, GROUPS - 1, WIDE),
                 narrow = dcl_grid_2d(DCL_DOUBLE, GROUPS, WIDE - 2);
        all.origin[0] = fewer.origin[0] = narrow.origin[0] = LOWEST;
        dcl_array *y = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, LINES, WIDE)),
                  *g = test_array(cluster, "cyclic(7)", dcl_grid_1d(DCL_INT32, LINES));
        TEST_OK(dcl_write(y, NULL, Y, NULL));
        TEST_OK(dcl_write(g, NULL, group, NULL));
        const dcl_grid grids[] = {all, fewer, narrow};
        for (int k = 0; k < 3; k++) {
            dcl_array *S = test_array(cluster, "block", grids[k]);
            TEST_OK(dcl_reduce(cluster, "S(g(i), j) -= Y(i,j);", DCL_OUT(S), DCL_IN(g), DCL_IN_AS("Y", y)));
            dcl_status status = dcl_read(S, NULL, found, NULL);
            cr_expect_eq(status, k == 0 ? DCL_OK : DCL_ERR_RANGE, "%s", dcl_error());
            expect_lines(k == 1 ? LOWEST + GROUPS - 1 : LOWEST - 1, (int)grids[k].extent[1], right);
            compare_lines((int)grids[k].extent[0], (int)grids[k].extent[1], found, right,
                          k == 0   ? "all"
                          : k == 1 ? "a group is missing"
                                   : "columns are missing");
            dcl_clear_error(cluster);
            dcl_release(S);
        }
        dcl_release(g);
        dcl_release(y);
        TEST_OK(dcl_close(cluster));
    }
}

/* A key that is a macro may depend on the last index, and go outside in the middle of a line. */
Test(keyed, lines_with_macros)
{
    enum { ROWS = 200 };
    static int32_t ones[ROWS][WIDE], found[2][WIDE];
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < WIDE; j++)
            ones[i][j] = 1;
    dcl_array *x = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, ROWS, WIDE)),
              *S = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, 2, WIDE)),
              *T = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, 2, WIDE));
    TEST_OK(dcl_write(x, NULL, ones, NULL));
    TEST_OK(dcl_reduce(cluster, "S(FAR, j) += x(i,j);", DCL_OUT(S), DCL_IN(x),
                       DCL_PRELUDE("#define FAR (j == 9 ? 1 << 28 : j % 2)\n")));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "S(268435456, 9) was written, which is outside its grid");
    dcl_clear_error(cluster);
    TEST_OK(dcl_forall(cluster, "T(i,j) = (int)S(i,j);", DCL_OUT(T), DCL_IN(S)));
    TEST_OK(dcl_read(T, NULL, found, NULL));
    for (int j = 0; j < WIDE; j++)
        cr_expect(found[0][j] == (j % 2 == 0 ? ROWS : 0) && found[1][j] == (j % 2 == 1 && j != 9 ? ROWS : 0), "%d", j);
    dcl_release(T);
    dcl_release(S);
    dcl_release(x);
    TEST_OK(dcl_close(cluster));
}

/* An output without elements has no keys, and lets no other output fail. An input without elements gives neutral elements. */
Test(keyed, empty_arrays)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *Z = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 0)),
              *H = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 2)),
              *bins = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 3)),
              *none = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 0));
    const int32_t keys[] = {0, 1, 1};
    int32_t found[2] = {9, 9};
    TEST_OK(dcl_write(bins, NULL, keys, NULL));
    TEST_OK(dcl_reduce(cluster, "if (bin(i) > 5) Z(bin(i)) += 1; H(bin(i)) += 1;", DCL_OUT(Z), DCL_OUT(H),
                       DCL_IN_AS("bin", bins)));
    TEST_OK(dcl_read(H, NULL, found, NULL));
    cr_expect(found[0] == 1 && found[1] == 2, "%d, %d", (int)found[0], (int)found[1]);
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_reduce(cluster, "if (bin(i) > 5) Z(bin(i)) += 1; H(bin(i)) += 1;", DCL_OUT(Z), DCL_OUT(H),
                       DCL_IN_AS("bin", none)));
    TEST_OK(dcl_read(H, NULL, found, NULL));
    cr_expect(found[0] == 0 && found[1] == 0, "%d, %d", (int)found[0], (int)found[1]);
    TEST_OK(dcl_reduce(cluster, "Z(bin(i)) += 1;", DCL_OUT(Z), DCL_IN_AS("bin", bins)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "which is outside its grid");
    dcl_clear_error(cluster);
    dcl_array *made[] = {none, bins, H, Z};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}

/* ---- wrong calls --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *body;
    dcl_status status;
    const char *words;
} wrong_bodies[] = {
    {"H(x(i)) += 1;", DCL_ERR_BODY, "a key of H is of type float"},
    {"H(x(i) * 2) += 1;", DCL_ERR_BODY, "invalid operands to binary expression"},
    {"H(b(i), 0) += 1;", DCL_ERR_BODY, "H has 2 subscripts here; expected 1"},
    {"H(b(i) + j) += x(i); H(j) += 1;", DCL_ERR_BODY, "the range of index j is unknown"},
    {"H(b(i)) = 1;", DCL_ERR_BODY, "H is reduced; expected a statement H(...) += ..."},
    {"H(b(i)) += 1; int c = H(0);", DCL_ERR_BODY, "its elements are known only after the call"},
    {"H(b(i)) += 1; H(0) max= 1;", DCL_ERR_BODY, "by another operator before"},
    {"H(b(i)) += 1, 2;", DCL_ERR_BODY, "has a comma"},
    {"H(b(i) += 1;", DCL_ERR_BODY, "is not closed"},
    {"H(b(2*i)) += 1;", DCL_ERR_BODY, "the range of index i is unknown"},
    {"H(b(i)) += x(i+j);", DCL_ERR_BODY, "the range of index j is unknown"},
    {"H() += b(i);", DCL_ERR_BODY, "H has 0 subscripts here"},
};

Test(keyed, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *H = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 9)),
              *b = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 9));
    dcl_array *x = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 9)),
              *f = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 9));
    for (size_t n = 0; n < sizeof wrong_bodies / sizeof wrong_bodies[0]; n++) {
        TEST_REFUSED(dcl_reduce(cluster, wrong_bodies[n].body, DCL_OUT(H), DCL_IN(b), DCL_IN(x)),
                     wrong_bodies[n].status, wrong_bodies[n].words);
        dcl_clear_error(cluster);
    }
    TEST_REFUSED(dcl_reduce(cluster, "H(b(i)) += 1;", DCL_OUT(H), DCL_OUT(f), DCL_IN(b)), DCL_ERR_BODY,
                 "f is an output, but the body does not reduce into it");
    dcl_clear_error(cluster);
    TEST_REFUSED(dcl_reduce(cluster, "f(b(i)) *= 2;", DCL_OUT(f), DCL_IN(b)), DCL_ERR_BODY, "or for integers also *=");
    dcl_clear_error(cluster);
    TEST_REFUSED(dcl_reduce(cluster, "H(b(i)) += 1;", DCL_OUT(H), DCL_IN_AS("b", H)), DCL_ERR_INVALID,
                 "H and b are the same array");
    dcl_clear_error(cluster);
    TEST_REFUSED(dcl_reduce(cluster, "H(b(i)) += 1;", DCL_OUT(H), DCL_IN_ROWS(b)), DCL_ERR_INVALID,
                 "a reduction into arrays takes");
    dcl_clear_error(cluster);
    dcl_array *made[] = {f, x, b, H};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    dcl_close(cluster);
}

/* explain agrees with the counters. On two nodes, each gets half of the partial results of the other one. */
Test(keyed, explained)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *H = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, KEYS));
    dcl_array *bins = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, COUNT));
    const dcl_arg args[] = {DCL_OUT(H), DCL_IN_AS("bin", bins)};
    const dcl_call call = dcl_call_reduction(cluster, NULL, "H(bin(i)) += i;", 2, args);
    dcl_counters planned, before, after;
    int64_t moved = 0;
    TEST_OK(dcl_wait(cluster));
    for (int n = 0; n < 2; n++) {
        TEST_OK(dcl_call_explain(&call, n, &planned));
        before = test_counters(cluster, n);
        TEST_OK(dcl_call_run(&call));
        TEST_OK(dcl_wait(cluster));
        after = test_counters(cluster, n);
        cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "node %d: %" PRId64, n,
                     after.bytes_moved - before.bytes_moved);
        cr_expect_eq(after.tasks - before.tasks, planned.tasks, "node %d", n);
        moved += planned.bytes_moved;
    }
    cr_expect_eq(moved, KEYS * 8, "%" PRId64, moved);
    dcl_release(bins);
    dcl_release(H);
    TEST_OK(dcl_close(cluster));
}

/* So many large summands for one element that a work-item's own sum would overflow without carries. */
Test(keyed, carries)
{
    enum { MANY_TIMES = 3000000, WIDTH = 8 };
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 2));
    dcl_array *x = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, MANY_TIMES));
    double found[2];
    TEST_OK(dcl_forall(cluster, "x(i) = 562949953421311.0;", DCL_OUT(x))); /* 2^49 - 1: the most units of a bin */
    TEST_OK(dcl_reduce(cluster, "s(i % 2) += i % 2 == 0 ? x(i) : -x(i);", DCL_OUT(s), DCL_IN(x)));
    TEST_OK(dcl_read(s, NULL, found, NULL));
    const double right_sum = (double)(INT64_C(562949953421311) * 8192) * (MANY_TIMES / 2) / 8192;
    cr_expect(fabs(found[0] - right_sum) <= right_sum * 0x1p-52 && found[1] == -found[0],
              "%.17g, %.17g; expected %.17g", found[0], found[1], right_sum);
    dcl_release(x);
    dcl_release(s);
    double line[WIDTH], right_line = 562949953421311.0 * (MANY_TIMES / WIDTH);
    s = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, 1, WIDTH));
    x = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, MANY_TIMES / WIDTH, WIDTH));
    TEST_OK(dcl_forall(cluster, "x(i,j) = 562949953421311.0;", DCL_OUT(x)));
    TEST_OK(dcl_reduce(cluster, "s(0, j) += j % 2 == 0 ? x(i,j) : -x(i,j);", DCL_OUT(s), DCL_IN(x)));
    TEST_OK(dcl_read(s, NULL, line, NULL));
    for (int j = 0; j < WIDTH; j++)
        cr_expect(fabs(fabs(line[j]) - right_line) <= right_line * 0x1p-52 && (line[j] > 0) == (j % 2 == 0),
                  "%d: %.17g; expected %.17g", j, line[j], right_line);
    dcl_release(x);
    dcl_release(s);
    TEST_OK(dcl_close(cluster));
}
