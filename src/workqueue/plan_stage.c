/* workqueue/plan_stage.c - what a loop body moves: what is counted, what goes into stages, where it comes from. */
#include "base/alloc.h"
#include "base/check.h"
#include "segment/declared.h"
#include "workqueue/plan_detail.h"
#include "workqueue/plan_view.h"

static const dcli_layout *layout_of(const dcli_builder *builder, int k)
{
    return builder->operation->operand[k].layout;
}

/* ---- what moves -------------------------------------------------------------------------------------------------- */

void dcli_count_blocks(dcli_builder *builder)
{
    for (int k = 0; k < builder->operation->operand_count; k++)
        for (int p = 0; builder->seen[k].blocks != NULL && p < builder->terms->node_count; p++)
            builder->plan->counters.blocks_moved += builder->seen[k].blocks[p].count;
}

static dcl_status count_moved(dcli_builder *builder, int k, int peer, const dcl_box *box, int64_t bytes)
{
    dcli_seen *seen = &builder->seen[k];
    if (seen->blocks == NULL) {
        seen->blocks = dcli_calloc((size_t)builder->terms->node_count, sizeof *seen->blocks);
        if (seen->blocks == NULL)
            return DCL_ERR_NOMEM;
    }
    dcl_counters *counters = &builder->plan->counters;
    counters->bytes_moved += bytes;
    return dcli_layout_blocks(builder->operation->operand[k].layout, peer, box, &seen->blocks[peer],
                              &counters->blocks_moved);
}

/* How a box of other nodes' elements is moved. */
struct move {
    int64_t stage;
    bool written, counted, stream;
};

/* Go through what peers own of a box: count it, and where it has to be sent, note the need. */
static dcl_status move_box(dcli_builder *builder, int k, const dcl_box *box, const struct move *move)
{
    const dcli_layout *layout = layout_of(builder, k);
    dcli_layout_owners(layout, box, builder->owners);
    dcl_status status = DCL_OK;
    int end = layout->node_end;
    for (int p = dcli_next_owner(builder, 0, end); p < end && status == DCL_OK;
         p = dcli_next_owner(builder, p + 1, end)) {
        if (p == builder->self)
            continue;
        if (!move->stream)
            builder->plan->peer_read[p] = true;
        builder->regions.count = 0;
        status = dcli_layout_regions(layout, p, box, &builder->regions);
        for (int64_t r = 0; r < builder->regions.count && status == DCL_OK; r++) {
            const dcli_region *region = &builder->regions.region[r];
            int64_t bytes = dcli_box_elements(&region->box) * dcli_builder_bytes(builder, k);
            int64_t blocks = builder->plan->counters.blocks_moved;
            if (move->counted)
                status = count_moved(builder, k, p, &region->box, bytes);
            dcli_detail_moved(builder, &(dcli_detail_move){.operand = k,
                                                           .peer = p,
                                                           .bytes = bytes,
                                                           .blocks = builder->plan->counters.blocks_moved - blocks,
                                                           .written = move->written,
                                                           .counted = move->counted});
            if (status == DCL_OK && move->stream)
                status = dcli_builder_need(
                    builder,
                    &(dcli_need){
                        .written = move->written, .peer = p, .operand = k, .stage = move->stage, .region = *region});
        }
    }
    return status;
}

/* A box that is read: move what no task of this node needed before. */
static dcl_status need_box(dcli_builder *builder, int k, const dcl_box *foot, int64_t stage)
{
    dcli_seen *seen = &builder->seen[k];
    struct move move = {.stage = seen->unique ? stage : -1, .counted = true, .stream = !dcli_in_place(builder)};
    if (seen->unique)
        return move_box(builder, k, foot, &move);
    builder->fresh.count = 0;
    dcl_status status = dcli_box_set_add(&seen->set, foot, &builder->fresh);
    for (int64_t b = 0; b < builder->fresh.count && status == DCL_OK; b++)
        status = move_box(builder, k, &builder->fresh.box[b], &move);
    return status;
}

static dcl_status need_content(dcli_builder *builder, int k, const dcl_box *foot, int64_t stage)
{
    dcli_image image;
    dcl_status status = DCL_OK;
    for (int next = 0; status == DCL_OK && dcli_image_next(foot, &layout_of(builder, k)->grid, &next, &image);)
        status = need_box(builder, k, &image.box, stage);
    return status;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static dcl_status add_stage(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out)
{
    dcli_stage *stage = dcli_builder_stage(builder);
    if (stage == NULL)
        return DCL_ERR_NOMEM;
    *stage = (dcli_stage){.operand = k, .box = *box, .elements = dcli_box_elements(box)};
    *stage_out = builder->plan->stage_count - 1;
    return DCL_OK;
}

/* A recent stage of this batch with the same contents, or -1. Only for footprints staged alone. */
static int64_t find_stage(const dcli_builder *builder, int k, const dcl_box *box)
{
    enum { LOOK_BACK = 8 };
    const dcli_plan *plan = builder->plan;
    int64_t first = dcli_max(plan->batch[plan->batch_count - 1].first_stage, plan->stage_count - LOOK_BACK);
    int64_t last = builder->want_count - 1;
    for (int64_t s = plan->stage_count - 1; s >= first; s--) {
        while (last >= 0 && builder->want[last].stage > s)
            last--;
        bool single = last >= 0 && builder->want[last].stage == s && (last == 0 || builder->want[last - 1].stage != s);
        if (single && plan->stage[s].operand == k && !builder->want[last].written &&
            dcli_box_equal(&builder->want[last].box, box))
            return s;
    }
    return -1;
}

/* The boxes that a footprint consists of. @param parts_out  [DCL_MAX_RANK] */
static int parts_of(dcli_builder *builder, int a, const struct dcli_view *view, dcl_box parts_out[])
{
    const dcli_operand *operand = dcli_operand_of(builder, a);
    dcli_reach reach = builder->own[a].reach;
    parts_out[0] = view->foot;
    if (reach != DCLI_REACH_HALO && reach != DCLI_REACH_CROSS)
        return 1;
    bool approximate = false;
    dcl_grid grid = dcli_access_grid(builder->operation, a);
    int count = dcli_declared_parts(&builder->own[a], view->space, &grid, parts_out, &approximate);
    if (view->kept) { /* a copy is kept as a whole: others may read all of it */
        approximate |= count > 1 || dcli_box_elements(&parts_out[0]) < dcli_box_elements(&view->foot);
        parts_out[0] = view->foot;
    }
    builder->plan->counters.approximate |= approximate;
    if (view->kept)
        return 1;
    for (int p = 0; p < count && operand->view != NULL; p++) {
        dcl_box seen = parts_out[p];
        dcli_transform_box(operand->view, &seen, &parts_out[p]);
    }
    return count;
}

static dcl_status need_parts(dcli_builder *builder, int a, const struct dcli_view *view)
{
    dcl_box parts[DCL_MAX_RANK];
    int count = parts_of(builder, a, view, parts);
    dcl_status status = DCL_OK;
    for (int p = 0; p < count && status == DCL_OK; p++) {
        if (view->stage >= 0)
            status = dcli_builder_want(builder, &(dcli_want){.stage = view->stage,
                                                             .content = view->content,
                                                             .written = view->written,
                                                             .sources = builder->source_count,
                                                             .box = parts[p]});
        if (status == DCL_OK && view->content)
            status = need_content(builder, dcli_param_of(builder, a), &parts[p], view->stage);
    }
    return status;
}

static dcl_status want_view(dcli_builder *builder, int a, const struct dcli_view *view)
{
    dcl_status status = need_parts(builder, a, view);
    if (status == DCL_OK && view->written)
        status =
            move_box(builder, dcli_param_of(builder, a), &view->foot,
                     &(struct move){.stage = view->stage, .written = true, .counted = !view->content, .stream = true});
    return status;
}

static bool may_share(const dcli_builder *builder, int k, int b, const struct dcli_view views[])
{
    return dcli_param_of(builder, b) == k && dcli_is_staged(&views[b]) && !views[b].keeps;
}

/* The accesses of one array share a stage where the box around their footprints is no larger than these together. */
static dcl_status stage_together(dcli_builder *builder, int a, struct dcli_view views[], bool *done_out)
{
    int accesses = builder->operation->body->access_count, together = 0, k = dcli_param_of(builder, a);
    int64_t apart = 0;
    dcl_box bound = views[a].foot;
    for (int b = a; b < accesses; b++)
        if (may_share(builder, k, b, views)) {
            dcli_box_bound(&bound, &views[b].foot, &bound);
            apart += dcli_box_elements(&views[b].foot);
            together++;
        }
    *done_out =
        together > 1 && dcli_box_elements(&bound) <= apart && !views[a].keeps && !dcli_meets_copy(builder, k, &bound);
    if (!*done_out)
        return DCL_OK;
    int64_t stage;
    dcl_status status = add_stage(builder, k, &bound, &stage);
    for (int b = a; b < accesses && status == DCL_OK; b++)
        if (may_share(builder, k, b, views)) {
            views[b].stage = stage;
            status = want_view(builder, b, &views[b]);
        }
    return status;
}

/* ---- kept copies -------------------------------------------------------------------------------------------------- */

static dcl_status add_source(dcli_builder *builder, int k, const dcl_box *box)
{
    dcli_source source = {.operand = k, .box = *box};
    for (int next = 0; dcli_image_next(box, &layout_of(builder, k)->grid, &next, &source.image);) {
        if (dcli_grow(&builder->source, builder->source_count, &builder->source_capacity, sizeof source) != 0)
            return DCL_ERR_NOMEM;
        builder->source[builder->source_count++] = source;
    }
    return DCL_OK;
}

/* The copies of operand k that there were before. */
static dcl_status find_copies(dcli_builder *builder, int k)
{
    dcl_status status = DCL_OK;
    const dcli_copy *copy = NULL;
    int64_t first = builder->source_count;
    while (status == DCL_OK &&
           (copy = dcli_kept_next(builder->terms->kept, builder->self, &builder->operation->operand[k], copy)) != NULL)
        status = add_source(builder, k, &copy->box);
    for (int64_t c = first; c < builder->source_count && status == DCL_OK; c++)
        status = dcli_box_set_add(&builder->seen[k].set, &builder->source[c].image.box, NULL);
    builder->seen[k].copied = builder->source_count > first;
    return status;
}

/* What is kept counts as seen: it is not needed again. */
dcl_status dcli_find_sources(dcli_builder *builder)
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < builder->operation->operand_count; k++) {
        const dcli_operand *operand = &builder->operation->operand[k];
        builder->seen[k].keeps = dcli_makes_copies(operand) && (operand->layout->rule.copies == 0 ||
                                                                dcli_layout_holds(operand->layout, builder->self));
        if (status == DCL_OK)
            status = find_copies(builder, k);
    }
    return status;
}

/* A stage of this batch that stands for a copy that is there. */
static dcl_status name_source(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out)
{
    const dcli_batch *batch = &builder->plan->batch[builder->plan->batch_count - 1];
    for (int64_t s = batch->first_stage; s < builder->plan->stage_count; s++) {
        const dcli_stage *stage = &builder->plan->stage[s];
        if (stage->kept != DCLI_STAGE_PASSING && stage->operand == k && dcli_box_equal(&stage->box, box)) {
            *stage_out = s;
            return DCL_OK;
        }
    }
    dcl_status status = add_stage(builder, k, box, stage_out);
    if (status == DCL_OK)
        builder->plan->stage[*stage_out].kept = DCLI_STAGE_KEPT;
    return status;
}

/* Whether every index of a box is one of another. */
static bool contains(const dcl_box *box, const dcl_box *part)
{
    dcl_box common;
    return dcli_box_intersect(box, part, &common) && dcli_box_elements(&common) == dcli_box_elements(part);
}

/* The copy that has all of a box, as a number in builder->source; -1: none. */
static int64_t copy_of(const dcli_builder *builder, int k, const dcl_box *box)
{
    for (int64_t c = 0; c < builder->source_count; c++)
        if (builder->source[c].operand == k && contains(&builder->source[c].box, box))
            return c;
    return -1;
}

bool dcli_meets_copy(const dcli_builder *builder, int k, const dcl_box *box)
{
    const dcl_grid *grid = &layout_of(builder, k)->grid;
    for (int64_t c = 0; c < builder->source_count && builder->seen[k].copied; c++)
        if (builder->source[c].operand == k && dcli_images_meet(box, grid, &builder->source[c].image.box))
            return true;
    return false;
}

/* Whether nobody else owns any of a box: then there is nothing to keep. */
static bool is_own(dcli_builder *builder, int k, const dcl_box *box)
{
    const dcli_layout *layout = layout_of(builder, k);
    dcli_image image;
    for (int next = 0; dcli_image_next(box, &layout->grid, &next, &image);) {
        dcli_layout_owners(layout, &image.box, builder->owners);
        for (int p = 0; p < layout->node_end; p++)
            if (builder->owners[p] && p != builder->self)
                return false;
    }
    return true;
}

/* Copies are looked through for every footprint: an operation uses so many at most. What is read in more and smaller boxes
 * is moved each time. */
enum { MOST_COPIES = 256 };

/* A footprint of an operand with copies: from one that is there, else, where they are kept, as a copy to keep while the
 * budget lasts. */
static dcl_status stage_kept(dcli_builder *builder, int a, struct dcli_view *view)
{
    int k = dcli_param_of(builder, a);
    int64_t c = copy_of(builder, k, &view->foot);
    if (c >= 0) {
        view->kept = true;
        return name_source(builder, k, &builder->source[c].box, &view->stage);
    }
    if (!view->keeps || builder->source_count >= MOST_COPIES || is_own(builder, k, &view->foot))
        return DCL_OK;
    int64_t bytes = dcli_box_elements(&view->foot) * dcli_builder_bytes(builder, k);
    int64_t left =
        builder->terms->kept_bytes - builder->kept_bytes - dcli_kept_bytes(builder->terms->kept, builder->self);
    bool counted = dcli_kept_counts(&builder->operation->operand[k], builder->self) && !view->near;
    if (counted && bytes > left)
        return DCL_OK;
    dcl_status status = add_stage(builder, k, &view->foot, &view->stage);
    if (status != DCL_OK)
        return status;
    builder->plan->stage[view->stage].kept = DCLI_STAGE_KEEP;
    builder->plan->stage[view->stage].counted = counted;
    builder->kept_bytes += counted ? bytes : 0;
    view->kept = true;
    status = want_view(builder, a, view);
    return status == DCL_OK ? add_source(builder, k, &view->foot) : status;
}

/* ---- copies ahead of use ------------------------------------------------------------------------------------------ */

bool dcli_lacks(dcli_builder *builder, int k, const dcl_box *box)
{
    return copy_of(builder, k, box) < 0 && !is_own(builder, k, box);
}

dcl_status dcli_copy_part(dcli_builder *builder, int k, const dcl_box *copy, const dcl_box *part)
{
    int64_t stage;
    dcl_status status = add_stage(builder, k, copy, &stage);
    if (status != DCL_OK)
        return status;
    builder->plan->stage[stage].kept = DCLI_STAGE_KEEP;
    builder->plan->stage[stage].counted = dcli_kept_counts(&builder->operation->operand[k], builder->self);
    status = dcli_builder_want(
        builder, &(dcli_want){.stage = stage, .content = true, .sources = builder->source_count, .box = *part});
    builder->fresh.count = 0;
    if (status == DCL_OK)
        status = dcli_box_set_add(&builder->seen[k].set, part, &builder->fresh);
    struct move move = {.stage = stage, .counted = true, .stream = !dcli_in_place(builder)};
    for (int64_t b = 0; b < builder->fresh.count && status == DCL_OK; b++)
        status = move_box(builder, k, &builder->fresh.box[b], &move);
    return status;
}

/* ---- stages of a work --------------------------------------------------------------------------------------------- */

static dcl_status stage_alone(dcli_builder *builder, int a, struct dcli_view *view)
{
    if (!view->written && dcli_has_copies(builder, dcli_param_of(builder, a))) {
        dcl_status status = stage_kept(builder, a, view);
        if (status != DCL_OK || view->stage >= 0)
            return status;
    }
    if (!view->written)
        view->stage = find_stage(builder, dcli_param_of(builder, a), &view->foot);
    if (view->stage >= 0)
        return DCL_OK;
    dcl_status status = add_stage(builder, dcli_param_of(builder, a), &view->foot, &view->stage);
    return status == DCL_OK ? want_view(builder, a, view) : status;
}

dcl_status dcli_stage_views(dcli_builder *builder, struct dcli_view views[])
{
    int accesses = builder->operation->body->access_count;
    dcl_status status = DCL_OK;
    for (int a = 0; a < accesses && status == DCL_OK; a++) {
        if (views[a].peer >= 0) {
            builder->plan->peer_read[views[a].peer] = true; /* also where it is kept, and so not moved */
            status = need_parts(builder, a, &views[a]);
        }
        if (!dcli_is_staged(&views[a]) || views[a].stage >= 0)
            continue;
        bool done;
        status = stage_together(builder, a, views, &done);
        if (status == DCL_OK && !done)
            status = stage_alone(builder, a, &views[a]);
    }
    return status;
}

/* ---- pieces of stages -------------------------------------------------------------------------------------------- */

static dcl_status add_piece(dcli_builder *builder, int kind, int where, const dcli_region *region, int64_t byte_offset)
{
    dcli_piece *piece = dcli_builder_piece(builder);
    if (piece == NULL)
        return DCL_ERR_NOMEM;
    *piece = (dcli_piece){.kind = kind, .where = where, .region = *region, .byte_offset = byte_offset};
    return DCL_OK;
}

/* Pieces of a wanted box that lie in parts: the own one, and (reading in place) those of peers. */
static dcl_status pieces_of_parts(dcli_builder *builder, int k, const dcl_box *box, bool peers)
{
    const dcli_layout *layout = layout_of(builder, k);
    dcl_status status = DCL_OK;
    dcli_layout_owners(layout, box, builder->owners);
    int end = layout->node_end;
    for (int p = dcli_next_owner(builder, 0, end); p < end && status == DCL_OK;
         p = dcli_next_owner(builder, p + 1, end)) {
        if (p != builder->self && !peers)
            continue;
        builder->regions.count = 0;
        status = dcli_layout_regions(layout, p, box, &builder->regions);
        for (int64_t r = 0; r < builder->regions.count && status == DCL_OK; r++)
            status = add_piece(builder, p == builder->self ? DCLI_BIND_OWN : DCLI_BIND_PEER, p,
                               &builder->regions.region[r], 0);
    }
    return status;
}

/* Whether two boxes can have an index in common, found quickly: by their bounds, and for equal strides by the rest. */
static bool may_meet(const dcl_box *a, const dcl_box *b)
{
    for (int d = 0; d < a->rank; d++) {
        int64_t apart = a->start[d] - b->start[d];
        if (apart > (b->count[d] - 1) * b->stride[d] || -apart > (a->count[d] - 1) * a->stride[d])
            return false;
        if (a->stride[d] == b->stride[d] && a->stride[d] > 1 && apart % a->stride[d] != 0)
            return false;
    }
    return true;
}

static dcl_status piece_of_item(dcli_builder *builder, int64_t i, const dcl_box *box)
{
    dcli_plan *plan = builder->plan;
    dcli_item *item = &plan->item[i];
    if (!may_meet(&item->region.box, box))
        return DCL_OK;
    dcli_region packed = dcli_region_packed(&item->region.box, 0), common;
    if (!dcli_region_cut(&packed, box, &common))
        return DCL_OK;
    dcli_chunk *chunk = &plan->chunk[item->chunk];
    chunk->last_batch = plan->batch_count - 1;
    return add_piece(builder, DCLI_PIECE_CHUNK, (int)item->chunk, &common, item->byte_offset);
}

/* Items of this batch by the stage they were made for: chains through `next`, one set for each direction. */
struct chains {
    int64_t first_stage, first_item;
    int64_t *head[2], *next;
};

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

/* Everything received for an array so far may hold elements of this footprint. */
static dcl_status searched_pieces(dcli_builder *builder, int k, const dcl_box *box)
{
    const dcli_plan *plan = builder->plan;
    dcl_status status = DCL_OK;
    for (int64_t i = 0; i < plan->item_count && status == DCL_OK; i++)
        if (plan->item[i].operand == k && !plan->chunk[plan->item[i].chunk].written)
            status = piece_of_item(builder, i, box);
    return status;
}

static dcl_status pieces_of_box(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    int k = builder->plan->stage[want->stage].operand;
    dcl_status status = pieces_of_parts(builder, k, &want->box, dcli_in_place(builder));
    if (status != DCL_OK || dcli_in_place(builder))
        return status;
    return builder->seen[k].unique ? chained_pieces(builder, chains, 0, want) : searched_pieces(builder, k, &want->box);
}

/* A box that a copy has. */
static dcl_status piece_of_copy(dcli_builder *builder, int k, const dcli_source *source, const dcl_box *box)
{
    dcl_box there = *box;
    dcli_region packed = dcli_region_packed(&source->box, 0), region;
    int64_t stage;
    dcl_status status = name_source(builder, k, &source->box, &stage);
    dcli_box_move(&there, source->image.shift, 1);
    if (status != DCL_OK || !dcli_region_cut(&packed, &there, &region))
        return status;
    dcli_box_move(&region.box, source->image.shift, -1);
    return add_piece(builder, DCLI_BIND_KEPT, (int)stage, &region, 0);
}

/* Take what a copy has of some boxes; what it lacks of them remains there. */
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

/* What of a box lies in kept copies comes from these. One after the other, not one within the other: there may be a
 * thousand, and threads of programs may have small stacks. */
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

/* Whether pieces from this number on, of one wanted box, leave out what is stored nowhere. */
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

/* Boxes of pieces become those of the stage: regions lie where they lay. */
static dcl_status fill_stage(dcli_builder *builder, const struct chains *chains, const dcli_want *want)
{
    dcli_plan *plan = builder->plan;
    const dcl_grid *grid = &layout_of(builder, plan->stage[want->stage].operand)->grid;
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
    if (status == DCL_OK && leave_holes(builder, first_piece, want))
        builder->plan->stage[want->stage].rest = true;
    return status;
}

/* Wants of a stage stand together: first everything that goes in, then everything that comes out. */
dcl_status dcli_fill_stages(dcli_builder *builder)
{
    struct chains chains;
    dcli_plan *plan = builder->plan;
    if (builder->want_count == 0)
        return DCL_OK;
    dcl_status status = make_chains(builder, &chains);
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
