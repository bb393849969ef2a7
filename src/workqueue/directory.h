/* workqueue/directory.h - the directory of replicas: for each node, the boxes of other nodes' elements that it has
 * copied and retained for later operations. Every process computes the same directory from the operations and their
 * plans alone. A policy says why a replica is made: for the halo of a map, for a replicated map, or because the program
 * asks for it (dcl_keep(), DCL_IN_KEPT, dcl_move()). After that all are treated alike: they are found by their box, and
 * dropped when an element in it is written. Pure. */
#ifndef DCLI_WORKQUEUE_DIRECTORY_H
#define DCLI_WORKQUEUE_DIRECTORY_H

#include "workqueue/operation.h"

typedef struct dcli_plan dcli_plan;

/** Why a node makes a replica of the elements that it receives. */
typedef enum dcli_policy {
    DCLI_POLICY_NONE, /* no replica: the elements are dropped after their operation */
    DCLI_POLICY_HALO, /* the box is in the halo that the map gives this node */
    DCLI_POLICY_MAP,  /* a replicated map gives this node all of the array */
    DCLI_POLICY_KEEP  /* the program asked for it (dcl_keep(), DCL_IN_KEPT, dcl_move()) and the budget allows it */
} dcli_policy;

/** Whether replicas of a policy count against the node's budget (DCL_KEPT_BYTES). The others belong to the map, and do
 *  not. */
static inline bool dcli_policy_counts(dcli_policy policy) { return policy == DCLI_POLICY_KEEP; }
/** The policy that applies if a node receives a box of an operand. @param near  the box is in the node's halo */
dcli_policy dcli_policy_of(const dcli_operand *operand, int node, bool near);
/** Whether some box of the operand could get a policy other than NONE at `node`: the operand makes replicas and, if its
 *  map is replicated, the map keeps a copy at `node`. */
bool dcli_policy_may(const dcli_operand *operand, int node);

/** A replica: a box of a storage that a node has in memory of its own. */
typedef struct dcli_replica {
    int64_t storage;
    dcl_box box; /* may extend beyond a periodic axis */
    int64_t bytes;
    dcli_policy policy;
} dcli_replica;

typedef struct dcli_node_replicas {
    dcli_replica *copy; /* [count] oldest first; those of one storage may overlap */
    int64_t count, capacity;
    int64_t bytes; /* bytes of the replicas that count against the budget */
} dcli_node_replicas;

/** The replicas of all nodes, as every process records them. Start with {.node_count = n} and `node` NULL; the lists
 *  are allocated at first use. */
typedef struct dcli_directory {
    int node_count;
    int64_t generation;       /* of all replicas here; they are dropped before an operation whose
                                 dcli_operand.generation is larger */
    dcli_node_replicas *node; /* [node_count] the replicas of each node */
} dcli_directory;

/** Whether an operation may make replicas. */
bool dcli_makes_replicas(const dcli_operation *operation);
/** The replicas of a node before an operation, encoded as a list of numbers. Two equal lists lead to equal plans, so a
 *  cached plan can be found by it. Start with {0}. */
typedef struct dcli_directory_state {
    int64_t *number; /* [count] the encoded list */
    int64_t count, capacity;
} dcli_directory_state;

/** Describe a node's replicas that an operation may use; empty if it uses none. @return DCL_OK, or DCL_ERR_NOMEM: the
 *  state is then invalid. */
dcl_status dcli_directory_describe(const dcli_directory *directory, int node, const dcli_operation *operation,
                                   dcli_directory_state *state_out);
/** Iterate over a node's replicas of an operand's storage. @param after  the previous one, NULL at first. @return NULL:
 *  no more; none at all if operand->generation is 0. */
const dcli_replica *dcli_directory_next(const dcli_directory *directory, int node, const dcli_operand *operand,
                                        const dcli_replica *after);
/** Bytes of a node's replicas that count against its budget. */
int64_t dcli_directory_bytes(const dcli_directory *directory, int node);

/** Callback for a dropped replica. */
typedef void dcli_dropped_fn(void *user, int node, const dcli_replica *copy);
/** Before an operation is planned for any node: if it begins a new generation, drop all replicas. @param dropped  NULL:
 *  no callback. */
void dcli_directory_begin(dcli_directory *directory, const dcli_operation *operation, dcli_dropped_fn *dropped,
                          void *user);
/** Add the replicas that a node makes in an operation, by its plan. Call for all nodes before dcli_directory_write().
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_directory_add(dcli_directory *directory, int node, const dcli_operation *operation,
                              const dcli_plan *plan);
/** Drop, at all nodes, the replicas that intersect the box which an operation may write in an operand; if the operand
 *  is reshaped, all replicas of its storage; DROP: the replicas of the operation's operands.
 *  @param dropped  called for each; NULL: no callback. */
void dcli_directory_write(dcli_directory *directory, const dcli_operation *operation, dcli_dropped_fn *dropped,
                          void *user);
void dcli_directory_free(dcli_directory *directory);

#endif
