/* test/runtime/space_test.c - tests reductions in which no input is read at all indices: ranges come from subscripts in which an
 * index stands alone, from DCL_OVER, or from a box. Whole numbers, so that plain loops give the same results. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(space, .timeout = TEST_SECONDS);

enum { ROWS = 12, COLUMNS = 17, KEYS = ROWS + COLUMNS - 1, NUMBERS = 1000, MOST = 3 };

static int S[ROWS][ROWS], A[ROWS][COLUMNS], x[COLUMNS], y[ROWS];

static void fill(void)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            A[i][j] = (7 * i + 5 * j) % 11 - 4;
        for (int j = 0; j < ROWS; j++)
            S[i][j] = (3 * i + j) % 7;
        y[i] = i % 5 - 1;
    }
    for (int j = 0; j < COLUMNS; j++)
        x[j] = 2 * (j % 3) - 1;
}

struct found {
    int trace, outer, part, boxed, product[KEYS], most;
    int64_t triple, at[2], squares;
    double wallis;
    int64_t element;
};

static void expect(struct found *right)
{
    memset(right, 0, sizeof *right);
    right->most = INT32_MIN;
    right->wallis = 1;
    for (int i = 0; i < ROWS; i++) {
        right->trace += S[i][i];
        for (int j = 0; j < COLUMNS; j++) {
            right->outer += y[i] * x[j];
            right->product[i + j] += y[i] * x[j];
            for (int k = 0; k <= i; k++)
                right->triple += (int64_t)S[k][i] * A[i][j];
            if (y[i] * x[j] > right->most) {
                right->most = y[i] * x[j];
                right->at[0] = i;
                right->at[1] = j;
            }
        }
    }
    for (int i = 0; 2 * i < COLUMNS; i++)
        right->part += x[2 * i];
    for (int j = 3; j < 3 + 5; j++)
        right->boxed += x[2 * j];
    for (int64_t i = -5; i < NUMBERS; i++)
        right->squares += i * i;
    right->element = right->squares;
    for (int i = 1; i < 30; i++)
        right->wallis *= 1 + 1.0 / (1 << i);
}

static void reduce_all(dcl_cluster *cluster, const char *map, const char *line, struct found *found)
{
    int64_t n = NUMBERS;
    dcl_array *s = test_array(cluster, map, dcl_grid_2d(DCL_INT32, ROWS, ROWS));
    dcl_array *a = test_array(cluster, map, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS));
    dcl_array *u = test_array(cluster, line, dcl_grid_1d(DCL_INT32, COLUMNS));
    dcl_array *v = test_array(cluster, line, dcl_grid_1d(DCL_INT32, ROWS));
    dcl_array *c = test_array(cluster, line, dcl_grid_1d(DCL_INT32, KEYS));
    dcl_array *e = test_array(cluster, line, dcl_grid_1d(DCL_INT64, 4));
    memset(found, 0, sizeof *found);
    TEST_OK(dcl_write(s, NULL, S, NULL));
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(u, NULL, x, NULL));
    TEST_OK(dcl_write(v, NULL, y, NULL));
    TEST_OK(dcl_reduce(cluster, "t += s(i,i);", DCL_RESULT_AS("t", &found->trace), DCL_IN(s)));
    TEST_OK(dcl_reduce(cluster, "t += v(i) * u(j); m max= v(i) * u(j); // both", DCL_RESULT_AS("t", &found->outer),
                       DCL_RESULT_AS("m", &found->most), DCL_RESULT_AT(found->at), DCL_IN(u), DCL_IN(v)));
    TEST_OK(dcl_reduce(cluster, "c(i+j) += v(i) * u(j);", DCL_OUT(c), DCL_IN(u), DCL_IN(v)));
    TEST_OK(dcl_reduce(cluster, "t += (long)s(k,i) * a(i,j);", DCL_RESULT_AS("t", &found->triple), DCL_IN(s), DCL_IN(a),
                       DCL_OVER("0 <= k <= i")));
    TEST_OK(dcl_reduce(cluster, "t += u(2*i);", DCL_RESULT_AS("t", &found->part), DCL_IN(u),
                       DCL_OVER("0 <= i < (17 + 1) * 1 - 9")));
    dcl_box box = dcl_box_nd(1, (int64_t[]){3}, (int64_t[]){5});
    TEST_OK(dcl_reduce_over(cluster, &box, "t += u(2*j);", DCL_RESULT_AS("t", &found->boxed), DCL_IN(u)));
    /* no input at all */
    TEST_OK(
        dcl_reduce(cluster, "t += i * i;", DCL_RESULT_AS("t", &found->squares), DCL_VALUE(n), DCL_OVER("-5 <= i < n")));
    int rows = 0;
    TEST_OK(dcl_reduce(cluster, "t += 1;", DCL_RESULT_AS("t", &rows), DCL_OVER("0 <= j < 7")));
    cr_expect_eq(rows, 7);
    TEST_OK(dcl_reduce(cluster, "e(2) += i * i;", DCL_OUT(e), DCL_VALUE(n), DCL_OVER("-5 <= i < n")));
    TEST_OK(
        dcl_reduce(cluster, "t *= 1 + 1.0 / (1 << i);", DCL_RESULT_AS("t", &found->wallis), DCL_OVER("1 <= i < 30")));
    int64_t elements[4];
    TEST_OK(dcl_read(e, NULL, elements, NULL));
    TEST_OK(dcl_read(c, NULL, found->product, NULL));
    found->element = elements[2];
    dcl_array *made[] = {e, c, v, u, a, s};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

static void same_on(dcl_cluster *cluster, const struct found *right)
{
    static const char *const maps[][2] = {{"block", "block"}, {"rows:cyclic(2x3)", "cyclic(3)"}};
    for (int m = 0; m < 2; m++) {
        struct found found;
        reduce_all(cluster, maps[m][0], maps[m][1], &found);
        cr_expect_eq(found.trace, right->trace, "%s: %d", maps[m][0], found.trace);
        cr_expect_eq(found.outer, right->outer, "%s: %d", maps[m][1], found.outer);
        cr_expect_eq(found.triple, right->triple, "%s: %lld", maps[m][0], (long long)found.triple);
        cr_expect_eq(found.part, right->part, "%s: %d", maps[m][1], found.part);
        cr_expect_eq(found.boxed, right->boxed, "%s: %d", maps[m][1], found.boxed);
        cr_expect_eq(found.squares, right->squares, "%lld", (long long)found.squares);
        cr_expect_eq(found.element, right->element, "%lld", (long long)found.element);
        cr_expect(found.wallis == right->wallis, "%a, not %a", found.wallis, right->wallis);
        cr_expect(found.most == right->most && memcmp(found.at, right->at, sizeof found.at) == 0, "%d at %lld, %lld",
                  found.most, (long long)found.at[0], (long long)found.at[1]);
        cr_expect(memcmp(found.product, right->product, sizeof found.product) == 0, "%s", maps[m][1]);
    }
    TEST_OK(dcl_close(cluster));
}

Test(space, indices_have_ranges_without_an_input_that_has_all)
{
    struct found right;
    fill();
    expect(&right);
    for (int nodes = MOST; nodes >= 1; nodes--)
        same_on(open_nodes(nodes), &right);
}

Test(space, is_explained)
{
    dcl_cluster *cluster = open_nodes(MOST);
    dcl_array *u = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, COLUMNS));
    dcl_array *v = test_array(cluster, "cyclic(3)", dcl_grid_1d(DCL_INT32, ROWS));
    dcl_array *c = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, KEYS));
    int t;
    dcl_counters planned, before, after;
    for (int keyed = 0; keyed < 2; keyed++) {
        const dcl_call *call =
            keyed ? DCL_CALL_REDUCTION(cluster, NULL, "c(i+j) += v(i) * u(j);", DCL_OUT(c), DCL_IN(u), DCL_IN(v))
                  : DCL_CALL_REDUCTION(cluster, NULL, "t += v(i) * u(j); m max= v(i) * u(j); // both", DCL_RESULT(t),
                                       DCL_RESULT_AS("m", &t), DCL_IN(u), DCL_IN(v));
        TEST_OK(dcl_call_explain(call, DCL_ALL_NODES, &planned));
        TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
        TEST_OK(dcl_call_run(call));
        TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
        cr_expect_eq(planned.bytes_moved, after.bytes_moved - before.bytes_moved);
        cr_expect_eq(planned.blocks_moved, after.blocks_moved - before.blocks_moved);
        cr_expect_eq(planned.messages_planned, after.messages_planned - before.messages_planned);
        cr_expect_eq(planned.tasks, after.tasks - before.tasks);
        cr_expect_gt(planned.bytes_moved, 0);
    }
    dcl_release(c);
    dcl_release(v);
    dcl_release(u);
    TEST_OK(dcl_close(cluster));
}

/* Reductions along axes with a loop whose variable stands in subscripts. */
Test(space, loops_in_reductions_along_axes)
{
    const int w[] = {2, -1, 3};
    fill();
    for (int nodes = MOST; nodes >= 1; nodes -= MOST - 1) {
        dcl_cluster *cluster = open_nodes(nodes);
        dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_INT32, ROWS, COLUMNS));
        dcl_array *u = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 3));
        dcl_array *v = test_array(cluster, "cyclic(5)", dcl_grid_1d(DCL_INT32, ROWS));
        dcl_counters planned, before, after;
        int64_t n = COLUMNS - 2;
        int found[ROWS], longer[ROWS];
        TEST_OK(dcl_write(a, NULL, A, NULL));
        TEST_OK(dcl_write(u, NULL, w, NULL));
        const dcl_call *call =
            DCL_CALL_REDUCTION(cluster, NULL, "int t = 0; for (int d = 0; d < 3; d++) t += a(i,j+d) * u(d); v(i) += t;",
                               DCL_OUT(v), DCL_IN(a), DCL_IN(u), DCL_VALUE(n), DCL_OVER("0 <= j < n"));
        TEST_OK(dcl_call_explain(call, DCL_ALL_NODES, &planned));
        TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
        TEST_OK(dcl_call_run(call));
        TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
        cr_expect_eq(planned.bytes_moved, after.bytes_moved - before.bytes_moved);
        TEST_OK(dcl_read(v, NULL, found, NULL));
        /* an input that is read at all indices */
        TEST_OK(dcl_reduce(cluster, "for (int d = 0; d < 3; d++) v(i) += a(i,j) * u(d);", DCL_INOUT(v), DCL_IN(a),
                           DCL_IN(u)));
        TEST_OK(dcl_read(v, NULL, longer, NULL));
        for (int i = 0; i < ROWS; i++) {
            int sum = 0, all = 0;
            for (int j = 0; j < COLUMNS; j++) {
                all += A[i][j] * 4;
                for (int d = 0; d < 3 && j < n; d++)
                    sum += A[i][j + d] * w[d];
            }
            cr_expect_eq(found[i], sum, "%d: %d, not %d", i, found[i], sum);
            cr_expect_eq(longer[i], sum + all, "%d: %d, not %d", i, longer[i], sum + all);
        }
        TEST_REFUSED(
            dcl_reduce(cluster, "for (int d = 0; d < 3; d++) u(i) += a(i,j) * v(d);", DCL_OUT(u), DCL_IN(a), DCL_IN(v)),
            DCL_ERR_INVALID, "index i runs over 0..11 as axis 0 of a, and over 0..2 as axis 0 of u");
        dcl_clear_error(cluster);
        dcl_release(v);
        dcl_release(u);
        dcl_release(a);
        TEST_OK(dcl_close(cluster));
    }
}

/* The library's array has a name that the program does not use, be it as an argument, a variable or in a prelude. */
Test(space, the_name_of_the_space_is_free)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *u = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, COLUMNS));
    int t = 0, one = 1;
    TEST_OK(dcl_fill(u, &one));
    TEST_OK(dcl_reduce(cluster, "t += index_space(2*i);", DCL_RESULT(t), DCL_IN_AS("index_space", u),
                       DCL_OVER("0 <= i < 5")));
    cr_expect_eq(t, 5);
    TEST_OK(dcl_reduce(cluster, "int index_space = 3; t += index_space * u(2*i);", DCL_RESULT(t), DCL_IN(u),
                       DCL_OVER("0 <= i < 5")));
    cr_expect_eq(t, 15);
    TEST_OK(dcl_reduce(cluster, "t += index_space(u(2*i));", DCL_RESULT(t), DCL_IN(u), DCL_OVER("0 <= i < 5"),
                       DCL_PRELUDE("int index_space(int index_space_2) { return 4 * index_space_2; }")));
    cr_expect_eq(t, 20);
    dcl_release(u);
    TEST_OK(dcl_close(cluster));
}

Test(space, wrong_calls_are_refused)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *u = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, COLUMNS));
    int t = 7;
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){5, 5});
    TEST_REFUSED(dcl_reduce(cluster, "t += u(2*i);", DCL_RESULT(t), DCL_IN(u)), DCL_ERR_BODY,
                 "the range of index i is unknown, because it stands alone in no subscript");
    TEST_REFUSED(dcl_reduce(cluster, "t += u(i+j);", DCL_RESULT(t), DCL_IN(u), DCL_OVER("0 <= i <= j, 0 <= j <= i")),
                 DCL_ERR_BODY, "the range of index i is unknown");
    TEST_REFUSED(dcl_reduce_over(cluster, &box, "t += u(2*i);", DCL_RESULT(t), DCL_IN(u)), DCL_ERR_INVALID,
                 "the box has 2 axes; expected 1, one for each index of the body");
    cr_expect_eq(dcl_status_of(cluster), DCL_ERR_BODY, "the first error is kept");
    TEST_REFUSED(dcl_reduce(cluster, "t += i;", DCL_RESULT(t), DCL_IN(u)), DCL_ERR_BODY,
                 "no array has an index as its subscript, and DCL_OVER gives no index a range");
    dcl_array *w = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 3));
    TEST_REFUSED(dcl_reduce(cluster, "i(j) += u(i);", DCL_OUT_AS("i", w), DCL_IN(u)), DCL_ERR_BODY,
                 "i is an argument here, so it is no index; give the argument another name");
    TEST_REFUSED(dcl_reduce(cluster, "i(i) += u(j);", DCL_OUT_AS("i", w), DCL_IN(u)), DCL_ERR_BODY,
                 "i is an argument here, so it is no index");
    dcl_clear_error(cluster);
    TEST_REFUSED(dcl_dot(u, w, &t), DCL_ERR_INVALID, "dcl_dot: the arrays of a product differ in axis 0");
    cr_expect_eq(dcl_status_of(cluster), DCL_ERR_INVALID, "the error of a shorthand is the cluster's, too");
    TEST_REFUSED(dcl_sum(NULL, &t), DCL_ERR_INVALID, "dcl_sum: the array to reduce is NULL");
    dcl_release(w);
    cr_expect_eq(t, 7);
    dcl_release(u);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}
