/* workqueue/plan_batches.c - groups the tiles of a loop body into batches, and cuts their boxes into works. */
#include <stdlib.h>

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
    enum { WIDE = 256, LARGE = 1 << 18 }; /* indices; elements of a batch from which on it matters */
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
    builder->tiles.count = 0;
    dcl_status status = dcli_layout_tiles(layout, builder->self, first, count, &builder->tiles);
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
            status = plan_part(batching, &box);
    }
    return status;
}

dcl_status dcli_plan_batch(dcli_builder *builder, int64_t first, int64_t count, int64_t most)
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
