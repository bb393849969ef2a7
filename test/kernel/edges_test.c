/* test/kernel/edges_test.c - what kernels for CPUs do for compilers: rows at the edges of arrays that need no checks, and steps
 * whose value LLVM must not guess. Results are compared in test/runtime/boundary_test.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"

/* How often the program of a body for CPUs contains words. */
static int count(const char *text, const char *words)
{
    dcli_body *body = NULL;
    int found = 0;
    cr_assert_eq(test_parse("out C 2, in A 2, in T 1, all H 2, value n int64", text, &body), DCL_OK, "%s", dcl_error());
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    for (const char *at = source; (at = strstr(at, words)) != NULL; at++)
        found++;
    dcli_free(source);
    dcli_body_free(body);
    return found;
}

static bool has_edges(const char *text) { return count(text, "if (dcl_plain)") == 1; }

Test(kernel_edges, rows_are_tested_if_subscripts_have_limits)
{
    cr_expect(has_edges("C(i,j) = A(clamp(i-1,0,n),j);"));
    cr_expect(has_edges("C(i,j) = A(i,max(j-1,0)) + A(min(2*i-n*j,n),j);"));
    cr_expect(has_edges("C(i,j) = A(reflect(i-1,0,n),symmetric(j,0,n));"));
    cr_expect(has_edges("C(i,j) = A(constant(i-1,0,n,-1),j);"));
}

Test(kernel_edges, other_rows_are_checked)
{
    cr_expect_not(has_edges("C(i,j) = A(i-1,j);"), "it has no limits: a row at the edge reads outside");
    cr_expect_not(has_edges("C(i,j) = A((i+n-1)%n,clamp(j,0,n));"), "a periodic subscript");
    cr_expect_not(has_edges("C(i,j) = A(i,clamp(j,0,n)) + H(i,j);"), "a declared reach");
}

Test(kernel_edges, a_row_is_tested_at_its_corners)
{
    cr_expect_eq(count("C(i,j) = A(min(2*i-3,n),j);", "dcl_smaller(0 + ((-3L)) + dcl_smaller((2L) * (dcl_i0), (2L) * "
                                                      "(dcl_i0 + (dcl_n0 - 1) * dcl_d0)), 1L * (long)n) >= "),
                 1);
    cr_expect_eq(count("int s = 0; for (int d = n; d > -2; d--) s += A(max(i+d,0),j); C(i,j) = s;",
                       "dcl_larger((1L) * (((-2L)) + 1), (1L) * ((1L * (long)n)))"),
                 1);
}

Test(kernel_edges, only_dcl_unit_hides_steps)
{
    cr_expect_eq(count("C(i,j) = T(i) + A(i,2*j);", " > 1 - LONG_MAX ? "), 3,
                 "dcl_unit, dcl_streamed, dcl_gathered; not dcl_any");
    cr_expect_eq(count("C(i,j) = A(i,j);", " > 1 - LONG_MAX ? "), 0, "a step that is known");
    cr_expect_eq(count("C(i,j) = T(i);", " > 1 - LONG_MAX ? "), 0, "no step along the innermost axis");
}
