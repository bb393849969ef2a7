/* worker/trace.c - record what a peer does while it is traced, and send a node's events to the program. */
#include "worker/trace.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "worker/members.h"
#include "worker/plans.h"
#include "worker/stealing.h"

/* ---- recording ---------------------------------------------------------------------------------------------------- */

static int16_t name_of(dcli_worker *worker, const dcli_entry *entry)
{
    dcli_kernel *kernel = entry != NULL ? entry->kernel : NULL;
    if (kernel == NULL)
        return 0;
    if (kernel->trace_name == 0) {
        int16_t name = dcli_trace_name(worker->terms.trace, kernel->body->text);
        kernel->trace_name = (int16_t)(name > 0 ? name : -1);
    }
    return (int16_t)dcli_max(kernel->trace_name, 0);
}

void dcli_trace_add_ended(dcli_worker *worker, dcli_trace_kind kind, int64_t began_ns, const dcli_entry *entry,
                          int64_t part, int peer, int64_t bytes)
{
    dcli_trace_add(worker->terms.trace, &(dcli_trace_event){.kind = (uint8_t)kind,
                                                            .begin_ns = began_ns,
                                                            .end_ns = dcli_monotonic_ns(),
                                                            .operation = entry != NULL ? entry->operation.number : 0,
                                                            .part = part,
                                                            .peer = peer,
                                                            .bytes = bytes,
                                                            .name = name_of(worker, entry)});
}

void dcli_trace_add_moved(dcli_worker *worker, const dcli_moving *moving)
{
    const dcli_plan *plan = dcli_node_plan(worker->node, moving->entry->operation.number, moving->peer);
    const dcli_chunk *chunk = &plan->chunk[moving->chunk];
    bool packs = moving->kind == DCLI_MOVING_PACK, by_device = packs ? moving->slot != NULL : moving->ticket != 0;
    dcli_trace_add(worker->terms.trace, &(dcli_trace_event){.kind = packs ? DCLI_TRACE_PACK : DCLI_TRACE_COMMIT,
                                                            .clock = by_device ? DCLI_CLOCK_SEEN : DCLI_CLOCK_HOST,
                                                            .begin_ns = moving->began_ns,
                                                            .end_ns = dcli_monotonic_ns(),
                                                            .operation = moving->entry->operation.number,
                                                            .part = chunk->number,
                                                            .peer = moving->peer,
                                                            .bytes = chunk->bytes,
                                                            .written = chunk->written,
                                                            .name = name_of(worker, moving->entry)});
}

void dcli_trace_chunk(dcli_worker *worker, dcli_trace_kind kind, int peer, int64_t operation, bool written,
                      int64_t chunk, int64_t bytes)
{
    int64_t now = dcli_monotonic_ns();
    dcli_trace_add(worker->terms.trace, &(dcli_trace_event){.kind = (uint8_t)kind,
                                                            .begin_ns = now,
                                                            .end_ns = now,
                                                            .operation = operation,
                                                            .part = chunk,
                                                            .peer = peer,
                                                            .bytes = bytes,
                                                            .written = written});
}

/* A payload of a lent batch. Its chunks are numbered for each batch, and a batch may be lent again. */
static dcli_trace_event loan_event(dcli_trace_kind kind, int peer, const dcli_msg_loan *loan, int64_t bytes)
{
    int64_t now = dcli_monotonic_ns();
    return (dcli_trace_event){.kind = (uint8_t)kind,
                              .begin_ns = now,
                              .end_ns = now,
                              .operation = loan->operation,
                              .part = loan->chunk,
                              .peer = peer,
                              .bytes = bytes,
                              .tasks = (int32_t)dcli_min(loan->batch, INT32_MAX),
                              .launches = (int32_t)dcli_min(loan->question, INT32_MAX),
                              .written = loan->written};
}

void dcli_trace_loan_chunk(dcli_worker *worker, dcli_trace_kind kind, int peer, const dcli_msg_loan *loan,
                           int64_t bytes)
{
    dcli_trace_event event = loan_event(kind, peer, loan, bytes);
    dcli_trace_add(worker->terms.trace, &event);
}

void dcli_trace_add_loan(dcli_worker *worker, dcli_trace_kind kind, int64_t began_ns, const dcli_entry *entry, int peer,
                         const dcli_msg_loan *loan, int64_t bytes)
{
    dcli_trace_event event = loan_event(kind, peer, loan, bytes);
    event.begin_ns = began_ns;
    event.name = name_of(worker, entry);
    dcli_trace_add(worker->terms.trace, &event);
}

/* ---- batches ------------------------------------------------------------------------------------------------------ */

dcli_traced_batch *dcli_trace_launch(dcli_worker *worker)
{
    dcli_traced_batch **spare = &worker->as_node->traced_spare;
    dcli_traced_batch *traced = *spare;
    if (traced != NULL)
        *spare = traced->next;
    else
        traced = dcli_malloc(sizeof *traced);
    if (traced != NULL)
        *traced = (dcli_traced_batch){.launched_ns = dcli_monotonic_ns(),
                                      .first_ticket = dcli_device_launched(worker->as_node->device) + 1,
                                      .launches = worker->counters.launches};
    return traced;
}

/* A launch is complete: find its batch, among those that run. Tickets of other commands belong to no batch. */
static void note_times(void *user, uint64_t ticket, int64_t begin_ns, int64_t end_ns)
{
    dcli_as_node *own = ((dcli_worker *)user)->as_node;
    int64_t r = own->running_first, last = own->timed;
    if (last > r && last < own->running_count && own->running[last].ticket <= ticket)
        r = last; /* tickets ascend, and launches complete in their order */
    while (r < own->running_count && own->running[r].ticket < ticket)
        r++;
    own->timed = r;
    dcli_traced_batch *traced = r < own->running_count ? own->running[r].traced : NULL;
    if (traced == NULL || ticket < traced->first_ticket)
        return;
    traced->begin_ns = traced->begin_ns == 0 ? begin_ns : dcli_min(traced->begin_ns, begin_ns);
    traced->end_ns = dcli_max(traced->end_ns, end_ns);
}

void dcli_trace_device(dcli_worker *worker) { dcli_device_on_timed(worker->as_node->device, note_times, worker); }

/* Describe what differs from batch to batch of a series. The other members of the event stay as they are: writing all of
 * them for each batch took most of the time of tracing short operations. */
static void describe_batch(dcli_worker *worker, const dcli_running *running, dcli_trace_event *event_out)
{
    const dcli_job *job = &running->job;
    event_out->operation = running->operation;
    event_out->part = running->batch;
    event_out->peer = job->borrowed != NULL ? job->borrowed->victim : DCLI_TRACE_NOBODY;
    event_out->tasks = (int32_t)dcli_min(job->batch->tile_count, INT32_MAX);
    event_out->name = name_of(worker, job->entry);
}

/* Record the batches of a series, which share its time evenly. The first one has the launches of all. */
static void add_series(dcli_worker *worker, const dcli_running first[], int64_t count, bool timed, int64_t begin_ns,
                       int64_t end_ns, int64_t launches)
{
    dcli_trace_event event[16];
    enum { AT_ONCE = sizeof event / sizeof event[0] };
    for (int64_t n = 0; n < dcli_min(count, AT_ONCE); n++)
        event[n] = (dcli_trace_event){.kind = DCLI_TRACE_KERNELS, .clock = timed ? DCLI_CLOCK_DEVICE : DCLI_CLOCK_SEEN};
    event[0].launches = (int32_t)dcli_min(launches, INT32_MAX);
    int64_t each_ns = (end_ns - begin_ns) / count, rest_ns = (end_ns - begin_ns) % count;
    for (int64_t n = 0, kept = 0; n < count; n++) {
        describe_batch(worker, first + n, &event[kept]);
        event[kept].begin_ns = begin_ns;
        begin_ns += each_ns + (n < rest_ns);
        event[kept++].end_ns = begin_ns;
        if (kept < AT_ONCE && n + 1 < count)
            continue;
        dcli_trace_add_all(worker->terms.trace, event, kept);
        event[0].launches = 0;
        kept = 0;
    }
}

/* Number of batches in the series that begins with this one: the others have the same ticket, and no notes
 * (`traced`) of their own. */
static int64_t count_series(const dcli_as_node *own, const dcli_running *first)
{
    const dcli_running *end = own->running + own->running_count, *next = first + 1;
    while (next < end && next->ticket == first->ticket && next->traced == NULL)
        next++;
    return next - first;
}

void dcli_trace_batch(dcli_worker *worker, dcli_running *running)
{
    dcli_as_node *own = worker->as_node;
    dcli_traced_batch *traced = running->traced;
    bool timed = traced->begin_ns != 0;
    /* Without the device's times: its queue is in order, so this batch cannot have begun before the last one ended. */
    int64_t begin_ns = timed ? traced->begin_ns : dcli_max(traced->launched_ns, own->computed_ns);
    int64_t end_ns = timed ? traced->end_ns : dcli_monotonic_ns();
    begin_ns = dcli_min(dcli_max(begin_ns, traced->launched_ns), end_ns); /* the two clocks agree only approximately */
    own->computed_ns = end_ns;
    add_series(worker, running, count_series(own, running), timed, begin_ns, end_ns, traced->launches);
    traced->next = own->traced_spare;
    own->traced_spare = traced;
    running->traced = NULL;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

void dcli_trace_busy(dcli_worker *worker)
{
    dcli_trace_event *wait = &worker->as_node->wait;
    if (wait->begin_ns == 0)
        return;
    wait->end_ns = dcli_monotonic_ns();
    dcli_trace_add(worker->terms.trace, wait);
    wait->begin_ns = 0;
}

void dcli_trace_idle(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    int64_t operation;
    int peer;
    bool computes = own->running_first < own->running_count || own->moving_count > 0;
    if (computes || !dcli_node_awaits(worker->node, &operation, &peer)) {
        dcli_trace_busy(worker);
        return;
    }
    if (own->wait.begin_ns != 0 && own->wait.operation == operation && own->wait.peer == peer)
        return;
    dcli_trace_busy(worker);
    own->wait = (dcli_trace_event){
        .kind = DCLI_TRACE_WAIT, .begin_ns = dcli_monotonic_ns(), .operation = operation, .part = -1, .peer = peer};
}

/* ---- sending to the program --------------------------------------------------------------------------------------- */

static void describe(const dcli_trace_event *event, dcli_msg_event *out)
{
    *out = (dcli_msg_event){.begin_ns = event->begin_ns,
                            .duration_ns = event->end_ns - event->begin_ns,
                            .kind = event->kind,
                            .operation = event->operation,
                            .part = event->part,
                            .peer = event->peer,
                            .bytes = event->bytes,
                            .name = event->name,
                            .clock = event->clock,
                            .written = event->written,
                            .tasks = event->tasks,
                            .launches = event->launches};
}

/* Add a part of the events to an answer; the first one with all names. @param events_out  [DCLI_MOST_EVENTS]. */
static void add_part(dcli_trace *trace, int64_t part, dcli_msg_traced *traced, dcli_msg_event events_out[],
                     dcli_msg_name names_out[])
{
    dcli_trace_event event[64];
    enum { AT_ONCE = sizeof event / sizeof event[0] };
    dcli_trace_stop(trace);
    dcli_trace_count(trace, &traced->dropped, &traced->kept);
    if (part > traced->kept / DCLI_MOST_EVENTS)
        return; /* none is left */
    int64_t first = part * DCLI_MOST_EVENTS;
    for (int64_t count = AT_ONCE; count == AT_ONCE && traced->event_count < DCLI_MOST_EVENTS;) {
        count = dcli_trace_copy(trace, first + traced->event_count,
                                dcli_min(AT_ONCE, DCLI_MOST_EVENTS - traced->event_count), event);
        for (int64_t n = 0; n < count; n++)
            describe(&event[n], &events_out[traced->event_count++]);
    }
    for (const char *text; part == 0 && traced->name_count < DCLI_MOST_EVENT_NAMES; traced->name_count++) {
        text = dcli_trace_text(trace, traced->name_count + 1);
        if (text[0] == '\0')
            break;
        names_out[traced->name_count].text = text;
    }
}

dcl_status dcli_take_trace(dcli_worker *worker, const dcli_msg_trace *trace)
{
    dcli_message message = {.kind = DCLI_MSG_TRACED,
                            .traced = {.number = trace->number,
                                       .part = trace->part,
                                       .asked_ns = trace->asked_ns,
                                       .now_ns = dcli_monotonic_ns(),
                                       .clock_id = dcli_trace_clock_id(),
                                       .unrecorded = worker->terms.trace == NULL}};
    dcli_msg_traced *traced = &message.traced;
    if (worker->terms.trace != NULL && trace->part >= 0) {
        traced->event = dcli_calloc(DCLI_MOST_EVENTS, sizeof *traced->event);
        traced->name = dcli_calloc(DCLI_MOST_EVENT_NAMES, sizeof *traced->name);
        if (traced->event == NULL || traced->name == NULL) {
            dcli_free(traced->event);
            dcli_free(traced->name);
            return DCL_ERR_NOMEM;
        }
        add_part(worker->terms.trace, trace->part, traced, traced->event, traced->name);
    }
    dcl_status status = dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
    dcli_free(traced->event);
    dcli_free(traced->name);
    return status;
}

void dcli_host_traced(dcli_worker *worker, int from, const dcli_msg_traced *traced)
{
    if (!dcli_question_awaits(worker, from, traced->number))
        return; /* it comes too late, or nobody has asked */
    worker->terms.hooks->traced(worker->terms.hooks->user, from, traced, dcli_monotonic_ns());
    dcli_question_answer(worker, from, traced->number, true);
}
