/* workqueue/node_event.c - the state machine's reactions to messages of peers and to the ends of its own batches. */
#include "workqueue/node_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The newest stored grant of a peer, if it is for this operation; else NULL. */
static struct dcli_early *find_grant(const dcli_node *node, int from, int64_t operation)
{
    int64_t e = dcli_peer_seen(node, from)->early_grants > 0 ? node->early_count - 1 : -1;
    while (e >= 0 && !(node->early[e].is_grant && node->early[e].from == from))
        e--;
    return e >= 0 && node->early[e].operation == operation ? &node->early[e] : NULL;
}

/* Store a message for an operation that this node has not seen. The number of stored messages is limited: that of
 * written chunks by the window, that of grants by DCLI_GRANTS_AHEAD. */
static dcl_status keep_early(dcli_node *node, const struct dcli_early *early)
{
    struct dcli_peer *peer = dcli_peer_record(node, early->from);
    if (peer == NULL)
        return DCL_ERR_NOMEM;
    struct dcli_early *grant = early->is_grant ? find_grant(node, early->from, early->operation) : NULL;
    if (grant != NULL && early->number >= grant->number) { /* a grant covers all chunks up to its number */
        grant->number = early->number;
        return DCL_OK;
    }
    if (early->is_grant && peer->early_grants >= DCLI_GRANTS_AHEAD)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d is too far ahead: its grants for %d operations to come are kept; expected no more",
                         early->from, DCLI_GRANTS_AHEAD);
    if (early->operation <= node->seen)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d speaks of operation %" PRId64 ", which needs nothing of it any more", early->from,
                         early->operation);
    if (dcli_grow(&node->early, node->early_count, &node->early_capacity, sizeof *early) != 0)
        return DCL_ERR_NOMEM;
    node->early[node->early_count++] = *early;
    peer->early_grants += early->is_grant;
    return DCL_OK;
}

static dcl_status refuse(int from, const char *what, int64_t operation, int64_t number)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d sent %s %" PRId64 " of operation %" PRId64 ", which was not expected",
                     from, what, number, operation);
}

static dcl_status take_grant(dcli_node *node, int from, int64_t operation, int64_t chunks, bool declined)
{
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_open_op *op = dcli_op_find(node, operation);
    if (op == NULL)
        return keep_early(
            node, &(struct dcli_early){
                      .from = from, .is_grant = true, .declined = declined, .operation = operation, .number = chunks});
    struct dcli_exchange *exchange = dcli_exchange_of(op, from);
    if (exchange == NULL || chunks < exchange->send.granted || chunks > exchange->send.total)
        return refuse(from, "a grant up to chunk", operation, chunks);
    exchange->send.granted = chunks;
    exchange->send.declined |= declined;
    dcli_be_due(&op->to_pack, op, exchange);
    dcli_be_moving(node, op);
    return DCL_OK;
}

dcl_status dcli_node_grant(dcli_node *node, int from, int64_t operation, int64_t chunks)
{
    return take_grant(node, from, operation, chunks, false);
}

dcl_status dcli_node_decline(dcli_node *node, int from, int64_t operation, int64_t chunks)
{
    return take_grant(node, from, operation, chunks, true);
}

/* The index in our plan of chunk `number` of the stream that we read from peer `from`; -1: no such chunk is
 * expected. */
static int64_t own_chunk(const struct dcli_open_op *op, int from, int64_t number)
{
    const struct dcli_exchange *exchange = dcli_exchange_of(op, from);
    if (exchange == NULL || number < 0 || number >= exchange->own_count)
        return -1;
    int64_t c = op->own_chunk[exchange->first_own + number];
    return op->arrived[c] ? -1 : c;
}

static dcl_status take_read(dcli_node *node, struct dcli_open_op *op, int from, int64_t number, dcl_status status)
{
    int64_t c = own_chunk(op, from, number);
    bool is_data = status == DCL_OK, declined = op->own->status != DCL_OK;
    if (c < 0 || number >= dcli_exchange_of(op, from)->grant_told || (is_data && declined))
        return refuse(from, "chunk", op->number, number);
    op->arrived[c] = true;
    if (status == DCL_OK || op->skip != DCL_OK)
        return DCL_OK;
    op->skip = status;
    return dcli_tell_failed(node, op, status, false);
}

static dcl_status take_written(dcli_node *node, struct dcli_open_op *op, int from, int64_t number, dcl_status status)
{
    struct dcli_exchange *exchange = dcli_exchange_of(op, from);
    struct dcli_stream *stream = exchange != NULL ? &exchange->receive : NULL;
    if (stream == NULL || number != stream->granted || number >= stream->total)
        return refuse(from, "written chunk", op->number, number);
    stream->status[number] = status;
    stream->granted++;
    dcli_be_due(&op->to_commit, op, exchange);
    dcli_be_moving(node, op);
    return DCL_OK;
}

static dcl_status take_chunk(dcli_node *node, int from, int64_t operation, bool written, int64_t number,
                             dcl_status status)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    if (op == NULL && !written && operation > node->seen)
        return refuse(from, "chunk", operation, number); /* nothing was granted for this operation yet */
    if (op == NULL)
        return keep_early(
            node, &(struct dcli_early){
                      .from = from, .written = written, .operation = operation, .number = number, .status = status});
    return written ? take_written(node, op, from, number, status) : take_read(node, op, from, number, status);
}

/* Peers send written chunks without a grant. The window limits how many may be uncommitted; more are refused. */
dcl_status dcli_node_chunk(dcli_node *node, int from, int64_t operation, bool written, int64_t number,
                           dcl_status status)
{
    struct dcli_peer *peer = dcli_peer_record(node, from);
    if (peer == NULL)
        return DCL_ERR_NOMEM;
    if (peer->presence == DCLI_LOST)
        return DCL_OK;
    if (written && peer->uncommitted >= node->terms.window_chunks)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d sent written chunk %" PRId64 " of operation %" PRId64 " while %" PRId64
                         " are not committed; expected at most %" PRId64,
                         from, number, operation, peer->uncommitted, (int64_t)node->terms.window_chunks);
    dcl_status taken = take_chunk(node, from, operation, written, number, status);
    peer->uncommitted += written && taken == DCL_OK;
    return taken;
}

dcl_status dcli_replay_early(dcli_node *node, int64_t number)
{
    int64_t kept = 0, count = node->early_count;
    dcl_status status = DCL_OK;
    for (int64_t e = 0; e < count; e++) {
        struct dcli_early early = node->early[e];
        if (early.operation != number) {
            node->early[kept++] = early;
            continue;
        }
        dcli_peer_made(node, early.from)->early_grants -= early.is_grant;
        dcl_status this = early.is_grant ? take_grant(node, early.from, number, early.number, early.declined)
                          : dcli_peer_seen(node, early.from)->presence == DCLI_LOST
                              ? DCL_OK
                              : take_chunk(node, early.from, number, early.written, early.number, early.status);
        if (status == DCL_OK)
            status = this;
    }
    node->early_count = kept;
    return status;
}

dcl_status dcli_node_credit(dcli_node *node, int from, int64_t chunks)
{
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    int64_t outstanding = dcli_peer_seen(node, from)->outbox.outstanding;
    if (chunks < 1 || chunks > outstanding)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d gives credit for %" PRId64 " chunks; %" PRId64 " are outstanding",
                         from, chunks, outstanding);
    dcli_peer_made(node, from)->outbox.outstanding -= chunks;
    node->sender = 0;
    return DCL_OK;
}

dcl_status dcli_node_marks(dcli_node *node, int from, int64_t done, int64_t ready)
{
    struct dcli_peer *peer = dcli_peer_record(node, from);
    if (peer == NULL)
        return DCL_ERR_NOMEM;
    if (peer->presence == DCLI_LOST)
        return DCL_OK;
    int64_t *last_done = peer->presence == DCLI_ABSENT ? &peer->early_done : &peer->done;
    int64_t *last_ready = peer->presence == DCLI_ABSENT ? &peer->early_ready : &peer->ready;
    if (done < *last_done || ready < *last_ready || ready > done)
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "peer %d sets done %" PRId64 ", ready %" PRId64 " after %" PRId64 ", %" PRId64, from, done,
                         ready, *last_done, *last_ready);
    *last_done = done;
    *last_ready = ready;
    return DCL_OK;
}

/* ---- ends of batches --------------------------------------------------------------------------------------------- */

static void mark_made(dcli_node *node, const struct dcli_open_op *op, int64_t b, dcl_status status)
{
    const dcli_batch *batch = &op->own->batch[b];
    if (batch->made_count == 0)
        return;
    node->sender = 0;
    for (int64_t s = 0; s < node->senders.count; s++) {
        struct dcli_outbox *outbox = &dcli_peer_made(node, node->senders.node[s])->outbox;
        for (int64_t n = outbox->first; n < outbox->count; n++) {
            struct dcli_made *made = &outbox->made[n];
            if (made->operation == op->number && made->batch == b) {
                made->ended = true;
                made->status = status;
            }
        }
    }
}

/* Record that a running batch has finished reading peers' parts. Has no effect if this was recorded before. */
static void note_read(struct dcli_open_op *op, int64_t b)
{
    op->read += op->batch[b] == DCLI_BATCH_RUNS;
    op->batch[b] = DCLI_BATCH_HAS_READ;
}

static bool is_running(const struct dcli_open_op *op, int64_t b)
{
    return b >= 0 && b < op->own->batch_count &&
           (op->batch[b] == DCLI_BATCH_RUNS || op->batch[b] == DCLI_BATCH_HAS_READ);
}

void dcli_leave_waiting(struct dcli_open_op *op, int64_t b, enum dcli_batch_state state)
{
    assert(op->batch[b] == DCLI_BATCH_WAITS && (b == op->next || state == DCLI_BATCH_LENT));
    op->batch[b] = (uint8_t)state;
    op->waiting--;
    op->running += state == DCLI_BATCH_RUNS;
    op->lent += state == DCLI_BATCH_LENT;
    if (b > op->next)
        return;
    op->batch_arrived = 0;
    while (op->next < op->own->batch_count && op->batch[op->next] != DCLI_BATCH_WAITS)
        op->next++;
}

static void end_batches(dcli_node *node, struct dcli_open_op *op, int64_t first, int64_t count, dcl_status status)
{
    for (int64_t b = first; b < first + count; b++) {
        assert(is_running(op, b) || op->batch[b] == DCLI_BATCH_COMMITS);
        op->read += op->batch[b] == DCLI_BATCH_RUNS;
        op->batch[b] = DCLI_BATCH_ENDED;
    }
    op->running -= count;
    while (op->ended < op->own->batch_count && op->batch[op->ended] == DCLI_BATCH_ENDED)
        op->ended++;
    for (int64_t b = first; b < first + count && node->senders.count > 0; b++)
        mark_made(node, op, b, status);
    if (op->own->chunk_count > 0)
        dcli_be_moving(node, op);
    dcli_advance_marks(node);
}

void dcli_end_batch(dcli_node *node, struct dcli_open_op *op, int64_t b, dcl_status status)
{
    end_batches(node, op, b, 1, status);
}

dcl_status dcli_node_batch_read(dcli_node *node, int64_t operation, int64_t batch)
{
    return dcli_node_batches_read(node, operation, batch, 1);
}

dcl_status dcli_node_batches_read(dcli_node *node, int64_t operation, int64_t first, int64_t count)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    for (int64_t b = first; b < first + count; b++) {
        if (op == NULL || !is_running(op, b))
            return DCLI_FAIL(DCL_ERR_INTERNAL, "batch %" PRId64 " of operation %" PRId64 " has read but does not run",
                             b, operation);
        note_read(op, b);
    }
    dcli_advance_marks(node);
    return DCL_OK;
}

dcl_status dcli_node_batches_copied(dcli_node *node, int64_t operation, int64_t first, int64_t count)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    if (op == NULL || !is_running(op, first))
        return DCLI_FAIL(DCL_ERR_INTERNAL, "batch %" PRId64 " of operation %" PRId64 " has copied but does not run",
                         first, operation);
    while (op->copied < first && op->batch[op->copied] == DCLI_BATCH_ENDED)
        op->copied++;
    if (op->copied == first) /* otherwise a batch before `first` still needs its chunks: it is lent, or has not
                                copied them */
        op->copied = first + count;
    dcli_be_moving(node, op);
    return DCL_OK;
}

dcl_status dcli_node_batch_done(dcli_node *node, int64_t operation, int64_t batch, dcl_status status)
{
    return dcli_node_batches_done(node, operation, batch, 1, status);
}

dcl_status dcli_node_batches_done(dcli_node *node, int64_t operation, int64_t first, int64_t count, dcl_status status)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    int64_t b = first;
    while (b < first + count && op != NULL && is_running(op, b))
        b++;
    if (b < first + count && (op == NULL || !dcli_lending_committed(node, operation, first, count)))
        return DCLI_FAIL(DCL_ERR_INTERNAL, "batch %" PRId64 " of operation %" PRId64 " ended but does not run", b,
                         operation);
    bool cause = status != DCL_OK;
    if (status == DCL_OK)
        status = dcli_op_inputs(node, op); /* an input was found to have failed while the batch ran */
    dcl_status told = DCL_OK;
    if (status != DCL_OK) {
        if (op->skip == DCL_OK)
            op->skip = status;
        told = dcli_tell_failed(node, op, status, cause);
    }
    end_batches(node, op, first, count, op->skip);
    return told;
}

dcl_status dcli_node_chunk_done(dcli_node *node, int64_t operation, int peer, bool written, dcl_status status)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    struct dcli_exchange *exchange = op != NULL ? dcli_exchange_of(op, peer) : NULL;
    if (exchange == NULL || (written && exchange->receive.ended == exchange->receive.passed) ||
        (!written && exchange->send.ended == exchange->send.passed))
        return DCLI_FAIL(DCL_ERR_INTERNAL, "a chunk of operation %" PRId64 " with peer %d ended but was not begun",
                         operation, peer);
    op->transfers--;
    if (!written) {
        exchange->send.ended++;
        return DCL_OK;
    }
    dcl_status told = status != DCL_OK ? dcli_tell_failed(node, op, status, true) : DCL_OK;
    exchange->receive.ended++;
    op->uncommitted--;
    if (dcli_is_there(node, peer)) {
        struct dcli_peer *sender = dcli_peer_made(node, peer);
        dcl_status due = dcli_node_list_add(&node->creditors, peer); /* with room for all peers that write */
        assert(due == DCL_OK);
        (void)due;
        sender->credit_due++;
        sender->uncommitted--;
    }
    dcli_advance_marks(node);
    return told;
}

dcl_status dcli_node_fail(dcli_node *node, int64_t operation, dcl_status status)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    return op == NULL ? DCL_OK : dcli_tell_failed(node, op, status, true);
}
