/* Building programs: the cache, its bound, the compiler's log. */
#include "device/opened.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

Test(device_program, same_source_is_built_once)
{
    dcli_device *device = test_open(0);
    const char *name = "add";
    dcli_program *first, *second, *other;
    bool fresh = false;
    cr_assert_eq(dcli_program_build(device, TEST_ADD_SOURCE, 1, &name, &first, &fresh, NULL), DCL_OK, "%s",
                 dcl_error());
    cr_expect(fresh);
    cr_assert_eq(dcli_program_build(device, TEST_ADD_SOURCE, 1, &name, &second, &fresh, NULL), DCL_OK);
    cr_expect_not(fresh);
    cr_expect_eq(first, second);
    cr_assert_eq(dcli_program_build(device, TEST_ADD_SOURCE "\n", 1, &name, &other, &fresh, NULL), DCL_OK);
    cr_expect(fresh, "another text is another program");
    cr_expect_neq(first, other);
    dcli_program_release(first);
    dcli_program_release(second);
    dcli_program_release(other);
    cr_assert_eq(dcli_program_build(device, TEST_ADD_SOURCE, 1, &name, &first, &fresh, NULL), DCL_OK);
    cr_expect_not(fresh, "a program nobody holds is kept");
    dcli_program_release(first);
    dcli_program_release(NULL);
    dcli_device_close(device);
}

Test(device_program, wrong_text_gives_the_compilers_log)
{
    dcli_device *device = test_open(0);
    const char *name = "broken";
    dcli_program *program = NULL;
    bool fresh = false;
    char *log = NULL;
    cr_expect_eq(dcli_program_build(device, "__kernel void broken(__global int *p)\n{\n    p[0] = nowhere;\n}\n", 1,
                                    &name, &program, &fresh, &log),
                 DCL_ERR_BODY);
    cr_assert_not_null(log);
    cr_expect(strstr(log, "nowhere"), "%s", log);
    cr_expect(strstr(dcl_error(), "the OpenCL compiler of device 0"), "%s", dcl_error());
    cr_expect_null(program);
    dcli_free(log);
    /* without a place for the log, and again: nothing wrong is kept */
    cr_expect_eq(dcli_program_build(device, "kernel void broken() {", 1, &name, &program, NULL, NULL), DCL_ERR_BODY);
    log = (char *)"untouched";
    cr_expect_eq(dcli_program_build(device, "__kernel void broken(void) {}", 1, &name, &program, &fresh, &log), DCL_OK,
                 "%s", dcl_error());
    cr_expect_null(log);
    dcli_program_release(program);
    dcli_device_close(device);
}

Test(device_program, missing_kernel_names_the_call)
{
    dcli_device *device = test_open(0);
    const char *name = "subtract";
    dcli_program *program = NULL;
    cr_expect_eq(dcli_program_build(device, TEST_ADD_SOURCE, 1, &name, &program, NULL, NULL), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "clCreateKernel gave CL_INVALID_KERNEL_NAME (-46)"), "%s", dcl_error());
    dcli_device_close(device);
}
