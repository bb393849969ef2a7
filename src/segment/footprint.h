/* segment/footprint.h - affine subscripts, and the boxes that they read. Pure functions. */
#ifndef DCLI_SEGMENT_FOOTPRINT_H
#define DCLI_SEGMENT_FOOTPRINT_H

#include "segment/box.h"

/** What a clamped subscript reads for numbers beyond low .. high. */
typedef enum dcli_beyond {
    DCLI_BEYOND_EDGE,   /**< low or high: the nearest */
    DCLI_BEYOND_MIRROR, /**< the number on the other side of the edge, again and again until it is within low .. high */
    DCLI_BEYOND_NOTHING /**< nothing: the body gets a value of its own */
} dcli_beyond;

/** One subscript: constant + sum over loop axes m of coef[m] * x[m] + sum over inner axes q of
 *  coef[space_rank + q] * t[q], where x[m] is the index of loop axis m, and t[q] counts inner axis q from 0.
 *
 *  A *clamped* subscript is this number moved into low .. high, as `beyond` says. The functions below treat the indices
 *  for which it moves as if they read outside the grid: they are cut off, so that elsewhere the subscript is the sum alone.
 *
 *  A subscript with a *period* is this number modulo the period. dcli_operation_subscripts() moves the constant by `shift`, a
 *  multiple of the period, and from then on the subscript is the sum alone, whose indices may extend beyond the grid
 *  (segment/image.h). */
typedef struct dcli_subscript {
    int64_t constant;
    int64_t coef[DCL_MAX_RANK];
    bool clamped;
    dcli_beyond beyond;
    int64_t low, high; /* low <= high */
    int64_t repeat;    /* MIRROR: from an edge to its image; 0: the edge is not repeated */
    int64_t period;    /* 0: none */
    int64_t shift;     /* the constant as in the body, less that in `constant` */
} dcli_subscript;

/** Whether indices beyond the limits of a subscript read elements that other indices read, too. */
static inline bool dcli_subscript_moves(const dcli_subscript *subscript)
{
    return subscript->clamped && subscript->beyond != DCLI_BEYOND_NOTHING;
}

/** What an access may read. */
typedef enum dcli_reach {
    DCLI_REACH_AFFINE,  /**< exactly the elements of its affine subscripts */
    DCLI_REACH_ALL,     /**< declared: anything in the grid */
    DCLI_REACH_ROWS,    /**< declared: first axis: the index of the first loop axis; other axes: anything */
    DCLI_REACH_COLUMNS, /**< declared: last axis: the index of the last loop axis; other axes: anything */
    DCLI_REACH_HALO,    /**< declared: along each axis, indices at most a width before or after the loop's index, with
                             one width per axis; the array has as many axes as the loop */
    DCLI_REACH_CROSS,   /**< declared: as HALO, but along one axis at a time */
    DCLI_REACH_BOX,     /**< declared: a box, the same for every index */
    DCLI_REACH_FUNCTION /**< declared: a box per box of indices */
} dcli_reach;

/** The numbers of a declared reach, as in messages. HALO, CROSS: the width per axis. BOX: starts, counts and strides,
 *  each per axis. FUNCTION: *portions*, each two such boxes: of loop indices, and of what these read. Others: none. See
 *  segment/declared.h. A plain value. */
typedef struct dcli_declared {
    bool approximate; /* the declaration covers more than what is read */
    int count;
    const int64_t *number; /* [count] the numbers; borrowed */
} dcli_declared;

/** The subscripts of one access to an array, by the loop axes of an operation (axis m of the index space). */
typedef struct dcli_subscripts {
    dcli_reach reach;
    int space_rank; /* number of loop axes */
    int rank;       /* rank of the array accessed */
    int inner_rank; /* number of inner axes: loops of the body around an affine access, which makes one read per
                       combination of their counters; space_rank + inner_rank <= DCL_MAX_RANK; 0: one read */
    int64_t inner_count[DCL_MAX_RANK]; /* length of each inner axis; if one is 0, nothing is read */
    dcli_subscript axis[DCL_MAX_RANK];
    dcli_declared declared; /* numbers of a declared reach: HALO and the kinds after it */
} dcli_subscripts;

/** Whether every element of a footprint is read: each subscript uses at most one index, and no index is used for two
 *  axes. Inner axes must not be used for two axes of the array either, and must leave no gaps: for A(4*i+d) with d < 3
 *  the answer is no. With inner axes a yes holds for boxes of indices without strides; the footprint of others is a
 *  bounding box; so is that of a clamped subscript unless it takes consecutive numbers. False for a declared reach. */
bool dcli_subscripts_exact(const dcli_subscripts *subscripts);
/** Whether different indices read different elements: exact, and every loop axis is used. */
bool dcli_subscripts_injective(const dcli_subscripts *subscripts);

/** Whether an access has no inner axes: it reads at most one element at each index of the space. */
static inline bool dcli_subscripts_single(const dcli_subscripts *subscripts) { return subscripts->inner_rank == 0; }

/** Whether two accesses read the same elements at every index. False for a declared reach. */
bool dcli_subscripts_same(const dcli_subscripts *a, const dcli_subscripts *b);

/** Compute the elements of `grid` that indices in `space` (a box of loop indices) read: the exact box if
 *  dcli_subscripts_exact(), else the smallest strided box that contains them; clipped at the grid's edge. Coefficients
 *  may be negative or 0. Checked 128-bit arithmetic: what does not fit int64_t is outside the grid. HALO, CROSS: the
 *  box of stride 1 around what is read; dcli_declared_parts() excludes gaps and corners.
 *  @param cut_out  true if for some index in `space` a subscript lies outside the grid, or beyond its limits.
 *  @return false if nothing inside the grid is read (footprint_out is then empty). */
bool dcli_footprint(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                    dcl_box *footprint_out, bool *cut_out);

/** Subscripts that are each a constant, or one index and a constant: what dcli_footprint() needs of them, found once. */
typedef struct dcli_shifts {
    int rank;                        /* of the array; -1: other subscripts */
    signed char index[DCL_MAX_RANK]; /* the loop axis of each subscript; -1: none */
    int64_t constant[DCL_MAX_RANK];
} dcli_shifts;

dcli_shifts dcli_shifts_of(const dcli_subscripts *subscripts);
/** As dcli_footprint(). @param read_out  its result.
 *  @return false: dcli_footprint() is needed, because the subscripts are others, the box has strides or no index, or
 *  numbers do not fit int64_t. */
bool dcli_shifts_footprint(const dcli_shifts *shifts, const dcl_box *space, const dcl_grid *grid,
                           dcl_box *footprint_out, bool *cut_out, bool *read_out);

/** Compute the sub-range of `space`, in its own counting, whose reads lie inside `target` (a strided box of the array)
 *  without being moved there by a clamp.
 *  For exact subscripts: all t with lo[m] <= t[m] < lo[m] + count[m] read only elements of target, and no larger range
 *  does. If target's stride lets single indices read inside but not their neighbours, the range is the first of these
 *  indices, in target's order. With inner axes, an index is in the range if all its reads lie inside; if the target has
 *  strides then, the range may be too small. If subscripts use several indices, or an index on several axes: the whole
 *  range or nothing, decided by the bounding box. For a declared reach: nothing; compare dcli_footprint() with the
 *  target instead.
 *  @return false if the range is empty. */
bool dcli_footprint_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *target,
                           int64_t lo_out[], int64_t count_out[]);

#endif
