/* base/trace.c - the ring of events. */
#include "base/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

struct dcli_trace {
    pthread_mutex_t lock; /* guards the fields below */
    dcli_trace_event *ring;
    int64_t capacity, added; /* event number n, from 0, is ring[n % capacity] */
    int64_t next;            /* added % capacity */
    int64_t dropped_before;  /* events that were dropped before they came here */
    bool stopped;
    char (*name)
        [DCLI_TRACE_NAME_BYTES]; /* [DCLI_TRACE_NAMES] of which [name_count] are in use; number n is name[n - 1] */
    int name_count;
};

dcli_track dcli_trace_track_of(dcli_trace_kind kind)
{
    static const dcli_track tracks[DCLI_TRACE_KINDS] = {
        [DCLI_TRACE_KERNELS] = DCLI_TRACK_COMPUTE,  [DCLI_TRACE_FILL] = DCLI_TRACK_COMPUTE,
        [DCLI_TRACE_STAGE] = DCLI_TRACK_IN,         [DCLI_TRACE_COMMIT] = DCLI_TRACK_IN,
        [DCLI_TRACE_MOVE] = DCLI_TRACK_IN,          [DCLI_TRACE_LOAD] = DCLI_TRACK_IN,
        [DCLI_TRACE_READ] = DCLI_TRACK_IN,          [DCLI_TRACE_PACK] = DCLI_TRACK_OUT,
        [DCLI_TRACE_PASS] = DCLI_TRACK_OUT,         [DCLI_TRACE_SAVE] = DCLI_TRACK_OUT,
        [DCLI_TRACE_WRITE] = DCLI_TRACK_OUT,        [DCLI_TRACE_SENT] = DCLI_TRACK_WIRE,
        [DCLI_TRACE_ARRIVED] = DCLI_TRACK_WIRE,     [DCLI_TRACE_WAIT] = DCLI_TRACK_WAITING,
        [DCLI_TRACE_PLAN] = DCLI_TRACK_PREPARING,   [DCLI_TRACE_COMPILE] = DCLI_TRACK_PREPARING,
        [DCLI_TRACE_LAUNCH] = DCLI_TRACK_PREPARING, [DCLI_TRACE_ALLOCATE] = DCLI_TRACK_PREPARING};
    return tracks[kind];
}

/* ---- which clock this process reads ------------------------------------------------------------------------------- */

static uint64_t clock_id;

/* Identify the clock that this process reads: by a hash of the system's start (boot_id), with which the clock
 * begins, and of the time namespace, which can shift it. It stays 0 if the start is not known. Source: random(4),
 * time_namespaces(7). */
static void find_clock(void)
{
    char text[128];
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t length = boot != NULL ? fread(text, 1, 64, boot) : 0;
    if (boot != NULL)
        fclose(boot);
    if (length == 0)
        return;
    ssize_t space = readlink("/proc/self/ns/time", text + length, sizeof text - length);
    clock_id = dcli_hash_bytes(DCLI_HASH_START, text, length + (space > 0 ? (size_t)space : 0));
}

uint64_t dcli_trace_clock_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_clock);
    return clock_id;
}

/* ---- the ring ----------------------------------------------------------------------------------------------------- */

int64_t dcli_trace_capacity(size_t bytes) { return dcli_max(1, (int64_t)(bytes / sizeof(dcli_trace_event))); }

/* Ask for huge pages, so that recording causes fewer page faults. If they are refused, it is only slower. */
static void use_huge_pages(const dcli_trace *trace)
{
    const uintptr_t huge = (uintptr_t)2 << 20;
    uintptr_t first = (uintptr_t)trace->ring, end = first + (size_t)trace->capacity * sizeof *trace->ring;
    first = (first + huge - 1) / huge * huge;
    end = end / huge * huge;
    if (first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
}

dcli_trace *dcli_trace_open(size_t bytes)
{
    dcli_trace *trace = dcli_calloc(1, sizeof *trace);
    if (trace == NULL)
        return NULL;
    trace->capacity = dcli_trace_capacity(bytes);
    trace->ring =
        dcli_calloc((size_t)trace->capacity, sizeof *trace->ring); /* large: pages come with the first write */
    trace->name = dcli_calloc(DCLI_TRACE_NAMES, sizeof *trace->name);
    if (trace->ring == NULL || trace->name == NULL) {
        dcli_free(trace->ring);
        dcli_free(trace->name);
        dcli_free(trace);
        return NULL;
    }
    use_huge_pages(trace);
    pthread_mutex_init(&trace->lock, NULL);
    return trace;
}

void dcli_trace_close(dcli_trace *trace)
{
    if (trace == NULL)
        return;
    pthread_mutex_destroy(&trace->lock);
    dcli_free(trace->ring);
    dcli_free(trace->name);
    dcli_free(trace);
}

void dcli_trace_add(dcli_trace *trace, const dcli_trace_event *event) { dcli_trace_add_all(trace, event, 1); }

void dcli_trace_add_all(dcli_trace *trace, const dcli_trace_event event[], int64_t count)
{
    pthread_mutex_lock(&trace->lock);
    for (int64_t n = 0; n < count && !trace->stopped; n++) {
        trace->ring[trace->next++] = event[n];
        trace->next = trace->next < trace->capacity ? trace->next : 0;
        trace->added++;
    }
    pthread_mutex_unlock(&trace->lock);
}

int16_t dcli_trace_name(dcli_trace *trace, const char *text)
{
    char line[DCLI_TRACE_NAME_BYTES];
    text += strspn(text, " \t\r\n");
    if (text[0] == '\0')
        return 0;
    size_t length = strcspn(text, "\n");
    length = length < sizeof line ? length : sizeof line - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--; /* do not cut within a UTF-8 character */
    memcpy(line, text, length);
    line[length] = '\0';
    pthread_mutex_lock(&trace->lock);
    int n = 0;
    while (n < trace->name_count && strcmp(trace->name[n], line) != 0)
        n++;
    if (n == trace->name_count && n < DCLI_TRACE_NAMES)
        memcpy(trace->name[trace->name_count++], line, length + 1);
    pthread_mutex_unlock(&trace->lock);
    return (int16_t)(n < DCLI_TRACE_NAMES ? n + 1 : 0);
}

const char *dcli_trace_text(dcli_trace *trace, int name)
{
    pthread_mutex_lock(&trace->lock);
    const char *text = name >= 1 && name <= trace->name_count ? trace->name[name - 1] : "";
    pthread_mutex_unlock(&trace->lock);
    return text;
}

void dcli_trace_stop(dcli_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    trace->stopped = true;
    pthread_mutex_unlock(&trace->lock);
}

/* Number of events in the ring. The lock is held. */
static int64_t kept(const dcli_trace *trace) { return dcli_min(trace->added, trace->capacity); }

void dcli_trace_count(dcli_trace *trace, int64_t *dropped_out, int64_t *kept_out)
{
    pthread_mutex_lock(&trace->lock);
    *kept_out = kept(trace);
    *dropped_out = trace->dropped_before + trace->added - *kept_out;
    pthread_mutex_unlock(&trace->lock);
}

void dcli_trace_add_dropped(dcli_trace *trace, int64_t count)
{
    pthread_mutex_lock(&trace->lock);
    trace->dropped_before += count;
    pthread_mutex_unlock(&trace->lock);
}

int64_t dcli_trace_copy(dcli_trace *trace, int64_t first, int64_t capacity, dcli_trace_event events_out[])
{
    pthread_mutex_lock(&trace->lock);
    int64_t count = dcli_max(0, dcli_min(capacity, kept(trace) - first));
    int64_t oldest = trace->added - kept(trace);
    for (int64_t n = 0; n < count; n++)
        events_out[n] = trace->ring[(oldest + first + n) % trace->capacity];
    pthread_mutex_unlock(&trace->lock);
    return count;
}
