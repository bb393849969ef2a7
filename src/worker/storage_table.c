/* worker/storage_table.c - storages by number, and the layouts that they share. */
#include "worker/storage_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "resmap/map_text.h"

enum { BUCKETS = sizeof((dcli_storage_table *)0)->held / sizeof((dcli_storage_table *)0)->held[0] };

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static void end_layout(dcli_storage_table *storage_table, dcli_shared_layout *shared)
{
    dcli_shared_layout **at = &storage_table->layouts;
    while (*at != shared)
        at = &(*at)->next;
    *at = shared->next;
    storage_table->layout_ends(storage_table->user, shared->layout);
    dcli_layouts_end_use(storage_table->common, shared->layout);
    dcli_free(shared);
}

/* The least recently used unused layout. */
static dcli_shared_layout *oldest_unused(const dcli_storage_table *storage_table)
{
    dcli_shared_layout *oldest = NULL;
    for (dcli_shared_layout *shared = storage_table->layouts; shared != NULL; shared = shared->next)
        if (shared->uses == 0 && (oldest == NULL || shared->unused_since < oldest->unused_since))
            oldest = shared;
    return oldest;
}

void dcli_storage_table_end_layout(dcli_storage_table *storage_table, dcli_shared_layout *shared)
{
    if (--shared->uses > 0)
        return;
    shared->unused_since = ++storage_table->clock;
    if (++storage_table->unused_count <= DCLI_MOST_UNUSED_LAYOUTS)
        return;
    end_layout(storage_table, oldest_unused(storage_table));
    storage_table->unused_count--;
}

void dcli_storage_table_trim(dcli_storage_table *storage_table)
{
    for (dcli_shared_layout *oldest; (oldest = oldest_unused(storage_table)) != NULL; storage_table->unused_count--)
        end_layout(storage_table, oldest);
}

/* Get the shared layout that equals `fresh`, and add a use. Takes `fresh` over. */
static dcl_status share_layout(dcli_storage_table *storage_table, const dcli_layout *fresh,
                               dcli_shared_layout **shared_out)
{
    const dcli_layout *layout = dcli_layouts_share(storage_table->common, fresh);
    dcli_shared_layout *shared = storage_table->layouts;
    if (layout == NULL)
        return DCL_ERR_NOMEM;
    while (shared != NULL && shared->layout != layout)
        shared = shared->next;
    if (shared != NULL) { /* `shared` counts as a use of the layout already */
        dcli_layouts_end_use(storage_table->common, layout);
    } else if ((shared = dcli_calloc(1, sizeof *shared)) != NULL) {
        shared->layout = layout;
        shared->next = storage_table->layouts;
        storage_table->layouts = shared;
    } else {
        dcli_layouts_end_use(storage_table->common, layout);
        return DCL_ERR_NOMEM;
    }
    storage_table->unused_count -= shared->uses == 0 && shared->unused_since > 0;
    shared->uses++;
    *shared_out = shared;
    return DCL_OK;
}

static dcl_status bind_descriptor(const dcli_storage_table *storage_table, const dcli_msg_operation *descriptor,
                                  dcli_layout *layout_out)
{
    dcli_map_rule rule;
    dcl_grid grid = {.type = (dcl_type)descriptor->type, .rank = descriptor->rank};
    memcpy(grid.origin, descriptor->origin, sizeof grid.origin);
    memcpy(grid.extent, descriptor->extent, sizeof grid.extent);
    dcl_status status = dcli_grid_check(&grid);
    int nodes = descriptor->map_nodes > 0 ? descriptor->map_nodes : storage_table->node_count;
    if (status == DCL_OK && nodes > storage_table->node_count)
        status = DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has a map over %d nodes; expected at most %d",
                           descriptor->number, nodes, storage_table->node_count);
    if (status == DCL_OK)
        status = dcli_map_rule_parse(descriptor->map, nodes, &rule);
    if (status != DCL_OK)
        return status;
    rule.tile_bytes = descriptor->tile_bytes;
    rule.block_bytes = descriptor->block_bytes;
    rule.small_bytes = descriptor->small_bytes;
    status = dcli_layout_bind(&rule, &grid, layout_out);
    dcli_map_rule_release(&rule);
    return status;
}

dcl_status dcli_storage_table_shape(dcli_storage_table *storage_table, dcli_known_storage *held,
                                    const dcli_msg_view *view, dcli_shared_layout **shape_out)
{
    dcl_grid grid = {.type = held->shared->layout->grid.type, .rank = view->shape_rank};
    memcpy(grid.extent, view->shape, sizeof grid.extent);
    int s = 0;
    while (s < DCLI_MOST_SHAPES && (held->shape[s] == NULL || !dcli_grid_equal(&held->shape[s]->layout->grid, &grid)))
        s++;
    if (s == DCLI_MOST_SHAPES) {
        dcli_layout layout;
        dcli_shared_layout *shape;
        dcl_status status = dcli_layout_reshape(held->shared->layout, &grid, &layout);
        if (status == DCL_OK)
            status = share_layout(storage_table, &layout, &shape);
        if (status != DCL_OK)
            return status;
        s = held->next_shape++ % DCLI_MOST_SHAPES;
        if (held->shape[s] != NULL)
            dcli_storage_table_end_layout(storage_table, held->shape[s]);
        held->shape[s] = shape;
    }
    held->shape[s]->uses++;
    *shape_out = held->shape[s];
    return DCL_OK;
}

/* ---- storages ---------------------------------------------------------------------------------------------------- */

dcli_known_storage *dcli_storage_table_find(const dcli_storage_table *storage_table, int64_t storage)
{
    dcli_known_storage *held = storage < 0 ? NULL : storage_table->held[storage % BUCKETS];
    while (held != NULL && held->id != storage)
        held = held->next;
    return held;
}

size_t dcli_known_storage_bytes(const dcli_known_storage *held, int node)
{
    const dcli_layout *layout = held->shared->layout;
    return (size_t)dcli_layout_storage(layout, node) * dcl_type_bytes(layout->grid.type);
}

/* Release the memory objects by which kernels here read peers' parts. */
static void forget_peers(dcli_known_storage *held, int node_count)
{
    for (int n = 0; held->peer != NULL && n < node_count; n++)
        dcli_memory_release(held->peer[n]);
    dcli_free(held->peer);
    held->peer = NULL;
}

void dcli_storage_table_drop(dcli_storage_table *storage_table, dcli_known_storage *held)
{
    for (dcli_known_storage **at = &storage_table->held[held->id % BUCKETS]; *at != NULL; at = &(*at)->next)
        if (*at == held) {
            *at = held->next;
            forget_peers(held, storage_table->node_count);
            for (int s = 0; s < DCLI_MOST_SHAPES; s++)
                if (held->shape[s] != NULL)
                    dcli_storage_table_end_layout(storage_table, held->shape[s]);
            dcli_storage_table_end_layout(storage_table, held->shared);
            dcli_free(held);
            return;
        }
}

dcl_status dcli_storage_table_create(dcli_storage_table *storage_table, const dcli_msg_operation *descriptor)
{
    if (descriptor->operand_count != 1 || descriptor->operand[0].storage < 0 ||
        dcli_storage_table_find(storage_table, descriptor->operand[0].storage) != NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " creates a storage that exists", descriptor->number);
    dcli_layout layout;
    dcl_status status = bind_descriptor(storage_table, descriptor, &layout);
    if (status != DCL_OK)
        return status;
    dcli_known_storage *held = dcli_calloc(1, sizeof *held);
    if (held == NULL) {
        dcli_layout_release(&layout);
        return DCL_ERR_NOMEM;
    }
    if (share_layout(storage_table, &layout, &held->shared) != DCL_OK) {
        dcli_free(held);
        return DCL_ERR_NOMEM;
    }
    held->id = descriptor->operand[0].storage;
    held->unset = descriptor->unset;
    if (storage_table->last_created < held->id)
        storage_table->last_created = held->id;
    held->next = storage_table->held[held->id % BUCKETS];
    storage_table->held[held->id % BUCKETS] = held;
    return DCL_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void dcli_storage_table_init(dcli_storage_table *storage_table, int node_count, dcli_layouts *common,
                             dcli_layout_ends_fn *layout_ends, void *user)
{
    *storage_table =
        (dcli_storage_table){.node_count = node_count, .common = common, .layout_ends = layout_ends, .user = user};
}

void dcli_storage_table_release_device(dcli_storage_table *storage_table)
{
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_known_storage *held = storage_table->held[b]; held != NULL; held = held->next) {
            forget_peers(held, storage_table->node_count);
            dcli_memory_release(held->memory);
            held->memory = NULL;
        }
}

void dcli_storage_table_free(dcli_storage_table *storage_table)
{
    for (int b = 0; b < BUCKETS; b++)
        while (storage_table->held[b] != NULL)
            dcli_storage_table_drop(storage_table, storage_table->held[b]);
    while (storage_table->layouts != NULL)
        end_layout(storage_table, storage_table->layouts);
    storage_table->unused_count = 0;
}
