/* worker/exec_stage.c - stages of a batch filled: from own parts, from those of others, from chunks, from copies. */
#include <inttypes.h>

#include "base/error.h"
#include "worker/exec_copies.h"
#include "worker/exec_prepare.h"

dcl_status dcli_exec_copy(dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage, dcli_memory **out)
{
    dcli_copy_memory *copy =
        dcli_replicas_find(&worker->catalog.replicas, &entry->operation, stage->operand, &stage->box);
    if (copy != NULL && copy->memory == NULL && stage->kept == DCLI_STAGE_KEEP) {
        size_t bytes = (size_t)stage->elements * dcli_operand_bytes(entry, stage->operand);
        dcl_status status = dcli_exec_create(worker, bytes, "a copy of other nodes' elements", false, &copy->memory);
        if (status != DCL_OK)
            return status;
    }
    if (copy == NULL || copy->memory == NULL || (stage->kept == DCLI_STAGE_KEPT && !copy->filled))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a kept copy of %s is not there: the operation that should have made it failed; call again "
                         "once that error is known",
                         entry->kernel != NULL ? entry->kernel->body->params[stage->operand].name : "the array");
    *out = copy->memory;
    return DCL_OK;
}

static dcl_status copy_in(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, const dcli_stage *stage,
                          int64_t at, const dcli_piece *piece, dcli_memory *arena)
{
    size_t bytes = dcli_operand_bytes(entry, stage->operand);
    dcli_region target = dcli_stage_region(&entry->operation, stage, at, &piece->region.box);
    dcli_held *held = entry->held[stage->operand];
    if (piece->kind == DCLI_SPACE_REPLICA) {
        dcli_memory *copy = NULL;
        dcl_status status = dcli_exec_copy(worker, entry, &plan->stage[piece->where], &copy);
        worker->counters.bytes_copied += dcli_box_elements(&piece->region.box) * (int64_t)bytes;
        return status != DCL_OK ? status : dcli_store_copy(worker->device, arena, &target, copy, &piece->region, bytes);
    }
    worker->counters.bytes_copied += dcli_box_elements(&piece->region.box) * (int64_t)bytes;
    if (piece->kind == DCLI_SPACE_OWN)
        return dcli_store_copy(worker->device, arena, &target, held->memory, &piece->region, bytes);
    const char *source;
    if (piece->kind == DCLI_SPACE_PEER) {
        source = dcli_board_get(worker->terms.board, held->id, piece->where, dcli_held_bytes(held, piece->where));
    } else {
        dcl_status status = dcli_exec_payload(worker, entry, &plan->chunk[piece->where], &source);
        if (status != DCL_OK)
            return status;
        source = source != NULL ? source + piece->byte_offset : NULL;
    }
    if (source == NULL)
        return DCLI_FAIL(DCL_ERR_NOMEM, "elements of operation %" PRId64 " from node %d are not there: " DCLI_NO_ROOM,
                         entry->operation.number, piece->where);
    return dcli_store_unpack(worker->device, arena, &target, source, &piece->region, bytes);
}

static dcl_status fill_with_rest(dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage, int64_t at,
                                 dcli_memory *target)
{
    dcli_region whole = dcli_stage_region(&entry->operation, stage, at, &stage->box);
    return dcli_store_fill(worker->device, target, &whole, &entry->operation.operand[stage->operand].layout->rest,
                           dcli_operand_bytes(entry, stage->operand));
}

/* What comes from parts and chunks and is not among the copies of the batch, joined: each crossing, and each launch, costs more
 * than finding out where it is. */
static dcl_status copy_joined(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                              const dcli_stage *stage, int64_t at, dcli_memory *target)
{
    const dcli_traits traits = dcli_exec_traits(worker);
    dcli_copies_list list = {0};
    dcl_status status = DCL_OK;
    for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && status == DCL_OK; p++)
        if (plan->piece[p].kind != DCLI_SPACE_REPLICA && !dcli_copies_have(stage, &plan->piece[p]))
            status = dcli_copies_add_piece(&traits, &entry->operation, stage, at, &plan->piece[p], false, &list);
    if (status == DCL_OK)
        status = dcli_copies_join(&traits, &list, true);
    if (status == DCL_OK)
        status = dcli_copies_run(worker, entry, plan, &list, target);
    dcli_copies_free(&list);
    return status;
}

/* The pieces of a stage that are not among the copies of its batch. */
static dcl_status copy_pieces(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, const dcli_stage *stage,
                              int64_t at, dcli_memory *target)
{
    dcl_status status = DCL_OK;
    bool joined = stage->in_count > 1 && !dcli_device_in_place(worker->device);
    if (joined)
        status = copy_joined(worker, entry, plan, stage, at, target);
    for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && status == DCL_OK; p++)
        if (!dcli_copies_have(stage, &plan->piece[p]) && (!joined || plan->piece[p].kind == DCLI_SPACE_REPLICA))
            status = copy_in(worker, entry, plan, stage, at, &plan->piece[p], target);
    return status;
}

dcl_status dcli_exec_fill_stages(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, const dcli_batch *batch,
                                 const int64_t stage_at[], dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t s = 0; s < batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[batch->first_stage + s];
        int64_t at = stage_at != NULL ? stage_at[s] : 0;
        dcli_memory *target = arena;
        if (stage->kept == DCLI_STAGE_KEEP && status == DCL_OK)
            status = dcli_exec_copy(worker, entry, stage, &target);
        if (stage->rest && status == DCL_OK)
            status = fill_with_rest(worker, entry, stage, at, target);
        if (status == DCL_OK)
            status = copy_pieces(worker, entry, plan, stage, at, target);
        if (stage->kept == DCLI_STAGE_KEEP && !stage->unfinished && status == DCL_OK)
            dcli_replicas_find(&worker->catalog.replicas, &entry->operation, stage->operand, &stage->box)->filled =
                true;
    }
    return status;
}

dcl_status dcli_exec_move(dcli_worker *worker, dcli_entry *entry, int64_t batch)
{
    const dcli_plan *plan = entry->plan[worker->terms.self]->plan;
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, "copies of other nodes' elements");
    dcl_status status = dcli_exec_fill_stages(worker, entry, plan, &plan->batch[batch], NULL, NULL);
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, NULL);
    return status;
}
