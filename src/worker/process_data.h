/* worker/process_data.h - the process data: what the peers of one process share, such as layouts, parsed bodies, plans
 * and helper threads. Each has a lock of its own. */
#ifndef DCLI_WORKER_PROCESS_DATA_H
#define DCLI_WORKER_PROCESS_DATA_H

#include "base/helpers.h"
#include "worker/layouts.h"
#include "worker/parsed.h"
#include "worker/plan_cache.h"
#include "worker/worker.h"

struct dcli_process_data {
    int peers; /* number of peers of this process */
    dcli_layouts layouts;
    dcli_parsed bodies;
    dcli_plan_cache plans;
    dcli_helpers *helpers;
    dcli_device *
        *device; /* [peers] devices of the nodes that are threads of this process; set before these start. NULL: the
                    peer is in another process, or is the host */
};

#endif
