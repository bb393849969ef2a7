/* workqueue/plan_points.c - a fast planner for loop bodies whose first output has a map that deals single elements, so
 * that every element is a work. It computes the works from element numbers, without lists of tiles, footprints or
 * wants. The plan is identical to that of the general planner. */
#include "workqueue/plan_points.h"

#include <string.h>

#include "workqueue/plan_view.h"

/* Whether an access reads, for each element of the first output, at most one element, which is stored on some node. */
static bool is_plain(const dcli_builder *builder, int a)
{
    const dcli_body_access *access = &builder->operation->body->access[a];
    const dcli_operand *operand = dcli_operand_of(builder, a);
    int k = access->param;
    if (builder->accesses->subscripts[a].reach != DCLI_REACH_AFFINE || operand->view != NULL ||
        operand->layout->partial || builder->accesses->wraps[a] || builder->accesses->leaves[a] ||
        dcli_has_copies(builder, k))
        return false;
    return dcli_is_home(builder, a) || (!access->written && builder->seen[k].unique);
}

bool dcli_points_can_plan(const dcli_builder *builder)
{
    const dcli_body *body = builder->operation->body;
    if (body->tile_kernel || body->slanted || builder->terms->no_points ||
        !dcli_layout_is_shuffled(builder->operation->operand[body->owner].layout))
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (!is_plain(builder, a))
            return false;
    return true;
}

static void find_index(const dcli_subscripts *subscripts, const int64_t loop[], int64_t index_out[])
{
    for (int d = 0; d < subscripts->rank; d++) {
        index_out[d] = subscripts->axis[d].constant;
        for (int m = 0; m < subscripts->space_rank; m++)
            index_out[d] += subscripts->axis[d].coef[m] * loop[m];
    }
}

static dcl_box box_of(int rank, const int64_t index[])
{
    dcl_box box = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        box.start[d] = index[d];
        box.count[d] = box.stride[d] = 1;
    }
    return box;
}

/* Add a stage of one element. */
static dcl_status add_stage(dcli_builder *builder, int k, const dcl_box *box, int64_t *stage_out)
{
    dcli_stage *stage = dcli_builder_stage(builder);
    if (stage == NULL)
        return DCL_ERR_NOMEM;
    stage->operand = k;
    stage->box = *box;
    stage->elements = 1;
    *stage_out = builder->plan->stage_count - 1;
    return DCL_OK;
}

/* Record that an element of another node is read: count it, and request it unless it is read in place. */
static dcl_status need_element(dcli_builder *builder, int a, const int64_t index[], dcli_point *point)
{
    const dcli_layout *layout = dcli_layout_of(builder, a);
    dcl_box box = {.rank = 0};
    point->operand = (int16_t)dcli_param_of(builder, a);
    if (!builder->terms->streams) {
        box = box_of(layout->grid.rank, index);
        dcl_status status = dcli_count_element(builder, point->operand, point->peer, &box);
        if (status != DCL_OK)
            return status;
    }
    if (!dcli_plans_with(builder, point->peer))
        return DCL_OK;
    if (dcli_reads_part(builder, point->peer))
        return dcli_node_list_add(&builder->plan->reads, point->peer);
    point->number = dcli_element_number(&layout->grid, index);
    point->stage = -1;
    if (!builder->terms->streams && add_stage(builder, point->operand, &box, &point->stage) != DCL_OK)
        return DCL_ERR_NOMEM;
    return dcli_builder_point(builder, point);
}

static dcl_status plan_point(dcli_builder *builder, const int64_t loop[], int64_t own_offset)
{
    const dcli_body *body = builder->operation->body;
    dcli_work *work = NULL;
    dcli_binding *bindings = NULL;
    if (!builder->terms->streams) {
        work = dcli_builder_work(builder);
        if (work == NULL)
            return DCL_ERR_NOMEM;
        work->box = box_of(body->space_rank, loop);
        work->first_binding = builder->plan->binding_count;
        bindings = dcli_builder_bindings(builder, body->access_count);
        if (bindings == NULL)
            return DCL_ERR_NOMEM;
    }
    for (int a = 0; a < body->access_count; a++) {
        dcli_point point = {.peer = builder->self, .offset = own_offset};
        int64_t index[DCL_MAX_RANK];
        if (!dcli_is_home(builder, a)) {
            find_index(&builder->accesses->subscripts[a], loop, index);
            dcli_layout_locate(dcli_layout_of(builder, a), index, &point.peer, &point.offset);
            if (point.peer != builder->self && need_element(builder, a, index, &point) != DCL_OK)
                return DCL_ERR_NOMEM;
        }
        if (bindings == NULL)
            continue;
        bool own = point.peer == builder->self, staged = !own && !dcli_reads_part(builder, point.peer);
        bindings[a] = (dcli_binding){.kind = own      ? DCLI_SPACE_OWN
                                             : staged ? DCLI_SPACE_STAGE
                                                      : DCLI_SPACE_PEER,
                                     .where = staged ? (int)point.stage : point.peer,
                                     .offset = staged ? 0 : point.offset};
    }
    return DCL_OK;
}

/* Add the pieces that fill the stages of a batch: each stage is one element, so it has one item. */
static dcl_status fill_stages(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    const dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    int64_t stages = plan->stage_count - batch->first_stage;
    if (stages == 0)
        return DCL_OK;
    int64_t first_piece = plan->piece_count;
    dcli_piece *piece = dcli_builder_pieces(builder, stages);
    if (piece == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t i = plan->chunk[batch->first_chunk].first_item; i < plan->item_count; i++) {
        int64_t number = builder->item_stage[i] - batch->first_stage;
        dcli_stage *stage = &plan->stage[builder->item_stage[i]];
        dcli_item item = dcli_plan_item(plan, i);
        piece[number] = (dcli_piece){.kind = DCLI_SPACE_CHUNK,
                                     .where = (int)item.chunk,
                                     .region = dcli_region_packed(&item.region.box, 0),
                                     .byte_offset = item.byte_offset};
        stage->first_in = first_piece + number;
        stage->in_count = 1;
        stage->first_out = stage->first_in + 1;
    }
    return DCL_OK;
}

static dcl_status end_batch(dcli_builder *builder, int64_t first_tile, int64_t tiles)
{
    dcli_plan *plan = builder->plan;
    dcl_status status = dcli_builder_chunks(builder);
    if (status == DCL_OK)
        status = fill_stages(builder);
    dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    batch->first_tile = first_tile;
    batch->tile_count = tiles;
    batch->work_count = plan->work_count - batch->first_work;
    batch->stage_count = plan->stage_count - batch->first_stage;
    return status;
}

static dcl_status plan_elements(dcli_builder *builder, const dcli_element_list *elements, int64_t first, int64_t tiles,
                                int64_t most)
{
    const dcli_operation *operation = builder->operation;
    const dcl_grid *grid = &operation->operand[operation->body->owner].layout->grid;
    dcl_status status = DCL_OK;
    int64_t planned = 0;
    most = elements->count / 2 > most ? most : INT64_MAX;
    for (int64_t e = 0; e < elements->count && status == DCL_OK; e++) {
        int64_t index[DCL_MAX_RANK];
        dcli_element_index(grid, elements->by_extent, elements->element[e].number, index);
        if (!dcli_box_contains(&operation->box, index))
            continue;
        if (planned > 0 && planned >= most) {
            status = end_batch(builder, first, tiles);
            planned = 0;
        }
        if (status == DCL_OK && planned == 0 && dcli_builder_batch(builder) == NULL)
            status = DCL_ERR_NOMEM;
        if (status == DCL_OK)
            status = plan_point(builder, index, elements->element[e].offset);
        planned++;
    }
    return status == DCL_OK && planned > 0 ? end_batch(builder, first, tiles) : status;
}

dcl_status dcli_plan_points(dcli_builder *builder, int64_t first, int64_t count, int64_t most)
{
    const dcli_operation *operation = builder->operation;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    dcli_element_list elements = {0};
    dcl_status status = dcli_layout_elements(layout, builder->self, first, count, &elements);
    if (status == DCL_OK && !builder->terms->streams)
        status = dcli_builder_reserve(builder, elements.count);
    if (status == DCL_OK)
        status = plan_elements(builder, &elements, first, count, most);
    dcli_element_list_free(&elements);
    return status;
}
