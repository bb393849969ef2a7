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

/** Called with one box of a tile after the other; a value other than DCL_OK ends the walk and is returned by it.
 *  @param tile  0, 1, ... on this node, never falling from call to call. */
typedef dcl_status dcl_tile_fn(void *user, int64_t tile, const dcl_box *box);

/** Visit the tiles of a node, what each of its tasks computes when the grid is a body's first output. The boxes are
 *  disjoint, together exactly what the node owns; a tile of scattered elements has several, one where slots are cut may
 *  have none.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, or what `visit` returned. */
DCL_API dcl_status dcl_map_tiles(const dcl_map *map, const dcl_grid *grid, int node, dcl_tile_fn *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
