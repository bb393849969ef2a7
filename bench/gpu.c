/* gpu.c - one GPU against OpenCL written by hand on the same device, taking turns in one run.
 *
 * add      C = A + B and C = A + B^T, 16384 x 16384 float: the best of several kernels by hand, and a loop body
 * launch   a launch and clFinish() by hand, and forall + wait, for kernels of 0.05 to 5 ms. The kernels themselves differ by up to one
 *          percent, which is more than the launch costs from 2 ms on
 * process  the bodies of `add` on a node of this program, and in a worker process (local:1)
 * cyclic   A + B, A + B^T and a five-point stencil under block and under rows:cyclic(1024x1024)
 * reduce   sums and maxima of all elements, waited for, and copies from memory to memory of the device by hand: the rate of a
 *          reduction is that of reading, the rate of a copy that of reading and writing
 * nests    a matrix product and stencils as loop nests of dcl_loops(), and the same as bodies, in double
 * host     dcl_write(), dcl_read() and dcl_load_npy() of 1 GB of touched pageable memory, and pinned memory by hand
 *
 *     gpu [ITEM...]
 *
 * Every result is compared first. The node is device 0 unless DCL_DEVICES names another. Where there is no GPU the program
 * says so and measures nothing. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <dcl.h>

#include "common.h"

/* Two programs, or two contexts, on one GPU get slices of its time: a change costs some 140 us. So each side runs a batch
 * before the other has its turn, and the first runs of a batch are not counted. */
enum { SIDE = 16384, TURNS = 3, WARM = 2, BATCH = 7, ROUNDS = TURNS * BATCH, HOST_ROUNDS = 5 };

static const int64_t host_bytes = INT64_C(1) << 30;

/* ---- by hand ------------------------------------------------------------------------------------------------------ */

static const char hand_source[] =
    "__kernel void add_each(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    long k = get_global_id(0);\n"
    "    c[k] = a[k] + b[k];\n"
    "}\n"
    "__kernel void add_four(__global float4 *c, __global const float4 *a, __global const float4 *b, long n) {\n"
    "    long k = get_global_id(0);\n"
    "    c[k] = a[k] + b[k];\n"
    "}\n"
    "__kernel void turn_8(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    __local float tile[32][33];\n"
    "    long x = get_global_id(0), y0 = get_group_id(1) * 32, x0 = get_group_id(0) * 32;\n"
    "    int lx = get_local_id(0), ly = get_local_id(1);\n"
    "    for (int k = 0; k < 32; k += 8)\n"
    "        tile[ly + k][lx] = b[(x0 + ly + k) * n + y0 + lx];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = 0; k < 32; k += 8)\n"
    "        c[(y0 + ly + k) * n + x] = a[(y0 + ly + k) * n + x] + tile[lx][ly + k];\n"
    "}\n"
    "__kernel void turn_64(__global float *c, __global const float *a, __global const float *b, long n) {\n"
    "    __local float tile[64][65];\n"
    "    long y0 = get_group_id(1) * 64, x0 = get_group_id(0) * 64;\n"
    "    int lx = get_local_id(0), ly = get_local_id(1);\n"
    "    for (int k = 0; k < 64; k += 8) {\n"
    "        tile[ly + k][lx] = b[(x0 + ly + k) * n + y0 + lx];\n"
    "        tile[ly + k][lx + 32] = b[(x0 + ly + k) * n + y0 + lx + 32];\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = 0; k < 64; k += 8) {\n"
    "        c[(y0 + ly + k) * n + x0 + lx] = a[(y0 + ly + k) * n + x0 + lx] + tile[lx][ly + k];\n"
    "        c[(y0 + ly + k) * n + x0 + lx + 32] = a[(y0 + ly + k) * n + x0 + lx + 32] + tile[lx + 32][ly + k];\n"
    "    }\n"
    "}\n";

static const struct form {
    const char *name;
    int body;                   /* 0: A + B, 1: A + B^T */
    int elements_x, elements_y; /* of one work-item */
    int group_x, group_y, is_flat;
} forms[] = {{"add_each", 0, 1, 1, 256, 1, 1},
             {"add_four", 0, 4, 1, 256, 1, 1},
             {"turn_8", 1, 1, 4, 32, 8, 0},
             {"turn_64", 1, 2, 8, 32, 8, 0}};
enum { FORMS = sizeof forms / sizeof forms[0] };

static struct hand {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[FORMS];
    cl_mem a, b, c;
} hand;

static cl_device_id find_gpu(const char *name)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    clGetPlatformIDs(16, platforms, &count);
    for (cl_uint p = 0; p < count && p < 16; p++) {
        cl_device_id devices[16];
        cl_uint found = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_GPU, 16, devices, &found) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < found && d < 16; d++) {
            char text[128];
            clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof text, text, NULL);
            if (strcmp(text, name) == 0)
                return devices[d];
        }
    }
    return NULL;
}

static void open_hand(void)
{
    cl_int code;
    hand.context = clCreateContext(NULL, 1, &hand.device, NULL, NULL, &code);
    check(code == CL_SUCCESS, "clCreateContext");
    hand.queue = clCreateCommandQueue(hand.context, hand.device, 0, &code);
    check(code == CL_SUCCESS, "clCreateCommandQueue");
    const char *source = hand_source;
    hand.program = clCreateProgramWithSource(hand.context, 1, &source, NULL, &code);
    check(clBuildProgram(hand.program, 1, &hand.device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
    for (int f = 0; f < FORMS; f++) {
        hand.kernel[f] = clCreateKernel(hand.program, forms[f].name, &code);
        check(code == CL_SUCCESS, forms[f].name);
    }
}

static void open_buffers(int64_t side)
{
    size_t bytes = (size_t)(side * side) * sizeof(float);
    cl_mem *all[] = {&hand.a, &hand.b, &hand.c};
    for (int m = 0; m < 3; m++) {
        cl_int code;
        float value = (float)(m + 1);
        *all[m] = clCreateBuffer(hand.context, CL_MEM_READ_WRITE, bytes, NULL, &code);
        check(code == CL_SUCCESS &&
                  clEnqueueFillBuffer(hand.queue, *all[m], &value, sizeof value, 0, bytes, 0, NULL, NULL) == CL_SUCCESS,
              "a buffer of the reference");
    }
    check(clFinish(hand.queue) == CL_SUCCESS, "clFinish");
}

static void close_buffers(void)
{
    clReleaseMemObject(hand.a);
    clReleaseMemObject(hand.b);
    clReleaseMemObject(hand.c);
}

/* Seconds of a launch and clFinish(). */
static double run_by_hand(int f, int64_t side)
{
    cl_long n = side;
    clSetKernelArg(hand.kernel[f], 0, sizeof hand.c, &hand.c);
    clSetKernelArg(hand.kernel[f], 1, sizeof hand.a, &hand.a);
    clSetKernelArg(hand.kernel[f], 2, sizeof hand.b, &hand.b);
    clSetKernelArg(hand.kernel[f], 3, sizeof n, &n);
    size_t local[2] = {(size_t)forms[f].group_x, (size_t)forms[f].group_y};
    size_t global[2] = {(size_t)(side / forms[f].elements_x), (size_t)(side / forms[f].elements_y)};
    if (forms[f].is_flat)
        global[0] *= global[1];
    double start = now();
    check(clEnqueueNDRangeKernel(hand.queue, hand.kernel[f], forms[f].is_flat ? 1 : 2, NULL, global, local, 0, NULL,
                                 NULL) == CL_SUCCESS &&
              clFinish(hand.queue) == CL_SUCCESS,
          "a kernel of the reference");
    return now() - start;
}

/* ---- by DCL ------------------------------------------------------------------------------------------------------- */

static const char add_body[] = "C(i,j) = A(i,j) + B(i,j);", turn_body[] = "C(i,j) = A(i,j) + B(j,i);",
                  stencil_body[] = "C(i,j) = i > 0 && j > 0 && i < n - 1 && j < n - 1"
                                   " ? 0.25f * (A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) : A(i,j);";
static const char *const bodies[] = {add_body, turn_body, stencil_body};

struct arrays {
    dcl_cluster *cluster;
    int64_t side;
    dcl_array *A, *B, *C;
};

static dcl_cluster *open_cluster(const char *workers)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "the configuration");
    if (config.devices == NULL)
        config.devices = "0";
    config.workers = workers;
    dcl_cluster *cluster = dcl_open(&config);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

static struct arrays make(dcl_cluster *cluster, const char *text, int64_t side)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_grid grid = dcl_grid_2d(DCL_FLOAT, side, side);
    struct arrays a = {cluster, side, dcl_agile(grid, map), dcl_agile(grid, map), dcl_agile(grid, map)};
    dcl_map_release(map);
    check(a.C != NULL, "arrays");
    check(dcl_forall_n(cluster, "A(i,j) = (i * 7 + j * 13) % 1009;", 1, (dcl_arg[]){DCL_OUT_AS("A", a.A)}) == DCL_OK &&
              dcl_forall_n(cluster, "B(i,j) = (i * 3 + j * 5) % 997;", 1, (dcl_arg[]){DCL_OUT_AS("B", a.B)}) == DCL_OK,
          "the first values");
    return a;
}

static void end(struct arrays *a)
{
    dcl_release(a->A);
    dcl_release(a->B);
    dcl_release(a->C);
}

/* Seconds of forall and wait. */
static double run(const struct arrays *a, int body)
{
    int64_t n = a->side;
    double start = now();
    dcl_status status =
        body == 2 ? dcl_forall_n(a->cluster, bodies[2], 3,
                                 (dcl_arg[]){DCL_OUT_AS("C", a->C), DCL_IN_AS("A", a->A), DCL_VALUE(n)})
                  : dcl_forall_n(a->cluster, bodies[body], 3,
                                 (dcl_arg[]){DCL_OUT_AS("C", a->C), DCL_IN_AS("A", a->A), DCL_IN_AS("B", a->B)});
    check(status == DCL_OK && dcl_wait(a->cluster) == DCL_OK, bodies[body]);
    return now() - start;
}

static void batch(const struct arrays *a, int body, double time_out[BATCH])
{
    for (int r = -WARM; r < BATCH; r++) {
        double time = run(a, body);
        if (r >= 0)
            time_out[r] = time;
    }
}

static float a_at(int64_t i, int64_t j) { return (float)((i * 7 + j * 13) % 1009); }
static float b_at(int64_t i, int64_t j) { return (float)((i * 3 + j * 5) % 997); }

static float expected(int body, int64_t n, int64_t i, int64_t j)
{
    if (body == 0)
        return a_at(i, j) + b_at(i, j);
    if (body == 1)
        return a_at(i, j) + b_at(j, i);
    if (i > 0 && j > 0 && i < n - 1 && j < n - 1)
        return 0.25f * (a_at(i - 1, j) + a_at(i + 1, j) + a_at(i, j - 1) + a_at(i, j + 1));
    return a_at(i, j);
}

/* Rows that lie in several segments, whole. */
static void verify(const struct arrays *a, int body)
{
    run(a, body);
    float *row = malloc((size_t)a->side * sizeof *row);
    check(row != NULL, "memory");
    for (int64_t i = 0; i < a->side; i += i % 1024 == 1 ? 1022 : 1) {
        dcl_box box = dcl_box_nd(2, (int64_t[]){i, 0}, (int64_t[]){1, a->side});
        check(dcl_read(a->C, &box, row, NULL) == DCL_OK, "dcl_read");
        for (int64_t j = 0; j < a->side; j++)
            if (row[j] != expected(body, a->side, i, j)) {
                fprintf(stderr, "gpu: %s: C(%" PRId64 ",%" PRId64 ") is %g; expected %g\n", bodies[body], i, j,
                        (double)row[j], (double)expected(body, a->side, i, j));
                exit(1);
            }
    }
    free(row);
}

/* ---- items -------------------------------------------------------------------------------------------------------- */

static void add(void)
{
    dcl_cluster *cluster = open_cluster(NULL);
    struct arrays a = make(cluster, "block,*", SIDE);
    open_buffers(SIDE);
    for (int body = 0; body < 2; body++) {
        double ours[ROUNDS], theirs[FORMS][ROUNDS], best = INFINITY;
        const char *name = "";
        verify(&a, body);
        for (int turn = 0; turn < TURNS; turn++) {
            for (int f = 0; f < FORMS; f++)
                for (int r = -WARM; r < BATCH; r++) {
                    double time = forms[f].body == body ? run_by_hand(f, SIDE) : INFINITY;
                    if (r >= 0)
                        theirs[f][turn * BATCH + r] = time;
                }
            batch(&a, body, ours + turn * BATCH);
        }
        for (int f = 0; f < FORMS; f++) {
            double time = median(ROUNDS, theirs[f]);
            name = time < best ? forms[f].name : name;
            best = fmin(best, time);
        }
        double time = median(ROUNDS, ours), bytes = 3.0 * SIDE * SIDE * sizeof(float);
        printf("%-36s by hand (%s) %7.3f ms %5.0f GB/s, DCL %7.3f ms %5.0f GB/s: %.3f of its speed\n",
               body == 0 ? "add A+B" : "add A+B^T", name, 1e3 * best, bytes / best / 1e9, 1e3 * time,
               bytes / time / 1e9, best / time);
    }
    close_buffers();
    end(&a);
    dcl_close(cluster);
}

static void launch(void)
{
    static const int sides[] = {64, 4096, 7168, 12288, 24576, 40960};
    dcl_cluster *cluster = open_cluster(NULL);
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) {
        double ours[ROUNDS], theirs[ROUNDS];
        struct arrays a = make(cluster, "block,*", sides[s]);
        open_buffers(sides[s]);
        for (int turn = 0; turn < TURNS; turn++) {
            for (int r = -WARM; r < BATCH; r++) {
                double time = run_by_hand(1, sides[s]);
                if (r >= 0)
                    theirs[turn * BATCH + r] = time;
            }
            batch(&a, 0, ours + turn * BATCH);
        }
        double reference = median(ROUNDS, theirs), time = median(ROUNDS, ours);
        printf("launch A+B %5d                     by hand %8.1f us, DCL %8.1f us: %.1f us more\n", sides[s],
               1e6 * reference, 1e6 * time, 1e6 * (time - reference));
        close_buffers();
        end(&a);
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
    }
    dcl_close(cluster);
}

/* Two sets of arrays under the same bodies, taking turns. */
static void compare(const char *item, const char *first_name, const char *second_name, struct arrays *first,
                    struct arrays *second, int count)
{
    static const char *const names[] = {"A+B", "A+B^T", "stencil"};
    for (int body = 0; body < count; body++) {
        double time[2][ROUNDS];
        verify(first, body);
        verify(second, body);
        for (int turn = 0; turn < TURNS; turn++) {
            batch(first, body, time[0] + turn * BATCH);
            batch(second, body, time[1] + turn * BATCH);
        }
        double a = median(ROUNDS, time[0]), b = median(ROUNDS, time[1]);
        printf("%-8s %-27s %s %7.3f ms, %s %7.3f ms: %.3f times\n", item, names[body], first_name, 1e3 * a, second_name,
               1e3 * b, b / a);
        fflush(stdout);
    }
}

static void process(void)
{
    dcl_cluster *inside = open_cluster(NULL), *outside = open_cluster("local:1");
    struct arrays a = make(inside, "block,*", SIDE), b = make(outside, "block,*", SIDE);
    compare("process", "embedded", "local:1", &a, &b, 3);
    end(&a);
    end(&b);
    dcl_close(inside);
    dcl_close(outside);
}

static void cyclic(void)
{
    dcl_cluster *cluster = open_cluster(NULL);
    struct arrays a = make(cluster, "block,*", SIDE), b = make(cluster, "rows:cyclic(1024x1024)", SIDE);
    compare("cyclic", "block", "rows:cyclic(1024x1024)", &a, &b, 3);
    end(&a);
    end(&b);
    dcl_close(cluster);
}

/* Seconds of a copy of one buffer to another on the device. */
static double copy_by_hand(int64_t side)
{
    double start = now();
    check(clEnqueueCopyBuffer(hand.queue, hand.a, hand.c, 0, 0, (size_t)(side * side) * sizeof(float), 0, NULL, NULL) ==
                  CL_SUCCESS &&
              clFinish(hand.queue) == CL_SUCCESS,
          "a copy of the reference");
    return now() - start;
}

enum { REDUCTIONS = 8 };
static const char *const reductions[REDUCTIONS] = {
    "sum f32", "sum f32 in f64", "dot f32", "max f32", "sum, squares, max", "y = A x", "sum, columns", "max, columns"};

/* Seconds of a reduction. @param y, x  for those along axes. */
static double reduce_once(const struct arrays *a, dcl_array *y, dcl_array *x, int reduction)
{
    dcl_array *A = a->A, *B = a->B;
    float s, u;
    double t, start = now();
    dcl_status status = DCL_OK;
    if (reduction == 0)
        status = dcl_reduce(a->cluster, "s += A(i,j);", DCL_RESULT(s), DCL_IN(A));
    else if (reduction == 1)
        status = dcl_reduce(a->cluster, "t += A(i,j);", DCL_RESULT(t), DCL_IN(A));
    else if (reduction == 2)
        status = dcl_reduce(a->cluster, "s += A(i,j) * B(i,j);", DCL_RESULT(s), DCL_IN(A), DCL_IN(B));
    else if (reduction == 3)
        status = dcl_reduce(a->cluster, "u max= A(i,j);", DCL_RESULT(u), DCL_IN(A));
    else if (reduction >= 5)
        status = reduction == 5 ? dcl_reduce(a->cluster, "y(i) += A(i,j) * x(j);", DCL_OUT(y), DCL_IN(A), DCL_IN(x))
                                : dcl_reduce(a->cluster, reduction == 6 ? "y(j) += A(i,j);" : "y(j) max= A(i,j);",
                                             DCL_OUT(y), DCL_IN(A));
    else
        status = dcl_reduce(a->cluster, "s += A(i,j); t += A(i,j) * A(i,j); u max= A(i,j);", DCL_RESULT(s),
                            DCL_RESULT(t), DCL_RESULT(u), DCL_IN(A));
    check(status == DCL_OK && dcl_wait(a->cluster) == DCL_OK, reductions[reduction]);
    double time = now() - start;
    return time;
}

/* Compare a sum and a maximum with what the first values give. */
static void verify_reduction(const struct arrays *a)
{
    dcl_array *A = a->A;
    double t, sum = 0;
    float u, most = 0;
    for (int64_t i = 0; i < a->side; i++)
        for (int64_t j = 0; j < a->side; j++) {
            sum += a_at(i, j);
            most = fmaxf(most, a_at(i, j));
        }
    check(dcl_reduce(a->cluster, "t += A(i,j); u max= A(i,j);", DCL_RESULT(t), DCL_RESULT(u), DCL_IN(A)) == DCL_OK &&
              t == sum && u == most,
          "a sum or a maximum");
}

/* A matrix product: the rate of its chains of fused multiply-adds. */
static void product(dcl_cluster *cluster)
{
    enum { N = 4096 };
    struct arrays a = make(cluster, "block,*", N);
    dcl_array *A = a.A, *B = a.B, *C = a.C;
    double time[BATCH];
    for (int r = -WARM; r < BATCH; r++) {
        double start = now();
        check(dcl_matmul(cluster, C, A, B) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_matmul");
        time[r >= 0 ? r : 0] = now() - start;
    }
    printf("reduce C = A B f32 %d: %.1f ms, %.0f GF/s\n", N, 1e3 * median(BATCH, time),
           2e-9 * N * N * N / median(BATCH, time));
    end(&a);
}

static void reduce(void)
{
    static const int sides[] = {8192, 16384, 40960};
    dcl_cluster *cluster = open_cluster(NULL);
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) {
        struct arrays a = make(cluster, "block,*", sides[s]);
        open_buffers(sides[s]);
        verify_reduction(&a);
        dcl_map *map = dcl_map_block(cluster);
        dcl_array *y = dcl_agile(dcl_grid_1d(DCL_FLOAT, sides[s]), map);
        dcl_array *x = dcl_agile(dcl_grid_1d(DCL_FLOAT, sides[s]), map);
        dcl_map_release(map);
        check(y != NULL && x != NULL && dcl_forall(cluster, "x(i) = i % 7;", DCL_OUT(x)) == DCL_OK, "vectors");
        for (int n = 0; n < REDUCTIONS; n++) {
            double ours[ROUNDS], theirs[ROUNDS], bytes = (double)sides[s] * sides[s] * sizeof(float);
            for (int turn = 0; turn < TURNS; turn++) {
                for (int r = -WARM; r < BATCH; r++)
                    theirs[turn * BATCH + (r >= 0 ? r : 0)] = copy_by_hand(sides[s]);
                for (int r = -WARM; r < BATCH; r++)
                    ours[turn * BATCH + (r >= 0 ? r : 0)] = reduce_once(&a, y, x, n);
            }
            double copied = 2 * bytes / median(ROUNDS, theirs);
            double time = median(ROUNDS, ours), read = (n == 2 ? 2 : 1) * bytes / time;
            printf("reduce %-18s %5d  copy by hand %5.0f GB/s, DCL %8.1f us, %5.0f GB/s: %.3f of it\n", reductions[n],
                   sides[s], copied / 1e9, 1e6 * time, read / 1e9, read / copied);
            fflush(stdout);
        }
        dcl_release(y);
        dcl_release(x);
        close_buffers();
        end(&a);
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
    }
    product(cluster);
    dcl_close(cluster);
}

/* Bytes per second between pinned memory and the device. */
static double pinned(bool in)
{
    cl_int code;
    size_t bytes = (size_t)host_bytes;
    cl_mem device = clCreateBuffer(hand.context, CL_MEM_READ_WRITE, bytes, NULL, &code),
           host = clCreateBuffer(hand.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    check(code == CL_SUCCESS, "pinned memory");
    void *memory =
        clEnqueueMapBuffer(hand.queue, host, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &code);
    check(code == CL_SUCCESS, "clEnqueueMapBuffer");
    memset(memory, 1, bytes);
    double time[HOST_ROUNDS];
    for (int r = -1; r < HOST_ROUNDS; r++) {
        double start = now();
        code = in ? clEnqueueWriteBuffer(hand.queue, device, CL_TRUE, 0, bytes, memory, 0, NULL, NULL)
                  : clEnqueueReadBuffer(hand.queue, device, CL_TRUE, 0, bytes, memory, 0, NULL, NULL);
        check(code == CL_SUCCESS, "a copy of the reference");
        if (r >= 0)
            time[r] = now() - start;
    }
    clEnqueueUnmapMemObject(hand.queue, host, memory, 0, NULL, NULL);
    clFinish(hand.queue);
    clReleaseMemObject(host);
    clReleaseMemObject(device);
    return (double)bytes / median(HOST_ROUNDS, time);
}

static void say_host(const char *name, double reference, double time[])
{
    double rate = (double)host_bytes / median(HOST_ROUNDS, time);
    printf("host %-31s pinned %6.1f GB/s, DCL %6.1f GB/s: %.2f of it\n", name, reference / 1e9, rate / 1e9,
           rate / reference);
    fflush(stdout);
}

static void host(void)
{
    dcl_cluster *cluster = open_cluster(NULL);
    int64_t side = 16384;
    dcl_map *map = dcl_map_parse(cluster, "block,*");
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_FLOAT, side, side), map);
    float *data = malloc((size_t)host_bytes), *back = malloc((size_t)host_bytes);
    check(array != NULL && data != NULL && back != NULL, "memory");
    for (int64_t k = 0; k < side * side; k++)
        data[k] = (float)(k % 16777213), back[k] = -1;
    double in = pinned(true), out = pinned(false), time[3][HOST_ROUNDS];
    char path[] = "/tmp/dcl-gpu-XXXXXX.npy";
    int file = mkstemps(path, 4);
    check(file >= 0 && close(file) == 0, "a file");
    for (int r = -1; r < HOST_ROUNDS; r++) {
        double start = now();
        check(dcl_write(array, NULL, data, NULL) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_write");
        if (r >= 0)
            time[0][r] = now() - start;
        memset(back, 0, (size_t)host_bytes);
        start = now();
        check(dcl_read(array, NULL, back, NULL) == DCL_OK, "dcl_read");
        if (r >= 0)
            time[1][r] = now() - start;
        if (r < 0)
            check(memcmp(back, data, (size_t)host_bytes) == 0, "what was read is not what was written");
    }
    say_host("dcl_write, 1 GB", in, time[0]);
    say_host("dcl_read, 1 GB", out, time[1]);
    check(dcl_save_npy(array, path) == DCL_OK && dcl_fill(array, &(float){0}) == DCL_OK, "dcl_save_npy");
    for (int r = -1; r < HOST_ROUNDS; r++) {
        double start = now();
        check(dcl_load_npy(array, path) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_load_npy");
        if (r >= 0)
            time[2][r] = now() - start;
    }
    check(dcl_read(array, NULL, back, NULL) == DCL_OK && memcmp(back, data, (size_t)host_bytes) == 0,
          "what was loaded is not what was saved");
    say_host("dcl_load_npy, 1 GB, cached", in, time[2]);
    remove(path);
    free(data);
    free(back);
    dcl_release(array);
    dcl_map_release(map);
    dcl_close(cluster);
}

/* A loop nest, and the bodies, one for each of its statements in their order, that compute the same. */
static const struct nest {
    const char *name, *text, *bodies[2];
    bool reduces;
    int rank, extent, arrays;
} nests[] = {{"gemm",
              "for (i = 0; i < n; i++) for (k = 0; k < n; k++) for (j = 0; j < n; j++) A[i][j] += B[i][k] * C[k][j];",
              {"A(i,j) += B(i,k) * C(k,j);"},
              true,
              2,
              4096,
              3},
             {"jacobi-1d",
              "for (i = 1; i < n - 1; i++) B[i] = 0.33333 * (A[i-1] + A[i] + A[i+1]);\n"
              "for (i = 1; i < n - 1; i++) A[i] = 0.33333 * (B[i-1] + B[i] + B[i+1]);",
              {"B(i) = 0.33333 * (A(i-1) + A(i) + A(i+1));", "A(i) = 0.33333 * (B(i-1) + B(i) + B(i+1));"},
              false,
              1,
              1 << 26,
              2},
             {"jacobi-2d",
              "for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++)\n"
              "    B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][j+1] + A[i+1][j] + A[i-1][j]);\n"
              "for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++)\n"
              "    A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][j+1] + B[i+1][j] + B[i-1][j]);",
              {"B(i,j) = 0.2 * (A(i,j) + A(i,j-1) + A(i,j+1) + A(i+1,j) + A(i-1,j));",
               "A(i,j) = 0.2 * (B(i,j) + B(i,j-1) + B(i,j+1) + B(i+1,j) + B(i-1,j));"},
              false,
              2,
              8192,
              2},
             {"heat-3d",
              "for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++) for (k = 1; k < n - 1; k++)\n"
              "    B[i][j][k] = 0.125 * (A[i+1][j][k] - 2 * A[i][j][k] + A[i-1][j][k]) + 0.125 * (A[i][j+1][k] - 2 * "
              "A[i][j][k] + "
              "A[i][j-1][k])\n"
              "        + 0.125 * (A[i][j][k+1] - 2 * A[i][j][k] + A[i][j][k-1]) + A[i][j][k];\n"
              "for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++) for (k = 1; k < n - 1; k++)\n"
              "    A[i][j][k] = 0.125 * (B[i+1][j][k] - 2 * B[i][j][k] + B[i-1][j][k]) + 0.125 * (B[i][j+1][k] - 2 * "
              "B[i][j][k] + "
              "B[i][j-1][k])\n"
              "        + 0.125 * (B[i][j][k+1] - 2 * B[i][j][k] + B[i][j][k-1]) + B[i][j][k];",
              {"B(i,j,k) = 0.125 * (A(i+1,j,k) - 2 * A(i,j,k) + A(i-1,j,k)) + 0.125 * (A(i,j+1,k) - 2 * A(i,j,k) + "
               "A(i,j-1,k)) + "
               "0.125 * (A(i,j,k+1) - 2 * A(i,j,k) + A(i,j,k-1)) + A(i,j,k);",
               "A(i,j,k) = 0.125 * (B(i+1,j,k) - 2 * B(i,j,k) + B(i-1,j,k)) + 0.125 * (B(i,j+1,k) - 2 * B(i,j,k) + "
               "B(i,j-1,k)) + "
               "0.125 * (B(i,j,k+1) - 2 * B(i,j,k) + B(i,j,k-1)) + B(i,j,k);"},
              false,
              3,
              400,
              2}};

static dcl_status run_bodies(dcl_cluster *cluster, const struct nest *nest, dcl_array *a[])
{
    static const char *const inner[] = {"", "1 <= i < n - 1", "1 <= i < n - 1, 1 <= j < n - 1",
                                        "1 <= i < n - 1, 1 <= j < n - 1, 1 <= k < n - 1"};
    int n = nest->extent;
    if (nest->reduces)
        return dcl_reduce(cluster, nest->bodies[0], DCL_INOUT_AS("A", a[0]), DCL_IN_AS("B", a[1]),
                          DCL_IN_AS("C", a[2]));
    dcl_status status = dcl_forall(cluster, nest->bodies[0], DCL_INOUT_AS("B", a[1]), DCL_IN_AS("A", a[0]),
                                   DCL_VALUE(n), DCL_OVER(inner[nest->rank]));
    return status != DCL_OK ? status
                            : dcl_forall(cluster, nest->bodies[1], DCL_INOUT_AS("A", a[0]), DCL_IN_AS("B", a[1]),
                                         DCL_VALUE(n), DCL_OVER(inner[nest->rank]));
}

static dcl_status run_nest(dcl_cluster *cluster, const struct nest *nest, dcl_array *a[])
{
    int n = nest->extent;
    return nest->arrays == 3
               ? dcl_loops(cluster, nest->text, DCL_INOUT_AS("A", a[0]), DCL_IN_AS("B", a[1]), DCL_IN_AS("C", a[2]),
                           DCL_VALUE(n))
               : dcl_loops(cluster, nest->text, DCL_INOUT_AS("A", a[0]), DCL_INOUT_AS("B", a[1]), DCL_VALUE(n));
}

/* Whole numbers of few bits, so that a product of both forms is exact. */
static void set_arrays(dcl_cluster *cluster, const struct nest *nest, dcl_array *a[])
{
    static const char *const values[] = {"", "A(i) = i % 7;", "A(i,j) = (3 * i + j) % 7;",
                                         "A(i,j,k) = (5 * i + 3 * j + k) % 7;"};
    for (int k = 0; k < nest->arrays; k++)
        check(dcl_forall(cluster, values[nest->rank], DCL_OUT_AS("A", a[k])) == DCL_OK, "the first values");
}

static void measure_nest(dcl_cluster *cluster, const struct nest *nest)
{
    typedef dcl_status run_fn(dcl_cluster *, const struct nest *, dcl_array *[]);
    run_fn *const run_side[2] = {run_nest, run_bodies};
    dcl_map *map = dcl_map_default(cluster);
    dcl_grid grid = {.rank = nest->rank, .type = DCL_DOUBLE};
    size_t bytes = sizeof(double);
    for (int d = 0; d < nest->rank; d++)
        bytes *= (size_t)(grid.extent[d] = nest->extent);
    dcl_array *a[3] = {NULL};
    for (int k = 0; k < nest->arrays; k++)
        check((a[k] = dcl_agile(grid, map)) != NULL, "dcl_agile");
    dcl_map_release(map);
    double *result[2] = {malloc(bytes), malloc(bytes)}, time[2][ROUNDS];
    check(result[0] != NULL && result[1] != NULL, "memory");
    for (int side = 0; side < 2; side++) {
        set_arrays(cluster, nest, a);
        check(run_side[side](cluster, nest, a) == DCL_OK && dcl_read(a[0], NULL, result[side], NULL) == DCL_OK,
              nest->name);
    }
    check(memcmp(result[0], result[1], bytes) == 0, "the nest's result is not that of its bodies");
    for (int turn = 0; turn < TURNS; turn++)
        for (int side = 0; side < 2; side++)
            for (int r = -WARM; r < BATCH; r++) {
                double start = now();
                check(run_side[side](cluster, nest, a) == DCL_OK && dcl_wait(cluster) == DCL_OK, nest->name);
                if (r >= 0)
                    time[side][turn * BATCH + r] = now() - start;
            }
    double loops = median(ROUNDS, time[0]), bodies_time = median(ROUNDS, time[1]);
    printf("nests    %-27s bodies %7.3f ms, dcl_loops %7.3f ms: %.3f of their speed\n", nest->name, 1e3 * bodies_time,
           1e3 * loops, bodies_time / loops);
    fflush(stdout);
    free(result[0]);
    free(result[1]);
    for (int k = 0; k < nest->arrays; k++)
        dcl_release(a[k]);
}

static void measure_nests(void)
{
    dcl_cluster *cluster = open_cluster(NULL);
    for (size_t k = 0; k < sizeof nests / sizeof nests[0]; k++)
        measure_nest(cluster, &nests[k]);
    dcl_close(cluster);
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*run)(void);
    } items[] = {{"add", add},       {"launch", launch},       {"process", process}, {"cyclic", cyclic},
                 {"reduce", reduce}, {"nests", measure_nests}, {"host", host}};
    enum { ITEMS = sizeof items / sizeof items[0] };
    dcl_cluster *cluster = open_cluster(NULL);
    char name[128];
    snprintf(name, sizeof name, "%s", dcl_node_name(cluster, 0));
    dcl_close(cluster);
    hand.device = find_gpu(name);
    if (hand.device == NULL) {
        printf("gpu: node 0 is \"%s\", which is no GPU: nothing is measured\n", name);
        return 0;
    }
    open_hand();
    printf("gpu, one \"%s\", medians of %d, commit %s\n", name, ROUNDS, bench_commit);
    for (int i = 0; i < ITEMS; i++) {
        bool asked = argc == 1;
        for (int k = 1; k < argc; k++)
            asked |= strcmp(argv[k], items[i].name) == 0;
        if (asked)
            items[i].run();
        fflush(stdout);
    }
    return 0;
}
