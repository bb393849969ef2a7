/* worker/loans.c - stealing: carries out the actions of lending, and handles its messages. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "worker/exec_prepare.h"
#include "worker/profile.h"
#include "worker/shown.h"
#include "worker/stealing.h"
#include "worker/trace.h"
#include "worker/window.h"

/* ---- plans -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_loan_of(void *user, const dcli_operation *operation, int64_t batch, int64_t count, int victim,
                        int thief, dcli_loan_size *size_out)
{
    dcli_worker *worker = user;
    dcli_cached_plan *plan;
    dcli_cached_loan *loan;
    if (operation->kind != DCLI_OP_FORALL || operation->body->tile_kernel || operation->body->result_count > 0)
        return DCL_ERR_INVALID;
    dcl_status status = dcli_catalog_lender(&worker->catalog, dcli_entry_of(operation), victim, &plan);
    if (status != DCL_OK)
        return status;
    status = dcli_plans_loan(&worker->catalog.plans, plan, operation, batch, count, victim, thief, &loan);
    if (status == DCL_OK)
        *size_out = loan->loan->size;
    dcli_plans_let_go(plan);
    return status;
}

/* Find a chunk of a loan by its number among the inputs or among the results. @return NULL: there is none. */
static const dcli_chunk *find_chunk(const dcli_plan *plan, bool written, int64_t number)
{
    for (int64_t c = 0; c < plan->chunk_count; c++)
        if (plan->chunk[c].written == written && plan->chunk[c].number == number)
            return &plan->chunk[c];
    return NULL;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

dcli_lent_out *dcli_lent_find(const dcli_stealing *stealing, int thief, int64_t question, int64_t batch)
{
    dcli_lent_out *lent = stealing->lent;
    while (lent != NULL && (lent->thief != thief || lent->question != question || lent->batch != batch))
        lent = lent->next;
    return lent;
}

void dcli_lent_free(dcli_stealing *stealing, dcli_lent_out *lent)
{
    dcli_lent_out **at = &stealing->lent;
    while (*at != lent)
        at = &(*at)->next;
    *at = lent->next;
    dcli_chunks_free(&lent->received);
    dcli_free(lent);
}

static dcli_borrowed *find_borrowed(const dcli_stealing *stealing, int victim, int64_t question, int64_t batch)
{
    dcli_borrowed *borrowed = stealing->borrowed;
    while (borrowed != NULL &&
           (borrowed->victim != victim || borrowed->question != question || borrowed->batch != batch))
        borrowed = borrowed->next;
    return borrowed;
}

void dcli_borrowed_free(dcli_worker *worker, dcli_borrowed *borrowed)
{
    dcli_borrowed **at = &worker->as_node->stealing->borrowed;
    if (borrowed == NULL)
        return;
    while (*at != borrowed)
        at = &(*at)->next;
    *at = borrowed->next;
    dcli_chunks_free(&borrowed->received);
    dcli_chunks_free(&borrowed->made);
    dcli_plans_let_go(borrowed->plan);
    dcli_free(borrowed);
}

/* ---- messages to others ---------------------------------------------------------------------------------------- */

static dcl_status send_loan(dcli_worker *worker, int to, const dcli_msg_loan *loan, dcli_payload *payload)
{
    /* after the results of a batch comes RESULT */
    dcli_message message = {.kind = DCLI_MSG_LOAN, .followed = loan->written, .loan = *loan};
    worker->counters.loan_bytes += (int64_t)payload->length;
    if (__builtin_expect(worker->terms.trace != NULL, 0))
        dcli_trace_loan_chunk(worker, DCLI_TRACE_SENT, to, loan, (int64_t)payload->length);
    return dcli_peer_send(worker, to, &message, payload);
}

/* ---- the victim --------------------------------------------------------------------------------------------------- */

/* Copy the elements of an item from this node's memory. No running batch writes them: earlier operations have ended, and
 * other batches of this operation write other elements. */
static dcl_status gather(dcli_worker *worker, const dcli_entry *entry, const dcli_item *item, const dcli_piece *source,
                         char *target)
{
    dcli_known_storage *held = entry->held[item->operand];
    size_t bytes = dcli_element_bytes(&entry->operation, item->operand);
    dcli_region packed = dcli_region_packed(&item->region.box, 0);
    dcli_memory *memory = NULL;
    dcl_status status = DCL_OK;
    if (source->kind == DCLI_SPACE_CHUNK) {
        const dcli_plan *own = dcli_entry_plan(entry, worker->terms.self)->plan;
        const dcli_chunk *chunk = &own->chunk[source->where];
        const dcli_stored_chunk *stored =
            dcli_chunks_find(&worker->received, chunk->peer, entry->operation.number, false, chunk->number);
        if (stored == NULL || stored->received.payload_bytes != (size_t)chunk->bytes)
            return DCLI_FAIL(DCL_ERR_NOMEM, "an input of operation %" PRId64 " is not here", entry->operation.number);
        const char *payload = stored->received.payload;
        dcli_region_copy(target, &packed, payload + source->byte_offset, &source->region, bytes);
        return DCL_OK;
    }
    if (source->kind == DCLI_SPACE_PEER) {
        status = dcli_exec_peer_memory(worker, held, source->where, &memory);
    } else {
        status = dcli_exec_allocate(worker, held);
        memory = held->memory;
    }
    if (status != DCL_OK)
        return status;
    const char *host = dcli_memory_host(memory);
    if (host == NULL)
        return dcli_store_pack(worker->as_node->device, memory, &source->region, target, &packed, bytes);
    dcli_region_copy(target, &packed, host, &source->region, bytes);
    return DCL_OK;
}

static dcl_status send_input(dcli_worker *worker, dcli_lent_out *lent, const dcli_chunk *chunk)
{
    const dcli_loan *loan = lent->loan->loan;
    const dcli_msg_loan message = {
        .question = lent->question, .operation = lent->operation, .batch = lent->batch, .chunk = chunk->number};
    int64_t began_ns = dcli_trace_begin(worker);
    char *bytes = dcli_buffers_take(worker->terms.buffers, (size_t)chunk->bytes);
    dcl_status status = bytes != NULL ? DCL_OK : DCL_ERR_NOMEM;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++)
        status = gather(worker, lent->entry, &loan->plan->item[i], &loan->source[i],
                        bytes + loan->plan->item[i].byte_offset);
    if (status != DCL_OK) {
        dcli_buffers_give(bytes);
        return status;
    }
    worker->counters.bytes_copied += chunk->bytes;
    lent->moved += chunk->bytes;
    dcli_trace_loan(worker, DCLI_TRACE_PACK, began_ns, lent->entry, lent->thief, &message, chunk->bytes);
    dcli_payload payload = {.bytes = bytes, .length = (size_t)chunk->bytes, .release = dcli_peer_free_buffer};
    return send_loan(worker, lent->thief, &message, &payload);
}

/* Send the inputs of a loan. If that fails, it is asked back. */
static void send_inputs(dcli_worker *worker, dcli_lent_out *lent)
{
    const dcli_plan *plan = lent->loan->loan->plan;
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < plan->chunk_count && status == DCL_OK; c++)
        if (!plan->chunk[c].written)
            status = send_input(worker, lent, &plan->chunk[c]);
    if (status != DCL_OK)
        dcli_stealing_take_back(worker, lent);
}

/* Predicted mean time of the batches of a LENT at its thief; 0: it is not known. */
static int64_t batch_ns(const dcli_worker *worker, const dcli_action *action)
{
    const dcli_stealing *stealing = worker->as_node->stealing;
    double times = dcli_cost_ns(&stealing->thief[action->peer].times), sum = 0;
    for (int64_t b = action->index, end = b + action->count; b < end; b = dcli_loan_end(b, end, action->each)) {
        const dcli_lent_out *lent = dcli_lent_find(stealing, action->peer, action->question, b);
        sum += lent != NULL ? (double)lent->expected_ns : 0;
    }
    double ns = sum * (times > 0 ? times : 1) / (double)action->count;
    return ns < (double)DCLI_MOST_NS ? (int64_t)ns : DCLI_MOST_NS;
}

static dcl_status lend(dcli_worker *worker, const dcli_action *action)
{
    dcli_message message = {.kind = DCLI_MSG_LENT,
                            .lent = {.question = action->question,
                                     .operation = action->operation->number,
                                     .first = action->index,
                                     .count = action->count,
                                     .batch_ns = batch_ns(worker, action),
                                     .each = action->each}};
    dcl_status status = dcli_show_parts(worker, action->peer); /* the thief may read them in place */
    if (status == DCL_OK)
        status = dcli_peer_send(worker, action->peer, &message, NULL);
    for (int64_t b = action->index, end = b + action->count; b < end && status == DCL_OK;
         b = dcli_loan_end(b, end, action->each)) {
        dcli_lent_out *lent = dcli_lent_find(worker->as_node->stealing, action->peer, action->question, b);
        if (lent != NULL && lent->entry != NULL)
            send_inputs(worker, lent);
    }
    return status;
}

static dcl_status recall(dcli_worker *worker, const dcli_action *action)
{
    dcli_message message = {
        .kind = DCLI_MSG_RECALL,
        .recall = {.question = action->question, .operation = action->operation->number, .batch = action->index}};
    return dcli_peer_send(worker, action->peer, &message, NULL);
}

/* Write a result chunk to this node's parts. */
static dcl_status write_result(dcli_worker *worker, const dcli_lent_out *lent, const dcli_chunk *chunk)
{
    const dcli_entry *entry = lent->entry;
    const dcli_plan *plan = lent->loan->loan->plan;
    const dcli_stored_chunk *stored =
        dcli_chunks_find(&lent->received, lent->thief, lent->operation, true, chunk->number);
    const char *payload = stored != NULL ? stored->received.payload : NULL;
    if (payload == NULL || stored->received.payload_bytes != (size_t)chunk->bytes)
        return DCLI_FAIL(DCL_ERR_NOMEM, "a result of operation %" PRId64 " from node %d is not there: " DCLI_NO_ROOM,
                         lent->operation, lent->thief);
    dcl_status status = DCL_OK;
    for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && status == DCL_OK; i++) {
        const dcli_item *item = &plan->item[i];
        dcli_known_storage *held = entry->held[item->operand];
        size_t bytes = dcli_element_bytes(&entry->operation, item->operand);
        dcli_region packed = dcli_region_packed(&item->region.box, 0);
        status = dcli_exec_allocate(worker, held);
        char *host = status == DCL_OK ? dcli_memory_host(held->memory) : NULL;
        if (host != NULL)
            dcli_region_copy(host, &item->region, payload + item->byte_offset, &packed, bytes);
        else if (status == DCL_OK)
            status = dcli_store_unpack(worker->as_node->device, held->memory, &item->region,
                                       payload + item->byte_offset, &packed, bytes);
    }
    worker->counters.bytes_copied += chunk->bytes;
    return status;
}

static dcl_status commit(dcli_worker *worker, const dcli_action *action)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_entry *entry = dcli_entry_of(action->operation);
    dcli_lent_out *lent = dcli_lent_find(stealing, action->peer, action->question, action->index);
    const dcli_plan *plan = lent->loan->loan->plan;
    int64_t began_ns = dcli_trace_begin(worker);
    dcl_status status = action->status;
    for (int64_t c = 0; c < plan->chunk_count && status == DCL_OK; c++)
        if (plan->chunk[c].written)
            status = write_result(worker, lent, &plan->chunk[c]);
    if (status != DCL_OK && action->status == DCL_OK)
        dcli_keep_problem(entry);
    worker->counters.loans_won += status == DCL_OK ? action->count : 0;
    dcli_trace_loan(worker, DCLI_TRACE_COMMIT, began_ns, entry, action->peer,
                    &(dcli_msg_loan){.question = action->question,
                                     .operation = lent->operation,
                                     .batch = action->index,
                                     .written = true,
                                     .chunk = -1},
                    lent->moved);
    dcli_lent_free(stealing, lent);
    if (status == DCL_OK && !dcli_device_in_place(worker->as_node->device)) {
        dcli_moving moving = {.entry = entry,
                              .kind = DCLI_MOVING_RUN,
                              .chunk = action->index,
                              .more = action->count - 1,
                              .ticket = dcli_device_launched(worker->as_node->device)};
        if ((status = dcli_pending_add(worker, &moving)) == DCL_OK)
            return DCL_OK;
        dcli_keep_problem(entry);
    }
    return dcli_node_batches_done(worker->node, entry->operation.number, action->index, action->count, status);
}

/* ---- the thief ---------------------------------------------------------------------------------------------------- */

static dcl_status ask(dcli_worker *worker, const dcli_action *action)
{
    dcli_lend_load load;
    dcli_window_load(worker, &load);
    dcli_message message = {.kind = DCLI_MSG_HUNGRY,
                            .hungry = {.question = action->question,
                                       .first = action->first,
                                       .upto = action->upto,
                                       .bytes = action->bytes,
                                       .kind = worker->as_node->stealing->kind,
                                       .busy_ns = dcli_min(dcli_lend_busy_ns(&load), DCLI_MOST_NS)}};
    worker->counters.loans_asked++;
    return dcli_peer_send(worker, action->peer, &message, NULL);
}

static dcl_status run_borrowed(dcli_worker *worker, const dcli_action *action)
{
    dcli_borrowed *borrowed = find_borrowed(worker->as_node->stealing, action->peer, action->question, action->index);
    dcli_start start = DCLI_START_ENDED;
    dcl_status status = borrowed == NULL ? DCL_ERR_NOMEM : worker->gone[action->peer] ? DCL_ERR_NODE_LOST : DCL_OK;
    if (status == DCL_OK) {
        borrowed->began_ns = dcli_monotonic_ns();
        status = dcli_exec_borrowed(worker, borrowed, &start);
    }
    if (status != DCL_OK)
        return dcli_node_loan_done(worker->node, action->peer, action->question, action->index, status);
    if (start == DCLI_START_NOT_YET)
        dcli_pending_hold(worker, action);
    else
        dcli_pending_update_hold(worker);
    return DCL_OK;
}

dcl_status dcli_borrowed_ended(dcli_worker *worker, dcli_borrowed *borrowed, int64_t ns, dcl_status status)
{
    borrowed->ran_ns = ns;
    return dcli_node_loan_done(worker->node, borrowed->victim, borrowed->question, borrowed->batch, status);
}

static dcl_status send_result(dcli_worker *worker, dcli_borrowed *borrowed, int64_t c)
{
    const dcli_chunk *chunk = &borrowed->loan->loan->plan->chunk[c];
    dcli_stored_chunk *made =
        dcli_chunks_find(&borrowed->made, borrowed->victim, borrowed->entry->operation.number, true, c);
    dcli_payload payload = {.bytes = made->bytes, .length = (size_t)chunk->bytes, .release = dcli_peer_free_buffer};
    if (made->slot != NULL)
        payload = (dcli_payload){.bytes = dcli_slot_host(made->slot),
                                 .length = (size_t)chunk->bytes,
                                 .release = dcli_peer_free_slot,
                                 .user = made->slot};
    made->bytes = made->slot = NULL;
    return send_loan(worker, borrowed->victim,
                     &(dcli_msg_loan){.question = borrowed->question,
                                      .operation = borrowed->entry->operation.number,
                                      .batch = borrowed->batch,
                                      .written = true,
                                      .chunk = chunk->number},
                     &payload);
}

/* Whether another loan of the same victim was started: its results follow. Until then the victim is not woken. It needs these
 * results last of all, and looks for them each millisecond if it has nothing to do. */
static bool another_follows(const dcli_stealing *stealing, const dcli_borrowed *borrowed)
{
    const dcli_borrowed *other = stealing->borrowed;
    while (other != NULL && (other == borrowed || other->victim != borrowed->victim || other->began_ns == 0))
        other = other->next;
    return other != NULL;
}

/* Send the results of a loan. */
static dcl_status answer(dcli_worker *worker, const dcli_action *action)
{
    dcli_borrowed *borrowed = find_borrowed(worker->as_node->stealing, action->peer, action->question, action->index);
    const dcli_plan *plan = borrowed->loan->loan->plan;
    dcl_status status = DCL_OK;
    for (int64_t c = 0; c < plan->chunk_count && status == DCL_OK; c++)
        if (plan->chunk[c].written)
            status = send_result(worker, borrowed, c);
    dcli_message message = {
        .kind = DCLI_MSG_RESULT,
        .followed = another_follows(worker->as_node->stealing, borrowed),
        .result = {.question = action->question,
                   .operation = action->operation->number,
                   .batch = action->index,
                   .kernel_ns = borrowed->ran_ns,
                   .held_ns = dcli_max(0, dcli_monotonic_ns() - borrowed->ready_ns - borrowed->ran_ns)}};
    dcli_borrowed_free(worker, borrowed);
    return status == DCL_OK ? dcli_peer_send(worker, action->peer, &message, NULL) : status;
}

static dcl_status give_back(dcli_worker *worker, const dcli_action *action)
{
    dcli_message message = {
        .kind = DCLI_MSG_RETURNED,
        .returned = {.question = action->question, .operation = action->operation->number, .batch = action->index}};
    dcli_borrowed_free(worker, find_borrowed(worker->as_node->stealing, action->peer, action->question, action->index));
    return dcli_peer_send(worker, action->peer, &message, NULL);
}

dcl_status dcli_loan_perform(dcli_worker *worker, const dcli_action *action)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_message message = {0};
    switch (action->kind) {
    case DCLI_DO_ASK:
        return ask(worker, action);
    case DCLI_DO_RUN_LOAN:
        return run_borrowed(worker, action);
    case DCLI_DO_RESULT:
        return answer(worker, action);
    case DCLI_DO_RETURNED:
        return give_back(worker, action);
    case DCLI_DO_FORGET:
        dcli_borrowed_free(worker, find_borrowed(stealing, action->peer, action->question, action->index));
        return DCL_OK;
    case DCLI_DO_NOTHING:
        message = (dcli_message){.kind = DCLI_MSG_NOTHING, .nothing.question = action->question};
        return dcli_peer_send(worker, action->peer, &message, NULL);
    case DCLI_DO_LEND:
        return lend(worker, action);
    case DCLI_DO_RECALL:
        return recall(worker, action);
    case DCLI_DO_COMMIT_LOAN:
        return commit(worker, action);
    default:
        dcli_lent_free(stealing, dcli_lent_find(stealing, action->peer, action->question, action->index));
        return DCL_OK;
    }
}

/* ---- messages that arrive ----------------------------------------------------------------------------------------- */

static dcl_status refuse(const dcli_received *received, const char *what)
{
    return DCLI_FAIL(DCL_ERR_PROTOCOL, "node %d sent a %s %s; it is taken for lost", received->from,
                     dcli_message_name(received->message.kind), what);
}

static dcl_status hear_hungry(dcli_worker *worker, int from, const dcli_msg_hungry *hungry)
{
    dcl_status status =
        dcli_node_hungry(worker->node, from, hungry->question, hungry->first, hungry->upto, hungry->bytes);
    if (status == DCL_OK)
        dcli_stealing_asked(worker, from, hungry);
    return status;
}

/* Make the record of a loan. If there is no memory for it, the loan is returned when its turn comes. */
static void borrow(dcli_worker *worker, int from, const dcli_msg_lent *message, int64_t batch, int64_t count)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcli_entry *entry = dcli_entries_find(&worker->catalog.entries, message->operation);
    dcli_borrowed *borrowed = dcli_calloc(1, sizeof *borrowed);
    if (borrowed == NULL)
        return;
    *borrowed = (dcli_borrowed){.victim = from, .question = message->question, .batch = batch, .entry = entry};
    if (dcli_catalog_lender(&worker->catalog, entry, from, &borrowed->plan) != DCL_OK) {
        dcli_free(borrowed);
        return;
    }
    if (dcli_plans_loan(&worker->catalog.plans, borrowed->plan, &entry->operation, batch, count, from,
                        worker->terms.self, &borrowed->loan) != DCL_OK) {
        dcli_plans_let_go(borrowed->plan);
        dcli_free(borrowed);
        return;
    }
    const dcli_plan *loan = borrowed->loan->loan->plan;
    /* the victim knows what its batches cost; this node has only measured those of its own part */
    borrowed->expected_ns = message->batch_ns > 0 ? dcli_min(message->batch_ns, DCLI_MOST_NS / count) * count
                                                  : (int64_t)dcli_exec_plan_ns(worker, entry, loan, 0);
    borrowed->ready_ns = dcli_monotonic_ns();
    borrowed->next = stealing->borrowed;
    stealing->borrowed = borrowed;
}

static dcl_status hear_lent(dcli_worker *worker, int from, const dcli_msg_lent *lent)
{
    int64_t each = dcli_max(1, lent->each);
    dcl_status status =
        dcli_node_lent(worker->node, from, lent->question, lent->operation, lent->first, lent->count, each);
    if (status != DCL_OK || !dcli_node_is_there(worker->node, from)) /* nothing is borrowed from a node that is lost */
        return status;
    dcli_stealing_answered(worker, from, true);
    for (int64_t b = lent->first, end = b + lent->count, next; b < end; b = next) {
        next = dcli_loan_end(b, end, each);
        borrow(worker, from, lent, b, next - b);
    }
    return DCL_OK;
}

static dcl_status hear_nothing(dcli_worker *worker, int from, const dcli_msg_nothing *nothing)
{
    dcl_status status = dcli_node_nothing(worker->node, from, nothing->question);
    if (status != DCL_OK)
        return status;
    worker->counters.loans_refused++;
    dcli_stealing_answered(worker, from, false);
    return DCL_OK;
}

static dcl_status keep(dcli_chunks *chunks, dcli_received *received)
{
    const dcli_msg_loan *loan = &received->message.loan;
    dcli_stored_chunk *stored = dcli_chunks_add(chunks, received->from, loan->operation, loan->written, loan->chunk);
    if (stored == NULL)
        return DCL_ERR_NOMEM;
    dcli_chunks_hold(chunks, stored, received);
    return DCL_OK;
}

/* Whether a payload has the size that the plan of the loan requires. The size of a payload that could not be
 * mapped here is not checked. */
static bool has_size(const dcli_received *received, const dcli_cached_loan *loan)
{
    const dcli_msg_loan *message = &received->message.loan;
    const dcli_chunk *chunk = find_chunk(loan->loan->plan, message->written, message->chunk);
    return chunk != NULL && (received->payload_missing || received->payload_bytes == (size_t)chunk->bytes);
}

static dcl_status hear_input(dcli_worker *worker, dcli_received *received)
{
    const dcli_msg_loan *message = &received->message.loan;
    bool wanted;
    dcl_status status = dcli_node_loan_chunk(worker->node, received->from, message->question, message->operation,
                                             message->batch, message->chunk, &wanted);
    dcli_borrowed *borrowed =
        find_borrowed(worker->as_node->stealing, received->from, message->question, message->batch);
    if (status != DCL_OK || !wanted || borrowed == NULL)
        return status;
    borrowed->ready_ns = dcli_monotonic_ns();
    return has_size(received, borrowed->loan) ? keep(&borrowed->received, received)
                                              : refuse(received, "of a wrong size");
}

/* Keep a result chunk. If there is no memory for it here, the batch counts as returned when RESULT comes. */
static void keep_result(dcli_worker *worker, dcli_lent_out *lent, dcli_received *received)
{
    dcli_as_node *own = worker->as_node;
    bool fails = ++own->results == own->result_fault_at;
    if (!lent->missing && !received->payload_missing && !fails && keep(&lent->received, received) == DCL_OK)
        return;
    lent->missing = true;
    dcli_chunks_free(&lent->received);
    lent->received = (dcli_chunks){0};
}

static dcl_status hear_output(dcli_worker *worker, dcli_received *received)
{
    const dcli_msg_loan *message = &received->message.loan;
    dcli_lent_out *lent = dcli_lent_find(worker->as_node->stealing, received->from, message->question, message->batch);
    if (lent == NULL || lent->answered || lent->operation != message->operation || message->chunk != lent->arrived ||
        lent->arrived == lent->results)
        return refuse(received, "that was not expected");
    lent->arrived++;
    if (lent->entry == NULL) {
        worker->counters.loan_bytes_in_vain += (int64_t)received->payload_bytes;
        return DCL_OK;
    }
    lent->moved += (int64_t)received->payload_bytes;
    if (!has_size(received, lent->loan))
        return refuse(received, "of a wrong size");
    keep_result(worker, lent, received);
    return DCL_OK;
}

static dcl_status hear_recall(dcli_worker *worker, int from, const dcli_msg_recall *recall)
{
    return dcli_node_recall(worker->node, from, recall->question, recall->operation, recall->batch);
}

/* Take over the batches of a loan that a thief has returned: this node runs them. */
static dcl_status return_lent(dcli_worker *worker, int from, int64_t question, int64_t operation, int64_t batch)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    dcl_status status = dcli_node_result(worker->node, from, question, operation, batch, false);
    dcli_lent_out *lent = dcli_lent_find(stealing, from, question, batch);
    if (status != DCL_OK || lent == NULL)
        return status;
    if (lent->entry != NULL) {
        worker->counters.loans_taken_back += lent->count;
        worker->counters.loan_bytes_in_vain += lent->moved;
    }
    dcli_lent_free(stealing, lent);
    return DCL_OK;
}

static dcl_status hear_result(dcli_worker *worker, const dcli_received *received)
{
    const dcli_msg_result *result = &received->message.result;
    dcli_lent_out *lent = dcli_lent_find(worker->as_node->stealing, received->from, result->question, result->batch);
    if (lent == NULL || lent->arrived != lent->results)
        return refuse(received, "that was not expected");
    if (lent->missing)
        return return_lent(worker, received->from, result->question, result->operation, result->batch);
    dcl_status status =
        dcli_node_result(worker->node, received->from, result->question, result->operation, result->batch, true);
    lent->answered |= status == DCL_OK;
    if (status == DCL_OK && lent->entry != NULL) {
        dcli_stealing_learn(worker, lent, result);
        dcli_profile_won(worker, lent, result->kernel_ns);
    }
    return status;
}

static dcl_status hear_returned(dcli_worker *worker, int from, const dcli_msg_returned *returned)
{
    return return_lent(worker, from, returned->question, returned->operation, returned->batch);
}

bool dcli_loan_is_message(dcli_message_kind kind) { return kind >= DCLI_MSG_HUNGRY && kind <= DCLI_MSG_RETURNED; }

dcl_status dcli_loan_hear(dcli_worker *worker, dcli_received *received)
{
    const dcli_message *message = &received->message;
    switch (message->kind) {
    case DCLI_MSG_HUNGRY:
        return hear_hungry(worker, received->from, &message->hungry);
    case DCLI_MSG_NOTHING:
        return hear_nothing(worker, received->from, &message->nothing);
    case DCLI_MSG_LENT:
        return hear_lent(worker, received->from, &message->lent);
    case DCLI_MSG_LOAN:
        if (__builtin_expect(worker->terms.trace != NULL, 0))
            dcli_trace_loan_chunk(worker, DCLI_TRACE_ARRIVED, received->from, &message->loan,
                                  (int64_t)received->payload_bytes);
        return message->loan.written ? hear_output(worker, received) : hear_input(worker, received);
    case DCLI_MSG_RECALL:
        return hear_recall(worker, received->from, &message->recall);
    case DCLI_MSG_RESULT:
        return hear_result(worker, received);
    default:
        return hear_returned(worker, received->from, &message->returned);
    }
}

void dcli_loan_loses(dcli_worker *worker, int peer)
{
    dcli_stealing *stealing = worker->as_node->stealing;
    if (stealing == NULL)
        return;
    for (dcli_lent_out *lent = stealing->lent, *next; lent != NULL; lent = next) {
        next = lent->next;
        if (lent->thief == peer && !lent->answered)
            dcli_lent_free(stealing, lent);
    }
    if (dcli_node_is_asking(worker->node, peer))
        dcli_stealing_answered(worker, peer, false);
}
