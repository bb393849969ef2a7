/* net/endpoint.c - what all transports share: opening, sending, ZeroMQ frames. Waiting and receiving: receive.c. */
#include "net/endpoint.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/proof.h"
#include "net/table.h"

/* ---- life --------------------------------------------------------------------------------------------------------- */

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

static dcl_status allocate(dcli_endpoint *endpoint)
{
    int own = endpoint->transport->most_descriptors;
    endpoint->polled_capacity = 1 + (own > 0 ? own : endpoint->peer_count + 4);
    endpoint->polled_set[0] = dcli_calloc((size_t)endpoint->polled_capacity, sizeof endpoint->polled[0]);
    endpoint->polled = endpoint->polled_set[0];
    endpoint->descriptors = dcli_calloc((size_t)endpoint->polled_capacity, sizeof endpoint->descriptors[0]);
    endpoint->lost = dcli_calloc((size_t)endpoint->peer_count, sizeof endpoint->lost[0]);
    endpoint->pool = dcli_frames_pool_new();
    if (endpoint->polled == NULL || endpoint->descriptors == NULL || endpoint->lost == NULL || endpoint->pool == NULL)
        return DCL_ERR_NOMEM;
    endpoint->wake_fd[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (endpoint->wake_fd[0] < 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "eventfd", "raise the limit of open descriptors with `ulimit -n`");
    return DCL_OK;
}

static void free_endpoint(dcli_endpoint *endpoint)
{
    for (int set = 0; set < 2; set++)
        if (endpoint->wake_fd[set] >= 0)
            close(endpoint->wake_fd[set]);
    if (endpoint->pool != NULL)
        dcli_frames_pool_close(endpoint->pool);
    dcli_free(endpoint->packed.bytes);
    dcli_free(endpoint->polled_set[0]);
    dcli_free(endpoint->polled_set[1]);
    dcli_free(endpoint->descriptors);
    dcli_free(endpoint->lost);
    dcli_free(endpoint);
}

dcli_endpoint *dcli_endpoint_new(dcli_net *net, const dcli_transport *transport, int self, int peer_count,
                                 size_t link_bytes)
{
    if (check_peers(self, peer_count) != DCL_OK)
        return NULL;
    dcli_endpoint *endpoint = dcli_calloc(1, sizeof *endpoint);
    if (endpoint == NULL)
        return NULL;
    endpoint->transport = transport;
    endpoint->net = net;
    endpoint->self = self;
    endpoint->peer_count = peer_count;
    endpoint->wake_fd[0] = endpoint->wake_fd[1] = -1;
    endpoint->usual_spin_ns =
        sysconf(_SC_NPROCESSORS_ONLN) >= 2 * (long)peer_count + 2 ? DCLI_LONG_SPIN_NS : DCLI_SPIN_NS;
    endpoint->spin_ns = endpoint->usual_spin_ns;
    if (allocate(endpoint) == DCL_OK && (endpoint->link = dcli_calloc(1, link_bytes)) != NULL)
        return endpoint;
    free_endpoint(endpoint);
    return NULL;
}

dcl_status dcli_endpoint_share(dcli_endpoint *endpoint, const dcli_turns *turns)
{
    endpoint->polled_set[1] = dcli_calloc((size_t)endpoint->polled_capacity, sizeof endpoint->polled[0]);
    if (endpoint->polled_set[1] == NULL)
        return DCL_ERR_NOMEM;
    endpoint->wake_fd[1] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (endpoint->wake_fd[1] < 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "eventfd", "raise the limit of open descriptors with `ulimit -n`");
    endpoint->turns = *turns;
    return DCL_OK;
}

void dcli_endpoint_spin(dcli_endpoint *endpoint, int64_t nanoseconds)
{
    endpoint->spin_ns = nanoseconds > 0 ? nanoseconds : endpoint->usual_spin_ns;
}

void dcli_endpoint_set_needed(dcli_endpoint *endpoint, bool needed) { endpoint->needed = needed; }

bool dcli_endpoint_crowds(const dcli_endpoint *endpoint)
{
    return endpoint->transport->by_threads && endpoint->usual_spin_ns < DCLI_LONG_SPIN_NS;
}

void dcli_endpoint_close(dcli_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    endpoint->transport->close(endpoint);
    free_endpoint(endpoint);
}

/* ---- payloads ----------------------------------------------------------------------------------------------------- */

/* A payload in transit. Any thread may drop the last reference, including libzmq's. */
typedef struct parcel {
    dcli_payload payload;
    atomic_bool sent; /* set (release) by the sender; read (acquire) before the release function is called */
} parcel;

void dcli_release_payload(const dcli_payload *payload)
{
    if (payload->release != NULL)
        payload->release(payload->bytes, payload->user);
}

static void release_parcel(void *bytes, void *hint)
{
    (void)bytes;
    parcel *sent = hint;
    (void)atomic_load_explicit(&sent->sent, memory_order_acquire);
    dcli_release_payload(&sent->payload);
    dcli_free(sent);
}

dcl_status dcli_wrap_payload(const dcli_payload *payload, zmq_msg_t *frame_out)
{
    parcel *made = dcli_malloc(sizeof *made);
    if (made == NULL) {
        dcli_release_payload(payload);
        return DCL_ERR_NOMEM;
    }
    made->payload = *payload;
    atomic_init(&made->sent, false);
    if (zmq_msg_init_data(frame_out, payload->bytes, payload->length, release_parcel, made) == 0) {
        atomic_store_explicit(&made->sent, true, memory_order_release);
        return DCL_OK;
    }
    dcli_release_payload(payload);
    dcli_free(made);
    return dcli_net_fail(DCL_ERR_NOMEM, "zmq_msg_init_data", "free memory");
}

/* ---- frames of ZeroMQ --------------------------------------------------------------------------------------------- */

void dcli_routing_id(int peer, unsigned char id_out[DCLI_ROUTING_BYTES])
{
    uint32_t number = (uint32_t)peer;
    id_out[0] = 1; /* an id must not begin with 0 */
    id_out[1] = (unsigned char)(number >> 16);
    id_out[2] = (unsigned char)(number >> 8);
    id_out[3] = (unsigned char)number;
}

void dcli_host_routing_id(const char *name, unsigned char id_out[DCLI_HOST_ROUTING_BYTES])
{
    unsigned char digest[DCLI_DIGEST_BYTES];
    dcli_digest(name, strlen(name), digest);
    id_out[0] = 2;
    memcpy(id_out + 1, digest, DCLI_HOST_ROUTING_BYTES - 1);
}

int dcli_peer_of(const void *id, size_t length, int peer_count)
{
    const unsigned char *bytes = id;
    if (length != DCLI_ROUTING_BYTES || bytes[0] != 1)
        return -1;
    int peer = bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    return peer < peer_count ? peer : -1;
}

dcl_status dcli_frame_of(const void *bytes, size_t length, zmq_msg_t *frame_out)
{
    if (zmq_msg_init_size(frame_out, length) != 0)
        return dcli_net_fail(DCL_ERR_NOMEM, "zmq_msg_init_size", "free memory");
    memcpy(zmq_msg_data(frame_out), bytes, length);
    return DCL_OK;
}

int dcli_send_frame(zmq_msg_t *frame, void *socket, int flags)
{
    int rc;
    do
        rc = zmq_msg_send(frame, socket, ZMQ_DONTWAIT | flags);
    while (rc < 0 && zmq_errno() == EINTR);
    return rc;
}

int dcli_receive_frame(zmq_msg_t *frame, void *socket)
{
    int rc;
    do
        rc = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
    while (rc < 0 && zmq_errno() == EINTR);
    return rc;
}

/* Drop the rest of a message. @return how many frames were dropped. */
static int drop_rest(void *socket, bool more)
{
    int frames = 0;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        more = dcli_receive_frame(&frame, socket) >= 0 && zmq_msg_more(&frame);
        zmq_msg_close(&frame);
        frames++;
    }
    return frames;
}

dcl_status dcli_take_sender(void *router, int peer_count, int *from_out, bool *more_out, dcli_stranger *stranger_out)
{
    zmq_msg_t id;
    zmq_msg_init(&id);
    if (dcli_receive_frame(&id, router) < 0)
        return zmq_errno() == EAGAIN
                   ? DCL_ERR_TIMEOUT
                   : dcli_net_fail(DCL_ERR_NETWORK, "zmq_msg_recv", "the endpoint is of no use any more: close it");
    *from_out = dcli_peer_of(zmq_msg_data(&id), zmq_msg_size(&id), peer_count);
    *more_out = zmq_msg_more(&id);
    if (*from_out < 0 && stranger_out != NULL) {
        stranger_out->bytes = zmq_msg_size(&id) < sizeof stranger_out->id ? zmq_msg_size(&id) : sizeof stranger_out->id;
        memcpy(stranger_out->id, zmq_msg_data(&id), stranger_out->bytes);
    }
    zmq_msg_close(&id);
    return DCL_OK;
}

/* Take the remaining frames of a message. They are all available: libzmq delivers whole messages. */
void dcli_take_rest(void *socket, dcli_incoming *incoming)
{
    dcli_frames *frames = incoming->frames;
    zmq_msg_init(&frames->header);
    zmq_msg_init(&frames->payload);
    frames->end = dcli_frames_close;
    dcli_receive_frame(&frames->header, socket);
    incoming->bytes = zmq_msg_data(&frames->header);
    incoming->length = zmq_msg_size(&frames->header);
    if (!zmq_msg_more(&frames->header))
        return;
    dcli_receive_frame(&frames->payload, socket);
    incoming->extra_frames = 1 + drop_rest(socket, zmq_msg_more(&frames->payload));
    incoming->payload = zmq_msg_data(&frames->payload);
    incoming->payload_bytes = zmq_msg_size(&frames->payload);
}

void dcli_frames_close(dcli_frames *frames)
{
    zmq_msg_close(&frames->header);
    zmq_msg_close(&frames->payload);
}

bool dcli_socket_has_input(void *socket)
{
    int events = 0;
    size_t length = sizeof events;
    return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &length) == 0 && (events & ZMQ_POLLIN) != 0;
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

bool dcli_may_have_descriptor(dcli_message_kind kind) { return kind == DCLI_MSG_PART; }

static dcl_status check_address(const dcli_endpoint *endpoint, int to, const dcli_message *message, bool has_payload,
                                bool has_descriptor)
{
    if (to < 0 || to >= endpoint->peer_count)
        return DCLI_FAIL(DCL_ERR_INVALID, "peer to send to is %d; expected 0..%d; peers are numbered from 0", to,
                         endpoint->peer_count - 1);
    const dcli_record *record = &dcli_message_table[message->kind];
    if (has_payload && !record->payload)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a message %s has a payload; expected none; only a message CHUNK may have one", record->name);
    if (has_descriptor && !dcli_may_have_descriptor(message->kind))
        return DCLI_FAIL(DCL_ERR_INVALID, "a message %s has a file descriptor; expected none; only PART may have one",
                         record->name);
    if (endpoint->lost[to])
        return DCLI_FAIL(DCL_ERR_NETWORK, "peer %d is lost; expected one that is there; send nothing to it", to);
    return DCL_OK;
}

static dcl_status send_checked(dcli_endpoint *endpoint, int to, const dcli_message *message,
                               const dcli_payload *payload, int descriptor)
{
    dcl_status status = dcli_message_pack_into(message, &endpoint->packed);
    if (status == DCL_OK)
        status = check_address(endpoint, to, message, payload != NULL, descriptor >= 0);
    if (status != DCL_OK) {
        if (payload != NULL)
            dcli_release_payload(payload);
        return status;
    }
    endpoint->followed = message->followed;
    return endpoint->transport->send(endpoint, to, endpoint->packed.bytes, endpoint->packed.length, payload,
                                     descriptor);
}

dcl_status dcli_endpoint_send(dcli_endpoint *endpoint, int to, const dcli_message *message, dcli_payload *payload)
{
    size_t length = payload != NULL ? payload->length : 0;
    if (payload != NULL && length == 0)
        dcli_release_payload(payload);
    dcl_status status = send_checked(endpoint, to, message, length > 0 ? payload : NULL, -1);
    if (status == DCL_OK) {
        endpoint->messages++;
        endpoint->payload_bytes += (int64_t)length;
        endpoint->bulky = endpoint->bulky || (endpoint->transport->by_threads && length >= DCLI_BULK_BYTES);
    }
    return status;
}

dcl_status dcli_endpoint_send_descriptor(dcli_endpoint *endpoint, int to, const dcli_message *message, int descriptor)
{
    dcl_status status = send_checked(endpoint, to, message, NULL, descriptor);
    endpoint->messages += status == DCL_OK;
    return status;
}

void dcli_endpoint_drop(dcli_endpoint *endpoint, int peer) { endpoint->lost[peer] = true; }

void dcli_endpoint_limit_ahead(dcli_endpoint *endpoint, int64_t bytes) { endpoint->most_ahead = bytes; }

void dcli_endpoint_allow_more(dcli_endpoint *endpoint, int peer, int64_t bytes)
{
    endpoint->speaker = peer;
    endpoint->speaker_bytes = bytes;
}

void dcli_endpoint_counts(const dcli_endpoint *endpoint, int64_t *messages_out, int64_t *payload_bytes_out)
{
    *messages_out = endpoint->messages;
    *payload_bytes_out = endpoint->payload_bytes;
}

int64_t dcli_endpoint_refused(const dcli_endpoint *endpoint) { return endpoint->refused; }
