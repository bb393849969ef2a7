/* icd/wrong.c - every entry point of the driver with handles that are none: NULL, of an object that has ended, of another kind,
 * and an address that is no handle. Each must return the error that the specification names, and nothing may crash. It
 * calls through the driver's table, because loaders catch NULL themselves. Prints one line per wrong answer, and a count. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

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

int main(void)
{
    static uint64_t nothing[16];
    void *good[KINDS] = {0}, *stale[KINDS] = {0};
    cl_int status;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 2;
    const cl_icd_dispatch *table = *(const cl_icd_dispatch *const *)(const void *)platform;
    const char *text = "kernel void f(global int *a) { a[0] = 1; }";
    for (int round = 0; round < 2; round++) { /* the objects of the first round end */
        void **list = round == 0 ? stale : good;
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
        if (round > 0)
            break;
        clReleaseEvent(list[EVENT]);
        clReleaseKernel(list[KERNEL]);
        clReleaseProgram(list[PROGRAM]);
        clReleaseMemObject(list[MEM]);
        clReleaseCommandQueue(list[QUEUE]);
        clReleaseContext(list[CONTEXT]);
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
    try_sizes(good[QUEUE], good[KERNEL], good[MEM]);
    void **slot = (void **)(uintptr_t)table;
    for (size_t s = 0; s < sizeof *table / sizeof *slot; s++)
        if (slot[s] == NULL) {
            printf("slot %zu of the table is empty\n", s);
            wrong++;
        }
    printf("%d wrong handles tried, %d wrong answers\n", tried, wrong);
    return wrong != 0;
}
