/* workqueue/node_open.c - adds an operation to the state machine: finds the chunks to exchange with each peer, and the
 * earlier operations that it must wait for. */
#include "workqueue/node_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void dcli_op_free(const dcli_node *node, struct dcli_open_op *op)
{
    for (int q = 0; op->exchange != NULL && q < node->peers; q++) {
        dcli_free(op->exchange[q].send.chunk);
        dcli_free(op->exchange[q].receive.chunk);
        dcli_free(op->exchange[q].receive.status);
    }
    dcli_free(op->exchange);
    dcli_free(op->need);
    dcli_free(op);
}

static dcl_status collect(const dcli_plan *plan, int peer, bool written, struct dcli_stream *stream)
{
    int64_t total = 0;
    for (int64_t c = 0; c < plan->chunk_count; c++)
        total += plan->chunk[c].peer == peer && plan->chunk[c].written == written;
    if (total == 0)
        return DCL_OK;
    stream->chunk = dcli_malloc((size_t)total * sizeof *stream->chunk);
    if (stream->chunk == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t c = 0; c < plan->chunk_count; c++)
        if (plan->chunk[c].peer == peer && plan->chunk[c].written == written)
            stream->chunk[stream->total++] = c;
    if (written) {
        stream->status = dcli_calloc((size_t)total, sizeof *stream->status);
        if (stream->status == NULL)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

/* Whether this peer can exchange data with others in this operation. The host takes no part in a forall or a move. */
static bool exchanges(const dcli_node *node, const struct dcli_open_op *op)
{
    bool among_nodes = op->operation->kind == DCLI_OP_FORALL || op->operation->kind == DCLI_OP_MOVE;
    return !op->own->local && (dcli_is_node(node, node->terms.self) || !among_nodes);
}

/* Compute the streams to send to and to receive from other peers, from their plans. */
static dcl_status meet_peers(dcli_node *node, struct dcli_open_op *op)
{
    bool transfer = op->operation->kind == DCLI_OP_READ || op->operation->kind == DCLI_OP_WRITE;
    op->exchange = dcli_calloc((size_t)node->peers, sizeof *op->exchange);
    if (op->exchange == NULL)
        return DCL_ERR_NOMEM;
    for (int q = 0; q < node->peers; q++) {
        struct dcli_exchange *exchange = &op->exchange[q];
        if (q == node->terms.self || transfer == dcli_is_node(node, q) || !dcli_is_there(node, q))
            continue; /* host transfers exchange data with the host only, other operations with nodes only */
        exchange->plan = node->terms.plan_of(node->terms.user, op->operation, q);
        if (exchange->plan == NULL || collect(exchange->plan, node->terms.self, false, &exchange->send) != DCL_OK ||
            collect(exchange->plan, node->terms.self, true, &exchange->receive) != DCL_OK)
            return DCL_ERR_NOMEM;
        op->transfers += exchange->send.total + exchange->receive.total;
    }
    return DCL_OK;
}

static void raise(int64_t *value, int64_t to)
{
    if (*value < to)
        *value = to;
}

static dcl_status add_need(const dcli_node *node, struct dcli_open_op *op, enum dcli_need_kind kind, int peer,
                           int64_t operation)
{
    struct dcli_need need = {.kind = kind, .peer = peer, .operation = operation};
    if (operation < 1 || dcli_need_is_met(node, &need))
        return DCL_OK;
    if (dcli_grow(&op->need, op->need_count, &op->need_capacity, sizeof need) != 0)
        return DCL_ERR_NOMEM;
    op->need[op->need_count++] = need;
    return DCL_OK;
}

static dcl_status note_storage(dcli_node *node, struct dcli_open_op *op, int64_t id, bool writes)
{
    const dcli_storage *storage = dcli_storages_get(&node->storages, id);
    dcl_status status = storage == NULL ? DCL_ERR_NOMEM : DCL_OK;
    for (int q = 0; q < node->peers && status == DCL_OK; q++) {
        status = add_need(node, op, DCLI_NEED_COMMIT, q, storage->last_write_by[q]);
        if (status == DCL_OK && writes)
            status = add_need(node, op, DCLI_NEED_READ, q, storage->last_read_by[q]);
        if (status == DCL_OK && op->own->peer_read[q])
            status = add_need(node, op, DCLI_NEED_READY, q, storage->last_write);
        if (status == DCL_OK && op->exchange != NULL && op->exchange[q].send.total > 0)
            status = add_need(node, op, DCLI_NEED_PACK, q, storage->last_read_by[q]);
    }
    return status;
}

/* List the conditions of the operation from what earlier operations recorded for its storages. */
static dcl_status note_needs(dcli_node *node, struct dcli_open_op *op)
{
    const dcli_operand *operand = op->operation->operand;
    dcl_status status = DCL_OK;
    for (int k = 0; k < op->operation->operand_count && status == DCL_OK; k++) {
        bool seen = operand[k].storage < 0, writes = false;
        for (int other = 0; other < op->operation->operand_count; other++)
            if (operand[other].storage == operand[k].storage) {
                seen |= other < k;
                writes |= operand[other].writes;
            }
        if (!seen)
            status = note_storage(node, op, operand[k].storage, writes);
    }
    return status;
}

static void note_exchange(dcli_node *node, const struct dcli_open_op *op, int q, const dcli_plan *plan)
{
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        int noted = -1;
        if (chunk->peer != node->terms.self)
            continue;
        for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count; i++) {
            int k = dcli_plan_item_operand(plan, i);
            if (k == noted)
                continue;
            dcli_storage *storage = dcli_storages_find(&node->storages, op->operation->operand[k].storage);
            raise(chunk->written ? &storage->last_write_by[q] : &storage->last_read_by[q], op->number);
            noted = k;
        }
    }
}

/* Record in the storages that this operation accesses them, for the conditions of later operations. */
static dcl_status note_touches(dcli_node *node, struct dcli_open_op *op)
{
    for (int k = 0; k < op->operation->operand_count; k++) {
        const dcli_operand *operand = &op->operation->operand[k];
        dcli_storage *storage = operand->storage < 0 ? NULL : dcli_storages_find(&node->storages, operand->storage);
        if (storage == NULL)
            continue;
        if (operand->writes)
            storage->last_write = op->number;
        dcli_storage_prune(storage, node->first);
        if (operand->overwrites && dcli_storage_overwrite(storage, op->number) != DCL_OK)
            return DCL_ERR_NOMEM;
        for (int q = 0; op->exchange != NULL && q < node->peers; q++)
            if (op->exchange[q].plan != NULL && dcli_reads_in_place(node, q) &&
                op->exchange[q].plan->peer_read[node->terms.self])
                storage->last_read_by[q] = op->number;
    }
    for (int q = 0; op->exchange != NULL && q < node->peers; q++) {
        const dcli_plan *plan = op->exchange[q].plan;
        if (plan == NULL)
            continue;
        note_exchange(node, op, q, plan);
        bool reads_us = dcli_is_node(node, node->terms.self) && plan->peer_read[node->terms.self];
        if (reads_us || op->own->peer_read[q])
            raise(&node->peer[q].interest, op->number);
    }
    return DCL_OK;
}

/* Make room for one more operation. Retired entries are dropped when they are more than half: amortized constant time. */
static dcl_status make_room(dcli_node *node)
{
    int64_t retired = node->first - node->base, open = node->seen - node->first + 1;
    if (retired > open && retired + open == node->op_capacity) {
        memmove(node->op, node->op + retired, (size_t)open * sizeof *node->op);
        node->base = node->first;
        retired = 0;
    }
    return dcli_grow(&node->op, retired + open, &node->op_capacity, sizeof *node->op) == 0 ? DCL_OK : DCL_ERR_NOMEM;
}

/* Append an operation. Memory for its failure notices is reserved here, so that reporting a failure never allocates. */
static dcl_status append_op(dcli_node *node, struct dcli_open_op *op)
{
    while (node->notice_capacity < node->seen - node->first + 2)
        if (dcli_grow(&node->notice, node->notice_capacity, &node->notice_capacity, sizeof *node->notice) != 0)
            return DCL_ERR_NOMEM;
    if (make_room(node) != DCL_OK)
        return DCL_ERR_NOMEM;
    assert(op->number == node->seen + 1); /* numbers have no gaps */
    node->op[++node->seen - node->base] = op;
    if (op->exchange != NULL) {
        node->exchanging++;
        *node->moving_end = op;
        node->moving_end = &op->next_moving;
    }
    return DCL_OK;
}

/* Make an open operation; its lists, whose lengths the plan gives, lie in the same memory. NULL: DCL_ERR_NOMEM. */
static struct dcli_open_op *new_op(const dcli_node *node, const dcli_operation *operation)
{
    const dcli_plan *own = node->terms.plan_of(node->terms.user, operation, node->terms.self);
    if (own == NULL)
        return NULL;
    size_t batches = (size_t)own->batch_count, chunks = (size_t)own->chunk_count;
    struct dcli_open_op *op = dcli_calloc(1, sizeof *op + 2 * (batches + chunks) * sizeof(bool));
    if (op == NULL)
        return NULL;
    op->operation = operation;
    op->number = operation->number;
    op->own = own;
    op->batch_ended = (bool *)(op + 1);
    op->batch_read = op->batch_ended + batches;
    op->arrived = op->batch_read + batches;
    op->dropped = op->arrived + chunks;
    for (size_t c = 0; c < chunks; c++)
        op->dropped[c] = own->chunk[c].written;
    op->transfers = own->chunk_count;
    return op;
}

/* Fail an operation if the plan of any peer has failed. Every node that has made that plan reports the failure: the
 * peer itself may be lost before it reports, although its outputs are missing on other nodes. */
static dcl_status check_plans(dcli_node *node, struct dcli_open_op *op)
{
    dcl_status problem = op->own->status;
    for (int q = 0; problem == DCL_OK && op->exchange != NULL && q < node->peers; q++)
        if (op->exchange[q].plan != NULL)
            problem = op->exchange[q].plan->status;
    if (problem == DCL_OK)
        return DCL_OK;
    if (op->skip == DCL_OK)
        op->skip = problem;
    return dcli_tell_failed(node, op, problem, op->own->status != DCL_OK);
}

dcl_status dcli_node_operation(dcli_node *node, const dcli_operation *operation)
{
    if (operation->number != node->seen + 1)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " came after %" PRId64 "; expected %" PRId64,
                         operation->number, node->seen, node->seen + 1);
    struct dcli_open_op *op = new_op(node, operation);
    if (op == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = exchanges(node, op) ? meet_peers(node, op) : DCL_OK;
    if (status == DCL_OK)
        status = note_needs(node, op);
    if (status == DCL_OK)
        status = append_op(node, op);
    if (status != DCL_OK) {
        dcli_op_free(node, op);
        return status;
    }
    bool misses = dcli_op_misses_part(node, operation); /* no absent peer has a part of an operand: then absent peers
                                                           do not matter */
    for (int q = 0; misses && q < node->terms.plan.node_count; q++)
        if (!dcli_is_there(node, q))
            dcli_op_part_from(node, op, q);
    status = note_touches(node, op);
    if (status == DCL_OK && misses)
        status = dcli_op_fail_lost(node, op);
    if (status == DCL_OK)
        status = check_plans(node, op);
    return status == DCL_OK ? dcli_replay_early(node, op->number) : status;
}
