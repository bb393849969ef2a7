/* worker/stealing.c - stealing: when to ask, what to lend, and what to take back. */
#include "worker/stealing.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "worker/profile.h"
#include "worker/window.h"
#include "workqueue/lend_count.h"
#include "workqueue/lend_pace.h"
#include "workqueue/plan_fine.h"

enum {
    KEPT_OPERATIONS = 64,  /* most operations by which a node may be ahead of another one and still run its batches */
    RECALL_NS = 2000000,   /* a batch that its thief may not have begun is asked back after this time */
    PATIENCE_NS = 50000000 /* a batch whose inputs were sent is taken back after this time */
};

/* ---- programs that a thief needs ----------------------------------------------------------------------------------- */

/* Take over the program that is being compiled; waits for it. */
static void take_compiled(dcli_worker *worker)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    if (stealing->compiling == NULL)
        return;
    dcli_kernel *kernel = dcli_kernels_find(&worker->catalog.kernels, stealing->compiled);
    const char *text = kernel != NULL ? kernel->body->text : "a body that is not used any more";
    bool waits = !dcli_program_is_compiled(stealing->compiling);
    int64_t began_ns = waits ? dcli_exec_begin_building(worker, kernel != NULL ? kernel->number : 0, text) : 0;
    dcli_program *program = dcli_program_take(stealing->compiling);
    stealing->compiling = NULL;
    dcli_exec_watch_beside(worker, 0);
    if (waits)
        dcli_exec_end_building(worker, began_ns);
    stealing->failed = program == NULL;
    dcli_exec_compiled(worker, kernel, program);
}

void dcli_stealing_built(dcli_worker *worker, const dcli_kernel *kernel)
{
    const dcli_stealing *stealing = worker->as_node->stealing;
    if (stealing != NULL && stealing->compiling != NULL && stealing->compiled == kernel->number)
        take_compiled(worker);
}

/* Whether one of the nodes that this one asks may lend batches of an operation. */
static bool may_be_borrowed(const dcli_worker *worker, const dcli_entry *entry)
{
    const dcli_asking *asking = &worker->as_node->stealing->asking;
    bool may = false;
    for (int n = 0; n < asking->count && !may; n++)
        may = dcli_may_be_lent(&entry->operation, asking->victim[n].node, &worker->plan_terms);
    return may;
}

/* Whether a batch of an operation could start here at once. A body that could not be compiled counts as ready: its batches
 * are returned. */
static bool is_ready(const dcli_worker *worker, const dcli_entry *entry)
{
    const dcli_stealing *stealing = worker->as_node->stealing;
    const dcli_kernel *kernel = entry->kernel;
    return kernel == NULL || kernel->program != NULL || kernel->build_status != DCL_OK ||
           (stealing->failed && stealing->compiled == kernel->number) || !may_be_borrowed(worker, entry);
}

/* The first entry that is not ready, of a list that ends with `last`; those up to `ready_upto` are. @return NULL: all
 * are. */
static const dcli_entry *first_unready(const dcli_worker *worker, dcli_entry *last)
{
    const dcli_entry *entry = dcli_entries_after(last, worker->as_node->stealing->ready_upto);
    while (entry != NULL && is_ready(worker, entry))
        entry = entry->next;
    return entry;
}

/* The last operation of which batches could start here at once, and those of all before it. Begin to compile the body of
 * the next one, because the victim counts on the thief's computing as soon as it has the inputs. */
static int64_t find_ready(dcli_worker *worker)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    if (stealing->compiling != NULL && dcli_program_is_compiled(stealing->compiling))
        take_compiled(worker);
    const dcli_entries *entries = &worker->catalog.entries;
    if (stealing->compiling == NULL && stealing->ready_upto >= entries->last_operation)
        return stealing->ready_upto;
    const dcli_entry *entry = first_unready(worker, entries->kept_last);
    if (entry == NULL)
        entry = first_unready(worker, entries->last);
    stealing->ready_upto = entry != NULL ? entry->operation.number - 1 : entries->last_operation;
    if (entry == NULL || stealing->compiling != NULL)
        return stealing->ready_upto;
    stealing->compiled = entry->kernel->number;
    dcli_exec_watch_beside(worker, 1);
    stealing->compiling = dcli_exec_compile(worker, entry->kernel);
    if (stealing->compiling == NULL)
        dcli_exec_watch_beside(worker, 0);
    stealing->failed = stealing->compiling == NULL;
    return stealing->ready_upto;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

/* Whether lending depends on the times of a device's launches. Recording them lets each launch of a GPU take longer, and
 * between GPUs `pays` lends only with `kinds`. */
static bool must_know_times(const dcli_device *device, dcli_steal steal)
{
    return !dcli_device_is_gpu(device) || (steal.policy == DCL_STEAL_PAYS && steal.kinds);
}

dcl_status dcli_stealing_open(dcli_worker *worker, dcli_node_terms *terms)
{
    enum { LOANS = 16, RESULTS = 8, SHARE = 4 };
    const dcl_config *config = worker->terms.config;
    dcli_steal steal = dcli_config_steal(config);
    if (worker->is_host || worker->terms.node_count < 2 || !dcli_steal_lends(steal))
        return DCL_OK;
    dcli_stealing *stealing = worker->as_node->stealing = dcli_calloc(1, sizeof *stealing);
    if (stealing == NULL)
        return DCL_ERR_NOMEM;
    size_t nodes = (size_t)worker->terms.node_count;
    stealing->thief = dcli_calloc(nodes, sizeof *stealing->thief);
    if (stealing->thief == NULL)
        return DCL_ERR_NOMEM;
    const char *kind = dcli_device_kind(worker->as_node->device);
    stealing->kind = dcli_hash_bytes(DCLI_HASH_START, kind, strlen(kind));
    stealing->steal = steal;
    int64_t most = (int64_t)config->pool_bytes, quota = worker->terms.quota_bytes;
    if (quota > 0)
        most = dcli_min(most, quota / SHARE);
    terms->loan_bytes = stealing->loan_bytes = dcli_min(most, LOANS * (int64_t)config->tile_bytes);
    terms->result_bytes = stealing->result_bytes = dcli_min(most, RESULTS * (int64_t)config->tile_bytes);
    terms->loans_running = DCLI_LOANS_RUNNING;
    terms->kept_operations = KEPT_OPERATIONS;
    terms->loan_of = dcli_loan_of;
    dcli_asking_limit(&stealing->asking, stealing->loan_bytes);
    dcli_stealing_members(worker);
    return must_know_times(worker->as_node->device, steal) ? dcli_device_keep_times(worker->as_node->device) : DCL_OK;
}

void dcli_stealing_members(dcli_worker *worker)
{
    if (worker->as_node != NULL && worker->as_node->stealing != NULL)
        dcli_asking_choose(&worker->as_node->stealing->asking, worker->terms.session, worker->terms.self,
                           worker->terms.node_count, worker->terms.ways, worker->gone);
}

void dcli_stealing_stop(dcli_worker *worker)
{
    if (worker->as_node->stealing != NULL)
        take_compiled(worker);
}

void dcli_stealing_leave(dcli_worker *worker)
{
    if (worker->as_node->stealing != NULL)
        dcli_program_leave(worker->as_node->stealing->compiling);
}

void dcli_stealing_close(dcli_worker *worker)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    if (stealing == NULL)
        return;
    while (stealing->borrowed != NULL)
        dcli_borrowed_free(worker, stealing->borrowed);
    while (stealing->lent != NULL)
        dcli_lent_free(stealing, stealing->lent);
    dcli_stealing_stop(worker); /* if it never served */
    dcli_free(stealing->thief);
    dcli_free(stealing);
    worker->as_node->stealing = NULL;
}

int dcli_stealing_others(const dcli_worker *worker)
{
    const dcli_stealing *stealing = worker->as_node->stealing;
    return stealing != NULL ? stealing->asking.count : 0;
}

int64_t dcli_stealing_bytes(const dcli_worker *worker)
{
    const dcli_stealing *stealing = worker->as_node != NULL ? worker->as_node->stealing : NULL;
    return stealing != NULL ? stealing->loan_bytes + stealing->result_bytes : 0;
}

/* ---- the victim --------------------------------------------------------------------------------------------------- */

/* Make the records of batches that are lent next. @return how many there was memory for. */
static int64_t make_records(dcli_lent_out *made[], int64_t count)
{
    int64_t n = 0;
    while (n < count && (made[n] = dcli_calloc(1, sizeof *made[n])) != NULL)
        n++;
    return n;
}

/* Plan loans before they are lent, because one without a plan could not be committed.
 * @param loan_out  [batches of the offer] @return how many there are; 0: there is no memory for all. */
static int64_t plan_loans(dcli_worker *worker, int thief, const dcli_offer *offer, int64_t each,
                          dcli_cached_loan *loan_out[])
{
    dcli_entry *entry = dcli_entry_of(offer->operation);
    dcli_cached_plan *plan = dcli_entry_plan(entry, worker->terms.self);
    int64_t loans = 0;
    for (int64_t b = offer->first, next; b < offer->end; b = next) {
        next = dcli_loan_end(b, offer->end, each);
        if (dcli_plans_loan(&worker->catalog.plans, plan, &entry->operation, b, next - b, worker->terms.self, thief,
                            &loan_out[loans++]) != DCL_OK)
            return 0;
    }
    return loans;
}

/* Record a loan. @param turn  the place of its last batch among the waiting batches, in the order in which this node would
 * run them, from 1. */
static void record(dcli_worker *worker, dcli_lent_out *lent, const dcli_lent_batch *batch, dcli_entry *entry,
                   dcli_cached_loan *loan, int64_t turn)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    *lent = (dcli_lent_out){.thief = batch->thief,
                            .question = batch->question,
                            .operation = entry->operation.number,
                            .batch = batch->batch,
                            .count = batch->count,
                            .entry = entry,
                            .loan = loan,
                            .lent_ns = dcli_monotonic_ns(),
                            .expected_ns = (int64_t)dcli_exec_batches_ns(worker, entry, batch->batch, batch->count),
                            .next = stealing->lent};
    if (lent->expected_ns > 0)
        lent->due_ns = lent->lent_ns + dcli_exec_queued_ns(worker) + turn * (lent->expected_ns / batch->count);
    const dcli_plan *plan = loan->loan->plan;
    for (int64_t c = 0; c < plan->chunk_count; c++)
        lent->results += plan->chunk[c].written;
    stealing->lent = lent;
}

static int64_t sent_bytes(const dcli_loan *loan)
{
    int64_t bytes = 0;
    for (int64_t c = 0; c < loan->plan->chunk_count; c++)
        bytes += loan->plan->chunk[c].written ? 0 : loan->plan->chunk[c].bytes;
    return bytes;
}

static double or_else(double measured, double usual) { return measured > 0 ? measured : usual; }

/* The policy of an operation: its own, or that of the session. */
static dcl_steal_policy policy_of(const dcli_stealing *stealing, const dcli_entry *entry)
{
    return entry->steal != DCL_STEAL_DEFAULT ? entry->steal : stealing->steal.policy;
}

/* How many times as long as this node a thief takes; 0: it is not known. */
static double thief_times(const dcli_worker *worker, const dcli_entry *entry, int thief)
{
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    return or_else(dcli_profile_times(entry, plan, thief),
                   dcli_cost_ns(&worker->as_node->stealing->thief[thief].times));
}

/* Predicted time of all batches that wait; 0: not known. If some were taken back, they are not consecutive, so this is about
 * their time. */
static double waiting_ns(const dcli_worker *worker, const dcli_entry *entry, const dcli_offer *last)
{
    int64_t count = dcli_min(last->waiting, last->end);
    double ns = dcli_exec_batches_ns(worker, entry, last->end - count, count);
    return ns * (double)last->waiting / (double)count;
}

/* How many of the waiting batches to lend, by the last one. If nothing runs here, one is left for this node. */
static int64_t lend_count(dcli_worker *worker, int thief, const dcli_offer *last)
{
    const dcli_as_node *own = worker->as_node;
    const dcli_thief *known = &own->stealing->thief[thief];
    bool near = dcli_ways_share(&worker->terms.ways[worker->terms.self], &worker->terms.ways[thief]);
    enum { NEAR_NS = 20000, FAR_NS = 100000 }; /* a message on one host; between hosts, if it was not measured */
    dcli_entry *entry = dcli_entry_of(last->operation);
    dcli_cached_plan *plan = dcli_entry_plan(entry, worker->terms.self);
    dcl_steal_policy policy = policy_of(own->stealing, entry);
    int64_t batch = last->end - 1;
    dcli_cached_loan *loan;
    if ((policy == DCL_STEAL_PAYS && near && !dcli_profile_lends(entry, plan->plan)) ||
        dcli_plans_loan(&worker->catalog.plans, plan, &entry->operation, batch, 1, worker->terms.self, thief, &loan) !=
            DCL_OK)
        return 0;
    const dcli_lend_case c = {.policy = policy,
                              .offered = last->waiting,
                              .waiting = last->waiting,
                              .queued_ns = dcli_exec_queued_ns(worker),
                              .victim_ns = dcli_exec_batch_ns(worker, entry, batch),
                              .waiting_ns = waiting_ns(worker, entry, last),
                              .thief_times = thief_times(worker, entry, thief),
                              .input_bytes = sent_bytes(loan->loan),
                              .result_bytes = loan->loan->size.result_bytes,
                              .thief_busy_ns = dcli_max(0, known->free_ns - dcli_monotonic_ns()),
                              .ns_per_byte = or_else(dcli_cost_ns(&known->ns_per_byte), near ? 0.5 : 2),
                              .message_ns = near ? NEAR_NS : or_else(dcli_cost_least_ns(&known->message_ns), FAR_NS)};
    int64_t idle = own->running_first == own->running_count;
    return dcli_min(dcli_min(dcli_lend_count(&c), last->waiting - idle),
                    dcli_lend_at_once(dcli_stealing_others(worker)));
}

void dcli_stealing_asked(dcli_worker *worker, int thief, const dcli_msg_hungry *hungry)
{
    dcli_thief *known = &worker->as_node->stealing->thief[thief];
    known->kind = hungry->kind;
    known->free_ns = dcli_monotonic_ns() + hungry->busy_ns;
}

void dcli_stealing_learn(dcli_worker *worker, const dcli_lent_out *lent, const dcli_msg_result *result)
{
    enum { LARGE_BYTES = 256 << 10 };
    dcli_thief *thief = &worker->as_node->stealing->thief[lent->thief];
    int64_t now = dcli_monotonic_ns(), rest_ns = now - lent->lent_ns - result->kernel_ns - result->held_ns;
    if (lent->due_ns > 0 && now > lent->due_ns)
        worker->counters.loan_bytes_in_vain += lent->moved;
    if (result->kernel_ns == 0)
        return;
    if (lent->expected_ns > 0)
        dcli_cost_add(&thief->times, result->kernel_ns, lent->expected_ns, 1);
    if (lent->leads && lent->moved >= LARGE_BYTES)
        dcli_cost_add(&thief->ns_per_byte, rest_ns, lent->moved, 1);
    else if (lent->leads)
        dcli_cost_add(&thief->message_ns, rest_ns, 2, 1);
}

/* Whether a thief with a device of another kind finds the same batches, although dcli_plan_terms.local_bytes may be
 * another one there. */
static bool has_common_batches(const dcli_worker *worker, const dcli_offer *offer)
{
    const dcli_plan *plan = dcli_entry_plan(dcli_entry_of(offer->operation), worker->terms.self)->plan;
    return plan->fine_count == plan->batch_count;
}

/* Lend the batches of an offer. @param each  batches per loan. */
static void lend(dcli_worker *worker, int thief, const dcli_offer *offer, int64_t each)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_lent_out *made[DCLI_LEND_AT_ONCE];
    dcli_cached_loan *loan[DCLI_LEND_AT_ONCE];
    dcli_lent_batch lent;
    int64_t loans = plan_loans(worker, thief, offer, each, loan), ready = make_records(made, loans), used = 0;
    if (loans > 0 && ready == loans &&
        dcli_node_lend(worker->node, thief, offer->operation->number, offer->end - offer->first, each))
        for (int64_t n = 0; dcli_node_lent_batch(worker->node, n, &lent) && used < loans; n++)
            if (lent.thief == thief && lent.operation == offer->operation->number && lent.batch >= offer->first &&
                lent.batch < offer->end && dcli_lent_find(stealing, thief, lent.question, lent.batch) == NULL) {
                record(worker, made[used], &lent, dcli_entry_of(offer->operation), loan[used],
                       offer->waiting - (offer->end - lent.batch - lent.count));
                made[used++]->leads = lent.batch == offer->first;
            }
    while (used < ready)
        dcli_free(made[used++]);
}

/* Choose the number of batches per loan. @param count  batches to be lent: the last ones of the operation. */
static int64_t loan_of(const dcli_worker *worker, const dcli_offer *last, int64_t count)
{
    const dcli_entry *entry = dcli_entry_of(last->operation);
    const dcli_lend_case c = {.policy = policy_of(worker->as_node->stealing, entry),
                              .waiting = last->waiting,
                              .queued_ns = dcli_exec_queued_ns(worker),
                              .waiting_ns = waiting_ns(worker, entry, last),
                              .victim_ns =
                                  dcli_exec_batches_ns(worker, entry, last->end - count, count) / (double)count};
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    return dcli_plan_are_fine(plan, last->end - count, count) ? dcli_lend_each(&c, count) : 1;
}

static void answer(dcli_worker *worker, int thief)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_offer offer;
    bool other_kind = stealing->thief[thief].kind != stealing->kind;
    if (other_kind && !stealing->steal.kinds) {
        dcli_node_refuse(worker->node, thief);
        return;
    }
    if (!dcli_node_offer(worker->node, thief, 1, 1, &offer) || (other_kind && !has_common_batches(worker, &offer)))
        return;
    int64_t count = lend_count(worker, thief, &offer);
    if (count < 1)
        return;
    count = dcli_min(count, offer.end);
    int64_t each = loan_of(worker, &offer, count);
    if (policy_of(worker->as_node->stealing, dcli_entry_of(offer.operation)) == DCL_STEAL_PAYS)
        count = dcli_lend_even(offer.end, count, each);
    if (!dcli_node_offer(worker->node, thief, count, each, &offer)) {
        each = 1; /* there is no memory for a loan of several */
        if (!dcli_node_offer(worker->node, thief, count, each, &offer))
            return;
    }
    lend(worker, thief, &offer, each);
}

void dcli_stealing_take_back(dcli_worker *worker, dcli_lent_out *lent)
{
    bool in_place = lent->loan->loan->size.in_place;
    if (!dcli_node_take_back(worker->node, lent->operation, lent->batch))
        return;
    lent->recalled = true;
    if (in_place)
        return;
    worker->counters.loans_taken_back += lent->count;
    worker->counters.loan_bytes_in_vain += lent->moved;
    dcli_chunks_free(&lent->received);
    lent->received = (dcli_chunks){0};
    lent->entry = NULL;
    lent->loan = NULL;
}

static int by_batch(const void *a, const void *b)
{
    const dcli_lent_out *x = *(dcli_lent_out *const *)a, *y = *(dcli_lent_out *const *)b;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

enum { MOST_LENT = DCLI_ASK_MOST * DCLI_LEND_AT_ONCE }; /* loans that are considered for taking back */

/* The loans that are not asked back, in order of their batches; if more than MOST_LENT, those lent first.
 * @param lent_out  [MOST_LENT] @return how many there are, at most MOST_LENT */
static int64_t find_lent(const dcli_worker *worker, dcli_lent_out *lent_out[])
{
    int64_t count = 0;
    for (dcli_lent_out *lent = worker->as_node->stealing->lent; lent != NULL; lent = lent->next)
        if (lent->entry != NULL && !lent->answered && !lent->recalled)
            lent_out[count++ % MOST_LENT] = lent; /* the list begins with what was lent last */
    count = dcli_min(count, MOST_LENT);
    qsort(lent_out, (size_t)count, sizeof *lent_out, by_batch);
    return count;
}

/* If this node has nothing left to run, take back half of the loans that its thieves have probably not begun, the last
 * ones; or else the last loan, if it takes far longer than expected. */
static void take_back(dcli_worker *worker)
{
    enum { BEGUN = 2 };
    const dcli_as_node *own = worker->as_node;
    dcli_lent_out *lent[MOST_LENT];
    if (own->stealing->lent == NULL || own->running_first < own->running_count || dcli_node_has_lendable(worker->node))
        return;
    int64_t count = find_lent(worker, lent), left = count > BEGUN ? count - count / 2 : count;
    for (int64_t n = count - 1; n >= left; n--)
        dcli_stealing_take_back(worker, lent[n]);
    if (left < count || count == 0)
        return;
    dcli_lent_out *last = lent[count - 1];
    int64_t patience_ns = last->loan->loan->size.in_place ? RECALL_NS : PATIENCE_NS;
    if (dcli_monotonic_ns() - last->lent_ns >= patience_ns + 4 * last->expected_ns)
        dcli_stealing_take_back(worker, last);
}

void dcli_stealing_decide(dcli_worker *worker)
{
    for (int thief = dcli_node_next_hungry(worker->node, -1); thief >= 0;
         thief = dcli_node_next_hungry(worker->node, thief))
        answer(worker, thief);
    take_back(worker);
}

/* ---- the thief ---------------------------------------------------------------------------------------------------- */

void dcli_stealing_answered(dcli_worker *worker, int victim, bool lent)
{
    dcli_asking_answered(&worker->as_node->stealing->asking, victim, lent, dcli_monotonic_ns());
}

int dcli_stealing_ask(dcli_worker *worker, bool *asked_out)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    bool later = stealing->lent != NULL; /* they may have to be taken back */
    dcli_lend_load load;
    *asked_out = false;
    if (worker->stopping || !dcli_node_may_borrow(worker->node))
        return later ? DCLI_LEND_AGAIN_MS : -1;
    dcli_window_load(worker, &load);
    if (dcli_lend_asks(&load)) {
        int64_t upto = find_ready(worker);
        *asked_out = dcli_asking_ask(&stealing->asking, worker->node, upto, dcli_monotonic_ns(), &later) > 0;
        later |= stealing->compiling != NULL;
    }
    return later ? DCLI_LEND_AGAIN_MS : -1;
}
