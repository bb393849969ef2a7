/* worker/members.c - peers that join and are lost. */
#include "worker/members.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/files.h"
#include "worker/blame.h"
#include "worker/pinned.h"
#include "worker/profile.h"
#include "worker/stealing.h"
#include "worker/suspects.h"
#include "worker/tree.h"

/* ---- losing ------------------------------------------------------------------------------------------------------- */

static bool is_node(const dcli_worker *worker, int peer) { return peer >= 0 && peer < worker->terms.node_count; }

/* Remove a lost peer: drop the connection, inform the state machine, and drop its chunks for operations that are not
 * known yet, and its memory that is mapped or imported here. */
static dcl_status forget(dcli_worker *worker, int peer)
{
    worker->gone[peer] = true;
    dcli_endpoint_drop(worker->endpoint, peer);
    if (!worker->is_host)
        dcli_loan_loses(worker, peer);
    dcl_status status = dcli_node_lost(worker->node, peer);
    dcli_chunks_drop_after(&worker->received, peer, worker->catalog.entries.last_operation);
    if (worker->terms.is_process && !worker->is_host)
        dcli_address_table_end_memory(worker->terms.addresses, peer, 0);
    if (!worker->is_host)
        dcli_device_end_imports(worker->as_node->device, peer, 0);
    return status;
}

dcl_status dcli_host_lose(dcli_worker *worker, int peer, const char *seen)
{
    if (!is_node(worker, peer) || (worker->gone[peer] && !worker->absent[peer]))
        return DCL_OK;
    worker->absent[peer] = false; /* lost before it has joined: it never will */
    if (worker->as_host->suspects.node[peer].due_ns != 0)
        seen = worker->as_host->suspects.node[peer].seen; /* this worker noticed the loss before anybody reported it */
    dcli_suspects_forget(worker, peer);
    char sentence[DCLI_MOST_SENTENCE];
    worker->terms.fleet->lose(worker->terms.fleet->user, peer, seen, sentence, sizeof sentence);
    dcl_status status = forget(worker, peer);
    worker->epoch++;
    if (status == DCL_OK)
        status = dcli_tree_mend(worker, peer);
    dcli_message message = {.kind = DCLI_MSG_LOST,
                            .lost = {.peer = peer, .epoch = worker->epoch, .sentence = sentence}};
    for (int node = 0; node < worker->terms.node_count && status == DCL_OK; node++)
        status = dcli_peer_send(worker, node, &message, NULL);
    DCLI_LOG(worker->terms.log, DCLI_LOG_WARN, "epoch %" PRId64 ": %s", worker->epoch, sentence);
    worker->terms.hooks->lost(worker->terms.hooks->user, peer, sentence);
    dcli_question_answer(worker, peer, DCLI_ANY_QUESTION, true); /* do not wait for its answer any longer */
    return status;
}

dcl_status dcli_peer_is_gone(dcli_worker *worker, int peer)
{
    char sentence[DCLI_ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
    if (worker->is_host)
        dcli_suspects_notice(worker, peer, sentence);
    if (worker->is_host)
        return DCL_OK;
    if (!is_node(worker, peer)) {
        worker->stopping = true; /* the host is gone, so the program is: stop */
        dcli_watch_farewell(worker->terms.watch, sentence);
        return DCL_OK;
    }
    if (worker->gone[peer])
        return DCL_OK;
    /* The host decides which of the two nodes is declared lost: the peer, or this node if it cannot reach others
     * either. */
    dcli_message message = {.kind = DCLI_MSG_LOST, .lost = {.peer = peer, .sentence = sentence}};
    return dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

dcl_status dcli_peer_offends(dcli_worker *worker, int peer)
{
    char sentence[DCLI_ERROR_BYTES];
    if (!worker->terms.is_process || !is_node(worker, peer) || peer == worker->terms.self)
        return dcli_error_status();
    snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
    if (worker->is_host)
        return dcli_host_lose(worker, peer, sentence);
    dcli_endpoint_drop(worker->endpoint, peer); /* receive nothing more from it */
    return dcli_peer_is_gone(worker, peer);
}

dcl_status dcli_host_complaint(dcli_worker *worker, int from, const dcli_msg_lost *lost)
{
    if (is_node(worker, lost->peer) && is_node(worker, from))
        dcli_suspects_complain(worker, from, lost->peer, lost->sentence);
    return DCL_OK;
}

/* If the loss was caused by a body, do not build or run that body on this node either. */
static void blame_body(dcli_worker *worker, const char *sentence)
{
    dcli_kernel *kernel = dcli_kernels_find(&worker->catalog.kernels, dcli_blamed_body(sentence));
    if (kernel == NULL || kernel->build_status == DCL_ERR_BODY)
        return;
    kernel->build_status = DCL_ERR_BODY;
    dcli_free(kernel->build_problem);
    kernel->build_problem = dcli_strdup(sentence);
}

dcl_status dcli_take_lost(dcli_worker *worker, const dcli_msg_lost *lost)
{
    if (!is_node(worker, lost->peer))
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "the host says that peer %d is lost; expected a node", lost->peer);
    worker->epoch = dcli_max(worker->epoch, lost->epoch); /* a joining node receives older messages after its SETUP */
    if (lost->peer == worker->terms.self) {
        worker->stopping = true; /* this node was declared lost: the others continue without it */
        return DCL_OK;
    }
    DCLI_LOG(worker->terms.log, DCLI_LOG_INFO, "node %d: epoch %" PRId64 ": %s", worker->terms.self, lost->epoch,
             lost->sentence);
    blame_body(worker, lost->sentence);
    if (worker->gone[lost->peer])
        return DCL_OK;
    dcl_status status = forget(worker, lost->peer);
    dcli_stealing_members(worker);
    if (status == DCL_OK)
        status = dcli_tree_mend(worker, lost->peer);
    return status == DCL_OK ? dcli_hear_waiting(worker) : status;
}

/* ---- joining ------------------------------------------------------------------------------------------------------ */

dcl_status dcli_take_joined(dcli_worker *worker, const dcli_msg_joined *joined)
{
    if (!is_node(worker, joined->peer))
        return DCLI_FAIL(DCL_ERR_PROTOCOL, "the host says that peer %d has joined; expected a node", joined->peer);
    worker->epoch = dcli_max(worker->epoch, joined->epoch);
    if (!worker->is_host) /* the host's `ways` were set by the runtime */
        worker->terms.ways[joined->peer] =
            (dcli_node_ways){.can = (uint8_t)joined->can, .group = (int16_t)joined->group};
    dcli_pinned_let_write(worker);
    dcl_status status = DCL_OK;
    if (joined->address[0] != '\0') /* over tcp; links between processes of one host are made on demand */
        status = dcli_endpoint_expect(worker->endpoint, joined->peer, joined->key);
    if (status == DCL_OK)
        status = dcli_node_joined(worker->node, joined->peer, joined->first_operation);
    worker->gone[joined->peer] = false;
    dcli_stealing_members(worker);
    DCLI_LOG(worker->terms.log, DCLI_LOG_INFO, "node %d: epoch %" PRId64 ": node %d takes part from operation %" PRId64,
             worker->terms.self, joined->epoch, joined->peer, joined->first_operation);
    return status == DCL_OK && !worker->is_host ? dcli_hear_waiting(worker) : status;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_take_sees(dcli_worker *worker, const dcli_msg_sees *sees)
{
    const dcli_file_id id = {.device = sees->device, .inode = sees->inode};
    bool yes = dcli_files_sees(worker->terms.files, sees->path, sees->token, &id);
    dcli_message message = {.kind = DCLI_MSG_SEEN, .seen = {.number = sees->number, .yes = yes}};
    return dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

enum { ANSWER_SECONDS = 10 };

/* Ask all nodes a question and wait for the answers; called by a thread of the program, while the host's worker
 * receives them. @param silent  [node_count] nodes not to wait for; others that do not answer are added. NULL: there are
 * none. */
static dcl_status ask_all(dcli_worker *host, dcli_message *message, int64_t *number, bool silent[], bool *all_yes_out)
{
    struct dcli_question *question = &host->as_host->question;
    pthread_mutex_lock(&question->lock);
    while (question->asking && !question->stopped) /* wait while another thread asks; its question has a deadline */
        pthread_cond_wait(&question->changed, &question->lock);
    if (question->stopped) {
        *all_yes_out = false;
        pthread_mutex_unlock(&question->lock);
        return DCL_OK;
    }
    struct timespec until = dcli_in_ms(ANSWER_SECONDS * 1000);
    *number = ++question->number;
    question->asking = question->all = true;
    question->answers = 0;
    for (int p = 0; p < host->terms.node_count; p++) {
        question->answered[p] = silent != NULL && silent[p];
        question->answers += question->answered[p];
    }
    dcl_status status = dcli_host_message(host, DCL_ALL_NODES, message);
    while (status == DCL_OK && question->answers < host->terms.node_count && question->all)
        if (pthread_cond_timedwait(&question->changed, &question->lock, &until) == ETIMEDOUT)
            status = DCL_ERR_TIMEOUT; /* without an error text: the caller knows the meaning */
    *all_yes_out = status == DCL_OK && question->all;
    for (int p = 0; p < host->terms.node_count && silent != NULL && status == DCL_ERR_TIMEOUT; p++)
        silent[p] |= !question->answered[p];
    question->asking = false;
    pthread_cond_broadcast(&question->changed);
    pthread_mutex_unlock(&question->lock);
    return status;
}

void dcli_host_stop_asking(dcli_worker *host)
{
    pthread_mutex_lock(&host->as_host->question.lock);
    host->as_host->question.stopped = true;
    host->as_host->question.all = false;
    pthread_cond_broadcast(&host->as_host->question.changed);
    pthread_mutex_unlock(&host->as_host->question.lock);
}

void dcli_host_ask_again(dcli_worker *host)
{
    pthread_mutex_lock(&host->as_host->question.lock);
    host->as_host->question.stopped = false;
    pthread_mutex_unlock(&host->as_host->question.lock);
}

dcl_status dcli_host_sees(dcli_worker *host, const char *path, const char token[], const dcli_file_id *id,
                          bool *all_see_out)
{
    dcli_message message = {.kind = DCLI_MSG_SEES,
                            .sees = {.path = path, .token = token, .device = id->device, .inode = id->inode}};
    return ask_all(host, &message, &message.sees.number, NULL, all_see_out);
}

dcl_status dcli_host_count(dcli_worker *host, int64_t kernel)
{
    bool all;
    dcli_message message = {.kind = DCLI_MSG_COUNT, .count.kernel = kernel};
    dcl_status status = ask_all(host, &message, &message.count.number, NULL, &all);
    if (status == DCL_ERR_TIMEOUT || (status == DCL_OK && !all))
        status = DCLI_FAIL(DCL_ERR_TIMEOUT,
                           "not all of %d nodes have told their counters after %d seconds; expected all; ask again, or "
                           "see DCL_LOG=debug for what they wait for",
                           host->terms.node_count, ANSWER_SECONDS);
    return status;
}

bool dcli_host_trace(dcli_worker *host, int64_t part, bool silent[])
{
    bool all;
    dcli_message message = {.kind = DCLI_MSG_TRACE, .trace.part = part};
    dcl_status status = ask_all(host, &message, &message.trace.number, silent, &all);
    return status == DCL_ERR_TIMEOUT || (status == DCL_OK && all);
}

void dcli_host_counts(dcli_worker *worker, int from, const dcli_msg_counts *counts)
{
    worker->terms.hooks->counted(worker->terms.hooks->user, from, counts);
    dcli_question_answer(worker, from, counts->number, true);
}

dcl_status dcli_take_count(dcli_worker *worker, const dcli_msg_count *count)
{
    dcli_message message = {.kind = DCLI_MSG_COUNTS, .counts.number = count->number};
    dcli_profile_told told;
    dcli_peer_counters(worker, message.counts.counter);
    dcli_profile_tell(worker, count->kernel, &message.counts, &told);
    return dcli_peer_send(worker, worker->terms.node_count, &message, NULL);
}

void dcli_question_answer(dcli_worker *worker, int from, int64_t number, bool yes)
{
    struct dcli_question *question = &worker->as_host->question;
    pthread_mutex_lock(&question->lock);
    bool is_meant =
        number == question->number || number == DCLI_ANY_QUESTION; /* otherwise a late answer to an earlier question */
    if (question->asking && is_meant && !question->answered[from]) {
        question->answered[from] = true;
        question->answers++;
        question->all &= yes;
        pthread_cond_broadcast(&question->changed);
    }
    pthread_mutex_unlock(&question->lock);
}

bool dcli_question_awaits(dcli_worker *worker, int from, int64_t number)
{
    struct dcli_question *question = &worker->as_host->question;
    pthread_mutex_lock(&question->lock);
    bool awaits = question->asking && number == question->number && !question->answered[from];
    pthread_mutex_unlock(&question->lock);
    return awaits;
}
