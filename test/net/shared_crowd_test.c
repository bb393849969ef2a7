/* net/shared_crowd_test.c - an endpoint with many links, most of them idle, so that it does not attend to them: what
 * they bring then is noticed while it sleeps, while it polls, and while it is busy with others. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/shared.h"

enum {
    PEERS = 41,   /* number 0 has a link to each of the others */
    IDLE = 40,    /* a peer that sends nothing until a test lets it */
    LONG = 20000, /* milliseconds: a test that waits so long has failed */
    LOOKS = 2000  /* a message that so many calls without waiting do not find has been missed */
};

typedef struct crowd {
    dcli_net *net;
    dcli_endpoint *peer[PEERS];
} crowd;

static dcli_shared *middle(const crowd *c) { return c->peer[0]->link; }

static const dcli_link *link_to(const crowd *c, int peer) { return &middle(c)->link[peer]; }

/* Let number 0 look at its links until it attends to a few only, and not to the idle peer. */
static void settle(const crowd *c)
{
    dcli_received none;
    for (int n = 0; middle(c)->attended_count > DCLI_SHARED_FEW || link_to(c, IDLE)->attended >= 0; n++) {
        cr_assert(n < LOOKS, "%d links are attended", middle(c)->attended_count);
        cr_assert_eq(dcli_endpoint_receive(c->peer[0], n % 32 == 0, &none), DCL_ERR_TIMEOUT, "%s", dcl_error());
        if (middle(c)->attended_count == DCLI_SHARED_FEW && link_to(c, IDLE)->attended >= 0)
            dcli_link_attend(&middle(c)->link[1 + n % IDLE]); /* one too many, so that another one goes */
    }
}

static crowd open_crowd(void)
{
    crowd c = {0};
    dcli_shared_link all[PEERS], one[PEERS];
    cr_assert_eq(dcli_net_open(&c.net), DCL_OK, "%s", dcl_error());
    for (int p = 0; p < PEERS; p++)
        all[p].socket = one[p].socket = -1;
    for (int p = 1; p < PEERS; p++) {
        dcli_shared_link ends[2];
        cr_assert_eq(dcli_shared_link_make(ends), DCL_OK, "%s", dcl_error());
        all[p] = ends[0];
        one[0] = ends[1];
        cr_assert_eq(dcli_endpoint_open_shared(c.net, p, PEERS, one, &c.peer[p]), DCL_OK, "%s", dcl_error());
    }
    cr_assert_eq(dcli_endpoint_open_shared(c.net, 0, PEERS, all, &c.peer[0]), DCL_OK, "%s", dcl_error());
    cr_assert_eq(middle(&c)->attended_count, PEERS - 1);
    settle(&c);
    return c;
}

static void close_crowd(crowd *c)
{
    for (int p = 0; p < PEERS; p++)
        dcli_endpoint_close(c->peer[p]);
    dcli_net_close(c->net);
}

static void send_credit(dcli_endpoint *from, int to, int64_t chunks)
{
    dcli_message message = {.kind = DCLI_MSG_CREDIT, .credit = {chunks}};
    cr_assert_eq(dcli_endpoint_send(from, to, &message, NULL), DCL_OK, "%s", dcl_error());
}

/* Receive a credit. @return its sender, or -1: there is none within that time. */
static int take_credit(dcli_endpoint *at, int milliseconds, int64_t *chunks_out)
{
    dcli_received received = {0};
    dcl_status status = dcli_endpoint_receive(at, milliseconds, &received);
    if (status == DCL_ERR_TIMEOUT)
        return -1;
    cr_assert(status == DCL_OK && received.message.kind == DCLI_MSG_CREDIT, "%s", dcl_error());
    *chunks_out = received.message.credit.chunks;
    int from = received.from;
    dcli_received_free(&received);
    return from;
}

/* ---- messages ---- */

struct pings {
    crowd *crowd;
    atomic_int taken; /* messages that number 0 has received */
};

static void *send_when_asleep(void *argument)
{
    struct pings *pings = argument;
    const dcli_endpoint *middle = pings->crowd->peer[0];
    for (int n = 0; n < 200; n++) {
        while (atomic_load(&pings->taken) < n || !atomic_load(&middle->sleeping))
            sched_yield();
        if (n % 4 == 0)
            usleep(500); /* it is in poll() for certain */
        send_credit(pings->crowd->peer[1 + n * 7 % IDLE], 0, n);
    }
    return NULL;
}

Test(shared_crowd, a_sleeper_is_woken_by_any_peer)
{
    crowd c = open_crowd();
    struct pings pings = {.crowd = &c};
    pthread_t sender;
    c.peer[0]->spin_ns = 0;
    cr_assert_eq(pthread_create(&sender, NULL, send_when_asleep, &pings), 0);
    for (int n = 0; n < 200; n++) {
        int64_t chunks = -1;
        cr_assert_eq(take_credit(c.peer[0], LONG, &chunks), 1 + n * 7 % IDLE, "message %d", n);
        cr_assert_eq(chunks, n);
        atomic_store(&pings.taken, n + 1);
    }
    pthread_join(sender, NULL);
    close_crowd(&c);
}

Test(shared_crowd, one_that_polls_hears_any_peer)
{
    crowd c = open_crowd();
    for (int p = 1; p < PEERS; p++) {
        int64_t chunks = -1;
        int from = -1;
        send_credit(c.peer[p], 0, p);
        for (int looks = 0; from < 0; looks++) {
            cr_assert(looks < LOOKS, "the message of peer %d was missed", p);
            from = take_credit(c.peer[0], 0, &chunks);
        }
        cr_assert(from == p && chunks == p);
        settle(&c);
    }
    close_crowd(&c);
}

Test(shared_crowd, one_that_is_busy_with_others_hears_any_peer)
{
    crowd c = open_crowd();
    int64_t chunks = -1;
    int busy = 1;
    while (link_to(&c, busy)->attended < 0)
        busy++;
    send_credit(c.peer[busy], 0, 0);
    send_credit(c.peer[IDLE], 0, 7);
    int from = busy;
    for (int n = 1; from == busy; n++) {
        cr_assert(n < LOOKS, "the message of the other peer was missed");
        send_credit(c.peer[busy], 0, n); /* there is always one more */
        from = take_credit(c.peer[0], LONG, &chunks);
    }
    cr_expect(from == IDLE && chunks == 7);
    cr_expect(link_to(&c, IDLE)->attended >= 0);
    close_crowd(&c);
}

/* Messages keep their order when a link comes and goes, and a long answer waits for room in the ring. */
Test(shared_crowd, nothing_is_lost_while_links_come_and_go)
{
    crowd c = open_crowd();
    int64_t sent[PEERS] = {0}, taken[PEERS] = {0}, all = 0;
    uint64_t random = 1;
    for (int n = 0; n < 20000 || all > 0; n++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int p = 1 + (int)(random >> 33) % (PEERS - 1), from;
        int64_t chunks = -1;
        if (n < 20000 && random >> 63 == 0) {
            send_credit(c.peer[p], 0, sent[p]++);
            all++;
        } else if ((from = take_credit(c.peer[0], n % 512 == 0 ? 1 : 0, &chunks)) >= 0) {
            cr_assert_eq(chunks, taken[from]++);
            all--;
        }
        cr_assert(n < 200000, "%" PRId64 " messages were missed", all);
    }
    close_crowd(&c);
}

/* What waits for room in the ring is sent when the peer has made some, although the peer brings nothing. */
Test(shared_crowd, what_waits_for_an_idle_peer_is_sent)
{
    enum { MANY = 20000 };
    crowd c = open_crowd();
    int taken = 0;
    for (int n = 0; n < MANY; n++)
        send_credit(c.peer[0], IDLE, n);
    cr_assert_not_null(link_to(&c, IDLE)->first);
    for (int rounds = 0; taken < MANY; rounds++) {
        int64_t chunks = -1;
        cr_assert(rounds < 100, "%d messages came", taken);
        for (; take_credit(c.peer[IDLE], 1, &chunks) == 0; taken++)
            cr_assert_eq(chunks, taken);
        cr_assert_eq(take_credit(c.peer[0], 20, &chunks), -1);
    }
    cr_expect_eq(middle(&c)->waiting, 0);
    close_crowd(&c);
}

/* ---- ends ---- */

static void expect_lost(crowd *c, int peer, int milliseconds)
{
    dcli_received received = {0};
    dcl_status status = DCL_ERR_TIMEOUT;
    for (int looks = 0; status == DCL_ERR_TIMEOUT && looks < LOOKS; looks++)
        status = dcli_endpoint_receive(c->peer[0], milliseconds, &received);
    cr_assert_eq(status, DCL_ERR_NODE_LOST, "the end of peer %d was missed", peer);
    cr_expect_eq(received.from, peer);
}

Test(shared_crowd, the_end_of_an_idle_peer_is_noticed)
{
    crowd c = open_crowd();
    dcli_endpoint_close(c.peer[IDLE]);
    expect_lost(&c, IDLE, 0);
    settle(&c);
    int other = 1;
    while (link_to(&c, other)->attended >= 0)
        other++;
    dcli_endpoint_close(c.peer[other]);
    expect_lost(&c, other, LONG);
    c.peer[IDLE] = c.peer[other] = NULL;
    cr_expect_eq(middle(&c)->open_count, PEERS - 3);
    for (int p = 1; p < PEERS; p++)
        if (c.peer[p] != NULL) {
            int64_t chunks = -1;
            send_credit(c.peer[p], 0, p);
            cr_assert_eq(take_credit(c.peer[0], LONG, &chunks), p);
        }
    close_crowd(&c);
}

Test(shared_crowd, a_dropped_peer_is_not_heard)
{
    crowd c = open_crowd();
    int64_t chunks = -1;
    dcli_endpoint_drop(c.peer[0], IDLE);
    send_credit(c.peer[2], 0, 2);
    cr_expect_eq(take_credit(c.peer[0], LONG, &chunks), 2);
    for (int n = 0; n < PEERS && middle(&c)->open_count == PEERS - 1; n++)
        cr_expect_eq(take_credit(c.peer[0], 1, &chunks), -1);
    cr_expect_eq(middle(&c)->open_count, PEERS - 2, "the link is closed");
    close_crowd(&c);
}

/* One that never sleeps closes the links to dropped peers, too: they keep payloads. */
Test(shared_crowd, a_dropped_peer_is_closed_by_one_that_polls)
{
    crowd c = open_crowd();
    int64_t chunks = -1;
    dcli_endpoint_drop(c.peer[0], IDLE);
    for (int n = 0; n < LOOKS && middle(&c)->open_count == PEERS - 1; n++)
        cr_expect_eq(take_credit(c.peer[0], 0, &chunks), -1);
    cr_expect_eq(middle(&c)->open_count, PEERS - 2, "the link is still open");
    close_crowd(&c);
}

/* ---- what wakes nobody ---- */

static void count_give(void *bytes, void *user)
{
    dcli_buffers_give(bytes);
    (*(int *)user)++;
}

/* Send `count` payloads, which are read in place, to the idle peer, which keeps the messages. */
static dcli_buffers *lend_bytes(crowd *c, int count, dcli_received *received_out, int *returned)
{
    dcli_buffers *buffers = dcli_buffers_open_shared();
    dcli_endpoint_use_buffers(c->peer[0], buffers);
    for (int n = 0; n < count; n++) {
        dcli_message message = {.kind = DCLI_MSG_CHUNK, .chunk = {.operation = 1, .chunk = n}};
        dcli_payload payload = {dcli_buffers_take(buffers, 1), 1, count_give, returned};
        cr_assert_eq(dcli_endpoint_send(c->peer[0], IDLE, &message, &payload), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_endpoint_receive(c->peer[IDLE], LONG, &received_out[n]), DCL_OK, "%s", dcl_error());
    }
    return buffers;
}

Test(shared_crowd, little_memory_given_back_is_found_by_the_sweep)
{
    crowd c = open_crowd();
    int returned = 0;
    dcli_received received[3];
    dcli_buffers *buffers = lend_bytes(&c, 3, received, &returned);
    settle(&c);
    for (int n = 0; n < 3; n++)
        dcli_received_free(&received[n]);
    dcli_received none;
    cr_expect_eq(atomic_load(&link_to(&c, IDLE)->in.words->asleep), 1, "no bell was rung");
    for (int n = 0; n < PEERS / DCLI_SHARED_SWEEP + 1; n++)
        cr_assert_eq(dcli_endpoint_receive(c.peer[0], 1, &none), DCL_ERR_TIMEOUT);
    cr_expect_eq(returned, 3);
    close_crowd(&c);
    dcli_buffers_close(buffers);
}

/* If both sides slept, one because it was not woken and one because there is no room, nothing would go on. */
Test(shared_crowd, a_ring_full_of_returns_rings)
{
    enum { MANY = DCLI_RING_BYTES / DCLI_RING_ALIGN + 100 };
    static dcli_received received[MANY];
    crowd c = open_crowd();
    dcli_received none;
    int returned = 0;
    dcli_buffers *buffers = lend_bytes(&c, MANY, received, &returned);
    settle(&c);
    for (int n = 0; n < MANY; n++)
        dcli_received_free(&received[n]);
    cr_expect_eq(atomic_load(&link_to(&c, IDLE)->in.words->asleep), 0, "a bell was rung");
    for (int n = 0; n < LOOKS && returned < MANY; n++) {
        cr_assert_eq(dcli_endpoint_receive(c.peer[0], 1, &none), DCL_ERR_TIMEOUT);
        cr_assert_eq(dcli_endpoint_receive(c.peer[IDLE], 1, &none), DCL_ERR_TIMEOUT);
    }
    cr_expect_eq(returned, MANY);
    close_crowd(&c);
    dcli_buffers_close(buffers);
}

/* ---- threads ---- */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void give_turn(void *mutex) { pthread_mutex_unlock(mutex); }

static void take_turn(void *mutex) { pthread_mutex_lock(mutex); }

static void *receive_in_turn(void *argument)
{
    dcli_received received = {0};
    pthread_mutex_lock(&turn);
    if (dcli_endpoint_receive(argument, -1, &received) == DCL_OK)
        dcli_received_free(&received);
    pthread_mutex_unlock(&turn);
    return NULL;
}

static void *send_soon(void *argument)
{
    usleep(1000);
    send_credit(argument, 0, 5);
    return NULL;
}

/* One thread sleeps; another one takes its place, so that the wake-up packets are for it. */
Test(shared_crowd, a_thread_takes_the_place_of_one_that_sleeps)
{
    crowd c = open_crowd();
    dcli_turns turns = {.user = &turn, .give = give_turn, .take = take_turn};
    pthread_t sleeper, sender;
    cr_assert_eq(dcli_endpoint_share(c.peer[0], &turns), DCL_OK);
    cr_assert_eq(pthread_create(&sleeper, NULL, receive_in_turn, c.peer[0]), 0);
    while (!atomic_load(&c.peer[0]->sleeping))
        usleep(100);
    for (int p = 1; p < PEERS; p++) {
        int64_t chunks = -1;
        pthread_mutex_lock(&turn);
        cr_assert_eq(pthread_create(&sender, NULL, send_soon, c.peer[p]), 0);
        cr_assert_eq(take_credit(c.peer[0], LONG, &chunks), p);
        pthread_join(sender, NULL);
        pthread_mutex_unlock(&turn);
    }
    pthread_mutex_lock(&turn);
    dcli_endpoint_rouse(c.peer[0], true);
    pthread_mutex_unlock(&turn);
    pthread_join(sleeper, NULL);
    close_crowd(&c);
}

/* A link is attended to while another thread sleeps. Its writer saw nobody asleep and sent no wake-up packet. */
Test(shared_crowd, a_sleeper_notices_what_a_new_link_has_brought_before)
{
    crowd c = open_crowd();
    dcli_turns turns = {.user = &turn, .give = give_turn, .take = take_turn};
    dcli_link *link = &middle(&c)->link[IDLE];
    pthread_t sleeper;
    cr_assert_eq(dcli_endpoint_share(c.peer[0], &turns), DCL_OK);
    cr_assert_eq(pthread_create(&sleeper, NULL, receive_in_turn, c.peer[0]), 0);
    while (!atomic_load(&c.peer[0]->sleeping))
        usleep(100);
    pthread_mutex_lock(&turn);
    cr_assert(link->attended < 0 && middle(&c)->armed);
    (void)dcli_ring_awake(&link->in); /* as in a new link */
    send_credit(c.peer[IDLE], 0, 5);
    dcli_link_attend(link);
    pthread_mutex_unlock(&turn);
    pthread_join(sleeper, NULL);
    close_crowd(&c);
}
