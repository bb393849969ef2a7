/* resmap/properties.c - finds the properties of a map for a grid (dcl_map_describe()). */
#include "base/check.h"
#include "base/error.h"
#include "base/sized.h"
#include "resmap/parts.h"

static bool is_closed_form(const dcli_layout *layout)
{
    for (int d = 0; d < layout->grid.rank; d++)
        if (layout->kind == DCLI_MAP_AXES && layout->division[d].runs > 0)
            return false;
    return layout->kind == DCLI_MAP_AXES || (layout->kind == DCLI_MAP_DEALT && layout->rule.deal != DCL_DEAL_TABLE);
}

static int64_t element_number(const dcl_grid *grid, const dcl_box *box, bool last)
{
    int64_t number = 0;
    for (int d = 0; d < grid->rank; d++) {
        int64_t at = box->start[d] - grid->origin[d] + (last ? (box->count[d] - 1) * box->stride[d] : 0);
        number = number * grid->extent[d] + at;
    }
    return number;
}

/* How many elements of a region are contiguous both in the grid and in storage, along the last axis; else 1. */
static int64_t run_of(const dcli_region *region)
{
    int last = region->box.rank - 1;
    bool together = region->box.stride[last] == 1 && region->step[last] == 1;
    return together ? region->box.count[last] : 1;
}

/* Whether a node's elements fill the smallest box around them. */
static bool is_rectangle(const dcli_region_list *list, int64_t owned)
{
    int64_t elements = 1;
    for (int d = 0; list->count > 0 && d < list->region[0].box.rank; d++) {
        int64_t first = INT64_MAX, last = INT64_MIN;
        for (int64_t r = 0; r < list->count; r++) {
            const dcl_box *box = &list->region[r].box;
            first = dcli_min(first, box->start[d]);
            last = dcli_max(last, box->start[d] + (box->count[d] - 1) * box->stride[d]);
        }
        elements *= last - first + 1;
    }
    return list->count == 0 || elements == owned;
}

static void look_at(const dcli_layout *layout, const dcli_region_list *list, dcl_map_properties *properties)
{
    int64_t first = INT64_MAX, last = -1, owned = 0;
    for (int64_t r = 0; r < list->count; r++) {
        const dcli_region *region = &list->region[r];
        first = dcli_min(first, element_number(&layout->grid, &region->box, false));
        last = dcli_max(last, element_number(&layout->grid, &region->box, true));
        owned += dcli_box_elements(&region->box);
        properties->run = dcli_min(properties->run, run_of(region));
    }
    properties->owners += owned > 0;
    properties->most = dcli_max(properties->most, owned);
    properties->least = dcli_min(properties->least, owned);
    properties->rectangular = properties->rectangular && is_rectangle(list, owned);
    properties->contiguous = properties->contiguous && (owned == 0 || last - first + 1 == owned);
}

/* Set the properties that need all nodes. @param owned  number of elements that all nodes own together. */
static void conclude(const dcli_layout *layout, int64_t owned, dcl_map_properties *properties)
{
    int64_t elements = dcl_grid_count(&layout->grid), nodes = layout->node_count;
    properties->complete = owned == elements;
    properties->imbalance = owned > 0 ? (double)properties->most * (double)nodes / (double)owned : 1;
    properties->balanced = properties->most - owned / nodes <= 1 + owned / nodes / 20;
    properties->run = properties->owners > 0 ? properties->run : 0;
}

static dcl_status find(const dcli_layout *layout, dcl_map_properties *out)
{
    dcl_map_properties properties = {.closed_form = is_closed_form(layout),
                                     .rectangular = true,
                                     .contiguous = true,
                                     .per_axis = layout->kind == DCLI_MAP_AXES,
                                     .copies = layout->rule.copies,
                                     .halo = layout->rule.halo_rank > 0,
                                     .periodic = layout->rule.periodic != 0,
                                     .least = INT64_MAX,
                                     .run = INT64_MAX};
    dcli_region_list list = {0};
    dcl_status status = DCL_OK;
    int64_t owned = 0;
    for (int place = 0; place < layout->node_count && status == DCL_OK; place++) {
        int node = dcli_layout_node(layout, place);
        list.count = 0;
        status = dcli_layout_regions(layout, node, NULL, &list);
        if (status == DCL_OK)
            look_at(layout, &list, &properties);
        owned += dcli_layout_owned(layout, node);
    }
    dcli_region_list_free(&list);
    if (status != DCL_OK)
        return status;
    conclude(layout, owned, &properties);
    *out = properties;
    return DCL_OK;
}

dcl_status dcl_map_describe_sized(const dcl_map *map, const dcl_grid *grid, dcl_map_properties *properties_out,
                                  size_t properties_bytes)
{
    dcli_error_enter("dcl_map_describe");
    dcli_layout layout;
    dcl_map_properties properties;
    dcl_status status = dcli_size_check("properties_bytes", "dcl_map_properties", properties_bytes, sizeof properties);
    if (status == DCL_OK)
        status = dcli_map_bind(map, grid, &layout);
    if (status != DCL_OK)
        return status;
    status = properties_out != NULL
                 ? find(&layout, &properties)
                 : DCLI_FAIL(DCL_ERR_INVALID, "properties_out is NULL; expected a dcl_map_properties to fill");
    dcli_layout_release(&layout);
    if (status == DCL_OK)
        memcpy(properties_out, &properties, properties_bytes);
    return status;
}
