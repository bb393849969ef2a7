/* segment/region.h - a box of indices and where its elements lie in some storage: an affine piece of memory. Pure. */
#ifndef DCLI_SEGMENT_REGION_H
#define DCLI_SEGMENT_REGION_H

#include "segment/box.h"

/** Element number t (per axis, 0 <= t[d] < box.count[d]) has index box.start + t * box.stride in the grid and lies at
 *  offset + sum of t[d] * step[d] elements in the storage. Steps may be 0 or negative. */
typedef struct dcli_region {
    dcl_box box;
    int64_t offset;
    int64_t step[DCL_MAX_RANK];
} dcli_region;

typedef struct dcli_region_list {
    dcli_region *region;
    int64_t count, capacity;
} dcli_region_list;

dcl_status dcli_region_list_add(dcli_region_list *list, const dcli_region *region);
void dcli_region_list_free(dcli_region_list *list);

/** The box packed in storage, last axis fastest, first element at `offset`. */
dcli_region dcli_region_packed(const dcl_box *box, int64_t offset);

/** Cut to the indices that are also in `box`. @return false when there is none. */
bool dcli_region_cut(const dcli_region *region, const dcl_box *box, dcli_region *out);

/** Whether all of `box` lies in the region (an empty box does). */
bool dcli_region_covers(const dcli_region *region, const dcl_box *box);

/** Copy elements between two storages; both regions have the same box.
 *  @param bytes  of one element: 1, 2, 4 or 8 (others work, slower).
 *  Axes that lie packed in both are merged and copied by memcpy; transposed copies go in cache-sized squares. */
void dcli_region_copy(void *target, const dcli_region *target_region, const void *source,
                      const dcli_region *source_region, size_t bytes);
/** Set all elements of a region to one. */
void dcli_region_fill(void *target, const dcli_region *region, const void *element, size_t bytes);

#endif
