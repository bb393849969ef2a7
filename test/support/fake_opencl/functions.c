/* support/fake_opencl/functions.c - the functions that replace those of the real driver. */
#include "support/fake_opencl/functions.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fake_opencl/arguments.h"
#include "support/fake_opencl/events.h"
#include "support/fake_opencl/order.h"
#include "support/fake_opencl/plan.h"
#include "support/fake_opencl/registered.h"

cl_icd_dispatch fake_real;

/* ---- what every function does --------------------------------------------------------------------------------- */

/* Count a call, and hang in it if the plan says so. @return the code to fail with, or CL_SUCCESS. */
static cl_int meet(fake_name name)
{
    int code = CL_SUCCESS;
    fake_action action = fake_plan_meet(name, &code);
    if (action == FAKE_HANG)
        fake_plan_hang();
    return action == FAKE_FAIL ? code : CL_SUCCESS;
}

/* Defines a function that returns a code. */
#define STATUS(name, parameters, arguments)                          \
    static cl_int CL_API_CALL fake_##name parameters                 \
    {                                                                \
        cl_int code = meet(FAKE_##name);                             \
        return code == CL_SUCCESS ? fake_real.name arguments : code; \
    }

/* Defines a function that returns a new object; its last parameter is `cl_int *code_out`.
 * @param make  the function that makes it. */
#define CREATE(type, kind, name, parameters, make, arguments) \
    static type CL_API_CALL fake_##name parameters            \
    {                                                         \
        cl_int code = meet(FAKE_##name);                      \
        type object = NULL;                                   \
        if (code == CL_SUCCESS)                               \
            object = make arguments;                          \
        else if (code_out != NULL)                            \
            *code_out = code;                                 \
        if (object != NULL)                                   \
            fake_hold(kind, 1);                               \
        return object;                                        \
    }

/* What is noted of an object ends with it. */
static void keep_note(const void *object) { (void)object; }

/* Defines a function that releases. It always releases, otherwise leaks of the caller could not be counted. */
#define RELEASE(type, kind, name, forget)                                   \
    static cl_int CL_API_CALL fake_##name(type object)                      \
    {                                                                       \
        forget(object);                                                     \
        cl_int code = meet(FAKE_##name), released = fake_real.name(object); \
        if (released == CL_SUCCESS)                                         \
            fake_hold(kind, -1);                                            \
        return code != CL_SUCCESS ? code : released;                        \
    }

#define RETAIN(type, kind, name)                       \
    static cl_int CL_API_CALL fake_##name(type object) \
    {                                                  \
        cl_int code = meet(FAKE_##name);               \
        if (code == CL_SUCCESS)                        \
            code = fake_real.name(object);             \
        if (code == CL_SUCCESS)                        \
            fake_hold(kind, 1);                        \
        return code;                                   \
    }

/* Copy a wait list with one more event. NULL: no memory. */
static cl_event *longer_list(cl_uint count, const cl_event *list, cl_event more)
{
    cl_event *longer = calloc(count + 1, sizeof *longer);
    if (longer != NULL && count > 0)
        memcpy(longer, list, count * sizeof *longer);
    if (longer != NULL)
        longer[count] = more;
    return longer;
}

/* The wait list of a delayed command, and the event that delays it. */
struct delay {
    cl_event *list, event;
    cl_uint count;
};

static cl_int delay_command(cl_command_queue queue, int milliseconds, cl_uint count, const cl_event *list,
                            struct delay *delay)
{
    cl_int code = fake_event_after(queue, milliseconds, &delay->event);
    if (code != CL_SUCCESS)
        return code;
    delay->list = longer_list(count, list, delay->event);
    delay->count = count + 1;
    return delay->list != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static void end_delay(struct delay *delay)
{
    if (delay->event != NULL)
        fake_real.clReleaseEvent(delay->event);
    free(delay->list);
}

/* Defines a function that enqueues a command, which may fail when it runs; its last parameters are
 * `cl_uint count, const cl_event *list, cl_event *event`.
 * @param call  calls the real function, with the wait list in the macros COUNT and LIST, and the event in EVENT.
 * @param us    how long the command takes at least: see fake_event_prolong().
 * @param note  notes what it touches. */
#define COMMAND(name, parameters, call, us, note)                   \
    static cl_int CL_API_CALL fake_##name parameters                \
    {                                                               \
        int code = CL_SUCCESS;                                      \
        struct delay delay = {.list = NULL};                        \
        cl_event own = NULL, *made = event;                         \
        fake_action action = fake_plan_meet(FAKE_##name, &code);    \
        fake_plan_enqueues();                                       \
        if (action == FAKE_FAIL)                                    \
            return code;                                            \
        if (action == FAKE_EVENT)                                   \
            return fail_later(queue, code, count, list, event);     \
        if (action == FAKE_HANG)                                    \
            fake_plan_hang();                                       \
        int takes = us;                                             \
        if (takes > 0)                                              \
            made = &own;                                            \
        if (action == FAKE_LATE)                                    \
            code = delay_command(queue, code, count, list, &delay); \
        if (code == CL_SUCCESS)                                     \
            code = call;                                            \
        end_delay(&delay);                                          \
        if (code == CL_SUCCESS && takes > 0)                        \
            code = fake_event_prolong(queue, takes, own, event);    \
        if (code == CL_SUCCESS)                                     \
            fake_event_made(event);                                 \
        if (code == CL_SUCCESS)                                     \
            note;                                                   \
        return code;                                                \
    }

#define COUNT (delay.list != NULL ? delay.count : count)
#define LIST (delay.list != NULL ? delay.list : list)
#define EVENT made

/* A command that fails when it runs touches nothing. */
static cl_int fail_later(cl_command_queue queue, cl_int failure, cl_uint count, const cl_event *list, cl_event *event)
{
    cl_int code = fake_event_fail_later(queue, failure, event);
    if (code == CL_SUCCESS)
        fake_order_command(queue, "a command that fails", count, list, event, 0, NULL);
    return code;
}

/* ---- platforms, devices, contexts, queues --------------------------------------------------------------------- */

STATUS(clGetPlatformInfo,
       (cl_platform_id platform, cl_platform_info what, size_t bytes, void *value, size_t *bytes_out),
       (platform, what, bytes, value, bytes_out))
/* The driver's list of extensions, plus the claimed ones. */
static cl_int list_extensions(cl_device_id device, const char *claims, size_t bytes, char *list, size_t *bytes_out)
{
    size_t own = 0, claimed = strlen(claims);
    cl_int code = fake_real.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &own);
    if (code != CL_SUCCESS)
        return code;
    if (bytes_out != NULL)
        *bytes_out = own + claimed;
    if (list == NULL)
        return CL_SUCCESS;
    if (bytes < own + claimed)
        return CL_INVALID_VALUE;
    code = fake_real.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, own, list, NULL);
    if (code == CL_SUCCESS)
        memcpy(list + strlen(list), claims, claimed + 1);
    return code;
}

/* Whether a query is one of the extensions that identify hardware: UUID, bus, and NVIDIA's bus, slot and domain. */
static bool is_identity(cl_device_info what)
{
    return what == 0x106A || what == 0x410F || what == 0x4008 || what == 0x4009 || what == 0x400A;
}

/* The number of a device among those of its platform; -1: it is not found. */
static int number_of_device(cl_device_id device)
{
    enum { MOST = 64 };
    cl_device_id all[MOST];
    cl_platform_id platform = NULL;
    cl_uint count = 0;
    if (fake_real.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS ||
        fake_real.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, all, &count) != CL_SUCCESS)
        return -1;
    for (cl_uint n = 0; n < count && n < MOST; n++)
        if (all[n] == device)
            return (int)n;
    return -1;
}

/* "peers": UUIDs as support/fake_cuda has them, by number. */
static cl_int make_uuid(cl_device_id device, size_t bytes, unsigned char uuid_out[])
{
    enum { UUID_BYTES = 16 };
    if (bytes < UUID_BYTES)
        return CL_INVALID_VALUE;
    memset(uuid_out, 'G', UUID_BYTES);
    uuid_out[UUID_BYTES - 1] = (unsigned char)number_of_device(device);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *value,
                                               size_t *bytes_out)
{
    char claims[256];
    cl_int code = meet(FAKE_clGetDeviceInfo);
    if (code != CL_SUCCESS)
        return code;
    fake_plan_claims(claims, sizeof claims);
    if (fake_plan_peers()) {
        if (what == 0x106A)
            return make_uuid(device, bytes, value);
        snprintf(claims + strlen(claims), sizeof claims - strlen(claims),
                 " cl_khr_device_uuid cl_khr_external_memory_opaque_fd");
    }
    if (claims[0] != '\0' && what == CL_DEVICE_EXTENSIONS)
        return list_extensions(device, claims, bytes, value, bytes_out);
    if (claims[0] != '\0' && is_identity(what))
        return CL_INVALID_VALUE;
    code = fake_real.clGetDeviceInfo(device, what, bytes, value, bytes_out);
    if (code == CL_SUCCESS && what == CL_DEVICE_TYPE && value != NULL && fake_plan_gpu())
        *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
    if (code == CL_SUCCESS && what == CL_DEVICE_HOST_UNIFIED_MEMORY && value != NULL && fake_plan_discrete())
        *(cl_bool *)value = CL_FALSE;
    return code;
}

static cl_int CL_API_CALL fake_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint capacity,
                                              cl_device_id devices[], cl_uint *count_out)
{
    cl_int code = meet(FAKE_clGetDeviceIDs);
    if (code != CL_SUCCESS)
        return code;
    if (fake_plan_no_devices())
        return CL_DEVICE_NOT_FOUND;
    return fake_real.clGetDeviceIDs(platform, type, capacity, devices, count_out);
}

CREATE(cl_context, FAKE_CONTEXT, clCreateContext,
       (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *code_out),
       fake_real.clCreateContext, (properties, count, devices, notify, user, code_out))
RELEASE(cl_context, FAKE_CONTEXT, clReleaseContext, keep_note)
CREATE(cl_command_queue, FAKE_QUEUE, clCreateCommandQueue,
       (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code_out),
       fake_real.clCreateCommandQueue, (context, device, properties, code_out))
RELEASE(cl_command_queue, FAKE_QUEUE, clReleaseCommandQueue, fake_order_forget_queue)
RETAIN(cl_command_queue, FAKE_QUEUE, clRetainCommandQueue)
STATUS(clFlush, (cl_command_queue queue), (queue))

static cl_int CL_API_CALL fake_clFinish(cl_command_queue queue)
{
    cl_int code = meet(FAKE_clFinish);
    fake_plan_wait();
    if (code == CL_SUCCESS)
        code = fake_real.clFinish(queue);
    if (code == CL_SUCCESS)
        fake_order_queue_ended(queue);
    return code;
}

/* ---- memory and programs -------------------------------------------------------------------------------------- */

/* Number of the only device of a context; -1: it is not known. */
static int number_of_contexts_device(cl_context context)
{
    cl_device_id own = NULL;
    cl_int code = fake_real.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof own, &own, NULL);
    return code == CL_SUCCESS ? number_of_device(own) : -1;
}

/* "apart": make the driver copy host memory instead of using it. */
static cl_mem create_apart(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code_out)
{
    enum { LEAST_REFUSED = 64 << 10 };
    flags = (flags & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | CL_MEM_COPY_HOST_PTR;
    bool refused = fake_plan_no_registering() && bytes >= LEAST_REFUSED;
    cl_mem memory = refused ? NULL : fake_real.clCreateBuffer(context, flags, bytes, host, code_out);
    if (memory != NULL)
        fake_registered_add(context, memory, host, bytes);
    else if (refused && code_out != NULL)
        *code_out = CL_OUT_OF_RESOURCES;
    return memory;
}

static cl_mem create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code_out)
{
    bool apart = (flags & CL_MEM_USE_HOST_PTR) != 0 && fake_plan_some_apart() &&
                 fake_plan_apart(number_of_contexts_device(context));
    return apart ? create_apart(context, flags, bytes, host, code_out)
                 : fake_real.clCreateBuffer(context, flags, bytes, host, code_out);
}

/* Note a new buffer; NULL: none was made. */
static void note_made(cl_mem memory, cl_context context)
{
    if (memory == NULL)
        return;
    fake_memory_made(memory, context);
    fake_hold(FAKE_MEM, 1);
}

static cl_mem CL_API_CALL fake_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                                              cl_int *code_out)
{
    cl_int code = meet(FAKE_clCreateBuffer);
    cl_mem memory = code == CL_SUCCESS ? create_buffer(context, flags, bytes, host, code_out) : NULL;
    if (code != CL_SUCCESS && code_out != NULL)
        *code_out = code;
    note_made(memory, context);
    if (memory != NULL)
        fake_order_memory(memory, NULL, 0, bytes);
    return memory;
}

/* A buffer is noted as gone before the driver may give its handle to another one. */
static cl_int CL_API_CALL fake_clReleaseMemObject(cl_mem memory)
{
    cl_uint holders = 0;
    cl_int code = meet(FAKE_clReleaseMemObject);
    if (fake_real.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof holders, &holders, NULL) == CL_SUCCESS &&
        holders == 1)
        fake_registered_end(memory);
    fake_memory_held(memory, -1);
    cl_int released = fake_real.clReleaseMemObject(memory);
    if (released == CL_SUCCESS)
        fake_hold(FAKE_MEM, -1);
    return code != CL_SUCCESS ? code : released;
}

static cl_mem CL_API_CALL fake_clCreateSubBuffer(cl_mem memory, cl_mem_flags flags, cl_buffer_create_type type,
                                                 const void *part, cl_int *code_out)
{
    cl_int code = meet(FAKE_clCreateSubBuffer);
    cl_context context = NULL;
    cl_mem made = NULL;
    if (code == CL_SUCCESS)
        made = fake_real.clCreateSubBuffer(memory, flags, type, part, &code);
    if (made != NULL &&
        fake_real.clGetMemObjectInfo(made, CL_MEM_CONTEXT, sizeof context, &context, NULL) == CL_SUCCESS)
        note_made(made, context);
    if (made != NULL) {
        const cl_buffer_region *region = part;
        fake_order_memory(made, memory, region->origin, region->size);
    }
    if (code_out != NULL)
        *code_out = code;
    return made;
}

static cl_int CL_API_CALL fake_clRetainMemObject(cl_mem memory)
{
    cl_int code = meet(FAKE_clRetainMemObject);
    if (code == CL_SUCCESS)
        code = fake_real.clRetainMemObject(memory);
    if (code == CL_SUCCESS) {
        fake_memory_held(memory, 1);
        fake_hold(FAKE_MEM, 1);
    }
    return code;
}

/* ---- memory of other devices ------------------------------------------------------------------------------------- */

struct imported {
    void *host;
    size_t bytes;
};

static void CL_CALLBACK unmap(cl_mem memory, void *user)
{
    struct imported imported = *(struct imported *)user;
    (void)memory;
    munmap(imported.host, imported.bytes);
    free(user);
}

/* A buffer in memory that a descriptor stands for. */
static cl_mem import(cl_context context, int descriptor, size_t bytes, cl_int *code_out)
{
    struct stat about;
    struct imported *imported = malloc(sizeof *imported);
    cl_mem memory = NULL;
    *code_out = CL_INVALID_VALUE;
    if (imported == NULL || fstat(descriptor, &about) != 0 || (size_t)about.st_size < bytes || bytes == 0) {
        free(imported);
        return NULL;
    }
    *imported = (struct imported){mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), bytes};
    if (imported->host != MAP_FAILED)
        memory =
            fake_real.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, imported->host, code_out);
    if (memory != NULL && fake_real.clSetMemObjectDestructorCallback(memory, unmap, imported) == CL_SUCCESS)
        return memory;
    if (memory != NULL)
        fake_real.clReleaseMemObject(memory);
    if (imported->host != MAP_FAILED)
        munmap(imported->host, bytes);
    free(imported);
    return NULL;
}

static cl_mem CL_API_CALL fake_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                                            cl_mem_flags flags, size_t bytes, void *host,
                                                            cl_int *code_out)
{
    cl_int code = meet(FAKE_clCreateBufferWithProperties);
    cl_mem memory = NULL;
    bool imports = properties != NULL && properties[0] == 0x2060 && fake_plan_peers();
    if (code == CL_SUCCESS)
        memory = imports ? import(context, (int)properties[1], bytes, &code)
                         : fake_real.clCreateBufferWithProperties(context, properties, flags, bytes, host, &code);
    note_made(memory, context);
    if (memory != NULL)
        fake_order_memory(memory, NULL, 0, bytes);
    if (code_out != NULL)
        *code_out = code;
    return memory;
}

static cl_int CL_API_CALL fake_clEnqueueAcquireExternalMemObjectsKHR(cl_command_queue queue, cl_uint memory_count,
                                                                     const cl_mem *memories, cl_uint count,
                                                                     const cl_event *list, cl_event *event)
{
    cl_int code = meet(FAKE_clEnqueueAcquireExternalMemObjectsKHR);
    if (code == CL_SUCCESS && (memory_count == 0 || memories == NULL))
        code = CL_INVALID_VALUE;
    if (code == CL_SUCCESS && event != NULL)
        code = fake_real.clEnqueueMarkerWithWaitList(queue, count, list, event);
    if (code == CL_SUCCESS) {
        fake_event_made(event);
        fake_order_command(queue, "an acquisition", count, list, event, 0, NULL);
    }
    return code;
}

/* The loader calls what is found here itself. */
static void *CL_API_CALL fake_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    if (fake_plan_peers() && strcmp(name, "clEnqueueAcquireExternalMemObjectsKHR") == 0)
        return (void *)(uintptr_t)fake_clEnqueueAcquireExternalMemObjectsKHR;
    return fake_real.clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* "one WORD": the first matching program in each context, retained until the process ends. */
enum { MOST_CONTEXTS = 64 };
static struct {
    pthread_mutex_t lock;
    cl_context context[MOST_CONTEXTS];
    cl_program program[MOST_CONTEXTS];
    int count;
} ones = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Get a reference to the one program of a context. @return NULL: the text does not match, or it is the first. */
static cl_program take_one(cl_context context, const char *text)
{
    cl_program program = NULL;
    pthread_mutex_lock(&ones.lock);
    for (int n = 0; fake_plan_is_one(text) && n < ones.count && program == NULL; n++)
        if (ones.context[n] == context)
            program = ones.program[n];
    if (program != NULL)
        fake_real.clRetainProgram(program);
    pthread_mutex_unlock(&ones.lock);
    return program;
}

/* Make a program; if its text is one string, it begins with the line of the plan. */
static cl_program make_program(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                               cl_int *code)
{
    char line[256];
    fake_plan_text(line, sizeof line);
    if (line[0] == '\0' || count != 1 || lengths != NULL)
        return fake_real.clCreateProgramWithSource(context, count, texts, lengths, code);
    const char *longer[] = {line, "\n", texts[0]};
    return fake_real.clCreateProgramWithSource(context, 3, longer, NULL, code);
}

static cl_program CL_API_CALL fake_clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                                             const size_t *lengths, cl_int *code_out)
{
    cl_int code = meet(FAKE_clCreateProgramWithSource);
    cl_program program = code == CL_SUCCESS ? take_one(context, texts[0]) : NULL;
    if (program == NULL && code == CL_SUCCESS)
        program = make_program(context, count, texts, lengths, &code);
    if (code_out != NULL)
        *code_out = code;
    if (program == NULL)
        return NULL;
    fake_hold(FAKE_PROGRAM, 1);
    pthread_mutex_lock(&ones.lock);
    bool first = fake_plan_is_one(texts[0]) && ones.count < MOST_CONTEXTS;
    for (int n = 0; n < ones.count; n++)
        first &= ones.context[n] != context;
    if (first && fake_real.clRetainProgram(program) == CL_SUCCESS) {
        ones.context[ones.count] = context;
        ones.program[ones.count++] = program;
    }
    pthread_mutex_unlock(&ones.lock);
    return program;
}

static cl_int CL_API_CALL fake_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                              const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                              void *user)
{
    cl_build_status status = CL_BUILD_NONE;
    cl_int code = meet(FAKE_clBuildProgram);
    if (code != CL_SUCCESS)
        return code;
    if (count == 1)
        fake_real.clGetProgramBuildInfo(program, devices[0], CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL);
    if (status == CL_BUILD_SUCCESS) /* "one WORD": it has kernels already, and cannot be built again */
        return CL_SUCCESS;
    char more[256]; /* order.h asks which arguments are const */
    snprintf(more, sizeof more, "%s -cl-kernel-arg-info", options != NULL ? options : "");
    return fake_real.clBuildProgram(program, count, devices, more, notify, user);
}

STATUS(clGetProgramInfo, (cl_program program, cl_program_info what, size_t bytes, void *value, size_t *bytes_out),
       (program, what, bytes, value, bytes_out))
STATUS(clGetProgramBuildInfo,
       (cl_program program, cl_device_id device, cl_program_build_info what, size_t bytes, void *value,
        size_t *bytes_out),
       (program, device, what, bytes, value, bytes_out))
RELEASE(cl_program, FAKE_PROGRAM, clReleaseProgram, keep_note)
CREATE(cl_kernel, FAKE_KERNEL, clCreateKernel, (cl_program program, const char *name, cl_int *code_out),
       fake_real.clCreateKernel, (program, name, code_out))
STATUS(clGetKernelInfo, (cl_kernel kernel, cl_kernel_info what, size_t bytes, void *value, size_t *bytes_out),
       (kernel, what, bytes, value, bytes_out))
STATUS(clGetKernelWorkGroupInfo,
       (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t bytes, void *value,
        size_t *bytes_out),
       (kernel, device, what, bytes, value, bytes_out))

static cl_int CL_API_CALL fake_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
    cl_int code = meet(FAKE_clSetKernelArg);
    if (code == CL_SUCCESS)
        code = fake_real.clSetKernelArg(kernel, index, bytes, value);
    if (code == CL_SUCCESS)
        fake_order_argument(kernel, index, bytes, value);
    if (code == CL_SUCCESS)
        fake_argument_set(kernel, index, bytes, value);
    return code;
}

static cl_int CL_API_CALL fake_clReleaseKernel(cl_kernel kernel)
{
    cl_int code = meet(FAKE_clReleaseKernel);
    fake_kernel_released(kernel);
    fake_order_forget_kernel(kernel);
    cl_int released = fake_real.clReleaseKernel(kernel);
    if (released == CL_SUCCESS)
        fake_hold(FAKE_KERNEL, -1);
    return code != CL_SUCCESS ? code : released;
}

/* ---- commands ------------------------------------------------------------------------------------------------- */

/* Launch a kernel that waits for an event that never ends. */
static cl_int launch_endless(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                             const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                             cl_event *event)
{
    cl_event never;
    cl_int code = fake_event_never(queue, &never);
    cl_event *longer = code == CL_SUCCESS ? longer_list(count, list, never) : NULL;
    if (code == CL_SUCCESS && longer == NULL)
        code = CL_OUT_OF_HOST_MEMORY;
    if (code == CL_SUCCESS)
        code = fake_real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count + 1, longer,
                                                event);
    free(longer);
    return code;
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, cl_uint count, const cl_event *list, cl_event *event)
{
    int code = fake_arguments_check(queue, kernel);
    if (code != CL_SUCCESS)
        return code;
    if (fake_plan_meet(FAKE_kernel, &code) == FAKE_HANG)
        return launch_endless(queue, kernel, dimensions, offset, global, local, count, list, event);
    return fake_real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event);
}

static int kernel_takes(cl_kernel kernel, cl_uint dimensions, const size_t *global)
{
    char name[64];
    size_t items = 1;
    if (!fake_plan_some_take())
        return 0;
    for (cl_uint d = 0; d < dimensions; d++)
        items *= global[d];
    fake_order_kernel_name(kernel, name);
    return fake_plan_takes(name, items);
}

COMMAND(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
         const size_t *local, cl_uint count, const cl_event *list, cl_event *event),
        launch(queue, kernel, dimensions, offset, global, local, COUNT, LIST, EVENT),
        kernel_takes(kernel, dimensions, global), fake_order_launch(queue, kernel, count, list, event))
/* A command on buffers that are there, and of the queue's context. */
#define IF_THERE(one, other, call)                                                                \
    (fake_memory_check(queue, one) != CL_SUCCESS || fake_memory_check(queue, other) != CL_SUCCESS \
         ? CL_INVALID_MEM_OBJECT                                                                  \
         : (call))
COMMAND(clEnqueueFillBuffer,
        (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes,
         cl_uint count, const cl_event *list, cl_event *event),
        IF_THERE(memory, memory,
                 fake_real.clEnqueueFillBuffer(queue, memory, pattern, pattern_bytes, offset, bytes, COUNT, LIST,
                                               EVENT)),
        fake_plan_takes("clEnqueueFillBuffer", bytes),
        fake_order_command(queue, "clEnqueueFillBuffer", count, list, event, 1,
                           &(fake_access){.memory = memory, .offset = offset, .bytes = bytes, .written = true}))
COMMAND(clEnqueueCopyBuffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes,
         cl_uint count, const cl_event *list, cl_event *event),
        IF_THERE(from, to,
                 fake_real.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, COUNT, LIST, EVENT)),
        fake_plan_takes("clEnqueueCopyBuffer", bytes),
        fake_order_command(queue, "clEnqueueCopyBuffer", count, list, event, 2,
                           (fake_access[]){{.memory = from, .offset = from_offset, .bytes = bytes},
                                           {.memory = to, .offset = to_offset, .bytes = bytes, .written = true}}))
COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),
        fake_real.clEnqueueMarkerWithWaitList(queue, COUNT, LIST, EVENT), 0,
        fake_order_command(queue, "a marker", count, list, event, 0, NULL))

/* Add the "slow" delay before a blocking command. */
static cl_bool wait_if(cl_bool blocking)
{
    if (blocking)
        fake_plan_wait();
    return blocking;
}

/* ---- from device to device ---------------------------------------------------------------------------------------- */

enum { MOST_READS = 64 };
static struct {
    pthread_mutex_t lock;
    struct {
        cl_context context;
        const void *host;
    } read[MOST_READS]; /* the last ones */
    int next;
    long passed;
} crossings = {.lock = PTHREAD_MUTEX_INITIALIZER};

static cl_context context_of(cl_command_queue queue)
{
    cl_context context = NULL;
    fake_real.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return context;
}

static void *note_read(cl_command_queue queue, void *host, size_t bytes)
{
    fake_registered_cross(context_of(queue), host, bytes, false);
    pthread_mutex_lock(&crossings.lock);
    crossings.read[crossings.next].context = context_of(queue);
    crossings.read[crossings.next].host = host;
    crossings.next = (crossings.next + 1) % MOST_READS;
    pthread_mutex_unlock(&crossings.lock);
    return host;
}

static const void *note_write(cl_command_queue queue, const void *host, size_t bytes)
{
    cl_context context = context_of(queue);
    bool passed = false;
    fake_registered_cross(context, host, bytes, true);
    pthread_mutex_lock(&crossings.lock);
    for (int n = 0; n < MOST_READS; n++)
        passed |= crossings.read[n].host == host && crossings.read[n].context != context;
    crossings.passed += passed ? (long)bytes : 0;
    pthread_mutex_unlock(&crossings.lock);
    return host;
}

__attribute__((visibility("default"))) long fake_opencl_passed(void);
long fake_opencl_passed(void)
{
    pthread_mutex_lock(&crossings.lock);
    long passed = crossings.passed;
    crossings.passed = 0;
    memset(crossings.read, 0,
           sizeof crossings.read); /* contexts that are gone may have had addresses that come again */
    pthread_mutex_unlock(&crossings.lock);
    return passed;
}

/* A blocking command has ended. */
static void note_crossing(cl_command_queue queue, const char *name, cl_mem memory, size_t offset, size_t bytes,
                          const void *host, size_t host_bytes, bool enters, bool blocking, cl_uint count,
                          const cl_event *list, const cl_event *event)
{
    const fake_access accesses[] = {{.memory = memory, .offset = offset, .bytes = bytes, .written = enters},
                                    {.host = host, .bytes = host_bytes, .written = !enters}};
    fake_order_command(queue, name, count, list, event, 2, accesses);
    if (blocking)
        fake_order_queue_ended(queue);
}

COMMAND(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t bytes, void *host,
         cl_uint count, const cl_event *list, cl_event *event),
        IF_THERE(memory, memory,
                 fake_real.clEnqueueReadBuffer(queue, memory, wait_if(blocking), offset, bytes,
                                               note_read(queue, host, bytes), COUNT, LIST, EVENT)),
        fake_plan_takes("clEnqueueReadBuffer", bytes),
        note_crossing(queue, "clEnqueueReadBuffer", memory, offset, bytes, host, bytes, false, blocking, count, list,
                      event))
COMMAND(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t bytes, const void *host,
         cl_uint count, const cl_event *list, cl_event *event),
        IF_THERE(memory, memory,
                 fake_real.clEnqueueWriteBuffer(queue, memory, wait_if(blocking), offset, bytes,
                                                note_write(queue, host, bytes), COUNT, LIST, EVENT)),
        fake_plan_takes("clEnqueueWriteBuffer", bytes),
        note_crossing(queue, "clEnqueueWriteBuffer", memory, offset, bytes, host, bytes, true, blocking, count, list,
                      event))
/* Bytes from the first to the last row. */
static size_t reach(const size_t region[3], size_t pitch) { return (region[1] - 1) * pitch + region[0]; }
static size_t start(const size_t origin[3], size_t pitch) { return origin[1] * pitch + origin[0]; }

/* Whether the line of the last row ends within the buffer. */
static bool ends_within(cl_mem memory, const size_t origin[3], const size_t region[3], size_t pitch)
{
    size_t bytes = 0;
    fake_real.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    return (origin[1] + region[1]) * pitch <= bytes;
}

/* A command on whole lines of a buffer: NVIDIA's driver refuses others. */
#define IF_WITHIN(call) (ends_within(memory, origin, region, pitch) ? IF_THERE(memory, memory, call) : CL_INVALID_VALUE)

/* Rows of a plane; their order is checked as that of all bytes between them. */
COMMAND(clEnqueueReadBufferRect,
        (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t pitch, size_t slice, size_t host_pitch, size_t host_slice, void *host,
         cl_uint count, const cl_event *list, cl_event *event),
        IF_WITHIN(fake_real.clEnqueueReadBufferRect(
            queue, memory, wait_if(blocking), origin, host_origin, region, pitch, slice, host_pitch, host_slice,
            (note_read(queue, (char *)host + start(host_origin, host_pitch), region[0] * region[1]), host), COUNT, LIST,
            EVENT)),
        fake_plan_takes("clEnqueueReadBuffer", region[0] * region[1]),
        note_crossing(queue, "clEnqueueReadBufferRect", memory, start(origin, pitch), reach(region, pitch),
                      (char *)host + start(host_origin, host_pitch), reach(region, host_pitch), false, blocking, count,
                      list, event))
COMMAND(clEnqueueWriteBufferRect,
        (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t pitch, size_t slice, size_t host_pitch, size_t host_slice, const void *host,
         cl_uint count, const cl_event *list, cl_event *event),
        IF_WITHIN(fake_real.clEnqueueWriteBufferRect(
            queue, memory, wait_if(blocking), origin, host_origin, region, pitch, slice, host_pitch, host_slice,
            (note_write(queue, (const char *)host + start(host_origin, host_pitch), region[0] * region[1]), host),
            COUNT, LIST, EVENT)),
        fake_plan_takes("clEnqueueWriteBuffer", region[0] * region[1]),
        note_crossing(queue, "clEnqueueWriteBufferRect", memory, start(origin, pitch), reach(region, pitch),
                      (const char *)host + start(host_origin, host_pitch), reach(region, host_pitch), true, blocking,
                      count, list, event))
#undef IF_WITHIN
COMMAND(clEnqueueUnmapMemObject,
        (cl_command_queue queue, cl_mem memory, void *host, cl_uint count, const cl_event *list, cl_event *event),
        fake_real.clEnqueueUnmapMemObject(queue, memory, host, COUNT, LIST, EVENT), 0,
        fake_order_command(queue, "clEnqueueUnmapMemObject", count, list, event, 0, NULL))
#undef IF_THERE
#undef EVENT
#undef COUNT
#undef LIST

static void *CL_API_CALL fake_clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                                 cl_map_flags flags, size_t offset, size_t bytes, cl_uint count,
                                                 const cl_event *list, cl_event *event, cl_int *code_out)
{
    cl_int code = meet(FAKE_clEnqueueMapBuffer);
    void *host = NULL;
    if (code == CL_SUCCESS)
        host = fake_real.clEnqueueMapBuffer(queue, memory, wait_if(blocking), flags, offset, bytes, count, list, event,
                                            code_out);
    else if (code_out != NULL)
        *code_out = code;
    if (host != NULL) {
        fake_event_made(event);
        fake_order_command(queue, "clEnqueueMapBuffer", count, list, event, 0, NULL);
    }
    if (host != NULL && blocking)
        fake_order_queue_ended(queue);
    return host;
}

/* ---- events --------------------------------------------------------------------------------------------------- */

static cl_int CL_API_CALL fake_clGetEventInfo(cl_event event, cl_event_info what, size_t bytes, void *value,
                                              size_t *bytes_out)
{
    cl_int code = meet(FAKE_clGetEventInfo);
    if (code == CL_SUCCESS)
        code = fake_real.clGetEventInfo(event, what, bytes, value, bytes_out);
    if (code == CL_SUCCESS && what == CL_EVENT_COMMAND_EXECUTION_STATUS && value != NULL) {
        cl_int *state = value, fate = fake_event_fate(event);
        if (*state == CL_COMPLETE && fate != CL_SUCCESS)
            *state = fate;
        if (*state <= CL_COMPLETE)
            fake_order_event_ended(event);
    }
    return code;
}

STATUS(clGetEventProfilingInfo, (cl_event event, cl_profiling_info what, size_t bytes, void *value, size_t *bytes_out),
       (event, what, bytes, value, bytes_out))

static cl_int CL_API_CALL fake_clWaitForEvents(cl_uint count, const cl_event *list)
{
    cl_int code = meet(FAKE_clWaitForEvents);
    fake_plan_wait();
    if (code == CL_SUCCESS)
        code = fake_real.clWaitForEvents(count, list);
    for (cl_uint n = 0; n < count && code == CL_SUCCESS; n++)
        fake_order_event_ended(list[n]);
    for (cl_uint n = 0; n < count && code == CL_SUCCESS; n++)
        if (fake_event_fate(list[n]) != CL_SUCCESS)
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return code;
}

/* A callback that gets a changed event status. */
struct told {
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
    void *user;
    cl_int fate;
};

static void CL_CALLBACK tell(cl_event event, cl_int state, void *user)
{
    struct told told = *(struct told *)user;
    free(user);
    told.notify(event, state == CL_COMPLETE ? told.fate : state, told.user);
}

static cl_int CL_API_CALL fake_clSetEventCallback(cl_event event, cl_int type,
                                                  void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *user)
{
    cl_int code = meet(FAKE_clSetEventCallback), fate = fake_event_fate(event);
    if (code != CL_SUCCESS)
        return code;
    if (fate == CL_SUCCESS)
        return fake_real.clSetEventCallback(event, type, notify, user);
    struct told *told = malloc(sizeof *told);
    if (told == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    *told = (struct told){.notify = notify, .user = user, .fate = fate};
    code = fake_real.clSetEventCallback(event, type, tell, told);
    if (code != CL_SUCCESS)
        free(told);
    return code;
}

RETAIN(cl_event, FAKE_EVENT_KIND, clRetainEvent)
RELEASE(cl_event, FAKE_EVENT_KIND, clReleaseEvent, fake_order_forget_event)

void fake_put_functions(cl_icd_dispatch *table)
{
#define X(name) table->name = fake_##name
    FAKE_FUNCTIONS(X);
    FAKE_PEER_FUNCTIONS(X);
#undef X
    table->clGetExtensionFunctionAddressForPlatform = fake_clGetExtensionFunctionAddressForPlatform;
}
