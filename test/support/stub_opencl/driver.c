/* support/stub_opencl/driver.c - a small OpenCL driver: one CPU device that works in host memory, without threads. It is
 * for tests with a thousand processes: a process needs a few hundred kilobytes for it. OCL_ICD_VENDORS=<path of the
 * library> selects it.
 *
 * A command is complete when the call that enqueues it returns. Programs are compiled by Clang into the folder
 * STUB_OPENCL_CACHE (compiler.h). It has what DCL uses of OpenCL 1.2 for such a device; the loader finds no other
 * function. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/stub_opencl/compiler.h"

#define EXPORT __attribute__((visibility("default")))

enum { LOG_BYTES = 4096, DEVICE_BYTES = 1 << 30 };

static cl_icd_dispatch table;

/* Objects begin with the table of functions: cl_khr_icd. */
struct _cl_platform_id {
    cl_icd_dispatch *table;
};
struct _cl_device_id {
    cl_icd_dispatch *table;
};
struct _cl_context {
    cl_icd_dispatch *table;
};
struct _cl_command_queue {
    cl_icd_dispatch *table;
    atomic_int holders;
};
struct _cl_mem {
    cl_icd_dispatch *table;
    atomic_int holders;
    unsigned char *bytes;
    size_t length;
    void *own;     /* memory to free with the buffer; NULL: none */
    cl_mem parent; /* of a part; else NULL */
};
struct _cl_program {
    cl_icd_dispatch *table;
    char *source;
    void *library;
    char log[LOG_BYTES];
};
struct _cl_kernel {
    cl_icd_dispatch *table;
    stub_kernel *run;
    const char *kinds; /* a letter per argument: compiler.h */
    void *value[STUB_MOST_ARGUMENTS];
};
struct _cl_event {
    cl_icd_dispatch *table;
    cl_ulong begin_ns, end_ns;
};

static struct _cl_platform_id the_platform = {&table};
static struct _cl_device_id the_device = {&table};
static struct _cl_context the_context = {&table};

/* ---- what is there ------------------------------------------------------------------------------------------------ */

static cl_int give(const void *value, size_t length, size_t bytes, void *value_out, size_t *bytes_out)
{
    if (bytes_out != NULL)
        *bytes_out = length;
    if (value_out != NULL && bytes < length)
        return CL_INVALID_VALUE;
    if (value_out != NULL)
        memcpy(value_out, value, length);
    return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t bytes, void *value_out, size_t *bytes_out)
{
    return give(text, strlen(text) + 1, bytes, value_out, bytes_out);
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id platforms[], cl_uint *count_out)
{
    if (platforms != NULL && capacity > 0)
        platforms[0] = &the_platform;
    if (count_out != NULL)
        *count_out = 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL about_platform(cl_platform_id platform, cl_platform_info what, size_t bytes, void *value,
                                         size_t *bytes_out)
{
    (void)platform;
    switch (what) {
    case CL_PLATFORM_NAME:
        return give_text("Stub", bytes, value, bytes_out);
    case CL_PLATFORM_VERSION:
        return give_text("OpenCL 1.2 stub", bytes, value, bytes_out);
    case CL_PLATFORM_EXTENSIONS:
        return give_text("cl_khr_icd", bytes, value, bytes_out);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return give_text("STUB", bytes, value, bytes_out);
    case CL_PLATFORM_PROFILE:
    case CL_PLATFORM_VENDOR:
        return give_text("", bytes, value, bytes_out);
    default:
        return CL_INVALID_VALUE;
    }
}

/* For the loader. Within this library, the name would mean the loader's own function. */
EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t bytes, void *value,
                                            size_t *bytes_out)
{
    return about_platform(platform, what, bytes, value, bytes_out);
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return *(void **)&(clIcdGetPlatformIDsKHR_fn){clIcdGetPlatformIDsKHR};
    return NULL;
}

static cl_int CL_API_CALL get_devices(cl_platform_id platform, cl_device_type type, cl_uint capacity,
                                      cl_device_id devices[], cl_uint *count_out)
{
    (void)platform;
    bool is_meant = (type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT)) != 0;
    if (is_meant && devices != NULL && capacity > 0)
        devices[0] = &the_device;
    if (count_out != NULL)
        *count_out = is_meant;
    return is_meant ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int CL_API_CALL about_device(cl_device_id device, cl_device_info what, size_t bytes, void *value,
                                       size_t *bytes_out)
{
    (void)device;
    const cl_device_type type = CL_DEVICE_TYPE_CPU;
    const cl_uint one = 1, three = 3, align = 1024;
    const cl_bool yes = CL_TRUE;
    const cl_ulong memory = DEVICE_BYTES;
    const size_t group = 1, groups[3] = {1, 1, 1};
    const cl_device_fp_config fp64 = CL_FP_FMA | CL_FP_ROUND_TO_NEAREST;
    switch (what) {
    case CL_DEVICE_TYPE:
        return give(&type, sizeof type, bytes, value, bytes_out);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return give(&one, sizeof one, bytes, value, bytes_out);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
        return give(&three, sizeof three, bytes, value, bytes_out);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return give(&align, sizeof align, bytes, value, bytes_out);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return give(groups, sizeof groups, bytes, value, bytes_out);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return give(&group, sizeof group, bytes, value, bytes_out);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return give(&memory, sizeof memory, bytes, value, bytes_out);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
        return give(&yes, sizeof yes, bytes, value, bytes_out);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        return give(&fp64, sizeof fp64, bytes, value, bytes_out);
    case CL_DEVICE_NAME:
        return give_text("Stub", bytes, value, bytes_out);
    case CL_DEVICE_VERSION:
        return give_text("OpenCL 1.2 stub", bytes, value, bytes_out);
    case CL_DRIVER_VERSION:
        return give_text("1", bytes, value, bytes_out);
    case CL_DEVICE_EXTENSIONS:
    case CL_DEVICE_VENDOR:
        return give_text("", bytes, value, bytes_out);
    default:
        return CL_INVALID_VALUE;
    }
}

/* ---- contexts, queues, buffers ------------------------------------------------------------------------------------ */

static cl_int set_code(cl_int *code_out, cl_int code)
{
    if (code_out != NULL)
        *code_out = code;
    return code;
}

/* An object with the table, or NULL. */
static void *new_object(size_t bytes, cl_int *code_out)
{
    cl_icd_dispatch **object = calloc(1, bytes);
    set_code(code_out, object != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    if (object != NULL)
        *object = &table;
    return object;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                             void *user, cl_int *code_out)
{
    (void)properties, (void)count, (void)devices, (void)notify, (void)user;
    set_code(code_out, CL_SUCCESS);
    return &the_context;
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    (void)context;
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *code_out)
{
    (void)context, (void)device, (void)properties;
    cl_command_queue queue = new_object(sizeof *queue, code_out);
    if (queue != NULL)
        atomic_init(&queue->holders, 1);
    return queue;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
    atomic_fetch_add(&queue->holders, 1);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    if (atomic_fetch_sub(&queue->holders, 1) == 1)
        free(queue);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

static cl_mem new_buffer(unsigned char *bytes, size_t length, cl_int *code_out)
{
    cl_mem buffer = new_object(sizeof *buffer, code_out);
    if (buffer == NULL)
        return NULL;
    buffer->bytes = bytes;
    buffer->length = length;
    atomic_init(&buffer->holders, 1);
    return buffer;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t length, void *host,
                                        cl_int *code_out)
{
    (void)context;
    void *own = (flags & CL_MEM_USE_HOST_PTR) != 0 ? NULL : calloc(1, length);
    if (own == NULL && host == NULL) {
        set_code(code_out, CL_MEM_OBJECT_ALLOCATION_FAILURE);
        return NULL;
    }
    if (own != NULL && host != NULL)
        memcpy(own, host, length);
    cl_mem buffer = new_buffer(own != NULL ? own : host, length, code_out);
    if (buffer != NULL)
        buffer->own = own;
    else
        free(own);
    return buffer;
}

static cl_int CL_API_CALL retain_buffer(cl_mem buffer)
{
    atomic_fetch_add(&buffer->holders, 1);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
    if (atomic_fetch_sub(&buffer->holders, 1) > 1)
        return CL_SUCCESS;
    cl_mem parent = buffer->parent;
    free(buffer->own);
    free(buffer);
    return parent != NULL ? release_buffer(parent) : CL_SUCCESS;
}

static cl_mem CL_API_CALL create_part(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *about,
                                      cl_int *code_out)
{
    (void)flags, (void)type;
    const cl_buffer_region *region = about;
    if (region->origin > buffer->length || region->size > buffer->length - region->origin) {
        set_code(code_out, CL_INVALID_VALUE);
        return NULL;
    }
    cl_mem part = new_buffer(buffer->bytes + region->origin, region->size, code_out);
    if (part != NULL) {
        part->parent = buffer;
        retain_buffer(buffer);
    }
    return part;
}

/* ---- programs and kernels ----------------------------------------------------------------------------------------- */

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *code_out)
{
    (void)context;
    if (count != 1 || lengths != NULL) { /* DCL hands over one text that ends with 0 */
        set_code(code_out, CL_INVALID_VALUE);
        return NULL;
    }
    cl_program program = new_object(sizeof *program, code_out);
    if (program != NULL)
        program->source = strdup(texts[0]);
    return program;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    (void)count, (void)devices, (void)options, (void)notify, (void)user;
    program->library = stub_compile(program->source, program->log, sizeof program->log);
    return program->library != NULL ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

static cl_int CL_API_CALL about_build(cl_program program, cl_device_id device, cl_program_build_info what, size_t bytes,
                                      void *value, size_t *bytes_out)
{
    (void)device;
    const cl_build_status built = program->library != NULL ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
    if (what == CL_PROGRAM_BUILD_STATUS)
        return give(&built, sizeof built, bytes, value, bytes_out);
    return what == CL_PROGRAM_BUILD_LOG ? give_text(program->log, bytes, value, bytes_out) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    if (program->library != NULL)
        dlclose(program->library);
    free(program->source);
    free(program);
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code_out)
{
    const char *kinds = NULL;
    stub_kernel *run = program->library != NULL ? stub_find(program->library, name, &kinds) : NULL;
    cl_kernel kernel = run != NULL ? new_object(sizeof *kernel, code_out) : NULL;
    if (run == NULL)
        set_code(code_out, CL_INVALID_KERNEL_NAME);
    if (kernel != NULL) {
        kernel->run = run;
        kernel->kinds = kinds;
    }
    return kernel;
}

static cl_int CL_API_CALL about_kernel(cl_kernel kernel, cl_kernel_info what, size_t bytes, void *value,
                                       size_t *bytes_out)
{
    const cl_uint count = (cl_uint)strlen(kernel->kinds);
    return what == CL_KERNEL_NUM_ARGS ? give(&count, sizeof count, bytes, value, bytes_out) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL about_group(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                      size_t bytes, void *value, size_t *bytes_out)
{
    (void)kernel, (void)device;
    const size_t one = 1;
    return what == CL_KERNEL_WORK_GROUP_SIZE ? give(&one, sizeof one, bytes, value, bytes_out) : CL_INVALID_VALUE;
}

/* Copy the value of an argument; of a buffer, the address of its memory. */
static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint number, size_t bytes, const void *value)
{
    if (number >= strlen(kernel->kinds))
        return CL_INVALID_ARG_INDEX;
    bool is_buffer = kernel->kinds[number] == 'p';
    if (value == NULL || (is_buffer && bytes != sizeof(cl_mem)))
        return CL_INVALID_ARG_VALUE; /* local memory, which the stub lacks */
    void *copy = realloc(kernel->value[number], bytes);
    if (copy == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    kernel->value[number] = copy;
    cl_mem buffer = NULL;
    if (is_buffer)
        memcpy(&buffer, value, sizeof buffer);
    void *address = buffer != NULL ? buffer->bytes : NULL;
    memcpy(copy, is_buffer ? (const void *)&address : value, bytes);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
    for (int n = 0; n < STUB_MOST_ARGUMENTS; n++)
        free(kernel->value[n]);
    free(kernel);
    return CL_SUCCESS;
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static cl_ulong now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (cl_ulong)now.tv_sec * 1000000000 + (cl_ulong)now.tv_nsec;
}

/* Make the event of a command that began at `begin_ns` and has ended now. */
static cl_int tell(cl_ulong begin_ns, cl_event *event_out)
{
    cl_int code = CL_SUCCESS;
    cl_event event = event_out != NULL ? new_object(sizeof *event, &code) : NULL;
    if (event == NULL)
        return code;
    event->begin_ns = begin_ns;
    event->end_ns = now_ns();
    *event_out = event;
    return CL_SUCCESS;
}

static bool reaches(cl_mem buffer, size_t at, size_t bytes)
{
    return at <= buffer->length && bytes <= buffer->length - at;
}

static cl_int CL_API_CALL run_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t *first,
                                     const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                                     cl_event *event_out)
{
    (void)queue, (void)count, (void)list;
    unsigned long sizes[3] = {1, 1, 1};
    cl_ulong begin_ns = now_ns();
    for (cl_uint d = 0; d < axes; d++) {
        if (first != NULL || (local != NULL && local[d] != 1))
            return CL_INVALID_WORK_GROUP_SIZE;
        sizes[d] = global[d];
    }
    kernel->run(kernel->value, sizes);
    return tell(begin_ns, event_out);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at, size_t bytes,
                                      void *to, cl_uint count, const cl_event *list, cl_event *event_out)
{
    (void)queue, (void)blocking, (void)count, (void)list;
    if (!reaches(buffer, at, bytes))
        return CL_INVALID_VALUE;
    memcpy(to, buffer->bytes + at, bytes);
    return tell(now_ns(), event_out);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at, size_t bytes,
                                       const void *from, cl_uint count, const cl_event *list, cl_event *event_out)
{
    (void)queue, (void)blocking, (void)count, (void)list;
    if (!reaches(buffer, at, bytes))
        return CL_INVALID_VALUE;
    memcpy(buffer->bytes + at, from, bytes);
    return tell(now_ns(), event_out);
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_bytes,
                                      size_t at, size_t bytes, cl_uint count, const cl_event *list, cl_event *event_out)
{
    (void)queue, (void)count, (void)list;
    if (!reaches(buffer, at, bytes) || bytes % pattern_bytes != 0)
        return CL_INVALID_VALUE;
    for (size_t n = 0; n < bytes; n += pattern_bytes)
        memcpy(buffer->bytes + at + n, pattern, pattern_bytes);
    return tell(now_ns(), event_out);
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at, size_t to_at,
                                      size_t bytes, cl_uint count, const cl_event *list, cl_event *event_out)
{
    (void)queue, (void)count, (void)list;
    if (!reaches(from, from_at, bytes) || !reaches(to, to_at, bytes))
        return CL_INVALID_VALUE;
    memmove(to->bytes + to_at, from->bytes + from_at, bytes);
    return tell(now_ns(), event_out);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                    size_t at, size_t bytes, cl_uint count, const cl_event *list, cl_event *event_out,
                                    cl_int *code_out)
{
    (void)queue, (void)blocking, (void)flags, (void)count, (void)list;
    cl_int code = reaches(buffer, at, bytes) ? tell(now_ns(), event_out) : CL_INVALID_VALUE;
    return set_code(code_out, code) == CL_SUCCESS ? buffer->bytes + at : NULL;
}

static cl_int CL_API_CALL unmap_buffer(cl_command_queue queue, cl_mem buffer, void *at, cl_uint count,
                                       const cl_event *list, cl_event *event_out)
{
    (void)queue, (void)buffer, (void)at, (void)count, (void)list;
    return tell(now_ns(), event_out);
}

static cl_int CL_API_CALL mark(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event_out)
{
    (void)queue, (void)count, (void)list;
    return tell(now_ns(), event_out);
}

static cl_int CL_API_CALL await_events(cl_uint count, const cl_event *list)
{
    (void)count, (void)list;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL about_event(cl_event event, cl_event_info what, size_t bytes, void *value, size_t *bytes_out)
{
    (void)event;
    const cl_int complete = CL_COMPLETE;
    return what == CL_EVENT_COMMAND_EXECUTION_STATUS ? give(&complete, sizeof complete, bytes, value, bytes_out)
                                                     : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL about_times(cl_event event, cl_profiling_info what, size_t bytes, void *value,
                                      size_t *bytes_out)
{
    const cl_ulong *ns = what == CL_PROFILING_COMMAND_END ? &event->end_ns : &event->begin_ns;
    return give(ns, sizeof *ns, bytes, value, bytes_out);
}

static cl_int CL_API_CALL call_back(cl_event event, cl_int state, void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
                                    void *user)
{
    (void)state;
    notify(event, CL_COMPLETE, user);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_event(cl_event event)
{
    free(event);
    return CL_SUCCESS;
}

/* Every entry that is not named is NULL: a program that needs it ends at once. */
static cl_icd_dispatch table = {.clGetPlatformInfo = about_platform,
                                .clGetDeviceIDs = get_devices,
                                .clGetDeviceInfo = about_device,
                                .clCreateContext = create_context,
                                .clReleaseContext = release_context,
                                .clCreateCommandQueue = create_queue,
                                .clRetainCommandQueue = retain_queue,
                                .clReleaseCommandQueue = release_queue,
                                .clFinish = finish,
                                .clFlush = finish,
                                .clCreateBuffer = create_buffer,
                                .clCreateSubBuffer = create_part,
                                .clRetainMemObject = retain_buffer,
                                .clReleaseMemObject = release_buffer,
                                .clCreateProgramWithSource = create_program,
                                .clBuildProgram = build_program,
                                .clGetProgramBuildInfo = about_build,
                                .clReleaseProgram = release_program,
                                .clCreateKernel = create_kernel,
                                .clGetKernelInfo = about_kernel,
                                .clGetKernelWorkGroupInfo = about_group,
                                .clSetKernelArg = set_argument,
                                .clReleaseKernel = release_kernel,
                                .clEnqueueNDRangeKernel = run_kernel,
                                .clEnqueueReadBuffer = read_buffer,
                                .clEnqueueWriteBuffer = write_buffer,
                                .clEnqueueFillBuffer = fill_buffer,
                                .clEnqueueCopyBuffer = copy_buffer,
                                .clEnqueueMapBuffer = map_buffer,
                                .clEnqueueUnmapMemObject = unmap_buffer,
                                .clEnqueueMarkerWithWaitList = mark,
                                .clWaitForEvents = await_events,
                                .clGetEventInfo = about_event,
                                .clGetEventProfilingInfo = about_times,
                                .clSetEventCallback = call_back,
                                .clReleaseEvent = release_event};
