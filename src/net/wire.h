/* net/wire.h - internals of an endpoint over tcp. */
#ifndef DCLI_NET_WIRE_H
#define DCLI_NET_WIRE_H

#include "net/proof.h"
#include "net/seal.h"
#include "net/wire_socket.h"

enum {
    DCLI_WIRE_WAITING = 64 << 20, /* most bytes that wait for the connection of one peer */
    DCLI_WIRE_EARLY = 1 << 20,    /* most bytes from a peer that this one does not expect yet */
    /* Connections in addition to those of the peers. There are so many that a connection in the handshake does not
     * become the oldest one while an attacker opens 20,000 a second. */
    DCLI_WIRE_SPARE = 1024
};

/** A message that waits: to be sent when the connection is up; or, received early or sent by this endpoint to itself,
 *  to be taken. */
typedef struct dcli_parcel {
    zmq_msg_t header, payload;
    int from; /* the sender; in to_send, the receiver */
    int extra_frames;
    struct dcli_parcel *next;
} dcli_parcel;

typedef struct dcli_parcels {
    dcli_parcel *first, *last;
    int64_t bytes;
} dcli_parcels;

/** Append a message; moves its frames, also on failure. @param payload  NULL: none. @return DCL_OK, DCL_ERR_NETWORK
 *  (more than `most` bytes), DCL_ERR_NOMEM. */
dcl_status dcli_parcels_put(dcli_parcels *parcels, int from, zmq_msg_t *header, zmq_msg_t *payload, int extra_frames,
                            int64_t most);
/** Take the first message, which the caller frees; NULL: none. */
dcli_parcel *dcli_parcels_take(dcli_parcels *parcels);
void dcli_parcel_free(dcli_parcel *parcel);
void dcli_parcels_free(dcli_parcels *parcels);
/** Append all messages of `more`, which is empty afterwards. */
void dcli_parcels_join(dcli_parcels *parcels, dcli_parcels *more);

typedef enum dcli_wire_state {
    DCLI_WIRE_UNKNOWN,    /* neither met nor expected */
    DCLI_WIRE_UNEXPECTED, /* it has connected, but is not expected yet */
    DCLI_WIRE_EXPECTED,
    DCLI_WIRE_MET,     /* dcli_endpoint_meet() was called; the connection is being established */
    DCLI_WIRE_UP,      /* connected: messages go both ways */
    DCLI_WIRE_CLOSING, /* its connection has ended, but messages from it may still be queued */
    DCLI_WIRE_GONE
} dcli_wire_state;

typedef struct dcli_wire_peer {
    dcli_wire_state state;
    dcli_ending ending;
    bool ended;             /* it connected before it was expected, and its connection has ended */
    bool malformed;         /* it sent an invalid message */
    uint64_t brought_bytes; /* bytes that its connection had received at the last check; see wire_ahead.c */
    int64_t taken_bytes;    /* bytes taken since then, with overhead */
    int64_t ahead_bytes;    /* bytes received and not taken at the last check */
    uint64_t sent, heard;   /* numbers of the last messages sent and received on its connection; see seal.h */
    char broken[192];       /* why nothing more of it is accepted; "": its connection has only ended */
    uint64_t told, view;    /* the connection as this side has described it to the peer, and as the peer sees it
                               (net/direct.h); 0: not yet */
    bool direct;            /* both are right, so nothing lies between: payloads to it go without a checksum, those
                               from it may */
    bool foreign;           /* this side connected, and the other end belongs to another user */
    int connection;         /* if this side connected: descriptor of the connection, libzmq's */
    int fd;                 /* if the peer connected: the descriptor by which its messages arrive */
    char key[DCLI_KEY_HEX]; /* if the peer connected: its public key or user name; "": not known yet */
    char *address;          /* if this side connected: the address; else NULL */
    dcli_parcels to_send;   /* messages to send once it is UP */
    dcli_parcels early;     /* messages from it, kept until it is expected */
    uint64_t last;          /* dcli_wire.taken when its last message was taken, or its end was seen */
} dcli_wire_peer;

/** Sources of events. Checking one costs system calls, so only those are checked that may have something. */
typedef enum dcli_wire_source {
    DCLI_WIRE_OUTGOING,          /* messages of peers to which this one has connected */
    DCLI_WIRE_OUTGOING_EVENTS,   /* events of those connections */
    DCLI_WIRE_ACCEPTOR,          /* messages of peers that have connected to this one */
    DCLI_WIRE_ACCEPTOR_EVENTS,   /* events of those connections */
    DCLI_WIRE_ACCEPTOR_ARRIVALS, /* bytes over connections that have a limit: see dcli_acceptor.arrivals */
    DCLI_WIRE_SOURCES
} dcli_wire_source;

typedef struct dcli_wire {
    dcli_acceptor acceptor; /* peers with higher numbers connect to it */
    void *outgoing;         /* the ROUTER that connects to peers with lower numbers */
    int outgoing_fd;
    dcli_monitor monitor; /* events of `outgoing` */
    dcli_wire_peer *peer; /* [peer_count] the state of each peer */
    const dcli_keypair *own;
    dcli_keypair pair; /* copy of the own key pair, to which `own` points */
    char *password;
    dcli_secret
        host_secret; /* for a session's host: its names and, without keys, its passwords are derived from this */
    bool is_host;    /* host_secret is set */
    int host;        /* the peer that must have the host's key or password, and its routing id; -1: none */
    unsigned char host_id[DCLI_HOST_ROUTING_BYTES];
    int64_t silence_ms;
    const dcli_log *log;
    int64_t logged_ns;             /* time of the last log line about a refused connection; 0: none yet */
    int64_t now_ns;                /* time of the last request for a message */
    int64_t listened_ns;           /* time when dcli_wire_found() was last called */
    int64_t looked_ns;             /* time of the last comparison in wire_ahead.c */
    int64_t beat_due_ns;           /* time of the next heartbeat on all connections */
    dcli_parcels ready;            /* messages to deliver before anything else */
    int closing;                   /* number of peers in state CLOSING */
    uint64_t taken;                /* number of messages taken so far */
    dcli_stranger stranger;        /* sender of the last message that was no peer's */
    bool poses;                    /* the last sender has the number of the host, but not its routing id */
    bool quiet[DCLI_WIRE_SOURCES]; /* the source was found empty, and not used since: an arrival makes its descriptor
                                      readable */
    int last_from;                 /* the peer whose message was taken last; -1: none */
    int64_t refused;               /* value of endpoint->refused at the last check */
} dcli_wire;

/** The routing id of a peer that has connected. @return its length. */
size_t dcli_wire_id(const dcli_wire *wire, int peer, unsigned char id_out[DCLI_HOST_ROUTING_BYTES]);
/** Mark the acceptor's sources as possibly having something again. */
void dcli_wire_stir_acceptor(dcli_wire *wire);
void dcli_wire_stir_outgoing(dcli_wire *wire);
/** Whether messages have checksums: without keys nothing else detects changed bytes. */
static inline bool dcli_wire_has_sums(const dcli_wire *wire) { return wire->own == NULL; }
/** Descriptor of the connection to a peer, libzmq's. */
static inline int dcli_wire_fd(const dcli_wire_peer *peer)
{
    return peer->address != NULL ? peer->connection : peer->fd;
}
/** Time between two heartbeats of a connection. */
int64_t dcli_wire_beat_ns(const dcli_wire *wire);
/** Send heartbeats, with the number of the last message, to all connected peers, if it is time. */
void dcli_wire_beat(dcli_endpoint *endpoint);
/** Time of the next action: see dcli_transport.due_ns. */
int64_t dcli_wire_due_ns(const dcli_endpoint *endpoint);
/** Seal a frame, which has room for the seal at its end, and send it to a connected peer. Takes over the frames. @param
 *  payload  NULL: none. @return DCL_OK, DCL_ERR_NETWORK (the connection has ended; the peer will be reported as
 *  lost). */
dcl_status dcli_wire_transmit(dcli_endpoint *endpoint, int to, zmq_msg_t *header, zmq_msg_t *payload);
/** Send a peer this side's view of the connection (net/direct.h), if that is known. */
void dcli_wire_tell_view(dcli_endpoint *endpoint, int peer);
/** Find out whether a connection is direct, once both views are known. */
void dcli_wire_compare_views(dcli_wire_peer *peer);
/** Handle an established connection: send the waiting messages. */
void dcli_wire_rise(dcli_endpoint *endpoint, int peer);
/** Note that the connection to a peer has ended, and how. The peer is reported as lost after its last message. */
void dcli_wire_set(dcli_endpoint *endpoint, int peer, dcli_ending ending);
/** Lose a peer with this sentence; nothing more is accepted from it. @return false. */
bool dcli_wire_break_off(dcli_endpoint *endpoint, int peer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Count a taken message of a peer. */
void dcli_wire_note_taken(dcli_wire_peer *peer, const dcli_incoming *incoming);
/** End the connections of peers that have sent too many bytes beyond the messages taken from them. */
void dcli_wire_look_ahead(dcli_endpoint *endpoint);
/** End the connection to a peer, and free everything stored for it, in either direction. */
void dcli_wire_forget(dcli_endpoint *endpoint, int peer);

/* ---- the functions of the tcp transport: see dcli_transport ---- */

dcl_status dcli_wire_send(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                          const dcli_payload *payload, int descriptor);
dcl_status dcli_wire_take(dcli_endpoint *endpoint, dcli_incoming *incoming);
bool dcli_wire_seems_ready(const dcli_endpoint *endpoint);
bool dcli_wire_arm(dcli_endpoint *endpoint);
void dcli_wire_found(dcli_endpoint *endpoint, const struct pollfd polled[]);
/** Get the descriptors by source; -1: none. */
void dcli_wire_descriptors(const dcli_wire *wire, int descriptors_out[DCLI_WIRE_SOURCES]);

#endif
