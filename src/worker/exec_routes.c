/* worker/exec_routes.c - carries out routes: copies between own parts, stages, replicas, chunks and parts of peers. */
#include "worker/exec_routes.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "worker/pinned.h"
#include "worker/process_data.h"

/* ---- between the device's memory and other memory ----------------------------------------------------------------- */

/* One side of a route: device memory or, if `memory` is NULL, host memory. */
struct place {
    dcli_memory *memory;
    char *host;
};

/* Carry out the transfers of a route one by one. Between device and host either the host copies, or each transfer is a
 * copy command of its own.
 * @param from_shift  elements to add to offsets in `from`. */
static dcl_status carry(dcli_device *device, const dcli_entry *entry, const dcli_route *route, struct place to,
                        struct place from, int64_t from_shift)
{
    size_t bytes = dcli_element_bytes(&entry->operation, route->operand);
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < route->transfers.count && status == DCL_OK; n++) {
        dcli_transfer transfer = dcli_transfers_get(&route->transfers, n);
        transfer.from.offset += from_shift;
        dcli_region target = dcli_transfer_region(&transfer, &transfer.to),
                    source = dcli_transfer_region(&transfer, &transfer.from);
        if (from.memory == NULL)
            status = dcli_store_unpack(device, to.memory, &target, from.host, &source, bytes);
        else if (to.memory == NULL)
            status = dcli_store_pack(device, from.memory, &source, to.host, &target, bytes);
        else
            status = dcli_store_copy(device, to.memory, &target, from.memory, &source, bytes);
    }
    return status;
}

static dcl_status copy_on_device(dcli_device *device, const dcli_entry *entry, const dcli_route *route, dcli_memory *to,
                                 dcli_memory *from, int64_t from_shift)
{
    return carry(device, entry, route, (struct place){.memory = to}, (struct place){.memory = from}, from_shift);
}

/* Describe a transfer as rows that cross between a memory of the device and host memory. @return false: it must pass
 * through scratch memory. */
static bool find_rows(const dcli_transfer *transfer, size_t bytes, const dcli_memory *memory, bool enters,
                      dcli_crossing_rows *rows_out)
{
    dcli_loop loops[DCL_MAX_RANK];
    int64_t to = transfer->to.offset, from = transfer->from.offset;
    int count =
        dcli_transfer_loops(transfer->rank, transfer->count, transfer->to.step, transfer->from.step, &to, &from, loops);
    dcli_loop inner = count > 0 ? loops[count - 1] : (dcli_loop){1, 1, 1},
              outer = count > 1 ? loops[0] : (dcli_loop){1, inner.count, inner.count};
    if (count > 2 || inner.to != 1 || inner.from != 1 || outer.to <= 0 || outer.from <= 0)
        return false;
    int64_t at = enters ? to : from, host_at = enters ? from : to;
    *rows_out = (dcli_crossing_rows){.rows = (size_t)outer.count,
                                     .row_bytes = (size_t)inner.count * bytes,
                                     .memory_at = (size_t)at * bytes,
                                     .memory_pitch = (size_t)(enters ? outer.to : outer.from) * bytes,
                                     .host_at = (size_t)host_at * bytes,
                                     .host_pitch = (size_t)(enters ? outer.from : outer.to) * bytes};
    return dcli_slot_takes_rows(memory, rows_out);
}

/* Whether a route consists of few transfers that can cross as rows. @param memory  the device's side. */
static bool is_direct(const dcli_entry *entry, const dcli_route *route, const dcli_memory *memory, bool enters)
{
    enum { MOST_COMMANDS = 4 };
    size_t bytes = dcli_element_bytes(&entry->operation, route->operand);
    dcli_crossing_rows unused;
    bool is = route->transfers.count <= MOST_COMMANDS;
    for (int64_t n = 0; n < route->transfers.count && is; n++) {
        dcli_transfer transfer = dcli_transfers_get(&route->transfers, n);
        is = find_rows(&transfer, bytes, memory, enters, &unused);
    }
    return is;
}

/* Copy from pinned host memory that a slot stands for: each transfer directly if all are rows and few, otherwise all through
 * scratch memory of the device.
 * @param host  where the route's offset 0 is. @param low  offset of the first element to copy.
 * @param crossing_out  ticket of the last command that reads the host memory. */
static dcl_status take_rows(dcli_worker *worker, const dcli_entry *entry, const dcli_route *route, dcli_memory *to,
                            dcli_slot *slot, const char *host, int64_t low, uint64_t *crossing_out)
{
    dcli_device *device = worker->as_node->device;
    size_t bytes = dcli_element_bytes(&entry->operation, route->operand);
    dcli_crossing_rows rows;
    dcl_status status = DCL_OK;
    if (is_direct(entry, route, to, true)) {
        for (int64_t n = 0; n < route->transfers.count && status == DCL_OK; n++) {
            dcli_transfer transfer = dcli_transfers_get(&route->transfers, n);
            if (find_rows(&transfer, bytes, to, true, &rows))
                status = dcli_slot_send_rows(slot, host, to, &rows);
        }
        *crossing_out = dcli_device_launched(device);
        return status;
    }
    status = dcli_slot_send_from(slot, host + low * (int64_t)bytes, dcli_slot_memory(slot), 0,
                                 (size_t)(route->end - low) * bytes);
    *crossing_out = dcli_device_launched(device);
    return status == DCL_OK ? copy_on_device(device, entry, route, to, dcli_slot_memory(slot), -low) : status;
}

/* Let the device copy directly out of a received payload, which is pinned. The payload is freed only after that
 * copy. */
static dcl_status take_pinned(dcli_worker *worker, const dcli_entry *entry, const dcli_route *route, dcli_memory *to,
                              const char *host, dcli_stored_chunk *chunk)
{
    dcli_device *device = worker->as_node->device;
    size_t crossing = (size_t)(route->end - route->low) * dcli_element_bytes(&entry->operation, route->operand);
    dcli_slot *slot = NULL;
    dcl_status status =
        dcli_slot_take_over(device, NULL, is_direct(entry, route, to, true) ? 1 : crossing, NULL, &slot);
    if (status != DCL_OK)
        return status;
    status = take_rows(worker, entry, route, to, slot, host, route->low, &chunk->crossing);
    dcli_slot_give(slot);
    return status;
}

dcl_status dcli_routes_take(dcli_worker *worker, const dcli_entry *entry, const dcli_route *route, dcli_memory *to,
                            const char *host, dcli_stored_chunk *chunk)
{
    dcli_slot *filled = dcli_slot_at(worker->as_node->device, host);
    uint64_t unused;
    if (filled != NULL)
        return take_rows(worker, entry, route, to, filled, host, 0, &unused);
    if (chunk != NULL && dcli_pinned_chunk(worker, chunk))
        return take_pinned(worker, entry, route, to, host, chunk);
    if (dcli_device_in_place(worker->as_node->device) || route->via != DCLI_VIA_WIRE || route->transfers.count <= 1)
        return carry(worker->as_node->device, entry, route, (struct place){.memory = to},
                     (struct place){.host = (char *)(uintptr_t)host}, 0);
    size_t bytes = dcli_element_bytes(&entry->operation, route->operand),
           crossing = (size_t)(route->end - route->low) * bytes;
    dcli_slot *slot = NULL;
    dcl_status status = dcli_slot_take(worker->as_node->device, crossing, &slot);
    if (status != DCL_OK)
        return status;
    dcli_helpers_copy(worker->process_data->helpers, dcli_slot_host(slot), host + route->low * (int64_t)bytes,
                      crossing);
    status = dcli_slot_send(slot, dcli_slot_memory(slot), 0, crossing);
    if (status == DCL_OK)
        status = copy_on_device(worker->as_node->device, entry, route, to, dcli_slot_memory(slot), -route->low);
    dcli_slot_give(slot);
    return status;
}

static bool goes_to(const dcli_route *route, int chunk)
{
    return route->to.kind == DCLI_SPACE_CHUNK && route->to.number == chunk;
}

static dcli_memory *source_of(const dcli_entry *entry, const dcli_route *route, dcli_memory *from)
{
    return from != NULL ? from : entry->held[route->operand]->memory;
}

/* Whether all elements of a chunk can cross as rows in a few commands. */
static bool is_chunk_direct(const dcli_entry *entry, const dcli_routes *routes, int chunk, dcli_memory *from)
{
    enum { MOST_ROUTES = 2 };
    int found = 0;
    for (int64_t r = 0; r < routes->count; r++) {
        const dcli_route *route = &routes->route[r];
        if (goes_to(route, chunk) &&
            (++found > MOST_ROUTES || !is_direct(entry, route, source_of(entry, route, from), false)))
            return false;
    }
    return true;
}

static dcl_status fetch_rows(const dcli_entry *entry, const dcli_route *route, dcli_memory *from, dcli_slot *slot)
{
    size_t bytes = dcli_element_bytes(&entry->operation, route->operand);
    dcli_crossing_rows rows;
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < route->transfers.count && status == DCL_OK; n++) {
        dcli_transfer transfer = dcli_transfers_get(&route->transfers, n);
        if (find_rows(&transfer, bytes, from, false, &rows))
            status = dcli_slot_fetch_rows(slot, from, &rows);
    }
    return status;
}

dcl_status dcli_routes_fetch(dcli_worker *worker, const dcli_entry *entry, const dcli_routes *routes, int chunk,
                             dcli_memory *from, dcli_slot *slot, size_t count)
{
    bool direct = is_chunk_direct(entry, routes, chunk, from);
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < routes->count && status == DCL_OK; r++) {
        const dcli_route *route = &routes->route[r];
        if (!goes_to(route, chunk))
            continue;
        dcli_memory *source = source_of(entry, route, from);
        status = direct ? fetch_rows(entry, route, source, slot)
                        : copy_on_device(worker->as_node->device, entry, route, dcli_slot_memory(slot), source, 0);
    }
    return status == DCL_OK && !direct ? dcli_slot_fetch(slot, dcli_slot_memory(slot), 0, count) : status;
}

dcl_status dcli_routes_give(dcli_worker *worker, const dcli_entry *entry, const dcli_routes *routes, int chunk,
                            dcli_memory *from, char *host)
{
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < routes->count && status == DCL_OK; r++) {
        const dcli_route *route = &routes->route[r];
        if (goes_to(route, chunk))
            status = carry(worker->as_node->device, entry, route, (struct place){.host = host},
                           (struct place){.memory = source_of(entry, route, from)}, 0);
    }
    return status;
}

/* ---- of a batch --------------------------------------------------------------------------------------------------- */

/* Address in host memory of a peer's part, or of a received chunk. */
static dcl_status find_source(dcli_worker *worker, const dcli_job *job, const dcli_route *route,
                              dcli_stored_chunk **chunk_out, const char **source_out)
{
    const dcli_known_storage *held = job->entry->held[route->operand];
    bool in_place = route->from.kind == DCLI_SPACE_PEER;
    int number = route->from.number;
    if (in_place) {
        dcli_memory_place place = {.host = NULL};
        dcli_address_table_get(worker->terms.addresses, held->id, number, dcli_known_storage_bytes(held, number),
                               &place);
        *source_out = place.host;
    } else {
        dcl_status status = dcli_exec_payload(job, &job->plan->chunk[number], chunk_out, source_out);
        if (status != DCL_OK)
            return status;
    }
    if (*source_out != NULL)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_NOMEM, "elements of operation %" PRId64 " are not there, %s %d: " DCLI_NO_ROOM,
                     job->entry->operation.number, in_place ? "the part of node" : "chunk", number);
}

/* Get the device memory of a stage, of a replica, or of this node's own part. */
static dcl_status find_memory(dcli_worker *worker, const dcli_job *job, int operand, dcli_space space,
                              dcli_memory *arena, dcli_memory **memory_out)
{
    if (space.kind == DCLI_SPACE_REPLICA)
        return dcli_exec_replica(worker, job->entry, &job->plan->stage[space.number], memory_out);
    *memory_out = space.kind == DCLI_SPACE_STAGE ? arena : job->entry->held[operand]->memory;
    return DCL_OK;
}

/* Carry out a route, except one to an outgoing chunk. */
static dcl_status run_route(dcli_worker *worker, const dcli_job *job, const dcli_route *route, dcli_memory *arena)
{
    const dcli_entry *entry = job->entry;
    dcli_memory *to, *from;
    const char *source;
    dcli_stored_chunk *chunk = NULL;
    dcl_status status = find_memory(worker, job, route->operand, route->to, arena, &to);
    if (status != DCL_OK)
        return status;
    if (route->from.kind == DCLI_SPACE_PEER && route->via == DCLI_VIA_KERNEL) {
        status = dcli_exec_peer_memory(worker, entry->held[route->operand], route->from.number, &from);
        return status == DCL_OK ? copy_on_device(worker->as_node->device, entry, route, to, from, 0) : status;
    }
    if (route->from.kind == DCLI_SPACE_PEER || route->from.kind == DCLI_SPACE_CHUNK) {
        status = find_source(worker, job, route, &chunk, &source);
        return status == DCL_OK ? dcli_routes_take(worker, entry, route, to, source, chunk) : status;
    }
    status = find_memory(worker, job, route->operand, route->from, arena, &from);
    return status == DCL_OK ? copy_on_device(worker->as_node->device, entry, route, to, from, 0) : status;
}

static void count_bytes(dcli_worker *worker, const dcli_entry *entry, const dcli_route *route)
{
    worker->counters.bytes_copied += route->elements * (int64_t)dcli_element_bytes(&entry->operation, route->operand);
}

dcl_status dcli_routes_run(dcli_worker *worker, const dcli_job *job, const dcli_routes *routes, dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < routes->count && status == DCL_OK; r++) {
        const dcli_route *route = &routes->route[r];
        if (route->from.kind == DCLI_SPACE_STAGE)
            continue;
        count_bytes(worker, job->entry, route);
        status = run_route(worker, job, route, arena);
    }
    return status;
}

/* Copy what a batch computed for another node out of its stages into a chunk: the device copies into a slot, or the
 * host into a buffer. */
static dcl_status pass_made(dcli_worker *worker, const dcli_job *job, int64_t number, const dcli_routes *routes,
                            dcli_memory *arena)
{
    const dcli_entry *entry = job->entry;
    const dcli_chunk *chunk = &job->plan->chunk[number];
    dcli_stored_chunk *made = dcli_chunks_find(job->made, chunk->peer, entry->operation.number, true, number);
    if (dcli_device_in_place(worker->as_node->device))
        return dcli_routes_give(worker, entry, routes, (int)number, arena, made->bytes);
    size_t bytes = (size_t)chunk->bytes;
    dcl_status status;
    if (dcli_pinned_has(worker, chunk->peer, made->bytes, bytes)) {
        status = dcli_slot_take_over(worker->as_node->device, made->bytes, bytes, dcli_buffers_give, &made->slot);
        if (status == DCL_OK)
            made->bytes = NULL;
    } else
        status = dcli_slot_take(worker->as_node->device, bytes, &made->slot);
    if (status == DCL_OK)
        status = dcli_routes_fetch(worker, entry, routes, (int)number, arena, made->slot, bytes);
    return status;
}

dcl_status dcli_routes_pass(dcli_worker *worker, const dcli_job *job, const dcli_lowered *lowered, dcli_memory *arena)
{
    const dcli_routes *routes = &lowered->routes;
    const dcli_batch *batch = job->batch;
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < routes->count && status == DCL_OK; r++) {
        const dcli_route *route = &routes->route[r];
        if (route->from.kind != DCLI_SPACE_STAGE)
            continue;
        count_bytes(worker, job->entry, route);
        if (route->to.kind != DCLI_SPACE_CHUNK)
            status = run_route(worker, job, route, arena);
    }
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count && status == DCL_OK; c++)
        status = pass_made(worker, job, c, routes, arena);
    return status;
}
