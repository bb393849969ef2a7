/* workqueue/plan_batches.c - groups the tiles of a loop body into batches, and cuts their boxes into works. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/ranges.h"
#include "resmap/elements.h"
#include "segment/cut.h"
#include "workqueue/plan_points.h"
#include "workqueue/plan_view.h"

/* Find the indices of the operation that compute elements of a region of the first output. @return whether there are
 * any. */
static bool computes(const dcli_operation *operation, const dcli_region *region, dcl_box *box_out)
{
    const dcli_operand *operand = &operation->operand[operation->body->owner];
    dcl_box seen = region->box;
    return (operand->view == NULL || dcli_transform_seen(operand->view, &region->box, &seen)) &&
           dcli_box_intersect(&seen, &operation->box, box_out) &&
           dcli_over_cut(operation->body, operation->value, box_out);
}

/* Tiles that become one batch, or several if they are much larger than a batch should be. */
struct batching {
    dcli_builder *builder;
    int64_t first, count; /* number of the first tile, and number of tiles */
    int64_t most;         /* maximum number of elements of a batch */
    int64_t planned;      /* elements of the first output in the batch that is being planned; 0: there is no batch
                             yet */
};

static bool makes_or_has_copies(const dcli_builder *builder)
{
    for (int k = 0; k < builder->operation->operand_count; k++)
        if (dcli_has_copies(builder, k))
            return true;
    return false;
}

static dcl_status end_batch(struct batching *batching)
{
    dcli_plan *plan = batching->builder->plan;
    if (batching->planned == 0)
        return DCL_OK;
    batching->planned = 0;
    dcl_status status = dcli_builder_chunks(batching->builder);
    if (status == DCL_OK)
        status = dcli_early_stage(batching->builder);
    if (status == DCL_OK)
        status = dcli_fill_stages(batching->builder);
    if (status == DCL_OK)
        dcli_early_mark(batching->builder);
    dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    batch->first_tile = batching->first;
    batch->tile_count = batching->count;
    batch->work_count = plan->work_count - batch->first_work;
    if (batching->builder->terms->streams && !makes_or_has_copies(batching->builder))
        plan->stage_count = batch->first_stage;
    batch->stage_count = plan->stage_count - batch->first_stage;
    return status;
}

/* Plan a box that fits a batch: in the current batch, or in a new one if the current would become too large. */
static dcl_status plan_block(struct batching *batching, const dcl_box *box)
{
    int64_t elements = dcli_box_elements(box);
    dcl_status status = DCL_OK;
    if (batching->planned > 0 && batching->planned + elements > batching->most)
        status = end_batch(batching);
    if (status == DCL_OK && batching->planned == 0 && dcli_builder_batch(batching->builder) == NULL)
        status = DCL_ERR_NOMEM;
    batching->planned += elements;
    return status == DCL_OK ? dcli_plan_region(batching->builder, box) : status;
}

/* Choose how a box is cut for batches: along the slowest axes. But a kernel that transposes an input reads it along
 * one of these; thin batches would read a few elements of each of its rows. So that axis is cut last, unless parts
 * are wide along it anyway. */
static void find_shape(const struct batching *batching, const dcl_box *box, int64_t shape_out[])
{
    /* Indices of a wide part; elements of a batch, below which the axis does not matter. */
    enum { WIDE = 256, LARGE = 1 << 18 };
    int across =
        batching->builder->operation->body->tile_kernel ? -1 : dcli_transposed_axis(batching->builder->operation->body);
    dcli_cut_shape(box->rank, box->count, NULL, batching->most, shape_out);
    if (across < 0 || across >= box->rank - 1 || shape_out[across] >= dcli_min(WIDE, box->count[across]) ||
        batching->most < LARGE)
        return;
    int order[DCL_MAX_RANK], n = 0;
    for (int d = 0; d < box->rank; d++)
        if (d != across && d < box->rank - 1)
            order[n++] = d;
    order[n++] = across;
    order[n] = box->rank - 1;
    dcli_cut_shape(box->rank, box->count, order, batching->most, shape_out);
}

/* Plan a box of a tile, cut into parts if it is too large for a batch. */
static dcl_status plan_part(struct batching *batching, const dcl_box *box)
{
    int64_t shape[DCL_MAX_RANK];
    if (dcli_box_elements(box) <= batching->most)
        return plan_block(batching, box);
    find_shape(batching, box, shape);
    dcli_cut cut = dcli_cut_begin(box->rank, box->count, shape);
    dcl_status status = DCL_OK;
    while (status == DCL_OK && dcli_cut_next(&cut)) {
        dcl_box part;
        dcli_box_part(box, cut.lo, cut.count, &part);
        status = plan_block(batching, &part);
    }
    return status;
}

/* The sort key of a tile; it is small, because there may be millions of tiles. */
struct sorted_tile {
    int64_t first; /* the number of its first element in the grid, row-major */
    int64_t at;
};

static int by_first(const void *a, const void *b)
{
    const struct sorted_tile *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sort the tiles in place, following the cycles of the permutation: a second list of regions would double the
 * memory. */
static dcl_status sort_tiles(const dcl_grid *grid, const dcli_region_list *tiles)
{
    struct sorted_tile *order = dcli_malloc((size_t)tiles->count * sizeof *order);
    if (order == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t t = 0; t < tiles->count; t++)
        order[t] = (struct sorted_tile){dcli_element_number(grid, tiles->region[t].box.start), t};
    qsort(order, (size_t)tiles->count, sizeof order[0], by_first);
    for (int64_t t = 0; t < tiles->count; t++) {
        dcli_region first = tiles->region[t];
        int64_t to = t;
        for (int64_t from = order[to].at; from != t; from = order[to].at) {
            tiles->region[to] = tiles->region[from];
            order[to].at = to;
            to = from;
        }
        tiles->region[to] = first;
        order[to].at = to;
    }
    dcli_free(order);
    return DCL_OK;
}

/* List the boxes of tiles; neighbouring tiles may be listed as one box. The tiles of a hashed map are sorted, because
 * sets of boxes are searched quickly only if neighbours follow each other (segment/set.c). */
static dcl_status list_tiles(dcli_builder *builder, int64_t first, int64_t count)
{
    const dcli_layout *layout = builder->operation->operand[builder->operation->body->owner].layout;
    const dcli_region *one;
    builder->tiles.count = 0;
    dcl_status status = dcli_builder_one(builder, builder->operation->body->owner, builder->self, &one);
    if (status == DCL_OK && one != NULL && first == 0 && count == dcli_layout_tile_count(layout, builder->self))
        return dcli_region_list_add(&builder->tiles, one);
    status = status == DCL_OK ? dcli_layout_tiles(layout, builder->self, first, count, &builder->tiles) : status;
    bool is_hashed = layout->rule.kind == DCLI_MAP_DEALT && layout->rule.deal == DCL_DEAL_HASH;
    if (status == DCL_OK && builder->tiles.count > 1 && is_hashed)
        status = sort_tiles(&layout->grid, &builder->tiles);
    return status;
}

/* Plan a tile of a tile kernel, which is called once per box. Some maps give a tile as strided boxes. If a halo
 * needs boxes without gaps, these are cut into runs, and neighbouring runs are joined. */
static dcl_status plan_tile(struct batching *batching, int64_t tile)
{
    dcli_builder *builder = batching->builder;
    dcli_box_list boxes = {0};
    dcl_status status = list_tiles(builder, tile, 1);
    for (int64_t r = 0; r < builder->tiles.count && status == DCL_OK; r++) {
        dcl_box box;
        if (computes(builder->operation, &builder->tiles.region[r], &box))
            status = dcli_cut_gaps(builder, &box, &boxes);
    }
    if (boxes.count > builder->tiles.count)
        dcli_box_list_join(&boxes);
    for (int64_t b = 0; b < boxes.count && status == DCL_OK; b++)
        status = plan_part(batching, &boxes.box[b]);
    dcli_box_list_free(&boxes);
    return status;
}

/* Whether the indices that touch own elements only get batches of their own. On a device with memory of its own, few
 * batches then wait for elements of other nodes, and those that need none are joined into few launches (plan_local.c).
 * Elsewhere, and in small operations, more batches cost more than they gain. */
static bool parts_own(const dcli_builder *builder)
{
    const dcli_body *body = builder->operation->body;
    int can = builder->terms->ways[builder->self].can & (DCLI_CAN_READ | DCLI_CAN_REGISTER);
    const dcli_layout *layout = builder->operation->operand[body->owner].layout;
    int64_t most = builder->terms->batch_bytes / (int64_t)dcl_type_bytes(layout->grid.type);
    bool large =
        dcli_layout_owned(layout, builder->self) / 2 > most; /* smaller ones are one batch: dcli_may_be_lent() */
    bool parts = large && can == DCLI_CAN_REGISTER && builder->terms->node_count > 1 && !builder->local &&
                 !body->tile_kernel && builder->panel_count == 0 && !makes_or_has_copies(builder) &&
                 !dcli_points_can_plan(builder);
    for (int a = 0; a < body->access_count && parts; a++)
        parts = builder->accesses->subscripts[a].reach == DCLI_REACH_AFFINE && !builder->accesses->wraps[a];
    return parts;
}

/* Extend a node's part beyond the edges of the grid at which it lies: what an access reads there is no element of
 * another node. */
static void extend(const dcli_operand *operand, const dcli_subscripts *subscripts, dcl_box *part)
{
    const dcl_grid *grid = &operand->layout->grid;
    for (int d = 0; d < part->rank && operand->view == NULL; d++) {
        int64_t start = part->start[d], end = start + part->count[d], far;
        if (part->stride[d] != 1 || subscripts->axis[d].clamped)
            continue;
        if (start == grid->origin[d] && !__builtin_sub_overflow(start, grid->extent[d], &far))
            start = far;
        if (end == grid->origin[d] + grid->extent[d] && !__builtin_add_overflow(end, grid->extent[d], &far))
            end = far;
        if (!__builtin_sub_overflow(end, start, &far)) {
            part->start[d] = start;
            part->count[d] = far;
        }
    }
}

/* Find a box of indices, a part of `box`, that touch own elements only. *own_out is empty if there is none, or none can
 * be computed. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status find_own(dcli_builder *builder, const dcl_box *box, dcl_box *own_out)
{
    int64_t lo[DCL_MAX_RANK] = {0}, count[DCL_MAX_RANK];
    memcpy(count, box->count, sizeof count);
    for (int a = 0; a < builder->operation->body->access_count; a++) {
        const dcli_operand *operand = dcli_operand_of(builder, a);
        const dcli_region *region = NULL;
        int64_t own_lo[DCL_MAX_RANK], own_count[DCL_MAX_RANK];
        if (builder->at_home[a])
            continue;
        dcl_status status = dcli_layout_place(operand->layout, builder->self) < 0
                                ? DCL_OK
                                : dcli_builder_one(builder, dcli_param_of(builder, a), builder->self, &region);
        if (status != DCL_OK)
            return status;
        dcl_box part = region != NULL ? region->box : (dcl_box){.rank = 0};
        extend(operand, &builder->accesses->subscripts[a], &part);
        bool some =
            region != NULL && dcli_footprint_inside(&builder->accesses->subscripts[a], box, &part, own_lo, own_count);
        for (int d = 0; d < box->rank; d++) {
            int64_t end = some ? dcli_min(lo[d] + count[d], own_lo[d] + own_count[d]) : 0;
            lo[d] = some ? dcli_max(lo[d], own_lo[d]) : 0;
            count[d] = dcli_max(end - lo[d], 0);
        }
    }
    dcli_box_part(box, lo, count, own_out);
    return DCL_OK;
}

/* Plan a box of a tile, by builder->share: all of it, the indices that touch own elements only, or the others. If only
 * a few touch own elements only, these stay with the others. */
static dcl_status plan_share(struct batching *batching, const dcl_box *box)
{
    enum { FEW = 16 }; /* fewer own indices than a sixteenth of the box are few */
    dcli_builder *builder = batching->builder;
    dcl_box own;
    if (builder->share == DCLI_SHARE_ALL)
        return plan_part(batching, box);
    dcl_status status = find_own(builder, box, &own);
    bool few = dcli_box_is_empty(&own) || dcli_box_elements(&own) < dcli_box_elements(box) / FEW;
    if (status != DCL_OK || (few && builder->share == DCLI_SHARE_OWN))
        return status;
    if (builder->share == DCLI_SHARE_OWN)
        return plan_part(batching, &own);
    if (few)
        return plan_part(batching, box);
    dcli_box_list others = {0};
    batching->count = 0; /* the tiles are counted in the batches of DCLI_SHARE_OWN */
    status = dcli_box_subtract(box, &own, &others);
    for (int64_t b = 0; b < others.count && status == DCL_OK; b++)
        status = plan_part(batching, &others.box[b]);
    dcli_box_list_free(&others);
    return status;
}

static dcl_status plan_tiles(struct batching *batching, int64_t most)
{
    dcli_builder *builder = batching->builder;
    int64_t elements = 0;
    dcl_status status = list_tiles(builder, batching->first, batching->count);
    for (int64_t r = 0; r < builder->tiles.count; r++)
        elements += dcli_box_elements(&builder->tiles.region[r].box);
    if (status == DCL_OK && !builder->terms->streams)
        status = dcli_builder_reserve(builder, builder->tiles.count);
    batching->most = elements / 2 > most ? most : INT64_MAX;
    for (int64_t r = 0; r < builder->tiles.count && status == DCL_OK; r++) {
        dcl_box box;
        if (computes(builder->operation, &builder->tiles.region[r], &box))
            status = plan_share(batching, &box);
    }
    return status;
}

/* Plan a batch of tiles, or several if the tiles are much larger than intended. */
static dcl_status plan_batch(dcli_builder *builder, int64_t first, int64_t count, int64_t most)
{
    if (dcli_points_can_plan(builder))
        return dcli_plan_points(builder, first, count, most);
    struct batching batching = {.builder = builder, .first = first, .count = count, .most = INT64_MAX};
    dcl_status status = DCL_OK;
    if (!builder->operation->body->tile_kernel)
        status = plan_tiles(&batching, most);
    for (int64_t t = first; t < first + count && status == DCL_OK && builder->operation->body->tile_kernel; t++)
        status = plan_tile(&batching, t);
    return status == DCL_OK ? end_batch(&batching) : status;
}

static dcl_status plan_batches(dcli_builder *builder, int64_t tiles, int64_t per_batch, int64_t most)
{
    dcl_status status = DCL_OK;
    for (int64_t t = 0; t < tiles && status == DCL_OK; t += per_batch)
        status = plan_batch(builder, t, dcli_min(per_batch, tiles - t), most);
    return status;
}

dcl_status dcli_plan_batches(dcli_builder *builder, int64_t tiles, int64_t per_batch, int64_t most)
{
    bool parts = parts_own(builder);
    builder->share = parts ? DCLI_SHARE_OWN : DCLI_SHARE_ALL;
    dcl_status status = plan_batches(builder, tiles, per_batch, most);
    if (status != DCL_OK || !parts)
        return status;
    builder->share = DCLI_SHARE_OTHERS;
    return plan_batches(builder, tiles, per_batch, most);
}

dcl_status dcli_count_tasks(dcli_builder *builder, int64_t tiles)
{
    const dcli_operation *operation = builder->operation;
    const dcli_operand *operand = &operation->operand[operation->body->owner];
    const dcli_layout *layout = operand->layout;
    dcl_box whole = dcl_box_of(&layout->grid), common;
    bool all_own = layout->rule.kind == DCLI_MAP_AXES || dcli_layout_is_shuffled(layout);
    if (all_own && !operation->body->slanted && operand->view == NULL && dcli_box_equal(&whole, &operation->box)) {
        builder->plan->counters.tasks = dcli_layout_owned(layout, builder->self) > 0 ? tiles : 0;
        return DCL_OK;
    }
    dcl_status status = DCL_OK;
    for (int64_t t = 0; t < tiles && status == DCL_OK; t++) {
        builder->tiles.count = 0;
        status = dcli_layout_tiles(layout, builder->self, t, 1, &builder->tiles);
        bool any = false;
        for (int64_t r = 0; r < builder->tiles.count && !any; r++)
            any = computes(operation, &builder->tiles.region[r], &common);
        builder->plan->counters.tasks += any;
    }
    return status;
}
