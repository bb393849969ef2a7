/* kernel/space.h - the index space of a reduction in which no input is read at all indices. */
#ifndef DCLI_KERNEL_SPACE_H
#define DCLI_KERNEL_SPACE_H

#include "kernel/body.h"

/** Find the ranges of all indices of a reduction to values, into elements or by keys.
 *  @param body    parsed by dcli_outline_parse().
 *  @param grids   [param_count] by parameter; NULL: no array, or an output whose keys may have any value. @param values  [param_count] the scalars of the call.
 *  @param box     of the call; NULL: there is none.
 *  @param space_out  an axis for each index, in the order of the alphabet; elements of one byte.
 *  @return DCL_OK; DCL_ERR_BODY: a range is unknown or leaves an array's axis; DCL_ERR_INVALID: an index has two ranges. */
dcl_status dcli_space_find(const dcli_body *body, const dcl_grid *const grids[], const dcli_scalar values[],
                           const dcl_box *box, dcl_grid *space_out);

#endif
