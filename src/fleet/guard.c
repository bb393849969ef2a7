/* fleet/guard.c - a thread that monitors those threads of the program that serve nodes. */
#include "fleet/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "fleet/process.h"
#include "fleet/watchdog.h"

/* A monitored node; the guard's lock is held. */
struct guarded {
    dcli_watchdog *watchdog;
    bool ended, lost;
    int64_t silent_ns;
};

struct dcli_guard {
    int node_count;
    int64_t silence_ns;
    dcli_fleet_hooks hooks;
    dcli_worker *host;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    bool stop;
    struct guarded node[];
};

/* ---- looking ------------------------------------------------------------------------------------------------------ */

/* Check one node for silence and passed time limits; the lock is held. @param passed_ns  time since the last check. */
static void look_at(dcli_guard *guard, int node, int64_t passed_ns)
{
    struct guarded *guarded = &guard->node[node];
    if (guarded->ended || guarded->lost)
        return;
    dcli_life life = dcli_watchdog_look(guarded->watchdog, passed_ns);
    guarded->silent_ns = life == DCLI_SILENT ? guarded->silent_ns + passed_ns : 0;
    if (life != DCLI_OVERDUE && guarded->silent_ns < guard->silence_ns)
        return;
    guarded->lost = true;
    atomic_store(&dcli_watchdog_watch(guarded->watchdog)->given_up, true);
    pthread_cond_broadcast(&guard->changed);
    dcli_host_report_loss(guard->host, node, "");
}

/* The guard's thread: checks all nodes periodically. A check counts for at most two periods, so that time in which the
 * whole program was stopped counts neither as silence nor towards time limits. */
static void *look_around(void *argument)
{
    enum { LEAST_MS = 10, MOST_MS = 250 };
    dcli_guard *guard = argument;
    int64_t period_ms = dcli_max(LEAST_MS, dcli_min(guard->silence_ns / 1000000 / 8, MOST_MS));
    int64_t most_ns = 2 * period_ms * 1000000, before_ns = dcli_monotonic_ns();
    pthread_mutex_lock(&guard->lock);
    while (!guard->stop) {
        struct timespec until = dcli_in_ms(period_ms);
        while (!guard->stop && pthread_cond_timedwait(&guard->changed, &guard->lock, &until) != ETIMEDOUT)
            ;
        int64_t now_ns = dcli_monotonic_ns(), passed_ns = now_ns - before_ns;
        before_ns = now_ns;
        for (int n = 0; n < guard->node_count && !guard->stop; n++)
            look_at(guard, n, dcli_min(passed_ns, most_ns));
    }
    pthread_mutex_unlock(&guard->lock);
    return NULL;
}

/* ---- losses ------------------------------------------------------------------------------------------------------- */

static void lose(void *user, int node, const char *seen, char *sentence_out, size_t capacity)
{
    (void)seen;
    dcli_guard *guard = user;
    char why[640];
    dcli_page_why(dcli_watchdog_watch(guard->node[node].watchdog)->page, why, sizeof why);
    snprintf(sentence_out, capacity,
             "node %d is lost: its thread hangs: %s; it is left alone until the program ends; expected a "
             "driver that answers; worker processes (DCL_WORKERS=local:N) can be ended and leave nothing",
             node, why);
}

static void note_end(void *user, int node)
{
    dcli_guard *guard = user;
    pthread_mutex_lock(&guard->lock);
    guard->node[node].ended = true;
    pthread_cond_broadcast(&guard->changed);
    pthread_mutex_unlock(&guard->lock);
}

static bool await_end(void *user, int node)
{
    dcli_guard *guard = user;
    const struct guarded *guarded = &guard->node[node];
    pthread_mutex_lock(&guard->lock);
    while (!guarded->ended && !guarded->lost)
        pthread_cond_wait(&guard->changed, &guard->lock);
    bool lost = guarded->lost;
    pthread_mutex_unlock(&guard->lock);
    return !lost;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

dcli_guard *dcli_guard_open(int node_count, const dcl_config *config)
{
    dcli_guard *guard = dcli_calloc(1, sizeof *guard + (size_t)node_count * sizeof guard->node[0]);
    if (guard == NULL)
        return NULL;
    guard->node_count = node_count;
    guard->silence_ns = (int64_t)config->silence_ms * 1000000;
    guard->hooks = (dcli_fleet_hooks){.user = guard, .lose = lose, .thread_ends = note_end, .await_thread = await_end};
    pthread_mutex_init(&guard->lock, NULL);
    dcli_cond_init(&guard->changed);
    for (int n = 0; n < node_count; n++) {
        dcli_watchdog *watchdog = guard->node[n].watchdog = dcli_watchdog_make();
        if (watchdog == NULL) {
            dcli_guard_close(guard);
            return NULL;
        }
        /* Planning is DCL's own code and terminates, so a thread has no limit for it; only a process is ended for
         * it. */
        dcli_watchdog_limits(watchdog, (int64_t)config->build_ms, (int64_t)config->kernel_ms, 0);
    }
    return guard;
}

dcli_watch *dcli_guard_watch(dcli_guard *guard, int node) { return dcli_watchdog_watch(guard->node[node].watchdog); }

dcl_status dcli_guard_start(dcli_guard *guard, dcli_worker *host)
{
    guard->host = host;
    int code = pthread_create(&guard->thread, NULL, look_around, guard);
    guard->started = code == 0;
    return code == 0 ? DCL_OK
                     : DCLI_FAIL(DCL_ERR_NOMEM,
                                 "pthread_create: %s; expected one more thread, which looks after the nodes; raise "
                                 "`ulimit -u`",
                                 strerror(code));
}

void dcli_guard_stop(dcli_guard *guard)
{
    if (!guard->started)
        return;
    pthread_mutex_lock(&guard->lock);
    guard->stop = true;
    pthread_cond_broadcast(&guard->changed);
    pthread_mutex_unlock(&guard->lock);
    pthread_join(guard->thread, NULL);
    guard->started = false;
}

void dcli_guard_close(dcli_guard *guard)
{
    if (guard == NULL)
        return;
    dcli_guard_stop(guard);
    for (int n = 0; n < guard->node_count; n++)
        dcli_watchdog_close(guard->node[n].watchdog);
    pthread_mutex_destroy(&guard->lock);
    pthread_cond_destroy(&guard->changed);
    dcli_free(guard);
}

const dcli_fleet_hooks *dcli_guard_hooks(dcli_guard *guard) { return &guard->hooks; }

bool dcli_guard_has_lost(dcli_guard *guard, int node)
{
    pthread_mutex_lock(&guard->lock);
    bool lost = guard->node[node].lost;
    pthread_mutex_unlock(&guard->lock);
    return lost;
}
