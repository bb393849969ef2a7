/* test/runtime/loops_instances_test.c - tests loop nests over triangles: how many threads a plan starts, and how many instances of
 * statements kernels run, compared with the exact numbers, which isl counts.
 *
 * Each statement calls fabs() once. A macro before the text of all programs (support/fake_opencl) makes such a call increment a number
 * in memory of this process. The memory is always at the same address, which is in the macro: a driver compiles a text that it does not
 * know anew. */
#include <criterion/criterion.h>
#include <isl/val.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "loop/inside.h"
#include "support/fake_opencl/fake_opencl.h"
#include "support/nodes.h"

TestSuite(loops_instances, .timeout = TEST_SECONDS);

/* The thread sanitizer has no memory at this address. */
#if defined(TEST_FAKE_OPENCL) && !defined(__SANITIZE_THREAD__)

#define COUNTER 0x200000000000
#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)

enum { ARRAYS = 3, NAMES = ARRAYS + 2, N = 256, FEW = 48, DEEP = 40 };

/* C and A are vectors of N elements if `vectors` is set; other arrays are N x N. */
struct nest {
    const char *what, *text;
    int n, m;
    bool vectors;
};

/* clang-format off */
static const struct nest nests[] = {
    {"syrk", TEXT(for (i = 0; i < n; i++) for (k = 0; k < m; k++) for (j = 0; j <= i; j++)
                      C[i][j] += fabs(A[i][k] * A[j][k]);), N, DEEP, false},
    {"covariance", TEXT(for (i = 0; i < n; i++) for (j = i; j < n; j++) {
                            C[i][j] = fabs(0.0);
                            for (k = 0; k < m; k++) C[i][j] += fabs(A[k][i] * A[k][j]);
                            C[i][j] /= fabs(m - 1.0);
                        }), N, DEEP, false},
    {"correlation", TEXT(for (i = 0; i < n - 1; i++) for (j = i + 1; j < n; j++) {
                             C[i][j] = fabs(0.0);
                             for (k = 0; k < m; k++) C[i][j] += fabs(A[k][i] * A[k][j]);
                             C[j][i] = fabs(C[i][j]);
                         }), N, DEEP, false},
    {"trmm", TEXT(for (i = 0; i < n; i++) for (j = 0; j < m; j++)
                      for (k = i + 1; k < n; k++) C[i][j] += fabs(A[k][i] * C[k][j]);), FEW, DEEP, false},
    {"symm", TEXT(for (i = 0; i < n; i++) for (j = 0; j < m; j++) for (k = 0; k < i; k++)
                      C[k][j] += fabs(B[i][j] * A[i][k]);), FEW, DEEP, false},
    {"trisolv", TEXT(for (i = 0; i < n; i++) {
                         C[i] = fabs(A[i]);
                         for (j = 0; j < i; j++) C[i] -= fabs(B[i][j] * C[j]);
                         C[i] = fabs(C[i] / B[i][i]);
                     }), FEW, 0, true},
    {"lu", TEXT(for (i = 0; i < n; i++) {
                    for (j = 0; j < i; j++) {
                        for (k = 0; k < j; k++) C[i][j] -= fabs(C[i][k] * C[k][j]);
                        C[i][j] /= fabs(C[j][j]);
                    }
                    for (j = i; j < n; j++) for (k = 0; k < i; k++) C[i][j] -= fabs(C[i][k] * C[k][j]);
                }), FEW, 0, false},
    {"cholesky", TEXT(for (i = 0; i < n; i++) {
                          for (j = 0; j < i; j++) {
                              for (k = 0; k < j; k++) C[i][j] -= fabs(C[i][k] * C[j][k]);
                              C[i][j] /= fabs(C[j][j]);
                          }
                          for (k = 0; k < i; k++) C[i][i] -= fabs(C[i][k] * C[i][k]);
                          C[i][i] = sqrt(fabs(C[i][i]));
                      }), FEW, 0, false},
};
/* clang-format on */

/* ---- by isl ---------------------------------------------------------------------------------------------------------- */

struct count {
    dcli_loops_plan *plan;
    int64_t instances;        /* of all statements */
    int64_t threads, started; /* of all operations: threads that run an iteration; that are started */
};

static int64_t count_points(__isl_take isl_set *set)
{
    isl_val *count = isl_set_count_val(set);
    int64_t number = isl_val_get_num_si(count);
    isl_val_free(count);
    isl_set_free(set);
    return number;
}

/* The points of a set for the counters that a call has. */
static int64_t count_at(const struct count *count, const dcli_loops_call *call, __isl_take isl_set *set)
{
    for (int k = 0; k < count->plan->operation[call->operation]->hosts.count; k++) {
        char name[] = {'p', (char)('0' + k), '\0'};
        int p = isl_set_find_dim_by_name(set, isl_dim_param, name);
        if (p >= 0)
            set = isl_set_fix_si(set, isl_dim_param, (unsigned)p, (int)call->counter[k]);
    }
    return count_points(isl_set_project_out_all_params(set));
}

static dcl_status add_threads(void *user, const dcli_loops_call *call)
{
    struct count *count = user;
    if (call->operation < 0)
        return DCL_OK; /* a copy */
    const dcli_loops_operation *operation = count->plan->operation[call->operation];
    isl_set *threads = NULL, *started = isl_set_copy(operation->box);
    for (int s = 0; s < count->plan->tree->statement_count; s++)
        if (dcli_loops_in(operation->statements, s)) {
            isl_set *set = isl_map_range(isl_map_copy(operation->threads[s]));
            threads = threads == NULL ? set : isl_set_union(threads, set);
        }
    if (operation->over != NULL)
        started = isl_set_intersect(started, isl_set_copy(operation->over));
    count->threads += count_at(count, call, threads);
    count->started += count_at(count, call, started);
    return DCL_OK;
}

static struct count count_exactly(const struct nest *nest, const dcli_loops_name names[])
{
    struct count count = {.instances = 0};
    TEST_OK(dcli_loops_plan_make(nest->text, NAMES, names, &count.plan));
    for (int s = 0; s < count.plan->tree->statement_count; s++)
        count.instances += count_points(isl_set_copy(count.plan->sets->domain[s]));
    TEST_OK(dcli_loops_plan_walk(count.plan, add_threads, &count));
    dcli_loops_plan_free(count.plan);
    return count;
}

/* ---- by the library -------------------------------------------------------------------------------------------------- */

/* Run a nest, and compare the numbers of threads and of instances. */
static void run(dcl_cluster *cluster, const struct nest *nest, atomic_int *counter)
{
    static const char *const array_names[ARRAYS] = {"C", "A", "B"};
    static double values[N * N];
    dcl_array *array[ARRAYS];
    dcl_arg args[NAMES];
    dcli_loops_name names[NAMES];
    dcl_map *map = dcl_map_default(cluster);
    for (int a = 0; a < ARRAYS; a++) {
        dcl_grid grid = nest->vectors && a < 2 ? dcl_grid_1d(DCL_DOUBLE, N) : dcl_grid_2d(DCL_DOUBLE, N, N);
        array[a] = dcl_agile(grid, map);
        for (int e = 0; e < N * N; e++)
            values[e] = 1 + e * 37 % 101 / 8.0;
        TEST_OK(dcl_write(array[a], NULL, values, NULL));
        args[a] = dcl_arg_array(a == 0 ? DCL_ACCESS_INOUT : DCL_ACCESS_IN, array_names[a], array[a]);
        names[a] = (dcli_loops_name){.access = args[a].access, .type = DCL_DOUBLE, .grid = grid};
        strcpy(names[a].name, array_names[a]);
    }
    names[ARRAYS] = names[ARRAYS + 1] =
        (dcli_loops_name){.access = DCL_ACCESS_VALUE, .type = DCL_INT32, .is_integer = true};
    strcpy(names[ARRAYS].name, "n");
    strcpy(names[ARRAYS + 1].name, "m");
    args[ARRAYS] = dcl_arg_signed("n", DCL_INT32, names[ARRAYS].value = nest->n);
    args[ARRAYS + 1] = dcl_arg_signed("m", DCL_INT32, names[ARRAYS + 1].value = nest->m);
    struct count exact = count_exactly(nest, names);
    const dcl_call call = dcl_call_loops(cluster, nest->text, NAMES, args);
    atomic_store(counter, 0);
    TEST_OK(dcl_call_run(&call));
    TEST_OK(dcl_wait(cluster));
    int64_t instances = atomic_load(counter);
    cr_log_info("%-12s %8ld instances, %8ld run: %.3f; %6ld threads, %6ld started: %.3f\n", nest->what,
                (long)exact.instances, (long)instances, (double)instances / (double)exact.instances,
                (long)exact.threads, (long)exact.started, (double)exact.started / (double)exact.threads);
    cr_expect(instances >= exact.instances && (double)instances <= 1.05 * (double)exact.instances,
              "%s: %ld instances are run, %ld are in the loops", nest->what, (long)instances, (long)exact.instances);
    cr_expect(exact.started >= exact.threads && (double)exact.started <= 1.05 * (double)exact.threads,
              "%s: %ld threads are started, %ld have an iteration", nest->what, (long)exact.started,
              (long)exact.threads);
    for (int a = 0; a < ARRAYS; a++)
        dcl_release(array[a]);
    dcl_map_release(map);
}

/* @param kind  "" or "gpu; " */
static void run_all(const char *kind)
{
    char plan[128];
    void *counter = mmap((void *)COUNTER, sizeof(atomic_int), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    cr_assert_eq((uintptr_t)counter, (uintptr_t)COUNTER, "something else lies there");
    snprintf(plan, sizeof plan, "%stext #define fabs(x) (atomic_inc((volatile __global int *)" TEXT_OF(COUNTER) "), x)",
             kind);
    setenv("TEST_OPENCL", plan, 1);
    fake_opencl_select();
    dcl_cluster *cluster = open_nodes(1);
    for (size_t k = 0; k < sizeof nests / sizeof nests[0]; k++)
        run(cluster, &nests[k], counter);
    TEST_OK(dcl_close(cluster));
}

Test(loops_instances, few_more_are_run_by_a_processor) { run_all(""); }

Test(loops_instances, few_more_are_run_by_a_gpu) { run_all("gpu; "); }

#endif
