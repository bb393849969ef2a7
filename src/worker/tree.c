/* worker/tree.c - descriptors down a tree, watermarks up. */
#include "worker/tree.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

/* ---- the shape ---------------------------------------------------------------------------------------------------- */

bool dcli_tree_is(const dcli_worker *worker) { return worker->terms.tree_nodes > worker->terms.fanout; }

/* As it was before anybody was lost. */
static int first_parent(const dcli_worker *worker, int node)
{
    int fanout = worker->terms.fanout;
    if (!dcli_tree_is(worker) || node >= worker->terms.tree_nodes || node < fanout)
        return worker->terms.node_count;
    return node / fanout - 1;
}

int dcli_tree_parent(const dcli_worker *worker, int node)
{
    int parent = first_parent(worker, node);
    return worker->gone[parent] ? worker->terms.node_count : parent;
}

bool dcli_tree_is_child(const dcli_worker *worker, int node)
{
    return !worker->gone[node] && node != worker->terms.self && dcli_tree_parent(worker, node) == worker->terms.self;
}

/* ---- down --------------------------------------------------------------------------------------------------------- */

/* A message that may not have reached everyone. */
typedef struct dcli_said {
    struct dcli_said *next;
    int64_t last_operation; /* 0: a body */
    void *packed;
    size_t bytes;
} dcli_said;

static dcl_status keep(dcli_worker *worker, const dcli_message *message)
{
    dcli_said *said = dcli_calloc(1, sizeof *said);
    if (said == NULL || dcli_message_pack(message, &said->packed, &said->bytes) != DCL_OK) {
        dcli_free(said);
        return DCL_ERR_NOMEM;
    }
    if (message->kind == DCLI_MSG_OPERATIONS)
        said->last_operation = message->operations.operation[message->operations.count - 1].number;
    *(worker->last_said != NULL ? &worker->last_said->next : &worker->said) = said;
    worker->last_said = said;
    return DCL_OK;
}

static void drop_first(dcli_worker *worker)
{
    dcli_said *said = worker->said;
    worker->said = said->next;
    if (worker->said == NULL)
        worker->last_said = NULL;
    dcli_free(said->packed);
    dcli_free(said);
}

/* Bodies before a complete operation have arrived, too. */
void dcli_tree_forget(dcli_worker *worker, int64_t complete)
{
    const dcli_said *until = NULL;
    for (const dcli_said *said = worker->said; said != NULL && said->last_operation <= complete; said = said->next)
        if (said->last_operation > 0)
            until = said;
    while (until != NULL) {
        bool last = worker->said == until;
        drop_first(worker);
        if (last)
            return;
    }
}

void dcli_tree_free(dcli_worker *worker)
{
    while (worker->said != NULL)
        drop_first(worker);
    dcli_free(worker->risen);
}

dcl_status dcli_tree_send_down(dcli_worker *worker, dcli_message *message)
{
    dcl_status status = worker->is_host && dcli_tree_is(worker) ? keep(worker, message) : DCL_OK;
    for (int node = 0; node < worker->terms.node_count && status == DCL_OK; node++)
        if (dcli_tree_is_child(worker, node))
            status = dcli_peer_send(worker, node, message, NULL);
    return status;
}

static dcl_status say_again(dcli_worker *worker, int node)
{
    dcli_arena arena = {0};
    dcl_status status = DCL_OK;
    for (const dcli_said *said = worker->said; said != NULL && status == DCL_OK; said = said->next) {
        dcli_message message;
        status = dcli_message_unpack(said->packed, said->bytes, &arena, &message);
        if (status == DCL_OK)
            status = dcli_peer_send(worker, node, &message, NULL);
    }
    dcli_arena_free(&arena);
    return status;
}

/* ---- up ----------------------------------------------------------------------------------------------------------- */

static dcl_status have_books(dcli_worker *worker)
{
    if (worker->risen == NULL)
        worker->risen = dcli_calloc((size_t)worker->terms.node_count, sizeof *worker->risen);
    return worker->risen != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Host: all below a child have come at least as far. */
static dcl_status note_subtree(dcli_worker *worker, int child, const dcli_msg_risen *risen)
{
    dcl_status status = DCL_OK;
    for (int node = 0; node < worker->terms.node_count && status == DCL_OK; node++) {
        if (worker->gone[node])
            continue;
        int top = node;
        while (dcli_tree_parent(worker, top) != worker->terms.node_count)
            top = dcli_tree_parent(worker, top);
        if (top == child)
            status = dcli_node_marks(worker->node, node, risen->done, risen->ready);
    }
    return status;
}

dcl_status dcli_tree_take_risen(dcli_worker *worker, int from, const dcli_msg_risen *risen)
{
    if (from >= worker->terms.node_count || risen->ready > risen->done)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d says RISEN with done %lld, ready %lld", from,
                         (long long)risen->done, (long long)risen->ready);
    dcl_status status = have_books(worker);
    if (status != DCL_OK)
        return status;
    worker->risen[from] = *risen;
    if (!worker->is_host)
        return DCL_OK;
    static const int64_t nothing[DCLI_MSG_COUNTERS];
    worker->terms.hooks->marks(worker->terms.hooks->user, from, risen->done, risen->ready, nothing);
    status = note_subtree(worker, from, risen);
    if (status != DCL_OK)
        return status;
    int64_t complete = INT64_MAX;
    for (int node = 0; node < worker->terms.node_count; node++)
        if (dcli_tree_is_child(worker, node))
            complete = dcli_min(complete, worker->risen[node].ready);
    dcli_tree_forget(worker, complete);
    return DCL_OK;
}

dcl_status dcli_tree_rise(dcli_worker *worker)
{
    dcl_status status = have_books(worker);
    if (status != DCL_OK)
        return status;
    dcli_msg_risen least = {0};
    dcli_node_watermarks(worker->node, &least.done, &least.ready);
    for (int node = 0; node < worker->terms.node_count; node++)
        if (dcli_tree_is_child(worker, node)) {
            least.done = dcli_min(least.done, worker->risen[node].done);
            least.ready = dcli_min(least.ready, worker->risen[node].ready);
        }
    if (least.done == worker->told_risen.done && least.ready == worker->told_risen.ready)
        return DCL_OK;
    worker->told_risen = least;
    dcli_message message = {.kind = DCLI_MSG_RISEN, .risen = least};
    return dcli_peer_send(worker, dcli_tree_parent(worker, worker->terms.self), &message, NULL);
}

/* ---- losses ------------------------------------------------------------------------------------------------------- */

dcl_status dcli_tree_mend(dcli_worker *worker, int lost)
{
    dcl_status status = DCL_OK;
    if (!dcli_tree_is(worker))
        return DCL_OK;
    if (!worker->is_host) {
        worker->told_risen = (dcli_msg_risen){.done = -1}; /* whoever is the parent now has not been told */
        return dcli_tree_rise(worker);
    }
    status = have_books(worker);
    for (int node = 0; node < worker->terms.tree_nodes && status == DCL_OK; node++)
        if (first_parent(worker, node) == lost && !worker->gone[node]) {
            static const int64_t nothing[DCLI_MSG_COUNTERS];
            worker->risen[node] = worker->risen[lost]; /* at least as far */
            worker->terms.hooks->marks(worker->terms.hooks->user, node, worker->risen[lost].done,
                                       worker->risen[lost].ready, nothing);
            status = say_again(worker, node);
        }
    return status;
}
