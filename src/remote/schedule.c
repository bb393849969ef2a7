/* remote/schedule.c - the order of commands.
 *
 * A command is submitted to the device's own command queue as soon as everything that it waits for has been submitted, too,
 * or has ended: the device's driver then orders it. Until then it waits here, in the list of its command queue: because an
 * event of the program or of another server has not ended, because data have not arrived, or because a command before it
 * waits. So no command waits in the device for something that only a message can bring. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "remote/inside.h"

/* ---- events ---- */

static dcl_status send_ended(dcli_remote *remote, dcli_msg_ended ended[], int64_t count)
{
    dcli_message message = {
        .kind = DCLI_MSG_EVENTS, .epoch = remote->terms.session, .events = {.count = (int)count, .ended = ended}};
    dcl_status status = dcli_endpoint_send(remote->terms.endpoint, remote->terms.client, &message, NULL);
    return status == DCL_ERR_NETWORK ? DCL_OK : status; /* receiving reports why */
}

/* Something is to be reported: if nothing else is, set the time at which it is at the latest. */
static void await_report(dcli_remote *remote)
{
    if (remote->ended_count == 0 && remote->passed_count == 0)
        remote->reports_due_ns = dcli_monotonic_ns() + DCLI_REPORTS_LATE_MS * INT64_C(1000000);
}

static void report(dcli_remote *remote, dcli_msg_ended *ended, bool at_once)
{
    await_report(remote);
    remote->reports_now = remote->reports_now || at_once;
    if (dcli_grow(&remote->ended, remote->ended_count, &remote->ended_capacity, sizeof *remote->ended) == 0)
        remote->ended[remote->ended_count++] = *ended;
    else
        send_ended(remote, ended, 1); /* without memory the order does not matter */
}

static int64_t time_of(cl_event real, cl_profiling_info what)
{
    cl_ulong time = 0;
    if (real == NULL || clGetEventProfilingInfo(real, what, sizeof time, &time, NULL) != CL_SUCCESS ||
        time > DCLI_MOST_NS)
        return 0;
    return (int64_t)time;
}

/* @return false: it had ended before. */
static bool end_silently(dcli_remote *remote, dcli_object *event, cl_int status)
{
    if (event->event.ended)
        return false;
    event->event.ended = true;
    event->status = status;
    remote->stuck_dirty = true;
    dcli_peers_tell(remote, event);
    return true;
}

void dcli_event_end(dcli_remote *remote, dcli_object *event, cl_int status, cl_event first, cl_event real)
{
    if (!end_silently(remote, event, status) || event->event.is_user) /* the driver knows of the latter */
        return;
    report(remote,
           &(dcli_msg_ended){.event = event->number,
                             .status = status,
                             .through = event->event.in_order && status == CL_SUCCESS,
                             .queued_ns = time_of(first, CL_PROFILING_COMMAND_QUEUED),
                             .submit_ns = time_of(first, CL_PROFILING_COMMAND_SUBMIT),
                             .start_ns = time_of(first, CL_PROFILING_COMMAND_START),
                             .end_ns = time_of(real, CL_PROFILING_COMMAND_END)},
           !event->event.unobserved || status != CL_SUCCESS);
}

void dcli_queue_failed(dcli_remote *remote, const dcli_object *queue, cl_int status)
{
    report(remote, &(dcli_msg_ended){.event = queue->number, .status = status}, true);
}

void dcli_queue_report(dcli_remote *remote, dcli_object *queue)
{
    if (queue->queue.passed != 0)
        report(remote, &(dcli_msg_ended){.event = queue->queue.passed, .through = true}, false);
    queue->queue.passed = 0;
}

dcl_status dcli_events_send(dcli_remote *remote)
{
    enum { MANY = 64 };
    dcl_status status = DCL_OK;
    int64_t waiting = remote->ended_count + remote->passed_count;
    if (waiting == 0 || (!remote->reports_now && waiting < MANY && dcli_monotonic_ns() < remote->reports_due_ns))
        return DCL_OK;
    dcli_kernel_output_send(remote); /* before the program hears of the end */
    if (dcli_kernel_output_waits(remote))
        return DCL_OK;
    for (dcli_object *queue = remote->passed_count > 0 ? remote->queues : NULL; queue != NULL;
         queue = queue->queue.next)
        dcli_queue_report(remote, queue);
    int64_t count = remote->ended_count, part;
    remote->ended_count = remote->passed_count = 0;
    remote->reports_now = false;
    for (int64_t n = 0; n < count && status == DCL_OK; n += part) {
        part = dcli_min(count - n, DCLI_MOST_ENDED);
        status = send_ended(remote, remote->ended + n, part);
    }
    return status;
}

/* ---- what the device reports ---- */

static void push(dcli_remote *remote, dcli_completion *completion)
{
    completion->next = atomic_load(&remote->completions);
    while (!atomic_compare_exchange_weak(&remote->completions, &completion->next, completion))
        ;
}

/* Note the end of a command. Called by a thread of the driver. It wakes the serving thread if the command is observed,
 * or if an observed end has not been handled yet, which may have to wait for this one. Otherwise the serving thread
 * looks by itself later: see patience(). No end is missed: the counter of observed ends is raised before an observed
 * end is pushed, and read after any end was pushed. */
static void CL_CALLBACK note_end(cl_event real, cl_int status, void *user)
{
    dcli_completion *completion = user;
    dcli_remote *remote = completion->remote;
    bool observed = !completion->unobserved || status < 0;
    (void)real;
    completion->status = status;
    completion->noted = observed;
    if (observed)
        atomic_fetch_add(&remote->observed_ends, 1);
    push(remote, completion);
    if (observed || atomic_load(&remote->observed_ends) > 0)
        dcli_endpoint_wake(remote->terms.endpoint);
    atomic_fetch_sub(&remote->callbacks, 1);
}

static dcl_status have_called(dcli_remote *remote, dcli_completion *completion)
{
    atomic_fetch_add(&remote->callbacks, 1);
    cl_int code = clSetEventCallback(completion->real, CL_COMPLETE, note_end, completion);
    if (code == CL_SUCCESS)
        return DCL_OK;
    atomic_fetch_sub(&remote->callbacks, 1);
    return DCLI_FAIL(DCL_ERR_DEVICE,
                     "clSetEventCallback fails with OpenCL error %d; expected a driver that reports "
                     "when commands end; see the worker's log",
                     (int)code);
}

dcl_status dcli_completion_ask(dcli_remote *remote, dcli_object *queue, cl_event real, dcli_task *task,
                               dcli_chunk *chunk)
{
    dcli_object *event = task != NULL ? task->event : NULL;
    dcli_completion *completion = dcli_spares_take(&remote->completion_memory, sizeof *completion);
    if (completion == NULL)
        return DCL_ERR_NOMEM;
    *completion =
        (dcli_completion){.remote = remote,
                          .queue = queue,
                          .event = event,
                          .chunk = chunk,
                          .real = real,
                          .unobserved = chunk != NULL ? chunk->untold : event == NULL || event->event.unobserved};
    completion->silent = remote->polls || (completion->unobserved && queue->queue.in_order);
    clRetainEvent(real);
    dcl_status status = completion->silent ? DCL_OK : have_called(remote, completion);
    if (status != DCL_OK) {
        clReleaseEvent(real);
        dcli_spares_give(&remote->completion_memory, completion);
        return status;
    }
    dcli_object_hold(event);
    dcli_object_hold(queue);
    if (task != NULL) {
        completion->wait = task->wait;
        completion->wait_count = task->wait_count;
        completion->lenient = task->lenient;
        task->wait = NULL;
        task->wait_count = 0;
    }
    if (event != NULL)
        event->event.pending = true;
    completion->number = ++remote->submitted;
    *queue->queue.newest = completion;
    queue->queue.newest = &completion->later;
    remote->unobserved_count += completion->unobserved;
    if (remote->outstanding++ == 0)
        dcli_watch_activity(remote->watch, DCLI_COMPUTING, "OpenCL commands");
    return DCL_OK;
}

/* End the event of a command. If it is unobserved and its queue in order, the next end of the queue that is reported covers it. */
static void end_command(dcli_remote *remote, const dcli_completion *completion, cl_int status)
{
    dcli_object *queue = completion->queue, *event = completion->event;
    cl_event timed = queue->queue.profiles ? completion->real : NULL;
    if (!completion->unobserved || !queue->queue.in_order || status != CL_SUCCESS) {
        dcli_event_end(remote, event, status, timed, timed);
        queue->queue.passed = status == CL_SUCCESS ? 0 : queue->queue.passed;
    } else if (end_silently(remote, event, status)) {
        await_report(remote);
        remote->passed_count++;
        queue->queue.passed = event->number;
    }
}

static void drop_waits(dcli_remote *remote, dcli_object **wait, int count)
{
    for (int w = 0; w < count; w++)
        dcli_object_drop(remote, wait[w]);
    dcli_free(wait);
}

bool dcli_waits_failed(dcli_object *const wait[], int wait_count, int lenient)
{
    for (int w = lenient; w < wait_count; w++) {
        cl_int status = wait[w]->status;
        if (!wait[w]->event.ended && status == CL_SUCCESS &&
            (wait[w]->event.real == NULL || clGetEventInfo(wait[w]->event.real, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                           sizeof status, &status, NULL) != CL_SUCCESS))
            status = CL_SUCCESS;
        if (status < 0)
            return true;
    }
    return false;
}

/* Whether the server has handled the ends of the device's commands for which this one waited. Only then does the server know whether they have failed:
 * a device may run a command although one before it has failed, and report it as complete. All these commands were submitted before this
 * one, so their ends do not wait for this one. */
static bool waits_are_known(const dcli_completion *completion)
{
    const dcli_task *task = completion->chunk != NULL ? completion->chunk->transfer->transfer.task : NULL;
    dcli_object *const *wait = task != NULL ? task->wait : completion->wait;
    int count = task != NULL ? task->wait_count : completion->wait_count;
    for (int w = task != NULL ? task->lenient : completion->lenient; w < count; w++)
        if (!wait[w]->event.ended && wait[w]->event.pending)
            return false;
    return true;
}

/* A command or a chunk has ended: report it, and free the completion. */
static void handle(dcli_remote *remote, dcli_completion *completion)
{
    cl_int status = completion->status > 0 ? CL_SUCCESS : completion->status;
    if (status == CL_SUCCESS && dcli_waits_failed(completion->wait, completion->wait_count, completion->lenient))
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    remote->unobserved_count -= completion->unobserved;
    if (completion->noted)
        atomic_fetch_sub(&remote->observed_ends, 1);
    if (completion->chunk != NULL)
        dcli_chunk_done(remote, completion->chunk, status);
    if (completion->event != NULL)
        end_command(remote, completion, status);
    drop_waits(remote, completion->wait, completion->wait_count);
    dcli_object_drop(remote, completion->event);
    dcli_object_drop(remote, completion->queue);
    clReleaseEvent(completion->real);
    dcli_spares_give(&remote->completion_memory, completion);
    if (--remote->outstanding == 0)
        dcli_watch_activity(remote->watch, DCLI_COMPUTING, NULL);
    else
        dcli_watch_progress(remote->watch, DCLI_COMPUTING);
}

/* Ask the driver whether a command has ended. @return whether it has. */
static bool ask(dcli_completion *completion)
{
    cl_int status = CL_QUEUED,
           code = clGetEventInfo(completion->real, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    completion->status = code != CL_SUCCESS ? code : status;
    completion->ended = completion->status <= CL_COMPLETE;
    return completion->ended;
}

/* Handle the ends of a queue that may be handled now: in a queue in order, those before which none is missing. @return whether there
 * was any. */
static bool handle_ends(dcli_remote *remote, dcli_object *queue)
{
    bool any = false;
    for (dcli_completion **at = &queue->queue.oldest; *at != NULL;) {
        dcli_completion *completion = *at;
        bool ended = completion->ended || (completion->silent && !remote->polls && ask(completion));
        bool known = !ended || waits_are_known(completion);
        remote->deferred = remote->deferred || !known;
        if (ended && known) {
            if ((*at = completion->later) == NULL)
                queue->queue.newest = at;
            handle(remote, completion);
            any = true;
        } else if (queue->queue.in_order) {
            break;
        } else {
            at = &completion->later;
        }
    }
    if (queue->queue.oldest == NULL && queue->queue.first != NULL)
        remote->stuck_dirty = true; /* see fails_later() */
    return any;
}

/* Handle the ends that were deferred until those for which their commands waited are handled. */
static void handle_deferred(dcli_remote *remote)
{
    bool any = true;
    while (remote->deferred && any) {
        any = remote->deferred = false;
        for (dcli_object *queue = remote->queues, *next; queue != NULL; queue = next) {
            dcli_object_hold(queue);
            any = handle_ends(remote, queue) || any;
            next = queue->queue.next;
            dcli_object_drop(remote, queue);
        }
    }
}

bool dcli_completions_take(dcli_remote *remote)
{
    dcli_completion *next, *first = atomic_exchange(&remote->completions, NULL);
    for (dcli_completion *list = first; list != NULL; list = next) {
        next = list->next;
        dcli_object *queue = dcli_object_hold(list->queue);
        list->ended = true;
        if (next == NULL || next->queue != queue)
            handle_ends(remote, queue);
        dcli_object_drop(remote, queue);
    }
    handle_deferred(remote);
    return first != NULL;
}

/* Ask which commands of a queue have ended: in a queue in order, up to the first that has not, or of which the driver will
 * tell. @return whether any has. */
static bool ask_queue(dcli_object *queue)
{
    enum { MOST = 64 }; /* commands that have not ended, in a queue out of order */
    bool any = false;
    int left = queue->queue.in_order ? 1 : MOST;
    for (dcli_completion *completion = queue->queue.oldest; completion != NULL && completion->silent && left > 0;
         completion = completion->later) {
        bool ended = ask(completion);
        any = any || ended;
        left -= !ended;
    }
    return any;
}

bool dcli_completions_poll(dcli_remote *remote)
{
    bool any = false;
    dcli_object *next;
    for (dcli_object *queue = remote->queues; queue != NULL; queue = next) {
        dcli_object_hold(queue);
        if (ask_queue(queue)) {
            handle_ends(remote, queue);
            any = true;
        }
        next = queue->queue.next;
        dcli_object_drop(remote, queue);
    }
    handle_deferred(remote);
    return any;
}

void dcli_queues_flush(dcli_remote *remote)
{
    for (dcli_object *queue = remote->queues; queue != NULL; queue = queue->queue.next)
        if (queue->queue.dirty) {
            clFlush(queue->queue.queue);
            queue->queue.dirty = false;
        }
}

/* ---- tasks ---- */

void dcli_task_free(dcli_remote *remote, dcli_task *task)
{
    drop_waits(remote, task->wait, task->wait_count);
    for (int a = 0; a < task->argument_count; a++)
        dcli_value_drop(remote, task->argument[a]);
    if (task->argument != task->few)
        dcli_free(task->argument);
    dcli_free(task->pattern);
    if (task->first_event != NULL)
        clReleaseEvent(task->first_event);
    if (task->last_event != NULL)
        clReleaseEvent(task->last_event);
    if (task->transfer != NULL) {
        task->transfer->transfer.task = NULL;
        if (remote->table_size > 0 &&
            dcli_object_find(remote, task->transfer->number, DCLI_OBJECT_TRANSFER) == task->transfer)
            dcli_object_remove(remote, task->transfer);
        dcli_object_drop(remote, task->transfer);
    }
    dcli_object_drop(remote, task->object);
    dcli_object_drop(remote, task->other);
    dcli_object_drop(remote, task->event);
    dcli_object_drop(remote, task->queue);
    dcli_spares_give(&remote->tasks, task);
}

void dcli_task_end(dcli_remote *remote, dcli_task *task, cl_int status)
{
    if (task->event != NULL && !task->event->event.ended) {
        if (status != CL_SUCCESS)
            dcli_event_end(remote, task->event, status, NULL, NULL);
    } else if (status != CL_SUCCESS && task->queue != NULL) {
        dcli_queue_failed(remote, task->queue, status);
    }
    dcli_task_free(remote, task);
}

cl_uint dcli_task_waits(const dcli_task *task, cl_event real_out[])
{
    cl_uint count = 0;
    for (int w = 0; w < task->wait_count; w++)
        if (!task->wait[w]->event.ended && task->wait[w]->event.real != NULL)
            real_out[count++] = task->wait[w]->event.real;
    return count;
}

/* Whether all events that a task waits for have ended or are the device's. @param status_out  why it cannot run. */
static bool may_go(const dcli_task *task, cl_int *status_out)
{
    *status_out = CL_SUCCESS;
    bool all = true;
    for (int w = 0; w < task->wait_count; w++) {
        const dcli_object *event = task->wait[w];
        if (event->event.ended && event->status < 0 && w >= task->lenient) {
            *status_out = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
            return true;
        }
        all = all && (event->event.ended || event->event.real != NULL);
    }
    return all;
}

static cl_int status_of(const dcli_task *task)
{
    if (task->queue->status != CL_SUCCESS)
        return task->queue->status;
    if (task->object != NULL && task->object->status != CL_SUCCESS && task->object->kind != DCLI_OBJECT_PROGRAM)
        return task->object->status;
    return task->other != NULL ? task->other->status : CL_SUCCESS;
}

/* Set the arguments that differ from those that the kernel has. */
static cl_int apply_arguments(dcli_remote *remote, dcli_task *task)
{
    dcli_object *kernel = task->object;
    for (int a = 0; a < task->argument_count; a++) {
        dcli_value *wanted = task->argument[a];
        if (wanted == NULL)
            return CL_INVALID_KERNEL_ARGS;
        if (wanted == kernel->kernel.applied[a])
            continue;
        if (wanted->buffer != NULL && wanted->buffer->status != CL_SUCCESS)
            return wanted->buffer->status;
        const void *value = wanted->kind == DCLI_ARGUMENT_VALUE   ? (const void *)wanted->value
                            : wanted->kind == DCLI_ARGUMENT_LOCAL ? NULL
                            : wanted->buffer == NULL              ? NULL
                                                                  : (const void *)&wanted->buffer->buffer.mem;
        size_t bytes = wanted->kind == DCLI_ARGUMENT_BUFFER ? sizeof(cl_mem) : wanted->bytes;
        cl_int code = clSetKernelArg(kernel->kernel.kernel, (cl_uint)a, bytes, value);
        if (code != CL_SUCCESS)
            return code;
        dcli_value_drop(remote, kernel->kernel.applied[a]);
        wanted->refs++;
        kernel->kernel.applied[a] = wanted;
    }
    return CL_SUCCESS;
}

static cl_int launch(dcli_remote *remote, dcli_task *task, cl_uint waits, const cl_event *wait, cl_event *real)
{
    enum { AXES = 3 };
    size_t offset[AXES], global[AXES], local[AXES];
    int axes = (int)task->number[0];
    for (int d = 0; d < axes; d++) {
        offset[d] = (size_t)task->number[1 + 3 * d];
        global[d] = (size_t)task->number[2 + 3 * d];
        local[d] = (size_t)task->number[3 + 3 * d];
    }
    cl_int code = apply_arguments(remote, task);
    if (code != CL_SUCCESS)
        return code;
    return clEnqueueNDRangeKernel(task->queue->queue.queue, task->object->kernel.kernel, (cl_uint)axes, offset, global,
                                  local[0] > 0 ? local : NULL, waits, wait, real);
}

static cl_int copy_rect(const dcli_task *task, cl_uint waits, const cl_event *wait, cl_event *real)
{
    enum { SOURCE = 1, TARGET = 4, REGION = 7, PITCHES = 10, AXES = 3 };
    size_t source[AXES], target[AXES], region[AXES];
    for (int d = 0; d < AXES; d++) {
        source[d] = (size_t)task->number[SOURCE + d];
        target[d] = (size_t)task->number[TARGET + d];
        region[d] = (size_t)task->number[REGION + d];
    }
    const int64_t *pitch = &task->number[PITCHES];
    return clEnqueueCopyBufferRect(task->queue->queue.queue, task->object->buffer.mem, task->other->buffer.mem, source,
                                   target, region, (size_t)pitch[0], (size_t)pitch[1], (size_t)pitch[2],
                                   (size_t)pitch[3], waits, wait, real);
}

/* Submit a command that is no transfer. */
static cl_int submit(dcli_remote *remote, dcli_task *task, cl_uint waits, const cl_event *wait, cl_event *real)
{
    cl_command_queue queue = task->queue->queue.queue;
    const int64_t *number = task->number;
    switch (task->kind) {
    case DCLI_CL_LAUNCH:
        return launch(remote, task, waits, wait, real);
    case DCLI_CL_MARKER:
        return clEnqueueMarkerWithWaitList(queue, waits, wait, real);
    case DCLI_CL_BARRIER:
        return clEnqueueBarrierWithWaitList(queue, waits, wait, real);
    case DCLI_CL_COPY:
        return clEnqueueCopyBuffer(queue, task->object->buffer.mem, task->other->buffer.mem, (size_t)number[1],
                                   (size_t)number[2], (size_t)number[3], waits, wait, real);
    case DCLI_CL_COPY_RECT:
        return copy_rect(task, waits, wait, real);
    default:
        return clEnqueueFillBuffer(queue, task->object->buffer.mem, task->pattern, task->pattern_bytes,
                                   (size_t)number[0], (size_t)number[1], waits, wait, real);
    }
}

/* The event of the last command that was submitted to a queue in order, and has not ended as far as is known. NULL: there is none. */
static cl_event last_of(const dcli_object *queue)
{
    if (queue->queue.oldest == NULL)
        return NULL;
    return ((dcli_completion *)(void *)((char *)queue->queue.newest - offsetof(dcli_completion, later)))->real;
}

/* Whether a marker or barrier needs no command of the device: it ends when all that was submitted before it has ended, and so does the
 * last command of a queue in order. With profiling it has times of its own. */
static bool marks_last(const dcli_task *task, cl_uint waits)
{
    return waits == 0 && task->queue->queue.in_order && !task->queue->queue.profiles;
}

/* Whether the end of a failed command is reported later, because the device has not ended all earlier commands of its queue. Events
 * of a queue in order end in order: a command of another queue that waits for the last of them relies on that. */
static bool fails_later(const dcli_task *task)
{
    return task->queue->queue.in_order && task->queue->queue.oldest != NULL;
}

/* @return false: the device has refused the command, which fails later. */
static bool submit_and_end(dcli_remote *remote, dcli_task *task)
{
    cl_event wait[DCLI_MOST_COMMAND_WAITS], real = NULL;
    cl_uint waits = dcli_task_waits(task, wait);
    cl_int code = CL_SUCCESS;
    bool is_mark = task->kind == DCLI_CL_MARKER || task->kind == DCLI_CL_BARRIER;
    bool marks = is_mark && marks_last(task, waits);
    /* All events of its wait list have ended, so the device would get it without a list, and make it wait for all
     * earlier commands. */
    bool over = is_mark && task->number[0] != 0 && waits == 0 && !task->queue->queue.in_order;
    if (over || (marks && last_of(task->queue) == NULL)) {
        if (task->event != NULL)
            dcli_event_end(remote, task->event, CL_SUCCESS, NULL, NULL);
        dcli_task_end(remote, task, CL_SUCCESS);
        return true;
    }
    if (marks) {
        real = last_of(task->queue);
        clRetainEvent(real);
    } else {
        code = submit(remote, task, waits, waits > 0 ? wait : NULL, &real);
        task->queue->queue.dirty = true;
    }
    if (code != CL_SUCCESS && fails_later(task)) {
        task->status = code;
        return false;
    }
    if (code == CL_SUCCESS && dcli_completion_ask(remote, task->queue, real, task, NULL) != DCL_OK)
        code = CL_OUT_OF_RESOURCES;
    if (task->event != NULL)
        task->event->event.real = real;
    else if (real != NULL)
        clReleaseEvent(real);
    dcli_task_end(remote, task, code);
    return true;
}

/* Submit a task, as far as possible. @return true: it was submitted as a whole, or has ended. */
static bool go(dcli_remote *remote, dcli_task *task, cl_int failure)
{
    if (failure == CL_SUCCESS)
        failure = task->transfer == NULL && task->status != CL_SUCCESS ? task->status : status_of(task);
    if (failure == CL_SUCCESS)
        return task->transfer != NULL ? dcli_transfer_go(remote, task) : submit_and_end(remote, task);
    if (fails_later(task))
        return false;
    if (task->transfer != NULL)
        dcli_transfer_fail(remote, task, failure);
    else
        dcli_task_end(remote, task, failure);
    return true;
}

/* Whether a command must find all commands before it submitted, and be submitted before all commands after it. */
static bool orders_all(const dcli_task *task)
{
    return (task->kind == DCLI_CL_MARKER || task->kind == DCLI_CL_BARRIER) && task->number[0] == 0;
}

/* Submit what can be submitted of one queue. */
static void look_at(dcli_remote *remote, dcli_object *queue)
{
    dcli_object_hold(queue);
    for (dcli_task **at = &queue->queue.first; *at != NULL;) {
        dcli_task *task = *at;
        bool is_first = at == &queue->queue.first, bars = task->kind == DCLI_CL_BARRIER;
        cl_int failure = CL_SUCCESS;
        bool may = (is_first || (!queue->queue.in_order && !orders_all(task))) &&
                   ((task->transfer != NULL && task->begun) || may_go(task, &failure));
        if (may) {
            dcli_task *next = task->next;
            bool was_last = queue->queue.last == &task->next;
            if (go(remote, task, failure)) {
                *at = next;
                queue->queue.barriers -= bars;
                if (was_last)
                    queue->queue.last = at;
                remote->task_count--;
                continue;
            }
        }
        if (queue->queue.in_order || bars)
            break;
        at = &task->next;
    }
    dcli_object_drop(remote, queue);
}

void dcli_tasks_look(dcli_remote *remote)
{
    if (remote->lender != NULL && atomic_exchange(&remote->lender->returned, false))
        remote->stuck_dirty = true;
    while (remote->stuck_dirty && remote->task_count > 0) {
        remote->stuck_dirty = false;
        for (dcli_object *queue = remote->queues, *next; queue != NULL; queue = next) {
            next = queue->queue.next;
            look_at(remote, queue);
        }
    }
    remote->stuck_dirty = false;
}

/* ---- accepting ---- */

static dcl_status take_waits(dcli_remote *remote, const dcli_msg_command *command, dcli_task *task)
{
    if (command->wait_count == 0)
        return DCL_OK;
    if ((task->wait = dcli_calloc((size_t)command->wait_count, sizeof *task->wait)) == NULL)
        return DCL_ERR_NOMEM;
    for (int w = 0; w < command->wait_count; w++) {
        dcli_object *event = dcli_object_find(remote, command->wait[w], DCLI_OBJECT_EVENT);
        if (event == NULL)
            return dcli_command_broken("an unknown event in its wait list");
        task->wait[task->wait_count++] = dcli_object_hold(event);
    }
    return DCL_OK;
}

static dcl_status take_object(dcli_remote *remote, int64_t number, dcli_object_kind kind, dcli_object **object_out)
{
    dcli_object *object = dcli_object_find(remote, number, kind);
    if (object == NULL)
        return dcli_command_broken("an unknown object");
    *object_out = dcli_object_hold(object);
    return DCL_OK;
}

static dcl_status take_launch(dcli_remote *remote, const dcli_msg_command *command, dcli_task *task)
{
    dcl_status status = take_object(remote, command->object, DCLI_OBJECT_KERNEL, &task->object);
    if (status != DCL_OK)
        return status;
    if (command->number_count < 1 || command->number[0] < 1 || command->number[0] > 3 ||
        command->number_count != 1 + 3 * (int)command->number[0])
        return dcli_command_broken("a wrong number of axes");
    for (int n = 1; n < command->number_count; n++)
        if (command->number[n] < 0)
            return dcli_command_broken("a negative number of work-items");
    int count = task->object->kernel.count;
    task->argument = task->few;
    if (count > DCLI_FEW_ARGUMENTS && (task->argument = dcli_calloc((size_t)count, sizeof(dcli_value *))) == NULL)
        return DCL_ERR_NOMEM;
    for (int a = 0; a < count; a++)
        if ((task->argument[a] = task->object->kernel.argument[a]) != NULL)
            task->argument[a]->refs++;
    task->argument_count = count;
    return DCL_OK;
}

static dcl_status take_transfer(dcli_remote *remote, const dcli_msg_command *command, dcli_task *task)
{
    dcli_span span;
    dcl_status status = take_object(remote, command->object, DCLI_OBJECT_BUFFER, &task->object);
    if (status != DCL_OK)
        return status;
    int plain = 2 + DCLI_SPAN_NUMBERS, count = command->number_count;
    int64_t told = count > plain ? command->number[plain] : 0, peer = told > 0 ? told - 1 : remote->terms.client;
    int64_t lenient = count > plain + 1 ? command->number[plain + 1] : 0;
    if (count < plain || count > plain + 2 || told < 0 || lenient < 0 || lenient > command->wait_count ||
        (peer != remote->terms.client && !dcli_peer_is_other(remote, peer)) ||
        !dcli_span_read(&command->number[1], task->object->bytes, &span))
        return dcli_command_broken("a transfer outside its buffer");
    dcli_object *transfer = dcli_object_make(remote, command->number[0], DCLI_OBJECT_TRANSFER);
    if (transfer == NULL)
        return dcli_error_status();
    task->lenient = (int)lenient;
    transfer->transfer.task = task;
    transfer->transfer.span = span;
    transfer->transfer.total = dcli_span_bytes(&span);
    transfer->transfer.peer = (int)peer;
    int64_t way = command->number[1 + DCLI_SPAN_NUMBERS], chunk_bytes = remote->terms.chunk_bytes;
    transfer->transfer.chunk_bytes = way == DCLI_IN_FINE_CHUNKS ? dcli_span_fine(&span, chunk_bytes) : chunk_bytes;
    transfer->transfer.stored = way == DCLI_STORED &&
                                transfer->transfer.total <= DCLI_MOST_STORED - remote->stored_bytes &&
                                peer == remote->terms.client;
    remote->stored_bytes += transfer->transfer.stored ? transfer->transfer.total : 0;
    transfer->transfer.in_place = way == DCLI_IN_PLACE && task->object->buffer.place != NULL && span.rows == 1 &&
                                  span.slices == 1 && peer == remote->terms.client;
    transfer->transfer.last = &transfer->transfer.first;
    transfer->transfer.sent_last = &transfer->transfer.sent;
    task->transfer = dcli_object_hold(transfer);
    if (peer != remote->terms.client)
        dcli_peer_begin(remote, transfer);
    return DCL_OK;
}

static bool is_within(int64_t offset, int64_t bytes, int64_t all)
{
    return offset >= 0 && bytes >= 0 && bytes <= all && offset <= all - bytes;
}

static dcl_status take_copy(dcli_remote *remote, const dcli_msg_command *command, dcli_task *task)
{
    bool rect = command->kind == DCLI_CL_COPY_RECT;
    const int64_t *number = command->number;
    if (command->number_count != (rect ? 14 : 4))
        return dcli_command_broken("a wrong number of numbers");
    dcl_status status = take_object(remote, command->object, DCLI_OBJECT_BUFFER, &task->object);
    if (status == DCL_OK)
        status = take_object(remote, number[0], DCLI_OBJECT_BUFFER, &task->other);
    if (status != DCL_OK)
        return status;
    for (int n = 1; n < command->number_count; n++)
        if (number[n] < 0)
            return dcli_command_broken("a negative size");
    if (!rect &&
        (!is_within(number[1], number[3], task->object->bytes) || !is_within(number[2], number[3], task->other->bytes)))
        return dcli_command_broken("a copy outside its buffers");
    return DCL_OK; /* the device's driver checks rectangles */
}

static dcl_status take_fill(dcli_remote *remote, const dcli_msg_command *command, dcli_task *task)
{
    enum { MOST_PATTERN = 128 };
    dcl_status status = take_object(remote, command->object, DCLI_OBJECT_BUFFER, &task->object);
    if (status != DCL_OK)
        return status;
    if (command->number_count != 3 || command->number[2] < 1 || command->number[2] > MOST_PATTERN ||
        command->word_count != (int)((command->number[2] + 7) / 8) ||
        !is_within(command->number[0], command->number[1], task->object->bytes))
        return dcli_command_broken("a fill outside its buffer");
    task->pattern_bytes = (size_t)command->number[2];
    if ((task->pattern = dcli_malloc(task->pattern_bytes)) == NULL)
        return DCL_ERR_NOMEM;
    memcpy(task->pattern, command->word, task->pattern_bytes);
    return DCL_OK;
}

static dcl_status take_mark(const dcli_msg_command *command, dcli_task *task)
{
    int64_t lenient = command->number_count > 1 ? command->number[1] : 0;
    if (command->number_count < 1 || command->number_count > 2 || lenient < 0 || lenient > command->wait_count)
        return dcli_command_broken("a wrong number of numbers");
    task->lenient = (int)lenient;
    return DCL_OK;
}

static dcl_status take_kind(dcli_remote *remote, const dcli_msg_command *command, dcli_task *task)
{
    switch (command->kind) {
    case DCLI_CL_LAUNCH:
        return take_launch(remote, command, task);
    case DCLI_CL_WRITE:
    case DCLI_CL_READ:
        return take_transfer(remote, command, task);
    case DCLI_CL_COPY:
    case DCLI_CL_COPY_RECT:
        return take_copy(remote, command, task);
    case DCLI_CL_FILL:
        return take_fill(remote, command, task);
    default: /* markers and barriers */
        return take_mark(command, task);
    }
}

/* Append a command to its queue, and submit it if it can be. Those that wait before it are not looked at: for them nothing has
 * changed. */
static void append(dcli_remote *remote, dcli_task *task)
{
    dcli_object *queue = dcli_object_hold(task->queue);
    dcli_task **at = queue->queue.last;
    bool alone = queue->queue.first == NULL, bars = task->kind == DCLI_CL_BARRIER;
    cl_int failure = CL_SUCCESS;
    *at = task;
    queue->queue.last = &task->next;
    queue->queue.barriers += bars;
    task->listed = true;
    remote->task_count++;
    bool may = alone || (!queue->queue.in_order && queue->queue.barriers == bars && !orders_all(task));
    if (may && may_go(task, &failure) && go(remote, task, failure)) {
        *at = NULL;
        queue->queue.last = at;
        queue->queue.barriers -= bars;
        remote->task_count--;
    }
    dcli_object_drop(remote, queue);
}

dcl_status dcli_task_accept(dcli_remote *remote, const dcli_msg_command *command)
{
    if (remote->task_count >= DCLI_MOST_REMOTE_TASKS)
        return dcli_command_broken("too many others before it that wait");
    dcli_task *task = dcli_spares_take(&remote->tasks, sizeof *task);
    if (task == NULL)
        return DCL_ERR_NOMEM;
    task->kind = command->kind;
    task->number_count = command->number_count;
    if (command->number_count > 0)
        memcpy(task->number, command->number, (size_t)command->number_count * sizeof task->number[0]);
    dcl_status status = take_object(remote, command->queue, DCLI_OBJECT_QUEUE, &task->queue);
    if (status == DCL_OK)
        status = take_waits(remote, command, task);
    if (status == DCL_OK)
        status = take_kind(remote, command, task);
    dcli_object *event = NULL;
    if (status == DCL_OK && command->event != 0) {
        if ((event = dcli_object_make(remote, command->event, DCLI_OBJECT_EVENT)) == NULL)
            status = dcli_error_status();
        else
            event->event.unobserved = command->unobserved, event->event.in_order = task->queue->queue.in_order;
        task->event = dcli_object_hold(event);
    }
    if (status != DCL_OK) {
        dcli_task_free(remote, task);
        return status;
    }
    append(remote, task);
    return DCL_OK;
}
