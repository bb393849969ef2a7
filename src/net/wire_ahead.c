/* net/wire_ahead.c - limit what a peer has sent and nobody has taken: libzmq stores it without a limit in bytes.
 *
 * The system counts the bytes that a connection has received (tcp(7), TCP_INFO). The bytes that were taken are
 * subtracted, with 128 for each frame. This is more than a frame's overhead, so the result is never too high. The
 * result is carried over between checks: libzmq shows a message only when its last frame has arrived, so an apparently
 * empty socket may contain most of one. */
#include <inttypes.h>
#include <linux/tcp.h> /* the struct of <netinet/tcp.h> is shorter */
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/check.h"
#include "net/wire.h"

enum {
    LOOK_NS = 50000000,
    FRAME_BYTES = 128 /* more than the header of ZMTP (9) plus that of a CurveZMQ MESSAGE (33), or a heartbeat */
};

bool dcli_wire_brought(int fd, uint64_t *received_out, uint64_t *acknowledged_out)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t length = sizeof info;
    const size_t needed = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < needed)
        return false;
    *received_out = info.tcpi_bytes_received;
    *acknowledged_out = info.tcpi_bytes_acked;
    return true;
}

void dcli_wire_note_taken(dcli_wire_peer *peer, const dcli_incoming *incoming)
{
    peer->taken_bytes += (int64_t)(incoming->length + incoming->payload_bytes + 2 * FRAME_BYTES);
}

/* Whether a peer has a limit. The host has none: it is trusted, and what it sends is limited elsewhere. */
static bool has_limit(const dcli_endpoint *endpoint, int peer)
{
    const dcli_wire *wire = endpoint->link;
    return peer != endpoint->self && peer != endpoint->peer_count - 1 && wire->peer[peer].state == DCLI_WIRE_UP;
}

/* Bytes of heartbeats, which are never taken as messages. */
static int64_t beats_bytes(const dcli_wire *wire, int64_t elapsed_ns)
{
    return 2 * FRAME_BYTES * (elapsed_ns / dcli_wire_beat_ns(wire) + 1);
}

/* Update how many bytes a peer's connection has received that were not taken. @param elapsed_ns  since the last check;
 * the heartbeats of this time are left out. @return lower bound of these bytes; 0 after the first check of a
 * connection. */
static int64_t look_at(const dcli_wire *wire, dcli_wire_peer *peer, int64_t elapsed_ns)
{
    uint64_t received, acknowledged;
    if (!dcli_wire_brought(dcli_wire_fd(peer), &received, &acknowledged))
        received = 0;
    if (peer->brought_bytes == 0 || received < peer->brought_bytes) /* the first check, or another connection */
        peer->ahead_bytes = 0;
    else
        peer->ahead_bytes = dcli_max(0, peer->ahead_bytes + (int64_t)(received - peer->brought_bytes) -
                                            peer->taken_bytes - beats_bytes(wire, elapsed_ns));
    peer->brought_bytes = received;
    peer->taken_bytes = 0;
    return peer->ahead_bytes;
}

void dcli_wire_look_ahead(dcli_endpoint *endpoint)
{
    dcli_wire *wire = endpoint->link;
    int64_t elapsed_ns = wire->now_ns - wire->looked_ns;
    if (endpoint->most_ahead == 0 || elapsed_ns < LOOK_NS)
        return;
    wire->looked_ns = wire->now_ns;
    for (int p = 0; p < endpoint->peer_count; p++) {
        if (!has_limit(endpoint, p))
            continue;
        int64_t ahead = look_at(wire, &wire->peer[p], elapsed_ns);
        int64_t most = endpoint->most_ahead + (p == endpoint->speaker ? endpoint->speaker_bytes : 0);
        if (ahead > most)
            dcli_wire_break_off(endpoint, p,
                                "peer %d has sent %" PRId64 " bytes ahead of what was taken; expected at most %" PRId64
                                ", with what it was asked for; its connection was ended",
                                p, ahead, most);
    }
}
