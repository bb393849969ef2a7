/* fleet/supervisor.c - the main loop of `dcl worker`: receives calls and monitors processes. */
#include "fleet/supervisor_inside.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "fleet/environment.h"

enum { KEYS = 1, FILES = 2, PERIOD_MS = 100 };

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static int64_t load_percent(void)
{
    double load = 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return getloadavg(&load, 1) == 1 && processors > 0 ? (int64_t)(100 * load / (double)processors) : 0;
}

static void welcome(dcli_supervisor *supervisor, uint32_t client)
{
    char program[128];
    dcli_msg_device devices[DCLI_MOST_DEVICES_OFFERED];
    for (int d = 0; d < supervisor->device_count; d++) {
        const dcl_device_info *info = &supervisor->info[d];
        devices[d] = (dcli_msg_device){.name = info->name,
                                       .platform = info->platform,
                                       .version = info->version,
                                       .class = info->kind,
                                       .kind = "",
                                       .number = info->number,
                                       .compute_units = info->compute_units,
                                       .has_half = info->has_half,
                                       .has_double = info->has_double,
                                       .memory_bytes = info->memory_bytes};
    }
    snprintf(program, sizeof program, "DCL %s, process %d", DCL_VERSION, (int)getpid());
    bool files = supervisor->files.folder >= 0;
    dcli_message message = {.kind = DCLI_MSG_WELCOME,
                            .welcome = {.program = program,
                                        .capabilities = (supervisor->has_keys ? KEYS : 0) | (files ? FILES : 0),
                                        .device_count = supervisor->device_count,
                                        .device = devices,
                                        .sessions = supervisor->session_count,
                                        .processes = supervisor->session_count * supervisor->device_count,
                                        .load_percent = load_percent(),
                                        .files = files}};
    dcli_listener_send(supervisor->listener, client, &message);
}

static void end_process(dcli_supervisor *supervisor, dcli_supervised *session, int place)
{
    if (session != NULL && place < session->count && !session->child[place].gone) {
        session->child[place].gone = true;
        dcli_supervisor_kill(supervisor, &session->child[place].process);
    }
}

/* Handle a message. @param received  emptied if the message is kept. */
static void hear(dcli_supervisor *supervisor, uint32_t client, dcli_received *received)
{
    const dcli_message *message = &received->message;
    dcli_supervised *session = dcli_supervisor_find(supervisor, client);
    if (session != NULL)
        session->heard_ms = dcli_monotonic_ms();
    switch (message->kind) {
    case DCLI_MSG_HELLO:
        DCLI_LOG(supervisor->log, DCLI_LOG_DEBUG, "%s says hello: %s",
                 dcli_listener_caller(supervisor->listener, client), message->hello.program);
        welcome(supervisor, client);
        return;
    case DCLI_MSG_OPEN:
        if (session == NULL && !dcli_supervisor_waits(supervisor, client)) {
            dcli_supervisor_take(supervisor, client, received);
            return;
        }
        break;
    case DCLI_MSG_BEAT:
        dcli_listener_send(supervisor->listener, client, message);
        return;
    case DCLI_MSG_GONE:
        end_process(supervisor, session, message->gone.process);
        return;
    case DCLI_MSG_SHOWN:
        if (session != NULL && dcli_supervisor_shown(supervisor, session, &message->shown) == DCL_OK)
            return;
        break;
    default:
        break;
    }
    dcli_supervisor_refuse(supervisor, client, DCL_ERR_PROTOCOL,
                           "a message came that was not expected here; let both sides run the same version of DCL");
    if (session != NULL)
        dcli_supervisor_end(supervisor, session, "its client broke the protocol");
    dcli_supervisor_forget(supervisor, client);
    dcli_listener_hang_up(supervisor->listener, client);
}

/* Receive one message. @return DCL_ERR_TIMEOUT: there is none. */
static dcl_status hear_one(dcli_supervisor *supervisor)
{
    dcli_received received = {0};
    uint32_t client = 0;
    dcl_status status = dcli_listener_receive(supervisor->listener, 0, &received, &client);
    if (status == DCL_OK)
        hear(supervisor, client, &received);
    if (received.frames != NULL)
        dcli_received_free(&received);
    if (status == DCL_ERR_NODE_LOST) {
        dcli_supervised *session = dcli_supervisor_find(supervisor, client);
        if (session != NULL)
            dcli_supervisor_end(supervisor, session, "its client has gone");
        dcli_supervisor_forget(supervisor, client);
        return DCL_OK;
    }
    return status == DCL_ERR_NOMEM ? DCL_OK : status; /* without memory one message is lost; the worker serves on */
}

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

static int gather(dcli_supervisor *supervisor, struct pollfd **polled_in_out, int64_t *capacity)
{
    int count = 1 + DCLI_LISTENER_DESCRIPTORS, descriptors[DCLI_LISTENER_DESCRIPTORS], wait_ms = PERIOD_MS;
    for (const dcli_supervised *session = supervisor->sessions; session != NULL; session = session->next)
        count += 3 * session->count;
    while (*capacity < count)
        if (dcli_grow(polled_in_out, *capacity, capacity, sizeof **polled_in_out) != 0)
            break;
    struct pollfd *polled = *polled_in_out;
    count = 0;
    polled[count++] = (struct pollfd){.fd = supervisor->stop_fd, .events = POLLIN};
    int own = dcli_listener_descriptors(supervisor->listener, descriptors, &wait_ms);
    for (int d = 0; d < own; d++)
        polled[count++] = (struct pollfd){.fd = descriptors[d], .events = POLLIN};
    for (const dcli_supervised *session = supervisor->sessions; session != NULL; session = session->next)
        for (int p = 0; p < session->count && count + 3 <= *capacity; p++) {
            const dcli_child *child = &session->child[p];
            if (child->gone || child->process.pid == 0)
                continue;
            polled[count++] = (struct pollfd){.fd = child->process.pidfd, .events = POLLIN};
            if (!child->answered)
                polled[count++] = (struct pollfd){.fd = child->control, .events = POLLIN};
            if (dcli_output_is_polled(&child->output))
                polled[count++] = (struct pollfd){.fd = child->output.pipe, .events = POLLIN};
        }
    poll(polled, (nfds_t)count, wait_ms >= 0 && wait_ms < PERIOD_MS ? wait_ms : PERIOD_MS);
    return polled[0].revents;
}

static void check_sessions(dcli_supervisor *supervisor, bool all_heard)
{
    int64_t now = dcli_monotonic_ms();
    for (dcli_supervised *session = supervisor->sessions, *next; session != NULL; session = next) {
        next = session->next;
        dcli_supervisor_check(supervisor, session, now, all_heard);
    }
}

/* Go on handling messages for DCLI_LISTENER_FAREWELL_MS, so that the last answers are sent. */
static void say_farewell(dcli_supervisor *supervisor)
{
    int64_t until = dcli_monotonic_ms() + DCLI_LISTENER_FAREWELL_MS;
    while (dcli_monotonic_ms() < until && hear_one(supervisor) != DCL_ERR_NETWORK)
        poll(NULL, 0, 5);
}

/* Handle a stop request. After the first, sessions may end what they run; after the second, all end at once.
 * @return false: the worker must end. */
static bool drain(dcli_supervisor *supervisor, bool told)
{
    uint64_t times;
    bool had_sessions = supervisor->session_count > 0;
    if (told && supervisor->draining)
        return false;
    if (told) {
        (void)eventfd_read(supervisor->stop_fd, &times);
        supervisor->draining = true;
        supervisor->drained_ms = dcli_monotonic_ms() + (int64_t)supervisor->config->grace_ms;
        if (had_sessions)
            DCLI_LOG(supervisor->log, DCLI_LOG_INFO, "stopping: %d session%s may end what they run within %zu ms",
                     supervisor->session_count, supervisor->session_count == 1 ? "" : "s",
                     supervisor->config->grace_ms);
    }
    if (!supervisor->draining)
        return true;
    int64_t now = dcli_monotonic_ms();
    for (dcli_supervised *session = supervisor->sessions, *next; session != NULL; session = next) {
        next = session->next;
        dcli_supervisor_drain(supervisor, session, now);
    }
    if (supervisor->session_count == 0 && had_sessions)
        say_farewell(supervisor);
    return supervisor->session_count > 0;
}

static dcl_status supervise(dcli_supervisor *supervisor)
{
    struct pollfd *polled = NULL;
    int64_t capacity = 0;
    dcl_status status = dcli_grow(&polled, 0, &capacity, sizeof *polled) == 0 ? DCL_OK : DCL_ERR_NOMEM;
    while (status == DCL_OK) {
        enum { MOST_AT_ONCE = 64 };
        for (int n = 0; n < MOST_AT_ONCE && status == DCL_OK; n++)
            status = hear_one(supervisor);
        bool all_heard = status == DCL_ERR_TIMEOUT;
        if (all_heard)
            status = DCL_OK;
        check_sessions(supervisor, all_heard);
        dcli_supervisor_admit(supervisor, dcli_monotonic_ms());
        dcli_supervisor_reap(supervisor);
        if (status == DCL_OK && !drain(supervisor, gather(supervisor, &polled, &capacity) != 0))
            break;
    }
    dcli_free(polled);
    return status;
}

dcl_status dcli_supervise(const dcl_worker_config *config, const dcli_log *log, int stop_fd)
{
    dcli_supervisor *supervisor = dcli_calloc(1, sizeof *supervisor);
    if (supervisor == NULL)
        return DCL_ERR_NOMEM;
    dcli_environment_use_drivers();
    supervisor->config = config;
    supervisor->log = log;
    supervisor->stop_fd = stop_fd;
    supervisor->files.folder = -1;
    dcl_status status = dcli_supervisor_open(supervisor);
    if (status == DCL_OK)
        status = supervise(supervisor);
    dcli_supervisor_close(supervisor);
    dcli_free(supervisor);
    return status;
}
