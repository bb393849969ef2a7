/* base/check.h - arithmetic that detects overflow, and small integer helpers. */
#ifndef DCLI_BASE_CHECK_H
#define DCLI_BASE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/** *out = a op b. @return false on overflow; *out is then undefined. */
static inline bool dcli_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool dcli_sub(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
static inline bool dcli_mul(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

static inline int64_t dcli_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dcli_max(int64_t a, int64_t b) { return a > b ? a : b; }

/** Quotient rounded towards minus infinity; b > 0. */
static inline int64_t dcli_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
/** Quotient rounded towards plus infinity; b > 0. */
static inline int64_t dcli_ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
/** Remainder in 0..b-1; b > 0. */
static inline int64_t dcli_mod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

/** Greatest common divisor of non-negative numbers; gcd(0, b) = b. */
static inline int64_t dcli_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

#endif
