/* device/launch.c - starting kernels, at little more than the driver's own cost: arguments are compared with those of
 * the last launch and set only if they differ. */
#include "device/program.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static dcl_status keep_value(dcli_last *last, const dcli_argument *argument)
{
    if (last->bytes != argument->bytes) {
        void *value = dcli_realloc(last->value, 1, argument->bytes);
        if (value == NULL)
            return DCL_ERR_NOMEM;
        last->value = value;
        last->bytes = argument->bytes;
    }
    memcpy(last->value, argument->value, argument->bytes);
    return DCL_OK;
}

static bool is_set(const dcli_last *last, const dcli_argument *argument)
{
    if (argument->memory != NULL)
        return last->serial == argument->memory->serial;
    return last->serial == 0 && last->bytes == argument->bytes &&
           memcmp(last->value, argument->value, argument->bytes) == 0;
}

static dcl_status set_argument(const dcli_device *device, dcli_kernel *kernel, int n, const dcli_argument *argument)
{
    dcli_last *last = &kernel->last[n];
    cl_int code;
    if (argument->memory != NULL)
        code = clSetKernelArg(kernel->kernel, (cl_uint)n, sizeof(cl_mem), &argument->memory->buffer);
    else
        code = clSetKernelArg(kernel->kernel, (cl_uint)n, argument->bytes, argument->value);
    last->serial = 0;
    if (code != CL_SUCCESS) {
        last->bytes = 0;
        return dcli_cl_fail(device, "clSetKernelArg", code);
    }
    if (argument->memory == NULL)
        return keep_value(last, argument);
    last->serial = argument->memory->serial;
    return DCL_OK;
}

static dcl_status set_arguments(const dcli_device *device, dcli_kernel *kernel, int count,
                                const dcli_argument arguments[])
{
    if (count != kernel->count)
        return DCLI_FAIL(DCL_ERR_INTERNAL, "%d arguments for the kernel %s; it takes %d", count, kernel->name,
                         kernel->count);
    for (int n = 0; n < count; n++) {
        if (is_set(&kernel->last[n], &arguments[n]))
            continue;
        dcl_status status = set_argument(device, kernel, n, &arguments[n]);
        if (status != DCL_OK)
            return status;
    }
    return DCL_OK;
}

/* Find the commands of other queues that a launch must wait for. */
static dcl_status find_others(dcli_device *device, dcli_direction direction, int count, const dcli_argument arguments[],
                              dcli_after *after)
{
    bool idle = true;
    for (int n = 0; n < DCLI_QUEUES && idle; n++)
        idle = n == (int)direction || dcli_queue_is_idle(&device->queue[n]);
    for (int n = 0; n < count && !idle; n++)
        if (arguments[n].memory != NULL)
            dcli_after_add(after, arguments[n].memory, arguments[n].written);
    return idle ? DCL_OK : dcli_after_find(device, direction, after);
}

size_t dcli_device_shares(const dcli_device *device)
{
    enum { SHARES_PER_UNIT = 4 }; /* shares per compute unit: several, so that slower units can take fewer */
    return (size_t)SHARES_PER_UNIT * (size_t)device->info.compute_units;
}

size_t dcli_device_items(const dcli_device *device, size_t rows)
{
    return rows > 0 && device->beside ? dcli_device_shares(device) : rows;
}

dcl_status dcli_launch_in(dcli_device *device, dcli_direction direction, dcli_program *program, int kernel, int count,
                          const dcli_argument arguments[], int dimensions, const size_t global[], const size_t local[],
                          uint64_t *ticket_out)
{
    size_t items = 1;
    for (int d = 0; d < dimensions; d++)
        items *= global[d];
    bool empty = items == 0;
    dcl_status status = empty ? DCL_OK : set_arguments(device, &program->kernels[kernel], count, arguments);
    dcli_after after = {0};
    if (status == DCL_OK && !empty)
        status = find_others(device, direction, count, arguments, &after);
    if (status != DCL_OK)
        return status;
    if (!empty) {
        cl_event event = NULL;
        cl_int code = clEnqueueNDRangeKernel(
            device->queue[direction].handle, program->kernels[kernel].kernel, (cl_uint)dimensions, NULL, global, local,
            after.count, dcli_after_list(&after), dcli_ticket_wants_event(device, direction, items) ? &event : NULL);
        if (code != CL_SUCCESS)
            return dcli_cl_fail(device, "clEnqueueNDRangeKernel", code);
        uint64_t ticket = dcli_ticket_add(device, direction, "clEnqueueNDRangeKernel", event);
        for (int n = 0; n < count; n++)
            if (arguments[n].memory != NULL)
                dcli_memory_touch(arguments[n].memory, direction, ticket, arguments[n].written);
    }
    if (ticket_out != NULL)
        *ticket_out = device->launched;
    return DCL_OK;
}

dcl_status dcli_device_launch(dcli_device *device, dcli_program *program, int kernel, int count,
                              const dcli_argument arguments[], int dimensions, const size_t global[],
                              const size_t local[], uint64_t *ticket_out)
{
    return dcli_launch_in(device, DCLI_COMPUTE, program, kernel, count, arguments, dimensions, global, local,
                          ticket_out);
}

void dcli_device_reads(dcli_memory *memory)
{
    dcli_memory_touch(memory, DCLI_COMPUTE, memory->device->queue[DCLI_COMPUTE].last, false);
}

void dcli_device_writes(dcli_memory *memory)
{
    dcli_memory_touch(memory, DCLI_COMPUTE, memory->device->queue[DCLI_COMPUTE].last, true);
}

static dcl_status check_sizes(const dcli_device *device, const int64_t group[3])
{
    size_t most[3];
    cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof most, most, NULL);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clGetDeviceInfo", code);
    for (int d = 0; d < 3; d++)
        if ((size_t)group[d] > most[d])
            return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                             "a work-group of %" PRId64
                             " work-items along dimension %d; device %s takes at most %zu there; "
                             "give DCL_GROUP a smaller size",
                             group[d], d, device->info.name, most[d]);
    return DCL_OK;
}

static dcl_status check_product(const dcli_device *device, const int64_t group[3], size_t most, const char *who)
{
    if ((size_t)group[0] * (size_t)group[1] * (size_t)group[2] <= most)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                     "a work-group of %" PRId64 " x %" PRId64 " x %" PRId64
                     " work-items; %s device %s takes at most %zu in "
                     "all; give DCL_GROUP smaller sizes",
                     group[0], group[1], group[2], who, device->info.name, most);
}

dcl_status dcli_device_check_group(const dcli_device *device, const dcli_program *program, const int64_t group[3])
{
    size_t most;
    dcl_status status = check_sizes(device, group);
    cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (status == DCL_OK && code != CL_SUCCESS)
        return dcli_cl_fail(device, "clGetDeviceInfo", code);
    if (status == DCL_OK)
        status = check_product(device, group, most, "any kernel on");
    for (int n = 0; program != NULL && n < program->kernel_count && status == DCL_OK; n++) {
        if (!dcli_program_has(program, n))
            continue;
        code = clGetKernelWorkGroupInfo(program->kernels[n].kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                        &most, NULL);
        if (code != CL_SUCCESS)
            return dcli_cl_fail(device, "clGetKernelWorkGroupInfo", code);
        status = check_product(device, group, most, "this kernel on");
    }
    return status;
}
