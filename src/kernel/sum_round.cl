/* kernel/sum_round.cl - rounds a partial sum (kernel/sum.cl) to the nearest number of type dcl_T, float or double; ties to even.
 *
 * Source: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
 * IEEE Transactions on Computers 57 (2008): the sum of three numbers is rounded once if what two of them leave is rounded to
 * odd before. */
#ifndef DCL_SUM_ROUND
#define DCL_SUM_ROUND
/* Two numbers. Not a double2, whose components have names that a prelude may define as macros: x, y. */
struct dcl_two {
    double dcl_x, dcl_y;
};

/* The nearest number to x + y, and what it leaves. */
static struct dcl_two dcl_sum_two(const double dcl_x, const double dcl_y)
{
    const double dcl_s = dcl_x + dcl_y, dcl_b = dcl_s - dcl_x;
    const struct dcl_two dcl_both = {dcl_s, (dcl_x - (dcl_s - dcl_b)) + (dcl_y - dcl_b)};
    return dcl_both;
}

/* x + y rounded to odd: of the two numbers around an inexact sum, the one whose last bit is 1. */
static double dcl_sum_odd(const double dcl_x, const double dcl_y)
{
    const struct dcl_two dcl_s = dcl_sum_two(dcl_x, dcl_y);
    const long dcl_bits = as_long(dcl_s.dcl_x);
    if (dcl_s.dcl_y == 0 || (dcl_bits & 1) != 0)
        return dcl_s.dcl_x;
    return as_double(dcl_bits + ((dcl_s.dcl_y > 0) == (dcl_s.dcl_x > 0) ? 1 : -1));
}

/* The sum, rounded to odd if dcl_odd: then rounding it again to fewer bits is as rounding once. Units of the top bin are
 * counted; the lower bin has fractions of them. */
static double dcl_sum_round(const struct dcl_sum *dcl_s, const bool dcl_odd)
{
    if (dcl_s->dcl_seen != 0)
        return dcl_s->dcl_seen == 2 ? INFINITY : dcl_s->dcl_seen == 4 ? -INFINITY : NAN;
    const long dcl_middle = dcl_s->dcl_low[0] + dcl_s->dcl_high[1];
    const double dcl_high = (double)(dcl_s->dcl_high[0] + (dcl_middle >> DCL_SUM_WIDTH)) * (double)(1L << DCL_SUM_WIDTH);
    const double dcl_low = (double)dcl_s->dcl_low[1] / (double)(1L << DCL_SUM_WIDTH);
    const struct dcl_two dcl_u = dcl_sum_two((double)(dcl_middle & DCL_SUM_MASK), dcl_low);
    const struct dcl_two dcl_t = dcl_sum_two(dcl_high, dcl_u.dcl_x);
    const double dcl_rest = dcl_sum_odd(dcl_t.dcl_y, dcl_u.dcl_y);
    const double dcl_x = dcl_odd ? dcl_sum_odd(dcl_t.dcl_x, dcl_rest) : dcl_t.dcl_x + dcl_rest;
    const long dcl_exponent = DCL_SUM_WIDTH * (dcl_s->dcl_top - DCL_SUM_UNIT), dcl_half = dcl_exponent / 2;
    /* in two steps, as the power may be beyond those of normal numbers; denormal results are exact */
    return dcl_x * as_double((1023 + dcl_half) << 52) * as_double((1023 + dcl_exponent - dcl_half) << 52);
}
#endif

#ifdef dcl_T
static dcl_T DCL_OF(dcl_sum_round_)(const struct dcl_sum *dcl_s)
{
    return dcl_s->dcl_top == 0 && dcl_s->dcl_seen == 0 ? 0 : (dcl_T)dcl_sum_round(dcl_s, sizeof(dcl_T) == 4);
}
#endif
