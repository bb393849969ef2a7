/* test/kernel/run_test.c - generated programs run on the first OpenCL device and compared with plain C loops.
 * A fresh kernel takes 0.2 s to compile there: one program and few launches per test. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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

TestSuite(kernel_device_run, .init = open_device, .fini = close_device);

/** A body made ready for one form. */
struct run {
    dcli_body *body;
    test_program *program;
    int count;
    test_arg *args;
};

static struct run begin(const char *text, const char *prelude, dcli_form form, int count, test_arg args[])
{
    struct run run = {.count = count, .args = args};
    dcli_param params[DCLI_MAX_PARAMS];
    test_params(count, args, params);
    cr_assert_eq(dcli_body_parse(text, prelude, count, params, &run.body), DCL_OK, "%s", dcl_error());
    run.program = test_program_build(device, run.body, form, NULL);
    return run;
}

static void end(struct run *run)
{
    test_program_free(run->program);
    dcli_body_free(run->body);
}

/* All indices of the output with these extents, in the order of the loop axes. */
static test_report run_all(struct run *run, dcli_variant variant, const int64_t count[])
{
    const int64_t zeros[4] = {0}, ones[4] = {1, 1, 1, 1};
    return test_program_run(run->program, run->body, variant, run->count, run->args, zeros, ones, count);
}

static float *floats(int64_t count, int seed)
{
    float *out = malloc((size_t)count * sizeof *out);
    for (int64_t t = 0; t < count; t++)
        out[t] = (float)((t * 37 + seed * 101) % 1000) / 8;
    return out;
}

/* C = A + B^T in blocks, and past them: 300 x 517 is no multiple of any block. */
static void transposed_add(dcli_form form, dcli_variant variant, int64_t rows, int64_t columns, int64_t pad)
{
    float *a = floats(rows * (columns + pad), 1), *b = floats(columns * (rows + pad), 2);
    float *c = calloc((size_t)(rows * (columns + pad)), sizeof *c);
    test_arg args[] = {
        {.name = "C",
         .access = DCL_ACCESS_OUT,
         .type = DCL_FLOAT,
         .rank = 2,
         .extent = {rows, columns},
         .pad = pad,
         .data = c},
        {.name = "A",
         .access = DCL_ACCESS_IN,
         .type = DCL_FLOAT,
         .rank = 2,
         .extent = {rows, columns},
         .pad = pad,
         .data = a},
        {.name = "B",
         .access = DCL_ACCESS_IN,
         .type = DCL_FLOAT,
         .rank = 2,
         .extent = {columns, rows},
         .pad = pad,
         .data = b},
    };
    struct run run = begin("C(i,j) = A(i,j) + B(j,i);", "", form, 3, args);
    test_report report = run_all(&run, variant, (int64_t[]){rows, columns});
    cr_expect(!report.any, "nothing is read outside");
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns + pad; j++) {
            float expected = j < columns ? a[i * (columns + pad) + j] + b[j * (rows + pad) + i] : 0;
            cr_assert_eq(c[i * (columns + pad) + j], expected, "%" PRId64 ",%" PRId64, i, j);
        }
    end(&run);
    free(a);
    free(b);
    free(c);
}

/* A window read by two loops, one of which runs downwards with a step of 2. */
static void window(dcli_form form, dcli_variant variant)
{
    enum { ROWS = 30, COLUMNS = 41, PAD = 3, PITCH = COLUMNS + PAD };
    float *a = floats(ROWS * PITCH, 1), *c = calloc((size_t)ROWS * PITCH, sizeof *c);
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
        {.name = "w", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .value = {.i = 3}},
    };
    struct run run = begin("float s = 0; for (int d = 2; d >= -2; d -= 2) for (long e = -w; e < w; e++)\n"
                           " s = s / 2 + (i + d >= 0 && i + d < 30 && j - e >= 0 && j - e < 41 ? A(i+d,j-e) : 1);\n"
                           "C(i,j) = s;",
                           "", form, 3, args);
    bool checked = variant == DCLI_VARIANT_CHECKED;
    int64_t margin = checked ? 0 : 3, count[] = {ROWS - 2 * margin, COLUMNS - 2 * margin};
    test_report report = test_program_run(run.program, run.body, variant, 3, args, (int64_t[]){margin, margin},
                                          (int64_t[]){1, 1}, count);
    cr_expect(!report.any, "nothing is read outside");
    for (int64_t i = margin; i < ROWS - margin; i++)
        for (int64_t j = margin; j < COLUMNS - margin; j++) {
            float s = 0;
            for (int64_t d = 2; d >= -2; d -= 2)
                for (int64_t e = -3; e < 3; e++)
                    s = s / 2 +
                        (i + d >= 0 && i + d < ROWS && j - e >= 0 && j - e < COLUMNS ? a[(i + d) * PITCH + j - e] : 1);
            cr_assert_eq(c[i * PITCH + j], s, "%" PRId64 ",%" PRId64, i, j);
        }
    end(&run);
    free(a);
    free(c);
}

Test(kernel_device_run, a_window_on_a_cpu)
{
    window(DCLI_FORM_CPU, DCLI_VARIANT_UNIT);
    window(DCLI_FORM_CPU, DCLI_VARIANT_ANY);
    window(DCLI_FORM_CPU, DCLI_VARIANT_CHECKED);
}

Test(kernel_device_run, a_window_on_a_gpu)
{
    window(DCLI_FORM_GPU, DCLI_VARIANT_UNIT);
    window(DCLI_FORM_GPU, DCLI_VARIANT_CHECKED);
}

Test(kernel_device_run, transposed_on_a_cpu) { transposed_add(DCLI_FORM_CPU, DCLI_VARIANT_UNIT, 300, 517, 3); }

Test(kernel_device_run, transposed_by_fewer_work_items_than_rows)
{
    test_device_few_groups(device, true);
    transposed_add(DCLI_FORM_CPU, DCLI_VARIANT_UNIT, 300, 517, 3);
    transposed_add(DCLI_FORM_CPU, DCLI_VARIANT_UNIT, 2, 3, 0); /* and by more: one row */
}

Test(kernel_device_run, transposed_on_a_gpu)
{
    transposed_add(DCLI_FORM_GPU, DCLI_VARIANT_UNIT, 70, 45, 3);
    test_device_in_parts(device, true);
    transposed_add(DCLI_FORM_GPU, DCLI_VARIANT_UNIT, 70, 45, 3);
}

/* Arrays of 32 MB and launches of 4 MB are stored past the cache: two outputs, lines that begin anywhere. */
Test(kernel_device_run, large_outputs_are_streamed)
{
    enum { N = 8 * 1024 * 1024 + 7, FIRST = 3, COUNT = 1200003 };
    if (test_device_is_gpu(device))
        cr_skip_test("the first OpenCL device is a GPU; streaming is for processors");
    float *c = calloc(N, sizeof *c);
    double *d = calloc(N, sizeof *d);
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1, .extent = {N}, .data = c},
        {.name = "D", .access = DCL_ACCESS_OUT, .type = DCL_DOUBLE, .rank = 1, .extent = {N}, .data = d},
    };
    struct run run = begin("C(i) = (float)(i % 1000); D(i) = 2 * C(i) + 1;", "", DCLI_FORM_CPU, 2, args);
    test_program_run(run.program, run.body, DCLI_VARIANT_UNIT, 2, args, (int64_t[]){FIRST}, (int64_t[]){1},
                     (int64_t[]){COUNT});
    for (int64_t i = 0; i < N; i++) {
        float expected = i >= FIRST && i < FIRST + COUNT ? (float)(i % 1000) : 0;
        cr_assert_eq(c[i], expected, "C(%" PRId64 ")", i);
        cr_assert_eq(d[i], i >= FIRST && i < FIRST + COUNT ? 2 * expected + 1 : 0, "D(%" PRId64 ")", i);
    }
    end(&run);
    free(c);
    free(d);
}

/* A 5-point stencil whose body guards its borders: nothing is reported, in the checked kernel too; without the guard
 * the read outside gives 0 and is reported once. */
static void stencil(dcli_form form, dcli_variant first)
{
    enum { N = 40, M = 50 };
    float *a = floats(N * M, 3), *c = calloc(N * M, sizeof *c);
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 2, .extent = {N, M}, .data = c},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {N, M}, .data = a},
        {.name = "rows", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .value = {.i = N}},
        {.name = "w", .access = DCL_ACCESS_VALUE, .type = DCL_FLOAT, .value = {.f = 0.25}},
    };
    struct run run = begin("float s = 0;\n"
                           "if (i > 0) s += A(i-1, j);\n"
                           "s += i < rows - 1 ? A(i+1, j) : 0;\n"
                           "s += j > 0 && j < 49 ? A(i, j-1) + A(i, j+1) : 0;\n"
                           "C(i,j) = w * s + (w == 0 ? A(i, j+7) : 0);",
                           "", form, 4, args);
    for (int variant = first; variant < DCLI_VARIANT_COUNT; variant += 2) {
        memset(c, 0, N * M * sizeof *c);
        /* Only the checked kernel may run where a footprint was cut. */
        int64_t border = variant == DCLI_VARIANT_CHECKED ? 0 : 8;
        test_report report =
            test_program_run(run.program, run.body, (dcli_variant)variant, 4, args, (int64_t[]){border, border},
                             (int64_t[]){1, 1}, (int64_t[]){N - 2 * border, M - 2 * border});
        cr_expect(!report.any, "variant %d: a guarded read was reported", variant);
        for (int64_t i = border; i < N - border; i++)
            for (int64_t j = border; j < M - border; j++) {
                float s = 0;
                s += i > 0 ? a[(i - 1) * M + j] : 0;
                s += i < N - 1 ? a[(i + 1) * M + j] : 0;
                s += j > 0 && j < 49 ? a[i * M + j - 1] + a[i * M + j + 1] : 0;
                cr_assert_eq(c[i * M + j], 0.25f * s, "variant %d at %" PRId64 ",%" PRId64, variant, i, j);
            }
    }
    args[3].value.f = 0;
    test_report report = run_all(&run, DCLI_VARIANT_CHECKED, (int64_t[]){N, M});
    cr_expect(report.any && run.body->params[run.body->access[report.access].param].name[0] == 'A');
    cr_expect(report.index[0] >= 0 && report.index[0] < N && report.index[1] >= M && report.index[1] < M + 7,
              "reported A(%" PRId64 ",%" PRId64 ")", report.index[0], report.index[1]);
    cr_expect_eq(c[M - 1], 0, "a read outside gives 0");
    end(&run);
    free(a);
    free(c);
}

Test(kernel_device_run, guarded_stencil_on_a_cpu) { stencil(DCLI_FORM_CPU, DCLI_VARIANT_UNIT); }

Test(kernel_device_run, guarded_stencil_on_a_gpu)
{
    stencil(DCLI_FORM_GPU, DCLI_VARIANT_CHECKED);
    test_device_in_parts(device, true);
    stencil(DCLI_FORM_GPU, DCLI_VARIANT_CHECKED);
}

/* Products large enough that work-items compute sweeps, with lines and columns beyond the last sweep. */
static void product(int64_t rows, int64_t columns, int64_t depth, const char *text)
{
    const int64_t zeros[2] = {0}, ones[2] = {1, 1};
    double *a = malloc((size_t)(rows * depth) * sizeof *a), *b = malloc((size_t)(depth * columns) * sizeof *b);
    double *c = malloc((size_t)(rows * columns) * sizeof *c);
    for (int64_t k = 0; k < rows * depth; k++)
        a[k] = 1.0 / (double)(k % 97 + 1);
    for (int64_t k = 0; k < depth * columns; k++)
        b[k] = 1.0 / (double)(k % 89 + 3);
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_INOUT, .type = DCL_DOUBLE, .rank = 2, .extent = {rows, columns}, .data = c},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_DOUBLE, .rank = 2, .extent = {rows, depth}, .data = a},
        {.name = "B", .access = DCL_ACCESS_IN, .type = DCL_DOUBLE, .rank = 2, .extent = {depth, columns}, .data = b},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .value = {.i = depth}},
    };
    struct run run = begin(text, "", DCLI_FORM_GPU, 4, args);
    for (int k = 0; k < 2; k++) {
        for (int64_t e = 0; e < rows * columns; e++)
            c[e] = 0.1 * (double)(e % 11);
        test_device_in_parts(device, k == 1);
        test_program_run(run.program, run.body, DCLI_VARIANT_UNIT, 4, args, zeros, ones, (int64_t[]){rows, columns});
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                double s = 0.1 * (double)((i * columns + j) % 11);
                for (int64_t n = 0; n < depth; n++)
                    s += a[i * depth + n] * b[n * columns + j];
                cr_assert_eq(c[i * columns + j], s, "launch %d: C(%" PRId64 ",%" PRId64 ") is %a instead of %a", k, i,
                             j, c[i * columns + j], s);
            }
    }
    end(&run);
    free(a);
    free(b);
    free(c);
}

Test(kernel_device_run, products_in_sweeps_on_a_gpu)
{
    static const char text[] = "double s = C(i,j); for (long k = 0; k < n; k++) s += A(i,k) * B(k,j); C(i,j) = s;";
    product(1101, 1003, 7, text);
    product(4, 300000, 1, text);
    product(40, 50, 6, text); /* small: an element per work-item */
    product(1030, 1023, 4, "for (long k = 0; k < n; k++) C(i,j) += A(i,k) * B(k,j);");
}

/* Stencils large enough that work-items compute blocks; lines and columns beyond the last block, and borders where the guard differs. */
static void large_stencil(dcli_variant variant, const char *text, int64_t border)
{
    enum { N = 1035, M = 1230 };
    float *a = floats(N * M, 3), *c = calloc(N * M, sizeof *c);
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 2, .extent = {N, M}, .data = c},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 2, .extent = {N, M}, .data = a},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .value = {.i = N}},
        {.name = "m", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .value = {.i = M}},
    };
    struct run run = begin(text, "", DCLI_FORM_GPU, 4, args);
    test_program_run(run.program, run.body, variant, 4, args, (int64_t[]){border, border}, (int64_t[]){1, 1},
                     (int64_t[]){N - 2 * border, M - 2 * border});
    for (int64_t i = border; i < N - border; i++)
        for (int64_t j = border; j < M - border; j++) {
            bool inside = i > 0 && j > 0 && i < N - 1 && j < M - 1;
            const float *at = &a[i * M + j];
            float expected = inside ? at[-M] + at[M] + at[-1] + at[1] : *at;
            cr_assert_eq(c[i * M + j], expected, "variant %d at %" PRId64 ",%" PRId64, variant, i, j);
        }
    end(&run);
    free(a);
    free(c);
}

Test(kernel_device_run, large_stencils_on_a_gpu)
{
    static const char guarded[] = "C(i,j) = i > 0 && j > 0 && i < n - 1 && j < m - 1 ? "
                                  "A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1) : A(i,j);";
    static const char plain[] = "C(i,j) = A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1);";
    for (int parts = 0; parts < 2; parts++) {
        test_device_in_parts(device, parts == 1);
        large_stencil(DCLI_VARIANT_UNIT, guarded, 1);
        large_stencil(DCLI_VARIANT_CHECKED, guarded, 0);
        large_stencil(DCLI_VARIANT_UNIT, plain, 1);
        large_stencil(DCLI_VARIANT_ANY, plain, 1);
        large_stencil(DCLI_VARIANT_UNIT, plain, 17);
    }
}

/* Reversed, strided, broadcast and permuted reads, a second output at a permutation, an output that is read, grids that
 * begin anywhere, indices that run in steps. */
static void subscripts(dcli_form form, dcli_variant first)
{
    enum { N = 24, M = 36 };
    int32_t *r = malloc(N * sizeof *r), *s = malloc(2 * M * sizeof *s), *t = calloc(N * M, sizeof *t);
    int64_t *d = calloc(N * M, sizeof *d);
    uint8_t *u = malloc(M * sizeof *u);
    for (int k = 0; k < N; k++)
        r[k] = 1000 * k;
    for (int k = 0; k < 2 * M; k++)
        s[k] = 7 * k;
    for (int k = 0; k < M; k++)
        u[k] = (uint8_t)(250 + k);
    test_arg args[] = {
        {.name = "T", .access = DCL_ACCESS_INOUT, .type = DCL_INT32, .rank = 2, .extent = {N, M}, .data = t},
        {.name = "D", .access = DCL_ACCESS_OUT, .type = DCL_INT64, .rank = 2, .extent = {M, N}, .data = d},
        {.name = "R", .access = DCL_ACCESS_IN, .type = DCL_INT32, .rank = 1, .extent = {N}, .origin = {5}, .data = r},
        {.name = "S", .access = DCL_ACCESS_IN, .type = DCL_INT32, .rank = 1, .extent = {2 * M}, .data = s},
        {.name = "U", .access = DCL_ACCESS_IN, .type = DCL_UINT8, .rank = 1, .extent = {M}, .data = u},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT64, .value = {.i = N}},
        {.name = "two", .access = DCL_ACCESS_VALUE, .type = DCL_UINT8, .value = {.u = 2}},
    };
    struct run run = begin("T(i,j) += R(n - 1 - i + 5) + S(two * j);\n"
                           "D(j,i) = T(i,j) + (long)U(j) + 1000000 * i;",
                           "", form, 7, args);
    for (int variant = first; variant <= DCLI_VARIANT_ANY; variant++) {
        for (int k = 0; k < N * M; k++)
            t[k] = k;
        memset(d, 0, N * M * sizeof *d);
        int64_t stride = variant == DCLI_VARIANT_UNIT ? 1 : 2;
        test_report report = test_program_run(run.program, run.body, (dcli_variant)variant, 7, args, (int64_t[]){2, 4},
                                              (int64_t[]){3, stride}, (int64_t[]){7, 15});
        cr_expect(!report.any);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < M; j++) {
                bool ran =
                    i >= 2 && (i - 2) % 3 == 0 && i < 23 && j >= 4 && (j - 4) % stride == 0 && j < 4 + 15 * stride;
                int64_t expected = i * M + j + (ran ? 1000 * (N - 1 - i) + 14 * j : 0);
                cr_assert_eq(t[i * M + j], expected, "variant %d T(%" PRId64 ",%" PRId64 ")", variant, i, j);
                expected = ran ? expected + (uint8_t)(250 + j) + 1000000 * i : 0;
                cr_assert_eq(d[j * N + i], expected, "variant %d D(%" PRId64 ",%" PRId64 ")", variant, j, i);
            }
    }
    end(&run);
    free(r);
    free(s);
    free(t);
    free(d);
    free(u);
}

Test(kernel_device_run, subscripts_of_all_kinds_on_a_cpu) { subscripts(DCLI_FORM_CPU, DCLI_VARIANT_UNIT); }

Test(kernel_device_run, subscripts_of_all_kinds_on_a_gpu)
{
    test_device_few_groups(device, true);
    subscripts(DCLI_FORM_GPU, DCLI_VARIANT_ANY);
    test_device_in_parts(device, true);
    subscripts(DCLI_FORM_GPU, DCLI_VARIANT_ANY);
}

/* A gather through an index array, both declared DCL_IN_ALL; a wrong index gives 0 and a report in every kernel. */
static void gather(dcli_form form, dcli_variant variant)
{
    enum { N = 100 };
    int16_t index[N];
    double table[2 * N], out[N];
    for (int k = 0; k < N; k++)
        index[k] = (int16_t)(k * 7 % N);
    for (int k = 0; k < 2 * N; k++)
        table[k] = k / 3.0;
    test_arg args[] = {
        {.name = "out", .access = DCL_ACCESS_OUT, .type = DCL_DOUBLE, .rank = 1, .extent = {N}, .data = out},
        {.name = "table", .access = DCL_ACCESS_IN_ALL, .type = DCL_DOUBLE, .rank = 2, .extent = {2, N}, .data = table},
        {.name = "index", .access = DCL_ACCESS_IN_ALL, .type = DCL_INT16, .rank = 1, .extent = {N}, .data = index},
    };
    struct run run = begin("out(i) = twice(table(i % 2, index(index(i)))) - table(1, 0);",
                           "static double twice(double x)\n{\n    return 2 * x;\n}\n", form, 3, args);
    test_report report = run_all(&run, variant, (int64_t[]){N});
    cr_expect(!report.any);
    for (int i = 0; i < N; i++)
        cr_assert_eq(out[i], 2 * table[i % 2 * N + index[index[i]]] - table[N], "at %d", i);
    index[index[3]] = -5;
    report = run_all(&run, variant, (int64_t[]){N});
    cr_expect(report.any);
    cr_expect_str_eq(run.body->params[run.body->access[report.access].param].name,
                     report.index[0] == -5 ? "index" : "table");
    cr_expect_eq(out[3], 0 - table[N], "a read outside gives 0");
    end(&run);
}

Test(kernel_device_run, gather_on_a_cpu) { gather(DCLI_FORM_CPU, DCLI_VARIANT_UNIT); }

Test(kernel_device_run, gather_on_a_gpu)
{
    gather(DCLI_FORM_GPU, DCLI_VARIANT_CHECKED);
    test_device_in_parts(device, true);
    gather(DCLI_FORM_GPU, DCLI_VARIANT_CHECKED);
}

/* Three axes, of which the first and the last are exchanged; bytes and doubles are turned in blocks of other shapes. */
Test(kernel_device_run, three_axes_and_other_widths)
{
    enum { N = 70, M = 3, L = 90 };
    int8_t *a = malloc(L * M * N), *c = calloc(N * M * L, 1);
    double *b = malloc(L * M * N * sizeof *b), *d = calloc(N * M * L, sizeof *d);
    for (int k = 0; k < N * M * L; k++) {
        a[k] = (int8_t)(k * 13);
        b[k] = k * 0.5;
    }
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_INT8, .rank = 3, .extent = {N, M, L}, .data = c},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_INT8, .rank = 3, .extent = {L, M, N}, .data = a},
        {.name = "D", .access = DCL_ACCESS_OUT, .type = DCL_DOUBLE, .rank = 3, .extent = {N, M, L}, .data = d},
        {.name = "B", .access = DCL_ACCESS_IN, .type = DCL_DOUBLE, .rank = 3, .extent = {L, M, N}, .data = b},
    };
    for (int turn = 0; turn < 3; turn++) { /* the last one by a GPU's launch of several rows */
        dcli_form form = turn == 0 ? DCLI_FORM_CPU : DCLI_FORM_GPU;
        test_device_in_parts(device, turn == 2);
        struct run run = begin("C(i,j,k) = A(k,j,i); D(i,j,k) = -B(k,j,i) + j;", "", form, 4, args);
        memset(c, 0, N * M * L);
        memset(d, 0, N * M * L * sizeof *d);
        test_device_few_groups(device, true);
        run_all(&run, DCLI_VARIANT_UNIT, (int64_t[]){N, M, L});
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                for (int k = 0; k < L; k++) {
                    cr_assert_eq(c[(i * M + j) * L + k], a[(k * M + j) * N + i], "form %d C(%d,%d,%d)", form, i, j, k);
                    cr_assert_eq(d[(i * M + j) * L + k], j - b[(k * M + j) * N + i], "form %d D(%d,%d,%d)", form, i, j,
                                 k);
                }
        end(&run);
    }
    free(a);
    free(b);
    free(c);
    free(d);
}

/* Names of arguments and indices win over macros of OpenCL C and of the prelude. */
Test(kernel_device_run, names_are_no_macros)
{
    float c[4] = {0}, a[4] = {1, 2, 3, 4};
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1, .extent = {4}, .data = c},
        {.name = "FLT_MAX", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 1, .extent = {4}, .data = a},
        {.name = "M_PI", .access = DCL_ACCESS_VALUE, .type = DCL_FLOAT, .value = {.f = 3}},
        {.name = "n", .access = DCL_ACCESS_VALUE, .type = DCL_INT32, .value = {.i = 100}},
    };
    for (dcli_form form = DCLI_FORM_CPU; form <= DCLI_FORM_GPU; form++) {
        struct run run = begin("C(i) = M_PI * FLT_MAX(i) + n * i;", "#define n 7\n#define i if (0)", form, 4, args);
        run_all(&run, form == DCLI_FORM_CPU ? DCLI_VARIANT_UNIT : DCLI_VARIANT_CHECKED, (int64_t[]){4});
        for (int k = 0; k < 4; k++)
            cr_expect_eq(c[k], 3 * a[k] + 100 * k, "form %d C(%d) is %g", form, k, c[k]);
        end(&run);
    }
}

/* What the compiler refuses comes back with the user's own line and column. */
Test(kernel_device_run, compiler_errors_are_mapped_back)
{
    float c[4];
    test_arg args[] = {
        {.name = "C", .access = DCL_ACCESS_OUT, .type = DCL_FLOAT, .rank = 1, .extent = {4}, .data = c},
        {.name = "A", .access = DCL_ACCESS_IN, .type = DCL_FLOAT, .rank = 1, .extent = {4}, .data = c},
    };
    static const struct {
        const char *text, *prelude, *log;
    } cases[] = {
        {"float t = A( i );\nC(i) = A(i) + A( i + 1 - 1 ) * wrong;", "",
         "line 2, column 32: use of undeclared identifier 'wrong'; declare it"},
        {"C(i) = Q(i,3) + 1;", "", "line 1, column 8: "},
        {"float x = A(i);\nwhile (x > 1)\n    x = x * zz;\nC(i) = x + yy;", "",
         "line 3, column 13: "}, /* kernel/lanes.h */
        {"C(i) = length((float2)(1,2), A(i));", "", "line 1, column 8: no matching function"},
        {"C(i) = 1;\nfloat M_PI = 3;", "", "line 2, column 7: "},
        {"C(i) = half_of(A(i));", "float half_of(float x)\n{\n  return y / 2;\n}",
         "prelude line 3, column 10: use of undeclared"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        dcli_param params[2];
        dcli_body *body;
        test_params(2, args, params);
        cr_assert_eq(dcli_body_parse(cases[k].text, cases[k].prelude, 2, params, &body), DCL_OK, "%s", dcl_error());
        char *log = NULL;
        cr_assert_null(test_program_build(device, body, DCLI_FORM_CPU, &log), "%s builds", cases[k].text);
        char *sentence = dcli_body_log(body, DCLI_FORM_CPU, false, true, log);
        cr_expect_eq(strncmp(sentence, cases[k].log, strlen(cases[k].log)), 0, "found: %s\nfrom: %s", sentence, log);
        dcli_free(sentence);
        free(log);
        dcli_body_free(body);
    }
}
