/* device/memory.c - memory of a device, or host memory that it works in. */
#include "device/opencl.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Buffers are zeroed with patterns of this size, so their length is a multiple of it. */
enum { CLEAR_BYTES = 16 };
enum { PIECE_BYTES = 4 << 20 }; /* most bytes copied through one slot */

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

/* Use a shared dummy buffer for memory of 0 bytes, because OpenCL has no such buffers. */
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

/* Choose how many bytes after the beginning of a page a memory begins. Processors compare the lowest 12 bits of addresses to find out whether a
 * load reads what an earlier store writes, and wait for the store if they agree. So successive memories begin at different places of
 * a page, as far apart as possible. Nothing is added to small memories, nor if it would take more than a 32nd of the memory. */
static size_t choose_shift(dcli_device *device, size_t bytes)
{
    enum { COUNT = DCLI_MEMORY_ALIGN / DCLI_MEMORY_SHIFT, LEAST_BYTES = 16 << 10, SHARE = 32 };
    static const unsigned char order[COUNT] = {0, 2, 1, 3};
    const size_t most = (COUNT - 1) * DCLI_MEMORY_SHIFT;
    if (bytes < LEAST_BYTES || dcli_pages_round(bytes + most) - dcli_pages_round(bytes) > bytes / SHARE)
        return 0;
    return (size_t)order[device->shifted++ % COUNT] * DCLI_MEMORY_SHIFT;
}

/* Map host memory. Scratch memory stays private, in huge pages, which memfds rarely get. */
static dcl_status map_host(dcli_memory *memory, int flags)
{
    if (!memory->device->shared)
        flags &= ~DCLI_MAPPING_SHARED;
    memory->shift = choose_shift(memory->device, memory->bytes);
    dcl_status status = dcli_mapping_take(memory->device, memory->bytes + memory->shift, flags, &memory->mapping);
    if (status != DCL_OK)
        return status;
    status = use_host(memory, (char *)memory->mapping.host + memory->shift);
    if (status != DCL_OK)
        dcli_mapping_give(memory->device, &memory->mapping);
    return status;
}

dcl_status dcli_buffer_cut(dcli_device *device, cl_mem whole, size_t offset, size_t bytes, cl_mem *buffer_out)
{
    cl_buffer_region region = {offset, bytes};
    cl_int code = CL_SUCCESS;
    cl_mem buffer = whole;
    if (offset > 0)
        buffer = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    else
        code = clRetainMemObject(whole);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, offset > 0 ? "clCreateSubBuffer" : "clRetainMemObject", code);
    *buffer_out = buffer;
    return DCL_OK;
}

static size_t cleared_bytes(const dcli_memory *memory)
{
    return (memory->bytes + CLEAR_BYTES - 1) / CLEAR_BYTES * CLEAR_BYTES;
}

static dcl_status make_buffer(dcli_memory *memory)
{
    return dcli_spare_take(memory->device, cleared_bytes(memory), &memory->buffer, &memory->buffer_bytes);
}

static void drop_buffer(dcli_memory *memory)
{
    if (memory->buffer_bytes > 0)
        dcli_spare_give(memory->device, memory->buffer, memory->buffer_bytes, memory->used);
    else
        clReleaseMemObject(memory->buffer);
}

/* Take peer memory, new or retained. Commands of its former user may still run, so commands on the new memory wait for
 * everything enqueued so far. */
static dcl_status take_peer_memory(dcli_memory *memory)
{
    dcli_device *device = memory->device;
    dcl_status status = dcli_mapping_take(device, memory->bytes, DCLI_MAPPING_SHARED, &memory->mapping);
    if (status != DCL_OK)
        return status;
    const dcli_mapping *mapping = &memory->mapping;
    memory->pieces = mapping->pieces->count > 1 ? mapping->pieces : NULL;
    status =
        dcli_buffer_cut(device, mapping->pieces->buffer[0], mapping->offset, cleared_bytes(memory), &memory->buffer);
    if (status != DCL_OK)
        dcli_mapping_give(device, &memory->mapping);
    for (int n = 0; n < DCLI_QUEUES && status == DCL_OK; n++)
        dcli_memory_touch(memory, (dcli_direction)n, device->queue[n].last, true);
    return status;
}

/* Fill contiguous bytes within one buffer of a memory. @param bytes_in_out  in: how many; out: how many of them lie in
 * this buffer. */
static dcl_status fill_buffer(dcli_memory *memory, size_t at, const void *pattern, size_t pattern_bytes,
                              size_t *bytes_in_out)
{
    dcli_device *device = memory->device;
    cl_mem buffer = dcli_memory_buffer_at(memory, &at, bytes_in_out);
    cl_event event = NULL;
    dcli_after after = {0};
    dcli_after_add(&after, memory, true);
    dcl_status status = dcli_after_find(device, DCLI_COMPUTE, &after);
    if (status != DCL_OK)
        return status;
    cl_int code = clEnqueueFillBuffer(device->queue[DCLI_COMPUTE].handle, buffer, pattern, pattern_bytes, at,
                                      *bytes_in_out, after.count, dcli_after_list(&after), &event);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, "clEnqueueFillBuffer", code);
    dcli_memory_touch(memory, DCLI_COMPUTE, dcli_ticket_add(device, DCLI_COMPUTE, "clEnqueueFillBuffer", event), true);
    return DCL_OK;
}

dcl_status dcli_memory_fill(dcli_memory *memory, size_t at, const void *pattern, size_t pattern_bytes, size_t bytes)
{
    dcl_status status = DCL_OK;
    for (size_t done = 0, stretch; done < bytes && status == DCL_OK; done += stretch) {
        stretch = bytes - done;
        status = fill_buffer(memory, at + done, pattern, pattern_bytes, &stretch);
    }
    return status;
}

/* Allocate peer memory; if that fails, ordinary memory: operations on other GPUs that need to read it then fail with a
 * message, but the array exists. */
static dcl_status take_memory_for_peers(dcli_memory *memory)
{
    dcl_status status = take_peer_memory(memory);
    if (status == DCL_OK)
        return DCL_OK;
    DCLI_LOG(memory->device->log, DCLI_LOG_WARN, "device %d: other GPUs cannot read an array of %zu bytes: %s",
             memory->device->info.number, memory->bytes, dcli_error_sentence());
    memory->mapping = (dcli_mapping){.bytes = 0};
    memory->pieces = NULL;
    return make_buffer(memory);
}

/* Allocate memory of a device that does not work in host memory. */
static dcl_status take_device_memory(dcli_memory *memory, int flags)
{
    static const unsigned char zeros[CLEAR_BYTES];
    bool peers = memory->device->peers.on && (flags & DCLI_MAPPING_SHARED) != 0;
    dcl_status status = peers ? take_memory_for_peers(memory) : make_buffer(memory);
    if (status != DCL_OK || (flags & DCLI_MAPPING_ZEROED) == 0)
        return status;
    status = dcli_memory_fill(memory, 0, zeros, sizeof zeros, cleared_bytes(memory));
    if (status != DCL_OK) {
        drop_buffer(memory);
        if (memory->mapping.bytes > 0)
            dcli_mapping_give(memory->device, &memory->mapping);
    }
    return status;
}

/* Bytes that the memory takes of the device, or of the host's memory; 0 if it is wrapped or imported. */
static size_t own_bytes(const dcli_memory *memory)
{
    return memory->mapping.bytes > 0 ? memory->mapping.bytes : memory->buffer_bytes;
}

static dcl_status create(dcli_device *device, size_t bytes, int flags, dcli_memory **memory_out)
{
    dcl_status status = check_size(device, bytes);
    if (status != DCL_OK)
        return status;
    dcli_pieces_collect(device, false);
    dcli_memory *memory = new_memory(device, bytes);
    if (memory == NULL)
        return DCL_ERR_NOMEM;
    if (bytes == 0)
        status = stand_for_nothing(memory);
    else
        status = device->sight.in_place ? map_host(memory, flags) : take_device_memory(memory, flags);
    if (status != DCL_OK) {
        dcli_free(memory);
        return status;
    }
    device->taken_bytes += own_bytes(memory);
    *memory_out = memory;
    return DCL_OK;
}

size_t dcli_device_taken_bytes(const dcli_device *device) { return device->taken_bytes; }

size_t dcli_device_spare_bytes(const dcli_device *device)
{
    return dcli_pool_bytes(device) + device->spare_bytes + device->leaving_bytes;
}

void dcli_device_drop_spare(dcli_device *device)
{
    dcli_pool_empty(device);
    dcli_spare_empty(device);
    dcli_pieces_collect(device, true);
}

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
    if (memory->host != NULL)
        dcli_tickets_finish(memory->device, memory->used); /* failed launches no longer use it either */
    memory->device->taken_bytes -= own_bytes(memory);
    drop_buffer(memory);
    if (memory->import != NULL)
        dcli_import_give(memory->device, memory->import);
    if (memory->mapping.bytes > 0)
        dcli_mapping_give(memory->device, &memory->mapping);
    dcli_free(memory);
}

void *dcli_memory_host(const dcli_memory *memory) { return memory->host; }

size_t dcli_memory_bytes(const dcli_memory *memory) { return memory->bytes; }

bool dcli_memory_place_of(const dcli_memory *memory, dcli_memory_place *place_out)
{
    const dcli_mapping *mapping = &memory->mapping;
    if (mapping->bytes == 0 || mapping->descriptor < 0)
        return false;
    *place_out = (dcli_memory_place){
        .memfd = mapping->number, .descriptor = mapping->descriptor, .offset = mapping->offset + memory->shift};
    if (mapping->pieces != NULL) {
        place_out->piece_count = mapping->pieces->count;
        place_out->piece_bytes = mapping->pieces->bytes;
        place_out->descriptors = mapping->pieces->descriptor;
    }
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
