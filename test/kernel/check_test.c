/* test/kernel/check_test.c - what kernels let a body read and write: every element around, for every kind of declaration. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/device.h"

static test_device *device;

static void open_device(void)
{
    device = test_device_open();
    if (device == NULL)
        cr_skip_test("no OpenCL device");
}

static void close_device(void)
{
    if (device != NULL)
        test_device_close(device);
}

TestSuite(kernel_device_check, .init = open_device, .fini = close_device);

enum { N = 7, X = 2, Y = 4 };

static bool rows(int a, int b) { return a == X && b >= 0 && b < N; }

static bool columns(int a, int b) { return b == Y && a >= 0 && a < N; }

static bool halo(int a, int b) { return abs(a - X) <= 1 && abs(b - Y) <= 3 && b < N; }

static bool cross(int a, int b) { return halo(a, b) && (a == X || b == Y); }

static bool box(int a, int b) { return a >= 1 && a <= 5 && a % 2 == 1 && (b == 2 || b == 3); }

/* Only the body's element (2, 4) reads, all elements from (-2, -2) to (8, 8) in turn. */
static void try_all(dcli_form form, dcli_variant variant, dcl_access access, bool (*allowed)(int a, int b))
{
    static const dcl_box strided = {.rank = 2, .start = {1, 2}, .count = {3, 2}, .stride = {2, 1}};
    int32_t in[N * N], out[N * N];
    for (int e = 0; e < N * N; e++)
        in[e] = 1000 + e;
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_INT32, .rank = 2, .extent = {N, N}, .data = out},
        {.name = "A", .access = access, .type = DCL_INT32, .rank = 2, .extent = {N, N}, .data = in, .width = {1, 3}},
        {.name = "a", .access = DCL_ACCESS_VALUE, .type = DCL_INT64},
        {.name = "b", .access = DCL_ACCESS_VALUE, .type = DCL_INT64},
    };
    if (access == DCL_ACCESS_IN_BOX)
        args[1].seen = &strided;
    dcli_body *body;
    dcli_param params[4];
    test_params(4, args, params);
    cr_assert_eq(dcli_body_parse("C(i,j) = i == 2 && j == 4 ? A(a + i, b + j) : 7;", "", 4, params, &body), DCL_OK,
                 "%s", dcl_error());
    test_program *program = test_program_build(device, body, form, NULL);
    for (int a = -2; a < N + 2; a++)
        for (int b = -2; b < N + 2; b++) {
            args[2].value.i = a - X;
            args[3].value.i = b - Y;
            test_report report = test_program_run(program, body, variant, 4, args, (int64_t[]){0, 0}, (int64_t[]){1, 1},
                                                  (int64_t[]){N, N});
            cr_assert_eq(report.any, !allowed(a, b), "access %d, form %d: A(%d, %d)", access, form, a, b);
            cr_assert_eq(out[X * N + Y], allowed(a, b) ? in[a * N + b] : 0, "A(%d, %d)", a, b);
            cr_assert(!report.any || (report.access == 1 && report.index[0] == a && report.index[1] == b),
                      "reported: A(%d, %d)", (int)report.index[0], (int)report.index[1]);
        }
    test_program_free(program);
    dcli_body_free(body);
}

static void try_kinds(dcli_form form, dcli_variant variant)
{
    try_all(form, variant, DCL_ACCESS_IN_ROWS, rows);
    try_all(form, variant, DCL_ACCESS_IN_COLUMNS, columns);
    try_all(form, variant, DCL_ACCESS_IN_HALO, halo);
    try_all(form, variant, DCL_ACCESS_IN_CROSS, cross);
    try_all(form, variant, DCL_ACCESS_IN_BOX, box);
}

Test(kernel_device_check, lets_read_what_is_declared_on_a_cpu) { try_kinds(DCLI_FORM_CPU, DCLI_VARIANT_ANY); }

Test(kernel_device_check, lets_read_what_is_declared_on_a_gpu) { try_kinds(DCLI_FORM_GPU, DCLI_VARIANT_CHECKED); }

/* A watched program writes where it may, and reports the rest; an array of one byte per element, and one that is read too. */
static void watch(dcli_form form)
{
    static const dcl_box inner = {.rank = 2, .start = {0, 1}, .count = {N, N - 2}, .stride = {1, 1}};
    int8_t c[N * N], d[N * N];
    memset(c, 5, sizeof c);
    memset(d, 5, sizeof d);
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_INT8, .rank = 2, .extent = {N, N}, .data = c},
        {.name = "D",
         .access = DCL_ACCESS_INOUT,
         .type = DCL_INT8,
         .rank = 2,
         .extent = {N, N},
         .data = d,
         .seen = &inner},
    };
    dcli_body *body;
    dcli_param params[2];
    test_params(2, args, params);
    cr_assert_eq(dcli_body_parse("C(i,j) = 8; D(j,i) += 1;", "", 2, params, &body), DCL_OK, "%s", dcl_error());
    test_device_watched(device, true);
    test_program *program = test_program_build(device, body, form, NULL);
    test_device_watched(device, false);
    test_report report = test_program_run(program, body, DCLI_VARIANT_CHECKED, 2, args, (int64_t[]){0, 0},
                                          (int64_t[]){1, 1}, (int64_t[]){N, N});
    cr_expect(report.any && report.access == 1 && (report.index[1] == 0 || report.index[1] == N - 1),
              "%d: access %d, (%d, %d)", report.any, (int)report.access, (int)report.index[0], (int)report.index[1]);
    for (int e = 0; e < N * N; e++) {
        bool inside = e % N > 0 && e % N < N - 1;
        cr_expect_eq(c[e], 8, "C at %d is %d", e, c[e]);
        cr_expect_eq(d[e], inside ? 6 : 5, "D at %d is %d", e, d[e]);
    }
    args[1].seen = NULL;
    report = test_program_run(program, body, DCLI_VARIANT_CHECKED, 2, args, (int64_t[]){0, 0}, (int64_t[]){1, 1},
                              (int64_t[]){N, N});
    cr_expect(!report.any, "all may be written");
    test_program_free(program);
    dcli_body_free(body);
}

Test(kernel_device_check, watches_writes_on_a_cpu) { watch(DCLI_FORM_CPU); }

Test(kernel_device_check, watches_writes_on_a_gpu) { watch(DCLI_FORM_GPU); }
