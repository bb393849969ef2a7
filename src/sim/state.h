/* sim/state.h - the state of a simulated cluster: cluster.c sets it up, node.c runs it, link.c sends its messages. */
#ifndef DCLI_SIM_STATE_H
#define DCLI_SIM_STATE_H

#include "net/codec.h"
#include "sim/clock.h"
#include "sim/program.h"
#include "workqueue/lend_pace.h"
#include "workqueue/loan_ask.h"
#include "workqueue/plan_loan.h"

/** The last virtual time, 73 years: the sum of it and of a processor's time or the latency still fits into 64 bits. */
#define DCLI_SIM_MOST_NS (INT64_C(1) << 61)

typedef enum dcli_sim_event_kind {
    DCLI_SIM_CALL,        /* the program makes the call of `operation` */
    DCLI_SIM_BEGINS,      /* the first byte of a message reaches `to` */
    DCLI_SIM_ARRIVES,     /* the whole message is there */
    DCLI_SIM_DONE,        /* `bytes` batches from `number` on have ended, with `elements` computed in `took_ns` */
    DCLI_SIM_PACKED,      /* chunk `number` for peer `from` is packed */
    DCLI_SIM_COMMITTED,   /* a chunk of peer `from` is committed */
    DCLI_SIM_LOAN_PACKED, /* `chunk` of the loan of batch `number` is packed for peer `from`; `written`: a result */
    DCLI_SIM_LOAN_DONE,   /* the borrowed batch `number` of peer `from` has ended */
    DCLI_SIM_LATE,        /* what was lent to peer `from` in answer to `question` should be back */
    DCLI_SIM_AGAIN,       /* the node may ask others that have lent nothing before */
    DCLI_SIM_FREE         /* the processor of `to` has finished what it did */
} dcli_sim_event_kind;

typedef struct dcli_sim_event {
    dcli_moment moment;
    uint8_t kind, message; /* dcli_sim_event_kind; of a message its dcli_message_kind */
    bool written;          /* CHUNK: as in its message */
    bool failed;           /* CHUNK and PACKED: its contents are undefined. GRANT: declined */
    int from, to;
    int64_t operation, number, bytes; /* as the message has them; `bytes`: all that is transferred */
    union {
        struct {
            int64_t done, ready; /* watermarks */
        };
        struct {
            int64_t elements, took_ns; /* DONE */
        };
        struct {
            /* Messages of lending use the fields so: `number` is the batch (of HUNGRY: `upto`); `operation` is the operation
             * (of HUNGRY: `first`); `chunk` of HUNGRY: bytes, of LENT: number of batches, of RESULT: time of the kernels;
             * `busy_ns` is that of HUNGRY. */
            int64_t question, chunk, busy_ns;
        };
    };
} dcli_sim_event;

/** A plan that a node has made, as the cache of a worker process keeps it. */
typedef struct dcli_sim_known {
    int64_t shape; /* of the operation; -n: operation number n alone */
    int peer;      /* the node whose plan it is; host + 1 + n: the whole plan of node n, for loans from n */
    dcli_plan *plan;
    struct dcli_sim_size *size; /* [batches] sizes of the loans of its batches; NULL: no loan was considered yet */
} dcli_sim_known;

/** The sizes of the loan of a batch. They are the same for every thief, because no thief reads memory of others in
 *  place. */
struct dcli_sim_size {
    dcl_status status; /* of planning it */
    dcli_loan_size size;
    int64_t input_bytes; /* of the inputs that are sent */
};

/** A batch that a node has lent. The simulated victim and thief share this record. */
typedef struct dcli_sim_loan {
    bool is_out; /* not answered, and not taken back */
    int thief;
    int64_t question, operation, batch;
    dcli_loan *loan;
    double kernel_ns; /* that the thief's device took */
    struct dcli_sim_loan *next;
} dcli_sim_loan;

/** What a node knows of another one as a thief. */
typedef struct dcli_sim_thief {
    int node;
    double element_ns; /* measured time of an element; 0: none was */
    int64_t free_ns;   /* when it can begin, as it said in its last question */
} dcli_sim_thief;

enum { DCLI_SIM_SAMPLES = 9 };

/** The state of lending of a node. */
typedef struct dcli_sim_lending {
    double sample[DCLI_SIM_SAMPLES]; /* ns per element of the last launches, a ring buffer */
    int64_t samples;
    int64_t launches, launched_elements; /* in the device's queue, borrowed batches included */
    int64_t front_since;                 /* when the first of them has begun */
    int64_t borrowed;                    /* batches borrowed from others that have not ended */
    int64_t borrowed_running;            /* ... those of them that are in the device's queue */
    int64_t borrowed_waiting;            /* elements of the others */
    int64_t seen;                        /* the last operation that it knows */
    dcli_asking asking;
    bool again; /* DCLI_SIM_AGAIN will come */
    dcli_sim_loan *lent;
    dcli_sim_thief *thief; /* [thief_count] */
    int64_t thief_count, thief_capacity;
} dcli_sim_lending;

typedef struct dcli_sim dcli_sim;

/** A node, or (number node_count) the program. */
typedef struct dcli_sim_node {
    dcli_sim *sim;
    int self;
    dcli_node *machine;
    dcli_sim_event *inbox; /* [first .. count) wait for the processor */
    int64_t first, count, capacity;
    bool busy;     /* the processor is busy until event DCLI_SIM_FREE */
    int64_t clock; /* time until which it is busy, as far as known */
    int64_t device_free, pack_free, commit_free, out_free, in_free; /* when each of these is free again */
    double slowness;
    dcli_sim_known *known; /* [known_count] by shape and peer */
    int64_t known_count, known_capacity;
    int64_t done, ready;              /* watermarks of the node and of all below it, as its parent knows them */
    int64_t told_done, told_ready;    /* ... as last sent */
    bool host_due;                    /* they may have changed since */
    dcl_counters counters;            /* sent with watermarks */
    double device_ns, work_ns;        /* time of its batches; their time on a device of normal speed */
    int64_t bytes_in, bytes_out;      /* data */
    int64_t control;                  /* control messages sent and received */
    int64_t plans, pairs, pairs_most; /* made; made for pairs: for the present operation, and most for one */
    dcli_sim_lending lending;
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
    int last_call; /* calls up to this one are made */
    bool counts;   /* the arrays are made: from now on messages are counted */
    int64_t
        *complete_ns; /* [operation_count] time at which the program learned of the end of an operation; 0: not yet */
    int complete;
    int64_t *failed;   /* [operation_count] FAILED messages about an operation */
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

/** The end of something that begins at a virtual time and takes `ns`. If that is beyond DCLI_SIM_MOST_NS, the
 *  simulation fails. */
int64_t dcli_sim_end(dcli_sim *sim, int64_t begin, double ns);

/* ---- link.c */

/** Pack a message, and send it over the link as soon as the processor of `from` has done so. `event` has its kind in
 *  `message` and its fields; @param payload  bytes of elements that go with it. */
void dcli_sim_send(dcli_sim *sim, int from, int to, dcli_sim_event event, int64_t payload);
/** The message that an operation has failed. @param storages  [DCLI_MAX_PARAMS] for those that it writes */
dcli_msg_failed dcli_sim_failed(const dcli_sim *sim, int64_t number, int64_t storages[]);
/** The first byte of a message has reached its receiver: let the rest arrive. */
void dcli_sim_receive(dcli_sim *sim, const dcli_sim_event *event);
/** Send the descriptor of an operation, or that it has failed, to the children in the tree.
 *  @param kind  OPERATIONS or FAILED */
void dcli_sim_send_down(dcli_sim *sim, int from, dcli_message_kind kind, int64_t operation);
/** Report the least watermarks of a node and of those below it to its parent, if they have changed since the last
 *  report. */
void dcli_sim_rise(dcli_sim *sim, int node);
/** Record the watermarks that a child has reported. */
void dcli_sim_take_risen(dcli_sim *sim, const dcli_sim_event *event);
/** Bytes of the authentication tags of a message to node `top`: one for each node of its subtree, except for `top`
 *  itself if the program sends it the message. See worker/tree.c and net/proof.h. */
int64_t dcli_sim_proof_bytes(int nodes, int fanout, int top);

/* ---- node.c */

/** Handle an event. */
void dcli_sim_happen(dcli_sim *sim, const dcli_sim_event *event);
/** For dcli_node_terms.plan_of; `user` is the dcli_sim_node. */
const dcli_plan *dcli_sim_plan_of(void *user, const dcli_operation *operation, int peer);
/** The whole plan of a node, made by another one or by itself. NULL: DCL_ERR_NOMEM. It stays until the list changes. */
dcli_sim_known *dcli_sim_whole_plan(dcli_sim_node *node, const dcli_operation *operation, int of);
/** Time of a box on a device of normal speed, without jitter. */
double dcli_sim_box_ns(const dcli_sim *sim, const dcl_box *box);
/** The random factor of the time of a batch, at least 1. */
double dcli_sim_jitter(const dcli_sim *sim, int n, int64_t operation, int64_t batch);
/** Time to copy `bytes` bytes. */
double dcli_sim_copy_ns(const dcli_sim *sim, int64_t bytes);
/** Append work of `ns` to a queue of a node. @return the time at which it ends. */
int64_t dcli_sim_queue(const dcli_sim_node *node, int64_t *free_ns, double ns);
void dcli_sim_post(dcli_sim *sim, dcli_sim_event event, int64_t time);

/* ---- lend.c */

static inline bool dcli_sim_lends(const dcli_sim *sim)
{
    return sim->settings->steal != DCL_STEAL_NEVER && sim->host > 1;
}

/** For dcli_node_terms.loan_of; `user` is the dcli_sim_node. */
dcl_status dcli_sim_loan_of(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                            int thief, dcli_loan_size *size_out);
void dcli_sim_forget_loans(dcli_sim_node *node);
/** The number of batches to launch together, beginning with that of a RUN. */
int64_t dcli_sim_share(dcli_sim *sim, int n, const dcli_action *run);
/** Record that a launch of a plan with batches that can be lent was queued; dcli_sim_measure() records its end. */
void dcli_sim_launched(dcli_sim *sim, int n, int64_t elements);
void dcli_sim_measure(dcli_sim *sim, const dcli_sim_event *done);
/** Answer questions, and ask. @return whether the state machine may have new actions. */
bool dcli_sim_decide(dcli_sim *sim, int n);
/** Carry out an action of lending. */
void dcli_sim_act_loan(dcli_sim *sim, int n, const dcli_action *action);
/** Handle a received message of lending. */
void dcli_sim_hear_loan(dcli_sim *sim, const dcli_sim_event *event);
/** Handle one of the events LOAN_PACKED, LOAN_DONE, LATE and AGAIN. */
void dcli_sim_happen_loan(dcli_sim *sim, const dcli_sim_event *event);

#endif
