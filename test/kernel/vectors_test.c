/* vectors_test.c - blocks of a GPU whose lines are vectors (kernel/vectors.h). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/device.h"
#include "kernel/spec.h"
#include "kernel/vectors.h"

/* How the accesses of a body use vectors of four elements: for each access a letter, `a` for the vector of access 0 ... or `-`, and the
 * distance; "" if the body is computed without. */
static const char *vectors_of(const char *params, const char *text)
{
    static char out[256];
    dcli_body *body = NULL;
    cr_assert_eq(test_parse(params, text, &body), DCL_OK, "%s", dcl_error());
    dcli_vectors vectors = dcli_vectors_find(body, 4);
    out[0] = '\0';
    for (int a = 0; a < body->access_count && vectors.length > 0; a++) {
        size_t used = strlen(out);
        if (vectors.of[a].first < 0)
            snprintf(out + used, sizeof out - used, "-");
        else
            snprintf(out + used, sizeof out - used, "%c%+d", 'a' + vectors.of[a].first, (int)vectors.of[a].at);
    }
    dcli_body_free(body);
    return out;
}

static const char floats[] = "out C 2, in A 2, in V 1, in H 2 half, all T 1", two[] = "out C 2, inout D 2, in A 2";

Test(kernel_vectors, are_those_of_lines)
{
    cr_expect_str_eq(vectors_of(floats, "C(i,j) = A(i,j) + A(i,j-1) + A(i,j+2);"), "a+0b+0b-1b+2");
    cr_expect_str_eq(vectors_of(floats, "C(i,j) = A(i-1,j) + A(i+1,j) + A(i-1,j+1);"), "a+0b+0c+0b+1");
    cr_expect_str_eq(vectors_of(floats, "C(i,j) = A(i,j-1) + A(i,j+1);"), "a+0b-1b+1",
                     "no element of their own column");
    cr_expect_str_eq(vectors_of(floats, "C(i,j) = A(i,j-1) + A(i-1,j) + A(i+1,j-2);"), "a+0-c+0-", "one side only");
    cr_expect_str_eq(vectors_of(floats, "C(i,j) = A(j,i) + V(i) + V(j) + T(j);"), "a+0--d+0-");
    cr_expect_str_eq(vectors_of(two, "C(i,j) = A(i,j); D(i,j) += 1;"), "a+0b+0c+0");
}

Test(kernel_vectors, are_none_where_outputs_are_no_vectors)
{
    cr_expect_str_eq(vectors_of(floats, "C(j,i) = A(i,j);"), "a+0-", "j is the outer axis");
    cr_expect_str_eq(vectors_of(two, "C(i,j) = A(i,j); D(j,i) = 1;"), "");
    cr_expect_str_eq(vectors_of(floats, "C(i,j) = H(i,j);"), "", "halves are converted");
}

/* ---- results ------------------------------------------------------------------------------------------------------ */

enum { ROWS = 1100, COLUMNS = 1280 }; /* so many that work-items compute blocks */

/* Arrays of a run: the output, two inputs; each with a number of elements between its lines. */
struct run {
    const char *text;
    dcl_type type; /* of C and A; B is of floats */
    int64_t first_row, first_column, rows, columns;
    int64_t pad[3];
    double (*right)(const double *a, const double *b, double old, int64_t i, int64_t j);
};

static double *make(int64_t count, int64_t factor)
{
    double *values = malloc((size_t)count * sizeof *values);
    for (int64_t n = 0; n < count; n++)
        values[n] = (double)(n * factor % 1009) / 8;
    return values;
}

static void *as_type(const double *values, dcl_type type, int64_t pad)
{
    int64_t pitch = COLUMNS + pad;
    size_t bytes = dcl_type_bytes(type);
    char *data = aligned_alloc(64, (bytes * (size_t)(ROWS * pitch) + 63) / 64 * 64);
    cr_assert_not_null(data);
    memset(data, 0, bytes * (size_t)(ROWS * pitch));
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            char *at = data + bytes * (size_t)(i * pitch + j);
            if (type == DCL_DOUBLE)
                *(double *)at = values[i * COLUMNS + j];
            else
                *(float *)at = (float)values[i * COLUMNS + j];
        }
    return data;
}

static double element(const void *data, dcl_type type, int64_t pad, int64_t i, int64_t j)
{
    int64_t n = i * (COLUMNS + pad) + j;
    return type == DCL_DOUBLE ? ((const double *)data)[n] : (double)((const float *)data)[n];
}

static void compare(const struct run *run)
{
    test_device *device = test_device_open();
    if (device == NULL)
        cr_skip_test("no OpenCL device");
    double *a = make(ROWS * COLUMNS, 37), *b = make(ROWS * COLUMNS, 11), *old = make(ROWS * COLUMNS, 5);
    test_arg args[] = {
        {.name = "C",
         .access = DCL_ACCESS_INOUT,
         .type = run->type,
         .rank = 2,
         .extent = {ROWS, COLUMNS},
         .pad = run->pad[0],
         .data = as_type(old, run->type, run->pad[0])},
        {.name = "A",
         .access = DCL_ACCESS_IN,
         .type = run->type,
         .rank = 2,
         .extent = {ROWS, COLUMNS},
         .pad = run->pad[1],
         .data = as_type(a, run->type, run->pad[1])},
        {.name = "B",
         .access = DCL_ACCESS_IN,
         .type = DCL_FLOAT,
         .rank = 2,
         .extent = {ROWS, COLUMNS},
         .pad = run->pad[2],
         .data = as_type(b, DCL_FLOAT, run->pad[2])},
    };
    enum { COUNT = sizeof args / sizeof args[0] };
    dcli_param params[COUNT];
    dcli_body *body;
    test_params(COUNT, args, params);
    cr_assert_eq(dcli_body_parse(run->text, "", COUNT, params, &body), DCL_OK, "%s", dcl_error());
    test_program *program = test_program_build(device, body, DCLI_FORM_GPU, NULL);
    int64_t start[] = {run->first_row, run->first_column}, count[] = {run->rows, run->columns};
    test_program_run(program, body, DCLI_VARIANT_UNIT, COUNT, args, start, (int64_t[]){1, 1}, count);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) {
            bool inside = i >= start[0] && i < start[0] + count[0] && j >= start[1] && j < start[1] + count[1];
            double was = old[i * COLUMNS + j], right = inside ? run->right(a, b, was, i, j) : was;
            cr_assert_eq(element(args[0].data, run->type, run->pad[0], i, j), right,
                         "'%s', from column %" PRId64 ": (%" PRId64 ",%" PRId64 ")", run->text, start[1], i, j);
        }
    test_program_free(program);
    dcli_body_free(body);
    test_device_close(device);
    for (int n = 0; n < COUNT; n++)
        free(args[n].data);
    free(a);
    free(b);
    free(old);
}

static double right_five(const double *a, const double *b, double old, int64_t i, int64_t j)
{
    const double *at = a + i * COLUMNS + j;
    return at[0] - at[-COLUMNS] + 2 * at[COLUMNS] - at[-1] + 2 * at[1] + b[i * COLUMNS + j] + 0 * old;
}

static const char five_points[] = "C(i,j) = A(i,j) - A(i-1,j) + 2 * A(i+1,j) - A(i,j-1) + 2 * A(i,j+1) + B(i,j);";

Test(kernel_device_vectors, lines_begin_anywhere)
{
    for (int64_t first = 1; first <= 5; first++)
        compare(&(struct run){
            five_points, DCL_FLOAT, 1, first, ROWS - 2, COLUMNS - 1 - first - first % 3, {4, 8, 16}, right_five});
}

Test(kernel_device_vectors, arrays_that_are_not_aligned_alike)
{
    compare(&(struct run){five_points, DCL_FLOAT, 1, 1, ROWS - 2, COLUMNS - 2, {4, 8, 3}, right_five});
    compare(&(struct run){five_points, DCL_FLOAT, 1, 1, ROWS - 2, COLUMNS - 2, {1, 8, 4}, right_five});
}

Test(kernel_device_vectors, doubles_and_floats)
{
    compare(&(struct run){five_points, DCL_DOUBLE, 1, 1, ROWS - 2, COLUMNS - 3, {2, 6, 4}, right_five});
}

static double right_far(const double *a, const double *b, double old, int64_t i, int64_t j)
{
    const double *at = a + i * COLUMNS + j, *above = b + (i - 1) * COLUMNS + j;
    return at[-2] - 2 * at[5] + above[1] + at[COLUMNS] + 0 * old;
}

Test(kernel_device_vectors, reads_around_a_column_that_is_not_read)
{
    compare(&(struct run){"C(i,j) = A(i,j-2) - 2 * A(i,j+5) + B(i-1,j+1) + A(i+1,j);",
                          DCL_FLOAT,
                          1,
                          2,
                          ROWS - 2,
                          COLUMNS - 8,
                          {4, 4, 4},
                          right_far});
}

static double right_sum(const double *a, const double *b, double old, int64_t i, int64_t j)
{
    const double *at = a + i * COLUMNS + j;
    return old + at[0] - at[COLUMNS] + 0 * b[0];
}

static double right_some(const double *a, const double *b, double old, int64_t i, int64_t j)
{
    const double *at = a + i * COLUMNS + j;
    return i > 3 && j < 1200 ? at[1] - at[COLUMNS] + 0 * b[0] : old;
}

Test(kernel_device_vectors, outputs_keep_what_they_were)
{
    compare(&(struct run){
        "C(i,j) += A(i,j) - A(i+1,j) + 0 * B(i,j);", DCL_FLOAT, 0, 3, ROWS - 1, COLUMNS - 3, {4, 4, 4}, right_sum});
    compare(&(struct run){"if (i > 3 && j < 1200) C(i,j) = A(i,j+1) - A(i+1,j) + 0 * B(i,j);",
                          DCL_FLOAT,
                          0,
                          3,
                          ROWS - 1,
                          COLUMNS - 4,
                          {4, 4, 4},
                          right_some});
    compare(&(struct run){"if (i <= 3 || j >= 1200) {} else C(i,j) = A(i,j+1) - A(i+1,j) + 0 * B(i,j);",
                          DCL_FLOAT,
                          0,
                          3,
                          ROWS - 1,
                          COLUMNS - 4,
                          {4, 4, 4},
                          right_some});
}
