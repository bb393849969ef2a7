/* kernel/expand.h - what a preprocessor makes of a prelude and a body, for every way its conditions may turn out. */
#ifndef DCLI_KERNEL_EXPAND_H
#define DCLI_KERNEL_EXPAND_H

#include "kernel/words.h"

/** What is expanded. */
typedef struct dcli_expansion {
    const dcli_words *prelude, *body;
    /** Called with what one way makes of them: the body's words begin at `body`. @return not DCL_OK to stop. */
    dcl_status (*check)(void *user, const dcli_words *words, int64_t body);
    /** Whether a name is no macro any more from the body on. */
    bool (*is_own)(const void *user, const dcli_word *name);
    void *user;
} dcli_expansion;

/** Where the directive that begins at word `at` ends. */
int64_t dcli_directive_end(const dcli_words *words, int64_t at);

/** Replace macros and call `check` for each choice among the branches of #if, of which one is compiled: which names
 *  devices define is not known here. Directives are expected to be those that DCL allows.
 *  @return the first status that is not DCL_OK; DCL_ERR_BODY also where there is too much to look at.
 *  Source: ISO/IEC 9899:1999, 6.10.1 to 6.10.3. */
dcl_status dcli_expand(const dcli_expansion *expansion);

#endif
