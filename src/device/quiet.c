/* device/quiet.c - filter what a driver's compiler writes to standard error, by descriptor number.
 * The descriptor is replaced by a pipe. A thread forwards all other lines, so that no writer blocks, and ends when the
 * last writing end is closed; a process started meanwhile may hold that end for long. */
#include "device/quiet.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/signals.h"

enum { LINE_BYTES = 256, PATIENCE_MS = 500 };

struct dcli_quiet {
    int saved;    /* copy of the original standard error, to which the thread forwards lines */
    int pipe;     /* reading end of the pipe */
    int restored; /* another copy, with which dcli_quiet_end() restores standard error */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    bool ended;     /* the thread has forwarded everything */
    bool abandoned; /* nobody waits for the thread: it frees the struct */
};

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* only one thread at a time replaces standard error */

/* Whether a line is a count such as "1 warning and 4 errors generated." */
static bool is_count(const char *line, size_t length)
{
    static const char end[] = " generated.\n";
    size_t tail = sizeof end - 1;
    if (length <= tail || memcmp(line + length - tail, end, tail) != 0 || !isdigit((unsigned char)line[0]))
        return false;
    for (size_t c = 0; c < length - tail; c++)
        if (!isalnum((unsigned char)line[c]) && line[c] != ' ')
            return false;
    return memmem(line, length, "error", 5) != NULL || memmem(line, length, "warning", 7) != NULL;
}

static void pass(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t put = write(to, bytes, count);
        if (put <= 0)
            return; /* nobody to tell */
        bytes += put;
        count -= (size_t)put;
    }
}

static void free_quiet(struct dcli_quiet *quiet)
{
    pthread_cond_destroy(&quiet->changed);
    pthread_mutex_destroy(&quiet->lock);
    dcli_free(quiet);
}

static void *pass_lines(void *user)
{
    struct dcli_quiet *quiet = user;
    char line[LINE_BYTES];
    size_t length = 0;
    ssize_t got;
    while ((got = read(quiet->pipe, line + length, sizeof line - length)) > 0) {
        length += (size_t)got;
        size_t begin = 0;
        const char *end;
        while ((end = memchr(line + begin, '\n', length - begin)) != NULL) {
            size_t whole = (size_t)(end + 1 - line) - begin;
            if (!is_count(line + begin, whole))
                pass(quiet->saved, line + begin, whole);
            begin += whole;
        }
        if (begin == 0 && length == sizeof line) {
            pass(quiet->saved, line, length);
            begin = length;
        }
        memmove(line, line + begin, length - begin);
        length -= begin;
    }
    pass(quiet->saved, line, length);
    close(quiet->saved);
    close(quiet->pipe);
    pthread_mutex_lock(&quiet->lock);
    quiet->ended = true;
    bool abandoned = quiet->abandoned;
    pthread_cond_signal(&quiet->changed);
    pthread_mutex_unlock(&quiet->lock);
    if (abandoned)
        free_quiet(quiet);
    return NULL;
}

static void give_up(struct dcli_quiet *quiet, const int ends[2])
{
    int all[] = {quiet->saved, quiet->restored, ends[0], ends[1]};
    for (int n = 0; n < 4; n++)
        if (all[n] >= 0)
            close(all[n]);
    free_quiet(quiet);
    pthread_mutex_unlock(&one);
}

struct dcli_quiet *dcli_quiet_begin(void)
{
    struct dcli_quiet *quiet = dcli_calloc(1, sizeof *quiet);
    int ends[2] = {-1, -1};
    if (quiet == NULL || pthread_mutex_trylock(&one) != 0) { /* trylock: a compiler that hangs must not block others */
        dcli_free(quiet);
        return NULL;
    }
    pthread_mutex_init(&quiet->lock, NULL);
    dcli_cond_init(&quiet->changed);
    quiet->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    quiet->restored = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (quiet->saved < 0 || quiet->restored < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        give_up(quiet, ends);
        return NULL;
    }
    quiet->pipe = ends[0];
    if (dcli_thread_start(&quiet->thread, pass_lines, quiet) != 0) {
        give_up(quiet, ends);
        return NULL;
    }
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    return quiet;
}

void dcli_quiet_end(struct dcli_quiet *quiet)
{
    if (quiet == NULL)
        return;
    pthread_t thread = quiet->thread;
    dup2(quiet->restored, STDERR_FILENO);
    close(quiet->restored);
    struct timespec until = dcli_in_ms(PATIENCE_MS);
    pthread_mutex_lock(&quiet->lock);
    while (!quiet->ended && pthread_cond_timedwait(&quiet->changed, &quiet->lock, &until) != ETIMEDOUT)
        ;
    bool ended = quiet->ended;
    quiet->abandoned = !ended;
    pthread_mutex_unlock(&quiet->lock);
    if (ended) {
        pthread_join(thread, NULL);
        free_quiet(quiet);
    } else {
        pthread_detach(thread);
    }
    pthread_mutex_unlock(&one);
}
