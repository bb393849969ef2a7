/* runtime/nodes.c - the nodes of a cluster: queries, losses, joining. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "runtime/cluster.h"
#include "worker/blame.h"

/* ---- questions ---------------------------------------------------------------------------------------------------- */

const dcl_device_info *dcli_node_device(const dcl_cluster *cluster, int node)
{
    return cluster->pool != NULL ? dcli_worker_pool_device(cluster->pool, node)
                                 : dcli_worker_device(cluster->worker[node]);
}

bool dcli_node_is_gpu(const dcl_cluster *cluster, int node)
{
    return strcmp(dcli_node_device(cluster, node)->kind, "gpu") == 0;
}

const char *dcli_node_kind(const dcl_cluster *cluster, int node)
{
    return cluster->pool != NULL ? dcli_worker_pool_kind(cluster->pool, node) : dcli_worker_kind(cluster->worker[node]);
}

int dcl_node_count(const dcl_cluster *cluster) { return cluster == NULL ? 0 : cluster->node_count; }

const char *dcl_node_name(const dcl_cluster *cluster, int node)
{
    if (cluster == NULL || node < 0 || node >= cluster->node_count)
        return NULL;
    return cluster->plan_only ? "planned" : dcli_node_device(cluster, node)->name;
}

bool dcl_node_is_alive(const dcl_cluster *cluster, int node)
{
    return cluster != NULL && node >= 0 && node < cluster->node_count && !cluster->lost[node];
}

static const dcl_config *config_of(const dcl_cluster *cluster) { return &cluster->config; }

int dcli_cluster_live(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[])
{
    int count = 0;
    for (int n = 0; n < cluster->node_count;) {
        int first = n;
        while (n < cluster->node_count && !cluster->lost[n])
            n++;
        if (n > first && count++ < capacity)
            ranges[count - 1] = (dcli_node_range){.first = first, .count = n - first};
        while (n < cluster->node_count && cluster->lost[n])
            n++;
    }
    return count;
}

_Static_assert(offsetof(dcl_cluster, for_maps) == 0, "dcli_map_host_of() takes the first member");

const dcli_map_host dcli_cluster_for_maps = {
    .config = config_of, .node_count = dcl_node_count, .live = dcli_cluster_live};

/* ---- losses ------------------------------------------------------------------------------------------------------- */

static bool has_part(const dcl_array *array, int node)
{
    return dcli_layout_place(&array->layout, node) >= 0 && dcli_layout_storage(&array->layout, node) > 0;
}

/* Append "; arrays that had a part on it have failed: A, B and 3 that no body has named". */
static void name_arrays(const dcl_cluster *cluster, int node, dcli_text *text)
{
    int named = 0, nameless = 0;
    for (const dcl_array *array = cluster->arrays; array != NULL; array = array->after) {
        if (array->hidden || !has_part(array, node))
            continue;
        if (array->name[0] == '\0')
            nameless++;
        else
            dcli_text_put(text, "%s%s",
                          named++ > 0 ? ", " : "; arrays that had a part on it have failed: ", array->name);
    }
    if (nameless > 0)
        dcli_text_put(text, "%s%d that no body has named",
                      named > 0 ? " and " : "; arrays that had a part on it have failed: ", nameless);
    if (named + nameless == 0)
        dcli_text_put(text, "; no array had a part on it");
}

static void fail_arrays(dcl_cluster *cluster, int node, const char *text)
{
    for (dcl_array *array = cluster->arrays; array != NULL; array = array->after) {
        dcli_storage_state *state = array->state;
        if (!has_part(array, node) || state->lost)
            continue;
        state->lost = true;
        state->status = DCL_ERR_NODE_LOST;
        dcli_free(state->text);
        state->text = dcli_strdup(text);
    }
}

/* End the waits for compilations by a lost node: the calls that wait fail, and later calls have the bodies compiled
 * again. */
static void forget_answers(dcl_cluster *cluster, const char *text)
{
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (dcli_known_body *known = cluster->bodies.known[b]; known != NULL; known = known->next) {
            bool waits = known->answers_due > 0;
            known->answers_due = 0;
            if (!waits || known->status != DCL_OK)
                continue;
            known->status = DCL_ERR_NODE_LOST;
            known->text = dcli_strdup(text);
        }
}

/* Refuse a body that has crashed a node, because it would crash the next one, too. */
static void blame_body(dcl_cluster *cluster, int64_t number, const char *text)
{
    for (int b = 0; b < DCLI_BODY_BUCKETS && number > 0; b++)
        for (dcli_known_body *known = cluster->bodies.known[b]; known != NULL; known = known->next) {
            dcli_text whole = {0};
            if (known->number != number || known->status == DCL_ERR_BODY)
                continue;
            dcli_text_put(&whole, "a node was lost by this body, which is not run again: %s; correct the body", text);
            known->status = DCL_ERR_BODY;
            known->blamed = true;
            dcli_free(known->text);
            known->text = dcli_text_take(&whole);
        }
}

static bool all_lost(const dcl_cluster *cluster)
{
    int n = 0;
    while (n < cluster->node_count && cluster->lost[n])
        n++;
    return n == cluster->node_count;
}

/* Break the cluster if no node is left. A joining node may become the only one; that is known when its call ends. The
 * error is that of the last loss. */
static void break_without_nodes(dcl_cluster *cluster)
{
    if (!cluster->joining && cluster->broken == DCL_OK && all_lost(cluster))
        cluster->broken = DCL_ERR_NODE_LOST;
}

void dcli_cluster_on_lost(void *user, int node, const char *sentence)
{
    dcl_cluster *cluster = user;
    dcli_text text = {0};
    pthread_mutex_lock(&cluster->lock);
    dcli_text_put(&text, "%s", sentence);
    name_arrays(cluster, node, &text);
    char *whole = dcli_text_take(&text);
    const char *told = whole != NULL ? whole : sentence;
    bool builds = dcli_body_builder(cluster, node);
    bool joined = node < cluster->node_count && !cluster->lost[node]; /* otherwise a call has failed because of it */
    cluster->lost[node] = true;
    cluster->done[node] = cluster->ready[node] = INT64_MAX;
    dcli_cluster_list_speakers(cluster);
    fail_arrays(cluster, node, sentence);
    if (builds)
        forget_answers(cluster, told);
    blame_body(cluster, dcli_blamed_body(sentence), told);
    if (joined) /* otherwise the joining call reports it */
        dcli_cluster_keep(cluster, DCL_ERR_NODE_LOST, told);
    if (all_lost(cluster) && cluster->broken == DCL_OK)
        snprintf(cluster->broken_text, sizeof cluster->broken_text, "no node is left: %s", told);
    break_without_nodes(cluster);
    dcli_cluster_note_marks(cluster);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    dcli_free(whole);
}

/* ---- newcomers ---------------------------------------------------------------------------------------------------- */

/* Send all bodies to a joining node, so that it can run later operations. It compiles them at first use. */
static dcl_status tell_bodies(dcl_cluster *cluster, int node)
{
    dcl_status status = DCL_OK;
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (dcli_known_body *known = cluster->bodies.known[b]; known != NULL && status == DCL_OK; known = known->next)
            if (known->number > 0)
                status = dcli_body_tell(cluster, known, node);
    return status;
}

static dcl_status tell_failure(dcl_cluster *cluster, const dcl_array *array, int node)
{
    int64_t storage = array->state->id;
    dcli_message message = {.kind = DCLI_MSG_FAILED,
                            .epoch = 0,
                            .failed = {.operation = array->state->failed_at > 0 ? array->state->failed_at : 1,
                                       .node = DCL_HOST,
                                       .status = array->state->status,
                                       .storage_count = 1,
                                       .storage = &storage,
                                       .sentence = array->state->text}};
    return dcli_host_message(cluster->worker[cluster->host], node, &message);
}

/* Send all arrays to a joining node, and which of them have failed. */
static dcl_status tell_arrays(dcl_cluster *cluster, int node)
{
    dcl_status status = DCL_OK;
    for (const dcl_array *array = cluster->arrays; array != NULL && status == DCL_OK; array = array->after) {
        char *map = NULL;
        dcli_msg_operand operand = {.storage = array->state->id};
        dcli_msg_operation descriptor;
        status = dcli_describe_storage(array, &map, &descriptor);
        descriptor.operand_count = 1;
        descriptor.operand = &operand;
        dcli_message message = {.kind = DCLI_MSG_OPERATIONS, .operations = {.count = 1, .operation = &descriptor}};
        if (status == DCL_OK)
            status = dcli_host_message(cluster->worker[cluster->host], node, &message);
        dcli_free(map);
        if (status == DCL_OK && dcli_storage_state_failed(array->state))
            status = tell_failure(cluster, array, node);
    }
    return status;
}

/* Let one node join. The lock is held, so no operation comes in between. */
static dcl_status let_join(dcl_cluster *cluster, int node)
{
    dcli_worker *host = cluster->worker[cluster->host];
    int64_t first = cluster->operations + 1;
    cluster->done[node] = cluster->ready[node] = first - 1;
    dcli_cluster_list_speakers(cluster);
    dcli_cluster_replicas_fail(cluster); /* the new node does not know the replicas of other nodes, so drop all */
    dcli_host_hold(host, true);
    cluster->ways[node] = dcli_worker_pool_ways(cluster->pool, node);
    cluster->ways[node].can &= dcli_ways_allowed(cluster->config.transfer, true);
    cluster->ways[node].can &= ~DCLI_CAN_READ_ANY; /* parts made before were not shown to it */
    dcl_status status = dcli_worker_pool_introduce(cluster->pool, host, node, cluster->ways, first);
    dcli_host_hold(host, false);
    if (status == DCL_OK)
        status = tell_bodies(cluster, node);
    if (status == DCL_OK)
        status = tell_arrays(cluster, node);
    if (status == DCL_OK) {
        cluster->lost[node] = false;
        cluster->node_count = node + 1;
    }
    return status;
}

/* Let all new nodes join or none: no loss is processed while the lock is held. */
static dcl_status let_all_join(dcl_cluster *cluster, int first, int count)
{
    for (int n = first; n < first + count; n++)
        if (cluster->lost[n])
            return DCLI_FAIL(DCL_ERR_NODE_LOST, "node %d, %s, was lost before it had joined; try again", n,
                             dcli_node_device(cluster, n)->name);
    dcl_status status = DCL_OK;
    for (int n = first; n < first + count && status == DCL_OK; n++)
        status = let_join(cluster, n);
    return status;
}

/* After a failure, report the new nodes as lost. The serving loop then ends their processes, and sends LOST to the nodes
 * that know of them. Their numbers are not used again. */
static void forget_newcomers(dcl_cluster *cluster, int first, int count)
{
    for (int n = first; n < first + count; n++) {
        bool runs = !cluster->lost[n];
        cluster->lost[n] = true;
        cluster->done[n] = cluster->ready[n] = INT64_MAX;
        cluster->node_count = n + 1;
        dcli_cluster_list_speakers(cluster);
        if (runs)
            dcli_host_report_loss(cluster->worker[cluster->host], n, "the call that was to let it join has failed");
    }
    dcli_cluster_note_marks(cluster);
}

dcl_status dcl_add_workers(dcl_cluster *cluster, const char *workers)
{
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    if (workers == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "workers is NULL; expected addresses, or \"local:N\"");
    if (cluster->pool == NULL)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "the nodes of this cluster are threads of the program; expected one opened "
                         "with DCL_WORKERS");
    int first = 0, count = 0;
    pthread_mutex_lock(&cluster->lock);
    dcli_cluster_begin_turn(cluster); /* otherwise calls of other threads could delay it for ever */
    dcl_status status = cluster->broken == DCL_OK ? DCL_OK : dcli_error_adopt(cluster->broken, cluster->broken_text);
    cluster->joining = status == DCL_OK;
    pthread_mutex_unlock(&cluster->lock);
    if (status == DCL_OK)
        status = dcli_worker_pool_add(cluster->pool, cluster->worker[cluster->host], workers, &first, &count);
    pthread_mutex_lock(&cluster->lock);
    /* A joining node treats all earlier operations as complete. */
    while (status == DCL_OK && cluster->complete < cluster->operations)
        status = dcli_cluster_wait(cluster, cluster->operations, false, -1);
    if (status == DCL_OK && cluster->broken != DCL_OK)
        status = dcli_error_adopt(cluster->broken, cluster->broken_text);
    if (status == DCL_OK)
        status = let_all_join(cluster, first, count);
    if (status == DCL_OK)
        dcli_cluster_forget_files(cluster);
    else
        forget_newcomers(cluster, first, count);
    cluster->joining = false;
    break_without_nodes(cluster);
    dcli_cluster_end_turn(cluster);
    status = dcli_cluster_end_call(cluster, status);
    for (int n = first; status == DCL_OK && n < first + count; n++)
        DCLI_LOG(&cluster->log, DCLI_LOG_INFO, "node %d has joined: %s, receives streams", n,
                 dcl_node_name(cluster, n));
    return status;
}
