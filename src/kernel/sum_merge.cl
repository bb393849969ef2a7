/* kernel/sum_merge.cl - merges partial sums (kernel/sum.cl). */
/* Add a partial sum to another one: as dcli_sum_merge(). */
static void dcl_sum_merge(struct dcl_sum *dcl_s, const struct dcl_sum *dcl_o)
{
    dcl_s->dcl_seen |= dcl_o->dcl_seen;
    if (dcl_s->dcl_top == dcl_o->dcl_top) { /* as below, with constant indices */
        const long dcl_0 = dcl_s->dcl_low[0] + dcl_o->dcl_low[0], dcl_1 = dcl_s->dcl_low[1] + dcl_o->dcl_low[1];
        dcl_s->dcl_high[0] += dcl_o->dcl_high[0] + (dcl_0 >> DCL_SUM_WIDTH);
        dcl_s->dcl_high[1] += dcl_o->dcl_high[1] + (dcl_1 >> DCL_SUM_WIDTH);
        dcl_s->dcl_low[0] = dcl_0 & DCL_SUM_MASK;
        dcl_s->dcl_low[1] = dcl_1 & DCL_SUM_MASK;
        return;
    }
    while (dcl_o->dcl_top > dcl_s->dcl_top)
        dcl_sum_raise(dcl_s, dcl_s->dcl_top + 1 < dcl_o->dcl_top ? dcl_o->dcl_top : dcl_s->dcl_top + 1);
    const long dcl_by = dcl_s->dcl_top - dcl_o->dcl_top;
    for (int dcl_b = 0; dcl_b + dcl_by < 2; dcl_b++) {
        dcl_sum_units(dcl_s, (int)(dcl_b + dcl_by), dcl_o->dcl_low[dcl_b]);
        dcl_s->dcl_high[dcl_b + dcl_by] += dcl_o->dcl_high[dcl_b];
    }
}
