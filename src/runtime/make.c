/* runtime/make.c - the memory of a cluster: allocate, resize, free. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/config.h"
#include "runtime/cluster.h"
#include "runtime/nest_plans.h"
#include "runtime/stream_speed.h"

void dcli_cluster_resize(dcl_cluster *cluster, int node_count, int capacity)
{
    cluster->node_count = node_count;
    cluster->host = capacity;
    cluster->replicas.directory.node_count = capacity;
    cluster->spins = sysconf(_SC_NPROCESSORS_ONLN) >= 2 * (long)node_count + 4;
    for (int n = 0; n <= capacity && cluster->done != NULL; n++)
        /* No node has this number yet. */
        cluster->done[n] = cluster->ready[n] = n < node_count || n == capacity ? 0 : INT64_MAX;
    if (cluster->done != NULL && cluster->speaker != NULL)
        dcli_cluster_list_speakers(cluster);
}

static void free_array(dcl_cluster *cluster, dcl_array *array)
{
    dcli_cluster_replicas_settle(cluster); /* noted operations may refer to its layout or view */
    dcl_array **list = array->base != NULL ? &cluster->views : &cluster->arrays;
    *(array->before != NULL ? &array->before->after : list) = array->after;
    if (array->after != NULL)
        array->after->before = array->before;
    if (array->state != NULL) {
        dcli_free(array->state->text);
        dcli_free(array->state->stray);
    }
    dcli_free(array->state);
    dcli_array_end_loan(array);
    dcl_map_release(array->map);
    dcli_layout_release(&array->layout);
    dcli_free(array);
}

void dcli_array_free(dcl_array *array) { free_array(array->cluster, array); }

enum { OWN_STRINGS = 6 };

/* List the strings of the configuration that are needed after dcl_open(). */
static void list_strings(dcl_config *config, const char **list[OWN_STRINGS])
{
    list[0] = &config->map;
    list[1] = &config->devices;
    list[2] = &config->keys;
    list[3] = &config->token;
    list[4] = &config->check;
    list[5] = &config->trace;
}

static void free_config(dcl_config *config)
{
    const char **list[OWN_STRINGS];
    list_strings(config, list);
    for (int s = 0; s < OWN_STRINGS; s++)
        dcli_free((char *)(uintptr_t)*list[s]);
}

/* Whether a node's device may read memory of other nodes of this process: their parts, or slots of their devices. */
static bool reads_memory_of_others(const dcli_node_ways *ways)
{
    return (ways->can & (DCLI_CAN_READ_ANY | DCLI_CAN_SHARE)) != 0;
}

/* Close the workers that no thread uses any more. A thread that hangs in its driver may return at any time and then
 * ends. What it uses of its own node and of shared data stays allocated until the program ends, and so do the other
 * nodes if it may be reading their memory.
 * @return whether there is such a thread. */
static bool close_workers(dcl_cluster *cluster)
{
    bool hangs = false, reads_others = false;
    if (cluster->worker == NULL)
        return false;
    if (cluster->guard != NULL)
        dcli_guard_stop(cluster->guard);
    for (int n = 0; cluster->guard != NULL && n < cluster->host; n++)
        if (dcli_guard_has_lost(cluster->guard, n)) {
            hangs = true;
            reads_others |= reads_memory_of_others(&cluster->ways[n]);
        }
    for (int n = 0; n <= cluster->host; n++)
        if (n == cluster->host || (!reads_others && !(hangs && dcli_guard_has_lost(cluster->guard, n))))
            dcli_worker_close(cluster->worker[n]);
    return hangs;
}

/* Keep a cluster with a hanging thread on a list, so that leak checkers do not report it. Its log is switched off,
 * because the program may free what its log_fn uses. */
static void abandon(dcl_cluster *cluster)
{
    cluster->log.level = DCLI_LOG_OFF;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `last` */
    static dcl_cluster *last;
    pthread_mutex_lock(&lock);
    cluster->abandoned_before = last;
    last = cluster;
    pthread_mutex_unlock(&lock);
}

/* Free what only the nodes and the host's worker use. */
static void free_shared(dcl_cluster *cluster)
{
    dcli_guard_close(cluster->guard);
    dcli_cluster_trace_free(cluster);
    dcli_address_table_close(cluster->addresses);
    dcli_process_data_close(cluster->process_data);
    if (cluster->net != NULL)
        dcli_net_close(cluster->net); /* this releases the last payloads, so it comes before `buffers` */
    dcli_buffers_close(cluster->buffers);
    free_config(&cluster->config);
    dcli_free(cluster->fault);
    dcli_free(cluster->ways);
    dcli_free(cluster->worker);
    dcli_free(cluster);
}

void dcli_cluster_free(dcl_cluster *cluster)
{
    bool hangs = close_workers(cluster);
    dcli_worker_pool_close(cluster->pool);
    dcli_cluster_replicas_free(cluster);
    while (cluster->views != NULL)
        free_array(cluster, cluster->views);
    while (cluster->arrays != NULL)
        free_array(cluster, cluster->arrays);
    dcli_partials_free(cluster);
    dcli_keyed_free(cluster);
    dcli_choices_free(&cluster->at_inputs);
    dcli_choices_free(&cluster->spaces);
    dcli_combinations_free(cluster);
    dcli_outcomes_free(&cluster->outcomes);
    dcli_outcomes_free(&cluster->causes);
    dcli_bodies_free(cluster);
    dcli_nest_plans_free(cluster);
    dcli_stream_speeds_free(cluster);
    dcli_measured_free(cluster->measured);
    dcli_cluster_forget_files(cluster);
    pthread_mutex_destroy(&cluster->lock);
    pthread_cond_destroy(&cluster->changed);
    dcli_free(cluster->done);
    dcli_free(cluster->speaker);
    dcli_free(cluster->counters);
    dcli_free(cluster->lost);
    if (hangs)
        abandon(cluster);
    else
        free_shared(cluster);
}

/* Copy the strings of the configuration that are needed later. */
static dcl_status own_strings(dcl_config *config)
{
    const char **list[OWN_STRINGS];
    dcl_status status = DCL_OK;
    list_strings(config, list);
    for (int s = 0; s < OWN_STRINGS; s++)
        if (*list[s] != NULL && (*list[s] = dcli_strdup(*list[s])) == NULL)
            status = DCL_ERR_NOMEM;
    return status;
}

static dcl_status check_parts(const dcl_cluster *cluster)
{
    return cluster->ways != NULL && cluster->worker != NULL && cluster->done != NULL && cluster->speaker != NULL &&
                   cluster->counters != NULL && cluster->lost != NULL
               ? DCL_OK
               : DCL_ERR_NOMEM;
}

dcl_cluster *dcli_cluster_make(const dcl_config *config, int node_count, int host)
{
    dcl_cluster *cluster = dcli_calloc(1, sizeof *cluster);
    if (cluster == NULL)
        return NULL;
    size_t peers = (size_t)host + 1;
    cluster->for_maps = dcli_cluster_for_maps;
    cluster->config = *config;
    cluster->config.steal = dcli_steal_name(dcli_config_steal(config)); /* the program's text may end before */
    cluster->stretch_bytes = (int64_t)config->chunk_bytes;
    cluster->log = (dcli_log){.level = dcli_config_log_level(config), .fn = config->log_fn, .user = config->log_user};
    cluster->awaited = cluster->awaited_host = INT64_MAX;
    cluster->ways = dcli_calloc(peers, sizeof *cluster->ways);
    cluster->worker = dcli_calloc(peers, sizeof(dcli_worker *));
    cluster->done = dcli_calloc(2 * peers, sizeof *cluster->done);
    cluster->speaker = dcli_calloc(peers, sizeof *cluster->speaker);
    cluster->counters = dcli_calloc(peers, sizeof *cluster->counters);
    cluster->lost = dcli_calloc(peers, sizeof *cluster->lost);
    pthread_mutex_init(&cluster->lock, NULL);
    dcli_cond_init(&cluster->changed);
    cluster->ready = cluster->done != NULL ? cluster->done + peers : NULL;
    dcli_cluster_resize(cluster, node_count, host);
    dcli_cluster_choose_files(cluster, config->files);
    dcli_cluster_hooks(cluster);
    dcl_status status = own_strings(&cluster->config);
    const char *fault = dcli_config_fault();
    if (fault != NULL && (cluster->fault = dcli_strdup(fault)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK && check_parts(cluster) == DCL_OK)
        return cluster;
    dcli_cluster_free(cluster);
    return NULL;
}
