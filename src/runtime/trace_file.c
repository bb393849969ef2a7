/* runtime/trace_file.c - write a trace as JSON that Chrome and Perfetto show.
 *
 * A peer is a process of the format, and each of its tracks a thread. Viewers expect that two events of a thread do not
 * overlap, unless one lies within the other; events of a track that overlap otherwise are divided among several
 * threads, its lanes. Every event has a line of its own. The sending and the arrival of a chunk are joined to one
 * event, of the receiver's wire.
 * Source: Trace Event Format, Google, 2016: the JSON object format, complete events and metadata events. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clean.h"
#include "runtime/trace.h"

enum { MOST_LANES = 32, TEXT_BYTES = 2 * DCLI_TRACE_NAME_BYTES * 6 };

static const char *const track_names[DCLI_TRACKS] = {"compute", "in", "out", "wire", "waiting", "preparing"};

static const char *const kind_names[DCLI_TRACE_KINDS] = {
    [DCLI_TRACE_KERNELS] = "kernels", [DCLI_TRACE_FILL] = "fill",     [DCLI_TRACE_STAGE] = "stage",
    [DCLI_TRACE_COMMIT] = "commit",   [DCLI_TRACE_MOVE] = "move",     [DCLI_TRACE_LOAD] = "load",
    [DCLI_TRACE_READ] = "read",       [DCLI_TRACE_PACK] = "pack",     [DCLI_TRACE_PASS] = "pass",
    [DCLI_TRACE_SAVE] = "save",       [DCLI_TRACE_WRITE] = "write",   [DCLI_TRACE_SENT] = "sent",
    [DCLI_TRACE_ARRIVED] = "wire",    [DCLI_TRACE_WAIT] = "wait",     [DCLI_TRACE_PLAN] = "plan",
    [DCLI_TRACE_COMPILE] = "compile", [DCLI_TRACE_LAUNCH] = "launch", [DCLI_TRACE_ALLOCATE] = "allocate"};

static const char *const clock_names[DCLI_TRACE_CLOCKS] = {"host", "device", "seen"};

/* An event by the program's clock, in ns since the trace's begin. */
struct timed {
    dcli_trace_event event;
    int owner;    /* the peer that recorded the event */
    bool matched; /* SENT: the receiver's event shows it. ARRIVED: the time of sending is known */
};

struct writer {
    FILE *file;
    int count;   /* number of peers; the last one is the program */
    int program; /* the program's number in events */
    const dcli_trace_source *source;
    int64_t zero_ns;
    struct timed *sent; /* [sent_count] the SENT events of all peers, in the order of compare_chunks() */
    int64_t sent_count;
    bool follows; /* whether an event was written before */
};

/* ---- text --------------------------------------------------------------------------------------------------------- */

/* Write text as a JSON string. Characters that are harmful or not UTF-8 are replaced. Source: RFC 8259. */
static void put_string(FILE *file, const char *text)
{
    char clean[TEXT_BYTES];
    dcli_clean(clean, sizeof clean, text, strlen(text), "");
    fputc('"', file);
    for (const char *at = clean; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', file);
        fputc(*at, file);
    }
    fputc('"', file);
}

/* Write a time in microseconds, with three decimal places: as two whole numbers, because "%f" writes the decimal point
 * of the program's locale. */
static void put_time(FILE *file, const char *name, int64_t ns)
{
    fprintf(file, ",\"%s\":%s%" PRId64 ".%03d", name, ns < 0 ? "-" : "", (ns < 0 ? -ns : ns) / 1000,
            (int)((ns < 0 ? -ns : ns) % 1000));
}

/* The number of a process: the program comes first, and 0 is not used because viewers treat it as idle time. */
static int process_of(const struct writer *writer, int peer) { return peer == writer->count - 1 ? 1 : peer + 2; }

static void put_peer(const struct writer *writer, int peer)
{
    if (peer == writer->count - 1)
        fprintf(writer->file, "the program");
    else
        fprintf(writer->file, "node %d", peer);
}

static void begin_line(struct writer *writer)
{
    fputs(writer->follows ? ",\n" : "\n", writer->file);
    writer->follows = true;
}

/* ---- metadata ----------------------------------------------------------------------------------------------------- */

static void put_process(struct writer *writer, int peer)
{
    const dcli_trace_source *source = &writer->source[peer];
    int64_t dropped = 0, kept = 0;
    if (source->peer->ring != NULL)
        dcli_trace_count(source->peer->ring, &dropped, &kept);
    FILE *file = writer->file;
    begin_line(writer);
    fprintf(file, "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":", process_of(writer, peer));
    char name[TEXT_BYTES];
    if (peer == writer->count - 1)
        snprintf(name, sizeof name, "program");
    else
        snprintf(name, sizeof name, "node %d: %.255s", peer, source->device);
    put_string(file, name);
    fprintf(file, "}}");
    begin_line(writer);
    fprintf(file, "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}",
            process_of(writer, peer), process_of(writer, peer));
    if (dropped == 0 && source->missing[0] == '\0')
        return;
    begin_line(writer);
    fprintf(file,
            "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_labels\",\"args\":{\"labels\":", process_of(writer, peer));
    if (dropped > 0)
        snprintf(name, sizeof name, "%" PRId64 " events dropped", dropped);
    put_string(file, source->missing[0] != '\0' ? source->missing : name);
    fprintf(file, "}}");
}

static int thread_of(const struct writer *writer, int peer, dcli_track track, int lane)
{
    return (process_of(writer, peer) * DCLI_TRACKS + (int)track) * MOST_LANES + lane;
}

static void put_lane(struct writer *writer, int peer, dcli_track track, int lane)
{
    char name[32];
    int thread = thread_of(writer, peer, track, lane);
    snprintf(name, sizeof name, lane == 0 ? "%s" : "%s %d", track_names[track], lane + 1);
    begin_line(writer);
    fprintf(writer->file, "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}",
            process_of(writer, peer), thread, name);
    begin_line(writer);
    fprintf(writer->file,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
            process_of(writer, peer), thread, thread);
}

/* Write what `dcl trace` needs to know of the peers. */
static void put_peers(const struct writer *writer)
{
    fprintf(writer->file, "{\"dcl_trace\":1,\"displayTimeUnit\":\"ns\",\"dcl_peers\":[");
    for (int p = 0; p < writer->count; p++) {
        const dcli_trace_source *source = &writer->source[p];
        const dcli_traced_peer *peer = source->peer;
        int64_t dropped = 0, kept = 0;
        if (peer->ring != NULL)
            dcli_trace_count(peer->ring, &dropped, &kept);
        fprintf(writer->file, "%s\n{\"pid\":%d,\"name\":\"", p > 0 ? "," : "", process_of(writer, p));
        put_peer(writer, p);
        fprintf(writer->file, "\",\"device\":");
        put_string(writer->file, source->device);
        fprintf(writer->file, ",\"events\":%" PRId64 ",\"dropped\":%" PRId64 ",\"missing\":", kept, dropped);
        put_string(writer->file, source->missing);
        bool estimated = !peer->is_same_clock && (peer->begin.at_ns != 0 || peer->end.at_ns != 0);
        fprintf(writer->file, ",\"clock\":\"%s\"", estimated ? "compared by messages" : "the program's");
        put_time(writer->file, "clock_error_us", estimated ? dcli_max(peer->begin.error_ns, peer->end.error_ns) : 0);
        fputc('}', writer->file);
    }
    fprintf(writer->file, "],\n\"traceEvents\":[");
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

static void put_name(struct writer *writer, const struct timed *timed)
{
    const dcli_trace_event *event = &timed->event;
    const char *text = dcli_trace_text(writer->source[timed->owner].peer->ring, event->name);
    FILE *file = writer->file;
    fprintf(file, ",\"name\":");
    if (event->kind == DCLI_TRACE_KERNELS && text[0] != '\0') {
        put_string(file, text);
        return;
    }
    fprintf(file, "\"%s", kind_names[event->kind]);
    bool comes =
        event->kind == DCLI_TRACE_ARRIVED || event->kind == DCLI_TRACE_COMMIT || event->kind == DCLI_TRACE_READ;
    if (event->peer >= 0 && event->peer < writer->count) {
        fputs(comes ? " from " : " for ", file);
        put_peer(writer, event->peer);
    }
    fputc('"', file);
}

static bool is_chunk(int kind)
{
    return kind == DCLI_TRACE_SENT || kind == DCLI_TRACE_ARRIVED || kind == DCLI_TRACE_PACK ||
           kind == DCLI_TRACE_COMMIT || kind == DCLI_TRACE_READ || kind == DCLI_TRACE_WRITE;
}

static bool is_of_loan(const dcli_trace_event *event) { return is_chunk(event->kind) && event->launches > 0; }

static void put_details(const struct writer *writer, const struct timed *timed)
{
    const dcli_trace_event *event = &timed->event;
    FILE *file = writer->file;
    fprintf(file, ",\"args\":{\"clock\":\"%s\"", clock_names[event->clock]);
    if (event->operation > 0)
        fprintf(file, ",\"operation\":%" PRId64, event->operation);
    if (is_of_loan(event))
        fprintf(file, ",\"loan\":%" PRId32 ",\"batch\":%" PRId32, event->launches, event->tasks);
    if (event->part >= 0)
        fprintf(file, ",\"%s\":%" PRId64, is_chunk(event->kind) ? "chunk" : "batch", event->part);
    if (event->peer >= 0 && event->peer < writer->count)
        fprintf(file, ",\"peer\":%d", process_of(writer, event->peer));
    if (event->bytes > 0)
        fprintf(file, ",\"bytes\":%" PRId64, event->bytes);
    if (event->kind == DCLI_TRACE_KERNELS)
        fprintf(file, ",\"tasks\":%" PRId32 ",\"launches\":%" PRId32, event->tasks, event->launches);
    if (is_chunk(event->kind))
        fprintf(file, ",\"written\":%s", event->written ? "true" : "false");
    if (event->kind == DCLI_TRACE_ARRIVED && !timed->matched)
        fputs(",\"sent\":\"not known\"", file);
    fputc('}', file);
}

/* Batches of other nodes have a kind of their own. */
static const char *kind_of(const dcli_trace_event *event)
{
    bool stolen = event->kind == DCLI_TRACE_KERNELS && event->peer != DCLI_TRACE_NOBODY;
    return stolen ? "stolen" : kind_names[event->kind];
}

static void put_event(struct writer *writer, const struct timed *timed, int lane)
{
    const dcli_trace_event *event = &timed->event;
    dcli_track track = dcli_trace_track_of((dcli_trace_kind)event->kind);
    begin_line(writer);
    fprintf(writer->file, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d", process_of(writer, timed->owner),
            thread_of(writer, timed->owner, track, lane));
    put_time(writer->file, "ts", event->begin_ns);
    put_time(writer->file, "dur", event->end_ns - event->begin_ns);
    fprintf(writer->file, ",\"cat\":\"%s\"", kind_of(event));
    put_name(writer, timed);
    put_details(writer, timed);
    fputc('}', writer->file);
}

/* Order by track, then by begin; of two events that begin together the longer one comes first. */
static int compare_times(const void *left, const void *right)
{
    const dcli_trace_event *a = &((const struct timed *)left)->event, *b = &((const struct timed *)right)->event;
    int track_a = (int)dcli_trace_track_of((dcli_trace_kind)a->kind);
    int track_b = (int)dcli_trace_track_of((dcli_trace_kind)b->kind);
    if (track_a != track_b)
        return track_a < track_b ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->end_ns != b->end_ns ? (a->end_ns > b->end_ns ? -1 : 1) : 0;
}

static void put_track(struct writer *writer, int64_t count, const struct timed timed[])
{
    int64_t end[MOST_LANES] = {0};
    int lanes = 0;
    dcli_track track = dcli_trace_track_of((dcli_trace_kind)timed[0].event.kind);
    for (int64_t n = 0; n < count; n++) {
        int lane = 0;
        while (lane < lanes && lane < MOST_LANES - 1 && end[lane] > timed[n].event.begin_ns)
            lane++;
        if (lane == lanes)
            put_lane(writer, timed[n].owner, track, lanes++);
        end[lane] = dcli_max(end[lane], timed[n].event.end_ns);
        put_event(writer, &timed[n], lane);
    }
}

/* ---- chunks ------------------------------------------------------------------------------------------------------- */

static int sign(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

/* Compare two chunks; `from` and `to` are sender and receiver. */
static int compare_chunks(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    int from_a = a->owner, to_a = a->event.peer, from_b = b->owner, to_b = b->event.peer;
    if (a->event.kind == DCLI_TRACE_ARRIVED) {
        from_a = a->event.peer;
        to_a = a->owner;
    }
    int order = sign(a->event.operation, b->event.operation);
    if (order == 0)
        order = sign(from_a, from_b);
    if (order == 0)
        order = sign(to_a, to_b);
    if (order == 0)
        order = sign(a->event.written, b->event.written);
    if (order == 0)
        order = sign(a->event.launches, b->event.launches); /* of a lent batch: its question, and its number */
    if (order == 0)
        order = sign(a->event.tasks, b->event.tasks);
    return order != 0 ? order : sign(a->event.part, b->event.part);
}

static struct timed take_time(const struct writer *writer, int peer, const dcli_trace_event *event)
{
    const dcli_traced_peer *traced = writer->source[peer].peer;
    struct timed timed = {.event = *event, .owner = peer};
    if (event->peer == writer->program)
        timed.event.peer = writer->count - 1;
    else if (event->peer >= writer->count - 1)
        timed.event.peer = DCLI_TRACE_NOBODY; /* no node had this number */
    timed.event.begin_ns = dcli_traced_time(traced, event->begin_ns) - writer->zero_ns;
    timed.event.end_ns = dcli_max(timed.event.begin_ns, dcli_traced_time(traced, event->end_ns) - writer->zero_ns);
    return timed;
}

/* Copy a peer's events. @param only  their kind; 0: all. @return their number. */
static int64_t take_events(const struct writer *writer, int peer, int only, struct timed *timed_out)
{
    dcli_trace *ring = writer->source[peer].peer->ring;
    dcli_trace_event event[64];
    enum { AT_ONCE = sizeof event / sizeof event[0] };
    int64_t taken = 0, count = ring != NULL ? AT_ONCE : 0;
    for (int64_t first = 0; count == AT_ONCE; first += count) {
        count = dcli_trace_copy(ring, first, AT_ONCE, event);
        for (int64_t n = 0; n < count; n++)
            if (only == 0 || event[n].kind == only)
                timed_out[taken++] = take_time(writer, peer, &event[n]);
    }
    return taken;
}

static int64_t events_of(const struct writer *writer, int peer)
{
    int64_t dropped, kept = 0;
    if (writer->source[peer].peer->ring != NULL)
        dcli_trace_count(writer->source[peer].peer->ring, &dropped, &kept);
    return kept;
}

static struct timed *find_sent(const struct writer *writer, const struct timed *chunk)
{
    return bsearch(chunk, writer->sent, (size_t)writer->sent_count, sizeof *chunk, compare_chunks);
}

/* Collect the SENT events, and mark those for which there is an ARRIVED event. */
static dcl_status collect_sent(struct writer *writer)
{
    int64_t all = 0, most = 1;
    for (int p = 0; p < writer->count; p++) {
        all += events_of(writer, p);
        most = dcli_max(most, events_of(writer, p));
    }
    struct timed *arrived = dcli_malloc((size_t)most * sizeof *arrived);
    writer->sent = dcli_malloc((size_t)dcli_max(all, 1) * sizeof *writer->sent);
    if (writer->sent == NULL || arrived == NULL) {
        dcli_free(arrived);
        return DCL_ERR_NOMEM;
    }
    for (int p = 0; p < writer->count; p++)
        writer->sent_count += take_events(writer, p, DCLI_TRACE_SENT, writer->sent + writer->sent_count);
    qsort(writer->sent, (size_t)writer->sent_count, sizeof *writer->sent, compare_chunks);
    for (int p = 0; p < writer->count; p++)
        for (int64_t n = take_events(writer, p, DCLI_TRACE_ARRIVED, arrived) - 1; n >= 0; n--) {
            struct timed *sent = find_sent(writer, &arrived[n]);
            if (sent != NULL)
                sent->matched = true;
        }
    dcli_free(arrived);
    return DCL_OK;
}

/* Let an arrival begin when the chunk was sent. If clocks are compared by messages, the chunk may seem to be sent after
 * it arrived; the event then has no duration. */
static void join_sent(const struct writer *writer, struct timed *arrived)
{
    struct timed *sent = find_sent(writer, arrived);
    if (sent == NULL)
        return;
    arrived->matched = true;
    arrived->event.begin_ns = dcli_min(sent->event.begin_ns, arrived->event.end_ns);
}

/* ---- all ---------------------------------------------------------------------------------------------------------- */

static dcl_status put_events(struct writer *writer, int peer)
{
    int64_t most = events_of(writer, peer);
    struct timed *timed = dcli_malloc((size_t)dcli_max(most, 1) * sizeof *timed);
    if (timed == NULL)
        return DCL_ERR_NOMEM;
    int64_t taken = most > 0 ? take_events(writer, peer, 0, timed) : 0, count = 0;
    for (int64_t n = 0; n < taken; n++) {
        if (timed[n].event.kind == DCLI_TRACE_ARRIVED)
            join_sent(writer, &timed[n]);
        const struct timed *sent = timed[n].event.kind == DCLI_TRACE_SENT ? find_sent(writer, &timed[n]) : NULL;
        if (sent == NULL || !sent->matched)
            timed[count++] = timed[n];
    }
    qsort(timed, (size_t)count, sizeof *timed, compare_times);
    for (int64_t first = 0, end; first < count; first = end) {
        dcli_track track = dcli_trace_track_of((dcli_trace_kind)timed[first].event.kind);
        for (end = first + 1; end < count; end++)
            if (dcli_trace_track_of((dcli_trace_kind)timed[end].event.kind) != track)
                break;
        put_track(writer, end - first, timed + first);
    }
    dcli_free(timed);
    return DCL_OK;
}

dcl_status dcli_trace_write(FILE *file, int count, const dcli_trace_source source[], int program, int64_t zero_ns)
{
    struct writer writer = {.file = file, .count = count, .source = source, .program = program, .zero_ns = zero_ns};
    for (int p = 0; p < count; p++) /* the thread of a node may hang in its driver, and return only now */
        if (source[p].peer->ring != NULL)
            dcli_trace_stop(source[p].peer->ring);
    dcl_status status = collect_sent(&writer);
    put_peers(&writer);
    for (int p = 0; p < count && status == DCL_OK; p++) {
        put_process(&writer, p);
        status = put_events(&writer, p);
    }
    fprintf(file, "\n]}\n");
    dcli_free(writer.sent);
    return status;
}
