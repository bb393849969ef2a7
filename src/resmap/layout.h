/* resmap/layout.h - a map bound to a grid: owner and location of each element. Arithmetic only, a plain value. */
#ifndef DCLI_RESMAP_LAYOUT_H
#define DCLI_RESMAP_LAYOUT_H

#include <dcl/grain.h>

#include "base/divisor.h"
#include "resmap/table.h"
#include "segment/region.h"
#include "segment/view.h"

typedef enum dcli_map_kind { DCLI_MAP_AXES, DCLI_MAP_DEALT, DCLI_MAP_BOXES } dcli_map_kind;

/** A range of consecutive nodes: first .. first + count - 1. */
typedef struct dcli_node_range {
    int first, count;
} dcli_node_range;

enum {
    DCLI_NODE_RANGES = 32
}; /* most ranges of a map: so it stays a plain value, and a node is found in a few
                                   steps */

/** A map as a plain value, for messages. dcli_map_rule_check() checks all numbers. It lays grids over *places*
 *  0..node_count-1; the list says which nodes of the cluster these are. */
typedef struct dcli_map_rule {
    dcli_map_kind kind;
    int node_count;
    int range_count;                         /* 0: place k is node k */
    dcli_node_range range[DCLI_NODE_RANGES]; /* disjoint, in the order of the places; the counts add up to node_count */
    int rank;                                /* 0: serves every rank */
    int copies;                              /* AXES, undivided: number of places that retain replicas, the first of
                                                them the owner; 0: no replicas */
    /* AXES (with rank 0, axes[0] stands for all axes, or, with points, for the first; nodes[] is left to the balanced
     * arrangement) */
    dcl_axis axes[DCL_MAX_RANK];
    dcli_table *points[DCL_MAX_RANK]; /* contains axes[d].points; NULL: there are none. An owner of a rule holds a
                                         reference */
    int nodes[DCL_MAX_RANK];          /* all 0: balanced arrangement, made when bound to a grid */
    /* DEALT */
    dcl_order order;
    dcl_deal deal;
    int64_t piece[DCL_MAX_RANK]; /* with rank 0: pieces of one element */
    int64_t seed;                /* HASH */
    /* DEALT by table: for each run of pieces its length and node. BOXES: per box the node, start[rank], count[rank]. An
     * owner of a rule holds a reference. */
    dcli_table *list;
    /* grains; 0 = chosen from the sizes below */
    int block_rank, tile_rank;
    int64_t block[DCL_MAX_RANK], tile[DCL_MAX_RANK];
    int64_t tile_bytes, block_bytes; /* intended sizes if no grain is given */
    int64_t small_bytes;             /* a grid with fewer bytes is stored completely at place 0; 0: never */
    /* Strided: only indices that are multiples of these, from the origin, are stored, and all of the above refers to
     * their grid. 0: every index. Not with BOXES. */
    int every_rank;
    int64_t every[DCL_MAX_RANK];
    double rest; /* the value that elements which are not stored are read as */
    /* Halo: after a read, a node retains replicas of elements at most this far from its own. 0: no halo. 1 with `rank`
     * 0: the same width for all axes. */
    int halo_rank;
    int64_t halo_low[DCL_MAX_RANK], halo_high[DCL_MAX_RANK];
    unsigned periodic; /* bit d: axis d is periodic for reads; DCLI_ALL_PERIODIC: all axes */
} dcli_map_rule;

#define DCLI_ALL_PERIODIC ((1U << DCL_MAX_RANK) - 1)

/** HASH: the permutation of piece numbers. */
typedef struct dcli_scatter {
    int64_t total, high, low;
    dcli_divisor by_low;
    uint64_t key[4];
} dcli_scatter;

/** TABLE: runs of consecutive pieces with one owner. */
typedef struct dcli_owner_runs {
    int64_t runs;
    const int64_t *first; /* [runs + 1] piece number */
    const int64_t *place; /* [runs] owner; -1: not stored */
    const int64_t *slot;  /* [runs] slot of the run's first piece */
    const int64_t *from;  /* [node_count + 1] start of a place's runs in `of` */
    const int64_t *of;    /* run numbers, place by place, ascending */
    const int64_t *slots; /* [node_count] number of slots of a place */
} dcli_owner_runs;

/** BOXES: their positions, with a balanced tree over them. The tree is implicit in the list: the root of the range
 *  first .. end - 1 is at its middle, first + (end - first) / 2, between its children's ranges. */
typedef struct dcli_boxes {
    int64_t count;
    const int64_t *box;    /* [count][2 * rank] start (from the grid's origin), count */
    const int64_t *place;  /* [count] owner */
    const int64_t *offset; /* [count] offset of the box's first element in the owner's storage */
    const int64_t *blocks; /* [count] number of blocks of the boxes before */
    const int64_t *tile;   /* [count] number of the box's first tile at its owner */
    const int64_t *from;   /* [node_count + 1] start of a place's boxes in `of` */
    const int64_t *of;     /* [count] box numbers, place by place, in the order of the list */
    const int64_t *total;  /* [node_count] number of elements of a place */
    const int64_t *tiles;  /* [node_count] number of tiles of a place */
    const int64_t *tree;   /* [count] box numbers */
    const int64_t *bounds; /* [count][2 * rank] bounds of a tree node's range: first index, last index */
} dcli_boxes;

typedef struct dcli_bound_layout dcli_bound_layout;

struct dcl_map {
    int references; /* atomic */
    dcl_cluster *cluster;
    dcli_map_rule rule;
    dcli_bound_layout *bound; /* atomic: cached layouts of a few grids that it was queried with */
};

/** The division of one axis of a per-axis layout, in elements from the grid's origin. Run k belongs to coordinate k mod
 *  `used`. Uneven divisions have one run per coordinate; the first `more` of them are one element longer. */
typedef struct dcli_division {
    int64_t run;  /* elements of a run, >= 1 (the last may be cut by the grid) */
    int64_t more; /* 0: all runs alike */
    int64_t even; /* all runs alike: elements of every coordinate in complete rounds, and those of the last round */
    int64_t rest;
    int nodes;                               /* coordinates */
    int used;                                /* number of coordinates that own something: the first ones */
    dcli_divisor by_run, by_longer, by_used; /* run, run + 1, used */
    /* Irregular divisions: runs of any length, run k at coordinate k mod nodes; `run` is the longest; any coordinate
     * may own nothing. */
    int64_t runs;          /* 0: regular */
    const int64_t *begin;  /* [runs + 1] */
    const int64_t *place;  /* [runs] position of a run among its coordinate's elements */
    const int64_t *length; /* [nodes] number of elements of a coordinate */
} dcli_division;

/** A rule bound to a grid. It references tables: dcli_layout_bind() returns a reference, copies borrow it. Only resmap
 *  uses the fields, except `grid`, `rule`, `node_count`, `node_end`, `partial` and `rest`. The completed rule binds to
 *  the same grid again with the same result.
 *  The functions below take and return node numbers of the cluster; a node outside the list owns nothing. */
typedef struct dcli_layout {
    dcl_grid grid;
    dcli_map_rule rule;                   /* rank, nodes, piece, block and tile filled in and clamped to the grid */
    int node_count;                       /* places */
    int node_end;                         /* the largest node number + 1 */
    int64_t bytes;                        /* of an element */
    int64_t line;                         /* elements of DCLI_LINE bytes */
    dcli_map_kind kind;                   /* how it is stored: a grid below small_bytes is stored as an undivided
                                             per-axis map, at place 0 */
    bool empty;                           /* some extent is 0: the following fields are not set */
    dcli_division division[DCL_MAX_RANK]; /* AXES */
    dcli_table *bound[DCL_MAX_RANK];      /* tables of irregular divisions (by axis), owner runs and boxes (0) */
    int64_t pieces[DCL_MAX_RANK];         /* DEALT: pieces along each axis */
    int64_t weight[DCL_MAX_RANK];         /* DEALT: number of piece p = sum of p[d] * weight[d] */
    int64_t within[DCL_MAX_RANK];         /* DEALT: step of each axis inside a slot */
    int order[DCL_MAX_RANK];              /* DEALT: axes in descending order of weight */
    int64_t piece_total;                  /* DEALT: number of pieces */
    dcli_divisor by_piece[DCL_MAX_RANK];  /* DEALT: elements of a piece along each axis */
    dcli_divisor by_node_count;           /* DEALT */
    dcli_division runs;                   /* DEALT in contiguous runs: the division of the piece numbers */
    int64_t slot;                         /* DEALT: elements of a slot */
    dcli_scatter scatter;                 /* DEALT by hash */
    dcli_owner_runs owned;                /* DEALT by table */
    dcli_boxes boxes;                     /* BOXES */
    bool partial;                         /* some elements are not stored, because the map is strided or some pieces
                                             have no owner */
    uint64_t rest;                        /* bytes of one element: the fill value */
    struct dcli_layout *inner;            /* strided maps (every.c): the layout of the grid of stored elements, with
                                             origin 0; NULL: not strided */
    dcli_divisor by_every[DCL_MAX_RANK];  /* with `inner`: the steps */
} dcli_layout;

struct dcli_bound_layout {
    dcli_layout layout;
    dcli_bound_layout *next;
};

/** Add, and drop, a reference to the tables of a rule. */
void dcli_map_rule_retain(const dcli_map_rule *rule);
void dcli_map_rule_release(const dcli_map_rule *rule);
/** Set the points of axis d, copied; the rule holds the reference. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_set_points(dcli_map_rule *rule, int d, int64_t count, const int64_t points[]);
/** Set the list of boxes; the rule holds the reference. @param boxes  [count] of the rule's rank. */
dcl_status dcli_map_rule_set_boxes(dcli_map_rule *rule, int64_t count, const dcl_box boxes[], const int nodes[]);
/** Set a table of owners: runs of (pieces, node or DCL_NOWHERE); equal neighbours are merged. The rule holds the
 *  reference. */
dcl_status dcli_map_rule_set_owners(dcli_map_rule *rule, int64_t runs, const int64_t pairs[]);
/** Whether an axis is divided by a list of its own. */
static inline bool dcli_has_points(const dcl_axis *axis)
{
    return axis->kind == DCL_AXIS_SPLITS || axis->kind == DCL_AXIS_WEIGHTED;
}

/** Check a rule. @return DCL_OK, or DCL_ERR_INVALID with the field, value and remedy. */
dcl_status dcli_map_rule_check(const dcli_map_rule *rule);
/** Whether two checked rules lay every grid in the same way, including grains. */
bool dcli_map_rule_equal(const dcli_map_rule *a, const dcli_map_rule *b);

/** Append nodes to a rule's list, which began with node_count and range_count 0; none of them may be in it. Increases
 *  node_count. @return DCL_OK, or DCL_ERR_INVALID: more than DCLI_NODE_RANGES ranges. */
dcl_status dcli_map_rule_add_nodes(dcli_map_rule *rule, int first, int count);
enum { DCLI_NODES_TEXT = 200 };
/** Print the nodes for an error, "0-1,3"; many ranges end in dots. @return text_out. */
const char *dcli_map_rule_print_nodes(const dcli_map_rule *rule, char *text_out, size_t capacity);
/** Whether nodes first, first + 1, ... can be appended without too many ranges. */
bool dcli_map_rule_has_room(const dcli_map_rule *rule, int first);
/** Whether one of these nodes is in the list. */
bool dcli_map_rule_lists(const dcli_map_rule *rule, int first, int count);
/** Drop a complete list if it is the default: place k of a cluster of `nodes` nodes is node k. */
void dcli_map_rule_end_nodes(dcli_map_rule *rule, int nodes);
/** The node at a place, 0 <= place < node_count. */
int dcli_map_rule_node(const dcli_map_rule *rule, int place);
/** The place of a node; -1: it is not in the list. Any number is accepted. */
int dcli_map_rule_place(const dcli_map_rule *rule, int node);

/** Spread nodes over the divided axes as evenly as possible, with more nodes on earlier axes: the largest number is
 *  minimal, then the next, ... Axes that are not divided get 1, weighted ones as many as they have shares (the product
 *  of these divides node_count). At least one axis is divided, or node_count is 1.
 *  Source: MPI-4.0, section 8.5.2, MPI_Dims_create. */
void dcli_map_arrange(int node_count, int rank, const dcl_axis axes[], int nodes_out[]);

/** Bind a checked rule to a checked grid. @param layout_out  holds references: dcli_layout_release(). @return DCL_OK;
 *  DCL_ERR_INVALID: another rank, block(n) too small, ...; DCL_ERR_NOMEM. */
dcl_status dcli_layout_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out);
/** Drop the references of a bound layout. A zeroed one is accepted. */
void dcli_layout_release(const dcli_layout *layout);
/** Whether two layouts place every element at the same location (same extents and origin; types and grains may
 *  differ). */
bool dcli_layout_same(const dcli_layout *a, const dcli_layout *b);

/** Average number of a node's elements that are contiguous in a file of the whole grid, at least; runs cut by an edge
 *  count as whole. @param fortran_order  first axis fastest in the file. */
int64_t dcli_layout_run(const dcli_layout *layout, bool fortran_order);

/** Reshape: the layout of a grid with another shape and as many elements of the same type, in which element n in
 *  row-major order has the same node and offset as element n of this one.
 *  @param layout_out  as of dcli_layout_bind().
 *  @return DCL_OK; DCL_ERR_INVALID (the grid, another number of elements); DCL_ERR_UNSUPPORTED: some element would have
 *          to move, with which and why; DCL_ERR_NOMEM. */
dcl_status dcli_layout_reshape(const dcli_layout *layout, const dcl_grid *grid, dcli_layout *layout_out);

/** dcli_map_rule_node() and dcli_map_rule_place() for a layout. */
static inline int dcli_layout_node(const dcli_layout *layout, int place)
{
    return layout->rule.range_count == 0 ? place : dcli_map_rule_node(&layout->rule, place);
}

static inline int dcli_layout_place(const dcli_layout *layout, int node)
{
    return dcli_map_rule_place(&layout->rule, node);
}

/** Whether the map lets a node retain replicas of what it has read. */
static inline bool dcli_layout_holds(const dcli_layout *layout, int node)
{
    int place = layout->rule.copies > 0 ? dcli_layout_place(layout, node) : -1;
    return place >= 0 && place < layout->rule.copies;
}

/** Whether an axis is periodic for reads. */
static inline bool dcli_layout_wraps(const dcli_layout *layout, int d)
{
    return !layout->empty && (layout->rule.periodic >> d & 1) != 0;
}

/** Whether a box lies in the halo of a node: each of its elements is the node's own, or within the halo's widths of
 *  one. Along periodic axes its indices may extend beyond the grid. @param scratch  overwritten. @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_layout_near(const dcli_layout *layout, int node, const dcl_box *box, dcli_region_list *scratch,
                            bool *near_out);

/** Find owner and offset of an element inside the grid; both -1: it is not stored. O(rank), and up to DCLI_NODE_RANGES
 *  steps if there is a list of nodes. */
void dcli_layout_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);

/** Number of elements that a node's storage holds, including padding and cut slots. */
int64_t dcli_layout_storage(const dcli_layout *layout, int node);
/** Number of elements that a node owns. */
int64_t dcli_layout_owned(const dcli_layout *layout, int node);

/** Append the regions of what `node` owns of `query` (NULL: of the whole grid): disjoint, sorted by the offset of their
 *  first element, as few as the map allows. They are computed by division, nothing is scanned. @return DCL_OK or
 *  DCL_ERR_NOMEM. */
dcl_status dcli_layout_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out);

/** Find the first index of a box, last axis fastest, that is not stored. @param box  in the grid. @return DCL_OK or
 *  DCL_ERR_NOMEM. Cost: that of the box's regions on all nodes, several times if there is one. */
dcl_status dcli_layout_first_hole(const dcli_layout *layout, const dcl_box *box, bool *found_out, int64_t index_out[]);

/** Set nodes_out[n] = true for nodes that own something of `query`, false for others. @param nodes_out [node_end] */
void dcli_layout_owners(const dcli_layout *layout, const dcl_box *query, bool nodes_out[]);

/** Number of tiles of a node. Per axis, tiles are boxes of the local array; dealt, sub-boxes of a slot if the tile is
 *  smaller than a piece, else runs of whole slots. Together they are exactly what the node owns; a tile may be empty if
 *  slots are cut. */
int64_t dcli_layout_tile_count(const dcli_layout *layout, int node);
/** Append the regions of tiles first .. first + count - 1 (0 <= first, first + count <= tile count), merged across
 *  tiles if the map allows (all tiles of a node give the same regions as dcli_layout_regions(NULL)). */
dcl_status dcli_layout_tiles(const dcli_layout *layout, int node, int64_t first, int64_t count, dcli_region_list *out);
/** Visit tiles as dcl_map_tiles() does. @param view  boxes are in its indices, restricted to what it shows; NULL: no
 *  view. @param node  of the cluster, or DCL_ALL_NODES. */
dcl_status dcli_layout_visit_tiles(const dcli_layout *layout, const dcli_transform *view, int node, dcl_tile_fn *visit,
                                   void *user);

/** A copy of the layout whose blocks are whole segments. It points into `layout` and `inner`; nothing to release. */
dcli_layout dcli_layout_uncut(const dcli_layout *layout, dcli_layout *inner);

/** A set of block numbers, for counting: start with {0}. Blocks are cut from segments, at the segment's edge (per axis:
 *  one run of each axis, where adjacent runs of one coordinate are one; dealt: one piece). */
typedef struct dcli_block_set {
    int64_t *slots; /* open addressing, numbers + 1 */
    int64_t count, capacity;
} dcli_block_set;
void dcli_block_set_free(dcli_block_set *set);

/** Add the blocks of `node` that contain elements of `box` (all owned by `node`).
 *  @param extra_in_out  counts blocks of one element, which are not stored in the set: boxes passed with one set are
 *                       disjoint, so they are simply added.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_blocks(const dcli_layout *layout, int node, const dcl_box *box, dcli_block_set *set,
                              int64_t *extra_in_out);

/** Make a map of a rule. @param rule  checked here. @return the map, or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_map *dcli_map_new(dcl_cluster *cluster, const dcli_map_rule *rule);
/** Bind a user's map to a user's grid. @return DCL_OK, or DCL_ERR_INVALID. */
dcl_status dcli_map_bind(const dcl_map *map, const dcl_grid *grid, dcli_layout *layout_out);
/** dcli_map_bind() for a query about a node: also checks the node and that `out` is given. @param what  for the error
 *  if `out` is NULL: its name, and what was expected. */
dcl_status dcli_map_bind_node(const dcl_map *map, const dcl_grid *grid, int node, bool out, const char *what,
                              dcli_layout *layout_out);
/** Check that the grid has such an element. @return DCL_OK, DCL_ERR_RANGE. */
dcl_status dcli_map_check_index(const dcl_grid *grid, const int64_t index[]);
typedef dcl_status dcli_locate_fn(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                  int64_t *offset_out);
/** dcl_map_locate() of a map's handle without pinning it, because pinning would take longer than finding an element.
 *  @param otherwise  the function that pins it: for grids that the map was not queried with before, and for errors. */
dcl_status dcli_map_locate_seen(const dcl_map *handle, const dcl_grid *grid, const int64_t index[], int *node_out,
                                int64_t *offset_out, dcli_locate_fn *otherwise);

/** The functions that maps need of their cluster. It is the first member of dcl_cluster, filled by the room that
 *  defines it: resmap knows no other member and calls no function of that room by name. */
typedef struct dcli_map_host {
    /** The settings, also of a cluster that only plans. */
    const dcl_config *(*config)(const dcl_cluster *cluster);
    /** As dcl_node_count(). */
    int (*node_count)(const dcl_cluster *cluster);
    /** The nodes for new maps: those alive, as ascending ranges with gaps between them, numbers below node_count().
     *  None if all are lost.
     *  @param ranges  [capacity] receives the first of them. @return how many there are, possibly more than
     *                 `capacity`. */
    int (*live)(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[]);
} dcli_map_host;

static inline const dcli_map_host *dcli_map_host_of(const dcl_cluster *cluster)
{
    return (const dcli_map_host *)cluster;
}

#endif
