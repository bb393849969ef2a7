/* resmap/layout.h - a map bound to a grid: who owns what and where it lies. Arithmetic only, a plain value. */
#ifndef DCLI_RESMAP_LAYOUT_H
#define DCLI_RESMAP_LAYOUT_H

#include <dcl/map.h>

#include "segment/region.h"

typedef enum dcli_map_kind { DCLI_MAP_AXES, DCLI_MAP_DEALT } dcli_map_kind;

/** What a map is, without handle: goes into messages. All numbers are checked by dcli_map_rule_check(). */
typedef struct dcli_map_rule {
    dcli_map_kind kind;
    int node_count;
    int rank; /* 0: serves every rank */
    /* AXES (with rank 0, axes[0] stands for all axes and nodes[] is left to the balanced arrangement) */
    dcl_axis axes[DCL_MAX_RANK];
    int nodes[DCL_MAX_RANK]; /* all 0: balanced arrangement, made when bound to a grid */
    /* DEALT */
    dcl_order order;
    dcl_deal deal;
    int64_t piece[DCL_MAX_RANK]; /* with rank 0: pieces of one element */
    /* grains; 0 = chosen from the sizes below */
    int block_rank, tile_rank;
    int64_t block[DCL_MAX_RANK], tile[DCL_MAX_RANK];
    int64_t tile_bytes, block_bytes; /* aimed at where no grain is given */
    int64_t small_bytes;             /* a grid of fewer bytes lies wholly on node 0; 0: never */
} dcli_map_rule;

struct dcl_map {
    int references; /* atomic */
    dcl_cluster *cluster;
    dcli_map_rule rule;
};

/** A rule bound to a grid. Plain value, no memory of its own; fields are for resmap only but `grid`, `rule` and
 *  `node_count`. */
typedef struct dcli_layout {
    dcl_grid grid;
    dcli_map_rule rule; /* rank, nodes, piece, block and tile filled in and clamped to the grid */
    int node_count;
    /* room for derived constants: local pitch, pieces per axis, weights of the numbering ... (resmap's own) */
    int64_t pieces[DCL_MAX_RANK];  /* DEALT: pieces along each axis */
    int64_t weight[DCL_MAX_RANK];  /* DEALT: number of piece p = sum of p[d] * weight[d] */
    int64_t piece_total;           /* DEALT: number of pieces */
    int64_t slot;                  /* DEALT: elements of a slot */
    int64_t pitch_pad;             /* elements added to each row of the storage so that rows do not collide in caches */
} dcli_layout;

/** @return DCL_OK, or DCL_ERR_INVALID with the field, value and remedy. */
dcl_status dcli_map_rule_check(const dcli_map_rule *rule);
bool dcli_map_rule_equal(const dcli_map_rule *a, const dcli_map_rule *b);

/** Bind a checked rule to a checked grid. @return DCL_OK, or DCL_ERR_INVALID: another rank, block(n) too small, ... */
dcl_status dcli_layout_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out);
/** Whether two layouts place every element alike (same grid extents and origin, same placement; types and grains may
 *  differ). */
bool dcli_layout_same(const dcli_layout *a, const dcli_layout *b);

/** Owner and offset of an element inside the grid. O(rank). */
void dcli_layout_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);

/** Elements node `node` stores, padding and cut slots included. */
int64_t dcli_layout_storage(const dcli_layout *layout, int node);
/** Elements node `node` owns. */
int64_t dcli_layout_owned(const dcli_layout *layout, int node);

/** Append the regions of what `node` owns of `query` (NULL: of the whole grid): disjoint, in the order stored, as few as
 *  the map allows. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out);

/** Set nodes_out[n] = true for nodes that own something of `query`, false for others. @param nodes_out [node_count] */
void dcli_layout_owners(const dcli_layout *layout, const dcl_box *query, bool nodes_out[]);

/** Tiles of a node: per axis, boxes of its local array; dealt, sub-boxes of a slot where the tile is smaller than a
 *  piece, else runs of whole slots. Together exactly what the node owns; a tile may be empty where slots are cut. */
int64_t dcli_layout_tile_count(const dcli_layout *layout, int node);
/** Append the regions of tiles first .. first + count - 1 (0 <= first, first + count <= tile count), merged across tiles
 *  where the map allows (all tiles of a node give the same regions as dcli_layout_regions(NULL)). */
dcl_status dcli_layout_tiles(const dcli_layout *layout, int node, int64_t first, int64_t count, dcli_region_list *out);

/** Blocks are cut from segments (per axis: one run of each axis; dealt: one piece), at the segment's edge.
 *  A set of block numbers, for counting: start with {0}. */
typedef struct dcli_block_set {
    int64_t *slots; /* open addressing, numbers + 1 */
    int64_t count, capacity;
} dcli_block_set;
void dcli_block_set_free(dcli_block_set *set);

/** Add the blocks of `node` that elements of `box` (all owned by `node`) lie in.
 *  @param extra_in_out  where blocks of one element are counted instead of stored in the set: boxes given to calls with
 *                       one set are disjoint, so these are simply added.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_blocks(const dcli_layout *layout, int node, const dcl_box *box, dcli_block_set *set,
                              int64_t *extra_in_out);

#endif
