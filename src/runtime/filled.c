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

static bool is_partial(const dcl_arg *arg)
{
    return arg->access == DCL_ACCESS_IN && arg->array != NULL && dcli_array_base(arg->array)->layout.partial;
}

static bool has_partial(const dcl_call *call)
{
    for (int k = 0; call->args != NULL && k < call->arg_count; k++)
        if (is_partial(&call->args[k]))
            return true;
    return false;
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
    if (!has_partial(call) || !dcli_reduction_args(call, args, &count) ||
        dcli_body_home(call->text, count, args, &home) != DCL_OK)
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
