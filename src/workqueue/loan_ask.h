/* workqueue/loan_ask.h - whom a node asks for work. Decides like an executor of the state machine (loan.h), without
 * clock and messages; worker processes and the simulator use the same. */
#ifndef DCLI_WORKQUEUE_LOAN_ASK_H
#define DCLI_WORKQUEUE_LOAN_ASK_H

#include "workqueue/loan.h"

enum {
    DCLI_ASK_NEAR = 4, /* most nodes that a node asks because they are on its host */
    DCLI_ASK_MOST = 16 /* most nodes that a node asks at all */
};

/** A node that is asked for work. */
typedef struct dcli_asked {
    int node;
    int64_t refused_upto; /* `node` is not asked again for operations up to this one: it was asked for them, or
                             cannot have batches of them to lend; 0 after a loan */
    int64_t next_ns;      /* `node` is not asked before this time */
    int64_t pause_ns;     /* time between the last refusal and the next question */
} dcli_asked;

/** The nodes that a node asks, in this order; they stay the same until nodes join or are lost. */
typedef struct dcli_asking {
    dcli_asked victim[DCLI_ASK_MOST];
    int count;
    int next;               /* index in `victim` of the node that is asked next */
    int open;               /* number of questions without an answer */
    int64_t question_bytes; /* most bytes that a question reserves */
} dcli_asking;

/** Choose the nodes to ask among those that are present. First come at most DCLI_ASK_NEAR nodes of the same host, whose
 *  numbers differ from `self` by at most DCLI_ASK_NEAR: higher numbers, and lower ones only if these are too few. Then
 *  others are chosen at random. Every node asks at most DCLI_ASK_MOST nodes, and is asked by as many on average: so
 *  each node needs only a few links for lending, however many nodes there are. Call it again after a node joined or was
 *  lost. Nodes that are chosen again keep their history.
 *  @param asking  all zero at first.
 *  @param ways    [count]
 *  @param absent  [count] nodes that are lost or have not joined; NULL: none */
void dcli_asking_choose(dcli_asking *asking, uint64_t seed, int self, int count, const dcli_node_ways ways[],
                        const bool absent[]);
/** Set the limit of the memory that a question reserves.
 *  @param loan_bytes  terms.loan_bytes of the node */
void dcli_asking_limit(dcli_asking *asking, int64_t loan_bytes);
/** Ask nodes for work by dcli_node_ask(): those that may have batches for which they were not asked yet. A node that
 *  has refused is asked again only when a later operation is known and a pause has passed; each refusal doubles the
 *  pause. If there are at most DCLI_ASK_NEAR nodes to ask, a node that has a loan of this node is not asked: it
 *  borrowed for lack of work.
 *  @param upto       the last operation to ask for, which this node has seen.
 *  @param later_out  set to true if a node is not asked only because of its pause, or because it has a loan; else
 *                    unchanged.
 *  @return how many questions were asked. */
int dcli_asking_ask(dcli_asking *asking, dcli_node *node, int64_t upto, int64_t now_ns, bool *later_out);
/** Record that the question to `victim` was answered, or that `victim` was lost while the question was open.
 *  @param lent  the answer was LENT */
void dcli_asking_answered(dcli_asking *asking, int victim, bool lent, int64_t now_ns);

#endif
