/* cli/utf8.c - recognise UTF-8 characters beyond ASCII. */
#include "cli/utf8.h"

#include <stdint.h>

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
