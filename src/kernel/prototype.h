/* kernel/prototype.h - find functions that a text declares and does not define, because the linker would look for them
 * in the process. */
#ifndef DCLI_KERNEL_PROTOTYPE_H
#define DCLI_KERNEL_PROTOTYPE_H

#include "kernel/words.h"

/** Check a text without macros. @param body  word at which the statements of a body begin; functions are defined before
 *  it. @return DCL_OK; DCL_ERR_BODY that names the first such function; DCL_ERR_NOMEM. */
dcl_status dcli_prototypes_check(const dcli_words *words, int64_t body);

#endif
