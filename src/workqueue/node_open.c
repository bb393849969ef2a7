/* workqueue/node_open.c - adds an operation to the state machine: finds the chunks to exchange with each peer, and the
 * earlier operations that it must wait for. */
#include "workqueue/node_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FEW_BATCHES = 64 }; /* operations with more batches, or with chunks, are rare enough to be allocated each time */

static void free_exchanges(struct dcli_open_op *op)
{
    for (int64_t n = 0; n < op->exchange_count; n++) {
        dcli_free(op->exchange[n].send.chunk);
        dcli_free(op->exchange[n].receive.chunk);
        dcli_free(op->exchange[n].receive.status);
    }
    dcli_node_list_free(&op->to_grant);
    dcli_node_list_free(&op->to_pack);
    dcli_node_list_free(&op->to_commit);
    dcli_free(op->own_chunk);
    dcli_free(op->exchange);
}

void dcli_op_free(dcli_node *node, struct dcli_open_op *op)
{
    if (op == NULL)
        return;
    if (op->exchange != NULL)
        free_exchanges(op);
    if (op->need != NULL)
        dcli_free(op->need);
    if (op->is_small) {
        op->next_moving = node->spare;
        node->spare = op;
    } else {
        dcli_free(op);
    }
}

void dcli_op_free_spare(dcli_node *node)
{
    for (struct dcli_open_op *op = node->spare, *next; op != NULL; op = next) {
        next = op->next_moving;
        dcli_free(op);
    }
}

/* Zeroed memory for an operation with this plan, followed by its lists. NULL: DCL_ERR_NOMEM. */
static struct dcli_open_op *take_op(dcli_node *node, const dcli_plan *own)
{
    size_t batches = (size_t)own->batch_count, chunks = (size_t)own->chunk_count;
    struct dcli_open_op *op = node->spare;
    if (batches > FEW_BATCHES || chunks > 0)
        return dcli_calloc(1, sizeof *op + batches + 2 * chunks * sizeof(bool));
    if (op == NULL && (op = dcli_malloc(sizeof *op + FEW_BATCHES)) == NULL)
        return NULL;
    if (op == node->spare)
        node->spare = op->next_moving;
    memset(op, 0, sizeof *op + batches);
    op->is_small = true;
    return op;
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

/* Whether the plan of partner `q` matters: `q` is present, and it is the host if the operation is a READ or WRITE,
 * otherwise a node. */
static bool exchanges_with(const dcli_node *node, const struct dcli_open_op *op, int q)
{
    bool transfer = op->operation->kind == DCLI_OP_READ || op->operation->kind == DCLI_OP_WRITE;
    return dcli_is_there(node, q) && transfer != dcli_is_node(node, q);
}

/* List the peers with which an operation exchanges something: the partners, and the peers of the own chunks. */
static dcl_status find_peers(const dcli_node *node, const struct dcli_open_op *op, dcli_node_list *peers)
{
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < op->own->partners.count && status == DCL_OK; n++)
        if (exchanges_with(node, op, op->own->partners.node[n]))
            status = dcli_node_list_add(peers, op->own->partners.node[n]);
    for (int64_t c = 0; c < op->own->chunk_count && status == DCL_OK; c++)
        status = dcli_node_list_add(peers, op->own->chunk[c].peer);
    return status;
}

/* Compute the streams to send to, and to receive from, a partner, from its plan. */
static dcl_status meet_partner(dcli_node *node, struct dcli_open_op *op, struct dcli_exchange *exchange)
{
    exchange->plan = node->terms.plan_of(node->terms.user, op->operation, exchange->peer);
    if (exchange->plan == NULL || collect(exchange->plan, node->terms.self, false, &exchange->send) != DCL_OK ||
        collect(exchange->plan, node->terms.self, true, &exchange->receive) != DCL_OK)
        return DCL_ERR_NOMEM;
    op->transfers += exchange->send.total + exchange->receive.total;
    op->uncommitted += exchange->receive.total;
    op->writers += exchange->receive.total > 0;
    return DCL_OK;
}

/* Sort the T chunks of the own plan by peer. */
static dcl_status sort_own(struct dcli_open_op *op)
{
    const dcli_plan *own = op->own;
    int64_t first = 0;
    if (own->chunk_count == 0)
        return DCL_OK;
    op->own_chunk = dcli_malloc((size_t)own->chunk_count * sizeof *op->own_chunk);
    if (op->own_chunk == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t c = 0; c < own->chunk_count; c++)
        dcli_exchange_of(op, own->chunk[c].peer)->own_count += !own->chunk[c].written;
    for (int64_t n = 0; n < op->exchange_count; n++) {
        op->exchange[n].first_own = first;
        first += op->exchange[n].own_count;
    }
    for (int64_t c = 0; c < own->chunk_count; c++)
        if (!own->chunk[c].written)
            op->own_chunk[dcli_exchange_of(op, own->chunk[c].peer)->first_own + own->chunk[c].number] = c;
    return DCL_OK;
}

/* Make room for all peers in the lists of an operation, and for those that write in the list of creditors, so that no
 * event needs memory for them. */
static dcl_status make_lists(dcli_node *node, struct dcli_open_op *op)
{
    int64_t writers = node->writers + op->writers; /* of all open operations */
    dcli_node_list *lists[] = {&op->to_grant, &op->to_pack, &op->to_commit};
    dcl_status status = DCL_OK;
    for (int l = 0; l < 3 && status == DCL_OK && op->exchange_count > 0; l++)
        if (dcli_reserve(&lists[l]->node, 0, op->exchange_count, &lists[l]->capacity, sizeof *lists[l]->node) != 0)
            status = DCL_ERR_NOMEM;
    if (status == DCL_OK &&
        dcli_reserve(&node->creditors.node, 0, writers, &node->creditors.capacity, sizeof *node->creditors.node) != 0)
        status = DCL_ERR_NOMEM;
    return status;
}

static dcl_status meet_peers(dcli_node *node, struct dcli_open_op *op)
{
    dcli_node_list peers = {0};
    dcl_status status = find_peers(node, op, &peers);
    if (status == DCL_OK && peers.count > 0) {
        op->exchange = dcli_calloc((size_t)peers.count, sizeof *op->exchange);
        status = op->exchange != NULL ? DCL_OK : DCL_ERR_NOMEM;
    }
    for (int64_t n = 0; n < peers.count && status == DCL_OK; n++) {
        struct dcli_exchange *exchange = &op->exchange[op->exchange_count++];
        exchange->peer = peers.node[n];
        status = dcli_peer_record(node, exchange->peer) != NULL ? DCL_OK : DCL_ERR_NOMEM;
        if (status == DCL_OK && dcli_node_list_has(&op->own->partners, exchange->peer) &&
            exchanges_with(node, op, exchange->peer))
            status = meet_partner(node, op, exchange);
    }
    for (int64_t n = 0; n < op->own->reads.count && status == DCL_OK; n++)
        status = dcli_peer_record(node, op->own->reads.node[n]) != NULL ? DCL_OK : DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = sort_own(op);
    if (status == DCL_OK)
        status = make_lists(node, op);
    dcli_node_list_free(&peers);
    return status;
}

dcl_status dcli_be_heard(dcli_node *node, int peer, int64_t operation)
{
    struct dcli_peer *hears = dcli_peer_record(node, peer);
    if (hears == NULL)
        return DCL_ERR_NOMEM;
    if (hears->interest >= operation)
        return DCL_OK;
    hears->interest = operation;
    node->listener = 0;
    return dcli_node_list_add(&node->listeners, peer);
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

/* Note the needs that follow from the accesses of peers to our part of a storage. Entries of accesses that have ended
 * are dropped. */
static dcl_status note_touched(dcli_node *node, struct dcli_open_op *op, dcli_storage *storage, bool writes)
{
    int64_t left = 0;
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < storage->touch_count; n++) {
        dcli_touch touch = storage->touch[n];
        struct dcli_need commit = {DCLI_NEED_COMMIT, touch.peer, touch.write};
        struct dcli_need read = {DCLI_NEED_READ, touch.peer, touch.read};
        if (dcli_need_is_met(node, &commit) && dcli_need_is_met(node, &read))
            continue;
        storage->touch[left++] = touch;
        if (status == DCL_OK)
            status = add_need(node, op, DCLI_NEED_COMMIT, touch.peer, touch.write);
        if (status == DCL_OK && writes)
            status = add_need(node, op, DCLI_NEED_READ, touch.peer, touch.read);
    }
    storage->touch_count = left;
    return status;
}

static dcl_status note_storage(dcli_node *node, struct dcli_open_op *op, int64_t id, bool writes)
{
    dcli_storage *storage = dcli_storages_get(&node->storages, id);
    dcl_status status = storage == NULL ? DCL_ERR_NOMEM : note_touched(node, op, storage, writes);
    for (int64_t n = 0; n < op->own->reads.count && status == DCL_OK; n++)
        status = add_need(node, op, DCLI_NEED_READY, op->own->reads.node[n], storage->last_write);
    for (int64_t n = 0; n < op->exchange_count && status == DCL_OK; n++)
        if (op->exchange[n].send.total > 0)
            status = add_need(node, op, DCLI_NEED_PACK, op->exchange[n].peer,
                              dcli_storage_touched(storage, op->exchange[n].peer).read);
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

static dcl_status note_touch(const dcli_node *node, int k, int q, const struct dcli_open_op *op, bool written)
{
    dcli_storage *storage = dcli_storages_find(&node->storages, op->operation->operand[k].storage);
    dcli_touch *touch = dcli_storage_touch(storage, q);
    if (touch == NULL)
        return DCL_ERR_NOMEM;
    raise(written ? &touch->write : &touch->read, op->number);
    return DCL_OK;
}

/* Record which storages peer q reads or writes by the chunks that it exchanges with us. */
static dcl_status note_exchange(const dcli_node *node, const struct dcli_open_op *op, int q, const dcli_plan *plan)
{
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < plan->chunk_count; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        int noted = -1;
        if (chunk->peer != node->terms.self)
            continue;
        for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++) {
            int k = dcli_plan_item_operand(plan, i);
            if (k != noted)
                status = note_touch(node, k, q, op, chunk->written);
            noted = k;
        }
    }
    return status;
}

/* Record the accesses of a peer to our parts, and whether it needs to hear our watermarks. */
static dcl_status note_peer(dcli_node *node, const struct dcli_open_op *op, const struct dcli_exchange *exchange)
{
    int q = exchange->peer, self = node->terms.self;
    if (exchange->plan == NULL)
        return DCL_OK;
    bool reads_us = dcli_node_list_has(&exchange->plan->reads, self);
    dcl_status status = note_exchange(node, op, q, exchange->plan);
    for (int k = 0; k < op->operation->operand_count && status == DCL_OK && reads_us; k++)
        if (op->operation->operand[k].storage >= 0 && dcli_reads_in_place(node, q))
            status = note_touch(node, k, q, op, false);
    return status == DCL_OK && reads_us ? dcli_be_heard(node, q, op->number) : status;
}

/* Record in the storages that this operation accesses them, for the conditions of later operations. */
static dcl_status note_touches(dcli_node *node, struct dcli_open_op *op)
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < op->operation->operand_count && status == DCL_OK; k++) {
        const dcli_operand *operand = &op->operation->operand[k];
        dcli_storage *storage = operand->storage < 0 ? NULL : dcli_storages_find(&node->storages, operand->storage);
        if (storage == NULL)
            continue;
        if (operand->writes)
            storage->last_write = op->number;
        dcli_storage_prune(storage, node->first);
        if (operand->overwrites)
            status = dcli_storage_overwrite(storage, op->number);
    }
    for (int64_t n = 0; n < op->exchange_count && status == DCL_OK; n++)
        status = note_peer(node, op, &op->exchange[n]);
    for (int64_t n = 0; n < op->own->reads.count && status == DCL_OK; n++)
        if (dcli_is_there(node, op->own->reads.node[n]))
            status = dcli_be_heard(node, op->own->reads.node[n], op->number);
    return status;
}

/* Make room for one more operation. Retired entries are dropped when they are more than the open ones: constant cost
 * per operation on average. */
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
    node->writers += op->writers;
    return DCL_OK;
}

/* Make an open operation; its lists, whose lengths the plan gives, lie in the same memory. NULL: DCL_ERR_NOMEM. */
static struct dcli_open_op *new_op(dcli_node *node, const dcli_operation *operation)
{
    const dcli_plan *own = node->terms.plan_of(node->terms.user, operation, node->terms.self);
    if (own == NULL)
        return NULL;
    size_t batches = (size_t)own->batch_count, chunks = (size_t)own->chunk_count;
    struct dcli_open_op *op = take_op(node, own);
    if (op == NULL)
        return NULL;
    op->operation = operation;
    op->number = operation->number;
    op->own = own;
    op->waiting = own->batch_count;
    op->batch = (uint8_t *)(op + 1);
    op->arrived = (bool *)(op->batch + batches);
    op->dropped = op->arrived + chunks;
    for (size_t c = 0; c < chunks; c++)
        op->dropped[c] = own->chunk[c].written;
    op->transfers = own->chunk_count;
    return op;
}

/* Fail an operation whose plan has failed. The other peers learn it from this peer, or, if this peer is lost before,
 * from its loss. */
static dcl_status check_plan(dcli_node *node, struct dcli_open_op *op)
{
    if (op->own->status == DCL_OK)
        return DCL_OK;
    if (op->skip == DCL_OK)
        op->skip = op->own->status;
    return dcli_tell_failed(node, op, op->own->status, true);
}

dcl_status dcli_node_operation(dcli_node *node, const dcli_operation *operation)
{
    if (operation->number != node->seen + 1)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " came after %" PRId64 "; expected %" PRId64,
                         operation->number, node->seen, node->seen + 1);
    struct dcli_open_op *op = new_op(node, operation);
    if (op == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = op->own->local ? DCL_OK : meet_peers(node, op);
    if (status == DCL_OK)
        status = note_needs(node, op);
    if (status == DCL_OK)
        status = dcli_note_written(node, operation);
    if (status == DCL_OK)
        status = append_op(node, op);
    if (status != DCL_OK) {
        dcli_op_free(node, op);
        return status;
    }
    if (node->lending != NULL)
        dcli_lending_opened(node, op);
    /* If it does not, absent peers have no part of any operand, and need not be removed from the operation. */
    bool misses = dcli_op_misses_part(node, operation);
    for (int64_t n = 0; misses && n < node->absent.count; n++)
        dcli_op_part_from(node, op, node->absent.node[n]);
    status = note_touches(node, op);
    if (status == DCL_OK && misses)
        status = dcli_op_fail_lost(node, op);
    if (status == DCL_OK)
        status = check_plan(node, op);
    if (status == DCL_OK)
        status = dcli_take_foretold(node, op->number);
    return status == DCL_OK ? dcli_replay_early(node, op->number) : status;
}
