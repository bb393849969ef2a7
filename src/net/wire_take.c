/* net/wire_take.c - receiving messages over tcp, and noticing lost peers. */
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/token.h"
#include "net/wire.h"

enum {
    FRESH_NS = 20000, /* after a poll() in which the thread has slept, sources are not asked again for so long */
    LOOK_EVERY = 64   /* messages taken between two checks of events, while there always is a message */
};

/* ---- where there is news ------------------------------------------------------------------------------------------ */

void dcli_wire_stir_acceptor(dcli_wire *wire)
{
    wire->quiet[DCLI_WIRE_ACCEPTOR] = wire->quiet[DCLI_WIRE_ACCEPTOR_EVENTS] = false;
}
void dcli_wire_stir_outgoing(dcli_wire *wire)
{
    wire->quiet[DCLI_WIRE_OUTGOING] = wire->quiet[DCLI_WIRE_OUTGOING_EVENTS] = false;
}

void dcli_wire_descriptors(const dcli_wire *wire, int descriptors_out[DCLI_WIRE_SOURCES])
{
    bool acceptor = wire->acceptor.router != NULL;
    descriptors_out[DCLI_WIRE_OUTGOING] = wire->outgoing_fd;
    descriptors_out[DCLI_WIRE_OUTGOING_EVENTS] = wire->monitor.fd;
    descriptors_out[DCLI_WIRE_ACCEPTOR] = acceptor ? wire->acceptor.fd : -1;
    descriptors_out[DCLI_WIRE_ACCEPTOR_EVENTS] = acceptor ? wire->acceptor.monitor.fd : -1;
    descriptors_out[DCLI_WIRE_ACCEPTOR_ARRIVALS] = acceptor ? wire->acceptor.arrivals : -1;
}

/** Poll all sources with one system call. @return how many have events. */
static int poll_sources(const dcli_wire *wire, struct pollfd polled[DCLI_WIRE_SOURCES])
{
    int fd[DCLI_WIRE_SOURCES];
    dcli_wire_descriptors(wire, fd);
    for (int i = 0; i < DCLI_WIRE_SOURCES; i++)
        polled[i] = (struct pollfd){.fd = fd[i], .events = POLLIN};
    return poll(polled, DCLI_WIRE_SOURCES, 0);
}

/** Check the sources. @return whether any may have something. */
static bool listen_around(dcli_wire *wire)
{
    struct pollfd polled[DCLI_WIRE_SOURCES];
    bool any = false, all = poll_sources(wire, polled) < 0;
    for (int i = 0; i < DCLI_WIRE_SOURCES; i++) {
        if (all || polled[i].revents != 0)
            wire->quiet[i] = false;
        any = any || !wire->quiet[i];
    }
    return any;
}

void dcli_wire_found(dcli_endpoint *endpoint, const struct pollfd polled[])
{
    dcli_wire *wire = endpoint->link;
    for (int i = 0; i < DCLI_WIRE_SOURCES; i++)
        if (polled[i].revents != 0)
            wire->quiet[i] = false;
    wire->listened_ns = dcli_monotonic_ns();
}

/** Whether there may be something other than messages. */
static bool has_events(const dcli_wire *wire)
{
    return !wire->quiet[DCLI_WIRE_OUTGOING_EVENTS] || !wire->quiet[DCLI_WIRE_ACCEPTOR_EVENTS] ||
           !wire->quiet[DCLI_WIRE_ACCEPTOR_ARRIVALS] || (wire->acceptor.router != NULL && wire->acceptor.unseen);
}

/** Whether nothing is pending that no descriptor would report. */
static bool is_idle(const dcli_endpoint *endpoint)
{
    const dcli_wire *wire = endpoint->link;
    bool quiet = wire->ready.first == NULL && wire->closing == 0 && endpoint->refused == wire->refused;
    for (int i = 0; i < DCLI_WIRE_SOURCES; i++)
        quiet = quiet && wire->quiet[i];
    return quiet;
}

/* ---- arrivals and departures of peers ----------------------------------------------------------------------------- */

void dcli_wire_set(dcli_endpoint *endpoint, int peer, dcli_ending ending)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *one = &wire->peer[peer];
    if (one->state == DCLI_WIRE_UNEXPECTED)
        one->ended = true;
    if (one->state == DCLI_WIRE_GONE || one->state == DCLI_WIRE_CLOSING || one->state == DCLI_WIRE_UNEXPECTED)
        return;
    one->state = DCLI_WIRE_CLOSING;
    one->ending = ending;
    one->last = wire->taken;
    wire->closing++;
}

static int peer_at(const dcli_endpoint *endpoint, const char *address)
{
    const dcli_wire *wire = endpoint->link;
    for (int peer = 0; peer < endpoint->self; peer++)
        if (wire->peer[peer].address != NULL && strcmp(wire->peer[peer].address, address) == 0)
            return peer;
    return -1;
}

static void note_outgoing(dcli_endpoint *endpoint, const dcli_event *event)
{
    dcli_wire *wire = endpoint->link;
    int peer = peer_at(endpoint, event->address);
    if (peer < 0)
        return;
    dcli_ending ending = dcli_ending_of(event, wire->peer[peer].state != DCLI_WIRE_MET);
    if (event->kind == ZMQ_EVENT_CONNECTED) {
        wire->peer[peer].connection = event->value;
        if (wire->peer[peer].state == DCLI_WIRE_UP && wire->peer[peer].told == 0)
            dcli_wire_tell_view(endpoint, peer);
    }
    if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED && wire->peer[peer].state == DCLI_WIRE_MET && wire->own == NULL &&
        dcli_token_connection_is_ours(wire->peer[peer].connection) != DCL_OK) {
        DCLI_LOG(wire->log, DCLI_LOG_WARN, "peer %d: %s", peer, dcli_error_sentence());
        wire->peer[peer].foreign = true;
        dcli_wire_set(endpoint, peer, DCLI_END_REFUSED);
    } else if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED && wire->peer[peer].state == DCLI_WIRE_MET)
        dcli_wire_rise(endpoint, peer);
    else if (ending != DCLI_NOT_ENDED)
        dcli_wire_set(endpoint, peer, ending);
}

/** Count a refused connection. @return whether to log it: once a second. */
static bool count_refusal(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    int64_t now = dcli_monotonic_ns();
    endpoint->refused++;
    wire->refused++;
    if (wire->logged_ns != 0 && now - wire->logged_ns <= 1000000000)
        return false;
    wire->logged_ns = now;
    return true;
}

/** End unauthenticated connections that receive too many bytes. */
static void cut_floods(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    int64_t nobody;
    while (dcli_acceptor_next_flood(&wire->acceptor, &nobody))
        if (count_refusal(endpoint))
            DCLI_LOG(wire->log, DCLI_LOG_WARN,
                     "someone sends more than a handshake takes: cut off (%" PRId64 " refused in all)",
                     endpoint->refused);
    wire->quiet[DCLI_WIRE_ACCEPTOR_ARRIVALS] = true;
}

static void look_at_events(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    dcli_event event;
    int64_t peer;
    while (!wire->quiet[DCLI_WIRE_OUTGOING_EVENTS]) {
        if (dcli_monitor_next(&wire->monitor, &event))
            note_outgoing(endpoint, &event);
        else
            wire->quiet[DCLI_WIRE_OUTGOING_EVENTS] = true;
    }
    while (!wire->quiet[DCLI_WIRE_ACCEPTOR_EVENTS]) {
        if (wire->acceptor.router != NULL && dcli_acceptor_next_end(&wire->acceptor, &peer))
            dcli_wire_set(endpoint, (int)peer, DCLI_END_LOST);
        else
            wire->quiet[DCLI_WIRE_ACCEPTOR_EVENTS] = true;
    }
    if (wire->acceptor.router == NULL)
        wire->quiet[DCLI_WIRE_ACCEPTOR_ARRIVALS] = true;
    else if (!wire->quiet[DCLI_WIRE_ACCEPTOR_ARRIVALS] || wire->acceptor.unseen)
        cut_floods(endpoint);
}

void dcli_wire_forget(dcli_endpoint *endpoint, int peer)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *one = &wire->peer[peer];
    wire->closing -= one->state == DCLI_WIRE_CLOSING;
    if (one->address != NULL && one->state != DCLI_WIRE_GONE)
        zmq_disconnect(wire->outgoing, one->address);
    else if (wire->acceptor.router != NULL)
        dcli_acceptor_cut(&wire->acceptor, peer);
    dcli_wire_stir_outgoing(wire);
    dcli_wire_stir_acceptor(wire);
    one->state = DCLI_WIRE_GONE;
    dcli_parcels_free(&one->to_send);
    dcli_parcels_free(&one->early);
}

static dcl_status lost(dcli_endpoint *endpoint, int peer, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *one = &wire->peer[peer];
    char who[32];
    snprintf(who, sizeof who, "peer %d", peer);
    dcli_wire_forget(endpoint, peer);
    incoming->from = peer;
    if (one->broken[0] != '\0')
        return DCLI_FAIL(DCL_ERR_NODE_LOST, "%s", one->broken);
    if (one->foreign)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "peer %d at %s: the other end of the connection is another user's; expected a process of this "
                         "user or of root; find out who takes the ports of workers here, or use keys",
                         peer, one->address);
    if (one->malformed)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "peer %d sent what is no message; expected only messages of protocol %d; its "
                         "connection was ended",
                         peer, DCLI_PROTOCOL);
    if (one->address != NULL)
        return dcli_ending_fail(one->ending, who, one->address, wire->own != NULL, wire->silence_ms, 100);
    return DCLI_FAIL(
        DCL_ERR_NODE_LOST,
        "the connection of peer %d has ended; expected it to last: its process ended, was silent for %" PRId64
        " ms, or the network failed; look there for why",
        peer, wire->silence_ms);
}

/* Find an ended peer all of whose messages were taken; -1: none. They were taken if all sockets were found empty after
 * its end was seen. If sockets are never empty: connections take turns, so a peer from which nothing came for long
 * enough has nothing left. */
static int over(const dcli_endpoint *endpoint, bool empty)
{
    const dcli_wire *wire = endpoint->link;
    uint64_t turns = 4 * (uint64_t)endpoint->peer_count + 2 * (uint64_t)(wire->acceptor.count + LOOK_EVERY);
    for (int peer = 0; wire->closing > 0 && peer < endpoint->peer_count; peer++)
        if (wire->peer[peer].state == DCLI_WIRE_CLOSING && (empty || wire->taken - wire->peer[peer].last > turns))
            return peer;
    return -1;
}

/** Report a lost peer. @return DCL_ERR_NODE_LOST, or DCL_ERR_TIMEOUT: there is none. Dropped peers are not reported. */
static dcl_status tell_lost(dcli_endpoint *endpoint, bool empty, dcli_incoming *incoming)
{
    int peer;
    while ((peer = over(endpoint, empty)) >= 0) {
        if (!endpoint->lost[peer])
            return lost(endpoint, peer, incoming);
        dcli_wire_forget(endpoint, peer);
    }
    return DCL_ERR_TIMEOUT;
}

/* ---- whose message it is ------------------------------------------------------------------------------------------ */

static void drop(dcli_incoming *incoming)
{
    dcli_frames_close(incoming->frames);
    incoming->frames->end = NULL;
    *incoming = (dcli_incoming){.descriptor = -1, .frames = incoming->frames};
}

/** Refuse an authenticated client that uses another peer's number, or none of a peer. */
static void refuse_stranger(dcli_endpoint *endpoint, dcli_incoming *incoming, int fd)
{
    dcli_wire *wire = endpoint->link;
    if (count_refusal(endpoint))
        DCLI_LOG(wire->log, DCLI_LOG_WARN,
                 "someone who %s claims to be peer %d%s: cut off (%" PRId64 " refused in all)",
                 wire->poses ? "has not shown the host's key" : "is not expected", incoming->from,
                 wire->poses ? ", the host" : "", endpoint->refused);
    if (wire->poses || (incoming->from >= 0 && incoming->from != wire->host)) {
        dcli_routing_id(incoming->from, wire->stranger.id);
        wire->stranger.bytes = DCLI_ROUTING_BYTES;
    }
    dcli_acceptor_cut_stranger(&wire->acceptor, fd, wire->stranger.id, wire->stranger.bytes);
    dcli_wire_stir_acceptor(wire);
    drop(incoming);
}

static bool key_fits(const dcli_wire_peer *peer, zmq_msg_t *header)
{
    const char *user = zmq_msg_gets(header, "User-Id");
    return user != NULL && strcmp(user, peer->key) == 0;
}

/** Handle the first message over a connection to the acceptor. @return false: it must not be taken. */
static bool welcome(dcli_endpoint *endpoint, int from, zmq_msg_t *header, int fd)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *peer = &wire->peer[from];
    unsigned char id[DCLI_HOST_ROUTING_BYTES];
    bool expected = peer->state == DCLI_WIRE_EXPECTED;
    if ((!expected && peer->state != DCLI_WIRE_UNKNOWN) || from <= endpoint->self || peer->address != NULL)
        return false;
    if (expected && !key_fits(peer, header))
        return false;
    if (!expected) {
        const char *user = zmq_msg_gets(header, "User-Id");
        snprintf(peer->key, sizeof peer->key, "%s", user != NULL ? user : "");
    }
    size_t id_bytes = dcli_wire_id(wire, from, id);
    peer->fd = fd;
    bool there = dcli_acceptor_claim(&wire->acceptor, fd, id, id_bytes, from);
    dcli_wire_stir_acceptor(wire);
    if (!expected) {
        peer->state = DCLI_WIRE_UNEXPECTED;
        peer->ended = !there;
    } else if (there) {
        dcli_wire_rise(endpoint, from);
    } else {
        dcli_wire_set(endpoint, from, DCLI_END_LOST);
    }
    return true;
}

/** Accept no later message of a peer, count a refused message, and end the connection. If the peer is expected, it is
 *  reported as lost soon, and its connection ends then; otherwise its connection ends now, and the messages stored for
 *  it are dropped. */
static void give_up(dcli_endpoint *endpoint, int from)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *peer = &wire->peer[from];
    peer->malformed = true;
    endpoint->refused++;
    wire->refused++;
    if (peer->state != DCLI_WIRE_UNEXPECTED) {
        dcli_wire_set(endpoint, from, DCLI_END_LOST);
        return;
    }
    peer->ended = true;
    dcli_parcels_free(&peer->early);
    dcli_acceptor_cut(&wire->acceptor, from);
    dcli_wire_stir_acceptor(wire);
}

/** Store a message of a peer until the peer is expected. */
static void keep_early(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *peer = &wire->peer[incoming->from];
    zmq_msg_t header, payload;
    zmq_msg_init(&header);
    zmq_msg_init(&payload);
    zmq_msg_move(&header, &incoming->frames->header);
    zmq_msg_move(&payload, &incoming->frames->payload);
    bool room = !peer->malformed && dcli_parcels_put(&peer->early, incoming->from, &header, &payload,
                                                     incoming->extra_frames, DCLI_WIRE_EARLY) == DCL_OK;
    if (!room && !peer->malformed)
        give_up(endpoint, incoming->from);
    drop(incoming);
}

/* ---- seals -------------------------------------------------------------------------------------------------------- */

bool dcli_wire_break_off(dcli_endpoint *endpoint, int from, const char *format, ...)
{
    dcli_wire_peer *peer = &((dcli_wire *)endpoint->link)->peer[from];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(peer->broken, sizeof peer->broken, format, arguments);
    va_end(arguments);
    give_up(endpoint, from);
    return false;
}

/** Whether a message has another protocol version: then that is reported first, because its seal may differ. */
static bool speaks_otherwise(const dcli_incoming *incoming)
{
    uint64_t version = dcli_message_version(incoming->bytes, incoming->length);
    return version != 0 && version != DCLI_PROTOCOL;
}

/** Handle a heartbeat that contains a peer's view of the connection (net/direct.h). @return false: it is not one. */
static bool hears_view(dcli_wire *wire, const dcli_incoming *incoming, uint64_t number)
{
    dcli_wire_peer *peer = &wire->peer[incoming->from];
    if (!dcli_wire_has_sums(wire) || incoming->extra_frames > 0 || number != peer->heard ||
        incoming->length != DCLI_SEAL_VIEW + dcli_seal_bytes(true))
        return false;
    peer->view = dcli_seal_view(incoming->bytes);
    dcli_wire_compare_views(peer);
    return true;
}

/** Check the seal and remove it. @return false: the message is a heartbeat, or its connection is no longer used. */
static bool unseal(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_peer *peer = &wire->peer[incoming->from];
    bool sums = dcli_wire_has_sums(wire);
    size_t seal = dcli_seal_bytes(sums);
    int from = incoming->from;
    bool whole = incoming->length >= seal && (!sums || dcli_seal_holds(incoming->bytes, incoming->length,
                                                                       incoming->payload, incoming->payload_bytes));
    if (!whole && speaks_otherwise(incoming))
        return true;
    if (!whole)
        return dcli_wire_break_off(
            endpoint, from,
            "bytes from peer %d have changed on their way (checksum); expected them as they were sent; its "
            "connection was ended: look for a bad network card, switch or memory, or use keys",
            from);
    uint64_t number = dcli_seal_number(incoming->bytes, incoming->length, sums);
    if (hears_view(wire, incoming, number))
        return false;
    bool beats = incoming->length == seal && incoming->extra_frames == 0;
    if (sums && (number & DCLI_SEAL_BARE) != 0 && !peer->direct)
        return dcli_wire_break_off(endpoint, from,
                                   "peer %d has sent a payload without a checksum; expected that only of a process "
                                   "that is connected directly; its "
                                   "connection was ended",
                                   from);
    number &= sums ? ~DCLI_SEAL_BARE : UINT64_MAX;
    if (number != peer->heard + !beats && speaks_otherwise(incoming))
        return true;
    if (number != peer->heard + !beats)
        return dcli_wire_break_off(endpoint, from,
                                   "messages from peer %d are missing: number %" PRIu64 " came after %" PRIu64
                                   "; expected all in order; its connection was ended: look for what lies between",
                                   from, number, peer->heard);
    peer->heard = number;
    incoming->length -= seal;
    return !beats;
}

/** Whether a message has arrived over a connection that was welcomed. After that has ended, a later connection with the
 *  same routing id may have its descriptor; it has another key, unless it belongs to the same process. */
static bool is_welcomed(const dcli_wire *wire, int from, zmq_msg_t *header, int fd)
{
    const dcli_wire_peer *peer = &wire->peer[from];
    return peer->fd == fd && (peer->state >= DCLI_WIRE_UP || peer->state == DCLI_WIRE_UNEXPECTED) &&
           (wire->own == NULL || key_fits(peer, header));
}

/** Decide about a message. @return whether it is for the caller; otherwise it has been handled. */
static bool admit(dcli_endpoint *endpoint, dcli_incoming *incoming, bool by_acceptor)
{
    dcli_wire *wire = endpoint->link;
    int from = incoming->from;
    zmq_msg_t *header = &incoming->frames->header;
    if (by_acceptor) {
        int fd = zmq_msg_get(header, ZMQ_SRCFD);
        bool known = from >= 0 && !wire->poses && is_welcomed(wire, from, header, fd);
        if (!known && (from < 0 || wire->poses || !welcome(endpoint, from, header, fd))) {
            refuse_stranger(endpoint, incoming, fd);
            return false;
        }
    } else if (from >= 0 && wire->peer[from].state == DCLI_WIRE_MET) {
        dcli_wire_stir_outgoing(wire);
        look_at_events(endpoint); /* authenticate the sender before its message is used */
        if (wire->peer[from].state == DCLI_WIRE_MET)
            dcli_wire_rise(endpoint, from);
    }
    bool empty = incoming->length == 0 && incoming->extra_frames == 0; /* an empty message is a greeting */
    if (from < 0 || empty || endpoint->lost[from] || wire->peer[from].state == DCLI_WIRE_GONE ||
        wire->peer[from].malformed || wire->peer[from].foreign) {
        drop(incoming);
        return false;
    }
    wire->peer[from].last = wire->taken;
    if (!unseal(endpoint, incoming)) {
        drop(incoming);
        return false;
    }
    if (wire->peer[from].state != DCLI_WIRE_UNEXPECTED)
        return true;
    keep_early(endpoint, incoming);
    return false;
}

/* ---- taking ------------------------------------------------------------------------------------------------------- */

static dcl_status take_ready(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    dcli_parcel *parcel;
    while ((parcel = dcli_parcels_take(&wire->ready)) != NULL) {
        dcli_frames *frames = incoming->frames;
        zmq_msg_init(&frames->header);
        zmq_msg_init(&frames->payload);
        zmq_msg_move(&frames->header, &parcel->header);
        zmq_msg_move(&frames->payload, &parcel->payload);
        frames->end = dcli_frames_close;
        size_t length = zmq_msg_size(&frames->header);
        size_t seal = parcel->from != endpoint->self ? dcli_seal_bytes(dcli_wire_has_sums(wire)) : 0;
        *incoming = (dcli_incoming){.from = parcel->from,
                                    .bytes = zmq_msg_data(&frames->header),
                                    .length = length > seal ? length - seal : length, /* its seal was checked before */
                                    .payload = parcel->extra_frames > 0 ? zmq_msg_data(&frames->payload) : NULL,
                                    .payload_bytes = zmq_msg_size(&frames->payload),
                                    .extra_frames = parcel->extra_frames,
                                    .descriptor = -1,
                                    .frames = frames};
        dcli_parcel_free(parcel);
        if (!endpoint->lost[incoming->from])
            return DCL_OK;
        drop(incoming);
    }
    return DCL_ERR_TIMEOUT;
}

/** Recognise the host by its routing id, a name that only it knows. Peers have their numbers as routing ids; one that has the
 *  host's number is not the host, and is refused. */
static void recognise_host(dcli_wire *wire, bool by_acceptor, int *from)
{
    wire->poses = by_acceptor && wire->host >= 0 && *from == wire->host;
    if (by_acceptor && wire->host >= 0 && *from < 0 && wire->stranger.bytes == sizeof wire->host_id &&
        memcmp(wire->stranger.id, wire->host_id, sizeof wire->host_id) == 0)
        *from = wire->host;
}

static dcl_status take_from(dcli_endpoint *endpoint, bool by_acceptor, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    dcli_wire_source source = by_acceptor ? DCLI_WIRE_ACCEPTOR : DCLI_WIRE_OUTGOING;
    void *socket = by_acceptor ? wire->acceptor.router : wire->outgoing;
    while (socket != NULL && !wire->quiet[source]) {
        bool more;
        dcl_status status = dcli_take_sender(socket, endpoint->peer_count, &incoming->from, &more, &wire->stranger);
        if (status == DCL_ERR_TIMEOUT)
            break;
        if (status != DCL_OK)
            return status;
        recognise_host(wire, by_acceptor, &incoming->from);
        wire->taken++;
        if (!more)
            continue;
        dcli_take_rest(socket, incoming);
        if (incoming->from >= 0)
            dcli_wire_note_taken(&wire->peer[incoming->from], incoming);
        if (admit(endpoint, incoming, by_acceptor))
            return DCL_OK;
    }
    wire->quiet[source] = true;
    return DCL_ERR_TIMEOUT;
}

/** Take a message from either socket, in turn. */
static dcl_status take_any(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    bool acceptor_first = wire->taken & 1;
    dcl_status status = take_from(endpoint, acceptor_first, incoming);
    return status == DCL_ERR_TIMEOUT ? take_from(endpoint, !acceptor_first, incoming) : status;
}

/** If the last message turned out to be invalid, accept nothing more from its sender. */
static void see_refusal(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    if (endpoint->refused == wire->refused)
        return;
    wire->refused = endpoint->refused;
    if (wire->last_from < 0 || wire->last_from == endpoint->self)
        return;
    wire->peer[wire->last_from].malformed = true;
    dcli_wire_set(endpoint, wire->last_from, DCLI_END_LOST);
}

static dcl_status take_or_tell(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    dcl_status status = take_ready(endpoint, incoming);
    if (status == DCL_ERR_TIMEOUT && wire->taken % LOOK_EVERY == 0 && listen_around(wire))
        look_at_events(endpoint);
    if (status == DCL_ERR_TIMEOUT)
        status = tell_lost(endpoint, false, incoming);
    if (status == DCL_ERR_TIMEOUT)
        status = take_any(endpoint, incoming);
    if (status == DCL_ERR_TIMEOUT && (wire->closing > 0 || wire->now_ns - wire->listened_ns >= FRESH_NS) &&
        listen_around(wire)) {
        if (has_events(wire)) {
            look_at_events(endpoint);
            (void)listen_around(wire); /* first deliver messages that came before an end that was just seen */
        }
        status = take_any(endpoint, incoming);
    }
    return status == DCL_ERR_TIMEOUT ? tell_lost(endpoint, true, incoming) : status;
}

dcl_status dcli_wire_take(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    dcli_wire *wire = endpoint->link;
    see_refusal(endpoint);
    dcli_wire_beat(endpoint);
    dcl_status status = take_or_tell(endpoint, incoming);
    dcli_wire_look_ahead(endpoint);
    wire->last_from = status == DCL_OK ? incoming->from : -1;
    return status;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

bool dcli_wire_seems_ready(const dcli_endpoint *endpoint)
{
    struct pollfd polled[DCLI_WIRE_SOURCES];
    return !is_idle(endpoint) || poll_sources(endpoint->link, polled) != 0;
}

/* Quiet sources stay readable until they are checked, so poll() sees them. */
bool dcli_wire_arm(dcli_endpoint *endpoint) { return is_idle(endpoint); }
