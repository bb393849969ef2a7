/* net/shared.h - internals of the transport between processes of one host.
 *
 * A link joins two peers: a ring of records per direction, in memory that both map, and a pair of Unix sockets. With a
 * broker (shared_broker.c), peers have a link to the broker alone, and make those to each other when they first exchange
 * something. The sockets carry descriptors, wake up the other side when it sleeps, and close when a process ends for any reason.
 * Payloads lie in regions of memory of the sender; the receiver maps a region at first use and reads in place. What
 * does not fit into ring or socket waits in the sender's memory. */
#ifndef DCLI_NET_SHARED_H
#define DCLI_NET_SHARED_H

#include <sys/socket.h>

#include "net/buffers.h"
#include "net/endpoint.h"
#include "net/ring.h"
#include "net/shared_memory.h"

enum {
    DCLI_SHARED_FEW = 16,   /* minimum number of attended links */
    DCLI_SHARED_LOOKS = 32, /* consecutive empty looks after which a link above that minimum stops being attended */
    DCLI_SHARED_SWEEP = 4,  /* links that are not attended, and are looked at before each sleep */
    DCLI_SHARED_MOST_WAITING = 64 << 20,        /* limit on bytes that wait for one peer */
    DCLI_SHARED_MOST_WAITING_DESCRIPTORS = 256, /* limit on copies of descriptors that wait for one peer; lent
                                                   descriptors do not count */
    DCLI_SHARED_MOST_REGIONS = 1 << 14,         /* most regions of one peer that are mapped at a time */
    DCLI_SHARED_MOST_QUIET = 1 << 20,           /* bytes of returned payloads for which a sleeping peer is not woken
                                                   up */
    DCLI_SHARED_WHY = 512                       /* bytes of a sentence */
};

/** Kinds of records, each with the meaning of `value` in its head, and of its body. */
typedef enum dcli_shared_kind {
    DCLI_SHARED_MESSAGE = 1, /* value: bytes of the whole message. Body: its first bytes, after a dcli_shared_place
                                if it has a payload */
    DCLI_SHARED_MORE,        /* value: 0. Body: the next bytes of the message */
    DCLI_SHARED_RETURN,      /* value: ticket of a payload that is no longer used. No body */
    DCLI_SHARED_REGION,      /* value: number of a region. Body: its size (8 bytes). Its descriptor is sent along */
    DCLI_SHARED_FORGET,      /* value: number of a region that will not be used again. No body */
    DCLI_SHARED_AGAIN, /* value: number of a region that could not be mapped: announce it again at its next use. No
                          body */
    DCLI_SHARED_LINK, /* to the broker: a new link for peer `value`, whose end is sent along as one descriptor; from the
                          broker: the link was made by peer `value`. No body */
    DCLI_SHARED_WANTED /* to the broker: let peer `value` make a link to the sender; from the broker: peer `value` wants
                          a link. No body */
} dcli_shared_kind;

enum { DCLI_SHARED_HAS_PAYLOAD = 1, DCLI_SHARED_HAS_DESCRIPTOR = 2 }; /* flags in the head of a record */

/** Where a payload lies in the sender's memory. */
typedef struct dcli_shared_place {
    uint64_t region, offset, length;
    uint64_t ticket; /* number by which the receiver reports that the payload is free */
} dcli_shared_place;

typedef enum dcli_link_state {
    DCLI_LINK_NONE,    /* there never was a link to this peer */
    DCLI_LINK_AWAITED, /* the peer was asked, through the broker, to make the link; records wait for it */
    DCLI_LINK_OPEN,
    DCLI_LINK_ENDED,  /* the other process has ended; records left in the ring are still taken */
    DCLI_LINK_BROKEN, /* the other side has violated the protocol; this is not reported yet */
    DCLI_LINK_LOST,   /* the peer is lost; this is not reported yet */
    DCLI_LINK_GONE
} dcli_link_state;

/** A region of a peer, mapped here. It outlives its link while a received message references it. `memory.bytes` NULL:
 *  it could not be mapped, and payloads in it are missing. */
typedef struct dcli_view {
    uint64_t number;
    dcli_sealed memory;
    int64_t holders; /* received messages that reference it */
    bool writable;
    bool (*unmap)(void *user, const void *bytes); /* see dcli_endpoint_map_writable(); NULL: none */
    void *unmap_user;
    bool forgotten;         /* its owner will not use it again: unmap it when nothing references it */
    struct dcli_link *link; /* the link to the region's owner; NULL: the link is gone */
    struct dcli_view *next;
} dcli_view;

/** A record or message that is being written, perhaps in pieces. */
typedef struct dcli_outgoing {
    uint16_t kind, flags;
    uint64_t value;
    dcli_shared_place place; /* of its payload, if the flags say that it has one */
    const unsigned char *bytes;
    size_t length, sent;       /* bytes in all, and bytes written */
    bool begun;                /* its first record was written, with its descriptor */
    bool quiet;                /* a sleeping peer need not be woken up for it */
    int descriptor;            /* descriptor to send along; -1: none, or already sent */
    dcli_descriptor_loan loan; /* .find NULL: the descriptor is not lent */
} dcli_outgoing;

/** A record that waits for room in the ring or in the socket. */
typedef struct dcli_waiting {
    dcli_outgoing outgoing; /* its descriptor is a copy of our own, or lent: then it is looked up at each attempt */
    struct dcli_waiting *next;
    unsigned char bytes[];
} dcli_waiting;

typedef struct dcli_link {
    dcli_endpoint *endpoint;
    int peer;
    dcli_link_state state;
    int attended;              /* index in dcli_shared.attended; -1: it is not attended */
    int idle_looks;            /* looks in vain since its last record */
    char why[DCLI_SHARED_WHY]; /* the reason, in the states BROKEN, LOST and ENDED */
    int socket;
    dcli_sealed memory;
    dcli_ring in, out;

    dcli_waiting *first, **last; /* queue of records that wait for room */
    size_t waiting_bytes;
    int waiting_descriptors;
    bool waits_for_socket; /* the first waiting record waits for room in the socket, not in the ring */
    uint64_t *told;        /* [told_count] regions of ours that the peer knows */
    int64_t told_count, told_capacity;
    size_t quiet_bytes; /* bytes of payloads returned since the peer was last woken up or awake */
    uint64_t dropped;   /* number of regions that our pool had freed when `told` was last checked */

    unsigned char *message; /* the message that is being received */
    size_t capacity;        /* bytes allocated for it */
    size_t length, taken;   /* its bytes in all, and those that have arrived */
    bool receiving;         /* some pieces have arrived, but it was not handed over yet */
    dcli_view *view;        /* region of that message's payload; NULL: none */
    dcli_shared_place place;
    int descriptor; /* descriptor received with that message; -1: none; or DCLI_DESCRIPTOR_MISSING */
    int early;      /* a descriptor that arrived before the record it belongs to; -1: none */
    dcli_view *views;
    int view_count;
} dcli_link;

/** A payload that a peer is reading or will read. */
typedef struct dcli_flight {
    dcli_payload payload;
    int peer;            /* who reads it; -1: this entry is free */
    uint32_t generation; /* upper half of the ticket, increased at each use; the lower half is the index in the table */
    int64_t next_free;   /* index of the next free entry; -1: none */
} dcli_flight;

/** A message to oneself. */
typedef struct dcli_own {
    struct dcli_own *next;
    dcli_payload payload; /* payload of the message; `.bytes` NULL: there is none */
    int descriptor;
    size_t length;
    unsigned char bytes[];
} dcli_own;

typedef struct dcli_shared {
    dcli_link *link;  /* [peer_count] the links to all peers */
    dcli_link **open; /* [open_count] links in one of the states OPEN, ENDED, BROKEN or LOST */
    int open_count;
    /* Most links of a large session are idle. Only *attended* links are looked at for each message: every link that
     * is not OPEN or has waiting records, and at least DCLI_SHARED_FEW links. In the ring of any other link the reader stays
     * announced as asleep, so that a writer sends a wake-up packet, which `sockets` reports. */
    dcli_link **attended; /* [attended_count] */
    int attended_count;
    int waiting;           /* number of links with records that wait */
    int sockets;           /* epoll descriptor with the sockets of all open links */
    bool armed;            /* readers are announced as asleep: between arm() and disarm() */
    int swept;             /* index in `open` of the link that was swept last */
    uint64_t dropped;      /* number of regions that our pool had freed when all links were last told */
    int links;             /* links that were ever open */
    int broker;            /* the peer that passes links on; -1: there is none */
    int next;              /* index in `attended` of the link from which was taken last; links take turns */
    bool polled;           /* poll() was called since arm() */
    int takes, glances;    /* calls of `take`, and looks without a message, since the sockets were last checked */
    int64_t looked_ns;     /* time of that check, or of the last sleep */
    dcli_buffers *buffers; /* pool from which payloads to send are taken; NULL: none yet */
    bool own_buffers;      /* `buffers` was made by this transport */
    dcli_flight *flight;   /* [flight_count] payloads in use by receivers; unused entries are listed from
                              `free_flight` */
    int64_t flight_count, flight_capacity, free_flight;
    dcli_own *own_first, **own_last;              /* messages to oneself */
    bool (*unmap)(void *user, const void *bytes); /* called before regions that are mapped for writing are unmapped;
                                                     NULL: none is */
    void *unmap_user;
    const dcli_descriptor_loan *loan; /* lent descriptor of the message that is being sent; NULL: none */
} dcli_shared;

/* ---- links: shared_link.c ---- */

/** Prepare the record of a link, in the state AWAITED. */
void dcli_link_begin(dcli_endpoint *endpoint, int peer);
/** Open the link to a peer. What waited for it is still in its queue. Takes over the end, also on failure. */
dcl_status dcli_link_open(dcli_endpoint *endpoint, int peer, const dcli_shared_link *end);
/** Look at a link for each message from now on. Without effect if it is attended, or closed. */
void dcli_link_attend(dcli_link *link);
/** Look at a few of the links that are not attended, and attend those with records that wake nobody up, and those of
 *  dropped peers. */
void dcli_links_sweep(dcli_endpoint *endpoint);
/** From now on look at a link only after a wake-up packet. Call it only if the ring's reader is announced as asleep, or the
 *  link is closed. */
void dcli_link_neglect(dcli_link *link);
/** Note that the peer has ended: nothing more is sent; records in the ring are still taken. */
void dcli_link_ended(dcli_link *link);
/** Lose a link. @return DCL_ERR_NETWORK, recorded, for the sender; receiving will report that the peer is lost. */
dcl_status dcli_link_lose(dcli_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Lose the link to a peer that violated the protocol. */
dcl_status dcli_link_break(dcli_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Close a link and release everything, including payloads that the peer was reading. */
void dcli_link_close(dcli_link *link);

/* ---- links on demand: shared_broker.c ---- */

/** Make the link to a peer that has none, or ask the peer to make it: of two peers, the one with the lower number makes
 *  their link, so that there is only one. @return DCL_OK: the link is OPEN or AWAITED; DCL_ERR_NETWORK: receiving will
 *  report that the peer is lost. */
dcl_status dcli_link_demand(dcli_endpoint *endpoint, int peer);
/** Handle a record LINK or WANTED. @return false: it does not follow from the records before. */
bool dcli_link_take_brokered(dcli_link *link, const dcli_ring_head *head);

/* ---- sockets: shared_socket.c ---- */

/** Room for the one descriptor of a packet. */
typedef union dcli_packet_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
} dcli_packet_control;
/** Send a packet of one byte. @param descriptor  sent with it; -1: none. @return 0, or errno: EAGAIN if there is no room
 *  now. */
int dcli_packet_send(int socket, char byte, int descriptor);
/** The descriptor of a received packet, or -1. There is never more than one: dcli_packet_control has room for one. */
int dcli_packet_descriptor(struct msghdr *packet);

typedef enum dcli_packet { DCLI_PACKET_NONE, DCLI_PACKET_BELL, DCLI_PACKET_DESCRIPTOR, DCLI_PACKET_BAD } dcli_packet;

/** Wake up the other side by a packet. */
void dcli_link_ring(dcli_link *link);
/** Send a descriptor over the link's socket. @return false: there is no room, or the link has ended. */
bool dcli_link_send_descriptor(dcli_link *link, int descriptor);
/** Take the descriptor that belongs to the current record; DCLI_DESCRIPTOR_MISSING: this process had none free for it.
 *  @return -1: none was sent, the link is broken. */
int dcli_link_take_descriptor(dcli_link *link);
/** Read wake-up packets, and find out whether the other side has ended. */
void dcli_link_drain(dcli_link *link);
/** Attend to all links whose sockets have something to read, and drain them. */
void dcli_sockets_drain(dcli_shared *shared);

/* ---- sending: shared_send.c ---- */

/** Write a record, or let it wait for room. Borrows bytes and descriptor. @return DCL_OK, DCL_ERR_NETWORK (the peer
 *  counts as lost), DCL_ERR_NOMEM. */
dcl_status dcli_link_send(dcli_link *link, dcli_outgoing *outgoing);
/** Write waiting records as far as there is room. */
void dcli_link_push(dcli_link *link);
/** Drop the first waiting record. */
void dcli_link_pop_waiting(dcli_link *link);
dcl_status dcli_shared_send(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                            const dcli_payload *payload, int descriptor);

/* ---- payloads: shared_payload.c ---- */

/** Begin sending a payload: locate it in our pool, or copy it there; announce its region to the peer; and record that
 *  it is in use. Takes over the payload, also on failure. */
dcl_status dcli_flight_begin(dcli_link *link, const dcli_payload *payload, dcli_shared_place *place_out);
/** Release the payload of a ticket. @return false: this peer has no such payload. */
bool dcli_flight_end(dcli_link *link, uint64_t ticket);
/** Release all payloads that the peer of a link uses. */
void dcli_flights_end_all(dcli_link *link);
/** Tell the peer which regions will not be used again. @return false: it was not told of all; try again. */
bool dcli_link_forget_dropped(dcli_link *link);
/** Announce a region again with the next payload, because the peer could not map it. */
void dcli_link_tell_again(dcli_link *link, uint64_t number);
/** Map a peer's region. Takes over the descriptor. If there is no descriptor for it or it cannot be mapped, payloads in
 *  it are missing; any other failure ends the link. */
void dcli_view_add(dcli_link *link, uint64_t number, uint64_t bytes, int descriptor);
/** Find a region of a peer by its number; NULL: it is not mapped here. */
dcli_view *dcli_view_find(const dcli_link *link, uint64_t number);
/** Unmap a region of a peer, when nothing refers to it any more. @return false: no such region. */
bool dcli_view_forget(dcli_link *link, uint64_t number);
/** Give a received message its payload, which is read in place: until the message is freed, the region stays mapped and
 *  the sender does not reuse the bytes. */
void dcli_view_hold(dcli_view *view, const dcli_shared_place *place, dcli_incoming *incoming);
void dcli_views_close(dcli_link *link);

/* ---- receiving: shared_take.c ---- */

dcl_status dcli_shared_take(dcli_endpoint *endpoint, dcli_incoming *incoming);
bool dcli_shared_seems_ready(const dcli_endpoint *endpoint);
/** Free a message to oneself that nobody took. */
void dcli_own_free(dcli_own *own);

#endif
