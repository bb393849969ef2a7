/* net/receive.c - receiving, waiting and being woken.
 * ZMQ_FD is edge-triggered: it becomes readable when libzmq has something to look at, not while messages are there. So
 * before every sleep the socket itself is asked (ZMQ_EVENTS), and after it again. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/error.h"
#include "net/endpoint.h"
#include "net/table.h"

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- one message ---- */

/** Frames of a message that has begun are all there: libzmq hands over whole messages. */
static int receive_frame(zmq_msg_t *frame, void *router)
{
    int rc;
    do
        rc = zmq_msg_recv(frame, router, ZMQ_DONTWAIT);
    while (rc < 0 && zmq_errno() == EINTR);
    return rc;
}

/** Receive what is left of a message, one frame at a time. @return how many frames it were. */
static int drop_rest(void *router, bool more)
{
    int frames = 0;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        more = receive_frame(&frame, router) >= 0 && zmq_msg_more(&frame);
        zmq_msg_close(&frame);
        frames++;
    }
    return frames;
}

/** The sender, by the id its socket has: not by what a message says. @return -1: none of ours. */
static int peer_of(const dcli_endpoint *endpoint, zmq_msg_t *id)
{
    const unsigned char *bytes = zmq_msg_data(id);
    if (zmq_msg_size(id) != DCLI_ROUTING_BYTES || bytes[0] != 1)
        return -1;
    int peer = bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    return peer < endpoint->session->peer_count ? peer : -1;
}

static dcl_status refuse(dcli_endpoint *endpoint, int from)
{
    endpoint->refused++;
    char sentence[DCLI_ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "from peer %d: %s", from, sentence);
}

/** Unpack the header and check that the frames behind it are what its kind may have. */
static dcl_status decode(dcli_endpoint *endpoint, zmq_msg_t *header, int extra_frames, dcli_received *received)
{
    dcl_status status =
        dcli_message_unpack(zmq_msg_data(header), zmq_msg_size(header), &received->frames->arena, &received->message);
    if (status != DCL_OK)
        return status == DCL_ERR_PROTOCOL ? refuse(endpoint, received->from) : status;
    const dcli_record *record = &dcli_message_table[received->message.kind];
    if (extra_frames <= (record->payload ? 1 : 0))
        return DCL_OK;
    DCLI_FAIL(DCL_ERR_PROTOCOL, "a message %s has %d frames; expected %d at most; the message was dropped",
              record->name, 1 + extra_frames, record->payload ? 2 : 1);
    return refuse(endpoint, received->from);
}

/** Receive the frames behind the routing id. */
static dcl_status take_frames(dcli_endpoint *endpoint, int from, dcli_received *received_out)
{
    dcli_received received = {.from = from, .frames = dcli_frames_take(endpoint->pool)};
    if (received.frames == NULL) {
        drop_rest(endpoint->router, true);
        return DCL_ERR_NOMEM;
    }
    zmq_msg_t header;
    zmq_msg_init(&header);
    zmq_msg_init(&received.frames->payload);
    receive_frame(&header, endpoint->router);
    int extra_frames = 0;
    if (zmq_msg_more(&header)) {
        receive_frame(&received.frames->payload, endpoint->router);
        extra_frames = 1 + drop_rest(endpoint->router, zmq_msg_more(&received.frames->payload));
        received.payload = zmq_msg_data(&received.frames->payload);
        received.payload_bytes = zmq_msg_size(&received.frames->payload);
    }
    dcl_status status = decode(endpoint, &header, extra_frames, &received);
    zmq_msg_close(&header);
    if (status == DCL_OK)
        *received_out = received;
    else
        dcli_received_free(&received);
    return status;
}

/** The next message of the socket. @return DCL_ERR_TIMEOUT: none there. */
static dcl_status take(dcli_endpoint *endpoint, dcli_received *received_out)
{
    for (;;) {
        zmq_msg_t id;
        zmq_msg_init(&id);
        if (receive_frame(&id, endpoint->router) < 0)
            return zmq_errno() == EAGAIN ? DCL_ERR_TIMEOUT
                                         : dcli_net_fail(DCL_ERR_NETWORK, "zmq_msg_recv",
                                                         "the endpoint is of no use "
                                                         "any more: close it");
        int from = peer_of(endpoint, &id);
        bool more = zmq_msg_more(&id);
        zmq_msg_close(&id);
        if (from >= 0 && more) {
            endpoint->taken++;
            return take_frames(endpoint, from, received_out);
        }
        drop_rest(endpoint->router, more);
    }
}

/* ---- waiting ---- */

static bool is_announced(const dcli_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->session->mailbox[endpoint->self].announced, memory_order_acquire) !=
           endpoint->taken;
}

static void spin(const dcli_endpoint *endpoint, int64_t until_ns)
{
    while (!is_announced(endpoint) && !atomic_load_explicit(&endpoint->woken, memory_order_acquire) &&
           now_ns() < until_ns)
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause()
#endif
            ;
}

static bool has_input(dcli_endpoint *endpoint)
{
    int events = 0;
    size_t length = sizeof events;
    return zmq_getsockopt(endpoint->router, ZMQ_EVENTS, &events, &length) == 0 && (events & ZMQ_POLLIN) != 0;
}

static void poll_until(dcli_endpoint *endpoint, int64_t deadline_ns)
{
    struct pollfd ready[2] = {{.fd = endpoint->router_fd, .events = POLLIN},
                              {.fd = endpoint->wake_fd, .events = POLLIN}};
    struct timespec wait = {0};
    int64_t left = deadline_ns == INT64_MAX ? 0 : deadline_ns - now_ns();
    if (left > 0)
        wait = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    eventfd_t ignored;
    if (ppoll(ready, 2, deadline_ns == INT64_MAX ? NULL : &wait, NULL) > 0 && ready[1].revents != 0)
        (void)eventfd_read(endpoint->wake_fd, &ignored);
}

/** Sleep until there may be something. Waker and sleeper each set their flag first and look at the other's then, in one
 *  order for all threads: so at least one of them sees the other. */
static void sleep_until(dcli_endpoint *endpoint, int64_t deadline_ns)
{
    atomic_store(&endpoint->sleeping, true);
    if (!atomic_load(&endpoint->woken) && !has_input(endpoint))
        poll_until(endpoint, deadline_ns);
    atomic_store(&endpoint->sleeping, false);
}

static dcl_status wait_and_take(dcli_endpoint *endpoint, int64_t deadline_ns, dcli_received *received_out)
{
    int64_t start_ns = now_ns();
    spin(endpoint, deadline_ns - start_ns < endpoint->spin_ns ? deadline_ns : start_ns + endpoint->spin_ns);
    for (;;) {
        dcl_status status = take(endpoint, received_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
        if (atomic_load_explicit(&endpoint->woken, memory_order_relaxed) && atomic_exchange(&endpoint->woken, false))
            return DCL_ERR_TIMEOUT;
        if (deadline_ns != INT64_MAX && now_ns() >= deadline_ns)
            return DCL_ERR_TIMEOUT;
        sleep_until(endpoint, deadline_ns);
    }
}

dcl_status dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out)
{
    if (is_announced(endpoint)) {
        dcl_status status = take(endpoint, received_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
    }
    if (milliseconds == 0)
        return DCL_ERR_TIMEOUT;
    int64_t deadline_ns = milliseconds < 0 ? INT64_MAX : now_ns() + (int64_t)milliseconds * 1000000;
    return wait_and_take(endpoint, deadline_ns, received_out);
}

void dcli_endpoint_wake(dcli_endpoint *endpoint)
{
    atomic_store(&endpoint->woken, true);
    if (atomic_load(&endpoint->sleeping))
        (void)eventfd_write(endpoint->wake_fd, 1);
}

void dcli_received_free(dcli_received *received)
{
    if (received->frames == NULL)
        return;
    zmq_msg_close(&received->frames->payload);
    dcli_frames_return(received->frames);
    *received = (dcli_received){0};
}
