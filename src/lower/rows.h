/* lower/rows.h - the rows that kernels run, and their launches. */
#ifndef DCLI_LOWER_ROWS_H
#define DCLI_LOWER_ROWS_H

#include "lower/lower.h"

/** Fill the fields of a row that describe its box. */
void dcli_fill_row_box(const dcli_body *body, const dcl_box *box, int64_t row[]);
/** Fill the row (dcli_row_field) of a work.
 *  @param planned_only  affine accesses are checked against the plan, not against grids.
 *  @param base          [access_count] elements added to the offsets of bindings. */
void dcli_fill_row(const dcli_operation *operation, bool planned_only, const dcli_work *work,
                   const dcli_binding bindings[], const int64_t base[], int64_t row[]);
/** Fill the row of a work of a tile kernel. */
void dcli_tile_fill_row(const dcli_body *body, const dcli_work *work, const dcli_binding bindings[],
                        const int64_t base[], int64_t row[]);

/** The memory that a launch binds for a binding: own part and arena are one each, whatever number plans give. */
static inline dcli_space dcli_bound_space(const dcli_binding *binding)
{
    bool numbered = binding->kind == DCLI_SPACE_PEER || binding->kind == DCLI_SPACE_REPLICA;
    return (dcli_space){binding->kind, numbered ? binding->where : 0};
}

/** Find or make a launch with this variant and these arguments. NULL: DCL_ERR_NOMEM. It is found by a hash, because
 *  hashed arrays may be bound in as many ways as nodes to the power of their number.
 *  @param like  not one of `lowered`. */
dcli_launch *dcli_launch_like(dcli_lowered *lowered, const dcli_launch *like, int accesses);

/** Append an empty row. NULL: DCL_ERR_NOMEM. */
int64_t *dcli_next_row(dcli_launch *launch, int length);

/** Make the rows of a work.
 *  @param base     [access_count] elements added to the offsets of bindings.
 *  @param waiting  receives whole rows that others of the batch may be joined with. */
dcl_status dcli_rows_add(const dcli_operation *operation, const dcli_traits *traits, const dcli_work *work,
                         const dcli_binding bindings[], const int64_t base[], dcli_lowered *lowered,
                         dcli_lowered *waiting);
/** Join the waiting rows, launch by launch, and add the results to their launches. */
dcl_status dcli_rows_end(const dcli_body *body, const dcli_traits *traits, dcli_lowered *waiting,
                         dcli_lowered *lowered);

#endif
