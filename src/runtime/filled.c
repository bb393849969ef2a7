/* runtime/filled.c - reductions whose indices come from an input that stores only some of its elements (`every=` in its
 * map, pieces without an owner): the others have the map's fill value, as for every reader. The input is copied into an
 * array of the library that stores all elements, by blocks, and the copy takes its place. */
#include <dcl/reduce.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernel/names.h"
#include "runtime/report.h"

/* Number of the copy among the arrays without storage: larger than those of a reduction's own arrays. */
enum { NUMBER = 50 };

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

static bool is_partial(const dcl_arg *arg)
{
    return arg->access == DCL_ACCESS_IN && arg->array != NULL && dcli_array_base(arg->array)->layout.partial;
}

/* Whether the call is a reduction to values, into elements or by keys with an input that may have to be copied.
 * @param args       gets the arguments as the parser knows them.
 * @param count_out  number of these. */
static bool is_candidate(const dcl_call *call, dcl_arg args[], int *count_out)
{
    bool partial = false, output = false, result = false;
    int ranks[DCLI_MAX_PARAMS] = {0}, count = 0, checked = 0;
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    if (call->cluster == NULL || call->text == NULL || call->args == NULL || call->arg_count < 1 ||
        call->arg_count > DCLI_MAX_PARAMS)
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        partial |= is_partial(&call->args[k]);
        output |= is_output(&call->args[k]);
        result |= dcli_arg_is_result(&call->args[k]);
        if (call->args[k].access != DCL_ACCESS_RESULT_AT ||
            call->args[k].array == NULL) /* others are of minima by keys */
            args[checked++] = call->args[k];
    }
    if (!partial || output == result ||
        dcli_args_check(call->cluster, call->text, DCLI_TEXT_BODY, true, checked, args) != DCL_OK)
        return false;
    for (int k = 0; k < call->arg_count; k++)
        if (is_output(&call->args[k]))
            ranks[k] = dcli_array_grid(call->args[k].array)->rank;
    bool elements = output && dcli_elements_find(call->text, call->arg_count, call->args, ranks, element) > 0;
    if (output && !elements && !dcli_call_is_keyed(call->text, call->arg_count, call->args))
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        if (call->args[k].access == DCL_ACCESS_FAST || call->args[k].access == DCL_ACCESS_RESULT_AT)
            continue;
        args[count] = is_output(&call->args[k]) ? dcli_arg_into_element(&call->args[k]) : call->args[k];
        if (is_output(&call->args[k]) && !elements)
            args[count].width[0] = 0;
        else if (call->args[k].access == DCL_ACCESS_RESULT)
            args[count].width_count = 0;
        count++;
    }
    *count_out = count;
    return true;
}

/* Copy the elements. The lock is held. */
static dcl_status copy(const dcl_call *call, const dcli_look *look, dcl_array *from, dcl_array **to_out)
{
    const dcl_grid *grid = dcli_array_grid(from);
    char text[96], at[2 * DCL_MAX_RANK + 1] = "";
    dcl_map *map = dcli_map_new_block(call->cluster);
    if (map == NULL)
        return dcli_error_status();
    for (int d = 0; d < grid->rank; d++)
        snprintf(at + strlen(at), 3, "%s%s", d > 0 ? "," : "", dcli_index_name(d));
    snprintf(text, sizeof text, "filled_to(%s) = filled_from(%s);", at, at);
    dcl_status status = look != NULL ? dcli_array_imagine(call->cluster, grid, map, NUMBER, to_out)
                                     : dcli_array_make(call->cluster, grid, map, true, to_out);
    dcl_map_release(map);
    const dcl_arg args[] = {dcl_arg_array(DCL_ACCESS_OUT, "filled_to", *to_out),
                            dcl_arg_array(DCL_ACCESS_IN, "filled_from", from)};
    if (status != DCL_OK)
        return status;
    if (look != NULL)
        return dcli_forall_planned(call->cluster, NULL, text, DCLI_TEXT_BODY, 2, args, look->on, look->user);
    return dcli_forall_start(call->cluster, NULL, text, DCLI_TEXT_BODY, 2, args);
}

static dcl_status end(const dcl_call *call, const dcli_look *look, dcl_array *copied, dcl_status status)
{
    pthread_mutex_lock(&call->cluster->lock);
    if (copied != NULL && look != NULL)
        dcli_array_free(copied);
    else if (copied != NULL)
        dcli_array_end(copied);
    if (look == NULL)
        return dcli_cluster_end_call(call->cluster, status);
    pthread_mutex_unlock(&call->cluster->lock);
    return status;
}

dcl_status dcli_filled_run(const dcl_call *call, const dcli_look *look, bool *found_out)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    int count, home, param = 0, at = -1;
    *found_out = false;
    if (!is_candidate(call, args, &count) || dcli_body_home(call->text, count, args, &home) != DCL_OK)
        return DCL_OK; /* the reduction will say what is wrong */
    for (int k = 0; k < call->arg_count; k++)
        if (dcli_arg_is_param(&call->args[k]) && param++ == home)
            at = k;
    *found_out = at >= 0 && is_partial(&call->args[at]);
    if (!*found_out)
        return DCL_OK;
    dcl_call filled = *call;
    dcl_array *copied = NULL;
    memcpy(args, call->args, (size_t)call->arg_count * sizeof *args);
    filled.args = args;
    pthread_mutex_lock(&call->cluster->lock);
    dcl_status status =
        look == NULL && call->cluster->plan_only
            ? DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data")
            : DCL_OK;
    if (status == DCL_OK && look == NULL)
        status = dcli_array_usable(call->args[at].array, "read");
    if (status == DCL_OK)
        status = copy(call, look, call->args[at].array, &copied);
    pthread_mutex_unlock(&call->cluster->lock);
    args[at].array = copied;
    if (status == DCL_OK)
        status = look != NULL ? dcli_reduction_look_at(&filled, look) : dcli_reduction_call(&filled);
    return end(call, look, copied, status);
}
