/* kernel/element.cl - for the body that combines partial results into an element (kernel/element.c): adds a number to a partial sum,
 * and rounds it. After dcli_cl_sum_merge and dcli_cl_sum_round. */

/* Add a number: as dcli_sum_add(). */
static void dcl_sum_number(struct dcl_sum *dcl_s, const double dcl_x)
{
    if (!isfinite(dcl_x))
        dcl_s->dcl_seen |= isnan(dcl_x) ? 1 : dcl_x > 0 ? 2 : 4;
    if (!isfinite(dcl_x) || dcl_x == 0)
        return;
    if (dcl_sum_top(fabs(dcl_x)) > dcl_s->dcl_top)
        dcl_sum_raise(dcl_s, dcl_sum_top(fabs(dcl_x)));
    const double dcl_y = dcl_x * dcl_sum_scale(dcl_s->dcl_top);
    const double dcl_r0 = dcl_sum_rounder(dcl_s->dcl_top, dcl_s->dcl_top), dcl_z = dcl_y + dcl_r0;
    const double dcl_r1 = dcl_sum_rounder(dcl_s->dcl_top, dcl_s->dcl_top - 1);
    dcl_sum_units(dcl_s, 0, as_long(dcl_z) - as_long(dcl_r0));
    dcl_sum_units(dcl_s, 1, as_long(dcl_y - (dcl_z - dcl_r0) + dcl_r1) - as_long(dcl_r1));
}

/* The value of a sum. */
static double dcl_sum_value(const struct dcl_sum *dcl_s, const bool dcl_single)
{
    return dcl_s->dcl_top == 0 && dcl_s->dcl_seen == 0 ? 0 : dcl_sum_round(dcl_s, dcl_single);
}
