/* workqueue/plan_early.c - early copies of peers' parts: small footprints are copied into stages before kernels run.
 *
 * If nodes read each other's parts in place, an owner must not overwrite elements that kernels of a peer still read. If
 * a batch reads few elements in place, copying them costs less than this wait: the batch copies them when it starts,
 * and the owners continue while its kernels run. A batch copies everything that it reads in place, or nothing: a single
 * read that lasts makes the owner wait in any case. */
#include "base/alloc.h"
#include "workqueue/plan_view.h"

/* Maximum number of small footprints that a batch copies early; with more it copies none, because each stage is filled
 * and bound separately, which costs more than its bytes. */
enum { MOST_STAGES = 64 };

static int64_t bytes_of(const dcli_builder *builder, int k, const dcl_box *box)
{
    return dcli_padded_elements(box, dcli_builder_bytes(builder, k)) * dcli_builder_bytes(builder, k);
}

/* Maximum bytes that a batch copies early: 0 on GPUs, where the copies would wait for earlier kernels. */
static int64_t most_bytes(const dcli_builder *builder)
{
    return (builder->terms->ways[builder->self].can & DCLI_CAN_READ) != 0 ? builder->terms->early_bytes : 0;
}

static bool is_little(const dcli_builder *builder, int64_t count, int64_t bytes)
{
    return count <= MOST_STAGES && bytes <= most_bytes(builder);
}

dcl_status dcli_early_note(dcli_builder *builder, int a, int64_t binding, const dcl_box *space,
                           const struct dcli_view *view)
{
    builder->early_bytes += bytes_of(builder, dcli_param_of(builder, a), &view->foot);
    if (!is_little(builder, builder->early_count + 1, builder->early_bytes)) {
        builder->early_bytes = most_bytes(builder) + 1; /* mark the limit as exceeded for the rest of the batch */
        return DCL_OK;
    }
    if (dcli_grow(&builder->early, builder->early_count, &builder->early_capacity, sizeof *builder->early) != 0)
        return DCL_ERR_NOMEM;
    builder->early[builder->early_count++] =
        (struct dcli_early_read){.access = a, .binding = binding, .space = *space, .view = *view};
    return DCL_OK;
}

/* The stage of a read before builder->early[count] that has the same box; -1: none. */
static int64_t find_alike(const dcli_builder *builder, int64_t count)
{
    const struct dcli_early_read *read = &builder->early[count];
    for (int64_t e = 0; e < count; e++)
        if (dcli_param_of(builder, builder->early[e].access) == dcli_param_of(builder, read->access) &&
            dcli_box_equal(&builder->early[e].view.foot, &read->view.foot))
            return builder->early[e].view.stage;
    return -1;
}

static dcl_status stage_read(dcli_builder *builder, int64_t e)
{
    struct dcli_early_read *read = &builder->early[e];
    read->view.kind = DCLI_SPACE_STAGE;
    read->view.stage = find_alike(builder, e);
    dcl_status status = DCL_OK;
    if (read->view.stage < 0) {
        status = dcli_add_stage(builder, dcli_param_of(builder, read->access), &read->view.foot, &read->view.stage);
        if (status == DCL_OK)
            status = dcli_builder_want(builder, &(dcli_want){.stage = read->view.stage,
                                                             .content = true,
                                                             .sources = builder->source_count,
                                                             .box = read->view.foot});
    }
    if (status == DCL_OK)
        dcli_bind_view(builder, read->access, &read->space, &read->view, &builder->plan->binding[read->binding]);
    return status;
}

dcl_status dcli_early_stage(dcli_builder *builder)
{
    dcl_status status = DCL_OK;
    if (is_little(builder, builder->early_count, builder->early_bytes))
        for (int64_t e = 0; e < builder->early_count && status == DCL_OK; e++)
            status = stage_read(builder, e);
    builder->early_count = builder->early_bytes = 0;
    return status;
}

static bool has_peers_elements(const dcli_plan *plan, const dcli_stage *stage)
{
    for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count; p++)
        if (plan->piece[p].kind == DCLI_SPACE_PEER)
            return true;
    return false;
}

void dcli_early_mark(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    int64_t first = plan->batch[plan->batch_count - 1].first_stage, count = 0, bytes = 0;
    if (!dcli_reads_parts(builder) || builder->terms->streams)
        return;
    for (int64_t s = first; s < plan->stage_count && is_little(builder, count, bytes); s++) {
        dcli_stage *stage = &plan->stage[s];
        stage->early = stage->kind == DCLI_STAGE_TEMPORARY && has_peers_elements(plan, stage);
        count += stage->early;
        bytes += stage->early ? stage->elements * dcli_builder_bytes(builder, stage->operand) : 0;
    }
    if (is_little(builder, count, bytes))
        return;
    for (int64_t s = first; s < plan->stage_count; s++)
        plan->stage[s].early = false;
}
