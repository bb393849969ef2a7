/* net/wire_socket.h - sockets over tcp: their options, libzmq's events, and listeners that know their connections. */
#ifndef DCLI_NET_WIRE_SOCKET_H
#define DCLI_NET_WIRE_SOCKET_H

#include "net/authenticator.h"
#include "net/endpoint.h"
#include "net/wire_address.h"

/* ---- options ---- */

/** Bytes that a connection has received, and that its other side has acknowledged. @return false: the system does not
 *  tell. */
bool dcli_wire_brought(int fd, uint64_t *received_out, uint64_t *acknowledged_out);
/** Set limits and times of a socket before it is bound or connected. @param most_bytes  of a frame: libzmq ends a
 *  connection that sends a longer one. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_wire_dress(void *socket, int64_t silence_ms, int64_t most_bytes);
/** Set an option of type int. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_wire_option(void *socket, int option, int value);
/** Set small buffers on a socket without keys, which is on this host only: so what the sender's system call has copied
 *  is still in the cache when the receiver copies it. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_wire_stay_in_cache(void *socket);

/** Set the credentials that a connecting socket sends. @param own  NULL: use the password, with the user name `user`.
 *  @param server_key  hexadecimal digits; "" with a password. @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NETWORK. */
dcl_status dcli_wire_present(void *socket, const dcli_keypair *own, const char *user, const char *password,
                             const char *server_key);

/* ---- events ---- */

typedef struct dcli_monitor {
    void *events; /* socket that delivers the events of another socket; NULL: it is not open */
    int fd;
} dcli_monitor;

typedef struct dcli_event {
    int kind;                            /* what has happened: ZMQ_EVENT_... */
    int value;                           /* a descriptor or an error code, depending on the kind */
    char address[DCLI_MOST_ADDRESS + 1]; /* as dcli_resolved_text() writes it: of the other side if this one
                                            connected, else of the listener */
} dcli_event;

/** Start monitoring before the socket is bound or connected; once per socket. @return DCL_OK, DCL_ERR_NETWORK. */
dcl_status dcli_monitor_open(dcli_net *net, void *socket, dcli_monitor *monitor_out);
/** Take the next event without waiting. @return false: there is none. */
bool dcli_monitor_next(dcli_monitor *monitor, dcli_event *event_out);
/** Stop monitoring, before the socket is closed. A monitor that is not open is accepted. */
void dcli_monitor_close(dcli_monitor *monitor, void *socket);

/* ---- ends of connections ---- */

/** How a connection that this side made has ended, for the error sentence. */
typedef enum dcli_ending {
    DCLI_NOT_ENDED,
    DCLI_END_LOST,    /* it was established, and ended */
    DCLI_END_NOBODY,  /* the connection was never established */
    DCLI_END_REFUSED, /* the other side does not accept the credentials */
    DCLI_END_MISFIT,  /* it was made, but ended before the handshake succeeded: usually, the other side has another
                         mechanism or public key, or is not DCL */
    DCLI_END_SHORT    /* the other side ended it during the handshake */
} dcli_ending;

/** What an event says about the end. @param up  the handshake has succeeded. @return DCLI_NOT_ENDED for all other
 *  events; the first end counts. */
dcli_ending dcli_ending_of(const dcli_event *event, bool up);
/** Record the error: "<who> at <address>: connection refused ...; what to do". May try to connect to find the reason,
 *  for at most `patience_ms`. @param who  "the worker", "peer 3". @param address  as dcli_resolved_text() writes it.
 *  @return DCL_ERR_NODE_LOST. */
dcl_status dcli_ending_fail(dcli_ending ending, const char *who, const char *address, bool has_keys, int64_t silence_ms,
                            int patience_ms);

/** Wait until the handshake of a connecting socket has succeeded or failed, or a connection attempt has ended.
 *  @param up_out  it has succeeded. @return how it ended; DCLI_NOT_ENDED: it has succeeded, or the time is over. */
dcli_ending dcli_monitor_handshake(dcli_monitor *monitor, int milliseconds, bool *up_out);

/* ---- listeners ---- */

/** Byte limit for a connecting client: a handshake takes up to 700 bytes. */
enum { DCLI_ACCEPTOR_HANDSHAKE = 2048 };

typedef struct dcli_acceptor_terms {
    dcli_net *net;
    const char *address; /* where to listen; port "*": in the range, or any */
    int first_port, last_port;
    dcli_authenticator *authenticator;
    const char *domain;
    const dcli_keypair *own; /* the acceptor's key pair; NULL: the domain has a password */
    int64_t silence_ms, most_bytes;
    int most_waiting;     /* queued messages of a connection, in either direction; 0: no limit */
    int most_connections; /* beyond this number (or half of the process's descriptors, if that is less), the oldest
                             connection over which no message came is ended, unauthenticated ones first */
    /* Limits on bytes of a connection beyond the messages taken from it; 0: no limit of this kind. */
    int64_t most_before; /* limit until the connection is authenticated; DCLI_ACCEPTOR_HANDSHAKE is enough */
    int64_t most_ahead;  /* limit after that */
    int64_t most_in_all; /* limit for all connections together; beyond it the connection with the most is ended */
    const unsigned char *own_id; /* [DCLI_ROUTING_BYTES]; NULL: none */
} dcli_acceptor_terms;

typedef struct dcli_connection {
    int fd;
    bool ended;       /* it has ended, but dcli_acceptor_next_end() has not reported it yet */
    bool cut;         /* this side has shut it down, but its end was not seen yet */
    int64_t holder;   /* number by which the caller knows its client or peer; -1: no message has been received over
                         it */
    uint64_t cookie;  /* the system's unique number of the socket, because descriptors are reused */
    bool let_in;      /* it is authenticated */
    uint64_t brought; /* bytes received at the last check */
    uint64_t taken;   /* bytes received when its last message was taken */
    int64_t since_ns; /* when it was accepted */
} dcli_connection;

/** An acceptor: a bound ROUTER and its connections. */
typedef struct dcli_acceptor {
    void *router; /* the socket to which others connect; NULL: it is not open */
    int fd, port;
    int most;     /* limit of connections */
    int arrivals; /* readable when bytes have arrived that a limit applies to; -1: there is no limit */
    bool has_keys;
    bool unseen; /* some connections were not checked by dcli_acceptor_next_flood() yet */
    int64_t most_before, most_ahead, most_in_all;
    dcli_monitor monitor;
    char address[DCLI_MOST_ADDRESS + 1]; /* address at which it listens, with the port */
    dcli_connection *connection;         /* [count], oldest first */
    int64_t count, capacity;
} dcli_acceptor;

/** Open an acceptor. @param acceptor_out  {0} on failure.
 *  @return DCL_OK, DCL_ERR_INVALID (address; beyond loopback without keys), DCL_ERR_NETWORK (ports in use, name),
 *          DCL_ERR_NOMEM. */
dcl_status dcli_acceptor_open(const dcli_acceptor_terms *terms, dcli_acceptor *acceptor_out);
void dcli_acceptor_close(dcli_acceptor *acceptor);

/** Assign a connection to a holder: the holder's first message has arrived by descriptor `fd` (ZMQ_SRCFD) with this
 *  routing id. Sends an empty message back. @param holder  >= 0, chosen by the caller.
 *  @return false: the connection has ended already; messages of it may still be queued. */
bool dcli_acceptor_claim(dcli_acceptor *acceptor, int fd, const void *id, size_t id_bytes, int64_t holder);
/** Get the holder of a connection that has ended. @return false: there is none now. */
bool dcli_acceptor_next_end(dcli_acceptor *acceptor, int64_t *holder_out);
/** End a holder's connection; dcli_acceptor_next_end() does not report it. */
void dcli_acceptor_cut(dcli_acceptor *acceptor, int64_t holder);
/** Note that a message of a holder was taken. */
void dcli_acceptor_note_message(dcli_acceptor *acceptor, int64_t holder);
/** End a connection that has received more bytes than its limit without a complete message. dcli_acceptor_next_end()
 *  does not report it. @param holder_out  -1: no message was received over it. @return false: there is none now. */
bool dcli_acceptor_next_flood(dcli_acceptor *acceptor, int64_t *holder_out);
/** End connections made before `before_ns` over which no message was received. @return how many. */
int dcli_acceptor_cut_silent(dcli_acceptor *acceptor, int64_t before_ns);
/** When the oldest connection was made over which no message was received; INT64_MAX: there is none. */
int64_t dcli_acceptor_oldest_silent_ns(const dcli_acceptor *acceptor);
/** End the connection that has descriptor `fd`, over which a message has arrived (ZMQ_SRCFD), if it has no holder.
 *  @param id  routing id that the message came with: if the connection of this id has ended, nothing is done, because
 *  another connection may have its descriptor now. NULL: whichever connection has the descriptor is ended. */
void dcli_acceptor_cut_stranger(dcli_acceptor *acceptor, int fd, const void *id, size_t id_bytes);

#endif
