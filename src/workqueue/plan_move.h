/* workqueue/plan_move.h - the plan of a move of elements to a node, ahead of use. Used by plan.c only. */
#ifndef DCLI_WORKQUEUE_PLAN_MOVE_H
#define DCLI_WORKQUEUE_PLAN_MOVE_H

#include "workqueue/builder.h"

/** The node is the one that gets the copies. @return DCL_OK (also when plan->status is not) or DCL_ERR_NOMEM. */
dcl_status dcli_plan_move(dcli_builder *builder);

#endif
