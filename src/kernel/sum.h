/* kernel/sum.h - sums of floating-point numbers that do not depend on the order of the summands. Pure functions.
 *
 * Every node sums its elements in many places at once, and partial sums meet in any order. So that the result has the same
 * bits for all numbers of nodes, maps and tiles, each summand is cut into *slices* that do not depend on the other
 * summands, and slices are added as integers. Bin t has the unit 2^(DCLI_SUM_WIDTH (t - DCLI_SUM_UNIT)). The slices are cut
 * from the highest bin down: each is the rest of the summand, rounded to a multiple of the bin's unit. So a slice is 0 if the
 * summand is smaller than half of the unit. A sum keeps two bins: its top, the highest one in which any of its summands may
 * have a slice, and the next lower one. When a larger summand raises the top, bins that are too low are dropped.
 *
 * The error of n summands of magnitude at most m is at most n m 2^-50, plus one rounding at the end; the bound for a plain
 * loop is n m n 2^-53. Numbers of type float that are within a factor of 2^25 of the largest are summed exactly.
 *
 * Source: J. Demmel and H. D. Nguyen, "Parallel Reproducible Summation", IEEE Transactions on Computers 64 (2015), which
 * adds slices as floating-point numbers; integers need no renormalization. */
#ifndef DCLI_KERNEL_SUM_H
#define DCLI_KERNEL_SUM_H

#include <dcl/grid.h>

enum {
    DCLI_SUM_WIDTH = 50, /* bits of a bin; a slice has at most 2^49 units, so double holds it exactly */
    DCLI_SUM_BINS = 2,   /* bins that a sum keeps: the top one, and the next lower one */
    DCLI_SUM_UNIT = 23   /* number of the bin whose unit is 1; bins are numbered from 1 on */
};

/** Special summands that a sum has seen: a set of bits. */
enum { DCLI_SUM_NAN = 1, DCLI_SUM_PLUS = 2, DCLI_SUM_MINUS = 4 /* not a number, plus and minus infinity */ };

/** A partial sum, six longs, as kernels compute them, too (kernel/sum.cl). All 0: a sum of zeros.
 *  high[b] * 2^DCLI_SUM_WIDTH + low[b] is the number of units of bin top - b. */
typedef struct dcli_sum {
    int64_t top;  /* 0: no summand was other than 0 */
    int64_t seen; /* special summands: a set */
    int64_t high[DCLI_SUM_BINS];
    int64_t low[DCLI_SUM_BINS]; /* 0 .. 2^DCLI_SUM_WIDTH - 1 */
} dcli_sum;

/** Add one summand. */
void dcli_sum_add(dcli_sum *sum, double summand);

/** Add a partial sum to another one. In whatever order partial sums are merged, the words of the result are the same. */
void dcli_sum_merge(dcli_sum *sum, const dcli_sum *other);

/** Whether a partial sum from outside, such as one in a message, is one that the functions above could have made. */
bool dcli_sum_is_valid(const dcli_sum *sum);

/** Round a sum to the nearest number of a type, ties to even.
 *  @param type  DCL_HALF, DCL_FLOAT or DCL_DOUBLE.
 *  @return the number, as a double. A NaN, or infinities of both signs: NaN; one infinity: that; too large for the type: infinity.
 *          A sum of 0 is +0. */
double dcli_sum_round(const dcli_sum *sum, dcl_type type);

#endif
