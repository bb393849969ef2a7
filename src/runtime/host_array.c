/* runtime/host_array.c - memory of the program as arrays of a loop nest. What the nest reads is copied to an array of the
 * library, whose map is block; what it writes is copied back once all of it was computed without an error. */
#include "runtime/host_array.h"

#include <inttypes.h>

#include "base/check.h"
#include "loop/tiles.h"
#include "segment/box.h"

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

dcl_grid dcli_host_grid(const dcl_arg *arg) { return dcl_grid_nd(arg->type, arg->width_count, arg->width, NULL); }

static size_t bytes_of(const dcl_arg *arg)
{
    dcl_grid grid = dcli_host_grid(arg);
    return (size_t)dcl_grid_count(&grid) * dcl_type_bytes(arg->type);
}

dcl_status dcli_host_check(const dcl_arg *arg)
{
    if (arg->name == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "an argument in memory of the program has no name; expected the name it has in "
                         "the nest");
    if (arg->result == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the memory of argument %s is NULL; expected the address of its first element", arg->name);
    if (arg->type == DCL_HALF)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "argument %s has elements of type half; expected integers, float or double", arg->name);
    for (int d = 0; d < arg->width_count && arg->width_count <= DCL_MAX_RANK; d++)
        if (arg->width[d] < 1)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "extent %d of argument %s is %" PRId64
                             "; expected at least 1; leave the call out if there is "
                             "nothing to compute",
                             d, arg->name, arg->width[d]);
    dcl_grid grid = dcli_host_grid(arg);
    dcl_status status = dcli_grid_check(&grid);
    if (status == DCL_OK && bytes_of(arg) > UINTPTR_MAX - (uintptr_t)arg->result)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %s has %zu bytes, more than there can be after its address; check the extents",
                         arg->name, bytes_of(arg));
    return status;
}

dcl_status dcli_host_check_pair(const dcl_arg *a, const dcl_arg *b)
{
    if (a->access == DCL_ACCESS_HOST_IN && b->access == DCL_ACCESS_HOST_IN)
        return DCL_OK;
    uintptr_t first = (uintptr_t)a->result, second = (uintptr_t)b->result;
    if (first + bytes_of(a) <= second || second + bytes_of(b) <= first)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "%s and %s overlap in memory, and one of them is written; expected one argument for it; use one name "
        "in the nest, with DCL_HOST_INOUT, or check the extents",
        a->name, b->name);
}

dcl_status dcli_host_array_find(dcli_loops_plan *plan, int symbol, const dcl_arg *arg, dcli_host_array *out)
{
    *out = (dcli_host_array){.arg = arg, .grid = dcli_loops_plan_name(plan, symbol)->grid};
    dcl_box read;
    bool written_all, read_all;
    dcl_status status = dcli_loops_plan_touches(plan, symbol, true, &out->out, &written_all);
    if (status == DCL_OK)
        status = dcli_loops_plan_touches(plan, symbol, false, &read, &read_all);
    out->all = dcli_tiles_hull(&out->out, &read);
    if (arg->access != DCL_ACCESS_HOST_OUT)
        out->in = out->all;
    else if (!written_all) /* elements of `out` keep their values */
        out->in = out->out;
    else
        out->in = (dcl_box){.rank = out->grid.rank};
    return status;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

void *dcli_host_address(const dcli_host_array *host, const dcl_box *box, int64_t strides_out[])
{
    int64_t step = 1, offset = 0;
    for (int d = host->grid.rank - 1; d >= 0; d--) {
        strides_out[d] = step;
        offset += box->start[d] * step;
        step *= host->grid.extent[d];
    }
    return (char *)host->arg->result + (size_t)offset * dcl_type_bytes(host->grid.type);
}

/* The grid of the array: of what the nest accesses, or one element. */
static dcl_grid grid_of(const dcli_host_array *host)
{
    dcl_grid grid = dcl_grid_nd(host->grid.type, host->grid.rank, host->all.count, host->all.start);
    for (int d = 0; d < grid.rank; d++)
        grid.extent[d] = dcli_max(grid.extent[d], 1);
    return grid;
}

/* Start a transfer of a box. The lock is held. @param operation_out  its number; 0: it was not started. */
static dcl_status start(dcli_host_array *host, dcli_op_kind kind, const dcl_box *box, int64_t *operation_out)
{
    int64_t strides[DCL_MAX_RANK];
    dcli_msg_operation descriptor = {.kind = kind};
    *operation_out = 0;
    dcl_status status = dcli_cluster_await_room(host->array->cluster);
    if (status == DCL_OK)
        status =
            dcli_cluster_issue_one(host->array, &descriptor, box, true, dcli_host_address(host, box, strides), strides);
    if (status == DCL_OK)
        *operation_out = descriptor.number;
    return status;
}

dcl_status dcli_host_array_open(dcl_cluster *cluster, dcli_host_array *host)
{
    if (cluster->plan_only)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_call_explain(), or "
                                              "dcl_open() for data");
    dcl_grid grid = grid_of(host);
    dcl_map *map = dcli_map_new_block(cluster);
    if (map == NULL)
        return dcli_error_status();
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_array_make(cluster, &grid, map, true, &host->array);
    if (status == DCL_OK && !dcli_box_is_empty(&host->in))
        status = start(host, DCLI_OP_WRITE, &host->in, &host->in_operation);
    status = dcli_cluster_end_call(cluster, status);
    dcl_map_release(map);
    return status;
}

dcl_status dcli_host_array_imagine(dcl_cluster *cluster, int number, dcli_host_array *host)
{
    dcl_grid grid = grid_of(host);
    dcl_map *map = dcli_map_new_block(cluster);
    if (map == NULL)
        return dcli_error_status();
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_array_imagine(cluster, &grid, map, number, &host->array);
    pthread_mutex_unlock(&cluster->lock);
    dcl_map_release(map);
    return status;
}

dcl_status dcli_host_array_copied(dcl_cluster *cluster, dcli_host_array *host)
{
    if (host->in_operation == 0)
        return DCL_OK;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_cluster_end_of(cluster, host->in_operation, true);
    host->in_operation = 0;
    return dcli_cluster_end_call(cluster, status);
}

dcl_status dcli_host_array_wait(dcl_cluster *cluster, dcli_host_array *host)
{
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_cluster_wait(cluster, dcli_array_state(host->array)->last_use, false, -1);
    if (status == DCL_OK)
        status = dcli_array_usable(host->array, "read");
    if (status == DCL_OK)
        status = dcli_storage_state_strayed(dcli_array_state(host->array), "the elements were computed");
    return dcli_cluster_end_call(cluster, status);
}

dcl_status dcli_host_array_fetch(dcl_cluster *cluster, dcli_host_array *host)
{
    int64_t operation;
    if (dcli_box_is_empty(&host->out))
        return DCL_OK;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = start(host, DCLI_OP_READ, &host->out, &operation);
    if (operation != 0)
        status = dcli_cluster_end_of(cluster, operation, true);
    return dcli_cluster_end_call(cluster, status);
}

void dcli_host_array_close(dcl_cluster *cluster, dcli_host_array *host, bool imagined)
{
    if (host->array == NULL)
        return;
    pthread_mutex_lock(&cluster->lock);
    if (imagined)
        dcli_array_free(host->array);
    else
        dcli_array_end(host->array);
    host->array = NULL;
    pthread_mutex_unlock(&cluster->lock);
}
