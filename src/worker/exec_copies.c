/* worker/exec_copies.c - what a batch copies into its stages and out of them. The stages of small boxes lie one behind the other,
 * and so, often, do the elements that go there: as patterns they are copied in a few long loops. */
#include "worker/exec_copies.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "segment/join.h"

/* Axes beside those of an array: for pieces that lie evenly apart and, where launches cost more than loops that are uneven, for
 * the blocks that these lie in. */
enum { SPARE_AXES = 2, SPARE_AXES_SEPARATE = 4 };

static int rank_for(const dcli_worker *worker, const dcli_entry *entry, int operand)
{
    int spare = dcli_device_in_place(worker->device) ? SPARE_AXES : SPARE_AXES_SEPARATE;
    return (int)dcli_min(entry->operation.operand[operand].layout->grid.rank + spare, DCL_MAX_RANK);
}

static int record_length(int rank) { return rank + 2 * (1 + rank); }

/* ---- records ------------------------------------------------------------------------------------------------------ */

dcli_copies *dcli_copies_for(const dcli_worker *worker, const dcli_entry *entry, dcli_copies_list *list,
                             const dcli_copies *like)
{
    for (int64_t c = list->count - 1; c >= 0; c--) {
        dcli_copies *copies = &list->copies[c];
        if (copies->out == like->out && copies->operand == like->operand && copies->kind == like->kind &&
            copies->where == like->where)
            return copies;
    }
    if (dcli_grow(&list->copies, list->count, &list->capacity, sizeof *list->copies) != 0)
        return NULL;
    dcli_copies *copies = &list->copies[list->count++];
    *copies = (dcli_copies){.out = like->out,
                            .operand = like->operand,
                            .kind = like->kind,
                            .where = like->where,
                            .rank = rank_for(worker, entry, like->operand),
                            .lo = INT64_MAX};
    return copies;
}

static void fill_place(const dcli_region *region, int rank, int64_t place[])
{
    place[0] = region->offset;
    for (int d = 0; d < rank; d++)
        place[1 + d] = d < region->box.rank ? region->step[d] : 0;
}

/* Which elements of the other place are concerned. */
static void extend(dcli_copies *copies, const dcli_region *other)
{
    int64_t lo = other->offset, hi = other->offset;
    for (int d = 0; d < other->box.rank; d++)
        *(other->step[d] < 0 ? &lo : &hi) += (other->box.count[d] - 1) * other->step[d];
    copies->lo = dcli_min(copies->lo, lo);
    copies->hi = dcli_max(copies->hi, hi + 1);
}

dcl_status dcli_copies_add(dcli_copies *copies, const dcli_region *near, const dcli_region *other)
{
    int rank = copies->rank;
    size_t bytes = (size_t)record_length(rank) * sizeof(int64_t);
    if (dcli_grow(&copies->record, copies->count, &copies->capacity, bytes) != 0)
        return DCL_ERR_NOMEM;
    int64_t *record = copies->record + copies->count++ * record_length(rank);
    for (int d = 0; d < rank; d++)
        record[d] = d < near->box.rank ? near->box.count[d] : 1;
    fill_place(near, rank, record + rank);
    fill_place(other, rank, record + rank + 1 + rank);
    extend(copies, other);
    copies->elements += dcli_box_elements(&near->box);
    return DCL_OK;
}

dcl_status dcli_copies_join(const dcli_worker *worker, dcli_copies_list *list, bool by_near)
{
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < list->count && status == DCL_OK; c++) {
        dcli_copies *copies = &list->copies[c];
        int rank = copies->rank;
        status = dcli_patterns_join(&(dcli_patterns){.rank = rank,
                                                     .places = 2,
                                                     .length = record_length(rank),
                                                     .at = (int[]){rank, rank + 1 + rank},
                                                     .leading = by_near ? 0 : 1,
                                                     .pairs = !dcli_device_in_place(worker->device)},
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

/* Both sides of record r. @param shift  elements to be added to the other one's offset. */
static void find_regions(const dcli_copies *copies, int64_t r, int64_t shift, dcli_region *near_out,
                         dcli_region *other_out)
{
    int rank = copies->rank;
    const int64_t *record = copies->record + r * record_length(rank);
    *near_out = region_of(rank, record, record + rank);
    *other_out = region_of(rank, record, record + rank + 1 + rank);
    other_out->offset += shift;
}

/* ---- between the device's memory and other memory ----------------------------------------------------------------- */

/* The device copies, within its memory. @param other_offset  where there the other place's element 0 would be. */
static dcl_status copy_on_device(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies,
                                 dcli_memory *near, dcli_memory *other, int64_t other_offset)
{
    size_t bytes = dcli_operand_bytes(entry, copies->operand);
    dcl_status status = DCL_OK;
    for (int64_t r = 0; r < copies->count && status == DCL_OK; r++) {
        dcli_region a, b;
        find_regions(copies, r, other_offset, &a, &b);
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
        find_regions(copies, r, 0, &a, &b);
        status = copies->out ? dcli_store_pack(worker->device, near, &a, to, &b, bytes)
                             : dcli_store_unpack(worker->device, near, &a, from, &b, bytes);
    }
    return status;
}

dcl_status dcli_copies_take(dcli_worker *worker, const dcli_entry *entry, const dcli_copies *copies, dcli_memory *near,
                            const char *host)
{
    if (dcli_device_in_place(worker->device) || copies->kind != DCLI_PIECE_CHUNK || copies->count <= 1)
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
        if (list->copies[c].out && list->copies[c].kind == DCLI_PIECE_CHUNK && list->copies[c].where == where)
            records += list->copies[c].count;
    if (records > 1 && !dcli_device_in_place(worker->device))
        status = dcli_device_staging(worker->device, count, &scratch, &unused);
    for (int64_t c = 0; c < list->count && status == DCL_OK; c++) {
        const dcli_copies *copies = &list->copies[c];
        if (!copies->out || copies->kind != DCLI_PIECE_CHUNK || copies->where != where)
            continue;
        dcli_memory *memory = near != NULL ? near : entry->held[copies->operand]->memory;
        status = scratch != NULL ? copy_on_device(worker, entry, copies, memory, scratch, 0)
                                 : copy_with_host(worker, entry, copies, memory, NULL, host);
    }
    return status == DCL_OK && scratch != NULL ? dcli_memory_get(scratch, 0, host, count) : status;
}

/* ---- of a batch --------------------------------------------------------------------------------------------------- */

bool dcli_copies_have(const dcli_stage *stage, const dcli_piece *piece)
{
    return stage->kept == DCLI_STAGE_PASSING && !stage->rest && piece->kind != DCLI_BIND_KEPT;
}

/* Where a piece lies in its place. */
static dcli_region place_of(const dcli_entry *entry, const dcli_stage *stage, const dcli_piece *piece)
{
    dcli_region place = piece->region;
    if (piece->kind == DCLI_PIECE_CHUNK) /* all in a chunk is aligned to 8 */
        place.offset += piece->byte_offset / (int64_t)dcli_operand_bytes(entry, stage->operand);
    return place;
}

dcl_status dcli_copies_add_piece(const dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage,
                                 int64_t at, const dcli_piece *piece, bool out, dcli_copies_list *list)
{
    dcli_copies *copies = dcli_copies_for(
        worker, entry, list,
        &(dcli_copies){.out = out, .operand = stage->operand, .kind = piece->kind, .where = piece->where});
    if (copies == NULL)
        return DCL_ERR_NOMEM;
    dcli_region near = dcli_exec_in_arena(entry, stage, at, &piece->region.box), other = place_of(entry, stage, piece);
    return dcli_copies_add(copies, &near, &other);
}

dcl_status dcli_copies_prepare(const dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                               const dcli_batch *batch, dcli_prepared *prepared)
{
    dcl_status status = DCL_OK;
    for (int64_t s = 0; s < batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[batch->first_stage + s];
        int64_t at = prepared->stage_at[s];
        if (at < 0)
            continue; /* gathered where it is used */
        for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && status == DCL_OK; p++)
            if (dcli_copies_have(stage, &plan->piece[p]))
                status = dcli_copies_add_piece(worker, entry, stage, at, &plan->piece[p], false, &prepared->copies);
        for (int64_t p = stage->first_out; p < stage->first_out + stage->out_count && status == DCL_OK; p++)
            status = dcli_copies_add_piece(worker, entry, stage, at, &plan->piece[p], true, &prepared->copies);
    }
    return status == DCL_OK ? dcli_copies_join(worker, &prepared->copies, true) : status;
}

/* What a stage takes from a peer: in its part, or in a chunk that has come. */
static dcl_status find_source(dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                              const dcli_copies *copies, const char **source_out)
{
    const dcli_held *held = entry->held[copies->operand];
    bool in_place = copies->kind == DCLI_BIND_PEER;
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
        if (copies->kind == DCLI_BIND_OWN) {
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
                            const dcli_batch *batch, const dcli_prepared *prepared, dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < prepared->copies.count && status == DCL_OK; c++) {
        const dcli_copies *copies = &prepared->copies.copies[c];
        if (!copies->out)
            continue;
        worker->counters.bytes_copied += copies->elements * (int64_t)dcli_operand_bytes(entry, copies->operand);
        if (copies->kind == DCLI_BIND_OWN)
            status = copy_on_device(worker, entry, copies, arena, entry->held[copies->operand]->memory, 0);
    }
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count && status == DCL_OK; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        const dcli_kept_chunk *made = dcli_chunks_find(&worker->made, chunk->peer, entry->operation.number, true, c);
        status = dcli_copies_give(worker, entry, &prepared->copies, (int)c, arena, made->bytes, (size_t)chunk->bytes);
    }
    return status;
}
