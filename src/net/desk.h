/* net/desk.h - where clients call, and how they call: one listener of a worker, before there is a session. */
#ifndef DCLI_NET_DESK_H
#define DCLI_NET_DESK_H

#include "net/gate.h"
#include "net/net.h"

enum {
    DCLI_DESK_FRAME = 1 << 16, /* most bytes of a message from a client */
    DCLI_DESK_AHEAD = 1 << 17, /* most bytes that come of a client without a message of it being taken */
    /* And of all that connect. Of 2 bytes each libzmq makes an object of 64, of a frame that is announced its memory. */
    DCLI_DESK_IN_ALL = 1 << 19,
    /* Connections beside those of clients: in the handshake, or being hung up on. So many that one in the handshake does
     * not become the oldest of them while somebody makes and resets as many as a machine can, 20,000 a second. */
    DCLI_DESK_STRANGERS = 1024,
    DCLI_DESK_IDLE_MS =
        10000, /* a client without a session, or who is none yet, that says nothing for so long is hung up on */
    DCLI_DESK_RATE = 50,           /* messages a second from a client without a session */
    DCLI_DESK_SESSION_RATE = 1000, /* and with one */
    DCLI_DESK_FAREWELL_MS = 500    /* what was sent last may arrive before the connection is ended */
};

/* ---- the desk ---- */

/** Used by one thread. */
typedef struct dcli_desk dcli_desk;

/** Borrowed for the call, but net, gate and log, which outlive the desk. */
typedef struct dcli_desk_terms {
    dcli_net *net;
    const char *address; /* tcp://HOST:PORT; port "*": any; beyond loopback only with keys */
    dcli_gate *gate;
    const char *domain;      /* of the gate */
    const dcli_keypair *own; /* NULL: the domain has a password */
    int64_t silence_ms;      /* a client whose process or host says nothing for so long is gone */
    int most_clients;        /* further ones are refused */
    int most_strangers;      /* connections that nobody has spoken over; 0: DCLI_DESK_STRANGERS */
    int64_t idle_ms;         /* for a client without a session; 0: DCLI_DESK_IDLE_MS */
    const dcli_log *log;     /* NULL: nowhere */
} dcli_desk_terms;

/** @return DCL_OK; DCL_ERR_INVALID (address; beyond loopback without keys: how to make them), DCL_ERR_NETWORK (the port is
 *  taken, the name cannot be looked up), DCL_ERR_NOMEM. */
dcl_status dcli_desk_open(const dcli_desk_terms *terms, dcli_desk **desk_out);
/** NULL is accepted. */
void dcli_desk_close(dcli_desk *desk);
/** Where it listens, with the port. Borrowed. */
const char *dcli_desk_address(const dcli_desk *desk);

/** Take the next message. The desk answers by itself with REFUSED, and hangs up, where a client speaks another version of
 *  the protocol (both numbers are in the sentence) or is one too many. It hangs up on who sends what is no message, or more
 *  than it may; that is counted and logged, one line a second at most.
 *  @param client_out  a number that is never given again, > 0.
 *  @return DCL_OK; DCL_ERR_TIMEOUT (no sentence); DCL_ERR_NODE_LOST: this client is gone, or was hung up on by the desk: said
 *  once, for clients a message of which was returned; DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_desk_receive(dcli_desk *desk, int milliseconds, dcli_received *received_out, uint32_t *client_out);
/** Never blocks. A client that was sent OPENED has a session: it is not hung up on for saying little.
 *  @return DCL_OK, DCL_ERR_INVALID (a field), DCL_ERR_NETWORK (it is gone, or takes nothing: it is hung up on), NOMEM. */
dcl_status dcli_desk_send(dcli_desk *desk, uint32_t client, const dcli_message *message);
/** Nothing more is taken from it; what was sent may still arrive. DCL_ERR_NODE_LOST is not said. Unknown ones: nothing. */
void dcli_desk_hang_up(dcli_desk *desk, uint32_t client);

enum { DCLI_DESK_DESCRIPTORS = 3 };

/** Descriptors to poll for reading, for a caller that waits for other things too. They tell of news, not of messages that
 *  are there: poll only after dcli_desk_receive() with 0 ms has returned DCL_ERR_TIMEOUT, and not for longer than
 *  *milliseconds_out, when the desk has something to do. */
int dcli_desk_descriptors(const dcli_desk *desk, int descriptors_out[DCLI_DESK_DESCRIPTORS], int *milliseconds_out);
/** Who a client is, for log lines: its address, and the fingerprint of its key. "" for unknown ones. Borrowed. */
const char *dcli_desk_caller(const dcli_desk *desk, uint32_t client);
/** Its public key, hexadecimal digits; "" for unknown ones, and where there are no keys. Borrowed. */
const char *dcli_desk_key(const dcli_desk *desk, uint32_t client);
/** Malformed messages, and clients that were hung up on by the desk. */
int64_t dcli_desk_refused(const dcli_desk *desk);

/* ---- a call ---- */

/** Used by one thread. */
typedef struct dcli_call dcli_call;

/** Borrowed for the call, but net, which outlives it. */
typedef struct dcli_call_terms {
    dcli_net *net;
    const char *address;     /* tcp://HOST:PORT */
    const dcli_keypair *own; /* NULL: a password */
    const char *server_key;  /* public key of the desk, hexadecimal digits; "" without keys */
    const char *password;    /* NULL with keys; presented on loopback only */
    int64_t silence_ms;
} dcli_call_terms;

/** Begins to connect; whether that succeeds, receiving tells.
 *  @return DCL_OK, DCL_ERR_INVALID (address, keys; a password beyond loopback), DCL_ERR_NETWORK (the name cannot be looked
 *  up), DCL_ERR_NOMEM. */
dcl_status dcli_call_open(const dcli_call_terms *terms, dcli_call **call_out);
/** NULL is accepted. */
void dcli_call_close(dcli_call *call);
/** Never blocks; may be called before the connection is there. @return DCL_OK, DCL_ERR_NETWORK, DCL_ERR_INVALID, NOMEM. */
dcl_status dcli_call_send(dcli_call *call, const dcli_message *message);
/** @return DCL_OK; DCL_ERR_TIMEOUT (no sentence); DCL_ERR_PROTOCOL (no message of this version); DCL_ERR_NODE_LOST, from now
 *  on always: refused connection, wrong key, wrong token, no route, timeout, ended: the sentence has the address and what
 *  to do; DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_call_receive(dcli_call *call, int milliseconds, dcli_received *received_out);
/** As dcli_desk_descriptors(), without a time. @return 2. */
int dcli_call_descriptors(const dcli_call *call, int descriptors_out[2]);

#endif
