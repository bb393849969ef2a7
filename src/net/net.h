/* net/net.h - peers that exchange messages: one endpoint per worker and one for the host. The only room that knows
 * ZeroMQ and msgpack. */
#ifndef DCLI_NET_NET_H
#define DCLI_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/base.h>

#include "base/log.h"
#include "net/message.h"

/** What all endpoints of one program share (the ZeroMQ context). Used by all threads. */
typedef struct dcli_net dcli_net;
dcl_status dcli_net_open(dcli_net **net_out);
/** The same for tcp. @param io_threads  1 per 0.35 GB/s that is wanted with keys, or 2 GB/s without; 0: no tcp. */
dcl_status dcli_net_open_io(int io_threads, dcli_net **net_out);
/** All endpoints are closed before. */
void dcli_net_close(dcli_net *net);

/** One peer's end of the links to all others of its session. Used by one thread at a time; may be made in one thread and
 *  handed over before first use. */
typedef struct dcli_endpoint dcli_endpoint;

/** Peers that are threads of this process (`inproc://`).
 *  @param session  names the group of peers; @param self  0..peer_count-1. All endpoints of a session must be made before
 *  the first send.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NETWORK (the peer is open already, descriptors run out), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_open(dcli_net *net, uint64_t session, int self, int peer_count, dcli_endpoint **endpoint_out);
/** Messages on the way to or from this endpoint may be dropped: their payloads are released, at the latest when the net is
 *  closed. Received messages stay valid. NULL is accepted. */
void dcli_endpoint_close(dcli_endpoint *endpoint);

/* ---- peers that are processes of one host (shared memory) ---- */

/** One end of what joins two processes. */
typedef struct dcli_shared_link {
    int socket; /* -1: no link */
    int memory; /* descriptor of the memory of both directions */
    int side;   /* 0 or 1 */
} dcli_shared_link;

/** Make both ends, with descriptors of their own, closed by exec(): one end is to be passed to each process. Nothing of it
 *  has a name in a file system. @return DCL_OK, DCL_ERR_NETWORK (descriptors run out), DCL_ERR_NOMEM. */
dcl_status dcli_shared_link_make(dcli_shared_link ends_out[2]);
/** Make an end travel by its socket alone: its memory is put into the socket through the other end.
 *  Closes end->memory. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_shared_link_fold(dcli_shared_link *end, const dcli_shared_link *other);
/** Take such an end's memory out of its socket. Takes the socket over, also on failure.
 *  @return DCL_OK, DCL_ERR_PROTOCOL (there is no memory in it) or DCL_ERR_NODE_LOST (no descriptor is free for it). */
dcl_status dcli_shared_link_adopt(int socket, dcli_shared_link *end_out);
/** Close an end that was not handed to an endpoint. .socket -1 is accepted. */
void dcli_shared_link_close(dcli_shared_link *end);

/** @param link  [peer_count] links to the others; .socket -1: none (to itself, to absent ones). Taken over, also on failure.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_PROTOCOL (a descriptor of something else), DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_open_shared(dcli_net *net, int self, int peer_count, const dcli_shared_link link[],
                                     dcli_endpoint **endpoint_out);
/** A link to a peer that comes later; one that had none. Takes the link over, also on failure. */
dcl_status dcli_endpoint_add_link(dcli_endpoint *endpoint, int peer, const dcli_shared_link *link);
/** Payloads that lie in buffers of this stock, of dcli_buffers_open_shared(), are read there by the receiver; others are
 *  copied first. The stock outlives the endpoint. Call it before the first payload is sent. */
struct dcli_buffers;
void dcli_endpoint_use_buffers(dcli_endpoint *endpoint, struct dcli_buffers *buffers);

/* ---- sending and receiving ---- */

/** Bulk data that travels behind a message without being copied. */
typedef struct dcli_payload {
    void *bytes;
    size_t length;
    void (*release)(void *bytes, void *user); /* called once, from any thread, when nobody needs it any more */
    void *user;
} dcli_payload;

/** Send to peer `to`, which may be the sender. Never blocks. Takes the payload over, also on failure (payload may be NULL;
 *  only a CHUNK may have one; an empty one is released at once and not sent). Messages to one peer arrive in order.
 *  @return DCL_OK (on its way, which is not arrival), DCL_ERR_NETWORK (the peer is gone), DCL_ERR_INVALID (no such peer, a
 *  field out of range), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_send(dcli_endpoint *endpoint, int to, const dcli_message *message, dcli_payload *payload);
/** The same without payload, with a descriptor of this process (between processes of one host only; a copy goes along, so
 *  the caller may close its own). Only a PART may have one. */
dcl_status dcli_endpoint_send_descriptor(dcli_endpoint *endpoint, int to, const dcli_message *message, int descriptor);
/** A descriptor that stays its owner's while a message waits with it: so many can wait that copies would be too many.
 *  `find` is called by the endpoint's thread, until the endpoint is closed, and sends nothing itself. */
typedef struct dcli_loan {
    int (*find)(void *user, int64_t number); /* @return the descriptor; -1: it is gone, the message need not be sent */
    void *user;
    int64_t number;
} dcli_loan;
/** The same with a descriptor that is found when there is room for it (between processes of one host only). */
dcl_status dcli_endpoint_send_lent(dcli_endpoint *endpoint, int to, const dcli_message *message, const dcli_loan *loan);

/** A received message; give it back with dcli_received_free(), which also ends the hold on the payload. Until then it may
 *  be copied and kept while others are received; it is freed by the endpoint's thread (embedded: by any), at the latest
 *  before dcli_net_close(). */
typedef struct dcli_received {
    int from;
    dcli_message message; /* points into the frames below */
    const void *payload;  /* NULL: none */
    size_t payload_bytes;
    bool payload_missing;                    /* there was one, but no memory or descriptor for it here */
    bool has_descriptor, descriptor_missing; /* the latter: the same */
    int descriptor;                          /* the taker's to close */
    struct dcli_frames *frames;              /* net room's */
} dcli_received;

/** Take the next message. @param milliseconds  longest wait, 0: do not wait, -1: for ever.
 *  @return DCL_OK; DCL_ERR_TIMEOUT when there was none (no sentence is recorded); DCL_ERR_PROTOCOL for a malformed one (it
 *  is dropped, counted; the sentence names the peer, received_out->from, and what was wrong); DCL_ERR_NODE_LOST: peer received_out->from has
 *  gone (said once, after its last message; the sentence says how it was noticed; nothing can be sent to it any more);
 *  DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out);
/** Memory that a message takes as long as it is kept. */
size_t dcli_received_bytes(const dcli_received *received);
/** Freed twice is freed once; one that was never received is {0}. */
void dcli_received_free(dcli_received *received);

/** Make a dcli_endpoint_receive() of this endpoint that waits return with DCL_ERR_TIMEOUT soon; when none waits now, the
 *  next that would. Several calls until then count as one. From any thread, also a driver's callback or a signal
 *  handler: it sets a flag and at most writes an eventfd. */
void dcli_endpoint_wake(dcli_endpoint *endpoint);

/** Peer `peer` is to be taken for lost: nothing is sent to it or taken from it any more, and DCL_ERR_NODE_LOST is not said. */
void dcli_endpoint_drop(dcli_endpoint *endpoint, int peer);

/** Limit the bytes that a peer may send over tcp before they are taken. A peer that exceeds it is lost, with a sentence; the
 *  host, which has the highest number, has no limit. Checked while messages are taken. @param bytes  0: no limit. */
void dcli_endpoint_limit_ahead(dcli_endpoint *endpoint, int64_t bytes);
/** Allow one peer more than that limit: the one that passes on what the host says. Replaces an earlier call. */
void dcli_endpoint_allow_more(dcli_endpoint *endpoint, int peer, int64_t bytes);

/** Messages and payload bytes sent by this endpoint. */
void dcli_endpoint_counts(const dcli_endpoint *endpoint, int64_t *messages_out, int64_t *payload_bytes_out);
/** Malformed messages dropped by this endpoint. */
int64_t dcli_endpoint_refused(const dcli_endpoint *endpoint);

/* ---- peers on other hosts: tcp ------------------------------------------------------------------------------------ */

struct dcli_gate;
struct dcli_keypair;

/** What a peer of a session over tcp needs. All is borrowed for the call, but net, gate and log, which outlive the
 *  endpoint. */
typedef struct dcli_wire_terms {
    dcli_net *net; /* with I/O threads */
    int self, peer_count;
    const char *bind;               /* tcp://HOST:PORT, "*" for a port of the range below; NULL: listen nowhere */
    int first_port, last_port;      /* 0, 0: any free one */
    struct dcli_gate *gate;         /* NULL where nothing is bound */
    const char *domain;             /* of the gate: made by the caller, with the password or the keys of the session */
    const struct dcli_keypair *own; /* this peer's in the session; NULL: no keys */
    const char *password;           /* without keys: of the session, presented where this peer connects */
    const struct dcli_secret
        *host_secret;           /* of the host of a session: without keys it presents to each peer the password
                                              DCLI_HOST_PASSWORD of it, instead of the session's; NULL: a member */
    int64_t silence_ms;         /* a peer whose process or host says nothing for so long is lost */
    int64_t most_message_bytes; /* largest payload */
    const dcli_log *log;        /* NULL: nowhere */
} dcli_wire_terms;

/** One connection per pair: the peer with the higher number connects to the one with the lower (dcli_endpoint_meet()),
 *  which has been told to expect it (dcli_endpoint_expect()). Nothing can be sent to peers that were neither met nor
 *  expected; what is sent before the connection is made waits (64 MB per peer at most). A connection that fails or ends
 *  is DCL_ERR_NODE_LOST, with a sentence; nothing is sent again. So is a peer that sends what is no message, after one
 *  DCL_ERR_PROTOCOL.
 *  @return DCL_OK; DCL_ERR_INVALID (address, neither or both of keys and password, listening beyond loopback without
 *  keys), DCL_ERR_NETWORK (every port of the range is taken, the name cannot be resolved, ...), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_open_wire(const dcli_wire_terms *terms, dcli_endpoint **endpoint_out);
/** Where an endpoint listens: the bound address with its port, "tcp://10.0.0.1:40123"; "" when nowhere. Borrowed. */
const char *dcli_endpoint_address(const dcli_endpoint *endpoint);
/** Connect to a peer with a lower number, once. Resolves a name, so may take a while; does not wait for the connection.
 *  @param key  its public key in hexadecimal digits; "": this session has none.
 *  @return DCL_OK, DCL_ERR_INVALID (peer, address, key), DCL_ERR_NETWORK (name), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_meet(dcli_endpoint *endpoint, int peer, const char *address, const char *key);
/** Take messages from a peer with a higher number, which connects to this one, or has done so already.
 *  @param key  its public key in hexadecimal digits: the number is believed from nobody else; "": this session has none.
 *  @return DCL_OK, DCL_ERR_INVALID (peer, key). */
dcl_status dcli_endpoint_expect(dcli_endpoint *endpoint, int peer, const char *key);

/** The same for the session's host: it is believed to be that only with this key; without keys, with the password of
 *  dcli_gate_add_host(). Members of the session, who know its own key or password, cannot take its place.
 *  @param key  its public key; "": this session has none. */
dcl_status dcli_endpoint_expect_host(dcli_endpoint *endpoint, int peer, const char *key);

/* ---- end of tcp ---------------------------------------------------------------------------------------------------- */

#endif
