/* base/clean.c - escape control characters in text from elsewhere, so that it is harmless in terminals and logs.
 * Source: The Unicode Standard 15, table 3-7 (well-formed UTF-8), 23.2 and 23.3 (layout and directional controls);
 * ECMA-48, 5.3 (C1). */
#include "base/clean.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Decode the UTF-8 character at `at`. @return its length in bytes; 0: it is not well formed. */
static size_t character_length(const unsigned char *at, size_t left, uint32_t *code_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t code = length == 1 ? at[0] : at[0] & (0x7Fu >> length);
    for (size_t n = 1; n < length; n++) {
        if (at[n] >> 6 != 2)
            return 0;
        code = code << 6 | (at[n] & 0x3F);
    }
    *code_out = code;
    return code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : length;
}

/* Whether a character must be escaped: control characters, and those that reorder, hide or join other characters. */
static int is_odd(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

static size_t escape(char escaped_out[16], unsigned char byte, size_t length, uint32_t code)
{
    static const char letters[] = "\n\r\t\033", names[] = "nrte";
    const char *letter = byte != '\0' ? strchr(letters, byte) : NULL;
    if (letter != NULL)
        return (size_t)snprintf(escaped_out, 16, "\\%c", names[letter - letters]);
    if (length < 2)
        return (size_t)snprintf(escaped_out, 16, "\\x%02x", byte);
    return (size_t)snprintf(escaped_out, 16, "\\u{%x}", (unsigned)code);
}

size_t dcli_clean(char *text_out, size_t capacity, const char *text, size_t length, const char *kept)
{
    size_t written = 0;
    for (size_t at = 0; at < length;) {
        const unsigned char *byte = (const unsigned char *)text + at;
        uint32_t code = 0;
        char escaped[16];
        size_t taken = character_length(byte, length - at, &code), put = taken;
        const char *what = text + at;
        if (taken == 0 || (is_odd(code) && (*byte == '\0' || strchr(kept, *byte) == NULL))) {
            put = escape(escaped, *byte, taken, code);
            what = escaped;
        }
        if (written + put >= capacity)
            break;
        memmove(text_out + written, what, put);
        written += put;
        at += taken > 0 ? taken : 1;
    }
    text_out[written] = '\0';
    return written;
}
