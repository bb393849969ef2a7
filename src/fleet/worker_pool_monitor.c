/* fleet/worker_pool_monitor.c - the process monitor: the thread that starts worker processes (which end with it),
 * monitors them, and serves the connections to listeners. */
#include <stdio.h>
#include <sys/eventfd.h>

#include "base/check.h"
#include "base/clock.h"
#include "fleet/worker_pool_inside.h"

void dcli_process_monitor_wake(dcli_worker_pool *pool) { eventfd_write(pool->wake_fd, 1); }

void dcli_worker_pool_report(dcli_worker_pool *pool, int node, const char *seen)
{
    dcli_member *member = &pool->member[node];
    if (member->lost || pool->stop)
        return;
    member->lost = true;
    if (pool->host != NULL)
        pool->calls->report_loss(pool->host, node, seen);
    pthread_cond_broadcast(&pool->changed);
}

/* End the process of a node, here or at its host. Only the process monitor waits for its end. */
void dcli_worker_pool_dismiss(dcli_worker_pool *pool, int node)
{
    dcli_member *member = &pool->member[node];
    member->dismissed = true;
    if (pool->is_local)
        dcli_process_kill(&member->process);
    else
        member->kill_due = true; /* only the process monitor uses the connection */
    dcli_process_monitor_wake(pool);
}

static void check_processes(dcli_worker_pool *pool)
{
    int64_t now = dcli_monotonic_ns();
    pthread_mutex_lock(&pool->lock);
    for (int n = 0; n < pool->node_count; n++) {
        dcli_member *member = &pool->member[n];
        bool has_ended = member->process.pid != 0 && dcli_process_has_ended(&member->process);
        if (pool->is_local) /* show its last lines before its end is reported */
            dcli_worker_pool_read_output(pool, n, has_ended ? DCLI_TO_THE_END : DCLI_LINES);
        if (member->process.pid == 0 || (member->lost && !member->dismissed))
            continue;
        if (member->lost && has_ended)
            dcli_process_end(&member->process, 0); /* returns at once, because the process has ended */
        else if (member->lost)
            continue;
        else if (has_ended)
            dcli_worker_pool_report(pool, n, "its process has ended");
        else if (member->heard &&
                 dcli_process_is_silent(&member->process, now, (int64_t)pool->terms.config->silence_ms))
            dcli_worker_pool_report(pool, n, "it has been silent for longer than DCL_SILENCE_MS");
    }
    pthread_mutex_unlock(&pool->lock);
}

static void follow_order(dcli_worker_pool *pool)
{
    dcli_start_order *order = &pool->order;
    dcl_status status = dcli_worker_pool_start_local(pool, order->first, order->count);
    pthread_mutex_lock(&pool->lock);
    order->status = status;
    if (status != DCL_OK)
        snprintf(order->problem, sizeof order->problem, "%s", dcli_error_sentence());
    order->due = false;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* Collect what the process monitor sleeps for: orders, ends of processes, messages of listeners. */
static int gather(dcli_worker_pool *pool, struct pollfd polled[])
{
    int count = 0;
    polled[count++] = (struct pollfd){.fd = pool->wake_fd, .events = POLLIN};
    pthread_mutex_lock(&pool->lock);
    int attended = pool->attended;
    for (int n = 0; n < pool->node_count; n++) {
        const dcli_member *member = &pool->member[n];
        if (!member->lost && member->process.pid != 0)
            polled[count++] = (struct pollfd){.fd = member->process.pidfd, .events = POLLIN};
        if (dcli_output_is_polled(&member->output))
            polled[count++] = (struct pollfd){.fd = member->output.pipe, .events = POLLIN};
    }
    pthread_mutex_unlock(&pool->lock);
    for (int c = 0; c < attended; c++)
        if (!pool->contact[c].lost)
            count += dcli_worker_pool_polled(pool, c, polled + count);
    return count;
}

static int period_ms(const dcli_worker_pool *pool)
{
    enum { SHORTEST = 20, LONGEST = 250 };
    size_t period = pool->terms.config->silence_ms / 8;
    return period < SHORTEST ? SHORTEST : period > LONGEST ? LONGEST : (int)period;
}

/* The longest sleep allowed: until the end of the period, or until SHOWN is due for a listener. */
static int sleep_ms(dcli_worker_pool *pool)
{
    int64_t now = dcli_monotonic_ms(), due = now + period_ms(pool);
    pthread_mutex_lock(&pool->lock);
    for (int c = 0; c < pool->attended; c++)
        due = dcli_min(due, dcli_worker_pool_shown_due_ms(&pool->contact[c]));
    pthread_mutex_unlock(&pool->lock);
    return due > now ? (int)(due - now) : 0;
}

/* Serve all listeners. @return whether a listener may have more messages, which poll() would not report again. */
static bool attend_all(dcli_worker_pool *pool)
{
    bool more = false;
    pthread_mutex_lock(&pool->lock);
    int attended = pool->attended;
    pthread_mutex_unlock(&pool->lock);
    for (int c = 0; c < attended; c++)
        more |= dcli_worker_pool_attend(pool, c);
    return more;
}

static void *keep(void *argument)
{
    dcli_worker_pool *pool = argument;
    struct pollfd polled[1 + 2 * DCLI_MOST_NODES + 4 * DCLI_MOST_CALLS];
    eventfd_t ignored;
    bool more = false;
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        bool stop = pool->stop, due = pool->order.due;
        pthread_mutex_unlock(&pool->lock);
        if (stop)
            return NULL;
        if (due)
            follow_order(pool);
        poll(polled, (nfds_t)gather(pool, polled), more ? 0 : sleep_ms(pool));
        if (polled[0].revents != 0)
            eventfd_read(pool->wake_fd, &ignored);
        check_processes(pool);
        more = attend_all(pool);
    }
}

dcl_status dcli_process_monitor_start(dcli_worker_pool *pool)
{
    if (pthread_create(&pool->monitor, NULL, keep, pool) != 0)
        return DCLI_FAIL(DCL_ERR_NOMEM, "a thread that keeps the workers could not be started; close other programs");
    pool->has_monitor = true;
    return DCL_OK;
}

dcl_status dcli_process_monitor_order(dcli_worker_pool *pool, int first, int count)
{
    pthread_mutex_lock(&pool->lock);
    pool->order = (dcli_start_order){.first = first, .count = count, .due = true};
    dcli_process_monitor_wake(pool);
    while (pool->order.due)
        pthread_cond_wait(&pool->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return pool->order.status == DCL_OK ? DCL_OK : DCLI_FAIL(pool->order.status, "%s", pool->order.problem);
}

void dcli_process_monitor_stop(dcli_worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_mutex_unlock(&pool->lock);
    dcli_process_monitor_wake(pool);
    pthread_join(pool->monitor, NULL);
}
