/* worker/order.c - collects operations for a message, and finds those that recur. */
#include "worker/order.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "workqueue/operation.h"

enum { REACH_ITEMS = 4 }; /* items of a declaration in a message, besides its numbers */

/* ---- collecting --------------------------------------------------------------------------------------------------- */

void dcli_collect_begin(dcli_collected *collected)
{
    collected->count = collected->order_count = collected->views = 0; /* the lists need not be set */
    collected->declared = 0;
}

size_t dcli_declared_numbers(const dcli_msg_operation *operation)
{
    size_t numbers = 0;
    for (int r = 0; r < operation->reach_count; r++)
        numbers += (size_t)operation->reach[r].count;
    return numbers;
}

static bool have_equal_boxes(const dcli_msg_operation *a, const dcli_msg_operation *b)
{
    size_t bytes = (size_t)a->box_rank * sizeof(int64_t);
    return a->box_rank == b->box_rank && memcmp(a->box.start, b->box.start, bytes) == 0 &&
           memcmp(a->box.count, b->box.count, bytes) == 0 && memcmp(a->box.stride, b->box.stride, bytes) == 0;
}

/* Whether two operations are FORALLs without views and declarations that differ in their numbers only. */
static bool is_repetition(const dcli_msg_operation *a, const dcli_msg_operation *b)
{
    return a->kind == DCLI_OP_FORALL && b->kind == DCLI_OP_FORALL && a->kernel == b->kernel &&
           a->operand_count == b->operand_count && a->view_count + b->view_count == 0 &&
           a->reach_count + b->reach_count == 0 && a->steal == b->steal && a->overlap == b->overlap &&
           a->fresh == b->fresh && have_equal_boxes(a, b) &&
           memcmp(a->operand, b->operand, (size_t)a->operand_count * sizeof *a->operand) == 0;
}

/* The descriptor that an operation repeats: its place, from 1; 0: none. */
static int find_repeated(const dcli_collected *collected, const dcli_msg_operation *operation)
{
    enum { LOOKS = 8 }; /* of calls that recur, one is like another a few calls before */
    int last = collected->count > LOOKS ? collected->count - LOOKS : 0;
    for (int n = collected->count; n > last; n--)
        if (is_repetition(operation, &collected->operation[n - 1]))
            return n;
    return 0;
}

/* Whether a descriptor has a long map; several of them would exceed the limit of a message. */
static bool has_long_map(const dcli_msg_operation *operation)
{
    return operation->map != NULL && strlen(operation->map) > DCLI_MOST_SHORT_MAP;
}

static bool has_room(const dcli_collected *collected, const dcli_msg_operation *operation, size_t declared)
{
    if (collected->count == 0)
        return true;
    bool alone = has_long_map(operation) || has_long_map(&collected->operation[0]);
    return !alone && collected->count < DCLI_MOST_OPERATIONS &&
           collected->views + operation->view_count <= DCLI_MOST_VIEWS &&
           collected->declared + declared <= DCLI_MOST_DECLARED_NUMBERS + REACH_ITEMS * DCLI_MOST_OPERANDS;
}

bool dcli_collect(dcli_collected *collected, const dcli_msg_operation *operation)
{
    size_t declared = dcli_declared_numbers(operation) + REACH_ITEMS * (size_t)operation->reach_count;
    if (collected->order_count == DCLI_MOST_ORDER)
        return false;
    int repeated = find_repeated(collected, operation);
    if (repeated == 0) {
        if (!has_room(collected, operation, declared))
            return false;
        collected->views += operation->view_count;
        collected->declared += declared;
        collected->operation[collected->count++] = *operation;
    }
    collected->order[collected->order_count++] = repeated;
    return true;
}

dcli_msg_operations dcli_collected_message(dcli_collected *collected)
{
    bool repeats = collected->order_count > collected->count;
    return (dcli_msg_operations){.count = collected->count,
                                 .operation = collected->operation,
                                 .order_count = repeats ? collected->order_count : 0,
                                 .order = collected->order};
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

dcl_status dcli_order_check(const dcli_msg_operations *message)
{
    int taken = 0;
    for (int n = 0; n < message->order_count; n++) {
        int64_t like = message->order[n];
        taken += like == 0;
        if (taken > message->count || like > taken || (like > 0 && message->operation[like - 1].kind != DCLI_OP_FORALL))
            return DCLI_FAIL(DCL_ERR_PROTOCOL,
                             "order[%d] of a message OPERATIONS is %" PRId64
                             " after %d of %d descriptors; expected 0 for "
                             "the next one, or the place of an earlier forall",
                             n, like, taken - (like == 0), message->count);
    }
    if (message->order_count > 0 && taken < message->count)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "order of a message OPERATIONS names %d descriptors; expected %d", taken,
                         message->count);
    return DCL_OK;
}

bool dcli_order_next(const dcli_msg_operations *message, dcli_ordered *at)
{
    int count = message->order_count > 0 ? message->order_count : message->count;
    if (at->next == count)
        return false;
    int64_t like = message->order_count > 0 ? message->order[at->next] : 0;
    at->next++;
    at->repeats = like > 0;
    at->place = at->repeats ? (int)like - 1 : at->taken++;
    at->number = at->repeats ? at->number + 1 : message->operation[at->place].number;
    return true;
}

int64_t dcli_order_last(const dcli_msg_operations *message)
{
    dcli_ordered at = {0};
    while (dcli_order_next(message, &at))
        ;
    return at.number;
}
