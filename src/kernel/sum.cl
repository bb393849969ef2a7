/* kernel/sum.cl - a partial sum that does not depend on the order of the summands (kernel/sum.h), for all kinds of devices. */
#define DCL_SUM_WIDTH 50
#define DCL_SUM_UNIT 23
#define DCL_SUM_MASK ((1L << DCL_SUM_WIDTH) - 1)
struct dcl_sum { /* as dcli_sum */
    long dcl_top, dcl_seen, dcl_high[2], dcl_low[2];
};

/* Add units to a bin. */
static void dcl_sum_units(struct dcl_sum *dcl_s, const int dcl_bin, const long dcl_units)
{
    const long dcl_low = dcl_s->dcl_low[dcl_bin] + (dcl_units & DCL_SUM_MASK);
    dcl_s->dcl_high[dcl_bin] += (dcl_units >> DCL_SUM_WIDTH) + (dcl_low >> DCL_SUM_WIDTH);
    dcl_s->dcl_low[dcl_bin] = dcl_low & DCL_SUM_MASK;
}

/* Raise the top, and drop the bins that are too low then. */
static void dcl_sum_raise(struct dcl_sum *dcl_s, const long dcl_top)
{
    const bool dcl_next = dcl_top == dcl_s->dcl_top + 1;
    dcl_s->dcl_high[1] = dcl_next ? dcl_s->dcl_high[0] : 0;
    dcl_s->dcl_low[1] = dcl_next ? dcl_s->dcl_low[0] : 0;
    dcl_s->dcl_high[0] = dcl_s->dcl_low[0] = 0;
    dcl_s->dcl_top = dcl_top;
}

/* The highest bin in which a magnitude x may have a slice: x < 2^(exponent + 1) <= half of the next bin's unit. x is neither 0
 * nor infinite. */
static long dcl_sum_top(const double dcl_x)
{
    const bool dcl_small = dcl_x < 0x1p-1000; /* it may be denormal */
    const long dcl_bits = as_long(dcl_small ? dcl_x * 0x1p200 : dcl_x);
    const long dcl_exponent = (dcl_bits >> 52) - 1023 - (dcl_small ? 200 : 0), dcl_n = dcl_exponent + 1;
    return DCL_SUM_UNIT + dcl_n / DCL_SUM_WIDTH - (dcl_n % DCL_SUM_WIDTH < 0);
}

/* Numbers with an outermost top are scaled by this, so that the constants which round them are normal numbers. */
static double dcl_sum_scale(const long dcl_top)
{
    return dcl_top > DCL_SUM_UNIT + 19 ? 0x1p-200 : dcl_top < DCL_SUM_UNIT - 18 ? 0x1p200 : 1;
}

/* Adding this constant to a number, scaled, rounds it to a multiple of the bin's unit: the multiple is in the last 51
 * bits of the sum. */
static double dcl_sum_rounder(const long dcl_top, const long dcl_bin)
{
    const long dcl_shift = dcl_top > DCL_SUM_UNIT + 19 ? -200 : dcl_top < DCL_SUM_UNIT - 18 ? 200 : 0;
    return 1.5 * as_double((DCL_SUM_WIDTH * (dcl_bin - DCL_SUM_UNIT) + 52 + dcl_shift + 1023) << 52);
}
