/* test/remote/order_test.c - a server learns of the ends of commands, whatever the order in which the device's driver calls back. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "remote/inside.h"
#include "support/fake_opencl/fake_opencl.h"

enum { BUFFER = 1, QUEUE, FREE_QUEUE, OTHER, THIRD, FOURTH, LAST = 99, FIRST, SECOND, FREE_FIRST, BYTES = 64 };

typedef struct scene {
    dcli_net *net;
    dcli_endpoint *endpoint;
    dcli_log log;
    dcli_remote *remote;
} scene;

#define NUMBERS(...) \
    .number_count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), .number = (int64_t[]) { __VA_ARGS__ }

static void command(scene *s, dcli_msg_command command)
{
    cr_assert_eq(dcli_remote_command(s->remote, &command), DCL_OK, "%s", dcl_error());
}

/* The device copies all contents, unless remote->tried is set to false. */
static void open_scene(scene *s)
{
    *s = (scene){0};
    cr_assert_eq(dcli_net_open(&s->net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open(s->net, 5, 0, 2, &s->endpoint), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_remote_open(0, &s->log, NULL, &s->remote), DCL_OK, "%s", dcl_error());
    s->remote->terms = (dcli_remote_terms){.endpoint = s->endpoint, .client = 1};
    s->remote->tried = true;
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, BUFFER, NUMBERS(1, BYTES)});
    command(s, (dcli_msg_command){DCLI_CL_QUEUE, QUEUE, NUMBERS(0)});
    command(s, (dcli_msg_command){DCLI_CL_QUEUE, FREE_QUEUE, NUMBERS(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)});
}

static void close_scene(scene *s)
{
    dcli_completions_take(s->remote);
    cr_expect_eq(s->remote->outstanding, 0);
    dcli_objects_close(s->remote);
    while (atomic_load(&s->remote->places) > 0) /* a thread of the driver gives memory of buffers back */
        poll(NULL, 0, 1);
    dcli_remote_close(s->remote);
    dcli_endpoint_close(s->endpoint);
    dcli_net_close(s->net);
}

/* Wait until the device has ended all commands, and handle the ends. */
static void await_ends(scene *s)
{
    while (s->remote->outstanding > 0)
        if (!dcli_completions_take(s->remote) && !dcli_completions_poll(s->remote))
            poll(NULL, 0, 1);
}

static void fill_buffer(scene *s, int64_t buffer, int64_t queue, int64_t event)
{
    int64_t pattern = 7;
    command(s, (dcli_msg_command){DCLI_CL_FILL, buffer, queue, event, NUMBERS(0, BYTES, 8), .word_count = 1,
                                  .word = &pattern});
    dcli_queues_flush(s->remote);
}

static void fill(scene *s, int64_t queue, int64_t event) { fill_buffer(s, BUFFER, queue, event); }

/* Wait until the driver has called back for all commands. @return the two completions, by submission. */
static void await_calls(scene *s, dcli_completion *completion_out[2])
{
    while (atomic_load(&s->remote->callbacks) > 0)
        poll(NULL, 0, 1);
    dcli_completion *list = atomic_exchange(&s->remote->completions, NULL);
    for (; list != NULL; list = list->next)
        completion_out[list->event->number - FIRST] = list;
}

/* The driver calls back for the second command, and then for the first. */
static void call_backwards(scene *s, dcli_completion *completion[2])
{
    completion[1]->next = NULL;
    atomic_store(&s->remote->completions, completion[1]);
    dcli_completions_take(s->remote);
}

static void call_first(scene *s, dcli_completion *completion[2])
{
    completion[0]->next = NULL;
    atomic_store(&s->remote->completions, completion[0]);
    dcli_completions_take(s->remote);
}

/* Open a scene with two commands whose callbacks have been called, but not taken. */
static void fill_twice(scene *s, int64_t queue, dcli_completion *completion_out[2])
{
    open_scene(s);
    fill(s, queue, FIRST);
    fill(s, queue, SECOND);
    await_calls(s, completion_out);
    cr_assert(completion_out[0] != NULL && completion_out[1] != NULL);
}

Test(order, a_queue_in_order_reports_in_order)
{
    scene s;
    dcli_completion *completion[2] = {NULL, NULL};
    fill_twice(&s, QUEUE, completion);
    call_backwards(&s, completion);
    cr_expect_eq(s.remote->ended_count, 0, "the first has not ended yet, as far as is known");
    cr_expect_eq(s.remote->outstanding, 2);
    call_first(&s, completion);
    cr_assert_eq(s.remote->ended_count, 2);
    cr_expect_eq(s.remote->ended[0].event, FIRST);
    cr_expect_eq(s.remote->ended[1].event, SECOND);
    close_scene(&s);
}

Test(order, a_queue_out_of_order_reports_at_once)
{
    scene s;
    dcli_completion *completion[2] = {NULL, NULL};
    fill_twice(&s, FREE_QUEUE, completion);
    call_backwards(&s, completion);
    cr_assert_eq(s.remote->ended_count, 1);
    cr_expect_eq(s.remote->ended[0].event, SECOND);
    call_first(&s, completion);
    cr_assert_eq(s.remote->ended_count, 2);
    cr_expect_eq(s.remote->ended[1].event, FIRST);
    close_scene(&s);
}

/* A command fails with the event that it waits for, or because the device refuses it, while one before it in its queue still runs.
 * Commands elsewhere that wait for it count on the end of both. */
Test(order, a_command_that_fails_ends_after_those_before_it)
{
    scene s;
    open_scene(&s);
    for (int how = 0; how < 2; how++) {
        const int64_t pattern = 7, waits = how == 0, failing = 500;
        if (how == 0) {
            command(&s, (dcli_msg_command){DCLI_CL_USER_EVENT, .event = failing});
            command(&s, (dcli_msg_command){DCLI_CL_SET_STATUS, .event = failing, NUMBERS(-42)});
        }
        fill(&s, QUEUE, FIRST + 2 * how);
        command(&s,
                (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, SECOND + 2 * how, NUMBERS(0, BYTES, how == 0 ? 8 : 3),
                                   .word_count = 1, .word = (int64_t *)(uintptr_t)&pattern, .wait_count = (int)waits,
                                   .wait = (int64_t *)(uintptr_t)&failing});
        fill(&s, QUEUE, 0); /* waits for its turn */
        while (atomic_load(&s.remote->callbacks) > 0)
            poll(NULL, 0, 1);
        dcli_tasks_look(s.remote);
        cr_expect_eq(s.remote->ended_count, 2 * how, "the command before it has not ended, as far as is known");
        dcli_completions_take(s.remote);
        dcli_tasks_look(s.remote);
        cr_assert_eq(s.remote->ended_count, 2 * how + 2);
        cr_expect_eq(s.remote->ended[2 * how].event, FIRST + 2 * how);
        cr_expect_eq(s.remote->ended[2 * how].status, CL_SUCCESS);
        cr_expect_eq(s.remote->ended[2 * how + 1].event, SECOND + 2 * how);
        cr_expect_lt(s.remote->ended[2 * how + 1].status, 0);
        cr_expect_eq(s.remote->task_count, 0);
        await_ends(&s);
    }
    close_scene(&s);
}

/* A command waits for one that the device fails when it runs, and that had not failed when it was submitted, or of whose failure the
 * server has not heard yet. */
Test(order, a_failure_on_the_device_fails_what_waits_for_it)
{
    scene s;
    fake_opencl fake;
    const int64_t pattern = 7, first = FIRST;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    open_scene(&s);
    fake.plan("event clEnqueueFillBuffer 1 -5");
    fill(&s, FREE_QUEUE, FIRST);
    command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, FREE_QUEUE, SECOND, NUMBERS(0, BYTES, 8), .word_count = 1,
                                   .word = (int64_t *)(uintptr_t)&pattern, .wait_count = 1,
                                   .wait = (int64_t *)(uintptr_t)&first});
    dcli_queues_flush(s.remote);
    await_ends(&s);
    dcli_tasks_look(s.remote);
    cr_assert_eq(s.remote->ended_count, 2);
    for (int e = 0; e < 2; e++)
        cr_expect_lt(s.remote->ended[e].status, 0, "event %d", (int)s.remote->ended[e].event);
    close_scene(&s);
}

static void mark(scene *s, int64_t queue, int64_t event)
{
    command(s, (dcli_msg_command){DCLI_CL_MARKER, .queue = queue, .event = event, NUMBERS(0)});
}

/* In a queue in order, a marker ends when the command before it has ended, and the device is given none. */
Test(order, a_marker_ends_with_the_command_before_it)
{
    scene s;
    fake_opencl fake;
    dcli_completion *completion[2] = {NULL, NULL};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    open_scene(&s);
    mark(&s, QUEUE, FIRST - 1);
    cr_assert_eq(s.remote->ended_count, 1, "nothing was before it");
    fill(&s, QUEUE, FIRST);
    mark(&s, QUEUE, SECOND);
    await_calls(&s, completion);
    cr_assert(completion[0] != NULL && completion[1] != NULL);
    call_backwards(&s, completion);
    cr_expect_eq(s.remote->ended_count, 1, "the command before it has not ended, as far as is known");
    call_first(&s, completion);
    cr_assert_eq(s.remote->ended_count, 3);
    cr_expect_eq(s.remote->ended[0].event, FIRST - 1);
    cr_expect_eq(s.remote->ended[1].event, FIRST);
    cr_expect_eq(s.remote->ended[2].event, SECOND);
    cr_expect_eq(fake.calls("clEnqueueMarkerWithWaitList"), 0);
    mark(&s, FREE_QUEUE, FREE_FIRST);
    dcli_queues_flush(s.remote);
    while (atomic_load(&s.remote->callbacks) > 0)
        poll(NULL, 0, 1);
    cr_expect_eq(fake.calls("clEnqueueMarkerWithWaitList"), 1, "out of order, the device has to know");
    close_scene(&s);
}

/* Commands without an event count as outstanding, because time limits apply to them, too. */
Test(order, commands_without_an_event_are_outstanding)
{
    scene s;
    open_scene(&s);
    fill(&s, QUEUE, 0);
    fill(&s, FREE_QUEUE, 0);
    cr_expect_eq(s.remote->outstanding, 2);
    await_ends(&s);
    cr_expect_eq(s.remote->ended_count, 0);
    close_scene(&s);
}

/* Fill, take the end, and say whether reports are due. */
static void fill_and_take(scene *s, int64_t event, bool unobserved, int64_t due_ns)
{
    int64_t pattern = 7;
    command(s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, event, unobserved, NUMBERS(0, BYTES, 8), .word_count = 1,
                                  .word = &pattern});
    cr_expect_eq(s->remote->unobserved_count, unobserved);
    dcli_queues_flush(s->remote);
    while (atomic_load(&s->remote->callbacks) > 0)
        poll(NULL, 0, 1);
    cr_expect_eq(atomic_load(&s->remote->observed_ends), !unobserved);
    await_ends(s);
    cr_expect_eq(atomic_load(&s->remote->observed_ends), 0);
    cr_expect_eq(s->remote->unobserved_count, 0);
    s->remote->reports_due_ns = due_ns;
    cr_assert_eq(dcli_events_send(s->remote), DCL_OK, "%s", dcl_error());
}

static void expect_report(dcli_endpoint *driver, int64_t first, bool through)
{
    dcli_received received = {0};
    cr_assert_eq(dcli_endpoint_receive(driver, 10000, &received), DCL_OK, "%s", dcl_error());
    const dcli_msg_events *events = &received.message.events;
    cr_assert_eq(received.message.kind, DCLI_MSG_EVENTS);
    cr_assert_eq(events->count, 1);
    cr_expect_eq(events->ended[0].event, first);
    cr_expect_eq(events->ended[0].through, through);
    dcli_received_free(&received);
}

/* The end of a command of whose event the program has no handle is reported with that of an observed one, or when it is due. */
Test(order, ends_that_nobody_observes_are_reported_late)
{
    scene s;
    dcli_endpoint *driver;
    open_scene(&s);
    cr_assert_eq(dcli_endpoint_open(s.net, 5, 1, 2, &driver), DCL_OK, "%s", dcl_error());
    fill_and_take(&s, FIRST, true, INT64_MAX);
    cr_expect_eq(s.remote->passed_count, 1, "it is not reported alone");
    fill_and_take(&s, SECOND, false, INT64_MAX);
    expect_report(driver, SECOND, true);
    fill_and_take(&s, FREE_FIRST, true, 1);
    expect_report(driver, FREE_FIRST, true);
    cr_expect_eq(s.remote->ended_count + s.remote->passed_count, 0);
    dcli_endpoint_close(driver);
    close_scene(&s);
}

/* A failure is reported at once. */
Test(order, failures_that_nobody_observes_are_reported_at_once)
{
    scene s;
    dcli_endpoint *driver;
    open_scene(&s);
    cr_assert_eq(dcli_endpoint_open(s.net, 5, 1, 2, &driver), DCL_OK, "%s", dcl_error());
    command(&s, (dcli_msg_command){DCLI_CL_COPY_RECT, BUFFER, QUEUE, FIRST, true,
                                   NUMBERS(BUFFER, 0, 0, 0, 0, 0, 0, 8, 8, 8, 1 << 30, 1 << 30, 1 << 30, 1 << 30)});
    s.remote->reports_due_ns = INT64_MAX;
    cr_assert_eq(dcli_events_send(s.remote), DCL_OK, "%s", dcl_error());
    expect_report(driver, FIRST, false);
    dcli_endpoint_close(driver);
    close_scene(&s);
}

static void fill_unobserved(scene *s, int64_t queue, int64_t event)
{
    int64_t pattern = 7;
    command(s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, queue, event, true, NUMBERS(0, BYTES, 8), .word_count = 1,
                                  .word = &pattern});
    dcli_queues_flush(s->remote);
}

/* In a queue in order, one report covers all unobserved commands before it, and the driver is not asked to call back for them. */
Test(order, one_report_covers_those_before_it)
{
    scene s;
    dcli_endpoint *driver;
    fake_opencl fake;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    open_scene(&s);
    cr_assert_eq(dcli_endpoint_open(s.net, 5, 1, 2, &driver), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < 3; n++)
        fill_unobserved(&s, QUEUE, FIRST + n);
    cr_expect_eq(fake.calls("clSetEventCallback"), 0);
    fill(&s, QUEUE, FIRST + 3);
    cr_expect_eq(fake.calls("clSetEventCallback"), 1);
    await_ends(&s);
    cr_expect_eq(s.remote->passed_count, 3);
    cr_assert_eq(dcli_events_send(s.remote), DCL_OK, "%s", dcl_error());
    expect_report(driver, FIRST + 3, true);
    cr_expect_eq(s.remote->passed_count, 0);
    dcli_endpoint_close(driver);
    close_scene(&s);
}

Test(order, out_of_order_each_end_is_reported)
{
    scene s;
    open_scene(&s);
    fill_unobserved(&s, FREE_QUEUE, FIRST);
    fill_unobserved(&s, FREE_QUEUE, SECOND);
    await_ends(&s);
    cr_expect_eq(s.remote->passed_count, 0);
    cr_assert_eq(s.remote->ended_count, 2);
    for (int e = 0; e < 2; e++)
        cr_expect_not(s.remote->ended[e].through);
    close_scene(&s);
}

/* The queue is released before the end of its last command is reported. */
Test(order, ends_of_a_released_queue_are_reported)
{
    scene s;
    open_scene(&s);
    fill_unobserved(&s, QUEUE, FIRST);
    command(&s, (dcli_msg_command){DCLI_CL_RELEASE, QUEUE, NUMBERS(0)});
    cr_expect_eq(s.remote->ended_count, 0);
    await_ends(&s);
    cr_assert_eq(s.remote->ended_count, 1);
    cr_expect_eq(s.remote->ended[0].event, FIRST);
    cr_expect(s.remote->ended[0].through);
    close_scene(&s);
}

/* A failure does not say how those before it have ended. */
Test(order, a_failure_covers_none_before_it)
{
    scene s;
    open_scene(&s);
    fill_unobserved(&s, QUEUE, FIRST);
    command(&s, (dcli_msg_command){DCLI_CL_COPY_RECT, BUFFER, QUEUE, SECOND, true,
                                   NUMBERS(BUFFER, 0, 0, 0, 0, 0, 0, 8, 8, 8, 1 << 30, 1 << 30, 1 << 30, 1 << 30)});
    await_ends(&s);
    dcli_tasks_look(s.remote);
    cr_assert_eq(s.remote->ended_count, 1);
    cr_expect_eq(s.remote->ended[0].event, SECOND);
    cr_expect_not(s.remote->ended[0].through);
    cr_expect_eq(s.remote->passed_count, 1);
    close_scene(&s);
}

enum { CHUNKS = 3, STORED_BYTES = (CHUNKS - 1) * DCLI_REMOTE_CHUNK + 100 };

/* Open a scene with a buffer of three chunks, and the driver's end. */
static void open_chunks(scene *s, dcli_endpoint **driver_out)
{
    open_scene(s);
    cr_assert_eq(dcli_endpoint_open(s->net, 5, 1, 2, driver_out), DCL_OK, "%s", dcl_error());
    s->remote->terms.buffers = dcli_buffers_open();
    s->remote->terms.chunk_bytes = DCLI_REMOTE_CHUNK;
    s->remote->in_place = false;
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, OTHER, NUMBERS(1, STORED_BYTES)});
}

static void close_chunks(scene *s, dcli_endpoint *driver)
{
    dcli_buffers *buffers = s->remote->terms.buffers;
    dcli_endpoint_close(driver);
    close_scene(s);
    dcli_buffers_close(buffers);
}

static void await_callbacks(const scene *s)
{
    while (atomic_load(&s->remote->callbacks) > 0)
        poll(NULL, 0, 1);
}

/* Receive all messages. @return how many have data. */
static int count_data(dcli_endpoint *driver)
{
    dcli_received received = {0};
    int count = 0;
    while (dcli_endpoint_receive(driver, 0, &received) == DCL_OK) {
        count += received.message.kind == DCLI_MSG_DATA;
        dcli_received_free(&received);
    }
    return count;
}

/* A write that is stored is given to the device when all of it has arrived; otherwise each chunk is. */
Test(order, a_stored_write_waits_for_its_last_chunk)
{
    static char bytes[DCLI_REMOTE_CHUNK];
    for (int way = DCLI_IN_CHUNKS; way <= DCLI_STORED; way += DCLI_STORED) {
        scene s;
        dcli_endpoint *driver;
        open_chunks(&s, &driver);
        command(&s,
                (dcli_msg_command){DCLI_CL_WRITE, OTHER, QUEUE, FIRST, NUMBERS(60, 0, STORED_BYTES, 1, 1, 0, 0, way)});
        for (int c = 0; c < CHUNKS; c++) {
            size_t length = c < CHUNKS - 1 ? sizeof bytes : STORED_BYTES % DCLI_REMOTE_CHUNK;
            dcli_received received = {.from = 1, .payload = bytes, .payload_bytes = length};
            received.message.kind = DCLI_MSG_DATA;
            received.message.data = (dcli_msg_data){.transfer = 60, .offset = (int64_t)c * DCLI_REMOTE_CHUNK};
            cr_assert_eq(dcli_transfer_data(s.remote, 1, &received), DCL_OK, "%s", dcl_error());
            dcli_tasks_look(s.remote);
            int given = way == DCLI_STORED && c < CHUNKS - 1 ? 0 : c + 1;
            cr_expect_eq(s.remote->outstanding, given, "way %d: %d chunks of %d are with the device", way,
                         (int)s.remote->outstanding, c + 1);
        }
        dcli_queues_flush(s.remote);
        await_callbacks(&s);
        dcli_completions_take(s.remote);
        cr_expect_eq(s.remote->ended_count, 1);
        close_chunks(&s, driver);
    }
}

/* The driver may ask for fine chunks: eight at least, of 256 KB at least. */
Test(order, fine_chunks_are_an_eighth)
{
    static const struct {
        int64_t bytes, first;
    } cases[] = {{100, 100},
                 {256 << 10, 256 << 10},
                 {1 << 20, 256 << 10},
                 {4 << 20, 512 << 10},
                 {(4 << 20) + 8, (512 << 10) + 4096},
                 {8 << 20, 1 << 20},
                 {64 << 20, 1 << 20}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        dcli_span span = {.row_bytes = cases[c].bytes, .rows = 1, .slices = 1};
        int64_t first = dcli_span_chunk(&span, 0, dcli_span_fine(&span, DCLI_REMOTE_CHUNK));
        cr_expect_eq(first, cases[c].first, "%" PRId64 " bytes begin with %" PRId64, cases[c].bytes, first);
    }
}

/* A server takes the chunks of a write as long as the driver has said that they are, and no others. */
Test(order, a_write_says_how_long_its_chunks_are)
{
    static char bytes[DCLI_REMOTE_CHUNK];
    for (int fine = 0; fine < 2; fine++) {
        scene s;
        dcli_endpoint *driver;
        open_chunks(&s, &driver);
        command(&s, (dcli_msg_command){
                        DCLI_CL_WRITE, OTHER, QUEUE, FIRST,
                        NUMBERS(60, 0, DCLI_REMOTE_CHUNK, 1, 1, 0, 0, fine ? DCLI_IN_FINE_CHUNKS : DCLI_IN_CHUNKS)});
        for (int64_t at = 0, length; at < DCLI_REMOTE_CHUNK; at += length) {
            length = fine ? DCLI_LEAST_CHUNK : DCLI_REMOTE_CHUNK;
            dcli_received wrong = {.from = 1, .payload = bytes, .payload_bytes = (size_t)length / 2};
            wrong.message.kind = DCLI_MSG_DATA;
            wrong.message.data = (dcli_msg_data){.transfer = 60, .offset = at};
            cr_expect_eq(dcli_transfer_data(s.remote, 1, &wrong), DCL_ERR_PROTOCOL);
            dcli_received right = wrong;
            right.payload_bytes = (size_t)length;
            cr_assert_eq(dcli_transfer_data(s.remote, 1, &right), DCL_OK, "%s", dcl_error());
            dcli_tasks_look(s.remote);
        }
        cr_expect_eq(s.remote->outstanding, fine ? DCLI_REMOTE_CHUNK / DCLI_LEAST_CHUNK : 1);
        dcli_queues_flush(s.remote);
        await_ends(&s);
        cr_expect_eq(s.remote->ended_count, 1);
        close_chunks(&s, driver);
    }
}

/* All stored transfers have a common limit: a write that would exceed it goes in chunks. What has ended does not count. */
Test(order, stored_transfers_have_a_common_limit)
{
    static char bytes[DCLI_REMOTE_CHUNK];
    for (int beyond = 0; beyond < 2; beyond++) {
        scene s;
        dcli_endpoint *driver;
        open_chunks(&s, &driver);
        int64_t others = DCLI_MOST_STORED - STORED_BYTES + beyond;
        s.remote->stored_bytes = others;
        command(&s, (dcli_msg_command){DCLI_CL_WRITE, OTHER, QUEUE, FIRST,
                                       NUMBERS(60, 0, STORED_BYTES, 1, 1, 0, 0, DCLI_STORED)});
        cr_expect_eq(s.remote->stored_bytes, others + (beyond ? 0 : STORED_BYTES));
        for (int c = 0; c < CHUNKS; c++) {
            size_t length = c < CHUNKS - 1 ? sizeof bytes : STORED_BYTES % DCLI_REMOTE_CHUNK;
            dcli_received received = {.from = 1, .payload = bytes, .payload_bytes = length};
            received.message.kind = DCLI_MSG_DATA;
            received.message.data = (dcli_msg_data){.transfer = 60, .offset = (int64_t)c * DCLI_REMOTE_CHUNK};
            cr_assert_eq(dcli_transfer_data(s.remote, 1, &received), DCL_OK, "%s", dcl_error());
            dcli_tasks_look(s.remote);
            cr_expect_eq(s.remote->outstanding, beyond || c == CHUNKS - 1 ? c + 1 : 0, "%d beyond, chunk %d", beyond,
                         c);
        }
        dcli_queues_flush(s.remote);
        await_callbacks(&s);
        dcli_completions_take(s.remote);
        cr_expect_eq(s.remote->ended_count, 1);
        cr_expect_eq(s.remote->stored_bytes, others, "%d beyond: %" PRId64 " remain", beyond, s.remote->stored_bytes);
        close_chunks(&s, driver);
    }
}

/* Give the server the end of one event, or with all_others all ends but that. */
static void take_ends(scene *s, dcli_completion **list, int64_t event, bool all_others)
{
    for (dcli_completion **at = list; *at != NULL;) {
        dcli_completion *completion = *at;
        bool is_that = completion->event != NULL && completion->event->number == event;
        if (is_that == all_others) {
            at = &completion->next;
            continue;
        }
        *at = completion->next;
        completion->next = atomic_load(&s->remote->completions);
        atomic_store(&s->remote->completions, completion);
    }
    dcli_completions_take(s->remote);
}

/* The device fails the first of three commands that wait for each other, and runs the others. It says that the last one has ended before it
 * says so of those before. The second one is in the same queue, or in one in order and unobserved, or it is a read. */
Test(order, a_failure_fails_all_of_a_chain)
{
    for (int how = 0; how < 3; how++) {
        scene s;
        dcli_endpoint *driver;
        fake_opencl fake;
        int64_t pattern = 7, first = FIRST, second = SECOND;
        fake_opencl_select();
        cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
        open_chunks(&s, &driver);
        fake.plan("event clEnqueueFillBuffer 1 -5");
        fill(&s, FREE_QUEUE, FIRST);
        if (how < 2)
            command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, how == 0 ? FREE_QUEUE : QUEUE, SECOND, how == 1,
                                           NUMBERS(0, BYTES, 8), .word_count = 1, .word = &pattern, .wait_count = 1,
                                           .wait = &first});
        else
            command(&s, (dcli_msg_command){DCLI_CL_READ, BUFFER, FREE_QUEUE, SECOND,
                                           NUMBERS(60, 0, BYTES, 1, 1, 0, 0, DCLI_IN_CHUNKS), .wait_count = 1,
                                           .wait = &first});
        command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, FREE_QUEUE, LAST, NUMBERS(0, BYTES, 8), .word_count = 1,
                                       .word = &pattern, .wait_count = 1, .wait = &second});
        dcli_queues_flush(s.remote);
        await_callbacks(&s);
        dcli_completion *list = atomic_exchange(&s.remote->completions, NULL);
        take_ends(&s, &list, LAST, false);
        cr_expect_eq(s.remote->ended_count, 0, "how %d: %d are reported before the first is known to have failed", how,
                     (int)s.remote->ended_count);
        take_ends(&s, &list, LAST, true);
        cr_assert_eq(s.remote->ended_count, 3, "how %d: %d", how, (int)s.remote->ended_count);
        for (int e = 0; e < 3; e++) {
            cr_expect_eq(s.remote->ended[e].event, e == 2 ? LAST : FIRST + e, "how %d", how);
            cr_expect_lt(s.remote->ended[e].status, 0, "how %d: event %d", how, (int)s.remote->ended[e].event);
        }
        close_chunks(&s, driver);
    }
}

/* A read that is stored is sent when the device has copied all of it; otherwise each chunk is. */
Test(order, a_stored_read_is_sent_when_all_is_copied)
{
    for (int way = DCLI_IN_CHUNKS; way <= DCLI_STORED; way += DCLI_STORED) {
        scene s;
        dcli_endpoint *driver;
        open_chunks(&s, &driver);
        command(&s,
                (dcli_msg_command){DCLI_CL_READ, OTHER, QUEUE, FIRST, NUMBERS(60, 0, STORED_BYTES, 1, 1, 0, 0, way)});
        dcli_queues_flush(s.remote);
        await_callbacks(&s);
        dcli_completion *list = atomic_exchange(&s.remote->completions, NULL);
        const dcli_object *queue = dcli_object_find(s.remote, QUEUE, DCLI_OBJECT_QUEUE);
        for (int c = 1; c <= CHUNKS; c++) { /* the device's driver calls back for one chunk after the other */
            dcli_completion **at = &list;
            while (*at != queue->queue.oldest)
                at = &(*at)->next;
            dcli_completion *next = *at;
            *at = next->next;
            next->next = NULL;
            atomic_store(&s.remote->completions, next);
            dcli_completions_take(s.remote);
            int sent = way == DCLI_IN_CHUNKS ? 1 : c < CHUNKS ? 0 : CHUNKS, heard = count_data(driver);
            cr_expect_eq(heard, sent, "way %d: %d are sent after chunk %d", way, heard, c);
        }
        cr_expect_eq(s.remote->ended_count, 1);
        close_chunks(&s, driver);
    }
}

/* Drivers of GPUs call back late, so they are asked, and not for callbacks. */
Test(order, gpus_are_asked)
{
    scene s;
    fake_opencl fake;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    fake.plan("gpu; late clEnqueueFillBuffer 1 1000");
    open_scene(&s);
    command(&s, (dcli_msg_command){DCLI_CL_BUFFER, OTHER, NUMBERS(1, BYTES)});
    command(&s, (dcli_msg_command){DCLI_CL_BUFFER, THIRD, NUMBERS(1, BYTES)});
    fill(&s, QUEUE, FIRST);
    fill(&s, QUEUE, SECOND);
    fill_buffer(&s, OTHER, FREE_QUEUE, FREE_FIRST);
    fill_buffer(&s, THIRD, FREE_QUEUE, 0);
    cr_expect_eq(s.remote->outstanding, 4);
    while (s.remote->outstanding > 2)
        (void)dcli_completions_poll(s.remote);
    cr_assert_eq(s.remote->ended_count, 1, "the first of the queue in order is late");
    cr_expect_eq(s.remote->ended[0].event, FREE_FIRST);
    while (s.remote->outstanding > 0)
        (void)dcli_completions_poll(s.remote);
    cr_assert_eq(s.remote->ended_count, 3);
    cr_expect_eq(s.remote->ended[1].event, FIRST);
    cr_expect_eq(s.remote->ended[2].event, SECOND);
    cr_expect_not(dcli_completions_poll(s.remote));
    cr_expect_eq(fake.calls("clSetEventCallback"), 0);
    close_scene(&s);
}

/* The driver does not say when a copy ends: the read fails, and its memory is freed only when the device has ended it. */
Test(order, without_callbacks_commands_fail)
{
    scene s;
    fake_opencl fake;
    char left[200];
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    open_scene(&s);
    s.remote->terms.buffers = dcli_buffers_open();
    s.remote->terms.chunk_bytes = DCLI_REMOTE_CHUNK;
    fake.plan("fail clSetEventCallback 1+ -6; late clEnqueueReadBuffer 1+ 30");
    command(&s, (dcli_msg_command){DCLI_CL_READ, BUFFER, QUEUE, FIRST, NUMBERS(60, 0, BYTES, 1, 1, 0, 0, 0)});
    fill(&s, QUEUE, SECOND);
    cr_assert_eq(s.remote->ended_count, 2);
    for (int e = 0; e < 2; e++) {
        cr_expect_eq(s.remote->ended[e].event, FIRST + e);
        cr_expect_eq(s.remote->ended[e].status, CL_OUT_OF_RESOURCES);
    }
    cr_expect(strstr(dcl_error(), "clSetEventCallback fails with OpenCL error -6") != NULL, "%s", dcl_error());
    cr_expect_eq(fake.calls("clWaitForEvents"), 1, "the copy is waited for");
    dcli_buffers *buffers = s.remote->terms.buffers;
    clFinish(dcli_object_find(s.remote, QUEUE, DCLI_OBJECT_QUEUE)->queue.queue);
    close_scene(&s);
    dcli_buffers_close(buffers);
    fake.plan(NULL);
    cr_expect_str_eq(fake.left(left, sizeof left), "", "not released: %s", left);
}

/* Begin a read of all of a buffer that the driver can map. @return the pool of its memory. */
static dcli_buffers *read_in_place(scene *s, const char *plan, fake_opencl *fake)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(fake), "%s", TEST_FAKE_OPENCL);
    open_scene(s);
    s->remote->terms.buffers = dcli_buffers_open_shared();
    s->remote->terms.shares = true;
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, OTHER, NUMBERS(1, DCLI_PLACED_BYTES)});
    cr_assert_not_null(dcli_object_find(s->remote, OTHER, DCLI_OBJECT_BUFFER)->buffer.place);
    fake->plan(plan);
    command(s, (dcli_msg_command){DCLI_CL_READ, OTHER, QUEUE, FIRST, NUMBERS(60, 0, DCLI_PLACED_BYTES, 1, 1, 0, 0, 1)});
    return s->remote->terms.buffers;
}

/* The read has failed: the buffer is unmapped, and its memory is given back. */
static void expect_unmapped(scene *s, fake_opencl *fake, dcli_buffers *buffers, cl_int status)
{
    char left[200];
    cr_assert_eq(s->remote->ended_count, 1);
    cr_expect(s->remote->ended[0].event == FIRST && s->remote->ended[0].status == status, "status %d",
              s->remote->ended[0].status);
    cr_expect_eq(fake->calls("clEnqueueMapBuffer"), 1);
    cr_expect_eq(fake->calls("clEnqueueUnmapMemObject"), 1);
    clFinish(dcli_object_find(s->remote, QUEUE, DCLI_OBJECT_QUEUE)->queue.queue);
    close_scene(s);
    cr_expect_eq(dcli_buffers_bytes(buffers), 0);
    dcli_buffers_close(buffers);
    fake->plan(NULL);
    cr_expect_str_eq(fake->left(left, sizeof left), "", "not released: %s", left);
}

Test(order, a_map_of_whose_end_nobody_hears_is_undone)
{
    scene s;
    fake_opencl fake;
    dcli_buffers *buffers = read_in_place(&s, "fail clSetEventCallback 1+ -6", &fake);
    expect_unmapped(&s, &fake, buffers, CL_OUT_OF_RESOURCES);
}

Test(order, a_buffer_is_unmapped_without_memory)
{
    scene s;
    fake_opencl fake;
    dcli_endpoint *driver;
    dcli_received received = {0};
    dcli_buffers *buffers = read_in_place(&s, "", &fake);
    cr_assert_eq(dcli_endpoint_open(s.net, 5, 1, 2, &driver), DCL_OK, "%s", dcl_error());
    while (atomic_load(&s.remote->callbacks) > 0)
        poll(NULL, 0, 1);
    dcli_completions_take(s.remote);
    cr_assert_eq(dcli_endpoint_receive(driver, 10000, &received), DCL_OK, "%s", dcl_error());
    cr_expect_eq(received.message.kind, DCLI_MSG_DATA);
    dcli_received_free(&received);
    cr_assert_eq(dcli_transfer_taken(s.remote, s.remote->terms.client, &(dcli_msg_taken){60, DCLI_PLACED_BYTES}),
                 DCL_OK, "%s", dcl_error());
    dcli_alloc_fail_after(1);
    dcli_tasks_look(s.remote);
    dcli_alloc_fail_after(0);
    dcli_endpoint_close(driver);
    expect_unmapped(&s, &fake, buffers, CL_OUT_OF_HOST_MEMORY);
}

/* ---- buffers that are released while the device uses them ---- */

static void release_buffer(scene *s, int64_t buffer)
{
    command(s, (dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = buffer});
}

/* Open a scene with a fake driver. */
static void open_with(scene *s, fake_opencl *fake)
{
    fake_opencl_select();
    cr_assert(fake_opencl_find(fake), "%s", TEST_FAKE_OPENCL);
    open_scene(s);
}

/* Open a scene on a device that is asked for the ends of commands, as GPUs are, with the buffers OTHER and THIRD. The driver has called
 * back for a command on OTHER and for a later one on THIRD, and neither was taken. */
static void fill_two_buffers(scene *s, fake_opencl *fake, dcli_completion *completion_out[2])
{
    open_with(s, fake);
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, OTHER, NUMBERS(1, BYTES)});
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, THIRD, NUMBERS(1, BYTES)});
    fill_buffer(s, OTHER, QUEUE, FIRST);
    fill_buffer(s, THIRD, FREE_QUEUE, SECOND);
    await_calls(s, completion_out);
    cr_assert(completion_out[0] != NULL && completion_out[1] != NULL);
    s->remote->polls = true;
    fake->plan(NULL); /* counts from 0 */
}

static void take(scene *s, dcli_completion *completion)
{
    completion->next = NULL;
    atomic_store(&s->remote->completions, completion);
    dcli_completions_take(s->remote);
}

static void take_both(scene *s, dcli_completion *completion[2])
{
    take(s, completion[0]);
    take(s, completion[1]);
}

/* fill_two_buffers(), and release OTHER on a device with so much memory that this is put off. */
static void release_one_later(scene *s, fake_opencl *fake, dcli_completion *completion_out[2], int64_t memory_bytes)
{
    fill_two_buffers(s, fake, completion_out);
    s->remote->info.memory_bytes = memory_bytes;
    release_buffer(s, OTHER);
    cr_assert_eq(s->remote->late_bytes, BYTES);
}

static void make_fourth(scene *s)
{
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, FOURTH, NUMBERS(1, BYTES)});
    cr_expect_eq(dcli_object_find(s->remote, FOURTH, DCLI_OBJECT_BUFFER)->status, CL_SUCCESS);
}

/* The release of a buffer may wait for the device, so it waits itself, until all commands before it have ended. */
Test(order, a_buffer_in_use_is_released_later)
{
    scene s;
    fake_opencl fake = {0};
    dcli_completion *completion[2] = {NULL, NULL};
    fill_two_buffers(&s, &fake, completion);
    release_buffer(&s, OTHER);
    release_buffer(&s, THIRD);
    dcli_buffers_release_late(s.remote, false);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 0);
    cr_expect_eq(s.remote->used_bytes, 3 * BYTES);
    take(&s, completion[1]);
    dcli_buffers_release_late(s.remote, false);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 0, "an earlier command has not ended, as far as is known");
    take(&s, completion[0]);
    dcli_buffers_release_late(s.remote, false);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 2);
    cr_expect_eq(s.remote->used_bytes, BYTES);
    cr_expect_eq(s.remote->late_bytes, 0);
    release_buffer(&s, BUFFER);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 3, "the device does nothing");
    close_scene(&s);
}

/* A command that is submitted after the release does not keep a buffer. */
Test(order, a_released_buffer_waits_for_earlier_commands_only)
{
    scene s;
    fake_opencl fake = {0};
    open_with(&s, &fake);
    command(&s, (dcli_msg_command){DCLI_CL_BUFFER, OTHER, NUMBERS(1, BYTES)});
    fill_buffer(&s, OTHER, QUEUE, FIRST);
    while (atomic_load(&s.remote->callbacks) > 0)
        poll(NULL, 0, 1);
    s.remote->polls = true; /* the driver does not call back for later commands */
    fake.plan(NULL);
    release_buffer(&s, OTHER);
    fill(&s, FREE_QUEUE, SECOND);
    dcli_buffers_release_late(s.remote, false);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 0);
    dcli_completions_take(s.remote);
    cr_expect_eq(s.remote->outstanding, 1);
    dcli_buffers_release_late(s.remote, false);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 1);
    await_ends(&s);
    close_scene(&s);
}

/* A sub-buffer is released later, too, and its buffer after it. */
Test(order, a_buffer_waits_for_its_sub_buffer)
{
    scene s;
    fake_opencl fake = {0};
    open_with(&s, &fake);
    command(&s, (dcli_msg_command){DCLI_CL_SUB_BUFFER, OTHER, NUMBERS(BUFFER, 1, 0, BYTES)});
    s.remote->polls = true;
    fill_buffer(&s, OTHER, QUEUE, FIRST);
    fake.plan(NULL);
    release_buffer(&s, BUFFER);
    release_buffer(&s, OTHER);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 0);
    await_ends(&s);
    dcli_buffers_release_late(s.remote, false);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 2);
    cr_expect_eq(s.remote->used_bytes, 0);
    close_scene(&s);
}

/* Memory that is missing until then is limited, and given back when a new buffer needs it. */
Test(order, buffers_that_are_released_later_leave_memory)
{
    scene s;
    fake_opencl fake = {0};
    dcli_completion *completion[2] = {NULL, NULL};
    release_one_later(&s, &fake, completion, 16 * BYTES);
    release_buffer(&s, THIRD);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 1, "both are more than a sixteenth of the memory");
    s.remote->terms.quota_bytes = 2 * BYTES;
    make_fourth(&s);
    cr_expect_eq(fake.calls("clReleaseMemObject"), 2);
    cr_expect_eq(s.remote->used_bytes, 2 * BYTES);
    take_both(&s, completion);
    close_scene(&s);
}

/* The driver may have less memory than the device. */
Test(order, buffers_are_released_if_the_driver_has_no_memory)
{
    scene s;
    fake_opencl fake = {0};
    dcli_completion *completion[2] = {NULL, NULL};
    release_one_later(&s, &fake, completion, 1000 * BYTES);
    fake.plan("fail clCreateBuffer 1 -4");
    make_fourth(&s);
    cr_expect_eq(s.remote->late_bytes, 0);
    cr_expect_eq(fake.calls("clCreateBuffer"), 2);
    cr_expect_eq(s.remote->used_bytes, 3 * BYTES);
    take_both(&s, completion);
    close_scene(&s);
}

/* The driver may notice at the first use of a buffer only that there is no memory for it. */
Test(order, buffers_are_not_released_later_if_the_device_is_nearly_full)
{
    scene s;
    fake_opencl fake = {0};
    dcli_completion *completion[2] = {NULL, NULL};
    release_one_later(&s, &fake, completion, 32 * BYTES);
    s.remote->used_bytes += 25 * BYTES; /* of other buffers: now 28, seven eighths */
    make_fourth(&s);
    cr_expect_eq(s.remote->late_bytes, 0);
    release_buffer(&s, THIRD);
    cr_expect_eq(s.remote->late_bytes, BYTES, "28 again");
    s.remote->used_bytes += BYTES;
    release_buffer(&s, FOURTH);
    cr_expect_eq(s.remote->late_bytes, BYTES, "it was released at once");
    s.remote->used_bytes -= 26 * BYTES;
    take_both(&s, completion);
    close_scene(&s);
}

/* A session that ends frees them all. */
Test(order, a_session_leaves_no_buffers)
{
    scene s;
    fake_opencl fake = {0};
    dcli_completion *completion[2] = {NULL, NULL};
    char left[256];
    fill_two_buffers(&s, &fake, completion);
    release_buffer(&s, OTHER);
    take(&s, completion[0]);
    take(&s, completion[1]);
    cr_expect_neq(s.remote->late_first, NULL);
    close_scene(&s);
    cr_expect_eq(strlen(fake.left(left, sizeof left)), 0, "%s", left);
}
