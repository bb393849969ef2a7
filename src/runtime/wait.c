/* runtime/wait.c - process what the nodes report, wait for operations, and record the cluster's first error. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "runtime/trace.h"

/* ---- errors ------------------------------------------------------------------------------------------------------- */

dcl_status dcli_cluster_keep(dcl_cluster *cluster, dcl_status status, const char *text)
{
    if (cluster->error == DCL_OK && status != DCL_OK) {
        cluster->error = status;
        cluster->error_cause_upto = 0;
        snprintf(cluster->error_text, sizeof cluster->error_text, "%s", text);
    }
    if (cluster->fresh == DCL_OK && status != DCL_OK) {
        cluster->fresh = status;
        snprintf(cluster->fresh_text, sizeof cluster->fresh_text, "%s", text);
    }
    return status;
}

dcl_status dcli_cluster_failed_call(dcl_cluster *cluster, dcl_status status)
{
    if (cluster->interrupted)
        return status; /* the call ends because the cluster is being closed */
    bool is_first = cluster->error == DCL_OK && status != DCL_OK;
    dcli_cluster_keep(cluster, status, dcl_error());
    if (is_first)
        cluster->error_cause_upto = dcli_error_cause_upto();
    return status;
}

void dcli_cluster_reword(dcl_cluster *cluster, const char *before)
{
    pthread_mutex_lock(&cluster->lock);
    if (cluster->error != DCL_OK && strcmp(cluster->error_text, before) == 0)
        snprintf(cluster->error_text, sizeof cluster->error_text, "%s", dcl_error());
    pthread_mutex_unlock(&cluster->lock);
}

void dcli_cluster_record_refusal(dcl_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    dcli_cluster_failed_call(cluster, dcli_error_status());
    cluster->fresh = DCL_OK; /* this call has ended */
    pthread_mutex_unlock(&cluster->lock);
}

static dcl_status first_error(const dcl_cluster *cluster)
{
    return cluster->error == DCL_OK ? DCL_OK : dcli_error_adopt(cluster->error, cluster->error_text);
}

dcl_status dcl_status_of(dcl_cluster *cluster)
{
    if (cluster == NULL)
        return dcli_error_status();
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = first_error(cluster);
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

void dcl_clear_error(dcl_cluster *cluster)
{
    dcli_error_forget();
    if (cluster == NULL)
        return;
    pthread_mutex_lock(&cluster->lock);
    cluster->error = DCL_OK;
    cluster->error_cause_upto = 0;
    for (dcl_array *array = cluster->arrays; array != NULL; array = array->after)
        array->state->strayed_at = 0;
    pthread_mutex_unlock(&cluster->lock);
}

/* ---- marks and notices of the host's worker ----------------------------------------------------------------------- */

void dcli_cluster_list_speakers(dcl_cluster *cluster)
{
    cluster->speaker_count = 0;
    for (int p = 0; p <= cluster->host; p++)
        if (cluster->ready[p] < INT64_MAX)
            cluster->speaker[cluster->speaker_count++] = p;
}

/* Update `complete`, and wake waiting threads if an operation for which one of them waits is complete. The lock is
 * held. */
void dcli_cluster_note_marks(dcl_cluster *cluster)
{
    int64_t complete = cluster->operations;
    for (int n = 0; n < cluster->speaker_count; n++)
        complete = dcli_min(complete, cluster->ready[cluster->speaker[n]]);
    cluster->complete = complete;
    if (complete >= cluster->awaited || cluster->done[cluster->host] >= cluster->awaited_host) {
        cluster->awaited = cluster->awaited_host = INT64_MAX; /* threads that still wait set it again */
        pthread_cond_broadcast(&cluster->changed);
    }
}

static void on_marks(void *user, int peer, int64_t done, int64_t ready, const int64_t counters[])
{
    dcl_cluster *cluster = user;
    pthread_mutex_lock(&cluster->lock);
    bool is_new = cluster->ready[peer] == INT64_MAX; /* its parent in the tree, which spoke for it, is lost */
    cluster->done[peer] = done;
    cluster->ready[peer] = ready;
    if (is_new)
        dcli_cluster_list_speakers(cluster);
    if (!cluster->has_tree || peer == cluster->host)
        memcpy(&cluster->counters[peer], counters, DCLI_MSG_COUNTERS * sizeof(int64_t));
    int64_t complete = cluster->complete;
    dcli_cluster_note_marks(cluster);
    if (cluster->trace != NULL && cluster->complete > complete) /* in a tree, `peer` speaks for all below it */
        cluster->trace->completed_by = cluster->has_tree ? DCLI_TRACE_NOBODY : peer;
    pthread_mutex_unlock(&cluster->lock);
}

static void on_counted(void *user, int node, const dcli_msg_counts *counts)
{
    dcl_cluster *cluster = user;
    pthread_mutex_lock(&cluster->lock);
    memcpy(&cluster->counters[node], counts->counter, DCLI_MSG_COUNTERS * sizeof(int64_t));
    if (cluster->times != NULL)
        dcli_times_note(cluster->times, node, counts);
    pthread_mutex_unlock(&cluster->lock);
}

void dcli_outcomes_free(dcli_outcome **first)
{
    while (*first != NULL) {
        dcli_outcome *outcome = *first;
        *first = outcome->next;
        dcli_lent_take_back(outcome->lent);
        dcli_free(outcome->text);
        dcli_free(outcome);
    }
}

/* Record the outcome of an operation. @return whether it is the failure of a WRITE whose call dcl_close() has ended,
 * with its memory taken back. */
static bool keep_outcome(dcl_cluster *cluster, const dcli_msg_failed *failed)
{
    dcli_outcome *outcome = cluster->outcomes;
    while (outcome != NULL && outcome->operation != failed->operation)
        outcome = outcome->next;
    if (outcome == NULL || (outcome->status != DCL_OK && !failed->cause))
        return false;
    if (outcome->withdrawn)
        return failed->status == DCL_ERR_INVALID;
    outcome->status = (dcl_status)failed->status;
    dcli_free(outcome->text);
    outcome->text = dcli_strdup(failed->sentence);
    return false;
}

/* Record a cause, for operations that depend on this operation's outputs. */
static void keep_cause(dcl_cluster *cluster, int64_t operation, dcl_status status, const char *text)
{
    enum { MOST_CAUSES = 64 };
    dcli_outcome *cause = dcli_calloc(1, sizeof *cause);
    if (cause == NULL)
        return;
    *cause =
        (dcli_outcome){.operation = operation, .status = status, .text = dcli_strdup(text), .next = cluster->causes};
    cluster->causes = cause;
    int count = 0;
    dcli_outcome **at = &cluster->causes;
    while (*at != NULL && count++ < MOST_CAUSES)
        at = &(*at)->next;
    dcli_outcomes_free(at);
}

static void on_failed(void *user, const dcli_msg_failed *failed)
{
    dcl_cluster *cluster = user;
    char text[DCLI_ERROR_BYTES];
    snprintf(text, sizeof text, "operation %lld: %s", (long long)failed->operation, failed->sentence);
    pthread_mutex_lock(&cluster->lock);
    for (int s = 0; s < failed->storage_count; s++)
        for (dcl_array *array = cluster->arrays; array != NULL; array = array->after)
            if (array->state->id == failed->storage[s])
                dcli_storage_state_fail(array->state, failed->operation, (dcl_status)failed->status,
                                        failed->cause ? text : NULL);
    bool was_withdrawn = keep_outcome(cluster, failed);
    dcli_cluster_replicas_fail(cluster);
    if (failed->cause && !was_withdrawn) {
        keep_cause(cluster, failed->operation, (dcl_status)failed->status, text);
        if (failed->operation <= cluster->error_cause_upto)
            cluster->error = DCL_OK; /* a node that skipped an operation has told so before the one that failed */
        dcli_cluster_keep(cluster, (dcl_status)failed->status, text);
    }
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

/* Describe the kernel of a report; tile kernels begin alike, so they are identified by the arrays that they write. */
static int name_kernel(const dcl_cluster *cluster, const dcli_msg_report *report, char *text, size_t capacity)
{
    int length;
    const char *line = dcli_body_shown(cluster, report->body, &length);
    if (report->outputs[0] == '\0')
        return snprintf(text, capacity, "operation %lld, `%.*s`: ", (long long)report->operation,
                        length < 160 ? length : 160, line);
    return snprintf(text, capacity,
                    "operation %lld, the tile kernel that writes %.200s, `%.160s`: ", (long long)report->operation,
                    report->outputs, report->body);
}

/* Name the node, and the element outside that the kernel accessed. */
static int name_place(const dcli_msg_report *report, int node, char *text, size_t capacity)
{
    int at = snprintf(text, capacity, "node %d: %s(", node, report->array);
    for (int d = 0; d < report->rank; d++)
        at += snprintf(text + at, capacity - (size_t)at, "%s%lld", d > 0 ? ", " : "", (long long)report->index[d]);
    at +=
        snprintf(text + at, capacity - (size_t)at, ") was %s, which is outside ", report->written ? "written" : "read");
    if (report->declared[0] == '\0')
        return at + snprintf(text + at, capacity - (size_t)at, "its grid; ");
    return at + snprintf(text + at, capacity - (size_t)at, "of what is declared of it: %.300s; ", report->declared);
}

/* Append advice on a read outside of a grid. */
static void advise_guard(const dcli_msg_report *report, char *text, size_t capacity)
{
    const char *array = report->array;
    if (report->outputs[0] != '\0')
        snprintf(
            text, capacity,
            "0 was taken; read local indices %s_low(d) to %s_high(d) - 1 along axis d alone, or leave out elements "
            "at the edge with dcl_forall_tiles_over()",
            array, array);
    else
        snprintf(text, capacity,
                 "0 was taken; guard the read in the body (`inside ? %s(...) : 0`), or narrow the loop with "
                 "dcl_forall_over()",
                 array);
}

/* Describe a report: what a kernel accessed, what was declared, and what to do. Every part is cut so that all fit. */
static void describe_report(const dcl_cluster *cluster, const dcli_msg_report *report, int node, char *text,
                            size_t capacity)
{
    int at = name_kernel(cluster, report, text, capacity);
    at += name_place(report, node, text + at, capacity - (size_t)at);
    text += at;
    capacity -= (size_t)at;
    if (report->written &&
        report->outputs[0] == '\0') /* bodies write only at their own index, but for keyed reductions */
        snprintf(
            text, capacity,
            "the value was left out, as all are that have such keys; guard the statement in the body (`if (inside) "
            "%s(...) += ...;`)",
            report->array);
    else if (report->written)
        snprintf(text, capacity,
                 "nothing was stored; write to elements of the tile alone, local indices %s_low(d) to %s_high(d) - 1 "
                 "along axis d",
                 report->array, report->array);
    else if (report->declared[0] == '\0')
        advise_guard(report, text, capacity);
    else
        snprintf(text, capacity, "0 was taken; declare all that is read, or correct the subscripts");
}

static void on_report(void *user, int node, const dcli_msg_report *report)
{
    dcl_cluster *cluster = user;
    char text[DCLI_ERROR_BYTES];
    pthread_mutex_lock(&cluster->lock);
    describe_report(cluster, report, node, text, sizeof text);
    for (int s = 0; s < report->storage_count; s++)
        for (dcl_array *array = cluster->arrays; array != NULL; array = array->after)
            if (array->state->id == report->storage[s])
                dcli_storage_state_stray(array->state, report->operation, text);
    dcli_keyed_stray(cluster, report->operation, text);
    dcli_cluster_keep(cluster, DCL_ERR_RANGE, text);
    pthread_mutex_unlock(&cluster->lock);
}

static void on_built(void *user, const dcli_msg_built *built)
{
    dcl_cluster *cluster = user;
    pthread_mutex_lock(&cluster->lock);
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (dcli_known_body *known = cluster->bodies.known[b]; known != NULL; known = known->next) {
            if (known->number != built->kernel || known->answers_due == 0)
                continue; /* no question is open; or the answer came after the node was lost */
            known->answers_due--;
            if (built->status != DCL_OK && known->status == DCL_OK) {
                known->status = (dcl_status)built->status;
                known->text = dcli_strdup(built->sentence);
            }
        }
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

static void on_broken(void *user, dcl_status status, const char *sentence)
{
    dcl_cluster *cluster = user;
    pthread_mutex_lock(&cluster->lock);
    if (cluster->broken == DCL_OK || cluster->interrupted) {
        cluster->interrupted = false;
        cluster->broken = status;
        snprintf(cluster->broken_text, sizeof cluster->broken_text, "%s", sentence);
    }
    dcli_cluster_keep(cluster, status, sentence);
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

void dcli_cluster_hooks(dcl_cluster *cluster)
{
    cluster->hooks = (dcli_host_hooks){.user = cluster,
                                       .marks = on_marks,
                                       .failed = on_failed,
                                       .report = on_report,
                                       .built = on_built,
                                       .broken = on_broken,
                                       .counted = on_counted,
                                       .traced = dcli_cluster_on_traced,
                                       .lost = dcli_cluster_on_lost};
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

enum {
    PATIENCE_S = 10,       /* a wait that takes longer is logged */
    GPU_SPIN_NS = 50000000 /* kernels on GPUs need no processor, so one to spare is free to wait like clFinish() does */
};

/* Log that a call has waited for PATIENCE_S seconds. The lock is released meanwhile, because the lines may go to the
 * program's log_fn, which may call DCL. */
static void log_long_wait(dcl_cluster *cluster, int64_t operation)
{
    long long complete = (long long)cluster->complete, all = (long long)cluster->operations;
    pthread_mutex_unlock(&cluster->lock);
    DCLI_LOG(&cluster->log, DCLI_LOG_WARN, "waited %d seconds for operation %lld; up to %lld of %lld all are complete",
             PATIENCE_S, (long long)operation, complete, all);
    pthread_mutex_lock(&cluster->lock);
}

void dcli_cluster_sleep(dcl_cluster *cluster, int64_t operation)
{
    struct timespec until = dcli_in_ms(1000 * PATIENCE_S);
    if (pthread_cond_timedwait(&cluster->changed, &cluster->lock, &until) == ETIMEDOUT)
        log_long_wait(cluster, operation);
}

/* Poll for a short time before sleeping, because waking up costs more than most small operations; longer if there are
 * enough processors. */
static void spin_briefly(dcl_cluster *cluster, const int64_t *mark, int64_t operation)
{
    int64_t end_ns = dcli_monotonic_ns() + (cluster->spins ? 300000 : 50000);
    do {
        pthread_mutex_unlock(&cluster->lock);
        sched_yield();
        pthread_mutex_lock(&cluster->lock);
    } while (*mark < operation && cluster->broken == DCL_OK && dcli_monotonic_ns() < end_ns);
}

struct awaited {
    dcl_cluster *cluster;
    const int64_t *mark;
    int64_t operation;
};

static bool is_awaited(void *user)
{
    const struct awaited *awaited = user;
    pthread_mutex_lock(&awaited->cluster->lock);
    bool is = *awaited->mark < awaited->operation && awaited->cluster->broken == DCL_OK;
    pthread_mutex_unlock(&awaited->cluster->lock);
    return is;
}

/* A thread that waits serves the host's worker itself, rather than being woken by the thread that does.
 * @return false: another thread serves it. */
static bool serve(dcl_cluster *cluster, const int64_t *mark, int64_t operation, int64_t until_ns)
{
    struct awaited awaited = {.cluster = cluster, .mark = mark, .operation = operation};
    int64_t patient_ns = dcli_monotonic_ns() + INT64_C(1000000000) * PATIENCE_S;
    int64_t spin_ns = cluster->spins && cluster->has_gpus ? GPU_SPIN_NS : 0;
    pthread_mutex_unlock(&cluster->lock);
    bool served = dcli_host_serve_while(cluster->worker[cluster->host], dcli_min(until_ns, patient_ns), spin_ns,
                                        is_awaited, &awaited);
    pthread_mutex_lock(&cluster->lock);
    if (served && *mark < operation && cluster->broken == DCL_OK && dcli_monotonic_ns() >= patient_ns)
        log_long_wait(cluster, operation);
    return served;
}

/* Show what kernels have printed before their results are used, unless the call's time limit is reached. This costs
 * nothing if no kernel calls printf. The lock is released meanwhile. */
static void show_printed(dcl_cluster *cluster, bool all, int64_t until_ns)
{
    int64_t complete = cluster->complete;
    if (cluster->pool == NULL || cluster->printing <= cluster->printed || (complete <= cluster->printed && !all))
        return;
    int64_t left_ms = dcli_min(DCLI_WORKER_POOL_SHOW_MS, (until_ns - dcli_monotonic_ns()) / 1000000);
    if (left_ms <= 0)
        return;
    pthread_mutex_unlock(&cluster->lock);
    bool shown = dcli_worker_pool_show_printed(cluster->pool, (int)left_ms);
    pthread_mutex_lock(&cluster->lock);
    if (shown)
        cluster->printed = dcli_max(cluster->printed, complete);
}

/* Seconds that a call may wait. @param seconds  negative: DCL_WAIT_MS. @return negative: no limit. */
static double limit_of(const dcl_cluster *cluster, double seconds)
{
    return seconds < 0 && cluster->config.wait_ms > 0 ? 1e-3 * (double)cluster->config.wait_ms : seconds;
}

/* Wait for an operation. @param until_ns  deadline as dcli_monotonic_ns(). */
static dcl_status wait_untraced(dcl_cluster *cluster, int64_t operation, bool host_only, double seconds,
                                int64_t until_ns)
{
    bool by_setting = seconds < 0;
    seconds = limit_of(cluster, seconds);
    struct timespec until = dcli_at_ns(until_ns);
    const int64_t *mark = host_only ? &cluster->done[cluster->host] : &cluster->complete;
    int64_t *awaited = host_only ? &cluster->awaited_host : &cluster->awaited;
    while (*mark < operation && cluster->broken == DCL_OK && serve(cluster, mark, operation, until_ns) &&
           dcli_monotonic_ns() < until_ns)
        ;
    if (*mark < operation)
        spin_briefly(cluster, mark, operation);
    while (*mark < operation) {
        if (cluster->broken != DCL_OK)
            return dcli_error_adopt(cluster->broken, cluster->broken_text);
        *awaited = dcli_min(*awaited, operation);
        if (seconds < 0)
            dcli_cluster_sleep(cluster, operation);
        else if (pthread_cond_timedwait(&cluster->changed, &cluster->lock, &until) == ETIMEDOUT && *mark < operation)
            return DCLI_FAIL(DCL_ERR_TIMEOUT,
                             "operation %lld is not complete after %g seconds; %s, or see DCL_LOG=debug for what it "
                             "waits for",
                             (long long)operation, seconds, by_setting ? "raise DCL_WAIT_MS" : "wait longer");
    }
    return DCL_OK;
}

/* Wait for an operation, and record for which peer the call waited: the peer that completed the operation last; in a
 * tree, the child of the host that reports for that peer. */
static dcl_status wait_for(dcl_cluster *cluster, int64_t operation, bool host_only, double seconds, int64_t until_ns)
{
    const int64_t *mark = host_only ? &cluster->done[cluster->host] : &cluster->complete;
    if (__builtin_expect(cluster->trace == NULL, 1) || *mark >= operation)
        return wait_untraced(cluster, operation, host_only, seconds, until_ns);
    dcli_trace_event wait = {
        .kind = DCLI_TRACE_WAIT, .begin_ns = dcli_monotonic_ns(), .operation = operation, .part = -1};
    dcl_status status = wait_untraced(cluster, operation, host_only, seconds, until_ns);
    wait.end_ns = dcli_monotonic_ns();
    wait.peer = host_only ? DCLI_TRACE_NOBODY : cluster->trace->completed_by;
    dcli_trace_add(cluster->trace->peer[cluster->host].ring, &wait);
    return status;
}

/* The deadline of a call that may wait for this long, as dcli_monotonic_ns(); INT64_MAX: none. */
static int64_t end_of_wait(const dcl_cluster *cluster, double seconds)
{
    const double most = 1e9;
    seconds = limit_of(cluster, seconds);
    return seconds < 0 ? INT64_MAX : dcli_monotonic_ns() + (int64_t)(1e9 * (seconds < most ? seconds : most));
}

dcl_status dcli_cluster_wait(dcl_cluster *cluster, int64_t operation, bool host_only, double seconds)
{
    int64_t until_ns = end_of_wait(cluster, seconds);
    dcl_status status = wait_for(cluster, operation, host_only, seconds, until_ns);
    if (status != DCL_ERR_TIMEOUT)
        show_printed(cluster, status != DCL_OK, until_ns);
    return status;
}

dcl_status dcli_cluster_wait_silently(dcl_cluster *cluster, int64_t operation)
{
    return wait_for(cluster, operation, false, -1, end_of_wait(cluster, -1));
}

dcl_status dcli_cluster_outcome(dcl_cluster *cluster, int64_t operation)
{
    dcl_status status = DCL_OK;
    for (dcli_outcome **at = &cluster->outcomes; *at != NULL; at = &(*at)->next) {
        dcli_outcome *outcome = *at;
        if (outcome->operation != operation)
            continue;
        status = outcome->status;
        if (status != DCL_OK)
            DCLI_FAIL(status, "%s", outcome->text != NULL ? outcome->text : "the operation failed");
        if (cluster->interrupted) { /* the operation may fail because of closing: that is not an error of the cluster */
            dcli_lent_take_back(outcome->lent);
            outcome->lent = NULL;
            outcome->withdrawn = true;
            break;
        }
        *at = outcome->next;
        dcli_lent_take_back(outcome->lent); /* waits only while a chunk is being copied */
        dcli_free(outcome->text);
        dcli_free(outcome);
        break;
    }
    return status;
}

dcl_status dcli_cluster_end_of(dcl_cluster *cluster, int64_t operation, bool host_only)
{
    char why[DCLI_ERROR_BYTES];
    dcl_status waited = dcli_cluster_wait(cluster, operation, host_only, -1);
    snprintf(why, sizeof why, "%s", waited != DCL_OK ? dcli_error_sentence() : "");
    dcl_status outcome = dcli_cluster_outcome(cluster, operation);
    if (waited == DCL_ERR_TIMEOUT)
        return DCLI_FAIL(DCL_ERR_TIMEOUT, "%s", why);
    return waited != DCL_OK ? dcli_error_adopt(waited, cluster->broken_text) : outcome;
}

static dcl_status wait_for_all(dcl_cluster *cluster, double seconds)
{
    if (cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_cluster_wait(cluster, cluster->operations, false, seconds);
    if (status == DCL_OK)
        status = first_error(cluster);
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

dcl_status dcl_wait(dcl_cluster *cluster)
{
    dcli_error_enter(__func__);
    return wait_for_all(cluster, -1);
}

dcl_status dcl_wait_all(dcl_cluster *cluster, double seconds)
{
    dcli_error_enter(__func__);
    return wait_for_all(cluster, seconds);
}

dcl_status dcl_wait_for(dcl_array *array, double seconds)
{
    dcli_error_enter(__func__);
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile()");
    dcl_cluster *cluster = array->cluster;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_cluster_wait(cluster, dcli_array_state(array)->last_use, false, seconds);
    if (status == DCL_OK)
        status = dcli_array_usable(array, "wait for");
    if (status == DCL_OK)
        status = dcli_storage_state_strayed(dcli_array_state(array), "the elements are complete");
    pthread_mutex_unlock(&cluster->lock);
    return status;
}
