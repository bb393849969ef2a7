/* fleet/crew_keeper.c - the keeper: the thread that starts worker processes (which end with it), monitors them, and
 * serves the connections to listeners. */
#include <stdio.h>
#include <sys/eventfd.h>

#include "base/check.h"
#include "base/clock.h"
#include "fleet/crew_inside.h"

void dcli_keeper_wake(dcli_crew *crew) { eventfd_write(crew->wake_fd, 1); }

void dcli_crew_report(dcli_crew *crew, int node, const char *seen)
{
    dcli_member *member = &crew->member[node];
    if (member->lost || crew->stop)
        return;
    member->lost = true;
    if (crew->host != NULL)
        dcli_host_report_loss(crew->host, node, seen);
    pthread_cond_broadcast(&crew->changed);
}

/* End the process of a node, here or at its host. Only the keeper waits for its end. */
void dcli_crew_dismiss(dcli_crew *crew, int node)
{
    dcli_member *member = &crew->member[node];
    member->dismissed = true;
    if (crew->is_local)
        dcli_process_kill(&member->process);
    else
        member->kill_due = true; /* only the keeper uses the connection */
    dcli_keeper_wake(crew);
}

static void check_processes(dcli_crew *crew)
{
    int64_t now = dcli_monotonic_ns();
    pthread_mutex_lock(&crew->lock);
    for (int n = 0; n < crew->node_count; n++) {
        dcli_member *member = &crew->member[n];
        bool has_ended = member->process.pid != 0 && dcli_process_has_ended(&member->process);
        if (crew->is_local) /* show its last lines before its end is reported */
            dcli_crew_read_output(crew, n, has_ended ? DCLI_TO_THE_END : DCLI_LINES);
        if (member->process.pid == 0 || (member->lost && !member->dismissed))
            continue;
        if (member->lost && has_ended)
            dcli_process_end(&member->process, 0); /* at once: it has */
        else if (member->lost)
            continue;
        else if (has_ended)
            dcli_crew_report(crew, n, "its process has ended");
        else if (member->heard &&
                 dcli_process_is_silent(&member->process, now, (int64_t)crew->terms.config->silence_ms))
            dcli_crew_report(crew, n, "it has been silent for longer than DCL_SILENCE_MS");
    }
    pthread_mutex_unlock(&crew->lock);
}

static void follow_order(dcli_crew *crew)
{
    dcli_start_order *order = &crew->order;
    dcl_status status = dcli_crew_start_local(crew, order->first, order->count);
    pthread_mutex_lock(&crew->lock);
    order->status = status;
    if (status != DCL_OK)
        snprintf(order->problem, sizeof order->problem, "%s", dcli_error_sentence());
    order->due = false;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

/* Collect what the keeper sleeps for: orders, ends of processes, messages of listeners. */
static int gather(dcli_crew *crew, struct pollfd polled[])
{
    int count = 0;
    polled[count++] = (struct pollfd){.fd = crew->wake_fd, .events = POLLIN};
    pthread_mutex_lock(&crew->lock);
    int attended = crew->attended;
    for (int n = 0; n < crew->node_count; n++) {
        const dcli_member *member = &crew->member[n];
        if (!member->lost && member->process.pid != 0)
            polled[count++] = (struct pollfd){.fd = member->process.pidfd, .events = POLLIN};
        if (dcli_output_is_polled(&member->output))
            polled[count++] = (struct pollfd){.fd = member->output.pipe, .events = POLLIN};
    }
    pthread_mutex_unlock(&crew->lock);
    for (int c = 0; c < attended; c++)
        if (!crew->contact[c].lost)
            count += dcli_crew_polled(crew, c, polled + count);
    return count;
}

static int period_ms(const dcli_crew *crew)
{
    enum { SHORTEST = 20, LONGEST = 250 };
    size_t period = crew->terms.config->silence_ms / 8;
    return period < SHORTEST ? SHORTEST : period > LONGEST ? LONGEST : (int)period;
}

/* The longest sleep allowed; shortest if a listener has to be sent SHOWN. */
static int sleep_ms(dcli_crew *crew)
{
    int64_t now = dcli_monotonic_ms(), due = now + period_ms(crew);
    pthread_mutex_lock(&crew->lock);
    for (int c = 0; c < crew->attended; c++)
        due = dcli_min(due, dcli_crew_shown_due_ms(&crew->contact[c]));
    pthread_mutex_unlock(&crew->lock);
    return due > now ? (int)(due - now) : 0;
}

/* Serve all listeners. @return whether a listener may have more messages, which poll() would not report again. */
static bool attend_all(dcli_crew *crew)
{
    bool more = false;
    pthread_mutex_lock(&crew->lock);
    int attended = crew->attended;
    pthread_mutex_unlock(&crew->lock);
    for (int c = 0; c < attended; c++)
        more |= dcli_crew_attend(crew, c);
    return more;
}

static void *keep(void *argument)
{
    dcli_crew *crew = argument;
    struct pollfd polled[1 + 2 * DCLI_MOST_NODES + 4 * DCLI_MOST_CALLS];
    eventfd_t ignored;
    bool more = false;
    for (;;) {
        pthread_mutex_lock(&crew->lock);
        bool stop = crew->stop, due = crew->order.due;
        pthread_mutex_unlock(&crew->lock);
        if (stop)
            return NULL;
        if (due)
            follow_order(crew);
        poll(polled, (nfds_t)gather(crew, polled), more ? 0 : sleep_ms(crew));
        if (polled[0].revents != 0)
            eventfd_read(crew->wake_fd, &ignored);
        check_processes(crew);
        more = attend_all(crew);
    }
}

dcl_status dcli_keeper_start(dcli_crew *crew)
{
    if (pthread_create(&crew->keeper, NULL, keep, crew) != 0)
        return DCLI_FAIL(DCL_ERR_NOMEM, "a thread that keeps the workers could not be started; close other programs");
    crew->has_keeper = true;
    return DCL_OK;
}

dcl_status dcli_keeper_order(dcli_crew *crew, int first, int count)
{
    pthread_mutex_lock(&crew->lock);
    crew->order = (dcli_start_order){.first = first, .count = count, .due = true};
    dcli_keeper_wake(crew);
    while (crew->order.due)
        pthread_cond_wait(&crew->changed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    return crew->order.status == DCL_OK ? DCL_OK : DCLI_FAIL(crew->order.status, "%s", crew->order.problem);
}

void dcli_keeper_stop(dcli_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->stop = true;
    pthread_mutex_unlock(&crew->lock);
    dcli_keeper_wake(crew);
    pthread_join(crew->keeper, NULL);
}
