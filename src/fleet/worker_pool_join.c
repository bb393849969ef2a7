/* fleet/worker_pool_join.c - workers that join a running session. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/worker_pool_inside.h"

/* ---- reports of losses ---- */

static void report_loss(void *host, int node, const char *seen) { dcli_host_report_loss(host, node, seen); }

static bool is_alive(void *host) { return dcli_host_is_alive(host); }

void dcli_worker_pool_report_to(dcli_worker_pool *pool, dcli_worker *host)
{
    static const dcli_pool_user calls = {.report_loss = report_loss, .is_alive = is_alive};
    dcli_worker_pool_report_with(pool, &calls, host);
}

/* ---- joining ---- */

/* Whether the host has heard from the node, or of its loss. */
static bool has_answered(const dcli_member *member)
{
    return member->heard || member->lost || member->refusal[0] != '\0';
}

static bool is_decided(const dcli_member *member)
{
    return has_answered(member) || (member->process.pid != 0 && member->process.ended);
}

/* Wait until a joining node has described its device. The end of its process may be seen before the host has read why it ends. */
static dcl_status await_one(dcli_worker_pool *pool, int node, const struct timespec *until)
{
    enum { LAST_WORDS_MS = 1000 };
    dcli_member *member = &pool->member[node];
    char why[DCLI_ERROR_BYTES] = "";
    dcl_status status = DCL_OK;
    pthread_mutex_lock(&pool->lock);
    while (!is_decided(member) && !pool->waits_end && pthread_cond_timedwait(&pool->changed, &pool->lock, until) == 0)
        ;
    struct timespec last = dcli_in_ms(LAST_WORDS_MS);
    while (is_decided(member) && !has_answered(member) && !pool->waits_end &&
           pthread_cond_timedwait(&pool->changed, &pool->lock, &last) == 0)
        ;
    if (!is_decided(member)) {
        status = DCL_ERR_TIMEOUT;
        snprintf(why, sizeof why, "%s",
                 pool->waits_end ? "the cluster is being closed" : "it has not described its device in time");
    } else if (!member->heard) {
        status = member->refusal[0] != '\0' ? member->refusal_status : DCL_ERR_NODE_LOST;
        snprintf(why, sizeof why, "%s", member->refusal);
    }
    pthread_mutex_unlock(&pool->lock);
    return status == DCL_OK ? DCL_OK : dcli_worker_pool_fail_to_start(pool, node, status, why);
}

static dcl_status await(dcli_worker_pool *pool, int first, int count)
{
    struct timespec until = dcli_in_ms(DCLI_START_MS);
    dcl_status status = DCL_OK;
    for (int n = first; n < first + count && status == DCL_OK; n++)
        status = await_one(pool, n, &until);
    return status;
}

static dcl_status add_local(dcli_worker_pool *pool, dcli_worker *host, int first, int count)
{
    dcl_status status = dcli_process_monitor_order(pool, first, count);
    for (int n = first; n < first + count && status == DCL_OK; n++) {
        status = dcli_host_meet(host, n, &pool->host_link[n], "", "");
        pool->host_link[n].socket = pool->host_link[n].memory = -1;
    }
    return status;
}

/* Have the contacts that were counted last start processes for the nodes from `first` on. */
static dcl_status add_remote(dcli_worker_pool *pool, dcli_worker *host, int first, int count)
{
    dcl_status status = dcli_worker_pool_order_remote(pool);
    for (int n = first; n < first + count && status == DCL_OK; n++)
        status = dcli_host_meet(host, n, NULL, pool->member[n].address, pool->member[n].key);
    return status;
}

/* End joining nodes after a failure. Their numbers stay used, because messages to them may be on the way. */
static void give_up(dcli_worker_pool *pool, int first, int count)
{
    pthread_mutex_lock(&pool->lock);
    for (int n = first; n < first + count; n++) {
        pool->member[n].lost = true;
        dcli_worker_pool_dismiss(pool, n);
    }
    pthread_mutex_unlock(&pool->lock);
}

void dcli_worker_pool_stop_waiting(dcli_worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->waits_end = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

dcl_status dcli_worker_pool_add(dcli_worker_pool *pool, dcli_worker *host, const char *workers, int *first_out,
                                int *count_out)
{
    bool local = strncmp(workers, "local:", 6) == 0;
    if (local != pool->is_local)
        return DCLI_FAIL(DCL_ERR_INVALID, "workers is \"%s\"; expected %s, as the cluster has", workers,
                         pool->is_local ? "local:N" : "addresses");
    *first_out = *count_out = 0;
    int first = pool->node_count,
        count = local ? dcli_worker_pool_parse_local(workers) : dcli_worker_pool_count_remote(pool, workers);
    if (count < 0)
        return dcli_error_status();
    if (first + count > pool->capacity) {
        dcli_worker_pool_forget_contacts(pool, pool->attended);
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "%d nodes would join; expected at most %d, as many as there are numbers kept free; set DCL_SPARE to "
            "more before the cluster is opened",
            count, pool->capacity - first);
    }
    *first_out = first;
    *count_out = count;
    pthread_mutex_lock(&pool->lock);
    pool->node_count = first + count; /* from now on the process monitor watches them */
    pthread_mutex_unlock(&pool->lock);
    dcl_status status = local ? add_local(pool, host, first, count) : add_remote(pool, host, first, count);
    if (status == DCL_OK)
        status = await(pool, first, count);
    if (status != DCL_OK)
        give_up(pool, first, count);
    return status;
}

dcl_status dcli_worker_pool_introduce(dcli_worker_pool *pool, dcli_worker *host, int node, const dcli_node_ways ways[],
                                      int64_t first_operation)
{
    dcli_member *member = &pool->member[node];
    dcli_msg_peer peers[DCLI_MOST_NODES];
    dcli_message setup = dcli_worker_pool_describe_session(pool, node, ways, first_operation, peers);
    dcli_message joined = {.kind = DCLI_MSG_JOINED,
                           .joined = {.peer = node,
                                      .epoch = 1,
                                      .first_operation = first_operation,
                                      .address = member->address,
                                      .key = member->key,
                                      .can = ways[node].can,
                                      .group = ways[node].group}};
    dcl_status status = dcli_host_message(host, node, &setup);
    for (int p = 0; p < node && status == DCL_OK; p++) {
        if (peers[p].present)
            status = dcli_host_message(host, p, &joined);
    }
    if (status == DCL_OK)
        status = dcli_host_message(host, pool->capacity, &joined);
    member->introduced = true;
    return status;
}
