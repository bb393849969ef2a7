/* Memory that other processes read in place: memfds, their seals, their reuse, their end. */
#include "device/opened.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "device/opencl.h"
#include "support/pages.h"

enum { COUNT = 4096 };

static const size_t bytes = COUNT * sizeof(int);

/* Shared, and in place; else the test is skipped. */
static dcli_device *open_shared(void)
{
    dcli_device *device = test_open(DCLI_OPEN_SHARED);
    if (!dcli_device_in_place(device)) {
        dcli_device_close(device);
        cr_skip_test("device 0 does not use host memory in place");
    }
    return device;
}

static dcli_memory *create(dcli_device *device, size_t size)
{
    dcli_memory *memory = NULL;
    cr_assert_eq(dcli_memory_create(device, size, &memory), DCL_OK, "%s", dcl_error());
    return memory;
}

/* @return -1: none. */
static int descriptor_of(const dcli_memory *memory)
{
    dcli_memory_place place;
    return dcli_memory_place_of(memory, &place) ? place.descriptor : -1;
}

static dcli_memory_place place_of(const dcli_memory *memory)
{
    dcli_memory_place place = {.descriptor = -1};
    cr_assert(dcli_memory_place_of(memory, &place));
    return place;
}

/* Add `n` to all COUNT elements. */
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

#define COPY_SOURCE                                                 \
    "__kernel void copy(__global int *to, __global const int *p)\n" \
    "{\n    to[get_global_id(0)] = p[get_global_id(0)];\n}\n"

/* Sum of all elements of a mapping that may only be read, as a kernel of `device` reads it in place. */
static int64_t read_in_place(dcli_device *device, void *mapped)
{
    dcli_program *program = test_build(device, COPY_SOURCE, "copy");
    dcli_memory *peer = NULL, *copy = create(device, bytes);
    cr_assert_eq(dcli_memory_wrap(device, mapped, bytes, &peer), DCL_OK, "%s", dcl_error());
    cr_expect_eq(descriptor_of(peer), -1, "wrapped memory has none");
    const size_t global = COUNT, local = 64;
    dcli_argument arguments[] = {{.memory = copy, .written = true}, {.memory = peer}};
    cr_assert_eq(dcli_device_launch(device, program, 0, 2, arguments, 1, &global, &local, NULL), DCL_OK, "%s",
                 dcl_error());
    int values[COUNT];
    cr_assert_eq(dcli_memory_get(copy, 0, values, bytes), DCL_OK, "%s", dcl_error());
    int64_t sum = 0;
    for (int n = 0; n < COUNT; n++)
        sum += values[n];
    dcli_memory_release(peer);
    dcli_memory_release(copy);
    dcli_program_release(program);
    return sum;
}

static int64_t read_once(int descriptor, int64_t offset)
{
    dcli_device *device = open_shared();
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptor, offset);
    cr_assert_neq(mapped, MAP_FAILED, "%s", strerror(errno));
    int64_t sum = read_in_place(device, mapped);
    munmap(mapped, bytes);
    dcli_device_close(device);
    return sum;
}

Test(device_shared, another_device_reads_in_place_what_a_kernel_wrote)
{
    dcli_device *writer = open_shared(), *reader = open_shared();
    dcli_memory *memory = create(writer, bytes);
    dcli_memory_place place = place_of(memory);
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, place.descriptor, (off_t)place.offset);
    cr_assert_neq(mapped, MAP_FAILED, "%s", strerror(errno));
    cr_expect_eq(read_in_place(reader, mapped), 0, "zeroed");
    for (int round = 1; round <= 3; round++) {
        add(writer, memory, 1);
        cr_expect_eq(read_in_place(reader, mapped), round * COUNT);
    }
    dcli_memory_release(memory);
    dcli_device_close(writer);
    cr_expect_eq(read_in_place(reader, mapped), 3 * COUNT, "pages live as long as they are mapped");
    munmap(mapped, bytes);
    dcli_device_close(reader);
}

static void send_place(int socket, dcli_memory_place place)
{
    int64_t offset = (int64_t)place.offset;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec data = {.iov_base = &offset, .iov_len = sizeof offset};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &place.descriptor, sizeof place.descriptor);
    cr_assert_eq(sendmsg(socket, &message, 0), (ssize_t)sizeof offset, "%s", strerror(errno));
}

/* @return the descriptor, or -1. */
static int receive_place(int socket, int64_t *offset_out)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {.iov_base = offset_out, .iov_len = sizeof *offset_out};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int descriptor = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof *offset_out &&
        message.msg_controllen >= CMSG_LEN(sizeof(int)))
        memcpy(&descriptor, CMSG_DATA(&control.header), sizeof descriptor);
    return descriptor;
}

Test(device_shared, another_process_reads_in_place_what_a_kernel_wrote)
{
#ifdef __SANITIZE_THREAD__
    cr_skip_test("the thread sanitizer allows no threads in a process forked from one with threads");
#endif
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid_t child = fork(); /* before the driver's threads are there */
    cr_assert_geq(child, 0);
    if (child == 0) {
        close(pair[0]); /* else the end of the parent would not be noticed */
        int64_t offset = 0;
        int descriptor = receive_place(pair[1], &offset);
        _exit(descriptor >= 0 && read_once(descriptor, offset) == 7 * COUNT ? 0 : 1);
    }
    close(pair[1]);
    dcli_device *device = open_shared();
    dcli_memory *before = create(device, bytes), *memory = create(device, bytes);
    add(device, memory, 7);
    send_place(pair[0], place_of(memory));
    int state = -1;
    cr_expect_eq(waitpid(child, &state, 0), child);
    cr_expect_eq(state, 0, "the child saw other values");
    close(pair[0]);
    dcli_memory_release(before);
    dcli_memory_release(memory);
    dcli_device_close(device);
}

Test(device_shared, size_is_sealed_and_nobody_else_writes)
{
    dcli_device *device = open_shared();
    dcli_memory *memory = create(device, bytes);
    int descriptor = descriptor_of(memory);
    struct stat about;
    cr_assert_eq(fstat(descriptor, &about), 0);
    cr_expect_geq(about.st_size, (off_t)bytes);
    cr_expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    cr_expect_eq(ftruncate(descriptor, 0), -1);
    cr_expect_eq(ftruncate(descriptor, about.st_size * 2), -1);
    int seals = fcntl(descriptor, F_GET_SEALS);
    cr_expect_eq(seals & ~F_SEAL_FUTURE_WRITE, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, "seals %x", seals);
    if (seals & F_SEAL_FUTURE_WRITE)
        cr_expect_eq(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), MAP_FAILED);
    dcli_memory_release(memory);
    dcli_device_close(device);
}

Test(device_shared, only_parts_of_devices_opened_so_have_a_descriptor)
{
    const int modes[] = {0, DCLI_OPEN_SEPARATE, DCLI_OPEN_SEPARATE | DCLI_OPEN_SHARED};
    for (int mode = 0; mode < 3; mode++) {
        dcli_device *device = test_open(modes[mode]);
        dcli_memory *memory = create(device, bytes);
        cr_expect_eq(descriptor_of(memory), -1, "opened with %d", modes[mode]);
        dcli_memory_release(memory);
        dcli_device_close(device);
    }
    dcli_device *device = open_shared();
    dcli_memory *nothing = create(device, 0), *scratch = NULL;
    cr_expect_eq(descriptor_of(nothing), -1, "0 bytes");
    cr_assert_eq(dcli_memory_scratch(device, bytes, &scratch), DCL_OK);
    cr_expect_eq(descriptor_of(scratch), -1, "scratch");
    dcli_memory_release(scratch);
    dcli_memory_release(nothing);
    dcli_device_close(device);
}

/* What is freed serves again, with its memfd, and begins as zero; private and shared memory do not take each other's. */
Test(device_shared, reused_with_its_memfd)
{
    dcli_device *device = open_shared();
    const size_t sizes[] = {bytes, 3 << 20};
    for (int s = 0; s < 2; s++) {
        dcli_memory *memory = create(device, sizes[s]), *scratch = NULL;
        dcli_memory_place place = place_of(memory);
        memset(dcli_memory_host(memory), 255, sizes[s]);
        dcli_memory_release(memory);
        cr_assert_eq(dcli_memory_scratch(device, sizes[s], &scratch), DCL_OK);
        cr_expect_eq(descriptor_of(scratch), -1);
        memory = create(device, sizes[s]);
        cr_expect_eq(place_of(memory).memfd, place.memfd);
        cr_expect_eq(place_of(memory).offset / DCLI_MEMORY_ALIGN, place.offset / DCLI_MEMORY_ALIGN);
        const char *at = dcli_memory_host(memory);
        cr_expect_eq(at[0], 0);
        cr_expect_eq(memcmp(at, at + 1, sizes[s] - 1), 0, "all zero");
        dcli_memory_release(scratch);
        dcli_memory_release(memory);
    }
    dcli_device_close(device);
}

static int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    cr_assert_not_null(folder);
    int count = -3; /* itself, "." and ".." */
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

Test(device_shared, descriptors_are_closed)
{
    enum { MANY = 200, FEW = 10 };
    dcli_device_close(open_shared()); /* whatever the driver keeps open */
    int before = open_descriptors();
    dcli_device *device = open_shared();
    int opened = open_descriptors();
    dcli_memory *memories[MANY];
    for (int n = 0; n < MANY; n++)
        memories[n] = create(device, n < FEW ? 2 << 20 : bytes);
    cr_expect_leq(open_descriptors(), opened + FEW + 1, "small ones share one");
    for (int n = 0; n < MANY; n++)
        dcli_memory_release(memories[n]);
    dcli_device_drop_spare(device);
    cr_expect_leq(open_descriptors(), opened);
    dcli_device_close(device);
    cr_expect_eq(open_descriptors(), before);
}

/* Let this process open no descriptor more. @return the limit to set again. */
static struct rlimit forbid_descriptors(void)
{
    struct rlimit limit, none;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    close(next);
    none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    return limit;
}

Test(device_shared, without_descriptors_there_is_a_sentence)
{
    dcli_device *device = open_shared();
    dcli_pool_empty(device); /* of what the probe left */
    int before = open_descriptors();
    struct rlimit limit = forbid_descriptors();
    dcli_memory *memory = NULL;
    cr_expect_eq(dcli_memory_create(device, bytes, &memory), DCL_ERR_NOMEM);
    cr_expect(strstr(dcl_error(), "memfd_create: Too many open files"), "%s", dcl_error());
    cr_expect(strstr(dcl_error(), "ulimit -n"), "%s", dcl_error());
    cr_expect_null(memory);
    setrlimit(RLIMIT_NOFILE, &limit);
    cr_expect_eq(open_descriptors(), before);
    memory = create(device, 2 << 20);
    dcli_memory *other = create(device, 8 << 20);
    dcli_memory_release(memory); /* kept, and given up for a descriptor of another size */
    limit = forbid_descriptors();
    cr_expect_eq(dcli_memory_create(device, 4 << 20, &memory), DCL_OK, "%s", dcl_error());
    setrlimit(RLIMIT_NOFILE, &limit);
    dcli_memory_release(memory);
    dcli_memory_release(other);
    dcli_device_close(device);
}

/* No memory and no file as large as was asked for. */
Test(device_shared, failures_name_the_call_and_keep_nothing)
{
    dcli_device *device = open_shared();
    int before = open_descriptors();
    dcli_memory *memory = NULL;
    struct rlimit limit, small = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_eq(setrlimit(RLIMIT_AS, &small), 0);
    dcl_status status = dcli_memory_create(device, 4 << 20, &memory);
    setrlimit(RLIMIT_AS, &limit);
    cr_expect_eq(status, DCL_ERR_NOMEM);
    cr_expect(strstr(dcl_error(), "mmap: Cannot allocate memory; expected as much memory"), "%s", dcl_error());
    cr_expect_eq(open_descriptors(), before);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_memory_create(device, bytes, &memory), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_expect_null(memory);
    dcli_device_close(device);
}

/* What cannot have its pages, or is larger than a file may be, is an error of the call: no SIGBUS, no SIGXFSZ. */
Test(device_shared, memory_that_cannot_be_had)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    dcli_memory *memory = NULL;
    dcli_device *device = open_shared();
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(dcli_memory_create(device, 4 << 20, &memory), DCL_ERR_NOMEM);
    cr_expect_not_null(strstr(dcl_error(), "ftruncate: File too large"), "%s", dcl_error());
    cr_expect_eq(dcli_memory_create(device, 1 << 19, &memory), DCL_OK, "%s", dcl_error());
    dcli_memory_release(memory);
    dcli_device_close(device);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return done;
}

/* A control group of 300 MiB with this process in it. @return false: not to be had here. */
static bool enter_group(char path_out[128])
{
    static const char *const files[2][2] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                            {"/sys/fs/cgroup", "memory.max"}};
    for (int n = 0; n < 2; n++) {
        char name[256], own[32];
        snprintf(path_out, 128, "%s/dcl-test-%ld", files[n][0], (long)getpid());
        snprintf(own, sizeof own, "%ld", (long)getpid());
        if (mkdir(path_out, 0700) != 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path_out, files[n][1]);
        if (write_text(name, "314572800")) {
            snprintf(name, sizeof name, "%s/memory.swap.max", path_out);
            write_text(name, "0");
            snprintf(name, sizeof name, "%s/cgroup.procs", path_out);
            if (write_text(name, own))
                return true;
        }
        rmdir(path_out);
    }
    return false;
}

/* Many small parts fill a control group as a large one does: the one that does not fit is an error, nobody is killed. */
Test(device_shared, many_small_ones_fill_a_control_group)
{
    enum { MOST = 100, SMALL = 5 << 20 };
    dcli_memory *memories[MOST];
    char group[128];
    int count = 0;
    fflush(NULL);
    pid_t child = fork(); /* so that the group can be removed */
    if (child == 0) {
        if (!enter_group(group))
            _exit(77);
        dcli_device *device = open_shared();
        while (count < MOST && dcli_memory_create(device, SMALL, &memories[count]) == DCL_OK)
            count++;
        _exit(count == MOST ? 1 : count < 20 ? 2 : strstr(dcl_error(), "are free; expected as much") == NULL ? 3 : 0);
    }
    int ended = 0;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    for (int n = 0; n < 2; n++) {
        snprintf(group, sizeof group, "%s/dcl-test-%ld", n == 0 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup",
                 (long)child);
        for (int tries = 0; rmdir(group) != 0 && errno == EBUSY && tries < 100; tries++)
            usleep(20000);
    }
    cr_assert(WIFEXITED(ended), "it was killed by signal %d", WTERMSIG(ended));
    if (WEXITSTATUS(ended) == 77)
        cr_skip_test("no control group can be made here");
    cr_expect_eq(WEXITSTATUS(ended), 0, "it ended with %d", WEXITSTATUS(ended));
}

Test(device_shared, large_ones_have_huge_pages)
{
    dcli_device *device = open_shared();
    dcli_memory *memory = create(device, 6 << 20);
    void *host = dcli_memory_host(memory);
    cr_expect_eq((size_t)host % (2 << 20), 0, "%p is not aligned", host);
    if (test_system_collapses() && test_huge_at(host) >= 0)
        cr_expect_gt(test_huge_at(host), 0, "no huge page"); /* all three, unless memory is fragmented */
    for (int n = 0; n < 6 << 20; n += 4096)
        cr_assert_eq(((char *)host)[n], 0);
    dcli_memory_release(memory);
    dcli_device_close(device);
}
