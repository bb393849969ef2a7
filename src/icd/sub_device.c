/* icd/sub_device.c - sub-devices. A sub-device has a handle and properties of its own; commands go to the server of its device. In a context, a
 * device and its sub-devices have one place: they share buffers and programs. */
#include "icd/entries.h"

/* ---- handles ---- */

void icd_sub_device_free(icd_device *device)
{
    icd_send(device->root, &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = device->number});
    icd_question_free(&(icd_question){.fact = device->fact, .fact_count = device->fact_count});
    icd_drop(device->parent);
}

cl_int CL_API_CALL icd_clRetainDevice(cl_device_id handle)
{
    if (!icd_enter())
        return CL_INVALID_DEVICE;
    icd_device *device = icd_find(handle, ICD_DEVICE);
    if (device != NULL && device != device->root) { /* others are not counted */
        device->object.refs++;
        device->object.owned++;
    }
    icd_leave();
    return device != NULL ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int CL_API_CALL icd_clReleaseDevice(cl_device_id handle)
{
    if (!icd_enter())
        return CL_INVALID_DEVICE;
    icd_device *device = icd_find(handle, ICD_DEVICE);
    bool owned = device != NULL && device->object.owned > 0; /* otherwise only the driver still needs it */
    if (owned && device != device->root) {
        device->object.owned--;
        icd_drop(device);
    }
    icd_leave();
    return owned ? CL_SUCCESS : CL_INVALID_DEVICE;
}

/* ---- places in a context ---- */

int icd_place_of(const icd_context *context, cl_device_id handle)
{
    const icd_device *device = icd_find(handle, ICD_DEVICE);
    for (int s = 0; device != NULL && s < context->shown_count; s++)
        if (context->shown[s] == device)
            return icd_place_of_shown(context, s);
    return -1;
}

int icd_place_of_shown(const icd_context *context, int shown)
{
    int place = 0;
    while (context->device[place] != context->shown[shown]->root)
        place++;
    return place;
}

cl_int icd_context_make_on(icd_context *context, int place)
{
    int64_t word[ICD_MOST_DEVICES], number = icd_number();
    int count = 0;
    bool whole = true;
    for (int s = 0; s < context->shown_count; s++)
        if (context->shown[s]->root == context->device[place]) {
            whole = whole && context->shown[s] == context->shown[s]->root;
            word[count++] = context->shown[s]->number;
        }
    if (whole)
        return CL_SUCCESS;
    cl_int status =
        icd_send(context->device[place],
                 &(dcli_msg_command){.kind = DCLI_CL_CONTEXT, .object = number, .word_count = count, .word = word});
    if (status == CL_SUCCESS)
        context->number[place] = number;
    return status;
}

/* ---- making sub-devices ---- */

/* Copy a list of properties into words. @return their number with the final 0; or the error. */
static int read_list(const cl_device_partition_property list[], int64_t word_out[])
{
    int count = 0;
    if (list == NULL)
        return CL_INVALID_VALUE;
    switch (list[0]) {
    case CL_DEVICE_PARTITION_BY_COUNTS:
        do {
            if (count == DCLI_MOST_SUB_DEVICES + 2) /* the property, the counts and the end of the list */
                return CL_INVALID_DEVICE_PARTITION_COUNT;
            word_out[count] = list[count];
        } while (list[count++] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
        break;
    case CL_DEVICE_PARTITION_EQUALLY:
    case CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN:
        word_out[count++] = list[0];
        word_out[count++] = list[1];
        break;
    default:
        return CL_INVALID_VALUE;
    }
    if (list[count] != 0)
        return CL_INVALID_VALUE;
    word_out[count++] = 0;
    return count;
}

/* Whether a device can be partitioned by the property that a list begins with. */
static bool supports(const icd_device *device, cl_device_partition_property wanted)
{
    const icd_fact *fact = icd_device_fact(device, CL_DEVICE_PARTITION_PROPERTIES);
    for (size_t at = 0; fact != NULL && at + sizeof wanted <= fact->bytes; at += sizeof wanted) {
        cl_device_partition_property one;
        memcpy(&one, (const char *)fact->value + at, sizeof one);
        if (one == wanted)
            return true;
    }
    return false;
}

static icd_device *make_sub_device(icd_device *parent, int64_t number)
{
    icd_device *device = icd_make(ICD_DEVICE, sizeof *device);
    if (device == NULL)
        return NULL;
    device->root = parent->root;
    device->parent = icd_hold(parent);
    device->server = parent->root->server;
    device->node = parent->root->node;
    device->number = number;
    device->described = true;
    return device;
}

/* Take the properties of a sub-device out of an answer. @return false: there is no memory for them. */
static bool take_facts(icd_device *device, icd_question *question, int64_t place)
{
    int64_t first = (place + 1) * DCLI_FACT_SUB_DEVICE, count = 0;
    for (int64_t f = 0; f < question->fact_count; f++)
        count += question->fact[f].key / DCLI_FACT_SUB_DEVICE == place + 1;
    if ((device->fact = dcli_calloc((size_t)count + 1, sizeof *device->fact)) == NULL)
        return false;
    for (int64_t f = 0; f < question->fact_count; f++)
        if (question->fact[f].key / DCLI_FACT_SUB_DEVICE == place + 1) {
            device->fact[device->fact_count] = question->fact[f];
            device->fact[device->fact_count++].key -= first;
            question->fact[f].value = NULL;
        }
    return true;
}

/* Make the handles of sub-devices that a server has made. @return CL_SUCCESS, or CL_OUT_OF_HOST_MEMORY: all are released. */
static cl_int take_sub_devices(icd_device *parent, icd_question *question, int64_t first, int count,
                               cl_device_id devices_out[])
{
    cl_int status = CL_SUCCESS;
    int made = 0;
    for (; made < count && status == CL_SUCCESS; made++) {
        icd_device *device = make_sub_device(parent, first + made);
        if (device == NULL)
            break;
        devices_out[made] = ICD_HANDLE(cl_device_id, device);
        if (!take_facts(device, question, made))
            status = CL_OUT_OF_HOST_MEMORY;
    }
    if (made == count && status == CL_SUCCESS)
        return CL_SUCCESS;
    for (int d = 0; d < count; d++)
        if (d < made)
            icd_drop(icd_find(devices_out[d], ICD_DEVICE));
        else
            icd_send(parent->root, &(dcli_msg_command){.kind = DCLI_CL_RELEASE, .object = first + d});
    return CL_OUT_OF_HOST_MEMORY;
}

/* Have the server of a device make sub-devices, and wait for its answer.
 * @param devices_out  [DCLI_MOST_SUB_DEVICES] */
static cl_int partition(icd_device *device, int64_t word[], int word_count, cl_device_id devices_out[], int *count_out)
{
    icd_question question = {.number = icd_number()};
    int64_t number[] = {question.number, icd_numbers(DCLI_MOST_SUB_DEVICES)}, count = 0;
    icd_question_begin(device->root, &question);
    cl_int sent = icd_send(device->root, &(dcli_msg_command){.kind = DCLI_CL_SUB_DEVICES,
                                                             .object = device->number,
                                                             .number_count = 2,
                                                             .number = number,
                                                             .word_count = word_count,
                                                             .word = word});
    if (sent != CL_SUCCESS)
        question.answered = true;
    cl_int status = icd_question_await(device->root, &question);
    status = sent != CL_SUCCESS ? sent : status;
    const icd_fact *fact = icd_question_fact(&question, DCLI_FACT_SUB_DEVICES);
    if (status == CL_SUCCESS && fact != NULL && fact->bytes == sizeof count)
        memcpy(&count, fact->value, sizeof count);
    if (status == CL_SUCCESS && (count < 1 || count > DCLI_MOST_SUB_DEVICES))
        status = CL_DEVICE_PARTITION_FAILED;
    if (status == CL_SUCCESS)
        status = take_sub_devices(device, &question, number[1], (int)count, devices_out);
    icd_question_free(&question);
    *count_out = (int)count;
    return status;
}

static cl_int make_sub_devices(icd_device *device, const cl_device_partition_property list[], cl_uint capacity,
                               cl_device_id devices[], cl_uint *count_out)
{
    cl_device_id made[DCLI_MOST_SUB_DEVICES];
    int64_t word[DCLI_MOST_SUB_DEVICES + 3];
    int count = 0, word_count = read_list(list, word);
    if (word_count < 0)
        return word_count;
    if (!supports(device, list[0])) /* a part of a device that supports it cannot be divided further */
        return supports(device->root, list[0]) ? CL_DEVICE_PARTITION_FAILED : CL_INVALID_VALUE;
    if (device->root->lost)
        return CL_DEVICE_NOT_AVAILABLE;
    icd_hold(device); /* the lock is given up meanwhile */
    cl_int status = partition(device, word, word_count, made, &count);
    icd_drop(device);
    if (status != CL_SUCCESS)
        return status;
    bool given = devices != NULL && capacity >= (cl_uint)count;
    for (int d = 0; d < count; d++)
        if (given)
            devices[d] = made[d];
        else
            icd_drop(icd_find(made[d], ICD_DEVICE));
    if (!given && devices != NULL)
        return CL_INVALID_VALUE;
    if (count_out != NULL)
        *count_out = (cl_uint)count;
    return CL_SUCCESS;
}

cl_int CL_API_CALL icd_clCreateSubDevices(cl_device_id handle, const cl_device_partition_property *properties,
                                          cl_uint capacity, cl_device_id *devices, cl_uint *count_out)
{
    if (!icd_enter())
        return CL_INVALID_DEVICE;
    icd_device *device = icd_find(handle, ICD_DEVICE);
    cl_int status =
        device == NULL ? CL_INVALID_DEVICE : make_sub_devices(device, properties, capacity, devices, count_out);
    icd_leave();
    return status;
}
