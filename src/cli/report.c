/* cli/report.c - print error lines: always on stderr, always beginning with the command's name. */
#include "cli/report.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

#include "cli/progress.h"

int cli_fail(const char *format, ...)
{
    cli_progress_end();
    va_list values;
    va_start(values, format);
    fputs("dcl: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    return CLI_FAILURE;
}

/* Remove the function's name: "dcl_forall: line 1, ..." -> "line 1, ...", because the user of a command has not called
 * a function. */
static const char *without_function(const char *text)
{
    if (strncmp(text, "dcl_", 4) != 0)
        return text;
    size_t length = 4;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return strncmp(text + length, ": ", 2) == 0 ? text + length + 2 : text;
}

const char *cli_library_sentence(void) { return without_function(dcl_error()); }

int cli_library_failed(void) { return cli_fail("%s", without_function(dcl_error())); }

int cli_usage(const char *command, const char *format, ...)
{
    cli_progress_end();
    va_list values;
    va_start(values, format);
    fprintf(stderr, "dcl: %s%s", command, command[0] != '\0' ? ": " : "");
    vfprintf(stderr, format, values);
    fprintf(stderr, "\nRead on: dcl help%s%s\n", command[0] != '\0' ? " " : "", command);
    va_end(values);
    return CLI_USAGE;
}

void *cli_alloc(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (memory == NULL) {
        cli_fail("%zu bytes of memory were refused; expected them to be free; end other programs", count * bytes);
        exit(CLI_FAILURE);
    }
    return memory;
}
