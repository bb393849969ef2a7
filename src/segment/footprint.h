/* segment/footprint.h - affine subscripts and the boxes they read. Pure. */
#ifndef DCLI_SEGMENT_FOOTPRINT_H
#define DCLI_SEGMENT_FOOTPRINT_H

#include "segment/box.h"

/** One subscript: constant + sum over loop axes m of coef[m] * x[m], x the index of loop axis m. */
typedef struct dcli_subscript {
    int64_t constant;
    int64_t coef[DCL_MAX_RANK];
} dcli_subscript;

/** What an access reaches beyond its subscripts. */
typedef enum dcli_reach {
    DCLI_REACH_AFFINE,  /**< exactly its affine subscripts */
    DCLI_REACH_ALL,     /**< anything in the grid (declared) */
    DCLI_REACH_ROWS,    /**< first axis: the same indices as the first loop axis; other axes: all */
    DCLI_REACH_COLUMNS, /**< last axis: the same indices as the last loop axis; other axes: all */
    DCLI_REACH_HALO,    /**< within some width of the same index, along every axis; ranks are equal */
    DCLI_REACH_CROSS,   /**< the same along one axis at a time: elsewhere the index is the same */
    DCLI_REACH_BOX,     /**< a box, the same for every index */
    DCLI_REACH_FUNCTION /**< a box per box of indices */
} dcli_reach;

/** What a call adds to a declared reach: numbers, as they travel. HALO, CROSS: the width per axis. BOX: start, count and
 *  stride, an axis after the other for each of the three. FUNCTION: *portions*, each two boxes written like this: of loop
 *  indices, and what these read. Others: none. See segment/declared.h. A plain value. */
typedef struct dcli_declared {
    bool approximate; /* it is more than what is read */
    int count;
    const int64_t *number; /* [count] borrowed */
} dcli_declared;

/** The subscripts of one access to an array, over the loop axes of an operation (axis m of the index space). */
typedef struct dcli_subscripts {
    dcli_reach reach;
    int space_rank; /* loop axes */
    int rank;       /* of the array accessed */
    dcli_subscript axis[DCL_MAX_RANK];
    dcli_declared declared; /* of HALO and those that follow it */
} dcli_subscripts;

/** Whether the footprint of a box is a box: each subscript uses at most one index, no index stands on two axes.
 *  False for a declared reach (DCLI_REACH_ALL and those that follow it). */
bool dcli_subscripts_exact(const dcli_subscripts *subscripts);
/** Whether different indices read different elements: exact, and every loop axis occurs. */
bool dcli_subscripts_injective(const dcli_subscripts *subscripts);

/** Whether both read the same element at every index. False for a declared reach. */
bool dcli_subscripts_same(const dcli_subscripts *a, const dcli_subscripts *b);

/** The elements of `grid` that indices in `space` (a box of loop indices) read: the exact box when
 *  dcli_subscripts_exact(), else the smallest strided box around them; cut at the grid's edge.
 *  Coefficients may be negative or 0. Checked 128-bit arithmetic: what does not fit int64_t is outside the grid.
 *  HALO, CROSS: the box of stride 1 around what is read; dcli_declared_parts() has it without the gaps and corners.
 *  @param cut_out  true when some index in `space` reads outside the grid.
 *  @return false when nothing inside the grid is read (footprint_out is then empty). */
bool dcli_footprint(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                    dcl_box *footprint_out, bool *cut_out);

/** The sub-range of `space`, in its own counting, whose reads lie inside `target` (a strided box of the array):
 *  for exact subscripts, all t with lo[m] <= t[m] < lo[m] + count[m] read only elements of target, and no larger range
 *  does. Where single indices lie inside but not their neighbours (target's stride), the first of them in target's order.
 *  For others (not exact) the whole range or nothing, decided by the bounding box; for a declared reach nothing: compare
 *  dcli_footprint() with the target.
 *  @return false when the range is empty. */
bool dcli_footprint_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *target,
                           int64_t lo_out[], int64_t count_out[]);

#endif
