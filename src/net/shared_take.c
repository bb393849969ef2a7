/* net/shared_take.c - turn records into messages. All data of a peer is copied first, then checked. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/shared.h"

enum {
    MOST_RECORDS = 256, /* records of one peer before others get their turn */
    LOOK_TAKES = 64,    /* a thread that never sleeps checks the sockets after this many takes, if LOOK_NS have
                           passed, */
    LOOK_GLANCES = 256, /* or after this many looks that found no message */
    LOOK_OFTEN = 16,    /* instead of both and of LOOK_NS, if some links are not attended */
    LOOK_NS = 4000000   /* least time between two such checks */
};

/* ---- one message -------------------------------------------------------------------------------------------------- */

static dcl_status make_room(dcli_link *link, size_t bytes)
{
    if (bytes < link->capacity) /* even an empty message gets memory */
        return DCL_OK;
    unsigned char *larger = dcli_realloc(link->message, bytes + 1024, 1);
    if (larger == NULL)
        return DCL_ERR_NOMEM;
    link->message = larger;
    link->capacity = bytes + 1024;
    return DCL_OK;
}

static void find_payload(dcli_link *link)
{
    dcli_ring_copy(&link->in, 0, &link->place, sizeof link->place);
    dcli_view *view = dcli_view_find(link, link->place.region);
    if (view == NULL || link->place.length == 0 || link->place.length > view->memory.length ||
        link->place.offset > view->memory.length - link->place.length)
        dcli_link_break(link,
                        "peer %d sent a payload of %" PRIu64 " bytes at %" PRIu64 " of region %" PRIu64
                        ", which has %zu; expected it to lie inside; it is taken for lost",
                        link->peer, link->place.length, link->place.offset, link->place.region,
                        view != NULL ? view->memory.length : 0);
    link->view = view;
}

static dcl_status begin_message(dcli_link *link, const dcli_ring_head *head)
{
    size_t place_bytes = (head->flags & DCLI_SHARED_HAS_PAYLOAD) != 0 ? sizeof link->place : 0;
    if ((head->flags & ~(DCLI_SHARED_HAS_PAYLOAD | DCLI_SHARED_HAS_DESCRIPTOR)) != 0 || head->length < place_bytes ||
        head->value > DCLI_MOST_MESSAGE || head->length - place_bytes > head->value)
        return dcli_link_break(link,
                               "peer %d began a message of %" PRIu64 " bytes with a record of %" PRIu32
                               "; expected %d at most, and no record longer; it is taken for lost",
                               link->peer, head->value, head->length, DCLI_MOST_MESSAGE);
    dcl_status status = make_room(link, (size_t)head->value);
    if (status != DCL_OK)
        return status;
    link->view = NULL;
    if (place_bytes > 0)
        find_payload(link);
    if (link->state != DCLI_LINK_BROKEN && (head->flags & DCLI_SHARED_HAS_DESCRIPTOR) != 0)
        link->descriptor = dcli_link_take_descriptor(link);
    link->length = (size_t)head->value;
    link->taken = head->length - place_bytes;
    dcli_ring_copy(&link->in, place_bytes, link->message, link->taken);
    link->receiving = true;
    return DCL_OK;
}

static void add_piece(dcli_link *link, const dcli_ring_head *head)
{
    if (!link->receiving || head->length == 0 || head->length > link->length - link->taken) {
        dcli_link_break(link,
                        "peer %d continued a message by %" PRIu32 " bytes; expected %zu at most; it is taken for lost",
                        link->peer, head->length, link->receiving ? link->length - link->taken : 0);
        return;
    }
    dcli_ring_copy(&link->in, 0, link->message + link->taken, head->length);
    link->taken += head->length;
}

static void hand_over(dcli_link *link, dcli_incoming *incoming)
{
    incoming->from = link->peer;
    incoming->bytes = link->message;
    incoming->length = link->length;
    incoming->descriptor = link->descriptor;
    if (link->view != NULL) {
        incoming->extra_frames = 1;
        dcli_view_hold(link->view, &link->place, incoming);
    }
    link->descriptor = -1;
    link->view = NULL;
    link->receiving = false;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static void take_region(dcli_link *link, const dcli_ring_head *head)
{
    uint64_t bytes = 0;
    int descriptor = dcli_link_take_descriptor(link);
    if (descriptor == -1)
        return;
    if (head->length == sizeof bytes)
        dcli_ring_copy(&link->in, 0, &bytes, sizeof bytes);
    dcli_view_add(link, head->value, bytes, descriptor);
}

static void take_other(dcli_link *link, const dcli_ring_head *head)
{
    bool known = !link->receiving;
    if (known && head->kind == DCLI_SHARED_REGION)
        take_region(link, head);
    else if (known && head->kind == DCLI_SHARED_AGAIN)
        dcli_link_tell_again(link, head->value);
    else if (known && (head->kind == DCLI_SHARED_LINK || head->kind == DCLI_SHARED_WANTED))
        known = dcli_link_take_brokered(link, head);
    else if (known && head->kind == DCLI_SHARED_RETURN)
        known = dcli_flight_end(link, head->value);
    else
        known = known && head->kind == DCLI_SHARED_FORGET && dcli_view_forget(link, head->value);
    if (!known)
        dcli_link_break(link,
                        "peer %d sent a record of kind %d about %" PRIu64
                        "; expected one that follows from those before; it is taken for lost",
                        link->peer, head->kind, head->value);
}

/* Process one record. @return DCL_OK; DCL_ERR_NOMEM: it is still in the ring. */
static dcl_status take_record(dcli_link *link, const dcli_ring_head *head)
{
    dcl_status status = DCL_OK;
    if (head->kind == DCLI_SHARED_MESSAGE && !link->receiving)
        status = begin_message(link, head);
    else if (head->kind == DCLI_SHARED_MORE)
        add_piece(link, head);
    else
        take_other(link, head);
    if (status == DCL_ERR_NOMEM)
        return status;
    dcli_ring_pass(&link->in, head);
    if (dcli_ring_must_ring_writer(&link->in))
        dcli_link_ring(link);
    return DCL_OK;
}

/* Report the end of a link with its reason. A violation of the protocol is first reported as DCL_ERR_PROTOCOL, and
 * counted; every end is then reported as DCL_ERR_NODE_LOST, which closes the link. */
static dcl_status say_end(dcli_link *link, dcli_incoming *incoming)
{
    incoming->from = link->peer;
    if (link->state == DCLI_LINK_BROKEN) {
        link->state = DCLI_LINK_LOST;
        link->endpoint->refused++;
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "%s", link->why);
    }
    dcli_link_close(link);
    return DCLI_FAIL(DCL_ERR_NODE_LOST, "%s", link->why);
}

static dcl_status take_from(dcli_link *link, dcli_incoming *incoming)
{
    if (link->endpoint->lost[link->peer]) {
        dcli_link_close(link);
        return DCL_ERR_TIMEOUT;
    }
    for (int n = 0; n < MOST_RECORDS; n++) {
        bool ended = link->state == DCLI_LINK_ENDED; /* if so, the records visible now are the last */
        if (!ended && link->state != DCLI_LINK_OPEN)
            return say_end(link, incoming);
        dcli_ring_head head;
        dcli_ring_answer answer = dcli_ring_look(&link->in, &head);
        link->idle_looks = answer == DCLI_RING_WAIT ? link->idle_looks + 1 : 0;
        if (answer == DCLI_RING_WAIT)
            return ended ? say_end(link, incoming) : DCL_ERR_TIMEOUT;
        if (answer == DCLI_RING_BROKEN)
            dcli_link_break(link,
                            "peer %d wrote a position or length that cannot be into shared memory; expected the same "
                            "version of DCL; it is taken for lost",
                            link->peer);
        else if (take_record(link, &head) != DCL_OK)
            return DCL_ERR_NOMEM;
        else if (link->receiving && link->taken == link->length && link->state != DCLI_LINK_BROKEN) {
            hand_over(link, incoming);
            return DCL_OK;
        }
    }
    return DCL_ERR_TIMEOUT;
}

/* ---- messages to oneself ------------------------------------------------------------------------------------------ */

static void end_own(dcli_frames *frames)
{
    dcli_own *own = frames->owner;
    if (own->payload.bytes != NULL)
        dcli_release_payload(&own->payload);
    dcli_free(own);
}

static void take_own(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_shared *shared = endpoint->link;
    dcli_own *own = shared->own_first;
    shared->own_first = own->next;
    if (shared->own_first == NULL)
        shared->own_last = &shared->own_first;
    incoming->from = endpoint->self;
    incoming->bytes = own->bytes;
    incoming->length = own->length;
    incoming->descriptor = own->descriptor;
    incoming->payload = own->payload.bytes;
    incoming->payload_bytes = own->payload.length;
    incoming->extra_frames = own->payload.bytes != NULL;
    incoming->frames->owner = own;
    incoming->frames->end = end_own;
}

void dcli_own_free(dcli_own *own)
{
    if (own->payload.bytes != NULL)
        dcli_release_payload(&own->payload);
    if (own->descriptor >= 0)
        close(own->descriptor);
    dcli_free(own);
}

/* ---- the transport's functions ------------------------------------------------------------------------------------ */

/* Whether some links are not attended: their records are noticed only through their sockets. */
static bool has_others(const dcli_shared *shared) { return shared->open_count > shared->attended_count; }

/* Check the sockets now and then while this thread does not sleep: the end of a process is visible only there. Sweep,
 * too, as before each sleep. */
static void look_at_sockets(dcli_endpoint *endpoint)
{
    dcli_shared *shared = endpoint->link;
    bool others = has_others(shared);
    if (++shared->takes < (others ? LOOK_OFTEN : LOOK_TAKES) && shared->glances < (others ? LOOK_OFTEN : LOOK_GLANCES))
        return;
    shared->takes = shared->glances = 0;
    int64_t now_ns = others ? 0 : dcli_monotonic_ns();
    if (!others && now_ns - shared->looked_ns < LOOK_NS)
        return;
    shared->looked_ns = now_ns;
    dcli_sockets_drain(shared);
    dcli_links_sweep(endpoint);
}

/* Tell all peers which regions will not be used again, if there are new ones. */
static void forget_dropped(dcli_shared *shared)
{
    uint64_t dropped = shared->buffers != NULL ? dcli_buffers_dropped(shared->buffers) : 0;
    bool told = true;
    for (int n = 0; dropped != shared->dropped && n < shared->open_count; n++)
        told &= dcli_link_forget_dropped(shared->open[n]);
    if (told)
        shared->dropped = dropped;
}

/* Neglect a link that has brought nothing for some time, unless it brings something now. */
static void neglect_idle(dcli_link *link)
{
    if (link->state != DCLI_LINK_OPEN || link->first != NULL || link->receiving)
        return;
    dcli_ring_sleep(&link->in);
    if (!dcli_ring_seems_filled(&link->in))
        dcli_link_neglect(link);
    else
        (void)dcli_ring_awake(&link->in);
}

dcl_status dcli_shared_take(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_shared *shared = endpoint->link;
    look_at_sockets(endpoint);
    for (int n = 0; n < shared->attended_count && shared->waiting > 0; n++)
        dcli_link_push(shared->attended[n]);
    if (shared->own_first != NULL) {
        take_own(endpoint, incoming);
        return DCL_OK;
    }
    int count = shared->attended_count;
    for (int n = 0; n < count && shared->attended_count > 0; n++) {
        shared->next = (shared->next + 1) % shared->attended_count;
        dcli_link *link = shared->attended[shared->next];
        dcl_status status = take_from(link, incoming);
        if (status != DCL_ERR_TIMEOUT)
            return status;
        if (link->idle_looks >= DCLI_SHARED_LOOKS && shared->attended_count > DCLI_SHARED_FEW)
            neglect_idle(link);
    }
    forget_dropped(shared);
    return DCL_ERR_TIMEOUT;
}

static bool link_seems_ready(const dcli_link *link)
{
    return link->state != DCLI_LINK_OPEN || dcli_ring_seems_filled(&link->in) ||
           (link->first != NULL && !link->waits_for_socket && dcli_ring_has_moved(&link->out));
}

bool dcli_shared_seems_ready(const dcli_endpoint *endpoint)
{
    dcli_shared *shared = endpoint->link;
    if (shared->own_first != NULL)
        return true;
    for (int n = 0; n < shared->attended_count; n++)
        if (link_seems_ready(shared->attended[n]))
            return true;
    /* a thread that only polls must also notice ended peers, and records on links that are not attended */
    ++shared->glances;
    if (has_others(shared))
        return !shared->armed && shared->glances % LOOK_OFTEN == 0;
    return shared->glances % LOOK_GLANCES == 0 && dcli_monotonic_ns() - shared->looked_ns >= LOOK_NS;
}
