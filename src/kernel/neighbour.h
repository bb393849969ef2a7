/* kernel/neighbour.h - accesses of one array whose subscripts differ by constants, as in `U(i-1,j) + U(i+1,j)`, and the lines of an
 * array that a stencil fetches from memory. */
#ifndef DCLI_KERNEL_NEIGHBOUR_H
#define DCLI_KERNEL_NEIGHBOUR_H

#include "kernel/nest.h"

enum { DCLI_AHEAD_BYTES = 4096 }; /* how far ahead lines are fetched; shorter ones are not */

/** Find how far the elements of access b lie from those of access a, in indices of each loop axis: b reads at index t what a reads at
 *  index t + apart_out[].
 *  @param apart_out  [space_rank]
 *  @return false: it is not the same distance at all indices, or they are no affine accesses of one input; outputs are then undefined.
 *  Boundaries of subscripts are ignored. */
bool dcli_neighbours(const dcli_body *body, int a, int b, int64_t apart_out[]);

/** Emit, for the elements dcl_v to dcl_v + dcl_m - 1 of a line, prefetches into the second-level cache. If the body reads several
 *  lines of an input, one of them comes from memory; the others were read before and are in the caches. The prefetches are for elements
 *  DCLI_AHEAD_BYTES farther on the former, and at its end for the beginning of the next one. Processors prefetch a line that is read
 *  alone, but not well enough one that is read beside others.
 *  @param lines  how many lines are computed together. All axes but the innermost one have been added to the offsets. */
void dcli_emit_leading_lines(const dcli_nest *nest, int lines);

#endif
