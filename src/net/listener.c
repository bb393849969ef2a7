/* net/listener.c - the listener that clients call: a ROUTER that identifies clients by the ids that libzmq assigns, and
 * limits what each may send. */
#include "net/listener.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/listener_inside.h"
#include "net/wire_socket.h"

enum {
    ID_BYTES = 5,     /* length of an id that libzmq has assigned: 0, then a number */
    MOST_WAITING = 64 /* queued messages per client, in either direction */
};

typedef struct client {
    uint32_t number;
    unsigned char id[ID_BYTES];
    bool known;        /* the caller has received a message of it */
    bool session;      /* it was sent OPENED */
    bool leaving;      /* it is being disconnected; further messages are ignored */
    bool ended;        /* its connection has ended */
    int64_t heard_ns;  /* time of its last message */
    int64_t second_ns; /* start of the second that `in_second` counts */
    int64_t cut_ns;    /* if it is leaving: when its connection is ended */
    int in_second;     /* messages received since second_ns */
    char who[64 + DCLI_FINGERPRINT], key[DCLI_KEY_HEX];
} client;

static const int64_t ms = 1000000; /* nanoseconds of a millisecond */

struct dcli_listener {
    dcli_acceptor acceptor;
    dcli_frames_pool *pool;
    dcli_pack_buffer packed;
    client *client; /* [count] the clients that are connected */
    int64_t count, capacity, refused, logged_ns;
    uint32_t numbers; /* number of clients so far: the last number given */
    int most;
    int64_t idle_ns;
    const dcli_log *log;
};

/* ---- life --------------------------------------------------------------------------------------------------------- */

dcl_status dcli_listener_open(const dcli_listener_terms *terms, dcli_listener **listener_out)
{
    dcli_listener *listener = dcli_calloc(1, sizeof *listener);
    if (listener == NULL)
        return DCL_ERR_NOMEM;
    listener->most = terms->most_clients;
    listener->idle_ns = (terms->idle_ms > 0 ? terms->idle_ms : DCLI_LISTENER_IDLE_MS) * ms;
    listener->log = terms->log;
    listener->pool = dcli_frames_pool_new();
    int strangers = terms->most_strangers > 0 ? terms->most_strangers : DCLI_LISTENER_STRANGERS;
    dcli_acceptor_terms acceptor = {.net = terms->net,
                                    .address = terms->address,
                                    .authenticator = terms->authenticator,
                                    .domain = terms->domain,
                                    .own = terms->own,
                                    .silence_ms = terms->silence_ms,
                                    .most_bytes = DCLI_LISTENER_FRAME,
                                    .most_waiting = MOST_WAITING,
                                    .most_before = DCLI_ACCEPTOR_HANDSHAKE,
                                    .most_ahead = DCLI_LISTENER_AHEAD,
                                    .most_in_all = DCLI_LISTENER_IN_ALL,
                                    .most_connections = terms->most_clients + strangers};
    dcl_status status = listener->pool == NULL ? DCL_ERR_NOMEM : dcli_acceptor_open(&acceptor, &listener->acceptor);
    if (status == DCL_OK)
        *listener_out = listener;
    else
        dcli_listener_close(listener);
    return status;
}

void dcli_listener_close(dcli_listener *listener)
{
    if (listener == NULL)
        return;
    dcli_acceptor_close(&listener->acceptor);
    if (listener->pool != NULL)
        dcli_frames_pool_close(listener->pool);
    dcli_free(listener->packed.bytes);
    dcli_free(listener->client);
    dcli_free(listener);
}

const char *dcli_listener_address(const dcli_listener *listener) { return listener->acceptor.address; }
int64_t dcli_listener_refused(const dcli_listener *listener) { return listener->refused; }

/* ---- clients ------------------------------------------------------------------------------------------------------ */

static client *by_number(const dcli_listener *listener, uint32_t number)
{
    for (int64_t i = 0; i < listener->count; i++)
        if (listener->client[i].number == number)
            return &listener->client[i];
    return NULL;
}

static client *by_id(const dcli_listener *listener, const unsigned char *id)
{
    for (int64_t i = 0; i < listener->count; i++)
        if (memcmp(listener->client[i].id, id, ID_BYTES) == 0)
            return &listener->client[i];
    return NULL;
}

static void forget(dcli_listener *listener, client *one)
{
    *one = listener->client[--listener->count]; /* fill the gap with the last entry */
}

/** End a client's connection at once. If the caller knows the client, dcli_listener_receive() reports the end. */
static void cut(dcli_listener *listener, client *one)
{
    dcli_acceptor_cut(&listener->acceptor, one->number);
    one->ended = one->leaving = true;
}

/** End a client's connection after a short time, ignoring what it sends. */
static void see_off(client *one)
{
    one->leaving = true;
    one->known = false;
    one->cut_ns = dcli_monotonic_ns() + DCLI_LISTENER_FAREWELL_MS * ms;
}

void dcli_listener_hang_up(dcli_listener *listener, uint32_t number)
{
    client *one = by_number(listener, number);
    if (one != NULL && !one->leaving)
        see_off(one);
    else if (one != NULL)
        one->known = false;
}

/** Count a refusal. It is logged if the last log line is at least a second old. */
static void refuse(dcli_listener *listener, const char *who, const char *what)
{
    int64_t now = dcli_monotonic_ns();
    listener->refused++;
    if (listener->logged_ns != 0 && now - listener->logged_ns < 1000 * ms)
        return;
    listener->logged_ns = now;
    DCLI_LOG(listener->log, DCLI_LOG_WARN, "client at %s: %s: hung up (%" PRId64 " in all)", who, what,
             listener->refused);
}

static void describe(client *one, zmq_msg_t *frame)
{
    const char *address = zmq_msg_gets(frame, "Peer-Address"), *key = zmq_msg_gets(frame, "User-Id");
    bool has_key = key != NULL && strlen(key) == DCLI_KEY_HEX - 1;
    snprintf(one->who, sizeof one->who, "%.50s%s%.16s", address != NULL ? address : "unknown", has_key ? ", key " : "",
             has_key ? key : "");
    snprintf(one->key, sizeof one->key, "%s", has_key ? key : "");
}

/** Add a client for a first message. @return NULL: there is no memory, or its connection has ended; the message is
 *  dropped. */
static client *add_client(dcli_listener *listener, dcli_envelope *envelope)
{
    zmq_msg_t *frame = &envelope->incoming.frames->header;
    int fd = zmq_msg_get(frame, ZMQ_SRCFD);
    /* An id that the client chose itself could be that of another client. */
    bool own_id = envelope->id_bytes != ID_BYTES || envelope->id[0] != 0;
    if (own_id || dcli_grow(&listener->client, listener->count, &listener->capacity, sizeof *listener->client) != 0) {
        dcli_acceptor_cut_stranger(&listener->acceptor, fd, envelope->id, envelope->id_bytes);
        return NULL;
    }
    client *one = &listener->client[listener->count];
    *one = (client){.number = listener->numbers + 1, .heard_ns = dcli_monotonic_ns()};
    memcpy(one->id, envelope->id, ID_BYTES);
    if (!dcli_acceptor_claim(&listener->acceptor, fd, one->id, ID_BYTES, one->number))
        return NULL;
    describe(one, frame);
    listener->numbers++;
    listener->count++;
    return one;
}

static int64_t staying(const dcli_listener *listener)
{
    int64_t count = 0;
    for (int64_t i = 0; i < listener->count; i++)
        count += !listener->client[i].leaving && !listener->client[i].ended;
    return count;
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static dcl_status send_to(dcli_listener *listener, client *one, const dcli_message *message)
{
    zmq_msg_t frame;
    dcl_status status = dcli_message_pack_into(message, &listener->packed);
    if (status == DCL_OK)
        status = dcli_frame_of(listener->packed.bytes, listener->packed.length, &frame);
    if (status != DCL_OK)
        return status;
    int rc = zmq_send(listener->acceptor.router, one->id, ID_BYTES, ZMQ_DONTWAIT | ZMQ_SNDMORE);
    if (rc >= 0)
        rc = dcli_send_frame(&frame, listener->acceptor.router, 0);
    if (rc < 0) {
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_send", "the client is gone or takes nothing: end its session");
        cut(listener, one);
    }
    zmq_msg_close(&frame);
    return status;
}

dcl_status dcli_listener_send(dcli_listener *listener, uint32_t number, const dcli_message *message)
{
    client *one = by_number(listener, number);
    if (one == NULL || one->leaving || one->ended)
        return DCLI_FAIL(DCL_ERR_NETWORK, "client %" PRIu32 " is gone; expected one that is there; end its session",
                         number);
    dcl_status status = send_to(listener, one, message);
    if (status == DCL_OK && message->kind == DCLI_MSG_OPENED)
        one->session = true;
    return status;
}

__attribute__((format(printf, 4, 5))) static void turn_away(dcli_listener *listener, client *one, dcl_status status,
                                                            const char *format, ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    refuse(listener, one->who, sentence);
    dcli_message message = {.kind = DCLI_MSG_REFUSED, .refused = {status, sentence}};
    bool known = one->known;
    if (send_to(listener, one, &message) == DCL_OK)
        see_off(one);
    one->known = known; /* the caller is told that it is gone */
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

static bool too_many(client *one)
{
    int64_t now = dcli_monotonic_ns();
    if (now - one->second_ns >= 1000 * ms) {
        one->second_ns = now;
        one->in_second = 0;
    }
    one->heard_ns = now;
    return ++one->in_second > (one->session ? DCLI_LISTENER_SESSION_RATE : DCLI_LISTENER_RATE);
}

/** Process one message. @return DCL_OK: it is for the caller; DCL_ERR_TIMEOUT: the listener has handled it. */
static dcl_status look_at(dcli_listener *listener, client *one, dcli_envelope *envelope, dcli_received *received_out)
{
    uint64_t version = dcli_envelope_version(envelope);
    if (version != 0 && version != DCLI_PROTOCOL) {
        turn_away(listener, one, DCL_ERR_PROTOCOL,
                  "the client speaks version %" PRIu64
                  " of the protocol, this worker version %d; expected the same; let both "
                  "run the same version of DCL",
                  version, DCLI_PROTOCOL);
    } else if (!one->known && staying(listener) > listener->most) {
        turn_away(listener, one, DCL_ERR_NETWORK, "%d clients are connected; expected no more; call again later",
                  listener->most);
    } else {
        dcl_status status = dcli_envelope_open(envelope, received_out);
        if (status != DCL_ERR_PROTOCOL)
            return status;
        refuse(listener, one->who, dcli_error_sentence());
        cut(listener, one);
        return DCL_ERR_TIMEOUT;
    }
    dcli_envelope_drop(envelope);
    return DCL_ERR_TIMEOUT;
}

/** Whether to drop a message of a client: it is leaving, sends too many, or this is only a greeting. */
static bool is_to_be_dropped(dcli_listener *listener, client *one, const dcli_envelope *envelope)
{
    if (one == NULL || one->leaving)
        return true;
    if (too_many(one)) {
        refuse(listener, one->who, "more messages a second than it may send");
        cut(listener, one);
        return true;
    }
    return dcli_envelope_is_greeting(envelope);
}

static dcl_status take(dcli_listener *listener, dcli_received *received_out, uint32_t *client_out)
{
    for (;;) {
        dcli_envelope envelope;
        dcl_status status = dcli_envelope_take(listener->acceptor.router, true, listener->pool, &envelope);
        if (status != DCL_OK)
            return status;
        client *one = envelope.id_bytes == ID_BYTES ? by_id(listener, envelope.id) : NULL;
        if (one == NULL)
            one = add_client(listener, &envelope);
        else
            dcli_acceptor_note_message(&listener->acceptor, one->number);
        if (is_to_be_dropped(listener, one, &envelope)) {
            dcli_envelope_drop(&envelope);
            continue;
        }
        status = look_at(listener, one, &envelope, received_out);
        if (status == DCL_ERR_TIMEOUT)
            continue;
        *client_out = one->number;
        one->known = one->known || status == DCL_OK;
        return status;
    }
}

/** Process ended connections. @return whether there was any. */
static bool look_at_ends(dcli_listener *listener)
{
    int64_t number;
    bool any = false;
    while (dcli_acceptor_next_end(&listener->acceptor, &number)) {
        client *one = by_number(listener, (uint32_t)number);
        if (one != NULL)
            one->ended = any = true;
    }
    return any;
}

/** Time at which the listener disconnects a client that sends nothing more. */
static int64_t due_ns(const dcli_listener *listener, const client *one)
{
    if (one->leaving)
        return one->cut_ns;
    return one->session ? INT64_MAX : one->heard_ns + listener->idle_ns;
}

static void cut_who_is_due(dcli_listener *listener)
{
    int64_t now = dcli_monotonic_ns();
    for (int64_t i = 0; i < listener->count; i++) {
        client *one = &listener->client[i];
        if (one->ended || due_ns(listener, one) > now)
            continue;
        if (!one->leaving)
            refuse(listener, one->who, "nothing was said for too long");
        cut(listener, one);
    }
    if (dcli_acceptor_cut_silent(&listener->acceptor, now - listener->idle_ns) > 0)
        refuse(listener, "some address", "nothing was said for too long");
}

/** Report an ended client to the caller. @return DCL_ERR_NODE_LOST: *client_out is set; DCL_ERR_TIMEOUT: the caller
 *  knows none of the clients that ended. */
static dcl_status tell_ended(dcli_listener *listener, uint32_t *client_out)
{
    for (int64_t i = listener->count - 1; i >= 0; i--) {
        client one = listener->client[i];
        if (!one.ended)
            continue;
        forget(listener, &listener->client[i]);
        *client_out = one.number;
        if (one.known)
            return DCLI_FAIL(DCL_ERR_NODE_LOST,
                             "the connection of client %" PRIu32 " (%s) has ended; expected it to last as "
                             "long as its session; end what it has here",
                             one.number, one.who);
    }
    return DCL_ERR_TIMEOUT;
}

static void cut_floods(dcli_listener *listener)
{
    int64_t number;
    while (dcli_acceptor_next_flood(&listener->acceptor, &number)) {
        client *one = number >= 0 ? by_number(listener, (uint32_t)number) : NULL;
        refuse(listener, one != NULL ? one->who : "some address", "a message without end");
        if (one != NULL)
            one->ended = one->leaving = true;
    }
}

static dcl_status step(dcli_listener *listener, dcli_received *received_out, uint32_t *client_out)
{
    cut_floods(listener);
    dcl_status status = take(listener, received_out, client_out);
    if (status != DCL_ERR_TIMEOUT)
        return status;
    cut_who_is_due(listener);
    if (look_at_ends(listener)) { /* first deliver the last messages of clients that have ended */
        status = take(listener, received_out, client_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
    }
    return tell_ended(listener, client_out);
}

static int64_t next_due_ns(const dcli_listener *listener)
{
    int64_t due = dcli_acceptor_oldest_silent_ns(&listener->acceptor);
    due = due == INT64_MAX ? due : due + listener->idle_ns + 1;
    for (int64_t i = 0; i < listener->count; i++)
        if (due_ns(listener, &listener->client[i]) < due)
            due = due_ns(listener, &listener->client[i]);
    return due;
}

dcl_status dcli_listener_receive(dcli_listener *listener, int milliseconds, dcli_received *received_out,
                                 uint32_t *client_out)
{
    int64_t end_ns = milliseconds < 0 ? INT64_MAX : dcli_monotonic_ns() + (int64_t)milliseconds * ms;
    for (;;) {
        dcl_status status = step(listener, received_out, client_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
        if (end_ns != INT64_MAX && dcli_monotonic_ns() >= end_ns)
            return DCL_ERR_TIMEOUT;
        int64_t due = next_due_ns(listener);
        if (!dcli_socket_has_input(listener->acceptor.router) &&
            !dcli_socket_has_input(listener->acceptor.monitor.events))
            dcli_envelope_wait(
                DCLI_LISTENER_DESCRIPTORS,
                (int[]){listener->acceptor.fd, listener->acceptor.monitor.fd, listener->acceptor.arrivals},
                due < end_ns ? due : end_ns);
    }
}

int dcli_listener_descriptors(const dcli_listener *listener, int descriptors_out[DCLI_LISTENER_DESCRIPTORS],
                              int *milliseconds_out)
{
    int64_t due = next_due_ns(listener), left = due - dcli_monotonic_ns();
    descriptors_out[0] = listener->acceptor.fd;
    descriptors_out[1] = listener->acceptor.monitor.fd;
    descriptors_out[2] = listener->acceptor.arrivals;
    *milliseconds_out = due == INT64_MAX ? -1 : left > 0 ? (int)(left / ms) + 1 : 0;
    return DCLI_LISTENER_DESCRIPTORS;
}

const char *dcli_listener_caller(const dcli_listener *listener, uint32_t number)
{
    const client *one = by_number(listener, number);
    return one != NULL ? one->who : "";
}

const char *dcli_listener_key(const dcli_listener *listener, uint32_t number)
{
    const client *one = by_number(listener, number);
    return one != NULL ? one->key : "";
}
