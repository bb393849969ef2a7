/* kernel/fold.cl - the least and the largest number of type dcl_T. A NaN is both; -0 is less than +0. DCL_NEGATIVE(x): whether a zero
 * is -0. The comparisons are in this form because compilers can omit them if dcl_x is an infinity, as it is before the first
 * statement. */
static dcl_T DCL_OF(dcl_least_)(const dcl_T dcl_x, const dcl_T dcl_y)
{
    return dcl_x != dcl_x || dcl_y > dcl_x || (dcl_x == 0 && dcl_y == 0 && !DCL_NEGATIVE(dcl_y)) ? dcl_x : dcl_y;
}
static dcl_T DCL_OF(dcl_most_)(const dcl_T dcl_x, const dcl_T dcl_y)
{
    return dcl_x != dcl_x || dcl_y < dcl_x || (dcl_x == 0 && dcl_y == 0 && DCL_NEGATIVE(dcl_y)) ? dcl_x : dcl_y;
}
