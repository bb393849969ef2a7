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

dcl_status dcli_overlap_bind(dcli_layout *layout)
{
    if (layout->kind != DCLI_MAP_AXES)
        return DCL_OK; /* cannot happen: it was checked */
    for (int d = 1; d < layout->grid.rank; d++)
        if (layout->division[d].used > 1 || layout->division[d].nodes > 1)
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "the map has an overlap and divides axis %d; expected only the first axis to be divided; use "
                "block,*;overlap=%" PRId64,
                d, layout->rule.overlap);
    const dcli_division *first = &layout->division[0];
    bool runs = first->runs > 0 ? first->runs > first->nodes : first->used > 1 && first->more == 0 && first->even > 0;
    if (runs)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the map has an overlap and gives a node several runs of the first axis; expected one run; use "
            "block,*;overlap=%" PRId64,
            layout->rule.overlap);
    if (first->nodes > 1)
        layout->around = layout->rule.overlap;
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
