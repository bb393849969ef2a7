/* runtime/open.c - opening and closing clusters. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/signals.h"
#include "device/device.h"
#include "runtime/cluster.h"

enum { MOST_NODES = 256 };

/* ---- workers ------------------------------------------------------------------------------------------------------ */

static dcl_status open_workers(dcl_cluster *cluster, const int devices[])
{
    static atomic_uint_fast64_t sessions;
    uint64_t session = ((uint64_t)getpid() << 32) + atomic_fetch_add(&sessions, 1) + 1;
    dcl_status status = DCL_OK;
    for (int n = 0; n <= cluster->node_count && status == DCL_OK; n++) {
        dcli_worker_terms terms = {.net = cluster->net,
                                   .session = session,
                                   .self = n,
                                   .node_count = cluster->node_count,
                                   .device = n < cluster->node_count ? devices[n] : -1,
                                   .ways = cluster->ways,
                                   .config = &cluster->config,
                                   .fault = cluster->fault,
                                   .check_access = dcli_config_checks_access(&cluster->config),
                                   .log = &cluster->log,
                                   .trace = dcli_cluster_ring(cluster, n),
                                   .addresses = cluster->addresses,
                                   .process_data = cluster->process_data,
                                   .buffers = cluster->buffers,
                                   .hooks = &cluster->hooks,
                                   .fleet = dcli_guard_hooks(cluster->guard)};
        if (n < cluster->node_count)
            terms.watch = dcli_guard_watch(cluster->guard, n);
        status = cluster->trace != NULL && terms.trace == NULL ? DCL_ERR_NOMEM
                                                               : dcli_worker_open(&terms, &cluster->worker[n]);
    }
    return status;
}

/* Launches of processors are timed in any case. Timing those of other devices takes time, so by default nobody lends in a
 * session with such a device. */
static void choose_stealing(dcl_cluster *cluster)
{
    dcli_steal steal = dcli_config_steal(&cluster->config);
    bool known = steal.policy == DCL_STEAL_PAYS && !steal.kinds;
    for (int n = 0; n < cluster->node_count && known; n++)
        if (strcmp(dcli_node_device(cluster, n)->kind, "cpu") != 0) {
            cluster->config.steal = "never";
            DCLI_LOG(&cluster->log, DCLI_LOG_INFO,
                     "nothing is lent, because node %d is no processor; DCL_STEAL=pays lends between processors only, "
                     "pays,kinds between all devices",
                     n);
            known = false;
        }
}

dcl_status dcli_cluster_choose_movement(dcl_cluster *cluster)
{
    choose_stealing(cluster);
    const char *transfer = cluster->config.transfer;
    for (int n = 0; n < cluster->node_count; n++) {
        cluster->ways[n] = cluster->pool != NULL ? dcli_worker_pool_ways(cluster->pool, n)
                                                 : (dcli_node_ways){.can = dcli_worker_can(cluster->worker[n])};
        cluster->ways[n].can &= dcli_ways_allowed(transfer, cluster->pool != NULL);
    }
    int reader, owner;
    if (!dcli_ways_find_unmet(transfer, cluster->ways, cluster->node_count, &reader, &owner))
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_UNSUPPORTED,
        "DCL_TRANSFER is \"%s\", but node %d, %s, cannot get elements of node %d, %s, in this way: %s; use "
        "\"auto\" or \"send\"",
        transfer, reader, dcl_node_name(cluster, reader), owner, dcl_node_name(cluster, owner),
        strcmp(transfer, "place") == 0
            ? "expected devices that work in memory of one host, or NVIDIA GPUs of one host that read each other's "
              "memory (DCL_LOG=info says why not)"
            : "expected nodes that share memory of one host");
}

static void stop_workers(dcl_cluster *cluster)
{
    if (cluster->worker[cluster->host] != NULL)
        dcli_host_stop(cluster->worker[cluster->host]);
    for (int n = cluster->host; n >= 0; n--)
        dcli_worker_join(cluster->worker[n]);
}

/* Start the host's worker first, because it can end the nodes that start after it. */
static dcl_status start_workers(dcl_cluster *cluster)
{
    dcl_status status = DCL_OK;
    for (int n = cluster->node_count; n >= 0 && status == DCL_OK; n--) {
        status = dcli_worker_start(cluster->worker[n]);
        if (status != DCL_OK && n < cluster->node_count)
            stop_workers(cluster);
    }
    if (status != DCL_OK)
        return status;
    status = dcli_guard_start(cluster->guard, cluster->worker[cluster->host]);
    if (status != DCL_OK)
        stop_workers(cluster);
    return status;
}

static dcl_status start_cluster(dcl_cluster *cluster, const int devices[])
{
    dcl_status status = DCL_OK;
    if ((cluster->addresses = dcli_address_table_open()) == NULL || (cluster->buffers = dcli_buffers_open()) == NULL ||
        (cluster->process_data = dcli_process_data_open(cluster->node_count + 1)) == NULL ||
        (cluster->guard = dcli_guard_open(cluster->node_count, &cluster->config)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_net_open(&cluster->net);
    if (status == DCL_OK)
        status = open_workers(cluster, devices);
    if (status == DCL_OK)
        status = dcli_cluster_choose_movement(cluster);
    return status == DCL_OK ? start_workers(cluster) : status;
}

static dcl_cluster *open_threads(const dcl_config *config)
{
    int devices[MOST_NODES], count;
    if (dcli_device_select(config->devices, MOST_NODES, devices, &count) != DCL_OK)
        return NULL;
    dcl_cluster *cluster = dcli_cluster_make(config, count, count);
    if (cluster == NULL)
        return NULL;
    dcli_bodies_limit(cluster, count + 2);
    if (dcli_cluster_trace_open(cluster, count + 1) == DCL_OK && start_cluster(cluster, devices) == DCL_OK)
        return cluster;
    dcli_cluster_free(cluster);
    return NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* The program copies to and from all GPUs at the same time. */
static void serve_gpus(dcl_cluster *cluster)
{
    int gpus = 0;
    for (int n = 0; n < cluster->node_count; n++)
        gpus += dcli_node_is_gpu(cluster, n);
    if (cluster->process_data != NULL)
        dcli_process_data_serve(cluster->process_data, gpus);
}

/* Log for each node from how many others it gets elements in each way. */
static void log_nodes(dcl_cluster *cluster)
{
    for (int n = 0; n < cluster->node_count; n++) {
        int count[DCLI_WAY_PLACE + 1] = {0};
        for (int owner = 0; owner < cluster->node_count; owner++)
            count[dcli_way_between(&cluster->ways[n], &cluster->ways[owner])] += owner != n;
        DCLI_LOG(
            &cluster->log, DCLI_LOG_INFO,
            "node %d is %s: reads %d others in place, gets elements of %d through shared memory, of %d in messages", n,
            dcl_node_name(cluster, n), count[DCLI_WAY_PLACE], count[DCLI_WAY_SLOTS], count[DCLI_WAY_SEND]);
    }
}

/* Whether a fault is "parts N", "parts N x N", "parts N x N x N" or "together N x N", with positive numbers. */
static bool are_parts(const char *fault)
{
    int64_t n[3] = {1, 1, 1}, rows;
    int together, end = 0;
    char rest;
    int count =
        sscanf(fault, "parts %" SCNd64 "%n x %" SCNd64 "%n x %" SCNd64 "%n", &n[0], &end, &n[1], &end, &n[2], &end);
    if (count >= 1)
        return fault[end] == '\0' && n[0] > 0 && n[1] > 0 && n[2] > 0;
    return sscanf(fault, "together %d x %" SCNd64 "%c", &together, &rows, &rest) == 2 && together > 0 && rows > 0;
}

/* Check DCL_FAULT. */
static dcl_status check_fault(const char *fault)
{
    enum { MOST = 1000000 };
    int node;
    long long count;
    char rest;
    if (fault == NULL || strcmp(fault, "partials") == 0 || are_parts(fault))
        return DCL_OK;
    bool known = sscanf(fault, "alloc node=%d count=%lld%c", &node, &count, &rest) == 2 ||
                 sscanf(fault, "result node=%d count=%lld%c", &node, &count, &rest) == 2 ||
                 sscanf(fault, "slow node=%d times=%lld%c", &node, &count, &rest) == 2;
    if (known && node >= 0 && count > 0 && count <= MOST)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "DCL_FAULT is \"%s\"; expected \"alloc node=N count=N\", \"result node=N count=N\", \"slow "
                     "node=N times=N\", N from 0 and "
                     "from 1 to %d, \"partials\", \"parts N x N\" or \"together N x N\", N from 1; unset it unless you "
                     "test failures",
                     fault, MOST);
}

/* Read the settings of the environment; errors begin with the name of the call. */
static dcl_status read_config(dcl_config *config, const char *function)
{
    dcl_status status = dcl_config_read(config);
    dcli_error_enter_constructor(function);
    return status == DCL_OK ? DCL_OK : DCLI_FAIL(status, "%s", dcli_error_sentence());
}

/* Check the map of the configuration when the cluster is opened, not at its first use. Closes the cluster if it is
 * invalid. */
static dcl_cluster *with_checked_map(dcl_cluster *cluster, const char *function)
{
    dcl_map *map = cluster->config.map != NULL ? dcl_map_parse(cluster, cluster->config.map) : NULL;
    if (cluster->config.map != NULL && map == NULL) {
        char text[DCLI_ERROR_BYTES];
        strcpy(text, dcli_error_sentence());
        dcli_cluster_trace_give_up(cluster);
        dcl_close(cluster);
        dcli_error_enter_constructor(function);
        DCLI_FAIL(DCL_ERR_INVALID, "DCL_MAP: %s", text);
        return NULL;
    }
    dcl_map_release(map);
    return cluster;
}

dcl_cluster *dcl_open(const dcl_config *config)
{
    dcl_config settings, complete;
    dcli_error_enter_constructor(__func__);
    if (config == NULL && read_config(&settings, __func__) != DCL_OK)
        return NULL;
    if (dcli_config_check(config != NULL ? config : &settings, &complete) != DCL_OK ||
        check_fault(dcli_config_fault()) != DCL_OK)
        return NULL;
    sigset_t before;
    dcli_signals_block(&before);
    if (complete.workers == NULL)
        dcli_compilers_end_before_exit();
    dcl_cluster *cluster = complete.workers != NULL ? dcli_open_processes(&complete) : open_threads(&complete);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cluster == NULL)
        return NULL;
    cluster->has_gpus = dcli_node_is_gpu(cluster, 0);
    serve_gpus(cluster);
    log_nodes(cluster);
    return with_checked_map(cluster, __func__);
}

dcl_cluster *dcl_open_plan(int nodes)
{
    enum { MOST_PLANNED = 1000000 };
    dcli_error_enter_constructor(__func__);
    if (nodes < 1 || nodes > MOST_PLANNED) {
        DCLI_FAIL(DCL_ERR_INVALID, "nodes is %d; expected 1..%d", nodes, MOST_PLANNED);
        return NULL;
    }
    dcl_config config;
    if (read_config(&config, __func__) != DCL_OK)
        return NULL;
    dcl_cluster *cluster = dcli_cluster_make(&config, nodes, nodes);
    if (cluster == NULL)
        return NULL;
    cluster->plan_only = true;
    dcli_bodies_limit(cluster, 1);
    return with_checked_map(cluster, __func__);
}

/* ---- closing ------------------------------------------------------------------------------------------------------ */

void dcli_cluster_interrupt(dcl_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    if (cluster->broken == DCL_OK) {
        cluster->interrupted = true;
        cluster->broken = DCL_ERR_INVALID;
        snprintf(cluster->broken_text, sizeof cluster->broken_text,
                 "the cluster is being closed: another thread has called dcl_close(); expected no calls meanwhile");
    }
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    if (!cluster->plan_only) {
        dcli_host_stop_asking(cluster->worker[cluster->host]);
        dcli_host_look_again(cluster->worker[cluster->host]);
    }
    if (cluster->pool != NULL)
        dcli_worker_pool_stop_waiting(cluster->pool);
}

static bool has_node(const dcl_cluster *cluster)
{
    dcli_node_range live;
    return dcli_cluster_live(cluster, 1, &live) > 0;
}

void dcli_cluster_resume(dcl_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    if (cluster->interrupted && has_node(cluster))
        cluster->broken = DCL_OK; /* operations that were started before can complete */
    cluster->interrupted = false;
    pthread_mutex_unlock(&cluster->lock);
    if (!cluster->plan_only)
        dcli_host_ask_again(cluster->worker[cluster->host]); /* no other thread is left that could wait */
}

/* Write the trace; a failure is the cluster's error. */
static void write_trace(dcl_cluster *cluster)
{
    if (dcli_cluster_trace_write(cluster) == DCL_OK)
        return;
    pthread_mutex_lock(&cluster->lock);
    dcli_cluster_keep(cluster, dcli_error_status(), dcl_error());
    pthread_mutex_unlock(&cluster->lock);
}

dcl_status dcl_close(dcl_cluster *cluster)
{
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return DCL_OK;
    if (!cluster->plan_only) {
        pthread_mutex_lock(&cluster->lock);
        dcl_status waited = dcli_cluster_wait(cluster, cluster->operations, false, -1);
        if (waited == DCL_ERR_TIMEOUT)
            dcli_cluster_keep(cluster, waited, dcl_error());
        pthread_mutex_unlock(&cluster->lock);
        if (cluster->pool != NULL && waited == DCL_ERR_TIMEOUT)
            dcli_host_abandon(cluster->worker[cluster->host]); /* processes can be ended; threads are waited for */
        if (cluster->pool != NULL)
            dcli_worker_pool_report_to(cluster->pool, NULL);
        if (waited == DCL_OK)
            dcli_cluster_trace_gather(cluster);
        stop_workers(cluster);
        write_trace(cluster);
    }
    dcl_status status = dcl_status_of(cluster);
    dcli_cluster_free(cluster);
    return status;
}
