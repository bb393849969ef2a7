/* kernel/sum_vector.cl - adds vectors of eight numbers of type dcl_T, float or double, to partial sums (kernel/sum.cl). After
 * sum_cpu.cl. A vector of sums lasts for up to 8,192 numbers.
 *
 * dcl_vectors have the slices of two bins, for any numbers of which none raises the top. dcl_narrow is for float and takes fewer
 * instructions: it has slices of the top bin, in float arithmetic, and the sum in double, which is exact if the exponents of the numbers
 * differ by at most 18 (dcl_run_judge_float): 1,024 = 2^10 numbers per lane, 24 digits, 10 + 24 + 18 = 52. */
#ifndef DCL_LANES
#define DCL_LANES 8
#ifdef __clang__
#define DCL_CONVERT(x, type) __builtin_convertvector(x, type)
#define DCL_LOAD(type, place) (*(__global const dcl_loaded_##type *)&(place))
#else
#define DCL_CONVERT(x, type) convert_##type(x)
#define DCL_LOAD(type, place) vload8(0, &(place))
#endif
struct dcl_vectors {
    ulong8 dcl_b0, dcl_b1; /* as in struct dcl_run_T */
};
struct dcl_narrow {
    uint8 dcl_b0;
    double8 dcl_a;
};

/* The constants that round numbers to slices. */
struct dcl_rounders {
    double dcl_scale, dcl_r0, dcl_r1;
    float dcl_narrow; /* as dcl_r0, for slices in float arithmetic */
};

DCL_INLINE struct dcl_rounders dcl_rounders_of(const long dcl_top)
{
    const double dcl_r0 = dcl_sum_rounder(dcl_top, dcl_top);
    const struct dcl_rounders dcl_rounders = {dcl_sum_scale(dcl_top), dcl_r0, dcl_sum_rounder(dcl_top, dcl_top - 1),
                                              (float)(dcl_r0 * 0x1p-29)};
    return dcl_rounders;
}

DCL_INLINE void dcl_vectors_add(struct dcl_vectors *const dcl_l, const double8 dcl_x, const struct dcl_rounders dcl_r)
{
    const double8 dcl_z = DCL_SUM_SCALED(dcl_x, dcl_r.dcl_scale, dcl_r.dcl_r0);
    dcl_l->dcl_b0 += as_ulong8(dcl_z);
    dcl_l->dcl_b1 += as_ulong8(DCL_SUM_SCALED(dcl_x, dcl_r.dcl_scale, dcl_r.dcl_r0 - dcl_z) + dcl_r.dcl_r1);
}

DCL_INLINE void dcl_narrow_add(struct dcl_narrow *const dcl_l, const float8 dcl_x, const struct dcl_rounders dcl_r)
{
    dcl_l->dcl_b0 += as_uint8(dcl_x + dcl_r.dcl_narrow);
    dcl_l->dcl_a += DCL_CONVERT(dcl_x, double8);
}

/* Add vectors of dcl_n numbers to a sum whose top they assume. dcl_n is a multiple of DCL_LANES. */
static void dcl_vectors_put(struct dcl_sum *const dcl_s, const struct dcl_vectors *const dcl_l,
                            const struct dcl_rounders dcl_r, const long dcl_n)
{
    dcl_sum_units(dcl_s, 0, (long)(dcl_sum_lanes(dcl_l->dcl_b0) - dcl_n * as_ulong(dcl_r.dcl_r0)));
    dcl_sum_units(dcl_s, 1, (long)(dcl_sum_lanes(dcl_l->dcl_b1) - dcl_n * as_ulong(dcl_r.dcl_r1)));
}

/* The same. The sums of all lanes are multiples of one unit, and are added as integers. @param dcl_least  as in struct dcl_run_float */
static void dcl_narrow_put(struct dcl_sum *const dcl_s, const struct dcl_narrow *const dcl_l, const struct dcl_rounders dcl_r,
                           const uint dcl_least, const long dcl_n)
{
    const long dcl_low = dcl_max((long)((uint)(dcl_least + 1) >> 24), 1L);
    const long dcl_shift = dcl_low - 150 - DCL_SUM_WIDTH * (dcl_s->dcl_top - DCL_SUM_UNIT - 1);
    const int8 dcl_slices = as_int8(dcl_l->dcl_b0 - (uint)(dcl_n / DCL_LANES) * as_uint(dcl_r.dcl_narrow));
    const double8 dcl_scaled = dcl_l->dcl_a * as_double((1023 + 150 - dcl_low) << 52);
    const long dcl_units = (long)dcl_sum_lanes(as_ulong8(DCL_CONVERT(dcl_slices, long8)));
    const ulong dcl_multiples = dcl_sum_lanes(as_ulong8(DCL_CONVERT(dcl_scaled, long8)));
    dcl_sum_units(dcl_s, 0, dcl_units);
    if (dcl_shift < DCL_SUM_WIDTH)
        dcl_sum_units(dcl_s, 1, (long)((dcl_multiples << dcl_shift) - ((ulong)dcl_units << DCL_SUM_WIDTH)));
}
#endif

#ifdef __clang__
typedef dcl_T DCL_OF(dcl_loaded_) __attribute__((ext_vector_type(8), aligned(sizeof(dcl_T))));
#endif
typedef dcl_I DCL_OF(dcl_bits_);
typedef DCL_PASTE(dcl_I, 8) DCL_OF(dcl_bounds_);

/* Note the bits, doubled, of the largest magnitudes; of the least ones minus 1, so that 0 is the largest. */
DCL_INLINE void DCL_OF(dcl_note_most_)(DCL_OF(dcl_bounds_) *const dcl_most, const DCL_VECTOR(8) dcl_x)
{
    const DCL_OF(dcl_bounds_) dcl_m = DCL_PASTE(DCL_PASTE(as_, dcl_I), 8)(dcl_x) << 1;
    *dcl_most = dcl_max(*dcl_most, dcl_m);
}
DCL_INLINE void DCL_OF(dcl_note_least_)(DCL_OF(dcl_bounds_) *const dcl_least, const DCL_VECTOR(8) dcl_x)
{
    const DCL_OF(dcl_bounds_) dcl_m = (DCL_PASTE(DCL_PASTE(as_, dcl_I), 8)(dcl_x) << 1) - 1;
    *dcl_least = dcl_min(*dcl_least, dcl_m);
}

DCL_INLINE dcl_I DCL_OF(dcl_largest_)(const DCL_OF(dcl_bounds_) dcl_m)
{
    const DCL_PASTE(dcl_I, 4) dcl_4 = dcl_max(dcl_m.lo, dcl_m.hi);
    const DCL_PASTE(dcl_I, 2) dcl_2 = dcl_max(dcl_4.lo, dcl_4.hi);
    return dcl_max(dcl_2.s0, dcl_2.s1);
}

/* Whether vectors can be added to sums with the top dcl_top. Not all of their numbers are 0. */
DCL_INLINE int DCL_OF(dcl_vectors_judge_)(const long dcl_top, const dcl_I dcl_most)
{
    const dcl_T dcl_largest = DCL_PASTE(as_, dcl_T)((dcl_I)(dcl_most >> 1));
    return isfinite(dcl_largest) && dcl_sum_top((double)dcl_largest) <= dcl_top ? DCL_RUN_ADDED : DCL_RUN_AGAIN;
}
