/* base/divisor.h - fast division by a constant that is known only at run time: a multiplication and a shift instead of
 * a division, which takes a CPU several times as long. Source: Granlund and Montgomery, Division by invariant integers
 * using multiplication (PLDI 1994), theorem 4.2, for numbers of 63 bits. */
#ifndef DCLI_BASE_DIVISOR_H
#define DCLI_BASE_DIVISOR_H

#include <stdint.h>

__extension__ typedef unsigned __int128 dcli_product;

/** A divisor prepared by dcli_divisor_of(). */
typedef struct dcli_divisor {
    uint64_t multiplier; /* 2^(63 + shift) / by, rounded up: below 2^64 */
    int shift;           /* 2^shift is the smallest power of two >= the divisor */
} dcli_divisor;

/** Prepare divisions by a number. @param by  1 <= by <= 2^62. */
static inline dcli_divisor dcli_divisor_of(int64_t by)
{
    int shift = by == 1 ? 0 : 64 - __builtin_clzll((unsigned long long)by - 1);
    dcli_product power = (dcli_product)1 << (63 + shift);
    return (dcli_divisor){.multiplier = (uint64_t)((power + (uint64_t)by - 1) / (uint64_t)by), .shift = shift};
}

/** Quotient rounded down; n >= 0. */
static inline int64_t dcli_divided(int64_t n, dcli_divisor by)
{
    return (int64_t)((uint64_t)((dcli_product)by.multiplier * (2 * (uint64_t)n) >> 64) >> by.shift);
}

#endif
