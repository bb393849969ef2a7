/* workqueue/builder.c - the lists of a plan, and the cutting of needs into chunks. */
#include "workqueue/builder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

enum { BATCH, WORK, BINDING, STAGE, PIECE, CHUNK, ITEM };

static void *append(dcli_builder *builder, int list, void *items, int64_t *count, int64_t more, size_t bytes)
{
    char *base;
    if (dcli_reserve(items, *count, more, &builder->plan->space[list], bytes) != 0)
        return NULL;
    memcpy(&base, items, sizeof base);
    void *entry = base + (size_t)*count * bytes;
    memset(entry, 0, bytes * (size_t)more);
    *count += more;
    return entry;
}

#define APPEND(builder, list, name, more)                                                     \
    append((builder), (list), &(builder)->plan->name, &(builder)->plan->name##_count, (more), \
           sizeof *(builder)->plan->name)

dcl_status dcli_builder_reserve(dcli_builder *builder, int64_t works)
{
    dcli_plan *plan = builder->plan;
    int64_t bindings = works * builder->operation->body->access_count;
    bool ok =
        dcli_reserve(&plan->work, plan->work_count, works, &plan->space[WORK], sizeof *plan->work) == 0 &&
        dcli_reserve(&plan->binding, plan->binding_count, bindings, &plan->space[BINDING], sizeof *plan->binding) == 0;
    return ok ? DCL_OK : DCL_ERR_NOMEM;
}

dcli_batch *dcli_builder_batch(dcli_builder *builder)
{
    dcli_batch *batch = APPEND(builder, BATCH, batch, 1);
    if (batch != NULL) {
        batch->first_work = builder->plan->work_count;
        batch->first_stage = builder->plan->stage_count;
        batch->first_chunk = batch->first_made = builder->plan->chunk_count;
    }
    return batch;
}

dcli_work *dcli_builder_work(dcli_builder *builder) { return APPEND(builder, WORK, work, 1); }

dcli_binding *dcli_builder_bindings(dcli_builder *builder, int count)
{
    return APPEND(builder, BINDING, binding, count);
}

enum { BLOCK_LIMITS = 64 };

struct dcli_limits_block {
    dcli_limits_block *next;
    int count;
    dcli_limits limits[BLOCK_LIMITS];
};

dcli_limits *dcli_builder_limits(dcli_builder *builder)
{
    dcli_limits_block *block = builder->plan->limits;
    if (block == NULL || block->count == BLOCK_LIMITS) {
        block = dcli_malloc(sizeof *block);
        if (block == NULL)
            return NULL;
        block->next = builder->plan->limits;
        block->count = 0;
        builder->plan->limits = block;
    }
    return &block->limits[block->count++];
}

void dcli_limits_free(dcli_limits_block *blocks)
{
    while (blocks != NULL) {
        dcli_limits_block *next = blocks->next;
        dcli_free(blocks);
        blocks = next;
    }
}

static int64_t limits_bytes(const dcli_limits_block *blocks)
{
    int64_t bytes = 0;
    for (; blocks != NULL; blocks = blocks->next)
        bytes += (int64_t)sizeof *blocks;
    return bytes;
}

int64_t dcli_plan_bytes(const dcli_plan *plan)
{
    const size_t bytes[] = {
        [BATCH] = sizeof *plan->batch, [WORK] = sizeof *plan->work,   [BINDING] = sizeof *plan->binding,
        [STAGE] = sizeof *plan->stage, [PIECE] = sizeof *plan->piece, [CHUNK] = sizeof *plan->chunk,
        [ITEM] = sizeof *plan->item};
    int64_t sum = (int64_t)sizeof *plan + limits_bytes(plan->limits);
    for (int list = BATCH; list <= ITEM; list++)
        sum += plan->space[list] * (int64_t)bytes[list];
    return sum;
}

dcli_stage *dcli_builder_stage(dcli_builder *builder) { return APPEND(builder, STAGE, stage, 1); }

dcli_piece *dcli_builder_piece(dcli_builder *builder) { return APPEND(builder, PIECE, piece, 1); }

dcli_piece *dcli_builder_pieces(dcli_builder *builder, int64_t count) { return APPEND(builder, PIECE, piece, count); }

dcl_status dcli_builder_point(dcli_builder *builder, const dcli_point *point)
{
    if (dcli_grow(&builder->point, builder->point_count, &builder->point_capacity, sizeof *point) != 0)
        return DCL_ERR_NOMEM;
    builder->point[builder->point_count++] = *point;
    return DCL_OK;
}

dcl_status dcli_builder_need(dcli_builder *builder, const dcli_need *need)
{
    if (dcli_grow(&builder->need, builder->need_count, &builder->need_capacity, sizeof *need) != 0)
        return DCL_ERR_NOMEM;
    builder->need[builder->need_count++] = *need;
    return DCL_OK;
}

dcl_status dcli_builder_want(dcli_builder *builder, const dcli_want *want)
{
    if (dcli_grow(&builder->want, builder->want_count, &builder->want_capacity, sizeof *want) != 0)
        return DCL_ERR_NOMEM;
    builder->want[builder->want_count++] = *want;
    return DCL_OK;
}

static dcli_chunk *open_chunk(dcli_builder *builder, const dcli_need *need)
{
    dcli_plan *plan = builder->plan;
    int64_t *length = &builder->stream_length[2 * need->peer + need->written];
    dcli_chunk *chunk = APPEND(builder, CHUNK, chunk, 1);
    if (chunk == NULL)
        return NULL;
    *chunk = (dcli_chunk){.written = need->written,
                          .peer = need->peer,
                          .number = (*length)++,
                          .first_batch = plan->batch_count - 1,
                          .last_batch = plan->batch_count - 1,
                          .first_item = plan->item_count};
    return chunk;
}

/* Append a region to the last chunk, which has room for it. */
static dcl_status add_item(dcli_builder *builder, const dcli_need *need, const dcli_region *region, int64_t bytes)
{
    dcli_plan *plan = builder->plan;
    int64_t number = plan->item_count;
    while (number >= builder->item_stage_capacity)
        if (dcli_grow(&builder->item_stage, builder->item_stage_capacity, &builder->item_stage_capacity,
                      sizeof *builder->item_stage) != 0)
            return DCL_ERR_NOMEM;
    dcli_item *item = APPEND(builder, ITEM, item, 1);
    if (item == NULL)
        return DCL_ERR_NOMEM;
    dcli_chunk *chunk = &plan->chunk[plan->chunk_count - 1];
    *item = (dcli_item){
        .operand = need->operand, .chunk = plan->chunk_count - 1, .region = *region, .byte_offset = chunk->bytes};
    builder->item_stage[number] = need->stage;
    chunk->bytes += (bytes + 7) / 8 * 8;
    chunk->item_count++;
    return DCL_OK;
}

/* The first `count` indices of axis d, and the rest. */
static void split(const dcli_region *region, int d, int64_t count, dcli_region *head, dcli_region *tail)
{
    *head = *tail = *region;
    head->box.count[d] = count;
    tail->box.count[d] -= count;
    tail->box.start[d] += count * region->box.stride[d];
    tail->offset += count * region->step[d];
}

enum { CHUNKS_IN_POOL = 4 }; /* at least, so that a small pool takes what comes bit by bit */

/* Put a region that fits a chunk, or cannot be cut, into the last chunk or a new one. */
static dcl_status place_piece(dcli_builder *builder, const dcli_need *need, const dcli_region *region, int64_t bytes,
                              int64_t most, bool *open)
{
    if (*open && builder->plan->chunk[builder->plan->chunk_count - 1].bytes + bytes > most)
        *open = false;
    if (!*open && open_chunk(builder, need) == NULL)
        return DCL_ERR_NOMEM;
    *open = true;
    return add_item(builder, need, region, bytes);
}

/* Pack a need into chunks, `open` being whether the last chunk may take more: cut along the slowest axis that can be cut,
 * piece after piece. A piece that is still too large is one index thick there, so the recursion ends with the axes. */
static dcl_status place(dcli_builder *builder, const dcli_need *need, const dcli_region *region, bool *open)
{
    int64_t most = dcli_min(builder->terms->chunk_bytes, builder->terms->pool_bytes / CHUNKS_IN_POOL);
    dcli_region rest = *region;
    int d = 0;
    while (d < rest.box.rank - 1 && rest.box.count[d] == 1)
        d++;
    int64_t slice = dcli_box_elements(&rest.box) / rest.box.count[d] * dcli_builder_bytes(builder, need->operand);
    dcl_status status = DCL_OK;
    while (status == DCL_OK && slice * rest.box.count[d] > most && rest.box.count[d] > 1) {
        dcli_region head;
        split(&rest, d, dcli_min(dcli_max(most / slice, 1), rest.box.count[d] - 1), &head, &rest);
        status = slice > most ? place(builder, need, &head, open)
                              : place_piece(builder, need, &head, slice * head.box.count[d], most, open);
    }
    if (status != DCL_OK)
        return status;
    if (slice > most && d < rest.box.rank - 1)
        return place(builder, need, &rest, open);
    return place_piece(builder, need, &rest, slice * rest.box.count[d], most, open);
}

/* Written after read, then by peer. Counting keeps the order of the needs. */
static dcl_status place_all(dcli_builder *builder, bool written, int peer)
{
    bool open = false;
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < builder->need_count && status == DCL_OK; n++)
        if (builder->need[n].written == written && builder->need[n].peer == peer)
            status = place(builder, &builder->need[n], &builder->need[n].region, &open);
    return status;
}

static dcl_status place_points(dcli_builder *builder, int peer)
{
    int64_t most = dcli_min(builder->terms->chunk_bytes, builder->terms->pool_bytes / CHUNKS_IN_POOL);
    dcli_divisor by_extent[DCL_MAX_RANK];
    bool open = false;
    int divided = -1; /* the operand that the divisors are of */
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < builder->point_count && status == DCL_OK; n++) {
        const dcli_point *point = &builder->point[n];
        const dcl_grid *grid = &builder->operation->operand[point->operand].layout->grid;
        dcli_need need = {.peer = peer, .operand = point->operand, .stage = point->stage};
        dcli_region region = {.box = {.rank = grid->rank}, .offset = point->offset};
        if (point->peer != peer)
            continue;
        if (divided != point->operand)
            dcli_element_divisors(grid, by_extent);
        divided = point->operand;
        dcli_element_index(grid, by_extent, point->number, region.box.start);
        for (int d = 0; d < grid->rank; d++)
            region.box.count[d] = region.box.stride[d] = 1;
        status = place_piece(builder, &need, &region, dcli_builder_bytes(builder, point->operand), most, &open);
    }
    return status;
}

dcl_status dcli_builder_chunks(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    dcl_status status = DCL_OK;
    bool *present = builder->owners;
    for (int written = 0; written < 2 && status == DCL_OK; written++) {
        if (written)
            batch->first_made = plan->chunk_count;
        memset(present, 0, sizeof *present * (size_t)(builder->terms->node_count + 1));
        for (int64_t n = 0; n < builder->need_count; n++)
            present[builder->need[n].peer] |= builder->need[n].written == (written != 0);
        for (int64_t n = 0; n < builder->point_count && !written; n++)
            present[builder->point[n].peer] = true;
        int end = builder->terms->node_count + 1, peer = dcli_next_owner(builder, 0, end);
        for (; peer < end && status == DCL_OK; peer = dcli_next_owner(builder, peer + 1, end))
            status = builder->point_count > 0 ? place_points(builder, peer) : place_all(builder, written != 0, peer);
        if (!written)
            batch->chunk_count = plan->chunk_count - batch->first_chunk;
    }
    batch->made_count = plan->chunk_count - batch->first_made;
    builder->need_count = builder->point_count = 0;
    return status;
}
