/* icd/event.c - events: commands wait for them, also for those of other servers, and the program registers functions
 * for their ends. */
#include <limits.h>
#include <time.h>

#include "icd/entries.h"

/* ---- making ---- */

cl_int icd_check_waits(const icd_context *context, cl_uint count, const cl_event waits[])
{
    if ((count == 0) != (waits == NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint w = 0; w < count; w++) {
        const icd_event *event = icd_find(waits[w], ICD_EVENT);
        if (event == NULL)
            return CL_INVALID_EVENT_WAIT_LIST;
        if (event->context != context)
            return CL_INVALID_CONTEXT;
    }
    return CL_SUCCESS;
}

cl_int icd_event_also(icd_event *event, icd_event *other)
{
    if (other == NULL || other->status == CL_COMPLETE)
        return CL_SUCCESS;
    icd_event **wait = dcli_realloc(event->wait, (size_t)event->wait_count + 1, sizeof(icd_event *));
    if (wait == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    event->wait = wait;
    event->wait[event->wait_count++] = icd_hold(other);
    return CL_SUCCESS;
}

icd_event *icd_event_make(icd_context *context, icd_queue *queue, icd_device *device, cl_command_type type,
                          cl_uint count, const cl_event waits[])
{
    icd_event *event = icd_make(ICD_EVENT, sizeof *event);
    if (event == NULL)
        return NULL;
    event->context = icd_hold(context);
    event->queue = icd_hold(queue);
    event->device = device;
    event->type = type;
    event->number = icd_number();
    event->status = CL_QUEUED;
    event->object.owned = 0; /* until the program gets its handle */
    if (count > 0 && (event->wait = dcli_calloc(count, sizeof(icd_event *))) == NULL) {
        icd_drop(event);
        return NULL;
    }
    for (cl_uint w = 0; w < count; w++) {
        icd_event *other = icd_find(waits[w], ICD_EVENT);
        if (other->status != CL_COMPLETE)
            event->wait[event->wait_count++] = icd_hold(other);
    }
    return event;
}

static void drop_waits(icd_event *event)
{
    for (int w = 0; w < event->wait_count; w++)
        icd_drop(event->wait[w]);
    dcli_free(event->wait);
    event->wait = NULL;
    event->wait_count = 0;
}

static void forget_on(icd_device *device, int64_t number)
{
    icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_FORGET_EVENT, .number_count = 1, .number = &number});
}

void icd_event_free(icd_event *event)
{
    if (event->is_user && event->status > CL_COMPLETE)
        icd.gates--;
    drop_waits(event);
    if (event->was_sent)
        forget_on(event->device, event->number);
    for (int64_t p = 0; p < event->proxy_count; p++)
        forget_on(event->proxy[p], event->number);
    while (event->calls != NULL) {
        icd_call *call = event->calls;
        event->calls = call->next;
        dcli_free(call);
    }
    dcli_free(event->proxy);
    dcli_free(event->loan);
    icd_drop(event->queue);
    icd_drop(event->context);
}

/* ---- sending ---- */

/* Make an event known to the server of another device. The driver sends its end to that server. If the event's own
 * server can reach that server, it does so, too, which is faster. */
static cl_int make_proxy(icd_device *device, icd_event *event)
{
    icd_device *owner = event->device;
    int64_t own = 0, other = device->node;
    for (int64_t p = 0; p < event->proxy_count; p++)
        if (event->proxy[p] == device)
            return CL_SUCCESS;
    if (dcli_grow(&event->proxy, event->proxy_count, &event->proxy_capacity, sizeof(icd_device *)) != 0)
        return CL_OUT_OF_HOST_MEMORY;
    if (event->was_sent && event->status > CL_COMPLETE && icd_are_joined(owner, device))
        own = owner->node + 1;
    dcli_msg_command made = {
        .kind = DCLI_CL_USER_EVENT, .event = event->number, .number_count = own != 0, .number = &own};
    dcli_msg_command told = {.kind = DCLI_CL_TELL_EVENT, .event = event->number, .number_count = 1, .number = &other};
    cl_int status = icd_send(device, &made);
    if (status != CL_SUCCESS)
        return status;
    if (own != 0)
        icd_send(owner, &told); /* without it, the driver's word is enough */
    event->proxy[event->proxy_count++] = device;
    int64_t ended = event->status;
    if (ended <= 0)
        return icd_send(device,
                        &(dcli_msg_command){
                            .kind = DCLI_CL_SET_STATUS, .event = event->number, .number_count = 1, .number = &ended});
    return CL_SUCCESS;
}

/* A list of numbers of events, of which a command waits for those from `first` on. */
typedef struct wait_list {
    int64_t *number; /* with room for most_markers() more */
    int first, end;
    int lenient; /* of the first of them, it does not matter whether they have failed */
} wait_list;

/* How many markers a list of `count` events takes at most: each takes the place of DCLI_MOST_COMMAND_WAITS events. */
static int most_markers(int count) { return count / (DCLI_MOST_COMMAND_WAITS - 1); }

/* Shorten a list of more than DCLI_MOST_COMMAND_WAITS events: markers wait for its first events, and their events are appended.
 * Later markers wait for those of earlier ones, if there are many. */
static cl_int shorten(icd_device *device, int64_t queue_number, wait_list *list)
{
    while (list->end - list->first > DCLI_MOST_COMMAND_WAITS) {
        int lenient = list->lenient < DCLI_MOST_COMMAND_WAITS ? list->lenient : DCLI_MOST_COMMAND_WAITS;
        int64_t marker = icd_number(), number[] = {1, lenient};
        cl_int status = icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_MARKER,
                                                             .number_count = lenient > 0 ? 2 : 1,
                                                             .number = number,
                                                             .queue = queue_number,
                                                             .event = marker,
                                                             .wait_count = DCLI_MOST_COMMAND_WAITS,
                                                             .wait = &list->number[list->first]});
        if (status != CL_SUCCESS)
            return status;
        list->first += DCLI_MOST_COMMAND_WAITS;
        list->number[list->end++] = marker;
        list->lenient -= lenient;
    }
    return CL_SUCCESS;
}

static cl_int send_with(icd_device *device, int64_t queue_number, icd_event *event, dcli_msg_command *command,
                        int64_t number[])
{
    wait_list list = {.number = number, .lenient = event->lenient};
    for (int w = 0; w < event->wait_count; w++) {
        icd_event *other = event->wait[w];
        if (other->device != device || other->is_user) {
            cl_int status = make_proxy(device, other);
            if (status != CL_SUCCESS)
                return status;
        }
        number[list.end++] = other->number;
    }
    int markers = list.end;
    cl_int status = shorten(device, queue_number, &list);
    if (event->lenient > 0) /* the last number of a transfer */
        command->number[command->number_count - 1] = list.lenient;
    command->queue = queue_number;
    command->event = event->number;
    command->unobserved = event->unobserved;
    command->wait = &number[list.first];
    command->wait_count = list.end - list.first;
    if (status == CL_SUCCESS)
        status = icd_send(device, command);
    for (int m = markers; m < list.end; m++)
        forget_on(device, number[m]);
    return status;
}

cl_int icd_command_send(icd_device *device, int64_t queue_number, icd_event *event, dcli_msg_command *command)
{
    enum { FEW = 16 };
    int64_t few[FEW], *number = few;
    if (event->wait_count > FEW &&
        (number = dcli_calloc((size_t)(event->wait_count + most_markers(event->wait_count)), sizeof *number)) == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int status = send_with(device, queue_number, event, command, number);
    if (number != few)
        dcli_free(number);
    if (status != CL_SUCCESS)
        return status;
    event->was_sent = true;
    event->status = CL_SUBMITTED;
    icd_hold(event);
    event->next = NULL;
    event->back = device->pending_last;
    *device->pending_last = event;
    device->pending_last = &event->next;
    device->pending_count++;
    device->unsent_count++;
    return CL_SUCCESS;
}

/* ---- ending ---- */

static void call_event(icd_call *call) { call->function.event(call->handle, call->status, call->user); }

/* Queue calls of the functions that are registered for `status` or an earlier one. @param told  an error is passed
 * to all of them; otherwise each gets the status for which it is registered. */
static void call_back(icd_event *event, cl_int status, cl_int told)
{
    for (icd_call **at = &event->calls; *at != NULL;) {
        icd_call *call = *at;
        if (call->status < status) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call->status = told < 0 ? told : call->status;
        call->drop = icd_hold(event);
        icd_call_later(call);
    }
}

void icd_event_end(icd_event *event, cl_int status, const dcli_msg_ended *ended)
{
    if (event->status <= CL_COMPLETE)
        return;
    if (event->is_user)
        icd.gates--;
    event->status = status;
    if (ended != NULL) {
        event->queued_ns = ended->queued_ns;
        event->submit_ns = ended->submit_ns;
        event->start_ns = ended->start_ns;
        event->end_ns = ended->end_ns;
    }
    bool was_listed = event->back != NULL;
    if (was_listed) {
        *event->back = event->next;
        if (event->next != NULL)
            event->next->back = event->back;
        else
            event->device->pending_last = event->back;
        event->back = NULL;
        event->device->pending_count--;
    }
    if (event->transfer != 0)
        icd_transfer_end(event->device, event->transfer);
    int64_t number = status;
    for (int64_t p = 0; p < event->proxy_count; p++) {
        icd_send(event->proxy[p],
                 &(dcli_msg_command){
                     .kind = DCLI_CL_SET_STATUS, .event = event->number, .number_count = 1, .number = &number});
        if (event->device == NULL || event->device->lost || event->proxy[p]->server != event->device->server)
            icd_wake(event->proxy[p]); /* otherwise the calling thread sends it */
    }
    if (event->at_end != NULL)
        event->at_end(event);
    call_back(event, status < 0 ? INT_MIN : CL_COMPLETE, status);
    drop_waits(event);
    pthread_cond_broadcast(&icd.changed);
    if (was_listed)
        icd_drop(event);
}

static bool has_ended(const void *event) { return ((const icd_event *)event)->status <= CL_COMPLETE; }

cl_int icd_await(icd_event *event)
{
    icd_wait(event->device, has_ended, event);
    return event->status;
}

static bool has_room(const void *device)
{
    return ((const icd_device *)device)->pending_count < ICD_MANY_PENDING || icd.gates > 0;
}

void icd_event_lend(icd_event *event) { event->loan = dcli_calloc(1, sizeof *event->loan); }

/* Wait until no memory of the program is being sent. If the write has failed, that is when its last chunks are sent
 * or the connection is lost. */
static void await_loan(const icd_event *event)
{
    if (event->loan == NULL)
        return;
    pthread_mutex_unlock(&icd.lock);
    pthread_mutex_lock(&icd.lent);
    while (event->loan->count > 0)
        pthread_cond_wait(&icd.returned, &icd.lent);
    pthread_mutex_unlock(&icd.lent);
    pthread_mutex_lock(&icd.lock);
}

cl_int icd_enqueued(icd_event *event, cl_int status, bool blocks, cl_event *event_out)
{
    if (status == CL_SUCCESS && blocks) {
        cl_int ended = icd_await(event);
        await_loan(event);
        status = ended < 0 ? ended : CL_SUCCESS;
    } else if (status == CL_SUCCESS && !has_room(event->device))
        icd_wait(event->device, has_room, event->device);
    if (event != NULL && status != CL_SUCCESS && !event->was_sent)
        icd_event_end(event, status, NULL); /* a buffer may already name it as the last command that writes it */
    if (status == CL_SUCCESS && event_out != NULL) {
        event->object.owned = 1;
        *event_out = ICD_HANDLE(cl_event, event);
    } else
        icd_drop(event);
    return status;
}

/* ---- entry points ---- */

cl_event CL_API_CALL icd_clCreateUserEvent(cl_context context, cl_int *status_out)
{
    cl_int status = CL_INVALID_CONTEXT;
    cl_event handle = NULL;
    if (icd_enter()) {
        icd_context *object = icd_find(context, ICD_CONTEXT);
        icd_event *event = object != NULL ? icd_event_make(object, NULL, NULL, CL_COMMAND_USER, 0, NULL) : NULL;
        if (event != NULL) {
            event->is_user = true;
            event->object.owned = 1;
            event->status = CL_SUBMITTED;
            icd.gates++;
            handle = ICD_HANDLE(cl_event, event);
        }
        status = object == NULL ? CL_INVALID_CONTEXT : event == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return handle;
}

cl_int CL_API_CALL icd_clSetUserEventStatus(cl_event handle, cl_int status)
{
    if (!icd_enter())
        return CL_INVALID_EVENT;
    icd_event *event = icd_find(handle, ICD_EVENT);
    cl_int result = event == NULL || !event->is_user ? CL_INVALID_EVENT
                    : status > CL_COMPLETE           ? CL_INVALID_VALUE
                    : event->was_set                 ? CL_INVALID_OPERATION
                                                     : CL_SUCCESS;
    if (result == CL_SUCCESS) {
        event->was_set = true;
        icd_event_end(event, status, NULL);
    }
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clWaitForEvents(cl_uint count, const cl_event *events)
{
    if (count == 0 || events == NULL)
        return CL_INVALID_VALUE;
    if (!icd_enter())
        return CL_INVALID_EVENT;
    cl_int result = CL_SUCCESS;
    icd_event **list = dcli_calloc(count, sizeof(icd_event *));
    const icd_context *context = NULL;
    if (list == NULL)
        result = CL_OUT_OF_HOST_MEMORY;
    for (cl_uint e = 0; e < count && result == CL_SUCCESS; e++) {
        list[e] = icd_find(events[e], ICD_EVENT);
        if (list[e] == NULL)
            result = CL_INVALID_EVENT;
        else if (context != NULL && list[e]->context != context)
            result = CL_INVALID_CONTEXT;
        else
            context = list[e]->context;
    }
    for (cl_uint e = 0; e < count && result == CL_SUCCESS; e++)
        icd_hold(list[e]);
    bool held = result == CL_SUCCESS;
    for (cl_uint e = 0; e < count && held; e++) {
        if (icd_await(list[e]) < 0)
            result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    for (cl_uint e = 0; e < count && held; e++)
        icd_drop(list[e]);
    dcli_free(list);
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clGetEventInfo(cl_event handle, cl_event_info what, size_t size, void *value, size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_EVENT;
    const icd_event *event = icd_find(handle, ICD_EVENT);
    cl_int result = CL_INVALID_EVENT;
    if (event != NULL)
        switch (what) {
        case CL_EVENT_COMMAND_QUEUE:
            result =
                ICD_ANSWER(cl_command_queue, event->queue != NULL ? ICD_HANDLE(cl_command_queue, event->queue) : NULL);
            break;
        case CL_EVENT_CONTEXT:
            result = ICD_ANSWER(cl_context, ICD_HANDLE(cl_context, event->context));
            break;
        case CL_EVENT_COMMAND_TYPE:
            result = ICD_ANSWER(cl_command_type, event->type);
            break;
        case CL_EVENT_COMMAND_EXECUTION_STATUS:
            if (event->status > CL_COMPLETE)
                icd_expect(event->device); /* the program may ask until it has ended */
            result = ICD_ANSWER(cl_int, event->status);
            break;
        case CL_EVENT_REFERENCE_COUNT:
            result = ICD_ANSWER(cl_uint, (cl_uint)event->object.refs);
            break;
        default:
            result = CL_INVALID_VALUE;
        }
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clGetEventProfilingInfo(cl_event handle, cl_profiling_info what, size_t size, void *value,
                                               size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_EVENT;
    const icd_event *event = icd_find(handle, ICD_EVENT);
    cl_int result = CL_SUCCESS;
    if (event == NULL)
        result = CL_INVALID_EVENT;
    else if (event->is_user || event->status != CL_COMPLETE || event->queue == NULL ||
             (event->queue->properties & CL_QUEUE_PROFILING_ENABLE) == 0)
        result = CL_PROFILING_INFO_NOT_AVAILABLE;
    else if (what == CL_PROFILING_COMMAND_QUEUED)
        result = ICD_ANSWER(cl_ulong, (cl_ulong)event->queued_ns);
    else if (what == CL_PROFILING_COMMAND_SUBMIT)
        result = ICD_ANSWER(cl_ulong, (cl_ulong)event->submit_ns);
    else if (what == CL_PROFILING_COMMAND_START)
        result = ICD_ANSWER(cl_ulong, (cl_ulong)event->start_ns);
    else if (what == CL_PROFILING_COMMAND_END || what == CL_PROFILING_COMMAND_COMPLETE)
        result = ICD_ANSWER(cl_ulong, (cl_ulong)event->end_ns);
    else
        result = CL_INVALID_VALUE;
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clSetEventCallback(cl_event handle, cl_int status,
                                          void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *user)
{
    if (!icd_enter())
        return CL_INVALID_EVENT;
    icd_event *event = icd_find(handle, ICD_EVENT);
    cl_int result = event == NULL ? CL_INVALID_EVENT
                    : function == NULL || (status != CL_COMPLETE && status != CL_RUNNING && status != CL_SUBMITTED)
                        ? CL_INVALID_VALUE
                        : CL_SUCCESS;
    icd_call *call = result == CL_SUCCESS ? dcli_calloc(1, sizeof *call) : NULL;
    if (result == CL_SUCCESS && call == NULL)
        result = CL_OUT_OF_HOST_MEMORY;
    if (call != NULL && !icd_can_call()) {
        dcli_free(call);
        result = CL_OUT_OF_RESOURCES;
    } else if (call != NULL) {
        *call = (icd_call){
            .call = call_event, .function.event = function, .handle = handle, .user = user, .status = status};
        call->next = event->calls;
        event->calls = call;
        icd_expect(event->device);
        if (event->status <= status)
            call_back(event, event->status < 0 ? INT_MIN : event->status, event->status);
    }
    icd_leave();
    return result;
}
