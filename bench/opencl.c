/* bench/opencl.c - what the OpenCL driver costs: the same commands on a native device and on one of the platform DCL, in turns.
 *
 *   OCL_ICD_VENDORS=FOLDER DCL_WORKERS=... build/bench/opencl [native|DCL]     FOLDER holds pocl.icd and dcl.icd
 *
 * With an argument, that device is measured alone. On a GPU only this is fair: it divides its time between the processes that use
 * it, here the program and the worker, so that each launch of either waits for the other's share.
 *
 * Launch + finish, queued launches (100 and one finish, time of the enqueueing alone and of all), 64 MiB written and read. Minima of
 * many rounds: other programs on the host only add to them. They may do so for a second, longer than six rounds of transfers take.
 * Minima of two sides may come from different states of the host, so medians of comparisons within a round are printed, too, and the
 * medians of both sides and of the network. Other programs that run at the same time disturb single rounds of either side, so for
 * transfers the lower quartiles of both sides are compared as well.
 *
 * Beside them, what the network costs without OpenCL: bench/bare.h. */
#define CL_TARGET_OPENCL_VERSION 120
#include "bare.h"

enum { ROUNDS = 300, QUEUED = 100, ALONE = 5, LARGE_ROUNDS = 30 };
enum { REST_US = 5000 /* until the threads of driver and server sleep: while they poll, they disturb a ping */ };

typedef struct side {
    const char *name;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem small, large;
    double launch_us, enqueue_us, queued_us, write_s, read_s; /* minima */
    double last_launch_us, last_queued_us, last_write_s, last_read_s;
} side;

/* Transfers with the platform DCL and with another way. */
typedef struct transfers {
    double write[LARGE_ROUNDS], read[LARGE_ROUNDS];           /* rate of DCL / of the other one in the same round */
    double write_s[2][LARGE_ROUNDS], read_s[2][LARGE_ROUNDS]; /* of DCL, of the other one */
} transfers;

/* Comparisons of the platform DCL with the native device and with the bare network, in each round. */
typedef struct comparison {
    double launch_us[ROUNDS], queued_us[ROUNDS]; /* DCL - native */
    double dcl_us[ROUNDS], native_us[ROUNDS], ping_us[ROUNDS], wake_us[ROUNDS];
    transfers native, network;
} comparison;

/* ---- OpenCL ---- */

static void open_side(side *s)
{
    const char *text = "kernel void one(global int *a) { a[0] += 1; }";
    cl_int status;
    s->context = clCreateContext(NULL, 1, &s->device, NULL, NULL, &status);
    check(status, "clCreateContext");
    s->queue = clCreateCommandQueue(s->context, s->device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(s->context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &s->device, "", NULL, NULL), "clBuildProgram");
    s->kernel = clCreateKernel(program, "one", &status);
    check(status, "clCreateKernel");
    s->small = clCreateBuffer(s->context, 0, sizeof(cl_int), NULL, &status);
    check(status, "clCreateBuffer");
    s->large = clCreateBuffer(s->context, 0, LARGE, NULL, &status);
    check(status, "clCreateBuffer");
    cl_int zero = 0;
    check(clEnqueueWriteBuffer(s->queue, s->small, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clSetKernelArg(s->kernel, 0, sizeof s->small, &s->small), "clSetKernelArg");
}

static void launch(const side *s)
{
    const size_t one = 1;
    check(clEnqueueNDRangeKernel(s->queue, s->kernel, 1, NULL, &one, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static void measure_launches(side *s)
{
    double begin;
    for (int n = 0; n < ALONE; n++) { /* the first finds threads asleep */
        begin = now_us();
        launch(s);
        check(clFinish(s->queue), "clFinish");
        note(&s->launch_us, s->last_launch_us = now_us() - begin);
    }
    begin = now_us();
    for (int n = 0; n < QUEUED; n++)
        launch(s);
    note(&s->enqueue_us, (now_us() - begin) / QUEUED);
    check(clFinish(s->queue), "clFinish");
    note(&s->queued_us, s->last_queued_us = (now_us() - begin) / QUEUED);
}

static void measure_transfers(side *s, unsigned char *sent, unsigned char *got)
{
    double begin = now_us();
    check(clEnqueueWriteBuffer(s->queue, s->large, CL_TRUE, 0, LARGE, sent, 0, NULL, NULL), "clEnqueueWriteBuffer");
    note(&s->write_s, s->last_write_s = 1e-6 * (now_us() - begin));
    begin = now_us();
    check(clEnqueueReadBuffer(s->queue, s->large, CL_TRUE, 0, LARGE, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    note(&s->read_s, s->last_read_s = 1e-6 * (now_us() - begin));
    if (memcmp(sent, got, LARGE) != 0) {
        fprintf(stderr, "%s: what is read is not what was written\n", s->name);
        exit(1);
    }
}

/* The counter of the launches: all of them have run. */
static void verify(const side *s)
{
    cl_int count = 0;
    check(clEnqueueReadBuffer(s->queue, s->small, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    if (count != ROUNDS * (QUEUED + ALONE)) {
        fprintf(stderr, "%s: %d launches have run; expected %d\n", s->name, count, ROUNDS * (QUEUED + ALONE));
        exit(1);
    }
}

static void report(const side *s)
{
    verify(s);
    printf("%-6s launch + finish %.1f us; queued launch %.2f us, enqueueing alone %.2f us; 64 MiB write %.2f GB/s, "
           "read %.2f GB/s\n",
           s->name, s->launch_us, s->queued_us, s->enqueue_us, 1e-9 * LARGE / s->write_s, 1e-9 * LARGE / s->read_s);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double value[], int count)
{
    qsort(value, (size_t)count, sizeof value[0], compare);
    return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/* @return how many times as fast as the second side the first one is, by the lower quartiles of their times. */
static double of_quartiles(double time[2][LARGE_ROUNDS])
{
    for (int s = 0; s < 2; s++)
        qsort(time[s], LARGE_ROUNDS, sizeof time[s][0], compare);
    return time[1][LARGE_ROUNDS / 4] / time[0][LARGE_ROUNDS / 4];
}

static void compare_transfers(transfers *t, int round, const side *dcl, double write_s, double read_s)
{
    t->write[round] = write_s / dcl->last_write_s;
    t->read[round] = read_s / dcl->last_read_s;
    t->write_s[0][round] = dcl->last_write_s;
    t->write_s[1][round] = write_s;
    t->read_s[0][round] = dcl->last_read_s;
    t->read_s[1][round] = read_s;
}

static void report_transfers(transfers *t, const char *other)
{
    printf("DCL / %s in the same round, medians: write %.2f, read %.2f; lower quartiles of the times: write %.2f, read "
           "%.2f\n",
           other, median(t->write, LARGE_ROUNDS), median(t->read, LARGE_ROUNDS), of_quartiles(t->write_s),
           of_quartiles(t->read_s));
}

static void report_rounds(comparison *c, bool native)
{
    if (native) {
        printf("DCL - native in the same round, medians: launch + finish %.1f us, queued launch %.2f us\n",
               median(c->launch_us, ROUNDS), median(c->queued_us, ROUNDS));
        printf("medians: launch + finish natively %.1f us, by DCL %.1f us; ping %.1f us, wake-up of a thread %.1f us\n",
               median(c->native_us, ROUNDS), median(c->dcl_us, ROUNDS), median(c->ping_us, ROUNDS),
               median(c->wake_us, ROUNDS));
        report_transfers(&c->native, "native");
    }
    report_transfers(&c->network, "ZeroMQ");
}

/* @param only  name of the one that is wanted; NULL: both. @return whether they are there. */
static bool find_sides(side sides[2], const char *only)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    for (cl_uint p = 0; p < count; p++) {
        char name[64] = "";
        clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL);
        side *s = &sides[strcmp(name, "DCL") == 0];
        if (s->device == NULL && (only == NULL || strcmp(only, s->name) == 0))
            clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &s->device, NULL);
    }
    bool native = sides[0].device != NULL, other = sides[1].device != NULL;
    return only == NULL ? native && other : native || other;
}

int main(int argc, char *argv[])
{
    side sides[2] = {{.name = "native"}, {.name = "DCL"}};
    static comparison rounds;
    bare network = {0};
    open_bare(&network);
    if (!find_sides(sides, argc > 1 ? argv[1] : NULL)) {
        fprintf(stderr, "expected a native platform or the platform DCL with a device; set OCL_ICD_VENDORS to a folder "
                        "with the files of both or one, and DCL_WORKERS\n");
        return 1;
    }
    unsigned char *sent = malloc(LARGE), *got = malloc(LARGE);
    if (sent == NULL || got == NULL)
        return 1;
    for (size_t i = 0; i < LARGE; i++)
        sent[i] = (unsigned char)(i * 2654435761U >> 11);
    for (int s = 0; s < 2; s++)
        if (sides[s].device != NULL)
            open_side(&sides[s]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int s = 0; s < 2; s++)
            if (sides[s].device != NULL)
                measure_launches(&sides[s]);
        rounds.launch_us[round] = sides[1].last_launch_us - sides[0].last_launch_us;
        rounds.queued_us[round] = sides[1].last_queued_us - sides[0].last_queued_us;
        rounds.native_us[round] = sides[0].last_launch_us;
        rounds.dcl_us[round] = sides[1].last_launch_us;
        usleep(REST_US);
        measure_ping(&network);
        rounds.ping_us[round] = network.last_ping_us;
    }
    for (int round = 0; round < LARGE_ROUNDS; round++) {
        for (int s = 0; s < 2; s++)
            if (sides[s].device != NULL)
                measure_transfers(&sides[s], sent, got);
        measure_streams(&network, sent, got);
        if (sides[1].device != NULL) {
            compare_transfers(&rounds.native, round, &sides[1], sides[0].last_write_s, sides[0].last_read_s);
            compare_transfers(&rounds.network, round, &sides[1], network.last_write_s, network.last_read_s);
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        measure_wakes(&network);
        rounds.wake_us[round] = network.last_wake_us;
    }
    for (int s = 0; s < 2; s++)
        if (sides[s].device != NULL)
            report(&sides[s]);
    printf("ZeroMQ ping %.1f us; 64 MiB sent %.2f GB/s, received %.2f GB/s; wake-up of a thread %.1f us\n",
           network.ping_us, 1e-9 * LARGE / network.write_s, 1e-9 * LARGE / network.read_s, network.wake_us);
    if (sides[1].device != NULL)
        report_rounds(&rounds, sides[0].device != NULL);
    close_bare(&network);
    free(sent);
    free(got);
    return 0;
}
