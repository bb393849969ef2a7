/* test/support/simclock.c - a binary heap of events. */
#include "support/simclock.h"

#include <stdlib.h>

#include "base/alloc.h"

static bool is_before(const sim_event *a, const sim_event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void sim_post(sim_clock *clock, sim_event event, int64_t delay)
{
    if (event.time < clock->now + delay)
        event.time = clock->now + delay;
    event.order = clock->posted++;
    if (dcli_grow(&clock->event, clock->count, &clock->capacity, sizeof event) != 0)
        abort();
    int64_t at = clock->count++;
    for (; at > 0 && is_before(&event, &clock->event[(at - 1) / 2]); at = (at - 1) / 2)
        clock->event[at] = clock->event[(at - 1) / 2];
    clock->event[at] = event;
}

bool sim_take(sim_clock *clock, sim_event *event_out)
{
    if (clock->count == 0)
        return false;
    *event_out = clock->event[0];
    clock->now = event_out->time;
    sim_event last = clock->event[--clock->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < clock->count; at = child) {
        if (child + 1 < clock->count && is_before(&clock->event[child + 1], &clock->event[child]))
            child++;
        if (!is_before(&clock->event[child], &last))
            break;
        clock->event[at] = clock->event[child];
    }
    if (clock->count > 0)
        clock->event[at] = last;
    return true;
}

void sim_clock_free(sim_clock *clock)
{
    dcli_free(clock->event);
    *clock = (sim_clock){0};
}
