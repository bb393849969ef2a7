/* segment/preimage.c - finds the loop indices that may read elements of a box. A footprint is a product of axes, so it
 * meets a box if it does so along every axis; each axis narrows the one index that its subscript uses. */
#include "segment/preimage.h"

#include "segment/declared.h"
#include "segment/wide.h"

/* The one loop axis that a subscript uses; -1: none; -2: several. */
static int only_index(const dcli_subscript *subscript, int space_rank)
{
    int only = -1;
    for (int m = 0; m < space_rank; m++)
        if (subscript->coef[m] != 0)
            only = only == -1 ? m : -2;
    return only;
}

/* Limit axis m of a box to the indices start, start + stride, ... @return false: none is left. */
static bool limit(dcl_box *box, int m, int64_t start, int64_t count, int64_t stride)
{
    return dcli_run_intersect(box->start[m], box->count[m], box->stride[m], start, count, stride, &box->start[m],
                              &box->count[m], &box->stride[m]);
}

/* Numbers beyond this are not looked for on a clamped axis. */
#define FAR (INT64_C(1) << 61)

/* Find the numbers that subscript d takes, from the least to the greatest; -FAR .. FAR if some are farther. */
static void find_numbers(const dcli_subscripts *subscripts, int d, const dcl_box *space, dcli_wide *low_out,
                         dcli_wide *high_out)
{
    const dcli_subscript *subscript = &subscripts->axis[d];
    dcli_wide low = subscript->constant, high = low;
    *low_out = -FAR;
    *high_out = FAR;
    for (int m = 0; m < subscripts->space_rank + subscripts->inner_rank; m++) {
        int q = m - subscripts->space_rank;
        dcli_wide first = q < 0 ? space->start[m] : 0, one, other;
        dcli_wide last = q < 0 ? dcli_run_last(space->start[m], space->count[m], space->stride[m])
                               : (dcli_wide)subscripts->inner_count[q] - 1;
        if (__builtin_mul_overflow((dcli_wide)subscript->coef[m], first, &one) ||
            __builtin_mul_overflow((dcli_wide)subscript->coef[m], last, &other) ||
            __builtin_add_overflow(low, dcli_wide_min(one, other), &low) ||
            __builtin_add_overflow(high, dcli_wide_max(one, other), &high))
            return;
    }
    if (low >= -FAR && high <= FAR) {
        *low_out = low;
        *high_out = high;
    }
}

/* The first number from `from` on that is first .. last, or these plus a multiple of the period. */
static dcli_wide next_image(dcli_wide from, dcli_wide first, dcli_wide last, dcli_wide period)
{
    dcli_wide beyond = from - first - dcli_wide_floor_div(from - first, period) * period;
    return beyond <= last - first ? from : from + period - beyond;
}

/* The first and the last of the numbers low .. high whose images in a mirroring subscript are first .. last. @return false: there are none. */
static bool unmirror(const dcli_subscript *subscript, dcli_wide low, dcli_wide high, dcli_wide *first_in_out,
                     dcli_wide *last_in_out)
{
    dcli_wide first = *first_in_out, last = *last_in_out, reach = (dcli_wide)subscript->high - subscript->low;
    dcli_wide period = 2 * (reach + subscript->repeat), turned = 2 * (dcli_wide)subscript->low - subscript->repeat;
    if (reach == 0 || (first <= subscript->low && last >= subscript->high)) { /* all numbers */
        *first_in_out = low;
        *last_in_out = high;
        return true;
    }
    *first_in_out =
        dcli_wide_min(next_image(low, first, last, period), next_image(low, turned - last, turned - first, period));
    *last_in_out = -dcli_wide_min(next_image(-high, -last, -first, period),
                                  next_image(-high, first - turned, last - turned, period));
    return *first_in_out <= high && *last_in_out >= low;
}

/* Extend axis d of a box by the numbers beyond the limits of subscript d that read its elements; then the axis has stride
 * 1. @return false: the limits allow none of the box's numbers. */
static bool unclamp(const dcli_subscripts *subscripts, int d, const dcl_box *space, dcl_box *box)
{
    const dcli_subscript *subscript = &subscripts->axis[d];
    dcli_wide first = box->start[d], last = dcli_run_last(box->start[d], box->count[d], box->stride[d]), low, high;
    if (!subscript->clamped)
        return true;
    if (last < subscript->low || first > subscript->high)
        return false;
    switch (subscript->beyond) {
    case DCLI_BEYOND_NOTHING:
        return true; /* a box that is wider than the limits does no harm */
    case DCLI_BEYOND_MIRROR:
        find_numbers(subscripts, d, space, &low, &high);
        first = dcli_wide_max(first, subscript->low);
        last = dcli_wide_min(last, subscript->high);
        if (!unmirror(subscript, low, high, &first, &last))
            return false;
        break;
    case DCLI_BEYOND_EDGE:
        if (first > subscript->low && last < subscript->high)
            return true;
        first = first <= subscript->low ? -FAR : first;
        last = last >= subscript->high ? FAR : last;
        break;
    }
    box->start[d] = (int64_t)first;
    box->count[d] = (int64_t)(last - first + 1);
    box->stride[d] = 1;
    return true;
}

/* Limit axis m of a box to the indices x for which constant + coef * x lies on axis d of `part`. @return false: there
 * are none. */
static bool limit_affine(dcl_box *box, int m, const dcli_subscript *subscript, const dcl_box *part, int d)
{
    dcli_wide coef = subscript->coef[m], constant = subscript->constant, step = coef * box->stride[m];
    dcli_wide one = constant + coef * box->start[m],
              other = constant + coef * dcli_run_last(box->start[m], box->count[m], box->stride[m]);
    dcli_wide low = dcli_wide_min(one, other), high = dcli_wide_max(one, other), stride = dcli_wide_abs(step);
    dcli_wide most = subscript->clamped ? FAR : INT64_MAX;
    if (low < -most || high > most || stride > INT64_MAX)
        return true; /* some index reads far outside; the box is not narrowed */
    int64_t start, count, apart;
    if (!dcli_run_intersect((int64_t)low, box->count[m], (int64_t)stride, part->start[d], part->count[d],
                            part->stride[d], &start, &count, &apart))
        return false;
    int64_t from = (int64_t)((start - low) / stride), each = count > 1 ? (int64_t)(apart / stride) : 1;
    if (coef < 0) /* the numbers fall as the index rises */
        from = box->count[m] - 1 - from - (count - 1) * each;
    box->start[m] += from * box->stride[m];
    box->stride[m] = count > 1 ? box->stride[m] * each : 1;
    box->count[m] = count;
    return true;
}

/* Extend axis d of a box by what the inner axes add to subscript d: the subscript, for counters 0 of the inner axes,
 * lies in the extended axis whenever it lies in the given one for any counters. The footprint of consecutive indices
 * includes the elements that are skipped between the reads of one index and those of the next; the extended axis takes
 * these into account, too. It has stride 1. The footprint of a subscript that moves has stride 1, too. @param step  by how much the subscript grows from one index to the next; 0:
 * it has no index. @return false: more than 64 bits are needed. */
static bool extend(const dcli_subscripts *subscripts, int d, dcli_wide step, dcl_box *box)
{
    dcli_wide low = 0, high = 0, first = box->start[d], last = dcli_run_last(first, box->count[d], box->stride[d]);
    for (int q = 0; q < subscripts->inner_rank; q++) {
        dcli_wide more =
            (dcli_wide)subscripts->axis[d].coef[subscripts->space_rank + q] * (subscripts->inner_count[q] - 1);
        if (__builtin_add_overflow(low, dcli_wide_min(more, 0), &low) ||
            __builtin_add_overflow(high, dcli_wide_max(more, 0), &high))
            return false;
    }
    dcli_wide skipped = dcli_wide_max(dcli_wide_abs(step) - 1 - (high - low), 0);
    if (low == high && !dcli_subscript_moves(&subscripts->axis[d]))
        return true;
    if (__builtin_sub_overflow(first, high + skipped, &first) || __builtin_sub_overflow(last, low - skipped, &last) ||
        first < INT64_MIN || last > INT64_MAX || last - first >= INT64_MAX)
        return false;
    box->start[d] = (int64_t)first;
    box->count[d] = (int64_t)(last - first + 1);
    box->stride[d] = 1;
    return true;
}

static bool uses_inner(const dcli_subscripts *subscripts, int d)
{
    for (int q = 0; q < subscripts->inner_rank; q++)
        if (subscripts->axis[d].coef[subscripts->space_rank + q] != 0)
            return true;
    return false;
}

static bool limit_by_subscripts(const dcli_subscripts *subscripts, const dcl_box *read, const bool gaps[], dcl_box *box)
{
    bool used[DCL_MAX_RANK] = {false}, some = true;
    const dcl_box space = *box;
    dcl_box part = *read;
    for (int q = 0; q < subscripts->inner_rank; q++)
        some &= subscripts->inner_count[q] > 0;
    for (int d = 0; d < subscripts->rank && some; d++) {
        const dcli_subscript *subscript = &subscripts->axis[d];
        int m = only_index(subscript, subscripts->space_rank);
        int64_t start, count, stride;
        some = unclamp(subscripts, d, &space, &part);
        if (!some)
            break;
        if ((dcli_subscript_moves(subscript) || uses_inner(subscripts, d)) &&
            (m == -2 || (m >= 0 && gaps[m]) ||
             !extend(subscripts, d, m < 0 ? 0 : (dcli_wide)subscript->coef[m] * box->stride[m], &part)))
            continue; /* the box is not narrowed */
        if (m == -1 && subscript->clamped && (subscript->constant < -FAR || subscript->constant > FAR))
            continue;
        if (m == -1)
            some = dcli_run_intersect(subscript->constant, 1, 1, part.start[d], part.count[d], part.stride[d], &start,
                                      &count, &stride);
        else if (m >= 0 && !used[m])
            some = limit_affine(box, m, subscript, &part, d);
        if (m >= 0)
            used[m] = true;
    }
    return some;
}

static bool limit_by_widths(const dcli_subscripts *subscripts, const dcl_box *part, const bool gaps[], dcl_box *box)
{
    bool some = true;
    for (int d = 0; d < subscripts->rank && some; d++) {
        dcli_wide low = (dcli_wide)part->start[d] - subscripts->declared.number[d];
        dcli_wide high =
            dcli_run_last(part->start[d], part->count[d], part->stride[d]) + subscripts->declared.number[d];
        int64_t first = dcli_wide_clip(low);
        some = gaps[d] || limit(box, d, first, dcli_wide_clip(high - first + 1), 1);
    }
    return some;
}

/* Append the indices of the portions that read elements of `part`. If portions have indices in common, a footprint is
 * the bounding box of what several of them read. */
static dcl_status add_portions(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *part,
                               dcli_box_list *out)
{
    enum { MANY = 64 };
    int portions = dcli_declared_portions(subscripts);
    bool alone = portions <= MANY;
    dcl_box common;
    dcl_status status = DCL_OK;
    for (int p = 0; p < portions && alone; p++) {
        dcli_portion portion = dcli_declared_portion(subscripts, p);
        for (int q = 0; q < p && alone; q++) {
            dcli_portion other = dcli_declared_portion(subscripts, q);
            alone = !dcli_box_intersect(&portion.space, &other.space, &common);
        }
    }
    if (!alone)
        return dcli_box_list_add(out, space);
    for (int p = 0; p < portions && status == DCL_OK; p++) {
        dcli_portion portion = dcli_declared_portion(subscripts, p);
        if (dcli_box_intersect(&portion.reads, part, &common) && dcli_box_intersect(&portion.space, space, &common))
            status = dcli_box_list_add(out, &common);
    }
    return status;
}

dcl_status dcli_preimage(const dcli_subscripts *subscripts, const dcl_box *space, const dcl_box *part,
                         const bool gaps[], dcli_box_list *out)
{
    dcl_box box = *space, read, common;
    int last = subscripts->rank - 1;
    bool some = !dcli_box_is_empty(space) && !dcli_box_is_empty(part);
    if (!some)
        return DCL_OK;
    switch (subscripts->reach) {
    case DCLI_REACH_AFFINE:
        some = limit_by_subscripts(subscripts, part, gaps, &box);
        break;
    case DCLI_REACH_ALL:
        break;
    case DCLI_REACH_ROWS:
        some = limit(&box, 0, part->start[0], part->count[0], part->stride[0]);
        break;
    case DCLI_REACH_COLUMNS:
        some = limit(&box, space->rank - 1, part->start[last], part->count[last], part->stride[last]);
        break;
    case DCLI_REACH_HALO:
    case DCLI_REACH_CROSS:
        some = limit_by_widths(subscripts, part, gaps, &box);
        break;
    case DCLI_REACH_BOX:
        some = dcli_declared_box(subscripts, space, &read) && dcli_box_intersect(&read, part, &common);
        break;
    case DCLI_REACH_FUNCTION:
        return add_portions(subscripts, space, part, out);
    }
    return some ? dcli_box_list_add(out, &box) : DCL_OK;
}
