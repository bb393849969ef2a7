/* workqueue/narrow.c - subscripts for the indices of a box. */
#include "workqueue/narrow.h"

#include <string.h>

#include "kernel/ranges.h"

/* As dcli_operation_narrow(), for an access in loops with limits. axis[].constant is the subscript at
 * counter 0, so it moves with the first counter of the range. */
static const dcli_subscripts *narrow_loops(const dcli_operation *operation, int a, const dcli_subscripts *own,
                                           const dcl_box *box, dcli_subscripts *narrow)
{
    int64_t begin[DCL_MAX_RANK] = {0};
    *narrow = *own;
    dcli_inner_narrow(operation->body, a, operation->value, box, begin, narrow->inner_count);
    for (int d = 0; d < own->rank; d++)
        for (int q = 0; q < own->inner_rank; q++) /* within the range that was checked */
            narrow->axis[d].constant += own->axis[d].coef[own->space_rank + q] * begin[q];
    return narrow;
}

const dcli_subscripts *dcli_operation_narrow(const dcli_operation *operation, int a, const dcli_subscripts *own,
                                             const dcl_box *box, dcli_subscripts *narrow)
{
    int64_t whole[DCL_MAX_RANK], start[DCL_MAX_RANK], count[DCL_MAX_RANK];
    const dcli_body *body = operation->body;
    if (own->reach == DCLI_REACH_AFFINE && body->inner_rank == 0 && dcli_inner_has_limits(body, a))
        return narrow_loops(operation, a, own, box, narrow);
    if (!body->slanted || body->inner_rank == 0 || own->reach != DCLI_REACH_AFFINE ||
        dcli_operation_inner(operation, whole, count) != DCL_OK)
        return own;
    memcpy(start, whole, sizeof start);
    dcli_over_narrow(body, operation->value, box, start, count);
    *narrow = *own;
    for (int q = 0; q < own->inner_rank; q++) {
        bool used = false;
        for (int d = 0; d < own->rank; d++) {
            int64_t coef = own->axis[d].coef[own->space_rank + q];
            narrow->axis[d].constant += coef * (start[q] - whole[q]); /* within the range that was checked */
            used |= coef != 0;
        }
        narrow->inner_count[q] = used ? count[q] : 1;
    }
    return narrow;
}
