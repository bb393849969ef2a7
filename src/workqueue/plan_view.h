/* workqueue/plan_view.h - shared by the files that plan a loop body or a move. */
#ifndef DCLI_WORKQUEUE_PLAN_VIEW_H
#define DCLI_WORKQUEUE_PLAN_VIEW_H

#include "workqueue/builder.h"

/* How one access of the work being planned gets its elements: the box that it touches, whether its old contents are
 * needed, and the memory in which kernels find them. Not a view of an array: that is dcli_transform. */
struct dcli_view {
    bool content; /* its old contents are needed: it is read, or not certainly overwritten */
    bool written;
    bool empty; /* touches nothing inside the grid */
    /* Where kernels find the elements; decided once. look() chooses the own part, or one peer's part that is read in
     * place, if `region` contains all of them; otherwise dcli_stage_views() chooses a replica or a stage. Whether
     * kernels are bound to the stage, or gather the elements themselves, depends on the device and is decided later
     * (lower/gather.c). */
    dcli_space_kind kind;
    int node;             /* OWN, PEER: whose part */
    int64_t stage;        /* STAGE, REPLICA: index in plan->stage; -1: none yet, or there are no elements */
    dcli_policy policy;   /* why it becomes a replica, if the budget allows it; NONE: it does not */
    bool leaves;          /* it reads beyond the edges of a periodic axis */
    dcl_box foot;         /* box of the array around the elements that it accesses */
    dcl_box seen;         /* box of the view around them, as indexed in the body; equal to `foot` if there is no view */
    const dcl_box *space; /* the loop indices of the work */
    dcli_region region;
};

static inline int dcli_param_of(const dcli_builder *builder, int a)
{
    return builder->operation->body->access[a].param;
}

static inline const dcli_operand *dcli_operand_of(const dcli_builder *builder, int a)
{
    return &builder->operation->operand[dcli_param_of(builder, a)];
}

static inline const dcli_layout *dcli_layout_of(const dcli_builder *builder, int a)
{
    return dcli_operand_of(builder, a)->layout;
}

/** Whether this node reads a peer's part in place. */
static inline bool dcli_reads_part(const dcli_builder *builder, int peer)
{
    const dcli_node_ways *ways = builder->terms->ways;
    return dcli_way_between(&ways[builder->self], &ways[peer]) == DCLI_WAY_PLACE;
}

/** Whether this node can read parts of any peer in place; if not, all elements are sent to it. */
static inline bool dcli_reads_parts(const dcli_builder *builder)
{
    return (builder->terms->ways[builder->self].can & DCLI_CAN_READ_ANY) != 0;
}

/** Whether `a` is the access whose owners compute: each node touches only its own elements by it. */
static inline bool dcli_is_home(const dcli_builder *builder, int a) { return a == builder->operation->body->home; }

static inline bool dcli_needs_content(const dcli_body_access *access)
{
    return access->read || (access->written && access->conditional);
}

static inline bool dcli_is_staged(const struct dcli_view *view)
{
    return !view->empty && (view->kind == DCLI_SPACE_STAGE || view->kind == DCLI_SPACE_REPLICA);
}

/** Whether the elements that the access reads become a replica. */
static inline bool dcli_makes_replica(const struct dcli_view *view) { return view->policy != DCLI_POLICY_NONE; }

/* An access that is bound to a peer's part. */
struct dcli_early_read {
    int access;
    int64_t binding; /* number in plan->binding */
    dcl_box space;   /* the loop indices of the work */
    struct dcli_view view;
};

/** Record a binding to a peer's part, for dcli_early_stage(). */
dcl_status dcli_early_note(dcli_builder *builder, int a, int64_t binding, const dcl_box *space,
                           const struct dcli_view *view);
/** At the end of a batch, before dcli_fill_stages(): if the recorded footprints are small, rebind them to stages. */
dcl_status dcli_early_stage(dcli_builder *builder);
/** After dcli_fill_stages(): set `early` of the batch's stages. */
void dcli_early_mark(dcli_builder *builder);
/** Bind an access of a work to the memory that its view names. Does not change the limits. */
void dcli_bind_view(dcli_builder *builder, int a, const dcl_box *box, const struct dcli_view *view,
                    dcli_binding *binding);
/** Add a stage of the batch for a box of operand k. */
dcl_status dcli_add_stage(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out);

/** Plan a loop body with an overlap: one batch (plan_overlap.c). */
dcl_status dcli_plan_overlap(dcli_builder *builder, int64_t tiles);

/** Plan a box of tiles; if declared reaches need it, it is cut first. */
dcl_status dcli_plan_region(dcli_builder *builder, const dcl_box *box);
/** Plan a box that declared reaches do not cut any further. */
dcl_status dcli_plan_box(dcli_builder *builder, const dcl_box *box);

/** Plan all tiles, `per_batch` of them as a batch, or as several if they are much larger than intended.
 *  @param most  elements of the first output per batch; the tiles of a batch are cut only if they have more than about
 *               twice this many. */
dcl_status dcli_plan_batches(dcli_builder *builder, int64_t tiles, int64_t per_batch, int64_t most);

/** At the end: count the tiles with something to compute. */
dcl_status dcli_count_tasks(dcli_builder *builder, int64_t tiles);

/** Append the boxes into which a box must be cut so that declared reaches see indices without gaps. */
dcl_status dcli_cut_gaps(const dcli_builder *builder, const dcl_box *box, dcli_box_list *out);

/** Record what the accesses of a work need of other nodes, and give unbound accesses a stage. */
dcl_status dcli_stage_views(dcli_builder *builder, struct dcli_view views[]);

/** Count a single element of a peer that is needed for the first time. */
dcl_status dcli_count_element(dcli_builder *builder, int k, int peer, const dcl_box *box);

/** Find this node's replicas of the operands before the operation. */
dcl_status dcli_find_sources(dcli_builder *builder);

/** Whether an operand has replicas at this node or gets some; their elements are not transferred again. */
static inline bool dcli_has_copies(const dcli_builder *builder, int k)
{
    return builder->seen[k].keeps || builder->seen[k].copied;
}

/** Whether a box intersects a replica of operand k, from before the operation or made by this plan. False if no replica
 *  of the operand is from before. */
bool dcli_meets_copy(const dcli_builder *builder, int k, const dcl_box *box);

/** Find out whether some elements of a box have other owners, and no replica contains the whole box. */
dcl_status dcli_lacks(dcli_builder *builder, int k, const dcl_box *box, bool *lacks_out);

/** Let the current batch copy a part of a box into a replica of the box. Parts of all batches are disjoint. */
dcl_status dcli_copy_part(dcli_builder *builder, int k, const dcl_box *copy, const dcl_box *part);

/** Let the current batch receive lines around this node's part of operand k: a box that others own.
 *  @param offset  of its first element in the memory of the part. */
dcl_status dcli_around_stage(dcli_builder *builder, int k, const dcl_box *box, int64_t offset);

/** Get the stage of this batch that stands for an existing replica; add it if there is none. */
dcl_status dcli_name_copy(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out);

/** At the end: add the touched blocks to the counters. */
void dcli_count_blocks(dcli_builder *builder);

/** After the needs of the last batch are in chunks: find the pieces that fill its stages and empty them
 *  (plan_fill.c). */
dcl_status dcli_fill_stages(dcli_builder *builder);

#endif
