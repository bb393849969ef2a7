/* worker/host.c - the program's side: its queue of descriptors, and moving elements between its memory and chunks. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "worker/peer.h"

/* Something queued by the program: a descriptor for all, or a message for one node. */
typedef struct dcli_posted {
    struct dcli_posted *next;
    bool is_operation;
    dcli_msg_operation operation;
    void *memory;
    int64_t strides[DCL_MAX_RANK];
    int node;
    void *packed; /* the message */
    size_t packed_bytes;
    dcli_msg_operand operand[]; /* [operation.operand_count] */
} dcli_posted;

dcl_status dcli_host_open(dcli_worker *worker)
{
    pthread_mutex_init(&worker->outbox.lock, NULL);
    return DCL_OK;
}

static void free_posted(dcli_posted *posted)
{
    dcli_free((char *)posted->operation.path);
    dcli_free((char *)posted->operation.map);
    dcli_free(posted->packed);
    dcli_free(posted);
}

void dcli_host_close(dcli_worker *worker)
{
    while (worker->outbox.first != NULL) {
        dcli_posted *posted = worker->outbox.first;
        worker->outbox.first = posted->next;
        free_posted(posted);
    }
    pthread_mutex_destroy(&worker->outbox.lock);
}

/* ---- the program's threads ---------------------------------------------------------------------------------------- */

static void post(dcli_worker *host, dcli_posted *posted)
{
    dcli_outbox *outbox = &host->outbox;
    pthread_mutex_lock(&outbox->lock);
    if (posted != NULL) {
        *(outbox->last != NULL ? &outbox->last->next : &outbox->first) = posted;
        outbox->last = posted;
    } else {
        outbox->stop = true;
    }
    bool wake = outbox->asleep;
    outbox->asleep = false;
    pthread_mutex_unlock(&outbox->lock);
    if (wake)
        dcli_endpoint_wake(host->endpoint);
}

static dcl_status copy_text(const char **text)
{
    if (*text == NULL)
        return DCL_OK;
    *text = dcli_strdup(*text);
    return *text != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

dcl_status dcli_host_operation(dcli_worker *host, const dcli_msg_operation *operation, void *memory,
                               const int64_t strides[])
{
    size_t operands = (size_t)operation->operand_count * sizeof(dcli_msg_operand);
    dcli_posted *posted = dcli_malloc(sizeof *posted + operands);
    if (posted == NULL)
        return DCL_ERR_NOMEM;
    posted->next = NULL;
    posted->is_operation = true;
    posted->operation = *operation;
    posted->memory = memory;
    posted->packed = NULL;
    memcpy(posted->operand, operation->operand, operands);
    posted->operation.operand = posted->operand;
    if (strides != NULL)
        memcpy(posted->strides, strides, (size_t)operation->box.rank * sizeof(int64_t));
    if (copy_text(&posted->operation.path) != DCL_OK || copy_text(&posted->operation.map) != DCL_OK) {
        free_posted(posted);
        return DCL_ERR_NOMEM;
    }
    post(host, posted);
    return DCL_OK;
}

/* A list of messages, one for each peer, the host's own worker first. NULL: DCL_ERR_NOMEM. */
static dcli_posted *pack_kernels(const dcli_worker *host, const dcli_msg_kernel *kernel, const bool build[])
{
    dcli_posted *first = NULL;
    for (int node = 0; node <= host->terms.node_count; node++) {
        dcli_message message = {.kind = DCLI_MSG_KERNEL, .kernel = *kernel};
        message.kernel.build = build[node];
        dcli_posted *posted = dcli_calloc(1, sizeof *posted);
        if (posted != NULL) {
            posted->node = node;
            posted->next = first;
            first = posted;
        }
        if (posted != NULL && dcli_message_pack(&message, &posted->packed, &posted->packed_bytes) == DCL_OK)
            continue;
        for (dcli_posted *next; first != NULL; first = next) {
            next = first->next;
            free_posted(first);
        }
        return NULL;
    }
    return first;
}

dcl_status dcli_host_kernel(dcli_worker *host, const dcli_msg_kernel *kernel, const bool build[])
{
    dcli_posted *posted = pack_kernels(host, kernel, build);
    if (posted == NULL)
        return dcli_error_status();
    for (dcli_posted *next; posted != NULL; posted = next) {
        next = posted->next;
        posted->next = NULL;
        post(host, posted);
    }
    return DCL_OK;
}

void dcli_host_stop(dcli_worker *host) { post(host, NULL); }

/* ---- the host's worker -------------------------------------------------------------------------------------------- */

bool dcli_host_may_sleep(dcli_worker *worker)
{
    dcli_outbox *outbox = &worker->outbox;
    pthread_mutex_lock(&outbox->lock);
    bool may = outbox->first == NULL && !outbox->stop;
    outbox->asleep = may;
    pthread_mutex_unlock(&outbox->lock);
    return may;
}

/* As many descriptors as follow each other in the queue, in one message to every node. */
static dcl_status send_operations(dcli_worker *worker, dcli_posted *first, dcli_posted **rest_out)
{
    dcli_msg_operation operations[DCLI_MOST_OPERATIONS];
    int count = 0;
    dcli_posted *posted = first;
    for (; posted != NULL && posted->is_operation && count < DCLI_MOST_OPERATIONS; posted = posted->next)
        operations[count++] = posted->operation;
    dcl_status status = DCL_OK;
    for (int node = 0; node < worker->terms.node_count && status == DCL_OK; node++) {
        dcli_message message = {.kind = DCLI_MSG_OPERATIONS, .operations = {.count = count, .operation = operations}};
        status = dcli_peer_send(worker, node, &message, NULL);
    }
    for (posted = first; count > 0; count--) {
        dcli_posted *next = posted->next;
        if (status == DCL_OK)
            status = dcli_peer_operation(worker, &posted->operation, posted->memory, posted->strides);
        free_posted(posted);
        posted = next;
    }
    *rest_out = posted;
    return status;
}

static dcl_status send_message(dcli_worker *worker, dcli_posted *posted)
{
    dcli_arena arena = {0};
    dcli_message message;
    dcl_status status = dcli_message_unpack(posted->packed, posted->packed_bytes, &arena, &message);
    if (status == DCL_OK)
        status = dcli_peer_send(worker, posted->node, &message, NULL);
    dcli_arena_free(&arena);
    free_posted(posted);
    return status;
}

dcl_status dcli_host_take(dcli_worker *worker, bool *stop_out)
{
    dcli_outbox *outbox = &worker->outbox;
    pthread_mutex_lock(&outbox->lock);
    dcli_posted *posted = outbox->first;
    outbox->first = outbox->last = NULL;
    *stop_out = outbox->stop && posted == NULL;
    pthread_mutex_unlock(&outbox->lock);
    dcl_status status = DCL_OK;
    while (posted != NULL) {
        dcli_posted *next = posted->next;
        dcl_status this = posted->is_operation ? send_operations(worker, posted, &next) : send_message(worker, posted);
        if (status == DCL_OK)
            status = this;
        posted = next;
    }
    return status;
}

/* ---- transfers ---------------------------------------------------------------------------------------------------- */

static dcl_status unpack_read(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, const dcli_batch *batch)
{
    size_t bytes = dcli_operand_bytes(entry, 0);
    const dcli_chunk *chunk = &plan->chunk[batch->first_chunk];
    const dcli_stage *stage = &plan->stage[batch->first_stage];
    const dcli_kept_chunk *kept =
        dcli_chunks_find(&worker->received, chunk->peer, entry->operation.number, false, chunk->number);
    if (kept == NULL || kept->received.payload_bytes != (size_t)chunk->bytes)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "node %d sent a chunk of another length than %" PRId64 " bytes", chunk->peer,
                         chunk->bytes);
    for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count; p++) {
        const dcli_piece *piece = &plan->piece[p];
        dcli_region target;
        dcli_region_cut(&entry->region, &piece->region.box, &target);
        dcli_region_copy(entry->memory, &target, (const char *)kept->received.payload + piece->byte_offset,
                         &piece->region, bytes);
    }
    worker->counters.bytes_copied += chunk->bytes;
    return DCL_OK;
}

static dcl_status pack_write(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, const dcli_batch *batch)
{
    size_t bytes = dcli_operand_bytes(entry, 0);
    const dcli_chunk *chunk = &plan->chunk[batch->first_made];
    const dcli_stage *stage = &plan->stage[batch->first_stage];
    dcli_kept_chunk *made =
        dcli_chunks_add(&worker->made, chunk->peer, entry->operation.number, true, batch->first_made);
    if (made == NULL || (made->bytes = dcli_buffers_take(worker->terms.buffers, (size_t)chunk->bytes)) == NULL)
        return DCL_ERR_NOMEM;
    for (int64_t p = stage->first_out; p < stage->first_out + stage->out_count; p++) {
        const dcli_piece *piece = &plan->piece[p];
        dcli_region source;
        dcli_region_cut(&entry->region, &piece->region.box, &source);
        dcli_region_copy((char *)made->bytes + piece->byte_offset, &piece->region, entry->memory, &source, bytes);
    }
    worker->counters.bytes_copied += chunk->bytes;
    return DCL_OK;
}

dcl_status dcli_host_run(dcli_worker *worker, dcli_entry *entry, int64_t batch)
{
    const dcli_plan *plan = entry->plan[worker->terms.self]->plan;
    return entry->operation.kind == DCLI_OP_READ ? unpack_read(worker, entry, plan, &plan->batch[batch])
                                                 : pack_write(worker, entry, plan, &plan->batch[batch]);
}
