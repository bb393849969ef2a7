/* net/shared.h - inside of the transport between processes of one host.
 *
 * Each pair of peers has a link: a ring of records per direction, in memory that both map, and a pair of Unix sockets,
 * which carry descriptors, ring the bell where the other side sleeps, and end when a process ends, however it does.
 * Payloads lie in regions of memory of the sender; the receiver maps a region when it is first used, and reads in place.
 * What does not fit into ring or socket waits in the memory of its sender. */
#ifndef DCLI_NET_SHARED_H
#define DCLI_NET_SHARED_H

#include "net/buffers.h"
#include "net/endpoint.h"
#include "net/ring.h"
#include "net/shared_memory.h"

enum {
    DCLI_SHARED_MOST_WAITING = 64 << 20,        /* bytes for one peer that wait for room */
    DCLI_SHARED_MOST_WAITING_DESCRIPTORS = 256, /* the same for copies of descriptors; lent ones are none */
    DCLI_SHARED_MOST_REGIONS = 1 << 14,         /* of one peer, mapped here at a time */
    DCLI_SHARED_MOST_QUIET = 1 << 20,           /* bytes given back to a peer that sleeps on */
    DCLI_SHARED_WHY = 512                       /* bytes of a sentence */
};

/** Records of a ring. `value` and body: */
typedef enum dcli_shared_kind {
    DCLI_SHARED_MESSAGE = 1, /* bytes of the whole message; its first bytes, behind a place if it has a payload */
    DCLI_SHARED_MORE,        /* 0; its next bytes */
    DCLI_SHARED_RETURN,      /* ticket of a payload that is not used any more; none */
    DCLI_SHARED_REGION,      /* number of a region; its bytes (8). Its descriptor comes along */
    DCLI_SHARED_FORGET,      /* number of a region that will not be used again; none */
    DCLI_SHARED_AGAIN /* number of a region that could not be mapped, to be told anew when it is used again; none */
} dcli_shared_kind;

enum { DCLI_SHARED_HAS_PAYLOAD = 1, DCLI_SHARED_HAS_DESCRIPTOR = 2 }; /* flags */

/** Where a payload is. */
typedef struct dcli_shared_place {
    uint64_t region, offset, length;
    uint64_t ticket; /* what the sender wants to hear when it is free again */
} dcli_shared_place;

typedef enum dcli_link_state {
    DCLI_LINK_NONE, /* never was one */
    DCLI_LINK_OPEN,
    DCLI_LINK_ENDED,  /* the other process has ended: what it left in the ring is still taken */
    DCLI_LINK_BROKEN, /* it broke the protocol: to be said */
    DCLI_LINK_LOST,   /* to be said */
    DCLI_LINK_GONE
} dcli_link_state;

/** A region of a peer, mapped here; `memory.bytes` NULL: it could not be, and its payloads are missing. Outlives its link while a received message holds it. */
typedef struct dcli_view {
    uint64_t number;
    dcli_sealed memory;
    int64_t holders; /* received messages, not yet freed */
    bool forgotten;
    struct dcli_link *link; /* NULL: gone */
    struct dcli_view *next;
} dcli_view;

/** A record or message that is being written, perhaps in pieces. */
typedef struct dcli_outgoing {
    uint16_t kind, flags;
    uint64_t value;
    dcli_shared_place place; /* if the flags say so */
    const unsigned char *bytes;
    size_t length, sent;
    bool begun;
    bool quiet;     /* a peer that sleeps need not be woken for it */
    int descriptor; /* to go along; -1: none, or it has gone */
    dcli_loan loan; /* .find NULL: the descriptor is not lent */
} dcli_outgoing;

/** One that waits. */
typedef struct dcli_waiting {
    dcli_outgoing outgoing; /* its descriptor is a copy of our own, or lent: then it is looked for at each attempt */
    struct dcli_waiting *next;
    unsigned char bytes[];
} dcli_waiting;

typedef struct dcli_link {
    dcli_endpoint *endpoint;
    int peer;
    dcli_link_state state;
    char why[DCLI_SHARED_WHY]; /* BROKEN, LOST, ENDED */
    int socket;
    dcli_sealed memory;
    dcli_ring in, out;

    dcli_waiting *first, **last;
    size_t waiting_bytes;
    int waiting_descriptors;
    bool waits_for_socket; /* the first one does: room in the ring is no help */
    uint64_t *told;        /* [told_count] regions of ours that the peer knows */
    int64_t told_count, told_capacity;
    size_t quiet_bytes; /* of payloads given back since the peer was last rung, or awake */
    uint64_t dropped;   /* regions that our stock had dropped when `told` was last looked through */

    unsigned char *message; /* the one that is being received */
    size_t capacity, length, taken;
    bool receiving;  /* its first piece has come, not all */
    dcli_view *view; /* of its payload; NULL: none */
    dcli_shared_place place;
    int descriptor; /* that came with it; -1: none; DCLI_DESCRIPTOR_MISSING */
    int early;      /* one that came before the record it belongs to; -1: none */
    dcli_view *views;
    int view_count;
} dcli_link;

/** A payload that a peer reads, or is to. */
typedef struct dcli_flight {
    dcli_payload payload;
    int peer;            /* -1: none */
    uint32_t generation; /* grows with each use: upper half of the ticket; the lower is the place in the table */
    int64_t next_free;   /* -1: none */
} dcli_flight;

/** A message to oneself. */
typedef struct dcli_own {
    struct dcli_own *next;
    dcli_payload payload; /* .bytes NULL: none */
    int descriptor;
    size_t length;
    unsigned char bytes[];
} dcli_own;

typedef struct dcli_shared {
    dcli_link *link;  /* [peer_count] */
    dcli_link **open; /* [open_count] those that are OPEN, ENDED, BROKEN or LOST */
    int open_count, next;
    bool polled;        /* since arm() */
    int takes, glances; /* since it was last thought of looking at the sockets */
    int64_t looked_ns;
    dcli_buffers *buffers; /* NULL: none yet */
    bool own_buffers;      /* made here */
    dcli_flight *flight;   /* [flight_count] */
    int64_t flight_count, flight_capacity, free_flight;
    dcli_own *own_first, **own_last; /* messages to oneself */
    const dcli_loan *loan;           /* of the message that is being sent; NULL: none */
} dcli_shared;

/* ---- links: shared_link.c ---- */

/** Takes the end over, also on failure. */
dcl_status dcli_link_open(dcli_endpoint *endpoint, int peer, const dcli_shared_link *end);
/** From now on nothing is sent; what is in the ring is still taken. */
void dcli_link_ended(dcli_link *link);
/** @return DCL_ERR_NETWORK: recorded, for who sends; the receiver will say that the peer is lost. */
dcl_status dcli_link_lose(dcli_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The same for a peer that broke the protocol. */
dcl_status dcli_link_break(dcli_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Give all back, what the peer held too. */
void dcli_link_close(dcli_link *link);

/* ---- sockets: shared_socket.c ---- */

typedef enum dcli_packet { DCLI_PACKET_NONE, DCLI_PACKET_BELL, DCLI_PACKET_DESCRIPTOR, DCLI_PACKET_BAD } dcli_packet;

void dcli_link_ring(dcli_link *link);
/** @return false: there is no room; or the link has ended. */
bool dcli_link_send_descriptor(dcli_link *link, int descriptor);
/** The descriptor that belongs to the record at hand; DCLI_DESCRIPTOR_MISSING: this process had none free for it.
 *  @return -1: none came, the link is broken. */
int dcli_link_take_descriptor(dcli_link *link);
/** Read bells, and find out whether the other side has ended. */
void dcli_link_drain(dcli_link *link);

/* ---- sending: shared_send.c ---- */

/** Write it, or let it wait. Borrows bytes and descriptor. @return DCL_OK, DCL_ERR_NETWORK (the peer is as good as lost),
 *  DCL_ERR_NOMEM. */
dcl_status dcli_link_send(dcli_link *link, dcli_outgoing *outgoing);
/** Write of what waits as much as there is room for. */
void dcli_link_push(dcli_link *link);
/** Drop the first of what waits. */
void dcli_link_pop_waiting(dcli_link *link);
dcl_status dcli_shared_send(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                            const dcli_payload *payload, int descriptor);

/* ---- payloads: shared_payload.c ---- */

/** Find the payload's place, in our stock or by copying it there, tell the peer of the region and note that the payload is
 *  on its way. Takes the payload over, also on failure. */
dcl_status dcli_flight_begin(dcli_link *link, const dcli_payload *payload, dcli_shared_place *place_out);
/** Release what a ticket stands for. @return false: nothing that this peer holds. */
bool dcli_flight_end(dcli_link *link, uint64_t ticket);
void dcli_flights_end_all(dcli_link *link);
/** Tell the peer which regions it can forget. */
void dcli_link_forget_dropped(dcli_link *link);
/** A peer has not mapped a region of ours: it is told of it anew with its next payload. */
void dcli_link_tell_again(dcli_link *link, uint64_t number);
/** A peer's region. Takes the descriptor over. Where there is no descriptor or no memory for it, the payloads that lie in it
 *  are missing; else the link is broken when it fails. */
void dcli_view_add(dcli_link *link, uint64_t number, uint64_t bytes, int descriptor);
dcli_view *dcli_view_find(const dcli_link *link, uint64_t number);
/** It will not be used again. @return false: no such region. */
bool dcli_view_forget(dcli_link *link, uint64_t number);
/** Let the message at hand hold the payload. */
void dcli_view_hold(dcli_view *view, const dcli_shared_place *place, dcli_incoming *incoming);
void dcli_views_close(dcli_link *link);

/* ---- receiving: shared_take.c ---- */

dcl_status dcli_shared_take(dcli_endpoint *endpoint, dcli_incoming *incoming);
bool dcli_shared_seems_ready(const dcli_endpoint *endpoint);
/** A message that nobody took. */
void dcli_own_free(dcli_own *own);

#endif
