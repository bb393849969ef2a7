/* base/clean.h - text from elsewhere (kernels, workers, clients, names of files) made harmless for terminals and logs. */
#ifndef DCLI_BASE_CLEAN_H
#define DCLI_BASE_CLEAN_H

#include <stddef.h>

/** Copy a text so that it cannot move a cursor, begin a line or look like another text: control characters, and those of
 *  Unicode that order or hide others, become \n, \r, \t, \e, \xNN, \u{NNNN}; so do bytes that are no UTF-8. A text that
 *  has none of these stays as it is. It is cut where there is no room, never inside of a character.
 *  @param text_out  [capacity] may be `text` only if nothing has to be escaped; capacity >= 1.
 *  @param text      [length] need not end with '\0', and may have any bytes.
 *  @param kept      control characters that stay: "\n\t" for sentences of several lines, "" for a line of a log.
 *  @return its length. */
size_t dcli_clean(char *text_out, size_t capacity, const char *text, size_t length, const char *kept);

#endif
