/* kernel/report.cl - claims the report: returns whether this is the first index outside that a launch reports. */
static int dcl_is_first(__global long *dcl_report)
{
    return atomic_cmpxchg((volatile __global int *)dcl_report, 0, 1) == 0;
}
