/* worker/tree.c - forward descriptors down a tree, and combine watermarks upwards. */
#include "worker/tree.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "net/proof.h"
#include "worker/order.h"

/* ---- the shape ---------------------------------------------------------------------------------------------------- */

bool dcli_tree_is(const dcli_worker *worker) { return worker->terms.tree_nodes > worker->terms.fanout; }

/* The parent of a node before any loss. */
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

/* Whether `node` is a child of this peer. */
static bool is_child(const dcli_worker *worker, int node)
{
    return !worker->gone[node] && node != worker->terms.self && dcli_tree_parent(worker, node) == worker->terms.self;
}

/* The next node that may be a child of this peer, after one that is none: the host passes over all children of a node that
 * is not lost. */
static int next_candidate(const dcli_worker *worker, int node)
{
    bool is_below = worker->is_host && node < worker->terms.tree_nodes;
    int parent = is_below ? first_parent(worker, node) : worker->terms.node_count;
    if (parent == worker->terms.node_count || worker->gone[parent])
        return node + 1;
    return dcli_min(worker->terms.fanout * (parent + 2), worker->terms.tree_nodes);
}

/* A node's children follow from its number; so do the host's until a node was lost or has joined. */
int dcli_tree_next_child(const dcli_worker *worker, int after)
{
    int nodes = worker->terms.node_count, end = nodes, node = after + 1;
    if (!worker->is_host && !dcli_tree_is(worker))
        return -1;
    if (!worker->is_host) {
        node = dcli_max(node, worker->terms.fanout * (worker->terms.self + 1));
        end = dcli_min(worker->terms.fanout * (worker->terms.self + 2), worker->terms.tree_nodes);
    } else if (dcli_tree_is(worker) && worker->epoch == 0) {
        end = worker->terms.fanout;
    }
    while (node < end && !is_child(worker, node))
        node = next_candidate(worker, node);
    return node < end ? node : -1;
}

/* ---- down --------------------------------------------------------------------------------------------------------- */

/* A message that may not have reached all nodes yet. */
typedef struct dcli_said {
    struct dcli_said *next;
    int64_t last_operation; /* number of the message's last operation; 0: it announces a body */
    void *packed;
    size_t bytes;
} dcli_said;

/* The proof that a message is the host's. NULL: a FAILED needs none, because a node may let an operation fail. */
static dcli_msg_proof *proof_of(dcli_message *message)
{
    if (message->kind == DCLI_MSG_FAILED)
        return NULL;
    return message->kind == DCLI_MSG_KERNEL ? &message->kernel.proof : &message->operations.proof;
}

/* The child through which a node hears this worker; -1: none. */
static int child_above(const dcli_worker *worker, int node)
{
    while (node != worker->terms.node_count && !is_child(worker, node))
        node = worker->gone[node] ? worker->terms.node_count : dcli_tree_parent(worker, node);
    return node != worker->terms.node_count ? node : -1;
}

static dcl_status make_keys(dcli_worker *worker)
{
    worker->as_host->word_keys = dcli_calloc((size_t)worker->terms.node_count, sizeof *worker->as_host->word_keys);
    for (int node = 0; worker->as_host->word_keys != NULL && node < worker->terms.tree_nodes; node++)
        dcli_secret_derive(worker->terms.word_secret, DCLI_WORD_KEY, node, worker->as_host->word_keys[node]);
    return worker->as_host->word_keys != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

/* Host: make the tags for all nodes that get the message through others. `packed` is the message without them. */
static dcl_status prove(dcli_worker *worker, const void *packed, size_t bytes, bool needs_proof, dcli_msg_proof *proof,
                        int64_t numbers[2 * DCLI_MOST_NODES])
{
    unsigned char digest[DCLI_DIGEST_BYTES];
    *proof = (dcli_msg_proof){.number = numbers};
    if (worker->terms.word_secret == NULL || !needs_proof)
        return DCL_OK;
    if (worker->as_host->word_keys == NULL && make_keys(worker) != DCL_OK)
        return DCL_ERR_NOMEM;
    dcli_digest(packed, bytes, digest);
    for (int node = worker->terms.fanout; node < worker->terms.tree_nodes; node++)
        if (!worker->gone[node] && !is_child(worker, node)) {
            numbers[proof->count++] = node;
            numbers[proof->count++] = (int64_t)dcli_tag(worker->as_host->word_keys[node], digest);
        }
    return DCL_OK;
}

bool dcli_tree_believes(const dcli_worker *worker, int from, dcli_message *message)
{
    unsigned char digest[DCLI_DIGEST_BYTES];
    void *packed;
    size_t bytes;
    if (from == worker->terms.node_count)
        return true;
    if (worker->is_host || from != dcli_tree_parent(worker, worker->terms.self))
        return false;
    const char *key = worker->terms.word_key;
    if (key == NULL || key[0] == '\0')
        return true;
    dcli_msg_proof *proof = proof_of(message), whole = *proof;
    proof->count = 0;
    dcl_status status = dcli_message_pack(message, &packed, &bytes);
    *proof = whole;
    if (status != DCL_OK)
        return false;
    dcli_digest(packed, bytes, digest);
    dcli_free(packed);
    for (int n = 0; n + 1 < whole.count; n += 2)
        if (whole.number[n] == worker->terms.self)
            return (uint64_t)whole.number[n + 1] == dcli_tag(key, digest);
    return false;
}

/* Send a message to one child, with the tags of the child (not needed from the host) and of those below it. */
static dcl_status send_word(dcli_worker *worker, int child, dcli_message *message, const dcli_msg_proof *whole)
{
    int64_t numbers[2 * DCLI_MOST_NODES];
    dcli_msg_proof *proof = proof_of(message);
    if (proof == NULL)
        return dcli_peer_send(worker, child, message, NULL);
    *proof = (dcli_msg_proof){.number = numbers};
    for (int n = 0; n + 1 < whole->count; n += 2) {
        int64_t node = whole->number[n];
        if (node < 0 || node >= worker->terms.tree_nodes || child_above(worker, (int)node) != child)
            continue;
        numbers[proof->count++] = node;
        numbers[proof->count++] = whole->number[n + 1];
    }
    dcl_status status = dcli_peer_send(worker, child, message, NULL);
    *proof = *whole;
    return status;
}

static dcl_status keep(dcli_worker *worker, const dcli_message *message)
{
    dcli_said *said = dcli_calloc(1, sizeof *said);
    if (said == NULL || dcli_message_pack(message, &said->packed, &said->bytes) != DCL_OK) {
        dcli_free(said);
        return DCL_ERR_NOMEM;
    }
    if (message->kind == DCLI_MSG_OPERATIONS)
        said->last_operation = dcli_order_last(&message->operations);
    *(worker->as_host->last_said != NULL ? &worker->as_host->last_said->next : &worker->as_host->said) = said;
    worker->as_host->last_said = said;
    return DCL_OK;
}

static void drop_first(dcli_worker *worker)
{
    dcli_said *said = worker->as_host->said;
    worker->as_host->said = said->next;
    if (worker->as_host->said == NULL)
        worker->as_host->last_said = NULL;
    dcli_free(said->packed);
    dcli_free(said);
}

/* Drop messages that have arrived everywhere: those up to a complete operation, with the bodies before it. */
static void forget_said(dcli_worker *worker, int64_t complete)
{
    const dcli_said *until = NULL;
    for (const dcli_said *said = worker->as_host->said; said != NULL && said->last_operation <= complete;
         said = said->next)
        if (said->last_operation > 0)
            until = said;
    while (until != NULL) {
        bool last = worker->as_host->said == until;
        drop_first(worker);
        if (last)
            return;
    }
}

static void drop_held(dcli_held_risen *held)
{
    dcli_free(held->risen.notice);
    *held = (dcli_held_risen){0};
}

static void free_of_host(dcli_worker *worker)
{
    dcli_as_host *host = worker->as_host;
    while (host->said != NULL)
        drop_first(worker);
    if (host->word_keys != NULL)
        explicit_bzero(host->word_keys, (size_t)worker->terms.node_count * sizeof *host->word_keys);
    dcli_free(host->word_keys);
    for (int node = 0; host->rising != NULL && node < worker->terms.node_count; node++) {
        drop_held(&host->rising[node].oldest);
        drop_held(&host->rising[node].newest);
    }
    dcli_free(host->rising);
    host->word_keys = NULL;
    host->rising = NULL;
}

void dcli_tree_free(dcli_worker *worker)
{
    if (worker->as_host != NULL)
        free_of_host(worker);
    if (worker->as_node != NULL) {
        dcli_free(worker->as_node->notices_of);
        dcli_node_list_free(&worker->as_node->noticed);
    }
    dcli_free(worker->risen);
}

dcl_status dcli_tree_send_down(dcli_worker *worker, dcli_message *message)
{
    bool first = worker->is_host && dcli_tree_is(worker);
    int64_t numbers[2 * DCLI_MOST_NODES];
    dcli_msg_proof *proof = proof_of(message), whole = proof != NULL ? *proof : (dcli_msg_proof){0};
    message->epoch = worker->terms.session; /* the tags cover it, too */
    dcl_status status = first ? keep(worker, message) : DCL_OK;
    if (status == DCL_OK && first)
        status = prove(worker, worker->as_host->last_said->packed, worker->as_host->last_said->bytes, proof != NULL,
                       &whole, numbers);
    for (int node = dcli_tree_next_child(worker, -1); node >= 0 && status == DCL_OK;
         node = dcli_tree_next_child(worker, node))
        status = send_word(worker, node, message, &whole);
    if (proof != NULL)
        *proof = (dcli_msg_proof){0};
    return status;
}

dcl_status dcli_tree_pass_on(dcli_worker *worker, const dcli_msg_failed *failed)
{
    dcli_message message = {.kind = DCLI_MSG_FAILED, .failed = *failed};
    message.failed.cause = false;
    message.failed.sentence = ""; /* which only the host reads */
    return dcli_tree_send_down(worker, &message);
}

static dcl_status say_again(dcli_worker *worker, int node)
{
    dcli_arena arena = {0};
    dcl_status status = DCL_OK;
    for (const dcli_said *said = worker->as_host->said; said != NULL && status == DCL_OK; said = said->next) {
        int64_t numbers[2 * DCLI_MOST_NODES];
        dcli_msg_proof whole;
        dcli_message message;
        status = dcli_message_unpack(said->packed, said->bytes, &arena, &message);
        if (status == DCL_OK)
            status = prove(worker, said->packed, said->bytes, proof_of(&message) != NULL, &whole, numbers);
        if (status == DCL_OK)
            status = send_word(worker, node, &message, &whole);
    }
    dcli_arena_free(&arena);
    return status;
}

/* ---- up ----------------------------------------------------------------------------------------------------------- */

static dcl_status allocate(dcli_worker *worker)
{
    size_t nodes = (size_t)worker->terms.node_count;
    if (worker->risen == NULL)
        worker->risen = dcli_calloc(nodes, sizeof *worker->risen);
    if (worker->is_host && worker->as_host->rising == NULL)
        worker->as_host->rising = dcli_calloc(nodes, sizeof *worker->as_host->rising);
    if (!worker->is_host && worker->as_node->notices_of == NULL)
        worker->as_node->notices_of = dcli_calloc(nodes, sizeof *worker->as_node->notices_of);
    bool have = worker->risen != NULL &&
                (worker->is_host ? worker->as_host->rising != NULL : worker->as_node->notices_of != NULL);
    return have ? DCL_OK : DCL_ERR_NOMEM;
}

int dcli_tree_speaker(const dcli_worker *host, int node)
{
    while (dcli_tree_parent(host, node) != host->terms.node_count)
        node = dcli_tree_parent(host, node);
    return node;
}

/* Whether all FAILED and REPORT messages that a RISEN message counts have arrived. Those of a lost node may never
 * arrive; they are not waited for. */
static bool have_come(const dcli_worker *worker, const dcli_msg_risen *risen)
{
    for (int n = 0; n < risen->notice_count; n += 2)
        if (!worker->gone[risen->notice[n]] && worker->as_host->rising[risen->notice[n]].notices < risen->notice[n + 1])
            return false;
    return true;
}

/* Host: apply the watermarks of a child and all nodes below it. */
static dcl_status take_marks(dcli_worker *worker, int child, const dcli_msg_risen *risen)
{
    static const int64_t nothing[DCLI_MSG_COUNTERS];
    worker->risen[child] = (dcli_risen){risen->done, risen->ready};
    worker->terms.hooks->marks(worker->terms.hooks->user, child, risen->done, risen->ready, nothing);
    dcl_status status = dcli_node_marks(worker->node, child, risen->done, risen->ready);
    if (status != DCL_OK)
        return status;
    int64_t complete = INT64_MAX;
    for (int node = dcli_tree_next_child(worker, -1); node >= 0; node = dcli_tree_next_child(worker, node))
        complete = dcli_min(complete, worker->risen[node].ready);
    forget_said(worker, complete);
    return DCL_OK;
}

/* Host: apply the stored RISEN messages of a child whose counted notices have all arrived. */
static dcl_status take_held(dcli_worker *worker, int child)
{
    dcli_rising *rising = &worker->as_host->rising[child];
    dcl_status status = DCL_OK;
    while (status == DCL_OK && rising->oldest.is_held && have_come(worker, &rising->oldest.risen)) {
        dcli_held_risen taken = rising->oldest;
        rising->oldest = rising->newest;
        rising->newest = (dcli_held_risen){0};
        status = take_marks(worker, child, &taken.risen);
        drop_held(&taken);
    }
    return status;
}

static dcl_status take_all_held(dcli_worker *worker)
{
    dcl_status status = DCL_OK;
    for (int node = dcli_tree_next_child(worker, -1); node >= 0 && status == DCL_OK;
         node = dcli_tree_next_child(worker, node))
        status = take_held(worker, node);
    return status;
}

/* Host: store a RISEN message as the oldest or newest one of a child; a later newest one replaces it. */
static dcl_status hold(dcli_worker *worker, int child, const dcli_msg_risen *risen)
{
    dcli_rising *rising = &worker->as_host->rising[child];
    dcli_held_risen *held = rising->oldest.is_held ? &rising->newest : &rising->oldest;
    int64_t *notice = NULL;
    size_t bytes = (size_t)risen->notice_count * sizeof *notice;
    if (bytes > 0 && (notice = dcli_malloc(bytes)) == NULL)
        return DCL_ERR_NOMEM;
    if (bytes > 0)
        memcpy(notice, risen->notice, bytes);
    drop_held(held);
    *held = (dcli_held_risen){.is_held = true, .risen = *risen};
    held->risen.notice = notice;
    return DCL_OK;
}

dcl_status dcli_tree_take_notice(dcli_worker *worker, int from)
{
    if (!dcli_tree_is(worker))
        return DCL_OK;
    dcl_status status = allocate(worker);
    if (status != DCL_OK)
        return status;
    worker->as_host->rising[from].notices++;
    return take_all_held(worker); /* of all children: after a loss, another child may have counted this notice */
}

static dcl_status check_risen(const dcli_worker *worker, int from, const dcli_msg_risen *risen)
{
    if (from >= worker->terms.node_count || risen->ready > risen->done)
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "peer %d says RISEN with done %lld, ready %lld", from,
                         (long long)risen->done, (long long)risen->ready);
    bool pairs = risen->notice_count % 2 == 0;
    for (int n = 0; pairs && n < risen->notice_count; n += 2)
        pairs = risen->notice[n] < worker->terms.node_count;
    return pairs
               ? DCL_OK
               : DCLI_FAIL(DCL_ERR_PROTOCOL,
                           "peer %d says RISEN with notices that are not pairs of a node's number, 0..%d, and a count",
                           from, worker->terms.node_count - 1);
}

/* Node: record how many FAILED and REPORT a node has sent to the host. */
static dcl_status note_notices(dcli_as_node *own, int node, int64_t count)
{
    own->notices_of[node] = count;
    return count > 0 ? dcli_node_list_add(&own->noticed, node) : DCL_OK;
}

dcl_status dcli_tree_take_risen(dcli_worker *worker, int from, const dcli_msg_risen *risen)
{
    dcl_status status = check_risen(worker, from, risen);
    if (status == DCL_OK)
        status = allocate(worker);
    if (status != DCL_OK)
        return status;
    if (worker->is_host) {
        status = hold(worker, from, risen);
        return status == DCL_OK ? take_held(worker, from) : status;
    }
    worker->risen[from] = (dcli_risen){risen->done, risen->ready};
    for (int n = 0; n < risen->notice_count && is_child(worker, from) && status == DCL_OK; n += 2)
        if (risen->notice[n] < worker->terms.tree_nodes)
            status = note_notices(worker->as_node, (int)risen->notice[n], risen->notice[n + 1]);
    return status;
}

dcl_status dcli_tree_rise(dcli_worker *worker)
{
    dcli_as_node *own = worker->as_node;
    dcl_status status = allocate(worker);
    if (status != DCL_OK)
        return status;
    int64_t pairs[2 * DCLI_MOST_NODES], notices = 0;
    dcli_msg_risen least = {.notice = pairs};
    dcli_node_watermarks(worker->node, &least.done, &least.ready);
    status = note_notices(own, worker->terms.self, own->notices);
    if (status != DCL_OK)
        return status;
    for (int node = dcli_tree_next_child(worker, -1); node >= 0; node = dcli_tree_next_child(worker, node)) {
        least.done = dcli_min(least.done, worker->risen[node].done);
        least.ready = dcli_min(least.ready, worker->risen[node].ready);
    }
    for (int64_t n = 0; n < own->noticed.count; n++) {
        int node = own->noticed.node[n];
        assert(least.notice_count < 2 * DCLI_MOST_NODES); /* all nodes below are in the tree, which has no more */
        pairs[least.notice_count++] = node;
        pairs[least.notice_count++] = own->notices_of[node];
        notices += own->notices_of[node];
    }
    const dcli_risen *told = &own->told_risen;
    if (least.done == told->done && least.ready == told->ready && notices == own->told_notices)
        return DCL_OK;
    own->told_risen = (dcli_risen){least.done, least.ready};
    own->told_notices = notices;
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
        worker->as_node->told_risen = (dcli_risen){.done = -1}; /* report again: the parent may be a new one */
        return dcli_tree_rise(worker);
    }
    status = allocate(worker);
    for (int node = 0; node < worker->terms.tree_nodes && status == DCL_OK; node++)
        if (first_parent(worker, node) == lost && !worker->gone[node]) {
            static const int64_t nothing[DCLI_MSG_COUNTERS];
            /* The nodes that were below the lost one are at least as far as it reported. */
            worker->risen[node] = worker->risen[lost];
            worker->terms.hooks->marks(worker->terms.hooks->user, node, worker->risen[lost].done,
                                       worker->risen[lost].ready, nothing);
            status = dcli_node_marks(worker->node, node, worker->risen[lost].done, worker->risen[lost].ready);
            if (status == DCL_OK)
                status = say_again(worker, node);
        }
    if (status == DCL_OK) {
        drop_held(&worker->as_host->rising[lost].oldest);
        drop_held(&worker->as_host->rising[lost].newest);
    }
    return status == DCL_OK ? take_all_held(worker) : status;
}
