/* cli/json.c - strings of JSON. */
#include "cli/json.h"

#include <stdint.h>

/* Bytes of the character beyond ASCII that `at` begins with; 0 when it is not UTF-8: cut short, longer than need be,
 * half of a surrogate pair or above U+10FFFF. Source: RFC 3629, section 4. */
static int utf8_bytes(const unsigned char *at)
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

void cli_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int bytes = utf8_bytes(at);
        if (bytes > 0)
            fwrite(at, 1, (size_t)bytes, file);
        else if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < 0x20 || *at >= 0x7f)
            fprintf(file, "\\u%04x", *at);
        else
            fputc(*at, file);
        at += bytes > 0 ? bytes : 1;
    }
    fputc('"', file);
}
