/* net/receive.c - receiving, waiting and waking up: the same for all transports.
 * Descriptors of ZeroMQ sockets are edge-triggered: they become readable when libzmq has something to process, not
 * while there are messages. So the transport is asked before every sleep (arm) and after it. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"
#include "net/endpoint.h"
#include "net/table.h"

/* ---- one message -------------------------------------------------------------------------------------------------- */

static dcl_status refuse(dcli_endpoint *endpoint, int from)
{
    endpoint->refused++;
    char sentence[DCLI_ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "from peer %d: %s", from, sentence);
}

static dcl_status check_company(const dcli_incoming *incoming, const dcli_record *record, bool may_have_descriptor)
{
    if (incoming->extra_frames > (record->payload ? 1 : 0))
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "a message %s has %d frames; expected %d at most; the message was dropped",
                         record->name, 1 + incoming->extra_frames, record->payload ? 2 : 1);
    if (incoming->descriptor != -1 && !may_have_descriptor)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "a message %s has a descriptor; expected none; the message was dropped",
                         record->name);
    return DCL_OK;
}

/* Unpack the header, and check that payload and descriptor are allowed for the kind. */
static dcl_status decode(dcli_endpoint *endpoint, const dcli_incoming *incoming, dcli_received *received)
{
    dcl_status status =
        dcli_message_unpack(incoming->bytes, incoming->length, &incoming->frames->arena, &received->message);
    if (status == DCL_OK)
        status = check_company(incoming, &dcli_message_table[received->message.kind],
                               dcli_may_have_descriptor(received->message.kind));
    return status == DCL_ERR_PROTOCOL ? refuse(endpoint, incoming->from) : status;
}

/* Take the next message. @return DCL_ERR_TIMEOUT: there is none. */
static dcl_status take(dcli_endpoint *endpoint, dcli_received *received_out)
{
    dcli_incoming incoming = {.descriptor = -1, .frames = dcli_frames_take(endpoint->pool)};
    if (incoming.frames == NULL)
        return DCL_ERR_NOMEM;
    incoming.frames->end = NULL;
    dcl_status status = endpoint->transport->take(endpoint, &incoming);
    dcli_received received = {.from = incoming.from,
                              .payload = incoming.payload,
                              .payload_bytes = incoming.payload_bytes,
                              .payload_missing = incoming.payload_missing,
                              .has_descriptor = incoming.descriptor >= 0,
                              .descriptor_missing = incoming.descriptor == DCLI_DESCRIPTOR_MISSING,
                              .descriptor = incoming.descriptor,
                              .frames = incoming.frames};
    if (status == DCL_OK)
        status = decode(endpoint, &incoming, &received);
    if (status == DCL_OK) {
        endpoint->bulky = endpoint->transport->by_threads && received.payload_bytes >= DCLI_BULK_BYTES;
        *received_out = received;
        return DCL_OK;
    }
    if (status == DCL_ERR_NODE_LOST) {
        endpoint->lost[incoming.from] = true;
        received_out->from = incoming.from;
    }
    if (status == DCL_ERR_PROTOCOL)
        received_out->from = incoming.from;
    if (incoming.descriptor >= 0)
        close(incoming.descriptor);
    dcli_received_free(&received);
    return status;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

void dcli_endpoint_pause(const dcli_endpoint *endpoint)
{
    if (endpoint->spin_ns < DCLI_LONG_SPIN_NS)
        sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#endif
}

static bool is_over(const dcli_endpoint *endpoint, int64_t until_ns)
{
    return endpoint->transport->seems_ready(endpoint) || atomic_load_explicit(&endpoint->woken, memory_order_acquire) ||
           dcli_monotonic_ns() >= until_ns;
}

/* Pause between two polls. If another thread runs each time that the polling thread yields, threads share the processor,
 * and each poll delays the threads whose messages are awaited. Polling then stops, and receives sleep at once for some
 * time, which doubles with each attempt. A thread of real-time priority must have yielded to others 16 times in
 * succession, because libzmq's thread runs now and then on the processor of a thread that polls, even if the peer has a
 * processor of its own. @return whether to stop. */
static bool gives_way(dcli_endpoint *endpoint)
{
    enum { USUAL_SWITCHES = 2, REAL_TIME_SWITCHES = 16 };
    const int64_t switch_ns = 3000; /* sched_yield() takes less if no other thread runs */
    const int64_t shortest_ns = 500000, longest_ns = 16000000;
    int64_t before_ns = dcli_monotonic_ns();
    dcli_endpoint_pause(endpoint);
    if (!dcli_endpoint_crowds(endpoint) || endpoint->spin_ns >= DCLI_LONG_SPIN_NS)
        return false;
    int64_t now_ns = dcli_monotonic_ns();
    if (now_ns - before_ns < switch_ns) {
        endpoint->sharing = (dcli_sharing){0};
        return false;
    }
    if (++endpoint->sharing.switches < USUAL_SWITCHES)
        return false;
    endpoint->sharing.real_time = dcli_slice_priority() > 0;
    if (endpoint->sharing.real_time && endpoint->sharing.switches < REAL_TIME_SWITCHES)
        return false;
    endpoint->sharing.switches = 0;
    endpoint->sharing.pause_ns = dcli_min(dcli_max(2 * endpoint->sharing.pause_ns, shortest_ns), longest_ns);
    endpoint->sharing.until_ns = now_ns + endpoint->sharing.pause_ns;
    return true;
}

/* Poll. A thread of raised priority that expects a message of a peer keeps its priority for a while, because threads of the
 * usual priority would delay what it sees. After that, or if it expects none, they may run, too: one of them may be about
 * to send something. */
static void spin(dcli_endpoint *endpoint, int64_t until_ns)
{
    enum { ALONE_NS = 20000 };
    if (endpoint->needed) {
        int64_t alone_ns = dcli_min(until_ns, dcli_monotonic_ns() + ALONE_NS);
        while (!is_over(endpoint, alone_ns))
            dcli_endpoint_pause(endpoint);
    }
    if (is_over(endpoint, until_ns))
        return;
    dcli_slice_lower();
    while (!is_over(endpoint, until_ns) && !gives_way(endpoint))
        ;
    dcli_slice_restore();
}

/* Sleep in poll(). Another thread, whose place this one has taken, may still be in poll(), too: so there are two
 * sets. */
static void poll_until(dcli_endpoint *endpoint, int64_t deadline_ns)
{
    const dcli_turns *turns = &endpoint->turns;
    int set = endpoint->in_poll[0] ? 1 : 0;
    struct pollfd *polled = endpoint->polled = endpoint->polled_set[set];
    int count = endpoint->transport->descriptors(endpoint, endpoint->descriptors);
    for (int d = 0; d < count; d++)
        polled[1 + d] = (struct pollfd){.fd = endpoint->descriptors[d], .events = POLLIN};
    polled[0] = (struct pollfd){.fd = endpoint->wake_fd[set], .events = POLLIN};
    struct timespec wait = {0};
    int64_t left = deadline_ns == INT64_MAX ? 0 : deadline_ns - dcli_monotonic_ns();
    if (left > 0)
        wait = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    endpoint->in_poll[set] = true;
    if (turns->give != NULL)
        turns->give(turns->user);
    if (ppoll(polled, (nfds_t)count + 1, deadline_ns == INT64_MAX ? NULL : &wait, NULL) > 0 && polled[0].revents != 0)
        (void)eventfd_read(endpoint->wake_fd[set], &(eventfd_t){0});
    if (turns->take != NULL)
        turns->take(turns->user);
    endpoint->in_poll[set] = false;
}

/* Time to sleep: until the deadline, or until the transport has work to do. */
static int64_t until_due(const dcli_endpoint *endpoint, int64_t deadline_ns)
{
    int64_t due = endpoint->transport->due_ns != NULL ? endpoint->transport->due_ns(endpoint) : INT64_MAX;
    return due < deadline_ns ? due : deadline_ns;
}

static void end_sleep(dcli_endpoint *endpoint)
{
    if (endpoint->transport->disarm != NULL)
        endpoint->transport->disarm(endpoint);
    atomic_store(&endpoint->sleeping, false);
}

/* A thread that sleeps has given its turn up: take its place, so that the receive of that thread returns. */
static void take_place(dcli_endpoint *endpoint)
{
    endpoint->polled = endpoint->polled_set[endpoint->in_poll[0] ? 1 : 0];
    memset(endpoint->polled, 0, (size_t)endpoint->polled_capacity * sizeof endpoint->polled[0]);
    end_sleep(endpoint);
}

/* Sleep until something may have arrived. Waker and sleeper each set their own flag first and then read the other's,
 * sequentially consistent, so at least one of them sees the other. @return false: another thread has taken this one's
 * place. */
static bool sleep_until(dcli_endpoint *endpoint, int64_t deadline_ns)
{
    uint64_t own = ++endpoint->sleeps;
    atomic_store(&endpoint->sleeper, endpoint->in_poll[0] ? 1 : 0);
    atomic_store(&endpoint->sleeping, true);
    if (atomic_load(&endpoint->woken)) {
        atomic_store(&endpoint->sleeping, false);
        return true;
    }
    bool polls = endpoint->transport->arm(endpoint);
    if (polls)
        poll_until(endpoint, until_due(endpoint, deadline_ns));
    if (endpoint->sleeps != own || !atomic_load(&endpoint->sleeping))
        return false;
    end_sleep(endpoint);
    if (polls && endpoint->transport->found != NULL)
        endpoint->transport->found(endpoint, endpoint->polled + 1);
    return true;
}

/* Whether a receive sleeps without looking for messages first. poll() returns at once if there are some, arm() sees what poll() does not, and a look costs a
 * system call, too, where messages come by libzmq. */
static bool sleeps_at_once(const dcli_endpoint *endpoint, int64_t now_ns)
{
    return endpoint->transport->by_threads &&
           (endpoint->spin_ns <= DCLI_SPIN_AT_ONCE_NS || now_ns < endpoint->sharing.until_ns);
}

static dcl_status wait_and_take(dcli_endpoint *endpoint, int64_t deadline_ns, dcli_received *received_out)
{
    int64_t start_ns = dcli_monotonic_ns();
    bool sleeps = sleeps_at_once(endpoint, start_ns);
    if (start_ns < endpoint->sharing.until_ns && endpoint->sharing.real_time && endpoint->turns.give == NULL)
        sched_yield(); /* a thread of the device may end a command meanwhile, which takes less time than being woken by it */
    if (!endpoint->bulky && !sleeps)
        spin(endpoint, deadline_ns - start_ns < endpoint->spin_ns ? deadline_ns : start_ns + endpoint->spin_ns);
    for (;; sleeps = false) {
        dcl_status status = sleeps ? DCL_ERR_TIMEOUT : take(endpoint, received_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
        if (atomic_load_explicit(&endpoint->woken, memory_order_relaxed) && atomic_exchange(&endpoint->woken, false))
            return DCL_ERR_TIMEOUT;
        if (deadline_ns != INT64_MAX && dcli_monotonic_ns() >= deadline_ns)
            return DCL_ERR_TIMEOUT;
        if (!sleep_until(endpoint, deadline_ns))
            return DCL_ERR_TIMEOUT;
    }
}

bool dcli_endpoint_seems_ready(const dcli_endpoint *endpoint) { return endpoint->transport->seems_ready(endpoint); }

dcl_status dcli_endpoint_receive(dcli_endpoint *endpoint, int milliseconds, dcli_received *received_out)
{
    if (atomic_load_explicit(&endpoint->sleeping, memory_order_relaxed))
        take_place(endpoint);
    if ((milliseconds == 0 || !sleeps_at_once(endpoint, dcli_monotonic_ns())) &&
        endpoint->transport->seems_ready(endpoint)) {
        dcl_status status = take(endpoint, received_out);
        if (status != DCL_ERR_TIMEOUT)
            return status;
    }
    if (milliseconds == 0)
        return DCL_ERR_TIMEOUT;
    int64_t deadline_ns = milliseconds < 0 ? INT64_MAX : dcli_monotonic_ns() + (int64_t)milliseconds * 1000000;
    return wait_and_take(endpoint, deadline_ns, received_out);
}

void dcli_endpoint_wake(dcli_endpoint *endpoint)
{
    atomic_store(&endpoint->woken, true);
    if (atomic_load(&endpoint->sleeping))
        (void)eventfd_write(endpoint->wake_fd[atomic_load(&endpoint->sleeper)], 1);
}

void dcli_endpoint_rouse(dcli_endpoint *endpoint, bool polls)
{
    if (atomic_load(
            &endpoint->sleeping)) /* nobody has taken the place of the thread that sleeps: it would sleep again */
        atomic_store(&endpoint->woken, true);
    for (int set = 0; polls && set < 2; set++)
        if (endpoint->in_poll[set])
            (void)eventfd_write(endpoint->wake_fd[set], 1);
}

void dcli_endpoint_look_again(dcli_endpoint *endpoint)
{
    if (atomic_load(&endpoint->sleeping) && endpoint->transport->seems_ready(endpoint))
        dcli_endpoint_wake(endpoint);
}

size_t dcli_received_bytes(const dcli_received *received)
{
    size_t bytes = sizeof *received + received->payload_bytes;
    if (received->frames == NULL)
        return bytes;
    bytes += sizeof *received->frames;
    for (const dcli_arena *arena = &received->frames->arena; arena != NULL; arena = arena->older)
        bytes += arena->capacity;
    return bytes;
}

void dcli_received_free(dcli_received *received)
{
    if (received->frames == NULL)
        return;
    if (received->frames->end != NULL)
        received->frames->end(received->frames);
    dcli_frames_return(received->frames);
    *received = (dcli_received){0};
}
