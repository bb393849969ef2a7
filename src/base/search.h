/* base/search.h - binary search in sorted lists. */
#ifndef DCLI_BASE_SEARCH_H
#define DCLI_BASE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/** Whether entry i of a list comes before a key. */
typedef bool dcli_before_fn(const void *list, int64_t i, int64_t key);

/** The index of the first entry that does not come before a key; `count`: all do. The list must be sorted: entries that
 *  come before the key precede all others. Cost: O(log count). */
static inline int64_t dcli_lower_bound(const void *list, int64_t count, int64_t key, dcli_before_fn *before)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (before(list, middle, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
