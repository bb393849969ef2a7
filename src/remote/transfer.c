/* remote/transfer.c - data between the driver and buffers, in chunks that are received, copied and sent at the same
 * time.
 *
 * If the driver can map the memory of the buffer, a transfer has no chunks: the buffer is mapped, its memory is sent as
 * the payload of one message, the driver copies and says so, and the buffer is unmapped.
 *
 * A read of more than WINDOW bytes from a device that works in host memory sends the memory of the buffer itself, in
 * chunks: the buffer is mapped meanwhile. Smaller reads are copied first, so that later commands of their queue need
 * not wait until they are sent.
 *
 * The driver may send the first bytes of a write before the write's turn has come, as many as its limit for all
 * transfers allows; the rest it sends when it is granted, which happens when the write has begun. So memory is bounded,
 * and no write waits for one that waits itself. A read is at most WINDOW bytes ahead of what the driver has taken.
 *
 * For comparison, the driver can ask that a transfer is stored and forwarded: all of it arrives before the device
 * copies any, and the device copies all of it before any is sent.
 *
 * Between two servers, the source has a read and the target a write of the same number. The target grants as to a
 * driver; the source sends nothing before that, except small transfers. The read ends when all is sent and granted. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/error.h"
#include "remote/inside.h"

enum {
    WINDOW = 16 << 20, /* bytes of a transfer that are under way */
    CALLED_BYTES =
        4 << 20, /* in a queue in order, the device's driver tells the end of one chunk of a write in so many bytes */
    MOST_COPIED = 256 << 10, /* bytes of a read that the serving thread copies itself */
    MOST_SHARED = 128 << 10, /* of any transfer on one host: with larger ones, a second thread that copies saves time */
};

/* ---- chunks ---- */

void dcli_chunk_free(dcli_remote *remote, dcli_chunk *chunk)
{
    dcli_received_free(&chunk->received);
    if (chunk->bytes != NULL)
        dcli_buffers_give(chunk->bytes);
    dcli_object_drop(remote, chunk->transfer);
    dcli_free(chunk);
}

static dcli_chunk *make_chunk(dcli_object *transfer, int64_t offset, int64_t length)
{
    dcli_chunk *chunk = dcli_calloc(1, sizeof *chunk);
    if (chunk == NULL)
        return NULL;
    *chunk = (dcli_chunk){.transfer = dcli_object_hold(transfer), .offset = offset, .length = length};
    return chunk;
}

static bool is_between_servers(const dcli_remote *remote, const dcli_object *transfer)
{
    return transfer->transfer.peer != remote->terms.client;
}

static dcl_status say_taken(dcli_remote *remote, const dcli_object *transfer, int64_t granted)
{
    dcli_message message = {.kind = DCLI_MSG_TAKEN,
                            .epoch = remote->terms.session,
                            .taken = {.transfer = transfer->number, .granted = granted}};
    dcl_status status = dcli_endpoint_send(remote->terms.endpoint, transfer->transfer.peer, &message, NULL);
    return status == DCL_ERR_NETWORK ? DCL_OK : status; /* receiving reports why */
}

/* ---- the device's part ---- */

static cl_int copy_box(const dcli_task *task, bool in, const dcli_span *span, dcli_chunk *chunk, const void *bytes,
                       cl_uint waits, const cl_event *wait, cl_event *real)
{
    dcli_span_box box = dcli_span_box_of(span, chunk->offset, chunk->length);
    cl_command_queue queue = task->queue->queue.queue;
    cl_mem mem = task->object->buffer.mem;
    void *target = (void *)(uintptr_t)bytes;
    if (box.rows == 1 && box.slices == 1)
        return in ? clEnqueueWriteBuffer(queue, mem, CL_FALSE, (size_t)box.offset, (size_t)chunk->length, bytes, waits,
                                         wait, real)
                  : clEnqueueReadBuffer(queue, mem, CL_FALSE, (size_t)box.offset, (size_t)chunk->length, target, waits,
                                        wait, real);
    size_t pitch = (size_t)dcli_max(span->row_pitch, span->row_bytes);
    size_t slice = (size_t)dcli_max(span->slice_pitch, span->rows * (int64_t)pitch);
    const size_t offset = (size_t)box.offset, none[3] = {0, 0, 0};
    const size_t region[3] = {(size_t)box.row_bytes, (size_t)box.rows, (size_t)box.slices};
    size_t own_slice = region[0] * region[1];
    /* The origin as slice, row and column; where the box crosses the end of a row, as a column alone. */
    size_t place[3] = {offset % slice % pitch, offset % slice / pitch, offset / slice};
    if (place[0] + region[0] > pitch || (place[1] + region[1]) * pitch > slice) {
        place[0] = offset;
        place[1] = place[2] = 0;
    }
    return in ? clEnqueueWriteBufferRect(queue, mem, CL_FALSE, place, none, region, pitch, slice, region[0], own_slice,
                                         bytes, waits, wait, real)
              : clEnqueueReadBufferRect(queue, mem, CL_FALSE, place, none, region, pitch, slice, region[0], own_slice,
                                        target, waits, wait, real);
}

/* Let later commands of the device wait for the end of a transfer's last chunk. */
static void later_wait_for(dcli_task *task, cl_event real)
{
    clRetainEvent(real);
    task->event->event.real = real;
    task->event->event.pending = true;
}

/* Submit the copy of one chunk. @return its status; on failure the chunk is not under way. */
static cl_int submit_chunk(dcli_remote *remote, dcli_task *task, dcli_chunk *chunk, bool in)
{
    cl_event wait[DCLI_MOST_COMMAND_WAITS], real = NULL;
    cl_uint waits = dcli_task_waits(task, wait);
    dcli_object *transfer = task->transfer;
    cl_int code = copy_box(task, in, &transfer->transfer.span, chunk, in ? chunk->received.payload : chunk->bytes,
                           waits, waits > 0 ? wait : NULL, &real);
    if (code != CL_SUCCESS)
        return code;
    task->queue->queue.dirty = true;
    bool last = chunk->offset + chunk->length == transfer->transfer.total;
    if (task->first_event == NULL && task->queue->queue.profiles) {
        clRetainEvent(real);
        task->first_event = real;
    }
    if (last && task->queue->queue.profiles) {
        clRetainEvent(real);
        task->last_event = real;
    }
    chunk->is_last = last && task->event != NULL && (task->queue->queue.in_order || chunk->offset == 0);
    transfer->transfer.outstanding++;
    if (dcli_completion_ask(remote, task->queue, real, NULL, chunk) != DCL_OK) {
        clWaitForEvents(1, &real); /* nobody reports the end of the copy, and the caller frees its memory */
        clReleaseEvent(real);
        transfer->transfer.outstanding--;
        return CL_OUT_OF_RESOURCES;
    }
    if (chunk->is_last)
        later_wait_for(task, real);
    clReleaseEvent(real);
    return CL_SUCCESS;
}

/* ---- copies by the serving thread ---- */

/* Whether the serving thread may copy from and to the buffer itself: the device works in that memory, and has ended all of its
 * commands. This is faster than a command of the device, which wakes a thread of its driver and this one again. A copy has no times, as
 * a queue with profiling needs. */
static bool may_copy(const dcli_remote *remote, const dcli_task *task)
{
    const dcli_span *span = &task->transfer->transfer.span;
    return task->object->buffer.memory != NULL && remote->outstanding == 0 && !task->queue->queue.profiles &&
           span->rows == 1 && span->slices == 1 &&
           (!remote->terms.shares || task->transfer->transfer.total <= MOST_SHARED);
}

static char *memory_of(const dcli_task *task, int64_t offset)
{
    return task->object->buffer.memory + task->transfer->transfer.span.offset + offset;
}

/* ---- ending ---- */

/* Record that a transfer fails. Its event ends later; commands that the device has run after it fail already. */
static void note_failure(dcli_task *task, cl_int status)
{
    if (task->status != CL_SUCCESS)
        return;
    task->status = status;
    if (task->event != NULL && !task->event->event.ended)
        task->event->status = status;
}

/* End the command of a transfer when all of it was submitted and the device has ended it. */
static void end_if_done(dcli_remote *remote, dcli_object *transfer)
{
    dcli_task *task = transfer->transfer.task;
    bool all = task != NULL && (transfer->transfer.submitted == transfer->transfer.total || task->status != CL_SUCCESS);
    if (all && task->kind == DCLI_CL_READ && is_between_servers(remote, transfer) && task->status == CL_SUCCESS)
        all = transfer->transfer.granted == transfer->transfer.total;
    if (!all || transfer->transfer.outstanding > 0 || transfer->transfer.sent != NULL || task->listed)
        return;
    if (task->status == CL_SUCCESS && task->event != NULL)
        dcli_event_end(remote, task->event, CL_SUCCESS, task->first_event, task->last_event);
    dcli_task_end(remote, task, task->status);
}

void dcli_payload_give(void *bytes, void *user)
{
    (void)user;
    dcli_buffers_give(bytes);
}

static void send_chunk(dcli_remote *remote, dcli_chunk *chunk)
{
    dcli_message message = {.kind = DCLI_MSG_DATA,
                            .epoch = remote->terms.session,
                            .data = {.transfer = chunk->transfer->number, .offset = chunk->offset}};
    dcli_payload payload = {.bytes = chunk->bytes, .length = (size_t)chunk->length, .release = dcli_payload_give};
    int to = chunk->transfer->transfer.peer;
    chunk->bytes = NULL;
    dcli_endpoint_send(remote->terms.endpoint, to, &message, &payload); /* receiving reports errors */
}

/* ---- in place ---- */

/* Have the end of mapping or unmapping reported as that of a chunk. */
static cl_int follow(dcli_remote *remote, dcli_task *task, dcli_chunk *chunk, cl_event real)
{
    task->queue->queue.dirty = true;
    task->transfer->transfer.outstanding++;
    if (dcli_completion_ask(remote, task->queue, real, NULL, chunk) == DCL_OK)
        return CL_SUCCESS;
    task->transfer->transfer.outstanding--;
    return CL_OUT_OF_RESOURCES;
}

/* Map the buffer, after what the transfer waits for. */
static cl_int map_place(dcli_remote *remote, dcli_task *task)
{
    cl_event wait[DCLI_MOST_COMMAND_WAITS], real = NULL;
    cl_uint waits = dcli_task_waits(task, wait);
    dcli_object *transfer = task->transfer;
    cl_map_flags flags = task->kind == DCLI_CL_WRITE ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ;
    dcli_chunk *chunk = make_chunk(transfer, 0, transfer->transfer.total);
    if (chunk == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code;
    chunk->place = clEnqueueMapBuffer(task->queue->queue.queue, task->object->buffer.mem, CL_FALSE, flags,
                                      (size_t)transfer->transfer.span.offset, (size_t)transfer->transfer.total, waits,
                                      waits > 0 ? wait : NULL, &real, &code);
    if (code == CL_SUCCESS && task->queue->queue.profiles) {
        clRetainEvent(real);
        task->first_event = real;
    }
    if (code == CL_SUCCESS && (code = follow(remote, task, chunk, real)) != CL_SUCCESS)
        clEnqueueUnmapMemObject(task->queue->queue.queue, task->object->buffer.mem, chunk->place, 1, &real, NULL);
    if (real != NULL)
        clReleaseEvent(real);
    if (code != CL_SUCCESS)
        dcli_chunk_free(remote, chunk);
    return code;
}

/* The buffer is mapped: let the driver copy. */
static void place_ready(dcli_remote *remote, dcli_chunk *chunk, cl_int status)
{
    dcli_object *transfer = chunk->transfer;
    dcli_task *task = transfer->transfer.task;
    if (task != NULL && status != CL_SUCCESS)
        note_failure(task, status);
    if (task != NULL && status == CL_SUCCESS)
        transfer->transfer.mapped = chunk->place;
    if (task != NULL && status == CL_SUCCESS && transfer->transfer.loan == NULL) {
        dcli_message message = {
            .kind = DCLI_MSG_DATA, .epoch = remote->terms.session, .data = {.transfer = transfer->number}};
        dcli_payload payload = {.bytes = task->object->buffer.place + transfer->transfer.span.offset,
                                .length = (size_t)chunk->length};
        dcli_endpoint_send(remote->terms.endpoint, remote->terms.client, &message, &payload);
    }
    remote->stuck_dirty = true;
    dcli_chunk_free(remote, chunk);
}

/* Unmap the buffer, in which the driver has read or written. The end of that is the end of the transfer. Without
 * memory the transfer fails, but the buffer is unmapped. */
static cl_int unmap_place(dcli_remote *remote, dcli_task *task)
{
    dcli_object *transfer = task->transfer;
    cl_event real = NULL;
    cl_int code = clEnqueueUnmapMemObject(task->queue->queue.queue, task->object->buffer.mem, transfer->transfer.mapped,
                                          0, NULL, &real);
    dcli_chunk *chunk = make_chunk(transfer, 0, transfer->transfer.total);
    if (code == CL_SUCCESS && task->queue->queue.profiles) {
        clRetainEvent(real);
        task->last_event = real;
    }
    if (chunk != NULL)
        chunk->is_last = task->event != NULL && task->queue->queue.in_order;
    if (code == CL_SUCCESS)
        code = chunk != NULL ? follow(remote, task, chunk, real) : CL_OUT_OF_HOST_MEMORY;
    if (code == CL_SUCCESS && chunk->is_last)
        later_wait_for(task, real);
    if (real != NULL)
        clReleaseEvent(real);
    if (code != CL_SUCCESS && chunk != NULL)
        dcli_chunk_free(remote, chunk);
    transfer->transfer.submitted = transfer->transfer.total;
    transfer->transfer.mapped = NULL;
    return code;
}

/* Whether all of a transfer was given to the device, or it has failed: then it is listed no longer. */
static bool has_ended(dcli_remote *remote, dcli_task *task, dcli_object *transfer)
{
    if (transfer->transfer.submitted < transfer->transfer.total && task->status == CL_SUCCESS)
        return false;
    task->listed = false;
    end_if_done(remote, transfer);
    return true;
}

/* End of the bytes that may be read and sent now. */
static int64_t end_of_reads(const dcli_remote *remote, const dcli_object *transfer)
{
    if (transfer->transfer.stored)
        return transfer->transfer.total;
    return is_between_servers(remote, transfer) ? dcli_max(transfer->transfer.granted, transfer->transfer.eager)
                                                : transfer->transfer.granted + WINDOW;
}

/* ---- sending memory of buffers ---- */

dcl_status dcli_lender_open(dcli_remote *remote)
{
    dcli_lender *lender = dcli_calloc(1, sizeof *lender);
    if (lender == NULL)
        return DCL_ERR_NOMEM;
    pthread_mutex_init(&lender->lock, NULL);
    dcli_cond_init(&lender->none);
    lender->endpoint = remote->terms.endpoint;
    remote->lender = lender;
    return DCL_OK;
}

bool dcli_lender_await(dcli_remote *remote, int milliseconds)
{
    dcli_lender *lender = remote->lender;
    const struct timespec until = dcli_in_ms(milliseconds);
    int code = 0;
    if (lender == NULL)
        return true;
    pthread_mutex_lock(&lender->lock);
    while (lender->loans > 0 && code == 0)
        code = pthread_cond_timedwait(&lender->none, &lender->lock, &until);
    bool returned = lender->loans == 0;
    pthread_mutex_unlock(&lender->lock);
    return returned;
}

/* A lender with loans stays until the process ends: they will be returned to it. */
void dcli_lender_close(dcli_remote *remote)
{
    dcli_lender *lender = remote->lender;
    if (lender == NULL)
        return;
    remote->lender = NULL;
    pthread_mutex_lock(&lender->lock);
    lender->endpoint = NULL;
    bool unused = lender->loans == 0;
    pthread_mutex_unlock(&lender->lock);
    if (unused) {
        pthread_cond_destroy(&lender->none);
        pthread_mutex_destroy(&lender->lock);
        dcli_free(lender);
    }
}

/* Release function of a payload that is memory of a buffer, called by any thread. The last one of a transfer wakes
 * the serving thread, which may free the loan as soon as its count is 0. */
static void return_loan(void *bytes, void *user)
{
    dcli_loan *loan = user;
    dcli_lender *lender = loan->lender;
    (void)bytes;
    pthread_mutex_lock(&lender->lock);
    if (--lender->loans == 0)
        pthread_cond_signal(&lender->none);
    if (atomic_fetch_sub(&loan->count, 1) == 1) {
        atomic_store(&lender->returned, true);
        if (lender->endpoint != NULL)
            dcli_endpoint_wake(lender->endpoint);
    }
    pthread_mutex_unlock(&lender->lock);
}

static bool may_lend(const dcli_remote *remote, const dcli_task *task)
{
    const dcli_object *transfer = task->transfer;
    return remote->lender != NULL && task->kind == DCLI_CL_READ && remote->in_place && !remote->terms.shares &&
           !transfer->transfer.stored && transfer->transfer.span.rows == 1 && transfer->transfer.span.slices == 1 &&
           transfer->transfer.total > WINDOW;
}

static void lend_more(dcli_remote *remote, dcli_object *transfer)
{
    int64_t end = dcli_min(end_of_reads(remote, transfer), transfer->transfer.total);
    while (transfer->transfer.lent < end) {
        int64_t length =
            dcli_span_chunk(&transfer->transfer.span, transfer->transfer.lent, transfer->transfer.chunk_bytes);
        dcli_message message = {.kind = DCLI_MSG_DATA,
                                .epoch = remote->terms.session,
                                .data = {.transfer = transfer->number, .offset = transfer->transfer.lent}};
        dcli_payload payload = {.bytes = (char *)transfer->transfer.mapped + transfer->transfer.lent,
                                .length = (size_t)length,
                                .release = return_loan,
                                .user = transfer->transfer.loan};
        pthread_mutex_lock(&remote->lender->lock);
        remote->lender->loans++;
        pthread_mutex_unlock(&remote->lender->lock);
        atomic_fetch_add(&transfer->transfer.loan->count, 1);
        transfer->transfer.lent += length;
        dcli_endpoint_send(remote->terms.endpoint, transfer->transfer.peer, &message,
                           &payload); /* receiving reports errors */
    }
}

/* As dcli_transfer_go() for a read that sends the memory of the buffer. It stays mapped until nothing of it is being
 * sent, also after a failure. */
static bool go_lent(dcli_remote *remote, dcli_task *task)
{
    dcli_object *transfer = task->transfer;
    if (!task->begun) {
        task->begun = true;
        if (task->status == CL_SUCCESS) /* the other end may have failed before */
            task->status = map_place(remote, task);
    } else if (transfer->transfer.mapped != NULL) {
        if (task->status == CL_SUCCESS)
            lend_more(remote, transfer);
        bool all = transfer->transfer.lent == transfer->transfer.total || task->status != CL_SUCCESS;
        if (!all || atomic_load(&transfer->transfer.loan->count) > 0)
            return false;
        cl_int code = unmap_place(remote, task);
        if (task->status == CL_SUCCESS)
            task->status = code;
    } else if (transfer->transfer.outstanding > 0) {
        return false; /* it is being mapped */
    }
    return has_ended(remote, task, transfer);
}

/* As dcli_transfer_go() for a transfer in place. */
static bool go_in_place(dcli_remote *remote, dcli_task *task)
{
    dcli_object *transfer = task->transfer;
    if (!task->begun) {
        task->begun = true;
        task->status = map_place(remote, task);
    } else if (task->status == CL_SUCCESS && transfer->transfer.copied) {
        task->status = unmap_place(remote, task);
    }
    return has_ended(remote, task, transfer);
}

void dcli_chunk_done(dcli_remote *remote, dcli_chunk *chunk, cl_int status)
{
    dcli_object *transfer = dcli_object_hold(chunk->transfer);
    dcli_task *task = transfer->transfer.task;
    transfer->transfer.outstanding--;
    if (chunk->place != NULL) {
        place_ready(remote, chunk, status);
        dcli_object_drop(remote, transfer);
        return;
    }
    if (status == CL_SUCCESS && task != NULL && dcli_waits_failed(task->wait, task->wait_count, task->lenient))
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    chunk->done = true;
    chunk->status = status;
    if (status != CL_SUCCESS && task != NULL)
        note_failure(task, status);
    if (chunk->is_last && task != NULL)
        task->event->event.pending = false;
    if (chunk->bytes == NULL) { /* of a write */
        transfer->transfer.ended += chunk->length;
        dcli_chunk_free(remote, chunk);
    }
    if (task != NULL && task->listed)
        remote->stuck_dirty = true;
    bool holds = transfer->transfer.stored && task != NULL && task->status == CL_SUCCESS &&
                 (transfer->transfer.submitted < transfer->transfer.total || transfer->transfer.outstanding > 0);
    while (!holds && transfer->transfer.sent != NULL && transfer->transfer.sent->done) {
        dcli_chunk *next = transfer->transfer.sent;
        if ((transfer->transfer.sent = next->next) == NULL)
            transfer->transfer.sent_last = &transfer->transfer.sent;
        if (next->status == CL_SUCCESS)
            send_chunk(remote, next);
        dcli_chunk_free(remote, next);
    }
    end_if_done(remote, transfer);
    dcli_object_drop(remote, transfer);
}

void dcli_transfer_fail(dcli_remote *remote, dcli_task *task, cl_int status)
{
    dcli_object *transfer = dcli_object_hold(task->transfer);
    if (task->status == CL_SUCCESS)
        task->status = status;
    task->listed = false;
    end_if_done(remote, transfer);
    dcli_object_drop(remote, transfer);
}

void dcli_transfer_stop(dcli_remote *remote, dcli_object *transfer, cl_int status)
{
    dcli_task *task = transfer->transfer.task;
    if (task == NULL)
        return;
    note_failure(task, status);
    remote->stuck_dirty = true; /* if it is listed, it ends when the list is looked at */
    dcli_object_hold(transfer);
    end_if_done(remote, transfer);
    dcli_object_drop(remote, transfer);
}

/* ---- writes ---- */

/* Whether to wait for the contents of a transfer before granting it. A small transfer of another server usually comes without a
 * grant, which would only delay its contents. Its sender may have too many of them under way, and then waits for the grant. So it is granted
 * after a while, however busy this server is. */
static bool awaits_contents(dcli_remote *remote, dcli_object *transfer)
{
    bool small = is_between_servers(remote, transfer) && transfer->transfer.total <= DCLI_PEER_EAGER;
    if (!small || transfer->transfer.arrived == transfer->transfer.total ||
        transfer->transfer.granted == transfer->transfer.total)
        return false;
    int64_t now_ns = dcli_monotonic_ns(), *first_ns = &remote->peers.small_due_ns;
    if (transfer->transfer.due_ns == 0)
        transfer->transfer.due_ns = now_ns + DCLI_PEER_PATIENCE_MS * INT64_C(1000000);
    if (now_ns >= transfer->transfer.due_ns)
        return false;
    *first_ns = *first_ns == 0 ? transfer->transfer.due_ns : dcli_min(*first_ns, transfer->transfer.due_ns);
    return true;
}

/* Let the sender send more, if the device has taken enough of what has arrived. */
static void grant(dcli_remote *remote, dcli_object *transfer)
{
    int64_t ahead = transfer->transfer.stored ? transfer->transfer.total : WINDOW,
            upto = dcli_min(transfer->transfer.total, transfer->transfer.ended + ahead);
    bool much = upto - transfer->transfer.granted >= WINDOW / 2 || upto == transfer->transfer.total;
    if (awaits_contents(remote, transfer))
        return;
    bool has_all = transfer->transfer.arrived == transfer->transfer.total && !is_between_servers(remote, transfer);
    if (has_all || upto <= transfer->transfer.granted || !much)
        return;
    transfer->transfer.granted = upto;
    say_taken(remote, transfer, upto);
}

static void write_more(dcli_remote *remote, dcli_task *task)
{
    dcli_object *transfer = task->transfer;
    remote->held_bytes -= transfer->transfer.held;
    transfer->transfer.held = 0;
    bool holds = transfer->transfer.stored && transfer->transfer.arrived < transfer->transfer.total;
    while (!holds && transfer->transfer.first != NULL && task->status == CL_SUCCESS) {
        dcli_chunk *chunk = transfer->transfer.first;
        if ((transfer->transfer.first = chunk->next) == NULL)
            transfer->transfer.last = &transfer->transfer.first;
        chunk->next = NULL;
        transfer->transfer.submitted += chunk->length;
        if (may_copy(remote, task)) {
            if (transfer->transfer.total >= DCLI_STREAMED_BYTES)
                dcli_copy_streamed(memory_of(task, chunk->offset), chunk->received.payload, (size_t)chunk->length);
            else
                memcpy(memory_of(task, chunk->offset), chunk->received.payload, (size_t)chunk->length);
            transfer->transfer.ended += chunk->length;
            dcli_chunk_free(remote, chunk);
            continue;
        }
        chunk->untold = task->queue->queue.in_order && chunk->offset + chunk->length < transfer->transfer.total &&
                        chunk->offset / CALLED_BYTES == (chunk->offset + chunk->length) / CALLED_BYTES;
        cl_int code = submit_chunk(remote, task, chunk, true);
        if (code != CL_SUCCESS) {
            task->status = code;
            dcli_chunk_free(remote, chunk);
        }
    }
    grant(remote, transfer);
}

/* ---- reads ---- */

/* Decide whether a transfer to another server may be sent before it is granted: a short one, within the session's
 * limit. */
static void choose_eager(dcli_remote *remote, dcli_object *transfer)
{
    int64_t total = transfer->transfer.total, counts = dcli_max(total, DCLI_PEER_LEAST);
    if (!is_between_servers(remote, transfer) || total > DCLI_PEER_EAGER ||
        counts > DCLI_PEER_EAGER_SESSION - remote->peers.eager_bytes)
        return;
    transfer->transfer.eager = total;
    remote->peers.eager_bytes += counts;
}

static void read_more(dcli_remote *remote, dcli_task *task)
{
    dcli_object *transfer = task->transfer;
    int64_t total = transfer->transfer.total, end = end_of_reads(remote, transfer);
    while (transfer->transfer.submitted < total && task->status == CL_SUCCESS && transfer->transfer.submitted < end) {
        int64_t offset = transfer->transfer.submitted,
                length = dcli_span_chunk(&transfer->transfer.span, offset, transfer->transfer.chunk_bytes);
        dcli_chunk *chunk = make_chunk(transfer, offset, length);
        if (chunk != NULL)
            chunk->bytes = dcli_buffers_take(remote->terms.buffers, (size_t)length);
        if (chunk == NULL || chunk->bytes == NULL) {
            task->status = CL_OUT_OF_HOST_MEMORY;
            if (chunk != NULL)
                dcli_chunk_free(remote, chunk);
            return;
        }
        if (total <= MOST_COPIED && !transfer->transfer.stored && may_copy(remote, task)) {
            memcpy(chunk->bytes, memory_of(task, offset), (size_t)length);
            transfer->transfer.submitted += length;
            send_chunk(remote, chunk);
            dcli_chunk_free(remote, chunk);
            continue;
        }
        cl_int code = submit_chunk(remote, task, chunk, false);
        if (code != CL_SUCCESS) {
            task->status = code;
            dcli_chunk_free(remote, chunk);
            return;
        }
        *transfer->transfer.sent_last = chunk;
        transfer->transfer.sent_last = &chunk->next;
        transfer->transfer.submitted += length;
    }
}

bool dcli_transfer_go(dcli_remote *remote, dcli_task *task)
{
    dcli_object *transfer = task->transfer;
    if (transfer->transfer.in_place)
        return go_in_place(remote, task);
    if (!task->begun && may_lend(remote, task) && (transfer->transfer.loan = dcli_calloc(1, sizeof(dcli_loan))) != NULL)
        transfer->transfer.loan->lender = remote->lender;
    if (transfer->transfer.loan != NULL)
        return go_lent(remote, task);
    if (!task->begun && task->kind == DCLI_CL_READ)
        choose_eager(remote, transfer);
    task->begun = true;
    if (task->kind == DCLI_CL_WRITE)
        write_more(remote, task);
    else
        read_more(remote, task);
    return has_ended(remote, task, transfer);
}

/* ---- messages ---- */

static dcl_status broken(const char *what)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL,
                     "the data of a transfer %s; expected them as granted, in order and in chunks of the "
                     "session's size; use the same release on both sides",
                     what);
}

dcl_status dcli_transfer_data(dcli_remote *remote, int from, dcli_received *received)
{
    const dcli_msg_data *data = &received->message.data;
    int64_t length = (int64_t)received->payload_bytes;
    if (received->payload_missing)
        return DCLI_FAIL(DCL_ERR_NOMEM, "there is no memory for the data of a transfer; free memory");
    dcli_object *transfer = dcli_object_find(remote, data->transfer, DCLI_OBJECT_TRANSFER);
    if (transfer == NULL)
        return DCL_OK; /* its command has failed */
    dcli_task *task = transfer->transfer.task;
    if (task == NULL || from != transfer->transfer.peer || task->kind != DCLI_CL_WRITE || transfer->transfer.in_place ||
        data->offset != transfer->transfer.arrived || data->offset >= transfer->transfer.total ||
        length != dcli_span_chunk(&transfer->transfer.span, data->offset, transfer->transfer.chunk_bytes))
        return broken("are out of place");
    int64_t ahead = is_between_servers(remote, transfer) ? DCLI_PEER_EAGER : DCLI_EAGER_TRANSFER;
    if (data->offset + length > dcli_max(transfer->transfer.granted, ahead))
        return broken("exceed what was granted");
    if (!task->begun) {
        transfer->transfer.held += length;
        remote->held_bytes += length;
        if (remote->held_bytes > 2 * DCLI_EAGER_SESSION + remote->terms.client * (int64_t)DCLI_PEER_EAGER_SESSION)
            return broken("exceed what may be sent before it is granted");
    }
    dcli_chunk *chunk = make_chunk(transfer, data->offset, length);
    if (chunk == NULL)
        return DCL_ERR_NOMEM;
    chunk->received = *received;
    *received = (dcli_received){0};
    transfer->transfer.arrived += length;
    *transfer->transfer.last = chunk;
    transfer->transfer.last = &chunk->next;
    remote->stuck_dirty = true;
    return DCL_OK;
}

dcl_status dcli_transfer_taken(dcli_remote *remote, int from, const dcli_msg_taken *taken)
{
    if (taken->transfer == DCLI_OUTPUT_TRANSFER && from == remote->terms.client)
        return dcli_kernel_output_taken(remote, taken->granted) ? DCL_OK
                                                                : broken("were taken before they were printed");
    dcli_object *transfer = dcli_object_find(remote, taken->transfer, DCLI_OBJECT_TRANSFER);
    if (transfer == NULL)
        return DCL_OK; /* it has ended meanwhile */
    dcli_task *task = transfer->transfer.task;
    if (from != transfer->transfer.peer)
        return broken("were taken by a peer that does not receive them");
    if (transfer->transfer.in_place) {
        if (transfer->transfer.mapped == NULL || transfer->transfer.copied ||
            taken->granted != transfer->transfer.total)
            return broken("were copied before they could be");
        transfer->transfer.copied = remote->stuck_dirty = true;
        return DCL_OK;
    }
    int64_t sent = transfer->transfer.loan != NULL ? transfer->transfer.lent : transfer->transfer.submitted;
    int64_t most = is_between_servers(remote, transfer) ? transfer->transfer.total : sent;
    if (task == NULL || task->kind != DCLI_CL_READ || taken->granted > most)
        return broken("were taken before they were sent");
    transfer->transfer.granted = dcli_max(transfer->transfer.granted, taken->granted);
    remote->stuck_dirty = true;
    dcli_object_hold(transfer);
    end_if_done(remote, transfer); /* of a read to another server, this may be the last thing */
    dcli_object_drop(remote, transfer);
    return DCL_OK;
}
