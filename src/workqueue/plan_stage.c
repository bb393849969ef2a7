/* workqueue/plan_stage.c - determines what a loop body or a move needs from other nodes: counts it, requests it, and
 * chooses the stages into which it is copied. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/search.h"
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
        for (int64_t n = 0; n < builder->seen[k].owned_count; n++)
            builder->plan->counters.blocks_moved += builder->seen[k].owned[n].blocks.count;
}

static bool has_smaller_owner(const void *owned, int64_t i, int64_t owner)
{
    return ((const struct dcli_owned *)owned)[i].owner < owner;
}

/* What is recorded of an owner's elements of operand k; an empty record is added if there is none. NULL:
 * DCL_ERR_NOMEM. */
static struct dcli_owned *owned_by(dcli_seen *seen, int owner)
{
    int64_t low = dcli_lower_bound(seen->owned, seen->owned_count, owner, has_smaller_owner);
    if (low < seen->owned_count && seen->owned[low].owner == owner)
        return &seen->owned[low];
    if (dcli_grow(&seen->owned, seen->owned_count, &seen->owned_capacity, sizeof *seen->owned) != 0)
        return NULL;
    struct dcli_owned record = {.owner = owner}, *empty = &seen->owned[seen->owned_count];
    if (seen->owned_count < seen->owned_ready) { /* with the memory of an earlier plan's record */
        record.blocks = empty->blocks;
        record.needed = empty->needed;
    }
    memmove(seen->owned + low + 1, seen->owned + low, (size_t)(seen->owned_count - low) * sizeof *seen->owned);
    seen->owned[low] = record;
    seen->owned_ready = dcli_max(seen->owned_ready, ++seen->owned_count);
    return &seen->owned[low];
}

static dcl_status count_moved(dcli_builder *builder, int k, int peer, const dcl_box *box, int64_t bytes)
{
    struct dcli_owned *owned = owned_by(&builder->seen[k], peer);
    if (owned == NULL)
        return DCL_ERR_NOMEM;
    dcl_counters *counters = &builder->plan->counters;
    counters->bytes_moved += bytes;
    return dcli_layout_blocks(layout_of(builder, k), peer, box, &owned->blocks, &counters->blocks_moved);
}

dcl_status dcli_count_element(dcli_builder *builder, int k, int peer, const dcl_box *box)
{
    int64_t bytes = dcli_builder_bytes(builder, k), blocks = builder->plan->counters.blocks_moved;
    dcl_status status = count_moved(builder, k, peer, box, bytes);
    dcli_detail_moved(builder, &(dcli_detail_move){.operand = k,
                                                   .peer = peer,
                                                   .bytes = bytes,
                                                   .blocks = builder->plan->counters.blocks_moved - blocks,
                                                   .counted = true});
    return status;
}

/* How move_box() treats a box of elements that other nodes own. */
struct move {
    int64_t stage;         /* stage that gets the elements, as dcli_need.stage */
    bool written, counted; /* `written`: they are sent to their owners, else received; `counted`: they are added to
                              the counters */
    bool once;             /* elements that were needed before, or that a replica of this node has, are left out */
};

/* Count a region of a peer's part, and add a need if its elements must be sent in either direction. */
static dcl_status move_region(dcli_builder *builder, int k, int peer, const dcli_region *region,
                              const struct move *move)
{
    int64_t bytes = dcli_box_elements(&region->box) * dcli_builder_bytes(builder, k);
    int64_t blocks = builder->plan->counters.blocks_moved;
    dcl_status status = DCL_OK;
    if (move->counted && !builder->terms->streams)
        status = count_moved(builder, k, peer, &region->box, bytes);
    dcli_detail_moved(builder, &(dcli_detail_move){.operand = k,
                                                   .peer = peer,
                                                   .bytes = bytes,
                                                   .blocks = builder->plan->counters.blocks_moved - blocks,
                                                   .written = move->written,
                                                   .counted = move->counted});
    if (status != DCL_OK || (!move->written && dcli_reads_part(builder, peer)))
        return status;
    return dcli_builder_need(
        builder,
        &(dcli_need){.written = move->written, .peer = peer, .operand = k, .stage = move->stage, .region = *region});
}

/* Find the boxes of a peer's region that are needed for the first time, and that no replica of this node contains. They
 * replace the contents of builder->fresh. The set of what is needed already is one per owner, so that a plan for a
 * pair, which does not look at other owners' elements, finds the same boxes. */
static dcl_status find_fresh(dcli_builder *builder, int k, int peer, const dcl_box *box)
{
    dcli_seen *seen = &builder->seen[k];
    struct dcli_owned *owned = owned_by(seen, peer);
    builder->fresh.count = builder->missing.count = 0;
    if (owned == NULL)
        return DCL_ERR_NOMEM;
    if (!seen->copied)
        return dcli_box_set_add(&owned->needed, box, &builder->fresh);
    dcl_status status = dcli_box_set_lacks(&seen->set, box, &builder->missing);
    for (int64_t b = 0; b < builder->missing.count && status == DCL_OK; b++)
        status = dcli_box_set_add(&owned->needed, &builder->missing.box[b], &builder->fresh);
    return status;
}

/* Move those boxes of a peer's region that find_fresh() finds. */
static dcl_status move_fresh(dcli_builder *builder, int k, int peer, const dcli_region *whole, const struct move *move)
{
    dcl_status status = find_fresh(builder, k, peer, &whole->box);
    for (int64_t b = 0; b < builder->fresh.count && status == DCL_OK; b++) {
        dcli_region part;
        if (dcli_region_cut(whole, &builder->fresh.box[b], &part))
            status = move_region(builder, k, peer, &part, move);
    }
    return status;
}

/* If no element of the peer was needed before, note the whole box as needed in place of its regions, and set *first_out.
 * A hashed map stores an array in as many regions as there are elements, in no order, and looking for each of them in a
 * set of the others takes quadratic time. Elements of the box that the peer does not own are never looked for. */
static dcl_status note_first(dcli_builder *builder, int k, int peer, const dcl_box *box, bool *first_out)
{
    dcli_seen *seen = &builder->seen[k];
    struct dcli_owned *owned = owned_by(seen, peer);
    *first_out = false;
    if (owned == NULL)
        return DCL_ERR_NOMEM;
    if (seen->copied || owned->needed.boxes.count > 0)
        return DCL_OK;
    *first_out = true;
    return dcli_box_set_add(&owned->needed, box, NULL);
}

/* Move the elements of a box that a peer owns. */
static dcl_status move_from(dcli_builder *builder, int k, int peer, const dcl_box *box, const struct move *move)
{
    bool once = move->once;
    dcl_status status = dcli_builder_regions(builder, k, peer, box);
    if (status == DCL_OK && !move->written && dcli_reads_part(builder, peer) && builder->regions.count > 0)
        status = dcli_node_list_add(&builder->plan->reads, peer);
    if (status == DCL_OK && once && builder->regions.count > 1) {
        bool first;
        status = note_first(builder, k, peer, box, &first);
        once = !first;
    }
    for (int64_t r = 0; r < builder->regions.count && status == DCL_OK; r++)
        status = (once ? move_fresh : move_region)(builder, k, peer, &builder->regions.region[r], move);
    return status;
}

/* As move_from(), for each peer that owns elements of the box. */
static dcl_status move_box(dcli_builder *builder, int k, const dcl_box *box, const struct move *move)
{
    if (builder->terms->pair)
        return move_from(builder, k, builder->terms->with, box, move);
    dcl_status status = dcli_layout_owners(layout_of(builder, k), box, &builder->owners);
    for (int64_t n = 0; n < builder->owners.count && status == DCL_OK; n++)
        if (builder->owners.node[n] != builder->self)
            status = move_from(builder, k, builder->owners.node[n], box, move);
    return status;
}

/* Count and request the elements of a footprint that no task of this node has needed before. */
static dcl_status need_box(dcli_builder *builder, int k, const dcl_box *foot, int64_t stage)
{
    dcli_seen *seen = &builder->seen[k];
    struct move move = {.stage = seen->unique ? stage : -1, .counted = true, .once = !seen->unique};
    const dcli_region *with = NULL;
    dcl_status status = builder->terms->pair ? dcli_builder_one(builder, k, builder->terms->with, &with) : DCL_OK;
    if (status == DCL_OK && !seen->unique && with == NULL) {
        builder->fresh.count = 0;
        status = dcli_box_set_add(&seen->asked, foot, &builder->fresh);
        if (status != DCL_OK || builder->fresh.count == 0)
            return status; /* looking up the owners would find nothing new */
    }
    return status == DCL_OK ? move_box(builder, k, foot, &move) : status;
}

static dcl_status need_content(dcli_builder *builder, int a, const dcl_box *foot, int64_t stage)
{
    int k = dcli_param_of(builder, a);
    dcli_image image;
    dcl_status status = DCL_OK;
    if (!builder->accesses->wraps[a])
        return need_box(builder, k, foot, stage);
    for (int next = 0; status == DCL_OK && dcli_image_next(foot, &layout_of(builder, k)->grid, &next, &image);)
        status = need_box(builder, k, &image.box, stage);
    return status;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

dcl_status dcli_add_stage(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out)
{
    dcli_stage *stage = dcli_builder_stage(builder);
    if (stage == NULL)
        return DCL_ERR_NOMEM;
    *stage =
        (dcli_stage){.operand = k, .box = *box, .elements = dcli_padded_elements(box, dcli_builder_bytes(builder, k))};
    *stage_out = builder->plan->stage_count - 1;
    return DCL_OK;
}

/* Find a stage with the same contents among the last LOOK_BACK of this batch; -1: there is none. Only stages that a
 * single access wanted are compared. */
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

/* Find the boxes that make up a footprint: one, or for DCLI_REACH_CROSS one per arm. @param parts_out  [DCL_MAX_RANK]
 * @return their number; 0: a halo or cross reads nothing of the grid. */
static int parts_of(dcli_builder *builder, int a, const struct dcli_view *view, dcl_box parts_out[])
{
    const dcli_operand *operand = dcli_operand_of(builder, a);
    dcli_reach reach = builder->accesses->own[a].reach;
    parts_out[0] = view->foot;
    if (reach != DCLI_REACH_HALO && reach != DCLI_REACH_CROSS)
        return 1;
    bool approximate = false;
    dcl_grid grid = dcli_access_grid(builder->operation, a);
    int count = dcli_declared_parts(&builder->accesses->own[a], view->space, &grid, parts_out, &approximate);
    if (view->kind == DCLI_SPACE_REPLICA) { /* a replica is filled as a whole, because later operations may read any
                                               of its elements */
        approximate |= count > 1 || dcli_box_elements(&parts_out[0]) < dcli_box_elements(&view->seen);
        parts_out[0] = view->foot;
    }
    builder->plan->counters.approximate |= approximate;
    if (view->kind == DCLI_SPACE_REPLICA)
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
        if (view->stage >= 0 && !builder->terms->pair) /* stages are filled by the planned node only */
            status = dcli_builder_want(builder, &(dcli_want){.stage = view->stage,
                                                             .content = view->content,
                                                             .written = view->written,
                                                             .sources = builder->source_count,
                                                             .box = parts[p]});
        if (status == DCL_OK && view->content)
            status = need_content(builder, a, &parts[p], view->stage);
    }
    return status;
}

static dcl_status want_view(dcli_builder *builder, int a, const struct dcli_view *view)
{
    dcl_status status = need_parts(builder, a, view);
    if (status == DCL_OK && view->written)
        status = move_box(builder, dcli_param_of(builder, a), &view->foot,
                          &(struct move){.stage = view->stage, .written = true, .counted = !view->content});
    return status;
}

static bool may_share(const dcli_builder *builder, int k, int b, const struct dcli_view views[])
{
    return dcli_param_of(builder, b) == k && dcli_is_staged(&views[b]) && !dcli_makes_replica(&views[b]);
}

/* Give the accesses of one array a common stage, if the bounding box of their footprints has no more elements than they
 * have together. */
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
    *done_out = together > 1 && dcli_box_elements(&bound) <= apart && !dcli_makes_replica(&views[a]) &&
                !dcli_meets_copy(builder, k, &bound);
    if (!*done_out)
        return DCL_OK;
    int64_t stage;
    dcl_status status = dcli_add_stage(builder, k, &bound, &stage);
    for (int b = a; b < accesses && status == DCL_OK; b++)
        if (may_share(builder, k, b, views)) {
            views[b].stage = stage;
            status = want_view(builder, b, &views[b]);
        }
    return status;
}

/* ---- replicas ---------------------------------------------------------------------------------------------------- */

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

/* List the replicas of operand k from before this operation in builder->source. */
static dcl_status find_copies(dcli_builder *builder, int k)
{
    dcl_status status = DCL_OK;
    const dcli_replica *copy = NULL;
    int64_t first = builder->source_count;
    while (status == DCL_OK && (copy = dcli_directory_next(builder->terms->directory, builder->self,
                                                           &builder->operation->operand[k], copy)) != NULL)
        status = add_source(builder, k, &copy->box);
    for (int64_t c = first; c < builder->source_count && status == DCL_OK; c++)
        status = dcli_box_set_add(&builder->seen[k].set, &builder->source[c].image.box, NULL);
    builder->seen[k].copied = builder->source_count > first;
    return status;
}

/* Elements of existing replicas count as already received, so they are not requested again. */
dcl_status dcli_find_sources(dcli_builder *builder)
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < builder->operation->operand_count; k++) {
        const dcli_operand *operand = &builder->operation->operand[k];
        builder->seen[k].keeps = dcli_policy_may(operand, builder->self);
        if (status == DCL_OK)
            status = find_copies(builder, k);
    }
    return status;
}

dcl_status dcli_name_copy(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out)
{
    const dcli_batch *batch = &builder->plan->batch[builder->plan->batch_count - 1];
    for (int64_t s = batch->first_stage; s < builder->plan->stage_count; s++) {
        const dcli_stage *stage = &builder->plan->stage[s];
        if (stage->kind != DCLI_STAGE_TEMPORARY && stage->operand == k && dcli_box_equal(&stage->box, box)) {
            *stage_out = s;
            return DCL_OK;
        }
    }
    dcl_status status = dcli_add_stage(builder, k, box, stage_out);
    if (status == DCL_OK)
        builder->plan->stage[*stage_out].kind = DCLI_STAGE_REPLICA;
    return status;
}

/* Whether `box` contains every index of `part`. */
static bool contains(const dcl_box *box, const dcl_box *part)
{
    dcl_box common;
    return dcli_box_intersect(box, part, &common) && dcli_box_elements(&common) == dcli_box_elements(part);
}

/* Find a replica, existing or made by this plan, that contains all of a box. @return its index in builder->source; -1:
 * none. */
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

/* Find out whether no other node owns any element of a box, so that a replica would be useless. */
static dcl_status find_own(dcli_builder *builder, int k, const dcl_box *box, bool *own_out)
{
    const dcli_layout *layout = layout_of(builder, k);
    const dcli_node_list *owners = &builder->owners;
    dcli_image image;
    dcl_status status = DCL_OK;
    *own_out = true;
    for (int next = 0; status == DCL_OK && *own_out && dcli_image_next(box, &layout->grid, &next, &image);) {
        status = dcli_layout_owners(layout, &image.box, &builder->owners);
        *own_out = owners->count == 0 || (owners->count == 1 && owners->node[0] == builder->self);
    }
    return status;
}

/* A plan makes no new replica once builder->source, for all operands, has this many entries, because each footprint is
 * compared with all of them. Footprints beyond this are transferred each time. */
enum { MOST_COPIES = 256 };

/* Bind an access of an operand with replicas to a replica that contains its footprint, or to a new one, if a policy
 * asks for it and the budget allows it. Otherwise view->stage stays -1. */
static dcl_status stage_replica(dcli_builder *builder, int a, struct dcli_view *view)
{
    int k = dcli_param_of(builder, a);
    int64_t c = copy_of(builder, k, &view->foot);
    if (c >= 0) {
        view->kind = DCLI_SPACE_REPLICA;
        return dcli_name_copy(builder, k, &builder->source[c].box, &view->stage);
    }
    if (!dcli_makes_replica(view) || builder->source_count >= MOST_COPIES)
        return DCL_OK;
    bool own;
    dcl_status status = find_own(builder, k, &view->foot, &own);
    if (status != DCL_OK || own)
        return status;
    int64_t bytes = dcli_box_elements(&view->foot) * dcli_builder_bytes(builder, k);
    int64_t left = builder->terms->kept_bytes - builder->kept_bytes -
                   dcli_directory_bytes(builder->terms->directory, builder->self);
    if (dcli_policy_counts(view->policy) && bytes > left)
        return DCL_OK;
    status = dcli_add_stage(builder, k, &view->foot, &view->stage);
    if (status != DCL_OK)
        return status;
    builder->plan->stage[view->stage].kind = DCLI_STAGE_NEW_REPLICA;
    builder->plan->stage[view->stage].policy = view->policy;
    builder->kept_bytes += dcli_policy_counts(view->policy) ? bytes : 0;
    view->kind = DCLI_SPACE_REPLICA;
    status = want_view(builder, a, view);
    return status == DCL_OK ? add_source(builder, k, &view->foot) : status;
}

/* ---- copies ahead of use ----------------------------------------------------------------------------------------- */

dcl_status dcli_lacks(dcli_builder *builder, int k, const dcl_box *box, bool *lacks_out)
{
    bool own;
    dcl_status status = find_own(builder, k, box, &own);
    *lacks_out = copy_of(builder, k, box) < 0 && !own;
    return status;
}

dcl_status dcli_copy_part(dcli_builder *builder, int k, const dcl_box *copy, const dcl_box *part)
{
    int64_t stage;
    dcl_status status = dcli_add_stage(builder, k, copy, &stage);
    if (status != DCL_OK)
        return status;
    builder->plan->stage[stage].kind = DCLI_STAGE_NEW_REPLICA;
    builder->plan->stage[stage].policy = dcli_policy_of(&builder->operation->operand[k], builder->self, false);
    status = dcli_builder_want(
        builder, &(dcli_want){.stage = stage, .content = true, .sources = builder->source_count, .box = *part});
    builder->fresh.count = 0;
    if (status == DCL_OK)
        status = dcli_box_set_add(&builder->seen[k].set, part, &builder->fresh);
    struct move move = {.stage = stage, .counted = true};
    for (int64_t b = 0; b < builder->fresh.count && status == DCL_OK; b++)
        status = move_box(builder, k, &builder->fresh.box[b], &move);
    return status;
}

dcl_status dcli_around_stage(dcli_builder *builder, int k, const dcl_box *box, int64_t offset)
{
    int64_t stage;
    dcl_status status = dcli_add_stage(builder, k, box, &stage);
    if (status != DCL_OK)
        return status;
    builder->plan->stage[stage].kind = DCLI_STAGE_AROUND;
    builder->plan->stage[stage].offset = offset;
    if (!builder->terms->pair)
        status = dcli_builder_want(builder, &(dcli_want){.stage = stage, .content = true, .box = *box});
    struct move move = {.stage = stage, .counted = true};
    return status == DCL_OK ? move_box(builder, k, box, &move) : status;
}

/* ---- stages of a work -------------------------------------------------------------------------------------------- */

static dcl_status stage_alone(dcli_builder *builder, int a, struct dcli_view *view)
{
    const dcli_seen *seen = &builder->seen[dcli_param_of(builder, a)];
    if (builder->terms->streams && seen->unique && !view->written &&
        !dcli_has_copies(builder, dcli_param_of(builder, a)))
        return need_parts(builder, a, view); /* the access needs no stage */
    if (!view->written && dcli_has_copies(builder, dcli_param_of(builder, a))) {
        dcl_status status = stage_replica(builder, a, view);
        if (status != DCL_OK || view->stage >= 0)
            return status;
    }
    if (!view->written)
        view->stage = find_stage(builder, dcli_param_of(builder, a), &view->foot);
    if (view->stage >= 0)
        return DCL_OK;
    dcl_status status = dcli_add_stage(builder, dcli_param_of(builder, a), &view->foot, &view->stage);
    return status == DCL_OK ? want_view(builder, a, view) : status;
}

dcl_status dcli_stage_views(dcli_builder *builder, struct dcli_view views[])
{
    int accesses = builder->operation->body->access_count;
    dcl_status status = DCL_OK;
    for (int a = 0; a < accesses && status == DCL_OK; a++) {
        if (views[a].kind == DCLI_SPACE_PEER) {
            /* need_parts() adds it only for elements that were not needed before. */
            if (dcli_plans_with(builder, views[a].node))
                status = dcli_node_list_add(&builder->plan->reads, views[a].node);
            if (status == DCL_OK)
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
