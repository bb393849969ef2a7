/* worker/window.c - predicts how long the device will work on batches. */
#include "worker/window.h"

#include "base/check.h"
#include "base/clock.h"
#include "worker/plans.h"
#include "worker/profile.h"
#include "worker/stealing.h"

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

double dcli_exec_batches_ns(const dcli_worker *worker, const dcli_entry *entry, int64_t batch, int64_t count)
{
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    double ns = dcli_profile_predict(entry, plan, batch, count);
    return ns > 0 ? ns : (double)count * dcli_exec_plan_ns(worker, entry, plan, batch);
}

double dcli_exec_batch_ns(const dcli_worker *worker, const dcli_entry *entry, int64_t batch)
{
    return dcli_exec_batches_ns(worker, entry, batch, 1);
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

void dcli_window_load(const dcli_worker *worker, dcli_lend_load *load_out)
{
    const dcli_as_node *own = worker->as_node;
    const dcli_operation *operation;
    int64_t next;
    *load_out = (dcli_lend_load){.dry = own->running_first == own->running_count && own->stealing->borrowed == NULL,
                                 .launches = own->running_count - own->running_first,
                                 .queued_ns = dcli_exec_queued_ns(worker),
                                 .borrowed_ns = borrowed_ns(own)};
    load_out->leaves_others = !dcli_node_left(worker->node, &operation, &next, &load_out->waiting);
    if (load_out->leaves_others || load_out->waiting == 0)
        return;
    load_out->batches = dcli_entry_plan(dcli_entry_of(operation), worker->terms.self)->plan->batch_count;
    load_out->batch_ns = dcli_exec_batch_ns(worker, dcli_entry_of(operation), next);
}

/* Whether as much as possible is to be lent, for tests: then times do not count. */
static bool lends_always(const dcli_as_node *own)
{
    return own->stealing != NULL && own->stealing->steal.policy == DCL_STEAL_ALWAYS;
}

int64_t dcli_window_share(dcli_worker *worker, const dcli_entry *entry, int64_t batch, int64_t *possible_out)
{
    enum { SHARES = 8 };
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    *possible_out = 1;
    if (!plan->batch[batch].fine)
        return 1;
    int64_t possible = 1 + dcli_node_more(worker->node, entry->operation.number, batch, plan->batch_count);
    *possible_out = possible;
    if (lends_always(worker->as_node))
        return dcli_max(1, possible / SHARES);
    return dcli_lend_launch(possible, possible == plan->fine_count, dcli_exec_batch_ns(worker, entry, batch),
                            dcli_stealing_others(worker));
}

bool dcli_window_is_part(const dcli_running *running)
{
    const dcli_plan *plan = running->job.plan;
    if (running->job.borrowed != NULL)
        return true;
    bool fine = plan->batch[running->batch].fine;
    return running->more + 1 < (fine ? plan->fine_count : plan->batch_count - plan->fine_count);
}

/* Whether a launch counts for is_full(). */
static bool counts(const dcli_running *running)
{
    return running->ticket != DCLI_NOT_LAUNCHED && dcli_window_is_part(running);
}

/* Whether the batches that wait are the last ones that can be lent. */
static bool ends(const dcli_worker *worker)
{
    const dcli_operation *operation;
    int64_t next, waiting;
    return dcli_node_left(worker->node, &operation, &next, &waiting) && waiting > 0 &&
           dcli_lend_are_last(waiting,
                              dcli_entry_plan(dcli_entry_of(operation), worker->terms.self)->plan->batch_count);
}

/* Whether the device has enough batches in its queue that could have been lent, so that no more of them should be
 * started. */
static bool is_full(const dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    int64_t launches = 0, ns = 0;
    bool borrowed = false;
    uint64_t last = DCLI_NOT_LAUNCHED;
    for (int64_t r = own->running_first; r < own->running_count; r++) {
        const dcli_running *running = &own->running[r];
        if (!counts(running))
            continue;
        launches += running->ticket != last;
        ns += dcli_lend_queued_ns(running->expected_ns);
        last = running->ticket;
        borrowed |= running->job.borrowed != NULL;
    }
    own->window_launches = launches;
    return lends_always(own) ? launches > 0 : dcli_lend_is_enough(launches, ns, borrowed, ends(worker));
}

void dcli_window_moved(dcli_worker *worker, bool front)
{
    dcli_as_node *own = worker->as_node;
    if (!dcli_window_lends(worker))
        return;
    if (front)
        own->front_since_ns = dcli_monotonic_ns();
    if (own->window_parts == 0)
        own->window_launches = 0;
    own->window_full = own->window_parts > 0 && is_full(worker);
    dcli_node_pause(worker->node, own->window_full);
}

uint64_t dcli_window_ticket(const dcli_worker *worker)
{
    enum { AWAKE_NS = 125000, AWAKE_SHARE = 4 };
    const dcli_as_node *own = worker->as_node;
    int64_t r = own->running_count - 1, after_ns = 0;
    int64_t least_ns = dcli_max(AWAKE_NS, dcli_exec_queued_ns(worker) / AWAKE_SHARE);
    for (; r > own->running_first && after_ns < least_ns; r--)
        after_ns += own->running[r].expected_ns;
    return own->running[r].ticket;
}
