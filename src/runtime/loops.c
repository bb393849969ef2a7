/* runtime/loops.c - run the operations of a loop nest, or look at them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "loop/scan.h"
#include "loop/tiles.h"
#include "runtime/host_array.h"
#include "runtime/nest_lines.h"
#include "runtime/nest_plans.h"
#include "runtime/report.h"
#include "runtime/stream.h"
#include "segment/box.h"

/* When a nest was planned and its operations were started, for the log. */
struct times {
    bool taken;
    int64_t began_ns, first_ns; /* the call; its first operation, 0: none so far */
    int64_t starting_ns;        /* time in which operations were started */
    int64_t operations;
};

/* A nest in progress. */
struct nest {
    const dcl_call *call;
    dcli_look *look; /* NULL: the nest is run; otherwise its operations are passed to it */
    dcli_loops_plan *plan;
    dcl_array *copy[DCLI_MAX_PARAMS]; /* by argument: an array for copies of its elements; NULL: not needed so far */
    int gathered_count;
    struct gathered {
        int symbol, axis;
        dcl_array *array;                  /* its tiles have all indices of the axis */
    } gathered[2 * DCLI_LOOPS_STATEMENTS]; /* for arguments whose lines along an axis are divided */
    dcl_array *own[DCLI_LOOPS_SCALARS];    /* arrays of the plan, by symbol - arg_count; NULL: not needed so far */
    int imagined;                          /* number of the last array without storage, if the nest is looked at */
    int host_count;
    dcli_host_array host[DCLI_MAX_PARAMS]; /* memory of the program */
    int host_of[DCLI_MAX_PARAMS];          /* by argument: its number in `host`; -1: none */
    dcli_stream *stream;                   /* the arrays do not fit the nodes; NULL: they do */
    bool checks;                           /* operations are only checked, before they are streamed */
    struct times times;
};

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static bool is_integer(dcl_type type) { return type >= DCL_INT8 && type <= DCL_UINT64; }

static dcl_status describe_array(const dcl_arg *arg, dcli_loops_name *name)
{
    const dcli_layout *layout;
    name->grid = *dcli_array_grid(arg->array);
    name->type = name->grid.type;
    dcl_status status = dcli_array_layout(arg->array, &layout);
    if (status != DCL_OK)
        return status;
    if (name->type == DCL_HALF)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "argument %s has elements of type half; expected integers, float or double; use "
                         "dcl_forall() for half",
                         arg->name);
    if (layout->partial)
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "argument %s stores only some of its elements; expected an array with all of them; use dcl_forall(), "
            "whose bodies run for the stored ones",
            arg->name);
    status = dcli_lines_find(arg->array, &name->whole);
    if (status == DCL_OK && dcli_array_base(arg->array) == arg->array)
        name->gather = dcli_lines_gather(arg->array->cluster, &name->grid, name->whole);
    return status;
}

/* How the operations of a nest access an argument. */
static dcl_access access_of(const dcl_arg *arg)
{
    switch (arg->access) {
    case DCL_ACCESS_HOST_IN:
        return DCL_ACCESS_IN;
    case DCL_ACCESS_HOST_OUT:
        return DCL_ACCESS_OUT;
    case DCL_ACCESS_HOST_INOUT:
        return DCL_ACCESS_INOUT;
    default:
        return arg->access;
    }
}

static dcl_status describe(const dcl_arg *arg, dcli_loops_name *name)
{
    *name = (dcli_loops_name){.access = arg->access};
    if (strlen(arg->name) >= sizeof name->name)
        return DCLI_FAIL(DCL_ERR_INVALID, "the name %.60s has %zu characters; expected at most %zu", arg->name,
                         strlen(arg->name), sizeof name->name - 1);
    strcpy(name->name, arg->name);
    switch (arg->access) {
    case DCL_ACCESS_VALUE:
        name->type = arg->type;
        name->is_integer = is_integer(arg->type) && (arg->type < DCL_UINT8 || arg->value.u <= INT64_MAX);
        name->value = arg->value.i;
        return DCL_OK;
    case DCL_ACCESS_IN_KEPT:
        name->access = DCL_ACCESS_IN;
        return describe_array(arg, name);
    case DCL_ACCESS_OUT:
    case DCL_ACCESS_IN:
    case DCL_ACCESS_INOUT:
        return describe_array(arg, name);
    case DCL_ACCESS_HOST_IN:
    case DCL_ACCESS_HOST_OUT:
    case DCL_ACCESS_HOST_INOUT:
        name->access = access_of(arg);
        name->grid = dcli_host_grid(arg);
        name->type = arg->type;
        name->any_shape = true;
        return DCL_OK;
    default:
        return dcli_refuse_arg(arg,
                               "a loop nest takes DCL_IN, DCL_IN_KEPT, DCL_OUT, DCL_INOUT, DCL_VALUE, DCL_HOST_IN, "
                               "DCL_HOST_OUT and DCL_HOST_INOUT");
    }
}

/* Check that no two arguments show elements of one array that is written. */
static dcl_status check_apart(const dcl_arg *a, const dcl_arg *b)
{
    if (dcli_arg_is_host(a) && dcli_arg_is_host(b))
        return dcli_host_check_pair(a, b);
    if (dcli_arg_is_host(a) || dcli_arg_is_host(b))
        return DCL_OK;
    bool arrays = a->access != DCL_ACCESS_VALUE && b->access != DCL_ACCESS_VALUE;
    bool written = a->access == DCL_ACCESS_OUT || a->access == DCL_ACCESS_INOUT || b->access == DCL_ACCESS_OUT ||
                   b->access == DCL_ACCESS_INOUT;
    if (!arrays || !written || dcli_array_base(a->array) != dcli_array_base(b->array))
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_INVALID,
        "%s and %s are the same array, or views of one, which is written; expected one argument for it; use one "
        "name in the nest, with DCL_INOUT",
        a->name, b->name);
}

static dcl_status check_pair(const char *text, const dcl_arg *a, const dcl_arg *b)
{
    if (strcmp(a->name, b->name) == 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "two arguments have the name %s; expected a name for each", a->name);
    dcl_status status = check_apart(a, b);
    if (status == DCL_OK)
        return DCL_OK;
    char sentence[DCLI_ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "%s", dcli_error_sentence());
    return dcli_loops_fail_at(text, b->name, status, "alias", sentence);
}

static dcl_status check_args(const dcl_call *call, dcli_loops_name names[])
{
    dcl_status status = dcli_nest_args_check(call->cluster, call->text, call->arg_count, call->args);
    for (int k = 0; k < call->arg_count && status == DCL_OK; k++)
        if (dcli_arg_is_host(&call->args[k]))
            status = dcli_host_check(&call->args[k]);
    for (int k = 0; k < call->arg_count && status == DCL_OK; k++) {
        status = describe(&call->args[k], &names[k]);
        for (int other = 0; other < k && status == DCL_OK; other++)
            status = check_pair(call->text, &call->args[other], &call->args[k]);
    }
    return status;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

/* The array of an argument. */
static dcl_array *array_of(const struct nest *nest, int symbol)
{
    const dcl_arg *arg = &nest->call->args[symbol];
    return dcli_arg_is_host(arg) ? nest->host[nest->host_of[symbol]].array : arg->array;
}

/* @return NULL: there is no such array so far */
static const struct gathered *gathered_of(const struct nest *nest, const dcli_loops_operand *operand)
{
    for (const struct gathered *g = nest->gathered; g < nest->gathered + nest->gathered_count; g++)
        if (g->symbol == operand->symbol && g->axis == operand->gathered - 1)
            return g;
    return NULL;
}

static dcl_arg make_arg(const struct nest *nest, const dcli_loops_operand *operand)
{
    if (operand->access == DCL_ACCESS_OVER)
        return DCL_OVER(operand->over);
    if (operand->symbol < 0)
        return dcl_arg_signed(operand->name, DCL_INT64, operand->value);
    if (operand->symbol >= nest->call->arg_count)
        return dcl_arg_array(operand->access, operand->name, nest->own[operand->symbol - nest->call->arg_count]);
    dcl_arg arg = nest->call->args[operand->symbol];
    if (dcli_arg_is_host(&arg))
        arg = dcl_arg_array(access_of(&arg), NULL, array_of(nest, operand->symbol));
    arg.name = operand->name;
    if (operand->of_copy)
        arg.array = nest->copy[operand->symbol];
    if (operand->gathered != 0)
        arg.array = gathered_of(nest, operand)->array;
    if (arg.access != DCL_ACCESS_VALUE && !(arg.access == DCL_ACCESS_IN_KEPT && operand->access == DCL_ACCESS_IN))
        arg.access = operand->access;
    return arg;
}

/* Functions on arrays and maps give errors their own names: give them that of the call again. */
static void name_call(const struct nest *nest)
{
    if (nest->look == NULL)
        dcli_error_enter("dcl_loops");
}

/* Make an array without storage. Its number differs from those of the other arrays of the nest, because plans take arrays with one number
 * for the same array. @return NULL: there is an error */
static dcl_array *imagine(struct nest *nest, const dcl_grid *grid, dcl_map *map)
{
    dcl_cluster *cluster = nest->call->cluster;
    dcl_array *array = NULL;
    if (map == NULL)
        return NULL;
    pthread_mutex_lock(&cluster->lock);
    dcli_array_imagine(cluster, grid, map, ++nest->imagined, &array);
    pthread_mutex_unlock(&cluster->lock);
    return array;
}

/* Make an array that the program does not see. @param map  NULL: the default one */
static dcl_status make_hidden(struct nest *nest, const dcl_grid *grid, dcl_map *map, dcl_array **array_out)
{
    dcl_map *usual = map == NULL ? dcl_map_default(nest->call->cluster) : NULL;
    map = map == NULL ? usual : map;
    dcl_array *array = nest->look != NULL ? imagine(nest, grid, map) : dcl_agile(*grid, map);
    dcl_map_release(usual);
    name_call(nest);
    if (array == NULL)
        return DCLI_FAIL(dcli_error_status(), "an array that the nest needs beside its arguments: %.600s",
                         dcli_error_sentence());
    array->hidden = true;
    *array_out = array;
    return DCL_OK;
}

static void release_hidden(const struct nest *nest, dcl_array *array)
{
    if (array == NULL)
        return;
    if (nest->look == NULL) {
        dcl_array_release(array);
        return;
    }
    pthread_mutex_lock(&nest->call->cluster->lock);
    dcli_array_free(array);
    pthread_mutex_unlock(&nest->call->cluster->lock);
}

/* Make an array in which lines of an argument are gathered, unless there is one. */
static dcl_status provide_gathered(struct nest *nest, const dcli_loops_operand *operand)
{
    if (gathered_of(nest, operand) != NULL)
        return DCL_OK;
    struct gathered *made = &nest->gathered[nest->gathered_count];
    const dcl_grid *grid = dcli_array_grid(array_of(nest, operand->symbol));
    dcl_map *map = dcli_lines_map(nest->call->cluster, grid, operand->gathered - 1);
    *made = (struct gathered){.symbol = operand->symbol, .axis = operand->gathered - 1};
    name_call(nest);
    dcl_status status = map != NULL ? make_hidden(nest, grid, map, &made->array) : dcli_error_status();
    nest->gathered_count += status == DCL_OK;
    dcl_map_release(map);
    return status;
}

/* Make the array of an operand that is none of the program's, unless there is one. */
static dcl_status provide_array(struct nest *nest, const dcli_loops_operand *operand)
{
    int own = operand->symbol - nest->call->arg_count;
    if (operand->gathered != 0)
        return provide_gathered(nest, operand);
    if (own >= 0)
        return nest->own[own] != NULL
                   ? DCL_OK
                   : make_hidden(nest, &dcli_loops_plan_name(nest->plan, operand->symbol)->grid, NULL, &nest->own[own]);
    if (!operand->of_copy || nest->copy[operand->symbol] != NULL)
        return DCL_OK;
    dcl_array *array = array_of(nest, operand->symbol); /* the map of a view is not one for its grid */
    return make_hidden(nest, dcli_array_grid(array), array->base == NULL ? array->map : NULL,
                       &nest->copy[operand->symbol]);
}

/* Check that an operand that is written is in the program's memory. */
static dcl_status check_streamed(const struct nest *nest, const dcli_loops_operand *operand)
{
    bool writes = operand->access == DCL_ACCESS_OUT || operand->access == DCL_ACCESS_INOUT;
    if (!writes || operand->symbol < 0)
        return DCL_OK;
    const char *name = dcli_loops_plan_name(nest->plan, operand->symbol)->name;
    if (operand->of_copy)
        return dcli_loops_plan_fail(
            nest->plan, operand->place, DCL_ERR_UNSUPPORTED, "stream", "write to another array than is read",
            "the nest needs a copy of %s, because it reads elements of it that it writes later; "
            "arrays that are streamed are not copied, and those of the nest do not fit the nodes",
            name);
    if (operand->symbol >= nest->call->arg_count)
        return dcli_loops_plan_fail(
            nest->plan, operand->place, DCL_ERR_UNSUPPORTED, "stream", "split the nest at this variable",
            "the variable %s of the nest carries values from one operation to another, so it becomes "
            "an array; it cannot be streamed, and the arrays of the nest do not fit the nodes",
            name);
    if (nest->host_of[operand->symbol] < 0)
        return dcli_loops_plan_fail(
            nest->plan, operand->place, DCL_ERR_UNSUPPORTED, "stream", "let all outputs be in the program's memory",
            "the nest writes %s, which is an array of the cluster, but its arrays in the program's "
            "memory do not fit the nodes",
            name);
    return DCL_OK;
}

static dcl_status stream_operation(const struct nest *nest, const dcli_loops_call *operation, const dcl_arg args[])
{
    int host_of[DCLI_LOOPS_OPERANDS];
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_loops_operand *operand = &operation->operand[k];
        bool given = operand->symbol >= 0 && operand->symbol < nest->call->arg_count && !operand->of_copy;
        host_of[k] = given ? nest->host_of[operand->symbol] : -1;
    }
    return nest->checks ? dcli_stream_check(nest->stream, operation, args, host_of)
                        : dcli_stream_run(nest->stream, operation, args, host_of);
}

static dcl_status start_operation(const struct nest *nest, const dcli_loops_call *operation, const dcl_arg args[])
{
    bool repeats = operation->rounds >= DCLI_LEAST_ROUNDS;
    if (nest->stream != NULL)
        return stream_operation(nest, operation, args);
    if (operation->along >= 0)
        return dcli_lines_run(nest->call->cluster, operation, args, repeats, nest->look);
    return dcli_forall_step(nest->call->cluster, &operation->box, operation->body, DCLI_TEXT_BODY,
                            operation->operand_count, args, repeats, nest->look);
}

static dcl_status run_operation(void *user, const dcli_loops_call *operation)
{
    struct nest *nest = user;
    struct times *times = &nest->times;
    dcl_arg args[DCLI_LOOPS_OPERANDS];
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_loops_operand *operand = &operation->operand[k];
        dcl_status status = nest->stream != NULL ? check_streamed(nest, operand) : provide_array(nest, operand);
        if (status != DCL_OK)
            return status;
        args[k] = make_arg(nest, operand);
    }
    int64_t began_ns = times->taken ? dcli_monotonic_ns() : 0;
    dcl_status status = start_operation(nest, operation, args);
    if (times->taken) {
        times->first_ns = times->operations++ == 0 ? began_ns : times->first_ns;
        times->starting_ns += dcli_monotonic_ns() - began_ns;
    }
    return status;
}

/* ---- memory of the program ----------------------------------------------------------------------------------------- */

/* The elements of an array of the nest. */
static dcl_box elements_of(const struct nest *nest, int symbol)
{
    int host = symbol < nest->call->arg_count ? nest->host_of[symbol] : -1;
    return host >= 0 ? nest->host[host].all : dcl_box_of(&dcli_loops_plan_name(nest->plan, symbol)->grid);
}

/* Widen the arrays that an operation writes to the elements of all of them, since they must have one shape.
 * @return whether one was widened */
static bool widen_outputs(struct nest *nest, int count, const int outputs[])
{
    bool widened = false;
    dcl_box hull = elements_of(nest, outputs[0]);
    for (int k = 1; k < count; k++) {
        dcl_box box = elements_of(nest, outputs[k]);
        hull = dcli_tiles_hull(&hull, &box);
    }
    for (int k = 0; k < count; k++) {
        int host = outputs[k] < nest->call->arg_count ? nest->host_of[outputs[k]] : -1;
        if (host < 0 || dcli_box_equal(&nest->host[host].all, &hull))
            continue;
        nest->host[host].all = hull;
        widened = true;
    }
    return widened;
}

/* Widen arrays in the program's memory until all outputs of each operation have one shape. */
static void align_outputs(struct nest *nest)
{
    bool widened = true;
    while (widened) {
        int count = 0;
        const int *outputs;
        widened = false;
        for (int n = 0; (outputs = dcli_loops_plan_outputs(nest->plan, n, &count)) != NULL; n++)
            if (count > 1 && nest->host_count > 0)
                widened |= widen_outputs(nest, count, outputs);
    }
}

/* List the arguments in memory of the program, and what the nest reads and writes of them. */
static dcl_status find_hosts(struct nest *nest)
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < nest->call->arg_count && status == DCL_OK; k++) {
        nest->host_of[k] = dcli_arg_is_host(&nest->call->args[k]) ? nest->host_count : -1;
        if (nest->host_of[k] >= 0)
            status = dcli_host_array_find(nest->plan, k, &nest->call->args[k], &nest->host[nest->host_count++]);
    }
    if (status == DCL_OK)
        align_outputs(nest);
    return status;
}

static dcl_status open_hosts(struct nest *nest)
{
    dcl_status status = DCL_OK;
    if (nest->look == NULL && dcli_stream_is_needed(nest->call->cluster, nest->host_count, nest->host))
        return dcli_stream_open(nest->call->cluster, nest->plan, nest->host_count, nest->host, &nest->stream);
    for (int h = 0; h < nest->host_count && status == DCL_OK; h++)
        status = nest->look != NULL ? dcli_host_array_imagine(nest->call->cluster, ++nest->imagined, &nest->host[h])
                                    : dcli_host_array_open(nest->call->cluster, &nest->host[h]);
    return status;
}

/* Copy what the nest has written to the memory, if all of it was computed. */
static dcl_status fetch_hosts(struct nest *nest)
{
    dcl_status status = DCL_OK;
    for (int h = 0; h < nest->host_count && status == DCL_OK; h++)
        status = dcli_host_array_wait(nest->call->cluster, &nest->host[h]);
    if (status != DCL_OK)
        return status;
    for (int h = 0; h < nest->host_count; h++) {
        status = dcli_host_array_fetch(nest->call->cluster, &nest->host[h]);
        if (status != DCL_OK)
            return DCLI_FAIL(status, "the memory of %s, and of outputs after it, has undefined contents: %.400s",
                             nest->host[h].arg->name, dcl_error());
    }
    return DCL_OK;
}

static dcl_status close_hosts(struct nest *nest, dcl_status status)
{
    for (int h = 0; h < nest->host_count; h++) {
        dcl_status copied = dcli_host_array_copied(nest->call->cluster, &nest->host[h]);
        status = status == DCL_OK ? copied : status;
    }
    bool imagined = nest->look != NULL || nest->stream != NULL;
    name_call(nest); /* arrays that were released before have put their own name */
    if (nest->stream != NULL)
        status = dcli_stream_close(nest->stream, status);
    else if (status == DCL_OK && nest->look == NULL && nest->host_count > 0)
        status = fetch_hosts(nest);
    char text[DCLI_ERROR_BYTES];
    snprintf(text, sizeof text, "%s", dcl_error());
    for (int h = 0; h < nest->host_count; h++)
        dcli_host_array_close(nest->call->cluster, &nest->host[h], imagined);
    if (status != DCL_OK && strcmp(text, dcl_error()) != 0) /* closing has replaced it */
        return dcli_error_adopt(status, text);
    return status;
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

/* Go through the operations of a nest; if it is streamed, check all of them before the first one is run. */
static dcl_status walk_all(struct nest *nest, dcli_loops_plan *plan)
{
    dcl_status status = DCL_OK;
    if (nest->stream != NULL) {
        nest->checks = true;
        status = dcli_loops_plan_walk(plan, run_operation, nest);
        nest->checks = false;
    }
    return status == DCL_OK ? dcli_loops_plan_walk(plan, run_operation, nest) : status;
}

/* Log how long a nest was planned: all of the call, except for the time in which its operations were started. */
static void log_times(const struct nest *nest)
{
    const struct times *times = &nest->times;
    if (!times->taken || times->operations == 0)
        return;
    int64_t all_ns = dcli_monotonic_ns() - times->began_ns;
    DCLI_LOG(&nest->call->cluster->log, DCLI_LOG_INFO,
             "dcl_loops: started %" PRId64
             " operation%s in %.3f ms; %.3f ms of these to plan them, %.3f before the first one",
             times->operations, times->operations == 1 ? "" : "s", (double)all_ns / 1e6,
             (double)(all_ns - times->starting_ns) / 1e6, (double)(times->first_ns - times->began_ns) / 1e6);
}

/* Find the memory that a nest uses. If it is streamed, there must be no operations on lines: then the nest is planned
 * again. */
static dcl_status plan_hosts(struct nest *nest, dcli_loops_name names[])
{
    dcl_cluster *cluster = nest->call->cluster;
    dcl_status status = find_hosts(nest);
    if (status != DCL_OK || nest->look != NULL || !dcli_loops_plan_has_lines(nest->plan) ||
        !dcli_stream_is_needed(cluster, nest->host_count, nest->host))
        return status;
    dcli_nest_plan_give(cluster, nest->plan, true);
    nest->plan = NULL;
    nest->host_count = 0;
    for (int k = 0; k < nest->call->arg_count; k++)
        names[k].whole = names[k].gather = 0;
    status = dcli_nest_plan_take(cluster, nest->call->text, nest->call->arg_count, names, &nest->plan);
    return status == DCL_OK ? find_hosts(nest) : status;
}

/* Run a nest that is planned. */
static dcl_status walk(struct nest *nest, dcli_loops_name names[], dcli_loops_plan *plan)
{
    dcli_text warnings = {0};
    nest->plan = plan;
    dcl_status status = plan_hosts(nest, names);
    plan = nest->plan;
    if (plan == NULL)
        return status;
    bool moves = nest->host_count > 0 || nest->call->cluster->node_count > 1;
    if (nest->look == NULL && nest->call->cluster->log.level >= DCLI_LOG_WARN &&
        dcli_loops_plan_warn(plan, moves, &warnings) && warnings.bytes != NULL)
        DCLI_LOG(&nest->call->cluster->log, DCLI_LOG_WARN, "dcl_loops: %s", warnings.bytes);
    dcli_text_free(&warnings);
    if (status == DCL_OK)
        status = open_hosts(nest);
    if (status == DCL_OK)
        status = walk_all(nest, plan);
    for (int k = 0; k < DCLI_MAX_PARAMS; k++)
        release_hidden(nest, nest->copy[k]);
    for (int k = 0; k < nest->gathered_count; k++)
        release_hidden(nest, nest->gathered[k].array);
    for (int k = 0; k < DCLI_LOOPS_SCALARS; k++)
        release_hidden(nest, nest->own[k]);
    if (nest->host_count == 0)
        log_times(nest);
    status = close_hosts(nest, status);
    dcli_nest_plan_give(nest->call->cluster, plan, status == DCL_OK);
    return status;
}

/* Find which axes are whole of the arrays to which a plan has given axes (loop/flat.c).
 * @param more_out  true: some are of which the plan does not know it; names[] then have the new grids. */
static dcl_status find_whole_axes(const dcl_call *call, const dcli_loops_plan *plan, dcli_loops_name names[],
                                  bool *more_out)
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < call->arg_count && status == DCL_OK; k++) {
        const dcli_loops_name *planned = dcli_loops_plan_name(plan, k);
        unsigned whole = 0;
        if (!dcli_arg_is_host(&call->args[k]) || planned->grid.rank == names[k].grid.rank || planned->whole != 0)
            continue;
        status = dcli_lines_of_host(call->cluster, &planned->grid, &whole);
        if (whole == 0)
            continue;
        names[k].grid = planned->grid;
        names[k].whole = whole;
        *more_out = true;
    }
    return status;
}

/* Plan a nest. */
static dcl_status plan_nest(const dcl_call *call, dcli_loops_name names[], dcli_loops_plan **plan_out)
{
    dcl_status status = check_args(call, names);
    for (int k = 0; k < call->arg_count && status == DCL_OK; k++)
        if (dcli_arg_is_host(&call->args[k])) {
            status = dcli_lines_of_host(call->cluster, &names[k].grid, &names[k].whole);
            names[k].gather = dcli_lines_gather(call->cluster, &names[k].grid, names[k].whole);
        }
    if (status == DCL_OK)
        status = dcli_nest_plan_take(call->cluster, call->text, call->arg_count, names, plan_out);
    if (status != DCL_OK)
        return status;
    bool more = false;
    status = find_whole_axes(call, *plan_out, names, &more);
    if (status == DCL_OK && !more)
        return DCL_OK;
    dcli_nest_plan_give(call->cluster, *plan_out, true);
    *plan_out = NULL;
    return status == DCL_OK ? dcli_nest_plan_take(call->cluster, call->text, call->arg_count, names, plan_out) : status;
}

dcl_status dcli_loops_run(const dcl_call *call)
{
    struct nest nest = {.call = call};
    dcli_loops_name names[DCLI_MAX_PARAMS];
    dcli_loops_plan *plan;
    if (call->cluster != NULL && call->cluster->log.level >= DCLI_LOG_INFO)
        nest.times = (struct times){.taken = true, .began_ns = dcli_monotonic_ns()};
    dcl_status status = plan_nest(call, names, &plan);
    if (status == DCL_OK)
        status = walk(&nest, names, plan);
    if (status == DCL_OK || call->cluster == NULL)
        return status;
    pthread_mutex_lock(&call->cluster->lock);
    return dcli_cluster_end_call(call->cluster, status);
}

dcl_status dcli_loops_look(const dcl_call *call, const dcli_look *look)
{
    dcli_foresight foresight = {0};
    dcli_look each = *look;
    struct nest nest = {.call = call, .look = &each};
    dcli_loops_name names[DCLI_MAX_PARAMS];
    dcli_loops_plan *plan;
    dcl_status status = call->cluster != NULL ? look->check(call->cluster, look->user) : DCL_OK;
    if (status == DCL_OK)
        status = plan_nest(call, names, &plan);
    each.foresight = &foresight;
    if (status == DCL_OK)
        status = walk(&nest, names, plan);
    dcli_foresight_free(&foresight);
    return status;
}
