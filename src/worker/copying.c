/* worker/copying.c - copies between the program's memory and chunks, divided into parts for helper threads.
 *
 * A part is a range of the chunk's items or, if there are few items, a range within each item. While helpers copy,
 * the host's worker continues: it gives the helpers the next chunks, sends chunks that are packed, and receives
 * messages. */
#include "worker/copying.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/helpers.h"
#include "segment/cut.h"
#include "worker/process_data.h"
#include "worker/trace.h"

/* LEAST_BYTES: a shorter copy is made at once, because it takes less time than waking a helper. PART_BYTES: intended
 * size of a part */
enum { LEAST_BYTES = 256 << 10, PART_BYTES = 512 << 10 };

struct dcli_copying {
    dcli_copying *next;
    dcli_task task;
    int64_t operation, batch;
    dcli_lent *lent;   /* the operation has a reference until the copy has ended */
    char *memory;      /* address in the program's memory */
    dcli_region where; /* where the operation's elements lie in it */
    const dcli_plan *plan;
    const dcli_chunk *chunk;
    char *packed;
    size_t bytes; /* bytes of an element */
    int64_t parts_of_item;
    int64_t began_ns; /* dcli_trace_begin() */
    atomic_int left;  /* parts that are not copied yet; the thread that copies the last one ends the use of `lent` */
};

/* One of `parts` equal ranges of a region. */
static dcli_region range_of(const dcli_region *region, int64_t part, int64_t parts)
{
    int64_t lo[DCL_MAX_RANK] = {0}, count[DCL_MAX_RANK];
    int axis = 0;
    for (int d = 0; d < region->box.rank; d++) {
        count[d] = region->box.count[d];
        if (count[axis] < parts && count[d] > count[axis])
            axis = d;
    }
    lo[axis] = region->box.count[axis] * part / parts;
    count[axis] = region->box.count[axis] * (part + 1) / parts - lo[axis];
    return dcli_region_part(region, lo, count);
}

static void copy_item(const dcli_copying *copying, int64_t item, int64_t part)
{
    dcli_item found = dcli_plan_item(copying->plan, item);
    dcli_region packed = dcli_region_packed(&found.region.box, 0), whole;
    dcli_region_cut(&copying->where, &found.region.box, &whole);
    char *at = copying->packed + found.byte_offset;
    dcli_region ours = range_of(&whole, part, copying->parts_of_item);
    packed = range_of(&packed, part, copying->parts_of_item);
    if (copying->chunk->written)
        dcli_region_copy(at, &packed, copying->memory, &ours, copying->bytes);
    else if (copying->task.parts > 1) /* into memory of the program */
        dcli_region_stream(copying->memory, &ours, at, &packed, copying->bytes);
    else
        dcli_region_copy(copying->memory, &ours, at, &packed, copying->bytes);
}

static void copy_part(void *user, int part)
{
    dcli_copying *copying = user;
    const dcli_chunk *chunk = copying->chunk;
    int64_t each = copying->parts_of_item, items = chunk->item_count, parts = copying->task.parts;
    int64_t first = each > 1 ? part / each : items * part / parts;
    int64_t end = each > 1 ? first + 1 : items * (part + 1) / parts;
    for (int64_t i = first; i < end; i++)
        copy_item(copying, chunk->first_item + i, part % each);
    if (atomic_fetch_sub_explicit(&copying->left, 1, memory_order_acq_rel) == 1)
        dcli_lent_end_use(copying->lent);
}

/* Choose the number of parts so that each takes about the same time: ranges of items or, if there are fewer items than
 * parts, ranges within each item. */
static void divide(dcli_copying *copying)
{
    int64_t items = copying->chunk->item_count;
    int64_t parts = copying->chunk->bytes < LEAST_BYTES ? 1 : (copying->chunk->bytes + PART_BYTES - 1) / PART_BYTES;
    copying->parts_of_item = items > 0 && parts > items ? (parts + items - 1) / items : 1;
    copying->task.parts = (int)(copying->parts_of_item > 1 ? copying->parts_of_item * items : parts);
}

static void trace(dcli_worker *worker, const dcli_copying *copying)
{
    const dcli_chunk *chunk = copying->chunk;
    if (copying->began_ns != 0)
        dcli_trace_add(worker->terms.trace,
                       &(dcli_trace_event){.kind = chunk->written ? DCLI_TRACE_WRITE : DCLI_TRACE_READ,
                                           .begin_ns = copying->began_ns,
                                           .end_ns = dcli_monotonic_ns(),
                                           .operation = copying->operation,
                                           .part = chunk->number,
                                           .peer = chunk->peer,
                                           .bytes = chunk->bytes,
                                           .written = chunk->written});
}

static void wake(void *endpoint) { dcli_endpoint_wake(endpoint); }

dcl_status dcli_copying_start(dcli_worker *worker, dcli_entry *entry, int64_t batch, const dcli_chunk *chunk,
                              void *packed, dcli_start *start_out)
{
    dcli_helpers *helpers = worker->process_data->helpers;
    bool helped = chunk->bytes >= LEAST_BYTES && dcli_helpers_count(helpers) > 0;
    dcli_copying here, *copying = helped ? dcli_malloc(sizeof *copying) : &here;
    if (copying == NULL)
        return DCL_ERR_NOMEM;
    *copying =
        (dcli_copying){.task = {.run = copy_part, .user = copying, .over = wake, .told = worker->endpoint, .parts = 1},
                       .operation = entry->operation.number,
                       .batch = batch,
                       .lent = entry->lent,
                       .memory = dcli_lent_use(entry->lent),
                       .where = entry->more->region,
                       .plan = dcli_entry_plan(entry, worker->terms.self)->plan,
                       .chunk = chunk,
                       .packed = packed,
                       .bytes = dcli_element_bytes(&entry->operation, 0),
                       .parts_of_item = 1};
    if (copying->memory == NULL) {
        if (helped)
            dcli_free(copying);
        return DCL_ERR_INVALID;
    }
    worker->counters.bytes_copied += chunk->bytes;
    if (helped)
        divide(copying);
    atomic_init(&copying->left, copying->task.parts);
    *start_out = helped ? DCLI_START_RUNS : DCLI_START_ENDED;
    copying->began_ns = dcli_trace_begin(worker);
    if (!helped) {
        copy_part(copying, 0);
        trace(worker, copying);
        return DCL_OK;
    }
    dcli_copying **at = &worker->as_host->copying;
    while (*at != NULL)
        at = &(*at)->next;
    *at = copying;
    dcli_helpers_start(helpers, &copying->task);
    return DCL_OK;
}

dcl_status dcli_copying_collect(dcli_worker *worker)
{
    dcl_status status = DCL_OK;
    for (dcli_copying **at = &worker->as_host->copying; *at != NULL && status == DCL_OK;) {
        dcli_copying *copying = *at;
        if (!dcli_task_is_over(&copying->task)) {
            at = &copying->next;
            continue;
        }
        *at = copying->next;
        trace(worker, copying);
        status = dcli_node_batch_done(worker->node, copying->operation, copying->batch, DCL_OK);
        dcli_free(copying);
    }
    return status;
}

void dcli_copying_end(dcli_worker *worker)
{
    if (worker->process_data != NULL && worker->as_host->copying != NULL)
        dcli_helpers_settle(worker->process_data->helpers);
    for (dcli_copying *copying; (copying = worker->as_host->copying) != NULL;) {
        worker->as_host->copying = copying->next;
        dcli_free(copying);
    }
}
