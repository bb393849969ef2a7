/* worker/exec_copies.c - carrying out copies: lower/copies.h. */
#include "worker/exec_copies.h"

#include <inttypes.h>

#include "base/error.h"

/* ---- between the device's memory and other memory ----------------------------------------------------------------- */

/* The device copies, within its memory. @param other_offset  where there the other place's element 0 would be. */
static dcl_status copy_on_device(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies,
                                 dcli_memory *near, dcli_memory *other, int64_t other_offset)
{
    size_t bytes = dcli_operand_bytes(entry, copies->operand);
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < copies->count && status == DCL_OK; r++) {
        dcli_region a, b;
        dcli_copies_regions(copies, r, other_offset, &a, &b);
        status = copies->out ? dcli_store_copy(worker->device, other, &b, near, &a, bytes)
                             : dcli_store_copy(worker->device, near, &a, other, &b, bytes);
    }
    return status;
}

/* The host copies, or each record crosses alone. */
static dcl_status copy_with_host(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies,
                                 dcli_memory *near, const char *from, char *to)
{
    size_t bytes = dcli_operand_bytes(entry, copies->operand);
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < copies->count && status == DCL_OK; r++) {
        dcli_region a, b;
        dcli_copies_regions(copies, r, 0, &a, &b);
        status = copies->out ? dcli_store_pack(worker->device, near, &a, to, &b, bytes)
                             : dcli_store_unpack(worker->device, near, &a, from, &b, bytes);
    }
    return status;
}

dcl_status dcli_copies_take(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies, dcli_memory *near,
                            const char *host)
{
    if (dcli_device_in_place(worker->device) || copies->kind != DCLI_SPACE_CHUNK || copies->count <= 1)
        return copy_with_host(worker, entry, copies, near, host, NULL);
    size_t bytes = dcli_operand_bytes(entry, copies->operand), crossing = (size_t)(copies->hi - copies->lo) * bytes;
    dcli_memory *scratch;
    void *unused;
    dcl_status status = dcli_device_staging(worker->device, crossing, &scratch, &unused);
    if (status == DCL_OK)
        status = dcli_memory_put(scratch, 0, host + copies->lo * (int64_t)bytes, crossing);
    return status == DCL_OK ? copy_on_device(worker, entry, copies, near, scratch, -copies->lo) : status;
}

dcl_status dcli_copies_give(dcli_worker *worker, const dcli_entry *entry, const dcli_copies_list *list, int where,
                            dcli_memory *near, char *host, size_t count)
{
    int64_t records = 0;
    dcli_memory *scratch = NULL;
    void *unused;
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < list->count; c++)
        if (list->copies[c].out && list->copies[c].kind == DCLI_SPACE_CHUNK && list->copies[c].where == where)
            records += list->copies[c].count;
    if (records > 1 && !dcli_device_in_place(worker->device))
        status = dcli_device_staging(worker->device, count, &scratch, &unused);
    for (int64_t c = 0; c < list->count && status == DCL_OK; c++) {
        const dcli_copies *copies = &list->copies[c];
        if (!copies->out || copies->kind != DCLI_SPACE_CHUNK || copies->where != where)
            continue;
        dcli_memory *memory = near != NULL ? near : entry->held[copies->operand]->memory;
        status = scratch != NULL ? copy_on_device(worker, entry, copies, memory, scratch, 0)
                                 : copy_with_host(worker, entry, copies, memory, NULL, host);
    }
    return status == DCL_OK && scratch != NULL ? dcli_memory_get(scratch, 0, host, count) : status;
}

/* ---- of a batch --------------------------------------------------------------------------------------------------- */

/* What a stage takes from a peer: in its part, or in a chunk that has come. */
static dcl_status find_source(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                              const dcli_copies *copies, const char **source_out)
{
    const dcli_held *held = entry->held[copies->operand];
    bool in_place = copies->kind == DCLI_SPACE_PEER;
    if (in_place) {
        *source_out =
            dcli_board_get(worker->terms.board, held->id, copies->where, dcli_held_bytes(held, copies->where));
    } else {
        dcl_status status = dcli_exec_payload(worker, entry, &plan->chunk[copies->where], source_out);
        if (status != DCL_OK)
            return status;
    }
    if (*source_out != NULL)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_NOMEM, "elements of operation %" PRId64 " are not there, %s %d: " DCLI_NO_ROOM,
                     entry->operation.number, in_place ? "the part of node" : "chunk", copies->where);
}

dcl_status dcli_copies_run(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                           const dcli_copies_list *list, dcli_memory *near)
{
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < list->count && status == DCL_OK; c++) {
        const dcli_copies *copies = &list->copies[c];
        if (copies->out)
            continue;
        worker->counters.bytes_copied += copies->elements * (int64_t)dcli_operand_bytes(entry, copies->operand);
        if (copies->kind == DCLI_SPACE_OWN) {
            status = copy_on_device(worker, entry, copies, near, entry->held[copies->operand]->memory, 0);
            continue;
        }
        const char *source;
        status = find_source(worker, entry, plan, copies, &source);
        if (status == DCL_OK)
            status = dcli_copies_take(worker, entry, copies, near, source);
    }
    return status;
}

dcl_status dcli_copies_pass(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch, const dcli_lowered *lowered, dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < lowered->copies.count && status == DCL_OK; c++) {
        const dcli_copies *copies = &lowered->copies.copies[c];
        if (!copies->out)
            continue;
        worker->counters.bytes_copied += copies->elements * (int64_t)dcli_operand_bytes(entry, copies->operand);
        if (copies->kind == DCLI_SPACE_OWN)
            status = copy_on_device(worker, entry, copies, arena, entry->held[copies->operand]->memory, 0);
    }
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count && status == DCL_OK; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        const dcli_kept_chunk *made = dcli_chunks_find(&worker->made, chunk->peer, entry->operation.number, true, c);
        status = dcli_copies_give(worker, entry, &lowered->copies, (int)c, arena, made->bytes, (size_t)chunk->bytes);
    }
    return status;
}
