/* runtime/leaves.c - reductions to values and into elements whose results are combined in one order: `p *= A(i,j);` of
 * floating-point numbers, and operators of the program.
 *
 * The values of all indices are stored in an array of the library, unless the body names an element only. Then one axis
 * after another is reduced, the last one first; long axes in leaves (kernel/leaves.h). All are ordinary operations. The
 * extents alone decide the order, so the bits do not depend on nodes, maps or tiles. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dcl/reduce.h>

#include "base/alloc.h"
#include "base/check.h"
#include "kernel/element.h"
#include "kernel/leaves.h"
#include "kernel/names.h"
#include "runtime/report.h"

/* A reduction in progress. */
struct reduction {
    dcl_cluster *cluster;
    const dcl_call *call;
    const dcli_look *look; /* the operations are passed to it, not run; NULL: they are run */
    int imagined;          /* how many arrays have been made without storage */
    dcli_leaves leaves;
    int arg[DCLI_MAX_RESULTS];          /* by result: number of its argument in the call */
    const char *name[DCLI_MAX_RESULTS]; /* by result: the program's operator that combines it; NULL: a product */
    bool elements;                      /* the results are elements of arrays */
    int element_count;
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    dcl_array *home; /* the array that gives the indices */
    dcl_array *values[DCLI_MAX_RESULTS];
    char result[DCLI_MAX_RESULTS][sizeof(int64_t)]; /* the values of variables */
    char method[300];
    dcli_report_form form;
    dcl_report_index index[DCL_MAX_RANK];
};

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

/* ---- which reductions ------------------------------------------------------------------------------------------------ */

/* Whether the text may combine results in one order. */
static bool is_candidate(const dcl_call *call)
{
    bool own = false, results = false;
    if (call->cluster == NULL || call->text == NULL || call->args == NULL || call->arg_count < 1 ||
        call->arg_count > DCLI_MAX_PARAMS)
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        own |= call->args[k].access == DCL_ACCESS_OPERATOR;
        results |= dcli_arg_is_result(&call->args[k]);
    }
    for (int k = 0; k < call->arg_count && results; k++)
        if (is_output(&call->args[k]))
            return false;
    return own || strstr(call->text, "*=") != NULL;
}

/* Find the elements that are reduced into. @return whether the call is a reduction to values or into elements. */
static bool find_elements(struct reduction *r)
{
    const dcl_call *call = r->call;
    int ranks[DCLI_MAX_PARAMS] = {0};
    for (int k = 0; k < call->arg_count; k++)
        r->elements |= is_output(&call->args[k]);
    if (!r->elements)
        return dcli_reduction_check(call->cluster, call->text, call->arg_count, call->args) == DCL_OK;
    if (dcli_args_check(call->cluster, call->text, DCLI_TEXT_BODY, true, call->arg_count, call->args) != DCL_OK)
        return false;
    int outputs = 0;
    for (int k = 0; k < call->arg_count; k++) {
        outputs += is_output(&call->args[k]);
        if (dcli_arg_has_array(&call->args[k]))
            ranks[k] = dcli_array_grid(call->args[k].array)->rank;
    }
    r->element_count = dcli_elements_find(call->text, call->arg_count, call->args, ranks, r->element);
    return r->element_count > 0 && r->element_count == outputs; /* others cannot be beside ordinary outputs */
}

/* The arguments that the parser knows: outputs become results. @return how many */
static int list_parsed(const struct reduction *r, dcl_arg args[])
{
    int count = 0;
    for (int k = 0; k < r->call->arg_count; k++) {
        const dcl_arg *arg = &r->call->args[k];
        if (arg->access == DCL_ACCESS_FAST || arg->access == DCL_ACCESS_RESULT_AT)
            continue;
        args[count] = is_output(arg) ? dcli_arg_into_element(arg) : *arg;
        if (arg->access == DCL_ACCESS_RESULT) {
            args[count].width_count = 0;
            bool placed = k + 1 < r->call->arg_count && r->call->args[k + 1].access == DCL_ACCESS_RESULT_AT;
            args[count].access = placed ? DCL_ACCESS_RESULT_PLACED : DCL_ACCESS_RESULT;
        }
        count++;
    }
    return count;
}

/* Find which arguments the parsed parameters are. */
static void find_args(struct reduction *r)
{
    int param = 0;
    for (int k = 0; k < r->call->arg_count; k++) {
        const dcl_arg *arg = &r->call->args[k];
        if (!dcli_arg_is_param(arg))
            continue;
        if (param == r->leaves.home)
            r->home = arg->array;
        for (int n = 0; n < r->leaves.count; n++) {
            if (r->leaves.result[n].param == param)
                r->arg[n] = k;
            if (r->leaves.result[n].fold == DCLI_FOLD_OWN && r->leaves.result[n].combine == param)
                r->name[n] = arg->name;
        }
        param++;
    }
}

/* ---- arrays ---------------------------------------------------------------------------------------------------------- */

/* Make an array for values or partial results. @param like  it lies as arrays of this map do; NULL: by blocks */
static dcl_status make_array(struct reduction *r, const dcl_grid *grid, const dcl_map *like, dcl_array **array_out)
{
    dcl_map *map = like != NULL ? dcli_map_new_unfilled(like) : dcli_map_new_block(r->cluster);
    if (map == NULL)
        return dcli_error_status();
    dcl_status status = r->look != NULL ? dcli_array_imagine(r->cluster, grid, map, ++r->imagined, array_out)
                                        : dcli_array_make(r->cluster, grid, map, true, array_out);
    dcl_map_release(map);
    return status;
}

static void end_array(const struct reduction *r, dcl_array *array)
{
    if (array != NULL && r->look != NULL)
        dcli_array_free(array);
    else if (array != NULL)
        dcli_array_end(array);
}

static dcl_type type_of(const struct reduction *r, int n)
{
    const dcl_arg *arg = &r->call->args[r->arg[n]];
    return is_output(arg) ? dcli_array_grid(arg->array)->type : arg->type;
}

/* ---- operations ------------------------------------------------------------------------------------------------------ */

static dcl_status look_on(void *user, const dcli_planned *planned)
{
    struct reduction *r = user;
    dcli_planned formed = *planned;
    formed.form = &r->form;
    return r->look->on(r->look->user, &formed);
}

/* Run an operation, or look at it. The lock is held. */
static dcl_status start(struct reduction *r, const dcl_box *box, const char *text, dcli_text_kind kind, int count,
                        const dcl_arg args[])
{
    if (r->look == NULL)
        return dcli_forall_start(r->cluster, box, text, kind, count, args);
    return dcli_forall_planned(r->cluster, box, text, kind, count, args, look_on, r);
}

/* Append the arguments of some kinds to a list. @return the number of arguments; more than DCLI_MAX_PARAMS: too many */
static int add_args(const struct reduction *r, bool inputs, int count, dcl_arg args[])
{
    for (int k = 0; k < r->call->arg_count; k++) {
        const dcl_arg *arg = &r->call->args[k];
        bool input = dcli_arg_has_array(arg) ? !is_output(arg)
                                             : arg->access == DCL_ACCESS_VALUE || arg->access == DCL_ACCESS_OVER;
        if (arg->access != DCL_ACCESS_PRELUDE && !(inputs && input))
            continue;
        if (count < DCLI_MAX_PARAMS)
            args[count] = *arg;
        count++;
    }
    return count;
}

/* Store the values of all indices. */
static dcl_status store_values(struct reduction *r)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    char names[DCLI_MAX_RESULTS][24];
    bool keeps = r->home->base == NULL && !r->home->layout.partial, some = r->call->box != NULL;
    dcl_status status = DCL_OK;
    for (int n = 0; n < r->leaves.count && status == DCL_OK; n++) {
        dcl_grid grid = *dcli_array_grid(r->home);
        grid.type = type_of(r, n);
        status = make_array(r, &grid, keeps ? r->home->map : NULL, &r->values[n]);
        snprintf(names[n], sizeof names[n], DCLI_ORDERED "v%d", n);
        args[n] = dcl_arg_array(DCL_ACCESS_OUT, names[n], r->values[n]);
    }
    int count = add_args(r, true, r->leaves.count, args);
    if (count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "count is %d; a reduction takes at most %d arguments", r->call->arg_count,
                         DCLI_MAX_PARAMS - 1);
    for (int k = 0; k < count; k++)
        some |= args[k].access == DCL_ACCESS_OVER;
    if (status == DCL_OK && some) /* what the body leaves out is neutral */
        status = start(r, NULL, r->leaves.neutral, DCLI_TEXT_BODY, r->leaves.count, args);
    if (status == DCL_OK)
        status = start(r, r->call->box, r->leaves.values, DCLI_TEXT_BODY, count, args);
    return status;
}

/* Reduce the last axis of an array of result n: if it is longer than a leaf (DCLI_LEAF elements), to one element for
 * each leaf; otherwise, or if the array has DCL_MAX_RANK axes, to one element. @param to_out  the new array, without
 * the axis if that has one element left and was not the only one. */
static dcl_status reduce_axis(struct reduction *r, int n, dcl_array *from, dcl_array **to_out)
{
    dcl_grid grid = *dcli_array_grid(from);
    int last = grid.rank - 1;
    int64_t low = grid.origin[last], count = grid.extent[last];
    bool cut = last == 0 || (count > DCLI_LEAF && grid.rank < DCL_MAX_RANK);
    char *over = NULL, *text = dcli_leaves_stage(&r->leaves, grid.rank, r->name[n], cut ? &over : NULL);
    dcl_arg args[DCLI_MAX_PARAMS];
    int used = 2;
    if (text == NULL || (cut && over == NULL)) {
        dcli_free(text);
        return dcli_error_status();
    }
    grid.type = type_of(r, n);
    grid.rank = cut ? grid.rank : last;
    grid.origin[last] = 0;
    grid.extent[last] = dcli_ceil_div(count, DCLI_LEAF);
    dcl_status status = make_array(r, &grid, NULL, to_out);
    args[0] = dcl_arg_array(DCL_ACCESS_OUT, DCLI_ORDERED_TO, *to_out);
    args[1] = dcl_arg_array(DCL_ACCESS_IN, DCLI_ORDERED_FROM, from);
    if (cut) {
        args[used++] = dcl_arg_signed(DCLI_ORDERED_LOW, DCL_INT64, low);
        args[used++] = dcl_arg_signed(DCLI_ORDERED_HIGH, DCL_INT64, low + count - 1);
        args[used++] = dcl_arg_array(DCL_ACCESS_OVER, over, NULL);
    }
    if (r->name[n] != NULL)
        args[used++] = dcl_arg_operator(r->name[n]);
    used = add_args(r, false, used, args);
    if (status == DCL_OK && used > DCLI_MAX_PARAMS)
        status = DCLI_FAIL(DCL_ERR_INVALID, "this reduction has too many preludes; expected at most %d; join some",
                           DCLI_MAX_PARAMS - 8);
    if (status == DCL_OK)
        status = start(r, NULL, text, DCLI_TEXT_ALONG, used, args);
    dcli_free(text);
    dcli_free(over);
    return status;
}

/* Store the neutral element, the result of no values. */
static dcl_status store_neutral(struct reduction *r, int n, dcl_array **to_out)
{
    char text[160], word[64];
    int64_t one = 1;
    dcl_grid grid = dcl_grid_1d(type_of(r, n), one);
    snprintf(text, sizeof text, DCLI_ORDERED_TO "(i) = %s;",
             r->name[n] != NULL ? dcli_operator_split(r->name[n], word) : "1");
    dcl_status status = make_array(r, &grid, NULL, to_out);
    const dcl_arg arg = dcl_arg_array(DCL_ACCESS_OUT, DCLI_ORDERED_TO, *to_out);
    return status == DCL_OK ? start(r, NULL, text, DCLI_TEXT_BODY, 1, &arg) : status;
}

/* Reduce the values of result n to an array of one element. */
static dcl_status reduce_values(struct reduction *r, int n, dcl_array **one_out)
{
    dcl_array *from = r->leaves.plain ? r->home : r->values[n];
    *one_out = NULL;
    if (dcl_grid_count(dcli_array_grid(from)) == 0)
        return store_neutral(r, n, one_out);
    for (;;) {
        dcl_array *to = NULL;
        dcl_status status = reduce_axis(r, n, from, &to);
        end_array(r, *one_out);
        *one_out = from = to;
        if (status != DCL_OK)
            return status;
        const dcl_grid *grid = dcli_array_grid(to);
        if (grid->rank == 1 && grid->extent[0] == 1 && grid->origin[0] == 0)
            return DCL_OK;
    }
}

/* Store the result in its element. */
static dcl_status store_element(struct reduction *r, int n, dcl_array *one)
{
    const dcl_arg *arg = &r->call->args[r->arg[n]];
    const dcli_reduced_element *element = r->element;
    while (element->arg != r->arg[n])
        element++;
    dcl_box box = {.rank = dcli_array_grid(arg->array)->rank};
    for (int d = 0; d < box.rank; d++) {
        box.start[d] = element->index[d];
        box.count[d] = box.stride[d] = 1;
    }
    char *text = dcli_leaves_end(&r->leaves, box.rank, r->name[n], arg->access == DCL_ACCESS_INOUT);
    if (text == NULL)
        return dcli_error_status();
    dcl_arg args[DCLI_MAX_PARAMS] = {dcl_arg_array(arg->access, DCLI_ORDERED_TO, arg->array),
                                     dcl_arg_array(DCL_ACCESS_IN, DCLI_ORDERED_FROM, one)};
    int count = add_args(r, false, 2, args);
    dcl_status status = start(r, &box, text, DCLI_TEXT_BODY, dcli_min(count, DCLI_MAX_PARAMS), args);
    dcli_free(text);
    return status;
}

/* Reduce result n. */
static dcl_status reduce_one(struct reduction *r, int n)
{
    dcl_array *one;
    const int64_t step = 1;
    const dcl_box box = {.rank = 1, .count = {1}, .stride = {1}};
    dcl_status status = reduce_values(r, n, &one);
    if (status == DCL_OK && r->elements)
        status = store_element(r, n, one);
    else if (status == DCL_OK && r->look == NULL)
        status = dcli_array_read(one, &box, r->result[n], &step);
    if (status == DCL_OK && !r->elements && r->look == NULL && dcli_storage_state_failed(dcli_array_state(one)))
        status = dcli_array_usable(one, "reduce into");
    end_array(r, one);
    return status;
}

/* Run all operations, or look at them. The lock is held. */
static dcl_status reduce(struct reduction *r)
{
    const dcl_call *call = r->call;
    dcl_status status = DCL_OK, strayed = DCL_OK;
    bool copies = !r->leaves.plain || call->box != NULL;
    r->leaves.plain = !copies;
    for (int k = 0; k < call->arg_count && status == DCL_OK; k++)
        if (r->look == NULL && is_output(&call->args[k]))
            status = call->args[k].access == DCL_ACCESS_INOUT ? dcli_array_usable(call->args[k].array, "read")
                                                              : dcli_array_whole(call->args[k].array, "write");
    if (status == DCL_OK && r->cluster->plan_only && r->look == NULL)
        status = DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    if (status == DCL_OK && copies)
        status = store_values(r);
    for (int n = 0; n < r->leaves.count && status == DCL_OK; n++)
        status = reduce_one(r, n);
    if (status == DCL_OK && copies && !r->elements && r->look == NULL)
        strayed = dcli_storage_state_strayed(dcli_array_state(r->values[0]), "the values were computed");
    for (int n = 0; n < r->leaves.count; n++)
        end_array(r, r->values[n]);
    return status == DCL_OK ? strayed : status;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

/* Describe the reduction for reports. */
static void describe(struct reduction *r)
{
    const dcl_grid *grid = dcli_array_grid(r->home);
    size_t length = 0;
    for (int d = 0; d < grid->rank; d++)
        r->index[d] = (dcl_report_index){.name = dcli_index_name(r->leaves.index[d]),
                                         .use = "reduced",
                                         .first = grid->origin[d],
                                         .count = grid->extent[d]};
    for (int n = 0; n < r->leaves.count && length < sizeof r->method; n++)
        length += (size_t)snprintf(r->method + length, sizeof r->method - length, "%s%s", n > 0 ? ", " : "",
                                   r->call->args[r->arg[n]].name);
    if (length < sizeof r->method)
        snprintf(
            r->method + length, sizeof r->method - length,
            ": combined in the order of the indices, by leaves of %d, the last axis first; only the extents decide "
            "the order",
            DCLI_LEAF);
    r->form = (dcli_report_form){.count = grid->rank, .index = r->index, .method = r->method};
}

static bool is_of_leaves(const struct reduction *r, int k)
{
    for (int n = 0; n < r->leaves.count; n++)
        if (r->arg[n] == k)
            return true;
    return false;
}

/* Reduce the results that are not combined by leaves, by a call of their own. The lock is not held. */
static dcl_status reduce_others(const struct reduction *r)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    dcl_call call = *r->call;
    bool found;
    call.text = r->leaves.others;
    call.args = args;
    call.arg_count = 0;
    for (int k = 0; k < r->call->arg_count; k++)
        if (!is_of_leaves(r, k))
            args[call.arg_count++] = r->call->args[k];
    if (r->elements)
        return dcli_elements_run(&call, r->look, &found);
    if (r->look != NULL)
        return dcli_reduction_look(call.cluster, call.box, call.text, call.arg_count, args, r->look);
    return dcli_reduction_run(call.cluster, call.box, call.text, call.arg_count, args);
}

static dcl_status run(struct reduction *r)
{
    dcl_status status = r->look != NULL ? r->look->check(r->cluster, r->look->user) : DCL_OK, others = DCL_OK;
    if (status == DCL_OK && r->elements)
        status = dcli_elements_check(r->call->arg_count, r->call->args, r->element_count, r->element);
    describe(r);
    pthread_mutex_lock(&r->cluster->lock);
    if (status == DCL_OK)
        status = reduce(r);
    if (r->look == NULL)
        status = dcli_cluster_end_call(r->cluster, status);
    else
        pthread_mutex_unlock(&r->cluster->lock);
    if ((status == DCL_OK || status == DCL_ERR_RANGE) && r->leaves.others != NULL)
        others = reduce_others(r);
    status = status == DCL_OK || (others != DCL_OK && others != DCL_ERR_RANGE) ? others : status;
    bool stores = !r->elements && r->look == NULL && (status == DCL_OK || status == DCL_ERR_RANGE);
    for (int n = 0; n < r->leaves.count && stores; n++)
        memcpy(r->call->args[r->arg[n]].result, r->result[n], dcl_type_bytes(type_of(r, n)));
    return status;
}

dcl_status dcli_leaves_run(const dcl_call *call, const dcli_look *look, bool *found_out)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    *found_out = false;
    if (!is_candidate(call))
        return DCL_OK;
    struct reduction *r = dcli_calloc(1, sizeof *r);
    *found_out = r == NULL;
    if (r == NULL)
        return DCL_ERR_NOMEM;
    r->cluster = call->cluster;
    r->call = call;
    r->look = look;
    dcl_status status = DCL_OK;
    if (find_elements(r)) {
        status = dcli_body_leaves(call->text, list_parsed(r, args), args, &r->leaves);
        *found_out = status != DCL_OK || r->leaves.count > 0;
    }
    if (status == DCL_OK && *found_out) {
        find_args(r);
        status = run(r);
    }
    dcli_leaves_free(&r->leaves);
    dcli_free(r);
    return status;
}
