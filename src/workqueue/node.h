/* workqueue/node.h - what one peer (a node, or the host) does about the operations it has seen: a state machine.
 *
 * Events go in, actions come out; no I/O, no clock, no threads. The executor of the actions (a worker, the program's pilot, a
 * simulation) carries them out such that their effects on the node's memory are as if done in the order given. It may only
 * start them: the ends are told by dcli_node_batch_done() for RUN, and by dcli_node_chunk_done() for PACK and COMMIT.
 *
 * Rules (docs/design.md, docs/model.md): batches start in the order of (operation, batch). A batch starts when what it reads has
 * arrived or, in place, is ready, and when nobody still has to read what it overwrites. Data is packed, and arriving
 * output committed, when all own batches of earlier operations have started. All waits are for earlier operations, or for
 * data of the same operation that only waits for earlier ones: nothing can wait in a circle.
 *
 * Members come and go. A peer that is lost, or not there yet, is waited for by nobody and sent nothing: its watermarks count as
 * infinite. What needed something of it fails instead, with DCL_ERR_NODE_LOST: every operation that names an array with a
 * part on it and has not ended here, and every such operation from then on, whatever it overwrites. What has come from it
 * was right when it was sent; whether an array that has no part on it is right is for its owners to say, who are all there.
 * So nodes may learn of a loss at different times, in any order relative to operations. */
#ifndef DCLI_WORKQUEUE_NODE_H
#define DCLI_WORKQUEUE_NODE_H

#include "workqueue/plan.h"

typedef struct dcli_node dcli_node;

typedef struct dcli_node_terms {
    dcli_plan_terms plan;  /* borrowed pointers inside outlive the node */
    int self;              /* 0..node_count-1, or node_count: the host */
    int64_t window_chunks; /* U chunks to one peer that are not yet committed */
    int64_t made_bytes;    /* most bytes of U chunks made and not yet sent before the next batch has to wait */
    /** plan(operation, node), kept by the provider at least until the operation is retired. NULL: DCL_ERR_NOMEM. */
    const dcli_plan *(*plan_of)(void *user, const dcli_operation *operation, int node);
    void *user;
    int64_t first_operation; /* the first one this peer is told of; 0 stands for 1. Earlier ones are over. */
    const bool *absent; /* [node_count] nodes that are not there: not yet, or no more; copied. NULL: all are there */
} dcli_node_terms;

typedef enum dcli_action_kind {
    DCLI_DO_RUN,    /* start batch `index` of `operation`; later dcli_node_batch_done() */
    DCLI_DO_SKIP,   /* the same, but do not compute: something it reads failed. No batch_done follows. */
    DCLI_DO_PACK,   /* pack T chunk `chunk` of the plan of `peer` from own storage and send it; `status`: empty, failed.
                     Later dcli_node_chunk_done() */
    DCLI_DO_SEND,   /* send U chunk `chunk` of the own plan to `peer`; `status`: empty, failed */
    DCLI_DO_COMMIT, /* write U chunk `chunk` of the plan of `peer` to own storage (`status`: nothing in it), free it.
                       Later dcli_node_chunk_done() */
    DCLI_DO_DROP,   /* T chunk `chunk` of the own plan, from `peer`, is not needed any more */
    DCLI_DO_GRANT,  /* tell `peer`: T chunks up to number `index` (a count) of `operation` may be sent */
    DCLI_DO_CREDIT, /* tell `peer`: `index` U chunks were committed */
    DCLI_DO_FAILED, /* tell all peers that are there: `operation` failed here with `status`; what it writes may hold
                       anything */
    DCLI_DO_MARKS,  /* tell `peer` the watermarks */
    DCLI_DO_RETIRE, /* nothing more will be asked about `operation` */
    DCLI_DO_DISCARD /* U chunk `chunk` of the own plan, made for `peer`, which is lost: free it, if it was made */
} dcli_action_kind;

typedef struct dcli_action {
    dcli_action_kind kind;
    const dcli_operation *operation;
    int peer;
    int64_t index;
    int64_t chunk; /* number in plan->chunk of the plan named above */
    int64_t done, ready;
    dcl_status status;
    bool cause; /* FAILED: found here, not passed on */
} dcli_action;

/** @return the node, or NULL: DCL_ERR_NOMEM. */
dcli_node *dcli_node_open(const dcli_node_terms *terms);
void dcli_node_close(dcli_node *node);

/* Events. All return DCL_OK, DCL_ERR_PROTOCOL for what no correct peer sends (the node's state is then unchanged), or
 * DCL_ERR_NOMEM. Messages of operations not yet seen here are kept until these arrive. */

/** The next descriptor (numbers without gaps). It must stay valid until DCLI_DO_RETIRE. */
dcl_status dcli_node_operation(dcli_node *node, const dcli_operation *operation);
/** Peer `from` grants T chunks up to a count. */
dcl_status dcli_node_grant(dcli_node *node, int from, int64_t operation, int64_t chunks);
/** A chunk has come: T (written false: number in the stream from `from` to here) or U. Payload is the executor's to keep
 *  until DROP or COMMIT name it (peer and plan->chunk[].number). */
dcl_status dcli_node_chunk(dcli_node *node, int from, int64_t operation, bool written, int64_t number,
                           dcl_status status);
dcl_status dcli_node_credit(dcli_node *node, int from, int64_t chunks);
dcl_status dcli_node_marks(dcli_node *node, int from, int64_t done, int64_t ready);
/** Another peer says that storages may hold anything since `operation`. */
dcl_status dcli_node_failed(dcli_node *node, int64_t operation, int count, const int64_t storages[], dcl_status status);
/** A batch started by DCLI_DO_RUN has ended; all its effects on memory are there. A failure is reported as soon as it is
 *  known, if possible before the next action is taken: what is sent in between does not carry it. */
dcl_status dcli_node_batch_done(dcli_node *node, int64_t operation, int64_t batch, dcl_status status);

/** A PACK (written false) or COMMIT (written true) of `operation` with `peer` has ended; those of one peer may end in any order.
 *  Until then the operation is not retired. A commit counts from here on: what it wrote is in memory, or, with a status that
 *  is not DCL_OK, the operation fails. A pack that failed has told its receiver. */
dcl_status dcli_node_chunk_done(dcli_node *node, int64_t operation, int peer, bool written, dcl_status status);

/** Something the executor was told to do for `operation` failed here (committing, say): what it writes may hold anything. */
dcl_status dcli_node_fail(dcli_node *node, int64_t operation, dcl_status status);

/** Node `peer` is gone for good. Where it could read memory of others in place, the caller has made sure that it does not run
 *  any more: from now on these overwrite what it was reading. Its own memory is read no more by batches that start later,
 *  but those that run may still do so: it stays mapped until they have ended.
 *  No action names the peer any more but DROP, COMMIT and DISCARD, for what is here of it or for it. What the executor holds of
 *  it for operations that the node has not been given yet is the executor's to free; later messages of it are ignored by the
 *  functions above (DCL_OK), their payload is the executor's to free, too.
 *  An operation that had ended here is not failed, though it may not have ended on the lost node: what that was to write of
 *  arrays is lost with them, but of a save (an effect elsewhere) the host has to see for itself that it is incomplete.
 *  @return DCL_OK, also when it was known; DCL_ERR_PROTOCOL: there can be no such peer; DCL_ERR_NOMEM. */
dcl_status dcli_node_lost(dcli_node *node, int peer);

/** Node `peer`, absent so far, takes part in the operations from `first_operation` on, of which none has been seen here. What it
 *  said before this was known here is kept. Nothing happens when it has been lost meanwhile.
 *  The host decides it when all operations before are over: everyone who is there has told it that he is ready with them. So
 *  all failures are known to it. The newcomer is opened with that first_operation and the nodes that are absent by then,
 *  is told by dcli_node_failed() of the storages for which dcli_node_storage_failed() holds at the host, as of the operation
 *  before its first, and may read what the others hold.
 *  @return DCL_OK, or DCL_ERR_PROTOCOL: it is there already, the operation has been seen, or, at the host, something
 *          before is not over. */
dcl_status dcli_node_joined(dcli_node *node, int peer, int64_t first_operation);

/** Whether a peer takes part: not absent, not lost. The host and the node itself always do. */
bool dcli_node_is_there(const dcli_node *node, int peer);

/** The next action. @return false when there is none until the next event. */
bool dcli_node_next(dcli_node *node, dcli_action *action_out);
/** While held, a node gives no action that touches its memory (RUN, SKIP, PACK, COMMIT) and retires nothing: the executor has
 *  been given one that it cannot start yet. All other actions go on. */
void dcli_node_hold(dcli_node *node, bool hold);

/** Watermarks of this node. */
void dcli_node_watermarks(const dcli_node *node, int64_t *done_out, int64_t *ready_out);
/** Bytes of chunks that peers were told they may send, and that have not been dropped. */
int64_t dcli_node_granted_bytes(const dcli_node *node);
/** Whether every operation seen is retired. */
bool dcli_node_idle(const dcli_node *node);
/** Whether something that an open operation reads is known to have failed. */
bool dcli_node_reads_failed(const dcli_node *node, int64_t operation);
/** Whether what operations after those seen find in a storage may be anything, for all that is known here. Storages that have a part
 *  on a node that is not there are not in these books: their layout tells. */
bool dcli_node_storage_failed(const dcli_node *node, int64_t storage);
/** Whether another node waits for operations of this one to end. Cost: the number of nodes. */
bool dcli_node_is_awaited(const dcli_node *node);
/** Whether something may still pass between this node and others for the operations seen. */
bool dcli_node_exchanges(const dcli_node *node);
/** The plan of `operation` for `peer` as this node uses it (own plan: peer == self). NULL when it is not needed here. */
const dcli_plan *dcli_node_plan(const dcli_node *node, int64_t operation, int peer);
/** What the node waits for, a line per open operation; for logs and failing tests. Freed with dcli_free(). */
char *dcli_node_explain(const dcli_node *node);

#endif
