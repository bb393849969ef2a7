/* workqueue/plan_loan.h - the plan of a loan: one or more batches of a node's plan, as another node runs them
 * together. */
#ifndef DCLI_WORKQUEUE_PLAN_LOAN_H
#define DCLI_WORKQUEUE_PLAN_LOAN_H

#include "workqueue/node.h"

/** A loan. All written elements are in stages, which are copied into result chunks; so the loan's plan is one batch,
 *  all of whose outputs belong to another node. Elements that the thief cannot read in place are copied from input
 *  chunks. */
typedef struct dcli_loan {
    dcli_plan *plan;    /* of the thief: batch 0 is the only one. Its chunks are exchanged with the victim: first the
                           inputs (written false), then the results (written true), each numbered from 0. The items
                           of result chunks are regions of the victim's parts */
    dcli_piece *source; /* [plan->item_count] for items of inputs: where the victim finds the elements, in the spaces
                           of its own plan (CHUNK: `where` is the number in it; REPLICA: the stage in it). The box is
                           that of the item */
    dcli_loan_size size;
} dcli_loan;

/** Plan the loan of `count` batches from `batch` on.
 *  @param own    the victim's whole plan for the operation (not `streams`).
 *  @param terms  as of plans: ways, chunk_bytes, pool_bytes, shown_on_demand.
 *  @return DCL_OK; DCL_ERR_INVALID: they cannot be lent: the operation is no loop body, or its plan has failed, has no
 *          such batches, is one of single elements or makes replicas, or one of the batches writes elements of other
 *          nodes; DCL_ERR_BODY: as of dcli_operation_subscripts(); DCL_ERR_NOMEM. On an error the output is
 *          untouched. */
dcl_status dcli_loan_make(const dcli_operation *operation, const dcli_plan *own, int64_t batch, int64_t count,
                          int victim, int thief, const dcli_plan_terms *terms, dcli_loan **loan_out);
void dcli_loan_free(dcli_loan *loan);

#endif
