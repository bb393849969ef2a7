/* test/support/simcluster.c - set up a simulated cluster at random, run it, and check its end state. */
#include "support/simcluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "support/simlend.h"
#include "support/simstate.h"

static const dcli_plan *plan_of(void *user, const dcli_operation *operation, int peer)
{
    struct sim *sim = user;
    return sim_plan_of(&sim->data, operation, peer)->plan;
}

static void *need(int64_t count, size_t bytes)
{
    void *memory = calloc((size_t)dcli_max(count, 1), bytes);
    if (memory == NULL)
        abort();
    return memory;
}

/* Pick a pool size, from just enough for the largest batch to plenty; rarely too small for some operations, which then
 * fail. */
static void pick_pool(struct sim *sim)
{
    int64_t most = 8;
    for (int s = 0; s < sim->program->step_count; s++)
        for (int p = 0; p < sim->peers; p++)
            most = dcli_max(most, sim_plan_of(&sim->data, &sim->program->step[s].operation, p)->most);
    int64_t kind = sim_pick(sim, 0, 15);
    if (kind < 4)
        most *= 1000;
    else if (kind < 8)
        most += sim_pick(sim, 0, most);
    else if (kind == 8)
        most = sim_pick(sim, most / 4, most - 1);
    sim_set_pool(&sim->data, most);
}

static bool is_read(const struct sim *sim, int reader, int owner)
{
    return dcli_way_between(&sim->ways[reader], &sim->ways[owner]) == DCLI_WAY_PLACE;
}

/* All nodes read each other's parts in place; or those of two groups, where some can only be read; or none. */
static void pick_terms(struct sim *sim, dcli_plan_terms *terms)
{
    int64_t mode = sim_pick(sim, 0, 2);
    sim->ways = need(sim->peers, sizeof *sim->ways);
    for (int p = 0; p < sim->host && mode < 2; p++)
        sim->ways[p] = mode == 0
                           ? (dcli_node_ways){.can = DCLI_CAN_ALL}
                           : (dcli_node_ways){.can = (uint8_t)(sim_pick(sim, 0, 3) < 3 ? DCLI_CAN_ALL : DCLI_CAN_SHOW),
                                              .group = (int16_t)sim_pick(sim, 0, 1)};
    for (int p = 0; p < sim->host; p++)
        for (int q = 0; q < sim->host; q++)
            *(is_read(sim, p, q) ? &sim->figures.in_place : &sim->figures.sent) |= p != q;
    *terms = (dcli_plan_terms){.node_count = sim->host,
                               .ways = sim->ways,
                               .pool_bytes = INT64_MAX,
                               .chunk_bytes = INT64_C(64) << sim_pick(sim, 0, 3),
                               .batch_bytes = INT64_C(1) << sim_pick(sim, 0, 11),
                               .kept_bytes = INT64_C(1) << sim_pick(sim, 6, 20),
                               .local_bytes = sim_pick(sim, 0, 1) == 0 ? 0 : INT64_C(1) << sim_pick(sim, 4, 14),
                               .early_bytes = sim_pick(sim, 0, 1) * (INT64_C(16) << sim_pick(sim, 0, 12)),
                               .fine_elements = sim_pick(sim, 0, 1) * sim_pick(sim, 1, 8),
                               .detailed = true};
    for (int p = 0; p < sim->host && mode == 2 && terms->local_bytes > 0; p++)
        sim->ways[p].can = dcli_ways_of_device(false, false);
}

/* Pick an action of a kind for a fault to hit. @return false if this operation and peer have none. */
static bool aim(struct sim *sim, dcli_action_kind kind, const dcli_operation *operation, struct sim_fault *fault)
{
    int peer = (int)sim_pick(sim, 0, sim->host);
    const dcli_plan *plan = sim_plan_of(&sim->data, operation, peer)->plan;
    int64_t c = plan->chunk_count > 0 ? sim_pick(sim, 0, plan->chunk_count - 1) : 0;
    *fault = (struct sim_fault){.kind = kind, .operation = operation->number, .peer = peer};
    if (kind == DCLI_DO_RUN) {
        fault->after = plan->batch_count > 0 ? sim_pick(sim, 0, dcli_min(plan->batch_count - 1, 3)) : 0;
        return plan->batch_count > 0 && operation->kind != DCLI_OP_RELEASE;
    }
    if (plan->chunk_count == 0 || plan->chunk[c].written != (kind == DCLI_DO_COMMIT))
        return false;
    fault->peer = plan->chunk[c].peer;
    return true;
}

static void pick_faults(struct sim *sim)
{
    static const dcli_action_kind kinds[] = {DCLI_DO_RUN, DCLI_DO_RUN, DCLI_DO_PACK, DCLI_DO_COMMIT};
    enum { TRIES = 20 };
    if (sim_pick(sim, 0, 2) != 0)
        return;
    for (int f = 0; f < SIM_MAX_FAULTS; f++) {
        dcli_action_kind kind = kinds[sim_pick(sim, 0, 3)];
        bool aimed = false;
        for (int tries = 0; tries < TRIES && !aimed; tries++)
            aimed = aim(sim, kind, sim_operation_of(sim, sim_pick(sim, 1, sim->program->step_count)), &sim->fault[f]);
        if (!aimed)
            sim->fault[f].kind = DCLI_DO_RETIRE; /* which never fails */
    }
}

static void open_nodes(struct sim *sim)
{
    sim->channel = need((int64_t)sim->peers * sim->peers, sizeof *sim->channel);
    sim->sent = need(sim->program->step_count, sizeof *sim->sent);
    sim->told = need(sim->program->step_count, sizeof *sim->told);
    sim->descriptors = need(sim->peers, sizeof *sim->descriptors);
    sim->ready = need(sim->peers, sizeof *sim->ready);
    int64_t slow_pairs = sim_pick(sim, 0, 3);
    for (int pair = 0; pair < sim->peers * sim->peers; pair++) {
        sim->channel[pair].slowness = slow_pairs > 0 && sim_pick(sim, 0, 7) < slow_pairs ? 40 : 1;
        sim->channel[pair].cut = INT64_MAX;
    }
    for (int p = 0; p < sim->peers; p++) {
        sim->node[p].granted = need((int64_t)sim->program->step_count * sim->peers, sizeof(int64_t));
        sim->node[p].stage = need(sim->program->step_count, sizeof(sim_stage));
        sim->node[p].missed = need(sim->peers, sizeof(bool));
        sim->node[p].ready_before = need(sim->peers, sizeof(int64_t));
    }
    sim_open_first(sim);
}

static void open_sim(struct sim *sim)
{
    sim->random = sim->settings->seed;
    test_next(&sim->random);
    sim->host = sim->settings->nodes;
    if (sim->host == 0)
        sim->host = (int)dcli_min(sim_pick(sim, 8, 64), sim_pick(sim, 8, 64));
    sim->peers = sim->host + 1;
    sim->node = need(sim->peers, sizeof *sim->node);
    sim->program =
        sim_program_make(&sim->random, sim->host, sim_pick_spares(sim), sim->settings->steps, sim->settings->loops);
    sim_verdict_open(&sim->verdict, sim->program, sim->peers);
    dcli_plan_terms terms;
    pick_terms(sim, &terms);
    sim_data_open(&sim->data, sim->program, &terms);
    sim->data.alike = sim->settings->alike;
    sim_check_counters(&sim->data, &sim->figures.bytes_moved);
    pick_pool(sim);
    sim->terms = (dcli_node_terms){.plan = sim->data.terms,
                                   .window_chunks = sim_pick(sim, 1, 4),
                                   .plan_of = plan_of,
                                   .user = sim,
                                   .made_bytes = INT64_C(64) << sim_pick(sim, 0, 6)};
    sim->latency = INT64_C(1) << sim_pick(sim, 0, 8);
    sim->pause = sim_pick(sim, 0, 1) * sim->latency;
    sim->think = INT64_C(1) << sim_pick(sim, 0, 8);
    sim->slack = INT64_C(1) << sim_pick(sim, 0, 10);
    sim->late_effects = sim_pick(sim, 0, 1) == 0;
    sim->slow = (int)sim_pick(sim, 0, 2 * sim->host);
    pick_faults(sim);
    sim_pick_losses(sim);
    sim_lend_open(sim);
    open_nodes(sim);
}

static void close_sim(struct sim *sim)
{
    for (int p = 0; p < sim->peers; p++) {
        dcli_node_close(sim->node[p].node);
        dcli_free(sim->node[p].task);
        free(sim->node[p].granted);
        free(sim->node[p].missed);
        free(sim->node[p].stage);
        free(sim->node[p].ready_before);
    }
    sim_lend_close(sim);
    free(sim->node);
    free(sim->channel);
    free(sim->descriptors);
    free(sim->sent);
    free(sim->told);
    dcli_free(sim->marked);
    free(sim->ready);
    free(sim->ways);
    sim_clock_free(&sim->clock);
    sim_verdict_close(&sim->verdict);
    sim_data_close(&sim->data);
    sim_program_free(sim->program);
}

/* Whether a chunk is left at a living peer at the end; a dead peer keeps what it had. */
static bool is_left(const struct sim *sim, int64_t n, int64_t c)
{
    const dcli_chunk *chunk = &sim->data.plan[n].plan->chunk[c];
    const sim_payload *payload = &sim->data.plan[n].payload[c];
    int64_t self = n % sim->peers, sender = chunk->written ? self : chunk->peer,
            receiver = chunk->written ? chunk->peer : self;
    return (payload->data != NULL && !sim->node[payload->arrived ? receiver : sender].dead) ||
           (payload->arrived && !sim->node[receiver].dead);
}

/* Check that the program was told the outcome of all its calls. */
static void check_told(struct sim *sim)
{
    bool dead[SIM_MAX_NODES + 1];
    for (int p = 0; p < sim->peers; p++)
        dead[p] = sim->node[p].dead;
    sim_verdict_end(&sim->verdict, &sim->data, dead);
}

/* Check that, without losses, the chunks sent for a body are those that its plans count. */
static void check_sent(struct sim *sim)
{
    for (int s = 0; s < sim->program->step_count && sim->figures.lost == 0; s++) {
        const dcli_operation *operation = &sim->program->step[s].operation;
        int64_t planned = 0;
        for (int p = 0; p < sim->host; p++)
            planned += sim_plan_of(&sim->data, operation, p)->plan->counters.messages_planned;
        if ((operation->kind == DCLI_OP_FORALL || operation->kind == DCLI_OP_MOVE) && planned != sim->sent[s])
            sim_wrong(&sim->data, "operation %d plans %" PRId64 " messages; sent were %" PRId64, s + 1, planned,
                      sim->sent[s]);
    }
}

/* Check how many messages told the failure of an operation: each node tells the host, which tells all nodes once, and once
 * more if it fails itself. */
static void check_failures(struct sim *sim)
{
    for (int s = 0; s < sim->program->step_count; s++) {
        sim->figures.most_told = dcli_max(sim->figures.most_told, sim->told[s]);
        if (sim->told[s] > 3 * sim->host)
            sim_wrong(&sim->data, "%" PRId64 " messages tell %d nodes that operation %d failed; expected at most %d",
                      sim->told[s], sim->host, s + 1, 3 * sim->host);
    }
}

static void check_end(struct sim *sim)
{
    int64_t last = sim->program->step_count, done, ready;
    for (int p = 0; p < sim->peers && !sim_is_wrong(&sim->data); p++) {
        if (sim->node[p].dead || sim->node[p].node == NULL)
            continue;
        dcli_node_watermarks(sim->node[p].node, &done, &ready);
        if (sim->issued < last || !dcli_node_idle(sim->node[p].node) || done != last || ready != last)
            sim_wrong(&sim->data, "nothing happens any more, and node %d has not ended", p);
        if (sim->node[p].pool != 0)
            sim_wrong(&sim->data, "node %d is idle and holds %" PRId64 " bytes of chunks", p, sim->node[p].pool);
    }
    for (int n = 0; n < last * sim->peers && !sim_is_wrong(&sim->data); n++)
        for (int64_t c = 0; sim->data.plan[n].plan != NULL && c < sim->data.plan[n].plan->chunk_count; c++)
            if (is_left(sim, n, c))
                sim_wrong(&sim->data, "chunk %" PRId64 " of operation %d for peer %d was never given up", c,
                          n / sim->peers + 1, n % sim->peers);
    if (!sim_is_wrong(&sim->data))
        sim_lend_check_end(sim);
    if (!sim_is_wrong(&sim->data))
        check_told(sim);
    if (!sim_is_wrong(&sim->data))
        check_sent(sim);
    if (!sim_is_wrong(&sim->data))
        check_failures(sim);
}

static char *report(struct sim *sim)
{
    dcli_text text = {0};
    dcli_text_put(&text, "seed %" PRIu64 ", %d nodes: %s", sim->settings->seed, sim->host, sim->data.problem.bytes);
    dcli_text_put(&text,
                  "pool %" PRId64 ", chunks of %" PRId64 ", batches of %" PRId64 " bytes, window %" PRId64
                  ", made %" PRId64 ", late effects %d, lending %d\nabilities and groups:",
                  sim->terms.plan.pool_bytes, sim->data.terms.chunk_bytes, sim->data.terms.batch_bytes,
                  sim->terms.window_chunks, sim->terms.made_bytes, sim->late_effects, (int)sim->lending);
    for (int p = 0; p < sim->host; p++)
        dcli_text_put(&text, " %d/%d", sim->ways[p].can, sim->ways[p].group);
    for (int p = 0; p < sim->peers; p++)
        if (sim->node[p].dead || sim->node[p].node == NULL)
            dcli_text_put(&text, "; %d is %s", p, sim->node[p].dead ? "dead" : "not there");
    for (int n = 0; n < sim->program->spare_count; n++)
        dcli_text_put(&text, "; %d joins before %" PRId64, sim->host - sim->program->spare_count + n,
                      sim->program->joins[n]);
    dcli_text_put(&text, "\n");
    sim_program_print(sim->program, &text);
    for (int p = 0; p < sim->peers; p++) {
        bool idle = sim->node[p].dead || sim->node[p].node == NULL || dcli_node_idle(sim->node[p].node);
        char *state = idle ? NULL : dcli_node_explain(sim->node[p].node);
        if (state != NULL)
            dcli_text_put(&text, "%s", state);
        dcli_free(state);
    }
    return dcli_text_take(&text);
}

char *sim_cluster_run(const sim_settings *settings, sim_figures *figures_out)
{
    struct sim sim = {.settings = settings, .clock = {.event_bytes = sizeof(sim_event)}};
    sim_event event;
    open_sim(&sim);
    sim_post(&sim.clock, (sim_event){.kind = SIM_ISSUE}, 0);
    while (!sim_is_wrong(&sim.data) && sim_take(&sim.clock, &event))
        sim_happen(&sim, &event);
    check_end(&sim);
    char *text = sim_is_wrong(&sim.data) ? report(&sim) : NULL;
    sim.figures.nodes = sim.host;
    sim.figures.operations = sim.program->step_count;
    for (int s = 0; s < sim.program->step_count; s++) {
        const dcli_operation *operation = &sim.program->step[s].operation;
        sim.figures.foralls += operation->kind == DCLI_OP_FORALL;
        sim.figures.overlapped += operation->overlap > 0;
        sim.figures.received += operation->overlap > 0 && dcli_overlap_receives(operation);
    }
    memcpy(sim.figures.via, sim.data.via, sizeof sim.figures.via);
    *figures_out = sim.figures;
    close_sim(&sim);
    return text;
}
