/* net/wire_socket.c - sockets over tcp: their options and events.
 * Source: zmq_setsockopt(3), zmq_socket_monitor(3). */
#include "net/wire_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

/* ---- options ------------------------------------------------------------------------------------------------------ */

dcl_status dcli_wire_option(void *socket, int option, int value)
{
    if (zmq_setsockopt(socket, option, &value, sizeof value) == 0)
        return DCL_OK;
    return dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "this libzmq is not fit for DCL: use 4.3 or newer");
}

static int clamp(int64_t value, int low, int high) { return value < low ? low : value > high ? high : (int)value; }

dcl_status dcli_wire_dress(void *socket, int64_t silence_ms, int64_t most_bytes)
{
    const int most_ttl_ms = 6553599; /* largest value of the protocol */
    /* Heartbeats: after a quarter of the time without any message, ask; wait three quarters for an answer. */
    const struct {
        int option, value;
    } options[] = {
        {ZMQ_HEARTBEAT_IVL, clamp(silence_ms / 4, 10, most_ttl_ms / 4)},
        {ZMQ_HEARTBEAT_TIMEOUT, clamp(silence_ms - silence_ms / 4, 30, most_ttl_ms)},
        {ZMQ_HEARTBEAT_TTL, clamp(silence_ms, 100, most_ttl_ms)},
        {ZMQ_HANDSHAKE_IVL, DCLI_HANDSHAKE_MS},
        {ZMQ_CONNECT_TIMEOUT, DCLI_HANDSHAKE_MS},
        {ZMQ_BACKLOG, 512},
        /* Never reconnect. The value -1 would do that, but then libzmq drops messages that were received and not yet
         * taken when a connection ends. So the interval is longer than any session. */
        {ZMQ_RECONNECT_IVL, INT_MAX / 4},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (dcli_wire_option(socket, options[i].option, options[i].value) != DCL_OK)
            return DCL_ERR_NETWORK;
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most_bytes, sizeof most_bytes) != 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "this libzmq is not fit for DCL: use 4.3 or newer");
    return DCL_OK;
}

dcl_status dcli_wire_stay_in_cache(void *socket)
{
    enum {
        BYTES = 1 << 20
    }; /* the best of 128 KB to 4 MB by measurement (decision 149); without a limit, Linux increases it up to 4 MB */
    return dcli_wire_option(socket, ZMQ_SNDBUF, BYTES);
}

dcl_status dcli_wire_present(void *socket, const dcli_keypair *own, const char *user, const char *password,
                             const char *server_key)
{
    if (own == NULL && *server_key != '\0')
        return DCLI_FAIL(DCL_ERR_INVALID, "a key of the other side is given, but no own key pair; expected both or "
                                          "neither; make own keys with `dcl keys`");
    if (own == NULL)
        return dcli_present_password_as(socket, user, password);
    if (*server_key == '\0')
        return DCLI_FAIL(DCL_ERR_INVALID, "an own key pair is given, but no key of the other side; expected its public "
                                          "key; copy its own.public");
    char key[DCLI_KEY_Z85];
    dcl_status status = dcli_key_parse(server_key, key);
    return status == DCL_OK ? dcli_present_key(socket, own, key) : status;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

/* The events that are needed, and no more. Sending an event changes errno. If libzmq 4.3.4 cannot decrypt a message, it
 * sends ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL between setting and reading errno. With EAGAIN it then keeps the connection
 * and stops reading, and a heartbeat after a reset makes it abort the process. */
enum {
    EVENTS = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED |
             ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
};

dcl_status dcli_monitor_open(dcli_net *net, void *socket, dcli_monitor *monitor_out)
{
    static atomic_int number;
    char name[64];
    snprintf(name, sizeof name, "inproc://dcl-monitor-%d", atomic_fetch_add(&number, 1));
    dcli_monitor monitor = {.events = dcli_net_socket(net, ZMQ_PAIR)};
    if (monitor.events == NULL)
        return dcli_error_status();
    size_t length = sizeof monitor.fd;
    dcl_status status = DCL_OK;
    if (zmq_socket_monitor(socket, name, EVENTS) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_socket_monitor", "watch a socket once");
    else if (zmq_connect(monitor.events, name) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "free descriptors");
    else if (zmq_getsockopt(monitor.events, ZMQ_FD, &monitor.fd, &length) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_getsockopt(ZMQ_FD)", "free descriptors");
    if (status == DCL_OK)
        *monitor_out = monitor;
    else
        dcli_monitor_close(&monitor, socket);
    return status;
}

void dcli_monitor_close(dcli_monitor *monitor, void *socket)
{
    if (monitor->events == NULL)
        return;
    zmq_socket_monitor(socket, NULL, 0);
    zmq_close(monitor->events);
    monitor->events = NULL;
}

/* Take the next event. It has two frames: a 16-bit number with a 32-bit value, in this machine's byte order; and an
 * address. */
bool dcli_monitor_next(dcli_monitor *monitor, dcli_event *event_out)
{
    unsigned char head[6];
    int length;
    do
        length = zmq_recv(monitor->events, head, sizeof head, ZMQ_DONTWAIT);
    while (length < 0 && zmq_errno() == EINTR);
    if (length != (int)sizeof head)
        return false;
    uint16_t kind;
    uint32_t value;
    memcpy(&kind, head, sizeof kind);
    memcpy(&value, head + sizeof kind, sizeof value);
    event_out->kind = kind;
    event_out->value = (int)value;
    length = zmq_recv(monitor->events, event_out->address, sizeof event_out->address - 1, ZMQ_DONTWAIT);
    int most = (int)sizeof event_out->address - 1;
    event_out->address[length < 0 ? 0 : length < most ? length : most] = '\0';
    return true;
}

/* ---- ends of connections ------------------------------------------------------------------------------------------ */

dcli_ending dcli_ending_of(const dcli_event *event, bool up)
{
    switch (event->kind) {
    case ZMQ_EVENT_CLOSED: /* end of a connection attempt */
        return DCLI_END_NOBODY;
    case ZMQ_EVENT_DISCONNECTED:
        return up ? DCLI_END_LOST : DCLI_END_MISFIT;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        return DCLI_END_REFUSED;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        return DCLI_END_SHORT;
    default:
        return DCLI_NOT_ENDED;
    }
}

dcli_ending dcli_monitor_handshake(dcli_monitor *monitor, int milliseconds, bool *up_out)
{
    int64_t end_ms = dcli_monotonic_ms() + milliseconds;
    dcli_ending ending = DCLI_NOT_ENDED;
    for (*up_out = false; !*up_out && ending == DCLI_NOT_ENDED;) {
        dcli_event event;
        int64_t left_ms = end_ms - dcli_monotonic_ms();
        zmq_pollitem_t news = {monitor->events, 0, ZMQ_POLLIN, 0};
        if (dcli_monitor_next(monitor, &event)) {
            *up_out = event.kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
            ending = dcli_ending_of(&event, false);
        } else if (left_ms <= 0 || (zmq_poll(&news, 1, (long)left_ms) < 0 && zmq_errno() != EINTR)) {
            break;
        }
    }
    return ending;
}

/** Record why a connection failed. libzmq's events do not contain the reason, so try once more with a plain socket. */
static dcl_status fail_nobody(const char *who, const char *address, int patience_ms)
{
    dcli_address parsed;
    dcli_resolved resolved;
    int code = ETIMEDOUT;
    if (dcli_address_parse(address, DCLI_TO_CALL, &parsed) == DCL_OK &&
        dcli_address_resolve_within(&parsed, 0, &resolved) == DCL_OK)
        code = dcli_address_probe(&resolved, patience_ms);
    if (code == ECONNREFUSED)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "%s at %s: connection refused (ECONNREFUSED); expected somebody to listen there; start it, or "
                         "correct the address",
                         who, address);
    if (code == EHOSTUNREACH || code == ENETUNREACH || code == EADDRNOTAVAIL)
        return DCLI_FAIL(
            DCL_ERR_NODE_LOST,
            "%s at %s: no route to it (%s); expected a host that this one can reach; check the network and "
            "the address",
            who, address, strerrorname_np(code));
    if (code == 0 || code == ETIMEDOUT)
        return DCLI_FAIL(
            DCL_ERR_NODE_LOST,
            "%s at %s: no connection within %d ms (timeout); expected an answer; check that the host is up "
            "and that no firewall keeps the port closed",
            who, address, DCLI_HANDSHAKE_MS);
    return DCLI_FAIL(DCL_ERR_NODE_LOST,
                     "%s at %s: connect: %s, %s; expected to reach it; check the address and the "
                     "network",
                     who, address, strerrorname_np(code), strerror(code));
}

static dcl_status fail_handshake(dcli_ending ending, const char *who, const char *address, bool has_keys)
{
    if (ending == DCLI_END_REFUSED && has_keys)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "%s at %s does not know the key of this side (wrong key); expected it to be allowed there; "
                         "copy own.public into its folder `allowed`, and restart it",
                         who, address);
    if (ending == DCLI_END_REFUSED)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "%s at %s refused the password (wrong token); expected the token that it wrote when it "
                         "started; run as the same user, or restart it",
                         who, address);
    if (ending == DCLI_END_MISFIT && has_keys)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "%s at %s does not accept keys, or its public key is another one; expected both sides with "
                         "keys; start it with keys, and copy its own.public here",
                         who, address);
    if (ending == DCLI_END_MISFIT)
        return DCLI_FAIL(DCL_ERR_NODE_LOST,
                         "%s at %s is no worker of DCL, or does not accept a password; expected a listener on loopback "
                         "without keys; check the address, or give its public key and an own key pair: `dcl keys` "
                         "makes one",
                         who, address);
    return DCLI_FAIL(
        DCL_ERR_NODE_LOST, "%s at %s ended the connection during the handshake; expected %s; %s", who, address,
        has_keys ? "the owner of the public key that was given" : "a worker of DCL without keys",
        has_keys ? "compare the key with its own.public (wrong server key), and see that it was started with keys"
                 : "check the address; if it has keys, give it the key of this side (`dcl keys` makes one)");
}

dcl_status dcli_ending_fail(dcli_ending ending, const char *who, const char *address, bool has_keys, int64_t silence_ms,
                            int patience_ms)
{
    if (ending == DCLI_END_NOBODY)
        return fail_nobody(who, address, patience_ms);
    if (ending != DCLI_END_LOST)
        return fail_handshake(ending, who, address, has_keys);
    return DCLI_FAIL(
        DCL_ERR_NODE_LOST,
        "%s at %s: the connection has ended; expected it to last: its process ended, was silent for %" PRId64
        " ms, or the network failed; look there for why",
        who, address, silence_ms);
}
