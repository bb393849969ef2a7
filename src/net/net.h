/* net/net.h - peers that exchange messages: one endpoint per worker and one for the host. The only room that uses
 * ZeroMQ and msgpack. Here a *descriptor* is a file descriptor, unless it is called the descriptor of an operation. */
#ifndef DCLI_NET_NET_H
#define DCLI_NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include <dcl/base.h>

#include "base/log.h"
#include "net/message.h"

/** What all endpoints of one program share (the ZeroMQ context). Used by all threads. */
typedef struct dcli_net dcli_net;
/** Open a net without tcp. @return DCL_OK, DCL_ERR_NETWORK (too few descriptors are free, libzmq), DCL_ERR_NOMEM. */
dcl_status dcli_net_open(dcli_net **net_out);
/** Open a net with tcp. @param io_threads  one thread handles 0.35 GB/s with keys, 2 GB/s without; 0: no tcp.
 *  @return as dcli_net_open(). */
dcl_status dcli_net_open_io(int io_threads, dcli_net **net_out);
/** Close the net; all its endpoints must be closed. */
void dcli_net_close(dcli_net *net);

/** An endpoint: one peer's end of the links to all others of its session. Used by one thread at a time; it may be
 *  handed over to another thread before first use. */
typedef struct dcli_endpoint dcli_endpoint;

/** Open an endpoint among threads of this process. All endpoints of a session must be open before the
 *  first send.
 *  @param session  number of the group of peers. @param self  0..peer_count-1.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NETWORK (the peer is open already, no descriptors), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_open(dcli_net *net, uint64_t session, int self, int peer_count, dcli_endpoint **endpoint_out);
/** Close an endpoint. Messages to or from it may be dropped; their payloads are released at the latest when the net is
 *  closed. Received messages remain valid. NULL is accepted. */
void dcli_endpoint_close(dcli_endpoint *endpoint);

/* ---- peers that are processes of one host (shared memory) ---- */

/** One end of a link between two processes. */
typedef struct dcli_shared_link {
    int socket; /* socket to the other peer; -1: there is no link */
    int memory; /* descriptor of the memory with the rings of both directions */
    int side;   /* which of the two rings this peer writes: 0 or 1 */
} dcli_shared_link;

/** Make both ends of a link, with descriptors of their own, which exec() closes; pass one end to each process. Nothing
 *  has a name in a file system. @return DCL_OK, DCL_ERR_NETWORK (no descriptors), DCL_ERR_UNSUPPORTED (the system
 *  cannot protect shared memory), DCL_ERR_NOMEM. */
dcl_status dcli_shared_link_make(dcli_shared_link ends_out[2]);
/** Reduce an end to its socket, so that one descriptor is enough to pass it on: its memory's descriptor is put into the
 *  socket through the other end. Closes end->memory. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_shared_link_fold(dcli_shared_link *end, const dcli_shared_link *other);
/** Restore an end from its socket. Takes over the socket, also on failure. @return DCL_OK, DCL_ERR_PROTOCOL (there is
 *  no memory in it) or DCL_ERR_NODE_LOST (no descriptor is free for it). */
dcl_status dcli_shared_link_adopt(int socket, dcli_shared_link *end_out);
/** Close an end that was not passed to an endpoint. .socket -1 is accepted. */
void dcli_shared_link_close(dcli_shared_link *end);

/** Open an endpoint among processes of one host.
 *  @param link  [peer_count] links to the others; .socket -1: none (to itself, to absent peers). Taken over, also on
 *               failure. NULL: there are none yet.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_PROTOCOL (a descriptor of something else), DCL_ERR_NETWORK,
 *          DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_open_shared(dcli_net *net, int self, int peer_count, const dcli_shared_link link[],
                                     dcli_endpoint **endpoint_out);
/** Add the link to a peer that joins later. Takes over the link, also on failure. @return DCL_OK, DCL_ERR_INVALID
 *  (peer, side, a second link, an endpoint without links), DCL_ERR_PROTOCOL (a descriptor of something else),
 *  DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_add_link(dcli_endpoint *endpoint, int peer, const dcli_shared_link *link);
/** From now on, links of an endpoint of dcli_endpoint_open_shared() are made when two peers first exchange something,
 *  with the help of a peer that has links to all others. Messages sent meanwhile wait, as on a full link.
 *  @param broker  number of that peer: the same for all endpoints of the session. */
void dcli_endpoint_link_on_demand(dcli_endpoint *endpoint, int broker);
/** Number of links that an endpoint has, or had, to processes of its host; 0 with other transports. */
int dcli_endpoint_links(const dcli_endpoint *endpoint);
/** Set the pool whose buffers receivers read in place (of dcli_buffers_open_shared()); payloads elsewhere are copied
 *  first. The pool outlives the endpoint. Only for an endpoint of dcli_endpoint_open_shared(), before it sends its
 *  first payload; a later call has no effect. */
struct dcli_buffers;
void dcli_endpoint_use_buffers(dcli_endpoint *endpoint, struct dcli_buffers *buffers);
/** From now on, map memory of payloads for writing where the sender allows it (see dcli_buffers_let_write()), so that a
 *  device of this process can register it. @param unmap  called before such memory is unmapped, with its start; false:
 *  it stays mapped until the process ends. NULL: stop this; an earlier function is not called again, provided that no
 *  received message is held. Nothing happens with other transports. */
void dcli_endpoint_map_writable(dcli_endpoint *endpoint, bool (*unmap)(void *user, const void *bytes), void *user);

/* ---- sending and receiving ---- */

/** Bulk data that is sent with a message without being copied. */
typedef struct dcli_payload {
    void *bytes;
    size_t length;
    void (*release)(void *bytes, void *user); /* called once, from any thread, when the bytes are no longer needed */
    void *user;
} dcli_payload;

/** Send a message to peer `to`, which may be the sender itself. Never blocks. Takes over the payload, also on failure
 *  (payload may be NULL; only a CHUNK may have one; an empty one is released at once and not sent). Messages to one
 *  peer arrive in order.
 *  @return DCL_OK (sent, not necessarily received), DCL_ERR_NETWORK (the peer is gone), DCL_ERR_INVALID (no such peer,
 *          a field out of range), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_send(dcli_endpoint *endpoint, int to, const dcli_message *message, dcli_payload *payload);
/** Send a message without payload, with a copy of a descriptor (between processes of one host only); the caller may
 *  close its own. Only PART may have one. @return as dcli_endpoint_send(). */
dcl_status dcli_endpoint_send_descriptor(dcli_endpoint *endpoint, int to, const dcli_message *message, int descriptor);
/** A lent file descriptor: the message waits without a duplicate of it, because many messages may wait, and duplicates
 *  could exceed the process's limit. The endpoint's thread calls `find` when it sends the message, but not after the
 *  endpoint is closed; `find` must not send. */
typedef struct dcli_descriptor_loan {
    int (*find)(void *user, int64_t number); /* @return the descriptor; -1: it was closed, and the message need not
                                                        be sent */
    void *user;
    int64_t number;
} dcli_descriptor_loan;
/** Send a message with a lent descriptor, which is looked up when there is room to send it (between processes of one
 *  host only). @return as dcli_endpoint_send(); DCL_OK also if `find` returns -1: then nothing is sent. */
dcl_status dcli_endpoint_send_lent(dcli_endpoint *endpoint, int to, const dcli_message *message,
                                   const dcli_descriptor_loan *loan);

/** A received message. Free it with dcli_received_free(), which also releases the payload. Until then the struct may be
 *  copied and kept while others are received. The endpoint's thread frees it (embedded: any thread), at the latest
 *  before dcli_net_close(). */
typedef struct dcli_received {
    int from;
    dcli_message message; /* points into the frames below */
    const void *payload;  /* the payload; NULL: there is none */
    size_t payload_bytes;
    bool payload_missing;                    /* a payload was sent, but there was no memory or descriptor for it here */
    bool has_descriptor, descriptor_missing; /* a descriptor came with it; or one was sent, but none was free for it
                                                here */
    int descriptor;                          /* the taker's to close */
    struct dcli_frames *frames;              /* memory of the message; used by the net room only */
} dcli_received;

/** Receive the next message. @param milliseconds  longest wait, 0: do not wait, -1: for ever.
 *  @return DCL_OK; DCL_ERR_TIMEOUT if there was none (no sentence); DCL_ERR_PROTOCOL for a malformed one (dropped and
 *          counted; the sentence names the peer, received_out->from, and the error); DCL_ERR_NODE_LOST: peer
 *          received_out->from is gone (reported once, after its last message; the sentence says how it was noticed;
 *          nothing can be sent to it any more); DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out);
/** How threads take turns: the one whose turn it is alone uses the endpoint. */
typedef struct dcli_turns {
    void *user;
    void (*give)(void *user); /* the calling thread's turn ends: it is going to sleep */
    void (*take)(void *user); /* called after waking: returns when it is this thread's turn again */
} dcli_turns;
/** Let several threads use an endpoint in turns. A thread that sleeps in dcli_endpoint_receive() gives its turn up
 *  meanwhile. If another thread receives then, it takes the place of the first: arriving messages do not wake the first
 *  thread any more, and when something else wakes it, its receive returns DCL_ERR_TIMEOUT. At most two threads are in
 *  dcli_endpoint_receive() at a time.
 *  @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_NETWORK: no descriptor is left. */
dcl_status dcli_endpoint_share(dcli_endpoint *endpoint, const dcli_turns *turns);
/** Whether there seems to be a message, as far as this is known without a system call. */
bool dcli_endpoint_seems_ready(const dcli_endpoint *endpoint);
enum { DCLI_SPIN_AT_ONCE_NS = 1 };
/** Set how long a receive polls for a message before it sleeps. @param nanoseconds  0: as usual, which depends on the
 *  number of processors; DCLI_SPIN_AT_ONCE_NS: not at all. */
void dcli_endpoint_spin(dcli_endpoint *endpoint, int64_t nanoseconds);
/** Set whether the caller of later receives cannot go on without a message of a peer. While a thread of raised priority
 *  (base/slice.h) polls for such a message, it gives its priority up later. */
void dcli_endpoint_set_needed(dcli_endpoint *endpoint, bool needed);
/** Whether a thread that polls may keep a processor from the threads through which its messages come: those of libzmq,
 *  unless there are about two processors for each peer. */
bool dcli_endpoint_crowds(const dcli_endpoint *endpoint);
/** Pause between two polls. Yields unless there are about two processors for each peer, because the peer that is waited
 *  for may need this one. */
void dcli_endpoint_pause(const dcli_endpoint *endpoint);
/** Make the thread that sleeps in a receive look for messages, because the calling thread, whose turn it is, stops
 *  serving.
 *  @param polls  that thread may be in poll(). */
void dcli_endpoint_rouse(dcli_endpoint *endpoint, bool polls);
/** Make a thread that sleeps in a receive look for messages if there may be any: sending by another thread, whose turn it is, may
 *  have consumed what would have woken it. */
void dcli_endpoint_look_again(dcli_endpoint *endpoint);
/** Bytes of memory that a received message occupies. */
size_t dcli_received_bytes(const dcli_received *received);
/** Get the memory in which the payload of a message lies, with payloads of other messages, if it is mapped for writing.
 *  It stays mapped as long as the message is held. @return false: it is not. */
bool dcli_received_region(const dcli_received *received, void **bytes_out, size_t *length_out);
/** Free a received message. Freeing it twice is allowed, and so is {0}. */
void dcli_received_free(dcli_received *received);

/** Make a waiting dcli_endpoint_receive() of this endpoint return DCL_ERR_TIMEOUT soon; if none waits, the next one
 *  that would wait. Several calls until then count as one. May be called from any thread, a driver's callback or a
 *  signal handler: it sets a flag and at most writes an eventfd. */
void dcli_endpoint_wake(dcli_endpoint *endpoint);

/** Treat a peer as lost: nothing more is sent to it or taken from it, and DCL_ERR_NODE_LOST is not reported. */
void dcli_endpoint_drop(dcli_endpoint *endpoint, int peer);

/** Limit the bytes that a peer may send over tcp before they are taken. A peer that exceeds the limit is lost, with a
 *  sentence. The host, which has the highest number, has no limit. Checked while messages are taken. @param bytes  0:
 *  no limit. */
void dcli_endpoint_limit_ahead(dcli_endpoint *endpoint, int64_t bytes);
/** Raise that limit for one peer, the one that forwards the host's messages. Replaces an earlier call.
 *  @param bytes  how many more than the limit. */
void dcli_endpoint_allow_more(dcli_endpoint *endpoint, int peer, int64_t bytes);

/** Number of messages and payload bytes sent by this endpoint. */
void dcli_endpoint_counts(const dcli_endpoint *endpoint, int64_t *messages_out, int64_t *payload_bytes_out);
/** Number of malformed messages that this endpoint has dropped; over tcp also of connections that it has refused. */
int64_t dcli_endpoint_refused(const dcli_endpoint *endpoint);

/* ---- peers on other hosts: tcp ------------------------------------------------------------------------------------ */

struct dcli_authenticator;
struct dcli_keypair;

/** What a peer needs for a session over tcp. Borrowed for the call, except net, authenticator and log, which must
 *  outlive the endpoint. */
typedef struct dcli_wire_terms {
    dcli_net *net; /* a net with I/O threads */
    int self, peer_count;
    const char *bind;          /* tcp://HOST:PORT, "*" for a port of the range below; NULL: do not listen */
    int first_port, last_port; /* 0, 0: any free one */
    struct dcli_authenticator *authenticator; /* needed to listen; NULL if nothing is bound */
    const char *domain;             /* domain of the authenticator, made by the caller with the password or the keys
                                       of the session */
    const struct dcli_keypair *own; /* this peer's key pair in the session; NULL: no keys */
    const char *password;           /* without keys: password of the session, sent when this peer connects */
    const struct dcli_secret
        *host_secret;           /* for the host of a session: each peer recognises it by the DCLI_HOST_NAME derived from
                                   this and, without keys, by the DCLI_HOST_PASSWORD, which it sends instead of the
                                   session's password; NULL: an ordinary member */
    int64_t silence_ms;         /* a peer that sends nothing for this time is lost */
    int64_t most_message_bytes; /* largest payload */
    const dcli_log *log;        /* NULL: nothing is logged */
} dcli_wire_terms;

/** Open an endpoint over tcp. There is one connection per pair: the peer with the higher number connects
 *  (dcli_endpoint_meet()), and the other one must have been told to expect it (dcli_endpoint_expect()). Nothing can
 *  be sent to other peers; messages sent before the connection is established wait (at most 64 MB per peer). A
 *  connection that fails or ends is DCL_ERR_NODE_LOST, with a sentence; nothing is sent again. A peer that sends an
 *  invalid message is lost, too, after one DCL_ERR_PROTOCOL.
 *  @return DCL_OK; DCL_ERR_INVALID (address, neither or both of keys and password, listening beyond loopback without
 *          keys), DCL_ERR_NETWORK (every port of the range is in use, the name cannot be resolved, ...),
 *          DCL_ERR_TIMEOUT (the name was not resolved within 10 s), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_open_wire(const dcli_wire_terms *terms, dcli_endpoint **endpoint_out);
/** The bound address of an endpoint with its port, "tcp://10.0.0.1:40123"; "" if it does not listen. Borrowed. */
const char *dcli_endpoint_address(const dcli_endpoint *endpoint);
/** Connect to a peer with a lower number, once. Does not wait: dcli_endpoint_receive() reports a connection that fails.
 *  @param address  numeric; a name is refused, because resolving it could block the calling thread.
 *  @param key      its public key in hexadecimal digits; "": this session has none.
 *  @return DCL_OK, DCL_ERR_INVALID (peer, address, key, met before; a password beyond loopback), DCL_ERR_NETWORK
 *          (libzmq, descriptors), DCL_ERR_NOMEM. */
dcl_status dcli_endpoint_meet(dcli_endpoint *endpoint, int peer, const char *address, const char *key);
/** Accept messages from a peer with a higher number, which connects later or has already connected.
 *  @param key  its public key in hexadecimal digits: only the owner of this key may use the number; "": this session
 *              has none.
 *  @return DCL_OK, DCL_ERR_INVALID (peer, key, expected or lost before, this endpoint does not listen). */
dcl_status dcli_endpoint_expect(dcli_endpoint *endpoint, int peer, const char *key);

/** dcli_endpoint_expect() for the session's host: it must have this key or, without keys, the password of
 *  dcli_authenticator_add_host(). Members of the session cannot impersonate it with their own key or password, nor keep it out, because
 *  they do not know its name. @param key  its public key; "": this session has none. @param name  its DCLI_HOST_NAME for this peer. */
dcl_status dcli_endpoint_expect_host(dcli_endpoint *endpoint, int peer, const char *key, const char *name);

/* ---- end of tcp ---------------------------------------------------------------------------------------------------- */

#endif
