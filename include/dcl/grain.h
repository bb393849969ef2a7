/* dcl/grain.h - what a grid laid out by a map is cut into: segments, the blocks they move in, the tiles tasks compute. */
#ifndef DCL_GRAIN_H
#define DCL_GRAIN_H

#include <dcl/map.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Find the segment and the block that an element lies in. A segment is a piece as stored on its node (per axis:
 *  adjacent pieces of one coordinate are one segment); blocks, the grain movement is counted in, are cut from segments.
 *  @param index        [grid->rank], inside the grid.
 *  @param segment_out  a number that is the same for the elements of one segment, and for no others of the grid. Numbers
 *                      follow no order and have gaps.
 *  @param block_out    likewise for the block. Both are -1 for elements that are stored nowhere.
 *  @return DCL_OK; DCL_ERR_RANGE when some index is outside, DCL_ERR_INVALID when map and grid do not fit, DCL_ERR_NOMEM;
 *          outputs then untouched.
 *  Cost: O(rank). Complete when it returns. */
DCL_API dcl_status dcl_map_grains(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int64_t *segment_out,
                                  int64_t *block_out);

/** A tile, what a task computes when the grid is a body's first output. */
typedef struct dcl_tile {
    int node;           /**< that owns it */
    int64_t number;     /**< 0, 1, ... on this node, in the order of its tasks */
    int64_t box_count;  /**< one; several where the tile's elements are scattered */
    const dcl_box *box; /**< [box_count] disjoint; borrowed for the call */
} dcl_tile;

/** Called with one tile after the other; a value other than DCL_OK ends the walk and is returned by it. */
typedef dcl_status dcl_tile_fn(void *user, const dcl_tile *tile);

/** Visit the tiles of a node. Their boxes are disjoint, together exactly what the node owns. A tile without elements, as
 *  there may be where slots are cut, has a number and is not visited.
 *  @param node  0..node_count-1, or DCL_ALL_NODES: one after the other.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, or what `visit` returned. */
DCL_API dcl_status dcl_map_tiles(const dcl_map *map, const dcl_grid *grid, int node, dcl_tile_fn *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
