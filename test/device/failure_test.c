/* Every call of OpenCL fails once, and every command that runs later; drivers that hang, or have no devices.
 * The driver is the one of support/fake_opencl. The stories of scenes.h are played once to count the calls of each
 * function, then again and again, each time with another call failing. */
#include "device/scenes.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "device/opencl.h"
#include "support/fake_opencl/fake_opencl.h"

enum {
    MOST_FUNCTIONS = 64,
    MOST_POLLS = 4 /* functions that are called until something has come are let fail that often */
};

static fake_opencl fake;

static void find_fake(void)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
}

/* With a driver behind it; else the test is skipped. */
static void use_fake(void)
{
    int count = 0;
    find_fake();
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    if (count == 0)
        cr_skip_test("no OpenCL device on this host");
}

/* ---- what may fail unnoticed ---------------------------------------------------------------------------------- */

/* Calls whose failure the caller is not told, from the `first` of a scene on. A name that ends in '*' is the beginning
 * of one; scene NULL: all of them. */
static const struct tolerated {
    const char *function, *scene;
    int first;
    const char *reason;
} tolerated[] = {
    {"clRelease*", NULL, 1, "the object is given up in any case"},
    {"clEnqueueUnmapMemObject", NULL, 1, "of slots that are given up in any case"},
    {"clGetProgramBuildInfo", "build wrong", 1, "the program is refused all the same, without the compiler's reason"},
    {"clWaitForEvents", NULL, 1, "the launch may be complete by then; when it is not: see the tests of waiting"},
    {"clFlush", "flush", 2, "waiting flushes, too"},
    {"clFlush", "notify", 2, "waiting flushes, too"},
    {"clFlush", "notify as GPU", 2, "waiting flushes, too"},
    {"clGetEventProfilingInfo", "measure", 1, "what is not known is not measured"},
    {"clFlush", "measure", 1, "waiting flushes, too"},
    {"clFlush", "launch", 1, "waiting flushes, too"},
    {"clFlush", "launch as GPU", 1, "waiting flushes, too"},
    {"clFlush", "memory separate", 1, "waiting flushes, too"},
    {"clFlush", "slots", 1, "waiting flushes, too"},
    {"clFlush", "copy", 1, "waiting flushes, too"},
    {"clFlush", "probe", 1, "waiting flushes, too"},
    {"clFlush", "retire", 1, "waiting flushes, too"},
    {"clEnqueueMarkerWithWaitList", "retire", 1, "asking without waiting is done again"},
    {"clGetDeviceInfo", "enumerate", 1, "extensions; the scene compares what every driver must tell"},
    {"clGetDeviceInfo", "open", 1, "extensions, as above"},
    {"clGetDeviceInfo", "open separate", 1, "extensions, as above"},
    {"*", "close", 1, "closing tells nothing"},
};

static bool matches(const char *pattern, const char *name)
{
    size_t length = strcspn(pattern, "*");
    return strncmp(pattern, name, length) == 0 && (pattern[length] == '*' || name[length] == '\0');
}

static bool is_tolerated(const test_scene *scene, const char *function, int call)
{
    for (size_t n = 0; n < sizeof tolerated / sizeof tolerated[0]; n++)
        if (matches(tolerated[n].function, function) && call >= tolerated[n].first &&
            (tolerated[n].scene == NULL || strcmp(tolerated[n].scene, scene->name) == 0))
            return true;
    return false;
}

/* ---- playing -------------------------------------------------------------------------------------------------- */

static test_stage set_up(const test_scene *scene)
{
    test_stage stage = {.device = NULL};
    fake.plan(NULL);
    if (scene->flags >= 0)
        stage.device = test_open(scene->flags);
    if (scene->builds)
        stage.program = test_build(stage.device, TEST_ADD_SOURCE, "add");
    if (scene->prepare != NULL)
        cr_assert_eq(scene->prepare(&stage), DCL_OK, "%s: %s", scene->name, dcl_error());
    return stage;
}

static void take_down(const test_scene *scene, test_stage *stage, const char *what)
{
    char left[200];
    fake.plan(NULL);
    dcli_program_release(stage->program);
    dcli_device_close(stage->device);
    cr_expect_str_eq(fake.left(left, sizeof left), "", "%s, %s: not released: %s", scene->name, what, left);
}

/* Play without failures. @param calls_out  [MOST_FUNCTIONS], of each function; added to what is there. */
static void count_calls(const test_scene *scene, int calls_out[])
{
    test_stage stage = set_up(scene);
    fake.plan(NULL);
    cr_assert_eq(scene->play(&stage), DCL_OK, "%s: %s", scene->name, dcl_error());
    for (int n = 0; fake.function(n) != NULL; n++)
        calls_out[n] += fake.calls(fake.function(n));
    take_down(scene, &stage, "no failure");
}

/* The status of a code and the words that its sentence has. */
static void expect_error(dcl_status status, const char *function, int code, const char *what)
{
    char words[128];
    snprintf(words, sizeof words, "%s gave %s (%d)", function, dcli_cl_name(code), code);
    cr_expect_eq(status, code == CL_OUT_OF_HOST_MEMORY ? DCL_ERR_NOMEM : DCL_ERR_DEVICE, "%s: status %d, \"%s\"", what,
                 status, dcl_error());
    cr_expect(strstr(dcl_error(), words) != NULL, "%s: \"%s\"", what, dcl_error());
}

/* A device whose event could not be asked for is not trusted again. */
static bool stays_usable(const test_scene *scene, const char *function)
{
    return strcmp(function, "clGetEventInfo") != 0 && strcmp(scene->name, "close") != 0;
}

/* Play with one call failing, and once more: nothing of the failure may be left. */
static void play_with_failure(const test_scene *scene, const char *function, int call)
{
    int code = call % 2 == 1 ? CL_OUT_OF_RESOURCES : CL_OUT_OF_HOST_MEMORY;
    char what[128];
    snprintf(what, sizeof what, "fail %s %d %d", function, call, code);
    test_stage stage = set_up(scene);
    fake.plan(what);
    dcl_status status = scene->play(&stage);
    bool met = fake.calls(function) >= call;
    snprintf(what, sizeof what, "%s: %s %d", scene->name, function, call);
    fake.plan(NULL);
    if (status != DCL_OK)
        expect_error(status, function, code, what);
    else
        cr_expect(!met || is_tolerated(scene, function, call), "%s: its failure was passed over", what);
    if (stays_usable(scene, function))
        cr_expect_eq(scene->play(&stage), DCL_OK, "%s: afterwards: %s", what, dcl_error());
    take_down(scene, &stage, what);
}

static bool polls(const char *function)
{
    return strcmp(function, "clGetEventInfo") == 0 || strcmp(function, "clEnqueueMarkerWithWaitList") == 0;
}

struct scene_number {
    int number;
};

ParameterizedTestParameters(device_failure, every_call_fails_once)
{
    static struct scene_number numbers[32];
    for (int n = 0; n < test_scene_count; n++)
        numbers[n].number = n;
    return cr_make_param_array(struct scene_number, numbers, (size_t)test_scene_count);
}

ParameterizedTest(struct scene_number *parameter, device_failure, every_call_fails_once, .init = use_fake)
{
    const test_scene *scene = &test_scenes[parameter->number];
    int calls[MOST_FUNCTIONS] = {0};
    count_calls(scene, calls);
    for (int n = 0; fake.function(n) != NULL; n++)
        for (int call = 1; call <= calls[n] && (call <= MOST_POLLS || !polls(fake.function(n))); call++)
            play_with_failure(scene, fake.function(n), call);
}

/* ---- every call is played ------------------------------------------------------------------------------------- */

/* Functions named in the sources that no scene makes fail, with the reason. */
static const struct {
    const char *function, *reason;
} elsewhere[] = {
    {"clGetPlatformIDs", "the loader answers it without asking a driver; see no_platforms"},
    {"clWaitForEvents", "whether a scene waits so long depends on the machine; see the tests of waiting"},
    {"clFlush", "of waiting, the same; the others are played"},
    {"clCreateSubBuffer", "of peer memory; see peer_test.c"},
    {"clGetExtensionFunctionAddressForPlatform", "the same"},
    {"clEnqueueNativeKernel", "of products that a library computes; see runtime/product_test.c"},
    {"clFinish", "called only when other calls failed; see a_device_that_cannot_be_waited_for"},
};

static bool is_played(const char *function, const int calls[])
{
    for (size_t n = 0; n < sizeof elsewhere / sizeof elsewhere[0]; n++)
        if (strcmp(elsewhere[n].function, function) == 0)
            return true;
    for (int n = 0; fake.function(n) != NULL; n++)
        if (strcmp(fake.function(n), function) == 0)
            return calls[n] > 0;
    return false;
}

/* @return the number of calls of OpenCL found in a source file. */
static int check_file(const char *name, const int calls[])
{
    char path[512], line[512], function[64];
    int found = 0;
    snprintf(path, sizeof path, "%s/device/%s", TEST_SOURCES, name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    while (fgets(line, sizeof line, file) != NULL)
        for (const char *at = strstr(line, "cl"); at != NULL; at = strstr(at + 2, "cl")) {
            int length = 0;
            bool call = sscanf(at, "cl%60[A-Za-z]%n", function, &length) == 1 && at[2] >= 'A' && at[2] <= 'Z' &&
                        at[length] == '(' && at[length + 1] != ')' && (at == line || at[-1] != '_');
            if (!call)
                continue;
            found++;
            snprintf(function, sizeof function, "%.*s", length, at);
            cr_expect(is_played(function, calls), "%s: no scene calls %s", name, function);
        }
    fclose(file);
    return found;
}

Test(device_failure, every_call_in_the_sources_is_played, .init = use_fake)
{
    int calls[MOST_FUNCTIONS] = {0}, found = 0;
    for (int n = 0; n < test_scene_count; n++)
        count_calls(&test_scenes[n], calls);
    DIR *folder = opendir(TEST_SOURCES "/device");
    cr_assert_not_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (strstr(entry->d_name, ".c") != NULL)
            found += check_file(entry->d_name, calls);
    closedir(folder);
    cr_expect_geq(found, 50, "%d calls found in the sources", found);
}

/* ---- commands that fail when they run ------------------------------------------------------------------------- */

static void play_with_late_failure(const test_scene *scene, const char *function, int call)
{
    char what[128];
    test_stage stage = set_up(scene);
    snprintf(what, sizeof what, "event %s %d -5", function, call);
    fake.plan(what);
    dcl_status status = scene->play(&stage);
    /* a marker stands for the launch before it */
    const char *named = strcmp(function, "clEnqueueMarkerWithWaitList") == 0 ? "clEnqueueNDRangeKernel" : function;
    snprintf(what, sizeof what, "%s: %s %d when it ran", scene->name, function, call);
    expect_error(status, named, CL_OUT_OF_RESOURCES, what);
    fake.plan(NULL);
    status = scene->play(&stage);
    cr_expect_eq(status, DCL_ERR_DEVICE, "%s: the device is not trusted again, but: %d", what, status);
    take_down(scene, &stage, what);
}

struct late_case {
    char scene[24], function[32];
    int calls;
};

ParameterizedTestParameters(device_failure, commands_fail_when_they_run)
{
    static struct late_case cases[] = {
        /* scene             function                      calls */
        {"launch", "clEnqueueNDRangeKernel", 3},
        {"launch as GPU", "clEnqueueNDRangeKernel", 3}, /* without events of their own */
        {"launch as GPU", "clEnqueueMarkerWithWaitList", 1},
        {"launch as GPU", "clEnqueueFillBuffer", 1}, /* the zeroing */
        {"memory separate", "clEnqueueFillBuffer", 1},
        {"memory separate", "clEnqueueWriteBuffer", 1},
        {"memory separate", "clEnqueueReadBuffer", 1},
        {"slots", "clEnqueueWriteBuffer", 2},
        {"slots", "clEnqueueReadBuffer", 2},
        {"copy", "clEnqueueFillBuffer", 3}, /* the zeroing of two, and a run */
        {"copy", "clEnqueueCopyBuffer", 1},
        {"copy", "clEnqueueNDRangeKernel", 2}, /* strided */
    };
    return cr_make_param_array(struct late_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct late_case *c, device_failure, commands_fail_when_they_run, .init = use_fake)
{
    for (int n = 0; n < test_scene_count; n++)
        if (strcmp(test_scenes[n].name, c->scene) == 0)
            for (int call = 1; call <= c->calls; call++)
                play_with_late_failure(&test_scenes[n], c->function, call);
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

/* An int array and a kernel on it that ends when the plan is changed. */
struct endless {
    dcli_device *device;
    dcli_program *program;
    dcli_memory *memory;
    uint64_t ticket;
};

static void launch_again(struct endless *endless)
{
    const size_t global = 64, local = 64;
    const int n = 3;
    dcli_argument arguments[] = {{.memory = endless->memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    cr_assert_eq(
        dcli_device_launch(endless->device, endless->program, 0, 2, arguments, 1, &global, &local, &endless->ticket),
        DCL_OK, "%s", dcl_error());
}

static struct endless launch_endless_on(int flags, const char *plan)
{
    struct endless endless = {.device = test_open(flags)};
    endless.program = test_build(endless.device, TEST_ADD_SOURCE, "add");
    cr_assert_eq(dcli_memory_create(endless.device, 64 * sizeof(int), &endless.memory), DCL_OK, "%s", dcl_error());
    fake.plan(plan);
    launch_again(&endless);
    return endless;
}

static struct endless launch_endless(const char *plan) { return launch_endless_on(0, plan); }

static void end(struct endless *endless)
{
    char left[200];
    dcli_memory_release(endless->memory);
    dcli_program_release(endless->program);
    dcli_device_close(endless->device);
    fake.plan(NULL);
    cr_expect_str_eq(fake.left(left, sizeof left), "");
}

/* Changes the plan when a function was called. */
static void *release_when_called(void *function)
{
    while (fake.calls(function) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    fake.plan(NULL);
    return NULL;
}

static void finish_while_released(struct endless *endless, const char *when, dcl_status expected)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, release_when_called, (void *)(uintptr_t)when), 0);
    cr_expect_eq(dcli_device_finish(endless->device, endless->ticket), expected, "%s", dcl_error());
    pthread_join(thread, NULL);
}

Test(device_failure, a_kernel_that_hangs_is_waited_for, .init = use_fake)
{
    struct endless endless = launch_endless("hang kernel 1; fail clFlush 1+ -5");
    finish_while_released(&endless, "clWaitForEvents", DCL_OK); /* a failed flush does no harm there */
    cr_expect_eq(dcli_device_retired(endless.device), endless.ticket);
    end(&endless);
}

Test(device_failure, waiting_that_fails_names_the_call_and_waits_for_the_queue, .init = use_fake)
{
    struct endless endless = launch_endless("hang kernel 1; fail clWaitForEvents 1+ -5");
    finish_while_released(&endless, "clFinish", DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "clWaitForEvents gave CL_OUT_OF_RESOURCES (-5)"), "%s", dcl_error());
    cr_expect_eq(dcli_device_finish(endless.device, endless.ticket), DCL_OK, "%s", dcl_error());
    end(&endless);
}

Test(device_failure, a_device_that_cannot_be_waited_for_keeps_its_memory, .init = use_fake)
{
    struct endless endless = launch_endless("hang kernel 1; fail clWaitForEvents 1+ -5; fail clFinish 1+ -36");
    if (!dcli_device_in_place(endless.device)) {
        fake.plan(NULL);
        end(&endless);
        cr_skip_test("device 0 does not use host memory in place");
    }
    volatile int *host = dcli_memory_host(endless.memory);
    cr_expect_eq(dcli_device_finish(endless.device, endless.ticket), DCL_ERR_DEVICE);
    end(&endless); /* and only now the kernel runs */
    for (int n = 0; n < 5000 && host[63] == 0; n++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    cr_expect_eq(host[63], 3);
}

/* Small launches of a GPU have no events of their own: what can never get one counts as failed, not as running for ever. */
Test(device_failure, a_queue_that_never_makes_an_event_is_given_up, .init = use_fake)
{
    struct endless endless = launch_endless_on(DCLI_OPEN_AS_GPU, "fail clEnqueueMarkerWithWaitList 1+ -5");
    for (int n = 0; n < 10000 && dcli_device_retired(endless.device) < endless.ticket; n++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    cr_expect_eq(dcli_device_retired(endless.device), endless.ticket, "not given up after 10 s");
    cr_expect_gt(fake.calls("clEnqueueMarkerWithWaitList"), 1, "it was tried once only");
    cr_expect_eq(dcli_device_outcome(endless.device, endless.ticket), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "clEnqueueMarkerWithWaitList gave CL_OUT_OF_RESOURCES (-5)"), "%s", dcl_error());
    end(&endless);
}

Test(device_failure, a_refused_buffer_gives_its_pages_back, .init = use_fake)
{
    const int flags[] = {0, DCLI_OPEN_SHARED};
    const size_t sizes[] = {50000, 3 << 20};
    for (int mode = 0; mode < 4; mode++) {
        dcli_device *device = test_open(flags[mode % 2]);
        dcli_memory *memory = NULL;
        dcli_device_drop_spare(device);
        size_t kept = dcli_device_spare_bytes(device), size = sizes[mode / 2];
        fake.plan("fail clCreateBuffer 1 -5");
        cr_expect_eq(dcli_memory_create(device, size, &memory), DCL_ERR_DEVICE);
        cr_expect_eq(dcli_device_spare_bytes(device),
                     kept + (dcli_device_in_place(device) ? dcli_pages_round(size) : 0));
        cr_expect_null(memory);
        dcli_device_close(device);
    }
}

static void count_up(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

Test(device_failure, nothing_retires_behind_a_kernel_that_hangs, .init = use_fake)
{
    struct endless endless = launch_endless("hang kernel 1");
    atomic_int calls = 0;
    for (int n = 0; n < 3; n++) /* a loop that sleeps asks after each wake-up */
        cr_expect_eq(dcli_device_notify(endless.device, endless.ticket, count_up, &calls), DCL_OK, "%s", dcl_error());
    cr_expect_eq(dcli_device_retired(endless.device), endless.ticket - 1);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    cr_expect_eq(atomic_load(&calls), 0);
    cr_expect_eq(dcli_device_retired(endless.device), endless.ticket - 1);
    fake.plan(NULL);
    cr_expect_eq(dcli_device_finish(endless.device, endless.ticket), DCL_OK, "%s", dcl_error());
    end(&endless);
    cr_expect_eq(atomic_load(&calls), 1, "one call, and closing waits for it");
}

Test(device_failure, a_notice_of_an_earlier_launch_comes_while_a_kernel_hangs, .init = use_fake)
{
    struct endless endless = launch_endless("hang kernel 2");
    uint64_t first = endless.ticket;
    atomic_int calls = 0;
    launch_again(&endless);
    cr_expect_eq(dcli_device_notify(endless.device, first, count_up, &calls), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < 5000 && atomic_load(&calls) == 0; n++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    cr_expect_eq(atomic_load(&calls), 1);
    cr_expect_eq(dcli_device_retired(endless.device), first);
    fake.plan(NULL);
    cr_expect_eq(dcli_device_finish(endless.device, endless.ticket), DCL_OK, "%s", dcl_error());
    end(&endless);
}

static void *build_in_a_thread(void *device)
{
    static const char *const name = "add";
    dcli_program *program = NULL;
    dcl_status status = dcli_program_build(device, TEST_ADD_SOURCE "/* hangs */", 1, &name, &program, NULL, NULL);
    dcli_program_release(program);
    return (void *)(intptr_t)status;
}

Test(device_failure, a_build_that_hangs_does_not_return, .init = use_fake)
{
    dcli_device *device = test_open(0);
    pthread_t thread;
    void *status = NULL;
    fake.plan("hang clBuildProgram 1");
    cr_assert_eq(pthread_create(&thread, NULL, build_in_a_thread, device), 0);
    while (fake.calls("clBuildProgram") == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    cr_expect_eq(fake.calls("clCreateKernel"), 0);
    fake.plan(NULL);
    pthread_join(thread, &status);
    cr_expect_eq((dcl_status)(intptr_t)status, DCL_OK);
    dcli_device_close(device);
}

/* ---- a compiler that does not work ----------------------------------------------------------------------------- */

static dcl_status build(dcli_device *device, const char *source)
{
    static const char *const name = "add";
    dcli_program *program = NULL;
    dcl_status status = dcli_program_build(device, source, 1, &name, &program, NULL, NULL);
    dcli_program_release(program);
    return status;
}

/* Drivers give CL_BUILD_PROGRAM_FAILURE then, too: the program is not to be blamed. */
Test(device_failure, a_compiler_that_compiles_nothing_blames_no_program, .init = use_fake)
{
    dcli_device *device = test_open(0);
    fake.plan("fail clBuildProgram 1 -11");
    cr_expect_eq(build(device, TEST_ADD_SOURCE "/* once */"), DCL_OK, "%s", dcl_error());
    fake.plan("fail clBuildProgram 1+ -11");
    cr_expect_eq(build(device, TEST_ADD_SOURCE "/* never */"), DCL_ERR_DEVICE, "%s", dcl_error());
    cr_expect_not_null(strstr(dcl_error(), "compiles no program at the moment, not even a right one"), "%s",
                       dcl_error());
    cr_expect_not_null(strstr(dcl_error(), "cache can be written"), "%s", dcl_error());
    fake.plan(NULL);
    cr_expect_eq(build(device, TEST_ADD_SOURCE "/* never */"), DCL_OK, "%s", dcl_error());
    cr_expect_eq(build(device, TEST_ADD_SOURCE "wrong"), DCL_ERR_BODY, "%s", dcl_error());
    dcli_device_close(device);
}

static void expect_named_cache(const char *words)
{
    dcl_status status = dcli_cache_check();
    cr_expect(status == DCL_ERR_DEVICE && strstr(dcl_error(), words) != NULL, "%s: %s", dcl_status_name(status),
              dcl_error());
}

Test(device_failure, a_cache_that_cannot_be_written_is_named)
{
    int count = 0, number = 0;
    setenv("POCL_CACHE_DIR", "/dev/null/cache", 1);
    expect_named_cache("PoCL's kernel cache /dev/null/cache cannot be written: Not a directory");
    unsetenv("POCL_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    expect_named_cache("PoCL's kernel cache /dev/null/pocl/kcache cannot be written");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/dev/null", 1);
    expect_named_cache("PoCL's kernel cache /dev/null/.cache/pocl/kcache cannot be written");
    setenv("POCL_CACHE_DIR", "/tmp/not/there/yet", 1);
    cr_expect_eq(dcli_cache_check(), DCL_OK, "%s", dcl_error());
    setenv("POCL_CACHE_DIR", "/dev/null/cache", 1);
    if (dcli_device_select("cpu", 1, &number, &count) != DCL_OK && strstr(dcl_error(), "no OpenCL device") != NULL)
        cr_expect_not_null(strstr(dcl_error(), "/dev/null/cache"), "%s", dcl_error());
}

/* LLVM ends the process when it cannot write. */
Test(device_failure, a_full_cache_is_named_and_ends_nothing)
{
    char folder[] = "/tmp/dcl-cache-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    bool mounted = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                   mount("tmpfs", folder, "tmpfs", 0, "size=64k") == 0;
    setenv("POCL_CACHE_DIR", folder, 1);
    if (mounted) {
        dcli_device *device = NULL;
        expect_named_cache("bytes left on its file system; expected at least 1048576");
        expect_named_cache(folder);
        if (dcli_device_open(0, NULL, &device) != DCL_OK)
            cr_expect_not_null(strstr(dcl_error(), folder), "%s", dcl_error());
        dcli_device_close(device);
        umount(folder);
    }
    rmdir(folder);
    if (!mounted)
        cr_skip_test("no file system can be mounted here");
}

/* ---- finding nothing ------------------------------------------------------------------------------------------ */

static void no_platforms(void)
{
    setenv("TEST_OPENCL", "no platforms", 1);
    find_fake();
}

static void expect_no_devices(void)
{
    int numbers[8], count = -1;
    cr_expect_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    cr_expect_eq(count, 0);
    cr_expect_eq(dcli_device_select(NULL, 8, numbers, &count), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "no OpenCL device on this host; OCL_ICD_VENDORS is \"") &&
                  strstr(dcl_error(), "which may hide it: correct or unset; install a driver"),
              "%s", dcl_error());
    dcli_device *device = NULL;
    cr_expect_eq(dcli_device_open(0, NULL, &device), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "there is no device 0; expected one of the 0 of this host"), "%s", dcl_error());
    cr_expect_null(device);
}

Test(device_failure, no_platforms, .init = no_platforms) { expect_no_devices(); }

Test(device_failure, a_platform_without_devices, .init = use_fake)
{
    fake.plan("no devices");
    expect_no_devices();
}

Test(device_failure, a_platform_that_gives_errors, .init = use_fake)
{
    int count = -1;
    fake.plan("fail clGetDeviceIDs 1+ -32");
    cr_expect_eq(dcli_device_enumerate(0, NULL, &count), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "clGetDeviceIDs gave CL_INVALID_PLATFORM (-32) when devices were looked for"), "%s",
              dcl_error());
    cr_expect_eq(count, -1);
}

struct claim_case {
    char plan[80];
    int queries; /* more than without the claim; an extension not asked for saves two */
};

ParameterizedTestParameters(device_failure, identity_that_a_driver_claims_and_does_not_tell)
{
    static struct claim_case cases[] = {
        {"claim cl_khr_device_uuid", 1},
        {"claim cl_khr_pci_bus_info", 1 - 2},
        {"claim cl_nv_device_attribute_query", 1},
        {"claim cl_khr_device_uuid; claim cl_khr_pci_bus_info", 2 - 2},
    };
    return cr_make_param_array(struct claim_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct claim_case *c, device_failure, identity_that_a_driver_claims_and_does_not_tell,
                  .init = use_fake)
{
    static dcli_found found[DCLI_MOST_DEVICES];
    int count = 0;
    fake.plan("claim nothing");
    cr_assert_eq(dcli_find_devices(found, &count), DCL_OK, "%s", dcl_error());
    int before = fake.calls("clGetDeviceInfo"), device_count = count;
    fake.plan(c->plan);
    cr_assert_eq(dcli_find_devices(found, &count), DCL_OK, "%s", dcl_error());
    cr_expect_eq(count, device_count);
    cr_expect_eq(fake.calls("clGetDeviceInfo"), before + count * c->queries, "%s", c->plan);
    for (int n = 0; n < count; n++)
        cr_expect(!found[n].has_uuid && !found[n].has_bus, "device %d, %s: known all the same", n, c->plan);
}
