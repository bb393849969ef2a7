/* workqueue/node.c - the state machine of one peer: making and freeing it, and choosing its next action. The rules
 * are in node.h. */
#include "workqueue/node_inside.h"

#include <assert.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"

/* ---- life -------------------------------------------------------------------------------------------------------- */

static int page_count(const dcli_node *node) { return (int)dcli_ceil_div(node->peers, DCLI_PEERS_IN_PAGE); }

struct dcli_peer *dcli_peer_record(dcli_node *node, int peer)
{
    struct dcli_peer **page = &node->page[peer / DCLI_PEERS_IN_PAGE];
    if (*page == NULL) {
        *page = dcli_malloc(DCLI_PEERS_IN_PAGE * sizeof **page);
        for (int q = 0; *page != NULL && q < DCLI_PEERS_IN_PAGE; q++)
            (*page)[q] = node->unknown;
    }
    return *page != NULL ? dcli_peer_made(node, peer) : NULL;
}

static dcl_status be_absent(dcli_node *node, int q)
{
    struct dcli_peer *peer = dcli_peer_record(node, q);
    if (peer == NULL)
        return DCL_ERR_NOMEM;
    *peer = (struct dcli_peer){.presence = DCLI_ABSENT, .done = INT64_MAX, .ready = INT64_MAX};
    return dcli_node_list_add(&node->absent, q);
}

dcli_node *dcli_node_open(const dcli_node_terms *terms)
{
    dcli_node *node = dcli_calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->terms = *terms;
    if (node->terms.first_operation < 1)
        node->terms.first_operation = 1;
    node->peers = terms->plan.node_count + 1;
    node->base = node->first = node->cursor = node->grant_op = node->tell_op = node->terms.first_operation;
    node->seen = node->done = node->ready = node->terms.first_operation - 1;
    node->unknown =
        (struct dcli_peer){.done = node->seen, .ready = node->seen, .told_done = node->seen, .told_ready = node->seen};
    node->page = dcli_calloc((size_t)page_count(node), sizeof *node->page);
    dcl_status status = node->page != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int q = 0; terms->absent != NULL && q < terms->plan.node_count && status == DCL_OK; q++)
        if (terms->absent[q])
            status = be_absent(node, q);
    if (status == DCL_OK)
        status = dcli_lending_open(node);
    node->terms.absent = NULL;
    if (status == DCL_OK && terms->self != terms->plan.node_count) /* the host waits for completion */
        status = dcli_be_heard(node, terms->plan.node_count, INT64_MAX);
    if (status == DCL_OK)
        return node;
    dcli_node_close(node);
    return NULL;
}

void dcli_node_close(dcli_node *node)
{
    if (node == NULL)
        return;
    for (int64_t n = node->first; n <= node->seen; n++)
        dcli_op_free(node, dcli_op_find(node, n));
    dcli_op_free_spare(node);
    for (int p = 0; node->page != NULL && p < page_count(node); p++) {
        for (int q = 0; node->page[p] != NULL && q < DCLI_PEERS_IN_PAGE; q++)
            dcli_free(node->page[p][q].outbox.made);
        dcli_free(node->page[p]);
    }
    dcli_free(node->op);
    dcli_free(node->page);
    dcli_free(node->early);
    dcli_free(node->notice);
    dcli_free(node->written.entry);
    dcli_free(node->foretold.entry);
    dcli_free(node->telling.pairs.number);
    dcli_node_list_free(&node->absent);
    dcli_node_list_free(&node->senders);
    dcli_node_list_free(&node->creditors);
    dcli_node_list_free(&node->listeners);
    dcli_storages_free(&node->storages);
    dcli_lending_close(node);
    dcli_free(node);
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

static bool chunks_arrived(struct dcli_open_op *op, const dcli_batch *batch)
{
    while (op->batch_arrived < batch->chunk_count && op->arrived[batch->first_chunk + op->batch_arrived])
        op->batch_arrived++;
    return op->batch_arrived == batch->chunk_count;
}

static int64_t made_bytes(const struct dcli_open_op *op, const dcli_batch *batch)
{
    int64_t bytes = 0;
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++)
        bytes += op->own->chunk[c].bytes;
    return bytes;
}

static bool may_start(const dcli_node *node, struct dcli_open_op *op)
{
    const dcli_batch *batch = &op->own->batch[op->next];
    if (!chunks_arrived(op, batch) || !dcli_writes_allowed(node, op))
        return false;
    if (batch->reads_parts && !dcli_reads_allowed(node, op))
        return false;
    return node->made_unsent == 0 || node->made_unsent + made_bytes(op, batch) <= node->terms.made_bytes;
}

/* Queue the chunks that a batch will make: all of them, or none if there is no memory. */
static dcl_status queue_made(dcli_node *node, const struct dcli_open_op *op, int64_t b)
{
    const dcli_batch *batch = &op->own->batch[b];
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++) {
        struct dcli_outbox *outbox = &dcli_peer_made(node, op->own->chunk[c].peer)->outbox;
        while (outbox->capacity < outbox->count + batch->made_count)
            if (dcli_grow(&outbox->made, outbox->capacity, &outbox->capacity, sizeof *outbox->made) != 0)
                return DCL_ERR_NOMEM;
        if (dcli_node_list_add(&node->senders, op->own->chunk[c].peer) != DCL_OK)
            return DCL_ERR_NOMEM;
    }
    for (int64_t c = batch->first_made; c < batch->first_made + batch->made_count; c++) {
        struct dcli_outbox *outbox = &dcli_peer_made(node, op->own->chunk[c].peer)->outbox;
        node->sender = 0;
        if (outbox->first == outbox->count)
            outbox->first = outbox->count = 0;
        outbox->made[outbox->count++] = (struct dcli_made){.operation = op->number, .chunk = c, .batch = b};
        node->made_unsent += op->own->chunk[c].bytes;
    }
    return DCL_OK;
}

static bool next_notice(dcli_node *node, dcli_action *action)
{
    if (node->notice_first == node->notice_count)
        return false;
    const struct dcli_notice *notice = &node->notice[node->notice_first++];
    *action = (dcli_action){.kind = DCLI_DO_FAILED,
                            .status = notice->status,
                            .cause = notice->cause,
                            .operation = dcli_op_find(node, notice->operation)->operation};
    if (node->notice_first == node->notice_count)
        node->notice_first = node->notice_count = 0;
    return true;
}

static bool next_send(dcli_node *node, dcli_action *action)
{
    for (; node->sender < node->senders.count; node->sender++) {
        int q = node->senders.node[node->sender];
        struct dcli_outbox *outbox = &dcli_peer_made(node, q)->outbox;
        struct dcli_made *made = outbox->first < outbox->count ? &outbox->made[outbox->first] : NULL;
        bool there = dcli_is_there(node, q);
        if (made == NULL)
            dcli_node_list_take(&node->senders, node->sender--);
        if (made == NULL || !made->ended || (there && outbox->outstanding >= node->terms.window_chunks))
            continue;
        struct dcli_open_op *op = dcli_op_find(node, made->operation);
        *action = (dcli_action){.kind = there ? DCLI_DO_SEND : DCLI_DO_DISCARD,
                                .operation = op->operation,
                                .peer = q,
                                .chunk = made->chunk,
                                .status = made->status};
        node->made_unsent -= op->own->chunk[made->chunk].bytes;
        op->transfers--;
        outbox->first++;
        outbox->outstanding++;
        return true;
    }
    return false;
}

static bool next_commit(dcli_node *node, struct dcli_open_op *op, dcli_action *action)
{
    for (int64_t n = 0; n < op->to_commit.count && dcli_writes_allowed(node, op);) {
        struct dcli_exchange *exchange = &op->exchange[op->to_commit.node[n]];
        struct dcli_stream *stream = &exchange->receive;
        if (stream->passed == stream->granted) {
            dcli_node_list_take(&op->to_commit, n);
            continue;
        }
        *action = (dcli_action){.kind = DCLI_DO_COMMIT,
                                .operation = op->operation,
                                .peer = exchange->peer,
                                .chunk = stream->chunk[stream->passed],
                                .status = op->lost ? DCL_ERR_NODE_LOST : stream->status[stream->passed]};
        if (action->status != DCL_OK)
            dcli_tell_failed(node, op, action->status, false);
        stream->passed++;
        return true;
    }
    return false;
}

static bool next_pack(dcli_node *node, struct dcli_open_op *op, dcli_action *action)
{
    for (int64_t n = 0; n < op->to_pack.count && dcli_commits_met(node, op);) {
        struct dcli_stream *stream = &op->exchange[op->to_pack.node[n]].send;
        int q = op->exchange[op->to_pack.node[n]].peer;
        if (stream->passed == stream->granted) {
            dcli_node_list_take(&op->to_pack, n);
            continue;
        }
        if (!dcli_needs_met(node, op, DCLI_NEED_PACK, q)) {
            n++;
            continue;
        }
        *action = (dcli_action){.kind = DCLI_DO_PACK,
                                .operation = op->operation,
                                .peer = q,
                                .chunk = stream->chunk[stream->passed++],
                                .status = stream->declined ? DCL_ERR_NOMEM : dcli_op_inputs(node, op)};
        return true;
    }
    return false;
}

static bool next_drop(dcli_node *node, struct dcli_open_op *op, dcli_action *action)
{
    const dcli_plan *plan = op->own;
    while (op->drop_from < plan->chunk_count && op->dropped[op->drop_from])
        op->drop_from++;
    const int64_t end = dcli_max(op->ended, op->copied);
    for (int64_t c = op->drop_from; c < plan->chunk_count && plan->chunk[c].first_batch < end; c++) {
        if (op->dropped[c] || plan->chunk[c].last_batch >= end)
            continue;
        op->dropped[c] = true;
        op->transfers--;
        node->pool_used -= dcli_granted_bytes(op, c);
        *action =
            (dcli_action){.kind = DCLI_DO_DROP, .operation = op->operation, .peer = plan->chunk[c].peer, .chunk = c};
        return true;
    }
    return false;
}

/* Most bytes that may be granted and not dropped: twice what the operation needs at once, so that one batch computes
 * while another receives, but at least `ahead_bytes`, to keep a link busy, and at most the pool. So the oldest
 * operation always gets its chunks. */
static int64_t most_granted(const dcli_node *node, const struct dcli_open_op *op)
{
    const int64_t usual = 32 << 20, ahead = node->terms.ahead_bytes > 0 ? node->terms.ahead_bytes : usual;
    int64_t live = op->own->live_bytes, pool = node->terms.plan.pool_bytes;
    return dcli_min(pool, live > ahead / 2 ? dcli_min(pool, live) * 2 : ahead);
}

/* Grant chunks in the order of (operation, batch, chunk), up to the first one that does not fit. Peers keep grants for
 * operations that they have not seen yet, so the number of operations granted ahead is limited, too. */
static void grant_ahead(dcli_node *node)
{
    int64_t last = dcli_min(node->seen, node->cursor + DCLI_GRANTS_AHEAD - 1);
    for (; node->grant_op <= last; node->grant_op++, node->grant_chunk = 0) {
        struct dcli_open_op *op = dcli_op_find(node, node->grant_op);
        for (; op != NULL && node->grant_chunk < op->own->chunk_count; node->grant_chunk++) {
            const dcli_chunk *chunk = &op->own->chunk[node->grant_chunk];
            if (chunk->written || op->dropped[node->grant_chunk])
                continue;
            int64_t bytes = dcli_granted_bytes(op, node->grant_chunk);
            if (bytes > 0 && node->pool_used + bytes > most_granted(node, op))
                return;
            node->pool_used += bytes;
            struct dcli_exchange *exchange = dcli_exchange_of(op, chunk->peer);
            exchange->grant_due++;
            dcli_be_due(&op->to_grant, op, exchange);
        }
    }
}

static bool next_grant_of(struct dcli_open_op *op, dcli_action *action)
{
    while (op->to_grant.count > 0) {
        struct dcli_exchange *exchange = &op->exchange[op->to_grant.node[0]];
        dcli_node_list_take(&op->to_grant, 0);
        if (exchange->grant_told == exchange->grant_due)
            continue;
        exchange->grant_told = exchange->grant_due;
        *action = (dcli_action){.kind = DCLI_DO_GRANT,
                                .operation = op->operation,
                                .peer = exchange->peer,
                                .index = exchange->grant_due,
                                .status = op->own->status};
        return true;
    }
    return false;
}

/* Tell the next grant of operations up to `last`. grant_ahead() goes through the operations in order, so none is due
 * behind the operation where it stopped. */
static bool next_grant(dcli_node *node, int64_t last, dcli_action *action)
{
    for (last = dcli_min(last, dcli_min(node->seen, node->grant_op)); node->tell_op <= last; node->tell_op++) {
        struct dcli_open_op *op = dcli_op_find(node, node->tell_op);
        node->looks++;
        if (op != NULL && next_grant_of(op, action))
            return true;
        if (node->tell_op == node->grant_op)
            return false; /* more may be granted */
    }
    return false;
}

/* Add an operation to the list `moving` behind `before`; NULL: as the first one. */
static void link_moving(dcli_node *node, struct dcli_open_op *before, struct dcli_open_op *op)
{
    struct dcli_open_op **link = before != NULL ? &before->next_moving : &node->moving;
    op->next_moving = *link;
    *link = op;
    op->is_moving = true;
    if (op->next_moving == NULL)
        node->moving_last = op;
}

/* Remove the operation behind `before` from the list `moving`; NULL: the first one. @return the one after it. */
static struct dcli_open_op *unlink_moving(dcli_node *node, struct dcli_open_op *before)
{
    struct dcli_open_op **link = before != NULL ? &before->next_moving : &node->moving;
    (*link)->is_moving = false;
    *link = (*link)->next_moving;
    if (*link == NULL)
        node->moving_last = before;
    return *link;
}

void dcli_be_moving(dcli_node *node, struct dcli_open_op *op)
{
    if (op->is_moving || op->number > node->cursor)
        return;
    struct dcli_open_op *before = node->moving_last;
    if (before != NULL && before->number > op->number) {
        before = NULL;
        for (struct dcli_open_op *at = node->moving; at->number < op->number; at = at->next_moving)
            before = at;
    }
    link_moving(node, before, op);
}

/* The next drop, commit or pack of the operations up to the cursor. Batches of later ones have not begun, so nothing of
 * them can be dropped. */
static bool next_moving(dcli_node *node, dcli_action *action)
{
    struct dcli_open_op *before = NULL, *op = node->moving;
    for (; op != NULL; node->looks++) {
        if (op->transfers > 0 && (next_drop(node, op, action) ||
                                  (!node->held && (next_commit(node, op, action) || next_pack(node, op, action)))))
            return true;
        bool waits = op->transfers > 0 && op->to_commit.count + op->to_pack.count > 0;
        before = waits ? op : before;
        op = waits ? op->next_moving : unlink_moving(node, before);
    }
    return false;
}

/* Tell a grant of an operation after the cursor. While the grants of more than TOLD_AHEAD such operations are told, further
 * ones wait, and are then told together: a peer takes as long for one message as for several that come together. */
static bool next_grant_ahead(dcli_node *node, dcli_action *action)
{
    enum { TOLD_AHEAD = 64 }; /* operations; a round trip takes as long as some of the shortest */
    node->tells_ahead |= node->tell_op <= node->cursor + TOLD_AHEAD;
    node->tells_ahead = node->tells_ahead && next_grant(node, INT64_MAX, action);
    return node->tells_ahead;
}

static bool next_exchange(dcli_node *node, dcli_action *action)
{
    return next_grant(node, node->cursor, action) || next_moving(node, action) || next_grant_ahead(node, action);
}

static bool next_credit(dcli_node *node, dcli_action *action)
{
    if (node->creditors.count == 0)
        return false;
    int q = node->creditors.node[0];
    struct dcli_peer *peer = dcli_peer_made(node, q);
    *action = (dcli_action){.kind = DCLI_DO_CREDIT, .peer = q, .index = peer->credit_due};
    peer->credit_due = 0;
    dcli_node_list_take(&node->creditors, 0);
    return true;
}

/* Move the cursor past operations whose batches have all been started; a lent batch counts as started when its result
 * is here. Call it before granting, which starts at the cursor. */
static void advance_cursor(dcli_node *node)
{
    struct dcli_open_op *op;
    while ((op = dcli_op_find(node, node->cursor)) != NULL) {
        if (op->exchange_count > 0 && op->to_commit.count + op->to_pack.count > 0)
            dcli_be_moving(node, op);
        if (op->waiting > 0 || op->lent > 0)
            return;
        node->cursor++;
    }
}

static bool next_batch(dcli_node *node, dcli_action *action)
{
    struct dcli_open_op *op = node->held ? NULL : dcli_op_find(node, node->cursor);
    if (op == NULL || op->waiting == 0)
        return false;
    if ((node->paused && dcli_node_has_lendable(node)) || !may_start(node, op))
        return false;
    int64_t b = op->next;
    if (queue_made(node, op, b) != DCL_OK)
        return false; /* no memory: the action is tried again after the next event */
    dcli_leave_waiting(op, b, DCLI_BATCH_RUNS);
    if (op->skip == DCL_OK)
        op->skip = dcli_op_inputs(node, op);
    *action = (dcli_action){.kind = op->skip == DCL_OK ? DCLI_DO_RUN : DCLI_DO_SKIP,
                            .operation = op->operation,
                            .index = b,
                            .status = op->skip};
    if (op->skip != DCL_OK) {
        dcli_tell_failed(node, op, op->skip, false);
        dcli_end_batch(node, op, b, op->skip);
    }
    return true;
}

static bool is_finished(const dcli_node *node, const struct dcli_open_op *op)
{
    return op->number <= node->ready && op->transfers == 0 && op->number < node->cursor && op->number < node->grant_op;
}

static bool next_retired(dcli_node *node, dcli_action *action)
{
    bool kept = false;
    if (node->lending != NULL && !node->held && dcli_lending_next_retired(node, action))
        return true;
    struct dcli_open_op *op = node->held ? NULL : dcli_op_find(node, node->first);
    if (op == NULL || !is_finished(node, op) || node->notice_count > 0 ||
        (node->lending != NULL && dcli_lending_finished(node, op, &kept) != DCL_OK))
        return false;
    assert(op->lent == 0);
    *action = (dcli_action){.kind = kept ? DCLI_DO_FINISH : DCLI_DO_RETIRE, .operation = op->operation};
    node->writers -= op->writers;
    if (op->operation->kind == DCLI_OP_RELEASE)
        dcli_storages_drop(&node->storages, op->operation->operand[0].storage);
    assert(!op->is_moving); /* next_exchange() has just removed it from the list */
    dcli_op_free(node, op);
    node->first++;
    return true;
}

/* Collect the failures of which node `q` must hear before it hears our watermarks, because it may then read our part in
 * place. @return false: no memory. */
static bool collect_failures(dcli_node *node, int q)
{
    dcli_numbers *pairs = &node->telling.pairs;
    int64_t told = dcli_peer_seen(node, q)->told_failures;
    pairs->count = 0;
    for (int64_t at = 0; at < node->storages.capacity; at++) {
        const dcli_storage *storage = node->storages.slot[at];
        if (storage == NULL || storage->failed_at <= told)
            continue;
        for (int64_t n = 0; n < storage->failures.count; n++) {
            while (pairs->capacity < pairs->count + 2)
                if (dcli_grow(&pairs->number, pairs->capacity, &pairs->capacity, sizeof *pairs->number) != 0)
                    return false;
            pairs->number[pairs->count++] = storage->failures.number[n];
            pairs->number[pairs->count++] = storage->id;
        }
    }
    node->telling.to = q;
    node->telling.known = node->failures_known;
    node->telling.first = 0;
    return true;
}

/* Add failures to watermarks for node `q`: those that it was not told, or the next few of them.
 * @param all_out  none is left to tell.
 * @return false: no memory. */
static bool tell_failures(dcli_node *node, int q, dcli_action *action, bool *all_out)
{
    struct dcli_telling *telling = &node->telling;
    *all_out = true;
    if (dcli_peer_seen(node, q)->told_failures == node->failures_known)
        return true;
    bool goes_on = telling->to == q && telling->known == node->failures_known && telling->first < telling->pairs.count;
    if (!goes_on && !collect_failures(node, q))
        return false;
    int64_t left = (telling->pairs.count - telling->first) / 2;
    action->failure = left > 0 ? telling->pairs.number + telling->first : NULL;
    action->failure_count = (int)dcli_min(left, DCLI_MOST_TOLD_FAILURES);
    telling->first += 2 * action->failure_count;
    *all_out = action->failure_count == left;
    if (*all_out)
        dcli_peer_made(node, q)->told_failures = telling->known;
    return true;
}

bool dcli_node_next_marks(dcli_node *node, dcli_action *action)
{
    dcli_advance_marks(node);
    for (; node->listener < node->listeners.count; node->listener++) {
        int q = node->listeners.node[node->listener];
        struct dcli_peer *peer = dcli_peer_made(node, q);
        bool news = peer->told_ready < node->ready || peer->told_done < peer->owed_done;
        if (peer->told_ready >= peer->interest)
            dcli_node_list_take(&node->listeners, node->listener--);
        if (!news || peer->told_ready >= peer->interest)
            continue;
        bool between_nodes = dcli_is_node(node, q) && dcli_is_node(node, node->terms.self), all = true;
        *action = (dcli_action){.kind = DCLI_DO_MARKS, .peer = q, .done = peer->told_done, .ready = peer->told_ready};
        if (between_nodes && !tell_failures(node, q, action, &all))
            return false; /* no memory: the action is tried again after the next event */
        if (all) {
            action->done = peer->told_done = node->done;
            action->ready = peer->told_ready = node->ready;
        }
        return true;
    }
    return false;
}

/* Choose between an exchange and a batch: packs and batches take turns, because other nodes wait for packs, and this
 * node's device for batches. At least as many packs as a batch has T chunks come before it, so that the node sends as
 * much as it receives, or all packs that are possible. If nothing runs here, one batch is started before the packs; the
 * batch after it waits for packs again. */
static bool next_work(dcli_node *node, dcli_action *action)
{
    const struct dcli_open_op *op = dcli_op_find(node, node->cursor);
    bool more = op != NULL && op->waiting > 0;
    bool idle = more && op->running == 0 && node->ready == op->number - 1 && !node->fed_idle;
    bool batch_first = idle || (more && node->packed > 0 && node->packed >= op->own->batch[op->next].chunk_count);
    if (batch_first && next_batch(node, action)) {
        node->packed = 0;
        node->fed_idle = idle;
        return true;
    }
    node->fed_idle = false;
    if (next_exchange(node, action)) {
        node->packed += action->kind == DCLI_DO_PACK;
        return true;
    }
    node->packed = 0;
    return !batch_first && next_batch(node, action);
}

bool dcli_node_next(dcli_node *node, dcli_action *action_out)
{
    advance_cursor(node);
    grant_ahead(node);
    dcli_advance_marks(node);
    bool lends = node->lending != NULL;
    return next_notice(node, action_out) || next_send(node, action_out) ||
           (lends && dcli_lending_next(node, action_out)) || next_work(node, action_out) ||
           (lends && dcli_lending_run(node, action_out)) || next_credit(node, action_out) ||
           next_retired(node, action_out) || dcli_node_next_marks(node, action_out);
}

void dcli_node_hold(dcli_node *node, bool hold) { node->held = hold; }

void dcli_node_pause(dcli_node *node, bool pause) { node->paused = pause; }

bool dcli_node_has_lendable(const dcli_node *node)
{
    const struct dcli_open_op *op = dcli_op_find(node, node->cursor);
    return op != NULL && op->waiting > 0 && op->own->batch_count > 1 && op->operation->kind == DCLI_OP_FORALL;
}

bool dcli_node_has_due(const dcli_node *node)
{
    const struct dcli_open_op *op = dcli_op_find(node, node->cursor);
    return node->notice_first < node->notice_count || (op != NULL && op->waiting > 0);
}

bool dcli_node_left(const dcli_node *node, const dcli_operation **operation_out, int64_t *next_out, int64_t *count_out)
{
    const struct dcli_open_op *op = dcli_op_find(node, node->cursor);
    bool any = op != NULL && op->waiting > 0;
    *operation_out = any ? op->operation : NULL;
    *next_out = any ? op->next : 0;
    *count_out = any ? op->waiting : 0;
    return node->cursor > node->seen || (node->cursor == node->seen && (!any || dcli_node_has_lendable(node)));
}

int64_t dcli_node_more(dcli_node *node, int64_t operation, int64_t batch, int64_t most)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    if (op == NULL || op->number != node->cursor || op->next != batch + 1 || !op->own->batch[batch].fine ||
        op->waiting == 0 || op->skip != DCL_OK || dcli_op_inputs(node, op) != DCL_OK || !may_start(node, op))
        return 0;
    int64_t count = 0, end = op->own->batch_count;
    while (count < most && op->next + count < end && op->own->batch[op->next + count].fine &&
           op->batch[op->next + count] == DCLI_BATCH_WAITS)
        count++; /* none of them has chunks or reads parts of peers, so they wait for the same as the next one */
    return count;
}

void dcli_node_run_more(dcli_node *node, int64_t operation, int64_t batch, int64_t count)
{
    struct dcli_open_op *op = dcli_op_find(node, operation);
    if (count == 0)
        return;
    assert(op->next == batch + 1 && op->batch[batch + count] == DCLI_BATCH_WAITS);
    memset(op->batch + batch + 1, DCLI_BATCH_RUNS, (size_t)count - 1);
    op->waiting -= count - 1;
    op->running += count - 1;
    op->next = batch + count;
    dcli_leave_waiting(op, batch + count, DCLI_BATCH_RUNS);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

void dcli_node_watermarks(const dcli_node *node, int64_t *done_out, int64_t *ready_out)
{
    *done_out = node->done;
    *ready_out = node->ready;
}

int64_t dcli_node_granted_bytes(const dcli_node *node) { return node->pool_used; }

bool dcli_node_idle(const dcli_node *node) { return node->first > node->seen; }

bool dcli_node_is_through(const dcli_node *node) { return node->ready == node->seen; }

int64_t dcli_node_looks(const dcli_node *node) { return node->looks; }

bool dcli_node_reads_failed(const dcli_node *node, int64_t operation)
{
    const struct dcli_open_op *op = dcli_op_find(node, operation);
    return op != NULL && dcli_op_inputs(node, op) != DCL_OK;
}

bool dcli_node_storage_failed(const dcli_node *node, int64_t storage)
{
    const dcli_storage *entry = dcli_storages_find(&node->storages, storage);
    return entry != NULL && dcli_storage_failed(entry, INT64_MAX);
}

bool dcli_node_is_awaited(const dcli_node *node)
{
    for (int64_t n = 0; n < node->listeners.count; n++) {
        int q = node->listeners.node[n];
        const struct dcli_peer *peer = dcli_peer_seen(node, q);
        if (dcli_is_node(node, q) && peer->told_ready < peer->interest)
            return true;
    }
    return false;
}

/* The peer that the next batch of an operation waits for. @return -1: none. */
static int awaited_by_batch(const dcli_node *node, const struct dcli_open_op *op)
{
    const dcli_batch *batch = &op->own->batch[op->next];
    for (int64_t c = batch->first_chunk; c < batch->first_chunk + batch->chunk_count; c++)
        if (!op->arrived[c])
            return op->own->chunk[c].peer;
    for (int64_t n = 0; n < op->need_count; n++) {
        bool waits = op->need[n].kind != DCLI_NEED_PACK && (op->need[n].kind != DCLI_NEED_READY || batch->reads_parts);
        if (waits && !dcli_need_is_met(node, &op->need[n]))
            return op->need[n].peer;
    }
    return -1;
}

/* A peer whose output for this node's part is not committed. @return -1: none. */
static int awaited_output(const struct dcli_open_op *op)
{
    for (int64_t x = 0; x < op->exchange_count; x++)
        if (op->exchange[x].receive.ended < op->exchange[x].receive.total)
            return op->exchange[x].peer;
    return -1;
}

bool dcli_node_awaits(const dcli_node *node, int64_t *operation_out, int *peer_out)
{
    const struct dcli_open_op *next = dcli_op_find(node, node->cursor), *oldest = dcli_op_find(node, node->ready + 1);
    int peer = next != NULL && next->waiting > 0 ? awaited_by_batch(node, next) : -1;
    *operation_out = next != NULL ? next->number : 0;
    if (peer < 0 && next != NULL)
        peer = dcli_lending_awaited(node, next);
    if (peer < 0 && oldest != NULL) {
        peer = awaited_output(oldest);
        *operation_out = oldest->number;
    }
    *peer_out = peer;
    return peer >= 0 && peer != node->terms.self;
}

const dcli_plan *dcli_node_plan(const dcli_node *node, int64_t operation, int peer)
{
    const struct dcli_open_op *op = dcli_op_find(node, operation);
    if (op == NULL)
        return NULL;
    const struct dcli_exchange *exchange = dcli_exchange_of(op, peer);
    return peer == node->terms.self ? op->own : exchange != NULL ? exchange->plan : NULL;
}

static void explain_op(const dcli_node *node, const struct dcli_open_op *op, dcli_text *text)
{
    static const char *texts[] = {" peer %d still reads for %" PRId64 ";",
                                  " output of peer %d in %" PRId64 " not committed;",
                                  " peer %d not ready at %" PRId64 ";", " not all packed for peer %d in %" PRId64 ";"};
    dcli_text_put(text,
                  "operation %" PRId64 " kind %d: waiting %" PRId64 ", ended %" PRId64 " of %" PRId64
                  " batches, %" PRId64 " transfers open;",
                  op->number, op->operation->kind, op->waiting, op->ended, op->own->batch_count, op->transfers);
    for (int64_t n = 0; n < op->need_count; n++)
        if (!dcli_need_is_met(node, &op->need[n]))
            dcli_text_put(text, texts[op->need[n].kind], op->need[n].peer, op->need[n].operation);
    if (op->lent > 0)
        dcli_text_put(text, " %" PRId64 " lent;", op->lent);
    dcli_text_put(text, "%s\n", op->lost ? " needs a lost node;" : "");
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
        explain_op(node, dcli_op_find(node, n), &text);
    dcli_lending_explain(node, &text);
    return dcli_text_take(&text);
}
