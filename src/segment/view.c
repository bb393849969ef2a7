/* segment/view.c - converts indices of a view to those of its base, and back. */
#include "segment/view.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "segment/wide.h"

dcli_transform dcli_transform_of(const dcl_grid *base)
{
    dcli_transform view = {.grid = *base, .base_rank = base->rank};
    for (int d = 0; d < base->rank; d++) {
        view.axis[d] = d;
        view.step[d] = 1;
    }
    return view;
}

bool dcli_transform_equal(const dcli_transform *a, const dcli_transform *b)
{
    if (a->grid.type != b->grid.type || a->grid.rank != b->grid.rank || a->base_rank != b->base_rank)
        return false;
    for (int v = 0; v < a->grid.rank; v++)
        if (a->grid.origin[v] != b->grid.origin[v] || a->grid.extent[v] != b->grid.extent[v])
            return false;
    for (int d = 0; d < a->base_rank; d++)
        if (a->axis[d] != b->axis[d] || a->constant[d] != b->constant[d] || a->step[d] != b->step[d])
            return false;
    return true;
}

/* ---- checking ----------------------------------------------------------------------------------------------------- */

static bool is_empty(const dcl_grid *grid)
{
    for (int v = 0; v < grid->rank; v++)
        if (grid->extent[v] == 0)
            return true;
    return false;
}

/* The two ends of the range of base axis d that a view shows, in any order. */
static void ends_of(const dcli_transform *view, int d, dcli_wide *one_out, dcli_wide *other_out)
{
    int v = view->axis[d];
    *one_out = *other_out = view->constant[d];
    if (v < 0)
        return;
    *one_out += (dcli_wide)view->step[d] * view->grid.origin[v];
    *other_out += (dcli_wide)view->step[d] * ((dcli_wide)view->grid.origin[v] + view->grid.extent[v] - 1);
}

static dcl_status check_axis(const dcli_transform *view, int d, bool used[])
{
    int v = view->axis[d];
    if (v < -1 || v >= view->grid.rank || (v >= 0 && used[v]))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "axis %d of the base is seen along axis %d of the view; expected another one of its %d, or -1",
                         d, v, view->grid.rank);
    if ((v < 0) != (view->step[d] == 0))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "axis %d of the base has step %" PRId64 " and axis %d; expected 0 and -1, or neither", d,
                         view->step[d], v);
    if (v >= 0)
        used[v] = true;
    return DCL_OK;
}

dcl_status dcli_transform_check(const dcli_transform *view, const dcl_grid *base)
{
    bool used[DCL_MAX_RANK] = {false};
    dcl_status status = dcli_grid_check(&view->grid);
    if (status == DCL_OK && (view->grid.type != base->type || view->base_rank != base->rank))
        status = DCLI_FAIL(DCL_ERR_INVALID, "a view of elements of type %s over %d axes; expected %s over %d",
                           dcl_type_name(view->grid.type), view->base_rank, dcl_type_name(base->type), base->rank);
    for (int d = 0; d < base->rank && status == DCL_OK; d++)
        status = check_axis(view, d, used);
    for (int d = 0; d < base->rank && status == DCL_OK && !is_empty(&view->grid); d++) {
        dcli_wide one, other;
        ends_of(view, d, &one, &other);
        if (dcli_wide_min(one, other) < base->origin[d] ||
            dcli_wide_max(one, other) >= (dcli_wide)base->origin[d] + base->extent[d])
            status = DCLI_FAIL(DCL_ERR_RANGE,
                               "a view sees axis %d of its base from %" PRId64 " to %" PRId64
                               "; expected indices from %" PRId64 " to below %" PRId64,
                               d, dcli_wide_clip(one), dcli_wide_clip(other), base->origin[d],
                               base->origin[d] + base->extent[d]);
    }
    return status;
}

/* ---- asking ------------------------------------------------------------------------------------------------------- */

int dcli_transform_base_axis(const dcli_transform *view, int v)
{
    for (int d = 0; d < view->base_rank; d++)
        if (view->axis[d] == v)
            return d;
    return -1;
}

bool dcli_transform_broadcasts(const dcli_transform *view)
{
    for (int v = 0; v < view->grid.rank; v++)
        if (dcli_transform_base_axis(view, v) < 0)
            return true;
    return false;
}

bool dcli_transform_covers(const dcli_transform *view, const dcl_grid *base)
{
    if (is_empty(base) || is_empty(&view->grid))
        return is_empty(base);
    for (int d = 0; d < base->rank; d++) {
        int v = view->axis[d];
        if (base->extent[d] != (v < 0 ? 1 : view->grid.extent[v]))
            return false; /* every index of the view lies in the base, so equal counts mean that the whole axis is
                             shown, forwards or backwards */
    }
    return true;
}

/* ---- mapping ------------------------------------------------------------------------------------------------------ */

void dcli_transform_index(const dcli_transform *view, const int64_t index[], int64_t base_out[])
{
    for (int d = 0; d < view->base_rank; d++)
        base_out[d] = view->axis[d] < 0
                          ? view->constant[d]
                          : (int64_t)(view->constant[d] + (dcli_wide)view->step[d] * index[view->axis[d]]);
}

static dcl_box empty_box(int rank)
{
    dcl_box box = {.rank = rank};
    for (int d = 0; d < rank; d++)
        box.stride[d] = 1;
    return box;
}

void dcli_transform_box(const dcli_transform *view, const dcl_box *box, dcl_box *base_out)
{
    dcl_box base = empty_box(view->base_rank);
    for (int d = 0; d < base.rank && !dcli_box_is_empty(box); d++) {
        int v = view->axis[d];
        base.start[d] = view->constant[d];
        base.count[d] = 1;
        if (v < 0)
            continue;
        dcli_wide step = (dcli_wide)view->step[d] * box->stride[v];
        dcli_wide first = view->constant[d] + (dcli_wide)view->step[d] * box->start[v];
        base.count[d] = box->count[v];
        base.start[d] = (int64_t)(step < 0 ? first + step * (box->count[v] - 1) : first);
        base.stride[d] = box->count[v] > 1 ? (int64_t)dcli_wide_abs(step) : 1;
    }
    *base_out = base;
}

/* The indices of view axis v that show elements of a progression on base axis d. */
static bool seen_on_axis(const dcli_transform *view, int d, const dcl_box *base, dcl_box *box)
{
    int v = view->axis[d];
    int64_t start, count, stride, step = view->step[d];
    if (v < 0)
        return dcli_run_intersect(view->constant[d], 1, 1, base->start[d], base->count[d], base->stride[d], &start,
                                  &count, &stride);
    dcli_wide one, other;
    ends_of(view, d, &one, &other);
    int64_t apart = box->count[v] > 1 ? (int64_t)dcli_wide_abs(step) : 1;
    if (!dcli_run_intersect((int64_t)dcli_wide_min(one, other), box->count[v], apart, base->start[d], base->count[d],
                            base->stride[d], &start, &count, &stride))
        return false;
    dcli_wide first = step > 0 ? start : dcli_run_last(start, count, stride);
    box->start[v] = (int64_t)((first - view->constant[d]) / step);
    box->count[v] = count;
    box->stride[v] = count > 1 ? stride / (step > 0 ? step : -step) : 1;
    return true;
}

bool dcli_transform_seen(const dcli_transform *view, const dcl_box *base, dcl_box *box_out)
{
    dcl_box box = dcl_box_of(&view->grid);
    bool some = !dcli_box_is_empty(&box) && !dcli_box_is_empty(base);
    for (int d = 0; d < view->base_rank && some; d++)
        some = seen_on_axis(view, d, base, &box);
    *box_out = some ? box : empty_box(view->grid.rank);
    return some;
}

bool dcli_transform_subscripts(const dcli_transform *view, const dcli_subscripts *subscripts, dcli_subscripts *base_out)
{
    dcli_subscripts base = {.reach = subscripts->reach,
                            .space_rank = subscripts->space_rank,
                            .rank = view->base_rank,
                            .inner_rank = subscripts->inner_rank};
    memcpy(base.inner_count, subscripts->inner_count, sizeof base.inner_count);
    for (int d = 0; d < base.rank && base.reach == DCLI_REACH_AFFINE; d++) {
        dcli_subscript *to = &base.axis[d];
        to->constant = view->constant[d];
        if (view->axis[d] < 0)
            continue;
        const dcli_subscript *from = &subscripts->axis[view->axis[d]];
        dcli_wide constant = view->constant[d] + (dcli_wide)view->step[d] * from->constant;
        to->constant = (int64_t)constant;
        if (to->constant != constant)
            return false;
        for (int m = 0; m < base.space_rank + base.inner_rank; m++)
            if (__builtin_mul_overflow(view->step[d], from->coef[m], &to->coef[m]))
                return false;
        bool turned = view->step[d] < 0;
        to->clamped = from->clamped;
        to->beyond = from->beyond;
        to->repeat = turned ? -view->step[d] * from->repeat : view->step[d] * from->repeat;
        to->low = dcli_wide_clip(view->constant[d] + (dcli_wide)view->step[d] * (turned ? from->high : from->low));
        to->high = dcli_wide_clip(view->constant[d] + (dcli_wide)view->step[d] * (turned ? from->low : from->high));
    }
    *base_out = base;
    return true;
}

void dcli_transform_place(const dcli_transform *view, const dcl_box *box, const int64_t strides[], dcl_box *base_out,
                          int64_t *offset_out, int64_t strides_out[])
{
    dcli_transform_box(view, box, base_out);
    *offset_out = 0;
    for (int d = 0; d < view->base_rank; d++) {
        int v = view->axis[d];
        strides_out[d] = v < 0 ? 0 : view->step[d] > 0 ? strides[v] : -strides[v];
        if (v >= 0 && view->step[d] < 0) /* a reversed axis: the first element of the base is the last of the view */
            *offset_out += strides[v] * (box->count[v] - 1);
    }
}

bool dcli_transform_footprint(const dcli_transform *view, const dcl_grid *base, const dcli_subscripts *subscripts,
                              const dcl_box *space, dcl_box *seen_out, dcl_box *footprint_out, bool *cut_out)
{
    bool some = dcli_footprint(subscripts, space, view != NULL ? &view->grid : base, seen_out, cut_out);
    if (view == NULL)
        *footprint_out = *seen_out;
    else
        dcli_transform_box(view, seen_out, footprint_out);
    return some;
}
