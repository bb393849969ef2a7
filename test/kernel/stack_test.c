/* test/kernel/stack_test.c - for which bodies kernels for CPUs compute several lines at once. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/device.h"
#include "kernel/spec.h"
#include "kernel/stack.h"

enum { NEVER = DCLI_STACK_NEVER, NAMED = DCLI_STACK_NAMED, LOOPS = DCLI_STACK_LOOPS };

struct stack_case {
    char what[48], text[224];
    int stacks;
};

ParameterizedTestParameters(kernel_stack, has)
{
    /* clang-format off */
    static struct stack_case cases[] = {
        {"a window", "float s = 0; for (int y = -2; y <= 2; y++) for (int x = -2; x <= 2; x++) s += W(y+2,x+2) * A(i+y,j+x); C(i,j) = s;", LOOPS},
        {"a column", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); C(i,j) = s;", LOOPS},
        {"backwards", "float s = 0; for (int y = 0; y < 3; y++) s += A(i-y,j); C(i,j) = s;", LOOPS},
        {"a loop that descends", "float s = 0; for (int y = 2; y > -3; y--) s += A(i+y,j); C(i,j) = s;", LOOPS},
        {"blocks and if", "float s = 0, t = 1; for (int y = 0; y < 3; y++) { const float a = A(i+y,j); if (a > t) { s += a; t = a; } } C(i,j) = s + i;", LOOPS},
        {"a row: lines share nothing", "float s = 0; for (int x = 0; x < 3; x++) s += A(i,j+x); C(i,j) = s;", NEVER},
        {"other steps", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+2*y,j); C(i,j) = s;", NEVER},
        {"every other", "float s = 0; for (int y = 0; y < 6; y += 2) s += A(i+y,j); C(i,j) = s;", NEVER},
        {"a window of any size", "float s = 0; for (int y = 0; y < n; y++) s += A(i+y,j); C(i,j) = s;", NEVER},
        {"a large window", "float s = 0; for (int y = 0; y < 9; y++) for (int x = 0; x < 9; x++) s += A(i+y,j+x); C(i,j) = s;", NEVER},
        {"an output that is read", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); D(i,j) += s;", NEVER},
        {"an output under a condition", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); if (s > 0) C(i,j) = s;", NEVER},
        {"break", "float s = 0; for (int y = 0; y < 3; y++) { if (s > 9) break; s += A(i+y,j); } C(i,j) = s;", NEVER},
        {"another loop", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); while (s > 9) s *= 0.5f; C(i,j) = s;", NEVER},
        {"a variable that is no number", "float4 v = 0; for (int y = 0; y < 3; y++) v += A(i+y,j); C(i,j) = v.x;", NEVER},
        {"an unknown type", "size_t s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); C(i,j) = s;", NEVER},
        {"a variable called as a function is", "float s = 0, max = 1; for (int y = 0; y < 3; y++) s = max(s, A(i+y,j)); C(i,j) = s;", NEVER},
        {"a variable called as that of a loop", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j); float y = s; C(i,j) = y;", NEVER},
        {"a declared reach", "float s = 0; for (int y = 0; y < 3; y++) s += A(i+y,j) + H(i,j); C(i,j) = s;", NEVER},
        {"neighbours", "C(i,j) = A(i-1,j) + A(i+1,j);", NAMED},
        {"neighbours by variables", "const float a = A(i-2,j-1), b = A(i,j+3); C(i,j) = fmax(a, b);", NAMED},
        {"backwards, named", "C(i,j) = A(-i+20,j) + A(-i+21,j);", NAMED},
        {"beside a scalar", "C(i,j) = A(i+n,j) + A(i+n+1,j);", NAMED},
        {"a scalar apart", "C(i,j) = A(i+n,j) + A(i,j);", NEVER},
        {"other steps, named", "C(i,j) = A(2*i,j) + A(2*i+2,j);", NEVER},
        {"both ways", "C(i,j) = A(i,j) + A(-i+20,j);", NEVER},
        {"two arrays", "C(i,j) = A(i-1,j) + W(i+1,j);", NEVER},
        {"neighbours in a row", "C(i,j) = A(i,j-1) + A(i,j+1);", NEVER},
        {"neighbours under a condition", "C(i,j) = i > 0 ? A(i-1,j) + A(i,j) : 0;", NEVER},
        {"neighbours of an output that is read", "D(i,j) += A(i-1,j) + A(i+1,j);", NEVER},
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
    cr_expect_eq((int)dcli_stacks(body), c->stacks, "%s", c->what);
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    const char *unit = strstr(source, "dcl_unit("), *streamed = strstr(source, "dcl_streamed("),
               *first = strstr(unit, "dcl_stacked");
    cr_expect_eq(streamed != NULL && strstr(streamed, "dcl_stacked") != NULL, c->stacks != NEVER, "%s", c->what);
    cr_expect_eq(first != NULL && first < streamed, c->stacks == LOOPS, "%s", c->what);
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

/* The access of which dcl_streamed fetches elements ahead; -1: none. */
static int fetched(const char *spec, const char *text)
{
    dcli_body *body = NULL;
    cr_assert_eq(test_parse(spec, text, &body), DCL_OK, "%s: %s", text, dcl_error());
    char *source = dcli_body_source(body, DCLI_FORM_CPU, false);
    const char *streamed = strstr(source, "dcl_streamed("), *found = strstr(streamed, "DCL_FAR_AHEAD(dcl_p");
    int access = found != NULL ? atoi(found + strlen("DCL_FAR_AHEAD(dcl_p")) : -1;
    dcli_free(source);
    dcli_body_free(body);
    return access;
}

/* Access 0 is C, the others have the order of the text. */
Test(kernel_stack, the_line_that_comes_from_memory_is_fetched)
{
    static const char plane[] = "out C 2, in A 2, in W 2", space[] = "out C 3, in A 3";
    cr_expect_eq(fetched(plane, "C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);"), 2);
    cr_expect_eq(fetched(plane, "C(i,j) = A(i+1,j) + A(i,j) + A(i+1,j+1);"), 1, "the first one of that line");
    cr_expect_eq(fetched(plane, "C(i,j) = A(-i+20,j) + A(-i+21,j);"), 1, "downwards");
    cr_expect_eq(fetched(plane, "C(i,j) = W(i,j) + A(i,j) + A(i-1,j);"), 2, "beside an array with one line");
    cr_expect_eq(fetched(space, "C(i,j,k) = A(i,j-1,k) + A(i,j+1,k) + A(i+1,j,k) + A(i-1,j,k);"), 3, "a plane");
    cr_expect_eq(fetched(plane, "C(i,j) = A(i,j-1) + A(i,j+1);"), -1, "one line");
    cr_expect_eq(fetched(plane, "C(i,j) = A(i,j) + A(-i+20,j);"), -1, "both ways");
}

/* Lines are stacked from 4,096 elements on. */
enum { LINES = 27, LONGEST = 4300, PAD = 5, PITCH = LONGEST + PAD, SIDE = 11, LARGEST = SIDE * SIDE * PITCH };

/* Run a body at a box that begins at (2, 2, ...), by dcl_unit and by dcl_streamed, and compare C and D with `right`. */
static void compare(test_program *program, const dcli_body *body, test_arg args[], int rank, const int64_t count[],
                    void (*right)(const float *a, int64_t i, int64_t j, int64_t k, float *c_out, double *d_out))
{
    const float *a = args[2].data, *c = args[0].data;
    const double *d = args[1].data;
    for (int run = 0; run < 2; run++) {
        memset(args[0].data, 0, sizeof(float) * LARGEST);
        memset(args[1].data, 0, sizeof(double) * LARGEST);
        test_program_run(program, body, DCLI_VARIANT_UNIT, 4, args, (int64_t[]){2, 2, 2}, (int64_t[]){1, 1, 1}, count);
        int64_t rows = args[0].extent[rank - 2], pitch = args[0].extent[rank - 1] + PAD;
        for (int64_t e = 0; e < (rank == 3 ? args[0].extent[0] : 1) * rows * pitch; e++) {
            int64_t at[] = {e / pitch / rows, e / pitch % rows, e % pitch};
            bool inside = true;
            for (int m = 0; m < rank; m++)
                inside = inside && at[3 - rank + m] >= 2 && at[3 - rank + m] < 2 + count[m];
            float c_right = 0;
            double d_right = 0;
            if (inside)
                right(a + e, at[0], at[1], at[2], &c_right, &d_right);
            cr_assert_eq(c[e], c_right, "%" PRId64 " columns: C(%" PRId64 ",%" PRId64 ",%" PRId64 ")", count[rank - 1],
                         at[0], at[1], at[2]);
            cr_assert_eq(d[e], d_right, "%" PRId64 " columns: D(%" PRId64 ",%" PRId64 ",%" PRId64 ")", count[rank - 1],
                         at[0], at[1], at[2]);
        }
    }
}

static void right_plane(const float *a, int64_t i, int64_t j, int64_t k, float *c_out, double *d_out)
{
    (void)i;
    float s = a[-2 * PITCH] + 2 * a[PITCH - 1];
    s -= a[PITCH + 1] * a[0];
    *c_out = s;
    *d_out = (double)s + (double)a[(25 - 2 * j) * PITCH] + (double)k; /* line 25 - j */
}

static void right_space(const float *a, int64_t i, int64_t j, int64_t k, float *c_out, double *d_out)
{
    enum { PLANE = SIDE * PITCH };
    (void)k;
    *c_out = a[-PLANE] + a[PLANE] + (a[-2 * PITCH] - a[PITCH]) + a[1];
    *d_out = (double)a[-PLANE + PITCH] * (double)(i - j);
}

static void run_named(const char *text, int rank, int64_t rows, int64_t columns, int counts, const int64_t count[][3],
                      void (*right)(const float *, int64_t, int64_t, int64_t, float *, double *))
{
    test_device *device = test_device_open();
    if (device == NULL)
        cr_skip_test("no OpenCL device");
    float *a = malloc(sizeof(float) * LARGEST), *c = malloc(sizeof(float) * LARGEST);
    double *d = malloc(sizeof(double) * LARGEST);
    for (int64_t t = 0; t < LARGEST; t++)
        a[t] = (float)(t * 37 % 1000) / 8;
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = rank, .pad = PAD, .data = c},
        {.name = "D", .access = DCL_ACCESS_OUT, .type = DCL_DOUBLE, .rank = rank, .pad = PAD, .data = d},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = rank, .pad = PAD, .data = a},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .value = {.i = 25}},
    };
    for (int p = 0; p < 3; p++)
        for (int m = 0; m < rank; m++)
            args[p].extent[m] = m == rank - 1 ? columns : rows;
    dcli_param params[4];
    dcli_body *body;
    test_params(4, args, params);
    cr_assert_eq(dcli_body_parse(text, "", 4, params, &body), DCL_OK, "%s", dcl_error());
    cr_expect_eq((int)dcli_stacks(body), NAMED);
    test_program *program = test_program_build(device, body, DCLI_FORM_CPU, NULL);
    for (int n = 0; n < counts; n++)
        compare(program, body, args, rank, count[n], right);
    test_program_free(program);
    dcli_body_free(body);
    test_device_close(device);
    free(a);
    free(c);
    free(d);
}

Test(kernel_device_stack, neighbours_of_a_plane)
{
    static const int64_t count[][3] = {{23, LONGEST - 4}, {22, 1},   {21, 4095}, {20, 4096},
                                       {19, 4097},        {4, 4223}, {1, 9}};
    run_named("float s = A(i-2,j) + 2 * A(i+1,j-1); s -= A(i+1,j+1) * A(i,j); C(i,j) = s; D(i,j) = s + A(n-i,j) + j;",
              2, LINES, LONGEST, 7, count, right_plane);
}

Test(kernel_device_stack, neighbours_in_space)
{
    static const int64_t count[][3] = {{7, 7, 4097}, {1, 6, LONGEST - 4}, {3, 5, 1}};
    run_named("C(i,j,k) = A(i-1,j,k) + A(i+1,j,k) + (A(i,j-2,k) - A(i,j+1,k)) + A(i,j,k+1);"
              "D(i,j,k) = (double)A(i-1,j+1,k) * (i - j) + 0 * n;",
              3, SIDE, LONGEST, 3, count, right_space);
}
