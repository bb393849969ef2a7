/* bench/opencl_servers.c - times of commands that depend on another server of the OpenCL driver.
 *
 *   OCL_ICD_VENDORS=build/dcl.icd DCL_WORKERS=tcp://...,tcp://... build/bench/opencl_servers
 *
 * Two devices of the platform DCL share a context. A hop is a launch on one of them that needs 4 KiB which a launch on the other has
 * written: in a chain of launches that are all enqueued before the program waits, and alone, with clFinish() after each. A migration moves
 * 64 MiB from one to the other. For comparison, the same run measures a launch with clFinish(), a ping, and a stream of 64 MiB over
 * ZeroMQ (bench/bare.h). The bytes of a hop that pass through this process are those that the system counts for its tcp
 * connections. Minima and medians of many rounds; results are verified. */
#define CL_TARGET_OPENCL_VERSION 120
#include "bare.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { SMALL = 4096, ITEMS = SMALL / sizeof(cl_int), ROUNDS = 31, CHAIN = 100, MOVES = 16 };
enum { REST_US = 2000 /* until the threads of driver and servers sleep, which would disturb a ping */ };

typedef struct pair {
    cl_device_id device[2];
    cl_context context;
    cl_command_queue queue[2];
    cl_kernel kernel[2]; /* of `small`, of `large` */
    cl_mem small, large;
    int hops;
    double launch[ROUNDS], hop[ROUNDS], chained[ROUNDS], ping[ROUNDS], move[MOVES]; /* in us */
    double stream[MOVES];           /* the slower stream of the round, in us */
    double ratio[MOVES];            /* time of the slower stream / time of the migration, in the same round */
    double chain_bytes, move_bytes; /* through this process, of one hop and of one migration */
} pair;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sort times. @return the median; the first is the minimum, and quartile() the lower quartile. */
static double median(double time[], int count)
{
    qsort(time, (size_t)count, sizeof time[0], compare);
    return time[count / 2];
}

static double quartile(const double sorted[], int count) { return sorted[count / 4]; }

/* Bytes that the tcp connections of this process have sent and received so far. */
static double passed(void)
{
    double bytes = 0;
    DIR *folder = opendir("/proc/self/fd");
    demand(folder != NULL, "opendir");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct tcp_info info;
        socklen_t length = sizeof info;
        memset(&info, 0, sizeof info);
        if (getsockopt(atoi(entry->d_name), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
            bytes += (double)info.tcpi_bytes_acked + (double)info.tcpi_bytes_received;
    }
    closedir(folder);
    return bytes;
}

static bool find_devices(pair *p)
{
    cl_platform_id platforms[16];
    cl_uint count = 0, devices = 0;
    check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    for (cl_uint i = 0; i < count; i++) {
        char name[64] = "";
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (strcmp(name, "DCL") == 0)
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 2, p->device, &devices);
    }
    return devices >= 2;
}

static void open_pair(pair *p)
{
    const char *text = "kernel void add(global int *a, int k) { a[get_global_id(0)] += k; }";
    cl_int status, one = 1;
    p->context = clCreateContext(NULL, 2, p->device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_program program = clCreateProgramWithSource(p->context, 1, &text, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 2, p->device, "", NULL, NULL), "clBuildProgram");
    p->small = clCreateBuffer(p->context, 0, SMALL, NULL, &status);
    check(status, "clCreateBuffer");
    p->large = clCreateBuffer(p->context, 0, LARGE, NULL, &status);
    check(status, "clCreateBuffer");
    for (int d = 0; d < 2; d++) {
        p->queue[d] = clCreateCommandQueue(p->context, p->device[d], 0, &status);
        check(status, "clCreateCommandQueue");
        p->kernel[d] = clCreateKernel(program, "add", &status);
        check(status, "clCreateKernel");
        check(clSetKernelArg(p->kernel[d], 0, sizeof(cl_mem), d == 0 ? &p->small : &p->large), "clSetKernelArg");
        check(clSetKernelArg(p->kernel[d], 1, sizeof one, &one), "clSetKernelArg");
    }
    static cl_int zero[ITEMS];
    check(clEnqueueWriteBuffer(p->queue[0], p->small, CL_TRUE, 0, SMALL, zero, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

/* @param before  event to wait for, which is released; NULL: none. */
static cl_event launch(pair *p, int device, cl_event before)
{
    const size_t items = ITEMS;
    cl_event event;
    check(clEnqueueNDRangeKernel(p->queue[device], p->kernel[0], 1, NULL, &items, &items, before != NULL,
                                 before != NULL ? &before : NULL, &event),
          "clEnqueueNDRangeKernel");
    check(clFlush(p->queue[device]), "clFlush");
    if (before != NULL)
        clReleaseEvent(before);
    p->hops++;
    return event;
}

static double launch_and_finish(pair *p, int device)
{
    double begin = now_us();
    clReleaseEvent(launch(p, device, NULL));
    check(clFinish(p->queue[device]), "clFinish");
    return now_us() - begin;
}

static void measure_hops(pair *p, int round)
{
    launch_and_finish(p, 0); /* threads are awake, and the contents there */
    p->launch[round] = launch_and_finish(p, 0);
    launch_and_finish(p, 1);
    launch_and_finish(p, 0);
    p->hop[round] = launch_and_finish(p, 1);
    double begin = now_us(), before = passed();
    cl_event event = NULL;
    for (int n = 0; n < CHAIN; n++)
        event = launch(p, n % 2, event);
    check(clWaitForEvents(1, &event), "clWaitForEvents");
    p->chained[round] = (now_us() - begin) / CHAIN;
    clReleaseEvent(event);
    check(clFinish(p->queue[0]), "clFinish");
    check(clFinish(p->queue[1]), "clFinish");
    p->chain_bytes = (passed() - before) / CHAIN;
}

static void verify(pair *p)
{
    static cl_int got[ITEMS];
    check(clEnqueueReadBuffer(p->queue[0], p->small, CL_TRUE, 0, SMALL, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (size_t i = 0; i < ITEMS; i++)
        if (got[i] != p->hops) {
            fprintf(stderr, "element %zu was added to %d times; expected %d\n", i, got[i], p->hops);
            exit(1);
        }
}

/* Write 64 MiB to one device, read them on the other device, and compare. */
static void measure_move(pair *p, int round, cl_int *got)
{
    int from = round % 2, to = 1 - from;
    cl_int value = 1000 + round;
    check(clEnqueueFillBuffer(p->queue[from], p->large, &value, sizeof value, 0, LARGE, 0, NULL, NULL),
          "clEnqueueFillBuffer");
    check(clFinish(p->queue[from]), "clFinish");
    double begin = now_us(), before = passed();
    check(clEnqueueMigrateMemObjects(p->queue[to], 1, &p->large, 0, 0, NULL, NULL), "clEnqueueMigrateMemObjects");
    check(clFinish(p->queue[to]), "clFinish");
    p->move[round] = now_us() - begin;
    p->move_bytes = passed() - before;
    check(clEnqueueReadBuffer(p->queue[to], p->large, CL_TRUE, 0, LARGE, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (size_t i = 0; i < LARGE / sizeof(cl_int); i++)
        if (got[i] != value) {
            fprintf(stderr, "element %zu is %d after a migration; expected %d\n", i, got[i], value);
            exit(1);
        }
}

static void report(pair *p, const bare *network)
{
    double launch_us = median(p->launch, ROUNDS), hop_us = median(p->hop, ROUNDS),
           chained_us = median(p->chained, ROUNDS), ping_us = median(p->ping, ROUNDS), move_us = median(p->move, MOVES);
    (void)median(p->stream, MOVES);
    double stream = network->write_s > network->read_s ? network->write_s : network->read_s;
    printf("medians (minima), us: launch + finish %.1f (%.1f), hop alone, with finish %.1f (%.1f), hop in a chain of "
           "%d %.1f "
           "(%.1f); ping %.1f (%.1f), wake-up of a thread %.1f\n",
           launch_us, p->launch[0], hop_us, p->hop[0], CHAIN, chained_us, p->chained[0], ping_us, p->ping[0],
           network->wake_us);
    double limit = ping_us + launch_us + 30;
    double low = quartile(p->ping, ROUNDS) + quartile(p->launch, ROUNDS) + 30;
    printf("ping + launch + finish + 30 us: %.1f; hop alone / that %.2f, hop in a chain / that %.2f; by lower "
           "quartiles %.2f, "
           "%.2f\n",
           limit, hop_us / limit, chained_us / limit, quartile(p->hop, ROUNDS) / low,
           quartile(p->chained, ROUNDS) / low);
    printf("through this process: %.0f bytes of a hop in a chain, %.0f of a migration\n", p->chain_bytes,
           p->move_bytes);
    printf("64 MiB migrated: %.2f GB/s (best %.2f), stream of ZeroMQ at best %.2f GB/s sent, %.2f received; migrated / "
           "slower "
           "stream in the same round %.2f, by lower quartiles %.2f, best / best %.2f\n",
           1e-3 * LARGE / move_us, 1e-3 * LARGE / p->move[0], 1e-9 * LARGE / network->write_s,
           1e-9 * LARGE / network->read_s, median(p->ratio, MOVES),
           quartile(p->stream, MOVES) / quartile(p->move, MOVES), 1e6 * stream / p->move[0]);
}

int main(void)
{
    static pair p;
    bare network = {0};
    open_bare(&network);
    if (!find_devices(&p)) {
        fprintf(
            stderr,
            "expected two devices of the platform DCL; set OCL_ICD_VENDORS to build/dcl.icd, and DCL_WORKERS to two "
            "workers or to local:2\n");
        return 1;
    }
    unsigned char *sent = malloc(LARGE), *got = malloc(LARGE);
    if (sent == NULL || got == NULL)
        return 1;
    memset(sent, 5, LARGE);
    memset(got, 6, LARGE);
    open_pair(&p);
    for (int round = 0; round < ROUNDS; round++) {
        measure_hops(&p, round);
        usleep(REST_US);
        measure_ping(&network);
        p.ping[round] = network.last_ping_us;
    }
    verify(&p);
    for (int round = 0; round < MOVES; round++) {
        measure_move(&p, round, (cl_int *)(void *)got);
        measure_streams(&network, sent, got);
        double write_s = network.last_write_s, read_s = network.last_read_s;
        p.stream[round] = 1e6 * (write_s > read_s ? write_s : read_s);
        p.ratio[round] = p.stream[round] / p.move[round];
    }
    measure_wakes(&network);
    report(&p, &network);
    close_bare(&network);
    free(sent);
    free(got);
    return 0;
}
