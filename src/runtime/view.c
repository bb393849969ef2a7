/* runtime/view.c - views: making them, translating transfers, releasing them. */
#include <dcl/view.h>

#include <string.h>

#include "base/alloc.h"
#include "runtime/cluster.h"
#include "segment/region.h"

/* ---- making ------------------------------------------------------------------------------------------------------- */

/* The arguments of one kind of view. */
struct wish {
    dcl_status (*apply)(dcl_array *array, const struct wish *wish); /* changes `array`, a new view that so far shows
                                                                       all that it was made of */
    const int *axes;
    const int64_t *start, *count, *stride;
    const dcl_box *box;
    const dcl_grid *grid;
    int axis;       /* broadcast, spread, take: number of an axis; reshape: rank */
    int64_t number; /* broadcast: extent; take: index */
};

/* Replace the view's layout by that of the base in another shape. */
static dcl_status take_shape(dcl_array *view, const dcl_grid *shape)
{
    dcli_layout layout;
    dcl_status status = dcli_layout_reshape(&view->base->layout, shape, &layout);
    if (status != DCL_OK)
        return status;
    dcli_layout_release(&view->layout);
    view->layout = layout;
    view->reshaped = true;
    return DCL_OK;
}

static dcl_status make_view(dcl_array *of, const struct wish *wish, dcl_array **view_out)
{
    dcl_array *base = dcli_array_base(of), *view = dcli_calloc(1, sizeof *view);
    if (view == NULL)
        return DCL_ERR_NOMEM;
    view->cluster = of->cluster;
    view->base = base;
    view->view = of->base != NULL ? of->view : dcli_transform_of(&of->layout.grid);
    dcl_status status = of->reshaped ? take_shape(view, &of->layout.grid) : DCL_OK;
    if (status == DCL_OK)
        status = wish->apply(view, wish);
    if (status != DCL_OK) {
        dcli_layout_release(&view->layout);
        dcli_free(view);
        return status;
    }
    base->view_count++;
    dcli_array_link(view);
    *view_out = view;
    return DCL_OK;
}

static dcl_array *view_of(dcl_array *array, const struct wish *wish)
{
    if (array == NULL)
        return NULL; /* the constructor's error is still the current one */
    dcl_cluster *cluster = array->cluster;
    dcl_array *view = NULL;
    pthread_mutex_lock(&cluster->lock);
    make_view(array, wish, &view);
    pthread_mutex_unlock(&cluster->lock);
    return view;
}

static dcl_status missing(const char *name, const char *what)
{
    return DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected %s", name, what);
}

static dcl_status transpose(dcl_array *array, const struct wish *wish)
{
    int axes[DCL_MAX_RANK], rank = array->view.grid.rank;
    (void)wish;
    for (int n = 0; n < rank; n++)
        axes[n] = rank - 1 - n;
    return dcli_transform_permute(&array->view, axes);
}

static dcl_status permute(dcl_array *array, const struct wish *wish)
{
    return wish->axes != NULL ? dcli_transform_permute(&array->view, wish->axes)
                              : missing("axes", "an axis number per axis");
}

static dcl_status slice(dcl_array *array, const struct wish *wish)
{
    if (wish->start == NULL || wish->count == NULL)
        return missing(wish->start == NULL ? "start" : "count", "a number per axis");
    return dcli_transform_slice(&array->view, wish->start, wish->count, wish->stride);
}

static dcl_status sub(dcl_array *array, const struct wish *wish) { return dcli_transform_sub(&array->view, wish->box); }

static dcl_status shift(dcl_array *array, const struct wish *wish)
{
    return wish->start != NULL ? dcli_transform_shift(&array->view, wish->start) : missing("by", "a distance per axis");
}

static dcl_status broadcast(dcl_array *array, const struct wish *wish)
{
    return dcli_transform_broadcast(&array->view, wish->axis, wish->number);
}

static dcl_status spread(dcl_array *array, const struct wish *wish)
{
    dcl_status status = DCL_OK;
    for (int d = 0; d < wish->grid->rank && status == DCL_OK; d++) {
        if (d == wish->axis)
            continue;
        status = dcli_transform_broadcast(&array->view, d, wish->grid->extent[d]);
        if (status == DCL_OK)
            array->view.grid.origin[d] = wish->grid->origin[d];
    }
    return status;
}

static dcl_status take(dcl_array *array, const struct wish *wish)
{
    return dcli_transform_take(&array->view, wish->axis, wish->number);
}

/* Whether a view shows all elements in row-major order, ignoring origins; otherwise it cannot be reshaped. */
static bool is_in_order(const dcl_array *array, const dcl_grid *grid)
{
    const dcli_transform *view = &array->view;
    for (int d = 0; d < grid->rank; d++)
        if (view->axis[d] != d || view->step[d] != 1)
            return false;
    return view->grid.rank == grid->rank && dcli_transform_covers(view, grid);
}

static dcl_status reshape_to(dcl_array *array, const dcl_grid *shape)
{
    const dcli_layout *layout;
    dcl_status status = dcli_array_layout(array, &layout);
    if (status != DCL_OK)
        return status;
    if (!is_in_order(array, &layout->grid))
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "the array is a view that leaves out, repeats or reorders elements: in another shape they would "
            "have to move; dcl_reshape_copy() moves them");
    status = take_shape(array, shape);
    if (status == DCL_OK)
        array->view = dcli_transform_of(shape);
    return status;
}

static dcl_status reshape(dcl_array *array, const struct wish *wish)
{
    if (wish->axis < 1 || wish->axis > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "rank is %d; expected 1..%d", wish->axis, DCL_MAX_RANK);
    if (wish->count == NULL)
        return missing("extent", "a number of elements per axis");
    dcl_grid shape = dcl_grid_nd(array->view.grid.type, wish->axis, wish->count, NULL);
    return reshape_to(array, &shape);
}

static dcl_status flatten(dcl_array *array, const struct wish *wish)
{
    (void)wish;
    dcl_grid shape = dcl_grid_1d(array->view.grid.type, dcl_grid_count(&array->view.grid));
    return reshape_to(array, &shape);
}

dcl_array *dcl_transpose(dcl_array *array)
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = transpose});
}

dcl_array *dcl_permute(dcl_array *array, const int axes[])
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = permute, .axes = axes});
}

dcl_array *dcl_slice(dcl_array *array, const int64_t start[], const int64_t count[], const int64_t stride[])
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = slice, .start = start, .count = count, .stride = stride});
}

dcl_array *dcl_sub(dcl_array *array, const dcl_box *box)
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = sub, .box = box});
}

dcl_array *dcl_shift(dcl_array *array, const int64_t by[])
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = shift, .start = by});
}

dcl_array *dcl_broadcast(dcl_array *array, int axis, int64_t extent)
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = broadcast, .axis = axis, .number = extent});
}

dcl_status dcli_view_spread(dcl_array *array, int axis, const dcl_grid *grid, dcl_array **view_out)
{
    return make_view(array, &(struct wish){.apply = spread, .axis = axis, .grid = grid}, view_out);
}

dcl_array *dcl_take(dcl_array *array, int axis, int64_t index)
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = take, .axis = axis, .number = index});
}

dcl_array *dcl_reshape(dcl_array *array, int rank, const int64_t extent[])
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = reshape, .axis = rank, .count = extent});
}

dcl_array *dcl_flatten(dcl_array *array)
{
    dcli_error_enter_constructor(__func__);
    return view_of(array, &(struct wish){.apply = flatten});
}

/* ---- using -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_view_writable(const dcl_array *array)
{
    if (array->base == NULL || !dcli_transform_broadcasts(&array->view))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "the array is a view with a broadcast axis: several of its indices stand for one "
                                      "element; expected a view that can be written; write to the array behind it");
}

dcl_status dcli_array_layout(dcl_array *array, const dcli_layout **layout_out)
{
    dcl_array *base = dcli_array_base(array);
    *layout_out = array->reshaped ? &array->layout : &base->layout;
    if (!array->reshaped)
        return DCL_OK;
    dcl_grid shape = array->layout.grid;
    return take_shape(array, &shape);
}

dcl_status dcli_array_own_layout(const dcl_array *array, dcli_layout *layout_out)
{
    const dcl_array *base = dcli_array_base(array);
    dcli_layout own;
    dcl_status status = dcli_layout_bind(&base->layout.rule, &base->layout.grid, &own);
    if (status == DCL_OK)
        dcli_layout_set_lines(&own, base->layout.around);
    if (status != DCL_OK || !array->reshaped) {
        *layout_out = own;
        return status;
    }
    status = dcli_layout_reshape(&own, &array->layout.grid, layout_out);
    dcli_layout_release(&own);
    return status;
}

dcli_msg_view dcli_view_describe(int operand, const dcli_transform *view, const dcl_grid *shape)
{
    dcli_msg_view message = {.operand = operand, .rank = view->grid.rank, .base_rank = view->base_rank};
    memcpy(message.origin, view->grid.origin, sizeof message.origin);
    memcpy(message.extent, view->grid.extent, sizeof message.extent);
    memcpy(message.constant, view->constant, sizeof message.constant);
    memcpy(message.step, view->step, sizeof message.step);
    for (int d = 0; d < view->base_rank; d++)
        message.axis[d] = view->axis[d];
    if (shape != NULL) {
        message.shape_rank = shape->rank;
        memcpy(message.shape, shape->extent, sizeof message.shape);
    }
    return message;
}

void *dcli_view_place(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[],
                      dcl_box *base_out, int64_t strides_out[])
{
    int64_t offset, steps[DCL_MAX_RANK] = {0};
    dcli_transform_place(&array->view, box, strides, base_out, &offset, steps);
    memcpy(strides_out, steps, sizeof steps);
    if (memory == NULL)
        return NULL;
    return (char *)memory + offset * (int64_t)dcl_type_bytes(array->view.grid.type);
}

/* For each broadcast axis in turn, copy the elements at its first index in the program's memory to its other indices.
 * So each axis also copies what the earlier axes have filled. */
void dcli_view_repeat(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[])
{
    size_t bytes = dcl_type_bytes(dcli_array_grid(array)->type);
    dcl_box there = *box;
    if (array->base == NULL || dcli_box_is_empty(box))
        return;
    for (int v = 0; v < box->rank; v++)
        if (dcli_transform_base_axis(&array->view, v) < 0)
            there.count[v] = 1;
    for (int v = 0; v < box->rank; v++) {
        if (there.count[v] == box->count[v] || strides[v] == 0)
            continue;
        there.count[v] = box->count[v] - 1;
        dcli_region source = {.box = there}, target = {.box = there, .offset = strides[v]};
        memcpy(source.step, strides, (size_t)box->rank * sizeof(int64_t));
        memcpy(target.step, strides, (size_t)box->rank * sizeof(int64_t));
        source.step[v] = 0;
        dcli_region_copy(memory, &target, memory, &source, bytes);
        there.count[v] = box->count[v];
    }
}

dcl_status dcli_view_release(dcl_array *array)
{
    dcl_array *base = array->base;
    dcli_array_free(array);
    return --base->view_count == 0 && base->released ? dcli_array_end(base) : DCL_OK;
}
