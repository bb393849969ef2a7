/* net/shared_send.c - writing records, and the queue of records that wait for room. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/shared.h"

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Write the next record of a message, with as many of its bytes as a record takes. @return DCLI_RING_WAIT: there is no
 * room for it. */
static dcli_ring_answer write_piece(dcli_link *link, dcli_outgoing *outgoing)
{
    bool first = !outgoing->begun;
    size_t place_bytes = first && (outgoing->flags & DCLI_SHARED_HAS_PAYLOAD) != 0 ? sizeof outgoing->place : 0;
    size_t bytes = outgoing->length - outgoing->sent;
    if (bytes > DCLI_RING_MOST_BODY - place_bytes)
        bytes = DCLI_RING_MOST_BODY - place_bytes;
    dcli_ring_answer answer = dcli_ring_has_room(&link->out, place_bytes + bytes);
    if (answer != DCLI_RING_DONE)
        return answer;
    if (first && outgoing->descriptor >= 0 && !dcli_link_send_descriptor(link, outgoing->descriptor)) {
        link->waits_for_socket = true;
        return DCLI_RING_WAIT;
    }
    dcli_ring_head head = {.length = (uint32_t)(place_bytes + bytes), .kind = DCLI_SHARED_MORE};
    if (first) {
        head.kind = outgoing->kind;
        head.flags = outgoing->flags;
        head.value = outgoing->value;
    }
    dcli_ring_put(&link->out, &head, &outgoing->place, place_bytes, bytes > 0 ? outgoing->bytes + outgoing->sent : NULL,
                  bytes);
    outgoing->begun = true;
    outgoing->sent += bytes;
    return DCLI_RING_DONE;
}

static dcli_ring_answer write_all(dcli_link *link, dcli_outgoing *outgoing)
{
    dcli_ring_answer answer;
    do
        answer = write_piece(link, outgoing);
    while (answer == DCLI_RING_DONE && outgoing->sent < outgoing->length);
    if (outgoing->quiet && answer == DCLI_RING_DONE)
        return answer;
    link->quiet_bytes = 0;
    if (dcli_ring_must_ring_reader(&link->out))
        dcli_link_ring(link);
    return answer;
}

static dcl_status break_off(dcli_link *link)
{
    return dcli_link_break(
        link,
        "peer %d says it has read what was never sent; expected it to read in order; it is taken for "
        "lost",
        link->peer);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

static size_t bytes_of(const dcli_waiting *waiting) { return sizeof *waiting + waiting->outgoing.length; }

/* Whether a record has a copy of a descriptor: only copies are counted, and closed here. */
static bool has_copy(const dcli_outgoing *outgoing) { return outgoing->descriptor >= 0 && outgoing->loan.find == NULL; }

void dcli_link_pop_waiting(dcli_link *link)
{
    dcli_waiting *waiting = link->first;
    link->first = waiting->next;
    if (link->first == NULL) {
        link->last = &link->first;
        ((dcli_shared *)link->endpoint->link)->waiting--;
    }
    link->waiting_bytes -= bytes_of(waiting);
    if (has_copy(&waiting->outgoing)) {
        link->waiting_descriptors--;
        close(waiting->outgoing.descriptor);
    }
    dcli_free(waiting);
}

static dcl_status check_limits(dcli_link *link, const dcli_outgoing *outgoing)
{
    if (link->waiting_bytes + outgoing->length > DCLI_SHARED_MOST_WAITING)
        return dcli_link_lose(
            link,
            "%zu bytes wait for peer %d; expected it to take them before they are more than %d; it is "
            "taken for lost",
            link->waiting_bytes, link->peer, DCLI_SHARED_MOST_WAITING);
    if (has_copy(outgoing) && link->waiting_descriptors >= DCLI_SHARED_MOST_WAITING_DESCRIPTORS)
        return dcli_link_lose(link,
                              "%d descriptors wait for peer %d; expected it to take them before they are more; it is "
                              "taken for lost",
                              link->waiting_descriptors, link->peer);
    return DCL_OK;
}

/* Copy the unwritten rest of a record for the queue. @return NULL (recorded). */
static dcli_waiting *copy_rest(const dcli_outgoing *outgoing)
{
    size_t rest = outgoing->length - outgoing->sent;
    dcli_waiting *waiting = dcli_malloc(sizeof *waiting + rest);
    if (waiting == NULL)
        return NULL;
    *waiting = (dcli_waiting){.outgoing = *outgoing};
    if (rest > 0)
        memcpy(waiting->bytes, outgoing->bytes + outgoing->sent, rest);
    waiting->outgoing.bytes = waiting->bytes;
    waiting->outgoing.length = rest;
    waiting->outgoing.sent = 0;
    waiting->outgoing.descriptor = -1;
    if (!has_copy(outgoing) || outgoing->begun)
        return waiting;
    waiting->outgoing.descriptor = fcntl(outgoing->descriptor, F_DUPFD_CLOEXEC, 0);
    if (waiting->outgoing.descriptor >= 0)
        return waiting;
    dcli_net_fail(DCL_ERR_NETWORK, "fcntl(F_DUPFD_CLOEXEC)", "raise the limit of open descriptors with `ulimit -n`");
    dcli_free(waiting);
    return NULL;
}

static dcl_status let_wait(dcli_link *link, const dcli_outgoing *outgoing)
{
    dcl_status status = check_limits(link, outgoing);
    if (status != DCL_OK)
        return status;
    dcli_waiting *waiting = copy_rest(outgoing);
    if (waiting == NULL && outgoing->begun) /* half of the message was written, so nothing can follow it */
        return dcli_link_lose(
            link, "no memory for the rest of a message to peer %d; expected %zu bytes; it is taken for lost",
            link->peer, outgoing->length - outgoing->sent);
    if (waiting == NULL)
        return dcli_error_status();
    dcli_shared *shared = link->endpoint->link;
    shared->waiting += link->first == NULL;
    if (link->state == DCLI_LINK_OPEN)
        dcli_link_attend(link);
    *link->last = waiting;
    link->last = &waiting->next;
    link->waiting_bytes += bytes_of(waiting);
    link->waiting_descriptors += has_copy(&waiting->outgoing);
    return DCL_OK;
}

dcl_status dcli_link_send(dcli_link *link, dcli_outgoing *outgoing)
{
    if (link->first != NULL)
        dcli_link_push(link);
    if (link->state == DCLI_LINK_OPEN && link->first == NULL) {
        dcli_ring_answer answer = write_all(link, outgoing);
        if (answer == DCLI_RING_DONE)
            return DCL_OK;
        if (answer == DCLI_RING_BROKEN)
            return break_off(link);
    }
    if (link->state != DCLI_LINK_OPEN && link->state != DCLI_LINK_AWAITED)
        return DCLI_FAIL(DCL_ERR_NETWORK, "%s", link->why);
    return let_wait(link, outgoing);
}

/* Look up a lent descriptor. @return false: its owner has closed it, so the message is no longer needed. */
static bool find_lent(dcli_outgoing *outgoing)
{
    if (outgoing->loan.find == NULL || outgoing->begun)
        return true;
    outgoing->descriptor = outgoing->loan.find(outgoing->loan.user, outgoing->loan.number);
    return outgoing->descriptor >= 0;
}

void dcli_link_push(dcli_link *link)
{
    if (link->first == NULL || link->state != DCLI_LINK_OPEN)
        return;
    link->waits_for_socket = false;
    dcli_ring_answer answer = DCLI_RING_DONE;
    while (link->first != NULL && answer == DCLI_RING_DONE) {
        if (find_lent(&link->first->outgoing))
            answer = write_all(link, &link->first->outgoing);
        if (answer == DCLI_RING_DONE)
            dcli_link_pop_waiting(link);
    }
    if (answer == DCLI_RING_BROKEN)
        break_off(link);
    else if (link->first == NULL)
        dcli_ring_want_room(&link->out, false);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static dcl_status send_own(dcli_shared *shared, const void *bytes, size_t length, const dcli_payload *payload,
                           int descriptor)
{
    dcli_own *own = dcli_malloc(sizeof *own + length);
    int copy = own != NULL && descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1;
    if (own == NULL || (descriptor >= 0 && copy < 0)) {
        dcl_status status = own == NULL ? DCL_ERR_NOMEM
                                        : dcli_net_fail(DCL_ERR_NETWORK, "fcntl(F_DUPFD_CLOEXEC)",
                                                        "raise the limit of open descriptors with `ulimit -n`");
        dcli_free(own);
        if (payload != NULL)
            dcli_release_payload(payload);
        return status;
    }
    *own = (dcli_own){.descriptor = copy, .length = length};
    if (payload != NULL)
        own->payload = *payload;
    memcpy(own->bytes, bytes, length);
    *shared->own_last = own;
    shared->own_last = &own->next;
    return DCL_OK;
}

static dcl_status send_to(dcli_link *link, const void *bytes, size_t length, const dcli_payload *payload,
                          int descriptor)
{
    const dcli_shared *shared = link->endpoint->link;
    dcli_outgoing outgoing = {.kind = DCLI_SHARED_MESSAGE,
                              .value = length,
                              .bytes = bytes,
                              .length = length,
                              .quiet = link->endpoint->followed,
                              .descriptor = descriptor};
    if (descriptor >= 0)
        outgoing.flags |= DCLI_SHARED_HAS_DESCRIPTOR;
    if (descriptor >= 0 && shared->loan != NULL)
        outgoing.loan = *shared->loan;
    if (payload == NULL)
        return dcli_link_send(link, &outgoing);
    outgoing.flags |= DCLI_SHARED_HAS_PAYLOAD;
    dcl_status status = dcli_flight_begin(link, payload, &outgoing.place);
    if (status != DCL_OK)
        return status;
    status = dcli_link_send(link, &outgoing);
    if (status != DCL_OK)
        dcli_flight_end(link, outgoing.place.ticket);
    return status;
}

dcl_status dcli_shared_send(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                            const dcli_payload *payload, int descriptor)
{
    dcli_shared *shared = endpoint->link;
    dcli_link *link = &shared->link[to];
    if (to == endpoint->self)
        return send_own(shared, bytes, length, payload, descriptor);
    dcl_status status = DCL_OK;
    if (link->state == DCLI_LINK_NONE && shared->broker >= 0 && shared->broker != endpoint->self)
        status = dcli_link_demand(endpoint, to);
    if (link->state == DCLI_LINK_OPEN || link->state == DCLI_LINK_AWAITED)
        return send_to(link, bytes, length, payload, descriptor);
    if (payload != NULL)
        dcli_release_payload(payload);
    if (status != DCL_OK)
        return status;
    if (link->state == DCLI_LINK_NONE)
        return DCLI_FAIL(DCL_ERR_NETWORK, "peer %d has no link; expected one that has joined; send nothing to it", to);
    return DCLI_FAIL(DCL_ERR_NETWORK, "%s", link->why);
}

dcl_status dcli_endpoint_send_lent(dcli_endpoint *endpoint, int to, const dcli_message *message,
                                   const dcli_descriptor_loan *loan)
{
    dcli_shared *shared = endpoint->transport->send == dcli_shared_send ? endpoint->link : NULL;
    int descriptor = loan->find(loan->user, loan->number);
    if (descriptor < 0)
        return DCL_OK;
    if (shared != NULL)
        shared->loan = loan;
    dcl_status status = dcli_endpoint_send_descriptor(endpoint, to, message, descriptor);
    if (shared != NULL)
        shared->loan = NULL;
    return status;
}
