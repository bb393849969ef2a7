/* workqueue/narrow.h - subscripts for the indices of a box, where the ranges of inner axes depend on these. */
#ifndef DCLI_WORKQUEUE_NARROW_H
#define DCLI_WORKQUEUE_NARROW_H

#include "workqueue/operation.h"

/** Limit access a to the elements that it reads for the indices of a box: if bounds of inner axes depend on these
 *  indices (DCL_OVER, or limits at the beginning of a loop), make subscripts with narrower inner axes. @param own  as of
 *  dcli_operation_subscripts(). @return own, or *narrow_out. */
const dcli_subscripts *dcli_operation_narrow(const dcli_operation *operation, int a, const dcli_subscripts *own,
                                             const dcl_box *box, dcli_subscripts *narrow_out);

#endif
