/* workqueue/plan_fine.c - cuts works into many small batches that can be lent, and joins works that are launched
 * together.
 *
 * Works are cut after everything else was planned: a part of a work has the same bindings, but other offsets. So the
 * cut changes neither the exchange with other nodes nor the counters. Only works that use the node's own parts are cut.
 * What else a batch has, such as the edges of a stencil, stays a batch with its stages and chunks. */
#include "workqueue/plan_fine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/cut.h"

enum { MOST_BESIDE = 64 }; /* most works that are cut together, and among which joining looks for the one to continue */
/* Fewest indices of the slowest axis in a batch, if an input is contiguous along it. B(i,j,k) = A(k,j,i) on a CPU: batches
 * of 16 indices take 2.7 times as long as one for all, of 32 and 64 1.7 times, of 128 and 256 1.0 to 1.4 times. */
enum { LEAST_ACROSS = 128 };
enum { MOST_BATCHES = 1024 }; /* most batches of a plan whose batches are made smaller for lack of memory for loans */

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* Whether the plan may be cut so that other nodes can run parts of it. Tile kernels, reductions, bodies with declared
 * reads, plans of single elements and plans that make replicas are not cut. */
static bool may_be_cut(const dcli_builder *builder)
{
    const dcli_operation *operation = builder->operation;
    const dcli_plan_terms *terms = builder->terms;
    const dcli_body *body = operation->body;
    if (terms->fine_elements == 0 || terms->node_count < 2 || terms->streams || body->tile_kernel ||
        body->result_count > 0 || dcli_makes_replicas(operation) ||
        dcli_layout_is_shuffled(operation->operand[body->owner].layout))
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    return true;
}

/* Whether a plan that exchanges elements may be cut, if `elements` of it use own parts only. The body must be one that
 * may be costly, because memory or the exchange limits all others. The elements must have at most LARGE_BYTES: many
 * bodies with loops are limited by memory, too, and short launches cost them more than lending gains. (A node launches
 * all of an operation at once if it takes at most 2 ms: dcli_lend_launch().) Where batches that use own parts only are
 * joined (dcli_plan_local_first()), times are not measured, and `pays` lends nothing. */
static bool may_cut_exchanging(const dcli_builder *builder, int64_t elements)
{
    enum { LARGE_BYTES = 4 << 20 };
    const dcli_body *body = builder->operation->body;
    return dcli_body_may_be_costly(body) && elements <= LARGE_BYTES / dcli_builder_bytes(builder, body->owner) &&
           builder->terms->local_bytes == 0 && builder->plan->spot == NULL && builder->panel_count == 0;
}

static bool needs_nothing(const dcli_batch *batch)
{
    return batch->stage_count == 0 && batch->chunk_count == 0 && batch->made_count == 0;
}

static bool uses_own_part(const dcli_builder *builder, const dcli_work *work)
{
    const dcli_binding *binding = &builder->plan->binding[work->first_binding];
    bool own = true;
    for (int a = 0; a < builder->operation->body->access_count && own; a++)
        own = binding[a].kind == DCLI_SPACE_OWN;
    return own;
}

enum { DROPPED = -1 };

/* A plan before it is cut. */
struct uncut {
    int64_t batches, works, bindings; /* how many it has */
    bool *cut;                        /* [works] whether a work is cut; the others stay in their batches */
    int64_t *number;                  /* [batches] of a batch that stays, because not all its works are cut: its new
                                         number; DROPPED: the batch does not stay */
    int64_t elements;                 /* elements of the works that are cut */
    int64_t tiles;                    /* tiles of the batches that do not stay */
    bool all;                         /* no batch stays */
};

/* Choose the works of batch b that are cut: those that use own parts only. If the batch has stages or chunks, but only
 * such works, none is cut, because a batch without works would be left. */
static void look_at_batch(const dcli_builder *builder, int64_t b, struct uncut *uncut)
{
    const dcli_batch *batch = &builder->plan->batch[b];
    int64_t own = 0, elements = 0;
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count; w++) {
        uncut->cut[w] = uses_own_part(builder, &builder->plan->work[w]);
        own += uncut->cut[w];
        elements += uncut->cut[w] ? dcli_box_elements(&builder->plan->work[w].box) : 0;
    }
    bool stays = own < batch->work_count || !needs_nothing(batch);
    if (own == batch->work_count && stays) {
        memset(uncut->cut + batch->first_work, 0, (size_t)batch->work_count * sizeof *uncut->cut);
        elements = 0;
    }
    uncut->number[b] = stays ? 0 : DROPPED;
    uncut->elements += elements;
    uncut->tiles += stays ? 0 : batch->tile_count;
    uncut->all = uncut->all && !stays;
}

static dcl_status look_at_batches(const dcli_builder *builder, struct uncut *uncut)
{
    const dcli_plan *plan = builder->plan;
    *uncut = (struct uncut){.batches = plan->batch_count,
                            .works = plan->work_count,
                            .bindings = plan->binding_count,
                            .cut = dcli_calloc((size_t)plan->work_count + 1, sizeof *uncut->cut),
                            .number = dcli_malloc(((size_t)plan->batch_count + 1) * sizeof *uncut->number),
                            .all = true};
    if (uncut->cut == NULL || uncut->number == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t b = 0; b < plan->batch_count; b++)
        look_at_batch(builder, b, uncut);
    return DCL_OK;
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

/* Elements of LEAST_ACROSS indices of the slowest axis, if the work reads an input that is contiguous along it; otherwise 0. Parts of a work
 * are slabs of the slowest axis. Thin ones read a few bytes at a time of such an input, each time from other pages. */
static int64_t elements_across(const dcli_builder *builder, const dcli_work *work)
{
    const dcli_body *body = builder->operation->body;
    const dcli_binding *binding = &builder->plan->binding[work->first_binding];
    const dcl_box *box = &work->box;
    bool across = false;
    for (int a = 0; a < body->access_count; a++)
        across |= !body->access[a].written && binding[a].step[0] == 1 && binding[a].step[box->rank - 1] > 1;
    return across && box->rank > 1 && box->count[0] > 1 ? LEAST_ACROSS * (dcli_box_elements(box) / box->count[0]) : 0;
}

/* Most elements of a batch; 0: there are too few for two batches, or batches would be too thin. */
static int64_t most_elements(const dcli_builder *builder, const struct uncut *uncut)
{
    int64_t elements = uncut->elements, most = dcli_ceil_div(elements, DCLI_FINE_BATCHES), across = 0;
    for (int64_t w = 0; w < uncut->works && !dcli_body_may_be_costly(builder->operation->body); w++)
        across = dcli_max(across, uncut->cut[w] ? elements_across(builder, &builder->plan->work[w]) : 0);
    if (dcli_body_may_be_costly(builder->operation->body))
        most = dcli_max(dcli_min(most, DCLI_FEW_ELEMENTS),
                        dcli_min(dcli_ceil_div(elements, DCLI_FINEST_BATCHES),
                                 dcli_max(DCLI_MANY_ELEMENTS, dcli_ceil_div(elements, DCLI_MANY_BATCHES))));
    else
        most = dcli_max(most, builder->terms->fine_elements);
    if (most > elements / 2)
        return 0;
    most = dcli_min(most, dcli_max(elements_in_memory(builder), dcli_ceil_div(elements, MOST_BATCHES)));
    return most >= across ? most : 0;
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
    dcli_batch *batch = &builder->plan->batch[builder->plan->batch_count - 1];
    batch->fine = true;
    batch->work_count++;
    return add_part(builder, w, lo, count);
}

/* Append the parts of a work. */
static dcl_status cut_work(dcli_builder *builder, int64_t w, int64_t most, int64_t *taken)
{
    int64_t shape[DCL_MAX_RANK];
    dcl_status status = DCL_OK;
    dcl_box box = builder->plan->work[w].box;
    dcli_cut_shape(box.rank, box.count, NULL, most, shape);
    dcli_cut cut = dcli_cut_begin(box.rank, box.count, shape);
    while (status == DCL_OK && dcli_cut_next(&cut))
        status = put_part(builder, w, cut.lo, cut.count, most, taken);
    return status;
}

/* Number of works from number w on that are cut and have the same indices of the slowest axis. */
static int64_t find_beside(const dcli_builder *builder, const struct uncut *uncut, int64_t w)
{
    const dcl_box *box = &builder->plan->work[w].box;
    int64_t count = 1;
    for (; w + count < uncut->works && uncut->cut[w + count]; count++) {
        const dcl_box *other = &builder->plan->work[w + count].box;
        if (other->start[0] != box->start[0] || other->count[0] != box->count[0] || other->stride[0] != box->stride[0])
            break;
    }
    return count;
}

/* Append the parts of works that lie side by side along other axes than the slowest one, such as those of `*,cyclic(64)`:
 * first the first indices of the slowest axis in all works, then the next ones. Whole works would be short lines of the
 * node's part. Bodies that may be costly have many small batches, so their works are cut one after the other. */
static dcl_status cut_beside(dcli_builder *builder, int64_t w, int64_t count, int64_t most, int64_t *taken)
{
    dcl_status status = DCL_OK;
    int64_t slab = 0, rows = builder->plan->work[w].box.count[0];
    for (int64_t n = 0; n < count; n++)
        slab += dcli_box_elements(&builder->plan->work[w + n].box) / rows;
    int64_t thick = most / slab;
    if (count < 2 || count > MOST_BESIDE || thick < 1 || dcli_body_may_be_costly(builder->operation->body)) {
        for (int64_t n = 0; n < count && status == DCL_OK; n++)
            status = cut_work(builder, w + n, most, taken);
        return status;
    }
    for (int64_t r = 0; r < rows && status == DCL_OK; r += thick)
        for (int64_t n = 0; n < count && status == DCL_OK; n++) {
            int64_t lo[DCL_MAX_RANK] = {r}, size[DCL_MAX_RANK];
            memcpy(size, builder->plan->work[w + n].box.count, sizeof size);
            size[0] = dcli_min(thick, rows - r);
            status = put_part(builder, w + n, lo, size, most, taken);
        }
    return status;
}

/* Append batches with the parts of all works that are cut. */
static dcl_status append_cut(dcli_builder *builder, const struct uncut *uncut, int64_t most)
{
    dcli_plan *plan = builder->plan;
    int64_t taken = 0, first = plan->batch_count, beside;
    dcl_status status = DCL_OK;
    for (int64_t w = 0; w < uncut->works && status == DCL_OK; w += beside) {
        beside = 1;
        if (!uncut->cut[w])
            continue;
        beside = find_beside(builder, uncut, w);
        status = cut_beside(builder, w, beside, most, &taken);
    }
    int64_t count = plan->fine_count = plan->batch_count - first;
    for (int64_t b = 0; b < count; b++) {
        plan->batch[first + b].first_tile = b * uncut->tiles / count;
        plan->batch[first + b].tile_count = (b + 1) * uncut->tiles / count - b * uncut->tiles / count;
    }
    return status;
}

/* Append the batches that stay, with the works that are not cut, and let the chunks name them by their new numbers. */
static dcl_status append_others(dcli_builder *builder, const struct uncut *uncut)
{
    static const int64_t none[DCL_MAX_RANK];
    dcli_plan *plan = builder->plan;
    for (int64_t b = 0; b < uncut->batches; b++) {
        if (uncut->number[b] == DROPPED)
            continue;
        dcli_batch *batch = dcli_builder_batch(builder);
        if (batch == NULL)
            return DCL_ERR_NOMEM;
        *batch = plan->batch[b];
        batch->first_work = plan->work_count;
        batch->work_count = 0;
        uncut->number[b] = plan->batch_count - 1 - uncut->batches;
        for (int64_t w = plan->batch[b].first_work; w < plan->batch[b].first_work + plan->batch[b].work_count; w++) {
            int64_t count[DCL_MAX_RANK];
            memcpy(count, plan->work[w].box.count, sizeof count);
            if (!uncut->cut[w] && add_part(builder, w, none, count) != DCL_OK)
                return DCL_ERR_NOMEM;
        }
        batch->work_count = plan->work_count - batch->first_work;
    }
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        plan->chunk[c].first_batch = uncut->number[plan->chunk[c].first_batch];
        plan->chunk[c].last_batch = uncut->number[plan->chunk[c].last_batch];
    }
    return DCL_OK;
}

/* Remove the batches of before with their works and bindings. */
static void drop_uncut(dcli_plan *plan, const struct uncut *uncut)
{
    plan->work_count -= uncut->works;
    plan->binding_count -= uncut->bindings;
    plan->batch_count -= uncut->batches;
    memmove(plan->work, plan->work + uncut->works, (size_t)plan->work_count * sizeof *plan->work);
    memmove(plan->binding, plan->binding + uncut->bindings, (size_t)plan->binding_count * sizeof *plan->binding);
    memmove(plan->batch, plan->batch + uncut->batches, (size_t)plan->batch_count * sizeof *plan->batch);
    for (int64_t w = 0; w < plan->work_count; w++)
        plan->work[w].first_binding -= uncut->bindings;
    for (int64_t b = 0; b < plan->batch_count; b++)
        plan->batch[b].first_work -= uncut->works;
}

/* Replace the chosen works by fine batches of at most `most` elements. If the other batches wait for chunks, the fine ones
 * are put before them. Otherwise the others are put first: they read parts of peers in place, and the peers learn early
 * that this has been done. */
static dcl_status cut(dcli_builder *builder, const struct uncut *uncut, int64_t most)
{
    bool waits = builder->plan->chunk_count > 0;
    dcl_status status = waits ? append_cut(builder, uncut, most) : append_others(builder, uncut);
    if (status == DCL_OK)
        status = waits ? append_others(builder, uncut) : append_cut(builder, uncut, most);
    if (status == DCL_OK)
        drop_uncut(builder->plan, uncut);
    return status;
}

dcl_status dcli_plan_cut_fine(dcli_builder *builder, bool alone)
{
    struct uncut uncut;
    if (!may_be_cut(builder) || (!alone && !may_cut_exchanging(builder, 0)))
        return DCL_OK;
    dcl_status status = look_at_batches(builder, &uncut);
    int64_t most = status == DCL_OK ? most_elements(builder, &uncut) : 0;
    if (most > 0 && (uncut.all ? alone && uncut.batches == 1 : may_cut_exchanging(builder, uncut.elements)))
        status = cut(builder, &uncut, most);
    dcli_free(uncut.cut);
    dcli_free(uncut.number);
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

/* Join the last of `count` works to the one of those shortly before it that it continues along the slowest axis. */
static bool join_beside(const dcli_operation *operation, const dcli_plan *plan, dcli_work works[], int64_t count)
{
    const dcli_work *last = &works[count - 1];
    for (int64_t w = count - 2; w >= 0 && w >= count - 1 - MOST_BESIDE; w--)
        if (axis_between(&works[w].box, &last->box) == 0 && continues(operation, plan, &works[w], last, 0)) {
            works[w].box.count[0] += last->box.count[0];
            return true;
        }
    return false;
}

int64_t dcli_plan_join(const dcli_operation *operation, const dcli_plan *plan, int64_t first, int64_t count,
                       dcli_work works_out[])
{
    const dcli_batch *last = &plan->batch[first + count - 1];
    int64_t joined = 0;
    for (int64_t w = plan->batch[first].first_work; w < last->first_work + last->work_count; w++) {
        works_out[joined++] = plan->work[w];
        int64_t alone = joined;
        while (join_last(operation, plan, works_out, joined)) /* a complete row may continue the rows before it */
            joined--;
        if (joined == alone && join_beside(operation, plan, works_out, joined))
            joined--;
    }
    return joined;
}
