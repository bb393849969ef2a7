/* sim/lend.c - simulated nodes lend batches to each other. The state machine (workqueue/loan.h) decides which batches may be
 * lent and which answers are due; the cost rule (workqueue/lend_count.h) decides how many are lent, workqueue/lend_pace.h how many are launched together
 * and when a node asks, workqueue/loan_ask.h whom it asks: all as in a worker process. This file decides when a node takes
 * batches back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "sim/state.h"
#include "workqueue/lend_count.h"
#include "workqueue/loan.h"

/* ---- sizes of loans ----------------------------------------------------------------------------------------------- */

/* Plan the loan of a batch, to find the memory that it needs and the bytes of its inputs. */
static dcl_status plan_size(dcli_sim_node *node, const dcli_operation *operation, const dcli_plan *plan, int64_t batch,
                            int victim, int thief, struct dcli_sim_size *size)
{
    dcli_loan *loan;
    size->status = dcli_loan_make(operation, plan, batch, 1, victim, thief, &node->sim->terms.plan, &loan);
    node->clock += node->sim->settings->plan_ns;
    if (size->status != DCL_OK)
        return size->status;
    size->size = loan->size;
    for (int64_t c = 0; c < loan->plan->chunk_count; c++)
        size->input_bytes += loan->plan->chunk[c].written ? 0 : loan->plan->chunk[c].bytes;
    dcli_loan_free(loan);
    return DCL_OK;
}

/* Get the sizes of the loan of a batch. It is planned once. */
static dcl_status size_of(dcli_sim_node *node, const dcli_operation *operation, int64_t batch, int victim, int thief,
                          struct dcli_sim_size *size_out)
{
    int64_t plans = node->plans;
    dcli_sim_known *known = dcli_sim_whole_plan(node, operation, victim);
    if (known == NULL)
        return DCL_ERR_NOMEM;
    node->clock += (node->plans - plans) * node->sim->settings->plan_ns;
    if (batch < 0 || batch >= known->plan->batch_count)
        return DCL_ERR_INVALID;
    if (known->size == NULL)
        known->size = dcli_calloc((size_t)known->plan->batch_count, sizeof *known->size);
    if (known->size == NULL)
        return DCL_ERR_NOMEM;
    struct dcli_sim_size *size = &known->size[batch];
    dcl_status status = size->status;
    if (status == DCL_OK && size->size.bytes == 0)
        status = plan_size(node, operation, known->plan, batch, victim, thief, size);
    *size_out = *size;
    return status;
}

dcl_status dcli_sim_loan_of(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                            int thief, dcli_loan_size *size_out)
{
    struct dcli_sim_size size;
    if (count != 1)
        return DCL_ERR_INVALID; /* simulated nodes lend batch by batch */
    dcl_status status = size_of(user, operation, batch, victim, thief, &size);
    if (status == DCL_OK)
        *size_out = size.size;
    return status;
}

/* ---- measured times ----------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the last measured times of an element; 0: none was measured. */
static double element_ns(const dcli_sim_node *node)
{
    double sorted[DCLI_SIM_SAMPLES];
    int64_t count = dcli_min(node->lending.samples, DCLI_SIM_SAMPLES);
    if (count == 0)
        return 0;
    memcpy(sorted, node->lending.sample, (size_t)count * sizeof sorted[0]);
    qsort(sorted, (size_t)count, sizeof sorted[0], by_value);
    return sorted[count / 2];
}

/* Predicted time until the device has run all batches in its queue. */
static int64_t queued_ns(const dcli_sim_node *node)
{
    const dcli_sim_lending *lending = &node->lending;
    int64_t ns = (int64_t)(element_ns(node) * (double)lending->launched_elements);
    return lending->launches > 0 ? dcli_max(0, ns - (node->clock - lending->front_since)) : 0;
}

/* Record that a launch was queued, or has ended. While the device has enough to do, start no more batches that could be
 * lent. */
static void change_queue(dcli_sim_node *node, int launches, int64_t elements)
{
    dcli_sim_lending *lending = &node->lending;
    if (lending->launches == 0 || launches < 0)
        lending->front_since = node->clock;
    lending->launches += launches;
    lending->launched_elements += elements;
    int64_t ns = (int64_t)(element_ns(node) * (double)lending->launched_elements);
    const dcli_operation *operation;
    int64_t next, waiting;
    bool last = dcli_node_left(node->machine, &operation, &next, &waiting) && waiting > 0 &&
                dcli_lend_are_last(waiting, dcli_node_plan(node->machine, operation->number, node->self)->batch_count);
    dcli_node_pause(node->machine, dcli_lend_is_enough(lending->launches, dcli_lend_queued_ns(ns),
                                                       lending->borrowed_running > 0, last));
}

static int64_t batch_elements(const dcli_plan *plan, int64_t b)
{
    int64_t elements = 0;
    for (int64_t w = 0; w < plan->batch[b].work_count; w++)
        elements += dcli_box_elements(&plan->work[plan->batch[b].first_work + w].box);
    return elements;
}

int64_t dcli_sim_share(dcli_sim *sim, int n, const dcli_action *run)
{
    const dcli_sim_node *node = &sim->node[n];
    int64_t operation = run->operation->number;
    const dcli_plan *plan = dcli_node_plan(node->machine, operation, n);
    if (!plan->batch[run->index].fine)
        return 1;
    int64_t possible = 1 + dcli_node_more(node->machine, operation, run->index, plan->batch_count);
    return dcli_lend_launch(possible, possible == plan->fine_count,
                            element_ns(node) * (double)batch_elements(plan, run->index), sim->settings->nodes - 1);
}

void dcli_sim_launched(dcli_sim *sim, int n, int64_t elements) { change_queue(&sim->node[n], 1, elements); }

void dcli_sim_measure(dcli_sim *sim, const dcli_sim_event *done)
{
    dcli_sim_node *node = &sim->node[done->to];
    dcli_sim_lending *lending = &node->lending;
    lending->sample[lending->samples++ % DCLI_SIM_SAMPLES] = (double)done->took_ns / (double)done->elements;
    change_queue(node, -1, -done->elements);
}

/* What a node knows of another one as a thief. NULL: there is no memory, which is recorded. */
static dcli_sim_thief *thief_of(dcli_sim_node *node, int n)
{
    dcli_sim_lending *lending = &node->lending;
    for (int64_t t = 0; t < lending->thief_count; t++)
        if (lending->thief[t].node == n)
            return &lending->thief[t];
    if (dcli_grow(&lending->thief, lending->thief_count, &lending->thief_capacity, sizeof *lending->thief) != 0) {
        dcli_sim_check(node->sim, DCL_ERR_NOMEM);
        return NULL;
    }
    lending->thief[lending->thief_count] = (dcli_sim_thief){.node = n};
    return &lending->thief[lending->thief_count++];
}

/* ---- lent batches ------------------------------------------------------------------------------------------------- */

static dcli_sim_loan **find_loan(dcli_sim_node *victim, int thief, int64_t question, int64_t batch)
{
    dcli_sim_loan **at = &victim->lending.lent;
    while (*at != NULL && ((*at)->thief != thief || (*at)->question != question || (*at)->batch != batch))
        at = &(*at)->next;
    return at;
}

static void forget_loan(dcli_sim_loan **at)
{
    dcli_sim_loan *loan = *at;
    *at = loan->next;
    dcli_loan_free(loan->loan);
    dcli_free(loan);
}

void dcli_sim_forget_loans(dcli_sim_node *node)
{
    while (node->lending.lent != NULL)
        forget_loan(&node->lending.lent);
    dcli_free(node->lending.thief);
}

static int64_t loan_elements(const dcli_sim_loan *loan) { return batch_elements(loan->loan->plan, 0); }

/* Time of the elements of a loan on a device of normal speed, without jitter. */
static double loan_ns(const dcli_sim *sim, const dcli_sim_loan *loan)
{
    double ns = 0;
    for (int64_t w = 0; w < loan->loan->plan->work_count; w++)
        ns += dcli_sim_box_ns(sim, &loan->loan->plan->work[w].box);
    return ns;
}

static dcl_status add_loan(dcli_sim *sim, int n, const dcli_action *lend, int64_t batch)
{
    dcli_sim_node *node = &sim->node[n];
    dcli_sim_loan *loan = dcli_calloc(1, sizeof *loan);
    if (loan == NULL)
        return DCL_ERR_NOMEM;
    *loan = (dcli_sim_loan){.is_out = true,
                            .thief = lend->peer,
                            .question = lend->question,
                            .operation = lend->operation->number,
                            .batch = batch,
                            .next = node->lending.lent};
    dcl_status status = dcli_loan_make(lend->operation, dcli_node_plan(node->machine, loan->operation, n), batch, 1, n,
                                       lend->peer, &sim->terms.plan, &loan->loan);
    if (status == DCL_OK)
        node->lending.lent = loan;
    else
        dcli_free(loan);
    return status;
}

static dcli_sim_event message(const dcli_action *action, dcli_message_kind kind)
{
    return (dcli_sim_event){.message = (uint8_t)kind,
                            .operation = action->operation != NULL ? action->operation->number : 0,
                            .number = action->index,
                            .question = action->question};
}

/* Pack the inputs of a loan at its victim, or its results at its thief, and send them. */
static void pack(dcli_sim *sim, int n, int peer, const dcli_sim_loan *loan, bool written)
{
    dcli_sim_node *node = &sim->node[n];
    const dcli_plan *plan = loan->loan->plan;
    for (int64_t c = 0; c < plan->chunk_count; c++)
        if (plan->chunk[c].written == written)
            dcli_sim_post(sim,
                          (dcli_sim_event){.kind = DCLI_SIM_LOAN_PACKED,
                                           .from = peer,
                                           .to = n,
                                           .operation = loan->operation,
                                           .number = loan->batch,
                                           .question = loan->question,
                                           .chunk = c,
                                           .written = written},
                          dcli_sim_queue(node, &node->pack_free, dcli_sim_copy_ns(sim, plan->chunk[c].bytes)));
}

/* ---- the victim ----------------------------------------------------------------------------------------------------- */

/* Fill the input of the cost rule for the batches of an operation. */
static dcli_lend_case case_of(dcli_sim *sim, int n, int thief, const dcli_offer *offer,
                              const struct dcli_sim_size *size)
{
    const dcl_sim_settings *settings = sim->settings;
    dcli_sim_node *node = &sim->node[n];
    const dcli_plan *plan = dcli_node_plan(node->machine, offer->operation->number, n);
    const dcli_sim_thief *known = thief_of(node, thief);
    double elements = (double)batch_elements(plan, offer->first), each = element_ns(node);
    return (dcli_lend_case){
        .policy = settings->steal,
        .offered = offer->end - offer->first,
        .waiting = offer->waiting,
        .queued_ns = queued_ns(node),
        .victim_ns = each * elements,
        .thief_ns = known != NULL ? known->element_ns * elements : 0,
        .input_bytes = size->input_bytes,
        .result_bytes = size->size.result_bytes,
        .ns_per_byte = 1e9 / settings->bandwidth + 2e9 / settings->copy_rate,
        .message_ns = (double)(settings->latency_ns + 2 * settings->message_ns),
        .thief_busy_ns = settings->launch_ns + 2 * settings->plan_ns +
                         (known != NULL ? dcli_max(0, known->free_ns - node->clock) : 0),
    };
}

/* Lend to a thief if the cost rule allows it; otherwise its question stays open. @return whether it was answered. */
static bool answer(dcli_sim *sim, int n, int thief)
{
    dcli_sim_node *node = &sim->node[n];
    dcli_offer offer;
    struct dcli_sim_size size;
    if (!dcli_node_offer(node->machine, thief, dcli_lend_at_once(sim->settings->nodes - 1), 1, &offer) ||
        size_of(node, offer.operation, offer.first, n, thief, &size) != DCL_OK)
        return false;
    dcli_lend_case c = case_of(sim, n, thief, &offer, &size);
    int64_t count = dcli_lend_count(&c);
    if (count == 0 || !dcli_node_lend(node->machine, thief, offer.operation->number, count, 1))
        return false;
    sim->figures.loans.lent += count;
    return true;
}

/* The last batch of this node that a thief has borrowed; NULL: none. @param question  consider only batches that were lent
 * in answer to this question; 0: all. @param count_out  number of batches that were considered */
static dcli_sim_loan *last_of(const dcli_sim_node *node, int thief, int64_t question, int64_t *count_out)
{
    dcli_sim_loan *last = NULL;
    *count_out = 0;
    for (dcli_sim_loan *loan = node->lending.lent; loan != NULL; loan = loan->next) {
        if (!loan->is_out || loan->thief != thief || (question > 0 && loan->question != question))
            continue;
        ++*count_out;
        if (last == NULL || loan->question > last->question ||
            (loan->question == last->question && loan->batch > last->batch))
            last = loan;
    }
    return last;
}

static void take_one_back(dcli_sim *sim, dcli_sim_node *node, dcli_sim_loan *loan)
{
    bool taken = dcli_node_take_back(node->machine, loan->operation, loan->batch);
    assert(taken);
    (void)taken;
    loan->is_out = false; /* at once: the thief does not read memory of the victim in place */
    sim->figures.loans.taken_back++;
}

/* A node that has nothing to do chooses the thief that has most of its batches, and takes back half of those that this
 * thief has not begun. Results come back in the order of the batches, so the thief has begun the next ones. @return whether
 * there were any. */
static bool take_back(dcli_sim *sim, int n)
{
    enum { BEGUN = 2 };
    dcli_sim_node *node = &sim->node[n];
    int thief = -1;
    int64_t most = BEGUN, count;
    for (const dcli_sim_loan *loan = node->lending.lent; loan != NULL && node->device_free <= node->clock;
         loan = loan->next) {
        last_of(node, loan->thief, 0, &count);
        if (count > most) {
            most = count;
            thief = loan->thief;
        }
    }
    for (int64_t taken = 0; thief >= 0 && 2 * taken < most - BEGUN; taken++)
        take_one_back(sim, node, last_of(node, thief, 0, &count));
    return thief >= 0;
}

/* The batches that were lent in answer to a question are late. A node that has nothing to do takes the last one back, and
 * checks again later. */
static void look_for_late(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_sim_node *node = &sim->node[event->to];
    int64_t count;
    dcli_sim_loan *last = last_of(node, event->from, event->question, &count);
    if (last == NULL)
        return;
    double again_ns = element_ns(node) * (double)loan_elements(last);
    if (node->device_free <= node->clock)
        take_one_back(sim, node, last);
    dcli_sim_post(sim, *event, dcli_sim_end(sim, node->clock + 1, again_ns));
}

/* The time at which all batches of a LEND are expected back. */
static double expected_ns(dcli_sim *sim, int n, const dcli_action *lend)
{
    struct dcli_sim_size size;
    dcli_offer offer = {.operation = lend->operation, .first = lend->index, .end = lend->index + lend->count};
    if (size_of(&sim->node[n], lend->operation, lend->index, n, lend->peer, &size) != DCL_OK)
        return 0;
    dcli_lend_case c = case_of(sim, n, lend->peer, &offer, &size);
    double each = c.thief_ns > 0 ? c.thief_ns : c.victim_ns;
    each += (double)(c.input_bytes + c.result_bytes) * c.ns_per_byte;
    return 2 * c.message_ns + (double)c.thief_busy_ns + (double)(lend->count + 1) * each;
}

static void lend(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_event lent = message(action, DCLI_MSG_LENT);
    lent.chunk = action->count;
    dcli_sim_send(sim, n, action->peer, lent, 0);
    for (int64_t b = action->index; b < action->index + action->count && sim->status == DCL_OK; b++) {
        dcli_sim_check(sim, add_loan(sim, n, action, b));
        if (sim->status == DCL_OK)
            pack(sim, n, action->peer, sim->node[n].lending.lent, false);
    }
    dcli_sim_post(sim,
                  (dcli_sim_event){.kind = DCLI_SIM_LATE, .from = action->peer, .to = n, .question = action->question},
                  dcli_sim_end(sim, sim->node[n].clock, expected_ns(sim, n, action)));
}

/* Simulate that the victim writes the result of a loan to its own part. */
static void commit(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_node *node = &sim->node[n];
    dcli_sim_loan **at = find_loan(node, action->peer, action->question, action->index);
    node->work_ns += loan_ns(sim, *at);
    dcli_sim_post(sim,
                  (dcli_sim_event){.kind = DCLI_SIM_DONE,
                                   .to = n,
                                   .operation = action->operation->number,
                                   .number = action->index,
                                   .bytes = 1},
                  dcli_sim_queue(node, &node->commit_free, dcli_sim_copy_ns(sim, (*at)->loan->size.result_bytes)));
    forget_loan(at);
    sim->figures.loans.won++;
}

static void drop(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_loan **at = find_loan(&sim->node[n], action->peer, action->question, action->index);
    sim->figures.loans.in_vain += (*at)->loan->size.result_bytes;
    forget_loan(at);
}

/* ---- the thief ------------------------------------------------------------------------------------------------------ */

/* The work that a node still has to do, as far as it knows: the input of workqueue/lend_pace.h. */
static dcli_lend_load load_of(const dcli_sim_node *node)
{
    const dcli_sim_lending *lending = &node->lending;
    const dcli_operation *operation;
    int64_t next;
    double each = element_ns(node);
    dcli_lend_load load = {.dry = node->device_free <= node->clock && lending->borrowed == 0,
                           .launches = lending->launches,
                           .queued_ns = queued_ns(node),
                           .borrowed_ns = lending->borrowed_waiting > 0 && each <= 0
                                              ? INT64_MAX
                                              : (int64_t)(each * (double)lending->borrowed_waiting)};
    load.leaves_others = !dcli_node_left(node->machine, &operation, &next, &load.waiting);
    if (load.leaves_others || load.waiting == 0)
        return load;
    const dcli_plan *plan = dcli_node_plan(node->machine, operation->number, node->self);
    load.batches = plan->batch_count;
    load.batch_ns = each * (double)batch_elements(plan, next);
    return load;
}

/* Ask others, if there is little to do. */
static bool ask(dcli_sim *sim, int n)
{
    dcli_sim_node *node = &sim->node[n];
    dcli_sim_lending *lending = &node->lending;
    dcli_lend_load load = load_of(node);
    bool later = false;
    if (!dcli_lend_asks(&load))
        return false;
    int asked = dcli_asking_ask(&lending->asking, node->machine, lending->seen, node->clock, &later);
    sim->figures.loans.questions += asked;
    if (later && !lending->again) {
        lending->again = true;
        dcli_sim_post(sim, (dcli_sim_event){.kind = DCLI_SIM_AGAIN, .to = n},
                      dcli_sim_end(sim, node->clock, DCLI_LEND_AGAIN_MS * 1e6));
    }
    return asked > 0;
}

static void run(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_node *node = &sim->node[n];
    dcli_sim_loan *loan = *find_loan(&sim->node[action->peer], n, action->question, action->index);
    const dcli_plan *plan = loan->loan->plan;
    double ns = loan_ns(sim, loan), copies = 0;
    for (int64_t c = 0; c < plan->chunk_count; c++)
        copies += plan->chunk[c].written ? 0 : dcli_sim_copy_ns(sim, plan->chunk[c].bytes);
    ns *= dcli_sim_jitter(sim, n, loan->operation, loan->batch);
    loan->kernel_ns = ns * node->slowness;
    node->clock += sim->settings->launch_ns;
    node->counters.launches++;
    node->lending.borrowed_waiting -= loan_elements(loan);
    node->lending.borrowed_running++;
    change_queue(node, 1, loan_elements(loan));
    node->device_ns += (ns + copies) * node->slowness;
    dcli_sim_post(sim,
                  (dcli_sim_event){.kind = DCLI_SIM_LOAN_DONE,
                                   .from = action->peer,
                                   .to = n,
                                   .number = action->index,
                                   .question = action->question},
                  dcli_sim_queue(node, &node->device_free, (ns + copies) * node->slowness));
}

/* ---- actions of the node -------------------------------------------------------------------------------------------- */

bool dcli_sim_decide(dcli_sim *sim, int n)
{
    dcli_node *machine = sim->node[n].machine;
    bool did = false;
    if (!dcli_sim_lends(sim) || !sim->counts || n == sim->host)
        return false;
    for (int thief = dcli_node_next_hungry(machine, -1); thief >= 0; thief = dcli_node_next_hungry(machine, thief))
        did |= answer(sim, n, thief);
    did |= take_back(sim, n);
    return ask(sim, n) || did;
}

void dcli_sim_act_loan(dcli_sim *sim, int n, const dcli_action *action)
{
    dcli_sim_lending *lending = &sim->node[n].lending;
    dcli_sim_event hungry;
    dcli_lend_load load;
    switch (action->kind) {
    case DCLI_DO_ASK:
        hungry = message(action, DCLI_MSG_HUNGRY);
        hungry.operation = action->first;
        hungry.number = action->upto;
        hungry.chunk = action->bytes;
        load = load_of(&sim->node[n]);
        hungry.busy_ns = dcli_min(dcli_lend_busy_ns(&load), DCLI_SIM_MOST_NS);
        dcli_sim_send(sim, n, action->peer, hungry, 0);
        break;
    case DCLI_DO_NOTHING:
        sim->figures.loans.refusals++;
        dcli_sim_send(sim, n, action->peer, message(action, DCLI_MSG_NOTHING), 0);
        break;
    case DCLI_DO_RECALL:
        dcli_sim_send(sim, n, action->peer, message(action, DCLI_MSG_RECALL), 0);
        break;
    case DCLI_DO_LEND:
        lend(sim, n, action);
        break;
    case DCLI_DO_COMMIT_LOAN:
        commit(sim, n, action);
        break;
    case DCLI_DO_DROP_LOAN:
        drop(sim, n, action);
        break;
    case DCLI_DO_RUN_LOAN:
        run(sim, n, action);
        break;
    case DCLI_DO_RESULT:
        lending->borrowed--;
        pack(sim, n, action->peer, *find_loan(&sim->node[action->peer], n, action->question, action->index), true);
        break;
    default: /* RETURNED: it was not begun */
        lending->borrowed--;
        lending->borrowed_waiting -=
            loan_elements(*find_loan(&sim->node[action->peer], n, action->question, action->index));
        dcli_sim_send(sim, n, action->peer, message(action, DCLI_MSG_RETURNED), 0);
    }
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

/* Note when the device of a node that asks for batches becomes free. */
static void note_free(dcli_sim_node *node, const dcli_sim_event *hungry)
{
    dcli_sim_thief *thief = thief_of(node, hungry->from);
    if (thief != NULL)
        thief->free_ns = node->clock + hungry->busy_ns;
}

static void note_time(dcli_sim_node *node, int n, double element_ns)
{
    dcli_sim_thief *thief = thief_of(node, n);
    if (thief != NULL)
        thief->element_ns = element_ns;
}

/* Receive batches that a victim lends. */
static void borrow(dcli_sim_node *node, const dcli_sim_event *lent)
{
    dcli_sim_node *victim = &node->sim->node[lent->from];
    node->lending.borrowed += lent->chunk;
    for (int64_t b = lent->number; b < lent->number + lent->chunk; b++)
        node->lending.borrowed_waiting += loan_elements(*find_loan(victim, node->self, lent->question, b));
}

/* Receive a thief's answer: a result, or a batch that it did not run. */
static void take_answer(dcli_sim *sim, const dcli_sim_event *event, bool computed)
{
    dcli_sim_node *node = &sim->node[event->to];
    dcli_sim_loan **at = find_loan(node, event->from, event->question, event->number);
    (*at)->is_out = false;
    if (computed)
        note_time(node, event->from, (double)event->chunk / (double)loan_elements(*at));
    else
        forget_loan(at);
    dcli_sim_check(
        sim, dcli_node_result(node->machine, event->from, event->question, event->operation, event->number, computed));
}

void dcli_sim_hear_loan(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_sim_node *node = &sim->node[event->to];
    dcl_status status = DCL_OK;
    bool wanted;
    switch (event->message) {
    case DCLI_MSG_HUNGRY:
        note_free(node, event);
        status = dcli_node_hungry(node->machine, event->from, event->question, event->operation, event->number,
                                  event->chunk);
        break;
    case DCLI_MSG_NOTHING:
        dcli_asking_answered(&node->lending.asking, event->from, false, node->clock);
        status = dcli_node_nothing(node->machine, event->from, event->question);
        break;
    case DCLI_MSG_LENT:
        dcli_asking_answered(&node->lending.asking, event->from, true, node->clock);
        borrow(node, event);
        status = dcli_node_lent(node->machine, event->from, event->question, event->operation, event->number,
                                event->chunk, 1);
        break;
    case DCLI_MSG_LOAN:
        if (!event->written)
            status = dcli_node_loan_chunk(node->machine, event->from, event->question, event->operation, event->number,
                                          event->chunk, &wanted);
        break;
    case DCLI_MSG_RECALL:
        status = dcli_node_recall(node->machine, event->from, event->question, event->operation, event->number);
        break;
    default:
        take_answer(sim, event, event->message == DCLI_MSG_RESULT);
    }
    dcli_sim_check(sim, status);
}

/* Send a chunk of a loan that is packed; after the last result, RESULT. */
static void send_chunk(dcli_sim *sim, const dcli_sim_event *event)
{
    int victim = event->written ? event->from : event->to, thief = event->written ? event->to : event->from;
    const dcli_sim_loan *loan = *find_loan(&sim->node[victim], thief, event->question, event->number);
    if (loan == NULL)
        return; /* the batch was returned in the meantime */
    const dcli_plan *plan = loan->loan->plan;
    dcli_sim_event sent = *event;
    sent.message = DCLI_MSG_LOAN;
    dcli_sim_send(sim, event->to, event->from, sent, plan->chunk[event->chunk].bytes);
    if (!event->written || event->chunk < plan->chunk_count - 1)
        return;
    sent.message = DCLI_MSG_RESULT;
    sent.chunk = (int64_t)loan->kernel_ns;
    dcli_sim_send(sim, event->to, event->from, sent, 0);
}

static void end_borrowed(dcli_sim *sim, const dcli_sim_event *event)
{
    dcli_sim_node *node = &sim->node[event->to];
    const dcli_sim_loan *loan = *find_loan(&sim->node[event->from], event->to, event->question, event->number);
    node->lending.borrowed_running--;
    change_queue(node, -1, -loan_elements(loan));
    dcli_sim_check(sim, dcli_node_loan_done(node->machine, event->from, event->question, event->number, DCL_OK));
}

void dcli_sim_happen_loan(dcli_sim *sim, const dcli_sim_event *event)
{
    if (event->kind == DCLI_SIM_LATE)
        look_for_late(sim, event);
    else if (event->kind == DCLI_SIM_LOAN_PACKED)
        send_chunk(sim, event);
    else if (event->kind == DCLI_SIM_LOAN_DONE)
        end_borrowed(sim, event);
    else
        sim->node[event->to].lending.again = false; /* dcli_sim_decide() follows */
}
