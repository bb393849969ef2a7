/* test/runtime/along_test.c - tests reductions along axes into arrays: they have the bits of sequential loops on any number
 * of nodes and under any map, explain agrees with the counters; wrong calls are refused. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/sum.h"
#include "support/nodes.h"

TestSuite(along, .timeout = TEST_SECONDS);

enum { ROWS = 29, COLUMNS = 43, INNER = 310, LAYERS = 3 };

static float A[ROWS][INNER], B[INNER][COLUMNS], C[ROWS][COLUMNS], x[INNER];
static double D[LAYERS][INNER][ROWS];
static int16_t N[ROWS][INNER];

static float next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(int32_t)*state * 0x1p-22F;
}

static void fill(void)
{
    uint32_t state = 5;
    for (int k = 0; k < INNER; k++) {
        x[k] = next(&state);
        for (int i = 0; i < ROWS; i++) {
            A[i][k] = ldexpf(next(&state), i == 3 ? -140 : (int)(state >> 8) % 40 - 20);
            N[i][k] = (int16_t)(state >> 16);
            for (int l = 0; l < LAYERS; l++)
                D[l][k][i] = ldexp((double)next(&state) + 0x1p-30, l == 2 ? -1060 : (int)(state >> 8) % 60 * (l + 1));
        }
        for (int j = 0; j < COLUMNS; j++)
            B[k][j] = next(&state);
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            C[i][j] = next(&state);
    N[4][7] = 0;
}

/* What the reductions of a cluster have found. */
struct found {
    float y[ROWS], product[COLUMNS][ROWS], most[INNER], added[ROWS];
    double sums[ROWS][LAYERS];
    int16_t wrapped[ROWS], least[ROWS];
    uint64_t count[ROWS];
};

static void expect(struct found *right)
{
    const float alpha = 0.7F;
    memset(right, 0, sizeof *right);
    for (int i = 0; i < ROWS; i++) {
        dcli_sum row = {0}, added = {0};
        dcli_sum_add(&added, 2.5);
        right->least[i] = INT16_MAX;
        for (int k = 0; k < INNER; k++) {
            dcli_sum_add(&row, (double)(A[i][k] * x[k]));
            dcli_sum_add(&added, -(double)A[i][k]);
            right->wrapped[i] = (int16_t)(right->wrapped[i] + N[i][k] * 3);
            right->least[i] = N[i][k] < right->least[i] ? N[i][k] : right->least[i];
            right->count[i] += N[i][k] > 100;
        }
        right->y[i] = (float)dcli_sum_round(&row, DCL_FLOAT);
        right->added[i] = (float)dcli_sum_round(&added, DCL_FLOAT);
        for (int j = 0; j < COLUMNS; j++) {
            right->product[j][i] = C[i][j];
            for (int k = 0; k < INNER; k++)
                right->product[j][i] = fmaf(alpha * A[i][k], B[k][j], right->product[j][i]);
        }
        for (int l = 0; l < LAYERS; l++) {
            dcli_sum sum = {0};
            for (int k = 0; k < INNER; k++)
                dcli_sum_add(&sum, D[l][k][i]);
            right->sums[i][l] = dcli_sum_round(&sum, DCL_DOUBLE);
        }
    }
    for (int k = 0; k < INNER; k++)
        for (int i = 0; i < ROWS; i++)
            right->most[k] = fmaxf(right->most[k], fabsf(A[i][k]));
}

static const char *const products = "P(j,i) += alpha * A(i,k) * B(k,j);";

static void reduce_all(dcl_cluster *cluster, const char *map, const char *other, struct found *found)
{
    dcl_array *a = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, INNER));
    dcl_array *b = test_array(cluster, other, dcl_grid_2d(DCL_FLOAT, INNER, COLUMNS));
    dcl_array *p = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, COLUMNS, ROWS)), *c = dcl_transpose(p);
    dcl_array *n = test_array(cluster, other, dcl_grid_2d(DCL_INT16, ROWS, INNER));
    dcl_array *d = test_array(cluster, "block", dcl_grid_3d(DCL_DOUBLE, LAYERS, INNER, ROWS));
    dcl_array *s = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, ROWS, LAYERS));
    dcl_array *v = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, INNER));
    dcl_array *y = test_array(cluster, "cyclic", dcl_grid_1d(DCL_FLOAT, ROWS));
    dcl_array *z = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, ROWS));
    dcl_array *m = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, INNER));
    dcl_array *w = test_array(cluster, "block", dcl_grid_1d(DCL_INT16, ROWS));
    dcl_array *l = test_array(cluster, "cyclic(2)", dcl_grid_1d(DCL_INT16, ROWS));
    dcl_array *u = test_array(cluster, "block", dcl_grid_1d(DCL_UINT64, ROWS));
    const float alpha = 0.7F;
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(b, NULL, B, NULL));
    TEST_OK(dcl_write(c, NULL, C, NULL));
    TEST_OK(dcl_write(n, NULL, N, NULL));
    TEST_OK(dcl_write(d, NULL, D, NULL));
    TEST_OK(dcl_write(v, NULL, x, NULL));
    TEST_OK(dcl_forall(cluster, "z(i) = 2.5f;", DCL_OUT(z)));
    TEST_OK(
        dcl_reduce(cluster, "y(i) += a(i,j) * v(j); z(i) -= a(i,j);", DCL_OUT(y), DCL_INOUT(z), DCL_IN(a), DCL_IN(v)));
    TEST_OK(dcl_read(y, NULL, found->y, NULL));
    TEST_OK(dcl_read(z, NULL, found->added, NULL));
    TEST_OK(
        dcl_reduce(cluster, products, DCL_INOUT_AS("P", p), DCL_IN_AS("A", a), DCL_IN_AS("B", b), DCL_VALUE(alpha)));
    TEST_OK(dcl_read(p, NULL, found->product, NULL));
    TEST_OK(dcl_reduce(cluster, "m(j) max= fabs(a(i,j));", DCL_OUT(m), DCL_IN(a)));
    TEST_OK(dcl_read(m, NULL, found->most, NULL));
    TEST_OK(dcl_reduce(cluster, "s(i,l) += d(l,k,i);", DCL_OUT(s), DCL_IN(d)));
    TEST_OK(dcl_read(s, NULL, found->sums, NULL));
    TEST_OK(dcl_reduce(cluster, "w(i) += n(i,k) * 3; least(i) min= n(i,k); if (n(i,k) > 100) count(i) += 1;",
                       DCL_OUT(w), DCL_OUT_AS("least", l), DCL_OUT_AS("count", u), DCL_IN(n)));
    TEST_OK(dcl_read(w, NULL, found->wrapped, NULL));
    TEST_OK(dcl_read(l, NULL, found->least, NULL));
    TEST_OK(dcl_read(u, NULL, found->count, NULL));
    dcl_array *made[] = {u, l, w, m, z, y, v, s, d, n, c, p, b, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

#define SAME(field) \
    cr_expect_eq(memcmp(found.field, right.field, sizeof right.field), 0, "%s: " #field " differs", what)

static void same_on(dcl_cluster *cluster, const struct found *expected)
{
    static const char *const maps[][2] = {
        {"block", "rows:cyclic(3x7)"}, {"rows:cyclic(3x7)", "*,block"}, {"cyclic;tile=5x4", "replicated"}};
    struct found right = *expected, found;
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        const char *what = maps[m][0];
        memset(&found, 0, sizeof found);
        reduce_all(cluster, what, maps[m][1], &found);
        SAME(y);
        SAME(added);
        SAME(product);
        SAME(most);
        SAME(sums);
        SAME(wrapped);
        SAME(least);
        SAME(count);
    }
    TEST_OK(dcl_close(cluster));
}

Test(along, same_bits_of_threads)
{
    struct found right;
    dcl_config config = test_config(2);
    fill();
    expect(&right);
    same_on(test_open(&config), &right);
}

#ifdef TEST_DCL
Test(along, same_bits_of_processes)
{
    static const char *const processes[] = {"local:3", "local:1"};
    struct found right;
    dcl_config config = test_config(3);
    fill();
    expect(&right);
    config.program = TEST_DCL;
    for (int n = 0; n < 2; n++) {
        config.workers = processes[n];
        same_on(test_open(&config), &right);
    }
}
#endif

/* Rows that kernels sum side by side, some of them with magnitudes or sums unlike those of their neighbours. */
enum { KINDS = 19, STRIP = 8192, LONG = STRIP + 131 };

static float row_value(int kind, int k, uint32_t *state)
{
    float value = next(state) / 512;
    bool later = k >= STRIP; /* kernels add as many values at once */
    switch (kind) {
    case 1: /* no value but zeros */
        return k % 3 == 0 ? -0.0F : 0;
    case 2: /* zeros first, then small numbers */
        return later ? ldexpf(value, -70) : 0;
    case 4: /* numbers that cancel, then small ones */
        return later ? ldexpf(value, -70) : k % 2 == 0 ? 3 : -3;
    case 5: /* all much larger than in other rows */
        return ldexpf(value, 80);
    case 6:
        return ldexpf(value, -120);
    case 9: /* larger later */
        return later ? ldexpf(value, 90) : value;
    case 11:
        return k == 77 ? NAN : value;
    case 12:
        return k == LONG - 1 ? INFINITY : value;
    case 13:
        return k == STRIP ? -INFINITY : k == 5 ? INFINITY : value;
    case 14: /* magnitudes that are far apart */
        return ldexpf(value, k % 50 - 25);
    case 16: /* one number */
        return k == STRIP + 70 ? 1.5F : 0;
    case 17: /* denormal numbers */
        return ldexpf(value, -140);
    default:
        return value;
    }
}

Test(along, unlike_rows_side_by_side)
{
    static float a[KINDS][LONG], y[KINDS];
    static double d[KINDS][LONG], w[KINDS];
    uint32_t state = 77;
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, KINDS, LONG));
    dcl_array *D = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, KINDS, LONG));
    dcl_array *Y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, KINDS));
    dcl_array *W = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, KINDS));
    for (int turn = 0; turn < 2; turn++) { /* from the beginning, and with the rows upside down */
        for (int i = 0; i < KINDS; i++)
            for (int k = 0; k < LONG; k++) {
                a[i][k] = row_value(turn == 0 ? i : KINDS - 1 - i, k, &state);
                d[i][k] = (double)a[i][k] * (1 + (double)k * 0x1p-40);
            }
        TEST_OK(dcl_write(A, NULL, a, NULL));
        TEST_OK(dcl_write(D, NULL, d, NULL));
        TEST_OK(dcl_reduce(cluster, "Y(i) += A(i,j);", DCL_OUT(Y), DCL_IN(A)));
        TEST_OK(dcl_reduce(cluster, "W(i) += D(i,j);", DCL_OUT(W), DCL_IN(D)));
        TEST_OK(dcl_read(Y, NULL, y, NULL));
        TEST_OK(dcl_read(W, NULL, w, NULL));
        for (int i = 0; i < KINDS; i++) {
            dcli_sum single = {0}, wide = {0};
            for (int k = 0; k < LONG; k++) {
                dcli_sum_add(&single, (double)a[i][k]);
                dcli_sum_add(&wide, d[i][k]);
            }
            float right = (float)dcli_sum_round(&single, DCL_FLOAT);
            double exact = dcli_sum_round(&wide, DCL_DOUBLE);
            cr_expect(isnan(right) ? isnan(y[i]) : memcmp(&y[i], &right, sizeof right) == 0,
                      "turn %d, float row %d: %a, expected %a", turn, i, (double)y[i], (double)right);
            cr_expect(isnan(exact) ? isnan(w[i]) : memcmp(&w[i], &exact, sizeof exact) == 0,
                      "turn %d, double row %d: %a, expected %a", turn, i, w[i], exact);
        }
    }
    dcl_array *made[] = {W, Y, D, A};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}

/* A batch of products, of several blocks of the reduced index and with remainders in all directions, in doubles. */
Test(along, products)
{
    enum { BATCH = 2, HIGH = 37, DEEP = 530, WIDE = 45 };
    static double a[BATCH][HIGH][DEEP], b[BATCH][DEEP][WIDE], c[BATCH][HIGH][WIDE], found[BATCH][HIGH][WIDE];
    uint32_t state = 9;
    int wrong = 0;
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_3d(DCL_DOUBLE, BATCH, HIGH, DEEP));
    dcl_array *B = test_array(cluster, "block", dcl_grid_3d(DCL_DOUBLE, BATCH, DEEP, WIDE));
    dcl_array *C = test_array(cluster, "block", dcl_grid_3d(DCL_DOUBLE, BATCH, HIGH, WIDE));
    for (int n = 0; n < BATCH * HIGH * DEEP; n++)
        (&a[0][0][0])[n] = (double)next(&state);
    for (int n = 0; n < BATCH * DEEP * WIDE; n++)
        (&b[0][0][0])[n] = (double)next(&state);
    for (int n = 0; n < BATCH * HIGH * WIDE; n++)
        (&c[0][0][0])[n] = (double)next(&state);
    TEST_OK(dcl_write(A, NULL, a, NULL));
    TEST_OK(dcl_write(B, NULL, b, NULL));
    TEST_OK(dcl_write(C, NULL, c, NULL));
    TEST_OK(dcl_reduce(cluster, "C(l,i,j) -= 0.1 * A(l,i,k) * B(l,k,j);", DCL_INOUT(C), DCL_IN(A), DCL_IN(B)));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    for (int l = 0; l < BATCH; l++)
        for (int i = 0; i < HIGH; i++)
            for (int j = 0; j < WIDE; j++) {
                for (int k = 0; k < DEEP; k++)
                    c[l][i][j] = fma(-(0.1 * a[l][i][k]), b[l][k][j], c[l][i][j]);
                wrong += found[l][i][j] != c[l][i][j];
            }
    cr_expect_eq(wrong, 0, "%d of %d elements differ", wrong, BATCH * HIGH * WIDE);
    dcl_array *made[] = {C, B, A};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}

/* Rows whose magnitudes are alike, and rows whose are not. Of long rows, kernels add several at once; of short ones, each alone. */
static void add_rows(int nodes, int length)
{
    enum { MANY = 64, LONGEST = 8951 };
    static float rows[MANY * LONGEST], factors[LONGEST], found[2][MANY];
    const float low = 0.5F;
    float right[2][MANY];
    uint32_t state = 17;
    for (int k = 0; k < length; k++)
        factors[k] = k % 7 == 3 ? -0.5F : 1;
    for (int i = 0; i < MANY; i++) {
        dcli_sum sum = {0}, other = {0};
        int scale = i < 8 ? 0 : i < 16 ? (i == 12) * -30 : i < 24 ? 25 * (i - 20) : i < 32 ? (i == 27) * 60 : 0;
        for (int k = 0; k < length; k++) {
            float *at = &rows[i * length + k];
            float value = (next(&state) > 0 ? 1 : -1) * (1 + (float)(state >> 20) * 0x1p-10F);
            scale = i < 48 ? scale : i < 56 ? k % 41 - 30 : -2 - k % 3; /* far apart; below 1 */
            *at = i == 32 || (i > 40 && k % 5 == 0) ? 0 : ldexpf(value, scale);
            if (i == 33 && k == 200)
                *at = INFINITY;
            dcli_sum_add(&sum, (double)(*at * factors[k]));
            dcli_sum_add(&other, -(double)(2 * (*at - low)));
        }
        right[0][i] = (float)dcli_sum_round(&sum, DCL_FLOAT);
        right[1][i] = (float)dcli_sum_round(&other, DCL_FLOAT);
    }
    dcl_config config = test_config(nodes);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *M = test_array(cluster, "block,*", dcl_grid_2d(DCL_FLOAT, MANY, length)),
              *v = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, length)),
              *y = test_array(cluster, nodes == 3 ? "cyclic" : "block", dcl_grid_1d(DCL_FLOAT, MANY)),
              *z = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, MANY));
    TEST_OK(dcl_write(M, NULL, rows, NULL));
    TEST_OK(dcl_write(v, NULL, factors, NULL));
    TEST_OK(dcl_reduce(cluster, "y(i) += A(i,k) * x(k); z(i) -= 2 * (A(i,k) - low);", DCL_OUT(y), DCL_OUT(z),
                       DCL_IN_AS("A", M), DCL_IN_AS("x", v), DCL_VALUE(low)));
    TEST_OK(dcl_read(y, NULL, found[0], NULL));
    TEST_OK(dcl_read(z, NULL, found[1], NULL));
    for (int i = 0; i < 2 * MANY; i++)
        cr_expect_eq(memcmp(&found[i / MANY][i % MANY], &right[i / MANY][i % MANY], sizeof right[0][0]), 0,
                     "%d nodes, length %d: %c(%d) is %g, expected %g", nodes, length, i < MANY ? 'y' : 'z', i % MANY,
                     (double)found[i / MANY][i % MANY], (double)right[i / MANY][i % MANY]);
    dcl_release(M);
    dcl_release(v);
    dcl_release(y);
    dcl_release(z);
    TEST_OK(dcl_close(cluster));
}

Test(along, rows_of_all_magnitudes)
{
    test_config(3); /* the first call decides how many devices the process has */
    for (int nodes = 1; nodes <= 3; nodes++) {
        add_rows(nodes, INNER);
        add_rows(nodes, 3200);
        add_rows(nodes, 8951);
    }
}

/* Not a number, infinities, -0, what was there before, a box. */
Test(along, special_values)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    const float rows[5][2] = {{NAN, 1}, {INFINITY, 1}, {-INFINITY, INFINITY}, {-0.0F, 0}, {3, -2}};
    float sums[5], least[5], most[5] = {0, 0, 9, -1, 7};
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 5, 2));
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 5));
    dcl_array *l = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 5));
    dcl_array *m = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 5));
    TEST_OK(dcl_write(a, NULL, rows, NULL));
    TEST_OK(dcl_write(m, NULL, most, NULL));
    TEST_OK(dcl_reduce(cluster, "s(i) += a(i,j); l(i) min= a(i,j); m(i) max= a(i,j);", DCL_OUT(s), DCL_OUT(l),
                       DCL_INOUT(m), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, sums, NULL));
    TEST_OK(dcl_read(l, NULL, least, NULL));
    TEST_OK(dcl_read(m, NULL, most, NULL));
    cr_expect(isnan(sums[0]) && sums[1] == INFINITY && isnan(sums[2]) && sums[3] == 0 && !signbit(sums[3]) &&
              sums[4] == 1);
    cr_expect(isnan(least[0]) && least[1] == 1 && least[2] == -INFINITY && signbit(least[3]) && least[4] == -2);
    cr_expect(isnan(most[0]) && most[1] == INFINITY && most[2] == INFINITY && most[3] == 0 && !signbit(most[3]) &&
              most[4] == 7);
    dcl_box box = {.rank = 1, .start = {1}, .count = {2}, .stride = {3}};
    TEST_OK(dcl_forall(cluster, "a(i,j) = 20 + i - j;", DCL_OUT(a)));
    TEST_OK(dcl_reduce_over(cluster, &box, "s(i) += a(i,j); l(i) min= a(i,j); m(i) max= a(i,j);", DCL_OUT(s),
                            DCL_OUT(l), DCL_INOUT(m), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, sums, NULL));
    cr_expect(isnan(sums[0]) && sums[1] == 41 && isnan(sums[2]) && sums[3] == 0 && sums[4] == 47, "%g %g",
              (double)sums[1], (double)sums[4]);
    dcl_array *made[] = {m, l, s, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}

/* What moves is what was explained: by hand, and node by node as counted. */
Test(along, explained)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, 8, 6));
    dcl_array *b = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, 6, 10));
    dcl_array *p = test_array(cluster, "*,block", dcl_grid_2d(DCL_INT32, 8, 10));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 8));
    const dcl_arg product[] = {DCL_OUT_AS("P", p), DCL_IN_AS("A", a), DCL_IN_AS("B", b)};
    const dcl_arg sums[] = {DCL_OUT(y), DCL_IN(a)};
    const dcl_call calls[] = {dcl_call_reduction(cluster, NULL, "P(i,j) += A(i,k) * B(k,j);", 3, product),
                              dcl_call_reduction(cluster, NULL, "y(i) += a(i,k);", 2, sums)};
    /* Each node computes 5 columns of P: it lacks 4 x 6 of A, and 3 x 5 of B. The rows of y lie where those of a do. */
    static const int64_t bytes[] = {2 * 4 * (4 * 6 + 3 * 5), 0};
    for (int c = 0; c < 2; c++) {
        dcl_counters planned, before[2], after;
        int64_t moved = 0;
        for (int n = 0; n < 2; n++)
            before[n] = test_counters(cluster, n);
        TEST_OK(dcl_call_run(&calls[c]));
        TEST_OK(dcl_wait(cluster));
        for (int n = 0; n < 2; n++) {
            TEST_OK(dcl_call_explain(&calls[c], n, &planned));
            after = test_counters(cluster, n);
            cr_expect_eq(after.bytes_moved - before[n].bytes_moved, planned.bytes_moved, "call %d, node %d", c, n);
            cr_expect_eq(after.blocks_moved - before[n].blocks_moved, planned.blocks_moved, "call %d, node %d", c, n);
            cr_expect_eq(after.tasks - before[n].tasks, planned.tasks, "call %d, node %d", c, n);
            moved += planned.bytes_moved;
        }
        cr_expect_eq(moved, bytes[c], "call %d moves %" PRId64 " bytes, expected %" PRId64, c, moved, bytes[c]);
    }
    dcl_array *made[] = {y, p, b, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}

/* ---- wrong calls --------------------------------------------------------------------------------------------------- */

static void expect_refused(dcl_cluster *cluster, dcl_status found, const char *what, dcl_status status,
                           const char *words)
{
    cr_expect_eq(found, status, "%s: status %d, %s", what, (int)found, dcl_error());
    cr_expect(strstr(dcl_error(), words) != NULL, "%s: %s; expected %s", what, dcl_error(), words);
    dcl_clear_error(cluster);
}

static const struct {
    const char *body;
    dcl_status status;
    const char *words;
} wrong_bodies[] = {
    {"y(i) += A(i,j) * z(j);", DCL_ERR_INVALID, "index j runs over 0..5 as axis 1 of A, and over 0..8 as axis 0"},
    {"y(i) += A(j,i);", DCL_ERR_INVALID, "index i runs over 0..3 as axis 0 of y, and over 0..5 as axis 1"},
    {"y(i) += A(i,2*j);", DCL_ERR_BODY, "the range of index j is unknown"},
    {"y(i) += A(i,2);", DCL_ERR_BODY, "y has all indices of the body"},
    {"y(i) = A(i,j);", DCL_ERR_BODY, "y is reduced; expected a statement y(i, ...) += ..."},
    {"y(i) += A(i,j); y(i) max= A(i,j);", DCL_ERR_BODY, "by another operator before"},
    {"y(i) += A(i,j); y(j) += A(j,i);", DCL_ERR_BODY, "y is reduced here at other subscripts than in line 1"},
    {"y(i) += A(i,j); float t = y(i);", DCL_ERR_BODY, "its value is known only after the call"},
    {"y += A(i,j);", DCL_ERR_BODY, "y is an array and stands without subscripts"},
    {"y(i) &= A(i,j);", DCL_ERR_BODY, "expected an integer for &="},
    {"y(i) += A(i,j), 1;", DCL_ERR_BODY, "has a comma"},
    {"float t = A(i,j);", DCL_ERR_BODY, "the body does not reduce into it"},
    {"y(i) += A(i,z(j));", DCL_ERR_BODY, "not affine"},
    {"y(0) += A(0,2*j);", DCL_ERR_BODY, "the range of index j is unknown"},
    {"y(i) += A(i,j) + b;", DCL_ERR_BODY, "line 1, column 18"},
    {"y(i,j) += A(i,j);", DCL_ERR_BODY, "y has 2 subscripts here; expected 1"},
};

Test(along, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
    dcl_array *z = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 9));
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 6));
    double s = 7;
    for (size_t n = 0; n < sizeof wrong_bodies / sizeof wrong_bodies[0]; n++)
        expect_refused(cluster, dcl_reduce(cluster, wrong_bodies[n].body, DCL_OUT(y), DCL_IN(A), DCL_IN(z)),
                       wrong_bodies[n].body, wrong_bodies[n].status, wrong_bodies[n].words);
    expect_refused(cluster, dcl_reduce(cluster, "s += A(i,j); y(i) += A(i,j);", DCL_RESULT(s), DCL_OUT(y), DCL_IN(A)),
                   "a result beside an output", DCL_ERR_BODY, "output y is not written at (i,j), in any order");
    expect_refused(cluster, dcl_reduce(cluster, "y(i) += z(j); A(i,k) += z(j);", DCL_OUT(y), DCL_INOUT(A), DCL_IN(z)),
                   "ranks", DCL_ERR_INVALID, "output A has 2 axes, the first output y has 1");
    expect_refused(cluster, dcl_reduce(cluster, "y(i) += A(i,j);", DCL_OUT(y), DCL_IN_ROWS(A)), "a declared reach",
                   DCL_ERR_INVALID, "a reduction into arrays takes");
    expect_refused(cluster, dcl_reduce(cluster, "y(i) += A(i,j); z(j) += A(i,j);", DCL_OUT(y), DCL_OUT(z), DCL_IN(A)),
                   "other indices", DCL_ERR_BODY, "z has index j, and the first output y has not");
    expect_refused(cluster, dcl_reduce(cluster, "y(i) += x(j);", DCL_OUT(y), DCL_IN_AS("x", y)), "an alias",
                   DCL_ERR_BODY, "x and y are the same array");
    expect_refused(cluster, dcl_reduce(cluster, "y(i) += A(i,j);", DCL_IN(y), DCL_IN(A)), "no output", DCL_ERR_INVALID,
                   "expected at least one DCL_RESULT, DCL_OUT or DCL_INOUT");
    cr_expect_eq(s, 7);
    dcl_array *made[] = {A, z, y};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
    TEST_OK(dcl_close(cluster));
}

/* A read outside an array counts as 0 and is reported. */
Test(along, reads_outside)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4));
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, 4, 6));
    int32_t found[4];
    TEST_OK(dcl_forall(cluster, "a(i,j) = 1;", DCL_OUT(a)));
    TEST_OK(dcl_reduce(cluster, "y(i) += a(i,j) + a(i,j + 2);", DCL_OUT(y), DCL_IN(a)));
    cr_expect_eq(dcl_read(y, NULL, found, NULL), DCL_ERR_RANGE, "%s", dcl_error());
    cr_expect(strstr(dcl_error(), "(0, 6)") != NULL || strstr(dcl_error(), "(0,6)") != NULL, "%s", dcl_error());
    cr_expect(found[0] == 6 + 4 && found[3] == 6 + 4, "%d", (int)found[0]);
    dcl_release(a);
    dcl_release(y);
    dcl_close(cluster);
}
