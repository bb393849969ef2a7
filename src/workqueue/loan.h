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

/** Whether any node may have batches to lend of some operation that this node has seen and not retired. Cost:
 *  constant. */
bool dcli_node_may_borrow(const dcli_node *node);
/** Whether another node may have batches to lend of some operation, up to this one, that this node has seen and not
 *  retired: see dcli_may_be_lent(). A node without any need not be asked. */
bool dcli_node_may_get(const dcli_node *node, int victim, int64_t upto);
/** Ask a node for work: action ASK follows. The question reserves `bytes` of terms.loan_bytes, and names the operations
 *  up to `upto` that this node has seen and not retired.
 *  @return false: there is no such node, a question to it is open, no such operation is known here, or `bytes` is more
 *          than dcli_node_loan_room(). */
bool dcli_node_ask(dcli_node *node, int victim, int64_t upto, int64_t bytes);
/** Bytes of terms.loan_bytes that neither questions nor borrowed batches use. */
int64_t dcli_node_loan_room(const dcli_node *node);
/** Whether a question to this node has no answer yet. */
bool dcli_node_is_asking(const dcli_node *node, int victim);

/** Peer `from` lends batches `first` .. `first` + `count` - 1 of its plan for an operation, in loans of `each`, in
 *  answer to a question. Their inputs follow. In the functions that follow, `batch` is the first one of a loan. */
dcl_status dcli_node_lent(dcli_node *node, int from, int64_t question, int64_t operation, int64_t first, int64_t count,
                          int64_t each);
/** Input chunk `chunk` of a loan has arrived; chunks come in the order of their numbers in the loan's plan.
 *  @param wanted_out  whether the executor keeps it until RESULT or RETURNED names the loan; false: it frees it. */
dcl_status dcli_node_loan_chunk(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch,
                                int64_t chunk, bool *wanted_out);
/** Peer `from` lends nothing. */
dcl_status dcli_node_nothing(dcli_node *node, int from, int64_t question);
/** Peer `from` asks a loan back. If it has not begun here, RETURNED follows. */
dcl_status dcli_node_recall(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch);
/** The loan of a RUN_LOAN has ended. DCL_OK: RESULT follows; otherwise RETURNED, because the thief never fails an
 *  operation of its victim; or FORGET, if the victim is lost. */
dcl_status dcli_node_loan_done(dcli_node *node, int victim, int64_t question, int64_t batch, dcl_status status);

/* ---- the victim ---- */

/** Peer `from` asks for work; it knows operations first .. upto and has memory for `bytes` (dcli_loan_size.bytes). */
dcl_status dcli_node_hungry(dcli_node *node, int from, int64_t question, int64_t first, int64_t upto, int64_t bytes);
/** The next node after `after` (-1: the first) with an open question. @return -1: there is none. Cost without
 *  questions: a comparison. */
int dcli_node_next_hungry(const dcli_node *node, int after);

/** What can be lent to a thief now: batches [first, end) of the operation; any of the last of them may be lent. */
typedef struct dcli_offer {
    const dcli_operation *operation;
    int64_t first, end;
    int64_t waiting; /* batches of the operation that have not been started, including those offered */
} dcli_offer;

/** Find what can be lent to a thief that asks: up to `most` batches, in loans of `each`, as many as both nodes have
 *  memory for. @return false: nothing, at present. Cost: the batches of one operation, and terms.loan_of() for each
 *  loan. */
bool dcli_node_offer(dcli_node *node, int thief, int64_t most, int64_t each, dcli_offer *offer_out);
/** Lend the last `count` of the batches that dcli_node_offer() finds, with `each` batches per loan. Action LEND
 *  follows. The thief's question is then answered.
 *  @return false: fewer batches are offered now, or batches of another operation; or the node is held. */
bool dcli_node_lend(dcli_node *node, int thief, int64_t operation, int64_t count, int64_t each);
/** Answer a question with NOTHING. @return false: no question is open. */
bool dcli_node_refuse(dcli_node *node, int thief);
/** Ask a loan back: action RECALL follows. If the thief reads nothing in place for it, the batches are this node's again
 *  at once, and the thief's answer is dropped when it comes; otherwise the answer decides.
 *  @return false: the batch is not lent, or was asked back already, or there is no memory for the action. */
bool dcli_node_take_back(dcli_node *node, int64_t operation, int64_t batch);
/** The answer to a loan has arrived. @param computed  true: RESULT; the executor keeps what came with it until
 *  COMMIT_LOAN or DROP_LOAN names it. false: RETURNED. */
dcl_status dcli_node_result(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch,
                            bool computed);

/** A loan of this node. */
typedef struct dcli_lent_batch {
    int64_t operation, batch, count, question;
    int thief;
    bool recalled; /* asked back; the answer is awaited */
} dcli_lent_batch;

/** Number n, from 0 on, of the loans that are not taken back. @return false: there are no more. */
bool dcli_node_lent_batch(const dcli_node *node, int64_t n, dcli_lent_batch *batch_out);

/** Whether a node has not returned some batch that was lent to it. */
bool dcli_node_has_lent(const dcli_node *node, int thief);

/** No question will be sent or answered with a loan any more: finished operations need not be kept for questions, and
 *  all open questions of others get NOTHING. Loans that are under way go on. */
void dcli_node_stop_lending(dcli_node *node);

#endif
