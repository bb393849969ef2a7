/* worker/replicas.h - copies of other nodes' elements that outlive the operation they were moved for: the books of those of
 * all nodes, which are equal on all peers, and the memory of this node's. Used by the thread of its peer. */
#ifndef DCLI_WORKER_REPLICAS_H
#define DCLI_WORKER_REPLICAS_H

#include "device/device.h"
#include "workqueue/plan.h"

/** This node's memory of a kept copy: for operations from `from` on, below `until`. */
typedef struct dcli_copy_memory {
    int64_t storage;
    dcl_box box;
    int64_t from, until;
    dcli_memory *memory; /* NULL: none yet */
    bool filled;         /* all pieces are on their way into it, before whatever is started later */
    struct dcli_copy_memory *next;
} dcli_copy_memory;

enum { DCLI_COPY_BUCKETS = 1024 }; /* a node may have as many copies of an array */

typedef struct dcli_replicas {
    int self;
    dcli_kept books; /* of all nodes, after the last operation that was added */
    dcli_copy_memory
        *copies[DCLI_COPY_BUCKETS];         /* that no operation drops which was added so far, by storage and box */
    dcli_copy_memory *ending, *last_ending; /* dropped ones that operations may still use, by rising `until` */
} dcli_replicas;

/** Memory of the device has been given back before: dcli_replicas_end() of INT64_MAX. */
void dcli_replicas_free(dcli_replicas *replicas);

/** Before an operation is planned: copies of older generations end. */
void dcli_replicas_begin(dcli_replicas *replicas, const dcli_operation *operation);
/** Enter the copies that a node keeps from this operation on, by its plan. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_replicas_add(dcli_replicas *replicas, int node, const dcli_operation *operation, const dcli_plan *plan);
/** Once those of all nodes are entered: copies of what the operation writes end after it. */
void dcli_replicas_write(dcli_replicas *replicas, const dcli_operation *operation);
/** This node's copy of a box of an operand, for an open operation; NULL: there is none. */
dcli_copy_memory *dcli_replicas_find(const dcli_replicas *replicas, const dcli_operation *operation, int operand,
                                     const dcl_box *box);
/** Memory of all copies. Cost: their number. */
size_t dcli_replicas_bytes(const dcli_replicas *replicas);
/** Give back copies that no operation from `first_open` on uses; INT64_MAX: all. */
void dcli_replicas_end(dcli_replicas *replicas, int64_t first_open);

#endif
