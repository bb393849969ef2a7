/* Building programs: the cache, its bound, the compiler's log. */
#include "device/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/exit.h"
#include "device/opencl.h"

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

/* What aborts the process with PoCL 5.0: see dcli_program_build_own(). */
Test(device_program, devices_of_one_platform_launch_other_sizes_at_once)
{
    static const char source[] = "__kernel void fill(__global int *p, int turns)\n"
                                 "{\n"
                                 "    volatile int n = 0;\n"
                                 "    while (n < turns)\n"
                                 "        n++;\n"
                                 "    p[get_global_id(0)] = n;\n"
                                 "}\n";
    enum { MOST = 200 };
    const size_t sizes[2] = {1, MOST}, local = 1;
    const int turns[2] = {200000000, 1};
    const char *name = "fill";
    dcli_device *device[2];
    dcli_program *program[2];
    dcli_memory *memory[2];
    int count = 0;
    setenv("POCL_DEVICES", "pthread pthread", 1);
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    if (count < 2)
        cr_skip_test("no two OpenCL devices on this host");
    for (int d = 0; d < 2; d++) {
        cr_assert_eq(dcli_device_open(d, NULL, &device[d]), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_program_build_own(device[d], source, 1, &name, &program[d], NULL, NULL), DCL_OK, "%s",
                     dcl_error());
        cr_assert_eq(dcli_memory_create(device[d], MOST * sizeof(int), &memory[d]), DCL_OK, "%s", dcl_error());
        dcli_argument arguments[] = {{.memory = memory[d], .written = true},
                                     {.value = &turns[d], .bytes = sizeof turns[d]}};
        cr_assert_eq(dcli_device_launch(device[d], program[d], 0, 2, arguments, 1, &sizes[d], &local, NULL), DCL_OK);
        cr_assert_eq(dcli_device_flush(device[d]), DCL_OK);
    }
    for (int d = 0; d < 2; d++) {
        int last = 0;
        cr_assert_eq(dcli_memory_get(memory[d], (sizes[d] - 1) * sizeof(int), &last, sizeof last), DCL_OK);
        cr_expect_eq(last, turns[d]);
        dcli_memory_release(memory[d]);
        dcli_program_release(program[d]);
        dcli_device_close(device[d]);
    }
}

/* @param devices  of PoCL, as POCL_DEVICES has them. */
static dcli_device *open_first_of(const char *devices)
{
    setenv("POCL_DEVICES", devices, 1);
    return test_open(0);
}

Test(device_program, a_device_beside_others_has_equally_many_items_for_any_rows)
{
    dcli_device *device = open_first_of("pthread pthread");
    if (!device->beside)
        cr_skip_test("no two CPU devices of one platform on this host");
    cr_expect_gt(dcli_device_items(device, 1), 0);
    cr_expect_eq(dcli_device_items(device, 1), dcli_device_items(device, 777));
    cr_expect_eq(dcli_device_items(device, 0), 0, "nothing is launched for nothing");
    dcli_device_close(device);
}

Test(device_program, a_device_alone_has_an_item_for_every_row)
{
    dcli_device *device = open_first_of("pthread");
    if (device->beside)
        cr_skip_test("several CPU devices of one platform on this host");
    for (size_t rows = 0; rows < 3; rows++)
        cr_expect_eq(dcli_device_items(device, rows), rows);
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

/* Build number `n` of a row of programs that differ. */
static dcli_program *build_number(dcli_device *device, int n, bool *fresh_out)
{
    char source[200];
    const char *name = "add";
    dcli_program *program = NULL;
    snprintf(source, sizeof source, "%s/* %d */\n", TEST_ADD_SOURCE, n);
    cr_assert_eq(dcli_program_build(device, source, 1, &name, &program, fresh_out, NULL), DCL_OK, "%s", dcl_error());
    return program;
}

Test(device_program, those_used_longest_ago_are_dropped_first)
{
    dcli_device *device = test_open(0);
    device->most_program_bytes = (size_t)7 << 19; /* three and a half small ones */
    bool fresh;
    dcli_program *held = build_number(device, 0, &fresh);
    for (int n = 1; n <= 3; n++)
        dcli_program_release(build_number(device, n, &fresh));
    cr_expect_eq(device->program_bytes >> 20, 3);
    static const struct {
        int number;
        bool fresh;
    } rows[] = {{0, false}, {3, false}, {2, false}, {1, true}, {3, true}, {2, true}};
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        dcli_program_release(build_number(device, rows[n].number, &fresh));
        cr_expect_eq(fresh, rows[n].fresh, "row %zu, program %d", n, rows[n].number);
    }
    dcli_program *more[4];
    for (int n = 0; n < 4; n++)
        more[n] = build_number(device, 10 + n, NULL);
    cr_expect_eq(device->program_bytes >> 20, 5, "those in use are kept beyond the limit");
    for (int n = 0; n < 4; n++)
        dcli_program_release(more[n]);
    dcli_program_release(held);
    cr_expect_eq(device->program_bytes >> 20, 3);
    dcli_device_close(device);
}

/* ---- the end of the program ---------------------------------------------------------------------------------------- */

static dcli_compiling *compiled_at_exit;

static void tell_whether_compiled(void) { _exit(dcli_program_is_compiled(compiled_at_exit) ? 0 : 3); }

/* Calls exit() while a thread compiles a text that is in no cache. */
_Noreturn static void exit_while_compiling(void)
{
    char source[128];
    const char *name = "nothing";
    dcli_device *device = NULL;
    snprintf(source, sizeof source, "__kernel void nothing(int n) {} /* %ld %lld */", (long)getpid(),
             (long long)time(NULL));
    if (dcli_device_open(0, NULL, &device) != DCL_OK)
        _exit(4);
    dcli_compilers_end_before_exit();
    atexit(tell_whether_compiled);
    compiled_at_exit = dcli_program_compile(device, source, 1, &name, 1);
    exit(compiled_at_exit != NULL ? 0 : 5);
}

/* Whose handlers run before those of the library. The test's process has not used OpenCL before it forks. */
Test(device_program, exit_waits_for_a_compiler)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        exit_while_compiling();
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    cr_expect_eq(WEXITSTATUS(status), 0, "the child says %d; 3: it compiled when handlers ran", WEXITSTATUS(status));
}

/* As LLVM does after a fatal error. exit() must not wait for the compiler that called it. */
_Noreturn static void exit_in_a_compiler(void)
{
    dcli_compilers_end_before_exit();
    dcli_compiler_begin();
    exit(7);
}

Test(device_program, a_compiler_exits_at_once)
{
    int status = 0;
    int64_t began_ms = dcli_monotonic_ms();
    pid_t child = fork();
    if (child == 0)
        exit_in_a_compiler();
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %d", status);
    cr_expect_lt(dcli_monotonic_ms() - began_ms, 5000);
}
