/* kernel/keyed.cl - reduces values of type dcl_T by keys into result number DCL_R, whose partial results are words (kernel/keyed.h) of
 * type dcl_U. DCL_WORD(x): the word of a value; DCL_JOIN(x, y): that of two words. */
#ifndef DCL_EXCHANGE
#define DCL_EXCHANGE
static uint dcl_exchange_uint(volatile __global uint *dcl_p, const uint dcl_old, const uint dcl_new)
{
    return atomic_cmpxchg(dcl_p, dcl_old, dcl_new);
}
static ulong dcl_exchange_ulong(volatile __global ulong *dcl_p, const ulong dcl_old, const ulong dcl_new)
{
    return atom_cmpxchg(dcl_p, dcl_old, dcl_new);
}
#endif

/* Combine a word with the node's, which other work-items may do at the same time. */
static void DCL_KEYED(dcl_share_)(volatile __global dcl_U *dcl_p, const dcl_U dcl_w)
{
    dcl_U dcl_old = *dcl_p;
    for (;;) {
        const dcl_U dcl_new = DCL_JOIN(dcl_old, dcl_w);
        if (dcl_new == dcl_old)
            return;
        const dcl_U dcl_seen = DCL_PASTE(dcl_exchange_, dcl_U)(dcl_p, dcl_old, dcl_new);
        if (dcl_seen == dcl_old)
            return;
        dcl_old = dcl_seen;
    }
}

static void DCL_KEYED(dcl_share_at_)(volatile __global long *dcl_p, const dcl_U dcl_w)
{
    if (dcl_w != 0)
        DCL_KEYED(dcl_share_)((volatile __global dcl_U *)dcl_p, dcl_w);
}

/* Reduce a value into element number dcl_at: in the work-item's own words, if it has some. */
DCL_KEYED_INLINE void DCL_KEYED(dcl_put_)(const bool dcl_has_own, dcl_U *dcl_own, __global long *dcl_out,
                                          const ulong dcl_at, const dcl_T dcl_x)
{
    const dcl_U dcl_w = DCL_WORD(dcl_x);
    if (dcl_has_own)
        dcl_own[dcl_at] = DCL_JOIN(dcl_own[dcl_at], dcl_w);
    else
        DCL_KEYED(dcl_share_)((volatile __global dcl_U *)(dcl_out + dcl_at), dcl_w);
}

DCL_KEYED_INLINE void DCL_KEYED(dcl_begin_)(dcl_U *dcl_own, const ulong dcl_n)
{
    for (ulong dcl_at = 0; dcl_at < dcl_n; dcl_at++)
        dcl_own[dcl_at] = 0;
}

static void DCL_KEYED(dcl_end_)(const dcl_U *dcl_own, __global long *dcl_out, const ulong dcl_n)
{
    for (ulong dcl_at = 0; dcl_at < dcl_n; dcl_at++)
        DCL_KEYED(dcl_share_)((volatile __global dcl_U *)(dcl_out + dcl_at), dcl_own[dcl_at]);
}
