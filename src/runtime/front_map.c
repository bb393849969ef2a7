/* runtime/front_map.c - public functions for maps. */
#include "resmap/layout.h"
#include "runtime/front.h"

dcl_map *dcl_map_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_axes(cluster, rank, axes, nodes) : NULL);
}

dcl_map *dcl_map_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_dealt(cluster, order, deal, rank, piece) : NULL);
}

dcl_map *dcl_map_hash(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t seed)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_hash(cluster, order, rank, piece, seed) : NULL);
}

dcl_map *dcl_map_table(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t count,
                       const int owners[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_table(cluster, order, rank, piece, count, owners) : NULL);
}

dcl_map *dcl_map_function(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], const dcl_grid *grid,
                          dcl_owner_fn *owner, void *user)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_function(cluster, order, rank, piece, grid, owner, user)
                                                : NULL);
}

dcl_map *dcl_map_weighted(dcl_cluster *cluster, int count, const double shares[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_weighted(cluster, count, shares) : NULL);
}

dcl_status dcl_measure_shares(dcl_cluster *cluster, const char *body, int capacity, double shares_out[], int *count_out)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_end(&call, call.status == DCL_OK
                                    ? dcli_in_measure_shares(cluster, body, capacity, shares_out, count_out)
                                    : call.status);
}

dcl_map *dcl_map_replicated(dcl_cluster *cluster, int copies)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_replicated(cluster, copies) : NULL);
}

dcl_map *dcl_map_sparse(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t all,
                        int64_t count, const int64_t pieces[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_sparse(cluster, order, rank, piece, all, count, pieces)
                                                : NULL);
}

dcl_map *dcl_map_listed(dcl_cluster *cluster, int count, const dcl_box boxes[], const int nodes[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_listed(cluster, count, boxes, nodes) : NULL);
}

dcl_map *dcl_map_block_cyclic(dcl_cluster *cluster, int rank, const int64_t piece[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_block_cyclic(cluster, rank, piece) : NULL);
}

dcl_map *dcl_map_block(dcl_cluster *cluster)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_block(cluster) : NULL);
}

dcl_map *dcl_map_default(dcl_cluster *cluster)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_default(cluster) : NULL);
}

dcl_map *dcl_map_parse(dcl_cluster *cluster, const char *text)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_parse(cluster, text) : NULL);
}

dcl_map *dcl_map_with_grains(const dcl_map *map, int rank, const int64_t block[], const int64_t tile[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_with_grains(map, rank, block, tile) : NULL);
}

dcl_map *dcl_map_every(const dcl_map *map, int rank, const int64_t step[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_every(map, rank, step) : NULL);
}

dcl_map *dcl_map_with_rest(const dcl_map *map, double rest)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_with_rest(map, rest) : NULL);
}

dcl_map *dcl_map_halo(const dcl_map *map, int rank, const int64_t low[], const int64_t high[], const bool periodic[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_MAPS,
                          call.status == DCL_OK ? dcli_in_map_halo(map, rank, low, high, periodic) : NULL);
}

dcl_map *dcl_map_on(const dcl_map *map, int count, const int nodes[])
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_made(&call, DCLI_MAPS, call.status == DCL_OK ? dcli_in_map_on(map, count, nodes) : NULL);
}

int dcl_map_node_count(const dcl_map *map)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    int answer = call.status == DCL_OK ? dcli_in_map_node_count(map) : 0;
    dcli_call_end(&call, call.status);
    return answer;
}

int dcl_map_node(const dcl_map *map, int place)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    int answer = call.status == DCL_OK ? dcli_in_map_node(map, place) : -1;
    dcli_call_end(&call, call.status);
    return answer;
}

size_t dcl_map_print(const dcl_map *map, char *text_out, size_t capacity)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    size_t answer = call.status == DCL_OK ? dcli_in_map_print(map, text_out, capacity) : 0;
    dcli_call_end(&call, call.status);
    return answer;
}

bool dcl_map_equal(const dcl_map *a, const dcl_map *b)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    a = dcli_call_map(&call, "a", a);
    b = dcli_call_map(&call, "b", b);
    bool answer = call.status == DCL_OK ? dcli_in_map_equal(a, b) : false;
    dcli_call_end(&call, call.status);
    return answer;
}

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

dcl_status dcl_map_storage(const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call,
                         call.status == DCL_OK ? dcli_in_map_storage(map, grid, node, elements_out) : call.status);
}

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

dcl_status dcl_map_boxes(const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_map_boxes(map, grid, node, visit, user) : call.status);
}

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

dcl_status dcl_map_grains(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int64_t *segment_out,
                          int64_t *block_out)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_map_grains(map, grid, index, segment_out, block_out)
                                                      : call.status);
}

dcl_status dcl_map_tiles(const dcl_map *map, const dcl_grid *grid, int node, dcl_tile_fn *visit, void *user)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    map = dcli_call_map(&call, "map", map);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_map_tiles(map, grid, node, visit, user) : call.status);
}
