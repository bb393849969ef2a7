/* segment/view.h - what the indices of a view stand for in the array behind it. Pure. */
#ifndef DCLI_SEGMENT_VIEW_H
#define DCLI_SEGMENT_VIEW_H

#include "segment/footprint.h"

/** A view of an array, its base: along axis d of the base, index x of the view stands for constant[d] + step[d] * x[axis[d]],
 *  or, where axis[d] is -1, for constant[d] alone (step[d] is then 0). No axis of the view runs along two of the base; one
 *  that runs along none repeats the same elements: it is *broadcast*. A plain value. */
typedef struct dcli_transform {
    dcl_grid grid; /* of the view */
    int base_rank;
    int axis[DCL_MAX_RANK]; /* [base_rank], as the next two */
    int64_t constant[DCL_MAX_RANK];
    int64_t step[DCL_MAX_RANK]; /* not 0 where there is an axis */
} dcli_transform;

/** A whole grid as it is. */
dcli_transform dcli_transform_of(const dcl_grid *base);
/** Check what comes from elsewhere: ranks, a checked grid of the base's type, axes, steps; all that is seen lies in the
 *  base. @param base  a checked grid. @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE. */
dcl_status dcli_transform_check(const dcli_transform *view, const dcl_grid *base);
bool dcli_transform_equal(const dcli_transform *a, const dcli_transform *b);

/* A view of a view: each changes `view`, or leaves it as it is and returns DCL_ERR_INVALID or DCL_ERR_RANGE with what was
 * found, what was expected and a remedy. */

/** Axis n becomes what axis axes[n] was. @param axes  [rank] a permutation of 0..rank-1. */
dcl_status dcli_transform_permute(dcli_transform *view, const int axes[]);
/** Index t of axis d becomes what start[d] + t * stride[d] was, 0 <= t < count[d]. @param stride  [rank], not 0; NULL: ones.
 *  @param start, count  [rank]; all indices lie in the view's grid. */
dcl_status dcli_transform_slice(dcli_transform *view, const int64_t start[], const int64_t count[],
                                const int64_t stride[]);
/** Keep the indices of a box of stride 1, under the numbers they have. */
dcl_status dcli_transform_sub(dcli_transform *view, const dcl_box *box);
/** Index x becomes x + by. @param by  [rank] */
dcl_status dcli_transform_shift(dcli_transform *view, const int64_t by[]);
/** A new axis before axis `axis` (rank: behind the last), of indices 0..extent-1 that all stand for the same. */
dcl_status dcli_transform_broadcast(dcli_transform *view, int axis, int64_t extent);
/** Drop an axis: only `index` of it is seen. The rank is at least 2. */
dcl_status dcli_transform_take(dcli_transform *view, int axis, int64_t index);

/** The axis of the base that axis v of the view runs along; -1: it is broadcast. */
int dcli_transform_base_axis(const dcli_transform *view, int v);
/** Whether some element may be seen twice. */
bool dcli_transform_broadcasts(const dcli_transform *view);
/** Whether every element of the base is seen. */
bool dcli_transform_covers(const dcli_transform *view, const dcl_grid *base);

/** The element behind an index of the view's grid. */
void dcli_transform_index(const dcli_transform *view, const int64_t index[], int64_t base_out[]);
/** The elements behind a box of the view's grid (empty for an empty one). */
void dcli_transform_box(const dcli_transform *view, const dcl_box *box, dcl_box *base_out);
/** The indices of the view whose elements lie in a box of the base. @return false when there is none (*box_out is empty). */
bool dcli_transform_seen(const dcli_transform *view, const dcl_box *base, dcl_box *box_out);
/** Subscripts of the view as subscripts of its base: affine ones, others are copied (reach and space_rank; the rank is the
 *  base's). @return false when they do not fit int64_t. */
bool dcli_transform_subscripts(const dcli_transform *view, const dcli_subscripts *subscripts,
                               dcli_subscripts *base_out);
/** Memory in which index t of `box` (per axis, t in the box's counting) has step strides[v]: where the elements behind it
 *  lie, box of the base and its steps. Of broadcast axes, the first index.
 *  @param offset_out  elements from the memory's first index to that of the base's box. */
void dcli_transform_place(const dcli_transform *view, const dcl_box *box, const int64_t strides[], dcl_box *base_out,
                          int64_t *offset_out, int64_t strides_out[]);

/** What an access reads: dcli_footprint() of the subscripts on the view's grid (`seen_out`), and the elements behind it.
 *  @param view  NULL: the array itself; then both are the same. @param base  its grid.
 *  @return false when nothing is read; both are then empty. */
bool dcli_transform_footprint(const dcli_transform *view, const dcl_grid *base, const dcli_subscripts *subscripts,
                              const dcl_box *space, dcl_box *seen_out, dcl_box *footprint_out, bool *cut_out);

#endif
