/* runtime/view.c - views: made, placed in the program's memory, given up. */
#include <dcl/view.h>

#include <string.h>

#include "base/alloc.h"
#include "runtime/cluster.h"
#include "segment/region.h"

/* ---- making ------------------------------------------------------------------------------------------------------- */

/* The arguments of one kind of view. */
struct wish {
    dcl_status (*apply)(dcli_transform *view, const struct wish *wish);
    const int *axes;
    const int64_t *start, *count, *stride;
    const dcl_box *box;
    int axis;
    int64_t number;
};

static dcl_status make_view(dcl_array *of, const struct wish *wish, dcl_array **view_out)
{
    dcl_array *base = dcli_array_base(of);
    dcli_transform transform = of->base != NULL ? of->view : dcli_transform_of(&of->layout.grid);
    dcl_status status = wish->apply(&transform, wish);
    if (status != DCL_OK)
        return status;
    dcl_array *view = dcli_calloc(1, sizeof *view);
    if (view == NULL)
        return DCL_ERR_NOMEM;
    view->cluster = of->cluster;
    view->base = base;
    view->view = transform;
    base->view_count++;
    dcli_array_link(view);
    *view_out = view;
    return DCL_OK;
}

static dcl_array *view_of(dcl_array *array, const struct wish *wish)
{
    if (array == NULL)
        return NULL; /* the error that made it NULL is still the current one */
    dcl_cluster *cluster = array->cluster;
    dcl_array *view = NULL;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = make_view(array, wish, &view);
    if (status != DCL_OK)
        dcli_cluster_failed_call(cluster, status);
    pthread_mutex_unlock(&cluster->lock);
    return view;
}

static dcl_status missing(const char *name, const char *what)
{
    return DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected %s", name, what);
}

static dcl_status transpose(dcli_transform *view, const struct wish *wish)
{
    int axes[DCL_MAX_RANK], rank = view->grid.rank;
    (void)wish;
    for (int n = 0; n < rank; n++)
        axes[n] = rank - 1 - n;
    return dcli_transform_permute(view, axes);
}

static dcl_status permute(dcli_transform *view, const struct wish *wish)
{
    return wish->axes != NULL ? dcli_transform_permute(view, wish->axes) : missing("axes", "an axis number per axis");
}

static dcl_status slice(dcli_transform *view, const struct wish *wish)
{
    if (wish->start == NULL || wish->count == NULL)
        return missing(wish->start == NULL ? "start" : "count", "a number per axis");
    return dcli_transform_slice(view, wish->start, wish->count, wish->stride);
}

static dcl_status sub(dcli_transform *view, const struct wish *wish) { return dcli_transform_sub(view, wish->box); }

static dcl_status shift(dcli_transform *view, const struct wish *wish)
{
    return wish->start != NULL ? dcli_transform_shift(view, wish->start) : missing("by", "a distance per axis");
}

static dcl_status broadcast(dcli_transform *view, const struct wish *wish)
{
    return dcli_transform_broadcast(view, wish->axis, wish->number);
}

static dcl_status take(dcli_transform *view, const struct wish *wish)
{
    return dcli_transform_take(view, wish->axis, wish->number);
}

dcl_array *dcl_transpose(dcl_array *array)
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = transpose});
}

dcl_array *dcl_permute(dcl_array *array, const int axes[])
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = permute, .axes = axes});
}

dcl_array *dcl_slice(dcl_array *array, const int64_t start[], const int64_t count[], const int64_t stride[])
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = slice, .start = start, .count = count, .stride = stride});
}

dcl_array *dcl_sub(dcl_array *array, const dcl_box *box)
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = sub, .box = box});
}

dcl_array *dcl_shift(dcl_array *array, const int64_t by[])
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = shift, .start = by});
}

dcl_array *dcl_broadcast(dcl_array *array, int axis, int64_t extent)
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = broadcast, .axis = axis, .number = extent});
}

dcl_array *dcl_take(dcl_array *array, int axis, int64_t index)
{
    dcli_error_enter(__func__);
    return view_of(array, &(struct wish){.apply = take, .axis = axis, .number = index});
}

/* ---- using -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_view_writable(const dcl_array *array)
{
    if (array->base == NULL || !dcli_transform_broadcasts(&array->view))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "the array is a view with a broadcast axis: several of its indices stand for one "
                                      "element; expected a view that can be written; write to the array behind it");
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

/* Axis after axis: the first index is copied to the others, with what the axes before have become. */
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
