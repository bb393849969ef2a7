/* verbs/oracle.c - see oracle.h. */
#include "verbs/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As reflect (repeat 0) and symmetric (repeat 1) read an axis of n elements. */
static int64_t mirrored(int64_t x, int64_t n, int64_t repeat)
{
    while (n > 1 && (x < 0 || x >= n))
        x = x < 0 ? -repeat - x : 2 * (n - 1) + repeat - x;
    return n > 1 ? x : 0;
}

int64_t test_at(const test_operand *operand, const int64_t index[])
{
    int64_t e = 0;
    for (int d = 0; d < operand->rank; d++) {
        int64_t x = index[operand->index[d]] + operand->shift[d] - operand->grid.origin[d], n = operand->grid.extent[d];
        char bound = operand->bound[d];
        if (bound == 'z' && (x < 0 || x >= n))
            return dcl_grid_count(&operand->grid);
        if (bound == 'w')
            x = (x % n + n) % n;
        else if (bound == 'r' || bound == 's')
            x = mirrored(x, n, bound == 's');
        else if (bound != 0)
            x = x < 0 ? 0 : x >= n ? n - 1 : x;
        if (x < 0 || x >= operand->grid.extent[d])
            return -1;
        e = e * operand->grid.extent[d] + x;
    }
    return e;
}

/* Step the indices of a set, the last one fastest. @return false after the last */
static bool step(const test_call *call, unsigned set, int64_t index[])
{
    for (int x = call->indices - 1; x >= 0; x--) {
        if ((set >> x & 1) == 0)
            continue;
        index[x] += call->step[x];
        if (index[x] < call->first[x] + call->count[x] * call->step[x])
            return true;
        index[x] = call->first[x];
    }
    return false;
}

static unsigned indices_of(const test_operand *operand)
{
    unsigned set = 0;
    for (int d = 0; d < operand->rank; d++)
        set |= 1U << operand->index[d];
    return set;
}

/* Is the body run at an index, as far as the conditions say that have only kept indices (or those that have others)? */
static bool is_within(const test_call *call, const int64_t index[], unsigned kept, bool others)
{
    const test_range *range = &call->range;
    if (!range->some)
        return true;
    int64_t x = index[range->x], y = index[range->y];
    bool x_kept = (kept >> range->x & 1) != 0, both_kept = x_kept && (kept >> range->y & 1) != 0;
    if (x_kept != others && (x < range->least || x > range->most))
        return false;
    if (both_kept == others)
        return true;
    return (!range->low || x >= range->slope * y - range->below) &&
           (!range->high || x <= range->slope * y + range->above);
}

bool test_runs_at(const test_call *call, const int64_t index[])
{
    for (int x = 0; x < call->indices; x++) {
        int64_t along = index[x] - call->first[x];
        if (along < 0 || along % call->step[x] != 0 || along / call->step[x] >= call->count[x])
            return false;
    }
    return is_within(call, index, 0, true);
}

/* The value of the expression at an index, before it is converted; its type is the promoted one of a. */
static test_value term_at(const test_call *call, const int64_t index[])
{
    dcl_type type = test_promoted(call->a.type);
    test_value a = call->a.values[test_at(&call->a, index)];
    if (call->second == TEST_OPERATORS)
        return a;
    if (!call->window)
        return test_compute(call->second, type, a, call->b.values[test_at(&call->b, index)]);
    test_value total = {0};
    test_operand b = call->b;
    for (int w = 0; w < TEST_WINDOW; w++, b.shift[0]++)
        total = test_compute(TEST_PLUS, type, total, test_compute(call->second, type, a, b.values[test_at(&b, index)]));
    return total;
}

static test_value converted_at(const test_call *call, const int64_t index[])
{
    if (call->op == TEST_ANY || call->op == TEST_ALL) /* whether it is 0 is found before it is converted */
        return (test_value){.i = term_at(call, index).i != 0};
    test_value value = test_convert(term_at(call, index), test_promoted(call->a.type), call->out.type);
    if (call->op != TEST_MINUS || call->verb == TEST_FORALL)
        return value;
    if (test_is_floating(call->out.type))
        return (test_value){.f = -value.f};
    return test_compute(TEST_MINUS, call->out.type, (test_value){0}, value);
}

/* ---- sums that do not depend on the order --------------------------------------------------------------------------- */

__extension__ typedef __int128 wide;

enum { WIDTH = 50, SLICES = 2 };

/* As docs/reductions.md says: each value is rounded to a multiple of a unit, which depends on the largest magnitude alone. The
 * values are cut into a slice of multiples of 2^(WIDTH t) and one of 2^(WIDTH (t - 1)), where 2^(WIDTH (t + 1)) is the
 * least such power above the magnitudes. */
static test_value sum(dcl_type type, int64_t count, const double values[])
{
    bool plus = false, minus = false, not_a_number = false;
    int top = INT32_MIN;
    for (int64_t n = 0; n < count; n++) {
        plus |= values[n] == INFINITY;
        minus |= values[n] == -INFINITY;
        not_a_number |= isnan(values[n]);
        if (isfinite(values[n]) && values[n] != 0) {
            int exponent, slice;
            frexp(values[n], &exponent);
            slice = (int)floor((double)exponent / WIDTH);
            top = slice > top ? slice : top;
        }
    }
    if (not_a_number || (plus && minus))
        return (test_value){.f = NAN};
    if (plus || minus)
        return (test_value){.f = plus ? INFINITY : -INFINITY};
    if (top == INT32_MIN)
        return (test_value){.f = 0};
    wide total = 0; /* in units of the lower slice */
    for (int64_t n = 0; n < count; n++) {
        double rest = ldexp(values[n], -WIDTH * top), units = rint(rest);
        total += ((wide)units << WIDTH) + (wide)rint(ldexp(rest - units, WIDTH));
    }
    if (type == DCL_FLOAT)
        return (test_value){.f = ldexpf((float)total, WIDTH * (top - SLICES + 1))};
    return (test_value){.f = ldexp((double)total, WIDTH * (top - SLICES + 1))};
}

/* ---- reductions ----------------------------------------------------------------------------------------------------- */

static test_value chain(const test_call *call, int64_t index[], unsigned reduced, test_value from)
{
    double sign = call->op == TEST_MINUS ? -1 : 1;
    do {
        if (!is_within(call, index, indices_of(&call->out), true))
            continue;
        double a = sign * call->a.values[test_at(&call->a, index)].f, b = call->b.values[test_at(&call->b, index)].f;
        from.f = call->out.type == DCL_FLOAT ? fmaf((float)a, (float)b, (float)from.f) : fma(a, b, from.f);
    } while (step(call, reduced, index));
    return from;
}

/* ---- results in one order ---------------------------------------------------------------------------------------------- */

static bool is_ordered(const test_call *call)
{
    return call->op == TEST_OWN || (call->op == TEST_TIMES && test_is_floating(call->out.type));
}

/* Combine lines of `count` values each, which lie one after the other, by leaves until each is one value. */
static void combine_lines(const test_call *call, int64_t lines, int64_t count, test_value values[])
{
    enum { LEAF = 1024 };
    for (int64_t l = 0; l < lines; l++) {
        test_value *line = &values[l * count];
        for (int64_t left = count; left > 1; left = (left + LEAF - 1) / LEAF)
            for (int64_t n = 0; n < left; n++)
                line[n / LEAF] =
                    n % LEAF == 0 ? line[n] : test_combine(call->op, call->out.type, line[n / LEAF], line[n]);
        values[l] = line[0];
    }
}

/* As docs/reductions.md says: the values at all indices of `a`, neutral where the body is not run, the last axis first. */
static bool reduce_in_order(test_call *call, int64_t index[], test_value *out)
{
    int64_t total = dcl_grid_count(&call->a.grid);
    test_value *values = malloc((size_t)total * sizeof *values), old = *out;
    if (values == NULL)
        return false;
    for (int64_t e = 0; e < total; e++)
        values[e] = test_neutral(call->op, call->out.type);
    do {
        if (is_within(call, index, 0, true))
            values[test_at(&call->a, index)] = converted_at(call, index);
    } while (step(call, (1U << call->indices) - 1, index));
    for (int d = call->a.rank - 1; d >= 0; d--) {
        total /= call->a.grid.extent[d];
        combine_lines(call, total, call->a.grid.extent[d], values);
    }
    *out = call->inout ? test_combine(call->op, call->out.type, old, values[0]) : values[0];
    free(values);
    return true;
}

/* ---- reductions along axes --------------------------------------------------------------------------------------------- */

static test_value reduce(const test_call *call, int64_t index[], unsigned reduced, test_value from, double list[])
{
    if (call->chain)
        return chain(call, index, reduced, from);
    bool summed = test_is_floating(call->out.type) && (call->op == TEST_PLUS || call->op == TEST_MINUS);
    int64_t count = 0;
    list[count++] = from.f;
    if (call->inout) /* the present value is one of those reduced */
        from = test_combine(call->op, call->out.type, test_neutral(call->op, call->out.type), from);
    do {
        if (!is_within(call, index, indices_of(&call->out), true))
            continue;
        test_value value = converted_at(call, index);
        if (summed)
            list[count++] = value.f;
        else
            from = test_combine(call->op, call->out.type, from, value);
    } while (step(call, reduced, index));
    return summed ? sum(call->out.type, count, list) : from;
}

/* ---- scans ---------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 16 };

/* Scan a block: each element is combined with what lies 1, 2, 4 and 8 places before it. */
static void scan_block(const test_call *call, int count, test_value values[])
{
    test_value next[BLOCK];
    for (int d = 1; d < BLOCK; d *= 2) {
        for (int e = 0; e < count; e++)
            next[e] = e >= d ? test_combine(call->op, call->out.type, values[e - d], values[e]) : values[e];
        memcpy(values, next, (size_t)count * sizeof *values);
    }
}

/* Combines with `a`, unless there is nothing before. */
static test_value joined(const test_call *call, bool some, test_value a, test_value b)
{
    return some ? test_combine(call->op, call->out.type, a, b) : b;
}

/* Scan the line of elements through an index, as docs/scans.md says. */
static void scan_line(test_call *call, int64_t index[])
{
    int x = call->along;
    int64_t leaf = 1024, length = call->extent[x];
    while (length > 1024 * leaf)
        leaf *= 2;
    test_value neutral = test_neutral(call->op, call->out.type), before = neutral, own = neutral, last = neutral;
    bool some = false; /* blocks of this leaf before */
    for (int64_t e = 0; e < length; e += BLOCK) {
        int count = (int)(length - e < BLOCK ? length - e : BLOCK);
        test_value values[BLOCK];
        if (e > 0 && e % leaf == 0) {
            before = test_combine(call->op, call->out.type, before, own);
            some = false;
        }
        for (int n = 0; n < count; n++) {
            index[x] = call->start[x] + e + n;
            values[n] = converted_at(call, index);
        }
        scan_block(call, count, values);
        for (int n = 0; n < count; n++) {
            test_value value = test_combine(call->op, call->out.type, before, joined(call, some, own, values[n]));
            index[x] = call->start[x] + e + n;
            call->out.values[test_at(&call->out, index)] = call->exclusive ? last : value;
            last = value;
        }
        own = joined(call, some, own, values[count - 1]);
        some = true;
    }
    index[x] = call->start[x];
}

/* The lexicographically lowest index of a with the result; -1 if there is none. */
static void find(test_call *call, int64_t index[])
{
    const test_operand *a = &call->a;
    int64_t best = -1;
    for (int d = 0; d < a->rank; d++)
        call->where[d] = -1;
    do {
        int64_t e = test_at(a, index);
        if (!is_within(call, index, 0, true) || (best >= 0 && e >= best) ||
            !test_same(call->out.type, converted_at(call, index), call->out.values[0]))
            continue;
        best = e;
        for (int d = 0; d < a->rank; d++)
            call->where[d] = index[a->index[d]] + a->shift[d];
    } while (step(call, (1U << call->indices) - 1, index));
}

/* The lowest reduced indices with the value of an element of out; -1 if there are none. */
static void find_along(const test_call *call, int64_t index[], unsigned reduced, int64_t element)
{
    int64_t *place = &call->places[element * call->inner];
    bool found = false;
    for (int q = 0; q < call->inner; q++)
        place[q] = -1;
    do {
        if (found || !is_within(call, index, indices_of(&call->out), true) ||
            !test_same(call->out.type, converted_at(call, index), call->out.values[element]))
            continue;
        found = true;
        for (int x = 0, q = 0; x < call->indices; x++)
            if ((reduced >> x & 1) != 0)
                place[q++] = index[x];
    } while (step(call, reduced, index));
}

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

/* The values of one element of out begin at first[element]; the element's own is the first of them. */
static bool sum_by_keys(test_call *call, int64_t count, const int64_t where[], const double values[])
{
    int64_t elements = dcl_grid_count(&call->out.grid);
    int64_t *first = calloc((size_t)elements + 2, sizeof *first);
    double *sorted = malloc((size_t)(count + elements) * sizeof *sorted);
    bool good = first != NULL && sorted != NULL;
    for (int64_t n = 0; good && n < count; n++)
        first[where[n] + 2]++;
    for (int64_t e = 0; good && e < elements; e++) {
        first[e + 2] += first[e + 1] + 1;
        sorted[first[e + 1]++] = call->out.values[e].f;
    }
    for (int64_t n = 0; good && n < count; n++)
        sorted[first[where[n] + 1]++] = values[n];
    for (int64_t e = 0; good && e < elements; e++)
        call->out.values[e] = sum(call->out.type, first[e + 1] - first[e], &sorted[first[e]]);
    free(first);
    free(sorted);
    return good;
}

/* The lowest reduced indices with the value of each element of out; the places are all -1 before. @return whether there was memory */
static bool find_by_keys(const test_call *call, int64_t index[])
{
    unsigned all = (1U << call->indices) - 1, reduced = all & ~indices_of(&call->out);
    bool *found = calloc((size_t)dcl_grid_count(&call->out.grid) + 1, sizeof *found);
    do {
        index[call->key] = call->keys.values[test_at(&call->keys, index)].i;
        int64_t e = test_at(&call->out, index);
        if (found == NULL || e < 0 || found[e] ||
            !test_same(call->out.type, converted_at(call, index), call->out.values[e]))
            continue;
        found[e] = true;
        for (int x = 0, q = 0; x < call->indices; x++)
            if ((reduced >> x & 1) != 0)
                call->places[e * call->inner + q++] = index[x];
    } while (step(call, all, index));
    free(found);
    return found != NULL;
}

static bool reduce_by_keys(test_call *call, int64_t index[], int64_t terms)
{
    bool summed = test_is_floating(call->out.type) && (call->op == TEST_PLUS || call->op == TEST_MINUS);
    unsigned all = (1U << call->indices) - 1;
    int64_t count = 0, *where = malloc((size_t)terms * sizeof *where);
    double *values = malloc((size_t)terms * sizeof *values);
    bool good = where != NULL && values != NULL;
    for (int64_t e = 0; !call->inout && e < dcl_grid_count(&call->out.grid); e++)
        call->out.values[e] = test_neutral(call->op, call->out.type);
    do {
        index[call->key] = good ? call->keys.values[test_at(&call->keys, index)].i : 0;
        int64_t e = test_at(&call->out, index);
        call->outside |= e < 0;
        if (!good || e < 0)
            continue;
        test_value value = converted_at(call, index), *out = &call->out.values[e];
        where[count] = e;
        values[count++] = value.f;
        if (!summed)
            *out = test_combine(call->op, call->out.type, *out, value);
    } while (step(call, all, index));
    good = good && (!summed || sum_by_keys(call, count, where, values)) && (!call->placed || find_by_keys(call, index));
    free(where);
    free(values);
    return good;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------ */

static test_value forall_at(const test_call *call, const int64_t index[], test_value old)
{
    dcl_type type = test_promoted(call->a.type);
    if (!call->inout)
        return converted_at(call, index);
    test_value value = test_compute(call->op, type, old, call->a.values[test_at(&call->a, index)]);
    return test_convert(value, type, call->out.type);
}

bool test_compute_call(test_call *call)
{
    int64_t index[TEST_MOST_INDICES] = {0}, terms = 1;
    unsigned all = (1U << call->indices) - 1, kept = indices_of(&call->out) & all;
    for (int x = 0; x < call->indices; x++) {
        index[x] = call->first[x];
        terms *= call->count[x];
    }
    if (call->verb == TEST_KEYED)
        return reduce_by_keys(call, index, terms);
    if (call->verb == TEST_ELEMENT)
        index[call->key] = call->element;
    if (is_ordered(call) && (call->verb == TEST_VALUE || call->verb == TEST_ELEMENT))
        return reduce_in_order(call, index, &call->out.values[test_at(&call->out, index)]);
    double *list = malloc(((size_t)terms + 1) * sizeof *list);
    if (list == NULL)
        return false;
    unsigned lines = call->verb == TEST_SCAN ? kept & ~(1U << call->along) : kept;
    do {
        test_value *out = &call->out.values[test_at(&call->out, index)];
        if (!is_within(call, index, kept, false))
            continue;
        if (call->verb == TEST_SCAN)
            scan_line(call, index);
        else if (call->verb == TEST_FORALL)
            *out = forall_at(call, index, *out);
        else
            *out = reduce(call, index, all & ~kept, call->inout ? *out : test_neutral(call->op, call->out.type), list);
        if (call->placed && call->verb == TEST_ALONG)
            find_along(call, index, all & ~kept, out - call->out.values);
    } while (step(call, lines, index));
    free(list);
    if (call->placed && call->verb == TEST_VALUE)
        find(call, index);
    return true;
}
