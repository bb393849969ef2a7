/* waits.c - one operation and its wait, against OpenCL's launch and finish by hand, taking turns in one run.
 *
 * The body is a chain of dependent multiplications per element, which no compiler may shorten, on as many elements as keep the
 * device busy: the difference to the launch by hand is what DCL adds. Timed: dcl_forall() and dcl_wait(); clEnqueueNDRangeKernel() and
 * clFinish(). Each once directly after the one before, and once after a pause. Both are
 * measured ten times in a row: a device that changes from one context to another takes time for that. No transfers, no compilation. The results are
 * compared first. One node, the first device that dcl_open() would take; DCL_WORKERS=local:1 measures a worker process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl.h>

#include "device.h"

enum { GROUPS = 10, ROUNDS = 10 * GROUPS, PAUSE_NS = 2000000 };

static double quantile(double values[ROUNDS], double share)
{
    qsort(values, ROUNDS, sizeof values[0], by_value);
    return values[(int)(share * (ROUNDS - 1))];
}

static int elements; /* of the arrays */

/* ---- by hand ------------------------------------------------------------------------------------------------------ */

static const char source[] = "__kernel void chain(__global float *c, __global const float *a, int n) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    float x = a[i];\n"
                             "    for (int k = 0; k < n; k++)\n"
                             "        x = x * 1.0000001f;\n"
                             "    c[i] = x;\n"
                             "}\n";

typedef struct hand {
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem a, c;
} hand;

static void open_hand(hand *hand, const char *name, float start[])
{
    cl_device_id device = find_device(name, 0);
    cl_int error;
    const char *text = source;
    hand->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error == CL_SUCCESS, "clCreateContext");
    hand->queue = clCreateCommandQueue(hand->context, device, 0, &error);
    check(error == CL_SUCCESS, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(hand->context, 1, &text, NULL, &error);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
    hand->kernel = clCreateKernel(program, "chain", &error);
    check(error == CL_SUCCESS, "clCreateKernel");
    clReleaseProgram(program);
    hand->a = clCreateBuffer(hand->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (size_t)elements * sizeof(float),
                             start, &error);
    check(error == CL_SUCCESS, "clCreateBuffer");
    hand->c = clCreateBuffer(hand->context, CL_MEM_READ_WRITE, (size_t)elements * sizeof(float), NULL, &error);
    check(error == CL_SUCCESS, "clCreateBuffer");
}

static double run_hand(const hand *hand, cl_int length)
{
    size_t global = (size_t)elements, local = 64;
    clSetKernelArg(hand->kernel, 0, sizeof hand->c, &hand->c);
    clSetKernelArg(hand->kernel, 1, sizeof hand->a, &hand->a);
    clSetKernelArg(hand->kernel, 2, sizeof length, &length);
    double start = now_us();
    check(clEnqueueNDRangeKernel(hand->queue, hand->kernel, 1, NULL, &global, &local, 0, NULL, NULL) == CL_SUCCESS,
          "clEnqueueNDRangeKernel");
    clFinish(hand->queue);
    return now_us() - start;
}

static void close_hand(hand *hand)
{
    clReleaseMemObject(hand->a);
    clReleaseMemObject(hand->c);
    clReleaseKernel(hand->kernel);
    clReleaseCommandQueue(hand->queue);
    clReleaseContext(hand->context);
}

/* ---- DCL ---------------------------------------------------------------------------------------------------------- */

/* A cluster of one node, also where there are several devices. */
static dcl_cluster *open_one(void)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "dcl_config_read");
    dcl_device_info info[64];
    int count = 0;
    char number[16] = "0";
    check(dcl_device_list(64, info, &count) == DCL_OK, "dcl_device_list");
    for (int d = (count < 64 ? count : 64) - 1; d >= 0; d--)
        if (info[d].is_default)
            snprintf(number, sizeof number, "%d", info[d].number);
    if (config.devices == NULL)
        config.devices = number;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    check(dcl_node_count(cluster) == 1, "this program compares one node; name one device in DCL_DEVICES");
    return cluster;
}

static bool is_gpu(const char *name)
{
    dcl_device_info info[64];
    int count = 0, d = 0;
    check(dcl_device_list(64, info, &count) == DCL_OK, "dcl_device_list");
    while (d < count && d < 64 && strcmp(info[d].name, name) != 0)
        d++;
    return d < count && d < 64 && strcmp(info[d].kind, "gpu") == 0;
}

static double run_dcl(dcl_cluster *cluster, dcl_array *A, dcl_array *C, int n)
{
    double start = now_us();
    check(dcl_forall(cluster, "float x = A(i); for (int k = 0; k < n; k++) x = x * 1.0000001f; C(i) = x;", DCL_OUT(C),
                     DCL_IN(A), DCL_VALUE(n)) == DCL_OK,
          "dcl_forall");
    check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
    return now_us() - start;
}

static void compare(const hand *hand, dcl_array *C)
{
    size_t bytes = (size_t)elements * sizeof(float);
    float *own = malloc(bytes), *found = malloc(bytes);
    check(own != NULL && found != NULL, "memory");
    check(clEnqueueReadBuffer(hand->queue, hand->c, CL_TRUE, 0, bytes, own, 0, NULL, NULL) == CL_SUCCESS, "read");
    check(dcl_read(C, NULL, found, NULL) == DCL_OK, "dcl_read");
    check(memcmp(own, found, bytes) == 0, "the results differ");
    free(own);
    free(found);
}

/* The length of the chain that takes so long by hand. */
static int length_of(const hand *hand, double us)
{
    int length = 1000;
    double none, spent = 0;
    for (; spent < 2000; length *= 2) {
        none = spent = 1e9;
        for (int r = 0; r < 7; r++) {
            none = fmin(none, run_hand(hand, 0));
            spent = fmin(spent, run_hand(hand, length));
        }
        spent -= none;
    }
    return us <= 0 ? 0 : (int)(us * (length / 2) / spent);
}

static void pause_if(bool pauses)
{
    if (pauses)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static void measure(double aim_us, bool pauses, dcl_cluster *cluster, dcl_array *A, dcl_array *C, const hand *hand)
{
    double dcl[ROUNDS], own[ROUNDS];
    int length = length_of(hand, aim_us);
    run_dcl(cluster, A, C, length);
    run_hand(hand, length);
    compare(hand, C);
    for (int g = 0; g < GROUPS; g++) {
        for (int r = -2; r < ROUNDS / GROUPS; r++) {
            pause_if(pauses && r >= 0);
            double spent = run_dcl(cluster, A, C, length);
            if (r >= 0)
                dcl[g * ROUNDS / GROUPS + r] = spent;
        }
        for (int r = -2; r < ROUNDS / GROUPS; r++) {
            pause_if(pauses && r >= 0);
            double spent = run_hand(hand, length);
            if (r >= 0)
                own[g * ROUNDS / GROUPS + r] = spent;
        }
    }
    double mine = quantile(dcl, 0.5), theirs = quantile(own, 0.5);
    printf("one operation of %4.0f us, %s: dcl p50 %.1f us, launch and finish by hand %.1f us, difference %.1f us "
           "(median of %d; 9 of 10 within %.1f and %.1f)\n",
           aim_us, pauses ? "after a pause" : "one by one   ", mine, theirs, mine - theirs, ROUNDS, quantile(dcl, 0.9),
           quantile(own, 0.9));
}

int main(void)
{
    dcl_cluster *cluster = open_one();
    elements = is_gpu(dcl_node_name(cluster, 0)) ? 1 << 22 : 1 << 12;
    float *start = malloc((size_t)elements * sizeof(float));
    check(start != NULL, "memory");
    for (int i = 0; i < elements; i++)
        start[i] = (float)i / (float)elements;
    hand hand;
    open_hand(&hand, dcl_node_name(cluster, 0), start);
    const char *workers = getenv("DCL_WORKERS");
    printf("waits, commit %s, \"%s\", %s, %d elements\n", bench_commit, dcl_node_name(cluster, 0),
           workers != NULL ? workers : "embedded", elements);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_FLOAT, elements), map),
              *C = dcl_agile(dcl_grid_1d(DCL_FLOAT, elements), map);
    check(dcl_write(A, NULL, start, NULL) == DCL_OK, "dcl_write");
    static const double aims_us[] = {0, 50, 500, 5000};
    for (int t = 0; t < 8; t++)
        measure(aims_us[t / 2], t % 2 == 1, cluster, A, C, &hand);
    dcl_release(A);
    dcl_release(C);
    dcl_release(map);
    free(start);
    close_hand(&hand);
    check(dcl_close(cluster) == DCL_OK, "dcl_close");
    return 0;
}
