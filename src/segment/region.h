/* segment/region.h - a region: a box of indices with the locations of its elements in some storage, by an offset and
 * steps. Pure functions. */
#ifndef DCLI_SEGMENT_REGION_H
#define DCLI_SEGMENT_REGION_H

#include "segment/box.h"

/** Element t (per axis, 0 <= t[d] < box.count[d]) has index box.start + t * box.stride in the grid, and lies at offset
 *  + sum of t[d] * step[d] elements in the storage. Steps may be 0 or negative. */
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

/** The region of a box that is packed in storage, last axis fastest, with its first element at `offset`. */
dcli_region dcli_region_packed(const dcl_box *box, int64_t offset);

enum { DCLI_LINE = 128 }; /* bytes of a GPU's cache line, two of a processor: a multiple of every element's size */

/** The pitch of rows of `row` elements, in storage and in stages. If rows lie a multiple of 4096 bytes apart, or
 *  nearly, all elements of a column map to few cache sets. Such rows are padded by a line, or by two if one would only
 *  bring them to the multiple. The padding is whole lines, because rows that begin within a line cost a GPU 2 to 4 % of
 *  its speed.
 *  @param bytes  of one element. @param line  elements of DCLI_LINE bytes. */
static inline int64_t dcli_padded_row(int64_t row, int64_t bytes, int64_t line)
{
    enum { PAGE = 4096 };
    int64_t row_bytes = row * bytes, beyond = row_bytes & (PAGE - 1); /* cannot overflow: see check_storage() of
                                                                         bind.c */
    if (row_bytes < PAGE || (beyond >= DCLI_LINE && beyond <= PAGE - DCLI_LINE))
        return row;
    return row + (beyond < DCLI_LINE ? line : 2 * line);
}

/** The region of a box in storage with padded rows, last axis fastest: the layout of stages and replicas. */
dcli_region dcli_region_padded(const dcl_box *box, int64_t offset, int64_t bytes);
/** Number of elements of that storage, including padding. */
int64_t dcli_padded_elements(const dcl_box *box, int64_t bytes);

/** Reduce a region to the indices that are also in `box`. @return false: there are none; *out is then empty. */
bool dcli_region_cut(const dcli_region *region, const dcl_box *box, dcli_region *out);

/** Whether two regions whose boxes have the same counts have the same steps. Axes of one index do not matter. */
bool dcli_region_lies_as(const dcli_region *a, const dcli_region *b);
/** Whether all of `box` lies in the region (an empty box does). */
bool dcli_region_covers(const dcli_region *region, const dcl_box *box);

/** Copy elements between two storages; both regions have the same box.
 *  @param bytes  of one element: 1, 2, 4 or 8 (others work, slower).
 *  Axes that lie packed in both are merged and copied by memcpy; transposed copies go in cache-sized squares. */
void dcli_region_copy(void *target, const dcli_region *target_region, const void *source,
                      const dcli_region *source_region, size_t bytes);
/** The same; long rows are stored past the caches, because the target is large and not read soon. */
void dcli_region_stream(void *target, const dcli_region *target_region, const void *source,
                        const dcli_region *source_region, size_t bytes);
/** Set all elements of a region to one. */
void dcli_region_fill(void *target, const dcli_region *region, const void *element, size_t bytes);

#endif
