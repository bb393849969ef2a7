/* kernel/prototype.h - functions that a text declares and does not define: the linker would look for them elsewhere. */
#ifndef DCLI_KERNEL_PROTOTYPE_H
#define DCLI_KERNEL_PROTOTYPE_H

#include "kernel/words.h"

/** Look at a text without macros. @param body  word at which the statements of a body begin; before that stands what
 *  functions are defined in. @return DCL_OK; DCL_ERR_BODY that names the first such function; DCL_ERR_NOMEM. */
dcl_status dcli_prototypes_check(const dcli_words *words, int64_t body);

#endif
