/* workqueue/node_rules.c - decides whether the conditions of an action hold, and advances the watermarks. */
#include "workqueue/node_inside.h"

/* Whether peer q has finished reading our part for operation m. If q reads in place, this follows from its watermark;
 * otherwise the packing of all its chunks must have been started, and later actions of this node do not overtake a
 * pack. */
static bool has_read(const dcli_node *node, int q, int64_t m)
{
    if (m < 1)
        return true;
    if (dcli_reads_in_place(node, q))
        return dcli_peer_seen(node, q)->done >= m;
    const struct dcli_open_op *op = dcli_op_find(node, m);
    const struct dcli_exchange *exchange = op != NULL ? dcli_exchange_of(op, q) : NULL;
    return exchange == NULL || exchange->send.passed == exchange->send.total;
}

/* Whether all elements that peer q wrote to our part in operation m are committed. */
static bool has_committed(const dcli_node *node, int q, int64_t m)
{
    const struct dcli_open_op *op = m < 1 ? NULL : dcli_op_find(node, m);
    const struct dcli_exchange *exchange = op != NULL ? dcli_exchange_of(op, q) : NULL;
    return exchange == NULL || exchange->receive.ended == exchange->receive.total;
}

bool dcli_need_is_met(const dcli_node *node, const struct dcli_need *need)
{
    switch (need->kind) {
    case DCLI_NEED_COMMIT:
        return has_committed(node, need->peer, need->operation);
    case DCLI_NEED_READY:
        return need->peer == node->terms.self || need->operation <= dcli_ready_of(node, need->peer);
    default:
        return has_read(node, need->peer, need->operation);
    }
}

bool dcli_needs_met(const dcli_node *node, struct dcli_open_op *op, enum dcli_need_kind kind, int peer)
{
    for (int64_t n = 0; n < op->need_count;) {
        const struct dcli_need *need = &op->need[n];
        if (need->kind != kind || (peer >= 0 && need->peer != peer))
            n++;
        else if (dcli_need_is_met(node, need))
            op->need[n] = op->need[--op->need_count];
        else
            return false;
    }
    return true;
}

bool dcli_commits_met(const dcli_node *node, struct dcli_open_op *op)
{
    return dcli_needs_met(node, op, DCLI_NEED_COMMIT, -1);
}

bool dcli_writes_allowed(const dcli_node *node, struct dcli_open_op *op)
{
    return dcli_needs_met(node, op, DCLI_NEED_READ, -1) && dcli_commits_met(node, op);
}

bool dcli_reads_allowed(const dcli_node *node, struct dcli_open_op *op)
{
    return dcli_needs_met(node, op, DCLI_NEED_READY, -1);
}

dcl_status dcli_op_inputs(const dcli_node *node, const struct dcli_open_op *op)
{
    if (op->lost)
        return DCL_ERR_NODE_LOST;
    for (int k = 0; node->failures_known > 0 && k < op->operation->operand_count; k++) {
        const dcli_operand *operand = &op->operation->operand[k];
        if (operand->storage < 0 || !operand->reads)
            continue;
        const dcli_storage *storage = dcli_storages_find(&node->storages, operand->storage);
        if (storage != NULL && dcli_storage_failed(storage, op->number))
            return DCL_ERR_INVALID;
    }
    return DCL_OK;
}

/* ---- watermarks -------------------------------------------------------------------------------------------------- */

static bool has_outputs(const struct dcli_open_op *op)
{
    for (int k = 0; k < op->operation->operand_count; k++)
        if (op->operation->operand[k].writes)
            return true;
    return false;
}

/* Record that an operation is done here. The owners of parts that it read in place may be waiting for this before they
 * are ready. */
static void owe_done(dcli_node *node, const struct dcli_open_op *op)
{
    for (int64_t n = 0; n < op->own->reads.count; n++)
        dcli_peer_made(node, op->own->reads.node[n])->owed_done = op->number;
    node->listener = 0;
}

void dcli_advance_marks(dcli_node *node)
{
    for (; node->done < node->seen; node->done++) {
        const struct dcli_open_op *op = dcli_op_find(node, node->done + 1);
        if (op != NULL && op->read < op->own->batch_count)
            break;
        if (op != NULL)
            owe_done(node, op);
    }
    for (; node->ready < node->done; node->ready++, node->listener = 0) {
        struct dcli_open_op *op = dcli_op_find(node, node->ready + 1);
        if (op != NULL && op->ended < op->own->batch_count)
            return;
        if (op != NULL && op->uncommitted > 0)
            return;
        /* this node reports that an input has failed even if it has no batches of the operation; otherwise it would
         * depend on the order of messages which arrays fail */
        if (op != NULL && has_outputs(op) && dcli_op_inputs(node, op) != DCL_OK)
            dcli_tell_failed(node, op, DCL_ERR_INVALID, false);
    }
}
