/* cli/json.c - write JSON strings. */
#include "cli/json.h"

#include "cli/utf8.h"

void cli_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int bytes = cli_utf8_bytes(at);
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
