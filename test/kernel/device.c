/* test/kernel/device.c - run a body on the first OpenCL device. */
#define CL_TARGET_OPENCL_VERSION 120
#include "kernel/device.h"
#include "kernel/claim.h"

#include <CL/cl.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct test_device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    bool few_groups, in_parts, watched;
};

struct test_program {
    test_device *device;
    dcli_form form;
    cl_program program;
    cl_kernel kernel[DCLI_VARIANT_MOST]; /* NULL: the program does not have it */
};

static void must(cl_int code, const char *call) { cr_assert_eq(code, CL_SUCCESS, "%s: code %d", call, code); }

test_device *test_device_open(void)
{
    cl_platform_id platform;
    cl_uint found = 0;
    test_device device = {.few_groups = false};
    if (clGetPlatformIDs(1, &platform, &found) != CL_SUCCESS || found == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device.id, &found) != CL_SUCCESS || found == 0) {
        fprintf(stderr, "kernel runs are skipped: this machine has no OpenCL device\n");
        return NULL;
    }
    cl_int code;
    device.context = clCreateContext(NULL, 1, &device.id, NULL, NULL, &code);
    must(code, "clCreateContext");
    device.queue = clCreateCommandQueue(device.context, device.id, 0, &code);
    must(code, "clCreateCommandQueue");
    test_device *out = malloc(sizeof *out);
    *out = device;
    return out;
}

bool test_device_is_gpu(const test_device *device)
{
    cl_device_type type;
    must(clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof type, &type, NULL), "clGetDeviceInfo");
    return (type & CL_DEVICE_TYPE_GPU) != 0;
}

void test_device_close(test_device *device)
{
    clReleaseCommandQueue(device->queue);
    clReleaseContext(device->context);
    free(device);
}

void test_device_few_groups(test_device *device, bool few) { device->few_groups = few; }

void test_device_in_parts(test_device *device, bool parts) { device->in_parts = parts; }

void test_device_watched(test_device *device, bool watched) { device->watched = watched; }

static char *build_log(test_device *device, cl_program program)
{
    size_t bytes = 0;
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *log = calloc(1, bytes + 1);
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    return log;
}

test_program *test_program_build(test_device *device, const dcli_body *body, dcli_form form, char **log_out)
{
    test_program program = {.device = device, .form = form};
    const char *names[DCLI_VARIANT_MOST];
    char *source = dcli_body_program(body, form, device->watched, true, names);
    cl_int code;
    program.program = clCreateProgramWithSource(device->context, 1, (const char *[]){source}, NULL, &code);
    must(code, "clCreateProgramWithSource");
    code = clBuildProgram(program.program, 1, &device->id, "-cl-std=CL1.2", NULL, NULL);
    if (code != CL_SUCCESS) {
        char *log = build_log(device, program.program);
        clReleaseProgram(program.program);
        if (log_out == NULL)
            cr_assert_fail("does not build: %s\n%s", log, source);
        *log_out = log;
        dcli_free(source);
        return NULL;
    }
    dcli_free(source);
    for (int v = 0; v < DCLI_VARIANT_MOST; v++) {
        if (names[v] == NULL)
            continue;
        program.kernel[v] = clCreateKernel(program.program, names[v], &code);
        must(code, "clCreateKernel");
    }
    test_program *out = malloc(sizeof *out);
    *out = program;
    return out;
}

void test_program_free(test_program *program)
{
    for (int v = 0; v < DCLI_VARIANT_MOST; v++)
        if (program->kernel[v] != NULL)
            clReleaseKernel(program->kernel[v]);
    clReleaseProgram(program->program);
    free(program);
}

void test_device_run(test_device *device, const char *source, const char *name, int count, const test_buffer buffers[])
{
    enum { MOST = 8 };
    cl_int code;
    cl_mem memory[MOST];
    cr_assert_leq(count, MOST);
    cl_program program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    must(code, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device->id, "-cl-std=CL1.2", NULL, NULL) != CL_SUCCESS)
        cr_assert_fail("does not build: %s\n%s", build_log(device, program), source);
    cl_kernel kernel = clCreateKernel(program, name, &code);
    must(code, "clCreateKernel");
    for (int b = 0; b < count; b++) {
        memory[b] = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, buffers[b].bytes,
                                   buffers[b].data, &code);
        must(code, "clCreateBuffer");
        must(clSetKernelArg(kernel, (cl_uint)b, sizeof memory[b], &memory[b]), "clSetKernelArg");
    }
    must(clEnqueueTask(device->queue, kernel, 0, NULL, NULL), "clEnqueueTask");
    for (int b = 0; b < count; b++) {
        must(
            clEnqueueReadBuffer(device->queue, memory[b], CL_TRUE, 0, buffers[b].bytes, buffers[b].data, 0, NULL, NULL),
            "clEnqueueReadBuffer");
        clReleaseMemObject(memory[b]);
    }
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

void test_params(int count, const test_arg args[], dcli_param params_out[])
{
    for (int p = 0; p < count; p++) {
        params_out[p] = (dcli_param){.access = args[p].access, .type = args[p].type, .rank = args[p].rank};
        snprintf(params_out[p].name, sizeof params_out[p].name, "%s", args[p].name);
    }
}

static size_t type_bytes(dcl_type type)
{
    static const size_t bytes[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
    return bytes[type];
}

static void pitches(const test_arg *arg, int64_t pitch_out[])
{
    pitch_out[arg->rank - 1] = 1;
    for (int d = arg->rank - 2; d >= 0; d--)
        pitch_out[d] = pitch_out[d + 1] * (arg->extent[d + 1] + (d == arg->rank - 2 ? arg->pad : 0));
}

static size_t arg_bytes(const test_arg *arg)
{
    int64_t pitch[4];
    pitches(arg, pitch);
    int64_t elements = arg->rank > 1 ? pitch[0] * arg->extent[0] : arg->extent[0] + arg->pad;
    return (size_t)elements * type_bytes(arg->type);
}

/* Of a declared reach: offset, low, count, step, and width or stride. */
static void fill_reach(const dcli_body *body, int a, const test_arg *arg, const int64_t pitch[], int64_t row[])
{
    dcli_reach reach = body->access[a].reach;
    int64_t *offset = &row[dcli_row_at(body, DCLI_ROW_OFFSET, a)];
    bool widths = reach == DCLI_REACH_HALO || reach == DCLI_REACH_CROSS;
    bool strides = reach == DCLI_REACH_BOX || reach == DCLI_REACH_FUNCTION;
    *offset = 0;
    for (int d = 0; d < arg->rank; d++) {
        int64_t low = arg->seen != NULL ? arg->seen->start[d] : arg->origin[d];
        int64_t stride = arg->seen != NULL ? arg->seen->stride[d] : 1;
        *offset += (low - arg->origin[d]) * pitch[d];
        row[dcli_row_at(body, DCLI_ROW_LOW, a) + d] = low;
        row[dcli_row_at(body, DCLI_ROW_EXTENT, a) + d] = arg->seen != NULL ? arg->seen->count[d] : arg->extent[d];
        row[dcli_row_at(body, DCLI_ROW_STEP, a) + d] = pitch[d] * stride;
        if (widths || strides)
            row[dcli_row_at(body, DCLI_ROW_WIDTH, a) + d] = widths ? arg->width[d] : stride;
    }
}

/* The ranges of a reduction's inner axes. */
static void find_inner(const dcli_body *body, const test_arg args[], int64_t start_out[], int64_t count_out[])
{
    static dcl_grid grids[DCLI_MAX_PARAMS];
    const dcl_grid *pointers[DCLI_MAX_PARAMS];
    for (int p = 0; p < body->param_count; p++) {
        grids[p] = (dcl_grid){.rank = args[p].rank};
        for (int d = 0; d < args[p].rank; d++) {
            grids[p].origin[d] = args[p].origin[d];
            grids[p].extent[d] = args[p].extent[d];
        }
        pointers[p] = &grids[p];
    }
    cr_assert_eq(dcli_along_ranges(body, pointers, start_out, count_out), DCL_OK, "%s", dcl_error());
}

/* The row of a box, by the definition in kernel/body.h. */
static void fill_row(const dcli_body *body, const test_arg args[], const int64_t start[], const int64_t stride[],
                     const int64_t count[], int64_t row[])
{
    dcli_scalar values[DCLI_MAX_PARAMS];
    for (int p = 0; p < body->param_count; p++)
        values[p] = args[p].value;
    int rank = body->space_rank;
    for (int m = 0; m < rank; m++) {
        row[dcli_row_at(body, DCLI_ROW_START, 0) + m] = start[m];
        row[dcli_row_at(body, DCLI_ROW_STRIDE, 0) + m] = stride[m];
        row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + m] = count[m];
    }
    int64_t inner_start[DCL_MAX_RANK], inner_count[DCL_MAX_RANK];
    if (body->along)
        find_inner(body, args, inner_start, inner_count);
    for (int q = 0; q < body->inner_rank; q++) {
        row[dcli_row_at(body, DCLI_ROW_INNER_START, 0) + q] = inner_start[q];
        row[dcli_row_at(body, DCLI_ROW_INNER_BEFORE, 0) + q] = 0;
        row[dcli_row_at(body, DCLI_ROW_INNER_COUNT, 0) + q] = inner_count[q];
    }
    for (int a = 0; a < body->access_count; a++) {
        const test_arg *arg = &args[body->access[a].param];
        int64_t pitch[4], *at = &row[dcli_row_at(body, DCLI_ROW_OFFSET, a)];
        int64_t *low = &row[dcli_row_at(body, DCLI_ROW_GRID_LOW, a)],
                *end = &row[dcli_row_at(body, DCLI_ROW_GRID_END, a)];
        pitches(arg, pitch);
        dcli_subscripts subscripts;
        cr_assert_eq(dcli_body_subscripts(body, a, values, &subscripts), DCL_OK);
        if (subscripts.reach != DCLI_REACH_AFFINE)
            fill_reach(body, a, arg, pitch, row);
        else
            memset(at, 0, (size_t)(1 + rank + subscripts.inner_rank) * sizeof *at);
        for (int d = 0; d < arg->rank; d++) {
            low[d] = arg->seen != NULL ? arg->seen->start[d] : arg->origin[d];
            end[d] = low[d] + (arg->seen != NULL ? arg->seen->count[d] : arg->extent[d]);
            if (subscripts.reach != DCLI_REACH_AFFINE)
                continue;
            at[0] += (subscripts.axis[d].constant - arg->origin[d]) * pitch[d];
            for (int m = 0; m < rank; m++) {
                at[0] += subscripts.axis[d].coef[m] * start[m] * pitch[d];
                at[1 + m] += subscripts.axis[d].coef[m] * stride[m] * pitch[d];
            }
            for (int q = 0; q < subscripts.inner_rank; q++) {
                at[0] += q < body->inner_rank ? subscripts.axis[d].coef[rank + q] * inner_start[q] * pitch[d] : 0;
                at[1 + rank + q] += subscripts.axis[d].coef[rank + q] * pitch[d];
            }
        }
    }
}

/* All rows of a box cut to `shape`. @return their number. */
static size_t fill_table(const dcli_body *body, const test_arg args[], const int64_t start[], const int64_t stride[],
                         const int64_t count[], const int64_t shape[], int64_t **table_out)
{
    int rank = body->space_rank;
    size_t rows = 1, length = (size_t)dcli_row_length(body);
    for (int m = 0; m < rank; m++)
        rows *= (size_t)((count[m] + shape[m] - 1) / shape[m]);
    *table_out = malloc(rows * length * sizeof **table_out + 1);
    for (size_t r = 0; r < rows; r++) {
        int64_t first[DCL_MAX_RANK], part[DCL_MAX_RANK];
        size_t rest = r;
        for (int m = rank - 1; m >= 0; m--) {
            size_t cuts = (size_t)((count[m] + shape[m] - 1) / shape[m]);
            int64_t lo = (int64_t)(rest % cuts) * shape[m];
            rest /= cuts;
            first[m] = start[m] + lo * stride[m];
            part[m] = count[m] - lo < shape[m] ? count[m] - lo : shape[m];
        }
        fill_row(body, args, first, stride, part, *table_out + r * length);
    }
    return rows;
}

static cl_mem make_buffer(test_device *device, void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, &code);
    must(code, "clCreateBuffer");
    return buffer;
}

static cl_uint set_scalars(cl_kernel kernel, const dcli_body *body, const test_arg args[], cl_uint at)
{
    for (int p = 0; p < body->param_count; p++) {
        if (args[p].access != DCL_ACCESS_VALUE)
            continue;
        float f = (float)args[p].value.f;
        const void *value = args[p].type == DCL_FLOAT ? (const void *)&f : (const void *)&args[p].value;
        must(clSetKernelArg(kernel, at++, type_bytes(args[p].type), value), "clSetKernelArg"); /* little-endian */
    }
    return at;
}

static void launch(test_program *program, cl_kernel kernel, int dimensions, const size_t global[], const size_t local[])
{
    must(
        clEnqueueNDRangeKernel(program->device->queue, kernel, (cl_uint)dimensions, NULL, global, local, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
    must(clFinish(program->device->queue), "clFinish");
}

/* A row as a value; unless the kernel is dcl_one, the own numbers of all rows, too. @return NULL: dcl_one. */
static cl_mem set_rows(test_program *program, cl_kernel kernel, const dcli_body *body, bool one,
                       const dcli_launch_size *size, const int64_t table[], cl_uint *at)
{
    int length = dcli_row_length(body), own[length], count = dcli_row_own(body, own);
    must(clSetKernelArg(kernel, (*at)++, (size_t)length * sizeof *table, table), "clSetKernelArg");
    if (one)
        return NULL;
    int64_t *numbers = malloc((size_t)(size->rows * count) * sizeof *numbers);
    for (int64_t r = 0; r < size->rows; r++)
        for (int n = 0; n < count; n++)
            numbers[r * count + n] = table[r * length + own[n]];
    cl_mem buffer = make_buffer(program->device, numbers, (size_t)(size->rows * count) * sizeof *numbers);
    cl_uint first = 0, rows = (cl_uint)size->rows;
    free(numbers);
    must(clSetKernelArg(kernel, (*at)++, sizeof(cl_mem), &buffer), "clSetKernelArg");
    must(clSetKernelArg(kernel, (*at)++, sizeof first, &first), "clSetKernelArg");
    must(clSetKernelArg(kernel, (*at)++, sizeof rows, &rows), "clSetKernelArg");
    must(clSetKernelArg(kernel, (*at)++, sizeof size->each, &size->each), "clSetKernelArg");
    return buffer;
}

/* Of a few groups, where a kernel must cover its box with any number of them. */
static void take_few_groups(dcli_launch_size *size)
{
    bool squares = size->local[0] == 32 && size->local[1] == 8; /* these need all groups of dimension 1 */
    for (int d = squares ? 2 : 1; d < (size->each > 0 ? 2 : size->dimensions); d++)
        size->global[d] = 2 * size->local[d];
}

/* Equal parts of a box: as few along each axis as there can be, but more than one. */
static void find_parts(int rank, int64_t shape[])
{
    for (int m = 0; m < rank; m++) {
        int64_t parts = 2;
        while (parts < shape[m] && shape[m] % parts != 0)
            parts++;
        shape[m] = shape[m] > 1 ? shape[m] / parts : 1;
    }
}

/* Whether to take the kernel that stores without caching: where the library would, and otherwise every second time, because
 * tests have few arrays that are as large. */
static bool streams(const test_program *program, const dcli_body *body, dcli_variant variant, const int64_t table[],
                    size_t rows)
{
    static int runs;
    if (program->form != DCLI_FORM_CPU || variant != DCLI_VARIANT_UNIT ||
        program->kernel[DCLI_VARIANT_STREAMED] == NULL)
        return false;
    return ++runs % 2 == 0 || dcli_rows_stream(body, table, (int64_t)rows);
}

/* Let the work-items of every second launch claim their rows, in more parts than PoCL may have threads, so that each takes
 * rows of several parts. Fewer rows than parts leave old turns in some parts, which a later launch must not take for its
 * own. */
static void set_claims(cl_kernel kernel, cl_uint *at)
{
    enum { PARTS = 3 };
    static _Alignas(128) uint64_t claims[(1 + PARTS) * DCLI_CLAIM_LONGS] = {PARTS};
    static cl_ulong turn;
    cl_ulong claims_at = ++turn % 2 == 0 ? (cl_ulong)(uintptr_t)claims : 0;
    must(clSetKernelArg(kernel, (*at)++, sizeof claims_at, &claims_at), "clSetKernelArg");
    must(clSetKernelArg(kernel, (*at)++, sizeof turn, &turn), "clSetKernelArg");
}

test_report test_program_run(test_program *program, const dcli_body *body, dcli_variant variant, int count,
                             test_arg args[], const int64_t start[], const int64_t stride[], const int64_t box_count[])
{
    test_device *device = program->device;
    int64_t shape[DCL_MAX_RANK], *table, report[DCLI_REPORT_LONGS] = {0};
    memcpy(shape, box_count, (size_t)body->space_rank * sizeof *shape);
    if (program->form == DCLI_FORM_CPU)
        dcli_body_row_shape(body, box_count, 2, 0, shape);
    else if (device->in_parts)
        find_parts(body->space_rank, shape);
    size_t rows = fill_table(body, args, start, stride, box_count, shape, &table);
    for (size_t r = 0; r < rows && variant == DCLI_VARIANT_UNIT; r++)
        cr_assert(dcli_row_is_unit(body, table + r * (size_t)dcli_row_length(body)), "row %zu is not unit", r);

    bool one = program->form == DCLI_FORM_GPU && variant == DCLI_VARIANT_UNIT && rows == 1 &&
               program->kernel[DCLI_VARIANT_ONE] != NULL;
    cl_kernel kernel = program->kernel[one                                            ? DCLI_VARIANT_ONE
                                       : streams(program, body, variant, table, rows) ? DCLI_VARIANT_STREAMED
                                                                                      : variant];
    cl_mem buffer[DCLI_MAX_PARAMS] = {NULL};
    for (int p = 0; p < count; p++)
        if (args[p].access != DCL_ACCESS_VALUE && args[p].access != DCL_ACCESS_RESULT)
            buffer[p] = make_buffer(device, args[p].data, arg_bytes(&args[p]));
    cl_uint at = 0;
    for (int a = 0; a < body->access_count; a++)
        must(clSetKernelArg(kernel, at++, sizeof(cl_mem), &buffer[body->access[a].param]), "clSetKernelArg");
    if (dcli_body_is_reduced(body))
        must(clSetKernelArg(kernel, at++, sizeof(cl_mem), &buffer[body->partials]), "clSetKernelArg");
    at = set_scalars(kernel, body, args, at);
    dcli_launch_size size = {.dimensions = 1, .global = {device->few_groups ? 3 : rows}, .local = {1}};
    cl_mem rows_buffer = NULL, report_buffer = make_buffer(device, report, sizeof report);
    if (program->form == DCLI_FORM_CPU) {
        rows_buffer = make_buffer(device, table, rows * (size_t)dcli_row_length(body) * sizeof *table);
        cl_long row_count = (cl_long)rows;
        cl_ulong address = 0; /* the table is the buffer */
        must(clSetKernelArg(kernel, at++, sizeof(cl_mem), &rows_buffer), "clSetKernelArg");
        must(clSetKernelArg(kernel, at++, sizeof address, &address), "clSetKernelArg");
        must(clSetKernelArg(kernel, at++, sizeof row_count, &row_count), "clSetKernelArg");
        set_claims(kernel, &at);
    } else {
        size = dcli_body_launch_size(body, variant, shape, (int64_t)rows, rows > 1);
        cr_assert_eq(size.rows, rows);
        if (device->few_groups)
            take_few_groups(&size);
        rows_buffer = set_rows(program, kernel, body, one, &size, table, &at);
    }
    must(clSetKernelArg(kernel, at++, sizeof(cl_mem), &report_buffer), "clSetKernelArg");
    launch(program, kernel, size.dimensions, size.global, size.local);

    for (int p = 0; p < count; p++)
        if (buffer[p] != NULL) {
            must(clEnqueueReadBuffer(device->queue, buffer[p], CL_TRUE, 0, arg_bytes(&args[p]), args[p].data, 0, NULL,
                                     NULL),
                 "clEnqueueReadBuffer");
            clReleaseMemObject(buffer[p]);
        }
    must(clEnqueueReadBuffer(device->queue, report_buffer, CL_TRUE, 0, sizeof report, report, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    clReleaseMemObject(report_buffer);
    if (rows_buffer != NULL)
        clReleaseMemObject(rows_buffer);
    free(table);
    test_report out = {.any = report[0] != 0, .access = report[1]};
    memcpy(out.index, &report[2], sizeof out.index);
    return out;
}
