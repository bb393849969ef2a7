/* kernel/sum_gpu.cl - adds numbers to a partial sum that does not depend on their order (kernel/sum.h). For GPUs: a few numbers
 * of type dcl_T (float or double) at a time, in the variables of a work-item. */
#ifndef DCL_SUM_FLUSH
#define DCL_SUM_FLUSH 8192 /* most numbers whose slices, of less than 2^50 units, a long can add */

/* The upper half of a magnitude: magnitudes less than a power of two have a lesser one. */
static uint dcl_high_float(const float dcl_x)
{
    return as_uint(dcl_x) & 0x7fffffffu;
}

static uint dcl_high_double(const double dcl_x)
{
    return (uint)(as_ulong(dcl_x) >> 32) & 0x7fffffffu;
}

/* A magnitude with this upper half, whose exponent is that of all. */
static double dcl_from_high_float(const uint dcl_high)
{
    return (double)as_float(dcl_high);
}

static double dcl_from_high_double(const uint dcl_high)
{
    return as_double((ulong)dcl_high << 32);
}
#endif

/* Slices that are not in the partial sum yet. They are apart from it because they stay in registers. */
struct DCL_OF(dcl_lane_) {
    ulong dcl_b0, dcl_b1; /* of each bin, the sum of the bits of dcl_n numbers that were rounded */
    int dcl_n;
    double dcl_r0, dcl_r1; /* the constants that round */
    double dcl_scale;
    dcl_T dcl_limit; /* lesser magnitudes have no slice above the top */
};

static void DCL_OF(dcl_lane_start_)(struct DCL_OF(dcl_lane_) *dcl_l, const long dcl_top)
{
    const long dcl_power = DCL_SUM_WIDTH * (dcl_top - DCL_SUM_UNIT + 1) - 1;
    dcl_l->dcl_b0 = dcl_l->dcl_b1 = dcl_l->dcl_n = 0;
    dcl_l->dcl_r0 = dcl_sum_rounder(dcl_top, dcl_top);
    dcl_l->dcl_r1 = dcl_sum_rounder(dcl_top, dcl_top - 1);
    dcl_l->dcl_scale = dcl_sum_scale(dcl_top);
    dcl_l->dcl_limit = dcl_power < -1000 ? 0 : dcl_power > 1023 ? INFINITY : (dcl_T)as_double((dcl_power + 1023) << 52);
}

static void DCL_OF(dcl_lane_flush_)(struct DCL_OF(dcl_lane_) *dcl_l, struct dcl_sum *dcl_s)
{
    if (dcl_l->dcl_n > 0) {
        dcl_sum_units(dcl_s, 0, (long)(dcl_l->dcl_b0 - (ulong)dcl_l->dcl_n * as_ulong(dcl_l->dcl_r0)));
        dcl_sum_units(dcl_s, 1, (long)(dcl_l->dcl_b1 - (ulong)dcl_l->dcl_n * as_ulong(dcl_l->dcl_r1)));
    }
    dcl_l->dcl_b0 = dcl_l->dcl_b1 = dcl_l->dcl_n = 0;
}

/* Take care of numbers that are not finite, which become 0, or too large for the top. */
static void DCL_OF(dcl_lane_rare_)(struct DCL_OF(dcl_lane_) *dcl_l, struct dcl_sum *dcl_s, dcl_T *dcl_v)
{
    long dcl_top = dcl_s->dcl_top;
    uint dcl_most = 0;
#pragma unroll
    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++)
        dcl_most = dcl_max(dcl_most, DCL_OF(dcl_high_)(dcl_v[dcl_k]));
    if (dcl_most < DCL_OF(dcl_high_)(INFINITY) && dcl_most >= (sizeof(dcl_T) == 4 ? 1 : 0x100000)) {
        /* all are finite, and the largest magnitude has this upper half and is a normal double */
        dcl_top = dcl_max(dcl_top, dcl_sum_top(DCL_OF(dcl_from_high_)(dcl_most)));
    } else
#pragma unroll
    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++) {
        const dcl_T dcl_x = dcl_v[dcl_k];
        if (!isfinite(dcl_x)) {
            dcl_s->dcl_seen |= isnan(dcl_x) ? 1 : dcl_x > 0 ? 2 : 4;
            dcl_v[dcl_k] = 0;
        } else if (dcl_x != 0) {
            dcl_top = dcl_max(dcl_top, dcl_sum_top(fabs((double)dcl_x)));
        }
    }
    if (dcl_top > dcl_s->dcl_top) {
        DCL_OF(dcl_lane_flush_)(dcl_l, dcl_s);
        dcl_sum_raise(dcl_s, dcl_top);
        DCL_OF(dcl_lane_start_)(dcl_l, dcl_top);
    }
}

/* Add DCL_EACH numbers, which may change. Comparing magnitudes of type double takes less time with integers. */
static void DCL_OF(dcl_lane_add_)(struct DCL_OF(dcl_lane_) *dcl_l, struct dcl_sum *dcl_s, dcl_T *dcl_v)
{
    bool dcl_usual = true;
#pragma unroll
    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++)
        dcl_usual &= DCL_OF(dcl_high_)(dcl_v[dcl_k]) < DCL_OF(dcl_high_)(dcl_l->dcl_limit);
    if (!dcl_usual)
        DCL_OF(dcl_lane_rare_)(dcl_l, dcl_s, dcl_v);
    if (sizeof(dcl_T) == 8 && dcl_l->dcl_scale != 1) { /* it is 1 for all floats */
#pragma unroll
        for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++)
            dcl_v[dcl_k] *= dcl_l->dcl_scale;
    }
#pragma unroll
    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++) {
        const double dcl_y = dcl_v[dcl_k], dcl_z = dcl_y + dcl_l->dcl_r0;
        dcl_l->dcl_b0 += as_ulong(dcl_z);
        dcl_l->dcl_b1 += as_ulong(dcl_y - (dcl_z - dcl_l->dcl_r0) + dcl_l->dcl_r1);
    }
    dcl_l->dcl_n += DCL_EACH;
    if (dcl_l->dcl_n >= DCL_SUM_FLUSH)
        DCL_OF(dcl_lane_flush_)(dcl_l, dcl_s);
}
