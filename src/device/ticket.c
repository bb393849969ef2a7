/* device/ticket.c - which commands are complete, and waiting for them.
 *
 * Every command has a number, its ticket; all queues share one count. A queue is in order, so its commands complete in
 * the order of their tickets. Therefore the event of one command stands for all before it, and small launches need not
 * all have events. A command that uses what another queue works on waits for that queue's event. A waiting host polls
 * the driver for a short time before it sleeps, because waking a sleeping thread costs more than a small kernel.
 *
 * A failed command is never forgotten: all commands with later tickets, of any queue, count as failed.
 *
 * Memory is returned to the system when the commands that use it are complete. If a driver fails to tell, the whole
 * queue is waited for; if that fails, too, the device counts as lost and its memory is not freed. */
#include "device/opencl.h"

#include <sched.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    SPIN_NS = 50000,
    CLOSE_NS = 1000000000,
    UNMARKABLE_NS = 1000000000,
    LARGE_ITEMS = 1 << 16, /* a launch of at least this many work-items runs longer than its event costs */
    MOST_UNMARKED = 15,    /* most consecutive launches without an event */
    RECENT = 64,           /* commands: elements that left within the last RECENT ones have left recently */
    /* Comparing the device's clock with the host's takes about as long as recording a launch. Therefore clocks are
     * compared by the first launches, and after each COMPARE_NS by a few more: the first of them may have been
     * queued long before. */
    FIRST_COMPARISONS = 32,
    LATER_COMPARISONS = 4,
    COMPARE_NS = 1000000
};

static dcli_mark *mark_at(dcli_queue *queue, int n) { return &queue->marks[(queue->first_mark + n) % DCLI_MOST_MARKS]; }

/* Record a failure. Queues are polled in any order, so the failure with the lowest ticket is kept. */
static void note_failure(dcli_device *device, uint64_t ticket, const char *call, cl_int code)
{
    if (device->failure == 0)
        DCLI_LOG(device->log, DCLI_LOG_WARN, "device %d: command %llu failed: %s gave %s (%d)", device->info.number,
                 (unsigned long long)ticket, call, dcli_cl_name(code), code);
    if (device->failure == 0 || ticket < device->failed_ticket) {
        device->failure = code;
        device->failed_ticket = ticket;
        device->failed_call = call;
    }
}

static void drain(dcli_device *device, const dcli_queue *queue)
{
    if (clFinish(queue->handle) != CL_SUCCESS)
        device->lost = true;
}

/* Status of a command: CL_COMPLETE, greater (not yet complete), or less (failed). If the status cannot be read, record
 * this as the command's failure and wait until the queue is empty, so that nothing in it still runs. */
static cl_int ask(dcli_device *device, const dcli_queue *queue, const dcli_mark *mark)
{
    cl_int state = CL_QUEUED;
    cl_int code = clGetEventInfo(mark->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (code == CL_SUCCESS)
        return state;
    note_failure(device, mark->ticket, "clGetEventInfo", code);
    drain(device, queue);
    return code;
}

/* Whether the queue for kernels records times. */
static bool is_timed(const dcli_device *device) { return !device->is_gpu || device->keeps_times; }

static void add_time(dcli_device *device, int sum, cl_event event)
{
    cl_ulong start = 0, end = 0;
    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) == CL_SUCCESS &&
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS && end > start)
        device->measured_ns[sum] += (int64_t)(end - start);
}

/* Whether a profiling time of a command is known. */
static bool has_time(const dcli_mark *mark, cl_profiling_info which, int64_t *ns_out)
{
    cl_ulong ns = 0;
    bool has = clGetEventProfilingInfo(mark->event, which, sizeof ns, &ns, NULL) == CL_SUCCESS;
    *ns_out = (int64_t)ns;
    return has;
}

/* Compare the clocks by a complete command. The host's is the device's plus an offset. A command is queued before
 * the host notes that it was, possibly long before: PoCL compiles in between. It ends before the host sees that it
 * has ended. Both bound the offset from above, and the least bound so far is taken as the offset. The clocks run at
 * slightly different rates (PoCL's does not follow the corrections of CLOCK_MONOTONIC), so bounds expire. */
static void compare_clocks(dcli_device *device, const dcli_mark *mark, int64_t end)
{
    enum { DRIFT = 2000 }; /* clocks are corrected by at most 1/2000: adjtimex(2) */
    int64_t queued, now = dcli_monotonic_ns(), offset = now - end;
    if (mark->added_ns != 0 && has_time(mark, CL_PROFILING_COMMAND_QUEUED, &queued))
        offset = dcli_min(offset, mark->added_ns - queued);
    if (device->clock_compared_ns != 0)
        offset = dcli_min(offset, device->clock_offset_ns + (now - device->clock_compared_ns) / DRIFT);
    device->clock_offset_ns = offset;
    device->clock_compared_ns = now;
    device->clock_ended_ns = end;
}

/* Report the begin and end of a complete command by the host's clock. */
static void tell_times(dcli_device *device, const dcli_mark *mark)
{
    int64_t begin, end;
    if (!has_time(mark, CL_PROFILING_COMMAND_START, &begin) || !has_time(mark, CL_PROFILING_COMMAND_END, &end) ||
        end < begin)
        return;
    if (device->comparisons_left == 0 && end - device->clock_ended_ns > COMPARE_NS)
        device->comparisons_left = LATER_COMPARISONS;
    if (device->comparisons_left > 0) {
        device->comparisons_left--;
        compare_clocks(device, mark, end);
    }
    device->timed_fn(device->timed_user, mark->ticket, begin + device->clock_offset_ns, end + device->clock_offset_ns);
}

static const dcli_launch_times *times_at(const dcli_device *device, int n)
{
    return &device->times[(device->first_times + n) % DCLI_KEPT_TIMES];
}

/* Keep the times of a complete launch, if the driver tells them. */
static void keep_times(dcli_device *device, const dcli_mark *mark)
{
    dcli_launch_times times = {.ticket = mark->ticket};
    if (!has_time(mark, CL_PROFILING_COMMAND_START, &times.begin_ns) ||
        !has_time(mark, CL_PROFILING_COMMAND_END, &times.end_ns) || times.end_ns <= times.begin_ns)
        return;
    if (device->times_count == DCLI_KEPT_TIMES) {
        device->first_times = (device->first_times + 1) % DCLI_KEPT_TIMES;
        device->times_count--;
    }
    device->times[(device->first_times + device->times_count++) % DCLI_KEPT_TIMES] = times;
}

void dcli_ended_release(dcli_device *device)
{
    while (device->ended_count > 0)
        clReleaseEvent(device->ended[--device->ended_count]);
}

/* Release the event of a complete command, preferably when the device rests: a driver needs 1 us for it, 5 after a long kernel, and the
 * program may be waiting for the command. */
static void end_event(dcli_device *device, cl_event event)
{
    if (device->ended_count == DCLI_KEPT_EVENTS)
        dcli_ended_release(device);
    device->ended[device->ended_count++] = event;
}

/* Drop the oldest `count` marks, whose commands are complete; the last one ended with `state`. */
static void retire(dcli_device *device, dcli_queue *queue, int count, cl_int state)
{
    for (int n = 0; n < count; n++) {
        dcli_mark *mark = mark_at(queue, 0);
        cl_int own = n == count - 1 ? state : ask(device, queue, mark);
        if (own < 0)
            note_failure(device, mark->ticket, mark->call, own);
        else if (mark->sum >= 0)
            add_time(device, mark->sum, mark->event);
        if (mark->told && own >= 0 && device->timed_fn != NULL)
            tell_times(device, mark);
        if (device->keeps_times && own >= 0 && queue == &device->queue[DCLI_COMPUTE])
            keep_times(device, mark);
        queue->retired = mark->ticket;
        end_event(device, mark->event);
        queue->first_mark = (queue->first_mark + 1) % DCLI_MOST_MARKS;
        queue->mark_count--;
    }
}

/* Find the newest complete mark by binary search, because completion is in order. */
static void poll_marks(dcli_device *device, dcli_queue *queue)
{
    int complete = 0, open = queue->mark_count; /* marks below `complete` are complete, from `open` on they are not */
    cl_int state = CL_COMPLETE;
    for (int n = 0; complete < open; n = complete + (open - complete) / 2) {
        cl_int found = ask(device, queue, mark_at(queue, n));
        if (found > CL_COMPLETE) {
            open = n;
        } else {
            complete = n + 1;
            state = found;
        }
    }
    retire(device, queue, complete, state);
}

/* Make room for a mark: drop complete ones, else every other one. A wait for a command without its mark lasts until the
 * next mark. */
static void make_room(dcli_device *device, dcli_queue *queue)
{
    if (queue->mark_count < DCLI_MOST_MARKS)
        return;
    poll_marks(device, queue);
    if (queue->mark_count < DCLI_MOST_MARKS)
        return;
    for (int n = 0; n < DCLI_MOST_MARKS / 2; n++) {
        clReleaseEvent(mark_at(queue, 2 * n)->event);
        *mark_at(queue, n) = *mark_at(queue, 2 * n + 1);
    }
    queue->mark_count = DCLI_MOST_MARKS / 2;
}

static void add_mark(dcli_device *device, dcli_queue *queue, cl_event event)
{
    make_room(device, queue);
    bool computes = queue == &device->queue[DCLI_COMPUTE], told = computes && device->timed_fn != NULL;
    *mark_at(queue, queue->mark_count++) =
        (dcli_mark){.ticket = queue->last,
                    .event = event,
                    .call = queue->last_call,
                    .sum = computes ? device->measures : -1,
                    .told = told,
                    .added_ns = told && device->comparisons_left > 0 ? dcli_monotonic_ns() : 0};
    queue->unmarked = 0;
}

uint64_t dcli_ticket_add(dcli_device *device, dcli_direction direction, const char *call, cl_event event)
{
    dcli_queue *queue = &device->queue[direction];
    queue->last = ++device->launched;
    queue->last_call = call;
    queue->unflushed = true;
    queue->unmarked++;
    if (event != NULL)
        add_mark(device, queue, event);
    return queue->last;
}

/* Whether elements have left the device recently. Then they probably will again, and the commands that copy them out
 * must wait for the event of a launch: without an event of the launch that wrote them, for that of a later one. */
static bool exports(const dcli_device *device)
{
    const dcli_queue *pack = &device->queue[DCLI_PACK], *out = &device->queue[DCLI_OUT];
    uint64_t last = pack->last > out->last ? pack->last : out->last;
    return last > 0 && device->launched - last < RECENT;
}

bool dcli_ticket_wants_event(const dcli_device *device, dcli_direction direction, size_t items)
{
    return is_timed(device) || direction != DCLI_COMPUTE || items >= LARGE_ITEMS ||
           device->queue[DCLI_COMPUTE].unmarked >= MOST_UNMARKED || exports(device);
}

/* The last command of a queue that has an event or is known to be complete. */
static uint64_t last_marked(dcli_queue *queue)
{
    return queue->mark_count > 0 ? mark_at(queue, queue->mark_count - 1)->ticket : queue->retired;
}

/* Ensure that the last command of a queue has an event. */
static dcl_status mark_last(dcli_device *device, dcli_queue *queue)
{
    if (last_marked(queue) == queue->last)
        return DCL_OK;
    cl_event event;
    cl_int code = clEnqueueMarkerWithWaitList(queue->handle, 0, NULL, &event);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clEnqueueMarkerWithWaitList", code);
    queue->unflushed = true;
    add_mark(device, queue, event);
    return DCL_OK;
}

static cl_int flush(dcli_queue *queue)
{
    cl_int code = clFlush(queue->handle);
    queue->unflushed = code != CL_SUCCESS;
    return code;
}

/* Index of the mark of a command, or of the next one that has a mark. The last command has one. */
static int mark_of(dcli_queue *queue, uint64_t ticket)
{
    int n = 0;
    while (mark_at(queue, n)->ticket < ticket)
        n++;
    return n;
}

static dcl_status wait_for_mark(dcli_device *device, dcli_queue *queue, int n)
{
    const dcli_mark *mark = mark_at(queue, n);
    cl_int state = ask(device, queue, mark);
    if (state > CL_COMPLETE)
        flush(queue); /* optional: clWaitForEvents() flushes, too */
    for (int64_t end = dcli_monotonic_ns() + SPIN_NS; state > CL_COMPLETE && dcli_monotonic_ns() < end;
         state = ask(device, queue, mark))
        sched_yield();
    if (state > CL_COMPLETE) {
        cl_int code = clWaitForEvents(1, &mark->event);
        state = ask(device, queue, mark);
        if (state > CL_COMPLETE)
            return dcli_cl_fail(device, "clWaitForEvents", code);
    }
    retire(device, queue, n + 1, state);
    return DCL_OK;
}

void dcli_device_measure(dcli_device *device, int sum)
{
    dcli_queue *queue = &device->queue[DCLI_COMPUTE];
    device->measures = is_timed(device) ? sum : -1;
    for (int n = 0; sum >= 0 && n < queue->mark_count; n++)
        if (mark_at(queue, n)->sum == sum)
            mark_at(queue, n)->sum = -1;
    if (sum >= 0)
        device->measured_ns[sum] = 0;
}

int64_t dcli_device_measured_ns(const dcli_device *device, int sum) { return device->measured_ns[sum]; }

int64_t dcli_device_took_ns(const dcli_device *device, uint64_t after, uint64_t upto)
{
    enum { MOST_PAUSE_NS = 50000 };
    int last = device->times_count - 1, first;
    while (last >= 0 && times_at(device, last)->ticket > upto)
        last--;
    if (last < 0 || times_at(device, last)->ticket <= after)
        return 0;
    for (first = last; first > 0 && times_at(device, first - 1)->ticket > after;)
        first--;
    int64_t begin_ns = times_at(device, first)->begin_ns;
    int64_t pause_ns = first > 0 ? begin_ns - times_at(device, first - 1)->end_ns : 0;
    return times_at(device, last)->end_ns - begin_ns + dcli_min(MOST_PAUSE_NS, dcli_max(0, pause_ns));
}

void dcli_device_on_timed(dcli_device *device, dcli_timed_fn *fn, void *user)
{
    device->timed_fn = device->is_gpu ? NULL : fn;
    device->timed_user = user;
    device->comparisons_left = FIRST_COMPARISONS;
}

dcl_status dcli_device_flush(dcli_device *device)
{
    cl_int code = CL_SUCCESS;
    for (int n = 0; n < DCLI_QUEUES && code == CL_SUCCESS; n++)
        if (device->queue[n].unflushed)
            code = flush(&device->queue[n]);
    return code == CL_SUCCESS ? DCL_OK : dcli_cl_fail(device, "clFlush", code);
}

uint64_t dcli_device_launched(const dcli_device *device) { return device->launched; }

/* Whether the commands of a queue up to a ticket are known to be complete. */
static bool is_retired(const dcli_queue *queue, uint64_t ticket)
{
    return ticket <= queue->retired || dcli_queue_is_idle(queue);
}

/* Treat the last commands as failed, after no event could be made for them for a second: they would never count as
 * complete. */
static void give_up(dcli_device *device, dcli_queue *queue)
{
    uint64_t first = last_marked(queue) + 1;
    drain(device, queue);
    poll_marks(device, queue);
    note_failure(device, first, "clEnqueueMarkerWithWaitList", CL_OUT_OF_RESOURCES);
    if (queue->mark_count == 0)
        queue->retired = queue->last;
}

static void poll_queue(dcli_device *device, dcli_queue *queue)
{
    if (dcli_queue_is_idle(queue))
        return;
    if (mark_last(device, queue) == DCL_OK) {
        queue->unmarkable_ns = 0;
        poll_marks(device, queue);
        return;
    }
    int64_t now = dcli_monotonic_ns();
    if (queue->unmarkable_ns == 0)
        queue->unmarkable_ns = now;
    if (now - queue->unmarkable_ns > UNMARKABLE_NS)
        give_up(device, queue);
}

uint64_t dcli_device_retired(dcli_device *device)
{
    dcli_queue *queue = &device->queue[DCLI_COMPUTE];
    poll_queue(device, queue);
    return dcli_queue_is_idle(queue) ? device->launched : queue->retired;
}

/* Poll all queues first: commands that the given ones had to wait for are complete, too, and have events, so their
 * failures are found. */
dcl_status dcli_device_outcome(dcli_device *device, uint64_t ticket)
{
    for (int n = 0; n < DCLI_QUEUES && !device->sight.in_place; n++)
        poll_marks(device, &device->queue[n]);
    if (device->failure == 0 || ticket < device->failed_ticket)
        return DCL_OK;
    return dcli_cl_fail(device, device->failed_call, device->failure);
}

static dcl_status finish_queue(dcli_device *device, dcli_queue *queue, uint64_t ticket)
{
    if (is_retired(queue, ticket))
        return DCL_OK;
    if (ticket > queue->last)
        ticket = queue->last;
    dcl_status status = last_marked(queue) < ticket ? mark_last(device, queue) : DCL_OK;
    if (status == DCL_OK)
        status = wait_for_mark(device, queue, mark_of(queue, ticket));
    if (status != DCL_OK)
        drain(device, queue);
    return status;
}

dcl_status dcli_tickets_finish(dcli_device *device, const uint64_t ticket[DCLI_QUEUES])
{
    dcl_status status = DCL_OK;
    uint64_t last = 0;
    for (int n = 0; n < DCLI_QUEUES; n++) {
        dcl_status this = finish_queue(device, &device->queue[n], ticket[n]);
        if (status == DCL_OK)
            status = this;
        if (last < ticket[n])
            last = ticket[n];
    }
    return status == DCL_OK ? dcli_device_outcome(device, last) : status;
}

dcl_status dcli_device_finish(dcli_device *device, uint64_t ticket)
{
    uint64_t all[DCLI_QUEUES];
    for (int n = 0; n < DCLI_QUEUES; n++)
        all[n] = ticket;
    return dcli_tickets_finish(device, all);
}

bool dcli_tickets_are_complete(dcli_device *device, const uint64_t ticket[DCLI_QUEUES], dcl_status *status_out)
{
    uint64_t last = 0;
    for (int n = 0; n < DCLI_QUEUES; n++) {
        dcli_queue *queue = &device->queue[n];
        if (!is_retired(queue, ticket[n]))
            poll_queue(device, queue);
        if (!is_retired(queue, ticket[n]))
            return false;
        if (last < ticket[n])
            last = ticket[n];
    }
    *status_out = dcli_device_outcome(device, last);
    return true;
}

bool dcli_device_is_complete(dcli_device *device, uint64_t ticket, dcl_status *status_out)
{
    const uint64_t tickets[DCLI_QUEUES] = {[DCLI_COMPUTE] = ticket, [DCLI_IN] = ticket, [DCLI_UNPACK] = ticket};
    return dcli_tickets_are_complete(device, tickets, status_out);
}

bool dcli_device_has_taken(dcli_device *device, uint64_t ticket, dcl_status *status_out)
{
    return dcli_tickets_are_complete(device, (uint64_t[DCLI_QUEUES]){[DCLI_IN] = ticket}, status_out);
}

bool dcli_device_has_unpacked(dcli_device *device, uint64_t ticket, dcl_status *status_out)
{
    const uint64_t tickets[DCLI_QUEUES] = {[DCLI_IN] = ticket, [DCLI_UNPACK] = ticket};
    return dcli_tickets_are_complete(device, tickets, status_out);
}

/* ---- following other queues ------------------------------------------------------------------------------------ */

/* The event that stands for a queue's commands up to a ticket; that queue must be flushed. */
static dcl_status follow(dcli_device *device, dcli_queue *queue, uint64_t ticket, cl_event *event_out)
{
    dcl_status status = last_marked(queue) < ticket ? mark_last(device, queue) : DCL_OK;
    cl_int code = status == DCL_OK && queue->unflushed ? flush(queue) : CL_SUCCESS;
    if (code != CL_SUCCESS)
        status = dcli_cl_fail(device, "clFlush", code);
    if (status == DCL_OK)
        *event_out = mark_at(queue, mark_of(queue, ticket))->event;
    return status;
}

dcl_status dcli_after_find(dcli_device *device, dcli_direction direction, dcli_after *after)
{
    dcl_status status = DCL_OK;
    for (int n = 0; n < DCLI_QUEUES && status == DCL_OK; n++) {
        dcli_queue *queue = &device->queue[n];
        if (n == (int)direction || is_retired(queue, after->ticket[n]))
            continue;
        status = follow(device, queue, after->ticket[n], &after->event[after->count]);
        after->count += status == DCL_OK;
    }
    return status;
}

/* ---- notifications --------------------------------------------------------------------------------------------- */

struct notice {
    void (*fn)(void *user);
    void *user;
    atomic_int *open; /* also synchronizes the fields between the requesting thread and the callback: written before,
                         read after */
};

static void CL_CALLBACK give_notice(cl_event event, cl_int state, void *user)
{
    (void)event;
    (void)state;
    struct notice *notice = user;
    atomic_int *open = notice->open;
    atomic_fetch_add(open, 0); /* acquire what the requesting thread wrote */
    notice->fn(notice->user);
    dcli_free(notice);
    atomic_fetch_sub(open, 1);
}

/* Ask for a notice of a mark, unless the same notice was asked for before. A loop that sleeps asks again after each
 * wake-up; without this check, one mark would wake it once per request. */
static dcl_status ask_for_notice(dcli_device *device, dcli_queue *queue, int mark, void (*fn)(void *user), void *user)
{
    if (mark_at(queue, mark)->noticed_by == user && user != NULL) {
        if (ask(device, queue, mark_at(queue, mark)) <= CL_COMPLETE)
            fn(user);
        return DCL_OK;
    }
    struct notice *notice = dcli_malloc(sizeof *notice);
    if (notice == NULL)
        return DCL_ERR_NOMEM;
    *notice = (struct notice){.fn = fn, .user = user, .open = &device->notices};
    atomic_fetch_add(&device->notices, 1);
    cl_int code = clSetEventCallback(mark_at(queue, mark)->event, CL_COMPLETE, give_notice, notice);
    if (code == CL_SUCCESS) {
        mark_at(queue, mark)->noticed_by = user;
        return DCL_OK;
    }
    atomic_fetch_sub(&device->notices, 1);
    dcli_free(notice);
    return dcli_cl_fail(device, "clSetEventCallback", code);
}

/* Ask each busy queue for a notice: of the launch, and of the oldest transfer in each direction, because transfers are
 * waited for one by one. */
dcl_status dcli_device_notify(dcli_device *device, uint64_t ticket, void (*fn)(void *user), void *user)
{
    dcli_queue *compute = &device->queue[DCLI_COMPUTE];
    bool idle = true;
    dcl_status status = DCL_OK;
    for (int n = 0; n < DCLI_QUEUES && status == DCL_OK; n++)
        if (!dcli_queue_is_idle(&device->queue[n])) {
            idle = false;
            status = mark_last(device, &device->queue[n]);
        }
    if (idle || (!dcli_queue_is_idle(compute) && ticket <= compute->retired)) {
        fn(user);
        return DCL_OK;
    }
    if (status == DCL_OK)
        status = dcli_device_flush(device); /* flush first: if it fails, nobody must be called */
    if (ticket > compute->last)
        ticket = compute->last;
    for (int n = 0; n < DCLI_QUEUES && status == DCL_OK; n++) {
        dcli_queue *queue = &device->queue[n];
        if (!dcli_queue_is_idle(queue))
            status = ask_for_notice(device, queue, n == DCLI_COMPUTE ? mark_of(queue, ticket) : 0, fn, user);
    }
    return status;
}

bool dcli_ticket_end(dcli_device *device)
{
    dcli_device_finish(device, device->launched);
    for (int64_t end = dcli_monotonic_ns() + CLOSE_NS; atomic_load(&device->notices) > 0 && dcli_monotonic_ns() < end;)
        sched_yield();
    for (int n = 0; n < DCLI_QUEUES; n++)
        while (device->queue[n].mark_count > 0)
            retire(device, &device->queue[n], 1, CL_COMPLETE);
    dcli_ended_release(device);
    return atomic_load(&device->notices) == 0;
}
