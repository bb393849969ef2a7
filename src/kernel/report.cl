/* kernel/report.cl - claims the report of a batch: returns whether nothing was reported in it before. */
static int dcl_is_first(__global long *dcl_report)
{
    return atomic_cmpxchg((volatile __global int *)dcl_report, 0, 1) == 0;
}
