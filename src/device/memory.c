/* device/memory.c - buffers: of the device, or host memory that it uses in place. */
#include "device/opencl.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Buffers are cleared by patterns of this size, so they are a multiple of it long. */
enum { CLEAR_BYTES = 16 };
enum { PIECE_BYTES = 4 << 20 }; /* most that crosses in one slot */

static dcl_status check_size(const dcli_device *device, size_t bytes)
{
    if (bytes <= device->most_bytes)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_NOMEM,
        "%zu bytes in one buffer of device %d, \"%s\"; its driver allows %zu; use more nodes, smaller arrays, "
        "or raise the driver's limit (PoCL: POCL_MEMORY_LIMIT, in GB, is four times that)",
        bytes, device->info.number, device->info.name, device->most_bytes);
}

static dcli_memory *new_memory(dcli_device *device, size_t bytes)
{
    dcli_memory *memory = dcli_calloc(1, sizeof *memory);
    if (memory != NULL) {
        memory->device = device;
        memory->serial = ++device->serial;
        memory->bytes = bytes;
    }
    return memory;
}

/* OpenCL knows no buffer of 0 bytes: all of them share one that no kernel touches. */
static dcl_status stand_for_nothing(dcli_memory *memory)
{
    cl_int code = clRetainMemObject(memory->device->nothing);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(memory->device, "clRetainMemObject", code);
    memory->buffer = memory->device->nothing;
    memory->host = memory->device->nothing_at.host;
    return DCL_OK;
}

static dcl_status use_host(dcli_memory *memory, void *host)
{
    cl_int code;
    memory->buffer =
        clCreateBuffer(memory->device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory->bytes, host, &code);
    if (memory->buffer == NULL)
        return dcli_cl_fail(memory->device, "clCreateBuffer", code);
    memory->host = host;
    return DCL_OK;
}

/* Scratch memory is its device's own business: it stays private, and in huge pages, which memfds rarely get. */
static dcl_status map_host(dcli_memory *memory, int flags)
{
    if (!memory->device->shared)
        flags &= ~DCLI_MAPPING_SHARED;
    dcl_status status = dcli_mapping_take(memory->device, memory->bytes, flags, &memory->mapping);
    if (status != DCL_OK)
        return status;
    status = use_host(memory, memory->mapping.host);
    if (status != DCL_OK)
        dcli_mapping_give(memory->device, &memory->mapping);
    return status;
}

/* Memory of the device, cleared (if asked for) in order with launches. Drivers may take it only when it is first used. */
static dcl_status take_device_memory(dcli_memory *memory, bool zero)
{
    dcli_device *device = memory->device;
    size_t bytes = (memory->bytes + CLEAR_BYTES - 1) / CLEAR_BYTES * CLEAR_BYTES;
    cl_int code;
    memory->buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (memory->buffer == NULL)
        return dcli_cl_fail(device, "clCreateBuffer", code);
    static const unsigned char nulls[CLEAR_BYTES];
    if (!zero)
        return DCL_OK;
    cl_event event = NULL;
    code = clEnqueueFillBuffer(device->queue[DCLI_COMPUTE].handle, memory->buffer, nulls, sizeof nulls, 0, bytes, 0,
                               NULL, &event);
    if (code != CL_SUCCESS) {
        clReleaseMemObject(memory->buffer);
        return dcli_cl_fail(device, "clEnqueueFillBuffer", code);
    }
    dcli_memory_touch(memory, DCLI_COMPUTE, dcli_ticket_add(device, DCLI_COMPUTE, "clEnqueueFillBuffer", event), true);
    return DCL_OK;
}

/* What it takes of the device, or of the host's memory: nothing where it is wrapped. */
static size_t own_bytes(const dcli_memory *memory)
{
    if (memory->mapping.host != NULL)
        return memory->mapping.bytes;
    return memory->host == NULL ? memory->bytes : 0;
}

static dcl_status create(dcli_device *device, size_t bytes, int flags, dcli_memory **memory_out)
{
    dcl_status status = check_size(device, bytes);
    if (status != DCL_OK)
        return status;
    dcli_memory *memory = new_memory(device, bytes);
    if (memory == NULL)
        return DCL_ERR_NOMEM;
    if (bytes == 0)
        status = stand_for_nothing(memory);
    else
        status = device->sight.in_place ? map_host(memory, flags)
                                        : take_device_memory(memory, (flags & DCLI_MAPPING_ZEROED) != 0);
    if (status != DCL_OK) {
        dcli_free(memory);
        return status;
    }
    device->taken_bytes += own_bytes(memory);
    *memory_out = memory;
    return DCL_OK;
}

size_t dcli_device_taken_bytes(const dcli_device *device) { return device->taken_bytes; }

size_t dcli_device_spare_bytes(const dcli_device *device) { return dcli_pool_bytes(device); }

void dcli_device_drop_spare(dcli_device *device) { dcli_pool_empty(device); }

dcl_status dcli_memory_create(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return create(device, bytes, DCLI_MAPPING_ZEROED | DCLI_MAPPING_SHARED, memory_out);
}

dcl_status dcli_memory_create_unset(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return create(device, bytes, DCLI_MAPPING_SHARED, memory_out);
}

dcl_status dcli_memory_create_private(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return create(device, bytes, DCLI_MAPPING_ZEROED, memory_out);
}

dcl_status dcli_memory_scratch(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return create(device, bytes, 0, memory_out);
}

dcl_status dcli_memory_wrap(dcli_device *device, void *host, size_t bytes, dcli_memory **memory_out)
{
    if (!device->sight.in_place)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "device %d, \"%s\", does not use host memory in place; expected a device that does; copy with "
                         "dcli_memory_put()",
                         device->info.number, device->info.name);
    dcl_status status = check_size(device, bytes);
    if (status != DCL_OK)
        return status;
    dcli_memory *memory = new_memory(device, bytes);
    if (memory == NULL)
        return DCL_ERR_NOMEM;
    status = bytes == 0 ? stand_for_nothing(memory) : use_host(memory, host);
    if (status != DCL_OK) {
        dcli_free(memory);
        return status;
    }
    *memory_out = memory;
    return DCL_OK;
}

void dcli_memory_release(dcli_memory *memory)
{
    if (memory == NULL)
        return;
    if (memory->host != NULL)                              /* else the driver keeps it as long as a command uses it */
        dcli_tickets_finish(memory->device, memory->used); /* a failed launch no longer uses it either */
    clReleaseMemObject(memory->buffer);
    memory->device->taken_bytes -= own_bytes(memory);
    if (memory->mapping.host != NULL)
        dcli_mapping_give(memory->device, &memory->mapping);
    dcli_free(memory);
}

void *dcli_memory_host(const dcli_memory *memory) { return memory->host; }

size_t dcli_memory_bytes(const dcli_memory *memory) { return memory->bytes; }

bool dcli_memory_place_of(const dcli_memory *memory, dcli_memory_place *place_out)
{
    const dcli_mapping *mapping = &memory->mapping;
    if (mapping->host == NULL || mapping->descriptor < 0)
        return false;
    *place_out = (dcli_memory_place){mapping->number, mapping->descriptor, mapping->offset};
    return true;
}

void dcli_device_on_unmap(dcli_device *device, dcli_unmapped_fn *fn, void *user)
{
    device->unmapped = fn;
    device->unmapped_user = user;
}

dcl_status dcli_memory_settle(dcli_memory *memory, bool for_writing)
{
    return dcli_tickets_finish(memory->device, for_writing ? memory->used : memory->written);
}

bool dcli_memory_is_settled(dcli_memory *memory, bool for_writing)
{
    dcl_status unused;
    return dcli_tickets_are_complete(memory->device, for_writing ? memory->used : memory->written, &unused);
}

static dcl_status check_stretch(const dcli_memory *memory, size_t offset, size_t bytes)
{
    if (offset <= memory->bytes && bytes <= memory->bytes - offset)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INTERNAL, "bytes %zu..%zu of a memory of %zu bytes were to be copied", offset,
                     offset + bytes, memory->bytes);
}

dcl_status dcli_memory_put(dcli_memory *memory, size_t offset_bytes, const void *host, size_t bytes)
{
    dcl_status status = check_stretch(memory, offset_bytes, bytes);
    if (status != DCL_OK || bytes == 0)
        return status;
    if (memory->host != NULL) {
        status = dcli_memory_settle(memory, true);
        if (status == DCL_OK)
            memcpy((char *)memory->host + offset_bytes, host, bytes);
        return status;
    }
    for (size_t done = 0; done < bytes && status == DCL_OK; done += PIECE_BYTES) {
        size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        dcli_slot *slot = NULL;
        status = dcli_slot_take(memory->device, piece, &slot);
        if (status != DCL_OK)
            break;
        memcpy(dcli_slot_host(slot), (const char *)host + done, piece);
        status = dcli_slot_send(slot, memory, offset_bytes + done, piece);
        dcli_slot_give(slot);
    }
    return status;
}

dcl_status dcli_memory_get(dcli_memory *memory, size_t offset_bytes, void *host, size_t bytes)
{
    dcl_status status = check_stretch(memory, offset_bytes, bytes);
    if (status != DCL_OK || bytes == 0)
        return status;
    if (memory->host != NULL) {
        status = dcli_memory_settle(memory, false);
        if (status == DCL_OK)
            memcpy(host, (const char *)memory->host + offset_bytes, bytes);
        return status;
    }
    for (size_t done = 0; done < bytes && status == DCL_OK; done += PIECE_BYTES) {
        size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        dcli_slot *slot = NULL;
        status = dcli_slot_take(memory->device, piece, &slot);
        if (status != DCL_OK)
            break;
        status = dcli_slot_fetch(slot, memory, offset_bytes + done, piece);
        if (status == DCL_OK)
            status = dcli_slot_finish(slot);
        if (status == DCL_OK)
            memcpy((char *)host + done, dcli_slot_host(slot), piece);
        dcli_slot_give(slot);
    }
    return status;
}
