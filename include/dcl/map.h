/* dcl/map.h - where the elements of a grid live. */
#ifndef DCL_MAP_H
#define DCL_MAP_H

#include <dcl/cluster.h>
#include <dcl/grid.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A resource map: how a grid of any extent is laid over nodes of a cluster. Opaque, immutable.
 *  A map is made over the nodes that are alive at that moment, or over those named, and keeps them: nodes that join
 *  later serve maps made later. Rules deal to its nodes in the order of their numbers, unless these are
 *  listed in another.
 *  Two families. *Per axis* (HPF, ScaLAPACK): every axis is divided by itself over an arrangement of the nodes.
 *  *Dealt*: the grid is cut into equal pieces, numbered, and the numbers are dealt to the nodes.
 *  Threads: functions taking `const dcl_map *` may run at the same time. */
typedef struct dcl_map dcl_map;

/** How one axis is divided. */
typedef enum dcl_axis_kind {
    DCL_AXIS_WHOLE, /**< not divided: `*` */
    DCL_AXIS_BLOCK, /**< one contiguous run per coordinate */
    DCL_AXIS_CYCLIC /**< runs of `size` elements dealt in turn */
} dcl_axis_kind;

/** The rule of one axis. */
typedef struct dcl_axis {
    dcl_axis_kind kind;
    /** BLOCK: elements per node, 0 = as even as can be (the first nodes one more); with a size, size * nodes must be
     *  at least the extent. CYCLIC: elements per run, 0 = 1. WHOLE: 0. */
    int64_t size;
} dcl_axis;

/** In which order pieces are numbered. */
typedef enum dcl_order { DCL_ROWS, DCL_COLUMNS } dcl_order;
/** How numbered pieces are given out: in turn, or in contiguous runs (as even as can be, the first nodes one more). */
typedef enum dcl_deal { DCL_DEAL_CYCLIC, DCL_DEAL_BLOCK } dcl_deal;

/** Divide every axis by a rule of its own.
 *  @param cluster  borrowed; must outlive the map, which is for its nodes alive. NULL is passed through.
 *  @param rank     dimensions of the grids served, 1..DCL_MAX_RANK.
 *  @param axes     [rank].
 *  @param nodes    [rank] how many nodes along each axis, 1 for WHOLE, or NULL: a balanced arrangement by the rule of
 *                  MPI_Dims_create over the divided axes. Nodes are numbered last axis fastest; the product must be the
 *                  number of nodes alive.
 *  @return the map, yours: dcl_map_release(); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM, DCL_ERR_NODE_LOST (all nodes).
 *  Source: HPF 2.0, DISTRIBUTE; MPI-4.0, section 8.5.2 (MPI_Dims_create). */
DCL_API dcl_map *dcl_map_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[]);

/** Cut the grid into equal pieces, number them, deal the numbers.
 *  @param piece  [rank] elements of one piece per axis, >= 1, or NULL: pieces of one element. Pieces larger than the
 *                grid are clamped to it; pieces at the far edges may be cut, and keep a full slot of storage.
 *                With rank 0 and piece NULL the map serves grids of every rank.
 *  @return the map, yours; or NULL: see dcl_map_axes(). */
DCL_API dcl_map *dcl_map_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[]);

/** Deal equal pieces to the nodes in turn, in row-major order of the pieces (block-cyclic): `rows:cyclic(axb)`. */
DCL_API dcl_map *dcl_map_block_cyclic(dcl_cluster *cluster, int rank, const int64_t piece[]);
/** Every axis in even blocks, `block`; serves every rank. */
DCL_API dcl_map *dcl_map_block(dcl_cluster *cluster);
/** The map used where none is given: the configuration's `map`, else `block` with small arrays on its first node. */
DCL_API dcl_map *dcl_map_default(dcl_cluster *cluster);

/** Read a map from text.
 *
 *      MAP    = AXES | DEALT, then { ";block=" SIZES | ";tile=" SIZES | ";nodes=" NODES }
 *      AXES   = RULE { "," RULE } [ "@" N { "x" N } ]      one RULE alone stands for all axes of any rank
 *      RULE   = "block" [ "(" N ")" ] | "cyclic" [ "(" N ")" ] | "*"
 *      DEALT  = ("rows" | "columns") ":" ("cyclic" | "block") [ "(" SIZES ")" ]
 *      SIZES  = N { "x" N }
 *      NODES  = N [ "-" N ] { "," N [ "-" N ] }            each once, at most 32 ranges; without: the nodes alive
 *
 *  After "@" stands one number per axis, 1 for "*", or one number per axis that is not "*". One RULE with "@" stands for
 *  as many axes as there are numbers: `block@4` is of rank 1, `block@2x2` of rank 2. Spaces between words are ignored.
 *  Nodes are numbers of the cluster, in the order in which rules deal to them, as in `rows:cyclic(2x2);nodes=0-1,3`.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID naming the column, what was found and what was expected. */
DCL_API dcl_map *dcl_map_parse(dcl_cluster *cluster, const char *text);

/** A map like `map` with other grains.
 *  @param rank   length of block and tile, 1..DCL_MAX_RANK.
 *  @param block  [rank] elements of a block per axis, the grain movement is counted in; NULL: as in `map`.
 *  @param tile   [rank] elements of a tile per axis, what one task computes; NULL: as in `map`.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_with_grains(const dcl_map *map, int rank, const int64_t block[], const int64_t tile[]);

/** The same map over these nodes only.
 *  @param count  length of `nodes`, at least 1; an arrangement that the map was given must be for as many.
 *  @param nodes  [count] different nodes of the cluster, in any order: the map takes them by rising number, in at most 32
 *                ranges of neighbours. A node that is lost may be named; arrays are not made on it.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_on(const dcl_map *map, int count, const int nodes[]);

/** Another hold on the same map. @return map. NULL is passed through. */
DCL_API dcl_map *dcl_map_retain(dcl_map *map);
/** Give the map back. Arrays made with it keep what they need. NULL is accepted. */
DCL_API void dcl_map_release(dcl_map *map);

/** Number of nodes the map lays grids over; 0 for NULL. */
DCL_API int dcl_map_node_count(const dcl_map *map);

/** The nodes the map lays grids over, in the order in which rules deal to them: by rising number, unless the map's text or
 *  dcl_remap_with() says otherwise.
 *  @param place  0..dcl_map_node_count() - 1. @return number of the node in the cluster; -1: no such place, or NULL. */
DCL_API int dcl_map_node(const dcl_map *map, int place);

/** Write the map as text that dcl_map_parse() reads back to an equal map. (The default map prints as the map of its
 *  larger arrays: the grammar has no word for keeping small ones on one node.)
 *  @param text_out  [capacity] receives the text, cut to capacity - 1 and ended by '\0'; may be NULL when capacity is 0.
 *  @return length of the whole text without '\0', as snprintf() does; 0 for NULL. */
DCL_API size_t dcl_map_print(const dcl_map *map, char *text_out, size_t capacity);

/** Whether both maps lay every grid in the same way, grains included. */
DCL_API bool dcl_map_equal(const dcl_map *a, const dcl_map *b);

/** Find the owner of one element and its place in the owner's storage.
 *
 *  Per axis: a node's elements are one rectangular array, as long along each axis as it has indices there, row-major.
 *  From rank 2 on, rows of 4096 bytes and more are padded where their length lies less than 64 bytes beside a multiple of
 *  4096: by 64 bytes, or by 128 where it is below the multiple (else walking down a column meets few cache lines).
 *  Dealt: a node's pieces lie one behind the other by rising number, each in a slot as large as a piece that is not cut,
 *  row-major.
 *
 *  @param map         a map that serves the grid's rank.
 *  @param grid        the grid laid out by it.
 *  @param index       [grid->rank], inside the grid.
 *  @param node_out    owner, a node of the cluster.
 *  @param offset_out  elements (not bytes) from the first that this node stores.
 *  @return DCL_OK; DCL_ERR_RANGE when some index is outside, DCL_ERR_INVALID when map and grid do not fit; outputs then
 *          untouched.
 *  Cost: O(rank); no allocation, no message. Complete when it returns.
 *  Source: block-cyclic distribution, ScaLAPACK Users' Guide (SIAM, 1997), chapter 4. */
DCL_API dcl_status dcl_map_locate(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                  int64_t *offset_out);

/** Elements node `node` must be able to store for this grid, padding and cut slots included; 0 for a node of the cluster
 *  that the map does not use.
 *  @return DCL_OK, or DCL_ERR_INVALID. */
DCL_API dcl_status dcl_map_storage(const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out);

/** Called with one box after the other; a value other than DCL_OK ends the walk and is returned by it. */
typedef dcl_status dcl_box_fn(void *user, const dcl_box *box);

/** Visit the boxes of what a node owns: disjoint, together exactly its elements. Order: as stored.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, or what `visit` returned. */
DCL_API dcl_status dcl_map_boxes(const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
