/* fleet/supervisor_session.c - the processes of one client's session. */
#include "fleet/supervisor_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "fleet/environment.h"
#include "fleet/strays.h"
#include "net/wire_address.h"

dcli_supervised *dcli_supervisor_find(dcli_supervisor *supervisor, uint32_t client)
{
    dcli_supervised *session = supervisor->sessions;
    while (session != NULL && session->client != client)
        session = session->next;
    return session;
}

void dcli_supervisor_refuse(dcli_supervisor *supervisor, uint32_t client, dcl_status status, const char *sentence)
{
    dcli_message message = {.kind = DCLI_MSG_REFUSED, .refused = {.status = status, .sentence = sentence}};
    DCLI_LOG(supervisor->log, DCLI_LOG_WARN, "refused %s: %s", dcli_listener_caller(supervisor->listener, client),
             sentence);
    if (dcli_listener_send(supervisor->listener, client, &message) != DCL_OK)
        dcli_listener_hang_up(supervisor->listener, client); /* it waits for an answer */
}

/* ---- starting ----------------------------------------------------------------------------------------------------- */

static dcli_wire_order make_order(const dcli_supervisor *supervisor, const dcli_msg_open *open, int place,
                                  const char *cache)
{
    const dcl_worker_config *config = supervisor->config;
    dcli_wire_order order = {.magic = DCLI_WIRE_ORDER,
                             .self = open->first + place,
                             .nodes = open->nodes,
                             .device = supervisor->devices[place],
                             .io_threads = (int)config->io_threads,
                             .first_port = supervisor->port[0][0],
                             .last_port = supervisor->port[0][1],
                             .first_peer_port = supervisor->port[1][0],
                             .last_peer_port = supervisor->port[1][1],
                             .contain = supervisor->contain,
                             .opencl = open->opencl,
                             .most_kernel_ms = (int64_t)config->most_kernel_ms,
                             .sharers = supervisor->session_count * supervisor->device_count,
                             .log = supervisor->log->level,
                             .session = open->session,
                             .silence_ms = open->silence_ms,
                             .quota_bytes = (int64_t)config->quota_bytes,
                             .chunk_bytes = open->chunk_bytes};
    snprintf(order.bind, sizeof order.bind, "%s", supervisor->bind);
    snprintf(order.key, sizeof order.key, "%s", open->key);
    snprintf(order.password, sizeof order.password, "%s", open->password);
    snprintf(order.host, sizeof order.host, "%s", open->host[place].key);
    snprintf(order.host_name, sizeof order.host_name, "%s", open->host[place].name);
    snprintf(order.files, sizeof order.files, "%s", supervisor->files_name);
    snprintf(order.cache, sizeof order.cache, "%s", cache);
    return order;
}

/* Start a process of a session. Its order is written into the socket before the process starts. */
static dcl_status start_child(dcli_supervisor *supervisor, const dcli_msg_open *open, int place, const char *cache,
                              dcli_child *child)
{
    int ends[2] = {-1, -1}, output = -1;
    char terms[256];
    dcli_wire_order order = make_order(supervisor, open, place, cache);
    char **variables = dcli_environment_of_session(cache[0] != '\0' ? cache : NULL);
    dcl_status status = variables != NULL ? dcli_process_prepare(&child->process) : DCL_ERR_NOMEM;
    if (status == DCL_OK && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        status =
            DCLI_FAIL(DCL_ERR_NETWORK, "socketpair: %s; raise the worker's limit of open descriptors", strerror(errno));
    if (status == DCL_OK && send(ends[0], &order, sizeof order, MSG_NOSIGNAL) != (ssize_t)sizeof order)
        status = DCLI_FAIL(DCL_ERR_NETWORK, "send: %s; free memory", strerror(errno));
    explicit_bzero(&order, sizeof order);
    if (status == DCL_OK)
        status = dcli_output_open(&child->output, &output);
    if (status == DCL_OK) {
        const int pass[] = {child->process.status_memory, ends[1], supervisor->files.folder};
        int length =
            snprintf(terms, sizeof terms, "wire parent=%d status=%d control=%d", (int)getpid(), pass[0], pass[1]);
        if (pass[2] >= 0)
            snprintf(terms + length, sizeof terms - (size_t)length, " files=%d", pass[2]);
        status = dcli_process_start(supervisor->program, terms, variables, output, pass[2] >= 0 ? 3 : 2, pass,
                                    &child->process);
    }
    dcli_environment_free(variables);
    if (output >= 0)
        close(output);
    if (ends[1] >= 0)
        close(ends[1]);
    if (ends[0] >= 0)
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->control = ends[0];
    return status;
}

/* Whether a session number was used before: replaying a recorded OPEN must have no effect. */
static bool is_remembered(const dcli_supervisor *supervisor, uint64_t session)
{
    int64_t count = supervisor->remembered_count;
    for (int64_t n = 0; n < count && n < DCLI_SESSIONS_REMEMBERED; n++)
        if (supervisor->remembered[n] == session)
            return true;
    return false;
}

static dcl_status check_open(const dcli_supervisor *supervisor, const dcli_msg_open *open)
{
    if (supervisor->draining)
        return DCLI_FAIL(DCL_ERR_NETWORK, "this worker is being stopped and takes no new sessions; use another one");
    if (is_remembered(supervisor, open->session))
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "session %016" PRIx64 " has been opened before; expected a new one",
                         open->session);
    if (open->first + supervisor->device_count > open->nodes)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "nodes %d..%d are asked for in a session of %d numbers", open->first,
                         open->first + supervisor->device_count - 1, open->nodes);
    if (supervisor->has_keys != (open->key[0] != '\0') || open->password[0] == '\0')
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "the session has %s; expected %s", open->key[0] != '\0' ? "keys" : "no keys",
                         supervisor->has_keys ? "keys, as this worker has" : "a password: this worker has no keys");
    if (open->host_count != supervisor->device_count)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "%d processes can know the host; expected all %d that this worker starts",
                         open->host_count, supervisor->device_count);
    const char *of_nodes = supervisor->has_keys ? open->key : open->password;
    for (int p = 0; p < open->host_count; p++)
        if (open->host[p].key[0] == '\0' || strcmp(open->host[p].key, of_nodes) == 0)
            return DCLI_FAIL(DCL_ERR_PROTOCOL,
                             "the host of the session has %s; expected a key or password of its own, so that none of "
                             "the nodes can speak for it",
                             open->host[p].key[0] == '\0' ? "none" : "that of the nodes");
    for (int p = 0; p < open->host_count; p++)
        if (open->host[p].name[0] == '\0')
            return DCLI_FAIL(DCL_ERR_PROTOCOL,
                             "the host of the session has no name; expected one that none of the nodes "
                             "can guess, as it could keep the host out");
    return DCL_OK;
}

/* Make the control group of a session, with memory beyond its arrays: for the driver, its compiler and data in
 * transit. */
static void make_group(const dcli_supervisor *supervisor, const dcli_supervised *session)
{
    const int64_t beside = INT64_C(2) << 30, each = 256;
    int64_t quota = (int64_t)supervisor->config->quota_bytes, processors = sysconf(_SC_NPROCESSORS_ONLN);
    dcli_cgroup_make(&supervisor->groups, session->session,
                     quota > 0 && quota < INT64_MAX / 256 ? session->count * (quota + quota / 4 + beside) : 0,
                     session->count * (each + 4 * processors));
}

void dcli_supervisor_start(dcli_supervisor *supervisor, uint32_t client, const dcli_msg_open *open)
{
    dcl_status status = check_open(supervisor, open);
    dcli_supervised *session = status == DCL_OK ? dcli_calloc(1, sizeof *session) : NULL;
    if (session == NULL) {
        dcli_supervisor_refuse(supervisor, client, dcli_error_status(), dcli_error_sentence());
        return;
    }
    supervisor->remembered[supervisor->remembered_count++ % DCLI_SESSIONS_REMEMBERED] = open->session;
    *session = (dcli_supervised){.client = client,
                                 .session = open->session,
                                 .silence_ms =
                                     open->silence_ms < DCLI_MOST_SILENCE_MS ? open->silence_ms : DCLI_MOST_SILENCE_MS,
                                 .heard_ms = dcli_monotonic_ms(),
                                 .opened_ms = dcli_monotonic_ms(),
                                 .count = supervisor->device_count,
                                 .next = supervisor->sessions};
    supervisor->sessions = session;
    supervisor->session_count++;
    for (int p = 0; p < session->count; p++) {
        session->child[p].control = -1;
        session->child[p].process.pidfd = -1;
    }
    char cache[sizeof supervisor->cache];
    make_group(supervisor, session);
    status = dcli_supervisor_cache_of(supervisor, client, cache, sizeof cache);
    for (int p = 0; p < session->count && status == DCL_OK; p++)
        if ((status = start_child(supervisor, open, p, cache, &session->child[p])) == DCL_OK)
            dcli_cgroup_add(&supervisor->groups, session->session, session->child[p].process.pid);
    if (status == DCL_OK)
        return;
    dcli_supervisor_refuse(supervisor, client, status, dcli_error_sentence());
    dcli_supervisor_end(supervisor, session, "its processes could not be started");
}

/* ---- watching ----------------------------------------------------------------------------------------------------- */

/* Check what a process reports before others are told: it runs its client's code. */
static dcl_status check_answer(const dcli_supervisor *supervisor, const dcli_wire_answer *answer)
{
    dcli_address address;
    char key[DCLI_KEY_Z85];
    dcl_status status = dcli_address_parse(answer->address, DCLI_TO_CALL, &address);
    if (status == DCL_OK && supervisor->has_keys)
        status = dcli_key_parse(answer->key, key);
    else if (status == DCL_OK && answer->key[0] != '\0')
        status = DCLI_FAIL(DCL_ERR_PROTOCOL, "a worker process has a key; expected none: this worker has no keys");
    return status;
}

static dcl_status tell_opened(dcli_supervisor *supervisor, dcli_supervised *session)
{
    dcl_status status = DCL_OK;
    dcli_msg_peer peers[DCLI_MOST_DEVICES_OFFERED];
    for (int p = 0; p < session->count; p++)
        peers[p] = (dcli_msg_peer){
            .present = true, .address = session->child[p].answer.address, .key = session->child[p].answer.key};
    dcli_message message = {.kind = DCLI_MSG_OPENED, .opened = {.peer_count = session->count, .peer = peers}};
    for (int p = 0; p < session->count && status == DCL_OK; p++)
        status = check_answer(supervisor, &session->child[p].answer);
    if (status == DCL_OK)
        status = dcli_listener_send(supervisor->listener, session->client, &message);
    if (status != DCL_OK)
        return status;
    session->opened = true;
    DCLI_LOG(supervisor->log, DCLI_LOG_INFO, "session %016" PRIx64 " of %s is open: %d process%s", session->session,
             dcli_listener_caller(supervisor->listener, session->client), session->count,
             session->count == 1 ? "" : "es");
    return DCL_OK;
}

static void take_answer(dcli_child *child)
{
    if (child->answered || child->control < 0)
        return;
    dcli_wire_answer *answer = &child->answer;
    ssize_t got = recv(child->control, answer, sizeof *answer, 0);
    child->answered = got == (ssize_t)sizeof *answer && answer->magic == DCLI_WIRE_ORDER;
    answer->address[sizeof answer->address - 1] = answer->key[sizeof answer->key - 1] = '\0';
    answer->problem[sizeof answer->problem - 1] = '\0';
    if (answer->status < DCL_OK || answer->status > DCL_ERR_INTERNAL)
        answer->status = DCL_ERR_DEVICE;
}

/* Take the answers of a session's processes. @return false: the session has ended. */
static bool take_answers(dcli_supervisor *supervisor, dcli_supervised *session)
{
    enum { MOST_MS = 15000 };
    int answered = 0;
    for (int p = 0; p < session->count; p++) {
        dcli_child *child = &session->child[p];
        take_answer(child);
        answered += child->answered;
        if (child->answered && child->answer.status != DCL_OK) {
            dcli_supervisor_refuse(supervisor, session->client, child->answer.status, child->answer.problem);
            dcli_supervisor_end(supervisor, session, "one of its processes cannot serve");
            return false;
        }
        if (!child->answered &&
            (dcli_process_has_ended(&child->process) || dcli_monotonic_ms() - session->opened_ms > MOST_MS)) {
            char why[512];
            dcli_process_why(&child->process, why, sizeof why);
            DCLI_FAIL(DCL_ERR_DEVICE, "a worker process %s before it listened; see the worker's log", why);
            dcli_supervisor_refuse(supervisor, session->client, DCL_ERR_DEVICE, dcli_error_sentence());
            dcli_supervisor_end(supervisor, session, "one of its processes did not start");
            return false;
        }
    }
    if (answered < session->count || tell_opened(supervisor, session) == DCL_OK)
        return true;
    dcli_supervisor_refuse(supervisor, session->client, dcli_error_status(), dcli_error_sentence());
    dcli_supervisor_end(supervisor, session, "its client could not be told of its processes");
    return false;
}

static void tell_gone(dcli_supervisor *supervisor, dcli_supervised *session, int place, const char *why)
{
    dcli_child *child = &session->child[place];
    int pid = (int)child->process.pid;
    child->gone = true;
    dcli_supervisor_kill(supervisor, &child->process);
    dcli_supervisor_end_output(supervisor, session, place, true); /* shown before the client is told of the end */
    dcli_message message = {.kind = DCLI_MSG_GONE, .gone = {.process = place, .sentence = why}};
    dcli_listener_send(supervisor->listener, session->client, &message);
    DCLI_LOG(supervisor->log, DCLI_LOG_INFO, "session %016" PRIx64 ": process %d (%d) %s", session->session, place, pid,
             why);
    if (child->control >= 0)
        close(child->control);
    child->control = -1;
}

void dcli_supervisor_check(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms, bool all_heard)
{
    char why[512];
    if (all_heard && now_ms - session->heard_ms > session->silence_ms) {
        dcli_listener_hang_up(supervisor->listener, session->client);
        dcli_supervisor_end(supervisor, session, "its client has been silent for too long");
        return;
    }
    dcli_supervisor_pass_output(supervisor, session, now_ms);
    if (!session->opened && !take_answers(supervisor, session))
        return;
    for (int p = 0; p < session->count && session->opened; p++) {
        dcli_child *child = &session->child[p];
        if (child->gone)
            continue;
        if (dcli_process_has_ended(&child->process)) {
            dcli_process_why(&child->process, why, sizeof why);
            tell_gone(supervisor, session, p, why);
        } else if (dcli_process_is_silent(&child->process, now_ms * 1000000, session->silence_ms)) {
            tell_gone(supervisor, session, p, "has been silent for too long, and was ended");
        }
    }
}

/* ---- draining ------------------------------------------------------------------------------------------------------ */

static bool rests(dcli_supervised *session, int64_t now_ms)
{
    enum {
        QUIET_MS = 300
    };                  /* idle time after which a session counts as at rest; a program that computes calls
                                sooner */
    uint64_t rises = 0; /* the processes may report any numbers */
    bool all = true;
    for (int p = 0; p < session->count; p++) {
        const dcli_child *child = &session->child[p];
        if (child->gone || child->process.page == NULL)
            continue;
        rises += (uint64_t)atomic_load(&child->process.page->rises);
        all = all && atomic_load(&child->process.page->rests);
        for (int a = 0; a < DCLI_ACTIVITIES; a++)
            all = all && atomic_load(&child->process.page->activity[a].since_ns) == 0;
    }
    if (!all || rises != session->rises || session->rests_ms == 0)
        session->rests_ms = now_ms;
    session->rises = rises;
    return all && now_ms - session->rests_ms >= QUIET_MS;
}

void dcli_supervisor_drain(dcli_supervisor *supervisor, dcli_supervised *session, int64_t now_ms)
{
    bool late = now_ms >= supervisor->drained_ms;
    if (!late && !rests(session, now_ms))
        return;
    for (int p = 0; p < session->count && session->opened; p++)
        if (!session->child[p].gone)
            tell_gone(supervisor, session, p,
                      late ? "was ended: its worker is being stopped, and operations took longer than its --grace"
                           : "was ended: its worker is being stopped");
    if (!session->opened)
        dcli_supervisor_refuse(supervisor, session->client, DCL_ERR_NETWORK, "this worker is being stopped");
    dcli_supervisor_end(supervisor, session, "the worker stops");
}

/* ---- ending ------------------------------------------------------------------------------------------------------- */

void dcli_supervisor_kill(dcli_supervisor *supervisor, dcli_process *process)
{
    dcli_process_kill(process);
    int64_t *capacity = &supervisor->dying_capacity;
    if (!dcli_process_has_ended(process) &&
        dcli_grow(&supervisor->dying, supervisor->dying_count, capacity, sizeof *supervisor->dying) == 0) {
        supervisor->dying[supervisor->dying_count++] = *process;
        *process = (dcli_process){.pidfd = -1};
    }
    dcli_process_end(process, 0); /* no memory for a longer list: wait for its end instead */
    supervisor->has_strays = true;
}

static bool is_child(const void *owner, pid_t pid)
{
    const dcli_supervisor *supervisor = owner;
    for (int64_t d = 0; d < supervisor->dying_count; d++)
        if (supervisor->dying[d].pid == pid)
            return true;
    for (const dcli_supervised *session = supervisor->sessions; session != NULL; session = session->next)
        for (int p = 0; p < session->count; p++)
            if (session->child[p].process.pid == pid)
                return true;
    return false;
}

void dcli_supervisor_reap(dcli_supervisor *supervisor)
{
    for (int64_t d = supervisor->dying_count - 1; d >= 0; d--)
        if (dcli_process_has_ended(&supervisor->dying[d])) {
            dcli_process_end(&supervisor->dying[d], 0);
            supervisor->dying[d] = supervisor->dying[--supervisor->dying_count]; /* move the last entry into the gap */
        }
    bool had_strays = supervisor->has_strays;
    if (had_strays)
        supervisor->has_strays = dcli_strays_end(is_child, supervisor) || supervisor->dying_count > 0;
    if (had_strays && !supervisor->has_strays)
        dcli_cgroups_sweep(&supervisor->groups);
}

void dcli_supervisor_end(dcli_supervisor *supervisor, dcli_supervised *session, const char *why)
{
    dcli_cgroup_kill(&supervisor->groups, session->session);
    for (int p = 0; p < session->count; p++) {
        dcli_supervisor_kill(supervisor, &session->child[p].process);
        dcli_supervisor_end_output(supervisor, session, p, false);
        if (session->child[p].control >= 0)
            close(session->child[p].control);
    }
    DCLI_LOG(supervisor->log, DCLI_LOG_INFO, "session %016" PRIx64 " has ended: %s", session->session, why);
    for (dcli_supervised **at = &supervisor->sessions; *at != NULL; at = &(*at)->next)
        if (*at == session) {
            *at = session->next;
            break;
        }
    supervisor->session_count--;
    dcli_free(session);
}
