/* kernel/store.cl - stores a line of an output of type dcl_T in vectors of dcl_lanes, bypassing the cache. Its ends, which are no whole
 * cache lines, are stored four elements at a time. They are short, so unrolled loops would only take longer to compile. */
static void DCL_OF(dcl_store_)(__global dcl_T *dcl_d, const dcl_T *dcl_s, const long dcl_n)
{
    const long dcl_first = -(ulong)dcl_d / sizeof(dcl_T) % dcl_lanes, dcl_head = dcl_min(dcl_first, dcl_n);
    long dcl_t = 0;
#pragma clang loop vectorize(disable) unroll(disable)
    for (; dcl_t + 4 <= dcl_head; dcl_t += 4)
        vstore4(vload4(0, dcl_s + dcl_t), 0, dcl_d + dcl_t);
#pragma clang loop vectorize(disable) unroll(disable)
    for (; dcl_t < dcl_head; dcl_t++)
        dcl_d[dcl_t] = dcl_s[dcl_t];
    for (; dcl_t + dcl_lanes <= dcl_n; dcl_t += dcl_lanes)
        DCL_STORE(DCL_PASTE(vload, dcl_lanes)(0, dcl_s + dcl_t), (__global DCL_VECTOR(dcl_lanes) *)(dcl_d + dcl_t));
#pragma clang loop vectorize(disable) unroll(disable)
    for (; dcl_t + 4 <= dcl_n; dcl_t += 4)
        vstore4(vload4(0, dcl_s + dcl_t), 0, dcl_d + dcl_t);
#pragma clang loop vectorize(disable) unroll(disable)
    for (; dcl_t < dcl_n; dcl_t++)
        dcl_d[dcl_t] = dcl_s[dcl_t];
}
