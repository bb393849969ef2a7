/* device.h - the OpenCL device of a node, for references that use it without DCL. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "common.h"

/* Find a device of this host by its name. @param before  how many devices of the same name come before it. If there are not that
 * many, nodes share devices, and it is one of those */
static inline cl_device_id find_device(const char *name, int before)
{
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    cl_device_id same[16];
    int same_count = 0;
    clGetPlatformIDs(16, platforms, &platform_count);
    for (cl_uint p = 0; p < platform_count && p < 16; p++) {
        cl_device_id devices[16];
        cl_uint count = 0;
        clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &count);
        for (cl_uint d = 0; d < count && d < 16; d++) {
            char found[128] = "";
            clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof found, found, NULL);
            if (strcmp(found, name) == 0 && same_count < 16)
                same[same_count++] = devices[d];
        }
    }
    check(same_count > 0, "the device of a node was not found");
    return same[before % same_count];
}

#endif
