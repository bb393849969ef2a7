/* runtime/call.c - run, explain or report a description of a call. */
#include <dcl/local.h>
#include <dcl/remap.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "runtime/report.h"

/* Whether a reduction has outputs. @param to_values_out  whether it has results that are variables. */
static bool has_outputs(const dcl_call *call, bool *to_values_out)
{
    bool output = false;
    *to_values_out = false;
    if (call->args == NULL || call->arg_count > DCLI_MAX_PARAMS)
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        output |= call->args[k].access == DCL_ACCESS_OUT || call->args[k].access == DCL_ACCESS_INOUT;
        *to_values_out |= dcli_arg_is_result(&call->args[k]);
    }
    return output;
}

static dcli_text_kind text_of(const dcl_call *call)
{
    if (call->kind == DCL_CALL_IS_REDUCTION)
        return DCLI_TEXT_ALONG;
    return call->kind == DCL_CALL_IS_TILES ? DCLI_TEXT_TILES : DCLI_TEXT_BODY;
}

/* Run a reduction. The kinds are tried in this order: without an input that is read at all indices; with an input of
 * which only some elements are stored; with results that are combined in a fixed order; into arrays with indices of
 * extremes (DCL_RESULT_AT); into single elements of arrays, perhaps beside variables and outputs; into variables; by
 * keys; along axes, where an input is stored or where the outputs are. */
dcl_status dcli_reduction_call(const dcl_call *call)
{
    bool ran = false, to_values, outputs = has_outputs(call, &to_values);
    dcl_status status = dcli_own_space_run(call, NULL, &ran);
    if (ran)
        return status;
    status = dcli_filled_run(call, NULL, &ran);
    if (ran)
        return status;
    status = dcli_leaves_run(call, NULL, &ran);
    if (ran)
        return status;
    status = outputs && !to_values ? dcli_along_places_run(call, NULL, &ran) : DCL_OK;
    if (ran)
        return status;
    status = outputs ? dcli_elements_run(call, NULL, &ran) : DCL_OK;
    if (ran)
        return status;
    if (to_values || !outputs)
        return dcli_reduction_run(call->cluster, call->box, call->text, call->arg_count, call->args);
    if (dcli_call_is_keyed(call->text, call->arg_count, call->args))
        return dcli_keyed_run(call->cluster, call->box, call->text, call->arg_count, call->args);
    status = dcli_at_input_run(call, NULL, &ran);
    if (ran)
        return status;
    return dcli_forall_run(call->cluster, call->box, call->text, DCLI_TEXT_ALONG, call->arg_count, call->args);
}

dcl_status dcl_call_run(const dcl_call *call)
{
    switch (call->kind) {
    case DCL_CALL_IS_BODY:
    case DCL_CALL_IS_TILES:
        return dcli_forall_run(call->cluster, call->box, call->text, text_of(call), call->arg_count, call->args);
    case DCL_CALL_IS_REDUCTION:
        return dcli_reduction_call(call);
    case DCL_CALL_IS_SCAN:
        return dcli_scan_run(call->cluster, call->text, call->arg_count, call->args);
    case DCL_CALL_IS_LOOPS:
        return dcli_loops_run(call);
    case DCL_CALL_IS_COPY:
        return dcl_copy(call->from, call->array);
    case DCL_CALL_IS_REMAP:
        return dcl_remap_with(call->array, call->map, call->flags);
    case DCL_CALL_IS_MOVE:
        return dcl_move(call->array, call->box, call->node);
    }
    return DCL_ERR_INTERNAL; /* cannot happen: the front has refused other kinds */
}

/* Pass the plans of a reduction to `look`. */
dcl_status dcli_reduction_look_at(const dcl_call *call, const dcli_look *look)
{
    bool ran = false, to_values, outputs = has_outputs(call, &to_values);
    dcl_status status = dcli_own_space_run(call, look, &ran);
    if (ran)
        return status;
    status = dcli_filled_run(call, look, &ran);
    if (ran)
        return status;
    status = dcli_leaves_run(call, look, &ran);
    if (ran)
        return status;
    status = outputs && !to_values ? dcli_along_places_run(call, look, &ran) : DCL_OK;
    if (ran)
        return status;
    status = outputs ? dcli_elements_run(call, look, &ran) : DCL_OK;
    if (ran)
        return status;
    if (to_values || !outputs)
        return dcli_reduction_look(call->cluster, call->box, call->text, call->arg_count, call->args, look);
    if (dcli_call_is_keyed(call->text, call->arg_count, call->args))
        return dcli_keyed_look(call->cluster, call->box, call->text, call->arg_count, call->args, look);
    status = dcli_at_input_run(call, look, &ran);
    if (ran)
        return status;
    return dcli_forall_look(call->cluster, call->box, call->text, text_of(call), call->arg_count, call->args, look);
}

/* Check a call, and pass its plan to `look`. */
static dcl_status look_at(const dcl_call *call, const dcli_look *look)
{
    switch (call->kind) {
    case DCL_CALL_IS_BODY:
    case DCL_CALL_IS_TILES:
        return dcli_forall_look(call->cluster, call->box, call->text, text_of(call), call->arg_count, call->args, look);
    case DCL_CALL_IS_REDUCTION:
        return dcli_reduction_look_at(call, look);
    case DCL_CALL_IS_SCAN:
        return dcli_scan_look(call->cluster, call->text, call->arg_count, call->args, look);
    case DCL_CALL_IS_LOOPS:
        return dcli_loops_look(call, look);
    case DCL_CALL_IS_COPY:
        return dcli_copy_look(call->from, call->array, look);
    case DCL_CALL_IS_REMAP:
        return dcli_remap_look(call->array, call->map, call->flags, look);
    case DCL_CALL_IS_MOVE:
        return dcli_move_look(call->array, call->box, call->node, look);
    }
    return DCL_ERR_INTERNAL;
}

static dcl_status check_counted(const dcl_cluster *cluster, const void *user)
{
    const dcli_counted *counted = user;
    return dcli_check_counted(cluster, counted->node, counted->out);
}

dcl_status dcl_call_explain_sized(const dcl_call *call, int node, dcl_counters *counters_out, size_t counters_bytes)
{
    dcli_counted counted = {.node = node, .out = counters_out};
    dcl_status status = dcli_size_check("counters_bytes", "dcl_counters", counters_bytes, sizeof counted.sum);
    if (status == DCL_OK)
        status = look_at(call, &(dcli_look){.check = check_counted, .on = dcli_count_planned, .user = &counted});
    if (status == DCL_OK)
        memcpy(counters_out, &counted.sum, counters_bytes);
    return status;
}

static dcl_status check_asked(const dcl_cluster *cluster, const void *user)
{
    int node = ((const dcli_report_asked *)user)->node;
    if (node == DCL_ALL_NODES || (node >= 0 && node < cluster->node_count))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "node is %d; expected 0..%d, or DCL_ALL_NODES", node, cluster->node_count - 1);
}

dcl_report *dcl_call_report(const dcl_call *call, int node)
{
    if (call->kind == DCL_CALL_IS_LOOPS) {
        DCLI_FAIL(DCL_ERR_UNSUPPORTED, "the call is a loop nest, whose operations are too many for one report; use "
                                       "dcl_call_explain(), which sums their counters");
        return NULL;
    }
    bool is_body = call->kind == DCL_CALL_IS_BODY || call->kind == DCL_CALL_IS_TILES;
    dcli_report_asked asked = {.node = call->kind == DCL_CALL_IS_MOVE ? call->node : node, .advise = is_body};
    dcli_times *times = NULL;
    int64_t kernel = 0;
    dcl_status status = DCL_OK;
    if (call->kind == DCL_CALL_IS_BODY && node == DCL_ALL_NODES &&
        look_at(call, &(dcli_look){.check = check_asked, .on = dcli_report_find_body, .user = &kernel}) == DCL_OK &&
        kernel > 0)
        status = dcli_report_ask(call->cluster, kernel, &times);
    asked.times = times;
    if (status == DCL_OK)
        status = look_at(call, &(dcli_look){.check = check_asked, .on = dcli_report_on, .user = &asked});
    dcli_free(times);
    dcl_report *report = asked.report != NULL ? &asked.report->seen : NULL;
    if (status == DCL_OK)
        return report;
    dcl_report_release(report);
    return NULL;
}
