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

/* clang-format off */
MADE_ARRAY(agile, OPERATES, MAP(map), (dcl_grid grid, dcl_map *map), (grid, map))
ANSWER(dcl_grid, grid_of, ((dcl_grid){.rank = 0}), ARRAY(array), (const dcl_array *array), (array))
STATUS(fill, OPERATES, ARRAY(array), (dcl_array *array, const void *element), (array, element))
STATUS(write, OPERATES, ARRAY(array),
       (dcl_array *array, const dcl_box *box, const void *source, const int64_t strides[]),
       (array, box, source, strides))
STATUS(read, OPERATES, ARRAY(array), (dcl_array *array, const dcl_box *box, void *target, const int64_t strides[]),
       (array, box, target, strides))
STATUS(swap, OPERATES, ARRAY(a) ARRAY(b), (dcl_array *a, dcl_array *b), (a, b))
STATUS(keep, OPERATES, ARRAY(array), (dcl_array *array, bool keep), (array, keep))
STATUS(steal, OPERATES, ARRAY(array), (dcl_array *array, dcl_steal_policy policy), (array, policy))
STATUS(wait_for, OPERATES, ARRAY(array), (dcl_array *array, double seconds), (array, seconds))
STATUS(load_npy, OPERATES, ARRAY(array), (dcl_array *array, const char *path), (array, path))
STATUS(save_npy, OPERATES, ARRAY(array), (dcl_array *array, const char *path), (array, path))
STATUS(save_npy_order, OPERATES, ARRAY(array), (dcl_array *array, const char *path, bool fortran_order),
       (array, path, fortran_order))
STATUS(save_image, OPERATES, ARRAY(array), (dcl_array *array, const char *path, const dcl_image *image),
       (array, path, image))
/* clang-format on */

/* ---- views -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
MADE_ARRAY(transpose, ASKS, ARRAY(array), (dcl_array *array), (array))
MADE_ARRAY(permute, ASKS, ARRAY(array), (dcl_array *array, const int axes[]), (array, axes))
MADE_ARRAY(slice, ASKS, ARRAY(array),
           (dcl_array *array, const int64_t start[], const int64_t count[], const int64_t stride[]),
           (array, start, count, stride))
MADE_ARRAY(sub, ASKS, ARRAY(array), (dcl_array *array, const dcl_box *box), (array, box))
MADE_ARRAY(shift, ASKS, ARRAY(array), (dcl_array *array, const int64_t by[]), (array, by))
MADE_ARRAY(broadcast, ASKS, ARRAY(array), (dcl_array *array, int axis, int64_t extent), (array, axis, extent))
MADE_ARRAY(reshape, ASKS, ARRAY(array), (dcl_array *array, int rank, const int64_t extent[]), (array, rank, extent))
MADE_ARRAY(flatten, ASKS, ARRAY(array), (dcl_array *array), (array))
MADE_ARRAY(reshape_copy, OPERATES, ARRAY(array) MAP(map),
           (dcl_array *array, int rank, const int64_t extent[], dcl_map *map), (array, rank, extent, map))
MADE_ARRAY(take, ASKS, ARRAY(array), (dcl_array *array, int axis, int64_t index), (array, axis, index))
/* clang-format on */

/* ---- copies and moves --------------------------------------------------------------------------------------------- */

/* clang-format off */
STATUS(remap, OPERATES, ARRAY(array) MAP(map), (dcl_array *array, dcl_map *map), (array, map))
STATUS(remap_with, OPERATES, ARRAY(array) MAP(map), (dcl_array *array, dcl_map *map, unsigned flags),
       (array, map, flags))
STATUS(copy, OPERATES, ARRAY(from) ARRAY(to), (dcl_array *from, dcl_array *to), (from, to))
STATUS(tiles, ASKS, ARRAY(array), (const dcl_array *array, int node, dcl_tile_fn *visit, void *user),
       (array, node, visit, user))
STATUS(move, OPERATES, ARRAY(array), (dcl_array *array, const dcl_box *box, int node), (array, box, node))
/* clang-format on */
