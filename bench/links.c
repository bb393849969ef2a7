/* links.c - what bench/links.py, bench/opencl_links.py, bench/opencl_work.py, bench/opencl_figures.py and bench/opencl_shared.py run on their hosts: elements from one worker to another, and the same bytes by ZeroMQ alone.
 *
 *     links copy MEGABYTES ROUNDS              dcl_copy() from the first node of DCL_WORKERS to the last; prints seconds, a
 *                                              round a line
 *     links give ADDRESS MEGABYTES plain|keys  binds a socket; prints its public key; sends so much in chunks when asked
 *     links take ADDRESS MEGABYTES ROUNDS KEY  connects to it; prints seconds, a round a line; KEY "plain": no encryption
 *     links transfers MEGABYTES PART ROUNDS    writes and reads a buffer of the first OpenCL device, in transfers of PART KB;
 *                                              prints seconds of a write and of a read, a line each, per round
 *     links work IN OUT PART ROUNDS            writes IN bytes to the first OpenCL device, runs the kernel `work`, and reads OUT bytes, in
 *                                              transfers of PART bytes; prints seconds, a round a line
 *     links add ELEMENTS TURNS ROUNDS          c = a + b + ... + b, TURNS times, on all devices of the first OpenCL platform, each with its
 *                                              part of the elements: a and b are written, c is read; prints seconds, a round a line
 *     links repeat launch|write|read SECONDS   on the first OpenCL device: batches of 100 launches, writes of 16 MB, or reads; says "ready",
 *                                              waits for a line, and prints how many there were in a second
 *     links device MEGABYTES ROUNDS            copies so much within the memory of device 0; prints seconds, a round a line
 *
 * `copy` says "ready" before its rounds and waits for a line before and after them, so that the caller can read the
 * workers' CPU time. `give` and `take` print their own CPU time of the rounds, in seconds, at their end.
 *
 * Chunks are those of DCL (DCL_CHUNK_BYTES, at most 1 MB over tcp). The receiver copies the data out of each ZeroMQ
 * message into an array, as DCL does; the sender copies nothing. With keys both sides use CURVE, as DCL's workers do between hosts. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <zmq.h>

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <dcl.h>

#include "common.h"

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void wait_for_line(void)
{
    fflush(stdout);
    for (int byte = getchar(); byte != EOF && byte != '\n';)
        byte = getchar();
}

static size_t chunk_bytes(void)
{
    dcl_config config;
    check(dcl_config_read(&config) == DCL_OK, "the configuration");
    const size_t most_over_tcp = 1 << 20;
    return config.chunk_bytes < most_over_tcp ? config.chunk_bytes : most_over_tcp;
}

static int copy(size_t bytes, int rounds)
{
    dcl_cluster *cluster = dcl_open(NULL);
    check(cluster != NULL && dcl_node_count(cluster) >= 2, "two nodes are needed");
    dcl_map *whole = dcl_map_block(cluster), *first = dcl_map_on(whole, 1, (int[]){0}),
            *last = dcl_map_on(whole, 1, (int[]){dcl_node_count(cluster) - 1});
    dcl_grid grid = dcl_grid_1d(DCL_FLOAT, (int64_t)(bytes / sizeof(float)));
    dcl_array *from = dcl_agile(grid, first), *to = dcl_agile(grid, last);
    check(to != NULL && dcl_forall_n(cluster, "A(i) = i % 1009;", 1, (dcl_arg[]){DCL_OUT_AS("A", from)}) == DCL_OK,
          "arrays");
    for (int r = -1; r < rounds; r++) {
        check(dcl_wait(cluster) == DCL_OK, "dcl_wait");
        double start = now();
        check(dcl_copy(from, to) == DCL_OK && dcl_wait(cluster) == DCL_OK, "dcl_copy");
        if (r >= 0)
            printf("%.6f\n", now() - start);
        if (r < 0) {
            printf("ready\n");
            wait_for_line();
        }
    }
    wait_for_line();
    float value[2];
    dcl_box box = dcl_box_nd(1, (int64_t[]){grid.extent[0] - 2}, (int64_t[]){2});
    check(dcl_read(to, &box, value, NULL) == DCL_OK && value[1] == (float)((grid.extent[0] - 1) % 1009),
          "what arrived is wrong");
    return dcl_close(cluster) == DCL_OK ? 0 : 1;
}

static void nothing(void *data, void *hint) { (void)data, (void)hint; }

enum { KEY_TEXT = 41 }; /* a key as text, with its end */

static int give(const char *address, size_t bytes, bool with_keys)
{
    size_t chunk = chunk_bytes();
    char *data = calloc(1, bytes), public_key[KEY_TEXT] = "plain", secret_key[KEY_TEXT];
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    if (with_keys)
        check(zmq_curve_keypair(public_key, secret_key) == 0 &&
                  zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &(int){1}, sizeof(int)) == 0 &&
                  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, sizeof secret_key) == 0,
              "keys");
    check(data != NULL && zmq_bind(socket, address) == 0, address);
    memset(data, 1, bytes);
    printf("%s\n", public_key);
    fflush(stdout);
    double cpu = 0;
    int asked = 0;
    for (char word[8]; zmq_recv(socket, word, sizeof word, 0) == 2; asked++) {
        if (asked == 1) /* the first round is not counted */
            cpu = cpu_seconds();
        for (size_t at = 0; at < bytes; at += chunk) {
            zmq_msg_t message;
            zmq_msg_init_data(&message, data + at, at + chunk < bytes ? chunk : bytes - at, nothing, NULL);
            check(zmq_msg_send(&message, socket, 0) >= 0, "zmq_msg_send");
        }
    }
    printf("%.6f\n", cpu_seconds() - cpu);
    zmq_close(socket);
    zmq_ctx_term(context);
    free(data);
    return 0;
}

static void use_keys(void *socket, const char *server_key)
{
    char public_key[KEY_TEXT], secret_key[KEY_TEXT];
    check(zmq_curve_keypair(public_key, secret_key) == 0 &&
              zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, strlen(server_key) + 1) == 0 &&
              zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, sizeof public_key) == 0 &&
              zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, sizeof secret_key) == 0,
          "keys");
}

static int take(const char *address, size_t bytes, int rounds, const char *server_key)
{
    char *data = malloc(bytes);
    double cpu = 0;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    if (strcmp(server_key, "plain") != 0)
        use_keys(socket, server_key);
    check(data != NULL && zmq_connect(socket, address) == 0, address);
    memset(data, 0, bytes);
    for (int r = -1; r < rounds; r++) {
        double start = now();
        if (r == 0)
            cpu = cpu_seconds();
        check(zmq_send(socket, "go", 2, 0) == 2, "zmq_send");
        for (size_t at = 0; at < bytes;) {
            zmq_msg_t message;
            zmq_msg_init(&message);
            check(zmq_msg_recv(&message, socket, 0) >= 0, "zmq_msg_recv");
            memcpy(data + at, zmq_msg_data(&message), zmq_msg_size(&message));
            at += zmq_msg_size(&message);
            zmq_msg_close(&message);
        }
        if (r >= 0)
            printf("%.6f\n", now() - start);
    }
    printf("%.6f\n", cpu_seconds() - cpu);
    zmq_send(socket, "end", 3, 0);
    zmq_close(socket);
    zmq_ctx_term(context);
    free(data);
    return 0;
}

static cl_device_id first_device(void)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_device_id device = NULL;
    clGetPlatformIDs(16, platforms, &count);
    for (cl_uint p = 0; p < count && p < 16 && device == NULL; p++)
        clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    check(device != NULL, "no OpenCL device");
    return device;
}

static void end_round(cl_command_queue queue, cl_int code, double start, bool counts)
{
    check(code == CL_SUCCESS && clFinish(queue) == CL_SUCCESS, "a transfer");
    if (counts)
        printf("%.6f\n", now() - start);
}

/* Write and read a buffer by transfers of `part` bytes. */
static int transfers(size_t bytes, size_t part, int rounds)
{
    cl_device_id device = first_device();
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    unsigned char *sent = malloc(bytes), *got = calloc(1, bytes);
    check(code == CL_SUCCESS && sent != NULL && got != NULL, "a buffer");
    for (size_t i = 0; i < bytes; i++)
        sent[i] = (unsigned char)(i * 2654435761U >> 11);
    for (int r = -1; r < rounds; r++) { /* the first round is not counted */
        double start = now();
        for (size_t at = 0; at < bytes && code == CL_SUCCESS; at += part)
            code = clEnqueueWriteBuffer(queue, buffer, CL_FALSE, at, part, sent + at, 0, NULL, NULL);
        end_round(queue, code, start, r >= 0);
        start = now();
        for (size_t at = 0; at < bytes && code == CL_SUCCESS; at += part)
            code = clEnqueueReadBuffer(queue, buffer, CL_FALSE, at, part, got + at, 0, NULL, NULL);
        end_round(queue, code, start, r >= 0);
    }
    check(memcmp(sent, got, bytes) == 0, "what was read is wrong");
    free(sent);
    free(got);
    return 0;
}

static int on_device(size_t bytes, int rounds)
{
    cl_device_id device = first_device();
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_mem from = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code),
           to = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check(code == CL_SUCCESS, "clCreateBuffer");
    for (int r = -1; r < rounds; r++) {
        double start = now();
        check(clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, NULL, NULL) == CL_SUCCESS &&
                  clFinish(queue) == CL_SUCCESS,
              "clEnqueueCopyBuffer");
        if (r >= 0)
            printf("%.6f\n", now() - start);
    }
    return 0;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static int work(size_t in, size_t out, size_t part, int rounds)
{
    const char *text =
        "kernel void work(global const uchar *a, global uchar *b, ulong last, uchar k) { b[0] = a[last] + k; }";
    const size_t one = 1;
    const cl_ulong last = in - 1;
    cl_device_id device = first_device();
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_ONLY, in, NULL, &code);
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, out, NULL, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    check(code == CL_SUCCESS && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "a program");
    cl_kernel kernel = clCreateKernel(program, "work", &code);
    unsigned char *sent = malloc(in), *got = malloc(out);
    check(code == CL_SUCCESS && sent != NULL && got != NULL, "a kernel and memory");
    memset(sent, 5, in);
    memset(got, 0, out);
    for (int r = -1; r < rounds; r++) { /* the first round is not counted */
        const cl_uchar k = (cl_uchar)(r + 2);
        double start = now();
        for (size_t at = 0; at < in && code == CL_SUCCESS; at += part)
            code = clEnqueueWriteBuffer(queue, a, CL_FALSE, at, least(part, in - at), sent + at, 0, NULL, NULL);
        check(clSetKernelArg(kernel, 0, sizeof a, &a) == CL_SUCCESS &&
                  clSetKernelArg(kernel, 1, sizeof b, &b) == CL_SUCCESS &&
                  clSetKernelArg(kernel, 2, sizeof last, &last) == CL_SUCCESS &&
                  clSetKernelArg(kernel, 3, sizeof k, &k) == CL_SUCCESS &&
                  clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) == CL_SUCCESS,
              "a launch");
        for (size_t at = 0; at < out && code == CL_SUCCESS; at += part)
            code = clEnqueueReadBuffer(queue, b, CL_FALSE, at, least(part, out - at), got + at, 0, NULL, NULL);
        end_round(queue, code, start, r >= 0);
        check(got[0] == (unsigned char)(5 + k), "what was read is wrong");
    }
    free(sent);
    free(got);
    return 0;
}

/* A device, and the part of the elements that it adds. */
typedef struct share {
    size_t first, count;
    cl_command_queue queue;
    cl_mem a, b, c;
    cl_kernel kernel;
} share;

static void open_share(share *s, cl_device_id device, int turns)
{
    const char *text = "kernel void work(global const float *a, global const float *b, global float *c, int turns)\n"
                       "{ size_t i = get_global_id(0); float sum = a[i], more = b[i];\n"
                       "  for (int t = 0; t < turns; t++) sum += more;\n"
                       "  c[i] = sum; }";
    size_t bytes = s->count * sizeof(float);
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    s->queue = clCreateCommandQueue(context, device, 0, &code);
    s->a = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, NULL, &code);
    s->b = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, NULL, &code);
    s->c = clCreateBuffer(context, CL_MEM_WRITE_ONLY, bytes, NULL, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    check(code == CL_SUCCESS && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "a program");
    s->kernel = clCreateKernel(program, "work", &code);
    check(code == CL_SUCCESS && clSetKernelArg(s->kernel, 0, sizeof s->a, &s->a) == CL_SUCCESS &&
              clSetKernelArg(s->kernel, 1, sizeof s->b, &s->b) == CL_SUCCESS &&
              clSetKernelArg(s->kernel, 2, sizeof s->c, &s->c) == CL_SUCCESS &&
              clSetKernelArg(s->kernel, 3, sizeof turns, &turns) == CL_SUCCESS,
          "a kernel");
}

static void enqueue_share(const share *s, const float *a, const float *b, float *c)
{
    size_t bytes = s->count * sizeof(float);
    check(clEnqueueWriteBuffer(s->queue, s->a, CL_FALSE, 0, bytes, a + s->first, 0, NULL, NULL) == CL_SUCCESS &&
              clEnqueueWriteBuffer(s->queue, s->b, CL_FALSE, 0, bytes, b + s->first, 0, NULL, NULL) == CL_SUCCESS &&
              clEnqueueNDRangeKernel(s->queue, s->kernel, 1, NULL, &s->count, NULL, 0, NULL, NULL) == CL_SUCCESS &&
              clEnqueueReadBuffer(s->queue, s->c, CL_FALSE, 0, bytes, c + s->first, 0, NULL, NULL) == CL_SUCCESS &&
              clFlush(s->queue) == CL_SUCCESS,
          "an addition");
}

static int add(size_t elements, int turns, int rounds)
{
    enum { MOST = 16 };
    share shares[MOST];
    cl_platform_id platform;
    cl_device_id device[MOST];
    cl_uint count = 0;
    float *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b), *c = malloc(elements * sizeof *c);
    check(a != NULL && b != NULL && c != NULL && clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
              clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, device, &count) == CL_SUCCESS && count <= MOST,
          "memory and devices");
    for (cl_uint d = 0; d < count; d++) {
        shares[d] = (share){.first = d * elements / count};
        shares[d].count = (d + 1) * elements / count - shares[d].first;
        open_share(&shares[d], device[d], turns);
    }
    for (size_t i = 0; i < elements; i++)
        a[i] = (float)(i % 1009), b[i] = (float)(i % 7), c[i] = -1;
    for (int r = -1; r < rounds; r++) { /* the first round is not counted */
        double start = now();
        for (cl_uint d = 0; d < count; d++)
            enqueue_share(&shares[d], a, b, c);
        for (cl_uint d = 0; d < count; d++)
            check(clFinish(shares[d].queue) == CL_SUCCESS, "clFinish");
        if (r >= 0)
            printf("%.6f\n", now() - start);
    }
    for (size_t i = 0; i < elements; i++) /* all sums have fewer than 24 bits */
        check(c[i] == a[i] + (float)turns * b[i], "a sum is wrong");
    free(a);
    free(b);
    free(c);
    return 0;
}

/* Do the same again and again, with clFinish() after each batch. */
static int repeat(const char *what, double seconds)
{
    enum { BYTES = 16 << 20, LAUNCHES = 100 };
    const char *text = "kernel void one(global int *a) { a[0] += 1; }";
    const size_t one = 1;
    cl_device_id device = first_device();
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    check(code == CL_SUCCESS && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "a program");
    cl_kernel kernel = clCreateKernel(program, "one", &code);
    unsigned char *memory = calloc(1, BYTES);
    check(code == CL_SUCCESS && memory != NULL && clSetKernelArg(kernel, 0, sizeof buffer, &buffer) == CL_SUCCESS,
          "a kernel and memory");
    bool launches = strcmp(what, "launch") == 0, writes = strcmp(what, "write") == 0;
    double begin = 0;
    long count = 0;
    for (int turn = -1; turn < 0 || now() - begin < seconds; turn++) { /* the first one is not counted */
        for (int n = 0; launches && n < LAUNCHES && code == CL_SUCCESS; n++)
            code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        if (writes)
            code = clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, BYTES, memory, 0, NULL, NULL);
        else if (!launches)
            code = clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, BYTES, memory, 0, NULL, NULL);
        check(code == CL_SUCCESS && clFinish(queue) == CL_SUCCESS, "clFinish");
        count += turn < 0 ? 0 : launches ? LAUNCHES : 1;
        if (turn < 0) {
            printf("ready\n");
            wait_for_line();
            begin = now();
        }
    }
    printf("%.9g\n", (double)count / (now() - begin));
    free(memory);
    return 0;
}

int main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "copy") == 0 && argc == 4)
        return copy((size_t)atol(argv[2]) << 20, atoi(argv[3]));
    if (strcmp(what, "give") == 0 && argc == 5)
        return give(argv[2], (size_t)atol(argv[3]) << 20, strcmp(argv[4], "keys") == 0);
    if (strcmp(what, "take") == 0 && argc == 6)
        return take(argv[2], (size_t)atol(argv[3]) << 20, atoi(argv[4]), argv[5]);
    if (strcmp(what, "device") == 0 && argc == 4)
        return on_device((size_t)atol(argv[2]) << 20, atoi(argv[3]));
    if (strcmp(what, "transfers") == 0 && argc == 5)
        return transfers((size_t)atol(argv[2]) << 20, (size_t)atol(argv[3]) << 10, atoi(argv[4]));
    if (strcmp(what, "repeat") == 0 && argc == 4)
        return repeat(argv[2], atof(argv[3]));
    if (strcmp(what, "add") == 0 && argc == 5)
        return add((size_t)atol(argv[2]), atoi(argv[3]), atoi(argv[4]));
    if (strcmp(what, "work") == 0 && argc == 6)
        return work((size_t)atol(argv[2]), (size_t)atol(argv[3]), (size_t)atol(argv[4]), atoi(argv[5]));
    fprintf(stderr, "links: run by bench/links.py, see `make links`\n");
    return argc > 1 ? 2 : 0; /* alone, as `make bench` runs all programs, it measures nothing */
}
