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
    dcli_node *node;
    bool step_posted;
    struct sim_task *task; /* [first .. count) */
    int64_t first, count, capacity;
    bool running;        /* task[first] is a batch that has not changed memory yet */
    int64_t done, ready; /* as last told */
    int64_t pool;        /* bytes granted and not dropped */
    int64_t made;        /* bytes made for others and not sent */
    int64_t *granted;    /* [steps * peers] chunks */
};

/* From one peer to another. */
struct sim_channel {
    int64_t last; /* when the last message arrives */
    int64_t slowness;
    int64_t outstanding; /* U chunks without credit */
};

enum { SIM_MAX_FAULTS = 3 };

struct sim {
    const sim_settings *settings;
    sim_figures figures;
    test_random random;
    sim_program *program;
    sim_data data;
    sim_clock clock;
    int peers, host;
    bool *in_place;
    dcli_node_terms terms;
    struct sim_node *node;                /* [peers] */
    struct sim_channel *channel;          /* [peers * peers] */
    int64_t *descriptors;                 /* [peers] when the last descriptor arrives */
    int64_t latency, pause, think, slack; /* most time of a message, of a node, of the program, of a batch */
    bool late_effects;                    /* batches change memory some time after their start */
    int slow;                             /* this node gets descriptors very late */
    int issued;
    int64_t waits_for; /* the program waits for this operation */
    int64_t checked;   /* operations whose end the program has seen */
    struct sim_fault fault[SIM_MAX_FAULTS];
    sim_verdict verdict;
};

static inline int64_t sim_pick(struct sim *sim, int64_t lo, int64_t hi) { return test_between(&sim->random, lo, hi); }

static inline const dcli_operation *sim_operation_of(const struct sim *sim, int64_t number)
{
    return &sim_step_of(sim->program, number)->operation;
}

/** What an event does. */
void sim_happen(struct sim *sim, const sim_event *event);

#endif
