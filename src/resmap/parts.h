/* resmap/parts.h - functions that the files of this room share, among them those of each family of maps. In them
 * indices count from the grid's origin, and a "node" is a place in the map's list of nodes; layout.c and tiles.c
 * translate. Pure functions. */
#ifndef DCLI_RESMAP_PARTS_H
#define DCLI_RESMAP_PARTS_H

#include "resmap/layout.h"
#include "segment/wide.h"

/* Grains if neither the map nor the configuration sets any. */
#define DCLI_TILE_BYTES (INT64_C(16) << 20)
#define DCLI_BLOCK_BYTES (INT64_C(4) << 20)

enum {
    DCLI_MOST_MAP_NODES = 1000000, /* of a map, which may be only planned with; a session has fewer: net/message.h */
    DCLI_MOST_POINTS = 1 << 20     /* most split points or shares of an axis; every process stores them */
};
enum { DCLI_MOST_BOXES = 1 << 17 };
/* Most pieces of a map whose owners are listed. */
#define DCLI_MOST_PIECES (INT64_C(1) << 28)

/* Largest extent of a grid. Twice an extent, and the sum of an extent and a run, must fit int64_t. Real grids are far
 * smaller. */
#define DCLI_MOST_EXTENT (INT64_C(1) << 61)

/* ---- map.c: what every constructor begins with */

/** Begin the rule of a new map of a cluster: set the nodes that are alive now, and the sizes of grains. @return DCL_OK;
 *  DCL_ERR_NODE_LOST: no node is alive; DCL_ERR_INVALID: too many ranges of nodes. */
dcl_status dcli_map_rule_for(const dcl_cluster *cluster, dcli_map_rule *rule_out);
dcl_status dcli_map_check_rank(int rank);

/* ---- nodes.c: the list of nodes */

dcl_status dcli_nodes_check(const dcli_map_rule *rule);
/** Whether place k is the same node in both rules, for all k. */
bool dcli_nodes_equal(const dcli_map_rule *a, const dcli_map_rule *b);
/** The largest node number + 1. */
int dcli_nodes_end(const dcli_map_rule *rule);
/** Replace the places in an ascending list by their nodes, again in ascending order: entry n need not be the node of
 *  place n. */
void dcli_nodes_convert(const dcli_map_rule *rule, dcli_node_list *list);
/** Append a place to an unsorted list that may contain a place several times; dcli_places_sort() sorts it at the end.
 *  Whenever the list is full, it is sorted and its duplicates are removed, so that its length stays in proportion to
 *  the number of places. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_places_append(dcli_node_list *list, int place);
/** Sort a list, and remove duplicates. */
void dcli_places_sort(dcli_node_list *list);

/** Number of elements that fit into `bytes` (0: `standard`), at least 1. */
int64_t dcli_grain_elements(const dcli_layout *layout, int64_t bytes, int64_t standard);
/** Choose a grain of at most `most` elements, in elements per axis: the whole extents, cut along the slowest axes
 *  first, into sizes as even as possible. */
void dcli_default_grain(int rank, const int64_t extent[], int64_t most, int64_t grain_out[]);

/** Intended number of elements of a tile. */
int64_t dcli_tile_elements(const dcli_layout *layout);
/** Dealt maps: how many slots a tile has; 0: a tile is smaller than a slot. */
int64_t dcli_tile_slots(const dcli_layout *layout);

/** Sort the numbers 0 .. count - 1 by the place of each, keeping their order; those with place -1 are left out.
 *  @param from  [places + 1] in: 0 at [0], and at [p + 1] how many numbers have place p; out: at [p] the index in `of`
 *               at which those of place p begin. @param of  receives the sorted numbers. */
void dcli_sort_by_place(int64_t count, int places, const int64_t place[], int64_t from[], int64_t of[]);

/* ---- ranges.c: numbers and boxes */

/** A mixed-radix numbering of positions p in a grid of pieces or tiles: number = sum of p[d] * weight[d], 0 <= p[d] <
 *  count[d]; order[] lists the axes by descending weight, the last of which is 1. */
typedef struct dcli_numbering {
    int rank;
    const int *order; /* the axes from the slowest to the fastest; NULL: 0, 1, ... */
    const int64_t *count, *weight;
} dcli_numbering;

/** Called with a box of positions lo[d] <= p[d] < hi[d]. @return false to end the walk. */
typedef bool dcli_range_fn(void *user, const int64_t lo[], const int64_t hi[]);

/** Visit the positions with numbers first .. last - 1 as at most 2 * rank - 1 boxes, in the order of the numbers.
 *  @return false if `visit` ended the walk. */
bool dcli_range_boxes(const dcli_numbering *numbering, int64_t first, int64_t last, dcli_range_fn *visit, void *user);

/** Find the smallest x >= 0 with (start + a * x) mod m <= width, for 0 <= start, a < m, width >= 0. @return x; -1:
 *  there is none. Cost: O(log m). */
int64_t dcli_first_below(int64_t start, int64_t a, int64_t m, int64_t width);

/* ---- lanes.c: products of axes */

/** A lane: what a node has along one axis, as runs of equal length at equal distances. It has the runs first, first +
 *  step, ..., `count` of them. Run p begins at index base + p * run. Element i of the u-th run of the lane is at offset
 *  u * between + i * within. The last run may be cut at the grid's edge. */
typedef struct dcli_lane {
    int64_t base, run, first, count, step, between, within;
} dcli_lane;

/** A walk over the regions of a node's elements that lie in a query. They are appended to `out`; if that is NULL, the
 *  walk ends at the first one, and only `found` is set. */
typedef struct dcli_walk {
    const dcli_layout *layout;
    dcl_box query; /* not empty, inside the grid, with indices from the origin */
    dcli_region_list *out;
    bool found;
    dcl_status status;
} dcli_walk;

/** Emit the regions of a product of lanes, one per axis, that lie in the query. @param offset  of the first element in
 *  storage. @param order  axes, slowest stored first; NULL: 0, 1, ... @return false: end the walk. */
bool dcli_lanes_emit(dcli_walk *walk, const dcli_lane lane[], int64_t offset, const int order[]);

/** Emit a region, which lies in the query. @return false: end the walk. */
bool dcli_region_emit(dcli_walk *walk, const dcli_region *region);

/** Emit the region of one element, if it is in the query. @param index  from the grid's origin. @return false: end the
 *  walk. */
bool dcli_element_emit(dcli_walk *walk, const int64_t index[], int64_t offset);

/* ---- irregular.c: axes divided by a list */

/** Divide an axis by its points. @param bound_out  receives the table that the division points into; the caller holds a
 *  reference. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_irregular_divide(int64_t extent, const dcl_axis *axis, int nodes, dcli_division *division_out,
                                 dcli_table **bound_out);
/** The number of the run that contains an index. */
static inline int64_t dcli_run_of(const dcli_division *division, int64_t index)
{
    return dcli_last_below(division->begin, division->runs, index);
}
/** The index of a coordinate's element number `local`, in an irregular division. */
int64_t dcli_irregular_index(const dcli_division *division, int64_t coordinate, int64_t local);
/** Whether two irregular divisions are equal. */
bool dcli_irregular_same(const dcli_division *a, const dcli_division *b);

/* ---- axes.c: the per-axis family */

/** Number of indices of an axis that a coordinate owns; 0 if none. */
int64_t dcli_division_extent(const dcli_division *division, int64_t coordinate);
/** The coordinate that owns an index. @param local_out  position of the index among the coordinate's indices. */
int64_t dcli_divide_index(const dcli_division *division, int64_t index, int64_t *local_out);
/** The pitch of rows of `row` elements: the distance of their starts in storage, with padding, in elements. */
int64_t dcli_row_pitch(const dcli_layout *layout, int64_t row);
/** Find a node's coordinates, and the extents of its local array. @return false if it owns nothing. */
bool dcli_axes_local(const dcli_layout *layout, int node, int64_t coordinate_out[], int64_t extent_out[]);
/** The index of a coordinate's element number `local`, in any division. */
int64_t dcli_division_index(const dcli_division *division, int64_t coordinate, int64_t local);
/** The functions of this family for dcli_layout_locate(), ..._storage(), ..._regions() and ..._owners(). */
void dcli_axes_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);
int64_t dcli_axes_storage(const dcli_layout *layout, int node);
void dcli_axes_walk(dcli_walk *walk, int node);
dcl_status dcli_axes_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *places_out);

/* ---- every.c: strided maps, which store every s-th element; an inner layout describes the stored elements */

/** If all steps of a rule are 1, make it a rule that is not strided. */
void dcli_every_settle(dcli_map_rule *rule);
/** dcli_layout_bind() of a rule with `every`, whose rank is the grid's. */
dcl_status dcli_every_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out);
/** dcli_layout_locate() for a strided map. */
void dcli_every_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);
/** Find the stored elements of a box, as a box of the inner layout. @param box  NULL: the whole grid. @return false:
 *  none is stored. */
bool dcli_every_inward(const dcli_layout *layout, const dcl_box *box, dcl_box *inner_out);
/** Convert the regions of a list, from number `first` on, from indices of the inner layout to those of the grid. */
void dcli_every_outward(const dcli_layout *layout, dcli_region_list *list, int64_t first);

/* ---- halo.c: halos and periodic axes */

/** Bring the halo of a rule into one form, as far as its rank is known, so that equal halos compare equal. */
void dcli_halo_settle(dcli_map_rule *rule);
/** Check the overlap of a rule (overlap.c): its lines, and that a map with an overlap divides axes and has no replicas,
 *  halo or steps. @return DCL_OK or DCL_ERR_INVALID. */
dcl_status dcli_overlap_check(const dcli_map_rule *rule);
/** Give a layout whose axes are divided room for the lines of rule.overlap: set `around` and `lead`, unless the first
 *  axis lies on one node. @return DCL_OK, or DCL_ERR_INVALID: another axis than the first is divided, or a node has
 *  several runs of it. */
dcl_status dcli_overlap_bind(dcli_layout *layout);

/** Check the halo of a rule: widths, periodic axes, and that a map with a halo is neither replicated nor strided.
 *  @return DCL_OK or DCL_ERR_INVALID. */
dcl_status dcli_halo_check(const dcli_map_rule *rule);
/** Whether two rules have the same halo and the same periodic axes. */
bool dcli_halo_equal(const dcli_map_rule *a, const dcli_map_rule *b);
/** Set the halo's widths for every axis of the grid. @param rule  has the grid's rank. @return DCL_OK, or
 *  DCL_ERR_INVALID: widths for another rank, larger than a periodic axis, or a periodic axis that the grid does not
 *  have. */
dcl_status dcli_halo_bind(dcli_map_rule *rule, const dcl_grid *grid);

/* ---- fill_value.c: fill values */

/** Write a fill value as one element of a type. @param element_out  receives dcl_type_bytes(type). @return DCL_OK, or
 *  DCL_ERR_INVALID: the type has no such value. */
dcl_status dcli_fill_value_element(double fill_value, dcl_type type, void *element_out);
/** Print the shortest text that dcli_fill_value_parse() parses to the same value, in any locale. */
void dcli_fill_value_print(double fill_value, char text_out[32]);
/** Parse a fill value. @param end_out  the text after the number; `text` if there is none. */
double dcli_fill_value_parse(const char *text, const char **end_out);
/** Whether two fill values are the same; NaN equals NaN, and -0 differs from 0. */
bool dcli_fill_value_equal(double a, double b);

/* ---- scatter.c: the order of hashed pieces */

/** Prepare the permutation of a seed. @param total  number of pieces, at least 1. */
void dcli_scatter_bind(int64_t seed, int64_t total, dcli_scatter *scatter_out);
/** The position of a piece in the permuted order. */
int64_t dcli_scatter_position(const dcli_scatter *scatter, int64_t number);
/** The piece at a position in the permuted order. */
int64_t dcli_scatter_number(const dcli_scatter *scatter, int64_t position);

/* ---- owned.c: pieces with listed owners */

/** Bind a list of owners to a grid: fill layout->owned. @return DCL_OK; DCL_ERR_INVALID: the list is for another number
 *  of pieces, or names a node that the map does not have; DCL_ERR_NOMEM. */
dcl_status dcli_owned_bind(dcli_layout *layout);
/** Find the owner of a piece and its slot there by the list. @return the owner; -1: the piece is not stored. */
int dcli_owned_owner(const dcli_layout *layout, int64_t number, int64_t *slot_out);
/** The number of the piece in a slot of a place. */
int64_t dcli_owned_piece(const dcli_layout *layout, int node, int64_t slot);
/** Find the first run of a place that has slots at or after `slot`. @return its index in `of`. */
int64_t dcli_owned_run_at(const dcli_layout *layout, int node, int64_t slot);

/* ---- dealt.c: the dealt family */

dcli_numbering dcli_piece_numbering(const dcli_layout *layout);
/** Number of slots (stored pieces) of a node. */
int64_t dcli_dealt_slots(const dcli_layout *layout, int node);
/** The number of the piece in a node's slot. */
int64_t dcli_slot_piece(const dcli_layout *layout, int node, int64_t slot);
/** The owner of a piece; -1: it is not stored. @param slot_out  its slot at the owner. */
int dcli_piece_owner(const dcli_layout *layout, int64_t number, int64_t *slot_out);
/** The functions of this family for dcli_layout_locate() and dcli_layout_owned(). */
void dcli_dealt_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);
int64_t dcli_dealt_owned(const dcli_layout *layout, int node);
/** Emit the elements in slots first .. last - 1 of a node that lie in the walk's query. */
void dcli_dealt_walk(dcli_walk *walk, int node, int64_t first, int64_t last);
/** The function of this family for dcli_layout_owners(). */
dcl_status dcli_dealt_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *places_out);

/* ---- boxes.c, boxes_bind.c: the family of listed boxes */

dcl_status dcli_boxes_check(const dcli_map_rule *rule);
/** First half of binding, before the grains are known: offsets and search tree. @return DCL_OK; DCL_ERR_INVALID: a box
 *  is outside the grid, or there is an overlap or a gap, which the error names; DCL_ERR_NOMEM. */
dcl_status dcli_boxes_bind(dcli_layout *layout);
/** Second half of binding: number the blocks and tiles of the boxes. */
void dcli_boxes_number(dcli_layout *layout);
/** The listed box with this number, with indices from the origin. */
dcl_box dcli_boxes_box(const dcli_layout *layout, int64_t number);
/** Called with the number of a listed box. @return false to end the walk. */
typedef bool dcli_listed_fn(void *user, int64_t number);
/** Visit the listed boxes that intersect the bounds of a query; its strides are ignored. @param query  with indices
 *  from the origin. @return false if `visit` ended the walk. */
bool dcli_boxes_meet(const dcli_layout *layout, const dcl_box *query, dcli_listed_fn *visit, void *user);
/** The functions of this family for dcli_layout_locate(), ..._regions() and ..._owners(). */
void dcli_boxes_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out);
void dcli_boxes_walk(dcli_walk *walk, int node);
dcl_status dcli_boxes_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *places_out);
/** Emit the elements of a node's tiles first .. last - 1. */
void dcli_boxes_tiles(dcli_walk *walk, int node, int64_t first, int64_t last);
/** Find the shape of a listed box's tiles, in elements per axis. @return the box's number of tiles. */
int64_t dcli_boxes_tile_shape(const dcli_layout *layout, const dcl_box *box, int64_t shape_out[]);

/** Convert a box to indices from the grid's origin. @param box  NULL: the whole grid. */
dcl_box dcli_from_origin(const dcli_layout *layout, const dcl_box *box);
/** Sort the regions of a list from number `first` on by their offset. */
void dcli_sort_regions(dcli_region_list *list, int64_t first);

/** Find the position of a piece in the grid of pieces from its number. @param by_weight  [rank] layout->weight as
 *  divisors. */
static inline void dcli_piece_position(const dcli_layout *layout, const dcli_divisor by_weight[], int64_t number,
                                       int64_t position_out[])
{
    for (int level = 0; level < layout->grid.rank; level++) {
        int d = layout->order[level];
        position_out[d] = dcli_divided(number, by_weight[d]);
        number -= position_out[d] * layout->weight[d];
    }
}

#endif
