/* kernel/join.c - join rows. A blind body does not depend on which element it computes, so its rows are regarded only
 * as counts and steps in memory, and joined if they form a regular pattern. */
#include "segment/join.h"
#include "kernel/inside.h"

dcl_status dcli_rows_join(const dcli_body *body, bool straight, int64_t rows[], int64_t *count_in_out)
{
    int at[DCLI_MAX_ACCESSES], near[DCLI_MAX_ACCESSES], rank = body->space_rank, length = dcli_row_length(body);
    bool still[DCLI_MAX_ACCESSES * DCL_MAX_RANK]; /* [access * rank + axis] the access does not depend on the axis:
                                                     its step is 0 in all rows */
    for (int a = 0; a < body->access_count; a++) {
        at[a] = dcli_row_at(body, DCLI_ROW_OFFSET, a);
        near[a] = body->access[a].unit_axis;
        for (int m = 0; m < rank; m++)
            still[a * rank + m] = !dcli_inside_depends(body, a, m);
        if (straight && near[a] >= 0 && !still[a * rank + rank - 1])
            near[a] = rank - 1;
    }
    for (int64_t r = 0; r < *count_in_out; r++)
        for (int m = 0; m < rank; m++) {
            rows[r * length + dcli_row_at(body, DCLI_ROW_START, 0) + m] = 0;
            rows[r * length + dcli_row_at(body, DCLI_ROW_STRIDE, 0) + m] = 1;
        }
    dcli_patterns patterns = {.rank = rank,
                              .places = body->access_count,
                              .length = length,
                              .count = dcli_row_at(body, DCLI_ROW_COUNT, 0),
                              .at = at,
                              .leading = body->home,
                              .still = still,
                              .near = near};
    return dcli_patterns_join(&patterns, rows, count_in_out);
}
