/* test/kernel/sweep_test.c - which bodies kernels for CPUs run in sweeps. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"
#include "kernel/sweep.h"

struct sweep_case {
    char what[48], text[256];
    bool sweeps;
};

ParameterizedTestParameters(kernel_sweep, has)
{
    /* clang-format off */
    static struct sweep_case cases[] = {
        {"a product", "double s = C(i,j); for (long k = 0; k < n; k++) s += A(i,k) * B(k,j); C(i,j) = s;", true},
        {"a product without a variable", "for (int k = 0; k <= n; k++) C(i,j) += A(i,k) * B(k,j);", true},
        {"limits", "double s = 0; for (long k = 0; k < n; k++) { if (k < i - 2) continue; if (k > j + m) break; s += B(k,j); } C(i,j) = s;", true},
        {"a condition around a loop", "double s = 0; if (j <= i && i > 2) { for (long k = 0; k < n; k++) s += B(k,j); } C(i,j) = s;", true},
        {"loops in each other", "double s = 0; for (long k = 0; k < n; k++) { double t = k; for (long x = 0; x < m; x++) { if (x > k) break; t += B(x,j); } s += t * A(i,k); } C(i,j) = s;", true},
        {"a short loop in a long one", "double s = 0; for (long k = 0; k < n; k++) { for (int x = 0; x < 3; x++) s += B(k+x,j); } C(i,j) = s;", true},
        {"neighbours", "double s = 0; for (long k = 0; k < n; k++) { s += A(i,j+k); } C(i,j) = s;", true},
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
    };
    /* clang-format on */
    return cr_make_param_array(struct sweep_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct sweep_case *c, kernel_sweep, has)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("inout C 2, in A 2, in B 2, all H 2, value n int64, value m int64", c->text, &body), DCL_OK,
                 "%s: %s", c->what, dcl_error());
    cr_expect_eq(dcli_sweeps(body), c->sweeps, "%s", c->what);
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    cr_expect_eq(strstr(source, "dcl_all0") != NULL, c->sweeps, "%s", c->what);
    dcli_free(source);
    dcli_body_free(body);
}
