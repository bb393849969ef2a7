/* runtime/open.c - opening and closing clusters. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config.h"
#include "device/device.h"
#include "runtime/cluster.h"
#include "worker/crew.h"

enum { MOST_NODES = 256 };

/* @param capacity  numbers there are for nodes: the host's number. */
static void set_size(dcl_cluster *cluster, int node_count, int capacity)
{
    cluster->node_count = node_count;
    cluster->host = capacity;
    cluster->spins = sysconf(_SC_NPROCESSORS_ONLN) >= 2 * (long)node_count + 4;
    for (int n = 0; n <= capacity && cluster->done != NULL; n++)
        cluster->done[n] = cluster->ready[n] = n < node_count || n == capacity ? 0 : INT64_MAX; /* nobody yet */
}

static void free_array(dcl_cluster *cluster, dcl_array *array)
{
    if (array->before != NULL)
        array->before->after = array->after;
    else
        cluster->arrays = array->after;
    if (array->after != NULL)
        array->after->before = array->before;
    dcli_free(array->books->text);
    dcli_free(array->books);
    dcl_map_release(array->map);
    dcli_free(array);
}

void dcli_array_free(dcl_array *array) { free_array(array->cluster, array); }

enum { OWN_STRINGS = 5 };

/* Strings of the configuration that are needed after dcl_open(). */
static void list_strings(dcl_config *config, const char **list[OWN_STRINGS])
{
    list[0] = &config->map;
    list[1] = &config->fault;
    list[2] = &config->devices;
    list[3] = &config->keys;
    list[4] = &config->token;
}

static void free_config(dcl_config *config)
{
    const char **list[OWN_STRINGS];
    list_strings(config, list);
    for (int s = 0; s < OWN_STRINGS; s++)
        dcli_free((char *)(uintptr_t)*list[s]);
}

static void free_cluster(dcl_cluster *cluster)
{
    for (int n = 0; cluster->worker != NULL && n <= cluster->host; n++)
        dcli_worker_close(cluster->worker[n]);
    dcli_crew_close(cluster->crew);
    while (cluster->arrays != NULL)
        free_array(cluster, cluster->arrays);
    dcli_outcomes_free(&cluster->outcomes);
    dcli_outcomes_free(&cluster->causes);
    dcli_bodies_free(cluster);
    dcli_cluster_forget_files(cluster);
    dcli_board_close(cluster->board);
    if (cluster->net != NULL)
        dcli_net_close(cluster->net); /* the last payloads are released here */
    dcli_buffers_close(cluster->buffers);
    pthread_mutex_destroy(&cluster->lock);
    pthread_cond_destroy(&cluster->changed);
    free_config(&cluster->config);
    dcli_free(cluster->in_place);
    dcli_free(cluster->worker);
    dcli_free(cluster->done);
    dcli_free(cluster->counters);
    dcli_free(cluster->lost);
    dcli_free(cluster);
}

/* Strings of the configuration that are needed later are the cluster's own. */
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
    return cluster->in_place != NULL && cluster->worker != NULL && cluster->done != NULL && cluster->counters != NULL &&
                   cluster->lost != NULL
               ? DCL_OK
               : DCL_ERR_NOMEM;
}

/* @param host  most numbers there will be for nodes. */
static dcl_cluster *make_cluster(const dcl_config *config, int node_count, int host)
{
    dcl_cluster *cluster = dcli_calloc(1, sizeof *cluster);
    if (cluster == NULL)
        return NULL;
    size_t peers = (size_t)host + 1;
    cluster->config = *config;
    cluster->log = (dcli_log){.level = dcli_config_log_level(config), .fn = config->log_fn, .user = config->log_user};
    cluster->awaited = cluster->awaited_host = INT64_MAX;
    cluster->in_place = dcli_calloc(peers, sizeof *cluster->in_place);
    cluster->worker = dcli_calloc(peers, sizeof(dcli_worker *));
    cluster->done = dcli_calloc(2 * peers, sizeof *cluster->done);
    cluster->counters = dcli_calloc(peers, sizeof *cluster->counters);
    cluster->lost = dcli_calloc(peers, sizeof *cluster->lost);
    pthread_mutex_init(&cluster->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cluster->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    cluster->ready = cluster->done != NULL ? cluster->done + peers : NULL;
    set_size(cluster, node_count, host);
    dcli_cluster_choose_files(cluster, config->files);
    dcli_cluster_hooks(cluster);
    if (own_strings(&cluster->config) == DCL_OK && check_parts(cluster) == DCL_OK)
        return cluster;
    free_cluster(cluster);
    return NULL;
}

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
                                   .in_place = cluster->in_place,
                                   .config = &cluster->config,
                                   .log = &cluster->log,
                                   .board = cluster->board,
                                   .buffers = cluster->buffers,
                                   .hooks = &cluster->hooks};
        status = dcli_worker_open(&terms, &cluster->worker[n]);
    }
    return status;
}

/* A node reads others' parts in place when every part has an address and its kernels can use it. */
static dcl_status choose_movement(dcl_cluster *cluster)
{
    bool all = true;
    for (int n = 0; n < cluster->node_count; n++)
        all &= cluster->crew != NULL ? dcli_crew_in_place(cluster->crew, n) : dcli_worker_in_place(cluster->worker[n]);
    const char *move = cluster->config.move;
    if (strcmp(move, "place") == 0 && !all)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "DCL_MOVE is \"place\", but not every device works in host memory; use "
                                              "\"auto\" or \"send\"");
    for (int n = 0; n < cluster->node_count; n++)
        cluster->in_place[n] = all && strcmp(move, "send") != 0;
    return DCL_OK;
}

static void stop_workers(dcl_cluster *cluster)
{
    if (cluster->worker[cluster->host] != NULL)
        dcli_host_stop(cluster->worker[cluster->host]);
    for (int n = cluster->host; n >= 0; n--)
        dcli_worker_join(cluster->worker[n]);
}

/* The host starts first: it can end all that start after it. */
static dcl_status start_workers(dcl_cluster *cluster)
{
    dcl_status status = DCL_OK;
    for (int n = cluster->node_count; n >= 0 && status == DCL_OK; n--) {
        status = dcli_worker_start(cluster->worker[n]);
        if (status != DCL_OK && n < cluster->node_count)
            stop_workers(cluster);
    }
    return status;
}

static dcl_status start_cluster(dcl_cluster *cluster, const int devices[])
{
    dcl_status status = DCL_OK;
    if (((cluster->board = dcli_board_open()) == NULL || (cluster->buffers = dcli_buffers_open()) == NULL))
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_net_open(&cluster->net);
    if (status == DCL_OK)
        status = open_workers(cluster, devices);
    if (status == DCL_OK)
        status = choose_movement(cluster);
    return status == DCL_OK ? start_workers(cluster) : status;
}

static dcl_cluster *open_threads(const dcl_config *config)
{
    int devices[MOST_NODES], count;
    if (dcli_device_select(config->devices, MOST_NODES, devices, &count) != DCL_OK)
        return NULL;
    dcl_cluster *cluster = make_cluster(config, count, count);
    if (cluster == NULL || start_cluster(cluster, devices) == DCL_OK)
        return cluster;
    free_cluster(cluster);
    return NULL;
}

/* ---- worker processes ---------------------------------------------------------------------------------------------- */

static dcl_status open_host(dcl_cluster *cluster, uint64_t session)
{
    dcli_endpoint *endpoint = dcli_crew_setup(cluster->crew, cluster->in_place);
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
        cluster->done[n] = cluster->ready[n] = INT64_MAX; /* their parents in the tree speak for them */
    dcli_worker_terms terms = {.net = cluster->net,
                               .session = session,
                               .self = cluster->host,
                               .node_count = cluster->host,
                               .device = -1,
                               .in_place = cluster->in_place,
                               .config = &cluster->config,
                               .log = &cluster->log,
                               .buffers = cluster->buffers,
                               .hooks = &cluster->hooks,
                               .is_process = true,
                               .fanout = (int)cluster->config.fanout,
                               .tree_nodes = cluster->node_count,
                               .endpoint = endpoint,
                               .absent = absent,
                               .crew = cluster->crew};
    dcl_status status = dcli_worker_open(&terms, &cluster->worker[cluster->host]);
    dcli_free(absent);
    return status;
}

static dcl_status start_crew(dcl_cluster *cluster, dcli_crew *crew, uint64_t session)
{
    cluster->crew = crew;
    dcl_status status = choose_movement(cluster);
    if (status == DCL_OK)
        status = open_host(cluster, session);
    if (status == DCL_OK)
        status = dcli_worker_start(cluster->worker[cluster->host]);
    if (status == DCL_OK)
        dcli_crew_report_to(crew, cluster->worker[cluster->host]);
    if (status == DCL_OK && dcli_crew_is_remote(crew))
        cluster->files.sees = dcli_host_sees;
    return status;
}

static dcl_status random_session(uint64_t *session_out)
{
    if (getrandom(session_out, sizeof *session_out, 0) == (ssize_t)sizeof *session_out)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INTERNAL, "getrandom: the system has no random numbers");
}

/* Workers are had first: how many nodes there are is known then. */
static dcl_cluster *open_processes(const dcl_config *config)
{
    uint64_t session;
    dcli_crew *crew = NULL;
    dcl_cluster *cluster = make_cluster(config, 0, DCLI_MOST_NODES);
    if (cluster == NULL)
        return NULL;
    dcl_status status = random_session(&session);
    dcli_crew_terms terms = {.config = &cluster->config,
                             .log = &cluster->log,
                             .session = session,
                             .net = &cluster->net,
                             .buffers = &cluster->buffers};
    if (status == DCL_OK)
        status = dcli_crew_open(&terms, &crew);
    if (status == DCL_OK) {
        set_size(cluster, dcli_crew_nodes(crew), dcli_crew_capacity(crew));
        status = start_crew(cluster, crew, session);
    }
    if (status == DCL_OK)
        return cluster;
    free_cluster(cluster);
    return NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static void log_nodes(dcl_cluster *cluster)
{
    for (int n = 0; n < cluster->node_count; n++)
        DCLI_LOG(&cluster->log, DCLI_LOG_INFO, "node %d is %s, %s", n, dcl_node_name(cluster, n),
                 cluster->in_place[n] ? "reads peers in place" : "receives streams");
}

/* "alloc node=N count=N" is the only fault there is. */
static dcl_status check_fault(const char *fault)
{
    int node;
    long long count;
    char rest;
    if (fault == NULL ||
        (sscanf(fault, "alloc node=%d count=%lld%c", &node, &count, &rest) == 2 && node >= 0 && count > 0))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "DCL_FAULT is \"%s\"; expected \"alloc node=N count=N\", N from 0 and from 1; unset it "
                     "unless you test failures",
                     fault);
}

/* Threads started now leave the program's signals to the program's threads. */
static void block_signals(sigset_t *before_out)
{
    sigset_t all;
    sigfillset(&all);
    static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t s = 0; s < sizeof own_faults / sizeof own_faults[0]; s++)
        sigdelset(&all, own_faults[s]);
    pthread_sigmask(SIG_SETMASK, &all, before_out);
}

/* The settings of the environment; errors begin with the name of the call. */
static dcl_status read_config(dcl_config *config, const char *function)
{
    dcl_status status = dcl_config_read(config);
    dcli_error_enter(function);
    return status == DCL_OK ? DCL_OK : DCLI_FAIL(status, "%s", dcli_error_sentence());
}

/* The map of the configuration must parse now, not when it is first used. Closes the cluster when it does not. */
static dcl_cluster *with_checked_map(dcl_cluster *cluster, const char *function)
{
    dcl_map *map = cluster->config.map != NULL ? dcl_map_parse(cluster, cluster->config.map) : NULL;
    if (cluster->config.map != NULL && map == NULL) {
        char text[DCLI_ERROR_BYTES];
        strcpy(text, dcli_error_sentence());
        dcl_close(cluster);
        dcli_error_enter(function);
        DCLI_FAIL(DCL_ERR_INVALID, "DCL_MAP: %s", text);
        return NULL;
    }
    dcl_map_release(map);
    return cluster;
}

dcl_cluster *dcl_open(const dcl_config *config)
{
    dcl_config settings, complete;
    dcli_error_enter(__func__);
    if (config == NULL && read_config(&settings, __func__) != DCL_OK)
        return NULL;
    if (dcli_config_check(config != NULL ? config : &settings, &complete) != DCL_OK ||
        check_fault(complete.fault) != DCL_OK)
        return NULL;
    sigset_t before;
    block_signals(&before);
    dcl_cluster *cluster = complete.workers != NULL ? open_processes(&complete) : open_threads(&complete);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cluster == NULL)
        return NULL;
    log_nodes(cluster);
    return with_checked_map(cluster, __func__);
}

dcl_cluster *dcl_open_plan(int nodes)
{
    enum { MOST_PLANNED = 1000000 };
    dcli_error_enter(__func__);
    if (nodes < 1 || nodes > MOST_PLANNED) {
        DCLI_FAIL(DCL_ERR_INVALID, "nodes is %d; expected 1..%d", nodes, MOST_PLANNED);
        return NULL;
    }
    dcl_config config;
    if (read_config(&config, __func__) != DCL_OK)
        return NULL;
    dcl_cluster *cluster = make_cluster(&config, nodes, nodes);
    if (cluster == NULL)
        return NULL;
    cluster->plan_only = true;
    return with_checked_map(cluster, __func__);
}

dcl_status dcl_close(dcl_cluster *cluster)
{
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return DCL_OK;
    if (!cluster->plan_only) {
        pthread_mutex_lock(&cluster->lock);
        dcli_cluster_wait(cluster, cluster->operations, false, -1);
        pthread_mutex_unlock(&cluster->lock);
        if (cluster->crew != NULL)
            dcli_crew_report_to(cluster->crew, NULL);
        stop_workers(cluster);
    }
    dcl_status status = dcl_status_of(cluster);
    free_cluster(cluster);
    return status;
}
