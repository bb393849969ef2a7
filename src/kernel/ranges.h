/* kernel/ranges.h - the indices that DCL_OVER allows within a box, and the counters of loops that a body allows. Pure functions. */
#ifndef DCLI_KERNEL_RANGES_H
#define DCLI_KERNEL_RANGES_H

#include "kernel/body.h"

/** Narrow ranges of inner axes to the values that occur with the indices of a box. @param start  [inner_rank], as count; a
 *  range may become empty. */
void dcli_over_narrow(const dcli_body *body, const dcli_scalar values[], const dcl_box *box, int64_t start[],
                      int64_t count[]);
/** Narrow a box of loop indices to those that DCL_OVER allows; conditions on reduced indices do not count. @return false: the
 *  box is empty. */
bool dcli_over_cut(const dcli_body *body, const dcli_scalar values[], dcl_box *box);

/** Whether a loop around access a begins with limits that depend on indices: `if (k < i - n) continue;`. */
bool dcli_inner_has_limits(const dcli_body *body, int a);
/** Narrow the ranges of the counters of the loops around access a to the iterations that its limits allow for some index of a box.
 *  @param begin  [number of inner axes of the access], as count: counters that may occur; count may become 0. */
void dcli_inner_narrow(const dcli_body *body, int a, const dcli_scalar values[], const dcl_box *box, int64_t begin[],
                       int64_t count[]);

#endif
