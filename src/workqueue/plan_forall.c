/* workqueue/plan_forall.c - the plan of a loop body. The node that owns an element of the first output computes it.
 *
 * Tiles are grouped into batches, and batches are cut into works. The box of a work is first cut where reads would
 * leave their grid: inside, kernels run without checks. Then it is cut where reads leave the node's own part: inside,
 * kernels read the part itself. All remaining reads use one peer's part in place, a replica, or a stage. */
#include "workqueue/plan_forall.h"

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "segment/declared.h"
#include "segment/image.h"
#include "segment/wide.h"
#include "workqueue/narrow.h"
#include "workqueue/overlap.h"
#include "workqueue/plan_fine.h"
#include "workqueue/plan_local.h"
#include "workqueue/plan_panels.h"
#include "workqueue/plan_view.h"

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

/* Bind an affine access to a region that contains all its elements: compute the offset of the element for the loop's
 * first index and counters 0 of inner axes, and the step per loop axis and per inner axis. An array axis on which the
 * footprint has one index adds nothing to the steps: reads of other indices would be outside the grid and are never
 * made. */
static void bind_affine(const dcli_subscripts *subscripts, const dcl_box *box, const dcl_box *foot,
                        const dcli_region *region, dcli_binding *binding)
{
    binding->offset = region->offset;
    for (int d = 0; d < subscripts->rank; d++) {
        const dcli_subscript *subscript = &subscripts->axis[d];
        int64_t stride = region->box.stride[d];
        if (foot->count[d] == 1) {
            binding->offset += (foot->start[d] - region->box.start[d]) / stride * region->step[d];
            continue;
        }
        int64_t first = subscript->constant;
        for (int m = 0; m < subscripts->space_rank; m++) {
            first += subscript->coef[m] * box->start[m];
            binding->step[m] += subscript->coef[m] * box->stride[m] / stride * region->step[d];
        }
        for (int m = subscripts->space_rank; m < subscripts->space_rank + subscripts->inner_rank; m++)
            binding->step[m] += subscript->coef[m] / stride * region->step[d];
        binding->offset += (first - region->box.start[d]) / stride * region->step[d];
    }
}

/* The steps in memory per index of the array as the body sees it, by which checking kernels find the elements to which
 * clamps move. On an axis where a clamp moves, the footprint has all indices that the body sees, so the quotients are
 * exact; on others they are not used. */
static void bind_clamps(const dcli_transform *view, const dcl_box *foot, const dcli_region *region, dcli_limits *limits)
{
    memset(limits->width, 0, sizeof limits->width);
    for (int d = 0; d < foot->rank; d++) {
        int v = view != NULL ? view->axis[d] : d;
        if (v >= 0 && foot->count[d] > 1)
            limits->width[v] = (view != NULL ? view->step[d] : 1) / region->box.stride[d] * region->step[d];
    }
}

/* As bind_affine() for declared reaches, whose indices a kernel computes itself: one step per axis of the array as the
 * body sees it. */
static void bind_reach(const dcli_transform *view, const dcl_box *seen, const dcli_region *region,
                       dcli_binding *binding)
{
    int64_t first[DCL_MAX_RANK];
    dcli_transform_index(view, seen->start, first);
    binding->offset = region->offset;
    for (int d = 0; d < view->base_rank; d++) {
        int64_t stride = region->box.stride[d];
        int v = view->axis[d];
        binding->offset += (first[d] - region->box.start[d]) / stride * region->step[d];
        if (v >= 0 && seen->count[v] > 1)
            binding->step[v] = view->step[d] * seen->stride[v] / stride * region->step[d];
    }
}

/* The bounds against which kernels check the indices of an access. */
static dcli_limits make_limits(const dcli_subscripts *subscripts, const dcl_box *seen)
{
    dcli_limits limits = {.low = {0}};
    dcli_reach reach = subscripts->reach;
    memcpy(limits.low, seen->start, sizeof limits.low);
    memcpy(limits.count, seen->count, sizeof limits.count);
    for (int d = 0; d < subscripts->rank; d++)
        if (reach == DCLI_REACH_HALO || reach == DCLI_REACH_CROSS)
            limits.width[d] = subscripts->declared.number[d];
        else if (reach == DCLI_REACH_BOX || reach == DCLI_REACH_FUNCTION)
            limits.width[d] = seen->stride[d];
        else if (reach == DCLI_REACH_AFFINE && seen->count[d] > 0) /* all indices from the first to the last one are
                                                                      valid */
            limits.count[d] = (seen->count[d] - 1) * seen->stride[d] + 1;
    return limits;
}

dcli_limits dcli_limits_of(const dcli_operation *operation, int a, const dcl_box *box)
{
    dcli_subscripts own, base;
    dcl_box seen = {.rank = 0}, foot;
    bool cut;
    /* They cannot overflow, because this was checked before planning. */
    if (dcli_operation_subscripts(operation, a, &own, &base) == DCL_OK)
        dcli_access_footprint(operation, a, &own, box, &seen, &foot, &cut);
    return make_limits(&own, &seen);
}

void dcli_bind_view(dcli_builder *builder, int a, const dcl_box *box, const struct dcli_view *view,
                    dcli_binding *binding)
{
    dcli_region region = view->region;
    *binding = (dcli_binding){.kind = view->kind, .where = view->node, .limits = binding->limits};
    if (view->kind == DCLI_SPACE_STAGE || view->kind == DCLI_SPACE_REPLICA) {
        binding->where = (int)view->stage;
        if (view->empty)
            return; /* the access reads nothing: steps 0, count 0 */
        region = dcli_region_padded(&builder->plan->stage[view->stage].box, 0,
                                    dcli_builder_bytes(builder, dcli_param_of(builder, a)));
    }
    if (builder->accesses->subscripts[a].reach == DCLI_REACH_AFFINE) {
        bind_affine(&builder->accesses->subscripts[a], box, &view->foot, &region, binding);
        if (binding->limits != NULL && !builder->operation->body->tile_kernel)
            bind_clamps(dcli_operand_of(builder, a)->view, &view->foot, &region, binding->limits);
        return;
    }
    const dcli_operand *operand = dcli_operand_of(builder, a);
    dcli_transform as_it_is = dcli_transform_of(&operand->layout->grid);
    bind_reach(operand->view != NULL ? operand->view : &as_it_is, &view->seen, &region, binding);
}

static dcl_status bind(dcli_builder *builder, int a, const dcli_work *work, const struct dcli_view *view,
                       dcli_binding *binding)
{
    const dcl_box *box = &work->box;
    if (builder->accesses->subscripts[a].reach != DCLI_REACH_AFFINE || builder->operation->body->tile_kernel ||
        (work->checked && dcli_body_clamps(builder->operation->body, a))) {
        dcli_limits *limits = dcli_builder_limits(builder);
        if (limits == NULL)
            return DCL_ERR_NOMEM;
        *limits = make_limits(&builder->accesses->own[a], &view->seen);
        binding->limits = limits;
    }
    dcli_bind_view(builder, a, box, view, binding);
    return view->kind == DCLI_SPACE_PEER ? dcli_early_note(builder, a, binding - builder->plan->binding, box, view)
                                         : DCL_OK;
}

/* Bind an access that reads nothing like another access of the same array that is bound to the own part, if there is
 * one. Then works at opposite edges of a grid, where different accesses leave the grid, have equal arguments and need
 * one launch. */
static void bind_empty(const dcli_builder *builder, const struct dcli_view views[], dcli_binding bindings[])
{
    const dcli_body *body = builder->operation->body;
    for (int a = 0; a < body->access_count; a++) {
        if (!views[a].empty || body->access[a].reach != DCLI_REACH_AFFINE || body->access[a].written)
            continue;
        for (int b = 0; b < body->access_count; b++)
            if (body->access[b].param == body->access[a].param && bindings[b].kind == DCLI_SPACE_OWN &&
                body->access[b].reach == DCLI_REACH_AFFINE && !views[b].empty) {
                bindings[a] = bindings[b];
                break;
            }
    }
}

static dcl_status emit_work(dcli_builder *builder, const dcl_box *box, bool checked, struct dcli_view views[])
{
    int accesses = builder->operation->body->access_count;
    dcl_status status = dcli_stage_views(builder, views);
    if (status != DCL_OK || builder->terms->streams)
        return status;
    dcli_work *work = dcli_builder_work(builder);
    if (work == NULL)
        return DCL_ERR_NOMEM;
    *work = (dcli_work){.box = *box,
                        .panel_first = builder->panel_first,
                        .panel_count = builder->panel_count,
                        .checked = checked,
                        .first_binding = builder->plan->binding_count};
    dcli_binding *bindings = dcli_builder_bindings(builder, accesses);
    if (bindings == NULL)
        return DCL_ERR_NOMEM;
    for (int a = 0; a < accesses && status == DCL_OK; a++)
        status = bind(builder, a, work, &views[a], &bindings[a]);
    if (checked && status == DCL_OK && !builder->operation->body->tile_kernel)
        bind_empty(builder, views, bindings);
    return status;
}

/* ---- cutting a box into works ------------------------------------------------------------------------------------ */

/* Whether an access can be bound to a region. Accesses with declared reaches index elements one by one, so the region
 * must not have gaps along an axis, except those of a view or of the declaration. */
static bool is_usable(const dcli_builder *builder, int a, const dcli_region *region, const struct dcli_view *access)
{
    const dcli_transform *view = dcli_operand_of(builder, a)->view;
    if (builder->accesses->subscripts[a].reach == DCLI_REACH_AFFINE)
        return true;
    for (int d = 0; d < access->foot.rank; d++) {
        int v = view != NULL ? view->axis[d] : d;
        if (access->foot.count[d] > 1 &&
            (view != NULL ? view->step[d] : 1) * access->seen.stride[v] % region->box.stride[d] != 0)
            return false;
    }
    return true;
}

/* Search a node's part for a footprint, region by region. *found_out is the result. */
static dcl_status search_part(dcli_builder *builder, int a, int node, const struct dcli_view *view,
                              dcli_found *found_out)
{
    const dcli_layout *layout = dcli_layout_of(builder, a);
    const dcl_box *box = &view->foot;
    const dcli_region *largest = NULL;
    dcl_box inside, whole;
    if (view->leaves) {
        whole = dcl_box_of(&layout->grid);
        dcli_box_intersect(box, &whole, &inside);
        box = &inside;
    }
    dcl_status status = dcli_builder_regions(builder, dcli_param_of(builder, a), node, box);
    for (int64_t r = 0; r < builder->regions.count; r++) {
        const dcli_region *region = &builder->regions.region[r];
        if (largest == NULL || dcli_box_elements(&region->box) > dcli_box_elements(&largest->box))
            largest = region;
    }
    found_out->node = status == DCL_OK ? node : -1;
    found_out->foot = view->foot;
    found_out->seen = view->seen;
    found_out->covers =
        builder->regions.count == 1 && dcli_region_covers(largest, &view->foot) && is_usable(builder, a, largest, view);
    if (largest != NULL)
        found_out->largest = *largest;
    else
        found_out->largest.box.rank = 0;
    return status;
}

/* Test whether one node's part contains the whole footprint in one region; if so, this becomes view->region.
 * *largest_out is the largest region of the footprint in that part (box.rank 0: none). */
static dcl_status look_at(dcli_builder *builder, int a, int node, struct dcli_view *view, bool *covers_out,
                          dcli_region *largest_out)
{
    const dcli_region *one = node == builder->self ? builder->part[a] : NULL;
    dcli_found *found = &builder->found[a];
    dcl_status status = DCL_OK;
    if (one != NULL) { /* no list is needed */
        bool some = dcli_region_cut(one, &view->foot, largest_out);
        *covers_out = some && memcmp(largest_out->box.count, view->foot.count,
                                     (size_t)view->foot.rank * sizeof view->foot.count[0]) == 0;
        *covers_out = *covers_out && is_usable(builder, a, largest_out, view);
        if (!some)
            largest_out->box.rank = 0;
    } else {
        if (found->node != node || !dcli_box_equal(&found->foot, &view->foot) ||
            !dcli_box_equal(&found->seen, &view->seen))
            status = search_part(builder, a, node, view, found);
        *largest_out = found->largest;
        *covers_out = status == DCL_OK && found->covers;
    }
    if (*covers_out)
        view->region = *largest_out;
    return status;
}

/* Find the only node that owns elements of a footprint. *owner_out is -1 if there is none, or there are several. */
static dcl_status only_owner(dcli_builder *builder, int a, const dcl_box *foot, int *owner_out)
{
    dcl_status status = dcli_layout_owners(dcli_layout_of(builder, a), foot, &builder->owners);
    *owner_out = builder->owners.count == 1 ? builder->owners.node[0] : -1;
    return status;
}

/* For an operand of which this node keeps replicas, set view->policy: why the footprint becomes a replica, or NONE. */
static dcl_status look_for_replica(dcli_builder *builder, int a, struct dcli_view *view)
{
    const dcli_operand *operand = dcli_operand_of(builder, a);
    bool near;
    dcl_status status = dcli_layout_near(operand->layout, builder->self, &view->foot, &builder->regions, &near);
    view->policy = dcli_policy_of(operand, builder->self, near);
    return status;
}

/* As dcli_footprint(), for the array as the body sees it. */
static bool footprint_seen(const dcli_builder *builder, int a, const dcl_box *box, dcl_box *seen_out, bool *cut_out)
{
    bool some;
    dcli_subscripts narrow;
    if (dcli_shifts_footprint(&builder->accesses->shifts[a], box, &builder->accesses->grid[a], seen_out, cut_out,
                              &some))
        return some;
    return dcli_footprint(dcli_operation_narrow(builder->operation, a, &builder->accesses->own[a], box, &narrow), box,
                          &builder->accesses->grid[a], seen_out, cut_out);
}

/* As dcli_access_footprint(), with the access's grid from the builder. */
static bool find_footprint(const dcli_builder *builder, int a, const dcl_box *box, struct dcli_view *view)
{
    const dcli_transform *transform = dcli_operand_of(builder, a)->view;
    bool cut, some = footprint_seen(builder, a, box, &view->seen, &cut);
    if (transform == NULL)
        view->foot = view->seen;
    else
        dcli_transform_box(transform, &view->seen, &view->foot);
    return some;
}

static dcl_status look(dcli_builder *builder, int a, const dcl_box *box, struct dcli_view *view,
                       dcli_region *largest_out)
{
    const dcli_body_access *access = &builder->operation->body->access[a];
    const dcli_layout *layout = dcli_layout_of(builder, a);
    bool covers;
    memset(view, 0, offsetof(struct dcli_view, foot)); /* the boxes after it are large, and set below */
    view->content = dcli_needs_content(access) || (access->written && builder->panel_first > 0);
    view->written = access->written;
    view->kind = DCLI_SPACE_STAGE;
    view->node = -1;
    view->stage = -1;
    view->space = box;
    largest_out->box.rank = 0;
    if (builder->at_home[a] && builder->terms->streams) { /* nothing binds it, and it needs nothing of others */
        view->kind = DCLI_SPACE_OWN;
        return DCL_OK;
    }
    view->empty = !find_footprint(builder, a, box, view);
    if (view->empty)
        return DCL_OK;
    view->leaves = builder->accesses->wraps[a] && dcli_box_leaves(&view->foot, &layout->grid);
    dcl_status status = DCL_OK;
    if (dcli_layout_place(layout, builder->self) >= 0) {
        status = look_at(builder, a, builder->self, view, &covers, largest_out);
        if (covers)
            view->kind = DCLI_SPACE_OWN;
        view->node = builder->self;
    }
    int k = dcli_param_of(builder, a);
    if (status != DCL_OK || view->kind == DCLI_SPACE_OWN || view->written)
        return status;
    if (builder->seen[k].keeps)
        status = look_for_replica(builder, a, view);
    if (status != DCL_OK || !dcli_reads_parts(builder) || dcli_makes_replica(view) || view->leaves ||
        dcli_meets_copy(builder, k, &view->foot))
        return status;
    if (builder->panel_count > 0 && (builder->terms->ways[builder->self].can & DCLI_CAN_READ_GPUS) != 0)
        return status; /* the kernel of a product reads an element many times: not over the link between GPUs */
    int owner;
    dcli_region ignored;
    status = only_owner(builder, a, &view->foot, &owner);
    if (status == DCL_OK && owner >= 0 && owner != builder->self && dcli_reads_part(builder, owner)) {
        status = look_at(builder, a, owner, view, &covers, &ignored);
        if (covers)
            view->kind = DCLI_SPACE_PEER;
        view->node = owner;
    }
    return status;
}

static void intersect_ranges(int rank, int64_t lo[], int64_t count[], const int64_t other_lo[],
                             const int64_t other_count[])
{
    for (int m = 0; m < rank; m++) {
        int64_t end = dcli_min(lo[m] + count[m], other_lo[m] + other_count[m]);
        lo[m] = dcli_max(lo[m], other_lo[m]);
        count[m] = dcli_max(end - lo[m], 0);
    }
}

/* A range of the indices of a box, counted from its first index in steps of the box. */
struct range {
    int64_t lo[DCL_MAX_RANK], count[DCL_MAX_RANK];
};

static struct range whole_range(const dcl_box *box)
{
    struct range range = {.lo = {0}};
    memcpy(range.count, box->count, sizeof range.count);
    return range;
}

/* How far a box has been cut, and so what to do with it next. */
enum step {
    STEP_IN_GRID,        /* its reads lie in their grids; next: cut off the indices that read beyond periodic axes */
    STEP_UNCHECKED,      /* its reads lie in their grids, and do not cross periodic axes; next: cut off the indices
                            that read other nodes' elements */
    STEP_BORDER,         /* a border of a large box; next: cut it where a segment ends */
    STEP_CHECKED_BORDER, /* as STEP_BORDER, but reads may leave their grid */
    STEP_AS_IS,          /* nothing more is cut; its reads lie in their grids, or cross only periodic axes */
    STEP_CHECKED         /* nothing more is cut; its reads may leave their grids */
};

static dcl_status plan_step(dcli_builder *builder, const dcl_box *box, enum step step);

/* Plan the part of a box in the range by one step, and the boxes outside of the range by another. */
static dcl_status split_box(dcli_builder *builder, const dcl_box *box, const struct range *range, enum step inside,
                            enum step outside)
{
    dcl_box inner;
    dcli_box_list outer = {0};
    dcli_box_part(box, range->lo, range->count, &inner);
    dcl_status status = dcli_box_subtract(box, &inner, &outer);
    if (status == DCL_OK && !dcli_box_is_empty(&inner))
        status = plan_step(builder, &inner, inside);
    for (int64_t b = 0; b < outer.count && status == DCL_OK; b++)
        status = plan_step(builder, &outer.box[b], outside);
    dcli_box_list_free(&outer);
    return status;
}

/* Whether an access whose subscripts are shifts may touch `part`, elements of the array, at the indices of a box. */
static bool shifts_may_meet(const dcli_shifts *shifts, const dcl_box *box, const dcl_box *part)
{
    for (int d = 0; d < shifts->rank; d++) {
        int m = shifts->index[d];
        dcli_wide low = (dcli_wide)shifts->constant[d] + (m >= 0 ? box->start[m] : 0);
        dcli_wide high = m >= 0 ? low + (dcli_wide)(box->count[m] - 1) * box->stride[m] : low;
        if (high < part->start[d] || low > dcli_run_last(part->start[d], part->count[d], part->stride[d]))
            return false;
    }
    return true;
}

/* In a plan for a pair: whether an access touches nothing that the other node owns, at the indices of a box. A "no" may
 * be wrong. */
static bool access_is_apart(const dcli_builder *builder, int a, const dcl_box *box)
{
    const dcli_region *with = builder->with[a];
    struct dcli_view view;
    if (builder->at_home[a])
        return true;
    if (with == NULL || builder->accesses->wraps[a])
        return false;
    if (builder->accesses->shifts[a].rank >= 0 && dcli_operand_of(builder, a)->view == NULL)
        return !shifts_may_meet(&builder->accesses->shifts[a], box, &with->box);
    return !find_footprint(builder, a, box, &view) || !dcli_box_may_meet(&with->box, &view.foot);
}

/* In a plan for a pair: leave out an access of a work that is apart. Accesses of arrays with replicas are not left out,
 * because all of them share the memory for replicas. */
static bool leave_out(const dcli_builder *builder, int a, const dcl_box *box, struct dcli_view *view)
{
    if (!builder->terms->pair || dcli_has_copies(builder, dcli_param_of(builder, a)) ||
        !access_is_apart(builder, a, box))
        return false;
    memset(view, 0, offsetof(struct dcli_view, foot));
    view->kind = DCLI_SPACE_OWN;
    view->node = builder->self;
    return true;
}

static dcl_status plan_as_is(dcli_builder *builder, const dcl_box *box, bool checked)
{
    struct dcli_view views[DCLI_MAX_ACCESSES];
    dcli_region largest;
    dcl_status status = DCL_OK;
    for (int a = 0; a < builder->operation->body->access_count && status == DCL_OK; a++)
        if (!leave_out(builder, a, box, &views[a]))
            status = look(builder, a, box, &views[a], &largest);
    return status == DCL_OK ? emit_work(builder, box, checked, views) : status;
}

/* A number of elements. If segments are smaller on average, more boxes cost more than stages; borders of boxes that are
 * smaller are not cut by segments. */
enum { LARGE_SEGMENT = 1 << 12 };

/* Find the regions in which nodes store a footprint, and put them into builder->fresh. It stays empty if there is one
 * region or more than MOST, if they do not contain all of the footprint or have other strides, if they have fewer than
 * `least` elements on average, or if a peer has to send its elements and no peer's part is read in place. */
static dcl_status find_segments(dcli_builder *builder, int a, const dcl_box *foot, int64_t least)
{
    enum { MOST = 64 };
    const dcli_layout *layout = dcli_layout_of(builder, a);
    const dcli_region *own;
    builder->regions.count = builder->fresh.count = 0;
    dcl_status status = dcli_builder_one(builder, dcli_param_of(builder, a), builder->self, &own);
    if (status != DCL_OK || (own != NULL && !dcli_reads_parts(builder)))
        return status; /* if others have elements of it, they send them; else it is one region, or lacks elements */
    status = dcli_layout_owners(layout, foot, &builder->owners);
    bool sent = false, read = false;
    for (int64_t n = 0; n < builder->owners.count && status == DCL_OK; n++)
        *(dcli_reads_part(builder, builder->owners.node[n]) ? &read : &sent) |=
            builder->owners.node[n] != builder->self;
    if (sent && !read)
        return status;
    for (int64_t n = 0; n < builder->owners.count && status == DCL_OK && builder->regions.count <= MOST; n++)
        status = dcli_layout_regions(layout, builder->owners.node[n], foot, &builder->regions);
    int64_t count = builder->regions.count, elements = 0;
    for (int64_t r = 0; r < count; r++)
        elements += dcli_box_elements(&builder->regions.region[r].box);
    if (count < 2 || count > MOST || elements < dcli_box_elements(foot) || elements / count < least)
        return status;
    for (int64_t r = 0; r < count && status == DCL_OK; r++) {
        const dcl_box *box = &builder->regions.region[r].box;
        for (int d = 0; d < box->rank; d++)
            if (box->stride[d] != foot->stride[d] && box->count[d] > 1) {
                builder->fresh.count = 0;
                return DCL_OK;
            }
        status = dcli_box_list_add(&builder->fresh, box);
    }
    return status;
}

/* If the reads of a box are spread over a few regions, cut the box where a region ends. Then each part reads one region
 * in place, and only elements that are sent need stages. */
static dcl_status plan_segments(dcli_builder *builder, int a, const dcl_box *box, const dcl_box *foot, int64_t least,
                                enum step step, bool *done_out)
{
    const dcli_subscripts *subscripts = &builder->accesses->subscripts[a];
    *done_out = false;
    if (!builder->accesses->single[a]) /* the reads of one index may be in several segments */
        return DCL_OK;
    dcl_status status = find_segments(builder, a, foot, least);
    if (status != DCL_OK || builder->fresh.count == 0)
        return status;
    dcli_box_list segments = builder->fresh; /* take the list out of the builder, because planning the parts
                                                overwrites it */
    builder->fresh = (dcli_box_list){0};
    *done_out = true;
    for (int64_t s = 0; s < segments.count && status == DCL_OK; s++) {
        struct range range;
        dcl_box part;
        if (!dcli_footprint_inside(subscripts, box, &segments.box[s], range.lo, range.count))
            continue;
        dcli_box_part(box, range.lo, range.count, &part);
        status = plan_step(builder, &part, step);
    }
    dcli_box_list_free(&segments);
    return status;
}

/* Whether the reads of a box may come from several adjacent segments, so that cutting at their borders helps. */
static bool may_be_segments(const dcli_builder *builder, int a, const struct dcli_view *view)
{
    return dcli_is_staged(view) && !view->written && !dcli_makes_replica(view) && !view->leaves &&
           !dcli_meets_copy(builder, dcli_param_of(builder, a), &view->foot);
}

/* Whether an access may read outside its grid. Then cutting by segments would omit indices. */
static bool is_cut(const dcli_builder *builder, int a, const dcl_box *box)
{
    dcl_box foot;
    bool cut;
    footprint_seen(builder, a, box, &foot, &cut);
    return cut;
}

/* Plan a border of a large box: indices around those that read only own elements or, if `checked`, around those that
 * read only inside the grids. It is cut until each part reads one segment per access; this costs less than copying into
 * stages. */
static dcl_status plan_border(dcli_builder *builder, const dcl_box *box, bool checked)
{
    struct dcli_view views[DCLI_MAX_ACCESSES];
    dcl_status status = DCL_OK;
    for (int a = 0; a < builder->operation->body->access_count && status == DCL_OK; a++) {
        dcli_region largest;
        bool done = false;
        if (!dcli_reads_parts(builder) && leave_out(builder, a, box, &views[a]))
            continue; /* nothing is cut where segments end if no part is read in place */
        status = look(builder, a, box, &views[a], &largest);
        if (status == DCL_OK && may_be_segments(builder, a, &views[a]) && !(checked && is_cut(builder, a, box)))
            status =
                plan_segments(builder, a, box, &views[a].foot, 1, checked ? STEP_CHECKED_BORDER : STEP_BORDER, &done);
        if (done)
            return status;
    }
    return status == DCL_OK ? emit_work(builder, box, checked, views) : status;
}

/* Whether a box is large enough that its borders are cut by segments. */
static bool cuts_borders(const dcl_box *box) { return dcli_box_elements(box) >= LARGE_SEGMENT; }

/* For a declared halo or cross: the range of a box whose reads all lie in `part`, a box of the array as the body sees
 * it. */
static bool declared_inside(const dcli_builder *builder, int a, const dcl_box *box, const dcl_box *part,
                            struct range *range_out)
{
    dcl_grid grid = dcli_access_grid(builder->operation, a);
    return dcli_declared_inside(&builder->accesses->own[a], box, &grid, part, range_out->lo, range_out->count);
}

/* The range of a box whose reads all lie in `part`, a box of elements. @return false if there is none, or it cannot be
 * computed. */
static bool inside_part(const dcli_builder *builder, int a, const dcl_box *box, const dcl_box *part,
                        struct range *range_out)
{
    const dcli_subscripts *subscripts = &builder->accesses->subscripts[a];
    const dcli_operand *operand = dcli_operand_of(builder, a);
    if (subscripts->reach == DCLI_REACH_AFFINE)
        return dcli_footprint_inside(subscripts, box, part, range_out->lo, range_out->count);
    return (subscripts->reach == DCLI_REACH_HALO || subscripts->reach == DCLI_REACH_CROSS) && operand->view == NULL &&
           declared_inside(builder, a, box, part, range_out);
}

static dcl_status plan_in_grid(dcli_builder *builder, const dcl_box *box)
{
    struct range range = whole_range(box);
    bool leaves = false;
    for (int a = 0; a < builder->operation->body->access_count; a++) {
        const dcli_subscripts *subscripts = &builder->accesses->own[a];
        dcl_box seen, foot, whole;
        bool cut, some;
        struct range mine;
        if (!builder->accesses->wraps[a] ||
            !dcli_access_footprint(builder->operation, a, subscripts, box, &seen, &foot, &cut) ||
            !dcli_box_leaves(&foot, &dcli_layout_of(builder, a)->grid))
            continue;
        leaves = true;
        whole = dcl_box_of(dcli_operand_grid(dcli_operand_of(builder, a)));
        some = subscripts->reach == DCLI_REACH_AFFINE
                   ? dcli_footprint_inside(subscripts, box, &whole, mine.lo, mine.count)
                   : declared_inside(builder, a, box, &whole, &mine);
        if (!some)
            memset(&mine, 0, sizeof mine);
        intersect_ranges(box->rank, range.lo, range.count, mine.lo, mine.count);
    }
    return leaves ? split_box(builder, box, &range, STEP_UNCHECKED, STEP_AS_IS)
                  : plan_step(builder, box, STEP_UNCHECKED);
}

/* Plan a box whose reads neither leave a grid nor cross a periodic axis. The range in which accesses read only the
 * node's own part becomes a work of its own, where they need no stages, if it is at least half of the box. */
static dcl_status plan_unchecked(dcli_builder *builder, const dcl_box *box)
{
    struct dcli_view views[DCLI_MAX_ACCESSES];
    struct range range = whole_range(box);
    int rank = box->rank;
    bool splits = false;
    dcl_status status = DCL_OK;
    for (int a = 0; a < builder->operation->body->access_count && status == DCL_OK; a++) {
        dcli_region largest;
        struct range mine;
        status = look(builder, a, box, &views[a], &largest);
        if (status == DCL_OK && dcli_reads_parts(builder) && may_be_segments(builder, a, &views[a])) {
            bool done;
            status = plan_segments(builder, a, box, &views[a].foot, LARGE_SEGMENT, STEP_UNCHECKED, &done);
            if (status != DCL_OK || done)
                return status;
        }
        if (status != DCL_OK || !dcli_is_staged(&views[a]) || largest.box.rank == 0 ||
            !inside_part(builder, a, box, &largest.box, &mine))
            continue;
        dcl_box part;
        dcli_box_part(box, mine.lo, mine.count, &part);
        if (2 * dcli_box_elements(&part) < dcli_box_elements(box))
            continue;
        intersect_ranges(rank, range.lo, range.count, mine.lo, mine.count);
        splits = true;
    }
    if (status != DCL_OK)
        return status;
    dcl_box inner;
    dcli_box_part(box, range.lo, range.count, &inner);
    if (!splits || 2 * dcli_box_elements(&inner) < dcli_box_elements(box))
        return emit_work(builder, box, false, views);
    return split_box(builder, box, &range, STEP_AS_IS, cuts_borders(box) ? STEP_BORDER : STEP_AS_IS);
}

/* In a plan for a pair: whether the indices of a box access nothing that the other node owns. Such a box is left out of the
 * plan, because other boxes are planned in the same way without it. A "no" may be wrong. */
static bool is_apart(const dcli_builder *builder, const dcl_box *box)
{
    bool apart = true;
    for (int a = 0; a < builder->operation->body->access_count && apart; a++)
        apart = access_is_apart(builder, a, box);
    return apart;
}

static dcl_status plan_step(dcli_builder *builder, const dcl_box *box, enum step step)
{
    if (builder->terms->pair && is_apart(builder, box))
        return DCL_OK;
    switch (step) {
    case STEP_IN_GRID:
        return plan_in_grid(builder, box);
    case STEP_UNCHECKED:
        return plan_unchecked(builder, box);
    case STEP_BORDER:
    case STEP_CHECKED_BORDER:
        return plan_border(builder, box, step == STEP_CHECKED_BORDER);
    default:
        return plan_as_is(builder, box, step == STEP_CHECKED);
    }
}

/* Most elements of a border for which one launch with checks is faster than two, on a device with memory of its own. */
enum { THIN_BORDER = 1 << 18 };

/* Plan a box. Its indices that may read outside a grid become works of their own, whose kernels check each index. With
 * DCLI_SHARE_OTHERS, a box of at most THIN_BORDER elements that has such indices is one work as a whole. */
dcl_status dcli_plan_box(dcli_builder *builder, const dcl_box *box)
{
    struct range range = whole_range(box);
    bool cut_any = false;
    if (builder->operation->body->tile_kernel) /* a tile kernel checks indices itself */
        return plan_as_is(builder, box, false);
    for (int a = 0; a < builder->operation->body->access_count; a++) {
        const dcli_subscripts *subscripts = &builder->accesses->own[a];
        dcl_box foot, whole;
        bool cut;
        struct range mine;
        if (!builder->accesses->leaves[a] || subscripts->reach != DCLI_REACH_AFFINE || dcli_is_home(builder, a))
            continue;
        footprint_seen(builder, a, box, &foot, &cut);
        if (!cut)
            continue;
        cut_any = true;
        whole = dcl_box_of(&builder->accesses->grid[a]);
        if (!dcli_footprint_inside(subscripts, box, &whole, mine.lo, mine.count))
            memset(&mine, 0, sizeof mine);
        intersect_ranges(box->rank, range.lo, range.count, mine.lo, mine.count);
    }
    if (!cut_any)
        return plan_in_grid(builder, box);
    if (builder->share == DCLI_SHARE_OTHERS && dcli_box_elements(box) <= THIN_BORDER)
        return plan_step(builder, box, STEP_CHECKED);
    return split_box(builder, box, &range, STEP_IN_GRID, cuts_borders(box) ? STEP_CHECKED_BORDER : STEP_CHECKED);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Find the elements that an access touches at all indices of the operation, and whether some of its reads lie outside
 * its grid. */
static void find_all(const dcli_operation *operation, int a, dcli_accesses *accesses)
{
    const dcli_operand *operand = &operation->operand[operation->body->access[a].param];
    const dcli_subscripts *own = &accesses->own[a];
    dcli_subscripts narrow;
    dcl_box seen;
    bool cut;
    if (!dcli_shifts_footprint(&accesses->shifts[a], &operation->box, &accesses->grid[a], &seen, &accesses->leaves[a],
                               &accesses->some[a]))
        accesses->some[a] = dcli_footprint(own, &operation->box, &accesses->grid[a], &seen, &accesses->leaves[a]);
    const dcli_subscripts *less = dcli_operation_narrow(operation, a, own, &operation->box, &narrow);
    if (less != own)
        accesses->some[a] = dcli_footprint(less, &operation->box, &accesses->grid[a], &seen, &cut);
    if (operand->view == NULL)
        accesses->foot[a] = seen;
    else
        dcli_transform_box(operand->view, &seen, &accesses->foot[a]);
}

/* Find what planning needs of the accesses, for any node. */
static dcl_status find_accesses(const dcli_operation *operation, dcli_accesses *accesses)
{
    int count = operation->body->access_count;
    for (int a = 0; a < count; a++) {
        const dcli_operand *operand = &operation->operand[operation->body->access[a].param];
        dcli_subscripts *own = &accesses->own[a];
        dcl_status status = dcli_operation_subscripts(operation, a, own, &accesses->subscripts[a]);
        if (status != DCL_OK)
            return status;
        const dcl_grid *edge = dcli_operand_grid(operand);
        accesses->shifts[a] = dcli_shifts_of(own);
        accesses->grid[a] = dcli_access_grid(operation, a);
        dcl_box around = dcl_box_of(&accesses->grid[a]);
        find_all(operation, a, accesses);
        accesses->wraps[a] = dcl_grid_count(edge) > 0 && dcli_box_leaves(&around, edge);
        accesses->exact[a] = own->reach == DCLI_REACH_AFFINE && dcli_subscripts_exact(own);
        bool exact = operand->view == NULL
                         ? accesses->exact[a]
                         : own->reach == DCLI_REACH_AFFINE && dcli_subscripts_exact(&accesses->subscripts[a]);
        accesses->single[a] = exact && dcli_subscripts_single(own);
        accesses->once[a] = exact && dcli_subscripts_injective(&accesses->subscripts[a]);
    }
    for (int a = 0; a < count; a++)
        accesses->home[a] = dcli_access_is_home(operation, accesses->subscripts, a);
    accesses->known = true;
    return DCL_OK;
}

/* Note for each array whether one element may be needed twice; and note whether a footprint has elements that are not
 * read. */
static void look_at_accesses(dcli_builder *builder)
{
    const dcli_body *body = builder->operation->body;
    const dcli_accesses *accesses = builder->accesses;
    int readers[DCLI_MAX_PARAMS] = {0};
    for (int a = 0; a < body->access_count; a++) {
        const dcli_subscripts *own = &accesses->own[a];
        builder->found[a].node = -1;
        if (!dcli_needs_content(&body->access[a]))
            continue;
        if (own->reach == DCLI_REACH_AFFINE ? !accesses->exact[a] : own->declared.approximate)
            builder->plan->counters.approximate = 1;
        int k = body->access[a].param;
        bool all = dcli_operand_of(builder, a)->keeps;
        builder->seen[k].unique =
            readers[k]++ == 0 && !all && !builder->seen[k].copied && !accesses->wraps[a] && accesses->once[a];
    }
}

/* Most elements of the first output in one batch when tiles are cut. Tiles are not cut (INT64_MAX) for tile kernels,
 * nor if an access has a declared reach: its footprint may be the same for all parts of a tile, and each part would
 * copy it into a stage of its own. */
static int64_t most_elements(const dcli_builder *builder)
{
    const dcli_body *body = builder->operation->body;
    const dcli_layout *layout = builder->operation->operand[body->owner].layout;
    for (int a = 0; a < body->access_count; a++)
        if (builder->accesses->subscripts[a].reach != DCLI_REACH_AFFINE || body->tile_kernel)
            return INT64_MAX;
    return dcli_max(1, builder->terms->batch_bytes / (int64_t)dcl_type_bytes(layout->grid.type));
}

static int64_t staged_bytes(const dcli_builder *builder)
{
    int64_t bytes = 0;
    for (int64_t s = 0; s < builder->plan->stage_count; s++)
        if (builder->plan->stage[s].kind == DCLI_STAGE_TEMPORARY)
            bytes += builder->plan->stage[s].elements * dcli_builder_bytes(builder, builder->plan->stage[s].operand);
    return bytes;
}

/* Whether nothing is transferred: this node owns all elements of all operands, or there is no other node. */
static bool is_alone(const dcli_builder *builder)
{
    for (int k = 0; k < builder->operation->operand_count; k++) {
        const dcli_layout *layout = builder->operation->operand[k].layout;
        if (layout != NULL && !dcli_body_has_partials(builder->operation->body, k) &&
            dcli_layout_owned(layout, builder->self) < dcl_grid_count(&layout->grid))
            return builder->terms->node_count == 1;
    }
    return true;
}

/* Discard everything planned so far, to plan again with smaller batches: a single batch would need too much memory for
 * stages. Called only if nothing is transferred. */
static void start_over(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    plan->batch_count = plan->work_count = plan->binding_count = plan->stage_count = plan->piece_count = 0;
    for (int k = 0; k < builder->operation->operand_count; k++)
        dcli_box_set_clear(&builder->seen[k].asked, INT64_MAX);
}

/* How many tiles of a node become one batch, if it needs elements of others. */
static int64_t tiles_per_batch(const dcli_layout *layout, int64_t tiles, int64_t owned, const dcli_plan_terms *terms)
{
    int64_t bytes = (int64_t)dcl_type_bytes(layout->grid.type), tile_bytes = owned / tiles * bytes;
    if (owned <= terms->batch_bytes / bytes)
        return tiles; /* also if most of them are empty */
    return dcli_min(tiles, dcli_max(1, terms->batch_bytes / dcli_max(1, tile_bytes)));
}

/* How many tiles become one batch of this operation: tiles_per_batch(), or more. Tiles are thin along the slowest axis.
 * If kernels transpose an input along that axis, several tiles are planned together, and cut along another one
 * (plan_batches.c). */
static int64_t tiles_together(const dcli_builder *builder, int64_t tiles, int64_t owned)
{
    enum { TOGETHER = 16, LARGE = 1 << 20 }; /* factor; bytes of a batch, below which tiles are not put together */
    const dcli_body *body = builder->operation->body;
    const dcli_layout *layout = builder->operation->operand[body->owner].layout;
    int64_t few = tiles_per_batch(layout, tiles, owned, builder->terms);
    bool thin = !body->tile_kernel && builder->operation->box.rank > 2 && dcli_transposed_axis(body) == 0 &&
                builder->terms->batch_bytes >= LARGE;
    return thin ? dcli_min(tiles, few * TOGETHER) : few;
}

static bool is_lendable(const dcli_operation *operation)
{
    return operation->kind == DCLI_OP_FORALL && !operation->body->tile_kernel && operation->body->result_count == 0 &&
           operation->overlap == 0;
}

bool dcli_may_be_lent_by_any(const dcli_operation *operation, const dcli_plan_terms *terms)
{
    if (!is_lendable(operation))
        return false;
    const dcl_grid *grid = &operation->operand[operation->body->owner].layout->grid;
    int64_t least = terms->batch_bytes / (int64_t)dcl_type_bytes(grid->type);
    if (terms->fine_elements > 0)
        least = dcli_min(least, terms->fine_elements);
    return dcl_grid_count(grid) > (dcli_body_may_be_costly(operation->body) ? 1 : least);
}

bool dcli_may_be_lent(const dcli_operation *operation, int node, const dcli_plan_terms *terms)
{
    if (!is_lendable(operation))
        return false;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    int64_t owned = dcli_layout_place(layout, node) >= 0 ? dcli_layout_owned(layout, node) : 0;
    if (owned < 2 || dcli_body_may_be_costly(operation->body))
        return owned >= 2;
    if (terms->fine_elements > 0 && owned > terms->fine_elements)
        return true;
    int64_t bytes = (int64_t)dcl_type_bytes(layout->grid.type);
    if (owned <= terms->batch_bytes / bytes)
        return false; /* all tiles fit one batch. A node asks this many times per call: do not count its tiles */
    int64_t tiles = dcli_layout_tile_count(layout, node);
    return tiles > tiles_per_batch(layout, tiles, owned, terms) || owned / 2 > terms->batch_bytes / bytes;
}

/* Find the parts of the array of an access that are one region. */
static dcl_status find_parts(dcli_builder *builder, int a)
{
    int k = dcli_param_of(builder, a);
    builder->with[a] = NULL;
    dcl_status status = dcli_builder_one(builder, k, builder->self, &builder->part[a]);
    builder->at_home[a] = builder->accesses->home[a] && builder->part[a] != NULL;
    return status == DCL_OK && builder->terms->pair && !builder->at_home[a]
               ? dcli_builder_one(builder, k, builder->terms->with, &builder->with[a])
               : status;
}

dcl_status dcli_plan_forall(dcli_builder *builder)
{
    const dcli_operation *operation = builder->operation;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    dcl_status status = dcli_find_sources(builder);
    if (status == DCL_OK && !builder->accesses->known)
        status = find_accesses(operation, builder->accesses);
    if (status == DCL_OK)
        look_at_accesses(builder);
    builder->local = status == DCL_OK;
    for (int a = 0; a < operation->body->access_count && status == DCL_OK; a++) {
        builder->local = builder->local && builder->accesses->home[a];
        status = find_parts(builder, a);
    }
    if (operation->overlap > 0)
        builder->local = status == DCL_OK && !dcli_overlap_receives(operation);
    if (status != DCL_OK || dcli_layout_place(layout, builder->self) < 0 || dcli_box_is_empty(&operation->box))
        return status;
    int64_t tiles = dcli_layout_tile_count(layout, builder->self), owned = dcli_layout_owned(layout, builder->self);
    if (owned == 0)
        return DCL_OK;
    if (operation->overlap > 0) {
        status = dcli_plan_overlap(builder, tiles);
        if (status != DCL_OK || builder->terms->streams)
            return status;
        dcli_count_blocks(builder);
        return dcli_count_tasks(builder, tiles);
    }
    int64_t few = tiles_together(builder, tiles, owned);
    bool alone = is_alone(builder), at_once = alone || builder->local;
    int64_t most = most_elements(builder);
    dcli_panels panels;
    status = dcli_panels_begin(builder, at_once, &panels);
    if (panels.most > 0) /* a panel is small, and is to be copied to the device once: it is one batch */
        few = tiles;
    while (status == DCL_OK && dcli_panels_next(builder, &panels))
        status =
            dcli_plan_batches(builder, tiles, at_once ? tiles : few, at_once || panels.most > 0 ? INT64_MAX : most);
    if (status == DCL_OK && alone && staged_bytes(builder) > builder->terms->batch_bytes) {
        start_over(builder);
        status = dcli_plan_batches(builder, tiles, few, most);
    }
    if (status == DCL_OK && panels.most == 0)
        status = dcli_plan_local_first(builder);
    if (status == DCL_OK)
        status = dcli_plan_cut_fine(builder, at_once);
    if (status != DCL_OK || builder->terms->streams)
        return status;
    dcli_count_blocks(builder);
    return dcli_count_tasks(builder, tiles);
}
