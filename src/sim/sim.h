/* sim/sim.h - simulate a cluster that runs a program: planning, protocol and messages are those of the library; the
 * computing of elements, the links and the clocks are a model. For `dcl sim`; not installed.
 *
 * The model (docs/scaling.md): a node has a processor that handles one event after the other, a device that runs one
 * batch after the other, a queue each for packing and for committing chunks, and a link with one bandwidth for each
 * direction. All messages of a node share its link, in order. */
#ifndef DCLI_SIM_SIM_H
#define DCLI_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/array.h>
#include <dcl/base.h>

enum { DCL_SIM_MOST_NODES = 16384, DCL_SIM_MOST_STEPS = 1000, DCL_SIM_MOST_SLOW = 16 };

typedef enum dcl_sim_program {
    DCL_SIM_ADD,       /* C = A + B, then A = C + B, ...: nothing moves */
    DCL_SIM_TRANSPOSE, /* C = A + B^T, then B = A + C^T, ... */
    DCL_SIM_STENCIL,   /* 5 points, from B to C, then from C to B, ... */
    DCL_SIM_REMAP,     /* a copy from an array under one map to one under another, and back, ... */
    DCL_SIM_UNEVEN,    /* as ADD, in one dimension, with tiles of unequal cost, by a loop of unequal length */
    DCL_SIM_PROGRAMS
} dcl_sim_program;

/** How the tiles of DCL_SIM_UNEVEN differ in cost; their mean is that of an element of other programs. */
typedef enum dcl_sim_cost {
    DCL_SIM_RAMP,        /* proportional to the number of the tile */
    DCL_SIM_ZIPF,        /* proportional to 1, 1/2, 1/3, ..., in random order */
    DCL_SIM_ZIPF_SORTED, /* the same, in this order */
    DCL_SIM_EVEN         /* equal */
} dcl_sim_cost;

typedef struct dcl_sim_slow {
    int node;
    double factor; /* its device takes this many times as long */
} dcl_sim_slow;

typedef struct dcl_sim_settings {
    dcl_sim_program program;
    const char *map, *other_map; /* as dcl_map_parse(); NULL: the usual of the program. `other_map`: of REMAP */
    int nodes, steps;
    int64_t elements; /* wanted number of elements of an array; 2-dimensional ones are squares */
    int tiles;        /* UNEVEN: tiles per node */
    int fanout;
    int64_t tile_bytes, chunk_bytes;
    double bandwidth, copy_rate; /* bytes per second: of a link, each direction; of packing, committing, unpacking */
    double element_ns;           /* time of a device for one element */
    int64_t latency_ns;          /* from the end of sending a byte to its arrival */
    int64_t message_ns;          /* of a processor, to send or to receive a message */
    int64_t launch_ns;           /* of a processor, to start a batch */
    int64_t plan_ns;             /* of a processor, to make a plan: its own, or that of a pair */
    dcl_sim_cost cost;
    uint64_t seed;          /* of ZIPF and jitter */
    double jitter;          /* a batch takes up to this part of its time longer, at random */
    dcl_steal_policy steal; /* not DCL_STEAL_DEFAULT */
    int failing_step;       /* 0: none; in this one (the first is 1), batches of the failing nodes fail: for tests */
    int failing_node;       /* -1: all fail */
    int slow_count;
    dcl_sim_slow slow[DCL_SIM_MOST_SLOW];
} dcl_sim_settings;

/** Messages and their bytes: as packed, without what a transport adds. */
typedef struct dcl_sim_traffic {
    int64_t messages, bytes;
} dcl_sim_traffic;

/** Questions and loans of the nodes. */
typedef struct dcl_sim_loans {
    int64_t questions, refusals;
    int64_t lent, won, taken_back; /* batches: lent; whose results were used; asked back */
    int64_t in_vain;               /* bytes of results that came when the victim had run the batch itself */
} dcl_sim_loans;

/** Figures of the steps of the program; making its arrays does not count. Times are ns of virtual time unless
 *  said otherwise. */
typedef struct dcl_sim_figures {
    int64_t elements, pairs_most;  /* elements of an array; most pairs that a node planned for a step */
    int64_t first_ns, step_ns;     /* from the first call to the program's knowing that the first step is complete; that
                                     all are, by their number: planning is included */
    int64_t bound_ns;              /* per step: what the device or a link of some node takes if it never waits */
    int64_t balanced_ns;           /* per step: time of the devices if the work could be distributed in any way */
    dcl_sim_traffic control, data; /* of all nodes and the program, all steps. data: chunks with their payload */
    dcl_sim_loans loans;
    dcl_sim_traffic host_out, host_in;      /* of them, those that the program sends and receives */
    int64_t control_most;                   /* most control messages that a node sends and receives */
    int64_t plans;                          /* plans made */
    int64_t failed, failed_most;            /* operations that failed; most FAILED messages about one of them */
    double plan_us, plan_most_us, again_us; /* measured on this machine, per node: time to begin a new operation, which
                                               makes its plans (mean, most), and one that is planned (mean) */
    int64_t events;                         /* of the simulation */
} dcl_sim_figures;

/** The settings of a cluster of nodes with fast devices and 100 Gbit/s links: 4 nodes, 10 steps of ADD. */
DCL_API void dcl_sim_defaults(dcl_sim_settings *settings_out);
/** Run one simulation. The same settings give the same virtual times.
 *  @return DCL_OK; DCL_ERR_INVALID: a setting is wrong, or the map does not fit; DCL_ERR_NOMEM; DCL_ERR_INTERNAL: the
 *          simulated cluster stands still. */
DCL_API dcl_status dcl_sim_run(const dcl_sim_settings *settings, dcl_sim_figures *figures_out);

#endif
