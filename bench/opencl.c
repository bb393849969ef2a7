/* bench/opencl.c - what the OpenCL driver costs: the same commands on a native device and on one of the platform DCL, in turns.
 *
 *   OCL_ICD_VENDORS=FOLDER DCL_WORKERS=... build/bench/opencl [native|DCL]     FOLDER holds pocl.icd and dcl.icd
 *
 * With an argument, that device is measured alone. On a GPU only this is fair: it divides its time between the processes that use
 * it, here the program and the worker, so that each launch of either waits for the other's share.
 *
 * Launch + finish, queued launches (100 and one finish, time of the enqueueing alone and of all), 64 MiB written and read. Minima of
 * many rounds: other programs on the host only add to them.
 *
 * Beside them, what the network costs without OpenCL: two processes over ZeroMQ and tcp on loopback (DEALER and ROUTER). A ping is 128
 * bytes there and back; a stream is 64 MiB in messages of 1 MiB, each copied once by the receiver. A wake-up is the time from a
 * signal to a thread that waits for it until that thread runs. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { ROUNDS = 30, QUEUED = 100, ALONE = 5, LARGE = 64 << 20, LARGE_ROUNDS = 6, CHUNK = 1 << 20, PING = 128 };

typedef struct side {
    const char *name;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem small, large;
    double launch_us, enqueue_us, queued_us, write_s, read_s; /* minima */
} side;

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s fails with %d\n", call, status);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static void note(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

/* ---- ZeroMQ without OpenCL ---- */

typedef struct bare {
    pid_t peer;
    void *context, *socket;
    double ping_us, write_s, read_s, wake_us; /* minima */
} bare;

static void demand(bool holds, const char *call)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", call, zmq_strerror(zmq_errno()));
    exit(1);
}

static void *make_socket(void *context, int type)
{
    void *socket = zmq_socket(context, type);
    int none = 0;
    demand(socket != NULL, "zmq_socket");
    zmq_setsockopt(socket, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    return socket;
}

/* Receive LARGE bytes in chunks, each copied once. @param routed  each comes after the sender's address. */
static void take_stream(void *socket, bool routed, unsigned char *target)
{
    zmq_msg_t message;
    for (size_t at = 0; at < LARGE; at += CHUNK)
        for (int frame = routed ? 0 : 1; frame < 2; frame++) {
            zmq_msg_init(&message);
            demand(zmq_msg_recv(&message, socket, 0) >= 0, "zmq_msg_recv");
            if (frame == 1)
                memcpy(target + at, zmq_msg_data(&message), zmq_msg_size(&message));
            zmq_msg_close(&message);
        }
}

/* @param to  address of the receiver, for a ROUTER; NULL: none is sent */
static void give_stream(void *socket, const zmq_msg_t *to, unsigned char *source)
{
    zmq_msg_t message;
    for (size_t at = 0; at < LARGE; at += CHUNK) {
        if (to != NULL)
            demand(zmq_send(socket, zmq_msg_data((zmq_msg_t *)(uintptr_t)to), zmq_msg_size(to), ZMQ_SNDMORE) >= 0,
                   "zmq_send");
        zmq_msg_init_data(&message, source + at, CHUNK, NULL, NULL);
        demand(zmq_msg_send(&message, socket, 0) >= 0, "zmq_msg_send");
    }
}

/* The other process: answers pings, and takes or gives a stream if the first byte of a ping says so. It ends with an empty one. */
static void be_peer(int address_to)
{
    void *context = zmq_ctx_new(), *socket = make_socket(context, ZMQ_ROUTER);
    unsigned char *memory = malloc(LARGE);
    char address[64] = "", ping[PING];
    size_t length = sizeof address;
    demand(memory != NULL && zmq_bind(socket, "tcp://127.0.0.1:*") == 0, "zmq_bind");
    memset(memory, 1, LARGE);
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address, &length);
    demand(write(address_to, address, sizeof address) == sizeof address, "write");
    for (;;) {
        zmq_msg_t from;
        zmq_msg_init(&from);
        demand(zmq_msg_recv(&from, socket, 0) >= 0, "zmq_msg_recv");
        int bytes = zmq_recv(socket, ping, sizeof ping, 0);
        if (bytes <= 0)
            break;
        if (ping[0] == 'w')
            take_stream(socket, true, memory);
        if (ping[0] == 'r') {
            give_stream(socket, &from, memory);
        } else {
            zmq_send(socket, zmq_msg_data(&from), zmq_msg_size(&from), ZMQ_SNDMORE);
            zmq_send(socket, ping, (size_t)bytes, 0);
        }
        zmq_msg_close(&from);
    }
    _exit(0);
}

/* Start the other process, before this one has threads. */
static void open_bare(bare *b)
{
    int ends[2];
    char address[64];
    demand(pipe(ends) == 0, "pipe");
    b->peer = fork();
    demand(b->peer >= 0, "fork");
    if (b->peer == 0)
        be_peer(ends[1]);
    close(ends[1]); /* reading ends if the peer does */
    demand(read(ends[0], address, sizeof address) == sizeof address, "read");
    close(ends[0]);
    b->context = zmq_ctx_new();
    b->socket = make_socket(b->context, ZMQ_DEALER);
    demand(zmq_connect(b->socket, address) == 0, "zmq_connect");
}

static void close_bare(bare *b)
{
    zmq_send(b->socket, "", 0, 0);
    waitpid(b->peer, NULL, 0);
    zmq_close(b->socket);
    zmq_ctx_term(b->context);
}

static void ping(const bare *b, char what)
{
    char bytes[PING] = {what};
    demand(zmq_send(b->socket, bytes, sizeof bytes, 0) >= 0, "zmq_send");
    if (what == 'p')
        demand(zmq_recv(b->socket, bytes, sizeof bytes, 0) == PING, "zmq_recv");
}

static void measure_ping(bare *b)
{
    for (int n = 0; n < ALONE; n++) {
        double begin = now_us();
        ping(b, 'p');
        note(&b->ping_us, now_us() - begin);
    }
}

static void measure_streams(bare *b, unsigned char *sent, unsigned char *got)
{
    char answer[PING];
    double begin = now_us();
    ping(b, 'w');
    give_stream(b->socket, NULL, sent);
    demand(zmq_recv(b->socket, answer, sizeof answer, 0) == PING, "zmq_recv");
    note(&b->write_s, 1e-6 * (now_us() - begin));
    begin = now_us();
    ping(b, 'r');
    take_stream(b->socket, false, got);
    note(&b->read_s, 1e-6 * (now_us() - begin));
}

/* ---- wake-ups ---- */

typedef struct alternation {
    pthread_mutex_t lock;
    pthread_cond_t changed[2];
    int turn;
    bool ends;
} alternation;

static void pass_turn(alternation *a, int own)
{
    a->turn = 1 - own;
    pthread_cond_signal(&a->changed[1 - own]);
    while (a->turn != own)
        pthread_cond_wait(&a->changed[own], &a->lock);
}

static void *alternate(void *argument)
{
    alternation *a = argument;
    pthread_mutex_lock(&a->lock);
    while (a->turn != 1)
        pthread_cond_wait(&a->changed[1], &a->lock);
    while (!a->ends)
        pass_turn(a, 1);
    a->turn = 0;
    pthread_cond_signal(&a->changed[0]);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void measure_wakes(bare *b)
{
    alternation a = {PTHREAD_MUTEX_INITIALIZER, {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER}, 0, false};
    pthread_t thread;
    demand(pthread_create(&thread, NULL, alternate, &a) == 0, "pthread_create");
    pthread_mutex_lock(&a.lock);
    for (int n = 0; n < ROUNDS; n++) {
        double begin = now_us();
        pass_turn(&a, 0);
        note(&b->wake_us, (now_us() - begin) / 2);
    }
    a.ends = true;
    pass_turn(&a, 0);
    pthread_mutex_unlock(&a.lock);
    pthread_join(thread, NULL);
}

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
        note(&s->launch_us, now_us() - begin);
    }
    begin = now_us();
    for (int n = 0; n < QUEUED; n++)
        launch(s);
    note(&s->enqueue_us, (now_us() - begin) / QUEUED);
    check(clFinish(s->queue), "clFinish");
    note(&s->queued_us, (now_us() - begin) / QUEUED);
}

static void measure_transfers(side *s, unsigned char *sent, unsigned char *got)
{
    double begin = now_us();
    check(clEnqueueWriteBuffer(s->queue, s->large, CL_TRUE, 0, LARGE, sent, 0, NULL, NULL), "clEnqueueWriteBuffer");
    note(&s->write_s, 1e-6 * (now_us() - begin));
    begin = now_us();
    check(clEnqueueReadBuffer(s->queue, s->large, CL_TRUE, 0, LARGE, got, 0, NULL, NULL), "clEnqueueReadBuffer");
    note(&s->read_s, 1e-6 * (now_us() - begin));
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
        measure_ping(&network);
    }
    for (int round = 0; round < LARGE_ROUNDS; round++) {
        for (int s = 0; s < 2; s++)
            if (sides[s].device != NULL)
                measure_transfers(&sides[s], sent, got);
        measure_streams(&network, sent, got);
    }
    measure_wakes(&network);
    for (int s = 0; s < 2; s++)
        if (sides[s].device != NULL)
            report(&sides[s]);
    printf("ZeroMQ ping %.1f us; 64 MiB sent %.2f GB/s, received %.2f GB/s; wake-up of a thread %.1f us\n",
           network.ping_us, 1e-9 * LARGE / network.write_s, 1e-9 * LARGE / network.read_s, network.wake_us);
    close_bare(&network);
    free(sent);
    free(got);
    return 0;
}
