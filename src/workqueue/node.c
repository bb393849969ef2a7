/* workqueue/node.c - the state machine of one peer. The rules stand in node.h; every condition below names its rule. */
#include "workqueue/node.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "workqueue/storages.h"

/* A stream between this peer and another in one operation: which chunks of a plan it is made of. */
struct stream {
    int64_t *chunk; /* [total] numbers in plan->chunk, in order */
    int64_t total;
    int64_t granted, passed; /* T to send: granted, packed. U to receive: arrived, committed */
    dcl_status *status;      /* U to receive: [total] what came with each chunk */
};

struct exchange {
    const dcli_plan *plan;         /* the other peer's; NULL: nothing between us */
    struct stream send, receive;   /* T it reads from us; U it writes to us */
    int64_t grant_due, grant_told; /* T we read from it: chunks granted */
};

/* What an operation waits for, storage by storage: the last operation before it that ... In each of these, what is done
 * for one storage and peer is done in the order of operations, so the last one stands for all before. */
enum need_kind {
    NEED_READ,   /* has the peer read what is written here */
    NEED_COMMIT, /* has the peer's output to what is touched here been committed */
    NEED_READY,  /* is the peer ready with what is read in place */
    NEED_PACK    /* was packed for the peer */
};

struct need {
    enum need_kind kind;
    int peer;
    int64_t operation;
};

struct open_op {
    const dcli_operation *operation;
    int64_t number;
    const dcli_plan *own;
    struct exchange *exchange; /* [peers], NULL: a local operation */
    struct need *need;         /* what is not met yet */
    int64_t need_count, need_capacity;
    int64_t started, ended;                /* batches; ended is a prefix */
    bool *batch_ended, *arrived, *dropped; /* [batches], [own chunks] */
    int64_t drop_from;                     /* own chunks before are dropped */
    int64_t transfers;                     /* chunks of both directions not yet passed on, committed, dropped */
    dcl_status skip;                       /* not DCL_OK: compute nothing more */
    bool told_failed;
};

/* A message about an operation whose descriptor is not here yet. */
struct early {
    int from;
    bool is_grant, written;
    int64_t operation, number;
    dcl_status status;
};

/* A made chunk waiting for its turn. */
struct made {
    int64_t operation, chunk, batch;
    bool ended;
    dcl_status status;
};

struct outbox {
    struct made *made; /* [first .. count) waiting */
    int64_t first, count, capacity;
    int64_t outstanding; /* sent, not yet committed */
};

struct notice {
    int64_t operation;
    dcl_status status;
    bool cause;
};

struct peer {
    int64_t done, ready;           /* what it told us */
    int64_t told_done, told_ready; /* what we told it */
    int64_t interest;              /* it waits for our watermarks up to this operation */
    int64_t credit_due;
};

struct dcli_node {
    dcli_node_terms terms;
    int peers;
    struct open_op **op;              /* ring by number: op[number - first] */
    int64_t first, seen, op_capacity; /* open: first .. seen */
    int64_t cursor;                   /* operation whose batches are being started */
    int64_t done, ready;
    int64_t grant_op, grant_chunk, pool_used;
    int64_t exchanging; /* open operations with an exchange */
    int64_t made_unsent;
    struct peer *peer;
    struct outbox *outbox;
    struct early *early;
    int64_t early_count, early_capacity;
    struct notice *notice;
    int64_t notice_first, notice_count, notice_capacity;
    dcli_storages storages;
};

/* ---- life --------------------------------------------------------------------------------------------------------- */

dcli_node *dcli_node_open(const dcli_node_terms *terms)
{
    dcli_node *node = dcli_calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->terms = *terms;
    node->peers = terms->plan.node_count + 1;
    node->storages.peers = node->peers;
    node->first = node->cursor = node->grant_op = 1;
    node->peer = dcli_calloc((size_t)node->peers, sizeof *node->peer);
    node->outbox = dcli_calloc((size_t)node->peers, sizeof *node->outbox);
    if (node->peer == NULL || node->outbox == NULL) {
        dcli_node_close(node);
        return NULL;
    }
    node->peer[terms->plan.node_count].interest = INT64_MAX; /* the host waits for completion */
    node->peer[terms->self].interest = 0;
    return node;
}

static void free_op(const dcli_node *node, struct open_op *op)
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

void dcli_node_close(dcli_node *node)
{
    if (node == NULL)
        return;
    for (int64_t n = node->first; n <= node->seen; n++)
        free_op(node, node->op[n - node->first]);
    for (int q = 0; node->outbox != NULL && q < node->peers; q++)
        dcli_free(node->outbox[q].made);
    dcli_free(node->op);
    dcli_free(node->peer);
    dcli_free(node->outbox);
    dcli_free(node->early);
    dcli_free(node->notice);
    dcli_storages_free(&node->storages);
    dcli_free(node);
}

static struct open_op *find(const dcli_node *node, int64_t number)
{
    return number >= node->first && number <= node->seen ? node->op[number - node->first] : NULL;
}

static bool is_node(const dcli_node *node, int peer) { return peer < node->terms.plan.node_count; }

static bool reads_in_place(const dcli_node *node, int peer)
{
    return is_node(node, peer) && node->terms.plan.in_place[peer];
}

/* ---- a new operation ---------------------------------------------------------------------------------------------- */

static dcl_status collect(const dcli_plan *plan, int peer, bool written, struct stream *stream)
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

/* Whether there can be anything between us and others: the host has no part of a forall. */
static bool exchanges(const dcli_node *node, const struct open_op *op)
{
    return !op->own->local && (is_node(node, node->terms.self) || op->operation->kind != DCLI_OP_FORALL);
}

/* What other peers read of us and write to us: their plans, as far as they name us. */
static dcl_status meet_peers(dcli_node *node, struct open_op *op)
{
    bool transfer = op->operation->kind == DCLI_OP_READ || op->operation->kind == DCLI_OP_WRITE;
    op->exchange = dcli_calloc((size_t)node->peers, sizeof *op->exchange);
    if (op->exchange == NULL)
        return DCL_ERR_NOMEM;
    for (int q = 0; q < node->peers; q++) {
        struct exchange *exchange = &op->exchange[q];
        if (q == node->terms.self || transfer == is_node(node, q))
            continue; /* only the host moves in a transfer, only nodes in a forall */
        exchange->plan = node->terms.plan_of(node->terms.user, op->operation, q);
        if (exchange->plan == NULL || collect(exchange->plan, node->terms.self, false, &exchange->send) != DCL_OK ||
            collect(exchange->plan, node->terms.self, true, &exchange->receive) != DCL_OK)
            return DCL_ERR_NOMEM;
        op->transfers += exchange->send.total + exchange->receive.total;
    }
    node->exchanging++;
    return DCL_OK;
}

static void raise(int64_t *value, int64_t to)
{
    if (*value < to)
        *value = to;
}

static bool has_read(const dcli_node *node, int q, int64_t m);
static bool has_committed(const dcli_node *node, int q, int64_t m);

static bool is_met(const dcli_node *node, const struct need *need)
{
    switch (need->kind) {
    case NEED_COMMIT:
        return has_committed(node, need->peer, need->operation);
    case NEED_READY:
        return need->peer == node->terms.self || need->operation <= node->peer[need->peer].ready;
    default:
        return has_read(node, need->peer, need->operation);
    }
}

static dcl_status add_need(const dcli_node *node, struct open_op *op, enum need_kind kind, int peer, int64_t operation)
{
    struct need need = {.kind = kind, .peer = peer, .operation = operation};
    if (operation < 1 || is_met(node, &need))
        return DCL_OK;
    if (dcli_grow(&op->need, op->need_count, &op->need_capacity, sizeof need) != 0)
        return DCL_ERR_NOMEM;
    op->need[op->need_count++] = need;
    return DCL_OK;
}

static dcl_status note_storage(dcli_node *node, struct open_op *op, int64_t id, bool writes)
{
    const dcli_storage *storage = dcli_storages_get(&node->storages, id);
    dcl_status status = storage == NULL ? DCL_ERR_NOMEM : DCL_OK;
    for (int q = 0; q < node->peers && status == DCL_OK; q++) {
        status = add_need(node, op, NEED_COMMIT, q, storage->last_write_by[q]);
        if (status == DCL_OK && writes)
            status = add_need(node, op, NEED_READ, q, storage->last_read_by[q]);
        if (status == DCL_OK && op->own->peer_read[q])
            status = add_need(node, op, NEED_READY, q, storage->last_write);
        if (status == DCL_OK && op->exchange != NULL && op->exchange[q].send.total > 0)
            status = add_need(node, op, NEED_PACK, q, storage->last_read_by[q]);
    }
    return status;
}

/* What the operation has to wait for: looks at the storages as the operations before left them. */
static dcl_status note_needs(dcli_node *node, struct open_op *op)
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

static void note_exchange(dcli_node *node, const struct open_op *op, int q, const dcli_plan *plan)
{
    for (int64_t i = 0; i < plan->item_count; i++) {
        const dcli_chunk *chunk = &plan->chunk[plan->item[i].chunk];
        if (chunk->peer != node->terms.self)
            continue;
        dcli_storage *storage =
            dcli_storages_find(&node->storages, op->operation->operand[plan->item[i].operand].storage);
        raise(chunk->written ? &storage->last_write_by[q] : &storage->last_read_by[q], op->number);
    }
}

/* What later operations have to wait for: this one's touches. */
static dcl_status note_touches(dcli_node *node, struct open_op *op)
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
            if (op->exchange[q].plan != NULL && reads_in_place(node, q) && is_node(node, node->terms.self) &&
                op->exchange[q].plan->peer_read[node->terms.self])
                storage->last_read_by[q] = op->number;
    }
    for (int q = 0; op->exchange != NULL && q < node->peers; q++) {
        const dcli_plan *plan = op->exchange[q].plan;
        if (plan == NULL)
            continue;
        note_exchange(node, op, q, plan);
        bool reads_us = is_node(node, node->terms.self) && plan->peer_read[node->terms.self];
        if (reads_us || op->own->peer_read[q])
            raise(&node->peer[q].interest, op->number);
    }
    return DCL_OK;
}

static dcl_status append_op(dcli_node *node, struct open_op *op)
{
    if (dcli_grow(&node->op, node->seen - node->first + 1, &node->op_capacity, sizeof *node->op) != 0)
        return DCL_ERR_NOMEM;
    node->op[++node->seen - node->first] = op;
    return DCL_OK;
}

/* An operation, in one piece of memory with the lists whose lengths its plan gives. NULL: DCL_ERR_NOMEM. */
static struct open_op *new_op(const dcli_node *node, const dcli_operation *operation)
{
    const dcli_plan *own = node->terms.plan_of(node->terms.user, operation, node->terms.self);
    if (own == NULL)
        return NULL;
    size_t batches = (size_t)own->batch_count, chunks = (size_t)own->chunk_count;
    struct open_op *op = dcli_calloc(1, sizeof *op + (batches + 2 * chunks) * sizeof(bool));
    if (op == NULL)
        return NULL;
    op->operation = operation;
    op->number = operation->number;
    op->own = own;
    op->batch_ended = (bool *)(op + 1);
    op->arrived = op->batch_ended + batches;
    op->dropped = op->arrived + chunks;
    for (size_t c = 0; c < chunks; c++)
        op->dropped[c] = own->chunk[c].written;
    op->transfers = own->chunk_count;
    return op;
}

static dcl_status tell_failed(dcli_node *node, struct open_op *op, dcl_status status, bool cause)
{
    if (op->told_failed)
        return DCL_OK;
    if (dcli_grow(&node->notice, node->notice_count, &node->notice_capacity, sizeof *node->notice) != 0)
        return DCL_ERR_NOMEM;
    node->notice[node->notice_count++] = (struct notice){.operation = op->number, .status = status, .cause = cause};
    op->told_failed = true;
    for (int k = 0; k < op->operation->operand_count; k++) {
        const dcli_operand *operand = &op->operation->operand[k];
        if (operand->storage < 0 || !operand->writes)
            continue;
        dcli_storage *storage = dcli_storages_get(&node->storages, operand->storage);
        if (storage == NULL || dcli_storage_fail(storage, op->number) != DCL_OK)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

static dcl_status replay_early(dcli_node *node, int64_t number);

dcl_status dcli_node_operation(dcli_node *node, const dcli_operation *operation)
{
    if (operation->number != node->seen + 1)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "operation %" PRId64 " came after %" PRId64 "; expected %" PRId64,
                         operation->number, node->seen, node->seen + 1);
    struct open_op *op = new_op(node, operation);
    if (op == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = exchanges(node, op) ? meet_peers(node, op) : DCL_OK;
    if (status == DCL_OK)
        status = note_needs(node, op);
    if (status == DCL_OK)
        status = append_op(node, op);
    if (status != DCL_OK) {
        free_op(node, op);
        return status;
    }
    status = note_touches(node, op);
    if (status == DCL_OK && op->own->status != DCL_OK) {
        op->skip = op->own->status;
        status = tell_failed(node, op, op->skip, true);
    }
    return status == DCL_OK ? replay_early(node, op->number) : status;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static dcl_status keep_early(dcli_node *node, const struct early *early)
{
    if (early->operation <= node->seen)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d speaks of operation %" PRId64 ", which needs nothing of it any more", early->from,
                         early->operation);
    if (dcli_grow(&node->early, node->early_count, &node->early_capacity, sizeof *early) != 0)
        return DCL_ERR_NOMEM;
    node->early[node->early_count++] = *early;
    return DCL_OK;
}

static dcl_status refuse(int from, const char *what, int64_t operation, int64_t number)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d sent %s %" PRId64 " of operation %" PRId64 ", which was not expected",
                     from, what, number, operation);
}

dcl_status dcli_node_grant(dcli_node *node, int from, int64_t operation, int64_t chunks)
{
    struct open_op *op = find(node, operation);
    if (op == NULL)
        return keep_early(node,
                          &(struct early){.from = from, .is_grant = true, .operation = operation, .number = chunks});
    if (op->exchange == NULL || chunks < op->exchange[from].send.granted || chunks > op->exchange[from].send.total)
        return refuse(from, "a grant up to chunk", operation, chunks);
    op->exchange[from].send.granted = chunks;
    return DCL_OK;
}

/* Number `number` of the stream that `from` sends us for our reading, in our plan. -1: there is none. */
static int64_t own_chunk(const struct open_op *op, int from, int64_t number)
{
    for (int64_t c = op->drop_from; c < op->own->chunk_count; c++) {
        const dcli_chunk *chunk = &op->own->chunk[c];
        if (!chunk->written && chunk->peer == from && chunk->number == number)
            return op->arrived[c] ? -1 : c;
    }
    return -1;
}

static dcl_status take_read(dcli_node *node, struct open_op *op, int from, int64_t number, dcl_status status)
{
    int64_t c = own_chunk(op, from, number);
    if (c < 0 || op->exchange == NULL || number >= op->exchange[from].grant_told)
        return refuse(from, "chunk", op->number, number);
    op->arrived[c] = true;
    if (status == DCL_OK || op->skip != DCL_OK)
        return DCL_OK;
    op->skip = status;
    return tell_failed(node, op, status, false);
}

static dcl_status take_written(dcli_node *node, struct open_op *op, int from, int64_t number, dcl_status status)
{
    (void)node;
    struct stream *stream = op->exchange == NULL ? NULL : &op->exchange[from].receive;
    if (stream == NULL || number != stream->granted || number >= stream->total)
        return refuse(from, "written chunk", op->number, number);
    stream->status[number] = status;
    stream->granted++;
    return DCL_OK;
}

dcl_status dcli_node_chunk(dcli_node *node, int from, int64_t operation, bool written, int64_t number,
                           dcl_status status)
{
    struct open_op *op = find(node, operation);
    if (op == NULL)
        return keep_early(
            node, &(struct early){
                      .from = from, .written = written, .operation = operation, .number = number, .status = status});
    return written ? take_written(node, op, from, number, status) : take_read(node, op, from, number, status);
}

static dcl_status replay_early(dcli_node *node, int64_t number)
{
    int64_t kept = 0, count = node->early_count;
    dcl_status status = DCL_OK;
    for (int64_t e = 0; e < count; e++) {
        struct early early = node->early[e];
        if (early.operation != number) {
            node->early[kept++] = early;
            continue;
        }
        dcl_status this = early.is_grant
                              ? dcli_node_grant(node, early.from, number, early.number)
                              : dcli_node_chunk(node, early.from, number, early.written, early.number, early.status);
        if (status == DCL_OK)
            status = this;
    }
    node->early_count = kept;
    return status;
}

dcl_status dcli_node_credit(dcli_node *node, int from, int64_t chunks)
{
    if (chunks < 1 || chunks > node->outbox[from].outstanding)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d gives credit for %" PRId64 " chunks; %" PRId64 " are outstanding",
                         from, chunks, node->outbox[from].outstanding);
    node->outbox[from].outstanding -= chunks;
    return DCL_OK;
}

dcl_status dcli_node_marks(dcli_node *node, int from, int64_t done, int64_t ready)
{
    struct peer *peer = &node->peer[from];
    if (done < peer->done || ready < peer->ready || ready > done)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d sets done %" PRId64 ", ready %" PRId64 " after %" PRId64 ", %" PRId64, from, done,
                         ready, peer->done, peer->ready);
    peer->done = done;
    peer->ready = ready;
    return DCL_OK;
}

dcl_status dcli_node_failed(dcli_node *node, int64_t operation, int count, const int64_t storages[], dcl_status status)
{
    (void)status;
    for (int s = 0; s < count; s++) {
        dcli_storage *storage = dcli_storages_get(&node->storages, storages[s]);
        if (storage == NULL || dcli_storage_fail(storage, operation) != DCL_OK)
            return DCL_ERR_NOMEM;
    }
    return DCL_OK;
}

/* ---- conditions --------------------------------------------------------------------------------------------------- */

/* Whether peer q has finished reading our part for operation m: in place by its watermark, else when all was packed. */
static bool has_read(const dcli_node *node, int q, int64_t m)
{
    if (m < 1)
        return true;
    if (reads_in_place(node, q))
        return node->peer[q].done >= m;
    const struct open_op *op = find(node, m);
    return op == NULL || op->exchange == NULL || op->exchange[q].send.passed == op->exchange[q].send.total;
}

/* Whether all that peer q wrote to our part in operation m is committed. */
static bool has_committed(const dcli_node *node, int q, int64_t m)
{
    const struct open_op *op = m < 1 ? NULL : find(node, m);
    return op == NULL || op->exchange == NULL || op->exchange[q].receive.passed == op->exchange[q].receive.total;
}

/* Whether all needs of a kind are met (peer -1: of all peers); needs that are met are forgotten. */
static bool needs_met(const dcli_node *node, struct open_op *op, enum need_kind kind, int peer)
{
    for (int64_t n = 0; n < op->need_count;) {
        const struct need *need = &op->need[n];
        if (need->kind != kind || (peer >= 0 && need->peer != peer))
            n++;
        else if (is_met(node, need))
            op->need[n] = op->need[--op->need_count];
        else
            return false;
    }
    return true;
}

static bool commits_met(const dcli_node *node, struct open_op *op) { return needs_met(node, op, NEED_COMMIT, -1); }

/* The write rule. */
static bool writes_allowed(const dcli_node *node, struct open_op *op)
{
    return needs_met(node, op, NEED_READ, -1) && commits_met(node, op);
}

/* The read rule, for what is read in place. */
static bool reads_allowed(const dcli_node *node, struct open_op *op) { return needs_met(node, op, NEED_READY, -1); }

static bool chunks_arrived(const struct open_op *op, const dcli_batch *batch)
{
    for (int64_t c = batch->first_chunk; c < batch->first_chunk + batch->chunk_count; c++)
        if (!op->arrived[c])
            return false;
    return true;
}

static int64_t made_bytes(const struct open_op *op, const dcli_batch *batch)
{
    int64_t bytes = 0;
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++)
        bytes += op->own->chunk[c].bytes;
    return bytes;
}

static bool may_start(const dcli_node *node, struct open_op *op)
{
    const dcli_batch *batch = &op->own->batch[op->started];
    if (!chunks_arrived(op, batch) || !writes_allowed(node, op) || !reads_allowed(node, op))
        return false;
    return node->made_unsent == 0 || node->made_unsent + made_bytes(op, batch) <= node->terms.made_bytes;
}

/* Whether something the operation reads is known to have failed. */
static bool reads_failed(const dcli_node *node, const struct open_op *op)
{
    for (int k = 0; k < op->operation->operand_count; k++) {
        const dcli_operand *operand = &op->operation->operand[k];
        if (operand->storage < 0 || !operand->reads)
            continue;
        const dcli_storage *storage = dcli_storages_find(&node->storages, operand->storage);
        if (storage != NULL && dcli_storage_failed(storage, op->number))
            return true;
    }
    return false;
}

static bool has_outputs(const struct open_op *op)
{
    for (int k = 0; k < op->operation->operand_count; k++)
        if (op->operation->operand[k].writes)
            return true;
    return false;
}

/* ---- progress ----------------------------------------------------------------------------------------------------- */

static void advance_marks(dcli_node *node)
{
    for (; node->done < node->seen; node->done++) {
        const struct open_op *op = find(node, node->done + 1);
        if (op != NULL && op->ended < op->own->batch_count)
            break;
    }
    for (; node->ready < node->done; node->ready++) {
        struct open_op *op = find(node, node->ready + 1);
        for (int q = 0; op != NULL && op->exchange != NULL && q < node->peers; q++)
            if (op->exchange[q].receive.passed < op->exchange[q].receive.total)
                return;
        /* Also a peer without tasks in it passes a failure on: so what failed does not depend on who heard when. */
        if (op != NULL && has_outputs(op) && reads_failed(node, op))
            tell_failed(node, op, DCL_ERR_INVALID, false);
    }
}

static void mark_made(dcli_node *node, const struct open_op *op, int64_t b, dcl_status status)
{
    const dcli_batch *batch = &op->own->batch[b];
    if (batch->made_count == 0)
        return;
    for (int q = 0; q < node->peers; q++)
        for (int64_t n = node->outbox[q].first; n < node->outbox[q].count; n++) {
            struct made *made = &node->outbox[q].made[n];
            if (made->operation == op->number && made->batch == b) {
                made->ended = true;
                made->status = status;
            }
        }
}

static void end_batch(dcli_node *node, struct open_op *op, int64_t b, dcl_status status)
{
    op->batch_ended[b] = true;
    while (op->ended < op->own->batch_count && op->batch_ended[op->ended])
        op->ended++;
    mark_made(node, op, b, status);
    advance_marks(node);
}

dcl_status dcli_node_batch_done(dcli_node *node, int64_t operation, int64_t batch, dcl_status status)
{
    struct open_op *op = find(node, operation);
    if (op == NULL || batch < 0 || batch >= op->started || op->batch_ended[batch])
        return DCLI_FAIL(DCL_ERR_INTERNAL, "batch %" PRId64 " of operation %" PRId64 " ended but does not run", batch,
                         operation);
    bool cause = status != DCL_OK;
    if (status == DCL_OK && reads_failed(node, op)) /* found out while it ran */
        status = DCL_ERR_INVALID;
    dcl_status told = DCL_OK;
    if (status != DCL_OK) {
        if (op->skip == DCL_OK)
            op->skip = status;
        told = tell_failed(node, op, status, cause);
    }
    end_batch(node, op, batch, op->skip);
    return told;
}

dcl_status dcli_node_fail(dcli_node *node, int64_t operation, dcl_status status)
{
    struct open_op *op = find(node, operation);
    return op == NULL ? DCL_OK : tell_failed(node, op, status, true);
}

static dcl_status queue_made(dcli_node *node, const struct open_op *op, int64_t b)
{
    const dcli_batch *batch = &op->own->batch[b];
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++) {
        struct outbox *outbox = &node->outbox[op->own->chunk[c].peer];
        if (outbox->first == outbox->count)
            outbox->first = outbox->count = 0;
        if (dcli_grow(&outbox->made, outbox->count, &outbox->capacity, sizeof *outbox->made) != 0)
            return DCL_ERR_NOMEM;
        outbox->made[outbox->count++] = (struct made){.operation = op->number, .chunk = c, .batch = b};
        node->made_unsent += op->own->chunk[c].bytes;
    }
    return DCL_OK;
}

/* ---- actions ------------------------------------------------------------------------------------------------------ */

static bool next_notice(dcli_node *node, dcli_action *action)
{
    if (node->notice_first == node->notice_count)
        return false;
    const struct notice *notice = &node->notice[node->notice_first++];
    *action = (dcli_action){.kind = DCLI_DO_FAILED,
                            .status = notice->status,
                            .cause = notice->cause,
                            .operation = find(node, notice->operation)->operation};
    if (node->notice_first == node->notice_count)
        node->notice_first = node->notice_count = 0;
    return true;
}

static bool next_send(dcli_node *node, dcli_action *action)
{
    for (int q = 0; q < node->peers && node->made_unsent > 0; q++) {
        struct outbox *outbox = &node->outbox[q];
        struct made *made = outbox->first < outbox->count ? &outbox->made[outbox->first] : NULL;
        if (made == NULL || !made->ended || outbox->outstanding >= node->terms.window_chunks)
            continue;
        struct open_op *op = find(node, made->operation);
        *action = (dcli_action){
            .kind = DCLI_DO_SEND, .operation = op->operation, .peer = q, .chunk = made->chunk, .status = made->status};
        node->made_unsent -= op->own->chunk[made->chunk].bytes;
        op->transfers--;
        outbox->first++;
        outbox->outstanding++;
        return true;
    }
    return false;
}

static bool next_commit(dcli_node *node, struct open_op *op, dcli_action *action)
{
    for (int q = 0; q < node->peers; q++) {
        struct stream *stream = &op->exchange[q].receive;
        if (stream->passed == stream->granted || !writes_allowed(node, op))
            continue;
        *action = (dcli_action){.kind = DCLI_DO_COMMIT,
                                .operation = op->operation,
                                .peer = q,
                                .chunk = stream->chunk[stream->passed],
                                .status = stream->status[stream->passed]};
        if (action->status != DCL_OK)
            tell_failed(node, op, action->status, false);
        stream->passed++;
        op->transfers--;
        node->peer[q].credit_due++;
        advance_marks(node);
        return true;
    }
    return false;
}

static bool next_pack(dcli_node *node, struct open_op *op, dcli_action *action)
{
    for (int q = 0; q < node->peers; q++) {
        struct stream *stream = &op->exchange[q].send;
        if (stream->passed == stream->granted || !commits_met(node, op) || !needs_met(node, op, NEED_PACK, q))
            continue;
        *action = (dcli_action){.kind = DCLI_DO_PACK,
                                .operation = op->operation,
                                .peer = q,
                                .chunk = stream->chunk[stream->passed++],
                                .status = reads_failed(node, op) ? DCL_ERR_INVALID : DCL_OK};
        op->transfers--;
        return true;
    }
    return false;
}

static bool next_drop(dcli_node *node, struct open_op *op, dcli_action *action)
{
    const dcli_plan *plan = op->own;
    while (op->drop_from < plan->chunk_count && op->dropped[op->drop_from])
        op->drop_from++;
    for (int64_t c = op->drop_from; c < plan->chunk_count && plan->chunk[c].first_batch < op->ended; c++) {
        if (op->dropped[c] || plan->chunk[c].last_batch >= op->ended)
            continue;
        op->dropped[c] = true;
        op->transfers--;
        node->pool_used -= plan->chunk[c].bytes;
        *action =
            (dcli_action){.kind = DCLI_DO_DROP, .operation = op->operation, .peer = plan->chunk[c].peer, .chunk = c};
        return true;
    }
    return false;
}

/* Grant what fits the pool, in the order of (operation, batch, chunk), never past one that does not fit. */
static void grant_ahead(dcli_node *node)
{
    for (; node->grant_op <= node->seen; node->grant_op++, node->grant_chunk = 0) {
        struct open_op *op = find(node, node->grant_op);
        for (; op != NULL && op->exchange != NULL && node->grant_chunk < op->own->chunk_count; node->grant_chunk++) {
            const dcli_chunk *chunk = &op->own->chunk[node->grant_chunk];
            if (chunk->written)
                continue;
            if (node->pool_used + chunk->bytes > node->terms.plan.pool_bytes)
                return;
            node->pool_used += chunk->bytes;
            op->exchange[chunk->peer].grant_due++;
        }
    }
}

static bool next_grant(struct open_op *op, int peers, dcli_action *action)
{
    for (int q = 0; q < peers; q++) {
        struct exchange *exchange = &op->exchange[q];
        if (exchange->grant_told == exchange->grant_due)
            continue;
        exchange->grant_told = exchange->grant_due;
        *action =
            (dcli_action){.kind = DCLI_DO_GRANT, .operation = op->operation, .peer = q, .index = exchange->grant_due};
        return true;
    }
    return false;
}

static bool next_exchange(dcli_node *node, dcli_action *action)
{
    int64_t left = node->exchanging;
    for (int64_t n = node->first; n <= node->seen && left > 0; n++) {
        struct open_op *op = find(node, n);
        if (op->exchange == NULL)
            continue;
        left--;
        if (op->transfers == 0)
            continue;
        if (next_grant(op, node->peers, action) || next_drop(node, op, action))
            return true;
        if (n <= node->cursor && (next_commit(node, op, action) || next_pack(node, op, action)))
            return true;
    }
    return false;
}

static bool next_credit(dcli_node *node, dcli_action *action)
{
    for (int q = 0; q < node->peers && node->exchanging > 0; q++)
        if (node->peer[q].credit_due > 0) {
            *action = (dcli_action){.kind = DCLI_DO_CREDIT, .peer = q, .index = node->peer[q].credit_due};
            node->peer[q].credit_due = 0;
            return true;
        }
    return false;
}

static bool next_batch(dcli_node *node, dcli_action *action)
{
    struct open_op *op;
    while ((op = find(node, node->cursor)) != NULL && op->started == op->own->batch_count)
        node->cursor++;
    if (op == NULL || !may_start(node, op))
        return false;
    int64_t b = op->started;
    if (queue_made(node, op, b) != DCL_OK)
        op->skip = DCL_ERR_NOMEM;
    op->started++;
    if (op->skip == DCL_OK && reads_failed(node, op))
        op->skip = DCL_ERR_INVALID;
    *action = (dcli_action){.kind = op->skip == DCL_OK ? DCLI_DO_RUN : DCLI_DO_SKIP,
                            .operation = op->operation,
                            .index = b,
                            .status = op->skip};
    if (op->skip != DCL_OK) {
        tell_failed(node, op, op->skip, false);
        end_batch(node, op, b, op->skip);
    }
    return true;
}

static bool is_finished(const dcli_node *node, const struct open_op *op)
{
    return op->number <= node->ready && op->transfers == 0 && op->number < node->cursor && op->number < node->grant_op;
}

static bool next_retired(dcli_node *node, dcli_action *action)
{
    struct open_op *op = find(node, node->first);
    if (op == NULL || !is_finished(node, op) || node->notice_count > 0)
        return false;
    *action = (dcli_action){.kind = DCLI_DO_RETIRE, .operation = op->operation};
    node->exchanging -= op->exchange != NULL;
    if (op->operation->kind == DCLI_OP_RELEASE)
        dcli_storages_drop(&node->storages, op->operation->operand[0].storage);
    free_op(node, op);
    node->first++;
    memmove(node->op, node->op + 1, (size_t)(node->seen - node->first + 1) * sizeof *node->op);
    return true;
}

static bool next_marks(dcli_node *node, dcli_action *action)
{
    for (int q = 0; q < node->peers; q++) {
        struct peer *peer = &node->peer[q];
        if ((peer->told_done == node->done && peer->told_ready == node->ready) || peer->told_ready >= peer->interest ||
            q == node->terms.self)
            continue;
        peer->told_done = node->done;
        peer->told_ready = node->ready;
        *action = (dcli_action){.kind = DCLI_DO_MARKS, .peer = q, .done = node->done, .ready = node->ready};
        return true;
    }
    return false;
}

bool dcli_node_next(dcli_node *node, dcli_action *action_out)
{
    grant_ahead(node);
    advance_marks(node);
    return next_notice(node, action_out) || next_send(node, action_out) || next_exchange(node, action_out) ||
           next_batch(node, action_out) || next_credit(node, action_out) || next_retired(node, action_out) ||
           next_marks(node, action_out);
}

/* ---- questions ---------------------------------------------------------------------------------------------------- */

void dcli_node_watermarks(const dcli_node *node, int64_t *done_out, int64_t *ready_out)
{
    *done_out = node->done;
    *ready_out = node->ready;
}

bool dcli_node_idle(const dcli_node *node) { return node->first > node->seen; }

bool dcli_node_reads_failed(const dcli_node *node, int64_t operation)
{
    const struct open_op *op = find(node, operation);
    return op != NULL && reads_failed(node, op);
}

bool dcli_node_exchanges(const dcli_node *node) { return node->exchanging > 0; }

const dcli_plan *dcli_node_plan(const dcli_node *node, int64_t operation, int peer)
{
    const struct open_op *op = find(node, operation);
    if (op == NULL)
        return NULL;
    return peer == node->terms.self ? op->own : op->exchange != NULL ? op->exchange[peer].plan : NULL;
}

static void explain_op(const dcli_node *node, const struct open_op *op, dcli_text *text)
{
    static const char *texts[] = {" peer %d still reads for %" PRId64 ";",
                                  " output of peer %d in %" PRId64 " not committed;",
                                  " peer %d not ready at %" PRId64 ";", " not all packed for peer %d in %" PRId64 ";"};
    dcli_text_put(text,
                  "operation %" PRId64 " kind %d: started %" PRId64 ", ended %" PRId64 " of %" PRId64
                  " batches, %" PRId64 " transfers open;",
                  op->number, op->operation->kind, op->started, op->ended, op->own->batch_count, op->transfers);
    for (int64_t n = 0; n < op->need_count; n++)
        if (!is_met(node, &op->need[n]))
            dcli_text_put(text, texts[op->need[n].kind], op->need[n].peer, op->need[n].operation);
    dcli_text_put(text, "\n");
}

char *dcli_node_explain(const dcli_node *node)
{
    dcli_text text = {0};
    dcli_text_put(&text,
                  "peer %d: seen %" PRId64 ", cursor %" PRId64 ", done %" PRId64 ", ready %" PRId64
                  ", pool used %" PRId64 ", unsent %" PRId64 "\n",
                  node->terms.self, node->seen, node->cursor, node->done, node->ready, node->pool_used,
                  node->made_unsent);
    for (int64_t n = node->first; n <= node->seen; n++)
        explain_op(node, find(node, n), &text);
    return dcli_text_take(&text);
}
