/* resmap/map.c - the handle of a map, and the public functions. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "resmap/map_text.h"

/* A rule with everything that every map of a cluster has. */
static dcli_map_rule rule_for(const dcl_cluster *cluster)
{
    const dcl_config *config = dcli_cluster_config(cluster);
    return (dcli_map_rule){.node_count = dcl_node_count(cluster),
                           .tile_bytes = (int64_t)config->tile_bytes,
                           .block_bytes = (int64_t)config->block_bytes};
}

dcl_map *dcli_map_new(dcl_cluster *cluster, const dcli_map_rule *rule)
{
    if (dcli_map_rule_check(rule) != DCL_OK)
        return NULL;
    dcl_map *map = dcli_calloc(1, sizeof *map);
    if (map == NULL)
        return NULL;
    *map = (dcl_map){.references = 1, .cluster = cluster, .rule = *rule};
    return map;
}

/* What a constructor returns: a call that failed is told to the cluster, which keeps its first error. */
static dcl_map *made(dcl_cluster *cluster, dcl_map *map)
{
    if (map == NULL)
        dcli_cluster_refused(cluster);
    return map;
}

static dcl_status check_rank(int rank)
{
    if (rank < 1 || rank > DCL_MAX_RANK)
        return DCLI_FAIL(DCL_ERR_INVALID, "rank is %d; expected 1..%d, the dimensions of the grids served", rank,
                         DCL_MAX_RANK);
    return DCL_OK;
}

static dcl_map *make_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[])
{
    if (check_rank(rank) != DCL_OK)
        return NULL;
    if (axes == NULL) {
        DCLI_FAIL(DCL_ERR_INVALID, "axes is NULL; expected %d rules, one for each axis", rank);
        return NULL;
    }
    dcli_map_rule rule = rule_for(cluster);
    rule.kind = DCLI_MAP_AXES;
    rule.rank = rank;
    for (int d = 0; d < rank; d++) {
        rule.axes[d] = axes[d];
        rule.nodes[d] = nodes != NULL ? nodes[d] : 0;
        if (nodes != NULL && nodes[d] < 1) { /* zeros inside a rule ask for the balanced arrangement */
            DCLI_FAIL(
                DCL_ERR_INVALID,
                "nodes[%d] is %d; expected at least 1 node along every axis; pass NULL to have an arrangement made", d,
                nodes[d]);
            return NULL;
        }
    }
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[])
{
    dcli_error_enter(__func__);
    return cluster != NULL ? made(cluster, make_axes(cluster, rank, axes, nodes)) : NULL;
}

static dcl_map *make_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[])
{
    dcli_map_rule rule = rule_for(cluster);
    rule.kind = DCLI_MAP_DEALT;
    rule.order = order;
    rule.deal = deal;
    rule.rank = rank;
    for (int d = 0; d < rank; d++)
        rule.piece[d] = piece != NULL ? piece[d] : 1;
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[])
{
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return NULL;
    bool any_rank = rank == 0 && piece == NULL;
    bool right = any_rank || check_rank(rank) == DCL_OK;
    return made(cluster, right ? make_dealt(cluster, order, deal, rank, piece) : NULL);
}

dcl_map *dcl_map_block_cyclic(dcl_cluster *cluster, int rank, const int64_t piece[])
{
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return NULL;
    dcl_status status = check_rank(rank);
    if (status == DCL_OK && piece == NULL)
        status = DCLI_FAIL(DCL_ERR_INVALID, "piece is NULL; expected %d sizes, one for each axis", rank);
    return made(cluster, status == DCL_OK ? make_dealt(cluster, DCL_ROWS, DCL_DEAL_CYCLIC, rank, piece) : NULL);
}

static dcl_map *make_block(dcl_cluster *cluster, int64_t small_bytes)
{
    dcli_map_rule rule = rule_for(cluster);
    rule.kind = DCLI_MAP_AXES;
    rule.axes[0].kind = DCL_AXIS_BLOCK;
    rule.small_bytes = small_bytes;
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_block(dcl_cluster *cluster)
{
    dcli_error_enter(__func__);
    return cluster != NULL ? made(cluster, make_block(cluster, 0)) : NULL;
}

static dcl_map *make_parsed(dcl_cluster *cluster, const char *text)
{
    if (text == NULL) {
        DCLI_FAIL(DCL_ERR_INVALID, "text is NULL; expected a map such as block or rows:cyclic(2x2)");
        return NULL;
    }
    dcli_map_rule given = rule_for(cluster), rule;
    if (dcli_map_rule_parse(text, given.node_count, &rule) != DCL_OK)
        return NULL;
    rule.tile_bytes = given.tile_bytes;
    rule.block_bytes = given.block_bytes;
    return dcli_map_new(cluster, &rule);
}

dcl_map *dcl_map_default(dcl_cluster *cluster)
{
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return NULL;
    const dcl_config *config = dcli_cluster_config(cluster);
    return made(cluster, config->map != NULL ? make_parsed(cluster, config->map)
                                             : make_block(cluster, (int64_t)config->small_bytes));
}

dcl_map *dcl_map_parse(dcl_cluster *cluster, const char *text)
{
    dcli_error_enter(__func__);
    return cluster != NULL ? made(cluster, make_parsed(cluster, text)) : NULL;
}

dcl_map *dcl_map_with_grains(const dcl_map *map, int rank, const int64_t block[], const int64_t tile[])
{
    dcli_error_enter(__func__);
    if (map == NULL)
        return NULL;
    if (check_rank(rank) != DCL_OK)
        return made(map->cluster, NULL);
    dcli_map_rule rule = map->rule;
    if (block != NULL)
        rule.block_rank = rank;
    if (tile != NULL)
        rule.tile_rank = rank;
    for (int d = 0; d < rank; d++) {
        if (block != NULL)
            rule.block[d] = block[d];
        if (tile != NULL)
            rule.tile[d] = tile[d];
    }
    return made(map->cluster, dcli_map_new(map->cluster, &rule));
}

dcl_map *dcl_map_retain(dcl_map *map)
{
    if (map != NULL)
        __atomic_fetch_add(&map->references, 1, __ATOMIC_RELAXED);
    return map;
}

void dcl_map_release(dcl_map *map)
{
    if (map != NULL && __atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL) == 0)
        dcli_free(map);
}

int dcl_map_node_count(const dcl_map *map) { return map != NULL ? map->rule.node_count : 0; }

size_t dcl_map_print(const dcl_map *map, char *text_out, size_t capacity)
{
    return map != NULL ? dcli_map_rule_print(&map->rule, text_out, capacity) : 0;
}

bool dcl_map_equal(const dcl_map *a, const dcl_map *b)
{
    return a == b || (a != NULL && b != NULL && dcli_map_rule_equal(&a->rule, &b->rule));
}

static dcl_status bind(const dcl_map *map, const dcl_grid *grid, dcli_layout *layout_out)
{
    if (map == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "map is NULL; expected a map; dcl_map_default() makes one");
    if (grid == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "grid is NULL; expected a grid such as dcl_grid_2d() makes");
    dcl_status status = dcli_grid_check(grid);
    return status != DCL_OK ? status : dcli_layout_bind(&map->rule, grid, layout_out);
}

static dcl_status check_node(const dcl_map *map, int node)
{
    if (node < 0 || node >= map->rule.node_count)
        return DCLI_FAIL(DCL_ERR_INVALID, "node is %d; expected 0..%d", node, map->rule.node_count - 1);
    return DCL_OK;
}

static dcl_status check_index(const dcl_grid *grid, const int64_t index[])
{
    for (int d = 0; d < grid->rank; d++) {
        if (grid->extent[d] == 0)
            return DCLI_FAIL(DCL_ERR_RANGE, "index[%d] is %" PRId64 "; the grid has no elements, extent[%d] is 0", d,
                             index[d], d);
        int64_t last = grid->origin[d] + (grid->extent[d] - 1);
        if (index[d] < grid->origin[d] || index[d] > last)
            return DCLI_FAIL(DCL_ERR_RANGE, "index[%d] is %" PRId64 "; expected %" PRId64 "..%" PRId64, d, index[d],
                             grid->origin[d], last);
    }
    return DCL_OK;
}

dcl_status dcl_map_locate(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                          int64_t *offset_out)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = bind(map, grid, &layout);
    if (status != DCL_OK)
        return status;
    if (index == NULL || node_out == NULL || offset_out == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "index, node_out or offset_out is NULL; expected an index and room for both");
    status = check_index(grid, index);
    if (status == DCL_OK)
        dcli_layout_locate(&layout, index, node_out, offset_out);
    return status;
}

dcl_status dcl_map_storage(const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = bind(map, grid, &layout);
    if (status == DCL_OK)
        status = check_node(map, node);
    if (status != DCL_OK)
        return status;
    if (elements_out == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "elements_out is NULL; expected room for a number of elements");
    *elements_out = dcli_layout_storage(&layout, node);
    return DCL_OK;
}

dcl_status dcl_map_boxes(const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user)
{
    dcli_error_enter(__func__);
    dcli_layout layout;
    dcl_status status = bind(map, grid, &layout);
    if (status == DCL_OK)
        status = check_node(map, node);
    if (status != DCL_OK)
        return status;
    if (visit == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "visit is NULL; expected a function to call with every box");
    dcli_region_list list = {0};
    status = dcli_layout_regions(&layout, node, NULL, &list);
    for (int64_t k = 0; status == DCL_OK && k < list.count; k++)
        status = visit(user, &list.region[k].box);
    dcli_region_list_free(&list);
    return status;
}
