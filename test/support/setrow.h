/* test/support/setrow.h - a row of a set, as a kernel for GPUs sees it. */
#ifndef TEST_SUPPORT_SETROW_H
#define TEST_SUPPORT_SETROW_H

#include <string.h>

#include "lower/lower.h"

/** Write out row n of set s in full, from the set's first row and the row's own numbers. @param row_out
 *  [dcli_row_length()] */
static inline void write_set_row(const dcli_body *body, const dcli_launch *launch, int64_t s, int64_t n,
                                 int64_t row_out[])
{
    int length = dcli_row_length(body), own[length], count = dcli_row_own(body, own);
    memcpy(row_out, launch->row + s * length, (size_t)length * sizeof row_out[0]);
    for (int k = 0; k < count; k++)
        row_out[own[k]] = launch->own[(launch->set[s].first + n) * count + k];
}

#endif
