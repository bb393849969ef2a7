/* worker/replicas.h - replicas: copies of other nodes' elements that outlive the operation they were moved for. The
 * record of all nodes' replicas is equal on all peers; the memory is that of this node's. Used by the thread of its
 * peer. */
#ifndef DCLI_WORKER_REPLICAS_H
#define DCLI_WORKER_REPLICAS_H

#include "device/device.h"
#include "workqueue/plan.h"

/** Memory of a replica at this node; valid for operations from `from` to `until` - 1. */
typedef struct dcli_replica_memory {
    int64_t storage;
    dcl_box box;
    int64_t from, until;
    dcli_memory *memory; /* memory with the elements; NULL: not allocated yet */
    bool filled;         /* commands that copy all pieces into it have been queued; later commands find it complete */
    struct dcli_replica_memory *next;
} dcli_replica_memory;

enum { DCLI_REPLICA_BUCKETS = 1024 }; /* number of hash buckets, for as many replicas as a node may have of one array */

typedef struct dcli_replicas {
    int self;
    dcli_directory directory;                          /* record of all nodes, after the last operation added */
    dcli_replica_memory *copies[DCLI_REPLICA_BUCKETS]; /* hash table, by storage and box, of the replicas that no
                                                          operation added so far drops */
    dcli_replica_memory *ending, *last_ending;         /* dropped replicas that operations may still use, sorted by
                                                       `until` */
} dcli_replicas;

/** Free; device memory was released before: dcli_replicas_end() of INT64_MAX. */
void dcli_replicas_free(dcli_replicas *replicas);

/** Before an operation is planned: drop replicas of older generations. */
void dcli_replicas_begin(dcli_replicas *replicas, const dcli_operation *operation);
/** Record the replicas that a node makes in this operation, by its plan. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_replicas_add(dcli_replicas *replicas, int node, const dcli_operation *operation, const dcli_plan *plan);
/** After the replicas of all nodes are recorded: drop replicas of what the operation writes, from the next operation
 *  on. */
void dcli_replicas_write(dcli_replicas *replicas, const dcli_operation *operation);
/** Find this node's replica of a box of an operand, for an open operation; NULL: there is none. */
dcli_replica_memory *dcli_replicas_find(const dcli_replicas *replicas, const dcli_operation *operation, int operand,
                                        const dcl_box *box);
/** Bytes of all replicas. Cost: their number. */
size_t dcli_replicas_bytes(const dcli_replicas *replicas);
/** Free replicas that no operation from `first_open` on uses; INT64_MAX: all. */
void dcli_replicas_end(dcli_replicas *replicas, int64_t first_open);

#endif
