/* segment/set.c - sets of indices, stored as disjoint boxes, and lists of boxes that may intersect: both under a tree of
 * bounds.
 *
 * Footprints arrive in the order of tiles, so boxes near each other in the list lie near each other in the grid. The
 * tree uses that: level 0 holds the bounds of every box, a bound of level k + 1 encloses FAN_OUT bounds of level k, and
 * adding a box touches one bound per level. A query skips whole groups that it does not meet. In a set, a box
 * and the one before it in the list are merged if they form one box: tiles become stripes, and stripes become the
 * whole. */
#include "base/alloc.h"
#include "base/check.h"
#include "segment/box.h"
#include "segment/wide.h"

#define FAN_OUT 16

/* A bound is 2 * rank numbers: the first and last index of axis 0, of axis 1, ... */
static int64_t *bound_at(const dcli_box_set *set, int level, int64_t number)
{
    return set->level[level].bounds + number * 2 * set->boxes.box[0].rank;
}

static void write_bound(const dcl_box *box, int64_t bound[])
{
    for (int d = 0; d < box->rank; d++) {
        bound[2 * d] = box->start[d];
        bound[2 * d + 1] = (int64_t)dcli_run_last(box->start[d], box->count[d], box->stride[d]);
    }
}

static void widen_bound(int64_t bound[], const int64_t other[], int rank)
{
    for (int d = 0; d < rank; d++) {
        bound[2 * d] = dcli_min(bound[2 * d], other[2 * d]);
        bound[2 * d + 1] = dcli_max(bound[2 * d + 1], other[2 * d + 1]);
    }
}

static bool bounds_meet(const int64_t a[], const int64_t b[], int rank)
{
    for (int d = 0; d < rank; d++)
        if (a[2 * d + 1] < b[2 * d] || b[2 * d + 1] < a[2 * d])
            return false;
    return true;
}

/* Number of the first box from `from` on whose bounds intersect those of the query; the number of boxes if there is
 * none. At the start of a group the bounds of the largest group that starts there are tested first: if they do not
 * intersect the query, the whole group is skipped; otherwise its parts are tested. */
static int64_t next_near(const dcli_box_set *set, const dcl_box *query, int64_t from)
{
    int64_t wanted[2 * DCL_MAX_RANK];
    write_bound(query, wanted);
    while (from < set->boxes.count) {
        int level = 0;
        int64_t width = 1; /* boxes under one bound of the level */
        while (level + 1 < set->levels && from % (width * FAN_OUT) == 0) {
            level++;
            width *= FAN_OUT;
        }
        while (bounds_meet(bound_at(set, level, from / width), wanted, query->rank)) {
            if (level == 0)
                return from;
            level--;
            width /= FAN_OUT;
        }
        from += width;
    }
    return set->boxes.count;
}

/* As next_near(), but the box itself, not only its bounds, intersects the query. */
int64_t dcli_box_set_next(const dcli_box_set *set, const dcl_box *query, int64_t from)
{
    dcl_box common;
    int64_t at = next_near(set, query, from);
    while (at < set->boxes.count && !dcli_box_intersect(&set->boxes.box[at], query, &common))
        at = next_near(set, query, at + 1);
    return at;
}

/* Add a level to the tree when its top level gets a second group; the first bound of the new level encloses the whole
 * first group. */
static void grow_tree(dcli_box_set *set, int64_t count)
{
    int64_t width = 1;
    for (int level = 0; level < set->levels; level++)
        width *= FAN_OUT;
    if (set->levels == DCLI_SET_LEVELS || count <= (set->levels == 0 ? 0 : width))
        return;
    int level = set->levels++, rank = set->boxes.box[0].rank;
    if (level == 0)
        return;
    int64_t *bound = bound_at(set, level, 0);
    for (int k = 0; k < 2 * rank; k++)
        bound[k] = bound_at(set, level - 1, 0)[k];
    for (int64_t part = 1; part < FAN_OUT; part++)
        widen_bound(bound, bound_at(set, level - 1, part), rank);
}

/* Update the bounds over box number `at` after it was appended or has grown. */
static void update_bounds(dcli_box_set *set, int64_t at, bool appended)
{
    int64_t own[2 * DCL_MAX_RANK], width = 1;
    int rank = set->boxes.box[at].rank;
    write_bound(&set->boxes.box[at], own);
    for (int level = 0; level < set->levels; level++, width *= FAN_OUT) {
        int64_t *bound = bound_at(set, level, at / width);
        if (appended && at % width == 0) /* the first of a new group */
            for (int k = 0; k < 2 * rank; k++)
                bound[k] = own[k];
        else
            widen_bound(bound, own, rank);
    }
}

/* Whether the union of two disjoint progressions is a progression: the second continues the first, or fills its
 * gaps. */
static bool join_runs(int64_t start_a, int64_t count_a, int64_t stride_a, int64_t start_b, int64_t count_b,
                      int64_t stride_b, int64_t *stride_out)
{
    dcli_wide gap = start_b - dcli_run_last(start_a, count_a, stride_a);
    if (gap > 0) {
        *stride_out = count_a > 1 ? stride_a : (int64_t)gap;
        return gap == *stride_out && (count_b == 1 || stride_b == *stride_out);
    }
    *stride_out = stride_a / 2;
    return stride_a == stride_b && stride_a % 2 == 0 && start_b == start_a + stride_a / 2 &&
           (count_a == count_b || count_a == count_b + 1);
}

/* Replace `a` by the union of two disjoint boxes if the union is a box: they differ on one axis only, and join there.
 * @return whether they do. */
static bool join_boxes(dcl_box *a, const dcl_box *b)
{
    int axis = -1;
    for (int d = 0; d < a->rank; d++) {
        bool same = a->start[d] == b->start[d] && a->count[d] == b->count[d];
        if (same && (a->count[d] == 1 || a->stride[d] == b->stride[d]))
            continue;
        if (axis >= 0)
            return false;
        axis = d;
    }
    const dcl_box *low = a->start[axis] < b->start[axis] ? a : b, *high = low == a ? b : a;
    int64_t stride;
    if (!join_runs(low->start[axis], low->count[axis], low->stride[axis], high->start[axis], high->count[axis],
                   high->stride[axis], &stride))
        return false;
    a->start[axis] = low->start[axis];
    a->count[axis] += b->count[axis];
    a->stride[axis] = stride;
    return true;
}

/* Append a box; memory was reserved. */
static void append_as_is(dcli_box_set *set, const dcl_box *box)
{
    set->boxes.box[set->boxes.count++] = *box;
    grow_tree(set, set->boxes.count);
    update_bounds(set, set->boxes.count - 1, true);
}

/* Append a box that is disjoint from all others; memory was reserved. */
static void append(dcli_box_set *set, const dcl_box *box)
{
    dcli_box_list *list = &set->boxes;
    append_as_is(set, box);
    while (list->count > 1 && join_boxes(&list->box[list->count - 2], &list->box[list->count - 1])) {
        list->count--;
        update_bounds(set, list->count - 1, false);
    }
}

static dcl_status reserve_boxes(dcli_box_list *list, int64_t more)
{
    while (list->capacity < list->count + more)
        if (dcli_grow(&list->box, list->capacity, &list->capacity, sizeof *list->box) != 0)
            return DCL_ERR_NOMEM;
    return DCL_OK;
}

/* Reserve memory for `more` boxes and the bounds over them. */
static dcl_status reserve(dcli_box_set *set, int64_t more, int rank)
{
    dcl_status status = reserve_boxes(&set->boxes, more);
    int64_t count = set->boxes.count + more, width = 1;
    for (int level = 0; status == DCL_OK && level < DCLI_SET_LEVELS; level++, width *= FAN_OUT) {
        if (level > 0 && count <= width)
            break; /* the tree will not be that high */
        int64_t numbers = ((count - 1) / width + 1) * 2 * rank;
        while (set->level[level].capacity < numbers)
            if (dcli_grow(&set->level[level].bounds, set->level[level].capacity, &set->level[level].capacity,
                          sizeof(int64_t)) != 0)
                return DCL_ERR_NOMEM;
    }
    return status;
}

/* Subtract box number `at` from a piece, and push the rest on the stack of pieces to be compared with later boxes. */
static dcl_status push_rest(dcli_box_set *set, const dcl_box *piece, int64_t at)
{
    int64_t before = set->pending.count;
    if (dcli_box_subtract(piece, &set->boxes.box[at], &set->pending) != DCL_OK)
        return DCL_ERR_NOMEM;
    while (set->from_capacity < set->pending.count)
        if (dcli_grow(&set->from, set->from_capacity, &set->from_capacity, sizeof *set->from) != 0)
            return DCL_ERR_NOMEM;
    for (int64_t k = before; k < set->pending.count; k++)
        set->from[k] = at + 1;
    return DCL_OK;
}

/* Find the pieces of a box that the set lacks; the box meets box number `at`. They go to set->added, last piece
 * first. */
static dcl_status find_new(dcli_box_set *set, const dcl_box *box, int64_t at)
{
    dcl_box piece = *box;
    dcl_status status;
    set->added.count = set->pending.count = 0;
    for (;;) {
        status = at < set->boxes.count ? push_rest(set, &piece, at) : dcli_box_list_add(&set->added, &piece);
        if (status != DCL_OK || set->pending.count == 0)
            return status;
        piece = set->pending.box[--set->pending.count];
        at = dcli_box_set_next(set, &piece, set->from[set->pending.count]);
    }
}

dcl_status dcli_box_set_add(dcli_box_set *set, const dcl_box *box, dcli_box_list *fresh)
{
    dcl_box whole = *box; /* a copy: the box may be in `fresh`, which may move */
    if (dcli_box_is_empty(&whole))
        return DCL_OK;
    const dcl_box *added = &whole;
    int64_t count = 1, at = dcli_box_set_next(set, &whole, 0);
    if (at < set->boxes.count) {
        dcl_status status = find_new(set, &whole, at);
        if (status != DCL_OK)
            return status;
        added = set->added.box;
        count = set->added.count;
    }
    if (count == 0)
        return DCL_OK;
    if (reserve(set, count, whole.rank) != DCL_OK || (fresh != NULL && reserve_boxes(fresh, count) != DCL_OK))
        return DCL_ERR_NOMEM;
    for (int64_t k = count - 1; k >= 0; k--) { /* from here on nothing can fail */
        append(set, &added[k]);
        if (fresh != NULL)
            fresh->box[fresh->count++] = added[k];
    }
    return DCL_OK;
}

dcl_status dcli_box_set_lacks(dcli_box_set *set, const dcl_box *box, dcli_box_list *lacking)
{
    int64_t at = dcli_box_set_next(set, box, 0);
    if (dcli_box_is_empty(box) || at == set->boxes.count)
        return dcli_box_is_empty(box) ? DCL_OK : dcli_box_list_add(lacking, box);
    dcl_status status = find_new(set, box, at);
    for (int64_t k = set->added.count - 1; k >= 0 && status == DCL_OK; k--)
        status = dcli_box_list_add(lacking, &set->added.box[k]);
    return status;
}

dcl_status dcli_box_set_put(dcli_box_set *set, const dcl_box *box)
{
    if (reserve(set, 1, box->rank) != DCL_OK)
        return DCL_ERR_NOMEM;
    append_as_is(set, box);
    return DCL_OK;
}

void dcli_box_set_clear(dcli_box_set *set, int64_t most)
{
    set->boxes.count = set->pending.count = set->added.count = 0;
    set->levels = 0;
    if (dcli_max(set->boxes.capacity, dcli_max(set->pending.capacity, set->added.capacity)) > most)
        dcli_box_set_free(set);
}

void dcli_box_set_free(dcli_box_set *set)
{
    dcli_box_list_free(&set->boxes);
    dcli_box_list_free(&set->pending);
    dcli_box_list_free(&set->added);
    dcli_free(set->from);
    for (int level = 0; level < DCLI_SET_LEVELS; level++)
        dcli_free(set->level[level].bounds);
    *set = (dcli_box_set){0};
}
