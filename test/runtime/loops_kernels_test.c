/* test/runtime/loops_kernels_test.c - tests loop nests: kernels of linear algebra and stencils, written down from their
 * definitions. Each text is compiled as C, too, and all results have the same bits, on any number of nodes and under several maps.
 * Where something runs in order, the log says so. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/kernels.h"
#include "support/nodes.h"

TestSuite(loops_kernels, .timeout = TEST_SECONDS);

enum {
    N = TEST_KERNEL_N,
    M = TEST_KERNEL_M,
    L = TEST_KERNEL_L,
    STEPS = TEST_KERNEL_STEPS,
    MOST = TEST_KERNEL_ELEMENTS,
    ARRAYS = TEST_KERNEL_ARRAYS,
    MAPS = 3
};

/* Values whose sums round. */
static void fill(double *at, int count, int seed)
{
    uint32_t state = (uint32_t)seed * 2654435761U + 1;
    for (int k = 0; k < count; k++) {
        state = state * 1664525 + 1013904223;
        at[k] = (double)(int32_t)state / (1 << (state >> 28));
    }
}

static double right[ARRAYS][MOST], found[MOST], memory[ARRAYS][MOST];

enum {
    MEMORY = MAPS, /* the variant with arrays in the program's memory */
    MOST_PLANS = 2 /* each plan warns once; on one node, arrays in memory may have a plan of their own */
};

static void run_kernel(dcl_cluster *cluster, const char *where, const struct test_kernel *kernel, int variant)
{
    static const char *const maps[MAPS][3] = {{"block", "block,*", "block,*,*"},
                                              {"cyclic(3)", "*,cyclic(5)", "*,block,cyclic(2)"},
                                              {"cyclic", "cyclic(2),*", "*,*,block"}};
    const int n = N, m = M, l = L, steps = STEPS;
    const double alpha = 1.7, beta = 0.3;
    double *p[ARRAYS] = {NULL};
    dcl_array *made[ARRAYS] = {NULL};
    dcl_arg args[16];
    int count = 0;
    for (const struct test_kernel_array *a = kernel->array; a < kernel->array + ARRAYS && a->name != NULL;
         a++, count++) {
        dcl_grid grid = {.rank = a->rank, .type = DCL_DOUBLE};
        for (int d = 0; d < a->rank; d++)
            grid.extent[d] = a->extent[d];
        p[count] = right[count];
        fill(right[count], test_kernel_elements(a), count);
        if (variant == MEMORY) {
            memcpy(memory[count], right[count], sizeof memory[count]);
            args[count] = dcl_arg_host(a->access == DCL_ACCESS_IN    ? DCL_ACCESS_HOST_IN
                                       : a->access == DCL_ACCESS_OUT ? DCL_ACCESS_HOST_OUT
                                                                     : DCL_ACCESS_HOST_INOUT,
                                       a->name, DCL_DOUBLE, memory[count], a->rank, grid.extent);
            continue;
        }
        made[count] = test_array(cluster, maps[(variant + count) % MAPS][a->rank - 1], grid);
        TEST_OK(dcl_write(made[count], NULL, right[count], NULL));
        args[count] = dcl_arg_array(a->access, a->name, made[count]);
    }
    int arrays = count;
    args[count++] = DCL_VALUE(n);
    args[count++] = DCL_VALUE(m);
    args[count++] = DCL_VALUE(l);
    args[count++] = DCL_VALUE(steps);
    args[count++] = DCL_VALUE(alpha);
    args[count++] = DCL_VALUE(beta);
    kernel->run(p, n, m, l, steps, alpha, beta);
    const dcl_call call = dcl_call_loops(cluster, kernel->text, count, args);
    TEST_OK(dcl_call_run(&call));
    for (int k = 0; k < arrays; k++) {
        if (variant == MEMORY)
            memcpy(found, memory[k], sizeof found);
        else
            TEST_OK(dcl_read(made[k], NULL, found, NULL));
        cr_expect_eq(memcmp(found, right[k], (size_t)test_kernel_elements(&kernel->array[k]) * sizeof *found), 0,
                     "%s, %s, maps %d: %s differs", kernel->name, where, variant, kernel->array[k].name);
        dcl_release(made[k]);
    }
}

static atomic_int warnings;

static void count_warnings(void *user, int level, const char *line)
{
    (void)user, (void)level;
    warnings += strstr(line, "warning: ") != NULL;
}

/* Run kernels, each with one assignment of maps; with TEST_LONG all of them with all.
 * @param place  a different one for each cluster.
 * @param among  every kernel whose number is place modulo `among`. */
static void run_kernels(dcl_config *config, const char *where, int place, int among)
{
    config->log = "warn";
    config->log_fn = count_warnings;
    dcl_cluster *cluster = test_open(config);
    const char *setting = getenv("TEST_LONG");
    bool all = setting != NULL && strcmp(setting, "1") == 0;
    for (int k = 0; k < test_kernel_count; k++) {
        int said = 0;
        for (int variant = 0; variant < (all ? MEMORY + 1 : 1); variant++) {
            if (!all && k % among != place % among)
                continue;
            warnings = 0;
            run_kernel(cluster, where, &test_kernels[k], (variant + k + place) % (MEMORY + 1));
            cr_expect(variant > 0 || (warnings > 0) == test_kernels[k].warned, "%s, %s: %d warnings",
                      test_kernels[k].name, where, warnings);
            said += warnings > 0;
        }
        cr_expect_leq(said, test_kernels[k].warned ? MOST_PLANS : 0, "%s, %s: %d calls warn", test_kernels[k].name,
                      where, said);
    }
    dcl_close(cluster);
}

static void run_on(int nodes, const char *where, int place)
{
    dcl_config config = test_config(nodes);
    run_kernels(&config, where, place, 3);
}

Test(loops_kernels, first_third_has_the_bits_of_sequential_c_on_three_nodes) { run_on(3, "3 nodes", 0); }

Test(loops_kernels, second_third_has_the_bits_of_sequential_c_on_three_nodes) { run_on(3, "3 nodes", 1); }

Test(loops_kernels, last_third_has_the_bits_of_sequential_c_on_three_nodes) { run_on(3, "3 nodes", 2); }

Test(loops_kernels, some_have_the_bits_of_sequential_c_on_two_nodes) { run_on(2, "2 nodes", 2); }

Test(loops_kernels, some_have_the_bits_of_sequential_c_on_one_node) { run_on(1, "1 node", 1); }

static atomic_int streamed;

static void count_streamed(void *user, int level, const char *line)
{
    (void)user, (void)level;
    streamed += strstr(line, "dcl_loops: streamed in ") != NULL;
}

/* Arrays of several times the memory that nodes may use are streamed. */
Test(loops_kernels, some_have_the_bits_of_sequential_c_when_they_are_streamed)
{
    static const char *const names[] = {"gemm", "two_mm",  "mvt",       "gesummv",  "atax", "fdtd_2d",
                                        "bicg", "heat_3d", "jacobi_2d", "gaussian", "syrk", "syr2k"};
    test_config(2); /* the first call decides how many devices the process has */
    for (int nodes = 1; nodes <= 2; nodes++) {
        dcl_config config = test_config(nodes);
        config.quota_bytes = nodes == 1 ? 3000 : 900;
        config.log = "info";
        config.log_fn = count_streamed;
        dcl_cluster *cluster = test_open(&config);
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            for (int n = 0; n < test_kernel_count; n++)
                if (strcmp(test_kernels[n].name, names[k]) == 0 && k % 2 == (size_t)nodes % 2) {
                    streamed = 0;
                    run_kernel(cluster, "small nodes", &test_kernels[n], MEMORY);
                    cr_expect_gt(streamed, 0, "%s, %d nodes", names[k], nodes);
                }
        TEST_OK(dcl_close(cluster));
    }
}

#ifdef TEST_DCL
Test(loops_kernels, some_have_the_bits_of_sequential_c_in_worker_processes)
{
    dcl_config config = test_config(2);
    config.workers = "local:2";
    config.program = TEST_DCL;
    run_kernels(&config, "local:2", 0, 3);
}
#endif
