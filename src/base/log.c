/* base/log.c - log lines. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void dcli_log_write(const dcli_log *log, int level, const char *format, ...)
{
    static const char *const names[] = {"off", "warn", "info", "debug"};
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (log->fn != NULL)
        log->fn(log->user, level, line);
    else
        fprintf(stderr, "dcl %s: %s\n", names[level], line);
}
