/* lower/group.h - groups: the parts of works that one work-item gathers and runs. */
#ifndef DCLI_LOWER_GROUP_H
#define DCLI_LOWER_GROUP_H

#include "kernel/gather.h"
#include "lower/gather.h"

enum { DCLI_SOURCE_ORDER = 1, DCLI_OUTPUT_ORDER = 2 }; /* the order of the input's array, or of the output */

int64_t dcli_volume(int rank, const int64_t count[]);

/* ---- properties that parts have from their works */

static inline const dcli_body *dcli_part_body(const dcli_gather *gather) { return gather->operation->body; }

static inline const dcli_gathered *dcli_part_work(const dcli_gather *gather, const dcli_gather_part *part)
{
    return &gather->work[part->number];
}

static inline const dcli_binding *dcli_part_binding(const dcli_gather *gather, const dcli_gather_part *part, int a)
{
    return &gather->plan->binding[dcli_part_work(gather, part)->work->first_binding + a];
}

/** Whether access a is gathered. */
static inline bool dcli_part_gathers(const dcli_gather *gather, const dcli_gather_part *part, int a)
{
    return dcli_part_work(gather, part)->mask >> a & 1;
}

/** Bytes of an element of access a. */
static inline int64_t dcli_part_bytes(const dcli_gather *gather, int a)
{
    return (int64_t)dcli_element_bytes(gather->operation, dcli_part_body(gather)->access[a].param);
}

/** Whether subscripts depend on loop axis m; and the loop axis that runs axis d of an array, or -1. Only for exact
 *  subscripts. */
bool dcli_axis_counts(const dcli_subscripts *subscripts, int m);
int dcli_axis_of(const dcli_subscripts *subscripts, int d);

/* ---- groups (group.c) */

/** The orders in which the inputs of a part can be packed; they are the same for parts of it. */
int dcli_group_orders(const dcli_gather *gather, const dcli_gather_part *part);

dcl_status dcli_group_add(dcli_gather *gather, const dcli_gather_part *part);
/** Whether the output of the group has few gaps. */
bool dcli_group_is_dense(const dcli_gather *gather);
/** Add the group to a launch, in gather->order, and begin the next group. All its parts must bind alike.
 *  @param slow_out  set if most elements would be copied one by one; then the group is dropped. NULL: make it
 *                   anyway. */
dcl_status dcli_group_end(dcli_gather *gather, bool *slow_out);

/* ---- pieces of a group (pieces.c) */

/** Layout of a part's gathered input in the scratch memory, elements. */
typedef struct dcli_packed {
    int64_t at, step[DCL_MAX_RANK];
} dcli_packed;

/** Find the pieces of the group and join them into gather->bin. @param packed  [parts][access_count]. */
dcl_status dcli_pieces_make(dcli_gather *gather, const dcli_packed packed[]);
/** Whether kernels copy most of the pieces with vectors. */
bool dcli_pieces_are_quick(const dcli_gather *gather);

#endif
