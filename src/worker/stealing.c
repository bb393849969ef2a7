/* worker/stealing.c - stealing: when to ask, what to lend, and what to take back. */
#include "worker/stealing.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"

enum {
    MOST_QUESTIONS = 2,     /* open questions of a node */
    KEPT_OPERATIONS = 64,   /* so far a node may be ahead of another one and still run its batches */
    LEAST_PAUSE_NS = 50000, /* between a no and the next question to the same node; doubled with each further no */
    MOST_PAUSE_NS = 10000000,
    RECALL_NS = 2000000,    /* after which a batch is asked back that its thief may not have begun */
    PATIENCE_NS = 50000000, /* after which one is taken back whose inputs were sent */
    MOST_LENT = 8           /* batches that are lent at once */
};

/* ---- life --------------------------------------------------------------------------------------------------------- */

dcl_status dcli_stealing_open(dcli_worker *worker, dcli_node_terms *terms)
{
    enum { LOANS = 16, RESULTS = 8, SHARE = 4 };
    const dcl_config *config = worker->terms.config;
    dcli_steal steal = dcli_config_steal(config);
    if (worker->is_host || worker->terms.node_count < 2 || steal.policy == DCLI_LENDS_NEVER)
        return DCL_OK;
    dcli_stealing *stealing = worker->as_node->stealing = dcli_calloc(1, sizeof *stealing);
    if (stealing == NULL)
        return DCL_ERR_NOMEM;
    size_t nodes = (size_t)worker->terms.node_count;
    stealing->victim = dcli_calloc(nodes, sizeof *stealing->victim);
    stealing->thief_kind = dcli_calloc(nodes, sizeof *stealing->thief_kind);
    if (stealing->victim == NULL || stealing->thief_kind == NULL)
        return DCL_ERR_NOMEM;
    const char *kind = dcli_device_kind(worker->as_node->device);
    stealing->kind = dcli_hash_bytes(DCLI_HASH_START, kind, strlen(kind));
    stealing->steal = steal;
    stealing->random = dcli_hash_word(worker->terms.session, (uint64_t)worker->terms.self);
    int64_t most = (int64_t)config->pool_bytes, quota = worker->terms.quota_bytes;
    if (quota > 0)
        most = dcli_min(most, quota / SHARE);
    terms->loan_bytes = stealing->loan_bytes = dcli_min(most, LOANS * (int64_t)config->tile_bytes);
    terms->result_bytes = stealing->result_bytes = dcli_min(most, RESULTS * (int64_t)config->tile_bytes);
    terms->kept_operations = KEPT_OPERATIONS;
    terms->loan_of = dcli_loan_of;
    return DCL_OK;
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
    dcli_free(stealing->victim);
    dcli_free(stealing->thief_kind);
    dcli_free(stealing);
    worker->as_node->stealing = NULL;
}

int64_t dcli_stealing_bytes(const dcli_worker *worker)
{
    const dcli_stealing *stealing = worker->as_node != NULL ? worker->as_node->stealing : NULL;
    return stealing != NULL ? stealing->loan_bytes + stealing->result_bytes : 0;
}

/* ---- the victim --------------------------------------------------------------------------------------------------- */

void dcli_stealing_throttle(dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    int64_t most = own->stealing->steal.policy == DCLI_LENDS_ALWAYS ? 1 : 2, launched = 0;
    for (int64_t r = own->running_first; r < own->running_count; r++)
        launched += !own->running[r].in_series;
    dcli_node_hold_runs(worker->node, launched >= most);
}

/* Make the records of batches that are lent next. @return how many there was memory for. */
static int64_t make_records(dcli_lent_out *made[], int64_t count)
{
    int64_t n = 0;
    while (n < count && (made[n] = dcli_calloc(1, sizeof *made[n])) != NULL)
        n++;
    return n;
}

static void record(dcli_worker *worker, dcli_lent_out *lent, int thief, int64_t question, dcli_entry *entry,
                   int64_t batch)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_cached_plan *plan = dcli_entry_plan(entry, worker->terms.self);
    *lent = (dcli_lent_out){.thief = thief,
                            .question = question,
                            .operation = entry->operation.number,
                            .batch = batch,
                            .entry = entry,
                            .lent_ns = dcli_monotonic_ns(),
                            .next = stealing->lent};
    dcli_plans_loan(&worker->catalog.plans, plan, &entry->operation, batch, worker->terms.self, thief, &lent->loan);
    const dcli_plan *loan = lent->loan->loan->plan;
    for (int64_t c = 0; c < loan->chunk_count; c++)
        lent->results += loan->chunk[c].written;
    stealing->lent = lent;
}

/* How many of the offered batches to lend. If nothing runs here, one is left for this node. */
static int64_t lend_count(const dcli_worker *worker, const dcli_offer *offer)
{
    const dcli_as_node *own = worker->as_node;
    bool idle = own->running_first == own->running_count;
    if (own->stealing->steal.policy != DCLI_LENDS_ALWAYS)
        return 0;
    return dcli_min(dcli_min(offer->end - offer->first, dcli_max(1, offer->waiting / 2)), offer->waiting - idle);
}

static void answer(dcli_worker *worker, int thief)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_lent_out *made[MOST_LENT];
    dcli_offer offer;
    if (stealing->thief_kind[thief] != stealing->kind && !stealing->steal.kinds) {
        dcli_node_refuse(worker->node, thief);
        return;
    }
    if (!dcli_node_offer(worker->node, thief, MOST_LENT, &offer))
        return;
    int64_t count = lend_count(worker, &offer);
    if (count == 0)
        return;
    int64_t ready = make_records(made, count), used = 0;
    if (ready == count && dcli_node_lend(worker->node, thief, offer.operation->number, count)) {
        dcli_lent_batch lent;
        for (int64_t n = 0; dcli_node_lent_batch(worker->node, n, &lent) && used < count; n++)
            if (lent.thief == thief && lent.operation == offer.operation->number && lent.batch >= offer.end - count &&
                lent.batch < offer.end && dcli_lent_find(stealing, thief, lent.question, lent.batch) == NULL)
                record(worker, made[used++], thief, lent.question, (dcli_entry *)offer.operation, lent.batch);
    }
    while (used < ready)
        dcli_free(made[used++]);
}

void dcli_stealing_take_back(dcli_worker *worker, dcli_lent_out *lent)
{
    bool in_place = lent->loan->loan->size.in_place;
    if (!dcli_node_take_back(worker->node, lent->operation, lent->batch) || in_place)
        return;
    worker->counters.loans_taken_back++;
    worker->counters.loan_bytes_in_vain += lent->moved;
    dcli_chunks_free(&lent->received);
    lent->received = (dcli_chunks){0};
    lent->entry = NULL;
    lent->loan = NULL;
}

/* This node has nothing left to run: ask back what nobody may have begun. A batch whose inputs were sent would be run
 * twice, so it is taken back only after some time. */
static void take_back(dcli_worker *worker)
{
    const dcli_as_node *own = worker->as_node;
    int64_t now = 0;
    if (own->stealing->lent == NULL || own->running_first < own->running_count || dcli_node_has_lendable(worker->node))
        return;
    dcli_lent_batch batch;
    for (int64_t n = 0; dcli_node_lent_batch(worker->node, n, &batch); n++) {
        dcli_lent_out *lent = dcli_lent_find(own->stealing, batch.thief, batch.question, batch.batch);
        if (batch.recalled || lent == NULL || lent->entry == NULL)
            continue;
        if (now == 0)
            now = dcli_monotonic_ns();
        if (now - lent->lent_ns >= (lent->loan->loan->size.in_place ? RECALL_NS : PATIENCE_NS)) {
            dcli_stealing_take_back(worker, lent);
            n = -1; /* the list has changed */
        }
    }
}

void dcli_stealing_decide(dcli_worker *worker)
{
    dcli_stealing_throttle(worker);
    for (int thief = dcli_node_next_hungry(worker->node, -1); thief >= 0;
         thief = dcli_node_next_hungry(worker->node, thief))
        answer(worker, thief);
    take_back(worker);
}

/* ---- the thief ---------------------------------------------------------------------------------------------------- */

void dcli_stealing_answered(dcli_worker *worker, int victim, bool lent)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_victim *known = &stealing->victim[victim];
    stealing->asking--;
    if (lent) {
        *known = (dcli_victim){0};
        return;
    }
    known->pause_ns = dcli_min(dcli_max(2 * known->pause_ns, LEAST_PAUSE_NS), MOST_PAUSE_NS);
    known->next_ns = dcli_monotonic_ns() + known->pause_ns;
}

/* Ask a node, if it may have something that it was not asked for. *later_out: set to true if it may be asked later. */
static void try_to_ask(dcli_worker *worker, int victim, int64_t now, bool *later_out)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_victim *known = &stealing->victim[victim];
    int64_t seen = worker->catalog.entries.last_operation;
    int64_t bytes = dcli_min(dcli_node_loan_room(worker->node), stealing->loan_bytes / MOST_QUESTIONS);
    if (victim == worker->terms.self || worker->gone[victim] || stealing->asking >= MOST_QUESTIONS || bytes < 1 ||
        known->refused_upto >= seen || dcli_node_is_asking(worker->node, victim))
        return;
    if (now < known->next_ns) {
        *later_out = true;
        return;
    }
    if (!dcli_node_ask(worker->node, victim, bytes))
        return;
    known->refused_upto = seen; /* unless it lends */
    stealing->asking++;
}

static int choose(dcli_stealing *stealing, int nodes)
{
    stealing->random = stealing->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)((stealing->random >> 33) % (uint64_t)nodes);
}

int dcli_stealing_ask(dcli_worker *worker, bool *asked_out)
{
    enum { NEAR = 8, FAR = 4, AGAIN_MS = 1 };
    dcli_stealing *stealing = worker->as_node->stealing;
    int nodes = worker->terms.node_count, self = worker->terms.self, before = stealing->asking;
    bool later = stealing->lent != NULL; /* they may have to be taken back */
    if (stealing->borrowed == NULL && stealing->steal.policy != DCLI_LENDS_NEVER && !worker->stopping) {
        int64_t now = dcli_monotonic_ns();
        for (int n = 1; n < nodes && n <= NEAR; n++) {
            int victim = (self + n) % nodes;
            if (dcli_ways_share(&worker->terms.ways[self], &worker->terms.ways[victim]))
                try_to_ask(worker, victim, now, &later);
        }
        for (int n = 0; n < FAR; n++)
            try_to_ask(worker, choose(stealing, nodes), now, &later);
    }
    *asked_out = stealing->asking > before;
    return later ? AGAIN_MS : -1;
}
