/* workqueue/node.h - the state machine of one peer (a node, or the host). It decides in which order the peer runs
 * batches, sends and receives data, and reports completion.
 *
 * Events go in, actions come out; no I/O, no clock, no threads. The executor of the actions (a worker, or a simulation)
 * carries them out so that their effects on the node's memory are as if done in the given order. The executor may
 * merely start an action; it then reports the end by dcli_node_batch_done() for RUN, and by dcli_node_chunk_done() for
 * PACK and COMMIT.
 *
 * Every peer has two watermarks, which are operation numbers. *done*: all its batches up to this operation have
 * finished reading other nodes' parts in place. *ready*: all its batches up to this operation have ended, and
 * everything that peers write to its parts in them is committed.
 *
 * T chunks carry elements that a plan reads, from their owner to the planned node. U chunks carry elements that a plan
 * writes, from the planned node to their owner.
 *
 * Rules (docs/design.md, docs/model.md): batches start in the order of (operation, batch). A batch starts when its
 * inputs have arrived or, if they are read in place, when their owner is ready, and when no peer still has to read
 * elements that the batch overwrites. Data is packed, and arriving output committed, when all own batches of earlier
 * operations have started. An action waits only for earlier operations, or for data of the same operation, which itself
 * waits only for earlier ones; so there is no deadlock.
 *
 * Members join and are lost. No peer waits for, or sends to, a peer that is lost or has not joined: the watermarks of
 * such a peer count as infinite. DCL_ERR_NODE_LOST is the result of every operation that names an array with a part on
 * the lost node and has not ended here, and of every later such operation, even one that overwrites the array. Data
 * that has already arrived from the lost node is valid. Whether an array without a part on it is valid is decided by
 * the array's owners, which are all present. So nodes may learn of a loss at different times, in any order relative to
 * operations. */
#ifndef DCLI_WORKQUEUE_NODE_H
#define DCLI_WORKQUEUE_NODE_H

#include "workqueue/plan.h"

typedef struct dcli_node dcli_node;

/** What a loan needs, by its plan (workqueue/plan_loan.h). */
typedef struct dcli_loan_size {
    int64_t bytes;        /* at the thief: inputs that are sent, stages and results */
    int64_t result_bytes; /* at the victim: results that have arrived and are not written yet */
    int64_t chunks;       /* number of input chunks that the victim sends */
    bool in_place;        /* the thief reads parts of nodes in place, perhaps its own */
} dcli_loan_size;

typedef struct dcli_node_terms {
    dcli_plan_terms plan;  /* the pointers in it are borrowed and outlive the node */
    int self;              /* 0..node_count-1, or node_count: the host */
    int64_t window_chunks; /* most U chunks that may be on the way to one peer without being committed */
    int64_t ahead_bytes;   /* most bytes of T chunks that are granted and not dropped; 0: the usual, 32 MB. An
                              operation that needs more than half of it at once gets twice its need. In any case at
                              most the pool */
    int64_t made_bytes;    /* most bytes of U chunks that are made and not sent; beyond it the next batch waits */
    /** Returns plan(operation, node), valid at least until the operation is retired. NULL: DCL_ERR_NOMEM. */
    const dcli_plan *(*plan_of)(void *user, const dcli_operation *operation, int node);
    void *user;
    /** Lending (workqueue/loan.h); NULL: this peer neither lends nor asks. Finds what the loan of `count` batches of
     *  the victim's plan, from `batch` on, to a thief needs; victim and thief find the same. @return DCL_OK;
     *  DCL_ERR_INVALID: there are no such batches, or they cannot be lent; DCL_ERR_NOMEM. */
    dcl_status (*loan_of)(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                          int thief, dcli_loan_size *size_out);
    int64_t loan_bytes;      /* memory of this node for loans to it and for its open questions; not part of the pool */
    int64_t result_bytes;    /* memory of this node for the results of loans that it makes */
    int64_t loans_running;   /* most loans that run here at the same time; a loan that runs cannot be given back; 0:
                                the usual, 2 */
    int64_t kept_operations; /* how many of the last operations are not retired if they are finished loop bodies, so
                                that a node that is ahead can borrow batches of slower nodes */
    int64_t first_operation; /* the first operation that this peer gets; 0 means 1. Earlier ones are complete. */
    const bool *absent;      /* [node_count] nodes that are lost or have not joined; copied. NULL: none */
    /** Returns the node whose watermarks stand for those of a present node: the node itself, or one above it in a tree,
     *  whose watermarks are the least of its own and of those below it. NULL: each node has its own. */
    int (*speaker_of)(void *user, int node);
} dcli_node_terms;

enum {
    DCLI_MOST_TOLD_FAILURES = 64, /* most failures in one MARKS */
    DCLI_MOST_FORETOLD = 1 << 16  /* most reported failures of operations not seen here yet, per node. With the usual
                                     DCL_WINDOW, 1,024, each operation may write DCLI_MAX_PARAMS arrays */
};

/** Result of checking a node's report that an operation failed. */
typedef struct dcli_failure_report {
    bool counts;       /* false: the operation is complete on all nodes, or the node is lost; the report is ignored */
    bool is_news;      /* all present nodes must be told */
    int storage_count; /* the storages that the operation writes, whatever the report says */
    int64_t storage[DCLI_MAX_PARAMS];
} dcli_failure_report;

typedef enum dcli_action_kind {
    DCLI_DO_RUN,     /* start batch `index` of `operation`; dcli_node_batch_done() follows */
    DCLI_DO_SKIP,    /* as RUN, but nothing is computed, because an input has failed. No dcli_node_batch_done()
                        follows */
    DCLI_DO_PACK,    /* pack T chunk `chunk` of the plan of `peer` from own storage and send it; if `status` is an
                        error, send it empty. dcli_node_chunk_done() follows */
    DCLI_DO_SEND,    /* send U chunk `chunk` of the own plan to `peer`; if `status` is an error, send it empty */
    DCLI_DO_COMMIT,  /* write U chunk `chunk` of the plan of `peer` to own storage (if `status` is an error, it is
                        empty), and free it. dcli_node_chunk_done() follows */
    DCLI_DO_DROP,    /* free T chunk `chunk` of the own plan, from `peer`: it is not needed any more */
    DCLI_DO_GRANT,   /* tell `peer` that the first `index` T chunks of `operation` may be sent; if `status` is an error,
                        that they are not read, and are to be sent empty */
    DCLI_DO_CREDIT,  /* tell `peer` that `index` U chunks were committed */
    DCLI_DO_FAILED,  /* a node: tell the host that `operation` failed here with `status`; the contents of its outputs
                        are undefined. The host: tell all present nodes */
    DCLI_DO_MARKS,   /* tell `peer` the watermarks of this peer and, before it acts on them, `failure_count` failures */
    DCLI_DO_FINISH,  /* `operation` is complete; only loans of it to this node may still run. RETIRE follows. Other
                        operations are complete with RETIRE */
    DCLI_DO_RETIRE,  /* nothing more will be asked about `operation` */
    DCLI_DO_DISCARD, /* free U chunk `chunk` of the own plan, for `peer`, which is lost, if it was made */

    /* Lending. A loan is named by the thief, `question` and `index`, its first batch; `count` is the number of its
     * batches. Thief: */
    DCLI_DO_ASK,      /* send HUNGRY: `question`, `first`, `upto`, `bytes`, to `peer` */
    DCLI_DO_RUN_LOAN, /* start a loan of `peer`, batches of its plan for `operation`; dcli_node_loan_done() follows */
    DCLI_DO_RESULT,   /* send the result chunks of a loan that was run, then RESULT, then free all of it */
    DCLI_DO_RETURNED, /* send RETURNED, and free what has arrived for the loan */
    DCLI_DO_FORGET,   /* free all of a loan of `peer`, which is lost; the loan does not run (any more) */
    /* Victim: */
    DCLI_DO_NOTHING,     /* send NOTHING in answer to `question` of `peer` */
    DCLI_DO_LEND,        /* send LENT: batches `index` .. `index` + `count` - 1 of `operation`, in loans of `each`
                            (dcli_loan_end()), then their inputs, read in the order of the actions, as PACK does */
    DCLI_DO_RECALL,      /* send RECALL; after the LENT of the same loan */
    DCLI_DO_COMMIT_LOAN, /* write the result of a loan to own storage, unless `status` is an error; then free the
                            result. dcli_node_batches_done() follows for all batches of the loan together */
    DCLI_DO_DROP_LOAN    /* free the result of a loan that was taken back; `operation` is NULL */
} dcli_action_kind;

typedef struct dcli_action {
    dcli_action_kind kind;
    const dcli_operation *operation;
    int peer;
    int64_t index;
    int64_t chunk; /* number in plan->chunk of the plan that is named at the kind */
    union {
        struct {
            int64_t done, ready;    /* MARKS */
            const int64_t *failure; /* MARKS: [failure_count] pairs (operation, storage), for
                                       dcli_node_marks_failures(); until the next action. Between nodes only */
            int failure_count;
        };
        struct {
            int64_t question;           /* lending */
            int64_t count;              /* batches of the loan; LEND: all that are lent */
            int64_t each;               /* LEND */
            int64_t first, upto, bytes; /* ASK */
        };
    };
    dcl_status status;
    bool cause; /* FAILED: the failure was found here; false: it follows from that of an input, or of another peer */
} dcli_action;

/** Make a state machine. @return NULL: DCL_ERR_NOMEM. */
dcli_node *dcli_node_open(const dcli_node_terms *terms);
void dcli_node_close(dcli_node *node);

/* Events. All return DCL_OK; DCL_ERR_PROTOCOL for a message that no correct peer sends (the state is then unchanged);
 * or DCL_ERR_NOMEM. Ends of actions (dcli_node_batch_read(), _batch_done(), _batches_read(), _batches_copied(),
 * _batches_done(), _chunk_done() and _loan_done()) also return DCL_ERR_INTERNAL if no such action runs here. A
 * message about an operation whose descriptor has not arrived yet is stored until it arrives. */

/** The next descriptor has arrived (numbers have no gaps). It must stay valid until DCLI_DO_RETIRE. */
dcl_status dcli_node_operation(dcli_node *node, const dcli_operation *operation);
/** Peer `from` grants the first `chunks` T chunks. */
dcl_status dcli_node_grant(dcli_node *node, int from, int64_t operation, int64_t chunks);
/** Peer `from` grants the first `chunks` T chunks of an operation, but will not read them, because its plan has failed:
 *  send them empty. */
dcl_status dcli_node_decline(dcli_node *node, int from, int64_t operation, int64_t chunks);
/** A chunk has arrived: T (written false: number in the stream from `from` to here) or U. The executor keeps the
 *  payload until DROP or COMMIT names it (peer and plan->chunk[].number). */
dcl_status dcli_node_chunk(dcli_node *node, int from, int64_t operation, bool written, int64_t number,
                           dcl_status status);
/** Peer `from` reports that it has committed `chunks` more of our U chunks. */
dcl_status dcli_node_credit(dcli_node *node, int from, int64_t chunks);
/** Peer `from` reports its watermarks. */
dcl_status dcli_node_marks(dcli_node *node, int from, int64_t done, int64_t ready);
/** Record the failures that a peer sends with its watermarks; before dcli_node_marks().
 *  @param failures  [2 * count]: `count` pairs of an operation and a storage whose contents are undefined after it, as
 *                   in the action MARKS.
 *  @return as dcli_node_failed(). */
dcl_status dcli_node_marks_failures(dcli_node *node, int from, int count, const int64_t failures[]);
/** A node hears from a peer that the contents of storages are undefined for operations after `operation`. Operations
 *  before the node's first are ignored, unless the host tells of them: it knows which storages had failed then, and
 *  other peers do not know which operations have overwritten them.
 *  @return DCL_OK; DCL_ERR_NOMEM; DCL_ERR_PROTOCOL: node `from` has told of more than DCLI_MOST_FORETOLD failures by
 *          operations that are not known here. */
dcl_status dcli_node_failed(dcli_node *node, int from, int64_t operation, int count, const int64_t storages[]);
/** At the host: find what dcli_node_reported() would report, without recording anything; report_out->is_news is false.
 *  @return DCL_OK; DCL_ERR_PROTOCOL: there is no such operation yet. */
dcl_status dcli_node_written(const dcli_node *node, int from, int64_t operation, dcli_failure_report *report_out);
/** The host hears from node `from` that an operation failed there. @return DCL_OK; DCL_ERR_NOMEM; DCL_ERR_PROTOCOL:
 *  there is no such operation yet. */
dcl_status dcli_node_reported(dcli_node *node, int from, int64_t operation, dcli_failure_report *report_out);
/** A batch started by DCLI_DO_RUN has finished reading other nodes' parts in place, but still runs. The owners of these
 *  parts may overwrite them from now on. This event is optional: the end of a batch implies it. */
dcl_status dcli_node_batch_read(dcli_node *node, int64_t operation, int64_t batch);
/** A batch started by DCLI_DO_RUN has ended, and all its effects are in memory. Report a failure as soon as it is
 *  known, if possible before taking the next action: data sent in between does not carry it. */
dcl_status dcli_node_batch_done(dcli_node *node, int64_t operation, int64_t batch, dcl_status status);

/** A PACK (written false) or COMMIT (written true) of `operation` with `peer` has ended; those of one peer may end in
 *  any order. The operation is not retired before all have ended. From here on the elements of a commit count as
 *  written; if status is not DCL_OK, the operation fails. If a pack fails, the executor has already informed the
 *  receiver. */
dcl_status dcli_node_chunk_done(dcli_node *node, int64_t operation, int peer, bool written, dcl_status status);

/** An action for `operation` failed here (for instance a commit), so the contents of the operation's outputs are
 *  undefined. */
dcl_status dcli_node_fail(dcli_node *node, int64_t operation, dcl_status status);

/** Node `peer` is lost. If it could read memory of others in place, the caller has ensured that it no longer runs,
 *  because that memory will now be overwritten. Batches that start later do not read its memory, but running ones may:
 *  it stays mapped until they have ended.
 *  No further action names the peer except DROP, COMMIT and DISCARD, for chunks from it or for it, FORGET for loans of
 *  it to this node, and COMMIT_LOAN and DROP_LOAN for its results that are here. The executor frees all chunks of the
 *  peer for operations that the state machine has not been given yet. The functions above, and those of loan.h, ignore
 *  later messages of the peer (DCL_OK); the executor frees their payload, too.
 *  An operation that had ended here does not fail, though it may not have ended on the lost node: arrays that the node
 *  was to write are lost with it. But the host must check whether a save, which has its effect in a file, is complete.
 *  @return DCL_OK, also if the loss was known; DCL_ERR_PROTOCOL: there can be no such peer; DCL_ERR_NOMEM. */
dcl_status dcli_node_lost(dcli_node *node, int peer);

/** Node `peer`, absent so far, takes part in the operations from `first_operation` on, none of which was seen here. Its
 *  messages that arrived earlier are stored and count. Has no effect if the peer was lost meanwhile.
 *  The host decides this when all earlier operations are complete on all present peers; so it knows all failures. The
 *  new node's state machine is made with that first_operation and the currently absent nodes. Then dcli_node_failed()
 *  is called on it for each storage for which dcli_node_storage_failed() holds at the host, with the operation before
 *  its first; the new node may read everything that the others store.
 *  @return DCL_OK; DCL_ERR_NOMEM; DCL_ERR_PROTOCOL: there can be no such peer, it has joined already, the operation was
 *          seen, or, at the host, an earlier operation is not complete. */
dcl_status dcli_node_joined(dcli_node *node, int peer, int64_t first_operation);

/** Whether a peer takes part: not absent, not lost. The host and the node itself always do. */
bool dcli_node_is_there(const dcli_node *node, int peer);

/** Get the next action. @return false if there is none until the next event. */
bool dcli_node_next(dcli_node *node, dcli_action *action_out);
/** Get the next action that tells a peer our watermarks (DCLI_DO_MARKS), which dcli_node_next() returns after all
 *  others.
 *  @return false if there is none. */
bool dcli_node_next_marks(dcli_node *node, dcli_action *action_out);
/** Hold or release. While held, the state machine returns no action that touches memory (RUN, SKIP, PACK, COMMIT,
 *  LEND, RUN_LOAN, COMMIT_LOAN), no RECALL, and retires no operation; all other actions continue. The executor holds
 *  it while it has an action that it cannot start yet, or must still copy outputs of a batch to own parts. */
void dcli_node_hold(dcli_node *node, bool hold);

/** Pause or go on. While paused, the state machine returns no RUN or SKIP for a batch of a loop body that has
 *  several, and no RUN_LOAN; everything else continues. The executor pauses it while the device has enough to do,
 *  because a batch that has been started cannot be lent. */
void dcli_node_pause(dcli_node *node, bool pause);
/** Whether the next batch is one that dcli_node_pause() concerns. */
bool dcli_node_has_lendable(const dcli_node *node);
/** Whether failures are to be published, or batches of the current operation wait to be started. */
bool dcli_node_has_due(const dcli_node *node);
/** Whether this node has nothing to start but batches of the last operation that it has seen, a loop body with several.
 *  @param operation_out  the operation whose batches are started next, if some of them wait; else NULL.
 *  @param next_out       the first batch that waits; else 0.
 *  @param count_out      the number of batches that wait; else 0. */
bool dcli_node_left(const dcli_node *node, const dcli_operation **operation_out, int64_t *next_out, int64_t *count_out);
/** How many batches could be started together with batch `batch`, for which the last RUN was returned, in a plan that
 *  was cut so that batches can be lent (dcli_batch.fine): the number, at most `most`, of those that follow `batch`
 *  without a gap and can start now. 0 for other plans. */
int64_t dcli_node_more(dcli_node *node, int64_t operation, int64_t batch, int64_t most);
/** Start the first `count` of the batches that dcli_node_more() has counted, as RUN does. Their ends are reported like
 *  the end of a batch that RUN has started. */
void dcli_node_run_more(dcli_node *node, int64_t operation, int64_t batch, int64_t count);
/** As dcli_node_batch_read(), for the batches `first` .. `first` + `count` - 1. */
dcl_status dcli_node_batches_read(dcli_node *node, int64_t operation, int64_t first, int64_t count);
/** The running batches `first` .. `first` + `count` - 1 have copied all elements of their T chunks. Chunks that no
 *  later batch reads are then dropped, so that more are granted; but not if a batch before `first` still needs its own
 *  chunks. This event is optional: chunks are dropped in any case when the batches that read them have ended. */
dcl_status dcli_node_batches_copied(dcli_node *node, int64_t operation, int64_t first, int64_t count);
/** As dcli_node_batch_done(), for the batches `first` .. `first` + `count` - 1: running ones, or all those of a loan
 *  for which COMMIT_LOAN was returned. */
dcl_status dcli_node_batches_done(dcli_node *node, int64_t operation, int64_t first, int64_t count, dcl_status status);

/** Watermarks of this node. */
void dcli_node_watermarks(const dcli_node *node, int64_t *done_out, int64_t *ready_out);
/** Bytes of chunks that were granted to peers and have not been dropped. */
int64_t dcli_node_granted_bytes(const dcli_node *node);
/** Whether every operation seen has ended here; all of them are retired then, except those that are kept for
 *  lending. */
bool dcli_node_idle(const dcli_node *node);
/** Whether all operations that this peer has seen are ready here: its watermark `ready` has reached the last one. */
bool dcli_node_is_through(const dcli_node *node);
/** For tests: how many operations the node has looked at until now to find actions. */
int64_t dcli_node_looks(const dcli_node *node);
/** Whether an open operation is known to be impossible: one of its inputs has failed, or an array that it names has a
 *  part on a lost node. False if `operation` is not open. */
bool dcli_node_reads_failed(const dcli_node *node, int64_t operation);
/** Whether the contents of a storage are undefined for later operations, as far as is known here. A storage with a part
 *  on a lost node is not recorded here; its layout shows that the part is lost. */
bool dcli_node_storage_failed(const dcli_node *node, int64_t storage);
/** Whether another node waits for this node's operations to end. Cost: the number of such nodes. */
bool dcli_node_is_awaited(const dcli_node *node);
/** For which peer the node waits before it can start its next batch or, if all are started, before its oldest operation
 *  can end. @return false: for none but itself. Cost: the number of peers that exchange. */
bool dcli_node_awaits(const dcli_node *node, int64_t *operation_out, int *peer_out);
/** The plan of `operation` for `peer` as this node uses it (own plan: peer == self). NULL if it is not needed here. */
const dcli_plan *dcli_node_plan(const dcli_node *node, int64_t operation, int peer);
/** Describe what the node waits for: a line for the node, and one per open operation; for failing tests. Freed with
 *  dcli_free(). @return NULL: DCL_ERR_NOMEM. */
char *dcli_node_explain(const dcli_node *node);

#endif
