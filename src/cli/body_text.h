/* cli/body_text.h - which words a body contains, for questions before its arrays are known. */
#ifndef CLI_BODY_TEXT_H
#define CLI_BODY_TEXT_H

#include <stdbool.h>

#include "cli/operand.h" /* CLI_NAME_BYTES */

/** Whether the name occurs as a word: not in a comment, and not as part of a number such as 1.0f. */
bool cli_body_mentions(const char *body, const char *name);

/** Find the next name followed by a parenthesis: an array or a function. Names longer than name_out are skipped.
 *  @return the text after the name, to continue from; NULL: there is none. */
const char *cli_body_next_call(const char *text, char name_out[CLI_NAME_BYTES]);

/** Find the next name that a statement reduces: it begins a statement, and += -= *= &= |= ^= min= or max= follows.
 *  @return the text after the name, to continue from; NULL: there is none. */
const char *cli_body_next_result(const char *body, const char *text, char name_out[CLI_NAME_BYTES]);

/** A statement that updates an element: NAME(SUBSCRIPTS) op= ... */
typedef struct cli_update {
    char name[CLI_NAME_BYTES];
    char indices[9]; /* the subscripts that are single letters from i to p, each once */
    bool plain;      /* all subscripts are */
    bool word;       /* the operator is min= max= any= or all= */
} cli_update;

/** Find the next statement that updates an element. @return the text after the subscripts, to continue from; NULL: there is
 *  none. */
const char *cli_body_next_update(const char *body, const char *text, cli_update *update_out);

/** Whether the body assigns to the name: = follows it. */
bool cli_body_assigns(const char *body, const char *name);

/** Whether the body declares the name: it follows another word, such as a type. */
bool cli_body_declares(const char *body, const char *name);

#endif
