/* icd/connection.c - serves the connection to a server: sends commands, questions and data, receives answers, handles losses. One
 * thread at a time does this; turn.c decides which. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/error.h"
#include "fleet/worker_pool.h"
#include "icd/inside.h"

enum {
    READ_NOTE = 8 << 20, /* after each so many bytes of a read, the server is told that they have arrived */
    FAREWELL_MS = 600 /* wait at most so long after a connection has ended, until it is known how the process ended */
};

/* ---- commands to send ---- */

static icd_batch *room_for(icd_device *device, size_t words)
{
    icd_batch *batch =
        device->first != NULL ? (icd_batch *)(void *)((char *)device->last - offsetof(icd_batch, next)) : NULL;
    enum { POOL = sizeof batch->pool / sizeof batch->pool[0] };
    if (batch != NULL && batch->count < DCLI_MOST_COMMANDS && batch->used + words <= POOL)
        return batch;
    batch = device->spare;
    device->spare = NULL;
    if (batch == NULL && (batch = dcli_malloc(sizeof *batch)) == NULL)
        return NULL;
    batch->next = NULL;
    batch->count = 0;
    batch->used = 0;
    *device->last = batch;
    device->last = &batch->next;
    return batch;
}

static int64_t *copy_numbers(icd_batch *batch, const int64_t *number, int count)
{
    int64_t *copy = &batch->pool[batch->used];
    if (count > 0)
        memcpy(copy, number, (size_t)count * sizeof *copy);
    batch->used += (size_t)count;
    return copy;
}

/* Add the numbers of events to forget to the batch's last command, if that command also forgets events. */
static bool join_forgotten(icd_device *device, const dcli_msg_command *command)
{
    if (command->kind != DCLI_CL_FORGET_EVENT || device->first == NULL)
        return false;
    icd_batch *batch = (icd_batch *)(void *)((char *)device->last - offsetof(icd_batch, next));
    dcli_msg_command *last = batch->count > 0 ? &batch->command[batch->count - 1] : NULL;
    if (last == NULL || last->kind != DCLI_CL_FORGET_EVENT ||
        last->number_count + command->number_count > DCLI_MOST_COMMAND_NUMBERS ||
        batch->used + (size_t)command->number_count > sizeof batch->pool / sizeof batch->pool[0])
        return false;
    copy_numbers(batch, command->number, command->number_count); /* right after those of the last command */
    last->number_count += command->number_count;
    return true;
}

cl_int icd_send(icd_device *device, const dcli_msg_command *command)
{
    if (device->lost)
        return CL_DEVICE_NOT_AVAILABLE;
    if (join_forgotten(device, command))
        return CL_SUCCESS;
    size_t words = (size_t)command->wait_count + (size_t)command->word_count + (size_t)command->number_count;
    bool has_text = command->text != NULL && command->text[0] != '\0';
    char *text = has_text ? dcli_strdup(command->text) : NULL;
    icd_batch *batch = has_text && text == NULL ? NULL : room_for(device, words);
    if (batch == NULL) {
        dcli_free(text);
        return CL_OUT_OF_HOST_MEMORY;
    }
    dcli_msg_command *copy = &batch->command[batch->count];
    *copy = *command;
    copy->wait = copy_numbers(batch, command->wait, command->wait_count);
    copy->word = copy_numbers(batch, command->word, command->word_count);
    copy->number = copy_numbers(batch, command->number, command->number_count);
    copy->text = batch->text[batch->count] = text;
    batch->count++;
    if (command->kind != DCLI_CL_FORGET_EVENT)
        icd.has_posted = device->has_posted = true;
    return CL_SUCCESS;
}

static void free_batch(icd_device *device, icd_batch *batch)
{
    for (int c = 0; c < batch->count; c++)
        dcli_free(batch->text[c]);
    if (device->spare == NULL)
        device->spare = batch;
    else
        dcli_free(batch);
}

/* Send a message. If there is no memory for it, the device is lost, because everything that waits for the effect of the
 * message would wait for ever. */
static void send_message(icd_device *device, const dcli_message *message, dcli_payload *payload)
{
    dcl_status status = dcli_endpoint_send(device->server->endpoint, device->node, message, payload);
    if (status != DCL_OK && status != DCL_ERR_NETWORK) /* receiving reports the latter */
        icd_report_loss(device->server, device->node, dcli_error_sentence());
}

/* Find how many commands of a batch fit into one message: their texts together have at most MOST_TEXT bytes. A command
 * with a longer text is sent alone. */
static int portion(const icd_batch *batch, int first)
{
    enum { MOST_TEXT = 500000 };
    size_t text = 0;
    int count = 0;
    while (first + count < batch->count) {
        const char *next = batch->command[first + count].text;
        text += next != NULL ? strlen(next) : 0;
        if (count > 0 && text > MOST_TEXT)
            break;
        count++;
    }
    return count;
}

void icd_send_batches(icd_device *device)
{
    for (;;) {
        pthread_mutex_lock(&icd.lock);
        icd_batch *batch = device->first;
        device->awaited = false;
        device->unsent_count = 0;
        if (batch != NULL && (device->first = batch->next) == NULL) {
            device->last = &device->first;
            device->has_posted = false;
        }
        pthread_mutex_unlock(&icd.lock);
        if (batch == NULL)
            return;
        for (int first = 0, count; first < batch->count; first += count) {
            count = portion(batch, first);
            dcli_message message = {.kind = DCLI_MSG_COMMANDS,
                                    .epoch = device->server->session,
                                    .commands = {.count = count, .command = &batch->command[first]}};
            send_message(device, &message, NULL);
        }
        pthread_mutex_lock(&icd.lock);
        free_batch(device, batch);
        pthread_mutex_unlock(&icd.lock);
    }
}

/* Take the lock when all commands have been sent, so that data and questions do not overtake the commands to which they
 * belong: the program may enqueue at any time. */
static void lock_after_commands(icd_device *device)
{
    pthread_mutex_lock(&icd.lock);
    while (device->first != NULL) {
        pthread_mutex_unlock(&icd.lock);
        icd_send_batches(device);
        pthread_mutex_lock(&icd.lock);
    }
}

/* ---- transfers ---- */

static icd_transfer **bucket_of(icd_device *device, int64_t number)
{
    return &device->transfers[(uint64_t)number % ICD_BUCKETS];
}

static icd_transfer *find_transfer(icd_device *device, int64_t number)
{
    icd_transfer *transfer = *bucket_of(device, number);
    while (transfer != NULL && transfer->number != number)
        transfer = transfer->next;
    return transfer;
}

void icd_transfer_begin(icd_transfer *transfer)
{
    icd_device *device = transfer->device;
    icd_transfer **bucket = bucket_of(device, transfer->number);
    transfer->next = *bucket;
    *bucket = transfer;
    device->transfer_count[transfer->in]++;
    if (!transfer->in)
        return;
    transfer->listed = true;
    *device->outgoing_last = transfer;
    device->outgoing_last = &transfer->next_outgoing;
}

static void unlist(icd_device *device, icd_transfer *transfer)
{
    for (icd_transfer **at = &device->outgoing; *at != NULL; at = &(*at)->next_outgoing)
        if (*at == transfer) {
            if ((*at = transfer->next_outgoing) == NULL)
                device->outgoing_last = at;
            break;
        }
    transfer->listed = false;
}

void icd_transfer_end(icd_device *device, int64_t number)
{
    for (icd_transfer **at = bucket_of(device, number); *at != NULL; at = &(*at)->next) {
        icd_transfer *transfer = *at;
        if (transfer->number != number)
            continue;
        *at = transfer->next;
        device->transfer_count[transfer->in]--;
        if (transfer->listed)
            unlist(device, transfer);
        device->eager_bytes -= transfer->eager;
        icd_drop(transfer->gate);
        dcli_free(transfer);
        return;
    }
}

/* Copy a chunk between memory of the program and `bytes`, which are memory of a buffer, or of a message. A message that is sent is read
 * again at once, so it is better in the caches. */
static void copy_chunk(const icd_transfer *transfer, int64_t offset, int64_t length, char *bytes)
{
    dcli_span host = transfer->span;
    host.offset = 0;
    host.row_pitch = transfer->host_row_pitch;
    host.slice_pitch = transfer->host_slice_pitch;
    dcli_span_box box = dcli_span_box_of(&host, offset, length);
    bool streams = transfer->total >= DCLI_STREAMED_BYTES && (transfer->in_place || !transfer->in) && box.rows == 1 &&
                   box.slices == 1;
    for (int64_t s = 0; s < box.slices; s++)
        for (int64_t r = 0; r < box.rows; r++) {
            char *row = transfer->host + box.offset + s * host.slice_pitch + r * host.row_pitch;
            void *target = transfer->in ? bytes : row;
            const void *source = transfer->in ? row : bytes;
            if (streams)
                dcli_copy_streamed(target, source, (size_t)box.row_bytes);
            else
                memcpy(target, source, (size_t)box.row_bytes);
            bytes += box.row_bytes;
        }
}

/* Length of the next chunk of a write that may be sent. @return 0: none now. */
static int64_t may_send(const icd_device *device, const icd_transfer *transfer)
{
    if (transfer->gate != NULL && transfer->gate->status != CL_COMPLETE)
        return 0;
    int64_t length = dcli_span_chunk(&transfer->span, transfer->moved, transfer->chunk_bytes),
            end = transfer->moved + length;
    if (end <= transfer->granted)
        return length;
    return !transfer->in_place && end <= DCLI_EAGER_TRANSFER && device->eager_bytes + length <= DCLI_EAGER_SESSION
               ? length
               : 0;
}

static void give(void *bytes, void *user)
{
    (void)user;
    dcli_buffers_give(bytes);
}

static void return_loan(void *bytes, void *user)
{
    (void)bytes;
    pthread_mutex_lock(&icd.lent);
    if (--((icd_loan *)user)->count == 0)
        pthread_cond_broadcast(&icd.returned);
    pthread_mutex_unlock(&icd.lent); /* from then on, the loan may be freed */
}

/* Make the payload of the next chunk: memory of the program, or a copy. @return false: no memory. */
static bool make_payload(icd_device *device, icd_transfer *transfer, int64_t length, dcli_payload *payload_out)
{
    *payload_out = (dcli_payload){.length = (size_t)length};
    if (transfer->loan != NULL) {
        pthread_mutex_lock(&icd.lent);
        transfer->loan->count++;
        pthread_mutex_unlock(&icd.lent);
        payload_out->bytes = transfer->host + transfer->moved;
        payload_out->release = return_loan;
        payload_out->user = transfer->loan;
        return true;
    }
    payload_out->bytes = dcli_buffers_take(device->server->buffers, (size_t)length);
    payload_out->release = give;
    if (payload_out->bytes == NULL)
        return false;
    copy_chunk(transfer, transfer->moved, length, payload_out->bytes);
    return true;
}

/* Send one chunk. The transfer exists meanwhile, because only this thread ends transfers. */
static bool send_chunk(icd_device *device, icd_transfer *transfer, int64_t length)
{
    dcli_payload payload;
    if (!make_payload(device, transfer, length, &payload))
        return false;
    dcli_message message = {.kind = DCLI_MSG_DATA,
                            .epoch = device->server->session,
                            .data = {.transfer = transfer->number, .offset = transfer->moved}};
    send_message(device, &message, &payload);
    return true;
}

/* Send the next chunk of a write, if one may be sent. @return false: none was sent. */
static bool send_some(icd_device *device)
{
    lock_after_commands(device);
    icd_transfer *transfer = device->outgoing;
    int64_t length = 0;
    while (transfer != NULL && (length = may_send(device, transfer)) == 0)
        transfer = transfer->next_outgoing;
    pthread_mutex_unlock(&icd.lock);
    if (transfer == NULL || !send_chunk(device, transfer, length))
        return false;
    pthread_mutex_lock(&icd.lock);
    transfer->moved += length;
    if (transfer->moved > transfer->granted) {
        transfer->eager += length;
        device->eager_bytes += length;
    }
    if (transfer->moved == transfer->total)
        unlist(device, transfer);
    pthread_mutex_unlock(&icd.lock);
    return true;
}

/* Send the questions that have messages of their own (QUERY). Other questions are asked by commands. */
static void send_questions(icd_device *device)
{
    for (;;) {
        dcli_message message = {.kind = DCLI_MSG_QUERY, .epoch = device->server->session};
        lock_after_commands(device);
        icd_question *question = device->questions;
        while (question != NULL && question->kind == 0)
            question = question->next;
        if (question != NULL) {
            message.query = (dcli_msg_query){question->number, question->kind, question->object};
            question->kind = 0; /* it is sent */
        }
        pthread_mutex_unlock(&icd.lock);
        if (question == NULL)
            return;
        send_message(device, &message, NULL);
    }
}

static void flush(icd_server *server)
{
    enum { MOST_CHUNKS = 4 }; /* most chunks sent at a time; the connection's other work is done in between */
    bool more = false;
    for (int d = 0; d < server->device_count; d++) {
        icd_device *device = server->device[d];
        if (device->lost)
            continue;
        icd_send_batches(device);
        send_questions(device);
        for (int n = 0; n < MOST_CHUNKS; n++)
            if (!send_some(device))
                break;
            else if (n == MOST_CHUNKS - 1)
                more = true;
    }
    if (more)
        dcli_endpoint_wake(server->endpoint);
}

/* ---- questions ---- */

void icd_question_begin(icd_device *device, icd_question *question)
{
    question->next = device->questions;
    device->questions = question;
}

static icd_question *find_question(icd_device *device, int64_t number)
{
    icd_question *question = device->questions;
    while (question != NULL && question->number != number)
        question = question->next;
    return question;
}

typedef struct icd_awaited_question {
    const icd_device *device;
    const icd_question *question;
} icd_awaited_question;

static bool is_answered(const void *what)
{
    const icd_awaited_question *awaited = what;
    return awaited->question->answered || awaited->device->lost;
}

cl_int icd_question_await(icd_device *device, icd_question *question)
{
    const icd_awaited_question awaited = {device, question};
    icd_wait(device, is_answered, &awaited);
    for (icd_question **at = &device->questions; *at != NULL; at = &(*at)->next)
        if (*at == question) {
            *at = question->next;
            break;
        }
    if (!question->answered)
        return CL_DEVICE_NOT_AVAILABLE;
    return question->failed ? CL_OUT_OF_HOST_MEMORY : question->status;
}

void icd_question_free(icd_question *question)
{
    for (int64_t f = 0; f < question->fact_count; f++)
        dcli_free(question->fact[f].value);
    dcli_free(question->fact);
    dcli_free(question->data);
}

const icd_fact *icd_question_fact(const icd_question *question, int64_t key)
{
    for (int64_t f = 0; f < question->fact_count; f++)
        if (question->fact[f].key == key)
            return &question->fact[f];
    return NULL;
}

static void note_fact(icd_question *question, const dcli_msg_fact *fact)
{
    enum { MOST_FACTS = 1 << 20 };
    bool is_text = fact->word_count == 0;
    size_t bytes = is_text ? strlen(fact->text) + 1 : (size_t)fact->bytes;
    if (question->fact_count == MOST_FACTS || (!is_text && bytes > 8 * (size_t)fact->word_count) ||
        dcli_grow(&question->fact, question->fact_count, &question->fact_capacity, sizeof *question->fact) != 0) {
        question->failed = true;
        return;
    }
    void *value = dcli_calloc(bytes + 1, 1);
    if (value == NULL) {
        question->failed = true;
        return;
    }
    memcpy(value, is_text ? (const void *)fact->text : (const void *)fact->word, bytes);
    question->fact[question->fact_count++] = (icd_fact){.key = fact->key, .bytes = bytes, .value = value};
}

static void hear_answer(icd_device *device, const dcli_msg_answer *answer)
{
    icd_question *question = find_question(device, answer->number);
    if (question == NULL)
        return; /* nobody waits any more */
    for (int f = 0; f < answer->fact_count; f++)
        note_fact(question, &answer->fact[f]);
    question->status = answer->status;
    question->answered = !answer->more;
    if (question->answered)
        pthread_cond_broadcast(&icd.changed);
}

/* Append data to the answer to a question for a binary. @return false: their place or length is wrong. */
static bool hear_data_of(icd_question *question, const dcli_received *received)
{
    enum { MOST = 256 << 20 };
    size_t length = received->payload_bytes;
    if (received->message.data.offset != (int64_t)question->data_bytes || length > MOST - question->data_bytes)
        return false;
    unsigned char *data = dcli_realloc(question->data, question->data_bytes + length, 1);
    if (data == NULL) {
        question->failed = true;
        return true;
    }
    memcpy(data + question->data_bytes, received->payload, length);
    question->data = data;
    question->data_bytes += length;
    return true;
}

/* ---- messages ---- */

static void say_taken(icd_device *device, int64_t transfer, int64_t bytes)
{
    dcli_message message = {
        .kind = DCLI_MSG_TAKEN, .epoch = device->server->session, .taken = {.transfer = transfer, .granted = bytes}};
    send_message(device, &message, NULL);
}

/* Write what kernels have printed to the standard output of the program. It is not written through stdio, whose lock the
 * program may hold while it waits for this thread. */
static bool hear_printed(icd_device *device, const dcli_received *received)
{
    const char *at = received->payload;
    size_t left = received->payload_bytes;
    if (received->message.data.offset != device->printed)
        return false;
    device->printed += (int64_t)left;
    while (left > 0) {
        ssize_t written = write(STDOUT_FILENO, at, left);
        if (written < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        else if (written < 0 && errno != EINTR)
            break; /* nobody reads it */
        at += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    if (device->printed - device->printed_told >= DCLI_OUTPUT_AHEAD / 4) {
        device->printed_told = device->printed;
        say_taken(device, DCLI_OUTPUT_TRANSFER, device->printed);
    }
    return true;
}

/* Carry out a transfer in place: the payload lies in the buffer's own memory. Copy between it and the program's memory,
 * and tell the server. @return false: the buffer is to be written, and its memory is not mapped for writing. */
static bool copy_in_place(icd_device *device, icd_transfer *transfer, const dcli_received *received)
{
    void *region;
    size_t bytes;
    if (transfer->in && !dcli_received_region(received, &region, &bytes))
        return false;
    copy_chunk(transfer, 0, transfer->total, (char *)(uintptr_t)received->payload);
    pthread_mutex_lock(&icd.lock);
    transfer->moved = transfer->total;
    if (transfer->listed)
        unlist(device, transfer);
    pthread_mutex_unlock(&icd.lock);
    say_taken(device, transfer->number, transfer->total);
    return true;
}

static bool hear_data(icd_device *device, const dcli_received *received)
{
    const dcli_msg_data *data = &received->message.data;
    int64_t length = (int64_t)received->payload_bytes;
    if (received->payload_missing)
        return false;
    if (data->transfer == DCLI_OUTPUT_TRANSFER)
        return hear_printed(device, received);
    pthread_mutex_lock(&icd.lock);
    icd_question *question = find_question(device, data->transfer);
    bool fits = question != NULL && hear_data_of(question, received);
    icd_transfer *transfer = question == NULL ? find_transfer(device, data->transfer) : NULL;
    pthread_mutex_unlock(&icd.lock);
    if (question != NULL)
        return fits;
    if (transfer != NULL && transfer->in_place && data->offset == 0 && transfer->moved == 0 &&
        length == transfer->total)
        return copy_in_place(device, transfer, received);
    if (transfer == NULL || transfer->in || data->offset != transfer->moved || data->offset >= transfer->total ||
        length != dcli_span_chunk(&transfer->span, data->offset, transfer->chunk_bytes))
        return false;
    copy_chunk(transfer, data->offset, length, (char *)(uintptr_t)received->payload); /* only this thread ends it */
    transfer->moved += length;
    if (transfer->moved < transfer->total && transfer->moved - transfer->told >= READ_NOTE) {
        transfer->told = transfer->moved;
        say_taken(device, transfer->number, transfer->moved);
    }
    return true;
}

static bool hear_taken(icd_device *device, const dcli_msg_taken *taken)
{
    icd_transfer *transfer = find_transfer(device, taken->transfer);
    if (transfer == NULL)
        return true; /* it has ended meanwhile */
    if (!transfer->in || taken->granted > transfer->total)
        return false;
    if (taken->granted > transfer->granted)
        transfer->granted = taken->granted;
    device->eager_bytes -= transfer->eager;
    transfer->eager = 0;
    return true;
}

/* End the unobserved commands before `last` in its command queue, whose ends the server does not report. Internal ones have no queue. */
static void end_before(icd_device *device, const icd_event *last)
{
    for (icd_event *event = device->pending, *next; event != last && last->queue != NULL; event = next) {
        next = event->next;
        if (event->unobserved && event->queue == last->queue)
            icd_event_end(event, CL_COMPLETE, NULL);
    }
}

static bool hear_end(icd_device *device, const dcli_msg_ended *ended)
{
    icd_event *event = device->pending;
    while (event != NULL && event->number != ended->event)
        event = event->next;
    if (event == NULL) {
        icd_queue *queue = device->queues;
        while (queue != NULL && queue->number != ended->event)
            queue = queue->next;
        if (queue != NULL && queue->failure == CL_SUCCESS)
            queue->failure = ended->status;
        return true; /* or it is an event of which only the server knows */
    }
    /* A transfer is complete when all its bytes have moved, whatever the server says. */
    const icd_transfer *transfer = event->transfer != 0 ? find_transfer(device, event->transfer) : NULL;
    if (transfer != NULL && ended->status == CL_SUCCESS && transfer->moved != transfer->total)
        return false;
    if (ended->through)
        end_before(device, event);
    icd_event_end(event, ended->status, ended);
    return true;
}

/* A server says that it cannot reach another one: what moves between them moves through this process. */
static bool hear_apart(const icd_device *device, int other)
{
    icd_server *server = device->server;
    if (other >= server->device_count || other == device->node)
        return false;
    server->apart[device->node * server->device_count + other] = true;
    server->apart[other * server->device_count + device->node] = true;
    return true;
}

static bool hear_locked(icd_device *device, const dcli_message *message)
{
    bool fits = true;
    switch (message->kind) {
    case DCLI_MSG_EVENTS:
        for (int e = 0; e < message->events.count && fits; e++)
            fits = hear_end(device, &message->events.ended[e]);
        return fits;
    case DCLI_MSG_TAKEN:
        return hear_taken(device, &message->taken);
    case DCLI_MSG_ANSWER:
        hear_answer(device, &message->answer);
        return true;
    case DCLI_MSG_LOST:
        return hear_apart(device, message->lost.peer);
    default:
        return false;
    }
}

/* Handle a received message. @return false: the server breaks the protocol. */
static bool hear(icd_device *device, const dcli_received *received)
{
    if (received->message.epoch != device->server->session)
        return false;
    if (received->message.kind == DCLI_MSG_DATA)
        return hear_data(device, received);
    pthread_mutex_lock(&icd.lock);
    bool fits = device->lost || hear_locked(device, &received->message);
    pthread_mutex_unlock(&icd.lock);
    return fits;
}

/* ---- losses ---- */

bool icd_are_joined(const icd_device *one, const icd_device *other)
{
    return one != NULL && one != other && one->server == other->server && !one->lost && !other->lost &&
           !one->server->apart[one->node * one->server->device_count + other->node];
}

/* The status with which an event ends that can no longer become complete: its device is lost, or an event that it waits
 * for has failed. */
static cl_int status_of_lost(const icd_event *event)
{
    for (int w = 0; w < event->wait_count; w++)
        if (event->wait[w]->status < 0)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return CL_DEVICE_NOT_AVAILABLE;
}

void icd_lose(icd_device *device, const char *why)
{
    if (device->lost)
        return;
    device->lost = true;
    snprintf(device->why, sizeof device->why, "%s", why);
    while (device->first != NULL) {
        icd_batch *batch = device->first;
        device->first = batch->next;
        for (int c = 0; c < batch->count; c++)
            dcli_free(batch->text[c]);
        dcli_free(batch);
    }
    device->last = &device->first;
    device->has_posted = false;
    while (device->pending != NULL)
        icd_event_end(device->pending, status_of_lost(device->pending), NULL);
    pthread_cond_broadcast(&icd.changed);
}

/* Treat a device as lost: end its process, so that none of its commands continues. */
static void lose(icd_device *device, const char *seen)
{
    char sentence[DCLI_ERROR_BYTES];
    if (device->lost)
        return;
    dcli_worker_pool_lose(device->server->pool, device->node, seen, sentence, sizeof sentence);
    dcli_endpoint_drop(device->server->endpoint, device->node);
    fprintf(stderr, "dcl opencl: %s\n", sentence);
    pthread_mutex_lock(&icd.lock);
    icd_lose(device, sentence);
    pthread_mutex_unlock(&icd.lock);
}

/* Treat a device as lost whose connection has ended: its process may have, too. */
static void lose_connection(icd_device *device, const char *seen)
{
    if (!device->lost)
        dcli_worker_pool_await_end(device->server->pool, device->node, FAREWELL_MS);
    lose(device, seen);
}

/* Take a loss that the process monitor has reported. @return the number of the device; -1: there is none. */
static int take_loss(icd_server *server, char seen_out[ICD_SEEN_BYTES])
{
    int taken = -1;
    pthread_mutex_lock(&icd.lock);
    for (int d = 0; server->has_losses && d < server->device_count && taken < 0; d++)
        if (server->reported[d]) {
            server->reported[d] = false;
            memcpy(seen_out, server->seen[d], ICD_SEEN_BYTES);
            taken = d;
        }
    server->has_losses = taken >= 0;
    pthread_mutex_unlock(&icd.lock);
    return taken;
}

/* Handle the losses of devices. @return whether some device is left. */
static bool handle_losses(icd_server *server)
{
    char seen[ICD_SEEN_BYTES];
    for (int d; (d = take_loss(server, seen)) >= 0;)
        lose(server->device[d], seen);
    for (int d = 0; d < server->device_count; d++)
        if (!server->device[d]->lost)
            return true;
    return false;
}

/* ---- serving ---- */

/* Receive one message. @return false: there is none. */
static bool receive_one(icd_server *server, int milliseconds)
{
    dcli_received received = {0};
    char why[DCLI_ERROR_BYTES];
    dcl_status status = dcli_endpoint_receive(server->endpoint, milliseconds, &received);
    if (status == DCL_ERR_TIMEOUT)
        return false;
    int from = received.from;
    bool known = from >= 0 && from < server->device_count;
    if (status == DCL_OK && known && !hear(server->device[from], &received))
        lose(server->device[from], "it has sent what the protocol does not allow");
    if (status == DCL_OK) {
        dcli_received_free(&received);
        return true;
    }
    snprintf(why, sizeof why, "%s", dcli_error_sentence());
    if (status == DCL_ERR_NODE_LOST || status == DCL_ERR_PROTOCOL) {
        if (known)
            lose_connection(server->device[from], why);
        return true;
    }
    for (int d = 0; d < server->device_count; d++) /* without a connection all of them are lost */
        lose_connection(server->device[d], why);
    return true;
}

bool icd_serve_once(icd_server *server)
{
    enum { MOST_IN_TURN = 64 };
    flush(server);
    bool any = receive_one(server, -1);
    for (int n = 0; any && n < MOST_IN_TURN; n++)
        any = receive_one(server, 0);
    return handle_losses(server);
}
