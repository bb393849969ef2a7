/* fuzz/host_world.h - a program with its nodes, as far as the host's worker sees it. */
#ifndef TEST_FUZZ_HOST_WORLD_H
#define TEST_FUZZ_HOST_WORLD_H

#include "fleet/worker_pool_inside.h"
#include "fuzz/program.h"
#include "fuzz/session.h"
#include "runtime/cluster.h"

/* The program with its nodes. */
typedef struct fuzz_world {
    fuzz_session session; /* first: the transport knows it by this address */
    dcl_cluster cluster;
    struct dcli_worker_pool worker_pool;
    dcli_worker *host;
    dcl_config config;
    fuzz_program program;
    int64_t done[FUZZ_MOST_NODES], ready[FUZZ_MOST_NODES];
    bool listener_speaks, stopped;
    dcli_frames_pool *pool;
} fuzz_world;

extern const dcli_log fuzz_silent;

/** What the worker's terms point to. @param nodes  that are there; others may join. */
void fuzz_open_worker_pool(fuzz_world *world, int nodes, bool is_local);
void fuzz_open_cluster(fuzz_world *world, int nodes);
void fuzz_close_world(fuzz_world *world);

/* What the program does, as the runtime would. */
void fuzz_call_operation(fuzz_world *world);
void fuzz_call_kernel(fuzz_world *world);
/** Nobody waits for the answers. @param counts  counters, or a file. */
void fuzz_call_ask(fuzz_world *world, bool counts);
/** Numbers are given once. */
void fuzz_call_join(fuzz_world *world);

/** What the listener says. @param user  the world. */
fuzz_answer fuzz_hear_listener;

#endif
