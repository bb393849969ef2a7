/* workqueue/loan_thief.c - lending, the thief's side: its questions, and the batches that it was lent. */
#include "workqueue/loan_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* Whether our question to peer `q` is open. */
static bool is_asking(const struct dcli_lending *lending, int q)
{
    const struct dcli_loan_peer *peer = dcli_loan_peer_of(lending, q);
    return peer != NULL && peer->asking;
}

/* Whether question number `question` to peer `q` was asked and is no longer open. */
static bool is_answered(const struct dcli_lending *lending, int q, int64_t question)
{
    const struct dcli_loan_peer *peer = dcli_loan_peer_of(lending, q);
    return peer != NULL && question >= 1 && question <= peer->asked - peer->asking;
}

int64_t dcli_node_loan_room(const dcli_node *node)
{
    return node->lending == NULL ? 0 : node->terms.loan_bytes - node->lending->loan_used;
}

bool dcli_node_is_asking(const dcli_node *node, int victim)
{
    return dcli_loan_allows(node, victim) && is_asking(node->lending, victim);
}

bool dcli_node_may_get(dcli_node *node, int victim, int64_t upto)
{
    struct dcli_loan_peer *peer = dcli_loan_meet(node->lending, victim);
    if (peer == NULL)
        return false; /* nor is there memory for a question */
    upto = dcli_min(node->seen, upto);
    for (int64_t n = dcli_max(dcli_loan_oldest(node), peer->looked_upto + 1); n <= upto; n++) {
        const struct dcli_open_op *op = dcli_op_find(node, n);
        const dcli_operation *operation = op == NULL     ? dcli_loan_operation(node, n)
                                          : op->lendable ? op->operation
                                                         : NULL;
        if (operation != NULL && dcli_may_be_lent(operation, victim, &node->terms.plan))
            peer->may_lend = n;
        node->looks++;
    }
    peer->looked_upto = dcli_max(peer->looked_upto, upto);
    return dcli_loan_operation(node, peer->may_lend) != NULL; /* operations that may be lent are retired in order */
}

bool dcli_node_ask(dcli_node *node, int victim, int64_t upto, int64_t bytes)
{
    struct dcli_lending *lending = node->lending;
    upto = dcli_min(upto, node->seen);
    if (!dcli_loan_allows(node, victim) || !dcli_is_there(node, victim) || is_asking(lending, victim) ||
        lending->stopped || dcli_loan_oldest(node) > upto || bytes < 1 || bytes > dcli_node_loan_room(node) ||
        dcli_loan_make_due(lending) != DCL_OK)
        return false;
    struct dcli_loan_peer *peer = dcli_loan_meet(lending, victim);
    if (peer == NULL)
        return false;
    peer->asking = true;
    peer->asked++;
    peer->ask_first = dcli_loan_oldest(node);
    peer->ask_upto = upto;
    peer->ask_bytes = bytes;
    lending->asking++;
    lending->loan_used += bytes;
    dcli_loan_be_due(lending, &(dcli_action){.kind = DCLI_DO_ASK,
                                             .peer = victim,
                                             .question = peer->asked,
                                             .first = peer->ask_first,
                                             .upto = peer->ask_upto,
                                             .bytes = bytes});
    dcli_loan_check(node);
    return true;
}

/* Close this node's open question to a peer: it was answered, or the peer is lost. */
static void close_own(struct dcli_lending *lending, struct dcli_loan_peer *peer)
{
    peer->asking = false;
    lending->asking--;
    lending->loan_used -= peer->ask_bytes;
}

static struct dcli_loan_in *find_in(const dcli_node *node, int victim, int64_t question, int64_t batch)
{
    struct dcli_lending *lending = node->lending;
    for (int64_t n = 0; n < lending->in_count; n++) {
        struct dcli_loan_in *in = &lending->in[n];
        if (in->victim == victim && in->question == question && in->batch == batch)
            return in;
    }
    return NULL;
}

static void remove_in(struct dcli_lending *lending, int64_t n)
{
    lending->loan_used -= lending->in[n].bytes;
    lending->in_count--;
    memmove(&lending->in[n], &lending->in[n + 1], (size_t)(lending->in_count - n) * sizeof *lending->in);
}

/* Append the loans of a LENT to lending->in. Some are to be returned at once: those for whose plans there is no memory;
 * and all of them if the operation needs a lost node, because then the operation fails, and the memory of that node may
 * not be read any more. */
static dcl_status add_lent(dcli_node *node, int from, int64_t question, const dcli_operation *operation, int64_t first,
                           int64_t end, int64_t each)
{
    struct dcli_lending *lending = node->lending;
    int64_t before = lending->in_count, bytes = 0;
    bool misses = dcli_op_misses_part(node, operation);
    dcl_status status = DCL_OK;
    for (int64_t b = first, next; b < end && status == DCL_OK; b = next) {
        dcli_loan_size size = {0};
        next = dcli_loan_end(b, end, each);
        dcl_status planned =
            node->terms.loan_of(node->terms.user, operation, b, next - b, from, node->terms.self, &size);
        if (planned == DCL_ERR_INVALID || size.bytes > dcli_loan_peer_of(lending, from)->ask_bytes - bytes)
            status = dcli_loan_refuse(from, "LENT of a batch that cannot be lent", question);
        else if (dcli_grow(&lending->in, lending->in_count, &lending->in_capacity, sizeof *lending->in) != 0)
            status = DCL_ERR_NOMEM;
        else
            lending->in[lending->in_count++] =
                (struct dcli_loan_in){.state = planned == DCL_OK && !misses ? DCLI_IN_HELD : DCLI_IN_RETURN,
                                      .victim = from,
                                      .question = question,
                                      .operation = operation->number,
                                      .batch = b,
                                      .count = next - b,
                                      .bytes = size.bytes,
                                      .chunks = size.chunks};
        bytes += size.bytes;
    }
    if (status != DCL_OK)
        lending->in_count = before;
    else
        lending->loan_used += bytes;
    return status;
}

dcl_status dcli_node_lent(dcli_node *node, int from, int64_t question, int64_t operation, int64_t first, int64_t count,
                          int64_t each)
{
    if (!dcli_loan_allows(node, from))
        return dcli_loan_refuse(from, "LENT", question);
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_loan_peer *peer = dcli_loan_peer_of(node->lending, from);
    if (peer == NULL || !peer->asking || question != peer->asked || operation < peer->ask_first ||
        operation > peer->ask_upto || first < 0 || count < 1 || count > INT64_MAX - first || each < 1)
        return dcli_loan_refuse(from, "LENT", question);
    const dcli_operation *lent = dcli_loan_operation(node, operation);
    /* while a question is open, all operations that it names and that may be lent are open or kept here; and a correct
     * peer lends batches of these only */
    if (lent == NULL || !dcli_may_be_lent_by_any(lent, &node->terms.plan))
        return dcli_loan_refuse(from, "LENT", question);
    dcl_status status = add_lent(node, from, question, lent, first, first + count, each);
    if (status == DCL_OK)
        close_own(node->lending, peer);
    dcli_loan_check(node);
    return status;
}

dcl_status dcli_node_nothing(dcli_node *node, int from, int64_t question)
{
    if (!dcli_loan_allows(node, from))
        return dcli_loan_refuse(from, "NOTHING", question);
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_loan_peer *peer = dcli_loan_peer_of(node->lending, from);
    if (peer == NULL || !peer->asking || question != peer->asked)
        return dcli_loan_refuse(from, "NOTHING", question);
    close_own(node->lending, peer);
    return DCL_OK;
}

dcl_status dcli_node_loan_chunk(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch,
                                int64_t chunk, bool *wanted_out)
{
    *wanted_out = false;
    if (!dcli_loan_allows(node, from))
        return dcli_loan_refuse(from, "a chunk", question);
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_loan_in *in = find_in(node, from, question, batch);
    if (!is_answered(node->lending, from, question) || (in != NULL && in->operation != operation) ||
        (in != NULL && in->state != DCLI_IN_RETURN && (chunk != in->arrived || chunk >= in->chunks)))
        return dcli_loan_refuse(from, "a chunk", question);
    if (in == NULL || in->state == DCLI_IN_RETURN)
        return DCL_OK; /* the loan was returned in the meantime */
    in->arrived++;
    *wanted_out = true;
    return DCL_OK;
}

dcl_status dcli_node_recall(dcli_node *node, int from, int64_t question, int64_t operation, int64_t batch)
{
    if (!dcli_loan_allows(node, from))
        return dcli_loan_refuse(from, "RECALL", question);
    if (dcli_peer_seen(node, from)->presence == DCLI_LOST)
        return DCL_OK;
    struct dcli_loan_in *in = find_in(node, from, question, batch);
    if (!is_answered(node->lending, from, question) || (in != NULL && in->operation != operation))
        return dcli_loan_refuse(from, "RECALL", question);
    if (in != NULL && in->state == DCLI_IN_HELD)
        in->state = DCLI_IN_RETURN;
    return DCL_OK; /* else the loan has begun, or its answer is under way */
}

dcl_status dcli_node_loan_done(dcli_node *node, int victim, int64_t question, int64_t batch, dcl_status status)
{
    struct dcli_loan_in *in = dcli_loan_allows(node, victim) ? find_in(node, victim, question, batch) : NULL;
    if (in == NULL || (in->state != DCLI_IN_RUNS && in->state != DCLI_IN_DROPPED))
        return DCLI_FAIL(DCL_ERR_INTERNAL,
                         "batch %" PRId64 " of question %" PRId64 " to peer %d ended but does not run", batch, question,
                         victim);
    node->lending->in_running--;
    in->state = in->state == DCLI_IN_DROPPED ? DCLI_IN_FORGET : status == DCL_OK ? DCLI_IN_RESULT : DCLI_IN_RETURN;
    return DCL_OK;
}

/* Get the action RESULT, RETURNED or FORGET for the first loan for which one is due, and remove the loan. */
bool dcli_thief_next(dcli_node *node, dcli_action *action)
{
    static const dcli_action_kind kinds[] = {
        [DCLI_IN_RESULT] = DCLI_DO_RESULT, [DCLI_IN_RETURN] = DCLI_DO_RETURNED, [DCLI_IN_FORGET] = DCLI_DO_FORGET};
    for (int64_t n = 0; n < node->lending->in_count; n++) {
        const struct dcli_loan_in *in = &node->lending->in[n];
        if (in->state < DCLI_IN_RESULT)
            continue;
        *action = (dcli_action){.kind = kinds[in->state],
                                .operation = dcli_loan_operation(node, in->operation),
                                .peer = in->victim,
                                .index = in->batch,
                                .question = in->question,
                                .count = in->count};
        remove_in(node->lending, n);
        return true;
    }
    return false;
}

bool dcli_lending_run(dcli_node *node, dcli_action *action)
{
    struct dcli_lending *lending = node->lending;
    const int64_t usual = 2, most = node->terms.loans_running > 0 ? node->terms.loans_running : usual;
    if (node->held || node->paused || lending->in_running == most)
        return false;
    for (int64_t n = 0; n < lending->in_count; n++) {
        struct dcli_loan_in *in = &lending->in[n];
        if (in->state != DCLI_IN_HELD || in->arrived < in->chunks)
            continue;
        in->state = DCLI_IN_RUNS;
        lending->in_running++;
        *action = (dcli_action){.kind = DCLI_DO_RUN_LOAN,
                                .operation = dcli_loan_operation(node, in->operation),
                                .peer = in->victim,
                                .index = in->batch,
                                .question = in->question,
                                .count = in->count};
        return true;
    }
    return false;
}

void dcli_thief_loses(dcli_node *node, int peer)
{
    struct dcli_lending *lending = node->lending;
    for (int64_t n = 0; n < lending->in_count; n++) {
        struct dcli_loan_in *in = &lending->in[n];
        if (in->victim == peer)
            in->state = in->state == DCLI_IN_RUNS ? DCLI_IN_DROPPED : DCLI_IN_FORGET;
        else if (in->state == DCLI_IN_HELD && dcli_op_misses_part(node, dcli_loan_operation(node, in->operation)))
            in->state = DCLI_IN_RETURN; /* the loan might read memory of the lost node; its operation fails anyway */
    }
    if (is_asking(lending, peer))
        close_own(lending, dcli_loan_peer_of(lending, peer));
}
