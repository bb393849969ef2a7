/* cli/body_text.h - which words a body has: what can be asked before its arrays are known. */
#ifndef CLI_BODY_TEXT_H
#define CLI_BODY_TEXT_H

#include <stdbool.h>

#include "cli/operand.h" /* CLI_NAME_BYTES */

/** Whether the name occurs as a word: not in a comment, nor as a part of a number such as 1.0f. */
bool cli_body_mentions(const char *body, const char *name);

/** The next name with a parenthesis behind it: an array or a function. Longer names than fit are passed over.
 *  @return the text behind the name, to go on from; NULL: there is none. */
const char *cli_body_next_call(const char *text, char name_out[CLI_NAME_BYTES]);

#endif
