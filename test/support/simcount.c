/* test/support/simcount.c - count what moves without plans: for every index, every access yields its element, and the
 * element its owner. Sets of nodes are 64-bit words. */
#include "support/simcount.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "support/simprogram.h"

/* What is known about one operand. */
struct touched {
    uint64_t *element; /* nodes that touch the element and do not own it */
    uint64_t *block;
    uint64_t *held; /* nodes that have a replica of it; NULL: none, or they are not used */
    int64_t elements;
};

/* The first index of the segment that contains an index of one axis, by the definition of the rules. */
static int64_t segment_start(const dcli_layout *layout, int d, int64_t index)
{
    const dcli_map_rule *rule = &layout->rule;
    int64_t extent = layout->grid.extent[d], nodes = rule->nodes[d], size = rule->axes[d].size;
    if (layout->kind == DCLI_MAP_DEALT)
        size = rule->piece[d];
    else if (rule->axes[d].kind == DCL_AXIS_WHOLE || nodes == 1)
        size = extent;                                /* a node's runs are adjacent */
    else if (rule->axes[d].kind == DCL_AXIS_SPLITS) { /* as other shapes have */
        int64_t start = 0;
        for (int64_t k = 0; k < rule->axes[d].count && rule->axes[d].points[k] <= index; k++)
            start = rule->axes[d].points[k];
        return start;
    } else if (rule->axes[d].kind == DCL_AXIS_CYCLIC)
        size = dcli_max(size, 1);
    else if (size == 0) { /* equal lengths; the first ones get one more */
        int64_t segment = 0, start = 0;
        for (int64_t length = extent / nodes + (extent % nodes > 0); start + length <= index;
             length = extent / nodes + (segment < extent % nodes)) {
            start += length;
            segment++;
        }
        return start;
    }
    return index / size * size;
}

/* The number of an element's block: that of its first element. Blocks are cut from segments; for a strided map, from
 * segments of what it stores. */
static int64_t block_of(const dcli_layout *whole, const int64_t element[])
{
    const dcli_layout *layout = whole->inner != NULL ? whole->inner : whole;
    int64_t number = 0;
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t every = whole->inner != NULL ? whole->rule.every[d] : 1;
        int64_t index = (element[d] - whole->grid.origin[d]) / every, start = segment_start(layout, d, index);
        int64_t first = start + (index - start) / layout->rule.block[d] * layout->rule.block[d];
        number = number * whole->grid.extent[d] + first * every;
    }
    return number;
}

/* Record an element as touched. @param index  in the grid that the operation sees. */
static void touch(const dcli_operand *operand, const int64_t index[], int by, struct touched *touched)
{
    const dcli_layout *layout = operand->layout;
    int owner;
    int64_t offset, element[DCL_MAX_RANK];
    sim_behind(operand, index, element);
    dcli_layout_locate(layout, element, &owner, &offset);
    if (owner == by || owner < 0)
        return;
    if (touched->held != NULL && (touched->held[sim_number_of(&layout->grid, element)] >> by & 1) != 0)
        return;
    touched->element[sim_number_of(&layout->grid, element)] |= UINT64_C(1) << by;
    touched->block[block_of(layout, element)] |= UINT64_C(1) << by;
}

static void touch_index(const dcli_operation *operation, const dcli_subscripts subscripts[], const int64_t index[],
                        int by, struct touched touched[])
{
    const dcli_body *body = operation->body;
    int64_t element[DCL_MAX_RANK] = {0};
    for (int a = 0; a < body->access_count; a++) {
        int k = body->access[a].param;
        dcl_grid grid = sim_seen(operation, a);
        if (subscripts[a].reach == DCLI_REACH_AFFINE && sim_element(&subscripts[a], &grid, index, element))
            touch(&operation->operand[k], element, by, &touched[k]);
    }
}

/* Record what one index may read by a declared reach. */
static void touch_reach(const dcli_operation *operation, const dcli_subscripts *subscripts, int a,
                        const int64_t index[], int by, struct touched *touched)
{
    const dcli_operand *operand = &operation->operand[operation->body->access[a].param];
    dcl_grid grid = sim_seen(operation, a);
    dcl_box box = dcl_box_of(&grid);
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK] = {0};
    if (dcli_box_is_empty(&box))
        return;
    do {
        for (int d = 0; d < box.rank; d++)
            element[d] = box.start[d] + place[d];
        if (sim_may_read(subscripts, index, element))
            touch(operand, element, by, touched);
    } while (sim_next_place(place, &box));
}

/* The part of an index that matters for what it may read, as a number from 0; for most reaches all of it. */
static int64_t row_of(const dcli_operation *operation, dcli_reach reach, const int64_t index[])
{
    const dcl_box *box = &operation->box;
    int64_t row = 0;
    if (reach == DCLI_REACH_ALL || reach == DCLI_REACH_BOX)
        return 0;
    int first = reach == DCLI_REACH_COLUMNS ? box->rank - 1 : 0, end = reach == DCLI_REACH_ROWS ? 1 : box->rank;
    for (int m = first; m < end; m++)
        row = row * box->count[m] + (index[m] - box->start[m]) / box->stride[m];
    return row;
}

static void touch_declared(const dcli_operation *operation, const dcli_subscripts subscripts[], const int64_t index[],
                           int by, struct touched touched[], bool *rows_seen[])
{
    for (int a = 0; a < operation->body->access_count; a++) {
        int k = operation->body->access[a].param;
        if (subscripts[a].reach == DCLI_REACH_AFFINE)
            continue;
        bool *seen = &rows_seen[a][row_of(operation, subscripts[a].reach, index) * 64 + by]; /* once per node */
        if (!*seen)
            touch_reach(operation, &subscripts[a], a, index, by, &touched[k]);
        *seen = true;
    }
}

static void *need(int64_t count, size_t bytes)
{
    void *memory = calloc((size_t)dcli_max(count, 1), bytes);
    if (memory == NULL)
        abort();
    return memory;
}

/* Sum over elements, or over blocks (represented by their first element). @param sets  by number of an element. */
static void add_up(const dcli_layout *layout, int node_count, const uint64_t sets[], int64_t each, int64_t sums[])
{
    dcl_box whole = dcl_box_of(&layout->grid);
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK], number = 0, offset;
    if (dcli_box_is_empty(&whole))
        return;
    do {
        int owner;
        for (int d = 0; d < whole.rank; d++)
            element[d] = whole.start[d] + place[d];
        dcli_layout_locate(layout, element, &owner, &offset);
        for (uint64_t left = sets[number++]; left != 0; left &= left - 1)
            sums[owner * node_count + __builtin_ctzll(left)] += each;
    } while (sim_next_place(place, &whole));
}

static void go_through(const dcli_operation *operation, struct touched touched[])
{
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES];
    bool *rows_seen[DCLI_MAX_ACCESSES] = {NULL};
    int accesses = operation->body->access_count;
    const dcli_operand *space = &operation->operand[operation->body->owner];
    int64_t place[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK], element[DCL_MAX_RANK], offset;
    sim_subscripts(operation, subscripts);
    for (int a = 0; a < accesses; a++)
        if (subscripts[a].reach != DCLI_REACH_AFFINE)
            rows_seen[a] = need(dcli_box_elements(&operation->box) * 64, sizeof(bool));
    do {
        int by;
        for (int m = 0; m < operation->box.rank; m++)
            index[m] = operation->box.start[m] + place[m] * operation->box.stride[m];
        if (space->view != NULL)
            dcli_transform_index(space->view, index, element);
        dcli_layout_locate(space->layout, space->view != NULL ? element : index, &by, &offset);
        if (by < 0)
            continue; /* nobody computes it */
        touch_index(operation, subscripts, index, by, touched);
        touch_declared(operation, subscripts, index, by, touched, rows_seen);
    } while (sim_next_place(place, &operation->box));
    for (int a = 0; a < accesses; a++)
        free(rows_seen[a]);
}

static bool is_exact(const dcli_operation *operation)
{
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES];
    sim_subscripts(operation, subscripts);
    for (int a = 0; a < operation->body->access_count; a++)
        if (subscripts[a].reach == DCLI_REACH_AFFINE && !dcli_subscripts_exact(&subscripts[a]))
            return false;
    return true;
}

/* Record all elements of a move's box. */
static void go_through_box(const dcli_operation *operation, struct touched *touched)
{
    int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK];
    do {
        for (int d = 0; d < operation->box.rank; d++)
            element[d] = operation->box.start[d] + place[d] * operation->box.stride[d];
        touch(&operation->operand[0], element, operation->node, touched);
    } while (sim_next_place(place, &operation->box));
}

/* Record the lines around parts that nodes receive in an operation with an overlap. */
static void go_through_lines(const sim_data *data, const dcli_operation *operation, struct touched touched[])
{
    for (int k = 0; k < operation->operand_count; k++)
        for (int node = 0; node < data->terms.node_count && operation->operand[k].fresh; node++) {
            dcli_region own, around;
            bool found;
            int64_t place[DCL_MAX_RANK] = {0}, element[DCL_MAX_RANK];
            if (dcli_layout_around(operation->operand[k].layout, node, &found, &own, &around) != DCL_OK)
                abort();
            if (!found)
                continue;
            do {
                for (int d = 0; d < around.box.rank; d++)
                    element[d] = around.box.start[d] + place[d];
                touch(&operation->operand[k], element, node, &touched[k]);
            } while (sim_next_place(place, &around.box));
        }
}

static bool counts_exactly(const dcli_operation *operation)
{
    return operation->kind == DCLI_OP_MOVE || is_exact(operation);
}

bool sim_count_moved(const sim_data *data, const dcli_operation *operation, int64_t bytes_out[], int64_t blocks_out[])
{
    int node_count = data->terms.node_count;
    struct touched touched[DCLI_MAX_PARAMS] = {{0}};
    size_t pairs = (size_t)node_count * (size_t)node_count;
    memset(bytes_out, 0, pairs * sizeof *bytes_out);
    memset(blocks_out, 0, pairs * sizeof *blocks_out);
    if (dcli_box_is_empty(&operation->box))
        return counts_exactly(operation);
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].layout != NULL) {
            touched[k].elements = dcl_grid_count(&operation->operand[k].layout->grid);
            touched[k].element = need(touched[k].elements, sizeof(uint64_t));
            touched[k].block = need(touched[k].elements, sizeof(uint64_t));
            touched[k].held = sim_held(data, operation, k);
        }
    if (operation->kind == DCLI_OP_MOVE)
        go_through_box(operation, &touched[0]);
    else if (operation->overlap > 0)
        go_through_lines(data, operation, touched);
    else
        go_through(operation, touched);
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_layout *layout = operation->operand[k].layout;
        if (layout != NULL) {
            add_up(layout, node_count, touched[k].element, sizeof(int64_t), bytes_out);
            add_up(layout, node_count, touched[k].block, 1, blocks_out);
        }
        free(touched[k].element);
        free(touched[k].block);
        free(touched[k].held);
    }
    return counts_exactly(operation);
}
