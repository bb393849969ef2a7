/* runtime/operations.c - number and issue operations, and record the state of storages. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "runtime/cluster.h"

/* ---- states ------------------------------------------------------------------------------------------------------- */

bool dcli_storage_state_failed(const dcli_storage_state *state)
{
    return state->lost || (state->failed_at > 0 && state->failed_at >= state->overwritten_at);
}

void dcli_storage_state_fail(dcli_storage_state *state, int64_t operation, dcl_status status, const char *text)
{
    bool failed = dcli_storage_state_failed(state);
    if (operation < state->overwritten_at || (failed && state->text != NULL && state->text[0] != '\0'))
        return; /* overwritten since, or its first cause is known already */
    state->failed_at = dcli_max(operation, state->failed_at);
    state->status = status;
    dcli_free(state->text);
    state->text = text != NULL ? dcli_strdup(text) : NULL;
}

/* Find the cause of a storage's failure. Nodes report failures in any order; when this is called, all causes before the
 * failure are known. */
static const dcli_outcome *cause_of(const dcl_cluster *cluster, const dcli_storage_state *state)
{
    const dcli_outcome *cause = cluster->causes, *found = NULL;
    for (; cause != NULL; cause = cause->next)
        if (cause->operation <= state->failed_at && (found == NULL || cause->operation > found->operation))
            found = cause;
    return found;
}

dcl_status dcli_array_whole(const dcl_array *array, const char *use)
{
    const dcli_storage_state *state = dcli_array_state(array);
    if (!state->lost)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_NODE_LOST,
                     "cannot %s an array with a part on a node that is lost (%s); make a new one, with a map made "
                     "after the loss",
                     use, state->text != NULL ? state->text : "see the log");
}

dcl_status dcli_array_usable(const dcl_array *array, const char *use)
{
    const dcli_storage_state *state = dcli_array_state(array);
    if (!dcli_storage_state_failed(state))
        return DCL_OK;
    if (state->lost)
        return dcli_array_whole(array, use);
    if (array->cluster->interrupted) /* a call that has ended because of closing may have left it so */
        return DCLI_FAIL(array->cluster->broken, "%s", array->cluster->broken_text);
    const dcli_outcome *cause = state->text == NULL ? cause_of(array->cluster, state) : NULL;
    const char *text = cause != NULL ? cause->text : state->text;
    dcl_status status = DCLI_FAIL(cause != NULL ? cause->status : state->status,
                                  "cannot %s an array whose contents have failed (%s); overwrite all of it first", use,
                                  text != NULL ? text : "what it was computed from had failed");
    if (text == NULL)
        dcli_error_lacks_cause(state->failed_at);
    return status;
}

void dcli_storage_state_stray(dcli_storage_state *state, int64_t operation, const char *text)
{
    if (operation < state->overwritten_at || dcli_storage_state_has_strayed(state))
        return; /* overwritten since, or its first report is known already */
    state->strayed_at = operation;
    dcli_free(state->stray);
    state->stray = text != NULL ? dcli_strdup(text) : NULL;
}

bool dcli_storage_state_has_strayed(const dcli_storage_state *state)
{
    return state->strayed_at > 0 && state->strayed_at >= state->overwritten_at;
}

dcl_status dcli_storage_state_strayed(const dcli_storage_state *state, const char *done)
{
    if (!dcli_storage_state_has_strayed(state))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_RANGE,
                     "%s, but the operation that computed them went outside (%s); overwrite the array, or accept the "
                     "elements by dcl_clear_error()",
                     done, state->stray != NULL ? state->stray : "see the log");
}

void dcli_array_spoil(dcl_array *array, dcl_status status)
{
    dcli_storage_state *state = dcli_array_state(array);
    if (!dcli_storage_state_failed(state)) {
        dcli_free(state->text);
        state->text = NULL;
    }
    dcli_storage_state_fail(state, dcli_max(array->cluster->operations, 1), status, dcl_error());
}

dcl_status dcli_array_check(const dcl_array *array)
{
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    if (!array->cluster->plan_only)
        return DCL_OK;
    dcl_status status =
        DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    dcli_cluster_record_refusal(array->cluster);
    return status;
}

/* ---- issuing ------------------------------------------------------------------------------------------------------ */

static void note_states(const dcli_operation *operation, dcli_storage_state *const states[])
{
    dcli_valid_lines *lines[DCLI_MAX_PARAMS];
    bool around = false;
    for (int k = 0; k < operation->operand_count; k++) {
        lines[k] = states[k] != NULL ? &states[k]->lines : NULL;
        around |= operation->operand[k].layout != NULL && operation->operand[k].layout->lead > 0;
    }
    if (around)
        dcli_overlap_record(operation, lines);
    for (int k = 0; k < operation->operand_count; k++) {
        if (states[k] == NULL)
            continue;
        states[k]->last_use = operation->number;
        if (operation->operand[k].overwrites)
            states[k]->overwritten_at = operation->number;
    }
}

static dcl_status expect_outcome(dcl_cluster *cluster, int64_t operation, void *memory, dcli_lent **lent_out)
{
    dcli_outcome *outcome = dcli_calloc(1, sizeof *outcome);
    if (outcome == NULL)
        return DCL_ERR_NOMEM;
    outcome->operation = operation;
    if (memory != NULL && (outcome->lent = dcli_lend(memory)) == NULL) {
        dcli_free(outcome);
        return DCL_ERR_NOMEM;
    }
    *lent_out = outcome->lent;
    outcome->next = cluster->outcomes;
    cluster->outcomes = outcome;
    return DCL_OK;
}

/* The operation that must be complete before the next one may be issued. */
static int64_t end_of_window(const dcl_cluster *cluster)
{
    return cluster->operations + 1 - (int64_t)cluster->config.window;
}

bool dcli_cluster_has_room(const dcl_cluster *cluster)
{
    return !cluster->files.streaming && cluster->broken == DCL_OK && cluster->complete >= end_of_window(cluster);
}

dcl_status dcli_cluster_await_room(dcl_cluster *cluster)
{
    for (;;) {
        dcli_cluster_turn(cluster);
        if (cluster->broken != DCL_OK)
            return dcli_error_adopt(cluster->broken, cluster->broken_text);
        int64_t least = end_of_window(cluster);
        if (cluster->complete >= least)
            return DCL_OK;
        dcl_status status = dcli_cluster_wait_silently(cluster, least);
        if (status != DCL_OK)
            return status;
    }
}

static dcl_status issue(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                        dcli_storage_state *const states[], bool waited, void *memory, const int64_t strides[],
                        bool defers)
{
    dcl_status status = dcli_cluster_await_room(cluster);
    if (status != DCL_OK)
        return status;
    operation->number = descriptor->number = cluster->operations + 1;
    dcli_lent *lent = NULL;
    if (waited && expect_outcome(cluster, operation->number, memory, &lent) != DCL_OK)
        return DCL_ERR_NOMEM;
    status = dcli_cluster_replicas_note(cluster, operation, states);
    if (status == DCL_OK)
        status = dcli_host_operation(cluster->worker[cluster->host], descriptor, lent, strides, defers);
    if (status != DCL_OK) {
        dcli_cluster_outcome(cluster, operation->number); /* drop the outcome: no call will take it */
        dcli_cluster_replicas_fail(cluster);
        return status;
    }
    cluster->operations++;
    note_states(operation, states);
    return DCL_OK;
}

dcl_status dcli_cluster_issue(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                              dcli_storage_state *const states[], bool waited, void *memory, const int64_t strides[])
{
    return issue(cluster, descriptor, operation, states, waited, memory, strides, false);
}

dcl_status dcli_cluster_issue_deferred(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                                       dcli_storage_state *const states[])
{
    return issue(cluster, descriptor, operation, states, false, NULL, NULL, true);
}

static dcl_status issue_on(dcl_array *array, const dcli_layout *layout, dcli_msg_operation *descriptor,
                           const dcl_box *box, bool waited, void *memory, const int64_t strides[])
{
    dcli_msg_operand operand = {.storage = array->state->id};
    dcli_operation operation = {.kind = (dcli_op_kind)descriptor->kind,
                                .operand_count = 1,
                                .box = box != NULL ? *box : dcl_box_of(&layout->grid)};
    operation.operand[0] =
        (dcli_operand){.storage = array->state->id, .layout = layout, .reshaped = layout != &array->layout};
    dcli_operation_resolve(&operation);
    descriptor->operand_count = 1;
    descriptor->operand = &operand;
    if (box != NULL) {
        descriptor->box_rank = box->rank;
        descriptor->box = *box;
    }
    dcli_storage_state *state = array->state;
    return dcli_cluster_issue(array->cluster, descriptor, &operation, &state, waited, memory, strides);
}

/* Issue an operation on a view as one on its base. */
static dcl_status issue_on_base(dcl_array *array, dcli_msg_operation *descriptor, const dcl_box *box, bool waited,
                                void *memory, const int64_t strides[])
{
    const dcli_layout *layout;
    dcl_status status = dcli_array_layout(array, &layout);
    if (status != DCL_OK)
        return status;
    dcl_box seen = box != NULL ? *box : dcl_box_of(&array->view.grid), base;
    int64_t steps[DCL_MAX_RANK] = {0};
    memory = dcli_view_place(array, &seen, memory, strides != NULL ? strides : steps, &base, steps);
    bool all = box == NULL && dcli_transform_covers(&array->view, &layout->grid);
    dcli_transform as_it_is = dcli_transform_of(&layout->grid);
    dcli_msg_view shape = dcli_view_describe(0, &as_it_is, &layout->grid);
    descriptor->view = &shape;
    descriptor->view_count = array->reshaped && !all;
    status = issue_on(array->base, layout, descriptor, all ? NULL : &base, waited, memory, steps);
    descriptor->view = NULL;
    return status;
}

dcl_status dcli_cluster_issue_one(dcl_array *array, dcli_msg_operation *descriptor, const dcl_box *box, bool waited,
                                  void *memory, const int64_t strides[])
{
    /* Storages may be exchanged while waiting, not later. */
    dcl_status status = dcli_cluster_await_room(array->cluster);
    if (status != DCL_OK)
        return status;
    return array->base != NULL ? issue_on_base(array, descriptor, box, waited, memory, strides)
                               : issue_on(array, &array->layout, descriptor, box, waited, memory, strides);
}

dcl_status dcli_cluster_end_call(dcl_cluster *cluster, dcl_status status)
{
    if (status != DCL_OK) {
        dcli_cluster_failed_call(cluster, status);
    } else if (cluster->config.sync) {
        status = dcli_cluster_wait(cluster, cluster->operations, false, -1);
        if (status == DCL_OK && cluster->fresh != DCL_OK)
            status = dcli_error_adopt(cluster->fresh, cluster->fresh_text);
    }
    cluster->fresh = DCL_OK;
    pthread_mutex_unlock(&cluster->lock);
    return status;
}
