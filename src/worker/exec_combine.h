/* worker/exec_combine.h - combines the partial results of a reduction without a launch. */
#ifndef DCLI_WORKER_EXEC_COMBINE_H
#define DCLI_WORKER_EXEC_COMBINE_H

#include "worker/peer.h"

/** Whether this thread may run a batch itself: the batch combines partial results into one element, the device works in host
 *  memory, and no running kernel uses the memory concerned. */
bool dcli_combine_is_possible(const dcli_worker *worker, const dcli_job *job, const dcli_prepared *prepared);

/** Run such a batch.
 *  @param done_out  false: nothing was written, and the batch must be launched, because the result is a NaN, or no kernel makes such a partial
 *                   result. */
dcl_status dcli_combine_run(dcli_worker *worker, const dcli_job *job, const dcli_prepared *prepared, bool *done_out);

#endif
