/* lower/rows.h - the rows that kernels run, and their launches. */
#ifndef DCLI_LOWER_ROWS_H
#define DCLI_LOWER_ROWS_H

#include "lower/lower.h"

/** Fill the fields of a row that describe its box. */
void dcli_fill_row_box(const dcli_body *body, const dcl_box *box, int64_t row[]);
/** Fill the row of a work of a loop body (fields: dcli_row_field).
 *  @param planned_only  the bounds that checks use are those of the plan, so that a kernel with checks finds reads
 *                       outside of it; otherwise those of the arrays' grids.
 *  @param base          [access_count] elements to be added to the bindings' offsets. */
void dcli_fill_row(const dcli_operation *operation, bool planned_only, const dcli_work *work,
                   const dcli_binding bindings[], const int64_t base[], int64_t row[]);
/** Fill the row of a work of a tile kernel. @param base  as for dcli_fill_row(). */
void dcli_tile_fill_row(const dcli_body *body, const dcli_work *work, const dcli_binding bindings[],
                        const int64_t base[], int64_t row[]);

/** The memory that a launch gets as argument for a binding. Own part and arena have no number. */
static inline dcli_space dcli_bound_space(const dcli_binding *binding)
{
    bool numbered = binding->kind == DCLI_SPACE_PEER || binding->kind == DCLI_SPACE_REPLICA;
    return (dcli_space){binding->kind, numbered ? binding->where : 0};
}

/** Find the launch with the same kernel and arguments as `like`, or add it. @return NULL: DCL_ERR_NOMEM. It is found by
 *  a hash, because there may be many launches: with hashed arrays each work may read parts of other nodes.
 *  @param like  not one of `lowered`. */
dcli_launch *dcli_launch_like(dcli_lowered *lowered, const dcli_launch *like, int accesses);

/** Append a row to a launch, to be filled by the caller. @return NULL: DCL_ERR_NOMEM. */
int64_t *dcli_next_row(dcli_launch *launch, int length);

/** Make the rows of a work, in launches of `lowered`; or, if rows of the batch can be joined, its one row in `waiting`.
 *  @return DCL_OK or DCL_ERR_NOMEM.
 *  @param base     [access_count] elements to be added to the bindings' offsets.
 *  @param waiting  rows that dcli_rows_end() joins. */
dcl_status dcli_rows_add(const dcli_operation *operation, const dcli_traits *traits, const dcli_work *work,
                         const dcli_binding bindings[], const int64_t base[], dcli_lowered *lowered,
                         dcli_lowered *waiting);
/** Join the waiting rows of each launch, cut the joined rows for the device, and add them to launches of `lowered`.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_rows_end(const dcli_body *body, const dcli_traits *traits, dcli_lowered *waiting,
                         dcli_lowered *lowered);

#endif
