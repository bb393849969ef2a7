/* net/listener.h - the listener that clients call before there is a session, and the client's side of such a call. */
#ifndef DCLI_NET_LISTENER_H
#define DCLI_NET_LISTENER_H

#include "net/authenticator.h"
#include "net/net.h"

enum {
    DCLI_LISTENER_FRAME = 1 << 16, /* largest message from a client, in bytes */
    DCLI_LISTENER_AHEAD = 1 << 17, /* most bytes a client may send beyond the messages that were taken */
    /* Most bytes that all clients together may send beyond the messages that were taken. It is low because libzmq
     * allocates an object of 64 bytes even for an empty frame of 2 bytes, and the memory of a frame as soon as its
     * length is announced. */
    DCLI_LISTENER_IN_ALL = 1 << 19,
    /* Connections in addition to those of clients: in the handshake, or being disconnected. There are so many that a
     * connection in the handshake does not become the oldest one while an attacker opens and resets 20,000 a second. */
    DCLI_LISTENER_STRANGERS = 1024,
    DCLI_LISTENER_IDLE_MS = 10000,     /* a connection without a session that sends nothing for this time is ended */
    DCLI_LISTENER_RATE = 50,           /* most messages a second from a client without a session */
    DCLI_LISTENER_SESSION_RATE = 1000, /* most messages a second from a client with a session */
    DCLI_LISTENER_FAREWELL_MS = 500    /* time for the last messages to arrive before a connection is ended */
};

/* ---- the listener ---- */

/** Used by one thread. */
typedef struct dcli_listener dcli_listener;

/** Borrowed for the call, except net, authenticator and log, which must outlive the listener. */
typedef struct dcli_listener_terms {
    dcli_net *net;
    const char *address; /* tcp://HOST:PORT; port "*": any; beyond loopback only with keys */
    dcli_authenticator *authenticator;
    const char *domain;      /* name of the authenticator's domain that admits clients */
    const dcli_keypair *own; /* the listener's key pair; NULL: the domain has a password */
    int64_t silence_ms;      /* a client that sends nothing for this time is gone */
    int most_clients;        /* further clients are refused */
    int most_strangers;      /* most connections over which no message has come; 0: DCLI_LISTENER_STRANGERS */
    int64_t idle_ms;         /* idle limit of a client without a session; 0: DCLI_LISTENER_IDLE_MS */
    const dcli_log *log;     /* NULL: nothing is logged */
} dcli_listener_terms;

/** Open a listener. @return DCL_OK; DCL_ERR_INVALID (address; beyond loopback without keys: how to make them),
 *  DCL_ERR_NETWORK (the port is in use, the name cannot be resolved), DCL_ERR_TIMEOUT (the name was not resolved within
 *  10 s), DCL_ERR_NOMEM. */
dcl_status dcli_listener_open(const dcli_listener_terms *terms, dcli_listener **listener_out);
/** End all connections and free the listener. NULL is accepted. */
void dcli_listener_close(dcli_listener *listener);
/** The address where it listens, with the port. Borrowed. */
const char *dcli_listener_address(const dcli_listener *listener);

/** Receive the next message. The listener itself sends REFUSED, and disconnects, when a client speaks another version
 *  of the protocol (the sentence has both numbers) or there are too many clients. It disconnects clients that send
 *  invalid messages or exceed a limit; these are counted, and logged at most once a second.
 *  @param client_out  the client's number, > 0 and never used again.
 *  @return DCL_OK; DCL_ERR_TIMEOUT (no sentence); DCL_ERR_NODE_LOST: this client is gone or was disconnected by the
 *          listener (reported once, only for clients whose messages were returned); DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_listener_receive(dcli_listener *listener, int milliseconds, dcli_received *received_out,
                                 uint32_t *client_out);
/** Send a message to a client. Never blocks. After OPENED the client has a session and has no idle limit.
 *  @return DCL_OK, DCL_ERR_INVALID (a field), DCL_ERR_NETWORK (it is gone, or takes nothing: it is disconnected),
 *          DCL_ERR_NOMEM. */
dcl_status dcli_listener_send(dcli_listener *listener, uint32_t client, const dcli_message *message);
/** Disconnect a client: nothing more is received from it, and DCL_ERR_NODE_LOST is not reported. Messages already sent
 *  may still arrive. Unknown clients are ignored. */
void dcli_listener_hang_up(dcli_listener *listener, uint32_t client);

enum { DCLI_LISTENER_DESCRIPTORS = 3 };

/** Get the descriptors for poll(), for a caller that waits for other events, too. They are edge-triggered: poll only
 *  after dcli_listener_receive() with 0 ms has returned DCL_ERR_TIMEOUT, and for at most *milliseconds_out: then the
 *  listener has work to do. @return their number. */
int dcli_listener_descriptors(const dcli_listener *listener, int descriptors_out[DCLI_LISTENER_DESCRIPTORS],
                              int *milliseconds_out);
/** Description of a client for log lines: its address and the fingerprint of its key. "" for unknown clients.
 *  Borrowed. */
const char *dcli_listener_caller(const dcli_listener *listener, uint32_t client);
/** Public key of a client, in hexadecimal digits; "" for unknown clients and without keys. Borrowed. */
const char *dcli_listener_key(const dcli_listener *listener, uint32_t client);
/** Number of clients and connections that the listener has refused, or disconnected because of an invalid message or a
 *  limit. */
int64_t dcli_listener_refused(const dcli_listener *listener);

/* ---- a call ---- */

/** Used by one thread. */
typedef struct dcli_control dcli_control;

/** Borrowed for the call, except net, which must outlive it. */
typedef struct dcli_control_terms {
    dcli_net *net;
    const char *address;     /* tcp://HOST:PORT */
    const dcli_keypair *own; /* the caller's key pair; NULL: it sends a password */
    const char *server_key;  /* public key of the listener, hexadecimal digits; "" without keys */
    const char *password;    /* password of the listener, sent on loopback only; NULL with keys */
    int64_t silence_ms;
} dcli_control_terms;

/** Start connecting to a listener; dcli_control_receive() reports whether that succeeds.
 *  @return DCL_OK, DCL_ERR_INVALID (address, keys; a password beyond loopback), DCL_ERR_NETWORK (the name cannot be
 *          resolved), DCL_ERR_TIMEOUT (it was not resolved within 10 s), DCL_ERR_NOMEM. */
dcl_status dcli_control_open(const dcli_control_terms *terms, dcli_control **call_out);
/** End the connection and free the call. NULL is accepted. */
void dcli_control_close(dcli_control *call);
/** Send a message to the listener. Never blocks; may be called before the connection is established. @return DCL_OK,
 *  DCL_ERR_NETWORK, DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_status dcli_control_send(dcli_control *call, const dcli_message *message);
/** Receive a message from the listener. @return DCL_OK; DCL_ERR_TIMEOUT (no sentence); DCL_ERR_PROTOCOL (not a message
 *  of this version); DCL_ERR_NODE_LOST, from now on always: connection refused, wrong key, wrong token, no route,
 *  timeout or ended: the sentence has the address and what to do; DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_control_receive(dcli_control *call, int milliseconds, dcli_received *received_out);
/** Descriptors for poll(), as dcli_listener_descriptors(), without a time. @return 2. */
int dcli_control_descriptors(const dcli_control *call, int descriptors_out[2]);

#endif
