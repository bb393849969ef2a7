/* resmap/overlap.c - the overlap of a map: lines beside a node's own ones that the node stores, too, so that it can compute
 * several steps of a time loop before it needs elements of others. Owners of elements do not depend on it.
 *
 * A line is all elements with one index of the first axis. The lines are in the same memory as the part, directly before and
 * after it, so that a body reads across the border of the part at addresses that are affine in the indices. */
#include <assert.h>
#include <inttypes.h>

#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"

dcl_status dcli_overlap_check(const dcli_map_rule *rule)
{
    if (rule->overlap < 0 || rule->overlap > DCLI_MOST_OVERLAP)
        return DCLI_FAIL(DCL_ERR_INVALID, "the overlap is %" PRId64 " lines; expected 0..%d", rule->overlap,
                         DCLI_MOST_OVERLAP);
    if (rule->overlap > 0 && (rule->kind != DCLI_MAP_AXES || rule->copies > 0))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "a map that is %s is to have an overlap; expected one that divides the first axis into "
                         "blocks, such as block,*;overlap=8",
                         rule->kind != DCLI_MAP_AXES ? "dealt or a list of boxes" : "replicated");
    if (rule->overlap > 0 && (rule->halo_rank > 0 || rule->every_rank > 0))
        return DCLI_FAIL(DCL_ERR_INVALID, "the map has an overlap and %s; expected one or the other",
                         rule->halo_rank > 0 ? "a halo (;halo=) or periodic axes" : "steps (;every=)");
    return DCL_OK;
}

dcl_map *dcl_map_overlap(const dcl_map *map, int64_t lines)
{
    dcli_error_enter_constructor(__func__);
    if (map == NULL)
        return NULL;
    dcli_map_rule rule = map->rule;
    rule.overlap = lines;
    return dcli_map_new(map->cluster, &rule);
}

/* The first axis other than axis 0 that is divided; 0: none. */
static int find_other_axis(const dcli_layout *layout)
{
    for (int d = 1; d < layout->grid.rank; d++)
        if (layout->division[d].used > 1 || layout->division[d].nodes > 1)
            return d;
    return 0;
}

/* Whether a node has several runs of the first axis. */
static bool has_runs(const dcli_division *first)
{
    return first->runs > 0 ? first->runs > first->nodes : first->used > 1 && first->more == 0 && first->even > 0;
}

void dcli_layout_set_lines(dcli_layout *layout, int64_t lines)
{
    layout->around = lines;
    layout->lead = lines > 0 ? lines * dcli_layout_line(layout) : 0;
}

void dcli_layout_reserve(dcli_layout *layout, int64_t most)
{
    enum {
        SHARE = 16,               /* lines of a part per line that is reserved before and after it */
        LEAST_LINES = 8,          /* fewer lines would hardly make a difference */
        LEAST_SHARE = 7,          /* parts with fewer lines than this times LEAST_LINES get none */
        LEAST_ELEMENTS = 1 << 18, /* per part */
        MOST_ELEMENTS_SHIFT = 48  /* larger grids are only planned */
    };
    const dcli_map_rule *rule = &layout->rule;
    if (layout->empty || layout->kind != DCLI_MAP_AXES || rule->overlap > 0 || rule->copies > 0 ||
        rule->halo_rank > 0 || rule->every_rank > 0 || layout->inner != NULL || find_other_axis(layout) > 0 ||
        layout->division[0].nodes < 2 || has_runs(&layout->division[0]))
        return;
    int64_t elements = dcl_grid_count(&layout->grid), nodes = layout->division[0].nodes;
    int64_t part = layout->grid.extent[0] / nodes, lines = dcli_min(most, dcli_max(part / SHARE, LEAST_LINES));
    if (lines >= LEAST_LINES && part >= LEAST_SHARE * LEAST_LINES && elements / nodes >= LEAST_ELEMENTS &&
        elements >> MOST_ELEMENTS_SHIFT == 0)
        dcli_layout_set_lines(layout, lines);
}

dcl_status dcli_overlap_bind(dcli_layout *layout)
{
    if (layout->kind != DCLI_MAP_AXES)
        return DCL_OK; /* cannot happen: it was checked */
    int d = find_other_axis(layout);
    if (d > 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map has an overlap and divides axis %d; expected only the first axis to be divided; use "
                         "block,*;overlap=%" PRId64,
                         d, layout->rule.overlap);
    const dcli_division *first = &layout->division[0];
    if (has_runs(first))
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the map has an overlap and gives a node several runs of the first axis; expected one run; use "
            "block,*;overlap=%" PRId64,
            layout->rule.overlap);
    if (first->nodes > 1)
        dcli_layout_set_lines(layout, layout->rule.overlap);
    return DCL_OK;
}

int64_t dcli_layout_line(const dcli_layout *layout)
{
    int last = layout->grid.rank - 1;
    int64_t elements = last > 0 ? dcli_row_pitch(layout, layout->grid.extent[last]) : 1;
    for (int d = 1; d < last; d++)
        elements *= layout->grid.extent[d];
    return elements;
}

/* Put the indices before .. after of the first axis around a region, as far as they are in the grid. */
static void widen(const dcli_layout *layout, dcli_region *region)
{
    int64_t line = region->step[0] = dcli_layout_line(layout), origin = layout->grid.origin[0];
    int64_t first = region->box.start[0], end = first + region->box.count[0];
    int64_t low = dcli_min(layout->around, first - origin),
            high = dcli_min(layout->around, origin + layout->grid.extent[0] - end);
    region->box.start[0] -= low;
    region->box.count[0] += low + high;
    region->offset -= low * line;
}

bool dcli_layout_lines_are_apart(const dcli_layout *layout, int64_t first, int64_t last)
{
    int64_t origin = layout->grid.origin[0], from_begin;
    int64_t extent = dcli_division_extent(&layout->division[0],
                                          dcli_divide_index(&layout->division[0], first - origin, &from_begin));
    int64_t to_end = extent - from_begin - (last - first + 1), begin = first - origin - from_begin;
    bool is_first = begin == 0, is_last = begin + extent == layout->grid.extent[0];
    return to_end >= 0 && (is_first || from_begin >= layout->around) && (is_last || to_end >= layout->around);
}

dcl_status dcli_layout_around(const dcli_layout *layout, int node, bool *found_out, dcli_region *own_out,
                              dcli_region *around_out)
{
    dcli_region_list list = {0};
    dcl_status status = DCL_OK;
    if (!layout->empty && layout->around > 0)
        status = dcli_layout_regions(layout, node, NULL, &list);
    assert(list.count <= 1); /* a node has one run of the first axis */
    *found_out = status == DCL_OK && list.count == 1;
    if (*found_out) {
        *own_out = *around_out = list.region[0];
        widen(layout, around_out);
    }
    dcli_region_list_free(&list);
    return status;
}
