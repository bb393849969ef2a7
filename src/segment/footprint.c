/* segment/footprint.c - finds the elements that affine subscripts read, and the indices for which they stay inside a box.
 *
 * Over a box of indices, one subscript takes the numbers low, low + stride, ..., high: exactly these if it uses one index,
 * some of them if it uses several. All numbers have 128 bits until they are known to lie in a grid. */
#include "segment/footprint.h"

#include <string.h>

#include "base/check.h"
#include "segment/declared.h"
#include "segment/wide.h"

/* Limit of the numbers of a span, in 128 bits: differences between them and 64-bit indices do not overflow. A constant
 * plus one term is always below it; if a sum of several terms is not, span_of() fails. */
#define SPAN_LIMIT (((dcli_wide)1 << 126) + ((dcli_wide)1 << 64))

/* Whether each subscript uses at most one index of the space, and no index is used for two axes. */
static bool are_apart(const dcli_subscripts *subscripts)
{
    if (subscripts->reach != DCLI_REACH_AFFINE)
        return false;
    int uses[DCL_MAX_RANK] = {0};
    for (int d = 0; d < subscripts->rank; d++) {
        int indices = 0;
        for (int m = 0; m < subscripts->space_rank; m++)
            if (subscripts->axis[d].coef[m] != 0) {
                indices++;
                uses[m]++;
            }
        if (indices > 1)
            return false;
    }
    for (int m = 0; m < subscripts->space_rank; m++)
        if (uses[m] > 1)
            return false;
    return true;
}

/* Coefficient of inner axis q. */
static int64_t inner_coef(const dcli_subscripts *subscripts, int d, int q)
{
    return subscripts->axis[d].coef[subscripts->space_rank + q];
}

static bool reads_nothing(const dcli_subscripts *subscripts)
{
    for (int q = 0; q < subscripts->inner_rank; q++)
        if (subscripts->inner_count[q] < 1)
            return true;
    return false;
}

/* Whether 0, step, 2 * step, ..., reach, repeated at each multiple of coef, leaves no gaps: coef is a multiple of the
 * step, and the next repetition begins at most one step after the end of the last. */
static bool extends(dcli_wide step, dcli_wide reach, dcli_wide coef)
{
    return step != 0 && coef % step == 0 && coef <= reach + step;
}

/* Whether subscript d takes all multiples of one step between its least and its greatest number over the inner axes and
 * consecutive indices of the space. The inner axes are added one by one, the one with the smallest coefficient first. */
static bool has_no_gaps(const dcli_subscripts *subscripts, int d)
{
    bool added[DCL_MAX_RANK] = {false};
    dcli_wide step = 0, reach = 0;
    for (int n = 0; n < subscripts->inner_rank; n++) {
        int least = -1;
        for (int q = 0; q < subscripts->inner_rank; q++)
            if (!added[q] && (least < 0 || dcli_wide_abs(inner_coef(subscripts, d, q)) <
                                               dcli_wide_abs(inner_coef(subscripts, d, least))))
                least = q;
        dcli_wide coef = dcli_wide_abs(inner_coef(subscripts, d, least)), length;
        added[least] = true;
        if (coef == 0 || subscripts->inner_count[least] < 2)
            continue;
        if (step == 0)
            step = coef;
        if (!extends(step, reach, coef) ||
            __builtin_mul_overflow(coef, (dcli_wide)subscripts->inner_count[least] - 1, &length) ||
            __builtin_add_overflow(reach, length, &reach) || reach > SPAN_LIMIT)
            return false;
    }
    for (int m = 0; m < subscripts->space_rank && step != 0; m++)
        if (subscripts->axis[d].coef[m] != 0 && !extends(step, reach, dcli_wide_abs(subscripts->axis[d].coef[m])))
            return false;
    return true;
}

/* Whether subscript d has limits, and takes numbers that are more than 1 apart. A number beyond a limit is moved between the
 * limits, where it may come to lie between two of the other numbers: then they are not equally spaced. */
static bool has_clamped_gaps(const dcli_subscripts *subscripts, int d)
{
    bool some = false;
    if (!dcli_subscript_moves(&subscripts->axis[d]))
        return false;
    for (int m = 0; m < subscripts->space_rank + subscripts->inner_rank; m++) {
        dcli_wide coef = dcli_wide_abs(subscripts->axis[d].coef[m]);
        if (coef == 1 && (m < subscripts->space_rank || subscripts->inner_count[m - subscripts->space_rank] > 1))
            return false;
        some |= coef != 0;
    }
    return some;
}

static bool has_clamps(const dcli_subscripts *subscripts)
{
    for (int d = 0; d < subscripts->rank; d++)
        if (subscripts->axis[d].clamped)
            return true;
    return false;
}

bool dcli_subscripts_exact(const dcli_subscripts *subscripts)
{
    if (!are_apart(subscripts))
        return false;
    for (int q = 0; q < subscripts->inner_rank; q++) {
        int uses = 0;
        for (int d = 0; d < subscripts->rank; d++)
            uses += inner_coef(subscripts, d, q) != 0;
        if (uses > 1 && subscripts->inner_count[q] > 1)
            return false;
    }
    for (int d = 0; d < subscripts->rank; d++)
        if (!has_no_gaps(subscripts, d) || has_clamped_gaps(subscripts, d))
            return false;
    return true;
}

bool dcli_subscripts_injective(const dcli_subscripts *subscripts)
{
    if (!dcli_subscripts_exact(subscripts) || !dcli_subscripts_single(subscripts) || has_clamps(subscripts))
        return false;
    for (int m = 0; m < subscripts->space_rank; m++) {
        bool used = false;
        for (int d = 0; d < subscripts->rank; d++)
            used |= subscripts->axis[d].coef[m] != 0;
        if (!used)
            return false;
    }
    return true;
}

bool dcli_subscripts_same(const dcli_subscripts *a, const dcli_subscripts *b)
{
    if (a->reach != DCLI_REACH_AFFINE || b->reach != DCLI_REACH_AFFINE || a->rank != b->rank ||
        a->inner_rank != b->inner_rank)
        return false;
    for (int q = 0; q < a->inner_rank; q++)
        if (a->inner_count[q] != b->inner_count[q])
            return false;
    for (int d = 0; d < a->rank; d++) {
        if (a->axis[d].constant != b->axis[d].constant || a->axis[d].clamped != b->axis[d].clamped)
            return false;
        if (a->axis[d].clamped && (a->axis[d].low != b->axis[d].low || a->axis[d].high != b->axis[d].high ||
                                   a->axis[d].beyond != b->axis[d].beyond || a->axis[d].repeat != b->axis[d].repeat))
            return false;
        for (int m = 0; m < a->space_rank + a->inner_rank; m++)
            if (a->axis[d].coef[m] != b->axis[d].coef[m])
                return false;
    }
    return true;
}

/* The numbers a subscript takes: from low to high, all of them low plus a multiple of stride (0: one number). */
typedef struct span {
    dcli_wide low, high, stride;
} span;

/* Add to a span what an axis contributes: coef * (start + stride * t) for t in 0..count-1. @return false: overflow. */
static bool add_axis(span *span, int64_t coef, int64_t start, int64_t stride, int64_t count)
{
    if (coef == 0)
        return true;
    dcli_wide first = (dcli_wide)coef * start, step = (dcli_wide)coef * stride, length;
    if (__builtin_mul_overflow(step, (dcli_wide)count - 1, &length) ||
        __builtin_add_overflow(span->low, first + (length < 0 ? length : 0), &span->low) ||
        __builtin_add_overflow(span->high, first + (length > 0 ? length : 0), &span->high))
        return false;
    if (count > 1)
        span->stride = dcli_wide_gcd(span->stride, dcli_wide_abs(step));
    return true;
}

static bool is_within_limit(const span *span) { return span->low >= -SPAN_LIMIT && span->high <= SPAN_LIMIT; }

/* Find what the inner axes add to subscript d: from low <= 0 to high >= 0. @return false when it exceeds the limit. */
static bool inner_span(const dcli_subscripts *subscripts, int d, span *out)
{
    *out = (span){0, 0, 0};
    for (int q = 0; q < subscripts->inner_rank; q++)
        if (!add_axis(out, inner_coef(subscripts, d, q), 0, 1, subscripts->inner_count[q]))
            return false;
    return is_within_limit(out);
}

/* Find the least and the greatest value of subscript d over the loop indices of a box, and the distance of which all
 * differences are multiples. The counters of inner axes are 0. @return false when a sum of several terms exceeds the
 * limit. */
static bool outer_span(const dcli_subscripts *subscripts, int d, const dcl_box *space, span *out)
{
    const dcli_subscript *subscript = &subscripts->axis[d];
    *out = (span){subscript->constant, subscript->constant, 0};
    for (int m = 0; m < space->rank; m++)
        if (!add_axis(out, subscript->coef[m], space->start[m], space->stride[m], space->count[m]))
            return false;
    return is_within_limit(out);
}

/* As outer_span(), with the inner axes. */
static bool span_of(const dcli_subscripts *subscripts, int d, const dcl_box *space, span *out)
{
    span inner;
    if (!outer_span(subscripts, d, space, out))
        return false;
    if (dcli_subscripts_single(subscripts))
        return true;
    if (!inner_span(subscripts, d, &inner))
        return false;
    *out = (span){out->low + inner.low, out->high + inner.high, dcli_wide_gcd(out->stride, inner.stride)};
    return is_within_limit(out);
}

/* Remainder in 0..b-1; b > 0. */
static dcli_wide wide_mod(dcli_wide a, dcli_wide b) { return a % b < 0 ? a % b + b : a % b; }

/* Cut a span to the indices first .. last. @return false when nothing is left. */
static bool cut_span(span *span, dcli_wide first, dcli_wide last)
{
    if (span->low < first && span->stride > 0)
        span->low = first + wide_mod(span->low - first, span->stride);
    if (span->high > last && span->stride > 0)
        span->high = last - wide_mod(last - span->high, span->stride);
    return first <= span->low && span->low <= span->high && span->high <= last;
}

static bool contain(dcli_wide low, dcli_wide high, dcli_wide first, dcli_wide last)
{
    return low <= last && first <= high;
}

/* Move the numbers of a span into the limits of a mirroring subscript. The images of all numbers between two have no gaps,
 * because neighbours have images that are equal or neighbours. In one period, the distance from the low limit rises from 0
 * to `reach`, stays for `repeat`, falls to 0, and stays for `repeat`. */
static void mirror_span(span *span, const dcli_subscript *subscript)
{
    dcli_wide reach = (dcli_wide)subscript->high - subscript->low, repeat = subscript->repeat,
              period = 2 * (reach + repeat), first = 0, last = reach;
    if (reach > 0 && span->high - span->low < period) {
        dcli_wide low = wide_mod(span->low - subscript->low, period), high = low + (span->high - span->low);
        dcli_wide one = dcli_wide_max(dcli_wide_min(dcli_wide_min(low, 2 * reach + repeat - low), reach), 0),
                  at = high % period;
        dcli_wide other = dcli_wide_max(dcli_wide_min(dcli_wide_min(at, 2 * reach + repeat - at), reach), 0);
        if (!contain(low, high, reach, reach + repeat) && !contain(low, high, period + reach, period + reach + repeat))
            last = dcli_wide_max(one, other);
        if (!contain(low, high, period - repeat, period))
            first = dcli_wide_min(one, other);
    }
    span->low = subscript->low + first;
    span->high = subscript->low + last;
}

/* Move the numbers of a span into the limits of a subscript. @return whether some number is beyond them. */
static bool clamp_span(span *span, const dcli_subscript *subscript)
{
    if (!subscript->clamped || (span->low >= subscript->low && span->high <= subscript->high))
        return false;
    if (subscript->beyond == DCLI_BEYOND_NOTHING)
        return true; /* the span is cut to the limits with the grid */
    if (subscript->beyond == DCLI_BEYOND_MIRROR) {
        mirror_span(span, subscript);
        span->stride = span->low < span->high;
        return true;
    }
    span->low = dcli_wide_max(dcli_wide_min(span->low, subscript->high), subscript->low);
    span->high = dcli_wide_max(dcli_wide_min(span->high, subscript->high), subscript->low);
    span->stride = span->low < span->high;
    return true;
}

static int64_t span_count(const span *span)
{
    return span->stride == 0 ? 1 : (int64_t)((span->high - span->low) / span->stride + 1);
}

/* The loop axis whose indices a declared reach uses on array axis d; -1: the reach covers that axis as a whole. */
static int followed_axis(const dcli_subscripts *subscripts, int d, const dcl_box *space)
{
    if (subscripts->reach == DCLI_REACH_ROWS && d == 0)
        return 0;
    if (subscripts->reach == DCLI_REACH_COLUMNS && d == subscripts->rank - 1)
        return space->rank - 1;
    return -1;
}

static span span_of_box(const dcl_box *box, int d)
{
    return (span){box->start[d], dcli_run_last(box->start[d], box->count[d], box->stride[d]),
                  box->count[d] > 1 ? box->stride[d] : 0};
}

/* The indices read on array axis d, cut to the grid. @param box  BOX, FUNCTION: the declared one. @return false: none. */
static bool axis_footprint(const dcli_subscripts *subscripts, int d, const dcl_box *space, const dcl_box *box,
                           const dcl_grid *grid, span *out, bool *cut_in_out)
{
    dcli_wide first = grid->origin[d], last = first + grid->extent[d] - 1;
    *out = (span){first, last, 1}; /* all of the axis, unless a case below replaces it */
    if (subscripts->reach == DCLI_REACH_BOX || subscripts->reach == DCLI_REACH_FUNCTION) {
        *out = span_of_box(box, d);
    } else if (subscripts->reach == DCLI_REACH_HALO || subscripts->reach == DCLI_REACH_CROSS) {
        *out = span_of_box(space, d);
        out->low -= subscripts->declared.number[d];
        out->high += subscripts->declared.number[d];
        out->stride = 1;
    } else if (subscripts->reach == DCLI_REACH_AFFINE) {
        span reach = {-SPAN_LIMIT, SPAN_LIMIT, 1};
        if (span_of(subscripts, d, space, &reach) || subscripts->axis[d].clamped)
            *out = reach;
        else
            *cut_in_out = true; /* some index reads far outside; others may read anything */
        *cut_in_out |= clamp_span(out, &subscripts->axis[d]);
        if (subscripts->axis[d].clamped && subscripts->axis[d].beyond == DCLI_BEYOND_NOTHING) {
            first = dcli_wide_max(first, subscripts->axis[d].low);
            last = dcli_wide_min(last, subscripts->axis[d].high);
        }
    } else {
        int m = followed_axis(subscripts, d, space);
        if (m >= 0)
            *out = (span){space->start[m], dcli_run_last(space->start[m], space->count[m], space->stride[m]),
                          space->stride[m]};
    }
    *cut_in_out |= out->low < first || out->high > last;
    return cut_span(out, first, last);
}

/* Find the element that affine subscripts read for a single index, with 64 bits. @return false: more bits are needed. */
static bool find_element(const dcli_subscripts *subscripts, const dcl_box *space, int64_t index_out[])
{
    if (!dcli_subscripts_single(subscripts) || has_clamps(subscripts))
        return false;
    for (int m = 0; m < space->rank; m++)
        if (space->count[m] != 1)
            return false;
    for (int d = 0; d < subscripts->rank; d++) {
        index_out[d] = subscripts->axis[d].constant;
        for (int m = 0; m < space->rank; m++) {
            int64_t term;
            if (__builtin_mul_overflow(subscripts->axis[d].coef[m], space->start[m], &term) ||
                __builtin_add_overflow(index_out[d], term, &index_out[d]))
                return false;
        }
    }
    return subscripts->reach == DCLI_REACH_AFFINE;
}

static bool footprint_of_element(const int64_t index[], const dcl_grid *grid, dcl_box *footprint_out, bool *cut_out)
{
    dcl_box footprint = {.rank = grid->rank};
    bool inside = true;
    for (int d = 0; d < grid->rank; d++)
        inside = inside && index[d] >= grid->origin[d] && index[d] - grid->origin[d] < grid->extent[d];
    for (int d = 0; d < grid->rank; d++) {
        footprint.start[d] = inside ? index[d] : 0;
        footprint.count[d] = inside;
        footprint.stride[d] = 1;
    }
    *footprint_out = footprint;
    *cut_out = !inside;
    return inside;
}

/* The one index that a subscript uses, with coefficient 1; -1: none; -2: other subscripts. */
static int plain_index(const dcli_subscript *subscript, int space_rank)
{
    int only = -1;
    for (int m = 0; m < space_rank; m++)
        if (subscript->coef[m] != 0)
            only = subscript->coef[m] == 1 && only == -1 ? m : -2;
    return only;
}

dcli_shifts dcli_shifts_of(const dcli_subscripts *subscripts)
{
    dcli_shifts shifts = {.rank = -1};
    if (subscripts->reach != DCLI_REACH_AFFINE || !dcli_subscripts_single(subscripts))
        return shifts;
    for (int d = 0; d < subscripts->rank; d++) {
        int m = plain_index(&subscripts->axis[d], subscripts->space_rank);
        if (m == -2 || subscripts->axis[d].clamped)
            return shifts;
        shifts.index[d] = (signed char)m;
        shifts.constant[d] = subscripts->axis[d].constant;
    }
    shifts.rank = subscripts->rank;
    return shifts;
}

bool dcli_shifts_footprint(const dcli_shifts *shifts, const dcl_box *space, const dcl_grid *grid,
                           dcl_box *footprint_out, bool *cut_out, bool *read_out)
{
    int rank = shifts->rank;
    bool cut = false, read = true;
    if (rank < 0)
        return false;
    for (int m = 0; m < space->rank; m++)
        if (space->stride[m] != 1 || space->count[m] < 1)
            return false;
    memset(footprint_out, 0, sizeof *footprint_out);
    footprint_out->rank = rank;
    for (int d = 0; d < rank; d++) {
        int m = shifts->index[d];
        int64_t low = shifts->constant[d], more = 0, high, first = grid->origin[d], last;
        if (m >= 0 && __builtin_add_overflow(low, space->start[m], &low))
            return false;
        if (m >= 0)
            more = space->count[m] - 1;
        if (__builtin_add_overflow(low, more, &high) || __builtin_add_overflow(first, grid->extent[d] - 1, &last))
            return false;
        cut |= low < first || high > last;
        low = dcli_max(low, first);
        high = dcli_min(high, last);
        read &= low <= high;
        footprint_out->start[d] = low;
        footprint_out->count[d] = low <= high ? high - low + 1 : 0;
        footprint_out->stride[d] = 1;
    }
    for (int d = 0; d < rank && !read; d++)
        footprint_out->start[d] = footprint_out->count[d] = 0;
    *cut_out = cut;
    *read_out = read;
    return true;
}

bool dcli_footprint(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_grid *grid,
                    dcl_box *footprint_out, bool *cut_out)
{
    int64_t index[DCL_MAX_RANK];
    bool some_read;
    dcli_shifts shifts = dcli_shifts_of(subscripts);
    if (dcli_shifts_footprint(&shifts, space, grid, footprint_out, cut_out, &some_read))
        return some_read;
    if (find_element(subscripts, space, index))
        return footprint_of_element(index, grid, footprint_out, cut_out);
    dcl_box footprint = {.rank = subscripts->rank}, empty = footprint, box = footprint;
    bool some = !dcli_box_is_empty(space) && !reads_nothing(subscripts), cut = false;
    if (some && (subscripts->reach == DCLI_REACH_BOX || subscripts->reach == DCLI_REACH_FUNCTION))
        some = dcli_declared_box(subscripts, space, &box);
    bool read = some;
    for (int d = 0; d < subscripts->rank; d++) {
        span span;
        empty.stride[d] = 1;
        if (!some || !axis_footprint(subscripts, d, space, &box, grid, &span, &cut)) {
            read = false; /* no return yet: on other axes, indices may lie outside the grid, which sets `cut` */
            continue;
        }
        footprint.start[d] = (int64_t)span.low;
        footprint.count[d] = span_count(&span);
        footprint.stride[d] = footprint.count[d] > 1 ? (int64_t)span.stride : 1;
    }
    if (read && (subscripts->reach == DCLI_REACH_HALO || subscripts->reach == DCLI_REACH_CROSS)) {
        dcl_box parts[DCL_MAX_RANK]; /* gaps and corners may be all that lies in the grid */
        bool approximate = false;
        read = dcli_declared_parts(subscripts, space, grid, parts, &approximate) > 0;
    }
    *cut_out = cut;
    *footprint_out = read ? footprint : empty;
    return read;
}

/* The numbers of a span that lie on axis d of a box. Only consecutive ones are found: those from number *first_out of
 * the span on.
 * @return how many; 0: none. */
static int64_t span_inside(const span *whole, const dcl_box *target, int d, int64_t *first_out)
{
    span part = *whole;
    int64_t start, count, stride;
    if (!cut_span(&part, target->start[d], dcli_run_last(target->start[d], target->count[d], target->stride[d])))
        return 0;
    int64_t own_count = span_count(&part), own_stride = own_count > 1 ? (int64_t)part.stride : 1;
    if (!dcli_run_intersect((int64_t)part.low, own_count, own_stride, target->start[d], target->count[d],
                            target->stride[d], &start, &count, &stride))
        return 0;
    *first_out = whole->stride == 0 ? 0 : (int64_t)((start - whole->low) / whole->stride);
    return count == 1 || stride == own_stride ? count : 1;
}

/* Cut axis d of a box to the numbers that a clamp does not move. @return false: nothing is left. */
static bool cut_to_clamp(const dcli_subscript *subscript, int d, dcl_box *box)
{
    dcli_wide stride = box->stride[d], first = box->start[d],
              last = dcli_run_last(box->start[d], box->count[d], box->stride[d]);
    if (!subscript->clamped)
        return true;
    if (first < subscript->low)
        first += ((dcli_wide)subscript->low - first + stride - 1) / stride * stride;
    if (last > subscript->high)
        last -= (last - subscript->high + stride - 1) / stride * stride;
    if (first > last)
        return false;
    box->start[d] = (int64_t)first;
    box->count[d] = (int64_t)((last - first) / stride + 1);
    return true;
}

/* Shorten axis d of a box by what the inner axes add to subscript d: the subscript lies in the shortened axis for
 * counters 0 of the inner axes exactly if it lies in the given one for all counters. @return false: nothing is left, or
 * the box has a stride that the inner axes do not have. */
static bool shorten(const dcli_subscripts *subscripts, int d, dcl_box *box)
{
    span inner;
    if (!inner_span(subscripts, d, &inner))
        return false;
    if (inner.low == inner.high)
        return true;
    dcli_wide stride = box->stride[d], last = dcli_run_last(box->start[d], box->count[d], box->stride[d]) - inner.high,
              first = box->start[d] - inner.low;
    if ((box->count[d] > 1 && inner.stride % stride != 0) || first > last)
        return false;
    box->start[d] = (int64_t)first; /* both lie between the ends of the box */
    box->count[d] = (int64_t)((last - first) / stride + 1);
    return true;
}

/* Narrow the range of the one index that a subscript uses, if any. */
static bool narrow(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *target, int d,
                   int64_t lo_in_out[], int64_t count_in_out[])
{
    const dcli_subscript *subscript = &subscripts->axis[d];
    span span;
    int64_t first, count;
    if (!outer_span(subscripts, d, space, &span) || (count = span_inside(&span, target, d, &first)) == 0)
        return false;
    for (int m = 0; m < space->rank; m++)
        if (subscript->coef[m] != 0) { /* with a negative coefficient the numbers fall as the index rises */
            lo_in_out[m] = subscript->coef[m] > 0 ? first : space->count[m] - first - count;
            count_in_out[m] = count;
        }
    return true;
}

/* Whether all numbers of a span lie on axis d of a box. */
static bool span_is_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *target, int d)
{
    span span;
    int64_t first;
    return span_of(subscripts, d, space, &span) && span.low >= target->start[d] &&
           span.high <= dcli_run_last(target->start[d], target->count[d], target->stride[d]) &&
           span_inside(&span, target, d, &first) == span_count(&span);
}

/* As narrow(), for the most frequent case, with 64 bits: an index and a constant, and no strides. @return false: it is
 * another case. */
static bool narrow_plain(const dcli_subscript *subscript, const dcl_box *space, const dcl_box *target, int d,
                         int64_t lo_in_out[], int64_t count_in_out[], bool *some_out)
{
    int m = plain_index(subscript, space->rank);
    int64_t before, after, begin, end;
    if (m < 0 || space->stride[m] != 1 || target->stride[d] != 1 ||
        __builtin_add_overflow(subscript->constant, space->start[m], &begin) ||
        __builtin_add_overflow(begin, space->count[m], &end) ||
        __builtin_sub_overflow(target->start[d], begin, &before) ||
        __builtin_add_overflow(target->start[d], target->count[d], &after) ||
        __builtin_sub_overflow(dcli_min(after, end), begin, &after))
        return false;
    before = dcli_max(before, 0);
    *some_out = before < after;
    lo_in_out[m] = before;
    count_in_out[m] = after - before;
    return true;
}

bool dcli_footprint_inside(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *target,
                           int64_t lo_out[], int64_t count_out[])
{
    bool apart = are_apart(subscripts), some = subscripts->reach == DCLI_REACH_AFFINE && !dcli_box_is_empty(space);
    bool nothing = reads_nothing(subscripts);
    bool clamps = has_clamps(subscripts), shortens = apart && !dcli_subscripts_single(subscripts);
    dcl_box shortened;
    for (int m = 0; m < space->rank; m++) {
        lo_out[m] = 0;
        count_out[m] = space->count[m];
    }
    if (clamps || shortens) {
        shortened = *target;
        for (int d = 0; d < subscripts->rank && some && !nothing; d++)
            some =
                cut_to_clamp(&subscripts->axis[d], d, &shortened) && (!shortens || shorten(subscripts, d, &shortened));
        target = &shortened;
    }
    for (int d = 0; some && !nothing && d < subscripts->rank; d++)
        if (!apart || !narrow_plain(&subscripts->axis[d], space, target, d, lo_out, count_out, &some))
            some = apart ? narrow(subscripts, space, target, d, lo_out, count_out)
                         : span_is_inside(subscripts, space, target, d);
    for (int m = 0; !some && m < space->rank; m++)
        lo_out[m] = count_out[m] = 0;
    return some;
}
