/* dcl/map.h - where the elements of a grid live. */
#ifndef DCL_MAP_H
#define DCL_MAP_H

#include <dcl/cluster.h>
#include <dcl/grid.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A resource map: the rule that assigns the elements of a grid to nodes of a cluster. Most maps serve grids of any
 *  extent. A map that lists pieces serves only grids with a certain number of pieces, a map that lists boxes only the
 *  grid that the boxes cover. Opaque, immutable.
 *
 *  A map uses the nodes that are alive when it is made, or the nodes that its caller names. Nodes that join later are used
 *  only by maps that are made after they have joined. The nodes of a map are in ascending order of their numbers, unless
 *  the map was read from text with `;nodes=` or made by dcl_remap_with(). The position of a node in this order, from 0, is
 *  its *place*: dcl_map_node().
 *
 *  Three families of maps divide a grid; a fourth, *replicated*, does not: one node owns all elements.
 *    - *Per axis* (HPF, ScaLAPACK): a rule of its own divides each axis into *runs* of indices. The nodes form a grid of the
 *      same rank, the *arrangement*. The position of a node in the arrangement along an axis is its *coordinate* on that
 *      axis; the rule gives each run to one coordinate. A node owns the elements whose indices belong to its coordinates on
 *      all axes.
 *    - *Dealt*: the grid is cut into equal boxes, the *pieces*. These are numbered, and the numbers are dealt to the places.
 *    - *Boxes*: the caller lists boxes and their nodes. Here each box is a piece.
 *  In a per-axis map, a piece is the box of elements that lies in one run on each axis.
 *
 *  A map also has two sizes that do not influence owners (dcl_map_with_grains()): that of a *tile*, which is what one task
 *  computes, and that of a *block*, the unit of the counter blocks_moved. The rule `block` is something else.
 *
 *  Threads: functions taking `const dcl_map *` may run at the same time. */
typedef struct dcl_map dcl_map;

/** How one axis is divided. Below, "nodes" is the number of coordinates on this axis. */
typedef enum dcl_axis_kind {
    DCL_AXIS_WHOLE,   /**< not divided: `*` */
    DCL_AXIS_BLOCK,   /**< one contiguous run per coordinate */
    DCL_AXIS_CYCLIC,  /**< runs of `size` elements, dealt in turn to the coordinates */
    DCL_AXIS_SPLITS,  /**< runs between given points, dealt in turn to the coordinates */
    DCL_AXIS_WEIGHTED /**< one contiguous run per coordinate, its length in proportion to the coordinate's share */
} dcl_axis_kind;

/** The rule of one axis. */
typedef struct dcl_axis {
    dcl_axis_kind kind;
    /** BLOCK: elements per coordinate; size * nodes must be at least the extent. 0 divides evenly: if the extent is no
     *  multiple of `nodes`, the first coordinates get one element more. CYCLIC: elements per run; 0 stands for 1. Others:
     *  0. */
    int64_t size;
    /** SPLITS: the points at which runs 1, 2, ... begin, counted from the grid's origin, in ascending order, each at least
     *  1. Run 0 begins at 0. Points beyond the extent make empty runs. Run k belongs to coordinate k mod nodes. At most
     *  1,048,576 points, but fewer if an array is to be made with the map: see dcl_map_table().
     *  WEIGHTED: one share for each coordinate, each at least 0, their sum 1..2^31-1. Let S(c) be the sum of the
     *  first c of n shares: coordinate c gets the indices from extent * S(c) / S(n) up to, not including,
     *  extent * S(c+1) / S(n), both rounded down and counted from the origin.
     *  Others: NULL. */
    const int64_t *points;
    int64_t count; /**< numbers in `points` */
} dcl_axis;

/** In which order pieces are numbered: with the last axis fastest, or the first. */
typedef enum dcl_order { DCL_ROWS, DCL_COLUMNS } dcl_order;
/** How numbered pieces are dealt to the places of a map. */
typedef enum dcl_deal {
    DCL_DEAL_CYCLIC, /**< in turn */
    DCL_DEAL_BLOCK, /**< in contiguous runs of equal length; the first places get one piece more if some are left over */
    DCL_DEAL_HASH,  /**< in turn, after a shuffle: see dcl_map_hash() */
    DCL_DEAL_TABLE  /**< by a list of owners: dcl_map_table(), dcl_map_function() */
} dcl_deal;

/** Given instead of a node number: no node stores the element or piece. */
#define DCL_NOWHERE (-1)

/** Divide every axis by a rule of its own.
 *  @param cluster  borrowed; must outlive the map, which uses its nodes that are alive. NULL is passed through.
 *  @param rank     dimensions of the grids served, 1..DCL_MAX_RANK.
 *  @param axes     [rank].
 *  @param nodes    [rank] nodes along each axis, 1 where it is WHOLE; their product must be the number of nodes alive.
 *                  Nodes are numbered with the last axis fastest. NULL: the nodes are spread over the divided axes by the
 *                  rule of MPI_Dims_create.
 *  @return the map, yours: dcl_map_release(); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM, DCL_ERR_NODE_LOST (all nodes).
 *  Source: HPF 2.0, DISTRIBUTE; MPI-4.0, section 8.5.2 (MPI_Dims_create). */
DCL_API dcl_map *dcl_map_axes(dcl_cluster *cluster, int rank, const dcl_axis axes[], const int nodes[]);

/** Cut the grid into equal pieces, number them, deal the numbers.
 *  @param piece  [rank] elements of one piece per axis, >= 1. NULL: pieces of one element. A piece that
 *                is larger than the grid along an axis is reduced to the grid's extent there. A piece that is cut short at
 *                the far edge of the grid still takes the storage of a whole piece.
 *                With rank 0 and piece NULL the map serves grids of every rank.
 *  @return the map, yours; or NULL: see dcl_map_axes(). */
DCL_API dcl_map *dcl_map_dealt(dcl_cluster *cluster, dcl_order order, dcl_deal deal, int rank, const int64_t piece[]);

/** Deal pieces in a shuffled order: neighbouring pieces land on unrelated nodes. Every node gets as many pieces as with
 *  DCL_DEAL_CYCLIC, and every process computes the owner of a piece without a list.
 *
 *  Of P pieces, piece x goes to the node at place p(x) mod n of a map of n nodes. This node stores it as its piece number
 *  p(x) / n. The permutation p of 0..P-1 is a Feistel network over pairs (L, R); a result that is P or more goes through it
 *  again. Let `a` be the smallest integer with a * a >= P, and b = P / a, rounded up:
 *
 *      p(x):       do {
 *                      L = x / b;   R = x % b;
 *                      L = (L + f(R, 0, a)) % a;   R = (R + f(L, 1, b)) % b;
 *                      L = (L + f(R, 2, a)) % a;   R = (R + f(L, 3, b)) % b;
 *                      x = L * b + R;
 *                  } while (x >= P);
 *                  return x;
 *      f(y, r, m): return ((((y + k(r)) * G) >> 32) * m) >> 32;     all arithmetic modulo 2^64
 *      k(r):       return h((4 * seed + r + 1) * G);                G = 0x9E3779B97F4A7C15
 *      h(z):       z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
 *                  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
 *                  return z ^ (z >> 31);
 *  @param rank, piece  as for dcl_map_dealt().
 *  @param seed         0..2^31-1; each gives another shuffle.
 *  @return the map, yours; or NULL: see dcl_map_dealt(), and DCL_ERR_INVALID (seed).
 *  Source: Black and Rogaway, Ciphers with arbitrary finite domains (CT-RSA 2002); the finalizer of SplitMix64. */
DCL_API dcl_map *dcl_map_hash(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t seed);

/** Deal pieces by a list of owners. Every process of the session has a copy of the list. Consecutive pieces (by number)
 *  with the same owner share one entry.
 *  Limit of all maps that are lists: an array can be made only with a map whose text (dcl_map_print()) has at most
 *  262,143 bytes. That is about 10,000 boxes of rank 2, 40,000 split points, or 100,000 owners of which no two
 *  neighbours are equal. With longer maps, dcl_map_locate(), dcl_map_describe() and similar functions still work.
 *  @param rank, piece  as for dcl_map_dealt().
 *  @param count        number of pieces. The map serves only grids with exactly this number of pieces.
 *  @param owners       [count] the node that owns piece 0, 1, ..., or DCL_NOWHERE (see dcl_map_sparse()). A node stores its
 *                      pieces in ascending order of their numbers. The map uses all nodes that are alive, also those that own
 *                      no piece.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID (a node that is not in the cluster or not alive), DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_table(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t count,
                               const int owners[]);

/** The owner of a piece: `piece` [rank] counts pieces along each axis from 0. @return a node of the cluster, or
 *  DCL_NOWHERE. */
typedef int dcl_owner_fn(void *user, const int64_t piece[]);

/** Deal the pieces of a grid by a function. The function is called only now, once for every piece, in ascending order of
 *  their numbers. The map is the same as that of dcl_map_table() with the owners that the function returns.
 *  @param grid   the grid whose pieces are numbered, of rank `rank`. The map also serves other grids with that number of
 *                pieces.
 *  @param owner  called without any lock; must not use the cluster.
 *  @return as dcl_map_table(). */
DCL_API dcl_map *dcl_map_function(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[],
                                  const dcl_grid *grid, dcl_owner_fn *owner, void *user);

/** Divide the first axis by shares of the nodes; the other axes are whole: `weighted(3:1)`, for grids of every rank.
 *  @param count   number of shares, one for each node alive.
 *  @param shares  [count] of the nodes alive in the order of their numbers, each at least 0. Only their
 *                 ratios matter; they are rounded to a ten-thousandth of the largest. dcl_measure_shares() finds
 *                 suitable ones.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_weighted(dcl_cluster *cluster, int count, const double shares[]);

/** Measure how fast each node alive runs a body. With the shares that the call returns, all nodes should take equally long.
 *
 *  The body is run on one node after the other, on arrays of about a million floats; the best of a few rounds counts.
 *  Results are remembered until dcl_close(), for the same body and the same nodes. Complete when it returns.
 *  @param body        each name in it that begins with a capital letter and stands before "(" is an array. NULL: a sum of
 *                     two arrays.
 *  @param capacity    length of `shares_out`; dcl_node_count() is enough unless nodes join meanwhile.
 *  @param shares_out  [capacity] receives the shares of the nodes alive in the order of their numbers; their sum is 1.
 *  @param count_out   receives the number of nodes alive, also when it is more than `capacity`.
 *  @return DCL_OK; DCL_ERR_INVALID, DCL_ERR_BODY, DCL_ERR_UNSUPPORTED (a planning cluster), or the error of running the
 *          body. */
DCL_API dcl_status dcl_measure_shares(dcl_cluster *cluster, const char *body, int capacity, double shares_out[],
                                      int *count_out);

/** Store an array on one node, with replicas on others. The first node alive owns all elements and computes all that is
 *  written. The next `copies` - 1 nodes retain what they read until the owner overwrites it (as after dcl_keep(), but
 *  without a limit of memory). So an unchanged element is sent to each of these nodes once; the remaining nodes receive it
 *  for each operation that reads it. Replicas do not replace the owner: if it is lost, the array fails.
 *  @param copies  number of nodes that may hold elements, the owner included; at most the nodes alive. 0: all nodes alive.
 *  @return the map, yours, for grids of every rank: `replicated`, `replicated(2)`; or NULL: DCL_ERR_INVALID. */
DCL_API dcl_map *dcl_map_replicated(dcl_cluster *cluster, int copies);

/** Store only some pieces (sparse) and deal them to the nodes in turn. The other pieces have no owner: DCL_NOWHERE.
 *
 *  Elements without an owner take no memory and are not computed: a body whose first output has such a map runs for the
 *  stored elements only. In bodies, in dcl_read() and in saved files they have the map's fill value, which is 0 unless
 *  dcl_map_with_rest() sets another. They cannot be written: dcl_write() refuses a box that contains one, and
 *  dcl_fill() and dcl_load_npy() pass over them. Any array with such a map may be the first output of a body. It may be a
 *  further output if it is laid out like the first output and written at the same subscripts; otherwise dcl_forall()
 *  refuses it.
 *  @param rank, piece  as for dcl_map_dealt().
 *  @param all          number of pieces of the grids that the map serves, as `count` of dcl_map_table().
 *  @param count        number of pieces that are stored, at least 1.
 *  @param pieces       [count] their numbers, 0..all-1, each once. With n nodes alive, pieces[k] goes to the node at
 *                      place k mod n.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_sparse(dcl_cluster *cluster, dcl_order order, int rank, const int64_t piece[], int64_t all,
                                int64_t count, const int64_t pieces[]);

/** Give boxes to nodes: any tiling of one grid (unstructured). A node stores its boxes one after the other in the order of
 *  the list, each packed with the last axis fastest. Every process of the session has a copy of the list.
 *  @param count  number of boxes, 1..131072, but fewer if an array is to be made with the map: see dcl_map_table().
 *  @param boxes  [count] of one rank, with strides of 1, in the grid's own indices. The boxes must cover the grid exactly
 *                once. This is checked when the map is used for a grid; the error names the first overlap or the first
 *                index that no box covers.
 *  @param nodes  [count] the node of each box; a node of the cluster that is alive.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
DCL_API dcl_map *dcl_map_listed(dcl_cluster *cluster, int count, const dcl_box boxes[], const int nodes[]);

/** Deal equal pieces to the nodes in turn, in row-major order of the pieces (block-cyclic): `rows:cyclic(axb)`. */
DCL_API dcl_map *dcl_map_block_cyclic(dcl_cluster *cluster, int rank, const int64_t piece[]);
/** Divide every axis into contiguous runs of equal length, one for each coordinate: `block`. Serves grids of every rank. */
DCL_API dcl_map *dcl_map_block(dcl_cluster *cluster);
/** The default map. It is dcl_config.map if that is set. Otherwise it is `block`, except that an array that is smaller than
 *  dcl_config.small_bytes lies wholly on the first node. */
DCL_API dcl_map *dcl_map_default(dcl_cluster *cluster);

/** Read a map from text.
 *
 *      MAP    = AXES | DEALT | BOXES | "replicated" [ "(" N ")" ], then { ";block=" SIZES | ";tile=" SIZES
 *             | ";nodes=" NODES | ";seed=" N | ";owners=" OWNERS | ";every=" SIZES | ";rest=" NUMBER
 *             | ";halo=" WIDTH { "," WIDTH } | ";periodic=" ( "*" | N { "," N } ) | ";overlap=" N }
 *      AXES   = RULE { "," RULE } [ "@" N { "x" N } ]      one RULE alone stands for all axes of any rank
 *      RULE   = "block" [ "(" N ")" ] | "cyclic" [ "(" N ")" ] | "*"
 *             | "splits" "(" N { "," N } ")" | "weighted" "(" N { ":" N } ")"
 *      DEALT  = ("rows" | "columns") ":" ("cyclic" | "block" | "hash" | "table") [ "(" SIZES ")" ]
 *      OWNERS = OWNER [ "*" N ] { "," OWNER [ "*" N ] }    table: node of piece 0, 1, ..., `3*5` for five pieces of node 3
 *      OWNER  = N | "-"                                    "-": stored nowhere (DCL_NOWHERE)
 *      BOXES  = "boxes:" BOX "@" N { "," BOX "@" N }
 *      BOX    = "[" I ":" I { "," I ":" I } "]"            per axis the first index and the one after the last: `[0:4,0:6]`
 *      SIZES  = N { "x" N }
 *      WIDTH  = N [ ":" N ]                                before and after; one WIDTH alone stands for all axes
 *      NODES  = N [ "-" N ] { "," N [ "-" N ] }            each once, at most 32 ranges; default: the nodes alive
 *
 *  "@" is followed by one number per axis (1 for an axis "*"), or only by the numbers of the axes that are not "*":
 *  `block,*@4x1` and `block,*@4` are the same. A single RULE with "@" stands for as many axes as there are numbers:
 *  `block@4` has rank 1, `block@2x2` rank 2. A single splits or weighted rule divides the first axis of grids of any
 *  rank and leaves the others whole. Spaces between words are ignored. NODES are node numbers of the cluster in the
 *  order of their places, as in `rows:cyclic(2x2);nodes=0-1,3`.
 *  @return the map, yours; or NULL: DCL_ERR_INVALID naming the column, what was found and what was expected. */
DCL_API dcl_map *dcl_map_parse(dcl_cluster *cluster, const char *text);

/** Make a map like `map` with other sizes of blocks and tiles.
 *  @param rank   length of block and tile, 1..DCL_MAX_RANK.
 *  @param block  [rank] elements of a block per axis: the unit of the counter blocks_moved. NULL: as in `map`.
 *  @param tile   [rank] elements of a tile per axis; one task computes one tile. NULL: as in `map`.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_with_grains(const dcl_map *map, int rank, const int64_t block[], const int64_t tile[]);

/** Store only a strided subset: the elements whose index, counted from the grid's origin, is a multiple of the step on every
 *  axis. They form a smaller grid, which `map` lays out: its sizes, points, blocks and tiles count stored elements. All
 *  other elements have no owner: see dcl_map_sparse(). As text, `;every=2x3`.
 *  @param map   any map but a list of boxes or one with a halo.
 *  @param rank  length of step, 1..DCL_MAX_RANK: the rank of the grids served.
 *  @param step  [rank] each at least 1; they replace the steps that `map` has. All 1: every element is stored.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_every(const dcl_map *map, int rank, const int64_t step[]);

/** Set the fill value: the value that is read for elements that are stored nowhere. As text, `;rest=-1.5`, also `inf` and
 *  `nan`.
 *  @param rest  converted to the element type of each grid that uses the map; half and float round to the nearest. A grid
 *               whose type cannot hold the value is refused when the map is used for it.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_with_rest(const dcl_map *map, double rest);

/** Let every node retain a halo (ghost zones) around its elements, and let axes be periodic.
 *
 *  Owners and offsets of elements are those of `map`. Each node also retains replicas of those elements of other nodes
 *  that are at most the halo's widths away from its own elements. Nothing is moved ahead of use: the first operation
 *  that reads a box moves it, and counts it; later operations read the replica and move nothing, until an element of
 *  the box is written. DCL_KEPT_BYTES does not limit these replicas; the limit on the number of boxes is that of
 *  dcl_keep(). Elements that are read beyond the halo are moved each time. dcl_remap() between maps that differ only in
 *  the halo moves nothing.
 *
 *  On a *periodic* axis, an index may lie outside the grid by up to the halo's width: it wraps around to the other edge. In
 *  C(i) = A(i-1) + A(i+1) over 0..n-1, A(-1) is A(n-1) and A(n) is A(0). This holds for inputs of bodies with affine
 *  subscripts, DCL_IN_HALO and DCL_IN_CROSS. It holds neither for inputs with another declaration (DCL_IN_ALL,
 *  DCL_IN_BOX, ...: dcl_forall()), nor for outputs, dcl_read() or dcl_write(). A read beyond the width is a read outside the
 *  grid. An axis of a view is periodic if it shows all of a periodic axis in steps of 1 or -1, as in transposed, permuted,
 *  shifted and reversed views. Cut axes, and those of reshaped views, are not periodic.
 *
 *  @param map       any map but a replicated or strided one. If it has a halo, this one replaces it.
 *  @param rank      length of low, high and periodic: the rank of the grids served, or 1 for all axes alike.
 *  @param low       [rank] width before a node's elements, 0..2^40; on a periodic axis at most the extent of each grid.
 *  @param high      [rank] width after them; NULL: as low. If all widths are 0, there is no halo.
 *  @param periodic  [rank] which axes are periodic; such an axis needs a width. NULL: none.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. As text,
 *          `;halo=1`, `;halo=1:2,0;periodic=0`, with `;periodic=*` for all axes. */
DCL_API dcl_map *dcl_map_halo(const dcl_map *map, int rank, const int64_t low[], const int64_t high[],
                              const bool periodic[]);

/** Let every node also store lines of other nodes around its own, and compute some of them itself, so that time loops
 *  exchange edges once in several steps. A line is all elements with one index of the first axis.
 *
 *  Owners are those of `map`. A loop body uses the lines under three conditions: all of its arrays have the same grid and map; it
 *  runs over a box (dcl_forall_over()); it reads no element outside the grid, and along the first axis only elements at constant
 *  distances from the index. Suppose that such a body reads r lines beyond a part, and that d lines around the parts are up to
 *  date. If d >= r, the call moves nothing; it also brings d - r lines of its outputs up to date, because each node computes
 *  them, too. If d < r, the call first moves all `lines` lines over each border, of all inputs. With r = 1, that is one exchange
 *  in `lines` steps. If 2 * r > lines, the lines are not used. All other calls work as with `map`, but a call that writes an
 *  array in another way makes all lines around its parts out of date. dcl_explain() says what each call moves.
 *
 *  dcl_map_locate() and dcl_map_storage() count the lines of the map: a part begins after the lines before it.
 *
 *  DCL also stores such lines without this call, and uses them in time loops, if the array is large, its map divides the first
 *  axis as `map` must do, and all nodes are CPUs of one kind (dcl_config.lines, docs/time-loops.md).
 *  @param map    a map that divides only the first axis, each node having one run of it, such as `block,*`. Not a dealt,
 *                listed, replicated or strided map, or one with a halo.
 *  @param lines  stored before and after each part, 0..65536. 0: no overlap.
 *  Cost: each node stores 2 * lines more lines of each array, and computes up to as many of them in each call.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. As
 *          text, `;overlap=8`. */
DCL_API dcl_map *dcl_map_overlap(const dcl_map *map, int64_t lines);

/** Make the same map over other nodes.
 *  @param count  length of `nodes`, at least 1. If the map states an arrangement of nodes (`@2x2`), count must
 *                be the number of nodes in it.
 *  @param nodes  [count] different nodes of the cluster. The order of the list does not matter: places are in ascending
 *                order of node numbers. The nodes must form at most 32 ranges of consecutive numbers. Lost nodes are
 *                accepted, but no array can be made that would have elements on one of them.
 *  @return a new map, yours (`map` stays yours too); or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. NULL is passed through. */
DCL_API dcl_map *dcl_map_on(const dcl_map *map, int count, const int nodes[]);

/** Take another reference to the map; end it with dcl_map_release(). @return map. NULL is passed through. */
DCL_API dcl_map *dcl_map_retain(dcl_map *map);
/** End a reference to the map. Arrays made with it keep what they need. NULL is accepted. */
DCL_API void dcl_map_release(dcl_map *map);

/** Number of nodes that the map uses; 0 for NULL. */
DCL_API int dcl_map_node_count(const dcl_map *map);

/** The node at a place of the map: the n-th in the order in which the map uses its nodes. This order is ascending by node
 *  number, unless the map's text (`;nodes=`) or dcl_remap_with() gives another.
 *  @param place  0..dcl_map_node_count() - 1. @return number of the node in the cluster; -1: no such place, or NULL. */
DCL_API int dcl_map_node(const dcl_map *map, int place);

/** Write the map as text that dcl_map_parse() reads back to an equal map. One exception: the default map prints as the map
 *  that it uses for larger arrays, because the grammar cannot say that small arrays lie on one node.
 *  @param text_out  [capacity] receives the text, cut to capacity - 1 and ended by '\0'; may be NULL when capacity is 0.
 *  @return length of the whole text without '\0', as snprintf() does; 0 for NULL. */
DCL_API size_t dcl_map_print(const dcl_map *map, char *text_out, size_t capacity);

/** Whether both maps lay out every grid in the same way, with the same blocks and tiles. */
DCL_API bool dcl_map_equal(const dcl_map *a, const dcl_map *b);

/** Find the owner of one element and its offset in the owner's storage.
 *
 *  Per axis: a node stores its elements as one rectangular row-major array, whose extent along an axis is the number of
 *  indices that the node has there. From rank 2 on, rows of at least 4096 bytes are padded if their length is less than 128
 *  bytes away from a multiple of 4096. If it is below this multiple, 256 bytes are added, otherwise 128. Without padding, the
 *  elements of a column would fall into a few sets of the cache.
 *  Dealt: a node stores its pieces one after the other in ascending order of their numbers. With dcl_map_hash() the
 *  order is that of the shuffled numbers p(x). Each piece, also one that is cut at the edge of the grid, takes the storage
 *  of a whole piece, row-major.
 *
 *  @param map         a map that serves the grid's rank.
 *  @param grid        the grid that the map is used for.
 *  @param index       [grid->rank], inside the grid.
 *  @param node_out    the owner, a node of the cluster; DCL_NOWHERE if the map does not store the element.
 *  @param offset_out  elements (not bytes) from the first that the owner stores; -1 if the map does not store the element.
 *  @return DCL_OK; DCL_ERR_RANGE when some index is outside, DCL_ERR_INVALID when map and grid do not fit; outputs then
 *          untouched.
 *  Cost: O(rank), no message; lists (split points, owners, boxes) are searched. A map remembers its layout of
 *  the first eight grids that it is asked about; for any further grid, every call computes the layout again.
 *  Complete when it returns.
 *  Source: block-cyclic distribution, ScaLAPACK Users' Guide (SIAM, 1997), chapter 4. */
DCL_API dcl_status dcl_map_locate(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                  int64_t *offset_out);

/** Number of elements that a node must have room for, including padding and the unused storage of cut pieces. 0 for a node
 *  of the cluster that the map does not use. Lines that DCL stores without being asked for (dcl_config.lines) are not counted
 *  and do not change the offsets of dcl_map_locate(); they need up to two sevenths of an average part.
 *  @return DCL_OK, or DCL_ERR_INVALID. */
DCL_API dcl_status dcl_map_storage(const dcl_map *map, const dcl_grid *grid, int node, int64_t *elements_out);

/** Properties of a map that is used for a grid. */
typedef struct dcl_map_properties {
    bool closed_form; /**< owners are computed from a few numbers; no process keeps a list */
    bool per_axis;    /**< every node stores one rectangular array with one pitch, which is fastest to compute on */
    bool rectangular; /**< the elements of every node are one box without gaps */
    bool contiguous;  /**< the elements of every node have consecutive row-major numbers in the grid */
    bool balanced;    /**< no node owns more than the mean plus 5 % plus one element */
    bool complete;    /**< every element is stored somewhere */
    int copies;       /**< of a replicated map: nodes that may hold elements, the owner included; else 0 */
    int owners;       /**< nodes that own at least one element */
    int64_t most;     /**< elements of the node that owns most */
    int64_t least;    /**< elements of the node that owns least */
    double imbalance; /**< most divided by the mean, at least 1 */
    int64_t run;   /**< shortest run of elements along the last axis that are contiguous in storage; 0: no elements */
    bool halo;     /**< nodes retain a halo around their elements */
    bool periodic; /**< some axis is periodic: see dcl_map_halo() */
} dcl_map_properties;

/** @param properties_bytes  sizeof(dcl_map_properties) of the program. */
DCL_API dcl_status dcl_map_describe_sized(const dcl_map *map, const dcl_grid *grid, dcl_map_properties *properties_out,
                                          size_t properties_bytes);
/** Find the properties of a map for a grid. A program can use them to choose an algorithm.
 *  Cost: all boxes of all nodes are visited once.
 *  @return DCL_OK, DCL_ERR_INVALID (map and grid do not fit), DCL_ERR_NOMEM; the output then untouched. */
static inline dcl_status dcl_map_describe(const dcl_map *map, const dcl_grid *grid, dcl_map_properties *properties_out)
{
    return dcl_map_describe_sized(map, grid, properties_out, sizeof *properties_out);
}

/** Called with one box after the other. If it returns anything but DCL_OK, dcl_map_boxes() ends and returns that status. */
typedef dcl_status dcl_box_fn(void *user, const dcl_box *box);

/** Visit the boxes of a node's elements. They are disjoint, cover all its elements, and come in the order of storage.
 *  @return DCL_OK, DCL_ERR_INVALID, DCL_ERR_NOMEM, or what `visit` returned. */
DCL_API dcl_status dcl_map_boxes(const dcl_map *map, const dcl_grid *grid, int node, dcl_box_fn *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
