/* runtime/front_call.c - public functions for descriptions of calls, and counters. */
#include <string.h>

#include "base/check.h"
#include "base/sized.h"
#include "runtime/front.h"

/* A description from the program, with objects in place of handles. */
struct inside {
    dcl_call call;
    dcl_arg args[DCLI_MAX_PARAMS];
};

/* By kind: the name of the public function, for errors. */
static const char *const run_name[] = {"dcl_call_run", "dcl_forall", "dcl_forall_tiles", "dcl_copy", "dcl_remap",
                                       "dcl_move",     "dcl_reduce", "dcl_scan",         "dcl_loops"};

static const char *name_of(const dcl_call *call)
{
    bool is_known = call != NULL && call->kind >= DCL_CALL_IS_BODY && call->kind <= DCL_CALL_IS_LOOPS;
    return run_name[is_known ? call->kind : 0];
}

static dcl_status check_args(const dcl_call *call)
{
    if (call->args == NULL || call->arg_count < 1 || call->arg_count > DCLI_MAX_PARAMS)
        return DCL_OK; /* refused later, without reading them */
    return dcli_size_check("call->arg_bytes", "dcl_arg", call->arg_bytes, sizeof(dcl_arg));
}

/* Copy the program's struct; fields that it does not have are zero. */
static dcl_status complete(const dcl_call *call, dcl_call *complete_out)
{
    if (call == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "call is NULL; expected a description, as DCL_CALL_BODY() makes it");
    if (call->struct_size < offsetof(dcl_call, cluster) || call->struct_size > sizeof *call)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "call->struct_size is %zu; expected sizeof(dcl_call), %zu at most; build against the headers of the "
            "library that is loaded (%s)",
            call->struct_size, sizeof *call, DCL_VERSION);
    memset(complete_out, 0, sizeof *complete_out);
    memcpy(complete_out, call, call->struct_size);
    if (complete_out->kind < DCL_CALL_IS_BODY || complete_out->kind > DCL_CALL_IS_LOOPS)
        return DCLI_FAIL(DCL_ERR_INVALID, "call->kind is %d; expected DCL_CALL_IS_BODY..DCL_CALL_IS_LOOPS",
                         (int)complete_out->kind);
    return check_args(complete_out);
}

static void copy_args(const dcl_call *call, dcl_arg copy[])
{
    for (int k = 0; k < call->arg_count; k++) {
        memset(&copy[k], 0, sizeof copy[k]);
        memcpy(&copy[k], (const char *)call->args + (size_t)k * call->arg_bytes, call->arg_bytes);
    }
}

/* Resolve the handles that a call of this kind uses. */
static void look_up(dcli_call *frame, dcl_call *call, dcl_arg copy[])
{
    switch (call->kind) {
    case DCL_CALL_IS_BODY:
    case DCL_CALL_IS_TILES:
    case DCL_CALL_IS_REDUCTION:
    case DCL_CALL_IS_SCAN:
    case DCL_CALL_IS_LOOPS:
        call->cluster = dcli_call_cluster(frame, "cluster", call->cluster);
        if (call->args == NULL || call->arg_count < 1 || call->arg_count > DCLI_MAX_PARAMS)
            return;
        copy_args(call, copy);
        call->args = dcli_call_args(frame, call->arg_count, copy, copy);
        return;
    case DCL_CALL_IS_COPY:
        call->from = dcli_call_array(frame, "from", call->from);
        call->array = dcli_call_array(frame, "to", call->array);
        return;
    case DCL_CALL_IS_REMAP:
        call->array = dcli_call_array(frame, "array", call->array);
        call->map = dcli_call_map(frame, "map", call->map);
        return;
    case DCL_CALL_IS_MOVE:
        call->array = dcli_call_array(frame, "array", call->array);
        return;
    }
}

/* Begin a call. @return its description with objects; NULL: refused, frame->status says why. */
static const dcl_call *begin(dcli_call *frame, const char *name, bool operates, const dcl_call *call,
                             struct inside *inside)
{
    dcli_call_begin(frame, name);
    frame->operates = operates;
    frame->status = complete(call, &inside->call);
    if (frame->status == DCL_OK)
        look_up(frame, &inside->call, inside->args);
    return frame->status == DCL_OK ? &inside->call : NULL;
}

dcl_status dcl_call_run(const dcl_call *call)
{
    dcli_call frame;
    struct inside inside;
    call = begin(&frame, name_of(call), true, call, &inside);
    return dcli_call_end(&frame, call != NULL ? dcli_in_call_run(call) : frame.status);
}

dcl_status(dcl_forall_n)(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[])
{
    const dcl_call call = dcl_call_body(cluster, NULL, body, count, args);
    return dcl_call_run(&call);
}

dcl_status dcl_call_explain_sized(const dcl_call *call, int node, dcl_counters *counters_out, size_t counters_bytes)
{
    dcli_call frame;
    struct inside inside;
    call = begin(&frame, "dcl_explain", false, call, &inside);
    return dcli_call_end(&frame, call != NULL ? dcli_in_call_explain_sized(call, node, counters_out, counters_bytes)
                                              : frame.status);
}

dcl_report *dcl_call_report(const dcl_call *call, int node)
{
    dcli_call frame;
    struct inside inside;
    call = begin(&frame, "dcl_explain_report", false, call, &inside);
    dcl_report *report = call != NULL ? dcli_in_call_report(call, node) : NULL;
    dcli_call_end(&frame, frame.status);
    return report;
}

dcl_status dcl_stats_sized(dcl_cluster *cluster, int node, dcl_counters *counters_out, size_t counters_bytes)
{
    dcli_call call;
    dcli_call_begin(&call, "dcl_stats");
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_stats_sized(cluster, node, counters_out, counters_bytes)
                                                      : call.status);
}
