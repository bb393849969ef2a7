/* store/transfer.c - copy elements by regions between a device's memory and the host's.
 *
 * If a device works in host memory, the host copies after the kernels concerned have ended. For other devices, a device
 * kernel packs the elements into the scratch memory of a slot, in the order of the host's memory, and one transfer
 * crosses. Regions that already have this order cross directly. Copies to the device may still be running when the
 * function returns; copies from the device are complete. */
#include "store/store.h"

#include <stdlib.h>

#include "segment/cut.h"

enum { PIECE_BYTES = 4 << 20 }; /* limit on the bytes that cross in one slot */

/* One copy between memory of a device and the host. */
struct move {
    dcli_device *device;
    dcli_memory *memory;
    char *host; /* the host's memory; only read if `packing` is false */
    size_t bytes;
    bool packing;
};

/* Order the axes of a region by their steps, the largest first; axes with one index come last. */
static void order_axes(const dcli_region *region, int order_out[])
{
    for (int d = 0; d < region->box.rank; d++) {
        int64_t step = region->box.count[d] > 1 ? llabs(region->step[d]) : -1;
        int at = d;
        for (; at > 0; at--) {
            int before = order_out[at - 1];
            if ((region->box.count[before] > 1 ? llabs(region->step[before]) : -1) >= step)
                break;
            order_out[at] = before;
        }
        order_out[at] = d;
    }
}

/* A packed region of the same box, with its axes in the order of `like`. */
static dcli_region packed_like(const dcli_region *like)
{
    dcli_region packed = {.box = like->box};
    int order[DCL_MAX_RANK];
    int64_t rest = dcli_box_elements(&like->box);
    order_axes(like, order);
    for (int n = 0; n < like->box.rank && like->box.count[order[n]] > 1; n++) {
        rest /= like->box.count[order[n]];
        packed.step[order[n]] = rest;
    }
    return packed;
}

/* Start copying a piece from the device to the host, through a slot. */
static dcl_status fetch_piece(const struct move *move, const dcli_region *region, const dcli_region *packed,
                              dcli_slot *slot)
{
    size_t total = (size_t)dcli_box_elements(&region->box) * move->bytes;
    if (dcli_region_lies_as(region, packed))
        return dcli_slot_fetch(slot, move->memory, (size_t)region->offset * move->bytes, total);
    dcli_memory *scratch = dcli_slot_memory(slot);
    dcl_status status = dcli_device_copy(move->device, scratch, 0, packed->step, move->memory, region->offset,
                                         region->step, region->box.rank, region->box.count, move->bytes);
    return status == DCL_OK ? dcli_slot_fetch(slot, scratch, 0, total) : status;
}

static dcl_status pack_piece(const struct move *move, const dcli_region *region, const dcli_region *host_region)
{
    dcli_region packed = packed_like(host_region);
    dcli_slot *slot = NULL;
    dcl_status status = dcli_slot_take(move->device, (size_t)dcli_box_elements(&region->box) * move->bytes, &slot);
    if (status == DCL_OK)
        status = fetch_piece(move, region, &packed, slot);
    if (status == DCL_OK)
        status = dcli_slot_finish(slot);
    if (status == DCL_OK)
        dcli_region_copy(move->host, host_region, dcli_slot_host(slot), &packed, move->bytes);
    dcli_slot_give(slot);
    return status;
}

/* Start copying a piece from the host to the device, through a slot. */
static dcl_status send_piece(const struct move *move, const dcli_region *region, const dcli_region *packed,
                             dcli_slot *slot)
{
    size_t total = (size_t)dcli_box_elements(&region->box) * move->bytes;
    if (dcli_region_lies_as(region, packed))
        return dcli_slot_send(slot, move->memory, (size_t)region->offset * move->bytes, total);
    dcli_memory *scratch = dcli_slot_memory(slot);
    dcl_status status = dcli_slot_send(slot, scratch, 0, total);
    return status == DCL_OK ? dcli_device_copy(move->device, move->memory, region->offset, region->step, scratch, 0,
                                               packed->step, region->box.rank, region->box.count, move->bytes)
                            : status;
}

static dcl_status unpack_piece(const struct move *move, const dcli_region *region, const dcli_region *host_region)
{
    dcli_region packed = packed_like(host_region);
    dcli_slot *slot = NULL;
    dcl_status status = dcli_slot_take(move->device, (size_t)dcli_box_elements(&region->box) * move->bytes, &slot);
    if (status != DCL_OK)
        return status;
    dcli_region_copy(dcli_slot_host(slot), &packed, move->host, host_region, move->bytes);
    status = send_piece(move, region, &packed, slot);
    dcli_slot_give(slot);
    return status;
}

/* Cut the region along the slowest axes of the host's side into pieces that fit into the scratch memory. */
static dcl_status move_pieces(const struct move *move, const dcli_region *region, const dcli_region *host_region)
{
    int rank = region->box.rank, order[DCL_MAX_RANK];
    int64_t shape[DCL_MAX_RANK];
    order_axes(host_region, order);
    dcli_cut_shape(rank, region->box.count, order, (int64_t)(PIECE_BYTES / move->bytes), shape);
    dcli_cut cut = dcli_cut_begin(rank, region->box.count, shape);
    dcl_status status = DCL_OK;
    while (status == DCL_OK && dcli_cut_next(&cut)) {
        dcli_region part = dcli_region_part(region, cut.lo, cut.count);
        dcli_region host_part = dcli_region_part(host_region, cut.lo, cut.count);
        status = move->packing ? pack_piece(move, &part, &host_part) : unpack_piece(move, &part, &host_part);
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
