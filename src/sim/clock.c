/* sim/clock.c - a binary heap of events. */
#include "sim/clock.h"

#include <string.h>

#include "base/alloc.h"

static char *at(const dcli_sim_clock *clock, int64_t n) { return clock->event + (size_t)n * clock->event_bytes; }

static bool is_before(const void *left, const void *right)
{
    dcli_moment a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return a.time < b.time || (a.time == b.time && a.order < b.order);
}

dcl_status dcli_sim_clock_post(dcli_sim_clock *clock, void *event, int64_t time)
{
    dcli_moment moment = {.time = time > clock->now ? time : clock->now, .order = clock->posted++};
    memcpy(event, &moment, sizeof moment);
    if (dcli_reserve(&clock->event, clock->count, 2, &clock->capacity, clock->event_bytes) != 0)
        return DCL_ERR_NOMEM;
    int64_t n = clock->count++;
    for (; n > 0 && is_before(event, at(clock, (n - 1) / 2)); n = (n - 1) / 2)
        memcpy(at(clock, n), at(clock, (n - 1) / 2), clock->event_bytes);
    memcpy(at(clock, n), event, clock->event_bytes);
    return DCL_OK;
}

bool dcli_sim_clock_take(dcli_sim_clock *clock, void *event_out)
{
    if (clock->count == 0)
        return false;
    dcli_moment moment;
    memcpy(event_out, clock->event, clock->event_bytes);
    memcpy(&moment, event_out, sizeof moment);
    clock->now = moment.time;
    const char *last = at(clock, --clock->count); /* moves to the place that becomes free */
    int64_t n = 0;
    for (int64_t child; (child = 2 * n + 1) < clock->count; n = child) {
        if (child + 1 < clock->count && is_before(at(clock, child + 1), at(clock, child)))
            child++;
        if (!is_before(at(clock, child), last))
            break;
        memcpy(at(clock, n), at(clock, child), clock->event_bytes);
    }
    if (n != clock->count)
        memcpy(at(clock, n), last, clock->event_bytes);
    return true;
}

void dcli_sim_clock_free(dcli_sim_clock *clock)
{
    dcli_free(clock->event);
    clock->event = NULL;
    clock->count = clock->capacity = 0;
}
