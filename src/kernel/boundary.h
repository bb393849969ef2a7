/* kernel/boundary.h - boundaries: subscripts that min, max, clamp or % keep inside an array. */
#ifndef DCLI_KERNEL_BOUNDARY_H
#define DCLI_KERNEL_BOUNDARY_H

#include "kernel/affine.h"

enum { DCLI_MAX_LIMITS = 4 }; /* most limits of one boundary; an error names this number */

/** A limit: max(e, value) or min(e, value). */
typedef struct dcli_limit {
    bool is_max;
    dcli_affine value; /* without indices */
} dcli_limit;

/** What is applied to the sum of a subscript. */
typedef struct dcli_boundary {
    bool wraps; /* e % period. Otherwise limits are applied one after the other */
    int count;
    dcli_limit limit[DCLI_MAX_LIMITS]; /* wraps: limit[0].value is the period */
} dcli_boundary;

/** Add a limit to the boundary that a sum has, or has not yet. @return NULL, or why it cannot be represented, for an
 *  error. Without memory the sum's boundary is set to -1. */
const char *dcli_boundary_limit(const dcli_body *body, dcli_affine *sum, bool is_max, const dcli_affine *value);
/** As dcli_boundary_limit(), for sum % period. */
const char *dcli_boundary_wrap(const dcli_body *body, dcli_affine *sum, const dcli_affine *period);

/** The boundary of a sum; NULL: none. */
const dcli_boundary *dcli_boundary_of(const dcli_body *body, const dcli_affine *sum);
/** Whether subscript d of an affine access is clamped. */
bool dcli_boundary_clamps(const dcli_body *body, int a, int d);
/** Whether some subscript of an access is clamped. */
bool dcli_boundary_clamps_any(const dcli_body *body, int a);

/** Compute clamp or period of a subscript from the values of the scalars. @return false if a number overflows int64_t. */
bool dcli_boundary_evaluate(const dcli_body *body, const dcli_affine *sum, const dcli_scalar values[],
                            dcli_subscript *out);

/** Emit the functions that dcli_boundary_print() names, if the body has clamps. */
void dcli_emit_boundary_functions(dcli_text *out, const dcli_body *body);
/** Write a clamped sum as an OpenCL C expression of type long; a periodic one as the sum alone. */
void dcli_boundary_print(const dcli_affine *sum, const dcli_body *body, dcli_text *out);

#endif
