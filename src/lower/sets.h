/* lower/sets.h - sets of rows that a GPU runs in one launch. */
#ifndef DCLI_LOWER_SETS_H
#define DCLI_LOWER_SETS_H

#include "lower/lower.h"

/** Divide the rows of a launch into sets of rows that differ only in a few numbers, their own numbers (dcli_row_own()).
 *  Fills `set`, and `own` with the own numbers of all rows; `row` keeps only the first row of each set. @return DCL_OK
 *  or DCL_ERR_NOMEM. Cost: O(n log n) for n rows. */
dcl_status dcli_rows_divide(const dcli_body *body, dcli_launch *launch);

#endif
