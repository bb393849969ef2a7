/* kernel/key.cl - integers that have the order of the numbers of type dcl_T, and -0 below +0. dcl_I is the integer type of the
 * same size. */
static dcl_I DCL_OF(dcl_key_)(const dcl_T dcl_x)
{
    const dcl_I dcl_bits = DCL_PASTE(as_, dcl_I)(dcl_x);
    return dcl_bits ^ (dcl_bits >> (8 * sizeof(dcl_I) - 1) & (dcl_I)(~(ulong)0 >> (65 - 8 * sizeof(dcl_I))));
}

/* The key that the number with this key has as a double. */
static long DCL_OF(dcl_key_long_)(const dcl_I dcl_key)
{
    const dcl_I dcl_bits = dcl_key ^ (dcl_key >> (8 * sizeof(dcl_I) - 1) & (dcl_I)(~(ulong)0 >> (65 - 8 * sizeof(dcl_I))));
    const long dcl_wide = as_long((double)DCL_PASTE(as_, dcl_T)(dcl_bits));
    return dcl_wide ^ (dcl_wide >> 63 & LONG_MAX);
}

/* The number with this key. */
static dcl_T DCL_OF(dcl_number_)(const dcl_I dcl_key)
{
    return DCL_PASTE(as_, dcl_T)(dcl_key ^ (dcl_key >> (8 * sizeof(dcl_I) - 1) & (dcl_I)(~(ulong)0 >> (65 - 8 * sizeof(dcl_I)))));
}
