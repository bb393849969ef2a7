/* cli/utf8.c - recognise UTF-8 characters beyond ASCII, and remove from text what controls a terminal. */
#include "cli/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

int cli_utf8_bytes(const unsigned char *at)
{
    int bytes = at[0] >= 0xc2 && at[0] <= 0xdf ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : (at[0] & 0xf8) == 0xf0 ? 4 : 0;
    uint32_t character = bytes > 0 ? at[0] & (0x7fu >> bytes) : 0;
    for (int k = 1; k < bytes; k++) {
        if ((at[k] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (at[k] & 0x3fu);
    }
    if (bytes == 3 && (character < 0x800 || (character >= 0xd800 && character <= 0xdfff)))
        return 0;
    if (bytes == 4 && (character < 0x10000 || character > 0x10ffff))
        return 0;
    return bytes;
}

/* Whether a character beyond ASCII is a control character, or hides, reorders or joins others. */
static bool is_control(const unsigned char *at, int bytes)
{
    uint32_t code = at[0] & (0x7fu >> bytes);
    for (int k = 1; k < bytes; k++)
        code = code << 6 | (at[k] & 0x3fu);
    return code < 0xa0 || code == 0x61c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe007f);
}

void cli_utf8_clean(char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    char *to = text;
    while (*at != '\0') {
        int bytes = cli_utf8_bytes(at);
        bool is_text = bytes > 0 ? !is_control(at, bytes) : *at >= ' ' && *at < 0x7f;
        int taken = bytes > 0 ? bytes : 1, kept = is_text ? taken : 1;
        if (!is_text)
            *to = '?';
        else
            memmove(to, at, (size_t)kept);
        to += kept;
        at += taken;
    }
    *to = '\0';
}

int cli_utf8_fit(const char *text, int most)
{
    int length = (int)strnlen(text, (size_t)most + 1);
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}
