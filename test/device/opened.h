/* test/device/opened.h - device 0 of this host, opened for a test. Where there is none, the test is skipped. */
#ifndef TEST_DEVICE_OPENED_H
#define TEST_DEVICE_OPENED_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "device/device.h"

/** The ways a device works: host memory in place where it can, or memory of its own in any case. */
#define TEST_MODES ((int[]){0, DCLI_OPEN_SEPARATE})
#define TEST_MODE_COUNT 2

static inline const char *test_mode_name(int flags) { return flags & DCLI_OPEN_SEPARATE ? "separate" : "as it is"; }

static inline dcli_device *test_open(int flags)
{
    int count = 0;
    dcli_device *device = NULL;
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    if (count == 0)
        cr_skip_test("no OpenCL device on this host");
    cr_assert_eq(dcli_device_open_as(0, NULL, flags, &device), DCL_OK, "%s", dcl_error());
    return device;
}

/** Build a program of one kernel. */
static inline dcli_program *test_build(dcli_device *device, const char *source, const char *kernel)
{
    dcli_program *program = NULL;
    cr_assert_eq(dcli_program_build(device, source, 1, &kernel, &program, NULL, NULL), DCL_OK, "%s", dcl_error());
    return program;
}

/** Adds `n` to every element of an int array. */
#define TEST_ADD_SOURCE "__kernel void add(__global int *p, int n)\n{\n    p[get_global_id(0)] += n;\n}\n"

#endif
