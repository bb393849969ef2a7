/* test/kernel/device.h - run a body on the first OpenCL device, with rows computed the plain way. */
#ifndef TEST_KERNEL_DEVICE_H
#define TEST_KERNEL_DEVICE_H

#include "kernel/body.h"

/** An argument of a body. Arrays lie row-major in `data`, `pad` elements behind every row of the last axis. */
typedef struct test_arg {
    const char *name;
    dcl_access access;
    dcl_type type;
    int rank;
    int64_t extent[4], origin[4];
    int64_t pad;
    void *data;
    dcli_scalar value;
    int64_t width[4];    /* HALO, CROSS */
    const dcl_box *seen; /* BOX, FUNCTION: what is there; affine: what dcl_checked lets pass. NULL: all */
} test_arg;

/** What a run reported. */
typedef struct test_report {
    bool any;
    int64_t access, index[4];
} test_report;

typedef struct test_device test_device;

/** The first device. @return NULL when there is none; the reason is printed then. */
test_device *test_device_open(void);
void test_device_close(test_device *device);

/** Whether it is a GPU, where what is generated for processors may be wrong: it takes all address spaces for one. */
bool test_device_is_gpu(const test_device *device);

/** Build a body for a form. @return false: *log_out is the compiler's log, free() it. */
typedef struct test_program test_program;
test_program *test_program_build(test_device *device, const dcli_body *body, dcli_form form, char **log_out);
void test_program_free(test_program *program);

/** Run one box (start, stride, count per loop axis) of a body and wait.
 *  Fails the test when the row may not be run by `variant`. */
test_report test_program_run(test_program *program, const dcli_body *body, dcli_variant variant, int count,
                             test_arg args[], const int64_t start[], const int64_t stride[], const int64_t box_count[]);

/** Build a program that does not come from a body, and run its kernel with one work-item. The arguments of the kernel are
 *  buffers that get the contents of memory and are copied back. */
typedef struct test_buffer {
    void *data;
    size_t bytes;
} test_buffer;
void test_device_run(test_device *device, const char *source, const char *kernel, int count,
                     const test_buffer buffers[]);

/** Programs that are built from now on check where they write, too. */
void test_device_watched(test_device *device, bool watched);

/** Make GPU launches smaller than dcli_body_launch_size() says: a kernel must cover its box with any number of groups
 *  along dimension 2, and where no input is transposed along dimension 1. */
void test_device_few_groups(test_device *device, bool few);

/** Let GPU launches run a box as several rows of one shape, whose own numbers come from a table. */
void test_device_in_parts(test_device *device, bool parts);

/** Parameters of arguments, for dcli_body_parse(). */
void test_params(int count, const test_arg args[], dcli_param params_out[]);

#endif
