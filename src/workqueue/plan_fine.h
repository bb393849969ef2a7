/* workqueue/plan_fine.h - plans with many small batches, some of which can be lent: dcli_plan.fine. */
#ifndef DCLI_WORKQUEUE_PLAN_FINE_H
#define DCLI_WORKQUEUE_PLAN_FINE_H

#include "workqueue/builder.h"

/** Cut the only batch of a FORALL into batches that can be lent, if the terms ask for it and the batches would be large
 *  enough: see dcli_plan_terms.fine_elements.
 *  @param owned  elements of the first output on the planned node.
 *  @param tiles  number of its tiles there. */
dcl_status dcli_plan_cut_fine(dcli_builder *builder, int64_t owned, int64_t tiles);

/** List the works of batches first .. first + count - 1 of a plan with `fine`. Works that continue each other are
 *  joined, so a launch of all batches has the same works as a plan without lending.
 *  @param works_out  has room for all works of these batches.
 *  @return the number of works listed */
int64_t dcli_plan_join(const dcli_operation *operation, const dcli_plan *plan, int64_t first, int64_t count,
                       dcli_work works_out[]);

#endif
