/* workqueue/loan.c - lending: questions, lent batches and their answers. The rules are in loan.h and docs/model.md.
 *
 * Why it cannot deadlock: a loan waits only for its inputs, which the victim sends without waiting for anybody, and for
 * the thief's device. It uses memory that the thief reserved before it asked. A victim waits for no question, and a
 * thief for no answer. When a batch is lent, the victim has met every condition of the batch except its turn; so the
 * victim can write the result when it arrives. */
#include "workqueue/loan_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

dcl_status dcli_lending_open(dcli_node *node)
{
    if (node->terms.loan_of == NULL)
        return DCL_OK;
    node->lending = dcli_calloc(1, sizeof *node->lending);
    return node->lending != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

void dcli_lending_close(dcli_node *node)
{
    if (node->lending == NULL)
        return;
    dcli_node_list_free(&node->lending->hungry);
    dcli_free(node->lending->kept);
    dcli_free(node->lending->peer);
    dcli_free(node->lending->out);
    dcli_free(node->lending->in);
    dcli_free(node->lending->due);
    dcli_free(node->lending);
}

/* ---- helpers of both sides --------------------------------------------------------------------------------------- */

static bool is_before(const void *list, int64_t n, int64_t peer)
{
    return ((const struct dcli_loan_peer *)list)[n].peer < peer;
}

/* The index of the first entry of lending->peer whose number is at least `q`. */
static int64_t entry_of(const struct dcli_lending *lending, int q)
{
    return dcli_lower_bound(lending->peer, lending->peer_count, q, is_before);
}

struct dcli_loan_peer *dcli_loan_peer_of(const struct dcli_lending *lending, int q)
{
    int64_t n = entry_of(lending, q);
    return n < lending->peer_count && lending->peer[n].peer == q ? &lending->peer[n] : NULL;
}

struct dcli_loan_peer *dcli_loan_meet(struct dcli_lending *lending, int q)
{
    struct dcli_loan_peer *found = dcli_loan_peer_of(lending, q);
    if (found != NULL ||
        dcli_grow(&lending->peer, lending->peer_count, &lending->peer_capacity, sizeof *lending->peer) != 0)
        return found;
    int64_t n = entry_of(lending, q);
    memmove(&lending->peer[n + 1], &lending->peer[n], (size_t)(lending->peer_count++ - n) * sizeof *lending->peer);
    lending->peer[n] = (struct dcli_loan_peer){.peer = q};
    return &lending->peer[n];
}

int64_t dcli_loan_oldest(const dcli_node *node)
{
    const struct dcli_lending *lending = node->lending;
    return lending->kept_first < lending->kept_count ? lending->kept[lending->kept_first]->number : node->first;
}

static bool is_older(const void *kept, int64_t n, int64_t number)
{
    return ((const dcli_operation *const *)kept)[n]->number < number;
}

const dcli_operation *dcli_loan_operation(const dcli_node *node, int64_t number)
{
    const struct dcli_lending *lending = node->lending;
    const struct dcli_open_op *op = dcli_op_find(node, number);
    if (op != NULL)
        return op->operation;
    int64_t count = lending->kept_count - lending->kept_first;
    const dcli_operation **kept = lending->kept + lending->kept_first;
    int64_t at = count > 0 ? dcli_lower_bound(kept, count, number, is_older) : 0;
    return at < count && kept[at]->number == number ? kept[at] : NULL;
}

dcl_status dcli_loan_refuse(int from, const char *what, int64_t question)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d sent %s for question %" PRId64 ", which was not expected", from, what,
                     question);
}

void dcli_loan_check(const dcli_node *node)
{
#ifndef NDEBUG
    const struct dcli_lending *lending = node->lending;
    int64_t loan_bytes = 0, result_bytes = 0;
    for (int64_t n = 0; n < lending->in_count; n++) {
        const struct dcli_loan_in *in = &lending->in[n];
        loan_bytes += in->bytes;
        assert(in->state == DCLI_IN_DROPPED || in->state == DCLI_IN_FORGET || dcli_is_there(node, in->victim));
        assert(dcli_loan_operation(node, in->operation) != NULL); /* it is not retired */
    }
    for (int64_t q = 0; lending->asking > 0 && q < lending->peer_count; q++)
        loan_bytes += lending->peer[q].asking ? lending->peer[q].ask_bytes : 0;
    for (int64_t n = 0; n < lending->out_count; n++) {
        const struct dcli_loan_out *out = &lending->out[n];
        const struct dcli_open_op *op = dcli_op_find(node, out->operation);
        result_bytes += out->result_bytes;
        assert(out->state >= DCLI_OUT_ARRIVED || dcli_is_there(node, out->thief));
        assert(out->state != DCLI_OUT_VOID || !out->in_place);
        assert(!dcli_loan_is_out(out) || (op != NULL && op->batch[out->batch] == DCLI_BATCH_LENT &&
                                          op->batch[out->batch + out->count - 1] == DCLI_BATCH_LENT &&
                                          out->operation == node->cursor && node->done < out->operation));
    }
    assert(loan_bytes == lending->loan_used && loan_bytes <= node->terms.loan_bytes);
    assert(result_bytes == lending->result_used && result_bytes <= node->terms.result_bytes);
#else
    (void)node;
#endif
}

dcl_status dcli_loan_make_due(struct dcli_lending *lending)
{
    return dcli_grow(&lending->due, lending->due_count, &lending->due_capacity, sizeof *lending->due) == 0
               ? DCL_OK
               : DCL_ERR_NOMEM;
}

void dcli_loan_be_due(struct dcli_lending *lending, const dcli_action *action)
{
    lending->due[lending->due_count++] = *action;
}

/* ---- for the state machine --------------------------------------------------------------------------------------- */

/* Get the next queued message. LEND reads memory, so it waits while the node is held. RECALL must not overtake LEND, so
 * it waits, too. */
static bool next_due(dcli_node *node, dcli_action *action)
{
    struct dcli_lending *lending = node->lending;
    for (int64_t n = 0; n < lending->due_count; n++) {
        dcli_action_kind kind = lending->due[n].kind;
        if (node->held && (kind == DCLI_DO_LEND || kind == DCLI_DO_RECALL))
            continue;
        *action = lending->due[n];
        lending->due_count--;
        memmove(&lending->due[n], &lending->due[n + 1], (size_t)(lending->due_count - n) * sizeof *lending->due);
        return true;
    }
    return false;
}

bool dcli_lending_next(dcli_node *node, dcli_action *action)
{
    return next_due(node, action) || dcli_victim_next_nothing(node, action) || dcli_thief_next(node, action) ||
           dcli_victim_next_result(node, action);
}

void dcli_lending_opened(dcli_node *node, struct dcli_open_op *op)
{
    op->lendable = dcli_may_be_lent_by_any(op->operation, &node->terms.plan);
    node->lending->lendable += op->lendable;
}

bool dcli_node_may_borrow(const dcli_node *node) { return node->lending != NULL && node->lending->lendable > 0; }

/* Whether a finished operation must be kept: it is one of the last terms.kept_operations, and slower nodes may still
 * lend batches of it to this node; this node has a loan of the operation or of an earlier one; or a question of this
 * node is open. The first reason does not hold for a RELEASE, nor after lending has stopped. */
static bool is_needed(const dcli_node *node, const dcli_operation *operation)
{
    const struct dcli_lending *lending = node->lending;
    if (operation->kind != DCLI_OP_RELEASE && !lending->stopped &&
        operation->number + node->terms.kept_operations > node->seen)
        return true;
    for (int64_t n = 0; n < lending->in_count; n++)
        if (lending->in[n].operation <= operation->number)
            return true;
    return lending->asking > 0; /* an open question names all operations from the oldest one on */
}

/* Kept operations are on a list of their own, so that later operations can retire and give back memory. */
dcl_status dcli_lending_finished(dcli_node *node, const struct dcli_open_op *op, bool *kept_out)
{
    struct dcli_lending *lending = node->lending;
    bool any = lending->kept_first < lending->kept_count;
    /* a RELEASE ends the storage, which kept operations name: the RELEASE retires after them */
    *kept_out = op->lendable ? is_needed(node, op->operation) : any && op->operation->kind == DCLI_OP_RELEASE;
    if (!*kept_out) {
        lending->lendable -= op->lendable;
        return DCL_OK;
    }
    if (lending->kept_count == lending->kept_capacity && lending->kept_first > lending->kept_count / 2) {
        lending->kept_count -= lending->kept_first;
        memmove(lending->kept, lending->kept + lending->kept_first,
                (size_t)lending->kept_count * sizeof *lending->kept);
        lending->kept_first = 0;
    }
    if (dcli_grow(&lending->kept, lending->kept_count, &lending->kept_capacity, sizeof *lending->kept) != 0)
        return DCL_ERR_NOMEM;
    lending->kept[lending->kept_count++] = op->operation;
    return DCL_OK;
}

bool dcli_lending_next_retired(dcli_node *node, dcli_action *action)
{
    struct dcli_lending *lending = node->lending;
    if (lending->kept_first == lending->kept_count || is_needed(node, lending->kept[lending->kept_first]))
        return false;
    *action = (dcli_action){.kind = DCLI_DO_RETIRE, .operation = lending->kept[lending->kept_first++]};
    lending->lendable -= action->operation->kind != DCLI_OP_RELEASE;
    if (lending->kept_first == lending->kept_count)
        lending->kept_first = lending->kept_count = 0;
    return true;
}

void dcli_lending_lost(dcli_node *node, int peer)
{
    struct dcli_lending *lending = node->lending;
    int64_t left = 0;
    if (lending == NULL)
        return;
    dcli_victim_loses(node, peer);
    dcli_thief_loses(node, peer);
    for (int64_t n = 0; n < lending->due_count; n++)
        if (lending->due[n].peer != peer)
            lending->due[left++] = lending->due[n];
    lending->due_count = left;
}

int dcli_lending_awaited(const dcli_node *node, const struct dcli_open_op *op)
{
    for (int64_t n = 0; op->lent > 0 && n < node->lending->out_count; n++)
        if (dcli_loan_is_out(&node->lending->out[n]) && node->lending->out[n].operation == op->number)
            return node->lending->out[n].thief;
    return -1;
}

void dcli_lending_explain(const dcli_node *node, dcli_text *text)
{
    static const char *outs[] = {"lent", "asked back", "taken back", "arrived", "is written", "late"};
    static const char *ins[] = {"held", "runs", "runs for a lost node", "to be sent", "to be returned", "to be freed"};
    const struct dcli_lending *lending = node->lending;
    for (int64_t n = 0; lending != NULL && n < lending->peer_count; n++) {
        const struct dcli_loan_peer *peer = &lending->peer[n];
        if (peer->asking)
            dcli_text_put(text, "question %" PRId64 " to %d is open\n", peer->asked, peer->peer);
        if (dcli_loan_is_hungry(node, peer->peer))
            dcli_text_put(text, "question %" PRId64 " of %d is open, for operations up to %" PRId64 "\n",
                          peer->questions, peer->peer, peer->hungry_upto);
    }
    for (int64_t n = 0; lending != NULL && n < lending->out_count; n++)
        dcli_text_put(text, "%" PRId64 " batches from %" PRId64 " on of %" PRId64 ", lent to %d: %s\n",
                      lending->out[n].count, lending->out[n].batch, lending->out[n].operation, lending->out[n].thief,
                      outs[lending->out[n].state]);
    for (int64_t n = 0; lending != NULL && n < lending->in_count; n++)
        dcli_text_put(text, "%" PRId64 " batches from %" PRId64 " on of %" PRId64 ", lent by %d: %s\n",
                      lending->in[n].count, lending->in[n].batch, lending->in[n].operation, lending->in[n].victim,
                      ins[lending->in[n].state]);
}
