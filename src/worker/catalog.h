/* worker/catalog.h - what a peer knows from descriptors. Each part is a type of its own; this one combines them. Used
 * by the thread of its peer. */
#ifndef DCLI_WORKER_CATALOG_H
#define DCLI_WORKER_CATALOG_H

#include "worker/entries.h"
#include "worker/kernels.h"
#include "worker/plans.h"
#include "worker/process_data.h"
#include "worker/replicas.h"
#include "worker/storage_table.h"

typedef struct dcli_catalog {
    int self, node_count;
    dcli_storage_table storage_table; /* storages and layouts */
    dcli_kernels kernels;             /* bodies and programs */
    dcli_entries entries;             /* open operations */
    dcli_plans plans;
    dcli_replicas replicas; /* the record of all nodes' replicas, and the memory of this node's */
} dcli_catalog;

/** Initialize. @param process_data  outlives it. */
void dcli_catalog_init(dcli_catalog *catalog, int self, const dcli_plan_terms *terms, dcli_process_data *process_data,
                       int64_t most_plan_bytes);
/** Free. dcli_catalog_release_device() must have released device memory and programs before. */
void dcli_catalog_free(dcli_catalog *catalog);
void dcli_catalog_release_device(dcli_catalog *catalog);

/** Make an open operation from its descriptor. A CREATE also makes its storage known; after a RELEASE, later operations
 *  that name its storage are refused. @return DCL_OK; DCL_ERR_PROTOCOL, or the errors of checks of grids, maps,
 *  boxes, views and accesses (DCL_ERR_INVALID, DCL_ERR_RANGE, DCL_ERR_BODY, DCL_ERR_UNSUPPORTED), for what a correct
 *  host does not send; DCL_ERR_NOMEM. */
dcl_status dcli_catalog_add(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry **entry_out);
/** Make an open operation that differs from an open one, `like`, in its number only. @return DCL_ERR_INVALID: it cannot
 *  be made so; make it from its descriptor. Else DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_catalog_repeat(dcli_catalog *catalog, const dcli_entry *like, int64_t number, dcli_entry **entry_out);
/** Record a storage that was made before this node joined: a CREATE that is not an operation here. @return as
 *  dcli_storage_table_create(); DCL_ERR_PROTOCOL also if it is no CREATE. */
dcl_status dcli_catalog_know(dcli_catalog *catalog, const dcli_msg_operation *descriptor);
/** Record the replicas that nodes retain from this operation on, and drop those that contain elements which it writes.
 *  Call it after the operation is planned for all nodes that may make replicas. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_catalog_record_replicas(dcli_catalog *catalog, dcli_entry *entry);
/** Give back what an operation holds that is complete here, but is kept for borrowed batches: its plans, and replicas
 *  that were dropped for later operations. */
void dcli_catalog_finish(dcli_catalog *catalog, dcli_entry *entry);
/** Remove an operation, open or kept. */
void dcli_catalog_retire(dcli_catalog *catalog, dcli_entry *entry);

/** Get the plan of an operation for a node, from the cache or made now; held until the operation is removed. @return
 *  NULL: DCL_ERR_NOMEM. */
dcli_cached_plan *dcli_catalog_plan(dcli_catalog *catalog, dcli_entry *entry, int node);
/** Hold the whole plan of an operation for a node that lends, cached or made now, until dcli_plans_let_go(). @return DCL_OK; DCL_ERR_INVALID: it depends on replicas, so nothing of it can be lent;
 *  DCL_ERR_NOMEM. */
dcl_status dcli_catalog_lender(dcli_catalog *catalog, dcli_entry *entry, int node, dcli_cached_plan **plan_out);

#endif
