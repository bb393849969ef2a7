/* segment/cut.c - iterates over the blocks into which a box of indices is cut. */
#include "segment/cut.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"

dcli_cut dcli_cut_begin(int rank, const int64_t whole[], const int64_t shape[])
{
    dcli_cut cut = {.rank = rank};
    for (int d = 0; d < rank; d++)
        assert(whole[d] >= 1 && shape[d] >= 1);
    memcpy(cut.whole, whole, (size_t)rank * sizeof whole[0]);
    memcpy(cut.shape, shape, (size_t)rank * sizeof shape[0]);
    return cut;
}

bool dcli_cut_next(dcli_cut *cut)
{
    int d = cut->rank - 1;
    while (cut->begun && d >= 0 && (cut->lo[d] += cut->shape[d]) >= cut->whole[d])
        cut->lo[d--] = 0;
    if (d < 0)
        return false;
    for (int m = cut->begun ? d : 0; m < cut->rank; m++)
        cut->count[m] = dcli_min(cut->shape[m], cut->whole[m] - cut->lo[m]);
    cut->begun = true;
    return true;
}

void dcli_cut_shape(int rank, const int64_t whole[], const int order[], int64_t most, int64_t shape_out[])
{
    int64_t left = dcli_max(most, 1);
    for (int n = rank - 1; n >= 0; n--) {
        int d = order != NULL ? order[n] : n;
        shape_out[d] = dcli_min(whole[d], left);
        left = shape_out[d] < whole[d] ? 1 : left / whole[d];
    }
}

dcli_region dcli_region_part(const dcli_region *region, const int64_t lo[], const int64_t count[])
{
    dcli_region part = *region;
    for (int d = 0; d < region->box.rank; d++) {
        part.box.start[d] += lo[d] * region->box.stride[d];
        part.box.count[d] = count[d];
        part.offset += lo[d] * region->step[d];
    }
    return part;
}
