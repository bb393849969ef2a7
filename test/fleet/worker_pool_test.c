/* test/fleet/worker_pool_test.c - the books of the worker pool, as its threads and the program share them, without
 * processes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/worker_pool_inside.h"
#include "net/listener.h"
#include "support/host.h"
#include "worker/blame.h"
#include "worker/peer.h"

enum { NODES = 3, SECONDS = 60 };

TestSuite(pool, .timeout = SECONDS);

/* ---- what is tested ----------------------------------------------------------------------------------------------- */

static void make_worker_pool(dcli_worker_pool *pool, const dcl_config *config)
{
    *pool = (dcli_worker_pool){.terms.config = config, .is_local = true, .capacity = NODES, .wake_fd = -1};
    pool->member = dcli_calloc(NODES, sizeof *pool->member);
    pool->host_link = dcli_calloc(NODES + 1, sizeof *pool->host_link);
    cr_assert(pool->member != NULL && pool->host_link != NULL);
    for (int n = 0; n <= NODES; n++)
        pool->host_link[n].socket = pool->host_link[n].memory = -1;
    pthread_mutex_init(&pool->lock, NULL);
    dcli_cond_init(&pool->changed);
}

static void free_worker_pool(dcli_worker_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->changed);
    dcli_free(pool->member);
    dcli_free(pool->host_link);
}

/* ---- the worker pool ----------------------------------------------------------------------------------------------------- */

/* Other threads read the first description, without a lock. */
Test(pool, a_device_is_described_once)
{
    dcli_worker_pool pool;
    dcl_config config = {.silence_ms = 1000};
    make_worker_pool(&pool, &config);
    dcli_msg_device first = {
        .number = 1, .name = "first", .platform = "P", .version = "V", .class = "cpu", .kind = "K"};
    dcli_msg_device second = first;
    second.name = "second";
    cr_expect(dcli_worker_pool_hear(&pool, 1, &first));
    cr_expect_not(dcli_worker_pool_hear(&pool, 1, &second), "a second description was taken");
    cr_expect_str_eq(dcli_worker_pool_device(&pool, 1)->name, "first");
    cr_expect_not(dcli_worker_pool_hear(&pool, NODES, &first), "of a node that cannot be");
    free_worker_pool(&pool);
}

struct joining {
    dcli_worker_pool *pool;
    atomic_bool stop;
};

/* Starts nothing, and says that it has. */
static void *keep(void *argument)
{
    struct joining *joining = argument;
    dcli_worker_pool *pool = joining->pool;
    while (!atomic_load(&joining->stop)) {
        pthread_mutex_lock(&pool->lock);
        pool->order.due = false;
        pthread_cond_broadcast(&pool->changed);
        pthread_mutex_unlock(&pool->lock);
        sched_yield();
    }
    return NULL;
}

/* A process that says again and again, in other words, that it cannot serve. */
static void *refuse(void *argument)
{
    struct joining *joining = argument;
    for (int n = 0; !atomic_load(&joining->stop); n++)
        dcli_worker_pool_refused(joining->pool, n % NODES, DCL_ERR_DEVICE,
                                 n / NODES % 2 == 0 ? "reason reason reason" : "REASON REASON REASON");
    return NULL;
}

Test(pool, a_refusal_is_read_whole_while_more_come)
{
    dcli_worker_pool pool;
    dcl_config config = {.silence_ms = 1000};
    make_worker_pool(&pool, &config);
    dcli_worker *host = test_make_host(NODES);
    struct joining joining = {.pool = &pool};
    pthread_t thread[4];
    for (int t = 0; t < 4; t++)
        cr_assert_eq(pthread_create(&thread[t], NULL, t == 0 ? keep : refuse, &joining), 0);
    for (int node = 0; node < NODES; node++) {
        int first = -1, count = -1;
        cr_expect_eq(dcli_worker_pool_add(&pool, host, "local:1", &first, &count), DCL_ERR_DEVICE);
        cr_expect(strstr(dcl_error(), "did not start: reason reason reason") != NULL ||
                      strstr(dcl_error(), "did not start: REASON REASON REASON") != NULL,
                  "%s", dcl_error());
        cr_expect(first == node && count == 1, "numbers used up: %d from %d", count, first);
    }
    atomic_store(&joining.stop, true);
    for (int t = 0; t < 4; t++)
        pthread_join(thread[t], NULL);
    test_free_host(host);
    free_worker_pool(&pool);
}

/* Nothing was said when the process ended, and the process monitor has already taken its end. */
Test(pool, a_start_that_failed_has_a_reason)
{
    static const char *const refusals[] = {"it has no device", "", ""}, *const ends[] = {"", "cannot be reached", ""},
                             *const reasons[] = {": it has no device", ": cannot be reached",
                                                 ": its process has ended"};
    dcli_worker_pool pool;
    dcl_config config = {.silence_ms = 1000};
    make_worker_pool(&pool, &config);
    for (int n = 0; n < NODES; n++) {
        dcli_member *member = &pool.member[n];
        snprintf(member->refusal, sizeof member->refusal, "%s", refusals[n]);
        snprintf(member->gone, sizeof member->gone, "%s", ends[n]);
        cr_expect_eq(dcli_worker_pool_fail_to_start(&pool, n, DCL_ERR_NODE_LOST, ""), DCL_ERR_NODE_LOST);
        cr_expect(strstr(dcl_error(), reasons[n]) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), reasons[n]);
    }
    free_worker_pool(&pool);
}

/* The process monitor says it once: it must not get lost. */
Test(pool, a_loss_is_told_without_memory)
{
    dcli_worker_pool pool;
    dcl_config config = {.silence_ms = 1000};
    make_worker_pool(&pool, &config);
    dcli_worker *host = test_make_host(NODES);
    dcli_worker_pool_report_to(&pool, host);
    dcli_alloc_fail_after(1);
    pthread_mutex_lock(&pool.lock);
    dcli_worker_pool_report(&pool, 2, "its process has ended");
    pthread_mutex_unlock(&pool.lock);
    dcli_alloc_fail_after(0);
    cr_expect(pool.member[2].lost);
    cr_expect_not(dcli_host_may_sleep(host), "nothing was queued for the host's worker");
    test_free_host(host);
    free_worker_pool(&pool);
}

static int64_t blamed_for(dcli_worker_pool *pool, const char *gone, const char *seen)
{
    char sentence[2048];
    pool->member[1].kill_due = pool->member[1].lost = false;
    snprintf(pool->member[1].gone, sizeof pool->member[1].gone, "%s", gone);
    dcli_worker_pool_lose(pool, 1, seen, sentence, sizeof sentence);
    cr_expect(strstr(sentence, "node 1 is lost") != NULL, "%s", sentence);
    return dcli_blamed_body(sentence);
}

/* A node could have bodies of the program refused by what it says of another one, or of its device. */
Test(pool, only_the_end_of_a_node_blames_a_body)
{
    const char *says = "node 2 says: `x` (body 3)", *ended = "ended by itself with status 1";
    dcli_worker_pool pool;
    dcl_config config = {.silence_ms = 1000};
    make_worker_pool(&pool, &config);
    pool.is_local = false;
    pool.contact[0].lost = true;
    dcli_msg_device about = {
        .number = 1, .name = "x` (body 4)", .platform = "P", .version = "V", .class = "cpu", .kind = "K"};
    cr_expect(dcli_worker_pool_hear(&pool, 1, &about));
    cr_expect_eq(blamed_for(&pool, "", says), 0);
    cr_expect_eq(blamed_for(&pool, ended, says), 0);
    cr_expect_eq(blamed_for(&pool, "was killed by signal 11 (SIGSEGV) while it ran `B(i) = 1;` (body 7)", says), 7);
    free_worker_pool(&pool);
}

/* ---- a listener that says too much --------------------------------------------------------------------------------------- */

/** A listener, and the worker pool whose only contact has called it. */
typedef struct called {
    dcli_net *net;
    dcli_authenticator *authenticator;
    dcli_listener *listener;
    uint32_t client;
    dcl_config config;
    dcli_worker_pool pool;
    dcli_worker *host;
} called;

static void open_called(called *c)
{
    dcli_received received = {0};
    *c = (called){.config = {.silence_ms = 30000}};
    cr_assert_eq(dcli_net_open_io(1, &c->net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_open(c->net, NULL, &c->authenticator), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_authenticator_add_password(c->authenticator, "listener", "sesame"), DCL_OK, "%s", dcl_error());
    dcli_listener_terms terms = {.net = c->net,
                                 .address = "tcp://127.0.0.1:*",
                                 .authenticator = c->authenticator,
                                 .domain = "listener",
                                 .silence_ms = 30000,
                                 .most_clients = 1};
    cr_assert_eq(dcli_listener_open(&terms, &c->listener), DCL_OK, "%s", dcl_error());
    make_worker_pool(&c->pool, &c->config);
    c->pool.is_local = false;
    c->host = test_make_host(NODES);
    dcli_worker_pool_report_to(&c->pool, c->host);
    c->pool.contact_count = c->pool.attended = 1;
    dcli_contact *contact = &c->pool.contact[0];
    snprintf(contact->address, sizeof contact->address, "%s", dcli_listener_address(c->listener));
    contact->count = 1;
    contact->heard_ms = INT64_MAX / 2; /* it is not silent */
    dcli_control_terms call = {.net = c->net,
                               .address = dcli_listener_address(c->listener),
                               .server_key = "",
                               .password = "sesame",
                               .silence_ms = 30000};
    cr_assert_eq(dcli_control_open(&call, &contact->call), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_contact_greet(contact->call), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_listener_receive(c->listener, SECONDS / 2 * 1000, &received, &c->client), DCL_OK, "%s",
                 dcl_error());
    dcli_received_free(&received);
}

static void close_called(called *c)
{
    dcli_control_close(c->pool.contact[0].call);
    dcli_listener_close(c->listener);
    dcli_authenticator_close(c->authenticator);
    test_free_host(c->host);
    free_worker_pool(&c->pool);
    dcli_net_close(c->net);
}

/** @return false: libzmq's thread has not kept up, and the listener has hung up. */
static bool say(called *c, int count)
{
    enum { AT_ONCE = 16 };
    const struct timespec pause = {.tv_nsec = 3000000};
    for (int n = 0; n < count; n++) {
        dcli_message beat = {.kind = DCLI_MSG_BEAT, .beat.number = n};
        if (dcli_listener_send(c->listener, c->client, &beat) != DCL_OK)
            return false;
        if (n % AT_ONCE == AT_ONCE - 1)
            nanosleep(&pause, NULL);
    }
    return true;
}

enum { TRIES = 50 /* on a busy machine */ };

static bool hear_in_turns(void)
{
    enum { SAID = 200, IN_TURN = 64 };
    called c;
    open_called(&c);
    dcli_contact *contact = &c.pool.contact[0];
    contact->second_ms = INT64_MAX / 2; /* all is said in one second */
    bool said = say(&c, SAID);
    for (int64_t until = dcli_monotonic_ns() + SECONDS / 4 * (int64_t)1000000000;
         said && contact->in_second < SAID && dcli_monotonic_ns() < until;) {
        int before = contact->in_second;
        bool more = dcli_worker_pool_attend(&c.pool, 0);
        cr_expect(contact->in_second - before <= IN_TURN, "%d messages in a turn", contact->in_second - before);
        cr_expect_eq(more, contact->in_second - before == IN_TURN);
    }
    cr_expect(!said || (contact->in_second == SAID && !contact->lost));
    close_called(&c);
    return said;
}

Test(pool, a_listener_is_heard_in_turns)
{
    int tries = 0;
    while (!hear_in_turns())
        cr_assert(++tries < TRIES);
}

static bool lose_what_floods(void)
{
    called c;
    open_called(&c);
    dcli_contact *contact = &c.pool.contact[0];
    contact->second_ms = INT64_MAX / 2;
    bool said = true;
    for (int n = 0; n < 10 * DCLI_LISTENER_SESSION_RATE && said && !contact->lost; n += 50) {
        said = say(&c, 50);
        dcli_worker_pool_attend(&c.pool, 0);
    }
    cr_expect(!said || contact->lost);
    cr_expect(!said || strstr(c.host->as_host->outbox.loss[0].seen, "sends more than 1000 messages a second") != NULL,
              "\"%s\"", c.host->as_host->outbox.loss[0].seen);
    close_called(&c);
    return said;
}

/* It would keep the worker pool's lock from the program, and the process monitor from all others. */
Test(pool, a_listener_that_floods_is_lost)
{
    int tries = 0;
    while (!lose_what_floods())
        cr_assert(++tries < TRIES);
}

/* However many calls wait for what was printed: the listener hangs up on a client that says too much. */
Test(pool, listeners_are_asked_rarely)
{
    enum { LASTS_MS = 300 };
    called c;
    open_called(&c);
    dcli_contact *contact = &c.pool.contact[0];
    int64_t begin = dcli_monotonic_ms(), now = begin, asked = 0, told = 0;
    for (; now < begin + LASTS_MS; now = dcli_monotonic_ms()) {
        dcli_received received = {0};
        contact->flush++;
        dcli_worker_pool_attend(&c.pool, 0);
        if (dcli_listener_receive(c.listener, 0, &received, &c.client) != DCL_OK)
            continue;
        if (received.message.kind == DCLI_MSG_SHOWN) {
            told++;
            asked += received.message.shown.flush > 0;
            dcli_message answer = {.kind = DCLI_MSG_PRINTED,
                                   .printed = {.number = told, .text = "", .flushed = received.message.shown.flush}};
            cr_assert_eq(dcli_listener_send(c.listener, c.client, &answer), DCL_OK, "%s", dcl_error());
        }
        dcli_received_free(&received);
    }
    cr_expect(asked > 1 && asked == told, "%d requests in %d messages", (int)asked, (int)told);
    cr_expect_leq(told, (now - begin) / 2 + 2, "%d messages in %d ms", (int)told, (int)(now - begin));
    close_called(&c);
}
