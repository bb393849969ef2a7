/* resmap/layout.c - questions about a layout, each passed on to the files of the layout's family of maps. */
#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "resmap/parts.h"

void dcli_layout_locate(const dcli_layout *layout, const int64_t index[], int *node_out, int64_t *offset_out)
{
    if (layout->inner != NULL) {
        dcli_every_locate(layout, index, node_out, offset_out);
        return;
    }
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
    if (*node_out >= 0)
        *node_out = dcli_layout_node(layout, *node_out);
    else
        *offset_out = -1;
}

int64_t dcli_layout_storage(const dcli_layout *layout, int node)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0)
        return 0;
    if (layout->inner != NULL)
        return dcli_layout_storage(layout->inner, node);
    if (layout->kind == DCLI_MAP_AXES)
        return dcli_axes_storage(layout, place);
    if (layout->kind == DCLI_MAP_BOXES)
        return layout->boxes.total[place];
    int64_t slots = dcli_dealt_slots(layout, place);
    return slots > 0 ? slots * layout->slot + 2 * layout->lead : 0;
}

int64_t dcli_layout_total_storage(const dcli_layout *layout)
{
    int64_t total = 0;
    /* Pieces are dealt evenly: a node has no slot only if there are fewer pieces than nodes. */
    if (!layout->empty && layout->inner == NULL && layout->kind == DCLI_MAP_DEALT &&
        layout->rule.deal != DCL_DEAL_TABLE)
        return layout->piece_total * layout->slot +
               2 * layout->lead * dcli_min(layout->piece_total, layout->node_count);
    for (int p = 0; p < layout->node_count; p++)
        total += dcli_layout_storage(layout, dcli_layout_node(layout, p));
    return total;
}

int64_t dcli_layout_owned(const dcli_layout *layout, int node)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0)
        return 0;
    if (layout->inner != NULL)
        return dcli_layout_owned(layout->inner, node);
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

/* Append the regions of a strided map: those of its inner layout, converted to indices of the grid. Parameters as of
 * dcli_layout_regions(). */
static dcl_status inner_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out)
{
    dcl_box inner;
    int64_t before = out->count;
    if (!dcli_every_inward(layout, query, &inner))
        return DCL_OK;
    dcl_status status = dcli_layout_regions(layout->inner, node, query != NULL ? &inner : NULL, out);
    dcli_every_outward(layout, out, before);
    return status;
}

static bool is_element(const dcl_box *box)
{
    for (int d = 0; d < box->rank; d++)
        if (box->count[d] != 1)
            return false;
    return true;
}

/* Append the region of a query of one element, if it is the place's. Such queries have a path of their own because
 * there may be millions. */
static dcl_status region_of_element(const dcli_layout *layout, int place, const dcl_box *query, dcli_region_list *out)
{
    int owner;
    dcli_region region = {.box = *query};
    dcli_dealt_locate(layout, query->start, &owner, &region.offset);
    for (int d = 0; d < query->rank; d++)
        region.box.stride[d] = 1;
    return owner == place ? dcli_region_list_add(out, &region) : DCL_OK;
}

dcl_status dcli_layout_regions(const dcli_layout *layout, int node, const dcl_box *query, dcli_region_list *out)
{
    int place = dcli_layout_place(layout, node);
    if (layout->empty || place < 0 || (query != NULL && dcli_box_is_empty(query)))
        return DCL_OK;
    if (layout->inner != NULL)
        return inner_regions(layout, node, query, out);
    if (layout->kind == DCLI_MAP_DEALT && query != NULL && is_element(query))
        return region_of_element(layout, place, query, out);
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

dcl_status dcli_layout_owners(const dcli_layout *layout, const dcl_box *query, dcli_node_list *owners_out)
{
    dcl_box moved;
    owners_out->count = 0;
    if (layout->empty || dcli_box_is_empty(query))
        return DCL_OK;
    if (layout->inner != NULL)
        return dcli_every_inward(layout, query, &moved) ? dcli_layout_owners(layout->inner, &moved, owners_out)
                                                        : DCL_OK;
    if (layout->kind == DCLI_MAP_DEALT && is_element(query)) {
        int64_t offset;
        int place;
        dcli_dealt_locate(layout, query->start, &place, &offset);
        return place >= 0 ? dcli_node_list_add(owners_out, dcli_layout_node(layout, place)) : DCL_OK;
    }
    moved = dcli_from_origin(layout, query);
    dcl_status status = layout->kind == DCLI_MAP_AXES    ? dcli_axes_owners(layout, &moved, owners_out)
                        : layout->kind == DCLI_MAP_DEALT ? dcli_dealt_owners(layout, &moved, owners_out)
                                                         : dcli_boxes_owners(layout, &moved, owners_out);
    dcli_places_sort(owners_out);
    dcli_nodes_convert(&layout->rule, owners_out);
    return status;
}

bool dcli_layout_is_dense(const dcli_layout *layout, int d)
{
    const dcli_division *division = &layout->division[d];
    if (layout->empty || layout->kind == DCLI_MAP_BOXES)
        return true;
    if (layout->inner != NULL || layout->kind == DCLI_MAP_DEALT)
        return false;
    return division->runs > 0 || division->more > 0 || division->used == 1 ||
           division->even == 0; /* not cyclic: each has one run */
}

dcl_status dcli_layout_one_region(const dcli_layout *layout, int node, bool *one_out, dcli_region *region_out)
{
    dcli_region_list list = {.region = region_out, .capacity = 1}; /* no part of such a map has more regions */
    dcl_status status = DCL_OK;
    *one_out = layout->kind == DCLI_MAP_AXES;
    for (int d = 0; d < layout->grid.rank && *one_out; d++)
        *one_out = layout->division[d].runs == 0 && dcli_layout_is_dense(layout, d);
    if (*one_out)
        status = dcli_layout_regions(layout, node, NULL, &list);
    assert(list.region == region_out);
    *one_out = list.count == 1;
    return status;
}

/* ---- elements that are stored nowhere --------------------------------------------------------------------------- */

/* Find out whether some element of a box is stored nowhere. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status has_hole(const dcli_layout *layout, const dcl_box *box, bool *some_out)
{
    int64_t missing = dcli_box_elements(box);
    dcli_region_list list = {0};
    dcl_status status = DCL_OK;
    for (int node = 0; node < layout->node_end && missing > 0 && status == DCL_OK; node++) {
        list.count = 0;
        status = dcli_layout_regions(layout, node, box, &list);
        for (int64_t k = 0; k < list.count; k++)
            missing -= dcli_box_elements(&list.region[k].box);
    }
    dcli_region_list_free(&list);
    *some_out = missing > 0;
    return status;
}

/* Halve a box of several elements along its first axis with more than one index, so that in row-major order all
 * elements of the first half come before those of the second. */
static void halve(const dcl_box *box, dcl_box *first_out, dcl_box *second_out)
{
    int d = 0;
    while (box->count[d] == 1)
        d++;
    *first_out = *second_out = *box;
    first_out->count[d] = box->count[d] / 2;
    second_out->count[d] -= first_out->count[d];
    second_out->start[d] += first_out->count[d] * box->stride[d];
}

dcl_status dcli_layout_first_hole(const dcli_layout *layout, const dcl_box *box, bool *found_out, int64_t index_out[])
{
    dcl_box rest = *box, first, second;
    *found_out = false;
    dcl_status status = layout->partial ? has_hole(layout, box, found_out) : DCL_OK;
    if (status != DCL_OK || !*found_out)
        return status;
    while (status == DCL_OK && dcli_box_elements(&rest) > 1) {
        bool some;
        halve(&rest, &first, &second);
        status = has_hole(layout, &first, &some);
        rest = some ? first : second;
    }
    memcpy(index_out, rest.start, (size_t)rest.rank * sizeof index_out[0]);
    return status;
}

/* Number of consecutive indices along axis d that belong to one place; if runs have different lengths, their
 * average. */
static int64_t together(const dcli_layout *layout, int d)
{
    const dcli_division *division = &layout->division[d];
    int64_t extent = layout->grid.extent[d];
    if (layout->kind == DCLI_MAP_DEALT)
        return dcli_min(layout->rule.piece[d], extent);
    if (division->runs > 0)
        return dcli_max(extent / division->runs, 1);
    return division->used > 1 ? dcli_min(division->run, extent) : extent;
}

/* Number of elements of a box that are contiguous in a file of the whole grid. @param count  [rank] of the box. */
static int64_t run_of(const dcli_layout *layout, const int64_t count[], bool fortran_order)
{
    int rank = layout->grid.rank;
    int64_t run = 1;
    for (int k = 0; k < rank; k++) {
        int d = fortran_order ? k : rank - 1 - k;
        run *= count[d];
        if (count[d] < layout->grid.extent[d])
            break;
    }
    return run;
}

int64_t dcli_layout_run(const dcli_layout *layout, bool fortran_order)
{
    int rank = layout->grid.rank;
    int64_t count[DCL_MAX_RANK], boxes = layout->kind == DCLI_MAP_BOXES ? layout->boxes.count : 0, sum = 0;
    if (layout->empty)
        return INT64_MAX;
    for (int64_t b = 0; b < boxes; b++)
        sum += run_of(layout, &layout->boxes.box[(2 * b + 1) * rank], fortran_order);
    if (boxes > 0)
        return sum / boxes;
    for (int d = 0; d < rank; d++)
        count[d] = together(layout, d);
    return run_of(layout, count, fortran_order);
}

int dcli_layout_divided_axis(const dcli_layout *layout)
{
    int axis = 0, divided = 0;
    for (int d = 0; d < layout->grid.rank && layout->kind == DCLI_MAP_AXES; d++)
        if (layout->rule.nodes[d] > 1) {
            axis = d;
            divided++;
        }
    return divided == 1 ? axis : 0;
}
