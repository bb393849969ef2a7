/* remote/serve.c - the loop of a server: messages of the driver, and ends of commands. */
#include <inttypes.h>
#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"
#include "remote/inside.h"

static dcl_status hear_commands(dcli_remote *remote, const dcli_msg_commands *commands)
{
    dcl_status status = DCL_OK;
    for (int c = 0; c < commands->count && status == DCL_OK; c++)
        status = dcli_remote_command(remote, &commands->command[c]);
    return status;
}

dcl_status dcli_remote_hear(dcli_remote *remote, dcli_received *received)
{
    const dcli_message *message = &received->message;
    if (received->from != remote->terms.client)
        return dcli_peer_hear(remote, received);
    if (message->epoch != remote->terms.session)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "the driver speaks of another session; expected %016" PRIx64,
                         remote->terms.session);
    switch (message->kind) {
    case DCLI_MSG_COMMANDS:
        return hear_commands(remote, &message->commands);
    case DCLI_MSG_DATA:
        return dcli_transfer_data(remote, received->from, received);
    case DCLI_MSG_TAKEN:
        return dcli_transfer_taken(remote, received->from, &message->taken);
    case DCLI_MSG_QUERY:
        return dcli_remote_answer(remote, &message->query);
    case DCLI_MSG_STOP:
        return DCL_ERR_TIMEOUT;
    default:
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "a message %s has come from a driver; expected one of an OpenCL session",
                         dcli_message_name(message->kind));
    }
}

/* Receive one message. @return DCL_ERR_TIMEOUT: the session ends. */
static dcl_status serve_one(dcli_remote *remote, int milliseconds, bool *idle_out)
{
    dcli_received received = {0};
    dcli_watch_sleep(remote->watch, true);
    dcl_status status = dcli_endpoint_receive(remote->terms.endpoint, milliseconds, &received);
    dcli_watch_sleep(remote->watch, false);
    dcli_watch_tick(remote->watch);
    *idle_out = status == DCL_ERR_TIMEOUT;
    if (status == DCL_ERR_TIMEOUT)
        return DCL_OK;
    if ((status == DCL_ERR_NODE_LOST || status == DCL_ERR_PROTOCOL) && dcli_peer_is_other(remote, received.from)) {
        dcli_peer_lose(remote, received.from, dcli_error_sentence());
        status = DCL_OK;
    } else if (status == DCL_OK) {
        status = dcli_remote_hear(remote, &received);
    }
    dcli_received_free(&received);
    return status;
}

/* Let other threads run between two questions. Where processors are few and libzmq's threads need them to encrypt and to receive, a thread
 * that asks all the time would take one of them. So it sleeps, unless something has happened just now: short commands are awaited. */
static void rest(const dcli_remote *remote, int64_t now_ns, int64_t happened_ns)
{
    enum { AWAKE_NS = 50000 };
    dcli_endpoint_pause(remote->terms.endpoint);
    if (dcli_endpoint_crowds(remote->terms.endpoint) && now_ns - happened_ns > AWAKE_NS)
        nanosleep(&(struct timespec){.tv_nsec = DCLI_REST_NS}, NULL);
    else
        dcli_slice_rest(now_ns);
}

/* How long to wait for a message, in milliseconds; -1: until one comes. Drivers of GPUs call back up to 20 ms late. So while such
 * a device has commands, its driver is asked: without waiting for messages for ASK_NS after something has happened, then every
 * millisecond, which hardly prolongs commands that take so long. Other drivers call back, but the ends of unobserved commands wake
 * nobody. */
static int patience(const dcli_remote *remote, int64_t happened_ns)
{
    enum { ASK_NS = 50000000, PAUSE_MS = 1 };
    if (!remote->polls || remote->outstanding == 0) {
        if (remote->ended_count > 0 || remote->passed_count > 0 || remote->peers.small_due_ns > 0)
            return DCLI_REPORTS_LATE_MS;
        if (remote->unobserved_count == 0)
            return -1;
        return remote->outstanding > remote->unobserved_count ? DCLI_UNNOTICED_MS : DCLI_REPORTS_LATE_MS;
    }
    int64_t now_ns = dcli_monotonic_ns();
    rest(remote, now_ns, happened_ns);
    return now_ns - happened_ns < ASK_NS ? 0 : PAUSE_MS;
}

static dcl_status serve(dcli_remote *remote)
{
    enum { MOST_IN_TURN = 64 };
    int64_t happened_ns = 0;
    for (;;) {
        bool idle = false;
        int in_turn = 0;
        dcl_status status;
        do
            status = serve_one(remote, in_turn > 0 ? 0 : patience(remote, happened_ns), &idle);
        while (status == DCL_OK && !idle && ++in_turn < MOST_IN_TURN);
        if (status != DCL_OK)
            return status;
        bool taken = dcli_completions_take(remote), asked = dcli_completions_poll(remote);
        if (remote->polls && (in_turn > 0 || taken || asked))
            happened_ns = dcli_monotonic_ns();
        if ((status = dcli_builder_look(remote)) != DCL_OK &&
            status != DCL_ERR_NETWORK) /* receiving reports the latter */
            return status;
        dcli_tasks_look(remote);
        dcli_peer_grant_small(remote);
        dcli_queues_flush(remote);
        dcli_kernel_output_send(remote);
        status = dcli_events_send(remote);
        if (status != DCL_OK)
            return status;
        dcli_buffers_release_late(remote, false);
        dcli_watch_rest(remote->watch,
                        remote->outstanding == 0 && remote->task_count == 0 && !dcli_builder_is_busy(remote));
    }
}

enum { MOST_MS = 1000, STEP_MS = 1 };

static bool await_none(atomic_int *count)
{
    int64_t until = dcli_monotonic_ms() + MOST_MS;
    while (atomic_load(count) > 0 && dcli_monotonic_ms() < until)
        poll(NULL, 0, STEP_MS);
    return atomic_load(count) == 0;
}

/* Wait until no command runs: the objects are freed then. A kernel may run for long, so the wait is limited; afterwards
 * nothing is freed, because the process ends. */
static bool await_ends(dcli_remote *remote)
{
    int64_t until = dcli_monotonic_ms() + MOST_MS;
    while (remote->outstanding > 0 && dcli_monotonic_ms() < until)
        if (!dcli_completions_take(remote) && !dcli_completions_poll(remote))
            poll(NULL, 0, STEP_MS);
    if (remote->outstanding == 0)
        await_none(&remote->callbacks);
    return dcli_lender_await(remote, MOST_MS) && remote->outstanding == 0;
}

dcl_status dcli_remote_serve(dcli_remote *remote, const dcli_remote_terms *terms)
{
    remote->terms = *terms;
    dcl_status status = terms->prints ? dcli_kernel_output_open(remote) : DCL_OK;
    if (status == DCL_OK)
        status = dcli_builder_open(remote);
    if (status == DCL_OK)
        status = dcli_remote_peers_open(remote);
    if (status == DCL_OK)
        status = dcli_lender_open(remote);
    for (int64_t n = 0; n < terms->early_count; n++) {
        if (status == DCL_OK)
            status = dcli_remote_hear(remote, &terms->early[n]);
        dcli_received_free(&terms->early[n]);
    }
    if (status == DCL_OK)
        status = serve(remote);
    dcli_builder_close(remote);
    if (await_ends(remote)) {
        remote->ended_count = 0;
        dcli_objects_close(remote);
        await_none(&remote->places);
    }
    dcli_kernel_output_close(remote);
    dcli_remote_peers_close(remote);
    dcli_lender_close(remote);
    return status == DCL_ERR_TIMEOUT ? DCL_OK : status;
}
