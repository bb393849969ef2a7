/* net/handshake.c - find out how establishing a connection went, from libzmq's events of a socket.
 * Source: zmq_socket_monitor(3). */
#include "net/handshake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/endpoint.h"

struct dcli_handshake {
    void *socket, *events;
};

enum {
    EVENTS = ZMQ_EVENT_CLOSED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
             ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
};

dcl_status dcli_handshake_watch(dcli_net *net, void *socket, dcli_handshake **watch_out)
{
    static atomic_int number;
    char name[64];
    snprintf(name, sizeof name, "inproc://dcl-handshake-%d", atomic_fetch_add(&number, 1));
    dcli_handshake *watch = dcli_calloc(1, sizeof *watch);
    if (watch == NULL)
        return DCL_ERR_NOMEM;
    watch->socket = socket;
    watch->events = dcli_net_socket(net, ZMQ_PAIR);
    dcl_status status = watch->events == NULL ? dcli_error_status() : DCL_OK;
    if (status == DCL_OK && zmq_socket_monitor(socket, name, EVENTS) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_socket_monitor", "watch a socket once at a time");
    if (status == DCL_OK && zmq_connect(watch->events, name) != 0)
        status = dcli_net_fail(DCL_ERR_NETWORK, "zmq_connect", "free descriptors");
    if (status == DCL_OK)
        *watch_out = watch;
    else
        dcli_handshake_end(watch);
    return status;
}

void dcli_handshake_end(dcli_handshake *watch)
{
    if (watch == NULL)
        return;
    zmq_socket_monitor(watch->socket, NULL, 0);
    if (watch->events != NULL)
        zmq_close(watch->events);
    dcli_free(watch);
}

static dcli_greeting greeting_of(int event)
{
    switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        return DCLI_LET_IN;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        return DCLI_TURNED_AWAY;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        return DCLI_MISFIT;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        return DCLI_CUT_SHORT;
    case ZMQ_EVENT_CLOSED:
        return DCLI_NOBODY;
    default:
        return DCLI_NO_WORD;
    }
}

/** Take the next event. It has two frames: number and value, and an address. */
static dcli_greeting take_event(void *events)
{
    unsigned char head[6]; /* a 16-bit number and a 32-bit value, in this machine's byte order */
    uint16_t event;
    if (zmq_recv(events, head, sizeof head, ZMQ_DONTWAIT) != (int)sizeof head)
        return DCLI_NO_WORD;
    char address[1];
    zmq_recv(events, address, sizeof address, ZMQ_DONTWAIT);
    memcpy(&event, head, sizeof event);
    return greeting_of(event);
}

dcli_greeting dcli_handshake_next(dcli_handshake *watch, int milliseconds)
{
    int64_t end = dcli_monotonic_ms() + milliseconds;
    for (;;) {
        int64_t left = end - dcli_monotonic_ms();
        zmq_pollitem_t item = {watch->events, 0, ZMQ_POLLIN, 0};
        int ready = zmq_poll(&item, 1, left > 0 ? (long)left : 0);
        dcli_greeting greeting = ready > 0 ? take_event(watch->events) : DCLI_NO_WORD;
        if (greeting != DCLI_NO_WORD || (ready <= 0 && left <= 0))
            return greeting;
    }
}
