/* runtime/counts.c - counters: planned ones before an operation runs, all counters afterwards. */
#include "base/config.h"
#include "base/sized.h"
#include "runtime/report.h"

dcl_status dcli_check_counted(const dcl_cluster *cluster, int node, const void *out)
{
    if (node != DCL_ALL_NODES && node != DCL_HOST && (node < 0 || node >= cluster->node_count))
        return DCLI_FAIL(DCL_ERR_INVALID, "node is %d; expected 0..%d, DCL_ALL_NODES or DCL_HOST", node,
                         cluster->node_count - 1);
    if (out == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "counters_out is NULL; expected a dcl_counters to fill");
    return DCL_OK;
}

void dcli_counters_add(dcl_counters *sum, const dcl_counters *more)
{
    for (size_t c = 0; c < sizeof *sum / sizeof(int64_t); c++)
        ((int64_t *)sum)[c] += ((const int64_t *)more)[c];
}

/* ---- before ------------------------------------------------------------------------------------------------------- */

dcli_plan_terms dcli_report_terms(const dcl_cluster *cluster, bool detailed)
{
    bool lends = cluster->host > 1 && dcli_steal_lends(dcli_config_steal(&cluster->config));
    return (dcli_plan_terms){.node_count = cluster->host,
                             .ways = cluster->ways,
                             .batch_bytes = (int64_t)cluster->config.tile_bytes,
                             .chunk_bytes = (int64_t)cluster->config.chunk_bytes,
                             .pool_bytes = (int64_t)cluster->config.pool_bytes,
                             .kept_bytes = (int64_t)cluster->config.kept_bytes,
                             .early_bytes = DCLI_EARLY_BYTES,
                             .fine_elements = lends ? DCLI_FINE_ELEMENTS : 0,
                             .directory = &cluster->replicas.directory,
                             .detailed = detailed};
}

dcl_status dcli_plan_for_report(const dcl_cluster *cluster, const dcli_operation *operation, int node, bool detailed,
                                dcli_plan **plan_out)
{
    dcli_plan_terms terms = dcli_report_terms(cluster, detailed);
    dcl_status status = dcli_plan_make(operation, node, &terms, plan_out);
    if (status != DCL_OK || (*plan_out)->status == DCL_OK)
        return status;
    status = DCLI_FAIL((*plan_out)->status, "node %d: %s", node, (*plan_out)->problem);
    dcli_plan_free(*plan_out);
    return status;
}

dcl_status dcli_count_planned(void *user, const dcli_planned *planned)
{
    dcli_counted *counted = user;
    int node = counted->node;
    int first = node >= 0 ? node : 0, end = node >= 0 ? node + 1 : node == DCL_HOST ? 0 : planned->cluster->node_count;
    dcl_status status = DCL_OK;
    for (int n = first; n < end && status == DCL_OK; n++) {
        dcli_plan *plan;
        status = dcli_plan_for_report(planned->cluster, planned->operation, n, false, &plan);
        if (status != DCL_OK)
            break;
        dcli_counters_add(&counted->sum, &plan->counters);
        dcli_plan_free(plan);
    }
    return status;
}

/* ---- afterwards --------------------------------------------------------------------------------------------------- */

dcl_status dcl_stats_sized(dcl_cluster *cluster, int node, dcl_counters *counters_out, size_t counters_bytes)
{
    dcli_error_enter("dcl_stats");
    if (cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    dcl_status status = dcli_check_counted(cluster, node, counters_out);
    if (status == DCL_OK)
        status = dcli_size_check("counters_bytes", "dcl_counters", counters_bytes, sizeof *counters_out);
    if (status != DCL_OK)
        return status;
    dcl_counters sum = {0};
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->plan_only)
        status = dcli_cluster_wait(cluster, cluster->operations, false, -1);
    /* Counters that arrived with watermarks may be out of date, so ask the nodes. */
    if (status == DCL_OK && !cluster->plan_only && cluster->broken == DCL_OK) {
        pthread_mutex_unlock(&cluster->lock);
        status = dcli_host_count(cluster->worker[cluster->host], 0);
        pthread_mutex_lock(&cluster->lock);
    }
    int first = node == DCL_ALL_NODES ? 0 : node == DCL_HOST ? cluster->host : node;
    int end = node == DCL_ALL_NODES ? cluster->node_count : first + 1;
    for (int n = first; n < end; n++)
        dcli_counters_add(&sum, &cluster->counters[n]);
    pthread_mutex_unlock(&cluster->lock);
    if (status == DCL_OK)
        memcpy(counters_out, &sum, counters_bytes);
    return status;
}
