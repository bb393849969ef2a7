/* dcl/grain.h - how a map cuts a grid: into segments that are stored, blocks that are counted, tiles that are computed. */
#ifndef DCL_GRAIN_H
#define DCL_GRAIN_H

#include <dcl/map.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Find the segment and the block of an element. A segment is a piece (dcl/map.h) as its node stores it; in a per-axis
 *  map, pieces of the same node that are neighbours in the grid are one segment. Segments are cut into blocks, the unit
 *  of the counter blocks_moved. (Blocks exist only for counting: a transfer contains just the elements that are needed,
 *  not whole blocks.)
 *  @param index        [grid->rank], inside the grid.
 *  @param segment_out  the segment's number. Different segments of a grid have different numbers, in no order and with gaps.
 *  @param block_out    the block's number, likewise. Both are -1 for an element that is stored nowhere.
 *  @return DCL_OK; DCL_ERR_RANGE when some index is outside, DCL_ERR_INVALID when map and grid do not fit, DCL_ERR_NOMEM;
 *          outputs then untouched.
 *  Cost: O(rank). Complete when it returns. */
DCL_API dcl_status dcl_map_grains(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int64_t *segment_out,
                                  int64_t *block_out);

/** A tile: the elements that one task computes when the grid is a body's first output. */
typedef struct dcl_tile {
    int node;           /**< the owner, whose task computes it */
    int64_t number;     /**< 0, 1, ... on this node, in the order of its tasks */
    int64_t box_count;  /**< 1; more if the tile's elements are scattered */
    const dcl_box *box; /**< [box_count] disjoint; borrowed for the call */
} dcl_tile;

/** Called with one tile after the other. If it returns anything but DCL_OK, the function that called it ends and returns
 *  that status. */
typedef dcl_status dcl_tile_fn(void *user, const dcl_tile *tile);

/** Visit the tiles of a node. Their boxes are disjoint and cover exactly the node's elements. A tile without elements is not
 *  visited, but has a number; with dealt maps there are such tiles where the grid's edge cuts a piece.
 *  @param node  0..node_count-1, or DCL_ALL_NODES: one after the other.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, or what `visit` returned. */
DCL_API dcl_status dcl_map_tiles(const dcl_map *map, const dcl_grid *grid, int node, dcl_tile_fn *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
