/* icd/wrong.c - every entry point of the driver with handles that are none, in every parameter and list: NULL, of an object that has
 * ended, of another kind, of another context, and an address that is no handle. Each must return the error that the specification names, and nothing may crash. It
 * calls through the driver's table, because loaders catch NULL themselves. Prints one line per wrong answer, and a count. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLATFORM, DEVICE, CONTEXT, QUEUE, MEM, PROGRAM, KERNEL, EVENT, KINDS };

/** An entry point whose first parameter is a handle. */
typedef struct row {
    const char *name;
    size_t slot;
    int kind;      /* of that parameter */
    cl_int error;  /* for a wrong handle */
    int status_at; /* number of the parameter through which it returns its status; 0: the return value */
} row;

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

static void try_one(const row *row, any *function, const char *what, void *handle)
{
    cl_int status = 12345;
    intptr_t p[14] = {(intptr_t)handle};
    if (row->status_at > 0)
        p[row->status_at - 1] = (intptr_t)&status;
    intptr_t returned =
        function(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13]);
    if (row->status_at == 0)
        status = (cl_int)returned;
    tried++;
    if (status == row->error && (row->status_at == 0 || returned == 0))
        return;
    wrong++;
    printf("%s with %s returns %d; expected %d\n", row->name, what, status, row->error);
}

/* ---- handles in other parameters ---- */

/* A parameter that is right: a number, a handle, a list with one handle, or an address of something. */
#define HANDLE(kind) (-1000 - (kind))
#define LIST(kind) (-2000 - (kind))
enum { ADDRESS = -3000, TEXTS, LENGTHS, PROPERTIES, STATUS };

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

/* Call one with its wrong handle, and compare its error. */
static void try_other(const other *row, const cl_icd_dispatch *table, void *const good[], const char *what,
                      void *handle, cl_int error)
{
    static uint64_t space[16];
    static const char *texts[] = {"x.h"};
    static size_t lengths[] = {4, 1, 1};
    static void *list[14];
    static intptr_t properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
    cl_int status = 12345;
    bool by_status = false;
    intptr_t p[14];
    any *function;
    memcpy(&function, (const char *)table + row->slot, sizeof function);
    memset(space, 0, sizeof space);
    for (int n = 0; n < 14; n++) {
        intptr_t given = row->parameter[n];
        bool varies = n + 1 == row->at;
        p[n] = given;
        if (given <= HANDLE(0) && given > HANDLE(KINDS))
            p[n] = varies ? (intptr_t)handle : (intptr_t)good[HANDLE(0) - given];
        if (given <= LIST(0) && given > LIST(KINDS)) {
            list[n] = varies ? handle : good[LIST(0) - given];
            p[n] = (intptr_t)&list[n];
        }
        if (given == PROPERTIES) {
            properties[1] = (intptr_t)handle;
            p[n] = (intptr_t)properties;
        }
        p[n] = given == ADDRESS   ? (intptr_t)space
               : given == TEXTS   ? (intptr_t)texts
               : given == LENGTHS ? (intptr_t)lengths
                                  : p[n];
        if (given == STATUS) {
            by_status = true;
            p[n] = (intptr_t)&status;
        }
    }
    intptr_t returned =
        function(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13]);
    if (!by_status)
        status = (cl_int)returned;
    tried++;
    if (status == error && (!by_status || returned == 0))
        return;
    wrong++;
    printf("%s with %s as parameter %d returns %d; expected %d\n", row->name, what, row->at, status, error);
}

static void try_others(const cl_icd_dispatch *table, void *const good[], void *const stale[], void *const foreign[])
{
    static uint64_t nothing[16];
    for (size_t r = 0; r < sizeof others / sizeof others[0]; r++) {
        const other *row = &others[r];
        if (!row->null_is_right)
            try_other(row, table, good, "NULL", NULL, row->error);
        try_other(row, table, good, "a handle that has ended", stale[row->kind], row->error);
        try_other(row, table, good, "a handle of another kind", good[(row->kind + 1) % KINDS], row->error);
        try_other(row, table, good, "an address that is no handle", nothing, row->error);
        try_other(row, table, good, "an address within a handle", (char *)good[row->kind] + 8, row->error);
        if (row->of_another_context != 0)
            try_other(row, table, good, "a handle of another context", foreign[row->kind], row->of_another_context);
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
static void try_sizes(cl_command_queue queue, cl_kernel kernel, cl_mem mem)
{
    const size_t one = 1, most = SIZE_MAX;
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
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
    clReleaseEvent(list[EVENT]);
    clReleaseKernel(list[KERNEL]);
    clReleaseProgram(list[PROGRAM]);
    clReleaseMemObject(list[MEM]);
    clReleaseCommandQueue(list[QUEUE]);
    clReleaseContext(list[CONTEXT]);
}

int main(void)
{
    static uint64_t nothing[16];
    void *good[KINDS] = {0}, *stale[KINDS] = {0}, *foreign[KINDS] = {0};
    cl_int status;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 2;
    const cl_icd_dispatch *table = *(const cl_icd_dispatch *const *)(const void *)platform;
    const char *text = "kernel void f(global int *a) { a[0] = 1; }";
    for (int round = 0; round < 3; round++) { /* the objects of the first round end */
        void **list = round == 0 ? stale : round == 1 ? good : foreign;
        cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
        cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
        list[PLATFORM] = round == 0 ? (void *)&nothing[4] : (void *)platform;
        list[DEVICE] = round == 0 ? (void *)&nothing[5] : (void *)device;
        list[CONTEXT] = context;
        list[QUEUE] = clCreateCommandQueueWithProperties(context, device, NULL, &status);
        list[MEM] = clCreateBuffer(context, 0, 64, NULL, &status);
        list[PROGRAM] = program;
        clBuildProgram(program, 1, &device, "", NULL, NULL);
        list[KERNEL] = clCreateKernel(program, "f", &status);
        list[EVENT] = clCreateUserEvent(context, &status);
        for (int k = 0; k < KINDS; k++)
            if (list[k] == NULL)
                return 3;
        if (round == 0)
            release_all(list);
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        any *function;
        memcpy(&function, (const char *)table + rows[r].slot, sizeof function);
        try_one(&rows[r], function, "NULL", NULL);
        try_one(&rows[r], function, "a handle that has ended", stale[rows[r].kind]);
        try_one(&rows[r], function, "a handle of another kind", good[(rows[r].kind + 1) % KINDS]);
        try_one(&rows[r], function, "an address that is no handle", nothing);
        try_one(&rows[r], function, "an address within a handle", (char *)good[rows[r].kind] + 8);
    }
    try_others(table, good, stale, foreign);
    try_releases(good[CONTEXT], good[QUEUE]);
    try_sizes(good[QUEUE], good[KERNEL], good[MEM]);
    void **slot = (void **)(uintptr_t)table;
    for (size_t s = 0; s < sizeof *table / sizeof *slot; s++)
        if (slot[s] == NULL) {
            printf("slot %zu of the table is empty\n", s);
            wrong++;
        }
    release_all(good);
    release_all(foreign);
    printf("%d wrong handles tried, %d wrong answers\n", tried, wrong);
    return wrong != 0;
}
