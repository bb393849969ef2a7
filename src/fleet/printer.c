/* fleet/printer.c - the thread that shows printed lines to the user. */
#include "fleet/printer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/signals.h"

enum { MOST_WAITING = 1 << 20 };
enum { CLOSE_MS = 1000, CLOSE_IN_ALL_MS = 5000 }; /* time limits at closing: for the next line, and for all lines */

/** A buffer of lines, each ending with '\0'. */
typedef struct lines {
    char text[MOST_WAITING];
    size_t length;
} lines;

struct dcli_printer {
    dcl_log_fn *fn;
    void *user;
    pthread_t thread;
    lines *waiting, *shown; /* two buffers: producers fill `waiting`; the thread writes `shown` */
    pthread_mutex_t lock;   /* guards `waiting` and the fields below */
    pthread_cond_t changed;
    int64_t dropped;
    int64_t put, done;                     /* number of lines queued, and of lines shown */
    int64_t stuck_at;                      /* value of `done` when a flush timed out; -1: none has */
    bool has_thread, ended, stop, is_left; /* is_left: the printer was closed while its thread hung, and the thread
                                              frees it */
};

static void free_printer(dcli_printer *printer)
{
    pthread_mutex_destroy(&printer->lock);
    pthread_cond_destroy(&printer->changed);
    dcli_free(printer->waiting);
    dcli_free(printer->shown);
    dcli_free(printer);
}

dcli_printer *dcli_printer_open(const dcli_log *log)
{
    dcli_printer *printer = dcli_calloc(1, sizeof *printer);
    if (printer == NULL)
        return NULL;
    printer->fn = log->fn;
    printer->user = log->user;
    printer->stuck_at = -1;
    pthread_mutex_init(&printer->lock, NULL);
    dcli_cond_init(&printer->changed);
    printer->waiting = dcli_malloc(sizeof(lines));
    printer->shown = dcli_malloc(sizeof(lines));
    if (printer->waiting == NULL || printer->shown == NULL) {
        free_printer(printer);
        return NULL;
    }
    printer->waiting->length = printer->shown->length = 0;
    return printer;
}

/* ---- the thread --------------------------------------------------------------------------------------------------- */

/* Write a line with one system call if possible, because other threads and processes write to standard error, too. */
static void write_line(const char *line)
{
    char text[DCLI_PRINTER_LINE + 8];
    int length = snprintf(text, sizeof text, "dcl %.*s\n", DCLI_PRINTER_LINE, line), fd = fileno(stderr);
    for (int at = 0; at < length;) {
        ssize_t written = write(fd, text + at, (size_t)(length - at));
        if (written < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (written < 0 && errno != EINTR)
            return; /* standard error is closed */
        at += written > 0 ? (int)written : 0;
    }
}

/* Show one line. @return false: the printer was abandoned. */
static bool show(dcli_printer *printer, const char *line)
{
    if (printer->fn != NULL)
        printer->fn(printer->user, DCLI_LOG_OFF, line);
    else
        write_line(line);
    pthread_mutex_lock(&printer->lock);
    printer->done++;
    bool goes_on = !printer->is_left;
    pthread_cond_broadcast(&printer->changed);
    pthread_mutex_unlock(&printer->lock);
    return goes_on;
}

static void show_all(dcli_printer *printer, const lines *shown)
{
    for (size_t at = 0; at < shown->length; at += strlen(shown->text + at) + 1)
        if (!show(printer, shown->text + at))
            return;
}

/* Append a line; the lock is held and there is room. */
static void add(dcli_printer *printer, const char *line)
{
    lines *waiting = printer->waiting;
    size_t bytes = strlen(line) + 1;
    memcpy(waiting->text + waiting->length, line, bytes);
    waiting->length += bytes;
    printer->put++;
}

/* Exchange the two buffers. If bytes were dropped, the new `waiting` begins with a line about them. The lock is
 * held. */
static void take_waiting(dcli_printer *printer)
{
    lines *taken = printer->waiting;
    printer->waiting = printer->shown;
    printer->shown = taken;
    printer->waiting->length = 0;
    if (printer->dropped > 0) {
        char line[96];
        snprintf(line, sizeof line, "(%" PRId64 " bytes of nodes dropped: nobody takes them)", printer->dropped);
        add(printer, line);
        printer->dropped = 0;
    }
}

static void *print(void *argument)
{
    dcli_printer *printer = argument;
    pthread_mutex_lock(&printer->lock);
    while (!printer->is_left && (!printer->stop || printer->waiting->length > 0)) {
        if (printer->waiting->length == 0) {
            pthread_cond_wait(&printer->changed, &printer->lock);
            continue;
        }
        take_waiting(printer);
        pthread_mutex_unlock(&printer->lock);
        show_all(printer, printer->shown);
        pthread_mutex_lock(&printer->lock);
    }
    bool is_left = printer->is_left;
    printer->ended = true;
    pthread_cond_broadcast(&printer->changed);
    pthread_mutex_unlock(&printer->lock);
    if (is_left)
        free_printer(printer);
    return NULL;
}

/* Start the thread; the lock is held. Without a thread, lines wait and are dropped when there are too many. */
static void start(dcli_printer *printer)
{
    printer->has_thread = dcli_thread_start(&printer->thread, print, printer) == 0;
}

/* ---- for others --------------------------------------------------------------------------------------------------- */

void dcli_printer_put(dcli_printer *printer, const char *line)
{
    enum { ROOM_TO_TELL = 128 };
    if (printer == NULL)
        return;
    pthread_mutex_lock(&printer->lock);
    if (printer->dropped > 0 || printer->waiting->length + strlen(line) + 1 + ROOM_TO_TELL > MOST_WAITING)
        printer->dropped += (int64_t)strlen(line) + 1;
    else
        add(printer, line);
    if (!printer->has_thread)
        start(printer);
    pthread_cond_broadcast(&printer->changed);
    pthread_mutex_unlock(&printer->lock);
}

bool dcli_printer_flush(dcli_printer *printer, int milliseconds)
{
    enum { STUCK_MS = 100 };
    if (printer == NULL)
        return true;
    struct timespec until = dcli_in_ms(milliseconds);
    pthread_mutex_lock(&printer->lock);
    int64_t last = printer->put, error = 0;
    while (printer->has_thread && printer->done < last && printer->done != printer->stuck_at && error == 0)
        error = pthread_cond_timedwait(&printer->changed, &printer->lock, &until);
    if (error != 0 && milliseconds >= STUCK_MS)
        printer->stuck_at = printer->done;
    pthread_mutex_unlock(&printer->lock);
    return error == 0 || milliseconds >= STUCK_MS;
}

bool dcli_printer_shows_here(dcli_printer *printer)
{
    if (printer == NULL)
        return false;
    pthread_mutex_lock(&printer->lock);
    bool here = printer->has_thread && pthread_equal(printer->thread, pthread_self());
    pthread_mutex_unlock(&printer->lock);
    return here;
}

/* Wait for the thread to end; the lock is held. @return whether the thread has ended, or there is none. */
static bool await_end(dcli_printer *printer)
{
    struct timespec until = dcli_in_ms(CLOSE_MS);
    int64_t done = printer->done, end_ms = dcli_monotonic_ms() + CLOSE_IN_ALL_MS - CLOSE_MS;
    while (printer->has_thread && !printer->ended) {
        if (printer->fn != NULL) {
            pthread_cond_wait(&printer->changed, &printer->lock);
        } else if (pthread_cond_timedwait(&printer->changed, &printer->lock, &until) != 0) {
            if (printer->done == done || dcli_monotonic_ms() > end_ms)
                return printer->ended;
            done = printer->done; /* lines are still being shown: wait for the next one */
            until = dcli_in_ms(CLOSE_MS);
        }
    }
    return true;
}

void dcli_printer_close(dcli_printer *printer)
{
    if (printer == NULL)
        return;
    pthread_mutex_lock(&printer->lock);
    printer->stop = true;
    pthread_cond_broadcast(&printer->changed);
    bool ended = await_end(printer), has_thread = printer->has_thread;
    pthread_t thread = printer->thread;
    printer->is_left = !ended;
    pthread_mutex_unlock(&printer->lock);
    if (!ended) {
        pthread_detach(thread); /* the thread frees the printer when it ends */
        return;
    }
    if (has_thread)
        pthread_join(thread, NULL);
    free_printer(printer);
}
