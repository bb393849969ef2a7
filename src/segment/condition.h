/* segment/condition.h - index spaces that are not boxes: linear conditions on indices, and the boxes around the indices
 * that fulfil them. Pure functions. */
#ifndef DCLI_SEGMENT_CONDITION_H
#define DCLI_SEGMENT_CONDITION_H

#include "segment/box.h"
#include "segment/wide.h"

/** The condition constant + sum over axes m of coef[m] * x[m] >= 0 on the indices x. */
typedef struct dcli_condition {
    int64_t constant;
    int64_t coef[DCL_MAX_RANK];
} dcli_condition;

/** The values low..high of an index; none if low > high. A side may be unbounded. */
typedef struct dcli_span {
    dcli_wide low, high;
} dcli_span;

/** Above all int64_t: the `high` of a span without an upper bound. Minus this is a `low` without a lower bound. */
#define DCLI_UNBOUNDED ((dcli_wide)1 << 64)

static inline dcli_span dcli_span_unbounded(void) { return (dcli_span){-DCLI_UNBOUNDED, DCLI_UNBOUNDED}; }
static inline bool dcli_span_is_empty(const dcli_span *span) { return span->low > span->high; }

/** Narrow the spans of axes to the values for which the conditions can be fulfilled. Each condition is used for each
 *  axis, with the spans of the other axes, in a few rounds. The result may contain values that no combination of indices
 *  has, but leaves out none that one has.
 *  @param rank   number of axes. Conditions on further axes are not used.
 *  @param first  axes first .. rank - 1 are narrowed.
 *  @param span   [rank] */
void dcli_conditions_narrow(int count, const dcli_condition conditions[], int rank, int first, dcli_span span[]);

/** Whether the value of a condition's sum, and of its parts, fits 64 bits for all indices of spans that are not empty or
 *  unbounded. @param span  [rank] */
bool dcli_condition_fits(const dcli_condition *condition, int rank, const dcli_span span[]);

/** Narrow a box to the conditions on its axes. @return false: no index fulfils them, and the box is empty. */
bool dcli_conditions_cut(int count, const dcli_condition conditions[], dcl_box *box_in_out);

#endif
