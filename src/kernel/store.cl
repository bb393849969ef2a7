/* kernel/store.cl - stores a line of an output of type dcl_T in vectors of dcl_lanes, bypassing the cache. */
static void DCL_OF(dcl_store_)(__global dcl_T *dcl_d, const dcl_T *dcl_s, const long dcl_n)
{
    long dcl_t = 0;
    for (; dcl_t < dcl_n && ((ulong)(dcl_d + dcl_t) & (dcl_lanes * sizeof(dcl_T) - 1)) != 0; dcl_t++)
        dcl_d[dcl_t] = dcl_s[dcl_t];
    for (; dcl_t + dcl_lanes <= dcl_n; dcl_t += dcl_lanes)
        DCL_STORE(DCL_PASTE(vload, dcl_lanes)(0, dcl_s + dcl_t), (__global DCL_VECTOR(dcl_lanes) *)(dcl_d + dcl_t));
    for (; dcl_t < dcl_n; dcl_t++)
        dcl_d[dcl_t] = dcl_s[dcl_t];
}
