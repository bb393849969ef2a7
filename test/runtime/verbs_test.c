/* test/runtime/verbs_test.c - reductions that find indices, and other operators than sums: compared with plain loops, the same bits
 * on all nodes and under all maps; wrong calls. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(verbs, .timeout = TEST_SECONDS);

enum { ROWS = 45, COLUMNS = 131, MOST = 3 };

static const char *const maps[] = {"block", "rows:cyclic(3x7)", "cyclic", "*,block"};
enum { MAPS = sizeof maps / sizeof maps[0] };

static float A[ROWS][COLUMNS], B[COLUMNS][ROWS];
static uint64_t N[ROWS][COLUMNS];

/* Numbers with many equal ones. */
static void fill(void)
{
    uint32_t state = 5;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            state = state * 1664525 + 1013904223;
            A[i][j] = (float)((int)(state >> 24) - 128) * 0.25F;
            B[j][i] = (float)(state >> 16 & 63);
            N[i][j] = UINT64_MAX - (state >> 20 & 1023);
        }
}

/* Run a test on clusters of 1 to 3 nodes under all maps. */
static void everywhere(void (*test)(dcl_cluster *cluster, const char *map, const char *what))
{
    for (int nodes = MOST; nodes >= 1; nodes--) { /* the first call asks for the devices of all */
        dcl_config config = test_config(nodes);
        dcl_cluster *cluster = test_open(&config);
        for (int m = 0; m < MAPS; m++) {
            char what[64];
            snprintf(what, sizeof what, "%d nodes, %s", nodes, maps[m]);
            test(cluster, maps[m], what);
        }
        TEST_OK(dcl_close(cluster));
    }
}

static dcl_array *array_of(dcl_cluster *cluster, const char *map, dcl_grid grid, const void *elements)
{
    dcl_array *array = test_array(cluster, map, grid);
    TEST_OK(dcl_write(array, NULL, elements, NULL));
    return array;
}

/* ---- indices of minima and maxima ----------------------------------------------------------------------------------------- */

struct places {
    float high, low;
    uint64_t top, least;
    int64_t at_high[2], at_low[2], at_top[2], at_least[2];
};

/* Whether x comes before the best value so far, at a later index. */
static bool is_better(float x, float best, bool any, bool less)
{
    return !any || (!isnan(best) && (isnan(x) || (less ? x < best : x > best)));
}

static void set(int64_t at[2], int64_t i, int64_t j)
{
    at[0] = i;
    at[1] = j;
}

/* In a box: rows from `first` on, every `step`-th; of at_least the order of the indices is that of the text n(j,i). */
static struct places expected_places(int first, int step)
{
    struct places all = {.at_low = {-1, -1}, .low = INFINITY};
    bool any = false, any_low = false;
    for (int i = first; i < ROWS; i += step)
        for (int j = 0; j < COLUMNS; j++) {
            if (is_better(A[i][j], all.high, any, false)) {
                all.high = A[i][j];
                set(all.at_high, i, j);
            }
            if (A[i][j] > 3 && is_better(B[j][i], all.low, any_low, true)) {
                all.low = B[j][i];
                set(all.at_low, i, j);
                any_low = true;
            }
            if (!any || N[i][j] > all.top) {
                all.top = N[i][j];
                set(all.at_top, i, j);
            }
            if (!any || N[i][j] < all.least) {
                all.least = N[i][j];
                set(all.at_least, i, j);
            }
            any = true;
        }
    return all;
}

static bool same(float x, float y) { return x == y || (isnan(x) && isnan(y)); }

static bool is_at(const int64_t a[2], const int64_t b[2]) { return a[0] == b[0] && a[1] == b[1]; }

static struct places right, right_of_box;

static void find_places(dcl_cluster *cluster, const char *map, const char *what)
{
    dcl_array *a = array_of(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), A);
    dcl_array *b = array_of(cluster, "block", dcl_grid_2d(DCL_FLOAT, COLUMNS, ROWS), B);
    dcl_array *n = array_of(cluster, map, dcl_grid_2d(DCL_UINT64, ROWS, COLUMNS), N);
    dcl_box box = {.rank = 2, .start = {7, 0}, .count = {(ROWS - 7 + 2) / 3, COLUMNS}, .stride = {3, 1}};
    for (int part = 0; part < 2; part++) {
        struct places found, *other = part == 0 ? &right : &right_of_box;
        double sum;
        const char *text = "high max= a(i,j); sum += a(i,j); if (a(i,j) > 3) low min= b(j,i);";
        TEST_OK(dcl_reduce_over(cluster, part == 0 ? NULL : &box, text, DCL_RESULT_AS("high", &found.high),
                                DCL_RESULT_AT(found.at_high), DCL_RESULT_AS("sum", &sum),
                                DCL_RESULT_AS("low", &found.low), DCL_RESULT_AT(found.at_low), DCL_IN(a), DCL_IN(b)));
        TEST_OK(dcl_reduce_over(cluster, part == 0 ? NULL : &box, "top max= n(j,i); least min= n(j,i);",
                                DCL_RESULT_AS("top", &found.top), DCL_RESULT_AT(found.at_top),
                                DCL_RESULT_AS("least", &found.least), DCL_RESULT_AT(found.at_least), DCL_IN(n)));
        cr_expect(same(found.high, other->high) && is_at(found.at_high, other->at_high),
                  "%s: high %a at %d,%d, not %a at %d,%d", what, (double)found.high, (int)found.at_high[0],
                  (int)found.at_high[1], (double)other->high, (int)other->at_high[0], (int)other->at_high[1]);
        cr_expect(same(found.low, other->low) && is_at(found.at_low, other->at_low),
                  "%s: low %a at %d,%d, not %a at %d,%d", what, (double)found.low, (int)found.at_low[0],
                  (int)found.at_low[1], (double)other->low, (int)other->at_low[0], (int)other->at_low[1]);
        cr_expect(found.top == other->top && is_at(found.at_top, other->at_top), "%s: top at %d,%d", what,
                  (int)found.at_top[0], (int)found.at_top[1]);
        cr_expect(found.least == other->least && is_at(found.at_least, other->at_least), "%s: least at %d,%d", what,
                  (int)found.at_least[0], (int)found.at_least[1]);
    }
    dcl_release(n);
    dcl_release(b);
    dcl_release(a);
}

Test(verbs, places)
{
    fill();
    right = expected_places(0, 1);
    right_of_box = expected_places(7, 3);
    everywhere(find_places);
}

/* The first NaN; the sign of a zero; no index at all; an origin; more elements than a strip has. */
Test(verbs, special_places)
{
    enum { LENGTH = 10000 };
    static float x[LENGTH];
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_grid grid = dcl_grid_nd(DCL_FLOAT, 1, (int64_t[]){LENGTH}, (int64_t[]){-100});
    dcl_array *a = array_of(cluster, "cyclic(3000)", grid, x);
    float low, high;
    int64_t at_low[1], at_high[1];
    const char *text = "if (a(i) < 7) { low min= a(i); high max= a(i); }";
#define FIND()                                                                                  \
    TEST_OK(dcl_reduce(cluster, text, DCL_RESULT(low), DCL_RESULT_AT(at_low), DCL_RESULT(high), \
                       DCL_RESULT_AT(at_high), DCL_IN(a)))
    x[5000] = -0.0F;
    TEST_OK(dcl_write(a, NULL, x, NULL));
    FIND();
    cr_expect(at_low[0] == 4900 && at_high[0] == -100 && signbit(low), "%d %d", (int)at_low[0], (int)at_high[0]);
    for (int e = 0; e < LENGTH; e++)
        x[e] = 9;
    TEST_OK(dcl_write(a, NULL, x, NULL));
    FIND();
    cr_expect(at_low[0] == -1 && at_high[0] == -1 && low == INFINITY, "%d %d %a", (int)at_low[0], (int)at_high[0],
              (double)low);
    dcl_array *inner = a, *halo = array_of(cluster, "block;halo=2;periodic=*", grid, x);
    x[3] = -8;
    x[9000] = 5;
    TEST_OK(dcl_write(halo, NULL, x, NULL));
    a = halo; /* indices are numbered without the halo */
    FIND();
    cr_expect(at_low[0] == -97 && at_high[0] == 8900, "%d %d", (int)at_low[0], (int)at_high[0]);
    dcl_release(halo);
    a = inner;
    x[3] = 9;
    x[9000] = -INFINITY;
    TEST_OK(dcl_write(a, NULL, x, NULL));
    FIND();
    cr_expect(at_low[0] == 8900 && at_high[0] == 8900 && high == -INFINITY, "%d %d", (int)at_low[0], (int)at_high[0]);
    x[9999] = x[3001] = x[7000] = NAN;
    TEST_OK(dcl_write(a, NULL, x, NULL));
    text = "if (!(a(i) > 7)) { low min= a(i); high max= a(i); }";
    FIND();
    cr_expect(at_low[0] == 2901 && at_high[0] == 2901 && isnan(low) && isnan(high), "%d %d", (int)at_low[0],
              (int)at_high[0]);
#undef FIND
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* ---- values that are combined in order -------------------------------------------------------------------------------------- */

#define COMBINE \
    DCL_OPERATOR("combine", "0.0f"), DCL_PRELUDE("float combine(float a, float b) { return a + b + a * b * 0.01f; }")

/* Associative but for rounding: 1 + combine(a, b) / 100 is (1 + a / 100) (1 + b / 100). */
static float combine(float a, float b) { return a + b + a * b * 0.01F; }

static struct {
    float product[ROWS], combined[ROWS], columns[COLUMNS];
    double sum[ROWS];
    int32_t any[COLUMNS];
    int found, every;
} ordered;

static void expect_ordered(void)
{
    ordered.every = 1;
    for (int i = 0; i < ROWS; i++) {
        ordered.product[i] = 1;
        for (int j = 0; j < COLUMNS; j++) {
            ordered.product[i] *= 1 + A[i][j] / 97;
            ordered.combined[i] = combine(ordered.combined[i], A[i][j]);
            ordered.sum[i] += (double)A[i][j];
        }
    }
    for (int j = 0; j < COLUMNS; j++) {
        ordered.columns[j] = 5;
        ordered.any[j] = j % 4 == 1;
        for (int i = 0; i < ROWS; i++) {
            ordered.columns[j] = combine(ordered.columns[j], A[i][j]);
            ordered.any[j] |= A[i][j] > 31;
            ordered.found |= A[i][j] > 31 && j > 100;
            ordered.every &= !(A[i][j] > 0) || A[i][j] < 31;
        }
    }
}

static void combine_in_order(dcl_cluster *cluster, const char *map, const char *what)
{
    dcl_array *a = array_of(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), A);
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, ROWS));
    dcl_array *w = test_array(cluster, "cyclic", dcl_grid_1d(DCL_FLOAT, ROWS));
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, ROWS));
    dcl_array *z = test_array(cluster, "cyclic(9)", dcl_grid_1d(DCL_FLOAT, COLUMNS));
    dcl_array *f = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, COLUMNS));
    float product[ROWS], combined[ROWS], columns[COLUMNS];
    double sum[ROWS];
    int32_t any[COLUMNS];
    int found = 7, every = 7;
    TEST_OK(dcl_forall(cluster, "z(i) = 5; f(i) = i % 4 == 1 ? 8 : 0;", DCL_OUT(z), DCL_OUT(f)));
    TEST_OK(dcl_reduce(cluster, "y(i) *= 1 + a(i,j) / 97; w(i) combine= a(i,j); s(i) += a(i,j);", DCL_OUT(y),
                       DCL_OUT(w), DCL_OUT(s), DCL_IN(a), COMBINE));
    TEST_OK(dcl_reduce(cluster, "z(j) combine= a(i,j); if (a(i,j) > 31) f(j) any= 6;", DCL_INOUT(z), DCL_INOUT(f),
                       DCL_IN(a), COMBINE));
    TEST_OK(dcl_reduce(cluster, "if (j > 100) found any= a(i,j) > 31; if (a(i,j) > 0) every all= a(i,j) < 31;",
                       DCL_RESULT(found), DCL_RESULT(every), DCL_IN(a)));
    TEST_OK(dcl_read(y, NULL, product, NULL));
    TEST_OK(dcl_read(w, NULL, combined, NULL));
    TEST_OK(dcl_read(s, NULL, sum, NULL));
    TEST_OK(dcl_read(z, NULL, columns, NULL));
    TEST_OK(dcl_read(f, NULL, any, NULL));
    cr_expect_arr_eq(product, ordered.product, sizeof product, "%s: %a, not %a", what, (double)product[0],
                     (double)ordered.product[0]);
    cr_expect_arr_eq(combined, ordered.combined, sizeof combined, "%s: %a, not %a", what, (double)combined[0],
                     (double)ordered.combined[0]);
    cr_expect_arr_eq(columns, ordered.columns, sizeof columns, "%s: %a, not %a", what, (double)columns[0],
                     (double)ordered.columns[0]);
    cr_expect_arr_eq(sum, ordered.sum, sizeof sum, "%s", what);
    cr_expect_arr_eq(any, ordered.any, sizeof any, "%s: %d %d %d %d", what, any[0], any[1], any[2], any[3]);
    cr_expect(found == ordered.found && every == ordered.every, "%s: %d %d", what, found, every);
    dcl_release(f);
    dcl_release(z);
    dcl_release(s);
    dcl_release(w);
    dcl_release(y);
    dcl_release(a);
}

Test(verbs, in_order)
{
    fill();
    expect_ordered();
    cr_assert(ordered.found == 1 && ordered.every == 0);
    everywhere(combine_in_order);
}

/* ---- wrong calls ---------------------------------------------------------------------------------------------------------- */

struct wrong_case {
    char what[40];
    int which;
    dcl_status status;
    char words[72];
};

ParameterizedTestParameters(verbs, refused)
{
    static struct wrong_case cases[] = {
        {"the index of a sum", 0, DCL_ERR_BODY, "DCL_RESULT_AT follows s, which is no minimum or maximum"},
        {"an index without a result", 1, DCL_ERR_INVALID, "the argument before it is no DCL_RESULT"},
        {"an index without an array", 2, DCL_ERR_INVALID, "DCL_RESULT_AT has no array"},
        {"an index in a body", 3, DCL_ERR_INVALID, "argument 1 is DCL_RESULT_AT, which is for reductions"},
        {"a variable for indices along axes", 4, DCL_ERR_INVALID, "finds an index for each element"},
        {"an operator without a function", 5, DCL_ERR_BODY, "combine"},
        {"an operator that is a word", 6, DCL_ERR_INVALID, "a DCL_OPERATOR, is called 'while'"},
        {"a neutral element that is none", 7, DCL_ERR_INVALID, "neutral element of operator combine is '0; x'"},
        {"an operator of a body", 8, DCL_ERR_INVALID, "argument 1 is DCL_OPERATOR, which is for reductions"},
        {"an unknown operator for a value", 9, DCL_ERR_BODY, "min= max= any= all= or a DCL_OPERATOR"},
        {"an unknown operator", 10, DCL_ERR_BODY, "min= max= any= all= or a DCL_OPERATOR"},
        {"any of floats", 11, DCL_ERR_BODY, "expected an integer for any"},
        {"a product and a sum", 12, DCL_ERR_BODY, "s was reduced by another operator before"},
        {"two operators of a name", 13, DCL_ERR_INVALID, "are both called combine"},
        {"an operator by keys", 14, DCL_ERR_BODY, "an operator that keyed reductions do not have"},
        {"a neutral element that nobody defines", 16, DCL_ERR_INVALID,
         "is 'zero', a name that neither OpenCL C nor a DCL_PRELUDE"},
        {"an array with an operator's name", 15, DCL_ERR_INVALID, "are both called combine"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status call_wrongly(dcl_cluster *cluster, int which, dcl_array *a, dcl_array *y)
{
    double s;
    int64_t at[2];
    switch (which) {
    case 0:
        return dcl_reduce(cluster, "s += a(i,j);", DCL_RESULT(s), DCL_RESULT_AT(at), DCL_IN(a));
    case 1:
        return dcl_reduce(cluster, "s max= a(i,j);", DCL_RESULT_AT(at), DCL_RESULT(s), DCL_IN(a));
    case 2:
        return dcl_reduce(cluster, "s max= a(i,j);", DCL_RESULT(s), DCL_RESULT_AT((int64_t *)NULL), DCL_IN(a));
    case 3:
        return dcl_forall(cluster, "a(i,j) = 1;", DCL_OUT(a), DCL_RESULT_AT(at));
    case 4:
        return dcl_reduce(cluster, "y(i) max= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN(a));
    case 5:
        return dcl_reduce(cluster, "y(i) combine= a(i,j);", DCL_OUT(y), DCL_IN(a), DCL_OPERATOR("combine", "0"));
    case 6:
        return dcl_reduce(cluster, "y(i) while= a(i,j);", DCL_OUT(y), DCL_IN(a), DCL_OPERATOR("while", "0"));
    case 7:
        return dcl_reduce(cluster, "y(i) combine= a(i,j);", DCL_OUT(y), DCL_IN(a), DCL_OPERATOR("combine", "0; x"));
    case 8:
        return dcl_forall(cluster, "y(i) = 1;", DCL_OUT(y), COMBINE);
    case 9:
        return dcl_reduce(cluster, "s combined= a(i,j);", DCL_RESULT(s), DCL_IN(a), COMBINE);
    case 10:
        return dcl_reduce(cluster, "y(i) combined= a(i,j);", DCL_OUT(y), DCL_IN(a), COMBINE);
    case 11:
        return dcl_reduce(cluster, "y(i) any= a(i,j);", DCL_OUT(y), DCL_IN(a));
    case 12:
        return dcl_reduce(cluster, "s *= a(i,j); s += 1;", DCL_RESULT(s), DCL_IN(a));
    case 13:
        return dcl_reduce(cluster, "y(i) combine= a(i,j);", DCL_OUT(y), DCL_IN(a), COMBINE,
                          DCL_OPERATOR("combine", "1"));
    case 15:
        return dcl_reduce(cluster, "y(i) combine= combine(i,j);", DCL_OUT(y), COMBINE, DCL_IN_AS("combine", a));
    case 16:
        return dcl_reduce(cluster, "s combine= a(i,j);", DCL_RESULT(s), DCL_IN(a), DCL_OPERATOR("combine", "zero"));
    default:
        return dcl_reduce(cluster, "y((int)a(i,j)) combine= 1;", DCL_OUT(y), DCL_IN(a), COMBINE);
    }
}

ParameterizedTest(struct wrong_case *c, verbs, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
    cr_expect_eq(call_wrongly(cluster, c->which, a, y), c->status, "%s: %s", c->what, dcl_error());
    cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: %s; expected %s", c->what, dcl_error(), c->words);
    dcl_release(y);
    dcl_release(a);
    dcl_close(cluster);
}
