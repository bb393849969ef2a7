/* segment/transfer.h - elements that go from one space to another: how many per axis, and the steps on both sides. Pure. */
#ifndef DCLI_SEGMENT_TRANSFER_H
#define DCLI_SEGMENT_TRANSFER_H

#include "segment/region.h"

/** Where elements lie, as a node sees it. */
typedef enum dcli_space_kind {
    DCLI_SPACE_OWN,  /* the node's part of an array */
    DCLI_SPACE_PEER, /* another node's part; its number is the node's */
    DCLI_SPACE_STAGE, /* a temporary, padded like storage, numbered in the plan; lowered, all stages of a batch are one: the arena */
    DCLI_SPACE_REPLICA, /* a copy that outlives its operation, padded alike; numbered as the stage that stands for it */
    DCLI_SPACE_CHUNK    /* a message of data, numbered in the plan */
} dcli_space_kind;

typedef struct dcli_space {
    dcli_space_kind kind;
    int number; /* 0 for OWN and the arena */
} dcli_space;

/** One side of a transfer: element t lies at offset + sum of t[d] * step[d]. */
typedef struct dcli_side {
    int64_t offset, step[DCL_MAX_RANK];
} dcli_side;

/** For every t with 0 <= t[d] < count[d], the element at t of `from` goes to t of `to`. Counts are at least 1. */
typedef struct dcli_transfer {
    int rank;
    int64_t count[DCL_MAX_RANK];
    dcli_side to, from;
} dcli_transfer;

/** The same between two regions of one box. */
dcli_transfer dcli_transfer_between(const dcli_region *to, const dcli_region *from);
/** One side of a transfer as a region, whose box counts from 0. */
dcli_region dcli_transfer_region(const dcli_transfer *transfer, const dcli_side *side);
/** The elements of one side, lowest offset to one past the highest. */
void dcli_side_reach(int rank, const int64_t count[], const dcli_side *side, int64_t *low_out, int64_t *end_out);

/** Many transfers between the same two spaces, in records as short as their rank allows. Start with {.rank = ...}. */
typedef struct dcli_transfers {
    int rank; /* 1..DCL_MAX_RANK: axes that a transfer may have */
    int64_t *record;
    int64_t count, capacity;
} dcli_transfers;

/** Append one of at most the list's rank. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_transfers_add(dcli_transfers *list, const dcli_transfer *transfer);
dcli_transfer dcli_transfers_get(const dcli_transfers *list, int64_t n);
void dcli_transfers_set(dcli_transfers *list, int64_t n, const dcli_transfer *transfer);
/** Elements of all. */
int64_t dcli_transfers_elements(const dcli_transfers *list);
/** Memory that the list takes. */
int64_t dcli_transfers_bytes(const dcli_transfers *list);
void dcli_transfers_free(dcli_transfers *list);

/** How transfers are joined: segment/join.h. */
typedef enum dcli_join_flags {
    DCLI_JOIN_BY_FROM = 1, /* no element of `from` occurs twice; without it, none of `to` does */
    DCLI_JOIN_BY_BOTH =
        2,               /* look for patterns in the order of both sides: what alternates in one may not in the other */
    DCLI_JOIN_PAIRS = 4, /* two transfers may make an axis; else it takes three, as two may be neighbours by chance */
    DCLI_JOIN_REGULAR_PAIRS =
        8 /* the same, but only where the result is regular: pairs found by chance have many shapes */
} dcli_join_flags;

/** Make fewer transfers of many, with the same pairs of elements, in any order: transfers that lie evenly apart on both sides
 *  become one, along an axis that they continue or along an unused one.
 *  Cost: O(n log n), a few times. @return DCL_OK, or DCL_ERR_NOMEM: the list has the same pairs. */
dcl_status dcli_transfers_join(dcli_transfers *list, int flags);

/** A loop of a transfer, in elements. */
typedef struct dcli_loop {
    int64_t count, to, from;
} dcli_loop;

/** The axes of a transfer as the fewest nested loops: axes of one index are left out, each runs upwards in `to` (where that
 *  stands still, in `from`), the outermost has the largest step in `to`, and where one continues another on both sides they
 *  are one loop. There may be millions of transfers of one element: a dcli_transfer need not be made for this.
 *  @param count  [rank] at least 1. @param from_step  NULL: all are 0.
 *  @param to_in_out, from_in_out  offsets, which become those of the loops' first element. @return number of loops. */
int dcli_transfer_loops(int rank, const int64_t count[], const int64_t to_step[], const int64_t from_step[],
                        int64_t *to_in_out, int64_t *from_in_out, dcli_loop loops_out[DCL_MAX_RANK]);

#endif
