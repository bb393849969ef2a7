/* runtime/along_place.c - the indices of minima and maxima along axes and by keys: DCL_RESULT_AT after an output.
 *
 * The reduction runs as if nobody asked for indices. A second one finds the numbers of the indices that have its
 * values, and a body turns them into indices (kernel/along_place.h). By keys, both are keyed reductions, and the second
 * one reads the values at keys. */
#include <dcl/reduce.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/along_place.h"
#include "kernel/element.h"
#include "kernel/keyed.h"
#include "kernel/names.h"
#include "runtime/report.h"

/* A search in progress. */
struct search {
    dcl_cluster *cluster;
    const dcl_call *call; /* without the arguments DCL_RESULT_AT */
    const dcli_look *look;
    int imagined;
    dcl_array *at[DCLI_MAX_RESULTS]; /* by number of the output: the array of its indices; NULL: not asked for */
    const dcl_arg *output[DCLI_MAX_RESULTS];
    int output_count;
    dcl_array *numbers[DCLI_MAX_RESULTS]; /* by number of the output: the array of the numbers of its indices */
    char *text;
    bool keyed;
    int ranges; /* number of ranges: of the reduced indices; by keys, of all indices. First values of the ranges, and
                   numbers of values: */
    int64_t first[DCL_MAX_RANK], count[DCL_MAX_RANK];
    unsigned reduced[DCLI_MAX_RESULTS]; /* by number of the output: bit n: range n is reduced into it */
};

static int inner_of(const struct search *s, int r) { return __builtin_popcount(s->reduced[r]); }

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

static dcl_status check_alias(const dcl_call *call, int k)
{
    for (int other = 0; other < call->arg_count; other++)
        if (other != k && call->args[other].array != NULL && (dcli_arg_has_array(&call->args[other]) || other < k) &&
            dcli_array_base(call->args[other].array) == dcli_array_base(call->args[k].array))
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "the array of DCL_RESULT_AT after %s is another argument of the same call, too; expected an "
                "array of its own for the indices",
                call->args[k - 1].name);
    return DCL_OK;
}

/* Take the arguments of a call apart. @param args  gets those without DCL_RESULT_AT. */
static dcl_status take_args(struct search *s, const dcl_call *call, dcl_arg args[], int *count_out)
{
    int count = 0;
    for (int k = 0; k < call->arg_count; k++) {
        const dcl_arg *arg = &call->args[k];
        if (arg->access != DCL_ACCESS_RESULT_AT) {
            args[count] = *arg;
            if (is_output(arg) && s->output_count < DCLI_MAX_RESULTS)
                s->output[s->output_count++] = &args[count];
            count++;
            continue;
        }
        if (k == 0 || !is_output(&call->args[k - 1]) || s->output_count == 0)
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "argument %d is DCL_RESULT_AT, and the argument before it is no output; expected it directly "
                "after the DCL_OUT whose indices it gets",
                k);
        if (arg->array == NULL)
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "DCL_RESULT_AT after %s has a variable, but a reduction into arrays finds an index for each "
                "element; expected an array of int32 or int64 made by dcl_agile()",
                call->args[k - 1].name);
        if (arg->array->cluster != call->cluster)
            return DCLI_FAIL(DCL_ERR_INVALID, "the array of DCL_RESULT_AT is of another cluster; expected all of one");
        dcl_status status = check_alias(call, k);
        if (status != DCL_OK)
            return status;
        s->at[s->output_count - 1] = arg->array;
    }
    *count_out = count;
    return DCL_OK;
}

/* Check the array of indices of output r, whose reduction is parsed. */
static dcl_status check_array(const struct search *s, int r)
{
    const dcl_grid *at = dcli_array_grid(s->at[r]), *out = dcli_array_grid(s->output[r]->array);
    const char *name = s->output[r]->name;
    int inner = inner_of(s, r), rank = out->rank + (inner > 1);
    if (at->type != DCL_INT32 && at->type != DCL_INT64)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the array of DCL_RESULT_AT after %s has elements of type %s; expected int32 or "
                         "int64",
                         name, dcl_type_name(at->type));
    if (at->rank != rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "the array of DCL_RESULT_AT after %s has %d axes; expected %d, those of %s%s",
                         name, at->rank, rank, name,
                         inner > 1 ? " and one more, with an element for each reduced index" : "");
    for (int d = 0; d < rank; d++) {
        int64_t extent = d < out->rank ? out->extent[d] : inner, origin = d < out->rank ? out->origin[d] : 0;
        if (at->extent[d] != extent || at->origin[d] != origin)
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axis %d of the array of DCL_RESULT_AT after %s has indices %" PRId64 "..%" PRId64
                             "; expected %" PRId64 "..%" PRId64,
                             d, name, at->origin[d], at->origin[d] + at->extent[d] - 1, origin, origin + extent - 1);
    }
    for (int q = 0; q < s->ranges; q++)
        if ((s->reduced[r] >> q & 1) != 0 && at->type == DCL_INT32 &&
            (s->first[q] < INT32_MIN || s->first[q] + s->count[q] - 1 > INT32_MAX))
            return DCLI_FAIL(
                DCL_ERR_INVALID,
                "the array of DCL_RESULT_AT after %s has elements of type int32, and a reduced index runs to "
                "%" PRId64 "; expected int64",
                name, s->first[q] + s->count[q] - 1);
    return DCL_OK;
}

/* ---- the second reduction ---------------------------------------------------------------------------------------------- */

/* Find the ranges of all indices of a keyed reduction, in the order of their names, and which are reduced into each
 * output. */
static void find_keyed_ranges(struct search *s, const dcli_body *body, const dcl_grid *home)
{
    s->ranges = 0;
    memset(s->reduced, 0, sizeof s->reduced);
    for (int index = 0; index < DCL_MAX_RANK; index++)
        for (int m = 0; m < body->space_rank; m++) {
            if (body->index_of_axis[m] != index)
                continue;
            s->first[s->ranges] = home->origin[m];
            s->count[s->ranges] = home->extent[m];
            for (int r = 0; r < s->output_count; r++)
                s->reduced[r] |= (dcli_keyed_reduced(body, r) >> index & 1) << s->ranges;
            s->ranges++;
        }
}

/* Find the ranges of the reduced indices, or ranges around them. */
static dcl_status find_ranges(struct search *s, const dcli_body *body)
{
    const dcl_grid *grids[DCLI_MAX_PARAMS] = {NULL};
    dcli_scalar values[DCLI_MAX_PARAMS] = {{0}};
    int param = 0;
    for (int k = 0; k < s->call->arg_count; k++) {
        const dcl_arg *arg = &s->call->args[k];
        if (!dcli_arg_is_param(arg))
            continue;
        grids[param] = dcli_arg_has_array(arg) ? dcli_array_grid(arg->array) : NULL;
        values[param++].u = arg->access == DCL_ACCESS_VALUE ? arg->value.u : 0;
    }
    if (s->keyed) {
        find_keyed_ranges(s, body, grids[body->owner]);
        return DCL_OK;
    }
    dcl_box box = s->call->box != NULL ? *s->call->box : dcl_box_of(grids[body->owner]);
    dcl_status status = dcli_along_ranges(body, grids, s->first, s->count);
    if (status == DCL_OK && body->over != NULL)
        status = dcli_over_inner(body, values, &box, s->first, s->count);
    s->ranges = body->inner_rank;
    for (int r = 0; r < s->output_count; r++)
        s->reduced[r] = (1U << s->ranges) - 1;
    return status;
}

/* Parse the reduction, which has been run or planned before, and generate the text of the second one. */
static dcl_status parse(struct search *s)
{
    dcli_known_body *known = NULL;
    unsigned placed = 0;
    for (int r = 0; r < s->output_count; r++)
        placed |= s->at[r] != NULL ? 1U << r : 0;
    dcl_arg keyed[DCLI_MAX_PARAMS];
    int keyed_count = s->keyed ? dcli_keyed_args(s->call->arg_count, s->call->args, keyed) : 0;
    dcl_status status =
        s->keyed
            ? dcli_body_of_call(s->cluster, s->call->text, DCLI_TEXT_BODY, keyed_count, keyed, &known)
            : dcli_body_of_call(s->cluster, s->call->text, DCLI_TEXT_ALONG, s->call->arg_count, s->call->args, &known);
    if (status == DCL_OK)
        status = find_ranges(s, known->body);
    if (status == DCL_OK)
        s->text = s->keyed ? dcli_keyed_place(known->body, placed) : dcli_along_place(known->body, placed);
    if (status == DCL_OK && s->text == NULL)
        status = dcli_error_status();
    dcli_body_let_go(known);
    for (int r = 0; r < s->output_count && status == DCL_OK; r++)
        if (s->at[r] != NULL)
            status = check_array(s, r);
    return status;
}

static dcl_status start(struct search *s, const dcl_box *box, const char *text, dcli_text_kind kind, int count,
                        const dcl_arg args[])
{
    if (s->look == NULL)
        return dcli_forall_start(s->cluster, box, text, kind, count, args);
    return dcli_forall_planned(s->cluster, box, text, kind, count, args, s->look->on, s->look->user);
}

/* Make the array for the numbers of output r. */
static dcl_status make_numbers(struct search *s, int r)
{
    const dcl_array *output = s->output[r]->array;
    dcl_grid grid = *dcli_array_grid(output);
    bool block = output->base != NULL || output->layout.partial;
    grid.type = DCL_INT64;
    dcl_map *map = block ? dcli_map_new_block(s->cluster) : dcli_map_new_unfilled(output->map);
    if (map == NULL)
        return dcli_error_status();
    dcl_status status = s->look != NULL ? dcli_array_imagine(s->cluster, &grid, map, ++s->imagined, &s->numbers[r])
                                        : dcli_array_make(s->cluster, &grid, map, true, &s->numbers[r]);
    dcl_map_release(map);
    return status;
}

/* Set the numbers of output r to `none`: the search may leave elements out. */
static dcl_status clear_numbers(struct search *s, int r)
{
    char text[64] = DCLI_PLACE "to(", *at = text + strlen(text);
    for (int d = 0; d < dcli_array_grid(s->numbers[r])->rank; d++)
        at += snprintf(at, 3, "%s%s", d > 0 ? "," : "", dcli_index_name(d));
    strcpy(at, ") = LONG_MAX;");
    const dcl_arg arg = dcl_arg_array(DCL_ACCESS_OUT, DCLI_PLACE "to", s->numbers[r]);
    return start(s, NULL, text, DCLI_TEXT_BODY, 1, &arg);
}

/* Append a scalar, if there is room. */
static void add_scalar(char name[24], int64_t value, int *count, dcl_arg args[])
{
    if (*count < DCLI_MAX_PARAMS)
        args[*count] = dcl_arg_signed(name, DCL_INT64, value);
    ++*count;
}

/* Append the scalars of the indices of a set of ranges, which they number. */
static int add_ranges(const struct search *s, unsigned set, char names[][24], int count, dcl_arg args[])
{
    int n = 0;
    for (int q = 0; q < s->ranges; q++) {
        if ((set >> q & 1) == 0)
            continue;
        snprintf(names[2 * n], 24, DCLI_PLACE_FIRST "%d", n);
        snprintf(names[2 * n + 1], 24, DCLI_PLACE_COUNT "%d", n);
        add_scalar(names[2 * n], s->first[q], &count, args);
        add_scalar(names[2 * n + 1], s->count[q] > 0 ? s->count[q] : 1, &count, args);
        n++;
    }
    return count;
}

/* Append the scalars of the axes of output r, whose elements are selected by keys. */
static int add_axes(const struct search *s, int r, char names[][24], int count, dcl_arg args[])
{
    const dcl_grid *grid = dcli_array_grid(s->output[r]->array);
    for (int d = 0; d < grid->rank; d++) {
        snprintf(names[2 * d], 24, DCLI_PLACE_LOW "%d_%d", r, d);
        snprintf(names[2 * d + 1], 24, DCLI_PLACE_EXTENT "%d_%d", r, d);
        add_scalar(names[2 * d], grid->origin[d], &count, args);
        add_scalar(names[2 * d + 1], grid->extent[d], &count, args);
    }
    return count;
}

/* Start the second reduction or, with s->look, only plan it. For each output that has a DCL_RESULT_AT, it stores in
 * s->numbers[] the numbers of the indices that have the output's values. */
static dcl_status find_numbers(struct search *s)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    char names[2 * DCLI_MAX_RESULTS][24], ranges[2 * DCL_MAX_RANK][24];
    char axes[DCLI_MAX_RESULTS][2 * DCL_MAX_RANK][24];
    int count = 0;
    for (int r = 0; r < s->output_count; r++) {
        if (s->at[r] == NULL)
            continue;
        snprintf(names[2 * r], 24, DCLI_PLACE_NUMBER "%d", r);
        snprintf(names[2 * r + 1], 24, DCLI_PLACE_VALUE "%d", r);
        args[count++] = dcl_arg_array(DCL_ACCESS_OUT, names[2 * r], s->numbers[r]);
        args[count++] =
            dcl_arg_array(s->keyed ? DCL_ACCESS_IN_ALL : DCL_ACCESS_IN, names[2 * r + 1], s->output[r]->array);
    }
    for (int r = 0; r < s->output_count && s->keyed; r++)
        if (s->at[r] != NULL)
            count = add_axes(s, r, axes[r], count, args);
    for (int k = 0; k < s->call->arg_count; k++) {
        const dcl_arg *arg = &s->call->args[k];
        if (is_output(arg) || arg->access == DCL_ACCESS_OPERATOR || (s->keyed && arg->access == DCL_ACCESS_FAST))
            continue;
        if (count < DCLI_MAX_PARAMS)
            args[count] = *arg;
        count++;
    }
    count = add_ranges(s, (1U << s->ranges) - 1, ranges, count, args);
    if (count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "this reduction has %d arguments, of which each DCL_RESULT_AT counts 2%s, and each %sindex 2; expected at "
            "most %d",
            count, s->keyed ? " and 2 per axis" : "", s->keyed ? "" : "reduced ", DCLI_MAX_PARAMS);
    if (s->keyed)
        return dcli_keyed_start(s->cluster, s->call->box, s->text, count, args, s->look, s->imagined);
    const dcl_call second = {.struct_size = sizeof second,
                             .kind = DCL_CALL_IS_REDUCTION,
                             .cluster = s->cluster,
                             .box = s->call->box,
                             .text = s->text,
                             .args = args,
                             .arg_count = count};
    bool found;
    dcl_status status = dcli_at_input_start(&second, s->look, s->imagined, &found);
    if (found || status != DCL_OK)
        return status;
    return start(s, s->call->box, s->text, DCLI_TEXT_ALONG, count, args);
}

/* Turn the numbers of output r into indices. */
static dcl_status store_indices(struct search *s, int r)
{
    dcl_arg args[2 + 2 * DCL_MAX_RANK] = {dcl_arg_array(DCL_ACCESS_OUT, DCLI_PLACE "to", s->at[r]),
                                          dcl_arg_array(DCL_ACCESS_IN, DCLI_PLACE_NUMBER "0", s->numbers[r])};
    char ranges[2 * DCL_MAX_RANK][24];
    int count = add_ranges(s, s->reduced[r], ranges, 2, args);
    char *text =
        dcli_along_indices(dcli_array_grid(s->numbers[r])->rank, inner_of(s, r), dcli_array_grid(s->at[r])->type);
    dcl_status status = text != NULL ? start(s, NULL, text, DCLI_TEXT_BODY, count, args) : DCL_ERR_NOMEM;
    dcli_free(text);
    return status;
}

/* Start all operations after the reduction. The lock is held. */
static dcl_status search(struct search *s)
{
    bool some = s->call->box != NULL;
    dcl_status status = parse(s);
    for (int k = 0; k < s->call->arg_count; k++)
        some |= s->call->args[k].access == DCL_ACCESS_OVER;
    for (int r = 0; r < s->output_count && status == DCL_OK; r++) {
        if (s->at[r] == NULL)
            continue;
        if (s->look == NULL)
            status = dcli_array_whole(s->at[r], "write");
        if (status == DCL_OK)
            status = make_numbers(s, r);
        if (status == DCL_OK && some && !s->keyed)
            status = clear_numbers(s, r);
    }
    if (status == DCL_OK)
        status = find_numbers(s);
    for (int r = 0; r < s->output_count; r++) {
        if (s->at[r] != NULL && status == DCL_OK)
            status = store_indices(s, r);
        if (s->numbers[r] != NULL && s->look != NULL)
            dcli_array_free(s->numbers[r]);
        else if (s->numbers[r] != NULL)
            dcli_array_end(s->numbers[r]);
    }
    dcli_free(s->text);
    return status;
}

/* Check everything that can be checked before the reduction runs. The lock is held. */
static dcl_status check(struct search *s)
{
    dcl_status status = parse(s);
    dcli_free(s->text);
    s->text = NULL;
    return status;
}

/* Whether outputs of a checked call are single elements. */
static bool has_elements(const dcl_call *call)
{
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    int ranks[DCLI_MAX_PARAMS] = {0};
    for (int k = 0; k < call->arg_count; k++)
        if (dcli_arg_has_array(&call->args[k]))
            ranks[k] = dcli_array_grid(call->args[k].array)->rank;
    return dcli_elements_find(call->text, call->arg_count, call->args, ranks, element) > 0;
}

dcl_status dcli_along_places_run(const dcl_call *call, const dcli_look *look, bool *found_out)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    dcl_call plain = *call;
    struct search s = {.cluster = call->cluster, .call = &plain, .look = look};
    bool output = false, asked = false, found;
    for (int k = 0; k < call->arg_count; k++) {
        output |= is_output(&call->args[k]);
        asked |= call->args[k].access == DCL_ACCESS_RESULT_AT;
    }
    *found_out = output && asked;
    if (!*found_out)
        return DCL_OK;
    plain.args = args;
    dcl_status status = call->cluster != NULL ? take_args(&s, call, args, &plain.arg_count) : DCL_OK;
    if (status == DCL_OK)
        status = dcli_args_check(call->cluster, call->text, DCLI_TEXT_ALONG, false, plain.arg_count, args);
    if (status == DCL_OK && has_elements(&plain))
        status = DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "DCL_RESULT_AT is an argument of a reduction into single elements; expected outputs whose subscripts "
            "are indices or keys, as in low(i) min= A(i,j); find the index of a single minimum with a DCL_RESULT");
    if (status != DCL_OK)
        return status;
    s.keyed = dcli_call_is_keyed(call->text, plain.arg_count, args);
    pthread_mutex_lock(&s.cluster->lock);
    status = check(&s);
    pthread_mutex_unlock(&s.cluster->lock);
    if (status != DCL_OK)
        return status;
    if (s.keyed)
        status = look != NULL ? dcli_keyed_look(plain.cluster, plain.box, plain.text, plain.arg_count, args, look)
                              : dcli_keyed_run(plain.cluster, plain.box, plain.text, plain.arg_count, args);
    else
        status = dcli_at_input_run(&plain, look, &found);
    if (!s.keyed && status == DCL_OK && !found)
        status =
            look != NULL
                ? dcli_forall_look(plain.cluster, plain.box, plain.text, DCLI_TEXT_ALONG, plain.arg_count, args, look)
                : dcli_forall_run(plain.cluster, plain.box, plain.text, DCLI_TEXT_ALONG, plain.arg_count, args);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&s.cluster->lock);
    status = search(&s);
    if (look == NULL)
        return dcli_cluster_end_call(s.cluster, status);
    pthread_mutex_unlock(&s.cluster->lock);
    return status;
}
