/* net/wire_socket.h - sockets over tcp: their options, what libzmq tells of them, and listeners that know their
 * connections. */
#ifndef DCLI_NET_WIRE_SOCKET_H
#define DCLI_NET_WIRE_SOCKET_H

#include "net/endpoint.h"
#include "net/gate.h"
#include "net/wire_address.h"

/* ---- options ---- */

/** Bytes that a connection has brought, and that its other side has acknowledged. @return false: the system does not say. */
bool dcli_wire_brought(int fd, uint64_t *received_out, uint64_t *acknowledged_out);
/** Limits and times of a socket, before it is bound or connected. @param most_bytes  of a frame: the connection of who
 *  sends a longer one is ended by libzmq. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_wire_dress(void *socket, int64_t silence_ms, int64_t most_bytes);
dcl_status dcli_wire_option(void *socket, int option, int value);
/** For sockets without keys, which reach this host alone: let little be under way at once, so that what the sender's system
 *  call copied is still in the cache when the receiver's copies it on. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_wire_stay_in_cache(void *socket);

/** What is presented where a socket connects. @param own  NULL: the password, under the user name `user`.
 *  @param server_key  hexadecimal digits; "" with a password. @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NETWORK. */
dcl_status dcli_wire_present(void *socket, const dcli_keypair *own, const char *user, const char *password,
                             const char *server_key);

/* ---- events ---- */

typedef struct dcli_monitor {
    void *events; /* NULL: not open */
    int fd;
} dcli_monitor;

typedef struct dcli_event {
    int kind;                            /* ZMQ_EVENT_... */
    int value;                           /* a descriptor or a code, depending on kind */
    char address[DCLI_MOST_ADDRESS + 1]; /* as dcli_resolved_text() writes it: of the other side where this one
                                            connected, else of the listener */
} dcli_event;

/** Begin before the socket is bound or connected; once per socket. @return DCL_OK, DCL_ERR_NETWORK. */
dcl_status dcli_monitor_open(dcli_net *net, void *socket, dcli_monitor *monitor_out);
/** Does not wait. @return false: nothing new. */
bool dcli_monitor_next(dcli_monitor *monitor, dcli_event *event_out);
/** Before the socket is closed. One that is not open is accepted. */
void dcli_monitor_close(dcli_monitor *monitor, void *socket);

/* ---- ends of connections ---- */

/** How a connection that this side made ended, for its sentence. */
typedef enum dcli_ending {
    DCLI_NOT_ENDED,
    DCLI_END_LOST,    /* it was there, and ended */
    DCLI_END_NOBODY,  /* it was never made */
    DCLI_END_REFUSED, /* the other side does not accept what was presented */
    DCLI_END_MISFIT,  /* the other side wants something else */
    DCLI_END_SHORT    /* the other side ended it in the middle of the handshake */
} dcli_ending;

/** What an event says. @param up  the handshake has succeeded. @return DCLI_NOT_ENDED for all that is no end; what the
 *  first one says holds. */
dcli_ending dcli_ending_of(const dcli_event *event, bool up);
/** Record it: "<who> at <address>: connection refused ...; what to do". May try to connect to learn the reason, for
 *  `patience_ms` at most. @param who  "the worker", "peer 3"; @param address  as dcli_resolved_text() writes it.
 *  @return DCL_ERR_NODE_LOST. */
dcl_status dcli_ending_fail(dcli_ending ending, const char *who, const char *address, bool has_keys, int64_t silence_ms,
                            int patience_ms);

/* ---- listeners ---- */

/** Of who connects: a handshake takes up to 700 bytes. */
enum { DCLI_DOOR_HANDSHAKE = 2048 };

typedef struct dcli_door_terms {
    dcli_net *net;
    const char *address; /* to listen at; port "*": in the range, or any */
    int first_port, last_port;
    dcli_gate *gate;
    const char *domain;
    const dcli_keypair *own; /* NULL: the domain has a password */
    int64_t silence_ms, most_bytes;
    int most_waiting;     /* messages of a connection, in either direction; 0: no limit */
    int most_connections; /* beyond them the oldest that has not said anything yet is cut */
    /* Bytes of a connection that are not of a message that was taken; 0: no limit of this kind. */
    int64_t most_before;         /* until it has shown the password or a key; DCLI_DOOR_HANDSHAKE is enough */
    int64_t most_ahead;          /* afterwards */
    int64_t most_in_all;         /* of all connections; those with most of them are cut */
    const unsigned char *own_id; /* [DCLI_ROUTING_BYTES]; NULL: none */
} dcli_door_terms;

typedef struct dcli_connection {
    int fd;
    bool ended, cut;
    int64_t holder;   /* -1: nobody has been heard of over it */
    uint64_t cookie;  /* the system's unique number of the socket: descriptors are used again; with a holder only */
    bool let_in;      /* it has shown the password or a key */
    uint64_t brought; /* bytes that have come, as last seen */
    uint64_t taken;   /* and when its last message was taken */
    int64_t since_ns;
} dcli_connection;

/** A ROUTER that is bound, and its connections. */
typedef struct dcli_door {
    void *router; /* NULL: not open */
    int fd, port, most;
    int arrivals; /* readable when bytes have come that a limit is for; -1: there is no limit */
    bool has_keys;
    bool unseen; /* connections that dcli_door_next_flood() has not looked at yet */
    int64_t most_before, most_ahead, most_in_all;
    dcli_monitor monitor;
    char address[DCLI_MOST_ADDRESS + 1]; /* with the port */
    dcli_connection *connection;         /* [count], oldest first */
    int64_t count, capacity;
} dcli_door;

/** @param door_out  {0} on failure.
 *  @return DCL_OK, DCL_ERR_INVALID (address; beyond loopback without keys), DCL_ERR_NETWORK (ports taken, name), NOMEM. */
dcl_status dcli_door_open(const dcli_door_terms *terms, dcli_door *door_out);
void dcli_door_close(dcli_door *door);

/** The first message of a holder has come by descriptor `fd` (ZMQ_SRCFD) from the socket with this routing id: note whose
 *  connection it is, and send an empty message back. @param holder  >= 0, of the caller's choice.
 *  @return false: the connection has ended already; messages of it may still be there to take. */
bool dcli_door_claim(dcli_door *door, int fd, const void *id, size_t id_bytes, int64_t holder);
/** Whose connection has ended. @return false: nobody's, at the moment. */
bool dcli_door_next_end(dcli_door *door, int64_t *holder_out);
/** End a connection; dcli_door_next_end() does not tell it. */
void dcli_door_cut(dcli_door *door, int64_t holder);
/** A message that came by this descriptor was taken. */
void dcli_door_note_message(dcli_door *door, int fd);
/** End the connection of one who brings bytes, but no message that ends: more than a limit.
 *  dcli_door_next_end() does not tell it. @param holder_out  -1: nobody has been heard of over it.
 *  @return false: nobody, at the moment. */
bool dcli_door_next_flood(dcli_door *door, int64_t *holder_out);
/** End the connections made before `before_ns` over which nobody has been heard of. @return how many. */
int dcli_door_cut_silent(dcli_door *door, int64_t before_ns);
/** When the oldest of those was made; INT64_MAX: there is none. */
int64_t dcli_door_oldest_silent_ns(const dcli_door *door);
/** End the connection of this descriptor, which must have no holder. */
void dcli_door_cut_stranger(dcli_door *door, int fd);

#endif
