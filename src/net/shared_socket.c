/* net/shared_socket.c - wake-ups and descriptors between processes: packets of one byte.
 * A descriptor is sent before the record that it belongs to, and only if that record fits; nothing else is sent between
 * the two. So the reader of the record finds the descriptor. Source: unix(7), cmsg(3). */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/shared.h"

enum { BELL = 'b', DESCRIPTOR = 'd', MOST_BELLS = 4096 /* read in one go */ };

int dcli_packet_send(int socket, char byte, int descriptor)
{
    dcli_packet_control control;
    struct iovec part = {&byte, 1};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        packet.msg_control = control.bytes;
        packet.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&packet);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? 0 : errno;
}

/* Whether an error is temporary: too many descriptors in transit, or no memory for another packet. */
static bool passes(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK || code == ENOBUFS || code == ENOMEM || code == ETOOMANYREFS;
}

/* Wake up the other side. If the socket is full, this is not needed: it has something to read already. */
void dcli_link_ring(dcli_link *link)
{
    int code = link->state == DCLI_LINK_OPEN ? dcli_packet_send(link->socket, BELL, -1) : 0;
    if (code != 0 && !passes(code))
        dcli_link_ended(link);
}

bool dcli_link_send_descriptor(dcli_link *link, int descriptor)
{
    int code = dcli_packet_send(link->socket, DESCRIPTOR, descriptor);
    if (code != 0 && !passes(code))
        dcli_link_ended(link);
    return code == 0;
}

int dcli_packet_descriptor(struct msghdr *packet)
{
    int descriptor = -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(packet);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    return descriptor;
}

/* recvmsg() that hides two errors: interruption, and the reset after the other side has ended with unread packets. */
static ssize_t receive_bytes(const dcli_link *link, struct msghdr *packet, int flags)
{
    struct msghdr empty = *packet;
    ssize_t length;
    do {
        *packet = empty;
        length = recvmsg(link->socket, packet, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (length < 0 && (errno == EINTR || errno == ECONNRESET)); /* the reset is reported once; the next call
                                                                        finds the end */
    return length;
}

/* After receive_bytes(): whether there is no packet now. If there will never be one again, that is recorded. */
static bool has_none(dcli_link *link, ssize_t length)
{
    if (length <= 0 && !(length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)))
        dcli_link_ended(link);
    return length <= 0;
}

/* Receive the next packet. @param descriptor_out  set with DESCRIPTOR only, to be closed by the caller;
 * DCLI_DESCRIPTOR_MISSING if this process had none free for it: then the system has dropped it. */
static dcli_packet receive_packet(dcli_link *link, int *descriptor_out)
{
    dcli_packet_control control;
    char type[2];
    struct iovec part = {type, sizeof type};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    packet.msg_control = control.bytes;
    packet.msg_controllen = CMSG_LEN(sizeof(int));
    ssize_t length = receive_bytes(link, &packet, 0);
    if (has_none(link, length))
        return DCLI_PACKET_NONE;
    int descriptor = dcli_packet_descriptor(&packet);
    bool plain = length == 1 && (packet.msg_flags & MSG_TRUNC) == 0, cut = (packet.msg_flags & MSG_CTRUNC) != 0;
    if (plain && !cut && type[0] == BELL && descriptor < 0)
        return DCLI_PACKET_BELL;
    if (plain && type[0] == DESCRIPTOR && cut == (descriptor < 0)) {
        *descriptor_out = cut ? DCLI_DESCRIPTOR_MISSING : descriptor;
        return DCLI_PACKET_DESCRIPTOR;
    }
    if (descriptor >= 0)
        close(descriptor);
    dcli_link_break(
        link,
        "peer %d sent a packet of %zd bytes that is neither bell nor descriptor; expected the same version of DCL; it "
        "is taken for lost",
        link->peer, length);
    return DCLI_PACKET_BAD;
}

int dcli_link_take_descriptor(dcli_link *link)
{
    int descriptor = link->early;
    link->early = -1;
    dcli_packet packet = DCLI_PACKET_BELL;
    for (int n = 0; descriptor == -1 && packet == DCLI_PACKET_BELL && n < MOST_BELLS; n++)
        packet = receive_packet(link, &descriptor);
    if (descriptor == -1)
        dcli_link_break(link,
                        "peer %d announced a descriptor that did not come; expected it before its record; it is taken "
                        "for lost",
                        link->peer);
    return descriptor;
}

/* Check the packet that follows an early descriptor, without receiving it. A descriptor may arrive before the record
 * that announces it, and the sender sends no other packet in between. So if there is another packet, the record must
 * be in the ring by now; otherwise the peer has violated the protocol. The end of the connection may come at any
 * time. */
static void look_behind_early(dcli_link *link)
{
    char type;
    struct iovec part = {&type, sizeof type};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (!has_none(link, receive_bytes(link, &packet, MSG_PEEK)) && !dcli_ring_seems_filled(&link->in))
        dcli_link_break(link,
                        "peer %d sent a descriptor that no record announced; expected one record for each; it is "
                        "taken for lost",
                        link->peer);
}

void dcli_link_drain(dcli_link *link)
{
    for (int n = 0; n < MOST_BELLS && link->state == DCLI_LINK_OPEN; n++) {
        if (link->early != -1) {
            look_behind_early(link);
            break;
        }
        dcli_packet packet = receive_packet(link, &link->early);
        if (packet == DCLI_PACKET_NONE || packet == DCLI_PACKET_BAD)
            break;
    }
    if (dcli_ring_must_ring_writer(&link->in))
        dcli_link_ring(link);
}

void dcli_sockets_drain(dcli_shared *shared)
{
    enum { SOME = 64 };
    struct epoll_event event[SOME];
    int count = epoll_wait(shared->sockets, event, SOME, 0); /* -1: interrupted; what was missed is reported again */
    for (int n = 0; n < count; n++) {
        dcli_link *link = event[n].data.ptr;
        dcli_link_attend(link);
        dcli_link_drain(link);
    }
}
