/* worker/hear.c - handle received messages. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "worker/account.h"
#include "worker/members.h"
#include "worker/order.h"
#include "worker/peer.h"
#include "worker/series.h"
#include "worker/shown.h"
#include "worker/stealing.h"
#include "worker/trace.h"
#include "worker/tree.h"

/* ---- operations --------------------------------------------------------------------------------------------------- */

static void count_planned(dcli_worker *worker, const dcli_entry *entry)
{
    if (worker->is_host)
        return;
    const dcl_counters *planned = &dcli_entry_plan(entry, worker->terms.self)->plan->counters;
    worker->counters.tasks += planned->tasks;
    worker->counters.blocks_moved += planned->blocks_moved;
    worker->counters.bytes_moved += planned->bytes_moved;
    worker->counters.messages_planned += planned->messages_planned;
    worker->counters.approximate += planned->approximate;
}

/* Pass an operation to the state machine. */
static dcl_status begin(dcli_worker *worker, dcli_entry *entry)
{
    dcli_replicas_begin(&worker->catalog.replicas, &entry->operation);
    dcl_status status = dcli_node_operation(worker->node, &entry->operation);
    if (status == DCL_OK)
        status = dcli_catalog_record_replicas(&worker->catalog, entry);
    if (status == DCL_OK)
        count_planned(worker, entry);
    return status;
}

dcl_status dcli_peer_operation(dcli_worker *worker, const dcli_msg_operation *descriptor, dcli_lent *lent,
                               const int64_t strides[], dcli_entry **entry_out)
{
    *entry_out = NULL;
    if (descriptor->number == 0) /* a storage from before this node joined */
        return dcli_catalog_know(&worker->catalog, descriptor);
    dcl_status status = dcli_catalog_add(&worker->catalog, descriptor, entry_out);
    if (status != DCL_OK)
        return status;
    dcli_entry *entry = *entry_out;
    if (lent != NULL) {
        entry->lent = dcli_lent_keep(lent);
        entry->more->region = (dcli_region){.box = entry->operation.box};
        memcpy(entry->more->region.step, strides, (size_t)entry->operation.box.rank * sizeof(int64_t));
    }
    return begin(worker, entry);
}

dcl_status dcli_peer_repeat(dcli_worker *worker, const dcli_msg_operation *descriptor, const dcli_entry *like,
                            int64_t number)
{
    dcli_entry *entry;
    dcl_status status = like != NULL ? dcli_catalog_repeat(&worker->catalog, like, number, &entry) : DCL_ERR_INVALID;
    if (status != DCL_ERR_INVALID)
        return status == DCL_OK ? begin(worker, entry) : status;
    dcli_msg_operation again = *descriptor;
    again.number = number;
    return dcli_peer_operation(worker, &again, NULL, NULL, &entry);
}

static bool is_builder(const dcli_worker *worker, const dcli_msg_kernel *message)
{
    for (int b = 0; b < message->builder_count; b++)
        if (message->builder[b] == worker->terms.self)
            return true;
    return false;
}

static dcl_status take_kernel(dcli_worker *worker, const dcli_msg_kernel *message)
{
    dcli_kernel *kernel;
    dcli_series_forget(worker, message->forgotten_count, message->forgotten);
    dcli_kernels_forget(&worker->catalog.kernels, message);
    if (dcli_kernels_find(&worker->catalog.kernels, message->kernel) != NULL)
        return DCL_OK; /* received again: by a joining node, or over another path of the tree */
    dcl_status status = dcli_kernels_add(&worker->catalog.kernels, message, &kernel);
    if (worker->is_host || !is_builder(worker, message))
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
    dcli_entry *entry[DCLI_MOST_OPERATIONS]; /* the operation of each descriptor; NULL: it is not open here */
    dcl_status status = dcli_order_check(message);
    for (dcli_ordered at = {0}; status == DCL_OK && dcli_order_next(message, &at);) {
        const dcli_msg_operation *descriptor = &message->operation[at.place];
        if (!at.repeats)
            entry[at.place] = NULL;
        if (dcli_tree_is(worker) && at.number > 0 && at.number <= worker->catalog.entries.last_operation)
            continue; /* the host sends messages again after a loss */
        status = at.repeats ? dcli_peer_repeat(worker, descriptor, entry[at.place], at.number)
                            : dcli_peer_operation(worker, descriptor, NULL, NULL, &entry[at.place]);
    }
    return status;
}

/* ---- messages of the host to all nodes, forwarded along the tree ---- */

static dcl_status take_word(dcli_worker *worker, dcli_message *message)
{
    dcl_status status = dcli_tree_is(worker) ? dcli_tree_send_down(worker, message) : DCL_OK;
    if (status != DCL_OK)
        return status;
    return message->kind == DCLI_MSG_KERNEL ? take_kernel(worker, &message->kernel)
                                            : take_operations(worker, &message->operations);
}

static bool knows_members(const dcli_worker *worker, const dcli_message *message)
{
    return message->kind != DCLI_MSG_OPERATIONS || message->operations.epoch <= worker->epoch;
}

/* Handle a message that the host sends to all nodes. Nodes handle these messages in the order of sending: if an earlier
 * one still waits, this one waits, too. */
static dcl_status hear_word(dcli_worker *worker, dcli_received *received)
{
    dcli_as_node *own = worker->as_node;
    if (own->waiting_count == 0 && knows_members(worker, &received->message))
        return take_word(worker, &received->message);
    size_t bytes = dcli_received_bytes(received);
    dcl_status status = dcli_account_check(worker, DCLI_USE_WAITING, bytes, "operations that wait for a member");
    if (status != DCL_OK)
        return status;
    if (dcli_grow(&own->waiting, own->waiting_count, &own->waiting_capacity, sizeof *received) != 0)
        return DCL_ERR_NOMEM;
    own->waiting_bytes += (int64_t)bytes;
    own->waiting[own->waiting_count++] = *received;
    *received = (dcli_received){0};
    return DCL_OK;
}

dcl_status dcli_hear_waiting(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    dcl_status status = DCL_OK;
    int64_t n = 0;
    for (; n < own->waiting_count && status == DCL_OK && knows_members(worker, &own->waiting[n].message); n++) {
        own->waiting_bytes -= (int64_t)dcli_received_bytes(&own->waiting[n]);
        status = take_word(worker, &own->waiting[n].message);
        dcli_received_free(&own->waiting[n]);
    }
    if (n == 0)
        return status; /* nothing was taken; `waiting` may be NULL, which memmove() does not accept */
    own->waiting_count -= n;
    memmove(own->waiting, own->waiting + n, (size_t)own->waiting_count * sizeof *own->waiting);
    return status;
}

/* Store a received chunk; takes over the message, whose payload is needed later. */
static dcl_status take_chunk(dcli_worker *worker, dcli_received *received)
{
    const dcli_msg_chunk *chunk = &received->message.chunk;
    if (__builtin_expect(worker->terms.trace != NULL, 0))
        dcli_trace_chunk(worker, DCLI_TRACE_ARRIVED, received->from, chunk->operation, chunk->stream != 0, chunk->chunk,
                         (int64_t)received->payload_bytes);
    dcl_status status = dcli_node_chunk(worker->node, received->from, chunk->operation, chunk->stream != 0,
                                        chunk->chunk, (dcl_status)chunk->status);
    if (status != DCL_OK)
        return status;
    dcli_stored_chunk *stored =
        dcli_chunks_add(&worker->received, received->from, chunk->operation, chunk->stream != 0, chunk->chunk);
    if (stored == NULL)
        return DCL_ERR_NOMEM;
    if (dcli_account_check(worker, DCLI_USE_RECEIVED, dcli_received_bytes(received), "data received") == DCL_OK) {
        dcli_chunks_hold(&worker->received, stored, received);
        return DCL_OK;
    }
    stored->problem = dcli_strdup(dcli_error_sentence());
    dcli_received_free(received);
    return DCL_OK; /* the operation that needs this chunk fails with the stored error */
}

static dcl_status take_marks(dcli_worker *worker, int from, const dcli_msg_marks *marks)
{
    if (marks->failure_count % 2 != 0 || (worker->is_host && marks->failure_count > 0))
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d says MARKS with %d numbers of failures; expected pairs, to nodes only", from,
                         marks->failure_count);
    dcl_status status = dcli_node_marks_failures(worker->node, from, marks->failure_count / 2, marks->failure);
    if (status == DCL_OK)
        status = dcli_node_marks(worker->node, from, marks->done, marks->ready);
    if (status == DCL_OK && worker->is_host)
        worker->terms.hooks->marks(worker->terms.hooks->user, from, marks->done, marks->ready, marks->counter);
    return status;
}

/* Host: a node reports that an operation failed. The arrays that fail are those that the operation writes. */
static dcl_status take_report(dcli_worker *worker, int from, const dcli_msg_failed *failed)
{
    dcli_failure_report report;
    dcl_status status = dcli_node_reported(worker->node, from, failed->operation, &report);
    dcli_msg_failed checked = *failed;
    checked.storage = report.storage;
    checked.storage_count = report.storage_count;
    if (status == DCL_OK && report.counts)
        worker->terms.hooks->failed(worker->terms.hooks->user, &checked);
    if (status == DCL_OK && report.is_news)
        status = dcli_tree_pass_on(worker, &checked);
    return status == DCL_OK ? dcli_tree_take_notice(worker, from) : status;
}

/* Host: a node reports an access outside of an array. The arrays concerned are those that the operation writes. */
static dcl_status take_stray(dcli_worker *worker, int from, const dcli_msg_report *stray)
{
    dcli_failure_report report;
    dcl_status status = dcli_node_written(worker->node, from, stray->operation, &report);
    dcli_msg_report checked = *stray;
    checked.storage = report.storage;
    checked.storage_count = report.storage_count;
    if (status == DCL_OK && report.counts)
        worker->terms.hooks->report(worker->terms.hooks->user, from, &checked);
    return status == DCL_OK ? dcli_tree_take_notice(worker, from) : status;
}

static dcl_status take_failed(dcli_worker *worker, int from, const dcli_msg_failed *failed)
{
    if (worker->is_host && failed->operation == 0 && worker->terms.is_process)
        return dcli_host_lose(worker, from, failed->sentence);
    if (worker->is_host && failed->operation == 0) {
        worker->terms.hooks->broken(worker->terms.hooks->user, (dcl_status)failed->status, failed->sentence);
        worker->broken = (dcl_status)failed->status;
        return DCL_OK;
    }
    if (worker->is_host)
        return take_report(worker, from, failed);
    dcl_status status = dcli_node_failed(worker->node, from, failed->operation, failed->storage_count, failed->storage);
    return status == DCL_OK ? dcli_tree_pass_on(worker, failed) : status;
}

static bool is_word(const dcli_message *message)
{
    return message->kind == DCLI_MSG_KERNEL || message->kind == DCLI_MSG_OPERATIONS;
}

/* Record the error for a message that the sender may not send: only the host may, or only nodes to the host; also if it
 * was forwarded without proof. */
static dcl_status unexpected(const dcli_received *received)
{
    return DCLI_FAIL(
        DCL_ERR_PROTOCOL,
        "peer %d sent a message %s, which it must not send%s; expected only what a node may say; it is taken "
        "for lost",
        received->from, dcli_message_name(received->message.kind),
        is_word(&received->message) ? ", or not without the host's proof" : "");
}

/* Whether the sender may send this message to this worker. @param believed  a KERNEL or OPERATIONS is proved to be the
 * host's. */
static bool is_expected(const dcli_worker *worker, const dcli_received *received, bool believed)
{
    bool from_host = received->from == worker->terms.node_count; /* never true at the host */
    if (dcli_loan_is_message(received->message.kind))
        return !worker->is_host && !from_host && worker->as_node->stealing != NULL;
    switch (received->message.kind) {
    case DCLI_MSG_KERNEL:
    case DCLI_MSG_OPERATIONS:
        return believed;
    case DCLI_MSG_GRANT:
    case DCLI_MSG_CHUNK:
    case DCLI_MSG_CREDIT:
    case DCLI_MSG_MARKS:
        return true;
    case DCLI_MSG_FAILED:
        return worker->is_host || from_host || received->from == dcli_tree_parent(worker, worker->terms.self);
    case DCLI_MSG_RISEN:
        return dcli_tree_is(worker) && !from_host;
    case DCLI_MSG_PART:
    case DCLI_MSG_FORGET:
        return !worker->is_host && !from_host;
    case DCLI_MSG_COUNT:
    case DCLI_MSG_TRACE:
    case DCLI_MSG_STOP:
    case DCLI_MSG_JOINED:
    case DCLI_MSG_SEES:
        return from_host;
    case DCLI_MSG_LOST:
        return worker->is_host || from_host;
    case DCLI_MSG_COUNTS:
    case DCLI_MSG_TRACED:
    case DCLI_MSG_BUILT:
    case DCLI_MSG_REPORT:
    case DCLI_MSG_DEVICE:
    case DCLI_MSG_REFUSED:
    case DCLI_MSG_SEEN:
        return worker->is_host;
    default:
        return false;
    }
}

/* Handle messages that nodes and host both receive: about operations and their data. */
static dcl_status hear_peer(dcli_worker *worker, dcli_received *received)
{
    const dcli_message *message = &received->message;
    int from = received->from;
    switch (message->kind) {
    case DCLI_MSG_RISEN:
        if (!worker->is_host)
            worker->as_node->host_due = true;
        return dcli_tree_take_risen(worker, from, &message->risen);
    case DCLI_MSG_GRANT:
        return (message->grant.declined ? dcli_node_decline : dcli_node_grant)(
            worker->node, from, message->grant.operation, message->grant.chunks);
    case DCLI_MSG_CHUNK:
        return take_chunk(worker, received);
    case DCLI_MSG_CREDIT:
        return dcli_node_credit(worker->node, from, message->credit.chunks);
    case DCLI_MSG_MARKS:
        return take_marks(worker, from, &message->marks);
    case DCLI_MSG_FAILED:
        return take_failed(worker, from, &message->failed);
    default:
        return unexpected(received);
    }
}

static dcl_status hear_as_node(dcli_worker *worker, dcli_received *received)
{
    const dcli_message *message = &received->message;
    switch (message->kind) {
    case DCLI_MSG_KERNEL:
    case DCLI_MSG_OPERATIONS:
        return hear_word(worker, received);
    case DCLI_MSG_COUNT:
        return dcli_take_count(worker, &message->count);
    case DCLI_MSG_TRACE:
        return dcli_take_trace(worker, &message->trace);
    case DCLI_MSG_STOP:
        worker->stopping = true;
        return DCL_OK;
    case DCLI_MSG_PART:
        return dcli_take_part(worker, received);
    case DCLI_MSG_FORGET:
        return dcli_take_forget(worker, received->from, &message->forget);
    case DCLI_MSG_LOST:
        return dcli_take_lost(worker, &message->lost);
    case DCLI_MSG_JOINED:
        return dcli_take_joined(worker, &message->joined);
    case DCLI_MSG_SEES:
        return dcli_take_sees(worker, &message->sees);
    default:
        return dcli_loan_is_message(message->kind) ? dcli_loan_hear(worker, received) : hear_peer(worker, received);
    }
}

static dcl_status hear_as_host(dcli_worker *worker, dcli_received *received)
{
    const dcli_message *message = &received->message;
    const dcli_host_hooks *hooks = worker->terms.hooks;
    const dcli_fleet_hooks *fleet = worker->terms.fleet;
    const char *wrong;
    int from = received->from;
    switch (message->kind) {
    case DCLI_MSG_COUNTS:
        dcli_host_counts(worker, from, &message->counts);
        return DCL_OK;
    case DCLI_MSG_TRACED:
        dcli_host_traced(worker, from, &message->traced);
        return DCL_OK;
    case DCLI_MSG_BUILT:
        hooks->built(hooks->user, &message->built);
        return DCL_OK;
    case DCLI_MSG_REPORT:
        return take_stray(worker, from, &message->report);
    case DCLI_MSG_LOST:
        return dcli_host_complaint(worker, from, &message->lost);
    case DCLI_MSG_DEVICE:
        wrong = fleet->described(fleet->user, from, &message->device);
        return wrong == NULL ? DCL_OK : dcli_host_lose(worker, from, wrong);
    case DCLI_MSG_REFUSED:
        fleet->refused(fleet->user, from, (dcl_status)message->refused.status, message->refused.sentence);
        return DCL_OK;
    case DCLI_MSG_SEEN:
        dcli_question_answer(worker, from, message->seen.number, message->seen.yes);
        return DCL_OK;
    default:
        return hear_peer(worker, received);
    }
}

/* Handle a message. A peer that violates the protocol is treated as lost; an invalid message of the host is this
 * worker's own failure. */
dcl_status dcli_hear(dcli_worker *worker, dcli_received *received)
{
    int from = received->from;
    if (worker->gone[from] && !worker->absent[from])
        return DCL_OK; /* sent before it was lost. Messages of a joining node that is not known here yet (`absent`)
                          are kept */
    bool believed = is_word(&received->message) && dcli_tree_believes(worker, from, &received->message);
    dcl_status status = !is_expected(worker, received, believed) ? unexpected(received)
                        : worker->is_host                        ? hear_as_host(worker, received)
                                                                 : hear_as_node(worker, received);
    return status == DCL_ERR_PROTOCOL && !believed ? dcli_peer_offends(worker, from) : status;
}
