/* runtime/partial.c - arrays of which some elements are not stored: reading gives the fill value, writing is
 * refused. */
#include <string.h>

#include "base/text.h"
#include "runtime/cluster.h"

void dcli_partial_rest(const dcl_array *array, const dcl_box *box, void *memory, const int64_t strides[])
{
    const dcli_layout *layout = &dcli_array_base(array)->layout;
    dcli_region region = {.box = *box};
    memcpy(region.step, strides, (size_t)box->rank * sizeof strides[0]);
    if (layout->partial && !dcli_box_is_empty(box))
        dcli_region_fill(memory, &region, &layout->fill_value, dcl_type_bytes(layout->grid.type));
}

dcl_status dcli_partial_writable(const dcl_array *array, const dcl_box *box)
{
    const dcli_layout *layout = &dcli_array_base(array)->layout;
    int64_t index[DCL_MAX_RANK];
    char text[256];
    bool found;
    dcl_box base = *box;
    if (!layout->partial || dcli_box_is_empty(box))
        return DCL_OK;
    if (array->base != NULL)
        dcli_transform_box(&array->view, box, &base);
    dcl_status status = dcli_layout_first_hole(layout, &base, &found, index);
    if (status != DCL_OK || !found)
        return status;
    dcli_print_numbers(text, sizeof text, base.rank, index, ", ");
    return DCLI_FAIL(
        DCL_ERR_RANGE,
        "element (%s)%s is stored nowhere by its map and cannot be written; expected a box of elements that "
        "are stored (dcl_map_boxes() has them); dcl_fill() and dcl_load_npy() write these alone",
        text, array->base != NULL ? " of the array behind the view" : "");
}
