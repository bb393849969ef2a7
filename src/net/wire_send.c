/* net/wire_send.c - sending over tcp, and messages that wait for a connection. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/direct.h"
#include "net/wire.h"

/* ---- messages that wait ------------------------------------------------------------------------------------------- */

static int64_t bytes_of(dcli_parcel *parcel)
{
    return (int64_t)(sizeof *parcel + zmq_msg_size(&parcel->header) + zmq_msg_size(&parcel->payload));
}

void dcli_parcel_free(dcli_parcel *parcel)
{
    zmq_msg_close(&parcel->header);
    zmq_msg_close(&parcel->payload);
    dcli_free(parcel);
}

static dcl_status drop_frames(zmq_msg_t *header, zmq_msg_t *payload, dcl_status status)
{
    zmq_msg_close(header);
    if (payload != NULL)
        zmq_msg_close(payload);
    return status;
}

dcl_status dcli_parcels_put(dcli_parcels *parcels, int from, zmq_msg_t *header, zmq_msg_t *payload, int extra_frames,
                            int64_t most)
{
    dcli_parcel *parcel = dcli_malloc(sizeof *parcel);
    if (parcel == NULL)
        return drop_frames(header, payload, DCL_ERR_NOMEM);
    parcel->from = from;
    parcel->extra_frames = extra_frames;
    parcel->next = NULL;
    zmq_msg_init(&parcel->header);
    zmq_msg_init(&parcel->payload);
    zmq_msg_move(&parcel->header, header);
    if (payload != NULL)
        zmq_msg_move(&parcel->payload, payload);
    drop_frames(header, payload, DCL_OK); /* the frames are empty by now */
    int64_t bytes = bytes_of(parcel);
    if (bytes > most - parcels->bytes) {
        dcli_parcel_free(parcel);
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "%" PRId64 " bytes wait for a peer's connection; expected %" PRId64
                         " at most; treat the peer as lost, and look there for why it does not connect",
                         parcels->bytes + bytes, most);
    }
    *(parcels->last != NULL ? &parcels->last->next : &parcels->first) = parcel;
    parcels->last = parcel;
    parcels->bytes += bytes;
    return DCL_OK;
}

dcli_parcel *dcli_parcels_take(dcli_parcels *parcels)
{
    dcli_parcel *parcel = parcels->first;
    if (parcel == NULL)
        return NULL;
    parcels->first = parcel->next;
    if (parcels->first == NULL)
        parcels->last = NULL;
    parcels->bytes -= bytes_of(parcel);
    return parcel;
}

void dcli_parcels_free(dcli_parcels *parcels)
{
    dcli_parcel *parcel;
    while ((parcel = dcli_parcels_take(parcels)) != NULL)
        dcli_parcel_free(parcel);
}

void dcli_parcels_join(dcli_parcels *parcels, dcli_parcels *more)
{
    if (more->first == NULL)
        return;
    *(parcels->last != NULL ? &parcels->last->next : &parcels->first) = more->first;
    parcels->last = more->last;
    parcels->bytes += more->bytes;
    *more = (dcli_parcels){0};
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

/* Send the frames of a message. Only the frame with the routing id can be refused, if the peer's connection has ended.
 * The frames after it would appear to succeed, so they are not sent then. */
static dcl_status transmit(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload)
{
    dcli_wire *wire = endpoint->link;
    bool outgoing = wire->peer[to].address != NULL;
    void *socket = outgoing ? wire->outgoing : wire->acceptor.router;
    unsigned char id[DCLI_HOST_ROUTING_BYTES];
    size_t id_bytes = dcli_wire_id(wire, to, id);
    wire->quiet[outgoing ? DCLI_WIRE_OUTGOING : DCLI_WIRE_ACCEPTOR] = false; /* sending also processes events */
    int rc;
    do
        rc = zmq_send(socket, id, id_bytes, ZMQ_DONTWAIT | ZMQ_SNDMORE);
    while (rc < 0 && zmq_errno() == EINTR);
    if (rc >= 0)
        rc = dcli_send_frame(header, socket, payload != NULL ? ZMQ_SNDMORE : 0);
    if (rc >= 0 && payload != NULL)
        rc = dcli_send_frame(payload, socket, 0);
    if (rc >= 0)
        return DCL_OK; /* sent frames are empty */
    dcl_status status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_send", "the peer is gone: treat it as lost");
    dcli_wire_set(endpoint, to, DCLI_END_LOST);
    return drop_frames(header, payload, status);
}

dcl_status dcli_wire_transmit(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload)
{
    dcli_wire *wire = endpoint->link;
    bool sums = dcli_wire_has_sums(wire);
    uint64_t number = ++wire->peer[to].sent | (wire->peer[to].direct && payload != NULL ? DCLI_SEAL_BARE : 0);
    dcli_seal_put(zmq_msg_data(header), zmq_msg_size(header) - dcli_seal_bytes(sums), number, sums,
                  payload != NULL ? zmq_msg_data(payload) : NULL, payload != NULL ? zmq_msg_size(payload) : 0);
    return transmit(endpoint, to, header, payload);
}

/* An end whose descriptor is not known yet would send a wrong view: libzmq reports a connection in another queue than its messages. If there
 * is no memory for the view, nothing is sent, and payloads keep their checksums. */
void dcli_wire_tell_view(dcli_endpoint *endpoint, int peer)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *one = &wire->peer[peer];
    uint64_t view = dcli_wire_has_sums(wire) ? dcli_direct_view(dcli_wire_fd(one), false) : 0;
    zmq_msg_t frame;
    if (view == 0 || zmq_msg_init_size(&frame, DCLI_SEAL_VIEW + dcli_seal_bytes(true)) != 0)
        return;
    dcli_seal_put_view(zmq_msg_data(&frame), view);
    dcli_seal_put(zmq_msg_data(&frame), DCLI_SEAL_VIEW, one->sent, true, NULL, 0);
    if (transmit(endpoint, peer, &frame, NULL) == DCL_OK)
        one->told = view;
    dcli_wire_compare_views(one);
}

void dcli_wire_compare_views(dcli_wire_peer *peer)
{
    if (!peer->direct && peer->told != 0 && peer->view != 0)
        peer->direct = peer->told == dcli_direct_view(dcli_wire_fd(peer), false) &&
                       peer->view == dcli_direct_view(dcli_wire_fd(peer), true);
}

/* Time between heartbeats: four within the silence, like ZMTP's heartbeats, which show that the peer is there but not
 * what was sent. */
int64_t dcli_wire_beat_ns(const dcli_wire *wire)
{
    const int64_t shortest = 10000000;
    int64_t period = wire->silence_ms * 1000000 / 4;
    return period > shortest ? period : shortest;
}

void dcli_wire_beat(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    int64_t now = wire->now_ns = dcli_monotonic_ns();
    if (now < wire->beat_due_ns)
        return;
    wire->beat_due_ns = now + dcli_wire_beat_ns(wire);
    bool sums = dcli_wire_has_sums(wire);
    for (int peer = 0; peer < endpoint->peer_count; peer++) {
        zmq_msg_t frame;
        if (wire->peer[peer].state != DCLI_WIRE_UP || zmq_msg_init_size(&frame, dcli_seal_bytes(sums)) != 0)
            continue; /* not connected, or no memory this time */
        dcli_seal_put(zmq_msg_data(&frame), 0, wire->peer[peer].sent, sums, NULL, 0);
        (void)transmit(endpoint, peer, &frame, NULL);
    }
}

/* Time of the next action: received bytes are checked once a second, because libzmq does not report an unfinished
 * message. */
int64_t dcli_wire_due_ns(const dcli_endpoint *endpoint)
{
    const int64_t longest = 1000000000;
    const dcli_wire *wire = endpoint->link;
    return endpoint->most_ahead > 0 ? dcli_min(wire->beat_due_ns, wire->looked_ns + longest) : wire->beat_due_ns;
}

static dcl_status send_frames(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload)
{
    dcli_wire *wire = endpoint->link;
    if (to == endpoint->self)
        return dcli_parcels_put(&wire->ready, to, header, payload, payload != NULL, INT64_MAX);
    switch (wire->peer[to].state) {
    case DCLI_WIRE_UP:
        return dcli_wire_transmit(endpoint, to, header, payload);
    case DCLI_WIRE_MET:
    case DCLI_WIRE_EXPECTED:
        return dcli_parcels_put(&wire->peer[to].to_send, to, header, payload, payload != NULL, DCLI_WIRE_WAITING);
    case DCLI_WIRE_UNKNOWN:
    case DCLI_WIRE_UNEXPECTED:
        return drop_frames(header, payload,
                           DCLI_FAIL(DCL_ERR_NETWORK,
                                     "peer %d has not been introduced; expected one that this peer was "
                                     "told to meet or expect; send nothing to it yet",
                                     to));
    default:
        return drop_frames(header, payload,
                           DCLI_FAIL(DCL_ERR_NETWORK,
                                     "the connection of peer %d has ended; expected one that is there; "
                                     "treat it as lost",
                                     to));
    }
}

dcl_status dcli_wire_send(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                          const dcli_payload *payload, int descriptor)
{
    zmq_msg_t header, frame;
    dcl_status status = DCL_OK;
    if (payload != NULL)
        status = dcli_wrap_payload(payload, &frame); /* on failure the payload is released */
    if (status != DCL_OK)
        return status;
    if (descriptor >= 0)
        status = DCLI_FAIL(DCL_ERR_INVALID,
                           "a descriptor is to go to peer %d over tcp; expected a peer of this host; send "
                           "what is behind it",
                           to);
    size_t seal = to != endpoint->self ? dcli_seal_bytes(dcli_wire_has_sums(endpoint->link)) : 0;
    if (status == DCL_OK && zmq_msg_init_size(&header, length + seal) != 0)
        status = dcli_net_fail(DCL_ERR_NOMEM, "zmq_msg_init_size", "free memory");
    if (status == DCL_OK)
        memcpy(zmq_msg_data(&header), bytes, length);
    if (status != DCL_OK) {
        if (payload != NULL)
            zmq_msg_close(&frame);
        return status;
    }
    return send_frames(endpoint, to, &header, payload != NULL ? &frame : NULL);
}

void dcli_wire_rise(dcli_endpoint *endpoint, int peer)
{
    dcli_wire *wire = endpoint->link;
    wire->peer[peer].state = DCLI_WIRE_UP;
    dcli_wire_tell_view(endpoint, peer);
    dcli_parcel *parcel;
    while (wire->peer[peer].state == DCLI_WIRE_UP && (parcel = dcli_parcels_take(&wire->peer[peer].to_send)) != NULL) {
        (void)dcli_wire_transmit(endpoint, peer, &parcel->header, parcel->extra_frames > 0 ? &parcel->payload : NULL);
        dcli_parcel_free(parcel);
    }
}
