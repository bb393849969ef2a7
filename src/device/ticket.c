/* device/ticket.c - which launches are complete, and waiting for them.
 *
 * Every launch has a number, its ticket. The queue is in order, so launches complete in the order of their tickets: the
 * event of a launch stands for all before it, and not every small one needs an event. A waiting host asks the driver for
 * a short time before it sleeps, because waking a sleeping thread costs more than a small kernel.
 *
 * Memory is given back to the system once the launches that use it are complete. So where a driver fails to tell, the
 * whole queue is waited for, and where that fails, too, the device counts as lost and keeps its memory. */
#include "device/opencl.h"

#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    SPIN_NS = 50000,
    CLOSE_NS = 1000000000,
    LARGE_ITEMS = 1 << 16, /* a launch of so many runs longer than its event costs */
    MOST_UNMARKED = 15     /* launches in a row without an event */
};

static dcli_mark *mark_at(dcli_device *device, int n)
{
    return &device->marks[(device->first_mark + n) % DCLI_MOST_MARKS];
}

static void note_failure(dcli_device *device, uint64_t ticket, const char *call, cl_int code)
{
    if (device->failure == 0) {
        device->failure = code;
        device->failed_ticket = ticket;
        device->failed_call = call;
        DCLI_LOG(device->log, DCLI_LOG_WARN, "device %d: launch %llu failed: %s gave %s (%d)", device->info.number,
                 (unsigned long long)ticket, call, dcli_cl_name(code), code);
    }
}

static void drain(dcli_device *device)
{
    if (clFinish(device->queue) != CL_SUCCESS)
        device->lost = true;
}

/* Status of a launch: CL_COMPLETE, above it (not yet), or below (failed). */
static cl_int ask(dcli_device *device, const dcli_mark *mark)
{
    cl_int state = CL_QUEUED;
    cl_int code = clGetEventInfo(mark->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (code == CL_SUCCESS)
        return state;
    note_failure(device, mark->ticket, "clGetEventInfo", code);
    drain(device);
    return code;
}

static void add_time(dcli_device *device, cl_event event)
{
    cl_ulong start = 0, end = 0;
    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) == CL_SUCCESS &&
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS && end > start)
        device->measured_ns += (int64_t)(end - start);
}

/* Drop the oldest `count` marks, whose launches are complete; the last one ended with `state`. */
static void retire(dcli_device *device, int count, cl_int state)
{
    for (int n = 0; n < count; n++) {
        dcli_mark *mark = mark_at(device, 0);
        cl_int own = n == count - 1 ? state : ask(device, mark);
        if (own < 0)
            note_failure(device, mark->ticket, mark->call, own);
        else if (mark->timed)
            add_time(device, mark->event);
        device->retired = mark->ticket;
        clReleaseEvent(mark->event);
        device->first_mark = (device->first_mark + 1) % DCLI_MOST_MARKS;
        device->mark_count--;
    }
}

/* Find the newest complete mark by halving: completion is in order. */
static void poll_marks(dcli_device *device)
{
    int complete = 0, open = device->mark_count; /* marks below `complete` are complete, from `open` on not */
    cl_int state = CL_COMPLETE;
    for (int n = 0; complete < open; n = complete + (open - complete) / 2) {
        cl_int found = ask(device, mark_at(device, n));
        if (found > CL_COMPLETE) {
            open = n;
        } else {
            complete = n + 1;
            state = found;
        }
    }
    retire(device, complete, state);
}

/* Make room for a mark: by dropping complete ones, else every other one. A wait for a launch whose mark was dropped lasts
 * until the next one. */
static void make_room(dcli_device *device)
{
    if (device->mark_count < DCLI_MOST_MARKS)
        return;
    poll_marks(device);
    if (device->mark_count < DCLI_MOST_MARKS)
        return;
    for (int n = 0; n < DCLI_MOST_MARKS / 2; n++) {
        clReleaseEvent(mark_at(device, 2 * n)->event);
        *mark_at(device, n) = *mark_at(device, 2 * n + 1);
    }
    device->mark_count = DCLI_MOST_MARKS / 2;
}

static void add_mark(dcli_device *device, cl_event event)
{
    make_room(device);
    *mark_at(device, device->mark_count++) =
        (dcli_mark){.ticket = device->launched, .event = event, .call = device->last_call, .timed = device->measures};
}

uint64_t dcli_ticket_add(dcli_device *device, const char *call, cl_event event)
{
    device->launched++;
    device->last_call = call;
    if (event != NULL)
        add_mark(device, event);
    return device->launched;
}

/* The last launch that has an event or is known to be complete. */
static uint64_t last_marked(dcli_device *device)
{
    return device->mark_count > 0 ? mark_at(device, device->mark_count - 1)->ticket : device->retired;
}

bool dcli_ticket_wants_event(dcli_device *device, size_t items)
{
    return !device->is_gpu || items >= LARGE_ITEMS || device->launched - last_marked(device) >= MOST_UNMARKED;
}

/* See to it that the last launch has an event. */
static dcl_status mark_last(dcli_device *device)
{
    if (last_marked(device) == device->launched)
        return DCL_OK;
    cl_event event;
    cl_int code = clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &event);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clEnqueueMarkerWithWaitList", code);
    add_mark(device, event);
    return DCL_OK;
}

/* The number of the mark that tells of a launch: its own, or the next one. The last launch has one. */
static int mark_of(dcli_device *device, uint64_t ticket)
{
    int n = 0;
    while (mark_at(device, n)->ticket < ticket)
        n++;
    return n;
}

static dcl_status wait_for_mark(dcli_device *device, int n)
{
    const dcli_mark *mark = mark_at(device, n);
    cl_int state = ask(device, mark);
    if (state > CL_COMPLETE)
        clFlush(device->queue); /* a wish: clWaitForEvents() does so, too */
    for (int64_t end = dcli_monotonic_ns() + SPIN_NS; state > CL_COMPLETE && dcli_monotonic_ns() < end;
         state = ask(device, mark))
        sched_yield();
    if (state > CL_COMPLETE) {
        cl_int code = clWaitForEvents(1, &mark->event);
        state = ask(device, mark);
        if (state > CL_COMPLETE)
            return dcli_cl_fail(device, "clWaitForEvents", code);
    }
    retire(device, n + 1, state);
    return DCL_OK;
}

void dcli_device_measure(dcli_device *device, bool on)
{
    device->measures = on && !device->is_gpu;
    for (int n = 0; on && n < device->mark_count; n++)
        mark_at(device, n)->timed = false;
    if (on)
        device->measured_ns = 0;
}

int64_t dcli_device_measured_ns(const dcli_device *device) { return device->measured_ns; }

dcl_status dcli_device_flush(dcli_device *device)
{
    cl_int code = clFlush(device->queue);
    return code == CL_SUCCESS ? DCL_OK : dcli_cl_fail(device, "clFlush", code);
}

uint64_t dcli_device_launched(const dcli_device *device) { return device->launched; }

uint64_t dcli_device_retired(dcli_device *device)
{
    if (mark_last(device) == DCL_OK)
        poll_marks(device);
    return device->retired;
}

static dcl_status outcome(const dcli_device *device, uint64_t ticket)
{
    if (device->failure == 0 || ticket < device->failed_ticket)
        return DCL_OK;
    return dcli_cl_fail(device, device->failed_call, device->failure);
}

dcl_status dcli_device_finish(dcli_device *device, uint64_t ticket)
{
    if (ticket > device->launched)
        ticket = device->launched;
    if (ticket <= device->retired)
        return outcome(device, ticket);
    dcl_status status = mark_last(device);
    if (status == DCL_OK)
        status = wait_for_mark(device, mark_of(device, ticket));
    if (status == DCL_OK)
        return outcome(device, ticket);
    drain(device);
    return status;
}

struct notice {
    void (*fn)(void *user);
    void *user;
    atomic_int *open; /* also hands the fields over from the thread that asked: set before, read after */
};

static void CL_CALLBACK give_notice(cl_event event, cl_int state, void *user)
{
    (void)event;
    (void)state;
    struct notice *notice = user;
    atomic_int *open = notice->open;
    atomic_fetch_add(open, 0); /* acquires what the asking thread wrote */
    notice->fn(notice->user);
    dcli_free(notice);
    atomic_fetch_sub(open, 1);
}

dcl_status dcli_device_notify(dcli_device *device, uint64_t ticket, void (*fn)(void *user), void *user)
{
    if (ticket > device->launched)
        ticket = device->launched;
    if (ticket <= device->retired) {
        fn(user);
        return DCL_OK;
    }
    dcl_status status = mark_last(device);
    if (status == DCL_OK)
        status = dcli_device_flush(device); /* before: when it fails, nobody is to be called */
    if (status != DCL_OK)
        return status;
    struct notice *notice = dcli_malloc(sizeof *notice);
    if (notice == NULL)
        return DCL_ERR_NOMEM;
    *notice = (struct notice){.fn = fn, .user = user, .open = &device->notices};
    atomic_fetch_add(&device->notices, 1);
    cl_event event = mark_at(device, mark_of(device, ticket))->event;
    cl_int code = clSetEventCallback(event, CL_COMPLETE, give_notice, notice);
    if (code != CL_SUCCESS) {
        atomic_fetch_sub(&device->notices, 1);
        dcli_free(notice);
        return dcli_cl_fail(device, "clSetEventCallback", code);
    }
    return DCL_OK;
}

bool dcli_ticket_end(dcli_device *device)
{
    dcli_device_finish(device, device->launched);
    for (int64_t end = dcli_monotonic_ns() + CLOSE_NS; atomic_load(&device->notices) > 0 && dcli_monotonic_ns() < end;)
        sched_yield();
    while (device->mark_count > 0)
        retire(device, 1, CL_COMPLETE);
    return atomic_load(&device->notices) == 0;
}
