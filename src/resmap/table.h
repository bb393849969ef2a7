/* resmap/table.h - reference-counted tables of numbers: given as a list, or computed when a map is bound to a grid.
 * Shared by all copies of a rule or layout, and immutable once made. */
#ifndef DCLI_RESMAP_TABLE_H
#define DCLI_RESMAP_TABLE_H

#include <stdint.h>

typedef struct dcli_table {
    int references; /* number of references; atomic */
    int64_t count;
    int64_t value[];
} dcli_table;

/** Make a zeroed table with one reference; NULL: DCL_ERR_NOMEM. */
dcli_table *dcli_table_new(int64_t count);
/** Add a reference. @return table. NULL is passed through. */
dcli_table *dcli_table_retain(dcli_table *table);
/** Drop a reference. NULL is accepted. */
void dcli_table_release(dcli_table *table);
/** Whether both contain the same numbers, or are both NULL. */
_Bool dcli_table_equal(const dcli_table *a, const dcli_table *b);

/** Find the last k with value[k] <= x, in ascending values of which the first is <= x. Source: binary search, Knuth
 *  TAOCP 3, 6.2.1. */
static inline int64_t dcli_last_below(const int64_t value[], int64_t count, int64_t x)
{
    const int64_t *base = value;
    for (int64_t n = count; n > 1;) {
        int64_t half = n / 2;
        base = base[half] <= x ? base + half : base;
        n -= half;
    }
    return base - value;
}

#endif
