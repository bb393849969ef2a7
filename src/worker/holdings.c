/* worker/holdings.c - storages by number, and the layouts that they share. */
#include "worker/holdings.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "resmap/map_text.h"

enum { BUCKETS = sizeof((dcli_holdings *)0)->held / sizeof((dcli_holdings *)0)->held[0] };

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static void end_layout(dcli_holdings *holdings, dcli_shared_layout *shared)
{
    dcli_shared_layout **at = &holdings->layouts;
    while (*at != shared)
        at = &(*at)->next;
    *at = shared->next;
    holdings->layout_ends(holdings->user, shared->layout);
    dcli_layouts_end_use(holdings->common, shared->layout);
    dcli_free(shared);
}

/* The least recently used unused layout. */
static dcli_shared_layout *oldest_unused(const dcli_holdings *holdings)
{
    dcli_shared_layout *oldest = NULL;
    for (dcli_shared_layout *shared = holdings->layouts; shared != NULL; shared = shared->next)
        if (shared->uses == 0 && (oldest == NULL || shared->unused_since < oldest->unused_since))
            oldest = shared;
    return oldest;
}

/* End a use of a layout. Some unused layouts are retained with their plans, for arrays that are remapped back and
 * forth. */
static void end_layout_use(dcli_holdings *holdings, dcli_shared_layout *shared)
{
    if (--shared->uses > 0)
        return;
    shared->unused_since = ++holdings->clock;
    if (++holdings->unused_count <= DCLI_MOST_UNUSED_LAYOUTS)
        return;
    end_layout(holdings, oldest_unused(holdings));
    holdings->unused_count--;
}

void dcli_holdings_trim(dcli_holdings *holdings)
{
    for (dcli_shared_layout *oldest; (oldest = oldest_unused(holdings)) != NULL; holdings->unused_count--)
        end_layout(holdings, oldest);
}

/* Takes the layout over. */
static dcl_status share_layout(dcli_holdings *holdings, const dcli_layout *fresh, dcli_shared_layout **shared_out)
{
    const dcli_layout *layout = dcli_layouts_share(holdings->common, fresh);
    dcli_shared_layout *shared = holdings->layouts;
    if (layout == NULL)
        return DCL_ERR_NOMEM;
    while (shared != NULL && shared->layout != layout)
        shared = shared->next;
    if (shared != NULL) { /* it has a use already */
        dcli_layouts_end_use(holdings->common, layout);
    } else if ((shared = dcli_calloc(1, sizeof *shared)) != NULL) {
        shared->layout = layout;
        shared->next = holdings->layouts;
        holdings->layouts = shared;
    } else {
        dcli_layouts_end_use(holdings->common, layout);
        return DCL_ERR_NOMEM;
    }
    holdings->unused_count -= shared->uses == 0 && shared->unused_since > 0;
    shared->uses++;
    *shared_out = shared;
    return DCL_OK;
}

static dcl_status bind_descriptor(const dcli_holdings *holdings, const dcli_msg_operation *descriptor,
                                  dcli_layout *layout_out)
{
    dcli_map_rule rule;
    dcl_grid grid = {.type = (dcl_type)descriptor->type, .rank = descriptor->rank};
    memcpy(grid.origin, descriptor->origin, sizeof grid.origin);
    memcpy(grid.extent, descriptor->extent, sizeof grid.extent);
    dcl_status status = dcli_grid_check(&grid);
    int nodes = descriptor->map_nodes > 0 ? descriptor->map_nodes : holdings->node_count;
    if (status == DCL_OK && nodes > holdings->node_count)
        status = DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " has a map over %d nodes; expected at most %d",
                           descriptor->number, nodes, holdings->node_count);
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

void dcli_holdings_end_shape(dcli_holdings *holdings, dcli_shared_layout *shape) { end_layout_use(holdings, shape); }

dcl_status dcli_holdings_shape(dcli_holdings *holdings, dcli_held *held, const dcli_msg_view *view,
                               dcli_shared_layout **shape_out)
{
    dcl_grid grid = {.type = held->shared->layout->grid.type, .rank = view->shape_rank};
    memcpy(grid.extent, view->shape, sizeof grid.extent);
    int s = 0;
    while (s < DCLI_MOST_SHAPES && (held->shape[s] == NULL || !dcli_equal_grids(&held->shape[s]->layout->grid, &grid)))
        s++;
    if (s == DCLI_MOST_SHAPES) {
        dcli_layout layout;
        dcli_shared_layout *shape;
        dcl_status status = dcli_layout_reshape(held->shared->layout, &grid, &layout);
        if (status == DCL_OK)
            status = share_layout(holdings, &layout, &shape);
        if (status != DCL_OK)
            return status;
        s = held->next_shape++ % DCLI_MOST_SHAPES;
        if (held->shape[s] != NULL)
            end_layout_use(holdings, held->shape[s]);
        held->shape[s] = shape;
    }
    held->shape[s]->uses++;
    *shape_out = held->shape[s];
    return DCL_OK;
}

/* ---- storages ---------------------------------------------------------------------------------------------------- */

dcli_held *dcli_holdings_find(const dcli_holdings *holdings, int64_t storage)
{
    dcli_held *held = storage < 0 ? NULL : holdings->held[storage % BUCKETS];
    while (held != NULL && held->id != storage)
        held = held->next;
    return held;
}

size_t dcli_held_bytes(const dcli_held *held, int node)
{
    const dcli_layout *layout = held->shared->layout;
    return (size_t)dcli_layout_storage(layout, node) * dcl_type_bytes(layout->grid.type);
}

/* Release the memory objects by which kernels here read peers' parts. */
static void forget_peers(dcli_held *held, int node_count)
{
    for (int n = 0; held->peer != NULL && n < node_count; n++)
        dcli_memory_release(held->peer[n]);
    dcli_free(held->peer);
    held->peer = NULL;
}

void dcli_holdings_drop(dcli_holdings *holdings, dcli_held *held)
{
    for (dcli_held **at = &holdings->held[held->id % BUCKETS]; *at != NULL; at = &(*at)->next)
        if (*at == held) {
            *at = held->next;
            forget_peers(held, holdings->node_count);
            for (int s = 0; s < DCLI_MOST_SHAPES; s++)
                if (held->shape[s] != NULL)
                    end_layout_use(holdings, held->shape[s]);
            end_layout_use(holdings, held->shared);
            dcli_free(held);
            return;
        }
}

dcl_status dcli_holdings_create(dcli_holdings *holdings, const dcli_msg_operation *descriptor)
{
    if (descriptor->operand_count != 1 || descriptor->operand[0].storage < 0 ||
        dcli_holdings_find(holdings, descriptor->operand[0].storage) != NULL)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " creates a storage that exists", descriptor->number);
    dcli_layout layout;
    dcl_status status = bind_descriptor(holdings, descriptor, &layout);
    if (status != DCL_OK)
        return status;
    dcli_held *held = dcli_calloc(1, sizeof *held);
    if (held == NULL) {
        dcli_layout_release(&layout);
        return DCL_ERR_NOMEM;
    }
    if (share_layout(holdings, &layout, &held->shared) != DCL_OK) {
        dcli_free(held);
        return DCL_ERR_NOMEM;
    }
    held->id = descriptor->operand[0].storage;
    held->unset = descriptor->unset;
    if (holdings->last_created < held->id)
        holdings->last_created = held->id;
    held->next = holdings->held[held->id % BUCKETS];
    holdings->held[held->id % BUCKETS] = held;
    return DCL_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void dcli_holdings_init(dcli_holdings *holdings, int node_count, dcli_layouts *common, dcli_layout_ends_fn *layout_ends,
                        void *user)
{
    *holdings = (dcli_holdings){.node_count = node_count, .common = common, .layout_ends = layout_ends, .user = user};
}

void dcli_holdings_release_device(dcli_holdings *holdings)
{
    for (int b = 0; b < BUCKETS; b++)
        for (dcli_held *held = holdings->held[b]; held != NULL; held = held->next) {
            forget_peers(held, holdings->node_count);
            dcli_memory_release(held->memory);
            held->memory = NULL;
        }
}

void dcli_holdings_free(dcli_holdings *holdings)
{
    for (int b = 0; b < BUCKETS; b++)
        while (holdings->held[b] != NULL)
            dcli_holdings_drop(holdings, holdings->held[b]);
    while (holdings->layouts != NULL)
        end_layout(holdings, holdings->layouts);
    holdings->unused_count = 0;
}
