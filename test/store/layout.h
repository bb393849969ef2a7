/* test/store/layout.h - storages with elements in random places, and a plain loop over pairs of regions. */
#ifndef TEST_STORE_LAYOUT_H
#define TEST_STORE_LAYOUT_H

#include <stdlib.h>
#include <string.h>

#include "device/opened.h"
#include "segment/random.h"
#include "segment/region.h"

/** A region over a box of `count`: axes in any order, gaps between them, some backwards. Every element has a place of its
 *  own. @param storage_out  elements the storage needs. */
static inline dcli_region test_layout(test_random *random, int rank, const int64_t count[], int64_t *storage_out)
{
    int axis[DCL_MAX_RANK];
    dcli_region region = {.box.rank = rank};
    for (int d = 0; d < rank; d++) {
        axis[d] = d;
        region.box.count[d] = count[d];
        region.box.stride[d] = 1;
    }
    for (int d = rank - 1; d > 0; d--) {
        int other = (int)test_between(random, 0, d), kept = axis[d];
        axis[d] = axis[other];
        axis[other] = kept;
    }
    bool plain = test_between(random, 0, 2) == 0; /* packed, in their order */
    int64_t step = 1, offset = plain ? 0 : test_between(random, 0, 3);
    for (int n = rank - 1; n >= 0; n--) {
        int d = plain ? n : axis[n];
        step *= plain ? 1 : test_between(random, 1, 2);
        bool backwards = !plain && test_between(random, 0, 3) == 0;
        region.step[d] = backwards ? -step : step;
        offset += backwards ? step * (count[d] > 0 ? count[d] - 1 : 0) : 0;
        step *= count[d] > 0 ? count[d] : 1;
    }
    region.offset = offset;
    *storage_out = offset + step + 3;
    return region;
}

/** Step through the elements of a box. Start with t[] = 0 where no count is 0. */
static inline bool test_next_element(int64_t t[], const dcl_box *box)
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++t[d] < box->count[d])
            return true;
        t[d] = 0;
    }
    return false;
}

static inline int64_t test_place(const dcli_region *region, const int64_t t[])
{
    int64_t place = region->offset;
    for (int d = 0; d < region->box.rank; d++)
        place += t[d] * region->step[d];
    return place;
}

/** What dcli_region_copy() should do, element by element. `source` NULL: one element to all. */
static inline void test_copy(void *target, const dcli_region *target_region, const void *source,
                             const dcli_region *source_region, size_t bytes)
{
    int64_t t[DCL_MAX_RANK] = {0};
    if (dcli_box_is_empty(&target_region->box))
        return;
    do {
        int64_t from = source_region == NULL ? 0 : test_place(source_region, t);
        memcpy((char *)target + test_place(target_region, t) * (int64_t)bytes,
               (const char *)source + from * (int64_t)bytes, bytes);
    } while (test_next_element(t, &target_region->box));
}

/** Memory of random bytes. */
static inline unsigned char *test_bytes(test_random *random, size_t bytes)
{
    unsigned char *memory = malloc(bytes + 1);
    for (size_t n = 0; n < bytes; n++)
        memory[n] = (unsigned char)test_next(random);
    return memory;
}

#endif
