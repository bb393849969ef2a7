/* kernel/bound.cl - bounds of loops over index spaces that are not boxes. */

/* Narrow the counters dcl_begin .. dcl_end - 1 of an axis to those t with dcl_a + dcl_b * t >= 0. */
static void dcl_bound(const long dcl_a, const long dcl_b, long *dcl_begin, long *dcl_end)
{
    if (dcl_b > 0)
        *dcl_begin = dcl_max(*dcl_begin, dcl_a >= 0 ? -(dcl_a / dcl_b) : (-1 - dcl_a) / dcl_b + 1);
    else if (dcl_b < 0)
        *dcl_end = dcl_min(*dcl_end, dcl_a >= 0 ? dcl_a / -dcl_b + 1 : -((-1 - dcl_a) / -dcl_b));
    else if (dcl_a < 0)
        *dcl_end = *dcl_begin;
}
