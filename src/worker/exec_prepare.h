/* worker/exec_prepare.h - what a batch of a loop body needs before it can run, made once for every plan. */
#ifndef DCLI_WORKER_EXEC_PREPARE_H
#define DCLI_WORKER_EXEC_PREPARE_H

#include "worker/peer.h"

/** Whether kernels get their rows one by one, as values. */
static inline bool dcli_exec_row_per_launch(const dcli_worker *worker, const dcli_body *body)
{
    return body->tile_kernel || dcli_device_is_gpu(worker->device);
}

/** Find places for the stages, the copies that fill them, and the rows that kernels run.
 *  @return DCL_OK: prepared->ready; or DCL_ERR_NOMEM, DCL_ERR_DEVICE: prepared is as it was, the next try begins anew. */
dcl_status dcli_exec_prepare(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_batch *batch, dcli_prepared *prepared);

#endif
