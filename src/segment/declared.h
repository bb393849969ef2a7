/* segment/declared.h - what a call declares of what its body reads, beyond a kind of reach. Pure. */
#ifndef DCLI_SEGMENT_DECLARED_H
#define DCLI_SEGMENT_DECLARED_H

#include "segment/footprint.h"

#define DCLI_MOST_WIDTH (INT64_C(1) << 40) /* of a halo */

/** A portion of DCLI_REACH_FUNCTION: what a box of loop indices reads. */
typedef struct dcli_portion {
    dcl_box space, reads;
} dcli_portion;

/** Numbers that a box, or a portion, takes. */
int dcli_declared_box_length(int rank);
int dcli_declared_portion_length(int space_rank, int rank);
/** Write a box as numbers, [dcli_declared_box_length(box->rank)]. */
void dcli_declared_put(const dcl_box *box, int64_t number_out[]);

/** Check numbers that come with a call, or from elsewhere: as many as the reach has; widths 0..DCLI_MOST_WIDTH, of an array
 *  with as many axes as there are loops; boxes that lie in their grids.
 *  @param name   of the array, for the sentence.
 *  @param space  the grid of the loop's indices. @param grid  the array's, as the body sees it.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE. */
dcl_status dcli_declared_check(dcli_reach reach, const dcli_declared *declared, const char *name, const dcl_grid *space,
                               const dcl_grid *grid);
/** dcli_box_check() of a box that is declared. @param what  before the name: "the box of". */
dcl_status dcli_declared_check_box(const dcl_box *box, const dcl_grid *grid, const char *name, const char *what);
bool dcli_declared_equal(const dcli_declared *a, const dcli_declared *b);

/** FUNCTION: portions, and one of them. */
int dcli_declared_portions(const dcli_subscripts *subscripts);
dcli_portion dcli_declared_portion(const dcli_subscripts *subscripts, int p);

/** BOX, FUNCTION: the box around all that indices in `space` read. @return false when that is nothing. */
bool dcli_declared_box(const dcli_subscripts *subscripts, const dcl_box *space, dcl_box *box_out);

/** Without corners and gaps: boxes, which may overlap, of what indices in `space` read in `grid`. Only where indices lie
 *  farther apart than their halos reach is what is between them taken, too.
 *  @param parts_out  [DCL_MAX_RANK] @param approximate_out  set to true in that case, else left alone.
 *  @return how many; 0: nothing in the grid is read. */
int dcli_declared_parts(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                        dcl_box parts_out[], bool *approximate_out);

/** HALO, CROSS: the largest range of `space`, in its own counting, all of whose reads in `grid` lie in `target`, a box of
 *  stride 1. @return false when the range is empty, or target has other strides. */
bool dcli_declared_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                          const dcl_box *target, int64_t lo_out[], int64_t count_out[]);

#endif
