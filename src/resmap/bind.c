/* resmap/bind.c - binds a rule to a grid: arranges nodes, clamps pieces and grains, derives constants. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

static dcl_status check_rank(const dcli_map_rule *rule, const dcl_grid *grid)
{
    if (rule->rank != 0 && rule->rank != grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map serves grids of rank %d; the grid has rank %d; use a map of that rank", rule->rank,
                         grid->rank);
    int grain = rule->block_rank != 0 ? rule->block_rank : rule->tile_rank;
    if (grain != 0 && grain != grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map's grains have %d sizes; the grid has rank %d; give grains of one size for each axis",
                         grain, grid->rank);
    if (rule->every_rank != 0 && rule->every_rank != grid->rank)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map stores every so many-th element of %d axes (;every=); the grid has rank %d; give one "
                         "step for each axis",
                         rule->every_rank, grid->rank);
    for (int d = 0; d < grid->rank; d++)
        if (grid->extent[d] > DCLI_MOST_EXTENT)
            return DCLI_FAIL(DCL_ERR_INVALID, "extent[%d] is %" PRId64 "; maps serve at most %" PRId64, d,
                             grid->extent[d], DCLI_MOST_EXTENT);
    return DCL_OK;
}

/* Complete a rule for a grid of this rank: a rule for all ranks gets its axes, and nodes that the rule does not arrange
 * yet are divided among the axes. */
static void fill_rank(dcli_map_rule *rule, int rank)
{
    for (int d = 0; rule->rank == 0 && d < rank; d++) {
        if (d > 0)
            rule->axes[d] = dcli_has_points(&rule->axes[0]) ? (dcl_axis){.kind = DCL_AXIS_WHOLE} : rule->axes[0];
        rule->piece[d] = 1;
    }
    rule->rank = rank;
    if (rule->kind == DCLI_MAP_AXES && rule->nodes[0] == 0)
        dcli_map_arrange(rule->node_count, rank, rule->axes, rule->nodes);
}

/* Divide an axis. Divisions that give the same runs get the same fields, so that they compare equal: an even division
 * without remainder becomes a cyclic one with a single round. */
static dcli_division divide(int64_t extent, const dcl_axis *axis, int nodes)
{
    dcli_division division = {.nodes = nodes, .used = 1, .run = extent, .remainder = extent};
    if (nodes == 1)
        return division;
    if (axis->kind == DCL_AXIS_BLOCK && axis->size == 0) {
        division.run = dcli_max(extent / nodes, 1);
        division.more = extent > nodes ? extent % nodes : 0;
    } else {
        division.run = dcli_min(dcli_max(axis->size, 1), extent);
    }
    division.used = (int)dcli_min(nodes, dcli_ceil_div(extent, division.run));
    if (division.used == 1)
        division.run = extent;
    int64_t round = division.run * division.used; /* less than extent + run, so it cannot overflow */
    bool once = extent <= round;
    division.even = once ? 0 : extent / round * division.run;
    division.remainder = once ? extent : extent % round;
    division.by_run = dcli_divisor_of(division.run);
    division.by_longer = dcli_divisor_of(division.run + 1);
    division.by_used = dcli_divisor_of(division.used);
    return division;
}

static dcl_status check_block(int d, const dcl_axis *axis, int nodes, int64_t extent)
{
    int64_t room;
    if (axis->kind != DCL_AXIS_BLOCK || axis->size == 0 || !dcli_mul(axis->size, nodes, &room) || room >= extent)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "axis %d is block(%" PRId64 ") over %d nodes, room for %" PRId64 " elements; expected at least the "
        "extent, %" PRId64 "; use block(%" PRId64 ") or more, block without a size, or cyclic(%" PRId64 ")",
        d, axis->size, nodes, room, extent, dcli_ceil_div(extent, nodes), axis->size);
}

static dcl_status check_blocks(const dcli_map_rule *rule, const dcl_grid *grid)
{
    dcl_status status = DCL_OK;
    for (int d = 0; status == DCL_OK && rule->kind == DCLI_MAP_AXES && d < grid->rank; d++)
        status = check_block(d, &rule->axes[d], rule->nodes[d], grid->extent[d]);
    return status;
}

static dcl_status bind_axes(dcli_layout *layout, bool whole)
{
    static const dcl_axis undivided = {.kind = DCL_AXIS_WHOLE};
    dcl_status status = DCL_OK;
    layout->kind = DCLI_MAP_AXES;
    for (int d = 0; d < layout->grid.rank && status == DCL_OK; d++) {
        const dcl_axis *axis = whole ? &undivided : &layout->rule.axes[d];
        int nodes = whole ? 1 : layout->rule.nodes[d];
        if (dcli_has_points(axis) && nodes > 1)
            status =
                dcli_irregular_divide(layout->grid.extent[d], axis, nodes, &layout->division[d], &layout->bound[d]);
        else
            layout->division[d] = divide(layout->grid.extent[d], axis, nodes);
    }
    return status;
}

static dcl_status bind_dealt(dcli_layout *layout)
{
    int rank = layout->grid.rank;
    layout->kind = DCLI_MAP_DEALT;
    layout->slot = layout->piece_total = 1;
    for (int d = 0; d < rank; d++) {
        layout->rule.piece[d] = dcli_min(layout->rule.piece[d], layout->grid.extent[d]);
        layout->pieces[d] = dcli_ceil_div(layout->grid.extent[d], layout->rule.piece[d]);
        layout->by_piece[d] = dcli_divisor_of(layout->rule.piece[d]);
        layout->order[d] = layout->rule.order == DCL_ROWS ? d : rank - 1 - d;
    }
    for (int level = rank - 1; level >= 0; level--) {
        int d = layout->order[level];
        layout->weight[d] = layout->piece_total;
        layout->piece_total *= layout->pieces[d];
    }
    for (int d = rank - 1; d >= 0; d--) {
        layout->within[d] = layout->slot;
        layout->slot *= layout->rule.piece[d];
    }
    layout->by_node_count = dcli_divisor_of(layout->node_count);
    if (layout->rule.deal == DCL_DEAL_BLOCK)
        layout->runs = divide(layout->piece_total, &(dcl_axis){.kind = DCL_AXIS_BLOCK}, layout->node_count);
    if (layout->rule.deal == DCL_DEAL_HASH)
        dcli_scatter_bind(layout->rule.seed, layout->piece_total, &layout->scatter);
    return layout->rule.deal == DCL_DEAL_TABLE ? dcli_owned_bind(layout) : DCL_OK;
}

static int64_t longest_box(const dcli_layout *layout, int d)
{
    int rank = layout->grid.rank;
    int64_t longest = 1;
    for (int64_t k = 0; k < layout->boxes.count; k++)
        longest = dcli_max(longest, layout->boxes.box[2 * rank * k + rank + d]);
    return longest;
}

/* Extent of the largest segment along an axis; blocks are cut from segments. */
static int64_t segment_extent(const dcli_layout *layout, int d)
{
    if (layout->kind == DCLI_MAP_DEALT)
        return layout->rule.piece[d];
    if (layout->kind == DCLI_MAP_BOXES)
        return longest_box(layout, d);
    return layout->division[d].run + (layout->division[d].more > 0);
}

static void bind_grains(dcli_layout *layout)
{
    dcli_map_rule *rule = &layout->rule;
    int rank = layout->grid.rank;
    int64_t segment[DCL_MAX_RANK] = {0}, block[DCL_MAX_RANK];
    for (int d = 0; d < rank; d++)
        segment[d] = segment_extent(layout, d);
    dcli_default_grain(rank, segment, dcli_grain_elements(layout, rule->block_bytes, DCLI_BLOCK_BYTES), block);
    for (int d = 0; d < rank; d++) {
        rule->block[d] = rule->block_rank != 0 ? dcli_min(rule->block[d], segment[d]) : block[d];
        if (rule->tile_rank != 0)
            rule->tile[d] = dcli_min(rule->tile[d], layout->grid.extent[d]);
    }
    rule->block_rank = rank;
}

int64_t dcli_grain_elements(const dcli_layout *layout, int64_t bytes, int64_t standard)
{
    return dcli_max(1, (bytes != 0 ? bytes : standard) / (int64_t)dcl_type_bytes(layout->grid.type));
}

void dcli_default_grain(int rank, const int64_t extent[], int64_t most, int64_t grain_out[])
{
    dcli_wide inner[DCL_MAX_RANK + 1]; /* [d]: elements that have one index of axis d - 1 in common */
    inner[rank] = 1;
    for (int d = rank - 1; d >= 0; d--)
        inner[d] = inner[d + 1] * dcli_max(extent[d], 1);
    for (int d = 0; d < rank; d++) {
        int64_t count = dcli_max(extent[d], 1);
        if (inner[d] > most) {
            int64_t fit = dcli_max(1, (int64_t)dcli_wide_min(most / inner[d + 1], count));
            /* As few grains as possible, of sizes as equal as possible. */
            count = dcli_ceil_div(count, dcli_ceil_div(count, fit));
        }
        grain_out[d] = count;
        most = dcli_max(1, most / count);
    }
}

/* Check that the bytes of the storage fit int64_t: padding and the unused part of cut slots can make it larger than the
 * grid. */
static dcl_status check_storage(const dcli_layout *layout)
{
    dcli_wide elements = 1;
    for (int d = 0; d < layout->grid.rank; d++)
        elements *= layout->kind == DCLI_MAP_DEALT ? layout->pieces[d] * layout->rule.piece[d] : layout->grid.extent[d];
    if (layout->kind == DCLI_MAP_AXES && layout->grid.extent[0] > 0) /* the lines around a part */
        elements += elements / layout->grid.extent[0] * 2 * layout->around;
    if (layout->kind == DCLI_MAP_AXES)
        elements += elements / 16; /* an upper bound of padding */
    if (elements * (dcli_wide)dcl_type_bytes(layout->grid.type) > INT64_MAX)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the storage of the grid exceeds %" PRId64 " bytes, padding and cut pieces included; use a "
                         "smaller grid",
                         INT64_MAX);
    return DCL_OK;
}

static dcl_status bind_elements(dcli_layout *layout)
{
    const dcli_map_rule *rule = &layout->rule;
    int64_t count = dcl_grid_count(&layout->grid);
    layout->empty = count == 0;
    if (layout->empty)
        return DCL_OK;
    bool small =
        rule->copies > 0 || count < dcli_ceil_div(rule->small_bytes, (int64_t)dcl_type_bytes(layout->grid.type));
    dcl_status status = DCL_OK;
    if (small || rule->kind == DCLI_MAP_AXES)
        status = bind_axes(layout, small);
    else if (rule->kind == DCLI_MAP_DEALT)
        status = bind_dealt(layout);
    else
        status = dcli_boxes_bind(layout);
    if (status != DCL_OK)
        return status;
    if (rule->overlap > 0)
        status = dcli_overlap_bind(layout);
    if (status != DCL_OK)
        return status;
    bind_grains(layout);
    if (layout->kind == DCLI_MAP_BOXES)
        dcli_boxes_number(layout);
    return check_storage(layout);
}

dcl_status dcli_layout_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out)
{
    dcl_status status = check_rank(rule, grid);
    if (status == DCL_OK && rule->every_rank != 0)
        return dcli_every_bind(rule, grid, layout_out);
    if (status != DCL_OK)
        return status;
    dcli_layout layout = {.grid = *grid,
                          .rule = *rule,
                          .node_count = rule->node_count,
                          .node_end = dcli_nodes_end(rule),
                          .bytes = (int64_t)dcl_type_bytes(grid->type),
                          .line = DCLI_LINE / (int64_t)dcl_type_bytes(grid->type),
                          .kind = rule->kind};
    fill_rank(&layout.rule, grid->rank);
    status = dcli_halo_bind(&layout.rule, grid);
    if (status == DCL_OK)
        status = check_blocks(&layout.rule, grid);
    if (status == DCL_OK)
        status = dcli_fill_value_element(rule->fill_value, grid->type, &layout.fill_value);
    if (status != DCL_OK)
        return status;
    dcli_map_rule_retain(&layout.rule);
    status = bind_elements(&layout);
    if (status == DCL_OK)
        *layout_out = layout;
    else
        dcli_layout_release(&layout);
    return status;
}

void dcli_layout_release(const dcli_layout *layout)
{
    dcli_map_rule_release(&layout->rule);
    for (int d = 0; d < DCL_MAX_RANK; d++)
        dcli_table_release(layout->bound[d]);
    if (layout->inner != NULL)
        dcli_layout_release(layout->inner);
    dcli_free(layout->inner);
}

/* Whether rows of two layouts with equal divisions have the same padding, which depends on the element type. In a regular division at most
 * three row lengths occur: those of the first coordinates, of the last ones, and of the one between. */
static bool same_pitches(const dcli_layout *a, const dcli_layout *b)
{
    int last = a->grid.rank - 1;
    const dcli_division *division = &a->division[last];
    int64_t extent = a->grid.extent[last];
    for (int c = 0; division->runs > 0 && c < division->nodes; c++)
        if (dcli_row_pitch(a, division->length[c]) != dcli_row_pitch(b, division->length[c]))
            return false;
    if (division->runs > 0)
        return true;
    int64_t change = division->more > 0 ? division->more : extent / division->run % division->used;
    int64_t coordinate[] = {0, change, division->used - 1};
    for (int k = 0; k < 3; k++) {
        int64_t row = dcli_division_extent(division, coordinate[k]);
        if (dcli_row_pitch(a, row) != dcli_row_pitch(b, row))
            return false;
    }
    return true;
}

static bool same_division(const dcli_layout *a, const dcli_layout *b)
{
    int last = a->grid.rank - 1;
    for (int d = 0; d <= last; d++) {
        const dcli_division *x = &a->division[d], *y = &b->division[d];
        if (x->runs > 0 || y->runs > 0) {
            if (!dcli_irregular_same(x, y))
                return false;
            continue;
        }
        if (x->run != y->run || x->more != y->more || x->nodes != y->nodes || x->used != y->used)
            return false;
    }
    return a->around == b->around && same_pitches(a, b);
}

static bool same_dealing(const dcli_layout *a, const dcli_layout *b)
{
    for (int d = 0; d < a->grid.rank; d++)
        if (a->rule.piece[d] != b->rule.piece[d] || a->weight[d] != b->weight[d])
            return false;
    return a->rule.deal == b->rule.deal && a->rule.seed == b->rule.seed && dcli_table_equal(a->rule.list, b->rule.list);
}

/* Whether two strided maps store the same elements and lay them out alike. */
static bool same_steps(const dcli_layout *a, const dcli_layout *b)
{
    if (a->inner == NULL || b->inner == NULL)
        return false;
    for (int d = 0; d < a->grid.rank; d++)
        if (a->rule.every[d] != b->rule.every[d])
            return false;
    return dcli_layout_same(a->inner, b->inner);
}

bool dcli_layout_same(const dcli_layout *a, const dcli_layout *b)
{
    if (a == b)
        return true;
    if (!dcli_grid_same_shape(&a->grid, &b->grid) || !dcli_nodes_equal(&a->rule, &b->rule))
        return false;
    if (a->empty)
        return true;
    if (a->inner != NULL || b->inner != NULL)
        return same_steps(a, b);
    if (a->kind != b->kind || a->lead != b->lead)
        return false;
    if (a->kind == DCLI_MAP_BOXES)
        return dcli_table_equal(a->rule.list, b->rule.list);
    return a->kind == DCLI_MAP_AXES ? same_division(a, b) : same_dealing(a, b);
}
