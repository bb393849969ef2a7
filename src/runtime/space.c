/* runtime/space.c - reductions to values, into elements and by keys in which no input is read at all indices, such as the
 * trace `t += A(i,i);`, or `s += x(i) * y(j);`.
 *
 * Such a reduction gets one more input: a view with an axis for each index, of an array of the library. The array has one
 * byte for each value of one index, the one with the most values, and is divided in blocks; the other axes are
 * broadcast. The body is run with the statement `(void)index_space(i,j);` after its text (choose_name()), so the owners of the
 * array's elements compute. The elements are never read.
 *
 * Reductions along axes with a loop whose variable stands in subscripts are run as reductions by keys, which may have such
 * loops: the keys are the kept indices. They get such an input, too, if no other one is read at all indices. */
#include <stdio.h>
#include <string.h>

#include <dcl/reduce.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/element.h"
#include "kernel/names.h"
#include "runtime/report.h"

/* The number of the array among those without storage: larger than those of a reduction's own arrays. */
enum { NUMBER = 51 };

/* Room for the name of the array in the body: "index_space", or with a number after it if the program has this word. */
enum { NAME_BYTES = 32 };

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

/* ---- which reductions ------------------------------------------------------------------------------------------------ */

bool dcli_reduction_args(const dcl_call *call, dcl_arg args[], int *count_out)
{
    bool output = false, result = false;
    int ranks[DCLI_MAX_PARAMS] = {0}, count = 0, checked = 0;
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    if (call->cluster == NULL || call->text == NULL || call->args == NULL || call->arg_count < 1 ||
        call->arg_count > DCLI_MAX_PARAMS)
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        output |= is_output(&call->args[k]);
        result |= dcli_arg_is_result(&call->args[k]);
        if (call->args[k].access != DCL_ACCESS_RESULT_AT ||
            call->args[k].array == NULL) /* others are of minima by keys */
            args[checked++] = call->args[k];
    }
    if (output == result || dcli_args_check(call->cluster, call->text, DCLI_TEXT_BODY, true, checked, args) != DCL_OK)
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

/* Whether a call has only arguments that reductions to values, into elements or by keys take. */
static bool takes_args(const dcl_call *call)
{
    for (int k = 0; k < call->arg_count; k++)
        switch (call->args[k].access) {
        case DCL_ACCESS_RESULT:
        case DCL_ACCESS_RESULT_AT:
        case DCL_ACCESS_OUT:
        case DCL_ACCESS_INOUT:
        case DCL_ACCESS_IN:
        case DCL_ACCESS_IN_ALL:
        case DCL_ACCESS_VALUE:
        case DCL_ACCESS_PRELUDE:
        case DCL_ACCESS_OPERATOR:
        case DCL_ACCESS_OVER:
        case DCL_ACCESS_FAST:
            break;
        default:
            return false;
        }
    return true;
}

/* A hash of what decides whether a call has an input that is read at all indices. */
static uint64_t hash_call(const dcl_call *call)
{
    uint64_t hash = dcli_hash_bytes(DCLI_HASH_START, call->text, strlen(call->text));
    for (int k = 0; k < call->arg_count; k++) {
        const dcl_arg *arg = &call->args[k];
        int rank = dcli_arg_has_array(arg) && arg->array != NULL ? dcli_array_grid(arg->array)->rank : 0;
        hash = dcli_hash_word(hash, (uint64_t)arg->access << 8 | (uint64_t)rank);
        if (arg->name != NULL)
            hash = dcli_hash_bytes(hash, arg->name, strlen(arg->name));
    }
    return hash;
}

/* Find the index space of a call. @param own_space_out  whether it has one of its own. */
static dcl_status find_space(const dcl_call *call, bool *own_space_out, dcl_grid *space_out, unsigned *indices_out)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    int count;
    *own_space_out = false;
    if (call->cluster == NULL || call->text == NULL || call->args == NULL || call->arg_count < 1 ||
        call->arg_count > DCLI_MAX_PARAMS || !takes_args(call))
        return DCL_OK;
    uint64_t hash = hash_call(call);
    bool own_space = false;
    pthread_mutex_lock(&call->cluster->lock);
    bool known = dcli_choices_find(&call->cluster->spaces, hash, &own_space);
    pthread_mutex_unlock(&call->cluster->lock);
    if ((known && !own_space) || !dcli_reduction_args(call, args, &count))
        return DCL_OK;
    dcl_status status =
        dcli_body_space(call->text, count, args, call->box, false, own_space_out, space_out, indices_out);
    if (!known && (*own_space_out || status == DCL_OK)) {
        pthread_mutex_lock(&call->cluster->lock);
        dcli_choices_add(&call->cluster->spaces, hash, *own_space_out);
        pthread_mutex_unlock(&call->cluster->lock);
    }
    return status;
}

/* Whether a call is a reduction along axes that its parser refuses, maybe because of a loop in its body. */
static bool is_refused_along(const dcl_call *call)
{
    int ranks[DCLI_MAX_PARAMS] = {0}, outputs = 0;
    dcli_reduced_element element[DCLI_MAX_RESULTS];
    dcli_known_body *known = NULL;
    if (call->cluster == NULL || call->text == NULL || call->args == NULL || call->arg_count < 1 ||
        call->arg_count > DCLI_MAX_PARAMS || call->box != NULL || !dcli_has_word(call->text, "for") ||
        !takes_args(call))
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        const dcl_arg *arg = &call->args[k];
        if (arg->access == DCL_ACCESS_RESULT || arg->access == DCL_ACCESS_RESULT_AT ||
            arg->access == DCL_ACCESS_OPERATOR)
            return false;
        outputs += is_output(arg);
    }
    if (outputs == 0 ||
        dcli_args_check(call->cluster, call->text, DCLI_TEXT_ALONG, false, call->arg_count, call->args) != DCL_OK)
        return false;
    for (int k = 0; k < call->arg_count; k++)
        ranks[k] = is_output(&call->args[k]) ? dcli_array_grid(call->args[k].array)->rank : 0;
    if (dcli_elements_find(call->text, call->arg_count, call->args, ranks, element) > 0 ||
        dcli_call_is_keyed(call->text, call->arg_count, call->args))
        return false;
    pthread_mutex_lock(&call->cluster->lock);
    bool parsed =
        dcli_body_of_call(call->cluster, call->text, DCLI_TEXT_ALONG, call->arg_count, call->args, &known) == DCL_OK;
    dcli_body_let_go(known);
    pthread_mutex_unlock(&call->cluster->lock);
    return !parsed;
}

/* Find the index space of a call that is refused along axes. @param found_out  whether it can be run as a reduction by keys. */
static dcl_status find_refused_along(const dcl_call *call, bool *found_out, bool *own_space_out, dcl_grid *space_out,
                                     unsigned *indices_out)
{
    dcl_arg args[DCLI_MAX_PARAMS];
    *found_out = *own_space_out = false;
    if (!is_refused_along(call))
        return DCL_OK;
    int count = dcli_keyed_args(call->arg_count, call->args, args), p = 0;
    for (int k = 0; k < call->arg_count; k++) {
        if (call->args[k].access == DCL_ACCESS_FAST)
            continue;
        if (is_output(&call->args[k]))
            args[p].array = call->args[k].array;
        p++;
    }
    *indices_out = 0;
    dcl_status status = dcli_body_space(call->text, count, args, NULL, true, own_space_out, space_out, indices_out);
    *found_out = *indices_out != 0; /* it was parsed */
    return status;
}

/* ---- the input ------------------------------------------------------------------------------------------------------- */

/* The axis with the most indices. */
static int longest(const dcl_grid *space)
{
    int axis = 0;
    for (int d = 1; d < space->rank; d++)
        axis = space->extent[d] > space->extent[axis] ? d : axis;
    return axis;
}

/* Make the array and its view. The lock is held. @param base_out  also set after a failure. */
static dcl_status make_input(const dcl_call *call, const dcli_look *look, const dcl_grid *space, dcl_array **base_out,
                             dcl_array **view_out)
{
    int axis = longest(space);
    const dcl_grid line = {
        .type = DCL_INT8, .rank = 1, .extent = {space->extent[axis]}, .origin = {space->origin[axis]}};
    if (look == NULL && call->cluster->plan_only)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    dcl_map *map = dcli_map_new_block(call->cluster);
    if (map == NULL)
        return dcli_error_status();
    dcl_status status = look != NULL ? dcli_array_imagine(call->cluster, &line, map, NUMBER, base_out)
                                     : dcli_array_make(call->cluster, &line, map, true, base_out);
    dcl_map_release(map);
    return status == DCL_OK ? dcli_view_spread(*base_out, axis, space, view_out) : status;
}

static dcl_status end(const dcl_call *call, const dcli_look *look, dcl_array *base, dcl_array *view, dcl_status status)
{
    pthread_mutex_lock(&call->cluster->lock);
    if (view != NULL)
        dcli_view_release(view);
    if (base != NULL && look != NULL)
        dcli_array_free(base);
    else if (base != NULL)
        dcli_array_end(base);
    if (look == NULL)
        return dcli_cluster_end_call(call->cluster, status);
    pthread_mutex_unlock(&call->cluster->lock);
    return status;
}

/* Whether a word stands in the call's text or prelude, or is the name of an argument. */
static bool has_word(const dcl_call *call, const char *word)
{
    bool found = dcli_has_word(call->text, word);
    for (int k = 0; k < call->arg_count && !found; k++)
        found = call->args[k].name != NULL && dcli_has_word(call->args[k].name, word);
    return found;
}

static void choose_name(const dcl_call *call, char name_out[NAME_BYTES])
{
    snprintf(name_out, NAME_BYTES, "index_space");
    for (int number = 2; has_word(call, name_out); number++)
        snprintf(name_out, NAME_BYTES, "index_space_%d", number);
}

/* The text of the call, followed by the statement that names the input. @return NULL: no memory. */
static char *extend(const char *text, const char *name, unsigned indices)
{
    dcli_text extended = {0};
    dcli_text_put(&extended, "%s\n\n(void)%s(", text,
                  name); /* the text may end in a comment, and this in a backslash */
    for (int n = 0; n < DCL_MAX_RANK; n++)
        if ((indices >> n & 1) != 0)
            dcli_text_put(&extended, "%s%s", (indices & ((1U << n) - 1)) != 0 ? "," : "", dcli_index_name(n));
    dcli_text_put(&extended, ");");
    return dcli_text_take(&extended);
}

static dcl_status run(const dcl_call *call, const dcli_look *look, bool refused)
{
    if (refused && look != NULL)
        return dcli_keyed_look(call->cluster, NULL, call->text, call->arg_count, call->args, look);
    if (refused)
        return dcli_keyed_run(call->cluster, NULL, call->text, call->arg_count, call->args);
    return look != NULL ? dcli_reduction_look_at(call, look) : dcli_reduction_call(call);
}

dcl_status dcli_own_space_run(const dcl_call *call, const dcli_look *look, bool *found_out)
{
    dcl_grid space;
    unsigned indices;
    bool refused = false, own_space;
    dcl_status status = find_space(call, &own_space, &space, &indices);
    if (!own_space)
        status = find_refused_along(call, &refused, &own_space, &space, &indices);
    *found_out = own_space || refused;
    if (!*found_out)
        return DCL_OK; /* the reduction will say what is wrong */
    if (status == DCL_OK && !own_space)
        return run(call, look, true);
    if (status == DCL_OK && look != NULL)
        status = look->check(call->cluster, look->user);
    dcl_arg args[DCLI_MAX_PARAMS];
    dcl_array *base = NULL, *view = NULL;
    dcl_call spaced = *call;
    char *text = NULL, name[NAME_BYTES];
    choose_name(call, name);
    if (status == DCL_OK && call->arg_count >= DCLI_MAX_REDUCED_PARAMS)
        status = DCLI_FAIL(DCL_ERR_INVALID,
                           "count is %d; a reduction in which no DCL_IN is read at all indices takes at "
                           "most %d arguments",
                           call->arg_count, DCLI_MAX_REDUCED_PARAMS - 1);
    if (status == DCL_OK && (text = extend(call->text, name, indices)) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK) {
        pthread_mutex_lock(&call->cluster->lock);
        status = make_input(call, look, &space, &base, &view);
        pthread_mutex_unlock(&call->cluster->lock);
    }
    if (status == DCL_OK) {
        memcpy(args, call->args, (size_t)call->arg_count * sizeof *args);
        args[spaced.arg_count++] = dcl_arg_array(DCL_ACCESS_IN, name, view);
        spaced.args = args;
        spaced.text = text;
        status = run(&spaced, look, refused);
    }
    dcli_free(text);
    return end(call, look, base, view, status);
}
