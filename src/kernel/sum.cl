/* kernel/sum.cl - adds numbers to a partial sum that does not depend on their order (kernel/sum.h). For CPUs: blocks of
 * numbers of type dcl_T (float or double), in vectors. dcl_I is the integer type of the same size. */
#ifndef DCL_SUM_WIDTH
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

/* Add up the lanes. Each has dcl_n times the bits of dcl_rounder, which count nothing. */
static long dcl_sum_lanes(const long8 dcl_x, const long dcl_n, const double dcl_rounder)
{
    const long4 dcl_4 = dcl_x.lo + dcl_x.hi;
    const long2 dcl_2 = dcl_4.lo + dcl_4.hi;
    return (long)((ulong)dcl_2.x + (ulong)dcl_2.y - 8 * (ulong)dcl_n * as_ulong(dcl_rounder));
}
#endif

/* Add the numbers one by one, without those that are not finite, which are noted. */
static void DCL_OF(dcl_sum_special_)(struct dcl_sum *dcl_s, dcl_T *dcl_v, const int dcl_n)
{
    for (int dcl_t = 0; dcl_t < dcl_n; dcl_t++) {
        if (isfinite(dcl_v[dcl_t]))
            continue;
        dcl_s->dcl_seen |= isnan(dcl_v[dcl_t]) ? 1 : dcl_v[dcl_t] > 0 ? 2 : 4;
        dcl_v[dcl_t] = 0;
    }
}

/* Add a block of dcl_n <= 1024 numbers; dcl_n is a multiple of 8, zeros fill the rest of the last 8. The numbers may
 * change. */
static void DCL_OF(dcl_sum_)(struct dcl_sum *dcl_s, dcl_T *dcl_v, const int dcl_n)
{
    for (;;) {
        const long dcl_top = dcl_s->dcl_top;
        const double dcl_scale = dcl_sum_scale(dcl_top);
        const double dcl_r0 = dcl_sum_rounder(dcl_top, dcl_top), dcl_r1 = dcl_sum_rounder(dcl_top, dcl_top - 1);
        long8 dcl_b0 = 0, dcl_b1 = 0;
        DCL_PASTE(dcl_I, 8) dcl_m = 0; /* the largest magnitude: the bits of magnitudes have the order of the numbers */
        for (int dcl_t = 0; dcl_t < dcl_n; dcl_t += 8) {
            const DCL_VECTOR(8) dcl_x = vload8(0, dcl_v + dcl_t);
            dcl_m = max(dcl_m, DCL_PASTE(DCL_PASTE(as_, dcl_I), 8)(fabs(dcl_x)));
            const double8 dcl_y = convert_double8(dcl_x) * dcl_scale, dcl_z = dcl_y + dcl_r0;
            dcl_b0 += as_long8(dcl_z);
            dcl_b1 += as_long8(dcl_y - (dcl_z - dcl_r0) + dcl_r1);
        }
        const DCL_PASTE(dcl_I, 4) dcl_m4 = max(dcl_m.lo, dcl_m.hi);
        const DCL_PASTE(dcl_I, 2) dcl_m2 = max(dcl_m4.lo, dcl_m4.hi);
        const dcl_T dcl_largest = DCL_PASTE(as_, dcl_T)(max(dcl_m2.x, dcl_m2.y));
        if (dcl_largest == 0)
            return;
        if (!isfinite(dcl_largest)) {
            DCL_OF(dcl_sum_special_)(dcl_s, dcl_v, dcl_n);
            continue;
        }
        const long dcl_needed = dcl_sum_top((double)dcl_largest);
        if (dcl_needed <= dcl_top) {
            dcl_sum_units(dcl_s, 0, dcl_sum_lanes(dcl_b0, dcl_n / 8, dcl_r0));
            dcl_sum_units(dcl_s, 1, dcl_sum_lanes(dcl_b1, dcl_n / 8, dcl_r1));
            return;
        }
        dcl_sum_raise(dcl_s, dcl_needed); /* what was added has no meaning: add the block anew */
    }
}
