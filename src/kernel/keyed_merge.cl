/* kernel/keyed_merge.cl - adds partial sums to the node's. After kernel/keyed_lock.cl and kernel/sum_merge.cl. */
static void dcl_sum_share_all(volatile __global long *dcl_p, const struct dcl_sum *dcl_o)
{
    long dcl_seen = dcl_p[1] & ~DCL_SUM_LOCKED;
    if (dcl_o->dcl_top == 0 && dcl_o->dcl_seen == 0)
        return;
    for (bool dcl_done = false; !dcl_done;) { /* as dcl_sum_share() */
        const long dcl_found = atom_cmpxchg(dcl_p + 1, dcl_seen, dcl_seen | DCL_SUM_LOCKED);
        if (dcl_found == dcl_seen) {
            DCL_FENCE();
            struct dcl_sum dcl_s = {dcl_p[0], dcl_seen, {dcl_p[2], dcl_p[3]}, {dcl_p[4], dcl_p[5]}};
            dcl_sum_merge(&dcl_s, dcl_o);
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
