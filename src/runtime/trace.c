/* runtime/trace.c - collect what the peers of a cluster have recorded, compare their clocks, and write the file. */
#include "runtime/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "store/new_file.h"

/* ---- the file ----------------------------------------------------------------------------------------------------- */

/* The beginning of every trace file: dcli_trace_write() writes it, `dcl trace` looks for it. */
static const char first_bytes[] = "{\"dcl_trace\":";

/* Check that a path is free, or names a trace that may be replaced. */
static dcl_status check_old(const char *path)
{
    struct stat about;
    char start[sizeof first_bytes] = "";
    if (stat(path, &about) != 0 || (S_ISREG(about.st_mode) && about.st_size == 0))
        return DCL_OK;
    FILE *file = S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
    if (file == NULL && S_ISREG(about.st_mode))
        return DCLI_FAIL(
            DCL_ERR_FILE,
            "the trace is to be written to \"%s\", which cannot be read: %s; expected a new file, or an old "
            "trace to replace",
            path, strerror(errno));
    size_t length = file != NULL ? fread(start, 1, sizeof first_bytes - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    if (length == sizeof first_bytes - 1 && memcmp(start, first_bytes, length) == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE,
                     "the trace is to be written to \"%s\", which exists and is no trace; expected a new file, or an "
                     "old trace to replace; "
                     "give another name",
                     path);
}

/* Check that the file can be written, by making a file beside it. */
static dcl_status check_path(const char *path)
{
    dcli_new_file file;
    char problem[DCLI_ERROR_BYTES];
    dcl_status status = check_old(path);
    if (status == DCL_OK && dcli_new_file_make(path, &file) == DCL_OK)
        dcli_new_file_end(&file, 0, DCL_ERR_FILE); /* removes the file */
    else if (status == DCL_OK) {
        snprintf(problem, sizeof problem, "%s", dcli_error_sentence());
        status = DCLI_FAIL(DCL_ERR_FILE, "the trace: %s", problem);
    }
    return status;
}

static char *absolute(const char *path)
{
    char folder[DCLI_FILES_PATH] = "", whole[2 * DCLI_FILES_PATH];
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL)
        return dcli_strdup(path);
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    return dcli_strdup(whole);
}

/* ---- opening and freeing ------------------------------------------------------------------------------------------- */

dcl_status dcli_cluster_trace_open(dcl_cluster *cluster, int peers)
{
    const char *path = cluster->config.trace;
    if (path == NULL)
        return DCL_OK;
    if (check_path(path) != DCL_OK)
        return DCL_ERR_FILE;
    struct dcli_cluster_trace *trace = dcli_calloc(1, sizeof *trace + (size_t)peers * sizeof(dcli_traced_peer));
    if (trace == NULL || (trace->path = absolute(path)) == NULL) {
        dcli_free(trace);
        return DCL_ERR_NOMEM;
    }
    trace->opened_ns = dcli_monotonic_ns();
    trace->peer_count = peers;
    trace->completed_by = DCLI_TRACE_NOBODY;
    pthread_mutex_init(&trace->lock, NULL);
    cluster->trace = trace;
    return DCL_OK;
}

dcli_trace *dcli_cluster_ring(dcl_cluster *cluster, int peer)
{
    if (cluster->trace == NULL)
        return NULL;
    dcli_traced_peer *traced = &cluster->trace->peer[peer];
    traced->is_same_clock = true;
    if (traced->ring == NULL)
        traced->ring = dcli_trace_open(cluster->config.trace_bytes);
    return traced->ring;
}

void dcli_cluster_trace_free(dcl_cluster *cluster)
{
    struct dcli_cluster_trace *trace = cluster->trace;
    if (trace == NULL)
        return;
    for (int p = 0; p < trace->peer_count; p++)
        dcli_trace_close(trace->peer[p].ring);
    pthread_mutex_destroy(&trace->lock);
    dcli_free(trace->path);
    dcli_free(trace);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------- */

int64_t dcli_traced_time(const dcli_traced_peer *peer, int64_t time_ns)
{
    const dcli_clock_match *begin = &peer->begin, *end = &peer->end;
    if (peer->is_same_clock)
        return time_ns;
    if (begin->at_ns == 0 || end->at_ns <= begin->at_ns)
        return time_ns + (end->at_ns != 0 ? end->offset_ns : begin->offset_ns);
    /* Clocks of two hosts differ in rate, too. Those of a node that lies may differ by anything. */
    const double most = (double)DCLI_MOST_NS;
    double share = (double)(time_ns - begin->at_ns) / (double)(end->at_ns - begin->at_ns);
    double more = (double)(end->offset_ns - begin->offset_ns) * share;
    return time_ns + begin->offset_ns + (int64_t)(more < -most ? -most : more > most ? most : more);
}

/* Use a node's answer as a comparison of its clock with the program's, if it is more exact than the best one so far:
 * the node has read its clock between the two times of the program.
 * Source: D. L. Mills, Internet Time Synchronization: the Network Time Protocol, IEEE Trans. Comm. 39, 1991. */
static void compare_clock(dcli_traced_peer *peer, bool at_begin, const dcli_msg_traced *traced, int64_t received_ns)
{
    dcli_clock_match *match = at_begin ? &peer->begin : &peer->end;
    int64_t error_ns = (received_ns - traced->asked_ns) / 2;
    if (match->at_ns != 0 && match->error_ns <= error_ns)
        return;
    *match = (dcli_clock_match){
        .at_ns = traced->now_ns, .offset_ns = traced->asked_ns + error_ns - traced->now_ns, .error_ns = error_ns};
}

/* ---- nodes that are processes ------------------------------------------------------------------------------------- */

/* Whether an event is of the session, by the program's clock. */
static bool is_within(const dcli_traced_peer *peer, const dcli_trace_event *event, int64_t from_ns, int64_t until_ns)
{
    const int64_t second = 1000000000;
    int64_t error_ns = second + dcli_max(peer->begin.error_ns, peer->end.error_ns);
    int64_t begin_ns = dcli_traced_time(peer, event->begin_ns), end_ns = dcli_traced_time(peer, event->end_ns);
    return begin_ns >= from_ns - error_ns && begin_ns <= end_ns && end_ns <= until_ns + error_ns;
}

void dcli_traced_add(dcli_traced_peer *peer, const dcli_msg_traced *traced, int64_t room, int64_t from_ns,
                     int64_t until_ns)
{
    if (traced->part == 0) {
        peer->kept = dcli_min(traced->kept, room);
        peer->unrecorded = traced->unrecorded;
        if (!traced->unrecorded && peer->ring == NULL) /* a node may answer twice */
            peer->ring = dcli_trace_open((size_t)dcli_max(peer->kept, 1) * sizeof(dcli_trace_event));
        if (peer->ring != NULL)
            dcli_trace_add_dropped(peer->ring, traced->dropped);
    }
    if (peer->ring == NULL)
        return;
    for (int n = 0; n < traced->name_count; n++) /* the same numbers as there: names differ */
        dcli_trace_name(peer->ring, traced->name[n].text);
    for (int n = 0; n < traced->event_count && peer->taken < peer->kept; n++, peer->taken++) {
        const dcli_msg_event *from = &traced->event[n];
        dcli_trace_event event = {.begin_ns = from->begin_ns,
                                  .end_ns = dcli_min(from->begin_ns + from->duration_ns, DCLI_MOST_NS),
                                  .operation = from->operation,
                                  .part = from->part,
                                  .bytes = from->bytes,
                                  .peer = from->peer,
                                  .tasks = from->tasks,
                                  .launches = from->launches,
                                  .name = (int16_t)from->name,
                                  .kind = (uint8_t)from->kind,
                                  .clock = (uint8_t)from->clock,
                                  .written = from->written};
        if (is_within(peer, &event, from_ns, until_ns))
            dcli_trace_add(peer->ring, &event);
        else
            dcli_trace_add_dropped(peer->ring, 1); /* the node's clock, or the node, is wrong */
    }
}

void dcli_traced_missing(const dcli_traced_peer *peer, bool is_lost, char text_out[DCLI_TRACE_MISSING])
{
    const char *lost = is_lost ? "the node was lost: " : "";
    text_out[0] = '\0';
    if (peer->ring != NULL && peer->taken < peer->kept)
        snprintf(text_out, DCLI_TRACE_MISSING, "%sonly the oldest %" PRId64 " of %" PRId64 " events have come", lost,
                 peer->taken, peer->kept);
    else if (peer->ring == NULL)
        snprintf(text_out, DCLI_TRACE_MISSING, "%s",
                 peer->unrecorded ? "the node had no memory to record events"
                 : peer->kept > 0 ? "the program had no memory for the node's events"
                 : is_lost        ? "the node was lost, and its events with it"
                                  : "the node has not sent its events");
}

void dcli_cluster_on_traced(void *user, int node, const dcli_msg_traced *traced, int64_t received_ns)
{
    dcl_cluster *cluster = user;
    struct dcli_cluster_trace *trace = cluster->trace;
    if (trace == NULL)
        return; /* nobody has asked */
    pthread_mutex_lock(&trace->lock);
    dcli_traced_peer *peer = &trace->peer[node];
    if (!peer->told && traced->part == trace->asked_part && traced->asked_ns >= trace->asked_ns &&
        traced->asked_ns <= received_ns) {
        peer->told = true;
        if (traced->part <= 0) { /* the events come next; their times must all be converted alike */
            peer->is_same_clock = traced->clock_id != 0 && traced->clock_id == dcli_trace_clock_id();
            compare_clock(peer, trace->at_begin, traced, received_ns);
        }
        if (traced->part >= 0)
            dcli_traced_add(peer, traced, dcli_trace_capacity(cluster->config.trace_bytes), trace->opened_ns,
                            received_ns);
        trace->most_kept = dcli_max(trace->most_kept, peer->kept);
    }
    pthread_mutex_unlock(&trace->lock);
}

/* Ask one question of all nodes that are not silent. @return whether it makes sense to ask again. */
static bool ask(dcl_cluster *cluster, int64_t part, bool at_begin, bool silent[])
{
    struct dcli_cluster_trace *trace = cluster->trace;
    pthread_mutex_lock(&trace->lock);
    trace->asked_part = part;
    trace->asked_ns = dcli_monotonic_ns();
    trace->at_begin = at_begin;
    for (int p = 0; p < cluster->host; p++)
        trace->peer[p].told = false;
    pthread_mutex_unlock(&trace->lock);
    return dcli_host_trace(cluster->worker[cluster->host], part, silent);
}

enum { COMPARISONS = 8 };

static bool compare_clocks(dcl_cluster *cluster, bool at_begin, bool silent[])
{
    bool goes_on = true;
    for (int n = 0; n < COMPARISONS && goes_on; n++)
        goes_on = ask(cluster, -1, at_begin, silent);
    return goes_on;
}

void dcli_cluster_trace_begin(dcl_cluster *cluster)
{
    bool silent[DCLI_MOST_NODES] = {false};
    if (cluster->trace != NULL && cluster->pool != NULL)
        compare_clocks(cluster, true, silent);
}

static int64_t most_kept(struct dcli_cluster_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    int64_t most = trace->most_kept;
    pthread_mutex_unlock(&trace->lock);
    return most;
}

/* Get all events of the nodes. A node that does not answer a question is not asked again; the others are. */
static void gather(dcl_cluster *cluster)
{
    bool silent[DCLI_MOST_NODES] = {false};
    bool goes_on = compare_clocks(cluster, false, silent);
    for (int64_t part = 0; goes_on && part * DCLI_MOST_EVENTS < dcli_max(1, most_kept(cluster->trace)); part++)
        goes_on = ask(cluster, part, false, silent);
    for (int n = 0; n < cluster->host; n++)
        if (silent[n])
            DCLI_LOG(&cluster->log, DCLI_LOG_WARN, "node %d has not answered in time: its events are not in the trace",
                     n);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static dcl_status write_to(dcl_cluster *cluster, FILE *stream)
{
    int count = cluster->node_count + 1;
    dcli_trace_source *source = dcli_calloc((size_t)count, sizeof *source);
    if (source == NULL)
        return DCL_ERR_NOMEM;
    for (int n = 0; n < cluster->node_count; n++) {
        source[n] = (dcli_trace_source){.device = dcl_node_name(cluster, n), .peer = &cluster->trace->peer[n]};
        dcli_traced_missing(source[n].peer, cluster->lost[n], source[n].missing);
    }
    source[count - 1] = (dcli_trace_source){.device = "", .peer = &cluster->trace->peer[cluster->host]};
    dcl_status status = dcli_trace_write(stream, count, source, cluster->host, cluster->trace->opened_ns);
    dcli_free(source);
    return status;
}

static dcl_status write_file(dcl_cluster *cluster)
{
    dcli_new_file file;
    dcl_status status = check_old(cluster->trace->path);
    if (status == DCL_OK)
        status = dcli_new_file_make(cluster->trace->path, &file);
    if (status != DCL_OK)
        return status;
    int fd = dup(file.fd);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    int code = stream == NULL ? errno : 0; /* why the file cannot be written; 0: it is */
    if (stream == NULL && fd >= 0)
        close(fd);
    int64_t bytes = 0;
    if (stream != NULL) {
        status = write_to(cluster, stream);
        if (fflush(stream) != 0 || ferror(stream))
            code = errno != 0 ? errno : EIO;
        bytes = ftello(stream);
        if (fclose(stream) != 0 && code == 0)
            code = errno;
    }
    if (code != 0)
        status = DCLI_FAIL(DCL_ERR_FILE, "\"%s\" cannot be written: %s; expected a disk with room",
                           cluster->trace->path, strerror(code));
    return dcli_new_file_end(&file, bytes, status);
}

void dcli_cluster_trace_gather(dcl_cluster *cluster)
{
    if (cluster->trace == NULL || cluster->pool == NULL)
        return;
    pthread_mutex_lock(&cluster->lock);
    bool works = cluster->broken == DCL_OK;
    pthread_mutex_unlock(&cluster->lock);
    if (works)
        gather(cluster);
}

void dcli_cluster_trace_give_up(dcl_cluster *cluster)
{
    if (cluster->trace != NULL)
        cluster->trace->given_up = true;
}

dcl_status dcli_cluster_trace_write(dcl_cluster *cluster)
{
    if (cluster->trace == NULL || cluster->trace->given_up)
        return DCL_OK;
    dcl_status status = write_file(cluster);
    DCLI_LOG(&cluster->log, DCLI_LOG_INFO, "%s %s", status == DCL_OK ? "trace written to" : "no trace in",
             cluster->trace->path);
    return status;
}
