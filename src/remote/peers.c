/* remote/peers.c - the other servers of the session. The contents of buffers, and the ends of events, come from them directly.
 *
 * The driver tells both servers of a transfer, and their messages to each other may arrive before the driver's command.
 * Numbers of transfers grow, so a number beyond the last one is that of a command to come: the message is kept. The end of an
 * event that is not known yet is remembered for some time only, because the driver tells it, too, though later. */
#include "remote/inside.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

bool dcli_peer_is_other(const dcli_remote *remote, int64_t peer)
{
    return peer >= 0 && peer < remote->terms.client && peer != remote->terms.self;
}

dcl_status dcli_remote_peers_open(dcli_remote *remote)
{
    int count = remote->terms.client;
    if ((remote->peers.apart = dcli_calloc((size_t)count + 1, sizeof(bool))) == NULL)
        return DCL_ERR_NOMEM;
    for (int p = 0; remote->terms.apart != NULL && p < count; p++)
        if (remote->terms.apart[p] && p != remote->terms.self)
            dcli_peer_lose(remote, p, "it cannot be called");
    return DCL_OK;
}

static void drop_early(dcli_remote *remote)
{
    for (int64_t n = 0; n < remote->peers.early_count; n++)
        dcli_received_free(&remote->peers.early[n]);
    remote->peers.early_count = remote->peers.early_bytes = 0;
}

void dcli_remote_peers_close(dcli_remote *remote)
{
    drop_early(remote);
    dcli_free(remote->peers.early);
    dcli_free(remote->peers.apart);
    remote->peers.early = NULL;
    remote->peers.apart = NULL;
    remote->peers.early_capacity = 0;
}

static bool is_apart(const dcli_remote *remote, int peer)
{
    return remote->peers.apart != NULL && remote->peers.apart[peer];
}

/* ---- losses ---- */

void dcli_peer_lose(dcli_remote *remote, int peer, const char *seen)
{
    if (is_apart(remote, peer))
        return;
    if (remote->peers.apart != NULL)
        remote->peers.apart[peer] = true;
    dcli_endpoint_drop(remote->terms.endpoint, peer);
    for (int64_t n = 0; n < remote->table_size; n++) {
        dcli_object *object = dcli_object_at(remote, n);
        if (object != NULL && object->kind == DCLI_OBJECT_TRANSFER && object->transfer.peer == peer)
            dcli_transfer_stop(remote, object, CL_DEVICE_NOT_AVAILABLE);
    }
    dcli_message message = {
        .kind = DCLI_MSG_LOST, .epoch = remote->terms.session, .lost = {.peer = peer, .sentence = seen}};
    dcli_endpoint_send(remote->terms.endpoint, remote->terms.client, &message, NULL); /* receiving reports errors */
}

/* ---- transfers ---- */

static dcl_status hear_transfer(dcli_remote *remote, dcli_received *received)
{
    return received->message.kind == DCLI_MSG_DATA
               ? dcli_transfer_data(remote, received->from, received)
               : dcli_transfer_taken(remote, received->from, &received->message.taken);
}

static int64_t transfer_of(const dcli_message *message)
{
    return message->kind == DCLI_MSG_DATA    ? message->data.transfer
           : message->kind == DCLI_MSG_TAKEN ? message->taken.transfer
                                             : 0;
}

static int64_t weight(const dcli_received *received)
{
    return dcli_max((int64_t)received->payload_bytes, DCLI_PEER_LEAST);
}

/* Store a message of another server until the driver has sent the command of its transfer. The limit is what all
 * servers together may send before any of it is taken. */
static dcl_status keep(dcli_remote *remote, dcli_received *received)
{
    int64_t bytes = weight(received);
    if (remote->peers.early_bytes + bytes > remote->terms.client * (int64_t)DCLI_PEER_EAGER_SESSION)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "another server sends too much of which the driver has not told; use the "
                                           "same release on all hosts");
    if (dcli_grow(&remote->peers.early, remote->peers.early_count, &remote->peers.early_capacity,
                  sizeof *remote->peers.early) != 0)
        return DCL_ERR_NOMEM;
    remote->peers.early[remote->peers.early_count++] = *received;
    remote->peers.early_bytes += bytes;
    *received = (dcli_received){0};
    return DCL_OK;
}

/* Take the messages of a transfer that have come early. Those of earlier ones are dropped: the driver's commands come in
 * the order of the numbers, so these transfers have failed. A server whose message is wrong is lost, whatever transfer the
 * message names. */
static void hear_early(dcli_remote *remote, int64_t transfer)
{
    int64_t left = 0;
    for (int64_t n = 0; n < remote->peers.early_count; n++) {
        dcli_received *early = &remote->peers.early[n];
        int64_t of = transfer_of(&early->message);
        if (of > transfer) {
            remote->peers.early[left++] = *early;
            continue;
        }
        int from = early->from;
        remote->peers.early_bytes -= weight(early);
        if (of == transfer && !is_apart(remote, from) && hear_transfer(remote, early) != DCL_OK)
            dcli_peer_lose(remote, from, dcli_error_sentence());
        dcli_received_free(early);
    }
    remote->peers.early_count = left;
}

void dcli_peer_begin(dcli_remote *remote, dcli_object *transfer)
{
    dcli_task *task = transfer->transfer.task;
    int peer = transfer->transfer.peer;
    remote->peers.last_transfer = dcli_max(remote->peers.last_transfer, transfer->number);
    if (is_apart(remote, peer)) {
        task->status = CL_DEVICE_NOT_AVAILABLE;
        return;
    }
    task->listed = true; /* it does not end before it is in the list of its queue */
    hear_early(remote, transfer->number);
    task->listed = false;
}

void dcli_peer_grant_small(dcli_remote *remote)
{
    if (remote->peers.small_due_ns == 0 || dcli_monotonic_ns() < remote->peers.small_due_ns)
        return;
    remote->peers.small_due_ns = 0; /* transfers that are not due yet set it again */
    remote->stuck_dirty = true;
    dcli_tasks_look(remote);
}

/* ---- ends of events ---- */

static void send_end(dcli_remote *remote, int peer, const dcli_object *event)
{
    dcli_msg_ended ended = {.event = event->number, .status = event->status};
    dcli_message message = {
        .kind = DCLI_MSG_EVENTS, .epoch = remote->terms.session, .events = {.count = 1, .ended = &ended}};
    dcli_endpoint_send(remote->terms.endpoint, peer, &message, NULL); /* otherwise the driver tells it */
}

void dcli_peers_tell(dcli_remote *remote, const dcli_object *event)
{
    for (int t = 0; t < event->event.told_count; t++)
        send_end(remote, event->event.told[t], event);
}

dcl_status dcli_peer_tell(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *event = dcli_object_find(remote, command->event, DCLI_OBJECT_EVENT);
    if (event == NULL || command->number_count != 1 || !dcli_peer_is_other(remote, command->number[0]) ||
        event->event.told_count == remote->terms.client)
        return dcli_command_broken("an unknown event or server to tell");
    int peer = (int)command->number[0];
    if (event->event.ended) {
        send_end(remote, peer, event);
        return DCL_OK;
    }
    int *told = dcli_realloc(event->event.told, (size_t)event->event.told_count + 1, sizeof *told);
    if (told == NULL)
        return DCL_ERR_NOMEM;
    event->event.told = told;
    told[event->event.told_count++] = peer;
    return DCL_OK;
}

static void hear_ends(dcli_remote *remote, int peer, const dcli_msg_events *events)
{
    for (int e = 0; e < events->count; e++) {
        const dcli_msg_ended *ended = &events->ended[e];
        dcli_object *event = dcli_object_find(remote, ended->event, DCLI_OBJECT_EVENT);
        if (event == NULL)
            remote->peers.told[remote->peers.told_count++ % DCLI_TOLD] = (dcli_told){peer, ended->event, ended->status};
        else if (event->event.is_user && event->event.owner == peer + 1)
            dcli_event_end(remote, event, ended->status, NULL, NULL);
    }
}

bool dcli_peer_has_told(const dcli_remote *remote, const dcli_object *event, cl_int *status_out)
{
    int64_t count = dcli_min(remote->peers.told_count, DCLI_TOLD);
    for (int64_t n = 0; n < count; n++) {
        const dcli_told *told = &remote->peers.told[n];
        if (told->event == event->number && told->peer + 1 == event->event.owner) {
            *status_out = told->status;
            return true;
        }
    }
    return false;
}

/* ---- messages ---- */

dcl_status dcli_peer_hear(dcli_remote *remote, dcli_received *received)
{
    const dcli_message *message = &received->message;
    int64_t transfer = transfer_of(message);
    int from = received->from;
    dcl_status status = DCL_OK;
    if (!dcli_peer_is_other(remote, from) || is_apart(remote, from))
        return DCL_OK;
    if (message->epoch != remote->terms.session || (transfer == 0 && message->kind != DCLI_MSG_EVENTS))
        status = DCLI_FAIL(DCL_ERR_PROTOCOL,
                           "a message %s has come from another server; expected data, grants and ends "
                           "of events of the same session",
                           dcli_message_name(message->kind));
    else if (message->kind == DCLI_MSG_EVENTS)
        hear_ends(remote, from, &message->events);
    else if (transfer > remote->peers.last_transfer)
        status = keep(remote, received);
    else
        status = hear_transfer(remote, received);
    if (status != DCL_ERR_PROTOCOL)
        return status;
    dcli_peer_lose(remote, from, dcli_error_sentence());
    return DCL_OK;
}
