/* workqueue/loan.h - lending: a node that has nothing to do runs batches of another node (docs/model.md, "Lending").
 * These are further events of the state machine in node.h, and questions to it.
 *
 * The node that asks is the thief, the node that it asks the victim. A thief has at most one open question per victim;
 * questions are numbered from 1 on, per victim. LENT lends consecutive batches, divided into loans: a loan is one
 * batch, or some that follow each other, which the thief runs together and returns together. A batch may be lent
 * several times: the thief, the number of the question and the first batch of the loan together identify a loan. Every
 * question gets one answer, LENT or NOTHING; every loan gets one answer, RESULT or RETURNED. Only the victim writes its
 * part.
 *
 * The state machine decides what may be lent and what must be answered. Its executor decides when to ask, how many of
 * the batches that may be lent are lent, and when to take them back. The state machine itself answers NOTHING when
 * nothing can be lent for a question any more; it asks nobody and lends nothing by itself.
 *
 * The functions that return bool are called by the executor: false means that the call is not possible now and had no
 * effect. The others are messages, or ends of actions, as in node.h. */
#ifndef DCLI_WORKQUEUE_LOAN_H
#define DCLI_WORKQUEUE_LOAN_H

#include "workqueue/node.h"

/** The end of the loan that begins with `batch`, if batches up to `end` are lent in loans of `each`. Loans are divided
 *  where a number of a batch is a multiple of `each`, so that the same loans come again, and their plans can be used
 *  again. */
static inline int64_t dcli_loan_end(int64_t batch, int64_t end, int64_t each)
{
    int64_t count = each - batch % each;
    return count < end - batch ? batch + count : end;
}

/* ---- the thief ---- */

/** Whether some node may have batches to lend of an operation that this node has seen and not retired; false without
 *  lending. Cost: constant. */
bool dcli_node_may_borrow(const dcli_node *node);
/** Whether `victim` may have batches to lend of an operation up to `upto` that this node has seen and not retired: see
 *  dcli_may_be_lent(). If not, `victim` need not be asked. `upto` is at least that of the last call for `victim`.
 *  Requires terms.loan_of. Cost: the number of operations for which it was not called yet. */
bool dcli_node_may_get(dcli_node *node, int victim, int64_t upto);
/** Ask `victim` for work: action ASK follows. The question reserves `bytes` of terms.loan_bytes, and names the
 *  operations up to `upto` that this node has seen and not retired.
 *  @return false: `victim` is absent, is this node or takes no part in lending; lending has stopped; a question to
 *          `victim` is open; this node knows no operation up to `upto` that is not retired; `bytes` is less than 1 or
 *          more than dcli_node_loan_room(); or there is no memory for the action. */
bool dcli_node_ask(dcli_node *node, int victim, int64_t upto, int64_t bytes);
/** Bytes of terms.loan_bytes that are reserved neither by open questions nor by loans to this node; 0 without
 *  lending. */
int64_t dcli_node_loan_room(const dcli_node *node);
/** Whether this node's question to `victim` has no answer yet. */
bool dcli_node_is_asking(const dcli_node *node, int victim);

/** Peer `from` lends batches `first` .. `first` + `count` - 1 of its plan for an operation, in loans of `each`, in
 *  answer to a question. Their inputs follow. In the functions that follow, `batch` is the first batch of a loan. */
dcl_status dcli_node_lent(dcli_node *node, int from, int64_t question, int64_t operation, int64_t first, int64_t count,
                          int64_t each);
/** Input chunk `chunk` of a loan has arrived; chunks come in the order of their numbers in the loan's plan.
 *  @param wanted_out  whether the executor keeps the chunk until RESULT, RETURNED or FORGET names the loan; false: the
 *                     executor frees the chunk. */
dcl_status dcli_node_loan_chunk(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch,
                                int64_t chunk, bool *wanted_out);
/** Peer `from` answers a question: it lends nothing. */
dcl_status dcli_node_nothing(dcli_node *node, int from, int64_t question);
/** Peer `from` asks a loan back. If the loan has not begun here, RETURNED follows. */
dcl_status dcli_node_recall(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch);
/** The loan of a RUN_LOAN has ended. If `status` is DCL_OK, RESULT follows; otherwise RETURNED, because the thief never
 *  fails an operation of its victim; or FORGET, if the victim is lost.
 *  @return DCL_OK; DCL_ERR_INTERNAL: no such loan runs. */
dcl_status dcli_node_loan_done(dcli_node *node, int victim, int64_t question, int64_t batch, dcl_status status);

/* ---- the victim ---- */

/** Peer `from` asks for work: it knows the operations `first` .. `upto`, and has reserved `bytes` for all loans of the
 *  answer together (dcli_loan_size.bytes). */
dcl_status dcli_node_hungry(dcli_node *node, int from, int64_t question, int64_t first, int64_t upto, int64_t bytes);
/** The next present node after `after` (-1: the first) whose question to this node is open. @return -1: there is none.
 *  Cost without questions: a comparison. */
int dcli_node_next_hungry(const dcli_node *node, int after);

/** What can be lent to a thief now: batches `first` .. `end` - 1 of the operation. dcli_node_lend() lends all of them
 *  or fewer, always the last ones. */
typedef struct dcli_offer {
    const dcli_operation *operation;
    int64_t first, end;
    int64_t waiting; /* batches of the operation that are neither started nor lent, including those offered */
} dcli_offer;

/** Find what can be lent to `thief`, which asks: up to `most` batches, in loans of `each`, as many as both nodes have
 *  memory for. @return false: nothing can be lent now: `thief` is absent or has no open question; lending has stopped;
 *  the question does not name the operation whose batches this node starts next; or no batch of that operation may be
 *  lent, or fits the memory. Cost: the batches of one operation, for each
 *  batch offered the chunks of the operation, and terms.loan_of() for each loan. */
bool dcli_node_offer(dcli_node *node, int thief, int64_t most, int64_t each, dcli_offer *offer_out);
/** Lend the last `count` of the batches that dcli_node_offer() finds, with `each` batches per loan. Action LEND
 *  follows, which answers the question of `thief`.
 *  @return false: `count` is less than 1; dcli_node_offer() now finds fewer batches, or batches of another operation;
 *          the node is held; or there is no memory. */
bool dcli_node_lend(dcli_node *node, int thief, int64_t operation, int64_t count, int64_t each);
/** Answer the question of `thief` with NOTHING. @return false: `thief` is absent or has no open question, or there is
 *  no memory for the action. */
bool dcli_node_refuse(dcli_node *node, int thief);
/** Ask a loan back: action RECALL follows. If the thief reads nothing in place for the loan, its batches are this
 *  node's again at once, and the thief's answer is dropped when it comes; otherwise the answer decides.
 *  @return false: no loan that begins with `batch` is lent, it was asked back already, or there is no memory for the
 *          action. */
bool dcli_node_take_back(dcli_node *node, int64_t operation, int64_t batch);
/** The answer to a loan has arrived.
 *  @param computed  true: RESULT; the executor keeps what came with it until COMMIT_LOAN or DROP_LOAN names the loan.
 *                   false: RETURNED. */
dcl_status dcli_node_result(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch,
                            bool computed);

/** A loan that this node has made, which is neither answered nor taken back. */
typedef struct dcli_lent_batch {
    int64_t operation, batch, count, question;
    int thief;
    bool recalled; /* asked back; the thief's answer decides */
} dcli_lent_batch;

/** Get loan number `n`, from 0 on, of those that this node has made and that are neither answered nor taken back.
 *  Numbers may change with each event and action. @return false: there are no more. */
bool dcli_node_lent_batch(const dcli_node *node, int64_t n, dcli_lent_batch *batch_out);

/** Whether `thief` has a loan of this node that is neither answered nor taken back. */
bool dcli_node_has_lent(const dcli_node *node, int thief);

/** From now on this node sends no question and lends nothing: finished operations need not be kept for questions, and
 *  all open questions of other nodes get NOTHING. Loans that are under way go on. */
void dcli_node_stop_lending(dcli_node *node);

#endif
