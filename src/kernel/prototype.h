/* kernel/prototype.h - find functions that a text declares and does not define, because the linker would look for them
 * in the process. */
#ifndef DCLI_KERNEL_PROTOTYPE_H
#define DCLI_KERNEL_PROTOTYPE_H

#include "kernel/words.h"

/** Check an expanded text: each function that it declares must be defined in it. @param body  index of the word at
 *  which the statements of a body begin; functions are defined before it. @return DCL_OK; DCL_ERR_BODY that names the
 *  first function that is not defined; DCL_ERR_NOMEM. */
dcl_status dcli_prototypes_check(const dcli_words *words, int64_t body);

#endif
