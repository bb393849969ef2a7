/* icd/enqueue.c - commands of queues: launches, markers, and data. */
#include "icd/entries.h"

/* ---- what all of them check ---- */

static cl_int begin(cl_command_queue handle, cl_uint count, const cl_event waits[], icd_queue **queue_out)
{
    icd_queue *queue = icd_find(handle, ICD_QUEUE);
    if (queue == NULL)
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = icd_check_waits(queue->context, count, waits);
    if (status == CL_SUCCESS && queue->device->lost)
        status = CL_DEVICE_NOT_AVAILABLE;
    if (status == CL_SUCCESS && queue->device->pending_count >= ICD_MOST_PENDING && icd.gates > 0)
        status = CL_OUT_OF_RESOURCES;
    *queue_out = queue;
    return status;
}

static cl_int begin_with(cl_command_queue handle, cl_mem mem_handle, cl_uint count, const cl_event waits[],
                         icd_queue **queue_out, icd_mem **mem_out)
{
    icd_queue *queue = icd_find(handle, ICD_QUEUE);
    icd_mem *mem = icd_find(mem_handle, ICD_MEM);
    if (queue == NULL)
        return CL_INVALID_COMMAND_QUEUE;
    if (mem == NULL)
        return CL_INVALID_MEM_OBJECT;
    if (mem->context != queue->context)
        return CL_INVALID_CONTEXT;
    *mem_out = mem;
    return begin(handle, count, waits, queue_out);
}

static icd_event *make_event(icd_queue *queue, cl_command_type type, cl_uint count, const cl_event waits[])
{
    return icd_event_make(queue->context, queue, queue->device, type, count, waits);
}

/* Make the event of a command whose end the server may report late, unless it is observed. */
static icd_event *make_event_of(icd_queue *queue, cl_command_type type, cl_uint count, const cl_event waits[],
                                bool observed)
{
    icd_event *event = make_event(queue, type, count, waits);
    if (event != NULL)
        event->unobserved = !observed;
    return event;
}

static cl_int leave(cl_int status)
{
    icd_leave();
    return status;
}

/* Enqueue a command that has nothing to do: it moves no bytes, or runs no work-items. Only its event is there. The specification
 * has allowed such commands since OpenCL 2.1. */
static cl_int do_nothing(icd_queue *queue, cl_command_type type, bool blocks, cl_uint count, const cl_event waits[],
                         cl_event *event_out)
{
    icd_event *event = make_event_of(queue, type, count, waits, blocks || event_out != NULL);
    int64_t has_list = 1; /* it waits for its list alone */
    dcli_msg_command marker = {.kind = DCLI_CL_MARKER, .number_count = 1, .number = &has_list};
    cl_int status =
        event != NULL ? icd_command_send(queue->device, queue->number, event, &marker) : CL_OUT_OF_HOST_MEMORY;
    return icd_enqueued(event, status, blocks, event_out);
}

/* ---- launches ---- */

/* Whether work-groups at the end of an axis may be smaller. */
static bool may_differ(const icd_queue *queue)
{
    return icd_device_number(queue->device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT) != 0;
}

static cl_int check_groups(const icd_queue *queue, const icd_declaration *declaration, cl_uint axes,
                           const size_t *global, const size_t *local)
{
    const icd_fact *most = icd_device_fact(queue->device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
    size_t items = 1;
    bool fixed = declaration->fixed[0] != 0;
    for (cl_uint d = 0; d < axes; d++) {
        size_t limit = 0;
        if (local == NULL) {
            if (fixed && global[d] % declaration->fixed[d] != 0 && !may_differ(queue))
                return CL_INVALID_WORK_GROUP_SIZE;
            continue;
        }
        if (most != NULL && (d + 1) * sizeof limit <= most->bytes) {
            memcpy(&limit, (const char *)most->value + d * sizeof limit, sizeof limit);
            if (local[d] > limit)
                return CL_INVALID_WORK_ITEM_SIZE;
        }
        if (local[d] == 0 || (fixed && local[d] != declaration->fixed[d]) ||
            (global[d] % local[d] != 0 && !may_differ(queue)) || __builtin_mul_overflow(items, local[d], &items))
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    for (cl_uint d = axes; d < 3 && fixed; d++)
        if (declaration->fixed[d] != 1)
            return CL_INVALID_WORK_GROUP_SIZE;
    return declaration->group > 0 && items > declaration->group ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

/* Check that the sizes of a launch fit int64_t, as messages contain them. */
static cl_int check_range(cl_uint axes, const size_t *offset, const size_t *global)
{
    for (cl_uint d = 0; d < axes; d++) {
        if (global[d] > INT64_MAX)
            return CL_INVALID_GLOBAL_WORK_SIZE;
        if (offset != NULL && offset[d] > INT64_MAX - global[d])
            return CL_INVALID_GLOBAL_OFFSET;
    }
    return CL_SUCCESS;
}

/* Whether a launch has no work-items. */
static bool is_empty(cl_uint axes, const size_t *global)
{
    bool empty = global == NULL;
    for (cl_uint d = 0; d < axes && !empty; d++)
        empty = global[d] == 0;
    return empty;
}

/* The kernel as it is declared in the program for the queue's device. @return NULL: it is not. */
static const icd_declaration *declared_for(const icd_queue *queue, const icd_kernel *kernel)
{
    const icd_build *build = &kernel->program->build[queue->place];
    for (int k = 0; k < build->count; k++)
        if (strcmp(build->declaration[k].name, kernel->name) == 0)
            return &build->declaration[k];
    return NULL;
}

/* Check a launch. @param local  in: the sizes that the program gives; out: those that the kernel demands, if it gives none, because
 * some drivers refuse to look for them. NULL: the device's driver may choose. */
static cl_int check_launch(const icd_queue *queue, const icd_kernel *kernel, cl_uint axes, const size_t *offset,
                           const size_t *global, const size_t **local)
{
    if (icd_program_ready(kernel->program, queue->place) != CL_SUCCESS)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    cl_int status = icd_kernel_complete(kernel);
    if (status != CL_SUCCESS)
        return status;
    if (axes < 1 || axes > 3)
        return CL_INVALID_WORK_DIMENSION;
    const icd_declaration *declaration = declared_for(queue, kernel);
    if (declaration == NULL)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    if (is_empty(axes, global))
        return CL_SUCCESS;
    if ((status = check_range(axes, offset, global)) != CL_SUCCESS)
        return status;
    status = check_groups(queue, declaration, axes, global, *local);
    if (*local == NULL && declaration->fixed[0] != 0)
        *local = declaration->fixed;
    return status;
}

static cl_int launch(icd_queue *queue, icd_kernel *kernel, cl_uint axes, const size_t *offset, const size_t *global,
                     const size_t *local, icd_event *event)
{
    int64_t number[1 + 3 * 3] = {axes};
    for (cl_uint d = 0; d < axes; d++) {
        number[1 + 3 * d] = offset != NULL ? (int64_t)offset[d] : 0;
        number[2 + 3 * d] = (int64_t)global[d];
        number[3 + 3 * d] = local != NULL ? (int64_t)local[d] : 0;
    }
    dcli_msg_command command = {.kind = DCLI_CL_LAUNCH, .number_count = 1 + 3 * (int)axes, .number = number};
    cl_int status = icd_kernel_prepare(kernel, queue, event, &command.object);
    return status == CL_SUCCESS ? icd_command_send(queue->device, queue->number, event, &command) : status;
}

cl_int CL_API_CALL icd_clEnqueueNDRangeKernel(cl_command_queue handle, cl_kernel kernel_handle, cl_uint axes,
                                              const size_t *offset, const size_t *global, const size_t *local,
                                              cl_uint count, const cl_event *waits, cl_event *event_out)
{
    icd_queue *queue = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    icd_kernel *kernel = icd_find(kernel_handle, ICD_KERNEL);
    if (icd_find(handle, ICD_QUEUE) != NULL && kernel == NULL)
        return leave(CL_INVALID_KERNEL);
    cl_int status = begin(handle, count, waits, &queue);
    if (status == CL_SUCCESS && kernel->program->context != queue->context)
        status = CL_INVALID_CONTEXT;
    if (status == CL_SUCCESS)
        status = check_launch(queue, kernel, axes, offset, global, &local);
    if (status != CL_SUCCESS)
        return leave(status);
    if (is_empty(axes, global))
        return leave(do_nothing(queue, CL_COMMAND_NDRANGE_KERNEL, false, count, waits, event_out));
    icd_event *event = make_event_of(queue, CL_COMMAND_NDRANGE_KERNEL, count, waits, event_out != NULL);
    status = event != NULL ? launch(queue, kernel, axes, offset, global, local, event) : CL_OUT_OF_HOST_MEMORY;
    return leave(icd_enqueued(event, status, false, event_out));
}

cl_int CL_API_CALL icd_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits,
                                     cl_event *event_out)
{
    const size_t one = 1;
    return icd_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, count, waits, event_out);
}

/* ---- markers and ends ---- */

static cl_int mark(cl_command_queue handle, int kind, cl_command_type type, cl_uint count, const cl_event waits[],
                   bool blocks, cl_event *event_out)
{
    icd_queue *queue = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin(handle, count, waits, &queue);
    if (status != CL_SUCCESS)
        return leave(status);
    icd_hold(queue);
    icd_event *event = make_event_of(queue, type, count, waits, blocks || event_out != NULL);
    int64_t has_list = count > 0; /* all its events may have ended, which is not the same as no list */
    dcli_msg_command command = {.kind = kind, .number_count = 1, .number = &has_list};
    status = event != NULL ? icd_command_send(queue->device, queue->number, event, &command) : CL_OUT_OF_HOST_MEMORY;
    status = icd_enqueued(event, status, blocks, event_out);
    if (blocks && queue->failure != CL_SUCCESS) {
        status = status == CL_SUCCESS ? queue->failure : status;
        queue->failure = CL_SUCCESS;
    }
    icd_drop(queue);
    return leave(status);
}

cl_int CL_API_CALL icd_clFinish(cl_command_queue queue)
{
    return mark(queue, DCLI_CL_MARKER, CL_COMMAND_MARKER, 0, NULL, true, NULL);
}

cl_int CL_API_CALL icd_clFlush(cl_command_queue handle)
{
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    const icd_queue *queue = icd_find(handle, ICD_QUEUE);
    icd_post(true);
    cl_int status = queue == NULL         ? CL_INVALID_COMMAND_QUEUE
                    : queue->device->lost ? CL_DEVICE_NOT_AVAILABLE
                                          : CL_SUCCESS;
    return leave(status);
}

cl_int CL_API_CALL icd_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                                   cl_event *event_out)
{
    return mark(queue, DCLI_CL_MARKER, CL_COMMAND_MARKER, count, waits, false, event_out);
}

cl_int CL_API_CALL icd_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits,
                                                    cl_event *event_out)
{
    return mark(queue, DCLI_CL_BARRIER, CL_COMMAND_BARRIER, count, waits, false, event_out);
}

cl_int CL_API_CALL icd_clEnqueueMarker(cl_command_queue queue, cl_event *event_out)
{
    return event_out == NULL ? CL_INVALID_VALUE : icd_clEnqueueMarkerWithWaitList(queue, 0, NULL, event_out);
}

cl_int CL_API_CALL icd_clEnqueueBarrier(cl_command_queue queue)
{
    return icd_clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

cl_int CL_API_CALL icd_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits)
{
    if (count == 0 || waits == NULL)
        return CL_INVALID_VALUE;
    cl_int status = icd_clEnqueueBarrierWithWaitList(queue, count, waits, NULL);
    return status == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : status;
}

/* ---- reading and writing ---- */

/* Whether the flags of a buffer allow the host to write it (`in`), or to read it. */
static bool is_allowed(const icd_mem *mem, bool in)
{
    cl_mem_flags refused = CL_MEM_HOST_NO_ACCESS | (in ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY);
    return (mem->flags & refused) == 0;
}

static bool covers(const icd_mem *mem, const dcli_span *span)
{
    return mem->parent == NULL && span->offset == 0 && dcli_span_bytes(span) == (int64_t)mem->bytes;
}

static cl_int transfer(icd_queue *queue, icd_mem *mem, icd_event *event, bool in, const dcli_span *span, void *host,
                       int64_t host_row_pitch, int64_t host_slice_pitch)
{
    int64_t number;
    cl_int status = icd_mem_use(mem, queue, event, !in || !covers(mem, span), in, &number);
    if (status != CL_SUCCESS)
        return status;
    return icd_transfer_enqueue(queue->device, queue->number, number, event, in, span, host, host_row_pitch,
                                host_slice_pitch, NULL);
}

static cl_int move(cl_command_queue handle, cl_mem mem_handle, bool in, bool blocks, size_t offset, size_t bytes,
                   void *host, cl_uint count, const cl_event waits[], cl_event *event_out)
{
    icd_queue *queue = NULL;
    icd_mem *mem = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin_with(handle, mem_handle, count, waits, &queue, &mem);
    if (status == CL_SUCCESS && (host == NULL || offset > mem->bytes || bytes > mem->bytes - offset))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS && !is_allowed(mem, in))
        status = CL_INVALID_OPERATION;
    if (status != CL_SUCCESS)
        return leave(status);
    cl_command_type type = in ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER;
    if (bytes == 0)
        return leave(do_nothing(queue, type, blocks, count, waits, event_out));
    icd_event *event = make_event(queue, type, count, waits);
    dcli_span span = {.offset = (int64_t)offset, .row_bytes = (int64_t)bytes, .rows = 1, .slices = 1};
    if (event != NULL)
        event->blocks = blocks;
    if (event != NULL && in && blocks && bytes > ICD_COPIED && !queue->device->server->shares)
        icd_event_lend(event);
    status = event != NULL ? transfer(queue, mem, event, in, &span, host, 0, 0) : CL_OUT_OF_HOST_MEMORY;
    return leave(icd_enqueued(event, status, blocks, event_out));
}

cl_int CL_API_CALL icd_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t offset,
                                           size_t bytes, void *host, cl_uint count, const cl_event *waits,
                                           cl_event *event_out)
{
    return move(queue, mem, false, blocks, offset, bytes, host, count, waits, event_out);
}

cl_int CL_API_CALL icd_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t offset,
                                            size_t bytes, const void *host, cl_uint count, const cl_event *waits,
                                            cl_event *event_out)
{
    return move(queue, mem, true, blocks, offset, bytes, (void *)(uintptr_t)host, count, waits, event_out);
}

/* ---- rectangles ---- */

/* Describe a rectangle by its three axes. A pitch that the program gives as 0 is computed from the region. */
static cl_int make_span(const size_t origin[3], const size_t region[3], size_t row_pitch, size_t slice_pitch,
                        dcli_span *span_out)
{
    int64_t rows_end, offset, part;
    for (int d = 0; d < 3; d++)
        if (region[d] == 0 || region[d] > INT64_MAX || origin[d] > INT64_MAX)
            return CL_INVALID_VALUE;
    row_pitch = row_pitch != 0 ? row_pitch : region[0];
    if (row_pitch < region[0] || row_pitch > INT64_MAX || slice_pitch > INT64_MAX ||
        !dcli_mul((int64_t)row_pitch, (int64_t)region[1], &rows_end))
        return CL_INVALID_VALUE;
    if (slice_pitch == 0)
        slice_pitch = (size_t)rows_end;
    if ((int64_t)slice_pitch < rows_end || slice_pitch % row_pitch != 0 ||
        !dcli_mul((int64_t)origin[2], (int64_t)slice_pitch, &offset) ||
        !dcli_mul((int64_t)origin[1], (int64_t)row_pitch, &part) || !dcli_add(offset, part, &offset) ||
        !dcli_add(offset, (int64_t)origin[0], &offset))
        return CL_INVALID_VALUE;
    *span_out = (dcli_span){.offset = offset,
                            .row_bytes = (int64_t)region[0],
                            .rows = (int64_t)region[1],
                            .slices = (int64_t)region[2],
                            .row_pitch = (int64_t)row_pitch,
                            .slice_pitch = (int64_t)slice_pitch};
    return CL_SUCCESS;
}

static bool is_inside(const icd_mem *mem, const dcli_span *span)
{
    dcli_span read;
    const int64_t number[] = {span->offset, span->row_bytes, span->rows,
                              span->slices, span->row_pitch, span->slice_pitch};
    return dcli_span_read(number, (int64_t)mem->bytes, &read);
}

static cl_int move_rect(cl_command_queue handle, cl_mem mem_handle, bool in, bool blocks, const size_t *origin,
                        const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
                        size_t host_row_pitch, size_t host_slice_pitch, void *host, cl_uint count,
                        const cl_event waits[], cl_event *event_out)
{
    icd_queue *queue = NULL;
    icd_mem *mem = NULL;
    dcli_span span, outer;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin_with(handle, mem_handle, count, waits, &queue, &mem);
    if (status == CL_SUCCESS && (host == NULL || origin == NULL || host_origin == NULL || region == NULL))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS)
        status = make_span(origin, region, row_pitch, slice_pitch, &span);
    if (status == CL_SUCCESS)
        status = make_span(host_origin, region, host_row_pitch, host_slice_pitch, &outer);
    if (status == CL_SUCCESS && !is_inside(mem, &span))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS && !is_allowed(mem, in))
        status = CL_INVALID_OPERATION;
    if (status != CL_SUCCESS)
        return leave(status);
    icd_event *event = make_event(queue, in ? CL_COMMAND_WRITE_BUFFER_RECT : CL_COMMAND_READ_BUFFER_RECT, count, waits);
    if (event != NULL)
        event->blocks = blocks;
    status = event == NULL ? CL_OUT_OF_HOST_MEMORY
                           : transfer(queue, mem, event, in, &span, (char *)host + outer.offset, outer.row_pitch,
                                      outer.slice_pitch);
    return leave(icd_enqueued(event, status, blocks, event_out));
}

cl_int CL_API_CALL icd_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem mem, cl_bool blocks, const size_t *origin,
                                               const size_t *host_origin, const size_t *region, size_t row_pitch,
                                               size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                                               void *host, cl_uint count, const cl_event *waits, cl_event *event_out)
{
    return move_rect(queue, mem, false, blocks, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch,
                     host_slice_pitch, host, count, waits, event_out);
}

cl_int CL_API_CALL icd_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem mem, cl_bool blocks,
                                                const size_t *origin, const size_t *host_origin, const size_t *region,
                                                size_t row_pitch, size_t slice_pitch, size_t host_row_pitch,
                                                size_t host_slice_pitch, const void *host, cl_uint count,
                                                const cl_event *waits, cl_event *event_out)
{
    return move_rect(queue, mem, true, blocks, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch,
                     host_slice_pitch, (void *)(uintptr_t)host, count, waits, event_out);
}

/* ---- copying and filling ---- */

static cl_int begin_copy(cl_command_queue handle, cl_mem source_handle, cl_mem target_handle, cl_uint count,
                         const cl_event waits[], icd_queue **queue_out, icd_mem **source_out, icd_mem **target_out)
{
    cl_int status = begin_with(handle, source_handle, count, waits, queue_out, source_out);
    return status == CL_SUCCESS ? begin_with(handle, target_handle, count, waits, queue_out, target_out) : status;
}

/* The buffer that has the bytes: of a sub-buffer, its parent. */
static const icd_mem *storage_of(const icd_mem *mem) { return mem->parent != NULL ? mem->parent : mem; }

static cl_int send_copy(icd_queue *queue, icd_mem *source, icd_mem *target, bool whole, icd_event *event,
                        dcli_msg_command *command)
{
    cl_int status = icd_mem_use(source, queue, event, true, false, &command->object);
    if (status == CL_SUCCESS)
        status = icd_mem_use(target, queue, event, !whole, true, &command->number[0]);
    return status == CL_SUCCESS ? icd_command_send(queue->device, queue->number, event, command) : status;
}

cl_int CL_API_CALL icd_clEnqueueCopyBuffer(cl_command_queue handle, cl_mem source_handle, cl_mem target_handle,
                                           size_t from, size_t to, size_t bytes, cl_uint count, const cl_event *waits,
                                           cl_event *event_out)
{
    icd_queue *queue = NULL;
    icd_mem *source = NULL, *target = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin_copy(handle, source_handle, target_handle, count, waits, &queue, &source, &target);
    if (status == CL_SUCCESS &&
        (from > source->bytes || bytes > source->bytes - from || to > target->bytes || bytes > target->bytes - to))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS && storage_of(source) == storage_of(target)) {
        size_t a = source->origin + from, b = target->origin + to;
        if ((a <= b ? b - a : a - b) < bytes)
            status = CL_MEM_COPY_OVERLAP;
    }
    if (status != CL_SUCCESS)
        return leave(status);
    if (bytes == 0)
        return leave(do_nothing(queue, CL_COMMAND_COPY_BUFFER, false, count, waits, event_out));
    icd_event *event = make_event_of(queue, CL_COMMAND_COPY_BUFFER, count, waits, event_out != NULL);
    int64_t number[] = {0, (int64_t)from, (int64_t)to, (int64_t)bytes};
    dcli_msg_command command = {.kind = DCLI_CL_COPY, .number_count = 4, .number = number};
    bool whole = target->parent == NULL && to == 0 && bytes == target->bytes;
    status = event != NULL ? send_copy(queue, source, target, whole, event, &command) : CL_OUT_OF_HOST_MEMORY;
    return leave(icd_enqueued(event, status, false, event_out));
}

/* Whether two boxes of one buffer have a byte in common. They are compared as in the specification: exactly if their pitches are
 * equal, which is demanded of copies within a buffer. */
static bool overlap(const dcli_span *a, const dcli_span *b)
{
    int64_t first[3], other[3];
    const dcli_span *spans[2] = {a, b};
    for (int s = 0; s < 2; s++) {
        int64_t *place = s == 0 ? first : other;
        place[2] = spans[s]->offset / a->slice_pitch;
        place[1] = spans[s]->offset % a->slice_pitch / a->row_pitch;
        place[0] = spans[s]->offset % a->slice_pitch % a->row_pitch;
    }
    const int64_t length[3] = {a->row_bytes, a->rows, a->slices};
    for (int d = 0; d < 3; d++)
        if (first[d] + length[d] <= other[d] || other[d] + length[d] <= first[d])
            return false;
    return true;
}

cl_int CL_API_CALL icd_clEnqueueCopyBufferRect(cl_command_queue handle, cl_mem source_handle, cl_mem target_handle,
                                               const size_t *from, const size_t *to, const size_t *region,
                                               size_t source_row_pitch, size_t source_slice_pitch,
                                               size_t target_row_pitch, size_t target_slice_pitch, cl_uint count,
                                               const cl_event *waits, cl_event *event_out)
{
    icd_queue *queue = NULL;
    icd_mem *source = NULL, *target = NULL;
    dcli_span read, written;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin_copy(handle, source_handle, target_handle, count, waits, &queue, &source, &target);
    if (status == CL_SUCCESS && (from == NULL || to == NULL || region == NULL))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS)
        status = make_span(from, region, source_row_pitch, source_slice_pitch, &read);
    if (status == CL_SUCCESS)
        status = make_span(to, region, target_row_pitch, target_slice_pitch, &written);
    if (status == CL_SUCCESS && (!is_inside(source, &read) || !is_inside(target, &written)))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS && source == target) {
        if (read.row_pitch != written.row_pitch || read.slice_pitch != written.slice_pitch)
            status = CL_INVALID_VALUE;
        else if (overlap(&read, &written))
            status = CL_MEM_COPY_OVERLAP;
    }
    if (status != CL_SUCCESS)
        return leave(status);
    icd_event *event = make_event_of(queue, CL_COMMAND_COPY_BUFFER_RECT, count, waits, event_out != NULL);
    int64_t number[14] = {0};
    for (int d = 0; d < 3; d++) {
        number[1 + d] = (int64_t)from[d];
        number[4 + d] = (int64_t)to[d];
        number[7 + d] = (int64_t)region[d];
    }
    number[10] = read.row_pitch;
    number[11] = read.slice_pitch;
    number[12] = written.row_pitch;
    number[13] = written.slice_pitch;
    dcli_msg_command command = {.kind = DCLI_CL_COPY_RECT, .number_count = 14, .number = number};
    status = event != NULL ? send_copy(queue, source, target, false, event, &command) : CL_OUT_OF_HOST_MEMORY;
    return leave(icd_enqueued(event, status, false, event_out));
}

cl_int CL_API_CALL icd_clEnqueueFillBuffer(cl_command_queue handle, cl_mem mem_handle, const void *pattern,
                                           size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count,
                                           const cl_event *waits, cl_event *event_out)
{
    enum { MOST_PATTERN = 128 };
    icd_queue *queue = NULL;
    icd_mem *mem = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin_with(handle, mem_handle, count, waits, &queue, &mem);
    if (status == CL_SUCCESS && (pattern == NULL || pattern_bytes == 0 || pattern_bytes > MOST_PATTERN ||
                                 (pattern_bytes & (pattern_bytes - 1)) != 0 || offset % pattern_bytes != 0 ||
                                 bytes % pattern_bytes != 0 || offset > mem->bytes || bytes > mem->bytes - offset))
        status = CL_INVALID_VALUE;
    if (status != CL_SUCCESS)
        return leave(status);
    if (bytes == 0)
        return leave(do_nothing(queue, CL_COMMAND_FILL_BUFFER, false, count, waits, event_out));
    icd_event *event = make_event_of(queue, CL_COMMAND_FILL_BUFFER, count, waits, event_out != NULL);
    int64_t number[] = {(int64_t)offset, (int64_t)bytes, (int64_t)pattern_bytes}, word[MOST_PATTERN / 8] = {0};
    memcpy(word, pattern, pattern_bytes);
    dcli_msg_command command = {.kind = DCLI_CL_FILL,
                                .number_count = 3,
                                .number = number,
                                .word_count = (int)((pattern_bytes + 7) / 8),
                                .word = word};
    bool whole = mem->parent == NULL && bytes == mem->bytes;
    status = event != NULL ? icd_mem_use(mem, queue, event, !whole, true, &command.object) : CL_OUT_OF_HOST_MEMORY;
    if (status == CL_SUCCESS)
        status = icd_command_send(queue->device, queue->number, event, &command);
    return leave(icd_enqueued(event, status, false, event_out));
}

cl_int CL_API_CALL icd_clEnqueueMigrateMemObjects(cl_command_queue handle, cl_uint mem_count, const cl_mem *mems,
                                                  cl_mem_migration_flags flags, cl_uint count, const cl_event *waits,
                                                  cl_event *event_out)
{
    icd_queue *queue = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin(handle, count, waits, &queue);
    if (status == CL_SUCCESS && (mem_count == 0 || mems == NULL ||
                                 (flags & ~(cl_mem_migration_flags)(CL_MIGRATE_MEM_OBJECT_HOST |
                                                                    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) != 0))
        status = CL_INVALID_VALUE;
    for (cl_uint m = 0; m < mem_count && status == CL_SUCCESS; m++) {
        const icd_mem *mem = icd_find(mems[m], ICD_MEM);
        status = mem == NULL ? CL_INVALID_MEM_OBJECT : mem->context != queue->context ? CL_INVALID_CONTEXT : CL_SUCCESS;
    }
    if (status != CL_SUCCESS)
        return leave(status);
    icd_event *event = make_event(queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, count, waits);
    status = event != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    bool moves = (flags & CL_MIGRATE_MEM_OBJECT_HOST) == 0; /* contents stay where they are until they are needed */
    for (cl_uint m = 0; m < mem_count && status == CL_SUCCESS && moves; m++) {
        int64_t ignored;
        bool reads = (flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) == 0;
        status = icd_mem_use(icd_find(mems[m], ICD_MEM), queue, event, reads, !reads, &ignored);
    }
    int64_t has_list = 1; /* it waits for its list alone */
    dcli_msg_command command = {.kind = DCLI_CL_MARKER, .number_count = 1, .number = &has_list};
    if (status == CL_SUCCESS)
        status = icd_command_send(queue->device, queue->number, event, &command);
    return leave(icd_enqueued(event, status, false, event_out));
}

/* ---- mapping ---- */

static cl_int map(icd_queue *queue, icd_mem *mem, cl_map_flags flags, size_t offset, size_t bytes, icd_event *event,
                  void **pointer_out)
{
    icd_map *made = dcli_calloc(1, sizeof *made);
    if (made == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    made->flags = flags;
    made->span = (dcli_span){.offset = (int64_t)offset, .row_bytes = (int64_t)bytes, .rows = 1, .slices = 1};
    made->pointer =
        mem->host == NULL ? icd_map_memory(mem, bytes, &made->allocated) : (void *)((char *)mem->host + offset);
    cl_int status = made->pointer != NULL ? CL_SUCCESS : CL_MAP_FAILURE;
    int64_t has_list = 1; /* it waits for its list alone */
    dcli_msg_command marker = {.kind = DCLI_CL_MARKER, .number_count = 1, .number = &has_list};
    if (status == CL_SUCCESS && (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0)
        status = icd_command_send(queue->device, queue->number, event, &marker);
    else if (status == CL_SUCCESS)
        status = transfer(queue, mem, event, false, &made->span, made->pointer, 0, 0);
    if (status != CL_SUCCESS) {
        if (made->allocated > 0)
            icd_aligned_free(made->pointer);
        dcli_free(made);
        return status;
    }
    made->next = mem->maps;
    mem->maps = made;
    mem->map_count++;
    made->filled = icd_hold(event);
    event->at_end = icd_map_filled;
    event->at_end_user = icd_hold(mem); /* the region has to stay until it is filled */
    *pointer_out = made->pointer;
    return CL_SUCCESS;
}

/* Forget a region that the program does not get, because mapping it has failed. */
static void forget_map(icd_mem *mem, const icd_event *event)
{
    for (icd_map **at = &mem->maps; *at != NULL; at = &(*at)->next) {
        icd_map *map = *at;
        if (map->filled != event)
            continue;
        *at = map->next;
        mem->map_count--;
        icd_map_free(map);
        return;
    }
}

void *CL_API_CALL icd_clEnqueueMapBuffer(cl_command_queue handle, cl_mem mem_handle, cl_bool blocks, cl_map_flags flags,
                                         size_t offset, size_t bytes, cl_uint count, const cl_event *waits,
                                         cl_event *event_out, cl_int *status_out)
{
    icd_queue *queue = NULL;
    icd_mem *mem = NULL;
    void *pointer = NULL;
    cl_int status = CL_INVALID_COMMAND_QUEUE;
    if (icd_enter()) {
        const cl_map_flags known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
        status = begin_with(handle, mem_handle, count, waits, &queue, &mem);
        if (status == CL_SUCCESS &&
            (bytes == 0 || offset > mem->bytes || bytes > mem->bytes - offset || (flags & ~known) != 0 ||
             ((flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0 && (flags & (CL_MAP_READ | CL_MAP_WRITE)) != 0)))
            status = CL_INVALID_VALUE;
        if (status == CL_SUCCESS && (((flags & CL_MAP_READ) != 0 && !is_allowed(mem, false)) ||
                                     ((flags & ~(cl_map_flags)CL_MAP_READ) != 0 && !is_allowed(mem, true))))
            status = CL_INVALID_OPERATION;
        if (status == CL_SUCCESS) {
            icd_event *event = make_event(queue, CL_COMMAND_MAP_BUFFER, count, waits);
            icd_hold(mem); /* another thread may release it meanwhile */
            icd_hold(event);
            status = event != NULL ? map(queue, mem, flags, offset, bytes, event, &pointer) : CL_OUT_OF_HOST_MEMORY;
            status = icd_enqueued(event, status, blocks, event_out);
            if (status != CL_SUCCESS && pointer != NULL)
                forget_map(mem, event);
            icd_drop(event);
            icd_drop(mem);
        }
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? pointer : NULL;
}

static cl_int unmap(icd_queue *queue, icd_mem *mem, icd_map **at, icd_event *event)
{
    icd_map *ended = *at;
    bool writes = (ended->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    int64_t has_list = 1; /* it waits for its list alone */
    dcli_msg_command marker = {.kind = DCLI_CL_MARKER, .number_count = 1, .number = &has_list};
    cl_int status = icd_event_also(event, ended->filled);
    if (status == CL_SUCCESS)
        status = writes ? transfer(queue, mem, event, true, &ended->span, ended->pointer, 0, 0)
                        : icd_command_send(queue->device, queue->number, event, &marker);
    if (status != CL_SUCCESS)
        return status;
    *at = ended->next;
    mem->map_count--;
    ended->mem = icd_hold(mem);
    event->at_end = icd_map_ended;
    event->at_end_user = ended;
    return CL_SUCCESS;
}

cl_int CL_API_CALL icd_clEnqueueUnmapMemObject(cl_command_queue handle, cl_mem mem_handle, void *pointer, cl_uint count,
                                               const cl_event *waits, cl_event *event_out)
{
    icd_queue *queue = NULL;
    icd_mem *mem = NULL;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = begin_with(handle, mem_handle, count, waits, &queue, &mem);
    if (status != CL_SUCCESS)
        return leave(status);
    icd_map **at = &mem->maps;
    while (*at != NULL && (*at)->pointer != pointer)
        at = &(*at)->next;
    if (*at == NULL)
        return leave(CL_INVALID_VALUE);
    icd_event *event = make_event(queue, CL_COMMAND_UNMAP_MEM_OBJECT, count, waits);
    status = event != NULL ? unmap(queue, mem, at, event) : CL_OUT_OF_HOST_MEMORY;
    return leave(icd_enqueued(event, status, false, event_out));
}
