/* workqueue/plan_points.h - plans of loop bodies over single elements. */
#ifndef DCLI_WORKQUEUE_PLAN_POINTS_H
#define DCLI_WORKQUEUE_PLAN_POINTS_H

#include "workqueue/builder.h"

/** Whether this planner can be used: each element of the first output is a work, and all reads are single elements.
 *  Call it after the accesses are analysed. */
bool dcli_points_can_plan(const dcli_builder *builder);

/** Plan a batch of tiles, or several, for a body that dcli_points_can_plan() accepts: as the general planner does
 *  (plan_batch() in plan_batches.c), in a fraction of the time. */
dcl_status dcli_plan_points(dcli_builder *builder, int64_t first, int64_t count, int64_t most);

#endif
