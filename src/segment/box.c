/* segment/box.c - arithmetic of strided boxes: intersection, difference, bounding box, parts. */
#include "segment/box.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/check.h"
#include "segment/wide.h"

dcl_status dcli_box_list_add(dcli_box_list *list, const dcl_box *box)
{
    dcl_box copy = *box; /* a copy: the box may be in the list, which moves when it grows */
    if (dcli_grow(&list->box, list->count, &list->capacity, sizeof *list->box) != 0)
        return DCL_ERR_NOMEM;
    list->box[list->count++] = copy;
    return DCL_OK;
}

void dcli_box_list_free(dcli_box_list *list)
{
    dcli_free(list->box);
    *list = (dcli_box_list){0};
}

bool dcli_box_is_empty(const dcl_box *box)
{
    for (int d = 0; d < box->rank; d++)
        if (box->count[d] == 0)
            return true;
    return false;
}

int64_t dcli_box_elements(const dcl_box *box)
{
    int64_t elements = 1;
    if (dcli_box_is_empty(box))
        return 0;
    for (int d = 0; d < box->rank; d++)
        elements *= box->count[d];
    return elements;
}

bool dcli_box_equal(const dcl_box *a, const dcl_box *b)
{
    if (a->rank != b->rank)
        return false;
    if (dcli_box_is_empty(a) || dcli_box_is_empty(b))
        return dcli_box_is_empty(a) && dcli_box_is_empty(b);
    for (int d = 0; d < a->rank; d++) {
        if (a->start[d] != b->start[d] || a->count[d] != b->count[d])
            return false;
        if (a->count[d] > 1 && a->stride[d] != b->stride[d])
            return false;
    }
    return true;
}

bool dcli_box_contains(const dcl_box *box, const int64_t index[])
{
    for (int d = 0; d < box->rank; d++) {
        dcli_wide from_start = (dcli_wide)index[d] - box->start[d];
        if (from_start < 0 || from_start > (dcli_wide)(box->count[d] - 1) * box->stride[d])
            return false;
        if (box->stride[d] != 1 && from_start % box->stride[d] != 0)
            return false;
    }
    return !dcli_box_is_empty(box);
}

/* Compute g = gcd(a, m) and x in 0..m/g-1 with a * x = g (mod m). The coefficients stay below m, so int64_t suffices.
 * Source: the extended Euclidean algorithm, Knuth TAOCP 2, 4.5.2, algorithm X (one column of it). */
static int64_t gcd_inverse(int64_t a, int64_t m, int64_t *x_out)
{
    int64_t r0 = m, r1 = a % m, x0 = 0, x1 = 1;
    while (r1 != 0) {
        int64_t q = r0 / r1, r = r0 - q * r1, x = x0 - q * x1;
        r0 = r1;
        r1 = r;
        x0 = x1;
        x1 = x;
    }
    *x_out = dcli_mod(x0, m / r0);
    return r0;
}

/* Find the first element that two unbounded progressions have in common: the smallest x >= start_a with x = start_a
 * (mod stride_a) and x = start_b (mod stride_b). Also find the distance to the next one. @return false: there is none.
 * Source: Chinese remainder theorem for moduli with a common divisor, Knuth TAOCP 2, 4.3.2, exercise 3. */
static bool first_common(int64_t start_a, int64_t stride_a, int64_t start_b, int64_t stride_b, dcli_wide *x_out,
                         dcli_wide *stride_out)
{
    int64_t inverse;
    int64_t g = gcd_inverse(stride_a, stride_b, &inverse);
    dcli_wide distance = (dcli_wide)start_b - start_a;
    if (distance % g != 0)
        return false;
    int64_t m = stride_b / g; /* counted in elements of a, common elements are m apart */
    dcli_wide t = distance / g % m;
    if (t < 0)
        t += m;
    t = t * inverse % m;
    *x_out = start_a + t * stride_a;
    *stride_out = (dcli_wide)stride_a * m;
    return true;
}

static bool no_run(int64_t *start_out, int64_t *count_out, int64_t *stride_out)
{
    *start_out = 0;
    *count_out = 0;
    *stride_out = 1;
    return false;
}

bool dcli_run_intersect(int64_t start_a, int64_t count_a, int64_t stride_a, int64_t start_b, int64_t count_b,
                        int64_t stride_b, int64_t *start_out, int64_t *count_out, int64_t *stride_out)
{
    if (count_a <= 0 || count_b <= 0)
        return no_run(start_out, count_out, stride_out);
    if (count_a == 1 && count_b == 1) {
        *start_out = start_a;
        *count_out = *stride_out = 1;
        return start_a == start_b || no_run(start_out, count_out, stride_out);
    }
    dcli_wide first = dcli_max(start_a, start_b), stride = 1;
    dcli_wide last =
        dcli_wide_min(dcli_run_last(start_a, count_a, stride_a), dcli_run_last(start_b, count_b, stride_b));
    last = dcli_wide_min(last, INT64_MAX); /* indices have 64 bits */
    if (first > last)
        return no_run(start_out, count_out, stride_out);

    if (stride_a != 1 || stride_b != 1) {
        dcli_wide x;
        if (!first_common(start_a, stride_a, start_b, stride_b, &x, &stride))
            return no_run(start_out, count_out, stride_out);
        if (x < first)
            x += dcli_wide_ceil_div(first - x, stride) * stride;
        if (x > last)
            return no_run(start_out, count_out, stride_out);
        first = x;
    }
    *start_out = (int64_t)first;
    *count_out = (int64_t)((last - first) / stride + 1);
    *stride_out = *count_out == 1 ? 1 : (int64_t)stride;
    return true;
}

static void make_empty(dcl_box *out, int rank)
{
    *out = (dcl_box){.rank = rank};
    for (int d = 0; d < rank; d++)
        out->stride[d] = 1;
}

/* Whether one box ends before the other begins on some axis. A cheap test: boxes that fail it may still be disjoint. */
static bool lie_apart(const dcl_box *a, const dcl_box *b)
{
    for (int d = 0; d < a->rank; d++)
        if (dcli_run_last(a->start[d], a->count[d], a->stride[d]) < b->start[d] ||
            dcli_run_last(b->start[d], b->count[d], b->stride[d]) < a->start[d])
            return true;
    return false;
}

bool dcli_box_intersect(const dcl_box *a, const dcl_box *b, dcl_box *out)
{
    int rank = a->rank;
    if (lie_apart(a, b)) {
        make_empty(out, rank);
        return false;
    }
    dcl_box common = {.rank = rank}; /* out may be a or b */
    for (int d = 0; d < rank; d++) {
        bool some;
        if (a->stride[d] == 1 && b->stride[d] == 1) { /* the frequent case */
            dcli_wide end = dcli_wide_min((dcli_wide)a->start[d] + a->count[d], (dcli_wide)b->start[d] + b->count[d]);
            common.start[d] = dcli_max(a->start[d], b->start[d]);
            some = end > common.start[d];
            common.count[d] = some ? (int64_t)(end - common.start[d]) : 0;
            common.stride[d] = 1;
        } else {
            some = dcli_run_intersect(a->start[d], a->count[d], a->stride[d], b->start[d], b->count[d], b->stride[d],
                                      &common.start[d], &common.count[d], &common.stride[d]);
        }
        if (!some) {
            make_empty(out, rank);
            return false;
        }
    }
    *out = common;
    return true;
}

bool dcli_box_may_meet(const dcl_box *a, const dcl_box *b)
{
    for (int d = 0; d < a->rank; d++) {
        int64_t apart = a->start[d] - b->start[d];
        if (apart > (b->count[d] - 1) * b->stride[d] || -apart > (a->count[d] - 1) * a->stride[d])
            return false;
        if (a->stride[d] == b->stride[d] && a->stride[d] > 1 && apart % a->stride[d] != 0)
            return false;
    }
    return true;
}

/* Keep only the elements first, first + step, ..., `count` of them, of one axis; positions are counted within the
 * box. */
static void cut_axis(dcl_box *box, int d, int64_t first, int64_t count, int64_t step)
{
    box->start[d] += first * box->stride[d];
    box->count[d] = count;
    box->stride[d] = count > 1 ? box->stride[d] * step : 1;
}

static dcl_status emit(const dcl_box *rest, int d, int64_t first, int64_t count, int64_t step, dcli_box_list *out)
{
    if (count <= 0)
        return DCL_OK;
    dcl_box piece = *rest;
    cut_axis(&piece, d, first, count, step);
    return dcli_box_list_add(out, &piece);
}

/* Append the elements of axis d outside the progression (lo, n, step); elements are counted 0..size-1. These are the
 * elements before and after the progression, and those between its elements: either as n - 1 gaps or as step - 1
 * residue classes, whichever are fewer. */
static dcl_status subtract_axis(const dcl_box *rest, int d, int64_t lo, int64_t n, int64_t step, dcli_box_list *out)
{
    int64_t size = rest->count[d], end = lo + (n - 1) * step + 1;
    /* If fewer elements than a step lie before (or after) the progression, the residue classes include them. */
    bool before_joins = lo < step, after_joins = size - end < step;
    bool by_class = step - 1 + !before_joins + !after_joins < n - 1 + (lo > 0) + (end < size);
    int64_t from = by_class && before_joins ? 0 : lo, to = by_class && after_joins ? size : end;

    dcl_status status = emit(rest, d, 0, from, 1, out);
    for (int64_t k = 1; status == DCL_OK && by_class && k < step; k++) {
        int64_t first = lo + k - (lo + k - step >= from ? step : 0);
        status = emit(rest, d, first, (to - 1 - first) / step + 1, step, out);
    }
    for (int64_t k = 0; status == DCL_OK && !by_class && k < n - 1; k++)
        status = emit(rest, d, lo + k * step + 1, step - 1, 1, out);
    return status != DCL_OK ? status : emit(rest, d, to, size - to, 1, out);
}

dcl_status dcli_box_subtract(const dcl_box *a, const dcl_box *b, dcli_box_list *out)
{
    dcl_box common, rest = *a;
    if (dcli_box_is_empty(a))
        return DCL_OK;
    if (!dcli_box_intersect(a, b, &common))
        return dcli_box_list_add(out, &rest);
    /* Axis by axis: append the elements outside b, and continue with those inside it. */
    for (int d = 0; d < rest.rank; d++) {
        int64_t lo = (int64_t)(((dcli_wide)common.start[d] - rest.start[d]) / rest.stride[d]);
        int64_t step = common.count[d] > 1 ? common.stride[d] / rest.stride[d] : 1;
        dcl_status status = subtract_axis(&rest, d, lo, common.count[d], step, out);
        if (status != DCL_OK)
            return status;
        cut_axis(&rest, d, lo, common.count[d], step);
    }
    return DCL_OK;
}

void dcli_box_bound(const dcl_box *a, const dcl_box *b, dcl_box *out)
{
    if (dcli_box_is_empty(a) || dcli_box_is_empty(b)) {
        *out = dcli_box_is_empty(a) ? *b : *a;
        return;
    }
    dcl_box bound = {.rank = a->rank}; /* out may be a or b */
    for (int d = 0; d < a->rank; d++) {
        dcli_wide first = dcli_min(a->start[d], b->start[d]);
        dcli_wide last = dcli_wide_max(dcli_run_last(a->start[d], a->count[d], a->stride[d]),
                                       dcli_run_last(b->start[d], b->count[d], b->stride[d]));
        dcli_wide stride = 1;
        if ((a->count[d] == 1 || a->stride[d] != 1) && (b->count[d] == 1 || b->stride[d] != 1)) {
            stride = dcli_wide_abs((dcli_wide)a->start[d] - b->start[d]);
            stride = dcli_wide_gcd(stride, a->count[d] > 1 ? a->stride[d] : 0);
            stride = dcli_wide_gcd(stride, b->count[d] > 1 ? b->stride[d] : 0);
        }
        bound.start[d] = (int64_t)first;
        bound.count[d] = stride == 1   ? (int64_t)(last - first + 1)
                         : stride == 0 ? 1
                                       : (int64_t)((last - first) / stride + 1);
        bound.stride[d] = stride == 0 ? 1 : (int64_t)stride;
    }
    *out = bound;
}

void dcli_box_part(const dcl_box *box, const int64_t lo[], const int64_t count[], dcl_box *out)
{
    dcl_box part = *box; /* out may be box */
    for (int d = 0; d < box->rank; d++)
        cut_axis(&part, d, lo[d], count[d], 1);
    *out = part;
}

/* Append a number to a text, counting its whole length as snprintf() does. */
static int put(char *text, size_t capacity, int length, const char *before, int64_t number)
{
    bool room = (size_t)length < capacity;
    return length +
           snprintf(room ? text + length : NULL, room ? capacity - (size_t)length : 0, "%s%" PRId64, before, number);
}

int dcli_box_print(const dcl_box *box, char *text_out, size_t capacity)
{
    int length = 0;
    for (int d = 0; d < box->rank && d < DCL_MAX_RANK; d++) {
        int64_t stride = box->count[d] > 1 ? box->stride[d] : 1;
        dcli_wide end = box->start[d] + (dcli_wide)box->count[d] * stride;
        length = put(text_out, capacity, length, d == 0 ? "[" : ", ", box->start[d]);
        length = put(text_out, capacity, length, ":", dcli_wide_clip(end));
        if (stride != 1)
            length = put(text_out, capacity, length, ":", stride);
    }
    bool room = (size_t)length < capacity;
    return length + snprintf(room ? text_out + length : NULL, room ? capacity - (size_t)length : 0, "%s",
                             length == 0 ? "[]" : "]");
}
