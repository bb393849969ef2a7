/* kernel/quote.c - quote a position of a user's text in an error. */
#include "kernel/quote.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { SHOWN = 120 }; /* most bytes shown of a line, because a message must fit into DCLI_ERROR_BYTES */

static const char *line_start(const char *text, int line)
{
    for (; line > 1; line--) {
        const char *end = strchr(text, '\n');
        if (end == NULL)
            break;
        text = end + 1;
    }
    return text;
}

/* Whether a byte takes a column on the screen: continuation bytes of UTF-8 do not. */
static bool takes_a_column(char byte) { return ((unsigned char)byte & 0xC0) != 0x80; }

void dcli_quote(dcli_text *out, const char *text, int line, int column)
{
    const char *start = line_start(text, line);
    int length = (int)strcspn(start, "\r\n");
    int caret = column < 1 ? 0 : column - 1;
    if (caret > length)
        caret = length;
    int from = caret > SHOWN / 2 && length > SHOWN ? caret - SHOWN / 2 : 0;
    while (from > 0 && !takes_a_column(start[from]))
        from--;
    int shown = length - from > SHOWN ? SHOWN : length - from;
    dcli_text_put(out, "\n%.*s\n", shown, start + from);
    for (int c = from; c < caret; c++)
        if (takes_a_column(start[c]))
            dcli_text_append(out, start[c] == '\t' ? "\t" : " ", 1);
    dcli_text_append(out, "^", 1);
}

dcl_status dcli_quote_fail(const char *text, int line, int column, const char *format, va_list arguments)
{
    char sentence[DCLI_ERROR_BYTES / 2];
    vsnprintf(sentence, sizeof sentence, format, arguments);
    dcli_text quoted = {0};
    dcli_quote(&quoted, text, line, column);
    dcl_status status = DCLI_FAIL(DCL_ERR_BODY, "line %d, column %d: %s%s", line, column, sentence,
                                  quoted.failed || quoted.bytes == NULL ? "" : quoted.bytes);
    dcli_text_free(&quoted);
    return status;
}
