/* base/clean.h - escape control characters in text from elsewhere (kernels, workers, clients, file names), so that it
 * is harmless in terminals and logs. */
#ifndef DCLI_BASE_CLEAN_H
#define DCLI_BASE_CLEAN_H

#include <stddef.h>

/** Copy a text and escape what could move a cursor, begin a line or imitate other text. Control characters, Unicode
 *  characters that reorder or hide others, and bytes that are not UTF-8 become \n, \r, \t, \e, \xNN or \u{NNNN}. All
 *  other text is copied unchanged. If there is not enough room, the text is cut, never inside a character.
 *  @param text_out  [capacity] may be `text` only if nothing has to be escaped; capacity >= 1.
 *  @param text      [length] need not end with '\0', and may have any bytes.
 *  @param kept      control characters to leave unescaped: "\n\t" for sentences of several lines, "" for a line of a
 *                   log.
 *  @return length of the result. */
size_t dcli_clean(char *text_out, size_t capacity, const char *text, size_t length, const char *kept);

#endif
