/* workqueue/lend_count.h - the cost rule of lending: how many batches a victim lends to a node that asks. A pure
 * function of measured times. */
#ifndef DCLI_WORKQUEUE_LEND_COUNT_H
#define DCLI_WORKQUEUE_LEND_COUNT_H

#include <dcl/array.h>
#include <stdint.h>

/** What the rule compares. Times are ns, sizes bytes; a value that is not known is 0. */
typedef struct dcli_lend_case {
    dcl_steal_policy policy;
    int64_t offered;       /* batches that can be lent; the last ones would be lent */
    int64_t waiting;       /* batches that the victim has neither started nor lent, including those offered:
                              dcli_offer.waiting */
    int64_t queued_ns;     /* what the victim's device still has to do for the batches that it has started */
    double victim_ns;      /* time of one of the offered batches on the victim's device */
    double waiting_ns;     /* time of all `waiting` batches on the victim's device; unknown: `waiting` times
                              victim_ns */
    double thief_ns;       /* time of one of the offered batches on the thief's device; unknown: thief_times times
                              victim_ns */
    double thief_times;    /* time of the thief's device for the same work, divided by that of the victim's device;
                              unknown: 1 */
    int64_t input_bytes;   /* inputs that are sent, per batch */
    int64_t result_bytes;  /* results that are sent, per batch */
    double ns_per_byte;    /* of a message between victim and thief; 0 also if sending bytes costs nothing */
    double message_ns;     /* time of a message without data between victim and thief */
    int64_t thief_busy_ns; /* what the thief has to do before it can begin */
} dcli_lend_case;

/** Find how many of the offered batches to lend.
 *
 *  With DCL_STEAL_PAYS, as many as this rule allows: sending their inputs, computing them and returning their results
 *  takes at most as long as the victim needs for what it has started and for the batches that it keeps.
 *  One more batch is lent if its result is back before the victim would have run that batch, with the time of two
 *  messages to spare. The batches lent are at most half of the victim's remaining work, by time. None is lent if
 *  neither the victim's nor the thief's time of a batch is known: after two batches, the victim has measured its own
 *  (worker/cost.h).
 *  With DCL_STEAL_ALWAYS, half of the waiting batches, at least one.
 *  @return 0 .. offered */
int64_t dcli_lend_count(const dcli_lend_case *c);

/** Leave out some of the first batches to be lent, so that the first loan begins at a multiple of `each` and is not
 *  shorter than the others. At most an eighth of them, rounded up, is left out; if that is not enough, a multiple of
 *  the greatest smaller power of two is taken for which it is.
 *  @param end    number of the first batch after those to be lent.
 *  @param count  batches to be lent.
 *  @param each   batches per loan, a power of two.
 *  @return the number of batches to lend, 1 .. count */
int64_t dcli_lend_even(int64_t end, int64_t count, int64_t each);

/** Choose the number of batches per loan. It is a power of two, so that few different loans are planned. With
 *  DCL_STEAL_PAYS, a loan may take a quarter of the time that the victim still needs, but at least 500 us and at most 2
 *  ms. Each loan wakes both nodes several times, so loans should be long; but a loan that the thief has begun cannot be
 *  taken back, so the last ones are short. If c->victim_ns is not known, a loan has one batch. With DCL_STEAL_ALWAYS,
 *  it has at most two.
 *  @param c      only policy, victim_ns, queued_ns, waiting and waiting_ns are used.
 *  @param count  batches to be lent.
 *  @return 1 .. count */
int64_t dcli_lend_each(const dcli_lend_case *c, int64_t count);

#endif
