/* worker/commons.h - data that the peers of one process share: layouts, parsed bodies, plans and helpers. Each has a lock
 * of its own. */
#ifndef DCLI_WORKER_COMMONS_H
#define DCLI_WORKER_COMMONS_H

#include "base/helpers.h"
#include "worker/layouts.h"
#include "worker/parsed.h"
#include "worker/plan_cache.h"
#include "worker/worker.h"

struct dcli_commons {
    int peers; /* of this process */
    dcli_layouts layouts;
    dcli_parsed bodies;
    dcli_plan_cache plans;
    dcli_helpers *helpers;
    dcli_device *
        *device; /* [peers] of nodes that are threads; set before these start. NULL: another process's, or the host */
};

#endif
