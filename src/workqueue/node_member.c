/* workqueue/node_member.c - peers that join and peers that are lost. As node.h says, nobody waits for an absent peer,
 * and operations that need one fail. */
#include "workqueue/node_inside.h"

#include <inttypes.h>

#include "base/error.h"

bool dcli_op_misses_part(const dcli_node *node, const dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_layout *layout = operation->operand[k].layout;
        for (int64_t n = 0; operation->operand[k].storage >= 0 && n < node->absent.count; n++)
            if (dcli_layout_owned(layout, node->absent.node[n]) > 0)
                return true;
    }
    return false;
}

/* ---- removing a peer from an operation --------------------------------------------------------------------------- */

static bool is_granted(const dcli_node *node, const struct dcli_open_op *op, int64_t chunk)
{
    return op->number < node->grant_op || (op->number == node->grant_op && chunk < node->grant_chunk);
}

/* Count the chunks that a lost peer can no longer send as arrived and dropped. Chunks that did arrive stay until their
 * batches end. */
static void end_reading(dcli_node *node, struct dcli_open_op *op, int q)
{
    for (int64_t c = op->drop_from; c < op->own->chunk_count; c++) {
        const dcli_chunk *chunk = &op->own->chunk[c];
        if (chunk->written || chunk->peer != q || op->arrived[c])
            continue;
        op->arrived[c] = op->dropped[c] = true;
        op->transfers--;
        if (is_granted(node, op, c))
            node->pool_used -= dcli_granted_bytes(op, c);
    }
}

void dcli_op_part_from(dcli_node *node, struct dcli_open_op *op, int q)
{
    struct dcli_exchange *exchange = dcli_exchange_of(op, q);
    if (exchange == NULL)
        return;
    end_reading(node, op, q);
    op->transfers -= exchange->send.total - exchange->send.passed;
    exchange->send.total = exchange->send.granted = exchange->send.passed;
    /* Written chunks of the peer that have arrived are still passed to the executor with the operation's failure, so
     * that it frees them. */
    op->transfers -= exchange->receive.total - exchange->receive.granted;
    op->uncommitted -= exchange->receive.total - exchange->receive.granted;
    exchange->receive.total = exchange->receive.granted;
    exchange->grant_due = exchange->grant_told;
}

dcl_status dcli_op_fail_lost(dcli_node *node, struct dcli_open_op *op)
{
    if (op->operation->kind == DCLI_OP_RELEASE || op->operation->kind == DCLI_OP_DROP)
        return DCL_OK; /* these only free memory, which needs no absent peer */
    op->lost = true;
    if (op->skip == DCL_OK)
        op->skip = DCL_ERR_NODE_LOST;
    return dcli_tell_failed(node, op, DCL_ERR_NODE_LOST, true);
}

/* ---- a peer is lost ---------------------------------------------------------------------------------------------- */

/* Whether an open operation still has own batches to end, or output of peer q to commit: only then does it fail if q is
 * lost. */
static bool is_unfinished(const struct dcli_open_op *op, int q)
{
    if (op->ended < op->own->batch_count)
        return true;
    const struct dcli_exchange *exchange = dcli_exchange_of(op, q);
    return exchange != NULL && exchange->receive.passed < exchange->receive.total;
}

static dcl_status refuse_peer(const dcli_node *node, int peer, const char *what)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d is said to have %s; expected another node than %d of %d", peer, what,
                     node->terms.self, node->terms.plan.node_count);
}

dcl_status dcli_node_lost(dcli_node *node, int peer)
{
    if (peer < 0 || peer >= node->terms.plan.node_count || peer == node->terms.self)
        return refuse_peer(node, peer, "been lost");
    struct dcli_peer *lost = dcli_peer_record(node, peer);
    if (lost == NULL)
        return DCL_ERR_NOMEM;
    if (lost->presence == DCLI_LOST)
        return DCL_OK;
    if (dcli_node_list_add(&node->absent, peer) != DCL_OK)
        return DCL_ERR_NOMEM;
    node->sender = 0; /* what waits for the peer is discarded */
    dcli_lending_lost(node, peer);
    dcli_node_list_drop(&node->creditors, peer);
    *lost = (struct dcli_peer){.presence = DCLI_LOST,
                               .done = INT64_MAX,
                               .ready = INT64_MAX,
                               .foretold = lost->foretold,
                               .outbox = lost->outbox};
    dcl_status status = DCL_OK;
    for (int64_t n = node->first; n <= node->seen; n++) {
        struct dcli_open_op *op = dcli_op_find(node, n);
        bool fails = is_unfinished(op, peer) && dcli_op_misses_part(node, op->operation);
        dcli_op_part_from(node, op, peer);
        dcl_status told = fails ? dcli_op_fail_lost(node, op) : DCL_OK;
        if (status == DCL_OK)
            status = told;
    }
    return status;
}

/* ---- a peer joins ------------------------------------------------------------------------------------------------ */

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* At the host, check that all operations before a newcomer's first one are complete: the newcomer assumes that they are
 * ready everywhere. Nodes do not check. */
static dcl_status check_all_over(const dcli_node *node, int64_t last)
{
    int64_t ready = node->ready;
    for (int q = 0; q < node->terms.plan.node_count; q++)
        if (dcli_is_there(node, q) && dcli_ready_of(node, q) < ready)
            ready = dcli_ready_of(node, q);
    if (dcli_is_node(node, node->terms.self) || ready >= last)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_PROTOCOL,
                     "a node joins after operation %" PRId64 ", but only those up to %" PRId64
                     " are over; expected the "
                     "host to wait for them",
                     last, ready);
}

dcl_status dcli_node_joined(dcli_node *node, int peer, int64_t first_operation)
{
    if (peer < 0 || peer >= node->terms.plan.node_count || peer == node->terms.self)
        return refuse_peer(node, peer, "joined");
    struct dcli_peer *joined = dcli_peer_record(node, peer);
    if (joined == NULL)
        return DCL_ERR_NOMEM;
    if (joined->presence == DCLI_LOST)
        return DCL_OK;
    if (joined->presence == DCLI_THERE || first_operation <= node->seen)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "node %d is said to join at operation %" PRId64 "; expected one that is not there, and an "
                         "operation after %" PRId64,
                         peer, first_operation, node->seen);
    int64_t over = first_operation - 1; /* the newcomer begins with the same watermarks for us */
    dcl_status status = check_all_over(node, over);
    if (status != DCL_OK)
        return status;
    dcli_node_list_drop(&node->absent, peer);
    *joined = (struct dcli_peer){.done = later(over, joined->early_done),
                                 .ready = later(over, joined->early_ready),
                                 .told_done = over,
                                 .told_ready = over,
                                 .early_grants = joined->early_grants,
                                 .foretold = joined->foretold,
                                 .uncommitted = joined->uncommitted,
                                 .outbox = joined->outbox};
    return DCL_OK;
}

bool dcli_node_is_there(const dcli_node *node, int peer) { return dcli_is_there(node, peer); }
