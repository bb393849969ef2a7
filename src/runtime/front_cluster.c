/* runtime/front_cluster.c - public functions for clusters. */
#include "runtime/front.h"

#include "runtime/cluster.h"

/* ---- opening and closing ------------------------------------------------------------------------------------------ */

static dcl_cluster *opened(dcl_cluster *cluster)
{
    void *handle = cluster != NULL ? dcli_handle_make(DCLI_CLUSTERS, cluster, NULL) : NULL;
    if (cluster != NULL && handle == NULL) {
        dcli_error_made_null();
        dcli_in_close(cluster);
    }
    return handle;
}

dcl_cluster *dcl_open(const dcl_config *config)
{
    dcli_error_enter_constructor(__func__);
    return dcli_handle_process() == DCL_OK ? opened(dcli_in_open(config)) : NULL;
}

dcl_cluster *dcl_open_plan(int nodes)
{
    dcli_error_enter_constructor(__func__);
    return dcli_handle_process() == DCL_OK ? opened(dcli_in_open_plan(nodes)) : NULL;
}

/* End the handles of a closed cluster's arrays, whose objects were freed with it. */
static void end_arrays(const void *cluster)
{
    uint32_t at = 0;
    for (const void *array; (array = dcli_handle_next_array(cluster, &at)) != NULL;) {
        if (dcli_handle_enter(array, DCLI_ARRAYS) == NULL)
            continue;
        dcli_handle_forget(array);
        dcli_handle_finish(array);
        dcli_front_leave(array);
    }
}

/* Close a cluster: calls of other threads end with an error; then this thread uses it alone. */
static dcl_status close_cluster(dcl_cluster *handle, dcl_cluster *cluster)
{
    dcli_cluster_interrupt(cluster);
    dcli_handle_await(handle);
    dcli_cluster_resume(cluster);
    dcl_status status = dcli_in_close(cluster);
    end_arrays(handle);
    return status;
}

dcl_status dcl_close(dcl_cluster *cluster)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    dcl_cluster *object = dcli_call_cluster(&call, "cluster", cluster);
    if (object == NULL)
        return dcli_call_end(&call, call.status);
    if (dcli_call_is_inside(&call, cluster))
        return dcli_call_end(&call,
                             DCLI_FAIL(DCL_ERR_INVALID, "it was called by a function that a call with this cluster has "
                                                        "called (dcl_tiles(), say); return from that one first"));
    if (!dcli_handle_finish(cluster)) {
        call.status = dcli_handle_refuse(cluster, DCLI_CLUSTERS, "cluster");
        call.cluster = NULL;
        return dcli_call_end(&call, call.status);
    }
    dcl_status status = close_cluster(cluster, object);
    dcli_call_end(&call, status);
    dcli_handle_free(cluster, DCLI_CLOSED);
    return status;
}

/* ---- asking and waiting ------------------------------------------------------------------------------------------- */

/* clang-format off */
ANSWER(const char *, node_name, NULL, CLUSTER(cluster), (const dcl_cluster *cluster, int node), (cluster, node))
ANSWER(int, node_count, 0, CLUSTER(cluster), (const dcl_cluster *cluster), (cluster))
ANSWER(bool, node_is_alive, false, CLUSTER(cluster), (const dcl_cluster *cluster, int node), (cluster, node))
STATUS(add_workers, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, const char *workers), (cluster, workers))
STATUS(status_of, ASKS, CLUSTER(cluster), (dcl_cluster *cluster), (cluster))
STATUS(wait, ASKS, CLUSTER(cluster), (dcl_cluster *cluster), (cluster))
STATUS(wait_all, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, double seconds), (cluster, seconds))
/* clang-format on */

void dcl_clear_error(dcl_cluster *cluster)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    if (call.status == DCL_OK)
        dcli_in_clear_error(cluster);
    dcli_call_end(&call, call.status);
}
