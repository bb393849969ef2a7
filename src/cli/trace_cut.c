/* cli/trace_cut.c - reduce a trace to a range of time. */
#include "cli/trace_events.h"

#include "cli/amount.h"
#include "cli/report.h"

/* Shorten an event to the time of the trace. @return false: it lies outside. */
static bool cut(const cli_timeline *trace, cli_event *event)
{
    bool moment = event->begin == event->end;
    if (event->begin < trace->begin)
        event->begin = trace->begin;
    if (event->end > trace->end)
        event->end = trace->end;
    return event->begin < event->end || (moment && event->begin == event->end);
}

int cli_trace_cut(cli_timeline *trace, int64_t from, int64_t to)
{
    char begin[CLI_TIME_BYTES], end[CLI_TIME_BYTES], first[CLI_TIME_BYTES], last[CLI_TIME_BYTES];
    cli_time(trace->begin, first);
    cli_time(trace->end, last);
    if (from >= trace->end || to <= trace->begin)
        return cli_fail("%s: nothing lies between %s and %s; expected a part of its time, %s to %s", trace->path,
                        cli_time(from, begin), to < trace->end ? cli_time(to, end) : "its end", first, last);
    trace->begin = from > trace->begin ? from : trace->begin;
    trace->end = to < trace->end ? to : trace->end;
    trace->count = 0;
    for (int p = 0; p < trace->peer_count; p++) {
        cli_peer *peer = &trace->peer[p];
        int64_t kept = 0;
        if (peer->recorded_from < trace->begin)
            peer->recorded_from = trace->begin;
        if (peer->recorded_from > trace->end)
            peer->recorded_from = trace->end;
        for (int64_t e = 0; e < peer->count; e++) {
            peer->event[kept] = peer->event[e];
            kept += cut(trace, &peer->event[kept]);
        }
        peer->count = kept;
        trace->count += kept;
    }
    return CLI_OK;
}
