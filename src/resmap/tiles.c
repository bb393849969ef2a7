/* resmap/tiles.c - the tiles of a node, each computed by one task: boxes of its local array, boxes of a slot, runs of
 * whole slots, or boxes of a listed box (boxes.c). */
#include "base/check.h"
#include "resmap/parts.h"

/* How a local array or a slot is cut into tiles. */
struct tiling {
    int64_t extent[DCL_MAX_RANK], shape[DCL_MAX_RANK];
    int64_t count[DCL_MAX_RANK], weight[DCL_MAX_RANK]; /* number of tiles per axis, and the weights by which they are
                                                          numbered, last axis fastest */
    int64_t total;
    int64_t run; /* dealt maps whose slots are not cut: slots per tile; else 0 */
};

static void number_tiles(struct tiling *tiling, int rank)
{
    tiling->total = 1;
    for (int d = rank - 1; d >= 0; d--) {
        tiling->count[d] = dcli_ceil_div(tiling->extent[d], tiling->shape[d]);
        tiling->weight[d] = tiling->total;
        tiling->total *= tiling->count[d];
    }
}

static void shape_tiles(const dcli_layout *layout, struct tiling *tiling)
{
    const dcli_map_rule *rule = &layout->rule;
    int rank = layout->grid.rank;
    if (rule->tile_rank == 0)
        dcli_default_grain(rank, tiling->extent, dcli_grain_elements(layout, rule->tile_bytes, DCLI_TILE_BYTES),
                           tiling->shape);
    for (int d = 0; rule->tile_rank != 0 && d < rank; d++)
        tiling->shape[d] = dcli_min(rule->tile[d], tiling->extent[d]);
    number_tiles(tiling, rank);
}

int64_t dcli_tile_elements(const dcli_layout *layout)
{
    const dcli_map_rule *rule = &layout->rule;
    if (rule->tile_rank == 0)
        return dcli_grain_elements(layout, rule->tile_bytes, DCLI_TILE_BYTES);
    int64_t elements = 1;
    for (int d = 0; d < layout->grid.rank; d++)
        elements *= rule->tile[d];
    return elements;
}

static void tile_slots(const dcli_layout *layout, struct tiling *tiling)
{
    for (int d = 0; d < layout->grid.rank; d++)
        tiling->extent[d] = layout->rule.piece[d];
    shape_tiles(layout, tiling);
    tiling->run = tiling->total > 1 ? 0 : dcli_max(1, dcli_tile_elements(layout) / layout->slot);
}

int64_t dcli_tile_slots(const dcli_layout *layout)
{
    struct tiling tiling;
    tile_slots(layout, &tiling);
    return tiling.run;
}

static dcli_numbering tile_numbering(const dcli_layout *layout, const struct tiling *tiling)
{
    return (dcli_numbering){.rank = layout->grid.rank, .count = tiling->count, .weight = tiling->weight};
}

int64_t dcli_layout_tile_count(const dcli_layout *layout, int node)
{
    struct tiling tiling;
    int64_t coordinate[DCL_MAX_RANK];
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0)
        return 0;
    if (layout->inner != NULL)
        return dcli_layout_tile_count(layout->inner, node);
    if (layout->kind == DCLI_MAP_AXES) {
        if (!dcli_axes_local(layout, place, coordinate, tiling.extent))
            return 0;
        shape_tiles(layout, &tiling);
        return tiling.total;
    }
    if (layout->kind == DCLI_MAP_BOXES)
        return layout->boxes.tiles[place];
    tile_slots(layout, &tiling);
    int64_t slots = dcli_dealt_slots(layout, place);
    return tiling.run > 0 ? dcli_ceil_div(slots, tiling.run) : slots * tiling.total;
}

struct tile_walk {
    dcli_walk walk;
    int node;
    const struct tiling *tiling;
    int64_t slot;                     /* DEALT: the slot whose tiles are visited */
    int64_t coordinate[DCL_MAX_RANK]; /* AXES: the node's coordinates; DEALT: the position of the current piece */
};

/* Emit a box of tiles of the local array. Local positions rise with the indices, so the tiles have all of the node's
 * elements between their first and their last index. @return false to stop. */
static bool walk_local(void *user, const int64_t lo[], const int64_t hi[])
{
    struct tile_walk *tiles = user;
    const struct tiling *tiling = tiles->tiling;
    const dcli_layout *layout = tiles->walk.layout;
    dcl_box *query = &tiles->walk.query;
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t end = dcli_min(hi[d] * tiling->shape[d], tiling->extent[d]);
        query->start[d] = dcli_division_index(&layout->division[d], tiles->coordinate[d], lo[d] * tiling->shape[d]);
        query->count[d] =
            dcli_division_index(&layout->division[d], tiles->coordinate[d], end - 1) - query->start[d] + 1;
    }
    dcli_axes_walk(&tiles->walk, tiles->node);
    return tiles->walk.status == DCL_OK;
}

/* Emit a box of tiles of the current slot. Parts of them may lie outside the grid. @return false to stop. */
static bool walk_slot(void *user, const int64_t lo[], const int64_t hi[])
{
    struct tile_walk *tiles = user;
    const struct tiling *tiling = tiles->tiling;
    const dcli_layout *layout = tiles->walk.layout;
    dcl_box *query = &tiles->walk.query;
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t piece = tiles->coordinate[d] * layout->rule.piece[d];
        int64_t end = dcli_min(piece + dcli_min(hi[d] * tiling->shape[d], tiling->extent[d]), layout->grid.extent[d]);
        query->start[d] = piece + lo[d] * tiling->shape[d];
        query->count[d] = end - query->start[d];
        if (query->count[d] <= 0)
            return true;
    }
    dcli_dealt_walk(&tiles->walk, tiles->node, tiles->slot, tiles->slot + 1);
    return tiles->walk.status == DCL_OK;
}

static void walk_in_slot(struct tile_walk *tiles, int64_t slot, int64_t first, int64_t last)
{
    const dcli_layout *layout = tiles->walk.layout;
    int64_t number = dcli_slot_piece(layout, tiles->node, slot);
    dcl_box whole = tiles->walk.query;
    for (int d = 0; d < layout->grid.rank; d++)
        tiles->coordinate[d] = number / layout->weight[d] % layout->pieces[d];
    tiles->slot = slot;
    dcli_numbering numbering = tile_numbering(layout, tiles->tiling);
    dcli_range_boxes(&numbering, first, last, walk_slot, tiles);
    tiles->walk.query = whole;
}

static void walk_dealt(struct tile_walk *tiles, int64_t first, int64_t last)
{
    const struct tiling *tiling = tiles->tiling;
    if (tiling->run > 0) {
        int64_t slots = dcli_dealt_slots(tiles->walk.layout, tiles->node);
        dcli_dealt_walk(&tiles->walk, tiles->node, first * tiling->run, dcli_min(last * tiling->run, slots));
        return;
    }
    int64_t slot = first / tiling->total, end = last / tiling->total;
    int64_t before = first % tiling->total, after = last % tiling->total;
    if (before > 0) {
        walk_in_slot(tiles, slot, before, slot == end ? after : tiling->total);
        if (slot++ == end)
            return;
    }
    if (tiles->walk.status == DCL_OK)
        dcli_dealt_walk(&tiles->walk, tiles->node, slot, end);
    if (tiles->walk.status == DCL_OK && after > 0)
        walk_in_slot(tiles, end, 0, after);
}

dcl_status dcli_layout_tiles(const dcli_layout *layout, int node, int64_t first, int64_t count, dcli_region_list *out)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0 || count == 0)
        return DCL_OK;
    int64_t before = out->count;
    if (layout->inner != NULL) {
        dcl_status status = dcli_layout_tiles(layout->inner, node, first, count, out);
        dcli_every_outward(layout, out, before);
        return status;
    }
    struct tiling tiling;
    struct tile_walk tiles = {.node = place, .tiling = &tiling};
    tiles.walk = (dcli_walk){.layout = layout, .query = dcli_from_origin(layout, NULL), .out = out};
    if (layout->kind == DCLI_MAP_AXES) {
        if (!dcli_axes_local(layout, place, tiles.coordinate, tiling.extent))
            return DCL_OK;
        shape_tiles(layout, &tiling);
        dcli_numbering numbering = tile_numbering(layout, &tiling);
        dcli_range_boxes(&numbering, first, first + count, walk_local, &tiles);
    } else if (layout->kind == DCLI_MAP_BOXES) {
        dcli_boxes_tiles(&tiles.walk, place, first, first + count);
    } else {
        tile_slots(layout, &tiling);
        walk_dealt(&tiles, first, first + count);
    }
    dcli_sort_regions(out, before);
    return tiles.walk.status;
}
