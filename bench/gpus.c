/* gpus.c - several GPUs of one host: how fast elements move between them, and whether moving is hidden behind computing.
 *
 * copy     rows -> columns, 16384 x 16384 float, and C = A + B^T of that size: bytes moved per second, against copies by
 *          hand from GPU to GPU through pinned memory, both ways at once
 * turn     C = A + B^T, 32768 x 32768: against computing alone (all on one GPU, divided by their number) and moving alone
 * stencil  100 sweeps of a five-point stencil on 32768 x 32768, on one GPU and on all
 * overlap  a body that computes for as long as its elements move: both, against the larger
 *
 *     gpus [-t TRANSFER] [-w WORKERS] [ITEM...]
 *
 * TRANSFER as DCL_TRANSFER, WORKERS as DCL_WORKERS. The nodes are all GPUs. Where there are not two, the program says so and
 * measures nothing. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <dcl.h>

#include "common.h"

enum { SIDE = 16384, LARGE = 32768, SWEEPS = 100, ROUNDS = 7, MOST_GPUS = 8 };

static dcl_config config;
static cl_device_id gpus[MOST_GPUS];
static int gpu_count;

/* ---- by hand ------------------------------------------------------------------------------------------------------ */

/* Chunks go from one GPU into a ring of pinned memory, and from there to the next GPU. */
enum { STAGED_MB = 512, CHUNK_MB = 8, RING = 6 };

struct end {
    cl_context context;
    cl_command_queue queue, other; /* `other` fills or empties the device's buffer in the opposite direction */
    cl_mem data, pinned;
    char *ring;
};

static struct end open_end(cl_device_id device)
{
    struct end end;
    cl_int code;
    end.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code == CL_SUCCESS, "clCreateContext");
    end.queue = clCreateCommandQueue(end.context, device, 0, &code);
    end.other = clCreateCommandQueue(end.context, device, 0, &code);
    end.data = clCreateBuffer(end.context, CL_MEM_READ_WRITE, (size_t)2 * STAGED_MB << 20, NULL, &code);
    check(code == CL_SUCCESS, "clCreateBuffer");
    end.pinned = clCreateBuffer(end.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)RING * CHUNK_MB << 20,
                                NULL, &code);
    check(code == CL_SUCCESS, "pinned memory");
    end.ring = clEnqueueMapBuffer(end.queue, end.pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                  (size_t)RING * CHUNK_MB << 20, 0, NULL, NULL, &code);
    check(code == CL_SUCCESS, "clEnqueueMapBuffer");
    memset(end.ring, 0, (size_t)RING * CHUNK_MB << 20);
    return end;
}

static void close_end(struct end *end)
{
    clEnqueueUnmapMemObject(end->queue, end->pinned, end->ring, 0, NULL, NULL);
    clFinish(end->queue);
    clReleaseMemObject(end->pinned);
    clReleaseMemObject(end->data);
    clReleaseCommandQueue(end->queue);
    clReleaseCommandQueue(end->other);
    clReleaseContext(end->context);
}

struct way {
    struct end *from, *to; /* the ring is that of `from` */
};

static void *stage(void *argument)
{
    const struct way *way = argument;
    enum { CHUNKS = STAGED_MB / CHUNK_MB };
    size_t bytes = (size_t)CHUNK_MB << 20;
    cl_event out[RING] = {NULL}, in[RING] = {NULL};
    bool ok = true;
    for (int k = 0; k < CHUNKS + RING - 1; k++) {
        if (k < CHUNKS) {
            int slot = k % RING;
            if (in[slot] != NULL) {
                ok &= clWaitForEvents(1, &in[slot]) == CL_SUCCESS;
                clReleaseEvent(in[slot]);
            }
            ok &= clEnqueueReadBuffer(way->from->queue, way->from->data, CL_FALSE, (size_t)k * bytes, bytes,
                                      way->from->ring + (size_t)slot * bytes, 0, NULL, &out[slot]) == CL_SUCCESS;
            clFlush(way->from->queue);
        }
        int before = k - (RING - 3);
        if (before >= 0 && before < CHUNKS) {
            int slot = before % RING;
            ok &= clWaitForEvents(1, &out[slot]) == CL_SUCCESS;
            clReleaseEvent(out[slot]);
            ok &= clEnqueueWriteBuffer(way->to->other, way->to->data, CL_FALSE,
                                       (size_t)(STAGED_MB << 20) + (size_t)before * bytes, bytes,
                                       way->from->ring + (size_t)slot * bytes, 0, NULL, &in[slot]) == CL_SUCCESS;
            clFlush(way->to->other);
        }
    }
    ok &= clFinish(way->to->other) == CL_SUCCESS;
    for (int s = 0; s < RING; s++)
        clReleaseEvent(in[s]);
    check(ok, "a staged copy by hand");
    return NULL;
}

/* Bytes per second of all copies together. @param both  both ways at once, else from the first GPU to the second */
static double staged_rate(bool both)
{
    struct end end[2] = {open_end(gpus[0]), open_end(gpus[1])};
    struct way way[2] = {{&end[0], &end[1]}, {&end[1], &end[0]}};
    double time[ROUNDS];
    for (int r = -1; r < ROUNDS; r++) {
        pthread_t thread;
        double start = now();
        if (both)
            check(pthread_create(&thread, NULL, stage, &way[1]) == 0, "a thread");
        stage(&way[0]);
        if (both)
            pthread_join(thread, NULL);
        if (r >= 0)
            time[r] = now() - start;
    }
    close_end(&end[0]);
    close_end(&end[1]);
    return (both ? 2.0 : 1.0) * (STAGED_MB << 20) / median(ROUNDS, time);
}

/* ---- by DCL ------------------------------------------------------------------------------------------------------- */

/* @param devices  as DCL_DEVICES */
static dcl_cluster *open_cluster(const char *devices)
{
    dcl_config own = config;
    own.devices = devices;
    if (strcmp(devices, "0") == 0)
        own.workers = NULL;
    dcl_cluster *cluster = dcl_open(&own);
    check(cluster != NULL, "dcl_open");
    return cluster;
}

static dcl_array *make(dcl_cluster *cluster, const char *text, int64_t side, const char *values)
{
    dcl_map *map = dcl_map_parse(cluster, text);
    dcl_array *array = dcl_agile(dcl_grid_2d(DCL_FLOAT, side, side), map);
    dcl_map_release(map);
    check(array != NULL &&
              (values == NULL || dcl_forall_n(cluster, values, 1, (dcl_arg[]){DCL_OUT_AS("A", array)}) == DCL_OK),
          "an array");
    return array;
}

static const char a_values[] = "A(i,j) = (i * 7 + j * 13) % 1009;", b_values[] = "A(i,j) = (i * 3 + j * 5) % 997;";
static float a_at(int64_t i, int64_t j) { return (float)((i * 7 + j * 13) % 1009); }
static float b_at(int64_t i, int64_t j) { return (float)((i * 3 + j * 5) % 997); }

/* Some rows, whole. @param turned  C is A + B^T, else A */
static void verify(dcl_array *C, int64_t side, bool turned)
{
    float *row = malloc((size_t)side * sizeof *row);
    check(row != NULL, "memory");
    for (int64_t i = 0; i < side; i += side / 32 - 1) {
        dcl_box box = dcl_box_nd(2, (int64_t[]){i, 0}, (int64_t[]){1, side});
        check(dcl_read(C, &box, row, NULL) == DCL_OK, "dcl_read");
        for (int64_t j = 0; j < side; j++)
            check(row[j] == (turned ? a_at(i, j) + b_at(j, i) : a_at(i, j)), "a wrong element");
    }
    free(row);
}

struct turn {
    double seconds, moved; /* median; bytes */
};

/* Runs `body` over C, A, B; a body of two arrays has B NULL. */
static struct turn time_body(dcl_cluster *cluster, const char *body, dcl_array *C, dcl_array *A, dcl_array *B)
{
    struct turn turn;
    double time[ROUNDS];
    dcl_counters before, after;
    for (int r = -2; r < ROUNDS; r++) {
        if (r == 0)
            check(dcl_stats(cluster, DCL_ALL_NODES, &before) == DCL_OK, "dcl_stats");
        double start = now();
        dcl_arg arguments[] = {DCL_OUT_AS("C", C), DCL_IN_AS("A", A), DCL_IN_AS("B", B)};
        check(dcl_forall_n(cluster, body, B == NULL ? 2 : 3, arguments) == DCL_OK && dcl_wait(cluster) == DCL_OK, body);
        if (r >= 0)
            time[r] = now() - start;
    }
    check(dcl_stats(cluster, DCL_ALL_NODES, &after) == DCL_OK, "dcl_stats");
    turn.moved = (double)(after.bytes_moved - before.bytes_moved) / ROUNDS;
    turn.seconds = median(ROUNDS, time);
    return turn;
}

static const char turn_body[] = "C(i,j) = A(i,j) + B(j,i);";

static void copy(void)
{
    double one = staged_rate(false), both = staged_rate(true);
    printf("copy     by hand through pinned memory: %.1f GB/s one way, %.1f GB/s both ways together\n", one / 1e9,
           both / 1e9);
    dcl_cluster *cluster = open_cluster("gpu");
    dcl_array *A = make(cluster, "block,*", SIDE, a_values), *B = make(cluster, "block,*", SIDE, b_values),
              *C = make(cluster, "block,*", SIDE, NULL), *columns = make(cluster, "*,block", SIDE, NULL);
    double time[ROUNDS], moved = 0;
    for (int r = -1; r < ROUNDS; r++) {
        dcl_counters before, after;
        check(dcl_stats(cluster, DCL_ALL_NODES, &before) == DCL_OK, "dcl_stats");
        double start = now();
        check(dcl_copy(A, columns) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_copy");
        if (r >= 0)
            time[r] = now() - start;
        check(dcl_stats(cluster, DCL_ALL_NODES, &after) == DCL_OK, "dcl_stats");
        moved = (double)(after.bytes_moved - before.bytes_moved);
    }
    verify(columns, SIDE, false);
    double seconds = median(ROUNDS, time);
    printf("copy     rows -> columns  %8.3f ms, %.0f MB moved, %6.1f GB/s: %.2f of both ways by hand\n", 1e3 * seconds,
           moved / 1e6, moved / seconds / 1e9, moved / seconds / both);
    struct turn turn = time_body(cluster, turn_body, C, A, B);
    verify(C, SIDE, true);
    printf("copy     A + B^T          %8.3f ms, %.0f MB moved, %6.1f GB/s: %.2f of both ways by hand\n",
           1e3 * turn.seconds, turn.moved / 1e6, turn.moved / turn.seconds / 1e9, turn.moved / turn.seconds / both);
    dcl_close(cluster);
}

static void turn(void)
{
    double both = staged_rate(true);
    dcl_cluster *single = open_cluster("0");
    dcl_array *A = make(single, "block,*", LARGE, a_values), *B = make(single, "block,*", LARGE, b_values),
              *C = make(single, "block,*", LARGE, NULL);
    struct turn alone = time_body(single, turn_body, C, A, B);
    dcl_close(single);
    dcl_cluster *cluster = open_cluster("gpu");
    A = make(cluster, "block,*", LARGE, a_values), B = make(cluster, "block,*", LARGE, b_values),
    C = make(cluster, "block,*", LARGE, NULL);
    struct turn together = time_body(cluster, turn_body, C, A, B);
    verify(C, LARGE, true);
    double compute = alone.seconds / gpu_count, move = together.moved / both;
    printf("turn     A + B^T %d: one GPU %.2f ms; moving %.0f MB by hand %.2f ms; %d GPUs %.2f ms: %.2f times the "
           "larger\n",
           LARGE, 1e3 * alone.seconds, together.moved / 1e6, 1e3 * move, gpu_count, 1e3 * together.seconds,
           together.seconds / fmax(compute, move));
    dcl_close(cluster);
}

/* Seconds of all sweeps. */
static double sweep(dcl_cluster *cluster)
{
    static const char body[] = "C(i,j) = i > 0 && j > 0 && i < n - 1 && j < n - 1"
                               " ? 0.25f * (A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) : A(i,j);";
    dcl_array *A = make(cluster, "block,*", LARGE, a_values), *C = make(cluster, "block,*", LARGE, a_values);
    double time[3];
    for (int r = -1; r < 3; r++) {
        double start = now();
        for (int s = 0; s < SWEEPS; s++) {
            int64_t n = LARGE;
            dcl_arg arguments[] = {DCL_OUT_AS("C", s % 2 == 0 ? C : A), DCL_IN_AS("A", s % 2 == 0 ? A : C),
                                   DCL_VALUE(n)};
            check(dcl_forall_n(cluster, body, 3, arguments) == DCL_OK, body);
        }
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
        if (r >= 0)
            time[r] = now() - start;
    }
    dcl_release(A);
    dcl_release(C);
    return median(3, time);
}

static void stencil(void)
{
    dcl_cluster *single = open_cluster("0");
    double one = sweep(single);
    dcl_close(single);
    dcl_cluster *cluster = open_cluster("gpu");
    double all = sweep(cluster);
    dcl_close(cluster);
    printf("stencil  %d x %d, %d sweeps: one GPU %.1f ms, %d GPUs %.1f ms: %.2f times as fast\n", LARGE, LARGE, SWEEPS,
           1e3 * one, gpu_count, 1e3 * all, one / all);
}

static void overlap(void)
{
    dcl_cluster *cluster = open_cluster("gpu");
    dcl_array *A = make(cluster, "block,*", SIDE, a_values), *B = make(cluster, "block,*", SIDE, b_values),
              *C = make(cluster, "block,*", SIDE, NULL);
    double move = time_body(cluster, turn_body, C, A, B).seconds, compute = 0;
    char alone[256], both[256];
    int64_t steps = 16;
    for (int n = 0; n < 8; n++) { /* as many steps as take the time of moving */
        snprintf(alone, sizeof alone,
                 "float x = A(i,j) + B(i,j); for (int s = 0; s < %" PRId64 "; s++) x = x * 0.999f + 0.5f; C(i,j) = x;",
                 steps);
        compute = time_body(cluster, alone, C, A, B).seconds;
        if (compute > 0.9 * move && compute < 1.1 * move)
            break;
        double factor = move / compute;
        steps = (int64_t)fmax(1, (double)steps * fmin(64, fmax(factor, 1.0 / 64)));
    }
    snprintf(both, sizeof both,
             "float x = A(i,j) + B(j,i); for (int s = 0; s < %" PRId64 "; s++) x = x * 0.999f + 0.5f; C(i,j) = x;",
             steps);
    double together = time_body(cluster, both, C, A, B).seconds;
    printf("overlap  moving %.2f ms, computing %.2f ms (%" PRId64 " steps), together %.2f ms: %.2f times the larger\n",
           1e3 * move, 1e3 * compute, steps, 1e3 * together, together / fmax(move, compute));
    dcl_close(cluster);
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        void (*run)(void);
    } items[] = {{"copy", copy}, {"turn", turn}, {"stencil", stencil}, {"overlap", overlap}};
    enum { ITEMS = sizeof items / sizeof items[0] };
    check(dcl_config_read(&config) == DCL_OK, "the configuration");
    int option;
    while ((option = getopt(argc, argv, "t:w:")) != -1) {
        if (option == 't')
            config.transfer = optarg;
        else if (option == 'w')
            config.workers = optarg;
        else
            return 2;
    }
    cl_platform_id platforms[16];
    cl_uint count = 0;
    clGetPlatformIDs(16, platforms, &count);
    for (cl_uint p = 0; p < count && p < 16 && gpu_count == 0; p++) {
        cl_uint found = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_GPU, MOST_GPUS, gpus, &found) == CL_SUCCESS)
            gpu_count = found < MOST_GPUS ? (int)found : MOST_GPUS;
    }
    if (gpu_count < 2) {
        printf("gpus: %d found; at least 2 are needed: nothing is measured\n", gpu_count);
        return 0;
    }
    printf("gpus, %d of them, workers %s, transfer %s, medians of %d, commit %s\n", gpu_count,
           config.workers == NULL ? "none" : config.workers, config.transfer == NULL ? "auto" : config.transfer, ROUNDS,
           bench_commit);
    for (int i = 0; i < ITEMS; i++) {
        bool asked = optind == argc;
        for (int k = optind; k < argc; k++)
            asked |= strcmp(argv[k], items[i].name) == 0;
        if (asked)
            items[i].run();
        fflush(stdout);
    }
    return 0;
}
