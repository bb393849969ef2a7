/* resmap/reshape.c - finds the layout of a grid of another shape in which every element, by its row-major number, keeps its
 * node and offset.
 *
 * Such a layout exists if every part consists of runs of consecutive row-major numbers, and each run of whole rows of the new
 * shape: the new layout then deals these rows. This holds for a grid on one node, and for grids that are divided or dealt
 * along the first axis only. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

/* Number of elements with the same index on the first axis: of a "row". */
static int64_t row_elements(const dcl_grid *grid)
{
    int64_t elements = 1;
    for (int d = 1; d < grid->rank; d++)
        elements *= grid->extent[d];
    return elements;
}

static dcl_status check_count(const dcl_grid *from, const dcl_grid *to)
{
    dcl_status status = dcli_grid_check(to);
    int64_t before = dcl_grid_count(from), after = dcl_grid_count(to);
    if (status == DCL_OK && before != after)
        status = DCLI_FAIL(DCL_ERR_INVALID,
                           "the new shape has %" PRId64 " elements and the array %" PRId64
                           "; expected as many; cut the array with dcl_sub() or dcl_slice() where fewer are wanted",
                           after, before);
    return status;
}

/* Distance of rows along the last axis in storage, with padding, in elements, if a per-axis map lays out the grid. */
static int64_t pitch_of(const dcli_layout *layout, const dcl_grid *grid)
{
    dcli_layout like = *layout;
    like.grid = *grid;
    return dcli_row_pitch(&like, grid->extent[grid->rank - 1]);
}

static bool is_padded(const dcli_layout *layout, const dcl_grid *grid)
{
    return pitch_of(layout, grid) != grid->extent[grid->rank - 1];
}

/* Refuse layouts with padded rows. Called only for layouts whose last axis is not divided. */
static dcl_status check_unpadded(const dcli_layout *layout)
{
    int64_t row = layout->grid.extent[layout->grid.rank - 1];
    if (!is_padded(layout, &layout->grid))
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_UNSUPPORTED,
        "rows of %" PRId64 " elements lie %" PRId64
        " apart in memory, so neighbours in another shape would have to move; dcl_reshape_copy() moves them, or "
        "deal the rows (rows:cyclic(...)): pieces are not padded",
        row, dcli_row_pitch(layout, row));
}

/* The first axis after axis 0 that the map divides for some number of nodes; 0: none. */
static int divided_axis(const dcli_layout *layout)
{
    for (int d = 1; d < layout->grid.rank; d++)
        if (layout->kind == DCLI_MAP_AXES ? layout->rule.axes[d].kind != DCL_AXIS_WHOLE : layout->pieces[d] > 1)
            return d;
    return 0;
}

static dcl_status check_runs(int64_t run, int64_t row)
{
    if (run % row == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                     "nodes have runs of %" PRId64 " elements, which are no whole rows of %" PRId64
                     ": parts of rows would have to move to another node; choose a shape whose rows divide a run, or "
                     "use dcl_reshape_copy(), which moves them",
                     run, row);
}

static dcli_map_rule rule_over_same_nodes(const dcli_layout *layout, int rank)
{
    dcli_map_rule rule = {.kind = layout->kind,
                          .rank = rank,
                          .node_count = layout->rule.node_count,
                          .range_count = layout->rule.range_count,
                          .tile_bytes = layout->rule.tile_bytes,
                          .block_bytes = layout->rule.block_bytes};
    for (int r = 0; r < rule.range_count; r++)
        rule.range[r] = layout->rule.range[r];
    for (int d = 0; d < rank; d++) {
        rule.axes[d].kind = DCL_AXIS_WHOLE;
        rule.nodes[d] = 1;
    }
    return rule;
}

/* Deal pieces of whole rows, which are stored without padding, where a per-axis map would pad. */
static void deal_rows(const dcl_grid *grid, int64_t rows, dcl_deal deal, dcli_map_rule *rule)
{
    rule->kind = DCLI_MAP_DEALT;
    rule->order = DCL_ROWS;
    rule->deal = deal;
    for (int d = 0; d < grid->rank; d++)
        rule->piece[d] = d > 0 ? grid->extent[d] : rows;
}

/* Find the rule of the new layout of a grid that lies on one place as a whole. @return DCL_OK or the failure. */
static dcl_status shape_one_part(const dcli_layout *layout, const dcl_grid *grid, dcli_map_rule *rule_out)
{
    dcl_status status = check_unpadded(layout);
    *rule_out = rule_over_same_nodes(layout, grid->rank);
    rule_out->node_count = rule_out->range_count = 0;
    if (is_padded(layout, grid))
        deal_rows(grid, grid->extent[0], DCL_DEAL_CYCLIC, rule_out);
    return status == DCL_OK ? dcli_map_rule_add_nodes(rule_out, dcli_layout_node(layout, 0), 1) : status;
}

/* Number of runs up to the last one that has elements. Split points beyond the grid make empty runs after it. */
static int64_t run_count(const dcli_division *division)
{
    int64_t runs = division->runs > 0 ? division->runs : division->used;
    while (division->runs > 0 && runs > 1 && division->begin[runs - 1] == division->begin[runs])
        runs--;
    return runs;
}

/* First index of run k of a division with at most one run per coordinate. */
static int64_t run_begin(const dcli_division *division, int64_t k)
{
    return division->runs > 0 ? division->begin[k] : k * division->run + dcli_min(k, division->more);
}

/* Write runs of different lengths as split points of the new shape. @param before, row  elements of an old row and of a
 * new one. */
static dcl_status shape_runs(const dcli_division *division, int64_t before, int64_t row, dcli_map_rule *rule)
{
    int64_t count = run_count(division) - 1, *points = dcli_malloc((size_t)count * sizeof *points);
    dcl_status status = points != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int64_t k = 0; k < count && status == DCL_OK; k++) {
        int64_t from = run_begin(division, k), to = run_begin(division, k + 1);
        points[k] = to * before / row;
        status = check_runs((to - from) * before, row);
    }
    if (status == DCL_OK)
        status = dcli_map_rule_set_points(rule, 0, count, points);
    dcli_free(points);
    rule->axes[0].kind = DCL_AXIS_SPLITS;
    return status;
}

/* Write runs that were made by shares, some of them empty, as shares again: their lengths, which give the same runs of
 * new rows. */
static dcl_status shape_shares(const dcli_division *division, dcli_map_rule *rule)
{
    int64_t count = division->runs, *shares = dcli_malloc((size_t)count * sizeof *shares);
    dcl_status status = shares != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int64_t k = 0; k < count && status == DCL_OK; k++)
        shares[k] = division->begin[k + 1] - division->begin[k];
    if (status == DCL_OK)
        status = dcli_map_rule_set_points(rule, 0, count, shares);
    dcli_free(shares);
    rule->axes[0].kind = DCL_AXIS_WEIGHTED;
    return status;
}

static dcl_status shape_division(const dcli_layout *layout, const dcl_grid *grid, dcli_map_rule *rule_out)
{
    const dcli_division *division = &layout->division[0];
    int64_t before = row_elements(&layout->grid), row = row_elements(grid);
    bool padded = is_padded(layout, grid);
    *rule_out = rule_over_same_nodes(layout, grid->rank);
    rule_out->nodes[0] = division->nodes;
    rule_out->axes[0] = (dcl_axis){.kind = DCL_AXIS_BLOCK};
    if (division->more > 0 && row == before) { /* an even division of as many rows as before */
        if (padded)
            deal_rows(grid, 1, DCL_DEAL_BLOCK, rule_out);
        return DCL_OK;
    }
    if (division->runs > 0 && layout->rule.axes[0].kind == DCL_AXIS_WEIGHTED)
        return shape_shares(division, rule_out);
    if (run_count(division) > 1 && (division->more > 0 || division->runs > 0))
        return shape_runs(division, before, row, rule_out);
    int64_t run = division->runs > 0 ? layout->grid.extent[0] : division->run;
    rule_out->axes[0] = (dcl_axis){.kind = DCL_AXIS_CYCLIC, .size = run * before / row};
    if (padded)
        deal_rows(grid, dcli_max(run * before / row, 1), DCL_DEAL_CYCLIC, rule_out);
    return check_runs(run * before, row);
}

/* Check that the runs between split points consist of whole new rows. */
static dcl_status check_points(const dcl_axis *axis, int64_t extent, int64_t before, int64_t row)
{
    dcl_status status = DCL_OK;
    for (int64_t k = 0; k < axis->count && status == DCL_OK && axis->points[k] < extent; k++)
        status = check_runs((axis->points[k] - (k > 0 ? axis->points[k - 1] : 0)) * before, row);
    return status;
}

/* Check that reshaping works for every number of nodes, so that the answer does not depend on it. Runs whose length depends
 * on the number of nodes need old rows that consist of whole new rows; runs of a given length must consist of whole new rows.
 * New rows that a per-axis map would pad can be dealt only if all runs have one length. */
static dcl_status check_any_nodes(const dcli_layout *layout, const dcl_grid *grid)
{
    const dcl_axis *axis = &layout->rule.axes[0];
    int64_t before = row_elements(&layout->grid), row = row_elements(grid), extent = layout->grid.extent[0],
            size = axis->kind == DCL_AXIS_CYCLIC ? dcli_max(axis->size, 1) : axis->size;
    bool shares = axis->kind == DCL_AXIS_WEIGHTED, even = axis->kind == DCL_AXIS_BLOCK && size == 0;
    bool splits = axis->kind == DCL_AXIS_SPLITS && axis->points[0] < extent;
    if ((even || shares) && before % row != 0)
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "how many rows of %" PRId64 " elements a node has depends on the number of nodes, and may be no "
            "whole rows of %" PRId64 "; choose a shape whose rows divide those, a map that says how long runs "
            "are (block(n), cyclic(n)), or use dcl_reshape_copy(), which moves elements",
            before, row);
    if ((shares || splits || (even && row != before)) && is_padded(layout, grid))
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "rows of %" PRId64 " elements would lie %" PRId64
                         " apart in memory under a map of uneven runs; use dcl_reshape_copy(), which moves them",
                         grid->extent[grid->rank - 1], pitch_of(layout, grid));
    if (shares && extent > INT32_MAX) /* the sum of shares must fit an int32_t */
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "shares of %" PRId64 " rows are no shares of another shape; expected at most %d rows; use "
                         "dcl_reshape_copy()",
                         extent, INT32_MAX);
    if (splits)
        return check_points(axis, extent, before, row);
    return !shares && size > 0 && size < extent ? check_runs(size * before, row) : DCL_OK;
}

static dcl_status shape_axes(const dcli_layout *layout, const dcl_grid *grid, dcli_map_rule *rule_out)
{
    dcl_status status = check_unpadded(layout);
    return status == DCL_OK ? shape_division(layout, grid, rule_out) : status;
}

/* Find the rule of the new layout of a dealt grid: each slot holds whole new rows one after the other, a cut slot fewer
 * of them. @return DCL_OK or the failure. */
static dcl_status shape_dealt(const dcli_layout *layout, const dcl_grid *grid, dcli_map_rule *rule_out)
{
    int64_t row = row_elements(grid);
    *rule_out = rule_over_same_nodes(layout, grid->rank);
    rule_out->order = layout->rule.order;
    rule_out->deal = layout->rule.deal;
    rule_out->seed = layout->rule.seed; /* pieces keep their numbers */
    for (int d = 0; d < grid->rank; d++)
        rule_out->piece[d] = d > 0 ? grid->extent[d] : dcli_max(layout->slot / row, 1);
    return check_runs(layout->slot, row);
}

/* Refuse maps of boxes, maps with listed owners, and replicated maps. */
static dcl_status check_kind(const dcli_layout *layout)
{
    bool dealt = layout->kind == DCLI_MAP_DEALT && layout->rule.deal != DCL_DEAL_TABLE && layout->slot > 0;
    bool divided = layout->kind == DCLI_MAP_AXES && layout->division[0].used > 0;
    if (dealt || divided)
        return layout->rule.copies == 0
                   ? DCL_OK
                   : DCLI_FAIL(DCL_ERR_UNSUPPORTED, "the map has copies of elements at several nodes, which know them "
                                                    "in its shape; use dcl_reshape_copy()");
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "the map is a list, of boxes or of pieces with their owners, which is of its "
                                          "shape; use dcl_reshape_copy(), which moves the elements");
}

static bool is_on_one_place(const dcli_layout *layout)
{
    bool one = layout->kind == DCLI_MAP_AXES;
    for (int d = 0; d < layout->grid.rank && one; d++)
        one = layout->division[d].used == 1 && layout->division[d].runs == 0;
    return one;
}

/* Whether the grid lies on one place because it is small. */
static bool is_small(const dcli_layout *layout)
{
    return layout->rule.small_bytes > dcl_grid_count(&layout->grid) * layout->bytes;
}

static dcl_status shape_rule(const dcli_layout *layout, const dcl_grid *grid, dcli_map_rule *rule_out)
{
    if (layout->empty) {
        *rule_out = rule_over_same_nodes(layout, grid->rank);
        rule_out->kind = DCLI_MAP_DEALT; /* a rule that serves any number of nodes */
        for (int d = 0; d < grid->rank; d++)
            rule_out->piece[d] = 1;
        return DCL_OK;
    }
    dcl_status status = check_kind(layout);
    if (status != DCL_OK)
        return status;
    bool whole = layout->kind == DCLI_MAP_AXES && layout->rule.axes[0].kind == DCL_AXIS_WHOLE;
    int axis = is_small(layout) ? 0 : divided_axis(layout);
    if (axis > 0)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "the map divides axis %d: elements that follow each other do not lie so, and would have to "
                         "move; dcl_reshape_copy() moves them; so that none has to, divide the first axis alone",
                         axis);
    if (layout->kind == DCLI_MAP_AXES && !is_small(layout) && !whole)
        status = check_any_nodes(layout, grid);
    if (status != DCL_OK)
        return status;
    if (is_on_one_place(layout))
        return shape_one_part(layout, grid, rule_out);
    return layout->kind == DCLI_MAP_AXES ? shape_axes(layout, grid, rule_out) : shape_dealt(layout, grid, rule_out);
}

dcl_status dcli_layout_reshape(const dcli_layout *layout, const dcl_grid *grid, dcli_layout *layout_out)
{
    dcli_map_rule rule = {.kind = layout->kind};
    dcl_status status = check_count(&layout->grid, grid);
    if (status == DCL_OK)
        status = shape_rule(layout, grid, &rule);
    if (status == DCL_OK)
        status = dcli_layout_bind(&rule, grid, layout_out);
    if (status == DCL_OK)
        layout_out->lead = layout->lead;
    dcli_map_rule_release(&rule);
    return status;
}
