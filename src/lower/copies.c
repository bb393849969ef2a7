/* lower/copies.c - what a batch copies into its stages and out of them. The stages of small boxes lie one behind the other,
 * and so, often, do the elements that go there: as patterns they are copied in a few long loops. */
#include "lower/copies.h"

#include "base/alloc.h"
#include "base/check.h"
#include "segment/join.h"

/* Axes beside those of an array: for pieces that lie evenly apart and, where launches cost more than loops that are uneven, for
 * the blocks that these lie in. */
enum { SPARE_AXES = 2, SPARE_AXES_SEPARATE = 4 };

static int rank_for(const dcli_traits *traits, const dcli_operation *operation, int operand)
{
    int spare = traits->in_place ? SPARE_AXES : SPARE_AXES_SEPARATE;
    return (int)dcli_min(operation->operand[operand].layout->grid.rank + spare, DCL_MAX_RANK);
}

static int record_length(int rank) { return rank + 2 * (1 + rank); }

/* ---- records ------------------------------------------------------------------------------------------------------ */

dcli_copies *dcli_copies_for(const dcli_traits *traits, const dcli_operation *operation, dcli_copies_list *list,
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
                            .rank = rank_for(traits, operation, like->operand),
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

dcl_status dcli_copies_join(const dcli_traits *traits, dcli_copies_list *list, bool by_near)
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
                                                     .pairs = !traits->in_place},
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

void dcli_copies_regions(const dcli_copies *copies, int64_t r, int64_t shift, dcli_region *near_out,
                         dcli_region *other_out)
{
    int rank = copies->rank;
    const int64_t *record = copies->record + r * record_length(rank);
    *near_out = region_of(rank, record, record + rank);
    *other_out = region_of(rank, record, record + rank + 1 + rank);
    other_out->offset += shift;
}

void dcli_copies_free(dcli_copies_list *list)
{
    for (int64_t c = 0; c < list->count; c++)
        dcli_free(list->copies[c].record);
    dcli_free(list->copies);
    *list = (dcli_copies_list){0};
}

int64_t dcli_copies_bytes(const dcli_copies_list *list)
{
    int64_t bytes = list->capacity * (int64_t)sizeof *list->copies;
    for (int64_t c = 0; c < list->count; c++)
        bytes += list->copies[c].capacity * (int64_t)sizeof(int64_t) * record_length(list->copies[c].rank);
    return bytes;
}

/* ---- of a batch --------------------------------------------------------------------------------------------------- */

dcli_region dcli_stage_region(const dcli_operation *operation, const dcli_stage *stage, int64_t at, const dcl_box *box)
{
    dcli_region whole = dcli_region_packed(&stage->box, at / (int64_t)dcli_element_bytes(operation, stage->operand)),
                part;
    dcli_region_cut(&whole, box, &part);
    return part;
}

bool dcli_copies_have(const dcli_stage *stage, const dcli_piece *piece)
{
    return stage->kept == DCLI_STAGE_PASSING && !stage->rest && piece->kind != DCLI_SPACE_REPLICA;
}

/* Where a piece lies in its place. */
static dcli_region place_of(const dcli_operation *operation, const dcli_stage *stage, const dcli_piece *piece)
{
    dcli_region place = piece->region;
    if (piece->kind == DCLI_SPACE_CHUNK) /* all in a chunk is aligned to 8 */
        place.offset += piece->byte_offset / (int64_t)dcli_element_bytes(operation, stage->operand);
    return place;
}

dcl_status dcli_copies_add_piece(const dcli_traits *traits, const dcli_operation *operation, const dcli_stage *stage,
                                 int64_t at, const dcli_piece *piece, bool out, dcli_copies_list *list)
{
    dcli_copies *copies = dcli_copies_for(
        traits, operation, list,
        &(dcli_copies){.out = out, .operand = stage->operand, .kind = piece->kind, .where = piece->where});
    if (copies == NULL)
        return DCL_ERR_NOMEM;
    dcli_region near = dcli_stage_region(operation, stage, at, &piece->region.box),
                other = place_of(operation, stage, piece);
    return dcli_copies_add(copies, &near, &other);
}

dcl_status dcli_copies_prepare(const dcli_traits *traits, const dcli_operation *operation, const dcli_plan *plan,
                               const dcli_batch *batch, dcli_lowered *lowered)
{
    dcl_status status = DCL_OK;
    for (int64_t s = 0; s < batch->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[batch->first_stage + s];
        int64_t at = lowered->stage_at[s];
        if (at < 0)
            continue; /* gathered where it is used */
        for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && status == DCL_OK; p++)
            if (dcli_copies_have(stage, &plan->piece[p]))
                status = dcli_copies_add_piece(traits, operation, stage, at, &plan->piece[p], false, &lowered->copies);
        for (int64_t p = stage->first_out; p < stage->first_out + stage->out_count && status == DCL_OK; p++)
            status = dcli_copies_add_piece(traits, operation, stage, at, &plan->piece[p], true, &lowered->copies);
    }
    return status == DCL_OK ? dcli_copies_join(traits, &lowered->copies, true) : status;
}

dcl_status dcli_copies_of_chunk(const dcli_traits *traits, const dcli_operation *operation, const dcli_plan *plan,
                                const dcli_chunk *chunk, dcli_copies_list *list)
{
    int where = (int)(chunk - plan->chunk);
    dcl_status status = DCL_OK;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++) {
        const dcli_item found = dcli_plan_item(plan, i), *item = &found;
        int64_t at = item->byte_offset / (int64_t)dcli_element_bytes(operation, item->operand); /* aligned to 8 */
        dcli_region packed = dcli_region_packed(&item->region.box, at);
        dcli_copies *copies = dcli_copies_for(
            traits, operation, list,
            &(dcli_copies){.out = !chunk->written, .operand = item->operand, .kind = DCLI_SPACE_CHUNK, .where = where});
        status = copies != NULL ? dcli_copies_add(copies, &item->region, &packed) : DCL_ERR_NOMEM;
    }
    return status == DCL_OK ? dcli_copies_join(traits, list, false) : status;
}
