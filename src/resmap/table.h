/* resmap/table.h - numbers that a map is given as a list, or that follow from it when it meets a grid: shared by all
 * copies of a rule or layout, never changed once made. */
#ifndef DCLI_RESMAP_TABLE_H
#define DCLI_RESMAP_TABLE_H

#include <stdint.h>

typedef struct dcli_table {
    int references; /* atomic */
    int64_t count;
    int64_t value[];
} dcli_table;

/** @return a table of zeros, yours; NULL: DCL_ERR_NOMEM. */
dcli_table *dcli_table_new(int64_t count);
/** Another hold. @return table. NULL is passed through. */
dcli_table *dcli_table_retain(dcli_table *table);
/** End a hold. NULL is accepted. */
void dcli_table_release(dcli_table *table);
/** Whether both hold the same numbers, or are both NULL. */
_Bool dcli_table_equal(const dcli_table *a, const dcli_table *b);

/** The last k with value[k] <= x; value[0] <= x, values never fall. Source: binary search, Knuth TAOCP 3, 6.2.1. */
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
