/* kernel/macro.h - what the macros of a prelude can hide from the reader of a body. */
#ifndef DCLI_KERNEL_MACRO_H
#define DCLI_KERNEL_MACRO_H

#include "kernel/inside.h"

/** Look for macros of body->prelude among the tokens of the body. A body is read without expanding them, so a macro that
 *  is more than an expression makes it unknown which statements run.
 *  @param hidden_out  token of the first such macro; -1: none.
 *  @return DCL_OK; DCL_ERR_BODY for a macro that leaves the body or stands for a word that a body must not use;
 *          DCL_ERR_NOMEM. */
dcl_status dcli_macros_check(const dcli_body *body, int *hidden_out);

#endif
