/* runtime/processes.c - open a cluster whose nodes are worker processes. */
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/trace.h"
#include "runtime/cluster.h"

static dcl_status open_host(dcl_cluster *cluster, uint64_t session)
{
    dcli_trace *ring = dcli_cluster_ring(cluster, cluster->host);
    if (cluster->trace != NULL && ring == NULL)
        return DCL_ERR_NOMEM;
    dcli_endpoint *endpoint = dcli_worker_pool_setup(cluster->pool, cluster->ways);
    bool *absent = dcli_calloc((size_t)cluster->host, sizeof *absent);
    if (endpoint == NULL || absent == NULL) {
        dcli_endpoint_close(endpoint);
        dcli_free(absent);
        return dcli_error_status();
    }
    for (int n = cluster->node_count; n < cluster->host; n++)
        absent[n] = true;
    cluster->has_tree = cluster->node_count > (int)cluster->config.fanout;
    for (int n = (int)cluster->config.fanout; n < cluster->node_count; n++)
        cluster->done[n] = cluster->ready[n] = INT64_MAX; /* their parents in the tree report for them */
    dcli_cluster_list_speakers(cluster);
    dcli_worker_terms terms = {.net = cluster->net,
                               .session = session,
                               .self = cluster->host,
                               .node_count = cluster->host,
                               .device = -1,
                               .ways = cluster->ways,
                               .config = &cluster->config,
                               .log = &cluster->log,
                               .trace = ring,
                               .buffers = cluster->buffers,
                               .hooks = &cluster->hooks,
                               .is_process = true,
                               .fanout = (int)cluster->config.fanout,
                               .tree_nodes = cluster->node_count,
                               .endpoint = endpoint,
                               .absent = absent,
                               .fleet = dcli_worker_pool_hooks(cluster->pool),
                               .word_secret = dcli_worker_pool_secret(cluster->pool)};
    dcl_status status = dcli_worker_open(&terms, &cluster->worker[cluster->host]);
    dcli_free(absent);
    return status;
}

static dcl_status start_worker_pool(dcl_cluster *cluster, dcli_worker_pool *pool, uint64_t session)
{
    cluster->pool = pool;
    dcl_status status = dcli_cluster_choose_movement(cluster);
    if (status == DCL_OK)
        status = open_host(cluster, session);
    if (status == DCL_OK)
        status = dcli_worker_start(cluster->worker[cluster->host]);
    if (status == DCL_OK)
        dcli_worker_pool_report_to(pool, cluster->worker[cluster->host]);
    if (status == DCL_OK && dcli_worker_pool_is_remote(pool))
        cluster->files.sees = dcli_host_sees;
    return status;
}

static dcl_status random_session(uint64_t *session_out)
{
    if (getrandom(session_out, sizeof *session_out, 0) == (ssize_t)sizeof *session_out)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INTERNAL, "getrandom: the system has no random numbers");
}

/* Limit the chunks, because over tcp the link is idle while the first chunk is packed and encrypted, and while the last
 * one is decrypted and unpacked. With smaller chunks these times are shorter; and a chunk stays in the processor's
 * cache from step to step. */
static void limit_chunks(dcl_config *config)
{
    const size_t most_bytes = 1 << 20;
    if (!dcli_worker_pool_starts(config->workers) && config->chunk_bytes > most_bytes)
        config->chunk_bytes = most_bytes;
}

/* Start the worker processes first: only then is the number of nodes known. */
dcl_cluster *dcli_open_processes(const dcl_config *config)
{
    uint64_t session;
    dcli_worker_pool *pool = NULL;
    dcl_cluster *cluster = dcli_cluster_make(config, 0, DCLI_MOST_NODES);
    if (cluster == NULL)
        return NULL;
    limit_chunks(&cluster->config);
    dcli_bodies_limit(cluster, 2);
    dcl_status status = dcli_cluster_trace_open(cluster, cluster->host + 1);
    if (status == DCL_OK)
        status = random_session(&session);
    dcli_worker_pool_terms terms = {.config = &cluster->config,
                                    .select_devices = dcli_device_select,
                                    .fault = cluster->fault,
                                    .log = &cluster->log,
                                    .session = session,
                                    .net = &cluster->net,
                                    .buffers = &cluster->buffers};
    if (status == DCL_OK)
        status = dcli_worker_pool_open(&terms, &pool);
    if (status == DCL_OK) {
        dcli_cluster_resize(cluster, dcli_worker_pool_nodes(pool), dcli_worker_pool_capacity(pool));
        status = start_worker_pool(cluster, pool, session);
    }
    if (status == DCL_OK) {
        dcli_cluster_trace_begin(cluster);
        return cluster;
    }
    dcli_cluster_free(cluster);
    return NULL;
}
