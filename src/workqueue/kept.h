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

/** A replica: a box of a storage that a node has in memory of its own. */
typedef struct dcli_copy {
    int64_t storage;
    dcl_box box; /* may extend beyond a periodic axis */
    int64_t bytes;
    dcli_policy policy;
} dcli_copy;

typedef struct dcli_node_copies {
    dcli_copy *copy; /* [count] oldest first; those of one storage may overlap */
    int64_t count, capacity;
    int64_t bytes; /* of those that count against the budget */
} dcli_node_copies;

/** The record. Start with {.node_count = n} and nodes NULL: allocated at first use. */
typedef struct dcli_kept {
    int node_count;
    int64_t generation;     /* generation of all replicas: dcli_operand.kept of the operations that made them */
    dcli_node_copies *node; /* [node_count] */
} dcli_kept;

/** Whether an operation may make replicas. */
bool dcli_keeps(const dcli_operation *operation);
/** A description of a node's replicas before an operation, as numbers: equal numbers mean equal plans. Start with
 *  {0}. */
typedef struct dcli_kept_state {
    int64_t *number; /* [count] */
    int64_t count, capacity;
} dcli_kept_state;

/** Describe a node's replicas that an operation may use; empty if it uses none. @return DCL_OK, or DCL_ERR_NOMEM: the
 *  state is then invalid. */
dcl_status dcli_kept_describe(const dcli_kept *kept, int node, const dcli_operation *operation,
                              dcli_kept_state *state_out);
/** Iterate over a node's replicas of an operand's storage. @param after  the previous one, NULL at first. @return NULL:
 *  no more. */
const dcli_copy *dcli_kept_next(const dcli_kept *kept, int node, const dcli_operand *operand, const dcli_copy *after);
/** Bytes of a node's replicas that count against its budget. */
int64_t dcli_kept_bytes(const dcli_kept *kept, int node);

/** Callback for a dropped replica. */
typedef void dcli_dropped_fn(void *user, int node, const dcli_copy *copy);
/** Before an operation is planned for any node: if it begins a new generation, drop all replicas. @param dropped  NULL:
 *  no callback. */
void dcli_kept_begin(dcli_kept *kept, const dcli_operation *operation, dcli_dropped_fn *dropped, void *user);
/** Add the replicas that a node makes in an operation, by its plan. Call for all nodes before dcli_kept_write().
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_kept_add(dcli_kept *kept, int node, const dcli_operation *operation, const dcli_plan *plan);
/** Drop replicas of what an operation writes, or drops. @param dropped  as above. */
void dcli_kept_write(dcli_kept *kept, const dcli_operation *operation, dcli_dropped_fn *dropped, void *user);
void dcli_kept_free(dcli_kept *kept);

#endif
