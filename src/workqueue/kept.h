/* workqueue/kept.h - which copies of other nodes' elements nodes keep for later operations: books that every process keeps
 * alike, from the operations and their plans alone. Pure. */
#ifndef DCLI_WORKQUEUE_KEPT_H
#define DCLI_WORKQUEUE_KEPT_H

#include "workqueue/operation.h"

typedef struct dcli_plan dcli_plan;

/** A copy of a box of a storage, as a node has it packed in its memory. */
typedef struct dcli_copy {
    int64_t storage;
    dcl_box box; /* may go beyond an axis that is periodic */
    int64_t bytes;
    bool counted; /* against the budget */
} dcli_copy;

typedef struct dcli_node_copies {
    dcli_copy *copy; /* [count] disjoint for one storage or not, oldest first */
    int64_t count, capacity;
    int64_t bytes; /* of those that count */
} dcli_node_copies;

/** The books. Start with {.node_count = n} and nodes NULL: made at the first use. */
typedef struct dcli_kept {
    int node_count;
    int64_t generation;     /* of all copies: dcli_operand.kept of the operations that made them */
    dcli_node_copies *node; /* [node_count] */
} dcli_kept;

/** Whether copies may be made in an operation. */
bool dcli_keeps(const dcli_operation *operation);
/** Whether a copy of an operand at a node takes of the node's budget: not where its map asks for copies. */
bool dcli_kept_counts(const dcli_operand *operand, int node);
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
