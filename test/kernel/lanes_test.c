/* test/kernel/lanes_test.c - which bodies with a loop of unknown length kernels for CPUs run for many elements at once. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/lanes.h"
#include "kernel/spec.h"

struct lanes_case {
    char what[48], text[224];
    bool has;
};

ParameterizedTestParameters(kernel_lanes, has)
{
    /* clang-format off */
    static struct lanes_case cases[] = {

        {"a condition and a counter", "const float u = A(i,j); float x = u, y = 0; int s = 0;"
         " for (; s < 99 && x * x < 4; s++) { const float t = x - y; y = x * y + u; x = t; } C(i,j) = s;", true},
        {"while", "float x = A(i,j); while (x > 1) x *= 0.5f; C(i,j) = x;", true},
        {"a counter of the loop", "float x = A(i,j); for (int s = 0; x > 1 && s < n; s++) x = x * 0.5f; C(i,j) = x;", true},
        {"a counter of another type", "float x = A(i,j); for (unsigned s = 0; x > 1 && s < 9; s++) x *= 0.5f; C(i,j) = x;", false},
        {"a counter that is a bool", "float x = A(i,j); for (bool more = true; more; more = x > 1) x *= 0.5f; C(i,j) = x;", false},
        {"break first", "float x = 0; for (int s = 0; s < n; s += (int)x + 1) { if (x > 9) break; x += j; } C(i,j) = x;", true},
        {"a known limit, but a break", "float x = 0; for (int s = 0; s < 60; s++) { if (x > 9) break; x += j; } C(i,j) = x;", true},
        {"such a loop with an array", "float x = 0; for (int s = 0; s < 60; s++) { if (x > 9) break; x += T(s); } C(i,j) = x;", false},
        {"an inner loop before", "float x = 0; for (int d = 0; d < 3; d++) x += T(d); while (x > 1) x -= 1; C(i,j) = x;", true},
        {"if and else inside", "int x = i; while (x != 1) { if (x % 2 == 0) x = x / 2; else x = 3 * x + 1; } C(i,j) = x;", true},
        {"a real divisor", "float x = A(i,j), y = 1; while (fabs(y * y - x) > 1) y = 0.5f * (y + x / y); C(i,j) = y;", true},
        {"an integer divisor", "int x = i, y = j + 1; while (x > y) x = x / y; C(i,j) = x;", false},
        {"an integer remainder", "int x = i, y = j + 1; while (x > y) x = x % y; C(i,j) = x;", false},
        {"break later", "float x = A(i,j); while (x > 1) { x *= 0.5f; if (x < n) break; } C(i,j) = x;", false},
        {"break with else", "float x = 9; while (x > 1) { if (x > 3) break; else x -= 1; } C(i,j) = x;", false},
        {"continue", "float x = 9; while (x > 1) { x -= 1; if (x > 3) continue; x -= 1; } C(i,j) = x;", false},
        {"two loops", "float x = 9; while (x > 1) x -= 1; while (x > 0) x -= 1; C(i,j) = x;", false},
        {"a loop inside", "float x = 9; while (x > 1) for (int s = 0; s < 3; s++) x -= 1; C(i,j) = x;", false},
        {"a loop in a condition", "float x = 9; if (j > 3) while (x > 1) x -= 1; C(i,j) = x;", false},
        {"a condition that assigns", "int x = 9; while (x-- > 1) ; C(i,j) = x;", false},
        {"a call", "float x = A(i,j); while (exp(x) > 1) x -= 1; C(i,j) = x;", false},
        {"an array inside", "float x = 9; while (x > A(i,j)) x -= 1; C(i,j) = x;", false},
        {"an output inside", "int x = 9; while (x > 1) { x -= 1; C(i,j) = x; }", false},
        {"a local array", "float x[2] = {9, 9}; while (x[0] > 1) x[0] -= 1; C(i,j) = x[0];", false},
        {"a vector", "float2 x = 9; while (x.x > 1) x -= 1; C(i,j) = x.y;", false},
        {"a pointer", "float x = 9, *y = &x; while (x > 1) *y -= 1; C(i,j) = x;", false},
        {"a shadow", "float x = 9; for (float x = 2; x > 1; x -= 1) ; C(i,j) = x;", false},
        {"statements of variables and arrays", "float x = 9, y; y = x; { float z = y; x += z; } if (j > 3) ++x;"
         " while (x > 1) x -= 1; C(i,j) = x;", true},
        {"a structure", "struct { float a; } y; float x = 9; y.a = x; while (x > 1) x -= 1; C(i,j) = y.a;", false},
        {"an attribute", "__attribute__((unused)) float y = 2; float x = 9; while (x > y) x -= 1; C(i,j) = x;", false},
        {"a declared reach", "float x = H(0,0); while (x > 1) x -= 1; C(i,j) = x;", false},
        {"an inner loop only", "float x = 0; for (int d = 0; d < 3; d++) x += A(i,j); C(i,j) = x;", false},
        {"no loop", "C(i,j) = A(i,j);", false},
    };
    /* clang-format on */
    return cr_make_param_array(struct lanes_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct lanes_case *c, kernel_lanes, has)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in A 2, in T 1, all H 2, value n int64", c->text, &body), DCL_OK, "%s: %s",
                 c->what, dcl_error());
    cr_expect_eq(dcli_lanes_has(body), c->has, "%s", c->what);
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    cr_expect_eq(strstr(source, "dcl_of_") != NULL, c->has, "%s", c->what);
    dcli_free(source);
    dcli_body_free(body);
}

Test(kernel_lanes, rows_of_costly_elements_are_blocks)
{
    static const struct {
        const char *text;
        int64_t count, shape;
        int units;
    } cases[] = {{"x *= 0.5f;", 4096, 256, 2},
                 {"x *= 0.5f;", 100, 32, 2},
                 {"x *= 0.5f;", 40, 20, 2},
                 {"x *= 0.5f;", 9, 3, 4},
                 {"{ x *= 0.5f; if (x < n) break; }", 40, 1, 2}}; /* elements run one by one */
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char text[128];
        dcli_body *body = NULL;
        int64_t shape[DCL_MAX_RANK];
        snprintf(text, sizeof text, "float x = A(i); while (x > 1) %s C(i) = x;", cases[k].text);
        cr_assert_eq(test_parse("out C 1, in A 1, value n int64", text, &body), DCL_OK, "%s", dcl_error());
        dcli_body_row_shape(body, &cases[k].count, cases[k].units, 1e5, shape);
        cr_expect_eq(shape[0], cases[k].shape, "%s, %d elements: rows of %d", text, (int)cases[k].count, (int)shape[0]);
        dcli_body_free(body);
    }
}
