/* test/runtime/reduce_test.c - reductions of arrays to values: the same bits on all nodes and under all maps, compared with
 * plain loops; wrong calls. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(reduce, .timeout = TEST_SECONDS);

enum { ROWS = 61, COLUMNS = 83, MOST = 3 };

static float A[ROWS][COLUMNS], x[COLUMNS];
static int32_t N[ROWS][COLUMNS];

static void fill(void)
{
    uint32_t state = 3;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            state = state * 1664525 + 1013904223;
            A[i][j] = (float)(int32_t)state * 0x1p-22F;
            x[j] = A[i][j] / 3;
            N[i][j] = (int32_t)(state >> 8);
        }
}

/* What all reductions of a cluster have found. */
struct found {
    double sum, form;
    float single, low, high;
    int32_t wrapped;
    uint16_t xored;
    int64_t positive;
};

static struct found expected(void)
{
    struct found all = {.low = INFINITY, .high = -INFINITY};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            all.sum += (double)A[i][j]; /* exact: the numbers have 24 bits, and exponents close together */
            all.low = fminf(all.low, A[i][j]);
            all.high = fmaxf(all.high, A[i][j]);
            all.wrapped = (int32_t)((uint32_t)all.wrapped + (uint32_t)N[i][j] * 1000);
            all.xored = (uint16_t)(all.xored ^ N[i][j]);
            all.positive += A[i][j] > 0;
        }
    all.single = (float)all.sum;
    return all;
}

static void reduce_all(dcl_cluster *cluster, const char *map, struct found *all)
{
    dcl_array *a = test_array(cluster, map, dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_array *n = test_array(cluster, map, dcl_grid_2d(DCL_INT32, ROWS, COLUMNS));
    dcl_array *v = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, COLUMNS));
    memset(all, 0, sizeof *all);
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_write(n, NULL, N, NULL));
    TEST_OK(dcl_write(v, NULL, x, NULL));
    TEST_OK(dcl_reduce(cluster, "s += a(i,j);", DCL_RESULT_AS("s", &all->sum), DCL_IN(a)));
    TEST_OK(dcl_reduce(cluster, "s -= -a(i,j); low min= a(i,j); high max= a(i,j); if (a(i,j) > 0) positive += 1;",
                       DCL_RESULT_AS("s", &all->single), DCL_RESULT_AS("low", &all->low),
                       DCL_RESULT_AS("high", &all->high), DCL_RESULT_AS("positive", &all->positive), DCL_IN(a)));
    TEST_OK(dcl_reduce(cluster, "w += n(k,l) * 1000; y ^= n(k,l);", DCL_RESULT_AS("w", &all->wrapped),
                       DCL_RESULT_AS("y", &all->xored), DCL_IN(n)));
    TEST_OK(
        dcl_reduce(cluster, "f += v(j) * a(i,j) * v(82 - j);", DCL_RESULT_AS("f", &all->form), DCL_IN(a), DCL_IN(v)));
    dcl_release(v);
    dcl_release(n);
    dcl_release(a);
}

static void expect_found(const struct found *found, const struct found *right, const char *what)
{
    cr_expect(found->sum == right->sum && found->single == right->single, "%s: %a %a", what, found->sum,
              (double)found->single);
    cr_expect(found->low == right->low && found->high == right->high, "%s", what);
    cr_expect(found->wrapped == right->wrapped && found->xored == right->xored && found->positive == right->positive,
              "%s: %d %d %d", what, (int)found->wrapped, (int)found->xored, (int)found->positive);
}

/* The same bits wherever the elements are, also of a sum whose products are rounded. */
/* @param program  of worker processes; NULL: threads */
static void same_everywhere(const char *program)
{
    static const char *const maps[] = {"block", "rows:cyclic(3x7)", "cyclic", "*,block", "replicated"};
    fill();
    struct found right = expected(), first;
    bool some = false;
    for (int nodes = MOST; nodes >= 1; nodes--) { /* the first call asks for the devices of all */
        dcl_config config = test_config(program != NULL ? MOST : nodes);
        char processes[16];
        snprintf(processes, sizeof processes, "local:%d", nodes);
        if (program != NULL) {
            config.workers = processes;
            config.program = program;
        }
        dcl_cluster *cluster = test_open(&config);
        for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
            struct found found;
            char what[64];
            snprintf(what, sizeof what, "%d nodes, %s", nodes, maps[m]);
            reduce_all(cluster, maps[m], &found);
            expect_found(&found, &right, what);
            first = some ? first : found;
            some = true;
            cr_expect(found.form == first.form, "%s: %a, %a before", what, found.form, first.form);
        }
        TEST_OK(dcl_close(cluster));
    }
    double form = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            form += (double)(x[j] * A[i][j] * x[82 - j]);
    cr_expect(fabs(first.form - form) < 1e-9 * fabs(form) + 1e-3, "%a, in a loop %a", first.form, form);
}

Test(reduce, same_bits_of_threads) { same_everywhere(NULL); }

#ifdef TEST_DCL
Test(reduce, same_bits_of_processes) { same_everywhere(TEST_DCL); }
#endif

/* Lines of several strips whose bodies compare indices: strips end where a comparison changes. Beside an output, along an axis, and
 * minima. */
Test(reduce, comparisons_of_indices)
{
    enum { LINES = 5, LONG = 5000 };
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, LINES, LONG));
    dcl_array *b = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, LINES, LONG));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, LINES));
    static float b_found[LINES][LONG];
    double sum = 0, sum_found = -1, y_found[LINES];
    float low = INFINITY, low_found = 0;
    int64_t last = 0;
    for (int64_t n = 1; n < 6000; n += 1249) {
        sum = 0;
        low = INFINITY;
        TEST_OK(dcl_forall(cluster, "a(i,j) = (7 * i + 13 * j) % 1009;", DCL_OUT(a)));
        TEST_OK(dcl_reduce(cluster,
                           "float v = a(i,j) - (j > 0 ? a(i,j-1) : 0); if (i + j < n) v -= 3; b(i,j) = v;"
                           "sum_found += v; low_found min= n - j < 1000 ? v : 5;",
                           DCL_RESULT(sum_found), DCL_RESULT(low_found), DCL_OUT(b), DCL_IN(a), DCL_VALUE(n)));
        TEST_OK(dcl_reduce(cluster, "y(i) += j >= n || i < 2 ? a(i,j) : -1;", DCL_OUT(y), DCL_IN(a), DCL_VALUE(n)));
        TEST_OK(dcl_read(b, NULL, b_found, NULL));
        TEST_OK(dcl_read(y, NULL, y_found, NULL));
        for (int64_t i = 0; i < LINES; i++) {
            double along = 0;
            for (int64_t j = 0; j < LONG; j++) {
                float at = (float)((7 * i + 13 * j) % 1009),
                      v = at - (j > 0 ? (float)((7 * i + 13 * (j - 1)) % 1009) : 0);
                v -= i + j < n ? 3 : 0;
                cr_assert_eq(b_found[i][j], v, "n %d: b(%d,%d)", (int)n, (int)i, (int)j);
                sum += (double)v;
                low = fminf(low, n - j < 1000 ? v : 5);
                along += j >= n || i < 2 ? (double)at : -1;
            }
            cr_expect(y_found[i] == along, "n %d: y(%d) is %a, expected %a", (int)n, (int)i, y_found[i], along);
        }
        cr_expect(sum_found == sum && low_found == low, "n %d: %a %a, expected %a %a", (int)n, sum_found,
                  (double)low_found, sum, (double)low);
        last = n;
    }
    cr_expect(last > 4096, "beyond the last strip");
    TEST_OK(dcl_close(cluster));
}

/* A box, a view, an empty box, the same array again after it has changed. */
Test(reduce, boxes_and_views)
{
    fill();
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    TEST_OK(dcl_write(a, NULL, A, NULL));
    dcl_array *t = dcl_transpose(a);
    double box_sum = 0, turned = 0, found = 0;
    for (int i = 10; i < 40; i += 3)
        for (int j = 5; j < 6; j++)
            box_sum += (double)A[i][j];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            turned += (double)A[i][j] * j;
    dcl_box box = {.rank = 2, .start = {10, 5}, .count = {10, 1}, .stride = {3, 1}};
    TEST_OK(dcl_reduce_over(cluster, &box, "found += a(i,j);", DCL_RESULT(found), DCL_IN(a)));
    cr_expect(found == box_sum, "%a, expected %a", found, box_sum);
    TEST_OK(dcl_reduce(cluster, "found += (double)t(i,j) * i;", DCL_RESULT(found), DCL_IN(t)));
    cr_expect(fabs(found - turned) < 1e-9 * fabs(turned), "%a, expected %a", found, turned);
    box.count[0] = 0;
    float low = 0;
    TEST_OK(dcl_reduce_over(cluster, &box, "found += a(i,j); low min= a(i,j);", DCL_RESULT(found), DCL_RESULT(low),
                            DCL_IN(a)));
    cr_expect(found == 0 && low == INFINITY, "%a %a", found, (double)low);
    TEST_OK(dcl_forall(cluster, "a(i,j) = 0.5f;", DCL_OUT(a)));
    TEST_OK(dcl_reduce(cluster, "found += a(i,j) * a(60 - i,j);", DCL_RESULT(found), DCL_IN(a)));
    cr_expect(found == 0.25 * ROWS * COLUMNS, "%a", found);
    dcl_release(t);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

struct wrong_case {
    char what[32];
    int which;
    dcl_status status;
    char words[64];
};

ParameterizedTestParameters(reduce, refused)
{
    static struct wrong_case cases[] = {
        {"no result", 0, DCL_ERR_INVALID, "no argument is a result"},
        {"no input", 1, DCL_ERR_BODY, "no array has an index as its subscript"},
        {"an output", 2, DCL_ERR_BODY, "is DCL_OUT, but the body does not assign to it"},
        {"a result in a body", 3, DCL_ERR_INVALID, "expected dcl_reduce()"},
        {"no variable", 4, DCL_ERR_INVALID, "DCL_RESULT s has no variable"},
        {"a type without results", 5, DCL_ERR_INVALID, "has type number 9"},
        {"a word that does not compile", 6, DCL_ERR_BODY, "line 1, column 6"},
        {"an index without a range", 7, DCL_ERR_BODY, "the range of index k is unknown"},
        {"text is NULL", 8, DCL_ERR_INVALID, "body is NULL"},
        {"a setting in a body", 9, DCL_ERR_INVALID, "argument 1 is DCL_FAST"},
        {"products of other elements", 10, DCL_ERR_INVALID, "differ in axis 1: rank 2, extent 4"},
        {"an array that is no result", 11, DCL_ERR_INVALID, "expected the address of a variable"},
        {"a norm of no variable", 12, DCL_ERR_INVALID, "the norm has a result of type number"},
        {"a product of nothing", 13, DCL_ERR_INVALID, "the other array of the product is NULL"},
        {"two operators", 14, DCL_ERR_BODY, "reduced by another operator"},
        {"a name of the library", 15, DCL_ERR_BODY, "has a name that begins with ordered_"},
        {"a comma", 16, DCL_ERR_BODY, "has a comma"},
        {"a result that is read", 17, DCL_ERR_BODY, "its value is known only after the call"},
        {"a result that is not reduced", 18, DCL_ERR_BODY, "the body does not reduce it"},
    };
    return cr_make_param_array(struct wrong_case, cases, sizeof cases / sizeof cases[0]);
}

static dcl_status call_wrongly(dcl_cluster *cluster, int which, dcl_array *a, double *s)
{
    switch (which) {
    case 0:
        return dcl_reduce(cluster, "a(i) = 1;", DCL_IN(a));
    case 1:
        return dcl_reduce(cluster, "s += 1;", DCL_RESULT_AS("s", s), DCL_IN(a));
    case 2:
        return dcl_reduce(cluster, "s += a(i,j);", DCL_RESULT_AS("s", s), DCL_OUT(a));
    case 3:
        return dcl_forall(cluster, "a(i,j) = 1;", DCL_OUT(a), DCL_RESULT_AS("s", s));
    case 4:
        return dcl_reduce(cluster, "s += a(i,j);", dcl_arg_result("s", DCL_DOUBLE, NULL), DCL_IN(a));
    case 5:
        return dcl_reduce(cluster, "s += a(i,j);", dcl_arg_result("s", DCL_HALF, s), DCL_IN(a));
    case 6:
        return dcl_reduce(cluster, "s += b + a(i,j);", DCL_RESULT_AS("s", s), DCL_IN(a));
    case 7:
        return dcl_reduce(cluster, "s += a(i,2 * k);", DCL_RESULT_AS("s", s), DCL_IN(a));
    case 8:
        return dcl_reduce(cluster, NULL, DCL_RESULT_AS("s", s), DCL_IN(a));
    case 9:
        return dcl_forall(cluster, "a(i,j) = 1;", DCL_OUT(a), DCL_FAST);
    case 10: {
        dcl_array *other = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 5));
        dcl_status status = dcl_dot(a, other, s);
        dcl_release(other);
        return status;
    }
    case 11:
        return dcl_sum_to(a, DCL_IN(a));
    case 12:
        return dcl_norm2(a, &(int){0});
    case 13:
        return dcl_dot(a, NULL, s);
    case 14:
        return dcl_reduce(cluster, "s += a(i,j); s max= a(i,j);", DCL_RESULT_AS("s", s), DCL_IN(a));
    case 15:
        return dcl_reduce(cluster, "s *= a(i,j); ordered_x = 1;", DCL_RESULT_AS("s", s), DCL_IN(a));
    case 16:
        return dcl_reduce(cluster, "s += a(i,j), 1;", DCL_RESULT_AS("s", s), DCL_IN(a));
    case 17:
        return dcl_reduce(cluster, "s += a(i,j); if (s > 1) s += 1;", DCL_RESULT_AS("s", s), DCL_IN(a));
    default:
        return dcl_reduce(cluster, "float t = a(i,j); t += 1;", DCL_RESULT_AS("s", s), DCL_IN(a));
    }
}

ParameterizedTest(struct wrong_case *c, reduce, refused)
{
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, 4, 4));
    double s = 7;
    cr_expect_eq(call_wrongly(cluster, c->which, a, &s), c->status, "%s: %s", c->what, dcl_error());
    cr_expect(strstr(dcl_error(), c->words) != NULL, "%s: %s; expected %s", c->what, dcl_error(), c->words);
    cr_expect_eq(s, 7, "%s: the variable has changed", c->what);
    dcl_clear_error(cluster);
    TEST_OK(dcl_reduce(cluster, "s += a(i,j) + 1;", DCL_RESULT_AS("s", &s), DCL_IN(a)));
    cr_expect_eq(s, 16);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* DCL_FAST: what is exact in any order is so; other sums are nearly those of a loop. Other operators are as without it. */
Test(reduce, in_any_order)
{
    fill();
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "rows:cyclic(3x70)", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    TEST_OK(dcl_write(a, NULL, A, NULL));
    struct found right = expected();
    double sum = 0, thirds = 0, loop = 0;
    float high = 0, many = 0, endless = 0;
    long positive = 0;
    TEST_OK(
        dcl_reduce(cluster, "sum += a(i,j); thirds += a(i,j) / 3.0; high max= a(i,j); if (a(i,j) > 0) positive += 1;",
                   DCL_RESULT(sum), DCL_RESULT(thirds), DCL_RESULT(high), DCL_RESULT(positive), DCL_FAST, DCL_IN(a)));
    TEST_OK(dcl_reduce(cluster, "many += (float)(i + j); endless += 1 / (a(i,j) - a(0,0));", DCL_FAST, DCL_RESULT(many),
                       DCL_RESULT(endless), DCL_IN(a)));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            loop += A[i][j] / 3.0;
    cr_expect(sum == right.sum && high == right.high && positive == right.positive, "%a %a %ld", sum, (double)high,
              positive);
    cr_expect(fabs(thirds - loop) <= 1e-9 * fabs(loop) && many == ROWS * COLUMNS * ((ROWS - 1) + (COLUMNS - 1)) / 2.0F,
              "%a, in a loop %a; %a", thirds, loop, (double)many);
    cr_expect(isinf(endless), "%a", (double)endless);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

Test(reduce, shorthands)
{
    fill();
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_2d(DCL_FLOAT, ROWS, COLUMNS));
    dcl_array *n = test_array(cluster, "cyclic", dcl_grid_nd(DCL_INT32, 3, (int64_t[]){2, 3, 4}, NULL));
    TEST_OK(dcl_write(a, NULL, A, NULL));
    TEST_OK(dcl_forall(cluster, "n(i,j,k) = 100 * i + 10 * j + k;", DCL_OUT(n)));
    struct found right = expected();
    double sum, norm, squares = 0, product;
    float low, high, single;
    long product_of_integers;
    unsigned short wrapped;
    TEST_OK(dcl_sum(a, &sum));
    TEST_OK(dcl_min(a, &low));
    TEST_OK(dcl_max(a, &high));
    TEST_OK(dcl_norm2(a, &norm));
    TEST_OK(dcl_norm2(a, &single));
    TEST_OK(dcl_dot(a, a, &product));
    TEST_OK(dcl_dot(n, n, &product_of_integers));
    TEST_OK(dcl_sum(n, &wrapped));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            squares += (double)A[i][j] * A[i][j];
    cr_expect(sum == right.sum && low == right.low && high == right.high, "%a %a %a", sum, (double)low, (double)high);
    cr_expect(fabs(norm - sqrt(squares)) <= 1e-12 * norm && single == (float)norm && norm == sqrt(product), "%a %a %a",
              norm, (double)single, product);
    cr_expect(product_of_integers == 152404, "%ld", product_of_integers);
    cr_expect(wrapped == 1476, "%d", wrapped);
    dcl_release(n);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* A read outside the array counts as 0: the value is there, and so is the error. */
Test(reduce, reads_outside)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100));
    long sum = -1;
    TEST_OK(dcl_forall(cluster, "a(i) = 1;", DCL_OUT(a)));
    cr_expect_eq(dcl_reduce(cluster, "sum += a(i) + a(i + 30);", DCL_RESULT(sum), DCL_IN(a)), DCL_ERR_RANGE);
    cr_expect_eq(sum, 170, "%ld", sum);
    dcl_clear_error(cluster);
    TEST_OK(dcl_reduce(cluster, "sum += a(i);", DCL_RESULT(sum), DCL_IN(a)));
    cr_expect_eq(sum, 100);
    dcl_release(a);
    dcl_close(cluster);
}

/* The arrays of partial results are used again: no call makes more. */
Test(reduce, memory_does_not_grow)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 1000));
    int64_t before = 0;
    float sum;
    for (int r = 0; r < 50; r++) {
        TEST_OK(dcl_reduce(cluster, "sum += a(i) + 1;", DCL_RESULT(sum), DCL_IN(a)));
        cr_expect_eq(sum, 1000);
        int64_t bytes = test_counters(cluster, DCL_ALL_NODES).storage_bytes;
        cr_expect(r == 0 || bytes == before, "call %d: %lld bytes, %lld before", r, (long long)bytes,
                  (long long)before);
        before = bytes;
    }
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* Elements that the input does not store count as the map's fill value. */
Test(reduce, elements_that_are_not_stored)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block;every=3;rest=-5", dcl_grid_1d(DCL_FLOAT, 100));
    dcl_array *s = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 2));
    double sum = 7;
    float low = 7, element[2];
    int64_t where[1];
    dcl_counters planned, before, after;
    TEST_OK(dcl_forall(cluster, "a(i) = i;", DCL_OUT(a)));
    const dcl_call call = *DCL_CALL_REDUCTION(cluster, NULL, "sum += a(i); low min= a(i);", DCL_RESULT(sum),
                                              DCL_RESULT(low), DCL_RESULT_AT(where), DCL_IN(a));
    TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &before));
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_stats(cluster, DCL_ALL_NODES, &after));
    cr_expect_eq(sum, 33 * 34 / 2 * 3 - 66 * 5, "%g", sum); /* 0, 3, ..., 99 are stored */
    cr_expect(low == -5 && where[0] == 1, "%g at %d", (double)low, (int)where[0]);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.tasks - before.tasks, planned.tasks);
    TEST_OK(dcl_reduce(cluster, "s(1) += a(i);", DCL_OUT(s), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, element, NULL));
    cr_expect_eq(element[1], (float)sum);
    TEST_OK(dcl_reduce(cluster, "s(a(i) < 0 ? 0 : 1) += 1;", DCL_OUT(s), DCL_IN(a)));
    TEST_OK(dcl_read(s, NULL, element, NULL));
    cr_expect(element[0] == 66 && element[1] == 34);
    dcl_release(s);
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

/* Threads of a program that reduce at the same time have partial results of their own. */
static void *reduce_often(void *array)
{
    dcl_array *a = array;
    for (int r = 0; r < 20; r++) {
        long sum = 0;
        if (dcl_reduce(dcl_cluster_of(a), "sum += a(i);", DCL_RESULT(sum), DCL_IN(a)) != DCL_OK || sum != 1000)
            return array;
    }
    return NULL;
}

Test(reduce, threads)
{
    enum { THREADS = 3 };
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 1000));
    TEST_OK(dcl_forall(cluster, "a(i) = 1;", DCL_OUT(a)));
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&thread[t], NULL, reduce_often, a), 0);
    for (int t = 0; t < THREADS; t++) {
        void *failed;
        pthread_join(thread[t], &failed);
        cr_expect_null(failed, "%s", dcl_error());
    }
    dcl_release(a);
    TEST_OK(dcl_close(cluster));
}

Test(reduce, clusters_that_only_plan)
{
    dcl_cluster *cluster = dcl_open_plan(2);
    dcl_array *a = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, 100));
    double sum = 7;
    TEST_REFUSED(dcl_reduce(cluster, "sum += a(i);", DCL_RESULT(sum), DCL_IN(a)), DCL_ERR_UNSUPPORTED, "only plans");
    dcl_release(a);
    dcl_close(cluster);
}
