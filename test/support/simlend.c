/* test/support/simlend.c - nodes of a simulated cluster ask, lend and take back at random, whenever the state machine
 * allows it. A borrowed batch is computed twice, from what is there when it starts and when it ends, so that whoever
 * overwrites its inputs meanwhile is caught. */
#include "support/simlend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

/* ---- plans of loans ----------------------------------------------------------------------------------------------- */

struct sim_loan_entry {
    int64_t operation, batch, count;
    int victim, thief;
    dcl_status status;
    dcli_loan *loan;
    struct sim_loan_entry *next;
};

enum { BUCKETS = 1 << 16 };

static const struct sim_loan_entry *find_loan(struct sim *sim, const dcli_operation *operation, int64_t batch,
                                              int64_t count, int victim, int thief)
{
    uint64_t hash =
        ((((uint64_t)operation->number * 31 + (uint64_t)batch) * 67 + (uint64_t)victim) * 71 + (uint64_t)thief) * 73 +
        (uint64_t)count;
    struct sim_loan_entry **bucket = &sim->loans[hash % BUCKETS], *entry = *bucket;
    for (; entry != NULL; entry = entry->next)
        if (entry->operation == operation->number && entry->batch == batch && entry->count == count &&
            entry->victim == victim && entry->thief == thief)
            return entry;
    entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        abort();
    *entry = (struct sim_loan_entry){.operation = operation->number,
                                     .batch = batch,
                                     .count = count,
                                     .victim = victim,
                                     .thief = thief,
                                     .next = *bucket};
    entry->status = dcli_loan_make(operation, sim_plan_of(&sim->data, operation, victim)->plan, batch, count, victim,
                                   thief, &sim->data.terms, &entry->loan);
    *bucket = entry;
    return entry;
}

dcl_status sim_loan_of(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim, int thief,
                       dcli_loan_size *size_out)
{
    struct sim *sim = user;
    if (sim->no_memory_for_loans)
        return DCL_ERR_NOMEM;
    const struct sim_loan_entry *entry = find_loan(sim, operation, batch, count, victim, thief);
    if (entry->status == DCL_OK)
        *size_out = entry->loan->size;
    return entry->status;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

void sim_lend_open(struct sim *sim)
{
    sim->lending = sim->settings->lending;
    if (sim->lending == SIM_LEND_ANY)
        sim->lending = (sim_lending)sim_pick(sim, SIM_LEND_NEVER, SIM_LEND_HOSTILE);
    sim->loans = calloc(BUCKETS, sizeof *sim->loans);
    if (sim->loans == NULL)
        abort();
    sim->terms.loan_bytes = INT64_C(64) << sim_pick(sim, 2, 12);
    sim->terms.result_bytes = INT64_C(64) << sim_pick(sim, 2, 12);
    sim->terms.kept_operations = sim_pick(sim, 0, 8);
    sim->terms.loan_of = sim->lending != SIM_LEND_NEVER ? sim_loan_of : NULL;
    sim->queues_little = sim->lending != SIM_LEND_NEVER && sim_pick(sim, 0, 2) > 0;
    sim->sleeper = (int)sim_pick(sim, 0, 4 * sim->host);
    sim->lame = (int)sim_pick(sim, 0, 2 * sim->host);
    sim->sleep_from = sim_pick(sim, 0, 200 * sim->latency);
    sim->sleep_to = sim->sleep_from + 1000 * sim->latency;
}

static void free_attempt(struct sim_attempt *attempt)
{
    for (int64_t c = 0; c < attempt->loan->plan->chunk_count; c++) {
        free(attempt->payload[c].data);
        free(attempt->first[c]);
    }
    free(attempt->payload);
    free(attempt->first);
}

void sim_lend_close(struct sim *sim)
{
    for (int64_t n = 0; n < sim->attempt_count; n++)
        free_attempt(&sim->attempt[n]);
    dcli_free(sim->attempt);
    for (int b = 0; b < BUCKETS; b++)
        while (sim->loans[b] != NULL) {
            struct sim_loan_entry *entry = sim->loans[b];
            sim->loans[b] = entry->next;
            dcli_loan_free(entry->loan);
            free(entry);
        }
    free(sim->loans);
}

/* ---- attempts ----------------------------------------------------------------------------------------------------- */

static struct sim_attempt *find_attempt(struct sim *sim, int victim, int thief, int64_t question, int64_t batch)
{
    for (int64_t n = sim->attempt_count - 1; n >= 0; n--) {
        struct sim_attempt *attempt = &sim->attempt[n];
        if (attempt->victim == victim && attempt->thief == thief && attempt->question == question &&
            attempt->batch == batch)
            return attempt;
    }
    sim_wrong(&sim->data, "batch %" PRId64 " of question %" PRId64 " from %d to %d was never lent", batch, question,
              thief, victim);
    return NULL;
}

static struct sim_attempt *add_attempt(struct sim *sim, int victim, int thief, int64_t question,
                                       const dcli_operation *operation, int64_t batch, int64_t count)
{
    const dcli_loan *loan = find_loan(sim, operation, batch, count, victim, thief)->loan;
    size_t chunks = (size_t)loan->plan->chunk_count + 1;
    if (dcli_grow(&sim->attempt, sim->attempt_count, &sim->attempt_capacity, sizeof *sim->attempt) != 0)
        abort();
    struct sim_attempt *attempt = &sim->attempt[sim->attempt_count++];
    *attempt = (struct sim_attempt){.victim = victim,
                                    .thief = thief,
                                    .question = question,
                                    .operation = operation->number,
                                    .batch = batch,
                                    .count = count,
                                    .loan = loan,
                                    .payload = calloc(chunks, sizeof *attempt->payload),
                                    .first = calloc(chunks, sizeof *attempt->first)};
    if (attempt->payload == NULL || attempt->first == NULL)
        abort();
    return attempt;
}

static void free_chunks(struct sim_attempt *attempt, bool written)
{
    for (int64_t c = 0; c < attempt->loan->plan->chunk_count; c++)
        if (attempt->loan->plan->chunk[c].written == written)
            sim_discard(&attempt->payload[c]);
}

/* Send the input chunks, or the results, of a loan. */
static void send_chunks(struct sim *sim, const struct sim_attempt *attempt, bool written)
{
    for (int64_t c = 0; c < attempt->loan->plan->chunk_count; c++)
        if (attempt->loan->plan->chunk[c].written == written)
            sim_send(sim, (sim_event){.kind = SIM_LOAN,
                                      .from = written ? attempt->thief : attempt->victim,
                                      .to = written ? attempt->victim : attempt->thief,
                                      .operation = attempt->operation,
                                      .question = attempt->question,
                                      .number = attempt->batch,
                                      .chunk = c,
                                      .written = written});
}

/* ---- decisions ---------------------------------------------------------------------------------------------------- */

/* Whether to do something that this policy does one in so many times. */
static bool at_times(struct sim *sim, int64_t rarely, int64_t always, int64_t hostile)
{
    int64_t of = sim->lending == SIM_LEND_RARELY ? rarely : sim->lending == SIM_LEND_ALWAYS ? always : hostile;
    return of > 0 && sim_pick(sim, 1, of) == 1;
}

static bool ask(struct sim *sim, int p, bool idle)
{
    struct sim_node *node = &sim->node[p];
    if (node->asks_left == 0 || !(idle ? at_times(sim, 8, 1, 1) : at_times(sim, 0, 0, 8)))
        return false;
    int victim = (int)sim_pick(sim, 0, sim->host - 1);
    int64_t room = dcli_node_loan_room(node->node);
    if (!dcli_node_ask(node->node, victim, INT64_MAX,
                       dcli_max(1, sim_pick(sim, 0, 1) == 0 ? room : sim_pick(sim, 0, room))))
        return false;
    node->asks_left--;
    sim->figures.asked++;
    return true;
}

/* Whether the victim lacks a replica that a batch on offer reads: its own attempt would fail. */
static bool lacks_copy(struct sim *sim, int p, const dcli_offer *offer)
{
    bool lacks = false;
    for (int64_t b = offer->first; b < offer->end; b++)
        lacks |= sim_lacks_copy(&sim->data, p, offer->operation, b);
    return lacks;
}

/* Remember what was lent by the last answer of a node. */
static void note_lent(struct sim *sim, int p, int thief, const dcli_operation *operation, int64_t end, int64_t count)
{
    dcli_lent_batch lent;
    for (int64_t n = 0; dcli_node_lent_batch(sim->node[p].node, n, &lent); n++) {
        if (lent.thief != thief || lent.operation != operation->number || lent.batch < end - count || lent.batch >= end)
            continue;
        const struct sim_attempt *attempt =
            add_attempt(sim, p, thief, lent.question, operation, lent.batch, lent.count);
        sim->figures.lent += lent.count;
        sim->figures.lent_together += lent.count > 1;
        sim->figures.lent_in_place += attempt->loan->size.in_place ? lent.count : 0;
    }
}

static bool answer(struct sim *sim, int p, int thief)
{
    dcli_node *node = sim->node[p].node;
    dcli_offer offer;
    int64_t most = sim_pick(sim, 1, 4), each = sim_pick(sim, 0, 1) == 0 ? 1 : sim_pick(sim, 1, 4);
    if (!dcli_node_offer(node, thief, sim->lending == SIM_LEND_HOSTILE ? INT64_MAX : most, each, &offer) ||
        lacks_copy(sim, p, &offer))
        return at_times(sim, 40, 0, 20) && dcli_node_refuse(node, thief);
    int64_t count = offer.end - offer.first;
    if (!at_times(sim, 3, 1, 1))
        return at_times(sim, 8, 0, 0) && dcli_node_refuse(node, thief);
    if (sim->lending == SIM_LEND_RARELY)
        count = sim_pick(sim, 1, count);
    if (!dcli_node_lend(node, thief, offer.operation->number, count, each))
        return false;
    note_lent(sim, p, thief, offer.operation, offer.end, count);
    return true;
}

static bool take_back(struct sim *sim, int p)
{
    dcli_node *node = sim->node[p].node;
    dcli_lent_batch lent;
    for (int64_t n = 0; dcli_node_lent_batch(node, n, &lent); n++) {
        if (lent.recalled || !at_times(sim, 32, 1000, 3))
            continue;
        struct sim_attempt *attempt = find_attempt(sim, p, lent.thief, lent.question, lent.batch);
        if (attempt == NULL || !dcli_node_take_back(node, lent.operation, lent.batch))
            continue;
        attempt->taken_back = !attempt->loan->size.in_place;
        sim->figures.taken_back++;
        return true;
    }
    return false;
}

bool sim_lend_decide(struct sim *sim, int p, bool idle)
{
    dcli_node *node = sim->node[p].node;
    if (sim->lending == SIM_LEND_NEVER || p == sim->host)
        return false;
    bool did = false;
    for (int thief = dcli_node_next_hungry(node, -1); thief >= 0; thief = dcli_node_next_hungry(node, thief))
        did |= answer(sim, p, thief);
    did |= take_back(sim, p);
    return ask(sim, p, idle) || did;
}

/* ---- actions ------------------------------------------------------------------------------------------------------ */

bool sim_lend_is(dcli_action_kind kind) { return kind >= DCLI_DO_ASK; }

bool sim_lend_is_task(dcli_action_kind kind)
{
    return kind == DCLI_DO_LEND || kind == DCLI_DO_RUN_LOAN || kind == DCLI_DO_COMMIT_LOAN;
}

static sim_event message_of(const dcli_action *action, int p, sim_event_kind kind)
{
    return (sim_event){.kind = kind,
                       .from = p,
                       .to = action->peer,
                       .operation = action->operation != NULL ? action->operation->number : 0,
                       .number = action->index,
                       .question = action->question,
                       .count = action->count,
                       .each = action->each};
}

static void send_hungry(struct sim *sim, int p, const dcli_action *action)
{
    sim_event event = message_of(action, p, SIM_HUNGRY);
    event.operation = action->first;
    event.number = action->upto;
    event.count = action->bytes;
    sim_send(sim, event);
}

void sim_lend_act(struct sim *sim, int p, const dcli_action *action)
{
    struct sim_attempt *attempt = NULL;
    sim_event event;
    switch (action->kind) {
    case DCLI_DO_LEND: /* a RECALL must not overtake it; the inputs follow when they are packed */
        sim_send(sim, message_of(action, p, SIM_LENT));
        return;
    case DCLI_DO_RUN_LOAN:
    case DCLI_DO_COMMIT_LOAN:
        return;
    case DCLI_DO_ASK:
        send_hungry(sim, p, action);
        return;
    case DCLI_DO_NOTHING:
        sim_send(sim, message_of(action, p, SIM_NOTHING));
        return;
    case DCLI_DO_RECALL:
        sim_send(sim, message_of(action, p, SIM_RECALL));
        return;
    case DCLI_DO_DROP_LOAN:
        attempt = find_attempt(sim, p, action->peer, action->question, action->index);
        if (attempt == NULL)
            return;
        if (!attempt->taken_back)
            sim_wrong(&sim->data, "node %d drops a result that it waits for", p);
        free_chunks(attempt, true);
        sim->figures.late++;
        return;
    default:
        attempt = find_attempt(sim, action->peer, p, action->question, action->index);
    }
    if (attempt == NULL)
        return;
    free_chunks(attempt, false);
    if (action->kind == DCLI_DO_FORGET) {
        if (!sim->node[p].missed[action->peer])
            sim_wrong(&sim->data, "node %d forgets a batch of %d, which is there", p, action->peer);
        free_chunks(attempt, true);
        return;
    }
    if (action->kind == DCLI_DO_RESULT)
        send_chunks(sim, attempt, true);
    event = message_of(action, p, SIM_RESULT);
    event.status = action->kind == DCLI_DO_RESULT ? DCL_OK : DCL_ERR_INVALID;
    sim->figures.returned += event.status != DCL_OK;
    sim_send(sim, event);
}

/* Pack and send the inputs of what is lent. */
static void send_inputs(struct sim *sim, int p, const dcli_action *action)
{
    for (int64_t b = action->index, end = b + action->count; b < end && !sim_is_wrong(&sim->data);
         b = dcli_loan_end(b, end, action->each)) {
        struct sim_attempt *attempt = find_attempt(sim, p, action->peer, action->question, b);
        if (attempt == NULL)
            return;
        for (int64_t c = 0; c < attempt->loan->plan->chunk_count && !sim_is_wrong(&sim->data); c++)
            if (!attempt->loan->plan->chunk[c].written)
                sim_pack_loan(&sim->data, p, action->operation, attempt->loan, attempt->payload, c);
        if (sim_is_wrong(&sim->data))
            dcli_text_put(&sim->data.problem, "node %d sends inputs of batch %" PRId64 " of %" PRId64 " to %d\n", p, b,
                          action->operation->number, action->peer);
        send_chunks(sim, attempt, false);
    }
}

/* Compute the results of a borrowed batch. */
static void compute(struct sim *sim, int p, const dcli_operation *operation, struct sim_attempt *attempt)
{
    sim_plan plan = {.plan = attempt->loan->plan, .payload = attempt->payload, .borrowed = true};
    sim_run_borrowed(&sim->data, p, operation, &plan);
    if (sim_is_wrong(&sim->data))
        dcli_text_put(&sim->data.problem, "node %d runs batch %" PRId64 " of %" PRId64 " for %d\n", p, attempt->batch,
                      attempt->operation, attempt->victim);
}

/* A borrowed batch starts, or ends. If the victim is dead, others may overwrite what the batch reads: nobody wants its
 * result. */
static void run(struct sim *sim, int p, const dcli_action *action, bool begins)
{
    struct sim_attempt *attempt = find_attempt(sim, action->peer, p, action->question, action->index);
    if (attempt == NULL)
        return;
    const dcli_plan *plan = attempt->loan->plan;
    bool wanted = !sim->node[action->peer].dead;
    if (wanted)
        compute(sim, p, action->operation, attempt);
    for (int64_t c = 0; c < plan->chunk_count && wanted; c++) {
        if (!plan->chunk[c].written)
            continue;
        if (begins) {
            attempt->first[c] = attempt->payload[c].data;
            attempt->payload[c].data = NULL;
        } else if (attempt->first[c] != NULL && !sim_is_wrong(&sim->data)) {
            const dcli_item *item = &plan->item[plan->chunk[c].first_item];
            for (int64_t i = 0; i < plan->chunk[c].item_count; i++) {
                int64_t at = item[i].byte_offset / 8, count = dcli_box_elements(&item[i].region.box);
                if (memcmp(attempt->first[c] + at, attempt->payload[c].data + at, (size_t)count * 8) != 0)
                    sim_wrong(&sim->data,
                              "an input of batch %" PRId64 " of %" PRId64 " of node %d changes while %d runs it",
                              attempt->batch, attempt->operation, attempt->victim, p);
            }
        }
    }
    if (!begins)
        sim_post(&sim->clock,
                 (sim_event){.kind = SIM_LOAN_DONE,
                             .from = action->peer,
                             .to = p,
                             .question = action->question,
                             .number = action->index},
                 sim_pick(sim, 0, sim_slack_of(sim, p)));
}

static void commit(struct sim *sim, int p, const dcli_action *action)
{
    struct sim_attempt *attempt = find_attempt(sim, p, action->peer, action->question, action->index);
    if (attempt == NULL)
        return;
    for (int64_t b = action->index; b < action->index + action->count && action->status != DCL_OK; b++)
        sim_run(&sim->data, p, action->operation, b, true);
    for (int64_t c = 0; c < attempt->loan->plan->chunk_count && action->status == DCL_OK; c++)
        if (attempt->loan->plan->chunk[c].written)
            sim_commit_loan(&sim->data, p, action->operation, attempt->loan, attempt->payload, c);
    free_chunks(attempt, true);
    sim->figures.won += attempt->count;
}

void sim_lend_do(struct sim *sim, int p, const dcli_action *action, bool begins)
{
    switch (action->kind) {
    case DCLI_DO_LEND:
        send_inputs(sim, p, action);
        break;
    case DCLI_DO_RUN_LOAN:
        run(sim, p, action, begins);
        break;
    default:
        commit(sim, p, action);
    }
}

void sim_lend_check_run(struct sim *sim, int p, const dcli_action *action)
{
    const struct sim_attempt *attempt = find_attempt(sim, action->peer, p, action->question, action->index);
    if (attempt == NULL)
        return;
    for (int64_t c = 0; c < attempt->loan->plan->chunk_count; c++)
        if (!attempt->loan->plan->chunk[c].written && !attempt->payload[c].arrived)
            sim_wrong(&sim->data, "node %d runs a borrowed batch before its inputs are here", p);
    const dcli_node_list *reads = &attempt->loan->plan->reads;
    for (int64_t n = 0; n < reads->count; n++)
        if (sim->node[p].missed[reads->node[n]])
            sim_wrong(&sim->data, "node %d starts a borrowed batch that reads memory of node %d, which is lost", p,
                      reads->node[n]);
    if (!attempt->taken_back && !sim->node[action->peer].dead && action->operation->number <= sim_complete(sim))
        sim_wrong(&sim->data, "node %d runs a batch of operation %" PRId64 ", which the host takes for complete", p,
                  action->operation->number);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

bool sim_lend_is_message(sim_event_kind kind) { return kind >= SIM_HUNGRY && kind < SIM_LOAN_DONE; }

static dcl_status take_chunk(struct sim *sim, const sim_event *event)
{
    bool wanted = true;
    int victim = event->written ? event->to : event->from, thief = event->written ? event->from : event->to;
    struct sim_attempt *attempt = find_attempt(sim, victim, thief, event->question, event->number);
    if (attempt == NULL)
        return DCL_OK;
    dcl_status status = DCL_OK;
    if (event->written)
        wanted = !sim->node[victim].missed[thief];
    else
        status = dcli_node_loan_chunk(sim->node[thief].node, victim, event->question, event->operation, event->number,
                                      event->chunk, &wanted);
    attempt->payload[event->chunk].arrived = wanted;
    if (!wanted)
        sim_discard(&attempt->payload[event->chunk]);
    return status;
}

static dcl_status take_result(struct sim *sim, const sim_event *event)
{
    struct sim_attempt *attempt = find_attempt(sim, event->to, event->from, event->question, event->number);
    if (attempt == NULL)
        return DCL_OK;
    attempt->answered = true;
    return dcli_node_result(sim->node[event->to].node, event->from, event->question, event->operation, event->number,
                            event->status == DCL_OK);
}

static dcl_status take_lent(struct sim *sim, const sim_event *event)
{
    sim->no_memory_for_loans = sim_pick(sim, 0, 31) == 0;
    dcl_status status = dcli_node_lent(sim->node[event->to].node, event->from, event->question, event->operation,
                                       event->number, event->count, event->each);
    sim->no_memory_for_loans = false;
    sim->node[event->to].asks_left = SIM_ASKS;
    return status;
}

dcl_status sim_lend_deliver(struct sim *sim, const sim_event *event)
{
    dcli_node *node = sim->node[event->to].node;
    switch (event->kind) {
    case SIM_HUNGRY:
        return dcli_node_hungry(node, event->from, event->question, event->operation, event->number, event->count);
    case SIM_NOTHING:
        return dcli_node_nothing(node, event->from, event->question);
    case SIM_LENT:
        return take_lent(sim, event);
    case SIM_LOAN:
        return take_chunk(sim, event);
    case SIM_RECALL:
        return dcli_node_recall(node, event->from, event->question, event->operation, event->number);
    case SIM_RESULT:
        return take_result(sim, event);
    default:
        return dcli_node_loan_done(node, event->from, event->question, event->number, DCL_OK);
    }
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

void sim_lend_check_end(struct sim *sim)
{
    for (int p = 0; p < sim->host && sim->lending != SIM_LEND_NEVER; p++) {
        if (sim->node[p].dead || sim->node[p].node == NULL)
            continue;
        dcli_lent_batch lent;
        if (dcli_node_loan_room(sim->node[p].node) != sim->terms.loan_bytes)
            sim_wrong(&sim->data, "node %d ends, and has memory for %" PRId64 " bytes of loans instead of %" PRId64, p,
                      dcli_node_loan_room(sim->node[p].node), sim->terms.loan_bytes);
        if (dcli_node_next_hungry(sim->node[p].node, -1) >= 0 || dcli_node_lent_batch(sim->node[p].node, 0, &lent))
            sim_wrong(&sim->data, "node %d ends with open questions or loans", p);
    }
    for (int64_t n = 0; n < sim->attempt_count; n++) {
        const struct sim_attempt *attempt = &sim->attempt[n];
        if (sim->node[attempt->victim].dead || sim->node[attempt->thief].dead)
            continue;
        bool left = !attempt->answered;
        for (int64_t c = 0; c < attempt->loan->plan->chunk_count; c++)
            left |= attempt->payload[c].data != NULL;
        if (left)
            sim_wrong(&sim->data, "batch %" PRId64 " of %" PRId64 ", lent by %d to %d, was never given up",
                      attempt->batch, attempt->operation, attempt->victim, attempt->thief);
    }
}
