/* resmap/lanes.c - converts a product of lanes (one per axis) into regions. Along each axis the indices of a lane are
 * cut either into its runs, or into strided sets that take the same position of every run, whichever gives fewer
 * regions. */
#include <stdlib.h>

#include "base/check.h"
#include "resmap/parts.h"

/* One axis of a region: indices start, start + stride, ..., and their offsets in storage: offset, offset + step, ... */
struct strip {
    int64_t start, count, stride, offset, step;
};

enum cutting { JOINED, BY_RUN, BY_POSITION };

/* How the indices of a lane that can be in the query are cut into `count` strips. */
struct strips {
    const dcli_lane *lane;
    enum cutting cutting;
    int64_t first_run, runs; /* runs of the lane that can have indices of the query: the first, counted within
                                       the lane, and how many */
    int64_t first_position, position_gap; /* BY_POSITION: within a run the query's indices can only be at positions
                                       first_position + multiples of position_gap */
    int64_t count;
    int64_t start, elements, stride; /* the query's indices on this axis: start, start + stride, ... */
};

/* Find the runs of the lane between the query's first and last index. @return false: there are none. */
static bool narrow(struct strips *strips)
{
    const dcli_lane *lane = strips->lane;
    int64_t first = strips->start - lane->base;
    int64_t last = first + (strips->elements - 1) * strips->stride;
    if (last < 0)
        return false;
    first = first < 0 ? 0 : first / lane->run;
    last = last / lane->run;
    int64_t lo = 0, hi = last - lane->first;
    if (hi < 0)
        return false;
    if (first > lane->first)
        lo = lane->step == 1 ? first - lane->first : dcli_ceil_div(first - lane->first, lane->step);
    hi = dcli_min(lane->step == 1 ? hi : hi / lane->step, lane->count - 1);
    strips->first_run = lo;
    strips->runs = hi - lo + 1;
    return lo <= hi;
}

/* Whether to cut by runs although that gives more strips. Along the contiguous axis runs fill whole cache lines,
 * whereas strided sets would touch every line once per position. Up to WORTH times as many strips are accepted. */
static bool fills_lines(const struct strips *strips, int64_t bytes)
{
    enum { LINE = 64, WORTH = 32 };
    const dcli_lane *lane = strips->lane;
    return lane->within == 1 && strips->stride == 1 && lane->run * bytes >= LINE && strips->runs <= WORTH * lane->run;
}

static bool choose_strips(const dcli_lane *lane, const dcl_box *query, int d, int64_t bytes, struct strips *strips)
{
    *strips = (struct strips){.lane = lane, .cutting = BY_RUN};
    strips->start = query->start[d];
    strips->elements = query->count[d];
    strips->stride = query->stride[d];
    if (!narrow(strips))
        return false;
    strips->count = strips->runs;
    if (strips->runs == 1)
        return true;
    if (lane->step == 1 && lane->between == lane->run * lane->within) {
        strips->cutting = JOINED;
        strips->count = 1;
        return true;
    }
    strips->position_gap = strips->stride == 1 ? 1 : dcli_gcd(strips->stride, lane->run);
    if (lane->run / strips->position_gap < strips->runs && !fills_lines(strips, bytes)) {
        strips->cutting = BY_POSITION;
        strips->count = lane->run / strips->position_gap;
        strips->first_position = dcli_mod(strips->start - lane->base, strips->position_gap);
    }
    return true;
}

static struct strip make_strip(const struct strips *strips, int64_t k)
{
    const dcli_lane *lane = strips->lane;
    int64_t run = strips->first_run, position;
    switch (strips->cutting) {
    case BY_POSITION:
        position = strips->first_position + k * strips->position_gap;
        return (struct strip){.start = lane->base + (lane->first + run * lane->step) * lane->run + position,
                              .count = strips->runs,
                              .stride = lane->step * lane->run,
                              .offset = run * lane->between + position * lane->within,
                              .step = lane->between};
    case BY_RUN:
        run += k;
        break;
    case JOINED:
        break;
    }
    return (struct strip){.start = lane->base + (lane->first + run * lane->step) * lane->run,
                          .count = strips->cutting == JOINED ? strips->runs * lane->run : lane->run,
                          .stride = 1,
                          .offset = run * lane->between,
                          .step = lane->within};
}

/* Reduce a strip to `count` of its elements: number first, first + step, ... */
static void take(struct strip *strip, int64_t first, int64_t count, int64_t step)
{
    strip->start += first * strip->stride;
    strip->offset += first * strip->step;
    strip->count = count;
    if (count > 1) {
        strip->stride *= step;
        strip->step *= step;
    } else {
        strip->stride = 1;
    }
}

/* Intersect a strip with the query, which lies in the grid. @return false: the intersection is empty. */
static bool cut(const struct strips *strips, struct strip *strip)
{
    int64_t query_last = strips->start + (strips->elements - 1) * strips->stride;
    if (strips->stride == 1) { /* the most frequent case, without the Chinese remainder theorem */
        int64_t lo = dcli_max(strips->start - strip->start, 0), hi = query_last - strip->start;
        if (strip->stride != 1) {
            lo = dcli_ceil_div(lo, strip->stride);
            hi = dcli_floor_div(hi, strip->stride);
        }
        hi = dcli_min(hi, strip->count - 1);
        if (lo > hi)
            return false;
        take(strip, lo, hi - lo + 1, 1);
        return true;
    }
    int64_t start, count, stride;
    if (!dcli_run_intersect(strip->start, strip->count, strip->stride, strips->start, strips->elements, strips->stride,
                            &start, &count, &stride))
        return false;
    take(strip, (start - strip->start) / strip->stride, count, count > 1 ? stride / strip->stride : 1);
    return true;
}

struct product {
    dcli_walk *walk;
    const int *order;
    struct strips strips[DCL_MAX_RANK]; /* by level: the axes in the order in which they are multiplied */
    dcli_region region;
};

bool dcli_region_emit(dcli_walk *walk, const dcli_region *region)
{
    walk->found = true;
    if (walk->out == NULL)
        return false;
    dcli_region placed = *region;
    for (int d = 0; d < placed.box.rank; d++)
        placed.box.start[d] += walk->layout->grid.origin[d];
    walk->status = dcli_region_list_add(walk->out, &placed);
    return walk->status == DCL_OK;
}

static bool multiply(struct product *product, int level, int64_t offset)
{
    dcli_region *region = &product->region;
    if (level == region->box.rank) {
        region->offset = offset;
        return dcli_region_emit(product->walk, region);
    }
    const struct strips *strips = &product->strips[level];
    int d = product->order != NULL ? product->order[level] : level;
    for (int64_t k = 0; k < strips->count; k++) {
        struct strip strip = make_strip(strips, k);
        if (!cut(strips, &strip))
            continue;
        region->box.start[d] = strip.start;
        region->box.count[d] = strip.count;
        region->box.stride[d] = strip.stride;
        region->step[d] = strip.step;
        if (!multiply(product, level + 1, offset + strip.offset))
            return false;
    }
    return true;
}

bool dcli_lanes_emit(dcli_walk *walk, const dcli_lane lane[], int64_t offset, const int order[])
{
    struct product product;
    product.walk = walk;
    product.order = order;
    int rank = walk->query.rank;
    for (int level = 0; level < rank; level++) {
        int d = order != NULL ? order[level] : level;
        if (!choose_strips(&lane[d], &walk->query, d, walk->layout->bytes, &product.strips[level]))
            return true; /* the query has no element here: continue with the next */
    }
    product.region = (dcli_region){.box = {.rank = rank}};
    return multiply(&product, 0, offset + walk->layout->lead);
}

bool dcli_element_emit(dcli_walk *walk, const int64_t index[], int64_t offset)
{
    if (!dcli_box_contains(&walk->query, index))
        return true;
    dcli_region region = {.box = {.rank = walk->query.rank}, .offset = offset};
    for (int d = 0; d < region.box.rank; d++) {
        region.box.start[d] = index[d];
        region.box.count[d] = region.box.stride[d] = 1;
    }
    return dcli_region_emit(walk, &region);
}

static int by_offset(const void *a, const void *b)
{
    int64_t x = ((const dcli_region *)a)->offset, y = ((const dcli_region *)b)->offset;
    return (x > y) - (x < y);
}

void dcli_sort_regions(dcli_region_list *list, int64_t first)
{
    for (int64_t k = first + 1; k < list->count; k++)
        if (list->region[k - 1].offset > list->region[k].offset) {
            qsort(list->region + first, (size_t)(list->count - first), sizeof list->region[0], by_offset);
            return;
        }
}
