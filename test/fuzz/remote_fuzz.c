/* fuzz/remote_fuzz.c - the server of an OpenCL driver: an input is what a client sends, one command, piece of data or question after
 * another, to a server with a real device; when a session breaks off, another one begins. Nothing is built: a program and a kernel
 * are there. However it ends, a session leaves nothing. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/input.h"
#include "remote/inside.h"

enum {
    SERVER,
    DRIVER,
    PEERS,
    SESSION = 5,
    PROGRAM = 3,
    KERNEL,
    QUOTA = 4 << 20,
    MOST_NUMBERS = 16,
    MOST_WAITS = 4,
    MOST_WORDS = 20,
    MOST_ITEMS = 64
};

static dcli_net *net;
static dcli_endpoint *end[PEERS];
static dcli_buffers *buffers;
static dcli_remote *remote;
static cl_program program;

static void must(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "%s: %s\n", what, dcl_error());
    fuzz_demand(holds, what);
}

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    static dcli_log log;
    static const char *source = "kernel void f(global int *a, int n, local int *t) { if (n == 12345) a[0] = t[0]; }";
    (void)count;
    (void)arguments;
    cl_int status;
    must(dcli_net_open(&net) == DCL_OK, "dcli_net_open");
    for (int e = 0; e < PEERS; e++)
        must(dcli_endpoint_open(net, SESSION, e, PEERS, &end[e]) == DCL_OK, "dcli_endpoint_open");
    must((buffers = dcli_buffers_open_shared()) != NULL, "dcli_buffers_open_shared");
    must(dcli_remote_open(0, &log, NULL, &remote) == DCL_OK, "dcli_remote_open");
    remote->terms = (dcli_remote_terms){end[SERVER], DRIVER, SESSION, buffers, DCLI_REMOTE_CHUNK, QUOTA, true, false,
                                        SERVER,      NULL,   NULL,    0};
    program = clCreateProgramWithSource(remote->context, 1, &source, NULL, &status);
    must(program != NULL &&
             clBuildProgram(program, 1, &remote->device, "-cl-kernel-arg-info", NULL, NULL) == CL_SUCCESS,
         "clBuildProgram");
    return 0;
}

/* ---- what a client sends ---- */

/* The number of an object: mostly one of a few. */
static int64_t object_number(fuzz_input *input)
{
    int byte = fuzz_byte(input);
    return byte < 240 ? byte % 12 : fuzz_number(input, 0, INT64_MAX);
}

static int64_t any_number(fuzz_input *input)
{
    int byte = fuzz_byte(input);
    return byte < 200 ? byte % 70 : fuzz_number(input, INT64_MIN, INT64_MAX);
}

/* Reduce the number of work-items of a launch, so that it ends soon. */
static void shorten_launch(dcli_msg_command *command)
{
    for (int n = 1; n < command->number_count; n++)
        if (n % 3 != 1 && command->number[n] > MOST_ITEMS)
            command->number[n] %= MOST_ITEMS;
}

static dcl_status send_command(fuzz_input *input)
{
    static const char *const texts[] = {"", "f", "g", "-w"};
    int64_t number[MOST_NUMBERS], wait[MOST_WAITS], word[MOST_WORDS];
    dcli_msg_command command = {
        .kind = 1 + fuzz_below(input, DCLI_CL_CONTEXT), .number = number, .wait = wait, .word = word};
    command.object = object_number(input);
    command.queue = object_number(input);
    command.event = object_number(input);
    command.unobserved = fuzz_flag(input);
    command.number_count = fuzz_below(input, MOST_NUMBERS);
    command.wait_count = fuzz_below(input, 8) == 0 ? fuzz_below(input, MOST_WAITS) : 0;
    command.word_count = fuzz_below(input, MOST_WORDS);
    command.text = texts[fuzz_below(input, 4)];
    for (int n = 0; n < command.number_count; n++)
        number[n] = any_number(input);
    for (int n = 0; n < command.wait_count; n++)
        wait[n] = object_number(input);
    for (int n = 0; n < command.word_count; n++)
        word[n] = command.kind == DCLI_CL_CONTEXT ? object_number(input) : fuzz_byte(input);
    if (command.kind == DCLI_CL_SUB_DEVICES && command.word_count > 0)
        word[0] += CL_DEVICE_PARTITION_EQUALLY;
    if (command.kind == DCLI_CL_BUILD || command.kind == DCLI_CL_COMPILE || command.kind == DCLI_CL_LINK)
        return DCL_OK;
    if (command.kind == DCLI_CL_LAUNCH)
        shorten_launch(&command);
    return dcli_remote_command(remote, &command);
}

static dcl_status send_data(fuzz_input *input)
{
    static char bytes[DCLI_REMOTE_CHUNK];
    dcli_message message = {.kind = DCLI_MSG_DATA,
                            .epoch = SESSION,
                            .data = {.transfer = object_number(input), .offset = any_number(input)}};
    int64_t length = fuzz_flag(input) ? 1 + fuzz_below(input, 200) : DCLI_REMOTE_CHUNK;
    dcli_payload payload = {.bytes = bytes, .length = (size_t)length};
    if (message.data.offset < 0 || message.data.transfer < 1)
        return DCL_OK;
    must(dcli_endpoint_send(end[DRIVER], SERVER, &message, &payload) == DCL_OK, "dcli_endpoint_send");
    dcli_received received = {0};
    must(dcli_endpoint_receive(end[SERVER], 1000, &received) == DCL_OK, "dcli_endpoint_receive");
    dcl_status status = dcli_transfer_data(remote, DRIVER, &received);
    dcli_received_free(&received);
    return status;
}

static dcl_status send_one(fuzz_input *input)
{
    switch (fuzz_below(input, 8)) {
    case 0:
        return send_data(input);
    case 1: {
        dcli_msg_taken taken = {.transfer = object_number(input), .granted = any_number(input)};
        return taken.granted < 0 ? DCL_OK : dcli_transfer_taken(remote, DRIVER, &taken);
    }
    default:
        return send_command(input);
    }
}

/* ---- the server's turn ---- */

static void turn(void)
{
    dcli_received received;
    dcli_completions_take(remote);
    dcli_completions_poll(remote);
    dcli_tasks_look(remote);
    dcli_queues_flush(remote);
    must(dcli_events_send(remote) == DCL_OK, "dcli_events_send");
    while (dcli_endpoint_receive(end[DRIVER], 0, &received) == DCL_OK)
        dcli_received_free(&received);
}

static void make_kernel(void)
{
    dcli_object *object = dcli_object_make(remote, PROGRAM, DCLI_OBJECT_PROGRAM);
    must(object != NULL, "dcli_object_make");
    clRetainProgram(program);
    object->program.program = program;
    int64_t number = PROGRAM;
    dcli_msg_command command = {
        .kind = DCLI_CL_KERNEL, .object = KERNEL, .number_count = 1, .number = &number, .text = "f"};
    must(dcli_remote_command(remote, &command) == DCL_OK, "DCLI_CL_KERNEL");
}

static void end_session(void)
{
    dcli_queues_flush(remote);
    for (int ms = 0; remote->outstanding > 0 || atomic_load(&remote->callbacks) > 0; ms++) {
        must(ms < 5000, "commands that were submitted do not end");
        if (!dcli_completions_take(remote) && !dcli_completions_poll(remote))
            poll(NULL, 0, 1);
    }
    remote->ended_count = 0;
    dcli_objects_close(remote);
    for (int ms = 0; atomic_load(&remote->places) > 0; ms++) {
        must(ms < 5000, "memory of buffers is not given back");
        poll(NULL, 0, 1);
    }
    dcli_received received;
    while (dcli_endpoint_receive(end[DRIVER], 0, &received) == DCL_OK)
        dcli_received_free(&received);
    must(remote->outstanding == 0, "outstanding");
    must(remote->used_bytes == 0, "used_bytes");
    must(remote->text_bytes == 0, "text_bytes");
    must(remote->queues == NULL, "queues");
    must(remote->sub_device_count == 0, "sub_device_count");
    remote->task_count = remote->held_bytes = remote->object_count = remote->tomb_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, data + size};
    dcl_status status = DCL_OK;
    make_kernel();
    while (input.at < input.end) {
        status = send_one(&input);
        turn();
        fuzz_demand(status == DCL_OK || status == DCL_ERR_PROTOCOL || status == DCL_ERR_NOMEM,
                    "another error than those named");
        if (status == DCL_OK)
            continue;
        end_session(); /* and another one */
        make_kernel();
    }
    end_session();
    return 0;
}
