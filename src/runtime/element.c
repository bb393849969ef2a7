/* runtime/element.c - reductions into single elements of arrays: `rho(0) += R(i) * R(i);`, maybe beside variables of
 * the program and ordinary outputs.
 *
 * Each is a reduction into partial results (runtime/reduce.c), then for each element a body that combines them where it
 * is stored. So the program waits for nothing, if there are no variables. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/element.h"
#include "runtime/partials.h"
#include "runtime/report.h"

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

static dcl_status check_kind(const dcl_arg *arg)
{
    switch (arg->access) {
    case DCL_ACCESS_OUT:
    case DCL_ACCESS_INOUT:
    case DCL_ACCESS_IN:
    case DCL_ACCESS_IN_ALL:
    case DCL_ACCESS_VALUE:
    case DCL_ACCESS_PRELUDE:
    case DCL_ACCESS_FAST:
    case DCL_ACCESS_OVER:
    case DCL_ACCESS_OPERATOR:
        return DCL_OK;
    case DCL_ACCESS_RESULT_AT: /* it has no name */
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "an argument is DCL_RESULT_AT, but no DCL_RESULT is before it; the index of a "
                         "minimum is found for variables, not for the elements of arrays");
    default:
        return dcli_refuse_arg(arg,
                               "a reduction into elements takes DCL_OUT, DCL_INOUT, DCL_RESULT, DCL_IN, DCL_IN_ALL, "
                               "DCL_VALUE, DCL_PRELUDE, DCL_OPERATOR, DCL_OVER and DCL_FAST");
    }
}

static dcl_status check_element(const dcl_arg *arg, const dcli_reduced_element *element)
{
    const dcl_grid *grid = dcli_array_grid(arg->array);
    if (grid->type == DCL_HALF)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "output %s has elements of type half; expected an integer type, float or double; reduce into "
                         "a float and convert it",
                         arg->name);
    for (int d = 0; d < grid->rank; d++)
        if (element->index[d] < grid->origin[d] || element->index[d] - grid->origin[d] >= grid->extent[d])
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "%s is reduced into an element with index %" PRId64 " along axis %d; expected %" PRId64
                             "..%" PRId64,
                             arg->name, element->index[d], d, grid->origin[d], grid->origin[d] + grid->extent[d] - 1);
    return DCL_OK;
}

dcl_status dcli_elements_check(int count, const dcl_arg args[], int elements, const dcli_reduced_element element[])
{
    dcl_status status = DCL_OK;
    if (count > DCLI_MAX_REDUCED_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "count is %d; a reduction takes at most %d arguments", count,
                         DCLI_MAX_REDUCED_PARAMS);
    for (int k = 0; k < count && status == DCL_OK; k++)
        status = check_kind(&args[k]);
    for (int e = 0; e < elements && status == DCL_OK; e++)
        status = check_element(&args[element[e].arg], &element[e]);
    return status;
}

dcl_arg dcli_arg_into_element(const dcl_arg *output)
{
    const dcl_grid *grid = dcli_array_grid(output->array);
    dcl_arg arg = *output;
    arg.access = DCL_ACCESS_RESULT;
    arg.type = grid->type;
    arg.width_count = grid->rank;
    arg.width[0] = DCLI_INTO_ELEMENT;
    arg.array = NULL;
    arg.result = NULL;
    return arg;
}

/* A reduction into elements, maybe beside variables of the program and ordinary outputs. */
struct reduction {
    dcl_cluster *cluster;
    const dcl_box *box;
    const char *text;
    int count, elements;
    const dcl_arg *args;
    const dcli_look *look; /* the operations are passed to it; NULL: they are run */
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    int result[DCLI_MAX_RESULTS];     /* by number of the element: its number among the results */
    int results, variables;           /* number of all results; number of those that are variables */
    dcl_arg reduced[DCLI_MAX_PARAMS]; /* the arguments, with elements as results */
};

/* Turn the outputs that are elements into results. */
static void list_results(struct reduction *r)
{
    int e = 0;
    for (int k = 0; k < r->count; k++) {
        const dcl_arg *arg = &r->args[k];
        bool element = e < r->elements && r->element[e].arg == k;
        r->reduced[k] = element ? dcli_arg_into_element(arg) : *arg;
        if (element)
            r->result[e++] = r->results;
        r->results += element || dcli_arg_is_result(arg);
        r->variables += !element && dcli_arg_is_result(arg);
    }
}

static dcl_status check(const struct reduction *r)
{
    if (r->results > DCLI_MAX_RESULTS)
        return DCLI_FAIL(DCL_ERR_INVALID, "%d arguments are results: %d elements and %d variables; expected at most %d",
                         r->results, r->elements, r->variables, DCLI_MAX_RESULTS);
    if (r->variables == 0)
        return dcli_elements_check(r->count, r->args, r->elements, r->element);
    dcl_status status = dcli_reduction_check(r->cluster, r->text, r->count, r->args);
    for (int e = 0; e < r->elements && status == DCL_OK; e++)
        status = check_element(&r->args[r->element[e].arg], &r->element[e]);
    return status;
}

/* ---- operations ------------------------------------------------------------------------------------------------------ */

/* What starting the reduction into partial results returns, and the arrays that combine these. */
struct started {
    dcli_result reduced[DCLI_MAX_RESULTS];
    dcl_grid grid;
    dcli_node_list computing;
    dcl_array *(*level)[2]; /* [results] the arrays of a tree, if there is one */
    dcl_array *top[DCLI_MAX_RESULTS];
    bool tree;
};

/* Start the reduction into partial results. */
static dcl_status start_partials(const struct reduction *r, dcl_array *partials, int64_t stamp, struct started *started)
{
    dcl_arg added[DCLI_PARTIALS_ADDED];
    dcli_partials_args(partials, stamp, added);
    if (r->look != NULL)
        return dcli_reduction_planned(r->cluster, r->box, r->text, r->count, r->reduced, DCLI_PARTIALS_ADDED, added,
                                      started->reduced, &started->computing, r->look->on, r->look->user);
    return dcli_reduction_start(r->cluster, r->box, r->text, r->count, r->reduced, DCLI_PARTIALS_ADDED, added,
                                started->reduced, &started->grid, &started->computing);
}

/* Start the body that combines the partial results of element e. */
static dcl_status start_combination(const struct reduction *r, int e, const struct started *started,
                                    dcl_array *partials, int64_t stamp)
{
    const dcl_arg *arg = &r->args[r->element[e].arg];
    const dcl_grid *grid = dcli_array_grid(arg->array);
    const char *text, *prelude;
    int how = DCLI_COMBINE_ELEMENT | (arg->access == DCL_ACCESS_INOUT ? DCLI_COMBINE_INTO : 0) |
              (started->tree ? DCLI_COMBINE_TOP : 0);
    dcl_status status = dcli_combination_get(r->cluster, started->reduced[r->result[e]].fold, grid->type, grid->rank,
                                             how, &text, &prelude);
    if (status != DCL_OK)
        return status;
    dcl_box box = {.rank = grid->rank};
    for (int d = 0; d < grid->rank; d++) {
        box.start[d] = r->element[e].index[d];
        box.count[d] = box.stride[d] = 1;
    }
    int64_t step = dcli_partials_step(r->cluster, partials, r->results),
            first = 1 + (int64_t)r->result[e] * DCLI_PARTIAL_LONGS;
    dcl_arg words = started->tree ? dcl_arg_array(DCL_ACCESS_IN, DCLI_ELEMENT_WORDS, started->top[r->result[e]])
                                  : dcl_arg_array(DCL_ACCESS_IN_ALL, DCLI_ELEMENT_WORDS, partials);
    dcl_arg args[] = {dcl_arg_array(arg->access, DCLI_ELEMENT, arg->array),
                      words,
                      dcl_arg_signed(DCLI_ELEMENT_FIRST, DCL_INT64, first),
                      dcl_arg_signed(DCLI_ELEMENT_STEP, DCL_INT64, step),
                      dcl_arg_signed(DCLI_ELEMENT_COUNT, DCL_INT64, dcl_grid_count(dcli_array_grid(partials)) / step),
                      dcl_arg_signed(DCLI_ELEMENT_STAMP, DCL_INT64, stamp),
                      dcl_arg_prelude(prelude)};
    int count = sizeof args / sizeof args[0];
    if (r->look != NULL)
        return dcli_forall_planned(r->cluster, &box, text, DCLI_TEXT_BODY, count, args, r->look->on, r->look->user);
    return dcli_forall_start(r->cluster, &box, text, DCLI_TEXT_BODY, count, args);
}

/* Combine the partial results of all results up a tree, if many nodes have some. */
static dcl_status start_tree(const struct reduction *r, dcl_array *partials, int64_t stamp, struct started *started)
{
    const dcli_tree tree = {r->cluster, partials, r->results, stamp, r->look};
    dcl_status status = DCL_OK;
    int n = 0;
    started->tree = dcli_tree_steps(r->cluster, started->computing.count) > 0;
    for (int k = 0; k < r->count && started->tree && status == DCL_OK; k++)
        if (dcli_arg_is_result(&r->reduced[k])) {
            status = dcli_tree_combine(&tree, n, &started->reduced[n], r->reduced[k].type, started->level[n],
                                       &started->top[n]);
            n++;
        }
    return status;
}

/* Start the reduction, and the combinations. */
static dcl_status start_operations(const struct reduction *r, dcl_array *partials, int64_t stamp,
                                   struct started *started)
{
    dcl_status status = start_partials(r, partials, stamp, started);
    if (status == DCL_OK)
        status = start_tree(r, partials, stamp, started);
    for (int e = 0; e < r->elements && status == DCL_OK; e++)
        status = start_combination(r, e, started, partials, stamp);
    return status;
}

/* Start all operations, and wait for the values of variables. The lock is held. */
static dcl_status start(const struct reduction *r)
{
    struct dcli_partials *partials = NULL;
    struct started started = {.computing = {0}};
    dcl_status status = DCL_OK;
    for (int e = 0; e < r->elements && status == DCL_OK; e++) {
        const dcl_arg *arg = &r->args[r->element[e].arg];
        dcli_array_note_name(arg->array, arg->name);
        status = arg->access == DCL_ACCESS_INOUT ? dcli_array_usable(arg->array, "read")
                                                 : dcli_array_whole(arg->array, "write");
    }
    if (status == DCL_OK && r->cluster->plan_only)
        status = DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    if (status == DCL_OK)
        status = dcli_partials_get(r->cluster, r->results, &partials);
    if (status == DCL_OK) {
        started.level = partials->level;
        status = start_operations(r, partials->array, partials->stamp, &started);
    }
    if (status == DCL_OK && r->variables > 0)
        status = dcli_partials_read(partials, &started.computing, &started.grid, started.reduced, r->count, r->reduced,
                                    started.tree ? started.top : NULL);
    dcli_node_list_free(&started.computing);
    dcli_partials_put(r->cluster, partials, status);
    return status;
}

/* Check the reduction and give each of its operations to r->look instead of running it. Imagined arrays stand for the
 * partial results. Takes the lock. */
static dcl_status look_at(const struct reduction *r)
{
    dcl_array *partials = NULL, *level[DCLI_MAX_RESULTS][2] = {{NULL}};
    struct started started = {.computing = {0}, .level = level};
    dcl_status status = r->look->check(r->cluster, r->look->user);
    pthread_mutex_lock(&r->cluster->lock);
    if (status == DCL_OK)
        status = dcli_partials_imagine(r->cluster, r->results, &partials);
    if (status == DCL_OK)
        status = start_operations(r, partials, 1, &started);
    for (int n = 0; n < 2 * DCLI_MAX_RESULTS; n++)
        if (level[n / 2][n % 2] != NULL)
            dcli_array_free(level[n / 2][n % 2]);
    dcli_node_list_free(&started.computing);
    if (partials != NULL)
        dcli_array_free(partials);
    pthread_mutex_unlock(&r->cluster->lock);
    return status;
}

/* Run a reduction of which `elements` outputs are elements. */
static dcl_status run(const dcl_call *call, const dcli_look *look, int elements, const dcli_reduced_element element[])
{
    struct reduction r = {.cluster = call->cluster,
                          .box = call->box,
                          .text = call->text,
                          .count = call->arg_count,
                          .elements = elements,
                          .args = call->args,
                          .look = look};
    memcpy(r.element, element, (size_t)elements * sizeof element[0]);
    list_results(&r);
    dcl_status status = check(&r);
    if (look != NULL)
        return status == DCL_OK ? look_at(&r) : status;
    pthread_mutex_lock(&r.cluster->lock);
    if (status == DCL_OK)
        status = start(&r);
    return dcli_cluster_end_call(r.cluster, status);
}

dcl_status dcli_elements_run(const dcl_call *call, const dcli_look *look, bool *found_out)
{
    int ranks[DCLI_MAX_PARAMS] = {0};
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    *found_out = false;
    dcl_status status = dcli_args_check(call->cluster, call->text, DCLI_TEXT_BODY, true, call->arg_count, call->args);
    if (status != DCL_OK) /* the check of a reduction along axes finds the same */
        return DCL_OK;
    for (int k = 0; k < call->arg_count; k++)
        if (dcli_arg_has_array(&call->args[k]))
            ranks[k] = dcli_array_grid(call->args[k].array)->rank;
    int elements = dcli_elements_find(call->text, call->arg_count, call->args, ranks, element);
    *found_out = elements > 0;
    return *found_out ? run(call, look, elements, element) : DCL_OK;
}
