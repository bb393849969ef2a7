/* lower/group.h - groups: the parts of works that one work-item gathers and runs. */
#ifndef DCLI_LOWER_GROUP_H
#define DCLI_LOWER_GROUP_H

#include "kernel/gather.h"
#include "lower/gather.h"

enum {
    DCLI_SOURCE_ORDER = 1,
    DCLI_OUTPUT_ORDER = 2
}; /* how inputs are packed: in the order of the input's array,
                                                          or of the output */

/** Number of elements of a box: the product of its counts. */
int64_t dcli_volume(int rank, const int64_t count[]);

/* ---- properties that a part has from its work */

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

/** Whether subscripts depend on loop axis m. */
bool dcli_axis_counts(const dcli_subscripts *subscripts, int m);
/** The loop axis that subscript d of exact subscripts depends on; -1: none. */
int dcli_axis_of(const dcli_subscripts *subscripts, int d);

/* ---- groups (group.c) */

/** The orders in which the inputs of a part can be packed, as bits (DCLI_SOURCE_ORDER, DCLI_OUTPUT_ORDER); 0: neither.
 *  Parts of this part have the same. */
int dcli_group_orders(const dcli_gather *gather, const dcli_gather_part *part);

/** Add a part to the current group. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_group_add(dcli_gather *gather, const dcli_gather_part *part);
/** Whether few elements in the stretch of storage that contains the group's output are not of the group. */
bool dcli_group_is_dense(const dcli_gather *gather);
/** End the current group: compute its pieces and rows in gather->order, add it to a launch, and begin the next group.
 *  All parts of the group must have the same bindings.
 *  @param slow_out  set to true if most elements would be copied one by one; then the group is dropped. NULL: add it in
 *                   any case. */
dcl_status dcli_group_end(dcli_gather *gather, bool *slow_out);

/* ---- pieces of a group (pieces.c) */

/** Where a part's gathered input is in the scratch memory: offset of its first element and step per loop axis, in
 *  elements. */
typedef struct dcli_packed {
    int64_t at, step[DCL_MAX_RANK];
} dcli_packed;

/** Compute the pieces of all inputs that the group gathers, joined, in gather->bin. @param packed
 *  [parts][access_count]. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_pieces_make(dcli_gather *gather, const dcli_packed packed[]);
/** Whether kernels copy most of the pieces' elements with vectors. */
bool dcli_pieces_are_quick(const dcli_gather *gather);

#endif
