/* base/log.h - log lines: silent by default, and never on standard output. */
#ifndef DCLI_BASE_LOG_H
#define DCLI_BASE_LOG_H

#include <dcl/cluster.h>

enum { DCLI_LOG_OFF, DCLI_LOG_WARN, DCLI_LOG_INFO, DCLI_LOG_DEBUG };

/** Where a cluster's log lines go. */
typedef struct dcli_log {
    _Atomic int level; /* atomic: may be set to off while other threads log */
    dcl_log_fn *fn;    /* function that gets the lines; NULL: they go to standard error */
    void *user;
} dcli_log;

void dcli_log_write(const dcli_log *log, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Costs one comparison when the level is off. */
#define DCLI_LOG(log, at, ...)                        \
    do {                                              \
        if ((log) != NULL && (log)->level >= (at))    \
            dcli_log_write((log), (at), __VA_ARGS__); \
    } while (0)

#endif
