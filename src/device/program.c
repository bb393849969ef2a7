/* device/program.c - compiled programs, cached per device by source. */
#include "device/program.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "device/exit.h"
#include "device/quiet.h"

/* The compiler's log; NULL if there is none, or no memory for it. */
static char *build_log(const dcli_device *device, cl_program program)
{
    size_t bytes = 0;
    if (clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != CL_SUCCESS)
        return NULL;
    char *log = dcli_calloc(bytes + 1, 1);
    if (log != NULL && bytes > 0)
        clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    return log;
}

static dcl_status fail_to_compile(const dcli_device *device, cl_program program, char **log_out)
{
    char *log = build_log(device, program);
    const char *text = log != NULL && log[0] != '\0' ? log : "the compiler gave no reason";
    dcl_status status = DCLI_FAIL(DCL_ERR_BODY, "the OpenCL compiler of device %d, \"%s\", refuses the program: %.*s",
                                  device->info.number, device->info.name, (int)strcspn(text, "\n"), text);
    if (log_out != NULL)
        *log_out = log;
    else
        dcli_free(log);
    return status;
}

static dcl_status compile_once(dcli_device *device, const char *source, cl_program *program_out, char **log_out)
{
    cl_int code;
    cl_program program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    if (program == NULL)
        return dcli_cl_fail(device, "clCreateProgramWithSource", code);
    bool counts = strcmp(device->info.platform, "Portable Computing Language") == 0;
    struct dcli_quiet *quiet = counts ? dcli_quiet_begin() : NULL;
    dcli_compiler_begin();
    code = clBuildProgram(program, 1, &device->id, "", NULL, NULL);
    dcli_compiler_end();
    dcli_quiet_end(quiet);
    if (code == CL_SUCCESS) {
        *program_out = program;
        return DCL_OK;
    }
    cl_build_status built = CL_BUILD_NONE;
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_STATUS, sizeof built, &built, NULL);
    dcl_status status = code == CL_BUILD_PROGRAM_FAILURE || built == CL_BUILD_ERROR
                            ? fail_to_compile(device, program, log_out)
                            : dcli_cl_fail(device, "clBuildProgram", code);
    clReleaseProgram(program);
    return status;
}

/* Whether the compiler accepts a correct program that is in no cache. */
static dcl_status try_compiler(dcli_device *device)
{
    static atomic_uint tries;
    char source[128];
    cl_program program;
    snprintf(source, sizeof source, "__kernel void dcl_try(__global int *p) { p[0] = %u; } /* %ld %lld */\n",
             atomic_fetch_add(&tries, 1), (long)getpid(), (long long)time(NULL));
    dcl_status status = compile_once(device, source, &program, NULL);
    if (status == DCL_OK)
        clReleaseProgram(program);
    else if (status == DCL_ERR_BODY)
        status =
            DCLI_FAIL(DCL_ERR_DEVICE,
                      "the OpenCL compiler of device %d, \"%s\", compiles no program at the moment, not even a right "
                      "one (%s); see that its cache can be written and that there is memory, and try again",
                      device->info.number, device->info.name, dcli_error_sentence());
    return status;
}

/* Compile. Drivers return the same code if the compiler failed and if the program is wrong. The program is considered
 * wrong if it is refused twice and a correct program is accepted in between. */
static dcl_status compile(dcli_device *device, const char *source, cl_program *program_out, char **log_out)
{
    dcl_status status = DCL_OK;
    if (strcmp(device->info.platform, "Portable Computing Language") == 0)
        status = dcli_cache_check();
    if (status == DCL_OK)
        status = compile_once(device, source, program_out, log_out);
    if (status != DCL_ERR_BODY)
        return status;
    if (log_out != NULL) {
        dcli_free(*log_out);
        *log_out = NULL;
    }
    status = try_compiler(device);
    return status == DCL_OK ? compile_once(device, source, program_out, log_out) : status;
}

static void free_kernel(dcli_kernel *kernel)
{
    if (kernel->kernel != NULL)
        clReleaseKernel(kernel->kernel);
    for (int n = 0; kernel->last != NULL && n < kernel->count; n++)
        dcli_free(kernel->last[n].value);
    dcli_free(kernel->last);
    dcli_free(kernel->name);
}

void dcli_program_unmake(dcli_program *program)
{
    for (int n = 0; program->kernels != NULL && n < program->kernel_count; n++)
        free_kernel(&program->kernels[n]);
    if (program->program != NULL)
        clReleaseProgram(program->program);
    dcli_free(program->kernels);
    dcli_free(program->source);
    dcli_free(program);
}

static dcl_status make_kernel(dcli_program *program, const char *name, dcli_kernel *kernel)
{
    cl_int code;
    kernel->name = dcli_strdup(name);
    if (kernel->name == NULL)
        return DCL_ERR_NOMEM;
    kernel->kernel = clCreateKernel(program->program, name, &code);
    if (kernel->kernel == NULL)
        return dcli_cl_fail(program->device, "clCreateKernel", code);
    cl_uint count = 0;
    code = clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(program->device, "clGetKernelInfo", code);
    kernel->last = dcli_calloc(count, sizeof *kernel->last);
    if (kernel->last == NULL)
        return DCL_ERR_NOMEM;
    kernel->count = (int)count;
    return DCL_OK;
}

dcl_status dcli_program_make(dcli_device *device, const char *source, int kernel_count, const char *const kernels[],
                             dcli_program **program_out, char **log_out)
{
    dcli_program *program = dcli_calloc(1, sizeof *program);
    if (program == NULL)
        return DCL_ERR_NOMEM;
    program->device = device;
    program->kernel_count = kernel_count;
    program->source = dcli_strdup(source);
    program->kernels = dcli_calloc((size_t)kernel_count, sizeof *program->kernels);
    dcl_status status = program->source == NULL || program->kernels == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK)
        status = compile(device, source, &program->program, log_out);
    for (int n = 0; n < kernel_count && status == DCL_OK; n++)
        status = kernels[n] != NULL ? make_kernel(program, kernels[n], &program->kernels[n]) : DCL_OK;
    if (status != DCL_OK) {
        dcli_program_unmake(program);
        return status;
    }
    *program_out = program;
    return DCL_OK;
}

static bool has_kernels(const dcli_program *program, int kernel_count, const char *const kernels[])
{
    if (program->kernel_count != kernel_count)
        return false;
    for (int n = 0; n < kernel_count; n++)
        if (kernels[n] != NULL &&
            (program->kernels[n].name == NULL || strcmp(program->kernels[n].name, kernels[n]) != 0))
            return false;
    return true;
}

bool dcli_program_has(const dcli_program *program, int kernel)
{
    return kernel < program->kernel_count && program->kernels[kernel].kernel != NULL;
}

static dcli_program *find_program(dcli_device *device, uint64_t hash, const char *source, int kernel_count,
                                  const char *const kernels[])
{
    for (dcli_program *program = device->programs; program != NULL; program = program->next)
        if (program->hash == hash && strcmp(program->source, source) == 0 &&
            has_kernels(program, kernel_count, kernels))
            return program;
    return NULL;
}

/* Estimate a program's size in memory, which no driver reports. PoCL's programs took 0.7 to 1.6 MB each: the compiler's
 * modules, and a library per kernel. */
static size_t estimate_bytes(const char *source)
{
    enum { LEAST = 1 << 20, PER_LETTER = 32 };
    return LEAST + PER_LETTER * strlen(source);
}

bool dcli_programs_are_many(const dcli_device *device) { return device->program_bytes > device->most_program_bytes; }

/* Drop the least recently used program without references. @return false: there is none. */
static bool drop_oldest(dcli_device *device)
{
    dcli_program **oldest = NULL;
    for (dcli_program **at = &device->programs; *at != NULL; at = &(*at)->next)
        if ((*at)->holds == 0 && (oldest == NULL || (*at)->used < (*oldest)->used))
            oldest = at;
    if (oldest == NULL)
        return false;
    dcli_program *program = *oldest;
    *oldest = program->next;
    device->program_bytes -= program->bytes;
    dcli_program_unmake(program);
    return true;
}

static void drop_many(dcli_device *device)
{
    while (dcli_programs_are_many(device) && drop_oldest(device))
        ;
}

/* Enter a new program in the device's cache. */
static void enter(dcli_program *program)
{
    dcli_device *device = program->device;
    program->next = device->programs;
    device->programs = program;
    program->bytes = estimate_bytes(program->source);
    device->program_bytes += program->bytes;
}

static void hold(dcli_program *program)
{
    program->holds++;
    program->used = ++program->device->program_clock;
    drop_many(program->device);
}

void dcli_program_enter(dcli_program *program)
{
    program->hash = dcli_hash_bytes(DCLI_HASH_START, program->source, strlen(program->source));
    enter(program);
    hold(program);
}

dcl_status dcli_program_build(dcli_device *device, const char *source, int kernel_count, const char *const kernels[],
                              dcli_program **program_out, bool *fresh_out, char **log_out)
{
    if (log_out != NULL)
        *log_out = NULL;
    uint64_t hash = dcli_hash_bytes(DCLI_HASH_START, source, strlen(source));
    dcli_program *program = find_program(device, hash, source, kernel_count, kernels);
    bool fresh = program == NULL;
    if (fresh) {
        dcl_status status = dcli_program_make(device, source, kernel_count, kernels, &program, log_out);
        if (status != DCL_OK)
            return status;
        program->hash = hash;
        enter(program);
    }
    hold(program);
    *program_out = program;
    if (fresh_out != NULL)
        *fresh_out = fresh;
    return DCL_OK;
}

dcl_status dcli_program_build_own(dcli_device *device, const char *source, int kernel_count,
                                  const char *const kernels[], dcli_program **program_out, bool *fresh_out,
                                  char **log_out)
{
    if (!device->beside)
        return dcli_program_build(device, source, kernel_count, kernels, program_out, fresh_out, log_out);
    if (log_out != NULL)
        *log_out = NULL;
    dcli_text own = {0};
    dcli_text_put(&own, "%s\n/* device %d */\n", source, device->info.number);
    dcl_status status = DCL_ERR_NOMEM;
    if (!own.failed)
        status = dcli_program_build(device, own.bytes, kernel_count, kernels, program_out, fresh_out, log_out);
    dcli_text_free(&own);
    return status;
}

void dcli_program_release(dcli_program *program)
{
    if (program == NULL)
        return;
    program->holds--;
    drop_many(program->device);
}

void dcli_programs_free(dcli_device *device)
{
    while (device->programs != NULL) {
        dcli_program *program = device->programs;
        device->programs = program->next;
        dcli_program_unmake(program);
    }
}
