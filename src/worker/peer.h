/* worker/peer.h - the insides of a worker, shared by its files. */
#ifndef DCLI_WORKER_PEER_H
#define DCLI_WORKER_PEER_H

#include <pthread.h>
#include <stdatomic.h>

#include "net/buffers.h"
#include "net/keys.h"
#include "store/store.h"
#include "worker/board.h"
#include "worker/catalog.h"
#include "worker/chunks.h"
#include "worker/watch.h"
#include "worker/worker.h"
#include "workqueue/node.h"

/** Why what another process of this host shows cannot be read. */
#define DCLI_NO_ROOM                                                                                                 \
    "no memory, or no descriptor, was left for it; expected a descriptor for every large array; raise the limit of " \
    "open files (`ulimit -n`), or use fewer arrays"

/** Chunks that a node writes to another one before they are committed. */
enum { DCLI_WINDOW_CHUNKS = 4 };

/** A batch whose kernels were launched and have not been seen to end. */
typedef struct dcli_running {
    dcli_entry *entry;
    int64_t operation, batch;
    int64_t kernel; /* number of the body */
    uint64_t ticket;
    dcl_status status;           /* not DCL_OK: it could not be started as a whole */
    dcli_memory *arena, *report; /* released when it has ended; NULL: none */
    dcli_slot *report_slot;      /* where the report goes, on devices with memory of their own */
    const dcli_lowered *passes;  /* what the host copies out of the arena when the kernels have ended; NULL: nothing */
    bool passes_to_parts;        /* some of that goes to own parts: until then nothing may touch these */
    int64_t elements, units;     /* it is timed: of so many elements, on so many compute units; 0: it is not */
} dcli_running;

/** A pack or commit that was begun, on a device with memory of its own, and not seen to end. */
typedef struct dcli_moving {
    dcli_entry *entry;
    bool written; /* a commit; else a pack */
    int peer;
    int64_t chunk;     /* number in the plan that the action names */
    dcli_slot *slot;   /* pack: where the chunk goes */
    uint64_t ticket;   /* commit: of its last command */
    dcl_status status; /* it could not be begun */
} dcli_moving;

/** What RUN became of. */
typedef enum dcli_start {
    DCLI_START_ENDED,  /* it is over */
    DCLI_START_RUNS,   /* it is in worker->running */
    DCLI_START_NOT_YET /* nothing was done: it would have to wait */
} dcli_start;

/** News of a loss. */
typedef struct dcli_loss {
    bool due;
    char seen[255]; /* how it was noticed */
} dcli_loss;

/** Host: a message RISEN that is kept until all notices that it counts have come. */
typedef struct dcli_held_risen {
    bool is_held;
    dcli_msg_risen risen; /* its notices are owned */
} dcli_held_risen;

/** Host, with a tree: messages RISEN of a child that wait for notices. `oldest` is taken first, so that marks go on while later
 *  operations report; `newest` replaces all that came after it. */
typedef struct dcli_rising {
    dcli_held_risen oldest, newest;
    int64_t notices; /* FAILED and REPORT of this node itself that have come */
} dcli_rising;

/** Watermarks of a node and of all below it. */
typedef struct dcli_risen {
    int64_t done, ready;
} dcli_risen;

/** Host: what is said of a node. */
typedef struct dcli_doubt {
    int64_t due_ns;  /* when it is given up as its connection to the host has ended; 0: that is there */
    char seen[255];  /* how that was noticed */
    bool is_accused; /* some node cannot reach it */
    char told[255];  /* by which sentence; or by its own, that it cannot reach others */
    int parties;     /* nodes that it has been at odds with since the session began */
} dcli_doubt;

/** Host: what is not decided yet; see doubts.h. */
typedef struct dcli_doubts {
    dcli_doubt *node; /* [node_count] */
    bool *at_odds;    /* [node_count][node_count], low number first: two that are there and cannot reach each other */
    int64_t gathered_ns; /* when it is decided which of them are given up; 0: none are at odds */
    int64_t next_ns;     /* when there is something to decide; INT64_MAX: nothing */
} dcli_doubts;

/** A queue from the threads of the program to the host's worker. */
typedef struct dcli_outbox {
    pthread_mutex_t lock; /* what follows */
    dcli_loss *loss;      /* [node_count], made with the worker: telling of a loss needs no memory */
    int losses_due;
    struct dcli_posted *first, *last;
    int64_t operations; /* descriptors queued */
    bool stop, asleep;
    bool held; /* more is being queued that is to be taken at once */
} dcli_outbox;

/** Host: what all nodes are asked, one question at a time. */
struct dcli_question {
    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    bool asking, all;
    bool stopped; /* dcli_host_stop_asking(): nobody waits any more */
    int64_t number;
    int answers;
    bool *answered; /* [node_count] */
};

/** What only the host's worker has. Used by its thread, but for what says otherwise. */
typedef struct dcli_as_host {
    dcli_outbox outbox;            /* by all threads of the program, too */
    struct dcli_question question; /* the same */
    dcli_doubts doubts;
    int64_t marks_told[2];              /* own watermarks the runtime knows */
    char (*word_keys)[DCLI_KEY_HEX];    /* [node_count] of tags; NULL: not needed yet, or never */
    struct dcli_said *said, *last_said; /* what may not have reached everyone yet; see tree.h */
    dcli_rising *rising;                /* [node_count]; NULL: none yet */
    _Atomic int64_t turns;              /* of its loop; read by who asks whether it lives, as the next three */
    atomic_bool resting;                /* it waits for messages */
    _Atomic int64_t planning_ms;        /* since when it plans, by CLOCK_MONOTONIC; 0: it does not */
    int64_t turns_seen;                 /* by who asks */
    atomic_bool abandoned;              /* dcli_host_abandon(): set by any thread */
} dcli_as_host;

/** What only a node's worker has. Used by its thread alone. */
typedef struct dcli_as_node {
    dcli_device *device;
    dcli_memory *nothing;  /* stands where a kernel argument has no elements */
    dcli_running *running; /* [running_first .. running_count) */
    int64_t running_first, running_count, running_capacity;
    int64_t passing;     /* running batches that still have to copy to own parts */
    bool measuring;      /* one of these is timed */
    dcli_moving *moving; /* [moving_count] in the order they were begun */
    int64_t moving_count, moving_capacity;
    dcli_action held;         /* the action that cannot be started yet; no operation: none */
    int64_t spin_end_ns;      /* until then the device is asked again and again; 0: it is not waited for */
    int64_t asked;            /* how often in a row the device was asked whether its kernels have ended */
    struct dcli_shown *shown; /* [shown_count] memory that others know, by rising numbers; shown.c */
    int64_t shown_count, shown_capacity;
    dcli_memory **kept_back; /* [kept_back_count] parts of released arrays that a lost thread may still read */
    int64_t kept_back_count, kept_back_capacity;
    int64_t allocations, fault_at; /* for tests: which allocation of storage fails, 0: none */
    dcli_received *waiting; /* [waiting_count] descriptors of members that have not been heard of yet, in order */
    int64_t waiting_count, waiting_capacity, waiting_bytes;
    dcli_msg_marks host_marks; /* what the host is to hear next */
    bool host_due;
    int64_t busy_steps;    /* steps of the loop that found messages */
    int64_t notices;       /* FAILED and REPORT that were sent to the host */
    int64_t *notices_of;   /* [node_count] the same of those below, as children say; NULL: none yet */
    dcli_risen told_risen; /* what the parent was told last, */
    int64_t told_notices;  /* and the sum of the notices told with it */
} dcli_as_node;

/** What both have: a peer of the session. One of `as_host` and `as_node` is there. */
struct dcli_worker {
    dcli_worker_terms terms;
    bool is_host;
    dcli_as_host *as_host; /* NULL: a node */
    dcli_as_node *as_node; /* NULL: the host */
    dcli_plan_terms plan_terms;
    pthread_t thread;
    dcli_endpoint *endpoint;
    dcli_commons *commons; /* of the terms, or its own */
    dcli_catalog catalog;
    dcli_node *node;
    dcli_chunks received, made;
    dcl_counters counters;
    int64_t count_messages; /* messages that ask for counters, or tell them: these are not counted */
    bool started, stopping;
    dcl_status broken; /* this worker cannot go on */
    bool *absent;      /* [node_count + 1] numbers that nobody had when this was opened */
    bool *gone;        /* [node_count + 1] nodes that are lost, or not there yet */
    int64_t epoch;     /* grows with every loss and join */
    dcli_risen *risen; /* [node_count] what children say; NULL: none yet */
};

/* What the loop does for an action; node.c of the workqueue room names them. act.c, exec.c, host.c. */

dcl_status dcli_perform(dcli_worker *worker, const dcli_action *action);
/** A chunk for a peer was packed into `bytes` (taken over), or it failed: send it, and tell the state machine. */
dcl_status dcli_peer_packed(dcli_worker *worker, dcli_entry *entry, int peer, int64_t chunk, void *bytes,
                            dcl_status status);
/** Keep this thread's error as what is wrong with an operation. */
void dcli_keep_problem(dcli_entry *entry);
/** This worker cannot go on: say so once; from now on it only waits for the end. */
void dcli_break_down(dcli_worker *worker, dcl_status status);
/** Node: send the host the watermarks that are due. */
dcl_status dcli_tell_host(dcli_worker *worker);
/** What to do about a message. Empties `received` where it keeps it. hear.c. */
dcl_status dcli_hear(dcli_worker *worker, dcli_received *received);
/** Node: members have changed: take the descriptors that waited for it. */
dcl_status dcli_hear_waiting(dcli_worker *worker);

/** RUN. */
dcl_status dcli_exec_run(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out);
/** PACK: chunk `number` of a peer's plan into fresh memory of its bytes, or started on its way to a slot. exec_chunk.c.
 *  @param bytes_out, slot_out  one of them, the other NULL. */
dcl_status dcli_exec_pack(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number, void **bytes_out,
                          dcli_slot **slot_out);
/** COMMIT of a received chunk of a peer's plan: over, or (on devices with memory of their own) started, when it returns. */
dcl_status dcli_exec_commit(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number,
                            const dcli_kept_chunk *received);
/** Batches whose kernels have ended: tell the state machine. */
dcl_status dcli_exec_collect(dcli_worker *worker);

/* What was begun and has not ended, and what cannot begin yet. pending.c. */

/** Note a pack or commit that was begun. @return DCL_ERR_NOMEM: it is not noted. */
dcl_status dcli_pending_add(dcli_as_node *own, const dcli_moving *moving);
/** Send what has been packed, and tell the state machine what has ended. */
dcl_status dcli_pending_collect(dcli_worker *worker);
/** Whether this action would have to wait for the device if it were started now. */
bool dcli_pending_must_wait(dcli_worker *worker, const dcli_action *action);
/** The same of a batch of a loop body. @param lowered  of this batch */
bool dcli_pending_batch_must_wait(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                                  const dcli_batch *batch, const dcli_lowered *lowered);
/** Keep an action until it can be started. */
void dcli_pending_hold(dcli_worker *worker, const dcli_action *action);
/** Let the state machine know whether memory may be touched. */
void dcli_pending_set_hold(dcli_worker *worker);
/** Give back what packs hold. */
void dcli_pending_free(dcli_as_node *own);

/** A batch of a FORALL. */
dcl_status dcli_exec_forall(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out);
/** Whether all that a batch brings to the host is there, once its kernels have ended. */
bool dcli_exec_has_fetched(dcli_worker *worker, const dcli_running *running);
/** The end of a batch: release what it held, pass on what it reported and made. @return how it ended. */
dcl_status dcli_exec_end_forall(dcli_worker *worker, dcli_running *running);
/** Send the report of a batch to the host, if there is one. exec_report.c. */
void dcli_exec_pass_report(dcli_worker *worker, const dcli_running *running);
/** Tell the watchdog what the device computes now. */
void dcli_exec_watch(dcli_worker *worker);
/** `kernel`, if all kernels that run are of the body with this number; 0: others run, too. */
int64_t dcli_exec_only_kernel(const dcli_as_node *own, int64_t kernel);
/** Compile the kernel for this worker's device if that has not been done. @return DCL_OK, or what it gave before. */
dcl_status dcli_exec_build(dcli_worker *worker, dcli_kernel *kernel);
/** The elements of a chunk that a batch reads; NULL, with DCL_OK: they are not there. exec_chunk.c.
 *  @return DCL_ERR_NOMEM: why they were not kept. */
dcl_status dcli_exec_payload(const dcli_worker *worker, const dcli_entry *entry, const dcli_chunk *chunk,
                             const char **payload_out);
/** Launch a variant of it, as dcli_device_launch(). A launch that has returned is a sign of life. */
dcl_status dcli_exec_launch(dcli_worker *worker, dcli_kernel *kernel, dcli_variant variant, int count,
                            const dcli_argument arguments[], int dimensions, const size_t global[],
                            const size_t local[]);

/** What is in the stages and replicas of a batch before it runs. exec_stage.c.
 *  @param stage_at  [batch->stage_count] where each lies in the arena, bytes; NULL: all are replicas. */
dcl_status dcli_exec_fill_stages(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                                 const dcli_batch *batch, const int64_t stage_at[], const dcli_routes *routes,
                                 dcli_memory *arena);
/** Another node's part of a storage as kernels here see it; for devices that use host memory in place. */
dcl_status dcli_exec_peer_memory(dcli_worker *worker, dcli_held *held, int node, dcli_memory **memory_out);
/** This node's copy behind a stage. @return DCL_OK, or why it is not there: the operation that should have filled it did not
 *  run to its end. */
dcl_status dcli_exec_copy(dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage, dcli_memory **out);
/** Wait for batches that hold memory of stages, and give that back. How they ended is found when they are collected. */
void dcli_exec_await_arenas(dcli_as_node *own);
/** A batch of a MOVE; complete when it returns. */
dcl_status dcli_exec_move(dcli_worker *worker, dcli_entry *entry, int64_t batch);

typedef dcl_status dcli_create_fn(dcli_device *device, size_t bytes, dcli_memory **memory_out);
/** New memory. @param what  it is for: for the watchdog, and for people. @param make  one of dcli_memory_create...(). */
dcl_status dcli_exec_create(dcli_worker *worker, size_t bytes, const char *what, dcli_create_fn *make,
                            dcli_memory **memory_out);
/** Give a storage its memory if it has none. */
dcl_status dcli_exec_allocate(dcli_worker *worker, dcli_held *held);

/** RUN at the host: READ, WRITE. */
dcl_status dcli_host_run(dcli_worker *worker, dcli_entry *entry, int64_t batch);
/** Take what the program has queued. *stop_out: nothing more will come. */
dcl_status dcli_host_take(dcli_worker *worker, bool *stop_out);
/** Say that the host's worker is about to sleep: the next queued item wakes it. @return false when one is there. */
bool dcli_host_may_sleep(dcli_worker *worker);
dcl_status dcli_host_open(dcli_worker *worker);
void dcli_host_close(dcli_worker *worker);

/** Feed a descriptor to the state machine. `lent`, `strides`: host, READ and WRITE. */
dcl_status dcli_peer_operation(dcli_worker *worker, const dcli_msg_operation *descriptor, dcli_lent *lent,
                               const int64_t strides[]);
dcl_status dcli_peer_send(dcli_worker *worker, int to, dcli_message *message, dcli_payload *payload);
/** Counters as they go into marks: [DCLI_MSG_COUNTERS]. */
void dcli_peer_counters(const dcli_worker *worker, int64_t counters_out[]);

/** Elements of an operand, in bytes. */
static inline size_t dcli_operand_bytes(const dcli_entry *entry, int operand)
{
    return dcli_element_bytes(&entry->operation, operand);
}

#endif
