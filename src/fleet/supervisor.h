/* fleet/supervisor.h - offering a host's devices: a listener that clients call, and the processes of their sessions. */
#ifndef DCLI_FLEET_SUPERVISOR_H
#define DCLI_FLEET_SUPERVISOR_H

#include <dcl/worker.h>

#include "base/log.h"

/** Offer devices until `stop_fd` becomes readable. @param config  complete, its values already checked.
 *  @return DCL_OK then; else as dcl_worker_run(). */
dcl_status dcli_supervise(const dcl_worker_config *config, const dcli_log *log, int stop_fd);

/** Ask the workers of config->workers what they offer: dcl_worker_list(). */
dcl_status dcli_workers_ask(const dcl_config *config, int capacity, dcl_worker_info info_out[], int *count_out);

#endif
