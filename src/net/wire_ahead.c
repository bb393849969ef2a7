/* net/wire_ahead.c - what a peer has sent and nobody has taken: libzmq keeps it, without a limit in bytes.
 *
 * The system knows how many bytes a connection has brought (tcp(7), TCP_INFO). What was taken since all sockets were last
 * found empty is counted here, frames with more than they weigh: so what is found to be ahead is never more than there is. */
#include <inttypes.h>
#include <linux/tcp.h> /* of <netinet/tcp.h> the struct is shorter */
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "net/wire.h"

enum {
    LOOK_NS = 50000000,
    FRAME_BYTES =
        128 /* ZMTP's header (9), a CurveZMQ MESSAGE (33), heartbeats, which are fewer than messages' frames */
};

/* Bytes that the connection of a peer has brought; 0: the system does not say. */
static uint64_t brought(const dcli_wire_peer *peer)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t length = sizeof info;
    const size_t needed = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
    int fd = peer->address != NULL ? peer->connection : peer->fd;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && length >= needed ? info.tcpi_bytes_received
                                                                                          : 0;
}

void dcli_wire_note_taken(dcli_wire_peer *peer, const dcli_incoming *incoming)
{
    peer->taken_bytes += incoming->length + incoming->payload_bytes + 2 * FRAME_BYTES;
}

/* The host is trusted: what it sends has limits of its own. */
static bool has_limit(const dcli_endpoint *endpoint, int peer)
{
    const dcli_wire *wire = endpoint->link;
    return peer != endpoint->self && peer != endpoint->peer_count - 1 && wire->peer[peer].state == DCLI_WIRE_UP;
}

void dcli_wire_look_ahead(dcli_endpoint *endpoint, bool empty)
{
    dcli_wire *wire = endpoint->link;
    if (endpoint->most_ahead == 0 || wire->now_ns < (empty ? wire->emptied_ns : wire->looked_ns) + LOOK_NS)
        return;
    *(empty ? &wire->emptied_ns : &wire->looked_ns) = wire->now_ns;
    for (int p = 0; p < endpoint->peer_count; p++) {
        dcli_wire_peer *peer = &wire->peer[p];
        if (!has_limit(endpoint, p))
            continue;
        uint64_t now = brought(peer), ahead = now - peer->brought_bytes;
        if (empty || peer->brought_bytes == 0) {
            peer->brought_bytes = now;
            peer->taken_bytes = 0;
        } else if (now > peer->brought_bytes && ahead > peer->taken_bytes &&
                   ahead - peer->taken_bytes > (uint64_t)endpoint->most_ahead) {
            dcli_wire_break_off(endpoint, p,
                                "peer %d has sent %" PRIu64 " bytes ahead of what was taken; expected at most %" PRId64
                                ", with what it was asked for; its connection was ended",
                                p, ahead - peer->taken_bytes, endpoint->most_ahead);
        }
    }
}
