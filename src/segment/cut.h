/* segment/cut.h - cutting a box into blocks of indices, in row-major order. docs/execution.md lists the code
 * that uses it, and the code that cuts in another way. Pure functions. */
#ifndef DCLI_SEGMENT_CUT_H
#define DCLI_SEGMENT_CUT_H

#include "segment/region.h"

/** Iteration over the blocks of a box of whole[rank] indices, counted from 0. A block has shape[rank] indices, or fewer
 *  at the far edges. Start with dcli_cut_begin(). */
typedef struct dcli_cut {
    int rank;
    bool begun;
    int64_t whole[DCL_MAX_RANK], shape[DCL_MAX_RANK];
    int64_t lo[DCL_MAX_RANK], count[DCL_MAX_RANK]; /* first index and number of indices of the current block */
} dcli_cut;

/** Begin an iteration. @param whole  [rank] at least 1. @param shape  [rank] at least 1. */
dcli_cut dcli_cut_begin(int rank, const int64_t whole[], const int64_t shape[]);
/** Step to the next block, at first to the first. @return false: there are no more. */
bool dcli_cut_next(dcli_cut *cut);

/** Choose the shape of blocks of at most `most` elements (at least one): whole along the fastest axes, as thick as
 *  possible along the next one, one index along all slower ones. @param order  [rank] the axes, the slowest first;
 *  NULL: in their order. */
void dcli_cut_shape(int rank, const int64_t whole[], const int order[], int64_t most, int64_t shape_out[]);

/** A part of a region: indices lo .. lo + count - 1 per axis, in its own counting. */
dcli_region dcli_region_part(const dcli_region *region, const int64_t lo[], const int64_t count[]);

#endif
