/* fleet/watchdog.c - the watchdog thread of a worker process (see watchdog.h). */
#include "fleet/watchdog.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"

enum { PERIOD_MS = 50, GRACE_MS = 1000, EXIT_DEADLINE = 124, EXIT_ORPHAN = 0 };
enum {
    STILL_MS = 3600000
}; /* limit for moving data: the speed of memory and disks is unknown, but an hour without
                                progress is a hang */

struct dcli_watchdog {
    dcli_watch watch;
    int lifeline, stop_fd; /* lifeline: closes when the parent ends; stop_fd: -1 if there is no thread (then the page
                              is our own) */
    pthread_t thread;
    _Atomic int64_t limit_ns[DCLI_ACTIVITIES];
    _Atomic(dcli_placement *) placement; /* NULL: none, or none yet */
    /* Fields used only by the checking thread: */
    int64_t ticks_seen;
    struct {
        int64_t since_ns, spent_ns; /* start of the current activity; time counted for it so far */
    } seen[DCLI_ACTIVITIES];
};

dcli_life dcli_watchdog_look(dcli_watchdog *watchdog, int64_t passed_ns)
{
    int64_t ticks = atomic_load(&watchdog->watch.ticks);
    bool lives = ticks != watchdog->ticks_seen || atomic_load(&watchdog->watch.asleep);
    watchdog->ticks_seen = ticks;
    for (int a = 0; a < DCLI_ACTIVITIES; a++) {
        int64_t since = atomic_load(&watchdog->watch.page->activity[a].since_ns);
        watchdog->seen[a].spent_ns = since == watchdog->seen[a].since_ns ? watchdog->seen[a].spent_ns + passed_ns : 0;
        watchdog->seen[a].since_ns = since;
        if (since == 0)
            continue;
        lives = true;
        if (watchdog->seen[a].spent_ns <= atomic_load(&watchdog->limit_ns[a]))
            continue;
        atomic_store(&watchdog->watch.page->exceeded, 1 + a);
        return DCLI_OVERDUE;
    }
    return lives ? DCLI_ALIVE : DCLI_SILENT;
}

/* Handle the end of the parent: the serving thread normally notices it and ends the process; if it hangs, the watchdog
 * does. */
static void end_orphan(const dcli_watchdog *watchdog)
{
    struct pollfd stop = {.fd = watchdog->stop_fd, .events = POLLIN};
    if (poll(&stop, 1, GRACE_MS) == 0)
        _exit(EXIT_ORPHAN);
}

static void *watch_over(void *argument)
{
    dcli_watchdog *watchdog = argument;
    struct pollfd polled[2] = {{.fd = watchdog->stop_fd, .events = POLLIN}, {.fd = watchdog->lifeline}};
    int64_t before_ns = dcli_monotonic_ns();
    for (;;) {
        poll(polled, watchdog->lifeline >= 0 ? 2 : 1, PERIOD_MS);
        if (polled[0].revents != 0)
            return NULL;
        if (watchdog->lifeline >= 0 && (polled[1].revents & (POLLHUP | POLLERR)) != 0) {
            end_orphan(watchdog);
            return NULL;
        }
        int64_t now_ns = dcli_monotonic_ns(), passed_ns = now_ns - before_ns,
                most_ns = 2 * PERIOD_MS * INT64_C(1000000);
        before_ns = now_ns;
        dcli_life life = dcli_watchdog_look(watchdog, dcli_min(passed_ns, most_ns));
        if (life == DCLI_OVERDUE)
            _exit(EXIT_DEADLINE); /* the serving thread hangs in the driver, so nothing can be cleaned up */
        if (life == DCLI_ALIVE)
            atomic_fetch_add(&watchdog->watch.page->beats, 1);
        dcli_placement *placement = atomic_load(&watchdog->placement);
        if (placement != NULL)
            dcli_placement_look(placement, now_ns);
    }
}

dcli_watchdog *dcli_watchdog_open(dcli_status_page *page, int lifeline)
{
    dcli_watchdog *watchdog = dcli_calloc(1, sizeof *watchdog);
    if (watchdog == NULL)
        return NULL;
    watchdog->watch.page = page;
    watchdog->lifeline = lifeline;
    watchdog->ticks_seen = -1;
    dcli_watchdog_limits(watchdog, INT64_MAX / 1000000, INT64_MAX / 1000000, INT64_MAX / 1000000);
    watchdog->stop_fd = eventfd(0, EFD_CLOEXEC);
    atomic_fetch_add(&page->beats, 1); /* the program is loaded: from now on silence counts */
    if (watchdog->stop_fd >= 0 && pthread_create(&watchdog->thread, NULL, watch_over, watchdog) == 0)
        return watchdog;
    DCLI_FAIL(DCL_ERR_NOMEM, "the watchdog of a worker process could not be started; close other programs");
    if (watchdog->stop_fd >= 0)
        close(watchdog->stop_fd);
    dcli_free(watchdog);
    return NULL;
}

dcli_watchdog *dcli_watchdog_make(void)
{
    dcli_watchdog *watchdog = dcli_calloc(1, sizeof *watchdog + sizeof *watchdog->watch.page);
    if (watchdog == NULL)
        return NULL;
    watchdog->watch.page = (dcli_status_page *)(watchdog + 1);
    watchdog->stop_fd = watchdog->lifeline = -1;
    watchdog->ticks_seen = -1;
    return watchdog;
}

void dcli_watchdog_limits(dcli_watchdog *watchdog, int64_t build_ms, int64_t kernel_ms, int64_t plan_ms)
{
    atomic_store(&watchdog->limit_ns[DCLI_BUILDING], build_ms * 1000000);
    atomic_store(&watchdog->limit_ns[DCLI_COMPUTING], kernel_ms * 1000000);
    atomic_store(&watchdog->limit_ns[DCLI_MOVING], STILL_MS * INT64_C(1000000));
    atomic_store(&watchdog->limit_ns[DCLI_PLANNING], plan_ms > 0 ? plan_ms * 1000000 : INT64_MAX);
    /* No limit: the parent has one of its own for opening. */
    atomic_store(&watchdog->limit_ns[DCLI_OPENING], INT64_MAX);
}

void dcli_watchdog_place(dcli_watchdog *watchdog, dcli_placement *placement)
{
    atomic_store(&watchdog->placement, placement);
}

void dcli_watchdog_close(dcli_watchdog *watchdog)
{
    if (watchdog == NULL)
        return;
    if (watchdog->stop_fd >= 0) {
        eventfd_write(watchdog->stop_fd, 1);
        pthread_join(watchdog->thread, NULL);
        close(watchdog->stop_fd);
    }
    dcli_placement_close(atomic_load(&watchdog->placement));
    dcli_free(watchdog);
}

dcli_watch *dcli_watchdog_watch(dcli_watchdog *watchdog) { return &watchdog->watch; }
