/* worker/exec_prepare.h - what a batch of a loop body needs before it can run, made once for every plan. */
#ifndef DCLI_WORKER_EXEC_PREPARE_H
#define DCLI_WORKER_EXEC_PREPARE_H

#include "worker/peer.h"

/** The device of a node's worker as lowering sees it. */
dcli_traits dcli_exec_traits(const dcli_worker *worker);

/** Whether the rows of a batch should be cut anew, as its body's elements cost more or less than was known then: a few times at
 *  most. */
bool dcli_exec_cut_is_stale(const dcli_worker *worker, const dcli_kernel *kernel, const dcli_prepared *prepared);

/** Lower a batch, and bring its tables to the device.
 *  @return DCL_OK: prepared->ready; or DCL_ERR_NOMEM, DCL_ERR_DEVICE: prepared is as it was, the next try begins anew. */
dcl_status dcli_exec_prepare(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_batch *batch, dcli_prepared *prepared);

#endif
