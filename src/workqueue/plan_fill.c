/* workqueue/plan_fill.c - finds for each stage the pieces to copy into it (from own parts, peers' parts, chunks and
 * replicas), and for each output stage the pieces to copy out. */
#include "base/alloc.h"
#include "workqueue/plan_view.h"

static dcl_status add_piece(dcli_builder *builder, int kind, int where, const dcli_region *region, int64_t byte_offset)
{
    if (builder->terms->streams)
        return DCL_OK;
    dcli_piece *piece = dcli_builder_piece(builder);
    if (piece == NULL)
        return DCL_ERR_NOMEM;
    *piece = (dcli_piece){.kind = kind, .where = where, .region = *region, .byte_offset = byte_offset};
    return DCL_OK;
}

/* Add the pieces of a box that lie in a node's part. */
static dcl_status pieces_of_part(dcli_builder *builder, int k, int node, const dcl_box *box)
{
    int kind = node == builder->self ? DCLI_SPACE_OWN : DCLI_SPACE_PEER;
    dcl_status status = dcli_builder_regions(builder, k, node, box);
    for (int64_t r = 0; r < builder->regions.count && status == DCL_OK; r++)
        status = add_piece(builder, kind, node, &builder->regions.region[r], 0);
    return status;
}

/* Add the pieces of a box that lie in parts of the array: in the own part, and, if `peers`, in parts that are read in
 * place. */
static dcl_status pieces_of_parts(dcli_builder *builder, int k, const dcl_box *box, bool peers)
{
    const dcli_layout *layout = builder->operation->operand[k].layout;
    if (builder->terms->streams)
        return DCL_OK;
    if (!peers)
        return pieces_of_part(builder, k, builder->self, box);
    dcl_status status = dcli_layout_owners(layout, box, &builder->owners);
    for (int64_t n = 0; n < builder->owners.count && status == DCL_OK; n++) {
        int p = builder->owners.node[n];
        if (p == builder->self || dcli_reads_part(builder, p))
            status = pieces_of_part(builder, k, p, box);
    }
    return status;
}

static dcl_status piece_of_item(dcli_builder *builder, int64_t i, const dcl_box *box)
{
    dcli_plan *plan = builder->plan;
    dcli_item *item = &plan->item[i];
    if (!dcli_box_may_meet(&item->region.box, box))
        return DCL_OK;
    dcli_region packed = dcli_region_packed(&item->region.box, 0), common;
    if (!dcli_region_cut(&packed, box, &common))
        return DCL_OK;
    dcli_chunk *chunk = &plan->chunk[item->chunk];
    chunk->last_batch = plan->batch_count - 1;
    return add_piece(builder, DCLI_SPACE_CHUNK, (int)item->chunk, &common, item->byte_offset);
}

/* The items of this batch, grouped by the stage for which they were requested: linked lists through `next`, one set of
 * lists per direction. */
struct chains {
    int64_t first_stage, first_item;
    int64_t *head[2], *next;
};

/* Enter received item i into the set of arrived boxes of its operand, for operands whose elements may be used by
 * several stages. */
static dcl_status note_arrival(dcli_builder *builder, int64_t i)
{
    const dcli_item *item = &builder->plan->item[i];
    dcli_seen *seen = &builder->seen[item->operand];
    int64_t count = seen->arrived.boxes.count;
    if (seen->unique || builder->plan->chunk[item->chunk].written)
        return DCL_OK;
    if (dcli_grow(&seen->item, count, &seen->item_capacity, sizeof *seen->item) != 0)
        return DCL_ERR_NOMEM;
    seen->item[count] = i;
    return dcli_box_set_put(&seen->arrived, &item->region.box);
}

static dcl_status note_arrivals(dcli_builder *builder)
{
    dcl_status status = DCL_OK;
    for (; builder->items_noted < builder->plan->item_count && status == DCL_OK; builder->items_noted++)
        status = note_arrival(builder, builder->items_noted);
    return status;
}

static dcl_status make_chains(dcli_builder *builder, struct chains *chains)
{
    dcli_plan *plan = builder->plan;
    const dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    int64_t stages = plan->stage_count - batch->first_stage;
    *chains = (struct chains){.first_stage = batch->first_stage, .first_item = plan->item_count};
    if (batch->first_chunk < plan->chunk_count)
        chains->first_item = plan->chunk[batch->first_chunk].first_item;
    for (int w = 0; w < 2; w++) {
        chains->head[w] = dcli_malloc((size_t)stages * sizeof(int64_t));
        if (chains->head[w] == NULL)
            return DCL_ERR_NOMEM;
        for (int64_t s = 0; s < stages; s++)
            chains->head[w][s] = -1;
    }
    chains->next = dcli_malloc((size_t)(plan->item_count - chains->first_item) * sizeof(int64_t));
    if (chains->next == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t i = plan->item_count - 1; i >= chains->first_item; i--) {
        if (builder->item_stage[i] < 0)
            continue;
        int64_t *head =
            &chains->head[plan->chunk[plan->item[i].chunk].written][builder->item_stage[i] - batch->first_stage];
        chains->next[i - chains->first_item] = *head;
        *head = i;
    }
    return DCL_OK;
}

static void free_chains(struct chains *chains)
{
    dcli_free(chains->head[0]);
    dcli_free(chains->head[1]);
    dcli_free(chains->next);
}

static dcl_status chained_pieces(dcli_builder *builder, const struct chains *chains, int written, const dcli_want *want)
{
    dcl_status status = DCL_OK;
    for (int64_t i = chains->head[written][want->stage - chains->first_stage]; i >= 0 && status == DCL_OK;
         i = chains->next[i - chains->first_item])
        status = piece_of_item(builder, i, &want->box);
    return status;
}

/* Add the pieces of a footprint that earlier or current items of this array contain: all items received so far are
 * searched. */
static dcl_status searched_pieces(dcli_builder *builder, int k, const dcl_box *box)
{
    const dcli_seen *seen = &builder->seen[k];
    dcl_status status = DCL_OK;
    for (int64_t n = dcli_box_set_next(&seen->arrived, box, 0); n < seen->arrived.boxes.count && status == DCL_OK;
         n = dcli_box_set_next(&seen->arrived, box, n + 1))
        status = piece_of_item(builder, seen->item[n], box);
    return status;
}

static dcl_status pieces_of_box(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    int k = builder->plan->stage[want->stage].operand;
    dcl_status status = pieces_of_parts(builder, k, &want->box, dcli_reads_parts(builder));
    if (status != DCL_OK)
        return status;
    return builder->seen[k].unique ? chained_pieces(builder, chains, 0, want) : searched_pieces(builder, k, &want->box);
}

/* Add the piece for a box that a replica contains. */
static dcl_status piece_of_copy(dcli_builder *builder, int k, const dcli_source *source, const dcl_box *box)
{
    dcl_box there = *box;
    dcli_region whole = dcli_region_padded(&source->box, 0, dcli_builder_bytes(builder, k)), region;
    int64_t stage;
    dcl_status status = dcli_name_copy(builder, k, &source->box, &stage);
    dcli_box_move(&there, source->image.shift, 1);
    if (status != DCL_OK || !dcli_region_cut(&whole, &there, &region))
        return status;
    dcli_box_move(&region.box, source->image.shift, -1);
    return add_piece(builder, DCLI_SPACE_REPLICA, (int)stage, &region, 0);
}

/* Add the pieces of some boxes that a replica contains, and remove them from the list `boxes`. */
static dcl_status take_from_copy(dcli_builder *builder, int k, const dcli_source *source, dcli_box_list *boxes)
{
    dcli_box_list left = {0};
    dcl_box common;
    dcl_status status = DCL_OK;
    int64_t first = 0;
    while (first < boxes->count && !dcli_box_intersect(&source->image.box, &boxes->box[first], &common))
        first++;
    if (first == boxes->count)
        return DCL_OK;
    for (int64_t b = 0; b < boxes->count && status == DCL_OK; b++) {
        if (!dcli_box_intersect(&source->image.box, &boxes->box[b], &common)) {
            status = dcli_box_list_add(&left, &boxes->box[b]);
            continue;
        }
        status = piece_of_copy(builder, k, source, &common);
        if (status == DCL_OK)
            status = dcli_box_subtract(&boxes->box[b], &common, &left);
    }
    dcli_box_list_free(boxes);
    *boxes = left;
    return status;
}

/* Add the pieces of a wanted box: from replicas what they contain, then the rest from parts and chunks. The replicas
 * are visited in a loop, not by recursion: there may be a thousand, and the program's threads may have small stacks. */
static dcl_status pieces_of_copies(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    int k = builder->plan->stage[want->stage].operand;
    dcli_box_list boxes = {0};
    dcl_status status = dcli_box_list_add(&boxes, &want->box);
    for (int64_t c = 0; c < want->sources && boxes.count > 0 && status == DCL_OK; c++)
        if (builder->source[c].operand == k)
            status = take_from_copy(builder, k, &builder->source[c], &boxes);
    for (int64_t b = 0; b < boxes.count && status == DCL_OK; b++) {
        dcli_want part = *want;
        part.box = boxes.box[b];
        status = pieces_of_box(builder, chains, &part);
    }
    dcli_box_list_free(&boxes);
    return status;
}

static dcl_status pieces_in(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    int k = builder->plan->stage[want->stage].operand;
    return dcli_has_copies(builder, k) ? pieces_of_copies(builder, chains, want) : pieces_of_box(builder, chains, want);
}

static dcl_status pieces_out(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    int k = builder->plan->stage[want->stage].operand;
    dcl_status status = pieces_of_parts(builder, k, &want->box, false);
    return status == DCL_OK ? chained_pieces(builder, chains, 1, want) : status;
}

/* Whether the pieces of a wanted box, from number first_piece on, leave out some of its elements: those that are stored
 * nowhere. */
static bool leave_holes(const dcli_builder *builder, int64_t first_piece, const dcli_want *want)
{
    const dcli_plan *plan = builder->plan;
    if (!builder->operation->operand[plan->stage[want->stage].operand].layout->partial)
        return false;
    int64_t missing = dcli_box_elements(&want->box);
    for (int64_t p = first_piece; p < plan->piece_count; p++)
        missing -= dcli_box_elements(&plan->piece[p].region.box);
    return missing > 0;
}

/* Add all pieces to copy in for one want. A box beyond a periodic axis is searched for by its images; the boxes of the
 * pieces are then shifted back to the indices of the stage, their offsets stay. */
static dcl_status fill_stage(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    dcli_plan *plan = builder->plan;
    const dcl_grid *grid = &builder->operation->operand[plan->stage[want->stage].operand].layout->grid;
    int64_t first_piece = plan->piece_count;
    dcli_want part = *want;
    dcli_image image;
    dcl_status status = DCL_OK;
    for (int next = 0; status == DCL_OK && dcli_image_next(&want->box, grid, &next, &image);) {
        int64_t first = plan->piece_count;
        part.box = image.box;
        status = pieces_in(builder, chains, &part);
        for (int64_t p = first; p < plan->piece_count; p++)
            dcli_box_move(&plan->piece[p].region.box, image.shift, 1);
    }
    if (status == DCL_OK && !builder->terms->streams && leave_holes(builder, first_piece, want))
        builder->plan->stage[want->stage].fill_first = true;
    return status;
}

/* With terms->streams: for each chunk, find the last batch that reads it, without adding pieces. If the elements of an
 * array may be needed by several batches, later batches may read a chunk, too; otherwise only the batch that requested
 * it does. */
static dcl_status find_last_readers(dcli_builder *builder)
{
    dcl_status status = DCL_OK;
    for (int64_t w = 0; w < builder->want_count && status == DCL_OK; w++) {
        const dcli_want *want = &builder->want[w];
        if (want->content && !builder->seen[builder->plan->stage[want->stage].operand].unique)
            status = fill_stage(builder, NULL, want);
    }
    return status;
}

/* The wants of one stage are neighbours in the list. For each stage, first all pieces that are copied in are added,
 * then all that are copied out. */
dcl_status dcli_fill_stages(dcli_builder *builder)
{
    struct chains chains = {0};
    dcli_plan *plan = builder->plan;
    if (builder->want_count == 0)
        return DCL_OK;
    dcl_status status = note_arrivals(builder);
    if (builder->terms->streams) {
        status = status == DCL_OK ? find_last_readers(builder) : status;
        builder->want_count = 0;
        return status;
    }
    if (status == DCL_OK)
        status = make_chains(builder, &chains);
    for (int64_t first = 0, end; first < builder->want_count && status == DCL_OK; first = end) {
        int64_t s = builder->want[first].stage;
        plan->stage[s].first_in = plan->piece_count;
        for (end = first; end < builder->want_count && builder->want[end].stage == s; end++)
            if (builder->want[end].content && status == DCL_OK)
                status = fill_stage(builder, &chains, &builder->want[end]);
        plan->stage[s].in_count = plan->piece_count - plan->stage[s].first_in;
        plan->stage[s].first_out = plan->piece_count;
        for (int64_t w = first; w < end && status == DCL_OK; w++)
            if (builder->want[w].written)
                status = pieces_out(builder, &chains, &builder->want[w]);
        plan->stage[s].out_count = plan->piece_count - plan->stage[s].first_out;
    }
    free_chains(&chains);
    builder->want_count = 0;
    return status;
}
