/* cli/progress.c - shows the progress line from a thread of its own, because long calls do not return meanwhile. */
#include "cli/progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SILENT_MS = 1000, REDRAW_MS = 200 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    bool running, stop, shown;
    struct timespec begin;
    char what[80];
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct timespec later(struct timespec time, long ms)
{
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += ms / 1000 + time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void draw(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - progress.begin.tv_sec) + (now.tv_nsec - progress.begin.tv_nsec) / 1e9;
    fprintf(stderr, "\r\033[Kdcl: %s, %.1f s", progress.what, seconds);
    fflush(stderr);
    progress.shown = true;
}

static void *watch(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&progress.lock);
    struct timespec next = later(progress.begin, SILENT_MS);
    while (!progress.stop) {
        if (pthread_cond_timedwait(&progress.ended, &progress.lock, &next) == 0 || progress.stop)
            continue;
        draw();
        next = later(next, REDRAW_MS);
    }
    if (progress.shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

static void use_monotonic_clock(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

void cli_progress_begin(void)
{
    if (progress.running || !isatty(STDERR_FILENO))
        return;
    use_monotonic_clock();
    progress.stop = progress.shown = false;
    clock_gettime(CLOCK_MONOTONIC, &progress.begin);
    progress.running = pthread_create(&progress.thread, NULL, watch, NULL) == 0;
}

void cli_progress_say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    pthread_mutex_lock(&progress.lock);
    vsnprintf(progress.what, sizeof progress.what, format, values);
    pthread_mutex_unlock(&progress.lock);
    va_end(values);
}

void cli_progress_end(void)
{
    if (!progress.running)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.stop = true;
    pthread_cond_signal(&progress.ended);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.ended);
    progress.running = false;
}
