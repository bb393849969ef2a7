/* segment/condition.c - the boxes around the indices that fulfil linear conditions. */
#include "segment/condition.h"

/* The largest value of a condition's sum without axis `without`. @return false: it is unbounded, or does not fit. */
static bool most_of(const dcli_condition *condition, int rank, int without, const dcli_span span[], dcli_wide *out)
{
    *out = condition->constant;
    for (int m = 0; m < rank; m++) {
        if (m == without || condition->coef[m] == 0)
            continue;
        dcli_wide value = condition->coef[m] > 0 ? span[m].high : span[m].low, product;
        if (value >= DCLI_UNBOUNDED || value <= -DCLI_UNBOUNDED ||
            __builtin_mul_overflow(value, (dcli_wide)condition->coef[m], &product) ||
            __builtin_add_overflow(*out, product, out))
            return false;
    }
    return true;
}

static bool is_on(const dcli_condition *condition, int rank)
{
    for (int m = rank; m < DCL_MAX_RANK; m++)
        if (condition->coef[m] != 0)
            return false;
    return true;
}

/* Narrow axis m by one condition: coef * x >= -rest, where the rest is at most `most`. */
static bool narrow(const dcli_condition *condition, int rank, int m, dcli_span span[])
{
    dcli_wide most, coef = condition->coef[m];
    dcli_span before = span[m];
    if (coef == 0 || !most_of(condition, rank, m, span, &most))
        return false;
    if (coef > 0)
        span[m].low = dcli_wide_max(span[m].low, dcli_wide_ceil_div(-most, coef));
    else
        span[m].high = dcli_wide_min(span[m].high, dcli_wide_floor_div(most, -coef));
    return span[m].low != before.low || span[m].high != before.high;
}

void dcli_conditions_narrow(int count, const dcli_condition conditions[], int rank, int first, dcli_span span[])
{
    bool changed = true;
    for (int round = 0; round <= rank && changed; round++) {
        changed = false;
        for (int c = 0; c < count; c++)
            for (int m = first; m < rank && is_on(&conditions[c], rank); m++)
                changed |= narrow(&conditions[c], rank, m, span);
        for (int m = first; m < rank; m++)
            if (dcli_span_is_empty(&span[m]))
                return; /* bounds that move away from each other would grow in each round */
    }
}

bool dcli_condition_fits(const dcli_condition *condition, int rank, const dcli_span span[])
{
    dcli_wide sum = dcli_wide_abs(condition->constant);
    for (int m = 0; m < rank; m++) {
        dcli_wide reach = dcli_wide_max(dcli_wide_abs(span[m].low), dcli_wide_abs(span[m].high)), product;
        if (condition->coef[m] != 0 && (__builtin_mul_overflow(reach, dcli_wide_abs(condition->coef[m]), &product) ||
                                        __builtin_add_overflow(sum, product, &sum)))
            return false;
    }
    return sum <= INT64_MAX;
}

bool dcli_conditions_cut(int count, const dcli_condition conditions[], dcl_box *box)
{
    dcli_span span[DCL_MAX_RANK];
    for (int m = 0; m < box->rank; m++)
        span[m] = (dcli_span){box->start[m], dcli_run_last(box->start[m], box->count[m], box->stride[m])};
    dcli_conditions_narrow(count, conditions, box->rank, 0, span);
    bool some = true;
    for (int m = 0; m < box->rank; m++) {
        dcli_wide lo = dcli_wide_ceil_div(span[m].low - box->start[m], box->stride[m]);
        dcli_wide last = dcli_wide_floor_div(span[m].high - box->start[m], box->stride[m]);
        some = some && lo <= last;
        box->start[m] += lo <= last ? (int64_t)lo * box->stride[m] : 0;
        box->count[m] = lo <= last ? (int64_t)(last - lo + 1) : 0;
    }
    return some;
}
