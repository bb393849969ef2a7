/* remote/commands.c - commands that make and change objects. They are carried out as soon as they arrive. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "remote/inside.h"

dcl_status dcli_command_broken(const char *what)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL,
                     "an OpenCL command has %s; expected what docs/protocol.md describes; use the same "
                     "release on both sides",
                     what);
}

/* ---- buffers ---- */

enum { KEPT_FLAGS = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY };

static dcl_status make_buffer(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *context;
    if (command->number_count < 2 || command->number_count > 3 || command->number[1] < 1)
        return dcli_command_broken("a wrong size of a buffer");
    dcl_status found = dcli_context_find(remote, command, 2, &context);
    if (found != DCL_OK)
        return found;
    cl_context scope = dcli_scope_of(remote, context).context;
    dcli_object *object = dcli_object_make(remote, command->object, DCLI_OBJECT_BUFFER);
    if (object == NULL)
        return dcli_error_status();
    object->bytes = command->number[1];
    int64_t quota = remote->terms.quota_bytes;
    if (!dcli_buffers_have_room(remote, object->bytes))
        dcli_buffers_release_late(remote, true);
    if (quota > 0 && object->bytes > quota - remote->used_bytes) {
        object->status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return DCL_OK;
    }
    cl_mem_flags flags = (cl_mem_flags)command->number[0] & KEPT_FLAGS;
    dcli_buffer_make(remote, object, scope, flags);
    if (object->status != CL_SUCCESS && remote->late_first != NULL) {
        dcli_buffers_release_late(remote, true);
        dcli_buffer_make(remote, object, scope, flags);
    }
    if (object->status == CL_SUCCESS)
        remote->used_bytes += object->bytes;
    return DCL_OK;
}

static dcl_status make_sub_buffer(dcli_remote *remote, const dcli_msg_command *command)
{
    if (command->number_count != 4)
        return dcli_command_broken("a wrong number of numbers");
    dcli_object *parent = dcli_object_find(remote, command->number[0], DCLI_OBJECT_BUFFER);
    int64_t offset = command->number[2], bytes = command->number[3];
    if (parent == NULL || parent->buffer.parent != NULL || offset < 0 || bytes < 1 || bytes > parent->bytes ||
        offset > parent->bytes - bytes)
        return dcli_command_broken("a sub-buffer outside a buffer");
    dcli_object *object = dcli_object_make(remote, command->object, DCLI_OBJECT_BUFFER);
    if (object == NULL)
        return dcli_error_status();
    object->bytes = bytes;
    object->buffer.parent = dcli_object_hold(parent);
    object->buffer.place = parent->buffer.place != NULL ? parent->buffer.place + offset : NULL;
    object->buffer.memory = parent->buffer.memory != NULL ? parent->buffer.memory + offset : NULL;
    object->status = parent->status;
    cl_buffer_region region = {.origin = (size_t)offset, .size = (size_t)bytes};
    if (object->status == CL_SUCCESS)
        object->buffer.mem = clCreateSubBuffer(parent->buffer.mem, (cl_mem_flags)command->number[1] & KEPT_FLAGS,
                                               CL_BUFFER_CREATE_TYPE_REGION, &region, &object->status);
    return DCL_OK;
}

/* ---- queues ---- */

static dcl_status make_queue(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *context;
    if (command->number_count != 1 && command->number_count != 3)
        return dcli_command_broken("a wrong number of numbers");
    dcl_status found = dcli_context_find(remote, command, 1, &context);
    cl_device_id device = dcli_device_find(remote, command, 2);
    if (found == DCL_OK && device == NULL)
        found = dcli_command_broken("an unknown sub-device");
    if (found != DCL_OK)
        return found;
    dcli_object *object = dcli_object_make(remote, command->object, DCLI_OBJECT_QUEUE);
    if (object == NULL)
        return dcli_error_status();
    cl_command_queue_properties wanted = (cl_command_queue_properties)command->number[0] &
                                         (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
    object->queue.context = dcli_object_hold(context);
    object->queue.queue = clCreateCommandQueue(dcli_scope_of(remote, context).context, device, wanted, &object->status);
    object->queue.in_order = (wanted & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    object->queue.profiles = (wanted & CL_QUEUE_PROFILING_ENABLE) != 0;
    object->queue.last = &object->queue.first;
    object->queue.newest = &object->queue.oldest;
    object->queue.next = remote->queues;
    remote->queues = object;
    return DCL_OK;
}

/* ---- programs and kernels ---- */

static dcl_status make_program(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *context;
    if (command->number_count < 1 || command->number_count > 2 || command->number[0] < 1 ||
        command->number[0] > DCLI_MOST_CL_TEXT - remote->text_bytes)
        return dcli_command_broken("a wrong size of a program, or too many programs whose text has not been used");
    dcl_status found = dcli_context_find(remote, command, 1, &context);
    if (found != DCL_OK)
        return found;
    dcli_object *object = dcli_object_make(remote, command->object, DCLI_OBJECT_PROGRAM);
    if (object == NULL)
        return dcli_error_status();
    object->bytes = command->number[0];
    object->program.is_binary = command->kind == DCLI_CL_BINARY;
    object->program.context = dcli_object_hold(context);
    remote->text_bytes += object->bytes;
    object->program.text = dcli_malloc((size_t)object->bytes);
    return object->program.text != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Whether an argument is a handle to the device's driver. Bytes that a client sends must never be taken for one: drivers
 * follow them as addresses. A driver that does not say what an argument is leaves this to the process's confinement. */
static bool takes_object(cl_kernel kernel, cl_uint index)
{
    enum { MOST_NAME = 1024 };
    static const char *const types[] = {"image", "sampler_t", "pipe", "queue_t", "clk_event_t", "reserve_id_t"};
    cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_PRIVATE;
    char type[MOST_NAME] = "";
    if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, NULL) !=
        CL_SUCCESS)
        return false;
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, NULL);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        if (strncmp(type, types[t], strlen(types[t])) == 0)
            return true;
    return address != CL_KERNEL_ARG_ADDRESS_PRIVATE;
}

static dcl_status make_kernel(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *program =
        command->number_count == 1 ? dcli_object_find(remote, command->number[0], DCLI_OBJECT_PROGRAM) : NULL;
    if (program == NULL)
        return dcli_command_broken("an unknown program");
    dcli_object *object = dcli_object_make(remote, command->object, DCLI_OBJECT_KERNEL);
    if (object == NULL)
        return dcli_error_status();
    cl_uint count = 0;
    if (program->program.program == NULL || program->program.building > 0)
        object->status = CL_INVALID_PROGRAM_EXECUTABLE;
    else
        object->kernel.kernel = clCreateKernel(program->program.program, command->text, &object->status);
    if (object->status == CL_SUCCESS)
        object->status = clGetKernelInfo(object->kernel.kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (object->status == CL_SUCCESS && count > DCLI_MOST_REMOTE_ARGUMENTS)
        object->status = CL_OUT_OF_RESOURCES;
    if (object->status != CL_SUCCESS || count == 0)
        return DCL_OK;
    object->kernel.argument = dcli_calloc(count, sizeof(dcli_value *));
    object->kernel.applied = dcli_calloc(count, sizeof(dcli_value *));
    object->kernel.takes_object = dcli_calloc(count, sizeof(bool));
    if (object->kernel.argument == NULL || object->kernel.applied == NULL || object->kernel.takes_object == NULL)
        return DCL_ERR_NOMEM;
    object->kernel.count = (int)count;
    for (cl_uint a = 0; a < count; a++)
        object->kernel.takes_object[a] = takes_object(object->kernel.kernel, a);
    return DCL_OK;
}

static dcl_status set_argument(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *kernel = dcli_object_find(remote, command->object, DCLI_OBJECT_KERNEL), *buffer = NULL;
    if (kernel == NULL || command->number_count != 4)
        return dcli_command_broken("an unknown kernel");
    int64_t index = command->number[0], kind = command->number[1], bytes = command->number[2];
    if (kernel->status != CL_SUCCESS)
        return DCL_OK; /* launches fail with this status */
    if (index < 0 || index >= kernel->kernel.count || kind < DCLI_ARGUMENT_VALUE || kind > DCLI_ARGUMENT_LOCAL ||
        bytes < 0 || bytes > INT32_MAX)
        return dcli_command_broken("a wrong argument of a kernel");
    if (kind == DCLI_ARGUMENT_VALUE && command->word_count != (bytes + 7) / 8)
        return dcli_command_broken("a value of another size than it says");
    if (kind == DCLI_ARGUMENT_VALUE && kernel->kernel.takes_object[index])
        return dcli_command_broken("bytes for an argument that is an object");
    if (kind == DCLI_ARGUMENT_BUFFER && command->number[3] != 0 &&
        (buffer = dcli_object_find(remote, command->number[3], DCLI_OBJECT_BUFFER)) == NULL)
        return dcli_command_broken("an unknown buffer as an argument");
    size_t stored = kind == DCLI_ARGUMENT_VALUE ? (size_t)bytes : 0;
    dcli_value *argument = dcli_malloc(sizeof *argument + stored);
    if (argument == NULL)
        return DCL_ERR_NOMEM;
    *argument = (dcli_value){.refs = 1, .kind = (int)kind, .bytes = (size_t)bytes, .buffer = dcli_object_hold(buffer)};
    if (stored > 0)
        memcpy(argument->value, command->word, stored);
    dcli_value_drop(remote, kernel->kernel.argument[index]);
    kernel->kernel.argument[index] = argument;
    return DCL_OK;
}

/* ---- events ---- */

static dcl_status make_user_event(dcli_remote *remote, const dcli_msg_command *command)
{
    int64_t owner = command->number_count == 1 ? command->number[0] : 0;
    if (command->number_count > 1 || owner < 0 || (owner > 0 && !dcli_peer_is_other(remote, owner - 1)))
        return dcli_command_broken("a user event of an unknown server");
    dcli_object *object = dcli_object_make(remote, command->event, DCLI_OBJECT_EVENT);
    if (object == NULL)
        return dcli_error_status();
    cl_int status;
    object->event.is_user = true;
    object->event.owner = (int)owner;
    if (owner != 0 && dcli_peer_has_told(remote, object, &status))
        dcli_event_end(remote, object, status, NULL, NULL);
    return DCL_OK;
}

static dcl_status set_status(dcli_remote *remote, const dcli_msg_command *command)
{
    dcli_object *event = dcli_object_find(remote, command->event, DCLI_OBJECT_EVENT);
    if (event == NULL || !event->event.is_user || command->number_count != 1 || command->number[0] > 0 ||
        command->number[0] < INT32_MIN)
        return dcli_command_broken("a status for an unknown event");
    dcli_event_end(remote, event, (cl_int)command->number[0], NULL, NULL);
    return DCL_OK;
}

static dcl_status forget_events(dcli_remote *remote, const dcli_msg_command *command)
{
    for (int n = 0; n < command->number_count; n++) {
        dcli_object *event = dcli_object_find(remote, command->number[n], DCLI_OBJECT_EVENT);
        if (event == NULL)
            return dcli_command_broken("an unknown event to forget");
        dcli_object_remove(remote, event);
    }
    return DCL_OK;
}

/* A transfer between servers has failed at the other end. It may have ended here. */
static dcl_status fail_transfer(dcli_remote *remote, const dcli_msg_command *command)
{
    if (command->number_count != 2 || command->number[1] >= 0 || command->number[1] < INT32_MIN)
        return dcli_command_broken("no status of a failed transfer");
    dcli_object *transfer = dcli_object_find(remote, command->number[0], DCLI_OBJECT_TRANSFER);
    if (transfer != NULL && transfer->transfer.peer != remote->terms.client)
        dcli_transfer_stop(remote, transfer, (cl_int)command->number[1]);
    return DCL_OK;
}

static dcl_status release(dcli_remote *remote, const dcli_msg_command *command)
{
    for (dcli_object_kind kind = DCLI_OBJECT_BUFFER; kind <= DCLI_OBJECT_KERNEL; kind++) {
        dcli_object *object = dcli_object_find(remote, command->object, kind);
        if (object != NULL) {
            dcli_object_remove(remote, object);
            return DCL_OK;
        }
    }
    return dcli_command_broken("an unknown object to release");
}

dcl_status dcli_remote_command(dcli_remote *remote, const dcli_msg_command *command)
{
    switch (command->kind) {
    case DCLI_CL_RELEASE:
        return release(remote, command);
    case DCLI_CL_BUFFER:
        return make_buffer(remote, command);
    case DCLI_CL_SUB_BUFFER:
        return make_sub_buffer(remote, command);
    case DCLI_CL_QUEUE:
        return make_queue(remote, command);
    case DCLI_CL_SOURCE:
    case DCLI_CL_BINARY:
        return make_program(remote, command);
    case DCLI_CL_BUILD:
    case DCLI_CL_COMPILE:
    case DCLI_CL_LINK:
        return dcli_program_build_remote(remote, command);
    case DCLI_CL_APPEND:
        return dcli_program_append(remote, command);
    case DCLI_CL_KERNEL:
        return make_kernel(remote, command);
    case DCLI_CL_ARGUMENT:
        return set_argument(remote, command);
    case DCLI_CL_USER_EVENT:
        return make_user_event(remote, command);
    case DCLI_CL_SET_STATUS:
        return set_status(remote, command);
    case DCLI_CL_FORGET_EVENT:
        return forget_events(remote, command);
    case DCLI_CL_TELL_EVENT:
        return dcli_peer_tell(remote, command);
    case DCLI_CL_FAIL_TRANSFER:
        return fail_transfer(remote, command);
    case DCLI_CL_SUB_DEVICES:
        return dcli_sub_devices_make(remote, command);
    case DCLI_CL_CONTEXT:
        return dcli_context_make(remote, command);
    default:
        return dcli_task_accept(remote, command);
    }
}
