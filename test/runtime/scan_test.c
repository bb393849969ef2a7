/* test/runtime/scan_test.c - scans along each axis: the same bits on all nodes and under all maps, compared with plain loops over
 * blocks and leaves; wrong calls. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(scan, .timeout = TEST_SECONDS);

enum { BLOCK = 16 };

/* ---- the oracle ---------------------------------------------------------------------------------------------------- */

/* A grid of up to four axes, of which one is scanned: `outer` groups of `length` elements, `inner` apart. */
struct shape {
    int64_t outer, length, inner;
};

static int64_t leaf_of(int64_t length)
{
    int64_t leaf = 1024;
    while (length > 1024 * leaf)
        leaf *= 2;
    return leaf;
}

/* + and *, < and > for minimum and maximum; a NaN wins. */
static double join(char sign, double a, double b)
{
    switch (sign) {
    case 'm':
        return a == 0 ? b : b == 0 ? a : a + 0.5 * b;
    case '+':
        return a + b;
    case '*':
        return a * b;
    default:
        if (isnan(a) || isnan(b))
            return NAN;
        if (a == b)
            return (sign == '<') == (signbit(a) != 0) ? a : b;
        return (sign == '<') == (a < b) ? a : b;
    }
}

/* Scan one line of a leaf: 16 elements at once, each combined with what is 1, 2, 4, 8 before it. @param own  of the leaf so far. */
static void scan_block(char sign, int count, const double *in, int64_t step, double before, double *own, double out[])
{
    double value[BLOCK], next[BLOCK];
    for (int e = 0; e < count; e++)
        value[e] = in[e * step];
    for (int d = 1; d < BLOCK; d *= 2) {
        for (int e = 0; e < count; e++)
            next[e] = e >= d ? join(sign, value[e - d], value[e]) : value[e];
        memcpy(value, next, sizeof value);
    }
    for (int e = 0; e < count; e++)
        out[e] = join(sign, before, join(sign, *own, value[e]));
    *own = join(sign, *own, value[count - 1]);
}

static void scan_doubles(struct shape shape, char sign, bool exclusive, const double *in, double *out)
{
    double neutral = sign == '+' || sign == 'm' ? 0 : sign == '*' ? 1 : sign == '<' ? INFINITY : -INFINITY;
    double none = sign == '+' ? -0.0 : neutral; /* changes nothing */
    int64_t leaf = leaf_of(shape.length), inner = shape.inner;
    for (int64_t n = 0; n < shape.outer * inner; n++) {
        int64_t base = n / inner * shape.length * inner + n % inner;
        double before = neutral, own = none, last = neutral, block[BLOCK];
        for (int64_t e = 0; e < shape.length; e += BLOCK) {
            int count = (int)(shape.length - e < BLOCK ? shape.length - e : BLOCK);
            if (e > 0 && e % leaf == 0) {
                before = join(sign, before, own);
                own = none;
            }
            scan_block(sign, count, in + base + e * inner, inner, before, &own, block);
            for (int b = 0; b < count; b++) {
                out[base + (e + b) * inner] = exclusive ? last : block[b];
                last = block[b];
            }
        }
    }
}

static double *draw(int64_t count)
{
    double *values = malloc((size_t)count * sizeof *values);
    uint64_t state = 7;
    for (int64_t e = 0; e < count; e++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        values[e] = (double)(int64_t)state * 0x1p-60 / 3;
    }
    return values;
}

static void expect_same(int64_t count, const double *found, const double *right, const char *what)
{
    for (int64_t e = 0; e < count; e++)
        if (memcmp(&found[e], &right[e], sizeof *found) != 0 && !(isnan(found[e]) && isnan(right[e]))) {
            cr_expect(false, "%s: element %ld is %a, expected %a", what, (long)e, found[e], right[e]);
            return;
        }
}

/* ---- all maps --------------------------------------------------------------------------------------------------------- */

enum { LONG = 9000, ROWS = 35, COLUMNS = 2100 };

/* Scan doubles in an array of a grid with P(...) and A(...) in `text`, and compare. */
static void scan_and_compare(dcl_cluster *cluster, const char *map, dcl_grid grid, struct shape shape, const char *text,
                             const char *along, char sign, bool exclusive)
{
    int64_t count = dcl_grid_count(&grid);
    double *values = draw(count), *found = calloc((size_t)count + 1, sizeof *found);
    double *right = calloc((size_t)count + 1, sizeof *right);
    dcl_array *A = test_array(cluster, map, grid), *P = test_array(cluster, map, grid);
    char what[160];
    snprintf(what, sizeof what, "%d nodes, %s, %s along %s", dcl_node_count(cluster), map, text, along);
    TEST_OK(dcl_write(A, NULL, values, NULL));
    if (exclusive)
        TEST_OK(dcl_scan(cluster, text, DCL_OUT(P), DCL_IN(A), dcl_arg_array(DCL_ACCESS_ALONG, along, NULL),
                         DCL_EXCLUSIVE));
    else
        TEST_OK(dcl_scan(cluster, text, DCL_OUT(P), DCL_IN(A), dcl_arg_array(DCL_ACCESS_ALONG, along, NULL)));
    TEST_OK(dcl_read(P, NULL, found, NULL));
    scan_doubles(shape, sign, exclusive, values, right);
    expect_same(count, found, right, what);
    dcl_release(P);
    dcl_release(A);
    free(values);
    free(found);
    free(right);
}

static void scan_on(const dcl_config *config, int most_maps)
{
    static const char *const lines[] = {"block", "cyclic", "cyclic(700)", "block;tile=1500", "replicated"};
    static const char *const squares[] = {"block,*", "*,block", "rows:cyclic(3x7)", "cyclic,*",
                                          "block,block;tile=20x900"};
    dcl_cluster *cluster = test_open(config);
    dcl_grid line = dcl_grid_1d(DCL_DOUBLE, LONG), wide = dcl_grid_2d(DCL_DOUBLE, ROWS, COLUMNS);
    dcl_grid high = dcl_grid_2d(DCL_DOUBLE, COLUMNS, ROWS);
    for (int m = 0; m < most_maps; m++) {
        scan_and_compare(cluster, lines[m], line, (struct shape){1, LONG, 1}, "P(i) += A(i);", "i", '+', false);
        scan_and_compare(cluster, squares[m], wide, (struct shape){ROWS, COLUMNS, 1}, "P(i,j) += A(i,j);", "j", '+',
                         true);
        scan_and_compare(cluster, squares[m], high, (struct shape){1, COLUMNS, ROWS}, "P(i,j) += A(i,j);", "i", '+',
                         false);
    }
    TEST_OK(dcl_close(cluster));
}

Test(scan, same_bits_of_threads)
{
    for (int nodes = 3; nodes >= 1; nodes--) { /* the first call asks for the devices of all */
        dcl_config config = test_config(nodes);
        scan_on(&config, 5);
    }
}

#ifdef TEST_DCL
Test(scan, same_bits_of_processes)
{
    dcl_config config = test_config(2);
    config.workers = "local:2";
    config.program = TEST_DCL;
    scan_on(&config, 3);
}
#endif

/* An operator of the program, and an input of which nodes retain what they get: explain agrees with the counters. */
Test(scan, own_operator)
{
    static double values[LONG], right[LONG], found[LONG];
    static const char mix[] = "double mix(double a, double b) { return a == 0 ? b : b == 0 ? a : a + 0.5 * b; }";
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "replicated;tile=2", dcl_grid_1d(DCL_DOUBLE, LONG));
    dcl_array *P = test_array(cluster, "rows:cyclic;block=300", dcl_grid_1d(DCL_DOUBLE, LONG));
    for (int e = 0; e < LONG; e++)
        values[e] = ldexp(e % 37 + 1, e % 11);
    TEST_OK(dcl_write(A, NULL, values, NULL));
    scan_doubles((struct shape){1, LONG, 1}, 'm', true, values, right);
    dcl_counters planned, before, after;
    const dcl_call call = *DCL_CALL_SCAN(cluster, "P(i) mix= A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"),
                                         DCL_EXCLUSIVE, DCL_OPERATOR("mix", "0"), DCL_PRELUDE(mix));
    TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_read(P, NULL, found, NULL));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    expect_same(LONG, found, right, "an operator of the program");
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    TEST_REFUSED(dcl_scan(cluster, "P(i) mix= A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"), DCL_OPERATOR("mix", "0"),
                          DCL_PRELUDE(mix), DCL_PRELUDE("#define lo 1")),
                 DCL_ERR_BODY, "the prelude defines the macro lo");
    TEST_REFUSED(dcl_scan(cluster, "P(i) mix= A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"), DCL_OPERATOR("mix", "0"),
                          DCL_OPERATOR("mix", "0"), DCL_PRELUDE(mix)),
                 DCL_ERR_INVALID, "DCL_OPERATOR is given twice");
    TEST_REFUSED(
        dcl_scan(cluster, "P(i) mix= A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"), DCL_OPERATOR("mix", "a+b")),
        DCL_ERR_INVALID, "the neutral element of operator mix is 'a+b'");
    TEST_REFUSED(dcl_scan(cluster, "P(i) mix= A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"),
                          DCL_OPERATOR("mix", "zero"), DCL_PRELUDE(mix)),
                 DCL_ERR_INVALID, "is 'zero', a name that neither OpenCL C nor a DCL_PRELUDE defines");
    TEST_REFUSED(dcl_scan(cluster, "P(i) += A(i) * ;", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_BODY,
                 "column 16: an operator has no right operand here");
    TEST_REFUSED(dcl_scan(cluster, "P(i) mix= A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"),
                          DCL_OPERATOR("mix_0123456789_0123456789_0123456789_0123456789_0123456789", "-1000"),
                          DCL_PRELUDE(mix)),
                 DCL_ERR_INVALID, "has 64 letters, with the neutral element; expected at most 63");
    dcl_release(P);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* A neutral element is a constant in all verbs: a number, or what a prelude defines outside of functions. */
Test(scan, neutral_elements_are_constants)
{
    static const struct {
        const char *prelude;
        dcl_status status;
    } cases[] = {{"/* none */", DCL_ERR_INVALID},
                 {"// none", DCL_ERR_INVALID},
                 {"float twice(float none) { return 2 * none; }", DCL_ERR_INVALID},
                 {"#define other none", DCL_ERR_INVALID},
                 {"struct pair { float some, none; };", DCL_ERR_INVALID},
                 {"#define none 0.0f", DCL_OK},
                 {"enum { some, none = 0 };", DCL_OK},
                 {"constant float none = 0;", DCL_OK}};
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    dcl_array *P = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
    const char *mix = "\nfloat mix(float a, float b) { return a + b; }",
               *const why = "is 'none', a name that neither OpenCL C nor a DCL_PRELUDE defines";
    float none = 0, s = 0;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        const char *prelude = cases[n].prelude, *words = cases[n].status == DCL_OK ? "" : why;
        TEST_REFUSED(dcl_scan(cluster, "P(i,j) mix= A(i,j);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("j"),
                              DCL_OPERATOR("mix", "none"), DCL_PRELUDE(prelude), DCL_PRELUDE(mix)),
                     cases[n].status, words);
        TEST_REFUSED(dcl_reduce(cluster, "y(i) mix= A(i,j);", DCL_OUT(y), DCL_IN(A), DCL_OPERATOR("mix", "none"),
                                DCL_PRELUDE(prelude), DCL_PRELUDE(mix)),
                     cases[n].status, words);
    }
    TEST_REFUSED(dcl_reduce(cluster, "y(i) mix= A(i,j);", DCL_OUT(y), DCL_IN(A), DCL_OPERATOR("mix", "none"),
                            DCL_PRELUDE(mix), DCL_VALUE(none)),
                 DCL_ERR_INVALID, why);
    TEST_REFUSED(dcl_reduce(cluster, "s mix= A(i,j);", DCL_RESULT(s), DCL_IN(A), DCL_OPERATOR("mix", "none"),
                            DCL_PRELUDE(mix), DCL_VALUE(none)),
                 DCL_ERR_INVALID, why);
    TEST_REFUSED(dcl_scan(cluster, "P(i,j) mix= A(i,j);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("j"),
                          DCL_OPERATOR("mix", "none"), DCL_PRELUDE(mix), DCL_VALUE(none)),
                 DCL_ERR_INVALID, "an argument, such as a DCL_VALUE, is not a constant");
    static const char *const operators[] = {"mix NONE", "mix FLT_MAXIMUM", "mix -INFINITY", "mix M_PI_F"};
    for (size_t n = 0; n < sizeof operators / sizeof operators[0]; n++)
        TEST_REFUSED(dcl_scan(cluster, "P(i,j) mix= A(i,j);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("j"),
                              dcl_arg_operator(operators[n]), DCL_PRELUDE(mix)),
                     n < 2 ? DCL_ERR_INVALID : DCL_OK, n < 2 ? "a name that neither OpenCL C nor a DCL_PRELUDE" : "");
    dcl_clear_error(cluster);
    dcl_release(y);
    dcl_release(P);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* Errors quote the text of the program, not what the library has made from it. */
Test(scan, errors_quote_the_program)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"P(i) max= A(i*i);",
         "column 14: '*' in subscript 1 of A is not affine: it multiplies an index by an index; use "
         "+ - * of indices, integer literals and integer DCL_VALUEs, or declare DCL_IN_ALL(A)\n"
         "P(i) max= A(i*i);\n             ^"},
        {"P(i) += A(i) * foo;", "\nP(i) += A(i) * foo;\n               ^"},
        {"P(i) += A(i)->x;", "line 1, column 15: member reference type 'float' is not a pointer\nP(i) += A(i)->x;\n"},
    };
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 100));
    dcl_array *P = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 100));
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        TEST_REFUSED(dcl_scan(cluster, cases[n].text, DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_BODY,
                     cases[n].words);
        TEST_REFUSED(dcl_status_of(cluster), DCL_ERR_BODY, cases[n].words);
        dcl_clear_error(cluster);
    }
    TEST_OK(dcl_scan(cluster, "\nP(i) += A(i+1);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "`P(i) += A(i+1);`: node 0: A(100) was read");
    dcl_clear_error(cluster);
    /* a report of a scan that comes when another scan has the same value */
    TEST_OK(dcl_scan(cluster, "P(i) *= A(i+1);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")));
    TEST_OK(dcl_scan(cluster, "P(i) += A(i+1);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "`P(i) *= A(i+1);`: node 0: A(100) was read");
    dcl_clear_error(cluster);
    TEST_OK(dcl_scan(cluster, "/* two\n lines */ P(i) /* = */ max= // of\r\n A(i+1) ; // end", DCL_OUT(P), DCL_IN(A),
                     DCL_ALONG("i")));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "`/* two`: node 0: A(100) was read");
    dcl_clear_error(cluster);
    dcl_release(P);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* A scan is right, and explain agrees with the counters. @param turned  the lines of the output are columns of the input */
static void scan_is_explained(const char *body, bool turned, const char *input_map, const char *output_map)
{
    enum { LINES = 3, LENGTH = 2500 };
    static int64_t values[LENGTH * LINES], right[LINES][LENGTH], found[LINES][LENGTH];
    dcl_config config = test_config(4);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A =
        test_array(cluster, input_map, dcl_grid_2d(DCL_INT64, turned ? LENGTH : LINES, turned ? LINES : LENGTH));
    dcl_array *P = test_array(cluster, output_map, dcl_grid_2d(DCL_INT64, LINES, LENGTH));
    for (int i = 0; i < LINES; i++)
        for (int j = 0; j < LENGTH; j++) {
            int64_t value = (i + 7 * j) % 31;
            values[turned ? j * LINES + i : i * LENGTH + j] = value;
            right[i][j] = value + (j > 0 ? right[i][j - 1] : 0);
        }
    TEST_OK(dcl_write(A, NULL, values, NULL));
    dcl_counters planned, before, after;
    const dcl_call call = *DCL_CALL_SCAN(cluster, body, DCL_OUT(P), DCL_IN(A), DCL_ALONG("j"));
    TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_read(P, NULL, found, NULL));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(memcmp(found, right, sizeof right), 0);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.blocks_moved - before.blocks_moved, planned.blocks_moved);
    dcl_release(P);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* The values are stored as the output lies, and two operations read them: no node retains what it gets for the first one. */
Test(scan, output_with_a_halo) { scan_is_explained("P(i,j) += A(j,i);", true, "block", "cyclic;halo=0:3,1:2"); }

/* Two operations read the input: no node retains what it gets for the first one. */
Test(scan, input_with_a_halo) { scan_is_explained("P(i,j) += A(i,j);", false, "*,cyclic;halo=0:0,1:2", "*,block"); }

/* An axis whose leaves are longer. */
Test(scan, long_axis)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    int64_t length = (1 << 20) + 5000;
    scan_and_compare(cluster, "block", dcl_grid_1d(DCL_DOUBLE, length), (struct shape){1, length, 1}, "P(i) += A(i);",
                     "i", '+', false);
    TEST_OK(dcl_close(cluster));
}

/* Each axis of four, the indices in another order than the letters'; short and empty axes; products. */
Test(scan, axes)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    const int64_t extent[] = {5, 1100, 3, 7}, origin[] = {2, -3, 5, 0};
    dcl_grid grid = {.type = DCL_DOUBLE, .rank = 4};
    memcpy(grid.extent, extent, sizeof extent);
    memcpy(grid.origin, origin, sizeof origin);
    static const char *const along[] = {"l", "k", "j", "i"};
    int64_t outer = 1, inner = 5 * 1100 * 3 * 7;
    for (int d = 0; d < 4; d++) {
        inner /= extent[d];
        scan_and_compare(cluster, d % 2 ? "*,block,*,*" : "block,*,*,*", grid, (struct shape){outer, extent[d], inner},
                         "P(l,k,j,i) *= A(l,k,j,i);", along[d], '*', d == 1);
        outer *= extent[d];
    }
    scan_and_compare(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 1), (struct shape){1, 1, 1}, "P(i) += A(i);", "i", '+',
                     false);
    scan_and_compare(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 0), (struct shape){1, 0, 1}, "P(i) += A(i);", "i", '+',
                     false);
    TEST_OK(dcl_close(cluster));
}

/* Values that no kernel of a scan computes: of other indices, arrays and types; the array of the results is a view. */
Test(scan, values)
{
    enum { N = 1000 };
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N)),
              *w = test_array(cluster, "cyclic", dcl_grid_1d(DCL_INT32, N));
    dcl_array *P = test_array(cluster, "cyclic(50)", dcl_grid_1d(DCL_INT64, N));
    dcl_array *M = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, 40, 60)), *T = dcl_transpose(M);
    dcl_array *S = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, 60, 40));
    int alpha = 3;
    static int64_t found[N], right;
    static int32_t square[40][60];
    TEST_OK(dcl_forall(cluster, "A(i) = i * i % 101 - 50;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, "w(i) = i % 7;", DCL_OUT(w)));
    TEST_OK(dcl_scan(cluster, "P(i) += twice(alpha) * A(i) * w(999 - i) + (i > 0 ? A(i - 1) : 0) + i;", DCL_OUT(P),
                     DCL_IN(A), DCL_IN(w), DCL_VALUE(alpha), DCL_ALONG("i"),
                     DCL_PRELUDE("int twice(int x) { return 2 * x; }")));
    TEST_OK(dcl_read(P, NULL, found, NULL));
    for (int i = 0; i < N; i++) {
        right += 6 * (i * i % 101 - 50) * ((N - 1 - i) % 7) + (i > 0 ? (i - 1) * (i - 1) % 101 - 50 : 0) + i;
        cr_assert_eq(found[i], right, "element %d is %lld, expected %lld", i, (long long)found[i], (long long)right);
    }
    TEST_OK(dcl_forall(cluster, "S(i,j) = i * j % 11 - 5;", DCL_OUT(S)));
    TEST_OK(dcl_scan(cluster, "T(i,j) += S(i,j);", DCL_OUT(T), DCL_IN(S), DCL_ALONG("i")));
    TEST_OK(dcl_read(M, NULL, square, NULL));
    for (int j = 0; j < 40; j++)
        for (int i = 0, sum = 0; i < 60; i++) {
            sum += i * j % 11 - 5;
            cr_assert_eq(square[j][i], sum, "%d,%d", i, j);
        }
    dcl_array *arrays[] = {S, T, M, P, w, A};
    for (size_t n = 0; n < sizeof arrays / sizeof arrays[0]; n++)
        dcl_release(arrays[n]);
    TEST_OK(dcl_close(cluster));
}

/* More tiles than the declarations of a call have room for, in one and in two dimensions. */
Test(scan, many_tiles)
{
    dcl_config config = test_config(2);
    config.tile_bytes = 512;
    dcl_cluster *cluster = test_open(&config);
    dcl_grid line = dcl_grid_1d(DCL_DOUBLE, 70000), square = dcl_grid_2d(DCL_DOUBLE, 300, 2100);
    scan_and_compare(cluster, "block", line, (struct shape){1, 70000, 1}, "P(i) += A(i);", "i", '+', false);
    scan_and_compare(cluster, "block", square, (struct shape){300, 2100, 1}, "P(i,j) += A(i,j);", "j", '+', false);
    TEST_OK(dcl_close(cluster));
}

/* Macros of a prelude: those that stand for an index, and those that have names of variables, components and indices in
 * generated code. */
Test(scan, macros)
{
    enum { N = 3000 };
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT64, N)),
              *P = test_array(cluster, "block", dcl_grid_1d(DCL_INT64, N));
    static int64_t found[N];
    int64_t sums[3] = {0};
    TEST_OK(dcl_forall(cluster, "A(i) = 1;", DCL_OUT(A)));
    static const struct {
        const char *text, *prelude;
    } cases[] = {
        {"P(i) += A(i) * IDX;", "#define IDX i\n"},
        {"P(i) += A(i) * 2;", "#define s 2.0\n#define v (\n#define last 3\n"},
        {"P(i) += A(i) * 3;", "#define even odd\n#define i 7\n"},
    };
    for (int n = 0; n < 3; n++) {
        TEST_OK(dcl_scan(cluster, cases[n].text, DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"), DCL_PRELUDE(cases[n].prelude)));
        TEST_OK(dcl_read(P, NULL, found, NULL));
        for (int i = 0; i < N; i++) {
            sums[n] += n == 0 ? i : n + 1;
            cr_assert_eq(found[i], sums[n], "%s: element %d is %lld, expected %lld", cases[n].text, i,
                         (long long)found[i], (long long)sums[n]);
        }
    }
    TEST_REFUSED(dcl_scan(cluster, "P(i) += A(i);", DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"),
                          DCL_PRELUDE("#define A_LONG 1\n#define scan_none 1\n")),
                 DCL_ERR_BODY, "prelude line 2, column 9: names that begin with scan_");
    dcl_release(P);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* Operators and types: integers wrap, a NaN and the sign of zero are kept. */
Test(scan, operators)
{
    enum { N = 1000 };
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    static int8_t bytes[N], product;
    static uint32_t words[N], bits;
    static float low[N];
    dcl_array *B = test_array(cluster, "block", dcl_grid_1d(DCL_INT8, N)),
              *U = test_array(cluster, "block", dcl_grid_1d(DCL_UINT32, N));
    dcl_array *F = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, N)),
              *G = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, N));
    TEST_OK(dcl_forall(cluster, "B(i) = 0;", DCL_OUT(B)));
    TEST_OK(dcl_scan(cluster, "B(i) *= i % 2 * 2 + 3 + (int)U(i);", DCL_OUT(B), DCL_IN(U), DCL_ALONG("i")));
    TEST_OK(dcl_read(B, NULL, bytes, NULL));
    product = 1;
    for (int i = 0; i < N; i++) {
        product = (int8_t)(uint8_t)((unsigned)product * (unsigned)(i % 2 * 2 + 3));
        cr_assert_eq(bytes[i], product, "element %d is %d, expected %d", i, bytes[i], product);
    }
    TEST_OK(dcl_scan(cluster, "U(i) ^= B(i);", DCL_OUT(U), DCL_IN(B), DCL_ALONG("i"), DCL_EXCLUSIVE));
    TEST_OK(dcl_read(U, NULL, words, NULL));
    for (int i = 0; i < N; bits ^= (uint32_t)bytes[i++])
        cr_assert_eq(words[i], bits, "element %d is %x, expected %x", i, words[i], bits);
    TEST_OK(dcl_forall(cluster, "F(i) = i < 5 ? 0.0f : i < 700 ? (i == 650 ? -0.0f : 0.0f) : i == 800 ? NAN : -1.0f;",
                       DCL_OUT(F)));
    TEST_OK(dcl_scan(cluster, "G(i) min= F(i);", DCL_OUT(G), DCL_IN(F), DCL_ALONG("i")));
    TEST_OK(dcl_read(G, NULL, low, NULL));
    for (int i = 0; i < N; i++)
        cr_assert(i >= 800   ? isnan(low[i])
                  : i >= 700 ? low[i] == -1
                             : low[i] == 0 && (signbit(low[i]) != 0) == (i >= 650),
                  "element %d is %a", i, (double)low[i]);
    TEST_OK(dcl_scan(cluster, "G(i) max= -F(i);", DCL_OUT(G), DCL_IN(F), DCL_ALONG("i"), DCL_EXCLUSIVE));
    TEST_OK(dcl_read(G, NULL, low, NULL));
    for (int i = 0; i < N; i++)
        cr_assert(i > 800   ? isnan(low[i])
                  : i == 0  ? low[i] == -INFINITY
                  : i > 700 ? low[i] == 1
                            : low[i] == 0 && (signbit(low[i]) == 0) == (i > 650),
                  "element %d is %a", i, (double)low[i]);
    dcl_array *arrays[] = {G, F, U, B};
    for (size_t n = 0; n < sizeof arrays / sizeof arrays[0]; n++)
        dcl_release(arrays[n]);
    TEST_OK(dcl_close(cluster));
}

/* ---- wrong calls ------------------------------------------------------------------------------------------------------ */

struct wrong_case {
    char text[64], along[4];
    dcl_status status;
    char words[80];
};

/* Whatever is wrong is named, and changes nothing. */
Test(scan, refused_texts)
{
    static const struct wrong_case cases[] = {
        {"P(i,j) += A(i,j);", "k", DCL_ERR_BODY, "no subscript of P is \"k\""},
        {"P(i) += A(i,j);", "i", DCL_ERR_BODY, "P has 1 subscript here; expected 2"},
        {"P(i,i) += A(i,i);", "i", DCL_ERR_BODY, "index i occurs twice"},
        {"P(i,j + 1) += A(i,j);", "i", DCL_ERR_BODY, "is no plain index"},
        {"A(i,j) += P(i,j);", "i", DCL_ERR_BODY, "a scan begins with its output"},
        {"P(i,j) = A(i,j);", "i", DCL_ERR_BODY, "no operator of a scan"},
        {"P(i,j) -= A(i,j);", "i", DCL_ERR_BODY, "no operator of a scan"},
        {"P(i,j) ^= A(i,j);", "i", DCL_ERR_BODY, "P is of a floating-point type"},
        {"P(i,j) += P(i,j);", "i", DCL_ERR_BODY, "cannot be read"},
        {"P(i,j) += ;", "i", DCL_ERR_BODY, "there is no value here"},
        {"P(i,j) += A(i,j), 1;", "i", DCL_ERR_BODY, "has a comma"},
        {"P(i,j) += A(i,j)", "i", DCL_ERR_BODY, "expected ;"},
        {"P(i,j) += A(i,j); P(i,j) += 1;", "i", DCL_ERR_BODY, "a scan has one statement"},
        {"P(i,j) += A(i,j) + scan_v[0];", "i", DCL_ERR_BODY, "names that begin with scan_"},
        {"P(i,j) += A(i,j) + nothing;", "i", DCL_ERR_BODY, "nothing"},
        {"P(i,j) += A(i);", "i", DCL_ERR_BODY, "A"},
    };
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4)),
              *P = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    float found[16];
    TEST_OK(dcl_forall(cluster, "A(i,j) = 1; P(i,j) = 7;", DCL_OUT(A), DCL_OUT(P)));
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        dcl_status status = dcl_scan(cluster, cases[n].text, DCL_OUT(P), DCL_IN(A),
                                     dcl_arg_array(DCL_ACCESS_ALONG, cases[n].along, NULL));
        cr_expect_eq(status, cases[n].status, "%s: %s", cases[n].text, dcl_error());
        cr_expect(strstr(dcl_error(), cases[n].words) != NULL, "%s: %s; expected %s", cases[n].text, dcl_error(),
                  cases[n].words);
        dcl_clear_error(cluster);
    }
    TEST_OK(dcl_read(P, NULL, found, NULL));
    for (int e = 0; e < 16; e++)
        cr_expect_eq(found[e], 7);
    dcl_release(P);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

Test(scan, refused_arguments)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4)),
              *P = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
    const char *text = "P(i) += A(i);";
    float s = 0;
    TEST_REFUSED(dcl_scan(cluster, text, DCL_OUT(P), DCL_IN(A)), DCL_ERR_INVALID, "DCL_ALONG is missing");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_OUT(P), DCL_IN(A), DCL_ALONG("i"), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "given twice");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_IN(P), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "expected one DCL_OUT");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_OUT(P), DCL_OUT(A), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "expected one output");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_INOUT(P), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_INVALID, "P is DCL_INOUT");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_RESULT_AS("P", &s), DCL_OUT(A), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "a scan takes");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_OUT(P), DCL_IN_AS("scan_A", A), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "choose another");
    TEST_REFUSED(dcl_scan(cluster, NULL, DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_INVALID, "body is NULL");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_OUT(P), dcl_arg_array(DCL_ACCESS_IN, NULL, A), DCL_ALONG("i")),
                 DCL_ERR_INVALID, "argument 1 has no name");
    TEST_REFUSED(dcl_scan(cluster, text, DCL_OUT_AS("P", A), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "P and A are the same array");
    TEST_REFUSED(dcl_forall(cluster, text, DCL_OUT(P), DCL_IN(A), DCL_ALONG("i")), DCL_ERR_INVALID,
                 "DCL_ALONG is an argument of a scan");
    TEST_REFUSED(dcl_forall(cluster, text, DCL_OUT(P), DCL_IN(A), DCL_EXCLUSIVE), DCL_ERR_INVALID,
                 "DCL_EXCLUSIVE is an argument");
    dcl_release(P);
    dcl_release(A);
    dcl_close(cluster);
}
