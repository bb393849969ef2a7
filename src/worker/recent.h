/* worker/recent.h - finds the loop bodies that a node runs again and again, among the batches that it has recently
 * launched alone.
 *
 * The bodies that recur are compiled into one program (worker/series.h). They are chosen after a number of consecutive
 * batches without a new body, and among these batches only: bodies that were run earlier may never be run again. If new
 * bodies keep coming, they are chosen after twice as many batches. */
#ifndef DCLI_WORKER_RECENT_H
#define DCLI_WORKER_RECENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DCLI_RECENT = 256,      /* batches by which a choice is made */
    DCLI_RECENT_LARGE = 48, /* the same, if the last batch was large */
    DCLI_RECENT_RECUR = 16  /* a body recurs if at least every 16th of them runs it */
};

/** The bodies of the last batches that were launched alone. Start with zeros. */
typedef struct dcli_recent {
    int64_t body[DCLI_RECENT]; /* a ring buffer: batch number n is at n mod DCLI_RECENT */
    int64_t noted;             /* number of batches noted */
    int64_t chosen;            /* `noted` when dcli_recent_done() was last called */
    int64_t new_large,
        new_short; /* `noted` after the last batch whose body was new, that is, not among the last DCLI_RECENT_LARGE,
                      or DCLI_RECENT, batches */
} dcli_recent;

/** Record a batch that was launched alone. @return whether it is time to choose. */
bool dcli_recent_note(dcli_recent *recent, int64_t body, bool large);
/** Find the bodies that recur among the batches by which a choice is made. They are in ascending order, so that equal
 *  sets make equal programs.
 *  @param most  capacity of body_out.
 *  @return number of bodies. */
int dcli_recent_recurring(const dcli_recent *recent, bool large, int most, int64_t body_out[]);
/** Record that a choice was made. The next one is made by later batches. */
void dcli_recent_done(dcli_recent *recent);

#endif
