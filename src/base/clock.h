/* base/clock.h - time for waits: only the monotonic clock, because the time of day may be changed at any moment. */
#ifndef DCLI_BASE_CLOCK_H
#define DCLI_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/** Nanoseconds of CLOCK_MONOTONIC. */
static inline int64_t dcli_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t dcli_monotonic_ms(void) { return dcli_monotonic_ns() / 1000000; }

/** Convert a time of dcli_monotonic_ns() for pthread_cond_timedwait() on a condition of dcli_cond_init(). */
static inline struct timespec dcli_at_ns(int64_t at)
{
    return (struct timespec){.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)};
}

/** The time `nanoseconds` from now, for the same use. */
static inline struct timespec dcli_in_ns(int64_t nanoseconds) { return dcli_at_ns(dcli_monotonic_ns() + nanoseconds); }

static inline struct timespec dcli_in_ms(int64_t milliseconds) { return dcli_in_ns(milliseconds * 1000000); }

/** Make a condition variable whose deadlines use CLOCK_MONOTONIC. */
static inline void dcli_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

#endif
