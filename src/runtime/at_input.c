/* runtime/at_input.c - reductions along axes that are computed where an input is stored.
 *
 * Usually the owners of the outputs compute, and get the elements of inputs that they read. If the input that has
 * all indices is stored elsewhere, as A in blocks of columns for y(i) += A(i,j) * x(j), fewer bytes move if its
 * owners compute and send partial results of the outputs. Such a call is run as a keyed reduction (runtime/keyed.c)
 * whose keys are the kept indices. That does the same arithmetic, so the results have the same bits. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "kernel/keyed.h"
#include "runtime/report.h"

enum {
    MOST_PLANNED = 64,            /* most nodes whose plans are made for a choice: of larger clusters every k-th node */
    LEAST_SAVED_BYTES = 64 << 10, /* saving fewer bytes than this does not pay for the additional operations */
    LEAST_READ_BYTES = 4 << 20    /* the same if all nodes read each other's memory in place */
};

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

/* Whether some nodes are GPUs. A cluster that only plans counts as one of CPUs. */
static bool has_gpus(const dcl_cluster *cluster)
{
    for (int n = 0; n < cluster->node_count && !cluster->plan_only; n++)
        if (dcli_node_is_gpu(cluster, n))
            return true;
    return false;
}

/* ---- which calls can be run so ---------------------------------------------------------------------------------------- */

static bool takes_arg(const dcl_call *call, const dcl_arg *arg)
{
    switch (arg->access) {
    case DCL_ACCESS_OUT:
    case DCL_ACCESS_INOUT:
        for (int k = 0; k < call->arg_count; k++)
            if (&call->args[k] != arg && dcli_arg_has_array(&call->args[k]) && call->args[k].array != NULL &&
                arg->array != NULL && dcli_array_base(call->args[k].array) == dcli_array_base(arg->array))
                return false;
        return arg->array != NULL && dcli_array_grid(arg->array)->type != DCL_HALF &&
               !dcli_array_base(arg->array)->layout.partial;
    case DCL_ACCESS_IN:
    case DCL_ACCESS_IN_ALL:
    case DCL_ACCESS_VALUE:
    case DCL_ACCESS_PRELUDE:
    case DCL_ACCESS_STEALING:
    case DCL_ACCESS_FAST:
        return true;
    default:
        return false;
    }
}

static bool takes_args(const dcl_call *call)
{
    int outputs = 0, params = 0;
    if (call->cluster == NULL || call->text == NULL || call->args == NULL || call->box != NULL || call->arg_count < 1 ||
        call->arg_count > DCLI_MAX_PARAMS || call->cluster->node_count < 2)
        return false;
    for (int k = 0; k < call->arg_count; k++) {
        const dcl_arg *arg = &call->args[k];
        if (!takes_arg(call, arg))
            return false;
        params += dcli_arg_is_param(arg);
        if (!is_output(arg))
            continue;
        int rank = dcli_array_grid(arg->array)->rank;
        outputs++;
        params += 1 + 2 * rank;
        if (rank > DCLI_KEYED_MOST_RANK)
            return false;
    }
    return outputs > 0 && outputs <= DCLI_MAX_RESULTS && params <= DCLI_MAX_PARAMS;
}

/* Whether merging partial results of several nodes gives the same bits as the reduction along axes. */
static bool can_merge(const dcli_body *along)
{
    if (along->result_count == 0 || along->inner_rank == 0 || dcli_body_is_chain(along) || dcli_body_is_ordered(along))
        return false;
    for (int r = 0; r < along->result_count; r++)
        if (along->result[r].fold == DCLI_FOLD_ANY || along->result[r].fold == DCLI_FOLD_ALL)
            return false;
    return true;
}

/* Whether nodes can reduce without taking a lock for each value: CPUs if they reduce whole boxes first
 * (dcli_keyed_folds()); otherwise if the results are so small that each work-item, or each work-group of a GPU, has
 * partial results of its own. */
static bool has_room(const dcl_call *call, const dcli_body *keyed)
{
    bool gpus = has_gpus(call->cluster), room = !gpus && dcli_keyed_folds(keyed);
    int param = 0;
    for (int k = 0; k < call->arg_count && !room; k++) {
        if (!dcli_arg_is_param(&call->args[k]))
            continue;
        for (int r = 0; r < keyed->result_count; r++)
            if (keyed->result[r].param == param) {
                int64_t elements = dcl_grid_count(dcli_array_grid(call->args[k].array));
                if (!dcli_keyed_has_own(keyed, r, elements) || (gpus && elements > dcli_keyed_group_count(keyed, r)))
                    return false;
            }
        param++;
    }
    return true;
}

/* The array whose owners would compute the keyed reduction; NULL: the call cannot be run that way. */
static const dcl_array *find_home(const dcl_call *call, const dcli_body *keyed)
{
    int param = 0;
    for (int k = 0; k < call->arg_count; k++)
        if (dcli_arg_is_param(&call->args[k]) && param++ == keyed->owner) {
            const dcl_array *base = dcli_array_base(call->args[k].array);
            bool copies = base->keeps || base->layout.rule.copies > 0 || base->state->had_replicas;
            return base->layout.partial || copies ? NULL : base;
        }
    return NULL;
}

/* Whether the owners of an input can compute a call. The lock is held. */
static bool is_possible(const dcl_call *call)
{
    dcli_known_body *along = NULL, *keyed = NULL;
    dcl_arg args[DCLI_MAX_PARAMS];
    int count = dcli_keyed_args(call->arg_count, call->args, args);
    bool possible =
        dcli_body_of_call(call->cluster, call->text, DCLI_TEXT_ALONG, call->arg_count, call->args, &along) == DCL_OK &&
        can_merge(along->body);
    possible = possible &&
               dcli_body_of_call(call->cluster, call->text, DCLI_TEXT_BODY, count, args, &keyed) == DCL_OK &&
               keyed->body->keyed && dcli_keyed_adds_once(keyed->body) && find_home(call, keyed->body) != NULL &&
               has_room(call, keyed->body);
    dcli_body_let_go(keyed);
    dcli_body_let_go(along);
    return possible;
}

/* ---- which way moves less --------------------------------------------------------------------------------------------- */

/* Add the bytes that move in a planned operation (a dcli_planned_fn); of clusters with more than MOST_PLANNED nodes,
 * those of a sample. @param user  an int64_t, the sum. */
static dcl_status add_moved(void *user, const dcli_planned *planned)
{
    int64_t *moved = user;
    int step = (planned->cluster->node_count + MOST_PLANNED - 1) / MOST_PLANNED;
    dcl_status status = DCL_OK;
    for (int n = 0; n < planned->cluster->node_count && status == DCL_OK; n += step) {
        dcli_plan *plan;
        status = dcli_plan_for_report(planned->cluster, planned->operation, n, false, &plan);
        if (status != DCL_OK)
            break;
        *moved += plan->counters.bytes_moved;
        dcli_plan_free(plan);
    }
    return status;
}

static dcl_status check_nothing(const dcl_cluster *cluster, const void *user)
{
    (void)cluster;
    (void)user;
    return DCL_OK;
}

/* The least number of bytes by which the keyed reduction must be better. */
static int64_t least_saved(const dcl_cluster *cluster)
{
    for (int n = 1; n < cluster->node_count; n++)
        if (dcli_way_between(&cluster->ways[0], &cluster->ways[n]) != DCLI_WAY_PLACE)
            return LEAST_SAVED_BYTES;
    return LEAST_READ_BYTES;
}

/* Whether the keyed reduction moves sufficiently fewer bytes: at most half, and least_saved() less. The lock is
 * held. @param imagined  as of dcli_at_input_start(). */
static bool is_better(const dcl_call *call, int imagined)
{
    int64_t along = 0, keyed = 0;
    const dcli_look look = {.check = check_nothing, .on = add_moved, .user = &keyed};
    if (dcli_forall_planned(call->cluster, NULL, call->text, DCLI_TEXT_ALONG, call->arg_count, call->args, add_moved,
                            &along) != DCL_OK)
        return false; /* the reduction will say what is wrong */
    bool always = call->cluster->fault != NULL && strcmp(call->cluster->fault, "partials") == 0;
    int64_t least = least_saved(call->cluster);
    if (!always && along < least)
        return false;
    if (dcli_keyed_start(call->cluster, NULL, call->text, call->arg_count, call->args, &look, imagined) != DCL_OK)
        return false;
    return always || (along - keyed >= least && keyed <= along / 2);
}

static uint64_t hash_array(uint64_t hash, const dcl_array *array)
{
    const dcli_transform *view = &array->view;
    hash = dcli_hash_word(hash, (uint64_t)dcli_array_state(array)->id);
    if (array->base == NULL)
        return hash;
    size_t bytes = (size_t)view->base_rank * sizeof(int64_t);
    for (int d = 0; d < view->grid.rank; d++)
        hash = dcli_hash_word(dcli_hash_word(hash, (uint64_t)view->grid.origin[d]), (uint64_t)view->grid.extent[d]);
    hash = dcli_hash_bytes(hash, view->axis, (size_t)view->base_rank * sizeof(int));
    return dcli_hash_bytes(dcli_hash_bytes(hash, view->constant, bytes), view->step, bytes);
}

/* A hash of what identifies a call. Numbers of storages are never used again. Values of scalars are left out: calls
 * that differ in these only share a choice. */
static uint64_t hash_call(const dcl_call *call)
{
    uint64_t hash = dcli_hash_bytes(DCLI_HASH_START, call->text, strlen(call->text));
    hash = dcli_hash_word(hash, (uint64_t)call->cluster->node_count);
    for (int k = 0; k < call->arg_count; k++) {
        const dcl_arg *arg = &call->args[k];
        hash = dcli_hash_word(hash, (uint64_t)arg->access);
        if (arg->name != NULL)
            hash = dcli_hash_bytes(hash, arg->name, strlen(arg->name));
        if (dcli_arg_has_array(arg))
            hash = hash_array(hash, arg->array);
    }
    return hash;
}

/* Choose for the first call of a kind, and keep the choice. The lock is held. */
static bool choose(const dcl_call *call, int imagined)
{
    uint64_t hash = hash_call(call);
    bool chosen;
    if (dcli_choices_find(&call->cluster->at_inputs, hash, &chosen))
        return chosen;
    chosen = is_possible(call) && is_better(call, imagined);
    dcli_choices_add(&call->cluster->at_inputs, hash, chosen);
    return chosen;
}

/* Whether a choice can be made for a call: it has valid arguments, of kinds that both ways take. */
static bool is_compared(const dcl_call *call)
{
    return takes_args(call) &&
           dcli_args_check(call->cluster, call->text, DCLI_TEXT_ALONG, false, call->arg_count, call->args) == DCL_OK;
}

dcl_status dcli_at_input_start(const dcl_call *call, const dcli_look *look, int imagined, bool *found_out)
{
    *found_out = is_compared(call) && choose(call, imagined);
    if (!*found_out)
        return DCL_OK; /* the reduction will say what is wrong */
    return dcli_keyed_start(call->cluster, NULL, call->text, call->arg_count, call->args, look, imagined);
}

dcl_status dcli_at_input_run(const dcl_call *call, const dcli_look *look, bool *found_out)
{
    *found_out = false;
    if (!is_compared(call))
        return DCL_OK;
    dcl_status status = look != NULL ? look->check(call->cluster, look->user) : DCL_OK;
    if (status != DCL_OK)
        return DCL_OK; /* as above */
    pthread_mutex_lock(&call->cluster->lock);
    status = dcli_at_input_start(call, look, 0, found_out);
    if (*found_out && look == NULL)
        return dcli_cluster_end_call(call->cluster, status);
    pthread_mutex_unlock(&call->cluster->lock);
    return status;
}
