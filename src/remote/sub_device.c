/* remote/sub_device.c - sub-devices of the device, and contexts that have them.
 *
 * Buffers, command queues and programs belong to a context of the device's driver: that of the device alone, or one that the driver has
 * asked for because the program's context has sub-devices. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/facts.h"
#include "remote/inside.h"

dcli_scope dcli_scope_of(dcli_remote *remote, const dcli_object *context)
{
    return context == NULL ? (dcli_scope){.context = remote->context, .count = 1, .device = &remote->device}
                           : context->scope;
}

dcl_status dcli_context_find(dcli_remote *remote, const dcli_msg_command *command, int place, dcli_object **context_out)
{
    *context_out = NULL;
    if (command->number_count <= place || command->number[place] == 0)
        return DCL_OK;
    *context_out = dcli_object_find(remote, command->number[place], DCLI_OBJECT_CONTEXT);
    return *context_out != NULL ? DCL_OK : dcli_command_broken("an unknown context");
}

/* The device that a number means. @return NULL: the number is unknown. */
static cl_device_id device_of(dcli_remote *remote, int64_t number)
{
    const dcli_object *object = number != 0 ? dcli_object_find(remote, number, DCLI_OBJECT_SUB_DEVICE) : NULL;
    return number == 0 ? remote->device : object != NULL ? object->sub_device : NULL;
}

cl_device_id dcli_device_find(dcli_remote *remote, const dcli_msg_command *command, int place)
{
    return device_of(remote, command->number_count > place ? command->number[place] : 0);
}

/* ---- making sub-devices ---- */

/* Check the form of a list of properties: the device's driver is given complete lists of sensible numbers only.
 * @param list_out  [command->word_count] @return CL_SUCCESS or the error. */
static cl_int read_list(const dcli_msg_command *command, cl_device_partition_property list_out[])
{
    int count = command->word_count;
    for (int w = 0; w < count; w++) {
        if (command->word[w] < 0 || command->word[w] > INT32_MAX)
            return command->word[0] == CL_DEVICE_PARTITION_BY_COUNTS ? CL_INVALID_DEVICE_PARTITION_COUNT
                                                                     : CL_INVALID_VALUE;
        list_out[w] = (cl_device_partition_property)command->word[w];
    }
    if (count < 3 || list_out[count - 1] != 0)
        return CL_INVALID_VALUE;
    switch (list_out[0]) {
    case CL_DEVICE_PARTITION_EQUALLY:
    case CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN:
        return count == 3 && list_out[1] > 0 ? CL_SUCCESS : CL_INVALID_VALUE;
    case CL_DEVICE_PARTITION_BY_COUNTS:
        for (int w = 1; w < count - 2; w++)
            if (list_out[w] == 0)
                return CL_INVALID_DEVICE_PARTITION_COUNT;
        return count > 3 && list_out[count - 2] == CL_DEVICE_PARTITION_BY_COUNTS_LIST_END
                   ? CL_SUCCESS
                   : CL_INVALID_DEVICE_PARTITION_COUNT;
    default:
        return CL_INVALID_VALUE;
    }
}

/* Partition a device. @param made_out  [DCLI_MOST_SUB_DEVICES] @return CL_SUCCESS or the error. */
static cl_int partition(const dcli_remote *remote, cl_device_id device, const cl_device_partition_property list[],
                        cl_device_id made_out[], cl_uint *count_out)
{
    cl_int status = clCreateSubDevices(device, list, 0, NULL, count_out);
    if (status == CL_SUCCESS && (*count_out == 0 || *count_out > DCLI_MOST_SUB_DEVICES ||
                                 *count_out > (cl_uint)(DCLI_MOST_REMOTE_SUB_DEVICES - remote->sub_device_count)))
        status = CL_OUT_OF_RESOURCES;
    return status == CL_SUCCESS ? clCreateSubDevices(device, list, *count_out, made_out, NULL) : status;
}

dcl_status dcli_sub_devices_make(dcli_remote *remote, const dcli_msg_command *command)
{
    cl_device_partition_property list[DCLI_MOST_COMMAND_WORDS];
    cl_device_id made[DCLI_MOST_SUB_DEVICES], device = device_of(remote, command->object);
    cl_uint count = 0;
    if (command->number_count != 2 || command->number[0] < 1 || command->number[1] < 1 ||
        command->number[1] > INT64_MAX - DCLI_MOST_SUB_DEVICES)
        return dcli_command_broken("no number of its question or of the first sub-device");
    if (device == NULL)
        return dcli_command_broken("an unknown sub-device");
    cl_int code = read_list(command, list);
    if (code == CL_SUCCESS)
        code = partition(remote, device, list, made, &count);
    dcl_status status = DCL_OK;
    dcli_facts_begin(remote, command->number[0]);
    dcli_fact_number(&remote->facts, DCLI_FACT_SUB_DEVICES, code == CL_SUCCESS ? count : 0);
    for (cl_uint d = 0; d < count && code == CL_SUCCESS; d++) {
        dcli_object *object =
            status == DCL_OK ? dcli_object_make(remote, command->number[1] + d, DCLI_OBJECT_SUB_DEVICE) : NULL;
        if (object == NULL) {
            status = dcli_error_status();
            clReleaseDevice(made[d]);
            continue;
        }
        object->sub_device = made[d];
        remote->sub_device_count++;
        dcli_facts_of_device(remote, made[d], (d + 1) * DCLI_FACT_SUB_DEVICE, remote->device);
    }
    return status == DCL_OK ? dcli_facts_end(&remote->facts, code) : status;
}

void dcli_sub_device_free(dcli_remote *remote, dcli_object *object)
{
    clReleaseDevice(object->sub_device);
    remote->sub_device_count--;
}

/* ---- contexts ---- */

dcl_status dcli_context_make(dcli_remote *remote, const dcli_msg_command *command)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)(intptr_t)remote->platform,
                                                0};
    if (command->word_count < 1 || command->word_count > DCLI_MOST_SUB_DEVICES)
        return dcli_command_broken("no devices of a context, or too many");
    for (int d = 0; d < command->word_count; d++)
        if (device_of(remote, command->word[d]) == NULL)
            return dcli_command_broken("an unknown sub-device");
    dcli_object *object = dcli_object_make(remote, command->object, DCLI_OBJECT_CONTEXT);
    if (object == NULL)
        return dcli_error_status();
    object->scope.device = dcli_calloc((size_t)command->word_count, sizeof(cl_device_id));
    if (object->scope.device == NULL)
        return DCL_ERR_NOMEM;
    object->scope.count = (cl_uint)command->word_count;
    for (int d = 0; d < command->word_count; d++)
        clRetainDevice(object->scope.device[d] = device_of(remote, command->word[d])); /* PoCL's contexts do not */
    object->scope.context =
        clCreateContext(properties, object->scope.count, object->scope.device, NULL, NULL, &object->status);
    return DCL_OK;
}

void dcli_context_free(dcli_object *object)
{
    if (object->scope.context != NULL)
        clReleaseContext(object->scope.context);
    for (cl_uint d = 0; d < object->scope.count; d++)
        clReleaseDevice(object->scope.device[d]);
    dcli_free(object->scope.device);
}
