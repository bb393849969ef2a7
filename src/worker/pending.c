/* worker/pending.c - actions that were started and have not ended, and the one that cannot start yet.
 *
 * The thread that serves a node does not wait for its device, except to load, save and compile, and to free stages when
 * memory is short. A device with memory of its own gets the commands of a pack or commit at once, in queues of their
 * own; when they are complete, the chunk is sent, or the commit counts. If the device works in host memory, the host
 * copies, and must not do so before the kernels concerned have ended. Until then the action is held, and the state
 * machine issues no other action that touches memory. */
#include <string.h>

#include "base/alloc.h"

#include "base/check.h"
#include "base/error.h"
#include "worker/exec_prepare.h"
#include "worker/peer.h"
#include "worker/plans.h"
#include "worker/process_data.h"
#include "worker/trace.h"
#include <assert.h>

/* ---- transfers under way ------------------------------------------------------------------------------------------ */

/* While no kernel runs, the watchdog limits the time of copies, too: a copy that never ends would otherwise be polled
 * for ever. */
static void watch_copies(dcli_worker *worker)
{
    if (worker->as_node->running_first == worker->as_node->running_count)
        dcli_exec_watch(worker);
}

dcl_status dcli_pending_add(dcli_worker *worker, const dcli_moving *moving)
{
    dcli_as_node *own = worker->as_node;
    if (dcli_grow(&own->moving, own->moving_count, &own->moving_capacity, sizeof *moving) != 0)
        return DCL_ERR_NOMEM;
    assert(moving->kind == DCLI_MOVING_PACK ? moving->ticket == 0 : moving->slot == NULL);
    own->moving[own->moving_count++] = *moving;
    if (own->moving_count == 1)
        watch_copies(worker);
    return DCL_OK;
}

static bool is_complete(dcli_as_node *own, const dcli_moving *moving, dcl_status *status_out)
{
    *status_out = moving->status;
    if (moving->kind == DCLI_MOVING_COMMIT)
        return dcli_device_has_unpacked(own->device, moving->ticket, status_out);
    if (moving->kind != DCLI_MOVING_PACK)
        return dcli_device_is_complete(own->device, moving->ticket, status_out);
    return moving->slot == NULL || dcli_slot_is_complete(moving->slot, status_out);
}

static dcl_status end_commit(dcli_worker *worker, const dcli_moving *moving, dcl_status status)
{
    if (status != DCL_OK)
        dcli_keep_problem(moving->entry);
    dcli_trace_moved(worker, moving);
    return dcli_node_chunk_done(worker->node, moving->entry->operation.number, moving->peer, true, status);
}

bool dcli_peer_sees_slots(const dcli_worker *worker, int peer)
{
    const dcli_node_ways *ways = worker->terms.ways;
    return !worker->terms.is_process &&
           (peer == worker->terms.node_count || dcli_ways_share(&ways[worker->terms.self], &ways[peer]));
}

static dcl_status end_pack(dcli_worker *worker, const dcli_moving *moving, dcl_status status)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, moving->entry->operation.number, moving->peer);
    size_t bytes = (size_t)plan->chunk[moving->chunk].bytes;
    void *packed = dcli_slot_leave(moving->slot);
    bool direct = packed != NULL;
    bool lent = status == DCL_OK && moving->slot != NULL && dcli_peer_sees_slots(worker, moving->peer) &&
                dcli_slot_lend(moving->slot);
    if (status == DCL_OK && !lent && !direct && (packed = dcli_buffers_take(worker->terms.buffers, bytes)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status != DCL_OK && moving->status == DCL_OK) {
        dcli_keep_problem(moving->entry);
        dcli_node_fail(worker->node, moving->entry->operation.number, status);
    }
    if (packed != NULL && !direct)
        dcli_helpers_copy(worker->process_data->helpers, packed, dcli_slot_host(moving->slot), bytes);
    if (!lent)
        dcli_slot_give(moving->slot);
    dcli_trace_moved(worker, moving);
    return dcli_peer_packed(worker, moving->entry, moving->peer, moving->chunk, packed, lent ? moving->slot : NULL,
                            status);
}

static bool has_crossed(void *worker, const dcli_stored_chunk *chunk)
{
    dcl_status unused;
    return dcli_device_has_taken(((dcli_worker *)worker)->as_node->device, chunk->crossing, &unused);
}

void dcli_pending_drop(dcli_worker *worker, dcli_stored_chunk *chunk)
{
    if (chunk != NULL && chunk->crossing != 0 && !has_crossed(worker, chunk))
        dcli_chunks_leave(&worker->received, chunk);
    else
        dcli_chunks_drop(&worker->received, chunk);
}

static dcl_status end_run(dcli_worker *worker, const dcli_moving *moving, dcl_status status)
{
    if (status != DCL_OK)
        dcli_keep_problem(moving->entry);
    return dcli_node_batches_done(worker->node, moving->entry->operation.number, moving->chunk, 1 + moving->more,
                                  status);
}

static dcl_status end(dcli_worker *worker, const dcli_moving *moving, dcl_status status)
{
    switch (moving->kind) {
    case DCLI_MOVING_PACK:
        return end_pack(worker, moving, status);
    case DCLI_MOVING_COMMIT:
        return end_commit(worker, moving, status);
    default:
        return end_run(worker, moving, status);
    }
}

/* Finish the actions that have ended on the device; actions of one kind end in order. */
dcl_status dcli_pending_collect(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    bool waits[DCLI_MOVING_KINDS] = {false};
    dcli_chunks_sweep(&worker->received, has_crossed, worker);
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < own->moving_count && status == DCL_OK;) {
        dcli_moving moving = own->moving[n];
        dcl_status ended;
        if (waits[moving.kind] || !is_complete(own, &moving, &ended)) {
            waits[moving.kind] = true;
            n++;
            continue;
        }
        own->moving_count--;
        own->asked_since_ns = 0;
        watch_copies(worker);
        memmove(own->moving + n, own->moving + n + 1, (size_t)(own->moving_count - n) * sizeof *own->moving);
        status = end(worker, &moving, ended);
    }
    return status;
}

void dcli_pending_free(dcli_as_node *own)
{
    for (int64_t n = 0; n < own->moving_count; n++)
        dcli_slot_give(own->moving[n].slot);
    dcli_free(own->moving);
}

/* ---- actions that must wait ---------------------------------------------------------------------------------------- */

void dcli_pending_update_hold(dcli_worker *worker)
{
    dcli_node_hold(worker->node, worker->as_node->held.operation != NULL || worker->as_node->passing > 0);
}

void dcli_pending_hold(dcli_worker *worker, const dcli_action *action)
{
    worker->as_node->held = *action;
    dcli_pending_update_hold(worker);
}

static bool is_settled(const dcli_known_storage *held, bool for_writing)
{
    return held == NULL || held->memory == NULL || dcli_memory_is_settled(held->memory, for_writing);
}

static bool chunk_must_wait(const dcli_action *action)
{
    const dcli_entry *entry = dcli_entry_of(action->operation);
    const dcli_plan *plan = dcli_entry_plan(entry, action->peer)->plan;
    const dcli_chunk *chunk = &plan->chunk[action->chunk];
    bool settled = true;
    int checked = -1;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && settled; i++) {
        int operand = dcli_plan_item_operand(plan, i);
        if (operand != checked)
            settled = is_settled(entry->held[operand], chunk->written);
        checked = operand;
    }
    return !settled;
}

/* Whether a batch must wait because its stages and those of running batches would together take too much memory: more
 * than 32 MB or, if that is more, the scratch memory of three such batches (one running, one queued, one being
 * started). A device with memory of its own fills the stages of a batch while the one before computes, however large
 * they are, if both fit into the pool; the stages of all its batches may take a 256th of its memory, so that elements arrive
 * while a long kernel runs. Never if no running batch has stages, or this one has none. */
static bool arenas_are_full(const dcli_worker *worker, const dcli_lowered *lowered)
{
    const dcli_as_node *own = worker->as_node;
    enum { MOST_BYTES = 32 << 20, MOST_SCRATCHES = 3, SHARE = 256 };
    const dcli_traits traits = dcli_exec_traits(worker);
    int64_t bytes = lowered->arena_bytes, taken = 0;
    int64_t most = dcli_max(MOST_BYTES, MOST_SCRATCHES * dcli_lowered_scratch_bytes(lowered, &traits));
    if (!dcli_device_in_place(own->device)) {
        most = dcli_max(most, dcli_min((int64_t)worker->terms.config->pool_bytes, 2 * bytes));
        int64_t memory = (int64_t)dcli_device_about(own->device)->memory_bytes, quota = worker->terms.quota_bytes;
        most = dcli_max(most, (quota > 0 ? dcli_min(quota, memory) : memory) / SHARE);
    }
    for (int64_t r = own->running_first; r < own->running_count && bytes > 0; r++)
        if (own->running[r].arena != NULL)
            taken += (int64_t)dcli_memory_bytes(own->running[r].arena);
    return taken > 0 && taken + bytes > most;
}

/* Whether earlier device commands on the replica of a stage have ended, so that the host may copy from it, or to it. */
static bool replica_is_settled(const dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage,
                               bool for_writing)
{
    const dcli_replica_memory *copy =
        dcli_replicas_find(&worker->catalog.replicas, &entry->operation, stage->operand, &stage->box);
    return copy == NULL || copy->memory == NULL || dcli_memory_is_settled(copy->memory, for_writing);
}

/* Whether the host may now make the copies of a route before the batch: the device has finished with both sides. */
static bool route_is_settled(const dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                             const dcli_route *route)
{
    bool settled =
        route->to.kind != DCLI_SPACE_REPLICA || replica_is_settled(worker, entry, &plan->stage[route->to.number], true);
    if (settled && route->from.kind == DCLI_SPACE_REPLICA)
        settled = replica_is_settled(worker, entry, &plan->stage[route->from.number], false);
    if (settled && route->from.kind == DCLI_SPACE_OWN)
        settled = is_settled(entry->held[route->operand], false);
    if (settled && route->to.kind == DCLI_SPACE_OWN)
        settled = is_settled(entry->held[route->operand], true);
    return settled;
}

bool dcli_pending_batch_must_wait(dcli_worker *worker, const dcli_job *job, const dcli_lowered *lowered)
{
    dcli_as_node *own = worker->as_node;
    const dcli_batch *batch = job->batch;
    if (arenas_are_full(worker, lowered))
        return true;
    if (!dcli_device_in_place(own->device))
        return (batch->stage_count > 0 || batch->made_count > 0) && dcli_slots_are_short(own->device);
    bool settled = true, busy = own->running_first < own->running_count;
    for (int64_t r = 0; busy && r < lowered->routes.count && settled; r++)
        if (lowered->routes.route[r].from.kind != DCLI_SPACE_STAGE)
            settled = route_is_settled(worker, job->entry, job->plan, &lowered->routes.route[r]);
    return !settled;
}

/* Whether the replicas of a move, and what it reads here, may be accessed now. */
static bool move_is_settled(const dcli_worker *worker, const dcli_entry *entry, const dcli_plan *plan,
                            const dcli_batch *batch)
{
    bool settled = true;
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count && settled; s++) {
        const dcli_stage *stage = &plan->stage[s];
        settled = stage->kind != DCLI_STAGE_NEW_REPLICA || replica_is_settled(worker, entry, stage, true);
        for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && settled; p++)
            if (plan->piece[p].kind == DCLI_SPACE_OWN)
                settled = is_settled(entry->held[stage->operand], false);
    }
    return settled;
}

/* Whether the host may now access the memory of an operation other than a loop body. */
static bool is_run_settled(const dcli_worker *worker, const dcli_action *action)
{
    const dcli_entry *entry = dcli_entry_of(action->operation);
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    switch (entry->operation.kind) {
    case DCLI_OP_FILL:
    case DCLI_OP_LOAD:
    case DCLI_OP_RELEASE:
        return is_settled(entry->held[0], true);
    case DCLI_OP_SAVE:
        return is_settled(entry->held[0], false);
    case DCLI_OP_MOVE:
        return move_is_settled(worker, entry, plan, &plan->batch[action->index]);
    default:
        return true;
    }
}

bool dcli_pending_must_wait(dcli_worker *worker, const dcli_action *action)
{
    bool moves = (action->kind == DCLI_DO_PACK || action->kind == DCLI_DO_COMMIT) && action->status == DCL_OK;
    bool runs = action->kind == DCLI_DO_RUN && action->operation->kind != DCLI_OP_FORALL;
    if (worker->is_host || (!moves && !runs))
        return false;
    if (!dcli_device_in_place(worker->as_node->device))
        return (moves || action->operation->kind == DCLI_OP_MOVE) && dcli_slots_are_short(worker->as_node->device);
    if (worker->as_node->running_first == worker->as_node->running_count)
        return false;
    return moves ? chunk_must_wait(action) : !is_run_settled(worker, action);
}
