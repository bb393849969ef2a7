/* workqueue/plan_detail.c - details of a plan for reports: traffic per pair of nodes, bytes per operand, memory, and
 * footprints that are wider than what is read.
 *
 * Moves are recorded at the place where the counters are increased, so that report and counters cannot differ; the
 * other details are computed from the finished plan. */
#include "workqueue/plan_detail.h"

#include "base/alloc.h"
#include "base/check.h"

dcl_status dcli_detail_begin(dcli_builder *builder)
{
    size_t nodes = (size_t)builder->terms->node_count;
    dcli_plan_detail *detail = dcli_calloc(1, sizeof *detail);
    if (detail == NULL)
        return DCL_ERR_NOMEM;
    builder->plan->detail = detail;
    detail->pair = dcli_calloc(nodes, sizeof *detail->pair);
    detail->peer = dcli_calloc(nodes, sizeof *detail->peer);
    return detail->pair != NULL && detail->peer != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

void dcli_detail_free(dcli_plan_detail *detail)
{
    if (detail == NULL)
        return;
    dcli_free(detail->pair);
    dcli_free(detail->peer);
    dcli_free(detail);
}

static dcli_plan_pair *meet(dcli_plan_detail *detail, int peer)
{
    dcli_plan_pair *pair = &detail->pair[peer];
    if (!pair->met)
        detail->peer[detail->peer_count++] = peer;
    pair->met = true;
    return pair;
}

void dcli_detail_moved(dcli_builder *builder, const dcli_detail_move *move)
{
    dcli_plan_detail *detail = builder->plan->detail;
    if (detail == NULL)
        return;
    dcli_plan_pair *pair = meet(detail, move->peer);
    *(move->written ? &pair->bytes_written : &pair->bytes_read) += move->bytes;
    if (!move->counted)
        return;
    pair->bytes += move->bytes;
    pair->blocks += move->blocks;
    detail->moved[move->operand] += move->bytes;
}

static void add_blocks(dcli_builder *builder)
{
    dcli_plan_detail *detail = builder->plan->detail;
    for (int k = 0; k < builder->operation->operand_count; k++)
        for (int64_t n = 0; n < builder->seen[k].owned_count; n++)
            detail->pair[builder->seen[k].owned[n].owner].blocks += builder->seen[k].owned[n].blocks.count;
}

static void add_staged(dcli_builder *builder)
{
    const dcli_plan *plan = builder->plan;
    for (int64_t b = 0; b < plan->batch_count; b++) {
        const dcli_batch *batch = &plan->batch[b];
        int64_t bytes = 0;
        for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count; s++)
            if (plan->stage[s].kind == DCLI_STAGE_TEMPORARY)
                bytes += plan->stage[s].elements * dcli_builder_bytes(builder, plan->stage[s].operand);
        plan->detail->staged_bytes = dcli_max(plan->detail->staged_bytes, bytes);
    }
}

/* Add the bytes of new replicas. One that several batches fill is counted with its last batch. */
static void add_copied(dcli_builder *builder)
{
    const dcli_plan *plan = builder->plan;
    for (int64_t s = 0; s < plan->stage_count; s++)
        if (plan->stage[s].kind == DCLI_STAGE_NEW_REPLICA && !plan->stage[s].unfinished)
            plan->detail->copied_bytes +=
                dcli_box_elements(&plan->stage[s].box) * dcli_builder_bytes(builder, plan->stage[s].operand);
}

/* An upper bound, at most `most`, on the number of elements that an access reads for the indices of a box: that of
 * combinations of indices and inner counters which occur in its subscripts. */
static int64_t different_reads(const dcli_subscripts *subscripts, const dcl_box *box, int64_t most)
{
    int64_t reads = 1;
    for (int m = 0; m < subscripts->space_rank + subscripts->inner_rank; m++) {
        bool occurs = false;
        for (int d = 0; d < subscripts->rank; d++)
            occurs |= subscripts->axis[d].coef[m] != 0;
        int64_t count =
            m < subscripts->space_rank ? box->count[m] : subscripts->inner_count[m - subscripts->space_rank];
        if (occurs && count >= (most + reads - 1) / reads)
            return most;
        if (occurs)
            reads *= count;
    }
    return dcli_min(reads, most);
}

static void add_excess(dcli_builder *builder, int a, const dcl_box *box)
{
    dcli_plan_excess *excess = &builder->plan->detail->excess[a];
    dcl_box seen, foot;
    bool cut;
    if (!dcli_access_footprint(builder->operation, a, &builder->accesses->own[a], box, &seen, &foot, &cut))
        return;
    int64_t elements = dcli_box_elements(&foot);
    excess->elements += elements;
    excess->read_at_most += different_reads(&builder->accesses->own[a], box, elements);
}

static void add_works(dcli_builder *builder)
{
    const dcli_plan *plan = builder->plan;
    const dcli_body *body = builder->operation->body;
    for (int64_t w = 0; w < plan->work_count; w++)
        plan->detail->elements += dcli_box_elements(&plan->work[w].box);
    for (int a = 0; body != NULL && a < body->access_count; a++)
        if (dcli_access_is_wide(&body->access[a], &builder->accesses->own[a]))
            for (int64_t w = 0; w < plan->work_count; w++)
                add_excess(builder, a, &plan->work[w].box);
}

void dcli_detail_end(dcli_builder *builder)
{
    const dcli_plan *plan = builder->plan;
    add_blocks(builder);
    add_staged(builder);
    add_copied(builder);
    add_works(builder);
    for (int64_t c = 0; c < plan->chunk_count; c++)
        meet(plan->detail, plan->chunk[c].peer)->messages++;
}
