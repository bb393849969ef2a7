/* kernel/expand.h - expand a prelude and a body as a preprocessor does, for every possible outcome of its
 * conditions. */
#ifndef DCLI_KERNEL_EXPAND_H
#define DCLI_KERNEL_EXPAND_H

#include "kernel/words.h"

/** An expansion to be done: the words, and the functions that it calls. */
typedef struct dcli_expansion {
    const dcli_words *prelude, *body;
    /** Called once for each way in which the device's answers to #if can select branches, with all macros replaced:
     *  words[0 .. body - 1] are the prelude's, the others the body's. @return DCL_OK to continue; anything else ends
     *  dcli_expand() with this status. */
    dcl_status (*check)(void *user, const dcli_words *words, int64_t body);
    /** Whether generated code undefines a macro of this name just before the body, so that the body's uses of it are
     *  not replaced. */
    bool (*is_own)(const void *user, const dcli_word *name);
    void *user;
} dcli_expansion;

/** The index of the first word after the directive that begins at word `at`. */
int64_t dcli_directive_end(const dcli_words *words, int64_t at);

/** Expand the texts once for each combination of branches of #if, and call `check` for each. All combinations are tried
 *  because it is not known here which names a device defines. The directives must be those that DCL allows.
 *  @return the first status that is not DCL_OK; DCL_ERR_BODY also if there are too many words.
 *  Source: ISO/IEC 9899:1999, 6.10.1 to 6.10.3. */
dcl_status dcli_expand(const dcli_expansion *expansion);

#endif
