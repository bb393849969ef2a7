/* fuzz/driver_fuzz.c - the OpenCL driver under a server that sends anything: an input is what a program enqueues, and between that what its
 * server sends: ends of events, data, grants, answers and other messages. A server that breaks the protocol is taken for lost. However
 * an input ends, all events have ended when the device is lost, and all objects are freed when the program has released them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/worker_pool.h"
#include "fuzz/input.h"
#include "icd/entries.h"

enum {
    SERVER,
    DRIVER,
    PEERS,
    SESSION = 5,
    MEMS = 3,
    MOST_EVENTS = 16,
    MOST_MAPS = 4,
    MOST_BYTES = 3 << 19 /* of a buffer: more than a chunk */
};

static dcli_net *net;
static dcli_endpoint *end[PEERS];
static icd_server *server;
static icd_device *device;
static unsigned char *memory; /* [MOST_BYTES] of the program */

static struct {
    cl_context context;
    cl_command_queue queue[2]; /* in order, out of order */
    cl_mem mem[MEMS];
    size_t bytes[MEMS];
    cl_event event[MOST_EVENTS];
    int events;
    struct {
        cl_mem mem;
        void *pointer;
    } map[MOST_MAPS];
    int maps;
    icd_question question;
    int called;
    int any; /* messages of any kind that were sent */
} program;

/* ---- stubs of server processes ---- */

void __wrap_dcli_worker_pool_await_end(dcli_worker_pool *pool, int node, int milliseconds);
void __wrap_dcli_worker_pool_await_end(dcli_worker_pool *pool, int node, int milliseconds)
{
    (void)pool;
    (void)node;
    (void)milliseconds;
}

void __wrap_dcli_worker_pool_lose(dcli_worker_pool *pool, int node, const char *seen, char *sentence_out,
                                  size_t capacity);
void __wrap_dcli_worker_pool_lose(dcli_worker_pool *pool, int node, const char *seen, char *sentence_out,
                                  size_t capacity)
{
    (void)pool;
    (void)node;
    snprintf(sentence_out, capacity, "%s", seen);
}

void __wrap_dcli_endpoint_drop(dcli_endpoint *endpoint, int peer);
void __wrap_dcli_endpoint_drop(dcli_endpoint *endpoint, int peer)
{
    (void)endpoint; /* the next input uses the connection, too */
    (void)peer;
}

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    static icd_server the_server;
    static cl_ulong most = MOST_BYTES;
    static cl_command_queue_properties properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
    static icd_fact facts[] = {{CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most},
                               {CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, sizeof properties, &properties}};
    (void)count;
    (void)arguments;
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO); /* for what kernels print */
    server = &the_server;
    fuzz_demand(dcli_net_open(&net) == DCL_OK, "dcli_net_open");
    for (int e = 0; e < PEERS; e++)
        fuzz_demand(dcli_endpoint_open(net, SESSION, e, PEERS, &end[e]) == DCL_OK, "dcli_endpoint_open");
    server->endpoint = end[DRIVER];
    server->session = SESSION;
    fuzz_demand((server->buffers = dcli_buffers_open()) != NULL, "dcli_buffers_open");
    fuzz_demand(icd_turn_open(server) == DCL_OK, "icd_turn_open");
    fuzz_demand(icd_enter() && (device = icd_make(ICD_DEVICE, sizeof *device)) != NULL, "icd_make");
    device->root = device;
    device->server = server;
    device->node = SERVER;
    device->last = &device->first;
    device->pending_last = &device->pending;
    device->outgoing_last = &device->outgoing;
    device->fact = facts;
    device->fact_count = sizeof facts / sizeof facts[0];
    server->device[server->device_count++] = device;
    icd.server[icd.server_count++] = server;
    icd.device[icd.device_count++] = device;
    icd_leave();
    fuzz_demand((memory = calloc(1, MOST_BYTES)) != NULL, "calloc");
    return 0;
}

/* ---- the program ---- */

static void CL_CALLBACK note_call(cl_event event, cl_int status, void *user)
{
    (void)event;
    (void)status;
    (void)user;
    __atomic_fetch_add(&program.called, 1, __ATOMIC_SEQ_CST);
}

static void open_program(void)
{
    static const size_t bytes[MEMS] = {64, 5000, MOST_BYTES};
    const cl_device_id handle = ICD_HANDLE(cl_device_id, device);
    cl_int status;
    memset(&program, 0, sizeof program);
    program.context = icd_clCreateContext(NULL, 1, &handle, NULL, NULL, &status);
    fuzz_demand(program.context != NULL, "clCreateContext");
    for (int q = 0; q < 2; q++) {
        program.queue[q] = icd_clCreateCommandQueue(program.context, handle,
                                                    q == 1 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &status);
        fuzz_demand(program.queue[q] != NULL, "clCreateCommandQueue");
    }
    for (int m = 0; m < MEMS; m++) {
        program.bytes[m] = bytes[m];
        program.mem[m] = icd_clCreateBuffer(program.context, 0, bytes[m], NULL, &status);
        fuzz_demand(program.mem[m] != NULL, "clCreateBuffer");
    }
    fuzz_demand(icd_enter(), "icd_enter");
    program.question = (icd_question){.number = icd_number()};
    icd_question_begin(device, &program.question);
    icd_leave();
}

/* Part of a buffer. */
static size_t part(fuzz_input *input, int m, size_t *offset_out)
{
    *offset_out = fuzz_flag(input) ? (size_t)fuzz_below(input, 32) : 0;
    size_t left = program.bytes[m] - *offset_out;
    return fuzz_flag(input) ? left : 1 + (size_t)fuzz_below(input, (int)(left < 200 ? left : 200));
}

static void map_some(fuzz_input *input, cl_command_queue queue, int m, cl_uint waits, const cl_event *wait,
                     cl_event *event)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    size_t offset, bytes = part(input, m, &offset);
    cl_int status;
    void *pointer = icd_clEnqueueMapBuffer(queue, program.mem[m], CL_FALSE, flags[fuzz_below(input, 3)], offset, bytes,
                                           waits, wait, event, &status);
    if (pointer == NULL)
        return;
    program.map[program.maps].mem = program.mem[m];
    program.map[program.maps++].pointer = pointer;
}

static void enqueue(fuzz_input *input)
{
    cl_command_queue queue = program.queue[fuzz_below(input, 2)];
    int m = fuzz_below(input, MEMS), what = fuzz_below(input, 9);
    cl_event made = NULL, *event = fuzz_flag(input) && program.events < MOST_EVENTS ? &made : NULL;
    cl_uint waits = program.events > 0 && fuzz_flag(input);
    const cl_event *wait = waits > 0 ? &program.event[fuzz_below(input, program.events)] : NULL;
    size_t offset = 0, bytes = part(input, m, &offset);
    unsigned char pattern = 3;
    if (what == 0)
        icd_clEnqueueWriteBuffer(queue, program.mem[m], CL_FALSE, offset, bytes, memory, waits, wait, event);
    else if (what == 1 || what == 2)
        icd_clEnqueueReadBuffer(queue, program.mem[m], CL_FALSE, offset, bytes, memory, waits, wait, event);
    else if (what == 3)
        icd_clEnqueueFillBuffer(queue, program.mem[m], &pattern, 1, offset, bytes, waits, wait, event);
    else if (what == 4)
        icd_clEnqueueMarkerWithWaitList(queue, waits, wait, event);
    else if (what == 5)
        icd_clEnqueueBarrierWithWaitList(queue, waits, wait, event);
    else if (what == 6 && program.maps < MOST_MAPS)
        map_some(input, queue, m, waits, wait, event);
    else if (what == 7 && program.maps > 0) {
        program.maps--;
        icd_clEnqueueUnmapMemObject(queue, program.map[program.maps].mem, program.map[program.maps].pointer, waits,
                                    wait, event);
    } else if (what == 8 && event != NULL)
        made = icd_clCreateUserEvent(program.context, NULL);
    if (made != NULL)
        program.event[program.events++] = made;
}

/* Something that no command asks for. */
static void do_other(fuzz_input *input)
{
    int e = program.events > 0 ? fuzz_below(input, program.events) : -1, what = fuzz_below(input, 5);
    cl_int status;
    if (what == 0)
        icd_clFlush(program.queue[fuzz_below(input, 2)]);
    if (e < 0)
        return;
    if (what == 1)
        icd_clSetUserEventStatus(program.event[e], fuzz_flag(input) ? CL_COMPLETE : -7);
    else if (what == 2)
        icd_clSetEventCallback(program.event[e], CL_COMPLETE, note_call, NULL);
    else if (what == 3)
        icd_clGetEventInfo(program.event[e], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    else if (what == 4) {
        icd_clSetUserEventStatus(program.event[e], -7); /* one that is released unset would never end */
        icd_dispatch.clReleaseEvent(program.event[e]);
        program.event[e] = program.event[--program.events];
    }
}

/* ---- the server ---- */

/* A number that the driver has given: mostly one of the last. */
static int64_t given_number(fuzz_input *input)
{
    int byte = fuzz_byte(input);
    if (byte >= 250)
        return fuzz_number(input, 1, INT64_MAX);
    if (byte >= 230)
        return program.question.number;
    return icd.last_number - byte % 24 > 0 ? icd.last_number - byte % 24 : 1;
}

static int64_t transfer_number(fuzz_input *input)
{
    int byte = fuzz_byte(input), left = byte % 8;
    for (int b = 0; byte < 220 && b < ICD_BUCKETS; b++)
        for (const icd_transfer *transfer = device->transfers[b]; transfer != NULL; transfer = transfer->next)
            if (left-- == 0)
                return transfer->number;
    return byte < 235 ? DCLI_OUTPUT_TRANSFER : given_number(input);
}

static const icd_transfer *transfer_of(int64_t number)
{
    const icd_transfer *transfer = device->transfers[(uint64_t)number % ICD_BUCKETS];
    while (transfer != NULL && transfer->number != number)
        transfer = transfer->next;
    return transfer;
}

static void send_data(fuzz_input *input)
{
    static char bytes[ICD_CHUNK];
    dcli_message message = {.kind = DCLI_MSG_DATA, .epoch = SESSION, .data.transfer = transfer_number(input)};
    const icd_transfer *transfer = transfer_of(message.data.transfer);
    bool right = fuzz_byte(input) < 200;
    int64_t length = 1 + fuzz_below(input, 200);
    if (right && transfer != NULL && transfer->moved < transfer->total) {
        message.data.offset = transfer->moved;
        length = dcli_span_chunk(&transfer->span, transfer->moved, transfer->chunk_bytes);
    } else if (right && message.data.transfer == DCLI_OUTPUT_TRANSFER)
        message.data.offset = device->printed;
    else if (right)
        message.data.offset = (int64_t)program.question.data_bytes;
    else
        message.data.offset = fuzz_number(input, 0, INT64_MAX);
    dcli_payload payload = {.bytes = bytes, .length = (size_t)length};
    fuzz_demand(dcli_endpoint_send(end[SERVER], DRIVER, &message, &payload) == DCL_OK, "dcli_endpoint_send");
}

static void send_events(fuzz_input *input)
{
    enum { MOST = 4 };
    dcli_msg_ended ended[MOST];
    int count = 1 + fuzz_below(input, MOST);
    const icd_event *event = device->pending;
    for (int e = 0; e < count; e++) {
        bool right = event != NULL && fuzz_byte(input) < 200;
        ended[e] = (dcli_msg_ended){.event = right ? event->number : given_number(input),
                                    .status = fuzz_byte(input) < 200 ? 0 : -fuzz_below(input, 70),
                                    .through = fuzz_flag(input),
                                    .start_ns = fuzz_byte(input)};
        if (right)
            event = event->next;
    }
    dcli_message message = {.kind = DCLI_MSG_EVENTS, .epoch = SESSION, .events = {.count = count, .ended = ended}};
    fuzz_demand(dcli_endpoint_send(end[SERVER], DRIVER, &message, NULL) == DCL_OK, "dcli_endpoint_send");
}

static void send_answer(fuzz_input *input)
{
    enum { MOST = 3 };
    static const char *const texts[] = {"", "a", "name of a kernel"};
    int64_t word[MOST] = {1, -1, INT64_MAX};
    dcli_msg_fact fact[MOST];
    int count = fuzz_below(input, MOST + 1);
    for (int f = 0; f < count; f++)
        fact[f] = (dcli_msg_fact){.key = fuzz_below(input, 20),
                                  .bytes = fuzz_below(input, 30),
                                  .text = texts[fuzz_below(input, 3)],
                                  .word_count = fuzz_below(input, MOST + 1),
                                  .word = word};
    dcli_message message = {.kind = DCLI_MSG_ANSWER,
                            .epoch = SESSION,
                            .answer = {.number = given_number(input),
                                       .status = -fuzz_below(input, 70),
                                       .more = fuzz_flag(input),
                                       .fact_count = count,
                                       .fact = fact}};
    fuzz_demand(dcli_endpoint_send(end[SERVER], DRIVER, &message, NULL) == DCL_OK, "dcli_endpoint_send");
}

/* A message of OpenCL sessions, of either direction. It may be large, so there are few of them. */
static void send_any(fuzz_input *input)
{
    enum { MOST = 2 };
    if (program.any++ >= MOST)
        return;
    dcli_message message = {.kind = DCLI_MSG_COMMANDS + fuzz_below(input, DCLI_MSG_KIND_COUNT - DCLI_MSG_COMMANDS),
                            .epoch = SESSION};
    fuzz_fill(input, &message);
    if (fuzz_byte(input) > 250)
        message.epoch = SESSION + 1;
    dcl_status status = dcli_endpoint_send(end[SERVER], DRIVER, &message, NULL);
    fuzz_demand(status == DCL_OK || status == DCL_ERR_PROTOCOL || status == DCL_ERR_INVALID, "dcli_endpoint_send");
    fuzz_forget();
}

static void send_one(fuzz_input *input)
{
    int what = fuzz_below(input, 16);
    if (what < 6)
        send_events(input);
    else if (what < 11)
        send_data(input);
    else if (what < 14) {
        int64_t transfer = transfer_number(input), granted = fuzz_number(input, 0, MOST_BYTES + 1);
        dcli_message message = {.kind = DCLI_MSG_TAKEN, .epoch = SESSION, .taken = {transfer, granted}};
        fuzz_demand(dcli_endpoint_send(end[SERVER], DRIVER, &message, NULL) == DCL_OK, "dcli_endpoint_send");
    } else if (what == 14)
        send_answer(input);
    else
        send_any(input);
}

/* Let the driver send and receive. */
static void serve(void)
{
    dcli_received received;
    dcli_endpoint_wake(server->endpoint); /* so that it does not wait */
    pthread_mutex_lock(&server->serving);
    icd_serve_once(server);
    pthread_mutex_unlock(&server->serving);
    while (dcli_endpoint_receive(end[SERVER], 0, &received) == DCL_OK)
        dcli_received_free(&received);
}

/* ---- the end of an input ---- */

/* The thread that calls functions of the program may still hold objects. */
static bool all_freed(void)
{
    icd_enter();
    bool freed = icd.calls == NULL && icd_find(program.context, ICD_CONTEXT) == NULL;
    for (int m = 0; m < MEMS; m++)
        freed = freed && icd_find(program.mem[m], ICD_MEM) == NULL;
    for (int q = 0; q < 2; q++)
        freed = freed && icd_find(program.queue[q], ICD_QUEUE) == NULL;
    icd_leave();
    return freed;
}

static void renew_device(void)
{
    fuzz_demand(device->pending_count == 0 && device->pending == NULL, "an event of a lost device has not ended");
    fuzz_demand(device->eager_bytes == 0, "eager_bytes");
    for (int b = 0; b < ICD_BUCKETS; b++)
        fuzz_demand(device->transfers[b] == NULL, "a transfer of a lost device has not ended");
    fuzz_demand(device->outgoing == NULL && device->first == NULL && device->queues == NULL, "lists of a lost device");
    fuzz_demand(icd.gates == 0, "gates");
    device->lost = device->awaited = false;
    device->outgoing_last = &device->outgoing;
    device->pending_last = &device->pending;
    device->unsent_count = device->printed = device->printed_told = device->work_queue = 0;
}

static void close_program(void)
{
    icd_enter();
    icd_lose(device, "the input ends");
    device->questions = NULL;
    icd_leave();
    icd_question_free(&program.question);
    for (int e = 0; e < program.events; e++) {
        icd_clSetUserEventStatus(program.event[e], -7);
        cl_int status = 1;
        icd_clGetEventInfo(program.event[e], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        fuzz_demand(status <= CL_COMPLETE, "an event has not ended");
        icd_dispatch.clReleaseEvent(program.event[e]);
    }
    for (int m = 0; m < MEMS; m++)
        icd_dispatch.clReleaseMemObject(program.mem[m]);
    for (int q = 0; q < 2; q++)
        icd_dispatch.clReleaseCommandQueue(program.queue[q]);
    icd_dispatch.clReleaseContext(program.context);
    for (int ms = 0; !all_freed(); ms++) {
        fuzz_demand(ms < 5000, "objects that were released are not freed");
        usleep(1000);
    }
    renew_device();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_STEPS = 200 };
    fuzz_input input = {data, data + size};
    open_program();
    for (int step = 0; input.at < input.end && step < MOST_STEPS && !device->lost; step++) {
        int what = fuzz_below(&input, 8);
        if (what < 3)
            enqueue(&input);
        else if (what == 3)
            do_other(&input);
        else
            send_one(&input);
        if (what > 3)
            serve();
    }
    serve();
    close_program();
    dcli_received received;
    while (dcli_endpoint_receive(end[DRIVER], 0, &received) == DCL_OK)
        dcli_received_free(&received);
    while (dcli_endpoint_receive(end[SERVER], 0, &received) == DCL_OK)
        dcli_received_free(&received);
    return 0;
}
