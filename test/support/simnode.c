/* test/support/simnode.c - the nodes of a simulated cluster: messages, ordered actions, events. */
#include "support/simlend.h"
#include "support/simstate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void trace_event(const struct sim *sim, const sim_event *event)
{
    static const char *names[] = {[SIM_ISSUE] = "issue",
                                  [SIM_DESCRIPTOR] = "descriptor",
                                  [SIM_EFFECT] = "effect",
                                  [SIM_DONE] = "done",
                                  [SIM_MOVED] = "moved",
                                  [SIM_RESUME] = "resume",
                                  [SIM_DIE] = "die",
                                  [SIM_LOST] = "lost",
                                  [SIM_JOIN] = "join",
                                  [SIM_CHUNK] = "chunk",
                                  [SIM_GRANT] = "grant",
                                  [SIM_CREDIT] = "credit",
                                  [SIM_FAILED] = "failed",
                                  [SIM_MARKS] = "marks",
                                  [SIM_HUNGRY] = "hungry",
                                  [SIM_NOTHING] = "nothing",
                                  [SIM_LENT] = "lent",
                                  [SIM_LOAN] = "loan",
                                  [SIM_RECALL] = "recall",
                                  [SIM_RESULT] = "result",
                                  [SIM_LOAN_DONE] = "loan done"};
    if (sim->settings->trace && event->kind != SIM_STEP)
        fprintf(stderr,
                "%8" PRId64 " %d -> %d %s operation %" PRId64 " number %" PRId64 " written %d status %d done %" PRId64
                " ready %" PRId64 " question %" PRId64 "\n",
                event->time, event->from, event->to, names[event->kind], event->operation, event->number,
                event->written, event->status, event->done, event->ready, event->question);
}

sim_payload *sim_payload_of(struct sim *sim, const sim_event *event)
{
    int of = event->written ? event->from : event->to;
    return &sim_plan_of(&sim->data, sim_operation_of(sim, event->operation), of)->payload[event->chunk];
}

/* Send a message. Messages between two peers stay in order; most are fast, some very late, and some pairs are slow. */
void sim_send(struct sim *sim, sim_event event)
{
    struct sim_channel *channel = &sim->channel[event.from * sim->peers + event.to];
    if (sim->node[event.from].missed[event.to] || sim->node[event.to].node == NULL) {
        if (event.kind == SIM_CHUNK)
            sim_discard(sim_payload_of(sim, &event));
        return;
    }
    int64_t most = sim_pick(sim, 0, 15) == 0 ? 20 * sim->latency : sim->latency;
    event.time = channel->last = dcli_max(channel->last, sim->clock.now + sim_pick(sim, 0, most * channel->slowness));
    sim->figures.messages++;
    sim_post(&sim->clock, event, 0);
}

int64_t sim_slack_of(const struct sim *sim, int p) { return p == sim->lame ? 20 * sim->slack : sim->slack; }

void sim_wake(struct sim *sim, int p)
{
    if (sim->node[p].dead)
        return;
    struct sim_node *node = &sim->node[p];
    if (node->step_posted)
        return;
    node->step_posted = true;
    bool sleeps = p == sim->sleeper && sim->clock.now >= sim->sleep_from;
    sim_post(&sim->clock, (sim_event){.kind = SIM_STEP, .to = p, .time = sleeps ? sim->sleep_to : 0},
             sim_pick(sim, 0, sim->pause));
}

/* A node tells the host, the host all nodes. */
static void tell_failure(struct sim *sim, int p, int64_t operation)
{
    for (int q = p == sim->host ? 0 : sim->host; q < sim->peers; q++)
        if (q != p && dcli_node_is_there(sim->node[p].node, q)) {
            sim->told[operation - 1]++;
            sim_send(sim, (sim_event){.kind = SIM_FAILED, .from = p, .to = q, .operation = operation});
        }
}

static void send_failed(struct sim *sim, int p, const dcli_action *action)
{
    tell_failure(sim, p, action->operation->number);
    if (action->status == DCL_ERR_NODE_LOST && action->cause)
        sim_check_loss(sim, p, action->operation);
    if (p == sim->host)
        sim_verdict_failed(&sim->verdict, action->operation);
}

static void send_grant(struct sim *sim, int p, const dcli_action *action)
{
    struct sim_node *node = &sim->node[p];
    const dcli_plan *plan = sim_plan_of(&sim->data, action->operation, p)->plan;
    int64_t *granted = &node->granted[(action->operation->number - 1) * sim->peers + action->peer];
    for (int64_t c = 0; c < plan->chunk_count; c++)
        if (!plan->chunk[c].written && plan->chunk[c].peer == action->peer && plan->chunk[c].number >= *granted &&
            plan->chunk[c].number < action->index)
            node->pool += sim_granted_bytes(plan, c);
    *granted = action->index;
    sim->figures.declined += action->status != DCL_OK;
    if (node->pool > sim->terms.plan.pool_bytes)
        sim_wrong(&sim->data, "node %d grants %" PRId64 " bytes; its pool has %" PRId64, p, node->pool,
                  sim->terms.plan.pool_bytes);
    sim_send(sim, (sim_event){.kind = SIM_GRANT,
                              .from = p,
                              .to = action->peer,
                              .operation = action->operation->number,
                              .number = action->index,
                              .status = action->status});
}

static void send_marks(struct sim *sim, int p, const dcli_action *action)
{
    struct sim_node *node = &sim->node[p];
    if (action->done < node->done || action->ready < node->ready || action->ready > action->done)
        sim_wrong(&sim->data, "node %d tells done %" PRId64 ", ready %" PRId64 " after %" PRId64 ", %" PRId64, p,
                  action->done, action->ready, node->done, node->ready);
    node->done = action->done;
    node->ready = action->ready;
    int64_t first = sim->marked_count;
    for (int n = 0; n < 2 * action->failure_count; n++) {
        if (dcli_grow(&sim->marked, sim->marked_count, &sim->marked_capacity, sizeof *sim->marked) != 0)
            abort();
        sim->marked[sim->marked_count++] = action->failure[n];
    }
    sim->figures.failures_in_marks += action->failure_count;
    sim_send(sim, (sim_event){.kind = SIM_MARKS,
                              .from = p,
                              .to = action->peer,
                              .done = action->done,
                              .ready = action->ready,
                              .number = first,
                              .count = action->failure_count});
}

static void send_chunk(struct sim *sim, int p, int owner_of_plan, const dcli_action *action, int to, dcl_status status)
{
    const dcli_chunk *chunk = &sim_plan_of(&sim->data, action->operation, owner_of_plan)->plan->chunk[action->chunk];
    sim->figures.chunks++;
    sim->sent[action->operation->number - 1]++;
    sim_send(sim, (sim_event){.kind = SIM_CHUNK,
                              .from = p,
                              .to = to,
                              .operation = action->operation->number,
                              .number = chunk->number,
                              .chunk = action->chunk,
                              .written = chunk->written,
                              .status = status});
}

static void send_made(struct sim *sim, int p, const dcli_action *action)
{
    struct sim_channel *channel = &sim->channel[p * sim->peers + action->peer];
    sim->node[p].made -= sim_plan_of(&sim->data, action->operation, p)->plan->chunk[action->chunk].bytes;
    if (++channel->outstanding > sim->terms.window_chunks)
        sim_wrong(&sim->data, "node %d has %" PRId64 " chunks on the way to %d", p, channel->outstanding, action->peer);
    send_chunk(sim, p, p, action, action->peer, action->status);
}

/* Count made chunks: a batch that makes some waits while many are not sent. */
static void count_made(struct sim *sim, int p, const dcli_action *action)
{
    const dcli_plan *plan = sim_plan_of(&sim->data, action->operation, p)->plan;
    const dcli_batch *batch = &plan->batch[action->index];
    int64_t before = sim->node[p].made;
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++)
        sim->node[p].made += plan->chunk[c].bytes;
    if (before > 0 && sim->node[p].made > dcli_max(before, sim->terms.made_bytes))
        sim_wrong(&sim->data, "node %d makes chunks while %" PRId64 " bytes wait to be sent", p, before);
}

/* ---- tasks: what is done in order -------------------------------------------------------------------------------- */

/* Whether this action must fail now. */
static bool strike(struct sim *sim, int p, const dcli_action *action)
{
    for (int f = 0; f < SIM_MAX_FAULTS; f++) {
        struct sim_fault *fault = &sim->fault[f];
        if (fault->kind != action->kind || fault->kind == DCLI_DO_RETIRE || action->operation == NULL ||
            fault->operation != action->operation->number || fault->peer != p || fault->after-- > 0)
            continue;
        fault->kind = DCLI_DO_RETIRE;
        sim->figures.failures++;
        sim_verdict_cause(&sim->verdict, action->operation, p, action->kind == DCLI_DO_PACK ? action->peer : p);
        return true;
    }
    return false;
}

static void add_task(struct sim_node *node, const struct sim_task *task)
{
    if (dcli_grow(&node->task, node->count, &node->capacity, sizeof *task) != 0)
        abort();
    node->task[node->count++] = *task;
}

static void post_done(struct sim *sim, int p, const struct sim_task *task)
{
    if (!task->reported)
        sim_post(&sim->clock,
                 (sim_event){.kind = SIM_DONE,
                             .from = p,
                             .to = p,
                             .operation = task->action.operation->number,
                             .number = task->action.index,
                             .count = task->action.kind == DCLI_DO_COMMIT_LOAN ? task->action.count : 1},
                 sim_pick(sim, 0, sim_slack_of(sim, p)));
}

/* Tell the node later that a chunk was packed or committed. */
static void post_moved(struct sim *sim, int p, const struct sim_task *task)
{
    const dcli_action *action = &task->action;
    sim_post(&sim->clock,
             (sim_event){.kind = SIM_MOVED,
                         .from = p,
                         .to = p,
                         .operation = action->operation->number,
                         .chunk = action->peer,
                         .written = action->kind == DCLI_DO_COMMIT,
                         .status = task->failed ? DCL_ERR_NOMEM : DCL_OK},
             sim_pick(sim, 0, sim->slack));
}

/* Carry out a task. @return false if a batch was only started: what follows has to wait. */
static bool do_task(struct sim *sim, int p, struct sim_task *task)
{
    const dcli_action *action = &task->action;
    switch (action->kind) {
    case DCLI_DO_RUN:
        if (sim->late_effects && !sim->node[p].running) {
            sim->node[p].running = true;
            sim_post(&sim->clock, (sim_event){.kind = SIM_EFFECT, .from = p, .to = p},
                     sim_pick(sim, 0, sim_slack_of(sim, p)));
            return false;
        }
        sim->node[p].running = false;
        sim_run(&sim->data, p, action->operation, action->index, task->failed);
        if (p != sim->host && !task->reported &&
            action->operation->number % 2 == 0) /* as if it had copied them to stages */
            sim_expect(sim, p,
                       dcli_node_batches_copied(sim->node[p].node, action->operation->number, action->index, 1));
        post_done(sim, p, task);
        break;
    case DCLI_DO_SKIP:
        sim_run(&sim->data, p, action->operation, action->index, true);
        break;
    case DCLI_DO_PACK:
        sim_pack(&sim->data, p, action->operation, action->peer, action->chunk,
                 task->failed || action->status != DCL_OK);
        send_chunk(sim, p, action->peer, action, action->peer, task->failed ? DCL_ERR_NOMEM : action->status);
        post_moved(sim, p, task);
        break;
    case DCLI_DO_COMMIT:
        sim_commit(&sim->data, p, action->operation, action->peer, action->chunk,
                   task->failed || action->status != DCL_OK);
        post_moved(sim, p, task);
        break;
    case DCLI_DO_RUN_LOAN:
        if (sim->late_effects && !sim->node[p].running) {
            sim->node[p].running = true;
            sim_lend_do(sim, p, action, true);
            sim_post(&sim->clock, (sim_event){.kind = SIM_EFFECT, .from = p, .to = p},
                     sim_pick(sim, 0, sim_slack_of(sim, p)));
            return false;
        }
        sim->node[p].running = false;
        sim_lend_do(sim, p, action, false);
        break;
    case DCLI_DO_LEND:
        sim_lend_do(sim, p, action, false);
        break;
    case DCLI_DO_COMMIT_LOAN:
        sim_lend_do(sim, p, action, false);
        post_done(sim, p, task);
        break;
    case DCLI_DO_CREDIT:
        sim_send(sim, (sim_event){.kind = SIM_CREDIT, .from = p, .to = action->peer, .number = action->index});
        break;
    default:
        break;
    }
    return true;
}

static void do_tasks(struct sim *sim, int p)
{
    struct sim_node *node = &sim->node[p];
    while (node->first < node->count && !sim_is_wrong(&sim->data)) {
        struct sim_task task = node->task[node->first];
        if (!do_task(sim, p, &task))
            return;
        node->first++;
    }
    node->first = node->count = 0;
}

/* ---- what a node says -------------------------------------------------------------------------------------------- */

static void trace_action(const struct sim *sim, int p, const dcli_action *action)
{
    static const char *names[] = {"run",     "skip",   "pack",     "send",        "commit",   "drop",
                                  "grant",   "credit", "failed",   "marks",       "finish",   "retire",
                                  "discard", "ask",    "run loan", "result",      "returned", "forget",
                                  "nothing", "lend",   "recall",   "commit loan", "drop loan"};
    if (sim->settings->trace)
        fprintf(stderr,
                "%8" PRId64 " node %d: %s operation %" PRId64 " peer %d index %" PRId64 " chunk %" PRId64
                " status %d\n",
                sim->clock.now, p, names[action->kind], action->operation != NULL ? action->operation->number : 0,
                action->peer, action->index, action->chunk, action->status);
}

void sim_expect(struct sim *sim, int p, dcl_status status)
{
    if (status != DCL_OK)
        sim_wrong(&sim->data, "node %d: %s", p, dcli_error_sentence());
}

static void queue(struct sim *sim, int p, const dcli_action *action)
{
    struct sim_node *node = &sim->node[p];
    if (action->kind == DCLI_DO_RUN_LOAN && sim_pick(sim, 0, 15) == 0) { /* which fails nothing */
        sim_expect(sim, p,
                   dcli_node_loan_done(node->node, action->peer, action->question, action->index, DCL_ERR_DEVICE));
        return;
    }
    bool runs = action->kind == DCLI_DO_RUN, failed = strike(sim, p, action);
    if (runs && !failed && sim_lacks_copy(&sim->data, p, action->operation, action->index)) {
        failed = true;
        sim_verdict_cause(&sim->verdict, action->operation, p, p);
    }
    if (runs && !failed)
        sim_fill_copies(&sim->data, p, action->operation, action->index);
    int64_t copied = sim->data.early_count;
    if (runs && !failed && p != sim->host && sim_pick(sim, 0, 3) > 0 &&
        sim_reads_early(&sim->data, p, action->operation, action->index)) {
        sim->figures.early += sim->data.early_count > copied;
        sim_expect(sim, p, dcli_node_batch_read(node->node, action->operation->number, action->index));
    }
    add_task(node, &(struct sim_task){.action = *action, .failed = failed, .reported = failed});
    if (failed && runs)
        sim_expect(sim, p, dcli_node_batch_done(node->node, action->operation->number, action->index, DCL_ERR_DEVICE));
    if (!node->running)
        do_tasks(sim, p);
    bool touches =
        runs || action->kind == DCLI_DO_PACK || action->kind == DCLI_DO_COMMIT || sim_lend_is_task(action->kind);
    if (touches && sim->late_effects && sim_pick(sim, 0, 3) == 0) {
        dcli_node_hold(node->node, true);
        sim_post(&sim->clock, (sim_event){.kind = SIM_RESUME, .from = p, .to = p}, sim_pick(sim, 0, sim->slack));
    }
}

/* Whether a batch was cut out of a plan that has other batches, too. */
static bool is_cut_out(struct sim *sim, int p, const dcli_action *run)
{
    const dcli_plan *plan = sim_plan_of(&sim->data, run->operation, p)->plan;
    return plan->fine_count < plan->batch_count && plan->batch[run->index].fine;
}

/* Start some batches together with one that was started, and then perhaps none for a while, so that they can be lent. */
static void run_more(struct sim *sim, int p, const dcli_action *action)
{
    dcli_node *node = sim->node[p].node;
    int64_t number = action->operation->number, possible = dcli_node_more(node, number, action->index, INT64_MAX);
    if (action->kind != DCLI_DO_RUN || sim_plan_of(&sim->data, action->operation, p)->plan->fine_count == 0)
        return;
    int64_t count = possible > 0 ? sim_pick(sim, 0, possible) : 0;
    dcli_node_run_more(node, number, action->index, count);
    for (int64_t n = 1; n <= count; n++) {
        dcli_action more = *action;
        more.index += n;
        sim->figures.batches++;
        sim->figures.cut_out += is_cut_out(sim, p, &more);
        sim->figures.joined_batches++;
        trace_action(sim, p, &more);
        queue(sim, p, &more);
    }
    if (sim_pick(sim, 0, 1) == 0) {
        dcli_node_pause(node, true);
        sim_post(&sim->clock, (sim_event){.kind = SIM_RESUME, .from = p, .to = p}, sim_pick(sim, 0, sim->slack));
    }
}

/* Check an action's peer: none goes to an absent one, and nothing is dropped for others. */
static void check_peer(struct sim *sim, int p, const dcli_action *action)
{
    static const bool speaks[] = {
        [DCLI_DO_PACK] = true,    [DCLI_DO_SEND] = true, [DCLI_DO_GRANT] = true,  [DCLI_DO_CREDIT] = true,
        [DCLI_DO_MARKS] = true,   [DCLI_DO_ASK] = true,  [DCLI_DO_RESULT] = true, [DCLI_DO_RETURNED] = true,
        [DCLI_DO_NOTHING] = true, [DCLI_DO_LEND] = true, [DCLI_DO_RECALL] = true, [DCLI_DO_DROP_LOAN] = false};
    if (speaks[action->kind] && !dcli_node_is_there(sim->node[p].node, action->peer))
        sim_wrong(&sim->data, "node %d speaks to %d, which is not there", p, action->peer);
    if (action->kind == DCLI_DO_DISCARD && !sim->node[p].missed[action->peer])
        sim_wrong(&sim->data, "node %d gives up what it made for %d, which is there", p, action->peer);
}

/* Whether a node may still use a storage for an operation before this one. */
static bool is_in_use(const struct sim *sim, int p, const dcli_operation *release)
{
    bool used = false;
    for (int64_t n = 1; n < release->number && !used; n++) {
        const dcli_operation *operation = &sim_step_of(sim->program, n)->operation;
        for (int k = 0; k < operation->operand_count; k++)
            used |= operation->operand[k].storage == release->operand[0].storage &&
                    (sim->node[p].stage[n - 1] == SIM_OPEN || sim->node[p].stage[n - 1] == SIM_FINISHED);
    }
    return used;
}

/* Check the ends of operations: nothing but borrowed batches comes after FINISH, nothing after RETIRE. A node evicts a body
 * when the last operation that runs it has retired, the host when that is complete; a node forgets a storage when its
 * RELEASE retires. */
static void check_ends(struct sim *sim, int p, const dcli_action *action)
{
    if (action->operation == NULL)
        return;
    int64_t number = action->operation->number;
    sim_stage *stage = &sim->node[p].stage[number - 1];
    bool borrowed = action->kind == DCLI_DO_RETIRE || (action->kind > DCLI_DO_ASK && action->kind < DCLI_DO_NOTHING);
    if (*stage == SIM_RETIRED || (*stage == SIM_FINISHED && !borrowed))
        sim_wrong(&sim->data, "node %d does something for operation %" PRId64 ", which it has %s", p, number,
                  *stage == SIM_RETIRED ? "retired" : "finished");
    if (*stage == SIM_NOTHING_DONE)
        *stage = SIM_OPEN;
    if (action->kind == DCLI_DO_FINISH || action->kind == DCLI_DO_RETIRE)
        *stage = action->kind == DCLI_DO_FINISH ? SIM_FINISHED : SIM_RETIRED;
    if (action->kind == DCLI_DO_RETIRE && action->operation->kind == DCLI_OP_RELEASE &&
        is_in_use(sim, p, action->operation))
        sim_wrong(&sim->data, "node %d retires operation %" PRId64 ", whose storage earlier ones name", p, number);
    if (action->kind == DCLI_DO_RUN && p != sim->host && dcli_node_is_there(sim->node[sim->host].node, p) &&
        number <= sim_complete(sim))
        sim_wrong(&sim->data, "node %d runs operation %" PRId64 ", which the host takes for complete", p, number);
}

static void act(struct sim *sim, int p, const dcli_action *action)
{
    const dcli_operation *operation = action->operation;
    trace_action(sim, p, action);
    check_peer(sim, p, action);
    check_ends(sim, p, action);
    if (action->kind == DCLI_DO_RUN_LOAN)
        sim_lend_check_run(sim, p, action);
    if (sim_lend_is(action->kind))
        sim_lend_act(sim, p, action);
    if (sim_lend_is(action->kind) && !sim_lend_is_task(action->kind))
        return;
    switch (action->kind) {
    case DCLI_DO_GRANT:
        send_grant(sim, p, action);
        break;
    case DCLI_DO_FAILED:
        send_failed(sim, p, action);
        break;
    case DCLI_DO_SEND:
        send_made(sim, p, action);
        break;
    case DCLI_DO_MARKS: /* also while batches run */
        send_marks(sim, p, action);
        break;
    case DCLI_DO_DROP:
        sim->node[p].pool -= sim_granted_bytes(sim_plan_of(&sim->data, operation, p)->plan, action->chunk);
        sim_drop(&sim->data, p, operation, action->chunk);
        break;
    case DCLI_DO_DISCARD:
        sim->node[p].made -= sim_plan_of(&sim->data, operation, p)->plan->chunk[action->chunk].bytes;
        sim_discard(&sim_plan_of(&sim->data, operation, p)->payload[action->chunk]);
        break;
    case DCLI_DO_RUN:
    case DCLI_DO_SKIP:
        sim->figures.batches++;
        sim->figures.cut_out += is_cut_out(sim, p, action);
        count_made(sim, p, action);
        if (action->kind == DCLI_DO_SKIP && p == sim->host)
            sim_verdict_failed(&sim->verdict, operation);
        queue(sim, p, action);
        run_more(sim, p, action);
        break;
    default:
        queue(sim, p, action);
    }
}

/* Check what the program sees after the host's node has acted. */
static void look_at_ends(struct sim *sim)
{
    int64_t done, ready;
    dcli_node_watermarks(sim->node[sim->host].node, &done, &ready);
    if (sim->holds && sim_is_quiet(sim)) {
        sim->holds = false;
        sim_post(&sim->clock, (sim_event){.kind = SIM_ISSUE}, 0);
    }
    for (; sim->checked < done && !sim_is_wrong(&sim->data); sim->checked++) {
        const sim_step *step = sim_step_of(sim->program, sim->checked + 1);
        if (step->operation.kind == DCLI_OP_READ)
            sim_verdict_read(&sim->verdict, &sim->data, step);
        if (sim->waits_for == sim->checked + 1) {
            sim->waits_for = 0;
            if (sim->issued < sim->program->step_count)
                sim_post(&sim->clock, (sim_event){.kind = SIM_ISSUE}, sim_pick(sim, 0, sim->think));
        }
    }
}

static void step_node(struct sim *sim, int p)
{
    struct sim_node *node = &sim->node[p];
    int64_t most = sim_pick(sim, 0, 3) == 0 ? sim_pick(sim, 1, 3) : INT64_MAX;
    node->step_posted = false;
    dcli_action action;
    if (sim->queues_little && node->running) { /* what is not started can be lent */
        if (!sim_lend_decide(sim, p, false))
            return;
        most = 1;
    }
    for (int64_t n = 0; n < most; n++) {
        if (sim_is_wrong(&sim->data))
            return;
        if (!dcli_node_next(node->node, &action)) {
            if (p == sim->host)
                look_at_ends(sim);
            if (!sim_lend_decide(sim, p, true))
                return;
            continue;
        }
        act(sim, p, &action);
        sim_lend_decide(sim, p, false);
        if (sim->queues_little && node->running)
            break;
    }
    sim_wake(sim, p);
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void issue(struct sim *sim)
{
    sim->holds = !sim_before_call(sim, sim->issued + 1);
    if (sim->holds)
        return;
    const sim_step *step = &sim->program->step[sim->issued++];
    sim->node[sim->host].seen++;
    sim_expect(sim, sim->host, dcli_node_operation(sim->node[sim->host].node, &step->operation));
    sim_wake(sim, sim->host);
    sim_verdict_issued(&sim->verdict, &step->operation);
    if (sim_needs_lost(sim, &step->operation))
        sim_verdict_cause(&sim->verdict, &step->operation, sim->host, sim->host);
    for (int p = 0; p < sim->peers; p++)
        if (sim_plan_of(&sim->data, &step->operation, p)->plan->status != DCL_OK)
            sim_verdict_cause(&sim->verdict, &step->operation, p, p);
    for (int p = 0; p < sim->host; p++) {
        if (!dcli_node_is_there(sim->node[sim->host].node, p))
            continue;
        int64_t delay = sim_pick(sim, 0, p == sim->slow ? 200 * sim->latency : sim->latency);
        sim->descriptors[p] = dcli_max(sim->descriptors[p], sim->clock.now + delay);
        sim_post(&sim->clock,
                 (sim_event){.kind = SIM_DESCRIPTOR,
                             .time = sim->descriptors[p],
                             .from = sim->host,
                             .to = p,
                             .operation = step->operation.number},
                 0);
    }
    if (step->waits)
        sim->waits_for = step->operation.number;
    else if (sim->issued < sim->program->step_count)
        sim_post(&sim->clock, (sim_event){.kind = SIM_ISSUE}, sim_pick(sim, 0, sim->think));
}

static dcl_status hear_failed(struct sim *sim, const sim_event *event)
{
    const dcli_operation *operation = sim_operation_of(sim, event->operation);
    int64_t storages[DCLI_MAX_PARAMS];
    int count = 0;
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].storage >= 0 && operation->operand[k].writes)
            storages[count++] = operation->operand[k].storage;
    if (event->to == sim->host)
        sim_verdict_failed(&sim->verdict, operation);
    dcli_node *node = sim->node[event->to].node;
    if (event->to != sim->host)
        return dcli_node_failed(node, event->from, event->operation, count, storages);
    dcli_failure_report report;
    dcl_status status = dcli_node_reported(node, event->from, event->operation, &report);
    if (report.is_news)
        tell_failure(sim, event->to, event->operation);
    return status;
}

static dcl_status hear_marks(struct sim *sim, const sim_event *event)
{
    dcli_node *node = sim->node[event->to].node;
    const int64_t *failures = event->count > 0 ? sim->marked + event->number : NULL;
    dcl_status status = dcli_node_marks_failures(node, event->from, (int)event->count, failures);
    if (event->to == sim->host)
        sim->ready[event->from] = event->ready;
    return status == DCL_OK ? dcli_node_marks(node, event->from, event->done, event->ready) : status;
}

static void arrive(struct sim *sim, const sim_event *event)
{
    sim_payload *payload = sim_payload_of(sim, event);
    if (sim->node[event->to].missed[event->from]) { /* too late */
        sim_discard(payload);
        return;
    }
    if (payload->arrived)
        sim_wrong(&sim->data, "chunk %" PRId64 " arrives twice", event->chunk);
    payload->arrived = true;
}

static dcl_status deliver(struct sim *sim, const sim_event *event)
{
    dcli_node *node = sim->node[event->to].node;
    switch (event->kind) {
    case SIM_DESCRIPTOR:
        sim->node[event->to].seen = event->operation;
        sim->node[event->to].asks_left = SIM_ASKS;
        return dcli_node_operation(node, sim_operation_of(sim, event->operation));
    case SIM_DONE:
        return dcli_node_batches_done(node, event->operation, event->number, event->count, DCL_OK);
    case SIM_MOVED:
        return dcli_node_chunk_done(node, event->operation, (int)event->chunk, event->written, event->status);
    case SIM_RESUME:
        dcli_node_hold(node, false);
        dcli_node_pause(node, false);
        return DCL_OK;
    case SIM_CHUNK:
        arrive(sim, event);
        return dcli_node_chunk(node, event->from, event->operation, event->written, event->number, event->status);
    case SIM_GRANT:
        return (event->status != DCL_OK ? dcli_node_decline : dcli_node_grant)(node, event->from, event->operation,
                                                                               event->number);
    case SIM_CREDIT:
        sim->channel[event->to * sim->peers + event->from].outstanding -= event->number;
        return dcli_node_credit(node, event->from, event->number);
    case SIM_FAILED:
        return hear_failed(sim, event);
    case SIM_HUNGRY:
    case SIM_NOTHING:
    case SIM_LENT:
    case SIM_LOAN:
    case SIM_RECALL:
    case SIM_RESULT:
    case SIM_LOAN_DONE:
        return sim_lend_deliver(sim, event);
    default:
        return hear_marks(sim, event);
    }
}

void sim_happen(struct sim *sim, const sim_event *event)
{
    trace_event(sim, event);
    if (!sim_takes_place(sim, event)) {
        if (event->kind == SIM_CHUNK)
            sim_discard(sim_payload_of(sim, event));
        return;
    }
    switch (event->kind) {
    case SIM_ISSUE:
        issue(sim);
        break;
    case SIM_STEP:
        step_node(sim, event->to);
        break;
    case SIM_EFFECT:
        do_tasks(sim, event->to);
        if (sim->queues_little)
            sim_wake(sim, event->to);
        break;
    case SIM_DIE:
        sim_die(sim, event->to);
        break;
    case SIM_LOST:
        sim_miss(sim, event);
        sim_wake(sim, event->to);
        break;
    case SIM_JOIN:
        sim_hear_join(sim, event);
        break;
    default:
        sim_expect(sim, event->to, deliver(sim, event));
        sim_wake(sim, event->to);
    }
}
