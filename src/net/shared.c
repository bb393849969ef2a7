/* net/shared.c - the transport between processes of one host: opening, closing and sleeping. */
#include "net/shared.h"

#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

/* ---- sleeping ----------------------------------------------------------------------------------------------------- */

/* A link that was lost while it was awaited has neither rings nor socket. */
static bool has_rings(const dcli_link *link) { return link->memory.bytes != NULL; }

static bool arm(dcli_endpoint *endpoint)
{
    dcli_shared *shared = endpoint->link;
    shared->polled = false;
    dcli_links_sweep(endpoint);
    shared->armed = true;
    for (int n = 0; n < shared->attended_count; n++)
        if (has_rings(shared->attended[n]))
            dcli_ring_sleep(&shared->attended[n]->in);
    for (int n = 0; n < shared->attended_count; n++) {
        dcli_link *link = shared->attended[n];
        if (link->first != NULL && has_rings(link))
            dcli_ring_want_room(&link->out, true);
        dcli_link_push(link);
    }
    return !dcli_shared_seems_ready(endpoint);
}

static int descriptors(const dcli_endpoint *endpoint, int descriptors_out[])
{
    dcli_shared *shared = endpoint->link;
    shared->polled = true;
    descriptors_out[0] = shared->sockets;
    return 1;
}

/* End sleeping: read the packets by which peers wake this one, also those that a peer is about to send, so that the sockets
 * do not fill up. */
static void disarm(dcli_endpoint *endpoint)
{
    dcli_shared *shared = endpoint->link;
    shared->armed = false;
    for (int n = 0; n < shared->attended_count; n++) {
        dcli_link *link = shared->attended[n];
        if (has_rings(link) && dcli_ring_awake(&link->in))
            dcli_link_drain(link);
    }
    if (shared->polled && endpoint->polled[1].revents != 0)
        dcli_sockets_drain(shared);
    if (shared->polled)
        shared->looked_ns = dcli_monotonic_ns();
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void close_shared(dcli_endpoint *endpoint)
{
    dcli_shared *shared = endpoint->link;
    while (shared->open_count > 0)
        dcli_link_close(shared->open[0]);
    for (int p = 0; shared->broker >= 0 && p < endpoint->peer_count; p++)
        if (shared->link[p].state == DCLI_LINK_AWAITED)
            dcli_link_close(&shared->link[p]);
    while (shared->own_first != NULL) {
        dcli_own *own = shared->own_first;
        shared->own_first = own->next;
        dcli_own_free(own);
    }
    if (shared->own_buffers)
        dcli_buffers_close(shared->buffers);
    dcli_free(shared->flight);
    dcli_free(shared->link);
    dcli_free(shared->open);
    dcli_free(shared->attended);
    if (shared->sockets >= 0)
        close(shared->sockets);
    dcli_free(shared);
}

static const dcli_transport transport = {.send = dcli_shared_send,
                                         .take = dcli_shared_take,
                                         .seems_ready = dcli_shared_seems_ready,
                                         .arm = arm,
                                         .disarm = disarm,
                                         .descriptors = descriptors,
                                         .most_descriptors = 1,
                                         .close = close_shared};

static dcli_endpoint *make_endpoint(dcli_net *net, int self, int peer_count)
{
    dcli_endpoint *endpoint = dcli_endpoint_new(net, &transport, self, peer_count, sizeof(dcli_shared));
    if (endpoint == NULL)
        return NULL;
    dcli_shared *shared = endpoint->link;
    shared->link = dcli_calloc((size_t)peer_count, sizeof shared->link[0]);
    shared->open = dcli_calloc((size_t)peer_count, sizeof shared->open[0]);
    shared->attended = dcli_calloc((size_t)peer_count, sizeof shared->attended[0]);
    shared->sockets = epoll_create1(EPOLL_CLOEXEC);
    shared->free_flight = -1;
    shared->broker = -1;
    shared->own_last = &shared->own_first;
    for (int p = 0; shared->link != NULL && p < peer_count; p++)
        shared->link[p].attended = -1;
    if (shared->sockets < 0)
        dcli_net_fail(DCL_ERR_NETWORK, "epoll_create1", "raise the limit of open descriptors with `ulimit -n`");
    else if (shared->link != NULL && shared->open != NULL && shared->attended != NULL)
        return endpoint;
    dcli_endpoint_close(endpoint);
    return NULL;
}

dcl_status dcli_endpoint_add_link(dcli_endpoint *endpoint, int peer, const dcli_shared_link *link)
{
    bool shares = endpoint->transport == &transport;
    if (shares && peer >= 0 && peer < endpoint->peer_count && peer != endpoint->self)
        return dcli_link_open(endpoint, peer, link);
    dcli_shared_link end = *link;
    dcli_shared_link_close(&end);
    if (!shares)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a link to peer %d is given to peer %d, which has none to processes of its host", peer,
                         endpoint->self);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "peer of a link is %d; expected 0..%d, and not %d itself; peers are numbered from 0", peer,
                     endpoint->peer_count - 1, endpoint->self);
}

void dcli_endpoint_link_on_demand(dcli_endpoint *endpoint, int broker)
{
    dcli_shared *shared = endpoint->link;
    assert(endpoint->transport == &transport && broker >= 0 && broker < endpoint->peer_count);
    shared->broker = broker;
}

int dcli_endpoint_links(const dcli_endpoint *endpoint)
{
    return endpoint->transport == &transport ? ((const dcli_shared *)endpoint->link)->links : 0;
}

dcl_status dcli_endpoint_open_shared(dcli_net *net, int self, int peer_count, const dcli_shared_link link[],
                                     dcli_endpoint **endpoint_out)
{
    dcli_endpoint *endpoint = make_endpoint(net, self, peer_count);
    dcl_status status = endpoint == NULL ? dcli_error_status() : DCL_OK;
    for (int p = 0; link != NULL && p < peer_count; p++) {
        dcli_shared_link end = link[p];
        if (end.socket >= 0 && status == DCL_OK)
            status = dcli_endpoint_add_link(endpoint, p, &end);
        else
            dcli_shared_link_close(&end);
    }
    if (status == DCL_OK)
        *endpoint_out = endpoint;
    else
        dcli_endpoint_close(endpoint);
    return status;
}

void dcli_endpoint_use_buffers(dcli_endpoint *endpoint, dcli_buffers *buffers)
{
    dcli_shared *shared = endpoint->link;
    if (shared->buffers == NULL)
        shared->buffers = buffers;
}
