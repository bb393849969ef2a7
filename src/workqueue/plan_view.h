/* workqueue/plan_view.h - what the files share that plan a loop body, or a move. Used by these files only. */
#ifndef DCLI_WORKQUEUE_PLAN_VIEW_H
#define DCLI_WORKQUEUE_PLAN_VIEW_H

#include "workqueue/builder.h"

/* One access of the work being planned. */
struct dcli_view {
    bool content; /* what is there before must be there: read, or not surely overwritten */
    bool written;
    bool empty; /* touches nothing inside the grid */
    /* Where kernels find it, decided once: look() says whether it lies wholly in `region` of the own part or of one
     * peer's part that is read in place; else stage_alone() says whether a replica has it, or is made. What is in a
     * stage is then bound, or gathered in the kernel: that depends on the device (lower/gather.c). */
    dcli_space_kind kind;
    int node;             /* OWN, PEER: whose part */
    int64_t stage;        /* STAGE, REPLICA: number in the plan; -1: none yet, or there is nothing to hold */
    dcli_policy policy;   /* by which it is kept from now on */
    bool leaves;          /* reads beyond an axis that is periodic */
    dcl_box foot;         /* elements of the array */
    dcl_box seen;         /* the indices by which the body knows them: the same where there is no view of the array */
    const dcl_box *space; /* the indices of the loop that it is for */
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

/** Whether it can read any peer's in place: false, without looking at peers, where everything is sent. */
static inline bool dcli_reads_parts(const dcli_builder *builder)
{
    return (builder->terms->ways[builder->self].can & DCLI_CAN_READ) != 0;
}

static inline bool dcli_is_first_output(const dcli_builder *builder, int a)
{
    return dcli_param_of(builder, a) == builder->operation->body->first_output;
}

static inline bool dcli_needs_content(const dcli_body_access *access)
{
    return access->read || (access->written && access->conditional);
}

static inline bool dcli_is_staged(const struct dcli_view *view)
{
    return !view->empty && (view->kind == DCLI_SPACE_STAGE || view->kind == DCLI_SPACE_REPLICA);
}

/** Whether what it reads is kept from now on. */
static inline bool dcli_is_kept(const struct dcli_view *view) { return view->policy != DCLI_POLICY_NONE; }

/** Plan a region of tiles, or a box that needs no further cutting. */
dcl_status dcli_plan_region(dcli_builder *builder, const dcl_box *box);
dcl_status dcli_plan_box(dcli_builder *builder, const dcl_box *box);

/** Plan a batch of tiles, or, when these are much larger than one should be, several.
 *  @param most  elements of the first output that a batch may have; what has up to twice as many is not cut. */
dcl_status dcli_plan_batch(dcli_builder *builder, int64_t first, int64_t count, int64_t most);

/** At the end: count the tiles with something to compute, of so many. */
dcl_status dcli_count_tasks(dcli_builder *builder, int64_t tiles);

/** Append the parts of a box of indices that have no gaps where declared reaches follow them. */
dcl_status dcli_cut_gaps(const dcli_builder *builder, const dcl_box *box, dcli_box_list *out);

/** Note what the accesses of a work need of other nodes, and give those a stage that are bound to none. */
dcl_status dcli_stage_views(dcli_builder *builder, struct dcli_view views[]);

/** Count a single element of a peer that is needed, and has not been before. */
dcl_status dcli_count_element(dcli_builder *builder, int k, int peer, const dcl_box *box);

/** Find what this node has kept of the operands before the operation. */
dcl_status dcli_find_sources(dcli_builder *builder);

/** Whether an operand has copies at this node, or gets some: what it has of them is not moved. */
static inline bool dcli_has_copies(const dcli_builder *builder, int k)
{
    return builder->seen[k].keeps || builder->seen[k].copied;
}

/** Whether some of a box lies in a copy that was there before the operation. */
bool dcli_meets_copy(const dcli_builder *builder, int k, const dcl_box *box);

/** Whether some of a box is owned elsewhere, and no copy that was there before has all of it. */
bool dcli_lacks(dcli_builder *builder, int k, const dcl_box *box);

/** Have the current batch copy a part of a box into a copy of the box. Parts of all batches are disjoint. */
dcl_status dcli_copy_part(dcli_builder *builder, int k, const dcl_box *copy, const dcl_box *part);

/** The stage of this batch that stands for a copy that is there. */
dcl_status dcli_name_copy(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out);

/** At the end: add the blocks that were touched to the counters. */
void dcli_count_blocks(dcli_builder *builder);

/** Once the needs of the last batch are in chunks: find the pieces that its stages are filled from and emptied to
 *  (plan_fill.c). */
dcl_status dcli_fill_stages(dcli_builder *builder);

#endif
