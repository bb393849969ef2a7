/* test/loop/bound_test.c - tests that bounds have the values that isl computes for them, also where they have none. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "loop/inside.h"
#include "support/kernels.h"
#include "support/nests.h"

TestSuite(loops_bound, .timeout = 180);

struct counts {
    int64_t values, without; /* bounds that have no value there */
};

/* Compare a bound for some counters of the hosts, in and around the values that they have. */
static void compare(dcli_loops_plan *plan, int count, isl_pw_aff *bound, const char *what, struct counts *counts)
{
    for (uint32_t n = 0; n < 24 && bound != NULL; n++) {
        int64_t counter[DCLI_LOOPS_DEPTH], fast = -1, slow = -2;
        for (int k = 0; k < count; k++)
            counter[k] = (int64_t)((n + 1) * 2654435761U >> (5 * k + 3)) % 14 - 2;
        if (n == 23 && count > 0)
            counter[0] = INT64_MAX / 2;
        bool has = dcli_loops_evaluate(plan, bound, count, counter, &fast);
        cr_assert_eq(has, dcli_loops_evaluate_by_isl(plan, bound, count, counter, &slow), "%s", what);
        cr_assert_eq(fast, slow, "%s: %" PRId64 ", isl %" PRId64, what, fast, slow);
        counts->values++;
        counts->without += !has;
    }
}

static void compare_steps(dcli_loops_plan *plan, const dcli_loops_step *step, const char *what, struct counts *counts)
{
    for (; step != NULL; step = step->next) {
        compare(plan, step->hosts.count, step->low, what, counts);
        compare(plan, step->hosts.count, step->high, what, counts);
        compare_steps(plan, step->first, what, counts);
    }
}

static void compare_all(const char *what, const char *text, int count, const dcli_loops_name names[],
                        struct counts *counts)
{
    dcli_loops_plan *plan = NULL;
    cr_assert_eq(dcli_loops_plan_make(text, count, names, &plan), DCL_OK, "%s: %s", what, dcl_error());
    compare_steps(plan, plan->first, what, counts);
    for (int o = 0; o < plan->operation_count; o++) {
        const dcli_loops_operation *operation = plan->operation[o];
        for (int r = 0; r < operation->rank; r++) {
            compare(plan, operation->hosts.count, operation->low[r], what, counts);
            compare(plan, operation->hosts.count, operation->high[r], what, counts);
        }
        for (int l = 0; l < plan->tree->loop_count; l++) {
            compare(plan, operation->hosts.count, operation->run[l].low, what, counts);
            compare(plan, operation->hosts.count, operation->run[l].high, what, counts);
        }
    }
    dcli_loops_plan_free(plan);
}

Test(loops_bound, values_are_those_of_isl)
{
    static const char *const kernels[] = {"gemm", "jacobi_2d", "trisolv", "cholesky", "lu", "durbin"};
    dcli_loops_name names[TEST_KERNEL_ARRAYS + 6];
    struct counts counts = {0};
    for (int k = 0; k < test_kernel_count; k++)
        for (size_t n = 0; n < sizeof kernels / sizeof kernels[0]; n++)
            if (strcmp(test_kernels[k].name, kernels[n]) == 0)
                compare_all(kernels[n], test_kernels[k].text, test_kernel_names(&test_kernels[k], names), names,
                            &counts);
    for (int a = 0; a < TEST_NEST_ARRAYS; a++) {
        dcl_grid grid = {.rank = test_nest_ranks[a], .type = DCL_DOUBLE, .extent = {TEST_NEST_EDGE, TEST_NEST_EDGE}};
        names[a] = (dcli_loops_name){.access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE, .grid = grid};
        strcpy(names[a].name, test_nest_names[a]);
    }
    for (int64_t n = 1; n <= 12; n++) {
        dcli_text text = {0};
        test_nest_put(&text, n);
        compare_all(text.bytes, text.bytes, TEST_NEST_ARRAYS, names, &counts);
        dcli_text_free(&text);
    }
    cr_expect(counts.without > 100 && counts.values - counts.without > 1000,
              "%" PRId64 " of %" PRId64 " without a value", counts.without, counts.values);
}
