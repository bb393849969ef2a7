/* workqueue/plan_move.c - plans dcl_move(): a node makes replicas of the elements of a box that it does not own.
 *
 * A replica is one box in one piece of memory, so that any read within it can be bound to it directly. Several batches
 * fill it: a move may be as large as the budget of replicas, but the chunks in flight must fit into the pool. */
#include "workqueue/plan_move.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "segment/cut.h"
#include "workqueue/plan_view.h"

enum {
    MOST_COPIES = 1024,  /* most replicas of an array at a node; every footprint is compared with each of them */
    BATCHES_IN_POOL = 16 /* a batch moves at most 1/16 of the pool's bytes; elements of one byte, which may be padded
                            to 8 each, then take half of the pool */
};

/* Find the largest box of this node's own elements within a box; empty if there is none. */
static dcl_status find_largest(dcli_builder *builder, const dcl_box *box, dcl_box *largest_out)
{
    const dcli_layout *layout = builder->operation->operand[0].layout;
    *largest_out = (dcl_box){.rank = box->rank};
    if (dcli_layout_place(layout, builder->self) < 0)
        return DCL_OK;
    builder->regions.count = 0;
    dcl_status status = dcli_layout_regions(layout, builder->self, box, &builder->regions);
    for (int64_t r = 0; r < builder->regions.count; r++)
        if (dcli_box_elements(&builder->regions.region[r].box) > dcli_box_elements(largest_out))
            *largest_out = builder->regions.region[r].box;
    return status;
}

/* Find the boxes to replicate: the whole box, or, if one piece of the node's own part covers more than half of it, the
 * boxes around this piece. Boxes of own elements only, or in a replica already, are left out. */
static dcl_status find_copies(dcli_builder *builder, dcli_box_list *copies)
{
    const dcl_box *box = &builder->operation->box;
    dcl_box own;
    bool lacks;
    dcl_status status = dcli_lacks(builder, 0, box, &lacks);
    if (status != DCL_OK || !lacks)
        return status;
    status = find_largest(builder, box, &own);
    if (status == DCL_OK && dcli_box_elements(&own) <= dcli_box_elements(box) / 2)
        return dcli_box_list_add(copies, box);
    if (status == DCL_OK)
        status = dcli_box_subtract(box, &own, copies);
    int64_t left = 0;
    for (int64_t b = 0; b < copies->count && status == DCL_OK; b++) {
        status = dcli_lacks(builder, 0, &copies->box[b], &lacks);
        if (lacks)
            copies->box[left++] = copies->box[b];
    }
    copies->count = left;
    return status;
}

static void check_budget(dcli_builder *builder, const dcli_box_list *copies)
{
    dcli_plan *plan = builder->plan;
    int64_t bytes = 0, taken = dcli_directory_bytes(builder->terms->directory, builder->self);
    for (int64_t b = 0; b < copies->count; b++)
        bytes += dcli_box_elements(&copies->box[b]) * dcli_builder_bytes(builder, 0);
    bool counted = dcli_policy_counts(dcli_policy_of(&builder->operation->operand[0], builder->self, false));
    if (counted && bytes > builder->terms->kept_bytes - taken)
        snprintf(plan->problem, sizeof plan->problem,
                 "replicas of the box take %" PRId64 " bytes; expected at most %" PRId64 ": replicas may take %" PRId64
                 " (DCL_KEPT_BYTES), %" PRId64
                 " of which are taken; drop some by dcl_keep(array, false), move less, or "
                 "allow more",
                 bytes, builder->terms->kept_bytes - taken, builder->terms->kept_bytes, taken);
    else if (copies->count > 0 && builder->source_count + copies->count > MOST_COPIES)
        snprintf(plan->problem, sizeof plan->problem,
                 "node has %" PRId64 " replicas of the array; expected at most %d with those of this move; move "
                 "larger boxes, or drop replicas by dcl_keep(array, false)",
                 builder->source_count, MOST_COPIES);
    else
        return;
    plan->status = DCL_ERR_NOMEM;
}

static dcl_status plan_batch(dcli_builder *builder, const dcl_box *copy, const dcl_box *part)
{
    if (dcli_builder_batch(builder) == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_copy_part(builder, 0, copy, part);
    if (status == DCL_OK)
        status = dcli_builder_chunks(builder);
    if (status == DCL_OK)
        status = dcli_fill_stages(builder);
    dcli_plan *plan = builder->plan;
    dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    batch->stage_count = plan->stage_count - batch->first_stage;
    return status;
}

/* Plan one replica in batches of at most `most` elements each; its box is cut along the slowest axes. */
static dcl_status plan_parts(dcli_builder *builder, const dcl_box *copy, int64_t most)
{
    int64_t shape[DCL_MAX_RANK];
    dcli_cut_shape(copy->rank, copy->count, NULL, most, shape);
    dcli_cut cut = dcli_cut_begin(copy->rank, copy->count, shape);
    dcl_status status = DCL_OK;
    while (status == DCL_OK && dcli_cut_next(&cut)) {
        dcl_box part;
        dcli_box_part(copy, cut.lo, cut.count, &part);
        status = plan_batch(builder, copy, &part);
    }
    return status;
}

/* Mark a replica as unfinished in all batches but its last. Its first batch sets the fill value, before any piece is
 * copied. */
static void mark_stages(dcli_plan *plan, int64_t first)
{
    dcli_stage *last = NULL;
    for (int64_t s = first; s < plan->stage_count; s++) {
        dcli_stage *stage = &plan->stage[s];
        if (stage->kind != DCLI_STAGE_NEW_REPLICA)
            continue;
        if (last != NULL) {
            last->unfinished = true;
            plan->stage[first].fill_first |= stage->fill_first;
            stage->fill_first = false;
        }
        last = stage;
    }
}

dcl_status dcli_plan_move(dcli_builder *builder)
{
    const dcli_plan_terms *terms = builder->terms;
    dcli_box_list copies = {0};
    if (dcli_box_is_empty(&builder->operation->box))
        return DCL_OK;
    int64_t most_bytes = dcli_min(terms->batch_bytes, terms->pool_bytes / BATCHES_IN_POOL);
    int64_t most = dcli_max(1, most_bytes / dcli_builder_bytes(builder, 0));
    dcl_status status = dcli_find_sources(builder);
    builder->seen[0].keeps = builder->seen[0].unique = true;
    if (status == DCL_OK)
        status = find_copies(builder, &copies);
    if (status == DCL_OK)
        check_budget(builder, &copies);
    for (int64_t b = 0; b < copies.count && status == DCL_OK && builder->plan->status == DCL_OK; b++) {
        int64_t first = builder->plan->stage_count;
        status = plan_parts(builder, &copies.box[b], most);
        mark_stages(builder->plan, first);
    }
    dcli_count_blocks(builder);
    dcli_box_list_free(&copies);
    return status;
}
