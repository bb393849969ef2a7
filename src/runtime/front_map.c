/* runtime/front_map.c - public functions for maps. */
#include "resmap/layout.h"
#include "runtime/front.h"

/* clang-format off */
MADE_MAP(map_axes, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[]),
         (cluster, rank, axes, nodes))
MADE_MAP(map_dealt, ASKS, CLUSTER(cluster),
         (dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[]),
         (cluster, order, deal, rank, piece))
MADE_MAP(map_hash, ASKS, CLUSTER(cluster),
         (dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t seed),
         (cluster, order, rank, piece, seed))
MADE_MAP(map_table, ASKS, CLUSTER(cluster),
         (dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t count, const int owners[]),
         (cluster, order, rank, piece, count, owners))
MADE_MAP(map_function, ASKS, CLUSTER(cluster),
         (dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], const dcl_grid *grid,
          dcl_owner_fn *owner, void *user), (cluster, order, rank, piece, grid, owner, user))
MADE_MAP(map_weighted, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, int count, const double shares[]),
         (cluster, count, shares))
STATUS(measure_shares, ASKS, CLUSTER(cluster),
       (dcl_cluster *cluster, const char *body, int capacity, double shares_out[], int *count_out),
       (cluster, body, capacity, shares_out, count_out))
MADE_MAP(map_replicated, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, int copies), (cluster, copies))
MADE_MAP(map_sparse, ASKS, CLUSTER(cluster),
         (dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t all, int64_t count,
          const int64_t pieces[]), (cluster, order, rank, piece, all, count, pieces))
MADE_MAP(map_listed, ASKS, CLUSTER(cluster),
         (dcl_cluster *cluster, int count, const dcl_box boxes[], const int nodes[]), (cluster, count, boxes, nodes))
MADE_MAP(map_block_cyclic, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, int rank, const int64_t piece[]),
         (cluster, rank, piece))
MADE_MAP(map_block, ASKS, CLUSTER(cluster), (dcl_cluster *cluster), (cluster))
MADE_MAP(map_default, ASKS, CLUSTER(cluster), (dcl_cluster *cluster), (cluster))
MADE_MAP(map_parse, ASKS, CLUSTER(cluster), (dcl_cluster *cluster, const char *text), (cluster, text))
MADE_MAP(map_with_grains, ASKS, MAP(map), (const dcl_map *map, int rank, const int64_t block[], const int64_t tile[]),
         (map, rank, block, tile))
MADE_MAP(map_every, ASKS, MAP(map), (const dcl_map *map, int rank, const int64_t step[]), (map, rank, step))
MADE_MAP(map_with_rest, ASKS, MAP(map), (const dcl_map *map, double rest), (map, rest))
MADE_MAP(map_halo, ASKS, MAP(map),
         (const dcl_map *map, int rank, const int64_t low[], const int64_t high[], const bool periodic[]),
         (map, rank, low, high, periodic))
MADE_MAP(map_overlap, ASKS, MAP(map), (const dcl_map *map, int64_t lines), (map, lines))
MADE_MAP(map_on, ASKS, MAP(map), (const dcl_map *map, int count, const int nodes[]), (map, count, nodes))
ANSWER(int, map_node_count, 0, MAP(map), (const dcl_map *map), (map))
ANSWER(int, map_node, -1, MAP(map), (const dcl_map *map, int place), (map, place))
ANSWER(size_t, map_print, 0, MAP(map), (const dcl_map *map, char *text_out, size_t capacity), (map, text_out, capacity))
ANSWER(bool, map_equal, false, MAP(a) MAP(b), (const dcl_map *a, const dcl_map *b), (a, b))
/* clang-format on */

static dcl_status locate_pinned(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                int64_t *offset_out)
{
    dcli_call call;
    dcli_call_begin(&call, "dcl_map_locate");
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_map_locate(map, grid, index, node_out, offset_out)
                                                      : call.status);
}

dcl_status dcl_map_locate(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                          int64_t *offset_out)
{
    return dcli_map_locate_seen(map, grid, index, node_out, offset_out, locate_pinned);
}

/* clang-format off */
STATUS(map_storage, ASKS, MAP(map), (const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out),
       (map, grid, node, elements_out))
/* clang-format on */

dcl_status dcl_map_describe_sized(const dcl_map *map, const dcl_grid *grid, dcl_map_properties *properties_out,
                                  size_t properties_bytes)
{
    dcli_call call;
    dcli_call_begin(&call, "dcl_map_describe");
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK
                                    ? dcli_in_map_describe_sized(map, grid, properties_out, properties_bytes)
                                    : call.status);
}

/* clang-format off */
STATUS(map_boxes, ASKS, MAP(map), (const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user),
       (map, grid, node, visit, user))
/* clang-format on */

/* ---- holds -------------------------------------------------------------------------------------------------------- */

dcl_map *dcl_map_retain(dcl_map *map)
{
    dcli_error_enter(__func__);
    if (map == NULL)
        return NULL;
    if (dcli_handle_enter(map, DCLI_MAPS) == NULL) {
        dcli_handle_refuse(map, DCLI_MAPS, "map");
        dcli_error_made_null();
        return NULL;
    }
    dcli_handle_retain(map);
    dcli_front_leave(map);
    return map;
}

/* Also works for maps of a closed cluster. */
void dcl_map_release(dcl_map *map)
{
    dcli_error_enter(__func__);
    if (map == NULL)
        return;
    if (dcli_handle_enter(map, DCLI_MAPS) == NULL) {
        dcli_handle_refuse(map, DCLI_MAPS, "map");
        return;
    }
    dcli_front_drop_map(map);
    dcli_front_leave(map);
}

/* ---- grains and tiles --------------------------------------------------------------------------------------------- */

/* clang-format off */
STATUS(map_grains, ASKS, MAP(map),
       (const dcl_map *map, const dcl_grid *grid, const int64_t index[], int64_t *segment_out, int64_t *block_out),
       (map, grid, index, segment_out, block_out))
STATUS(map_tiles, ASKS, MAP(map), (const dcl_map *map, const dcl_grid *grid, int node, dcl_tile_fn *visit, void *user),
       (map, grid, node, visit, user))
/* clang-format on */
