/* loop/scan.h - the text of a loop nest, cut into tokens. */
#ifndef DCLI_LOOPS_SCAN_H
#define DCLI_LOOPS_SCAN_H

#include "loop/message.h"

typedef enum dcli_loops_sign_kind {
    DCLI_LOOPS_SIGN_NAME,
    DCLI_LOOPS_SIGN_NUMBER,
    DCLI_LOOPS_SIGN_OTHER,
    DCLI_LOOPS_SIGN_END
} dcli_loops_sign_kind;

typedef struct dcli_loops_sign {
    dcli_loops_sign_kind kind;
    dcli_loops_place place;
    const char *start;
    int length;
} dcli_loops_sign;

/** Cut a text into tokens, the last of which is END. @return [count], yours; NULL: DCL_ERR_NOMEM is recorded. */
dcli_loops_sign *dcli_loops_signs_make(const char *text, dcli_loops_complaints *complaints, int *count_out);
bool dcli_loops_sign_is(const dcli_loops_sign *sign, const char *spelling);
/** Whether it has one of these spellings, which are separated by blanks. */
bool dcli_loops_sign_in(const dcli_loops_sign *sign, const char *spellings);

/** Record an error at the first place where a text contains a name.
 *  @param code      a constant.
 *  @param sentence  what follows a ';' becomes a note.
 *  @return status. */
dcl_status dcli_loops_fail_at(const char *text, const char *name, dcl_status status, const char *code,
                              const char *sentence);

#endif
