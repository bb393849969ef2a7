/* device/blas.h - OpenBLAS, loaded at run time. */
#ifndef DCLI_DEVICE_BLAS_H
#define DCLI_DEVICE_BLAS_H

#include "base/log.h"
#include "segment/product.h"

/** Load OpenBLAS, once for the process. @return whether it is there; if not, the log says why. */
bool dcli_blas_load(const dcli_log *log);
/** Set the number of threads of each product in this process. Without this call, OpenBLAS decides. A call before
 *  dcli_blas_load() takes effect when OpenBLAS is loaded. */
void dcli_blas_threads(int count);
/** Compute a product at all of its indices, after dcli_blas_load() has returned true. Any thread may call it; calls
 *  of several threads run one after the other. @param matrix  [DCLI_PRODUCT_MATRICES] the addresses of the matrices,
 *  from which offsets count. */
void dcli_blas_multiply(const dcli_matrix_product *product, void *const matrix[]);

#endif
