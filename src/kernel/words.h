/* kernel/words.h - a text as a preprocessor sees it: joined lines, no comments, digraphs replaced. */
#ifndef DCLI_KERNEL_WORDS_H
#define DCLI_KERNEL_WORDS_H

#include <stdbool.h>

#include <dcl/base.h>

typedef enum dcli_word_kind {
    DCLI_WORD_NAME,
    DCLI_WORD_NUMBER,
    DCLI_WORD_TEXT, /* a string or character literal */
    DCLI_WORD_SIGN  /* one byte, or ## */
} dcli_word_kind;

/** The original text of the user, for errors. */
typedef struct dcli_origin {
    const char *text, *what; /* what: "" or "prelude " */
} dcli_origin;

/** A preprocessing token. */
typedef struct dcli_word {
    const dcli_origin *origin;
    const char *at; /* not ended by '\0' */
    int length;
    int line, column; /* position in the original, from 1; for the words of a macro that of its definition */
    dcli_word_kind kind;
    bool first;   /* of its line */
    bool spaced;  /* preceded by blanks or a comment */
    bool painted; /* name of a macro that is not replaced here, because it was found while replacing that macro */
} dcli_word;

typedef struct dcli_words {
    char *text; /* memory that the words point into; NULL: elsewhere */
    dcli_word *word;
    int64_t count, capacity;
} dcli_words;

/** Cut a text into words. Borrows the origin.
 *  @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_BODY for text that compilers may cut differently: trigraphs, blanks
 *          between a backslash and the end of its line, unclosed comments and quotes, bytes other than ASCII outside
 *          these.
 *  Source: ISO/IEC 9899:1999, 5.1.1.2, 6.4. */
dcl_status dcli_words_cut(const dcli_origin *origin, dcli_words *words_out);
void dcli_words_free(dcli_words *words);
dcl_status dcli_words_add(dcli_words *words, const dcli_word *word);

/** Whether a word has this spelling; never true for literals. */
bool dcli_word_is(const dcli_word *word, const char *spelling);
/** Whether a word's spelling is one of these, which are separated by blanks, with one at either end. */
bool dcli_word_in(const dcli_word *word, const char *spellings);

/** Record DCL_ERR_BODY: "prelude line L, column C: ", the sentence, the line and a caret. */
dcl_status dcli_word_fail(const dcli_word *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
