/* bench/bare.h - what the network and the processors cost without OpenCL, beside which bench/opencl.c and bench/opencl_servers.c print what
 * the driver costs: two processes over ZeroMQ and tcp on loopback (DEALER and ROUTER). A ping is 128 bytes there and back; a stream is
 * 64 MiB in messages of 1 MiB, each copied once by the receiver. A wake-up is the time from a signal to a thread that waits for it
 * until that thread runs. */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <CL/cl.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { WAKES = 30, PINGS = 5, LARGE = 64 << 20, CHUNK = 1 << 20, PING = 128 };

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

/* ---- two processes ---- */

typedef struct bare {
    pid_t peer;
    void *context, *socket;
    double ping_us, write_s, read_s, wake_us; /* minima */
    double last_ping_us, last_write_s, last_read_s, last_wake_us;
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
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the other one may end early, with an error */
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
    for (int n = 0; n < PINGS; n++) {
        double begin = now_us();
        ping(b, 'p');
        note(&b->ping_us, b->last_ping_us = now_us() - begin);
    }
}

static void measure_streams(bare *b, unsigned char *sent, unsigned char *got)
{
    char answer[PING];
    double begin = now_us();
    ping(b, 'w');
    give_stream(b->socket, NULL, sent);
    demand(zmq_recv(b->socket, answer, sizeof answer, 0) == PING, "zmq_recv");
    note(&b->write_s, b->last_write_s = 1e-6 * (now_us() - begin));
    begin = now_us();
    ping(b, 'r');
    take_stream(b->socket, false, got);
    note(&b->read_s, b->last_read_s = 1e-6 * (now_us() - begin));
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
    for (int n = 0; n < WAKES; n++) {
        double begin = now_us();
        pass_turn(&a, 0);
        note(&b->wake_us, b->last_wake_us = (now_us() - begin) / 2);
    }
    a.ends = true;
    pass_turn(&a, 0);
    pthread_mutex_unlock(&a.lock);
    pthread_join(thread, NULL);
}

#endif
