/* kernel/sum_cpu.cl - adds many numbers of type dcl_T (float or double) to a partial sum (kernel/sum.cl), in vectors. dcl_I is the
 * unsigned integer type of the same size.
 *
 * A run (struct dcl_run_T) sums up to 2,048 values in a loop that compilers vectorize. It assumes that no value raises the top, and
 * finds out at its end whether that was so. If not, its values are computed again and added as a block (dcl_sum_T), which adds
 * any numbers.
 *
 * Runs of type float need one slice only: if the exponents of 2,048 numbers differ by at most 18, double adds them
 * exactly. The slices of the next bin are what remains of this sum without those of the top bin. */
#ifndef DCL_SUM_LANES
#define DCL_SUM_LANES 8 /* blocks are multiples of this */
#ifdef __FMA__
#define DCL_SUM_SCALED(x, scale, y) fma(x, scale, y) /* scales by powers of 2 are exact: rounded once, as below */
#else
#define DCL_SUM_SCALED(x, scale, y) ((x) * (scale) + (y))
#endif
#ifdef __clang__
#define DCL_INLINE static inline __attribute__((always_inline))
#else
#define DCL_INLINE static inline
#endif

/* What became of a run. */
enum { DCL_RUN_ADDED, DCL_RUN_AGAIN /* nothing was added */, DCL_RUN_WIDE /* nor will be its neighbours, probably */ };

/* Add up the lanes, modulo 2^64. */
static ulong dcl_sum_lanes(const ulong8 dcl_x)
{
    const ulong4 dcl_4 = dcl_x.lo + dcl_x.hi;
    const ulong2 dcl_2 = dcl_4.lo + dcl_4.hi;
    return dcl_2.s0 + dcl_2.s1;
}
#endif

/* Add numbers in any order: because that is allowed, or because their sum is exact. */
DCL_INLINE dcl_T DCL_OF(dcl_sum_any_order_)(const dcl_T dcl_x, const dcl_T dcl_y)
{
#ifdef __clang__
#pragma clang fp reassociate(on)
#endif
    return dcl_x + dcl_y;
}
DCL_INLINE double DCL_OF(dcl_run_any_order_)(const double dcl_x, const double dcl_y)
{
#ifdef __clang__
#pragma clang fp reassociate(on)
#endif
    return dcl_x + dcl_y;
}

/* What a run has seen of its values, and the constants that round these to slices. Doubled bits of numbers have the order of the
 * magnitudes. */
struct DCL_OF(dcl_run_) {
    double dcl_scale, dcl_r0, dcl_r1; /* float: dcl_r0 only */
    dcl_I dcl_b0, dcl_b1;             /* sums of the bits of slices, and of the constants that were added to get these */
    double dcl_a;                     /* float: the sum */
    dcl_I dcl_most, dcl_least;        /* bits, doubled; dcl_least, of float: minus 1, so that 0 is the largest */
};

DCL_INLINE struct DCL_OF(dcl_run_) DCL_OF(dcl_run_begin_)(const struct dcl_sum *const dcl_s)
{
    const long dcl_top = dcl_s->dcl_top;
    const struct DCL_OF(dcl_run_) dcl_run = {dcl_sum_scale(dcl_top),
                                             dcl_sum_rounder(dcl_top, dcl_top) * (sizeof(dcl_T) == 4 ? 0x1p-29 : 1),
                                             dcl_sum_rounder(dcl_top, dcl_top - 1),
                                             0, 0, 0, 0, -1};
    return dcl_run;
}

DCL_INLINE void DCL_OF(dcl_run_add_)(struct DCL_OF(dcl_run_) *const dcl_run, const dcl_T dcl_x)
{
    const dcl_I dcl_m = DCL_PASTE(as_, dcl_I)(dcl_x) << 1;
    dcl_run->dcl_most = dcl_m > dcl_run->dcl_most ? dcl_m : dcl_run->dcl_most;
    if (sizeof(dcl_T) == 4) {
        dcl_run->dcl_b0 += DCL_PASTE(as_, dcl_I)(dcl_x + (dcl_T)dcl_run->dcl_r0);
        dcl_run->dcl_a = DCL_OF(dcl_run_any_order_)(dcl_run->dcl_a, (double)dcl_x);
        dcl_run->dcl_least = (dcl_I)(dcl_m - 1) < dcl_run->dcl_least ? dcl_m - 1 : dcl_run->dcl_least;
    } else {
        const double dcl_z = DCL_SUM_SCALED((double)dcl_x, dcl_run->dcl_scale, dcl_run->dcl_r0);
        dcl_run->dcl_b0 += as_ulong(dcl_z);
        dcl_run->dcl_b1 += as_ulong(DCL_SUM_SCALED((double)dcl_x, dcl_run->dcl_scale, dcl_run->dcl_r0 - dcl_z) + dcl_run->dcl_r1);
    }
}

/* Whether values can be added as runs to sums with the top dcl_top. The bounds of their magnitudes are those of a run; not all of them
 * are 0. */
DCL_INLINE int DCL_OF(dcl_run_judge_)(const long dcl_top, const dcl_I dcl_most, const dcl_I dcl_least)
{
    const dcl_T dcl_largest = DCL_PASTE(as_, dcl_T)((dcl_I)(dcl_most >> 1));
    if (!isfinite(dcl_largest) || dcl_sum_top((double)dcl_largest) > dcl_top)
        return DCL_RUN_AGAIN;
    if (sizeof(dcl_T) == 8)
        return DCL_RUN_ADDED;
    const long dcl_high = dcl_max((long)(dcl_most >> 24), 1L), dcl_low = dcl_max((long)((dcl_I)(dcl_least + 1) >> 24), 1L);
    /* All values are multiples of 2^(dcl_low - 150); shifted, of the next bin's unit. There are at most 2^19 units of the top bin in
     * each, and the constant that rounds is a normal number. */
    const long dcl_unit = DCL_SUM_WIDTH * (dcl_top - DCL_SUM_UNIT), dcl_shift = dcl_low - 150 - (dcl_unit - DCL_SUM_WIDTH);
    const bool dcl_wide = dcl_high - dcl_low > 18 || dcl_shift < 0 || dcl_high - 127 >= dcl_unit + 19 || dcl_unit < -140;
    return dcl_wide ? DCL_RUN_WIDE : DCL_RUN_ADDED;
}

/* Add a run of dcl_n values, which can be added. */
DCL_INLINE void DCL_OF(dcl_run_put_)(struct dcl_sum *dcl_s, const struct DCL_OF(dcl_run_) *const dcl_run, const long dcl_n)
{
    if (sizeof(dcl_T) == 8) {
        dcl_sum_units(dcl_s, 0, (long)(dcl_run->dcl_b0 - dcl_n * as_ulong(dcl_run->dcl_r0)));
        dcl_sum_units(dcl_s, 1, (long)(dcl_run->dcl_b1 - dcl_n * as_ulong(dcl_run->dcl_r1)));
        return;
    }
    const long dcl_low = dcl_max((long)((dcl_I)(dcl_run->dcl_least + 1) >> 24), 1L);
    const long dcl_shift = dcl_low - 150 - DCL_SUM_WIDTH * (dcl_s->dcl_top - DCL_SUM_UNIT - 1);
    const long dcl_units = (int)(dcl_run->dcl_b0 - (uint)dcl_n * as_uint((float)dcl_run->dcl_r0));
    const ulong dcl_multiples = (ulong)(long)(dcl_run->dcl_a * as_double((1023 + 150 - dcl_low) << 52));
    dcl_sum_units(dcl_s, 0, dcl_units);
    if (dcl_shift < DCL_SUM_WIDTH)
        dcl_sum_units(dcl_s, 1, (long)((dcl_multiples << dcl_shift) - ((ulong)dcl_units << DCL_SUM_WIDTH)));
}

/* Add a run of dcl_n values, if that is possible. */
static int DCL_OF(dcl_run_end_)(struct dcl_sum *dcl_s, const struct DCL_OF(dcl_run_) *const dcl_run, const long dcl_n)
{
    if (dcl_run->dcl_most == 0)
        return DCL_RUN_ADDED;
    const int dcl_outcome = DCL_OF(dcl_run_judge_)(dcl_s->dcl_top, dcl_run->dcl_most, dcl_run->dcl_least);
    if (dcl_outcome == DCL_RUN_ADDED)
        DCL_OF(dcl_run_put_)(dcl_s, dcl_run, dcl_n);
    return dcl_outcome;
}

/* Whether the values of a run have the top that was assumed for an empty sum: with a lower one, slices would be others. */
static bool DCL_OF(dcl_run_fits_)(const struct dcl_sum *dcl_s, const struct DCL_OF(dcl_run_) *const dcl_run)
{
    const dcl_T dcl_largest = DCL_PASTE(as_, dcl_T)((dcl_I)(dcl_run->dcl_most >> 1));
    return dcl_largest != 0 && dcl_sum_top((double)dcl_largest) == dcl_s->dcl_top;
}

/* Note the numbers that are not finite, and replace them by 0. */
static void DCL_OF(dcl_sum_special_)(struct dcl_sum *dcl_s, dcl_T *dcl_v, const int dcl_n)
{
    for (int dcl_t = 0; dcl_t < dcl_n; dcl_t++) {
        if (isfinite(dcl_v[dcl_t]))
            continue;
        dcl_s->dcl_seen |= isnan(dcl_v[dcl_t]) ? 1 : dcl_v[dcl_t] > 0 ? 2 : 4;
        dcl_v[dcl_t] = 0;
    }
}

/* Add a block of dcl_n <= 1024 numbers; dcl_n is a multiple of DCL_SUM_LANES, zeros fill the rest of the last lanes. The numbers
 * may change. */
static void DCL_OF(dcl_sum_)(struct dcl_sum *dcl_s, dcl_T *dcl_v, const int dcl_n)
{
    for (;;) {
        const long dcl_top = dcl_s->dcl_top;
        const double dcl_scale = dcl_sum_scale(dcl_top);
        const double dcl_r0 = dcl_sum_rounder(dcl_top, dcl_top), dcl_r1 = dcl_sum_rounder(dcl_top, dcl_top - 1);
        ulong8 dcl_b0 = 0, dcl_b1 = 0;
        DCL_PASTE(dcl_I, 8) dcl_m = 0; /* the bits of magnitudes have the order of the numbers */
        for (int dcl_t = 0; dcl_t < dcl_n; dcl_t += DCL_SUM_LANES) {
            const DCL_VECTOR(8) dcl_x = vload8(0, dcl_v + dcl_t);
            dcl_m = dcl_max(dcl_m, DCL_PASTE(DCL_PASTE(as_, dcl_I), 8)(fabs(dcl_x)));
            const double8 dcl_y = convert_double8(dcl_x), dcl_z = DCL_SUM_SCALED(dcl_y, dcl_scale, dcl_r0);
            dcl_b0 += as_ulong8(dcl_z);
            dcl_b1 += as_ulong8(DCL_SUM_SCALED(dcl_y, dcl_scale, dcl_r0 - dcl_z) + dcl_r1);
        }
        const DCL_PASTE(dcl_I, 4) dcl_m4 = dcl_max(dcl_m.lo, dcl_m.hi);
        const DCL_PASTE(dcl_I, 2) dcl_m2 = dcl_max(dcl_m4.lo, dcl_m4.hi);
        const dcl_T dcl_largest = DCL_PASTE(as_, dcl_T)(dcl_max(dcl_m2.s0, dcl_m2.s1));
        if (dcl_largest == 0)
            return;
        if (!isfinite(dcl_largest)) {
            DCL_OF(dcl_sum_special_)(dcl_s, dcl_v, dcl_n);
            continue;
        }
        const long dcl_needed = dcl_sum_top((double)dcl_largest);
        if (dcl_needed <= dcl_top) {
            dcl_sum_units(dcl_s, 0, (long)(dcl_sum_lanes(dcl_b0) - dcl_n * as_ulong(dcl_r0)));
            dcl_sum_units(dcl_s, 1, (long)(dcl_sum_lanes(dcl_b1) - dcl_n * as_ulong(dcl_r1)));
            return;
        }
        dcl_sum_raise(dcl_s, dcl_needed); /* what was added has no meaning: add the block anew */
    }
}
