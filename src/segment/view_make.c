/* segment/view_make.c - makes views of views: permute, slice, shift, broadcast and so on. */
#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/view.h"
#include "segment/wide.h"

dcl_status dcli_transform_permute(dcli_transform *view, const int axes[])
{
    int rank = view->grid.rank, now[DCL_MAX_RANK];
    bool used[DCL_MAX_RANK] = {false};
    for (int n = 0; n < rank; n++) {
        if (axes[n] < 0 || axes[n] >= rank || used[axes[n]])
            return DCLI_FAIL(DCL_ERR_INVALID, "axes[%d] is %d%s; expected each of 0..%d once; name every axis", n,
                             axes[n], axes[n] >= 0 && axes[n] < rank ? " again" : "", rank - 1);
        used[axes[n]] = true;
        now[axes[n]] = n;
    }
    dcl_grid grid = view->grid;
    for (int n = 0; n < rank; n++) {
        view->grid.origin[n] = grid.origin[axes[n]];
        view->grid.extent[n] = grid.extent[axes[n]];
    }
    for (int d = 0; d < view->base_rank; d++)
        if (view->axis[d] >= 0)
            view->axis[d] = now[view->axis[d]];
    return DCL_OK;
}

static dcl_status check_slice(const dcl_grid *grid, int d, int64_t start, int64_t count, int64_t stride)
{
    if (count < 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "count[%d] is %" PRId64 "; expected 0 or more; count elements, not ends", d,
                         count);
    if (stride == 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "stride[%d] is 0; expected 1 or more, or -1 or less to go backwards; to repeat an element "
                         "use dcl_broadcast()",
                         d);
    dcli_wide last = start + (dcli_wide)stride * (count - 1), end = (dcli_wide)grid->origin[d] + grid->extent[d];
    if (count > 0 && (start < grid->origin[d] || start >= end || last < grid->origin[d] || last >= end))
        return DCLI_FAIL(DCL_ERR_RANGE,
                         "axis %d of the slice goes from %" PRId64 " to %" PRId64 " (count %" PRId64 ", stride %" PRId64
                         "); expected indices from %" PRId64 " to below %" PRId64 "; take fewer elements",
                         d, start, dcli_wide_clip(last), count, stride, grid->origin[d], (int64_t)end);
    return DCL_OK;
}

dcl_status dcli_transform_slice(dcli_transform *view, const int64_t start[], const int64_t count[],
                                const int64_t stride[])
{
    for (int v = 0; v < view->grid.rank; v++) {
        dcl_status status = check_slice(&view->grid, v, start[v], count[v], stride != NULL ? stride[v] : 1);
        if (status != DCL_OK)
            return status;
    }
    for (int d = 0; d < view->base_rank; d++) {
        int v = view->axis[d];
        if (v < 0 || count[v] == 0)
            continue;
        view->constant[d] = (int64_t)(view->constant[d] + (dcli_wide)view->step[d] * start[v]);
        if (stride != NULL && count[v] > 1) /* neighbouring elements lie in the base, so their distance fits int64_t */
            view->step[d] *= stride[v];
    }
    for (int v = 0; v < view->grid.rank; v++) {
        view->grid.origin[v] = 0;
        view->grid.extent[v] = count[v];
    }
    return DCL_OK;
}

dcl_status dcli_transform_sub(dcli_transform *view, const dcl_box *box)
{
    dcl_status status = dcli_box_check(box, &view->grid);
    for (int v = 0; v < view->grid.rank && status == DCL_OK; v++)
        if (box->stride[v] != 1 && box->count[v] > 1)
            status = DCLI_FAIL(DCL_ERR_INVALID,
                               "the box's stride[%d] is %" PRId64
                               "; expected 1: a sub-grid keeps its numbers; use dcl_slice(), with stride %" PRId64,
                               v, box->stride[v], box->stride[v]);
    if (status != DCL_OK)
        return status;
    bool empty = dcli_box_is_empty(box);
    for (int v = 0; v < view->grid.rank; v++) {
        view->grid.origin[v] = empty ? view->grid.origin[v] : box->start[v];
        view->grid.extent[v] =
            dcli_min(box->count[v], view->grid.extent[v]); /* if an axis is empty, the numbers of other axes may
                                                              exceed the view */
    }
    return DCL_OK;
}

dcl_status dcli_transform_shift(dcli_transform *view, const int64_t by[])
{
    dcli_transform shifted = *view;
    for (int v = 0; v < view->grid.rank; v++)
        if (__builtin_add_overflow(view->grid.origin[v], by[v], &shifted.grid.origin[v]) ||
            shifted.grid.origin[v] > INT64_MAX - view->grid.extent[v])
            return DCLI_FAIL(DCL_ERR_RANGE,
                             "by[%d] is %" PRId64 ": indices from %" PRId64
                             " on, moved by that, leave int64_t; expected a smaller distance",
                             v, by[v], view->grid.origin[v]);
    for (int d = 0; d < view->base_rank; d++) {
        int v = view->axis[d];
        if (v < 0)
            continue;
        dcli_wide constant = view->constant[d] - (dcli_wide)view->step[d] * by[v];
        shifted.constant[d] = (int64_t)constant;
        if (shifted.constant[d] != constant)
            return DCLI_FAIL(DCL_ERR_RANGE,
                             "by[%d] is %" PRId64 ", and the view sees every %" PRId64
                             "th element: their product leaves int64_t; expected a smaller distance",
                             v, by[v], view->step[d]);
    }
    *view = shifted;
    return DCL_OK;
}

dcl_status dcli_transform_broadcast(dcli_transform *view, int axis, int64_t extent)
{
    dcl_grid grid = view->grid;
    if (grid.rank == DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "the array has %d axes; expected at most %d to add one", grid.rank,
                         DCL_MAX_RANK - 1);
    if (axis < 0 || axis > grid.rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "axis is %d; expected 0..%d, where the new axis is to be", axis, grid.rank);
    for (int v = grid.rank++; v > axis; v--) {
        grid.origin[v] = grid.origin[v - 1];
        grid.extent[v] = grid.extent[v - 1];
    }
    grid.origin[axis] = 0;
    grid.extent[axis] = extent;
    dcl_status status = dcli_grid_check(&grid);
    if (status != DCL_OK)
        return status;
    view->grid = grid;
    for (int d = 0; d < view->base_rank; d++)
        view->axis[d] += view->axis[d] >= axis;
    return DCL_OK;
}

dcl_status dcli_transform_take(dcli_transform *view, int axis, int64_t index)
{
    dcl_grid *grid = &view->grid;
    if (grid->rank == 1)
        return DCLI_FAIL(DCL_ERR_INVALID, "the array has one axis; expected two or more, of which one is dropped; read "
                                          "an element with dcl_read()");
    if (axis < 0 || axis >= grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "axis is %d; expected 0..%d, the axis that is dropped", axis, grid->rank - 1);
    if (index < grid->origin[axis] || index - (dcli_wide)grid->origin[axis] >= grid->extent[axis])
        return DCLI_FAIL(DCL_ERR_RANGE,
                         "index is %" PRId64 "; expected one of axis %d: from %" PRId64 " to below %" PRId64, index,
                         axis, grid->origin[axis], grid->origin[axis] + grid->extent[axis]);
    for (int d = 0; d < view->base_rank; d++) {
        if (view->axis[d] == axis) {
            view->constant[d] = (int64_t)(view->constant[d] + (dcli_wide)view->step[d] * index);
            view->step[d] = 0;
            view->axis[d] = -1;
        }
        view->axis[d] -= view->axis[d] > axis;
    }
    grid->rank--;
    for (int v = axis; v < grid->rank; v++) {
        grid->origin[v] = grid->origin[v + 1];
        grid->extent[v] = grid->extent[v + 1];
    }
    return DCL_OK;
}
