/* kernel/token.h - OpenCL C cut into tokens, with lines, columns and matched brackets. */
#ifndef DCLI_KERNEL_TOKEN_H
#define DCLI_KERNEL_TOKEN_H

#include <stdbool.h>

#include <dcl/base.h>

typedef enum dcli_token_kind {
    DCLI_TOKEN_NAME,
    DCLI_TOKEN_NUMBER,
    DCLI_TOKEN_TEXT, /* a string or a character */
    DCLI_TOKEN_SIGN,
    DCLI_TOKEN_END
} dcli_token_kind;

typedef struct dcli_token {
    dcli_token_kind kind;
    int start, length; /* bytes of the text */
    int line, column;  /* from 1; columns count bytes */
    int partner;       /* of a bracket: number of the token that closes or opens it; others -1 */
} dcli_token;

/** A text's tokens; token[count] is the END. Borrows the text. */
typedef struct dcli_tokens {
    const char *text;
    dcli_token *token;
    int64_t count, capacity;
} dcli_tokens;

/** Cut a text. Comments are skipped. @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_BODY for what cannot stand in a body:
 *  preprocessor lines, open comments and strings, brackets without partner. */
dcl_status dcli_tokens_make(const char *text, dcli_tokens *tokens_out);
void dcli_tokens_free(dcli_tokens *tokens);

/** Whether token t (any number) is this sign or name. */
bool dcli_token_is(const dcli_tokens *tokens, int t, const char *spelling);
/** Whether token t (any number) is one of these signs or names, separated by blanks. */
bool dcli_token_in(const dcli_tokens *tokens, int t, const char *spellings);
dcli_token_kind dcli_token_kind_of(const dcli_tokens *tokens, int t);

/** The ranges [first, end) of the parts between the commas of a bracket pair.
 *  @return how many there are (0 for empty brackets); only the first `capacity` are stored. */
int dcli_token_split(const dcli_tokens *tokens, int open, int capacity, int first_out[], int end_out[]);

/** Record DCL_ERR_BODY at token t: `line L, column C: ...`, the line, a caret. */
dcl_status dcli_token_fail(const dcli_tokens *tokens, int t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The same just behind token t. */
dcl_status dcli_token_fail_behind(const dcli_tokens *tokens, int t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
