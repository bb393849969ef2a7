/* net/control.c - a client's call to a listener: a DEALER that connects once. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/listener_inside.h"
#include "net/token.h"
#include "net/wire_socket.h"

struct dcli_control {
    void *dealer;
    int fd;
    dcli_monitor monitor;
    dcli_frames_pool *pool;
    dcli_pack_buffer packed;
    char address[DCLI_MOST_ADDRESS + 1]; /* address of the listener, with a numeric host */
    bool has_keys;
    int64_t silence_ms;
    bool up;        /* the handshake is over */
    int connection; /* descriptor of the connection; libzmq's */
    dcli_ending ending;
    char sentence[DCLI_ERROR_BYTES]; /* how the connection ended; "": not reported yet */
};

static dcl_status resolve(dcli_control *call, const dcli_control_terms *terms, bool *ipv6_out)
{
    dcli_address address;
    dcli_resolved resolved;
    dcl_status status = dcli_address_parse(terms->address, DCLI_TO_CALL, &address);
    if (status == DCL_OK && (terms->own != NULL) == (terms->password != NULL))
        status = DCLI_FAIL(DCL_ERR_INVALID,
                           "%s given to call %s; expected one of the two; give keys, or on loopback the "
                           "token of the worker",
                           terms->own != NULL ? "both keys and a password are" : "neither keys nor a password is",
                           address.text);
    if (status == DCL_OK)
        status = dcli_address_resolve(&address, &resolved);
    if (status == DCL_OK)
        status = dcli_address_check_call(&address, &resolved, terms->own != NULL);
    if (status != DCL_OK)
        return status;
    dcli_resolved_text(&resolved, resolved.port, call->address);
    *ipv6_out = resolved.ipv6;
    return DCL_OK;
}

static dcl_status connect_call(dcli_control *call, const dcli_control_terms *terms, bool ipv6)
{
    size_t length = sizeof call->fd;
    call->dealer = dcli_net_socket(terms->net, ZMQ_DEALER);
    if (call->dealer == NULL)
        return dcli_error_status();
    dcl_status status = dcli_wire_dress(call->dealer, terms->silence_ms, DCLI_MOST_MESSAGE);
    if (status == DCL_OK)
        status = dcli_wire_option(call->dealer, ZMQ_IPV6, ipv6);
    if (status == DCL_OK)
        status = dcli_wire_present(call->dealer, terms->own, DCLI_AUTHENTICATOR_USER, terms->password,
                                   terms->server_key != NULL ? terms->server_key : "");
    if (status == DCL_OK)
        status = dcli_monitor_open(terms->net, call->dealer, &call->monitor);
    if (status == DCL_OK && (zmq_getsockopt(call->dealer, ZMQ_FD, &call->fd, &length) != 0 ||
                             zmq_connect(call->dealer, call->address) != 0))
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "check the address");
    return status;
}

dcl_status dcli_control_open(const dcli_control_terms *terms, dcli_control **call_out)
{
    dcli_control *call = dcli_calloc(1, sizeof *call);
    if (call == NULL)
        return DCL_ERR_NOMEM;
    bool ipv6 = false;
    call->has_keys = terms->own != NULL;
    call->silence_ms = terms->silence_ms;
    call->pool = dcli_frames_pool_new();
    dcl_status status = call->pool == NULL ? DCL_ERR_NOMEM : resolve(call, terms, &ipv6);
    if (status == DCL_OK)
        status = connect_call(call, terms, ipv6);
    if (status == DCL_OK)
        *call_out = call;
    else
        dcli_control_close(call);
    return status;
}

void dcli_control_close(dcli_control *call)
{
    if (call == NULL)
        return;
    if (call->dealer != NULL) {
        dcli_monitor_close(&call->monitor, call->dealer);
        zmq_close(call->dealer);
    }
    if (call->pool != NULL)
        dcli_frames_pool_close(call->pool);
    dcli_free(call->packed.bytes);
    dcli_free(call);
}

dcl_status dcli_control_send(dcli_control *call, const dcli_message *message)
{
    zmq_msg_t frame;
    dcl_status status = dcli_message_pack_into(message, &call->packed);
    if (status == DCL_OK && call->ending != DCLI_NOT_ENDED)
        status = DCLI_FAIL(DCL_ERR_NETWORK, "the call to %s has ended; expected one that lasts; receive to learn why",
                           call->address);
    if (status == DCL_OK && call->packed.length > DCLI_LISTENER_FRAME)
        status = DCLI_FAIL(DCL_ERR_INVALID, "a message to %s has %zu bytes; expected %d at most; shorten it",
                           call->address, call->packed.length, DCLI_LISTENER_FRAME);
    if (status == DCL_OK)
        status = dcli_frame_of(call->packed.bytes, call->packed.length, &frame);
    if (status != DCL_OK)
        return status;
    if (dcli_send_frame(&frame, call->dealer, 0) < 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_msg_send", "receive to learn whether the call has ended");
    zmq_msg_close(&frame);
    return status;
}

/* Take a message. At most MOST_GREETINGS empty messages are skipped, so that a listener that sends nothing else cannot
 * keep the caller here. */
static dcl_status take(dcli_control *call, dcli_received *received_out)
{
    enum { MOST_GREETINGS = 8 };
    for (int greetings = 0; greetings < MOST_GREETINGS; greetings++) {
        dcli_envelope envelope;
        dcl_status status = dcli_envelope_take(call->dealer, false, call->pool, &envelope);
        if (status != DCL_OK)
            return status;
        if (!dcli_envelope_is_greeting(&envelope))
            return dcli_envelope_open(&envelope, received_out);
        dcli_envelope_drop(&envelope);
    }
    return DCLI_FAIL(DCL_ERR_PROTOCOL,
                     "the worker at %s sends nothing but empty messages; expected one at most; check that it is a dcl "
                     "worker's address",
                     call->address);
}

/** Process events of the connection. Without keys, a connection whose other end is another user's process counts as
 *  refused. @return whether it has ended. */
static bool look_at_events(dcli_control *call)
{
    dcli_event event;
    while (dcli_monitor_next(&call->monitor, &event)) {
        if (event.kind == ZMQ_EVENT_CONNECTED)
            call->connection = event.value;
        if (event.kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED && !call->up && !call->has_keys &&
            dcli_token_connection_is_ours(call->connection) != DCL_OK) {
            call->ending = DCLI_END_REFUSED;
            snprintf(call->sentence, sizeof call->sentence, "%s", dcli_error_sentence());
        }
        call->up = call->up || event.kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        if (call->ending == DCLI_NOT_ENDED)
            call->ending = dcli_ending_of(&event, call->up);
    }
    return call->ending != DCLI_NOT_ENDED;
}

static dcl_status tell_ending(dcli_control *call)
{
    const int patience_ms = 1000;
    if (call->sentence[0] != '\0')
        return DCLI_FAIL(DCL_ERR_NODE_LOST, "%s", call->sentence);
    dcl_status status =
        dcli_ending_fail(call->ending, "the worker", call->address, call->has_keys, call->silence_ms, patience_ms);
    snprintf(call->sentence, sizeof call->sentence, "%s", dcli_error_sentence());
    return status;
}

dcl_status dcli_control_receive(dcli_control *call, int milliseconds, dcli_received *received_out)
{
    int64_t end_ns = milliseconds < 0 ? INT64_MAX : dcli_monotonic_ns() + (int64_t)milliseconds * 1000000;
    for (;;) {
        if (!call->up)
            look_at_events(call); /* authenticate the other side before its message is used */
        dcl_status status = take(call, received_out);
        if (status == DCL_OK && (!call->up || call->sentence[0] != '\0')) {
            look_at_events(call);
            if (call->sentence[0] != '\0') {
                dcli_received_free(received_out);
                return tell_ending(call);
            }
        }
        if (status != DCL_ERR_TIMEOUT)
            return status;
        if (look_at_events(call)) {
            status = call->sentence[0] != '\0' ? DCL_ERR_TIMEOUT : take(call, received_out);
            return status != DCL_ERR_TIMEOUT ? status : tell_ending(call);
        }
        if (end_ns != INT64_MAX && dcli_monotonic_ns() >= end_ns)
            return DCL_ERR_TIMEOUT;
        if (!dcli_socket_has_input(call->dealer) && !dcli_socket_has_input(call->monitor.events))
            dcli_envelope_wait(2, (int[2]){call->fd, call->monitor.fd}, end_ns);
    }
}

int dcli_control_descriptors(const dcli_control *call, int descriptors_out[2])
{
    descriptors_out[0] = call->fd;
    descriptors_out[1] = call->monitor.fd;
    return 2;
}
