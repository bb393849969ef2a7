/* fleet/worker_pool.c - the worker processes of a cluster: opening, the session, losing, closing. */
#include "fleet/worker_pool.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/error.h"
#include "fleet/worker_pool_inside.h"
#include "worker/blame.h"

const char dcli_described_twice[] = "it has described its device twice; expected it once";

/* ---- opening ------------------------------------------------------------------------------------------------------ */

bool dcli_worker_pool_hear(dcli_worker_pool *pool, int node, const dcli_msg_device *device)
{
    if (node < 0 || node >= pool->capacity)
        return false;
    dcli_member *member = &pool->member[node];
    pthread_mutex_lock(&pool->lock);
    if (member->heard) { /* other threads read it without the lock, so it is written once */
        pthread_mutex_unlock(&pool->lock);
        return false;
    }
    dcli_device_note(device, &member->info);
    snprintf(member->kind, sizeof member->kind, "%s", device->kind);
    member->can = dcli_ways_of_device(device->in_place, device->reads_gpus);
    member->heard = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    return true;
}

/* Describe how a process ended. Its connections may be seen to end before the process itself. */
static void find_end(dcli_worker_pool *pool, dcli_member *member, char *text_out, size_t capacity)
{
    enum { STEPS = 20 };
    const struct timespec step = {.tv_nsec = 5000000};
    bool known = false;
    for (int n = 0; n < STEPS && !known; n++) {
        pthread_mutex_lock(&pool->lock);
        known = member->process.pid == 0 || dcli_process_has_ended(&member->process) || n == STEPS - 1;
        if (known && member->process.pid != 0)
            dcli_process_why(&member->process, text_out, capacity);
        else if (known) /* the process monitor has reaped it, or it runs on another host */
            snprintf(text_out, capacity, "%s",
                     member->refusal[0] != '\0' ? member->refusal
                     : member->gone[0] != '\0'  ? member->gone
                                                : "its process has ended");
        pthread_mutex_unlock(&pool->lock);
        if (!known)
            nanosleep(&step, NULL);
    }
}

dcl_status dcli_worker_pool_fail_to_start(dcli_worker_pool *pool, int node, dcl_status status, const char *why)
{
    dcli_member *member = &pool->member[node];
    char end[DCLI_ERROR_BYTES] = "";
    if (why[0] == '\0')
        find_end(pool, member, end, sizeof end);
    return DCLI_FAIL(status, "worker %d (%s) did not start: %s", node, member->name, why[0] != '\0' ? why : end);
}

void dcli_worker_pool_refused(dcli_worker_pool *pool, int node, dcl_status status, const char *sentence)
{
    if (node < 0 || node >= pool->capacity)
        return;
    dcli_member *member = &pool->member[node];
    pthread_mutex_lock(&pool->lock);
    if (member->refusal[0] == '\0') { /* keep only the first reason it reports */
        snprintf(member->refusal, sizeof member->refusal, "%s", sentence[0] != '\0' ? sentence : "it gives no reason");
        member->refusal_status = status != DCL_OK ? status : DCL_ERR_DEVICE;
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* Receive one message of a process before the host's worker exists: the worker pool itself listens until then. */
static dcl_status hear_one(dcli_worker_pool *pool, int milliseconds)
{
    char sentence[DCLI_ERROR_BYTES];
    dcli_received received = {0};
    dcl_status status = dcli_endpoint_receive(pool->endpoint, milliseconds, &received);
    if (status == DCL_ERR_TIMEOUT)
        return DCL_OK;
    int from = received.from;
    if (status == DCL_OK && received.message.kind == DCLI_MSG_DEVICE) {
        if (!dcli_worker_pool_hear(pool, from, &received.message.device))
            status = dcli_worker_pool_fail_to_start(pool, from, DCL_ERR_PROTOCOL, dcli_described_twice);
    } else if (status == DCL_OK && received.message.kind == DCLI_MSG_REFUSED) {
        const dcli_msg_refused *refused = &received.message.refused;
        status = dcli_worker_pool_fail_to_start(pool, from, (dcl_status)refused->status, refused->sentence);
    } else if (status == DCL_ERR_NODE_LOST) {
        snprintf(sentence, sizeof sentence, "%s", pool->is_local ? "" : dcli_error_sentence());
        status = dcli_worker_pool_fail_to_start(pool, from, DCL_ERR_NETWORK, sentence);
    } else if (status == DCL_ERR_PROTOCOL) {
        snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
        status = dcli_worker_pool_fail_to_start(pool, from, DCL_ERR_PROTOCOL, sentence);
    }
    if (received.frames != NULL)
        dcli_received_free(&received);
    return status;
}

static int first_unheard(dcli_worker_pool *pool)
{
    int n = 0;
    while (n < pool->node_count && pool->member[n].heard)
        n++;
    return n;
}

static dcl_status hear_all(dcli_worker_pool *pool)
{
    int64_t deadline = dcli_monotonic_ns() + (int64_t)DCLI_START_MS * 1000000;
    dcl_status status = DCL_OK;
    while (status == DCL_OK && first_unheard(pool) < pool->node_count) {
        int64_t left_ms = (deadline - dcli_monotonic_ns()) / 1000000;
        if (left_ms <= 0)
            return dcli_worker_pool_fail_to_start(pool, first_unheard(pool), DCL_ERR_TIMEOUT,
                                                  "it has not described its device in time");
        status = hear_one(pool, (int)left_ms);
    }
    return status;
}

static dcl_status open_local(dcli_worker_pool *pool, int count)
{
    const dcl_config *config = pool->terms.config;
    dcl_status status = dcli_process_program(config->program, pool->program);
    pool->device_count = 1;
    if (status == DCL_OK && !pool->terms.opencl)
        status = pool->terms.select_devices(config->devices, DCLI_MOST_NODES, pool->devices, &pool->device_count);
    if (status == DCL_OK)
        status = dcli_net_open(&pool->net);
    if (status == DCL_OK && (pool->buffers = dcli_buffers_open_shared()) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_process_monitor_start(pool);
    if (status == DCL_OK)
        status = dcli_process_monitor_order(pool, 0, count);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&pool->lock); /* the process monitor is at work */
    pool->node_count = count;
    pthread_mutex_unlock(&pool->lock);
    status = dcli_endpoint_open_shared(pool->net, pool->capacity, pool->capacity + 1, pool->host_link, &pool->endpoint);
    if (status == DCL_OK) {
        dcli_endpoint_link_on_demand(pool->endpoint, pool->capacity);
        dcli_endpoint_use_buffers(pool->endpoint, pool->buffers);
    }
    for (int p = 0; p <= pool->capacity; p++) /* the links were taken over by the endpoint */
        pool->host_link[p].socket = pool->host_link[p].memory = -1;
    return status;
}

static dcl_status make_room(dcli_worker_pool *pool, int count)
{
    int spare = (int)pool->terms.config->spare;
    pool->capacity = count + spare > DCLI_MOST_NODES ? DCLI_MOST_NODES : count + spare;
    pool->member = dcli_calloc((size_t)pool->capacity, sizeof *pool->member);
    pool->host_link = dcli_calloc((size_t)pool->capacity + 1, sizeof *pool->host_link);
    if (pool->member == NULL || pool->host_link == NULL)
        return DCL_ERR_NOMEM;
    for (int p = 0; p <= pool->capacity; p++)
        pool->host_link[p].socket = pool->host_link[p].memory = -1;
    return DCL_OK;
}

bool dcli_worker_pool_starts(const char *workers) { return strncmp(workers, "local:", 6) == 0; }

static dcl_status open_worker_pool(dcli_worker_pool *pool)
{
    const char *workers = pool->terms.config->workers;
    pool->is_local = dcli_worker_pool_starts(workers);
    int count = pool->is_local ? dcli_worker_pool_parse_local(workers) : dcli_worker_pool_count_remote(pool, workers);
    if (count < 0)
        return dcli_error_status();
    dcl_status status = make_room(pool, count);
    if (status == DCL_OK)
        status = pool->is_local ? open_local(pool, count) : dcli_worker_pool_open_remote(pool, count);
    if (status == DCL_OK && !pool->is_local)
        status = dcli_process_monitor_start(pool);
    return status == DCL_OK ? hear_all(pool) : status;
}

dcl_status dcli_worker_pool_open(const dcli_worker_pool_terms *terms, dcli_worker_pool **pool_out)
{
    dcli_worker_pool *pool = dcli_calloc(1, sizeof *pool);
    if (pool == NULL)
        return DCL_ERR_NOMEM;
    pool->terms = *terms;
    pool->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&pool->lock, NULL);
    dcli_cond_init(&pool->changed);
    dcl_status status = pool->wake_fd >= 0
                            ? DCL_OK
                            : DCLI_FAIL(DCL_ERR_NETWORK, "eventfd: no descriptor is left; raise the limit "
                                                         "with `ulimit -n`");
    if (status == DCL_OK && (pool->printer = dcli_printer_open(terms->log)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = open_worker_pool(pool);
    *terms->net = pool->net;
    *terms->buffers = pool->buffers;
    if (status != DCL_OK) {
        dcli_worker_pool_close(pool);
        return status;
    }
    *pool_out = pool;
    return DCL_OK;
}

/* ---- the session --------------------------------------------------------------------------------------------------- */

dcli_message dcli_worker_pool_describe_session(dcli_worker_pool *pool, int node, const dcli_node_ways ways[],
                                               int64_t first_operation, dcli_msg_peer peers[])
{
    const dcl_config *config = pool->terms.config;
    pthread_mutex_lock(&pool->lock);
    for (int p = 0; p < pool->capacity; p++) {
        const dcli_member *member = &pool->member[p];
        peers[p] = (dcli_msg_peer){.present = (member->introduced || p == node) && !member->lost,
                                   .can = ways[p].can,
                                   .group = ways[p].group,
                                   .address = member->address,
                                   .key = member->key};
    }
    pthread_mutex_unlock(&pool->lock);
    if (!pool->is_local)
        dcli_secret_derive(&pool->secret, DCLI_WORD_KEY, node, pool->member[node].word_key);
    return (dcli_message){.kind = DCLI_MSG_SETUP,
                          .epoch = pool->terms.session,
                          .setup = {.self = node,
                                    .peer_count = pool->capacity,
                                    .peer = peers,
                                    .first_operation = first_operation,
                                    .tree_nodes = pool->tree_nodes,
                                    .tile_bytes = (int64_t)config->tile_bytes,
                                    .chunk_bytes = (int64_t)config->chunk_bytes,
                                    .pool_bytes = (int64_t)config->pool_bytes,
                                    .kept_bytes = (int64_t)config->kept_bytes,
                                    .quota_bytes = (int64_t)config->quota_bytes,
                                    .silence_ms = (int64_t)config->silence_ms,
                                    .build_ms = (int64_t)config->build_ms,
                                    .kernel_ms = (int64_t)config->kernel_ms,
                                    .plan_ms = (int64_t)config->plan_ms,
                                    .trace_bytes = config->trace != NULL ? (int64_t)config->trace_bytes : 0,
                                    .fanout = (int)config->fanout,
                                    .log = pool->terms.log->level,
                                    .fault = pool->terms.fault,
                                    .check_access = dcli_config_checks_access(config),
                                    .word_key = pool->member[node].word_key,
                                    .steal = (int)dcli_config_steal(config).policy,
                                    .steal_kinds = dcli_config_steal(config).kinds}};
}

dcli_endpoint *dcli_worker_pool_setup(dcli_worker_pool *pool, const dcli_node_ways ways[])
{
    dcli_msg_peer peers[DCLI_MOST_NODES];
    dcl_status status = DCL_OK;
    pool->tree_nodes = pool->node_count;
    for (int n = 0; n < pool->node_count; n++)
        pool->member[n].introduced = true;
    for (int n = 0; n < pool->node_count && status == DCL_OK; n++) {
        dcli_message message = dcli_worker_pool_describe_session(pool, n, ways, 1, peers);
        status = dcli_endpoint_send(pool->endpoint, n, &message, NULL);
    }
    if (status != DCL_OK)
        return NULL;
    dcli_endpoint *endpoint = pool->endpoint;
    pool->endpoint = NULL;
    return endpoint;
}

void dcli_worker_pool_report_with(dcli_worker_pool *pool, const dcli_pool_user *calls, void *user)
{
    pthread_mutex_lock(&pool->lock);
    pool->calls = calls;
    pool->host = user;
    for (int n = 0; n < pool->node_count && user != NULL; n++)
        if (pool->member[n].lost)
            calls->report_loss(user, n, "it was lost as soon as it had started");
    pthread_mutex_unlock(&pool->lock);
}

void dcli_worker_pool_await_end(dcli_worker_pool *pool, int node, int milliseconds)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until = dcli_monotonic_ms() + milliseconds;
    dcli_member *member = &pool->member[node];
    for (bool known = false; !known && dcli_monotonic_ms() < until;) {
        pthread_mutex_lock(&pool->lock);
        known = pool->is_local ? dcli_process_has_ended(&member->process) : member->gone[0] != '\0';
        pthread_mutex_unlock(&pool->lock);
        if (!known)
            nanosleep(&pause, NULL);
    }
}

/* Lose a node. Does not wait for the node, because the host's worker must serve the others. Its last printed lines are
 * shown first. */
void dcli_worker_pool_lose(dcli_worker_pool *pool, int node, const char *seen, char *sentence_out, size_t capacity)
{
    enum { LAST_WORDS_MS = 1000 }; /* waited only once: a reader that takes nothing is not waited for again */
    dcli_member *member = &pool->member[node];
    char why[640] = "", noticed[512] = "", device[sizeof member->info.name];
    bool told = false; /* how the process ended is sufficient as the reason */
    pthread_mutex_lock(&pool->lock);
    member->lost = true;
    if (pool->is_local) {
        dcli_worker_pool_read_output(pool, node, DCLI_WITH_THE_LINE);
        dcli_process_why(&member->process, why, sizeof why);
        told = member->process.ended;
        dcli_worker_pool_dismiss(pool, node); /* the process may only be slow: end it now */
    } else {
        snprintf(why, sizeof why, "%s", member->gone[0] != '\0' ? member->gone : "cannot be reached");
        bool by_itself = strncmp(member->gone, "ended by itself", strlen("ended by itself")) ==
                         0; /* because of what was seen here */
        told = member->gone[0] != '\0' && !by_itself && !pool->contact[member->call].lost;
        dcli_worker_pool_dismiss(pool, node);
    }
    if (!member->heard && member->refusal[0] == '\0') { /* a thread is waiting for it to join */
        member->refusal_status = DCL_ERR_NODE_LOST;
        snprintf(member->refusal, sizeof member->refusal, "it %s", why);
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    dcli_printer_flush(pool->printer, LAST_WORDS_MS);
    if (!told)
        snprintf(noticed, sizeof noticed, " (%s)", seen);
    snprintf(device, sizeof device, "%s", member->info.name);
    dcli_blame_nobody(device);
    dcli_blame_nobody(noticed); /* these may be another node's words; only the end of this process says which body is
                                   to blame */
    snprintf(sentence_out, capacity, "node %d is lost: worker %d (%s, device \"%s\") %s%s", node, node, member->name,
             device, why, noticed);
}

/* ---- questions ---------------------------------------------------------------------------------------------------- */

int dcli_worker_pool_nodes(const dcli_worker_pool *pool) { return pool->node_count; }
int dcli_worker_pool_capacity(const dcli_worker_pool *pool) { return pool->capacity; }
const dcl_device_info *dcli_worker_pool_device(const dcli_worker_pool *pool, int node)
{
    return &pool->member[node].info;
}
const char *dcli_worker_pool_kind(const dcli_worker_pool *pool, int node) { return pool->member[node].kind; }

/* Over tcp each node is a group of its own, in which there is nobody to share with. */
dcli_node_ways dcli_worker_pool_ways(const dcli_worker_pool *pool, int node)
{
    if (!pool->is_local)
        return (dcli_node_ways){.group = (int16_t)node};
    return (dcli_node_ways){.can = pool->member[node].can};
}

static void lose(void *pool, int node, const char *seen, char *sentence_out, size_t capacity)
{
    dcli_worker_pool_lose(pool, node, seen, sentence_out, capacity);
}

static const char *hear_device(void *pool, int node, const dcli_msg_device *device)
{
    return dcli_worker_pool_hear(pool, node, device) ? NULL : dcli_described_twice;
}

static void hear_refusal(void *pool, int node, dcl_status status, const char *sentence)
{
    dcli_worker_pool_refused(pool, node, status, sentence);
}

const dcli_fleet_hooks *dcli_worker_pool_hooks(dcli_worker_pool *pool)
{
    pool->hooks = (dcli_fleet_hooks){
        .user = pool, .is_remote = !pool->is_local, .lose = lose, .described = hear_device, .refused = hear_refusal};
    return &pool->hooks;
}

bool dcli_worker_pool_is_remote(const dcli_worker_pool *pool) { return !pool->is_local; }
const dcli_secret *dcli_worker_pool_secret(const dcli_worker_pool *pool)
{
    return pool->is_local ? NULL : &pool->secret;
}

/* ---- closing ------------------------------------------------------------------------------------------------------ */

static bool have_ended(dcli_worker_pool *pool)
{
    for (int n = 0; pool->member != NULL && n < pool->capacity; n++)
        if (pool->member[n].process.pid != 0 && !dcli_process_has_ended(&pool->member[n].process))
            return false;
    return true;
}

/* Wait for processes to end. The caller holds the lock, so the process monitor cannot read their pipes; this function
 * does, because a process with a full pipe cannot end. */
static void await_ends(dcli_worker_pool *pool, int milliseconds)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until_ms = dcli_monotonic_ms() + milliseconds;
    while (!have_ended(pool) && dcli_monotonic_ms() < until_ms) {
        for (int n = 0; n < pool->capacity; n++)
            dcli_worker_pool_read_output(pool, n, DCLI_LINES);
        nanosleep(&pause, NULL);
    }
}

void dcli_worker_pool_close(dcli_worker_pool *pool)
{
    enum { GRACE_MS = 2000, GRACE_EACH_MS = 10 };
    if (pool == NULL)
        return;
    dcli_endpoint_close(pool->endpoint);
    bool started = pool->endpoint == NULL; /* the host's worker has told them to stop */
    pthread_mutex_lock(&pool->lock);
    if (started)
        await_ends(pool, GRACE_MS + GRACE_EACH_MS * pool->node_count);
    dcli_process *process[DCLI_MOST_NODES];
    int count = 0;
    for (int n = 0; pool->member != NULL && n < pool->capacity; n++)
        process[count++] = &pool->member[n].process;
    dcli_process_end_all(count, process, 0);
    for (int n = 0; n < count; n++)
        dcli_worker_pool_read_output(pool, n, DCLI_TO_THE_END);
    pthread_mutex_unlock(&pool->lock);
    if (pool->has_monitor) /* joined last: when the process monitor ends, the kernel ends its children */
        dcli_process_monitor_stop(pool);
    dcli_worker_pool_hang_up(pool);
    dcli_printer_close(pool->printer);
    for (int p = 0; pool->host_link != NULL && p <= pool->capacity; p++)
        dcli_shared_link_close(&pool->host_link[p]);
    if (pool->wake_fd >= 0)
        close(pool->wake_fd);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    dcli_keypair_wipe(&pool->own);
    dcli_free(pool->host_link);
    dcli_free(pool->member);
    dcli_free(pool);
}
