/* device/compiling.c - compile a program in a thread of its own, while the device goes on working. */
#include "device/program.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/signals.h"
#include "device/exit.h"

struct dcli_compiling {
    dcli_device *device; /* of it, the thread uses only what never changes */
    char *source;
    const char **kernels; /* [kernel_count] names, which follow the list in memory; NULL: no kernel of this number */
    int kernel_count, launched;
    pthread_t thread;
    atomic_bool over;
    /* Written by the thread, read by others when it is over: */
    dcli_program *program; /* NULL: it failed */
};

/* Set an argument of unknown size to zero. */
static cl_int set_zero(cl_kernel kernel, cl_uint n)
{
    static const size_t sizes[] = {8, 4, 2, 1, 16};
    const cl_long zero[2] = {0};
    cl_int code = CL_INVALID_ARG_SIZE;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && code != CL_SUCCESS; s++)
        code = clSetKernelArg(kernel, n, sizes[s], zero);
    return code;
}

/* Launch a kernel once with zeros, because drivers generate code at the first launch: PoCL does. */
static cl_int launch_once(const struct dcli_compiling *compiling, const dcli_kernel *made)
{
    const size_t one = 1;
    cl_kernel kernel = made->kernel;
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(compiling->device->context, compiling->device->id, 0, &code);
    if (queue == NULL)
        return code;
    for (int n = 0; n < made->count && code == CL_SUCCESS; n++)
        code = set_zero(kernel, (cl_uint)n);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clFinish(queue);
    clReleaseCommandQueue(queue);
    return code;
}

static dcli_program *make_and_launch(struct dcli_compiling *compiling)
{
    dcli_program *program = NULL;
    dcl_status status = dcli_program_make(compiling->device, compiling->source, compiling->kernel_count,
                                          compiling->kernels, &program, NULL);
    for (int n = 0; n < compiling->launched && program != NULL && status == DCL_OK; n++)
        if (launch_once(compiling, &program->kernels[n]) != CL_SUCCESS) {
            dcli_program_unmake(program);
            program = NULL;
        }
    return program;
}

static void *compile(void *user)
{
    struct dcli_compiling *compiling = user;
    compiling->program = make_and_launch(compiling);
    atomic_store(&compiling->over, true);
    dcli_compiler_end_ahead(); /* the program may exit from here on */
    return NULL;
}

static void free_compiling(dcli_compiling *compiling)
{
    dcli_free(compiling->source);
    dcli_free(compiling->kernels);
    dcli_free(compiling);
}

/* Copy a list of names. @return one piece of memory; NULL: there is none. */
static const char **copy_names(int count, const char *const names[])
{
    size_t bytes = (size_t)count * sizeof(char *);
    for (int n = 0; n < count; n++)
        bytes += names[n] != NULL ? strlen(names[n]) + 1 : 0;
    const char **copy = dcli_malloc(bytes);
    char *at = copy != NULL ? (char *)(copy + count) : NULL;
    for (int n = 0; n < count && copy != NULL; n++) {
        copy[n] = names[n] != NULL ? strcpy(at, names[n]) : NULL;
        at += names[n] != NULL ? strlen(names[n]) + 1 : 0;
    }
    return copy;
}

dcli_compiling *dcli_program_compile(dcli_device *device, const char *source, int kernel_count,
                                     const char *const kernels[], int launched)
{
    dcli_compiling *compiling = dcli_calloc(1, sizeof *compiling);
    if (compiling == NULL)
        return NULL;
    *compiling = (dcli_compiling){.device = device,
                                  .source = dcli_strdup(source),
                                  .kernels = copy_names(kernel_count, kernels),
                                  .kernel_count = kernel_count,
                                  .launched = launched};
    bool begun = compiling->source != NULL && compiling->kernels != NULL && dcli_compiler_begin_ahead();
    if (begun && dcli_thread_start(&compiling->thread, compile, compiling) == 0)
        return compiling;
    if (begun)
        dcli_compiler_end_ahead();
    free_compiling(compiling);
    return NULL;
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

void dcli_program_leave(dcli_compiling *compiling)
{
    if (compiling != NULL)
        pthread_detach(compiling->thread);
}
