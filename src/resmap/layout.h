/* resmap/layout.h - a map bound to a grid: who owns what and where it lies. Arithmetic only, a plain value. */
#ifndef DCLI_RESMAP_LAYOUT_H
#define DCLI_RESMAP_LAYOUT_H

#include <dcl/grain.h>

#include "base/divisor.h"
#include "resmap/table.h"
#include "segment/region.h"
#include "segment/view.h"

typedef enum dcli_map_kind { DCLI_MAP_AXES, DCLI_MAP_DEALT, DCLI_MAP_BOXES } dcli_map_kind;

/** Neighbouring nodes: first .. first + count - 1. */
typedef struct dcli_node_range {
    int first, count;
} dcli_node_range;

enum { DCLI_NODE_RANGES = 32 }; /* of a map: it stays a plain value, and a node is found in a few steps */

/** What a map is, without handle: goes into messages. All numbers are checked by dcli_map_rule_check().
 *  It lays grids over *places* 0..node_count-1; the list says which nodes of the cluster these are. */
typedef struct dcli_map_rule {
    dcli_map_kind kind;
    int node_count;
    int range_count;                         /* 0: place k is node k */
    dcli_node_range range[DCLI_NODE_RANGES]; /* disjoint, in the order of the places; the counts add up to node_count */
    int rank;                                /* 0: serves every rank */
    int copies;                              /* AXES, undivided: places that hold copies, the first of them the owner;
                                              * 0: no copies */
    /* AXES (with rank 0, axes[0] stands for all axes, or, with points, for the first; nodes[] is left to the balanced
     * arrangement) */
    dcl_axis axes[DCL_MAX_RANK];
    dcli_table *points[DCL_MAX_RANK]; /* axes[d].points lies in it; NULL: there are none. Who keeps a rule holds them */
    int nodes[DCL_MAX_RANK];          /* all 0: balanced arrangement, made when bound to a grid */
    /* DEALT */
    dcl_order order;
    dcl_deal deal;
    int64_t piece[DCL_MAX_RANK]; /* with rank 0: pieces of one element */
    int64_t seed;                /* HASH */
    /* DEALT by table: for runs of pieces how many, and the node. BOXES: per box the node, start[rank], count[rank].
     * Who keeps a rule holds it. */
    dcli_table *list;
    /* grains; 0 = chosen from the sizes below */
    int block_rank, tile_rank;
    int64_t block[DCL_MAX_RANK], tile[DCL_MAX_RANK];
    int64_t tile_bytes, block_bytes; /* aimed at where no grain is given */
    int64_t small_bytes;             /* a grid of fewer bytes lies wholly at place 0; 0: never */
    /* Strided: only indices that are multiples of these, from the origin, are stored, and all of the above is about their
     * grid. 0: every index. Not with BOXES. */
    int every_rank;
    int64_t every[DCL_MAX_RANK];
    double rest; /* what elements that are stored nowhere read as */
    /* Halo: what lies so close to a node's elements is kept there once it was read. 0: nothing is. 1 where `rank` is 0: all
     * axes alike. */
    int halo_rank;
    int64_t halo_low[DCL_MAX_RANK], halo_high[DCL_MAX_RANK];
    unsigned periodic; /* bit d: axis d goes on at its other end, for reads; DCLI_ALL_PERIODIC: all axes */
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
    const int64_t *place; /* [runs] owner; -1: stored nowhere */
    const int64_t *slot;  /* [runs] slot of the first piece there */
    const int64_t *from;  /* [node_count + 1] where a place's runs begin in `of` */
    const int64_t *of;    /* run numbers, place by place, rising */
    const int64_t *slots; /* [node_count] slots of a place */
} dcli_owner_runs;

/** BOXES: where they lie, and a balanced tree over them. The tree is a list of all boxes; the node of the part from first
 *  to end - 1 is at the middle, first + (end - first) / 2, between its children's parts. */
typedef struct dcli_boxes {
    int64_t count;
    const int64_t *box;    /* [count][2 * rank] start (from the grid's origin), count */
    const int64_t *place;  /* [count] owner */
    const int64_t *offset; /* [count] of the first element in the owner's storage */
    const int64_t *blocks; /* [count] blocks of the boxes before */
    const int64_t *tile;   /* [count] number of its first tile at its owner */
    const int64_t *from;   /* [node_count + 1] where a place's boxes begin in `of` */
    const int64_t *of;     /* [count] box numbers, place by place, in the order of the list */
    const int64_t *total;  /* [node_count] elements of a place */
    const int64_t *tiles;  /* [node_count] tiles of a place */
    const int64_t *tree;   /* [count] box numbers */
    const int64_t *bounds; /* [count][2 * rank] of a tree node's part: first index, last index */
} dcli_boxes;

typedef struct dcli_bound_layout dcli_bound_layout;

struct dcl_map {
    int references; /* atomic */
    dcl_cluster *cluster;
    dcli_map_rule rule;
    dcli_bound_layout *bound; /* atomic: layouts of grids that it was asked about, a few */
};

/** One axis of a per-axis layout, in elements from the grid's origin. Run number k lies at coordinate k mod used.
 *  Uneven divisions have one run per coordinate, the first `more` of them one element longer. */
typedef struct dcli_division {
    int64_t run;  /* elements of a run, >= 1 (the last may be cut by the grid) */
    int64_t more; /* 0: all runs alike */
    int64_t even; /* all runs alike: elements of every coordinate in whole rounds, and those of the last round */
    int64_t rest;
    int nodes;                               /* coordinates */
    int used;                                /* coordinates that own something: the first ones */
    dcli_divisor by_run, by_longer, by_used; /* run, run + 1, used */
    /* Irregular divisions: runs of any length, run k at coordinate k mod nodes; `run` is the longest, any coordinate may
     * own nothing. */
    int64_t runs;          /* 0: regular */
    const int64_t *begin;  /* [runs + 1] */
    const int64_t *place;  /* [runs] where it lies among the coordinate's elements */
    const int64_t *length; /* [nodes] elements of a coordinate */
} dcli_division;

/** A rule bound to a grid. Whoever keeps one holds its tables: dcli_layout_bind() gives a hold, copies borrow it. Fields
 *  are for resmap only but `grid`, `rule`, `node_count`, `node_end`, `partial` and `rest`. The rule that was filled in
 *  binds to the same grid again with the same result.
 *  The functions below take and give node numbers of the cluster; a node outside the list owns nothing. */
typedef struct dcli_layout {
    dcl_grid grid;
    dcli_map_rule rule;                   /* rank, nodes, piece, block and tile filled in and clamped to the grid */
    int node_count;                       /* places */
    int node_end;                         /* the largest node number + 1 */
    int64_t bytes;                        /* of an element */
    int64_t line;                         /* elements of DCLI_LINE bytes */
    dcli_map_kind kind;                   /* how it is stored: a small grid lies per axis, undivided, at place 0 */
    bool empty;                           /* some extent is 0: nothing below is filled in */
    dcli_division division[DCL_MAX_RANK]; /* AXES */
    dcli_table *bound[DCL_MAX_RANK];      /* what irregular divisions (by axis), owner runs and boxes (0) point into */
    int64_t pieces[DCL_MAX_RANK];         /* DEALT: pieces along each axis */
    int64_t weight[DCL_MAX_RANK];         /* DEALT: number of piece p = sum of p[d] * weight[d] */
    int64_t within[DCL_MAX_RANK];         /* DEALT: step of each axis inside a slot */
    int order[DCL_MAX_RANK];              /* DEALT: axes by falling weight */
    int64_t piece_total;                  /* DEALT: number of pieces */
    dcli_divisor by_piece[DCL_MAX_RANK];  /* DEALT: elements of a piece along each axis */
    dcli_divisor by_node_count;           /* DEALT */
    dcli_division runs;                   /* DEALT in contiguous runs: the piece numbers, divided */
    int64_t slot;                         /* DEALT: elements of a slot */
    dcli_scatter scatter;                 /* DEALT by hash */
    dcli_owner_runs owned;                /* DEALT by table */
    dcli_boxes boxes;                     /* BOXES */
    bool partial;                         /* some elements are stored nowhere */
    uint64_t rest;                        /* one element, in the first bytes: what these read as */
    struct dcli_layout *inner;            /* the grid of every so many-th element, from origin 0; NULL: all of it */
    dcli_divisor by_every[DCL_MAX_RANK];  /* with an inner one: the steps */
} dcli_layout;

struct dcli_bound_layout {
    dcli_layout layout;
    dcli_bound_layout *next;
};

/** Hold the tables of a rule; end such a hold. */
void dcli_map_rule_retain(const dcli_map_rule *rule);
void dcli_map_rule_release(const dcli_map_rule *rule);
/** Give axis d its points, copied. The rule's own hold. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_map_rule_set_points(dcli_map_rule *rule, int d, int64_t count, const int64_t points[]);
/** Give the list of boxes. The rule's own hold. @param boxes  [count] of the rule's rank. */
dcl_status dcli_map_rule_set_boxes(dcli_map_rule *rule, int64_t count, const dcl_box boxes[], const int nodes[]);
/** Give a table of owners: runs of (pieces, node or DCL_NOWHERE), neighbours merged. The rule's own hold. */
dcl_status dcli_map_rule_set_owners(dcli_map_rule *rule, int64_t runs, const int64_t pairs[]);
/** Whether an axis is divided by a list of its own. */
static inline bool dcli_has_points(const dcl_axis *axis)
{
    return axis->kind == DCL_AXIS_SPLITS || axis->kind == DCL_AXIS_WEIGHTED;
}

/** @return DCL_OK, or DCL_ERR_INVALID with the field, value and remedy. */
dcl_status dcli_map_rule_check(const dcli_map_rule *rule);
/** Whether both lay every grid in the same way, grains included. Both are checked rules. */
bool dcli_map_rule_equal(const dcli_map_rule *a, const dcli_map_rule *b);

/** Append nodes to a rule's list, none of which is in it, and which has begun with node_count and range_count 0.
 *  node_count grows with it. @return DCL_OK, or DCL_ERR_INVALID: more than DCLI_NODE_RANGES ranges. */
dcl_status dcli_map_rule_add_nodes(dcli_map_rule *rule, int first, int count);
enum { DCLI_NODES_TEXT = 200 };
/** The nodes for a sentence, "0-1,3": many ranges end in dots. @return text_out. */
const char *dcli_map_rule_print_nodes(const dcli_map_rule *rule, char *text_out, size_t capacity);
/** Whether the list takes nodes first, first + 1, ... without having too many ranges. */
bool dcli_map_rule_has_room(const dcli_map_rule *rule, int first);
/** Whether one of these nodes is in the list. */
bool dcli_map_rule_lists(const dcli_map_rule *rule, int first, int count);
/** Drop a complete list that says what is so without: that place k of a cluster of `nodes` nodes is node k. */
void dcli_map_rule_end_nodes(dcli_map_rule *rule, int nodes);
/** The node at a place, 0 <= place < node_count. */
int dcli_map_rule_node(const dcli_map_rule *rule, int place);
/** The place of a node; -1: it is not in the list. Any number is accepted. */
int dcli_map_rule_place(const dcli_map_rule *rule, int node);

/** Spread nodes over the axes that are divided as evenly as can be, more nodes on earlier axes: the largest number as
 *  small as possible, then the next, ... Axes that are not divided get 1, weighted ones as many as they have shares (the
 *  product of these divides node_count). At least one is divided, or node_count is 1.
 *  Source: MPI-4.0, section 8.5.2, MPI_Dims_create. */
void dcli_map_arrange(int node_count, int rank, const dcl_axis axes[], int nodes_out[]);

/** Bind a checked rule to a checked grid.
 *  @param layout_out  its tables are held for you: dcli_layout_release().
 *  @return DCL_OK; DCL_ERR_INVALID: another rank, block(n) too small, ...; DCL_ERR_NOMEM. */
dcl_status dcli_layout_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out);
/** End the hold of a bound layout. One of zeros is accepted. */
void dcli_layout_release(const dcli_layout *layout);
/** Whether two layouts place every element alike (same grid extents and origin, same placement; types and grains may
 *  differ). */
bool dcli_layout_same(const dcli_layout *a, const dcli_layout *b);

/** Elements of a node that follow each other in a file of the whole grid, on average at least: what is cut by an edge counts
 *  as whole. @param fortran_order  first axis fastest in the file. */
int64_t dcli_layout_run(const dcli_layout *layout, bool fortran_order);

/** The layout of a grid of another shape and as many elements, of the same type, in which element n in row-major order lies
 *  where element n of this one does: on the same node, at the same offset.
 *  @param layout_out  as of dcli_layout_bind().
 *  @return DCL_OK; DCL_ERR_INVALID (the grid, another number of elements); DCL_ERR_UNSUPPORTED: some element would have to
 *          move, and which and why; DCL_ERR_NOMEM. */
dcl_status dcli_layout_reshape(const dcli_layout *layout, const dcl_grid *grid, dcli_layout *layout_out);

/** As dcli_map_rule_node(), dcli_map_rule_place(). */
static inline int dcli_layout_node(const dcli_layout *layout, int place)
{
    return layout->rule.range_count == 0 ? place : dcli_map_rule_node(&layout->rule, place);
}

static inline int dcli_layout_place(const dcli_layout *layout, int node)
{
    return dcli_map_rule_place(&layout->rule, node);
}

/** Whether a node holds copies of what it has read: the map says so. */
static inline bool dcli_layout_holds(const dcli_layout *layout, int node)
{
    int place = layout->rule.copies > 0 ? dcli_layout_place(layout, node) : -1;
    return place >= 0 && place < layout->rule.copies;
}

/** Whether an axis goes on at its other end, for reads. */
static inline bool dcli_layout_wraps(const dcli_layout *layout, int d)
{
    return !layout->empty && (layout->rule.periodic >> d & 1) != 0;
}

/** Whether a box lies in the halo of a node: each of its elements is one of the node's, or within the halo's widths of one. On
 *  axes that are periodic its indices may go beyond the grid.
 *  @param scratch  emptied and filled anew. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_near(const dcli_layout *layout, int node, const dcl_box *box, dcli_region_list *scratch,
                            bool *near_out);

/** Owner and offset of an element inside the grid; both -1: it is stored nowhere. O(rank), and up to DCLI_NODE_RANGES
 *  steps where there is a list. */
void dcli_layout_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);

/** Elements node `node` stores, padding and cut slots included. */
int64_t dcli_layout_storage(const dcli_layout *layout, int node);
/** Elements node `node` owns. */
int64_t dcli_layout_owned(const dcli_layout *layout, int node);

/** Append the regions of what `node` owns of `query` (NULL: of the whole grid): disjoint, by rising offset of their first
 *  element, as few as the map allows. Cost: what meets the query is found by division, nothing is scanned.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_layout_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out);

/** Find the first index of a box, last axis fastest, that is stored nowhere. @param box  in the grid.
 *  @return DCL_OK or DCL_ERR_NOMEM. Cost: that of the box's regions on all nodes, a few times where there is one. */
dcl_status dcli_layout_first_hole(const dcli_layout *layout, const dcl_box *box, bool *found_out, int64_t index_out[]);

/** Set nodes_out[n] = true for nodes that own something of `query`, false for others. @param nodes_out [node_end] */
void dcli_layout_owners(const dcli_layout *layout, const dcl_box *query, bool nodes_out[]);

/** Tiles of a node: per axis, boxes of its local array; dealt, sub-boxes of a slot where the tile is smaller than a
 *  piece, else runs of whole slots. Together exactly what the node owns; a tile may be empty where slots are cut. */
int64_t dcli_layout_tile_count(const dcli_layout *layout, int node);
/** Append the regions of tiles first .. first + count - 1 (0 <= first, first + count <= tile count), merged across tiles
 *  where the map allows (all tiles of a node give the same regions as dcli_layout_regions(NULL)). */
dcl_status dcli_layout_tiles(const dcli_layout *layout, int node, int64_t first, int64_t count, dcli_region_list *out);
/** Visit tiles as dcl_map_tiles() does. @param view  boxes are in its indices, those it shows; NULL: all as they are.
 *  @param node  of the cluster, or DCL_ALL_NODES. */
dcl_status dcli_layout_visit_tiles(const dcli_layout *layout, const dcli_transform *view, int node, dcl_tile_fn *visit,
                                   void *user);

/** The layout with segments as blocks. It points into `layout` and `inner`; nothing to release. */
dcli_layout dcli_layout_uncut(const dcli_layout *layout, dcli_layout *inner);

/** Blocks are cut from segments (per axis: one run of each axis, adjacent runs of one coordinate being one; dealt: one
 *  piece), at the segment's edge.
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

/** A handle around a rule. @param rule  checked here. @return the map, or NULL: DCL_ERR_INVALID, DCL_ERR_NOMEM. */
dcl_map *dcli_map_new(dcl_cluster *cluster, const dcli_map_rule *rule);
/** Bind a map to a grid, both as a user gives them. @return DCL_OK, or DCL_ERR_INVALID. */
dcl_status dcli_map_bind(const dcl_map *map, const dcl_grid *grid, dcli_layout *layout_out);
/** The same for a question about a node: with DCL_OK, the cluster has it and there is an `out`.
 *  @param what  of `out`, where it is NULL: its name, and what was expected. */
dcl_status dcli_map_bind_node(const dcl_map *map, const dcl_grid *grid, int node, bool out, const char *what,
                              dcli_layout *layout_out);
/** Whether the grid has such an element. @return DCL_OK, DCL_ERR_RANGE. */
dcl_status dcli_map_check_index(const dcl_grid *grid, const int64_t index[]);
typedef dcl_status dcli_locate_fn(const dcl_map *map, const dcl_grid *grid, const int64_t index[], int *node_out,
                                  int64_t *offset_out);
/** dcl_map_locate() of a map's handle, which is looked at only: programs ask it for single elements, and pinning would take
 *  longer than the answer. @param otherwise  pins it: for grids that the map was not asked about before, and errors. */
dcl_status dcli_map_locate_seen(const dcl_map *handle, const dcl_grid *grid, const int64_t index[], int *node_out,
                                int64_t *offset_out, dcli_locate_fn *otherwise);

/** Everything that maps need of their cluster. The first member of dcl_cluster, filled by the room that defines it:
 *  resmap knows no other member and calls no function of that room by name. */
typedef struct dcli_map_host {
    /** The settings, also of a cluster that only plans. */
    const dcl_config *(*config)(const dcl_cluster *cluster);
    /** As dcl_node_count(). */
    int (*node_count)(const dcl_cluster *cluster);
    /** The nodes that new maps are laid over: those alive, as rising ranges with gaps between them, numbers below
     *  node_count(). None when all are lost.
     *  @param ranges  [capacity] receives the first of them. @return how many there are, maybe more than `capacity`. */
    int (*live)(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[]);
} dcli_map_host;

static inline const dcli_map_host *dcli_map_host_of(const dcl_cluster *cluster)
{
    return (const dcli_map_host *)cluster;
}

#endif
