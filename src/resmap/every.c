/* resmap/every.c - strided maps: only indices that are a multiple of a step are stored. The stored elements form an
 * inner grid with a layout of its own; this file converts indices between the two grids. */
#include "base/alloc.h"
#include "base/check.h"
#include "resmap/parts.h"

void dcli_every_settle(dcli_map_rule *rule)
{
    bool any = false;
    for (int d = 0; d < rule->every_rank; d++)
        any = any || rule->every[d] != 1;
    if (!any)
        rule->every_rank = 0;
}

static dcl_grid thin_out(const dcl_grid *grid, const int64_t every[], bool *thinner_out)
{
    dcl_grid thin = {.type = grid->type, .rank = grid->rank};
    *thinner_out = false;
    for (int d = 0; d < grid->rank; d++) {
        thin.extent[d] = dcli_ceil_div(grid->extent[d], every[d]);
        *thinner_out = *thinner_out || thin.extent[d] < grid->extent[d];
    }
    return thin;
}

/* Make the layout of a strided map around that of its stored elements. @param inner  bound; its references belong to
 * the new layout from now on. @return DCL_OK, or DCL_ERR_NOMEM. */
static dcl_status wrap(const dcli_layout *inner, const dcl_grid *grid, dcli_layout *layout_out)
{
    dcli_layout *own = dcli_malloc(sizeof *own);
    if (own == NULL)
        return DCL_ERR_NOMEM;
    *own = *inner;
    *layout_out = (dcli_layout){.grid = *grid,
                                .rule = inner->rule,
                                .node_count = inner->node_count,
                                .node_end = inner->node_end,
                                .kind = inner->kind,
                                .bytes = inner->bytes,
                                .line = inner->line,
                                .empty = inner->empty,
                                .partial = true,
                                .inner = own};
    dcli_map_rule_retain(&layout_out->rule);
    return DCL_OK;
}

dcl_status dcli_every_bind(const dcli_map_rule *rule, const dcl_grid *grid, dcli_layout *layout_out)
{
    dcli_map_rule plain = *rule;
    dcli_layout inner, layout;
    bool thinner;
    plain.every_rank = 0;
    dcl_grid thin = thin_out(grid, rule->every, &thinner);
    dcl_status status = dcli_layout_bind(&plain, &thin, &inner);
    if (status != DCL_OK)
        return status;
    if (thinner) {
        status = wrap(&inner, grid, &layout);
    } else { /* all indices are stored: the map is not strided on this grid */
        layout = inner;
        layout.grid = *grid;
    }
    if (status != DCL_OK) {
        dcli_layout_release(&inner);
        return status;
    }
    layout.rule.every_rank = grid->rank;
    for (int d = 0; d < grid->rank; d++) { /* a step larger than the extent stores the first index only, as a step of
                                              the extent does */
        layout.rule.every[d] = dcli_max(1, dcli_min(rule->every[d], grid->extent[d]));
        layout.by_every[d] = dcli_divisor_of(layout.rule.every[d]);
    }
    layout.fill_value = inner.fill_value;
    *layout_out = layout;
    return DCL_OK;
}

void dcli_every_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out)
{
    int64_t inner[DCL_MAX_RANK];
    for (int d = 0; d < layout->grid.rank; d++) {
        int64_t from_origin = index[d] - layout->grid.origin[d];
        inner[d] = dcli_divided(from_origin, layout->by_every[d]);
        if (inner[d] * layout->rule.every[d] != from_origin) {
            *node_out = -1;
            *offset_out = -1;
            return;
        }
    }
    dcli_layout_locate(layout->inner, inner, node_out, offset_out);
}

bool dcli_every_inward(const dcli_layout *layout, const dcl_box *box, dcl_box *inner_out)
{
    const dcl_grid *grid = &layout->grid, *thin = &layout->inner->grid;
    dcl_box inner = dcl_box_of(thin);
    for (int d = 0; box != NULL && d < grid->rank; d++) {
        int64_t every = layout->rule.every[d];
        if (!dcli_run_intersect(grid->origin[d], thin->extent[d], every, box->start[d], box->count[d], box->stride[d],
                                &inner.start[d], &inner.count[d], &inner.stride[d]))
            return false;
        inner.start[d] = (inner.start[d] - grid->origin[d]) / every;
        inner.stride[d] = inner.count[d] > 1 ? inner.stride[d] / every : 1;
    }
    *inner_out = inner;
    return true;
}

void dcli_every_outward(const dcli_layout *layout, dcli_region_list *list, int64_t first)
{
    for (int64_t k = first; k < list->count; k++)
        for (int d = 0; d < layout->grid.rank; d++) {
            dcl_box *box = &list->region[k].box;
            box->start[d] = layout->grid.origin[d] + box->start[d] * layout->rule.every[d];
            if (box->count[d] > 1)
                box->stride[d] *= layout->rule.every[d];
        }
}
