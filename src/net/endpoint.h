/* net/endpoint.h - internals of a net and its endpoints. */
#ifndef DCLI_NET_ENDPOINT_H
#define DCLI_NET_ENDPOINT_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include <zmq.h>

#include "net/codec.h"
#include "net/net.h"

enum {
    DCLI_SPIN_NS = 50000,       /* time for which a receive polls before it sleeps, because waking up costs more */
    DCLI_LONG_SPIN_NS = 300000, /* time for which it polls if there are two processors per peer, and two more */
    /* after a payload of at least this length, a receive does not poll before it sleeps: libzmq's thread needs some 100 us
     * for the next one, and a processor */
    DCLI_BULK_BYTES = 256 << 10,
    DCLI_FREE_DESCRIPTORS = 16,   /* reserved descriptors: libzmq aborts if it gets none */
    DCLI_DESCRIPTOR_MISSING = -2, /* a descriptor was sent, but this process had none free for it */
    DCLI_ROUTING_BYTES = 4,       /* length of a routing id: 1, then the peer's number, because an id must not begin
                                     with 0 */
    DCLI_HOST_ROUTING_BYTES = 17  /* of the host of a session over tcp: 2, then bytes that only its node can know */
};

/** A message between threads (net/inproc.c). */
typedef struct dcli_letter dcli_letter;

/** The mailbox of a peer among threads. All senders write to it, so it shares no cache line with what another mailbox uses: the memory of a
 *  session need not begin with a line, so the fields of two mailboxes are a line or more apart. */
typedef struct dcli_mailbox {
    _Atomic(dcli_letter *) newest; /* the letters for this peer: the newest; each leads to the one before it */
    _Atomic(dcli_letter *) unused; /* letters that the peer has read, to be used again by senders */
    atomic_int unused_count;       /* about how many they are */
    int descriptor;                /* eventfd that wakes the peer; -1: none was made yet */
    atomic_bool open;              /* the peer's endpoint is open */
    atomic_bool claimed;           /* an endpoint uses the mailbox */
    atomic_bool asleep;            /* the peer sleeps, or is about to: whoever sends and resets this wakes it */
    char distance[64];
} dcli_mailbox;

typedef struct dcli_session {
    uint64_t number;
    int peer_count;
    int endpoints; /* number of open endpoints; the last one to close frees the session */
    struct dcli_session *next;
    dcli_mailbox mailbox[]; /* [peer_count] one of each peer */
} dcli_session;

struct dcli_net {
    void *context;
    pthread_mutex_t lock; /* guards `sessions` */
    dcli_session *sessions;
};

struct dcli_frames_pool;

/** Resources that a received message references. */
typedef struct dcli_frames {
    zmq_msg_t header, payload; /* used by the ZeroMQ transport */
    dcli_payload given;        /* used between threads: the payload */
    dcli_arena arena;
    /** Releases header and payload. */
    void (*end)(struct dcli_frames *frames);
    void *owner;     /* for `end`: object that owns the memory of the payload */
    uint64_t ticket; /* for `end`: number by which the sender knows the payload */
    size_t held;     /* for `end`: bytes of the payload */
    struct dcli_frames_pool *pool;
    struct dcli_frames *next;
} dcli_frames;

/** A pool of frames of one endpoint. It lives until the endpoint is closed and all its frames are returned. */
typedef struct dcli_frames_pool {
    pthread_mutex_t lock; /* guards the fields below */
    dcli_frames *unused;
    int64_t holders; /* frames in use, plus 1 for the endpoint */
} dcli_frames_pool;

/** A received message before it is decoded. */
typedef struct dcli_incoming {
    int from;
    const void *bytes; /* the packed message; valid until the next one is taken */
    size_t length;
    const void *payload; /* the payload; NULL: there is none */
    size_t payload_bytes;
    bool payload_missing; /* a payload was sent, but there was no memory or descriptor for it here */
    int extra_frames;     /* number of frames after the message's own: 1 if it has a payload; more are refused */
    int descriptor;       /* descriptor received with the message, to be closed by the caller; -1: none; or
                             DCLI_DESCRIPTOR_MISSING */
    dcli_frames *frames;
} dcli_incoming;

/** A transport: how the peers of a session reach each other. Only the endpoint's thread calls its functions. */
typedef struct dcli_transport {
    /** Send a packed message to a peer that is not lost. Never blocks. Takes over the payload (NULL: none), also on
     *  failure.
     *  @param descriptor  a descriptor to send along, which remains the caller's; -1: none.
     *  @return as dcli_endpoint_send(). */
    dcl_status (*send)(dcli_endpoint *endpoint, int to, const void *bytes, size_t length, const dcli_payload *payload,
                       int descriptor);
    /** Take the next message without waiting. *incoming->frames have been taken from the pool; this sets the other
     *  fields.
     *  @return DCL_OK; DCL_ERR_TIMEOUT: none; DCL_ERR_NODE_LOST: peer incoming->from is gone (reported once, after its
     *          last message); DCL_ERR_PROTOCOL: something invalid was received and dropped; DCL_ERR_NETWORK,
     *          DCL_ERR_NOMEM. */
    dcl_status (*take)(dcli_endpoint *endpoint, dcli_incoming *incoming);
    /** Whether there seems to be a message, as far as this is known without a system call. */
    bool (*seems_ready)(const dcli_endpoint *endpoint);
    /** Prepare for sleeping in poll(): from now on any arrival makes one of the descriptors readable. @return false if
     *  a message is already there. */
    bool (*arm)(dcli_endpoint *endpoint);
    void (*disarm)(dcli_endpoint *endpoint); /* undoes `arm`; NULL: there is nothing to do */
    /** Get the descriptors to poll. @return how many, at most `most_descriptors`. */
    int (*descriptors)(const dcli_endpoint *endpoint, int descriptors_out[]);
    /** Note what poll() has found for these descriptors, in the same order, so that `take` does not ask again. NULL: it does. */
    void (*found)(dcli_endpoint *endpoint, const struct pollfd polled[]);
    /** Time at which `take` must be called even if nothing arrives, as dcli_monotonic_ns(). NULL: never. */
    int64_t (*due_ns)(const dcli_endpoint *endpoint);
    void (*close)(dcli_endpoint *endpoint);
    bool by_threads;      /* messages come and go through threads of libzmq */
    int most_descriptors; /* most descriptors that it waits for; 0: number of peers + 4 */
} dcli_transport;

/** What polling has shown about the processor of the thread that receives (gives_way() in receive.c). */
typedef struct dcli_sharing {
    int switches;     /* how many times in succession another thread has run when this one yielded */
    int64_t until_ns; /* monotonic time until which a receive does not poll, because threads share the processor */
    int64_t pause_ns; /* how long that was the last time; 0: this thread had the processor alone since */
    bool real_time;   /* the thread that last shared its processor has real-time priority: others of that priority run
                         if it yields */
} dcli_sharing;

struct dcli_endpoint {
    const dcli_transport *transport;
    void *link; /* the transport's data */
    dcli_net *net;
    int self, peer_count;
    bool followed;                  /* the message that is being sent is (dcli_message.followed) */
    int64_t spin_ns, usual_spin_ns; /* how long a receive polls before it sleeps: now, and unless it is set */
    dcli_sharing sharing;
    bool needed; /* set by dcli_endpoint_set_needed() */
    bool
        bulky; /* libzmq moves a payload of DCLI_BULK_BYTES or more: one was sent since the last receive, or that brought one */
    struct pollfd *polled;        /* [polled_capacity] what the last poll() has found: one of the sets */
    struct pollfd *polled_set[2]; /* two threads may be in poll(); the second is NULL unless the endpoint is shared */
    bool in_poll[2];              /* for each poll set: a thread is in poll() with it */
    int *descriptors;             /* [polled_capacity] memory for the descriptors of the transport */
    int polled_capacity;
    bool *lost;     /* [peer_count] lost peers: nothing is sent to them or taken from them */
    int wake_fd[2]; /* for each poll set, an eventfd that ends poll(): see dcli_endpoint_wake(); -1: there is none */
    atomic_int sleeper;   /* the poll set of the thread that sleeps, while `sleeping` */
    atomic_bool woken;    /* a wake-up that no waiting receive has returned for yet */
    atomic_bool sleeping; /* a thread is in poll(), or about to be, and no other has taken its place */
    uint64_t sleeps;      /* number of sleeps so far: shows a thread that wakes whether another one slept after it */
    dcli_turns turns;     /* how threads take turns; .give NULL: one thread alone uses this endpoint */
    dcli_frames_pool *pool;
    dcli_pack_buffer packed;         /* the message that is being sent; reused */
    int64_t messages, payload_bytes; /* number of messages, and of bytes of payloads, sent so far */
    int64_t refused;                 /* as dcli_endpoint_refused() returns it */
    int64_t most_ahead;    /* tcp: bytes that a peer may have sent and this endpoint not taken; a peer that exceeds it
                              is lost; 0: no limit */
    int speaker;           /* tcp: the peer with a higher limit, because it forwards the host's messages */
    int64_t speaker_bytes; /* bytes added to the limit of that peer; 0: none */
};

/** Make the common part of an endpoint. If a transport cannot make the rest, dcli_endpoint_close() frees it all.
 *  @param transport   outlives it; its close() frees `link`.
 *  @param link_bytes  size of `link`, which is set to zero. @return NULL (recorded). */
dcli_endpoint *dcli_endpoint_new(dcli_net *net, const dcli_transport *transport, int self, int peer_count,
                                 size_t link_bytes);

void dcli_release_payload(const dcli_payload *payload);
/** Make a ZeroMQ frame that owns a payload without copying it. On failure the payload is released. */
dcl_status dcli_wrap_payload(const dcli_payload *payload, zmq_msg_t *frame_out);
/** Convert a peer's number to the routing id of its sockets. */
void dcli_routing_id(int peer, unsigned char id_out[DCLI_ROUTING_BYTES]);
/** The peer with this routing id; -1: none of peer_count peers has it. */
int dcli_peer_of(const void *id, size_t length, int peer_count);
/** Make a frame with a copy of the bytes. */
dcl_status dcli_frame_of(const void *bytes, size_t length, zmq_msg_t *frame_out);
/** A routing id that is no peer's; libzmq limits ids to 255 bytes. */
typedef struct dcli_stranger {
    size_t bytes;
    unsigned char id[255];
} dcli_stranger;

/** The routing id of a session's host at one of its nodes. libzmq drops a connection in silence if another one has the same id, so
 *  a member that knew it could keep the host out. @param name  of DCLI_HOST_NAME for this node, which others do not know. */
void dcli_host_routing_id(const char *name, unsigned char id_out[DCLI_HOST_ROUTING_BYTES]);

/** Take the routing id of the next message of a ROUTER. @param from_out  -1: it is no peer's id. @param stranger_out  set
 *  in this case; may be NULL. @return DCL_OK, DCL_ERR_TIMEOUT (no message), DCL_ERR_NETWORK. */
dcl_status dcli_take_sender(void *router, int peer_count, int *from_out, bool *more_out, dcli_stranger *stranger_out);
/** Send or receive one frame without waiting. @return bytes, or -1: see zmq_errno(). */
int dcli_send_frame(zmq_msg_t *frame, void *socket, int flags);
int dcli_receive_frame(zmq_msg_t *frame, void *socket);
/** Take the frames after the routing id into incoming->frames. */
void dcli_take_rest(void *socket, dcli_incoming *incoming);
/** The `end` function of frames that hold ZeroMQ messages. */
void dcli_frames_close(dcli_frames *frames);
/** Whether a ZeroMQ socket has a message. Processes its pending events. */
bool dcli_socket_has_input(void *socket);
/** Whether a file descriptor may be sent with messages of a kind. */
bool dcli_may_have_descriptor(dcli_message_kind kind);

/** Record an error of libzmq or the system: "zmq_bind: EADDRINUSE, Address already in use; remedy". @return status. */
dcl_status dcli_net_fail(dcl_status status, const char *call, const char *remedy);
/** Whether enough descriptors are free. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_net_check_descriptors(void);
/** Make a socket without a limit on messages (grants limit their bytes) and without lingering. @return NULL
 *  (recorded). */
void *dcli_net_socket(dcli_net *net, int type);
/** Enter a session; the first endpoint makes it. @return NULL (recorded). */
dcli_session *dcli_session_enter(dcli_net *net, uint64_t number, int peer_count);
/** Leave a session. The last endpoint frees the session and the letters in its mailboxes. */
void dcli_session_leave(dcli_net *net, dcli_session *session);

/** Free all letters of a mailbox, and release their payloads. */
void dcli_mailbox_empty(dcli_mailbox *mailbox);

dcli_frames_pool *dcli_frames_pool_new(void);
/** Drop the endpoint's reference to the pool. */
void dcli_frames_pool_close(dcli_frames_pool *pool);
/** Take frames from the pool. @return NULL: DCL_ERR_NOMEM. */
dcli_frames *dcli_frames_take(dcli_frames_pool *pool);
/** Return frames to their pool; the payload has been released before. */
void dcli_frames_return(dcli_frames *frames);

#endif
