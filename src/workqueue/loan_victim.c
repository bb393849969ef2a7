/* workqueue/loan_victim.c - lending, the victim's side: questions of other nodes, loans to them, and the results. */
#include "workqueue/loan_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* ---- the victim: questions --------------------------------------------------------------------------------------- */

dcl_status dcli_node_hungry(dcli_node *node, int from, int64_t question, int64_t first, int64_t upto, int64_t bytes)
{
    if (!dcli_loan_allows(node, from))
        return dcli_loan_refuse(from, "HUNGRY", question);
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_loan_peer *peer = dcli_loan_meet(node->lending, from);
    if (peer == NULL)
        return DCL_ERR_NOMEM;
    if (dcli_loan_is_hungry(node, from) || question != peer->questions + 1 || first < 1 || upto < first || bytes < 1)
        return dcli_loan_refuse(from, "HUNGRY", question);
    if (dcli_node_list_add(&node->lending->hungry, from) != DCL_OK)
        return DCL_ERR_NOMEM;
    peer->questions = question;
    peer->hungry_first = first;
    peer->hungry_upto = upto;
    peer->hungry_bytes = bytes;
    return DCL_OK;
}

int dcli_node_next_hungry(const dcli_node *node, int after)
{
    for (int64_t n = 0; node->lending != NULL && n < node->lending->hungry.count; n++) {
        int q = node->lending->hungry.node[n];
        if (q > after && dcli_is_there(node, q))
            return q;
    }
    return -1;
}

/* Close the question of `thief`. @return the action NOTHING that answers it. */
static dcli_action nothing_for(dcli_node *node, int thief)
{
    dcli_node_list_drop(&node->lending->hungry, thief);
    return (dcli_action){
        .kind = DCLI_DO_NOTHING, .peer = thief, .question = dcli_loan_peer_of(node->lending, thief)->questions};
}

bool dcli_node_refuse(dcli_node *node, int thief)
{
    if (!dcli_loan_allows(node, thief) || !dcli_is_there(node, thief) || !dcli_loan_is_hungry(node, thief) ||
        dcli_loan_make_due(node->lending) != DCL_OK)
        return false;
    dcli_action nothing = nothing_for(node, thief);
    dcli_loan_be_due(node->lending, &nothing);
    return true;
}

void dcli_node_stop_lending(dcli_node *node)
{
    if (node->lending != NULL)
        node->lending->stopped = true;
}

/* Answer a question for which nothing can be lent any more: this node is past all operations that the thief named, or
 * has stopped lending. */
bool dcli_victim_next_nothing(dcli_node *node, dcli_action *action)
{
    const struct dcli_lending *lending = node->lending;
    for (int64_t n = 0; n < lending->hungry.count; n++) {
        int q = lending->hungry.node[n];
        if (!dcli_is_there(node, q) ||
            (node->cursor <= dcli_loan_peer_of(lending, q)->hungry_upto && !lending->stopped))
            continue;
        *action = nothing_for(node, q);
        return true;
    }
    return false;
}

/* ---- the victim: loans ------------------------------------------------------------------------------------------- */

/* Whether batches of an operation may be lent now, by the conditions that are the same for all its batches. The read
 * and write rules never become false again, so they still hold when the result comes. All earlier operations must have
 * ended, not only started: a thief reads memory without waiting for this node's command queue. */
static bool may_lend_of(const dcli_node *node, struct dcli_open_op *op)
{
    return op->lendable && op->waiting > 0 && node->ready >= op->number - 1 && op->own->status == DCL_OK &&
           op->skip == DCL_OK && dcli_op_inputs(node, op) == DCL_OK && dcli_writes_allowed(node, op) &&
           dcli_reads_allowed(node, op);
}

/* Look for a T chunk that batch `b` reads and that has not arrived. This includes chunks that an earlier batch is the
 * first to read: that batch may still wait. The plan's chunks are in the order of the first batches that read them.
 * @param past_inout  the chunks from this number on are first read by later batches; starts as their number. It only
 *  decreases if batches are looked at from the last one to the first.
 * @return `b` + 1: all have arrived; else the first batch that reads the missing chunk: it and all up to `b` lack it */
static int64_t first_lacking(const struct dcli_open_op *op, int64_t b, int64_t *past_inout)
{
    const dcli_chunk *chunk = op->own->chunk;
    while (*past_inout > op->drop_from && chunk[*past_inout - 1].first_batch > b)
        --*past_inout;
    for (int64_t c = *past_inout - 1; c >= op->drop_from; c--)
        if (!chunk[c].written && chunk[c].last_batch >= b && !op->arrived[c])
            return chunk[c].first_batch;
    return b + 1;
}

/* Look for what keeps batch `b` from being lent. @param past_inout  as for first_lacking(). @return `b` + 1: nothing; else
 * the first of consecutive batches up to `b` none of which may be lent */
static int64_t first_unlendable(const struct dcli_open_op *op, int64_t b, int64_t *past_inout)
{
    if (op->batch[b] != DCLI_BATCH_WAITS || op->own->batch[b].made_count > 0)
        return b;
    return first_lacking(op, b, past_inout);
}

static bool find_size(const dcli_node *node, const struct dcli_open_op *op, int64_t b, int64_t count, int thief,
                      dcli_loan_size *size_out)
{
    return node->terms.loan_of(node->terms.user, op->operation, b, count, node->terms.self, thief, size_out) == DCL_OK;
}

/* Find the first batch of the loan whose last batch is `end` - 1, which may be lent. A loan has at most `most` batches,
 * does not cross a multiple of `each`, and contains only batches that may be lent. @return its number */
static int64_t loan_start(const struct dcli_open_op *op, int64_t end, int64_t most, int64_t each, int64_t *past_inout)
{
    int64_t first = end - 1, least = dcli_max(first / each * each, end - most);
    while (first > least && first_unlendable(op, first - 1, past_inout) == first)
        first--;
    return first;
}

/* Add loans to an offer, backwards from the last batch that may be lent, until the offer has `most` batches, a batch
 * may not be lent, or memory is short. A loan that cannot be planned ends the search: either there is no memory to do
 * so, or no batch of the operation can be lent. */
static void offer_loans(const dcli_node *node, const struct dcli_open_op *op, int thief, int64_t most, int64_t each,
                        dcli_offer *offer)
{
    const struct dcli_lending *lending = node->lending;
    int64_t bytes = dcli_loan_peer_of(lending, thief)->hungry_bytes;
    int64_t results = node->terms.result_bytes - lending->result_used, past = op->own->chunk_count;
    for (int64_t end = op->own->batch_count; end > 0 && offer->end - offer->first < most;) {
        int64_t first = first_unlendable(op, end - 1, &past);
        if (first < end && offer->end > 0)
            return;
        if (first < end) {
            end = first;
            continue;
        }
        dcli_loan_size size;
        first = loan_start(op, end, most - (offer->end - offer->first), each, &past);
        if (!find_size(node, op, first, end - first, thief, &size))
            return;
        bytes -= size.bytes;
        results -= size.result_bytes;
        if (bytes < 0 || results < 0)
            return;
        offer->first = first;
        if (offer->end == 0)
            offer->end = end;
        end = first;
    }
}

bool dcli_node_offer(dcli_node *node, int thief, int64_t most, int64_t each, dcli_offer *offer_out)
{
    const struct dcli_lending *lending = node->lending;
    struct dcli_open_op *op = dcli_op_find(node, node->cursor);
    if (!dcli_loan_allows(node, thief) || !dcli_is_there(node, thief) || !dcli_loan_is_hungry(node, thief) ||
        lending->stopped || op == NULL)
        return false;
    const struct dcli_loan_peer *peer = dcli_loan_peer_of(lending, thief);
    if (op->number < peer->hungry_first || op->number > peer->hungry_upto || !may_lend_of(node, op))
        return false;
    dcli_offer offer = {.operation = op->operation, .waiting = op->waiting};
    offer_loans(node, op, thief, most, each, &offer);
    if (offer.end == 0)
        return false;
    *offer_out = offer;
    return true;
}

/* Make room for a LEND of `count` batches. */
static dcl_status make_room(struct dcli_lending *lending, int64_t count)
{
    if (dcli_reserve(&lending->out, lending->out_count, count, &lending->out_capacity, sizeof *lending->out) != 0)
        return DCL_ERR_NOMEM;
    return dcli_loan_make_due(lending);
}

/* Write the records of an offer's loans after those of earlier loans. @return the number of loans; 0: there is no
 * memory to plan one of them again. */
static int64_t fill_out(const dcli_node *node, const struct dcli_open_op *op, int thief, const dcli_offer *offer,
                        int64_t each)
{
    const struct dcli_lending *lending = node->lending;
    struct dcli_loan_out *out = &lending->out[lending->out_count];
    int64_t question = dcli_loan_peer_of(lending, thief)->questions, loans = 0;
    for (int64_t b = offer->first, next; b < offer->end; b = next) {
        dcli_loan_size size;
        next = dcli_loan_end(b, offer->end, each);
        if (!find_size(node, op, b, next - b, thief, &size))
            return 0;
        out[loans++] = (struct dcli_loan_out){.state = DCLI_OUT_LENT,
                                              .thief = thief,
                                              .question = question,
                                              .operation = op->number,
                                              .batch = b,
                                              .count = next - b,
                                              .result_bytes = size.result_bytes,
                                              .in_place = size.in_place};
    }
    return loans;
}

bool dcli_node_lend(dcli_node *node, int thief, int64_t operation, int64_t count, int64_t each)
{
    struct dcli_lending *lending = node->lending;
    dcli_offer offer;
    if (node->held || count < 1 || !dcli_node_offer(node, thief, count, each, &offer) ||
        offer.operation->number != operation || offer.end - offer.first != count || make_room(lending, count) != DCL_OK)
        return false;
    struct dcli_open_op *op = dcli_op_find(node, operation);
    int64_t loans = fill_out(node, op, thief, &offer, each);
    if (loans == 0)
        return false;
    for (int64_t b = offer.first; b < offer.end; b++)
        dcli_leave_waiting(op, b, DCLI_BATCH_LENT);
    for (int64_t n = 0; n < loans; n++)
        lending->result_used += lending->out[lending->out_count++].result_bytes;
    dcli_node_list_drop(&lending->hungry, thief);
    dcli_loan_be_due(lending, &(dcli_action){.kind = DCLI_DO_LEND,
                                             .operation = offer.operation,
                                             .peer = thief,
                                             .index = offer.first,
                                             .question = dcli_loan_peer_of(lending, thief)->questions,
                                             .count = count,
                                             .each = each});
    dcli_loan_check(node);
    return true;
}

/* Make the batches of a loan wait again, so that this node can run them. */
static void wait_again(struct dcli_open_op *op, const struct dcli_loan_out *out)
{
    for (int64_t b = out->batch; b < out->batch + out->count; b++) {
        assert(op->batch[b] == DCLI_BATCH_LENT);
        op->batch[b] = DCLI_BATCH_WAITS;
    }
    op->lent -= out->count;
    op->waiting += out->count;
    op->batch_arrived = 0; /* counted for `next`, which may change */
    if (out->batch < op->next)
        op->next = out->batch;
}

static void remove_out(struct dcli_lending *lending, struct dcli_loan_out *out)
{
    lending->result_used -= out->result_bytes;
    *out = lending->out[--lending->out_count];
}

bool dcli_node_lent_batch(const dcli_node *node, int64_t n, dcli_lent_batch *batch_out)
{
    for (int64_t o = 0; node->lending != NULL && o < node->lending->out_count; o++) {
        const struct dcli_loan_out *out = &node->lending->out[o];
        if (!dcli_loan_is_out(out) || n-- > 0)
            continue;
        *batch_out = (dcli_lent_batch){.operation = out->operation,
                                       .batch = out->batch,
                                       .count = out->count,
                                       .question = out->question,
                                       .thief = out->thief,
                                       .recalled = out->state == DCLI_OUT_RECALLED};
        return true;
    }
    return false;
}

bool dcli_node_has_lent(const dcli_node *node, int thief)
{
    for (int64_t o = 0; node->lending != NULL && o < node->lending->out_count; o++)
        if (dcli_loan_is_out(&node->lending->out[o]) && node->lending->out[o].thief == thief)
            return true;
    return false;
}

bool dcli_node_take_back(dcli_node *node, int64_t operation, int64_t batch)
{
    struct dcli_lending *lending = node->lending;
    struct dcli_loan_out *out = NULL;
    for (int64_t n = 0; lending != NULL && n < lending->out_count; n++)
        if (lending->out[n].state == DCLI_OUT_LENT && lending->out[n].operation == operation &&
            lending->out[n].batch == batch)
            out = &lending->out[n];
    if (out == NULL || dcli_loan_make_due(lending) != DCL_OK)
        return false;
    struct dcli_open_op *op = dcli_op_find(node, operation);
    dcli_loan_be_due(lending, &(dcli_action){.kind = DCLI_DO_RECALL,
                                             .operation = op->operation,
                                             .peer = out->thief,
                                             .index = batch,
                                             .question = out->question,
                                             .count = out->count});
    out->state = out->in_place ? DCLI_OUT_RECALLED : DCLI_OUT_VOID;
    if (!out->in_place)
        wait_again(op, out);
    dcli_loan_check(node);
    return true;
}

dcl_status dcli_node_result(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch,
                            bool computed)
{
    const char *what = computed ? "RESULT" : "RETURNED";
    if (!dcli_loan_allows(node, from))
        return dcli_loan_refuse(from, what, question);
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_loan_out *out = NULL;
    for (int64_t n = 0; n < node->lending->out_count; n++) {
        struct dcli_loan_out *entry = &node->lending->out[n];
        if (entry->state <= DCLI_OUT_VOID && entry->thief == from && entry->question == question &&
            entry->operation == operation && entry->batch == batch)
            out = entry;
    }
    if (out == NULL)
        return dcli_loan_refuse(from, what, question);
    bool counts = dcli_loan_is_out(out);
    struct dcli_open_op *op = dcli_op_find(node, operation);
    if (counts && computed) {
        for (int64_t b = batch; b < batch + out->count; b++)
            op->batch[b] = DCLI_BATCH_COMMITS;
        op->lent -= out->count;
        op->running += out->count;
        op->read += out->count;
        out->state = DCLI_OUT_ARRIVED;
        dcli_advance_marks(node);
    } else if (counts) {
        wait_again(op, out);
        remove_out(node->lending, out);
    } else if (computed) {
        out->state = DCLI_OUT_LATE;
    } else {
        remove_out(node->lending, out);
    }
    dcli_loan_check(node);
    return DCL_OK;
}

bool dcli_lending_committed(dcli_node *node, int64_t operation, int64_t first, int64_t count)
{
    for (int64_t n = 0; node->lending != NULL && n < node->lending->out_count; n++) {
        struct dcli_loan_out *out = &node->lending->out[n];
        if (out->state == DCLI_OUT_COMMITS && out->operation == operation && out->batch == first &&
            out->count == count) {
            remove_out(node->lending, out);
            return true;
        }
    }
    return false;
}

/* Get COMMIT_LOAN for a result that has arrived, or DROP_LOAN if its loan was taken back. If the operation has failed
 * in the meantime, COMMIT_LOAN carries the failure, and the result is only freed. */
bool dcli_victim_next_result(dcli_node *node, dcli_action *action)
{
    for (int64_t n = 0; n < node->lending->out_count; n++) {
        struct dcli_loan_out *out = &node->lending->out[n];
        if (out->state == DCLI_OUT_LATE) {
            *action = (dcli_action){.kind = DCLI_DO_DROP_LOAN,
                                    .peer = out->thief,
                                    .index = out->batch,
                                    .question = out->question,
                                    .count = out->count};
            remove_out(node->lending, out);
            return true;
        }
        if (out->state != DCLI_OUT_ARRIVED || node->held)
            continue;
        struct dcli_open_op *op = dcli_op_find(node, out->operation);
        out->state = DCLI_OUT_COMMITS;
        if (op->skip == DCL_OK)
            op->skip = dcli_op_inputs(node, op);
        if (op->skip != DCL_OK)
            dcli_tell_failed(node, op, op->skip, false);
        *action = (dcli_action){.kind = DCLI_DO_COMMIT_LOAN,
                                .operation = op->operation,
                                .peer = out->thief,
                                .index = out->batch,
                                .status = op->skip,
                                .question = out->question,
                                .count = out->count};
        return true;
    }
    return false;
}

/* Batches that were lent to the lost peer are this node's again. Results that have arrived stay valid. */
void dcli_victim_loses(dcli_node *node, int peer)
{
    struct dcli_lending *lending = node->lending;
    for (int64_t n = lending->out_count - 1; n >= 0; n--) {
        struct dcli_loan_out *out = &lending->out[n];
        if (out->thief != peer || out->state > DCLI_OUT_VOID)
            continue;
        if (dcli_loan_is_out(out))
            wait_again(dcli_op_find(node, out->operation), out);
        remove_out(lending, out);
    }
    dcli_node_list_drop(&lending->hungry, peer);
}
