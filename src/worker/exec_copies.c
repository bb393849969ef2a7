/* worker/exec_copies.c - what a batch copies into its stages from own and peers' parts. The stages of small boxes lie one
 * behind the other, and so, often, do the elements that go there: as patterns they are copied in a few long loops. */
#include "worker/exec_copies.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "segment/join.h"

enum { SPARE_AXES = 2 }; /* beside those of an array, for pieces that lie evenly apart */

/* A record: count[rank]; of the stages' memory offset and step[rank]; the same of the part. */
static int rank_of(const dcli_entry *entry, int operand)
{
    int rank = entry->operation.operand[operand].layout->grid.rank;
    return (int)dcli_min(rank + SPARE_AXES, DCL_MAX_RANK);
}

static int record_length(int rank) { return rank + 2 * (1 + rank); }

bool dcli_copies_have(const dcli_stage *stage, const dcli_piece *piece)
{
    return stage->kept == DCLI_STAGE_PASSING && !stage->rest &&
           (piece->kind == DCLI_BIND_OWN || piece->kind == DCLI_BIND_PEER);
}

static dcli_copies *copies_for(dcli_prepared *prepared, int operand, const dcli_piece *piece)
{
    for (int64_t c = prepared->copies_count - 1; c >= 0; c--) {
        dcli_copies *copies = &prepared->copies[c];
        if (copies->operand == operand && copies->kind == piece->kind && copies->where == piece->where)
            return copies;
    }
    if (dcli_grow(&prepared->copies, prepared->copies_count, &prepared->copies_capacity, sizeof *prepared->copies) != 0)
        return NULL;
    dcli_copies *copies = &prepared->copies[prepared->copies_count++];
    *copies = (dcli_copies){.operand = operand, .kind = piece->kind, .where = piece->where};
    return copies;
}

static void fill_place(const dcli_region *region, int rank, int64_t place[])
{
    place[0] = region->offset;
    for (int d = 0; d < rank; d++)
        place[1 + d] = d < region->box.rank ? region->step[d] : 0;
}

static dcl_status add_piece(const dcli_entry *entry, const dcli_stage *stage, int64_t at, const dcli_piece *piece,
                            dcli_prepared *prepared)
{
    dcli_copies *copies = copies_for(prepared, stage->operand, piece);
    int rank = rank_of(entry, stage->operand);
    size_t bytes = (size_t)record_length(rank) * sizeof(int64_t);
    if (copies == NULL || dcli_grow(&copies->record, copies->count, &copies->capacity, bytes) != 0)
        return DCL_ERR_NOMEM;
    int64_t *record = copies->record + copies->count++ * record_length(rank);
    dcli_region target = dcli_exec_in_arena(entry, stage, at, &piece->region.box);
    for (int d = 0; d < rank; d++)
        record[d] = d < target.box.rank ? target.box.count[d] : 1;
    fill_place(&target, rank, record + rank);
    fill_place(&piece->region, rank, record + rank + 1 + rank);
    return DCL_OK;
}

dcl_status dcli_copies_prepare(const dcli_entry *entry, const dcli_plan *plan, const dcli_batch *batch,
                               dcli_prepared *prepared)
{
    dcl_status status = DCL_OK;
    for (int64_t s = 0; s < batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[batch->first_stage + s];
        if (prepared->stage_at[s] < 0)
            continue; /* gathered where it is used */
        for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && status == DCL_OK; p++)
            if (dcli_copies_have(stage, &plan->piece[p]))
                status = add_piece(entry, stage, prepared->stage_at[s], &plan->piece[p], prepared);
    }
    for (int64_t c = 0; c < prepared->copies_count && status == DCL_OK; c++) {
        dcli_copies *copies = &prepared->copies[c];
        int rank = rank_of(entry, copies->operand);
        status = dcli_patterns_join(
            &(dcli_patterns){
                .rank = rank, .places = 2, .length = record_length(rank), .at = (int[]){rank, rank + 1 + rank}},
            copies->record, &copies->count);
    }
    return status;
}

static dcli_region region_of(int rank, const int64_t count[], const int64_t place[])
{
    dcli_region region = {.box.rank = rank, .offset = place[0]};
    for (int d = 0; d < rank; d++) {
        region.box.count[d] = count[d];
        region.box.stride[d] = 1;
        region.step[d] = place[1 + d];
    }
    return region;
}

static dcl_status run_copies(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies,
                             dcli_memory *arena)
{
    const dcli_held *held = entry->held[copies->operand];
    const void *peer = NULL;
    size_t bytes = dcli_operand_bytes(entry, copies->operand);
    int rank = rank_of(entry, copies->operand);
    if (copies->kind == DCLI_BIND_PEER) {
        peer = dcli_board_get(worker->terms.board, held->id, copies->where, dcli_held_bytes(held, copies->where));
        if (peer == NULL)
            return DCLI_FAIL(DCL_ERR_INTERNAL, "elements of operation %" PRId64 " from node %d are not there",
                             entry->operation.number, copies->where);
    }
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < copies->count && status == DCL_OK; r++) {
        const int64_t *record = copies->record + r * record_length(rank);
        dcli_region target = region_of(rank, record, record + rank);
        dcli_region source = region_of(rank, record, record + rank + 1 + rank);
        worker->counters.bytes_copied += dcli_box_elements(&target.box) * (int64_t)bytes;
        status = peer != NULL ? dcli_store_unpack(worker->device, arena, &target, peer, &source, bytes)
                              : dcli_store_copy(worker->device, arena, &target, held->memory, &source, bytes);
    }
    return status;
}

dcl_status dcli_copies_run(dcli_worker *worker, const dcli_entry *entry, const dcli_prepared *prepared,
                           dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < prepared->copies_count && status == DCL_OK; c++)
        status = run_copies(worker, entry, &prepared->copies[c], arena);
    return status;
}
