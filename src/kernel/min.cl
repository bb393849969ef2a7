/* kernel/min.cl - the less and the greater of two values, as min() and max() of OpenCL C: a scalar or an array of a body may have these
 * names, which are no functions then. */
#define dcl_min(dcl_a, dcl_b) ((dcl_b) < (dcl_a) ? (dcl_b) : (dcl_a))
#define dcl_max(dcl_a, dcl_b) ((dcl_a) < (dcl_b) ? (dcl_b) : (dcl_a))
