/* kernel/macro.h - find the macros of a prelude, and those that hide control flow from the parser of a body. */
#ifndef DCLI_KERNEL_MACRO_H
#define DCLI_KERNEL_MACRO_H

#include "kernel/inside.h"

/** List the macros that a prelude defines, also in inactive branches of #if: their names, with a blank before and after each.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_macros_list(const char *prelude);
/** Whether such a list has a name of `length` characters. */
bool dcli_macros_have(const char *macros, const char *name, int length);

/** Look in the body for macros of the prelude. The body is parsed without replacing them; so if one is more than an
 *  expression, it is not known which statements after it run.
 *  @param hidden_out  unchanged, or the token of the first such macro.
 *  @return DCL_OK; DCL_ERR_BODY for a macro that leaves the body or expands to a word that a body must not use;
 *          DCL_ERR_NOMEM. */
dcl_status dcli_macros_check(const dcli_body *body, int *hidden_out);

#endif
