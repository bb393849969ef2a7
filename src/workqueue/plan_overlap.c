/* workqueue/plan_overlap.c - the plan of a loop body that uses the lines around parts (overlap.h): one batch with one
 * work.
 *
 * The batch first receives the lines around the parts of its fresh operands, which are copied into the memory of the
 * part. The work covers the node's indices and those of the lines that it also computes. All of its accesses are bound
 * to the part. */
#include <assert.h>

#include "base/check.h"
#include "workqueue/overlap.h"
#include "workqueue/plan_view.h"

/* Receive the lines of operand k in front of the part and after it. */
static dcl_status receive(dcli_builder *builder, int k, const dcli_region *own, const dcli_region *around)
{
    dcl_status status = DCL_OK;
    builder->seen[k].unique = true; /* each line is received once */
    int64_t first = around->box.start[0], end = first + around->box.count[0],
            own_end = own->box.start[0] + own->box.count[0];
    dcl_box box = around->box;
    box.count[0] = own->box.start[0] - first;
    if (box.count[0] > 0)
        status = dcli_around_stage(builder, k, &box, around->offset);
    box.start[0] = own_end;
    box.count[0] = end - own_end;
    if (box.count[0] > 0 && status == DCL_OK)
        status = dcli_around_stage(builder, k, &box, around->offset + (own_end - first) * around->step[0]);
    return status;
}

/* Find the indices that the node computes: its own, and those of `beyond` lines around them. @return false: none. */
static bool find_box(const dcli_builder *builder, const dcli_region *own, const dcli_region *around, dcl_box *box_out)
{
    dcl_box lines = around->box;
    int64_t beyond = builder->operation->overlap - 1, end = lines.start[0] + lines.count[0];
    int64_t first = dcli_max(lines.start[0], own->box.start[0] - beyond);
    lines.count[0] = dcli_min(end, own->box.start[0] + own->box.count[0] + beyond) - first;
    lines.start[0] = first;
    return dcli_box_intersect(&builder->operation->box, &lines, box_out);
}

/* Bind all accesses of the work to the part with the lines around it. */
static dcl_status emit(dcli_builder *builder, const dcl_box *box, const dcli_region *around)
{
    int accesses = builder->operation->body->access_count;
    dcli_work *work = dcli_builder_work(builder);
    if (work == NULL)
        return DCL_ERR_NOMEM;
    *work = (dcli_work){.box = *box, .first_binding = builder->plan->binding_count};
    dcli_binding *bindings = dcli_builder_bindings(builder, accesses);
    for (int a = 0; bindings != NULL && a < accesses; a++) {
        struct dcli_view view = {.kind = DCLI_SPACE_OWN, .node = builder->self, .stage = -1, .region = *around};
        bool cut;
        dcli_footprint(&builder->accesses->own[a], box, &builder->accesses->grid[a], &view.foot, &cut);
        view.seen = view.foot;
        dcli_bind_view(builder, a, box, &view, &bindings[a]);
    }
    return bindings != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

dcl_status dcli_plan_overlap(dcli_builder *builder, int64_t tiles)
{
    const dcli_operation *operation = builder->operation;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    dcli_region own, around;
    dcl_box box;
    bool found;
    dcl_status status = dcli_layout_around(layout, builder->self, &found, &own, &around);
    if (status != DCL_OK)
        return status;
    assert(found); /* the node owns elements, and the layout has lines around parts: dcli_overlap_choose() */
    bool computes = find_box(builder, &own, &around, &box);
    if (!computes && !dcli_overlap_receives(operation))
        return DCL_OK;
    if (dcli_builder_batch(builder) == NULL)
        return DCL_ERR_NOMEM;
    for (int k = 0; k < operation->operand_count && status == DCL_OK; k++)
        if (operation->operand[k].fresh)
            status = receive(builder, k, &own, &around);
    if (status == DCL_OK && computes && !builder->terms->streams)
        status = emit(builder, &box, &around);
    if (status == DCL_OK)
        status = dcli_builder_chunks(builder);
    if (status == DCL_OK)
        status = dcli_fill_stages(builder);
    dcli_plan *plan = builder->plan;
    dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    batch->tile_count = tiles;
    batch->work_count = plan->work_count - batch->first_work;
    if (builder->terms->streams)
        plan->stage_count = batch->first_stage;
    batch->stage_count = plan->stage_count - batch->first_stage;
    return status;
}
