/* workqueue/lend_pace.h - how much a node launches at a time where work is lent, and when it asks others for work. Pure
 * functions of predicted times; worker processes and the simulator use the same. */
#ifndef DCLI_WORKQUEUE_LEND_PACE_H
#define DCLI_WORKQUEUE_LEND_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DCLI_LEND_AGAIN_MS = 1, /* time after which a node that may ask nobody at present tries again */
    DCLI_LEND_AT_ONCE = 32, /* most batches in one LENT in any session: see dcli_lend_at_once() */
    DCLI_LOANS_RUNNING = 8  /* most loans of other nodes in a device's queue */
};

/** How many of `possible` batches to launch together.
 *  @param all       the `possible` batches are all batches of the operation.
 *  @param batch_ns  predicted time of one batch; 0: it is not known, and one batch is launched.
 *  @param others    number of other nodes in the session: if they are more than DCLI_ASK_NEAR, the last launches are
 *                   shorter. */
int64_t dcli_lend_launch(int64_t possible, bool all, double batch_ns, int others);

/** The most batches in one LENT: 32, so that nodes wake each other up seldom; 8 if there are more than DCLI_ASK_NEAR other
 *  nodes in the session, because then more of them may ask at a time, and what one has borrowed no other can run.
 *  @param others  number of other nodes in the session. */
int64_t dcli_lend_at_once(int others);

/** The time that a launch counts in the sum `ns` of dcli_lend_is_enough().
 *  @param expected_ns  its predicted time; 0: not known, so the launch counts 0.25 ms, as much as a queue needs if
 *                      nothing in it is borrowed. */
int64_t dcli_lend_queued_ns(int64_t expected_ns);
/** Whether a device has enough to do, so that batches that could be lent are not launched now: there are at least two
 *  launches in its queue, and they take at least 0.25 ms, or at least 2 ms if some of them are borrowed.
 *  @param launches  number of launches in its queue.
 *  @param ns        their predicted time: the sum of dcli_lend_queued_ns().
 *  @param borrowed  some of them are loans of other nodes.
 *  @param last      the waiting batches are the last ones of an operation. Then one launch suffices instead of two,
 *                   because a batch in the queue cannot be lent any more. The time must suffice all the same. */
bool dcli_lend_is_enough(int64_t launches, int64_t ns, bool borrowed, bool last);
/** Whether `waiting` batches are the last ones of the `batches` of an operation: at most a sixteenth of them. */
bool dcli_lend_are_last(int64_t waiting, int64_t batches);

/** What a node has to do. */
typedef struct dcli_lend_load {
    bool dry;            /* nothing is launched or borrowed */
    int64_t launches;    /* launches in the device's queue */
    int64_t queued_ns;   /* predicted time of these launches */
    int64_t borrowed_ns; /* predicted time of borrowed loans that are not in the queue yet; INT64_MAX: not known */
    bool leaves_others;  /* an operation before the last one has batches that are not launched, too */
    int64_t waiting;     /* batches of the last operation that are not launched */
    int64_t batches;     /* all batches of that operation; 0 if none waits */
    double batch_ns;     /* predicted time of one of the waiting batches; 0: not known */
} dcli_lend_load;

/** Predicted time until a node can begin with a loan of another node; INT64_MAX: not known. The time of waiting batches
 *  is predicted only when they are the last sixteenth of their operation, because costs may differ before. */
int64_t dcli_lend_busy_ns(const dcli_lend_load *load);
/** Whether a node asks others for work. It does in three cases: it is dry; its work takes less than 2 ms; or its device's
 *  queue has at most two launches, whose time is known and after which nothing waits. */
bool dcli_lend_asks(const dcli_lend_load *load);

#endif
