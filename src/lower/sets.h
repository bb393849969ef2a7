/* lower/sets.h - sets of rows that a GPU runs in one launch. */
#ifndef DCLI_LOWER_SETS_H
#define DCLI_LOWER_SETS_H

#include "lower/lower.h"

/** Divide the rows of a launch into sets: fill `set`, and `own` with the own numbers of all rows; `row` keeps only the
 *  first row of each set. @return DCL_OK or DCL_ERR_NOMEM. Cost: O(n log n) for n rows. */
dcl_status dcli_rows_divide(const dcli_body *body, dcli_launch *launch);

/** Write out row n of set s in full, from the set's first row and the row's own numbers. @param row_out
 *  [dcli_row_length()] */
void dcli_set_row(const dcli_body *body, const dcli_launch *launch, int64_t s, int64_t n, int64_t row_out[]);

#endif
