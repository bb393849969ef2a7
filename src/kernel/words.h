/* kernel/words.h - text as a preprocessor sees it: joined lines, no comments, digraphs as the signs they stand for. */
#ifndef DCLI_KERNEL_WORDS_H
#define DCLI_KERNEL_WORDS_H

#include <stdbool.h>

#include <dcl/base.h>

typedef enum dcli_word_kind {
    DCLI_WORD_NAME,
    DCLI_WORD_NUMBER,
    DCLI_WORD_TEXT, /* a string or a character */
    DCLI_WORD_SIGN  /* one byte, or ## */
} dcli_word_kind;

/** A user's text, for errors. */
typedef struct dcli_origin {
    const char *text, *what; /* what: "" or "prelude " */
} dcli_origin;

/** A preprocessing token. */
typedef struct dcli_word {
    const dcli_origin *origin;
    const char *at; /* not ended by '\0' */
    int length;
    int line, column; /* in the origin, from 1; of the definition, for what a macro stands for */
    dcli_word_kind kind;
    bool first;   /* of its line */
    bool spaced;  /* blanks or a comment in front of it */
    bool painted; /* the name of a macro that is not replaced here: it was found while replacing that macro */
} dcli_word;

typedef struct dcli_words {
    char *text; /* what words point into; NULL: elsewhere */
    dcli_word *word;
    int64_t count, capacity;
} dcli_words;

/** Cut a text. Borrows the origin.
 *  @return DCL_OK, DCL_ERR_NOMEM, or DCL_ERR_BODY for text that compilers may cut in different ways: trigraphs, blanks
 *          between a backslash and the end of its line, open comments and quotes, bytes other than ASCII outside these.
 *  Source: ISO/IEC 9899:1999, 5.1.1.2, 6.4. */
dcl_status dcli_words_cut(const dcli_origin *origin, dcli_words *words_out);
void dcli_words_free(dcli_words *words);
dcl_status dcli_words_add(dcli_words *words, const dcli_word *word);

/** Whether a word has this spelling; no string or character has. */
bool dcli_word_is(const dcli_word *word, const char *spelling);
/** Whether its spelling is one of these, separated by blanks, with one at either end. */
bool dcli_word_in(const dcli_word *word, const char *spellings);

/** Record DCL_ERR_BODY: "prelude line L, column C: ", the sentence, the line and a caret. */
dcl_status dcli_word_fail(const dcli_word *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
