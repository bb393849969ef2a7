/* net/endpoint.h - inside of a net and its endpoints. */
#ifndef DCLI_NET_ENDPOINT_H
#define DCLI_NET_ENDPOINT_H

#include <pthread.h>
#include <stdatomic.h>

#include <zmq.h>

#include "net/codec.h"
#include "net/net.h"

enum {
    DCLI_SPIN_NS = 20000,       /* a waiting receive looks this long before it sleeps: waking up costs more */
    DCLI_LONG_SPIN_NS = 300000, /* where every peer has two processors to itself */
    DCLI_FREE_DESCRIPTORS = 16, /* kept free: libzmq aborts where it gets none */
    DCLI_ROUTING_BYTES = 4      /* 1, then the peer's number: an id must not begin with 0 */
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

/** What a received message holds on to. */
typedef struct dcli_frames {
    zmq_msg_t payload;
    dcli_arena arena;
    struct dcli_frames_pool *pool;
    struct dcli_frames *next;
} dcli_frames;

/** Frames of one endpoint, reused. Lives until the endpoint is closed and all its frames are back. */
typedef struct dcli_frames_pool {
    pthread_mutex_t lock;
    dcli_frames *unused;
    int64_t holders; /* frames in use, and 1 for the endpoint */
} dcli_frames_pool;

struct dcli_endpoint {
    dcli_net *net;
    dcli_session *session;
    int self;
    int64_t spin_ns;
    void *router;
    void **dealer; /* [peer_count]; NULL: nothing was sent there yet */
    bool *broken;  /* [peer_count]: a message went there in part only */
    int router_fd, wake_fd;
    atomic_bool woken;    /* a wake that no waiting receive has returned for */
    atomic_bool sleeping; /* the owner is in poll(), or about to be */
    uint64_t taken;       /* announced messages that were received */
    dcli_frames_pool *pool;
    dcli_pack_buffer packed;
    int64_t messages, payload_bytes, refused;
};

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
