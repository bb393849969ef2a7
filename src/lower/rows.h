/* lower/rows.h - the rows that kernels run, and the launches that they belong to. */
#ifndef DCLI_LOWER_ROWS_H
#define DCLI_LOWER_ROWS_H

#include "lower/lower.h"

/** The fields of a row that say which box it runs. */
void dcli_fill_row_box(const dcli_body *body, const dcl_box *box, int64_t row[]);
/** A work as a row (dcli_row_field).
 *  @param planned_only  affine accesses are checked against what was planned, not against grids.
 *  @param base          [access_count] elements added to the offsets of bindings. */
void dcli_fill_row(const dcli_operation *operation, bool planned_only, const dcli_work *work,
                   const dcli_binding bindings[], const int64_t base[], int64_t row[]);
/** The same for a tile kernel. */
void dcli_tile_fill_row(const dcli_body *body, const dcli_work *work, const dcli_binding bindings[],
                        const int64_t base[], int64_t row[]);

/** Where a launch finds what a work binds so: own part and arena are one each, whatever number plans give. */
static inline dcli_space dcli_bound_space(const dcli_binding *binding)
{
    bool numbered = binding->kind == DCLI_SPACE_PEER || binding->kind == DCLI_SPACE_REPLICA;
    return (dcli_space){binding->kind, numbered ? binding->where : 0};
}

/** A launch that binds its arguments so, and is of this variant; a new one when there is none. NULL: DCL_ERR_NOMEM. Cost: it is
 *  found by a hash, as hashed arrays may be bound in as many ways as nodes to the power of their number.
 *  @param like  not one of `lowered`. */
dcli_launch *dcli_launch_like(dcli_lowered *lowered, const dcli_launch *like, int accesses);

/** Room for one more row. NULL: DCL_ERR_NOMEM. */
int64_t *dcli_next_row(dcli_launch *launch, int length);

/** Make rows of a work.
 *  @param base     [access_count] elements added to the offsets of bindings.
 *  @param waiting  where they stay whole, if others of the batch may join them. */
dcl_status dcli_rows_add(const dcli_operation *operation, const dcli_traits *traits, const dcli_work *work,
                         const dcli_binding bindings[], const int64_t base[], dcli_lowered *lowered,
                         dcli_lowered *waiting);
/** Join the rows that wait, launch by launch, and put the results where they belong. */
dcl_status dcli_rows_end(const dcli_body *body, const dcli_traits *traits, dcli_lowered *waiting,
                         dcli_lowered *lowered);

#endif
