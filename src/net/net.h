/* net/net.h - peers that exchange messages: one endpoint per worker and one for the host. The only room that knows
 * ZeroMQ and msgpack. */
#ifndef DCLI_NET_NET_H
#define DCLI_NET_NET_H

#include <dcl/base.h>

#include "net/message.h"

/** What all endpoints of one program share (the ZeroMQ context). Used by all threads. */
typedef struct dcli_net dcli_net;
dcl_status dcli_net_open(dcli_net **net_out);
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

/** A received message; give it back with dcli_received_free(), which also ends the hold on the payload. Until then it may
 *  be copied and kept while others are received; it is freed by the endpoint's thread (embedded: by any), at the latest
 *  before dcli_net_close(). */
typedef struct dcli_received {
    int from;
    dcli_message message; /* points into the frames below */
    const void *payload;  /* NULL: none */
    size_t payload_bytes;
    bool has_descriptor;
    int descriptor;             /* the taker's to close */
    struct dcli_frames *frames; /* net room's */
} dcli_received;

/** Take the next message. @param milliseconds  longest wait, 0: do not wait, -1: for ever.
 *  @return DCL_OK; DCL_ERR_TIMEOUT when there was none (no sentence is recorded); DCL_ERR_PROTOCOL for a malformed one (it
 *  is dropped, counted; the sentence names the peer and what was wrong); DCL_ERR_NODE_LOST: peer received_out->from has
 *  gone (said once, after its last message; the sentence says how it was noticed; nothing can be sent to it any more);
 *  DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out);
/** Freed twice is freed once; one that was never received is {0}. */
void dcli_received_free(dcli_received *received);

/** Make a dcli_endpoint_receive() of this endpoint that waits return with DCL_ERR_TIMEOUT soon; when none waits now, the
 *  next that would. Several calls until then count as one. From any thread, also a driver's callback or a signal
 *  handler: it sets a flag and at most writes an eventfd. */
void dcli_endpoint_wake(dcli_endpoint *endpoint);

/** Peer `peer` is to be taken for lost: nothing is sent to it or taken from it any more, and DCL_ERR_NODE_LOST is not said. */
void dcli_endpoint_drop(dcli_endpoint *endpoint, int peer);

/** Messages and payload bytes sent by this endpoint. */
void dcli_endpoint_counts(const dcli_endpoint *endpoint, int64_t *messages_out, int64_t *payload_bytes_out);
/** Malformed messages dropped by this endpoint. */
int64_t dcli_endpoint_refused(const dcli_endpoint *endpoint);

#endif
