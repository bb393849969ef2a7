/* store/transfer.c - moving elements by regions between a device's memory and the host's.
 *
 * Where host memory is used in place the host copies, once the kernels concerned are done. Elsewhere elements are gathered
 * by a kernel into scratch memory, packed in the order the host has them in, and cross in one piece; what already lies so
 * crosses directly. */
#include "store/store.h"

#include <stdlib.h>

#include "base/check.h"

enum { PIECE_BYTES = 8 << 20 }; /* most scratch memory used at once */

/* A move between memory of a device and the host. */
struct move {
    dcli_device *device;
    dcli_memory *memory;
    char *host; /* read only when packing is false */
    size_t bytes;
    bool packing;
};

static dcli_region part_of(const dcli_region *region, int axis, int64_t lo, int64_t count)
{
    dcli_region part = *region;
    part.box.start[axis] += lo * region->box.stride[axis];
    part.box.count[axis] = count;
    part.offset += lo * region->step[axis];
    return part;
}

/* The axis with the largest step among those of more than one element; -1: none. */
static int slowest_axis(const dcli_region *region, const bool taken[])
{
    int slowest = -1;
    for (int d = 0; d < region->box.rank; d++)
        if (!taken[d] && region->box.count[d] > 1 &&
            (slowest < 0 || llabs(region->step[d]) > llabs(region->step[slowest])))
            slowest = d;
    return slowest;
}

/* The box packed with its axes in the order that `like` has them in. */
static dcli_region packed_like(const dcli_region *like)
{
    dcli_region packed = {.box = like->box};
    bool taken[DCL_MAX_RANK] = {false};
    int64_t rest = dcli_box_elements(&like->box);
    for (int axis = slowest_axis(like, taken); axis >= 0; axis = slowest_axis(like, taken)) {
        rest /= like->box.count[axis];
        packed.step[axis] = rest;
        taken[axis] = true;
    }
    return packed;
}

/* Whether both lie alike, apart from their offsets. */
static bool lies_as(const dcli_region *a, const dcli_region *b)
{
    for (int d = 0; d < a->box.rank; d++)
        if (a->box.count[d] > 1 && a->step[d] != b->step[d])
            return false;
    return true;
}

static dcl_status pack_piece(const struct move *move, const dcli_region *region, const dcli_region *host_region)
{
    dcli_region packed = packed_like(host_region);
    size_t total = (size_t)dcli_box_elements(&region->box) * move->bytes;
    bool host_direct = lies_as(host_region, &packed), device_direct = lies_as(region, &packed);
    dcli_memory *scratch = NULL;
    void *buffer = NULL;
    dcl_status status = DCL_OK;
    if (!host_direct || !device_direct)
        status = dcli_device_staging(move->device, total, &scratch, &buffer);
    if (status == DCL_OK && !device_direct)
        status = dcli_device_copy(move->device, scratch, 0, packed.step, move->memory, region->offset, region->step,
                                  region->box.rank, region->box.count, move->bytes);
    if (status != DCL_OK)
        return status;
    status = dcli_memory_get(device_direct ? move->memory : scratch,
                             device_direct ? (size_t)region->offset * move->bytes : 0,
                             host_direct ? move->host + host_region->offset * (int64_t)move->bytes : buffer, total);
    if (status == DCL_OK && !host_direct)
        dcli_region_copy(move->host, host_region, buffer, &packed, move->bytes);
    return status;
}

static dcl_status unpack_piece(const struct move *move, const dcli_region *region, const dcli_region *host_region)
{
    dcli_region packed = packed_like(host_region);
    size_t total = (size_t)dcli_box_elements(&region->box) * move->bytes;
    bool host_direct = lies_as(host_region, &packed), device_direct = lies_as(region, &packed);
    dcli_memory *scratch = NULL;
    void *buffer = NULL;
    dcl_status status = DCL_OK;
    if (!host_direct || !device_direct)
        status = dcli_device_staging(move->device, total, &scratch, &buffer);
    if (status != DCL_OK)
        return status;
    if (!host_direct)
        dcli_region_copy(buffer, &packed, move->host, host_region, move->bytes);
    status = dcli_memory_put(device_direct ? move->memory : scratch,
                             device_direct ? (size_t)region->offset * move->bytes : 0,
                             host_direct ? move->host + host_region->offset * (int64_t)move->bytes : buffer, total);
    if (status == DCL_OK && !device_direct)
        status = dcli_device_copy(move->device, move->memory, region->offset, region->step, scratch, 0, packed.step,
                                  region->box.rank, region->box.count, move->bytes);
    return status;
}

/* Cut along the slowest axis of the host's side until a piece fits the scratch memory. */
static dcl_status move_pieces(const struct move *move, const dcli_region *region, const dcli_region *host_region)
{
    static const bool none[DCL_MAX_RANK];
    int axis = slowest_axis(host_region, none);
    if (axis < 0 || dcli_box_elements(&region->box) <= (int64_t)(PIECE_BYTES / move->bytes))
        return move->packing ? pack_piece(move, region, host_region) : unpack_piece(move, region, host_region);
    int64_t count = region->box.count[axis];
    int64_t slice = dcli_box_elements(&region->box) / count;
    int64_t fit = dcli_max(1, (int64_t)(PIECE_BYTES / move->bytes) / slice);
    dcl_status status = DCL_OK;
    for (int64_t lo = 0; lo < count && status == DCL_OK; lo += fit) {
        int64_t some = dcli_min(fit, count - lo);
        dcli_region part = part_of(region, axis, lo, some), host_part = part_of(host_region, axis, lo, some);
        status = move_pieces(move, &part, &host_part);
    }
    return status;
}

dcl_status dcli_store_pack(dcli_device *device, dcli_memory *memory, const dcli_region *region, void *host,
                           const dcli_region *host_region, size_t bytes)
{
    if (dcli_box_is_empty(&region->box))
        return DCL_OK;
    if (dcli_memory_host(memory) == NULL)
        return move_pieces(&(struct move){device, memory, host, bytes, true}, region, host_region);
    dcl_status status = dcli_memory_settle(memory, false);
    if (status == DCL_OK)
        dcli_region_copy(host, host_region, dcli_memory_host(memory), region, bytes);
    return status;
}

dcl_status dcli_store_unpack(dcli_device *device, dcli_memory *memory, const dcli_region *region, const void *host,
                             const dcli_region *host_region, size_t bytes)
{
    if (dcli_box_is_empty(&region->box))
        return DCL_OK;
    if (dcli_memory_host(memory) == NULL)
        return move_pieces(&(struct move){device, memory, (char *)(uintptr_t)host, bytes, false}, region, host_region);
    dcl_status status = dcli_memory_settle(memory, true);
    if (status == DCL_OK)
        dcli_region_copy(dcli_memory_host(memory), region, host, host_region, bytes);
    return status;
}

dcl_status dcli_store_copy(dcli_device *device, dcli_memory *target, const dcli_region *target_region,
                           dcli_memory *source, const dcli_region *source_region, size_t bytes)
{
    if (dcli_box_is_empty(&target_region->box))
        return DCL_OK;
    if (dcli_memory_host(target) == NULL)
        return dcli_device_copy(device, target, target_region->offset, target_region->step, source,
                                source_region->offset, source_region->step, target_region->box.rank,
                                target_region->box.count, bytes);
    dcl_status status = dcli_memory_settle(source, false);
    if (status == DCL_OK)
        status = dcli_memory_settle(target, true);
    if (status == DCL_OK)
        dcli_region_copy(dcli_memory_host(target), target_region, dcli_memory_host(source), source_region, bytes);
    return status;
}

dcl_status dcli_store_fill(dcli_device *device, dcli_memory *memory, const dcli_region *region, const void *element,
                           size_t bytes)
{
    if (dcli_box_is_empty(&region->box))
        return DCL_OK;
    if (dcli_memory_host(memory) == NULL)
        return dcli_device_fill(device, memory, region->offset, region->step, element, region->box.rank,
                                region->box.count, bytes);
    dcl_status status = dcli_memory_settle(memory, true);
    if (status == DCL_OK)
        dcli_region_fill(dcli_memory_host(memory), region, element, bytes);
    return status;
}
