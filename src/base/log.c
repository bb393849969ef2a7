/* base/log.c - log lines. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"

void dcli_log_write(const dcli_log *log, int level, const char *format, ...)
{
    static const char *const names[] = {"off", "warn", "info", "debug"};
    char text[1024], line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dcli_clean(line, sizeof line, text, strlen(text), ""); /* escape names in the text: a log entry is one line */
    if (log->fn != NULL)
        log->fn(log->user, level, line);
    else
        fprintf(stderr, "dcl %s: %s\n", names[level], line);
}
