/* runtime/front_forall.c - what the program calls: loop bodies, tile kernels and what they would move. */
#include "runtime/front.h"

dcl_status dcl_forall_n(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[])
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_forall_n(cluster, body, count, args) : call.status);
}

dcl_status dcl_forall_over_n(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                             const dcl_arg args[])
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    return dcli_call_end(&call,
                         call.status == DCL_OK ? dcli_in_forall_over_n(cluster, box, body, count, args) : call.status);
}

dcl_status dcl_forall_tiles_n(dcl_cluster *cluster, const char *text, int count, const dcl_arg args[])
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    return dcli_call_end(&call,
                         call.status == DCL_OK ? dcli_in_forall_tiles_n(cluster, text, count, args) : call.status);
}

dcl_status dcl_forall_tiles_over_n(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                                   const dcl_arg args[])
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_forall_tiles_over_n(cluster, box, text, count, args)
                                                      : call.status);
}

dcl_status dcl_explain_n(dcl_cluster *cluster, const dcl_box *box, const char *body, int count, const dcl_arg args[],
                         int node, dcl_counters *counters_out)
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    return dcli_call_end(&call, call.status == DCL_OK
                                    ? dcli_in_explain_n(cluster, box, body, count, args, node, counters_out)
                                    : call.status);
}

dcl_status dcl_explain_tiles_n(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                               const dcl_arg args[], int node, dcl_counters *counters_out)
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    return dcli_call_end(&call, call.status == DCL_OK
                                    ? dcli_in_explain_tiles_n(cluster, box, text, count, args, node, counters_out)
                                    : call.status);
}

dcl_report *dcl_explain_report_n(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                 const dcl_arg args[], int node)
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    dcl_report *report = call.status == DCL_OK ? dcli_in_explain_report_n(cluster, box, body, count, args, node) : NULL;
    dcli_call_end(&call, call.status);
    return report;
}

dcl_report *dcl_explain_report_tiles_n(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                                       const dcl_arg args[], int node)
{
    dcli_call call;
    dcl_arg copy[DCLI_MAX_PARAMS];
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    args = dcli_call_args(&call, count, args, copy);
    dcl_report *report =
        call.status == DCL_OK ? dcli_in_explain_report_tiles_n(cluster, box, text, count, args, node) : NULL;
    dcli_call_end(&call, call.status);
    return report;
}

dcl_status dcl_stats(dcl_cluster *cluster, int node, dcl_counters *counters_out)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    cluster = dcli_call_cluster(&call, "cluster", cluster);
    return dcli_call_end(&call, call.status == DCL_OK ? dcli_in_stats(cluster, node, counters_out) : call.status);
}

dcl_report *dcl_explain_report_copy(dcl_array *from, dcl_array *to, int node)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    from = dcli_call_array(&call, "from", from);
    to = dcli_call_array(&call, "to", to);
    dcl_report *answer = call.status == DCL_OK ? dcli_in_explain_report_copy(from, to, node) : NULL;
    dcli_call_end(&call, call.status);
    return answer;
}

dcl_report *dcl_explain_report_remap(dcl_array *array, dcl_map *map, unsigned flags, int node)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    map = dcli_call_map(&call, "map", map);
    dcl_report *answer = call.status == DCL_OK ? dcli_in_explain_report_remap(array, map, flags, node) : NULL;
    dcli_call_end(&call, call.status);
    return answer;
}

dcl_report *dcl_explain_report_move(dcl_array *array, const dcl_box *box, int node)
{
    dcli_call call;
    dcli_call_begin(&call, __func__);
    array = dcli_call_array(&call, "array", array);
    dcl_report *answer = call.status == DCL_OK ? dcli_in_explain_report_move(array, box, node) : NULL;
    dcli_call_end(&call, call.status);
    return answer;
}
