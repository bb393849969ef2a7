/* workqueue/lend_pace.h - how much a node launches at a time where work is lent, and when it asks others for work. Pure
 * functions of predicted times; worker processes and the simulator use the same. */
#ifndef DCLI_WORKQUEUE_LEND_PACE_H
#define DCLI_WORKQUEUE_LEND_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DCLI_LEND_AGAIN_MS = 1, /* after which a node that may ask nobody at present tries again */
    DCLI_LEND_AT_ONCE = 32, /* most batches in one answer */
    DCLI_LOANS_RUNNING = 8  /* most borrowed batches in a device's queue */
};

/** How many of `possible` batches to launch together. @param all  they are all batches of the operation.
 *  @param batch_ns  predicted time of one; 0: it is not known, and one is launched. @param others  other nodes of
 *  the session: if they are many, the last launches are shorter */
int64_t dcli_lend_launch(int64_t possible, bool all, double batch_ns, int others);

/** The time of a launch as far as it counts for dcli_lend_is_enough(). @param expected_ns  predicted time; 0: it is not
 *  known, so the launch counts as long */
int64_t dcli_lend_queued_ns(int64_t expected_ns);
/** Whether a device has enough to do, so that batches which could be lent are not launched now: its queue has two
 *  launches, and work for 0.25 ms, or for 2 ms if some of it was borrowed.
 *  @param launches  number of launches in its queue.
 *  @param ns        predicted time of these.
 *  @param borrowed  some of these are batches of other nodes.
 *  @param last      the waiting batches are the last ones of an operation. Then one launch suffices instead of two,
 *                   because a batch in the queue cannot be lent any more. The time must suffice all the same. */
bool dcli_lend_is_enough(int64_t launches, int64_t ns, bool borrowed, bool last);
/** Whether `waiting` batches are the last ones of the `batches` of an operation: at most a sixteenth. */
bool dcli_lend_are_last(int64_t waiting, int64_t batches);

/** What a node has to do. */
typedef struct dcli_lend_load {
    bool dry;            /* nothing is launched or borrowed */
    int64_t launches;    /* that are in the device's queue */
    int64_t queued_ns;   /* predicted time of them */
    int64_t borrowed_ns; /* ... of borrowed batches that are not; INT64_MAX: not known */
    bool leaves_others;  /* besides the last operation, an earlier one has batches that are not launched */
    int64_t waiting;     /* batches of the last operation that are not launched */
    int64_t batches;     /* all batches of that operation; 0 if none waits */
    double batch_ns;     /* predicted time of one of them; 0: not known */
} dcli_lend_load;

/** Predicted time until a node can begin with a batch of another one; INT64_MAX: not known. The batches that wait are
 *  predicted when they are the last sixteenth of their operation, because costs may differ before. */
int64_t dcli_lend_busy_ns(const dcli_lend_load *load);
/** Whether a node asks others for work: it is dry, or will be soon, or nothing follows the two launches in
 *  its queue. */
bool dcli_lend_asks(const dcli_lend_load *load);

#endif
