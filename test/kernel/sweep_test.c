/* test/kernel/sweep_test.c - which bodies kernels for CPUs run in sweeps. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"
#include "kernel/sweep.h"
#include "support/sweep_bodies.h"

struct sweep_case {
    char what[48], text[256];
    bool sweeps;
};

ParameterizedTestParameters(kernel_sweep, has)
{
    /* clang-format off */
    static struct sweep_case cases[] = {
        TEST_SWEEP_BODIES
        {"only a short loop", "double s = 0; for (int x = 0; x < 3; x++) s += B(i+x,j); C(i,j) = s;", false},
        {"rows: no neighbours in memory", "double s = 0; for (long k = 0; k < n; k++) { s += A(j,k); } C(i,j) = s;", false},
        {"nothing along the innermost axis", "double s = 0; for (long k = 0; k < n; k++) { s += A(i,k); } C(i,j) = s;", false},
        {"a loop that descends", "double s = 0; for (long k = n; k >= 0; k--) { s += B(k,j); } C(i,j) = s;", false},
        {"every other step", "double s = 0; for (long k = 0; k < n; k += 2) { s += B(k,j); } C(i,j) = s;", false},
        {"a length that depends on elements", "double s = 0; for (long k = 0; k < n && s < 9; k++) { s += B(i,j); } C(i,j) = s;", false},
        {"break at an element", "double s = 0; for (long k = 0; k < n; k++) { s += B(k,j); if (s > 9) break; } C(i,j) = s;", false},
        {"a limit that depends on a variable", "long s = 0; for (long k = 0; k < n; k++) { if (k > s) break; s += B(k,j); } C(i,j) = s;", false},
        {"a limit that is none", "double s = 0; for (long k = 0; k < n; k++) { if (k > 3) continue; s += B(k,j); } C(i,j) = s;", false},
        {"else", "double s = 0; if (j > i) { for (long k = 0; k < n; k++) { s += B(k,j); } } else { s = 1; } C(i,j) = s;", false},
        {"a condition on an element", "double s = 0; if (A(i,j) > 0) { for (long k = 0; k < n; k++) { s += B(k,j); } } C(i,j) = s;", false},
        {"a boundary", "double s = 0; for (long k = 0; k < n; k++) { s += B(min(k + i, 9L),j); } C(i,j) = s;", false},
        {"a variable that is no number", "double2 s = 0; for (long k = 0; k < n; k++) { s += B(k,j); } C(i,j) = s.x;", false},
        {"a variable named as a loop's", "double s = 0; for (long k = 0; k < n; k++) { s += B(k,j); } double k = s; C(i,j) = k;", false},
        {"a declared reach", "double s = 0; for (long k = 0; k < n; k++) { s += B(k,j) + H(k,j); } C(i,j) = s;", false},
        {"a counter in no subscript", "double x = 1; for (int t = 0; t < 100; t++) x = x - (x * x - B(i,j)) / (2 * x); C(i,j) = x;", false},
        {"a counter in no subscript, a sum", "double s = 0; for (long k = 0; k < n; k++) s += B(i,j); C(i,j) = s;", false},
        {"a counter in no subscript, no variable", "for (long k = 0; k < n; k++) C(i,j) += B(i,j);", false},
        {"a counter in no subscript, used as a value", "double s = 0; for (long k = 0; k < n; k++) s += B(i,j) * k; C(i,j) = s;", false},
        {"a counter in no subscript, around another", "double s = 0; for (int r = 0; r < n; r++) { for (long k = 0; k < n; k++) { s += B(k,j); } } C(i,j) = s;", false},
        {"a short loop, counter in no subscript", "double s = 0; for (long k = 0; k < n; k++) { for (int t = 0; t < 3; t++) s += B(k,j); } C(i,j) = s;", false},
        {"a real limit", "double s = 0; for (long k = 0; k < n; k++) { if (k < alpha) continue; s += B(k,j); } C(i,j) = s;", false},
        {"a real literal as a limit", "double s = 0; for (long k = 0; k < n; k++) { if (k > j + 2.5) break; s += B(k,j); } C(i,j) = s;", false},
        {"an unsigned limit", "double s = 0; for (int k = -2; k < n; k++) { if (k < u) continue; s += B(k + 2,j); } C(i,j) = s;", false},
        {"an unsigned literal as a limit", "double s = 0; for (int k = -2; k < n; k++) { if (k < 1u) continue; s += B(k + 2,j); } C(i,j) = s;", false},
        {"a hexadecimal limit, which may be unsigned", "double s = 0; for (int k = -2; k < n; k++) { if (k < 0xffffffff) continue; s += B(k + 2,j); } C(i,j) = s;", false},
        {"a limit of an unsigned counter", "double s = 0; for (uint k = 0; k < n; k++) { if (k < 2 - 3) continue; s += B(k,j); } C(i,j) = s;", false},
        {"an unsigned counter in a limit", "double s = 0; for (uint x = 0; x < n; x++) { for (long k = 0; k < n; k++) { if (k > x - 3) break; s += B(k,j) * A(i,x); } } C(i,j) = s;", false},
        {"an address", "double s = 0, w = 0; for (long k = 0; k < n; k++) { s += modf(B(k,j), &w); } C(i,j) = s + w;", false},
        {"a remainder in a limit", "double s = 0; if (i > 0) { for (long k = 0; k < n; k++) { if (k > j % i) break; s += B(k,j); } } C(i,j) = s;", false},
        {"a remainder in a condition", "double s = 0; if (i > 0) { if (j % i == 0) { for (long k = 0; k < n; k++) s += B(k,j); } } C(i,j) = s;", false},
    };
    /* clang-format on */
    return cr_make_param_array(struct sweep_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct sweep_case *c, kernel_sweep, has)
{
    dcli_body *body = NULL;
    cr_assert_eq(
        test_parse(
            "inout C 2, in A 2, in B 2, all H 2, value n int64, value m int64, value alpha double, value u uint32",
            c->text, &body),
        DCL_OK, "%s: %s", c->what, dcl_error());
    cr_expect_eq(dcli_sweeps(body), c->sweeps, "%s", c->what);
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    cr_expect_eq(strstr(source, "dcl_all0") != NULL, c->sweeps, "%s", c->what);
    dcli_free(source);
    dcli_body_free(body);
}

struct gpu_case {
    char what[48], text[256];
    bool sweeps;
};

ParameterizedTestParameters(kernel_sweep, has_on_gpus)
{
    /* clang-format off */
    static struct gpu_case cases[] = {
        {"a product", "double s = C(i,j); for (long k = 0; k < n; k++) s += A(i,k) * B(k,j); C(i,j) = s;", true},
        {"one factor for all lines", "double s = 0; for (long k = 0; k < n; k++) { s += B(k,j); } C(i,j) = s;", true},
        {"loops in each other", "double s = 0; for (long k = 0; k < n; k++) { for (long x = 0; x < m; x++) s += A(i,k) * B(x,j); } C(i,j) = s;", true},
        {"nothing is shared", "double s = 0; for (long k = 0; k < n; k++) { s += A(i + k,j); } C(i,j) = s;", false},
        {"a limit", "double s = 0; for (long k = 0; k < n; k++) { if (k > j) break; s += B(k,j); } C(i,j) = s;", false},
        {"a condition", "double s = 0; if (j <= i) { for (long k = 0; k < n; k++) s += B(k,j); } C(i,j) = s;", false},
    };
    /* clang-format on */
    return cr_make_param_array(struct gpu_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct gpu_case *c, kernel_sweep, has_on_gpus)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("inout C 2, in A 2, in B 2, value n int64, value m int64", c->text, &body), DCL_OK,
                 "%s: %s", c->what, dcl_error());
    cr_expect_eq(dcli_sweeps_on_gpus(body), c->sweeps, "%s", c->what);
    char *source = dcli_body_source(body, DCLI_FORM_GPU, false);
    cr_expect_eq(strstr(source, "dcl_z0_s") != NULL, c->sweeps, "%s", c->what);
    dcli_free(source);
    dcli_body_free(body);
}
