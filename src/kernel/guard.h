/* kernel/guard.h - the guards of a body: conditions of indices and scalars that choose whether elements are read, such
 * as `i > 0 && i < n - 1`. They have the same value at most indices, so kernels can test it for several indices at
 * once, and read their elements without conditions where it is the usual one. */
#ifndef DCLI_KERNEL_GUARD_H
#define DCLI_KERNEL_GUARD_H

#include "base/text.h"
#include "kernel/body.h"

/** Find the guards of a body of loops without reductions, and let the text name guard g by the macro dcl_g<g>, by edits
 *  that kernel/inner.c sorts later. A guard is the condition of `?:` in a body of one statement, or that of the `if`
 *  with which a body begins; it contains no arrays, calls or variables of the body. @return DCL_OK, DCL_ERR_NOMEM. */
dcl_status dcli_guards_find(dcli_body *body);

/** The parameter that token t names; NULL: none. */
const dcli_param *dcli_param_at(const dcli_body *body, int t);
/** Whether a token is the name of an index of the loops, or of a scalar parameter. */
bool dcli_guard_knows(const dcli_body *body, int t);
/** Whether a token is an unsigned literal, or the name of a scalar parameter that stays unsigned in expressions. */
bool dcli_guard_is_unsigned(const dcli_body *body, int t);

/** What the macros of guards and comparisons (kernel/stretch.h) stand for. */
typedef enum dcli_guards_as {
    DCLI_GUARDS_ASKED, /* for the conditions, which are evaluated where the macro stands */
    DCLI_GUARDS_USUAL, /* guards for their usual values, comparisons for the conditions */
    DCLI_GUARDS_HELD   /* comparisons for the values that they have along a stretch */
} dcli_guards_as;

/** Emit the definitions of the macros dcl_g<g>, and of those of the comparisons. */
void dcli_emit_guards(dcli_text *out, const dcli_body *body, dcli_guards_as as);
void dcli_emit_guards_end(dcli_text *out, const dcli_body *body);
/** Emit an expression that is true if all guards have their usual values at the current indices. */
void dcli_emit_guards_test(dcli_text *out, const dcli_body *body);
/** Whether the indices at which all guards have their usual values form a convex set, so that they have them at all
 *  indices of a box if they have them at its corners. That is known of comparisons of sums that are joined by && or, if
 *  the usual value is false, by ||. */
bool dcli_guards_are_convex(const dcli_body *body);

#endif
