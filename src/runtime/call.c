/* runtime/call.c - run, explain or report a description of a call. */
#include <dcl/local.h>
#include <dcl/remap.h>

#include "base/sized.h"
#include "runtime/remap.h"

static bool is_tiles(const dcl_call *call) { return call->kind == DCL_CALL_IS_TILES; }

dcl_status dcl_call_run(const dcl_call *call)
{
    switch (call->kind) {
    case DCL_CALL_IS_BODY:
    case DCL_CALL_IS_TILES:
        return dcli_forall_run(call->cluster, call->box, call->text, is_tiles(call), call->arg_count, call->args);
    case DCL_CALL_IS_COPY:
        return dcl_copy(call->from, call->array);
    case DCL_CALL_IS_REMAP:
        return dcl_remap_with(call->array, call->map, call->flags);
    case DCL_CALL_IS_MOVE:
        return dcl_move(call->array, call->box, call->node);
    }
    return DCL_ERR_INTERNAL; /* cannot happen: the front has refused other kinds */
}

static dcl_status explain(const dcl_call *call, int node, dcl_counters *counters_out)
{
    switch (call->kind) {
    case DCL_CALL_IS_BODY:
    case DCL_CALL_IS_TILES:
        return dcli_forall_explain(call->cluster, call->box, call->text, is_tiles(call), call->arg_count, call->args,
                                   node, counters_out);
    case DCL_CALL_IS_COPY:
        return dcli_copy_explain(call->from, call->array, node, counters_out);
    case DCL_CALL_IS_REMAP:
        return dcli_remap_explain(call->array, call->map, call->flags, node, counters_out);
    case DCL_CALL_IS_MOVE:
        return dcli_move_explain(call->array, call->box, call->node, node, counters_out);
    }
    return DCL_ERR_INTERNAL;
}

dcl_status dcl_call_explain_sized(const dcl_call *call, int node, dcl_counters *counters_out, size_t counters_bytes)
{
    dcl_counters planned;
    dcl_status status = dcli_size_check("counters_bytes", "dcl_counters", counters_bytes, sizeof planned);
    if (status == DCL_OK)
        status = explain(call, node, counters_out != NULL ? &planned : NULL);
    if (status == DCL_OK)
        memcpy(counters_out, &planned, counters_bytes);
    return status;
}

dcl_report *dcl_call_report(const dcl_call *call, int node)
{
    switch (call->kind) {
    case DCL_CALL_IS_BODY:
    case DCL_CALL_IS_TILES:
        return dcli_forall_report(call->cluster, call->box, call->text, is_tiles(call), call->arg_count, call->args,
                                  node);
    case DCL_CALL_IS_COPY:
        return dcli_copy_report(call->from, call->array, node);
    case DCL_CALL_IS_REMAP:
        return dcli_remap_report(call->array, call->map, call->flags, node);
    case DCL_CALL_IS_MOVE:
        return dcli_move_report(call->array, call->box, call->node);
    }
    return NULL;
}
