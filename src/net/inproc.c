/* net/inproc.c - the transport between threads of one process.
 *
 * Every peer has a mailbox: a list of letters that senders add to, and that its owner takes as a whole and then reads in the order in
 * which they were added. Both are single atomic operations, so no thread waits for another one, whatever their priorities. Letters are used
 * again: the receiver adds those that it has read to a second list of its mailbox, which senders take as a whole. An eventfd wakes a
 * receiver that sleeps. See docs/decisions/0161-mailboxes-between-threads.md. */
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "net/endpoint.h"

enum {
    USUAL_BYTES = 1024, /* least room of a letter: enough for most messages */
    MOST_BYTES = 4096,  /* letters with more room are not used again */
    MOST_UNUSED = 64    /* about as many letters are kept for a mailbox, and for an endpoint */
};

/** A message in a mailbox. */
struct dcli_letter {
    struct dcli_letter *next;
    int from;
    bool has_payload;
    dcli_payload payload;
    size_t length, room;
    unsigned char bytes[]; /* [room] */
};

struct inproc {
    dcli_session *session;
    dcli_mailbox *own;    /* NULL: another endpoint of this peer is open, or none could be made */
    dcli_letter *arrived; /* letters that were taken out of the mailbox, the oldest first */
    dcli_letter *current; /* the letter that was read last: its bytes are valid until the next one is taken */
    dcli_letter *unused;  /* to be sent; taken from mailboxes of others */
};

/* ---- letters ------------------------------------------------------------------------------------------------------ */

static void add(_Atomic(dcli_letter *) *list, dcli_letter *letter)
{
    letter->next = atomic_load_explicit(list, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(list, &letter->next, letter))
        ;
}

/* Take all letters of a list, the newest first. */
static dcli_letter *take_all(_Atomic(dcli_letter *) *list)
{
    return atomic_load_explicit(list, memory_order_relaxed) != NULL ? atomic_exchange(list, NULL) : NULL;
}

static void free_letters(dcli_letter *letter)
{
    while (letter != NULL) {
        dcli_letter *next = letter->next;
        if (letter->has_payload)
            dcli_release_payload(&letter->payload);
        dcli_free(letter);
        letter = next;
    }
}

void dcli_mailbox_empty(dcli_mailbox *mailbox)
{
    free_letters(take_all(&mailbox->newest));
    free_letters(take_all(&mailbox->unused));
}

/* Let senders use a letter again. */
static void give_back(dcli_mailbox *own, dcli_letter *letter)
{
    if (letter->room > MOST_BYTES || atomic_load_explicit(&own->unused_count, memory_order_relaxed) >= MOST_UNUSED) {
        dcli_free(letter);
        return;
    }
    atomic_fetch_add_explicit(&own->unused_count, 1, memory_order_relaxed);
    letter->has_payload = false;
    add(&own->unused, letter);
}

/* Get an unused letter, or make one. @return NULL: DCL_ERR_NOMEM. */
static dcli_letter *get_letter(struct inproc *inproc, dcli_mailbox *of, size_t length)
{
    if (inproc->unused == NULL && (inproc->unused = take_all(&of->unused)) != NULL)
        atomic_store_explicit(&of->unused_count, 0, memory_order_relaxed);
    dcli_letter *letter = inproc->unused;
    if (letter != NULL && letter->room >= length) {
        inproc->unused = letter->next;
        return letter;
    }
    size_t room = length > USUAL_BYTES ? length : USUAL_BYTES;
    letter = dcli_malloc(sizeof *letter + room);
    if (letter != NULL)
        letter->room = room;
    return letter;
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static dcl_status send_packed(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                              const dcli_payload *payload)
{
    struct inproc *inproc = endpoint->link;
    dcli_mailbox *mailbox = &inproc->session->mailbox[to];
    if (!atomic_load_explicit(&mailbox->open, memory_order_acquire))
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "peer %d has no open endpoint; expected all peers of a session to be opened "
                         "before the first send and closed after the last; treat it as lost",
                         to);
    dcli_letter *letter = get_letter(inproc, mailbox, length);
    if (letter == NULL)
        return DCL_ERR_NOMEM;
    letter->from = endpoint->self;
    letter->has_payload = payload != NULL;
    if (payload != NULL)
        letter->payload = *payload;
    letter->length = length;
    memcpy(letter->bytes, bytes, length);
    add(&mailbox->newest, letter);
    /* The receiver sets `asleep` first and looks for letters then, sequentially consistent: one of the two sees the other. */
    if (atomic_load(&mailbox->asleep) && atomic_exchange(&mailbox->asleep, false))
        (void)eventfd_write(mailbox->descriptor, 1);
    return DCL_OK;
}

static dcl_status send_message(dcli_endpoint *endpoint, int to, const void *bytes, size_t length,
                               const dcli_payload *payload, int descriptor)
{
    (void)descriptor; /* threads share all descriptors */
    dcl_status status = send_packed(endpoint, to, bytes, length, payload);
    if (status != DCL_OK && payload != NULL)
        dcli_release_payload(payload);
    return status;
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

static bool seems_ready(const dcli_endpoint *endpoint)
{
    const struct inproc *inproc = endpoint->link;
    return inproc->arrived != NULL || atomic_load_explicit(&inproc->own->newest, memory_order_relaxed) != NULL;
}

/* Take the letters out of the mailbox, and put the oldest first. */
static dcli_letter *collect(dcli_mailbox *own)
{
    dcli_letter *oldest = NULL;
    for (dcli_letter *letter = take_all(&own->newest), *next; letter != NULL; letter = next) {
        next = letter->next;
        letter->next = oldest;
        oldest = letter;
    }
    return oldest;
}

static void release_given(dcli_frames *frames) { dcli_release_payload(&frames->given); }

static dcl_status take(dcli_endpoint *endpoint, dcli_incoming *incoming)
{
    struct inproc *inproc = endpoint->link;
    if (inproc->arrived == NULL)
        inproc->arrived = collect(inproc->own);
    dcli_letter *letter = inproc->arrived;
    if (letter == NULL)
        return DCL_ERR_TIMEOUT;
    if (inproc->current != NULL)
        give_back(inproc->own, inproc->current);
    inproc->current = letter;
    inproc->arrived = letter->next;
    incoming->from = letter->from;
    incoming->bytes = letter->bytes;
    incoming->length = letter->length;
    if (!letter->has_payload)
        return DCL_OK;
    letter->has_payload = false; /* the frames own it now */
    incoming->frames->given = letter->payload;
    incoming->frames->end = release_given;
    incoming->payload = letter->payload.bytes;
    incoming->payload_bytes = letter->payload.length;
    incoming->extra_frames = 1;
    return DCL_OK;
}

static bool arm(dcli_endpoint *endpoint)
{
    struct inproc *inproc = endpoint->link;
    atomic_store(&inproc->own->asleep, true);
    return inproc->arrived == NULL && atomic_load(&inproc->own->newest) == NULL;
}

static void disarm(dcli_endpoint *endpoint)
{
    struct inproc *inproc = endpoint->link;
    eventfd_t ignored;
    atomic_store(&inproc->own->asleep, false);
    if (endpoint->polled[1].revents != 0)
        (void)eventfd_read(inproc->own->descriptor, &ignored);
}

static int descriptors(const dcli_endpoint *endpoint, int descriptors_out[])
{
    const struct inproc *inproc = endpoint->link;
    descriptors_out[0] = inproc->own->descriptor;
    return 1;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void close_inproc(dcli_endpoint *endpoint)
{
    struct inproc *inproc = endpoint->link;
    if (inproc->own != NULL) {
        atomic_store(&inproc->own->open, false);
        dcli_mailbox_empty(inproc->own); /* a sender may still add letters, which dcli_session_leave() frees */
        atomic_store(&inproc->own->claimed, false);
    }
    free_letters(inproc->arrived);
    dcli_free(inproc->current);
    free_letters(inproc->unused);
    if (inproc->session != NULL)
        dcli_session_leave(endpoint->net, inproc->session);
    dcli_free(inproc);
}

static const dcli_transport transport = {.send = send_message,
                                         .take = take,
                                         .seems_ready = seems_ready,
                                         .arm = arm,
                                         .disarm = disarm,
                                         .descriptors = descriptors,
                                         .close = close_inproc,
                                         .most_descriptors = 1};

/* Take possession of this peer's mailbox. Its descriptor exists until the session ends, because senders may still use it when the
 * endpoint is closed. */
static dcl_status claim(dcli_endpoint *endpoint, struct inproc *inproc)
{
    dcli_mailbox *mailbox = &inproc->session->mailbox[endpoint->self];
    if (atomic_exchange(&mailbox->claimed, true))
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "peer %d of session %" PRIu64
                         " is open already; expected each peer of a session to be opened once",
                         endpoint->self, inproc->session->number);
    inproc->own = mailbox;
    if (mailbox->descriptor >= 0)
        return DCL_OK;
    dcl_status status = dcli_net_check_descriptors();
    if (status != DCL_OK)
        return status;
    mailbox->descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return mailbox->descriptor >= 0
               ? DCL_OK
               : dcli_net_fail(DCL_ERR_NETWORK, "eventfd", "raise the limit of open descriptors with `ulimit -n`");
}

dcl_status dcli_endpoint_open(dcli_net *net, uint64_t session, int self, int peer_count, dcli_endpoint **endpoint_out)
{
    dcli_endpoint *endpoint = dcli_endpoint_new(net, &transport, self, peer_count, sizeof(struct inproc));
    if (endpoint == NULL)
        return dcli_error_status();
    struct inproc *inproc = endpoint->link;
    inproc->session = dcli_session_enter(net, session, peer_count);
    dcl_status status = inproc->session != NULL ? claim(endpoint, inproc) : dcli_error_status();
    if (status != DCL_OK) {
        dcli_endpoint_close(endpoint);
        return status;
    }
    atomic_store_explicit(&inproc->own->open, true, memory_order_release);
    *endpoint_out = endpoint;
    return DCL_OK;
}
