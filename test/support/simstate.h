/* test/support/simstate.h - the state of a simulated cluster, shared by simcluster.c, which sets it up and checks it,
 * and simnode.c, which runs it. */
#ifndef TEST_SUPPORT_SIMSTATE_H
#define TEST_SUPPORT_SIMSTATE_H

#include "support/simcheck.h"
#include "support/simclock.h"
#include "support/simcluster.h"
#include "support/simdata.h"
#include "workqueue/loan.h"
#include "workqueue/plan_loan.h"

/* An injected fault, which happens once: at the `after`-th action of a kind that `peer` gets for an operation. */
struct sim_fault {
    dcli_action_kind kind; /* RUN, PACK, COMMIT; RETIRE: none (any more) */
    int64_t operation;
    int peer;
    int64_t after;
};

/* An action that changes or sends memory, waiting for earlier ones. */
struct sim_task {
    dcli_action action;
    bool failed; /* without its effect: its outputs are invalid */
    bool reported;
};

/* How far an operation is on a node. */
typedef enum sim_stage {
    SIM_NOTHING_DONE, /* or it was before the node joined */
    SIM_OPEN,
    SIM_FINISHED, /* batches of it may be borrowed */
    SIM_RETIRED   /* its body may be evicted */
} sim_stage;

struct sim_node {
    dcli_node *node; /* NULL: not there yet */
    bool dead;
    bool *missed;          /* [peers] this peer knows that the other one is dead */
    int64_t seen;          /* operations */
    int64_t *ready_before; /* [peers] its own watermark when it learned that */
    bool step_posted;
    struct sim_task *task; /* [first .. count) */
    int64_t first, count, capacity;
    bool running;        /* task[first] is a batch that has not changed memory yet */
    int64_t done, ready; /* as last told */
    int64_t pool;        /* bytes granted and not dropped */
    int64_t made;        /* bytes made for others and not sent */
    int64_t *granted;    /* [steps * peers] chunks */
    sim_stage *stage;    /* [steps] of the operation */
    int asks_left;       /* questions until it sees the next operation, or is lent something */
};

/* The channel from one peer to another. */
struct sim_channel {
    int64_t last; /* arrival time of the last message */
    int64_t slowness;
    int64_t outstanding; /* U chunks without credit */
    int64_t cut;         /* the sender is dead: messages that would arrive after this time are lost */
};

/* A batch that is or was lent. */
struct sim_attempt {
    int victim, thief;
    int64_t question, operation, batch, count;
    const dcli_loan *loan;
    sim_payload *payload; /* [chunks of the loan] */
    int64_t **first;      /* [chunks of the loan] results computed from what was there when the batch started */
    bool taken_back;      /* its answer does not matter */
    bool answered;        /* the victim has got RESULT or RETURNED */
};

/* A node that will be lost, some time after a call of the program. */
struct sim_loss {
    int node;
    int64_t operation, delay;
};

enum { SIM_MAX_FAULTS = 3, SIM_MAX_LOSSES = 3, SIM_ASKS = 6 };

struct sim {
    const sim_settings *settings;
    sim_figures figures;
    test_random random;
    sim_program *program;
    sim_data data;
    sim_clock clock;
    int peers, host;
    dcli_node_ways *ways;
    dcli_node_terms terms;
    struct sim_node *node;       /* [peers] */
    struct sim_channel *channel; /* [peers * peers] */
    int64_t *sent;               /* [steps] chunks */
    int64_t *told;               /* [steps] messages that say that the operation has failed */
    int64_t *marked;             /* [marked_count] pairs (operation, storage) of messages with watermarks */
    int64_t marked_count, marked_capacity;
    int64_t *descriptors;                 /* [peers] arrival time of the last descriptor */
    int64_t latency, pause, think, slack; /* most time of a message, of a node, of the program, of a batch */
    bool late_effects;                    /* batches change memory some time after their start */
    int slow;                             /* this node gets descriptors very late */
    int issued;
    int64_t waits_for; /* the program waits for this operation */
    bool holds;        /* ... for all operations, so that nodes can join */
    int64_t *ready;    /* [peers] watermarks reported to the host */
    int64_t checked;   /* operations whose end the program has seen */
    struct sim_fault fault[SIM_MAX_FAULTS];
    struct sim_loss loss[SIM_MAX_LOSSES];
    int losses;
    sim_verdict verdict;
    sim_lending lending;
    struct sim_loan_entry **loans; /* by hash */
    struct sim_attempt *attempt;
    int64_t attempt_count, attempt_capacity;
    bool no_memory_for_loans; /* plans of loans cannot be made now */
    bool queues_little;       /* a node starts nothing while a batch runs */
    int sleeper, lame;        /* nodes that sleep for a time, and whose batches take long; -1: none */
    int64_t sleep_from, sleep_to;
};

static inline int64_t sim_pick(struct sim *sim, int64_t lo, int64_t hi) { return test_between(&sim->random, lo, hi); }

static inline const dcli_operation *sim_operation_of(const struct sim *sim, int64_t number)
{
    return &sim_step_of(sim->program, number)->operation;
}

/* ---- simnode.c */

/** What an event does. */
void sim_happen(struct sim *sim, const sim_event *event);
/** Let a node look for something to do. */
void sim_wake(struct sim *sim, int p);
/** Most time that a batch takes on a node. */
int64_t sim_slack_of(const struct sim *sim, int p);
/** Send a message over the channel from event.from to event.to. */
void sim_send(struct sim *sim, sim_event event);
/** The chunk of a message. */
sim_payload *sim_payload_of(struct sim *sim, const sim_event *event);
/** Record an error if the state machine's status is not DCL_OK. */
void sim_expect(struct sim *sim, int p, dcl_status status);

/* ---- simmember.c */

/** Pick how many nodes join, and which are lost when. */
int sim_pick_spares(struct sim *sim);
void sim_pick_losses(struct sim *sim);
/** Start the nodes that are there from the beginning. */
void sim_open_first(struct sim *sim);
/** Before the program makes call `number`: let nodes join, and schedule losses. @return false: a node will join, and
 *  operations have not ended yet. */
bool sim_before_call(struct sim *sim, int64_t number);
/** The last call that is complete on all nodes with all before it, as the host knows: their bodies may be evicted. */
int64_t sim_complete(const struct sim *sim);
/** Whether all calls so far are complete. */
bool sim_is_quiet(const struct sim *sim);
/** Whether an event still takes place; otherwise what it carries is freed. */
bool sim_takes_place(struct sim *sim, const sim_event *event);
/* ---- events ---- */

void sim_die(struct sim *sim, int p);
void sim_miss(struct sim *sim, const sim_event *event);
void sim_hear_join(struct sim *sim, const sim_event *event);
/** Check that there is a reason when p reports a failure because of lost nodes. */
void sim_check_loss(struct sim *sim, int p, const dcli_operation *operation);
/** Whether an operation needs a node that the host knows to be lost. */
bool sim_needs_lost(const struct sim *sim, const dcli_operation *operation);

#endif
