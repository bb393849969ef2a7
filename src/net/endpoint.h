/* net/endpoint.h - inside of a net and its endpoints. */
#ifndef DCLI_NET_ENDPOINT_H
#define DCLI_NET_ENDPOINT_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include <zmq.h>

#include "net/codec.h"
#include "net/net.h"

enum {
    DCLI_SPIN_NS = 50000,         /* a waiting receive looks this long before it sleeps: waking up costs more */
    DCLI_LONG_SPIN_NS = 300000,   /* where every peer has two processors to itself */
    DCLI_FREE_DESCRIPTORS = 16,   /* kept free: libzmq aborts where it gets none */
    DCLI_DESCRIPTOR_MISSING = -2, /* one came along, but this process had none free for it */
    DCLI_ROUTING_BYTES = 4        /* 1, then the peer's number: an id must not begin with 0 */
};

/** What peers of a session share about one of them. On a cache line of its own: all senders write to it. */
typedef struct dcli_mailbox {
    /* Messages announced to this peer: each sender adds 1 (release) before it sends and takes it back if that fails; the
     * receiver reads it (acquire) before it looks at a message. So an order of memory that we, and the thread sanitizer,
     * can see goes with every hand-over; and a receiver finds out without a system call that nothing is there. */
    _Atomic uint64_t announced;
    atomic_bool open;
    char rest_of_line[64 - sizeof(_Atomic uint64_t) - sizeof(atomic_bool)];
} dcli_mailbox;

typedef struct dcli_session {
    uint64_t number;
    int peer_count, endpoints;
    struct dcli_session *next;
    dcli_mailbox mailbox[]; /* [peer_count] */
} dcli_session;

struct dcli_net {
    void *context;
    pthread_mutex_t lock; /* of sessions */
    dcli_session *sessions;
};

struct dcli_frames_pool;

/** What a received message holds on to. */
typedef struct dcli_frames {
    zmq_msg_t header, payload; /* of transports by ZeroMQ */
    dcli_arena arena;
    /** Ends the hold on header and payload. */
    void (*end)(struct dcli_frames *frames);
    void *owner;     /* for `end` */
    uint64_t ticket; /* for `end` */
    int peer;        /* for `end` */
    size_t held;     /* for `end`: bytes */
    struct dcli_frames_pool *pool;
    struct dcli_frames *next;
} dcli_frames;

/** Frames of one endpoint, reused. Lives until the endpoint is closed and all its frames are back. */
typedef struct dcli_frames_pool {
    pthread_mutex_t lock; /* what follows */
    dcli_frames *unused;
    int64_t holders; /* frames in use, and 1 for the endpoint */
} dcli_frames_pool;

/** A message as it came, not yet looked at. */
typedef struct dcli_incoming {
    int from;
    const void *bytes; /* the packed message; valid until the next is taken */
    size_t length;
    const void *payload; /* NULL: none */
    size_t payload_bytes;
    bool payload_missing; /* there was one, but no memory or descriptor for it here */
    int extra_frames;     /* behind the message */
    int descriptor;       /* that came with it, the taker's to close; -1: none; DCLI_DESCRIPTOR_MISSING */
    dcli_frames *frames;
} dcli_incoming;

/** How the peers of a session reach each other. Functions are called by the endpoint's thread. */
typedef struct dcli_transport {
    /** Send a packed message to a peer that is not lost. Never blocks. Takes the payload (NULL: none) over, also on
     *  failure. @param descriptor  -1, or one to go along: it stays the caller's. */
    dcl_status (*send)(dcli_endpoint *endpoint, int to, const void *bytes, size_t length, const dcli_payload *payload,
                       int descriptor);
    /** The next message; does not wait. *incoming->frames are taken from the pool; all else is set.
     *  @return DCL_OK; DCL_ERR_TIMEOUT: none; DCL_ERR_NODE_LOST: incoming->from is gone, said once, after its last
     *  message; DCL_ERR_PROTOCOL: something came that is no message, and was dropped; DCL_ERR_NETWORK, DCL_ERR_NOMEM. */
    dcl_status (*take)(dcli_endpoint *endpoint, dcli_incoming *incoming);
    /** Whether something is there, as far as can be seen without a system call. */
    bool (*seems_ready)(const dcli_endpoint *endpoint);
    /** Prepare for sleeping in poll(): from now on whatever comes makes one of the descriptors readable.
     *  @return false when something is there already. */
    bool (*arm)(dcli_endpoint *endpoint);
    void (*disarm)(dcli_endpoint *endpoint);
    /** Descriptors to poll for reading. @return how many, at most `most_descriptors`. */
    int (*descriptors)(const dcli_endpoint *endpoint, int descriptors_out[]);
    /** When it is to take again though nothing has come, as dcli_monotonic_ns(). NULL: never. */
    int64_t (*due_ns)(const dcli_endpoint *endpoint);
    void (*close)(dcli_endpoint *endpoint);
    int most_descriptors; /* 0: as many as there are peers, and 4 */
} dcli_transport;

struct dcli_endpoint {
    const dcli_transport *transport;
    void *link; /* the transport's own */
    dcli_net *net;
    int self, peer_count;
    int64_t spin_ns;
    struct pollfd *polled; /* [polled_capacity] */
    int *descriptors;      /* [polled_capacity] */
    int polled_capacity;
    bool *lost; /* [peer_count] nothing is sent there any more, nothing taken from there */
    int wake_fd;
    atomic_bool woken;    /* a wake that no waiting receive has returned for */
    atomic_bool sleeping; /* the owner is in poll(), or about to be */
    dcli_frames_pool *pool;
    dcli_pack_buffer packed;
    int64_t messages, payload_bytes, refused;
    int64_t most_ahead; /* see dcli_endpoint_limit_ahead(); 0: no limit */
    int speaker;        /* see dcli_endpoint_allow_more() */
    int64_t speaker_bytes;
};

/** The parts that all transports share. On success the transport fills `link`. @param transport  outlives it.
 *  @return NULL (recorded). */
dcli_endpoint *dcli_endpoint_new(dcli_net *net, const dcli_transport *transport, int self, int peer_count);
/** The opposite, after the transport has ended its own. */
void dcli_endpoint_free(dcli_endpoint *endpoint);

void dcli_release_payload(const dcli_payload *payload);
/** A payload on its way through ZeroMQ without being copied: makes a frame that owns it; on failure it is released. */
dcl_status dcli_wrap_payload(const dcli_payload *payload, zmq_msg_t *frame_out);
/** The id that a peer's sockets have; and back. @return -1: none of peer_count peers. */
void dcli_routing_id(int peer, unsigned char id_out[DCLI_ROUTING_BYTES]);
int dcli_peer_of(const void *id, size_t length, int peer_count);
/** A frame that holds a copy. */
dcl_status dcli_frame_of(const void *bytes, size_t length, zmq_msg_t *frame_out);
/** Take the routing id of the next message of a ROUTER. @param from_out  -1: of no peer. @return DCL_OK,
 *  DCL_ERR_TIMEOUT (no message), DCL_ERR_NETWORK. */
dcl_status dcli_take_sender(void *router, int peer_count, int *from_out, bool *more_out);
/** Send or receive one frame, without waiting. @return bytes, or -1: zmq_errno(). */
int dcli_send_frame(zmq_msg_t *frame, void *socket, int flags);
int dcli_receive_frame(zmq_msg_t *frame, void *socket);
/** Receive what is left of a message, one frame at a time. @return how many frames it were. */
int dcli_drop_rest(void *socket, bool more);
/** Frames behind the routing id: into incoming->frames, which are there already. */
void dcli_take_rest(void *socket, dcli_incoming *incoming);
/** `end` of frames that hold ZeroMQ messages. */
void dcli_frames_close(dcli_frames *frames);
bool dcli_socket_has_input(void *socket);
/** Whether a descriptor may go along with messages of a kind. */
bool dcli_may_have_descriptor(dcli_message_kind kind);

/** Record what libzmq or the system says: "zmq_bind: EADDRINUSE, Address already in use; remedy". @return status. */
dcl_status dcli_net_fail(dcl_status status, const char *call, const char *remedy);
/** Whether some more descriptors can be had. @return DCL_OK or DCL_ERR_NETWORK. */
dcl_status dcli_net_check_descriptors(void);
/** A socket with no limit on messages (bytes are limited by grants) and no lingering. @return NULL (recorded). */
void *dcli_net_socket(dcli_net *net, int type);
/** Enter a session, making it if this is its first endpoint. @return NULL (recorded). */
dcli_session *dcli_session_enter(dcli_net *net, uint64_t number, int peer_count);
void dcli_session_leave(dcli_net *net, dcli_session *session);

dcli_frames_pool *dcli_frames_pool_new(void);
/** The endpoint's hold ends. */
void dcli_frames_pool_close(dcli_frames_pool *pool);
dcli_frames *dcli_frames_take(dcli_frames_pool *pool);
/** Its payload is closed before. */
void dcli_frames_return(dcli_frames *frames);

#endif
