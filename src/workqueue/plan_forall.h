/* workqueue/plan_forall.h - the plan of a loop body. Used by the files of the plan only. */
#ifndef DCLI_WORKQUEUE_PLAN_FORALL_H
#define DCLI_WORKQUEUE_PLAN_FORALL_H

#include "workqueue/builder.h"

/** Plan a FORALL for builder->self, a node. */
dcl_status dcli_plan_forall(dcli_builder *builder);

#endif
