/* test/runtime/beside_test.c - reductions beside ordinary outputs: results to variables and to elements in the call that writes arrays.
 * Bits and counters are compared with those of separate calls. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(beside, .timeout = TEST_SECONDS);

enum { ROWS = 37, COLUMNS = 211, MOST = 3 };

/* The arrays of a case: X and R are written, P and Q read, Y is written at (j,i). */
struct arrays {
    dcl_array *X, *R, *P, *Q, *Y, *rho, *high;
};

struct values {
    float x[ROWS][COLUMNS], r[ROWS][COLUMNS], y[COLUMNS][ROWS];
    double rho, other[2];
    float low;
    int64_t where[2], count;
};

static float p[ROWS][COLUMNS], q[ROWS][COLUMNS];

static void fill(void)
{
    uint32_t state = 11;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            state = state * 1664525 + 1013904223;
            p[i][j] = (float)(int32_t)state *
                      (j % 50 == 7 && i > 20 ? 0x1p-40F : 0x1p-24F); /* no sum of a run for some strips */
            q[i][j] = (float)(int32_t)(state * 7) * 0x1p-26F;
        }
}

static struct arrays make(dcl_cluster *cluster, const char *map, const char *other)
{
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS), turned = dcl_grid_2d(DCL_FLOAT, COLUMNS, ROWS);
    struct arrays a = {test_array(cluster, map, grid),
                       test_array(cluster, other, grid),
                       test_array(cluster, map, grid),
                       test_array(cluster, map, grid),
                       test_array(cluster, map, turned),
                       test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 2)),
                       test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 1))};
    const float one = 1;
    TEST_OK(dcl_fill(a.X, &one));
    TEST_OK(dcl_write(a.R, NULL, q, NULL));
    TEST_OK(dcl_write(a.P, NULL, p, NULL));
    TEST_OK(dcl_write(a.Q, NULL, q, NULL));
    const double zero = 0;
    TEST_OK(dcl_fill(a.rho, &zero));
    return a;
}

static void read_all(const struct arrays *a, struct values *v)
{
    TEST_OK(dcl_read(a->X, NULL, v->x, NULL));
    TEST_OK(dcl_read(a->R, NULL, v->r, NULL));
    TEST_OK(dcl_read(a->Y, NULL, v->y, NULL));
    TEST_OK(dcl_read(a->rho, NULL, v->other, NULL));
}

static void end(const struct arrays *a)
{
    dcl_array *all[] = {a->X, a->R, a->P, a->Q, a->Y, a->rho, a->high};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        dcl_release(all[k]);
}

/* One call. */
static void together(dcl_cluster *cluster, const char *map, const char *other, struct values *v)
{
    struct arrays a = make(cluster, map, other);
    dcl_array *X = a.X, *R = a.R, *P = a.P, *Q = a.Q, *Y = a.Y, *rho = a.rho;
    const float alpha = 0.75F;
    dcl_counters before, after, planned;
    double s;
#define TEXT                                                                                  \
    "X(i,j) += alpha * P(i,j); R(i,j) -= alpha * Q(i,j); const float r = R(i,j); Y(j,i) = r;" \
    "rho(1) += (double)r * r; s += X(i,j); low min= r; if (r > 0) count += 1;"
#define ARGUMENTS                                                                                       \
    DCL_INOUT(X), DCL_INOUT(R), DCL_OUT(Y), DCL_OUT(rho), DCL_RESULT(s), DCL_RESULT_AS("low", &v->low), \
        DCL_RESULT_AT(v->where), DCL_RESULT_AS("count", &v->count), DCL_IN(P), DCL_IN(Q), DCL_VALUE(alpha)
    TEST_OK(dcl_call_explain(DCL_CALL_REDUCTION(cluster, NULL, TEXT, ARGUMENTS), DCL_ALL_NODES, &planned));
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_reduce(cluster, TEXT, ARGUMENTS));
    v->rho = s;
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(after.tasks - before.tasks, planned.tasks, "%s", map);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "%s: %" PRId64 ", planned %" PRId64, map,
                 after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.messages_planned - before.messages_planned, planned.messages_planned, "%s", map);
    read_all(&a, v);
    end(&a);
}

/* The same in calls of its own for each. */
static void apart(dcl_cluster *cluster, const char *map, struct values *v)
{
    struct arrays a = make(cluster, map, map);
    dcl_array *X = a.X, *R = a.R, *P = a.P, *Q = a.Q, *Y = a.Y, *rho = a.rho;
    const float alpha = 0.75F;
    TEST_OK(dcl_forall(cluster, "X(i,j) += alpha * P(i,j); R(i,j) -= alpha * Q(i,j);", DCL_INOUT(X), DCL_INOUT(R),
                       DCL_IN(P), DCL_IN(Q), DCL_VALUE(alpha)));
    TEST_OK(dcl_forall(cluster, "Y(j,i) = R(i,j);", DCL_OUT(Y), DCL_IN(R)));
    TEST_OK(dcl_reduce(cluster, "rho(1) += (double)R(i,j) * R(i,j);", DCL_OUT(rho), DCL_IN(R)));
    TEST_OK(dcl_reduce(cluster, "s += X(i,j);", DCL_RESULT_AS("s", &v->rho), DCL_IN(X)));
    TEST_OK(dcl_reduce(cluster, "low min= R(i,j); if (R(i,j) > 0) count += 1;", DCL_RESULT_AS("low", &v->low),
                       DCL_RESULT_AT(v->where), DCL_RESULT_AS("count", &v->count), DCL_IN(R)));
    read_all(&a, v);
    end(&a);
}

static void same_on(dcl_cluster *cluster, struct values *right, bool *some)
{
    static const char *const maps[] = {"block", "rows:cyclic(3x7)", "cyclic", "*,block"};
    static struct values found;
    if (!*some)
        apart(cluster, "block", right);
    *some = true;
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        memset(&found, 0, sizeof found);
        together(cluster, maps[m], maps[m % 2 == 0 ? m : 0], &found);
        cr_expect_eq(memcmp(found.x, right->x, sizeof found.x), 0, "%s: X", maps[m]);
        cr_expect_eq(memcmp(found.r, right->r, sizeof found.r), 0, "%s: R", maps[m]);
        cr_expect_eq(memcmp(found.y, right->y, sizeof found.y), 0, "%s: Y", maps[m]);
        cr_expect(found.rho == right->rho && found.other[0] == 0 && found.other[1] == right->other[1],
                  "%s: %a %a, not %a %a", maps[m], found.rho, found.other[1], right->rho, right->other[1]);
        cr_expect(found.low == right->low && found.where[0] == right->where[0] && found.where[1] == right->where[1] &&
                      found.count == right->count,
                  "%s: %a at (%d,%d), %d", maps[m], (double)found.low, (int)found.where[0], (int)found.where[1],
                  (int)found.count);
    }
    TEST_OK(dcl_close(cluster));
}

Test(beside, same_bits)
{
    static struct values right;
    bool some = false;
    fill();
    for (int nodes = MOST; nodes >= 1; nodes--) { /* the first call asks for the devices of all */
        dcl_config config = test_config(nodes);
        same_on(test_open(&config), &right, &some);
    }
#ifdef TEST_DCL
    dcl_config config = test_config(MOST);
    config.workers = "local:2";
    config.program = TEST_DCL;
    same_on(test_open(&config), &right, &some);
#endif
}

/* Values of type float have the same sum if the text makes them double. They differ more in some strips than a run of floats allows. */
Test(beside, sums_of_singles)
{
    fill();
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    struct arrays a = make(cluster, "block", "block");
    dcl_array *R = a.R, *P = a.P, *Q = a.Q, *rho = a.rho;
    double found[2], other[2], s;
    float r[2][ROWS][COLUMNS];
    TEST_OK(dcl_reduce(cluster, "R(i,j) -= P(i,j); rho(0) += R(i,j) * R(i,j); s -= P(i,j) + Q(i,j);", DCL_INOUT(R),
                       DCL_OUT(rho), DCL_RESULT(s), DCL_IN(P), DCL_IN(Q)));
    TEST_OK(dcl_read(rho, NULL, found, NULL));
    found[1] = s;
    TEST_OK(dcl_read(R, NULL, r[0], NULL));
    TEST_OK(dcl_write(R, NULL, q, NULL));
    TEST_OK(dcl_reduce(cluster,
                       "R(i,j) -= P(i,j); rho(0) += (double)(R(i,j) * R(i,j)); s -= (double)(P(i,j) + Q(i,j));",
                       DCL_INOUT(R), DCL_OUT(rho), DCL_RESULT(s), DCL_IN(P), DCL_IN(Q)));
    TEST_OK(dcl_read(rho, NULL, other, NULL));
    other[1] = s;
    TEST_OK(dcl_read(R, NULL, r[1], NULL));
    cr_expect(found[0] == other[0] && found[1] == other[1], "%a %a, not %a %a", found[0], found[1], other[0], other[1]);
    cr_expect_eq(memcmp(r[0], r[1], sizeof r[0]), 0, "each element is computed once");
    end(&a);
    TEST_OK(dcl_close(cluster));
}

/* A box, ranges, and what is not written: outputs keep their values. */
Test(beside, boxes_and_ranges)
{
    static float a[8][8], found[8][8];
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 8, 8)),
              *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 1));
    const dcl_box box = {.rank = 2, .start = {1, 2}, .count = {5, 3}, .stride = {1, 2}};
    float sum;
    TEST_OK(dcl_forall(cluster, "A(i,j) = 8 * i + j;", DCL_OUT(A)));
    TEST_OK(dcl_reduce_over(cluster, &box, "A(i,j) = -A(i,j); s(0) += A(i,j);", DCL_INOUT(A), DCL_OUT(s)));
    TEST_OK(dcl_reduce(cluster, "A(i,j) += 1000; t += A(i,j);", DCL_INOUT(A), DCL_RESULT_AS("t", &sum),
                       DCL_OVER("0 <= j <= i - 5")));
    float right = 0, over = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            bool in = i >= 1 && i < 6 && j >= 2 && j < 8 && j % 2 == 0, below = j <= i - 5;
            a[i][j] = (float)((in ? -1 : 1) * (8 * i + j) + (below ? 1000 : 0));
            right += in ? (float)-(8 * i + j) : 0;
            over += below ? a[i][j] : 0;
        }
    cr_expect_eq(sum, over, "%g, not %g", (double)sum, (double)over);
    TEST_OK(dcl_read(A, NULL, found, NULL));
    cr_expect_eq(memcmp(a, found, sizeof a), 0);
    TEST_OK(dcl_read(s, NULL, &sum, NULL));
    cr_expect_eq(sum, right, "%g, not %g", (double)sum, (double)right);
    dcl_release(s);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}

/* ---- wrong calls ------------------------------------------------------------------------------------------------------- */

struct wrong_case {
    char text[80];
    dcl_status status;
    char words[120];
};

ParameterizedTestParameters(beside, refused)
{
    static struct wrong_case cases[] = {
        {"X(i,j) = A(i,j,0); v += X(i,j);", DCL_ERR_BODY, "A has 3 subscripts here"},
        {"X(i,i) = A(i,j); v += A(i,j);", DCL_ERR_BODY, "subscript 2 is an index that was used before"},
        {"X(i,j) = A(i,j) + A(i,k); v += A(i,j);", DCL_ERR_BODY,
         "column 1: output X is not written at (i,j,k), in any order; expected all indices"},
        {"X(i+1,j) = A(i,j); v += A(i,j);", DCL_ERR_BODY, "X is written where subscript 1 is no plain index"},
        {"X(i,j) += A(i,j); v += X(i,j);", DCL_ERR_BODY, "declare DCL_INOUT(X)"},
        {"X(i,j) = v; v += A(i,j);", DCL_ERR_BODY, "its value is known only after the call"},
        {"v += A(i,j);", DCL_ERR_BODY, "X is DCL_OUT, but the body does not assign to it"},
        {"X(i,j) = A(i,j); X(j,i) = 0; v += 1;", DCL_ERR_BODY, "X is written here at another subscript"},
        {"X(i,j) max= A(i,j); v += 1;", DCL_ERR_BODY, "an operator that is a word combines values of several indices"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct wrong_case *c, beside, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    dcl_array *X = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    double v = 9;
    cr_expect_eq(dcl_reduce(cluster, c->text, DCL_OUT(X), DCL_RESULT(v), DCL_IN(A)), c->status, "%s: %s", c->text,
                 dcl_error());
    cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: %s; expected %s", c->text, dcl_error(), c->words);
    cr_expect_eq(v, 9);
    dcl_release(X);
    dcl_release(A);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}

/* Arrays that do not fit, and reads outside, which do not reach the next reduction although it uses the same partial results. */
Test(beside, other_arrays)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100)),
              *B = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 101));
    int32_t sum = 9;
    TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
    cr_expect_eq(dcl_reduce(cluster, "A(i) = B(i) = 3; s += 1;", DCL_OUT(A), DCL_OUT(B), DCL_RESULT_AS("s", &sum)),
                 DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "axis 0 of output B runs 0..100; expected 0..99") != NULL, "%s", dcl_error());
    cr_expect_eq(sum, 9);
    dcl_clear_error(cluster);
    cr_expect_eq(
        dcl_reduce(cluster, "A(i) += 1; s += A(i) + B(i + 1);", DCL_INOUT(A), DCL_IN(B), DCL_RESULT_AS("s", &sum)),
        DCL_OK, "%s", dcl_error());
    TEST_OK(dcl_forall(cluster, "B(i) = 1;", DCL_OUT(B)));
    const dcl_status strayed =
        dcl_reduce(cluster, "A(i) += 1; s += A(i) + B(i + 9);", DCL_INOUT(A), DCL_IN(B), DCL_RESULT_AS("s", &sum));
    cr_expect_eq(strayed, DCL_ERR_RANGE, "%s", dcl_error());
    cr_expect_eq(sum, 4950 + 200 + 92, "%d", (int)sum);
    TEST_OK(dcl_reduce(cluster, "s += B(i);", DCL_IN(B), DCL_RESULT_AS("s", &sum)));
    cr_expect_eq(sum, 101, "%d", (int)sum);
    dcl_release(B);
    dcl_release(A);
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

/* A reduction that fails makes its results fail, but not those of the next one, which uses the same partial results. */
Test(beside, a_failure_stays_alone)
{
    dcl_config config = test_config(2);
    test_fault("alloc node=1 count=2");
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100));
    dcl_array *B = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100)); /* node 1 has no memory for it */
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 1)),
              *t = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 1));
    int32_t sum = 0;
    TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
    dcl_reduce(cluster, "s(0) += B(i);", DCL_OUT(s),
               DCL_IN(B)); /* the program may have heard of the failure before, or not */
    TEST_OK(dcl_reduce(cluster, "A(i) += 1; t(0) += A(i);", DCL_INOUT(A), DCL_OUT(t)));
    TEST_OK(dcl_read(t, NULL, &sum, NULL));
    cr_expect_eq(sum, 5050, "%d", (int)sum);
    cr_expect_eq(dcl_wait(cluster), DCL_ERR_NOMEM);
    dcl_array *all[] = {A, B, s, t};
    for (int k = 0; k < 4; k++)
        dcl_release(all[k]);
    dcl_close(cluster);
}

/* dcl_call_report() says how a reduction into elements is done. */
Test(beside, reported)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 100)),
              *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 1));
    dcl_report *report = dcl_call_report(
        DCL_CALL_REDUCTION(cluster, NULL, "A(i) += 1; s(0) += A(i);", DCL_INOUT(A), DCL_OUT(s)), DCL_ALL_NODES);
    cr_assert_not_null(report, "%s", dcl_error());
    cr_expect_eq(report->index_count, 1);
    cr_expect_str_eq(report->index[0].use, "kept and reduced");
    cr_expect(strstr(report->method,
                     "; 2 operations; each node sends 3584 bytes of partial results to the nodes that store the "
                     "elements; the program does not wait") != NULL,
              "%s", report->method);
    cr_expect_eq(report->planned.bytes_moved, 3584, "%d", (int)report->planned.bytes_moved);
    dcl_report_release(report);
    dcl_release(s);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}
