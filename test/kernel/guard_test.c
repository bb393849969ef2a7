/* test/kernel/guard_test.c - conditions that kernels for GPUs test for several indices at once (kernel/guard.h). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/device.h"
#include "kernel/guard.h"
#include "kernel/spec.h"

/* Whether the program of a body for GPUs contains words. */
static bool has(const char *text, const char *words)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in A 2, all T 1, value n int64, value x float", text, &body), DCL_OK, "%s",
                 dcl_error());
    char *source = dcli_body_source(body, DCLI_FORM_GPU, false);
    bool found = strstr(source, words) != NULL;
    dcli_free(source);
    dcli_body_free(body);
    return found;
}

Test(kernel_guard, finds_conditions_of_indices_and_scalars)
{
    cr_expect(has("C(i,j) = i > 0 && j < n - 1 ? A(i-1,j) : 0;", "#define dcl_g0 (i > 0 && j < n - 1)\n"));
    cr_expect(has("C(i,j) = i > 0 && j < n - 1 ? A(i-1,j) : 0;", "#define dcl_g0 1\n"), "usually true");
    cr_expect(has("C(i,j) = i == 0 || j == n - 1 ? 0 : A(i-1,j);", "#define dcl_g0 0\n"), "usually false");
    cr_expect(has("C(i,j) = !(i == 0 || j == 0) ? A(i-1,j) : 0;", "#define dcl_g0 1\n"));
    cr_expect(has("C(i,j) = (i == n) ? 0 : A(i,j);", "#define dcl_g0 0\n"));
    cr_expect(has("C(i,j) = A(i,j) + 2 * (j > 0 ? A(i,j-1) : 0) + (j < n ? A(i,j) : x);", "dcl_g1 (j < n)\n"));
    cr_expect(has("C(i,j) = i == 0 ? 1 : j == 0 ? 2 : A(i,j);", "#define dcl_g1 (j == 0)\n"));
    cr_expect(has("if (i < n && j < n) { float y = A(i,j); C(i,j) = y; }", "#define dcl_g0 (i < n && j < n)\n"));
}

Test(kernel_guard, leaves_other_conditions)
{
    cr_expect_not(has("C(i,j) = A(i,j) > 0 ? A(i,j) : 0;", "dcl_g0"), "of elements");
    cr_expect_not(has("int m = i + 1; C(i,j) = m > 0 ? A(i,j) : 0;", "dcl_g0"), "of a variable");
    cr_expect_not(has("C(i,j) = abs((int)i) > 2 ? A(i,j) : 0;", "dcl_g0"), "a call");
    cr_expect_not(has("C(i,j) = T(j > 0 ? j - 1 : 0);", "dcl_g0"), "in a subscript");
    cr_expect_not(has("for (int k = 0; k < 2; k++) C(i,j) = i > 0 ? A(i,j) : 0;", "dcl_g0"), "in a loop");
}

static bool is_convex(const char *text)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in A 2, value n int64, value u uint32", text, &body), DCL_OK, "%s", dcl_error());
    bool convex = dcli_guards_are_convex(body);
    dcli_body_free(body);
    return convex;
}

Test(kernel_guard, is_convex)
{
    cr_expect(is_convex("C(i,j) = i > 0 && j < n - 1 && i + j <= n ? A(i-1,j) : 0;"));
    cr_expect(is_convex("C(i,j) = ((i > 0) && ((j - 1) < n)) ? A(i-1,j) : 0;"));
    cr_expect(is_convex("C(i,j) = i < 1 || (j > n - 2) ? 0 : A(i-1,j);"), "usually false");
    cr_expect_not(is_convex("C(i,j) = i == 0 || j == n - 1 ? 0 : A(i-1,j);"), "all but a line");
    cr_expect_not(is_convex("C(i,j) = i != 5 && j > 0 ? A(i-1,j) : 0;"));
    cr_expect_not(is_convex("C(i,j) = !(i > 0) && j > 0 ? A(i-1,j) : 0;"));
    cr_expect_not(is_convex("C(i,j) = i * j < n ? A(i,j) : 0;"));
    cr_expect_not(is_convex("C(i,j) = i % 2 < 1 ? A(i,j) : 0;"));
    cr_expect_not(is_convex("C(i,j) = i && j > 0 ? A(i,j) : 0;"), "a number as a condition");
    cr_expect_not(is_convex("C(i,j) = 0 < i < n ? A(i,j) : 0;"), "a comparison of a comparison");
    cr_expect_not(is_convex("C(i,j) = (i > 0) + (j > 0) > 1 ? A(i,j) : 0;"), "a sum of comparisons");
    cr_expect_not(is_convex("C(i,j) = (i > 0 && j > 0) < 1 ? A(i,j) : 0;"), "a comparison of a condition");
    cr_expect_not(is_convex("C(i,j) = i - 1 < u ? A(i,j) : 0;"), "unsigned");
    cr_expect_not(is_convex("C(i,j) = i > 5U ? A(i,j) : 0;"), "unsigned");
}

/* The right value of an element. */
typedef float right_fn(const float *a, int64_t i, int64_t j);

enum { ROWS = 1031, COLUMNS = 1280, PAD = 3, PITCH = COLUMNS + PAD }; /* so many that work-items have several indices */

/* Run a body at the first `columns` columns of all rows but the last. */
static void compare(const char *text, int64_t columns, right_fn *right)
{
    test_device *device = test_device_open();
    if (device == NULL)
        cr_skip_test("no OpenCL device");
    float *a = malloc(sizeof(float) * ROWS * PITCH), *c = calloc((size_t)ROWS * PITCH, sizeof *c);
    for (int64_t t = 0; t < (int64_t)ROWS * PITCH; t++)
        a[t] = (float)(t * 37 % 1000) / 8;
    test_arg args[] = {
        {.name = "C",
         .access = DCL_ACCESS_OUT,
         .type = DCL_FLOAT,
         .rank = 2,
         .extent = {ROWS, COLUMNS},
         .pad = PAD,
         .data = c},
        {.name = "A",
         .access = DCL_ACCESS_IN,
         .type = DCL_FLOAT,
         .rank = 2,
         .extent = {ROWS, COLUMNS},
         .pad = PAD,
         .data = a},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .value = {.i = columns}},
    };
    enum { COUNT = sizeof args / sizeof args[0] };
    dcli_param params[COUNT];
    dcli_body *body;
    test_params(COUNT, args, params);
    cr_assert_eq(dcli_body_parse(text, "", COUNT, params, &body), DCL_OK, "%s", dcl_error());
    test_program *program = test_program_build(device, body, DCLI_FORM_GPU, NULL);
    test_program_run(program, body, DCLI_VARIANT_UNIT, COUNT, args, (int64_t[]){0, 0}, (int64_t[]){1, 1},
                     (int64_t[]){ROWS - 1, columns});
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < PITCH; j++)
            cr_assert_eq(c[i * PITCH + j], i < ROWS - 1 && j < columns ? right(a, i, j) : 0,
                         "%" PRId64 ",%" PRId64 " of %" PRId64 " columns", i, j, columns);
    test_program_free(program);
    dcli_body_free(body);
    test_device_close(device);
    free(a);
    free(c);
}

static float right_stencil(const float *a, int64_t i, int64_t j)
{
    const float *at = a + i * PITCH + j;
    return i > 0 && j > 0 && i < 1029 && j < 1036 ? at[-PITCH] + at[PITCH] - at[-1] - 2 * at[1] : at[0];
}

Test(kernel_device_guard, stencil_inside_a_frame)
{
    compare(
        "C(i,j) = i > 0 && j > 0 && i < 1029 && j < n - 1 ? A(i-1,j) + A(i+1,j) - A(i,j-1) - 2 * A(i,j+1) : A(i,j);",
        1037, right_stencil);
}

static float right_frame(const float *a, int64_t i, int64_t j)
{
    return i % 7 == 0 || j == 0 ? -1 : a[i * PITCH + j] + (j < 1033 ? a[i * PITCH + j + 4] : 5);
}

Test(kernel_device_guard, several_guards_of_both_kinds)
{
    compare("C(i,j) = i % 7 == 0 || j == 0 ? -1 : A(i,j) + (j < n - 4 ? A(i,j+4) : 5);", 1037, right_frame);
}

static float right_part(const float *a, int64_t i, int64_t j)
{
    return i + j < 1500 && j != 40 ? 2 * a[i * PITCH + j] : 0;
}

Test(kernel_device_guard, statement_behind_a_guard)
{
    compare("if (i + j < 1500 && j != 40) C(i,j) = 2 * A(i,j);", 1037, right_part);
}

static float right_rows(const float *a, int64_t i, int64_t j) { return a[i * PITCH + j] - 2 * a[(i + 1) * PITCH + j]; }

/* Work-items of the last group along the rows have 5 to 8, 1 to 4, or no indices. */
Test(kernel_device_guard, rows_that_share_elements_have_any_length)
{
    static const int64_t columns[] = {1037, 1120, 1150, 1185, 1220, 1254, 1279, 1280};
    for (size_t n = 0; n < sizeof columns / sizeof columns[0]; n++)
        compare("C(i,j) = A(i,j) - 2 * A(i+1,j);", columns[n], right_rows);
}
