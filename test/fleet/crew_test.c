/* test/fleet/crew_test.c - the books of the crew, as its threads and the program share them, without processes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/crew_inside.h"
#include "net/listener.h"
#include "support/host.h"
#include "worker/blame.h"
#include "worker/peer.h"

enum { NODES = 3, SECONDS = 60 };

TestSuite(crew, .timeout = SECONDS);

/* ---- what is tested ----------------------------------------------------------------------------------------------- */

static void make_crew(dcli_crew *crew, const dcl_config *config)
{
    *crew = (dcli_crew){.terms.config = config, .is_local = true, .capacity = NODES, .wake_fd = -1};
    crew->member = dcli_calloc(NODES, sizeof *crew->member);
    crew->host_link = dcli_calloc(NODES + 1, sizeof *crew->host_link);
    cr_assert(crew->member != NULL && crew->host_link != NULL);
    for (int n = 0; n <= NODES; n++)
        crew->host_link[n].socket = crew->host_link[n].memory = -1;
    pthread_mutex_init(&crew->lock, NULL);
    dcli_cond_init(&crew->changed);
}

static void free_crew(dcli_crew *crew)
{
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->changed);
    dcli_free(crew->member);
    dcli_free(crew->host_link);
}

/* ---- the crew ----------------------------------------------------------------------------------------------------- */

/* Other threads read the first description, without a lock. */
Test(crew, a_device_is_described_once)
{
    dcli_crew crew;
    dcl_config config = {.silence_ms = 1000};
    make_crew(&crew, &config);
    dcli_msg_device first = {
        .number = 1, .name = "first", .platform = "P", .version = "V", .class = "cpu", .kind = "K"};
    dcli_msg_device second = first;
    second.name = "second";
    cr_expect(dcli_crew_hear(&crew, 1, &first));
    cr_expect_not(dcli_crew_hear(&crew, 1, &second), "a second description was taken");
    cr_expect_str_eq(dcli_crew_device(&crew, 1)->name, "first");
    cr_expect_not(dcli_crew_hear(&crew, NODES, &first), "of a node that cannot be");
    free_crew(&crew);
}

struct joining {
    dcli_crew *crew;
    atomic_bool stop;
};

/* Starts nothing, and says that it has. */
static void *keep(void *argument)
{
    struct joining *joining = argument;
    dcli_crew *crew = joining->crew;
    while (!atomic_load(&joining->stop)) {
        pthread_mutex_lock(&crew->lock);
        crew->order.due = false;
        pthread_cond_broadcast(&crew->changed);
        pthread_mutex_unlock(&crew->lock);
        sched_yield();
    }
    return NULL;
}

/* A process that says again and again, in other words, that it cannot serve. */
static void *refuse(void *argument)
{
    struct joining *joining = argument;
    for (int n = 0; !atomic_load(&joining->stop); n++)
        dcli_crew_refused(joining->crew, n % NODES, DCL_ERR_DEVICE,
                          n / NODES % 2 == 0 ? "reason reason reason" : "REASON REASON REASON");
    return NULL;
}

Test(crew, a_refusal_is_read_whole_while_more_come)
{
    dcli_crew crew;
    dcl_config config = {.silence_ms = 1000};
    make_crew(&crew, &config);
    dcli_worker *host = test_make_host(NODES);
    struct joining joining = {.crew = &crew};
    pthread_t thread[4];
    for (int t = 0; t < 4; t++)
        cr_assert_eq(pthread_create(&thread[t], NULL, t == 0 ? keep : refuse, &joining), 0);
    for (int node = 0; node < NODES; node++) {
        int first = -1, count = -1;
        cr_expect_eq(dcli_crew_add(&crew, host, "local:1", &first, &count), DCL_ERR_DEVICE);
        cr_expect(strstr(dcl_error(), "did not start: reason reason reason") != NULL ||
                      strstr(dcl_error(), "did not start: REASON REASON REASON") != NULL,
                  "%s", dcl_error());
        cr_expect(first == node && count == 1, "numbers used up: %d from %d", count, first);
    }
    atomic_store(&joining.stop, true);
    for (int t = 0; t < 4; t++)
        pthread_join(thread[t], NULL);
    test_free_host(host);
    free_crew(&crew);
}

/* Nothing was said when the process ended, and the keeper has already taken its end. */
Test(crew, a_start_that_failed_has_a_reason)
{
    static const char *const refusals[] = {"it has no device", "", ""}, *const ends[] = {"", "cannot be reached", ""},
                             *const reasons[] = {": it has no device", ": cannot be reached",
                                                 ": its process has ended"};
    dcli_crew crew;
    dcl_config config = {.silence_ms = 1000};
    make_crew(&crew, &config);
    for (int n = 0; n < NODES; n++) {
        dcli_member *member = &crew.member[n];
        snprintf(member->refusal, sizeof member->refusal, "%s", refusals[n]);
        snprintf(member->gone, sizeof member->gone, "%s", ends[n]);
        cr_expect_eq(dcli_crew_fail_to_start(&crew, n, DCL_ERR_NODE_LOST, ""), DCL_ERR_NODE_LOST);
        cr_expect(strstr(dcl_error(), reasons[n]) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), reasons[n]);
    }
    free_crew(&crew);
}

/* The keeper says it once: it must not get lost. */
Test(crew, a_loss_is_told_without_memory)
{
    dcli_crew crew;
    dcl_config config = {.silence_ms = 1000};
    make_crew(&crew, &config);
    dcli_worker *host = test_make_host(NODES);
    crew.host = host;
    dcli_alloc_fail_after(1);
    pthread_mutex_lock(&crew.lock);
    dcli_crew_report(&crew, 2, "its process has ended");
    pthread_mutex_unlock(&crew.lock);
    dcli_alloc_fail_after(0);
    cr_expect(crew.member[2].lost);
    cr_expect_not(dcli_host_may_sleep(host), "nothing was queued for the host's worker");
    test_free_host(host);
    free_crew(&crew);
}

static int64_t blamed_for(dcli_crew *crew, const char *gone, const char *seen)
{
    char sentence[2048];
    crew->member[1].kill_due = crew->member[1].lost = false;
    snprintf(crew->member[1].gone, sizeof crew->member[1].gone, "%s", gone);
    dcli_crew_lose(crew, 1, seen, sentence, sizeof sentence);
    cr_expect(strstr(sentence, "node 1 is lost") != NULL, "%s", sentence);
    return dcli_blamed_body(sentence);
}

/* A node could have bodies of the program refused by what it says of another one, or of its device. */
Test(crew, only_the_end_of_a_node_blames_a_body)
{
    const char *says = "node 2 says: `x` (body 3)", *ended = "ended by itself with status 1";
    dcli_crew crew;
    dcl_config config = {.silence_ms = 1000};
    make_crew(&crew, &config);
    crew.is_local = false;
    crew.contact[0].lost = true;
    dcli_msg_device about = {
        .number = 1, .name = "x` (body 4)", .platform = "P", .version = "V", .class = "cpu", .kind = "K"};
    cr_expect(dcli_crew_hear(&crew, 1, &about));
    cr_expect_eq(blamed_for(&crew, "", says), 0);
    cr_expect_eq(blamed_for(&crew, ended, says), 0);
    cr_expect_eq(blamed_for(&crew, "was killed by signal 11 (SIGSEGV) while it ran `B(i) = 1;` (body 7)", says), 7);
    free_crew(&crew);
}

/* ---- a listener that says too much --------------------------------------------------------------------------------------- */

/** A listener, and the crew whose only contact has called it. */
typedef struct called {
    dcli_net *net;
    dcli_authenticator *authenticator;
    dcli_listener *listener;
    uint32_t client;
    dcl_config config;
    dcli_crew crew;
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
    make_crew(&c->crew, &c->config);
    c->crew.is_local = false;
    c->crew.host = c->host = test_make_host(NODES);
    c->crew.contact_count = c->crew.attended = 1;
    dcli_contact *contact = &c->crew.contact[0];
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
    dcli_control_close(c->crew.contact[0].call);
    dcli_listener_close(c->listener);
    dcli_authenticator_close(c->authenticator);
    test_free_host(c->host);
    free_crew(&c->crew);
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
    dcli_contact *contact = &c.crew.contact[0];
    contact->second_ms = INT64_MAX / 2; /* all is said in one second */
    bool said = say(&c, SAID);
    for (int64_t until = dcli_monotonic_ns() + SECONDS / 4 * (int64_t)1000000000;
         said && contact->in_second < SAID && dcli_monotonic_ns() < until;) {
        int before = contact->in_second;
        bool more = dcli_crew_attend(&c.crew, 0);
        cr_expect(contact->in_second - before <= IN_TURN, "%d messages in a turn", contact->in_second - before);
        cr_expect_eq(more, contact->in_second - before == IN_TURN);
    }
    cr_expect(!said || (contact->in_second == SAID && !contact->lost));
    close_called(&c);
    return said;
}

Test(crew, a_listener_is_heard_in_turns)
{
    int tries = 0;
    while (!hear_in_turns())
        cr_assert(++tries < TRIES);
}

static bool lose_what_floods(void)
{
    called c;
    open_called(&c);
    dcli_contact *contact = &c.crew.contact[0];
    contact->second_ms = INT64_MAX / 2;
    bool said = true;
    for (int n = 0; n < 10 * DCLI_LISTENER_SESSION_RATE && said && !contact->lost; n += 50) {
        said = say(&c, 50);
        dcli_crew_attend(&c.crew, 0);
    }
    cr_expect(!said || contact->lost);
    cr_expect(!said || strstr(c.host->as_host->outbox.loss[0].seen, "sends more than 1000 messages a second") != NULL,
              "\"%s\"", c.host->as_host->outbox.loss[0].seen);
    close_called(&c);
    return said;
}

/* It would keep the crew's lock from the program, and the keeper from all others. */
Test(crew, a_listener_that_floods_is_lost)
{
    int tries = 0;
    while (!lose_what_floods())
        cr_assert(++tries < TRIES);
}

/* However many calls wait for what was printed: the listener hangs up on a client that says too much. */
Test(crew, listeners_are_asked_rarely)
{
    enum { LASTS_MS = 300 };
    called c;
    open_called(&c);
    dcli_contact *contact = &c.crew.contact[0];
    int64_t begin = dcli_monotonic_ms(), now = begin, asked = 0, told = 0;
    for (; now < begin + LASTS_MS; now = dcli_monotonic_ms()) {
        dcli_received received = {0};
        contact->flush++;
        dcli_crew_attend(&c.crew, 0);
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
