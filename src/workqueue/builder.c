/* workqueue/builder.c - grows the lists of a plan, and packs what is needed from peers into chunks. */
#include "workqueue/builder.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/cut.h"

enum { BATCH, WORK, BINDING, STAGE, PIECE, CHUNK, ITEM, SPOT };

/* Lists of more bytes are not kept for the next plan, nor are sets of more boxes or blocks, nor the sets of more
 * owners. */
enum { MOST_KEPT = 1 << 16, MOST_IN_SET = 64, MOST_OWNERS = 16 };

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
        [ITEM] = sizeof *plan->item,   [SPOT] = sizeof *plan->spot};
    int64_t sum = (int64_t)sizeof *plan + limits_bytes(plan->limits) +
                  (plan->reads.capacity + plan->partners.capacity) * (int64_t)sizeof(int);
    for (int list = BATCH; list <= SPOT; list++)
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

/* The record of a node's part of operand k: that of the first operand with the same layout. */
static struct dcli_home *home_of(dcli_builder *builder, int k, int node)
{
    int first = 0;
    while (builder->operation->operand[first].layout != builder->operation->operand[k].layout)
        first++;
    return node == builder->self ? &builder->seen[first].own : &builder->seen[first].with;
}

/* As home_of(), and look the part up if it is not known yet. */
static dcl_status find_home(dcli_builder *builder, int k, int node, const struct dcli_home **home_out)
{
    struct dcli_home *home = home_of(builder, k, node);
    dcl_status status = DCL_OK;
    if (!home->known)
        status = dcli_layout_one_region(builder->operation->operand[k].layout, node, &home->one, &home->region);
    home->known = status == DCL_OK;
    *home_out = home;
    return status;
}

dcl_status dcli_builder_one(dcli_builder *builder, int k, int node, const dcli_region **one_out)
{
    const struct dcli_home *home;
    *one_out = NULL;
    if (node != builder->self && !(builder->terms->pair && node == builder->terms->with))
        return DCL_OK;
    dcl_status status = find_home(builder, k, node, &home);
    if (status == DCL_OK && home->one)
        *one_out = &home->region;
    return status;
}

dcl_status dcli_builder_regions(dcli_builder *builder, int k, int node, const dcl_box *box)
{
    const dcli_region *one;
    dcli_region region;
    builder->regions.count = 0;
    dcl_status status = dcli_builder_one(builder, k, node, &one);
    if (status != DCL_OK)
        return status;
    if (one == NULL)
        return dcli_layout_regions(builder->operation->operand[k].layout, node, box, &builder->regions);
    return dcli_region_cut(one, box, &region) ? dcli_region_list_add(&builder->regions, &region) : DCL_OK;
}

enum { ITEM_ALIGN = 8 }; /* bytes: items of a chunk are aligned to the largest element */

static dcli_chunk *open_chunk(dcli_builder *builder, int peer, bool written)
{
    dcli_plan *plan = builder->plan;
    dcli_chunk *chunk = APPEND(builder, CHUNK, chunk, 1);
    if (chunk == NULL)
        return NULL;
    *chunk = (dcli_chunk){.written = written,
                          .peer = peer,
                          .first_batch = plan->batch_count - 1,
                          .last_batch = plan->batch_count - 1,
                          .first_item = plan->item_count};
    return chunk;
}

/* Record for which stage the next item of the plan is requested (-1: for none, or for several). */
static dcl_status note_stage(dcli_builder *builder, int64_t stage)
{
    int64_t number = builder->plan->item_count;
    if (dcli_grow(&builder->item_stage, number, &builder->item_stage_capacity, sizeof *builder->item_stage) != 0)
        return DCL_ERR_NOMEM;
    builder->item_stage[number] = stage;
    return DCL_OK;
}

/* Append an item for a region to the last chunk, which has room for it. */
static dcl_status add_item(dcli_builder *builder, const dcli_need *need, const dcli_region *region, int64_t bytes)
{
    dcli_plan *plan = builder->plan;
    if (note_stage(builder, need->stage) != DCL_OK)
        return DCL_ERR_NOMEM;
    dcli_item *item = APPEND(builder, ITEM, item, 1);
    if (item == NULL)
        return DCL_ERR_NOMEM;
    dcli_chunk *chunk = &plan->chunk[plan->chunk_count - 1];
    *item = (dcli_item){
        .operand = need->operand, .chunk = plan->chunk_count - 1, .region = *region, .byte_offset = chunk->bytes};
    chunk->bytes += dcli_ceil_div(bytes, ITEM_ALIGN) * ITEM_ALIGN;
    chunk->item_count++;
    return DCL_OK;
}

/* Append a single element to the last chunk, which has room for it. */
static dcl_status add_spot(dcli_builder *builder, const dcli_point *point)
{
    dcli_plan *plan = builder->plan;
    if (dcli_grow(&plan->spot, plan->item_count, &plan->space[SPOT], sizeof *plan->spot) != 0 ||
        note_stage(builder, point->stage) != DCL_OK)
        return DCL_ERR_NOMEM;
    dcli_chunk *chunk = &plan->chunk[plan->chunk_count - 1];
    plan->spot[plan->item_count++] = (dcli_spot){.number = point->number,
                                                 .offset = point->offset,
                                                 .operand = point->operand,
                                                 .chunk = (int32_t)(plan->chunk_count - 1)};
    chunk->bytes += ITEM_ALIGN;
    chunk->item_count++;
    return DCL_OK;
}

/* Copy the grids of the operands into the plan, once; dcli_plan_item() needs them. */
static dcl_status note_grids(dcli_builder *builder)
{
    const dcli_operation *operation = builder->operation;
    dcli_plan *plan = builder->plan;
    if (plan->spot_grid != NULL)
        return DCL_OK;
    plan->spot_grid = dcli_calloc((size_t)operation->operand_count, sizeof *plan->spot_grid);
    for (int k = 0; plan->spot_grid != NULL && k < operation->operand_count; k++)
        if (operation->operand[k].layout != NULL && !operation->operand[k].layout->empty) {
            plan->spot_grid[k].grid = operation->operand[k].layout->grid;
            dcli_element_divisors(&plan->spot_grid[k].grid, plan->spot_grid[k].by_extent);
        }
    return plan->spot_grid != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

dcli_item dcli_plan_item(const dcli_plan *plan, int64_t i)
{
    if (plan->spot == NULL)
        return plan->item[i];
    const dcli_spot *spot = &plan->spot[i];
    const dcli_spot_grid *of = &plan->spot_grid[spot->operand];
    dcli_item item = {.operand = spot->operand,
                      .chunk = spot->chunk,
                      .region = {.box = {.rank = of->grid.rank}, .offset = spot->offset},
                      .byte_offset = (i - plan->chunk[spot->chunk].first_item) * ITEM_ALIGN};
    dcli_element_index(&of->grid, of->by_extent, spot->number, item.region.box.start);
    for (int d = 0; d < of->grid.rank; d++)
        item.region.box.count[d] = item.region.box.stride[d] = 1;
    return item;
}

/* A chunk takes at most 1/4 of the pool, so that a small pool can receive while kernels read other chunks. */
enum { CHUNKS_IN_POOL = 4 };

/* Put a region that fits into a chunk, or that cannot be cut, into the last chunk or, if it does not fit there, into a
 * new one. */
static dcl_status place_piece(dcli_builder *builder, const dcli_need *need, const dcli_region *region, int64_t bytes,
                              int64_t most, bool *open)
{
    if (*open && builder->plan->chunk[builder->plan->chunk_count - 1].bytes + bytes > most)
        *open = false;
    if (!*open && open_chunk(builder, need->peer, need->written) == NULL)
        return DCL_ERR_NOMEM;
    *open = true;
    return add_item(builder, need, region, bytes);
}

/* Pack a need into chunks; large regions are cut along the slowest axes.
 * @param open  whether the last chunk may take more. */
static dcl_status place(dcli_builder *builder, const dcli_need *need, const dcli_region *region, bool *open)
{
    int64_t most = dcli_min(builder->terms->chunk_bytes, builder->terms->pool_bytes / CHUNKS_IN_POOL);
    int64_t of_element = dcli_builder_bytes(builder, need->operand), shape[DCL_MAX_RANK];
    int64_t bytes = dcli_box_elements(&region->box) * of_element;
    if (bytes <= most)
        return place_piece(builder, need, region, bytes, most, open);
    dcli_cut_shape(region->box.rank, region->box.count, NULL, most / of_element, shape);
    dcli_cut cut = dcli_cut_begin(region->box.rank, region->box.count, shape);
    dcl_status status = DCL_OK;
    while (status == DCL_OK && dcli_cut_next(&cut)) {
        dcli_region piece = dcli_region_part(region, cut.lo, cut.count);
        status = place_piece(builder, need, &piece, dcli_box_elements(&piece.box) * of_element, most, open);
    }
    return status;
}

/* Put the points of one stream (one peer and direction) into chunks. @param order  [count] indices of the points. */
static dcl_status place_points(dcli_builder *builder, const int64_t order[], int64_t count)
{
    int64_t most = dcli_min(builder->terms->chunk_bytes, builder->terms->pool_bytes / CHUNKS_IN_POOL);
    dcli_plan *plan = builder->plan;
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < count && status == DCL_OK; n++) {
        const dcli_point *point = &builder->point[order[n]];
        if (n == 0 || plan->chunk[plan->chunk_count - 1].bytes + dcli_builder_bytes(builder, point->operand) > most)
            status = open_chunk(builder, point->peer, point->written) != NULL ? DCL_OK : DCL_ERR_NOMEM;
        if (status == DCL_OK)
            status = add_spot(builder, point);
    }
    return status;
}

/* All points are of one peer: put them into chunks as they are. */
static dcl_status place_points_of_pair(dcli_builder *builder)
{
    int64_t *order = dcli_malloc((size_t)builder->point_count * sizeof *order);
    dcl_status status = order != NULL ? note_grids(builder) : DCL_ERR_NOMEM;
    for (int64_t n = 0; n < builder->point_count && status == DCL_OK; n++)
        order[n] = n;
    if (status == DCL_OK)
        status = place_points(builder, order, builder->point_count);
    dcli_free(order);
    return status;
}

/* Put the points of all peers into chunks. Points are first sorted by peer, because a search for each peer among as
 * many points as elements would be slow. All points of a batch are read, or all are written. */
static dcl_status place_all_points(dcli_builder *builder)
{
    if (builder->terms->pair)
        return place_points_of_pair(builder);
    size_t peers = (size_t)builder->terms->node_count + 1;
    int64_t *first = dcli_calloc(peers + 1, sizeof *first);
    int64_t *order = first != NULL ? dcli_malloc((size_t)builder->point_count * sizeof *order) : NULL;
    dcl_status status = order != NULL ? note_grids(builder) : DCL_ERR_NOMEM;
    if (status == DCL_OK) {
        for (int64_t n = 0; n < builder->point_count; n++)
            first[builder->point[n].peer + 1]++;
        for (size_t p = 1; p <= peers; p++)
            first[p] += first[p - 1];
        for (int64_t n = 0; n < builder->point_count; n++)
            order[first[builder->point[n].peer]++] = n;
    }
    for (size_t p = 0; p < peers && status == DCL_OK; p++) { /* first[p] is now the end of the points of p */
        int64_t from = p > 0 ? first[p - 1] : 0;
        status = place_points(builder, order + from, first[p] - from);
    }
    dcli_free(order);
    dcli_free(first);
    return status;
}

/* A need or a chunk, with the key by which it is sorted. */
struct by_stream {
    int written, peer;
    int64_t at; /* index of the need or chunk in its list */
};

static int compare_streams(const void *a, const void *b)
{
    const struct by_stream *x = a, *y = b;
    if (x->written != y->written)
        return x->written - y->written;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void sort_streams(struct by_stream order[], int64_t count)
{
    bool sorted = true;
    for (int64_t n = 1; n < count && sorted; n++)
        sorted = compare_streams(&order[n - 1], &order[n]) < 0;
    if (!sorted)
        qsort(order, (size_t)count, sizeof *order, compare_streams);
}

/* List the needs of the batch by stream: first those that are read, peer by peer, in the order in which they were
 * recorded. */
static dcl_status sort_needs(dcli_builder *builder, struct by_stream **order_out)
{
    int64_t count = builder->need_count;
    struct by_stream *order = dcli_malloc((size_t)count * sizeof *order);
    *order_out = order;
    if (order == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t n = 0; n < count; n++)
        order[n] = (struct by_stream){builder->need[n].written, builder->need[n].peer, n};
    sort_streams(order, count);
    return DCL_OK;
}

/* Put the needs of one direction into chunks. A chunk has needs of one peer only. */
static dcl_status place_needs(dcli_builder *builder, const struct by_stream order[], bool written)
{
    bool open = false;
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < builder->need_count && status == DCL_OK; n++) {
        if (order[n].written != (int)written)
            continue;
        open = open && n > 0 && order[n - 1].peer == order[n].peer;
        const dcli_need *need = &builder->need[order[n].at];
        status = place(builder, need, &need->region, &open);
    }
    return status;
}

dcl_status dcli_builder_chunks(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    dcli_batch *batch = &plan->batch[plan->batch_count - 1];
    assert(builder->point_count == 0 || builder->need_count == 0);
    bool points = builder->point_count > 0, points_written = points && builder->point[0].written;
    struct by_stream *order = NULL;
    dcl_status status = builder->need_count > 0 ? sort_needs(builder, &order) : DCL_OK;
    for (int written = 0; written < 2 && status == DCL_OK; written++) {
        if (written)
            batch->first_made = plan->chunk_count;
        if (!points)
            status = place_needs(builder, order, written != 0);
        else if (points_written == (written != 0))
            status = place_all_points(builder);
        if (!written)
            batch->chunk_count = plan->chunk_count - batch->first_chunk;
    }
    dcli_free(order);
    batch->made_count = plan->chunk_count - batch->first_made;
    builder->need_count = builder->point_count = 0;
    return status;
}

dcl_status dcli_builder_number_chunks(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    int64_t count = plan->chunk_count;
    if (count == 0)
        return DCL_OK;
    struct by_stream *order = dcli_malloc((size_t)count * sizeof *order);
    if (order == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t c = 0; c < count; c++)
        order[c] = (struct by_stream){plan->chunk[c].written, plan->chunk[c].peer, c};
    sort_streams(order, count);
    for (int64_t n = 1; n < count; n++)
        if (order[n].written == order[n - 1].written && order[n].peer == order[n - 1].peer)
            plan->chunk[order[n].at].number = plan->chunk[order[n - 1].at].number + 1;
    dcli_free(order);
    return DCL_OK;
}

/* A list of the plan. */
struct list {
    void *at; /* the pointer to its entries */
    int64_t count;
    size_t bytes; /* of an entry */
};

static void list_lists(dcli_plan *plan, struct list list_out[DCLI_PLAN_LISTS])
{
    list_out[BATCH] = (struct list){&plan->batch, plan->batch_count, sizeof *plan->batch};
    list_out[WORK] = (struct list){&plan->work, plan->work_count, sizeof *plan->work};
    list_out[BINDING] = (struct list){&plan->binding, plan->binding_count, sizeof *plan->binding};
    list_out[STAGE] = (struct list){&plan->stage, plan->stage_count, sizeof *plan->stage};
    list_out[PIECE] = (struct list){&plan->piece, plan->piece_count, sizeof *plan->piece};
    list_out[CHUNK] = (struct list){&plan->chunk, plan->chunk_count, sizeof *plan->chunk};
    list_out[ITEM] = (struct list){&plan->item, plan->spot == NULL ? plan->item_count : 0, sizeof *plan->item};
}

/* Whether the plan gets a copy of the list, and the builder keeps its memory. */
static bool is_short(const dcli_plan *plan, int n, const struct list *list)
{
    return list->count > 0 && plan->space[n] <= MOST_KEPT / (int64_t)list->bytes;
}

void dcli_builder_begin(dcli_builder *builder, dcli_plan *plan, const dcli_operation *operation, int self,
                        const dcli_plan_terms *terms, dcli_accesses *accesses)
{
    memset(&builder->plan, 0, offsetof(dcli_builder, seen) - offsetof(dcli_builder, plan));
    for (; builder->seen_used < operation->operand_count; builder->seen_used++)
        builder->seen[builder->seen_used] = (dcli_seen){0};
    builder->plan = plan;
    builder->operation = operation;
    builder->terms = terms;
    builder->accesses = accesses;
    builder->self = self;
    builder->regions.count = builder->tiles.count = builder->fresh.count = builder->missing.count = 0;
    builder->owners.count = 0;
    struct list list[DCLI_PLAN_LISTS];
    list_lists(plan, list);
    for (int n = 0; n < DCLI_PLAN_LISTS; n++) {
        memcpy(list[n].at, &builder->spare[n].items, sizeof builder->spare[n].items);
        plan->space[n] = builder->spare[n].capacity;
        builder->spare[n] = (struct dcli_spare){0};
    }
}

void dcli_builder_fit(dcli_builder *builder)
{
    struct list list[DCLI_PLAN_LISTS];
    dcli_plan *plan = builder->plan;
    list_lists(plan, list);
    size_t bytes = 0;
    for (int n = 0; n < DCLI_PLAN_LISTS; n++)
        bytes += is_short(plan, n, &list[n]) ? (size_t)list[n].count * list[n].bytes : 0;
    char *memory = plan->memory = bytes > 0 ? dcli_try_malloc(bytes) : NULL;
    for (int n = 0; n < DCLI_PLAN_LISTS; n++) {
        int64_t *capacity = &plan->space[n];
        void *items, *copy = NULL;
        memcpy(&items, list[n].at, sizeof items);
        if (list[n].count > 0 && (memory == NULL || !is_short(plan, n, &list[n]))) {
            dcli_fit(list[n].at, list[n].count, capacity, list[n].bytes);
            continue;
        }
        if (list[n].count > 0) {
            copy = memory;
            memcpy(copy, items, (size_t)list[n].count * list[n].bytes);
            memory += (size_t)list[n].count * list[n].bytes;
            plan->packed |= 1u << n;
        }
        builder->spare[n] = (struct dcli_spare){items, *capacity};
        memcpy(list[n].at, &copy, sizeof copy);
        *capacity = list[n].count;
    }
}

void dcli_plan_lists_free(dcli_plan *plan)
{
    struct list list[DCLI_PLAN_LISTS];
    list_lists(plan, list);
    for (int n = 0; n < DCLI_PLAN_LISTS; n++) {
        void *items;
        memcpy(&items, list[n].at, sizeof items);
        if ((plan->packed & 1u << n) == 0)
            dcli_free(items);
    }
    dcli_free(plan->memory);
    dcli_free(plan->spot);
    dcli_free(plan->spot_grid);
}

/* Free a list that became long. */
static void trim(void *items_in_out, int64_t *capacity, size_t bytes)
{
    if (*capacity > MOST_KEPT / (int64_t)bytes)
        dcli_fit(items_in_out, 0, capacity, bytes);
}

static void free_owned(dcli_seen *seen)
{
    for (int64_t n = 0; n < seen->owned_ready; n++) {
        dcli_block_set_free(&seen->owned[n].blocks);
        dcli_box_set_free(&seen->owned[n].needed);
    }
    dcli_free(seen->owned);
    seen->owned = NULL;
    seen->owned_count = seen->owned_ready = seen->owned_capacity = 0;
}

static void clear_seen(dcli_seen *seen)
{
    seen->keeps = seen->copied = seen->unique = seen->own.known = seen->with.known = false;
    dcli_box_set_clear(&seen->set, MOST_IN_SET);
    dcli_box_set_clear(&seen->asked, MOST_IN_SET);
    dcli_box_set_clear(&seen->arrived, MOST_IN_SET);
    trim(&seen->item, &seen->item_capacity, sizeof *seen->item);
    if (seen->owned_count > MOST_OWNERS)
        free_owned(seen);
    for (int64_t n = 0; n < seen->owned_count; n++) {
        dcli_block_set_clear(&seen->owned[n].blocks, MOST_IN_SET);
        dcli_box_set_clear(&seen->owned[n].needed, MOST_IN_SET);
    }
    seen->owned_count = 0;
}

void dcli_builder_end(dcli_builder *builder)
{
    struct list list[DCLI_PLAN_LISTS];
    list_lists(builder->plan, list);
    for (int k = 0; k < builder->operation->operand_count; k++)
        clear_seen(&builder->seen[k]);
    trim(&builder->need, &builder->need_capacity, sizeof *builder->need);
    trim(&builder->point, &builder->point_capacity, sizeof *builder->point);
    trim(&builder->want, &builder->want_capacity, sizeof *builder->want);
    trim(&builder->item_stage, &builder->item_stage_capacity, sizeof *builder->item_stage);
    trim(&builder->source, &builder->source_capacity, sizeof *builder->source);
    dcli_free(builder->early);
    builder->early = NULL;
    builder->early_capacity = 0;
    trim(&builder->regions.region, &builder->regions.capacity, sizeof *builder->regions.region);
    trim(&builder->tiles.region, &builder->tiles.capacity, sizeof *builder->tiles.region);
    trim(&builder->fresh.box, &builder->fresh.capacity, sizeof *builder->fresh.box);
    trim(&builder->missing.box, &builder->missing.capacity, sizeof *builder->missing.box);
    for (int n = 0; n < DCLI_PLAN_LISTS; n++)
        trim(&builder->spare[n].items, &builder->spare[n].capacity, list[n].bytes);
}

void dcli_builder_free(dcli_builder *builder)
{
    dcli_free(builder->need);
    dcli_free(builder->point);
    dcli_free(builder->want);
    dcli_free(builder->source);
    dcli_free(builder->item_stage);
    for (int list = 0; list < DCLI_PLAN_LISTS; list++)
        dcli_free(builder->spare[list].items);
    dcli_node_list_free(&builder->owners);
    dcli_region_list_free(&builder->regions);
    dcli_region_list_free(&builder->tiles);
    dcli_box_list_free(&builder->fresh);
    dcli_box_list_free(&builder->missing);
    for (int k = 0; k < builder->seen_used; k++) {
        dcli_seen *seen = &builder->seen[k];
        dcli_box_set_free(&seen->set);
        dcli_box_set_free(&seen->asked);
        dcli_box_set_free(&seen->arrived);
        dcli_free(seen->item);
        free_owned(seen);
    }
}
