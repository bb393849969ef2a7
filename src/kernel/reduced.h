/* kernel/reduced.h - find the statements of a parsed reduction, to make other texts of them. */
#ifndef DCLI_KERNEL_REDUCED_H
#define DCLI_KERNEL_REDUCED_H

#include "base/text.h"
#include "kernel/parser.h"

/** The statement of a result: `x *= value;` or `x(i) min= value;`. */
typedef struct dcli_reduced {
    int result;           /* the number of the result */
    int name, value, end; /* tokens: x, the first one of the value, and the semicolon */
} dcli_reduced;

/** Whether a statement of a result begins at token t. */
bool dcli_find_reduced(const dcli_body *body, int t, dcli_reduced *out);
/** Append the text from the begin of token `from` to the begin of token `to`, with its line ends. */
void dcli_put_tokens(dcli_text *out, const dcli_tokens *tokens, int from, int to);
/** Append a statement that only evaluates the value, so that a text still reads the same arrays. */
void dcli_put_evaluated(dcli_text *out, const dcli_tokens *tokens, const dcli_reduced *statement);
/** Refuse a text, called `what`, with a name that begins with a prefix of generated code. @return DCL_OK or DCL_ERR_BODY. */
dcl_status dcli_check_prefix(const char *text, const char *what, const char *prefix);

#endif
