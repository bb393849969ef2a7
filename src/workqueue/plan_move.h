/* workqueue/plan_move.h - the plan of a prefetch of elements to a node. Used by plan.c only. */
#ifndef DCLI_WORKQUEUE_PLAN_MOVE_H
#define DCLI_WORKQUEUE_PLAN_MOVE_H

#include "workqueue/builder.h"

/** Plan a MOVE for the node that gets the replicas. @return DCL_OK (also if plan->status is an error) or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_plan_move(dcli_builder *builder);

#endif
