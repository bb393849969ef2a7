/* device/compiling.c - compile a program in a thread of its own, while the device goes on working. */
#include "device/program.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/signals.h"

struct dcli_compiling {
    dcli_device *device; /* of it, the thread uses only what never changes */
    char *source, *kernel;
    int count; /* arguments of the first launch */
    pthread_t thread;
    atomic_bool over;
    /* Written by the thread, read by others when it is over: */
    dcli_program *program; /* NULL: it failed */
};

/* Launch a kernel once with zeros, because drivers generate code at the first launch: PoCL does. */
static cl_int launch_once(const struct dcli_compiling *compiling, cl_kernel kernel)
{
    const cl_long zero = 0;
    const size_t one = 1;
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(compiling->device->context, compiling->device->id, 0, &code);
    if (queue == NULL)
        return code;
    for (int n = 0; n < compiling->count && code == CL_SUCCESS; n++)
        code = clSetKernelArg(kernel, (cl_uint)n, sizeof zero, &zero);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clFinish(queue);
    clReleaseCommandQueue(queue);
    return code;
}

static void *compile(void *user)
{
    struct dcli_compiling *compiling = user;
    const char *const kernels[] = {compiling->kernel};
    dcli_program *program = NULL;
    dcl_status status = dcli_program_make(compiling->device, compiling->source, 1, kernels, &program, NULL);
    if (status == DCL_OK && launch_once(compiling, program->kernels[0].kernel) != CL_SUCCESS) {
        dcli_program_unmake(program);
        program = NULL;
    }
    compiling->program = program;
    atomic_store(&compiling->over, true);
    return NULL;
}

static void free_compiling(dcli_compiling *compiling)
{
    dcli_free(compiling->source);
    dcli_free(compiling->kernel);
    dcli_free(compiling);
}

dcli_compiling *dcli_program_compile(dcli_device *device, const char *source, const char *kernel, int count)
{
    dcli_compiling *compiling = dcli_calloc(1, sizeof *compiling);
    if (compiling == NULL)
        return NULL;
    *compiling = (dcli_compiling){
        .device = device, .source = dcli_strdup(source), .kernel = dcli_strdup(kernel), .count = count};
    bool started = compiling->source != NULL && compiling->kernel != NULL &&
                   dcli_thread_start(&compiling->thread, compile, compiling) == 0;
    if (!started) {
        free_compiling(compiling);
        return NULL;
    }
    return compiling;
}

bool dcli_program_is_compiled(const dcli_compiling *compiling) { return atomic_load(&compiling->over); }

dcli_program *dcli_program_take(dcli_compiling *compiling)
{
    if (compiling == NULL)
        return NULL;
    pthread_join(compiling->thread, NULL);
    dcli_program *program = compiling->program;
    if (program != NULL)
        dcli_program_enter(program);
    free_compiling(compiling);
    return program;
}
