/* workqueue/loan_inside.h - shared by the files of lending, loan*.c only. */
#ifndef DCLI_WORKQUEUE_LOAN_INSIDE_H
#define DCLI_WORKQUEUE_LOAN_INSIDE_H

#include "workqueue/node_inside.h"

/* The state of a loan that this node has made. In the first three states the thief's answer is still to come. */
enum dcli_loan_out_state {
    DCLI_OUT_LENT,
    DCLI_OUT_RECALLED, /* asked back; the thief's answer decides */
    DCLI_OUT_VOID,     /* taken back: the thief's answer will be dropped */
    DCLI_OUT_ARRIVED,  /* the result has arrived; COMMIT_LOAN is due */
    DCLI_OUT_COMMITS,  /* COMMIT_LOAN was returned, and has not ended */
    DCLI_OUT_LATE      /* taken back, and its result has arrived; DROP_LOAN is due */
};

struct dcli_loan_out {
    enum dcli_loan_out_state state;
    int thief;
    int64_t question, operation, batch, count;
    int64_t result_bytes; /* reserved for the result */
    bool in_place;        /* the thief reads parts of nodes in place, perhaps its own */
};

/* The state of a loan to this node. */
enum dcli_loan_in_state {
    DCLI_IN_HELD, /* waits for inputs, or for its turn to run */
    DCLI_IN_RUNS,
    DCLI_IN_DROPPED, /* runs, but its victim is lost */
    DCLI_IN_RESULT,  /* RESULT is due */
    DCLI_IN_RETURN,  /* RETURNED is due */
    DCLI_IN_FORGET   /* FORGET is due */
};

struct dcli_loan_in {
    enum dcli_loan_in_state state;
    int victim;
    int64_t question, operation, batch, count;
    int64_t bytes;           /* reserved of terms.loan_bytes */
    int64_t chunks, arrived; /* number of input chunks; number of those that have arrived */
};

/* The questions between this node and `peer`, in both directions. */
struct dcli_loan_peer {
    int peer;
    bool asking;                            /* our question to `peer` is open */
    int64_t asked;                          /* number of our last question to `peer` */
    int64_t ask_first, ask_upto, ask_bytes; /* what our last question says */
    int64_t questions;                      /* number of the last question of `peer` to us; it is open while `peer`
                                               is listed in dcli_lending.hungry */
    int64_t hungry_first, hungry_upto, hungry_bytes; /* what that question says */
    int64_t looked_upto, may_lend; /* of the operations up to the first number, `may_lend` is the last one that `peer`
                                      may lend (dcli_may_be_lent()); 0: there is none */
};

struct dcli_lending {
    struct dcli_loan_peer *peer; /* by number, ascending: those that have asked, or were asked */
    int64_t peer_count, peer_capacity;
    dcli_node_list hungry;     /* nodes with an open question to this node, also absent ones */
    int64_t asking;            /* number of this node's open questions */
    struct dcli_loan_out *out; /* [out_count] loans that this node has made, in no order */
    int64_t out_count, out_capacity;
    struct dcli_loan_in *in; /* [in_count] loans to this node, in the order in which they came */
    int64_t in_count, in_capacity;
    int64_t in_running; /* number of loans to this node that run */
    dcli_action *due;   /* [due_count] ASK, NOTHING, LEND, RECALL: to be returned in this order; but LEND and RECALL
                           wait while the node is held, and others pass them then */
    int64_t due_count, due_capacity;
    int64_t lendable;            /* number of open and kept operations that may be lent (dcli_may_be_lent_by_any()) */
    const dcli_operation **kept; /* [kept_first .. kept_count) finished operations that are not retired, ascending */
    int64_t kept_first, kept_count, kept_capacity;
    int64_t loan_used, result_used; /* bytes reserved of terms.loan_bytes and terms.result_bytes */
    bool stopped;                   /* dcli_node_stop_lending() */
};

/** Whether `peer` can ask this node or be asked by it. The host cannot, nor this node itself; nobody can if this node
 *  takes no part in lending (terms.loan_of). */
static inline bool dcli_loan_allows(const dcli_node *node, int peer)
{
    return node->lending != NULL && peer >= 0 && dcli_is_node(node, peer) && peer != node->terms.self;
}

static inline bool dcli_loan_is_hungry(const dcli_node *node, int peer)
{
    return dcli_node_list_has(&node->lending->hungry, peer);
}

/** Whether a loan is neither answered nor taken back, so that its batches are in state DCLI_BATCH_LENT. */
static inline bool dcli_loan_is_out(const struct dcli_loan_out *out)
{
    return out->state == DCLI_OUT_LENT || out->state == DCLI_OUT_RECALLED;
}

/* ---- loan.c */

/** The record of questions between this node and a peer; NULL: there is none. */
struct dcli_loan_peer *dcli_loan_peer_of(const struct dcli_lending *lending, int peer);
/** As dcli_loan_peer_of(), but makes the record if there is none. @return NULL: DCL_ERR_NOMEM */
struct dcli_loan_peer *dcli_loan_meet(struct dcli_lending *lending, int peer);
/** The number of the oldest operation that is open or kept; if there is none, of the next operation to come. Operations
 *  from there on that this node has seen are open or kept, except those that may not be lent
 *  (dcli_may_be_lent_by_any()) and are retired. */
int64_t dcli_loan_oldest(const dcli_node *node);
/** An open or kept operation; NULL: it is neither. */
const dcli_operation *dcli_loan_operation(const dcli_node *node, int64_t number);
/** Record that peer `from` sent `what`, which no correct peer sends. @return DCL_ERR_PROTOCOL */
dcl_status dcli_loan_refuse(int from, const char *what, int64_t question);
/** Queue a message: dcli_loan_make_due() makes room for it, dcli_loan_be_due() appends it and cannot fail. */
dcl_status dcli_loan_make_due(struct dcli_lending *lending);
void dcli_loan_be_due(struct dcli_lending *lending, const dcli_action *action);
/** In debug builds: check the invariants of all loans. */
void dcli_loan_check(const dcli_node *node);

/* ---- loan_thief.c */

/** Get the next action for a loan that has come to its end here: send a result, return a loan that was not run or has
 *  failed, or forget one. @return false: there is none. */
bool dcli_thief_next(dcli_node *node, dcli_action *action);
/** Handle the loss of `peer`, which is already marked as absent: the victim of a loan, or a node that has a part of an
 *  array that a loan's operation names. */
void dcli_thief_loses(dcli_node *node, int peer);

/* ---- loan_victim.c */

/** Get the next action NOTHING, for a question that no loan can answer any more. @return false: there is none. */
bool dcli_victim_next_nothing(dcli_node *node, dcli_action *action);
/** Get the next action COMMIT_LOAN or DROP_LOAN. @return false: there is none. */
bool dcli_victim_next_result(dcli_node *node, dcli_action *action);
/** Handle the loss of `peer`, as a thief. */
void dcli_victim_loses(dcli_node *node, int peer);

#endif
