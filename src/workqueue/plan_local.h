/* workqueue/plan_local.h - batches that use own parts only. */
#ifndef DCLI_WORKQUEUE_PLAN_LOCAL_H
#define DCLI_WORKQUEUE_PLAN_LOCAL_H

#include "workqueue/builder.h"

/** Join the batches of a planned FORALL that use own parts only, and put them, or half of them, first: see
 *  dcli_plan_terms.local_bytes. */
dcl_status dcli_plan_local_first(dcli_builder *builder);

#endif
