/* worker/peer.h - internals of a worker, shared by its files. */
#ifndef DCLI_WORKER_PEER_H
#define DCLI_WORKER_PEER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/trace.h"
#include "net/buffers.h"
#include "net/keys.h"
#include "store/store.h"
#include "worker/address_table.h"
#include "worker/catalog.h"
#include "worker/chunks.h"
#include "worker/claims.h"
#include "worker/turn.h"
#include "worker/watch.h"
#include "worker/worker.h"
#include "workqueue/node.h"

/** Error text: why memory of another process of this host cannot be read. */
#define DCLI_NO_ROOM                                                                                                 \
    "no memory, or no descriptor, was left for it; expected a descriptor for every large array; raise the limit of " \
    "open files (`ulimit -n`), or use fewer arrays"

/** Maximum number of uncommitted chunks from one node to another: as many as take 16 MB, to keep a link busy; at least
 *  4, at most 16. */
static inline int64_t dcli_window_chunks(const dcl_config *config)
{
    const size_t least = 4, most = 16, bytes = 16 << 20;
    size_t chunks = bytes / config->chunk_bytes;
    return (int64_t)(chunks < least ? least : chunks > most ? most : chunks);
}

static inline int64_t dcli_window_bytes(const dcl_config *config)
{
    return dcli_window_chunks(config) * (int64_t)config->chunk_bytes;
}

/** Times of a running batch; kept only if its node is traced. */
typedef struct dcli_traced_batch {
    int64_t launched_ns;            /* when its launch began */
    int64_t begin_ns, end_ns;       /* begin of its first and end of its last timed kernel so far, by the device's clock
                                 converted to ours; 0: none is timed yet */
    uint64_t first_ticket;          /* ticket of its first command */
    int64_t launches;               /* number of its launches; while it is being launched, the counter before its first
                                 launch */
    struct dcli_traced_batch *next; /* the next one that is not in use */
} dcli_traced_batch;

/** What is needed to run a batch: its plan, and the chunks that it uses. */
typedef struct dcli_job {
    dcli_entry *entry;
    const dcli_plan *plan;
    const dcli_batch *batch;        /* the batch, in `plan` */
    dcli_chunks *received, *made;   /* the chunks that it reads, and those that it makes */
    struct dcli_borrowed *borrowed; /* the batch is another node's (stealing.h); NULL: it is this node's own */
} dcli_job;

#define DCLI_NOT_LAUNCHED UINT64_MAX

/** A batch whose kernels were launched and are not known to have ended. */
typedef struct dcli_running {
    dcli_job job;
    int64_t operation, batch;
    int64_t more;                /* number of the batches after `batch` that are launched with it */
    int64_t kernel;              /* number of the body */
    uint64_t ticket;             /* ticket of its last command: it has ended when that has. DCLI_NOT_LAUNCHED: it waits
                                    in a series */
    uint64_t crossing;           /* ticket of the last command that reads its chunks; 0: none does */
    dcl_status status;           /* not DCL_OK: starting it failed; some of its kernels may run */
    dcli_memory *arena, *report; /* memory of its stages, and of its report of stray accesses; released when it has
                                    ended; NULL: none */
    dcli_slot *report_slot;      /* slot that receives the report, on devices with memory of their own */
    const dcli_lowered *passes;  /* the lowered batch whose outputs the host copies out of the arena when the kernels
                                    have ended; NULL: there is nothing to copy */
    bool passes_to_parts;        /* some of these outputs go to own parts, which nothing may access until then */
    int64_t elements, units;     /* if it is timed: its elements, and the compute units that it used; 0: it is not
                                    timed */
    int sum;                     /* if it is timed: the sum of the device to which its time is added */
    int64_t expected_ns;         /* predicted time on the device; 0: it is not known, or the session does not lend */
    struct dcli_steps *steps;    /* last batch of a series: the table of its steps; else NULL */
    bool in_series;              /* it is one of a series */
    dcli_traced_batch *traced;   /* NULL: the node is not traced */
} dcli_running;

/** A pack, commit or other operation that was started on a device with memory of its own and is not known to have
 *  ended, by kind. */
typedef enum dcli_moving_kind {
    DCLI_MOVING_PACK,
    DCLI_MOVING_COMMIT,
    DCLI_MOVING_RUN, /* GPUs that read each other's memory: a MOVE, or another operation, except a loop body, whose part
                        the device still writes */
    DCLI_MOVING_KINDS
} dcli_moving_kind;

typedef struct dcli_moving {
    dcli_entry *entry;
    dcli_moving_kind kind;
    int peer;
    int64_t chunk;     /* number in the plan that the action names; run: of the batch */
    int64_t more;      /* run: batches that end with it */
    dcli_slot *slot;   /* pack: the slot that receives the chunk; NULL: the chunk is sent empty, with `status` */
    uint64_t ticket;   /* commit, run: ticket of its last command */
    dcl_status status; /* not DCL_OK: nothing was started, for this reason */
    int64_t began_ns;  /* dcli_trace_begin() */
} dcli_moving;

/** What became of a RUN action. */
typedef enum dcli_start {
    DCLI_START_ENDED,  /* the action has ended already */
    DCLI_START_RUNS,   /* started: listed in as_node->running, or in as_host->copying */
    DCLI_START_NOT_YET /* nothing was done, because it would have to wait for the device */
} dcli_start;

/** A node that was reported as lost to the host's worker. */
typedef struct dcli_loss {
    bool due;       /* the host's worker has not handled it yet */
    char seen[255]; /* how the loss was noticed */
} dcli_loss;

/** Host: a RISEN message that is kept until all notices that it counts have arrived. */
typedef struct dcli_held_risen {
    bool is_held;
    dcli_msg_risen risen; /* its notices are owned */
} dcli_held_risen;

/** Host, with a tree: RISEN messages of a child that wait for notices. `oldest` is applied first, so that watermarks
 *  advance while later operations report; `newest` replaces all that came after it. */
typedef struct dcli_rising {
    dcli_held_risen oldest, newest;
    int64_t notices; /* number of FAILED and REPORT received from this node itself */
} dcli_rising;

/** Watermarks of a node and of all nodes below it in the tree. */
typedef struct dcli_risen {
    int64_t done, ready;
} dcli_risen;

/** Host: what is known against a node that may be lost. */
typedef struct dcli_doubt {
    int64_t due_ns;  /* the time at which it is declared lost because its connection to the host has ended; 0: it is
                        connected */
    char seen[255];  /* how that was noticed */
    bool is_accused; /* some node cannot reach it */
    char told[255];  /* the error text of the report about it, or of its own report that it cannot reach another node */
    int at_odds;     /* number of nodes with which there are complaints now */
    int parties;     /* number of nodes with which there were complaints since the session began */
} dcli_doubt;

/** Host: a copy that helpers make; see copying.c. */
typedef struct dcli_copying dcli_copying;

/** Host: reports of lost connections that are not decided yet; see suspects.h. */
typedef struct dcli_suspects {
    dcli_doubt *node;    /* [node_count] what is suspected of each node */
    bool *at_odds;       /* [node_count * node_count] for each pair, by its lower and then its higher number: one of
                            the two has reported that it cannot reach the other */
    int64_t gathered_ns; /* the time at which the reports are decided; 0: there are none */
    int64_t next_ns;     /* time of the next decision; INT64_MAX: none */
} dcli_suspects;

/** A queue from the threads of the program to the host's worker. */
typedef struct dcli_outbox {
    pthread_mutex_t lock; /* guards the fields below */
    dcli_loss *loss;      /* [node_count], allocated in advance: reporting a loss needs no memory */
    int losses_due;       /* number of entries of `loss` that are due */
    struct dcli_posted *first, *last;
    bool stop;    /* dcli_host_stop() was called */
    bool asleep;  /* the host's worker sleeps, or is about to: whoever queues an item wakes it */
    int deferred; /* operations in the queue whose callers are about to call dcli_host_push() */
    bool held;    /* more items are being queued, and all must be taken together */
} dcli_outbox;

/** Host: the current question to all nodes; one at a time. */
struct dcli_question {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    bool asking;  /* a thread waits for answers */
    bool all;     /* all answers so far were yes */
    bool stopped; /* dcli_host_stop_asking() was called: nobody waits any more */
    int64_t number;
    int answers;
    bool *answered; /* [node_count] nodes that have answered this question */
};

/** The part of a worker that only the host's has. Used by the thread that serves it, unless noted otherwise. */
typedef struct dcli_as_host {
    dcli_turn turn;                /* also used by all threads of the program */
    dcli_outbox outbox;            /* also used by all threads of the program */
    struct dcli_question question; /* also used by all threads of the program */
    dcli_suspects suspects;
    int64_t marks_told[2];              /* own watermarks, done and ready, as last reported to the runtime */
    char (*word_keys)[DCLI_KEY_HEX];    /* [node_count] keys for the tags of forwarded messages; NULL: not needed
                                           yet, or never */
    struct dcli_said *said, *last_said; /* messages that may not have reached everyone yet; see tree.h */
    dcli_rising *rising;                /* [node_count]; NULL: none yet */
    _Atomic int64_t turns;              /* turns of its loop; like the next two, read by the thread that checks its
                                           progress */
    atomic_bool resting;                /* the loop waits for messages */
    _Atomic int64_t planning_ms;        /* start of the current planning, by CLOCK_MONOTONIC; 0: it does not plan */
    int64_t turns_seen;                 /* `turns` at the last dcli_host_is_alive(); used by the caller of that only */
    atomic_bool abandoned;              /* dcli_host_abandon() was called, by any thread */
    dcli_copying *copying;              /* list of running copies, in the order of their start */
} dcli_as_host;

enum { DCLI_MOST_REPORTS = 8 }; /* most report memories that a node retains */

/** The part of a worker that only a node's has. Used by its thread only. */
/** A part that nodes of this host may read in place. */
typedef struct dcli_listed_part {
    int64_t number; /* parts are numbered from 1, in the order of their allocation */
    int64_t storage;
} dcli_listed_part;

typedef struct dcli_part_list {
    dcli_listed_part *part; /* [count] sorted by number */
    int64_t count, capacity;
    int64_t last;  /* number of the last part */
    int64_t *told; /* [node_count] number of the last part that was announced to a node; NULL: none yet */
} dcli_part_list;

typedef struct dcli_as_node {
    dcli_device *device;
    dcli_memory *nothing;  /* dummy memory for kernel arguments without elements */
    dcli_claims claims;    /* of launches on a CPU */
    dcli_running *running; /* [running_first .. running_count) are in use */
    int64_t running_first, running_count, running_capacity;
    int64_t copied;                         /* running batches before this one are known to have copied their chunks */
    dcli_memory *report[DCLI_MOST_REPORTS]; /* [report_count] memory for reports that contains zeros */
    int report_count;
    bool window_full;        /* enough batches that could be lent are in the device's queue: window.h */
    int64_t window_parts;    /* number of running batches of which others could be lent, or that are borrowed */
    int64_t window_launches; /* number of launches in the device's queue that leave batches which could be lent */
    int64_t front_since_ns;  /* when the first of the running batches became the first, if the session lends; else 0 */
    uint64_t ended_ticket;   /* ticket of the last running batch that has ended */
    int64_t passing;         /* number of running batches that still have to copy to own parts */
    unsigned measuring;      /* bit n: the time of a running batch is added to sum n of the device */
    struct dcli_series *series;     /* series.h; NULL: this device runs none */
    struct dcli_stealing *stealing; /* stealing.h; NULL: this node neither lends nor asks */
    dcli_moving *moving;            /* [moving_count] in the order of their start */
    int64_t moving_count, moving_capacity;
    dcli_action held;         /* the action that cannot be started yet; .operation NULL: none */
    bool delays;              /* it is held because it may soon be part of a wave: dcli_series_delays() */
    int64_t spin_end_ns;      /* time until which the loop polls the device instead of sleeping; 0: it does not poll */
    int64_t asked_since_ns;   /* the device, a GPU, is being polled, and nothing has ended since this time; 0: it is not
                           polled */
    struct dcli_shown *shown; /* [shown_count] memory that others know, sorted by number; shown.c */
    int64_t shown_count, shown_capacity;
    dcli_part_list parts;    /* parts that others may read in place; shown.c */
    dcli_memory **kept_back; /* [kept_back_count] parts of released arrays, not freed because the hanging thread of a
                                lost node may still read them */
    int64_t kept_back_count, kept_back_capacity;
    int64_t allocations, fault_at; /* for tests: allocations so far, and number of the one that fails; 0: none */
    int64_t results,
        result_fault_at; /* for tests: arrived result chunks of lent batches, and number of the one for which
                                         there is no memory; 0: none */
    int64_t slow_times;  /* for tests: how many times this node launches each batch, as a slower device would need that
                           time; 0: once */
    dcli_received *waiting; /* [waiting_count] descriptors that wait until all their members are known, in order */
    int64_t waiting_count, waiting_capacity, waiting_bytes;
    dcli_msg_marks host_marks; /* watermarks to be sent to the host next */
    bool host_due;
    int64_t host_told_ns;   /* when they were last sent */
    int64_t busy_steps;     /* turns of the loop in which messages were received */
    int64_t notices;        /* number of FAILED and REPORT that were sent to the host */
    int64_t *notices_of;    /* [node_count] the same for nodes below, as reported by children; NULL: none yet */
    dcli_node_list noticed; /* the nodes for which that is not 0 */
    dcli_risen told_risen;  /* watermarks in the last report to the parent; .done -1: report even if nothing changed */
    int64_t told_notices;   /* sum of the counts of notices in that report */
    dcli_trace_event wait;  /* traced: what the node waits for now; .begin_ns 0: for nothing */
    int64_t computed_ns;    /* traced: when the last batch was seen to have ended */
    int64_t timed;          /* traced: index in `running` of the batch whose launch was seen last to be complete */
    dcli_traced_batch *traced_spare; /* notes that are not in use, linked by `next` */
} dcli_as_node;

/** A worker: a peer of the session. Either `as_host` or `as_node` is set. */
struct dcli_worker {
    dcli_worker_terms terms;
    bool is_host;
    dcli_as_host *as_host; /* what only the host's worker has; NULL: this worker is a node's */
    dcli_as_node *as_node; /* what only a node's worker has; NULL: this worker is the host's */
    dcli_plan_terms plan_terms;
    pthread_t thread;
    dcli_endpoint *endpoint;
    dcli_process_data *process_data; /* that of the terms, or its own */
    dcli_catalog catalog;
    dcli_node *node;
    dcli_chunks received, made; /* chunks that were received and not used yet; made and not sent yet */
    dcl_counters counters;      /* except messages_sent and bytes_sent, which the endpoint counts */
    int64_t count_messages;     /* messages that request counters or traces, or contain them: not counted in
                                   messages_sent */
    int64_t planning_ns;        /* if it is traced: when the current planning began; 0: it does not plan */
    bool started;               /* it has a thread of its own */
    bool stopping;              /* the loop ends after this turn */
    dcl_status broken;          /* DCL_OK, or why this worker cannot continue */
    bool *absent;               /* [node_count + 1] numbers that no node had when this worker was opened */
    bool *gone;                 /* [node_count + 1] nodes that are lost or have not joined */
    int64_t epoch;              /* increases with every loss and join */
    dcli_risen *risen;          /* [node_count] last reports of children; NULL: none yet */
};

/* Carry out an action of the state machine, or store it if it would have to wait for the device. act.c. */

dcl_status dcli_perform(dcli_worker *worker, const dcli_action *action);
/** Send a chunk for a peer after it was packed, and inform the state machine. Its data is in a buffer or in a lent
 *  slot, which is taken over. Collects the batches that have ended first: if packing or the batch that made the data
 *  has failed, the chunk is sent empty and carries a status. */
dcl_status dcli_peer_packed(dcli_worker *worker, dcli_entry *entry, int peer, int64_t chunk, void *bytes,
                            dcli_slot *slot, dcl_status status);
/** dcli_payload.release of a buffer of dcli_buffers_take(), and of a slot, which is `user`. */
void dcli_peer_free_buffer(void *bytes, void *user);
void dcli_peer_free_slot(void *bytes, void *user);
/** Store this thread's error as the operation's error text, unless it has one. */
void dcli_keep_problem(dcli_entry *entry);
/** Report once that this worker cannot continue, to the runtime or to the host; from now on it only waits for the
 *  end. */
void dcli_break_down(dcli_worker *worker, dcl_status status);
/** Node: send the watermarks that are due to the host or, with a tree, to its parent. */
dcl_status dcli_tell_host(dcli_worker *worker);
/** Handle a message. Empties `received` if it keeps the message. hear.c. */
dcl_status dcli_hear(dcli_worker *worker, dcli_received *received);
/** Node: handle the descriptors that were waiting, after members have changed. */
dcl_status dcli_hear_waiting(dcli_worker *worker);

/** RUN: start a batch of an operation; a node first allocates the parts that it needs. exec.c. */
dcl_status dcli_exec_run(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out);
/** PACK: pack chunk `number` of a peer's plan into new memory, or start copying it into a slot. exec_chunk.c. @param
 *  bytes_out, slot_out  one of them is set. */
dcl_status dcli_exec_pack(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number, void **bytes_out,
                          dcli_slot **slot_out);
/** COMMIT: copy a received chunk of a peer's plan to the parts: complete on return, or (on devices with memory of their
 *  own) started. */
dcl_status dcli_exec_commit(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number,
                            dcli_stored_chunk *received);
/** End the batches whose kernels have ended, in order, and inform the state machine. */
dcl_status dcli_exec_collect(dcli_worker *worker);
/** Tell the watchdog what the device does now: the kernel that runs, or else copies that were started. */
void dcli_exec_watch(dcli_worker *worker);

/* ---- actions that were started and have not ended, and actions that cannot start yet (pending.c) ---- */

/** Record an action that was started on the device. */
dcl_status dcli_pending_add(dcli_worker *worker, const dcli_moving *moving);
/** Whether a peer can read the slots of this node: it is a thread of this process, and either the host, or DCL_TRANSFER
 *  allows it. */
bool dcli_peer_sees_slots(const dcli_worker *worker, int peer);
/** Free a received chunk, at once or when the device does not read it any more. NULL is accepted. */
void dcli_pending_drop(dcli_worker *worker, dcli_stored_chunk *chunk);
/** Send chunks whose packing has ended, and report to the state machine which packs, commits and other operations have
 *  ended. */
dcl_status dcli_pending_collect(dcli_worker *worker);
/** Whether this action would have to wait for the device if it were started now: for a slot or, on a device that works
 *  in host memory, for running batches that use the same memory. False for loop bodies: see the next function. */
bool dcli_pending_must_wait(dcli_worker *worker, const dcli_action *action);
/** Whether a batch of a loop body cannot be started now: the stages of running batches take too much memory; or slots
 *  are short; or, on a device that works in host memory, running batches use what the host would copy before this one.
 *  @param lowered  of this batch. */
bool dcli_pending_batch_must_wait(dcli_worker *worker, const dcli_job *job, const dcli_lowered *lowered);
/** Store an action until it can be started. */
void dcli_pending_hold(dcli_worker *worker, const dcli_action *action);
/** Tell the state machine whether actions may touch memory: not while an action is held, or outputs of running batches
 *  must still be copied to own parts. */
void dcli_pending_update_hold(dcli_worker *worker);
/** Forget all started actions: release the slots of packs. */
void dcli_pending_free(dcli_as_node *own);

/** Start a batch of a FORALL; DCLI_START_NOT_YET: it would have to wait. exec_forall.c. */
dcl_status dcli_exec_forall(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out);
/** Start a batch of another node. DCLI_START_NOT_YET: it would have to wait. */
dcl_status dcli_exec_borrowed(dcli_worker *worker, struct dcli_borrowed *borrowed, dcli_start *start_out);
/** Whether everything that a batch copies to the host has arrived, once its kernels have ended. */
bool dcli_exec_has_fetched(const dcli_running *running);
/** End a batch: release what it held, pass on its report and its outputs. @return its result. */
dcl_status dcli_exec_end_forall(dcli_worker *worker, dcli_running *running);
/** Take memory for the report of a batch; it contains zeros. exec_report.c. @return DCL_OK, DCL_ERR_NOMEM or
 *  DCL_ERR_DEVICE. */
dcl_status dcli_exec_take_report(dcli_as_node *own, dcli_memory **report_out);
/** Release the report memories that are retained. */
void dcli_exec_drop_reports(dcli_as_node *own);
/** Send the report of an ended batch to the host if it found a stray access. Its memory is retained for another batch
 *  if it certainly contains zeros and fewer than DCLI_MOST_REPORTS are retained; otherwise it is released. @return
 *  whether it found one. Of a borrowed batch nothing is sent: its owner runs it again, and reports. */
bool dcli_exec_end_report(dcli_worker *worker, const dcli_running *running);
/** `kernel`, if all running batches are of the body with this number, or none runs; 0: batches of other bodies run,
 *  too. */
int64_t dcli_exec_only_kernel(const dcli_as_node *own, int64_t kernel);
/** Compile the kernel for this worker's device, if not done yet. If the device then has many programs, those of other
 *  bodies that were not used for longest are released. @return DCL_OK; DCL_ERR_BODY, also at every later call; or
 *  another error, after which the next call tries again. */
dcl_status dcli_exec_build(dcli_worker *worker, dcli_kernel *kernel);
/** Record that this thread compiles from now on, or waits for a compiler: this counts towards DCL_BUILD_MS, and not as
 *  silence. @param kernel  the body to blame if that takes too long; 0: none. @return for dcli_exec_end_building(). */
int64_t dcli_exec_begin_building(dcli_worker *worker, int64_t kernel, const char *text);
void dcli_exec_end_building(dcli_worker *worker, int64_t began_ns);
/** Begin to compile a body in a thread of its own. Its first launches then need not generate code. @return NULL: there is
 *  no memory, or no thread. */
dcli_compiling *dcli_exec_compile(dcli_worker *worker, const dcli_kernel *kernel);
/** Record how many compilations go on in other threads: before one begins, after a program was taken, and before each
 *  launch, as a compiler may have ended long before its program is taken. @param begin  number of those that are about
 *  to begin. */
void dcli_exec_watch_beside(dcli_worker *worker, int begin);
/** Take over the program of a body that dcli_exec_compile() was called for. @param kernel  NULL: the body was evicted.
 *  @param program  NULL: compiling has failed */
void dcli_exec_compiled(dcli_worker *worker, dcli_kernel *kernel, dcli_program *program);
/** Get the elements of a received chunk that a batch reads; NULL, with DCL_OK: there are none. exec_chunk.c. @return
 *  DCL_ERR_NOMEM: they were not stored; the sentence says why. */
dcl_status dcli_exec_payload(const dcli_job *job, const dcli_chunk *chunk, dcli_stored_chunk **kept_out,
                             const char **payload_out);
/** Launch a variant of a kernel, as dcli_device_launch(). A launch that has returned counts as progress. */
dcl_status dcli_exec_launch(dcli_worker *worker, dcli_kernel *kernel, dcli_variant variant, int count,
                            const dcli_argument arguments[], int dimensions, const size_t global[],
                            const size_t local[]);

/** Fill the stages and replicas of a batch before it runs. exec_stage.c. @param stage_at  [batch->stage_count] offsets
 *  in the arena, bytes; NULL: all are replicas. */
dcl_status dcli_exec_fill_stages(dcli_worker *worker, const dcli_job *job, const int64_t stage_at[],
                                 const dcli_routes *routes, dcli_memory *arena);
/** Get another node's part of a storage as memory for kernels: host memory used in place, or imported memory of another
 *  GPU. */
dcl_status dcli_exec_peer_memory(dcli_worker *worker, dcli_known_storage *held, int node, dcli_memory **memory_out);
/** Get the memory of a stage that is a replica of this node; that of a new replica is allocated first. @return DCL_OK;
 *  DCL_ERR_INVALID: there is none, because the operation that should have filled it has failed; or an error of
 *  dcli_exec_create(). */
dcl_status dcli_exec_replica(dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage, dcli_memory **out);
/** Release the memory of the stages of running batches, unless the host must still copy from it. On devices that work
 *  in host memory this waits for their kernels. The results are taken when the batches are collected. */
void dcli_exec_release_arenas(dcli_as_node *own);
/** What a batch of this node's own plan is run from. */
static inline dcli_job dcli_own_job(dcli_worker *worker, dcli_entry *entry, int64_t batch)
{
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    return (dcli_job){.entry = entry,
                      .plan = plan,
                      .batch = &plan->batch[batch],
                      .received = &worker->received,
                      .made = &worker->made};
}
/** Run a batch of a MOVE: complete on return or, on devices with memory of their own, queued before all later
 *  commands. */
dcl_status dcli_exec_move(dcli_worker *worker, dcli_entry *entry, int64_t batch);

typedef dcl_status dcli_create_fn(dcli_device *device, size_t bytes, dcli_memory **memory_out);
/** Allocate memory. @param what  the purpose, for the watchdog and for error texts. @param make  one of
 *  dcli_memory_create...(). */
dcl_status dcli_exec_create(dcli_worker *worker, size_t bytes, const char *what, dcli_create_fn *make,
                            dcli_memory **memory_out);
/** Allocate the memory of a storage's part, if it has none; then enter it in the address table, and announce it to the
 *  nodes that read it in place. */
dcl_status dcli_exec_allocate(dcli_worker *worker, dcli_known_storage *held);

/** Run a batch of a READ or WRITE operation at the host. @param start_out  DCLI_START_ENDED at the call; set to
 *  DCLI_START_RUNS if helper threads copy. */
dcl_status dcli_host_run(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out);
/** Handle reported losses of nodes, and send what the program has queued, unless its queue is held (dcli_host_hold()).
 *  *stop_out: the program will queue nothing more. */
dcl_status dcli_host_take(dcli_worker *worker, bool *stop_out);
/** Announce that the host's worker is about to sleep: the next queued item wakes it. @return false if there is an item
 *  already. */
bool dcli_host_may_sleep(dcli_worker *worker);
/** By any thread: how many operations of the queue were queued with `defers`; 0 while the queue is held. */
int dcli_host_deferred(dcli_worker *host);
/** By any thread: wake the thread that serves the host's worker, if it sleeps. */
void dcli_host_nudge(dcli_worker *host);
dcl_status dcli_host_open(dcli_worker *worker);
void dcli_host_close(dcli_worker *worker);

/** Pass a descriptor to the state machine. `lent`, `strides`: host, READ and WRITE. @param entry_out  the open operation;
 *  NULL: the descriptor is of a storage from before this node joined. */
dcl_status dcli_peer_operation(dcli_worker *worker, const dcli_msg_operation *descriptor, dcli_lent *lent,
                               const int64_t strides[], dcli_entry **entry_out);
/** Pass operation `number`, which repeats that of a descriptor, to the state machine. @param like  the open operation
 *  that was made from the descriptor; NULL: there is none. */
dcl_status dcli_peer_repeat(dcli_worker *worker, const dcli_msg_operation *descriptor, const dcli_entry *like,
                            int64_t number);
/** Send a message of this session. Nothing is sent to a node that is gone; if nodes are processes, a broken connection
 *  is no error either, because the endpoint reports the loss. Takes over the payload, also on failure. */
dcl_status dcli_peer_send(dcli_worker *worker, int to, dcli_message *message, dcli_payload *payload);
/** Get the counters for a MARKS message: [DCLI_MSG_COUNTERS]. */
void dcli_peer_counters(const dcli_worker *worker, int64_t counters_out[]);

#endif
