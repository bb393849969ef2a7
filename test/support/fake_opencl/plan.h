/* support/fake_opencl/plan.h - which calls must fail or hang. Thread-safe. */
#ifndef TEST_FAKE_OPENCL_PLAN_H
#define TEST_FAKE_OPENCL_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/** List of the replaced functions: X of each name. */
#define FAKE_FUNCTIONS(X)                                                                                          \
    X(clGetPlatformInfo), X(clGetDeviceIDs), X(clGetDeviceInfo), X(clCreateContext), X(clReleaseContext),          \
        X(clCreateCommandQueue), X(clReleaseCommandQueue), X(clRetainCommandQueue), X(clFlush), X(clFinish),       \
        X(clCreateBuffer), X(clRetainMemObject), X(clReleaseMemObject), X(clCreateProgramWithSource),              \
        X(clBuildProgram), X(clGetProgramInfo), X(clGetProgramBuildInfo), X(clReleaseProgram), X(clCreateKernel),  \
        X(clGetKernelInfo), X(clGetKernelWorkGroupInfo), X(clSetKernelArg), X(clReleaseKernel),                    \
        X(clEnqueueNDRangeKernel), X(clEnqueueFillBuffer), X(clEnqueueCopyBuffer), X(clEnqueueMarkerWithWaitList), \
        X(clEnqueueReadBuffer), X(clEnqueueWriteBuffer), X(clEnqueueReadBufferRect), X(clEnqueueWriteBufferRect),  \
        X(clEnqueueMapBuffer), X(clEnqueueUnmapMemObject), X(clGetEventInfo), X(clGetEventProfilingInfo),          \
        X(clSetEventCallback), X(clWaitForEvents), X(clRetainEvent), X(clReleaseEvent)

/** The functions that are only called under "peers": X(name) for each. */
#define FAKE_PEER_FUNCTIONS(X) X(clCreateBufferWithProperties), X(clCreateSubBuffer)

#define X(name) FAKE_##name
typedef enum fake_name {
    FAKE_FUNCTIONS(X),
    FAKE_kernel, /* not a function: counts for "hang kernel" */
    FAKE_PEER_FUNCTIONS(X),
    FAKE_clEnqueueAcquireExternalMemObjectsKHR, /* in no table: found by its name */
    FAKE_NAMES
} fake_name;
#undef X

typedef enum fake_action { FAKE_PASS, FAKE_FAIL, FAKE_EVENT, FAKE_HANG, FAKE_LATE } fake_action;

/** Replace the plan; an invalid plan ends the process. */
void fake_plan_set(const char *text);
/** Count a call. @return what must happen with it. @param code_out  for FAKE_FAIL and FAKE_EVENT; FAKE_LATE: ms. */
fake_action fake_plan_meet(fake_name name, int *code_out);
/** Wait until another plan is set. */
void fake_plan_hang(void);
/** Count a call of this thread that waits for the device, and delay it. */
void fake_plan_wait(void);
/** Note that this thread enqueues commands. */
void fake_plan_enqueues(void);
/** How many microseconds a command takes at least: of a function, or of a kernel whose name begins as the plan says.
 *  @param amount  its bytes or work-items, for a rate. */
int fake_plan_takes(const char *name, size_t amount);
/** Whether the plan says so of any. */
bool fake_plan_some_take(void);
bool fake_plan_gpu(void);
bool fake_plan_discrete(void);
/** Whether device `number` of its platform, from 0, has memory of its own. */
bool fake_plan_apart(int number);
/** Whether any device has memory of its own. */
bool fake_plan_some_apart(void);
bool fake_plan_peers(void);
bool fake_plan_no_devices(void);
bool fake_plan_no_registering(void);
bool fake_plan_no_platforms(void);
/** Whether the program of this text must be the first matching one. */
bool fake_plan_is_one(const char *text);
/** Copy the line with which programs begin; "" if there is none. */
void fake_plan_text(char *text_out, size_t bytes);
/** Copy the names of the claimed extensions, each with a space before it. */
void fake_plan_claims(char *text_out, size_t bytes);

#endif
