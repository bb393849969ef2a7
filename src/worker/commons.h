/* worker/commons.h - data that the peers of one process share: layouts, parsed bodies and plans. Each has a lock of its
 * own. */
#ifndef DCLI_WORKER_COMMONS_H
#define DCLI_WORKER_COMMONS_H

#include "worker/layouts.h"
#include "worker/parsed.h"
#include "worker/plan_cache.h"
#include "worker/worker.h"

struct dcli_commons {
    int peers; /* of this process */
    dcli_layouts layouts;
    dcli_parsed bodies;
    dcli_plan_cache plans;
};

#endif
