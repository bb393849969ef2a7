/* worker/exec_chunk.c - T and U chunks in plans of other nodes: packs elements of this node's parts, and writes
 * received elements to them. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "worker/exec_prepare.h"
#include "worker/exec_routes.h"
#include "worker/pinned.h"
#include "worker/plans.h"

static dcl_status allocate_parts(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                                 const dcli_chunk *chunk)
{
    dcl_status status = DCL_OK;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++)
        status = dcli_exec_allocate(worker, entry->held[dcli_plan_item_operand(plan, i)]);
    return status;
}

/* ---- shuffled elements ------------------------------------------------------------------------------------------ */

/* Copy the elements of a chunk of scattered single elements, one by one. @param bytes  the chunk: source if another
 * node wrote the elements, else destination. */
static dcl_status copy_items(dcli_device *device, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_chunk *chunk, void *bytes)
{
    dcl_status status = DCL_OK;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++) {
        const dcli_item found = dcli_plan_item(plan, i), *item = &found;
        dcli_memory *memory = entry->held[item->operand]->memory;
        dcli_region packed = dcli_region_packed(&item->region.box, 0);
        size_t of_element = dcli_element_bytes(&entry->operation, item->operand);
        char *at = (char *)bytes + item->byte_offset;
        status = chunk->written ? dcli_store_unpack(device, memory, &item->region, at, &packed, of_element)
                                : dcli_store_pack(device, memory, &item->region, at, &packed, of_element);
    }
    return status;
}

/* ---- joined copies ---------------------------------------------------------------------------------------------- */

/* Whether a plan's items are single elements without a pattern. Joining them would gain nothing and take more memory
 * than the plan, so a host that copies walks through the plan's items instead. */
static bool is_shuffled(const dcli_worker *worker, const dcli_plan *plan)
{
    return plan->spot != NULL && dcli_device_in_place(worker->as_node->device);
}

/* Get the routes of a chunk, cached with its plan; *routes_out NULL: copy its scattered elements one by one. */
static dcl_status find_packing(dcli_worker *worker, const dcli_entry *entry, int peer, int64_t number,
                               const dcli_routes **routes_out)
{
    dcli_cached_plan *cached = dcli_entry_plan(entry, peer);
    const dcli_chunk *chunk = &cached->plan->chunk[number];
    *routes_out = NULL;
    if (is_shuffled(worker, cached->plan))
        return DCL_OK;
    if (cached->packing == NULL) {
        cached->packing = dcli_calloc((size_t)cached->plan->chunk_count, sizeof *cached->packing);
        if (cached->packing == NULL)
            return DCL_ERR_NOMEM;
        dcli_plans_add(&worker->catalog.plans, cached, cached->plan->chunk_count * (int64_t)sizeof *cached->packing);
    }
    dcli_packing *packing = &cached->packing[number];
    dcl_status status = DCL_OK;
    if (!packing->ready) {
        dcli_watch_activity(worker->terms.watch, DCLI_PLANNING, "the packing of what is sent");
        const dcli_traits traits = dcli_exec_traits(worker);
        status = dcli_routes_of_chunk(&entry->operation, cached->plan, chunk, &traits, &packing->routes);
        dcli_watch_activity(worker->terms.watch, DCLI_PLANNING, NULL);
        if (status == DCL_OK)
            dcli_plans_add(&worker->catalog.plans, cached, dcli_routes_bytes(&packing->routes));
    }
    packing->ready = status == DCL_OK;
    if (status == DCL_OK)
        *routes_out = &packing->routes;
    else
        dcli_routes_free(&packing->routes);
    return status;
}

static dcl_status pack_in_place(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, int64_t number,
                                const dcli_routes *routes, void **bytes_out)
{
    const dcli_chunk *chunk = &plan->chunk[number];
    char *bytes = dcli_buffers_take(worker->terms.buffers, (size_t)chunk->bytes);
    if (bytes == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = routes != NULL ? dcli_routes_give(worker, entry, routes, (int)number, NULL, bytes)
                                       : copy_items(worker->as_node->device, entry, plan, chunk, bytes);
    if (status != DCL_OK)
        dcli_buffers_give(bytes);
    else
        *bytes_out = bytes;
    return status;
}

/* Take a slot for a chunk: its host memory is the message's payload if that is pinned for the device; else it is the
 * slot's own, from which the chunk is lent or copied. */
static dcl_status take_slot(dcli_worker *worker, int peer, size_t bytes, dcli_slot **slot_out)
{
    void *payload = dcli_pinned_take(worker, peer, bytes);
    if (payload == NULL)
        return dcli_slot_take(worker->as_node->device, bytes, slot_out);
    dcl_status status = dcli_slot_take_over(worker->as_node->device, payload, bytes, dcli_buffers_give, slot_out);
    if (status != DCL_OK)
        dcli_buffers_give(payload);
    return status;
}

static dcl_status start_packing(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number,
                                const dcli_routes *routes, dcli_slot **slot_out)
{
    size_t bytes = (size_t)dcli_entry_plan(entry, peer)->plan->chunk[number].bytes;
    dcli_slot *slot = NULL;
    dcl_status status = take_slot(worker, peer, bytes, &slot);
    if (status == DCL_OK)
        status = dcli_routes_fetch(worker, entry, routes, (int)number, NULL, slot, bytes);
    if (status != DCL_OK)
        dcli_slot_give(slot);
    else
        *slot_out = slot;
    return status;
}

dcl_status dcli_exec_pack(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number, void **bytes_out,
                          dcli_slot **slot_out)
{
    const dcli_plan *plan = dcli_entry_plan(entry, peer)->plan;
    const dcli_routes *routes;
    dcl_status status = allocate_parts(worker, entry, plan, &plan->chunk[number]);
    if (status == DCL_OK)
        status = find_packing(worker, entry, peer, number, &routes);
    worker->counters.bytes_copied += plan->chunk[number].bytes;
    if (status != DCL_OK)
        return status;
    return dcli_device_in_place(worker->as_node->device) ? pack_in_place(worker, entry, plan, number, routes, bytes_out)
                                                         : start_packing(worker, entry, peer, number, routes, slot_out);
}

dcl_status dcli_exec_payload(const dcli_job *job, const dcli_chunk *chunk, dcli_stored_chunk **kept_out,
                             const char **payload_out)
{
    dcli_stored_chunk *cached = *kept_out =
        dcli_chunks_find(job->received, chunk->peer, job->entry->operation.number, false, chunk->number);
    if (cached != NULL && cached->problem != NULL)
        return DCLI_FAIL(DCL_ERR_NOMEM, "%s", cached->problem);
    *payload_out =
        cached != NULL && cached->received.payload_bytes == (size_t)chunk->bytes ? cached->received.payload : NULL;
    return DCL_OK;
}

dcl_status dcli_exec_commit(dcli_worker *worker, dcli_entry *entry, int peer, int64_t number,
                            dcli_stored_chunk *received)
{
    const dcli_plan *plan = dcli_entry_plan(entry, peer)->plan;
    const dcli_chunk *chunk = &plan->chunk[number];
    const dcli_routes *routes;
    if (received != NULL && received->problem != NULL)
        return DCLI_FAIL(DCL_ERR_NOMEM, "%s", received->problem);
    if (received != NULL && received->received.payload_missing)
        return DCLI_FAIL(DCL_ERR_NOMEM, "elements of operation %" PRId64 " from node %d are not there: " DCLI_NO_ROOM,
                         entry->operation.number, chunk->peer);
    if (received == NULL || received->received.payload_bytes != (size_t)chunk->bytes)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "a chunk of operation %" PRId64 " has %zu bytes; expected %" PRId64,
                         entry->operation.number, received != NULL ? received->received.payload_bytes : 0,
                         chunk->bytes);
    dcl_status status = allocate_parts(worker, entry, plan, chunk);
    if (status == DCL_OK)
        status = find_packing(worker, entry, peer, number, &routes);
    if (status == DCL_OK && routes == NULL)
        status = copy_items(worker->as_node->device, entry, plan, chunk, (void *)(uintptr_t)received->received.payload);
    else if (status == DCL_OK)
        for (int64_t r = 0; r < routes->count && status == DCL_OK; r++)
            status = dcli_routes_take(worker, entry, &routes->route[r], entry->held[routes->route[r].operand]->memory,
                                      received->received.payload, received);
    worker->counters.bytes_copied += chunk->bytes;
    return status;
}
