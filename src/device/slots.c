/* device/slots.c - slots: how bytes cross between the host and a device with memory of its own.
 *
 * A slot is a stretch of host memory that the device reaches fast and a stretch of scratch memory of the device, at equal
 * places in two buffers that are made with the device. What leaves is gathered in the scratch memory by the compute queue and
 * crosses in the queue for that direction; what enters, the other way round. So the host packs one slot while another
 * crosses and kernels run. A slot that was given back is used again once its commands are complete; nobody waits for that:
 * when the ring is full, a slot is made of ordinary memory, and dcli_slots_are_short() then asks callers to start no new work. */
#include "device/opencl.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { RING_BYTES = 32 << 20, UNIT_BYTES = 16 << 10, SPARE_UNITS = (8 << 20) / UNIT_BYTES };

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

static dcl_status open_buffers(dcli_device *device)
{
    dcli_ring *ring = &device->ring;
    cl_int code;
    ring->pinned = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, RING_BYTES, NULL, &code);
    if (ring->pinned == NULL)
        return dcli_cl_fail(device, "clCreateBuffer", code);
    ring->host = clEnqueueMapBuffer(device->queue[DCLI_IN].handle, ring->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                    RING_BYTES, 0, NULL, NULL, &code);
    if (ring->host == NULL)
        return dcli_cl_fail(device, "clEnqueueMapBuffer", code);
    ring->scratch = clCreateBuffer(device->context, CL_MEM_READ_WRITE, RING_BYTES, NULL, &code);
    return ring->scratch == NULL ? dcli_cl_fail(device, "clCreateBuffer", code) : DCL_OK;
}

dcl_status dcli_ring_open(dcli_device *device)
{
    dcli_ring *ring = &device->ring;
    ring->units = RING_BYTES / UNIT_BYTES;
    ring->taken = dcli_calloc(ring->units, 1);
    return ring->taken != NULL ? open_buffers(device) : DCL_ERR_NOMEM;
}

static size_t units_of(const dcli_slot *slot) { return (slot->memory.bytes + UNIT_BYTES - 1) / UNIT_BYTES; }

static void free_slot(dcli_slot *slot)
{
    dcli_ring *ring = &slot->device->ring;
    if (slot->own != NULL) {
        dcli_memory_release(slot->own);
        if (!slot->device->lost) /* else the driver may still write to it */
            dcli_free(slot->host);
    } else {
        memset(ring->taken + slot->memory.base / UNIT_BYTES, 0, units_of(slot));
        ring->taken_units -= units_of(slot);
    }
    dcli_free(slot);
}

/* Slots that were given back, as far as their commands are complete. */
static void collect(dcli_device *device, bool all)
{
    if (device->lost && !all)
        return;
    for (dcli_slot **at = &device->ring.given; *at != NULL;) {
        dcli_slot *slot = *at;
        dcl_status unused;
        if (!all && !dcli_slot_is_complete(slot, &unused)) {
            at = &slot->next;
            continue;
        }
        *at = slot->next;
        free_slot(slot);
    }
}

void dcli_ring_free(dcli_device *device)
{
    dcli_ring *ring = &device->ring;
    collect(device, true);
    if (ring->host != NULL)
        clEnqueueUnmapMemObject(device->queue[DCLI_IN].handle, ring->pinned, ring->host, 0, NULL, NULL);
    if (ring->pinned != NULL)
        clReleaseMemObject(ring->pinned);
    if (ring->scratch != NULL)
        clReleaseMemObject(ring->scratch);
    dcli_free(ring->taken);
    *ring = (dcli_ring){0};
}

/* ---- taking and giving back -------------------------------------------------------------------------------------- */

/* The first of so many free units in a row; -1: there are not as many. */
static int64_t find_units(const dcli_ring *ring, size_t wanted)
{
    size_t free_units = 0;
    for (size_t n = 0; n < ring->units && wanted <= ring->units - ring->taken_units; n++) {
        free_units = ring->taken[n] ? 0 : free_units + 1;
        if (free_units == wanted)
            return (int64_t)(n + 1 - wanted);
    }
    return -1;
}

static dcl_status make_own(dcli_slot *slot)
{
    slot->host = dcli_malloc(slot->memory.bytes);
    if (slot->host == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_memory_scratch(slot->device, slot->memory.bytes, &slot->own);
    if (status != DCL_OK)
        dcli_free(slot->host);
    else
        slot->memory.buffer = slot->own->buffer;
    return status;
}

dcl_status dcli_slot_take(dcli_device *device, size_t bytes, dcli_slot **slot_out)
{
    dcli_ring *ring = &device->ring;
    collect(device, false);
    dcli_slot *slot = dcli_calloc(1, sizeof *slot);
    if (slot == NULL)
        return DCL_ERR_NOMEM;
    slot->device = device;
    slot->memory = (dcli_memory){.device = device, .serial = ++device->serial, .bytes = bytes};
    int64_t unit = find_units(ring, units_of(slot));
    dcl_status status = unit < 0 ? make_own(slot) : DCL_OK;
    if (status != DCL_OK) {
        dcli_free(slot);
        return status;
    }
    if (unit >= 0) {
        slot->memory.buffer = ring->scratch;
        slot->memory.base = (size_t)unit * UNIT_BYTES;
        slot->host = ring->host + slot->memory.base;
        memset(ring->taken + unit, 1, units_of(slot));
        ring->taken_units += units_of(slot);
    }
    *slot_out = slot;
    return DCL_OK;
}

void dcli_slot_give(dcli_slot *slot)
{
    if (slot == NULL)
        return;
    slot->next = slot->device->ring.given;
    slot->device->ring.given = slot;
    collect(slot->device, false);
}

void *dcli_slot_host(const dcli_slot *slot) { return slot->host; }

dcli_memory *dcli_slot_memory(dcli_slot *slot) { return &slot->memory; }

bool dcli_slots_are_short(dcli_device *device)
{
    collect(device, false);
    return device->ring.units - device->ring.taken_units < SPARE_UNITS;
}

void dcli_slots_await(dcli_device *device)
{
    while (device->ring.given != NULL && dcli_slots_are_short(device))
        dcli_slot_finish(device->ring.given);
}

/* ---- crossing ---------------------------------------------------------------------------------------------------- */

/* Start bytes of a slot on their way into `memory`, or out of it. */
static dcl_status cross(dcli_slot *slot, dcli_direction direction, dcli_memory *memory, size_t offset_bytes,
                        size_t bytes)
{
    dcli_device *device = slot->device;
    bool enters = direction == DCLI_IN;
    const char *call = enters ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer";
    cl_command_queue queue = device->queue[direction].handle;
    size_t at = memory->base + offset_bytes;
    cl_event event = NULL;
    dcli_after after = {0};
    dcli_after_add(&after, memory, enters);
    dcl_status status = dcli_after_find(device, direction, &after);
    if (status != DCL_OK)
        return status;
    const cl_event *list = dcli_after_list(&after);
    cl_int code =
        enters ? clEnqueueWriteBuffer(queue, memory->buffer, CL_FALSE, at, bytes, slot->host, after.count, list, &event)
               : clEnqueueReadBuffer(queue, memory->buffer, CL_FALSE, at, bytes, slot->host, after.count, list, &event);
    if (code != CL_SUCCESS)
        return dcli_cl_fail(device, call, code);
    uint64_t ticket = dcli_ticket_add(device, direction, call, event);
    dcli_memory_touch(memory, direction, ticket, enters);
    dcli_memory_touch(&slot->memory, direction, ticket, false);
    return DCL_OK;
}

dcl_status dcli_slot_send(dcli_slot *slot, dcli_memory *target, size_t offset_bytes, size_t bytes)
{
    return cross(slot, DCLI_IN, target, offset_bytes, bytes);
}

dcl_status dcli_slot_fetch(dcli_slot *slot, dcli_memory *source, size_t offset_bytes, size_t bytes)
{
    return cross(slot, DCLI_OUT, source, offset_bytes, bytes);
}

bool dcli_slot_is_complete(dcli_slot *slot, dcl_status *status_out)
{
    return dcli_tickets_are_complete(slot->device, slot->memory.used, status_out);
}

dcl_status dcli_slot_finish(dcli_slot *slot) { return dcli_tickets_finish(slot->device, slot->memory.used); }
