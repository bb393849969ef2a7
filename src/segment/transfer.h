/* segment/transfer.h - transfers: elements that go from one space to another, as counts per axis and steps on both
 * sides. Pure functions. */
#ifndef DCLI_SEGMENT_TRANSFER_H
#define DCLI_SEGMENT_TRANSFER_H

#include "segment/region.h"

/** Kinds of spaces that contain elements, as a node sees them. */
typedef enum dcli_space_kind {
    DCLI_SPACE_OWN,     /* the node's part of an array */
    DCLI_SPACE_PEER,    /* another node's part; its number is the node's */
    DCLI_SPACE_STAGE,   /* temporary memory with padded rows, numbered in the plan; in a lowered batch all stages are
                         one space, the arena */
    DCLI_SPACE_REPLICA, /* a replica, which outlives its operation, with padded rows; numbered as the stage that
                           stands for it */
    DCLI_SPACE_CHUNK    /* a data message, numbered in the plan */
} dcli_space_kind;

typedef struct dcli_space {
    dcli_space_kind kind;
    int number; /* number of the memory among those of its kind; 0 for OWN and the arena */
} dcli_space;

/** One side of a transfer: element t lies at offset + sum of t[d] * step[d]. */
typedef struct dcli_side {
    int64_t offset, step[DCL_MAX_RANK];
} dcli_side;

/** A transfer: for every t with 0 <= t[d] < count[d], the element at t of `from` goes to t of `to`. Counts are at least
 *  1. */
typedef struct dcli_transfer {
    int rank;
    int64_t count[DCL_MAX_RANK];
    dcli_side to, from;
} dcli_transfer;

/** The transfer between two regions of one box. */
dcli_transfer dcli_transfer_between(const dcli_region *to, const dcli_region *from);
/** One side of a transfer as a region, whose box counts from 0. */
dcli_region dcli_transfer_region(const dcli_transfer *transfer, const dcli_side *side);
/** The offsets that one side uses: the lowest, and one past the highest. */
void dcli_side_reach(int rank, const int64_t count[], const dcli_side *side, int64_t *low_out, int64_t *end_out);

/** A list of transfers between two spaces, in records as short as their rank allows. Start with {.rank = ...}. */
typedef struct dcli_transfers {
    int rank; /* 1..DCL_MAX_RANK: most axes of a transfer in the list */
    int64_t *record;
    int64_t count, capacity;
} dcli_transfers;

/** Append a transfer of at most the list's rank. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_transfers_add(dcli_transfers *list, const dcli_transfer *transfer);
/** Transfer number n of a list. */
dcli_transfer dcli_transfers_get(const dcli_transfers *list, int64_t n);
/** Replace transfer number n of a list. */
void dcli_transfers_set(dcli_transfers *list, int64_t n, const dcli_transfer *transfer);
/** Number of elements that all transfers of a list copy. */
int64_t dcli_transfers_elements(const dcli_transfers *list);
/** Bytes of memory allocated for the list. */
int64_t dcli_transfers_bytes(const dcli_transfers *list);
void dcli_transfers_free(dcli_transfers *list);

/** How transfers are joined; see segment/join.h. */
typedef enum dcli_join_flags {
    DCLI_JOIN_BY_FROM = 1, /* no element of `from` occurs twice; without this flag, no element of `to` occurs twice */
    DCLI_JOIN_BY_BOTH = 2, /* look for patterns in the order of both sides: what alternates in one may be contiguous in
                            the other */
    DCLI_JOIN_PAIRS = 4,   /* two transfers may form an axis; otherwise three are needed, since two may be neighbours
                            by accident */
    DCLI_JOIN_REGULAR_PAIRS =
        8 /* two transfers may form an axis if the result is regular: accidental pairs have many different shapes */
} dcli_join_flags;

/** Join transfers into fewer ones with the same pairs of elements, in any order: transfers at equal distances on both
 *  sides become one, along an axis that they continue or along an unused one. Cost: a few passes of O(n log n). @return
 *  DCL_OK, or DCL_ERR_NOMEM: the list has the same pairs, perhaps in fewer transfers. */
dcl_status dcli_transfers_join(dcli_transfers *list, int flags);

/** One loop of a transfer, in elements. */
typedef struct dcli_loop {
    int64_t count, to, from;
} dcli_loop;

/** Convert a transfer to the fewest nested loops: axes of one index are omitted; each loop runs upwards in `to` (if its
 *  step there is 0, in `from`); the outermost has the largest step in `to`; and loops that continue each other on both
 *  sides are merged. Takes the fields of a transfer, because there may be millions of single-element ones.
 *  @param count  [rank] at least 1. @param from_step  NULL: all are 0.
 *  @param to_in_out, from_in_out  offsets, changed to those of the loops' first element. @return number of loops. */
int dcli_transfer_loops(int rank, const int64_t count[], const int64_t to_step[], const int64_t from_step[],
                        int64_t *to_in_out, int64_t *from_in_out, dcli_loop loops_out[DCL_MAX_RANK]);

#endif
