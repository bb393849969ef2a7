/* net/endpoint_test.c - peers in one program: order, bursts, payloads, waking, closing. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <dcl/forall.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"
#include "net/endpoint.h"
#include "net/refused.h"
#include "net/wire_text.h"

enum { PEERS = 3, LONG = 20000 /* milliseconds: a test that waits so long has failed */ };

/** A net with peers 0..PEERS-1 of session 5. */
typedef struct group {
    dcli_net *net;
    dcli_endpoint *peer[PEERS];
} group;

static group open_group(void)
{
    group g = {0};
    cr_assert_eq(dcli_net_open(&g.net), DCL_OK, "%s", dcl_error());
    for (int i = 0; i < PEERS; i++)
        cr_assert_eq(dcli_endpoint_open(g.net, 5, i, PEERS, &g.peer[i]), DCL_OK, "%s", dcl_error());
    return g;
}

static void close_group(group *g)
{
    for (int i = 0; i < PEERS; i++)
        dcli_endpoint_close(g->peer[i]);
    dcli_net_close(g->net);
}

static dcli_message credit(int64_t chunks) { return (dcli_message){.kind = DCLI_MSG_CREDIT, .credit = {chunks}}; }
static dcli_message chunk(int64_t number)
{
    return (dcli_message){.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1, .chunk = number}};
}

static void send_credit(dcli_endpoint *from, int to, int64_t chunks)
{
    dcli_message message = credit(chunks);
    cr_assert_eq(dcli_endpoint_send(from, to, &message, NULL), DCL_OK, "%s", dcl_error());
}

/** Receive one, and expect it. */
static void expect_credit(dcli_endpoint *at, int from, int64_t chunks)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(at, LONG, &received), DCL_OK, "%s", dcl_error());
    cr_assert(received.from == from && received.message.kind == DCLI_MSG_CREDIT &&
                  received.message.credit.chunks == chunks && received.payload == NULL,
              "from %d: kind %d, %" PRId64 " chunks; expected from %d: %" PRId64, received.from,
              (int)received.message.kind, received.message.credit.chunks, from, chunks);
    dcli_received_free(&received);
}

static double milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- messages ---- */

Test(endpoint, order_of_each_pair_is_kept)
{
    group g = open_group();
    for (int i = 0; i < 100; i++) {
        send_credit(g.peer[0], 2, i);
        send_credit(g.peer[1], 2, 1000 + i);
        send_credit(g.peer[2], 2, 2000 + i); /* also to itself */
    }
    int next[PEERS] = {0};
    for (int i = 0; i < 300; i++) {
        dcli_received received;
        cr_assert_eq(dcli_endpoint_receive(g.peer[2], LONG, &received), DCL_OK, "%s", dcl_error());
        cr_assert_eq(received.message.credit.chunks, received.from * 1000 + next[received.from]);
        next[received.from]++;
        dcli_received_free(&received);
    }
    cr_expect(next[0] == 100 && next[1] == 100 && next[2] == 100);
    dcli_received none;
    cr_expect_eq(dcli_endpoint_receive(g.peer[2], 0, &none), DCL_ERR_TIMEOUT);
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], 0, &none), DCL_ERR_TIMEOUT);
    close_group(&g);
}

Test(endpoint, strings_and_epoch_arrive)
{
    group g = open_group();
    char sentence[] = "a tile went missing";
    int64_t storage[] = {4, 9};
    dcli_message message = {
        .kind = DCLI_MSG_FAILED, .epoch = UINT64_MAX, .failed = {17, 1, DCL_ERR_DEVICE, true, 2, storage, sentence}};
    cr_assert_eq(dcli_endpoint_send(g.peer[1], 0, &message, NULL), DCL_OK, "%s", dcl_error());
    sentence[0] = 'X'; /* borrowed for the call only */
    storage[1] = 0;
    dcli_received received, kept;
    cr_assert_eq(dcli_endpoint_receive(g.peer[0], LONG, &received), DCL_OK, "%s", dcl_error());
    kept = received;
    send_credit(g.peer[1], 0, 3); /* receiving another leaves the one that is kept alone */
    expect_credit(g.peer[0], 1, 3);
    cr_expect_eq(kept.message.epoch, UINT64_MAX);
    cr_expect_str_eq(kept.message.failed.sentence, "a tile went missing");
    cr_expect(kept.message.failed.storage_count == 2 && kept.message.failed.storage[1] == 9);
    dcli_endpoint_close(g.peer[0]); /* nor does closing */
    cr_expect_str_eq(kept.message.failed.sentence, "a tile went missing");
    dcli_received_free(&kept);
    dcli_received_free(&kept);
    g.peer[0] = NULL;
    close_group(&g);
}

static void *send_burst(void *argument)
{
    dcli_endpoint *endpoint = argument;
    for (int i = 0; i < 20000; i++) {
        dcli_message message = credit(i);
        if (dcli_endpoint_send(endpoint, 1, &message, NULL) != DCL_OK)
            break;
    }
    return NULL;
}

Test(endpoint, a_burst_of_20000_arrives_complete)
{
    group g = open_group();
    send_burst(g.peer[0]); /* with nobody receiving meanwhile */
    for (int i = 0; i < 20000; i++)
        expect_credit(g.peer[1], 0, i);
    pthread_t sender; /* and with somebody */
    cr_assert_eq(pthread_create(&sender, NULL, send_burst, g.peer[0]), 0);
    for (int i = 0; i < 20000; i++)
        expect_credit(g.peer[1], 0, i);
    pthread_join(sender, NULL);
    int64_t messages, bytes;
    dcli_endpoint_counts(g.peer[0], &messages, &bytes);
    cr_expect(messages == 40000 && bytes == 0);
    close_group(&g);
}

Test(endpoint, messages_are_exchanged_without_allocating)
{
    group g = open_group();
    for (int round = 0; round < 3; round++) { /* the first ones make what the others use again */
        if (round == 2)
            dcli_alloc_fail_after(1);
        for (int i = 0; i < 20; i++) {
            for (int n = 0; n < 30; n++)
                send_credit(g.peer[0], 1, n);
            for (int n = 0; n < 30; n++)
                expect_credit(g.peer[1], 0, n);
            send_credit(g.peer[1], 0, i);
            expect_credit(g.peer[0], 1, i);
        }
    }
    dcli_alloc_fail_after(0);
    close_group(&g);
}

Test(endpoint, long_messages_among_short_ones_arrive_as_they_were_sent)
{
    static char sentence[2][DCLI_MOST_SENTENCE];
    group g = open_group();
    for (int i = 0; i < 300; i++) {
        size_t length = (size_t)i * 7 % (sizeof sentence[0] - 1);
        for (int n = 0; n < 2; n++) { /* two at a time */
            memset(sentence[n], 'a' + (i + n) % 26, length);
            sentence[n][length] = '\0';
            dcli_message message = {.kind = DCLI_MSG_FAILED,
                                    .failed = {.status = DCL_ERR_BODY, .sentence = sentence[n]}};
            cr_assert_eq(dcli_endpoint_send(g.peer[0], 1, &message, NULL), DCL_OK, "%s", dcl_error());
        }
        for (int n = 0; n < 2; n++) {
            dcli_received received;
            cr_assert_eq(dcli_endpoint_receive(g.peer[1], LONG, &received), DCL_OK, "%s", dcl_error());
            cr_expect_str_eq(received.message.failed.sentence, sentence[n]);
            dcli_received_free(&received);
        }
    }
    close_group(&g);
}

Test(endpoint, addresses_and_peers_are_checked)
{
    group g = open_group();
    dcli_message message = credit(1);
    dcli_endpoint *again;
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 3, &message, NULL), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "peer to send to is 3; expected 0..2") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_send(g.peer[0], -1, &message, NULL), DCL_ERR_INVALID);
    message.credit.chunks = -1;
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &message, NULL), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "chunks of a message CREDIT is -1") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_open(g.net, 5, 0, PEERS, &again), DCL_ERR_NETWORK);
    cr_expect(strstr(dcl_error(), "peer 0 of session 5 is open already") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_open(g.net, 5, 0, 4, &again), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "peer_count is 4; expected 3") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_open(g.net, 6, 2, 2, &again), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "self is 2; expected 0..1") != NULL, "%s", dcl_error());
    cr_expect_eq(dcli_endpoint_open(g.net, 6, 0, 0, &again), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "peer_count is 0; expected 1..65536") != NULL, "%s", dcl_error());
    close_group(&g);
}

Test(endpoint, sessions_of_one_net_are_apart)
{
    group g = open_group();
    dcli_endpoint *other[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(dcli_endpoint_open(g.net, 6, i, 2, &other[i]), DCL_OK, "%s", dcl_error());
    send_credit(other[0], 1, 60);
    send_credit(g.peer[0], 1, 50);
    expect_credit(other[1], 0, 60);
    expect_credit(g.peer[1], 0, 50);
    for (int i = 0; i < 2; i++)
        dcli_endpoint_close(other[i]);
    cr_assert_eq(dcli_endpoint_open(g.net, 6, 1, 2, &other[1]), DCL_OK, "a name is free after closing: %s",
                 dcl_error());
    dcli_endpoint_close(other[1]);
    close_group(&g);
}

Test(endpoint, a_closed_peer_is_an_error)
{
    group g = open_group();
    send_credit(g.peer[0], 1, 1);
    dcli_endpoint_close(g.peer[1]);
    g.peer[1] = NULL;
    dcli_message message = credit(2);
    for (int i = 0; i < 2; i++) { /* connected, and not */
        cr_expect_eq(dcli_endpoint_send(g.peer[2 * i], 1, &message, NULL), DCL_ERR_NETWORK);
        cr_expect(strstr(dcl_error(), "peer 1 has no open endpoint") != NULL, "%s", dcl_error());
    }
    close_group(&g);
}

/* ---- what is not ours ---- */

static void raw_send(dcli_endpoint *from, int to, const void *bytes, size_t length, const dcli_payload *payload)
{
    cr_assert_eq(from->transport->send(from, to, bytes, length, payload, -1), DCL_OK, "%s", dcl_error());
}

Test(endpoint, malformed_messages_name_their_sender)
{
    static const struct {
        unsigned char bytes[8];
        size_t length;
        bool has_payload;
        const char *words;
    } cases[] = {
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xff}, 5, false, "from peer 1: chunks of a message CREDIT is -1"},
        {{0x93, 1, 10, 0},
         4,
         false,
         "from peer 1: a message speaks version 1 of the protocol, this peer version " TEST_PROTOCOL},
        {{0xdd, 0x10, 0, 0, 0}, 5, false, "from peer 1: byte 5 of a message of 5 bytes: more items are announced"},
        {{0}, 0, false, "from peer 1: byte 0 of a message of 0 bytes"},
        {{0x94, DCLI_PROTOCOL, 6, 0, 5}, 5, true, "from peer 1: a message CREDIT has 2 frames; expected 1 at most"},
    };
    group g = open_group();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dcli_payload payload = {.bytes = (char[]){"frame"}, .length = 5};
        raw_send(g.peer[1], 0, cases[i].bytes, cases[i].length, cases[i].has_payload ? &payload : NULL);
        dcli_received received;
        cr_expect_eq(dcli_endpoint_receive(g.peer[0], LONG, &received), DCL_ERR_PROTOCOL, "%s", cases[i].words);
        cr_expect(strstr(dcl_error(), cases[i].words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), cases[i].words);
        cr_expect_eq(dcli_endpoint_refused(g.peer[0]), (int64_t)i + 1);
    }
    send_credit(g.peer[2], 0, 8);
    expect_credit(g.peer[0], 2, 8);
    close_group(&g);
}

/* ---- payloads ---- */

static void count_release(void *bytes, void *user)
{
    free(bytes);
    atomic_fetch_add((atomic_int *)user, 1);
}

static dcli_payload make_payload(size_t length, int value, atomic_int *released)
{
    int *bytes = malloc(length);
    for (size_t i = 0; i < length / sizeof *bytes; i++)
        bytes[i] = value + (int)i;
    return (dcli_payload){bytes, length, count_release, released};
}

Test(endpoint, payloads_are_not_copied_and_released_once)
{
    group g = open_group();
    atomic_int released = 0;
    dcli_payload payload = make_payload(1 << 20, 7, &released);
    const void *sent = payload.bytes;
    dcli_message message = chunk(3);
    cr_assert_eq(dcli_endpoint_send(g.peer[0], 1, &message, &payload), DCL_OK, "%s", dcl_error());
    dcli_received received;
    cr_assert_eq(dcli_endpoint_receive(g.peer[1], LONG, &received), DCL_OK, "%s", dcl_error());
    cr_expect_eq(received.payload, sent, "the receiver reads what the sender wrote");
    cr_expect_eq(received.payload_bytes, 1 << 20);
    cr_expect_eq(((const int *)received.payload)[100], 107);
    cr_expect_eq(released, 0);
    dcli_received_free(&received);
    cr_expect_eq(released, 1);
    int64_t messages, bytes;
    dcli_endpoint_counts(g.peer[0], &messages, &bytes);
    cr_expect(messages == 1 && bytes == 1 << 20);
    close_group(&g);
    cr_expect_eq(released, 1);
}

Test(endpoint, payloads_that_cannot_be_sent_are_released_once)
{
    group g = open_group();
    atomic_int released = 0;
    dcli_message good = chunk(0), bad = chunk(-1), other = credit(1);
    dcli_payload payload = make_payload(64, 0, &released);
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &bad, &payload), DCL_ERR_INVALID);
    cr_expect_eq(released, 1);
    payload = make_payload(64, 0, &released);
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 9, &good, &payload), DCL_ERR_INVALID);
    cr_expect_eq(released, 2);
    payload = make_payload(64, 0, &released);
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &other, &payload), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "a message CREDIT has a payload; expected none") != NULL, "%s", dcl_error());
    cr_expect_eq(released, 3);
    payload = make_payload(64, 0, &released);
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &good, &payload), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_expect_eq(released, 4);
    dcli_received received;
    cr_expect_eq(dcli_endpoint_receive(g.peer[1], 0, &received), DCL_ERR_TIMEOUT, "nothing of it was sent");
    payload = make_payload(64, 0, &released);
    payload.length = 0;
    cr_expect_eq(dcli_endpoint_send(g.peer[0], 1, &good, &payload), DCL_OK);
    cr_expect_eq(released, 5);
    cr_assert_eq(dcli_endpoint_receive(g.peer[1], LONG, &received), DCL_OK, "%s", dcl_error());
    cr_expect(received.payload == NULL && received.payload_bytes == 0);
    dcli_received_free(&received);
    close_group(&g);
    cr_expect_eq(released, 5);
}

Test(endpoint, closing_releases_what_was_not_received)
{
    atomic_int released = 0;
    for (int first = 0; first < PEERS; first++) { /* whoever closes first */
        group g = open_group();
        for (int i = 0; i < 90; i++) {
            dcli_payload payload = make_payload(100, i, &released);
            dcli_message message = chunk(i);
            cr_assert_eq(dcli_endpoint_send(g.peer[i % 3], i / 3 % 3, &message, &payload), DCL_OK, "%s", dcl_error());
        }
        dcli_received received; /* one is held over the closing */
        cr_assert_eq(dcli_endpoint_receive(g.peer[1], LONG, &received), DCL_OK, "%s", dcl_error());
        dcli_endpoint_close(g.peer[first]);
        g.peer[first] = NULL;
        for (int i = 0; i < PEERS; i++)
            dcli_endpoint_close(g.peer[i]);
        memset(g.peer, 0, sizeof g.peer);
        cr_expect_eq(((const int *)received.payload)[1], (int)received.message.chunk.chunk + 1);
        dcli_received_free(&received);
        close_group(&g);
        cr_expect_eq(released, 90 * (first + 1), "%d released", released);
    }
}

/** Two threads that send each other payloads; each checks what it gets. */
typedef struct partner {
    dcli_endpoint *endpoint;
    int self, rounds;
    atomic_int *released;
    int wrong;
} partner;

static void *exchange(void *argument)
{
    partner *p = argument;
    for (int sent = 0, got = 0; sent < p->rounds || got < p->rounds;) {
        dcli_received received;
        if (sent < p->rounds) {
            dcli_payload payload = make_payload(4096, p->self * 1000 + sent, p->released);
            dcli_message message = chunk(sent++);
            p->wrong += dcli_endpoint_send(p->endpoint, 1 - p->self, &message, &payload) != DCL_OK;
        }
        dcl_status status = dcli_endpoint_receive(p->endpoint, sent < p->rounds ? 0 : LONG, &received);
        if (status != DCL_OK) {
            p->wrong += status != DCL_ERR_TIMEOUT || sent >= p->rounds;
            if (p->wrong > 0)
                break;
            continue;
        }
        const int *data = received.payload;
        for (int i = 0; i < 1024; i++)
            p->wrong += data[i] != (1 - p->self) * 1000 + got + i;
        got++;
        dcli_received_free(&received);
    }
    return NULL;
}

Test(endpoint, two_threads_exchange_payloads)
{
    group g = open_group();
    atomic_int released = 0;
    partner partners[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        partners[i] = (partner){g.peer[i], i, 2000, &released, 0};
        cr_assert_eq(pthread_create(&thread[i], NULL, exchange, &partners[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    cr_expect(partners[0].wrong == 0 && partners[1].wrong == 0, "%d and %d wrong", partners[0].wrong,
              partners[1].wrong);
    cr_expect_eq(released, 4000);
    close_group(&g);
}

/* ---- waiting ---- */

Test(endpoint, waiting_ends_at_its_time)
{
    group g = open_group();
    dcli_received received;
    double start = milliseconds_now();
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], 30, &received), DCL_ERR_TIMEOUT);
    double waited = milliseconds_now() - start;
    cr_expect(waited >= 30 && waited < 5000, "%f ms", waited);
    close_group(&g);
}

/* A transport that records the priority at which the receiving thread polls. */
static const dcli_transport *observed;
static int polls,
    polled_priority; /* priority at the third poll of a receive: the first two may come before it changes */

static bool observe(const dcli_endpoint *endpoint)
{
    if (++polls == 3)
        polled_priority = dcli_slice_priority();
    return observed->seems_ready(endpoint);
}

static int priority_of_polling(dcli_endpoint *endpoint, bool needed)
{
    dcli_received received;
    dcli_endpoint_spin(endpoint, 1000000);
    dcli_endpoint_set_needed(endpoint, needed);
    polled_priority = 0;
    /* a thread that is interrupted may poll once only, or not within 20 us, after which it has its own priority: so try again */
    for (int n = 0; n < 1000 && polled_priority < (needed ? 2 : 1); n++) {
        polls = 0;
        cr_expect_eq(dcli_endpoint_receive(endpoint, 1, &received), DCL_ERR_TIMEOUT);
    }
    return polled_priority;
}

static void *poll_raised(void *priorities_out)
{
    int *priority = priorities_out;
    const struct sched_param one = {.sched_priority = 1};
    if (pthread_setschedparam(pthread_self(), SCHED_RR, &one) != 0 || !dcli_slice_shorten())
        return NULL;
    group g = open_group();
    dcli_transport transport = *g.peer[0]->transport;
    observed = g.peer[0]->transport;
    transport.seems_ready = observe;
    g.peer[0]->transport = &transport;
    priority[0] = priority_of_polling(g.peer[0], false);
    priority[1] = priority_of_polling(g.peer[0], true);
    priority[2] = dcli_slice_priority();
    g.peer[0]->transport = observed;
    close_group(&g);
    return NULL;
}

Test(endpoint, raised_priority_is_given_back_while_nothing_is_needed)
{
    pthread_t thread;
    int priority[3] = {0};
    cr_assert_eq(pthread_create(&thread, NULL, poll_raised, priority), 0);
    pthread_join(thread, NULL);
    if (priority[2] == 0)
        cr_skip_test("this process may not have real-time priorities");
    cr_expect_eq(priority[0], 1, "idle: %d", priority[0]);
    cr_expect_eq(priority[1], 2, "needed: %d", priority[1]);
    cr_expect_eq(priority[2], 2, "afterwards: %d", priority[2]);
}

static void pause_ms(int milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
}

static void *wake_later(void *argument)
{
    pause_ms(20);
    dcli_endpoint_wake(argument);
    return NULL;
}

static void *send_later(void *argument)
{
    pause_ms(20);
    dcli_message message = credit(4);
    dcli_endpoint_send(argument, 0, &message, NULL);
    return NULL;
}

Test(endpoint, a_sleeping_receive_is_woken)
{
    group g = open_group();
    pthread_t thread;
    dcli_received received;
    cr_assert_eq(pthread_create(&thread, NULL, wake_later, g.peer[0]), 0);
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], -1, &received), DCL_ERR_TIMEOUT);
    pthread_join(thread, NULL);
    cr_assert_eq(pthread_create(&thread, NULL, send_later, g.peer[1]), 0);
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], -1, &received), DCL_OK, "%s", dcl_error());
    pthread_join(thread, NULL);
    dcli_received_free(&received);
    close_group(&g);
}

Test(endpoint, a_wake_waits_for_the_next_wait)
{
    group g = open_group();
    dcli_received received;
    dcli_endpoint_wake(g.peer[0]);
    dcli_endpoint_wake(g.peer[0]); /* two count as one */
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], 0, &received), DCL_ERR_TIMEOUT, "does not wait, does not use it up");
    send_credit(g.peer[1], 0, 1);
    expect_credit(g.peer[0], 1, 1); /* nor does a message */
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], -1, &received), DCL_ERR_TIMEOUT);
    double start = milliseconds_now();
    cr_expect_eq(dcli_endpoint_receive(g.peer[0], 20, &received), DCL_ERR_TIMEOUT);
    cr_expect(milliseconds_now() - start >= 20, "it was used up");
    close_group(&g);
}

struct sharer {
    dcli_endpoint *endpoint;
    dcl_status status; /* of its receive */
};

static void give_turn(void *mutex) { pthread_mutex_unlock(mutex); }

static void take_turn(void *mutex) { pthread_mutex_lock(mutex); }

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *receive_in_turn(void *argument)
{
    struct sharer *sharer = argument;
    dcli_received received = {0};
    pthread_mutex_lock(&turn);
    sharer->status = dcli_endpoint_receive(sharer->endpoint, -1, &received);
    dcli_received_free(&received);
    pthread_mutex_unlock(&turn);
    return NULL;
}

/* One thread sleeps, another one takes its place: messages and wakes are for the second one. */
Test(endpoint, a_thread_takes_the_place_of_one_that_sleeps)
{
    group g = open_group();
    struct sharer sharer = {.endpoint = g.peer[0], .status = DCL_OK};
    dcli_received received;
    pthread_t sleeper, waker;
    dcli_turns turns = {.user = &turn, .give = give_turn, .take = take_turn};
    cr_assert_eq(dcli_endpoint_share(g.peer[0], &turns), DCL_OK);
    cr_assert_eq(pthread_create(&sleeper, NULL, receive_in_turn, &sharer), 0);
    while (!atomic_load(&g.peer[0]->sleeping))
        pause_ms(1);
    for (int n = 0; n < 20; n++) {
        pthread_mutex_lock(&turn);
        cr_assert_eq(pthread_create(&waker, NULL, n % 2 == 0 ? send_later : wake_later, g.peer[n % 2 == 0]), 0);
        dcl_status status = dcli_endpoint_receive(g.peer[0], LONG, &received);
        cr_assert_eq(status, n % 2 == 0 ? DCL_OK : DCL_ERR_TIMEOUT, "round %d", n);
        pthread_join(waker, NULL);
        if (n % 2 == 0)
            dcli_received_free(&received);
        pthread_mutex_unlock(&turn);
    }
    pthread_mutex_lock(&turn);
    dcli_endpoint_rouse(g.peer[0], true);
    pthread_mutex_unlock(&turn);
    pthread_join(sleeper, NULL);
    cr_expect_eq(sharer.status, DCL_ERR_TIMEOUT);
    close_group(&g);
}

/* One thread is in poll(), another one takes its place, and leaves. Its own next wait does not use up what has told the first thread to
 * leave poll(), although both threads run on one processor, and the second one goes first. */
Test(endpoint, a_thread_in_poll_is_roused_whatever_others_do)
{
    group g = open_group();
    struct sharer sharer = {.endpoint = g.peer[0]};
    dcli_received received;
    dcli_turns turns = {.user = &turn, .give = give_turn, .take = take_turn};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    struct sched_param none = {0};
    cr_assert_eq(sched_setscheduler(0, SCHED_BATCH, &none), 0); /* whoever is woken does not run at once */
    g.peer[0]->spin_ns = DCLI_SPIN_AT_ONCE_NS;
    cr_assert_eq(dcli_endpoint_share(g.peer[0], &turns), DCL_OK);
    for (int n = 0; n < 50; n++) {
        pthread_t sleeper;
        cr_assert_eq(pthread_create(&sleeper, NULL, receive_in_turn, &sharer), 0);
        while (!atomic_load(&g.peer[0]->sleeping))
            pause_ms(1);
        pthread_mutex_lock(&turn);
        (void)dcli_endpoint_receive(g.peer[0], 0, &received);
        dcli_endpoint_rouse(g.peer[0], true);
        cr_assert_eq(dcli_endpoint_receive(g.peer[0], 1, &received), DCL_ERR_TIMEOUT);
        pthread_mutex_unlock(&turn);
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += LONG / 1000;
        cr_assert_eq(pthread_timedjoin_np(sleeper, NULL, &end), 0, "round %d: it is still in poll()", n);
    }
    close_group(&g);
}

/** Wakes as fast as it can while the other side waits: no wake gets lost between looking and sleeping. */
static void *wake_rounds(void *argument)
{
    group *g = argument;
    for (int i = 0; i < 3000; i++) {
        dcli_received received;
        dcli_endpoint_wake(g->peer[0]);
        if (dcli_endpoint_receive(g->peer[1], LONG, &received) != DCL_OK)
            break;
        dcli_received_free(&received);
    }
    return NULL;
}

Test(endpoint, no_wake_is_lost)
{
    group g = open_group();
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, wake_rounds, &g), 0);
    for (int i = 0; i < 3000; i++) {
        dcli_received received;
        double start = milliseconds_now();
        cr_assert_eq(dcli_endpoint_receive(g.peer[0], LONG, &received), DCL_ERR_TIMEOUT);
        cr_assert(milliseconds_now() - start < LONG / 2, "wake %d was lost", i);
        send_credit(g.peer[0], 1, i);
    }
    pthread_join(thread, NULL);
    close_group(&g);
}

/* ---- limits of the system ---- */

Test(endpoint, descriptors_running_out_are_an_error)
{
    group g = open_group();
    struct rlimit limit = {40, 40};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    dcli_endpoint *endpoint[64];
    int opened = 0;
    dcl_status status = DCL_OK;
    while (opened < 64 && (status = dcli_endpoint_open(g.net, 9, opened, 64, &endpoint[opened])) == DCL_OK)
        opened++;
    cr_expect_eq(status, DCL_ERR_NETWORK);
    cr_expect(strstr(dcl_error(), "the limit of 40 open descriptors is nearly reached") != NULL, "%s", dcl_error());
    send_credit(g.peer[0], 1, 4); /* those that are open need no more */
    expect_credit(g.peer[1], 0, 4);
    for (int i = 0; i < opened; i++)
        dcli_endpoint_close(endpoint[i]);
    close_group(&g);
}

Test(endpoint, many_peers_talk_all_to_all)
{
    enum { MANY = 24 };
    dcli_net *net;
    dcli_endpoint *peer[MANY];
    cr_assert_eq(dcli_net_open(&net), DCL_OK, "%s", dcl_error());
    for (int i = 0; i < MANY; i++)
        cr_assert_eq(dcli_endpoint_open(net, 1, i, MANY, &peer[i]), DCL_OK, "%s", dcl_error());
    for (int from = 0; from < MANY; from++)
        for (int to = 0; to < MANY; to++)
            send_credit(peer[from], to, from * MANY + to);
    for (int to = 0; to < MANY; to++) {
        int64_t sum = 0;
        for (int i = 0; i < MANY; i++) {
            dcli_received received;
            cr_assert_eq(dcli_endpoint_receive(peer[to], LONG, &received), DCL_OK, "%s", dcl_error());
            cr_expect_eq(received.message.credit.chunks, received.from * MANY + to);
            sum += received.from;
            dcli_received_free(&received);
        }
        cr_expect_eq(sum, MANY * (MANY - 1) / 2);
    }
    for (int i = 0; i < MANY; i++)
        dcli_endpoint_close(peer[i]);
    dcli_net_close(net);
}

Test(endpoint, running_out_of_memory_while_opening_leaves_nothing_behind)
{
    dcli_net *net;
    dcli_endpoint *endpoint;
    dcli_alloc_fail_after(1);
    cr_expect_eq(dcli_net_open(&net), DCL_ERR_NOMEM);
    dcli_alloc_fail_after(0);
    cr_assert_eq(dcli_net_open(&net), DCL_OK);
    for (int n = 1; n <= 5; n++) {
        dcli_alloc_fail_after(n);
        cr_expect_eq(dcli_endpoint_open(net, 1, 0, 2, &endpoint), DCL_ERR_NOMEM, "allocation %d", n);
    }
    dcli_alloc_fail_after(0);
    dcli_net_close(net);
}

Test(endpoint, peers_that_are_threads_are_not_met_over_tcp_or_linked)
{
    dcli_net *net;
    dcli_endpoint *endpoint;
    dcli_shared_link ends[2];
    cr_assert_eq(dcli_net_open(&net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open(net, 1, 1, 3, &endpoint), DCL_OK, "%s", dcl_error());
    EXPECT_REFUSED(dcli_endpoint_expect(endpoint, 2, ""), DCL_ERR_INVALID, "not reached by tcp");
    EXPECT_REFUSED(dcli_endpoint_meet(endpoint, 0, "tcp://127.0.0.1:7", ""), DCL_ERR_INVALID, "not reached by tcp");
    cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
    EXPECT_REFUSED(dcli_endpoint_add_link(endpoint, 0, &ends[0]), DCL_ERR_INVALID, "a link to peer 0");
    dcli_shared_link_close(&ends[1]);
    dcli_endpoint_close(endpoint);
    dcli_net_close(net);
}
