/* processes/shadow.c - what arrays must hold, and which of them may have failed. */
#include "shadow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("WRONG ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
    fflush(stdout);
    _Exit(EXIT_FAILURE); /* not dcl_close(): the state is unknown */
}

bool has_part(const dcl_array *array, int node)
{
    dcl_grid grid = dcl_grid_of(array);
    int64_t elements = 0;
    const dcl_map *map = dcl_map_of(array);
    for (int place = 0; place < dcl_map_node_count(map); place++)
        if (dcl_map_node(map, place) == node)
            return dcl_map_storage(map, &grid, node, &elements) == DCL_OK && elements > 0;
    return false;
}

bool has_lost_part(const dcl_cluster *cluster, const dcl_array *array)
{
    for (int node = 0; node < dcl_node_count(cluster); node++)
        if (!dcl_node_is_alive(cluster, node) && has_part(array, node))
            return true;
    return false;
}

event *note_event(history *history, int out, int other_out)
{
    if (history->event_count == MOST_EVENTS)
        wrong("more than %d calls without a wait", MOST_EVENTS);
    event *event = &history->event[history->event_count++];
    *event = (struct event){.out = {out, other_out}, .in = {-1, -1, -1}};
    return event;
}

void forget_events(history *history) { history->event_count = 0; }

static bool may_fail(const history *history, int number) { return number >= 0 && history->shadow[number].may_fail; }

static void follow_event(history *history, const event *event)
{
    shadow *shadow = history->shadow;
    if (event->swaps && !event->refused) {
        bool first = shadow[event->out[0]].may_fail;
        shadow[event->out[0]].may_fail = shadow[event->out[1]].may_fail;
        shadow[event->out[1]].may_fail = first;
        return;
    }
    bool failed = event->refused || may_fail(history, event->out[0]) || may_fail(history, event->out[1]);
    if (event->overwrites && event->out[1] < 0)
        failed = event->refused; /* one that is overwritten as a whole is healed */
    for (int n = 0; n < 3; n++)
        failed |= may_fail(history, event->in[n]);
    for (int n = 0; n < 2; n++)
        if (event->out[n] >= 0)
            shadow[event->out[n]].may_fail = failed;
}

void follow_loss(history *history, const dcl_cluster *cluster)
{
    bool lost[MOST_ARRAYS];
    for (int n = 0; n < history->shadow_count; n++) {
        lost[n] = has_lost_part(cluster, history->shadow[n].array);
        history->shadow[n].may_fail |= lost[n];
    }
    for (int e = 0; e < history->event_count; e++) {
        follow_event(history, &history->event[e]);
        for (int n = 0; n < history->shadow_count; n++)
            history->shadow[n].may_fail |= lost[n];
    }
    history->event_count = 0;
}

void compare(const shadow *shadow, const int32_t found[], const char *when)
{
    for (int64_t e = 0; e < shadow->extent * shadow->extent; e++)
        if (found[e] != shadow->value[e])
            wrong("%s: %s(%" PRId64 ", %" PRId64 ") is %" PRId32 "; expected %" PRId32, when, shadow->name,
                  e / shadow->extent, e % shadow->extent, found[e], shadow->value[e]);
}
