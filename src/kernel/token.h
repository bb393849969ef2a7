/* kernel/token.h - OpenCL C cut into tokens, with lines, columns and matched brackets. */
#ifndef DCLI_KERNEL_TOKEN_H
#define DCLI_KERNEL_TOKEN_H

#include <stdbool.h>

#include <dcl/base.h>

typedef enum dcli_token_kind {
    DCLI_TOKEN_NAME,
    DCLI_TOKEN_NUMBER,
    DCLI_TOKEN_TEXT, /* a string or character literal */
    DCLI_TOKEN_SIGN,
    DCLI_TOKEN_END
} dcli_token_kind;

typedef struct dcli_token {
    dcli_token_kind kind;
    int start, length; /* position of the first byte in the text, and number of bytes */
    int line, column;  /* from 1; columns count bytes */
    int partner;       /* number of the token of the matching bracket; -1: not a bracket */
} dcli_token;

/** The tokens of a text; token[count] is the END. Borrows the text. */
typedef struct dcli_tokens {
    const char *text;
    dcli_token *token;
    int64_t count, capacity;
} dcli_tokens;

/** Cut a text into tokens. Comments are skipped. @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_BODY for what a body cannot
 *  contain: preprocessor lines, unclosed comments and strings, unmatched brackets. */
dcl_status dcli_tokens_make(const char *text, dcli_tokens *tokens_out);
void dcli_tokens_free(dcli_tokens *tokens);

/** Whether token t has this spelling. Any number is accepted for t; false if there is no such token. */
bool dcli_token_is(const dcli_tokens *tokens, int t, const char *spelling);
/** Whether token t has one of these spellings, which are separated by blanks. Any number is accepted for t. */
bool dcli_token_in(const dcli_tokens *tokens, int t, const char *spellings);
dcli_token_kind dcli_token_kind_of(const dcli_tokens *tokens, int t);

/** Whether `count` tokens from a on have the same spellings as those from b on. */
bool dcli_tokens_equal(const dcli_tokens *tokens, int a, int b, int count);

/** Split the contents of a bracket pair at its commas into ranges [first, end). @return how many there are (0 for empty
 *  brackets); only the first `capacity` are stored. */
int dcli_token_split(const dcli_tokens *tokens, int open, int capacity, int first_out[], int end_out[]);

/** Record DCL_ERR_BODY at token t: `line L, column C: ...`, the line, a caret. */
dcl_status dcli_token_fail(const dcli_tokens *tokens, int t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Record DCL_ERR_BODY just after token t. */
dcl_status dcli_token_fail_behind(const dcli_tokens *tokens, int t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
