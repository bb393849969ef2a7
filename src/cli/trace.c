/* cli/trace.c - `dcl trace`: where the time of a traced program went. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/amount.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_events.h"
#include "cli/utf8.h"

struct request {
    const char *path, *svg;
    int64_t from, to; /* ns */
};

/* Parse a time such as 1.5s, 250ms or 80us. */
static int take_time(const char *option, const char *text, int64_t *ns_out)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    char *end;
    double value = strtod(text, &end);
    double ns = NAN;
    for (int u = 0; u < 4; u++)
        if (strcmp(end, units[u].name) == 0)
            ns = value * units[u].ns;
    if (end == text || !(ns >= 0 && ns < 1e18))
        return cli_usage("trace", "--%s is '%s'; expected a time with its unit, s, ms, us or ns, such as 12.5ms",
                         option, text);
    *ns_out = llround(ns);
    return CLI_OK;
}

static int take_from(void *request, char *text) { return take_time("from", text, &((struct request *)request)->from); }

static int take_to(void *request, char *text) { return take_time("to", text, &((struct request *)request)->to); }

static int take_plain(void *request, char *text)
{
    struct request *asked = request;
    if (asked->path != NULL)
        return cli_usage("trace", "two files were given, %s and %s; expected one", asked->path, text);
    asked->path = text;
    return CLI_OK;
}

#define FIELD(name) .field = offsetof(struct request, name)
static const cli_option options[] = {
    {"svg", "FILE", CLI_TEXT, FIELD(svg)},
    {"from", "TIME", .take = take_from},
    {"to", "TIME", .take = take_to},
    {NULL},
};

/* ---- where the time went -------------------------------------------------------------------------------------------- */

static double percent(const cli_timeline *trace, double ns)
{
    return trace->end > trace->begin ? 100.0 * ns / (double)(trace->end - trace->begin) : 0;
}

/* @return whether there is any. */
static bool print_waits(const cli_timeline *trace, const cli_spent *spent)
{
    for (int n = 0; n < CLI_MOST_AWAITED; n++) {
        const cli_awaited *awaited = &spent->awaited[n];
        if (percent(trace, awaited->ns) < 0.05)
            break;
        printf("%s%s %.1f %%", n > 0 ? ", " : "",
               awaited->peer < trace->peer_count ? trace->peer[awaited->peer].name : "elements",
               percent(trace, awaited->ns));
    }
    return percent(trace, spent->awaited[0].ns) >= 0.05;
}

static int name_width(const cli_timeline *trace)
{
    int width = 0;
    for (int p = 0; p < trace->peer_count; p++)
        width = (int)strlen(trace->peer[p].name) > width ? (int)strlen(trace->peer[p].name) : width;
    return width;
}

static void print_spent(const cli_timeline *trace)
{
    cli_spent *spent = cli_spent_make(trace);
    int width = name_width(trace);
    printf("\n%-*s  computing   stealing     moving  preparing    waiting       idle  waits for\n", width, "");
    for (int p = 0; p < trace->peer_count; p++) {
        printf("%-*s", width, trace->peer[p].name);
        for (int a = 0; a < CLI_ACTIVITIES; a++)
            printf("  %7.1f %%", percent(trace, (double)spent[p].ns[a]));
        printf("  ");
        bool waits = print_waits(trace, &spent[p]);
        double lost = percent(trace, (double)(trace->peer[p].recorded_from - trace->begin));
        if (lost >= 0.05)
            printf("%s%.1f %% dropped", waits ? "; " : "", lost);
        printf("\n");
    }
    free(spent);
}

/* ---- stealing ------------------------------------------------------------------------------------------------------- */

/* The loans that a process computed for another one; each has one or more batches. */
static void print_stolen_of(const cli_timeline *trace, const cli_peer *thief, int victim)
{
    char text[CLI_TIME_BYTES];
    int64_t count = 0, ns = 0;
    for (int64_t n = 0; n < thief->count; n++)
        if (thief->event[n].other == victim && strcmp(thief->event[n].kind, "stolen") == 0) {
            count++;
            ns += thief->event[n].end - thief->event[n].begin;
        }
    if (count > 0)
        printf("%s ran %" PRId64 " loan%s of %s, %s\n", thief->name, count, count == 1 ? "" : "s",
               trace->peer[victim].name, cli_time(ns, text));
}

static void print_stolen(const cli_timeline *trace)
{
    bool any = false;
    for (int p = 0; p < trace->peer_count; p++) {
        const cli_peer *thief = &trace->peer[p];
        bool steals = false;
        for (int64_t n = 0; n < thief->count && !steals; n++)
            steals = strcmp(thief->event[n].kind, "stolen") == 0;
        if (steals && !any)
            printf("\nStealing\n");
        any |= steals;
        for (int victim = 0; steals && victim < trace->peer_count; victim++)
            print_stolen_of(trace, thief, victim);
    }
}

/* ---- the critical path --------------------------------------------------------------------------------------------- */

/* All steps of one process, kind and sender, added. */
struct sum {
    const char *kind, *name; /* of the longest step; kind NULL: nothing is recorded of the time */
    int peer, other;
    int64_t ns, longest;
    int count;
};

static int compare_sums(const void *left, const void *right)
{
    const struct sum *a = left, *b = right;
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : 0;
}

static const char *kind_of(const cli_step *step) { return step->event != NULL ? step->event->kind : NULL; }

/* The sender of a chunk; of other steps -1. */
static int other_of(const cli_step *step)
{
    return step->event != NULL && strcmp(step->event->kind, "wire") == 0 ? step->event->other : -1;
}

/* Order steps by process, kind and sender, so that those of one sum are neighbours, the longest of them first. */
static int compare_steps(const void *left, const void *right)
{
    const cli_step *a = left, *b = right;
    const char *kind_a = a->event != NULL ? a->event->kind : "", *kind_b = b->event != NULL ? b->event->kind : "";
    int64_t length_a = a->end - a->begin, length_b = b->end - b->begin;
    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    if (strcmp(kind_a, kind_b) != 0)
        return strcmp(kind_a, kind_b);
    if (other_of(a) != other_of(b))
        return other_of(a) < other_of(b) ? -1 : 1;
    return length_a != length_b ? (length_a > length_b ? -1 : 1) : 0;
}

/* Add a step to the sum of its process, kind and sender. @param step  in the order of compare_steps(): only the last
 * sum is compared. */
static void add_to_sum(struct sum *sums, int *count, const cli_step *step)
{
    const char *kind = kind_of(step);
    struct sum *last = *count > 0 ? &sums[*count - 1] : NULL;
    if (last == NULL || last->peer != step->peer || last->kind != kind || last->other != other_of(step)) {
        last = &sums[(*count)++];
        *last = (struct sum){.kind = kind,
                             .name = step->event != NULL ? step->event->name : "",
                             .peer = step->peer,
                             .other = other_of(step),
                             .longest = step->end - step->begin};
    }
    last->ns += step->end - step->begin;
    last->count++;
}

static void print_sum(const cli_timeline *trace, const struct sum *sum)
{
    char all[CLI_TIME_BYTES], longest[CLI_TIME_BYTES];
    printf("  %5.1f %%  %9s  %s, ", percent(trace, (double)sum->ns), cli_time(sum->ns, all),
           trace->peer[sum->peer].name);
    if (sum->kind == NULL)
        printf("nothing recorded");
    else if (sum->other >= 0)
        printf("wire from %s", trace->peer[sum->other].name);
    else
        printf("%s", sum->kind);
    if (sum->count > 1)
        printf(", %d times, at most %s", sum->count, cli_time(sum->longest, longest));
    if (sum->kind != NULL && (strcmp(sum->kind, "kernels") == 0 || strcmp(sum->kind, "stolen") == 0))
        printf(": %.*s", cli_utf8_fit(sum->name, 60), sum->name);
    printf("\n");
}

static void print_path(const cli_timeline *trace)
{
    enum { MOST_LINES = 12 };
    char text[CLI_TIME_BYTES];
    int steps, count = 0;
    cli_step *step = cli_trace_path(trace, &steps);
    struct sum *sums = cli_alloc((size_t)steps + 1, sizeof *sums);
    int64_t all = 0;
    if (steps > 0)
        qsort(step, (size_t)steps, sizeof *step, compare_steps);
    for (int n = 0; n < steps; n++) {
        add_to_sum(sums, &count, &step[n]);
        all += step[n].end - step[n].begin;
    }
    qsort(sums, (size_t)count, sizeof *sums, compare_sums);
    printf("\nCritical path, %s: what it consists of, the longest first\n", cli_time(all, text));
    for (int n = 0; n < count && n < MOST_LINES; n++)
        print_sum(trace, &sums[n]);
    if (count > MOST_LINES)
        printf("  and %d more\n", count - MOST_LINES);
    free(sums);
    free(step);
}

/* ---- the timeline -------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 64, MOST_ROWS = 24 };

static void print_timeline(const cli_timeline *trace)
{
    static const char letters[CLI_DROPPED + 1] = {'#', 's', '=', 'p', '.', ' ', '?'};
    cli_activity mostly[COLUMNS];
    char begin[CLI_TIME_BYTES], end[CLI_TIME_BYTES], each[CLI_TIME_BYTES], row[COLUMNS + 1] = "";
    int width = name_width(trace);
    printf("\nTimeline, a column is %s: # computing, s stealing, = moving, p preparing, . waiting, ? dropped\n",
           cli_time((trace->end - trace->begin) / COLUMNS, each));
    cli_time(trace->begin, begin);
    cli_time(trace->end, end);
    printf("%-*s  %-*s%s\n", width, "", COLUMNS + 2 - (int)strlen(end), begin, end);
    for (int p = 0; p < trace->peer_count; p++) {
        bool is_shown = trace->peer_count <= MOST_ROWS || p < MOST_ROWS - 1 || p == trace->peer_count - 1;
        if (trace->peer_count > MOST_ROWS && p == MOST_ROWS - 1)
            printf("and %d more: --svg shows all\n", trace->peer_count - MOST_ROWS);
        if (!is_shown)
            continue;
        cli_trace_mostly(trace, p, COLUMNS, mostly);
        for (int c = 0; c < COLUMNS; c++)
            row[c] = letters[mostly[c]];
        printf("%-*s  |%s|\n", width, trace->peer[p].name, row);
    }
}

static void print_missing(const cli_timeline *trace)
{
    char text[CLI_TIME_BYTES];
    for (int p = 0; p < trace->peer_count; p++) {
        const cli_peer *peer = &trace->peer[p];
        if (peer->missing[0] != '\0')
            printf("%s: %s\n", peer->name, peer->missing);
        if (peer->dropped > 0)
            printf("%s: its first %" PRId64 " events were dropped; a larger DCL_TRACE_BYTES keeps more\n", peer->name,
                   peer->dropped);
        if (peer->clock_error_us > 0)
            printf("%s: its times may be wrong by %s\n", peer->name,
                   cli_time((int64_t)(1000 * peer->clock_error_us), text));
    }
}

void cli_trace_print(const cli_timeline *trace)
{
    char text[CLI_TIME_BYTES];
    printf("%s: %d node%s, %s, %" PRId64 " events\n", trace->path, trace->peer_count - 1,
           trace->peer_count == 2 ? "" : "s", cli_time(trace->end - trace->begin, text), trace->count);
    print_missing(trace);
    if (trace->count == 0)
        return;
    print_spent(trace);
    print_stolen(trace);
    print_path(trace);
    print_timeline(trace);
}

/* Check that --svg does not name the trace file itself. */
static int check_svg(const struct request *request)
{
    struct stat trace, svg;
    if (request->svg == NULL || stat(request->path, &trace) != 0 || stat(request->svg, &svg) != 0 ||
        trace.st_dev != svg.st_dev || trace.st_ino != svg.st_ino)
        return CLI_OK;
    return cli_fail("--svg is %s, which is the trace itself; expected another file", request->svg);
}

int cli_trace(int count, char **list)
{
    struct request request = {.to = INT64_MAX};
    cli_timeline trace;
    const cli_arguments arguments = {"trace", options, take_plain, count, list};
    int status = cli_parse(&arguments, &request);
    if (status == CLI_HELP)
        return cli_help_about("trace");
    if (status == CLI_OK && request.path == NULL)
        status = cli_usage("trace", "no file was given; expected one that DCL_TRACE=FILE has written");
    if (status == CLI_OK && request.from >= request.to) {
        char from[CLI_TIME_BYTES], to[CLI_TIME_BYTES];
        status = cli_usage("trace", "--from is %s and --to is %s; expected --from before --to",
                           cli_time(request.from, from), cli_time(request.to, to));
    }
    if (status == CLI_OK)
        status = check_svg(&request);
    if (status == CLI_OK)
        status = cli_trace_read(request.path, &trace);
    if (status != CLI_OK)
        return status;
    if (request.from > 0 || request.to < INT64_MAX)
        status = cli_trace_cut(&trace, request.from, request.to);
    if (status == CLI_OK && request.svg != NULL)
        status = cli_trace_draw(&trace, request.svg);
    else if (status == CLI_OK)
        cli_trace_print(&trace);
    cli_trace_free(&trace);
    return status;
}
