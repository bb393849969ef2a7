/* workqueue/plan_fine.h - plans with many small batches, some of which can be lent: dcli_batch.fine. */
#ifndef DCLI_WORKQUEUE_PLAN_FINE_H
#define DCLI_WORKQUEUE_PLAN_FINE_H

#include "workqueue/builder.h"

/** Cut those works of a FORALL that use own parts only into batches that can be lent, if the terms ask for it and the
 *  batches would be large enough: see dcli_plan_terms.fine_elements.
 *  @param alone  no node exchanges anything. If nodes do, but this one uses own parts only, nothing is cut: it would
 *                have many short launches, and the others, on the same processors, long ones.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_plan_cut_fine(dcli_builder *builder, bool alone);

/** Whether batches first .. first + count - 1 of a plan are fine. */
static inline bool dcli_plan_are_fine(const dcli_plan *plan, int64_t first, int64_t count)
{
    return count > 0 && plan->batch[first].fine &&
           plan->batch[first + count - 1].fine; /* fine ones follow each other */
}

/** List the works of batches first .. first + count - 1, which are fine. Works that continue each other are joined, so
 *  a launch of all fine batches has the same works as a plan without lending.
 *  @param works_out  has room for all works of these batches.
 *  @return the number of works listed */
int64_t dcli_plan_join(const dcli_operation *operation, const dcli_plan *plan, int64_t first, int64_t count,
                       dcli_work works_out[]);

#endif
