/* sim/state.h - the state of a simulated cluster: cluster.c sets it up, node.c runs it, link.c sends its messages. */
#ifndef DCLI_SIM_STATE_H
#define DCLI_SIM_STATE_H

#include "net/codec.h"
#include "sim/clock.h"
#include "sim/program.h"
#include "workqueue/node.h"

/** The last virtual time, 73 years: what a processor or the latency adds to it still fits into 64 bits. */
#define DCLI_SIM_MOST_NS (INT64_C(1) << 61)

typedef enum dcli_sim_event_kind {
    DCLI_SIM_CALL,      /* the program makes the call of `operation` */
    DCLI_SIM_BEGINS,    /* the first byte of a message reaches `to` */
    DCLI_SIM_ARRIVES,   /* the whole message is there */
    DCLI_SIM_DONE,      /* batch `number` has ended */
    DCLI_SIM_PACKED,    /* chunk `number` for peer `from` is packed */
    DCLI_SIM_COMMITTED, /* a chunk of peer `from` is committed */
    DCLI_SIM_FREE       /* the processor of `to` has finished what it did */
} dcli_sim_event_kind;

typedef struct dcli_sim_event {
    dcli_moment moment;
    uint8_t kind, message; /* dcli_sim_event_kind; of a message its dcli_message_kind */
    bool written;          /* CHUNK: as in its message */
    int from, to;
    int64_t operation, number, bytes, done, ready; /* as the message has them; `bytes`: all that is transferred */
} dcli_sim_event;

/** A plan that a node has made, as the cache of a worker process keeps it. */
typedef struct dcli_sim_known {
    int64_t shape; /* of the operation; -n: operation number n alone */
    int peer;
    dcli_plan *plan;
} dcli_sim_known;

typedef struct dcli_sim dcli_sim;

/** A node, or (number node_count) the program. */
typedef struct dcli_sim_node {
    dcli_sim *sim;
    int self;
    dcli_node *machine;
    dcli_sim_event *inbox; /* [first .. count) wait for the processor */
    int64_t first, count, capacity;
    bool busy;     /* the processor does something until a DCLI_SIM_FREE */
    int64_t clock; /* until when it is busy, as far as known */
    int64_t device_free, pack_free, commit_free, out_free, in_free; /* when each of these is free again */
    double slowness;
    dcli_sim_known *known; /* [known_count] by shape and peer */
    int64_t known_count, known_capacity;
    int64_t done, ready;              /* watermarks of the node and all below it, as its parent has heard */
    int64_t told_done, told_ready;    /* ... as last sent */
    bool host_due;                    /* they may have changed since */
    dcl_counters counters;            /* sent with watermarks */
    double device_ns, work_ns;        /* its batches; the same, on a device that is not slow */
    int64_t bytes_in, bytes_out;      /* data */
    int64_t control;                  /* control messages sent and received */
    int64_t plans, pairs, pairs_most; /* made; made for pairs: for the present operation, and most for one */
    int64_t new_ns, new_count, again_ns, again_count; /* measured: beginning operations that needed plans, or not */
} dcli_sim_node;

struct dcli_sim {
    const dcl_sim_settings *settings;
    dcli_sim_program program;
    dcli_sim_clock clock;
    int host; /* number of nodes */
    dcli_node_ways *ways;
    dcli_node_terms terms;
    dcli_sim_node *node; /* [host + 1] */
    dcli_pack_buffer packed;
    int last_call;        /* calls up to this one are made */
    bool counts;          /* the arrays are made: what is sent counts */
    int64_t *complete_ns; /* [operation_count] when the program knew that an operation is complete; 0: not yet */
    int complete;
    dcl_status status; /* the first error */
    dcl_sim_figures figures;
};

static inline const dcli_operation *dcli_sim_operation(const dcli_sim *sim, int64_t number)
{
    return &sim->program.operation[number - 1];
}

/** Keep the first error. */
static inline void dcli_sim_check(dcli_sim *sim, dcl_status status)
{
    if (sim->status == DCL_OK)
        sim->status = status;
}

/** The end of something that begins at a virtual time and takes `ns`. If that is beyond DCLI_SIM_MOST_NS, the simulation
 *  fails. */
int64_t dcli_sim_end(dcli_sim *sim, int64_t begin, double ns);

/* ---- link.c */

/** Pack a message, and send it over the link as soon as the processor of `from` has done so. `event` has its kind in
 *  `message` and its fields; @param payload  bytes of elements that go with it. */
void dcli_sim_send(dcli_sim *sim, int from, int to, dcli_sim_event event, int64_t payload);
/** The first byte of a message has come: let the rest arrive. */
void dcli_sim_receive(dcli_sim *sim, const dcli_sim_event *event);
/** Send the descriptor of an operation to the children in the tree. */
void dcli_sim_send_down(dcli_sim *sim, int from, int64_t operation);
/** Tell the parent how far the node and those below it are, if it does not know. */
void dcli_sim_rise(dcli_sim *sim, int node);
/** Record what a child has told. */
void dcli_sim_take_risen(dcli_sim *sim, const dcli_sim_event *event);
/** Bytes that the tags of a message add, which all nodes of a subtree need, but not `top` itself if it is told by the
 *  program: worker/tree.c, net/proof.h. */
int64_t dcli_sim_proof_bytes(int nodes, int fanout, int top);

/* ---- node.c */

/** What happens. */
void dcli_sim_happen(dcli_sim *sim, const dcli_sim_event *event);
/** For dcli_node_terms.plan_of; `user` is the dcli_sim_node. */
const dcli_plan *dcli_sim_plan_of(void *user, const dcli_operation *operation, int peer);

#endif
