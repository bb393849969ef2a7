/* workqueue/node_failures.c - failures of operations: those of this peer, and those that it hears of. Other peers may
 * be hostile: a report is accepted only if its sender could know of the failure, and the host lets only those arrays
 * fail that an operation writes. */
#include "workqueue/node_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/search.h"

/* Record that the contents of a storage are undefined after an operation. */
static dcl_status record_failure(dcli_node *node, int64_t id, int64_t operation)
{
    dcli_storage *storage = dcli_storages_get(&node->storages, id);
    int64_t known = storage != NULL ? storage->failures.count : 0;
    if (storage == NULL || dcli_storage_fail(storage, operation) != DCL_OK)
        return DCL_ERR_NOMEM;
    if (storage->failures.count == known)
        return DCL_OK;
    storage->failed_at = ++node->failures_known;
    dcli_storage_prune(storage, node->first);
    return DCL_OK;
}

/* ---- the host's list of what operations write -------------------------------------------------------------------- */

static bool is_below(const void *entries, int64_t n, int64_t operation)
{
    return ((const struct dcli_written *)entries)[n].operation < operation;
}

static int64_t find_written(const dcli_node *node, int64_t operation)
{
    return dcli_lower_bound(node->written.entry, node->written.count, operation, is_below);
}

/* The last operation that is complete on all present peers. */
static int64_t all_complete(const dcli_node *node)
{
    int64_t complete = node->ready;
    for (int q = 0; q < node->terms.plan.node_count; q++)
        if (dcli_is_there(node, q))
            complete = dcli_min(complete, dcli_ready_of(node, q));
    return complete;
}

/* Forget complete operations. This is done only when the list has grown by about as many entries as the last time left,
 * and by 64 and one per node: constant cost per entry on average. */
static void forget_complete(dcli_node *node)
{
    enum { FEW = 64 };
    struct dcli_written_list *written = &node->written;
    if (written->count < FEW + node->terms.plan.node_count + written->forget_at)
        return;
    int64_t first = find_written(node, all_complete(node) + 1);
    written->count -= first;
    memmove(written->entry, written->entry + first, (size_t)written->count * sizeof *written->entry);
    written->forget_at = 2 * written->count;
}

dcl_status dcli_note_written(dcli_node *node, const dcli_operation *operation)
{
    struct dcli_written_list *written = &node->written;
    if (dcli_is_node(node, node->terms.self))
        return DCL_OK;
    forget_complete(node);
    for (int k = 0; k < operation->operand_count; k++) {
        if (operation->operand[k].storage < 0 || !operation->operand[k].writes)
            continue;
        if (dcli_grow(&written->entry, written->count, &written->capacity, sizeof *written->entry) != 0)
            return DCL_ERR_NOMEM;
        written->entry[written->count++] =
            (struct dcli_written){.operation = operation->number, .storage = operation->operand[k].storage};
    }
    return DCL_OK;
}

/* Record that an operation failed and that all nodes are told of it. @return false: it was recorded already, or the
 * operation writes no storage. */
static bool pass_on(dcli_node *node, int64_t operation)
{
    struct dcli_written_list *written = &node->written;
    bool news = false;
    for (int64_t n = find_written(node, operation); n < written->count && written->entry[n].operation == operation;
         n++) {
        news |= !written->entry[n].is_failed;
        written->entry[n].is_failed = true;
    }
    return news;
}

/* ---- own failures ------------------------------------------------------------------------------------------------ */

dcl_status dcli_tell_failed(dcli_node *node, struct dcli_open_op *op, dcl_status status, bool cause)
{
    if (op->told_failed)
        return DCL_OK;
    if (dcli_grow(&node->notice, node->notice_count, &node->notice_capacity, sizeof *node->notice) != 0)
        return DCL_ERR_NOMEM;
    node->notice[node->notice_count++] =
        (struct dcli_notice){.operation = op->number, .status = status, .cause = cause};
    op->told_failed = true;
    if (!dcli_is_node(node, node->terms.self))
        pass_on(node, op->number);
    for (int k = 0; k < op->operation->operand_count; k++) {
        const dcli_operand *operand = &op->operation->operand[k];
        if (operand->storage >= 0 && operand->writes && record_failure(node, operand->storage, op->number) != DCL_OK)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

/* ---- failures elsewhere ------------------------------------------------------------------------------------------ */

dcl_status dcli_node_written(const dcli_node *node, int from, int64_t operation, dcli_failure_report *report_out)
{
    *report_out = (dcli_failure_report){0};
    if (operation > node->seen)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d reports on operation %" PRId64 "; expected at most %" PRId64, from,
                         operation, node->seen);
    if (!dcli_is_there(node, from) || (operation <= dcli_ready_of(node, from) && operation <= all_complete(node)))
        return DCL_OK;
    report_out->counts = true;
    const struct dcli_written_list *written = &node->written;
    for (int64_t n = find_written(node, operation);
         n < written->count && written->entry[n].operation == operation && report_out->storage_count < DCLI_MAX_PARAMS;
         n++)
        report_out->storage[report_out->storage_count++] = written->entry[n].storage;
    return DCL_OK;
}

dcl_status dcli_node_reported(dcli_node *node, int from, int64_t operation, dcli_failure_report *report_out)
{
    dcl_status status = dcli_node_written(node, from, operation, report_out);
    if (status != DCL_OK || !report_out->counts)
        return status;
    report_out->is_news = pass_on(node, operation);
    for (int n = 0; n < report_out->storage_count; n++) {
        int64_t id = report_out->storage[n];
        if (dcli_storages_find(&node->storages, id) != NULL && record_failure(node, id, operation) != DCL_OK)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

/* Key of an entry in the list of failures that peers reported ahead of the operations. */
struct failure {
    int64_t operation, storage;
};

static bool is_before(const struct dcli_foretold *entry, struct failure failure)
{
    return entry->operation < failure.operation ||
           (entry->operation == failure.operation && entry->storage < failure.storage);
}

/* The index of the first entry of node->foretold that does not come before a failure. */
static int64_t find_foretold(const dcli_node *node, struct failure failure)
{
    int64_t low = 0, high = node->foretold.count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (is_before(&node->foretold.entry[middle], failure))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Keep a failure by an operation that this node has not seen, until dcli_take_foretold(): so far, no operation seen
 * here depends on it. Nothing is recorded for the storage before, because it may not exist; and each node may add only
 * DCLI_MOST_FORETOLD entries. */
static dcl_status foretell(dcli_node *node, int from, struct failure failure)
{
    struct dcli_foretold_list *list = &node->foretold;
    struct dcli_peer *peer = dcli_peer_record(node, from);
    int64_t at = find_foretold(node, failure);
    if (peer == NULL)
        return DCL_ERR_NOMEM;
    if (at < list->count && list->entry[at].operation == failure.operation &&
        list->entry[at].storage == failure.storage)
        return DCL_OK;
    if (peer->foretold >= DCLI_MOST_FORETOLD && dcli_is_node(node, from))
        return DCLI_FAIL(
            DCL_ERR_PROTOCOL,
            "peer %d tells of more than %d failures of operations that are not known here; expected fewer, "
            "as a node is not so far ahead",
            from, DCLI_MOST_FORETOLD);
    if (dcli_grow(&list->entry, list->count, &list->capacity, sizeof *list->entry) != 0)
        return DCL_ERR_NOMEM;
    memmove(list->entry + at + 1, list->entry + at, (size_t)(list->count - at) * sizeof *list->entry);
    list->entry[at] = (struct dcli_foretold){.operation = failure.operation, .storage = failure.storage, .from = from};
    list->count++;
    peer->foretold++;
    return DCL_OK;
}

dcl_status dcli_take_foretold(dcli_node *node, int64_t operation)
{
    struct dcli_foretold_list *list = &node->foretold;
    dcl_status status = DCL_OK;
    int64_t taken = 0;
    for (; taken < list->count && list->entry[taken].operation <= operation; taken++) {
        const struct dcli_foretold *entry = &list->entry[taken];
        dcli_peer_made(node, entry->from)->foretold--;
        if (status == DCL_OK && dcli_storages_find(&node->storages, entry->storage) != NULL)
            status = record_failure(node, entry->storage, entry->operation);
    }
    list->count -= taken;
    if (taken > 0)
        memmove(list->entry, list->entry + taken, (size_t)list->count * sizeof *list->entry);
    return status;
}

dcl_status dcli_node_failed(dcli_node *node, int from, int64_t operation, int count, const int64_t storages[])
{
    bool from_start = operation >= node->terms.first_operation;
    dcl_status status = DCL_OK;
    if (!from_start && dcli_is_node(node, from))
        return DCL_OK;
    for (int s = 0; s < count && status == DCL_OK; s++)
        if (operation > node->seen)
            status = foretell(node, from, (struct failure){operation, storages[s]});
        else if (!from_start || dcli_storages_find(&node->storages, storages[s]) != NULL) /* it was not released */
            status = record_failure(node, storages[s], operation);
    return status;
}

dcl_status dcli_node_marks_failures(dcli_node *node, int from, int count, const int64_t failures[])
{
    dcl_status status = DCL_OK;
    for (int n = 0; n < count && status == DCL_OK; n++)
        status = dcli_node_failed(node, from, failures[2 * n], 1, &failures[2 * n + 1]);
    return status;
}
