/* test/support/simclock.c - post and take the events of a simulated cluster. */
#include "support/simclock.h"

#include <stdlib.h>

void sim_post(sim_clock *clock, sim_event event, int64_t delay)
{
    int64_t earliest = clock->now + delay;
    if (dcli_sim_clock_post(clock, &event, event.time > earliest ? event.time : earliest) != DCL_OK)
        abort();
}

bool sim_take(sim_clock *clock, sim_event *event_out) { return dcli_sim_clock_take(clock, event_out); }

void sim_clock_free(sim_clock *clock) { dcli_sim_clock_free(clock); }
