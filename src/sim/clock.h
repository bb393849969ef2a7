/* sim/clock.h - the clock of a simulation: a queue of events in the order of virtual time. */
#ifndef DCLI_SIM_CLOCK_H
#define DCLI_SIM_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dcl/base.h>

/** How every event begins. */
typedef struct dcli_moment {
    int64_t time, order; /* ns of virtual time; `order` makes events of one time come in the order of posting */
} dcli_moment;

/** A binary heap of events of one size. Start with {.event_bytes = sizeof(event)}. */
typedef struct dcli_sim_clock {
    int64_t now; /* time of the last event taken */
    size_t event_bytes;
    int64_t posted;
    char *event; /* [count] events, and room for one more */
    int64_t count, capacity;
} dcli_sim_clock;

/** Add a copy of an event. Its time is set to `time`, but not before now. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_sim_clock_post(dcli_sim_clock *clock, void *event, int64_t time);
/** Take the earliest event and set the clock to its time. @return false if there is none. */
bool dcli_sim_clock_take(dcli_sim_clock *clock, void *event_out);
void dcli_sim_clock_free(dcli_sim_clock *clock);

#endif
