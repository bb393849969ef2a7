/* kernel/product.h - contractions that a library for products of matrices (BLAS) may compute. */
#ifndef DCLI_KERNEL_PRODUCT_H
#define DCLI_KERNEL_PRODUCT_H

#include "kernel/body.h"
#include "segment/product.h"

/** Whether rows of a body may be products for a library: the call has DCL_FAST, and the body is a contraction with one
 *  reduced index, in which each factor has a kept index that the other lacks. */
bool dcli_body_is_product(const dcli_body *body);
/** Describe a row as products, all but `scale`. The product is described as its transpose if the result is contiguous along its
 *  columns. @param access_out  [DCLI_PRODUCT_MATRICES] the accesses of the matrices, whose memory `offset` counts from.
 *  @return false: it is none, because a matrix has other steps than libraries support or sizes beyond 31 bits; or it is so
 *          small that a kernel is as fast. */
bool dcli_row_product(const dcli_body *body, const int64_t row[], dcli_matrix_product *out, int access_out[]);
/** The product of a contraction's scalar factors, computed as double. @param values  [param_count] of a call. */
double dcli_product_scale(const dcli_body *body, const dcli_scalar values[]);

#endif
