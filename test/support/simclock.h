/* test/support/simclock.h - the events of a simulated cluster, on the clock of the sim room. */
#ifndef TEST_SUPPORT_SIMCLOCK_H
#define TEST_SUPPORT_SIMCLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/clock.h"

typedef enum sim_event_kind {
    SIM_ISSUE,      /* the program makes its next call */
    SIM_DESCRIPTOR, /* an operation arrives at `to` */
    SIM_STEP,       /* node `to` looks for something to do */
    SIM_EFFECT,     /* the batch that runs on `to` changes memory */
    SIM_DONE,       /* batch `number` has ended on `to` */
    SIM_MOVED,      /* a chunk was packed (for) or committed (of `chunk`, a peer) on `to` */
    SIM_RESUME,     /* node `to` is no longer held */
    SIM_DIE,        /* node `to` is no more */
    SIM_LOST,       /* `to` learns that `from` is lost */
    SIM_JOIN,       /* `to` learns that node `chunk` takes part from operation `number` on */
    /* messages that arrive at node `to`: */
    SIM_CHUNK,
    SIM_GRANT,
    SIM_CREDIT,
    SIM_FAILED,
    SIM_MARKS,
    /* of lending; `question` names the attempt, with batch `number`: */
    SIM_HUNGRY, /* operations `operation` .. `number`, `count` bytes */
    SIM_NOTHING,
    SIM_LENT, /* `count` batches from `number` on */
    SIM_LOAN, /* chunk `chunk`, of the result if `written` */
    SIM_RECALL,
    SIM_RESULT,   /* status: DCL_OK, or it was not run */
    SIM_LOAN_DONE /* no message: the batch that `to` borrowed from `from` has ended */
} sim_event_kind;

typedef struct sim_event {
    int64_t time, order; /* a dcli_moment */
    sim_event_kind kind;
    int from, to;
    int64_t operation, number, chunk;
    int64_t done, ready;
    int64_t question, count, each;
    bool written;
    dcl_status status;
} sim_event;

/** Start with {.event_bytes = sizeof(sim_event)}. */
typedef dcli_sim_clock sim_clock;

/** Add an event, `delay` from now or at event->time, whichever is later. */
void sim_post(sim_clock *clock, sim_event event, int64_t delay);
/** Take the next event and set the clock. @return false if there is none. */
bool sim_take(sim_clock *clock, sim_event *event_out);
void sim_clock_free(sim_clock *clock);

#endif
