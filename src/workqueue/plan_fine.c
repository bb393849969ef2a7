/* workqueue/plan_fine.c - cuts the only batch of a plan into many that can be lent, and joins works that are launched
 * together.
 *
 * Works are cut after everything else was planned: a part of a work has the same bindings, but other offsets. So the
 * cut changes neither the exchange with other nodes nor the counters. */
#include "workqueue/plan_fine.h"

#include <string.h>

#include "base/check.h"
#include "segment/cut.h"

enum { MOST_BATCHES = 1024 }; /* most batches of a plan whose batches are made smaller for lack of memory for loans */

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* Whether the plan is cut so that other nodes can run parts of it. Tile kernels, reductions, plans of single elements,
 * and plans that make replicas or use stages, chunks or parts of other nodes are not cut. */
static bool can_be_cut(const dcli_builder *builder)
{
    const dcli_operation *operation = builder->operation;
    const dcli_plan_terms *terms = builder->terms;
    const dcli_plan *plan = builder->plan;
    const dcli_body *body = operation->body;
    if (terms->fine_elements == 0 || terms->node_count < 2 || terms->streams || body->tile_kernel ||
        body->result_count > 0 || plan->batch_count != 1 || plan->stage_count > 0 || plan->chunk_count > 0 ||
        dcli_makes_replicas(operation) || dcli_layout_is_shuffled(operation->operand[body->owner].layout))
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    for (int64_t n = 0; n < plan->binding_count; n++)
        if (plan->binding[n].kind != DCLI_SPACE_OWN)
            return false;
    return true;
}

/* How many elements a batch may have so that a question has memory for its loan even if all elements are sent: a thief
 * has its inputs and results twice, in stages and in messages. */
static int64_t elements_in_memory(const dcli_builder *builder)
{
    enum {
        TILES = 4,
        COPIES = 2
    }; /* TILES: half of what a question reserves, and of what all results of a victim
          may take (worker/stealing.c) */
    const dcli_body *body = builder->operation->body;
    int64_t bytes = 0;
    for (int a = 0; a < body->access_count; a++)
        bytes += COPIES * dcli_builder_bytes(builder, body->access[a].param);
    return dcli_max(1, TILES * builder->terms->batch_bytes / dcli_max(1, bytes));
}

/* Most elements of a batch; 0: there are too few for two batches. */
static int64_t most_elements(const dcli_builder *builder, int64_t owned)
{
    const dcli_operation *operation = builder->operation;
    int64_t elements = dcli_min(owned, dcli_box_elements(&operation->box));
    int64_t most = dcli_ceil_div(elements, DCLI_FINE_BATCHES);
    if (dcli_body_may_be_costly(operation->body))
        most = dcli_max(dcli_min(most, DCLI_FEW_ELEMENTS),
                        dcli_min(dcli_ceil_div(elements, DCLI_FINEST_BATCHES),
                                 dcli_max(DCLI_MANY_ELEMENTS, dcli_ceil_div(elements, DCLI_MANY_BATCHES))));
    else
        most = dcli_max(most, builder->terms->fine_elements);
    if (most > elements / 2)
        return 0;
    return dcli_min(most, dcli_max(elements_in_memory(builder), dcli_ceil_div(elements, MOST_BATCHES)));
}

/* Append a part of work number w: per axis the indices lo .. lo + count - 1 of its box, counted in steps of the box. */
static dcl_status add_part(dcli_builder *builder, int64_t w, const int64_t lo[], const int64_t count[])
{
    dcli_plan *plan = builder->plan;
    int accesses = builder->operation->body->access_count;
    dcli_work *work = dcli_builder_work(builder);
    dcli_binding *binding = dcli_builder_bindings(builder, accesses);
    if (work == NULL || binding == NULL)
        return DCL_ERR_NOMEM;
    *work = plan->work[w];
    memcpy(binding, plan->binding + work->first_binding, (size_t)accesses * sizeof *binding);
    dcli_box_part(&plan->work[w].box, lo, count, &work->box);
    work->first_binding = binding - plan->binding;
    for (int a = 0; a < accesses; a++)
        for (int m = 0; m < work->box.rank; m++)
            binding[a].offset += lo[m] * binding[a].step[m];
    return DCL_OK;
}

/* Append a part to the last batch, or to a new one if the last would become too large.
 * @param taken  number of elements in the last batch; updated */
static dcl_status put_part(dcli_builder *builder, int64_t w, const int64_t lo[], const int64_t count[], int64_t most,
                           int64_t *taken)
{
    int64_t elements = 1;
    for (int m = 0; m < builder->plan->work[w].box.rank; m++)
        elements *= count[m];
    if (*taken > 0 && *taken + elements > most)
        *taken = 0;
    if (*taken == 0 && dcli_builder_batch(builder) == NULL)
        return DCL_ERR_NOMEM;
    *taken += elements;
    builder->plan->batch[builder->plan->batch_count - 1].work_count++;
    return add_part(builder, w, lo, count);
}

/* Append batches with all works of batch 0, cut if they are large. */
static dcl_status append_batches(dcli_builder *builder, int64_t most)
{
    const dcli_plan *plan = builder->plan;
    int64_t works = plan->work_count, taken = 0;
    dcl_status status = DCL_OK;
    for (int64_t w = 0; w < works && status == DCL_OK; w++) {
        int64_t shape[DCL_MAX_RANK];
        dcl_box box = plan->work[w].box;
        dcli_cut_shape(box.rank, box.count, NULL, most, shape);
        dcli_cut cut = dcli_cut_begin(box.rank, box.count, shape);
        while (status == DCL_OK && dcli_cut_next(&cut))
            status = put_part(builder, w, cut.lo, cut.count, most, &taken);
    }
    return status;
}

/* Remove the first batch with its works. Its tiles are counted as tiles of the other batches. */
static void drop_first(dcli_plan *plan, int64_t works, int64_t bindings, int64_t tiles)
{
    plan->work_count -= works;
    plan->binding_count -= bindings;
    plan->batch_count--;
    memmove(plan->work, plan->work + works, (size_t)plan->work_count * sizeof *plan->work);
    memmove(plan->binding, plan->binding + bindings, (size_t)plan->binding_count * sizeof *plan->binding);
    memmove(plan->batch, plan->batch + 1, (size_t)plan->batch_count * sizeof *plan->batch);
    for (int64_t w = 0; w < plan->work_count; w++)
        plan->work[w].first_binding -= bindings;
    for (int64_t b = 0; b < plan->batch_count; b++) {
        plan->batch[b].first_work -= works;
        plan->batch[b].first_tile = b * tiles / plan->batch_count;
        plan->batch[b].tile_count = (b + 1) * tiles / plan->batch_count - plan->batch[b].first_tile;
    }
}

dcl_status dcli_plan_cut_fine(dcli_builder *builder, int64_t owned, int64_t tiles)
{
    dcli_plan *plan = builder->plan;
    int64_t most = can_be_cut(builder) ? most_elements(builder, owned) : 0;
    int64_t works = plan->work_count, bindings = plan->binding_count;
    if (most == 0)
        return DCL_OK;
    dcl_status status = append_batches(builder, most);
    if (status == DCL_OK)
        drop_first(plan, works, bindings, tiles);
    plan->fine = status == DCL_OK && plan->batch_count > 1;
    return status;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* Find the axis along which box b continues box a. @return -1: it does not. */
static int axis_between(const dcl_box *a, const dcl_box *b)
{
    int axis = -1;
    for (int d = 0; d < a->rank; d++) {
        bool same = a->start[d] == b->start[d] && a->count[d] == b->count[d];
        if (a->stride[d] != b->stride[d] || (!same && axis >= 0) ||
            (!same && b->start[d] != a->start[d] + a->count[d] * a->stride[d]))
            return -1;
        axis = same ? axis : d;
    }
    return axis;
}

/* Whether work b accesses the memory that follows that of work a along an axis, for all bindings. */
static bool continues(const dcli_operation *operation, const dcli_plan *plan, const dcli_work *a, const dcli_work *b,
                      int axis)
{
    bool same = a->checked == b->checked;
    for (int n = 0; n < operation->body->access_count && same; n++) {
        const dcli_binding *x = &plan->binding[a->first_binding + n], *y = &plan->binding[b->first_binding + n];
        same = x->kind == y->kind && x->where == y->where && x->limits == NULL && y->limits == NULL &&
               y->offset == x->offset + a->box.count[axis] * x->step[axis] &&
               memcmp(x->step, y->step, sizeof x->step) == 0;
    }
    return same;
}

/* Join the last two of `count` works, if the last one continues the one before it. */
static bool join_last(const dcli_operation *operation, const dcli_plan *plan, dcli_work works[], int64_t count)
{
    dcli_work *before = count > 1 ? &works[count - 2] : NULL, *last = &works[count - 1];
    int axis = before != NULL ? axis_between(&before->box, &last->box) : -1;
    if (axis < 0 || !continues(operation, plan, before, last, axis))
        return false;
    before->box.count[axis] += last->box.count[axis];
    return true;
}

int64_t dcli_plan_join(const dcli_operation *operation, const dcli_plan *plan, int64_t first, int64_t count,
                       dcli_work works_out[])
{
    const dcli_batch *last = &plan->batch[first + count - 1];
    int64_t joined = 0;
    for (int64_t w = plan->batch[first].first_work; w < last->first_work + last->work_count; w++) {
        works_out[joined++] = plan->work[w];
        while (join_last(operation, plan, works_out, joined)) /* a complete row may continue the rows before it */
            joined--;
    }
    return joined;
}
