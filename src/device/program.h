/* device/program.h - a compiled program and its kernels. */
#ifndef DCLI_DEVICE_PROGRAM_H
#define DCLI_DEVICE_PROGRAM_H

#include "device/opencl.h"

/** The last value that an argument was set to. */
typedef struct dcli_last {
    uint64_t serial; /* serial number of the memory; 0: a value, or never set */
    void *value;
    size_t bytes; /* length of the value; 0: never set */
} dcli_last;

typedef struct dcli_kernel {
    cl_kernel kernel;
    char *name;
    int count; /* number of arguments */
    dcli_last *last;
} dcli_kernel;

struct dcli_program {
    dcli_device *device;
    cl_program program;
    char *source;
    uint64_t hash, used; /* used: the device's program_clock at the last build */
    size_t bytes;        /* estimated size in memory */
    int holds;
    int kernel_count;
    dcli_kernel *kernels;
    dcli_program *next;
};

/** Compile a program that is in no cache; any thread may do so. Parameters as dcli_program_build(). */
dcl_status dcli_program_make(dcli_device *device, const char *source, int kernel_count, const char *const kernels[],
                             dcli_program **program_out, char **log_out);
/** Free a program that is in no cache. */
void dcli_program_unmake(dcli_program *program);
/** Enter such a program in the cache of its device, with a reference for the caller. */
void dcli_program_enter(dcli_program *program);

/** OpenCL C: the files src/device/NAME.cl, embedded by the build. */
extern const char dcli_cl_address[], dcli_cl_copy[], dcli_cl_probe[];

#endif
