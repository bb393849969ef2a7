/* segment/region.c - boxes with a place in storage: packing, cutting, covering. Copying is in segment/copy.c. */
#include "segment/region.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/wide.h"

dcl_status dcli_region_list_add(dcli_region_list *list, const dcli_region *region)
{
    dcli_region copy = *region; /* a copy: the region may be in the list, which moves when it grows */
    if (dcli_grow(&list->region, list->count, &list->capacity, sizeof *list->region) != 0)
        return DCL_ERR_NOMEM;
    list->region[list->count++] = copy;
    return DCL_OK;
}

void dcli_region_list_free(dcli_region_list *list)
{
    dcli_free(list->region);
    *list = (dcli_region_list){0};
}

dcli_region dcli_region_packed(const dcl_box *box, int64_t offset)
{
    dcli_region region = {.box = *box, .offset = offset};
    int64_t step = 1;
    for (int d = box->rank - 1; d >= 0; d--) {
        region.step[d] = step;
        step *= box->count[d];
    }
    return region;
}

/* Distance between two rows of a stage, in elements. A single row needs no padding. */
static int64_t pitch_of(const dcl_box *box, int64_t bytes)
{
    int64_t row = box->count[box->rank - 1];
    return dcli_box_elements(box) > row ? dcli_padded_row(row, bytes, DCLI_LINE / bytes) : row;
}

dcli_region dcli_region_padded(const dcl_box *box, int64_t offset, int64_t bytes)
{
    dcli_region region = {.box = *box, .offset = offset};
    int64_t step = 1;
    for (int d = box->rank - 1; d >= 0; d--) {
        region.step[d] = step;
        step *= d == box->rank - 1 ? pitch_of(box, bytes) : box->count[d];
    }
    return region;
}

int64_t dcli_padded_elements(const dcl_box *box, int64_t bytes)
{
    int64_t row = box->count[box->rank - 1], elements = dcli_box_elements(box);
    return elements > row ? elements / row * pitch_of(box, bytes) : elements;
}

/* Whether two boxes have no strides, and no index after them needs more than 64 bits: the frequent case. */
static bool are_plain(const dcl_box *a, const dcl_box *b)
{
    bool plain = true;
    int64_t end;
    for (int d = 0; d < a->rank && plain; d++)
        plain = a->stride[d] == 1 && b->stride[d] == 1 && !__builtin_add_overflow(a->start[d], a->count[d], &end) &&
                !__builtin_add_overflow(b->start[d], b->count[d], &end);
    return plain;
}

/* As dcli_region_cut(), for plain boxes; `out` is no other argument. A path of its own, because there may be one call
 * for every element of an array. */
static bool cut_plain(const dcli_region *region, const dcl_box *box, dcli_region *out)
{
    bool some = true;
    memset(out, 0, sizeof *out);
    out->box.rank = region->box.rank;
    out->offset = region->offset;
    for (int d = 0; d < region->box.rank; d++) {
        int64_t start = region->box.start[d], from = dcli_max(box->start[d], start);
        int64_t to = dcli_min(box->start[d] + box->count[d], start + region->box.count[d]);
        some = some && from < to;
        out->box.start[d] = from;
        out->box.count[d] = dcli_max(to - from, 0);
        out->box.stride[d] = 1;
        out->step[d] = region->step[d];
        out->offset += some ? (from - start) * region->step[d] : 0;
    }
    return some;
}

bool dcli_region_cut(const dcli_region *region, const dcl_box *box, dcli_region *out)
{
    if (out != region && box != &out->box && are_plain(&region->box, box))
        return cut_plain(region, box, out);
    dcli_region cut = *region; /* out may be region */
    bool some = dcli_box_intersect(&region->box, box, &cut.box);
    for (int d = 0; some && d < cut.box.rank; d++) {
        int64_t stride = region->box.stride[d];
        int64_t lo = (int64_t)(((dcli_wide)cut.box.start[d] - region->box.start[d]) / stride);
        cut.offset += lo * region->step[d];
        if (cut.box.count[d] > 1)
            cut.step[d] *= cut.box.stride[d] / stride;
    }
    *out = cut;
    return some;
}

bool dcli_region_lies_as(const dcli_region *a, const dcli_region *b)
{
    for (int d = 0; d < a->box.rank; d++)
        if (a->box.count[d] > 1 && a->step[d] != b->step[d])
            return false;
    return true;
}

bool dcli_region_covers(const dcli_region *region, const dcl_box *box)
{
    if (dcli_box_is_empty(box))
        return true;
    dcl_box common;
    bool covers = true;
    if (are_plain(&region->box, box)) {
        for (int d = 0; d < box->rank && covers; d++)
            covers = box->start[d] >= region->box.start[d] &&
                     box->start[d] + box->count[d] <= region->box.start[d] + region->box.count[d];
        return covers;
    }
    if (!dcli_box_intersect(&region->box, box, &common))
        return false;
    for (int d = 0; d < box->rank && covers; d++)
        covers = common.count[d] == box->count[d];
    return covers;
}
