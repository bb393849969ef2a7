/* embedded.c - one embedded node against OpenCL written by hand on the same device, taking turns in one run.
 *
 * Timed: the kernels with data resident, until they are complete; no transfers, no compilation. Every result is compared
 * first, element by element. Prints a line per item: the ratio is the result, absolute figures are for orientation. The
 * node is the first device that dcl_open() would take, unless DCL_DEVICES names another.
 *
 *     embedded [edge]      edge of the square matrices, 8192 if not given; a multiple of 64 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <dcl.h>

#include "device.h"

enum { ROUNDS = 11, SMALL = 64, CHAIN = 1000 };

/* ---- by hand ------------------------------------------------------------------------------------------------------ */

static const char reference_source[] =
    "__kernel void add_naive(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    long x = get_global_id(0), y = get_global_id(1);\n"
    "    c[y * n + x] = a[y * n + x] + b[y * n + x];\n"
    "}\n"
    "__kernel void add_rows(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    long first = get_global_id(0) * (n / 64), end = first + n / 64;\n"
    "    for (long y = first; y < end; y++)\n"
    "        for (long x = 0; x < n; x++)\n"
    "            c[y * n + x] = a[y * n + x] + b[y * n + x];\n"
    "}\n"
    "__kernel void turn_naive(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    long x = get_global_id(0), y = get_global_id(1);\n"
    "    c[y * n + x] = a[y * n + x] + b[x * n + y];\n"
    "}\n"
    "__kernel void turn_local(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    __local float tile[32][33];\n"
    "    long x = get_global_id(0), y0 = get_group_id(1) * 32, x0 = get_group_id(0) * 32;\n"
    "    int lx = get_local_id(0), ly = get_local_id(1);\n"
    "    for (int k = 0; k < 32; k += 8)\n"
    "        tile[ly + k][lx] = b[(x0 + ly + k) * n + y0 + lx];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = 0; k < 32; k += 8)\n"
    "        c[(y0 + ly + k) * n + x] = a[(y0 + ly + k) * n + x] + tile[lx][ly + k];\n"
    "}\n"
    "__kernel void turn_blocks(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    long y0 = get_global_id(0) * 64;\n"
    "    for (long x0 = 0; x0 < n; x0 += 64)\n"
    "        for (long y = y0; y < y0 + 64; y++)\n"
    "            for (long x = x0; x < x0 + 64; x++)\n"
    "                c[y * n + x] = a[y * n + x] + b[x * n + y];\n"
    "}\n"
    "__kernel void step_naive(__global float *c, __global const float *a, long n) {\n"
    "    long x = get_global_id(0), y = get_global_id(1);\n"
    "    c[y * n + x] = a[y * n + x] + 1.0f;\n"
    "}\n"
    "__kernel void step_rows(__global float *c, __global const float *a, long n) {\n"
    "    for (long k = 0; k < n * n; k++)\n"
    "        c[k] = a[k] + 1.0f;\n"
    "}\n";

struct hand {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_mem a, b, c;
    float *host[3];
    size_t bytes;
    char device[128];
};

/* Memory as good as DCL's own: huge pages, used in place where the device can. */
static cl_mem make_buffer(struct hand *hand, int which)
{
    cl_int error;
    hand->host[which] = mmap(NULL, hand->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(hand->host[which] != MAP_FAILED, "mmap");
    madvise(hand->host[which], hand->bytes, MADV_HUGEPAGE);
    memset(hand->host[which], 0, hand->bytes);
    cl_device_id device;
    cl_device_type type;
    clGetContextInfo(hand->context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    bool in_place = (type & CL_DEVICE_TYPE_CPU) != 0;
    cl_mem memory = clCreateBuffer(hand->context, CL_MEM_READ_WRITE | (in_place ? CL_MEM_USE_HOST_PTR : 0), hand->bytes,
                                   in_place ? hand->host[which] : NULL, &error);
    check(error == CL_SUCCESS, "clCreateBuffer");
    return memory;
}

static void open_hand(struct hand *hand, const char *name, size_t bytes)
{
    cl_device_id device = find_device(name, 0);
    cl_int error;
    const char *source = reference_source;
    snprintf(hand->device, sizeof hand->device, "%s", name);
    hand->bytes = bytes;
    hand->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error == CL_SUCCESS, "clCreateContext");
    hand->queue = clCreateCommandQueue(hand->context, device, 0, &error);
    check(error == CL_SUCCESS, "clCreateCommandQueue");
    hand->program = clCreateProgramWithSource(hand->context, 1, &source, NULL, &error);
    check(clBuildProgram(hand->program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
    hand->a = make_buffer(hand, 0);
    hand->b = make_buffer(hand, 1);
    hand->c = make_buffer(hand, 2);
}

static void put(struct hand *hand, cl_mem memory, const float *values, size_t bytes)
{
    check(clEnqueueWriteBuffer(hand->queue, memory, CL_TRUE, 0, bytes, values, 0, NULL, NULL) == CL_SUCCESS, "write");
}

static void get(struct hand *hand, cl_mem memory, float *values, size_t bytes)
{
    check(clEnqueueReadBuffer(hand->queue, memory, CL_TRUE, 0, bytes, values, 0, NULL, NULL) == CL_SUCCESS, "read");
}

struct shape {
    const char *kernel;
    int dimensions;
    size_t global[2], local[2];
};

static double run_hand(struct hand *hand, const struct shape *shape, cl_long n)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(hand->program, shape->kernel, &error);
    check(error == CL_SUCCESS, "clCreateKernel");
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &hand->c);
    clSetKernelArg(kernel, 1, sizeof(cl_mem), &hand->a);
    clSetKernelArg(kernel, 2, sizeof(cl_mem), &hand->b);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    double start = now();
    check(clEnqueueNDRangeKernel(hand->queue, kernel, (cl_uint)shape->dimensions, NULL, shape->global, shape->local, 0,
                                 NULL, NULL) == CL_SUCCESS,
          shape->kernel);
    clFinish(hand->queue);
    double seconds = now() - start;
    clReleaseKernel(kernel);
    return seconds;
}

/* C = A + B or A + B^T, whichever the shapes are for. */
static double worst_difference(const float *c, const float *a, const float *b, long n, bool turned)
{
    double worst = 0;
    for (long y = 0; y < n; y++)
        for (long x = 0; x < n; x++) {
            double difference = fabs((double)c[y * n + x] - (a[y * n + x] + (turned ? b[x * n + y] : b[y * n + x])));
            worst = difference > worst ? difference : worst;
        }
    return worst;
}

/* ---- the items ---------------------------------------------------------------------------------------------------- */

struct matrices {
    dcl_cluster *cluster;
    dcl_array *A, *B, *C;
    float *a, *b, *c;
    long n;
};

static double run_dcl(const struct matrices *m, const char *body)
{
    dcl_array *A = m->A, *B = m->B, *C = m->C;
    double start = now();
    check(dcl_forall(m->cluster, body, DCL_OUT(C), DCL_IN(A), DCL_IN(B)) == DCL_OK, body);
    check(dcl_wait(m->cluster) == DCL_OK, body);
    return now() - start;
}

static void measure(const char *name, const char *body, bool turned, const struct matrices *m, struct hand *hand,
                    int shape_count, const struct shape shapes[])
{
    double dcl[ROUNDS], hands[4][ROUNDS];
    size_t bytes = (size_t)m->n * (size_t)m->n * sizeof(float);
    run_dcl(m, body);
    check(dcl_read(m->C, NULL, m->c, NULL) == DCL_OK && worst_difference(m->c, m->a, m->b, m->n, turned) == 0, name);
    for (int s = 0; s < shape_count; s++) {
        memset(m->c, 0, bytes);
        put(hand, hand->c, m->c, bytes);
        run_hand(hand, &shapes[s], m->n);
        get(hand, hand->c, m->c, bytes);
        check(worst_difference(m->c, m->a, m->b, m->n, turned) == 0, shapes[s].kernel);
    }
    for (int r = 0; r < ROUNDS; r++) {
        dcl[r] = run_dcl(m, body);
        for (int s = 0; s < shape_count; s++)
            hands[s][r] = run_hand(hand, &shapes[s], m->n);
    }
    double mine = median(ROUNDS, dcl), best = 1e9, spread = 100 * (dcl[ROUNDS - 2] - dcl[1]) / mine,
           gigabytes = 3e-9 * (double)bytes;
    printf("%s f32 n %ld, 1 device \"%s\": dcl %.2f ms %.1f GB/s", name, m->n, hand->device, 1e3 * mine,
           gigabytes / mine);
    for (int s = 0; s < shape_count; s++) {
        double theirs = median(ROUNDS, hands[s]);
        best = theirs < best ? theirs : best;
        printf(", %s %.2f ms", shapes[s].kernel, 1e3 * theirs);
    }
    printf(", ratio to the best %.2f (median of %d, spread %.0f %%)\n", best / mine, ROUNDS, spread);
}

static double chain_dcl(dcl_cluster *cluster, dcl_array *X, dcl_array *Y)
{
    double start = now();
    for (int k = 0; k < CHAIN / 2; k++) {
        dcl_forall(cluster, "Y(i,j) = X(i,j) + 1.0f;", DCL_OUT(Y), DCL_IN(X));
        dcl_forall(cluster, "X(i,j) = Y(i,j) + 1.0f;", DCL_OUT(X), DCL_IN(Y));
    }
    check(dcl_wait(cluster) == DCL_OK, "chain");
    return now() - start;
}

static double chain_hand(struct hand *hand, const struct shape *shape)
{
    cl_int error;
    cl_long n = SMALL;
    cl_kernel kernel = clCreateKernel(hand->program, shape->kernel, &error);
    check(error == CL_SUCCESS, "clCreateKernel");
    double start = now();
    for (int k = 0; k < CHAIN; k++) {
        clSetKernelArg(kernel, 0, sizeof(cl_mem), k % 2 == 0 ? &hand->c : &hand->a);
        clSetKernelArg(kernel, 1, sizeof(cl_mem), k % 2 == 0 ? &hand->a : &hand->c);
        clSetKernelArg(kernel, 2, sizeof n, &n);
        check(clEnqueueNDRangeKernel(hand->queue, kernel, (cl_uint)shape->dimensions, NULL, shape->global, shape->local,
                                     0, NULL, NULL) == CL_SUCCESS,
              shape->kernel);
    }
    clFinish(hand->queue);
    double seconds = now() - start;
    clReleaseKernel(kernel);
    return seconds;
}

/* Every step adds 1, so one that was left out, or an element, is missed. All sums are exact. */
static bool chain_ran(const float start[], const float end[])
{
    for (int k = 0; k < SMALL * SMALL; k++)
        if (end[k] != start[k] + CHAIN)
            return false;
    return true;
}

static void verify_chain(dcl_cluster *cluster, dcl_array *X, dcl_array *Y, struct hand *hand, int shape_count,
                         const struct shape shapes[])
{
    static float start[SMALL * SMALL], end[SMALL * SMALL];
    for (int k = 0; k < SMALL * SMALL; k++)
        start[k] = (float)k;
    check(dcl_write(X, NULL, start, NULL) == DCL_OK, "dcl_write");
    chain_dcl(cluster, X, Y);
    check(dcl_read(X, NULL, end, NULL) == DCL_OK && chain_ran(start, end), "chain: not the sums expected");
    for (int s = 0; s < shape_count; s++) {
        put(hand, hand->a, start, sizeof start);
        chain_hand(hand, &shapes[s]);
        get(hand, hand->a, end, sizeof end);
        check(chain_ran(start, end), shapes[s].kernel);
    }
}

static void measure_chain(dcl_cluster *cluster, struct hand *hand)
{
    static const struct shape shapes[] = {{"step_naive", 2, {SMALL, SMALL}, {SMALL, 1}},
                                          {"step_rows", 1, {1, 1}, {1, 1}}};
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *X = dcl_agile(dcl_grid_2d(DCL_FLOAT, SMALL, SMALL), map);
    dcl_array *Y = dcl_agile(dcl_grid_2d(DCL_FLOAT, SMALL, SMALL), map);
    double dcl[ROUNDS], hands[2][ROUNDS];
    verify_chain(cluster, X, Y, hand, 2, shapes);
    for (int r = 0; r < ROUNDS; r++) {
        dcl[r] = chain_dcl(cluster, X, Y);
        for (int s = 0; s < 2; s++)
            hands[s][r] = chain_hand(hand, &shapes[s]);
    }
    double mine = median(ROUNDS, dcl), naive = median(ROUNDS, hands[0]), rows = median(ROUNDS, hands[1]),
           best = naive < rows ? naive : rows;
    printf("chain of %d dependent operations f32 %d x %d, 1 device \"%s\": dcl %.2f us each, step_naive %.2f us, "
           "step_rows %.2f us, dcl / best by hand %.2f (median of %d, spread %.0f %%)\n",
           CHAIN, SMALL, SMALL, hand->device, 1e6 * mine / CHAIN, 1e6 * naive / CHAIN, 1e6 * rows / CHAIN, mine / best,
           ROUNDS, 100 * (dcl[ROUNDS - 2] - dcl[1]) / mine);
    dcl_release(X);
    dcl_release(Y);
    dcl_release(map);
}

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

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 8192;
    check(n >= 64 && n % 64 == 0, "the edge is not a positive multiple of 64");
    size_t bytes = (size_t)n * (size_t)n * sizeof(float), edge = (size_t)n;
    struct matrices m = {.cluster = open_one(), .n = n};
    dcl_map *map = dcl_map_block(m.cluster);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, n, n);
    m.A = dcl_agile(grid, map);
    m.B = dcl_agile(grid, map);
    m.C = dcl_agile(grid, map);
    m.a = malloc(bytes);
    m.b = malloc(bytes);
    m.c = malloc(bytes);
    check(m.C != NULL && m.a != NULL && m.b != NULL && m.c != NULL, "memory");
    for (long k = 0; k < n * n; k++) {
        m.a[k] = (float)(k % 1009);
        m.b[k] = (float)(k % 911) * 0.5f;
    }
    struct hand hand = {0};
    open_hand(&hand, dcl_node_name(m.cluster, 0), bytes);
    put(&hand, hand.a, m.a, bytes);
    put(&hand, hand.b, m.b, bytes);
    check(dcl_write(m.A, NULL, m.a, NULL) == DCL_OK && dcl_write(m.B, NULL, m.b, NULL) == DCL_OK, "dcl_write");

    const struct shape add[] = {{"add_naive", 2, {edge, edge}, {64, 1}}, {"add_rows", 1, {64, 1}, {1, 1}}};
    const struct shape turn[] = {{"turn_naive", 2, {edge, edge}, {64, 1}},
                                 {"turn_local", 2, {edge, edge / 4}, {32, 8}},
                                 {"turn_blocks", 1, {edge / 64, 1}, {1, 1}}};
    printf("DCL %s, commit %s, data resident, kernels only\n", dcl_version(), bench_commit);
    measure("A + B", "C(i,j) = A(i,j) + B(i,j);", false, &m, &hand, 2, add);
    measure("A + B^T", "C(i,j) = A(i,j) + B(j,i);", true, &m, &hand, 3, turn);
    measure_chain(m.cluster, &hand);
    dcl_release(m.A);
    dcl_release(m.B);
    dcl_release(m.C);
    dcl_release(map);
    return dcl_close(m.cluster) == DCL_OK ? 0 : 1;
}
