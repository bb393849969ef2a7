/* worker/exec_prepare.h - the lowered form of a batch of a loop body, with its tables on the device; made before the
 * batch of a cached plan first runs, and again if the measured cost of an element has changed much. */
#ifndef DCLI_WORKER_EXEC_PREPARE_H
#define DCLI_WORKER_EXEC_PREPARE_H

#include "worker/peer.h"

/** The properties of a worker's device that lowering needs. `element_ns` is a property of the body, and 0 here. */
dcli_traits dcli_exec_traits(const dcli_worker *worker);

/** Whether the rows of a batch should be cut again, because with the cost of an element measured since they would be at
 *  least twice, or at most half, as many. At most a few times per batch. */
bool dcli_exec_cut_is_stale(const dcli_worker *worker, const dcli_kernel *kernel, dcli_prepared *prepared);

/** Lower a batch, and copy its tables to the device. @return DCL_OK: prepared->ready; or DCL_ERR_NOMEM, DCL_ERR_DEVICE:
 *  `prepared` is cleared, and the next attempt starts from the beginning. */
dcl_status dcli_exec_prepare(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_batch *batch, dcli_prepared *prepared);

#endif
