/* runtime/transfer.c - dcl_read() and dcl_write(): transfers between the program's memory and arrays. */
#include <string.h>

#include "base/check.h"
#include "runtime/transfer.h"
#include "segment/box.h"

/* Check a transfer, and compute the box for the descriptor and the strides of the program's memory. */
static dcl_status check_transfer(const dcl_array *array, const dcl_box *box, const void *memory,
                                 const int64_t strides[], const char *name, dcl_box *box_out, int64_t strides_out[])
{
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    *box_out = box != NULL ? *box : dcl_box_of(dcli_array_grid(array));
    status = dcli_box_check(box_out, dcli_array_grid(array));
    if (status != DCL_OK)
        return status;
    if (memory == NULL && !dcli_box_is_empty(box_out))
        return DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected the address of the box's first element", name);
    int64_t step = 1;
    for (int d = box_out->rank - 1; d >= 0; d--) {
        strides_out[d] = strides != NULL ? strides[d] : step;
        step *= dcli_max(box_out->count[d], 1);
    }
    return DCL_OK;
}

static dcl_status issue_transfer(dcl_array *array, dcli_op_kind kind, const dcl_box *box, void *memory,
                                 const int64_t strides[])
{
    dcli_msg_operation descriptor = {.kind = kind};
    dcl_status status = dcli_cluster_issue_one(array, &descriptor, box, true, memory, strides);
    return status == DCL_OK ? dcli_cluster_end_of(array->cluster, descriptor.number, true) : status;
}

/* Write a box. The lock is held between the check and the start, so that the array cannot be remapped. */
static dcl_status write_box(dcl_array *array, const dcl_box *box, const void *source, const int64_t strides[])
{
    dcl_status status = dcli_cluster_await_room(array->cluster);
    if (status == DCL_OK)
        status = dcli_partial_writable(array, box);
    return status == DCL_OK ? issue_transfer(array, DCLI_OP_WRITE, box, (void *)source, strides) : status;
}

/* The elements are valid only if no node has failed to write them; such news may still be on its way, so it is waited
 * for. */
dcl_status dcli_array_read(dcl_array *array, const dcl_box *box, void *target, const int64_t strides[])
{
    dcl_status status = dcli_cluster_await_room(array->cluster);
    if (status != DCL_OK)
        return status;
    int64_t written = dcli_array_state(array)->last_use;
    dcli_partial_rest(array, box, target, strides); /* uses the map with which the array is read */
    status = issue_transfer(array, DCLI_OP_READ, box, target, strides);
    if (status == DCL_OK)
        dcli_view_repeat(array, box, target, strides);
    if (status == DCL_OK)
        status = dcli_cluster_wait(array->cluster, written, false, -1);
    return status;
}

dcl_status dcli_array_start_reading(dcl_array *array, void *target, int64_t *written_out, int64_t *operation_out)
{
    static const int64_t strides[DCL_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}; /* of one element */
    dcl_box all = dcl_box_of(dcli_array_grid(array));
    dcli_msg_operation descriptor = {.kind = DCLI_OP_READ};
    pthread_mutex_lock(&array->cluster->lock);
    dcl_status status = dcli_array_usable(array, "read");
    if (status == DCL_OK)
        status = dcli_cluster_await_room(array->cluster);
    *written_out = dcli_array_state(array)->last_use;
    if (status == DCL_OK)
        status = dcli_cluster_issue_one(array, &descriptor, &all, true, target, strides);
    *operation_out = status == DCL_OK ? descriptor.number : 0;
    return dcli_cluster_end_call(array->cluster, status);
}

dcl_status dcli_array_finish_reading(dcl_array *array, int64_t written, int64_t operation)
{
    pthread_mutex_lock(&array->cluster->lock);
    dcl_status status = dcli_cluster_end_of(array->cluster, operation, true);
    if (status == DCL_OK)
        status = dcli_cluster_wait(array->cluster, written, false, -1);
    if (dcli_storage_state_failed(dcli_array_state(array)))
        status = dcli_array_usable(array, "read");
    if (status == DCL_OK)
        status = dcli_storage_state_strayed(dcli_array_state(array), "the value was computed");
    return dcli_cluster_end_call(array->cluster, status);
}

dcl_status dcl_write(dcl_array *array, const dcl_box *box, const void *source, const int64_t strides[])
{
    dcli_error_enter(__func__);
    dcl_box checked;
    int64_t steps[DCL_MAX_RANK];
    dcl_status status = check_transfer(array, box, source, strides, "source", &checked, steps);
    if (status == DCL_OK)
        status = dcli_view_writable(array);
    if (status != DCL_OK && (array == NULL || array->cluster->plan_only))
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    if (status == DCL_OK && !dcli_box_is_empty(&checked))
        status = write_box(array, &checked, source, steps);
    return dcli_cluster_end_call(array->cluster, status);
}

dcl_status dcl_read(dcl_array *array, const dcl_box *box, void *target, const int64_t strides[])
{
    dcli_error_enter(__func__);
    dcl_box checked;
    int64_t steps[DCL_MAX_RANK];
    dcl_status status = check_transfer(array, box, target, strides, "target", &checked, steps);
    if (status != DCL_OK && (array == NULL || array->cluster->plan_only))
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    if (status == DCL_OK)
        status = dcli_array_usable(array, "read");
    if (status == DCL_OK && !dcli_box_is_empty(&checked))
        status = dcli_array_read(array, &checked, target, steps);
    if (dcli_storage_state_failed(dcli_array_state(array)))
        status = dcli_array_usable(array, "read"); /* the array's error, with its cause */
    if (status == DCL_OK)
        status = dcli_storage_state_strayed(dcli_array_state(array), "the elements were read");
    return dcli_cluster_end_call(array->cluster, status);
}
