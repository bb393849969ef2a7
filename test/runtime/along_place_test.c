/* test/runtime/along_place_test.c - tests the indices of minima and maxima along axes and by keys: the lowest ones, on any nodes and
 * under any map; explain agrees with the counters; wrong calls are refused. */
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

/* ---- by keys --------------------------------------------------------------------------------------------------------- */

enum { KEYS = 6, BELOW = -2, LARGE = 1000000 };

static int32_t key[ROWS][COLUMNS]; /* BELOW .. BELOW + KEYS - 1, the last one never */

struct found_by_keys {
    float low[KEYS][LAYERS];
    double high[KEYS];
    int32_t at_low[KEYS][LAYERS][2];
    int64_t at_high[KEYS][3];
};

static void draw_keys(void)
{
    uint32_t state = 5;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            state = state * 1664525 + 1013904223;
            key[i][j] = BELOW + (int32_t)(state >> 8) % (KEYS - 1);
        }
}

/* The present value of an element of `high`: that of key 1 is above all others, that of key 2 one of these. */
static double before(int k) { return k == 1 ? LARGE : k == 2 ? 15 : -LARGE; }

static void expect_by_keys(struct found_by_keys *right)
{
    bool seen[KEYS][LAYERS] = {{false}};
    memset(right->at_low, 0xff, sizeof right->at_low);
    memset(right->at_high, 0xff, sizeof right->at_high);
    for (int k = 0; k < KEYS; k++) {
        right->high[k] = before(k);
        for (int l = 0; l < LAYERS; l++)
            right->low[k][l] = INFINITY;
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            for (int l = 0; l < LAYERS; l++) {
                int k = key[i][j] - BELOW;
                float a = A[i][j][l];
                if (!(a < -12) && (!seen[k][l] || is_better(a, right->low[k][l], false))) {
                    seen[k][l] = true;
                    right->low[k][l] = a;
                    right->at_low[k][l][0] = i;
                    right->at_low[k][l][1] = j + FIRST;
                }
                if (is_better(a, (float)right->high[k], true) ||
                    (right->at_high[k][0] == -1 && (double)a == right->high[k])) {
                    right->high[k] = (double)a;
                    right->at_high[k][0] = i;
                    right->at_high[k][1] = j + FIRST;
                    right->at_high[k][2] = l;
                }
            }
}

static void find_by_keys(dcl_cluster *cluster, const char *map, const char *other, struct found_by_keys *found)
{
    dcl_grid box = dcl_grid_3d(DCL_FLOAT, ROWS, COLUMNS, LAYERS), plane = dcl_grid_2d(DCL_INT32, ROWS, COLUMNS),
             keys = dcl_grid_1d(DCL_DOUBLE, KEYS), layers = dcl_grid_2d(DCL_FLOAT, KEYS, LAYERS),
             two = dcl_grid_3d(DCL_INT32, KEYS, LAYERS, 2), three = dcl_grid_2d(DCL_INT64, KEYS, 3);
    double high_before[KEYS];
    box.origin[1] = plane.origin[1] = FIRST;
    keys.origin[0] = layers.origin[0] = two.origin[0] = three.origin[0] = BELOW;
    for (int k = 0; k < KEYS; k++)
        high_before[k] = before(k);
    dcl_array *a = test_array(cluster, map, box), *K = test_array(cluster, other, plane),
              *low = test_array(cluster, "cyclic", layers), *high = test_array(cluster, other, keys),
              *at_low = test_array(cluster, other, two), *at_high = test_array(cluster, "cyclic", three);
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(K, NULL, key, NULL));
    TEST_OK(dcl_write(high, NULL, high_before, NULL));
    const dcl_call call = *DCL_CALL_REDUCTION(
        cluster, NULL,
        "int b = K(i,j);\nif (!(a(i,j,k) < -12))\n    low(b, k) min= a(i,j,k);\nhigh(K(i,j)) max= a(i,j,k);",
        DCL_OUT(low), DCL_RESULT_AT(at_low), DCL_INOUT(high), DCL_RESULT_AT(at_high), DCL_IN(a), DCL_IN(K));
    dcl_counters planned, earlier, after;
    TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &earlier));
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_wait(cluster));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(after.bytes_moved - earlier.bytes_moved, planned.bytes_moved, "%s", map);
    cr_expect_eq(after.tasks - earlier.tasks, planned.tasks, "%s", map);
    TEST_OK(dcl_read(low, NULL, found->low, NULL));
    TEST_OK(dcl_read(high, NULL, found->high, NULL));
    TEST_OK(dcl_read(at_low, NULL, found->at_low, NULL));
    TEST_OK(dcl_read(at_high, NULL, found->at_high, NULL));
    dcl_array *made[] = {at_high, at_low, high, low, K, a};
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
}

static void same_by_keys(dcl_cluster *cluster, const struct found_by_keys *right)
{
    static const char *const maps[][2] = {{"block", "cyclic"}, {"rows:cyclic(2x5x1)", "block"}};
    for (int m = 0; m < 2; m++) {
        struct found_by_keys found;
        find_by_keys(cluster, maps[m][0], maps[m][1], &found);
        for (int k = 0; k < KEYS; k++) {
            cr_expect(found.high[k] == right->high[k] || (isnan(found.high[k]) && isnan(right->high[k])), "%d: %g", k,
                      found.high[k]);
            for (int q = 0; q < 3; q++)
                cr_expect(found.at_high[k][q] == right->at_high[k][q], "%s: high %d, %d: %d, not %d", maps[m][0], k, q,
                          (int)found.at_high[k][q], (int)right->at_high[k][q]);
            for (int l = 0; l < LAYERS; l++) {
                float x = found.low[k][l], y = right->low[k][l];
                cr_expect(x == y || (isnan(x) && isnan(y)), "%d, %d: %g", k, l, (double)x);
                for (int q = 0; q < 2; q++)
                    cr_expect(found.at_low[k][l][q] == right->at_low[k][l][q], "%s: low (%d,%d), %d: %d, not %d",
                              maps[m][0], k, l, q, found.at_low[k][l][q], right->at_low[k][l][q]);
            }
        }
    }
    TEST_OK(dcl_close(cluster));
}

Test(along_place, by_keys)
{
    static const int nodes[] = {5, 3, 2, 1}; /* the first cluster decides how many devices there are */
    static struct found_by_keys right;
    fill();
    draw_keys();
    expect_by_keys(&right);
    cr_assert(right.at_high[1][0] == -1 && right.at_high[2][0] >= 0 && right.at_high[KEYS - 1][0] == -1);
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        same_by_keys(open_nodes(nodes[n]), &right);
#ifdef TEST_DCL
    dcl_config config = test_config(3);
    config.workers = "local:2";
    config.program = TEST_DCL;
    same_by_keys(test_open(&config), &right);
#endif
}

/* Elements that the input does not store have its map's fill value, and indices. */
Test(along_place, keys_of_parts)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    int32_t keys[40], least[3];
    int64_t where[3];
    for (int i = 0; i < 40; i++)
        keys[i] = i % 3;
    dcl_array *v = test_array(cluster, "block;every=2;rest=-3", dcl_grid_1d(DCL_INT32, 40)),
              *K = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 40)),
              *low = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 3)),
              *at = test_array(cluster, "block", dcl_grid_1d(DCL_INT64, 3));
    TEST_OK(dcl_write(K, NULL, keys, NULL));
    TEST_OK(dcl_forall(cluster, "v(i) = 1 - i;", DCL_OUT(v)));
    const dcl_call call = *DCL_CALL_REDUCTION(cluster, NULL, "if (i < 16) low(K(i)) min= v(i);", DCL_OUT(low),
                                              DCL_RESULT_AT(at), DCL_IN(K), DCL_IN(v));
    const dcl_call turned = *DCL_CALL_REDUCTION(cluster, NULL, "if (i < 16) low(K(i)) min= v(i);", DCL_OUT(low),
                                                DCL_RESULT_AT(at), DCL_IN(v), DCL_IN(K));
    for (int k = 0; k < 2; k++) {
        dcl_counters planned, earlier, after;
        TEST_OK(dcl_call_explain(k == 0 ? &call : &turned, DCL_ALL_NODES, &planned));
        TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &earlier));
        TEST_OK(dcl_call_run(k == 0 ? &call : &turned));
        TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
        cr_expect_eq(after.bytes_moved - earlier.bytes_moved, planned.bytes_moved);
        TEST_OK(dcl_read(low, NULL, least, NULL));
        TEST_OK(dcl_read(at, NULL, where, NULL));
        for (int b = 0; b < 3; b++) {
            int best = -1, index = -1;
            for (int i = b; i < 16; i += 3) {
                int x = i % 2 == 0 ? 1 - i : -3;
                if (index < 0 || x < best) {
                    best = x;
                    index = i;
                }
            }
            cr_expect(least[b] == best && where[b] == index, "%d, %d: %d at %d; expected %d at %d", k, b, least[b],
                      (int)where[b], best, index);
        }
    }
    dcl_array *made[] = {at, low, K, v};
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
    TEST_OK(dcl_close(cluster));
}

/* A value whose key is outside has no index. It is reported once, with the name that the program knows. */
Test(along_place, keys_outside)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    const int32_t keys[] = {1, 9, 0, 1};
    int32_t values[] = {4, -5, 2, 4}, least[2];
    int64_t where[2];
    dcl_array *K = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4)),
              *v = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 4)),
              *low = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 2)),
              *at = test_array(cluster, "block", dcl_grid_1d(DCL_INT64, 2));
    TEST_OK(dcl_write(K, NULL, keys, NULL));
    TEST_OK(dcl_write(v, NULL, values, NULL));
    TEST_OK(dcl_reduce(cluster, "low(K(i)) min= v(i);", DCL_OUT(low), DCL_RESULT_AT(at), DCL_IN(K), DCL_IN(v)));
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_RANGE, "low(9) was written, which is outside its grid");
    dcl_clear_error(cluster);
    TEST_OK(dcl_read(at, NULL, where, NULL));
    TEST_OK(dcl_read(low, NULL, least, NULL));
    cr_expect(least[0] == 2 && least[1] == 4 && where[0] == 2 && where[1] == 0, "%d at %d, %d at %d", least[0],
              (int)where[0], least[1], (int)where[1]);
    dcl_array *made[] = {at, low, v, K};
    for (size_t n = 0; n < sizeof made / sizeof made[0]; n++)
        dcl_release(made[n]);
    TEST_OK(dcl_close(cluster));
}

/* ---- wrong calls ----------------------------------------------------------------------------------------------------- */

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
        {"an element", 6, DCL_ERR_UNSUPPORTED, "DCL_RESULT_AT is an argument of a reduction into single elements"},
        {"after an input", 7, DCL_ERR_INVALID, "the argument before it is no output"},
        {"large indices", 8, DCL_ERR_INVALID, "a reduced index runs to 4000000003; expected int64"},
        {"the indices of keyed sums", 9, DCL_ERR_BODY, "DCL_RESULT_AT follows y, which is no minimum or maximum"},
        {"no index by keys", 10, DCL_ERR_BODY, "in whose subscripts all indices of the body stand"},
        {"by keys, an axis is missing", 11, DCL_ERR_INVALID, "has 1 axes; expected 2, those of y and one more"},
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
        return dcl_reduce(cluster, "y(0) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN(a));
    case 7:
        return dcl_reduce(cluster, "y(i) min= a(i,j);", DCL_OUT(y), DCL_IN(a), DCL_RESULT_AT(at));
    case 9:
        return dcl_reduce(cluster, "y(a(i,j)) += 1;", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN(a));
    case 10:
        other = test_array(cluster, "block", three);
        status =
            dcl_reduce(cluster, "z(i,a(i,j),j) min= a(i,j);", DCL_OUT_AS("z", other), DCL_RESULT_AT(at), DCL_IN(a));
        break;
    case 11:
        return dcl_reduce(cluster, "y(a(i,j)) min= a(i,j);", DCL_OUT(y), DCL_RESULT_AT(at), DCL_IN(a));
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
