/* resmap/grain.c - the public questions about segments, blocks and tiles (dcl/grain.h). */
#include <dcl/grain.h>

#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

/* Find the number of an element's block. For blocks of one element it is the element's row-major number, because
 * dcli_layout_blocks() counts these without numbering them. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status block_number(const dcli_layout *layout, int node, const int64_t index[], int64_t *number_out)
{
    const dcl_grid *grid = &layout->grid;
    static const int64_t one[DCL_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dcl_box element = dcl_box_nd(grid->rank, index, one);
    dcli_block_set set = {0};
    int64_t singles = 0, number = 0;
    dcl_status status = dcli_layout_blocks(layout, node, &element, &set, &singles);
    for (int64_t k = 0; k < set.capacity; k++)
        if (set.slots[k] != 0)
            number = set.slots[k] - 1;
    for (int d = 0; singles > 0 && d < grid->rank; d++)
        number = number * grid->extent[d] + (index[d] - grid->origin[d]);
    dcli_block_set_free(&set);
    if (status == DCL_OK)
        *number_out = number;
    return status;
}

static dcl_status find_grains(const dcli_layout *layout, const int64_t index[], int64_t *segment_out,
                              int64_t *block_out)
{
    int node;
    int64_t offset, block = DCL_NOWHERE, segment = DCL_NOWHERE;
    dcli_layout inner, uncut = dcli_layout_uncut(layout, &inner);
    dcl_status status = DCL_OK;
    dcli_layout_locate(layout, index, &node, &offset);
    if (node >= 0)
        status = block_number(layout, node, index, &block);
    if (status == DCL_OK && node >= 0)
        status = block_number(&uncut, node, index, &segment);
    if (status != DCL_OK)
        return status;
    *segment_out = segment;
    *block_out = block;
    return DCL_OK;
}

dcl_status dcl_map_grains(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int64_t *segment_out,
                          int64_t *block_out)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = dcli_map_bind(map, grid, &layout);
    if (status != DCL_OK)
        return status;
    if (index == NULL || segment_out == NULL || block_out == NULL)
        status =
            DCLI_FAIL(DCL_ERR_INVALID, "index, segment_out or block_out is NULL; expected an index and room for both");
    if (status == DCL_OK)
        status = dcli_map_check_index(grid, index);
    if (status == DCL_OK)
        status = find_grains(&layout, index, segment_out, block_out);
    dcli_layout_release(&layout);
    return status;
}

/* ---- tiles -------------------------------------------------------------------------------------------------------- */

/* A walk that calls a function of the caller for each tile. Its lists are reused. */
struct walk {
    const dcli_layout *layout;
    const dcli_transform *view;
    dcl_tile_fn *visit;
    void *user;
    dcli_region_list regions;
    dcli_box_list boxes;
};

/* Visit one tile. It is requested alone, because dcli_layout_tiles() merges boxes of consecutive tiles. */
static dcl_status visit_tile(struct walk *walk, int node, int64_t number)
{
    walk->regions.count = walk->boxes.count = 0;
    dcl_status status = dcli_layout_tiles(walk->layout, node, number, 1, &walk->regions);
    for (int64_t k = 0; status == DCL_OK && k < walk->regions.count; k++) {
        dcl_box box = walk->regions.region[k].box;
        if (walk->view == NULL || dcli_transform_seen(walk->view, &walk->regions.region[k].box, &box))
            status = dcli_box_list_add(&walk->boxes, &box);
    }
    if (status != DCL_OK || walk->boxes.count == 0)
        return status;
    return walk->visit(
        walk->user,
        &(dcl_tile){.node = node, .number = number, .box_count = walk->boxes.count, .box = walk->boxes.box});
}

static dcl_status visit_node(struct walk *walk, int node)
{
    if (dcli_layout_place(walk->layout, node) < 0)
        return DCL_OK;
    int64_t count = dcli_layout_tile_count(walk->layout, node);
    dcl_status status = DCL_OK;
    for (int64_t number = 0; status == DCL_OK && number < count; number++)
        status = visit_tile(walk, node, number);
    return status;
}

dcl_status dcli_layout_visit_tiles(const dcli_layout *layout, const dcli_transform *view, int node, dcl_tile_fn *visit,
                                   void *user)
{
    struct walk walk = {.layout = layout, .view = view, .visit = visit, .user = user};
    int first = node == DCL_ALL_NODES ? 0 : node, end = node == DCL_ALL_NODES ? layout->node_end : node + 1;
    dcl_status status = DCL_OK;
    for (int n = first; n < end && status == DCL_OK; n++)
        status = visit_node(&walk, n);
    dcli_region_list_free(&walk.regions);
    dcli_box_list_free(&walk.boxes);
    return status;
}

dcl_status dcl_map_tiles(const dcl_map *map, const dcl_grid *grid, int node, dcl_tile_fn *visit, void *user)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = dcli_map_bind_node(map, grid, node == DCL_ALL_NODES ? 0 : node, visit != NULL,
                                           "visit is NULL; expected a function to call with every tile", &layout);
    if (status != DCL_OK)
        return status;
    status = dcli_layout_visit_tiles(&layout, NULL, node, visit, user);
    dcli_layout_release(&layout);
    return status;
}
