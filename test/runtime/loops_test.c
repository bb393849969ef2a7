/* test/runtime/loops_test.c - tests calls of loop nests: arguments, types and conditions, memory of the program, what is kept and
 * explained. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(loops, .timeout = TEST_SECONDS);

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

#define COPY "for (i = 0; i < n; i++) y[i] = x[i];"

Test(loops, wrong_arguments_are_refused)
{
    dcl_cluster *cluster = open_nodes(1);
    const int n = 8;
    const dcl_box part = dcl_box_nd(1, (int64_t[]){0}, (int64_t[]){4});
    dcl_array *x = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n));
    dcl_array *some = test_array(cluster, "block;every=2", dcl_grid_1d(DCL_DOUBLE, n)), *view = dcl_sub(x, &part);
    TEST_REFUSED(dcl_loops(NULL, COPY, DCL_OUT(y), DCL_IN(x), DCL_VALUE(n)), DCL_ERR_INVALID,
                 "dcl_loops: cluster is NULL");
    TEST_REFUSED(dcl_loops(cluster, NULL, DCL_OUT(y)), DCL_ERR_INVALID, "body is NULL");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_IN(x), DCL_IN(y)), DCL_ERR_INVALID, "no argument is an output");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_OUT(y), DCL_IN_AS("y", x)), DCL_ERR_INVALID,
                 "two arguments have the name y");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_OUT_AS("y", x), DCL_IN(x)), DCL_ERR_INVALID,
                 "dcl_loops: nest:1:32: error: y and x are the same array, or views of one, which is written [alias]\n"
                 "    " COPY "\n                                   ^\n  note: expected one argument for it");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_OUT_AS("y", view), DCL_IN(x)), DCL_ERR_INVALID,
                 "y and x are the same array");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_OUT_AS("y", some), DCL_IN(x)), DCL_ERR_UNSUPPORTED, "y stores only some");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_OUT(y), DCL_IN_ALL(x)), DCL_ERR_INVALID, "a loop nest takes DCL_IN");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_OUT(y), DCL_IN(x)), DCL_ERR_BODY,
                 "dcl_loops: nest:1:17: error: n is not known");
    dcl_clear_error(cluster);
    dcl_release(view);
    dcl_release(some);
    dcl_release(y);
    dcl_release(x);
    dcl_close(cluster);
}

Test(loops, explained_is_counted)
{
    dcl_cluster *cluster = open_nodes(2);
    const int n = 64, steps = 3;
    static const char text[] = "for (t = 0; t < steps; t++) {\n"
                               "    for (i = 1; i < n - 1; i++) y[i] = x[i-1] + x[i+1];\n"
                               "    for (i = 1; i < n - 1; i++) x[i] = y[i] / 2;\n"
                               "}";
    dcl_array *x = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n));
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n));
    dcl_counters planned, before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_LOOPS(cluster, text, DCL_INOUT(x), DCL_INOUT(y), DCL_VALUE(n), DCL_VALUE(steps)),
                             DCL_ALL_NODES, &planned));
    TEST_OK(dcl_loops(cluster, text, DCL_INOUT(x), DCL_INOUT(y), DCL_VALUE(n), DCL_VALUE(steps)));
    dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
    cr_expect_eq(planned.bytes_moved, steps * 2 * (int64_t)sizeof(double), "one element of each neighbour per step");
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved);
    cr_expect_eq(after.tasks - before.tasks, planned.tasks);
    dcl_release(y);
    dcl_release(x);
    dcl_close(cluster);
}

/* The nests need arrays besides their arguments: a copy of x, and one for the values of s. They are not made to explain a call, and no two
 * arrays of a plan are taken for the same one. */
Test(loops, memory_of_the_program_is_explained)
{
    enum { N = 32 };
    static const char *const text[] = {"for (i = 0; i < n - 1; i++) x[i] = x[i + 1] * 0.5 + x[i] + y[i];",
                                       "for (i = 0; i < 8; i++) {\n"
                                       "    double s = 0;\n"
                                       "    for (j = 0; j < 4; j++) s = s * 0.5 + y[j + 4 * i];\n"
                                       "    x[i] = s;\n"
                                       "    for (j = 0; j < 3; j++) y[j + 1 + 4 * i] = y[j + 4 * i] * s;\n"
                                       "}"};
    dcl_cluster *cluster = open_nodes(2);
    const int n = N;
    double x[N], y[N];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++)
            x[i] = y[i] = i + 1;
        const dcl_call call =
            dcl_call_loops(cluster, text[k], 3, (dcl_arg[]){DCL_HOST_INOUT(x, N), DCL_HOST_INOUT(y, N), DCL_VALUE(n)});
        dcl_counters planned[2], before = test_counters(cluster, DCL_ALL_NODES);
        for (int again = 0; again < 2; again++)
            TEST_OK(dcl_call_explain(&call, DCL_ALL_NODES, &planned[again]));
        cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).storage_bytes, before.storage_bytes, "nest %d", k);
        cr_expect_eq(memcmp(&planned[0], &planned[1], sizeof planned[0]), 0, "nest %d", k);
        TEST_OK(dcl_call_run(&call));
        dcl_counters after = test_counters(cluster, DCL_ALL_NODES);
        cr_expect_eq(after.tasks - before.tasks, planned[0].tasks, "nest %d", k);
    }
    dcl_close(cluster);
}

/* Plans are kept: a call may take that of an earlier call only if all that the plan depends on is the same. */
Test(loops, kept_plans_are_of_the_same_sizes_and_grids)
{
    static const char text[] = "for (i = 0; i < n; i++) y[i] += a * i;";
    static const struct {
        int n, size;
        double a;
    } calls[] = {{8, 8, 1}, {8, 8, 2}, {5, 8, 1}, {5, 6, 1}, {8, 8, 3}, {6, 6, 2}, {5, 6, 4}};
    dcl_cluster *cluster = open_nodes(2);
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        const int n = calls[c].n;
        const double a = calls[c].a;
        double got[8];
        dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, calls[c].size));
        for (int k = 0; k < 20; k++)
            TEST_OK(dcl_loops(cluster, text, DCL_INOUT(y), DCL_VALUE(n), DCL_VALUE(a)));
        TEST_OK(dcl_read(y, NULL, got, NULL));
        for (int i = 0; i < calls[c].size; i++)
            cr_expect_eq(got[i], i < n ? 20 * a * i : 0, "call %zu, element %d: %g", c, i, got[i]);
        dcl_release(y);
    }
    for (int n = 1; n <= 40; n++) { /* more than are kept */
        dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 40));
        const double a = 1;
        double got[40];
        TEST_OK(dcl_loops(cluster, text, DCL_INOUT(y), DCL_VALUE(n), DCL_VALUE(a)));
        TEST_OK(dcl_read(y, NULL, got, NULL));
        cr_expect_eq(got[n - 1], n - 1, "%d iterations", n);
        cr_expect(n == 40 || got[n] == 0, "%d iterations", n);
        dcl_release(y);
    }
    dcl_close(cluster);
}

/* ---- threads that are found by a space partition ---------------------------------------------------------------------- */

/* Keep the last line of the log, which is a warning. */
static void keep_warning(void *user, int level, const char *line)
{
    (void)level;
    snprintf(user, 400, "%s", line);
}

/* A nest as C and as a text. */
#define NEST(name, ...)                                                                   \
    static void name##_run(int n, double *z, double *w, const double *x, const double *y) \
    {                                                                                     \
        (void)w, (void)x, (void)y;                                                        \
        __VA_ARGS__                                                                       \
    }                                                                                     \
    static const char name##_text[] = #__VA_ARGS__;

/* clang-format off */
NEST(up, for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) z[i + 2 * j] += x[i] * y[j];)
NEST(down, for (int i = n - 1; i >= 0; i -= 3) for (int j = i; j < n; j++) if (j != 5) z[i + 3 * j + 2] -= x[i] * y[n - 1 - j];)
NEST(across, for (int i = 2; i < n; i++) for (int j = n - 1; j >= 0; j--) {
    double p = x[i] - y[j];
    for (int k = 0; k < 3; k++) z[i - 2 * j + 2 * n] += p / (k + 1.0);
    w[i - 2 * j + 2 * n] = p;
})
NEST(pivot, for (int j = 0; j < n; j++) z[j] = z[j] * z[7] + y[j];)
NEST(diagonal, for (int i = n - 1; i >= 0; i--) for (int j = i; j < n; j++) z[j] -= z[i] * x[j];)
NEST(shifted, for (int i = 0; i < n; i++) for (int j = n - 1; j >= 0; j--) if (j != 3) {
    w[j + 2] = w[j + 2] / 2 + z[2] * w[i] + (i > j ? w[i + 1] : w[0]);
})
NEST(repeated, for (int i = 0; i < n; i++) {
    double s = z[i] - x[i];
    w[i + 1] = s * y[i];
    z[i] = s;
})
NEST(constants, double p = n / 7.0; float q = p - 1.5; double r = p * q; for (int t = 0; t < 3; t++) {
    for (int i = 1; i < n; i++) w[i] = p * z[i - 1] + q;
    for (int i = 1; i < n; i++) z[i] = q * w[i + 1] / r;
})
/* clang-format on */

/* No loop is parallel as it is written. In the first nests no counter follows from the element alone: threads are numbered by sums of
 * counters. The others read elements that change on the way: their loops are cut there. In `repeated`, the
 * operations on w and on z both compute the variable; in `constants`, the variables are replaced by their values. */
Test(loops, nests_that_are_parallel_in_other_loops_have_the_bits_of_sequential_c)
{
    enum { N = 23, LENGTH = 4 * N };
    static const struct {
        const char *name, *text;
        void (*run)(int n, double *z, double *w, const double *x, const double *y);
    } nests[] = {{"up", up_text, up_run},
                 {"down", down_text, down_run},
                 {"across", across_text, across_run},
                 {"pivot", pivot_text, pivot_run},
                 {"diagonal", diagonal_text, diagonal_run},
                 {"shifted", shifted_text, shifted_run},
                 {"repeated", repeated_text, repeated_run},
                 {"constants", constants_text, constants_run}};
    dcl_config config = test_config(2);
    char said[400] = "";
    config.log = "warn";
    config.log_fn = keep_warning;
    config.log_user = said;
    dcl_cluster *cluster = test_open(&config);
    const int n = N;
    for (size_t k = 0; k < sizeof nests / sizeof nests[0]; k++) {
        double z[LENGTH], w[LENGTH], x[N], y[N], right[2][LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            z[i] = right[0][i] = i / 7.0;
            w[i] = right[1][i] = -i;
            x[i % N] = (i % N * 37 % 64 - 31) / 16.0 + 0.1;
            y[i % N] = (i % N * 11 % 32 - 15) / 3.0 - 0.7;
        }
        TEST_OK(dcl_loops(cluster, nests[k].text, DCL_HOST_INOUT(z, LENGTH), DCL_HOST_INOUT(w, LENGTH),
                          DCL_HOST_IN(x, N), DCL_HOST_IN(y, N), DCL_VALUE(n)));
        nests[k].run(N, right[0], right[1], x, y);
        cr_expect_eq(memcmp(z, right[0], sizeof z), 0, "%s: z differs", nests[k].name);
        cr_expect_eq(memcmp(w, right[1], sizeof w), 0, "%s: w differs", nests[k].name);
    }
    cr_expect_str_empty(said); /* nothing runs in order */
    dcl_close(cluster);
}

static void keep_times(void *user, int level, const char *line)
{
    (void)level;
    if (strstr(line, "dcl_loops: started ") != NULL)
        snprintf(user, 400, "%s", line);
}

Test(loops, the_log_says_how_long_a_call_planned)
{
    dcl_config config = test_config(1);
    char said[400] = "";
    double all = -1, planned = -1, before = -1;
    config.log = "info";
    config.log_fn = keep_times;
    config.log_user = said;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 40));
    TEST_OK(dcl_loops(cluster, "for (t = 0; t < 3; t++) for (i = 1; i < 40; i++) y[i] += y[0];", DCL_INOUT(y)));
    const char *at = strstr(said, "started ");
    cr_assert(at != NULL && sscanf(at, "started 1 operation in %lf ms; %lf ms of these to plan them, %lf before", &all,
                                   &planned, &before) == 3,
              "%s", said);
    cr_expect(all >= planned && planned >= before && before > 0, "%s", said);
    dcl_release(y);
    dcl_close(cluster);
}

static void *run_same_nest(void *user)
{
    dcl_cluster *cluster = user;
    const int n = 50;
    dcl_array *y = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n));
    bool right = true;
    double got[50];
    for (int k = 0; k < 10; k++)
        TEST_OK(dcl_loops(cluster, "for (i = 0; i < n; i++) y[i] += i;", DCL_INOUT(y), DCL_VALUE(n)));
    TEST_OK(dcl_read(y, NULL, got, NULL));
    for (int i = 0; i < n; i++)
        right &= got[i] == 10 * i;
    dcl_release(y);
    return right ? cluster : NULL;
}

Test(loops, threads_run_one_nest_at_the_same_time)
{
    dcl_cluster *cluster = open_nodes(2);
    pthread_t thread[4];
    for (int t = 0; t < 4; t++)
        cr_assert_eq(pthread_create(&thread[t], NULL, run_same_nest, cluster), 0);
    for (int t = 0; t < 4; t++) {
        void *right;
        pthread_join(thread[t], &right);
        cr_expect_not_null(right, "thread %d", t);
    }
    dcl_close(cluster);
}

/* ---- memory of the program ------------------------------------------------------------------------------------------- */

/* The type and shape follow from the variable; elements that the nest does not assign keep their values. */
Test(loops, memory_of_the_program_is_read_and_written)
{
    enum { ROWS = 6, COLUMNS = 9 };
    dcl_cluster *cluster = open_nodes(2);
    const int n = ROWS, m = COLUMNS;
    float A[ROWS][COLUMNS], *B = malloc(sizeof A);
    const int32_t weight[COLUMNS] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    int64_t odd[ROWS][3][2], sum[ROWS];
    cr_assert_not_null(B);
    for (int i = 0; i < n; i++) {
        sum[i] = -7 * i;
        for (int j = 0; j < m; j++)
            A[i][j] = (float)(i * m + j), B[i * m + j] = -1;
        for (int j = 0; j < 6; j++)
            odd[i][j / 2][j % 2] = i * 6 + j;
    }
    TEST_OK(dcl_loops(cluster,
                      "for (i = 1; i < n; i++) {\n"
                      "    for (j = 0; j < m; j++) B[i][j] = A[i-1][j] * weight[j];\n"
                      "    if (i > 3) sum[i] += odd[i][2][1];\n"
                      "}",
                      DCL_HOST_IN(A, n, m), DCL_HOST_OUT(B, n, m), DCL_HOST_IN(weight, m), DCL_HOST_IN(odd, n, 3, 2),
                      DCL_HOST_INOUT(sum, n), DCL_VALUE(n), DCL_VALUE(m)));
    for (int i = 0; i < n; i++) {
        cr_expect_eq(sum[i], -7 * i + (i > 3 ? i * 6 + 5 : 0), "sum %d", i);
        for (int j = 0; j < m; j++)
            cr_expect_eq(B[i * m + j], i == 0 ? -1 : A[i - 1][j] * (float)weight[j], "%d %d", i, j);
    }
    free(B);
    TEST_OK(dcl_close(cluster));
}

/* Loops over memory of one axis, whose subscripts count elements; and over memory of two axes, written with one subscript. */
#define FLAT_SUMS                                                      \
    for (int i = 0; i < n; i++)                                        \
        for (int j = 0; j < n; j++) {                                  \
            C[i * n + j] *= 0.5;                                       \
            for (int k = 0; k < m; k++)                                \
                C[i * n + j] += A[i * m + k] * B[k * n + (n - 1 - j)]; \
        }                                                              \
    for (int i = 1; i < n - 1; i++)                                    \
        for (int j = i; j < n - 1; j++)                                \
            D[(i - 1) * n + j + 1] = C[i * n + j] - C[(i + 1) * n + j - 1] + C[j];
#define FLAT_LINES                                  \
    for (int i = 0; i < n; i++) {                   \
        for (int j = 1; j < n; j++)                 \
            C[i * n + j] -= 0.3 * C[i * n + j - 1]; \
        D[i * n + i] = C[i * n + n - 1];            \
    }
#define FLAT_TEXT(...) #__VA_ARGS__
#define FLAT_TEXT_OF(...) FLAT_TEXT(__VA_ARGS__)
enum { FLAT_N = 30, FLAT_M = 11 };

static void flat_sums(int n, int m, double *C, const double *A, const double *B, double *D) { FLAT_SUMS }
static void flat_lines(int n, double *C, double *D){FLAT_LINES}

Test(loops, one_subscript_counts_elements_of_memory)
{
    const int n = FLAT_N, m = FLAT_M;
    double A[FLAT_N * FLAT_M], B[FLAT_M * FLAT_N], C[FLAT_N * FLAT_N], D[FLAT_N * FLAT_N], right[2][FLAT_N * FLAT_N];
    for (int nodes = 2; nodes >= 1; nodes--) {
        dcl_cluster *cluster = open_nodes(nodes);
        for (int axes = 1; axes <= 2; axes++) {
            for (int k = 0; k < n * m; k++)
                A[k] = k % 13 / 7.0, B[k] = k % 17 / 3.0;
            for (int k = 0; k < n * n; k++)
                C[k] = right[0][k] = k % 5 - 2.1, D[k] = right[1][k] = -k;
            flat_sums(n, m, right[0], A, B, right[1]);
            flat_lines(n, right[0], right[1]);
            if (axes == 1) {
                TEST_OK(dcl_loops(cluster, FLAT_TEXT_OF(FLAT_SUMS), DCL_HOST_INOUT(C, n * n), DCL_HOST_IN(A, n * m),
                                  DCL_HOST_IN(B, m * n), DCL_HOST_INOUT(D, n * n), DCL_VALUE(n), DCL_VALUE(m)));
                TEST_OK(dcl_loops(cluster, FLAT_TEXT_OF(FLAT_LINES), DCL_HOST_INOUT(C, n * n), DCL_HOST_INOUT(D, n * n),
                                  DCL_VALUE(n)));
            } else {
                TEST_OK(dcl_loops(cluster, FLAT_TEXT_OF(FLAT_SUMS), DCL_HOST_INOUT(C, n, n), DCL_HOST_IN(A, n, m),
                                  DCL_HOST_IN(B, m, n), DCL_HOST_INOUT(D, n, n), DCL_VALUE(n), DCL_VALUE(m)));
                TEST_OK(dcl_loops(cluster, FLAT_TEXT_OF(FLAT_LINES), DCL_HOST_INOUT(C, n, n), DCL_HOST_INOUT(D, n, n),
                                  DCL_VALUE(n)));
            }
            cr_expect_eq(memcmp(C, right[0], sizeof C), 0, "%d nodes, %d axes", nodes, axes);
            cr_expect_eq(memcmp(D, right[1], sizeof D), 0, "%d nodes, %d axes", nodes, axes);
        }
        TEST_OK(dcl_close(cluster));
    }
}

/* Single rows that are far apart. */
Test(loops, rows_of_memory_that_are_apart_are_accessed)
{
    dcl_cluster *cluster = open_nodes(2);
    const int m = 7;
    double A[9][7];
    for (int k = 0; k < 63; k++)
        (&A[0][0])[k] = k;
    TEST_OK(dcl_loops(cluster, "for (j = 0; j < m; j++) A[6][j] = A[1][j] + 2 * A[5][j];", DCL_HOST_INOUT(A, 9, m),
                      DCL_VALUE(m)));
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < m; j++)
            cr_expect_eq(A[i][j], i == 6 ? 7 + j + 2 * (35 + j) : 7 * i + j, "%d %d", i, j);
    TEST_OK(dcl_close(cluster));
}

/* Statements that are one operation write different rows of their arrays, also of one of the cluster. */
Test(loops, memory_of_which_statements_write_different_rows)
{
    enum { N = 20 };
    static const char nest[] = "for (t = 0; t < 3; t++) {\n"
                               "    for (i = 0; i < 9; i++) A[i] += X[i] + t;\n"
                               "    for (i = 4; i < n; i++) B[i] += 2 * X[i];\n"
                               "    for (i = 3; i < n - 6; i++) C[i] += 3 * X[i];\n"
                               "}";
    const int n = N;
    double x[N], a[N], b[N], c[N], A[N], B[N], C[N];
    for (int nodes = 2; nodes >= 1; nodes--)
        for (int agile = 0; agile < 2; agile++) {
            dcl_cluster *cluster = open_nodes(nodes);
            dcl_array *array = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n));
            for (int i = 0; i < n; i++)
                x[i] = i, a[i] = A[i] = i * i, b[i] = B[i] = 7 - i, c[i] = C[i] = 1;
            for (int t = 0; t < 3; t++)
                for (int i = 0; i < n; i++) {
                    a[i] += i < 9 ? x[i] + t : 0;
                    b[i] += i >= 4 ? 2 * x[i] : 0;
                    c[i] += i >= 3 && i < n - 6 ? 3 * x[i] : 0;
                }
            TEST_OK(dcl_write(array, NULL, C, NULL));
            TEST_OK(dcl_loops(cluster, nest, DCL_HOST_INOUT(A, n), DCL_HOST_INOUT(B, n),
                              agile ? DCL_INOUT_AS("C", array) : DCL_HOST_INOUT(C, n), DCL_HOST_IN_AS("X", x, n),
                              DCL_VALUE(n)));
            if (agile)
                TEST_OK(dcl_read(array, NULL, C, NULL));
            cr_expect_eq(memcmp(A, a, sizeof a) | memcmp(B, b, sizeof b) | memcmp(C, c, sizeof c), 0, "%d nodes",
                         nodes);
            dcl_release(array);
            TEST_OK(dcl_close(cluster));
        }
}

/* Beside arrays of the cluster. */
Test(loops, memory_of_the_program_is_used_beside_arrays)
{
    enum { COUNT = 50 };
    dcl_cluster *cluster = open_nodes(2);
    const int n = COUNT;
    double y[COUNT], found[COUNT], x[COUNT];
    dcl_array *X = test_array(cluster, "cyclic", dcl_grid_1d(DCL_DOUBLE, n));
    for (int i = 0; i < n; i++)
        x[i] = i * 0.5, y[i] = 1;
    TEST_OK(dcl_write(X, NULL, x, NULL));
    TEST_OK(dcl_loops(cluster, "for (i = 0; i < n; i++) y[i] += X[n-1-i]; for (i = 0; i < n; i++) X[i] = 2 * i;",
                      DCL_HOST_INOUT(y, n), DCL_INOUT(X), DCL_VALUE(n)));
    TEST_OK(dcl_read(X, NULL, found, NULL));
    for (int i = 0; i < n; i++) {
        cr_expect_eq(y[i], 1 + x[n - 1 - i], "y[%d] is %g", i, y[i]);
        cr_expect_eq(found[i], 2.0 * i, "X[%d] is %g", i, found[i]);
    }
    dcl_release(X);
    TEST_OK(dcl_close(cluster));
}

Test(loops, wrong_memory_is_refused)
{
    dcl_cluster *cluster = open_nodes(1);
    const int n = 8;
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0}, *none = NULL;
    const int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40}, extent[DCL_MAX_RANK + 1] = {8};
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT_AS("y", none, n), DCL_HOST_IN(x, n), DCL_VALUE(n)),
                 DCL_ERR_INVALID, "the memory of argument y is NULL");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, 0), DCL_HOST_IN(x, n), DCL_VALUE(n)), DCL_ERR_INVALID,
                 "extent 0 of argument y is 0");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, n), DCL_HOST_IN(x, n, -3), DCL_VALUE(n)), DCL_ERR_INVALID,
                 "extent 1 of argument x is -3");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, n),
                           dcl_arg_host(DCL_ACCESS_HOST_IN, "x", DCL_DOUBLE, x, 2, huge), DCL_VALUE(n)),
                 DCL_ERR_INVALID, "exceeds");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, n),
                           dcl_arg_host(DCL_ACCESS_HOST_IN, "x", (dcl_type)77, x, 1, extent), DCL_VALUE(n)),
                 DCL_ERR_INVALID, "element type is number 77");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, n),
                           dcl_arg_host(DCL_ACCESS_HOST_IN, "x", DCL_HALF, x, 1, extent), DCL_VALUE(n)),
                 DCL_ERR_UNSUPPORTED, "type half");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, n),
                           dcl_arg_host(DCL_ACCESS_HOST_IN, "x", DCL_DOUBLE, x, DCL_MAX_RANK + 1, extent),
                           DCL_VALUE(n)),
                 DCL_ERR_INVALID, "rank is 9");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT_AS("y", x + 3, 5), DCL_HOST_IN(x, n), DCL_VALUE(n)),
                 DCL_ERR_INVALID, "error: y and x overlap in memory, and one of them is written [alias]");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_IN(y, n), DCL_HOST_IN(x, n), DCL_VALUE(n)), DCL_ERR_INVALID,
                 "no argument is an output");
    TEST_REFUSED(dcl_loops(cluster, COPY, DCL_HOST_OUT(y, 7), DCL_HOST_IN(x, n), DCL_VALUE(n)), DCL_ERR_BODY,
                 "[out-of-bounds]");
    TEST_REFUSED(dcl_forall(cluster, "y(i) = i;", DCL_HOST_OUT(y, n)), DCL_ERR_INVALID,
                 "is DCL_HOST_OUT; memory of the program");
    for (int i = 0; i < n; i++)
        cr_expect(x[i] == i + 1 && y[i] == 0, "%d was changed", i);
    dcl_clear_error(cluster);
    TEST_OK(dcl_loops(cluster, COPY, DCL_HOST_OUT_AS("y", x + 4, 4), DCL_HOST_IN(x, 4), DCL_VALUE_AS("n", 4)));
    cr_expect(x[4] == 1 && x[7] == 4, "neighbours in memory are no overlap");
    TEST_OK(dcl_close(cluster));
}

/* Types, counters as values, casts, conditions, steps, variables, and a product of polynomials. */
Test(loops, values_are_those_of_c)
{
    enum { SIZE = 37 };
    static const char text[] = "for (i = 0; i < n; i++) { int s = i * 7 % 5; f[i] = s / 2 + 0.1f * i; if (i > 4 && !(i "
                               ">= n - 3)) c[i] = f[i] * 3; else c[i] "
                               "-= i; }\n"
                               "for (i = n - 1; i >= 2; i -= 3) g[i] = (int)(f[i] * 10) + (i > 9 ? g[i] : x[i+1]);\n"
                               "for (i = 0; i < m; i++) for (j = 0; j < m; j++) x[i+j] += g[i] * c[j];";
    dcl_cluster *cluster = open_nodes(2);
    const int n = SIZE, m = (SIZE + 1) / 2;
    float f[SIZE] = {0};
    int32_t c[SIZE];
    double g[SIZE], x[SIZE], got[SIZE];
    dcl_array *F = test_array(cluster, "block", dcl_grid_1d(DCL_FLOAT, n)),
              *C = test_array(cluster, "cyclic", dcl_grid_1d(DCL_INT32, n));
    dcl_array *G = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, n)),
              *X = test_array(cluster, "cyclic", dcl_grid_1d(DCL_DOUBLE, n));
    for (int i = 0; i < n; i++)
        c[i] = 3 * i - 40, g[i] = i / 3.0, x[i] = 1.0 / (i + 1);
    TEST_OK(dcl_write(C, NULL, c, NULL));
    TEST_OK(dcl_write(G, NULL, g, NULL));
    TEST_OK(dcl_write(X, NULL, x, NULL));
    TEST_OK(dcl_loops(cluster, text, DCL_OUT_AS("f", F), DCL_INOUT_AS("c", C), DCL_INOUT_AS("g", G),
                      DCL_INOUT_AS("x", X), DCL_VALUE(n), DCL_VALUE(m)));
    for (int i = 0; i < n; i++) {
        int s = i * 7 % 5;
        f[i] = (float)(s / 2) + 0.1f * (float)i;
        c[i] = i > 4 && !(i >= n - 3) ? (int32_t)(f[i] * 3) : c[i] - i;
    }
    for (int i = n - 1; i >= 2; i -= 3)
        g[i] = (int)(f[i] * 10) + (i > 9 ? g[i] : x[i + 1]);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            x[i + j] += g[i] * c[j];
    TEST_OK(dcl_read(G, NULL, got, NULL));
    cr_expect_eq(memcmp(got, g, sizeof g), 0, "g differs");
    TEST_OK(dcl_read(X, NULL, got, NULL));
    cr_expect_eq(memcmp(got, x, sizeof x), 0, "x differs");
    int32_t whole[SIZE];
    TEST_OK(dcl_read(C, NULL, whole, NULL));
    cr_expect_eq(memcmp(whole, c, sizeof c), 0, "c differs");
    dcl_release(X);
    dcl_release(G);
    dcl_release(C);
    dcl_release(F);
    dcl_close(cluster);
}

/* ---- streaming ------------------------------------------------------------------------------------------------------- */

/* A cluster whose nodes may use so little memory that arrays do not fit. */
static dcl_cluster *open_small_nodes(int nodes, size_t bytes)
{
    dcl_config config = test_config(nodes);
    config.quota_bytes = bytes;
    return test_open(&config);
}

/* Parts of arrays, columns in memory, and an input that is reused; only what the nest writes is written. */
Test(loops, parts_of_memory_are_streamed)
{
    enum { ROWS = 40, COLUMNS = 30 };
    static double A[ROWS][COLUMNS], B[COLUMNS][ROWS], w[COLUMNS], right[COLUMNS][ROWS];
    dcl_cluster *cluster = open_small_nodes(2, 2000);
    const int n = ROWS, m = COLUMNS;
    for (int j = 0; j < m; j++) {
        w[j] = 1.0 / (j + 3);
        for (int i = 0; i < n; i++)
            A[i][j] = (i * 31 + j * 17) % 101 / 7.0, B[j][i] = right[j][i] = -1 - i;
    }
    for (int j = 2; j < m - 1; j++)
        for (int i = 1; i < n - 2; i++)
            right[j][i] = 0.5 * right[j][i] + w[j] * (A[i - 1][j + 1] - A[i + 2][j - 2]);
    TEST_OK(dcl_loops(cluster,
                      "for (i = 1; i < n - 2; i++)\n"
                      "    for (j = 2; j < m - 1; j++) B[j][i] = 0.5 * B[j][i] + w[j] * (A[i-1][j+1] - A[i+2][j-2]);",
                      DCL_HOST_INOUT(B, m, n), DCL_HOST_IN(A, n, m), DCL_HOST_IN(w, m), DCL_VALUE(n), DCL_VALUE(m)));
    cr_expect_eq(memcmp(B, right, sizeof B), 0, "B differs");
    TEST_OK(dcl_close(cluster));
}

/* Not one element of y fits beside all of x, which is read backwards, so threads cannot run parts of their loop: refused before
 * anything is written. */
Test(loops, what_cannot_be_streamed_is_refused)
{
    enum { COUNT = 1000 };
    static double x[COUNT], y[COUNT];
    dcl_cluster *cluster = open_small_nodes(1, 4000);
    const int n = COUNT;
    for (int i = 0; i < n; i++)
        x[i] = y[i] = i;
    TEST_REFUSED(
        dcl_loops(cluster, "for (i = 0; i < n; i++) for (k = n - 1; k >= 0; k--) y[i] += x[k];", DCL_HOST_INOUT(y, n),
                  DCL_HOST_IN(x, n), DCL_VALUE(n)),
        DCL_ERR_NOMEM,
        "dcl_loops: nest:1:62: error: the operation cannot be streamed: its smallest step, of 1 element, needs "
        "8024 bytes on a node, 8000 of them for x; nodes may use 3000 [tile]");
    for (int i = 0; i < n; i++)
        cr_assert(x[i] == i && y[i] == i, "element %d was changed: %g, %g", i, x[i], y[i]);
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

/* A later operation of a nest that cannot be streamed: refused before the first one is run. */
Test(loops, later_operations_that_cannot_be_streamed_are_refused_first)
{
    enum { COUNT = 1000 };
    static double A[COUNT], B[COUNT];
    const struct {
        const char *what, *nest;
        dcl_status status;
        const char *words;
    } rows[] = {
        {"a copy", "for (i = 0; i < n - 1; i++) B[i] = B[i] + B[i+1];", DCL_ERR_UNSUPPORTED,
         "dcl_loops: nest:1:80: error: the nest needs a copy of B"},
        {"an array of the cluster", "for (i = 0; i < n; i++) D[i] = B[i];", DCL_ERR_UNSUPPORTED,
         "dcl_loops: nest:1:62: error: the nest writes D, which is an array of the cluster"},
        {"a variable", "double s = 0; for (i = 0; i < n; i++) { s = s / 2 + B[i]; B[i] = s; }", DCL_ERR_UNSUPPORTED,
         "dcl_loops: nest:1:45: error: the variable s of the nest carries values"},
        {"a large step", "for (i = 0; i < n; i++) for (k = n - 1; k >= 0; k--) B[i] += A[k];", DCL_ERR_NOMEM,
         "dcl_loops: nest:1:99: error: the operation cannot be streamed: its smallest step, of 1 element, needs 8024"},
    };
    dcl_cluster *cluster = open_small_nodes(1, 4000);
    dcl_array *D = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, 100));
    const int n = COUNT;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char nest[200];
        const int count = strstr(rows[r].nest, "D[") != NULL ? 100 : n;
        snprintf(nest, sizeof nest, "for (i = 0; i < all; i++) A[i] += 1; %s", rows[r].nest);
        for (int i = 0; i < n; i++)
            A[i] = B[i] = i;
        TEST_REFUSED(dcl_loops(cluster, nest, DCL_HOST_INOUT(A, n), DCL_HOST_INOUT(B, n), DCL_INOUT(D),
                               DCL_VALUE_AS("n", count), DCL_VALUE_AS("all", n)),
                     rows[r].status, rows[r].words);
        cr_expect_null(strstr(dcl_error(), "undefined contents"), "%s: %s", rows[r].what, dcl_error());
        cr_expect_eq(dcl_status_of(cluster), rows[r].status, "%s: the cluster has not kept the error", rows[r].what);
        for (int i = 0; i < n; i++)
            cr_assert(A[i] == i && B[i] == i, "%s: element %d was changed: %g, %g", rows[r].what, i, A[i], B[i]);
        dcl_clear_error(cluster);
    }
    dcl_release(D);
    dcl_close(cluster);
}

/* The compiler of the device refuses the second operation: that is not known before the results of the first one are in memory. */
Test(loops, a_streamed_nest_that_fails_midway_says_that_memory_is_changed)
{
    enum { COUNT = 1000 };
    static double A[COUNT], B[COUNT];
    dcl_cluster *cluster = open_small_nodes(1, 4000);
    const int n = COUNT;
    TEST_REFUSED(dcl_loops(cluster,
                           "for (i = 0; i < n; i++) A[i] += 1;\n"
                           "for (j = 0; j < n; j++) B[j] = B[j] + mul24((long)A[j], (long)2);",
                           DCL_HOST_INOUT(A, n), DCL_HOST_INOUT(B, n), DCL_VALUE(n)),
                 DCL_ERR_BODY, "dcl_loops: the memory of the outputs has undefined contents");
    cr_expect_eq(dcl_status_of(cluster), DCL_ERR_BODY);
    dcl_clear_error(cluster);
    dcl_close(cluster);
}

/* abs() is signed, as in C; in OpenCL C it is unsigned. What a ?: reads agrees with what was analysed, also where a comparison has an
 * unsigned scalar: integers are numbers. */
Test(loops, integers_are_numbers)
{
    enum { COUNT = 20 };
    dcl_config config = test_config(1);
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, COUNT)),
              *B = test_array(cluster, "block", dcl_grid_1d(DCL_DOUBLE, COUNT));
    double found[COUNT];
    unsigned n = COUNT;
    int k = 7;
    TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
    TEST_OK(dcl_loops(cluster, "for (i = 0; i < n; i++) B[i] = 1 - abs(i - k) + (i - 1 < 3 ? 100 : A[i-1]);",
                      DCL_OUT(B), DCL_IN(A), DCL_VALUE(n), DCL_VALUE(k)));
    TEST_OK(dcl_read(B, NULL, found, NULL));
    for (int i = 0; i < COUNT; i++) {
        double right = 1 - (i < k ? k - i : i - k) + (i - 1 < 3 ? 100 : i - 1);
        cr_expect_eq(found[i], right, "%d: %g, expected %g", i, found[i], right);
    }
    dcl_release(B);
    dcl_release(A);
    TEST_OK(dcl_close(cluster));
}
