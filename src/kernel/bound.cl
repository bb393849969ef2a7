/* kernel/bound.cl - bounds of loops over index spaces that are not boxes. */

/* Narrow the counters begin .. end - 1 of an axis to those t with a + b * t >= 0. */
static void dcl_bound(const long a, const long b, long *begin, long *end)
{
    if (b > 0)
        *begin = max(*begin, a >= 0 ? -(a / b) : (b - 1 - a) / b);
    else if (b < 0)
        *end = min(*end, a >= 0 ? a / -b + 1 : 1 - (-b - 1 - a) / -b);
    else if (a < 0)
        *end = *begin;
}
