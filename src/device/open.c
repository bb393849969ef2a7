/* device/open.c - opening and closing a device. */
#include "device/opencl.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

enum { NOTHING_BYTES = 64, MOST_PROGRAM_BYTES = 48 << 20 };

static const int64_t most_kept_bytes = INT64_C(1) << 30; /* limit per device of freed memory that is retained */

static void CL_CALLBACK report(const char *text, const void *detail, size_t bytes, void *user)
{
    (void)detail;
    (void)bytes;
    const dcli_log *log = user;
    DCLI_LOG(log, DCLI_LOG_WARN, "OpenCL: %s", text);
}

/* Whether two devices are CPU devices of one platform. */
static bool are_beside(const dcli_found *a, const dcli_found *b)
{
    return a->platform == b->platform && (a->type & b->type & CL_DEVICE_TYPE_CPU) != 0;
}

static dcl_status find(int number, dcli_found *found_out, bool *beside_out)
{
    dcli_found *found = dcli_calloc(DCLI_MOST_DEVICES, sizeof *found);
    if (found == NULL)
        return DCL_ERR_NOMEM;
    int count = 0;
    dcl_status status = dcli_find_devices(found, &count);
    if (status == DCL_OK && (number < 0 || number >= count))
        status =
            DCLI_FAIL(DCL_ERR_DEVICE, "there is no device %d; expected one of the %d of this host; see \"dcl devices\"",
                      number, count);
    *beside_out = false;
    for (int n = 0; n < count && status == DCL_OK; n++)
        *beside_out |= n != number && are_beside(&found[n], &found[number]);
    if (status == DCL_OK)
        *found_out = found[number];
    dcli_free(found);
    return status;
}

static dcl_status describe(dcli_device *device, const dcli_found *found, int flags)
{
    device->info = found->info;
    device->id = found->id;
    device->is_gpu =
        (found->type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) != 0 || (flags & DCLI_OPEN_AS_GPU) != 0;
    snprintf(device->kind, sizeof device->kind, "%s; driver %s; %s", found->info.name, found->driver,
             found->platform_version);
    cl_ulong most = 0;
    cl_int code = clGetDeviceInfo(device->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clGetDeviceInfo", code);
    device->most_bytes = most > SIZE_MAX ? SIZE_MAX : (size_t)most;
    device->most_pool_bytes = (size_t)dcli_min(found->info.memory_bytes / 16, most_kept_bytes);
    return DCL_OK;
}

static dcl_status open_queue(dcli_device *device, dcli_direction direction, bool timed)
{
    cl_int code;
    cl_command_queue handle =
        clCreateCommandQueue(device->context, device->id, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (handle == NULL)
        return dcli_cl_fail(device, "clCreateCommandQueue", code);
    device->queue[direction].handle = handle;
    return DCL_OK;
}

dcl_status dcli_device_keep_times(dcli_device *device)
{
    dcli_queue *queue = &device->queue[DCLI_COMPUTE];
    cl_command_queue before = queue->handle;
    if (device->is_gpu && !device->keeps_times) {
        dcl_status status = dcli_device_finish(device, queue->last);
        if (status == DCL_OK)
            status = open_queue(device, DCLI_COMPUTE, true);
        if (status != DCL_OK)
            return status;
        clReleaseCommandQueue(before);
    }
    device->keeps_times = true;
    return DCL_OK;
}

static dcl_status open_context(dcli_device *device, cl_platform_id platform)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_int code;
    device->context = clCreateContext(properties, 1, &device->id, device->log == NULL ? NULL : report,
                                      (void *)(uintptr_t)device->log, &code);
    if (device->context == NULL)
        return dcli_cl_fail(device, "clCreateContext", code);
    return open_queue(device, DCLI_COMPUTE, !device->is_gpu);
}

/* Make the queues and slots for transfers. */
static dcl_status open_crossing(dcli_device *device, bool lends)
{
    if (device->sight.in_place)
        return DCL_OK;
    dcl_status status = DCL_OK;
    for (int n = DCLI_COMPUTE + 1; n < DCLI_QUEUES && status == DCL_OK; n++)
        status = open_queue(device, (dcli_direction)n, false);
    return status == DCL_OK ? dcli_ring_open(device, lends) : status;
}

/* Make the dummy buffer for memory of 0 bytes. */
static dcl_status make_nothing(dcli_device *device)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    if (device->sight.in_place) {
        dcl_status status = dcli_mapping_take(device, NOTHING_BYTES, DCLI_MAPPING_ZEROED, &device->nothing_at);
        if (status != DCL_OK)
            return status;
        flags |= CL_MEM_USE_HOST_PTR;
    }
    cl_int code;
    device->nothing = clCreateBuffer(device->context, flags, NOTHING_BYTES, device->nothing_at.host, &code);
    return device->nothing == NULL ? dcli_cl_fail(device, "clCreateBuffer", code) : DCL_OK;
}

dcl_status dcli_device_open_as(int number, const dcli_log *log, int flags, dcli_device **device_out)
{
    dcli_found found;
    bool beside;
    dcl_status status = find(number, &found, &beside);
    if (status != DCL_OK)
        return status;
    dcli_device *device = dcli_calloc(1, sizeof *device);
    if (device == NULL)
        return DCL_ERR_NOMEM;
    device->log = log;
    device->measures = -1;
    device->most_program_bytes = MOST_PROGRAM_BYTES;
    device->shared = (flags & DCLI_OPEN_SHARED) != 0;
    device->beside = beside;
    status = describe(device, &found, flags);
    if (status == DCL_OK)
        status = open_context(device, found.platform);
    if (status == DCL_OK && (flags & DCLI_OPEN_SEPARATE) == 0)
        status = dcli_probe_sight(device, &device->sight);
    if (status == DCL_OK && (flags & DCLI_OPEN_PEERS) != 0)
        dcli_peers_open(device, &found);
    if (status == DCL_OK)
        status = make_nothing(device);
    if (status == DCL_OK)
        status = open_crossing(device, (flags & DCLI_OPEN_LENDS) != 0);
    if (status != DCL_OK) {
        dcli_device_close(device);
        return status;
    }
    DCLI_LOG(log, DCLI_LOG_INFO, "device %d: opened \"%s\", %d compute units, %lld bytes", number, device->info.name,
             device->info.compute_units, (long long)device->info.memory_bytes);
    *device_out = device;
    return DCL_OK;
}

dcl_status dcli_device_open(int number, const dcli_log *log, dcli_device **device_out)
{
    return dcli_device_open_as(number, log, 0, device_out);
}

void dcli_device_close(dcli_device *device)
{
    if (device == NULL)
        return;
    bool quiet = device->queue[DCLI_COMPUTE].handle == NULL || dcli_ticket_end(device);
    dcli_imports_close(device);
    /* before the slots: freeing a slot returns its memory to its owner, who may unmap it */
    dcli_registered_free(device);
    dcli_ring_free(device);
    dcli_programs_free(device);
    if (device->nothing != NULL)
        clReleaseMemObject(device->nothing);
    if (device->nothing_at.host != NULL)
        dcli_mapping_give(device, &device->nothing_at);
    dcli_pool_empty(device);
    dcli_spare_empty(device);
    dcli_slabs_close(device);
    dcli_pieces_collect(device, true);
    for (int n = 0; n < DCLI_QUEUES; n++)
        if (device->queue[n].handle != NULL)
            clReleaseCommandQueue(device->queue[n].handle);
    if (device->context != NULL)
        clReleaseContext(device->context);
    if (quiet) /* otherwise a late notification may still access it */
        dcli_free(device);
}

const dcl_device_info *dcli_device_about(const dcli_device *device) { return &device->info; }

bool dcli_device_is_gpu(const dcli_device *device) { return device->is_gpu; }

bool dcli_device_in_place(const dcli_device *device) { return device->sight.in_place; }

bool dcli_device_same_addresses(const dcli_device *device) { return device->sight.same_addresses; }

const char *dcli_device_kind(const dcli_device *device) { return device->kind; }
