/* worker/log_plan.h - at level debug, the log shows how operations are carried out. */
#ifndef DCLI_WORKER_LOG_PLAN_H
#define DCLI_WORKER_LOG_PLAN_H

#include "lower/lower.h"
#include "worker/worker.h"

/** Log this worker's own plan of an operation. */
void dcli_log_plan(const dcli_worker *worker, const dcli_operation *operation, const dcli_plan *plan);
/** Log a batch as it is lowered for this worker's device. @param batch  its number in the plan. */
void dcli_log_lowered(const dcli_worker *worker, const dcli_operation *operation, int64_t batch,
                      const dcli_lowered *lowered);

#endif
