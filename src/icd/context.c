/* icd/context.c - contexts and command queues. */
#include "icd/entries.h"

/* ---- contexts ---- */

static void call_context(icd_call *call) { call->function.context(call->handle, call->user); }

void icd_context_free(icd_context *context)
{
    while (context->destructors != NULL) {
        icd_call *call = context->destructors;
        context->destructors = call->next;
        icd_call_later(call);
    }
    for (int d = 0; d < context->device_count; d++) {
        const int64_t number[] = {context->work_queue[d], context->number[d]};
        for (int n = 0; n < 2; n++)
            if (number[n] != 0)
                icd_send(context->device[d], &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = number[n]});
    }
    for (int s = 0; s < context->shown_count; s++)
        icd_drop(context->shown[s]);
    dcli_free(context->properties);
}

static cl_int read_properties(const cl_context_properties *list, size_t *count_out)
{
    size_t n = 0;
    if (list == NULL) {
        *count_out = 0;
        return CL_SUCCESS;
    }
    for (; list[n] != 0; n += 2) {
        if (list[n] == CL_CONTEXT_PLATFORM) {
            if (icd_find((const void *)list[n + 1], ICD_PLATFORM) == NULL)
                return CL_INVALID_PLATFORM;
        } else if (list[n] != CL_CONTEXT_INTEROP_USER_SYNC) {
            return CL_INVALID_PROPERTY;
        }
        for (size_t m = 0; m < n; m += 2)
            if (list[m] == list[n])
                return CL_INVALID_PROPERTY;
    }
    *count_out = n + 1;
    return CL_SUCCESS;
}

/* Add a device or sub-device, unless the context has it. */
static void add_device(icd_context *context, icd_device *device)
{
    int shown = 0, place = 0;
    while (shown < context->shown_count && context->shown[shown] != device)
        shown++;
    while (place < context->device_count && context->device[place] != device->root)
        place++;
    if (shown == context->shown_count)
        context->shown[context->shown_count++] = icd_hold(device);
    if (place == context->device_count)
        context->device[context->device_count++] = device->root;
}

static cl_int make_context(const cl_context_properties *properties, cl_uint count, const cl_device_id devices[],
                           icd_context **context_out)
{
    size_t property_count;
    cl_int status = read_properties(properties, &property_count);
    if (status != CL_SUCCESS)
        return status;
    if (count > ICD_MOST_DEVICES)
        return CL_OUT_OF_RESOURCES;
    icd_context *context = icd_make(ICD_CONTEXT, sizeof *context);
    if (context == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    for (cl_uint d = 0; d < count && status == CL_SUCCESS; d++) {
        icd_device *device = icd_find(devices[d], ICD_DEVICE);
        if (device == NULL)
            status = CL_INVALID_DEVICE;
        else if (device->root->lost)
            status = CL_DEVICE_NOT_AVAILABLE;
        else
            add_device(context, device);
    }
    for (int d = 0; d < context->device_count && status == CL_SUCCESS; d++)
        status = icd_context_make_on(context, d);
    if (status == CL_SUCCESS && property_count > 0) {
        if ((context->properties = dcli_calloc(property_count, sizeof *properties)) == NULL)
            status = CL_OUT_OF_HOST_MEMORY;
        else
            memcpy(context->properties, properties, property_count * sizeof *properties);
        context->property_count = property_count;
    }
    if (status != CL_SUCCESS) {
        icd_drop(context);
        return status;
    }
    *context_out = context;
    return CL_SUCCESS;
}

cl_context CL_API_CALL icd_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                           const cl_device_id *devices,
                                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                           void *user, cl_int *status_out)
{
    cl_int status = CL_INVALID_VALUE;
    icd_context *context = NULL;
    if (count > 0 && devices != NULL && (notify != NULL || user == NULL)) {
        status = CL_DEVICE_NOT_AVAILABLE;
        if (icd_enter()) {
            status = make_context(properties, count, devices, &context);
            icd_leave();
        }
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_context, context) : NULL;
}

cl_context CL_API_CALL icd_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                                             void *),
                                                   void *user, cl_int *status_out)
{
    cl_device_id devices[ICD_MOST_DEVICES];
    cl_uint count = 0;
    size_t property_count;
    cl_platform_id platform = NULL;
    cl_int status = CL_DEVICE_NOT_AVAILABLE;
    if (icd_enter()) {
        status = read_properties(properties, &property_count);
        if (icd.platform != NULL)
            platform = (cl_platform_id)(void *)icd.platform->cell;
        icd_leave();
    }
    if (status == CL_SUCCESS)
        status = icd_dispatch.clGetDeviceIDs(platform, type, ICD_MOST_DEVICES, devices, &count);
    if (status == CL_SUCCESS)
        return icd_clCreateContext(properties, count < ICD_MOST_DEVICES ? count : ICD_MOST_DEVICES, devices, notify,
                                   user, status_out);
    if (status_out != NULL)
        *status_out = status;
    return NULL;
}

cl_int CL_API_CALL icd_clGetContextInfo(cl_context handle, cl_context_info what, size_t size, void *value,
                                        size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_CONTEXT;
    const icd_context *context = icd_find(handle, ICD_CONTEXT);
    cl_device_id devices[ICD_MOST_DEVICES];
    cl_int result = CL_INVALID_CONTEXT;
    if (context != NULL)
        switch (what) {
        case CL_CONTEXT_REFERENCE_COUNT:
            result = ICD_ANSWER(cl_uint, (cl_uint)context->object.refs);
            break;
        case CL_CONTEXT_NUM_DEVICES:
            result = ICD_ANSWER(cl_uint, (cl_uint)context->shown_count);
            break;
        case CL_CONTEXT_DEVICES:
            for (int s = 0; s < context->shown_count; s++)
                devices[s] = ICD_HANDLE(cl_device_id, context->shown[s]);
            result = icd_answer(devices, (size_t)context->shown_count * sizeof devices[0], size, value, size_out);
            break;
        case CL_CONTEXT_PROPERTIES:
            result = icd_answer(context->properties, context->property_count * sizeof context->properties[0], size,
                                value, size_out);
            break;
        default:
            result = CL_INVALID_VALUE;
        }
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clSetContextDestructorCallback(cl_context handle,
                                                      void(CL_CALLBACK *function)(cl_context, void *), void *user)
{
    if (!icd_enter())
        return CL_INVALID_CONTEXT;
    icd_context *context = icd_find(handle, ICD_CONTEXT);
    cl_int result = context == NULL ? CL_INVALID_CONTEXT : function == NULL ? CL_INVALID_VALUE : CL_SUCCESS;
    icd_call *call = result == CL_SUCCESS ? dcli_calloc(1, sizeof *call) : NULL;
    if (result == CL_SUCCESS && call == NULL)
        result = CL_OUT_OF_HOST_MEMORY;
    if (call != NULL && !icd_can_call()) {
        dcli_free(call);
        result = CL_OUT_OF_RESOURCES;
    } else if (call != NULL) {
        *call = (icd_call){.call = call_context, .function.context = function, .handle = handle, .user = user};
        call->next = context->destructors;
        context->destructors = call;
    }
    icd_leave();
    return result;
}

/* ---- command queues ---- */

void icd_queue_free(icd_queue *queue)
{
    for (icd_queue **at = &queue->device->queues; *at != NULL; at = &(*at)->next)
        if (*at == queue) {
            *at = queue->next;
            break;
        }
    if (queue->number != 0)
        icd_send(queue->device, &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = queue->number});
    icd_drop(queue->context);
}

static cl_int make_queue(icd_context *context, cl_device_id handle, cl_command_queue_properties properties,
                         icd_queue **queue_out)
{
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    int place = icd_place_of(context, handle);
    if (place < 0)
        return CL_INVALID_DEVICE;
    icd_device *device = context->device[place];
    if ((properties &
         ~(cl_command_queue_properties)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE |
                                        CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT)) != 0)
        return CL_INVALID_VALUE;
    if ((properties & ~icd_device_number(device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES)) != 0)
        return CL_INVALID_QUEUE_PROPERTIES;
    icd_queue *queue = icd_make(ICD_QUEUE, sizeof *queue);
    if (queue == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    queue->context = icd_hold(context);
    queue->device = device;
    queue->shown = icd_find(handle, ICD_DEVICE);
    queue->place = place;
    queue->properties = properties;
    queue->next = device->queues;
    device->queues = queue;
    int64_t number = icd_number(), sent[] = {(int64_t)properties, context->number[place], queue->shown->number};
    cl_int status = icd_send(device, &(dcli_msg_command){.kind = DCLI_CL_QUEUE,
                                                         .object = number,
                                                         .number_count = context->number[place] != 0 ? 3 : 1,
                                                         .number = sent});
    if (status != CL_SUCCESS) {
        icd_drop(queue);
        return status;
    }
    queue->number = number;
    *queue_out = queue;
    return CL_SUCCESS;
}

cl_command_queue CL_API_CALL icd_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                      cl_command_queue_properties properties, cl_int *status_out)
{
    cl_int status = CL_INVALID_CONTEXT;
    icd_queue *queue = NULL;
    if (icd_enter()) {
        status = make_queue(icd_find(context, ICD_CONTEXT), device, properties, &queue);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_command_queue, queue) : NULL;
}

static cl_int make_queue_with(icd_context *context, cl_device_id device, const cl_queue_properties list[],
                              icd_queue **queue_out)
{
    enum { MOST = sizeof(*queue_out)->list / sizeof(*queue_out)->list[0] };
    cl_command_queue_properties properties = 0;
    cl_uint n = 0;
    for (; list != NULL && list[n] != 0; n += 2) {
        if (n + 2 >= MOST || (list[n] != CL_QUEUE_PROPERTIES && list[n] != CL_QUEUE_SIZE))
            return CL_INVALID_VALUE;
        if (list[n] == CL_QUEUE_PROPERTIES)
            properties = list[n + 1];
        else
            return CL_INVALID_QUEUE_PROPERTIES; /* there are no queues on the device */
    }
    cl_int status = make_queue(context, device, properties, queue_out);
    if (status == CL_SUCCESS && list != NULL) {
        (*queue_out)->list_count = n + 1;
        memcpy((*queue_out)->list, list, (n + 1) * sizeof list[0]);
    }
    return status;
}

cl_command_queue CL_API_CALL icd_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                    const cl_queue_properties *list, cl_int *status_out)
{
    cl_int status = CL_INVALID_CONTEXT;
    icd_queue *queue = NULL;
    if (icd_enter()) {
        status = make_queue_with(icd_find(context, ICD_CONTEXT), device, list, &queue);
        icd_leave();
    }
    if (status_out != NULL)
        *status_out = status;
    return status == CL_SUCCESS ? ICD_HANDLE(cl_command_queue, queue) : NULL;
}

cl_int CL_API_CALL icd_clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t size,
                                             void *value, size_t *size_out)
{
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    const icd_queue *queue = icd_find(handle, ICD_QUEUE);
    cl_int result = CL_INVALID_COMMAND_QUEUE;
    if (queue != NULL)
        switch (what) {
        case CL_QUEUE_CONTEXT:
            result = ICD_ANSWER(cl_context, ICD_HANDLE(cl_context, queue->context));
            break;
        case CL_QUEUE_DEVICE:
            result = ICD_ANSWER(cl_device_id, ICD_HANDLE(cl_device_id, queue->shown));
            break;
        case CL_QUEUE_REFERENCE_COUNT:
            result = ICD_ANSWER(cl_uint, (cl_uint)queue->object.refs);
            break;
        case CL_QUEUE_PROPERTIES:
            result = ICD_ANSWER(cl_command_queue_properties, queue->properties);
            break;
        case CL_QUEUE_PROPERTIES_ARRAY:
            result = icd_answer(queue->list, queue->list_count * sizeof queue->list[0], size, value, size_out);
            break;
        case CL_QUEUE_DEVICE_DEFAULT:
            result = ICD_ANSWER(cl_command_queue, NULL);
            break;
        default: /* CL_QUEUE_SIZE is for queues on the device, of which there are none */
            result = what == CL_QUEUE_SIZE ? CL_INVALID_COMMAND_QUEUE : CL_INVALID_VALUE;
        }
    icd_leave();
    return result;
}

cl_int CL_API_CALL icd_clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                                 cl_bool enable, cl_command_queue_properties *old_out)
{
    (void)properties;
    (void)enable;
    if (!icd_enter())
        return CL_INVALID_COMMAND_QUEUE;
    const icd_queue *queue = icd_find(handle, ICD_QUEUE);
    if (queue != NULL && old_out != NULL)
        *old_out = queue->properties;
    icd_leave();
    return queue != NULL ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE; /* deprecated since OpenCL 1.1 */
}
