/* test/kernel/stack_test.c - for which bodies kernels for CPUs compute several lines at once. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/spec.h"
#include "kernel/stack.h"

struct stack_case {
    char what[48], text[224];
    bool stacks;
};

ParameterizedTestParameters(kernel_stack, has)
{
    /* clang-format off */
    static struct stack_case cases[] = {
        {"a window", "float s = 0; for (int y = -2; y <= 2; y++) for (int x = -2; x <= 2; x++) s += W(y+2,x+2) * A(i+y,j+x); C(i,j) = s;", true},
        {"a column", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); C(i,j) = s;", true},
        {"backwards", "float s = 0; for (int y = 0; y < 3; y++) s += A(i-y,j); C(i,j) = s;", true},
        {"a loop that descends", "float s = 0; for (int y = 2; y > -3; y--) s += A(i+y,j); C(i,j) = s;", true},
        {"blocks and if", "float s = 0, t = 1; for (int y = 0; y < 3; y++) { const float a = A(i+y,j); if (a > t) { s += a; t = a; } } C(i,j) = s + i;", true},
        {"a row: lines share nothing", "float s = 0; for (int x = 0; x < 3; x++) s += A(i,j+x); C(i,j) = s;", false},
        {"other steps", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+2*y,j); C(i,j) = s;", false},
        {"every other", "float s = 0; for (int y = 0; y < 6; y += 2) s += A(i+y,j); C(i,j) = s;", false},
        {"a window of any size", "float s = 0; for (int y = 0; y < n; y++) s += A(i+y,j); C(i,j) = s;", false},
        {"a large window", "float s = 0; for (int y = 0; y < 9; y++) for (int x = 0; x < 9; x++) s += A(i+y,j+x); C(i,j) = s;", false},
        {"an output that is read", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); D(i,j) += s;", false},
        {"an output under a condition", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); if (s > 0) C(i,j) = s;", false},
        {"break", "float s = 0; for (int y = 0; y < 3; y++) { if (s > 9) break; s += A(i+y,j); } C(i,j) = s;", false},
        {"another loop", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); while (s > 9) s *= 0.5f; C(i,j) = s;", false},
        {"a variable that is no number", "float4 v = 0; for (int y = 0; y < 3; y++) v += A(i+y,j); C(i,j) = v.x;", false},
        {"an unknown type", "size_t s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); C(i,j) = s;", false},
        {"a variable called as a function is", "float s = 0, max = 1; for (int y = 0; y < 3; y++) s = max(s, A(i+y,j)); C(i,j) = s;", false},
        {"a variable called as that of a loop", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); float y = s; C(i,j) = y;", false},
        {"a declared reach", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j) + H(i,j); C(i,j) = s;", false},
    };
    /* clang-format on */
    return cr_make_param_array(struct stack_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct stack_case *c, kernel_stack, has)
{
    dcli_body *body = NULL;
    const char *spec =
        strstr(c->text, "D(") != NULL ? "inout D 2, in A 2" : "out C 2, in A 2, in W 2, all H 2, value n int64";
    cr_assert_eq(test_parse(spec, c->text, &body), DCL_OK, "%s: %s", c->what, dcl_error());
    cr_expect_eq(dcli_stacks(body), c->stacks, "%s", c->what);
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    cr_expect_eq(strstr(source, "dcl_stacked") != NULL, c->stacks, "%s", c->what);
    dcli_free(source);
    dcli_body_free(body);
}

Test(kernel_stack, sums_of_one_index_have_one_line)
{
    dcli_body *body = NULL;
    cr_assert_eq(
        test_parse("out C 1, in A 1", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y); C(i) = s;", &body), DCL_OK,
        "%s", dcl_error());
    cr_expect(!dcli_stacks(body));
    dcli_body_free(body);
}
