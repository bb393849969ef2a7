/* workqueue/node_inside.h - shared by the files of the state machine, node*.c only. */
#ifndef DCLI_WORKQUEUE_NODE_INSIDE_H
#define DCLI_WORKQUEUE_NODE_INSIDE_H

#include <assert.h>

#include "base/search.h"
#include "base/text.h"
#include "workqueue/loan.h"
#include "workqueue/storages.h"

enum {
    /* A node grants chunks for at most this many operations, counted from the one whose batches are being started. So a
     * peer stores at most this many early grants of the node, that is, grants for operations that the peer has not
     * seen: the node cannot get past an operation in which it reads from the peer before the peer has seen that
     * operation. */
    DCLI_GRANTS_AHEAD = 4096
};

/* The chunks that another peer's plan exchanges with this peer, in one operation and direction: the T chunks that we
 * send to it, or the U chunks that it sends to us. */
struct dcli_stream {
    int64_t *chunk; /* [total] numbers in plan->chunk of that plan, in order */
    int64_t total;
    int64_t granted, passed; /* numbers of chunks. T to send: granted by the peer, and packing started. U to receive:
                                arrived, and committing started */
    int64_t ended;           /* number of chunks. T to send: packed. U to receive: committed */
    bool declined;           /* T to send: the peer does not read the granted chunks; they are sent empty */
    dcl_status *status;      /* U to receive: [total] the status of each chunk */
};

struct dcli_exchange {
    int peer;
    const dcli_plan *plan;            /* the other peer's plan; NULL: it does not name this peer */
    struct dcli_stream send, receive; /* `send`: the T chunks that the peer reads from us; `receive`: the U chunks
                                         that it writes to us */
    int64_t first_own, own_count;     /* our T chunks from the peer: those of op->own_chunk[] from first_own on */
    int64_t grant_due, grant_told;    /* our T chunks from the peer: chunks for which there is memory, and chunks
                                         granted to the peer */
};

/* What an operation waits for. A need concerns one of the operation's storages, as a whole, and one peer. It names the
 * last earlier operation on that storage that must have progressed so far. Operations on one storage progress in order
 * for each peer, so the last one stands for all earlier ones. */
enum dcli_need_kind {
    DCLI_NEED_READ,   /* the peer has read its elements of our part, which this operation writes */
    DCLI_NEED_COMMIT, /* the peer's output to our part is committed */
    DCLI_NEED_READY,  /* the peer is ready: its part, which this operation reads in place, is up to date */
    DCLI_NEED_PACK    /* packing has begun for all chunks that the earlier operation sends to the peer, so that the
                         chunks of this operation come after them */
};

struct dcli_need {
    enum dcli_need_kind kind;
    int peer;
    int64_t operation;
};

enum dcli_batch_state {
    DCLI_BATCH_WAITS,
    DCLI_BATCH_RUNS,
    DCLI_BATCH_HAS_READ, /* runs, and has finished reading peers' parts */
    DCLI_BATCH_LENT,
    DCLI_BATCH_COMMITS, /* was lent; its result is here and is being written, or will be */
    DCLI_BATCH_ENDED
};

struct dcli_open_op {
    const dcli_operation *operation;
    int64_t number;
    const dcli_plan *own;
    struct dcli_exchange *exchange; /* [exchange_count] by peer, ascending: the partners that are present, and the
                                       peers with chunks of the own plan */
    int64_t exchange_count;
    int64_t *own_chunk;       /* the T chunks of the own plan, peer by peer, by their numbers in the stream */
    dcli_node_list to_grant;  /* indices in `exchange`: peers for which grant_due > grant_told */
    dcli_node_list to_pack;   /* indices in `exchange`: peers that have granted T chunks; some of these chunks may
                                 not be packed yet */
    dcli_node_list to_commit; /* indices in `exchange`: peers with U chunks that have arrived; some may not be
                                 committed yet */
    int64_t writers;          /* number of peers that send U chunks */
    int64_t uncommitted;      /* number of U chunks that are not committed */
    int64_t batch_arrived;    /* number of T chunks of batch `next` up to the first that has not arrived, as far as
                                 it was counted */
    struct dcli_need *need;   /* conditions that were not met when they were looked at last */
    int64_t need_count, need_capacity;
    uint8_t *batch;          /* [batches] enum dcli_batch_state of each batch */
    int64_t next;            /* the first batch that waits; if none does, the number of batches */
    int64_t waiting, lent;   /* number of batches that wait; that are lent */
    int64_t running;         /* number of batches that run, have read, or commit */
    int64_t ended;           /* all batches with lower numbers have ended */
    int64_t copied;          /* all batches with lower numbers have ended or copied their T chunks */
    int64_t read;            /* number of batches that have finished reading peers' parts; includes those that
                                commit, and the ended ones */
    bool *arrived, *dropped; /* [own chunks] whether each T chunk has arrived; whether it was dropped */
    int64_t drop_from;       /* own T chunks with lower numbers are dropped */
    int64_t transfers;       /* chunks of both directions that are not yet packed, sent, committed or dropped */
    dcl_status skip;         /* DCL_OK: compute; else all further batches are skipped with this status */
    bool lost;               /* an absent node has a part of an operand, so it fails even if all its data
                                arrives */
    bool told_failed;        /* FAILED was queued for this operation */
    bool lendable;           /* dcli_may_be_lent_by_any(); false without lending */
    bool is_small;           /* when it is freed, its memory is kept for another one */
    bool is_moving;          /* it is in the list `moving` of struct dcli_node */
    struct dcli_open_op *next_moving; /* next of the list in struct dcli_node, `moving` or `spare` */
};

/* A message stored because the descriptor of its operation has not arrived. */
struct dcli_early {
    int from;
    bool is_grant, declined, written;
    int64_t operation, number;
    dcl_status status;
};

/* A U chunk that waits to be sent; `ended` and `status`: of the batch that makes it. */
struct dcli_made {
    int64_t operation, chunk, batch;
    bool ended;
    dcl_status status;
};

struct dcli_outbox {
    struct dcli_made *made; /* [first .. count) are waiting */
    int64_t first, count, capacity;
    int64_t outstanding; /* U chunks sent to the peer and not yet committed there */
};

struct dcli_notice {
    int64_t operation;
    dcl_status status;
    bool cause;
};

/* Failures that watermarks carry to a node. */
struct dcli_telling {
    int to;
    dcli_numbers pairs; /* (operation, storage), ... */
    int64_t first;      /* index in `pairs`: those before it were sent */
    int64_t known;      /* node->failures_known when they were collected */
};

enum dcli_presence { DCLI_THERE, DCLI_ABSENT, DCLI_LOST };

struct dcli_peer {
    enum dcli_presence presence;
    int64_t done, ready;             /* the peer's watermarks; INT64_MAX if it is absent or lost */
    int64_t early_done, early_ready; /* the peer's watermarks that were received before we knew that it joins */
    int64_t told_done, told_ready;   /* our watermarks as last sent to the peer */
    int64_t told_failures;           /* node->failures_known when we last sent it watermarks with failures */
    int64_t owed_done; /* last operation, of those up to our `done`, that reads the peer's part in place: the peer
                          may wait for our `done` to reach it */
    int64_t interest;  /* the peer needs to hear when our watermarks reach this operation; 0: none, or the peer is
                          absent */
    int64_t credit_due;
    int64_t early_grants; /* early grants for operations not seen here: at most DCLI_GRANTS_AHEAD */
    int64_t foretold;     /* entries of dcli_node.foretold from it */
    int64_t uncommitted;  /* received U chunks that are not committed: at most the window */
    struct dcli_outbox outbox;
};

/* Peers with consecutive numbers whose records are made together. */
enum { DCLI_PEERS_IN_PAGE = 16 };

/* A node: a failure of a storage by an operation that was not seen here yet. */
struct dcli_foretold {
    int64_t operation, storage;
    int from; /* the peer that was the first to tell */
};

struct dcli_foretold_list {
    struct dcli_foretold *entry; /* [count] ascending by operation, then by storage */
    int64_t count, capacity;
};

/* Host: a storage that an operation writes which is not complete on all nodes. */
struct dcli_written {
    int64_t operation, storage;
    bool is_failed; /* all nodes were told that the operation failed */
};

struct dcli_written_list {
    struct dcli_written *entry; /* [count] ascending by operation */
    int64_t count, capacity;
    int64_t forget_at; /* complete operations are removed when `count` reaches this + the number of nodes + 64: twice
                          the entries that the last removal left */
};

struct dcli_node {
    dcli_node_terms terms;
    int peers;
    struct dcli_open_op **op; /* open operations by number: op[number - base] */
    int64_t base, op_capacity;
    int64_t first, seen; /* open: first .. seen */
    /* The operations up to the cursor with something to pack or commit, or with chunks that may have become free, in
     * order. There may be thousands of open operations, of which few are in this list. */
    struct dcli_open_op *moving, *moving_last;
    int64_t tell_op;  /* all grants of earlier operations were told */
    bool tells_ahead; /* grants of operations after the cursor are being told */
    int64_t looks;    /* for tests: how many operations dcli_node_next() and dcli_node_may_get() have looked at */
    struct dcli_open_op *spare; /* memory for operations with few batches and without chunks */
    int64_t cursor;             /* the operation whose batches are being started */
    int64_t done, ready;
    int64_t grant_op, grant_chunk, pool_used;
    int64_t writers; /* sum over the open operations: peers that write to our parts */
    int64_t made_unsent;
    dcli_node_list absent;    /* nodes that are lost or have not joined */
    dcli_node_list senders;   /* peers with waiting chunks in `outbox` */
    dcli_node_list creditors; /* peers to which credit is due; with room for all that write in open operations */
    dcli_node_list listeners; /* peers that need to hear our watermarks */
    int64_t listener;         /* index of the next listener that may have to be told something */
    int64_t sender;           /* index of the next sender that may have something to send */
    int64_t failures_known;   /* number of failures of storages recorded since the session began */
    struct dcli_foretold_list foretold;
    struct dcli_written_list written;
    struct dcli_telling telling;
    bool held;      /* by dcli_node_hold(): no action that touches memory is returned, and nothing is retired */
    bool paused;    /* by dcli_node_pause(): no batch of a loop body that has several is returned */
    int64_t packed; /* number of packs since the last batch */
    bool fed_idle;  /* the last batch was started before packs, because nothing ran */
    struct dcli_peer **page;  /* of DCLI_PEERS_IN_PAGE peers each; NULL: nothing was heard of any of them */
    struct dcli_peer unknown; /* the record of a peer of which nothing was heard */
    struct dcli_early *early;
    int64_t early_count, early_capacity;
    struct dcli_notice *notice;
    int64_t notice_first, notice_count, notice_capacity;
    dcli_storages storages;
    struct dcli_lending *lending; /* NULL: terms.loan_of is NULL */
};

static inline struct dcli_open_op *dcli_op_find(const dcli_node *node, int64_t number)
{
    return number >= node->first && number <= node->seen ? node->op[number - node->base] : NULL;
}

static inline bool dcli_exchange_is_before(const void *exchanges, int64_t i, int64_t peer)
{
    return ((const struct dcli_exchange *)exchanges)[i].peer < peer;
}

/** What an operation exchanges with a peer; NULL: nothing. */
static inline struct dcli_exchange *dcli_exchange_of(const struct dcli_open_op *op, int peer)
{
    int64_t at = dcli_lower_bound(op->exchange, op->exchange_count, peer, dcli_exchange_is_before);
    return at < op->exchange_count && op->exchange[at].peer == peer ? &op->exchange[at] : NULL;
}

/** Add a peer to a list of an operation: `to_grant`, `to_pack` or `to_commit`. There is room for all. */
static inline void dcli_be_due(dcli_node_list *list, const struct dcli_open_op *op,
                               const struct dcli_exchange *exchange)
{
    dcl_status status = dcli_node_list_add(list, (int)(exchange - op->exchange));
    assert(status == DCL_OK);
    (void)status;
}

static inline bool dcli_is_node(const dcli_node *node, int peer) { return peer < node->terms.plan.node_count; }

/** Bytes that are reserved for a T chunk when it is granted: 0 if the plan has failed, because the chunk is then sent
 *  empty. */
static inline int64_t dcli_granted_bytes(const struct dcli_open_op *op, int64_t chunk)
{
    return op->own->status == DCL_OK ? op->own->chunk[chunk].bytes : 0;
}

/** What is known of a peer. */
static inline const struct dcli_peer *dcli_peer_seen(const dcli_node *node, int peer)
{
    const struct dcli_peer *page = node->page[peer / DCLI_PEERS_IN_PAGE];
    return page != NULL ? &page[peer % DCLI_PEERS_IN_PAGE] : &node->unknown;
}

/** The record of a peer that has one: it was returned by dcli_peer_record() before. */
static inline struct dcli_peer *dcli_peer_made(dcli_node *node, int peer)
{
    assert(node->page[peer / DCLI_PEERS_IN_PAGE] != NULL);
    return &node->page[peer / DCLI_PEERS_IN_PAGE][peer % DCLI_PEERS_IN_PAGE];
}

static inline bool dcli_is_there(const dcli_node *node, int peer)
{
    return dcli_peer_seen(node, peer)->presence == DCLI_THERE;
}

/** A peer's watermark `ready`; INT64_MAX: it is lost or absent. */
static inline int64_t dcli_ready_of(const dcli_node *node, int peer)
{
    if (node->terms.speaker_of != NULL && dcli_is_node(node, peer) && dcli_is_there(node, peer))
        peer = node->terms.speaker_of(node->terms.user, peer);
    return dcli_peer_seen(node, peer)->ready;
}

/** Whether `peer` reads this node's parts in place. */
static inline bool dcli_reads_in_place(const dcli_node *node, int peer)
{
    int self = node->terms.self;
    const dcli_node_ways *ways = node->terms.plan.ways;
    return dcli_is_node(node, peer) && dcli_is_node(node, self) &&
           dcli_way_between(&ways[peer], &ways[self]) == DCLI_WAY_PLACE;
}

/* ---- node.c: the peers */

/** The record of a peer, made if there is none. All peers with which an open operation exchanges something, and those
 *  whose parts it reads in place, have one. NULL: DCL_ERR_NOMEM. */
struct dcli_peer *dcli_peer_record(dcli_node *node, int peer);

/** An operation has something to pack or commit, or chunks that became free: see `moving`. Those beyond the cursor are
 *  added when it reaches them. */
void dcli_be_moving(dcli_node *node, struct dcli_open_op *op);

/* ---- node_open.c: a new operation */

/** Free an operation that is in no list, or keep its memory for another one. NULL is accepted. */
void dcli_op_free(dcli_node *node, struct dcli_open_op *op);
/** Free the memory that is kept. */
void dcli_op_free_spare(dcli_node *node);

/* ---- node_rules.c: conditions */

/** Whether a condition holds; it never becomes false again. */
bool dcli_need_is_met(const dcli_node *node, const struct dcli_need *need);
/** Whether all conditions of a kind hold (peer -1: for all peers); those that hold are removed. */
bool dcli_needs_met(const dcli_node *node, struct dcli_open_op *op, enum dcli_need_kind kind, int peer);
/** Whether all that peers wrote, in earlier operations, to this node's parts of the operation's storages is
 *  committed. */
bool dcli_commits_met(const dcli_node *node, struct dcli_open_op *op);
/** The write rule: whether peers have read the elements of our part that the operation may overwrite, and their earlier
 *  output there is committed. */
bool dcli_writes_allowed(const dcli_node *node, struct dcli_open_op *op);
/** Whether the batches may start to read peers' parts in place: the peers are ready with the operations that wrote
 *  these parts. */
bool dcli_reads_allowed(const dcli_node *node, struct dcli_open_op *op);
/** Status of the operation's inputs: DCL_OK; DCL_ERR_INVALID: one has failed; DCL_ERR_NODE_LOST: it needs an absent
 *  node. */
dcl_status dcli_op_inputs(const dcli_node *node, const struct dcli_open_op *op);
/** Advance the watermarks as far as possible. */
void dcli_advance_marks(dcli_node *node);

/* ---- node_member.c: lost, absent and joining peers */

/** Whether an operand has a part on an absent node, so that the operation cannot be done. */
bool dcli_op_misses_part(const dcli_node *node, const dcli_operation *operation);
/** Remove from an operation all exchanges with the absent peer q that have not begun. */
void dcli_op_part_from(dcli_node *node, struct dcli_open_op *op, int q);
/** Fail an operation because a node is absent, unless it only frees memory (RELEASE, DROP). */
dcl_status dcli_op_fail_lost(dcli_node *node, struct dcli_open_op *op);

/* ---- loan.c, loan_victim.c: lending */

/** Make node->lending, if terms.loan_of says that this peer lends. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_lending_open(dcli_node *node);
void dcli_lending_close(dcli_node *node);
/** Get the next action that is a message of lending, ends a loan, or writes or drops a result. dcli_lending_next(),
 *  _run(), _opened(), _finished() and _next_retired() require node->lending. */
bool dcli_lending_next(dcli_node *node, dcli_action *action);
/** Get the next action RUN_LOAN. @return false: no loan can run now. */
bool dcli_lending_run(dcli_node *node, dcli_action *action);
/** If COMMIT_LOAN was returned for the loan of exactly these batches, they end now: forget the loan. @return whether
 *  that is so. */
bool dcli_lending_committed(dcli_node *node, int64_t operation, int64_t first, int64_t count);
/** Handle the loss of a peer, as a victim and as a thief. */
void dcli_lending_lost(dcli_node *node, int peer);
/** Set `lendable` of an operation that was opened, and count it if it is. */
void dcli_lending_opened(dcli_node *node, struct dcli_open_op *op);
/** The oldest open operation is finished: keep it, if lending may still need it.
 *  @param kept_out  whether it is kept: then it gets FINISH now, and RETIRE later (dcli_lending_next_retired()).
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_lending_finished(dcli_node *node, const struct dcli_open_op *op, bool *kept_out);
/** Get the action RETIRE for the next kept operation. @return false: none can retire now. */
bool dcli_lending_next_retired(dcli_node *node, dcli_action *action);
/** A node that has a loan of an operation; -1: no batch of the operation is lent. */
int dcli_lending_awaited(const dcli_node *node, const struct dcli_open_op *op);
void dcli_lending_explain(const dcli_node *node, dcli_text *text);

/* ---- node_failures.c: failures here and elsewhere */

/** Queue a FAILED action, once per operation, and record that the contents of the operation's outputs are undefined.
 *  @param cause  the failure was found here; false: it follows from another failure. */
dcl_status dcli_tell_failed(dcli_node *node, struct dcli_open_op *op, dcl_status status, bool cause);
/** Host: record the storages that a newly received operation writes. */
dcl_status dcli_note_written(dcli_node *node, const dcli_operation *operation);
/** Take over the failures that peers have told of for a newly received operation. */
dcl_status dcli_take_foretold(dcli_node *node, int64_t operation);

/* ---- node_event.c: messages and ends */

/** Process the messages that arrived before their operation. */
dcl_status dcli_replay_early(dcli_node *node, int64_t number);
/** Record that a peer needs to hear when our watermarks reach an operation. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_be_heard(dcli_node *node, int peer, int64_t operation);
/** Change the state of batch `b`, which waits, to `state`: RUNS or LENT. Moves op->next on if `b` was the first that
 *  waits. */
void dcli_leave_waiting(struct dcli_open_op *op, int64_t b, enum dcli_batch_state state);
/** Record that a batch that was started has ended, or was skipped. */
void dcli_end_batch(dcli_node *node, struct dcli_open_op *op, int64_t b, dcl_status status);

#endif
