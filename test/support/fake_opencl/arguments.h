/* support/fake_opencl/arguments.h - records which buffers exist, and which of them kernels were given, and refuses what
 * drivers of GPUs refuse and PoCL runs. Thread-safe. */
#ifndef TEST_FAKE_OPENCL_ARGUMENTS_H
#define TEST_FAKE_OPENCL_ARGUMENTS_H

#include "support/fake_opencl/functions.h"

/** Note that a buffer was made; that it was retained (1) or released (-1). */
void fake_memory_made(cl_mem memory, cl_context context);
void fake_memory_held(cl_mem memory, int change);
/** Note that an argument was set. */
void fake_argument_set(cl_kernel kernel, cl_uint index, size_t bytes, const void *value);
/** Note that a kernel was released; that it still has other references does not occur. */
void fake_kernel_released(cl_kernel kernel);
/** Whether all buffers that a kernel was given are still there, and belong to the context of the queue, as the kernel does.
 *  @return CL_SUCCESS, CL_INVALID_KERNEL_ARGS, CL_INVALID_CONTEXT. */
cl_int fake_arguments_check(cl_command_queue queue, cl_kernel kernel);
/** Whether a buffer that a command is given is still there, and belongs to the context of the queue. @return
 *  CL_SUCCESS, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT. */
cl_int fake_memory_check(cl_command_queue queue, cl_mem memory);

#endif
