/* test/kernel/stretch_test.c - comparisons of indices that kernels for CPUs evaluate once per stretch (kernel/stretch.h). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/device.h"
#include "kernel/spec.h"

/* Whether the program of a body for CPUs contains words. */
static bool has(const char *text, const char *words)
{
    dcli_body *body = NULL;
    cr_assert_eq(
        test_parse("out C 2, in A 2, in B 2, all T 1, value n int64, value u uint32, value x float", text, &body),
        DCL_OK, "%s", dcl_error());
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    bool found = strstr(source, words) != NULL;
    dcli_free(source);
    dcli_body_free(body);
    return found;
}

Test(kernel_stretch, finds_comparisons_of_indices_and_scalars)
{
    cr_expect(has("C(i,j) = i > 0 && j < n - 1 ? A(i,j) : 0;", "dcl_held1 = (j < n - 1);\n"));
    cr_expect(has("C(i,j) = i > 0 && j < n - 1 ? A(i,j) : 0;", "#define dcl_g0 (dcl_is0 && dcl_is1)\n"), "in a guard");
    cr_expect(has("float s = A(i,j); if ((j - n) <= 3) s = 0; C(i,j) = s;", "dcl_held0 = (( j - n ) <= 3);\n"));
    cr_expect(has("float s = A(i,j); if ((j - n) <= 3) s = 0; C(i,j) = s;", "if (dcl_is0) s = 0;"));
    cr_expect(has("C(i,j) = A(i,j) > 0 || -j >= n ? A(i,j) : 0;", "dcl_held0 = (- j >= n);\n"), "beside others");
    cr_expect(has("int b = i < n; C(i,j) = b;", "int b = dcl_is0;"));
    cr_expect(has("float s = 1; s += i < n ? A(i,j) : 0; C(i,j) = s;", "s += dcl_is0 ?"));
}

Test(kernel_stretch, leaves_others)
{
    cr_expect_not(has("C(i,j) = A(i,j) > 0 ? A(i,j) : 0;", "dcl_held0"), "of elements");
    cr_expect_not(has("C(i,j) = A(i,j) + j > 0 ? A(i,j) : 0;", "dcl_held0"), "of elements");
    cr_expect_not(has("long m = i; C(i,j) = m > 0 ? A(i,j) : 0;", "dcl_held0"), "of a variable");
    cr_expect_not(has("C(i,j) = j == 3 ? A(i,j) : 0;", "dcl_held0"), "changes twice");
    cr_expect_not(has("C(i,j) = j % 2 < 1 ? A(i,j) : 0;", "dcl_held0"), "changes often");
    cr_expect_not(has("C(i,j) = j * j < n ? A(i,j) : 0;", "dcl_held0"), "a product");
    cr_expect_not(has("C(i,j) = (int)j < n ? A(i,j) : 0;", "dcl_held0"), "a conversion, which may wrap");
    cr_expect_not(has("C(i,j) = !j < n ? A(i,j) : 0;", "dcl_held0"), "of a condition");
    cr_expect_not(has("C(i,j) = 0 < j < n ? A(i,j) : 0;", "dcl_held0"), "of a comparison");
    cr_expect_not(has("C(i,j) = j - 1 < u ? A(i,j) : 0;", "dcl_held0"), "unsigned");
    cr_expect_not(has("C(i,j) = j > 5U ? A(i,j) : 0;", "dcl_held0"), "unsigned");
    cr_expect_not(has("C(i,j) = j - 5 < 0xffffffffffffffff + 11 ? A(i,j) : 0;", "dcl_held0"), "unsigned");
    cr_expect_not(has("C(i,j) = j + x - j > 3 ? A(i,j) : 0;", "dcl_held0"), "rounded");
    cr_expect_not(has("C(i,j) = j + 0.1 - j > n ? A(i,j) : 0;", "dcl_held0"), "rounded");
    cr_expect_not(has("C(i,j) = j < 08 ? A(i,j) : 0;", "dcl_held0"), "an error");
    cr_expect_not(has("C(i,j) = 3 (j) < 5 ? A(i,j) : 0;", "dcl_held0"), "an error");
    cr_expect_not(has("float t[(3 < 5) ? 4 : 2]; t[0] = A(i,j); C(i,j) = t[0];", "dcl_held0"), "a constant");
    cr_expect_not(has("C(i,j) = T(j > 0 ? j - 1 : 0);", "dcl_held0"), "in a subscript");
    cr_expect_not(has("for (int k = 0; k < 2; k++) C(i,j) = i > 0 ? A(i,j) : 0;", "dcl_held0"), "in a loop");
}

/* Only neighbours of elements that are read anyway, as a condition may exclude whole arrays. */
Test(kernel_stretch, neighbours_are_read_early)
{
    cr_expect(has("C(i,j) = A(i,j) + (j > 0 ? A(i,j-1) : 0);", "const float dcl_early2 = dcl_a2;"));
    cr_expect_not(has("C(i,j) = i < 10 ? A(i,j) : 0;", "dcl_early"), "one element");
    cr_expect_not(has("C(i,j) = A(i,j) + A(i,j-1);", "dcl_early"), "no condition");
    cr_expect_not(
        has("float s = A(i,j); for (int k = 0; k < 2; k++) s += j > 0 ? A(i,j-1) : 0; C(i,j) = s;", "dcl_early"),
        "in a loop");
}

Test(kernel_stretch, alternatives_are_read_early)
{
    cr_expect(has("C(i,j) = i > j ? A(i,j) : B(i,j);", "const float dcl_early1 = dcl_a1;"));
    cr_expect(has("C(i,j) = i > j ? A(i,j) : B(i,j);", "const float dcl_early2 = dcl_a2;"));
    cr_expect(has("float s = 2 * fmin(j < n ? B(i,j) : A(i,j), 3.0f); C(i,j) = s;", "const float dcl_early1"));
    cr_expect_not(has("C(i,j) = i > j ? A(i,j) : B(j,i);", "dcl_early"), "not contiguous");
    cr_expect_not(has("C(i,j) = (i > j ? A(i,j) : 0) + B(i,j);", "dcl_early"), "one array");
    cr_expect_not(has("C(i,j) = i > j ? A(i,j) : B(i,j) * 2;", "dcl_early"), "an expression");
}

/* Along a line, these change at 3, at n - i, at n - 7, at 2 - i, at i + 3 or nowhere. */
static const char several[] = "float s = 0;"
                              "if (j >= 3) s += A(i,j-3);"
                              "if (i + j < n) s += 2 * A(i,j);"
                              "s += n - j > 7 ? 4 * A(i,j+7) : 0;"
                              "s += -j < (i - 2) && i > 1 ? 8 : 16;"
                              "s -= j < i + 3 ? A(i,j+1) : B(i,j-1);"
                              "C(i,j) = s;";

static float right(const float *a, const float *b, int64_t n, int64_t i, int64_t j, int64_t pitch)
{
    const float *at = a + i * pitch + j;
    float chosen = j < i + 3 ? at[1] : b[i * pitch + j - 1];
    return (j >= 3 ? at[-3] : 0) + (i + j < n ? 2 * at[0] : 0) + (n - j > 7 ? 4 * at[7] : 0) +
           (-j < i - 2 && i > 1 ? 8 : 16) - chosen;
}

enum { LINES = 40, LONGEST = 300, BESIDE = 8, PITCH = LONGEST + 2 * BESIDE };

/* Run the body at `count` columns from column BESIDE on, with all variants for CPUs. */
static void compare(test_program *program, const dcli_body *body, int64_t count, int64_t n)
{
    float *a = malloc(sizeof(float) * LINES * PITCH), *b = malloc(sizeof(float) * LINES * PITCH);
    float *c = calloc((size_t)LINES * PITCH, sizeof *c);
    for (int64_t t = 0; t < (int64_t)LINES * PITCH; t++) {
        a[t] = (float)(t * 37 % 1000);
        b[t] = (float)(t * 41 % 1000);
    }
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 2, .extent = {LINES, PITCH}, .data = c},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {LINES, PITCH}, .data = a},
        {.name = "B", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {LINES, PITCH}, .data = b},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .value = {.i = n}},
    };
    for (int variant = DCLI_VARIANT_UNIT; variant <= DCLI_VARIANT_CHECKED; variant++) {
        memset(c, 0, sizeof(float) * LINES * PITCH);
        test_program_run(program, body, (dcli_variant)variant, 4, args, (int64_t[]){0, BESIDE}, (int64_t[]){1, 1},
                         (int64_t[]){LINES, count});
        for (int64_t i = 0; i < LINES; i++)
            for (int64_t j = BESIDE; j < BESIDE + count; j++)
                cr_assert_eq(c[i * PITCH + j], right(a, b, n, i, j, PITCH),
                             "variant %d, n %" PRId64 ": %" PRId64 ",%" PRId64, variant, n, i, j);
        cr_expect(c[BESIDE - 1] == 0 && c[BESIDE + count] == 0, "nothing beside");
    }
    free(a);
    free(b);
    free(c);
}

Test(kernel_device_stretch, lines_are_cut_where_comparisons_change)
{
    test_device *device = test_device_open();
    if (device == NULL)
        cr_skip_test("no OpenCL device");
    static const int64_t count[] = {1, 2, 3, 64, 97, LONGEST - 1, LONGEST};
    dcli_body *body = NULL;
    cr_assert_eq(test_parse("out C 2, in A 2, in B 2, value n int64", several, &body), DCL_OK, "%s", dcl_error());
    test_program *program = test_program_build(device, body, DCLI_FORM_CPU, NULL);
    for (size_t k = 0; k < sizeof count / sizeof count[0]; k++)
        for (int64_t n = 0; n < LONGEST + 60; n += 13)
            compare(program, body, count[k], n);
    test_program_free(program);
    dcli_body_free(body);
    test_device_close(device);
}
