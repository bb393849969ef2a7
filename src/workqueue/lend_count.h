/* workqueue/lend_count.h - the cost rule of lending: how many batches a victim lends to a node that asks. A pure function
 * of measured times. */
#ifndef DCLI_WORKQUEUE_LEND_COUNT_H
#define DCLI_WORKQUEUE_LEND_COUNT_H

#include <dcl/array.h>
#include <stdint.h>

/** What the rule compares. Times are ns, sizes bytes; a value that is not known is 0. */
typedef struct dcli_lend_case {
    dcl_steal_policy policy;
    int64_t offered;       /* batches that can be lent: dcli_offer.end - dcli_offer.first */
    int64_t waiting;       /* batches that the victim has not started, including those: dcli_offer.waiting */
    int64_t queued_ns;     /* what the victim's device still has to do for the batches that it has started */
    double victim_ns;      /* time of one of the last batches on the victim's device */
    double waiting_ns;     /* the same of all that wait; unknown: victim_ns for each */
    double thief_ns;       /* the same on the thief's device; unknown: thief_times times that of the victim */
    double thief_times;    /* how many times as long the thief's device takes for the same work; unknown: 1 */
    int64_t input_bytes;   /* inputs that are sent, per batch */
    int64_t result_bytes;  /* results that are sent, per batch */
    double ns_per_byte;    /* of a message between the two; 0 also if sending bytes costs nothing */
    double message_ns;     /* time of a message without data between the two */
    int64_t thief_busy_ns; /* what the thief has to do before it can begin */
} dcli_lend_case;

/** Find how many of the offered batches to lend.
 *
 *  With DCL_STEAL_PAYS, the most whose results are back before the victim has run all other waiting batches: sending
 *  their inputs, computing and returning their results, one after the other, takes at most as long. In addition, the
 *  batches lent are at most half of the victim's remaining work, by time. None is lent as long as no time of the batch is
 *  known: after two batches, the victim has measured its own (worker/cost.h).
 *  With DCL_STEAL_ALWAYS, half of the waiting batches, at least one.
 *  @return 0 .. offered */
int64_t dcli_lend_count(const dcli_lend_case *c);

/** Leave out some of the first batches to be lent, at most an eighth of them or one, so that loans begin at multiples
 *  of a number as near to `each` as possible. Otherwise the loans at both ends would be short.
 *  @param end    number of the first batch after those to be lent.
 *  @param count  batches to be lent.
 *  @param each   batches per loan, a power of two.
 *  @return the number of batches to lend, 1 .. count */
int64_t dcli_lend_even(int64_t end, int64_t count, int64_t each);

/** Choose the number of batches per loan. It is a power of two, so that few different loans are planned. With
 *  DCL_STEAL_PAYS, a loan takes at most a quarter of the time that the victim still needs, but up to 500 us in any case,
 *  and never more than 2 ms: each loan wakes both nodes several times, but a loan that the thief has begun cannot be taken
 *  back, so the last ones are short. If c->victim_ns is not known, a loan has one batch. With DCL_STEAL_ALWAYS, it has at
 *  most two.
 *  @param c      only its policy, victim_ns and the times of what the victim has to do are used.
 *  @param count  batches to be lent.
 *  @return 1 .. count */
int64_t dcli_lend_each(const dcli_lend_case *c, int64_t count);

#endif
