/* fleet/crew_join.c - workers that join a running session. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/crew_inside.h"

static bool is_decided(const dcli_member *member)
{
    return member->heard || member->lost || member->refusal[0] != '\0' ||
           (member->process.pid != 0 && member->process.ended);
}

/* Wait until a joining node has described its device. */
static dcl_status await_one(dcli_crew *crew, int node, const struct timespec *until)
{
    dcli_member *member = &crew->member[node];
    char why[DCLI_ERROR_BYTES] = "";
    dcl_status status = DCL_OK;
    pthread_mutex_lock(&crew->lock);
    while (!is_decided(member) && !crew->waits_end && pthread_cond_timedwait(&crew->changed, &crew->lock, until) == 0)
        ;
    if (!is_decided(member)) {
        status = DCL_ERR_TIMEOUT;
        snprintf(why, sizeof why, "%s",
                 crew->waits_end ? "the cluster is being closed" : "it has not described its device in time");
    } else if (!member->heard) {
        status = member->refusal[0] != '\0' ? member->refusal_status : DCL_ERR_NODE_LOST;
        snprintf(why, sizeof why, "%s", member->refusal);
    }
    pthread_mutex_unlock(&crew->lock);
    return status == DCL_OK ? DCL_OK : dcli_crew_fail_to_start(crew, node, status, why);
}

static dcl_status await(dcli_crew *crew, int first, int count)
{
    struct timespec until = dcli_in_ms(DCLI_START_MS);
    dcl_status status = DCL_OK;
    for (int n = first; n < first + count && status == DCL_OK; n++)
        status = await_one(crew, n, &until);
    return status;
}

static dcl_status add_local(dcli_crew *crew, dcli_worker *host, int first, int count)
{
    dcl_status status = dcli_keeper_order(crew, first, count);
    for (int n = first; n < first + count && status == DCL_OK; n++) {
        status = dcli_host_meet(host, n, &crew->host_link[n], "", "");
        crew->host_link[n].socket = crew->host_link[n].memory = -1;
    }
    return status;
}

/* End joining nodes after a failure. Their numbers stay used, because messages to them may be on the way. */
static void give_up(dcli_crew *crew, int first, int count)
{
    pthread_mutex_lock(&crew->lock);
    for (int n = first; n < first + count; n++) {
        crew->member[n].lost = true;
        dcli_crew_dismiss(crew, n);
    }
    pthread_mutex_unlock(&crew->lock);
}

void dcli_crew_stop_waiting(dcli_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->waits_end = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

dcl_status dcli_crew_add(dcli_crew *crew, dcli_worker *host, const char *workers, int *first_out, int *count_out)
{
    bool local = strncmp(workers, "local:", 6) == 0;
    if (local != crew->is_local)
        return DCLI_FAIL(DCL_ERR_INVALID, "workers is \"%s\"; expected %s, as the cluster has", workers,
                         crew->is_local ? "local:N" : "addresses");
    *first_out = *count_out = 0;
    int first = crew->node_count,
        count = local ? dcli_crew_parse_local(workers) : dcli_crew_count_remote(crew, workers);
    if (count < 0)
        return dcli_error_status();
    if (first + count > crew->capacity) {
        dcli_crew_forget_contacts(crew, crew->attended);
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "%d nodes would join; expected at most %d, as many as there are numbers kept free; set DCL_SPARE to "
            "more before the cluster is opened",
            count, crew->capacity - first);
    }
    *first_out = first;
    *count_out = count;
    pthread_mutex_lock(&crew->lock);
    crew->node_count = first + count; /* from now on the keeper monitors them */
    pthread_mutex_unlock(&crew->lock);
    dcl_status status = local ? add_local(crew, host, first, count) : dcli_crew_add_remote(crew, host, first, count);
    if (status == DCL_OK)
        status = await(crew, first, count);
    if (status != DCL_OK)
        give_up(crew, first, count);
    return status;
}

dcl_status dcli_crew_introduce(dcli_crew *crew, dcli_worker *host, int node, const dcli_node_ways ways[],
                               int64_t first_operation)
{
    dcli_member *member = &crew->member[node];
    dcli_msg_peer peers[DCLI_MOST_NODES];
    dcli_message setup = dcli_crew_describe_session(crew, node, ways, first_operation, peers);
    dcli_message joined = {.kind = DCLI_MSG_JOINED,
                           .joined = {.peer = node,
                                      .epoch = 1,
                                      .first_operation = first_operation,
                                      .address = member->address,
                                      .key = member->key,
                                      .can = ways[node].can,
                                      .group = ways[node].group}};
    dcl_status status = dcli_host_message(host, node, &setup, -1);
    for (int p = 0; p < node && status == DCL_OK; p++) {
        if (!peers[p].present)
            continue;
        int descriptor = member->introduction != NULL ? member->introduction[p] : -1;
        if (descriptor >= 0)
            member->introduction[p] = -1;
        status = dcli_host_message(host, p, &joined, descriptor);
    }
    if (status == DCL_OK)
        status = dcli_host_message(host, crew->capacity, &joined, -1);
    dcli_crew_forget_introduction(crew, node);
    member->introduced = true;
    return status;
}
