/* remote/hostile_test.c - a driver that breaks the protocol: wrong sequences, sizes, numbers of objects and amounts of data. Each
 * session ends with a sentence, or its commands fail, and the next session works. The driver is the test, in the same
 * process as the server, so the sanitizers see both. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "remote/inside.h"
#include "support/fake_opencl/fake_opencl.h"

enum { SERVER, DRIVER, PEERS, SESSION = 5, LONG = 20000, MOST = 4, QUOTA = 4 << 20 };
enum { BUFFER = 1, QUEUE, PROGRAM, KERNEL }; /* objects that each session has at first */

#define NUMBERS(...) \
    .number_count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), .number = (int64_t[]) { __VA_ARGS__ }
#define WORDS(...) \
    .word_count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), .word = (int64_t[]) { __VA_ARGS__ }
#define WAITS(...) \
    .wait_count = (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), .wait = (int64_t[]) { __VA_ARGS__ }

/** What a driver sends, after the objects above are made. */
typedef struct row {
    const char *what;
    dcli_msg_command command[MOST]; /* kind 0: no more */
    const char *words;              /* of the error that ends the session; NULL: it goes on */
    int status;                     /* of event 100, where the session goes on; 0: there is none */
} row;

static const row rows[] = {
    {"a number of an object that is in use",
     {{DCLI_CL_BUFFER, 1, NUMBERS(1, 64)}},
     "has the number 1, which is in use",
     0},
    {"no number of an object", {{DCLI_CL_BUFFER, 0, NUMBERS(1, 64)}}, "has the number 0, which is none", 0},
    {"the number of the output", {{DCLI_CL_BUFFER, INT64_MAX, NUMBERS(1, 64)}}, "expected a new one", 0},
    {"a number of another kind of object", {{DCLI_CL_QUEUE, 1, NUMBERS(0)}}, "has the number 1, which is in use", 0},
    {"a buffer without a size", {{DCLI_CL_BUFFER, 9, NUMBERS(1)}}, "a wrong size of a buffer", 0},
    {"a buffer of no bytes", {{DCLI_CL_BUFFER, 9, NUMBERS(1, 0)}}, "a wrong size of a buffer", 0},
    {"a buffer beyond the quota",
     {{DCLI_CL_BUFFER, 9, NUMBERS(1, QUOTA)}, {DCLI_CL_FILL, 9, 2, 100, NUMBERS(0, 8, 1), WORDS(1)}},
     NULL,
     CL_MEM_OBJECT_ALLOCATION_FAILURE},
    {"a buffer of nearly all bytes",
     {{DCLI_CL_BUFFER, 9, NUMBERS(1, INT64_MAX)}, {DCLI_CL_FILL, 9, 2, 100, NUMBERS(0, 8, 1), WORDS(1)}},
     NULL,
     CL_MEM_OBJECT_ALLOCATION_FAILURE},
    {"a part of no buffer", {{DCLI_CL_SUB_BUFFER, 9, NUMBERS(8, 1, 0, 8)}}, "a sub-buffer outside a buffer", 0},
    {"a part of a queue", {{DCLI_CL_SUB_BUFFER, 9, NUMBERS(2, 1, 0, 8)}}, "a sub-buffer outside a buffer", 0},
    {"a part outside its buffer", {{DCLI_CL_SUB_BUFFER, 9, NUMBERS(1, 1, 60, 8)}}, "outside", 0},
    {"a part with a huge offset", {{DCLI_CL_SUB_BUFFER, 9, NUMBERS(1, 1, INT64_MAX, INT64_MAX)}}, "outside", 0},
    {"a queue without properties", {{DCLI_CL_QUEUE, .object = 9}}, "a wrong number of numbers", 0},
    {"a program of no bytes", {{DCLI_CL_SOURCE, 9, NUMBERS(0)}}, "a wrong size of a program", 0},
    {"a huge program", {{DCLI_CL_BINARY, 9, NUMBERS(INT64_MAX)}}, "a wrong size of a program", 0},
    {"many large programs",
     {{DCLI_CL_SOURCE, 9, NUMBERS(100 << 20)},
      {DCLI_CL_SOURCE, 10, NUMBERS(100 << 20)},
      {DCLI_CL_SOURCE, 11, NUMBERS(100 << 20)}},
     "a wrong size of a program",
     0},
    {"a text without a program",
     {{DCLI_CL_APPEND, 9, NUMBERS(8), WORDS(0)}},
     "a text of another length than announced",
     0},
    {"a text after its end", {{DCLI_CL_APPEND, 3, NUMBERS(8), WORDS(0)}}, "a text of another length than announced", 0},
    {"a text longer than announced",
     {{DCLI_CL_SOURCE, 9, NUMBERS(7)}, {DCLI_CL_APPEND, 9, NUMBERS(8), WORDS(0)}},
     "a text of another length",
     0},
    {"a text shorter than it says",
     {{DCLI_CL_SOURCE, 9, NUMBERS(700)}, {DCLI_CL_APPEND, 9, NUMBERS(80), WORDS(0)}},
     "a text of another length",
     0},
    {"a text of nearly all bytes",
     {{DCLI_CL_SOURCE, 9, NUMBERS(700)}, {DCLI_CL_APPEND, 9, NUMBERS(INT64_MAX), WORDS(0)}},
     "a text of another length",
     0},
    {"a build of no program", {{DCLI_CL_BUILD, 9, NUMBERS(50), .text = ""}}, "an unknown program", 0},
    {"a build of a buffer", {{DCLI_CL_BUILD, 1, NUMBERS(50), .text = ""}}, "an unknown program", 0},
    {"a build without a question", {{DCLI_CL_BUILD, 3, .text = ""}}, "no number of its question", 0},
    {"a header that is none", {{DCLI_CL_COMPILE, 3, NUMBERS(50, 9), .text = ""}}, "an unknown program", 0},
    {"a build before the text has come",
     {{DCLI_CL_SOURCE, 9, NUMBERS(700)}, {DCLI_CL_BUILD, 9, NUMBERS(50), .text = ""}},
     NULL,
     0},
    {"a binary that is none",
     {{DCLI_CL_BINARY, 9, NUMBERS(8)},
      {DCLI_CL_APPEND, 9, NUMBERS(8), WORDS(77)},
      {DCLI_CL_BUILD, 9, NUMBERS(50), .text = ""}},
     NULL,
     0},
    {"links of nothing", {{DCLI_CL_LINK, 9, NUMBERS(50), .text = ""}}, NULL, 0},
    {"a kernel of no program", {{DCLI_CL_KERNEL, 9, NUMBERS(8), .text = "f"}}, "an unknown program", 0},
    {"a kernel of a program that is not built",
     {{DCLI_CL_SOURCE, 9, NUMBERS(700)},
      {DCLI_CL_KERNEL, 10, NUMBERS(9), .text = "f"},
      {DCLI_CL_LAUNCH, 10, 2, 100, NUMBERS(1, 0, 1, 0)}},
     NULL,
     CL_INVALID_PROGRAM_EXECUTABLE},
    {"a kernel of another name",
     {{DCLI_CL_KERNEL, 10, NUMBERS(3), .text = "nothing"}, {DCLI_CL_LAUNCH, 10, 2, 100, NUMBERS(1, 0, 1, 0)}},
     NULL,
     CL_INVALID_KERNEL_NAME},
    {"an argument of no kernel", {{DCLI_CL_ARGUMENT, 9, NUMBERS(0, 1, 8, 1)}}, "an unknown kernel", 0},
    {"an argument beyond the last", {{DCLI_CL_ARGUMENT, 4, NUMBERS(2, 1, 8, 1)}}, "a wrong argument of a kernel", 0},
    {"an argument of a kind that is none",
     {{DCLI_CL_ARGUMENT, 4, NUMBERS(0, 3, 8, 1)}},
     "a wrong argument of a kernel",
     0},
    {"an argument of a negative size",
     {{DCLI_CL_ARGUMENT, 4, NUMBERS(1, 0, -8, 0)}},
     "a wrong argument of a kernel",
     0},
    {"a value without its bytes",
     {{DCLI_CL_ARGUMENT, 4, NUMBERS(1, 0, 800, 0), WORDS(1)}},
     "a value of another size",
     0},
    {"a queue as an argument", {{DCLI_CL_ARGUMENT, 4, NUMBERS(0, 1, 8, 2)}}, "an unknown buffer as an argument", 0},
    {"an address as a buffer",
     {{DCLI_CL_ARGUMENT, 4, NUMBERS(0, 0, 8, 0), WORDS(-1)}},
     "bytes for an argument that is an object",
     0},
    {"a launch without arguments", {{DCLI_CL_LAUNCH, 4, 2, 100, NUMBERS(1, 0, 1, 0)}}, NULL, CL_INVALID_KERNEL_ARGS},
    {"a launch of a program", {{DCLI_CL_LAUNCH, 3, 2, 100, NUMBERS(1, 0, 1, 0)}}, "an unknown object", 0},
    {"a launch in a buffer", {{DCLI_CL_LAUNCH, 4, 1, 100, NUMBERS(1, 0, 1, 0)}}, "an unknown object", 0},
    {"a launch along no axis", {{DCLI_CL_LAUNCH, 4, 2, 100, NUMBERS(0)}}, "a wrong number of axes", 0},
    {"a launch along four axes",
     {{DCLI_CL_LAUNCH, 4, 2, 100, NUMBERS(4, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0)}},
     "a wrong number of axes",
     0},
    {"a launch with too few numbers", {{DCLI_CL_LAUNCH, 4, 2, 100, NUMBERS(3, 0, 1, 0)}}, "a wrong number of axes", 0},
    {"a launch of negative size",
     {{DCLI_CL_LAUNCH, 4, 2, 100, NUMBERS(1, 0, -1, 0)}},
     "a negative number of work-items",
     0},
    {"a write to no buffer", {{DCLI_CL_WRITE, 9, 2, 100, NUMBERS(60, 0, 8, 1, 1, 0, 0, 0)}}, "an unknown object", 0},
    {"a write outside its buffer",
     {{DCLI_CL_WRITE, 1, 2, 100, NUMBERS(60, 60, 8, 1, 1, 0, 0, 0)}},
     "a transfer outside its buffer",
     0},
    {"a read of rows whose product overflows",
     {{DCLI_CL_READ, 1, 2, 100, NUMBERS(60, 0, 8, INT64_MAX, 8, INT64_MAX, INT64_MAX, 0)}},
     "a transfer outside its buffer",
     0},
    {"a write with too few numbers",
     {{DCLI_CL_WRITE, 1, 2, 100, NUMBERS(60, 0, 8)}},
     "a transfer outside its buffer",
     0},
    {"a transfer with the number of a buffer",
     {{DCLI_CL_WRITE, 1, 2, 100, NUMBERS(1, 0, 8, 1, 1, 0, 0, 0)}},
     "which is in use",
     0},
    {"a copy outside its buffer", {{DCLI_CL_COPY, 1, 2, 100, NUMBERS(1, 0, 60, 8)}}, "a copy outside its buffers", 0},
    {"a copy whose end overflows",
     {{DCLI_CL_COPY, 1, 2, 100, NUMBERS(1, INT64_MAX, 0, INT64_MAX)}},
     "a copy outside its buffers",
     0},
    {"a copy of negative size", {{DCLI_CL_COPY, 1, 2, 100, NUMBERS(1, 0, 0, -8)}}, "a negative size", 0},
    {"a copy of a box outside its buffer",
     {{DCLI_CL_COPY_RECT, 1, 2, 100, NUMBERS(1, 0, 0, 0, 0, 0, 0, 8, 8, 8, 1 << 30, 1 << 30, 1 << 30, 1 << 30)}},
     NULL,
     CL_INVALID_VALUE},
    {"a fill without a pattern", {{DCLI_CL_FILL, 1, 2, 100, NUMBERS(0, 8, 0)}}, "a fill outside its buffer", 0},
    {"a fill with a huge pattern",
     {{DCLI_CL_FILL, 1, 2, 100, NUMBERS(0, 8, 1 << 20), WORDS(1)}},
     "a fill outside its buffer",
     0},
    {"a fill outside its buffer",
     {{DCLI_CL_FILL, 1, 2, 100, NUMBERS(60, 8, 1), WORDS(1)}},
     "a fill outside its buffer",
     0},
    {"a marker without a number", {{DCLI_CL_MARKER, .queue = 2, .event = 100}}, "a wrong number of numbers", 0},
    {"a wait for an unknown event",
     {{DCLI_CL_MARKER, .queue = 2, .event = 100, NUMBERS(1), WAITS(99)}},
     "an unknown event in its wait list",
     0},
    {"a command that waits for itself",
     {{DCLI_CL_MARKER, .queue = 2, .event = 100, NUMBERS(1), WAITS(100)}},
     "an unknown event in its wait list",
     0},
    {"a wait for a buffer",
     {{DCLI_CL_MARKER, .queue = 2, .event = 100, NUMBERS(1), WAITS(1)}},
     "an unknown event in its wait list",
     0},
    {"the end of an unknown event",
     {{DCLI_CL_SET_STATUS, .event = 99, NUMBERS(0)}},
     "a status for an unknown event",
     0},
    {"the end of an event of the device",
     {{DCLI_CL_USER_EVENT, .event = 98},
      {DCLI_CL_MARKER, .queue = 2, .event = 100, NUMBERS(1), WAITS(98)},
      {DCLI_CL_SET_STATUS, .event = 100, NUMBERS(0)}},
     "a status for an unknown event",
     0},
    {"a user event of a server with a negative number",
     {{DCLI_CL_USER_EVENT, .event = 98, NUMBERS(INT64_MIN)}},
     "a user event of an unknown server",
     0},
    {"a write from a server with a negative number",
     {{DCLI_CL_WRITE, 1, 2, 100, NUMBERS(60, 0, 8, 1, 1, 0, 0, 0, INT64_MIN)}},
     "a transfer outside its buffer",
     0},
    {"a positive end",
     {{DCLI_CL_USER_EVENT, .event = 98}, {DCLI_CL_SET_STATUS, .event = 98, NUMBERS(3)}},
     "a status for an unknown event",
     0},
    {"two ends",
     {{DCLI_CL_USER_EVENT, .event = 98},
      {DCLI_CL_SET_STATUS, .event = 98, NUMBERS(-1)},
      {DCLI_CL_SET_STATUS, .event = 98, NUMBERS(0)},
      {DCLI_CL_MARKER, .queue = 2, .event = 100, NUMBERS(1), WAITS(98)}},
     NULL,
     CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST},
    {"an unknown event to forget", {{DCLI_CL_FORGET_EVENT, NUMBERS(99)}}, "an unknown event to forget", 0},
    {"an unknown object to release", {{DCLI_CL_RELEASE, .object = 9}}, "an unknown object to release", 0},
    {"an object released twice",
     {{DCLI_CL_RELEASE, .object = 1}, {DCLI_CL_RELEASE, .object = 1}},
     "an unknown object to release",
     0},
    {"an object used after it was released",
     {{DCLI_CL_RELEASE, .object = 1}, {DCLI_CL_FILL, 1, 2, 100, NUMBERS(0, 8, 1), WORDS(1)}},
     "an unknown object",
     0},
    {"a program released, whose kernel is launched",
     {{DCLI_CL_RELEASE, .object = 3}, {DCLI_CL_LAUNCH, 4, 2, 100, NUMBERS(1, 0, 1, 0)}},
     NULL,
     CL_INVALID_KERNEL_ARGS},
    {"sub-devices without a number",
     {{DCLI_CL_SUB_DEVICES, 0, NUMBERS(50), WORDS(0x1086, 1, 0)}},
     "no number of its",
     0},
    {"sub-devices of a buffer",
     {{DCLI_CL_SUB_DEVICES, 1, NUMBERS(50, 60), WORDS(0x1086, 1, 0)}},
     "an unknown sub-device",
     0},
    {"sub-devices by a list without end", {{DCLI_CL_SUB_DEVICES, 0, NUMBERS(50, 60), WORDS(0x1087, 1, 1)}}, NULL, 0},
    {"sub-devices by an empty list", {{DCLI_CL_SUB_DEVICES, 0, NUMBERS(50, 60)}}, NULL, 0},
    {"sub-devices of no units", {{DCLI_CL_SUB_DEVICES, 0, NUMBERS(50, 60), WORDS(0x1086, 0, 0)}}, NULL, 0},
    {"sub-devices of negative counts",
     {{DCLI_CL_SUB_DEVICES, 0, NUMBERS(50, 60), WORDS(0x1087, -1, INT64_MIN, 0, 0)}},
     NULL,
     0},
    {"a sub-device that was not made, released",
     {{DCLI_CL_SUB_DEVICES, 0, NUMBERS(50, 60), WORDS(0x1086, 0, 0)}, {DCLI_CL_RELEASE, .object = 60}},
     "an unknown object to release",
     0},
    {"a context without devices", {{DCLI_CL_CONTEXT, .object = 9}}, "no devices of a context", 0},
    {"a context of a buffer", {{DCLI_CL_CONTEXT, 9, WORDS(1)}}, "an unknown sub-device", 0},
    {"a buffer of a queue's", {{DCLI_CL_BUFFER, 9, NUMBERS(1, 64, QUEUE)}}, "an unknown context", 0},
    {"a program of no context", {{DCLI_CL_SOURCE, 9, NUMBERS(7, 8)}}, "an unknown context", 0},
    {"a queue of an unknown sub-device", {{DCLI_CL_QUEUE, 9, NUMBERS(0, 0, 8)}}, "an unknown sub-device", 0},
    {"a context released before what was made in it",
     {{DCLI_CL_CONTEXT, 9, WORDS(0)},
      {DCLI_CL_BUFFER, 10, NUMBERS(1, 64, 9)},
      {DCLI_CL_RELEASE, .object = 9},
      {DCLI_CL_FILL, 10, 2, 100, NUMBERS(0, 8, 1), WORDS(1)}},
     NULL,
     CL_INVALID_CONTEXT},
    {"commands that never go, at the end",
     {{DCLI_CL_USER_EVENT, .event = 98},
      {DCLI_CL_WRITE, 1, 2, 100, NUMBERS(60, 0, 8, 1, 1, 0, 0, 0), WAITS(98)},
      {DCLI_CL_RELEASE, .object = 1},
      {DCLI_CL_RELEASE, .object = 2}},
     NULL,
     0},
};

/* ---- a session ---- */

static dcli_net *net;
static dcli_buffers *buffers;

typedef struct session {
    dcli_endpoint *end[PEERS];
    dcli_remote *remote;
    dcli_log log;
    pthread_t thread;
    dcl_status status;
    char sentence[DCLI_ERROR_BYTES];
} session;

static void *serve(void *argument)
{
    session *s = argument;
    dcli_remote_terms terms = {s->end[SERVER], DRIVER, SESSION, buffers, DCLI_REMOTE_CHUNK, QUOTA, true, false,
                               SERVER,         NULL,   NULL,    0};
    s->status = dcli_remote_serve(s->remote, &terms);
    if (s->status != DCL_OK)
        snprintf(s->sentence, sizeof s->sentence, "%s", dcli_error_sentence());
    return NULL;
}

static void send(session *s, dcli_message message)
{
    if (message.epoch == 0)
        message.epoch = SESSION;
    cr_assert_eq(dcli_endpoint_send(s->end[DRIVER], SERVER, &message, NULL), DCL_OK, "%s", dcl_error());
}

static void command(session *s, dcli_msg_command command)
{
    if (command.text == NULL)
        command.text = "";
    send(s, (dcli_message){.kind = DCLI_MSG_COMMANDS, .commands = {1, &command}});
}

static const char source[] = "kernel void f(global int *a, int n) { a[0] = n; }";

/* @param compiles  whether to make the program and its kernel, which takes longest. */
static void begin(session *s, bool compiles)
{
    *s = (session){0};
    for (int e = 0; e < PEERS; e++)
        cr_assert_eq(dcli_endpoint_open(net, SESSION, e, PEERS, &s->end[e]), DCL_OK, "%s", dcl_error());
    dcl_status status = dcli_remote_open(0, &s->log, NULL, &s->remote);
    cr_assert_eq(status, DCL_OK, "%s", dcl_error());
    cr_assert_eq(pthread_create(&s->thread, NULL, serve, s), 0);
    int64_t word[(sizeof source + 7) / 8] = {0};
    memcpy(word, source, sizeof source);
    command(s, (dcli_msg_command){DCLI_CL_BUFFER, BUFFER, NUMBERS(1, 64)});
    command(s, (dcli_msg_command){DCLI_CL_QUEUE, QUEUE, NUMBERS(0)});
    if (!compiles)
        return;
    command(s, (dcli_msg_command){DCLI_CL_SOURCE, PROGRAM, NUMBERS(sizeof source - 1)});
    command(s, (dcli_msg_command){DCLI_CL_APPEND, PROGRAM, NUMBERS(sizeof source - 1),
                                  .word_count = (int)(sizeof source - 1 + 7) / 8, .word = word});
    command(s, (dcli_msg_command){DCLI_CL_BUILD, PROGRAM, NUMBERS(40)});
    dcli_received received = {0};
    for (bool answered = false; !answered;) { /* a kernel of what is being built cannot be made */
        cr_assert_eq(dcli_endpoint_receive(s->end[DRIVER], LONG, &received), DCL_OK, "%s", dcl_error());
        answered = received.message.kind == DCLI_MSG_ANSWER && !received.message.answer.more;
        dcli_received_free(&received);
    }
    command(s, (dcli_msg_command){DCLI_CL_KERNEL, KERNEL, NUMBERS(PROGRAM), .text = "f"});
}

/* Wait for the end of an event. @return its status; 1: none came. */
static int end_of(session *s, int64_t event)
{
    dcli_received received = {0};
    while (dcli_endpoint_receive(s->end[DRIVER], LONG, &received) == DCL_OK) {
        const dcli_message *message = &received.message;
        int found = 1;
        for (int e = 0; message->kind == DCLI_MSG_EVENTS && e < message->events.count; e++)
            if (message->events.ended[e].event == event)
                found = message->events.ended[e].status;
        dcli_received_free(&received);
        if (found <= 0)
            return found;
    }
    return 1;
}

static void end(session *s)
{
    pthread_join(s->thread, NULL);
    for (int e = 0; e < PEERS; e++)
        dcli_endpoint_close(s->end[e]);
    dcli_remote_close(s->remote);
}

static void open_all(void)
{
    cr_assert_eq(dcli_net_open(&net), DCL_OK, "%s", dcl_error());
    cr_assert_not_null(buffers = dcli_buffers_open_shared(), "%s", dcl_error());
}

static void close_all(void)
{
    dcli_buffers_close(buffers);
    dcli_net_close(net);
}

/* ---- tests ---- */

/* A session in which nothing is wrong. */
static void works(void)
{
    session s;
    begin(&s, true);
    command(&s, (dcli_msg_command){DCLI_CL_ARGUMENT, KERNEL, NUMBERS(0, DCLI_ARGUMENT_BUFFER, 8, BUFFER)});
    command(&s, (dcli_msg_command){DCLI_CL_ARGUMENT, KERNEL, NUMBERS(1, DCLI_ARGUMENT_VALUE, 4, 0), WORDS(7)});
    command(&s, (dcli_msg_command){DCLI_CL_LAUNCH, KERNEL, QUEUE, 100, NUMBERS(1, 0, 1, 0)});
    cr_expect_eq(end_of(&s, 100), CL_SUCCESS);
    send(&s, (dcli_message){.kind = DCLI_MSG_STOP});
    end(&s);
    cr_expect_eq(s.status, DCL_OK, "%s", s.sentence);
}

static void expect(session *s, const char *what, const char *words)
{
    if (words == NULL)
        send(s, (dcli_message){.kind = DCLI_MSG_STOP});
    end(s);
    if (words == NULL)
        cr_expect_eq(s->status, DCL_OK, "%s: %s", what, s->sentence);
    else
        cr_expect(s->status == DCL_ERR_PROTOCOL && strstr(s->sentence, words) != NULL,
                  "%s: %d, \"%s\"; expected \"%s\"", what, (int)s->status, s->sentence, words);
}

static bool needs_program(const row *row)
{
    for (int c = 0; c < MOST; c++)
        switch (row->command[c].kind) {
        case DCLI_CL_APPEND:
        case DCLI_CL_BUILD:
        case DCLI_CL_COMPILE:
        case DCLI_CL_KERNEL:
        case DCLI_CL_ARGUMENT:
        case DCLI_CL_LAUNCH:
            return true;
        }
    return false;
}

Test(hostile, commands_hurt_their_own_session_alone)
{
    open_all();
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        session s;
        begin(&s, needs_program(&rows[r]));
        for (int c = 0; c < MOST && rows[r].command[c].kind != 0; c++)
            command(&s, rows[r].command[c]);
        if (rows[r].status != 0) {
            int status = end_of(&s, 100);
            cr_expect_eq(status, rows[r].status, "%s: %d; expected %d", rows[r].what, status, rows[r].status);
        }
        expect(&s, rows[r].what, rows[r].words);
    }
    works();
    close_all();
}

static void data(session *s, int64_t transfer, int64_t offset, size_t length)
{
    static char bytes[2 << 20];
    dcli_message message = {.kind = DCLI_MSG_DATA, .epoch = SESSION, .data = {transfer, offset}};
    dcli_payload payload = {.bytes = bytes, .length = length};
    cr_assert_eq(dcli_endpoint_send(s->end[DRIVER], SERVER, &message, &payload), DCL_OK, "%s", dcl_error());
}

/* Data and other messages. A write of 64 bytes is transfer 60, a read of them transfer 61, a write in place transfer 62; all wait. */
Test(hostile, data_that_were_not_asked_for_end_the_session)
{
    static const struct {
        const char *what;
        dcli_message message; /* kind 0: data */
        int64_t transfer, offset;
        size_t length;
        const char *words;
    } list[] = {
        {"data of no transfer", {0}, 70, 0, 64, NULL},
        {"data with a gap", {0}, 60, 8, 56, "are out of place"},
        {"too few data", {0}, 60, 0, 8, "are out of place"},
        {"too many data", {0}, 60, 0, 65, "are out of place"},
        {"data of a read", {0}, 61, 0, 64, "are out of place"},
        {"a grant of a write", {.kind = DCLI_MSG_TAKEN, .taken = {60, 8}}, 0, 0, 0, "were taken before they were sent"},
        {"more taken than sent",
         {.kind = DCLI_MSG_TAKEN, .taken = {61, 65}},
         0,
         0,
         0,
         "were taken before they were sent"},
        {"data of a write in place", {0}, 62, 0, 1 << 20, "are out of place"},
        {"copied before it is mapped",
         {.kind = DCLI_MSG_TAKEN, .taken = {62, 2 << 20}},
         0,
         0,
         0,
         "were copied before they could be"},
        {"more output taken than printed",
         {.kind = DCLI_MSG_TAKEN, .taken = {DCLI_OUTPUT_TRANSFER, 1}},
         0,
         0,
         0,
         "were taken before they were printed"},
        {"taken of no transfer", {.kind = DCLI_MSG_TAKEN, .taken = {70, 65}}, 0, 0, 0, NULL},
        {"a question for no program",
         {.kind = DCLI_MSG_QUERY, .query = {41, DCLI_ASK_BINARY, 9}},
         0,
         0,
         0,
         "an unknown program"},
        {"a message of a cluster",
         {.kind = DCLI_MSG_CREDIT, .credit = {4}},
         0,
         0,
         0,
         "a message CREDIT has come from a driver"},
        {"an answer",
         {.kind = DCLI_MSG_TAKEN, .epoch = 6, .taken = {61, 0}},
         0,
         0,
         0,
         "the driver speaks of another session"},
    };
    open_all();
    for (size_t r = 0; r < sizeof list / sizeof list[0]; r++) {
        session s;
        begin(&s, false);
        command(&s, (dcli_msg_command){DCLI_CL_USER_EVENT, .event = 98});
        command(&s,
                (dcli_msg_command){DCLI_CL_WRITE, BUFFER, QUEUE, 100, NUMBERS(60, 0, 64, 1, 1, 0, 0, 0), WAITS(98)});
        command(&s, (dcli_msg_command){DCLI_CL_READ, BUFFER, QUEUE, 101, NUMBERS(61, 0, 64, 1, 1, 0, 0, 0), WAITS(98)});
        command(&s, (dcli_msg_command){DCLI_CL_BUFFER, 9, NUMBERS(1, 2 << 20)});
        command(&s,
                (dcli_msg_command){DCLI_CL_WRITE, 9, QUEUE, 102, NUMBERS(62, 0, 2 << 20, 1, 1, 0, 0, 1), WAITS(98)});
        if (list[r].message.kind != 0)
            send(&s, list[r].message);
        else
            data(&s, list[r].transfer, list[r].offset, list[r].length);
        expect(&s, list[r].what, list[r].words);
    }
    works();
    close_all();
}

/* The driver copies where the buffer is. */
Test(hostile, a_copy_in_place_is_of_all_bytes)
{
    static const struct {
        const char *what;
        int64_t granted;
        const char *words;
    } list[] = {
        {"all is copied", 2 << 20, NULL},
        {"a part is copied", 1 << 20, "were copied before they could be"},
    };
    open_all();
    for (size_t r = 0; r < sizeof list / sizeof list[0]; r++) {
        session s;
        dcli_received received = {0};
        begin(&s, false);
        command(&s, (dcli_msg_command){DCLI_CL_BUFFER, 9, NUMBERS(1, 2 << 20)});
        command(&s, (dcli_msg_command){DCLI_CL_WRITE, 9, QUEUE, 102, NUMBERS(62, 0, 2 << 20, 1, 1, 0, 0, 1)});
        cr_assert_eq(dcli_endpoint_receive(s.end[DRIVER], LONG, &received), DCL_OK, "%s", dcl_error());
        cr_assert(received.message.kind == DCLI_MSG_DATA && received.payload_bytes == 2 << 20, "%s", list[r].what);
        memset((char *)(uintptr_t)received.payload, 7, received.payload_bytes);
        dcli_received_free(&received);
        send(&s, (dcli_message){.kind = DCLI_MSG_TAKEN, .taken = {62, list[r].granted}});
        if (r == 0) {
            cr_expect_eq(end_of(&s, 102), CL_SUCCESS, "%s", list[r].what);
            command(&s, (dcli_msg_command){DCLI_CL_READ, 9, QUEUE, 103, NUMBERS(63, 5000, 16, 1, 1, 0, 0, 0)});
            cr_assert_eq(dcli_endpoint_receive(s.end[DRIVER], LONG, &received), DCL_OK, "%s", dcl_error());
            cr_expect(received.message.kind == DCLI_MSG_DATA && received.payload_bytes == 16 &&
                          ((const char *)received.payload)[9] == 7,
                      "what was copied is in the buffer");
            dcli_received_free(&received);
        }
        expect(&s, list[r].what, list[r].words);
    }
    works();
    close_all();
}

/* While a compiler is busy, commands run and end; the program that it compiles is not touched. */
Test(hostile, commands_run_while_a_program_is_built)
{
    fake_opencl fake;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    open_all();
    session s;
    dcli_received received = {0};
    begin(&s, true);
    command(&s, (dcli_msg_command){DCLI_CL_LAUNCH, KERNEL, QUEUE, 99, NUMBERS(1, 0, 1, 0)}); /* without arguments */
    cr_assert_eq(end_of(&s, 99), CL_INVALID_KERNEL_ARGS, "the program is built");
    fake.plan("hang clBuildProgram 1+");
    command(&s, (dcli_msg_command){DCLI_CL_SOURCE, 9, NUMBERS(sizeof source - 1)});
    int64_t word[(sizeof source + 7) / 8] = {0};
    memcpy(word, source, sizeof source);
    command(&s, (dcli_msg_command){DCLI_CL_APPEND, 9, NUMBERS(sizeof source - 1),
                                   .word_count = (int)(sizeof source - 1 + 7) / 8, .word = word});
    command(&s, (dcli_msg_command){DCLI_CL_BUILD, 9, NUMBERS(50)});
    command(&s, (dcli_msg_command){DCLI_CL_BUILD, 9, NUMBERS(51)});
    command(&s, (dcli_msg_command){DCLI_CL_KERNEL, 10, NUMBERS(9), .text = "f"});
    command(&s, (dcli_msg_command){DCLI_CL_LAUNCH, 10, QUEUE, 100, NUMBERS(1, 0, 1, 0)});
    cr_expect_eq(end_of(&s, 100), CL_INVALID_PROGRAM_EXECUTABLE, "no kernel of what is being built");
    command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, 101, NUMBERS(0, 8, 1), WORDS(1)});
    cr_expect_eq(end_of(&s, 101), CL_SUCCESS, "another command ends");
    fake.plan(NULL);
    int status[2] = {1, 1};
    while (status[0] == 1 || status[1] == 1) {
        cr_assert_eq(dcli_endpoint_receive(s.end[DRIVER], LONG, &received), DCL_OK, "%s", dcl_error());
        const dcli_msg_answer *answer = &received.message.answer;
        if (received.message.kind == DCLI_MSG_ANSWER && !answer->more && (answer->number == 50 || answer->number == 51))
            status[answer->number - 50] = answer->status;
        dcli_received_free(&received);
    }
    cr_expect_eq(status[0], CL_SUCCESS);
    cr_expect_eq(status[1], CL_INVALID_OPERATION, "it is built once at a time");
    command(&s, (dcli_msg_command){DCLI_CL_KERNEL, 11, NUMBERS(9), .text = "f"});
    command(&s, (dcli_msg_command){DCLI_CL_LAUNCH, 11, QUEUE, 102, NUMBERS(1, 0, 1, 0)});
    cr_expect_eq(end_of(&s, 102), CL_INVALID_KERNEL_ARGS, "its kernels can be made now");
    expect(&s, "the session goes on", NULL);
    works();
    close_all();
}

/* To read the binary of a program, PoCL compiles its kernels. Commands run meanwhile, and kernels can be made. */
Test(hostile, commands_run_while_a_binary_is_read)
{
    enum { QUESTION = 50 };
    fake_opencl fake;
    fake_opencl_select();
    cr_assert(fake_opencl_find(&fake), "%s", TEST_FAKE_OPENCL);
    open_all();
    session s;
    dcli_received received = {0};
    begin(&s, true);
    command(&s, (dcli_msg_command){DCLI_CL_LAUNCH, KERNEL, QUEUE, 99, NUMBERS(1, 0, 1, 0)}); /* without arguments */
    cr_assert_eq(end_of(&s, 99), CL_INVALID_KERNEL_ARGS, "the program is built");
    fake.plan("hang clGetProgramInfo 1+");
    send(&s, (dcli_message){.kind = DCLI_MSG_QUERY, .query = {QUESTION, DCLI_ASK_BINARY, PROGRAM}});
    command(&s, (dcli_msg_command){DCLI_CL_FILL, BUFFER, QUEUE, 101, NUMBERS(0, 8, 1), WORDS(1)});
    cr_expect_eq(end_of(&s, 101), CL_SUCCESS, "another command ends");
    command(&s, (dcli_msg_command){DCLI_CL_KERNEL, 11, NUMBERS(PROGRAM), .text = "f"});
    command(&s, (dcli_msg_command){DCLI_CL_LAUNCH, 11, QUEUE, 102, NUMBERS(1, 0, 1, 0)});
    cr_expect_eq(end_of(&s, 102), CL_INVALID_KERNEL_ARGS, "its kernels can be made");
    fake.plan(NULL);
    int status = 1;
    int64_t bytes = 0, told = -1;
    while (status == 1) {
        cr_assert_eq(dcli_endpoint_receive(s.end[DRIVER], LONG, &received), DCL_OK, "%s", dcl_error());
        const dcli_msg_answer *answer = &received.message.answer;
        if (received.message.kind == DCLI_MSG_DATA && received.message.data.transfer == QUESTION)
            bytes += (int64_t)received.payload_bytes;
        if (received.message.kind == DCLI_MSG_ANSWER && !answer->more && answer->number == QUESTION) {
            status = answer->status;
            told = answer->fact_count == 1 ? answer->fact[0].word[0] : -1;
        }
        dcli_received_free(&received);
    }
    cr_expect_eq(status, CL_SUCCESS);
    cr_expect(bytes > 0 && bytes == told, "%" PRId64 " bytes of %" PRId64, bytes, told);
    expect(&s, "the session goes on", NULL);
    works();
    close_all();
}

/* Options and files reach no compiler. */
Test(hostile, a_build_reads_no_file)
{
    static const char *const options[] = {"-I /etc", "-include /etc/passwd", "@/etc/passwd"};
    open_all();
    for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
        session s;
        dcli_received received = {0};
        begin(&s, true);
        command(&s, (dcli_msg_command){DCLI_CL_BUILD, PROGRAM, NUMBERS(50), .text = options[o]});
        for (bool answered = false; !answered;) {
            cr_assert_eq(dcli_endpoint_receive(s.end[DRIVER], LONG, &received), DCL_OK, "%s", dcl_error());
            const dcli_msg_answer *answer = &received.message.answer;
            answered = received.message.kind == DCLI_MSG_ANSWER && answer->number == 50;
            if (answered)
                cr_expect(answer->status == CL_INVALID_BUILD_OPTIONS && answer->fact_count == 1 &&
                              strstr(answer->fact[0].text, "is refused") != NULL,
                          "%s: %d", options[o], answer->status);
            dcli_received_free(&received);
        }
        expect(&s, options[o], NULL);
    }
    close_all();
}
