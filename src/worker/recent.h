/* worker/recent.h - which loop bodies a node runs again and again, by the batches that it launched alone of late.
 *
 * The bodies that recur are compiled into one program (worker/series.h). They are chosen when a number of batches in a row have run no new
 * body, and among these batches only: what was run earlier may never be run again. If new bodies keep coming, they are chosen
 * after twice as many batches. */
#ifndef DCLI_WORKER_RECENT_H
#define DCLI_WORKER_RECENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DCLI_RECENT = 256,      /* batches by which a choice is made */
    DCLI_RECENT_LARGE = 48, /* the same if the last one was large */
    DCLI_RECENT_RECUR = 16  /* a body recurs if at least every 16th of them runs it */
};

/** The bodies of the last batches that were launched alone. Start with zeros. */
typedef struct dcli_recent {
    int64_t body[DCLI_RECENT]; /* a ring */
    int64_t noted;             /* batches so far */
    int64_t chosen;            /* `noted` when dcli_recent_done() was last called */
    int64_t new_large,
        new_short; /* `noted` after the last batch whose body was not among the last DCLI_RECENT_LARGE, DCLI_RECENT */
} dcli_recent;

/** Note a batch that was launched alone. @return whether it is time to choose. */
bool dcli_recent_note(dcli_recent *recent, int64_t body, bool large);
/** Find the bodies that recur among the batches by which to choose, in ascending order, so that the same bodies make the same program.
 *  @param most  capacity of body_out. @return how many. */
int dcli_recent_recurring(const dcli_recent *recent, bool large, int most, int64_t body_out[]);
/** A choice was made: the next one is made by later batches. */
void dcli_recent_done(dcli_recent *recent);

#endif
