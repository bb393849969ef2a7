/* icd/memory.c - buffers: where their contents are, and how they get where they are needed.
 *
 * A buffer is made on a server when a command there first uses it. In a context with several devices, contents move
 * when a device that has not the newest ones reads them: from server to server, or through this process if the servers cannot reach
 * each other. The order in which the program enqueues decides which are newest. A sub-buffer moves together with its buffer. */
#include <stdlib.h>

#include "icd/entries.h"

static icd_mem *root_of(icd_mem *mem) { return mem->parent != NULL ? mem->parent : mem; }

/* ---- commands that write ---- */

/* Drop events that a move need not wait for: those that have ended and, in a queue in order, those before a later event of the same
 * queue. An event that was never sent has failed, and says nothing about earlier ones. */
static void look_at_writers(icd_writers *writers)
{
    static uint64_t visits; /* guarded by icd.lock */
    uint64_t visit = ++visits;
    int64_t kept = writers->count;
    for (int64_t w = writers->count - 1; w >= 0; w--) {
        icd_event *event = writers->event[w];
        bool in_order = (event->queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
        bool followed = in_order && event->queue->visit == visit;
        if (event->was_sent && event->status > CL_COMPLETE)
            event->queue->visit = visit;
        if (followed || event->status <= CL_COMPLETE)
            icd_drop(event);
        else
            writers->event[--kept] = event;
    }
    writers->count -= kept;
    memmove(writers->event, writers->event + kept, (size_t)writers->count * sizeof(icd_event *));
}

static void drop_writers(icd_writers *writers)
{
    for (int64_t w = 0; w < writers->count; w++)
        icd_drop(writers->event[w]);
    writers->count = 0;
}

/* Add the event of a command that is about to be sent. If the list has events of another device, drop them: what those commands
 * write has been moved to this device, or is overwritten. */
static cl_int add_writer(icd_writers *writers, icd_event *event)
{
    enum { FEW = 4 };
    if (writers->device != event->device)
        drop_writers(writers);
    writers->device = event->device;
    if (writers->count >= writers->look_at) {
        look_at_writers(writers);
        writers->look_at = writers->count < FEW ? FEW : 2 * writers->count;
    }
    if (dcli_grow(&writers->event, writers->count, &writers->capacity, sizeof(icd_event *)) != 0)
        return CL_OUT_OF_HOST_MEMORY;
    writers->event[writers->count++] = icd_hold(event);
    return CL_SUCCESS;
}

/* ---- making buffers on servers ---- */

static cl_int make_on(icd_mem *mem, icd_device *device, int place)
{
    icd_copy *copy = &mem->copy[place];
    if (copy->number != 0)
        return CL_SUCCESS;
    int64_t made = icd_number();
    cl_int status;
    if (mem->parent != NULL) {
        if ((status = make_on(mem->parent, device, place)) != CL_SUCCESS)
            return status;
        const int64_t number[] = {mem->parent->copy[place].number, (int64_t)mem->flags, (int64_t)mem->origin,
                                  (int64_t)mem->bytes};
        status = icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_SUB_BUFFER,
                                                      .object = made,
                                                      .number_count = 4,
                                                      .number = (int64_t *)(uintptr_t)number});
    } else {
        const int64_t number[] = {(int64_t)mem->flags, (int64_t)mem->bytes, mem->context->number[place]};
        status = icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_BUFFER,
                                                      .object = made,
                                                      .number_count = number[2] != 0 ? 3 : 2,
                                                      .number = (int64_t *)(uintptr_t)number});
    }
    if (status == CL_SUCCESS)
        copy->number = made;
    return status;
}

/* The queue in which contents of buffers move. It is out of order, so that no move waits for another. */
static int64_t *work_queue(icd_context *context, int place)
{
    return context->number[place] != 0 ? &context->work_queue[place] : &context->device[place]->work_queue;
}

static cl_int make_work_queue(icd_context *context, int place)
{
    icd_device *device = context->device[place];
    if (*work_queue(context, place) != 0)
        return CL_SUCCESS;
    int shown = 0;
    while (context->shown[shown]->root != device)
        shown++;
    int64_t made = icd_number(),
            number[] = {CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, context->number[place], context->shown[shown]->number};
    number[0] &= (int64_t)icd_device_number(device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
    cl_int status = icd_send(
        device, &(dcli_msg_command){
                    .kind = DCLI_CL_QUEUE, .object = made, .number_count = number[1] != 0 ? 3 : 1, .number = number});
    if (status == CL_SUCCESS)
        *work_queue(context, place) = made;
    return status;
}

/* ---- transfers ---- */

/* How the chunks of a transfer are sent. Over encrypted connections they are small if the program waits for the transfer, or if no other one of
 * its direction is under way. Connections without keys are so fast that small chunks save little. */
static int64_t way_of(const icd_transfer *transfer, const icd_event *event)
{
    const icd_device *device = transfer->device;
    if (device->server->stores)
        return DCLI_STORED;
    if (transfer->in_place)
        return DCLI_IN_PLACE;
    bool alone = event->blocks || device->transfer_count[transfer->in] == 0;
    return alone && device->server->encrypts ? DCLI_IN_FINE_CHUNKS : DCLI_IN_CHUNKS;
}

cl_int icd_transfer_enqueue(icd_device *device, int64_t queue_number, int64_t mem_number, icd_event *event, bool in,
                            const dcli_span *span, void *host, int64_t host_row_pitch, int64_t host_slice_pitch,
                            icd_event *gate)
{
    icd_transfer *transfer = dcli_calloc(1, sizeof *transfer);
    if (transfer == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    *transfer = (icd_transfer){.number = icd_number(),
                               .device = device,
                               .gate = icd_hold(gate),
                               .in = in,
                               .span = *span,
                               .host = host,
                               .host_row_pitch = host_row_pitch,
                               .host_slice_pitch = host_slice_pitch,
                               .total = dcli_span_bytes(span)};
    /* A write that waits for a gate may be granted before its bytes are there: they are sent. */
    transfer->in_place = device->server->shares && !device->server->stores && gate == NULL && span->rows == 1 &&
                         span->slices == 1 && transfer->total > DCLI_PLACED_BYTES;
    transfer->loan = span->rows == 1 && span->slices == 1 ? event->loan : NULL;
    int64_t way = way_of(transfer, event);
    transfer->chunk_bytes = way == DCLI_IN_FINE_CHUNKS ? dcli_span_fine(span, ICD_CHUNK) : ICD_CHUNK;
    int64_t number[] = {transfer->number,  span->offset, span->row_bytes,
                        span->rows,        span->slices, span->row_pitch,
                        span->slice_pitch, way,          0,
                        event->lenient};
    dcli_msg_command command = {.kind = in ? DCLI_CL_WRITE : DCLI_CL_READ,
                                .object = mem_number,
                                .number_count = (event->lenient > 0 ? 4 : 2) + DCLI_SPAN_NUMBERS,
                                .number = number};
    cl_int status = icd_command_send(device, queue_number, event, &command);
    if (status != CL_SUCCESS) {
        icd_drop(transfer->gate);
        dcli_free(transfer);
        return status;
    }
    event->transfer = transfer->number;
    icd_transfer_begin(transfer);
    return CL_SUCCESS;
}

static dcli_span whole(const icd_mem *mem)
{
    return (dcli_span){.row_bytes = (int64_t)mem->bytes, .rows = 1, .slices = 1};
}

/* ---- moving contents ---- */

/* Memory through which contents move. Either side may be lost while the other still uses it. */
typedef struct icd_relay {
    int users;
    void *memory;
} icd_relay;

static void free_when_both_ended(icd_event *event)
{
    icd_relay *relay = event->at_end_user;
    if (--relay->users > 0)
        return;
    dcli_free(relay->memory);
    dcli_free(relay);
}

/* At the end of the transfer of a buffer's initial contents: free the driver's copy of them, if no other device needs
 * it, and drop the buffer. */
static void drop_mem(icd_event *event)
{
    icd_mem *mem = event->at_end_user;
    if (mem->context->device_count == 1 && mem->initial != mem->host) {
        dcli_free(mem->initial);
        mem->initial = NULL;
    }
    icd_drop(mem);
}

/* Make an event of the driver's own, which the program does not see. */
static icd_event *internal(icd_mem *mem, icd_device *device)
{
    return icd_event_make(mem->context, NULL, device, 0, 0, NULL);
}

/* Write a buffer's initial contents to a device. */
static cl_int move_initial(icd_mem *mem, icd_device *device, int place)
{
    icd_event *event = internal(mem, device);
    if (event == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    dcli_span span = whole(mem);
    cl_int status = icd_transfer_enqueue(device, *work_queue(mem->context, place), mem->copy[place].number, event, true,
                                         &span, mem->initial, span.row_bytes, span.row_bytes, NULL);
    if (status == CL_SUCCESS) {
        event->at_end = drop_mem;
        event->at_end_user = icd_hold(mem);
        mem->copy[place].ready = icd_hold(event);
        mem->copy[place].source = place;
    }
    icd_drop(event);
    return status;
}

/* Have the event of a read of a buffer's contents wait until they are there. It may read what a command has left that
 * failed. But if the contents were to come by a move, this must not have failed. */
static cl_int await_contents(icd_event *out, icd_mem *mem, int from)
{
    cl_int status = CL_SUCCESS;
    look_at_writers(&mem->writers);
    for (int64_t w = 0; w < mem->writers.count && status == CL_SUCCESS; w++)
        status = icd_event_also(out, mem->writers.event[w]);
    out->lenient = out->wait_count;
    return status == CL_SUCCESS ? icd_event_also(out, mem->copy[from].ready) : status;
}

/* Have the event of a write of moved contents wait for an earlier move to the same copy, which is not needed any more. */
static cl_int await_earlier_move(icd_event *in, const icd_copy *copy)
{
    cl_int status = icd_event_also(in, copy->ready);
    in->lenient = in->wait_count;
    return status;
}

/* A transfer between two servers. */
typedef struct icd_direct {
    int users; /* events of its two ends that have not ended */
    int64_t number;
    icd_device *source, *target;
} icd_direct;

/* If one end of a transfer fails, so does the other, which would wait for it. */
static void end_of_direct(icd_event *event)
{
    icd_direct *direct = event->at_end_user;
    icd_device *other = event->device == direct->source ? direct->target : direct->source;
    if (event->status < 0) {
        int64_t number[] = {direct->number, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
        icd_send(other, &(dcli_msg_command){.kind = DCLI_CL_FAIL_TRANSFER, .number_count = 2, .number = number});
        icd_wake(other);
    }
    if (--direct->users == 0)
        dcli_free(direct);
}

static cl_int send_direct(icd_direct *direct, icd_event *event, int64_t queue_number, int64_t mem_number,
                          const dcli_span *span)
{
    bool in = event->device == direct->target;
    const icd_device *other = in ? direct->source : direct->target;
    int64_t number[] = {direct->number,  span->offset,    span->row_bytes,   span->rows,
                        span->slices,    span->row_pitch, span->slice_pitch, 0,
                        other->node + 1, event->lenient};
    dcli_msg_command command = {.kind = in ? DCLI_CL_WRITE : DCLI_CL_READ,
                                .object = mem_number,
                                .number_count = (event->lenient > 0 ? 4 : 3) + DCLI_SPAN_NUMBERS,
                                .number = number};
    event->unobserved = true; /* commands that wait for it do so in its server */
    cl_int status = icd_command_send(event->device, queue_number, event, &command);
    if (status != CL_SUCCESS)
        return status;
    event->at_end = end_of_direct;
    event->at_end_user = direct;
    direct->users++;
    return CL_SUCCESS;
}

/* Move the contents from the server of one device to that of another one. Both know the transfer by the same number. */
static cl_int move_directly(icd_mem *mem, icd_device *source, int from, icd_device *target, int to)
{
    icd_direct *direct = dcli_calloc(1, sizeof *direct);
    icd_event *out = internal(mem, source), *in = internal(mem, target);
    dcli_span span = whole(mem);
    cl_int status =
        direct == NULL || out == NULL || in == NULL ? CL_OUT_OF_HOST_MEMORY : make_work_queue(mem->context, from);
    if (status == CL_SUCCESS)
        status = await_contents(out, mem, from);
    if (status == CL_SUCCESS)
        status = await_earlier_move(in, &mem->copy[to]);
    if (status == CL_SUCCESS) {
        *direct = (icd_direct){.number = icd_number(), .source = source, .target = target};
        status = send_direct(direct, in, *work_queue(mem->context, to), mem->copy[to].number, &span);
    }
    if (status == CL_SUCCESS) {
        icd_drop(mem->copy[to].ready);
        mem->copy[to].ready = icd_hold(in);
        mem->copy[to].source = from;
        status = send_direct(direct, out, *work_queue(mem->context, from), mem->copy[from].number, &span);
        if (status != CL_SUCCESS) { /* the target would wait for ever */
            int64_t number[] = {direct->number, status};
            icd_send(target, &(dcli_msg_command){.kind = DCLI_CL_FAIL_TRANSFER, .number_count = 2, .number = number});
        }
    } else {
        dcli_free(direct);
    }
    icd_drop(out);
    icd_drop(in);
    return status;
}

/* Move the contents from one device to another through memory of the driver. */
static cl_int move_between(icd_mem *mem, icd_device *source, int from, icd_device *target, int to)
{
    icd_relay *relay = dcli_calloc(1, sizeof *relay);
    void *memory = relay != NULL ? relay->memory = dcli_malloc(mem->bytes) : NULL;
    icd_event *out = internal(mem, source), *in = internal(mem, target);
    dcli_span span = whole(mem);
    cl_int status =
        memory == NULL || out == NULL || in == NULL ? CL_OUT_OF_HOST_MEMORY : make_work_queue(mem->context, from);
    if (status == CL_SUCCESS)
        status = await_contents(out, mem, from);
    if (status == CL_SUCCESS)
        status = icd_transfer_enqueue(source, *work_queue(mem->context, from), mem->copy[from].number, out, false,
                                      &span, memory, span.row_bytes, span.row_bytes, NULL);
    bool reads = status == CL_SUCCESS; /* into `memory`, which has to stay until then */
    if (status == CL_SUCCESS)
        status = await_earlier_move(in, &mem->copy[to]);
    if (status == CL_SUCCESS)
        status = icd_event_also(in, out);
    if (status == CL_SUCCESS)
        status = icd_transfer_enqueue(target, *work_queue(mem->context, to), mem->copy[to].number, in, true, &span,
                                      memory, span.row_bytes, span.row_bytes, out);
    if (status == CL_SUCCESS) {
        in->at_end = out->at_end = free_when_both_ended;
        in->at_end_user = out->at_end_user = relay;
        icd_drop(mem->copy[to].ready);
        mem->copy[to].ready = icd_hold(in);
        mem->copy[to].source = from;
        relay->users = 2;
    } else if (reads) {
        out->at_end = free_when_both_ended;
        out->at_end_user = relay;
        relay->users = 1;
    } else {
        dcli_free(memory);
        dcli_free(relay);
    }
    icd_drop(out);
    icd_drop(in);
    return status;
}

/* Whether a copy has the newest contents, or will have them. The move that was to bring them may have failed, because two servers
 * have lost each other, and another copy may still have them. */
static bool has_contents(const icd_copy *copy)
{
    return copy->valid && (copy->ready == NULL || copy->ready->status >= CL_COMPLETE);
}

/* Undo moves that have failed, although no server is lost: the copies from which they were to take the contents still have these, as
 * nothing on the target can have changed what never came. If the target is lost, its commands may have changed the contents after
 * all: its copy stays the newest one. */
static void undo_failed_moves(icd_mem *mem)
{
    for (int d = 0; d < mem->context->device_count; d++) {
        icd_copy *copy = &mem->copy[d];
        if (!copy->valid || has_contents(copy) || mem->context->device[d]->lost ||
            mem->context->device[copy->source]->lost)
            continue;
        copy->valid = false;
        icd_drop(copy->ready);
        copy->ready = NULL;
        if (copy->source != d)
            mem->copy[copy->source].valid = true;
        d = -1; /* look at all again: the move to that copy may have failed, too */
    }
}

static cl_int get_contents(icd_mem *mem, icd_device *device, int place)
{
    undo_failed_moves(mem);
    if (has_contents(&mem->copy[place]))
        return CL_SUCCESS;
    cl_int status = make_work_queue(mem->context, place);
    if (status != CL_SUCCESS)
        return status;
    bool was_written = false;
    for (int d = 0; d < mem->context->device_count; d++) {
        was_written = was_written || mem->copy[d].valid;
        icd_device *source = mem->context->device[d];
        if (d != place && has_contents(&mem->copy[d]) && !source->lost)
            return icd_are_joined(source, device) ? move_directly(mem, source, d, device, place)
                                                  : move_between(mem, source, d, device, place);
    }
    if (was_written)
        return CL_MEM_OBJECT_ALLOCATION_FAILURE; /* they were on a device that is lost */
    return mem->initial != NULL ? move_initial(mem, device, place) : CL_SUCCESS;
}

cl_int icd_mem_use(icd_mem *mem, icd_queue *queue, icd_event *event, bool reads, bool writes, int64_t *number_out)
{
    int place = queue->place;
    icd_mem *root = root_of(mem);
    cl_int status = make_on(mem, queue->device, place);
    if (status == CL_SUCCESS)
        status = make_on(root, queue->device, place);
    /* A command that waits for others fails if they fail. If it was to overwrite all, the old contents are still needed
     * then. So they are moved to its device, which from now on counts as the one with the newest contents. */
    bool may_fail = event->wait_count > 0 && (root->context->device_count > 1 || root->initial != NULL);
    reads = reads || (writes && may_fail);
    icd_copy *copy = &root->copy[place];
    if (status == CL_SUCCESS && reads && !has_contents(copy)) {
        status = get_contents(root, queue->device, place);
        if (status == CL_SUCCESS)
            copy->valid = true;
    }
    if (status == CL_SUCCESS && copy->ready != NULL) {
        if (copy->ready->status <= CL_COMPLETE) { /* a failed one is of contents that this command does not need */
            icd_drop(copy->ready);
            copy->ready = NULL;
        } else {
            status = icd_event_also(event, copy->ready);
        }
    }
    if (status != CL_SUCCESS)
        return status;
    if (writes) {
        if (root->context->device_count > 1 && (status = add_writer(&root->writers, event)) != CL_SUCCESS)
            return status;
        for (int d = 0; d < root->context->device_count; d++)
            root->copy[d].valid = d == place;
    }
    *number_out = mem->copy[place].number;
    return CL_SUCCESS;
}

/* ---- mapped regions ---- */

/* The system hands out large memory page by page as it is touched, which takes longer than copying into it. So a buffer keeps the memory of
 * one region. */
enum { ALIGNMENT = 4096, LEAST_SPARE = 256 << 10 };

void *icd_map_memory(icd_mem *mem, size_t bytes, size_t *allocated_out)
{
    void *memory = NULL;
    if (mem->spare != NULL && mem->spare_bytes >= bytes) {
        memory = mem->spare;
        mem->spare = NULL;
        *allocated_out = mem->spare_bytes;
        return memory;
    }
    *allocated_out = bytes;
    return posix_memalign(&memory, ALIGNMENT, bytes) == 0 ? memory : NULL;
}

/* Keep the memory of an unmapped region for the next mapping, unless the buffer already keeps as much. */
static void keep_spare(icd_mem *mem, icd_map *map)
{
    if (map->allocated < LEAST_SPARE || (mem->spare != NULL && mem->spare_bytes >= map->allocated))
        return;
    icd_aligned_free(mem->spare);
    mem->spare = map->pointer;
    mem->spare_bytes = map->allocated;
    map->allocated = 0;
}

void icd_aligned_free(void *memory) { free(memory); }

void icd_map_filled(icd_event *event) { icd_drop(event->at_end_user); }

void icd_map_free(icd_map *map)
{
    if (map->mem != NULL)
        keep_spare(map->mem, map);
    if (map->allocated > 0)
        icd_aligned_free(map->pointer);
    icd_drop(map->filled);
    icd_drop(map->mem);
    dcli_free(map);
}

/* An unmap that has failed with an event of its wait list may end before the region is filled: then the memory is kept until that
 * has ended, too. */
void icd_map_ended(icd_event *event)
{
    icd_map *map = event->at_end_user;
    icd_event *filled = map->filled;
    if (filled->status <= CL_COMPLETE) {
        icd_map_free(map);
        return;
    }
    icd_drop(filled->at_end_user); /* the buffer, which the region holds now */
    filled->at_end = icd_map_ended;
    filled->at_end_user = map;
}

/* ---- ending ---- */

static void call_mem(icd_call *call) { call->function.mem(call->handle, call->user); }

void icd_mem_free(icd_mem *mem)
{
    for (int d = 0; d < mem->context->device_count && mem->copy != NULL; d++) {
        if (mem->copy[d].number != 0)
            icd_send(mem->context->device[d],
                     &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = mem->copy[d].number});
        icd_drop(mem->copy[d].ready);
    }
    while (mem->maps != NULL) {
        icd_map *map = mem->maps;
        mem->maps = map->next;
        icd_map_free(map);
    }
    while (mem->destructors != NULL) {
        icd_call *call = mem->destructors;
        mem->destructors = call->next;
        icd_call_later(call);
    }
    icd_aligned_free(mem->spare);
    if (mem->initial != mem->host)
        dcli_free(mem->initial);
    dcli_free(mem->copy);
    drop_writers(&mem->writers);
    dcli_free(mem->writers.event);
    icd_drop(mem->parent);
    icd_drop(mem->context);
}

/* ---- entry points ---- */

bool icd_are_mem_flags(cl_mem_flags flags)
{
    const cl_mem_flags access = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY);
    const cl_mem_flags by_host = flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS);
    const cl_mem_flags known = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR |
                               CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_WRITE_ONLY |
                               CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    const cl_mem_flags beside_use = CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    return (flags & ~known) == 0 && (access & (access - 1)) == 0 && (by_host & (by_host - 1)) == 0 &&
           ((flags & CL_MEM_USE_HOST_PTR) == 0 || (flags & beside_use) == 0);
}

static cl_int check_flags(cl_mem_flags flags, const void *host)
{
    if (!icd_are_mem_flags(flags))
        return CL_INVALID_VALUE;
    bool wants = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
    return wants != (host != NULL) ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

static cl_int make_buffer(icd_context *context, cl_mem_flags flags, size_t bytes, void *host, icd_mem **mem_out)
{
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    cl_int status = check_flags(flags, host);
    if (status == CL_INVALID_VALUE)
        return status;
    cl_ulong most = 0;
    for (int d = 0; d < context->device_count; d++) {
        cl_ulong of_device = icd_device_number(context->device[d], CL_DEVICE_MAX_MEM_ALLOC_SIZE);
        most = of_device > most ? of_device : most;
    }
    if (bytes == 0 || bytes > most)
        return CL_INVALID_BUFFER_SIZE;
    if (status != CL_SUCCESS)
        return status;
    icd_mem *mem = icd_make(ICD_MEM, sizeof *mem);
    if (mem == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    mem->context = icd_hold(context);
    mem->flags = flags != 0 ? flags : CL_MEM_READ_WRITE;
    mem->bytes = bytes;
    mem->copy = dcli_calloc((size_t)context->device_count, sizeof *mem->copy);
    if ((flags & CL_MEM_USE_HOST_PTR) != 0)
        mem->host = mem->initial = host;
    if ((flags & CL_MEM_COPY_HOST_PTR) != 0 && (mem->initial = dcli_malloc(bytes)) != NULL)
        memcpy(mem->initial, host, bytes);
    if (mem->copy == NULL || ((flags & CL_MEM_COPY_HOST_PTR) != 0 && mem->initial == NULL)) {
        icd_drop(mem);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *mem_out = mem;
    return CL_SUCCESS;
}

/* If the context has one device, make the buffer now. Making a large buffer later would delay the first command that
 * uses it. */
static void make_early(icd_mem *mem)
{
    if (mem->context->device_count == 1)
        make_on(mem, mem->context->device[0], 0);
}

cl_mem CL_API_CALL icd_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                                      cl_int *status_out)
{
    cl_int status = CL_INVALID_CONTEXT;
    icd_mem *mem = NULL;
    if (icd_enter()) {
        status = make_buffer(icd_find(context, ICD_CONTEXT), flags, bytes, host, &mem);
        if (status == CL_SUCCESS)
            make_early(mem);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_mem, mem) : NULL;
}

cl_mem CL_API_CALL icd_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                                    cl_mem_flags flags, size_t bytes, void *host, cl_int *status_out)
{
    if (properties != NULL && properties[0] != 0) {
        if (status_out != NULL)
            *status_out = CL_INVALID_PROPERTY;
        return NULL;
    }
    cl_mem mem = icd_clCreateBuffer(context, flags, bytes, host, status_out);
    if (mem != NULL && properties != NULL && icd_enter()) {
        icd_mem *object = icd_find(mem, ICD_MEM);
        object->list_count = 1; /* the final 0 */
        icd_leave();
    }
    return mem;
}

static cl_int make_sub_buffer(icd_mem *parent, cl_mem_flags flags, cl_buffer_create_type type,
                              const cl_buffer_region *region, icd_mem **mem_out)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    const cl_mem_flags by_host = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    if (parent == NULL || parent->parent != NULL)
        return CL_INVALID_MEM_OBJECT;
    cl_mem_flags own = flags & access, outer = parent->flags & access;
    cl_mem_flags host = flags & by_host, outer_host = parent->flags & by_host;
    if ((flags & ~(access | by_host)) != 0 || (own & (own - 1)) != 0 || (host & (host - 1)) != 0 ||
        (outer == CL_MEM_WRITE_ONLY && (own & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) != 0) ||
        (outer == CL_MEM_READ_ONLY && (own & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) != 0) ||
        (outer_host != 0 && host != 0 && host != outer_host && host != CL_MEM_HOST_NO_ACCESS) ||
        type != CL_BUFFER_CREATE_TYPE_REGION || region == NULL)
        return CL_INVALID_VALUE;
    if (region->size == 0)
        return CL_INVALID_BUFFER_SIZE;
    if (region->origin > parent->bytes || region->size > parent->bytes - region->origin)
        return CL_INVALID_VALUE;
    bool aligned = false;
    for (int d = 0; d < parent->context->device_count; d++) {
        cl_ulong bits = icd_device_number(parent->context->device[d], CL_DEVICE_MEM_BASE_ADDR_ALIGN);
        aligned = aligned || bits < 8 || region->origin % (bits / 8) == 0;
    }
    if (!aligned)
        return CL_MISALIGNED_SUB_BUFFER_OFFSET;
    icd_mem *mem = icd_make(ICD_MEM, sizeof *mem);
    icd_copy *copy = mem != NULL ? dcli_calloc((size_t)parent->context->device_count, sizeof *copy) : NULL;
    if (mem == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    mem->context = icd_hold(parent->context);
    mem->parent = icd_hold(parent);
    mem->flags = (own != 0 ? own : outer) | (host != 0 ? host : outer_host) |
                 (parent->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR));
    mem->origin = region->origin;
    mem->bytes = region->size;
    mem->host = parent->host != NULL ? (char *)parent->host + region->origin : NULL;
    mem->initial = mem->host;
    mem->copy = copy;
    if (copy == NULL) {
        icd_drop(mem);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *mem_out = mem;
    return CL_SUCCESS;
}

cl_mem CL_API_CALL icd_clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                         const void *region, cl_int *status_out)
{
    cl_int status = CL_INVALID_MEM_OBJECT;
    icd_mem *mem = NULL;
    if (icd_enter()) {
        status = make_sub_buffer(icd_find(handle, ICD_MEM), flags, type, region, &mem);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_mem, mem) : NULL;
}

cl_int CL_API_CALL icd_clGetMemObjectInfo(cl_mem handle, cl_mem_info what, size_t size, void *value, size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_MEM_OBJECT;
    const icd_mem *mem = icd_find(handle, ICD_MEM);
    cl_int result = CL_INVALID_MEM_OBJECT;
    if (mem != NULL)
        switch (what) {
        case CL_MEM_TYPE:
            result = ICD_ANSWER(cl_mem_object_type, CL_MEM_OBJECT_BUFFER);
            break;
        case CL_MEM_FLAGS:
            result = ICD_ANSWER(cl_mem_flags, mem->flags);
            break;
        case CL_MEM_SIZE:
            result = ICD_ANSWER(size_t, mem->bytes);
            break;
        case CL_MEM_HOST_PTR:
            result = ICD_ANSWER(void *, mem->host);
            break;
        case CL_MEM_MAP_COUNT:
            result = ICD_ANSWER(cl_uint, (cl_uint)mem->map_count);
            break;
        case CL_MEM_REFERENCE_COUNT:
            result = ICD_ANSWER(cl_uint, (cl_uint)mem->object.refs);
            break;
        case CL_MEM_CONTEXT:
            result = ICD_ANSWER(cl_context, ICD_HANDLE(cl_context, mem->context));
            break;
        case CL_MEM_ASSOCIATED_MEMOBJECT:
            result = ICD_ANSWER(cl_mem, mem->parent != NULL ? ICD_HANDLE(cl_mem, mem->parent) : NULL);
            break;
        case CL_MEM_OFFSET:
            result = ICD_ANSWER(size_t, mem->origin);
            break;
        case CL_MEM_USES_SVM_POINTER:
            result = ICD_ANSWER(cl_bool, CL_FALSE);
            break;
        case CL_MEM_PROPERTIES:
            result = icd_answer(mem->list, mem->list_count * sizeof mem->list[0], size, value, size_out);
            break;
        default:
            result = CL_INVALID_VALUE;
        }
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK *function)(cl_mem, void *),
                                                        void *user)
{
    if (!icd_enter())
        return CL_INVALID_MEM_OBJECT;
    icd_mem *mem = icd_find(handle, ICD_MEM);
    cl_int result = mem == NULL ? CL_INVALID_MEM_OBJECT : function == NULL ? CL_INVALID_VALUE : CL_SUCCESS;
    icd_call *call = result == CL_SUCCESS ? dcli_calloc(1, sizeof *call) : NULL;
    if (result == CL_SUCCESS && call == NULL)
        result = CL_OUT_OF_HOST_MEMORY;
    if (call != NULL && !icd_can_call()) {
        dcli_free(call);
        result = CL_OUT_OF_RESOURCES;
    } else if (call != NULL) {
        *call = (icd_call){.call = call_mem, .function.mem = function, .handle = handle, .user = user};
        call->next = mem->destructors;
        mem->destructors = call;
    }
    icd_leave();
    return result;
}
