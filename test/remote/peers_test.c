/* test/remote/peers_test.c - two servers of a session send each other contents of buffers and ends of events, in whatever order the
 * driver's commands arrive. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "remote/inside.h"

enum { SOURCE, TARGET, DRIVER, PEERS };
enum { BUFFER = 1, QUEUE, EVENT = 10, DEPENDENT, TRANSFER = 20, NEXT_TRANSFER };
enum { SMALL = 4096, BIG = 5 * DCLI_REMOTE_CHUNK + 12345, HUGE = 20 * DCLI_REMOTE_CHUNK + 777, SECONDS = 60 };

typedef struct scene {
    dcli_net *net;
    dcli_endpoint *end[PEERS];
    dcli_buffers *buffers;
    dcli_log log;
    dcli_remote *server[2];
    dcli_msg_ended ended[2]; /* of EVENT, as each server reports it to the driver; .event 0: not yet */
    bool lost[2];            /* a server says that it cannot reach the other */
} scene;

#define NUMBERS(...) \
    .number_count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), .number = (int64_t[]) { __VA_ARGS__ }

static void command(scene *s, int server, dcli_msg_command command)
{
    cr_assert_eq(dcli_remote_command(s->server[server], &command), DCL_OK, "%s", dcl_error());
}

static void open_scene(scene *s, int64_t bytes)
{
    *s = (scene){0};
    cr_assert_eq(dcli_net_open(&s->net), DCL_OK, "%s", dcl_error());
    for (int e = 0; e < PEERS; e++)
        cr_assert_eq(dcli_endpoint_open(s->net, 5, e, PEERS, &s->end[e]), DCL_OK, "%s", dcl_error());
    cr_assert_not_null(s->buffers = dcli_buffers_open());
    for (int n = 0; n < 2; n++) {
        cr_assert_eq(dcli_remote_open(0, &s->log, NULL, &s->server[n]), DCL_OK, "%s", dcl_error());
        s->server[n]->terms = (dcli_remote_terms){.endpoint = s->end[n],
                                                  .client = DRIVER,
                                                  .self = n,
                                                  .session = 5,
                                                  .buffers = s->buffers,
                                                  .chunk_bytes = DCLI_REMOTE_CHUNK};
        cr_assert_eq(dcli_remote_peers_open(s->server[n]), DCL_OK, "%s", dcl_error());
        cr_assert_eq(dcli_lender_open(s->server[n]), DCL_OK, "%s", dcl_error());
        command(s, n, (dcli_msg_command){DCLI_CL_BUFFER, BUFFER, NUMBERS(1, bytes)});
        command(s, n, (dcli_msg_command){DCLI_CL_QUEUE, QUEUE, NUMBERS(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)});
    }
}

static void close_scene(scene *s)
{
    for (int n = 0; n < 2; n++) {
        cr_expect_eq(s->server[n]->outstanding, 0);
        dcli_objects_close(s->server[n]);
        cr_expect_eq(s->server[n]->held_bytes, 0);
        cr_expect_eq(s->server[n]->peers.eager_bytes, 0);
        dcli_remote_peers_close(s->server[n]);
        cr_expect(dcli_lender_await(s->server[n], 0), "memory of a buffer is still being sent");
        dcli_lender_close(s->server[n]);
        dcli_remote_close(s->server[n]);
    }
    for (int e = 0; e < PEERS; e++)
        dcli_endpoint_close(s->end[e]);
    dcli_net_close(s->net);
    dcli_buffers_close(s->buffers);
}

/* One turn of a server, as its loop does it. */
static void turn(scene *s, int server)
{
    dcli_remote *remote = s->server[server];
    dcli_received received = {0};
    while (dcli_endpoint_receive(s->end[server], 0, &received) == DCL_OK) {
        cr_assert_eq(dcli_remote_hear(remote, &received), DCL_OK, "%s", dcl_error());
        dcli_received_free(&received);
    }
    dcli_completions_take(remote);
    dcli_tasks_look(remote);
    dcli_queues_flush(remote);
    remote->reports_due_ns = 0;
    cr_assert_eq(dcli_events_send(remote), DCL_OK, "%s", dcl_error());
}

static void hear_driver(scene *s)
{
    dcli_received received = {0};
    while (dcli_endpoint_receive(s->end[DRIVER], 0, &received) == DCL_OK) {
        const dcli_message *message = &received.message;
        for (int e = 0; message->kind == DCLI_MSG_EVENTS && e < message->events.count; e++)
            if (message->events.ended[e].event == EVENT)
                s->ended[received.from] = message->events.ended[e];
        if (message->kind == DCLI_MSG_LOST)
            s->lost[received.from] = true;
        dcli_received_free(&received);
    }
}

/* Let both servers work until their ends of the transfer have ended. @param servers  bits of those that are waited for. */
static void await_ends(scene *s, int servers)
{
    int64_t until = dcli_monotonic_ms() + 1000 * SECONDS;
    for (bool all = false; !all; poll(NULL, 0, 1)) {
        cr_assert_lt(dcli_monotonic_ms(), until, "the transfer does not end: %d, %d", s->ended[0].event != 0,
                     s->ended[1].event != 0);
        all = true;
        for (int n = 0; n < 2; n++)
            turn(s, n);
        hear_driver(s);
        for (int n = 0; n < 2; n++)
            all = all && ((servers >> n & 1) == 0 || s->ended[n].event != 0);
    }
}

static void fill(scene *s, int server, int64_t bytes)
{
    unsigned char *all = malloc((size_t)bytes);
    dcli_object *buffer = dcli_object_find(s->server[server], BUFFER, DCLI_OBJECT_BUFFER),
                *queue = dcli_object_find(s->server[server], QUEUE, DCLI_OBJECT_QUEUE);
    for (int64_t i = 0; i < bytes; i++)
        all[i] = (unsigned char)((uint64_t)i * 2654435761U >> 13);
    cr_assert_eq(
        clEnqueueWriteBuffer(queue->queue.queue, buffer->buffer.mem, CL_TRUE, 0, (size_t)bytes, all, 0, NULL, NULL),
        CL_SUCCESS);
    free(all);
}

static bool are_equal(scene *s, int64_t bytes)
{
    unsigned char *all[2];
    for (int n = 0; n < 2; n++) {
        all[n] = malloc((size_t)bytes);
        dcli_object *buffer = dcli_object_find(s->server[n], BUFFER, DCLI_OBJECT_BUFFER),
                    *queue = dcli_object_find(s->server[n], QUEUE, DCLI_OBJECT_QUEUE);
        cr_assert_eq(clEnqueueReadBuffer(queue->queue.queue, buffer->buffer.mem, CL_TRUE, 0, (size_t)bytes, all[n], 0,
                                         NULL, NULL),
                     CL_SUCCESS);
    }
    bool equal = memcmp(all[0], all[1], (size_t)bytes) == 0;
    free(all[0]);
    free(all[1]);
    return equal;
}

static void send_from(scene *s, int64_t transfer, int64_t bytes)
{
    command(
        s, SOURCE,
        (dcli_msg_command){DCLI_CL_READ, BUFFER, QUEUE, EVENT, NUMBERS(transfer, 0, bytes, 1, 1, 0, 0, 0, TARGET + 1)});
}

static void take_at(scene *s, int64_t transfer, int64_t bytes)
{
    command(s, TARGET,
            (dcli_msg_command){DCLI_CL_WRITE, BUFFER, QUEUE, EVENT,
                               NUMBERS(transfer, 0, bytes, 1, 1, 0, 0, 0, SOURCE + 1)});
}

static void expect_ends(const scene *s, cl_int source, cl_int target)
{
    cr_expect_eq(s->ended[SOURCE].status, source, "the source's end is %d; expected %d", s->ended[SOURCE].status,
                 source);
    cr_expect_eq(s->ended[TARGET].status, target, "the target's end is %d; expected %d", s->ended[TARGET].status,
                 target);
}

struct order {
    char what[40];
    int64_t bytes;
    int first;  /* the server that the driver tells first */
    bool waits; /* the other one is told only when messages of the first have arrived */
};

ParameterizedTestParameters(peers, contents_move)
{
    static struct order orders[] = {
        {"small, the source is told first", SMALL, SOURCE, false},
        {"small, data come early", SMALL, SOURCE, true},
        {"small, a grant comes early", SMALL, TARGET, true},
        {"large, the source is told first", BIG, SOURCE, false},
        {"large, the source is told long before", BIG, SOURCE, true},
        {"large, a grant comes early", BIG, TARGET, true},
        {"sent from the memory of the buffer", HUGE, SOURCE, false},
    };
    return cr_make_param_array(struct order, orders, sizeof orders / sizeof orders[0]);
}

ParameterizedTest(struct order *order, peers, contents_move)
{
    scene s;
    open_scene(&s, order->bytes);
    fill(&s, SOURCE, order->bytes);
    for (int n = 0; n < 2; n++) {
        if ((n == 0) == (order->first == SOURCE))
            send_from(&s, TRANSFER, order->bytes);
        else
            take_at(&s, TRANSFER, order->bytes);
        for (int t = 0; n == 0 && order->waits && t < 100; t++) {
            turn(&s, t % 2);
            poll(NULL, 0, 1);
        }
    }
    await_ends(&s, 3);
    expect_ends(&s, CL_SUCCESS, CL_SUCCESS);
    cr_expect(are_equal(&s, order->bytes), "%s: the contents differ", order->what);
    cr_expect_eq(s.server[0]->peers.early_count + s.server[1]->peers.early_count, 0);
    close_scene(&s);
}

/* The driver says that the other end has failed. */
Test(peers, a_failed_end_fails_the_other)
{
    for (int failed = SOURCE; failed <= TARGET; failed++) {
        scene s;
        open_scene(&s, BIG);
        if (failed == SOURCE)
            take_at(&s, TRANSFER, BIG);
        else
            send_from(&s, TRANSFER, BIG);
        for (int t = 0; t < 50; t++)
            turn(&s, 1 - failed);
        command(&s, 1 - failed, (dcli_msg_command){DCLI_CL_FAIL_TRANSFER, NUMBERS(TRANSFER, -14)});
        await_ends(&s, 1 << (1 - failed));
        cr_expect_eq(s.ended[1 - failed].status, -14);
        close_scene(&s);
    }
}

/* The other end fails while the source still waits for what it is to send, in chunks or from the memory of the buffer. */
Test(peers, a_failure_before_the_begin_is_kept)
{
    static const int64_t bytes[] = {SMALL, BIG, HUGE};
    for (size_t b = 0; b < sizeof bytes / sizeof bytes[0]; b++) {
        scene s;
        open_scene(&s, bytes[b]);
        int64_t closed = 7777;
        command(&s, SOURCE, (dcli_msg_command){DCLI_CL_USER_EVENT, .event = closed});
        command(&s, SOURCE,
                (dcli_msg_command){DCLI_CL_READ, BUFFER, QUEUE, EVENT,
                                   NUMBERS(TRANSFER, 0, bytes[b], 1, 1, 0, 0, 0, TARGET + 1), .wait_count = 1,
                                   .wait = &closed});
        turn(&s, SOURCE);
        command(&s, SOURCE, (dcli_msg_command){DCLI_CL_FAIL_TRANSFER, NUMBERS(TRANSFER, -14)});
        turn(&s, SOURCE);
        cr_expect_eq(s.ended[SOURCE].event, 0, "a command does not end before it may begin");
        command(&s, SOURCE, (dcli_msg_command){DCLI_CL_SET_STATUS, .event = closed, NUMBERS(0)});
        await_ends(&s, 1 << SOURCE);
        cr_expect_eq(s.ended[SOURCE].status, -14, "%d bytes", (int)bytes[b]);
        close_scene(&s);
    }
}

/* Data of a transfer whose command at the target has failed are dropped, and so are data that came before another command. */
Test(peers, data_of_failed_transfers_are_dropped)
{
    scene s;
    open_scene(&s, SMALL);
    fill(&s, SOURCE, SMALL);
    send_from(&s, TRANSFER, SMALL);
    for (int t = 0; t < 1000 * SECONDS && s.server[TARGET]->peers.early_count == 0; t++) {
        turn(&s, t % 2);
        poll(NULL, 0, 1);
    }
    cr_expect_eq(s.server[TARGET]->peers.early_count, 1);
    take_at(&s, NEXT_TRANSFER, SMALL);
    cr_expect_eq(s.server[TARGET]->peers.early_count, 0);
    cr_expect_eq(s.server[TARGET]->peers.early_bytes, 0);
    command(&s, SOURCE, (dcli_msg_command){DCLI_CL_FAIL_TRANSFER, NUMBERS(TRANSFER, -14)});
    command(&s, TARGET, (dcli_msg_command){DCLI_CL_FAIL_TRANSFER, NUMBERS(NEXT_TRANSFER, -14)});
    await_ends(&s, 3);
    expect_ends(&s, -14, -14);
    close_scene(&s);
}

/* However small transfers are, no server sends another one more of them than that one keeps before the driver has told it. */
Test(peers, tiny_transfers_count_more_than_their_bytes)
{
    enum { TINY = 4, FIT = 2, BEFORE = DCLI_PEER_EAGER_SESSION - FIT * DCLI_PEER_LEAST };
    scene s;
    open_scene(&s, SMALL);
    s.server[SOURCE]->peers.eager_bytes = BEFORE; /* of other transfers */
    for (int64_t t = 0; t <= FIT; t++)
        command(&s, SOURCE,
                (dcli_msg_command){DCLI_CL_READ, BUFFER, QUEUE, EVENT + 1000 + t,
                                   NUMBERS(TRANSFER + t, 0, TINY, 1, 1, 0, 0, 0, TARGET + 1)});
    cr_expect_eq(s.server[SOURCE]->peers.eager_bytes, DCLI_PEER_EAGER_SESSION);
    int64_t until = dcli_monotonic_ms() + 1000 * SECONDS;
    while ((s.server[TARGET]->peers.early_count < FIT || s.server[SOURCE]->outstanding > 0) &&
           dcli_monotonic_ms() < until)
        for (int n = 0; n < 2; n++)
            turn(&s, n);
    cr_expect_eq(s.server[TARGET]->peers.early_count, FIT, "one waits until it is granted");
    cr_expect_eq(s.server[TARGET]->peers.early_bytes, FIT * DCLI_PEER_LEAST);
    for (int64_t t = 0; t <= FIT; t++)
        command(&s, SOURCE, (dcli_msg_command){DCLI_CL_FAIL_TRANSFER, NUMBERS(TRANSFER + t, -14)});
    turn(&s, SOURCE);
    cr_expect_eq(s.server[SOURCE]->peers.eager_bytes, BEFORE);
    s.server[SOURCE]->peers.eager_bytes = 0;
    close_scene(&s);
}

/* A small transfer is sent without a grant, unless too many are on their way. The target grants it when it has come, or if nothing has come
 * for a while. */
Test(peers, small_transfers_are_granted_late)
{
    for (int full = 0; full < 2; full++) {
        scene s;
        int64_t sent = 0, ignored;
        open_scene(&s, SMALL);
        fill(&s, SOURCE, SMALL);
        s.server[SOURCE]->peers.eager_bytes = full ? DCLI_PEER_EAGER_SESSION : 0;
        take_at(&s, TRANSFER, SMALL);
        turn(&s, TARGET);
        dcli_endpoint_counts(s.end[TARGET], &sent, &ignored);
        cr_expect_eq(sent, 0, "%d messages", (int)sent);
        cr_expect_gt(s.server[TARGET]->peers.small_due_ns, 0);
        send_from(&s, TRANSFER, SMALL);
        if (full) {
            for (int t = 0; t < 50; t++)
                turn(&s, t % 2);
            cr_expect_eq(s.server[TARGET]->task_count, 1, "it waits for a grant");
            dcli_object *transfer = dcli_object_find(s.server[TARGET], TRANSFER, DCLI_OBJECT_TRANSFER);
            s.server[TARGET]->peers.small_due_ns = 1; /* as if it were that of an earlier one */
            dcli_peer_grant_small(s.server[TARGET]);
            cr_expect(s.server[TARGET]->peers.small_due_ns == transfer->transfer.due_ns ||
                          transfer->transfer.granted > 0,
                      "it has a time of its own");
            transfer->transfer.due_ns = s.server[TARGET]->peers.small_due_ns = 1;
            dcli_peer_grant_small(s.server[TARGET]);
            cr_expect_eq(transfer->transfer.granted, SMALL);
        }
        await_ends(&s, 3);
        expect_ends(&s, CL_SUCCESS, CL_SUCCESS);
        cr_expect(are_equal(&s, SMALL));
        s.server[SOURCE]->peers.eager_bytes -= full ? DCLI_PEER_EAGER_SESSION : 0;
        close_scene(&s);
    }
}

typedef struct service {
    dcli_remote *remote;
    dcli_remote_terms terms;
    dcl_status status;
} service;

static void *serve(void *argument)
{
    service *served = argument;
    served->status = dcli_remote_serve(served->remote, &served->terms);
    return NULL;
}

/* A small transfer that needs a grant gets it although the target always has something else to do, here until its session ends. Its messages
 * wait for it from the beginning, so it is never idle, and handling them takes much longer than it waits for the contents. */
Test(peers, a_busy_server_grants_small_transfers)
{
    enum { MESSAGES = 30000 };
    scene s;
    pthread_t thread;
    open_scene(&s, SMALL);
    dcli_remote_peers_close(s.server[TARGET]); /* serving opens them */
    dcli_lender_close(s.server[TARGET]);
    s.server[SOURCE]->peers.eager_bytes = DCLI_PEER_EAGER_SESSION; /* of other transfers */
    send_from(&s, TRANSFER, SMALL);
    dcli_msg_command take = {DCLI_CL_WRITE,
                             BUFFER,
                             QUEUE,
                             EVENT,
                             NUMBERS(TRANSFER, 0, SMALL, 1, 1, 0, 0, 0, SOURCE + 1),
                             .text = ""},
                     nothing = {DCLI_CL_MARKER, 0, QUEUE, 0, NUMBERS(1), .text = ""};
    dcli_message first = {.kind = DCLI_MSG_COMMANDS, .epoch = 5, .commands = {1, &take}},
                 next = {.kind = DCLI_MSG_COMMANDS, .epoch = 5, .commands = {1, &nothing}},
                 last = {.kind = DCLI_MSG_STOP, .epoch = 5};
    for (int n = 0; n <= MESSAGES; n++)
        cr_assert_eq(dcli_endpoint_send(s.end[DRIVER], TARGET,
                                        n == 0         ? &first
                                        : n < MESSAGES ? &next
                                                       : &last,
                                        NULL),
                     DCL_OK, "%s", dcl_error());
    service served = {s.server[TARGET], s.server[TARGET]->terms, DCL_ERR_INTERNAL};
    cr_assert_eq(pthread_create(&thread, NULL, serve, &served), 0);
    pthread_join(thread, NULL);
    cr_expect_eq(served.status, DCL_OK);
    turn(&s, SOURCE);
    await_ends(&s, 1 << SOURCE);
    cr_expect_eq(s.ended[SOURCE].status, CL_SUCCESS);
    s.server[SOURCE]->peers.eager_bytes -= DCLI_PEER_EAGER_SESSION;
    close_scene(&s);
}

/* If a server cannot reach another one, it fails all transfers with it, also later ones, and tells the driver. */
Test(peers, a_lost_server_fails_its_transfers)
{
    scene s;
    open_scene(&s, BIG);
    send_from(&s, TRANSFER, BIG);
    turn(&s, SOURCE);
    dcli_peer_lose(s.server[SOURCE], TARGET, "for a test");
    await_ends(&s, 1 << SOURCE);
    cr_expect_eq(s.ended[SOURCE].status, CL_DEVICE_NOT_AVAILABLE);
    cr_expect(s.lost[SOURCE]);
    s.ended[SOURCE] = (dcli_msg_ended){0};
    command(&s, SOURCE, (dcli_msg_command){DCLI_CL_FORGET_EVENT, NUMBERS(EVENT)});
    send_from(&s, NEXT_TRANSFER, BIG);
    await_ends(&s, 1 << SOURCE);
    cr_expect_eq(s.ended[SOURCE].status, CL_DEVICE_NOT_AVAILABLE);
    close_scene(&s);
}

/* A server that breaks the protocol is not heard any more; the session goes on. */
Test(peers, a_server_that_breaks_the_protocol_is_lost)
{
    static char bytes[DCLI_REMOTE_CHUNK];
    const dcli_message messages[] = {
        {.kind = DCLI_MSG_STOP, .epoch = 5},
        {.kind = DCLI_MSG_EVENTS, .epoch = 6},
        {.kind = DCLI_MSG_TAKEN, .epoch = 5, .taken = {TRANSFER, SMALL}},
        {.kind = DCLI_MSG_DATA, .epoch = 5, .data = {TRANSFER, 1}},
        {.kind = DCLI_MSG_DATA, .epoch = 5, .data = {TRANSFER, 0}},
    };
    for (size_t m = 0; m < sizeof messages / sizeof messages[0]; m++) {
        scene s;
        open_scene(&s, BIG);
        int64_t closed = 7777;
        command(&s, TARGET, (dcli_msg_command){DCLI_CL_USER_EVENT, .event = closed});
        command(&s, TARGET,
                (dcli_msg_command){DCLI_CL_WRITE, BUFFER, QUEUE, EVENT,
                                   NUMBERS(TRANSFER, 0, BIG, 1, 1, 0, 0, 0, SOURCE + 1), .wait_count = 1,
                                   .wait = &closed});
        dcli_payload payload = {.bytes = bytes, .length = sizeof bytes}; /* more than is sent before it is granted */
        bool has_data = messages[m].kind == DCLI_MSG_DATA;
        cr_assert_eq(dcli_endpoint_send(s.end[SOURCE], TARGET, &messages[m], has_data ? &payload : NULL), DCL_OK, "%s",
                     dcl_error());
        turn(&s, TARGET);
        command(&s, TARGET, (dcli_msg_command){DCLI_CL_SET_STATUS, .event = closed, NUMBERS(0)});
        await_ends(&s, 1 << TARGET);
        cr_expect_eq(s.ended[TARGET].status, CL_DEVICE_NOT_AVAILABLE, "message %zu", m);
        cr_expect(s.lost[TARGET], "message %zu", m);
        close_scene(&s);
    }
}

/* ---- ends of events ---- */

static void fill_with_event(scene *s, int server, int64_t event, const int64_t *wait)
{
    int64_t pattern = 7;
    command(s, server,
            (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, event, NUMBERS(0, 64, 8), .word_count = 1, .word = &pattern,
                               .wait_count = wait != NULL, .wait = (int64_t *)(uintptr_t)wait});
}

struct telling {
    char what[40];
    int64_t owner; /* 1 more than the server that may end the event at the target */
    bool told_first, asked_late, is_heard;
};

ParameterizedTestParameters(peers, ends_are_told)
{
    static struct telling tellings[] = {
        {"the event is known before", SOURCE + 1, false, false, true},
        {"its end comes before the event", SOURCE + 1, true, false, true},
        {"it has ended when it is to be told", SOURCE + 1, false, true, true},
        {"the driver alone ends it", 0, false, false, false},
        {"the driver alone ends it, told before", 0, true, false, false},
    };
    return cr_make_param_array(struct telling, tellings, sizeof tellings / sizeof tellings[0]);
}

static void make_proxy(scene *s, int64_t owner)
{
    int64_t event = EVENT;
    command(s, TARGET,
            (dcli_msg_command){DCLI_CL_USER_EVENT, .event = EVENT, .number_count = owner != 0, .number = &owner});
    fill_with_event(s, TARGET, DEPENDENT, &event);
}

ParameterizedTest(struct telling *telling, peers, ends_are_told)
{
    scene s;
    open_scene(&s, SMALL);
    const dcli_msg_command tell = {DCLI_CL_TELL_EVENT, .event = EVENT, NUMBERS(TARGET)};
    if (!telling->told_first)
        make_proxy(&s, telling->owner);
    fill_with_event(&s, SOURCE, EVENT, NULL);
    if (telling->asked_late)
        await_ends(&s, 1 << SOURCE);
    command(&s, SOURCE, tell);
    await_ends(&s, 1 << SOURCE);
    turn(&s, TARGET);
    if (telling->told_first)
        make_proxy(&s, telling->owner);
    const dcli_object *event = dcli_object_find(s.server[TARGET], EVENT, DCLI_OBJECT_EVENT);
    cr_assert_not_null(event);
    cr_expect_eq(event->event.ended, telling->is_heard, "%s", telling->what);
    command(&s, TARGET,
            (dcli_msg_command){DCLI_CL_SET_STATUS, .event = EVENT, NUMBERS(0)}); /* the driver's word comes last */
    cr_expect(event->event.ended);
    for (int t = 0; t < 1000 * SECONDS && (s.server[TARGET]->outstanding > 0 || s.server[TARGET]->task_count > 0);
         t++) {
        turn(&s, TARGET);
        poll(NULL, 0, 1);
    }
    cr_expect_eq(s.server[TARGET]->task_count, 0);
    close_scene(&s);
}
