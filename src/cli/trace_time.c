/* cli/trace_time.c - where the time of a trace went, and its critical path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "cli/trace_events.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

const char *cli_time(int64_t ns, char text_out[CLI_TIME_BYTES])
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    int u = 0;
    while (u < 3 && (double)(ns < 0 ? -ns : ns) < units[u].ns)
        u++;
    snprintf(text_out, CLI_TIME_BYTES, "%.3g %s", (double)ns / units[u].ns, units[u].unit);
    if (strchr(text_out, 'e') != NULL) /* 1000 and more */
        snprintf(text_out, CLI_TIME_BYTES, "%.0f %s", (double)ns / units[u].ns, units[u].unit);
    return text_out;
}

cli_activity cli_activity_of(const cli_event *event)
{
    static const cli_activity of[CLI_TRACKS] = {
        [CLI_COMPUTE] = CLI_COMPUTES, [CLI_IN] = CLI_MOVES,      [CLI_OUT] = CLI_MOVES,
        [CLI_WIRE] = CLI_IDLES,       [CLI_WAITING] = CLI_WAITS, [CLI_PREPARING] = CLI_PREPARES};
    return of[event->track];
}

/* ---- intervals ---------------------------------------------------------------------------------------------------- */

/* Events of a process by begin, with `until`: the latest end of an event up to this one. */
struct moment {
    const cli_event *event;
    const cli_event *latest; /* the event with that end */
};

struct moments {
    int64_t count;
    struct moment *at;
};

static int compare_begin(const void *left, const void *right)
{
    const cli_event *a = ((const struct moment *)left)->event, *b = ((const struct moment *)right)->event;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1) : 0;
}

/* The events of a process whose activity is in first..last. */
static struct moments select_events(const cli_peer *peer, cli_activity first, cli_activity last)
{
    struct moments moments = {.at = cli_alloc((size_t)peer->count + 1, sizeof(struct moment))};
    for (int64_t n = 0; n < peer->count; n++) {
        cli_activity activity = cli_activity_of(&peer->event[n]);
        if (activity >= first && activity <= last)
            moments.at[moments.count++].event = &peer->event[n];
    }
    qsort(moments.at, (size_t)moments.count, sizeof *moments.at, compare_begin);
    for (int64_t n = 0; n < moments.count; n++) {
        struct moment *moment = &moments.at[n];
        moment->latest = n > 0 && moment[-1].latest->end > moment->event->end ? moment[-1].latest : moment->event;
    }
    return moments;
}

/* Number of moments that begin before a time. */
static int64_t before(const struct moments *moments, int64_t time)
{
    int64_t low = 0, high = moments->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (moments->at[middle].event->begin < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Length of [begin, end) that no moment covers. */
static int64_t uncovered(const struct moments *moments, int64_t begin, int64_t end)
{
    int64_t n = before(moments, begin), free_time = 0;
    int64_t at = n > 0 ? greatest(begin, moments->at[n - 1].latest->end) : begin;
    for (; n < moments->count && moments->at[n].event->begin < end && at < end; n++) {
        free_time += greatest(0, moments->at[n].event->begin - at);
        at = greatest(at, moments->at[n].event->end);
    }
    return free_time + greatest(0, end - at);
}

/* ---- where the time went ------------------------------------------------------------------------------------------- */

static void spend(const cli_timeline *trace, int p, cli_spent *spent)
{
    const cli_peer *peer = &trace->peer[p];
    int64_t rest = trace->end - trace->begin;
    for (cli_activity last = CLI_COMPUTES; last <= CLI_WAITS; last++) {
        struct moments moments = select_events(peer, CLI_COMPUTES, last);
        int64_t left = uncovered(&moments, trace->begin, trace->end);
        spent->ns[last] = rest - left;
        rest = left;
        free(moments.at);
    }
    spent->ns[CLI_IDLES] = rest;
    struct moments busy = select_events(peer, CLI_COMPUTES, CLI_PREPARES);
    for (int64_t n = 0; n < peer->count; n++) {
        const cli_event *event = &peer->event[n];
        if (event->track == CLI_WAITING)
            spent->waits_for[event->other >= 0 ? event->other : trace->peer_count] +=
                uncovered(&busy, event->begin, event->end);
    }
    free(busy.at);
}

cli_spent *cli_spent_make(const cli_timeline *trace)
{
    cli_spent *spent = cli_alloc((size_t)trace->peer_count, sizeof *spent);
    for (int p = 0; p < trace->peer_count; p++) {
        spent[p].waits_for = cli_alloc((size_t)trace->peer_count + 1, sizeof(int64_t));
        spend(trace, p, &spent[p]);
    }
    return spent;
}

void cli_spent_free(const cli_timeline *trace, cli_spent *spent)
{
    for (int p = 0; p < trace->peer_count; p++)
        free(spent[p].waits_for);
    free(spent);
}

/* Where one of equal columns of the trace's time begins. The time itself times the column may be more than an int64_t. */
static int64_t begin_of(const cli_timeline *trace, int column, int columns)
{
    int64_t span = trace->end - trace->begin;
    return trace->begin + span / columns * column + span % columns * column / columns;
}

void cli_trace_mostly(const cli_timeline *trace, int p, int columns, cli_activity mostly_out[])
{
    struct moments moments[CLI_WAITS + 1];
    for (cli_activity last = CLI_COMPUTES; last <= CLI_WAITS; last++)
        moments[last] = select_events(&trace->peer[p], CLI_COMPUTES, last);
    for (int c = 0; c < columns; c++) {
        int64_t begin = begin_of(trace, c, columns), end = begin_of(trace, c + 1, columns);
        int64_t rest = end - begin, most = -1;
        for (cli_activity last = CLI_COMPUTES; last <= CLI_WAITS; last++) {
            int64_t left = uncovered(&moments[last], begin, end);
            if (rest - left > most) {
                most = rest - left;
                mostly_out[c] = last;
            }
            rest = left;
        }
        if (rest > most || most == 0)
            mostly_out[c] = CLI_IDLES;
    }
    for (cli_activity last = CLI_COMPUTES; last <= CLI_WAITS; last++)
        free(moments[last].at);
}

bool cli_trace_shares(const cli_timeline *trace, int p, cli_track track, int columns, double share_out[])
{
    const cli_peer *peer = &trace->peer[p];
    double each = (double)(trace->end - trace->begin) / columns;
    int64_t covered = INT64_MIN;
    bool any = false;
    memset(share_out, 0, (size_t)columns * sizeof *share_out);
    for (int64_t n = 0; n < peer->count; n++) {
        const cli_event *event = &peer->event[n];
        if (event->track != track)
            continue;
        any = true;
        double begin = (double)(greatest(event->begin, covered) - trace->begin),
               end = (double)(event->end - trace->begin);
        for (int c = each > 0 ? (int)(begin / each) : 0; c < columns && c * each < end; c++) {
            double from = begin > c * each ? begin : c * each, to = end < (c + 1) * each ? end : (c + 1) * each;
            if (to > from)
                share_out[c] += (to - from) / each;
        }
        covered = greatest(covered, event->end);
        int column = each > 0 ? (int)((double)(event->begin - trace->begin) / each) : 0;
        if (column < columns && share_out[column] == 0)
            share_out[column] = 1e-9; /* it has no duration, and is seen nevertheless */
    }
    return any;
}

/* ---- the critical path --------------------------------------------------------------------------------------------- */

struct path {
    const cli_timeline *trace;
    struct moments *work;       /* [peer_count] computing, moving, preparing */
    struct moments *waits;      /* [peer_count] */
    const cli_event ***arrived; /* [peer_count] chunks by the time of their arrival */
    int64_t *arrivals;          /* [peer_count] */
    cli_step *step;
    int count, capacity;
};

static int compare_end(const void *left, const void *right)
{
    const cli_event *a = *(const cli_event *const *)left, *b = *(const cli_event *const *)right;
    return a->end != b->end ? (a->end < b->end ? -1 : 1) : 0;
}

static void add_step(struct path *path, int peer, const cli_event *event, int64_t begin, int64_t end)
{
    if (begin >= end)
        return;
    if (path->count == path->capacity) {
        path->capacity = path->capacity > 0 ? 2 * path->capacity : 256;
        cli_step *more = cli_alloc((size_t)path->capacity, sizeof *more);
        if (path->count > 0)
            memcpy(more, path->step, (size_t)path->count * sizeof *more);
        free(path->step);
        path->step = more;
    }
    path->step[path->count++] = (cli_step){.peer = peer, .event = event, .begin = begin, .end = end};
}

static void collect_arrivals(struct path *path, int p)
{
    const cli_peer *peer = &path->trace->peer[p];
    path->arrived[p] = cli_alloc((size_t)peer->count + 1, sizeof **path->arrived);
    for (int64_t n = 0; n < peer->count; n++)
        if (strcmp(peer->event[n].kind, "wire") == 0 && peer->event[n].sent_known && peer->event[n].other >= 0)
            path->arrived[p][path->arrivals[p]++] = &peer->event[n];
    qsort(path->arrived[p], (size_t)path->arrivals[p], sizeof **path->arrived, compare_end);
}

/* The last chunk that arrived up to a time, but after another. */
static const cli_event *last_arrival(const struct path *path, int p, int64_t after, int64_t until)
{
    int64_t low = 0, high = path->arrivals[p];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (path->arrived[p][middle]->end <= until)
            low = middle + 1;
        else
            high = middle;
    }
    const cli_event *arrival = low > 0 ? path->arrived[p][low - 1] : NULL;
    return arrival != NULL && arrival->end > after && arrival->begin < until ? arrival : NULL;
}

/* The last work that begins before a time; of several that go on then, or have ended, the one that ends last. */
static const cli_event *last_work(const struct moments *moments, int64_t time)
{
    int64_t n = before(moments, time);
    return n > 0 ? moments->at[n - 1].latest : NULL;
}

static void walk(struct path *path, int p, int64_t time)
{
    const cli_timeline *trace = path->trace;
    int program = trace->peer_count - 1;
    for (int jumps = 0; time > trace->begin;) {
        const cli_event *work = last_work(&path->work[p], time);
        int64_t end = work != NULL ? work->end : trace->begin;
        if (end >= time) {
            add_step(path, p, work, work->begin, time);
            time = work->begin;
            jumps = 0;
            continue;
        }
        const cli_event *arrival = last_arrival(path, p, end, time), *wait = last_work(&path->waits[p], time);
        bool own = wait != NULL && wait->end > end && wait->other >= 0;
        if (!own) /* perhaps the program gave it nothing to do before it had waited for another */
            wait = last_work(&path->waits[program], time);
        bool waits = wait != NULL && wait->end > end, matters = own || (waits && wait->end <= time);
        if (arrival != NULL) {
            add_step(path, p, NULL, arrival->end, time);
            add_step(path, p, arrival, arrival->begin, arrival->end);
            time = arrival->begin;
            p = arrival->other;
            jumps = 0;
        } else if (matters && wait->other >= 0 && wait->other != p && jumps < trace->peer_count) {
            add_step(path, wait->peer, NULL, least(wait->end, time), time);
            jumps = wait->end < time ? 0 : jumps + 1;
            time = least(wait->end, time);
            p = wait->other;
        } else { /* without a wait, the program was busy with code of its own */
            int64_t begin = waits ? greatest(end, wait->begin) : end;
            add_step(path, waits ? p : program, NULL, begin, time);
            time = begin;
            jumps = 0;
        }
    }
}

cli_step *cli_trace_path(const cli_timeline *trace, int *count_out)
{
    size_t peers = (size_t)trace->peer_count;
    struct path path = {.trace = trace,
                        .work = cli_alloc(peers, sizeof *path.work),
                        .waits = cli_alloc(peers, sizeof *path.waits),
                        .arrived = cli_alloc(peers, sizeof *path.arrived),
                        .arrivals = cli_alloc(peers, sizeof *path.arrivals)};
    const cli_event *last = NULL;
    for (int p = 0; p < trace->peer_count; p++) {
        path.work[p] = select_events(&trace->peer[p], CLI_COMPUTES, CLI_PREPARES);
        path.waits[p] = select_events(&trace->peer[p], CLI_WAITS, CLI_WAITS);
        collect_arrivals(&path, p);
        const cli_event *own = last_work(&path.work[p], INT64_MAX);
        if (own != NULL && (last == NULL || own->end > last->end))
            last = own;
    }
    if (last != NULL)
        walk(&path, last->peer, last->end);
    for (int p = 0; p < trace->peer_count; p++) {
        free(path.work[p].at);
        free(path.waits[p].at);
        free(path.arrived[p]);
    }
    free(path.work);
    free(path.waits);
    free(path.arrived);
    free(path.arrivals);
    *count_out = path.count;
    return path.step;
}
