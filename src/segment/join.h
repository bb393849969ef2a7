/* segment/join.h - patterns of elements: counts and steps in several storages at once, joined where they go on. Pure. */
#ifndef DCLI_SEGMENT_JOIN_H
#define DCLI_SEGMENT_JOIN_H

#include <stdbool.h>

#include <dcl/grid.h>

/** How patterns are written down: records of `length` longs. An index t, 0 <= t[m] < count[m], stands for one element in each
 *  of several places: those at offset + sum of t[m] * step[m]. */
typedef struct dcli_patterns {
    int rank, places;
    int length;    /* of a record */
    int count;     /* where count[rank] stands in a record, all at least 1 */
    const int *at; /* [places] where an offset stands in a record, step[rank] behind it */
    int leading;   /* the place by whose offset records are sorted: no element of it occurs twice */
    bool by_all;   /* sort by the offsets of the other places in turn, too: what alternates in one may not in another */
    bool pairs;    /* two records may make an axis; else it takes three, as two may be neighbours by chance */
    const bool *still; /* [places * rank] steps that must be 0 along an axis; NULL: none */
    const int *near;   /* [places] the axis along which a step of 1 is best, -1: none; NULL: none of all */
} dcli_patterns;

/** Make fewer records of many, with the same tuples of elements. Records are sorted; steps along axes of one index are 0.
 *  Cost: O(n log n), a few times. @return DCL_OK, or DCL_ERR_NOMEM: nothing is lost. */
dcl_status dcli_patterns_join(const dcli_patterns *patterns, int64_t records[], int64_t *count_in_out);

#endif
