/* support/fake_opencl/arguments.c - a record of live buffers and of the arguments of kernels; fails commands whose
 * buffers were released or belong to another context. See arguments.h. */
#include "support/fake_opencl/arguments.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

struct memory {
    cl_mem handle;
    cl_context context;
    long serial; /* handles come again, serial numbers do not */
    int references;
    struct memory *next;
};

/* A buffer that a kernel was given. */
struct argument {
    cl_kernel kernel;
    cl_uint index;
    cl_mem handle;
    long serial;
    struct argument *next;
};

static struct {
    pthread_mutex_t lock; /* what follows */
    long serial;
    struct memory *memory[BUCKETS];
    struct argument *argument[BUCKETS]; /* by kernel */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t bucket_of(const void *handle) { return (uintptr_t)handle / 16 % BUCKETS; }

/* Find the entry of a buffer; else where it would be. The lock is held, as in the next functions. */
static struct memory **find_memory(cl_mem handle)
{
    struct memory **at = &known.memory[bucket_of(handle)];
    while (*at != NULL && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

static struct argument **find_argument(cl_kernel kernel, cl_uint index)
{
    struct argument **at = &known.argument[bucket_of(kernel)];
    while (*at != NULL && ((*at)->kernel != kernel || (*at)->index != index))
        at = &(*at)->next;
    return at;
}

static void drop_argument(struct argument **at)
{
    struct argument *argument = *at;
    *at = argument->next;
    free(argument);
}

void fake_memory_made(cl_mem handle, cl_context context)
{
    struct memory *memory = malloc(sizeof *memory);
    if (memory == NULL)
        abort();
    pthread_mutex_lock(&known.lock);
    struct memory **first = &known.memory[bucket_of(handle)];
    *memory = (struct memory){handle, context, ++known.serial, 1, *first};
    *first = memory;
    pthread_mutex_unlock(&known.lock);
}

void fake_memory_held(cl_mem handle, int change)
{
    pthread_mutex_lock(&known.lock);
    struct memory **at = find_memory(handle), *memory = *at;
    if (memory != NULL && (memory->references += change) == 0) {
        *at = memory->next;
        free(memory);
    }
    pthread_mutex_unlock(&known.lock);
}

void fake_argument_set(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
    cl_mem handle = NULL;
    if (bytes == sizeof handle && value != NULL)
        memcpy(&handle, value, sizeof handle);
    pthread_mutex_lock(&known.lock);
    struct argument **at = find_argument(kernel, index);
    const struct memory *memory = handle != NULL ? *find_memory(handle) : NULL;
    if (*at != NULL)
        drop_argument(at);
    struct argument *argument = memory != NULL ? malloc(sizeof *argument) : NULL;
    if (argument != NULL) {
        struct argument **first = &known.argument[bucket_of(kernel)];
        *argument = (struct argument){kernel, index, handle, memory->serial, *first};
        *first = argument;
    }
    pthread_mutex_unlock(&known.lock);
}

void fake_kernel_released(cl_kernel kernel)
{
    pthread_mutex_lock(&known.lock);
    for (struct argument **at = &known.argument[bucket_of(kernel)]; *at != NULL;)
        if ((*at)->kernel == kernel)
            drop_argument(at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&known.lock);
}

static cl_context context_of(cl_command_queue queue)
{
    cl_context context = NULL;
    fake_real.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return context;
}

cl_int fake_arguments_check(cl_command_queue queue, cl_kernel kernel)
{
    cl_context context = context_of(queue), own = NULL;
    cl_int code = CL_SUCCESS;
    fake_real.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof own, &own, NULL);
    if (own != context)
        return CL_INVALID_CONTEXT;
    pthread_mutex_lock(&known.lock);
    for (const struct argument *argument = known.argument[bucket_of(kernel)]; argument != NULL;
         argument = argument->next) {
        if (argument->kernel != kernel)
            continue;
        const struct memory *memory = *find_memory(argument->handle);
        if (memory == NULL || memory->serial != argument->serial || memory->context != context)
            code = CL_INVALID_KERNEL_ARGS;
    }
    pthread_mutex_unlock(&known.lock);
    return code;
}

cl_int fake_memory_check(cl_command_queue queue, cl_mem handle)
{
    cl_context context = context_of(queue);
    pthread_mutex_lock(&known.lock);
    const struct memory *memory = *find_memory(handle);
    cl_int code = memory == NULL ? CL_INVALID_MEM_OBJECT : memory->context != context ? CL_INVALID_CONTEXT : CL_SUCCESS;
    pthread_mutex_unlock(&known.lock);
    return code;
}
