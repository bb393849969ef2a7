/* kernel/macro.h - find macros of a prelude that hide control flow from the parser of a body. */
#ifndef DCLI_KERNEL_MACRO_H
#define DCLI_KERNEL_MACRO_H

#include "kernel/inside.h"

/** Look for macros of body->prelude in the body. A body is parsed without expanding macros, so if one is more than an
 *  expression, it is unknown which statements run.
 *  @param hidden_out  token of the first such macro; -1: none.
 *  @return DCL_OK; DCL_ERR_BODY for a macro that leaves the body or expands to a word that a body must not use;
 *          DCL_ERR_NOMEM. */
dcl_status dcli_macros_check(const dcli_body *body, int *hidden_out);

#endif
