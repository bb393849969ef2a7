/* runtime/front_array.c - public functions for arrays, views, copies and moves. */
#include "runtime/front.h"

#include "runtime/cluster.h"

void dcl_array_release(dcl_array *array)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    if (dcli_call_array(&call, "array", array) != NULL && !dcli_handle_finish(array))
        call.status = dcli_handle_refuse(array, DCLI_ARRAYS, "array"); /* another thread has released it first */
    dcli_call_end(&call, call.status);
}

/* Make a handle for the map that dcl_map_of() returns; it is independent of the handle with which the array was
 * made. */
static void *lend_map(dcl_array *array, const void *cluster)
{
    if (array->lent_map != NULL && dcli_handle_object(array->lent_map) == array->map)
        return array->lent_map;
    dcli_array_end_loan(array); /* it has another map now */
    array->lent_map = dcli_handle_make(DCLI_MAPS, dcli_in_map_retain(array->map), cluster);
    if (array->lent_map == NULL)
        dcli_in_map_release(array->map);
    return array->lent_map;
}

void dcli_array_end_loan(dcl_array *array)
{
    const void *lent = array->lent_map;
    array->lent_map = NULL;
    if (lent == NULL || dcli_handle_enter(lent, DCLI_MAPS) == NULL)
        return;
    dcli_front_drop_map(lent);
    dcli_front_leave(lent);
}

const dcl_map *dcl_map_of(const dcl_array *array)
{
    dcli_call call;
    const void *map = NULL;
    dcli_call_begin(&call, __func__);
    dcl_array *object = dcli_call_array(&call, "array", array);
    if (object != NULL) {
        pthread_mutex_lock(&object->cluster->lock);
        map = lend_map(dcli_array_base(object), call.cluster);
        pthread_mutex_unlock(&object->cluster->lock);
    }
    if (array != NULL && map == NULL)
        dcli_error_made_null();
    dcli_call_end(&call, call.status);
    return map;
}

dcl_cluster *dcl_cluster_of(const dcl_array *array)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    dcli_call_array(&call, "array", array);
    const void *cluster = call.status == DCL_OK ? call.cluster : NULL;
    if (call.status != DCL_OK)
        dcli_error_made_null();
    dcli_call_end(&call, call.status);
    return (dcl_cluster *)(uintptr_t)cluster;
}

dcl_array *dcl_agile(dcl_grid grid, dcl_map *map)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_agile(grid, map) : NULL);
}

dcl_grid dcl_grid_of(const dcl_array *array)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    dcl_grid answer = call.status == DCL_OK ? dcli_in_grid_of(array) : (dcl_grid){.rank = 0};
    dcli_call_end(&call, call.status);
    return answer;
}

dcl_status dcl_fill(dcl_array *array, const void *element)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_fill(array, element) : call.status);
}

dcl_status dcl_write(dcl_array *array, const dcl_box *box, const void *source, const int64_t strides[])
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_write(array, box, source, strides) : call.status);
}

dcl_status dcl_read(dcl_array *array, const dcl_box *box, void *target, const int64_t strides[])
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_read(array, box, target, strides) : call.status);
}

dcl_status dcl_swap(dcl_array *a, dcl_array *b)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    a = dcli_call_array(&call, "a", a);
    b = dcli_call_array(&call, "b", b);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_swap(a, b) : call.status);
}

dcl_status dcl_keep(dcl_array *array, bool keep)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_keep(array, keep) : call.status);
}

dcl_status dcl_wait_for(dcl_array *array, double seconds)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_wait_for(array, seconds) : call.status);
}

dcl_status dcl_load_npy(dcl_array *array, const char *path)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_load_npy(array, path) : call.status);
}

dcl_status dcl_save_npy(dcl_array *array, const char *path)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_save_npy(array, path) : call.status);
}

dcl_status dcl_save_npy_order(dcl_array *array, const char *path, bool fortran_order)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call,
                         call.status == DCL_OK ? dcli_in_save_npy_order(array, path, fortran_order) : call.status);
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

dcl_array *dcl_transpose(dcl_array *array)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_transpose(array) : NULL);
}

dcl_array *dcl_permute(dcl_array *array, const int axes[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_permute(array, axes) : NULL);
}

dcl_array *dcl_slice(dcl_array *array, const int64_t start[], const int64_t count[], const int64_t stride[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS,
                          call.status == DCL_OK ? dcli_in_slice(array, start, count, stride) : NULL);
}

dcl_array *dcl_sub(dcl_array *array, const dcl_box *box)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_sub(array, box) : NULL);
}

dcl_array *dcl_shift(dcl_array *array, const int64_t by[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_shift(array, by) : NULL);
}

dcl_array *dcl_broadcast(dcl_array *array, int axis, int64_t extent)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_broadcast(array, axis, extent) : NULL);
}

dcl_array *dcl_reshape(dcl_array *array, int rank, const int64_t extent[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_reshape(array, rank, extent) : NULL);
}

dcl_array *dcl_flatten(dcl_array *array)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_flatten(array) : NULL);
}

dcl_array *dcl_reshape_copy(dcl_array *array, int rank, const int64_t extent[], dcl_map *map)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_ARRAYS,
                          call.status == DCL_OK ? dcli_in_reshape_copy(array, rank, extent, map) : NULL);
}

dcl_array *dcl_take(dcl_array *array, int axis, int64_t index)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_made(&call, DCLI_ARRAYS, call.status == DCL_OK ? dcli_in_take(array, axis, index) : NULL);
}

/* ---- copies and moves --------------------------------------------------------------------------------------------- */

dcl_status dcl_remap(dcl_array *array, dcl_map *map)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_remap(array, map) : call.status);
}

dcl_status dcl_remap_with(dcl_array *array, dcl_map *map, unsigned flags)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_remap_with(array, map, flags) : call.status);
}

dcl_status dcl_copy(dcl_array *from, dcl_array *to)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    from = dcli_call_array(&call, "from", from);
    to = dcli_call_array(&call, "to", to);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_copy(from, to) : call.status);
}

dcl_status dcl_tiles(const dcl_array *array, int node, dcl_tile_fn *visit, void *user)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_tiles(array, node, visit, user) : call.status);
}

dcl_status dcl_move(dcl_array *array, const dcl_box *box, int node)
{
    dcli_call call;
    dcli_call_begin_operation(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_move(array, box, node) : call.status);
}
