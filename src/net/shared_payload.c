/* net/shared_payload.c - payloads that are read in place: ours that peers read, theirs that we read. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/shared.h"

/* ---- ours: where they lie ----------------------------------------------------------------------------------------- */

static void give_copy(void *bytes, void *user)
{
    (void)user;
    dcli_buffers_give(bytes);
}

/* Copy a payload that peers cannot read into a shared buffer. Takes over the payload. */
static dcl_status copy_over(dcli_shared *shared, dcli_payload *payload, dcli_buffers_place *place_out)
{
    void *copy = dcli_buffers_take(shared->buffers, payload->length);
    if (copy != NULL)
        memcpy(copy, payload->bytes, payload->length);
    dcli_release_payload(payload);
    if (copy == NULL)
        return dcli_error_status();
    *payload = (dcli_payload){.bytes = copy, .length = payload->length, .release = give_copy};
    if (dcli_buffers_find(shared->buffers, copy, payload->length, place_out))
        return DCL_OK;
    dcli_buffers_give(copy);
    return DCLI_FAIL(DCL_ERR_INTERNAL,
                     "the endpoint's stock of buffers is private; expected a shared one; report this");
}

static dcl_status find_place(dcli_shared *shared, dcli_payload *payload, dcli_buffers_place *place_out)
{
    if (shared->buffers == NULL) {
        shared->buffers = dcli_buffers_open_shared();
        shared->own_buffers = true;
    }
    if (shared->buffers == NULL) {
        dcli_release_payload(payload);
        return DCL_ERR_NOMEM;
    }
    if (dcli_buffers_find(shared->buffers, payload->bytes, payload->length, place_out))
        return DCL_OK;
    return copy_over(shared, payload, place_out);
}

static dcl_status tell_region(dcli_link *link, const dcli_buffers_place *place)
{
    for (int64_t n = 0; n < link->told_count; n++)
        if (link->told[n] == place->region)
            return DCL_OK;
    if (dcli_grow(&link->told, link->told_count, &link->told_capacity, sizeof link->told[0]) != 0)
        return DCL_ERR_NOMEM;
    uint64_t bytes = place->region_bytes;
    dcli_outgoing region = {.kind = DCLI_SHARED_REGION,
                            .flags = DCLI_SHARED_HAS_DESCRIPTOR,
                            .value = place->region,
                            .bytes = (const unsigned char *)&bytes,
                            .length = sizeof bytes,
                            .descriptor = place->descriptor};
    dcl_status status = dcli_link_send(link, &region);
    if (status == DCL_OK)
        link->told[link->told_count++] = place->region;
    return status;
}

bool dcli_link_forget_dropped(dcli_link *link)
{
    dcli_shared *shared = link->endpoint->link;
    uint64_t dropped = link->told_count > 0 ? dcli_buffers_dropped(shared->buffers) : 0;
    if (link->told_count == 0 || dropped == link->dropped)
        return true;
    for (int64_t n = link->told_count - 1; n >= 0; n--) {
        if (dcli_buffers_has(shared->buffers, link->told[n]))
            continue;
        dcli_outgoing forget = {.kind = DCLI_SHARED_FORGET, .value = link->told[n], .descriptor = -1};
        if (dcli_link_send(link, &forget) != DCL_OK)
            return false;
        link->told[n] = link->told[--link->told_count];
    }
    link->dropped = dropped;
    return true;
}

void dcli_link_tell_again(dcli_link *link, uint64_t number)
{
    dcli_outgoing forget = {.kind = DCLI_SHARED_FORGET, .value = number, .descriptor = -1};
    for (int64_t n = 0; n < link->told_count; n++)
        if (link->told[n] == number && dcli_link_send(link, &forget) == DCL_OK) {
            link->told[n] = link->told[--link->told_count];
            return;
        }
}

/* ---- ours: on their way ------------------------------------------------------------------------------------------- */

static uint64_t ticket_of(const dcli_shared *shared, const dcli_flight *flight)
{
    return (uint64_t)flight->generation << 32 | (uint64_t)(flight - shared->flight);
}

/* Find a free entry for a payload in use. @return NULL (recorded). */
static dcli_flight *take_flight(dcli_shared *shared)
{
    if (shared->free_flight < 0) {
        if (dcli_grow(&shared->flight, shared->flight_count, &shared->flight_capacity, sizeof shared->flight[0]) != 0)
            return NULL;
        shared->flight[shared->flight_count] = (dcli_flight){.peer = -1, .next_free = -1};
        shared->free_flight = shared->flight_count++;
    }
    dcli_flight *flight = &shared->flight[shared->free_flight];
    shared->free_flight = flight->next_free;
    flight->generation++;
    return flight;
}

dcl_status dcli_flight_begin(dcli_link *link, const dcli_payload *payload, dcli_shared_place *place_out)
{
    dcli_shared *shared = link->endpoint->link;
    dcli_payload held = *payload;
    dcli_buffers_place place;
    dcl_status status = find_place(shared, &held, &place);
    if (status != DCL_OK)
        return status;
    (void)dcli_link_forget_dropped(link); /* tried again before the next payload */
    status = tell_region(link, &place);
    dcli_flight *flight = status == DCL_OK ? take_flight(shared) : NULL;
    if (flight == NULL) {
        dcli_release_payload(&held);
        return status != DCL_OK ? status : DCL_ERR_NOMEM;
    }
    flight->payload = held;
    flight->peer = link->peer;
    *place_out = (dcli_shared_place){place.region, place.offset, held.length, ticket_of(shared, flight)};
    return DCL_OK;
}

static void land(dcli_shared *shared, dcli_flight *flight)
{
    dcli_payload payload = flight->payload;
    flight->peer = -1;
    flight->next_free = shared->free_flight;
    shared->free_flight = flight - shared->flight;
    dcli_release_payload(&payload);
}

bool dcli_flight_end(dcli_link *link, uint64_t ticket)
{
    dcli_shared *shared = link->endpoint->link;
    uint64_t place = ticket & UINT32_MAX;
    if (place >= (uint64_t)shared->flight_count)
        return false;
    dcli_flight *flight = &shared->flight[place];
    if (flight->peer != link->peer || ticket_of(shared, flight) != ticket)
        return false;
    land(shared, flight);
    return true;
}

void dcli_flights_end_all(dcli_link *link)
{
    dcli_shared *shared = link->endpoint->link;
    for (int64_t n = 0; n < shared->flight_count; n++)
        if (shared->flight[n].peer == link->peer)
            land(shared, &shared->flight[n]);
}

/* ---- theirs ------------------------------------------------------------------------------------------------------- */

dcli_view *dcli_view_find(const dcli_link *link, uint64_t number)
{
    dcli_view *view = link->views;
    while (view != NULL && (view->number != number || view->forgotten))
        view = view->next;
    return view;
}

static dcl_status check_new(dcli_link *link, uint64_t number)
{
    if (link->view_count >= DCLI_SHARED_MOST_REGIONS)
        return dcli_link_break(link,
                               "peer %d shares more than %d regions of memory; expected it to drop some; it is taken "
                               "for lost",
                               link->peer, DCLI_SHARED_MOST_REGIONS);
    if (dcli_view_find(link, number) != NULL)
        return dcli_link_break(link, "peer %d shares region %llu twice; expected a new number; it is taken for lost",
                               link->peer, (unsigned long long)number);
    return DCL_OK;
}

/* Map a region of a peer: for writing only if this side wants to register it and the sender allows it. */
static dcl_status map_view(const dcli_shared *shared, dcli_view *view, int descriptor, uint64_t bytes)
{
    view->writable = shared->unmap != NULL && dcli_sealed_is_writable(descriptor);
    if (view->writable) {
        view->unmap = shared->unmap;
        view->unmap_user = shared->unmap_user;
    }
    return dcli_sealed_map(descriptor, bytes, view->writable ? DCLI_SEALED_WRITABLE : DCLI_SEALED_READABLE,
                           &view->memory);
}

void dcli_endpoint_map_writable(dcli_endpoint *endpoint, bool (*unmap)(void *user, const void *bytes), void *user)
{
    if (endpoint->transport->send != dcli_shared_send)
        return;
    dcli_shared *shared = endpoint->link;
    shared->unmap = unmap;
    shared->unmap_user = user;
    for (int n = 0; n < shared->open_count; n++)
        for (dcli_view *view = shared->open[n]->views; view != NULL; view = view->next) {
            view->unmap = view->writable ? unmap : NULL;
            view->unmap_user = user;
        }
}

void dcli_view_add(dcli_link *link, uint64_t number, uint64_t bytes, int descriptor)
{
    dcl_status status = check_new(link, number);
    dcli_view *view = status == DCL_OK ? dcli_calloc(1, sizeof *view) : NULL;
    if (view != NULL && descriptor >= 0)
        status = map_view(link->endpoint->link, view, descriptor, bytes);
    if (descriptor >= 0)
        close(descriptor);
    if (view == NULL || status == DCL_ERR_PROTOCOL) {
        dcli_free(view);
        if (status == DCL_ERR_PROTOCOL)
            dcli_link_break(link, "peer %d: %s", link->peer, dcli_error_sentence());
        else if (status == DCL_OK) /* without this record its messages could not be decoded */
            dcli_link_lose(link, "peer %d cannot be served: %s", link->peer, dcli_error_sentence());
        return;
    }
    view->number = number;
    view->link = link;
    view->next = link->views;
    link->views = view;
    link->view_count++;
    if (view->memory.bytes != NULL)
        return;
    view->memory.length = bytes;
    dcli_outgoing again = {.kind = DCLI_SHARED_AGAIN, .value = number, .descriptor = -1};
    dcli_link_send(link, &again); /* if it cannot be sent, payloads in that region stay missing */
}

static void close_view(dcli_view *view)
{
    if (view->memory.bytes == NULL || view->unmap == NULL || view->unmap(view->unmap_user, view->memory.bytes))
        dcli_sealed_close(&view->memory);
    dcli_free(view);
}

static void remove_view(dcli_view *view)
{
    dcli_link *link = view->link;
    if (link != NULL) {
        dcli_view **at = &link->views;
        while (*at != view)
            at = &(*at)->next;
        *at = view->next;
        link->view_count--;
    }
    close_view(view);
}

bool dcli_view_forget(dcli_link *link, uint64_t number)
{
    dcli_view *view = dcli_view_find(link, number);
    if (view == NULL)
        return false;
    view->forgotten = true;
    if (view->holders == 0)
        remove_view(view);
    return true;
}

/* Release a received payload and return it to its sender. The sender is not woken up for little memory, because that
 * costs more. */
static void end_hold(dcli_frames *frames)
{
    dcli_view *view = frames->owner;
    dcli_link *link = view->link;
    if (link != NULL && link->state == DCLI_LINK_OPEN && !link->endpoint->lost[link->peer]) {
        link->quiet_bytes += frames->held;
        dcli_outgoing back = {.kind = DCLI_SHARED_RETURN,
                              .value = frames->ticket,
                              .descriptor = -1,
                              .quiet = link->quiet_bytes <= DCLI_SHARED_MOST_QUIET};
        if (dcli_link_send(link, &back) != DCL_OK)
            dcli_link_lose(link,
                           "peer %d could not be told of memory that is free again; expected some memory to be "
                           "left; it is taken for lost",
                           link->peer);
    }
    if (--view->holders == 0 && (view->forgotten || view->link == NULL))
        remove_view(view);
}

bool dcli_received_region(const dcli_received *received, void **bytes_out, size_t *length_out)
{
    const dcli_view *view =
        received->frames != NULL && received->frames->end == end_hold ? received->frames->owner : NULL;
    if (view == NULL || !view->writable || view->memory.bytes == NULL)
        return false;
    *bytes_out = view->memory.bytes;
    *length_out = view->memory.length;
    return true;
}

void dcli_view_hold(dcli_view *view, const dcli_shared_place *place, dcli_incoming *incoming)
{
    view->holders++;
    incoming->payload_missing = view->memory.bytes == NULL;
    if (!incoming->payload_missing) {
        incoming->payload = view->memory.bytes + place->offset;
        incoming->payload_bytes = place->length;
    }
    incoming->frames->owner = view;
    incoming->frames->ticket = place->ticket;
    incoming->frames->held = place->length;
    incoming->frames->end = end_hold;
}

void dcli_views_close(dcli_link *link)
{
    dcli_view *next;
    for (dcli_view *view = link->views; view != NULL; view = next) {
        next = view->next;
        view->link = NULL;
        if (view->holders == 0)
            close_view(view);
    }
    link->views = NULL;
    link->view_count = 0;
}
