/* kernel/words.h - a text as a preprocessor sees it: joined lines, no comments, digraphs replaced. */
#ifndef DCLI_KERNEL_WORDS_H
#define DCLI_KERNEL_WORDS_H

#include <stdbool.h>

#include <dcl/base.h>

typedef enum dcli_word_kind {
    DCLI_WORD_NAME,
    DCLI_WORD_NUMBER,
    DCLI_WORD_TEXT, /* a string or character literal */
    DCLI_WORD_SIGN  /* any other single byte, or ## */
} dcli_word_kind;

/** A text of the user, for errors that quote it. */
typedef struct dcli_origin {
    const char *text, *what; /* what: begins errors about it: "" for a body, "prelude " for a prelude */
} dcli_origin;

/** A word: a preprocessing token of C. */
typedef struct dcli_word {
    const dcli_origin *origin;
    const char *at; /* not ended by '\0' */
    int length;
    int line, column; /* position in the user's text, from 1; a word that comes from a macro has that of the macro's
                         definition */
    dcli_word_kind kind;
    bool first;   /* it is the first word of its line */
    bool spaced;  /* there are blanks or comments before it */
    bool painted; /* it names a macro but is never replaced, because it was found while that macro was being replaced */
} dcli_word;

typedef struct dcli_words {
    char *text; /* the memory that the words point into, freed with the list; NULL: it belongs to others */
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

/** Whether a word has this spelling. Never true for string and character literals. */
bool dcli_word_is(const dcli_word *word, const char *spelling);
/** Whether a word has one of these spellings: a text with a blank before and after each of them. */
bool dcli_word_in(const dcli_word *word, const char *spellings);

/** Record DCL_ERR_BODY at a word: "line L, column C: " (in a prelude "prelude line ..."), the sentence, and the line
 *  with a caret. @return DCL_ERR_BODY. */
dcl_status dcli_word_fail(const dcli_word *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
