/* kernel/sum_one.cl - adds single numbers to a partial sum (kernel/sum.cl). */

/* Add units of the bin dcl_top and of the next lower one. */
static void dcl_sum_bins(struct dcl_sum *dcl_s, const long dcl_top, const long dcl_u0, const long dcl_u1)
{
    if (dcl_top > dcl_s->dcl_top)
        dcl_sum_raise(dcl_s, dcl_top);
    if (dcl_s->dcl_top == dcl_top) {
        dcl_sum_units(dcl_s, 0, dcl_u0);
        dcl_sum_units(dcl_s, 1, dcl_u1);
    } else if (dcl_s->dcl_top == dcl_top + 1) {
        dcl_sum_units(dcl_s, 1, dcl_u0);
    }
}

static void dcl_sum_one(struct dcl_sum *dcl_s, const double dcl_x)
{
    if (!isfinite(dcl_x))
        dcl_s->dcl_seen |= isnan(dcl_x) ? 1 : dcl_x > 0 ? 2 : 4;
    if (!isfinite(dcl_x) || dcl_x == 0)
        return;
    const long dcl_top = dcl_sum_top(fabs(dcl_x));
    const double dcl_r0 = dcl_sum_rounder(dcl_top, dcl_top), dcl_r1 = dcl_sum_rounder(dcl_top, dcl_top - 1);
    const double dcl_y = dcl_x * dcl_sum_scale(dcl_top), dcl_z = dcl_y + dcl_r0;
    dcl_sum_bins(dcl_s, dcl_top, as_long(dcl_z) - as_long(dcl_r0),
                 as_long(dcl_y + (dcl_r0 - dcl_z) + dcl_r1) - as_long(dcl_r1));
}
