/* lower/rows.h - what a batch of a loop body needs before it can run, made once for every plan. */
#ifndef DCLI_WORKER_EXEC_PREPARE_H
#define DCLI_WORKER_EXEC_PREPARE_H

#include "worker/peer.h"

/** Whether kernels get their rows one by one, as values. */
static inline bool dcli_exec_row_per_launch(const dcli_worker *worker, const dcli_body *body)
{
    return body->tile_kernel || dcli_device_is_gpu(worker->device);
}

/** A work as a row; layout: kernel/body.h.
 *  @param planned_only  affine accesses are checked against what was planned, not against grids.
 *  @param base          [access_count] elements added to the offsets of bindings. */
void dcli_fill_row(const dcli_entry *entry, bool planned_only, const dcli_work *work, const dcli_binding bindings[],
                   const int64_t base[], int64_t row[]);

/** A launch that binds its arguments so, and is of this variant; a new one when there is none. NULL: DCL_ERR_NOMEM. Cost: it is
 *  found by a hash, as hashed arrays may be bound in as many ways as nodes to the power of their number.
 *  @param like  not one of `prepared`. */
dcli_launch *dcli_launch_like(dcli_prepared *prepared, const dcli_launch *like, int accesses);

/** Room for one more row. NULL: DCL_ERR_NOMEM. */
int64_t *dcli_next_row(dcli_launch *launch, int length);

/** Find places for the stages, the copies that fill them, and the rows that kernels run.
 *  @return DCL_OK: prepared->ready; or DCL_ERR_NOMEM, DCL_ERR_DEVICE: prepared is as it was, the next try begins anew. */
dcl_status dcli_exec_prepare(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_batch *batch, dcli_prepared *prepared);

#endif
