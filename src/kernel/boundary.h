/* kernel/boundary.h - boundaries: subscripts that min, max, clamp, reflect, symmetric, constant or % keep inside an array. */
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
typedef enum dcli_boundary_kind {
    DCLI_BOUNDARY_LIMITS,    /* min, max, clamp: the limits, one after the other */
    DCLI_BOUNDARY_WRAP,      /* e % period */
    DCLI_BOUNDARY_REFLECT,   /* mirrored at the centers of the elements at two limits, low and high */
    DCLI_BOUNDARY_SYMMETRIC, /* mirrored at the outer edges of these elements, which are therefore repeated */
    DCLI_BOUNDARY_CONSTANT   /* beyond two limits, the access is a constant */
} dcli_boundary_kind;

typedef struct dcli_boundary {
    dcli_boundary_kind kind;
    int value, value_end; /* CONSTANT: tokens of the constant */
    int count;
    dcli_limit limit[DCLI_MAX_LIMITS]; /* WRAP: limit[0].value is the period */
} dcli_boundary;

/** Add a limit to the boundary that a sum has, or has not yet. @return NULL, or why it cannot be represented, for an
 *  error. Without memory the sum's boundary is set to -1. */
const char *dcli_boundary_limit(const dcli_body *body, dcli_affine *sum, bool is_max, const dcli_affine *value);
/** As dcli_boundary_limit(), for sum % period. */
const char *dcli_boundary_wrap(const dcli_body *body, dcli_affine *sum, const dcli_affine *period);

/** As dcli_boundary_limit(), for REFLECT, SYMMETRIC and CONSTANT. @param value  CONSTANT: the first token of the constant, and
 *  the one after it. */
const char *dcli_boundary_between(const dcli_body *body, dcli_affine *sum, dcli_boundary_kind kind,
                                  const dcli_affine limits[2], const int value[2]);

/** The boundary of a sum; NULL: none. */
const dcli_boundary *dcli_boundary_of(const dcli_body *body, const dcli_affine *sum);
/** Whether subscript d of an affine access has limits. */
bool dcli_boundary_clamps(const dcli_body *body, int a, int d);
/** Whether some subscript of an access has limits. */
bool dcli_boundary_clamps_any(const dcli_body *body, int a);

/** Whether all constants of an access, on several axes, have the same text. */
bool dcli_boundary_constants_agree(const dcli_body *body, int a);

/** Compute limits or period of a subscript from the values of the scalars. @return false if a number overflows int64_t, or
 *  the limits are more than 2^60 apart. The limits of REFLECT, SYMMETRIC and CONSTANT may be in the wrong order. */
bool dcli_boundary_evaluate(const dcli_body *body, const dcli_affine *sum, const dcli_scalar values[],
                            dcli_subscript *out);
/** How bodies call a boundary. */
const char *dcli_boundary_name(dcli_boundary_kind kind);

/** Emit the functions that dcli_boundary_print() names, if the body has limits. */
void dcli_emit_boundary_functions(dcli_text *out, const dcli_body *body);
/** Write the subscript that is read as an OpenCL C expression of type long; a periodic one as the sum alone, and also one with a
 *  constant. */
void dcli_boundary_print(const dcli_affine *sum, const dcli_body *body, dcli_text *out);
/** Write `inside ? `, the condition under which access a reads an element, if constants take the place of elements.
 *  @return whether something was written: dcli_emit_constant() writes the other case. */
bool dcli_emit_inside(dcli_text *out, const dcli_body *body, int a);
void dcli_emit_constant(dcli_text *out, const dcli_body *body, int a);

#endif
