/* test/runtime/leaves_test.c - tests reductions to values and into elements that are combined in one order: products that round,
 * and operators of the program. They have the bits of plain loops on any number of nodes and under any map. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(leaves, .timeout = TEST_SECONDS);

enum { ROWS = 3, COLUMNS = 2500, LEAF = 1024, MOST = 3 };

static float A[ROWS][COLUMNS];
static double L[COLUMNS];

static void fill(void)
{
    uint32_t state = 3;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            state = state * 1664525 + 1013904223;
            A[i][j] = 1 + ldexpf((float)(int32_t)state, -38);
            L[j] = ldexp((double)(int32_t)state, -20);
        }
}

/* An operator that is neither associative nor commutative shows every change of the order. */
static const char own[] = "double mix(double a, double b) { return a == 0 ? b : b == 0 ? a : a * 0.5 + b; }";

static double mix(double a, double b) { return a == 0 ? b : b == 0 ? a : a * 0.5 + b; }

/* Combine values by leaves until one is left. */
static double by_leaves(double (*combine)(double, double), int count, double values[])
{
    while (count > 1) {
        int leaves = (count + LEAF - 1) / LEAF;
        for (int l = 0; l < leaves; l++) {
            double all = values[l * LEAF];
            for (int n = l * LEAF + 1; n < count && n < (l + 1) * LEAF; n++)
                all = combine(all, values[n]);
            values[l] = all;
        }
        count = leaves;
    }
    return values[0];
}

static double times(double a, double b) { return (double)((float)a * (float)b); }

struct found {
    float product;
    double mixed, part, element, added;
    long count;
};

static void expect(struct found *right)
{
    static double rows[ROWS], line[COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            line[j] = A[i][j];
        rows[i] = by_leaves(times, COLUMNS, line);
    }
    right->product = (float)by_leaves(times, ROWS, rows);
    memcpy(line, L, sizeof line);
    right->mixed = by_leaves(mix, COLUMNS, line);
    right->added = mix(-7, right->mixed);
    right->element = right->mixed;
    for (int j = 0; j < COLUMNS; j++)
        line[j] = j % 2 == 0 && j < 2000 ? L[j] + L[j + 1] : 0;
    right->part = by_leaves(mix, COLUMNS, line);
    right->count = 1000;
}

static void reduce_all(dcl_cluster *cluster, const char *map, const char *other, struct found *found)
{
    const double seven = -7;
    dcl_array *a = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_array *l = test_array(cluster, other, dcl_grid_1d(DCL_DOUBLE, COLUMNS));
    dcl_array *e = test_array(cluster, other, dcl_grid_1d(DCL_DOUBLE, 4));
    dcl_array *f = test_array(cluster, map, dcl_grid_2d(DCL_DOUBLE, 2, 2));
    memset(found, 0, sizeof *found);
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(l, NULL, L, NULL));
    TEST_OK(dcl_fill(f, &seven));
    TEST_OK(dcl_reduce(cluster, "p *= a(i,j);", DCL_RESULT_AS("p", &found->product), DCL_IN(a)));
    TEST_OK(dcl_reduce(cluster, "m mix= l(i);", DCL_RESULT_AS("m", &found->mixed), DCL_IN(l), DCL_OPERATOR("mix", "0"),
                       DCL_PRELUDE(own)));
    /* a condition, a range, another result, another input */
    TEST_OK(dcl_reduce(cluster, "if (j % 2 == 0) { m mix= l(j) + l(j+1); n += 1; } /* both */",
                       DCL_RESULT_AS("m", &found->part), DCL_RESULT_AS("n", &found->count), DCL_IN(l),
                       DCL_OPERATOR("mix", "0"), DCL_PRELUDE(own), DCL_OVER("0 <= j < 2000")));
    TEST_OK(dcl_reduce(cluster, "e(3) mix= l(k);", DCL_OUT(e), DCL_IN(l), DCL_OPERATOR("mix", "0"), DCL_PRELUDE(own)));
    TEST_OK(
        dcl_reduce(cluster, "f(0,1) mix= l(k);", DCL_INOUT(f), DCL_IN(l), DCL_OPERATOR("mix", "0"), DCL_PRELUDE(own)));
    double elements[4], others[2][2];
    TEST_OK(dcl_read(e, NULL, elements, NULL));
    TEST_OK(dcl_read(f, NULL, others, NULL));
    found->element = elements[3];
    found->added = others[0][1];
    cr_expect(others[0][0] == seven && others[1][1] == seven, "other elements have changed");
    dcl_array *made[] = {f, e, l, a};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
        dcl_release(made[k]);
}

static void same_on(dcl_cluster *cluster, const struct found *right)
{
    static const char *const maps[][2] = {
        {"block", "block"}, {"rows:cyclic(2x77)", "cyclic(3)"}, {"*,splits(700,701)", "rows:hash"}};
    for (int m = 0; m < 3; m++) {
        struct found found;
        reduce_all(cluster, maps[m][0], maps[m][1], &found);
        cr_expect(found.product == right->product, "%s: %a, not %a", maps[m][0], (double)found.product,
                  (double)right->product);
        cr_expect(found.mixed == right->mixed, "%s: %a, not %a", maps[m][1], found.mixed, right->mixed);
        cr_expect(found.part == right->part && found.count == right->count, "%s: %a %ld, not %a %ld", maps[m][1],
                  found.part, found.count, right->part, right->count);
        cr_expect(found.element == right->element, "%s: %a, not %a", maps[m][1], found.element, right->element);
        cr_expect(found.added == right->added, "%s: %a, not %a", maps[m][1], found.added, right->added);
    }
    TEST_OK(dcl_close(cluster));
}

Test(leaves, same_bits)
{
    struct found right;
    fill();
    expect(&right);
    for (int nodes = MOST; nodes >= 1; nodes--)
        same_on(open_nodes(nodes), &right);
#ifdef TEST_DCL
    dcl_config config = test_config(MOST);
    config.workers = "local:2";
    config.program = TEST_DCL;
    same_on(test_open(&config), &right);
#endif
}

/* No values, boxes with strides, an index whose name is a macro, explain and the report. */
Test(leaves, edges)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *l = test_array(cluster, "cyclic", dcl_grid_1d(DCL_DOUBLE, 9));
    static const char macros[] = "#define i (never)\n#define k (never)\n";
    const dcl_box none = {.rank = 1, .start = {3}, .count = {0}, .stride = {1}};
    const dcl_box odd = {.rank = 1, .start = {1}, .count = {4}, .stride = {2}};
    double p = 5, two = 2;
    TEST_OK(dcl_fill(l, &two));
    TEST_OK(dcl_reduce_over(cluster, &none, "p *= l(i);", DCL_RESULT(p), DCL_IN(l)));
    cr_expect(p == 1, "of no values: %g", p);
    TEST_OK(dcl_reduce_over(cluster, &odd, "p *= l(i);", DCL_RESULT(p), DCL_IN(l)));
    cr_expect(p == 16, "of a box: %g", p);
    TEST_OK(dcl_reduce(cluster, "p *= l(j);", DCL_RESULT(p), DCL_IN(l), DCL_PRELUDE(macros)));
    cr_expect(p == 512, "with macros: %g", p);
    /* the indices of a loop body are the letters of its first output */
    TEST_OK(dcl_forall(cluster, "l(m) = m == 8 ? 2 : l(m);", DCL_INOUT(l)));
    TEST_REFUSED(dcl_forall(cluster, "l(m) = l(i);", DCL_INOUT(l)), DCL_ERR_BODY, "'i' in subscript 1 of l");
    dcl_counters before, after, planned;
    const dcl_call call = *DCL_CALL_REDUCTION(cluster, NULL, "p *= l(i);", DCL_RESULT(p), DCL_IN(l));
    TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect(p == 512, "of all: %g", p);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.tasks - before.tasks, planned.tasks);
    dcl_report *report = dcl_call_report(&call, DCL_ALL_NODES);
    cr_assert(report != NULL, "%s", dcl_error());
    cr_expect(strstr(report->method, "by leaves of 1024") != NULL, "%s", report->method);
    cr_expect(report->index_count == 1 && strcmp(report->index[0].use, "reduced") == 0 && report->index[0].count == 9);
    cr_expect_eq(report->planned.bytes_moved, planned.bytes_moved);
    dcl_report_release(report);
    dcl_release(l);
    dcl_clear_error(cluster);
    TEST_OK(dcl_close(cluster));
}
