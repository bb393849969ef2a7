/* runtime/nest_plans.h - plans of loop nests that are kept, because analysing a nest takes tens of milliseconds. */
#ifndef DCLI_RUNTIME_NEST_PLANS_H
#define DCLI_RUNTIME_NEST_PLANS_H

#include "loop/plan.h"
#include "runtime/cluster.h"

/** Plan a nest, or take the plan that an earlier call with the same text, arrays of the same grids and the same integers has left. The
 *  plan is the caller's alone until dcli_nest_plan_give(). The lock is not held.
 *  @return as dcli_loops_plan_make(), which needs neither `text` nor `names` after the call. */
dcl_status dcli_nest_plan_take(dcl_cluster *cluster, const char *text, int count, const dcli_loops_name names[],
                               dcli_loops_plan **plan_out);
/** Give a plan back. @param keep  whether a later call may take it; false after a failure. The lock is not held. */
void dcli_nest_plan_give(dcl_cluster *cluster, dcli_loops_plan *plan, bool keep);
void dcli_nest_plans_free(dcl_cluster *cluster);

#endif
