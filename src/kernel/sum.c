/* kernel/sum.c - sums of floating-point numbers that do not depend on the order of the summands. */
#include "kernel/sum.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/check.h"

static const int64_t LOW_MASK = (INT64_C(1) << DCLI_SUM_WIDTH) - 1;

/* Top of the largest finite numbers, which are less than 2^1024. That of the least, 2^-1074, is 1. */
enum { LARGEST_TOP = DCLI_SUM_UNIT + 20 };

/* Add units to a bin. */
static void add_to_bin(dcli_sum *sum, int bin, int64_t high, int64_t low)
{
    sum->low[bin] += low & LOW_MASK;
    sum->high[bin] = (int64_t)((uint64_t)sum->high[bin] + (uint64_t)high + (uint64_t)(low >> DCLI_SUM_WIDTH) +
                               (uint64_t)(sum->low[bin] >> DCLI_SUM_WIDTH));
    sum->low[bin] &= LOW_MASK;
}

/* Raise the top, and drop the bins that are too low then. */
static void raise_top(dcli_sum *sum, int64_t top)
{
    for (int b = DCLI_SUM_BINS - 1; b >= 0; b--) {
        int64_t from = b - (top - sum->top);
        sum->high[b] = from >= 0 ? sum->high[from] : 0;
        sum->low[b] = from >= 0 ? sum->low[from] : 0;
    }
    sum->top = top;
}

void dcli_sum_add(dcli_sum *sum, double summand)
{
    int exponent;
    if (!isfinite(summand)) {
        sum->seen |= isnan(summand) ? DCLI_SUM_NAN : summand > 0 ? DCLI_SUM_PLUS : DCLI_SUM_MINUS;
        return;
    }
    if (summand == 0)
        return;
    frexp(summand, &exponent);
    int64_t top = DCLI_SUM_UNIT + dcli_floor_div(exponent, DCLI_SUM_WIDTH);
    if (top > sum->top)
        raise_top(sum, top);
    double rest = ldexp(
        summand, (int)(DCLI_SUM_WIDTH * (DCLI_SUM_UNIT - sum->top))); /* an underflow is rounded to 0 below, too */
    for (int b = 0; b < DCLI_SUM_BINS; b++) {
        double units = rint(rest);
        add_to_bin(sum, b, 0, (int64_t)units);
        rest = ldexp(rest - units, DCLI_SUM_WIDTH);
    }
}

void dcli_sum_merge(dcli_sum *sum, const dcli_sum *other)
{
    sum->seen |= other->seen;
    if (other->top == 0)
        return;
    if (other->top > sum->top)
        raise_top(sum, other->top);
    int64_t by = sum->top - other->top;
    for (int b = 0; b + by < DCLI_SUM_BINS; b++)
        add_to_bin(sum, (int)(b + by), other->high[b], other->low[b]);
}

bool dcli_sum_is_valid(const dcli_sum *sum)
{
    bool none = sum->top == 0;
    if (sum->top < 0 || sum->top > LARGEST_TOP || (sum->seen & ~(DCLI_SUM_NAN | DCLI_SUM_PLUS | DCLI_SUM_MINUS)) != 0)
        return false;
    for (int b = 0; b < DCLI_SUM_BINS; b++)
        if ((sum->low[b] & ~LOW_MASK) != 0 || (none && (sum->high[b] != 0 || sum->low[b] != 0)))
            return false;
    return true;
}

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 bits;

/* Round value * 2^exponent to `digits` binary digits, ties to even; not below 2^least. @param more  the exact value is a
 * little larger in magnitude: less than one unit. */
static double round_to(wide value, bool more, int exponent, int digits, int least)
{
    bits magnitude = value < 0 ? -(bits)value : (bits)value;
    int length = 0;
    while (length < 128 && magnitude >> length != 0)
        length++;
    int drop = (int)dcli_max(length - digits, least - exponent);
    if (drop <= 0)
        return ldexp(value < 0 ? -(double)magnitude : (double)magnitude, exponent);
    if (drop > length + 1 || drop > 127)
        return value < 0 ? -0.0 : 0.0;
    bits kept = magnitude >> drop, rest = magnitude - (kept << drop), half = (bits)1 << (drop - 1);
    if (rest > half || (rest == half && (more || (kept & 1) != 0)))
        kept++;
    return ldexp(value < 0 ? -(double)kept : (double)kept, exponent + drop);
}

static const wide FITS = (wide)1 << 76; /* with a lower bin, such a number fits 128 bits */

double dcli_sum_round(const dcli_sum *sum, dcl_type type)
{
    static const struct {
        int digits, least;
        double largest;
    } formats[] = {[DCL_HALF] = {11, -24, 65504},
                   [DCL_FLOAT] = {FLT_MANT_DIG, -149, FLT_MAX},
                   [DCL_DOUBLE] = {DBL_MANT_DIG, -1074, DBL_MAX}};
    if ((sum->seen & DCLI_SUM_NAN) != 0 || (sum->seen & (DCLI_SUM_PLUS | DCLI_SUM_MINUS)) > DCLI_SUM_MINUS)
        return NAN;
    if (sum->seen != 0)
        return (sum->seen & DCLI_SUM_PLUS) != 0 ? INFINITY : -INFINITY;
    if (sum->top == 0)
        return 0;
    /* upper: units of the top bin, with the carry of the lower bin; lower: what then remains of the lower bin */
    wide upper = (wide)sum->high[0] * (LOW_MASK + 1) + sum->low[0] + sum->high[1];
    int64_t lower = sum->low[1];
    int exponent = (int)(DCLI_SUM_WIDTH * (sum->top - DCLI_SUM_UNIT));
    double rounded;
    if (upper < FITS && upper >= -FITS)
        rounded = round_to(upper * (LOW_MASK + 1) + lower, false, exponent - DCLI_SUM_WIDTH, formats[type].digits,
                           formats[type].least);
    else /* the lower bin only decides ties; it adds to a negative number, so reduces its magnitude */
        rounded = round_to(upper + (upper < 0 && lower != 0), lower != 0, exponent, formats[type].digits,
                           formats[type].least);
    return fabs(rounded) > formats[type].largest ? copysign(INFINITY, rounded) : rounded + 0.0;
}
