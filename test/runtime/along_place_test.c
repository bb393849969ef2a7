/* test/runtime/along_place_test.c - tests the indices of minima and maxima along axes: the lowest ones, on any nodes and under any
 * map; explain agrees with the counters; wrong calls are refused. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(along_place, .timeout = TEST_SECONDS);

enum { ROWS = 13, COLUMNS = 37, LAYERS = 3, FIRST = -4 };

static float A[ROWS][COLUMNS][LAYERS];

static void fill(void)
{
    uint32_t state = 9;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            for (int k = 0; k < LAYERS; k++) {
                state = state * 1664525 + 1013904223;
                A[i][j][k] = (float)(state >> 27) - 16;
            }
    A[2][5][1] = A[2][9][0] = NAN;
    A[3][4][2] = -100;
    A[3][7][0] = -100;
}

struct found {
    int64_t both[ROWS][2];
    int32_t one[LAYERS][ROWS], some[LAYERS][ROWS];
    float low[ROWS];
};

static bool is_better(float a, float b, bool most) { return isnan(a) ? !isnan(b) : most ? a > b : a < b; }

static void expect(struct found *right)
{
    for (int i = 0; i < ROWS; i++) {
        right->low[i] = INFINITY;
        for (int j = 0; j < COLUMNS; j++)
            for (int k = 0; k < LAYERS; k++)
                if (j + k == 0 || is_better(A[i][j][k], right->low[i], false)) {
                    right->low[i] = A[i][j][k];
                    right->both[i][0] = j + FIRST;
                    right->both[i][1] = k;
                }
        for (int k = 0; k < LAYERS; k++) {
            int one = 0, some = -1;
            for (int j = 0; j < COLUMNS; j++) {
                one = is_better(A[i][j][k], A[i][one][k], true) ? j : one;
                if (j + FIRST >= i && A[i][j][k] > 0 && (some < 0 || is_better(A[i][j][k], A[i][some][k], true)))
                    some = j;
            }
            right->one[k][i] = one + FIRST;
            right->some[k][i] = some < 0 ? -1 : some + FIRST;
        }
    }
}

static void find_all(dcl_cluster *cluster, const char *map, const char *other, struct found *found)
{
    dcl_grid box = dcl_grid_3d(DCL_FLOAT, ROWS, COLUMNS, LAYERS), rows = dcl_grid_1d(DCL_FLOAT, ROWS);
    box.origin[1] = FIRST;
    dcl_array *a = test_array(cluster, map, box), *low = test_array(cluster, "cyclic", rows);
    dcl_array *both = test_array(cluster, other, dcl_grid_2d(DCL_INT64, ROWS, 2));
    dcl_array *high = test_array(cluster, other, dcl_grid_2d(DCL_FLOAT, ROWS, LAYERS));
    dcl_array *one = test_array(cluster, "block,*", dcl_grid_2d(DCL_INT32, LAYERS, ROWS)), *turned = dcl_transpose(one);
    memset(found, 0, sizeof *found);
    TEST_OK(dcl_write(a, NULL, A, NULL));
    const dcl_call call =
        *DCL_CALL_REDUCTION(cluster, NULL, "low(i) min= a(i,j,k);", DCL_OUT(low), DCL_RESULT_AT(both), DCL_IN(a));
    dcl_counters planned, before, after;
    TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "%s", map);
    cr_expect_eq(after.tasks - before.tasks, planned.tasks, "%s", map);
    TEST_OK(dcl_read(low, NULL, found->low, NULL));
    TEST_OK(dcl_read(both, NULL, found->both, NULL));
    TEST_OK(dcl_reduce(cluster, "high(i,k) max= a(i,j,k);", DCL_OUT(high), DCL_RESULT_AT(turned), DCL_IN(a)));
    TEST_OK(dcl_read(one, NULL, found->one, NULL));
    TEST_OK(dcl_reduce(cluster, "if (a(i,j,k) > 0) high(i,k) max= a(i,j,k);", DCL_OUT(high), DCL_RESULT_AT(turned),
                       DCL_IN(a), DCL_OVER("i <= j <= 32")));
    TEST_OK(dcl_read(one, NULL, found->some, NULL));
    dcl_array *made[] = {turned, one, high, both, low, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

static void same_on(dcl_cluster *cluster, const struct found *right)
{
    static const char *const maps[][2] = {{"block", "block"}, {"rows:cyclic(2x5x1)", "cyclic"}};
    for (int m = 0; m < 2; m++) {
        struct found found;
        find_all(cluster, maps[m][0], maps[m][1], &found);
        for (int i = 0; i < ROWS; i++) {
            cr_expect(found.low[i] == right->low[i] || (isnan(found.low[i]) && isnan(right->low[i])));
            cr_expect(found.both[i][0] == right->both[i][0] && found.both[i][1] == right->both[i][1],
                      "%s: row %d: %d %d, not %d %d", maps[m][0], i, (int)found.both[i][0], (int)found.both[i][1],
                      (int)right->both[i][0], (int)right->both[i][1]);
            for (int k = 0; k < LAYERS; k++) {
                cr_expect(found.one[k][i] == right->one[k][i], "%s: (%d,%d): %d, not %d", maps[m][0], i, k,
                          found.one[k][i], right->one[k][i]);
                cr_expect(found.some[k][i] == right->some[k][i], "%s: some (%d,%d): %d, not %d", maps[m][0], i, k,
                          found.some[k][i], right->some[k][i]);
            }
        }
    }
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}

Test(along_place, same_indices)
{
    struct found right;
    fill();
    expect(&right);
    same_on(open_nodes(3), &right);
    same_on(open_nodes(1), &right);
#ifdef TEST_DCL
    dcl_config config = test_config(3);
    config.workers = "local:2";
    config.program = TEST_DCL;
    same_on(test_open(&config), &right);
#endif
}

struct wrong_case {
    char what[40];
    int which;
    dcl_status status;
    char words[80];
};

ParameterizedTestParameters(along_place, refused)
{
    static struct wrong_case cases[] = {
        {"the indices of sums", 0, DCL_ERR_BODY, "DCL_RESULT_AT follows y, which is no minimum or maximum"},
        {"a variable for many", 1, DCL_ERR_INVALID, "finds an index for each element; expected an array"},
        {"an array of floats", 2, DCL_ERR_INVALID, "has elements of type float; expected int32 or int64"},
        {"an axis is missing", 3, DCL_ERR_INVALID, "has 1 axes; expected 2, those of z and one more"},
        {"another extent", 4, DCL_ERR_INVALID, "has indices 0..4; expected 0..3"},
        {"the values and the indices", 5, DCL_ERR_INVALID, "is another argument of the same call"},
        {"by keys", 6, DCL_ERR_UNSUPPORTED, "DCL_RESULT_AT is an argument of a reduction by keys"},
        {"after an input", 7, DCL_ERR_INVALID, "the argument before it is no output"},
        {"large indices", 8, DCL_ERR_INVALID, "a reduced index runs to 4000000003; expected int64"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status call_wrongly(dcl_cluster *cluster, int which, dcl_array *a, dcl_array *y, dcl_array *at)
{
    int64_t variable[2];
    dcl_grid far = dcl_grid_2d(DCL_INT32, 4, 4), three = dcl_grid_3d(DCL_INT32, 4, 4, 4);
    far.origin[1] = 4000000000;
    dcl_array *z = y, *other = NULL;
    dcl_status status;
    switch (which) {
    case 0:
        return dcl_reduce(cluster, "y(i) += a(i,j);", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN(a));
    case 1:
        return dcl_reduce(cluster, "y(i) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(variable), DCL_IN(a));
    case 2:
        other = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 4));
        status = dcl_reduce(cluster, "y(i) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(other), DCL_IN(a));
        break;
    case 3:
        other = test_array(cluster, "block", three);
        status = dcl_reduce(cluster, "z(i) min= b(i,j,k);", DCL_OUT(z), DCL_RESULT_AT(at), DCL_IN_AS("b", other));
        break;
    case 4:
        other = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 5));
        status = dcl_reduce(cluster, "y(i) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(other), DCL_IN(a));
        break;
    case 5:
        return dcl_reduce(cluster, "y(i) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(y), DCL_IN(a));
    case 6:
        return dcl_reduce(cluster, "y(a(i,j)) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN(a));
    case 7:
        return dcl_reduce(cluster, "y(i) min= a(i,j);", DCL_OUT(y), DCL_IN(a), DCL_RESULT_AT(at));
    default:
        other = test_array(cluster, "block", far);
        status = dcl_reduce(cluster, "y(i) min= f(i,j);", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN_AS("f", other));
        break;
    }
    dcl_release(other);
    return status;
}

ParameterizedTest(struct wrong_case *c, along_place, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, 4, 4));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4));
    dcl_array *at = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4));
    cr_expect_eq(call_wrongly(cluster, c->which, a, y, at), c->status, "%s: %s", c->what, dcl_error());
    cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: %s; expected %s", c->what, dcl_error(), c->words);
    dcl_release(at);
    dcl_release(y);
    dcl_release(a);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}
