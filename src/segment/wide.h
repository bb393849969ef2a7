/* segment/wide.h - 128-bit integers for products of indices and strides. Pure functions. */
#ifndef DCLI_SEGMENT_WIDE_H
#define DCLI_SEGMENT_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/** A type for start + (count - 1) * stride of any int64_t values without overflow: below 2^126 + 2^63. */
__extension__ typedef __int128 dcli_wide;

static inline dcli_wide dcli_wide_min(dcli_wide a, dcli_wide b) { return a < b ? a : b; }
static inline dcli_wide dcli_wide_max(dcli_wide a, dcli_wide b) { return a > b ? a : b; }
static inline dcli_wide dcli_wide_abs(dcli_wide a) { return a < 0 ? -a : a; }

/** Quotients rounded towards minus and plus infinity; b > 0. */
static inline dcli_wide dcli_wide_floor_div(dcli_wide a, dcli_wide b) { return a / b - (a % b < 0); }
static inline dcli_wide dcli_wide_ceil_div(dcli_wide a, dcli_wide b) { return a / b + (a % b > 0); }

/** Greatest common divisor of non-negative numbers; gcd(0, b) = b. */
static inline dcli_wide dcli_wide_gcd(dcli_wide a, dcli_wide b)
{
    while (b != 0) {
        dcli_wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/** The nearest int64_t, for messages. */
static inline int64_t dcli_wide_clip(dcli_wide a)
{
    return a > INT64_MAX ? INT64_MAX : a < INT64_MIN ? INT64_MIN : (int64_t)a;
}

/** The last element of a progression with at least one element. */
static inline dcli_wide dcli_run_last(int64_t start, int64_t count, int64_t stride)
{
    return start + (dcli_wide)(count - 1) * stride;
}

#endif
