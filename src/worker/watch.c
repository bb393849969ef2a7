/* worker/watch.c - the watchdog thread of a worker process. */
#include "worker/watch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"

enum { PERIOD_MS = 50, GRACE_MS = 1000, EXIT_DEADLINE = 124, EXIT_ORPHAN = 0 };
enum { STILL_MS = 3600000 }; /* how fast memory and disks are is not known; an hour without any progress is a hang */

struct dcli_watch {
    dcli_status_page *page;
    int lifeline, stop_fd; /* stop_fd -1: there is no thread, and the page is our own */
    pthread_t thread;
    _Atomic int64_t ticks;
    atomic_bool asleep, given_up;
    _Atomic int64_t limit_ns[DCLI_ACTIVITIES];
    /* Of the thread that looks: */
    int64_t ticks_seen;
    struct {
        int64_t since_ns, spent_ns; /* when it began; time counted since */
    } seen[DCLI_ACTIVITIES];
};

dcli_life dcli_watch_look(dcli_watch *watch, int64_t passed_ns)
{
    int64_t ticks = atomic_load(&watch->ticks);
    bool lives = ticks != watch->ticks_seen || atomic_load(&watch->asleep);
    watch->ticks_seen = ticks;
    for (int a = 0; a < DCLI_ACTIVITIES; a++) {
        int64_t since = atomic_load(&watch->page->activity[a].since_ns);
        watch->seen[a].spent_ns = since == watch->seen[a].since_ns ? watch->seen[a].spent_ns + passed_ns : 0;
        watch->seen[a].since_ns = since;
        if (since == 0)
            continue;
        lives = true;
        if (watch->seen[a].spent_ns <= atomic_load(&watch->limit_ns[a]))
            continue;
        atomic_store(&watch->page->exceeded, 1 + a);
        return DCLI_OVERDUE;
    }
    return lives ? DCLI_ALIVE : DCLI_SILENT;
}

/* The parent has gone: the serving thread sees that too and ends the process in order, unless it hangs. */
static void end_orphan(const dcli_watch *watch)
{
    struct pollfd stop = {.fd = watch->stop_fd, .events = POLLIN};
    if (poll(&stop, 1, GRACE_MS) == 0)
        _exit(EXIT_ORPHAN);
}

static void *watch_over(void *argument)
{
    dcli_watch *watch = argument;
    struct pollfd polled[2] = {{.fd = watch->stop_fd, .events = POLLIN}, {.fd = watch->lifeline}};
    int64_t before_ns = dcli_monotonic_ns();
    for (;;) {
        poll(polled, watch->lifeline >= 0 ? 2 : 1, PERIOD_MS);
        if (polled[0].revents != 0)
            return NULL;
        if (watch->lifeline >= 0 && (polled[1].revents & (POLLHUP | POLLERR)) != 0) {
            end_orphan(watch);
            return NULL;
        }
        int64_t now_ns = dcli_monotonic_ns(), passed_ns = now_ns - before_ns,
                most_ns = 2 * PERIOD_MS * INT64_C(1000000);
        before_ns = now_ns;
        dcli_life life = dcli_watch_look(watch, dcli_min(passed_ns, most_ns));
        if (life == DCLI_OVERDUE)
            _exit(EXIT_DEADLINE); /* the thread that serves hangs in the driver: nothing can be tidied */
        if (life == DCLI_ALIVE)
            atomic_fetch_add(&watch->page->beats, 1);
    }
}

dcli_watch *dcli_watch_open(dcli_status_page *page, int lifeline)
{
    dcli_watch *watch = dcli_calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->page = page;
    watch->lifeline = lifeline;
    watch->ticks_seen = -1;
    dcli_watch_limits(watch, INT64_MAX / 1000000, INT64_MAX / 1000000, INT64_MAX / 1000000);
    watch->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (watch->stop_fd >= 0 && pthread_create(&watch->thread, NULL, watch_over, watch) == 0)
        return watch;
    DCLI_FAIL(DCL_ERR_NOMEM, "the watchdog of a worker process could not be started; close other programs");
    if (watch->stop_fd >= 0)
        close(watch->stop_fd);
    dcli_free(watch);
    return NULL;
}

dcli_watch *dcli_watch_make(void)
{
    dcli_watch *watch = dcli_calloc(1, sizeof *watch + sizeof *watch->page);
    if (watch == NULL)
        return NULL;
    watch->page = (dcli_status_page *)(watch + 1);
    watch->stop_fd = watch->lifeline = -1;
    watch->ticks_seen = -1;
    return watch;
}

void dcli_watch_limits(dcli_watch *watch, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms)
{
    atomic_store(&watch->limit_ns[DCLI_BUILDING], build_ms * 1000000);
    atomic_store(&watch->limit_ns[DCLI_COMPUTING], kernel_ms * 1000000);
    atomic_store(&watch->limit_ns[DCLI_MOVING], STILL_MS * INT64_C(1000000));
    atomic_store(&watch->limit_ns[DCLI_PLANNING], plan_ms > 0 ? plan_ms * 1000000 : INT64_MAX);
    atomic_store(&watch->limit_ns[DCLI_OPENING], INT64_MAX); /* who has started it does not wait for ever */
}

void dcli_watch_close(dcli_watch *watch)
{
    if (watch == NULL)
        return;
    if (watch->stop_fd >= 0) {
        eventfd_write(watch->stop_fd, 1);
        pthread_join(watch->thread, NULL);
        close(watch->stop_fd);
    }
    dcli_free(watch);
}

const dcli_status_page *dcli_watch_page(const dcli_watch *watch) { return watch->page; }

void dcli_watch_give_up(dcli_watch *watch) { atomic_store(&watch->given_up, true); }

bool dcli_watch_is_given_up(const dcli_watch *watch)
{
    return watch != NULL && atomic_load_explicit(&watch->given_up, memory_order_relaxed);
}

void dcli_watch_tick(dcli_watch *watch)
{
    if (watch != NULL)
        atomic_fetch_add_explicit(&watch->ticks, 1, memory_order_relaxed);
}

void dcli_watch_sleep(dcli_watch *watch, bool asleep)
{
    if (watch != NULL)
        atomic_store_explicit(&watch->asleep, asleep, memory_order_relaxed);
}

void dcli_watch_rest(dcli_watch *watch, bool rests)
{
    if (watch == NULL || atomic_load_explicit(&watch->page->rests, memory_order_relaxed) == rests)
        return;
    if (!rests)
        atomic_fetch_add(&watch->page->rises, 1);
    atomic_store(&watch->page->rests, rests);
}

void dcli_watch_announce(dcli_watch *watch, dcli_activity activity, const char *text)
{
    if (watch != NULL)
        strncpy(watch->page->activity[activity].text, text, sizeof watch->page->activity[activity].text - 1);
}

void dcli_watch_farewell(dcli_watch *watch, const char *text)
{
    if (watch != NULL)
        strncpy(watch->page->farewell, text, sizeof watch->page->farewell - 1);
}

void dcli_watch_kernel(dcli_watch *watch, dcli_activity activity, int64_t kernel)
{
    if (watch != NULL)
        atomic_store_explicit(&watch->page->activity[activity].kernel, kernel, memory_order_relaxed);
}

void dcli_watch_activity(dcli_watch *watch, dcli_activity activity, const char *text)
{
    if (watch == NULL)
        return;
    if (text != NULL)
        dcli_watch_announce(watch, activity, text);
    atomic_store(&watch->page->activity[activity].since_ns, text != NULL ? dcli_monotonic_ns() : 0);
}

void dcli_watch_progress(dcli_watch *watch, dcli_activity activity)
{
    if (watch != NULL)
        atomic_store(&watch->page->activity[activity].since_ns, dcli_monotonic_ns());
}
