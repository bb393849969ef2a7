/* net/inproc.c - the transport between threads of one process.
 * Every peer receives on one ROUTER socket and sends through one DEALER socket per receiver, which connects at the
 * first send. So pairs that never communicate cost nothing. Source: ZeroMQ manual, zmq_socket(3), zmq_inproc(7),
 * zmq_getsockopt(3). */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/endpoint.h"

struct inproc {
    dcli_session *session;
    void *router;
    void **dealer; /* [peer_count]; NULL: nothing was sent to that peer yet */
    bool *broken;  /* [peer_count]: only a part of a message was sent */
    int router_fd;
    uint64_t taken; /* number of announced messages that were received */
};

static void name_of(const dcli_session *session, int peer, char name_out[64])
{
    snprintf(name_out, 64, "inproc://dcl-%" PRIu64 "-%d", session->number, peer);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static dcl_status connect_dealer(dcli_endpoint *endpoint, int to)
{
    struct inproc *inproc = endpoint->link;
    if (inproc->dealer[to] != NULL)
        return DCL_OK;
    void *dealer = dcli_net_socket(endpoint->net, ZMQ_DEALER);
    if (dealer == NULL)
        return dcli_error_status();
    unsigned char id[DCLI_ROUTING_BYTES];
    dcli_routing_id(endpoint->self, id);
    char name[64];
    name_of(inproc->session, to, name);
    if (zmq_setsockopt(dealer, ZMQ_ROUTING_ID, id, sizeof id) != 0 || zmq_connect(dealer, name) != 0) {
        dcl_status status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "open all peers before the first send");
        zmq_close(dealer);
        return status;
    }
    inproc->dealer[to] = dealer;
    return DCL_OK;
}

/* Send both frames. They are taken over only if sent. */
static dcl_status send_frames(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload)
{
    struct inproc *inproc = endpoint->link;
    _Atomic uint64_t *announced = &inproc->session->mailbox[to].announced;
    atomic_fetch_add_explicit(announced, 1, memory_order_release);
    bool whole = true;
    if (dcli_send_frame(header, inproc->dealer[to], payload != NULL ? ZMQ_SNDMORE : 0) >= 0) {
        whole = payload == NULL || dcli_send_frame(payload, inproc->dealer[to], 0) >= 0;
        if (whole)
            return DCL_OK;
    }
    dcl_status status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_msg_send", "the peer is gone: treat it as lost");
    inproc->broken[to] = !whole; /* then nothing more is sent: the next message would be taken for the missing frame */
    atomic_fetch_sub_explicit(announced, 1, memory_order_relaxed);
    return status;
}

static dcl_status send_packed(dcli_endpoint *endpoint, int to, const void *bytes, size_t length, zmq_msg_t *payload)
{
    struct inproc *inproc = endpoint->link;
    if (inproc->broken[to] || !atomic_load(&inproc->session->mailbox[to].open))
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "peer %d has no open endpoint; expected all peers of a session to be opened "
                         "before the first send and closed after the last; treat it as lost",
                         to);
    dcl_status status = connect_dealer(endpoint, to);
    zmq_msg_t header;
    if (status == DCL_OK)
        status = dcli_frame_of(bytes, length, &header);
    if (status != DCL_OK)
        return status;
    status = send_frames(endpoint, to, &header, payload);
    zmq_msg_close(&header); /* empty when it was sent */
    return status;
}

static dcl_status send_message(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                               const dcli_payload *payload, int descriptor)
{
    (void)descriptor; /* threads share all descriptors */
    if (payload == NULL)
        return send_packed(endpoint, to, bytes, length, NULL);
    zmq_msg_t frame;
    dcl_status status = dcli_wrap_payload(payload, &frame);
    if (status != DCL_OK)
        return status;
    status = send_packed(endpoint, to, bytes, length, &frame);
    zmq_msg_close(&frame); /* empty if it was sent; otherwise this releases the payload */
    return status;
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

static bool seems_ready(const dcli_endpoint *endpoint)
{
    const struct inproc *inproc = endpoint->link;
    return atomic_load_explicit(&inproc->session->mailbox[endpoint->self].announced, memory_order_acquire) !=
           inproc->taken;
}

/* Take a message. Its sender is known by the id of the sender's socket, not by the message. */
static dcl_status take(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    struct inproc *inproc = endpoint->link;
    for (;;) {
        bool more;
        dcl_status status = dcli_take_sender(inproc->router, endpoint->peer_count, &incoming->from, &more, NULL);
        if (status != DCL_OK)
            return status;
        if (incoming->from >= 0 && more) {
            inproc->taken++;
            dcli_take_rest(inproc->router, incoming);
            return DCL_OK;
        }
        dcli_drop_rest(inproc->router, more);
    }
}

static bool arm(dcli_endpoint *endpoint)
{
    struct inproc *inproc = endpoint->link;
    return !dcli_socket_has_input(inproc->router);
}

static int descriptors(const dcli_endpoint *endpoint, int descriptors_out[])
{
    const struct inproc *inproc = endpoint->link;
    descriptors_out[0] = inproc->router_fd;
    return 1;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void close_inproc(dcli_endpoint *endpoint)
{
    struct inproc *inproc = endpoint->link;
    if (inproc->session != NULL)
        atomic_store(&inproc->session->mailbox[endpoint->self].open, false);
    for (int peer = 0; inproc->dealer != NULL && peer < endpoint->peer_count; peer++)
        if (inproc->dealer[peer] != NULL)
            zmq_close(inproc->dealer[peer]);
    if (inproc->router != NULL) {
        char name[64];
        name_of(inproc->session, endpoint->self, name);
        zmq_unbind(inproc->router, name); /* closing the socket alone frees the name only after some time */
        zmq_close(inproc->router);
    }
    if (inproc->session != NULL)
        dcli_session_leave(endpoint->net, inproc->session);
    dcli_free(inproc->broken);
    dcli_free(inproc->dealer);
    dcli_free(inproc);
}

static const dcli_transport transport = {.send = send_message,
                                         .take = take,
                                         .seems_ready = seems_ready,
                                         .arm = arm,
                                         .descriptors = descriptors,
                                         .close = close_inproc,
                                         .most_descriptors = 1};

static dcl_status bind_router(dcli_endpoint *endpoint, struct inproc *inproc)
{
    inproc->router = dcli_net_socket(endpoint->net, ZMQ_ROUTER);
    if (inproc->router == NULL)
        return dcli_error_status();
    size_t length = sizeof inproc->router_fd;
    char name[64];
    name_of(inproc->session, endpoint->self, name);
    dcl_status status = DCL_OK;
    if (zmq_getsockopt(inproc->router, ZMQ_FD, &inproc->router_fd, &length) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_getsockopt(ZMQ_FD)", "free descriptors");
    else if (zmq_bind(inproc->router, name) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_bind", "open each peer of a session once");
    if (status != DCL_OK) {
        zmq_close(inproc->router);
        inproc->router = NULL;
    }
    return status;
}

static dcl_status open_inproc(dcli_endpoint *endpoint, uint64_t session)
{
    struct inproc *inproc = endpoint->link;
    inproc->dealer = dcli_calloc((size_t)endpoint->peer_count, sizeof inproc->dealer[0]);
    inproc->broken = dcli_calloc((size_t)endpoint->peer_count, sizeof inproc->broken[0]);
    if (inproc->dealer == NULL || inproc->broken == NULL)
        return DCL_ERR_NOMEM;
    inproc->session = dcli_session_enter(endpoint->net, session, endpoint->peer_count);
    if (inproc->session == NULL)
        return dcli_error_status();
    dcl_status status = bind_router(endpoint, inproc);
    if (status == DCL_OK)
        atomic_store(&inproc->session->mailbox[endpoint->self].open, true);
    return status;
}

dcl_status dcli_endpoint_open(dcli_net *net, uint64_t session, int self, int peer_count, dcli_endpoint **endpoint_out)
{
    dcli_endpoint *endpoint = dcli_endpoint_new(net, &transport, self, peer_count, sizeof(struct inproc));
    if (endpoint == NULL)
        return dcli_error_status();
    dcl_status status = open_inproc(endpoint, session);
    if (status != DCL_OK) {
        dcli_endpoint_close(endpoint);
        return status;
    }
    *endpoint_out = endpoint;
    return DCL_OK;
}
