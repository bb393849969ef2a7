/* worker/order.h - the operations of one OPERATIONS message, and their order. An operation that repeats one of the same
 * message takes one byte there instead of a descriptor. Pure functions. */
#ifndef DCLI_WORKER_ORDER_H
#define DCLI_WORKER_ORDER_H

#include "net/message.h"

/** Operations that are collected for one message. */
typedef struct dcli_collected {
    dcli_msg_operation operation[DCLI_MOST_OPERATIONS];
    int64_t order[DCLI_MOST_ORDER];
    int count, order_count; /* items of both */
    int views;
    size_t declared; /* numbers of declarations, and what else these take */
} dcli_collected;

/** Begin with no operation. */
void dcli_collect_begin(dcli_collected *collected);
/** Add an operation; its number follows that of the operation added last. What it points to is borrowed.
 *  @return false: it must be sent with the next message. */
bool dcli_collect(dcli_collected *collected, const dcli_msg_operation *operation);
/** The contents of the message; valid as long as `collected`. */
dcli_msg_operations dcli_collected_message(dcli_collected *collected);
/** The numbers of all declarations of an operation. */
size_t dcli_declared_numbers(const dcli_msg_operation *operation);

/** A position in the order of a message. Start with {0}. */
typedef struct dcli_ordered {
    int next;       /* items that were passed */
    int taken;      /* descriptors that were passed */
    int place;      /* index of the operation's descriptor */
    bool repeats;   /* the operation repeats an earlier one, of that descriptor */
    int64_t number; /* of the operation */
} dcli_ordered;

/** Check that the order of a received message names each of its descriptors once, in turn, and repeats only FORALLs that
 *  came before. @return DCL_OK or DCL_ERR_PROTOCOL. */
dcl_status dcli_order_check(const dcli_msg_operations *message);
/** Go on to the next operation of a message that was checked. @return false: there is none. */
bool dcli_order_next(const dcli_msg_operations *message, dcli_ordered *at);
/** Number of the last operation. */
int64_t dcli_order_last(const dcli_msg_operations *message);

#endif
