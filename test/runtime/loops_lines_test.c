/* test/runtime/loops_lines_test.c - tests loop nests whose recurrences along lines are one operation each: where lines are whole, element
 * types, what is explained, accesses that are checked, memory of the program, and arrays that move to another map. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/nodes.h"

TestSuite(loops_lines, .timeout = TEST_SECONDS);

enum { N = 21 }; /* two strips of eight lines, and five lines */

/* A nest, as a text for DCL and as a function in C. */
struct nest {
    const char *text;
    void (*run)(void *c, void *a);
    dcl_type type;
};

#define NEST(name, element, number, code)    \
    static void run_##name(void *c, void *a) \
    {                                        \
        element(*C)[N] = c, (*A)[N] = a;     \
        const int n = N;                     \
        code                                 \
    }                                        \
    static const struct nest name = {#code, run_##name, number};

/* clang-format off */
NEST(rows, double, DCL_DOUBLE,
     for (int i = 1; i < n - 1; i++) {
         C[i][0] = 0.5;
         for (int j = 1; j < n; j++) C[i][j] = 0.7 * C[i][j-1] - A[j][i+1] / (1.5 + A[i-1][j]);
     })
NEST(columns, double, DCL_DOUBLE,
     for (int j = 0; j < n; j++)
         for (int i = n - 2; i >= 0; i--) C[i][j] = 0.7 * C[i+1][j] - A[j][i];)
NEST(floats, float, DCL_FLOAT,
     for (int i = 0; i < n; i++) {
         float s = 0; float t = 1;
         for (int j = 0; j < n; j++) { C[i][j] = A[i][j] - s * t; t = s; s = C[i][j] * 0.25f; }
     })
NEST(triangle, int, DCL_INT32,
     for (int i = 0; i < n; i++)
         for (int j = i + 1; j < n; j++) {
             if (j > 3) C[i][j] -= C[i][j-1] % 1000 * 3;
             C[i][j] += A[j][i] % 7 + j;
         })
/* clang-format on */

static const int n = N;
static char right[N * N * sizeof(double)], input[sizeof right], found[sizeof right];

static void fill(const struct nest *nest, char *at, int by)
{
    for (int k = 0; k < N * N; k++) {
        int value = (k * 37 + by) % 64 - 31;
        if (nest->type == DCL_DOUBLE)
            ((double *)at)[k] = value / 3.0;
        else if (nest->type == DCL_FLOAT)
            ((float *)at)[k] = (float)value / 3;
        else
            ((int *)at)[k] = value;
    }
}

/* Set the elements of C and A, and run the nest in C. */
static void begin(const struct nest *nest, dcl_array *C, dcl_array *A)
{
    fill(nest, right, 5);
    fill(nest, input, 11);
    TEST_OK(dcl_write(C, NULL, right, NULL));
    TEST_OK(dcl_write(A, NULL, input, NULL));
    nest->run(right, input);
}

static void compare(const struct nest *nest, const char *bytes, const char *what)
{
    cr_expect_eq(memcmp(bytes, right, N * N * dcl_type_bytes(nest->type)), 0, "%.20s...: %s", nest->text, what);
}

/* Run a nest on arrays with a map, and compare. @return the number of tasks, which is as explained. */
static int64_t run(dcl_cluster *cluster, const struct nest *nest, const char *map)
{
    dcl_grid grid = dcl_grid_2d(nest->type, N, N);
    dcl_array *C = test_array(cluster, map, grid), *A = test_array(cluster, map, grid);
    dcl_counters planned, before, after;
    begin(nest, C, A);
    before = test_counters(cluster, DCL_ALL_NODES);
    TEST_OK(dcl_call_explain(DCL_CALL_LOOPS(cluster, nest->text, DCL_INOUT(C), DCL_IN(A), DCL_VALUE(n)), DCL_ALL_NODES,
                             &planned));
    TEST_OK(dcl_loops(cluster, nest->text, DCL_INOUT(C), DCL_IN(A), DCL_VALUE(n)));
    TEST_OK(dcl_read(C, NULL, found, NULL));
    after = test_counters(cluster, DCL_ALL_NODES);
    compare(nest, found, map);
    cr_expect_eq(after.tasks - before.tasks, planned.tasks, "%s", map);
    cr_expect_eq(after.bytes_moved - before.bytes_moved, planned.bytes_moved, "%s", map);
    dcl_release(A);
    dcl_release(C);
    return planned.tasks;
}

Test(loops_lines, a_recurrence_is_one_operation_where_lines_are_whole)
{
    dcl_cluster *two = open_nodes(2), *one = open_nodes(1);
    cr_expect_eq(run(one, &rows, "block"), 1);
    cr_expect_eq(run(two, &rows, "block,*"), 2, "one per node");
    cr_expect_eq(run(two, &rows, "cyclic(2),*"), 2, "lines with gaps between them");
    cr_expect_eq(run(two, &rows, "*,block"), 4, "two on lines that are gathered, and two that copy results back");
    cr_expect_eq(run(one, &columns, "block"), 1);
    cr_expect_eq(run(two, &columns, "*,cyclic"), 2);
    cr_expect_eq(run(two, &columns, "block,*"), 6, "and two that copy the last row there");
    dcl_close(one);
    dcl_close(two);
}

Test(loops_lines, of_other_types_and_with_checked_accesses)
{
    dcl_config config = test_config(2);
    dcl_cluster *cluster = test_open(&config);
    cr_expect_eq(run(cluster, &floats, "block,*"), 2);
    cr_expect_eq(run(cluster, &triangle, "block,*"), 2, "line by line, as the first steps of lines differ");
    dcl_close(cluster);
    config.check = "access";
    cluster = test_open(&config);
    cr_expect_eq(run(cluster, &floats, "block,*"), 2);
    cr_expect_eq(run(cluster, &rows, "cyclic(2),*"), 2);
    dcl_close(cluster);
}

/* A plan that is kept is of the same map. */
Test(loops_lines, arrays_move_to_another_map_between_calls)
{
    static const char *const maps[] = {"block,*", "*,block", "block,*"};
    dcl_cluster *cluster = open_nodes(2);
    dcl_grid grid = dcl_grid_2d(DCL_DOUBLE, N, N);
    dcl_array *C = test_array(cluster, "block,*", grid), *A = test_array(cluster, "block,*", grid);
    for (size_t k = 0; k < sizeof maps / sizeof maps[0]; k++) {
        dcl_map *map = dcl_map_parse(cluster, maps[k]);
        TEST_OK(dcl_remap(C, map));
        dcl_map_release(map);
        begin(&rows, C, A);
        TEST_OK(dcl_loops(cluster, rows.text, DCL_INOUT(C), DCL_IN(A), DCL_VALUE(n)));
        TEST_OK(dcl_read(C, NULL, found, NULL));
        compare(&rows, found, maps[k]);
    }
    dcl_release(A);
    dcl_release(C);
    dcl_close(cluster);
}

/* Without room for the arrays a nest is streamed, and then has no operations on lines. */
Test(loops_lines, in_memory_of_the_program)
{
    dcl_config config = test_config(1);
    static char memory[sizeof right];
    for (int small = 0; small < 2; small++) {
        config.quota_bytes = small ? 6144 : 0;
        dcl_cluster *cluster = test_open(&config);
        fill(&rows, right, 5);
        fill(&rows, input, 11);
        memcpy(memory, right, sizeof memory);
        rows.run(right, input);
        double *C = (double *)memory, *A = (double *)input;
        TEST_OK(dcl_loops(cluster, rows.text, DCL_HOST_INOUT(C, N, N), DCL_HOST_IN(A, N, N), DCL_VALUE(n)));
        compare(&rows, memory, small ? "streamed" : "at once");
        dcl_close(cluster);
    }
}

/* Rows of such arrays are divided among the nodes, so columns are gathered: an operation, and copies before and after it. */
Test(loops_lines, in_memory_of_the_program_on_two_nodes)
{
    dcl_cluster *cluster = open_nodes(2);
    static char memory[sizeof right];
    fill(&columns, right, 5);
    fill(&columns, input, 11);
    memcpy(memory, right, sizeof memory);
    columns.run(right, input);
    double *C = (double *)memory, *A = (double *)input;
    int64_t before = test_counters(cluster, DCL_ALL_NODES).tasks;
    TEST_OK(dcl_loops(cluster, columns.text, DCL_HOST_INOUT(C, N, N), DCL_HOST_IN(A, N, N), DCL_VALUE(n)));
    compare(&columns, memory, "on two nodes");
    cr_expect_eq(test_counters(cluster, DCL_ALL_NODES).tasks - before, 6);
    dcl_close(cluster);
}

/* A second array must not exhaust the nodes' memory: with a limit of 64 KB per node, 21 x 21 doubles are gathered, 200 x 200 are not. */
Test(loops_lines, are_not_gathered_where_memory_is_short)
{
    enum { LARGE = 200 };
    static const char text[] = "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) C[i][j] = 0.5 * C[i-1][j] + 1;";
    dcl_config config = test_config(2);
    config.quota_bytes = 64 << 10;
    for (int limited = 0; limited < 2; limited++) {
        dcl_cluster *cluster = limited ? test_open(&config) : open_nodes(2);
        dcl_map *map = dcl_map_parse(cluster, "block,*");
        for (int size = N; size <= LARGE; size += LARGE - N) {
            dcl_array *C = dcl_agile(dcl_grid_2d(DCL_DOUBLE, size, size), map);
            double first = 0;
            int64_t before = test_counters(cluster, DCL_ALL_NODES).tasks;
            TEST_OK(dcl_fill(C, &first));
            TEST_OK(dcl_loops(cluster, text, DCL_INOUT(C), DCL_VALUE_AS("n", size)));
            int64_t tasks = test_counters(cluster, DCL_ALL_NODES).tasks - before;
            bool gathered = tasks < size - 1;
            cr_expect_eq(gathered, !limited || size == N, "%d tasks for %d rows", (int)tasks, size);
            dcl_release(C);
        }
        dcl_map_release(map);
        dcl_close(cluster);
    }
}

/* The first axis has fewer indices than there are nodes: then another one is divided, so that both nodes compute. */
Test(loops_lines, are_gathered_along_an_axis_that_is_long_enough)
{
    enum { LINES = 40, STEPS = 40 };
    static const char text[] = "for (int h = 0; h < 1; h++) for (int i = 0; i < 40; i++) for (int j = 1; j < 40; j++)"
                               " T[h][i][j] = 0.5 * T[h][i][j-1] + 1;";
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_parse(cluster, "*,*,block");
    dcl_array *T = dcl_agile(dcl_grid_3d(DCL_DOUBLE, 1, LINES, STEPS), map);
    double first = 0, last = 0;
    TEST_OK(dcl_fill(T, &first));
    int64_t before[2] = {test_counters(cluster, 0).tasks, test_counters(cluster, 1).tasks};
    TEST_OK(dcl_loops(cluster, text, DCL_INOUT(T)));
    for (int n = 0; n < 2; n++)
        cr_expect_geq(test_counters(cluster, n).tasks - before[n], 2, "node %d computes, and copies back", n);
    dcl_box corner = {.rank = 3, .start = {0, LINES - 1, STEPS - 1}, .count = {1, 1, 1}, .stride = {1, 1, 1}};
    TEST_OK(dcl_read(T, &corner, &last, NULL));
    cr_expect_eq(last, 2 - ldexp(1, 1 - (STEPS - 1)));
    dcl_release(T);
    dcl_map_release(map);
    dcl_close(cluster);
}
