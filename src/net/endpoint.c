/* net/endpoint.c - making, closing and sending.
 * Every peer receives on one ROUTER socket and sends through a DEALER socket per receiver, connected at the first send:
 * a pair that never talks costs nothing. Source: ZeroMQ manual, zmq_socket(3), zmq_inproc(7), zmq_getsockopt(3). */
#include "net/endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/table.h"

/* ---- opening and closing ---- */

static void name_of(const dcli_session *session, int peer, char name_out[64])
{
    snprintf(name_out, 64, "inproc://dcl-%" PRIu64 "-%d", session->number, peer);
}

static dcl_status check_peers(int self, int peer_count)
{
    if (peer_count < 1 || peer_count > DCLI_MOST_PEERS)
        return DCLI_FAIL(DCL_ERR_INVALID, "peer_count is %d; expected 1..%d; use fewer nodes", peer_count,
                         DCLI_MOST_PEERS);
    if (self < 0 || self >= peer_count)
        return DCLI_FAIL(DCL_ERR_INVALID, "self is %d; expected 0..%d; peers are numbered from 0", self,
                         peer_count - 1);
    return DCL_OK;
}

static dcl_status bind_router(dcli_endpoint *endpoint)
{
    endpoint->router = dcli_net_socket(endpoint->net, ZMQ_ROUTER);
    if (endpoint->router == NULL)
        return dcli_error_status();
    size_t length = sizeof endpoint->router_fd;
    char name[64];
    name_of(endpoint->session, endpoint->self, name);
    dcl_status status = DCL_OK;
    if (zmq_getsockopt(endpoint->router, ZMQ_FD, &endpoint->router_fd, &length) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_getsockopt(ZMQ_FD)", "free descriptors");
    else if (zmq_bind(endpoint->router, name) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_bind", "open each peer of a session once");
    if (status != DCL_OK)
        zmq_close(endpoint->router);
    return status;
}

static dcl_status make_books(dcli_endpoint *endpoint, int peer_count)
{
    endpoint->dealer = dcli_calloc((size_t)peer_count, sizeof endpoint->dealer[0]);
    endpoint->broken = dcli_calloc((size_t)peer_count, sizeof endpoint->broken[0]);
    endpoint->pool = dcli_frames_pool_new();
    if (endpoint->dealer == NULL || endpoint->broken == NULL || endpoint->pool == NULL)
        return DCL_ERR_NOMEM;
    endpoint->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (endpoint->wake_fd < 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "eventfd", "raise the limit of open descriptors with `ulimit -n`");
    return DCL_OK;
}

static void free_books(dcli_endpoint *endpoint)
{
    if (endpoint->wake_fd >= 0)
        close(endpoint->wake_fd);
    if (endpoint->pool != NULL)
        dcli_frames_pool_close(endpoint->pool);
    dcli_free(endpoint->packed.bytes);
    dcli_free(endpoint->broken);
    dcli_free(endpoint->dealer);
    dcli_free(endpoint);
}

dcl_status dcli_endpoint_open(dcli_net *net, uint64_t session, int self, int peer_count, dcli_endpoint **endpoint_out)
{
    dcl_status status = check_peers(self, peer_count);
    if (status != DCL_OK)
        return status;
    dcli_endpoint *endpoint = dcli_calloc(1, sizeof *endpoint);
    if (endpoint == NULL)
        return DCL_ERR_NOMEM;
    endpoint->net = net;
    endpoint->self = self;
    endpoint->wake_fd = -1;
    endpoint->spin_ns = sysconf(_SC_NPROCESSORS_ONLN) >= 2 * (long)peer_count + 2 ? DCLI_LONG_SPIN_NS : DCLI_SPIN_NS;
    status = make_books(endpoint, peer_count);
    if (status != DCL_OK)
        goto free_books;
    endpoint->session = dcli_session_enter(net, session, peer_count);
    if (endpoint->session == NULL) {
        status = dcli_error_status();
        goto free_books;
    }
    status = bind_router(endpoint);
    if (status != DCL_OK)
        goto leave_session;
    atomic_store(&endpoint->session->mailbox[self].open, true);
    *endpoint_out = endpoint;
    return DCL_OK;

leave_session:
    dcli_session_leave(net, endpoint->session);
free_books:
    free_books(endpoint);
    return status;
}

void dcli_endpoint_close(dcli_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    atomic_store(&endpoint->session->mailbox[endpoint->self].open, false);
    for (int peer = 0; peer < endpoint->session->peer_count; peer++)
        if (endpoint->dealer[peer] != NULL)
            zmq_close(endpoint->dealer[peer]);
    char name[64];
    name_of(endpoint->session, endpoint->self, name);
    zmq_unbind(endpoint->router, name); /* closing alone frees the name only some time later */
    zmq_close(endpoint->router);
    dcli_session_leave(endpoint->net, endpoint->session);
    free_books(endpoint);
}

/* ---- payloads ---- */

/** A payload on its way. Whoever drops the last hold may be any thread, libzmq's own too. */
typedef struct parcel {
    dcli_payload payload;
    atomic_bool sent; /* set (release) by the sender, read (acquire) before the release function is called */
} parcel;

static void release_payload(const dcli_payload *payload)
{
    if (payload->release != NULL)
        payload->release(payload->bytes, payload->user);
}

static void release_parcel(void *bytes, void *hint)
{
    (void)bytes;
    parcel *sent = hint;
    (void)atomic_load_explicit(&sent->sent, memory_order_acquire);
    release_payload(&sent->payload);
    dcli_free(sent);
}

/** Make a frame that owns the payload; on failure the payload is released. */
static dcl_status wrap_payload(const dcli_payload *payload, zmq_msg_t *frame_out)
{
    parcel *made = dcli_malloc(sizeof *made);
    if (made == NULL) {
        release_payload(payload);
        return DCL_ERR_NOMEM;
    }
    made->payload = *payload;
    atomic_init(&made->sent, false);
    if (zmq_msg_init_data(frame_out, payload->bytes, payload->length, release_parcel, made) == 0) {
        atomic_store_explicit(&made->sent, true, memory_order_release);
        return DCL_OK;
    }
    release_payload(payload);
    dcli_free(made);
    return dcli_net_fail(DCL_ERR_NOMEM, "zmq_msg_init_data", "free memory");
}

/* ---- sending ---- */

static dcl_status connect_dealer(dcli_endpoint *endpoint, int to)
{
    if (endpoint->dealer[to] != NULL)
        return DCL_OK;
    void *dealer = dcli_net_socket(endpoint->net, ZMQ_DEALER);
    if (dealer == NULL)
        return dcli_error_status();
    uint32_t self = (uint32_t)endpoint->self;
    unsigned char id[DCLI_ROUTING_BYTES] = {1, (unsigned char)(self >> 16), (unsigned char)(self >> 8),
                                            (unsigned char)self};
    char name[64];
    name_of(endpoint->session, to, name);
    if (zmq_setsockopt(dealer, ZMQ_ROUTING_ID, id, sizeof id) != 0 || zmq_connect(dealer, name) != 0) {
        dcl_status status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "open all peers before the first send");
        zmq_close(dealer);
        return status;
    }
    endpoint->dealer[to] = dealer;
    return DCL_OK;
}

static dcl_status check_address(const dcli_endpoint *endpoint, int to, const dcli_message *message, bool has_payload)
{
    if (to < 0 || to >= endpoint->session->peer_count)
        return DCLI_FAIL(DCL_ERR_INVALID, "peer to send to is %d; expected 0..%d; peers are numbered from 0", to,
                         endpoint->session->peer_count - 1);
    if (has_payload && !dcli_message_table[message->kind].payload)
        return DCLI_FAIL(DCL_ERR_INVALID, "a message %s has a payload; expected none; send it behind a CHUNK",
                         dcli_message_table[message->kind].name);
    if (endpoint->broken[to] || !atomic_load(&endpoint->session->mailbox[to].open))
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "peer %d has no open endpoint; expected all peers of a session to be opened "
                         "before the first send and closed after the last; treat it as lost",
                         to);
    return DCL_OK;
}

static int send_frame(zmq_msg_t *frame, void *dealer, int flags)
{
    int rc;
    do
        rc = zmq_msg_send(frame, dealer, ZMQ_DONTWAIT | flags);
    while (rc < 0 && zmq_errno() == EINTR);
    return rc;
}

/** Both frames, which are taken over only when sent. */
static dcl_status send_frames(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload)
{
    _Atomic uint64_t *announced = &endpoint->session->mailbox[to].announced;
    atomic_fetch_add_explicit(announced, 1, memory_order_release);
    bool whole = true;
    if (send_frame(header, endpoint->dealer[to], payload != NULL ? ZMQ_SNDMORE : 0) >= 0) {
        whole = payload == NULL || send_frame(payload, endpoint->dealer[to], 0) >= 0;
        if (whole)
            return DCL_OK;
    }
    dcl_status status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_msg_send", "the peer is gone: treat it as lost");
    endpoint->broken[to] = !whole; /* what is sent next would be taken for the missing frame */
    atomic_fetch_sub_explicit(announced, 1, memory_order_relaxed);
    return status;
}

/** Pack and send; `payload` is NULL or a frame. */
static dcl_status send_message(dcli_endpoint *endpoint, int to, const dcli_message *message, zmq_msg_t *payload)
{
    dcl_status status = dcli_message_pack_into(message, &endpoint->packed);
    if (status == DCL_OK)
        status = check_address(endpoint, to, message, payload != NULL);
    if (status == DCL_OK)
        status = connect_dealer(endpoint, to);
    if (status != DCL_OK)
        return status;
    zmq_msg_t header;
    if (zmq_msg_init_size(&header, endpoint->packed.length) != 0)
        return dcli_net_fail(DCL_ERR_NOMEM, "zmq_msg_init_size", "free memory");
    memcpy(zmq_msg_data(&header), endpoint->packed.bytes, endpoint->packed.length);
    status = send_frames(endpoint, to, &header, payload);
    zmq_msg_close(&header); /* empty when it was sent */
    return status;
}

dcl_status dcli_endpoint_send(dcli_endpoint *endpoint, int to, const dcli_message *message, dcli_payload *payload)
{
    zmq_msg_t frame;
    size_t length = payload != NULL ? payload->length : 0;
    if (payload != NULL && length == 0)
        release_payload(payload);
    if (length > 0) {
        dcl_status status = wrap_payload(payload, &frame);
        if (status != DCL_OK)
            return status;
    }
    dcl_status status = send_message(endpoint, to, message, length > 0 ? &frame : NULL);
    if (length > 0)
        zmq_msg_close(&frame); /* empty when it was sent, else this releases the payload */
    if (status == DCL_OK) {
        endpoint->messages++;
        endpoint->payload_bytes += (int64_t)length;
    }
    return status;
}

void dcli_endpoint_counts(const dcli_endpoint *endpoint, int64_t *messages_out, int64_t *payload_bytes_out)
{
    *messages_out = endpoint->messages;
    *payload_bytes_out = endpoint->payload_bytes;
}

int64_t dcli_endpoint_refused(const dcli_endpoint *endpoint) { return endpoint->refused; }
