/* Peer memory: libcuda is loaded, or not; every call of it and of OpenCL fails once; memory is made, imported by another device
 * and given back. The drivers are those of support/fake_opencl and support/fake_cuda. */
#include "device/opened.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/opencl.h"
#include "device/peer_cuda.h"
#include "support/fake_cuda/fake_cuda.h"
#include "support/fake_opencl/fake_opencl.h"

enum { COUNT = 4096 };

static const size_t bytes = COUNT * sizeof(int);
static fake_opencl opencl;
static fake_cuda cuda;

/* Two devices; else the test is skipped. */
static void use_fakes(const char *cuda_plan)
{
    int count = 0;
    setenv("POCL_DEVICES", "pthread pthread", 0);
    fake_opencl_select();
    cr_assert(fake_opencl_find(&opencl), "%s", TEST_FAKE_OPENCL);
    cr_assert(fake_cuda_load(&cuda), "%s", TEST_FAKE_CUDA);
    opencl.plan("apart; peers");
    cuda.plan(cuda_plan);
    cr_assert_eq(dcli_device_enumerate(0, NULL, &count), DCL_OK, "%s", dcl_error());
    if (count < 2)
        cr_skip_test("two OpenCL devices are wanted; this host has %d", count);
}

static void expect_released(const char *what)
{
    char left[200];
    cr_expect_str_eq(opencl.left(left, sizeof left), "", "%s: not released: %s", what, left);
    cr_expect_eq(cuda.left(), 0, "%s: %d memories of CUDA are not released", what, cuda.left());
}

static dcli_device *open_device(int number)
{
    dcli_device *device = NULL;
    cr_assert_eq(dcli_device_open_as(number, NULL, DCLI_OPEN_PEERS, &device), DCL_OK, "%s", dcl_error());
    return device;
}

static dcli_memory *create(dcli_device *device, size_t size)
{
    dcli_memory *memory = NULL;
    cr_assert_eq(dcli_memory_create(device, size, &memory), DCL_OK, "%s", dcl_error());
    return memory;
}

static dcli_memory *import(dcli_device *device, const dcli_memory *of)
{
    dcli_memory_place place;
    dcli_memory *memory = NULL;
    cr_assert(dcli_memory_place_of(of, &place));
    cr_assert_eq(dcli_memory_import(device, &place, dcli_memory_bytes(of), &memory), DCL_OK, "%s", dcl_error());
    cr_expect(dcli_memory_is_import(memory, &place));
    return memory;
}

static void add(dcli_device *device, dcli_memory *memory, int n)
{
    dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
    const size_t global = COUNT, local = 64;
    dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    cr_assert_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_OK, "%s",
                 dcl_error());
    cr_assert_eq(dcli_memory_settle(memory, true), DCL_OK, "%s", dcl_error());
    dcli_program_release(program);
}

static void expect_all(dcli_memory *memory, int expected, const char *what)
{
    static int found[COUNT];
    int wrong = 0;
    cr_assert_eq(dcli_memory_get(memory, 0, found, bytes), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < COUNT; n++)
        wrong += found[n] != expected;
    cr_expect_eq(wrong, 0, "%s: %d are wrong, the first is %d; expected %d", what, wrong, found[0], expected);
}

Test(peer, memory_is_used_by_two_devices)
{
    use_fakes(NULL);
    dcli_device *owner = open_device(0), *reader = open_device(1);
    cr_assert(dcli_device_reads_peers(owner) && dcli_device_reads_peers(reader));
    dcli_memory *before = create(owner, 5000), *memory = create(owner, bytes); /* not at the start of its slab */
    dcli_memory *there = import(reader, memory);
    size_t taken = dcli_device_taken_bytes(reader);
    add(owner, memory, 3);
    expect_all(there, 3, "as the reader sees it");
    add(owner, memory, 4);
    expect_all(there, 7, "again");
    expect_all(memory, 7, "as the owner sees it");
    cr_expect_eq(taken, 0, "what is imported is not counted");
    dcli_memory_release(memory);
    expect_all(there, 7, "after the owner has given it back");
    dcli_memory_release(there);
    dcli_memory_release(before);
    dcli_device_close(reader);
    dcli_device_close(owner);
    expect_released("two devices");
}

/* Every element plus n, in one launch. */
static void add_to_all(dcli_device *device, dcli_memory *memory, int n)
{
    dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
    const size_t global = dcli_memory_bytes(memory) / sizeof(int), local = 64;
    dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    cr_assert_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_OK, "%s",
                 dcl_error());
    cr_assert_eq(dcli_memory_settle(memory, true), DCL_OK, "%s", dcl_error());
    dcli_program_release(program);
}

/* What lies in several pieces is used as one memory: by kernels, commands, and other devices. */
Test(peer, large_memory_consists_of_pieces)
{
    enum { MB = 1 << 20, INTS = 9 * MB / 4, SOME = 3 * MB / 4 };
    static int written[INTS], found[INTS];
    const int64_t one = 1, count = SOME;
    use_fakes(NULL);
    dcli_most_piece_bytes = 2 * MB;
    dcli_device *owner = open_device(0), *reader = open_device(1);
    dcli_memory *memory = create(owner, 9 * MB), *other = create(owner, 5 * MB);
    dcli_memory_place place;
    cr_assert(dcli_memory_place_of(memory, &place));
    cr_expect_eq(place.piece_count, 5);
    cr_expect_eq(place.piece_bytes, 2 * MB);
    cr_assert_eq(dcli_memory_get(memory, 0, found, sizeof found), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < INTS; n++) {
        cr_assert_eq(found[n], 0, "element %d is %d", n, found[n]);
        written[n] = 7 * n;
    }
    cr_assert_eq(dcli_memory_put(memory, 0, written, sizeof written), DCL_OK, "%s", dcl_error());
    add_to_all(owner, memory, 3);
    const int fill = 42;
    cr_assert_eq(dcli_device_fill(owner, memory, MB / 4, &one, &fill, 1, &count, sizeof(int)), DCL_OK, "%s",
                 dcl_error());
    cr_assert_eq(dcli_device_copy(owner, other, MB / 4, &one, memory, 5 * MB / 4, &one, 1, &count, sizeof(int)), DCL_OK,
                 "%s", dcl_error());
    cr_assert_eq(dcli_memory_settle(memory, true), DCL_OK);
    dcli_memory *there = import(reader, memory);
    cr_assert_eq(dcli_memory_get(there, 0, found, sizeof found), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < INTS; n++)
        cr_assert_eq(found[n], n >= MB / 4 && n < MB / 4 + SOME ? 42 : 7 * n + 3, "element %d is %d", n, found[n]);
    cr_assert_eq(dcli_memory_get(other, MB, found, SOME * sizeof(int)), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < SOME; n++)
        cr_assert_eq(found[n], 7 * (5 * MB / 4 + n) + 3, "copied element %d is %d", n, found[n]);
    add_to_all(reader, there, 1);
    cr_assert_eq(dcli_memory_get(memory, 8 * MB, found, MB), DCL_OK, "%s", dcl_error());
    cr_expect_eq(found[0], 7 * (8 * MB / 4) + 4, "the reader's kernel reaches the last piece");
    dcli_memory *all[] = {there, memory, other};
    for (int n = 0; n < 3; n++)
        dcli_memory_release(all[n]);
    dcli_device_close(reader);
    dcli_device_close(owner);
    expect_released("pieces");
}

Test(peer, memory_that_is_used_again_is_zeroed)
{
    use_fakes(NULL);
    dcli_device *device = open_device(0);
    for (int round = 0; round < 3; round++) {
        dcli_memory *small = create(device, bytes), *large = create(device, 5 << 20);
        expect_all(small, 0, "small");
        expect_all(large, 0, "large");
        add(device, small, 5);
        add(device, large, 5);
        dcli_memory_release(small);
        dcli_memory_release(large);
    }
    cr_expect_eq(cuda.calls("cuMemCreate"), 2 + 1 + 1, "two of the trial, a slab, and large memory: %d",
                 cuda.calls("cuMemCreate"));
    dcli_device_close(device);
    expect_released("used again");
}

Test(peer, a_slab_has_all_of_its_memory_from_the_start)
{
    use_fakes(NULL);
    dcli_device *device = open_device(0);
    dcli_memory *small = create(device, 5000);
    cr_expect_eq(dcli_device_spare_bytes(device), DCLI_SLAB_BYTES - 2 * DCLI_MEMORY_ALIGN, "%zu are kept",
                 dcli_device_spare_bytes(device));
    dcli_memory_release(small);
    dcli_device_close(device);
    expect_released("a slab");
}

Test(peer, scratch_and_private_memory_have_no_place)
{
    use_fakes(NULL);
    dcli_device *device = open_device(0);
    dcli_memory *scratch = NULL, *private = NULL, *nothing = create(device, 0);
    dcli_memory_place place;
    cr_assert_eq(dcli_memory_scratch(device, bytes, &scratch), DCL_OK);
    cr_assert_eq(dcli_memory_create_private(device, bytes, &private), DCL_OK);
    cr_expect_not(dcli_memory_place_of(scratch, &place));
    cr_expect_not(dcli_memory_place_of(private, &place));
    cr_expect_not(dcli_memory_place_of(nothing, &place));
    dcli_memory_release(scratch);
    dcli_memory_release(private);
    dcli_memory_release(nothing);
    dcli_device_close(device);
    expect_released("no place");
}

/* What is imported serves all memories in it, until its owner has freed it. */
Test(peer, imports_last_as_long_as_their_memory)
{
    use_fakes(NULL);
    dcli_device *owner = open_device(0), *reader = open_device(1);
    dcli_memory *memory[3] = {create(owner, bytes), create(owner, 2 * bytes), create(owner, 5 << 20)}, *there[3];
    char before[200], after[200];
    opencl.left(before, sizeof before);
    opencl.plan("apart; peers");
    for (int round = 0; round < 3; round++)
        for (int n = 0; n < 3; n++) {
            there[n] = import(reader, memory[n]);
            add(reader, there[n], 1);
            dcli_memory_release(there[n]);
        }
    cr_expect_eq(opencl.calls("clCreateBufferWithProperties"), 2, "a slab and large memory: %d",
                 opencl.calls("clCreateBufferWithProperties"));
    expect_all(memory[0], 3, "as the owner sees it");
    dcli_memory_place place;
    cr_assert(dcli_memory_place_of(memory[0], &place));
    there[0] = import(reader, memory[0]);
    dcli_device_end_imports(reader, place.owner, place.memfd);
    expect_all(there[0], 3, "used until it is released");
    dcli_memory_release(there[0]);
    dcli_device_end_imports(reader, place.owner, 0);
    dcli_program_release(test_build(reader, TEST_ADD_SOURCE, "add"));
    dcli_device_drop_spare(reader);
    opencl.left(after, sizeof after);
    cr_expect_eq(atoi(strstr(after, "cl_mem") - 3), atoi(strstr(before, "cl_mem") - 3), "before \"%s\", after \"%s\"",
                 before, after);
    for (int n = 0; n < 3; n++)
        dcli_memory_release(memory[n]);
    dcli_device_close(reader);
    dcli_device_close(owner);
    expect_released("imports that end");
}

/* Just below the size from which memory has a descriptor of its own: it may have one nevertheless. */
Test(peer, memory_of_nearly_a_huge_page)
{
    static const size_t sizes[] = {DCLI_HUGE_BYTES - DCLI_MEMORY_ALIGN, DCLI_HUGE_BYTES - DCLI_MEMORY_ALIGN + 1,
                                   DCLI_HUGE_BYTES - 1, DCLI_HUGE_BYTES};
    use_fakes(NULL);
    dcli_device *owner = open_device(0), *reader = open_device(1);
    for (int n = 0; n < 4; n++) {
        dcli_memory *memory = create(owner, sizes[n]);
        add(owner, memory, n);
        dcli_memory *there = import(reader, memory);
        expect_all(there, n, "of nearly a huge page");
        dcli_memory_release(there);
        dcli_memory_release(memory);
    }
    dcli_device_close(reader);
    dcli_device_close(owner);
    expect_released("nearly a huge page");
}

/* Memory that commands still use when it is released is waited for before an array does without peer memory. */
Test(peer, memory_that_is_still_used_is_waited_for)
{
    enum { MB = 1 << 20, BYTES = 1000 };
    use_fakes(NULL);
    dcli_most_piece_bytes = 2 * MB;
    dcli_device *device = open_device(0);
    dcli_memory_place place;
    dcli_memory *memory = create(device, 9 * MB);
    size_t taken = dcli_device_taken_bytes(device);
    dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
    const size_t global = COUNT, local = 64;
    const int n = 1;
    dcli_argument arguments[] = {{.memory = memory, .written = true}, {.value = &n, .bytes = sizeof n}};
    opencl.plan("apart; peers; late clEnqueueNDRangeKernel 1 200");
    cuda.plan(NULL);
    cr_assert_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_OK);
    cr_assert_eq(dcli_device_flush(device), DCL_OK);
    dcli_memory_release(memory);
    cr_expect_lt(dcli_device_taken_bytes(device), taken);
    cr_expect_geq(dcli_device_spare_bytes(device), 10 * MB, "it counts as spare");
    cuda.plan("fail cuMemCreate 1 2");
    memory = create(device, 20 * MB);
    cr_expect(dcli_memory_place_of(memory, &place), "made of what was waited for");
    dcli_memory_release(memory);
    memory = create(device, 9 * MB);
    dcli_memory_release(memory);
    cr_expect_gt(dcli_device_spare_bytes(device), 0, "it is retained");
    opencl.plan("apart; peers; fail clCreateBuffer 1 -4");
    cr_assert_eq(dcli_memory_scratch(device, BYTES, &memory), DCL_OK, "in place of what is retained: %s", dcl_error());
    cr_expect_eq(dcli_device_spare_bytes(device), 0);
    dcli_memory_release(memory);
    dcli_device_drop_spare(device);
    cr_expect_eq(dcli_device_spare_bytes(device), 0);
    dcli_program_release(program);
    dcli_device_close(device);
    expect_released("waited for");
}

/* The fake driver refuses what NVIDIA's refuses: so a stale argument is found by the tests here. */
Test(peer, stale_arguments_are_refused)
{
    use_fakes(NULL);
    dcli_device *device = open_device(0), *other = open_device(1);
    dcli_memory *memory = create(device, bytes), *foreign = create(other, bytes), *next;
    add(device, memory, 1);
    dcli_memory stale = *memory; /* equal to the kernel's last argument, which is not set again */
    dcli_memory_release(memory);
    dcli_device_drop_spare(device);
    next = create(device, bytes); /* may get the handle that has become free */
    dcli_program *program = test_build(device, TEST_ADD_SOURCE, "add");
    const size_t global = COUNT, local = 64;
    const int n = 1;
    dcli_argument arguments[] = {{.memory = &stale, .written = true}, {.value = &n, .bytes = sizeof n}};
    cr_expect_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_ERR_DEVICE);
    cr_expect(strstr(dcl_error(), "CL_INVALID_KERNEL_ARGS") != NULL, "%s", dcl_error());
    dcli_memory misplaced = {.device = device, .buffer = foreign->buffer, .serial = 1000, .bytes = bytes};
    arguments[0].memory = &misplaced;
    cr_expect_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_ERR_DEVICE);
    dcli_program_release(program);
    dcli_memory_release(next);
    dcli_memory_release(foreign);
    dcli_device_close(other);
    dcli_device_close(device);
    expect_released("stale arguments");
}

/* Addresses of pieces are asked while a kernel runs that does not end. */
Test(peer, pieces_are_imported_beside_kernels, .timeout = 60)
{
    enum { MB = 1 << 20 };
    use_fakes(NULL);
    dcli_most_piece_bytes = 2 * MB;
    dcli_device *owner = open_device(0), *reader = open_device(1);
    dcli_memory *memory = create(owner, 9 * MB), *busy = create(reader, bytes);
    dcli_memory_release(import(reader, memory)); /* compiles */
    dcli_memory_place place;
    cr_assert(dcli_memory_place_of(memory, &place));
    dcli_device_end_imports(reader, place.owner, 0);
    dcli_program *program = test_build(reader, TEST_ADD_SOURCE, "add");
    const size_t global = COUNT, local = 64;
    const int n = 1;
    dcli_argument arguments[] = {{.memory = busy, .written = true}, {.value = &n, .bytes = sizeof n}};
    opencl.plan("apart; peers; hang kernel 1");
    cr_assert_eq(dcli_device_launch(reader, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_OK);
    cr_assert_eq(dcli_device_flush(reader), DCL_OK);
    dcli_memory *there = import(reader, memory), *own = create(reader, 9 * MB);
    opencl.plan("apart; peers"); /* the kernel ends */
    expect_all(there, 0, "imported meanwhile");
    expect_all(own, 0, "made meanwhile");
    expect_all(busy, 1, "of the kernel");
    dcli_memory *all[] = {there, own, busy, memory};
    for (int m = 0; m < 4; m++)
        dcli_memory_release(all[m]);
    dcli_program_release(program);
    dcli_device_close(reader);
    dcli_device_close(owner);
    expect_released("beside kernels");
}

/* Descriptors are left for everything else: arrays beyond that are made without. */
Test(peer, descriptors_are_limited)
{
    enum { LIMIT = 128, ARRAYS = 140 };
    struct rlimit limit;
    use_fakes(NULL);
    dcli_device *device = open_device(0);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = LIMIT;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    static dcli_memory *memory[ARRAYS];
    dcli_memory_place place;
    int shown = 0;
    for (int n = 0; n < ARRAYS; n++) {
        memory[n] = create(device, DCLI_HUGE_BYTES);
        shown += dcli_memory_place_of(memory[n], &place);
    }
    int next = dup(0);
    cr_expect(shown > LIMIT / 2 && shown < LIMIT, "%d of %d can be shown", shown, ARRAYS);
    cr_expect(next >= 0 && next <= LIMIT - LIMIT / 8, "descriptor %d is the next", next);
    close(next);
    for (int n = 0; n < ARRAYS; n++)
        dcli_memory_release(memory[n]);
    dcli_device_close(device);
    expect_released("many descriptors");
}

/* ---- hosts without ----------------------------------------------------------------------------------------------- */

static char said[4096];

static void note(void *user, int level, const char *line)
{
    (void)user;
    (void)level;
    strncat(said, line, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

/* Open a device that is to do without peer memory, and use it. @param words  of the line in the log; NULL: there is none. */
static void expect_plain(const char *what, int flags, const char *words)
{
    dcli_log log = {.level = DCLI_LOG_INFO, .fn = note};
    dcli_device *device = NULL;
    dcli_memory_place place;
    said[0] = '\0';
    cr_assert_eq(dcli_device_open_as(0, &log, flags, &device), DCL_OK, "%s: %s", what, dcl_error());
    cr_expect_not(dcli_device_reads_peers(device), "%s", what);
    dcli_memory *memory = create(device, bytes);
    cr_expect_not(dcli_memory_place_of(memory, &place), "%s", what);
    add(device, memory, 9);
    expect_all(memory, 9, what);
    dcli_memory_release(memory);
    dcli_device_close(device);
    if (words == NULL)
        cr_expect(strstr(said, "other GPUs") == NULL, "%s: \"%s\"", what, said);
    else
        cr_expect(strstr(said, words) != NULL, "%s: \"%s\"", what, said);
    expect_released(what);
}

Test(peer, nobody_asks_for_it)
{
    use_fakes(NULL);
    expect_plain("not asked for", 0, NULL);
    cr_expect_eq(cuda.calls("cuInit"), 0, "libcuda is not touched");
}

Test(peer, one_gpu_is_alone)
{
    use_fakes("gpus 1");
    expect_plain("one GPU", DCLI_OPEN_PEERS, NULL);
    cr_expect_eq(cuda.calls("cuMemCreate"), 0);
}

Test(peer, other_drivers_cannot)
{
    use_fakes(NULL);
    opencl.plan("apart");
    expect_plain("no extension", DCLI_OPEN_PEERS, NULL);
    cr_expect_eq(cuda.calls("cuInit"), 0, "libcuda is not touched");
}

struct plain_case {
    char plan[40], words[80];
};

ParameterizedTestParameters(peer, gpus_that_cannot)
{
    static struct plain_case cases[] = {
        {"plain", "GPU 7 makes no memory that can be passed on as a descriptor"},
        {"grain 3145728", "in multiples of 3145728 bytes"},
        {"strangers", "libcuda does not know this device"},
        {"fail cuInit 1 100", "cuInit: an unknown code (100)"},
        {"fail cuMemCreate 1+ 2", "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2)"},
    };
    return cr_make_param_array(struct plain_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct plain_case *c, peer, gpus_that_cannot)
{
    use_fakes(c->plan);
    expect_plain(c->plan, DCLI_OPEN_PEERS, c->words);
}

/* Without the fake, unless this host has NVIDIA's. */
Test(peer, host_without_libcuda)
{
    int count = -1;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library != NULL)
        cr_skip_test("this host has libcuda");
    cr_expect_eq(dcli_cuda_count(&count), DCL_ERR_UNSUPPORTED);
    cr_expect(strstr(dcl_error(), "libcuda.so.1 cannot be loaded: ") != NULL, "%s", dcl_error());
    cr_expect_eq(count, -1, "outputs are untouched");
}

/* ---- every call fails once ---------------------------------------------------------------------------------------- */

/* Calls that a device makes when it is opened: whichever fails, it works without peer memory. */
static int count_opening_calls(const char *function, bool of_cuda)
{
    dcli_device_close(open_device(0));
    return of_cuda ? cuda.calls(function) : opencl.calls(function);
}

ParameterizedTestParameters(peer, libcuda_refuses_to_open)
{
    static char names[16][40];
    size_t count = 0;
    fake_cuda loaded;
    if (fake_cuda_load(&loaded))
        while (count < 16 && loaded.function((int)count) != NULL) {
            snprintf(names[count], sizeof names[count], "%s", loaded.function((int)count));
            count++;
        }
    return cr_make_param_array(char[40], names, count);
}

ParameterizedTest(char (*function)[40], peer, libcuda_refuses_to_open)
{
    enum { MOST_CALLS = 8 };
    char plan[80];
    use_fakes(NULL);
    /* What the process learned from its first look at libcuda is kept: only the calls of later openings can fail. */
    bool once = strncmp(*function, "cuMem", 5) != 0 || strcmp(*function, "cuMemGetAllocationGranularity") == 0;
    if (once) {
        snprintf(plan, sizeof plan, "fail %s 1 999", *function);
        cuda.plan(plan);
        expect_plain(plan, DCLI_OPEN_PEERS, "CUDA_ERROR_UNKNOWN (999)");
        return;
    }
    int calls = count_opening_calls(*function, true);
    cr_assert(calls >= 2 && calls <= MOST_CALLS, "%s is called %d times", *function, calls);
    for (int call = 1; call <= calls; call++) {
        snprintf(plan, sizeof plan, "fail %s %d 999", *function, call);
        cuda.plan(plan);
        expect_plain(plan, DCLI_OPEN_PEERS, *function);
    }
}

Test(peer, opencl_refuses_to_open)
{
    static const char *const functions[] = {"clCreateBufferWithProperties", "clEnqueueAcquireExternalMemObjectsKHR"};
    char plan[120];
    use_fakes(NULL);
    for (int f = 0; f < 2; f++) {
        opencl.plan("apart; peers");
        int calls = count_opening_calls(functions[f], false);
        cr_assert_geq(calls, 4, "%s is called %d times", functions[f], calls);
        for (int call = 1; call <= calls; call++) {
            snprintf(plan, sizeof plan, "apart; peers; fail %s %d -5", functions[f], call);
            opencl.plan(plan);
            expect_plain(plan, DCLI_OPEN_PEERS, functions[f]);
        }
    }
}

/* An array that cannot be made of peer memory is made as usual: other devices cannot read it. */
Test(peer, arrays_that_cannot_be_shown)
{
    use_fakes(NULL);
    dcli_device *device = open_device(0);
    dcli_memory_place place;
    cuda.plan("fail cuMemCreate 1+ 2");
    dcli_memory *memory = create(device, bytes), *large = create(device, 5 << 20);
    cr_expect_not(dcli_memory_place_of(memory, &place));
    cr_expect_not(dcli_memory_place_of(large, &place));
    cuda.plan(NULL);
    opencl.plan("apart; peers; fail clCreateBufferWithProperties 1+ -5");
    dcli_memory *third = create(device, bytes);
    cr_expect_not(dcli_memory_place_of(third, &place));
    opencl.plan("apart; peers");
    dcli_memory *fourth = create(device, 5000), *fifth = NULL; /* a slab is there then */
    cr_expect(dcli_memory_place_of(fourth, &place));
    opencl.plan("apart; peers; fail clCreateSubBuffer 1 -5");
    fifth = create(device, bytes);
    cr_expect_not(dcli_memory_place_of(fifth, &place));
    add(device, memory, 2);
    expect_all(memory, 2, "made as usual");
    expect_all(large, 0, "made as usual");
    expect_all(third, 0, "made as usual");
    expect_all(fifth, 0, "made as usual");
    dcli_memory *all[] = {memory, large, third, fourth, fifth};
    for (int n = 0; n < 5; n++)
        dcli_memory_release(all[n]);
    dcli_device_close(device);
    expect_released("as usual");
}

Test(peer, imports_that_fail_say_so)
{
    use_fakes(NULL);
    dcli_device *owner = open_device(0), *reader = open_device(1);
    dcli_memory *first = create(owner, 5000), *memory = create(owner, bytes), *there = NULL;
    dcli_memory_place place;
    cr_assert(dcli_memory_place_of(memory, &place));
    opencl.plan("apart; peers; fail clCreateBufferWithProperties 1 -6");
    cr_expect_eq(dcli_memory_import(reader, &place, bytes, &there), DCL_ERR_NOMEM);
    cr_expect(strstr(dcl_error(), "clCreateBufferWithProperties gave CL_OUT_OF_HOST_MEMORY") != NULL, "%s",
              dcl_error());
    opencl.plan("apart; peers; fail clEnqueueAcquireExternalMemObjectsKHR 1 -5");
    cr_expect_neq(dcli_memory_import(reader, &place, bytes, &there), DCL_OK);
    opencl.plan("apart; peers; fail clCreateSubBuffer 1 -5");
    cr_expect_neq(dcli_memory_import(reader, &place, bytes, &there), DCL_OK);
    opencl.plan("apart; peers");
    cr_expect_null(there);
    cr_expect_eq(dcli_memory_import(reader, &place, bytes, &there), DCL_OK, "%s", dcl_error());
    dcli_memory_release(there);
    dcli_memory_release(memory);
    dcli_memory_release(first);
    dcli_device_close(reader);
    dcli_device_close(owner);
    expect_released("imports");
}
