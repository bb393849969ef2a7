/* cli/trace_read.c - read a trace file: JSON in which fields and lines may have any order, with two exceptions: it
 * begins as traces of DCL do, and dcl_peers comes before traceEvents. Source: RFC 8259; Trace Event Format, Google,
 * 2016. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "cli/trace_events.h"
#include "cli/utf8.h"

const char *const cli_track_names[CLI_TRACKS] = {"compute", "in", "out", "wire", "waiting", "preparing"};

static const struct {
    const char *kind;
    cli_track track;
} kinds[] = {{"kernels", CLI_COMPUTE},   {"stolen", CLI_COMPUTE},   {"fill", CLI_COMPUTE},      {"stage", CLI_IN},
             {"commit", CLI_IN},         {"move", CLI_IN},          {"load", CLI_IN},           {"read", CLI_IN},
             {"pack", CLI_OUT},          {"pass", CLI_OUT},         {"save", CLI_OUT},          {"write", CLI_OUT},
             {"wire", CLI_WIRE},         {"sent", CLI_WIRE},        {"wait", CLI_WAITING},      {"plan", CLI_PREPARING},
             {"compile", CLI_PREPARING}, {"launch", CLI_PREPARING}, {"allocate", CLI_PREPARING}};

enum {
    KINDS = sizeof kinds / sizeof kinds[0],
    MOST_PEERS = 1 << 16,
    MOST_DEPTH = 32,
    MOST_NAME = 32,  /* bytes of the name of a process, which is in every line that is printed */
    MOST_TEXT = 4096 /* bytes of other texts */
};

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

/* A text that is being read. The first failure is printed; after it all functions do nothing. */
struct reader {
    const char *path;
    char *start, *at;
    bool failed;
    int depth;
};

static void refuse(struct reader *reader, const char *expected)
{
    if (reader->failed)
        return;
    reader->failed = true;
    int line = 1;
    char *begin = reader->start;
    for (char *at = reader->start; at < reader->at; at++)
        if (*at == '\n') {
            line++;
            begin = at + 1;
        }
    cli_fail("%s is no trace of DCL: line %d, column %d: expected %s; traces are written by DCL_TRACE=FILE, and "
             "dcl eval --trace FILE",
             reader->path, line, (int)(reader->at - begin) + 1, expected);
}

static char next(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\r' || *reader->at == '\t')
        reader->at++;
    return *reader->at;
}

static void take(struct reader *reader, char sign, const char *expected)
{
    if (reader->failed)
        return;
    if (next(reader) != sign)
        refuse(reader, expected);
    else
        reader->at++;
}

/* Whether an array or object has another item. Skips the comma before it, or the bracket that ends the list. */
static bool has_next(struct reader *reader, char end, bool *first)
{
    if (reader->failed)
        return false;
    if (next(reader) == end) {
        reader->at++;
        return false;
    }
    if (!*first)
        take(reader, ',', end == ']' ? "a comma or ]" : "a comma or }");
    *first = false;
    return !reader->failed;
}

/* Read a string and decode it in place. It is cut to `most` bytes. Characters that control terminals are replaced;
 * those written as \u escapes become question marks, because DCL writes no such escapes. */
static const char *take_text(struct reader *reader, int most)
{
    take(reader, '"', "a string");
    char *begin = reader->at, *to = begin;
    while (!reader->failed && *reader->at != '"') {
        if ((unsigned char)*reader->at < ' ') {
            refuse(reader, "the end of a string");
            break;
        }
        if (*reader->at != '\\') {
            *to++ = *reader->at++;
            continue;
        }
        static const char codes[] = "\"\\/bfnrt", plain[] = "\"\\/    ";
        const char *code = reader->at[1] != '\0' ? strchr(codes, reader->at[1]) : NULL;
        if (code != NULL)
            *to++ = plain[code - codes < (long)sizeof plain - 1 ? code - codes : 3];
        else if (reader->at[1] == 'u' && strspn(reader->at + 2, "0123456789abcdefABCDEF") >= 4) {
            *to++ = '?';
            reader->at += 4;
        } else
            refuse(reader, "an escape of JSON");
        reader->at += 2;
    }
    if (reader->failed)
        return "";
    reader->at++;
    *to = '\0';
    cli_utf8_clean(begin);
    begin[cli_utf8_fit(begin, most)] = '\0';
    return begin;
}

static const char *take_string(struct reader *reader) { return take_text(reader, MOST_TEXT); }

static double take_number(struct reader *reader)
{
    char *end = reader->at;
    double value = 0;
    if (!reader->failed) {
        char sign = next(reader);
        if (sign == '-' || (sign >= '0' && sign <= '9'))
            value = strtod(reader->at, &end);
        if (end <= reader->at || !isfinite(value))
            refuse(reader, "a number");
        else
            reader->at = end;
    }
    return reader->failed ? 0 : value;
}

static double take_within(struct reader *reader, double least, double most, const char *expected)
{
    char *at = reader->at;
    double value = take_number(reader);
    if (!reader->failed && (value < least || value > most)) {
        reader->at = at;
        next(reader);
        refuse(reader, expected);
    }
    return reader->failed ? 0 : value;
}

/* A number within limits, rounded. */
static int64_t take_int(struct reader *reader, double least, double most, const char *expected)
{
    return llround(take_within(reader, least, most, expected));
}

static void skip_value(struct reader *reader);

static void skip_items(struct reader *reader, char end)
{
    bool first = true;
    reader->at++;
    if (++reader->depth > MOST_DEPTH)
        refuse(reader, "fewer arrays within each other");
    while (has_next(reader, end, &first)) {
        if (end == '}') {
            take_string(reader);
            take(reader, ':', "a colon");
        }
        skip_value(reader);
    }
    reader->depth--;
}

static void skip_value(struct reader *reader)
{
    static const char *const words[] = {"true", "false", "null"};
    if (reader->failed)
        return;
    char sign = next(reader);
    if (sign == '"') {
        take_string(reader);
        return;
    }
    if (sign == '{' || sign == '[') {
        skip_items(reader, sign == '{' ? '}' : ']');
        return;
    }
    for (int w = 0; w < 3; w++)
        if (strncmp(reader->at, words[w], strlen(words[w])) == 0) {
            reader->at += strlen(words[w]);
            return;
        }
    take_number(reader);
}

/* The name of the next field of an object; NULL: it ends. */
static const char *next_field(struct reader *reader, bool *first)
{
    if (!has_next(reader, '}', first))
        return NULL;
    const char *name = take_string(reader);
    take(reader, ':', "a colon");
    return reader->failed ? NULL : name;
}

/* ---- peers -------------------------------------------------------------------------------------------------------- */

static const double most_number = 9e15; /* the largest whole number that all programs read from JSON alike */
static const double most_us = 1e14;     /* of a time: 3 years, so that sums of several times in ns fit into int64_t */

static void take_peer(struct reader *reader, cli_peer *peer)
{
    bool first = true;
    *peer = (cli_peer){.name = "?", .device = "", .missing = ""};
    take(reader, '{', "a peer: {");
    for (const char *field; (field = next_field(reader, &first)) != NULL;) {
        if (strcmp(field, "name") == 0)
            peer->name = take_text(reader, MOST_NAME);
        else if (strcmp(field, "device") == 0)
            peer->device = take_string(reader);
        else if (strcmp(field, "missing") == 0)
            peer->missing = take_string(reader);
        else if (strcmp(field, "dropped") == 0)
            peer->dropped = take_int(reader, 0, most_number, "a number of events");
        else if (strcmp(field, "clock_error_us") == 0)
            peer->clock_error_us = take_within(reader, 0, most_us, "at most 3 years, 1e14 us");
        else
            skip_value(reader);
    }
}

static void take_peers(struct reader *reader, cli_timeline *trace)
{
    bool first = true;
    take(reader, '[', "the list of peers: [");
    while (has_next(reader, ']', &first)) {
        if (trace->peer_count == MOST_PEERS) {
            refuse(reader, "fewer peers");
            return;
        }
        /* The list is full at powers of two, and is then doubled. */
        if ((trace->peer_count & (trace->peer_count - 1)) == 0) {
            cli_peer *more = cli_alloc((size_t)(trace->peer_count > 0 ? 2 * trace->peer_count : 1), sizeof *more);
            if (trace->peer_count > 0)
                memcpy(more, trace->peer, (size_t)trace->peer_count * sizeof *more);
            free(trace->peer);
            trace->peer = more;
        }
        take_peer(reader, &trace->peer[trace->peer_count++]);
    }
    if (trace->peer_count == 0)
        refuse(reader, "at least one peer");
}

/* The index of a process by its number in the file: 1 is the program, which comes last; nodes follow from 2 on. */
static int take_process(struct reader *reader, const cli_timeline *trace)
{
    int64_t number = take_int(reader, 1, trace->peer_count, "the number of a process, as the peers have them");
    return number == 1 ? trace->peer_count - 1 : (int)number - 2;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

static void take_details(struct reader *reader, const cli_timeline *trace, cli_event *event)
{
    bool first = true;
    take(reader, '{', "the arguments of an event: {");
    for (const char *field; (field = next_field(reader, &first)) != NULL;) {
        if (strcmp(field, "operation") == 0)
            event->operation = take_int(reader, 0, most_number, "the number of an operation");
        else if (strcmp(field, "bytes") == 0)
            event->bytes = take_int(reader, 0, most_number, "a number of bytes");
        else if (strcmp(field, "batch") == 0)
            event->batch = take_int(reader, 0, most_number, "the number of a batch");
        else if (strcmp(field, "chunk") == 0)
            event->part = take_int(reader, 0, most_number, "the number of a chunk");
        else if (strcmp(field, "loan") == 0)
            event->loan = take_int(reader, 0, most_number, "the number of a loan");
        else if (strcmp(field, "peer") == 0)
            event->other = take_process(reader, trace);
        else {
            event->sent_known &= strcmp(field, "sent") != 0;
            event->written |= strcmp(field, "written") == 0 && next(reader) == 't';
            skip_value(reader);
        }
    }
    if (event->part < 0)
        event->part = event->batch;
}

static void take_kind(struct reader *reader, cli_event *event)
{
    char *at = reader->at;
    const char *kind = take_string(reader);
    for (int k = 0; k < KINDS; k++)
        if (strcmp(kind, kinds[k].kind) == 0) {
            event->kind = kinds[k].kind;
            event->track = kinds[k].track;
            return;
        }
    if (!reader->failed)
        reader->at = at;
    refuse(reader, "a kind of event that this version knows");
}

/* Read an event. @return whether it is an event with a time, not metadata. */
static bool take_event(struct reader *reader, const cli_timeline *trace, cli_event *event)
{
    bool first = true, timed = false;
    double begin = 0, duration = 0;
    char *start = reader->at;
    *event = (cli_event){.peer = -1, .other = -1, .part = -1, .batch = -1, .name = "", .sent_known = true};
    take(reader, '{', "an event: {");
    for (const char *field; (field = next_field(reader, &first)) != NULL;) {
        if (strcmp(field, "ph") == 0)
            timed = strcmp(take_string(reader), "X") == 0;
        else if (strcmp(field, "pid") == 0)
            event->peer = take_process(reader, trace);
        else if (strcmp(field, "ts") == 0)
            begin = take_number(reader);
        else if (strcmp(field, "dur") == 0)
            duration = take_number(reader);
        else if (strcmp(field, "cat") == 0)
            take_kind(reader, event);
        else if (strcmp(field, "name") == 0)
            event->name = take_string(reader);
        else if (strcmp(field, "args") == 0) /* "ph" may come after it */
            take_details(reader, trace, event);
        else
            skip_value(reader);
    }
    if (reader->failed || !timed)
        return false;
    bool is_whole = event->kind != NULL && event->peer >= 0 && duration >= 0;
    if (!is_whole || fabs(begin) > most_us || duration > most_us) {
        reader->at = start;
        next(reader);
        refuse(reader, is_whole ? "a ts and a dur of at most 3 years, 1e14 us" : "an event with pid, cat, ts and dur");
        return false;
    }
    event->begin = llround(begin * 1000);
    event->end = event->begin + llround(duration * 1000);
    return true;
}

static void take_events(struct reader *reader, cli_timeline *trace)
{
    bool first = true;
    int64_t capacity = 0;
    cli_event event;
    if (trace->peer_count == 0)
        refuse(reader, "dcl_peers before the events");
    take(reader, '[', "the list of events: [");
    while (has_next(reader, ']', &first)) {
        if (!take_event(reader, trace, &event))
            continue;
        if (trace->count == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 1024;
            trace->events = realloc(trace->events, (size_t)capacity * sizeof event);
            if (trace->events == NULL) {
                cli_fail("no memory is left for the events of %s", trace->path);
                exit(CLI_FAILURE);
            }
        }
        trace->events[trace->count++] = event;
        trace->peer[event.peer].count++;
    }
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const cli_event *a = left, *b = right;
    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1) : 0;
}

static void arrange(cli_timeline *trace)
{
    if (trace->count > 0)
        qsort(trace->events, (size_t)trace->count, sizeof *trace->events, compare);
    cli_event *at = trace->events;
    trace->begin = trace->count > 0 ? INT64_MAX : 0;
    for (int p = 0; p < trace->peer_count; p++) {
        trace->peer[p].event = at;
        at = at != NULL ? at + trace->peer[p].count : NULL;
    }
    for (int64_t n = 0; n < trace->count; n++) {
        const cli_event *event = &trace->events[n];
        trace->begin = event->begin < trace->begin ? event->begin : trace->begin;
        trace->end = event->end > trace->end ? event->end : trace->end;
    }
    for (int p = 0; p < trace->peer_count; p++) {
        cli_peer *peer = &trace->peer[p];
        int64_t first = trace->end;
        for (int64_t n = 0; n < peer->count; n++)
            first = peer->event[n].begin < first ? peer->event[n].begin : first;
        peer->recorded_from = peer->dropped > 0 ? first : trace->begin;
    }
}

static void take_trace(struct reader *reader, cli_timeline *trace)
{
    bool first = true, events = false;
    take(reader, '{', "{\"dcl_trace\":1, as it begins");
    const char *field = next_field(reader, &first);
    if (field == NULL || strcmp(field, "dcl_trace") != 0) {
        if (!reader->failed)
            reader->at = reader->start;
        refuse(reader, "{\"dcl_trace\":1, as it begins");
    }
    take_int(reader, 1, 1, "1, the version that this command reads");
    while ((field = next_field(reader, &first)) != NULL) {
        if (strcmp(field, "dcl_peers") == 0 && trace->peer_count == 0)
            take_peers(reader, trace);
        else if (strcmp(field, "traceEvents") == 0) {
            if (events)
                refuse(reader, "one list of events");
            take_events(reader, trace);
            events = true;
        } else
            skip_value(reader);
    }
    if (!events)
        refuse(reader, "traceEvents");
    if (!reader->failed && next(reader) != '\0')
        refuse(reader, "the end of the file");
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t length = 0, capacity = 0, more = 1;
    while (file != NULL && more > 0) {
        if (length + 1 >= capacity) {
            capacity = capacity > 0 ? 2 * capacity : 1 << 16;
            char *longer = realloc(text, capacity);
            if (longer == NULL) {
                errno = ENOMEM;
                break;
            }
            text = longer;
        }
        more = fread(text + length, 1, capacity - length - 1, file);
        length += more;
    }
    if (file == NULL || more > 0 || ferror(file)) {
        cli_fail("%s cannot be read: %s; expected a trace written by DCL_TRACE=FILE", path, strerror(errno));
        free(text);
        text = NULL;
    } else
        text[length] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

int cli_trace_read(const char *path, cli_timeline *trace_out)
{
    *trace_out = (cli_timeline){.path = path, .text = read_text(path)};
    if (trace_out->text == NULL)
        return CLI_FAILURE;
    struct reader reader = {.path = path, .start = trace_out->text, .at = trace_out->text};
    take_trace(&reader, trace_out);
    if (reader.failed) {
        cli_trace_free(trace_out);
        return CLI_FAILURE;
    }
    arrange(trace_out);
    return CLI_OK;
}

void cli_trace_free(cli_timeline *trace)
{
    free(trace->events);
    free(trace->peer);
    free(trace->text);
}
