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
 *  Three families. *Per axis* (HPF, ScaLAPACK): every axis is divided by itself over an arrangement of the nodes.
 *  *Dealt*: the grid is cut into equal pieces, numbered, and the numbers are dealt to the nodes. *Boxes*: a list.
 *  Threads: functions taking `const dcl_map *` may run at the same time. */
typedef struct dcl_map dcl_map;

/** How one axis is divided. */
typedef enum dcl_axis_kind {
    DCL_AXIS_WHOLE,   /**< not divided: `*` */
    DCL_AXIS_BLOCK,   /**< one contiguous run per coordinate */
    DCL_AXIS_CYCLIC,  /**< runs of `size` elements dealt in turn */
    DCL_AXIS_SPLITS,  /**< runs between given points, dealt in turn */
    DCL_AXIS_WEIGHTED /**< one contiguous run per coordinate, as long as its share */
} dcl_axis_kind;

/** The rule of one axis. */
typedef struct dcl_axis {
    dcl_axis_kind kind;
    /** BLOCK: elements per node, 0 = as even as can be (the first nodes one more); with a size, size * nodes must be
     *  at least the extent. CYCLIC: elements per run, 0 = 1. Others: 0. */
    int64_t size;
    /** SPLITS: where runs begin, counted from the grid's origin, rising, each at least 1; the first run begins at 0. Points
     *  beyond the extent leave the last runs empty. Run k lies at coordinate k mod nodes. At most 1,048,576; arrays
     *  can have fewer: see dcl_map_table().
     *  WEIGHTED: the shares of the coordinates, each at least 0, in all 1..2^31-1; as many as nodes along the axis. With
     *  S(c) the sum of the first c of n shares, coordinate c has indices extent * S(c) / S(n), rounded down, up to
     *  extent * S(c+1) / S(n), from the origin. Others: NULL. */
    const int64_t *points;
    int64_t count; /**< numbers in `points` */
} dcl_axis;

/** In which order pieces are numbered. */
typedef enum dcl_order { DCL_ROWS, DCL_COLUMNS } dcl_order;
/** How numbered pieces are given out. */
typedef enum dcl_deal {
    DCL_DEAL_CYCLIC, /**< in turn */
    DCL_DEAL_BLOCK,  /**< in contiguous runs, as even as can be, the first nodes one more */
    DCL_DEAL_HASH,   /**< in turn after they were shuffled: see dcl_map_hash() */
    DCL_DEAL_TABLE   /**< by a list of owners: dcl_map_table(), dcl_map_function() */
} dcl_deal;

/** Instead of a node: stored on none. */
#define DCL_NOWHERE (-1)

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

/** Deal shuffled pieces: neighbours lie on any nodes, every node has as many pieces as with DCL_DEAL_CYCLIC, and any
 *  process finds a piece without a list.
 *
 *  Of P pieces, piece number x comes at position p(x), at place p(x) mod nodes, in slot p(x) / nodes there. p is a
 *  permutation of 0..P-1 on pairs: with a the smallest integer whose square is at least P and b = P / a rounded up, x is
 *  the pair L = x / b, R = x mod b. One round sets L = (L + f(R,0,a)) mod a, R = (R + f(L,1,b)) mod b, L = (L + f(R,2,a)) mod a,
 *  R = (R + f(L,3,b)) mod b and x = L b + R; rounds are repeated while x >= P. In arithmetic modulo 2^64, with
 *  G = 0x9E3779B97F4A7C15: f(y,r,m) = (((y + k(r)) G >> 32) m) >> 32, k(r) = h((4 seed + r + 1) G), where h(z) is:
 *  z = (z ^ z>>30) 0xBF58476D1CE4E5B9; z = (z ^ z>>27) 0x94D049BB133111EB; z ^ z>>31.
 *  @param rank, piece  as for dcl_map_dealt().
 *  @param seed         0..2^31-1: another shuffle.
 *  @return the map, yours; or NULL: see dcl_map_dealt(), and DCL_ERR_INVALID (seed).
 *  Source: Black and Rogaway, Ciphers with arbitrary finite domains (CT-RSA 2002); the finalizer of SplitMix64. */
DCL_API dcl_map *dcl_map_hash(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t seed);

/** Deal pieces by a list. Every process of the program's has a copy of the list, neighbours with one owner as one entry.
 *  A map that arrays are made with has at most 262,143 bytes as text (dcl_map_print()), longer ones can be asked about
 *  only: some 10,000 boxes of a plane, 40,000 split points, or 100,000 owners that change from piece to piece. So for all
 *  maps that are lists.
 *  @param rank, piece  as for dcl_map_dealt().
 *  @param count        pieces of every grid that the map will serve; binding another grid is refused.
 *  @param owners       [count] node of the cluster that owns piece 0, 1, ..., or DCL_NOWHERE: see dcl_map_sparse(); in a
 *                      node's storage its pieces lie by rising number. Nodes alive that own none are in the map
 *                      nevertheless.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID (a node that is not in the cluster or not alive), DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_table(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t count,
                               const int owners[]);

/** The owner of a piece: `piece` [rank] counts pieces along each axis from 0. @return a node of the cluster, or
 *  DCL_NOWHERE. */
typedef int dcl_owner_fn(void *user, const int64_t piece[]);

/** Deal the pieces of a grid as a function says. It is called here, once for every piece by rising number, and not kept:
 *  the result is what dcl_map_table() makes.
 *  @param grid   the grid whose pieces are asked for, of rank `rank`; others with as many pieces are served, too.
 *  @param owner  called without any lock; must not use the cluster.
 *  @return as dcl_map_table(). */
DCL_API dcl_map *dcl_map_function(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[],
                                  const dcl_grid *grid, dcl_owner_fn *owner, void *user);

/** Divide the first axis by shares of the nodes; the others are whole: `weighted(3:1)`, for grids of every rank.
 *  @param count   number of shares, one for each node alive.
 *  @param shares  [count] of the nodes alive in the order of their numbers, each at least 0; relative, rounded to a
 *                 ten-thousandth of the largest. dcl_measure_shares() finds suitable ones.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_weighted(dcl_cluster *cluster, int count, const double shares[]);

/** Measure how fast each node alive runs a body: the shares that make all of them take the same time.
 *
 *  The body is run on every node by itself, on arrays of about a million floats; the best of a few rounds counts. Results
 *  are remembered until dcl_close(), for the same body and the same nodes. Complete when it returns.
 *  @param body        arrays are its names that begin with a capital letter. NULL: a sum of two arrays.
 *  @param capacity    length of `shares_out`; dcl_node_count() is enough unless nodes join meanwhile.
 *  @param shares_out  [capacity] receives the shares of the nodes alive in the order of their numbers; their sum is 1.
 *  @param count_out   receives the number of nodes alive, also when it is more than `capacity`.
 *  @return DCL_OK; DCL_ERR_INVALID, DCL_ERR_BODY, DCL_ERR_UNSUPPORTED (a planning cluster), or the error of running the
 *          body. */
DCL_API dcl_status dcl_measure_shares(dcl_cluster *cluster, const char *body, int capacity, double shares_out[],
                                      int *count_out);

/** One array on one node, and copies of it on others: the first node alive owns everything, computes what is written, and
 *  gives the next ones what they read, once: they keep it until it is written (dcl_keep(), without a budget). Copies are
 *  for reading: when the owner is lost, so is the array.
 *  @param copies  nodes that hold it, the owner included; at most those alive; 0: all of them.
 *  @return the map, yours, for grids of every rank: `replicated`, `replicated(2)`; or NULL: DCL_ERR_INVALID. */
DCL_API dcl_map *dcl_map_replicated(dcl_cluster *cluster, int copies);

/** Store only the pieces that are named (sparse), dealt to the nodes in turn: a table in which the others have no owner.
 *
 *  What is stored nowhere takes no memory and is not computed: bodies whose first output is laid out so run for the stored
 *  elements only. It reads as a declared value, 0 where dcl_map_with_rest() has given no other: in bodies, in dcl_read() and
 *  in files that are saved. It cannot be written: dcl_write() refuses boxes with such elements, dcl_forall() a second output
 *  that is not laid out as the first; dcl_fill() and dcl_load_npy() write what is stored.
 *  @param rank, piece  as for dcl_map_dealt().
 *  @param all          pieces of every grid that the map will serve, as for dcl_map_table().
 *  @param count        pieces that are stored, at least 1.
 *  @param pieces       [count] their numbers, 0..all-1, each once. pieces[k] goes to the k mod nodes-th of the nodes alive.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_sparse(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t all,
                                int64_t count, const int64_t pieces[]);

/** Give boxes to nodes: any tiling of one grid (unstructured). A node stores its boxes in the order of the list, each
 *  packed, last axis fastest. Every process of the program's has a copy of the list.
 *  @param count  boxes, 1..131072; arrays can have fewer, by the length of their text: see dcl_map_table().
 *  @param boxes  [count] of one rank, with strides of 1; in the grid's indices, its origin included. Laid over a grid they
 *                have to cover it exactly once: else the first overlap, or the first index that is missing, is named then.
 *  @param nodes  [count] the node of each, of the cluster and alive.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_listed(dcl_cluster *cluster, int count, const dcl_box boxes[], const int nodes[]);

/** Deal equal pieces to the nodes in turn, in row-major order of the pieces (block-cyclic): `rows:cyclic(axb)`. */
DCL_API dcl_map *dcl_map_block_cyclic(dcl_cluster *cluster, int rank, const int64_t piece[]);
/** Every axis in even blocks, `block`; serves every rank. */
DCL_API dcl_map *dcl_map_block(dcl_cluster *cluster);
/** The map used where none is given: the configuration's `map`, else `block` with small arrays on its first node. */
DCL_API dcl_map *dcl_map_default(dcl_cluster *cluster);

/** Read a map from text.
 *
 *      MAP    = AXES | DEALT | BOXES | "replicated" [ "(" N ")" ], then { ";block=" SIZES | ";tile=" SIZES
 *             | ";nodes=" NODES | ";seed=" N | ";owners=" OWNERS | ";every=" SIZES | ";rest=" NUMBER
 *             | ";halo=" WIDTH { "," WIDTH } | ";periodic=" ( "*" | N { "," N } ) }
 *      AXES   = RULE { "," RULE } [ "@" N { "x" N } ]      one RULE alone stands for all axes of any rank
 *      RULE   = "block" [ "(" N ")" ] | "cyclic" [ "(" N ")" ] | "*"
 *             | "splits" "(" N { "," N } ")" | "weighted" "(" N { ":" N } ")"
 *      DEALT  = ("rows" | "columns") ":" ("cyclic" | "block" | "hash" | "table") [ "(" SIZES ")" ]
 *      OWNERS = OWNER [ "*" N ] { "," OWNER [ "*" N ] }    table: node of piece 0, 1, ..., `3*5` for five pieces of node 3
 *      OWNER  = N | "-"                                    "-": stored nowhere (DCL_NOWHERE)
 *      BOXES  = "boxes:" BOX "@" N { "," BOX "@" N }       BOX: "[" I ":" I { "," I ":" I } "]", first and end per axis
 *      SIZES  = N { "x" N }
 *      WIDTH  = N [ ":" N ]                                before and behind; one WIDTH alone stands for all axes
 *      NODES  = N [ "-" N ] { "," N [ "-" N ] }            each once, at most 32 ranges; without: the nodes alive
 *
 *  After "@" stands one number per axis, 1 for "*", or one number per axis that is not "*". One RULE with "@" stands for
 *  as many axes as there are numbers: `block@4` is of rank 1, `block@2x2` of rank 2. Splits or weighted alone divide the
 *  first axis, whatever the rank; the others are whole. Spaces between words are ignored.
 *  Nodes are numbers of the cluster, in the order in which rules deal to them, as in `rows:cyclic(2x2);nodes=0-1,3`.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID naming the column, what was found and what was expected. */
DCL_API dcl_map *dcl_map_parse(dcl_cluster *cluster, const char *text);

/** A map like `map` with other grains.
 *  @param rank   length of block and tile, 1..DCL_MAX_RANK.
 *  @param block  [rank] elements of a block per axis, the grain movement is counted in; NULL: as in `map`.
 *  @param tile   [rank] elements of a tile per axis, what one task computes; NULL: as in `map`.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_with_grains(const dcl_map *map, int rank, const int64_t block[], const int64_t tile[]);

/** Store only every so many-th element (strided): those whose index from the grid's origin is a multiple of the step on every
 *  axis. The grid of these elements is laid out by the map, whose sizes, points and grains count in it. The others are
 *  stored nowhere: see dcl_map_sparse(). As text, `;every=2x3`.
 *  @param map   any but boxes and those with a halo.
 *  @param rank  length of step, 1..DCL_MAX_RANK: that of the grids served.
 *  @param step  [rank] at least 1 each, instead of those that `map` has; all 1: every element is stored.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_every(const dcl_map *map, int rank, const int64_t step[]);

/** Declare what elements that are stored nowhere read as. As text, `;rest=-1.5`, also `inf` and `nan`.
 *  @param rest  converted to the type of the grids that are laid out, half and float to the nearest; a type that has no such
 *               value is refused then.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_with_rest(const dcl_map *map, double rest);

/** Let every node keep what lies around its elements (a halo, or ghost zones), and let axes go on at their other end.
 *
 *  Elements have the owners and places that `map` gives them. Beside what it owns, a node keeps copies of other nodes'
 *  elements that lie within the widths of its own. Nothing is moved ahead: the first operation that reads a box moves it, and
 *  is counted so; later ones read the copy and move nothing, until some element of the box is written. No budget
 *  applies (DCL_KEPT_BYTES is for other copies). An operation keeps up to 256 boxes of a node's; reads farther
 *  away move each time, as without a halo. dcl_remap() between maps that differ in the halo alone moves nothing.
 *
 *  Where an axis is *periodic*, bodies that read the array find at an index up to the width beyond an edge the element as far
 *  from the other edge: with C(i) = A(i-1) + A(i+1) over 0..n-1, A(-1) is A(n-1) and A(n) is A(0). So do affine
 *  subscripts, DCL_IN_HALO and DCL_IN_CROSS; other declared reaches end at the grid, and so does whatever is written: an
 *  array that a body writes, dcl_read(), dcl_write(). Reads beyond the widths are reads outside the grid, as ever. A view has
 *  a periodic axis where it shows all of one, by steps of 1 or -1 and under any numbers: transposed, permuted,
 *  shifted or reversed, but not cut or in another shape.
 *
 *  @param map       any but replicated and strided ones.
 *  @param rank      length of low, high and periodic: that of the grids served, or 1: all axes alike. A halo that `map` has is
 *                   replaced.
 *  @param low       [rank] elements before, 0..2^40; on periodic axes at most the extent of every grid that is laid out.
 *  @param high      [rank] elements behind; NULL: as low. All widths 0: no halo.
 *  @param periodic  [rank] axes with a width only; NULL: none.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. As text,
 *          `;halo=1`, `;halo=1:2,0;periodic=0`, with `;periodic=*` for all axes. */
DCL_API dcl_map *dcl_map_halo(const dcl_map *map, int rank, const int64_t low[], const int64_t high[],
                              const bool periodic[]);

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
 *  @param node_out    owner, a node of the cluster; DCL_NOWHERE: the map stores no such element.
 *  @param offset_out  elements (not bytes) from the first that this node stores; then -1.
 *  @return DCL_OK; DCL_ERR_RANGE when some index is outside, DCL_ERR_INVALID when map and grid do not fit; outputs then
 *          untouched.
 *  Cost: O(rank), no message; lists (split points, owners, boxes) are searched. The first question about a grid prepares
 *  the map for it; of more than eight grids, every question does. Complete when it returns.
 *  Source: block-cyclic distribution, ScaLAPACK Users' Guide (SIAM, 1997), chapter 4. */
DCL_API dcl_status dcl_map_locate(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                  int64_t *offset_out);

/** Elements node `node` must be able to store for this grid, padding and cut slots included; 0 for a node of the cluster
 *  that the map does not use.
 *  @return DCL_OK, or DCL_ERR_INVALID. */
DCL_API dcl_status dcl_map_storage(const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out);

/** What can be said of a map laid over a grid. */
typedef struct dcl_map_properties {
    bool closed_form; /**< owners follow from a few numbers: no process holds a list */
    bool per_axis;    /**< a node's elements are one rectangular array with one pitch: the fastest to compute on */
    bool rectangular; /**< what a node owns is one box without gaps, for all nodes */
    bool contiguous;  /**< what a node owns is one run of row-major element numbers, for all nodes */
    bool balanced;    /**< no node owns more than 5 % and one element above the mean */
    bool complete;    /**< every element is stored somewhere */
    int copies;       /**< nodes that hold copies; 0: elements are where they are owned */
    int owners;       /**< nodes that own something */
    int64_t most;     /**< elements of the node that owns most, and of the one that owns least */
    int64_t least;
    double imbalance; /**< most over the mean, at least 1 */
    int64_t run;   /**< shortest run of elements along the last axis that lie together in storage; 0: none are owned */
    bool halo;     /**< nodes keep what they read around what they own */
    bool periodic; /**< some axis goes on at its other end, for reads */
} dcl_map_properties;

/** Find out about a map over a grid, for algorithms that choose by it.
 *  Cost: all boxes of all nodes are visited once.
 *  @return DCL_OK, DCL_ERR_INVALID (map and grid do not fit), DCL_ERR_NOMEM; the output then untouched. */
DCL_API dcl_status dcl_map_describe(const dcl_map *map, const dcl_grid *grid, dcl_map_properties *properties_out);

/** Called with one box after the other; a value other than DCL_OK ends the walk and is returned by it. */
typedef dcl_status dcl_box_fn(void *user, const dcl_box *box);

/** Visit the boxes of what a node owns: disjoint, together exactly its elements. Order: as stored.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, or what `visit` returned. */
DCL_API dcl_status dcl_map_boxes(const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
