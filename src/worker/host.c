/* worker/host.c - the host's side: takes what the program has queued, and transfers data between the program's memory
 * and chunks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "worker/copying.h"
#include "worker/members.h"
#include "worker/order.h"
#include "worker/peer.h"
#include "worker/process_data.h"
#include "worker/suspects.h"
#include "worker/tree.h"

/* An item queued by the program: a descriptor for all nodes, or a message for one node or all. */
typedef struct dcli_posted {
    struct dcli_posted *next;
    bool is_operation;
    bool is_meeting; /* a request to connect to `node`: by a link, or by the address in the JOINED message in
                        `packed` */
    dcli_shared_link link;
    dcli_msg_operation operation;
    dcli_lent *lent; /* READ, WRITE: the program's memory; else NULL */
    int64_t strides[DCL_MAX_RANK];
    int node;     /* for a message or meeting: the node; DCL_ALL_NODES; or node_count, the host itself */
    void *packed; /* the packed message; NULL: it is a descriptor in `operation` */
    size_t packed_bytes;
    dcli_msg_operand operand[]; /* [operation.operand_count], followed by its views, declarations and their numbers */
} dcli_posted;

dcl_status dcli_host_open(dcli_worker *worker)
{
    dcli_as_host *host = worker->as_host = dcli_calloc(1, sizeof *host);
    if (host == NULL)
        return DCL_ERR_NOMEM;
    dcli_turn_init(&host->turn);
    pthread_mutex_init(&host->outbox.lock, NULL);
    pthread_mutex_init(&host->question.lock, NULL);
    dcli_cond_init(&host->question.changed);
    host->question.answered = dcli_calloc((size_t)worker->terms.node_count, sizeof(bool));
    host->outbox.loss = dcli_calloc((size_t)worker->terms.node_count, sizeof *host->outbox.loss);
    dcl_status status = dcli_suspects_open(worker);
    return host->question.answered != NULL && host->outbox.loss != NULL ? status : DCL_ERR_NOMEM;
}

static void free_posted(dcli_posted *posted)
{
    dcli_free((char *)posted->operation.path);
    dcli_free((char *)posted->operation.map);
    dcli_free(posted->packed);
    dcli_lent_release(posted->lent);
    dcli_shared_link_close(&posted->link);
    dcli_free(posted);
}

static dcli_posted *new_posted(int node)
{
    dcli_posted *posted = dcli_calloc(1, sizeof *posted);
    if (posted == NULL)
        return NULL;
    posted->node = node;
    posted->link.socket = posted->link.memory = -1;
    return posted;
}

void dcli_host_close(dcli_worker *worker)
{
    dcli_as_host *host = worker->as_host;
    if (host == NULL)
        return;
    while (host->outbox.first != NULL) {
        dcli_posted *posted = host->outbox.first;
        host->outbox.first = posted->next;
        free_posted(posted);
    }
    dcli_turn_destroy(&host->turn);
    pthread_mutex_destroy(&host->outbox.lock);
    pthread_mutex_destroy(&host->question.lock);
    pthread_cond_destroy(&host->question.changed);
    dcli_free(host->question.answered);
    dcli_free(host->outbox.loss);
    dcli_suspects_close(worker);
    dcli_free(host);
    worker->as_host = NULL;
}

/* ---- the program's threads ---------------------------------------------------------------------------------------- */

static void unlock_and_wake(dcli_worker *host)
{
    dcli_outbox *outbox = &host->as_host->outbox;
    bool wake = outbox->asleep && !outbox->held;
    bool nobody_serves = wake && dcli_turn_summon(host);
    outbox->asleep &= !wake || nobody_serves;
    pthread_mutex_unlock(&outbox->lock);
    if (wake && !nobody_serves)
        dcli_endpoint_wake(host->endpoint);
}

static void post(dcli_worker *host, dcli_posted *posted, bool defers)
{
    dcli_outbox *outbox = &host->as_host->outbox;
    pthread_mutex_lock(&outbox->lock);
    if (posted != NULL) {
        *(outbox->last != NULL ? &outbox->last->next : &outbox->first) = posted;
        outbox->last = posted;
    } else {
        outbox->stop = true;
    }
    if (defers) {
        outbox->deferred++;
        pthread_mutex_unlock(&outbox->lock);
    } else {
        unlock_and_wake(host);
    }
}

int dcli_host_deferred(dcli_worker *host)
{
    dcli_outbox *outbox = &host->as_host->outbox;
    pthread_mutex_lock(&outbox->lock);
    int deferred = outbox->held ? 0 : outbox->deferred;
    pthread_mutex_unlock(&outbox->lock);
    return deferred;
}

void dcli_host_nudge(dcli_worker *host)
{
    pthread_mutex_lock(&host->as_host->outbox.lock);
    unlock_and_wake(host);
}

void dcli_host_hold(dcli_worker *host, bool hold)
{
    dcli_outbox *outbox = &host->as_host->outbox;
    pthread_mutex_lock(&outbox->lock);
    outbox->held = hold;
    unlock_and_wake(host);
}

static dcl_status copy_text(const char **text)
{
    if (*text == NULL)
        return DCL_OK;
    *text = dcli_strdup(*text);
    return *text != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

static void copy_reaches(dcli_msg_operation *operation, const dcli_msg_operation *from)
{
    operation->reach = (dcli_msg_reach *)(operation->view + operation->view_count);
    int64_t *number = (int64_t *)(operation->reach + operation->reach_count);
    for (int r = 0; r < operation->reach_count; r++) {
        operation->reach[r] = from->reach[r];
        operation->reach[r].number = number;
        memcpy(number, from->reach[r].number, (size_t)from->reach[r].count * sizeof(int64_t));
        number += from->reach[r].count;
    }
}

dcl_status dcli_host_operation(dcli_worker *host, const dcli_msg_operation *operation, dcli_lent *lent,
                               const int64_t strides[], bool defers)
{
    size_t operands = (size_t)operation->operand_count * sizeof(dcli_msg_operand);
    size_t views = (size_t)operation->view_count * sizeof(dcli_msg_view);
    size_t reaches =
        (size_t)operation->reach_count * sizeof(dcli_msg_reach) + dcli_declared_numbers(operation) * sizeof(int64_t);
    dcli_posted *posted = dcli_malloc(sizeof *posted + operands + views + reaches);
    if (posted == NULL)
        return DCL_ERR_NOMEM;
    posted->next = NULL;
    posted->is_operation = true;
    posted->is_meeting = false;
    posted->link.socket = posted->link.memory = -1;
    posted->operation = *operation;
    posted->lent = dcli_lent_keep(lent);
    posted->packed = NULL;
    memcpy(posted->operand, operation->operand, operands);
    posted->operation.operand = posted->operand;
    posted->operation.view = (dcli_msg_view *)(posted->operand + operation->operand_count);
    if (views > 0)
        memcpy(posted->operation.view, operation->view, views);
    copy_reaches(&posted->operation, operation);
    if (strides != NULL)
        memcpy(posted->strides, strides, (size_t)operation->box.rank * sizeof(int64_t));
    if (copy_text(&posted->operation.path) != DCL_OK || copy_text(&posted->operation.map) != DCL_OK) {
        free_posted(posted);
        return DCL_ERR_NOMEM;
    }
    post(host, posted, defers);
    return DCL_OK;
}

void dcli_host_stop(dcli_worker *host) { post(host, NULL, false); }

void dcli_host_look_again(dcli_worker *host) { dcli_endpoint_wake(host->endpoint); }

void dcli_host_abandon(dcli_worker *host) { atomic_store(&host->as_host->abandoned, true); }

void dcli_host_report_loss(dcli_worker *host, int node, const char *seen)
{
    dcli_outbox *outbox = &host->as_host->outbox;
    pthread_mutex_lock(&outbox->lock);
    dcli_loss *loss = &outbox->loss[node];
    if (!loss->due)
        snprintf(loss->seen, sizeof loss->seen, "%s", seen);
    outbox->losses_due += !loss->due;
    loss->due = true;
    unlock_and_wake(host);
}

/* Pack a message and queue it; or free the item. */
static dcl_status post_message(dcli_worker *host, dcli_posted *posted, const dcli_message *message)
{
    dcl_status status = dcli_message_pack(message, &posted->packed, &posted->packed_bytes);
    if (status != DCL_OK) {
        free_posted(posted);
        return status;
    }
    post(host, posted, false);
    return DCL_OK;
}

dcl_status dcli_host_meet(dcli_worker *host, int node, const dcli_shared_link *link, const char *address,
                          const char *key)
{
    dcli_posted *posted = new_posted(node);
    if (posted == NULL) {
        dcli_shared_link unused = link != NULL ? *link : (dcli_shared_link){.socket = -1, .memory = -1};
        dcli_shared_link_close(&unused);
        return DCL_ERR_NOMEM;
    }
    posted->is_meeting = true;
    if (link != NULL)
        posted->link = *link;
    dcli_message message = {.kind = DCLI_MSG_JOINED,
                            .joined = {.peer = node, .epoch = 1, .first_operation = 1, .address = address, .key = key}};
    return post_message(host, posted, &message);
}

dcl_status dcli_host_message(dcli_worker *host, int node, const dcli_message *message)
{
    dcli_posted *posted = new_posted(node);
    return posted == NULL ? DCL_ERR_NOMEM : post_message(host, posted, message);
}

/* ---- the host's worker -------------------------------------------------------------------------------------------- */

bool dcli_host_may_sleep(dcli_worker *worker)
{
    dcli_outbox *outbox = &worker->as_host->outbox;
    pthread_mutex_lock(&outbox->lock);
    bool may = (outbox->first == NULL && outbox->losses_due == 0 && !outbox->stop) || outbox->held;
    outbox->asleep = may;
    pthread_mutex_unlock(&outbox->lock);
    return may;
}

/* Send consecutive descriptors of the queue to all nodes, in one message as far as its limits allow, and pass them to
 * the host's own state machine. *rest_out: the items after them. */
static dcl_status send_operations(dcli_worker *worker, dcli_posted *first, dcli_posted **rest_out)
{
    dcli_collected collected;
    dcli_collect_begin(&collected);
    for (dcli_posted *posted = first; posted != NULL && posted->is_operation; posted = posted->next)
        if (!dcli_collect(&collected, &posted->operation))
            break;
    dcli_message message = {.kind = DCLI_MSG_OPERATIONS, .operations = dcli_collected_message(&collected)};
    message.operations.epoch = worker->epoch;
    dcl_status status = dcli_tree_send_down(worker, &message);
    dcli_entry *entry[DCLI_MOST_OPERATIONS];
    dcli_posted *posted = first;
    for (int n = 0, count = 0; n < collected.order_count; n++) {
        dcli_posted *next = posted->next;
        int64_t like = collected.order[n];
        if (status == DCL_OK && like > 0)
            status = dcli_peer_repeat(worker, &posted->operation, entry[like - 1], posted->operation.number);
        else if (status == DCL_OK)
            status = dcli_peer_operation(worker, &posted->operation, posted->lent, posted->strides, &entry[count++]);
        free_posted(posted);
        posted = next;
    }
    *rest_out = posted;
    return status;
}

/* Handle a message to the host itself: bodies, which it parses too, and new members. */
static dcl_status hear_own(dcli_worker *worker, const dcli_message *message)
{
    dcli_kernel *kernel;
    if (message->kind == DCLI_MSG_KERNEL) {
        dcli_kernels_forget(&worker->catalog.kernels, &message->kernel);
        return dcli_kernels_add(&worker->catalog.kernels, &message->kernel, &kernel);
    }
    if (worker->gone[message->joined.peer])
        return DCL_OK; /* lost meanwhile: no node knows of it */
    worker->epoch++;
    return dcli_node_joined(worker->node, message->joined.peer, message->joined.first_operation);
}

static dcl_status send_to_one(dcli_worker *worker, int node, dcli_message *message)
{
    if (node == worker->terms.node_count)
        return hear_own(worker, message);
    if (message->kind == DCLI_MSG_JOINED && worker->gone[message->joined.peer])
        return DCL_OK;
    if (message->kind == DCLI_MSG_SETUP)
        message->setup.epoch = worker->epoch + 1; /* the epoch that begins when the new node joins */
    if (message->kind == DCLI_MSG_JOINED)
        /* The host's own epoch is raised when it processes this message, last. */
        message->joined.epoch = worker->epoch + 1;
    return dcli_peer_send(worker, node, message, NULL);
}

static dcl_status send_to_all(dcli_worker *worker, dcli_message *message)
{
    dcl_status status = DCL_OK;
    if (message->kind == DCLI_MSG_KERNEL) {
        status = dcli_tree_send_down(worker, message);
        return status == DCL_OK ? hear_own(worker, message) : status;
    }
    for (int node = 0; node < worker->terms.node_count && status == DCL_OK; node++)
        if (worker->gone[node])
            dcli_question_answer(worker, node, DCLI_ANY_QUESTION, true);
        else {
            if (message->kind == DCLI_MSG_TRACE)
                message->trace.asked_ns = dcli_monotonic_ns();
            status = dcli_peer_send(worker, node, message, NULL);
        }
    return status;
}

/* Connect to a joining process, so that messages can be exchanged. The state machine learns of it later, by JOINED. */
static dcl_status meet(dcli_worker *worker, dcli_posted *posted, const dcli_message *message)
{
    if (!worker->absent[posted->node])
        return DCL_OK; /* the process is lost already */
    worker->gone[posted->node] = false;
    if (posted->link.socket < 0)
        return dcli_endpoint_meet(worker->endpoint, posted->node, message->joined.address, message->joined.key);
    dcli_shared_link link = posted->link;
    posted->link.socket = posted->link.memory = -1;
    return dcli_endpoint_add_link(worker->endpoint, posted->node, &link);
}

static dcl_status send_message(dcli_worker *worker, dcli_posted *posted)
{
    dcli_arena arena = {0};
    dcli_message message;
    dcl_status status;
    status = dcli_message_unpack(posted->packed, posted->packed_bytes, &arena, &message);
    if (status == DCL_OK && posted->is_meeting)
        status = meet(worker, posted, &message);
    else if (status == DCL_OK && posted->node == DCL_ALL_NODES)
        status = send_to_all(worker, &message);
    else if (status == DCL_OK)
        status = send_to_one(worker, posted->node, &message);
    dcli_arena_free(&arena);
    free_posted(posted);
    return status;
}

/* Take a reported loss. @return number of the lost node; -1: none. */
static int take_loss(dcli_outbox *outbox, char seen_out[sizeof(dcli_loss)])
{
    int node = -1;
    pthread_mutex_lock(&outbox->lock);
    if (outbox->losses_due > 0 && !outbox->held) {
        node = 0;
        while (!outbox->loss[node].due)
            node++;
        outbox->loss[node].due = false;
        outbox->losses_due--;
        memcpy(seen_out, outbox->loss[node].seen, sizeof outbox->loss[node].seen);
    }
    pthread_mutex_unlock(&outbox->lock);
    return node;
}

/* Process reported losses before queued messages, so that the messages of a join are not separated. */
static dcl_status take_losses(dcli_worker *worker)
{
    char seen[sizeof(dcli_loss)];
    dcl_status status = DCL_OK;
    for (int node; status == DCL_OK && (node = take_loss(&worker->as_host->outbox, seen)) >= 0;)
        status = dcli_host_lose(worker, node, seen);
    return status;
}

dcl_status dcli_host_take(dcli_worker *worker, bool *stop_out)
{
    dcli_outbox *outbox = &worker->as_host->outbox;
    dcl_status status = take_losses(worker);
    pthread_mutex_lock(&outbox->lock);
    dcli_posted *posted = outbox->held ? NULL : outbox->first;
    if (!outbox->held) {
        outbox->first = outbox->last = NULL;
        outbox->deferred = 0;
    }
    *stop_out = outbox->stop && posted == NULL && !outbox->held;
    pthread_mutex_unlock(&outbox->lock);
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

static dcl_status unpack_read(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, int64_t batch,
                              dcli_start *start_out)
{
    const dcli_chunk *chunk = &plan->chunk[plan->batch[batch].first_chunk];
    const dcli_stored_chunk *stored =
        dcli_chunks_find(&worker->received, chunk->peer, entry->operation.number, false, chunk->number);
    if (stored != NULL && stored->received.payload_missing)
        return DCLI_FAIL(DCL_ERR_NOMEM, "elements from node %d are not there: " DCLI_NO_ROOM, chunk->peer);
    if (stored == NULL || stored->received.payload_bytes != (size_t)chunk->bytes)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "node %d sent a chunk of another length than %" PRId64 " bytes", chunk->peer,
                         chunk->bytes);
    dcl_status status =
        dcli_copying_start(worker, entry, batch, chunk, (void *)(uintptr_t)stored->received.payload, start_out);
    return status == DCL_ERR_INVALID ? DCL_OK : status; /* the call has returned: nobody needs the elements */
}

/* Get memory for a chunk that the program writes: a slot of the receiving node's device if there is one, else a
 * buffer. */
static void *take_room(dcli_worker *worker, dcli_stored_chunk *made, const dcli_chunk *chunk)
{
    const dcli_process_data *process_data = worker->process_data;
    dcli_device *device = chunk->peer < process_data->peers ? process_data->device[chunk->peer] : NULL;
    if (device != NULL && !dcli_device_in_place(device))
        made->slot = dcli_slot_borrow(device, (size_t)chunk->bytes);
    if (made->slot != NULL)
        return dcli_slot_host(made->slot);
    return made->bytes = dcli_buffers_take(worker->terms.buffers, (size_t)chunk->bytes);
}

static dcl_status pack_write(dcli_worker *worker, dcli_entry *entry, const dcli_plan *plan, int64_t batch,
                             dcli_start *start_out)
{
    int64_t number = plan->batch[batch].first_made;
    const dcli_chunk *chunk = &plan->chunk[number];
    dcli_stored_chunk *made = dcli_chunks_add(&worker->made, chunk->peer, entry->operation.number, true, number);
    void *packed = made != NULL ? take_room(worker, made, chunk) : NULL;
    if (packed == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_copying_start(worker, entry, batch, chunk, packed, start_out);
    if (status == DCL_ERR_INVALID)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the call that writes had ended with an error before its elements were taken; "
                         "write them again");
    return status;
}

dcl_status dcli_host_run(dcli_worker *worker, dcli_entry *entry, int64_t batch, dcli_start *start_out)
{
    const dcli_plan *plan = dcli_entry_plan(entry, worker->terms.self)->plan;
    return entry->operation.kind == DCLI_OP_READ ? unpack_read(worker, entry, plan, batch, start_out)
                                                 : pack_write(worker, entry, plan, batch, start_out);
}
