/* kernel/claim.cl - which rows, groups or lists of a launch on a CPU a work-item runs (kernel/claim.h). */
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define DCL_CLAIMS(dcl_claims_at) (dcl_claims_at)
#else
#define DCL_CLAIMS(dcl_claims_at) 0ul /* work-items divide the rows by their number */
#endif

typedef struct dcl_share {
    volatile __global ulong *dcl_claims; /* 0: the work-item runs dcl_at..dcl_end - 1 */
    ulong dcl_turn;
    long dcl_at, dcl_end; /* with claims: how many parts were looked at, and the number of rows */
    int dcl_own;          /* with claims: the part of the thread that runs this; -1: not known yet */
} dcl_share;

#define DCL_SHARE(dcl_claims_at, dcl_turn, dcl_rows)                                                                   \
    {(volatile __global ulong *)DCL_CLAIMS(dcl_claims_at), dcl_turn,                                                   \
     DCL_CLAIMS(dcl_claims_at) != 0 ? 0 : (dcl_rows) * (long)get_global_id(0) / (long)get_global_size(0),              \
     DCL_CLAIMS(dcl_claims_at) != 0 ? (dcl_rows) : (dcl_rows) * (long)(get_global_id(0) + 1) / (long)get_global_size(0), -1}

#ifdef cl_khr_int64_base_atomics
/* Claim a row; -1: none is left. It is not inlined, because that would take compilers longer. */
#ifdef __clang__
static __attribute__((noinline)) long dcl_claim(dcl_share *dcl_s)
#else
static long dcl_claim(dcl_share *dcl_s)
#endif
{
    const int dcl_parts = dcl_s->dcl_claims[0];
    /* Variables of one thread lie within dcl_near pages of 4096 bytes, those of two threads farther apart. Where that is wrong, threads
     * share a part, and nothing else changes. */
    const ulong dcl_thread = (ulong)dcl_s / 4096, dcl_near = 64;
    volatile __global ulong *dcl_part = dcl_s->dcl_claims + DCL_PART_LONGS;
    for (int dcl_p = 0; dcl_s->dcl_own < 0 && dcl_p < dcl_parts; dcl_p++, dcl_part += DCL_PART_LONGS) {
        const ulong dcl_found = dcl_part[0] != 0 ? dcl_part[0] : atom_cmpxchg(dcl_part, 0ul, dcl_thread);
        if (dcl_found == 0 || dcl_thread - dcl_found + dcl_near <= 2 * dcl_near)
            dcl_s->dcl_own = dcl_p;
    }
    if (dcl_s->dcl_own < 0)
        dcl_s->dcl_own = dcl_thread % dcl_parts;
    for (; dcl_s->dcl_at < dcl_parts; dcl_s->dcl_at++) {
        const long dcl_p = (dcl_s->dcl_own + dcl_s->dcl_at) % dcl_parts, dcl_first = dcl_s->dcl_end * dcl_p / dcl_parts,
                   dcl_end = dcl_s->dcl_end * (dcl_p + 1) / dcl_parts;
        dcl_part = dcl_s->dcl_claims + (dcl_p + 1) * DCL_PART_LONGS + 1;
        for (ulong dcl_seen = *dcl_part, dcl_found;; dcl_seen = dcl_found) {
            const ulong dcl_now = dcl_seen >> 40 == dcl_s->dcl_turn ? dcl_seen : dcl_s->dcl_turn << 40;
            const long dcl_taken = dcl_now & 0xfffff, dcl_lost = dcl_now >> 20 & 0xfffff;
            if (dcl_first + dcl_taken + dcl_lost >= dcl_end)
                break;
            dcl_found = atom_cmpxchg(dcl_part, dcl_seen, dcl_now + (dcl_s->dcl_at == 0 ? 1 : 1 << 20));
            if (dcl_found == dcl_seen)
                return dcl_s->dcl_at == 0 ? dcl_first + dcl_taken : dcl_end - 1 - dcl_lost;
        }
    }
    return -1;
}
#else
#define dcl_claim(dcl_s) (-1)
#endif

/* The next row of a work-item; -1: there is none. */
static inline long dcl_share_next(dcl_share *dcl_s)
{
    return dcl_s->dcl_claims != 0 ? dcl_claim(dcl_s) : dcl_s->dcl_at < dcl_s->dcl_end ? dcl_s->dcl_at++ : -1;
}
