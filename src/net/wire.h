/* net/wire.h - inside of an endpoint over tcp. */
#ifndef DCLI_NET_WIRE_H
#define DCLI_NET_WIRE_H

#include "net/proof.h"
#include "net/seal.h"
#include "net/wire_socket.h"

enum {
    DCLI_WIRE_WAITING = 64 << 20, /* most bytes to one peer that wait for its connection */
    DCLI_WIRE_EARLY = 1 << 20,    /* most bytes from a peer that this one was not told to expect yet */
    /* Connections beside those of the peers: so many that one in the handshake does not become the oldest of them while
     * somebody makes as many as a machine can, 20,000 a second. */
    DCLI_WIRE_SPARE = 1024
};

/** A message that waits. */
typedef struct dcli_parcel {
    zmq_msg_t header, payload;
    int from, extra_frames;
    struct dcli_parcel *next;
} dcli_parcel;

typedef struct dcli_parcels {
    dcli_parcel *first, *last;
    int64_t bytes;
} dcli_parcels;

/** Append a message; moves its frames, also on failure. @param payload  NULL: none.
 *  @return DCL_OK, DCL_ERR_NETWORK (more than `most` bytes), DCL_ERR_NOMEM. */
dcl_status dcli_parcels_put(dcli_parcels *parcels, int from, zmq_msg_t *header, zmq_msg_t *payload, int extra_frames,
                            int64_t most);
/** The first, the caller's to free; NULL: none. */
dcli_parcel *dcli_parcels_take(dcli_parcels *parcels);
void dcli_parcel_free(dcli_parcel *parcel);
void dcli_parcels_free(dcli_parcels *parcels);
/** Append all of `more`, which is empty then. */
void dcli_parcels_join(dcli_parcels *parcels, dcli_parcels *more);

typedef enum dcli_wire_state {
    DCLI_WIRE_UNKNOWN,    /* neither met nor expected */
    DCLI_WIRE_EARLY_BIRD, /* it has connected, but is not expected yet */
    DCLI_WIRE_EXPECTED,
    DCLI_WIRE_MET,     /* a connection is being made */
    DCLI_WIRE_UP,      /* messages go both ways */
    DCLI_WIRE_CLOSING, /* its connection has ended; messages of it may still be there */
    DCLI_WIRE_GONE
} dcli_wire_state;

typedef struct dcli_wire_peer {
    dcli_wire_state state;
    dcli_ending ending;
    bool ended;             /* an early bird that is no more */
    bool malformed;         /* it sent what is no message */
    uint64_t brought_bytes; /* by its connection, at the last look; wire_ahead.c */
    int64_t taken_bytes;    /* since then, with overhead */
    int64_t ahead_bytes;    /* brought and not taken by then */
    uint64_t sent, heard;   /* numbers of the last messages on its connection; see seal.h */
    char broken[192];       /* why nothing more of it can be taken; "": its connection has only ended */
    bool foreign;           /* this side connected, and the other one is another user's */
    int connection;         /* of a connection of this side: its descriptor, libzmq's */
    int fd;                 /* that its messages come by, where it connected */
    char key[DCLI_KEY_HEX]; /* where it connects, or is to: its public key, or its user name; "": not known yet */
    char *address;          /* where this side connected; NULL */
    dcli_parcels to_send;   /* until it is up */
    dcli_parcels early;     /* until it is expected */
    uint64_t last;          /* count of messages taken when the last of it was, or when its end was seen */
} dcli_wire_peer;

/** Sockets that news come from. Looking at one costs system calls: only at those that may have something. */
typedef enum dcli_wire_source {
    DCLI_WIRE_OUTGOING,
    DCLI_WIRE_OUTGOING_EVENTS,
    DCLI_WIRE_DOOR,
    DCLI_WIRE_DOOR_EVENTS,
    DCLI_WIRE_DOOR_ARRIVALS,
    DCLI_WIRE_SOURCES
} dcli_wire_source;

typedef struct dcli_wire {
    dcli_door door; /* those with higher numbers connect to it */
    void *outgoing; /* the ROUTER that connects to those with lower numbers */
    int outgoing_fd;
    dcli_monitor monitor; /* of outgoing */
    dcli_wire_peer *peer; /* [peer_count] */
    const dcli_keypair *own;
    dcli_keypair pair; /* `own` points here */
    char *password;
    dcli_secret host_secret; /* of a session's host without keys: its passwords come of it */
    bool is_host;            /* that is there */
    int host;                /* the peer that the host's key or password is expected of; -1: none */
    int64_t silence_ms;
    const dcli_log *log;
    int64_t logged_ns;
    int64_t now_ns;      /* when a message was last asked for */
    int64_t looked_ns;   /* when wire_ahead.c last compared what connections had brought with what was taken */
    int64_t beat_due_ns; /* every connection is told then what was sent last */
    dcli_parcels ready;  /* taken before anything else */
    int closing;         /* peers in that state */
    uint64_t taken;      /* messages */
    bool quiet[DCLI_WIRE_SOURCES]; /* exhausted and not used since: news make its descriptor readable */
    int last_from;                 /* the peer whose message was taken last; -1 */
    int64_t refused;               /* endpoint->refused as last seen */
} dcli_wire;

/** Any of these may have something again. */
void dcli_wire_stir_door(dcli_wire *wire);
void dcli_wire_stir_outgoing(dcli_wire *wire);
/** Without keys nothing but a checksum tells that bytes have changed. */
static inline bool dcli_wire_has_sums(const dcli_wire *wire) { return wire->own == NULL; }
/** Between two heartbeats of a connection. */
int64_t dcli_wire_beat_ns(const dcli_wire *wire);
/** Tell all peers that are up what was sent last, when it is time. */
void dcli_wire_beat(dcli_endpoint *endpoint);
int64_t dcli_wire_due_ns(const dcli_endpoint *endpoint);
/** Seal a frame that ends in room for it, and send it to a peer that is up. Takes the frames over. @param payload  NULL:
 *  none. */
dcl_status dcli_wire_transmit(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload);
/** Its connection stands: what has waited goes. */
void dcli_wire_rise(dcli_endpoint *endpoint, int peer);
/** Its connection has ended. */
void dcli_wire_set(dcli_endpoint *endpoint, int peer, dcli_ending ending);
/** Nothing more is taken of a peer, which is lost with this sentence. @return false. */
bool dcli_wire_break_off(dcli_endpoint *endpoint, int peer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Count a message of a peer; and end the connections of those who send too far ahead. */
void dcli_wire_note_taken(dcli_wire_peer *peer, const dcli_incoming *incoming);
void dcli_wire_look_ahead(dcli_endpoint *endpoint);
/** Nothing more is kept of it, in either direction. */
void dcli_wire_forget(dcli_endpoint *endpoint, int peer);

/* Functions of the transport. */
dcl_status dcli_wire_send(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                          const dcli_payload *payload, int descriptor);
dcl_status dcli_wire_take(dcli_endpoint *endpoint, dcli_incoming *incoming);
bool dcli_wire_seems_ready(const dcli_endpoint *endpoint);
bool dcli_wire_arm(dcli_endpoint *endpoint);
/** Descriptors by source; -1: none. */
void dcli_wire_descriptors(const dcli_wire *wire, int descriptors_out[DCLI_WIRE_SOURCES]);

#endif
