/* worker/worker.c - the loop of a peer: messages in, the state machine's actions out. */
#include "worker/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "worker/peer.h"

/* ---- sending ------------------------------------------------------------------------------------------------------ */

dcl_status dcli_peer_send(dcli_worker *worker, int to, dcli_message *message, dcli_payload *payload)
{
    message->epoch = worker->terms.session;
    return dcli_endpoint_send(worker->endpoint, to, message, payload);
}

void dcli_peer_counters(const dcli_worker *worker, int64_t counters_out[])
{
    dcl_counters counters = worker->counters;
    dcli_endpoint_counts(worker->endpoint, &counters.messages_sent, &counters.bytes_sent);
    memcpy(counters_out, &counters, DCLI_MSG_COUNTERS * sizeof(int64_t));
}

static void free_payload(void *bytes, void *user)
{
    (void)user;
    dcli_buffers_give(bytes);
}

/* `bytes` NULL: an empty chunk that carries `status`. */
static dcl_status send_chunk(dcli_worker *worker, int to, const dcli_operation *operation, const dcli_chunk *chunk,
                             void *bytes, dcl_status status)
{
    dcli_message message = {
        .kind = DCLI_MSG_CHUNK,
        .chunk = {.operation = operation->number, .stream = chunk->written, .chunk = chunk->number, .status = status}};
    dcli_payload payload = {.bytes = bytes, .length = (size_t)chunk->bytes, .release = free_payload};
    return dcli_peer_send(worker, to, &message, bytes != NULL ? &payload : NULL);
}

/* ---- failures ----------------------------------------------------------------------------------------------------- */

static void keep_problem(dcli_entry *entry)
{
    if (entry->problem == NULL)
        entry->problem = dcli_strdup(dcli_error_sentence());
}

static dcl_status publish_failure(dcli_worker *worker, const dcli_action *action)
{
    const dcli_entry *entry = (const dcli_entry *)action->operation;
    int64_t storages[DCLI_MAX_PARAMS];
    char sentence[DCLI_MOST_SENTENCE] = "";
    const dcli_plan *own = dcli_node_plan(worker->node, entry->operation.number, worker->terms.self);
    const char *problem = entry->problem != NULL                 ? entry->problem
                          : own != NULL && own->status != DCL_OK ? own->problem
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
    dcl_status status = DCL_OK;
    for (int peer = 0; peer <= worker->terms.node_count && status == DCL_OK; peer++)
        if (peer != worker->terms.self)
            status = dcli_peer_send(worker, peer, &message, NULL);
    if (worker->is_host)
        worker->terms.hooks->failed(worker->terms.hooks->user, &message.failed);
    return status;
}

/* This worker cannot go on: say so once; from now on it only waits for the end. */
static void break_down(dcli_worker *worker, dcl_status status)
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
        .kind = DCLI_MSG_FAILED, /* operation 0: the node itself */
        .failed = {.node = worker->terms.self, .status = status, .cause = true, .sentence = sentence}};
    dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

/* ---- actions ------------------------------------------------------------------------------------------------------ */

static dcl_status run_batch(dcli_worker *worker, dcli_entry *entry, int64_t batch)
{
    bool ended = true;
    dcl_status status = dcli_exec_run(worker, entry, batch, &ended);
    if (status != DCL_OK)
        keep_problem(entry);
    if (status == DCL_OK && !ended)
        return DCL_OK;
    return dcli_node_batch_done(worker->node, entry->operation.number, batch, status);
}

static dcl_status pack(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, entry->operation.number, action->peer);
    const dcli_chunk *chunk = &plan->chunk[action->chunk];
    void *bytes = NULL;
    dcl_status status = action->status;
    if (status == DCL_OK) {
        status = dcli_exec_pack(worker, entry, plan, chunk, &bytes);
        if (status != DCL_OK) {
            keep_problem(entry);
            dcli_node_fail(worker->node, entry->operation.number, status);
        }
    }
    /* Packing waited for the kernels that made what was packed: now it is known whether these failed. */
    if (status == DCL_OK && (status = dcli_exec_collect(worker)) == DCL_OK &&
        dcli_node_reads_failed(worker->node, entry->operation.number))
        status = DCL_ERR_INVALID;
    if (status != DCL_OK) {
        dcli_buffers_give(bytes);
        bytes = NULL;
    }
    return send_chunk(worker, action->peer, &entry->operation, chunk, bytes, status);
}

static dcl_status send_made(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, entry->operation.number, worker->terms.self);
    dcli_kept_chunk *made = dcli_chunks_find(&worker->made, action->peer, entry->operation.number, true, action->chunk);
    void *bytes = NULL;
    dcl_status status = action->status;
    if (status == DCL_OK && made != NULL) {
        bytes = made->bytes;
        made->bytes = NULL;
    }
    if (status == DCL_OK && bytes == NULL)
        status = DCL_ERR_INTERNAL;
    dcli_chunks_drop(&worker->made, made);
    return send_chunk(worker, action->peer, &entry->operation, &plan->chunk[action->chunk], bytes, status);
}

static dcl_status commit(dcli_worker *worker, dcli_entry *entry, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, entry->operation.number, action->peer);
    const dcli_chunk *chunk = &plan->chunk[action->chunk];
    dcli_kept_chunk *kept =
        dcli_chunks_find(&worker->received, action->peer, entry->operation.number, true, chunk->number);
    dcl_status status = action->status, told = DCL_OK;
    if (status == DCL_OK) {
        status = dcli_exec_commit(worker, entry, plan, chunk, kept);
        if (status != DCL_OK) {
            keep_problem(entry);
            told = dcli_node_fail(worker->node, entry->operation.number, status);
        }
    }
    dcli_chunks_drop(&worker->received, kept);
    return told;
}

static void drop(dcli_worker *worker, const dcli_action *action)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, action->operation->number, worker->terms.self);
    const dcli_chunk *chunk = &plan->chunk[action->chunk];
    dcli_chunks_drop(&worker->received,
                     dcli_chunks_find(&worker->received, chunk->peer, action->operation->number, false, chunk->number));
}

/* The host waits for few of the watermarks it is told: it hears of them when there is nothing else to do, or now and
 * then. */
static dcl_status send_marks(dcli_worker *worker, const dcli_action *action)
{
    dcli_message message = {.kind = DCLI_MSG_MARKS, .marks = {.done = action->done, .ready = action->ready}};
    if (action->peer != worker->terms.node_count)
        return dcli_peer_send(worker, action->peer, &message, NULL);
    worker->host_marks = message.marks;
    worker->host_due = true;
    return DCL_OK;
}

static dcl_status tell_host(dcli_worker *worker)
{
    if (!worker->host_due)
        return DCL_OK;
    dcli_message message = {.kind = DCLI_MSG_MARKS, .marks = worker->host_marks};
    dcli_peer_counters(worker, message.marks.counter);
    worker->host_due = false;
    return dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

static void retire(dcli_worker *worker, dcli_entry *entry)
{
    dcli_held *ended = entry->operation.kind == DCLI_OP_RELEASE ? entry->held[0] : NULL;
    dcli_catalog_retire(&worker->catalog, entry);
    if (ended != NULL)
        dcli_catalog_drop(&worker->catalog, ended);
}

static dcl_status perform(dcli_worker *worker, const dcli_action *action)
{
    dcli_entry *entry = (dcli_entry *)action->operation;
    dcli_message message = {0};
    switch (action->kind) {
    case DCLI_DO_RUN:
        return run_batch(worker, entry, action->index);
    case DCLI_DO_SKIP:
        return DCL_OK;
    case DCLI_DO_PACK:
        return pack(worker, entry, action);
    case DCLI_DO_SEND:
        return send_made(worker, entry, action);
    case DCLI_DO_COMMIT:
        return commit(worker, entry, action);
    case DCLI_DO_DROP:
        drop(worker, action);
        return DCL_OK;
    case DCLI_DO_GRANT:
        message = (dcli_message){.kind = DCLI_MSG_GRANT,
                                 .grant = {.operation = entry->operation.number, .chunks = action->index}};
        return dcli_peer_send(worker, action->peer, &message, NULL);
    case DCLI_DO_CREDIT:
        message = (dcli_message){.kind = DCLI_MSG_CREDIT, .credit = {.chunks = action->index}};
        return dcli_peer_send(worker, action->peer, &message, NULL);
    case DCLI_DO_FAILED:
        return publish_failure(worker, action);
    case DCLI_DO_MARKS:
        return send_marks(worker, action);
    case DCLI_DO_RETIRE:
        retire(worker, entry);
        return DCL_OK;
    }
    return DCL_OK;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static const dcli_plan *plan_of(void *user, const dcli_operation *operation, int node)
{
    static bool nobody[DCLI_MOST_PEERS];
    static const dcli_plan nothing = {.peer_read = nobody};
    dcli_worker *worker = user;
    if (worker->is_host && operation->kind == DCLI_OP_FORALL)
        return &nothing; /* the host has no part of it */
    dcli_kept_plan *kept = dcli_catalog_plan(&worker->catalog, (dcli_entry *)operation, node);
    return kept != NULL ? kept->plan : NULL;
}

static void count_planned(dcli_worker *worker, const dcli_entry *entry)
{
    if (worker->is_host)
        return;
    const dcl_counters *planned = &entry->plan[worker->terms.self]->plan->counters;
    worker->counters.tasks += planned->tasks;
    worker->counters.blocks_moved += planned->blocks_moved;
    worker->counters.bytes_moved += planned->bytes_moved;
    worker->counters.approximate += planned->approximate;
}

dcl_status dcli_peer_operation(dcli_worker *worker, const dcli_msg_operation *descriptor, void *memory,
                               const int64_t strides[])
{
    dcli_entry *entry;
    dcl_status status = dcli_catalog_add(&worker->catalog, descriptor, &entry);
    if (status != DCL_OK)
        return status;
    if (memory != NULL) {
        entry->memory = memory;
        entry->region = (dcli_region){.box = entry->operation.box};
        memcpy(entry->region.step, strides, (size_t)entry->operation.box.rank * sizeof(int64_t));
    }
    status = dcli_node_operation(worker->node, &entry->operation);
    if (status == DCL_OK)
        count_planned(worker, entry);
    return status;
}

static dcl_status take_kernel(dcli_worker *worker, const dcli_msg_kernel *message)
{
    dcli_kernel *kernel;
    dcl_status status = dcli_catalog_add_kernel(&worker->catalog, message, &kernel);
    if (worker->is_host || !message->build)
        return status;
    if (status == DCL_OK)
        status = dcli_exec_build(worker, kernel);
    dcli_message answer = {.kind = DCLI_MSG_BUILT,
                           .built = {.kernel = message->kernel,
                                     .status = status,
                                     .sentence = status == DCL_OK ? "" : dcli_error_sentence()}};
    return dcli_peer_send(worker, worker->terms.node_count, &answer, NULL);
}

static dcl_status take_operations(dcli_worker *worker, const dcli_msg_operations *message)
{
    dcl_status status = DCL_OK;
    for (int n = 0; n < message->count && status == DCL_OK; n++)
        status = dcli_peer_operation(worker, &message->operation[n], NULL, NULL);
    return status;
}

/* Keeps the message: its payload is needed later. */
static dcl_status take_chunk(dcli_worker *worker, dcli_received *received)
{
    const dcli_msg_chunk *chunk = &received->message.chunk;
    dcl_status status = dcli_node_chunk(worker->node, received->from, chunk->operation, chunk->stream != 0,
                                        chunk->chunk, (dcl_status)chunk->status);
    if (status != DCL_OK)
        return status;
    dcli_kept_chunk *kept =
        dcli_chunks_add(&worker->received, received->from, chunk->operation, chunk->stream != 0, chunk->chunk);
    if (kept == NULL)
        return DCL_ERR_NOMEM;
    kept->received = *received;
    *received = (dcli_received){0};
    return DCL_OK;
}

static dcl_status take_marks(dcli_worker *worker, int from, const dcli_msg_marks *marks)
{
    dcl_status status = dcli_node_marks(worker->node, from, marks->done, marks->ready);
    if (status == DCL_OK && worker->is_host)
        worker->terms.hooks->marks(worker->terms.hooks->user, from, marks->done, marks->ready, marks->counter);
    return status;
}

static dcl_status take_failed(dcli_worker *worker, const dcli_msg_failed *failed)
{
    if (worker->is_host && failed->operation == 0) {
        worker->terms.hooks->broken(worker->terms.hooks->user, (dcl_status)failed->status, failed->sentence);
        worker->broken = (dcl_status)failed->status;
        return DCL_OK;
    }
    if (worker->is_host)
        worker->terms.hooks->failed(worker->terms.hooks->user, failed);
    return dcli_node_failed(worker->node, failed->operation, failed->storage_count, failed->storage,
                            (dcl_status)failed->status);
}

static dcl_status unexpected(const dcli_received *received)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d sent a message of kind %d, which it must not send", received->from,
                     received->message.kind);
}

static dcl_status take(dcli_worker *worker, dcli_received *received)
{
    const dcli_message *message = &received->message;
    bool from_host = received->from == worker->terms.node_count;
    switch (message->kind) {
    case DCLI_MSG_KERNEL:
        return from_host ? take_kernel(worker, &message->kernel) : unexpected(received);
    case DCLI_MSG_OPERATIONS:
        return from_host ? take_operations(worker, &message->operations) : unexpected(received);
    case DCLI_MSG_STOP:
        worker->stopping = from_host;
        return from_host ? DCL_OK : unexpected(received);
    case DCLI_MSG_GRANT:
        return dcli_node_grant(worker->node, received->from, message->grant.operation, message->grant.chunks);
    case DCLI_MSG_CHUNK:
        return take_chunk(worker, received);
    case DCLI_MSG_CREDIT:
        return dcli_node_credit(worker->node, received->from, message->credit.chunks);
    case DCLI_MSG_MARKS:
        return take_marks(worker, received->from, &message->marks);
    case DCLI_MSG_FAILED:
        return take_failed(worker, &message->failed);
    case DCLI_MSG_BUILT:
        if (!worker->is_host)
            return unexpected(received);
        worker->terms.hooks->built(worker->terms.hooks->user, &message->built);
        return DCL_OK;
    case DCLI_MSG_REPORT:
        if (!worker->is_host)
            return unexpected(received);
        worker->terms.hooks->report(worker->terms.hooks->user, received->from, &message->report);
        return DCL_OK;
    default:
        return unexpected(received);
    }
}

/* Messages that are there; waits for the first one. *any_out: there was one. */
static dcl_status receive(dcli_worker *worker, int milliseconds, bool *any_out)
{
    enum { MOST_AT_ONCE = 256 };
    for (int n = 0; n < MOST_AT_ONCE; n++) {
        dcli_received received = {0};
        dcl_status status = dcli_endpoint_receive(worker->endpoint, n == 0 ? milliseconds : 0, &received);
        if (status == DCL_ERR_TIMEOUT)
            return DCL_OK;
        *any_out = true;
        if (status == DCL_OK && worker->broken == DCL_OK)
            status = take(worker, &received);
        else if (status == DCL_OK && received.message.kind == DCLI_MSG_STOP)
            worker->stopping = true;
        if (received.frames != NULL)
            dcli_received_free(&received);
        if (status != DCL_OK)
            return status;
    }
    return DCL_OK;
}

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

static void wake(void *user) { dcli_endpoint_wake(user); }

/* Drivers of GPUs may take 20 ms to call back, and half a millisecond to answer that a launch has ended; waiting for it
 * returns at once. That is done where no other node can want anything meanwhile; else the device is asked, first often. */
static int wait_for_gpu(dcli_worker *worker)
{
    enum { ASK_OFTEN = 20000 };
    if (dcli_node_exchanges(worker->node))
        return worker->asked++ < ASK_OFTEN ? 0 : 1;
    dcli_device_finish(worker->device,
                       worker->running[worker->running_first].ticket); /* failures: dcli_exec_collect() */
    return 0;
}

/* How long the loop may sleep, in milliseconds: 0 when there is more to do. */
static int idle_time(dcli_worker *worker)
{
    if (worker->is_host)
        return dcli_host_may_sleep(worker) ? -1 : 0;
    if (worker->running_first == worker->running_count) {
        worker->asked = 0;
        return -1;
    }
    if (dcli_device_is_gpu(worker->device))
        return wait_for_gpu(worker);
    return dcli_device_notify(worker->device, wake, worker->endpoint) == DCL_OK ? -1 : 1;
}

static dcl_status act(dcli_worker *worker)
{
    dcli_action action;
    dcl_status status = DCL_OK;
    while (status == DCL_OK && dcli_node_next(worker->node, &action))
        status = perform(worker, &action);
    if (status == DCL_OK && !worker->is_host)
        status = dcli_device_flush(worker->device);
    return status;
}

static void tell_own_marks(dcli_worker *worker)
{
    int64_t done, ready, counters[DCLI_MSG_COUNTERS];
    dcli_node_watermarks(worker->node, &done, &ready);
    if (done == worker->marks_told[0] && ready == worker->marks_told[1])
        return;
    worker->marks_told[0] = done;
    worker->marks_told[1] = ready;
    dcli_peer_counters(worker, counters);
    worker->terms.hooks->marks(worker->terms.hooks->user, worker->terms.self, done, ready, counters);
}

static dcl_status step(dcli_worker *worker, bool *end_out)
{
    enum { TELL_HOST_STEPS = 4 };
    bool stop = false;
    dcl_status status = DCL_OK;
    if (worker->is_host)
        status = dcli_host_take(worker, &stop);
    else if (worker->broken == DCL_OK)
        status = dcli_exec_collect(worker);
    if (status == DCL_OK && worker->broken == DCL_OK)
        status = act(worker);
    if (worker->is_host && worker->broken == DCL_OK)
        tell_own_marks(worker);
    *end_out = worker->stopping || (stop && (worker->broken != DCL_OK || dcli_node_idle(worker->node)));
    if (status != DCL_OK || *end_out)
        return status;
    bool any = false;
    status = receive(worker, 0, &any);
    if (status == DCL_OK && (!any || ++worker->busy_steps % TELL_HOST_STEPS == 0))
        status = tell_host(worker);
    return status == DCL_OK && !any ? receive(worker, idle_time(worker), &any) : status;
}

static void *serve(void *argument)
{
    dcli_worker *worker = argument;
    bool end = false;
    while (!end) {
        dcl_status status = step(worker, &end);
        if (status != DCL_OK)
            break_down(worker, status);
    }
    dcli_message stop = {.kind = DCLI_MSG_STOP};
    for (int node = 0; worker->is_host && node < worker->terms.node_count; node++)
        dcli_peer_send(worker, node, &stop, NULL);
    /* Kernels may read peers' parts: nobody closes before all threads have ended. */
    if (!worker->is_host)
        dcli_device_finish(worker->device, dcli_device_launched(worker->device));
    return NULL;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static void set_fault(dcli_worker *worker)
{
    int node;
    long long count;
    const char *fault = worker->terms.config->fault;
    if (fault != NULL && sscanf(fault, "alloc node=%d count=%lld", &node, &count) == 2 && node == worker->terms.self)
        worker->fault_at = count;
}

static dcl_status open_node(dcli_worker *worker)
{
    enum { WINDOW_CHUNKS = 4 };
    const dcl_config *config = worker->terms.config;
    worker->plan_terms = (dcli_plan_terms){.node_count = worker->terms.node_count,
                                           .in_place = worker->terms.in_place,
                                           .batch_bytes = (int64_t)config->tile_bytes,
                                           .chunk_bytes = (int64_t)config->chunk_bytes,
                                           .pool_bytes = (int64_t)config->pool_bytes};
    dcli_catalog_init(&worker->catalog, worker->terms.self, &worker->plan_terms);
    dcli_node_terms terms = {.plan = worker->plan_terms,
                             .self = worker->terms.self,
                             .window_chunks = WINDOW_CHUNKS,
                             .made_bytes = (int64_t)config->pool_bytes,
                             .plan_of = plan_of,
                             .user = worker};
    worker->node = dcli_node_open(&terms);
    return worker->node != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

static void close_worker(dcli_worker *worker)
{
    for (int64_t r = worker->running_first; r < worker->running_count; r++) {
        dcli_memory_release(worker->running[r].report);
        dcli_memory_release(worker->running[r].arena);
    }
    dcli_free(worker->running);
    dcli_chunks_free(&worker->received);
    dcli_chunks_free(&worker->made);
    dcli_node_close(worker->node);
    if (worker->device != NULL)
        dcli_catalog_release_device(&worker->catalog);
    dcli_catalog_free(&worker->catalog);
    dcli_memory_release(worker->nothing);
    dcli_device_close(worker->device); /* waits for callbacks, which wake the endpoint */
    if (worker->endpoint != NULL)
        dcli_endpoint_close(worker->endpoint);
    if (worker->is_host)
        dcli_host_close(worker);
    dcli_free(worker);
}

static dcl_status open_worker(dcli_worker *worker)
{
    const dcli_worker_terms *terms = &worker->terms;
    dcl_status status = DCL_OK;
    if (worker->is_host)
        status = dcli_host_open(worker);
    else
        status = dcli_device_open(terms->device, terms->log, &worker->device);
    if (status == DCL_OK && !worker->is_host)
        status = dcli_memory_create(worker->device, 256, &worker->nothing);
    if (status == DCL_OK)
        status = dcli_endpoint_open(terms->net, terms->session, terms->self, terms->node_count + 1, &worker->endpoint);
    return status;
}

dcl_status dcli_worker_open(const dcli_worker_terms *terms, dcli_worker **worker_out)
{
    dcli_worker *worker = dcli_calloc(1, sizeof *worker);
    if (worker == NULL)
        return DCL_ERR_NOMEM;
    worker->terms = *terms;
    worker->is_host = terms->self == terms->node_count;
    set_fault(worker);
    dcl_status status = open_worker(worker);
    if (status != DCL_OK) {
        close_worker(worker);
        return status;
    }
    *worker_out = worker;
    return DCL_OK;
}

dcl_status dcli_worker_start(dcli_worker *worker)
{
    dcl_status status = open_node(worker);
    if (status != DCL_OK)
        return status;
    if (pthread_create(&worker->thread, NULL, serve, worker) != 0)
        return DCLI_FAIL(DCL_ERR_NOMEM, "a thread for node %d could not be started; close other programs",
                         worker->terms.self);
    worker->started = true;
    return DCL_OK;
}

void dcli_worker_join(dcli_worker *worker)
{
    if (worker != NULL && worker->started)
        pthread_join(worker->thread, NULL);
}

void dcli_worker_close(dcli_worker *worker)
{
    if (worker != NULL)
        close_worker(worker);
}

const dcl_device_info *dcli_worker_device(const dcli_worker *worker) { return dcli_device_about(worker->device); }

bool dcli_worker_in_place(const dcli_worker *worker) { return dcli_device_in_place(worker->device); }

const char *dcli_worker_kind(const dcli_worker *worker) { return dcli_device_kind(worker->device); }
