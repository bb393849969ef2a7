/* test/support/simmember.c - nodes of a simulated cluster are lost and join. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "support/simstate.h"

int sim_pick_spares(struct sim *sim)
{
    if (sim->host < 2 || sim_pick(sim, 0, 3) != 0)
        return 0;
    return (int)sim_pick(sim, 1, dcli_min(SIM_MAX_SPARES, sim->host / 2));
}

/* Pick losses at any time: soon after a call, long after it, after the last one. */
void sim_pick_losses(struct sim *sim)
{
    if (sim->host < 2 || (sim_pick(sim, 0, 2) != 0 && !sim->settings->lose))
        return;
    sim->losses = (int)sim_pick(sim, 1, dcli_min(SIM_MAX_LOSSES, sim->host - 1));
    for (int n = 0; n < sim->losses; n++)
        sim->loss[n] = (struct sim_loss){.node = (int)sim_pick(sim, 0, sim->host - 1),
                                         .operation = sim_pick(sim, 1, sim->program->step_count),
                                         .delay = sim_pick(sim, 0, sim->latency << sim_pick(sim, 0, 8))};
}

/* ---- who joins ----------------------------------------------------------------------------------------------------- */

static void open_node(struct sim *sim, int p, int64_t first_operation)
{
    bool absent[SIM_MAX_NODES];
    dcli_node_terms terms = sim->terms;
    if (sim->issued > 0)
        memcpy(sim->node[p].missed, sim->node[sim->host].missed, (size_t)sim->peers * sizeof(bool));
    for (int q = 0; q < sim->host; q++)
        absent[q] = sim->issued == 0 ? q >= sim->host - sim->program->spare_count
                                     : q != p && !dcli_node_is_there(sim->node[sim->host].node, q);
    terms.self = p;
    terms.absent = absent;
    terms.first_operation = first_operation;
    if (p == sim->host)
        terms.loan_of = NULL;
    sim->node[p].seen = sim->ready[p] = first_operation - 1;
    sim->node[p].node = dcli_node_open(&terms);
    if (sim->node[p].node == NULL)
        abort();
}

void sim_open_first(struct sim *sim)
{
    for (int p = 0; p < sim->peers; p++)
        if (p == sim->host || p < sim->host - sim->program->spare_count)
            open_node(sim, p, 1);
}

/* Tell a joining node which arrays have failed, before anything else. */
static void tell_failures(struct sim *sim, int p)
{
    for (int n = 0; n < sim->program->array_count; n++) {
        int64_t id = sim->program->array[n].storage;
        if (dcli_node_storage_failed(sim->node[sim->host].node, id))
            sim_expect(sim, p, dcli_node_failed(sim->node[p].node, sim->host, sim->issued, 1, &id));
    }
}

/* Let a node join: the host decides at once; the others learn of it before the next descriptor. */
static void join(struct sim *sim, int p, int64_t first_operation)
{
    dcli_node *host = sim->node[sim->host].node;
    open_node(sim, p, first_operation);
    for (int q = 0; q < sim->host; q++)
        if (dcli_node_is_there(host, q)) {
            sim->descriptors[q] = dcli_max(sim->descriptors[q], sim->clock.now + sim_pick(sim, 0, sim->latency));
            sim_post(&sim->clock,
                     (sim_event){.kind = SIM_JOIN,
                                 .time = sim->descriptors[q],
                                 .from = sim->host,
                                 .to = q,
                                 .number = first_operation,
                                 .chunk = p},
                     0);
        }
    sim_expect(sim, sim->host, dcli_node_joined(host, p, first_operation));
    tell_failures(sim, p);
    for (int q = 0; q < sim->host; q++)
        if (sim->node[q].dead && !sim->node[sim->host].missed[q])
            sim_post(&sim->clock, (sim_event){.kind = SIM_LOST, .from = q, .to = p},
                     sim_pick(sim, 0, 20 * sim->latency));
    sim->figures.joined++;
}

void sim_hear_join(struct sim *sim, const sim_event *event)
{
    sim_expect(sim, event->to, dcli_node_joined(sim->node[event->to].node, (int)event->chunk, event->number));
}

int64_t sim_complete(const struct sim *sim)
{
    int64_t done, complete;
    dcli_node_watermarks(sim->node[sim->host].node, &done, &complete);
    for (int p = 0; p < sim->host; p++)
        if (dcli_node_is_there(sim->node[sim->host].node, p))
            complete = dcli_min(complete, sim->ready[p]);
    return complete;
}

bool sim_is_quiet(const struct sim *sim) { return sim_complete(sim) == sim->issued; }

bool sim_before_call(struct sim *sim, int64_t number)
{
    for (int n = 0; n < sim->program->spare_count; n++) {
        int p = sim->host - sim->program->spare_count + n;
        if (sim->program->joins[n] != number || sim->node[p].node != NULL)
            continue;
        if (!sim_is_quiet(sim))
            return false;
        join(sim, p, number);
    }
    for (int n = 0; n < sim->losses; n++)
        if (sim->loss[n].operation == number)
            sim_post(&sim->clock, (sim_event){.kind = SIM_DIE, .to = sim->loss[n].node}, sim->loss[n].delay);
    return true;
}

/* ---- who is lost --------------------------------------------------------------------------------------------------- */

/* Lose peer p. The others receive the first part of its messages, perhaps all, and learn of the loss then or later. */
void sim_die(struct sim *sim, int p)
{
    if (sim->node[p].dead || sim->node[p].node == NULL)
        return;
    sim->node[p].dead = true;
    sim->figures.lost++;
    int64_t noticed = sim->clock.now + sim_pick(sim, 0, sim->latency << sim_pick(sim, 0, 8));
    for (int q = 0; q < sim->peers; q++) {
        struct sim_channel *channel = &sim->channel[p * sim->peers + q];
        if (q == p || sim->node[q].node == NULL)
            continue;
        int64_t last = dcli_max(channel->last, sim->clock.now);
        channel->cut = sim_pick(sim, 0, 1) == 0 ? last : sim_pick(sim, sim->clock.now - 1, last);
        int64_t when = sim_pick(sim, 0, 1) == 0 ? channel->cut : noticed + sim_pick(sim, 0, sim->latency);
        sim_post(&sim->clock, (sim_event){.kind = SIM_LOST, .time = when, .from = p, .to = q}, 0);
    }
}

/* Drop chunks of a dead peer for operations that p has not seen. */
static void discard_early(struct sim *sim, int p, int dead)
{
    for (int64_t n = sim->node[p].seen; n < sim->program->step_count; n++) {
        const sim_plan *own = &sim->data.plan[n * sim->peers + p], *other = &sim->data.plan[n * sim->peers + dead];
        for (int64_t c = 0; own->plan != NULL && c < own->plan->chunk_count; c++)
            if (!own->plan->chunk[c].written && own->plan->chunk[c].peer == dead && own->payload[c].arrived)
                sim_discard(&own->payload[c]);
        for (int64_t c = 0; other->plan != NULL && c < other->plan->chunk_count; c++)
            if (other->plan->chunk[c].written && other->plan->chunk[c].peer == p && other->payload[c].arrived)
                sim_discard(&other->payload[c]);
    }
}

/* Take back grants of p to a dead peer. */
static void take_back_grants(struct sim *sim, int p, int dead)
{
    for (int64_t n = 0; n < sim->node[p].seen; n++) {
        const sim_plan *own = &sim->data.plan[n * sim->peers + p];
        for (int64_t c = 0; own->plan != NULL && c < own->plan->chunk_count; c++) {
            const dcli_chunk *chunk = &own->plan->chunk[c];
            if (!chunk->written && chunk->peer == dead && !own->payload[c].arrived && !own->payload[c].dropped &&
                chunk->number < sim->node[p].granted[n * sim->peers + dead])
                sim->node[p].pool -= sim_granted_bytes(own->plan, c);
        }
    }
}

void sim_miss(struct sim *sim, const sim_event *event)
{
    struct sim_node *node = &sim->node[event->to];
    int64_t done;
    if (node->missed[event->from])
        return;
    node->missed[event->from] = true;
    dcli_node_watermarks(node->node, &done, &node->ready_before[event->from]);
    sim_expect(sim, event->to, dcli_node_lost(node->node, event->from));
    discard_early(sim, event->to, event->from);
    take_back_grants(sim, event->to, event->from);
    sim_expect(sim, event->to, dcli_node_lost(node->node, event->from)); /* once more is no news */
}

bool sim_takes_place(struct sim *sim, const sim_event *event)
{
    const struct sim_node *to = &sim->node[event->to];
    bool there = to->node != NULL && !to->dead;
    switch (event->kind) {
    case SIM_ISSUE:
    case SIM_DIE:
        return true;
    case SIM_CHUNK:
    case SIM_GRANT:
    case SIM_CREDIT:
    case SIM_FAILED:
    case SIM_MARKS:
    case SIM_HUNGRY:
    case SIM_NOTHING:
    case SIM_LENT:
    case SIM_LOAN:
    case SIM_RECALL:
    case SIM_RESULT:
        return there && event->time <= sim->channel[event->from * sim->peers + event->to].cut;
    default:
        return there;
    }
}

/* ---- what follows --------------------------------------------------------------------------------------------------- */

static bool names(const dcli_operation *operation, int node)
{
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].storage >= 0 && dcli_layout_owned(operation->operand[k].layout, node) > 0)
            return true;
    return false;
}

bool sim_needs_lost(const struct sim *sim, const dcli_operation *operation)
{
    bool needs = false;
    bool ends = operation->kind == DCLI_OP_RELEASE || operation->kind == DCLI_OP_DROP; /* which need nobody */
    for (int q = 0; q < sim->host && !ends; q++)
        needs |= sim->node[sim->host].missed[q] && names(operation, q);
    return needs;
}

/* Check a failure because of a lost node: the operation names an array with a part there, and had not ended here at the
 * time. */
void sim_check_loss(struct sim *sim, int p, const dcli_operation *operation)
{
    bool reason = false, ends = operation->kind == DCLI_OP_RELEASE || operation->kind == DCLI_OP_DROP;
    for (int q = 0; q < sim->host; q++)
        reason |= sim->node[p].missed[q] && operation->number > sim->node[p].ready_before[q] && names(operation, q);
    if (!reason || ends)
        sim_wrong(&sim->data, "node %d has lost nobody that operation %" PRId64 " needs", p, operation->number);
    sim_verdict_cause(&sim->verdict, operation, p, p);
    sim->figures.losses_told++;
}
