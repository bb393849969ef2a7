/* resmap/layout.c - the questions every layout answers, passed on to its family. */
#include <string.h>

#include "base/check.h"
#include "resmap/parts.h"

void dcli_layout_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out)
{
    switch (layout->kind) {
    case DCLI_MAP_AXES:
        dcli_axes_locate(layout, index, node_out, offset_out);
        break;
    case DCLI_MAP_DEALT:
        dcli_dealt_locate(layout, index, node_out, offset_out);
        break;
    case DCLI_MAP_BOXES:
        dcli_boxes_locate(layout, index, node_out, offset_out);
        break;
    }
    *node_out = dcli_layout_node(layout, *node_out);
}

int64_t dcli_layout_storage(const dcli_layout *layout, int node)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0)
        return 0;
    if (layout->kind == DCLI_MAP_AXES)
        return dcli_axes_storage(layout, place);
    if (layout->kind == DCLI_MAP_BOXES)
        return layout->boxes.total[place];
    return dcli_dealt_slots(layout, place) * layout->slot;
}

int64_t dcli_layout_owned(const dcli_layout *layout, int node)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0)
        return 0;
    if (layout->kind == DCLI_MAP_DEALT)
        return dcli_dealt_owned(layout, place);
    if (layout->kind == DCLI_MAP_BOXES)
        return layout->boxes.total[place];
    int64_t coordinate[DCL_MAX_RANK], extent[DCL_MAX_RANK], elements = 1;
    if (!dcli_axes_local(layout, place, coordinate, extent))
        return 0;
    for (int d = 0; d < layout->grid.rank; d++)
        elements *= extent[d];
    return elements;
}

dcl_box dcli_from_origin(const dcli_layout *layout, const dcl_box *box)
{
    dcl_box moved = box != NULL ? *box : dcl_box_of(&layout->grid);
    for (int d = 0; d < moved.rank; d++) {
        moved.start[d] -= layout->grid.origin[d];
        if (moved.count[d] == 1)
            moved.stride[d] = 1;
    }
    return moved;
}

dcl_status dcli_layout_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0 || (query != NULL && dcli_box_is_empty(query)))
        return DCL_OK;
    dcli_walk walk = {.layout = layout, .query = dcli_from_origin(layout, query), .out = out};
    int64_t before = out->count;
    switch (layout->kind) {
    case DCLI_MAP_AXES:
        dcli_axes_walk(&walk, place);
        break;
    case DCLI_MAP_DEALT:
        dcli_dealt_walk(&walk, place, 0, dcli_dealt_slots(layout, place));
        break;
    case DCLI_MAP_BOXES:
        dcli_boxes_walk(&walk, place);
        break;
    }
    dcli_sort_regions(out, before);
    return walk.status;
}

void dcli_layout_owners(const dcli_layout *layout, const dcl_box *query, bool nodes_out[])
{
    memset(nodes_out, 0, (size_t)layout->node_end * sizeof nodes_out[0]);
    if (layout->empty || dcli_box_is_empty(query))
        return;
    dcl_box moved = dcli_from_origin(layout, query);
    switch (layout->kind) {
    case DCLI_MAP_AXES:
        dcli_axes_owners(layout, &moved, nodes_out);
        break;
    case DCLI_MAP_DEALT:
        dcli_dealt_owners(layout, &moved, nodes_out);
        break;
    case DCLI_MAP_BOXES:
        dcli_boxes_owners(layout, &moved, nodes_out);
        break;
    }
    dcli_nodes_spread(&layout->rule, nodes_out);
}
