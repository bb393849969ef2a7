/* workqueue/loan_ask.h - whom a node asks for work. Decides like an executor of the state machine (loan.h), without
 * clock and messages; worker processes and the simulator use the same. */
#ifndef DCLI_WORKQUEUE_LOAN_ASK_H
#define DCLI_WORKQUEUE_LOAN_ASK_H

#include "workqueue/loan.h"

enum {
    DCLI_ASK_NEAR = 4, /* nodes that a node asks because they are on its host */
    DCLI_ASK_MOST = 16 /* all that it asks */
};

/** A node that is asked for work. */
typedef struct dcli_asked {
    int node;
    int64_t refused_upto; /* it has answered no, or would have, when this node knew the operations up to this one */
    int64_t next_ns;      /* it is not asked before this time */
    int64_t pause_ns;     /* time between the last no and the next question */
} dcli_asked;

/** Whom a node asks: the same few until nodes join or are lost, in this order. */
typedef struct dcli_asking {
    dcli_asked victim[DCLI_ASK_MOST];
    int count;
    int next;               /* place of the one that is asked next */
    int open;               /* questions without an answer */
    int64_t question_bytes; /* most memory that a question reserves */
} dcli_asking;

/** Choose the nodes to ask among those that are present: those of the same host with the nearest numbers, then others at
 *  random. Every node asks at most DCLI_ASK_MOST, and is asked by as many in the mean: so stealing takes some 16 links of
 *  each node, however many nodes there are. Call it again after a node joined or was lost. Nodes that are chosen
 *  again keep their history. @param asking  all zero at first. @param ways  [count] @param absent  [count] nodes that
 *  are lost or have not joined; NULL: none */
void dcli_asking_choose(dcli_asking *asking, uint64_t seed, int self, int count, const dcli_node_ways ways[],
                        const bool absent[]);
/** Set the limit of the memory that questions reserve. @param loan_bytes  terms.loan_bytes of the node */
void dcli_asking_limit(dcli_asking *asking, int64_t loan_bytes);
/** Ask nodes for work by dcli_node_ask(): those that may have batches for which they were not asked yet. A node that
 *  has refused is asked again only when a later operation is known and a pause has passed; each refusal doubles the
 *  pause. If this node asks at most DCLI_ASK_NEAR others, it does not ask one that still has batches of its own: that
 *  one borrowed them for lack of work.
 *  @param upto  the last operation to ask for, which this node has seen.
 *  @param later_out  set to true if a node may be asked after a pause.
 *  @return how many were asked. */
int dcli_asking_ask(dcli_asking *asking, dcli_node *node, int64_t upto, int64_t now_ns, bool *later_out);
/** Record that a question was answered, or that the node which was asked is lost. @param lent  the answer was LENT */
void dcli_asking_answered(dcli_asking *asking, int victim, bool lent, int64_t now_ns);

#endif
