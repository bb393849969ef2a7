/* segment/view.h - the mapping from the indices of a view to its base array. Pure functions. */
#ifndef DCLI_SEGMENT_VIEW_H
#define DCLI_SEGMENT_VIEW_H

#include "segment/footprint.h"

/** A view of an array, its base: along axis d of the base, index x of the view maps to constant[d] + step[d] *
 *  x[axis[d]], or, if axis[d] is -1, to constant[d] (then step[d] is 0). No axis of the view is used for two axes of
 *  the base. An axis of the view that is not used repeats the same elements: it is *broadcast*. A plain value. */
typedef struct dcli_transform {
    dcl_grid grid; /* grid of the view */
    int base_rank;
    int axis[DCL_MAX_RANK]; /* [base_rank], as are the next two */
    int64_t constant[DCL_MAX_RANK];
    int64_t step[DCL_MAX_RANK]; /* not 0 if there is an axis */
} dcli_transform;

/** A whole grid as it is. */
dcli_transform dcli_transform_of(const dcl_grid *base);
/** Check a view from elsewhere: ranks, a checked grid of the base's type, axes, steps; all elements lie in the base.
 *  @param base  a checked grid. @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_RANGE. */
dcl_status dcli_transform_check(const dcli_transform *view, const dcl_grid *base);
/** Whether two views show the same elements under the same indices. */
bool dcli_transform_equal(const dcli_transform *a, const dcli_transform *b);

/* Functions that make a view of a view: each changes `view`, or leaves it unchanged and returns DCL_ERR_INVALID or
 * DCL_ERR_RANGE with a sentence. */

/** Permute axes: axis n of the result is axis axes[n]. @param axes  [rank] a permutation of 0..rank-1. */
dcl_status dcli_transform_permute(dcli_transform *view, const int axes[]);
/** Slice: index t of axis d, 0 <= t < count[d], maps to the former index start[d] + t * stride[d]. @param stride
 *  [rank], not 0; NULL: ones.
 *  @param start, count  [rank]; all indices lie in the view's grid. */
dcl_status dcli_transform_slice(dcli_transform *view, const int64_t start[], const int64_t count[],
                                const int64_t stride[]);
/** Restrict a view to a box of stride 1, with unchanged indices. */
dcl_status dcli_transform_sub(dcli_transform *view, const dcl_box *box);
/** Shift: the former index x becomes x + by. @param by  [rank] */
dcl_status dcli_transform_shift(dcli_transform *view, const int64_t by[]);
/** Insert a broadcast axis before axis `axis` (rank: after the last), with indices 0..extent-1 that all map to the same
 *  elements. */
dcl_status dcli_transform_broadcast(dcli_transform *view, int axis, int64_t extent);
/** Remove an axis by fixing its index. The rank is at least 2. */
dcl_status dcli_transform_take(dcli_transform *view, int axis, int64_t index);

/** The axis of the base that axis v of the view maps to; -1: it is broadcast. */
int dcli_transform_base_axis(const dcli_transform *view, int v);
/** Whether an element of the base may occur twice in the view. */
bool dcli_transform_broadcasts(const dcli_transform *view);
/** Whether the view contains every element of the base. */
bool dcli_transform_covers(const dcli_transform *view, const dcl_grid *base);

/** Map an index of the view to the base. */
void dcli_transform_index(const dcli_transform *view, const int64_t index[], int64_t base_out[]);
/** Map a box of the view's grid to the base (empty for an empty one). */
void dcli_transform_box(const dcli_transform *view, const dcl_box *box, dcl_box *base_out);
/** The indices of the view that map into a box of the base. @return false if there are none (*box_out is empty). */
bool dcli_transform_seen(const dcli_transform *view, const dcl_box *base, dcl_box *box_out);
/** Convert subscripts of the view to subscripts of its base: affine ones are composed, others copied (reach and
 *  space_rank; the rank is the base's). @return false if they do not fit int64_t. */
bool dcli_transform_subscripts(const dcli_transform *view, const dcli_subscripts *subscripts,
                               dcli_subscripts *base_out);
/** Convert a box of the view in memory with steps strides[v] to the box of the base with its steps in that memory. For
 *  broadcast axes, only the first index.
 *  @param offset_out  elements from the memory's first index to that of the base's box. */
void dcli_transform_place(const dcli_transform *view, const dcl_box *box, const int64_t strides[], dcl_box *base_out,
                          int64_t *offset_out, int64_t strides_out[]);

/** Compute what an access reads: dcli_footprint() on the view's grid (`seen_out`), and the box of the base.
 *  @param view  NULL: the array itself; then both are the same. @param base  its grid.
 *  @return false if nothing is read; both are then empty. */
bool dcli_transform_footprint(const dcli_transform *view, const dcl_grid *base, const dcli_subscripts *subscripts,
                              const dcl_box *space, dcl_box *seen_out, dcl_box *footprint_out, bool *cut_out);

#endif
