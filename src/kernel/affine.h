/* kernel/affine.h - subscripts as symbolic sums of factor * scalars * index, before the scalars have values. */
#ifndef DCLI_KERNEL_AFFINE_H
#define DCLI_KERNEL_AFFINE_H

#include "base/text.h"
#include "kernel/body.h"
#include "kernel/token.h"

enum {
    DCLI_TERM_SCALARS = 6, /* most scalars multiplied in one term */
    DCLI_AFFINE_TERMS = 24,
    DCLI_MAX_INNER = 16, /* most inner axes of a body: kernel/inner.h */
    DCLI_INDEX_NAMES = DCL_MAX_RANK + DCLI_MAX_INNER
};

/** One term: factor * product of scalars * index. */
typedef struct dcli_term {
    int64_t factor; /* factor of the term, not 0 */
    int index;      /* number of the index name (i = 0); DCL_MAX_RANK + q: the variable of inner axis q; -1: the term
                       has none */
    int scalars;
    unsigned char scalar[DCLI_TERM_SCALARS]; /* numbers of the scalar parameters, ascending */
} dcli_term;

/** A sum of terms in normal form: sorted by index and scalars, no two alike. Two subscripts are equal for all values of
 *  indices and scalars exactly if their normal forms are equal. */
typedef struct dcli_affine {
    int count;
    int boundary; /* number + 1 of the boundary that is applied to the sum, in the body's list: kernel/boundary.h; 0: none */
    dcli_term term[DCLI_AFFINE_TERMS];
} dcli_affine;

/** What the parser of a subscript needs: the tokens, the names that they can mean, and which subscript it is, for
 *  errors. */
typedef struct dcli_affine_reader {
    const dcli_tokens *tokens;
    const dcli_body *body; /* params, indices, inner axes and the prelude are used; boundaries are added to its list */
    int param, axis;       /* the array, and which of its subscripts; param -1: it is a bound of DCL_OVER, and `tokens`
                              are those of DCL_OVER */
} dcli_affine_reader;

/** Parse a subscript, the tokens [first, end), into a sum. @return DCL_OK, or DCL_ERR_BODY: it is not affine, and
 *  why. */
dcl_status dcli_affine_read(const dcli_affine_reader *reader, int first, int end, dcli_affine *out);

/** Whether sums and boundaries are equal. */
bool dcli_affine_equal(const dcli_affine *a, const dcli_affine *b);
/** Add `other` times a factor. @return false: a coefficient overflows, or there are too many terms. */
bool dcli_affine_add(dcli_affine *sum, const dcli_affine *other, int64_t factor);
/** Whether a scalar parameter is in the sum. */
bool dcli_affine_names(const dcli_affine *a, int param);
/** Refuse the token `t` of a subscript: it is the argument called `name`, which has the name of an index. @return DCL_ERR_BODY. */
dcl_status dcli_refuse_as_index(const dcli_tokens *tokens, int t, const char *name);
/** The number of the index if the sum is just that index, without a boundary, and not the variable of an inner axis; -1:
 *  it is not. */
int dcli_affine_plain_index(const dcli_affine *a);
/** Whether some term of the sum contains an index or the variable of an inner axis. */
bool dcli_affine_has_index(const dcli_affine *a);
/** Whether some term of the sum contains the index. */
bool dcli_affine_uses(const dcli_affine *a, int index);
/** The factor of an index that occurs in exactly one term, if it is 1 or -1, without scalars; else 0. */
int dcli_affine_unit(const dcli_affine *a, int index);
/** Whether the index occurs in exactly one term, with factor 1 and no scalars. */
bool dcli_affine_has_unit(const dcli_affine *a, int index);

/* The following functions ignore boundaries. */

/** Compute the constant and [DCLI_INDEX_NAMES] the coefficient per index from the values of the scalars. @return false
 *  if one overflows int64_t. */
bool dcli_affine_evaluate(const dcli_affine *a, const dcli_body *body, const dcli_scalar values[],
                          int64_t *constant_out, int64_t coef_of_index_out[]);

/** Write the sum as an OpenCL C expression of type long. */
void dcli_affine_print(const dcli_affine *a, const dcli_body *body, dcli_text *out);

#endif
