/* segment/box.h - arithmetic of strided boxes. Pure functions. */
#ifndef DCLI_SEGMENT_BOX_H
#define DCLI_SEGMENT_BOX_H

#include <stdbool.h>

#include <dcl/grid.h>

/** A growing list of boxes. Start with {0}; free with dcli_box_list_free(). */
typedef struct dcli_box_list {
    dcl_box *box;
    int64_t count, capacity;
} dcli_box_list;

/** Append a copy. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_box_list_add(dcli_box_list *list, const dcl_box *box);
void dcli_box_list_free(dcli_box_list *list);

/** Join disjoint boxes of one rank: boxes that are adjacent along one axis and equal along all others become one. The
 *  result is in row-major order. Cost: O(n log n) for each axis. */
void dcli_box_list_join(dcli_box_list *list);

/** Check a grid: type known, rank 1..DCL_MAX_RANK, extents >= 0, origin + extent and bytes within int64_t. @return
 *  DCL_OK, or DCL_ERR_INVALID with the axis, value and remedy. */
dcl_status dcli_grid_check(const dcl_grid *grid);
/** Whether two grids have the same rank, origins and extents. Inline: dcl_map_locate() asks it for each element. */
static inline bool dcli_grid_same_shape(const dcl_grid *a, const dcl_grid *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->extent[d] != b->extent[d] || a->origin[d] != b->origin[d])
            return false;
    return true;
}
/** Whether they have the same type, too. */
static inline bool dcli_grid_equal(const dcl_grid *a, const dcl_grid *b)
{
    return a->type == b->type && dcli_grid_same_shape(a, b);
}
/** Check a box: it has the grid's rank, counts >= 0, strides >= 1, and all indices inside the grid (an empty box is
 *  inside). @return DCL_OK, DCL_ERR_INVALID (rank, count, stride) or DCL_ERR_RANGE (outside), with axis and bounds. */
dcl_status dcli_box_check(const dcl_box *box, const dcl_grid *grid);

bool dcli_box_is_empty(const dcl_box *box);
/** Number of elements of a box; 0 if some count is 0. The box lies in a checked grid, so it cannot overflow. */
int64_t dcli_box_elements(const dcl_box *box);
bool dcli_box_equal(const dcl_box *a, const dcl_box *b);
bool dcli_box_contains(const dcl_box *box, const int64_t index[]);

/** Intersect two arithmetic progressions (start, count, stride); the result is again one.
 *  Strides >= 1, counts >= 0, any int64_t starts; intermediate results in 128 bits. Elements beyond int64_t are
 *  excluded. Common elements must lie less than 2^63 apart (in a grid they do), otherwise the stride would not fit. The
 *  result's stride is 1 if it has at most one element. @return false if it is empty (*out has count 0).
 *  Source: Chinese remainder theorem by the extended Euclidean algorithm, Knuth TAOCP 2, 4.3.2 and 4.5.2. */
bool dcli_run_intersect(int64_t start_a, int64_t count_a, int64_t stride_a, int64_t start_b, int64_t count_b,
                        int64_t stride_b, int64_t *start_out, int64_t *count_out, int64_t *stride_out);

/** Intersect two boxes of equal rank; the result is a box. @return false if it is empty. */
bool dcli_box_intersect(const dcl_box *a, const dcl_box *b, dcl_box *out);
/** Quick test whether two boxes can have an index in common: their bounds overlap, and, if their strides are equal,
 *  their starts agree modulo the stride. "yes" may be wrong. */
bool dcli_box_may_meet(const dcl_box *a, const dcl_box *b);

/** Append a \ b as disjoint boxes (none if b covers a; a itself if they are disjoint). @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_box_subtract(const dcl_box *a, const dcl_box *b, dcli_box_list *out);

/** The smallest strided box that contains both (equal rank; an empty one adds nothing). */
void dcli_box_bound(const dcl_box *a, const dcl_box *b, dcl_box *out);

/** A part of a box, in its own counting: elements lo[d] .. lo[d] + count[d] - 1 of every axis. */
void dcli_box_part(const dcl_box *box, const int64_t lo[], const int64_t count[], dcl_box *out);

/** A set of indices stored as disjoint boxes; or a list of boxes that can be searched by index. Start with {0}. */
#define DCLI_SET_LEVELS 6
typedef struct dcli_box_set {
    dcli_box_list boxes; /* in a set neighbours may have been merged, so these are not the boxes that were added;
                            dcli_box_set_put() does not merge */
    /* Used by set.c only: level 0 has the bounds of every box, each higher level the bounds of groups of the level
     * below. */
    int levels;
    struct {
        int64_t *bounds, capacity;
    } level[DCLI_SET_LEVELS];
    dcli_box_list pending, added; /* lists that functions reuse */
    int64_t *from, from_capacity; /* temporary, as `pending` is */
} dcli_box_set;

/** Add a box of the same rank; what was not in the set before is appended to `fresh` (may be NULL) as disjoint boxes.
 *  @return DCL_OK, or DCL_ERR_NOMEM: then nothing has changed.
 *  Cost: O(log boxes) plus the boxes that it intersects, if consecutive boxes are close to each other. */
dcl_status dcli_box_set_add(dcli_box_set *set, const dcl_box *box, dcli_box_list *fresh);
/** Append those parts of a box that the set lacks to `lacking`, as disjoint boxes: the boxes that dcli_box_set_add()
 *  would add.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_box_set_lacks(dcli_box_set *set, const dcl_box *box, dcli_box_list *lacking);
/** Append a box unchanged, even if it intersects others; only for lists. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_box_set_put(dcli_box_set *set, const dcl_box *box);
/** Number of the first box from number `from` on that intersects `box`; the number of boxes if there is none. Cost: as
 *  dcli_box_set_add(). */
int64_t dcli_box_set_next(const dcli_box_set *set, const dcl_box *box, int64_t from);
void dcli_box_set_free(dcli_box_set *set);
/** Remove all boxes. The memory is kept for others, unless there is room for more than `most` boxes. */
void dcli_box_set_clear(dcli_box_set *set, int64_t most);

/** Print a box as "[0:4, 2:10:2]": per axis first:end:stride, end exclusive, a stride of 1 omitted; for messages and
 *  tests. @return as snprintf(). */
int dcli_box_print(const dcl_box *box, char *text_out, size_t capacity);

#endif
