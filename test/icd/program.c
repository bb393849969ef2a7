/* icd/program.c - an OpenCL program that has never heard of DCL: it uses what the driver supports, compares every result with a plain
 * loop, and prints what it found, for comparison with other platforms.
 *
 *   program            everything once
 *   program limits     enqueues more commands than a device takes
 *   program print N    launches a kernel that prints N lines of 70 bytes, and ends at once after that
 *   program spin MS    launches a kernel that runs long, prints "running", and then how it ended
 *   program needs MS   launches such a kernel on one device, and on another device one that needs its results
 *   program apart      reads on one device what another one has, while the two lose each other: after SIGUSR1, in which they are
 *                      prepared for that
 *
 * With TEST_DIRECT=1, contents that move from device to device must not pass through this process. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { N = 5000, LARGE = 6 << 20, HUGE_BYTES = 20 << 20 };

static const char source[] = "typedef struct { int a; float b; } pair;\n"
                             "kernel void add(global const int *a, global const int *b, global int *c, int k)\n"
                             "{ int i = get_global_id(0); c[i] = a[i] + k * b[i]; }\n"
                             "kernel void turn(global int *a, local int *t, pair p)\n"
                             "{ int l = get_local_id(0), n = get_local_size(0); t[l] = a[get_global_id(0)];\n"
                             "  barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[n - 1 - l] + p.a + (int)p.b; }\n"
                             "kernel void spin(global int *a, long n)\n"
                             "{ int v = a[0]; for (long i = 0; i < n; i++) v = v * 1664525 + 1013904223; a[0] = v; }\n";

static int failures;
static bool driven; /* the platform is DCL's: also tries what PoCL refuses, or does not end */

static void say(const char *what, bool right)
{
    printf("%-40s %s\n", what, right ? "right" : "WRONG");
    failures += !right;
}

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", call, status);
    fflush(stdout);
    exit(1);
}

typedef struct setting {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue, free_queue; /* free_queue: out of order */
    cl_program program;
    cl_kernel add, turn, spin;
} setting;

static setting s;

static void open_setting(cl_device_id device)
{
    cl_int status;
    s.device = device;
    s.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const cl_queue_properties free_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    s.queue = clCreateCommandQueueWithProperties(s.context, device, profiling, &status);
    check(status, "clCreateCommandQueueWithProperties");
    s.free_queue = clCreateCommandQueueWithProperties(s.context, device, free_order, &status);
    check(status, "clCreateCommandQueueWithProperties");
    const char *text = source;
    s.program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(s.program, 1, &device, "-cl-std=CL1.2 -cl-kernel-arg-info", NULL, NULL), "clBuildProgram");
    s.add = clCreateKernel(s.program, "add", &status);
    check(status, "clCreateKernel");
    s.turn = clCreateKernel(s.program, "turn", &status);
    check(status, "clCreateKernel");
    s.spin = clCreateKernel(s.program, "spin", &status);
    check(status, "clCreateKernel");
}

static void close_setting(void)
{
    clReleaseKernel(s.add);
    clReleaseKernel(s.turn);
    clReleaseKernel(s.spin);
    clReleaseProgram(s.program);
    clReleaseCommandQueue(s.queue);
    clReleaseCommandQueue(s.free_queue);
    clReleaseContext(s.context);
}

static cl_mem make(size_t bytes, cl_mem_flags flags, void *host)
{
    cl_int status;
    cl_mem mem = clCreateBuffer(s.context, flags, bytes, host, &status);
    check(status, "clCreateBuffer");
    return mem;
}

static void set_add(cl_mem a, cl_mem b, cl_mem c, int k)
{
    check(clSetKernelArg(s.add, 0, sizeof a, &a), "clSetKernelArg");
    check(clSetKernelArg(s.add, 1, sizeof b, &b), "clSetKernelArg");
    check(clSetKernelArg(s.add, 2, sizeof c, &c), "clSetKernelArg");
    check(clSetKernelArg(s.add, 3, sizeof k, &k), "clSetKernelArg");
}

static cl_command_type type_of(cl_event event)
{
    cl_command_type type = 0;
    check(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL), "clGetEventInfo");
    clReleaseEvent(event);
    return type;
}

/* ---- what is tried ---- */

static int a[N], b[N], c[N];

static void try_launch(void)
{
    for (int i = 0; i < N; i++) {
        a[i] = i;
        b[i] = 7 * i - 3;
    }
    cl_mem x = make(sizeof a, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, a), y = make(sizeof b, CL_MEM_READ_ONLY, NULL);
    cl_mem z = make(sizeof c, CL_MEM_WRITE_ONLY, NULL);
    cl_event written, launched;
    const size_t items = N;
    check(clEnqueueWriteBuffer(s.queue, y, CL_FALSE, 0, sizeof b, b, 0, NULL, &written), "clEnqueueWriteBuffer");
    set_add(x, y, z, 5);
    check(clEnqueueNDRangeKernel(s.queue, s.add, 1, NULL, &items, NULL, 1, &written, &launched), "launch");
    set_add(x, y, z, 6); /* after the launch: it must not change it */
    check(clEnqueueReadBuffer(s.queue, z, CL_TRUE, 0, sizeof c, c, 1, &launched, NULL), "clEnqueueReadBuffer");
    bool right = true;
    for (int i = 0; i < N; i++)
        right = right && c[i] == a[i] + 5 * b[i];
    say("launch after write", right);
    cl_ulong begin = 0, end = 0;
    check(clGetEventProfilingInfo(launched, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL), "profiling");
    check(clGetEventProfilingInfo(launched, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "profiling");
    say("profiling", end >= begin && begin > 0);
    clReleaseEvent(written);
    clReleaseEvent(launched);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    clReleaseMemObject(z);
}

static void try_groups(void)
{
    struct {
        int a;
        float b;
    } pair = {2, 3.5f};
    enum { GROUP = 50 };
    for (int i = 0; i < N; i++)
        a[i] = 3 * i;
    cl_mem x = make(sizeof a, CL_MEM_COPY_HOST_PTR, a);
    const size_t items = N, group = GROUP;
    check(clSetKernelArg(s.turn, 0, sizeof x, &x), "clSetKernelArg");
    check(clSetKernelArg(s.turn, 1, GROUP * sizeof(int), NULL), "clSetKernelArg");
    check(clSetKernelArg(s.turn, 2, sizeof pair, &pair), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(s.queue, s.turn, 1, NULL, &items, &group, 0, NULL, NULL), "launch");
    check(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    bool right = true;
    for (int i = 0; i < N; i++)
        right = right && c[i] == 3 * (i / GROUP * GROUP + GROUP - 1 - i % GROUP) + 5;
    cl_ulong local = 0;
    check(clGetKernelWorkGroupInfo(s.turn, NULL, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL), "local memory");
    say("local memory, struct argument", right && local == GROUP * sizeof(int));
    clReleaseMemObject(x);
}

static void try_large(void)
{
    unsigned char *sent = malloc(LARGE), *got = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        sent[i] = (unsigned char)(i * 2654435761u >> 13);
    cl_mem x = make(LARGE, 0, NULL), y = make(LARGE, 0, NULL);
    cl_event read;
    check(clEnqueueWriteBuffer(s.queue, x, CL_FALSE, 0, LARGE, sent, 0, NULL, NULL), "clEnqueueWriteBuffer");
    check(clEnqueueCopyBuffer(s.queue, x, y, 1000, 0, LARGE - 1000, 0, NULL, NULL), "clEnqueueCopyBuffer");
    check(clEnqueueCopyBuffer(s.queue, x, y, 0, LARGE - 1000, 1000, 0, NULL, NULL), "clEnqueueCopyBuffer");
    check(clEnqueueReadBuffer(s.queue, y, CL_FALSE, 0, LARGE, got, 0, NULL, &read), "clEnqueueReadBuffer");
    check(clWaitForEvents(1, &read), "clWaitForEvents");
    say("large copy", memcmp(got, sent + 1000, LARGE - 1000) == 0 && memcmp(got + LARGE - 1000, sent, 1000) == 0);
    clReleaseEvent(read);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    free(sent);
    free(got);
}

/* Transfers that are large enough to be sent without a copy. A command after a read must not change what is read, and the program may
 * change its memory after a blocking write. */
static void try_huge(void)
{
    enum { TIMES = 3 };
    unsigned char *sent = malloc(HUGE_BYTES), *got = malloc(HUGE_BYTES), last = 0;
    const cl_int pattern = 0x07070707;
    bool right = sent != NULL && got != NULL;
    cl_mem x = make(HUGE_BYTES, 0, NULL);
    for (int n = 0; n < TIMES && right; n++) {
        for (size_t i = 0; i < HUGE_BYTES; i++)
            sent[i] = (unsigned char)((i + (size_t)n) * 2654435761u >> 13);
        check(clEnqueueWriteBuffer(s.queue, x, CL_TRUE, 0, HUGE_BYTES, sent, 0, NULL, NULL), "clEnqueueWriteBuffer");
        memset(sent, 0, HUGE_BYTES);
        memset(got, 1, HUGE_BYTES);
        check(clEnqueueReadBuffer(s.queue, x, CL_FALSE, 0, HUGE_BYTES, got, 0, NULL, NULL), "clEnqueueReadBuffer");
        check(clEnqueueFillBuffer(s.queue, x, &pattern, sizeof pattern, 0, HUGE_BYTES, 0, NULL, NULL),
              "clEnqueueFillBuffer");
        check(clEnqueueReadBuffer(s.queue, x, CL_FALSE, HUGE_BYTES - 1, 1, &last, 0, NULL, NULL),
              "clEnqueueReadBuffer");
        check(clFinish(s.queue), "clFinish");
        for (size_t i = 0; i < HUGE_BYTES && right; i++)
            right = got[i] == (unsigned char)((i + (size_t)n) * 2654435761u >> 13);
        right = right && last == 7;
    }
    say("huge transfers", right);
    clReleaseMemObject(x);
    free(sent);
    free(got);
}

static void try_rects(void)
{
    enum { ROW = 64, ROWS = 32, SLICES = 8, SIZE = ROW * ROWS * SLICES };
    static unsigned char host[SIZE], got[SIZE], expected[SIZE];
    for (int i = 0; i < SIZE; i++)
        host[i] = (unsigned char)(i * 31 + i / 97);
    cl_mem x = make(SIZE, 0, NULL), y = make(SIZE, 0, NULL);
    const size_t from[3] = {5, 3, 1}, to[3] = {9, 6, 2}, region[3] = {40, 20, 5};
    int zero = 0;
    check(clEnqueueFillBuffer(s.queue, x, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clEnqueueFillBuffer(s.queue, y, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clEnqueueWriteBufferRect(s.queue, x, CL_FALSE, to, from, region, ROW, ROW * ROWS, ROW, ROW * ROWS, host, 0,
                                   NULL, NULL),
          "clEnqueueWriteBufferRect");
    check(clEnqueueCopyBufferRect(s.queue, x, y, to, from, region, ROW, ROW * ROWS, ROW, ROW * ROWS, 0, NULL, NULL),
          "clEnqueueCopyBufferRect");
    check(clEnqueueReadBufferRect(s.queue, y, CL_TRUE, from, to, region, ROW, ROW * ROWS, ROW, ROW * ROWS, got, 0, NULL,
                                  NULL),
          "clEnqueueReadBufferRect");
    for (size_t k = 0; k < region[2]; k++)
        for (size_t j = 0; j < region[1]; j++)
            memcpy(expected + ((to[2] + k) * ROWS + to[1] + j) * ROW + to[0],
                   host + ((from[2] + k) * ROWS + from[1] + j) * ROW + from[0], region[0]);
    say("rectangles", memcmp(got, expected, SIZE) == 0);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
}

static void try_fill_and_map(void)
{
    const short pattern[2] = {17, -4};
    cl_int status;
    cl_mem x = make(sizeof a, CL_MEM_ALLOC_HOST_PTR, NULL);
    check(clEnqueueFillBuffer(s.queue, x, pattern, sizeof pattern, 0, sizeof a, 0, NULL, NULL), "clEnqueueFillBuffer");
    short *mapped =
        clEnqueueMapBuffer(s.queue, x, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 400, 4000, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    bool right = true;
    for (int i = 0; i < 2000; i++) {
        right = right && mapped[i] == pattern[i % 2];
        mapped[i] = (short)i;
    }
    check(clEnqueueUnmapMemObject(s.queue, x, mapped, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    short *got = (short *)c;
    check(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, sizeof c, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < 2 * N; i++)
        right = right && got[i] == (i >= 200 && i < 2200 ? i - 200 : pattern[i % 2]);
    say("fill and map", right);
    clReleaseMemObject(x);
}

/* Commands that move no bytes, or run no work-items. */
static void try_nothing(void)
{
    int before = 5, after = 0;
    const size_t none = 0, zeros[3] = {4, 0, 4};
    cl_event event;
    cl_mem x = make(sizeof before, CL_MEM_COPY_HOST_PTR, &before), y = make(sizeof before, 0, NULL);
    set_add(x, x, x, 1);
    bool right = clEnqueueReadBuffer(s.queue, x, CL_TRUE, sizeof before, 0, &after, 0, NULL, NULL) == CL_SUCCESS &&
                 clEnqueueNDRangeKernel(s.queue, s.add, 1, NULL, &none, NULL, 0, NULL, NULL) == CL_SUCCESS &&
                 clEnqueueNDRangeKernel(s.queue, s.add, 3, NULL, zeros, NULL, 0, NULL, NULL) == CL_SUCCESS;
    if (driven) {
        cl_int status, ended = 1;
        cl_event gate = clCreateUserEvent(s.context, &status);
        check(status, "clCreateUserEvent");
        check(clEnqueueNDRangeKernel(s.queue, s.add, 1, NULL, NULL, NULL, 1, &gate, &event), "no work-items");
        check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof ended, &ended, NULL), "clGetEventInfo");
        right = right && ended > CL_COMPLETE;
        check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
        check(clWaitForEvents(1, &event), "clWaitForEvents");
        right = right && type_of(event) == CL_COMMAND_NDRANGE_KERNEL;
        check(clEnqueueWriteBuffer(s.queue, x, CL_FALSE, 0, 0, &after, 0, NULL, &event), "a write of no bytes");
        right = right && type_of(event) == CL_COMMAND_WRITE_BUFFER;
        check(clEnqueueCopyBuffer(s.queue, x, y, 0, 0, 0, 0, NULL, &event), "a copy of no bytes");
        right = right && type_of(event) == CL_COMMAND_COPY_BUFFER;
        check(clEnqueueFillBuffer(s.queue, x, &after, sizeof after, 0, 0, 0, NULL, &event), "a fill of no bytes");
        right = right && type_of(event) == CL_COMMAND_FILL_BUFFER;
        clReleaseEvent(gate);
    }
    check(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, sizeof after, &after, 0, NULL, NULL), "clEnqueueReadBuffer");
    say("commands that have nothing to do", right && after == before);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
}

/* A program may have no kernels, or one whose work-groups have a size that it demands. */
static void try_unusual(void)
{
    const char *nothing = "", *text =
                                  "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void fours(global int *a)\n"
                                  "{ a[get_global_id(0)] = get_local_id(0); }";
    cl_int status;
    size_t kernels = 1;
    cl_program program = clCreateProgramWithSource(s.context, 1, &nothing, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &s.device, NULL, NULL, NULL), "clBuildProgram");
    check(clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof kernels, &kernels, NULL), "clGetProgramInfo");
    say("a program without kernels", kernels == 0);
    clReleaseProgram(program);
    program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &s.device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "fours", &status);
    check(status, "clCreateKernel");
    const size_t items = 8, four = 4;
    int found[8] = {0};
    cl_mem mem = make(sizeof found, 0, NULL);
    check(clSetKernelArg(kernel, 0, sizeof mem, &mem), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, driven ? NULL : &four, 0, NULL, NULL), "a launch");
    check(clEnqueueReadBuffer(s.queue, mem, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), "clEnqueueReadBuffer");
    say("work-groups of a size that is demanded", found[3] == 3 && found[4] == 0 && found[7] == 3);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int ended;

static void CL_CALLBACK note_end(cl_mem mem, void *user)
{
    (void)mem;
    (void)user;
    pthread_mutex_lock(&lock);
    ended++;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&lock);
}

/* Memory of the program that a buffer uses is the program's again when the buffer has ended: not before a command writes from it. */
static void try_own_memory(void)
{
    cl_int status;
    cl_mem x = make(sizeof a, CL_MEM_USE_HOST_PTR, a);
    check(clSetMemObjectDestructorCallback(x, note_end, NULL), "clSetMemObjectDestructorCallback");
    int *mapped = clEnqueueMapBuffer(s.queue, x, CL_TRUE, CL_MAP_WRITE, 0, sizeof a, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    cl_event gate = clCreateUserEvent(s.context, &status);
    check(clEnqueueUnmapMemObject(s.queue, x, mapped, 1, &gate, NULL), "clEnqueueUnmapMemObject");
    check(clReleaseMemObject(x), "clReleaseMemObject");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    pthread_mutex_lock(&lock);
    bool right = mapped == a && ended == 0;
    pthread_mutex_unlock(&lock);
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clFinish(s.queue), "clFinish");
    pthread_mutex_lock(&lock);
    while (ended == 0)
        pthread_cond_wait(&called, &lock);
    pthread_mutex_unlock(&lock);
    say("memory of the program", right);
    clReleaseEvent(gate);
}

/* A mapping gets the memory of an earlier one. It must show what the buffer has now, not what that memory had then. */
static void try_maps_again(void)
{
    enum { BYTES = 1 << 20, TURNS = 4, COUNT = BYTES / sizeof(cl_int) };
    bool right = true;
    cl_int status;
    cl_mem mem = make(BYTES, 0, NULL);
    for (cl_int t = 0; t < TURNS; t++) {
        size_t first = t % 2 == 0 ? 0 : COUNT / 2; /* parts of two sizes */
        check(clEnqueueFillBuffer(s.queue, mem, &t, sizeof t, 0, BYTES, 0, NULL, NULL), "clEnqueueFillBuffer");
        cl_int *all = clEnqueueMapBuffer(s.queue, mem, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
        check(status, "clEnqueueMapBuffer");
        cl_int *part = clEnqueueMapBuffer(s.queue, mem, CL_TRUE, CL_MAP_READ, first * sizeof t,
                                          BYTES - first * sizeof t, 0, NULL, NULL, &status);
        check(status, "clEnqueueMapBuffer");
        for (size_t i = 0; i < COUNT; i++)
            right = right && all[i] == t && (i < first || part[i - first] == t);
        check(clEnqueueUnmapMemObject(s.queue, mem, part, 0, NULL, NULL), "clEnqueueUnmapMemObject");
        check(clEnqueueUnmapMemObject(s.queue, mem, all, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    }
    check(clFinish(s.queue), "clFinish");
    clReleaseMemObject(mem);
    say("regions mapped again", right);
}

/* A region is unmapped by a command that fails with the event that it waits for, while the region is still to be filled. Nothing else
 * may get its memory before. */
static bool try_failed_unmap(void)
{
    enum { BYTES = 1 << 20, COUNT = BYTES / sizeof(cl_int) };
    cl_int status;
    const cl_int old = 5, new = 6;
    cl_mem mem = make(BYTES, 0, NULL);
    cl_event gate = clCreateUserEvent(s.context, &status), failing = clCreateUserEvent(s.context, &status), filled,
             unmapped;
    check(clEnqueueFillBuffer(s.queue, mem, &old, sizeof old, 0, BYTES, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clFinish(s.queue), "clFinish");
    void *first = clEnqueueMapBuffer(s.free_queue, mem, CL_FALSE, CL_MAP_READ, 0, BYTES, 1, &gate, &filled, &status);
    check(status, "clEnqueueMapBuffer");
    check(clEnqueueUnmapMemObject(s.free_queue, mem, first, 1, &failing, &unmapped), "clEnqueueUnmapMemObject");
    check(clSetUserEventStatus(failing, -42), "clSetUserEventStatus");
    bool right = clWaitForEvents(1, &unmapped) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    cl_int *second =
        clEnqueueMapBuffer(s.queue, mem, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, BYTES, 0, NULL, NULL, &status);
    check(status, "clEnqueueMapBuffer");
    for (size_t i = 0; i < COUNT; i++)
        second[i] = new;
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clWaitForEvents(1, &filled), "clWaitForEvents");
    for (size_t i = 0; i < COUNT; i++)
        right = right && second[i] == new;
    check(clEnqueueUnmapMemObject(s.queue, mem, second, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    check(clFinish(s.queue), "clFinish");
    clReleaseEvent(gate);
    clReleaseEvent(failing);
    clReleaseEvent(filled);
    clReleaseEvent(unmapped);
    clReleaseMemObject(mem);
    return right;
}

static void try_parts(void)
{
    cl_int status;
    cl_uint bits = 0;
    check(clGetDeviceInfo(s.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL), "clGetDeviceInfo");
    size_t step = bits / 8;
    cl_buffer_region region = {step, 2 * step};
    unsigned char *host = malloc(4 * step), *got = malloc(4 * step);
    memset(host, 1, 4 * step);
    cl_mem x = make(4 * step, CL_MEM_COPY_HOST_PTR, host);
    cl_mem part = clCreateSubBuffer(x, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    unsigned char nine = 9;
    check(clEnqueueFillBuffer(s.queue, part, &nine, 1, 0, 2 * step, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, 4 * step, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    bool right = true;
    for (size_t i = 0; i < 4 * step; i++)
        right = right && got[i] == (i >= step && i < 3 * step ? 9 : 1);
    say("sub-buffer", right);
    clReleaseMemObject(part);
    clReleaseMemObject(x);
    free(host);
    free(got);
}

static int calls;

static void CL_CALLBACK note(cl_event event, cl_int status, void *user)
{
    (void)event;
    pthread_mutex_lock(&lock);
    calls += status == CL_COMPLETE ? *(int *)user : 100;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&lock);
}

static void try_events(void)
{
    cl_int status, state = 0, one = 1;
    cl_mem x = make(sizeof a, 0, NULL), y = make(sizeof a, 0, NULL);
    cl_event gate = clCreateUserEvent(s.context, &status), first, second, third;
    check(status, "clCreateUserEvent");
    for (int i = 0; i < N; i++)
        a[i] = i + 11;
    /* Without order: the second write must not wait for the first, which waits for the program. */
    check(clEnqueueWriteBuffer(s.free_queue, x, CL_FALSE, 0, sizeof a, a, 1, &gate, &first), "clEnqueueWriteBuffer");
    check(clEnqueueWriteBuffer(s.free_queue, y, CL_FALSE, 0, sizeof a, a, 0, NULL, &second), "clEnqueueWriteBuffer");
    check(clWaitForEvents(1, &second), "clWaitForEvents");
    check(clGetEventInfo(first, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), "clGetEventInfo");
    say("an event waits for the program", state > CL_COMPLETE);
    check(clEnqueueReadBuffer(s.queue, x, CL_FALSE, 0, sizeof c, c, 1, &first, &third), "clEnqueueReadBuffer");
    check(clSetEventCallback(third, CL_COMPLETE, note, &one), "clSetEventCallback");
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clFinish(s.queue), "clFinish");
    say("events", memcmp(a, c, sizeof a) == 0);
    pthread_mutex_lock(&lock);
    while (calls == 0)
        pthread_cond_wait(&called, &lock);
    pthread_mutex_unlock(&lock);
    say("callback", calls == 1);
    clReleaseEvent(gate);
    clReleaseEvent(first);
    clReleaseEvent(second);
    clReleaseEvent(third);
    gate = clCreateUserEvent(s.context, &status);
    check(clEnqueueReadBuffer(s.queue, x, CL_FALSE, 0, sizeof c, c, 1, &gate, &first), "clEnqueueReadBuffer");
    check(clSetUserEventStatus(gate, -7), "clSetUserEventStatus");
    status = clWaitForEvents(1, &first);
    check(clGetEventInfo(first, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), "clGetEventInfo");
    say("failure of what is waited for", status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && state < 0);
    clReleaseEvent(gate);
    clReleaseEvent(first);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
}

/* A list of very many events. Markers wait for its parts, and even the markers are too many for one message. */
static bool try_very_long_list(void)
{
    enum { EVENTS = 70000 };
    static cl_event list[EVENTS];
    cl_int status, state = CL_COMPLETE;
    cl_event gate = clCreateUserEvent(s.context, &status), after;
    check(status, "clCreateUserEvent");
    for (int e = 0; e < EVENTS; e++)
        list[e] = gate;
    check(clEnqueueMarkerWithWaitList(s.free_queue, EVENTS, list, &after), "clEnqueueMarkerWithWaitList");
    check(clFlush(s.free_queue), "clFlush");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* for a driver that does not wait */
    check(clGetEventInfo(after, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), "clGetEventInfo");
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clWaitForEvents(1, &after), "clWaitForEvents");
    clReleaseEvent(after);
    clReleaseEvent(gate);
    return state > CL_COMPLETE;
}

/* A list of more events than a message to a server may have. */
static void try_long_list(void)
{
    enum { EVENTS = 600 };
    static cl_event list[EVENTS];
    cl_int status, state = 0;
    cl_event after;
    for (int e = 0; e < EVENTS; e++) {
        list[e] = clCreateUserEvent(s.context, &status);
        check(status, "clCreateUserEvent");
    }
    check(clEnqueueMarkerWithWaitList(s.free_queue, EVENTS, list, &after), "clEnqueueMarkerWithWaitList");
    bool right = true;
    for (int e = 0; e < EVENTS; e++) { /* the last one in the middle of the list */
        int at = (e + EVENTS / 2) % EVENTS;
        if (e == EVENTS - 1) {
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
            check(clGetEventInfo(after, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
                  "clGetEventInfo");
            right = state > CL_COMPLETE;
        }
        check(clSetUserEventStatus(list[at], CL_COMPLETE), "clSetUserEventStatus");
    }
    check(clWaitForEvents(1, &after), "clWaitForEvents");
    say("a long wait list", right);
    for (int e = 0; e < EVENTS; e++)
        clReleaseEvent(list[e]);
    clReleaseEvent(after);
}

static void try_many(void)
{
    enum { TIMES = 500 };
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++)
        b[i] = i % 10;
    cl_mem x = make(sizeof a, CL_MEM_COPY_HOST_PTR, a), y = make(sizeof b, CL_MEM_COPY_HOST_PTR, b);
    const size_t items = N;
    set_add(x, y, x, 1);
    for (int n = 0; n < TIMES; n++)
        check(clEnqueueNDRangeKernel(s.queue, s.add, 1, NULL, &items, NULL, 0, NULL, NULL), "launch");
    check(clFinish(s.queue), "clFinish");
    check(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    bool right = true;
    for (int i = 0; i < N; i++)
        right = right && c[i] == TIMES * b[i];
    say("many launches", right);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
}

/* A binary that is none is refused at once, and later commands go on. */
static void try_bad_binary(void)
{
    const unsigned char text[] = "not a binary", *given = text;
    const size_t bytes = sizeof text;
    cl_int made = CL_SUCCESS, state = CL_SUCCESS;
    cl_program program = clCreateProgramWithBinary(s.context, 1, &s.device, &bytes, &given, &state, &made);
    say("a binary that is none", program == NULL && made == CL_INVALID_BINARY && state == CL_INVALID_BINARY);
}

/* The binary of a program that was compiled only is linked as the program itself is. One that was not compiled is not linked. */
static void try_link_binary(void)
{
    const char *text = "kernel void f(global int *a) { a[0] = 7; }";
    cl_int status, refused = CL_SUCCESS, found = 0;
    size_t bytes = 0;
    const size_t one = 1;
    cl_program program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    cl_program nothing = clLinkProgram(s.context, 1, &s.device, NULL, 1, &program, NULL, NULL, &refused);
    say("linking what was not compiled", nothing == NULL && refused == CL_INVALID_OPERATION);
    check(clCompileProgram(program, 1, &s.device, NULL, 0, NULL, NULL, NULL, NULL), "clCompileProgram");
    check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), "clGetProgramInfo");
    unsigned char *binary = malloc(bytes);
    check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL), "clGetProgramInfo");
    const unsigned char *given = binary;
    cl_program compiled = clCreateProgramWithBinary(s.context, 1, &s.device, &bytes, &given, NULL, &status);
    check(status, "clCreateProgramWithBinary");
    cl_program linked = clLinkProgram(s.context, 1, &s.device, NULL, 1, &compiled, NULL, NULL, &status);
    check(status, "clLinkProgram");
    cl_kernel kernel = clCreateKernel(linked, "f", &status);
    check(status, "clCreateKernel");
    cl_mem mem = make(sizeof found, CL_MEM_COPY_HOST_PTR, &found);
    check(clSetKernelArg(kernel, 0, sizeof mem, &mem), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(s.queue, mem, CL_TRUE, 0, sizeof found, &found, 0, NULL, NULL), "clEnqueueReadBuffer");
    say("linking a binary that was compiled only", found == 7);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clReleaseProgram(linked);
    clReleaseProgram(compiled);
    clReleaseProgram(program);
    free(binary);
}

/* The output of kernels is there when the queue has finished. Another program reads this line. */
static void try_printf(void)
{
    cl_int status;
    const size_t items = 1;
    const char *text = "kernel void tell(int n) { for (int i = 0; i < n; i++) printf(\"a kernel prints %d\\n\", i); }";
    cl_program program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &s.device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "tell", &status);
    check(clSetKernelArg(kernel, 0, sizeof(int), &(int){3}), "clSetKernelArg");
    fflush(stdout);
    check(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(s.queue), "clFinish");
    say("after what a kernel prints", true);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    check(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 ? CL_SUCCESS : -1, path);
}

static cl_int build(cl_program *program_out, const char *text, const char *options)
{
    cl_int status;
    *program_out = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    return clBuildProgram(*program_out, 1, &s.device, options, NULL, NULL);
}

/* Files that a program includes, from folders of this host, and headers that are programs. */
/* Files that are named by macros of the options. */
static void try_macro_names(const char *folder)
{
    static const char *const texts[] = {
        "#include SHOWN(FOLDER/outer.h)",
        "#include SHOWN( /**/ FOLDER/outer.h ) // there",
        "#include NAMED",
        "#ifdef X\n#include SHOWN(FOLDER/nowhere.h)\n#endif",
        "#define OWN SHOWN(FOLDER/outer.h)\n #include OWN",
        "#ifdef X\n# define OWN  <outer.h>\n#else\n#define OWN <outer.h> \n#endif\n#include OWN"};
    char options[400], text[300];
    bool right = true;
    snprintf(options, sizeof options,
             "-DAS_STRING(x)=#x -D SHOWN(x)=AS_STRING(x) -D FOLDER=%s -D NAMED=<sub/inner.h> -I %s", folder, folder);
    for (int t = 0; t < 6; t++) {
        cl_program program;
        snprintf(text, sizeof text, "%s\n%skernel void f(global int *a) { a[0] = INNER + OUTER; }\n", texts[t],
                 t == 3 ? "#define INNER 1\n#define OUTER 1\n" : "");
        cl_int status = build(&program, text, options);
        right = right && status == CL_SUCCESS;
        clReleaseProgram(program);
    }
    say("files that are named by macros", right);
    const char *unclear[] = {
        "#ifndef X\n#define OWN \"nowhere.h\"\n#else\n#define OWN \"outer.h\"\n#endif\n#include OWN\n",
        "#ifdef X\n#define OWN \"outer.h\"\n#else\n#define OWN \"nowhere.h\"\n#endif\n#include OWN\n",
        "#define OWN \"outer.h\"\n#undef OWN\n#include OWN\n", "#define OWNS \"outer.h\"\n#include OWN\n"};
    for (int t = 0; t < 4; t++) {
        cl_program program;
        right = right && build(&program, unclear[t], options) == CL_BUILD_PROGRAM_FAILURE;
        clReleaseProgram(program);
    }
    say("no file for a name that is not clear", right);
}

static void try_headers(void)
{
    char folder[] = "/tmp/icd-program-XXXXXX", options[300], path[400], log[4000] = "", names[64] = "";
    const char *text = "#ifdef NOTHING\n#include <nowhere.h>\n#endif\n#include \"outer.h\"\n"
                       "kernel void headed(global int *a) { a[0] = INNER + OUTER; }\n";
    cl_program program, header, linked;
    cl_int status;
    check(mkdtemp(folder) != NULL ? CL_SUCCESS : -1, "mkdtemp");
    snprintf(path, sizeof path, "%s/sub", folder);
    check(mkdir(path, 0700), "mkdir");
    write_file(folder, "outer.h",
               "#include \"sub/inner.h\"\n#include \"sub/inner.h\"\n#include \"self.h\"\n#define OUTER 1\n");
    write_file(folder, "self.h", "#pragma once\n#include \"self.h\"\ntypedef struct { int a; } again;\n");
    write_file(folder, "sub/inner.h",
               "#ifndef INNER\n#define INNER 2\ntypedef struct { int a; } once;\n#include \"../outer.h\"\n#endif\n");
    snprintf(options, sizeof options, "-w -I %s -DX=1", folder);
    status = build(&program, text, options);
    clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL);
    clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_OPTIONS, sizeof log, log, NULL);
    say("files that a program includes",
        status == CL_SUCCESS && strcmp(names, "headed") == 0 && strcmp(log, options) == 0);
    status = clBuildProgram(program, 1, &s.device, options, NULL, NULL);
    say("they are read again", status == CL_SUCCESS);
    clReleaseProgram(program);
    try_macro_names(folder);
    snprintf(options, sizeof options, "-DNOTHING -I%s", folder);
    status = build(&program, text, options);
    clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    say("a file that is not there", status == CL_BUILD_PROGRAM_FAILURE && strstr(log, "nowhere.h") != NULL);
    clReleaseProgram(program);
    status = build(&program, "kernel void f(global int *a) { a[0] = 1; }", "-fno-such-option");
    say("an option that is none", status == CL_INVALID_BUILD_OPTIONS);
    clReleaseProgram(program);
    write_file(folder, "outer.h", "not C");
    const char *outer = "#define INNER 3\n#define OUTER 4\n", *name = "outer.h";
    header = clCreateProgramWithSource(s.context, 1, &outer, NULL, &status);
    program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    status = clCompileProgram(program, 1, &s.device, "", 1, &header, &name, NULL, NULL);
    linked = status == CL_SUCCESS ? clLinkProgram(s.context, 1, &s.device, "", 1, &program, NULL, NULL, &status) : NULL;
    say("a header that is a program", status == CL_SUCCESS && linked != NULL);
    clReleaseProgram(header);
    clReleaseProgram(program);
    if (linked != NULL)
        clReleaseProgram(linked);
    for (const char *const *file = (const char *const[]){"sub/inner.h", "sub", "self.h", "outer.h", "", NULL};
         *file != NULL; file++) {
        snprintf(path, sizeof path, "%s/%s", folder, *file);
        remove(path);
    }
}

static void try_programs(void)
{
    cl_int status;
    const char *bad = "kernel void f(global int *a) { a[0] = undeclared; }";
    char log[2000] = "", name[64] = "";
    cl_program program = clCreateProgramWithSource(s.context, 1, &bad, NULL, &status);
    check(status, "clCreateProgramWithSource");
    status = clBuildProgram(program, 1, &s.device, NULL, NULL, NULL);
    clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    say("a program with an error", status == CL_BUILD_PROGRAM_FAILURE && strstr(log, "undeclared") != NULL);
    clReleaseProgram(program);
    check(clGetKernelArgInfo(s.add, 3, CL_KERNEL_ARG_NAME, sizeof name, name, NULL), "clGetKernelArgInfo");
    say("information about arguments", strcmp(name, "k") == 0);
    long long wrong = 1;
    say("an argument of a wrong size", clSetKernelArg(s.add, 3, sizeof wrong, &wrong) == CL_INVALID_ARG_SIZE);
    size_t bytes = 0;
    check(clGetProgramInfo(s.program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), "clGetProgramInfo");
    unsigned char *binary = malloc(bytes);
    check(clGetProgramInfo(s.program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL), "clGetProgramInfo");
    const unsigned char *given = binary;
    program = clCreateProgramWithBinary(s.context, 1, &s.device, &bytes, &given, NULL, &status);
    check(status, "clCreateProgramWithBinary");
    cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
    size_t again = 1;
    check(clGetProgramBuildInfo(program, s.device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL),
          "clGetProgramBuildInfo");
    if (driven)
        check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof again, &again, NULL), "clGetProgramInfo");
    say("a binary before it is built", type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE && again > 0);
    check(clBuildProgram(program, 1, &s.device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    cl_kernel old = s.add;
    s.add = kernel;
    try_many();
    s.add = old;
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    free(binary);
    try_bad_binary();
    try_link_binary();
    try_printf();
    try_headers();
}

/* Bytes that the tcp connections of this process have sent and received so far. */
static double passed(void)
{
    double bytes = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct tcp_info info = {0};
        socklen_t length = sizeof info;
        if (getsockopt(atoi(entry->d_name), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
            bytes += (double)info.tcpi_bytes_acked + (double)info.tcpi_bytes_received;
    }
    if (folder != NULL)
        closedir(folder);
    return bytes;
}

/* Large contents that one device writes, another one changes in part, and the first one reads. They move twice between the devices,
 * and then to the program. */
static bool try_large_between(const cl_command_queue queue[2])
{
    enum { PART = LARGE / 3 / 4 * 4 };
    const cl_int low = 12345, high = 67890;
    cl_mem large = make(LARGE, 0, NULL);
    cl_int *got = malloc(LARGE);
    cl_event filled, changed;
    bool right = got != NULL;
    double before = passed();
    check(clEnqueueFillBuffer(queue[0], large, &low, sizeof low, 0, LARGE, 0, NULL, &filled), "clEnqueueFillBuffer");
    check(clFlush(queue[0]), "clFlush");
    check(clEnqueueFillBuffer(queue[1], large, &high, sizeof high, PART, PART, 1, &filled, &changed),
          "clEnqueueFillBuffer");
    check(clFlush(queue[1]), "clFlush");
    check(clEnqueueReadBuffer(queue[0], large, CL_TRUE, 0, LARGE, got, 1, &changed, NULL), "clEnqueueReadBuffer");
    if (getenv("TEST_DIRECT") != NULL && passed() - before > 2.0 * LARGE)
        right = false;
    for (size_t i = 0; i < LARGE / sizeof *got; i++)
        right = right && got[i] == (i * sizeof *got >= PART && i * sizeof *got < 2 * PART ? high : low);
    clReleaseEvent(filled);
    clReleaseEvent(changed);
    clReleaseMemObject(large);
    free(got);
    return right;
}

/* Commands of both devices on `mem` fail. Whatever comes later has the contents from before, also on the other device. */
static bool try_failure(const cl_command_queue queue[2], cl_mem mem)
{
    const size_t items = N;
    const int old = b[0] + 1;
    cl_int status, found = 0;
    cl_event failed = clCreateUserEvent(s.context, &status), chain[3];
    bool right = true;
    check(status, "clCreateUserEvent");
    check(clEnqueueWriteBuffer(queue[0], mem, CL_TRUE, 0, sizeof old, &old, 0, NULL, NULL), "clEnqueueWriteBuffer");
    check(clEnqueueWriteBuffer(queue[0], mem, CL_FALSE, 0, sizeof found, &found, 1, &failed, &chain[0]), "a write");
    set_add(mem, mem, mem, 1);
    check(clEnqueueNDRangeKernel(queue[1], s.add, 1, NULL, &items, NULL, 1, &chain[0], &chain[1]), "a launch");
    check(clEnqueueNDRangeKernel(queue[0], s.add, 1, NULL, &items, NULL, 1, &chain[1], &chain[2]), "a launch");
    check(clSetUserEventStatus(failed, -42), "clSetUserEventStatus");
    right = clWaitForEvents(1, &chain[2]) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    for (int d = 1; d >= 0; d--) {
        check(clEnqueueReadBuffer(queue[d], mem, CL_TRUE, 0, sizeof found, &found, 0, NULL, NULL), "a read after that");
        right = right && found == old;
    }
    for (int e = 0; e < 3; e++)
        clReleaseEvent(chain[e]);
    clReleaseEvent(failed);
    return right;
}

/* A buffer all of which is overwritten by a command that fails with the event that it waits for. Before that, its
 * contents come from the program (`from` is -1: the failing command is the first that uses it), or from a device. */
static bool try_failed_overwrite(const cl_command_queue queue[2], int from, int how)
{
    cl_int status, found[N];
    const cl_int fill = 9;
    cl_event failed = clCreateUserEvent(s.context, &status), event;
    check(status, "clCreateUserEvent");
    cl_mem mem = make(sizeof b, CL_MEM_COPY_HOST_PTR, b), other = make(sizeof a, CL_MEM_COPY_HOST_PTR, a);
    if (from >= 0)
        check(clEnqueueWriteBuffer(queue[from], mem, CL_TRUE, 0, sizeof b, b, 0, NULL, NULL), "clEnqueueWriteBuffer");
    if (how == 0)
        status = clEnqueueWriteBuffer(queue[1], mem, CL_FALSE, 0, sizeof a, a, 1, &failed, &event);
    else if (how == 1)
        status = clEnqueueFillBuffer(queue[1], mem, &fill, sizeof fill, 0, sizeof a, 1, &failed, &event);
    else
        status = clEnqueueCopyBuffer(queue[1], other, mem, 0, 0, sizeof a, 1, &failed, &event);
    check(status, "a command that overwrites all");
    check(clSetUserEventStatus(failed, -42), "clSetUserEventStatus");
    bool right = clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    for (int d = 1; d >= 0; d--) {
        memset(found, 0, sizeof found);
        check(clEnqueueReadBuffer(queue[d], mem, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), "a read after that");
        right = right && memcmp(found, b, sizeof b) == 0;
    }
    clReleaseEvent(event);
    clReleaseEvent(failed);
    clReleaseMemObject(other);
    clReleaseMemObject(mem);
    return right;
}

static bool try_failed_overwrites(const cl_command_queue queue[2])
{
    bool right = true;
    for (int from = -1; from < 2; from++)
        for (int how = 0; how < 3; how++)
            right = try_failed_overwrite(queue, from, how) && right;
    return right;
}

/* Contents of which commands of several queues of one device write a part each, and which the other device reads. All of them have
 * ended before the contents move, also those before a command that has failed. */
static bool try_writers(const cl_command_queue queue[2], cl_device_id first)
{
    enum { FREE = 300, PARTS = FREE + 2 }; /* in a queue out of order more than a message to a server may have */
    static cl_event written[PARTS];
    static cl_int found[PARTS];
    const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_int status;
    cl_event gate = clCreateUserEvent(s.context, &status), failing = clCreateUserEvent(s.context, &status), failed,
             read;
    cl_command_queue free_queue = clCreateCommandQueueWithProperties(s.context, first, out_of_order, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_command_queue other = clCreateCommandQueueWithProperties(s.context, first, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_mem mem = make(sizeof found, CL_MEM_COPY_HOST_PTR, found);
    for (int p = 0; p < PARTS; p++) {
        const cl_int value = p + 1;
        bool waits = p != FREE;
        check(clEnqueueFillBuffer(p < FREE    ? free_queue
                                  : p == FREE ? other
                                              : queue[0],
                                  mem, &value, sizeof value, (size_t)p * sizeof value, sizeof value, waits,
                                  waits ? &gate : NULL, &written[p]),
              "clEnqueueFillBuffer");
    }
    check(clSetUserEventStatus(failing, -42), "clSetUserEventStatus");
    if (driven)
        check(clEnqueueFillBuffer(other, mem, &status, sizeof status, 0, sizeof found, 1, &failing, &failed), "a fill");
    check(clEnqueueReadBuffer(queue[1], mem, CL_FALSE, 0, sizeof found, found, PARTS, written, &read), "a read");
    check(clFlush(other), "clFlush");
    check(clFlush(queue[1]), "clFlush");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* for a driver that does not wait */
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clWaitForEvents(1, &read), "clWaitForEvents");
    bool right = true;
    for (int p = 0; p < PARTS; p++) {
        right = right && found[p] == p + 1;
        clReleaseEvent(written[p]);
    }
    if (driven)
        clReleaseEvent(failed);
    clReleaseEvent(read);
    clReleaseEvent(failing);
    clReleaseEvent(gate);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(other);
    clReleaseCommandQueue(free_queue);
    return right;
}

/* A buffer that two devices of one context use in turn. Where there is one device, both queues are its. */
static void try_devices(cl_device_id first, cl_device_id second)
{
    cl_int status;
    const cl_device_id both[2] = {first, second};
    const size_t items = N;
    bool right = true;
    cl_context old = s.context;
    cl_kernel old_add = s.add;
    s.context = clCreateContext(NULL, first == second ? 1 : 2, both, NULL, NULL, &status);
    check(status, "clCreateContext");
    const char *text = source;
    cl_program program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 0, NULL, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
    s.add = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    cl_command_queue queue[2];
    for (int d = 0; d < 2; d++) {
        queue[d] = clCreateCommandQueueWithProperties(s.context, both[d], NULL, &status);
        check(status, "clCreateCommandQueueWithProperties");
    }
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++)
        b[i] = i + 1;
    cl_mem x = make(sizeof a, CL_MEM_COPY_HOST_PTR, a), y = make(sizeof b, CL_MEM_COPY_HOST_PTR, b);
    cl_event gate = clCreateUserEvent(s.context, &status), before = gate;
    enum { TURNS = 6 };
    for (int n = 0; n < TURNS; n++) { /* x = x + n * y, here and there in turn; none begins before the gate opens */
        cl_event event;
        set_add(x, y, x, n);
        check(clEnqueueNDRangeKernel(queue[n % 2], s.add, 1, NULL, &items, NULL, 1, &before, &event), "launch");
        if (before != gate)
            clReleaseEvent(before);
        before = event;
        if (n == TURNS / 2)
            check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
        check(clFlush(queue[n % 2]), "clFlush");
    }
    check(clEnqueueReadBuffer(queue[0], x, CL_TRUE, 0, sizeof c, c, 1, &before, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < N; i++)
        right = right && c[i] == TURNS * (TURNS - 1) / 2 * b[i];
    say("two devices of one context", right && try_large_between(queue));
    say("contents that several queues have written", try_writers(queue, first));
    say("contents after commands that failed", !driven || try_failure(queue, x));
    say("contents that commands that failed would have overwritten", !driven || try_failed_overwrites(queue));
    clReleaseEvent(before);
    clReleaseEvent(gate);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    clReleaseKernel(s.add);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue[0]);
    clReleaseCommandQueue(queue[1]);
    clReleaseContext(s.context);
    s.context = old;
    s.add = old_add;
}

/* ---- sub-devices ---- */

/* Whether a sub-device is one unit of `parent`, and says so. */
static bool is_unit(cl_device_id device, cl_device_id parent)
{
    cl_uint units = 0, most = 9, refs = 0;
    cl_device_id of = NULL;
    cl_device_partition_property list[8] = {0};
    size_t bytes = 0;
    char name[2][256] = {"", "other"};
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL);
    clGetDeviceInfo(device, CL_DEVICE_REFERENCE_COUNT, sizeof refs, &refs, NULL);
    clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof of, &of, NULL);
    clGetDeviceInfo(device, CL_DEVICE_PARTITION_TYPE, sizeof list, list, &bytes);
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name[0], name[0], NULL);
    clGetDeviceInfo(parent, CL_DEVICE_NAME, sizeof name[1], name[1], NULL);
    return units == 1 && most <= 1 && refs == 1 && of == parent && bytes >= 3 * sizeof list[0] &&
           list[0] == CL_DEVICE_PARTITION_EQUALLY && list[1] == 1 && list[2] == 0 && strcmp(name[0], name[1]) == 0;
}

/* Whether wrong lists have the errors that the specification names, and leave the outputs alone. */
static bool refuses_lists(cl_device_id device)
{
    const cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1 << 20, 0, 0};
    const cl_device_partition_property units[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    const cl_device_partition_property none[] = {0}, longer[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 1, 0};
    cl_device_id made[1] = {device};
    cl_uint count = 99;
    bool right =
        clCreateSubDevices(device, counts, 1, made, &count) == CL_INVALID_DEVICE_PARTITION_COUNT &&
        clCreateSubDevices(device, none, 1, made, &count) == CL_INVALID_VALUE &&
        (!driven || clCreateSubDevices(device, NULL, 1, made, &count) == CL_INVALID_VALUE) &&
        (!driven || clCreateSubDevices(device, longer, 1, made, &count) == CL_INVALID_VALUE) &&
        (!driven || clCreateSubDevices(device, units, 1, made, &count) == CL_INVALID_VALUE); /* there are more */
    return right && made[0] == device && count == 99;
}

/* Add in turns on two queues of a context. @return whether all is right. */
static bool add_in_turns(cl_context context, const cl_device_id devices[2], cl_kernel *kernel_out)
{
    enum { TURNS = 6 };
    const char *text = source;
    const size_t items = N;
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 0, NULL, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = s.add = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");
    cl_command_queue queue[2];
    for (int d = 0; d < 2; d++) {
        queue[d] = clCreateCommandQueueWithProperties(context, devices[d], NULL, &status);
        check(status, "clCreateCommandQueueWithProperties");
    }
    cl_device_id shown = NULL;
    bool right = clGetCommandQueueInfo(queue[1], CL_QUEUE_DEVICE, sizeof shown, &shown, NULL) == CL_SUCCESS &&
                 shown == devices[1];
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++)
        b[i] = i + 1;
    cl_mem x = make(sizeof a, CL_MEM_COPY_HOST_PTR, a), y = make(sizeof b, CL_MEM_COPY_HOST_PTR, b);
    cl_event before = NULL;
    for (int n = 0; n < TURNS; n++) {
        cl_event event;
        set_add(x, y, x, n);
        check(clEnqueueNDRangeKernel(queue[n % 2], kernel, 1, NULL, &items, NULL, before != NULL,
                                     before != NULL ? &before : NULL, &event),
              "launch");
        if (before != NULL)
            clReleaseEvent(before);
        before = event;
        check(clFlush(queue[n % 2]), "clFlush");
    }
    check(clEnqueueReadBuffer(queue[0], x, CL_TRUE, 0, sizeof c, c, 1, &before, NULL), "clEnqueueReadBuffer");
    for (int i = 0; i < N; i++)
        right = right && c[i] == TURNS * (TURNS - 1) / 2 * b[i];
    clReleaseEvent(before);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    for (int d = 0; d < 2; d++)
        clReleaseCommandQueue(queue[d]);
    clReleaseProgram(program);
    *kernel_out = kernel;
    return right;
}

/* Whether a program can be made from the binaries that another one has for two sub-devices of a context. */
static bool remake(cl_kernel kernel, cl_context context, const cl_device_id devices[2])
{
    cl_program program;
    cl_uint count = 0;
    size_t bytes[2] = {0};
    cl_int status, each[2];
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL);
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, bytes, NULL);
    if (count != 2 || bytes[0] == 0 || bytes[1] == 0)
        return false;
    unsigned char *binary[2] = {malloc(bytes[0]), malloc(bytes[1])};
    check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, binary, NULL), "clGetProgramInfo");
    cl_program again =
        clCreateProgramWithBinary(context, 2, devices, bytes, (const unsigned char **)binary, each, &status);
    bool right = status == CL_SUCCESS && clBuildProgram(again, 2, devices, "", NULL, NULL) == CL_SUCCESS;
    if (again != NULL)
        clReleaseProgram(again);
    free(binary[0]);
    free(binary[1]);
    return right;
}

static cl_uint devices_of(cl_context context)
{
    cl_uint count = 0;
    clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL);
    return count;
}

static cl_uint count_of(cl_device_id device, cl_device_info what)
{
    cl_uint count = 99;
    clGetDeviceInfo(device, what, sizeof count, &count, NULL);
    return count;
}

/* Partition a device, and print what its parts are and into how many units the last one can be divided. */
static void print_parts(cl_device_id device, const cl_device_partition_property list[])
{
    enum { MOST = 16 };
    const cl_device_partition_property units[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id part[MOST], unit[MOST];
    cl_device_partition_property type[MOST] = {0};
    cl_uint count = 0, units_of_last = 0;
    size_t bytes = 0;
    cl_int status = clCreateSubDevices(device, list, MOST, part, &count);
    printf("parts %lx %ld: status %d,", (long)list[0], (long)list[1], status);
    for (cl_uint p = 0; p < count; p++) {
        printf(" %u units, at most %u parts, %u references;", count_of(part[p], CL_DEVICE_MAX_COMPUTE_UNITS),
               count_of(part[p], CL_DEVICE_PARTITION_MAX_SUB_DEVICES), count_of(part[p], CL_DEVICE_REFERENCE_COUNT));
        clGetDeviceInfo(part[p], CL_DEVICE_PARTITION_TYPE, sizeof type, type, &bytes);
        for (size_t t = 0; t < bytes / sizeof type[0]; t++)
            printf(" %lx", (long)type[t]);
    }
    status = count > 0 ? clCreateSubDevices(part[count - 1], units, MOST, unit, &units_of_last) : CL_SUCCESS;
    printf("; the last one: status %d, %u\n", status, units_of_last);
    for (cl_uint u = 0; u < units_of_last; u++)
        clReleaseDevice(unit[u]);
    for (cl_uint p = 0; p < count; p++)
        clReleaseDevice(part[p]);
}

/* Partitions of a device of four units, into equal parts, by counts, and by what PoCL's devices do not support. */
static void try_partitions(cl_device_id device)
{
    enum { EQUALLY = CL_DEVICE_PARTITION_EQUALLY, COUNTS = CL_DEVICE_PARTITION_BY_COUNTS };
    static const cl_device_partition_property list[][8] = {
        {EQUALLY, 1, 0},
        {EQUALLY, 2, 0},
        {EQUALLY, 3, 0}, /* one unit is left */
        {EQUALLY, 4, 0},
        {EQUALLY, 5, 0}, /* there are fewer */
        {EQUALLY, 0, 0},
        {COUNTS, 1, 3, 0, 0},
        {COUNTS, 2, 1, 0, 0},
        {COUNTS, 3, 2, 0, 0}, /* one unit too many */
        {COUNTS, 1, 1, 1, 1, 0, 0},
        {COUNTS, 1, 1, 1, 1, 1, 0, 0},
        {COUNTS, 4, 0, 0},
        {COUNTS, 0, 0},
        {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NUMA, 0},
    };
    printf("%u units\n", count_of(device, CL_DEVICE_MAX_COMPUTE_UNITS));
    for (size_t l = 0; l < sizeof list / sizeof list[0]; l++)
        print_parts(device, list[l]);
}

/* PoCL's contexts have the devices in place of their sub-devices, so some questions are for DCL's only. */
static void try_sub_devices(cl_device_id first, cl_device_id second)
{
    enum { MOST = 256 };
    const cl_device_partition_property units[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id part[MOST];
    cl_uint count = 0, again = 0;
    cl_int status = clCreateSubDevices(first, units, MOST, part, &count);
    if (count_of(first, CL_DEVICE_MAX_COMPUTE_UNITS) <
        2) { /* a device of `local:N` may have one unit, and the native one more: both print the same */
        say("sub-devices", count <= 1);
        say("a context of two sub-devices", true);
        say("a sub-device beside a device", true);
        return;
    }
    check(status, "clCreateSubDevices");
    bool right = clCreateSubDevices(first, units, 0, NULL, &again) == CL_SUCCESS && again == count;
    for (cl_uint p = 0; p < count; p++)
        right = right && is_unit(part[p], first);
    cl_device_id smaller;
    right = right && clCreateSubDevices(part[0], units, 1, &smaller, NULL) == CL_DEVICE_PARTITION_FAILED;
    say("sub-devices", right && refuses_lists(first));
    cl_context old = s.context;
    cl_kernel old_add = s.add, kernel;
    s.context = clCreateContext(NULL, 2, part, NULL, NULL, &status);
    check(status, "clCreateContext");
    right = add_in_turns(s.context, part, &kernel);
    if (driven) {
        right = right && devices_of(s.context) == 2 && remake(kernel, s.context, part);
        clCreateCommandQueueWithProperties(s.context, first, NULL, &status);
        right = right && status == CL_INVALID_DEVICE;
    }
    say("a context of two sub-devices", right);
    clReleaseKernel(kernel);
    if (driven) { /* a part of one device and the whole of another one, which may be the same */
        const cl_device_id both[] = {part[1], second};
        cl_context two = clCreateContext(NULL, 2, both, NULL, NULL, &status);
        check(status, "clCreateContext");
        clReleaseContext(s.context);
        s.context = two;
        right = add_in_turns(two, both, &kernel) && devices_of(two) == 2;
        clReleaseKernel(kernel);
    }
    check(clRetainDevice(part[0]), "clRetainDevice");
    for (cl_uint p = 0; p < count; p++)
        right = right && clReleaseDevice(part[p]) == CL_SUCCESS;
    right = right && clReleaseDevice(part[0]) == CL_SUCCESS;
    right = right && (!driven || count_of(part[1], CL_DEVICE_REFERENCE_COUNT) == 1); /* the context has it */
    clReleaseContext(s.context);
    right = right && (!driven || clReleaseDevice(part[0]) == CL_INVALID_DEVICE);
    say("a sub-device beside a device", right);
    s.context = old;
    s.add = old_add;
}

/* ---- a series ---- */

/* Many launches one after the other, between two lines. */
static int try_series(cl_device_id device)
{
    enum { TURNS = 40 };
    const size_t items = N;
    open_setting(device);
    cl_mem x = make(sizeof a, 0, NULL), y = make(sizeof b, 0, NULL);
    set_add(x, y, x, 1);
    for (int n = 0; n <= TURNS; n++) {
        check(clEnqueueNDRangeKernel(s.queue, s.add, 1, NULL, &items, NULL, 0, NULL, NULL), "launch");
        if (n == 0) /* the kernel is compiled */
            check(clFinish(s.queue), "clFinish");
    }
    check(clFlush(s.queue), "clFlush");
    puts("launched");
    fflush(stdout);
    check(clFinish(s.queue), "clFinish");
    puts("ended");
    fflush(stdout);
    poll(NULL, 0, 200); /* the test reads how often the server has slept */
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    close_setting();
    return 0;
}

/* ---- threads ---- */

enum { THREADS = 4, TURNS = 60 };

static void CL_CALLBACK note_flag(cl_event event, cl_int status, void *user)
{
    (void)event;
    pthread_mutex_lock(&lock);
    *(int *)user = status;
    pthread_cond_broadcast(&called);
    pthread_mutex_unlock(&lock);
}

/* Hear of the end of an event in one of four ways. */
static bool hear_end(cl_command_queue queue, cl_event event, int way)
{
    cl_int state = CL_QUEUED;
    switch (way) {
    case 0:
        return clWaitForEvents(1, &event) == CL_SUCCESS;
    case 1:
        return clFinish(queue) == CL_SUCCESS;
    case 2: /* without a call that waits or flushes */
        for (int n = 0; n < 1000000 && state > CL_COMPLETE; n++)
            if (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) != CL_SUCCESS)
                return false;
        return state == CL_COMPLETE || clFinish(queue) == CL_SUCCESS; /* others had the processor */
    default:
        if (clSetEventCallback(event, CL_COMPLETE, note_flag, &state) != CL_SUCCESS || clFlush(queue) != CL_SUCCESS)
            return false;
        pthread_mutex_lock(&lock);
        while (state > CL_COMPLETE)
            pthread_cond_wait(&called, &lock);
        pthread_mutex_unlock(&lock);
        return state == CL_COMPLETE;
    }
}

/* Write, copy and read small values, all of which threads do at the same time on one device. @return the number of wrong results. */
static void *take_turns(void *argument)
{
    intptr_t number = (intptr_t)argument, wrong = 0;
    cl_int status, value = 0, got = 0;
    cl_command_queue queue = clCreateCommandQueueWithProperties(s.context, s.device, NULL, &status);
    cl_mem x = clCreateBuffer(s.context, 0, sizeof value, NULL, &status);
    cl_mem y = clCreateBuffer(s.context, 0, sizeof value, NULL, &status);
    for (int n = 0; n < TURNS; n++) {
        cl_event read;
        value = 1000 * (int)number + n;
        status = clEnqueueWriteBuffer(queue, x, CL_FALSE, 0, sizeof value, &value, 0, NULL, NULL);
        status |= clEnqueueCopyBuffer(queue, x, y, 0, 0, sizeof value, 0, NULL, NULL);
        status |= clEnqueueReadBuffer(queue, y, CL_FALSE, 0, sizeof got, &got, 0, NULL, &read);
        if (status != CL_SUCCESS)
            return (void *)(intptr_t)TURNS;
        wrong += !hear_end(queue, read, (int)(number + n) % 4) || got != value;
        clReleaseEvent(read);
    }
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    clReleaseCommandQueue(queue);
    return (void *)wrong;
}

static void try_threads(void)
{
    pthread_t thread[THREADS];
    intptr_t wrong = 0;
    for (intptr_t t = 0; t < THREADS; t++)
        check(pthread_create(&thread[t], NULL, take_turns, (void *)t), "pthread_create");
    for (int t = 0; t < THREADS; t++) {
        void *result;
        pthread_join(thread[t], &result);
        wrong += (intptr_t)result;
    }
    say("threads that wait in different ways", wrong == 0);
}

static int try_all(void)
{
    try_launch();
    try_groups();
    try_large();
    try_huge();
    try_rects();
    try_fill_and_map();
    try_nothing();
    try_unusual();
    try_own_memory();
    try_maps_again();
    say("an unmap that fails before the region is filled", !driven || try_failed_unmap());
    try_parts();
    try_events();
    try_long_list();
    say("a very long wait list", !driven || try_very_long_list());
    try_many();
    try_programs();
    try_threads();
    return failures;
}

/* ---- more commands than a device takes ---- */

static int try_limits(void)
{
    enum { MANY = 300000 };
    cl_int status;
    cl_event gate = clCreateUserEvent(s.context, &status);
    int taken = 0;
    check(status, "clCreateUserEvent");
    while (taken < MANY && (status = clEnqueueMarkerWithWaitList(s.free_queue, 1, &gate, NULL)) == CL_SUCCESS)
        taken++;
    printf("%d commands that wait, then %d\n", taken, status);
    check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    check(clFinish(s.free_queue), "clFinish");
    clReleaseEvent(gate);
    for (int n = 0; n < MANY / 2; n++)
        check(clEnqueueMarkerWithWaitList(s.queue, 0, NULL, NULL), "clEnqueueMarkerWithWaitList");
    check(clFinish(s.queue), "clFinish");
    try_many();
    return failures;
}

/* ---- a kernel that runs long ---- */

static int try_spin(long milliseconds)
{
    int zero = 0;
    cl_long turns = (cl_long)milliseconds * 200000;
    cl_mem x = make(sizeof zero, CL_MEM_COPY_HOST_PTR, &zero), y = make(sizeof a, 0, NULL);
    const size_t one = 1;
    cl_event running, after;
    cl_int state = 0, later = 0, available = 1;
    /* Wait until the buffer has its contents: else the kernel may fail because they were lost, with another status. */
    check(clEnqueueReadBuffer(s.queue, x, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL), "read");
    check(clSetKernelArg(s.spin, 0, sizeof x, &x), "clSetKernelArg");
    check(clSetKernelArg(s.spin, 1, sizeof turns, &turns), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(s.queue, s.spin, 1, NULL, &one, &one, 0, NULL, &running), "launch");
    check(clEnqueueReadBuffer(s.free_queue, x, CL_FALSE, 0, sizeof zero, &zero, 1, &running, &after), "read");
    check(clFlush(s.queue), "clFlush");
    printf("running\n");
    fflush(stdout);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    cl_int waited = clWaitForEvents(1, &after), finished = clFinish(s.queue);
    clock_gettime(CLOCK_MONOTONIC, &end);
    clGetEventInfo(running, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clGetEventInfo(after, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof later, &later, NULL);
    clGetDeviceInfo(s.device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    printf("wait %d, finish %d, kernel %d, dependent %d, available %d\n", waited, finished, state, later, available);
    fflush(stdout); /* the time until this line is measured */
    clReleaseEvent(running);
    clReleaseEvent(after);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    return 0;
}

/* A kernel runs long on one device, and a launch on another one needs its results. */
static int try_needs(cl_device_id first, cl_device_id second, long milliseconds)
{
    const cl_device_id both[2] = {first, second};
    const size_t one = 1;
    cl_int status, state = 0, later = 0, zero = 0;
    cl_long turns = (cl_long)milliseconds * 200000, few = 1;
    const char *text = source;
    cl_event event[2];
    cl_context context = clCreateContext(NULL, 2, both, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 0, NULL, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "spin", &status);
    check(status, "clCreateKernel");
    cl_mem x = clCreateBuffer(context, 0, LARGE, NULL, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
    cl_command_queue queue[2];
    for (int d = 0; d < 2; d++) {
        queue[d] = clCreateCommandQueueWithProperties(context, both[d], NULL, &status);
        check(status, "clCreateCommandQueueWithProperties");
    }
    check(clEnqueueFillBuffer(queue[0], x, &zero, sizeof zero, 0, LARGE, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clFinish(queue[0]), "clFinish");
    for (int d = 0; d < 2; d++) {
        check(clSetKernelArg(kernel, 1, sizeof turns, d == 0 ? &turns : &few), "clSetKernelArg");
        check(
            clEnqueueNDRangeKernel(queue[d], kernel, 1, NULL, &one, &one, (cl_uint)d, d > 0 ? event : NULL, &event[d]),
            "launch");
        check(clFlush(queue[d]), "clFlush");
    }
    printf("running\n");
    fflush(stdout);
    cl_int waited = clWaitForEvents(1, &event[1]);
    clWaitForEvents(1, &event[0]); /* the other server may notice the loss before the program does */
    clGetEventInfo(event[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clGetEventInfo(event[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof later, &later, NULL);
    printf("wait %d, kernel %d, dependent %d\n", waited, state, later);
    fflush(stdout); /* the time until this line is measured */
    cl_int value = 1;
    clReleaseMemObject(x); /* its contents are lost */
    x = clCreateBuffer(context, 0, LARGE, NULL, &status);
    check(status, "clCreateBuffer");
    check(clEnqueueFillBuffer(queue[1], x, &zero, sizeof zero, 0, LARGE, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clEnqueueReadBuffer(queue[1], x, CL_TRUE, LARGE - sizeof value, sizeof value, &value, 0, NULL, NULL), "read");
    printf("the other device %s\n", value == 0 ? "right" : "WRONG");
    for (int d = 0; d < 2; d++) {
        clReleaseEvent(event[d]);
        clReleaseCommandQueue(queue[d]);
    }
    clReleaseMemObject(x);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseContext(context);
    return value;
}

/* Two servers lose each other while contents move. The read that needs them fails, and the next one gets them another way. */
static int try_apart(cl_device_id first, cl_device_id second)
{
    const cl_device_id both[2] = {first, second};
    cl_int status, value = 7, sum = 0, *got = malloc(LARGE);
    cl_context context = clCreateContext(NULL, 2, both, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_mem x = clCreateBuffer(context, 0, LARGE, NULL, &status);
    check(status, "clCreateBuffer");
    cl_command_queue queue[2];
    for (int d = 0; d < 2; d++) {
        queue[d] = clCreateCommandQueueWithProperties(context, both[d], NULL, &status);
        check(status, "clCreateCommandQueueWithProperties");
    }
    cl_int zero = 0; /* both servers have the buffer, and are connected */
    check(clEnqueueFillBuffer(queue[1], x, &zero, sizeof zero, 0, LARGE, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clEnqueueMigrateMemObjects(queue[0], 1, &x, 0, 0, NULL, NULL), "clEnqueueMigrateMemObjects");
    check(clEnqueueFillBuffer(queue[0], x, &value, sizeof value, 0, LARGE, 0, NULL, NULL), "clEnqueueFillBuffer");
    check(clFinish(queue[0]), "clFinish");
    sigset_t asked;
    int number;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    printf("ready\n");
    fflush(stdout);
    sigwait(&asked, &number);
    cl_event event;
    check(clEnqueueReadBuffer(queue[1], x, CL_FALSE, 0, LARGE, got, 0, NULL, &event), "clEnqueueReadBuffer");
    check(clFlush(queue[1]), "clFlush");
    printf("moving\n");
    fflush(stdout);
    cl_int waited = clWaitForEvents(1, &event);
    status = clEnqueueReadBuffer(queue[1], x, CL_TRUE, 0, LARGE, got, 0, NULL, NULL);
    for (size_t i = 0; i < LARGE / sizeof *got; i++)
        sum += got[i] != value;
    printf("wait %d, then %d and %s\n", waited, status, sum == 0 ? "right" : "WRONG");
    clReleaseEvent(event);
    for (int d = 0; d < 2; d++)
        clReleaseCommandQueue(queue[d]);
    clReleaseMemObject(x);
    clReleaseContext(context);
    free(got);
    return 0;
}

/* Print the lines 0 to n - 1. */
static int print_lines(cl_int n)
{
    const size_t one = 1;
    const char *text = "kernel void tell(int n) { for (int i = 0; i < n; i++) printf(\"%06d "
                       "01234567890123456789012345678901234567890123456789012345678901\\n\", i); }";
    cl_program program = clCreateProgramWithSource(s.context, 1, &text, NULL, NULL);
    check(clBuildProgram(program, 1, &s.device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "tell", NULL);
    check(clSetKernelArg(kernel, 0, sizeof n, &n), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    return clFinish(s.queue);
}

int main(int count, char **list)
{
    cl_platform_id platform;
    cl_device_id devices[16];
    cl_uint found = 0;
    sigset_t asked; /* by try_apart(); before there are threads */
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &asked, NULL);
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &found), "clGetDeviceIDs");
    char name[64] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    driven = strcmp(name, "DCL") == 0;
    if (count == 3 && strcmp(list[1], "print") == 0) {
        open_setting(devices[0]);
        _exit(print_lines(atoi(list[2])));
    }
    printf("devices %u\n", found);
    if (count == 3 && strcmp(list[1], "spin") == 0) {
        open_setting(devices[0]);
        int result = try_spin(atol(list[2]));
        close_setting();
        if (found > 1) { /* the others go on */
            open_setting(devices[1]);
            try_many();
            close_setting();
        }
        return result + failures;
    }
    if (count == 3 && strcmp(list[1], "needs") == 0 && found > 1)
        return try_needs(devices[0], devices[1], atol(list[2]));
    if (count == 2 && strcmp(list[1], "apart") == 0 && found > 1)
        return try_apart(devices[0], devices[1]);
    if (count == 2 && strcmp(list[1], "series") == 0)
        return try_series(devices[0]);
    if (count == 2 && strcmp(list[1], "parts") == 0) {
        open_setting(devices[found - 1]);
        try_partitions(devices[0]);
        try_sub_devices(devices[0], devices[found - 1]);
        close_setting();
        printf("%s\n", failures == 0 ? "all right" : "something is wrong");
        return failures != 0;
    }
    if (count == 2 && strcmp(list[1], "limits") == 0) {
        open_setting(devices[0]);
        int result = try_limits();
        close_setting();
        return result;
    }
    open_setting(devices[found - 1]);
    try_devices(devices[0], devices[found - 1]);
    try_sub_devices(devices[0], devices[found - 1]);
    int result = try_all();
    close_setting();
    printf("%s\n", result == 0 ? "all right" : "something is wrong");
    return result != 0;
}
