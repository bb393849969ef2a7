/* icd/wrong.c - every entry point with wrong inputs: handles that are none, in every parameter and list (NULL, of an object that has ended,
 * of another kind, of another context, an address that is no handle), and wrong values beside handles that are right. Each must return
 * the error that the specification names, and nothing may crash. It calls through the driver's table, because loaders catch NULL
 * themselves. Prints one line per wrong answer, and a count.
 *
 *   wrong             the driver's answers; fails if one is wrong
 *   wrong compared    answers of any driver: each call is made in a forked process, because other drivers crash or wait. Prints the
 *                     version of the platform, and every answer that differs from the specification: "entry point; what is wrong;
 *                     expected; found". Of wrong handles NULL and those of other contexts are tried: most drivers take any other for
 *                     an object, and what they do then is undefined */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLATFORM, DEVICE, CONTEXT, QUEUE, MEM, PROGRAM, KERNEL, EVENT, KINDS };

/* More objects, for wrong values. */
enum {
    TEXT = KINDS, /* a program that was not built */
    BARE,         /* a kernel whose arguments are not set */
    HIDDEN,       /* a buffer that the host may not access */
    ENDED,        /* the event of a command that has ended */
    SET,          /* a user event whose status was set */
    ALL
};

/** An entry point whose first parameter is a handle. */
typedef struct row {
    const char *name;
    size_t slot;
    int kind;     /* of that parameter */
    cl_int error; /* for a wrong handle */
    int status_at; /* number of the parameter through which it returns its status; 0: the return value; POINTER: it returns NULL */
} row;

enum { POINTER = -1 };

#define ROW(name, kind, error, status_at)                              \
    {                                                                  \
#name, offsetof(cl_icd_dispatch, name), kind, error, status_at \
    }

static const row rows[] = {
    ROW(clGetPlatformInfo, PLATFORM, CL_INVALID_PLATFORM, 0),
    ROW(clGetDeviceIDs, PLATFORM, CL_INVALID_PLATFORM, 0),
    ROW(clUnloadPlatformCompiler, PLATFORM, CL_INVALID_PLATFORM, 0),
    ROW(clGetDeviceInfo, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clRetainDevice, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clReleaseDevice, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clCreateSubDevices, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clRetainDeviceEXT, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clReleaseDeviceEXT, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clCreateSubDevicesEXT, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clGetDeviceAndHostTimer, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clGetHostTimer, DEVICE, CL_INVALID_DEVICE, 0),
    ROW(clRetainContext, CONTEXT, CL_INVALID_CONTEXT, 0),
    ROW(clReleaseContext, CONTEXT, CL_INVALID_CONTEXT, 0),
    ROW(clGetContextInfo, CONTEXT, CL_INVALID_CONTEXT, 0),
    ROW(clSetContextDestructorCallback, CONTEXT, CL_INVALID_CONTEXT, 0),
    ROW(clCreateCommandQueue, CONTEXT, CL_INVALID_CONTEXT, 4),
    ROW(clCreateCommandQueueWithProperties, CONTEXT, CL_INVALID_CONTEXT, 4),
    ROW(clCreateBuffer, CONTEXT, CL_INVALID_CONTEXT, 5),
    ROW(clCreateBufferWithProperties, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateImage, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateImageWithProperties, CONTEXT, CL_INVALID_CONTEXT, 7),
    ROW(clCreateImage2D, CONTEXT, CL_INVALID_CONTEXT, 8),
    ROW(clCreateImage3D, CONTEXT, CL_INVALID_CONTEXT, 10),
    ROW(clSVMAlloc, CONTEXT, CL_SUCCESS, POINTER),
    ROW(clCreateFromGLBuffer, CONTEXT, CL_INVALID_CONTEXT, 4),
    ROW(clCreateFromGLTexture, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateFromGLTexture2D, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateFromGLTexture3D, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateFromGLRenderbuffer, CONTEXT, CL_INVALID_CONTEXT, 4),
    ROW(clCreateEventFromGLsyncKHR, CONTEXT, CL_INVALID_CONTEXT, 3),
    ROW(clCreateFromEGLImageKHR, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateEventFromEGLSyncKHR, CONTEXT, CL_INVALID_CONTEXT, 4),
    ROW(clCreatePipe, CONTEXT, CL_INVALID_CONTEXT, 6),
    ROW(clCreateSampler, CONTEXT, CL_INVALID_CONTEXT, 5),
    ROW(clCreateSamplerWithProperties, CONTEXT, CL_INVALID_CONTEXT, 3),
    ROW(clGetSupportedImageFormats, CONTEXT, CL_INVALID_CONTEXT, 0),
    ROW(clCreateProgramWithSource, CONTEXT, CL_INVALID_CONTEXT, 5),
    ROW(clCreateProgramWithBinary, CONTEXT, CL_INVALID_CONTEXT, 7),
    ROW(clCreateProgramWithBuiltInKernels, CONTEXT, CL_INVALID_CONTEXT, 5),
    ROW(clCreateProgramWithIL, CONTEXT, CL_INVALID_CONTEXT, 4),
    ROW(clLinkProgram, CONTEXT, CL_INVALID_CONTEXT, 9),
    ROW(clCreateUserEvent, CONTEXT, CL_INVALID_CONTEXT, 2),
    ROW(clSetDefaultDeviceCommandQueue, CONTEXT, CL_INVALID_CONTEXT, 0),
    ROW(clRetainCommandQueue, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clReleaseCommandQueue, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clGetCommandQueueInfo, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clSetCommandQueueProperty, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clFlush, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clFinish, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueReadBuffer, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueWriteBuffer, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueReadBufferRect, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueWriteBufferRect, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueCopyBuffer, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueCopyBufferRect, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueFillBuffer, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueMigrateMemObjects, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueMapBuffer, QUEUE, CL_INVALID_COMMAND_QUEUE, 10),
    ROW(clEnqueueUnmapMemObject, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueNDRangeKernel, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueTask, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueNativeKernel, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueMarkerWithWaitList, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueBarrierWithWaitList, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueBarrier, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueAcquireGLObjects, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueReleaseGLObjects, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueAcquireEGLObjectsKHR, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueReleaseEGLObjectsKHR, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueReadImage, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueWriteImage, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueCopyImage, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueCopyImageToBuffer, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueCopyBufferToImage, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueFillImage, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueMapImage, QUEUE, CL_INVALID_COMMAND_QUEUE, 12),
    ROW(clEnqueueSVMFree, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueSVMMemcpy, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueSVMMemFill, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueSVMMap, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueSVMUnmap, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clEnqueueSVMMigrateMem, QUEUE, CL_INVALID_COMMAND_QUEUE, 0),
    ROW(clRetainMemObject, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clReleaseMemObject, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clGetMemObjectInfo, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clGetImageInfo, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clGetGLObjectInfo, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clGetGLTextureInfo, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clGetPipeInfo, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clCreateSubBuffer, MEM, CL_INVALID_MEM_OBJECT, 5),
    ROW(clSetMemObjectDestructorCallback, MEM, CL_INVALID_MEM_OBJECT, 0),
    ROW(clRetainProgram, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clReleaseProgram, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clBuildProgram, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clCompileProgram, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clGetProgramInfo, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clGetProgramBuildInfo, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clCreateKernel, PROGRAM, CL_INVALID_PROGRAM, 3),
    ROW(clCreateKernelsInProgram, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clSetProgramReleaseCallback, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clSetProgramSpecializationConstant, PROGRAM, CL_INVALID_PROGRAM, 0),
    ROW(clRetainKernel, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clReleaseKernel, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clCloneKernel, KERNEL, CL_INVALID_KERNEL, 2),
    ROW(clSetKernelArg, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clSetKernelArgSVMPointer, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clSetKernelExecInfo, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clGetKernelInfo, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clGetKernelArgInfo, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clGetKernelWorkGroupInfo, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clGetKernelSubGroupInfo, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clGetKernelSubGroupInfoKHR, KERNEL, CL_INVALID_KERNEL, 0),
    ROW(clRetainEvent, EVENT, CL_INVALID_EVENT, 0),
    ROW(clReleaseEvent, EVENT, CL_INVALID_EVENT, 0),
    ROW(clGetEventInfo, EVENT, CL_INVALID_EVENT, 0),
    ROW(clGetEventProfilingInfo, EVENT, CL_INVALID_EVENT, 0),
    ROW(clSetUserEventStatus, EVENT, CL_INVALID_EVENT, 0),
    ROW(clSetEventCallback, EVENT, CL_INVALID_EVENT, 0),
};

/* Parameters are integers or pointers, at most 14, and the functions look at no more of them than they have. */
typedef intptr_t any(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                     intptr_t, intptr_t, intptr_t, intptr_t);

static int tried, wrong;
static bool compares; /* with another driver: `wrong compared` */

/** A call, and what it should return. */
typedef struct call {
    const char *name, *what; /* the latter: that is wrong */
    any *function;
    intptr_t parameter[14];
    int status_at; /* as in a row */
    cl_int expected;
} call;

enum { UNTOUCHED = 12345, CRASHES = 1000001, WAITS_FOR_EVER, NO_ENTRY, RETURNS_OBJECT };

/* Make a call. @return its status, or RETURNS_OBJECT if it also returns what it should not. */
static cl_int make(const call *call)
{
    cl_int status = UNTOUCHED;
    intptr_t p[14];
    memcpy(p, call->parameter, sizeof p);
    if (call->status_at > 0)
        p[call->status_at - 1] = (intptr_t)&status;
    intptr_t returned =
        call->function(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13]);
    if (call->status_at == 0)
        return (cl_int)returned;
    if (call->status_at == POINTER)
        status = CL_SUCCESS;
    return returned == 0 ? status : RETURNS_OBJECT;
}

/* Make a call in a process of its own. */
static cl_int make_apart(const call *call)
{
    enum { SECONDS = 20 };
    const struct rlimit no_core = {0};
    static volatile cl_int *found; /* shared */
    if (found == NULL)
        found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *found = CRASHES;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        alarm(SECONDS);
        *found = make(call);
        _exit(0);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM ? WAITS_FOR_EVER : WIFSIGNALED(ended) ? CRASHES : *found;
}

static const char *text_of(cl_int status)
{
    static char number[16];
    snprintf(number, sizeof number, "%d", status);
    return status == CRASHES          ? "crashes"
           : status == WAITS_FOR_EVER ? "waits"
           : status == NO_ENTRY       ? "is not there"
           : status == RETURNS_OBJECT ? "returns an object"
                                      : number;
}

static void try_call(const call *call)
{
    cl_int found = call->function == NULL ? NO_ENTRY : compares ? make_apart(call) : make(call);
    tried++;
    if (found == call->expected)
        return;
    wrong++;
    if (compares)
        printf("%s; %s; %d; %s\n", call->name, call->what, call->expected, text_of(found));
    else
        printf("%s with %s returns %s; expected %d\n", call->name, call->what, text_of(found), call->expected);
}

static any *function_of(const cl_icd_dispatch *table, size_t slot)
{
    any *function;
    memcpy(&function, (const char *)table + slot, sizeof function);
    return function;
}

static void try_one(const row *row, const cl_icd_dispatch *table, const char *what, const void *handle)
{
    call call = {row->name, what, function_of(table, row->slot), {(intptr_t)handle}, row->status_at, row->error};
    try_call(&call);
}

/* ---- handles in other parameters ---- */

/* A parameter that is right: a number, a handle, a list with one handle, or an address of something. */
#define HANDLE(kind) (-1000 - (kind))
#define LIST(kind) (-2000 - (kind))
enum { ADDRESS = -3000, TEXTS, LENGTHS, PROPERTIES, FUNCTION, STATUS };

/** An entry point, with parameters of which one or the element of one is to be wrong. */
typedef struct other {
    const char *name;
    size_t slot;
    int at, kind;              /* number of that parameter, from 1, and the kind of its handle */
    cl_int error;              /* for a wrong handle */
    cl_int of_another_context; /* for one of another context; 0: not tried */
    bool null_is_right;        /* NULL is no wrong handle there */
    intptr_t parameter[14];
} other;

#define OTHER(name, ...)                                    \
    {                                                       \
#name, offsetof(cl_icd_dispatch, name), __VA_ARGS__ \
    }
#define WAITS CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT, false
#define IS_MEM MEM, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT, false
#define IS_DEVICE DEVICE, CL_INVALID_DEVICE, 0, false
#define OF_QUEUE HANDLE(QUEUE), HANDLE(MEM)
#define BOX ADDRESS, ADDRESS, LENGTHS

/* clang-format off */
static const other others[] = {
    OTHER(clCreateContext, 3, IS_DEVICE, {0, 1, LIST(DEVICE), 0, 0, STATUS}),
    OTHER(clCreateContext, 1, PLATFORM, CL_INVALID_PLATFORM, 0, false, {PROPERTIES, 1, LIST(DEVICE), 0, 0, STATUS}),
    OTHER(clCreateContextFromType, 1, PLATFORM, CL_INVALID_PLATFORM, 0, false, {PROPERTIES, CL_DEVICE_TYPE_ALL, 0, 0, STATUS}),
    OTHER(clCreateCommandQueue, 2, IS_DEVICE, {HANDLE(CONTEXT), HANDLE(DEVICE), 0, STATUS}),
    OTHER(clCreateCommandQueueWithProperties, 2, IS_DEVICE, {HANDLE(CONTEXT), HANDLE(DEVICE), 0, STATUS}),
    OTHER(clEnqueueReadBuffer, 2, IS_MEM, {OF_QUEUE, 1, 0, 8, ADDRESS}),
    OTHER(clEnqueueReadBuffer, 8, EVENT, WAITS, {OF_QUEUE, 1, 0, 8, ADDRESS, 1, LIST(EVENT)}),
    OTHER(clEnqueueWriteBuffer, 2, IS_MEM, {OF_QUEUE, 1, 0, 8, ADDRESS}),
    OTHER(clEnqueueWriteBuffer, 8, EVENT, WAITS, {OF_QUEUE, 1, 0, 8, ADDRESS, 1, LIST(EVENT)}),
    OTHER(clEnqueueReadBufferRect, 2, IS_MEM, {OF_QUEUE, 1, BOX, 0, 0, 0, 0, ADDRESS}),
    OTHER(clEnqueueReadBufferRect, 13, EVENT, WAITS, {OF_QUEUE, 1, BOX, 0, 0, 0, 0, ADDRESS, 1, LIST(EVENT)}),
    OTHER(clEnqueueWriteBufferRect, 2, IS_MEM, {OF_QUEUE, 1, BOX, 0, 0, 0, 0, ADDRESS}),
    OTHER(clEnqueueWriteBufferRect, 13, EVENT, WAITS, {OF_QUEUE, 1, BOX, 0, 0, 0, 0, ADDRESS, 1, LIST(EVENT)}),
    OTHER(clEnqueueCopyBuffer, 2, IS_MEM, {OF_QUEUE, HANDLE(MEM), 0, 8, 8}),
    OTHER(clEnqueueCopyBuffer, 3, IS_MEM, {OF_QUEUE, HANDLE(MEM), 0, 8, 8}),
    OTHER(clEnqueueCopyBuffer, 8, EVENT, WAITS, {OF_QUEUE, HANDLE(MEM), 0, 8, 8, 1, LIST(EVENT)}),
    OTHER(clEnqueueCopyBufferRect, 2, IS_MEM, {OF_QUEUE, HANDLE(MEM), BOX}),
    OTHER(clEnqueueCopyBufferRect, 3, IS_MEM, {OF_QUEUE, HANDLE(MEM), BOX}),
    OTHER(clEnqueueCopyBufferRect, 12, EVENT, WAITS, {OF_QUEUE, HANDLE(MEM), BOX, 0, 0, 0, 0, 1, LIST(EVENT)}),
    OTHER(clEnqueueFillBuffer, 2, IS_MEM, {OF_QUEUE, ADDRESS, 1, 0, 8}),
    OTHER(clEnqueueFillBuffer, 8, EVENT, WAITS, {OF_QUEUE, ADDRESS, 1, 0, 8, 1, LIST(EVENT)}),
    OTHER(clEnqueueMigrateMemObjects, 3, IS_MEM, {HANDLE(QUEUE), 1, LIST(MEM)}),
    OTHER(clEnqueueMigrateMemObjects, 6, EVENT, WAITS, {HANDLE(QUEUE), 1, LIST(MEM), 0, 1, LIST(EVENT)}),
    OTHER(clEnqueueMapBuffer, 2, IS_MEM, {OF_QUEUE, 1, CL_MAP_READ, 0, 8, 0, 0, 0, STATUS}),
    OTHER(clEnqueueMapBuffer, 8, EVENT, WAITS, {OF_QUEUE, 1, CL_MAP_READ, 0, 8, 1, LIST(EVENT), 0, STATUS}),
    OTHER(clEnqueueUnmapMemObject, 2, IS_MEM, {OF_QUEUE, ADDRESS}),
    OTHER(clEnqueueUnmapMemObject, 5, EVENT, WAITS, {OF_QUEUE, ADDRESS, 1, LIST(EVENT)}),
    OTHER(clEnqueueNDRangeKernel, 2, KERNEL, CL_INVALID_KERNEL, CL_INVALID_CONTEXT, false,
          {HANDLE(QUEUE), HANDLE(KERNEL), 1, 0, LENGTHS}),
    OTHER(clEnqueueNDRangeKernel, 8, EVENT, WAITS, {HANDLE(QUEUE), HANDLE(KERNEL), 1, 0, LENGTHS, 0, 1, LIST(EVENT)}),
    OTHER(clEnqueueTask, 2, KERNEL, CL_INVALID_KERNEL, CL_INVALID_CONTEXT, false, {HANDLE(QUEUE), HANDLE(KERNEL)}),
    OTHER(clEnqueueTask, 4, EVENT, WAITS, {HANDLE(QUEUE), HANDLE(KERNEL), 1, LIST(EVENT)}),
    OTHER(clEnqueueMarkerWithWaitList, 3, EVENT, WAITS, {HANDLE(QUEUE), 1, LIST(EVENT)}),
    OTHER(clEnqueueBarrierWithWaitList, 3, EVENT, WAITS, {HANDLE(QUEUE), 1, LIST(EVENT)}),
    OTHER(clEnqueueWaitForEvents, 3, EVENT, CL_INVALID_EVENT, CL_INVALID_CONTEXT, false, {HANDLE(QUEUE), 1, LIST(EVENT)}),
    OTHER(clEnqueueWaitForEvents, 1, QUEUE, CL_INVALID_COMMAND_QUEUE, 0, false, {HANDLE(QUEUE), 1, LIST(EVENT)}),
    OTHER(clEnqueueMarker, 1, QUEUE, CL_INVALID_COMMAND_QUEUE, 0, false, {HANDLE(QUEUE), ADDRESS}),
    OTHER(clWaitForEvents, 2, EVENT, CL_INVALID_EVENT, 0, false, {1, LIST(EVENT)}),
    OTHER(clSetKernelArg, 4, MEM, CL_INVALID_MEM_OBJECT, 0, true, {HANDLE(KERNEL), 0, sizeof(cl_mem), LIST(MEM)}),
    OTHER(clBuildProgram, 3, IS_DEVICE, {HANDLE(PROGRAM), 1, LIST(DEVICE)}),
    OTHER(clCompileProgram, 3, IS_DEVICE, {HANDLE(PROGRAM), 1, LIST(DEVICE)}),
    OTHER(clCompileProgram, 6, PROGRAM, CL_INVALID_PROGRAM, 0, false,
          {HANDLE(PROGRAM), 0, 0, 0, 1, LIST(PROGRAM), TEXTS}),
    OTHER(clLinkProgram, 3, IS_DEVICE, {HANDLE(CONTEXT), 1, LIST(DEVICE), 0, 1, LIST(PROGRAM), 0, 0, STATUS}),
    OTHER(clLinkProgram, 6, PROGRAM, CL_INVALID_PROGRAM, 0, false,
          {HANDLE(CONTEXT), 0, 0, 0, 1, LIST(PROGRAM), 0, 0, STATUS}),
    OTHER(clCreateProgramWithBinary, 3, IS_DEVICE, {HANDLE(CONTEXT), 1, LIST(DEVICE), LENGTHS, TEXTS, 0, STATUS}),
    OTHER(clGetProgramBuildInfo, 2, IS_DEVICE, {HANDLE(PROGRAM), HANDLE(DEVICE), CL_PROGRAM_BUILD_STATUS, 4, ADDRESS}),
    OTHER(clGetKernelWorkGroupInfo, 2, DEVICE, CL_INVALID_DEVICE, 0, true,
          {HANDLE(KERNEL), HANDLE(DEVICE), CL_KERNEL_WORK_GROUP_SIZE, 8, ADDRESS}),
};
/* clang-format on */

/* What stands for an address in a table of parameters. */
typedef struct given {
    uint64_t space[16];
    const char *texts[1];
    size_t lengths[3];
    void *list[14];
    intptr_t properties[5];
} given;

static void call_nothing(void) {}

/* Write the parameters of a call. @param handles  [ALL] @param properties  a list that ends with 0; NULL: none. */
static void fill_in(call *call, const intptr_t parameter[14], void *const handles[], given *given)
{
    for (int n = 0; n < 14; n++) {
        intptr_t p = parameter[n];
        call->parameter[n] = p;
        if (p <= HANDLE(0) && p > HANDLE(ALL))
            call->parameter[n] = (intptr_t)handles[HANDLE(0) - p];
        if (p <= LIST(0) && p > LIST(ALL)) {
            given->list[n] = handles[LIST(0) - p];
            call->parameter[n] = (intptr_t)&given->list[n];
        }
        if (p == STATUS)
            call->status_at = n + 1;
        call->parameter[n] = p == ADDRESS      ? (intptr_t)given->space
                             : p == TEXTS      ? (intptr_t)given->texts
                             : p == LENGTHS    ? (intptr_t)given->lengths
                             : p == PROPERTIES ? (intptr_t)given->properties
                             : p == FUNCTION   ? (intptr_t)call_nothing
                                               : call->parameter[n];
    }
}

/* Call one with its wrong handle. */
static void try_other(const other *row, const cl_icd_dispatch *table, void *const good[], const char *what,
                      void *handle, cl_int error)
{
    char words[80];
    given given = {.texts = {"x.h"}, .lengths = {4, 1, 1}, .properties = {CL_CONTEXT_PLATFORM, (intptr_t)handle}};
    call call = {.name = row->name, .what = words, .function = function_of(table, row->slot), .expected = error};
    snprintf(words, sizeof words, "%s as parameter %d", what, row->at);
    fill_in(&call, row->parameter, good, &given);
    intptr_t varied = row->parameter[row->at - 1];
    if (varied <= HANDLE(0) && varied > HANDLE(ALL))
        call.parameter[row->at - 1] = (intptr_t)handle;
    if (varied <= LIST(0) && varied > LIST(ALL))
        given.list[row->at - 1] = handle;
    try_call(&call);
}

/* A list with a number that does not fit it: one element and no list, or a list of none. */
static void try_count(const other *row, const cl_icd_dispatch *table, void *const good[])
{
    given given = {.texts = {"x.h"}, .lengths = {4, 1, 1}};
    intptr_t varied = row->parameter[row->at - 1];
    bool waits = row->error == CL_INVALID_EVENT_WAIT_LIST;
    if (varied > LIST(0) || varied <= LIST(ALL) || row->kind == MEM)
        return;
    call call = {.name = row->name,
                 .function = function_of(table, row->slot),
                 .expected = waits ? CL_INVALID_EVENT_WAIT_LIST : CL_INVALID_VALUE};
    fill_in(&call, row->parameter, good, &given);
    intptr_t list = call.parameter[row->at - 1];
    call.parameter[row->at - 1] = 0;
    call.what = "a number without a list";
    try_call(&call);
    call.parameter[row->at - 1] = list;
    call.parameter[row->at - 2] = 0;
    call.what = "a list with the number 0";
    try_call(&call);
}

static void try_others(const cl_icd_dispatch *table, void *const good[], void *const stale[], void *const foreign[])
{
    static uint64_t nothing[16];
    for (size_t r = 0; r < sizeof others / sizeof others[0]; r++) {
        const other *row = &others[r];
        if (!row->null_is_right)
            try_other(row, table, good, "NULL", NULL, row->error);
        if (!compares) {
            try_other(row, table, good, "a handle that has ended", stale[row->kind], row->error);
            try_other(row, table, good, "a handle of another kind", good[(row->kind + 1) % KINDS], row->error);
            try_other(row, table, good, "an address that is no handle", nothing, row->error);
            try_other(row, table, good, "an address within a handle", (char *)good[row->kind] + 8, row->error);
        }
        if (row->of_another_context != 0)
            try_other(row, table, good, "a handle of another context", foreign[row->kind], row->of_another_context);
        try_count(row, table, good);
    }
}

/* ---- wrong values ---- */

/** A call whose handles are right. */
typedef struct value {
    const char *name;
    size_t slot;
    const char *what;
    cl_int error;
    intptr_t parameter[14];
    intptr_t properties[4]; /* for PROPERTIES */
    size_t lengths[3];      /* for LENGTHS */
} value;

#define VALUE(symbol, wrong, status, ...)                                                           \
    {                                                                                               \
        .name = #symbol, .slot = offsetof(cl_icd_dispatch, symbol), .what = wrong, .error = status, \
        .parameter = __VA_ARGS__                                                                    \
    }
#define MAKE_BUFFER(what, error, flags, bytes, host) \
    VALUE(clCreateBuffer, what, error, {HANDLE(CONTEXT), (intptr_t)(flags), bytes, host, STATUS})
#define UNSUPPORTED(name, ...) VALUE(name, "a feature that is not there", CL_INVALID_OPERATION, {__VA_ARGS__})
#define NO_COMMAND(name) UNSUPPORTED(name, HANDLE(QUEUE))
#define NO_OBJECT(name, at) UNSUPPORTED(name, HANDLE(CONTEXT), [at - 1] = STATUS)
enum { BYTES = 64, TOO_FAR = BYTES - 4, UNKNOWN = 1 << 24 };

/* clang-format off */
static const value values[] = {
    VALUE(clGetPlatformIDs, "no place for the answer", CL_INVALID_VALUE, {1, 0, 0}),
    VALUE(clGetPlatformIDs, "a list of length 0", CL_INVALID_VALUE, {0, ADDRESS, ADDRESS}),
    VALUE(clGetDeviceIDs, "no type", CL_INVALID_DEVICE_TYPE, {HANDLE(PLATFORM), 0, 1, ADDRESS}),
    VALUE(clGetDeviceIDs, "an unknown type", CL_INVALID_DEVICE_TYPE, {HANDLE(PLATFORM), UNKNOWN, 1, ADDRESS}),
    VALUE(clGetDeviceIDs, "a type that no device has", CL_DEVICE_NOT_FOUND, {HANDLE(PLATFORM), CL_DEVICE_TYPE_CUSTOM, 1, ADDRESS}),
    VALUE(clGetDeviceIDs, "a list of length 0", CL_INVALID_VALUE, {HANDLE(PLATFORM), CL_DEVICE_TYPE_ALL, 0, ADDRESS}),
    VALUE(clGetDeviceIDs, "no place for the answer", CL_INVALID_VALUE, {HANDLE(PLATFORM), CL_DEVICE_TYPE_ALL, 1}),
    VALUE(clCreateContext, "an argument without a function", CL_INVALID_VALUE, {0, 1, LIST(DEVICE), 0, ADDRESS, STATUS}),
    VALUE(clCreateContext, "an unknown property", CL_INVALID_PROPERTY, {PROPERTIES, 1, LIST(DEVICE), 0, 0, STATUS}, {UNKNOWN, 1}),
    VALUE(clCreateContextFromType, "an argument without a function", CL_INVALID_VALUE, {0, CL_DEVICE_TYPE_ALL, 0, ADDRESS, STATUS}),
    VALUE(clCreateContextFromType, "no type", CL_INVALID_DEVICE_TYPE, {0, 0, 0, 0, STATUS}),
    VALUE(clCreateContextFromType, "an unknown property", CL_INVALID_PROPERTY, {PROPERTIES, CL_DEVICE_TYPE_ALL, 0, 0, STATUS}, {UNKNOWN, 1}),
    VALUE(clSetContextDestructorCallback, "no function", CL_INVALID_VALUE, {HANDLE(CONTEXT)}),
    VALUE(clCreateCommandQueue, "an unknown flag", CL_INVALID_VALUE, {HANDLE(CONTEXT), HANDLE(DEVICE), UNKNOWN, STATUS}),
    VALUE(clCreateCommandQueueWithProperties, "an unknown property", CL_INVALID_VALUE, {HANDLE(CONTEXT), HANDLE(DEVICE), PROPERTIES, STATUS}, {UNKNOWN, 1}),
    VALUE(clCreateCommandQueueWithProperties, "an unknown flag", CL_INVALID_VALUE, {HANDLE(CONTEXT), HANDLE(DEVICE), PROPERTIES, STATUS}, {CL_QUEUE_PROPERTIES, UNKNOWN}),
    VALUE(clCreateCommandQueueWithProperties, "a queue on the device", CL_INVALID_QUEUE_PROPERTIES, {HANDLE(CONTEXT), HANDLE(DEVICE), PROPERTIES, STATUS},
          {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
    VALUE(clSetCommandQueueProperty, "a call of OpenCL 1.0", CL_INVALID_OPERATION, {HANDLE(QUEUE), CL_QUEUE_PROFILING_ENABLE, 1, ADDRESS}),

    MAKE_BUFFER("no size", CL_INVALID_BUFFER_SIZE, 0, 0, 0),
    MAKE_BUFFER("a size that no device has", CL_INVALID_BUFFER_SIZE, 0, -1, 0),
    MAKE_BUFFER("an unknown flag", CL_INVALID_VALUE, UNKNOWN, BYTES, 0),
    MAKE_BUFFER("to be read only and written only", CL_INVALID_VALUE, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, BYTES, 0),
    MAKE_BUFFER("to be read only, and read and written", CL_INVALID_VALUE, CL_MEM_READ_ONLY | CL_MEM_READ_WRITE, BYTES, 0),
    MAKE_BUFFER("no access and reading by the host", CL_INVALID_VALUE, CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY, BYTES, 0),
    MAKE_BUFFER("only reading and only writing by the host", CL_INVALID_VALUE, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY, BYTES, 0),
    MAKE_BUFFER("memory of the host that is to be used and copied", CL_INVALID_VALUE, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, BYTES, ADDRESS),
    MAKE_BUFFER("memory of the host that is to be used and made", CL_INVALID_VALUE, CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, BYTES, ADDRESS),
    MAKE_BUFFER("no memory to use", CL_INVALID_HOST_PTR, CL_MEM_USE_HOST_PTR, BYTES, 0),
    MAKE_BUFFER("no memory to copy", CL_INVALID_HOST_PTR, CL_MEM_COPY_HOST_PTR, BYTES, 0),
    MAKE_BUFFER("memory that is neither used nor copied", CL_INVALID_HOST_PTR, 0, BYTES, ADDRESS),
    VALUE(clCreateBufferWithProperties, "an unknown property", CL_INVALID_PROPERTY, {HANDLE(CONTEXT), PROPERTIES, 0, BYTES, 0, STATUS}, {UNKNOWN, 1}),
    VALUE(clCreateBufferWithProperties, "no size", CL_INVALID_BUFFER_SIZE, {HANDLE(CONTEXT), 0, 0, 0, 0, STATUS}),
    VALUE(clCreateSubBuffer, "an unknown kind of region", CL_INVALID_VALUE, {HANDLE(MEM), 0, UNKNOWN, LENGTHS, STATUS}, {0}, {0, 8}),
    VALUE(clCreateSubBuffer, "no region", CL_INVALID_VALUE, {HANDLE(MEM), 0, CL_BUFFER_CREATE_TYPE_REGION, 0, STATUS}),
    VALUE(clCreateSubBuffer, "no size", CL_INVALID_BUFFER_SIZE, {HANDLE(MEM), 0, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {0, 0}),
    VALUE(clCreateSubBuffer, "a region that is outside", CL_INVALID_VALUE, {HANDLE(MEM), 0, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {0, BYTES + 1}),
    VALUE(clCreateSubBuffer, "a region that begins outside", CL_INVALID_VALUE, {HANDLE(MEM), 0, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {-1, 2}),
    VALUE(clCreateSubBuffer, "an origin that no device can have", CL_MISALIGNED_SUB_BUFFER_OFFSET, {HANDLE(MEM), 0, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {1, 8}),
    VALUE(clCreateSubBuffer, "memory of the host", CL_INVALID_VALUE, {HANDLE(MEM), CL_MEM_COPY_HOST_PTR, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {0, 8}),
    VALUE(clCreateSubBuffer, "to be read only and written only", CL_INVALID_VALUE, {HANDLE(MEM), CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {0, 8}),
    VALUE(clCreateSubBuffer, "access by the host where its buffer has none", CL_INVALID_VALUE, {HANDLE(HIDDEN), CL_MEM_HOST_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, LENGTHS, STATUS}, {0}, {0, 8}),
    VALUE(clSetMemObjectDestructorCallback, "no function", CL_INVALID_VALUE, {HANDLE(MEM)}),
    VALUE(clGetSupportedImageFormats, "an unknown flag", CL_INVALID_VALUE, {HANDLE(CONTEXT), UNKNOWN, CL_MEM_OBJECT_IMAGE2D, 0, 0, ADDRESS}),
    VALUE(clGetSupportedImageFormats, "an object that is no image", CL_INVALID_VALUE, {HANDLE(CONTEXT), 0, CL_MEM_OBJECT_BUFFER, 0, 0, ADDRESS}),
    VALUE(clGetSupportedImageFormats, "a list of length 0", CL_INVALID_VALUE, {HANDLE(CONTEXT), 0, CL_MEM_OBJECT_IMAGE2D, 0, ADDRESS, ADDRESS}),

    VALUE(clEnqueueReadBuffer, "no memory", CL_INVALID_VALUE, {OF_QUEUE, 0, 0, 8, 0}),
    VALUE(clEnqueueReadBuffer, "a region that is outside", CL_INVALID_VALUE, {OF_QUEUE, 0, TOO_FAR, 8, ADDRESS}),
    VALUE(clEnqueueReadBuffer, "a region that begins outside", CL_INVALID_VALUE, {OF_QUEUE, 0, -1, 2, ADDRESS}),
    VALUE(clEnqueueReadBuffer, "a buffer that the host must not read", CL_INVALID_OPERATION, {HANDLE(QUEUE), HANDLE(HIDDEN), 0, 0, 8, ADDRESS}),
    VALUE(clEnqueueWriteBuffer, "no memory", CL_INVALID_VALUE, {OF_QUEUE, 0, 0, 8, 0}),
    VALUE(clEnqueueWriteBuffer, "a region that is outside", CL_INVALID_VALUE, {OF_QUEUE, 0, TOO_FAR, 8, ADDRESS}),
    VALUE(clEnqueueWriteBuffer, "a region that begins outside", CL_INVALID_VALUE, {OF_QUEUE, 0, -1, 2, ADDRESS}),
    VALUE(clEnqueueWriteBuffer, "a buffer that the host must not write", CL_INVALID_OPERATION, {HANDLE(QUEUE), HANDLE(HIDDEN), 0, 0, 8, ADDRESS}),
    VALUE(clEnqueueReadBufferRect, "no memory", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX}, {0}, {1, 1, 1}),
    VALUE(clEnqueueReadBufferRect, "no box", CL_INVALID_VALUE, {OF_QUEUE, 0, ADDRESS, ADDRESS, 0, 0, 0, 0, 0, ADDRESS}),
    VALUE(clEnqueueReadBufferRect, "a box of no rows", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 0, 0, 0, 0, ADDRESS}, {0}, {4, 0, 1}),
    VALUE(clEnqueueReadBufferRect, "a box that is outside", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 0, 0, 0, 0, ADDRESS}, {0}, {16, 5, 1}),
    VALUE(clEnqueueReadBufferRect, "rows that overlap", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 2, 0, 0, 0, ADDRESS}, {0}, {4, 2, 1}),
    VALUE(clEnqueueReadBufferRect, "slices that overlap", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 4, 4, 0, 0, ADDRESS}, {0}, {4, 2, 2}),
    VALUE(clEnqueueReadBufferRect, "slices of no whole rows", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 4, 9, 0, 0, ADDRESS}, {0}, {4, 2, 2}),
    VALUE(clEnqueueReadBufferRect, "a buffer that the host must not read", CL_INVALID_OPERATION, {HANDLE(QUEUE), HANDLE(HIDDEN), 0, BOX, 0, 0, 0, 0, ADDRESS}, {0}, {4, 1, 1}),
    VALUE(clEnqueueWriteBufferRect, "no memory", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX}, {0}, {1, 1, 1}),
    VALUE(clEnqueueWriteBufferRect, "a box of no rows", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 0, 0, 0, 0, ADDRESS}, {0}, {4, 0, 1}),
    VALUE(clEnqueueWriteBufferRect, "a box that is outside", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 0, 0, 0, 0, ADDRESS}, {0}, {16, 5, 1}),
    VALUE(clEnqueueWriteBufferRect, "rows of the host that overlap", CL_INVALID_VALUE, {OF_QUEUE, 0, BOX, 0, 0, 2, 0, ADDRESS}, {0}, {4, 2, 1}),
    VALUE(clEnqueueWriteBufferRect, "a buffer that the host must not write", CL_INVALID_OPERATION, {HANDLE(QUEUE), HANDLE(HIDDEN), 0, BOX, 0, 0, 0, 0, ADDRESS}, {0}, {4, 1, 1}),
    VALUE(clEnqueueCopyBuffer, "a source that is outside", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(HIDDEN), TOO_FAR, 0, 8}),
    VALUE(clEnqueueCopyBuffer, "a target that is outside", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(HIDDEN), 0, TOO_FAR, 8}),
    VALUE(clEnqueueCopyBuffer, "regions that overlap", CL_MEM_COPY_OVERLAP, {OF_QUEUE, HANDLE(MEM), 0, 4, 8}),
    VALUE(clEnqueueCopyBufferRect, "no box", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(HIDDEN), ADDRESS, ADDRESS, 0}),
    VALUE(clEnqueueCopyBufferRect, "a box of no rows", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(HIDDEN), BOX}, {0}, {4, 0, 1}),
    VALUE(clEnqueueCopyBufferRect, "a box that is outside", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(HIDDEN), BOX}, {0}, {16, 5, 1}),
    VALUE(clEnqueueCopyBufferRect, "rows that overlap", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(HIDDEN), BOX, 2}, {0}, {4, 2, 1}),
    VALUE(clEnqueueCopyBufferRect, "boxes that overlap", CL_MEM_COPY_OVERLAP, {OF_QUEUE, HANDLE(MEM), BOX}, {0}, {4, 2, 1}),
    VALUE(clEnqueueCopyBufferRect, "other pitches within a buffer", CL_INVALID_VALUE, {OF_QUEUE, HANDLE(MEM), BOX, 8, 0, 16}, {0}, {4, 2, 1}),
    VALUE(clEnqueueFillBuffer, "no pattern", CL_INVALID_VALUE, {OF_QUEUE, 0, 4, 0, 8}),
    VALUE(clEnqueueFillBuffer, "a pattern of no bytes", CL_INVALID_VALUE, {OF_QUEUE, ADDRESS, 0, 0, 8}),
    VALUE(clEnqueueFillBuffer, "a pattern of three bytes", CL_INVALID_VALUE, {OF_QUEUE, ADDRESS, 3, 0, 9}),
    VALUE(clEnqueueFillBuffer, "a pattern of 256 bytes", CL_INVALID_VALUE, {HANDLE(QUEUE), HANDLE(MEM), ADDRESS, 256, 0, 256}),
    VALUE(clEnqueueFillBuffer, "an offset within a pattern", CL_INVALID_VALUE, {OF_QUEUE, ADDRESS, 4, 2, 8}),
    VALUE(clEnqueueFillBuffer, "a part of a pattern", CL_INVALID_VALUE, {OF_QUEUE, ADDRESS, 4, 0, 10}),
    VALUE(clEnqueueFillBuffer, "a region that is outside", CL_INVALID_VALUE, {OF_QUEUE, ADDRESS, 4, TOO_FAR, 8}),
    VALUE(clEnqueueMigrateMemObjects, "no objects", CL_INVALID_VALUE, {HANDLE(QUEUE), 0, LIST(MEM)}),
    VALUE(clEnqueueMigrateMemObjects, "a number without a list", CL_INVALID_VALUE, {HANDLE(QUEUE), 1, 0}),
    VALUE(clEnqueueMigrateMemObjects, "an unknown flag", CL_INVALID_VALUE, {HANDLE(QUEUE), 1, LIST(MEM), UNKNOWN}),
    VALUE(clEnqueueMapBuffer, "a region that is outside", CL_INVALID_VALUE, {OF_QUEUE, 0, CL_MAP_READ, TOO_FAR, 8, 0, 0, 0, STATUS}),
    VALUE(clEnqueueMapBuffer, "no size", CL_INVALID_VALUE, {OF_QUEUE, 0, CL_MAP_READ, 0, 0, 0, 0, 0, STATUS}),
    VALUE(clEnqueueMapBuffer, "an unknown flag", CL_INVALID_VALUE, {OF_QUEUE, 0, UNKNOWN, 0, 8, 0, 0, 0, STATUS}),
    VALUE(clEnqueueMapBuffer, "reading what is invalid", CL_INVALID_VALUE, {OF_QUEUE, 0, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, 8, 0, 0, 0, STATUS}),
    VALUE(clEnqueueMapBuffer, "a buffer that the host must not read", CL_INVALID_OPERATION, {HANDLE(QUEUE), HANDLE(HIDDEN), 0, CL_MAP_READ, 0, 8, 0, 0, 0, STATUS}),
    VALUE(clEnqueueMapBuffer, "a buffer that the host must not write", CL_INVALID_OPERATION, {HANDLE(QUEUE), HANDLE(HIDDEN), 0, CL_MAP_WRITE, 0, 8, 0, 0, 0, STATUS}),
    VALUE(clEnqueueUnmapMemObject, "an address that is not mapped", CL_INVALID_VALUE, {OF_QUEUE, ADDRESS}),
    VALUE(clEnqueueUnmapMemObject, "NULL", CL_INVALID_VALUE, {OF_QUEUE, 0}),
    VALUE(clEnqueueMarker, "no event", CL_INVALID_VALUE, {HANDLE(QUEUE)}),

    VALUE(clEnqueueNDRangeKernel, "no axes", CL_INVALID_WORK_DIMENSION, {HANDLE(QUEUE), HANDLE(KERNEL), 0, 0, LENGTHS}, {0}, {1, 1, 1}),
    VALUE(clEnqueueNDRangeKernel, "four axes", CL_INVALID_WORK_DIMENSION, {HANDLE(QUEUE), HANDLE(KERNEL), 4, 0, LENGTHS}, {0}, {1, 1, 1}),
    VALUE(clEnqueueNDRangeKernel, "arguments that are not set", CL_INVALID_KERNEL_ARGS, {HANDLE(QUEUE), HANDLE(BARE), 1, 0, LENGTHS}, {0}, {1, 1, 1}),
    VALUE(clEnqueueNDRangeKernel, "work-groups without work-items", CL_INVALID_WORK_GROUP_SIZE, {HANDLE(QUEUE), HANDLE(KERNEL), 1, 0, LENGTHS, ADDRESS}, {0}, {1, 1, 1}),
    VALUE(clEnqueueNDRangeKernel, "work-groups that are too large", CL_INVALID_WORK_ITEM_SIZE, {HANDLE(QUEUE), HANDLE(KERNEL), 1, 0, LENGTHS, LENGTHS}, {0}, {1 << 30, 1, 1}),
    VALUE(clEnqueueTask, "arguments that are not set", CL_INVALID_KERNEL_ARGS, {HANDLE(QUEUE), HANDLE(BARE)}),
    VALUE(clSetKernelArg, "an argument that is not there", CL_INVALID_ARG_INDEX, {HANDLE(BARE), 3, 4, ADDRESS}),
    VALUE(clSetKernelArg, "a buffer of another size", CL_INVALID_ARG_SIZE, {HANDLE(BARE), 0, 4, LIST(MEM)}),
    VALUE(clSetKernelArg, "local memory with a value", CL_INVALID_ARG_VALUE, {HANDLE(BARE), 1, 4, ADDRESS}),
    VALUE(clSetKernelArg, "local memory of no bytes", CL_INVALID_ARG_SIZE, {HANDLE(BARE), 1, 0, 0}),
    VALUE(clSetKernelArg, "no value", CL_INVALID_ARG_VALUE, {HANDLE(BARE), 2, 4, 0}),
    VALUE(clSetKernelArg, "a value of another size", CL_INVALID_ARG_SIZE, {HANDLE(BARE), 2, 8, ADDRESS}),
    VALUE(clGetKernelArgInfo, "an argument that is not there", CL_INVALID_ARG_INDEX, {HANDLE(KERNEL), 3, CL_KERNEL_ARG_NAME, 64, ADDRESS}),
    VALUE(clCreateKernel, "no name", CL_INVALID_VALUE, {HANDLE(PROGRAM), 0, STATUS}),
    VALUE(clCreateKernel, "an unknown name", CL_INVALID_KERNEL_NAME, {HANDLE(PROGRAM), (intptr_t) "unknown", STATUS}),
    VALUE(clCreateKernel, "a program that was not built", CL_INVALID_PROGRAM_EXECUTABLE, {HANDLE(TEXT), (intptr_t) "f", STATUS}),
    VALUE(clCreateKernelsInProgram, "a list that is too short", CL_INVALID_VALUE, {HANDLE(PROGRAM), 0, ADDRESS, ADDRESS}),
    VALUE(clCreateKernelsInProgram, "a program that was not built", CL_INVALID_PROGRAM_EXECUTABLE, {HANDLE(TEXT), 1, ADDRESS, ADDRESS}),

    VALUE(clCreateProgramWithSource, "no texts", CL_INVALID_VALUE, {HANDLE(CONTEXT), 0, TEXTS, 0, STATUS}),
    VALUE(clCreateProgramWithSource, "a number without a list", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, 0, 0, STATUS}),
    VALUE(clCreateProgramWithSource, "a text that is NULL", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, ADDRESS, 0, STATUS}),
    VALUE(clCreateProgramWithBinary, "no lengths", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, LIST(DEVICE), 0, TEXTS, 0, STATUS}),
    VALUE(clCreateProgramWithBinary, "no binaries", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, LIST(DEVICE), LENGTHS, 0, 0, STATUS}, {0}, {1}),
    VALUE(clCreateProgramWithBinary, "a binary of no bytes", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, LIST(DEVICE), LENGTHS, TEXTS, 0, STATUS}, {0}, {0}),
    VALUE(clCreateProgramWithBinary, "a binary that is NULL", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, LIST(DEVICE), LENGTHS, ADDRESS, 0, STATUS}, {0}, {1}),
    VALUE(clBuildProgram, "an argument without a function", CL_INVALID_VALUE, {HANDLE(TEXT), 1, LIST(DEVICE), 0, 0, ADDRESS}),
    VALUE(clBuildProgram, "an unknown option", CL_INVALID_BUILD_OPTIONS, {HANDLE(TEXT), 1, LIST(DEVICE), (intptr_t) "-unknown-option"}),
    VALUE(clBuildProgram, "a program that has kernels", CL_INVALID_OPERATION, {HANDLE(PROGRAM), 1, LIST(DEVICE)}),
    VALUE(clCompileProgram, "an argument without a function", CL_INVALID_VALUE, {HANDLE(TEXT), 1, LIST(DEVICE), 0, 0, 0, 0, 0, ADDRESS}),
    VALUE(clCompileProgram, "headers without names", CL_INVALID_VALUE, {HANDLE(TEXT), 0, 0, 0, 1, LIST(TEXT)}),
    VALUE(clCompileProgram, "an unknown option", CL_INVALID_COMPILER_OPTIONS, {HANDLE(TEXT), 1, LIST(DEVICE), (intptr_t) "-unknown-option"}),
    VALUE(clCompileProgram, "a program that has kernels", CL_INVALID_OPERATION, {HANDLE(PROGRAM), 1, LIST(DEVICE)}),
    VALUE(clLinkProgram, "no programs", CL_INVALID_VALUE, {HANDLE(CONTEXT), 0, 0, 0, 0, 0, 0, 0, STATUS}),
    VALUE(clLinkProgram, "a program that was not compiled", CL_INVALID_OPERATION, {HANDLE(CONTEXT), 1, LIST(DEVICE), 0, 1, LIST(TEXT), 0, 0, STATUS}),
    VALUE(clLinkProgram, "an argument without a function", CL_INVALID_VALUE, {HANDLE(CONTEXT), 1, LIST(DEVICE), 0, 1, LIST(TEXT), 0, ADDRESS, STATUS}),

    VALUE(clWaitForEvents, "no events", CL_INVALID_VALUE, {0, LIST(ENDED)}),
    VALUE(clEnqueueWaitForEvents, "no events", CL_INVALID_VALUE, {HANDLE(QUEUE), 0, LIST(ENDED)}),
    VALUE(clSetUserEventStatus, "a status of commands", CL_INVALID_VALUE, {HANDLE(EVENT), CL_RUNNING}),
    VALUE(clSetUserEventStatus, "the event of a command", CL_INVALID_EVENT, {HANDLE(ENDED), CL_COMPLETE}),
    VALUE(clSetUserEventStatus, "an event that has a status", CL_INVALID_OPERATION, {HANDLE(SET), CL_COMPLETE}),
    VALUE(clSetEventCallback, "no function", CL_INVALID_VALUE, {HANDLE(EVENT), CL_COMPLETE}),
    VALUE(clSetEventCallback, "a status that is never called", CL_INVALID_VALUE, {HANDLE(EVENT), CL_QUEUED, FUNCTION}),
    VALUE(clGetEventProfilingInfo, "a user event", CL_PROFILING_INFO_NOT_AVAILABLE, {HANDLE(EVENT), CL_PROFILING_COMMAND_END, 8, ADDRESS}),
    VALUE(clGetEventProfilingInfo, "a queue without profiling", CL_PROFILING_INFO_NOT_AVAILABLE, {HANDLE(ENDED), CL_PROFILING_COMMAND_END, 8, ADDRESS}),
    VALUE(clCreateSubDevices, "a property that no device has", CL_INVALID_VALUE, {HANDLE(DEVICE), PROPERTIES, 1, ADDRESS}, {UNKNOWN, 1}),
    VALUE(clGetKernelWorkGroupInfo, "a size of work-items of a usual kernel", CL_INVALID_VALUE, {HANDLE(KERNEL), HANDLE(DEVICE), CL_KERNEL_GLOBAL_WORK_SIZE, 24, ADDRESS}),
    VALUE(clGetCommandQueueInfo, "the size of a queue of the host", CL_INVALID_COMMAND_QUEUE, {HANDLE(QUEUE), CL_QUEUE_SIZE, 4, ADDRESS}),

    NO_COMMAND(clEnqueueReadImage), NO_COMMAND(clEnqueueWriteImage), NO_COMMAND(clEnqueueCopyImage), NO_COMMAND(clEnqueueCopyImageToBuffer),
    NO_COMMAND(clEnqueueCopyBufferToImage), NO_COMMAND(clEnqueueFillImage), NO_COMMAND(clEnqueueNativeKernel), NO_COMMAND(clEnqueueSVMFree),
    NO_COMMAND(clEnqueueSVMMemcpy), NO_COMMAND(clEnqueueSVMMemFill), NO_COMMAND(clEnqueueSVMMap), NO_COMMAND(clEnqueueSVMUnmap),
    NO_COMMAND(clEnqueueSVMMigrateMem), NO_COMMAND(clEnqueueAcquireGLObjects), NO_COMMAND(clEnqueueReleaseGLObjects),
    NO_COMMAND(clEnqueueAcquireEGLObjectsKHR), NO_COMMAND(clEnqueueReleaseEGLObjectsKHR),
    UNSUPPORTED(clEnqueueMapImage, HANDLE(QUEUE), [11] = STATUS),
    NO_OBJECT(clCreateImage, 6), NO_OBJECT(clCreateImageWithProperties, 7), NO_OBJECT(clCreateImage2D, 8), NO_OBJECT(clCreateImage3D, 10),
    NO_OBJECT(clCreateSampler, 5), NO_OBJECT(clCreateSamplerWithProperties, 3), NO_OBJECT(clCreatePipe, 6), NO_OBJECT(clCreateProgramWithIL, 4),
    NO_OBJECT(clCreateFromGLBuffer, 4), NO_OBJECT(clCreateFromGLTexture, 6), NO_OBJECT(clCreateFromGLTexture2D, 6),
    NO_OBJECT(clCreateFromGLTexture3D, 6), NO_OBJECT(clCreateFromGLRenderbuffer, 4), NO_OBJECT(clCreateEventFromGLsyncKHR, 3),
    NO_OBJECT(clCreateFromEGLImageKHR, 6), NO_OBJECT(clCreateEventFromEGLSyncKHR, 4),
    VALUE(clCreateProgramWithBuiltInKernels, "no names", CL_INVALID_VALUE, {HANDLE(CONTEXT), 0, 0, 0, STATUS}),
    UNSUPPORTED(clSetKernelArgSVMPointer, HANDLE(KERNEL)), UNSUPPORTED(clSetKernelExecInfo, HANDLE(KERNEL)),
    UNSUPPORTED(clGetKernelSubGroupInfo, HANDLE(KERNEL), HANDLE(DEVICE)), UNSUPPORTED(clGetKernelSubGroupInfoKHR, HANDLE(KERNEL), HANDLE(DEVICE)),
    UNSUPPORTED(clSetProgramReleaseCallback, HANDLE(PROGRAM), FUNCTION), UNSUPPORTED(clSetProgramSpecializationConstant, HANDLE(PROGRAM)),
    UNSUPPORTED(clSetDefaultDeviceCommandQueue, HANDLE(CONTEXT), HANDLE(DEVICE), HANDLE(QUEUE)),
    UNSUPPORTED(clGetDeviceAndHostTimer, HANDLE(DEVICE), ADDRESS, ADDRESS), UNSUPPORTED(clGetHostTimer, HANDLE(DEVICE), ADDRESS),
    UNSUPPORTED(clGetGLContextInfoKHR, 0), UNSUPPORTED(clGetDeviceIDsFromD3D10KHR, 0), UNSUPPORTED(clCreateFromD3D10BufferKHR, 0),
    UNSUPPORTED(clCreateFromD3D10Texture2DKHR, 0), UNSUPPORTED(clCreateFromD3D10Texture3DKHR, 0), UNSUPPORTED(clEnqueueAcquireD3D10ObjectsKHR, 0),
    UNSUPPORTED(clEnqueueReleaseD3D10ObjectsKHR, 0), UNSUPPORTED(clGetDeviceIDsFromD3D11KHR, 0), UNSUPPORTED(clCreateFromD3D11BufferKHR, 0),
    UNSUPPORTED(clCreateFromD3D11Texture2DKHR, 0), UNSUPPORTED(clCreateFromD3D11Texture3DKHR, 0), UNSUPPORTED(clCreateFromDX9MediaSurfaceKHR, 0),
    UNSUPPORTED(clEnqueueAcquireD3D11ObjectsKHR, 0), UNSUPPORTED(clEnqueueReleaseD3D11ObjectsKHR, 0),
    UNSUPPORTED(clGetDeviceIDsFromDX9MediaAdapterKHR, 0), UNSUPPORTED(clEnqueueAcquireDX9MediaSurfacesKHR, 0),
    UNSUPPORTED(clEnqueueReleaseDX9MediaSurfacesKHR, 0),
    VALUE(clGetImageInfo, "a buffer", CL_INVALID_MEM_OBJECT, {HANDLE(MEM), CL_IMAGE_WIDTH, 8, ADDRESS}),
    VALUE(clGetPipeInfo, "a buffer", CL_INVALID_MEM_OBJECT, {HANDLE(MEM), CL_PIPE_PACKET_SIZE, 4, ADDRESS}),
    VALUE(clGetGLObjectInfo, "a buffer", CL_INVALID_GL_OBJECT, {HANDLE(MEM), ADDRESS, ADDRESS}),
    VALUE(clGetGLTextureInfo, "a buffer", CL_INVALID_GL_OBJECT, {HANDLE(MEM), 0, 4, ADDRESS}),
    VALUE(clRetainSampler, "NULL", CL_INVALID_SAMPLER, {0}), VALUE(clReleaseSampler, "NULL", CL_INVALID_SAMPLER, {0}),
    VALUE(clGetSamplerInfo, "NULL", CL_INVALID_SAMPLER, {0, CL_SAMPLER_CONTEXT, 8, ADDRESS}),
    VALUE(clRetainSampler, "a buffer", CL_INVALID_SAMPLER, {HANDLE(MEM)}), VALUE(clReleaseSampler, "a buffer", CL_INVALID_SAMPLER, {HANDLE(MEM)}),
    VALUE(clGetSamplerInfo, "a buffer", CL_INVALID_SAMPLER, {HANDLE(MEM), CL_SAMPLER_CONTEXT, 8, ADDRESS}),
};

/** A function that answers queries. */
static const struct query {
    const char *name;
    size_t slot;
    int at;         /* number of its parameter that names a property; size and place of the answer follow */
    intptr_t known; /* a property of more than one byte */
    intptr_t parameter[3];
} queries[] = {
#define QUERY(name, at, ...) {#name, offsetof(cl_icd_dispatch, name), at, __VA_ARGS__}
    QUERY(clGetPlatformInfo, 2, CL_PLATFORM_NAME, {HANDLE(PLATFORM)}),
    QUERY(clGetDeviceInfo, 2, CL_DEVICE_NAME, {HANDLE(DEVICE)}),
    QUERY(clGetContextInfo, 2, CL_CONTEXT_NUM_DEVICES, {HANDLE(CONTEXT)}),
    QUERY(clGetCommandQueueInfo, 2, CL_QUEUE_CONTEXT, {HANDLE(QUEUE)}),
    QUERY(clGetMemObjectInfo, 2, CL_MEM_SIZE, {HANDLE(MEM)}),
    QUERY(clGetProgramInfo, 2, CL_PROGRAM_NUM_DEVICES, {HANDLE(PROGRAM)}),
    QUERY(clGetProgramBuildInfo, 3, CL_PROGRAM_BUILD_STATUS, {HANDLE(PROGRAM), HANDLE(DEVICE)}),
    QUERY(clGetKernelInfo, 2, CL_KERNEL_FUNCTION_NAME, {HANDLE(KERNEL)}),
    QUERY(clGetKernelArgInfo, 3, CL_KERNEL_ARG_ADDRESS_QUALIFIER, {HANDLE(KERNEL), 0}),
    QUERY(clGetKernelWorkGroupInfo, 3, CL_KERNEL_WORK_GROUP_SIZE, {HANDLE(KERNEL), HANDLE(DEVICE)}),
    QUERY(clGetEventInfo, 2, CL_EVENT_COMMAND_TYPE, {HANDLE(EVENT)}),
};
/* clang-format on */

static void try_values(const cl_icd_dispatch *table, void *const good[])
{
    for (size_t r = 0; r < sizeof values / sizeof values[0]; r++) {
        const value *row = &values[r];
        given given = {.texts = {"x.h"}};
        memcpy(given.lengths, row->lengths, sizeof given.lengths);
        memcpy(given.properties, row->properties, sizeof row->properties);
        call call = {
            .name = row->name, .what = row->what, .function = function_of(table, row->slot), .expected = row->error};
        fill_in(&call, row->parameter, good, &given);
        try_call(&call);
    }
    for (size_t q = 0; q < sizeof queries / sizeof queries[0]; q++) {
        const struct query *row = &queries[q];
        given given = {0};
        intptr_t parameter[14] = {row->parameter[0], row->parameter[1], row->parameter[2]};
        call call = {.name = row->name, .function = function_of(table, row->slot), .expected = CL_INVALID_VALUE};
        parameter[row->at - 1] = 0x7fff;
        parameter[row->at] = sizeof given.space;
        parameter[row->at + 1] = ADDRESS;
        call.what = "an unknown property";
        fill_in(&call, parameter, good, &given);
        try_call(&call);
        parameter[row->at - 1] = row->known;
        parameter[row->at] = 1;
        call.what = "too little place for the answer";
        fill_in(&call, parameter, good, &given);
        try_call(&call);
    }
}

/* The driver holds objects that commands use: the program cannot release its references of them. */
static void try_releases(cl_context context, cl_command_queue queue)
{
    cl_int status, pattern = 7;
    cl_event gate = clCreateUserEvent(context, &status), filled = NULL;
    cl_mem mem = clCreateBuffer(context, 0, 64, NULL, &status);
    clEnqueueFillBuffer(queue, mem, &pattern, sizeof pattern, 0, 64, 1, &gate, &filled);
    const cl_int found[] = {clReleaseMemObject(mem),
                            clReleaseMemObject(mem),
                            clRetainEvent(filled),
                            clReleaseEvent(filled),
                            clReleaseEvent(filled),
                            clReleaseEvent(filled),
                            clSetUserEventStatus(gate, CL_COMPLETE),
                            clReleaseEvent(gate),
                            clReleaseEvent(gate),
                            clFinish(queue)};
    const cl_int expected[] = {CL_SUCCESS,       CL_SUCCESS, CL_SUCCESS, CL_SUCCESS,       CL_SUCCESS,
                               CL_INVALID_EVENT, CL_SUCCESS, CL_SUCCESS, CL_INVALID_EVENT, CL_SUCCESS};
    for (size_t n = 0; n < sizeof found / sizeof found[0]; n++)
        if (found[n] != expected[n] && n != 1) { /* the buffer may already have been freed */
            wrong++;
            printf("call %zu of releases returns %d; expected %d\n", n, found[n], expected[n]);
        }
    tried += 2;
}

/* Sizes that no message can carry are errors of the call. The device goes on. */
static void try_sizes(cl_command_queue queue, cl_kernel kernel)
{
    const size_t one = 1, most = SIZE_MAX;
    const struct {
        const char *what;
        const size_t *offset, *global;
        cl_int error;
    } sizes[] = {{"a size", NULL, &most, CL_INVALID_GLOBAL_WORK_SIZE},
                 {"an offset", &most, &one, CL_INVALID_GLOBAL_OFFSET},
                 {"one work-item", NULL, &one, CL_SUCCESS}};
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        cl_int status = clEnqueueNDRangeKernel(queue, kernel, 1, sizes[n].offset, sizes[n].global, NULL, 0, NULL, NULL);
        cl_int finished = clFinish(queue);
        if (status == sizes[n].error && finished == CL_SUCCESS)
            continue;
        wrong++;
        printf("a launch with %s of %zu returns %d, clFinish %d; expected %d\n", sizes[n].what, most, status, finished,
               sizes[n].error);
    }
}

static void release_all(void *const list[])
{
    clReleaseEvent(list[SET]);
    clReleaseEvent(list[ENDED]);
    clReleaseMemObject(list[HIDDEN]);
    clReleaseKernel(list[BARE]);
    clReleaseProgram(list[TEXT]);
    clReleaseEvent(list[EVENT]);
    clReleaseKernel(list[KERNEL]);
    clReleaseProgram(list[PROGRAM]);
    clReleaseMemObject(list[MEM]);
    clReleaseCommandQueue(list[QUEUE]);
    clReleaseContext(list[CONTEXT]);
}

/* Make an object of each kind in a context of its own. @return false: one of them could not be made. */
static bool make_all(cl_platform_id platform, cl_device_id device, void *list_out[ALL])
{
    const char *text = "kernel void f(global int *a, local int *l, int v) { l[0] = v; a[0] = l[0]; }";
    cl_int status, value = 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    cl_mem mem = clCreateBuffer(context, 0, BYTES, NULL, &status);
    cl_event ended = NULL, set = clCreateUserEvent(context, &status);
    list_out[PLATFORM] = (void *)platform;
    list_out[DEVICE] = (void *)device;
    list_out[CONTEXT] = context;
    list_out[QUEUE] = queue;
    list_out[MEM] = mem;
    list_out[PROGRAM] = program;
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "f", &status);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof value, NULL);
    clSetKernelArg(kernel, 2, sizeof value, &value);
    list_out[KERNEL] = kernel;
    list_out[EVENT] = clCreateUserEvent(context, &status);
    list_out[TEXT] = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    list_out[BARE] = clCreateKernel(program, "f", &status);
    list_out[HIDDEN] = clCreateBuffer(context, CL_MEM_HOST_NO_ACCESS, BYTES, NULL, &status);
    clEnqueueFillBuffer(queue, mem, &value, sizeof value, 0, BYTES, 0, NULL, &ended);
    clFinish(queue);
    list_out[ENDED] = ended;
    clSetUserEventStatus(set, CL_COMPLETE);
    list_out[SET] = set;
    for (int k = 0; k < ALL; k++)
        if (list_out[k] == NULL)
            return false;
    return true;
}

int main(int argc, char *argv[])
{
    static uint64_t nothing[16];
    void *good[ALL] = {0}, *stale[ALL] = {0}, *foreign[ALL] = {0};
    cl_platform_id platform;
    cl_device_id device;
    compares = argc > 1 && strcmp(argv[1], "compared") == 0;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 2;
    const cl_icd_dispatch *table = *(const cl_icd_dispatch *const *)(const void *)platform;
    if (!make_all(platform, device, stale))
        return 3;
    release_all(stale);
    stale[PLATFORM] = &nothing[4];
    stale[DEVICE] = &nothing[5];
    if (!make_all(platform, device, good) || !make_all(platform, device, foreign))
        return 3;
    if (compares) {
        char version[256] = "";
        clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL);
        printf("%s\n", version);
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const row *row = &rows[r];
        try_one(row, table, "NULL", NULL);
        if (compares)
            continue;
        try_one(row, table, "a handle that has ended", stale[row->kind]);
        try_one(row, table, "a handle of another kind", good[(row->kind + 1) % KINDS]);
        try_one(row, table, "an address that is no handle", nothing);
        try_one(row, table, "an address within a handle", (char *)good[row->kind] + 8);
    }
    try_others(table, good, stale, foreign);
    try_values(table, good);
    if (!compares) {
        try_releases(good[CONTEXT], good[QUEUE]);
        try_sizes(good[QUEUE], good[KERNEL]);
    }
    void **slot = (void **)(uintptr_t)table;
    for (size_t s = 0; s < sizeof *table / sizeof *slot && !compares; s++)
        if (slot[s] == NULL) {
            printf("slot %zu of the table is empty\n", s);
            wrong++;
        }
    release_all(good);
    release_all(foreign);
    printf("%d wrong inputs tried, %d wrong answers\n", tried, wrong);
    return wrong != 0 && !compares;
}
