/* cli/trace_time.c - where the time of a trace went, and its critical path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "cli/trace_events.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

static bool is_kind(const cli_event *event, const char *kind) { return strcmp(event->kind, kind) == 0; }

cli_activity cli_activity_of(const cli_event *event)
{
    static const cli_activity of[CLI_TRACKS] = {
        [CLI_COMPUTE] = CLI_COMPUTES, [CLI_IN] = CLI_MOVES,      [CLI_OUT] = CLI_MOVES,
        [CLI_WIRE] = CLI_IDLES,       [CLI_WAITING] = CLI_WAITS, [CLI_PREPARING] = CLI_PREPARES};
    return is_kind(event, "stolen") ? CLI_STEALS : of[event->track];
}

/* ---- intervals ---------------------------------------------------------------------------------------------------- */

/* An event of a process, in a list by begin. */
struct moment {
    const cli_event *event;
    const cli_event *latest; /* the event that ends last, of this one and those before it */
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
    int64_t begin = trace->peer[p].recorded_from, rest = trace->end - begin;
    for (cli_activity last = CLI_COMPUTES; last <= CLI_WAITS; last++) {
        struct moments moments = select_events(peer, CLI_COMPUTES, last);
        int64_t left = uncovered(&moments, begin, trace->end);
        spent->ns[last] = rest - left;
        rest = left;
        free(moments.at);
    }
    spent->ns[CLI_IDLES] = rest;
}

/* Keep the longest waits. */
static void add_awaited(cli_spent *spent, cli_awaited awaited)
{
    for (int n = 0; n < CLI_MOST_AWAITED; n++)
        if (awaited.ns > spent->awaited[n].ns) {
            cli_awaited shorter = spent->awaited[n];
            spent->awaited[n] = awaited;
            awaited = shorter;
        }
}

/* Find for whom a process waited. @param sum  [peer_count + 1] zeros before and after. A list for each process would
 * need the square of their number. */
static void spend_waiting(const cli_timeline *trace, int p, double sum[], cli_spent *spent)
{
    const cli_peer *peer = &trace->peer[p];
    struct moments busy = select_events(peer, CLI_COMPUTES, CLI_PREPARES);
    for (int64_t n = 0; n < peer->count; n++) {
        const cli_event *event = &peer->event[n];
        if (event->track == CLI_WAITING)
            sum[event->other >= 0 ? event->other : trace->peer_count] +=
                (double)uncovered(&busy, event->begin, event->end);
    }
    for (int64_t n = 0; n < peer->count; n++) {
        int other = peer->event[n].other >= 0 ? peer->event[n].other : trace->peer_count;
        if (peer->event[n].track == CLI_WAITING) {
            add_awaited(spent, (cli_awaited){other, sum[other]});
            sum[other] = 0;
        }
    }
    free(busy.at);
}

cli_spent *cli_spent_make(const cli_timeline *trace)
{
    cli_spent *spent = cli_alloc((size_t)trace->peer_count, sizeof *spent);
    double *sum = cli_alloc((size_t)trace->peer_count + 1, sizeof *sum);
    for (int p = 0; p < trace->peer_count; p++) {
        spend(trace, p, &spent[p]);
        spend_waiting(trace, p, sum, &spent[p]);
    }
    free(sum);
    return spent;
}

/* The begin of a column, if the trace's time is divided into equal columns. Time times columns may exceed int64_t. */
static int64_t begin_of(const cli_timeline *trace, int column, int columns)
{
    int64_t span = trace->end - trace->begin;
    return trace->begin + span / columns * column + span % columns * column / columns;
}

void cli_trace_mostly(const cli_timeline *trace, int p, int columns, cli_activity mostly_out[])
{
    struct moments moments[CLI_WAITS + 1];
    int64_t from = trace->peer[p].recorded_from;
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
            mostly_out[c] = (begin + end) / 2 < from ? CLI_DROPPED : CLI_IDLES;
    }
    for (cli_activity last = CLI_COMPUTES; last <= CLI_WAITS; last++)
        free(moments[last].at);
}

bool cli_trace_shares(const cli_timeline *trace, int p, cli_track track, const char *kind, int columns,
                      double share_out[])
{
    const cli_peer *peer = &trace->peer[p];
    double each = (double)(trace->end - trace->begin) / columns;
    int64_t covered = INT64_MIN;
    bool any = false;
    memset(share_out, 0, (size_t)columns * sizeof *share_out);
    for (int64_t n = 0; n < peer->count; n++) {
        const cli_event *event = &peer->event[n];
        if (event->track != track || (kind != NULL && !is_kind(event, kind)))
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
            share_out[column] = 1e-9; /* an event without a duration, which is to be visible */
    }
    return any;
}

/* ---- the critical path --------------------------------------------------------------------------------------------- */

struct list {
    int64_t count;
    const cli_event **at;
};

/* What is known of a process. */
struct known {
    struct moments work;  /* computing, moving, preparing */
    struct moments waits; /* by begin, as `work` */
    struct list ended;    /* the work that took time, by its end */
    struct list arrived;  /* chunks, by their arrival */
    struct list causes; /* packs and launches of numbered operations, sorted by compare_causes() for a binary search */
};

struct path {
    const cli_timeline *trace;
    struct known *known; /* [peer_count] */
    cli_step *step;
    int count, capacity;
};

/* Where the search is: the path from `time` to the end is known. */
struct place {
    int peer;
    int jumps; /* number of changes of process by waits since the search last went back in time */
    int64_t time;
    int64_t slack;          /* by how much the clocks of this process and of the one before may differ, ns */
    const cli_event *cause; /* work on which the last step depended; NULL: not known */
    int victim;             /* process whose batch the last step ran or prepared; -1: none */
};

static int compare_ends(const void *left, const void *right)
{
    const cli_event *a = *(const cli_event *const *)left, *b = *(const cli_event *const *)right;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->begin != b->begin ? (a->begin > b->begin ? -1 : 1) : 0;
}

static int compare_causes(const void *left, const void *right)
{
    const cli_event *a = *(const cli_event *const *)left, *b = *(const cli_event *const *)right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->loan != b->loan)
        return a->loan < b->loan ? -1 : 1;
    if (a->loan > 0 && a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    return a->other != b->other ? (a->other < b->other ? -1 : 1) : (int)a->written - (int)b->written;
}

static bool is_ended(const cli_event *event)
{
    return cli_activity_of(event) <= CLI_PREPARES && event->end > event->begin;
}

static bool is_arrival(const cli_event *event)
{
    return is_kind(event, "wire") && event->sent_known && event->other >= 0;
}

static bool is_cause(const cli_event *event)
{
    return event->operation > 0 && (is_kind(event, "pack") || is_kind(event, "launch"));
}

static struct list collect(const cli_peer *peer, bool (*is_wanted)(const cli_event *),
                           int (*compare)(const void *, const void *))
{
    struct list list = {.at = cli_alloc((size_t)peer->count + 1, sizeof *list.at)};
    for (int64_t n = 0; n < peer->count; n++)
        if (is_wanted(&peer->event[n]))
            list.at[list.count++] = &peer->event[n];
    qsort(list.at, (size_t)list.count, sizeof *list.at, compare);
    return list;
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

/* Number of events that have ended at a time, of a list by end. */
static int64_t ended_until(const struct list *list, int64_t time)
{
    int64_t low = 0, high = list->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (list->at[middle]->end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const cli_event *last_ended(const struct list *list, int64_t time)
{
    int64_t n = ended_until(list, time);
    return n > 0 ? list->at[n - 1] : NULL;
}

/* The last chunk that arrived up to `until`; NULL if it arrived not later than `after`. */
static const cli_event *last_arrival(const struct path *path, int p, int64_t after, int64_t until)
{
    const cli_event *arrival = last_ended(&path->known[p].arrived, until);
    return arrival != NULL && arrival->end > after && arrival->begin < until ? arrival : NULL;
}

/* Find a chunk from the awaited process that was on its way when the wait ended. It is taken from the transport soon
 * after, so only the next few arrivals are looked at. */
static const cli_event *awaited_chunk(const struct path *path, const cli_event *wait, int64_t time)
{
    enum { MOST = 16 };
    const struct list *arrived = &path->known[wait->peer].arrived;
    int64_t first = ended_until(arrived, time);
    for (int64_t n = first; n < arrived->count && n < first + MOST; n++) {
        const cli_event *chunk = arrived->at[n];
        bool is_other = wait->operation > 0 && chunk->operation > 0 && wait->operation != chunk->operation;
        if (chunk->begin < time && chunk->other == wait->other && !is_other)
            return chunk;
    }
    return NULL;
}

/* Of the work or waits that begin before a time, the one that ends last. */
static const cli_event *last_begun(const struct moments *moments, int64_t time)
{
    int64_t n = before(moments, time);
    return n > 0 ? moments->at[n - 1].latest : NULL;
}

/* What packed the elements of a chunk, or launched kernels. NULL: not recorded. */
static const cli_event *cause_of(const struct path *path, const cli_event *event)
{
    cli_event key = {.operation = event->operation, .part = event->part, .other = -1, .track = CLI_PREPARING};
    const cli_event *wanted = &key;
    int p = event->peer;
    if (is_kind(event, "wire")) {
        key.track = CLI_OUT;
        key.other = event->peer;
        key.written = event->written;
        key.loan = event->loan;
        key.batch = event->batch;
        p = event->other;
    } else if (!is_kind(event, "kernels") && !is_kind(event, "stolen"))
        return NULL;
    const struct list *causes = &path->known[p].causes;
    const cli_event **found = bsearch(&wanted, causes->at, (size_t)causes->count, sizeof *causes->at, compare_causes);
    return found != NULL ? *found : NULL;
}

static void go_back(struct place *place, int64_t time, const cli_event *cause)
{
    *place = (struct place){.peer = place->peer, .time = time, .cause = cause, .victim = -1};
}

/* Continue with another process, at the same time or an earlier one. */
static void go_to(const struct path *path, struct place *place, int p, int64_t time, const cli_event *cause)
{
    double error_us = path->trace->peer[place->peer].clock_error_us + path->trace->peer[p].clock_error_us;
    *place = (struct place){.peer = p,
                            .jumps = time < place->time ? 0 : place->jumps + 1,
                            .time = time,
                            .slack = (int64_t)(1000 * error_us),
                            .cause = cause,
                            .victim = -1};
}

/* Whether a node had nothing to do before it ran a batch of another one: its work had ended before the batch was
 * launched, or longer before the batch began than asking for it takes. */
static bool waited_for_loan(const struct place *place, const cli_event *work)
{
    const int64_t asking = 100000; /* ns; a question and its answer between processes take 20 to 60 us */
    bool queued = work != NULL && place->cause != NULL && place->cause->begin < work->end;
    return place->victim >= 0 && !queued && (work == NULL || place->time - work->end > asking);
}

/* Continue with the node whose batch was taken. What it was doing at that time is a step of the path; if it did nothing,
 * the path goes on with its last work before. */
static void go_to_victim(struct path *path, struct place *place)
{
    int victim = place->victim;
    const cli_event *running = last_begun(&path->known[victim].work, place->time);
    int64_t time = place->time;
    if (running != NULL && running->end > time) {
        add_step(path, victim, running, running->begin, time);
        time = running->begin;
    }
    go_to(path, place, victim, time, NULL);
}

/* The work that ended last before a place. Work that still runs there is not the cause, because nothing depends on it
 * yet, with two exceptions: a launch whose first kernels already run; and work that seems to end later because clocks
 * differ. */
static const cli_event *previous_work(const struct path *path, const struct place *place)
{
    const struct list *ended = &path->known[place->peer].ended;
    const cli_event *cause = place->cause, *work = last_ended(ended, place->time + place->slack);
    if (work == NULL || work->begin >= place->time)
        work = last_ended(ended, place->time);
    if (cause == NULL || cause->begin >= place->time)
        return work;
    bool launches = cause->end > place->time && (work == NULL || work->end < place->time);
    return launches || is_kind(cause, "pack") ? cause : work;
}

/* Explain the time before a place in which nothing ran on which it depended, back to the end of `work` or the trace's
 * begin. */
static void explain_gap(struct path *path, struct place *place, const cli_event *work)
{
    enum { MOST_JUMPS = 1000 };
    int program = path->trace->peer_count - 1, p = place->peer;
    int64_t time = place->time, end = work != NULL ? work->end : path->trace->begin;
    const cli_event *arrival = last_arrival(path, p, end, time), *wait = last_begun(&path->known[p].waits, time);
    bool own = wait != NULL && wait->end > end && wait->other >= 0;
    if (!own) /* perhaps the program had to wait for another process before it gave this one something to do */
        wait = last_begun(&path->known[program].waits, time);
    bool waits = wait != NULL && wait->end > end, matters = own || (waits && wait->end <= time);
    const cli_event *running = work == NULL ? last_begun(&path->known[p].work, time) : NULL;
    if (arrival != NULL) {
        add_step(path, p, NULL, arrival->end, time);
        add_step(path, p, arrival, arrival->begin, arrival->end);
        go_to(path, place, arrival->other, arrival->begin, cause_of(path, arrival));
    } else if (waited_for_loan(place, work) && place->jumps < path->trace->peer_count && place->jumps < MOST_JUMPS) {
        go_to_victim(path, place);
    } else if (matters && wait->other >= 0 && wait->other != p && place->jumps < path->trace->peer_count &&
               place->jumps < MOST_JUMPS) {
        int64_t until = least(wait->end, time);
        const cli_event *chunk = awaited_chunk(path, wait, until);
        int64_t begin = chunk != NULL ? chunk->begin : until;
        add_step(path, wait->peer, NULL, until, time);
        add_step(path, wait->peer, chunk, begin, until);
        go_to(path, place, wait->other, begin, chunk != NULL ? cause_of(path, chunk) : NULL);
    } else if (running != NULL) { /* no work has ended before: take what runs */
        add_step(path, p, running, running->begin, time);
        go_back(place, running->begin, NULL);
    } else { /* without a wait, the program was busy with code of its own */
        int64_t begin = waits ? greatest(end, wait->begin) : end;
        int victim = place->victim;
        add_step(path, waits ? p : program, NULL, begin, time);
        go_back(place, begin, NULL);
        place->victim = victim;
    }
}

static void walk(struct path *path, const cli_event *last)
{
    struct place place = {.peer = last->peer, .time = last->end, .victim = -1};
    while (place.time > path->trace->begin) {
        const cli_event *work = previous_work(path, &place);
        if (work == NULL || (work->end < place.time && (work != place.cause || !is_kind(work, "pack")))) {
            explain_gap(path, &place, work);
            continue;
        }
        int64_t end = least(work->end, place.time);
        /* The time between the packing of elements and their sending. */
        add_step(path, place.peer, NULL, end, place.time);
        add_step(path, place.peer, work, work->begin, end);
        bool prepares = cli_activity_of(work) == CLI_PREPARES || is_kind(work, "stage");
        int victim = is_kind(work, "stolen") ? work->other : prepares ? place.victim : -1;
        go_back(&place, work->begin, cause_of(path, work));
        place.victim = victim;
    }
}

cli_step *cli_trace_path(const cli_timeline *trace, int *count_out)
{
    struct path path = {.trace = trace, .known = cli_alloc((size_t)trace->peer_count, sizeof *path.known)};
    const cli_event *last = NULL;
    for (int p = 0; p < trace->peer_count; p++) {
        const cli_peer *peer = &trace->peer[p];
        path.known[p] = (struct known){.work = select_events(peer, CLI_COMPUTES, CLI_PREPARES),
                                       .waits = select_events(peer, CLI_WAITS, CLI_WAITS),
                                       .ended = collect(peer, is_ended, compare_ends),
                                       .arrived = collect(peer, is_arrival, compare_ends),
                                       .causes = collect(peer, is_cause, compare_causes)};
        const cli_event *own = last_ended(&path.known[p].ended, INT64_MAX);
        if (own != NULL && (last == NULL || own->end > last->end))
            last = own;
    }
    if (last != NULL)
        walk(&path, last);
    for (int p = 0; p < trace->peer_count; p++) {
        free(path.known[p].work.at);
        free(path.known[p].waits.at);
        free(path.known[p].ended.at);
        free(path.known[p].arrived.at);
        free(path.known[p].causes.at);
    }
    free(path.known);
    *count_out = path.count;
    return path.step;
}
