/* test/runtime/over_test.c - tests DCL_OVER: bodies and reductions over ranges of indices, against sequential loops, on any
 * number of nodes and under several maps; wrong ranges are refused. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernel/sum.h"
#include "support/nodes.h"

TestSuite(over, .timeout = TEST_SECONDS);

enum { N = 21, KEPT = -7 };

static float A[N][N], B[N][N], w[2 * N];

static void fill(void)
{
    uint32_t state = 3;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            state = state * 1664525 + 1013904223;
            A[i][j] = ldexpf((float)(int32_t)state, (int)(state >> 9) % 30 - 40);
            B[j][i] = ldexpf((float)(int32_t)(state * 5 + 1), -20);
            w[i + j] = A[i][j] / 3;
        }
}

static void release(int count, dcl_array *const made[])
{
    for (int k = count - 1; k >= 0; k--)
        dcl_release(made[k]);
}

/* ---- boxes ----------------------------------------------------------------------------------------------------------- */

struct boxes {
    float y[N], product[N][N], written[N][N], strided[N][N], sum, low;
    int64_t count, none;
};

static void expect_boxes(struct boxes *right, int m)
{
    dcli_sum all = {0};
    memset(right, 0, sizeof *right);
    right->low = INFINITY;
    for (int i = 0; i < N; i++) {
        dcli_sum sum = {0};
        right->y[i] = KEPT;
        for (int k = 0; k < m; k++)
            if (i <= N - m)
                dcli_sum_add(&sum, (double)(A[i][i + k < N ? i + k : 0] * w[2 * k]));
        if (i <= N - m)
            right->y[i] = (float)dcli_sum_round(&sum, DCL_FLOAT);
        for (int j = 0; j < N; j++) {
            right->product[i][j] = right->written[i][j] = right->strided[i][j] = KEPT;
            if (i >= 1 && i < m)
                right->product[i][j] = 0;
            for (int k = 2; k < 9 && i >= 1 && i < m; k++)
                right->product[i][j] = fmaf(A[i][k], B[k][j], right->product[i][j]);
            bool inside = i >= 1 && i < m && j >= 2 && j <= N - 2;
            if (inside)
                right->written[i][j] = A[j][i];
            if (inside && i % 3 == 2)
                right->strided[i][j] = A[j][i];
            if (!inside)
                continue;
            right->count++;
            dcli_sum_add(&all, (double)A[i][j]);
            right->low = fminf(right->low, A[i][j]);
        }
    }
    right->sum = (float)dcli_sum_round(&all, DCL_FLOAT);
}

static void run_boxes(dcl_cluster *cluster, const char *map, const char *other, int32_t m, struct boxes *found)
{
    const int64_t n = N;
    const dcl_grid square = dcl_grid_2d(DCL_FLOAT, N, N);
    dcl_array *a = test_array(cluster, map, square), *b = test_array(cluster, other, square);
    dcl_array *c = test_array(cluster, other, square), *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, N));
    dcl_array *v = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 2 * N));
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(b, NULL, B, NULL));
    TEST_OK(dcl_write(v, NULL, w, NULL));
    TEST_OK(dcl_forall(cluster, "y(i) = -7;", DCL_OUT(y)));
    TEST_OK(dcl_reduce(cluster, "y(i) += a(i,i+k) * v(2*k);", DCL_OUT(y), DCL_IN(a), DCL_IN(v), DCL_VALUE(m),
                       DCL_VALUE(n), DCL_OVER("0 <= k < m, 0 <= i <= min(n - m, n-1)")));
    TEST_OK(dcl_read(y, NULL, found->y, NULL));
    TEST_OK(dcl_forall(cluster, "c(i,j) = -7;", DCL_OUT(c)));
    TEST_OK(dcl_reduce(cluster, "c(i,j) += a(i,k) * b(k,j);", DCL_OUT(c), DCL_IN(a), DCL_IN(b), DCL_VALUE(m),
                       DCL_OVER("2 <= k < 9, 1 <= i < m")));
    TEST_OK(dcl_read(c, NULL, found->product, NULL));
    static const char *const text = "1 <= i < m, 2 <= j <= (n - 2)";
    TEST_OK(dcl_forall(cluster, "c(i,j) = -7;", DCL_OUT(c)));
    TEST_OK(dcl_forall(cluster, "c(i,j) = a(j,i);", DCL_OUT(c), DCL_IN(a), DCL_VALUE(m), DCL_VALUE(n), DCL_OVER(text)));
    TEST_OK(dcl_read(c, NULL, found->written, NULL));
    const dcl_box box = {.rank = 2, .start = {2, 0}, .count = {(N - 2 + 2) / 3, N}, .stride = {3, 1}};
    TEST_OK(dcl_forall(cluster, "c(i,j) = -7;", DCL_OUT(c)));
    TEST_OK(dcl_forall_over(cluster, &box, "c(i,j) = a(j,i);", DCL_OUT(c), DCL_IN(a), DCL_VALUE(m), DCL_VALUE(n),
                            DCL_OVER(text)));
    TEST_OK(dcl_read(c, NULL, found->strided, NULL));
    TEST_OK(dcl_reduce(cluster, "sum += a(i,j); low min= a(i,j); count += 1;", DCL_RESULT_AS("sum", &found->sum),
                       DCL_RESULT_AS("low", &found->low), DCL_RESULT_AS("count", &found->count), DCL_IN(a),
                       DCL_VALUE(m), DCL_VALUE(n), DCL_OVER(text)));
    TEST_OK(dcl_reduce(cluster, "none += a(i,j) > 0;", DCL_RESULT_AS("none", &found->none), DCL_IN(a), DCL_VALUE(n),
                       DCL_OVER("n <= i < n")));
    release(5, (dcl_array *const[]){a, b, c, y, v});
}

#define SAME(field)                                                                                                   \
    cr_expect_eq(memcmp(&found.field, &right.field, sizeof right.field), 0, "%d nodes, %s, m %d: " #field " differs", \
                 nodes, maps[k][0], (int)m)

static const char *const maps[][2] = {{"block", "rows:cyclic(3x7)"}, {"cyclic;tile=5x4", "*,block"}};

Test(over, boxes)
{
    fill();
    for (int nodes = 3; nodes >= 1; nodes--) {
        dcl_cluster *cluster = open_nodes(nodes);
        for (int k = 0; k < 2; k++)
            for (int32_t m = 0; m <= 14; m += 7) {
                struct boxes right, found;
                expect_boxes(&right, m);
                memset(&found, 1, sizeof found);
                run_boxes(cluster, maps[k][0], maps[k][1], m, &found);
                SAME(y);
                SAME(product);
                SAME(written);
                SAME(strided);
                SAME(sum);
                SAME(low);
                SAME(count);
                SAME(none);
            }
        TEST_OK(dcl_close(cluster));
    }
}

/* ---- bounds that depend on indices ------------------------------------------------------------------------------------- */

enum { T = 107 };

static float L[T][T], R[T][T], x[T];

struct triangles {
    float rows[T], most[T], both[T], shifted[T], band[T][T], upper[T][T], product[T][T], sum;
    int64_t count;
};

static int largest(int a, int b) { return a > b ? a : b; }
static int least(int a, int b) { return a < b ? a : b; }

static void expect_triangles(struct triangles *right, int m)
{
    dcli_sum all = {0};
    memset(right, 0, sizeof *right);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            right->band[i][j] = right->upper[i][j] = right->product[i][j] = KEPT;
    for (int i = 0; i < T; i++) {
        dcli_sum row = {0}, both = {0}, shifted = {0};
        right->most[i] = -INFINITY;
        for (int j = i + 1; j < T; j++)
            right->most[i] = fmaxf(right->most[i], L[j][i]);
        for (int j = 0; j <= i; j++) {
            dcli_sum_add(&row, (double)(L[i][j] * x[j]));
            dcli_sum_add(&all, (double)L[i][j]);
            dcli_sum_add(&shifted, (double)x[i - j]);
            right->count++;
            for (int k = m; k < j; k++)
                dcli_sum_add(&both, (double)(L[i][j] - R[j][k]));
            right->product[i][j] = 0;
            for (int k = i; k < T; k++)
                right->product[i][j] = fmaf(L[i][k], R[k][j], right->product[i][j]);
            right->upper[j][i] = x[j];
        }
        for (int j = largest(0, i - 2); j <= least(i + m, T - 1); j++)
            right->band[i][j] = L[j][i];
        right->rows[i] = (float)dcli_sum_round(&row, DCL_FLOAT);
        right->both[i] = (float)dcli_sum_round(&both, DCL_FLOAT);
        right->shifted[i] = (float)dcli_sum_round(&shifted, DCL_FLOAT);
    }
    right->sum = (float)dcli_sum_round(&all, DCL_FLOAT);
}

static void run_triangles(dcl_cluster *cluster, const char *map, const char *other, int64_t m, struct triangles *found)
{
    const int16_t n = T;
    const dcl_grid square = dcl_grid_2d(DCL_FLOAT, T, T), line = dcl_grid_1d(DCL_FLOAT, T);
    dcl_array *l = test_array(cluster, map, square), *r = test_array(cluster, other, square);
    dcl_array *c = test_array(cluster, other, square), *y = test_array(cluster, "block", line);
    dcl_array *z = test_array(cluster, "cyclic", line), *v = test_array(cluster, "block", line);
    TEST_OK(dcl_write(l, NULL, L, NULL));
    TEST_OK(dcl_write(r, NULL, R, NULL));
    TEST_OK(dcl_write(v, NULL, x, NULL));
    TEST_OK(dcl_reduce(cluster, "y(i) += l(i,j) * v(j);", DCL_OUT(y), DCL_IN(l), DCL_IN(v), DCL_OVER("0 <= j <= i")));
    TEST_OK(dcl_read(y, NULL, found->rows, NULL));
    TEST_OK(dcl_reduce(cluster, "z(j) max= l(i,j);", DCL_OUT(z), DCL_IN(l), DCL_VALUE(n), DCL_OVER("j < i < n")));
    TEST_OK(dcl_read(z, NULL, found->most, NULL));
    TEST_OK(dcl_reduce(cluster, "z(i) += l(i,j) - r(j,k);", DCL_OUT(z), DCL_IN(l), DCL_IN(r), DCL_VALUE(m),
                       DCL_OVER("0 <= j <= i, m <= k < j")));
    TEST_OK(dcl_read(z, NULL, found->both, NULL));
    TEST_OK(dcl_reduce(cluster, "y(i) += v(i-j);", DCL_OUT(y), DCL_IN(v), DCL_OVER("0 <= j <= i")));
    TEST_OK(dcl_read(y, NULL, found->shifted, NULL));
    TEST_OK(dcl_reduce(cluster, "sum += l(i,j); count += 1;", DCL_RESULT_AS("sum", &found->sum),
                       DCL_RESULT_AS("count", &found->count), DCL_IN(l), DCL_OVER("0 <= j <= i")));
    TEST_OK(dcl_forall(cluster, "c(i,j) = -7;", DCL_OUT(c)));
    TEST_OK(dcl_forall(cluster, "c(i,j) = l(j,i);", DCL_OUT(c), DCL_IN(l), DCL_VALUE(m), DCL_VALUE(n),
                       DCL_OVER("max(0, i - 2) <= j <= min(i + m, n - 1)"),
                       DCL_PRELUDE("#define a 3\n#define b 5\n#define begin x\n#define end y")));
    TEST_OK(dcl_read(c, NULL, found->band, NULL));
    TEST_OK(dcl_forall(cluster, "c(i,j) = -7;", DCL_OUT(c)));
    TEST_OK(dcl_forall(cluster, "c(j,i) = v(j);", DCL_INOUT(c), DCL_IN(v), DCL_OVER("0 <= j <= i")));
    TEST_OK(dcl_read(c, NULL, found->upper, NULL));
    TEST_OK(dcl_forall(cluster, "c(i,j) = -7;", DCL_OUT(c)));
    TEST_OK(dcl_reduce(cluster, "c(i,j) += l(i,k) * r(k,j);", DCL_OUT(c), DCL_IN(l), DCL_IN(r), DCL_VALUE(n),
                       DCL_OVER("i <= k < n, 0 <= j <= i")));
    TEST_OK(dcl_read(c, NULL, found->product, NULL));
    release(6, (dcl_array *const[]){l, r, c, y, z, v});
}

Test(over, triangles)
{
    fill();
    for (int i = 0; i < T; i++) {
        x[i] = ldexpf(A[i % N][i / N], i % 9);
        for (int j = 0; j < T; j++) {
            L[i][j] = A[i % N][(i + j) % N] * (float)(j % 5 + i);
            R[i][j] = B[(i + j) % N][j % N] + (float)i;
        }
    }
    for (int nodes = 3; nodes >= 1; nodes--) {
        dcl_cluster *cluster = open_nodes(nodes);
        for (int k = 0; k < 2; k++) {
            const int64_t m = nodes + k;
            static struct triangles right, found;
            expect_triangles(&right, (int)m);
            memset(&found, 0, sizeof found);
            run_triangles(cluster, maps[k][0], maps[k][1], m, &found);
            SAME(rows);
            SAME(most);
            SAME(both);
            SAME(shifted);
            SAME(sum);
            SAME(count);
            SAME(band);
            SAME(upper);
            SAME(product);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* Node 0 has rows 0..9 and needs nothing; node 1 needs the first 10 elements of x. Node 2 has no rows of the triangle. */
Test(over, explained)
{
    dcl_cluster *cluster = open_nodes(3);
    const int64_t n = 20;
    dcl_array *a = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, 30, 30));
    dcl_array *v = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 30));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 30));
    const dcl_arg args[] = {DCL_OUT(y), DCL_IN(a), DCL_IN(v), DCL_VALUE(n), DCL_OVER("0 <= i < n, 0 <= j <= i")};
    const dcl_call call = dcl_call_reduction(cluster, NULL, "y(i) += a(i,j) * v(j);", 5, args);
    static const int64_t bytes[] = {0, 40, 0}, tasks[] = {1, 1, 0};
    dcl_counters planned, before[3];
    for (int p = 0; p < 3; p++)
        before[p] = test_counters(cluster, p);
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_wait(cluster));
    for (int p = 0; p < 3; p++) {
        dcl_counters after = test_counters(cluster, p);
        TEST_OK(dcl_call_explain(&call, p, &planned));
        cr_expect_eq(after.bytes_moved - before[p].bytes_moved, planned.bytes_moved, "node %d", p);
        cr_expect_eq(after.tasks - before[p].tasks, planned.tasks, "node %d", p);
        cr_expect_eq(planned.bytes_moved, bytes[p], "node %d: %" PRId64 " bytes", p, planned.bytes_moved);
        cr_expect_eq(planned.tasks, tasks[p], "node %d: %" PRId64 " tasks", p, planned.tasks);
    }
    /* Of 3 x 3 tiles of 10 x 10, 6 are in the triangle. */
    dcl_array *c = test_array(cluster, "block,*;tile=10x10", dcl_grid_2d(DCL_INT32, 30, 30));
    TEST_OK(dcl_explain(cluster, &planned, "c(i,j) = 1;", DCL_INOUT(c), DCL_OVER("0 <= j <= i")));
    cr_expect_eq(planned.tasks, 6, "%" PRId64 " tasks", planned.tasks);
    release(4, (dcl_array *const[]){a, v, y, c});
    TEST_OK(dcl_close(cluster));
}

/* ---- wrong ranges ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *ranges;
    dcl_status status;
    const char *words;
} wrong[] = {
    {NULL, DCL_ERR_INVALID, "the text of DCL_OVER is NULL"},
    {"", DCL_ERR_INVALID, "the text of DCL_OVER is empty"},
    {"0 <= j <= i,", DCL_ERR_BODY, "line 1, column 13: DCL_OVER: expected ranges LOW <= index <= HIGH"},
    {"0 <= j", DCL_ERR_BODY, "expected ranges LOW <= index <= HIGH"},
    {"0 <= j < 2 < 3", DCL_ERR_BODY, "column 12: DCL_OVER: expected ranges"},
    {"4 >= j >= 0", DCL_ERR_BODY, "expected ranges LOW <= index <= HIGH"},
    {"0 <= j + 1 < 4", DCL_ERR_BODY, "expected ranges LOW <= index <= HIGH"},
    {"0 <= k < 4", DCL_ERR_BODY, "column 6: DCL_OVER: k is no index of the body"},
    {"0 <= q < 4", DCL_ERR_BODY, "q is no index of the body"},
    {"0 <= y < 4", DCL_ERR_BODY, "y is no index of the body"},
    {"0 <= j < 4, 1 <= j < 3", DCL_ERR_BODY, "column 18: DCL_OVER: j has a range already"},
    {"0 <= j < n * i * i", DCL_ERR_BODY, "it multiplies an index by an index"},
    {"0 <= j < j + 2", DCL_ERR_BODY, "a bound of j contains j"},
    {"0 <= j < i / 2", DCL_ERR_BODY, "'/' is no affine bound"},
    {"0 <= j < f", DCL_ERR_BODY, "'f' is no affine bound: it is a scalar, but no integer"},
    {"0 <= j < A", DCL_ERR_BODY, "'A' is no affine bound: it is an element of an array"},
    {"0 <= j < z", DCL_ERR_BODY, "'z' is no affine bound"},
    {"0 <= j < 1.5", DCL_ERR_BODY, "it is no integer"},
    {"0 <= j < ", DCL_ERR_BODY, "a bound ends too early"},
    {"0 <= j < min()", DCL_ERR_BODY, "min() has 0 arguments"},
    {"0 <= j < max(2, 3)", DCL_ERR_BODY, "expected max(...) as the whole lower bound"},
    {"0 <= j < (2", DCL_ERR_BODY, "("},
    {"0 <= j <= 6", DCL_ERR_BODY, "j runs over 0..6; expected a range within 0..5"},
    {"-1 <= j < 2", DCL_ERR_BODY, "j runs over -1..1; expected a range within 0..5"},
    {"0 <= i < n", DCL_ERR_BODY, "i runs over 0..4; expected a range within 0..3"},
    {"0 <= j < big * big", DCL_ERR_BODY, "this bound of j overflows 64 bits"},
};

Test(over, refused)
{
    const int32_t n = 5;
    const int64_t big = INT64_C(1) << 40;
    const float f = 2;
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 6));
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
        TEST_REFUSED(dcl_reduce(cluster, "y(i) += A(i,j);", DCL_OUT(y), DCL_IN_AS("A", a), DCL_VALUE(n), DCL_VALUE(big),
                                DCL_VALUE(f), DCL_OVER(wrong[k].ranges)),
                     wrong[k].status, wrong[k].words);
    TEST_REFUSED(dcl_reduce(cluster, "y(i) += A(i,j);", DCL_OUT(y), DCL_IN_AS("A", a), DCL_OVER("0 <= j < 2"),
                            DCL_OVER("0 <= i < 2")),
                 DCL_ERR_INVALID, "DCL_OVER is given twice");
    static const char *const shadowed[] = {"0 <= j < max(2, 3)",
                                           "max(0, i - i + 0, i - 2, 0, 0, i - 3, 0, 0, i - 4) <= j <= max(i, 2)"};
    for (size_t k = 0; k < sizeof shadowed / sizeof shadowed[0]; k++)
        TEST_REFUSED(dcl_reduce(cluster, "y(i) += A(i,j);", DCL_OUT(y), DCL_IN_AS("A", a), DCL_OVER(shadowed[k]),
                                DCL_PRELUDE("int least(int max) { return max; }")),
                     DCL_ERR_BODY, "it is a function call or an unknown array");
    const int64_t c = INT64_C(1) << 62;
    TEST_REFUSED(
        dcl_forall(cluster, "A(i,j) = 1;", DCL_INOUT_AS("A", a), DCL_VALUE(c), DCL_OVER("0 <= j <= min(c * i, 5)")),
        DCL_ERR_BODY, "this bound of j does not fit 64 bits for some index");
    int64_t count;
    TEST_REFUSED(dcl_reduce(cluster, "count += A(i,j) > 0;", DCL_RESULT(count), DCL_IN_AS("A", a), DCL_VALUE(c),
                            DCL_OVER("0 <= j <= min(c * i, 5)")),
                 DCL_ERR_BODY, "this bound of j does not fit 64 bits for some index");
    TEST_REFUSED(dcl_forall_tiles(cluster, "y(i) = 0;", DCL_OUT(y), DCL_OVER("0 <= i < 2")), DCL_ERR_INVALID,
                 "DCL_OVER is an argument of a tile kernel");
    TEST_REFUSED(
        dcl_scan(cluster, "y(i) += A(0,i);", DCL_OUT(y), DCL_IN_AS("A", a), DCL_ALONG("i"), DCL_OVER("0 <= i < 2")),
        DCL_ERR_INVALID, "a scan takes DCL_OUT");
    dcl_clear_error(cluster);
    release(2, (dcl_array *const[]){y, a});
    TEST_OK(dcl_close(cluster));
}
