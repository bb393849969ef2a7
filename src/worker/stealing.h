/* worker/stealing.h - stealing: a node that has nothing to do runs batches of another node. Used by the thread of its
 * node.
 *
 * The protocol is that of workqueue/loan.h. stealing.c decides when to ask, what to lend and what to take back; loans.c
 * carries out the actions, and handles the messages. */
#ifndef DCLI_WORKER_STEALING_H
#define DCLI_WORKER_STEALING_H

#include "base/config.h"
#include "worker/cost.h"
#include "worker/peer.h"
#include "worker/plans.h"
#include "workqueue/loan_ask.h"

/** A loan to this node: batches of another one, which it runs together. */
typedef struct dcli_borrowed {
    int victim;
    int64_t question, batch;    /* `batch` is the first one */
    dcli_entry *entry;          /* its operation, which is not retired before */
    dcli_cached_plan *plan;     /* the victim's plan; held */
    dcli_cached_loan *loan;     /* its plan at this node */
    dcli_chunks received;       /* its inputs */
    dcli_chunks made;           /* its results */
    int64_t expected_ns;        /* predicted time on this node's device; 0: it is not known */
    int64_t ready_ns, began_ns; /* when the last of its inputs had come; when it was started; 0: it was not */
    int64_t ran_ns;             /* time of its kernels; 0: not measured */
    struct dcli_borrowed *next;
} dcli_borrowed;

/** A loan of this node. */
typedef struct dcli_lent_out {
    int thief;
    int64_t question, operation, batch, count;
    dcli_entry *entry;      /* its operation; NULL: it was taken back, so what comes is dropped */
    dcli_cached_loan *loan; /* its plan at the thief, cached with the own plan; NULL: it was taken back */
    int64_t results;        /* number of result chunks that come */
    int64_t arrived;        /* ... that have come */
    int64_t moved;          /* bytes of inputs and results that were sent for it */
    bool answered;          /* RESULT has come */
    bool recalled;          /* it was asked back */
    bool missing;           /* there was no memory for some of its results */
    bool leads;             /* it is the first of its LENT: its time shows what a loan takes beside computing */
    int64_t expected_ns;    /* time that this node would need; 0: not known */
    dcli_chunks received;   /* its results */
    int64_t lent_ns;        /* when it was lent */
    int64_t due_ns;         /* when this node would have run all of it, as far as its times predict; 0: not known */
    struct dcli_lent_out *next;
} dcli_lent_out;

/** What this node has measured of another one as a thief; medians of the last loans. */
typedef struct dcli_thief {
    uint64_t kind;         /* `kind` in its last question */
    int64_t free_ns;       /* when it can begin, as it said in its last question */
    dcli_cost times;       /* how many times as long it computes as this node */
    dcli_cost message_ns;  /* a message, from small loans */
    dcli_cost ns_per_byte; /* bytes that are sent, from large loans */
} dcli_thief;

typedef struct dcli_stealing {
    dcli_steal steal;
    uint64_t kind;                    /* hash of the kind of this node's device */
    int64_t loan_bytes, result_bytes; /* as in dcli_node_terms */
    dcli_borrowed *borrowed;
    dcli_lent_out *lent;
    dcli_asking asking;
    dcli_thief *thief;         /* [node_count] */
    dcli_compiling *compiling; /* a body that this node may borrow batches of; NULL: none is being compiled */
    int64_t compiled;          /* its number; or of the last one that was */
    bool failed;               /* the last one could not be compiled */
    int64_t ready_upto;        /* operations up to this one need no compiling before batches of them can start here */
} dcli_stealing;

/** Open: if the session lends, set the fields of `terms` that concern lending. */
dcl_status dcli_stealing_open(dcli_worker *worker, dcli_node_terms *terms);
/** End of serving: wait until the compiler ends. The watchdog must still run then, because the compiler may hang. */
void dcli_stealing_stop(dcli_worker *worker);
/** Call this instead of dcli_stealing_stop() for a node that was given up: it leaves the compiler alone, and nothing
 *  may be freed then. */
void dcli_stealing_leave(dcli_worker *worker);
/** Choose again which nodes to ask, after nodes have joined or were lost. */
void dcli_stealing_members(dcli_worker *worker);
/** Free, while the device is open. */
void dcli_stealing_close(dcli_worker *worker);
/** Number of other nodes that are present now, at most DCLI_ASK_MOST; 0 without stealing. (terms.node_count counts places for
 *  nodes that may join, too.) */
int dcli_stealing_others(const dcli_worker *worker);

/* ---- decisions (stealing.c) ---- */

/** Answer questions. If this node has nothing left to run, take back lent batches that probably were not begun, or are
 *  late. Called once per turn of the loop. */
void dcli_stealing_decide(dcli_worker *worker);
/** If the node has little to do, ask others. *asked_out: it has asked. @return milliseconds after which to try again; -1:
 *  there is no need to. */
int dcli_stealing_ask(dcli_worker *worker, bool *asked_out);
/** The program of a body is needed now: wait for it if it is being compiled to borrow batches. */
void dcli_stealing_built(dcli_worker *worker, const dcli_kernel *kernel);
/** The result of a lent batch has come: learn from the times, and count its bytes as in vain if it comes late. */
void dcli_stealing_learn(dcli_worker *worker, const dcli_lent_out *lent, const dcli_msg_result *result);
/** Note from a node's question the kind of its device, and when the device becomes free. */
void dcli_stealing_asked(dcli_worker *worker, int thief, const dcli_msg_hungry *hungry);
/** Note that a node has answered a question of this node, or is lost. */
void dcli_stealing_answered(dcli_worker *worker, int victim, bool lent);
/** Bytes of data that other nodes may send for lent batches. */
int64_t dcli_stealing_bytes(const dcli_worker *worker);
/** Ask a lent batch back, if it was not asked back before. */
void dcli_stealing_take_back(dcli_worker *worker, dcli_lent_out *lent);

/* ---- actions and messages (loans.c) ---- */

/** The function for dcli_node_terms.loan_of. */
dcl_status dcli_loan_of(void *worker, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                        int thief, dcli_loan_size *size_out);
dcli_lent_out *dcli_lent_find(const dcli_stealing *stealing, int thief, int64_t question, int64_t batch);
void dcli_lent_free(dcli_stealing *stealing, dcli_lent_out *lent);
void dcli_borrowed_free(dcli_worker *worker, dcli_borrowed *borrowed);
/** Carry out an action of lending. */
dcl_status dcli_loan_perform(dcli_worker *worker, const dcli_action *action);
/** A loan to this node has ended. @param ns  time of its kernels; 0: not measured. */
dcl_status dcli_borrowed_ended(dcli_worker *worker, dcli_borrowed *borrowed, int64_t ns, dcl_status status);
/** Whether a message belongs to lending; handle it. */
bool dcli_loan_is_message(dcli_message_kind kind);
dcl_status dcli_loan_hear(dcli_worker *worker, dcli_received *received);
/** A node is lost: forget what was lent to it and not returned. */
void dcli_loan_loses(dcli_worker *worker, int peer);

#endif
