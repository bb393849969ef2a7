/* test/remote/memory_test.c - contents that the serving thread copies itself, and what a server holds of a write that the device has not
 * copied. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <poll.h>
#include <string.h>

#include "base/error.h"
#include "remote/inside.h"
#include "support/fake_opencl/fake_opencl.h"

enum {
    BUFFER = 1,
    PART,
    QUEUE,
    FREE_QUEUE,
    TIMED_QUEUE,
    EVENT = 100,
    TRANSFER = 200,
    SMALL = 5000,
    MB = 1 << 20,
    DRIVER = 1
};

typedef struct scene {
    dcli_net *net;
    dcli_endpoint *endpoint, *driver;
    dcli_log log;
    dcli_remote *remote;
    dcli_buffers *buffers;
    fake_opencl fake;
    int64_t event, transfer; /* number of the last one */
} scene;

#define NUMBERS(...) \
    .number_count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), .number = (int64_t[]) { __VA_ARGS__ }

static void command(scene *s, dcli_msg_command command)
{
    cr_assert_eq(dcli_remote_command(s->remote, &command), DCL_OK, "%s", dcl_error());
}

static void open_scene(scene *s, const char *plan, int64_t bytes)
{
    *s = (scene){.event = EVENT, .transfer = TRANSFER};
    fake_opencl_select();
    cr_assert(fake_opencl_find(&s->fake), "%s", TEST_FAKE_OPENCL);
    s->fake.plan(plan);
    cr_assert_eq(dcli_net_open(&s->net), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open(s->net, 5, 0, 2, &s->endpoint), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_endpoint_open(s->net, 5, DRIVER, 2, &s->driver), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_remote_open(0, &s->log, NULL, &s->remote), DCL_OK, "%s", dcl_error());
    cr_assert_not_null(s->buffers = dcli_buffers_open());
    s->remote->terms = (dcli_remote_terms){
        .endpoint = s->endpoint, .client = DRIVER, .buffers = s->buffers, .chunk_bytes = DCLI_REMOTE_CHUNK};
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, BUFFER, NUMBERS(1, bytes)});
    command(s, (dcli_msg_command){DCLI_CL_SUB_BUFFER, PART, NUMBERS(BUFFER, 1, 1024, 512)});
    command(s, (dcli_msg_command){DCLI_CL_QUEUE, QUEUE, NUMBERS(0)});
    command(s, (dcli_msg_command){DCLI_CL_QUEUE, FREE_QUEUE, NUMBERS(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)});
    command(s, (dcli_msg_command){DCLI_CL_QUEUE, TIMED_QUEUE, NUMBERS(CL_QUEUE_PROFILING_ENABLE)});
}

/* Wait until the device has ended all commands, and handle the ends as the server's loop does. */
static void await_ends(scene *s)
{
    while (s->remote->outstanding > 0) {
        if (!dcli_completions_take(s->remote) && !dcli_completions_poll(s->remote))
            poll(NULL, 0, 1);
        dcli_tasks_look(s->remote);
        dcli_queues_flush(s->remote);
    }
}

static void close_scene(scene *s)
{
    char left[200];
    await_ends(s);
    while (atomic_load(&s->remote->callbacks) > 0)
        poll(NULL, 0, 1);
    dcli_completions_take(s->remote);
    dcli_objects_close(s->remote);
    while (atomic_load(&s->remote->places) > 0) /* a thread of the driver gives memory of buffers back */
        poll(NULL, 0, 1);
    dcli_remote_close(s->remote);
    dcli_endpoint_close(s->driver);
    dcli_endpoint_close(s->endpoint);
    dcli_net_close(s->net);
    dcli_buffers_close(s->buffers);
    s->fake.plan(NULL);
    cr_expect_str_eq(s->fake.left(left, sizeof left), "", "not released: %s", left);
}

/* ---- transfers ---- */

static void begin(scene *s, int kind, int64_t buffer, int64_t queue, int64_t offset, int64_t bytes)
{
    command(s, (dcli_msg_command){kind, buffer, queue, ++s->event,
                                  NUMBERS(++s->transfer, offset, bytes, 1, 1, 0, 0, DCLI_IN_CHUNKS)});
}

static dcl_status send_bytes(scene *s, int64_t offset, char *bytes, size_t length)
{
    dcli_received received = {.from = DRIVER, .payload = bytes, .payload_bytes = length};
    received.message.kind = DCLI_MSG_DATA;
    received.message.data = (dcli_msg_data){.transfer = s->transfer, .offset = offset};
    dcl_status status = dcli_transfer_data(s->remote, DRIVER, &received);
    dcli_tasks_look(s->remote);
    dcli_queues_flush(s->remote);
    return status;
}

static void write_bytes(scene *s, int64_t buffer, int64_t queue, int64_t offset, char *bytes, size_t length)
{
    begin(s, DCLI_CL_WRITE, buffer, queue, offset, (int64_t)length);
    cr_assert_eq(send_bytes(s, 0, bytes, length), DCL_OK, "%s", dcl_error());
}

/* Read from a buffer, and compare the bytes that the driver gets. */
static void expect_bytes(scene *s, int64_t buffer, int64_t queue, int64_t offset, const char *bytes, size_t length)
{
    dcli_received received = {0};
    begin(s, DCLI_CL_READ, buffer, queue, offset, (int64_t)length);
    dcli_queues_flush(s->remote);
    await_ends(s);
    do {
        dcli_received_free(&received);
        cr_assert_eq(dcli_endpoint_receive(s->driver, 10000, &received), DCL_OK, "%s", dcl_error());
    } while (received.message.kind != DCLI_MSG_DATA);
    cr_assert_eq(received.message.data.transfer, s->transfer);
    cr_assert_eq(received.payload_bytes, length);
    cr_expect_arr_eq(received.payload, bytes, length);
    dcli_received_free(&received);
}

static void expect_end(scene *s)
{
    cr_assert_gt(s->remote->ended_count, 0);
    const dcli_msg_ended *last = &s->remote->ended[s->remote->ended_count - 1];
    cr_expect_eq(last->event, s->event);
    cr_expect_eq(last->status, CL_SUCCESS);
}

/* ---- tests ---- */

static int copies(const scene *s)
{
    return s->fake.calls("clEnqueueWriteBuffer") + s->fake.calls("clEnqueueReadBuffer");
}

struct way {
    char what[40], plan[20];
    int64_t buffer, queue, offset;
    bool busy;  /* the device has a command that has not ended, as far as is known */
    int copies; /* by the device, of a write and a read */
};

ParameterizedTestParameters(memory, who_copies)
{
    static struct way ways[] = {
        {"the device does nothing", "", BUFFER, QUEUE, 10, false, 0},
        {"the queue is out of order", "", BUFFER, FREE_QUEUE, 0, false, 0},
        {"a part of the buffer", "", PART, QUEUE, 10, false, 0},
        {"times are wanted", "", BUFFER, TIMED_QUEUE, 10, false, 2},
        {"the device is busy at the write", "", BUFFER, QUEUE, 10, true, 1},
        {"the device works in a copy", "apart", BUFFER, QUEUE, 10, false, 2},
        {"it is no processor", "gpu", BUFFER, QUEUE, 10, false, 2},
    };
    return cr_make_param_array(struct way, ways, sizeof ways / sizeof ways[0]);
}

/* The serving thread copies if the device works in the memory that it was given, and has nothing to do. */
ParameterizedTest(struct way *way, memory, who_copies)
{
    scene s;
    char bytes[300];
    for (size_t n = 0; n < sizeof bytes; n++)
        bytes[n] = (char)(7 * n + 3);
    open_scene(&s, way->plan, SMALL);
    if (way->busy) {
        int64_t pattern = 7;
        command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, ++s.event, NUMBERS(0, 8, 8), .word_count = 1,
                                       .word = &pattern});
    }
    write_bytes(&s, way->buffer, way->queue, way->offset, bytes, sizeof bytes);
    if (way->copies == 0)
        expect_end(&s);
    await_ends(&s);
    expect_end(&s);
    expect_bytes(&s, way->buffer, way->queue, way->offset, bytes, sizeof bytes);
    expect_end(&s);
    cr_expect_eq(copies(&s), way->copies, "%s: the device has copied %d times", way->what, copies(&s));
    if (way->buffer == PART)
        expect_bytes(&s, BUFFER, QUEUE, 1024 + way->offset, bytes, sizeof bytes);
    close_scene(&s);
}

/* What a kernel would see: the device copies what the serving thread has written, and the other way round. */
Test(memory, both_see_the_same)
{
    scene s;
    char bytes[100], filled[16];
    int64_t pattern = 0x3333333333333333;
    memset(bytes, 5, sizeof bytes);
    memset(filled, 0x33, sizeof filled);
    open_scene(&s, "", SMALL);
    write_bytes(&s, BUFFER, QUEUE, 0, bytes, sizeof bytes);
    command(&s, (dcli_msg_command){DCLI_CL_COPY, BUFFER, QUEUE, ++s.event, NUMBERS(BUFFER, 0, 2000, 100)});
    command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, ++s.event, NUMBERS(16, 16, 8), .word_count = 1,
                                   .word = &pattern});
    dcli_queues_flush(s.remote);
    await_ends(&s);
    expect_bytes(&s, BUFFER, QUEUE, 2000, bytes, sizeof bytes);
    expect_bytes(&s, BUFFER, QUEUE, 16, filled, sizeof filled);
    cr_expect_eq(copies(&s), 0);
    close_scene(&s);
}

/* A server holds at most 16 MB of a write that the device has not copied, as far as is known. In a queue in order, the device's driver tells
 * the end of every fourth chunk. */
Test(memory, a_write_is_granted_as_the_device_copies)
{
    enum { CHUNKS = 40, WINDOW = 16 };
    static char bytes[MB];
    for (int64_t queue = QUEUE; queue <= FREE_QUEUE; queue++) {
        scene s;
        open_scene(&s, "apart", CHUNKS * MB);
        begin(&s, DCLI_CL_WRITE, BUFFER, queue, 0, CHUNKS * MB);
        const dcli_object *transfer = dcli_object_find(s.remote, s.transfer, DCLI_OBJECT_TRANSFER);
        cr_assert_not_null(transfer);
        for (int c = 0; c < CHUNKS; c++) {
            if (c < WINDOW)
                cr_expect_eq(transfer->transfer.granted, WINDOW * MB, "chunk %d: the device has ended none", c);
            if (transfer->transfer.granted < (c + 1) * MB)
                await_ends(&s);
            cr_assert_eq(send_bytes(&s, (int64_t)c * MB, bytes, sizeof bytes), DCL_OK, "chunk %d: %s", c, dcl_error());
        }
        await_ends(&s);
        expect_end(&s);
        cr_expect_eq(s.fake.calls("clEnqueueWriteBuffer"), CHUNKS);
        cr_expect_eq(s.fake.calls("clSetEventCallback"), queue == QUEUE ? CHUNKS / 4 : CHUNKS);
        close_scene(&s);
    }
}
