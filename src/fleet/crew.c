/* fleet/crew.c - the worker processes of a cluster: opening, the session, losing, closing. */
#include "fleet/crew.h"

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
#include "fleet/crew_inside.h"
#include "worker/blame.h"

const char dcli_described_twice[] = "it has described its device twice; expected it once";

/* ---- opening ------------------------------------------------------------------------------------------------------ */

bool dcli_crew_hear(dcli_crew *crew, int node, const dcli_msg_device *device)
{
    if (node < 0 || node >= crew->capacity)
        return false;
    dcli_member *member = &crew->member[node];
    pthread_mutex_lock(&crew->lock);
    if (member->heard) { /* other threads read it without the lock, so it is written once */
        pthread_mutex_unlock(&crew->lock);
        return false;
    }
    dcli_device_note(device, &member->info);
    snprintf(member->kind, sizeof member->kind, "%s", device->kind);
    member->can = dcli_ways_of_device(device->in_place, device->reads_gpus);
    member->heard = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return true;
}

/* Describe how a process ended. Its connections may be seen to end before the process itself. */
static void find_end(dcli_crew *crew, dcli_member *member, char *text_out, size_t capacity)
{
    enum { STEPS = 20 };
    const struct timespec step = {.tv_nsec = 5000000};
    bool known = false;
    for (int n = 0; n < STEPS && !known; n++) {
        pthread_mutex_lock(&crew->lock);
        known = member->process.pid == 0 || dcli_process_has_ended(&member->process) || n == STEPS - 1;
        if (known && member->process.pid != 0)
            dcli_process_why(&member->process, text_out, capacity);
        else if (known) /* the keeper has reaped it, or it runs on another host */
            snprintf(text_out, capacity, "%s",
                     member->refusal[0] != '\0' ? member->refusal
                     : member->gone[0] != '\0'  ? member->gone
                                                : "its process has ended");
        pthread_mutex_unlock(&crew->lock);
        if (!known)
            nanosleep(&step, NULL);
    }
}

dcl_status dcli_crew_fail_to_start(dcli_crew *crew, int node, dcl_status status, const char *why)
{
    dcli_member *member = &crew->member[node];
    char end[DCLI_ERROR_BYTES] = "";
    if (why[0] == '\0')
        find_end(crew, member, end, sizeof end);
    return DCLI_FAIL(status, "worker %d (%s) did not start: %s", node, member->name, why[0] != '\0' ? why : end);
}

void dcli_crew_refused(dcli_crew *crew, int node, dcl_status status, const char *sentence)
{
    if (node < 0 || node >= crew->capacity)
        return;
    dcli_member *member = &crew->member[node];
    pthread_mutex_lock(&crew->lock);
    if (member->refusal[0] == '\0') { /* keep only the first reason it reports */
        snprintf(member->refusal, sizeof member->refusal, "%s", sentence[0] != '\0' ? sentence : "it gives no reason");
        member->refusal_status = status != DCL_OK ? status : DCL_ERR_DEVICE;
    }
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

/* Receive one message of a process before the host's worker exists: the crew itself listens until then. */
static dcl_status hear_one(dcli_crew *crew, int milliseconds)
{
    char sentence[DCLI_ERROR_BYTES];
    dcli_received received = {0};
    dcl_status status = dcli_endpoint_receive(crew->endpoint, milliseconds, &received);
    if (status == DCL_ERR_TIMEOUT)
        return DCL_OK;
    int from = received.from;
    if (status == DCL_OK && received.message.kind == DCLI_MSG_DEVICE) {
        if (!dcli_crew_hear(crew, from, &received.message.device))
            status = dcli_crew_fail_to_start(crew, from, DCL_ERR_PROTOCOL, dcli_described_twice);
    } else if (status == DCL_OK && received.message.kind == DCLI_MSG_REFUSED) {
        const dcli_msg_refused *refused = &received.message.refused;
        status = dcli_crew_fail_to_start(crew, from, (dcl_status)refused->status, refused->sentence);
    } else if (status == DCL_ERR_NODE_LOST) {
        snprintf(sentence, sizeof sentence, "%s", crew->is_local ? "" : dcli_error_sentence());
        status = dcli_crew_fail_to_start(crew, from, DCL_ERR_NETWORK, sentence);
    } else if (status == DCL_ERR_PROTOCOL) {
        snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
        status = dcli_crew_fail_to_start(crew, from, DCL_ERR_PROTOCOL, sentence);
    }
    if (received.frames != NULL)
        dcli_received_free(&received);
    return status;
}

static int first_unheard(dcli_crew *crew)
{
    int n = 0;
    while (n < crew->node_count && crew->member[n].heard)
        n++;
    return n;
}

static dcl_status hear_all(dcli_crew *crew)
{
    int64_t deadline = dcli_monotonic_ns() + (int64_t)DCLI_START_MS * 1000000;
    dcl_status status = DCL_OK;
    while (status == DCL_OK && first_unheard(crew) < crew->node_count) {
        int64_t left_ms = (deadline - dcli_monotonic_ns()) / 1000000;
        if (left_ms <= 0)
            return dcli_crew_fail_to_start(crew, first_unheard(crew), DCL_ERR_TIMEOUT,
                                           "it has not described its device in time");
        status = hear_one(crew, (int)left_ms);
    }
    return status;
}

static dcl_status open_local(dcli_crew *crew, int count)
{
    const dcl_config *config = crew->terms.config;
    dcl_status status = dcli_process_program(config->program, crew->program);
    if (status == DCL_OK)
        status = dcli_device_select(config->devices, DCLI_MOST_LOCAL, crew->devices, &crew->device_count);
    if (status == DCL_OK)
        status = dcli_net_open(&crew->net);
    if (status == DCL_OK && (crew->buffers = dcli_buffers_open_shared()) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = dcli_keeper_start(crew);
    if (status == DCL_OK)
        status = dcli_keeper_order(crew, 0, count);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&crew->lock); /* the keeper is at work */
    crew->node_count = count;
    pthread_mutex_unlock(&crew->lock);
    status = dcli_endpoint_open_shared(crew->net, crew->capacity, crew->capacity + 1, crew->host_link, &crew->endpoint);
    if (status == DCL_OK)
        dcli_endpoint_use_buffers(crew->endpoint, crew->buffers);
    for (int p = 0; p <= crew->capacity; p++) /* taken over */
        crew->host_link[p].socket = crew->host_link[p].memory = -1;
    return status;
}

static dcl_status make_room(dcli_crew *crew, int count)
{
    int spare = (int)crew->terms.config->spare;
    crew->capacity = count + spare > DCLI_MOST_NODES ? DCLI_MOST_NODES : count + spare;
    crew->member = dcli_calloc((size_t)crew->capacity, sizeof *crew->member);
    crew->host_link = dcli_calloc((size_t)crew->capacity + 1, sizeof *crew->host_link);
    if (crew->member == NULL || crew->host_link == NULL)
        return DCL_ERR_NOMEM;
    for (int p = 0; p <= crew->capacity; p++)
        crew->host_link[p].socket = crew->host_link[p].memory = -1;
    return DCL_OK;
}

static dcl_status open_crew(dcli_crew *crew)
{
    const char *workers = crew->terms.config->workers;
    crew->is_local = strncmp(workers, "local:", 6) == 0;
    int count = crew->is_local ? dcli_crew_parse_local(workers) : dcli_crew_count_remote(crew, workers);
    if (count < 0)
        return dcli_error_status();
    dcl_status status = make_room(crew, count);
    if (status == DCL_OK)
        status = crew->is_local ? open_local(crew, count) : dcli_crew_open_remote(crew, count);
    if (status == DCL_OK && !crew->is_local)
        status = dcli_keeper_start(crew);
    return status == DCL_OK ? hear_all(crew) : status;
}

dcl_status dcli_crew_open(const dcli_crew_terms *terms, dcli_crew **crew_out)
{
    dcli_crew *crew = dcli_calloc(1, sizeof *crew);
    if (crew == NULL)
        return DCL_ERR_NOMEM;
    crew->terms = *terms;
    crew->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&crew->lock, NULL);
    dcli_cond_init(&crew->changed);
    dcl_status status = crew->wake_fd >= 0
                            ? DCL_OK
                            : DCLI_FAIL(DCL_ERR_NETWORK, "eventfd: no descriptor is left; raise the limit "
                                                         "with `ulimit -n`");
    if (status == DCL_OK && (crew->printer = dcli_printer_open(terms->log)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = open_crew(crew);
    *terms->net = crew->net;
    *terms->buffers = crew->buffers;
    if (status != DCL_OK) {
        dcli_crew_close(crew);
        return status;
    }
    *crew_out = crew;
    return DCL_OK;
}

/* ---- the session --------------------------------------------------------------------------------------------------- */

dcli_message dcli_crew_describe_session(dcli_crew *crew, int node, const dcli_node_ways ways[], int64_t first_operation,
                                        dcli_msg_peer peers[])
{
    const dcl_config *config = crew->terms.config;
    pthread_mutex_lock(&crew->lock);
    for (int p = 0; p < crew->capacity; p++) {
        const dcli_member *member = &crew->member[p];
        peers[p] = (dcli_msg_peer){.present = (member->introduced || p == node) && !member->lost,
                                   .can = ways[p].can,
                                   .group = ways[p].group,
                                   .address = member->address,
                                   .key = member->key};
    }
    pthread_mutex_unlock(&crew->lock);
    if (!crew->is_local)
        dcli_secret_derive(&crew->secret, DCLI_WORD_KEY, node, crew->member[node].word_key);
    return (dcli_message){.kind = DCLI_MSG_SETUP,
                          .epoch = crew->terms.session,
                          .setup = {.self = node,
                                    .peer_count = crew->capacity,
                                    .peer = peers,
                                    .first_operation = first_operation,
                                    .tree_nodes = crew->tree_nodes,
                                    .tile_bytes = (int64_t)config->tile_bytes,
                                    .chunk_bytes = (int64_t)config->chunk_bytes,
                                    .pool_bytes = (int64_t)config->pool_bytes,
                                    .kept_bytes = (int64_t)config->kept_bytes,
                                    .quota_bytes = (int64_t)config->quota_bytes,
                                    .silence_ms = (int64_t)config->silence_ms,
                                    .build_ms = (int64_t)config->build_ms,
                                    .kernel_ms = (int64_t)config->kernel_ms,
                                    .plan_ms = (int64_t)config->plan_ms,
                                    .fanout = (int)config->fanout,
                                    .log = crew->terms.log->level,
                                    .fault = crew->terms.fault,
                                    .check_access = dcli_config_checks_access(config),
                                    .word_key = crew->member[node].word_key}};
}

dcli_endpoint *dcli_crew_setup(dcli_crew *crew, const dcli_node_ways ways[])
{
    dcli_msg_peer peers[DCLI_MOST_NODES];
    dcl_status status = DCL_OK;
    crew->tree_nodes = crew->node_count;
    for (int n = 0; n < crew->node_count; n++)
        crew->member[n].introduced = true;
    for (int n = 0; n < crew->node_count && status == DCL_OK; n++) {
        dcli_message message = dcli_crew_describe_session(crew, n, ways, 1, peers);
        status = dcli_endpoint_send(crew->endpoint, n, &message, NULL);
    }
    if (status != DCL_OK)
        return NULL;
    dcli_endpoint *endpoint = crew->endpoint;
    crew->endpoint = NULL;
    return endpoint;
}

void dcli_crew_report_to(dcli_crew *crew, dcli_worker *host)
{
    pthread_mutex_lock(&crew->lock);
    crew->host = host;
    for (int n = 0; n < crew->node_count && host != NULL; n++)
        if (crew->member[n].lost)
            dcli_host_report_loss(host, n, "it was lost as soon as it had started");
    pthread_mutex_unlock(&crew->lock);
}

/* Lose a node. Does not wait for the node, because the host's worker must serve the others. Its last printed lines are
 * shown first. */
void dcli_crew_lose(dcli_crew *crew, int node, const char *seen, char *sentence_out, size_t capacity)
{
    enum { LAST_WORDS_MS = 1000 }; /* waited only once: a reader that takes nothing is not waited for again */
    dcli_member *member = &crew->member[node];
    char why[640] = "", noticed[512] = "", device[sizeof member->info.name];
    bool told = false; /* how the process ended is sufficient as the reason */
    pthread_mutex_lock(&crew->lock);
    member->lost = true;
    if (crew->is_local) {
        dcli_crew_read_output(crew, node, DCLI_WITH_THE_LINE);
        dcli_process_why(&member->process, why, sizeof why);
        told = member->process.ended;
        dcli_crew_dismiss(crew, node); /* the process may only be slow: end it now */
    } else {
        snprintf(why, sizeof why, "%s", member->gone[0] != '\0' ? member->gone : "cannot be reached");
        bool by_itself =
            strncmp(member->gone, "ended by itself", strlen("ended by itself")) == 0; /* after what we saw */
        told = member->gone[0] != '\0' && !by_itself && !crew->contact[member->call].lost;
        dcli_crew_dismiss(crew, node);
    }
    if (!member->heard && member->refusal[0] == '\0') { /* a thread is waiting for it to join */
        member->refusal_status = DCL_ERR_NODE_LOST;
        snprintf(member->refusal, sizeof member->refusal, "it %s", why);
    }
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    dcli_printer_flush(crew->printer, LAST_WORDS_MS);
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

int dcli_crew_nodes(const dcli_crew *crew) { return crew->node_count; }
int dcli_crew_capacity(const dcli_crew *crew) { return crew->capacity; }
const dcl_device_info *dcli_crew_device(const dcli_crew *crew, int node) { return &crew->member[node].info; }
const char *dcli_crew_kind(const dcli_crew *crew, int node) { return crew->member[node].kind; }

/* Over tcp each node is a group of its own, in which there is nobody to share with. */
dcli_node_ways dcli_crew_ways(const dcli_crew *crew, int node)
{
    if (!crew->is_local)
        return (dcli_node_ways){.group = (int16_t)node};
    return (dcli_node_ways){.can = crew->member[node].can};
}

static void lose(void *crew, int node, const char *seen, char *sentence_out, size_t capacity)
{
    dcli_crew_lose(crew, node, seen, sentence_out, capacity);
}

static const char *hear_device(void *crew, int node, const dcli_msg_device *device)
{
    return dcli_crew_hear(crew, node, device) ? NULL : dcli_described_twice;
}

static void hear_refusal(void *crew, int node, dcl_status status, const char *sentence)
{
    dcli_crew_refused(crew, node, status, sentence);
}

const dcli_fleet_hooks *dcli_crew_hooks(dcli_crew *crew)
{
    crew->hooks = (dcli_fleet_hooks){
        .user = crew, .is_remote = !crew->is_local, .lose = lose, .described = hear_device, .refused = hear_refusal};
    return &crew->hooks;
}

bool dcli_crew_is_remote(const dcli_crew *crew) { return !crew->is_local; }
const dcli_secret *dcli_crew_secret(const dcli_crew *crew) { return crew->is_local ? NULL : &crew->secret; }

/* ---- closing ------------------------------------------------------------------------------------------------------ */

static bool have_ended(dcli_crew *crew)
{
    for (int n = 0; crew->member != NULL && n < crew->capacity; n++)
        if (crew->member[n].process.pid != 0 && !dcli_process_has_ended(&crew->member[n].process))
            return false;
    return true;
}

/* Wait for processes to end. The caller holds the lock, so the keeper cannot read their pipes; this function does,
 * because a process with a full pipe cannot end. */
static void await_ends(dcli_crew *crew, int milliseconds)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until_ms = dcli_monotonic_ms() + milliseconds;
    while (!have_ended(crew) && dcli_monotonic_ms() < until_ms) {
        for (int n = 0; n < crew->capacity; n++)
            dcli_crew_read_output(crew, n, DCLI_LINES);
        nanosleep(&pause, NULL);
    }
}

void dcli_crew_close(dcli_crew *crew)
{
    enum { GRACE_MS = 2000 };
    if (crew == NULL)
        return;
    dcli_endpoint_close(crew->endpoint);
    bool started = crew->endpoint == NULL; /* the host's worker has told them to stop */
    pthread_mutex_lock(&crew->lock);
    for (int n = 0; crew->member != NULL && n < crew->capacity; n++)
        dcli_crew_forget_introduction(crew, n);
    if (started)
        await_ends(crew, GRACE_MS);
    dcli_process *process[DCLI_MOST_NODES];
    int count = 0;
    for (int n = 0; crew->member != NULL && n < crew->capacity; n++)
        process[count++] = &crew->member[n].process;
    dcli_process_end_all(count, process, 0);
    for (int n = 0; n < count; n++)
        dcli_crew_read_output(crew, n, DCLI_TO_THE_END);
    pthread_mutex_unlock(&crew->lock);
    if (crew->has_keeper) /* joined last: when the keeper ends, the kernel ends its children */
        dcli_keeper_stop(crew);
    dcli_crew_hang_up(crew);
    dcli_printer_close(crew->printer);
    for (int p = 0; crew->host_link != NULL && p <= crew->capacity; p++)
        dcli_shared_link_close(&crew->host_link[p]);
    if (crew->wake_fd >= 0)
        close(crew->wake_fd);
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->changed);
    dcli_keypair_wipe(&crew->own);
    dcli_free(crew->host_link);
    dcli_free(crew->member);
    dcli_free(crew);
}
