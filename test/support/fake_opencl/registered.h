/* support/fake_opencl/registered.h - host memory that devices with memory of their own have registered. Thread-safe. */
#ifndef TEST_FAKE_OPENCL_REGISTERED_H
#define TEST_FAKE_OPENCL_REGISTERED_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

/** Note a buffer in host memory, which must be mapped for writing. */
void fake_registered_add(cl_context context, cl_mem memory, void *host, size_t bytes);
/** Note that a buffer, perhaps not one of these, has been released for good. */
void fake_registered_end(cl_mem memory);
/** Count bytes that cross between the device of a context and host memory. */
void fake_registered_cross(cl_context context, const void *host, size_t bytes, int enters);

#endif
