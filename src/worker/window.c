/* worker/window.c - predicts how long the device will work on batches. */
#include "worker/window.h"

#include "base/check.h"
#include "base/clock.h"
#include "worker/plans.h"
#include "worker/stealing.h"

enum {
    WHOLE_NS = 2000000, /* an operation that takes at most as long is one launch */
    LAST_SHARE = 16,    /* the time of an operation's rest is predicted when it is this part: costs may differ before */
    LAUNCH_NS =
        1000000, /* a launch of a part of one takes at least as long: another one, with the waking up for it, costs
                            some 10 to 30 us */
    SHORT_NS =
        100000, /* the last launches of an operation become shorter, down to this, so that nodes end at the same time */
    REST_SHARE = 16,     /* a launch takes at most this part of the batches that can start */
    WINDOW_NS = 250000,  /* time that the batches in the device's queue take */
    WINDOW_LAUNCHES = 2, /* launches that are in it, even if they take longer: one that runs, one that follows it */
    SHARES = 8 /* a launch takes this part of the batches that can start, as long as their time is not known */
};

double dcli_exec_elements_ns(const dcli_worker *worker, const dcli_kernel *kernel, int64_t elements)
{
    double element_ns = dcli_cost_ns(&kernel->cost);
    int units = dcli_device_about(worker->as_node->device)->compute_units;
    if (element_ns <= 0 || elements <= 0)
        return 0;
    int64_t rows = dcli_body_rows(kernel->body, elements, units, element_ns);
    return element_ns * (double)elements / (double)dcli_max(1, dcli_min(rows, units));
}

double dcli_exec_plan_ns(const dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan, int64_t batch)
{
    int64_t elements = 0;
    for (int64_t w = 0; w < plan->batch[batch].work_count; w++)
        elements += dcli_box_elements(&plan->work[plan->batch[batch].first_work + w].box);
    return dcli_exec_elements_ns(worker, entry->kernel, elements);
}

double dcli_exec_batch_ns(const dcli_worker *worker, const dcli_entry *entry, int64_t batch)
{
    return dcli_exec_plan_ns(worker, entry, dcli_entry_plan(entry, worker->terms.self)->plan, batch);
}

int64_t dcli_exec_queued_ns(const dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    int64_t expected = 0;
    if (own->running_first == own->running_count)
        return 0;
    for (int64_t r = own->running_first + 1; r < own->running_count; r++)
        expected += own->running[r].expected_ns;
    int64_t first = own->running[own->running_first].expected_ns;
    if (first > 0 && own->front_since_ns > 0)
        first = dcli_max(0, first - (dcli_monotonic_ns() - own->front_since_ns));
    return expected + first;
}

/* Predicted time of borrowed batches that were not started; INT64_MAX: it is not known. */
static int64_t borrowed_ns(const dcli_as_node *own)
{
    int64_t sum = 0;
    for (const dcli_borrowed *b = own->stealing->borrowed; b != NULL; b = b->next) {
        if (b->began_ns == 0 && b->expected_ns == 0)
            return INT64_MAX;
        sum += b->began_ns == 0 ? b->expected_ns : 0;
    }
    return sum;
}

int64_t dcli_window_busy_ns(const dcli_worker *worker)
{
    const dcli_operation *operation;
    int64_t next, waiting, borrowed = borrowed_ns(worker->as_node);
    if (!dcli_node_left(worker->node, &operation, &next, &waiting) || borrowed == INT64_MAX)
        return INT64_MAX;
    if (waiting > 0 &&
        waiting > dcli_entry_plan(dcli_entry_of(operation), worker->terms.self)->plan->batch_count / LAST_SHARE)
        return INT64_MAX;
    double batch_ns = waiting > 0 ? dcli_exec_batch_ns(worker, dcli_entry_of(operation), next) : 0;
    if (waiting > 0 && batch_ns <= 0)
        return INT64_MAX;
    return borrowed + dcli_exec_queued_ns(worker) + (int64_t)((double)waiting * batch_ns);
}

int64_t dcli_window_count(int64_t possible, bool all, double batch_ns)
{
    double rest_ns = batch_ns * (double)possible;
    if (batch_ns <= 0)
        return dcli_max(1, possible / SHARES);
    if (rest_ns <= (all ? WHOLE_NS : SHORT_NS))
        return possible;
    int64_t launch_ns = dcli_min(LAUNCH_NS, dcli_max(SHORT_NS, (int64_t)(rest_ns / REST_SHARE)));
    return dcli_max(1, (int64_t)((double)launch_ns / batch_ns));
}

/* Whether as much as possible is to be lent, for tests: then times do not count. */
static bool lends_always(const dcli_as_node *own)
{
    return own->stealing != NULL && own->stealing->steal.policy == DCL_STEAL_ALWAYS;
}

int64_t dcli_window_share(dcli_worker *worker, const dcli_entry *entry, int64_t batch, int64_t *possible_out)
{
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    *possible_out = 1;
    if (!plan->fine)
        return 1;
    int64_t possible = 1 + dcli_node_more(worker->node, entry->operation.number, batch, plan->batch_count);
    *possible_out = possible;
    double batch_ns = lends_always(worker->as_node) ? 0 : dcli_exec_batch_ns(worker, entry, batch);
    return dcli_window_count(possible, possible == plan->batch_count, batch_ns);
}

/* Whether a launch counts: not if it has all batches of its operation, which then are too short to be lent. Such
 * operations often come in large numbers, and it would cost much to wake up for each few of them. */
static bool counts(const dcli_running *running)
{
    return running->ticket != DCLI_NOT_LAUNCHED &&
           (running->job.borrowed != NULL || running->more + 1 < running->job.plan->batch_count);
}

/* Whether the device has enough to do of what could have been lent. A launch whose time is not known counts as long. */
static bool is_full(dcli_as_node *own)
{
    int64_t launches = 0, ns = 0, most_ns = WINDOW_NS;
    uint64_t last = DCLI_NOT_LAUNCHED;
    for (int64_t r = own->running_first; r < own->running_count; r++) {
        const dcli_running *running = &own->running[r];
        if (!counts(running))
            continue;
        launches += running->ticket != last;
        ns += running->expected_ns > 0 ? running->expected_ns : WINDOW_NS;
        last = running->ticket;
        if (running->job.borrowed != NULL)
            most_ns = LAUNCH_NS;
    }
    own->window_launches = launches;
    return lends_always(own) ? launches > 0 : launches >= WINDOW_LAUNCHES && ns >= most_ns;
}

void dcli_window_moved(dcli_worker *worker, bool front)
{
    dcli_as_node *own = worker->as_node;
    if (!dcli_window_lends(worker))
        return;
    if (front)
        own->front_since_ns = dcli_monotonic_ns();
    own->window_full = is_full(own);
    dcli_node_pause(worker->node, own->window_full);
}

uint64_t dcli_window_ticket(const dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    int64_t r = own->running_count - 1, after_ns = 0;
    for (; r > own->running_first && after_ns < WINDOW_NS / 2; r--)
        after_ns += own->running[r].expected_ns;
    return own->running[r].ticket;
}
