/* segment/product.h - matrix products in memory, as libraries for them (BLAS) describe them. */
#ifndef DCLI_SEGMENT_PRODUCT_H
#define DCLI_SEGMENT_PRODUCT_H

#include <dcl/grid.h>

/** Matrices of a product. */
typedef enum dcli_product_matrix {
    DCLI_PRODUCT_RESULT, /* rows x columns */
    DCLI_PRODUCT_LEFT,   /* rows x depth */
    DCLI_PRODUCT_RIGHT,  /* depth x columns */
    DCLI_PRODUCT_MATRICES
} dcli_product_matrix;

/** Equal products, one for each index of up to DCL_MAX_RANK axes: RESULT = scale * LEFT * RIGHT, plus RESULT if it is added
 *  to. Elements are contiguous along rows, or along columns in a factor that is stored transposed. */
typedef struct dcli_matrix_product {
    dcl_type type; /* DCL_FLOAT or DCL_DOUBLE */
    int64_t rows, columns, depth;
    int64_t offset[DCLI_PRODUCT_MATRICES];  /* of the first element, in elements */
    int64_t pitch[DCLI_PRODUCT_MATRICES];   /* elements from one row to the next; transposed: from one column */
    bool transposed[DCLI_PRODUCT_MATRICES]; /* never the result */
    int axes;                               /* of the index */
    int64_t count[DCL_MAX_RANK];            /* [axes] indices */
    int64_t step[DCL_MAX_RANK][DCLI_PRODUCT_MATRICES]; /* [axes] elements from one index to the next */
    bool added;
    double scale;
} dcli_matrix_product;

#endif
