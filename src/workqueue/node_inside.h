/* workqueue/node_inside.h - what the files of the state machine share. Used by node*.c only. */
#ifndef DCLI_WORKQUEUE_NODE_INSIDE_H
#define DCLI_WORKQUEUE_NODE_INSIDE_H

#include "workqueue/node.h"
#include "workqueue/storages.h"

enum {
    /* Operations for which a node grants chunks, from the one whose batches it starts. So it is also the most of them that a
     * peer, which has seen none yet, keeps of it: the node cannot pass an operation that reads from the peer. */
    DCLI_GRANTS_AHEAD = 4096
};

/* A stream between this peer and another in one operation: which chunks of a plan it is made of. */
struct dcli_stream {
    int64_t *chunk; /* [total] numbers in plan->chunk, in order */
    int64_t total;
    int64_t granted, passed; /* T to send: granted, packing begun. U to receive: arrived, committing begun */
    int64_t ended;           /* T to send: packed. U to receive: committed */
    dcl_status *status;      /* U to receive: [total] what came with each chunk */
};

struct dcli_exchange {
    const dcli_plan *plan;            /* the other peer's; NULL: nothing between us */
    struct dcli_stream send, receive; /* T it reads from us; U it writes to us */
    int64_t grant_due, grant_told;    /* T we read from it: chunks granted */
};

/* What an operation waits for, storage by storage: the last operation before it that ... In each of these, what is done
 * for one storage and peer is done in the order of operations, so the last one stands for all before. */
enum dcli_need_kind {
    DCLI_NEED_READ,   /* has the peer read what is written here */
    DCLI_NEED_COMMIT, /* has the peer's output to what is touched here been committed */
    DCLI_NEED_READY,  /* is the peer ready with what is read in place */
    DCLI_NEED_PACK    /* was packed for the peer */
};

struct dcli_need {
    enum dcli_need_kind kind;
    int peer;
    int64_t operation;
};

struct dcli_open_op {
    const dcli_operation *operation;
    int64_t number;
    const dcli_plan *own;
    struct dcli_exchange *exchange; /* [peers], NULL: a local operation */
    struct dcli_need *need;         /* what is not met yet */
    int64_t need_count, need_capacity;
    int64_t started, ended;                /* batches; ended is a prefix */
    bool *batch_ended, *arrived, *dropped; /* [batches], [own chunks] */
    int64_t drop_from;                     /* own chunks before are dropped */
    int64_t transfers; /* chunks of both directions that are not packed, sent, committed or dropped yet */
    dcl_status skip;   /* not DCL_OK: compute nothing more */
    bool lost;         /* it needs a node that is not there: it has failed, whatever comes */
    bool told_failed;
    struct dcli_open_op *next_moving; /* of the list in struct dcli_node */
};

/* A message about an operation whose descriptor is not here yet. */
struct dcli_early {
    int from;
    bool is_grant, written;
    int64_t operation, number;
    dcl_status status;
};

/* A made chunk waiting for its turn. */
struct dcli_made {
    int64_t operation, chunk, batch;
    bool ended;
    dcl_status status;
};

struct dcli_outbox {
    struct dcli_made *made; /* [first .. count) waiting */
    int64_t first, count, capacity;
    int64_t outstanding; /* sent, not yet committed */
};

struct dcli_notice {
    int64_t operation;
    dcl_status status;
    bool cause;
};

enum dcli_presence { DCLI_THERE, DCLI_ABSENT, DCLI_LOST };

struct dcli_peer {
    enum dcli_presence presence;
    int64_t done, ready;             /* what it told us; INT64_MAX when it is not there */
    int64_t early_done, early_ready; /* what it told us before we knew that it has joined */
    int64_t told_done, told_ready;   /* what we told it */
    int64_t interest; /* it waits for our watermarks up to this operation; 0: also when it is not there */
    int64_t credit_due;
    int64_t early_grants; /* of operations not seen here: at most DCLI_GRANTS_AHEAD */
    int64_t uncommitted;  /* U chunks that came of it and are not committed: at most the window */
};

struct dcli_node {
    dcli_node_terms terms;
    int peers;
    struct dcli_open_op **op; /* by number: op[number - base] */
    int64_t base, op_capacity;
    int64_t first, seen; /* open: first .. seen */
    struct dcli_open_op *moving,
        **moving_end; /* those with something to move, in order; some that had may be among them */
    int64_t cursor;   /* operation whose batches are being started */
    int64_t done, ready;
    int64_t grant_op, grant_chunk, pool_used;
    int64_t exchanging; /* open operations with an exchange */
    int64_t made_unsent;
    bool held; /* see dcli_node_hold() */
    struct dcli_peer *peer;
    struct dcli_outbox *outbox;
    struct dcli_early *early;
    int64_t early_count, early_capacity;
    struct dcli_notice *notice;
    int64_t notice_first, notice_count, notice_capacity;
    dcli_storages storages;
};

static inline struct dcli_open_op *dcli_op_find(const dcli_node *node, int64_t number)
{
    return number >= node->first && number <= node->seen ? node->op[number - node->base] : NULL;
}

static inline bool dcli_is_node(const dcli_node *node, int peer) { return peer < node->terms.plan.node_count; }

static inline bool dcli_is_there(const dcli_node *node, int peer) { return node->peer[peer].presence == DCLI_THERE; }

/** Whether a peer reads this one's parts in place. */
static inline bool dcli_reads_in_place(const dcli_node *node, int peer)
{
    int self = node->terms.self;
    const dcli_node_ways *ways = node->terms.plan.ways;
    return dcli_is_node(node, peer) && dcli_is_node(node, self) &&
           dcli_way_between(&ways[peer], &ways[self]) == DCLI_WAY_PLACE;
}

/* ---- node_open.c: a new operation */

void dcli_op_free(const dcli_node *node, struct dcli_open_op *op);

/* ---- node_rules.c: conditions */

/** Whether a need is met; once it is, it stays so. */
bool dcli_need_is_met(const dcli_node *node, const struct dcli_need *need);
/** Whether all needs of a kind are met (peer -1: of all peers); needs that are met are forgotten. */
bool dcli_needs_met(const dcli_node *node, struct dcli_open_op *op, enum dcli_need_kind kind, int peer);
/** Whether all output of peers that the operation touches is committed. */
bool dcli_commits_met(const dcli_node *node, struct dcli_open_op *op);
/** The write rule. */
bool dcli_writes_allowed(const dcli_node *node, struct dcli_open_op *op);
/** The read rule, for what is read in place. */
bool dcli_reads_allowed(const dcli_node *node, struct dcli_open_op *op);
/** What is known of the operation's inputs: DCL_OK, DCL_ERR_INVALID: something it reads has failed; DCL_ERR_NODE_LOST: it needs
 *  a node that is not there. */
dcl_status dcli_op_inputs(const dcli_node *node, const struct dcli_open_op *op);
/** Set the watermarks as far as they go. */
void dcli_advance_marks(dcli_node *node);

/* ---- node_member.c: who is there */

/** Whether an operand has a part on a node that is not there, so that the operation cannot be done. */
bool dcli_op_misses_part(const dcli_node *node, const dcli_operation *operation);
/** Take from an operation what peer q, which is not there, would have sent or been sent. */
void dcli_op_part_from(dcli_node *node, struct dcli_open_op *op, int q);
/** The operation has failed because a node is not there. */
dcl_status dcli_op_fail_lost(dcli_node *node, struct dcli_open_op *op);

/* ---- node_event.c: messages and ends */

/** Say once that what the operation writes may hold anything. @param cause  found here, not passed on. */
dcl_status dcli_tell_failed(dcli_node *node, struct dcli_open_op *op, dcl_status status, bool cause);
/** Hear the messages that came before their operation. */
dcl_status dcli_replay_early(dcli_node *node, int64_t number);
/** A batch has ended, or was skipped. */
void dcli_end_batch(dcli_node *node, struct dcli_open_op *op, int64_t b, dcl_status status);

#endif
