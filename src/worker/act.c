/* worker/act.c - carry out the actions of the state machine; send messages. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "worker/peer.h"
#include "worker/series.h"
#include "worker/shown.h"
#include "worker/stealing.h"
#include "worker/trace.h"
#include "worker/tree.h"

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static bool is_question(dcli_message_kind kind)
{
    return kind == DCLI_MSG_COUNT || kind == DCLI_MSG_COUNTS || kind == DCLI_MSG_TRACE || kind == DCLI_MSG_TRACED;
}

/* Send a message. A broken connection is not reported here but when the endpoint receives its end; messages sent to it
 * are lost silently. */
dcl_status dcli_peer_send(dcli_worker *worker, int to, dcli_message *message, dcli_payload *payload)
{
    message->epoch = worker->terms.session;
    if (!worker->gone[to]) {
        worker->count_messages += is_question(message->kind);
        dcl_status status = dcli_endpoint_send(worker->endpoint, to, message, payload);
        return status == DCL_ERR_NETWORK && worker->terms.is_process ? DCL_OK : status;
    }
    if (payload != NULL && payload->release != NULL)
        payload->release(payload->bytes, payload->user);
    return DCL_OK;
}

void dcli_peer_counters(const dcli_worker *worker, int64_t counters_out[])
{
    dcl_counters counters = worker->counters;
    dcli_endpoint_counts(worker->endpoint, &counters.messages_sent, &counters.bytes_sent);
    counters.messages_sent -= worker->count_messages;
    memcpy(counters_out, &counters, DCLI_MSG_COUNTERS * sizeof(int64_t));
}

void dcli_peer_free_buffer(void *bytes, void *user)
{
    (void)user;
    dcli_buffers_give(bytes);
}

void dcli_peer_free_slot(void *bytes, void *user)
{
    (void)bytes;
    dcli_slot_give(user);
}

/* Send a chunk. Its data is in a buffer or in a slot lent to the receiver; both NULL: an empty chunk that carries
 * `status`. */
static dcl_status send_chunk(dcli_worker *worker, int to, const dcli_operation *operation, const dcli_chunk *chunk,
                             void *bytes, dcli_slot *slot, dcl_status status)
{
    dcli_message message = {
        .kind = DCLI_MSG_CHUNK,
        .chunk = {.operation = operation->number, .stream = chunk->written, .chunk = chunk->number, .status = status}};
    dcli_payload payload = {.bytes = bytes, .length = (size_t)chunk->bytes, .release = dcli_peer_free_buffer};
    if (__builtin_expect(worker->terms.trace != NULL, 0))
        dcli_trace_chunk(worker, DCLI_TRACE_SENT, to, operation->number, chunk->written, chunk->number,
                         bytes != NULL || slot != NULL ? chunk->bytes : 0);
    if (slot != NULL)
        payload = (dcli_payload){.bytes = dcli_slot_host(slot),
                                 .length = (size_t)chunk->bytes,
                                 .release = dcli_peer_free_slot,
                                 .user = slot};
    return dcli_peer_send(worker, to, &message, payload.bytes != NULL ? &payload : NULL);
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

void dcli_keep_problem(dcli_entry *entry)
{
    if (entry->problem == NULL)
        entry->problem = dcli_strdup(dcli_error_sentence());
}

static dcl_status publish_failure(dcli_worker *worker, const dcli_action *action)
{
    if (dcli_watch_is_given_up(worker->terms.watch)) /* the host has already told everyone that this node is lost */
        return DCL_OK;
    const dcli_entry *entry = dcli_entry_of(action->operation);
    int64_t storages[DCLI_MAX_PARAMS];
    char sentence[DCLI_MOST_SENTENCE] = "";
    const dcli_plan *own = dcli_node_plan(worker->node, entry->operation.number, worker->terms.self);
    const char *problem = entry->problem != NULL                 ? entry->problem
                          : own != NULL && own->status != DCL_OK ? own->problem
                          : action->status == DCL_ERR_NODE_LOST  ? "a part of an operand was on a node that is lost"
                                                                 : "an operand had failed before";
    if (worker->is_host)
        snprintf(sentence, sizeof sentence, "%s", problem);
    else
        snprintf(sentence, sizeof sentence, "node %d: %s", worker->terms.self, problem);
    dcli_message message = {.kind = DCLI_MSG_FAILED,
                            .failed = {.operation = entry->operation.number,
                                       .node = worker->terms.self,
                                       .status = action->status,
                                       .cause = action->cause,
                                       .storage = storages,
                                       .sentence = sentence}};
    for (int k = 0; k < entry->operation.operand_count; k++)
        if (entry->operation.operand[k].writes)
            storages[message.failed.storage_count++] = entry->operation.operand[k].storage;
    DCLI_LOG(worker->terms.log, DCLI_LOG_WARN, "operation %" PRId64 " failed: %s", entry->operation.number, sentence);
    if (!worker->is_host) {
        worker->as_node->notices++;
        return dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
    }
    worker->terms.hooks->failed(worker->terms.hooks->user, &message.failed);
    return dcli_tree_pass_on(worker, &message.failed);
}

void dcli_break_down(dcli_worker *worker, dcl_status status)
{
    if (worker->broken != DCL_OK)
        return;
    worker->broken = status;
    char sentence[DCLI_MOST_SENTENCE];
    if (worker->is_host) {
        worker->terms.hooks->broken(worker->terms.hooks->user, status, dcli_error_sentence());
        return;
    }
    snprintf(sentence, sizeof sentence, "node %d: %s", worker->terms.self, dcli_error_sentence());
    dcli_message message = {
        .kind = DCLI_MSG_FAILED, /* operation 0 means the node itself */
        .failed = {.node = worker->terms.self, .status = status, .cause = true, .sentence = sentence}};
    dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

/* ---- actions ------------------------------------------------------------------------------------------------------ */

/* On GPUs that read each other's memory: whether peers must not yet be told that an operation is done, because the
 * device still writes to parts that peers read in place, or because it is a move, which may still read parts of
 * peers. */
static bool peers_must_wait(const dcli_worker *worker, const dcli_entry *entry)
{
    bool settled = true;
    if (worker->is_host || !dcli_device_reads_peers(worker->as_node->device))
        return false;
    if (entry->operation.kind == DCLI_OP_MOVE)
        return true;
    for (int k = 0; k < entry->operation.operand_count && settled; k++)
        settled = entry->held[k] == NULL || entry->held[k]->memory == NULL ||
                  dcli_memory_is_settled(entry->held[k]->memory, false);
    return !settled;
}

static dcl_status end_later(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    dcli_moving moving = {.entry = entry,
                          .kind = DCLI_MOVING_RUN,
                          .chunk = action->index,
                          .ticket = dcli_device_launched(worker->as_node->device)};
    return dcli_pending_add(worker, &moving);
}

static dcl_status run_batch(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    dcli_start start;
    dcl_status status = dcli_exec_run(worker, entry, action->index, &start);
    if (status != DCL_OK)
        dcli_keep_problem(entry);
    else if (start == DCLI_START_NOT_YET)
        dcli_pending_hold(worker, action);
    else if (start == DCLI_START_RUNS && !worker->is_host)
        dcli_pending_update_hold(worker);
    if (status == DCL_OK && start != DCLI_START_ENDED)
        return DCL_OK;
    if (status == DCL_OK && peers_must_wait(worker, entry)) {
        if ((status = end_later(worker, entry, action)) == DCL_OK)
            return DCL_OK;
        dcli_keep_problem(entry);
    }
    return dcli_node_batch_done(worker->node, entry->operation.number, action->index, status);
}

static dcl_status pack(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    void *bytes = NULL;
    dcli_slot *slot = NULL;
    int64_t began_ns = dcli_trace_begin(worker);
    dcl_status status = action->status;
    if (status == DCL_OK) {
        status = dcli_exec_pack(worker, entry, action->peer, action->chunk, &bytes, &slot);
        if (status != DCL_OK) {
            dcli_keep_problem(entry);
            dcli_node_fail(worker->node, entry->operation.number, status);
        }
    }
    dcli_moving moving = {.entry = entry,
                          .peer = action->peer,
                          .chunk = action->chunk,
                          .slot = slot,
                          .status = status,
                          .began_ns = began_ns};
    /* The device has not filled the slot yet; or earlier actions, perhaps packs, have not ended, and chunks must be
     * sent in order. */
    if (slot != NULL || worker->as_node->moving_count > 0) {
        dcl_status added = dcli_pending_add(worker, &moving);
        if (added == DCL_OK)
            return DCL_OK;
        dcli_keep_problem(entry);
        dcli_node_fail(worker->node, entry->operation.number, added);
        dcli_slot_give(slot);
        status = added;
    }
    dcli_trace_moved(worker, &moving);
    return dcli_peer_packed(worker, entry, action->peer, action->chunk, bytes, NULL, status);
}

dcl_status dcli_peer_packed(dcli_worker *worker, dcli_entry *entry, int peer, int64_t chunk, void *bytes,
                            dcli_slot *slot, dcl_status status)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, entry->operation.number, peer);
    /* The device has finished the pack, so the kernels that made the data have ended, too. Collect their results first:
     * a failure must travel with the chunk. */
    if (status == DCL_OK && (status = dcli_exec_collect(worker)) == DCL_OK &&
        dcli_node_reads_failed(worker->node, entry->operation.number))
        status = DCL_ERR_INVALID;
    if (status != DCL_OK) {
        dcli_buffers_give(bytes);
        dcli_slot_give(slot);
        bytes = slot = NULL;
    }
    dcl_status sent = send_chunk(worker, peer, &entry->operation, &plan->chunk[chunk], bytes, slot, status);
    return sent == DCL_OK ? dcli_node_chunk_done(worker->node, entry->operation.number, peer, false, status) : sent;
}

static dcl_status send_made(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, entry->operation.number, worker->terms.self);
    dcli_stored_chunk *made =
        dcli_chunks_find(&worker->made, action->peer, entry->operation.number, true, action->chunk);
    void *bytes = NULL;
    dcli_slot *slot = NULL;
    dcl_status status = action->status;
    if (status == DCL_OK && made != NULL) {
        bytes = made->bytes;
        slot = made->slot;
        made->bytes = made->slot = NULL;
    }
    if (status == DCL_OK && bytes == NULL && slot == NULL)
        status = DCL_ERR_INTERNAL;
    dcli_chunks_drop(&worker->made, made);
    return send_chunk(worker, action->peer, &entry->operation, &plan->chunk[action->chunk], bytes, slot, status);
}

static dcl_status commit(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, entry->operation.number, action->peer);
    const dcli_chunk *chunk = &plan->chunk[action->chunk];
    dcli_stored_chunk *stored =
        dcli_chunks_find(&worker->received, action->peer, entry->operation.number, true, chunk->number);
    int64_t began_ns = dcli_trace_begin(worker);
    dcl_status status = action->status;
    if (status == DCL_OK) {
        status = dcli_exec_commit(worker, entry, action->peer, action->chunk, stored);
        if (status != DCL_OK)
            dcli_keep_problem(entry);
    }
    dcli_pending_drop(worker, stored); /* keeps the payload as long as the device still copies from it */
    dcli_moving moving = {
        .entry = entry, .kind = DCLI_MOVING_COMMIT, .peer = action->peer, .chunk = action->chunk, .began_ns = began_ns};
    if (status == DCL_OK && action->status == DCL_OK && !dcli_device_in_place(worker->as_node->device)) {
        moving.ticket = dcli_device_launched(worker->as_node->device);
        if ((status = dcli_pending_add(worker, &moving)) == DCL_OK)
            return DCL_OK;
        dcli_keep_problem(entry);
    }
    dcli_trace_moved(worker, &moving);
    return dcli_node_chunk_done(worker->node, entry->operation.number, action->peer, true, status);
}

static void drop(dcli_worker *worker, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, action->operation->number, worker->terms.self);
    const dcli_chunk *chunk = &plan->chunk[action->chunk];
    dcli_stored_chunk *stored =
        dcli_chunks_find(&worker->received, chunk->peer, action->operation->number, false, chunk->number);
    dcli_pending_drop(worker, stored);
}

/* Send watermarks. Those for the host are only noted: it needs few, so dcli_tell_host() sends the last ones when this
 * node is idle, or from time to time. */
static dcl_status send_marks(dcli_worker *worker, const dcli_action *action)
{
    _Static_assert(DCLI_MOST_MARKS_FAILURES == 2 * DCLI_MOST_TOLD_FAILURES,
                   "an operation and a storage for each failure");
    int64_t failures[DCLI_MOST_MARKS_FAILURES];
    dcli_message message = {.kind = DCLI_MSG_MARKS,
                            .marks = {.done = action->done,
                                      .ready = action->ready,
                                      .failure_count = 2 * action->failure_count,
                                      .failure = failures}};
    for (int n = 0; n < message.marks.failure_count; n++)
        failures[n] = action->failure[n];
    if (action->peer != worker->terms.node_count) {
        dcl_status status = worker->is_host ? DCL_OK : dcli_show_parts(worker, action->peer);
        return status == DCL_OK ? dcli_peer_send(worker, action->peer, &message, NULL) : status;
    }
    assert(!worker->is_host); /* the host sends itself no watermarks */
    worker->as_node->host_marks = (dcli_msg_marks){.done = action->done, .ready = action->ready};
    worker->as_node->host_due = true;
    return DCL_OK;
}

dcl_status dcli_tell_host(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    if (!own->host_due)
        return DCL_OK;
    own->host_due = false;
    own->host_told_ns = dcli_monotonic_ns();
    if (dcli_tree_is(worker))
        return dcli_tree_rise(worker);
    dcli_message message = {.kind = DCLI_MSG_MARKS, .marks = own->host_marks};
    dcli_peer_counters(worker, message.marks.counter);
    return dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

static void retire(dcli_worker *worker, dcli_entry *entry)
{
    dcli_known_storage *ended = entry->operation.kind == DCLI_OP_RELEASE ? entry->held[0] : NULL;
    dcli_catalog_retire(&worker->catalog, entry);
    if (ended == NULL)
        return;
    int64_t storage = ended->id;
    dcli_storage_table_drop(&worker->catalog.storage_table, ended);
    if (worker->terms.is_process && !worker->is_host) /* the host has no parts */
        dcli_address_table_drop(worker->terms.addresses, storage, -1);
}

/* Whether an action may use the device, or memory that it uses. Loop bodies are left out: dcli_exec_forall() decides. */
static bool uses_device(const dcli_action *action)
{
    switch (action->kind) {
    case DCLI_DO_RUN:
        return action->operation->kind != DCLI_OP_FORALL;
    case DCLI_DO_PACK:
    case DCLI_DO_SEND:
    case DCLI_DO_COMMIT:
        return true;
    default:
        return false;
    }
}

dcl_status dcli_perform(dcli_worker *worker, const dcli_action *action)
{
    dcli_entry *entry = dcli_entry_of(action->operation);
    dcli_message message = {0};
    if (!worker->is_host && uses_device(action))
        dcli_series_interrupt(worker);
    if (dcli_pending_must_wait(worker, action)) {
        dcli_pending_hold(worker, action);
        return DCL_OK;
    }
    if (!worker->is_host && __builtin_expect(worker->as_node->wait.begin_ns != 0, 0))
        dcli_trace_busy(worker);
    switch (action->kind) {
    case DCLI_DO_RUN:
        return run_batch(worker, entry, action);
    case DCLI_DO_SKIP:
        return DCL_OK;
    case DCLI_DO_PACK:
        assert(!worker->is_host); /* the host owns no elements that others read */
        return pack(worker, entry, action);
    case DCLI_DO_SEND:
        return send_made(worker, entry, action);
    case DCLI_DO_COMMIT:
        assert(!worker->is_host);
        return commit(worker, entry, action);
    case DCLI_DO_DROP:
        drop(worker, action);
        return DCL_OK;
    case DCLI_DO_DISCARD:
        dcli_chunks_drop(&worker->made,
                         dcli_chunks_find(&worker->made, action->peer, entry->operation.number, true, action->chunk));
        return DCL_OK;
    case DCLI_DO_GRANT:
        message = (dcli_message){.kind = DCLI_MSG_GRANT,
                                 .grant = {.operation = entry->operation.number,
                                           .chunks = action->index,
                                           .declined = action->status != DCL_OK}};
        return dcli_peer_send(worker, action->peer, &message, NULL);
    case DCLI_DO_CREDIT:
        message = (dcli_message){.kind = DCLI_MSG_CREDIT, .credit = {.chunks = action->index}};
        return dcli_peer_send(worker, action->peer, &message, NULL);
    case DCLI_DO_FAILED:
        return publish_failure(worker, action);
    case DCLI_DO_MARKS:
        return send_marks(worker, action);
    case DCLI_DO_FINISH:
        dcli_catalog_finish(&worker->catalog, entry);
        if (entry->operation.kind == DCLI_OP_RELEASE)
            dcli_drop_freed_parts(worker);
        return DCL_OK;
    case DCLI_DO_RETIRE:
        retire(worker, entry);
        return DCL_OK;
    default: /* lending */
        return dcli_loan_perform(worker, action);
    }
}
