/* workqueue/kept.h - the directory of replicas: which copies of other nodes' elements nodes keep for later operations. Every
 * process keeps the same directory, from the operations and their plans alone. Halos of maps, replicated maps, arrays that are
 * kept and dcl_move() are policies: they say when a replica is made. From then on all replicas are treated alike: found by
 * their box, and struck out when an element of it is written. Pure. */
#ifndef DCLI_WORKQUEUE_KEPT_H
#define DCLI_WORKQUEUE_KEPT_H

#include "workqueue/operation.h"

typedef struct dcli_plan dcli_plan;

/** By which rule a node makes a replica of what it receives. */
typedef enum dcli_policy {
    DCLI_POLICY_NONE, /* it makes none: elements end with their operation */
    DCLI_POLICY_HALO, /* the box is in the halo that the map gives this node */
    DCLI_POLICY_MAP,  /* a replicated map gives this node all of the array */
    DCLI_POLICY_KEEP  /* the program asked for it: dcl_keep(), DCL_IN_KEPT, dcl_move(). While the budget lasts */
} dcli_policy;

/** Whether replicas of a policy take of the node's budget (DCL_KEPT_BYTES). The others are a part of the map. */
static inline bool dcli_policy_counts(dcli_policy policy) { return policy == DCLI_POLICY_KEEP; }
/** The policy for a box of an operand at a node. @param near  the box is in the node's halo */
dcli_policy dcli_policy_of(const dcli_operand *operand, int node, bool near);
/** Whether there may be a policy for some box of it. */
bool dcli_policy_may(const dcli_operand *operand, int node);

/** A copy of a box of a storage, as a node has it packed in its memory. */
typedef struct dcli_copy {
    int64_t storage;
    dcl_box box; /* may go beyond an axis that is periodic */
    int64_t bytes;
    dcli_policy policy;
} dcli_copy;

typedef struct dcli_node_copies {
    dcli_copy *copy; /* [count] disjoint for one storage or not, oldest first */
    int64_t count, capacity;
    int64_t bytes; /* of those that count against the budget */
} dcli_node_copies;

/** The books. Start with {.node_count = n} and nodes NULL: made at the first use. */
typedef struct dcli_kept {
    int node_count;
    int64_t generation;     /* of all copies: dcli_operand.kept of the operations that made them */
    dcli_node_copies *node; /* [node_count] */
} dcli_kept;

/** Whether copies may be made in an operation. */
bool dcli_keeps(const dcli_operation *operation);
/** What a node has before an operation: equal numbers, equal plans. Start with {0}. */
typedef struct dcli_kept_state {
    int64_t *number; /* [count] */
    int64_t count, capacity;
} dcli_kept_state;

/** Describe what a node has of the copies that an operation may use: nothing where it uses none.
 *  @return DCL_OK, or DCL_ERR_NOMEM: the state is of no use then. */
dcl_status dcli_kept_describe(const dcli_kept *kept, int node, const dcli_operation *operation,
                              dcli_kept_state *state_out);
/** A node's copies of an operand's storage, one after the other. @param after  the one before, NULL: none
 *  yet. @return NULL: no more. */
const dcli_copy *dcli_kept_next(const dcli_kept *kept, int node, const dcli_operand *operand, const dcli_copy *after);
/** Bytes that a node's copies take of its budget. */
int64_t dcli_kept_bytes(const dcli_kept *kept, int node);

/** Called with a copy that is no more. */
typedef void dcli_dropped_fn(void *user, int node, const dcli_copy *copy);
/** Before an operation is planned for any node: when it begins a new generation, strike out everything.
 *  @param dropped  NULL: nobody wants to know. */
void dcli_kept_begin(dcli_kept *kept, const dcli_operation *operation, dcli_dropped_fn *dropped, void *user);
/** Enter what a node copies in an operation, by its plan. Call for all nodes before dcli_kept_write().
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_kept_add(dcli_kept *kept, int node, const dcli_operation *operation, const dcli_plan *plan);
/** Strike out copies of what an operation writes, or drops. @param dropped  as above. */
void dcli_kept_write(dcli_kept *kept, const dcli_operation *operation, dcli_dropped_fn *dropped, void *user);
void dcli_kept_free(dcli_kept *kept);

#endif
