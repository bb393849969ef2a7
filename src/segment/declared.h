/* segment/declared.h - the numbers of declared reads: what a call declares about what its body reads. Pure
 * functions. */
#ifndef DCLI_SEGMENT_DECLARED_H
#define DCLI_SEGMENT_DECLARED_H

#include "segment/footprint.h"

#define DCLI_MOST_WIDTH (INT64_C(1) << 40) /* largest width of a halo */

/** A portion of DCLI_REACH_FUNCTION: a box of loop indices, and the box that these read. */
typedef struct dcli_portion {
    dcl_box space, reads;
} dcli_portion;

/** The length of the encoding of a box, and of a portion, in int64_t numbers. */
int dcli_declared_box_length(int rank);
int dcli_declared_portion_length(int space_rank, int rank);
/** Write a box as numbers, [dcli_declared_box_length(box->rank)]. */
void dcli_declared_put(const dcl_box *box, int64_t number_out[]);

/** Check declared numbers from a call or a message: their count fits the reach; widths are 0..DCLI_MOST_WIDTH, for an
 *  array with as many axes as there are loops; boxes lie in their grids.
 *  @param name   of the array, for the error.
 *  @param space  the grid of the loop's indices. @param grid  the array's, as the body sees it.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE. */
dcl_status dcli_declared_check(dcli_reach reach, const dcli_declared *declared, const char *name, const dcl_grid *space,
                               const dcl_grid *grid);
/** Check a declared box as dcli_box_check() does. @param what  text before the name: "the box of". */
dcl_status dcli_declared_check_box(const dcl_box *box, const dcl_grid *grid, const char *name, const char *what);
bool dcli_declared_equal(const dcli_declared *a, const dcli_declared *b);

/** The number of portions of a declared reach of kind DCLI_REACH_FUNCTION. */
int dcli_declared_portions(const dcli_subscripts *subscripts);
/** Portion number p of a reach of kind DCLI_REACH_FUNCTION. */
dcli_portion dcli_declared_portion(const dcli_subscripts *subscripts, int p);

/** BOX, FUNCTION: the smallest box that contains all that indices in `space` read. @return false if they read
 *  nothing. */
bool dcli_declared_box(const dcli_subscripts *subscripts, const dcl_box *space, dcl_box *box_out);

/** Find the elements of `grid` that indices in `space` read, as boxes without corners and gaps. The boxes may overlap.
 *  Elements that are not read are included only between indices that lie farther apart than their halos reach.
 *  @param parts_out  [DCL_MAX_RANK] @param approximate_out  set to true in that case, else unchanged.
 *  @return number of boxes; 0: nothing in the grid is read. */
int dcli_declared_parts(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                        dcl_box parts_out[], bool *approximate_out);

/** HALO, CROSS: the largest range of `space`, in its own counting, all of whose reads in `grid` lie in `target`, a box
 *  of stride 1. @return false if the range is empty, or target has other strides. */
bool dcli_declared_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                          const dcl_box *target, int64_t lo_out[], int64_t count_out[]);

#endif
