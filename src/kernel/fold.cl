/* kernel/fold.cl - the least and the largest number of type dcl_T. A NaN is both; -0 is less than +0. DCL_BELOW(x, y): whether
 * x is below y, of two equal numbers. */
static dcl_T DCL_OF(dcl_least_)(const dcl_T dcl_x, const dcl_T dcl_y)
{
    return dcl_y != dcl_y || dcl_y < dcl_x || (dcl_y == dcl_x && DCL_BELOW(dcl_y, dcl_x)) ? dcl_y : dcl_x;
}
static dcl_T DCL_OF(dcl_most_)(const dcl_T dcl_x, const dcl_T dcl_y)
{
    return dcl_y != dcl_y || dcl_y > dcl_x || (dcl_y == dcl_x && DCL_BELOW(dcl_x, dcl_y)) ? dcl_y : dcl_x;
}
