/* cli/progress.c - shows the progress line from a thread of its own, because long calls do not return meanwhile. */
#include "cli/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SILENT_MS = 1000, /* time until the line is shown */
    REDRAW_MS = 250,
    LINE_MS = 5000 /* between lines, if stderr is no terminal */
};

static struct {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t ended;
    pthread_t thread;
    bool running, stop, shown, terminal;
    struct timespec begin;       /* of all */
    struct timespec part, noted; /* begin of the current part; when its progress was counted last */
    double done, total;          /* of the current part; total 0: not known */
    const char *unit;
    char what[80];
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct timespec later(struct timespec time, long ms)
{
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += ms / 1000 + time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static double seconds(struct timespec from, struct timespec to)
{
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* Print a number of units: "12 runs", "3.4 GB". */
static void print_amount(char text_out[32], double amount, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int p = 0;
    if (strcmp(unit, "B") != 0) {
        snprintf(text_out, 32, amount < 10 && amount != floor(amount) ? "%.2g %s" : "%.0f %s", amount, unit);
        return;
    }
    for (; amount >= 999.5 && p < 5; p++)
        amount /= 1000;
    snprintf(text_out, 32, "%.3g %sB", amount, prefixes[p]);
}

/* Print how long something takes: "12 s", "3 min 20 s", "5 h 12 min". */
static void print_time(char text_out[32], double time)
{
    long left = time < 1e9 ? (long)ceil(time) : 1000000000;
    if (left < 60)
        snprintf(text_out, 32, "%ld s", left);
    else if (left < 3600)
        snprintf(text_out, 32, "%ld min %ld s", left / 60, left % 60);
    else
        snprintf(text_out, 32, "%ld h %ld min", left / 3600, left % 3600 / 60);
}

/* Print how much is done, how fast, and the time that is left; "" if that is not known. */
static void print_rate(char text_out[160], struct timespec now)
{
    char done[32], total[32], rate[32], left[32];
    double spent = seconds(progress.part, progress.noted);
    text_out[0] = '\0';
    if (progress.total <= 0)
        return;
    print_amount(total, progress.total, progress.unit);
    print_amount(done, progress.done, progress.unit);
    if (strcmp(progress.unit, "B") != 0)
        done[strcspn(done, " ")] = '\0';
    int length = snprintf(text_out, 160, ", %s of %s", done, total);
    if (progress.done <= 0 || spent <= 0)
        return;
    print_amount(rate, progress.done / spent, progress.unit);
    print_time(left, fmax(0, progress.total / progress.done * spent - seconds(progress.part, now)));
    snprintf(text_out + length, 160 - (size_t)length, ", %s/s, %s left", rate, left);
}

/* Draw the line; the lock is held. It is released while the line is written, so that a terminal or a pipe that blocks does
 * not stop the work. */
static void draw(void)
{
    char rate[160], line[320];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    print_rate(rate, now);
    snprintf(line, sizeof line, "%sdcl: %s%s, %.1f s%s", progress.terminal ? "\r\033[K" : "", progress.what, rate,
             seconds(progress.begin, now), progress.terminal ? "" : "\n");
    progress.shown = progress.terminal;
    pthread_mutex_unlock(&progress.lock);
    fputs(line, stderr);
    fflush(stderr);
    pthread_mutex_lock(&progress.lock);
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
        clock_gettime(CLOCK_MONOTONIC, &next); /* after a pause of the process, the missed updates are skipped */
        next = later(next, progress.terminal ? REDRAW_MS : LINE_MS);
    }
    bool shown = progress.shown;
    pthread_mutex_unlock(&progress.lock);
    if (shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
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

void cli_progress_begin(cli_progress_when when)
{
    progress.terminal = isatty(STDERR_FILENO);
    if (progress.running || when == CLI_PROGRESS_NEVER || (when == CLI_PROGRESS_AUTO && !progress.terminal))
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
    clock_gettime(CLOCK_MONOTONIC, &progress.part);
    progress.done = progress.total = 0;
    pthread_mutex_unlock(&progress.lock);
    va_end(values);
}

void cli_progress_count(double done, double total, const char *unit)
{
    pthread_mutex_lock(&progress.lock);
    clock_gettime(CLOCK_MONOTONIC, &progress.noted);
    progress.done = done;
    progress.total = total;
    progress.unit = unit;
    pthread_mutex_unlock(&progress.lock);
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
