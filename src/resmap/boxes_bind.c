/* resmap/boxes_bind.c - binds a list of boxes to a grid: the offset of each box in its owner's storage, a search tree,
 * and a check that the boxes cover the grid exactly once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

dcl_status dcli_map_rule_set_boxes(dcli_map_rule *rule, int64_t count, const dcl_box boxes[], const int nodes[])
{
    int rank = rule->rank, length = 1 + 2 * rank;
    dcli_table *table = dcli_table_new(count * length);
    if (table == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t k = 0; k < count; k++) {
        int64_t *record = table->value + k * length;
        record[0] = nodes[k];
        memcpy(record + 1, boxes[k].start, (size_t)rank * sizeof record[0]);
        memcpy(record + 1 + rank, boxes[k].count, (size_t)rank * sizeof record[0]);
    }
    rule->list = table;
    return DCL_OK;
}

dcl_status dcli_boxes_check(const dcli_map_rule *rule)
{
    int rank = rule->rank, length = 1 + 2 * rank;
    char nodes[DCLI_NODES_TEXT];
    int64_t count = rule->list != NULL && rank > 0 ? rule->list->count / length : 0;
    if (count < 1 || count > DCLI_MOST_BOXES)
        return DCLI_FAIL(DCL_ERR_INVALID, "the map lists %" PRId64 " boxes; expected 1..%d", count, DCLI_MOST_BOXES);
    for (int64_t k = 0; k < count; k++) {
        const int64_t *record = rule->list->value + k * length;
        if (dcli_map_rule_place(rule, (int)record[0]) < 0)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "box %" PRId64 " is for node %" PRId64
                             "; expected one of the map's nodes: %s; it has those "
                             "of ;nodes=, else those that are alive",
                             k, record[0], dcli_map_rule_print_nodes(rule, nodes, sizeof nodes));
        for (int d = 0; d < rank; d++) {
            int64_t end;
            if (record[1 + rank + d] < 1 || !dcli_add(record[1 + d], record[1 + rank + d], &end))
                return DCLI_FAIL(DCL_ERR_INVALID,
                                 "box %" PRId64 " has %" PRId64 " elements along axis %d from %" PRId64
                                 "; expected at least 1, inside the grid",
                                 k, record[1 + rank + d], d, record[1 + d]);
        }
    }
    return DCL_OK;
}

/* The tables of a layout of boxes while they are made; see dcli_boxes. They share one allocation. */
struct lists {
    int64_t *box, *place, *offset, *blocks, *tile, *from, *of, *total, *tiles, *tree, *bounds;
};

static dcl_status take_room(dcli_layout *layout, int64_t count, struct lists *lists)
{
    int64_t rank = layout->grid.rank, nodes = layout->node_count;
    dcli_table *bound = dcli_table_new(count * (4 * rank + 6) + 3 * nodes + 1);
    if (bound == NULL)
        return DCL_ERR_NOMEM;
    lists->box = bound->value;
    lists->place = lists->box + 2 * rank * count;
    lists->offset = lists->place + count;
    lists->blocks = lists->offset + count;
    lists->tile = lists->blocks + count;
    lists->from = lists->tile + count;
    lists->of = lists->from + nodes + 1;
    lists->total = lists->of + count;
    lists->tiles = lists->total + nodes;
    lists->tree = lists->tiles + nodes;
    lists->bounds = lists->tree + count;
    layout->bound[0] = bound;
    layout->boxes = (dcli_boxes){.count = count,
                                 .box = lists->box,
                                 .place = lists->place,
                                 .offset = lists->offset,
                                 .blocks = lists->blocks,
                                 .tile = lists->tile,
                                 .from = lists->from,
                                 .of = lists->of,
                                 .total = lists->total,
                                 .tiles = lists->tiles,
                                 .tree = lists->tree,
                                 .bounds = lists->bounds};
    return DCL_OK;
}

static dcl_status check_inside(const dcli_layout *layout, int64_t number, const dcl_box *box)
{
    const dcl_grid *grid = &layout->grid;
    for (int d = 0; d < box->rank; d++) {
        int64_t end = box->start[d] + box->count[d]; /* no overflow: dcli_boxes_check() */
        if (box->start[d] < grid->origin[d] || end > grid->origin[d] + grid->extent[d])
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "box %" PRId64 " of the map has the indices %" PRId64 "..%" PRId64 " of axis %d; the grid "
                             "has %" PRId64 "..%" PRId64 "; expected boxes inside it",
                             number, box->start[d], box->start[d] + box->count[d] - 1, d, grid->origin[d],
                             grid->origin[d] + grid->extent[d] - 1);
    }
    return DCL_OK;
}

/* Sort the boxes by the place of their owner, in the order of the list, and compute the offset of each in the owner's
 * storage. @return DCL_OK, or DCL_ERR_INVALID: a box leaves the grid. */
static dcl_status place_boxes(const dcli_layout *layout, struct lists *lists)
{
    int rank = layout->grid.rank, length = 1 + 2 * rank;
    dcl_status status = DCL_OK;
    for (int64_t k = 0; k < layout->boxes.count && status == DCL_OK; k++) {
        const int64_t *record = layout->rule.list->value + k * length;
        dcl_box box = {.rank = rank};
        for (int d = 0; d < rank; d++) {
            box.start[d] = record[1 + d];
            box.count[d] = record[1 + rank + d];
            box.stride[d] = 1;
            lists->box[2 * rank * k + d] = box.start[d] - layout->grid.origin[d];
            lists->box[2 * rank * k + rank + d] = box.count[d];
        }
        status = check_inside(layout, k, &box);
        if (status != DCL_OK)
            break;
        int64_t place = lists->place[k] = dcli_layout_place(layout, (int)record[0]);
        lists->offset[k] = lists->total[place];
        lists->total[place] += dcli_box_elements(&box);
        lists->from[place + 1]++;
    }
    if (status == DCL_OK)
        dcli_sort_by_place(layout->boxes.count, layout->node_count, lists->place, lists->from, lists->of);
    return status;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

struct order {
    const int64_t *box;
    int rank, axis;
};

/* Order boxes by their middle along one axis; equal ones by the other axes, so that the halves of a layer are compact. */
static int by_middle(const void *a, const void *b, void *user)
{
    const struct order *order = user;
    int rank = order->rank;
    const int64_t *x = order->box + 2 * rank * *(const int64_t *)a, *y = order->box + 2 * rank * *(const int64_t *)b;
    for (int k = 0; k < rank; k++) {
        int d = (order->axis + k) % rank;
        int64_t p = 2 * x[d] + x[rank + d], q = 2 * y[d] + y[rank + d];
        if (p != q)
            return p > q ? 1 : -1;
    }
    return 0;
}

static void bound_part(const struct lists *lists, int rank, int64_t first, int64_t end, int64_t bounds[])
{
    for (int d = 0; d < rank; d++) {
        bounds[d] = INT64_MAX;
        bounds[rank + d] = 0;
    }
    for (int64_t k = first; k < end; k++) {
        const int64_t *box = lists->box + 2 * rank * lists->tree[k];
        for (int d = 0; d < rank; d++) {
            bounds[d] = dcli_min(bounds[d], box[d]);
            bounds[rank + d] = dcli_max(bounds[rank + d], box[d] + box[rank + d] - 1);
        }
    }
}

/* Build the subtree of the boxes first .. end - 1 of `tree`: sort them along the longest axis of their bounds, take the
 * middle one as root, and build the halves. */
static void grow_tree(const struct lists *lists, int rank, int64_t first, int64_t end)
{
    if (first >= end)
        return;
    int64_t middle = first + (end - first) / 2, *bounds = lists->bounds + 2 * rank * middle;
    struct order order = {.box = lists->box, .rank = rank};
    bound_part(lists, rank, first, end, bounds);
    for (int d = 1; d < rank; d++)
        if (bounds[rank + d] - bounds[d] > bounds[rank + order.axis] - bounds[order.axis])
            order.axis = d;
    qsort_r(lists->tree + first, (size_t)(end - first), sizeof lists->tree[0], by_middle, &order);
    grow_tree(lists, rank, first, middle);
    grow_tree(lists, rank, middle + 1, end);
}

/* ---- the proof ---------------------------------------------------------------------------------------------------- */

struct overlap {
    const dcli_layout *layout;
    int64_t number, other;
    dcl_box box, common;
};

static bool find_overlap(void *user, int64_t number)
{
    struct overlap *overlap = user;
    if (number == overlap->number)
        return true;
    dcl_box other = dcli_boxes_box(overlap->layout, number);
    if (!dcli_box_intersect(&overlap->box, &other, &overlap->common))
        return true;
    overlap->other = number;
    return false;
}

static void print_index(const dcli_layout *layout, const int64_t from_origin[], char text[], size_t capacity)
{
    size_t length = 0;
    for (int d = 0; d < layout->grid.rank; d++)
        length += (size_t)snprintf(text + length, capacity - length, "%s%" PRId64, d > 0 ? "," : "",
                                   from_origin[d] + layout->grid.origin[d]);
}

static bool note_first(void *user, int64_t number)
{
    *(int64_t *)user = number;
    return false;
}

/* Find the first index, in row-major order from axis d on, that no box covers. The search steps from box to box. For an outer
 * axis e, end[e] is the least end of the boxes met so far: up to there the same boxes cover the inner axes. */
static bool find_gap(const dcli_layout *layout, int d, int64_t index[], int64_t end[])
{
    int rank = layout->grid.rank;
    for (index[d] = 0; index[d] < layout->grid.extent[d]; index[d] = end[d]) {
        end[d] = layout->grid.extent[d];
        if (d < rank - 1) {
            if (find_gap(layout, d + 1, index, end))
                return true;
            continue;
        }
        static const int64_t one[DCL_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        dcl_box element = dcl_box_nd(rank, index, one);
        int64_t number = -1;
        if (dcli_boxes_meet(layout, &element, note_first, &number))
            return true;
        dcl_box box = dcli_boxes_box(layout, number);
        for (int e = 0; e <= d; e++)
            end[e] = dcli_min(end[e], box.start[e] + box.count[e]);
    }
    return false;
}

static dcl_status fail_gap(const dcli_layout *layout)
{
    int64_t index[DCL_MAX_RANK] = {0}, end[DCL_MAX_RANK];
    memcpy(end, layout->grid.extent, sizeof end);
    find_gap(layout, 0, index, end); /* there must be a gap, because the boxes have fewer elements than the grid */
    char text[DCL_MAX_RANK * 21 + 1];
    print_index(layout, index, text, sizeof text);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "no box of the map has index (%s) of the grid; expected boxes that cover it exactly once", text);
}

static dcl_status prove_cover(const dcli_layout *layout)
{
    int64_t elements = 0;
    for (int64_t k = 0; k < layout->boxes.count; k++) {
        struct overlap overlap = {.layout = layout, .number = k, .other = -1, .box = dcli_boxes_box(layout, k)};
        if (!dcli_boxes_meet(layout, &overlap.box, find_overlap, &overlap)) {
            char text[DCL_MAX_RANK * 21 + 1];
            print_index(layout, overlap.common.start, text, sizeof text);
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "boxes %" PRId64 " and %" PRId64 " of the map both have index (%s); expected boxes that "
                             "cover the grid exactly once",
                             dcli_min(k, overlap.other), dcli_max(k, overlap.other), text);
        }
        elements += dcli_box_elements(&overlap.box);
    }
    return elements == dcl_grid_count(&layout->grid) ? DCL_OK : fail_gap(layout);
}

dcl_status dcli_boxes_bind(dcli_layout *layout)
{
    int rank = layout->grid.rank;
    struct lists lists;
    dcl_status status = take_room(layout, layout->rule.list->count / (1 + 2 * rank), &lists);
    if (status == DCL_OK)
        status = place_boxes(layout, &lists);
    if (status != DCL_OK)
        return status;
    for (int64_t k = 0; k < layout->boxes.count; k++)
        lists.tree[k] = k;
    grow_tree(&lists, rank, 0, layout->boxes.count);
    return prove_cover(layout);
}

/* ---- grains ------------------------------------------------------------------------------------------------------- */

static int64_t blocks_of(const dcli_layout *layout, const dcl_box *box)
{
    int64_t blocks = 1;
    for (int d = 0; d < box->rank; d++)
        blocks *= dcli_ceil_div(box->count[d], layout->rule.block[d]);
    return blocks;
}

/* Number the blocks of all boxes, and the tiles of each place. Consecutive boxes of a place that are smaller than a
 * tile share one. */
void dcli_boxes_number(dcli_layout *layout)
{
    const dcli_boxes *boxes = &layout->boxes;
    int64_t *tile = (int64_t *)boxes->tile, *tiles = (int64_t *)boxes->tiles, *blocks = (int64_t *)boxes->blocks;
    int64_t most = dcli_tile_elements(layout), before = 0;
    for (int64_t k = 0; k < boxes->count; k++) {
        dcl_box box = dcli_boxes_box(layout, k);
        blocks[k] = before;
        before += blocks_of(layout, &box);
    }
    for (int place = 0; place < layout->node_count; place++) {
        int64_t next = 0, shared = 0; /* number of the next tile; elements of the tile before, if small boxes can
                                         still join it */
        for (int64_t j = boxes->from[place]; j < boxes->from[place + 1]; j++) {
            int64_t number = boxes->of[j], shape[DCL_MAX_RANK];
            dcl_box box = dcli_boxes_box(layout, number);
            int64_t elements = dcli_box_elements(&box), count = dcli_boxes_tile_shape(layout, &box, shape);
            bool joins = count == 1 && shared > 0 && shared + elements <= most;
            tile[number] = joins ? next - 1 : next;
            next += joins ? 0 : count;
            shared = count > 1 ? 0 : joins ? shared + elements : elements;
        }
        tiles[place] = next;
    }
}
