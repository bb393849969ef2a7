/* workqueue/node.h - what one peer (a node, or the host) does about the operations it has seen: a state machine.
 *
 * Events go in, actions come out; no I/O, no clock, no threads. The executor of the actions (a worker, the program's pilot, a
 * simulation) carries them out such that their effects on the node's memory are as if done in the order given; only the end
 * of a batch is told later, by dcli_node_batch_done().
 *
 * Rules (docs/design.md, docs/model.md): batches start in the order of (operation, batch). A batch starts when what it reads has
 * arrived or, in place, is ready, and when nobody still has to read what it overwrites. Data is packed, and arriving
 * output committed, when all own batches of earlier operations have started. All waits are for earlier operations, or for
 * data of the same operation that only waits for earlier ones: nothing can wait in a circle. */
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
} dcli_node_terms;

typedef enum dcli_action_kind {
    DCLI_DO_RUN,  /* start batch `index` of `operation`; later dcli_node_batch_done() */
    DCLI_DO_SKIP, /* the same, but do not compute: something it reads failed. No batch_done follows. */
    DCLI_DO_PACK, /* pack T chunk `chunk` of the plan of `peer` from own storage and send it; `status`: empty, failed */
    DCLI_DO_SEND, /* send U chunk `chunk` of the own plan to `peer`; `status`: empty, failed */
    DCLI_DO_COMMIT, /* write U chunk `chunk` of the plan of `peer` to own storage (`status`: nothing in it), free it */
    DCLI_DO_DROP,   /* T chunk `chunk` of the own plan, from `peer`, is not needed any more */
    DCLI_DO_GRANT,  /* tell `peer`: T chunks up to number `index` (a count) of `operation` may be sent */
    DCLI_DO_CREDIT, /* tell `peer`: `index` U chunks were committed */
    DCLI_DO_FAILED, /* tell all peers: `operation` failed here with `status`; what it writes may hold anything */
    DCLI_DO_MARKS,  /* tell `peer` the watermarks */
    DCLI_DO_RETIRE  /* nothing more will be asked about `operation` */
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

/** Something the executor was told to do for `operation` failed here (committing, say): what it writes may hold anything. */
dcl_status dcli_node_fail(dcli_node *node, int64_t operation, dcl_status status);

/** The next action. @return false when there is none until the next event. */
bool dcli_node_next(dcli_node *node, dcli_action *action_out);

/** Watermarks of this node. */
void dcli_node_watermarks(const dcli_node *node, int64_t *done_out, int64_t *ready_out);
/** Whether every operation seen is retired. */
bool dcli_node_idle(const dcli_node *node);
/** Whether something that an open operation reads is known to have failed. */
bool dcli_node_reads_failed(const dcli_node *node, int64_t operation);
/** Whether something may still pass between this node and others for the operations seen. */
bool dcli_node_exchanges(const dcli_node *node);
/** The plan of `operation` for `peer` as this node uses it (own plan: peer == self). NULL when it is not needed here. */
const dcli_plan *dcli_node_plan(const dcli_node *node, int64_t operation, int peer);
/** What the node waits for, a line per open operation; for logs and failing tests. Freed with dcli_free(). */
char *dcli_node_explain(const dcli_node *node);

#endif
