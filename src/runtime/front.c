/* runtime/front.c - resolve handles: the frame of every public call. */
#include "runtime/front.h"

#include "runtime/cluster.h"

static _Thread_local dcli_call *innermost;

void dcli_call_begin(dcli_call *call, const char *function)
{
    dcli_error_enter(function);
    call->outer = innermost;
    call->status = DCL_OK;
    call->operates = false;
    call->cluster = NULL;
    call->count = 0;
    innermost = call;
}

void dcli_call_begin_operation(dcli_call *call, const char *function)
{
    dcli_call_begin(call, function);
    call->operates = true;
}

static bool is_pinned(const dcli_call *call, const void *handle)
{
    for (int p = 0; p < call->count; p++)
        if (call->pinned[p] == handle)
            return true;
    return false;
}

static void *pin(dcli_call *call, dcli_kind kind, const void *handle)
{
    void *object = dcli_handle_enter(handle, kind);
    if (object != NULL)
        call->pinned[call->count++] = handle;
    return object;
}

static void *refuse(dcli_call *call, dcli_kind kind, const char *name, const void *handle)
{
    call->status = dcli_handle_refuse(handle, kind, name);
    return NULL;
}

void *dcli_call_cluster(dcli_call *call, const char *name, const dcl_cluster *cluster)
{
    if (cluster == NULL || call->status != DCL_OK)
        return NULL;
    void *object = pin(call, DCLI_CLUSTERS, cluster);
    if (object == NULL)
        return refuse(call, DCLI_CLUSTERS, name, cluster);
    call->cluster = call->cluster != NULL ? call->cluster : cluster;
    return object;
}

/* Pin the object of a handle. Objects exist while their clusters are open, so the cluster is pinned first. */
static void *find(dcli_call *call, dcli_kind kind, const char *name, const void *handle)
{
    if (handle == NULL || call->status != DCL_OK)
        return NULL;
    const void *cluster = dcli_handle_cluster(handle);
    bool is_open = is_pinned(call, cluster) || pin(call, DCLI_CLUSTERS, cluster) != NULL;
    void *object = pin(call, kind, handle);
    if (object == NULL || !is_open)
        return refuse(call, kind, name, handle);
    call->cluster = call->cluster != NULL ? call->cluster : cluster;
    return object;
}

void *dcli_call_map(dcli_call *call, const char *name, const dcl_map *map) { return find(call, DCLI_MAPS, name, map); }

void *dcli_call_array(dcli_call *call, const char *name, const dcl_array *array)
{
    return find(call, DCLI_ARRAYS, name, array);
}

const dcl_arg *dcli_call_args(dcli_call *call, int count, const dcl_arg args[], dcl_arg copy[])
{
    if (args == NULL || count < 1 || count > DCLI_MAX_PARAMS)
        return args; /* the count is refused before the arguments are read */
    for (int k = 0; k < count; k++) {
        copy[k] = args[k];
        if (dcli_arg_has_array(&args[k]) || (args[k].access == DCL_ACCESS_RESULT_AT && args[k].array != NULL))
            copy[k].array = dcli_call_array(call, args[k].name != NULL ? args[k].name : "an argument", args[k].array);
    }
    return copy;
}

/* ---- ends --------------------------------------------------------------------------------------------------------- */

void dcli_front_drop_map(const void *map)
{
    if (dcli_handle_drop(map) == 1)
        dcli_handle_finish(map);
}

/* End an array's handle. Its cluster is pinned; or it was closed, and then the object was freed with it. */
static void end_array(const void *handle)
{
    dcl_array *array = dcli_handle_object(handle);
    if (array != NULL)
        dcli_in_array_release(array);
    dcli_handle_free(handle, array != NULL ? DCLI_RELEASED : DCLI_CLOSED);
}

void dcli_front_leave(const void *handle)
{
    if (!dcli_handle_leave(handle))
        return;
    switch (dcli_handle_kind(handle)) {
    case DCLI_ARRAYS:
        end_array(handle);
        return;
    case DCLI_MAPS:
        if (dcli_handle_await_looks())
            dcli_in_map_release(dcli_handle_object(handle));
        dcli_handle_free(handle, DCLI_RELEASED);
        return;
    case DCLI_CLUSTERS: /* ended by dcl_close(), which has it pinned */
        return;
    }
}

/* Record the error of a constructor at its cluster: an operation was given the NULL that the constructor returned, and
 * no other handle. */
static void keep_cause(void)
{
    const void *handle = dcli_error_cause_in();
    dcl_cluster *cluster = handle != NULL ? dcli_handle_enter(handle, DCLI_CLUSTERS) : NULL;
    if (cluster == NULL)
        return;
    DCLI_FAIL_NULL("an argument is NULL"); /* makes the constructor's error the current one */
    dcli_cluster_record_refusal(cluster);
    dcli_front_leave(handle);
}

dcl_status dcli_call_end(dcli_call *call, dcl_status status)
{
    if (call->operates && call->status != DCL_OK && call->cluster != NULL)
        dcli_cluster_record_refusal(dcli_handle_object(call->cluster));
    if (call->operates && call->cluster == NULL && status != DCL_OK && dcli_error_is_cause())
        keep_cause();
    for (int p = call->count - 1; p >= 0; p--)
        dcli_front_leave(call->pinned[p]);
    innermost = call->outer;
    return status;
}

void *dcli_call_made(dcli_call *call, dcli_kind kind, void *object)
{
    void *handle = object != NULL ? dcli_handle_make(kind, object, call->cluster) : NULL;
    if (call->status != DCL_OK || (object != NULL && handle == NULL))
        dcli_error_made_null();
    if (handle == NULL && call->cluster != NULL)
        dcli_error_made_null_in(call->cluster);
    else if (handle == NULL && call->operates && call->status == DCL_OK)
        keep_cause();
    if (object != NULL && handle == NULL && kind == DCLI_ARRAYS)
        dcli_in_array_release(object);
    else if (object != NULL && handle == NULL)
        dcli_in_map_release(object);
    dcli_call_end(call, DCL_OK);
    return handle;
}

bool dcli_call_is_inside(const dcli_call *call, const void *cluster)
{
    for (const dcli_call *outer = call->outer; outer != NULL; outer = outer->outer)
        if (is_pinned(outer, cluster))
            return true;
    return false;
}
