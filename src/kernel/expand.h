/* kernel/expand.h - expand a prelude and a body as a preprocessor does, for every possible outcome of its
 * conditions. */
#ifndef DCLI_KERNEL_EXPAND_H
#define DCLI_KERNEL_EXPAND_H

#include "kernel/words.h"

/** What is expanded. */
typedef struct dcli_expansion {
    const dcli_words *prelude, *body;
    /** Called with each expansion; the body's words begin at `body`. @return not DCL_OK to stop. */
    dcl_status (*check)(void *user, const dcli_words *words, int64_t body);
    /** Whether macros of this name are undefined where the body begins. */
    bool (*is_own)(const void *user, const dcli_word *name);
    void *user;
} dcli_expansion;

/** The end of the directive that begins at word `at`. */
int64_t dcli_directive_end(const dcli_words *words, int64_t at);

/** Replace macros, and call `check` for each combination of branches of #if. All combinations are tried because it is
 *  not known here which names a device defines. The directives must be those that DCL allows.
 *  @return the first status that is not DCL_OK; DCL_ERR_BODY also if there are too many words.
 *  Source: ISO/IEC 9899:1999, 6.10.1 to 6.10.3. */
dcl_status dcli_expand(const dcli_expansion *expansion);

#endif
