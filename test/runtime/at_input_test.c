/* test/runtime/at_input_test.c - reductions along axes that are computed where an input is stored: the bits of sequential loops on any
 * number of nodes, few bytes, what is explained is counted; failures and losses. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kernel/sum.h"
#include "support/nodes.h"

TestSuite(at_input, .timeout = TEST_SECONDS);

enum { ROWS = 75, COLUMNS = 1100, LAYERS = 3, HIGH = 19, WIDE = 23 };

static float A[ROWS][COLUMNS], x[COLUMNS], begin[COLUMNS];
static double D[LAYERS][HIGH][WIDE];
static int16_t N[LAYERS][HIGH][WIDE];

static float next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(int32_t)*state * 0x1p-22F;
}

/* A value of row or column n: some are unlike their neighbours. */
static float value_of(int n, int k, float value)
{
    switch (n % 16) {
    case 1: /* no value but zeros */
        return k % 3 == 0 ? -0.0F : 0;
    case 2: /* small numbers, and zeros first */
        return k > 40 ? ldexpf(value, -70) : 0;
    case 4: /* numbers that cancel, then small ones */
        return k > 40 ? ldexpf(value, -70) : k % 2 == 0 ? 3 : -3;
    case 5: /* larger later */
        return k > 50 ? ldexpf(value, 90) : value;
    case 7:
        return k == 33 ? NAN : value;
    case 8:
        return k == 71 ? INFINITY : value;
    case 10: /* both infinities */
        return k == 1 ? INFINITY : k == 60 ? -INFINITY : value;
    case 11: /* magnitudes that are far apart */
        return ldexpf(value, k % 50 - 25);
    case 13: /* denormal numbers */
        return ldexpf(value, -140);
    default:
        return value;
    }
}

/* @param rows  rows are unlike, else columns. */
static void fill(bool rows)
{
    uint32_t state = 23;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float value = next(&state);
            A[i][j] = value_of(rows ? i : j, rows ? j : i, value);
        }
    for (int j = 0; j < COLUMNS; j++) {
        x[j] = j % 7 == 3 ? -0.5F : 1;
        begin[j] = next(&state);
    }
    for (int e = 0; e < LAYERS * HIGH * WIDE; e++) {
        (&D[0][0][0])[e] = ldexp((double)next(&state) + 0x1p-30, (int)(state >> 8) % 60);
        (&N[0][0][0])[e] = (int16_t)(state >> 16);
    }
}

/* What the reductions of a cluster have found. */
struct found {
    float y[ROWS], added[COLUMNS], most[COLUMNS];
    double sums[WIDE][LAYERS];
    int16_t wrapped[WIDE][LAYERS], least[WIDE][LAYERS];
    int32_t where[WIDE][LAYERS];
};

static float maximum(float a, float b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }

static void expect(struct found *right)
{
    memset(right, 0, sizeof *right);
    for (int i = 0; i < ROWS; i++) {
        dcli_sum sum = {0};
        for (int j = 0; j < COLUMNS; j++)
            dcli_sum_add(&sum, (double)(A[i][j] * x[j]));
        right->y[i] = (float)dcli_sum_round(&sum, DCL_FLOAT);
    }
    for (int j = 0; j < COLUMNS; j++) {
        dcli_sum sum = {0};
        dcli_sum_add(&sum, (double)begin[j]);
        right->most[j] = -INFINITY;
        for (int i = 0; i < ROWS; i++) {
            dcli_sum_add(&sum, -(double)A[i][j]);
            right->most[j] = maximum(right->most[j], fabsf(A[i][j]));
        }
        right->added[j] = (float)dcli_sum_round(&sum, DCL_FLOAT);
    }
    for (int k = 0; k < WIDE; k++)
        for (int l = 0; l < LAYERS; l++) {
            dcli_sum sum = {0};
            right->least[k][l] = INT16_MAX;
            for (int i = 0; i < HIGH; i++) {
                dcli_sum_add(&sum, D[l][i][k] * 3);
                right->wrapped[k][l] = (int16_t)(right->wrapped[k][l] + N[l][i][k]);
                if (N[l][i][k] < right->least[k][l]) {
                    right->least[k][l] = N[l][i][k];
                    right->where[k][l] = i;
                }
            }
            right->sums[k][l] = dcli_sum_round(&sum, DCL_DOUBLE);
        }
}

static void reduce_all(dcl_cluster *cluster, const char *map, const char *other, struct found *found)
{
    dcl_array *a = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_array *v = test_array(cluster, other, dcl_grid_1d(DCL_FLOAT, COLUMNS));
    dcl_array *y = test_array(cluster, other, dcl_grid_1d(DCL_FLOAT, ROWS));
    dcl_array *s = test_array(cluster, other, dcl_grid_1d(DCL_FLOAT, COLUMNS));
    dcl_array *m = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, COLUMNS));
    dcl_array *d = test_array(cluster, "*,block,*", dcl_grid_3d(DCL_DOUBLE, LAYERS, HIGH, WIDE));
    dcl_array *n = test_array(cluster, "*,block,*", dcl_grid_3d(DCL_INT16, LAYERS, HIGH, WIDE));
    dcl_array *t = test_array(cluster, "block", dcl_grid_2d(DCL_DOUBLE, WIDE, LAYERS));
    dcl_array *w = test_array(cluster, "block", dcl_grid_2d(DCL_INT16, WIDE, LAYERS));
    dcl_array *l = test_array(cluster, "cyclic", dcl_grid_2d(DCL_INT16, WIDE, LAYERS));
    dcl_array *at = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, WIDE, LAYERS));
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(v, NULL, x, NULL));
    TEST_OK(dcl_write(s, NULL, begin, NULL));
    TEST_OK(dcl_write(d, NULL, D, NULL));
    TEST_OK(dcl_write(n, NULL, N, NULL));
    TEST_OK(dcl_reduce(cluster, "y(i) += a(i,j) * v(j);", DCL_OUT(y), DCL_IN(a), DCL_IN(v)));
    TEST_OK(dcl_read(y, NULL, found->y, NULL));
    TEST_OK(dcl_reduce(cluster, "s(j) -= a(i,j); m(j) max= fabs(a(i,j));", DCL_INOUT(s), DCL_OUT(m), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, found->added, NULL));
    TEST_OK(dcl_read(m, NULL, found->most, NULL));
    TEST_OK(dcl_reduce(cluster, "t(k,l) += 3 * d(l,i,k); w(k,l) += n(l,i,k);", DCL_OUT(t), DCL_OUT(w), DCL_IN(d),
                       DCL_IN(n)));
    TEST_OK(dcl_read(t, NULL, found->sums, NULL));
    TEST_OK(dcl_read(w, NULL, found->wrapped, NULL));
    TEST_OK(dcl_reduce(cluster, "least(k,m) min= n(m,i,k);", DCL_OUT_AS("least", l), DCL_RESULT_AT(at), DCL_IN(n)));
    TEST_OK(dcl_read(l, NULL, found->least, NULL));
    TEST_OK(dcl_read(at, NULL, found->where, NULL));
    dcl_array *made[] = {at, l, w, t, n, d, m, s, y, v, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

/* Whether arrays of floats are the same: bits of NaN may differ. */
static int first_difference(int count, const float found[], const float right[])
{
    for (int k = 0; k < count; k++)
        if (memcmp(&found[k], &right[k], sizeof right[k]) != 0 && !(isnan(found[k]) && isnan(right[k])))
            return k;
    return -1;
}

static void same_on(dcl_cluster *cluster, const struct found *right, const char *map, const char *other)
{
    struct found found;
    memset(&found, 0, sizeof found);
    reduce_all(cluster, map, other, &found);
    int differs = first_difference(ROWS, found.y, right->y);
    cr_expect_eq(differs, -1, "%s: y(%d) is %a, expected %a", map, differs, (double)found.y[differs],
                 (double)right->y[differs]);
    differs = first_difference(COLUMNS, found.added, right->added);
    cr_expect_eq(differs, -1, "%s: s(%d) is %a, expected %a", map, differs, (double)found.added[differs],
                 (double)right->added[differs]);
    differs = first_difference(COLUMNS, found.most, right->most);
    cr_expect_eq(differs, -1, "%s: m(%d) is %a, expected %a", map, differs, (double)found.most[differs],
                 (double)right->most[differs]);
    cr_expect_eq(memcmp(found.sums, right->sums, sizeof right->sums), 0, "%s: t differs", map);
    cr_expect_eq(memcmp(found.wrapped, right->wrapped, sizeof right->wrapped), 0, "%s: w differs", map);
    cr_expect_eq(memcmp(found.least, right->least, sizeof right->least), 0, "%s: least differs", map);
    cr_expect_eq(memcmp(found.where, right->where, sizeof right->where), 0, "%s: indices differ", map);
}

Test(at_input, same_bits_of_threads)
{
    static const char *const maps[][2] = {
        {"*,block", "block"}, {"block,*", "cyclic(5)"}, {"rows:cyclic(8x300)", "block"}};
    static const int nodes[] = {5, 3, 2}; /* PoCL makes as many devices as the first cluster needs */
    for (int rows = 0; rows < 2; rows++) {
        struct found right;
        fill(rows == 1);
        expect(&right);
        for (int n = rows; n < 3; n += 1 + rows) {
            dcl_config config = test_config(nodes[n]);
            config.steal = n == 1 ? "always" : "never";
            config.tile_bytes = n == 0 ? 16384 : config.tile_bytes;
            test_fault("partials");
            dcl_cluster *cluster = test_open(&config);
            test_fault(NULL);
            for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++)
                same_on(cluster, &right, maps[m][0], maps[m][1]);
            TEST_OK(dcl_close(cluster));
        }
    }
}

#ifdef TEST_DCL
Test(at_input, same_bits_of_processes)
{
    struct found right;
    dcl_config config = test_config(3);
    fill(true);
    expect(&right);
    config.program = TEST_DCL;
    config.workers = "local:3";
    test_fault("partials");
    dcl_cluster *cluster = test_open(&config);
    test_fault(NULL);
    same_on(cluster, &right, "*,block", "block");
    TEST_OK(dcl_close(cluster));
}
#endif

/* ---- what moves ------------------------------------------------------------------------------------------------------- */

enum { SIDE = 384 };

struct moved {
    const char *map, *text;
    int64_t most; /* bytes */
    bool at_input;
};

/* Without partial results, 589,824 bytes of M, or two thirds of them, would move. */
static const struct moved moved[] = {
    {"*,block", "y(i) += M(i,j) * x(j);", 3 * SIDE * 48, true},
    {"block,*", "y(j) += M(i,j) * x(i);", 3 * SIDE * 48, true},
    {"block,*", "y(j) max= M(i,j) * x(i);", 3 * SIDE * 12, true},
    {"block,*", "y(i) += M(i,j) * x(j);", 2 * SIDE * 4, false},          /* M is where y is */
    {"*,block", "y(i) *= M(i,j) * x(j);", 3 * SIDE *SIDE * 4, false},    /* products round: they have one order */
    {"*,block", "y(i) += M(i,j); y(i) += x(j);", SIDE *SIDE * 4, false}, /* rounded at each index */
};

Test(at_input, moves_little)
{
    static float m[SIDE][SIDE], v[SIDE], found[SIDE];
    dcl_config config = test_config(3);
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, SIDE)),
              *w = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, SIDE));
    for (int i = 0; i < SIDE; i++) {
        v[i] = (float)(i % 5 - 2);
        for (int j = 0; j < SIDE; j++)
            m[i][j] = (float)((i * 7 + j * 5) % 11 - 5);
    }
    TEST_OK(dcl_write(w, NULL, v, NULL));
    for (size_t n = 0; n < sizeof moved / sizeof moved[0]; n++) {
        const struct moved *c = &moved[n];
        dcl_array *M = test_array(cluster, c->map, dcl_grid_2d(DCL_FLOAT, SIDE, SIDE));
        TEST_OK(dcl_write(M, NULL, m, NULL));
        const dcl_call *call = DCL_CALL_REDUCTION(cluster, NULL, c->text, DCL_OUT(y), DCL_IN(M), DCL_IN_AS("x", w));
        dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
        TEST_OK(dcl_call_explain(call, DCL_ALL_NODES, &planned));
        TEST_OK(dcl_call_run(call));
        dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
        cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved,
                     "%s: %" PRId64 " bytes, %" PRId64 " planned", c->text, after.bytes_moved - before.bytes_moved,
                     planned.bytes_moved);
        cr_expect_leq(planned.bytes_moved, c->most, "%s, %s: %" PRId64 " bytes", c->map, c->text, planned.bytes_moved);
        dcl_report *report = dcl_call_report(call, DCL_ALL_NODES);
        cr_assert_not_null(report, "%s", dcl_error());
        cr_expect_eq(strstr(report->method, "computed where M is stored") != NULL, c->at_input, "%s: %s", c->text,
                     report->method);
        cr_expect_str_eq(report->index[0].use, "kept", "%s: %s is %s", c->text, report->index[0].name,
                         report->index[0].use);
        dcl_report_release(report);
        TEST_OK(dcl_read(y, NULL, found, NULL));
        if (n < 2) /* exact in float */
            for (int i = 0; i < SIDE; i++) {
                float right = 0;
                for (int j = 0; j < SIDE; j++)
                    right += (n == 0 ? m[i][j] : m[j][i]) * v[j];
                cr_expect_eq(found[i], right, "%s: y(%d) is %g, expected %g", c->text, i, (double)found[i],
                             (double)right);
            }
        dcl_release(M);
    }
    dcl_release(w);
    dcl_release(y);
    TEST_OK(dcl_close(cluster));
}

/* ---- failures --------------------------------------------------------------------------------------------------------- */

struct multiplied {
    dcl_array *M, *v, *y;
};

static struct multiplied make(dcl_cluster *cluster)
{
    return (struct multiplied){test_array(cluster, "*,block", dcl_grid_2d(DCL_FLOAT, SIDE, SIDE)),
                               test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, SIDE)),
                               test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, SIDE))};
}

static dcl_status multiply(dcl_cluster *cluster, const struct multiplied *of)
{
    return dcl_reduce(cluster, "y(i) += M(i,j) * x(j);", DCL_OUT_AS("y", of->y), DCL_IN_AS("M", of->M),
                      DCL_IN_AS("x", of->v));
}

static void release(struct multiplied *of)
{
    dcl_release(of->y);
    dcl_release(of->v);
    dcl_release(of->M);
}

/* The fourth array is that of the partial results. The failure is told, and the call can be repeated. */
Test(at_input, a_node_without_memory_fails_the_call_only)
{
    const float one = 1;
    float found[SIDE];
    dcl_config config = test_config(3);
    config.transfer = "send";
    test_fault("alloc node=1 count=4");
    dcl_cluster *cluster = test_open(&config);
    test_fault(NULL);
    struct multiplied of = make(cluster);
    TEST_OK(dcl_fill(of.M, &one));
    TEST_OK(dcl_fill(of.v, &one));
    TEST_OK(dcl_fill(of.y, &one));
    TEST_OK(dcl_wait(cluster));
    dcl_status status =
        multiply(cluster, &of); /* it is refused if its first operation has failed before the others are issued */
    TEST_REFUSED(status != DCL_OK ? status : dcl_read(of.y, NULL, found, NULL), DCL_ERR_NOMEM, "node 1: ");
    dcl_clear_error(cluster);
    TEST_OK(multiply(cluster, &of));
    TEST_OK(dcl_read(of.y, NULL, found, NULL));
    cr_expect_eq(found[SIDE - 1], SIDE, "y(%d) is %g", SIDE - 1, (double)found[SIDE - 1]);
    release(&of);
    TEST_OK(dcl_close(cluster));
}

#ifdef TEST_DCL
Test(at_input, a_lost_node_is_told)
{
    const float one = 1;
    float found[SIDE];
    dcl_config config = test_config(3);
    config.program = TEST_DCL;
    config.workers = "local:3";
    config.transfer = "send";
    dcl_cluster *cluster = test_open(&config);
    struct multiplied of = make(cluster);
    TEST_OK(dcl_fill(of.M, &one));
    TEST_OK(dcl_fill(of.v, &one));
    TEST_OK(multiply(cluster, &of));
    TEST_OK(dcl_read(of.y, NULL, found, NULL));
    cr_expect_eq(found[0], SIDE, "y(0) is %g", (double)found[0]);
    cr_assert_eq(kill(test_child(true), SIGKILL), 0);
    dcl_status status = multiply(cluster, &of);
    if (status == DCL_OK)
        status = dcl_wait(cluster);
    cr_expect_eq(status, DCL_ERR_NODE_LOST, "%s: %s", dcl_status_name(status), dcl_error());
    TEST_REFUSED(dcl_read(of.y, NULL, found, NULL), DCL_ERR_NODE_LOST, "");
    release(&of);
    dcl_close(cluster);
}
#endif
