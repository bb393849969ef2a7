/* segment/join.h - join patterns of elements: records of counts and steps in several storages at once are merged where
 * they continue each other. Pure functions. */
#ifndef DCLI_SEGMENT_JOIN_H
#define DCLI_SEGMENT_JOIN_H

#include <stdbool.h>

#include <dcl/grid.h>

/** The format of patterns: records of `length` longs. An index t, 0 <= t[m] < count[m], stands for one element in each
 *  of several storages ("places"): those at offset + sum of t[m] * step[m]. */
typedef struct dcli_patterns {
    int rank, places;
    int length;        /* longs in a record */
    int count;         /* position of count[rank] in a record, all at least 1 */
    const int *at;     /* [places] position of an offset in a record, followed by step[rank] */
    int leading;       /* the place by whose offset records are sorted: none of its elements occurs twice */
    bool by_all;       /* sort by the offsets of each other place, too, one after the other: elements that alternate
                          in one place may be contiguous in another */
    bool pairs;        /* two records may form an axis; otherwise three are needed, since two may be neighbours by
                      accident */
    const bool *still; /* [places * rank] steps that must stay 0 along an axis; NULL: none */
    const int *near;   /* [places] the axis along which a step of 1 is preferred, -1: none; NULL: none at all */
} dcli_patterns;

/** Join records into fewer ones with the same tuples of elements. Records get sorted; steps along axes of one index are
 *  set to 0. Cost: a few passes of O(n log n). @return DCL_OK, or DCL_ERR_NOMEM: the records are unchanged. */
dcl_status dcli_patterns_join(const dcli_patterns *patterns, int64_t records[], int64_t *count_in_out);

#endif
