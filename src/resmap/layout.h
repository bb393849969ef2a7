/* resmap/layout.h - rules of maps, and layouts: rules bound to a grid, which tell owner and location of each element.
 * Arithmetic only, on plain values. */
#ifndef DCLI_RESMAP_LAYOUT_H
#define DCLI_RESMAP_LAYOUT_H

#include <dcl/grain.h>

#include "base/divisor.h"
#include "resmap/table.h"
#include "segment/region.h"
#include "segment/view.h"

/** The families of maps: each axis is divided by itself; pieces are dealt; boxes are listed. */
typedef enum dcli_map_kind { DCLI_MAP_AXES, DCLI_MAP_DEALT, DCLI_MAP_BOXES } dcli_map_kind;

/** A range of consecutive nodes: first .. first + count - 1. */
typedef struct dcli_node_range {
    int first, count;
} dcli_node_range;

enum { DCLI_MOST_OVERLAP = 65536 }; /* most lines before a part, and after it */

enum {
    DCLI_NODE_RANGES = 32
}; /* most ranges of a map: few, so that a rule is a plain value and a node is found quickly */

/** The rule of a map, a plain value that can be copied. dcli_map_rule_check() checks all numbers. The rule assigns
 *  elements to *places* 0 .. node_count - 1; the list of ranges says which nodes of the cluster these are. */
typedef struct dcli_map_rule {
    dcli_map_kind kind;
    int node_count;
    int range_count;                         /* number of ranges; 0: place k is node k for all k */
    dcli_node_range range[DCLI_NODE_RANGES]; /* disjoint, in the order of the places; the counts add up to node_count */
    int rank;                                /* number of axes of the grids that it serves; 0: any number */
    int copies;                              /* AXES, undivided (`replicated`): number of places that retain
                                                replicas; the first of them is the owner; 0: no replicas */
    /* AXES. With rank 0, axes[0] stands for all axes, or, if it has points, for the first; nodes[] is then 0: arranged
     * when the rule is bound. */
    dcl_axis axes[DCL_MAX_RANK];
    dcli_table *points[DCL_MAX_RANK]; /* the numbers of axes[d].points; NULL: there are none. A rule that is owned
                                         holds a reference */
    int nodes[DCL_MAX_RANK];          /* nodes along each axis; all 0: arranged when bound to a grid, see
                                         dcli_map_arrange() */
    /* DEALT */
    dcl_order order;
    dcl_deal deal;
    int64_t piece[DCL_MAX_RANK]; /* elements of a piece per axis; rank 0: 1 along each axis of any grid */
    int64_t seed;                /* DCL_DEAL_HASH: which permutation of the pieces */
    /* DEALT by table: for each run of consecutive pieces its length and its node. BOXES: for each box its node,
     * start[rank], count[rank]. NULL: neither. The rule of a map or layout holds a reference. */
    dcli_table *list;
    /* grains: elements per axis of a block and of a tile; rank 0: chosen when bound, by the sizes below */
    int block_rank, tile_rank;
    int64_t block[DCL_MAX_RANK], tile[DCL_MAX_RANK];
    int64_t tile_bytes, block_bytes; /* bytes of a tile and of a block if no grain is given */
    int64_t small_bytes;             /* a grid with fewer bytes is stored completely at place 0; 0: no grid is */
    /* Strided maps: along each axis only every every[d]-th index, from the origin on, is stored; all fields above then
     * describe the grid of stored elements. every_rank 0: all indices are stored. Not with BOXES. */
    int every_rank;
    int64_t every[DCL_MAX_RANK];
    double fill_value; /* the fill value: what reads get for elements that are not stored */
    /* Halo: after a body has read them, a node retains replicas of elements at most this far from its own. halo_rank 0:
     * no halo; 1 with `rank` 0: the same width for all axes. */
    int halo_rank;
    int64_t halo_low[DCL_MAX_RANK], halo_high[DCL_MAX_RANK];
    unsigned periodic; /* bit d: axis d is periodic, as far as reads are concerned; DCLI_ALL_PERIODIC: all axes */
    /* AXES: each node also stores this many lines (all elements of an index of the first axis) before and after its
     * own, directly beside them: overlap.c. 0: none. Not with a halo, `every`, or copies. */
    int64_t overlap;
} dcli_map_rule;

#define DCLI_ALL_PERIODIC ((1U << DCL_MAX_RANK) - 1)

/** DEALT by hash: the permutation of the piece numbers below `total`, as pairs of numbers below `high` and `low`
 *  (scatter.c). */
typedef struct dcli_scatter {
    int64_t total, high, low;
    dcli_divisor by_low;
    uint64_t key[4];
} dcli_scatter;

/** DEALT by table (owned.c): runs of consecutive pieces with one owner. A slot is the storage of one piece at its
 *  owner. */
typedef struct dcli_owner_runs {
    int64_t runs;
    const int64_t *first; /* [runs + 1] number of the run's first piece */
    const int64_t *place; /* [runs] place of the owner; -1: not stored */
    const int64_t *slot;  /* [runs] the owner's slot of the run's first piece */
    const int64_t *from;  /* [node_count + 1] start of a place's runs in `of` */
    const int64_t *of;    /* numbers of the runs, place by place, ascending */
    const int64_t *slots; /* [node_count] number of slots of a place */
} dcli_owner_runs;

/** BOXES: the boxes, with a balanced tree for searching them. The tree has no links: `tree` lists box numbers, and the
 *  root of its range first .. end - 1 is the middle, first + (end - first) / 2; the ranges before and after it are the
 *  subtrees. */
typedef struct dcli_boxes {
    int64_t count;
    const int64_t *box;    /* [count][2 * rank] start (from the grid's origin), count */
    const int64_t *place;  /* [count] place of the owner */
    const int64_t *offset; /* [count] offset of the box's first element in the owner's storage */
    const int64_t *blocks; /* [count] number of blocks of all earlier boxes in the list */
    const int64_t *tile;   /* [count] number of the box's first tile at its owner */
    const int64_t *from;   /* [node_count + 1] start of a place's boxes in `of` */
    const int64_t *of;     /* [count] box numbers, place by place, in the order of the list */
    const int64_t *total;  /* [node_count] number of elements of a place */
    const int64_t *tiles;  /* [node_count] number of tiles of a place */
    const int64_t *tree;   /* [count] box numbers in the order of the search tree */
    const int64_t *bounds; /* [count][2 * rank] for the subtree with this root, bounds of all its boxes: first index,
                              last index */
} dcli_boxes;

typedef struct dcli_bound_layout dcli_bound_layout;

struct dcl_map {
    int references; /* number of references; atomic */
    dcl_cluster *cluster;
    dcli_map_rule rule;
    dcli_bound_layout *bound; /* atomic: list of the layouts of a few grids for which the map was queried */
};

/** How one axis is divided in a per-axis layout, in elements from the grid's origin. In a regular division, run k
 *  belongs to coordinate k mod `used`. In an uneven one (more > 0) every coordinate has one run, and the first `more`
 *  runs are one element longer. */
typedef struct dcli_division {
    int64_t run;  /* elements of a run, >= 1 (the last may be cut by the grid) */
    int64_t more; /* number of runs with one element more; 0: all runs are alike */
    int64_t even; /* if all runs are alike: `even`: elements that each coordinate has in complete rounds of runs;
                     `remainder`: elements of the last, incomplete round */
    int64_t remainder;
    int nodes;                               /* number of coordinates along the axis */
    int used;                                /* number of coordinates that own something: the first ones */
    dcli_divisor by_run, by_longer, by_used; /* divisors: run, run + 1, used */
    /* Irregular divisions (runs > 0): runs of any length, of which run k belongs to coordinate k mod nodes; `run` is
     * the longest; any coordinate may own nothing. */
    int64_t runs;          /* number of runs; 0: the division is regular */
    const int64_t *begin;  /* [runs + 1] first index of each run */
    const int64_t *place;  /* [runs] position of the run's first element among its coordinate's elements */
    const int64_t *length; /* [nodes] number of elements of a coordinate */
} dcli_division;

/** A layout: a rule bound to a grid. It refers to tables: a layout from dcli_layout_bind() holds references to them,
 *  copies of it borrow them. Only resmap uses the fields, except `grid`, `rule`, `node_count`, `node_end`, `partial`
 *  and `fill_value`. Binding `rule`, which has been completed, to the same grid gives the same layout.
 *  The functions below take and return node numbers of the cluster; a node that the map does not list owns nothing. */
typedef struct dcli_layout {
    dcl_grid grid;
    dcli_map_rule rule;                   /* the rule with rank, nodes, piece, block and tile filled in and not
                                             larger than the grid */
    int node_count;                       /* number of places */
    int node_end;                         /* the largest node number + 1 */
    int64_t bytes;                        /* bytes of an element */
    int64_t line;                         /* number of elements in DCLI_LINE bytes */
    dcli_map_kind kind;                   /* the family of the storage; AXES also for a grid below small_bytes, which
                                             is stored completely at place 0 */
    bool empty;                           /* some extent is 0, so there are no elements, and the following fields are
                                             not set */
    dcli_division division[DCL_MAX_RANK]; /* AXES: how each axis is divided */
    dcli_table *bound[DCL_MAX_RANK];      /* references to the tables of irregular divisions (by axis), or [0]: of
                                             owner runs or boxes */
    int64_t pieces[DCL_MAX_RANK];         /* DEALT: number of pieces along each axis */
    int64_t weight[DCL_MAX_RANK];         /* DEALT: the piece at position p has number sum of p[d] * weight[d] */
    int64_t within[DCL_MAX_RANK];         /* DEALT: step in storage along each axis inside a piece */
    int order[DCL_MAX_RANK];              /* DEALT: axes in descending order of weight */
    int64_t piece_total;                  /* DEALT: number of pieces */
    dcli_divisor by_piece[DCL_MAX_RANK];  /* DEALT: elements of a piece along each axis */
    dcli_divisor by_node_count;           /* DEALT: the number of places as a divisor */
    dcli_division runs;                   /* DEALT in runs: how the piece numbers are divided among the places */
    int64_t slot;                         /* DEALT: elements of a slot, the storage of one piece */
    dcli_scatter scatter;                 /* DEALT by hash: the permutation of pieces */
    dcli_owner_runs owned;                /* DEALT by table: the owners of pieces */
    dcli_boxes boxes;                     /* BOXES: the boxes and their search tree */
    int64_t around;                       /* AXES: lines that are stored before and after each part, because of
                                             rule.overlap or dcli_layout_reserve(); 0: none */
    int64_t lead;                         /* elements of storage before the first element of each part, and as many
                                             after the last: those of the lines, also if the layout was reshaped */
    bool partial;                         /* some elements are not stored, because the map is strided or some pieces
                                             have no owner */
    uint64_t fill_value;                  /* the fill value as the bytes of one element */
    struct dcli_layout *inner;            /* strided maps (every.c): the layout of the grid of stored elements, with
                                             origin 0; NULL: not strided */
    dcli_divisor by_every[DCL_MAX_RANK];  /* with `inner`: the steps as divisors */
} dcli_layout;

struct dcli_bound_layout {
    dcli_layout layout;
    dcli_bound_layout *next;
};

/** Add a reference to each table of a rule. */
void dcli_map_rule_retain(const dcli_map_rule *rule);
/** Drop a reference to each table of a rule. */
void dcli_map_rule_release(const dcli_map_rule *rule);
/** Set the points (split points or shares) of axis d. They are copied; the rule holds a reference. @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_set_points(dcli_map_rule *rule, int d, int64_t count, const int64_t points[]);
/** Set the list of boxes and the node of each; the rule holds a reference. @param boxes  [count] of the rule's rank.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_set_boxes(dcli_map_rule *rule, int64_t count, const dcl_box boxes[], const int nodes[]);
/** Set a table of owners: `runs` pairs (number of pieces, node or DCL_NOWHERE); neighbouring runs of one owner are
 *  merged. The rule holds a reference. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_set_owners(dcli_map_rule *rule, int64_t runs, const int64_t pairs[]);
/** Whether an axis is divided by points: split points or shares. */
static inline bool dcli_has_points(const dcl_axis *axis)
{
    return axis->kind == DCL_AXIS_SPLITS || axis->kind == DCL_AXIS_WEIGHTED;
}

/** Check a rule. @return DCL_OK, or DCL_ERR_INVALID with the field, value and remedy. */
dcl_status dcli_map_rule_check(const dcli_map_rule *rule);
/** Whether two checked rules lay out every grid alike: owners, offsets, grains, fill value, halo, periodic axes and
 *  overlap. */
bool dcli_map_rule_equal(const dcli_map_rule *a, const dcli_map_rule *b);

/** Append nodes first .. first + count - 1 to a rule's list; none of them may be in it. Increases node_count. A list
 *  begins with node_count and range_count 0. @return DCL_OK, or DCL_ERR_INVALID: it would have more than
 *  DCLI_NODE_RANGES ranges. */
dcl_status dcli_map_rule_add_nodes(dcli_map_rule *rule, int first, int count);
enum { DCLI_NODES_TEXT = 200 };
/** Print a rule's nodes for an error text, "0-1,3"; a list that is too long ends in dots. @return text_out. */
const char *dcli_map_rule_print_nodes(const dcli_map_rule *rule, char *text_out, size_t capacity);
/** Whether a run of nodes from `first` on can be appended without exceeding DCLI_NODE_RANGES. */
bool dcli_map_rule_has_room(const dcli_map_rule *rule, int first);
/** Whether one of the nodes first .. first + count - 1 is in the rule's list. */
bool dcli_map_rule_lists(const dcli_map_rule *rule, int first, int count);
/** Call this after the last dcli_map_rule_add_nodes(). If place k is node k for all `nodes` nodes of the cluster, the
 *  list is dropped, because that is the default. */
void dcli_map_rule_end_nodes(dcli_map_rule *rule, int nodes);
/** The node at a place; 0 <= place < node_count. */
int dcli_map_rule_node(const dcli_map_rule *rule, int place);
/** The place of a node; -1: the map does not list it. Any number is accepted for the node. */
int dcli_map_rule_place(const dcli_map_rule *rule, int node);

/** Arrange nodes: choose how many coordinates each axis gets. Divided axes get numbers as equal as possible, larger
 *  ones on earlier axes: the largest number is minimal, then the next, ... Undivided axes get 1, weighted axes as many
 *  as they have shares (the product of these divides node_count). At least one axis is divided, or node_count is 1.
 *  Source: MPI-4.0, section 8.5.2, MPI_Dims_create. */
void dcli_map_arrange(int node_count, int rank, const dcl_axis axes[], int nodes_out[]);

/** Bind a checked rule to a checked grid. @param layout_out  holds references; end them with dcli_layout_release().
 *  @return DCL_OK; DCL_ERR_INVALID: the rule does not serve this grid (rank, block(n) too small, ...);
 *  DCL_ERR_NOMEM. */
dcl_status dcli_layout_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out);
/** Drop the references that a bound layout holds. A zeroed layout is accepted. */
void dcli_layout_release(const dcli_layout *layout);
/** Whether two layouts have the same owner and offset for every element. Extents and origins must be equal; types and
 *  grains may differ. */
bool dcli_layout_same(const dcli_layout *a, const dcli_layout *b);

/** Number of a node's elements that are contiguous in a file of the whole grid, on average. It is a lower bound, except
 *  that runs which the edge of the grid cuts count as whole. Not for strided maps. @param fortran_order  the file has
 *  the first axis fastest. @return INT64_MAX: the grid has no elements. */
int64_t dcli_layout_run(const dcli_layout *layout, bool fortran_order);

/** Reshape: the layout of a grid with another shape and as many elements of the same type, in which element n in
 *  row-major order has the same node and offset as element n of this one.
 *  @param layout_out  as of dcli_layout_bind().
 *  @return DCL_OK; DCL_ERR_INVALID (the grid, another number of elements); DCL_ERR_UNSUPPORTED, with the
 *          reason: elements would have to move, over these nodes or over another number of them, or the map lists
 *          owners or boxes, or is replicated; DCL_ERR_NOMEM. */
dcl_status dcli_layout_reshape(const dcli_layout *layout, const dcl_grid *grid, dcli_layout *layout_out);

/** The node at a place of a layout's map: dcli_map_rule_node(). */
static inline int dcli_layout_node(const dcli_layout *layout, int place)
{
    return layout->rule.range_count == 0 ? place : dcli_map_rule_node(&layout->rule, place);
}

/** The axis that a per-axis layout divides among nodes; 0 if it divides none or several, and for other families. */
int dcli_layout_divided_axis(const dcli_layout *layout);

/** The place of a node in a layout's map: dcli_map_rule_place(). */
static inline int dcli_layout_place(const dcli_layout *layout, int node)
{
    return dcli_map_rule_place(&layout->rule, node);
}

/** Whether a node retains, as replicas, the elements of arrays with this map that it has read. */
static inline bool dcli_layout_holds(const dcli_layout *layout, int node)
{
    int place = layout->rule.copies > 0 ? dcli_layout_place(layout, node) : -1;
    return place >= 0 && place < layout->rule.copies;
}

/** Find the region of a node's part, and that of the part together with the lines around it (rule.overlap), as far as
 *  these are in the grid. @return DCL_OK or DCL_ERR_NOMEM. *found_out: false: the layout has no such lines, or the node
 *  owns nothing. */
dcl_status dcli_layout_around(const dcli_layout *layout, int node, bool *found_out, dcli_region *own_out,
                              dcli_region *around_out);
/** Whether no node stores lines first..last of the first axis beside its part: they are in one part, and at least `around` lines
 *  from any other part. For layouts with lines around their parts. */
bool dcli_layout_lines_are_apart(const dcli_layout *layout, int64_t first, int64_t last);
/** Reserve storage for lines around the parts of a layout whose rule has no overlap, if it could have one and its parts are
 *  large enough. Nothing else about the layout changes. @param most  lines before and after each part. */
void dcli_layout_reserve(dcli_layout *layout, int64_t most);
/** Let a layout have storage for exactly `lines` lines around its parts, as another layout of the same rule and grid has. */
void dcli_layout_set_lines(dcli_layout *layout, int64_t lines);
/** The elements of a line: one index of the first axis, with padding. For layouts with an overlap. */
int64_t dcli_layout_line(const dcli_layout *layout);

/** Whether axis d is periodic as far as reads are concerned. */
static inline bool dcli_layout_wraps(const dcli_layout *layout, int d)
{
    return !layout->empty && (layout->rule.periodic >> d & 1) != 0;
}

/** Whether a box lies in the halo of a node: each of its elements is the node's own, or within the halo's widths of
 *  one. Along periodic axes its indices may extend beyond the grid. A "no" may be wrong: more than 64 boxes of the node
 *  near this one are not examined. @param scratch  overwritten. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_near(const dcli_layout *layout, int node, const dcl_box *box, dcli_region_list *scratch,
                            bool *near_out);

/** Find the owner of an element inside the grid, and its offset there; both -1: it is not stored. Cost: O(rank), and up
 *  to DCLI_NODE_RANGES steps if the map lists its nodes. */
void dcli_layout_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);

/** Number of elements for which a node's storage has room, including padding, cut slots and the lines around its
 *  part. */
int64_t dcli_layout_storage(const dcli_layout *layout, int node);
/** The same, of all nodes together. Cost: O(nodes); O(1) if pieces are dealt by arithmetic. */
int64_t dcli_layout_total_storage(const dcli_layout *layout);
/** Number of elements that a node owns. */
int64_t dcli_layout_owned(const dcli_layout *layout, int node);

/** Append the regions of those elements of `query` (NULL: of the whole grid) that `node` owns: disjoint, sorted by the
 *  offset of their first element, as few as the map allows. They are computed; no elements are scanned. @return DCL_OK
 *  or DCL_ERR_NOMEM. */
dcl_status dcli_layout_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out);

/** Find out whether the map's rule gives a node one region without strides; if so, it is *region_out. Then a query of
 *  this node gives the region cut by the query, or nothing. A "no" may be wrong. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_one_region(const dcli_layout *layout, int node, bool *one_out, dcli_region *region_out);

/** Find the first element of a box, in row-major order, that is not stored. @param box  in the grid. @param found_out
 *  false: all are stored. @return DCL_OK or DCL_ERR_NOMEM. Cost: as finding the box's regions on all nodes; several
 *  times that if an element is found. */
dcl_status dcli_layout_first_hole(const dcli_layout *layout, const dcl_box *box, bool *found_out, int64_t index_out[]);

/** A growing set of node numbers, or of other small numbers, ascending. Start with {0}; free with
 *  dcli_node_list_free(). */
typedef struct dcli_node_list {
    int *node; /* [count] */
    int64_t count, capacity;
} dcli_node_list;

/** Add a node; nothing changes if it is listed already. Cost: O(log count), and moving the larger numbers. @return
 *  DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_node_list_add(dcli_node_list *list, int node);
/** Add the nodes of another list except one. Cost: O(count of both), or that of adding each. @param except  -1: none.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_node_list_add_all(dcli_node_list *list, const dcli_node_list *more, int except);
/** Remove the entry at an index. */
void dcli_node_list_take(dcli_node_list *list, int64_t index);
/** Remove a node, if it is listed. */
void dcli_node_list_drop(dcli_node_list *list, int node);
/** Whether a node is listed. Cost: O(log count). */
bool dcli_node_list_has(const dcli_node_list *list, int node);
void dcli_node_list_free(dcli_node_list *list);

/** Find the nodes that own elements of `query`; they replace the contents of the list. @return DCL_OK or DCL_ERR_NOMEM.
 *  Cost: per-axis maps: the number of owners, or of runs on irregular axes; maps of boxes: of boxes that the query
 *  meets; dealt maps: of pieces that it meets, and not more than a multiple of the number of nodes. Owners that are
 *  not found in ascending order are sorted. */
dcl_status dcli_layout_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *owners_out);

/** Whether no box of a node's elements has a stride along axis d, however the elements are grouped into boxes. A "no"
 *  may be wrong, a "yes" never is. */
bool dcli_layout_is_dense(const dcli_layout *layout, int d);

/** Number of tiles of a node. Tiles are boxes of the local array for per-axis maps. For dealt maps they are boxes of a
 *  slot if a tile is smaller than a piece, else runs of whole slots. For maps of boxes they are boxes of a listed box,
 *  or several small listed boxes. Together they have all elements that the node owns, and no others; a tile may be
 *  empty, in a slot whose piece is cut. */
int64_t dcli_layout_tile_count(const dcli_layout *layout, int node);
/** Append the regions of tiles first .. first + count - 1 of a node, which must exist; they are merged across tiles if
 *  the map allows. All tiles of a node give the same regions as dcli_layout_regions(NULL). @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_layout_tiles(const dcli_layout *layout, int node, int64_t first, int64_t count, dcli_region_list *out);
/** Visit tiles as dcl_map_tiles() does. @param view  NULL, or a view of the array: only its elements are visited, and
 *  boxes have its indices. @param node  of the cluster, or DCL_ALL_NODES. */
dcl_status dcli_layout_visit_tiles(const dcli_layout *layout, const dcli_transform *view, int node, dcl_tile_fn *visit,
                                   void *user);

/** Make a copy of a layout whose blocks are whole segments. @param inner  receives a layout that the copy points to,
 *  for strided maps. The copy also points into `layout`; there is nothing to release. */
dcli_layout dcli_layout_uncut(const dcli_layout *layout, dcli_layout *inner);

/** A set of block numbers, for counting: start with {0}. Blocks are cut from segments and never cross their edges. A
 *  segment of a per-axis map is a run of each axis, where adjacent runs of one coordinate are one run; of a dealt map
 *  it is a piece. */
typedef struct dcli_block_set {
    int64_t *slots; /* hash table with open addressing: numbers + 1; 0: free */
    int64_t count, capacity;
} dcli_block_set;
void dcli_block_set_free(dcli_block_set *set);
/** Remove all numbers. The memory is kept for others, unless there is room for more than `most`. */
void dcli_block_set_clear(dcli_block_set *set, int64_t most);

/** Add the blocks that contain elements of `box`, all of which `node` owns.
 *  @param extra_in_out  increased by the number of blocks of one element. These are not stored in the set but counted,
 *                       because boxes that are added to one set are disjoint.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_blocks(const dcli_layout *layout, int node, const dcl_box *box, dcli_block_set *set,
                              int64_t *extra_in_out);

/** Make a map of a rule. @param rule  checked here, copied, and still the caller's: the map holds references of its
 *  own. @return the map, or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_map *dcli_map_new(dcl_cluster *cluster, const dcli_map_rule *rule);
/** The map of a map's rule without its fill value, for an array of another type, which may not have that value. */
dcl_map *dcli_map_new_unfilled(const dcl_map *map);
/** dcl_map_block() for calls of the library: messages name the function that the program has called. */
dcl_map *dcli_map_new_block(dcl_cluster *cluster);
/** A map for matrices whose rows are divided in blocks: with as many rows as nodes, each has one. */
dcl_map *dcli_map_new_rows(dcl_cluster *cluster);
/** Bind a map to a grid, both given by the program, after checking the grid. @return as dcli_layout_bind(). */
dcl_status dcli_map_bind(const dcl_map *map, const dcl_grid *grid, dcli_layout *layout_out);
/** As dcli_map_bind(), for a query about a node: also checks the node's number, and that the caller gave an output.
 *  @param out  whether the caller gave an output. @param what  text for the error if not: the parameter's name, and
 *              what was expected. */
dcl_status dcli_map_bind_node(const dcl_map *map, const dcl_grid *grid, int node, bool out, const char *what,
                              dcli_layout *layout_out);
/** Check that an index is inside the grid. @return DCL_OK, DCL_ERR_RANGE. */
dcl_status dcli_map_check_index(const dcl_grid *grid, const int64_t index[]);
typedef dcl_status dcli_locate_fn(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                  int64_t *offset_out);
/** As dcl_map_locate(), with a map's handle, but without pinning it (base/handle.h), which would take longer than
 *  finding an element. @param otherwise  called instead, and its status returned, if the map has not cached a layout of
 *  this grid, and for errors; it pins the handle. */
dcl_status dcli_map_locate_seen(const dcl_map *handle, const dcl_grid *grid, const int64_t index[], int *node_out,
                                int64_t *offset_out, dcli_locate_fn *otherwise);

/** The functions that maps call to query their cluster. A dcl_cluster begins with this struct, which the room runtime
 *  fills: so resmap needs no other member, and no function of that room by name. */
typedef struct dcli_map_host {
    /** The settings; a cluster that only plans has them, too. */
    const dcl_config *(*config)(const dcl_cluster *cluster);
    /** The number of nodes, as dcl_node_count() returns it. */
    int (*node_count)(const dcl_cluster *cluster);
    /** The nodes that new maps use: those alive, as ascending ranges with gaps between them. None if all are lost.
     *  @param ranges  [capacity] receives the first ranges. @return how many there are, possibly more than
     *                 `capacity`. */
    int (*live)(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[]);
} dcli_map_host;

static inline const dcli_map_host *dcli_map_host_of(const dcl_cluster *cluster)
{
    return (const dcli_map_host *)cluster;
}

#endif
