/* test/support/simstate.h - a simulated cluster, shared by simcluster.c, which sets it up and judges it, and simnode.c, which
 * makes it go. */
#ifndef TEST_SUPPORT_SIMSTATE_H
#define TEST_SUPPORT_SIMSTATE_H

#include "support/simcheck.h"
#include "support/simclock.h"
#include "support/simcluster.h"
#include "support/simdata.h"
#include "workqueue/node.h"

/* A thing that goes wrong once: the `after`-th action of a kind that `peer` is told to do for an operation. */
struct sim_fault {
    dcli_action_kind kind; /* RUN, PACK, COMMIT; RETIRE: none (any more) */
    int64_t operation;
    int peer;
    int64_t after;
};

/* An action that changes or sends memory, waiting for the ones before. */
struct sim_task {
    dcli_action action;
    bool failed; /* instead of its effect: nothing can be relied on */
    bool reported;
};

struct sim_node {
    dcli_node *node; /* NULL: not there yet */
    bool dead;
    bool *missed;          /* [peers] it has learned that this one is dead */
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
    bool *retired;       /* [steps] nothing is done for it any more: its body may be forgotten */
};

/* From one peer to another. */
struct sim_channel {
    int64_t last; /* when the last message arrives */
    int64_t slowness;
    int64_t outstanding; /* U chunks without credit */
    int64_t cut;         /* the sender is dead: what would arrive later does not */
};

/* A node that is going to be lost, some time after a call of the program. */
struct sim_loss {
    int node;
    int64_t operation, delay;
};

enum { SIM_MAX_FAULTS = 3, SIM_MAX_LOSSES = 3 };

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
    struct sim_node *node;                /* [peers] */
    struct sim_channel *channel;          /* [peers * peers] */
    int64_t *sent;                        /* [steps] chunks */
    int64_t *descriptors;                 /* [peers] when the last descriptor arrives */
    int64_t latency, pause, think, slack; /* most time of a message, of a node, of the program, of a batch */
    bool late_effects;                    /* batches change memory some time after their start */
    int slow;                             /* this node gets descriptors very late */
    int issued;
    int64_t waits_for; /* the program waits for this operation */
    bool holds;        /* ... for the end of all, so that nodes can join */
    int64_t *ready;    /* [peers] what the host has been told */
    int64_t checked;   /* operations whose end the program has seen */
    struct sim_fault fault[SIM_MAX_FAULTS];
    struct sim_loss loss[SIM_MAX_LOSSES];
    int losses;
    sim_verdict verdict;
};

static inline int64_t sim_pick(struct sim *sim, int64_t lo, int64_t hi) { return test_between(&sim->random, lo, hi); }

static inline const dcli_operation *sim_operation_of(const struct sim *sim, int64_t number)
{
    return &sim_step_of(sim->program, number)->operation;
}

/* ---- simnode.c */

/** What an event does. */
void sim_happen(struct sim *sim, const sim_event *event);
/** Send a message over the channel of event.from and event.to. */
void sim_send(struct sim *sim, sim_event event);
/** The chunk that a message brings. */
sim_payload *sim_payload_of(struct sim *sim, const sim_event *event);
/** A status of the state machine that is not DCL_OK is wrong. */
void sim_expect(struct sim *sim, int p, dcl_status status);

/* ---- simmember.c */

/** How many nodes are going to join, which are going to be lost, and when. */
int sim_pick_spares(struct sim *sim);
void sim_pick_losses(struct sim *sim);
/** Begin with the nodes that are there from the start. */
void sim_open_first(struct sim *sim);
/** The program is about to make call `number`: who joins before it, who is lost some time after it.
 *  @return false: somebody is to join, and not all is over yet. */
bool sim_before_call(struct sim *sim, int64_t number);
/** The last call that is over on all nodes with all before it, as the host knows it: it may forget their bodies. */
int64_t sim_complete(const struct sim *sim);
/** Whether all calls so far are. */
bool sim_is_quiet(const struct sim *sim);
/** Whether an event still takes place; else what it carries is freed. */
bool sim_takes_place(struct sim *sim, const sim_event *event);
/* Events. */
void sim_die(struct sim *sim, int p);
void sim_miss(struct sim *sim, const sim_event *event);
void sim_hear_join(struct sim *sim, const sim_event *event);
/** p tells that an operation failed because of lost nodes: whether there is a reason. */
void sim_check_loss(struct sim *sim, int p, const dcli_operation *operation);
/** Whether an operation needs a node of which the host knows that it is lost. */
bool sim_needs_lost(const struct sim *sim, const dcli_operation *operation);

#endif
