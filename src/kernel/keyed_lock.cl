/* kernel/keyed_lock.cl - adds to the node's partial results of keyed sums, which a lock per element protects. After kernel/sum_one.cl and
 * kernel/fence.cl. */
#define DCL_SUM_LOCKED (1L << 62) /* a bit of dcl_seen: some work-item changes the sum */

/* Add to a sum of the node: the number dcl_x, or if it is 0, the units of two bins. A sum is taken, changed and given back within
 * one turn of the loop: so work-items that run in lockstep and want the same sum do not wait for each other for ever. */
static void dcl_sum_share(volatile __global long *dcl_p, const double dcl_x, const long dcl_top, const long dcl_u0,
                          const long dcl_u1)
{
    long dcl_seen = dcl_p[1] & ~DCL_SUM_LOCKED;
    for (bool dcl_done = false; !dcl_done;) {
        const long dcl_found = atom_cmpxchg(dcl_p + 1, dcl_seen, dcl_seen | DCL_SUM_LOCKED);
        if (dcl_found == dcl_seen) {
            DCL_FENCE();
            struct dcl_sum dcl_s = {dcl_p[0], dcl_seen, {dcl_p[2], dcl_p[3]}, {dcl_p[4], dcl_p[5]}};
            if (dcl_x != 0)
                dcl_sum_one(&dcl_s, dcl_x);
            else
                dcl_sum_bins(&dcl_s, dcl_top, dcl_u0, dcl_u1);
            dcl_p[0] = dcl_s.dcl_top;
            dcl_p[2] = dcl_s.dcl_high[0];
            dcl_p[3] = dcl_s.dcl_high[1];
            dcl_p[4] = dcl_s.dcl_low[0];
            dcl_p[5] = dcl_s.dcl_low[1];
            DCL_FENCE();
            atom_xchg(dcl_p + 1, dcl_s.dcl_seen);
            dcl_done = true;
        }
        dcl_seen = dcl_found & ~DCL_SUM_LOCKED;
    }
}

static void dcl_sum_share_one(volatile __global long *dcl_p, const double dcl_x)
{
    const long dcl_special = isnan(dcl_x) ? 1 : !isinf(dcl_x) ? 0 : dcl_x > 0 ? 2 : 4;
    if (dcl_x != 0 && (dcl_special == 0 || (dcl_p[1] & dcl_special) == 0)) /* what has been seen is never forgotten */
        dcl_sum_share(dcl_p, dcl_x, 0, 0, 0);
}
