/* runtime/forall.c - loop bodies and tile kernels: check a call, start it, explain it. */
#include <string.h>

#include <inttypes.h>

#include "base/alloc.h"
#include "runtime/declare.h"
#include "runtime/report.h"

/* A call being prepared: one entry per parameter of the body. Its lists are not zeroed as a whole, because a call has
 * few parameters. */
struct call {
    dcl_cluster *cluster;
    dcli_known_body *known;
    dcli_text_kind kind;
    bool own;     /* the body is one of the library, or has arguments of the library: no replicas are made or read */
    bool defers;  /* the call ends with dcli_host_push() */
    bool names;   /* the names of the call's arrays are the program's */
    bool repeats; /* as of dcli_overlap_choose() */
    dcli_foresight *foresight; /* as of dcli_look */
    dcli_declarations declarations;
    int count;
    dcl_array *array[DCLI_MAX_PARAMS];
    dcli_storage_state *states[DCLI_MAX_PARAMS];
    dcli_operation operation;
    dcl_steal_policy steal;
    const dcl_box *box; /* the indices; NULL: all */
    dcl_box narrowed;   /* with DCL_OVER: the box to which `box` points once the call is prepared */
};

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static bool is_output(const dcl_arg *arg) { return arg->access == DCL_ACCESS_OUT || arg->access == DCL_ACCESS_INOUT; }

static bool is_scalar_type(dcl_type type) { return type >= DCL_INT8 && type <= DCL_DOUBLE && type != DCL_HALF; }

static dcl_status check_array_arg(const dcl_cluster *cluster, const dcl_arg *arg)
{
    if (arg->array == NULL)
        return DCLI_FAIL_NULL("argument %s is NULL; expected an array made by dcl_agile(); see the error of that "
                              "call",
                              arg->name);
    if (arg->array->cluster != cluster)
        return DCLI_FAIL(DCL_ERR_INVALID, "argument %s is an array of another cluster; expected all of one", arg->name);
    return DCL_OK;
}

static dcl_status check_sizes(bool tiles, const dcl_arg *arg)
{
    const char *what = arg->access == DCL_ACCESS_GROUP ? "DCL_GROUP" : "DCL_ITEMS";
    if (!tiles)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s is an argument of a body, which has no work-items of its own; leave it out, or "
                         "write a tile kernel (dcl_forall_tiles)",
                         what);
    if (arg->width_count < 1 || arg->width_count > DCLI_ITEM_DIMENSIONS)
        return DCLI_FAIL(DCL_ERR_INVALID, "%s has %d sizes; expected 1 to %d, of dimensions 0, 1 and 2", what,
                         arg->width_count, DCLI_ITEM_DIMENSIONS);
    if (arg->access == DCL_ACCESS_GROUP && arg->width[0] == 0) /* 0 in all dimensions means no group */
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "DCL_GROUP has size 0 along dimension 0; expected at least 1 work-item; leave "
                         "DCL_GROUP out where the library is to choose");
    return DCL_OK;
}

static dcl_status check_result(const dcl_arg *arg)
{
    if (arg->result == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "DCL_RESULT %s has no variable; expected the address of one", arg->name);
    if (!is_scalar_type(arg->type))
        return DCLI_FAIL(DCL_ERR_INVALID, "DCL_RESULT %s has type number %d; expected an integer type, float or double",
                         arg->name, (int)arg->type);
    return DCL_OK;
}

static dcl_status check_over(bool tiles, const dcl_arg *arg)
{
    if (arg->name == NULL || arg->name[0] == '\0')
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the text of DCL_OVER is %s; expected ranges of indices, such as "
                         "DCL_OVER(\"0 <= j <= i\")",
                         arg->name == NULL ? "NULL" : "empty");
    if (tiles)
        return DCLI_FAIL(DCL_ERR_INVALID, "DCL_OVER is an argument of a tile kernel, which is called once per tile; "
                                          "expected it in dcl_forall() or dcl_reduce(); use dcl_forall_tiles_over()");
    return DCL_OK;
}

static dcl_status check_stealing(const dcl_arg *arg)
{
    if (arg->value.i >= DCL_STEAL_DEFAULT && arg->value.i <= DCL_STEAL_ALWAYS)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "DCL_STEALING has policy %" PRId64 "; expected DCL_STEAL_DEFAULT, NEVER, PAYS or ALWAYS",
                     arg->value.i);
}

static dcl_status check_value(const dcl_arg *arg)
{
    if (arg->array == NULL && is_scalar_type(arg->type))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "scalar %s has type number %d; expected an integer type, float or double",
                     arg->name, (int)arg->type);
}

static dcl_status check_arg(const dcl_cluster *cluster, bool tiles, int k, const dcl_arg *arg)
{
    if (arg->name == NULL && dcli_arg_is_param(arg))
        return DCLI_FAIL(DCL_ERR_INVALID, "argument %d has no name; expected the name it has in the body", k);
    switch (arg->access) {
    case DCL_ACCESS_GROUP:
    case DCL_ACCESS_ITEMS:
        return check_sizes(tiles, arg);
    case DCL_ACCESS_STEALING:
        return check_stealing(arg);
    case DCL_ACCESS_PRELUDE:
        return arg->name != NULL ? DCL_OK
                                 : DCLI_FAIL(DCL_ERR_INVALID, "the text of a DCL_PRELUDE is NULL; expected OpenCL C");
    case DCL_ACCESS_VALUE:
        return check_value(arg);
    case DCL_ACCESS_FAST:
    case DCL_ACCESS_OPERATOR: /* its name is checked when the body is parsed */
        return DCL_OK;
    case DCL_ACCESS_OVER:
        return check_over(tiles, arg);
    case DCL_ACCESS_RESULT_AT:
        return arg->result != NULL
                   ? DCL_OK
                   : DCLI_FAIL(DCL_ERR_INVALID, "DCL_RESULT_AT has no array; expected one of int64_t, one per axis");
    case DCL_ACCESS_RESULT:
        return check_result(arg);
    case DCL_ACCESS_RESULT_FAST:
    case DCL_ACCESS_RESULT_PLACED:
        break;
    case DCL_ACCESS_ALONG:
    case DCL_ACCESS_EXCLUSIVE:
        return DCLI_FAIL(DCL_ERR_INVALID, "%s is an argument of a scan; expected it in dcl_scan() only",
                         arg->access == DCL_ACCESS_ALONG ? "DCL_ALONG" : "DCL_EXCLUSIVE");
    case DCL_ACCESS_OUT:
    case DCL_ACCESS_IN:
    case DCL_ACCESS_INOUT:
    case DCL_ACCESS_IN_ALL:
    case DCL_ACCESS_IN_ROWS:
    case DCL_ACCESS_IN_COLUMNS:
    case DCL_ACCESS_IN_KEPT:
    case DCL_ACCESS_IN_HALO:
    case DCL_ACCESS_IN_CROSS:
    case DCL_ACCESS_IN_BOX:
    case DCL_ACCESS_IN_AT:
    case DCL_ACCESS_IN_FUNCTION:
    case DCL_ACCESS_MOVE:
        return check_array_arg(cluster, arg);
    case DCL_ACCESS_HOST_IN:
    case DCL_ACCESS_HOST_OUT:
    case DCL_ACCESS_HOST_INOUT:
        return dcli_refuse_arg(arg,
                               "memory of the program is an argument of dcl_loops() only; copy it to an array with "
                               "dcl_write()");
    }
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "argument %s has access number %d; expected DCL_ACCESS_OUT..DCL_ACCESS_HOST_INOUT",
                     arg->name != NULL ? arg->name : "NULL", (int)arg->access);
}

/* Check that a reduction along axes takes arguments of this kind. */
static dcl_status check_along(const dcl_arg *arg)
{
    switch (arg->access) {
    case DCL_ACCESS_OUT:
    case DCL_ACCESS_INOUT:
    case DCL_ACCESS_IN:
    case DCL_ACCESS_IN_ALL:
    case DCL_ACCESS_IN_KEPT:
    case DCL_ACCESS_VALUE:
    case DCL_ACCESS_PRELUDE:
    case DCL_ACCESS_STEALING:
    case DCL_ACCESS_OPERATOR:
    case DCL_ACCESS_OVER:
    case DCL_ACCESS_FAST:
        return DCL_OK;
    case DCL_ACCESS_RESULT_AT:
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "an argument is DCL_RESULT_AT, but no DCL_RESULT is before it; the index of a minimum is found "
            "for values, not for the elements of arrays");
    default:
        return dcli_refuse_arg(arg,
                               "a reduction into arrays takes DCL_OUT, DCL_INOUT, DCL_IN, DCL_IN_ALL, DCL_IN_KEPT, "
                               "DCL_VALUE, DCL_OPERATOR, DCL_PRELUDE, DCL_OVER, DCL_STEALING and DCL_FAST");
    }
}

/* Check DCL_MOVE(C, B): C must be an output of this call. */
static dcl_status check_move(int k, int count, const dcl_arg args[])
{
    const char *of = args[k].of, *found = "no argument of this call";
    for (int other = 0; other < count && of != NULL; other++) {
        if (!dcli_arg_is_param(&args[other]) || strcmp(args[other].name, of) != 0)
            continue;
        if (is_output(&args[other]))
            return DCL_OK;
        found = "no output of this call";
    }
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "DCL_MOVE(%s, %s) moves what the tasks of %s need of %s, but %s is %s; expected the name of a "
                     "DCL_OUT or DCL_INOUT",
                     of != NULL ? of : "NULL", args[k].name, of != NULL ? of : "NULL", args[k].name,
                     of != NULL ? of : "NULL", found);
}

bool dcli_arg_is_host(const dcl_arg *arg)
{
    return arg->access >= DCL_ACCESS_HOST_IN && arg->access <= DCL_ACCESS_HOST_INOUT;
}

/* Check that an argument which only reductions have is in one. */
static dcl_status check_reduces(dcli_text_kind kind, bool reduces, int k, const dcl_arg *arg)
{
    if (reduces)
        return DCL_OK;
    if (dcli_arg_is_result(arg))
        return DCLI_FAIL(DCL_ERR_INVALID, "%s is DCL_RESULT, which is for reductions; expected dcl_reduce()",
                         arg->name);
    if (arg->access == DCL_ACCESS_RESULT_AT)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d is DCL_RESULT_AT, which is for reductions to values; expected dcl_reduce() with "
                         "a DCL_RESULT",
                         k);
    if (kind == DCLI_TEXT_ALONG)
        return DCL_OK;
    if (arg->access == DCL_ACCESS_OPERATOR)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d is DCL_OPERATOR, which is for reductions into arrays; expected dcl_reduce() "
                         "with a DCL_OUT or DCL_INOUT",
                         k);
    if (arg->access == DCL_ACCESS_FAST)
        return DCLI_FAIL(DCL_ERR_INVALID, "argument %d is DCL_FAST, which is for reductions; expected dcl_reduce()", k);
    return DCL_OK;
}

/* The name of an argument that a call may have once. @return NULL: it may have several. */
static const char *once_name(dcl_access access)
{
    switch (access) {
    case DCL_ACCESS_STEALING:
        return "DCL_STEALING";
    case DCL_ACCESS_OVER:
        return "DCL_OVER";
    case DCL_ACCESS_GROUP:
        return "DCL_GROUP";
    case DCL_ACCESS_ITEMS:
        return "DCL_ITEMS";
    default:
        return NULL;
    }
}

static dcl_status check_once(int count, const dcl_arg args[])
{
    uint64_t given = 0; /* bits, by access */
    for (int k = 0; k < count; k++) {
        const char *name = once_name(args[k].access);
        if (name != NULL && (given >> args[k].access & 1) != 0)
            return DCLI_FAIL(DCL_ERR_INVALID, "%s is given twice; expected it once%s", name,
                             args[k].access == DCL_ACCESS_OVER ? ", with commas between the ranges" : "");
        given |= name != NULL ? UINT64_C(1) << args[k].access : 0;
    }
    return DCL_OK;
}

static dcl_status check_moves(int count, const dcl_arg args[])
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < count && status == DCL_OK; k++)
        if (args[k].access == DCL_ACCESS_MOVE)
            status = check_move(k, count, args);
    return status;
}

/* Check the arguments of a call. @param nest  it is a loop nest: memory of the program has been checked before. */
static dcl_status check_args(dcl_cluster *cluster, const char *body, dcli_text_kind kind, bool reduces, bool nest,
                             int count, const dcl_arg args[])
{
    if (cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    if (body == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "body is NULL; expected OpenCL C statements such as \"C(i,j) = A(i,j);\"");
    if (count < 1 || count > DCLI_MAX_PARAMS || args == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "count is %d; expected 1..%d arguments, an output among them", count,
                         DCLI_MAX_PARAMS);
    bool output = false;
    dcl_status status = DCL_OK;
    for (int k = 0; k < count && status == DCL_OK; k++) {
        if (nest && dcli_arg_is_host(&args[k])) {
            output |= args[k].access != DCL_ACCESS_HOST_IN;
            continue;
        }
        status = check_arg(cluster, kind == DCLI_TEXT_TILES, k, &args[k]);
        if (status == DCL_OK && kind == DCLI_TEXT_ALONG)
            status = check_along(&args[k]);
        if (status == DCL_OK)
            status = check_reduces(kind, reduces, k, &args[k]);
        output |= is_output(&args[k]) || dcli_arg_is_result(&args[k]);
    }
    if (status == DCL_OK)
        status = check_once(count, args);
    if (status == DCL_OK)
        status = check_moves(count, args);
    if (output || status != DCL_OK)
        return status;
    return reduces ? DCLI_FAIL(DCL_ERR_INVALID,
                               "no argument is a result; expected at least one DCL_RESULT, DCL_OUT or DCL_INOUT")
                   : DCLI_FAIL(DCL_ERR_INVALID, "no argument is an output; expected at least one DCL_OUT or DCL_INOUT");
}

dcl_status dcli_args_check(dcl_cluster *cluster, const char *body, dcli_text_kind kind, bool reduces, int count,
                           const dcl_arg args[])
{
    return check_args(cluster, body, kind, reduces, false, count, args);
}

dcl_status dcli_nest_args_check(dcl_cluster *cluster, const char *nest, int count, const dcl_arg args[])
{
    return check_args(cluster, nest, DCLI_TEXT_BODY, false, true, count, args);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* Begin to prepare a call. @param box  NULL: all indices. @param count  of its arguments, checked. */
static void begin_call(struct call *call, dcl_cluster *cluster, const dcl_box *box, dcli_text_kind kind, bool own,
                       int count)
{
    call->box = box;
    call->cluster = cluster;
    call->known = NULL;
    call->kind = kind;
    call->own = own;
    call->names = !own;
    call->defers = false;
    call->repeats = false;
    call->foresight = NULL;
    call->count = 0;
    dcli_declarations_begin(&call->declarations, count);
}

static dcl_status fill_operand(struct call *call, int p, const dcl_arg *arg)
{
    dcl_array *array = dcli_arg_has_array(arg) ? arg->array : NULL;
    dcli_operand *operand = &call->operation.operand[p];
    call->array[p] = array;
    *operand = (dcli_operand){.storage = -1};
    call->operation.value[p].u = arg->access == DCL_ACCESS_VALUE ? arg->value.u : 0;
    call->states[p] = array != NULL ? dcli_array_state(array) : NULL;
    if (array == NULL)
        return DCL_OK;
    dcl_array *base = dcli_array_base(array);
    operand->storage = base->state->id;
    operand->view = array != base ? &array->view : NULL;
    operand->reshaped = array->reshaped;
    operand->declared = call->declarations.of[p];
    bool usable = !call->own && !array->reshaped; /* replicas exist only in the array's own shape */
    bool retained = arg->width_count != DCLI_NOT_RETAINED, has_halo = base->layout.rule.halo_rank > 0;
    operand->keeps =
        usable && retained && (arg->access == DCL_ACCESS_IN_KEPT || base->keeps || base->layout.rule.copies > 0);
    usable &= retained || !has_halo; /* whoever uses replicas of an array with a halo also makes them */
    if (operand->keeps || (usable && (base->state->had_replicas || has_halo)))
        operand->generation = call->cluster->replicas.generation + 1;
    if (call->names)
        dcli_array_note_name(array, arg->name);
    return dcli_array_layout(array, &operand->layout);
}

static dcl_status fill_operation(struct call *call, int count, const dcl_arg args[])
{
    dcl_status status = DCL_OK;
    dcli_operation *operation = &call->operation;
    operation->number = 0;
    operation->kind = DCLI_OP_FORALL;
    operation->body = call->known->body;
    operation->node = 0;
    operation->overlap = 0;
    call->count = 0;
    for (int k = 0; k < count && status == DCL_OK; k++)
        if (dcli_arg_is_param(&args[k]))
            status = fill_operand(call, call->count++, &args[k]);
    if (status != DCL_OK)
        return status;
    call->steal = dcli_array_base(call->array[operation->body->owner])->steal;
    for (int k = 0; k < count; k++)
        if (args[k].access == DCL_ACCESS_STEALING)
            call->steal = (dcl_steal_policy)args[k].value.i;
    operation->operand_count = call->count;
    operation->box = call->box != NULL ? *call->box : dcl_box_of(dcli_array_grid(call->array[operation->body->owner]));
    return DCL_OK;
}

/* Get the place in known->checked where the storages of this call are recorded once the check has succeeded; NULL: the
 * check depends on more than the storages. *checked_out: a call with the same storages was recorded before. */
static int64_t *find_checked(struct call *call, bool *checked_out)
{
    dcli_known_body *known = call->known;
    *checked_out = false;
    for (int k = 0; k < call->count; k++) {
        const dcli_operand *operand = &call->operation.operand[k];
        if (operand->view != NULL || operand->declared.count > 0 || operand->declared.approximate)
            return NULL;
    }
    if (call->box != NULL || known->scalars_in_subscripts)
        return NULL;
    for (int c = 0; c < DCLI_CHECKED_CALLS && !*checked_out; c++) {
        const int64_t *storage = known->checked + c * call->count;
        *checked_out = true;
        for (int k = 0; k < call->count && *checked_out; k++)
            *checked_out = storage[k] == call->operation.operand[k].storage;
    }
    return known->checked + known->next_checked * call->count;
}

/* Check an operation, unless a call with the same storages was checked before: numbers of storages are not used
 * again. */
static dcl_status check_operation(struct call *call)
{
    bool checked;
    int64_t *storage = find_checked(call, &checked);
    dcl_status status = checked ? DCL_OK : dcli_operation_check(&call->operation);
    if (status != DCL_OK || storage == NULL || checked)
        return status;
    for (int k = 0; k < call->count; k++)
        storage[k] = call->operation.operand[k].storage;
    call->known->next_checked = (call->known->next_checked + 1) % DCLI_CHECKED_CALLS;
    return DCL_OK;
}

/* Narrow the box of a call to the ranges of DCL_OVER. */
static dcl_status narrow_box(struct call *call)
{
    dcl_box ranges, both;
    const dcl_grid *grid = dcli_array_grid(call->array[call->known->body->owner]);
    dcl_status status = dcli_over_box(call->known->body, call->operation.value, grid, &ranges);
    if (status != DCL_OK)
        return status;
    if (!dcli_box_intersect(&ranges, &call->operation.box, &both)) {
        both = ranges;
        both.count[0] = 0;
    }
    call->narrowed = both;
    if (call->box != NULL || !dcli_box_equal(&both, &call->operation.box))
        call->box = &call->narrowed;
    call->operation.box = both;
    return DCL_OK;
}

/* Find the body of a call, fill its operation, and check both. call->known is held afterwards, even on failure. */
static dcl_status prepare_call(struct call *call, const char *body, int count, const dcl_arg args[])
{
    dcl_status status = dcli_body_of_call(call->cluster, body, call->kind, count, args, &call->known);
    if (status != DCL_OK)
        return status;
    status = fill_operation(call, count, args);
    if (status == DCL_OK && call->box != NULL)
        status = dcli_box_check(call->box, dcli_array_grid(call->array[call->known->body->owner]));
    if (status == DCL_OK && call->known->body->over != NULL)
        status = narrow_box(call);
    if (status != DCL_OK)
        return status;
    dcli_operation_resolve(&call->operation);
    return check_operation(call);
}

static dcl_status check_inputs(const struct call *call)
{
    for (int k = 0; k < call->count; k++)
        if (call->array[k] != NULL && call->operation.operand[k].reads) {
            dcl_status status = dcli_array_usable(call->array[k], "read");
            if (status != DCL_OK)
                return status;
        } else if (call->array[k] != NULL) {
            dcl_status status = dcli_array_whole(call->array[k], "write");
            if (status != DCL_OK)
                return status;
        }
    return DCL_OK;
}

/* Do not use lines that DCL has reserved if all that a node would receive at once might exceed half of its pool. */
static void fit_pool(const dcl_cluster *cluster, dcli_operation *operation)
{
    int64_t bytes = 0;
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].fresh)
            bytes += 2 * operation->operand[k].layout->lead * (int64_t)dcli_element_bytes(operation, k);
    if (bytes <= (int64_t)(cluster->config.pool_bytes / 2))
        return;
    operation->overlap = 0;
    for (int k = 0; k < operation->operand_count; k++)
        operation->operand[k].fresh = false;
}

/* The valid lines of an operand's storage, before this call. @return NULL: it is no array */
static dcli_valid_lines *lines_of(const struct call *call, int k)
{
    dcli_storage_state *state = call->states[k];
    if (state == NULL || call->foresight == NULL)
        return state != NULL ? &state->lines : NULL;
    return dcli_foresight_lines(call->foresight, state);
}

/* Choose whether the operation uses the lines around the nodes' parts. It was resolved before: only operands that are
 * fresh change. */
static void choose_overlap(struct call *call)
{
    const dcli_layout *layout = call->operation.operand[call->known->body->owner].layout;
    const dcli_valid_lines *lines[DCLI_MAX_PARAMS];
    if (layout == NULL || layout->around == 0)
        return;
    if (call->steal == DCL_STEAL_ALWAYS && layout->rule.overlap == 0)
        return; /* batches are to be lent, and operations that use the lines have only one batch */
    for (int k = 0; k < call->count; k++)
        lines[k] = lines_of(call, k);
    dcli_overlap_choose(&call->operation, lines, call->repeats);
    if (layout->rule.overlap == 0)
        fit_pool(call->cluster, &call->operation);
    dcli_operation_resolve(&call->operation);
}

static dcl_status issue_call(struct call *call)
{
    dcli_msg_operand operands[DCLI_MAX_PARAMS];
    dcli_msg_view views[DCLI_MAX_PARAMS];
    dcli_msg_reach reaches[DCLI_MAX_PARAMS];
    dcli_msg_operation descriptor = {.kind = DCLI_OP_FORALL,
                                     .kernel = call->known->number,
                                     .operand_count = call->count,
                                     .operand = operands,
                                     .view = views,
                                     .reach = reaches,
                                     .steal = (int)call->steal};
    choose_overlap(call);
    descriptor.overlap = (int)call->operation.overlap;
    for (int k = 0; k < call->count; k++) {
        const dcli_operand *operand = &call->operation.operand[k];
        descriptor.fresh |= (uint64_t)operand->fresh << k;
        operands[k] = (dcli_msg_operand){.storage = operand->storage,
                                         .value = call->operation.value[k].u,
                                         .generation = operand->keeps ? operand->generation : -operand->generation};
        if (operand->view != NULL)
            views[descriptor.view_count++] =
                dcli_view_describe(k, operand->view, call->array[k]->reshaped ? &operand->layout->grid : NULL);
        if (operand->declared.count > 0 || operand->declared.approximate)
            reaches[descriptor.reach_count++] =
                (dcli_msg_reach){.operand = k,
                                 .count = operand->declared.count,
                                 .number = (int64_t *)(uintptr_t)operand->declared.number,
                                 .approximate = operand->declared.approximate};
    }
    if (call->box != NULL) {
        descriptor.box_rank = call->box->rank;
        descriptor.box = *call->box;
    }
    dcl_status status =
        call->defers
            ? dcli_cluster_issue_deferred(call->cluster, &descriptor, &call->operation, call->states)
            : dcli_cluster_issue(call->cluster, &descriptor, &call->operation, call->states, false, NULL, NULL);
    if (status == DCL_OK)
        call->known->last_operation = call->operation.number;
    if (status == DCL_OK && call->known->prints)
        call->cluster->printing = call->operation.number;
    return status;
}

/* Whether the operation writes an array of which some elements are not stored; the other checks do not depend on
 * maps. */
static bool writes_partial(const dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].layout != NULL && operation->operand[k].layout->partial &&
            operation->operand[k].writes)
            return true;
    return false;
}

/* Whether a call can be issued now, without waiting for anything. */
static bool is_ready(const struct call *call)
{
    const dcli_known_body *known = call->known;
    return known->number > 0 && known->answers_due == 0 && known->status == DCL_OK &&
           dcli_cluster_has_room(call->cluster);
}

/* Wait until a call can be issued, and fill its operation again: while it waited, other threads may have exchanged
 * storages. Afterwards the lock is held until the call is issued. */
static dcl_status await_turn(struct call *call, int count, const dcl_arg args[])
{
    dcl_status status = dcli_body_build(call->cluster, call->known);
    if (status == DCL_OK)
        status = dcli_cluster_await_room(call->cluster);
    if (status == DCL_OK)
        status = fill_operation(call, count, args);
    if (status != DCL_OK)
        return status;
    dcli_operation_resolve(&call->operation);
    status = check_inputs(call);
    if (status == DCL_OK && writes_partial(&call->operation))
        status = dcli_operation_check(&call->operation); /* check again: their maps may have changed, too */
    return status;
}

static dcl_status start_call(struct call *call, const char *body, int count, const dcl_arg args[])
{
    dcl_status status = prepare_call(call, body, count, args);
    if (status == DCL_OK && call->cluster->plan_only)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "this cluster only plans (dcl_open_plan()); use dcl_explain(), or dcl_open() "
                         "for data");
    if (status == DCL_OK)
        status = check_inputs(call);
    if (status == DCL_OK && !is_ready(call))
        status = await_turn(call, count, args);
    return status == DCL_OK ? issue_call(call) : status;
}

dcl_status dcli_forall_start(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                             const dcl_arg args[])
{
    struct call call;
    begin_call(&call, cluster, box, kind, true, count);
    dcl_status status = start_call(&call, body, count, args);
    dcli_body_let_go(call.known);
    return status;
}

dcl_status dcli_forall_run(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                           const dcl_arg args[])
{
    return dcli_forall_step(cluster, box, body, kind, count, args, false, NULL);
}

dcl_status dcli_forall_step(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                            const dcl_arg args[], bool repeats, const dcli_look *look)
{
    if (look != NULL) {
        dcli_look step = *look;
        step.repeats = repeats;
        return dcli_forall_look(cluster, box, body, kind, count, args, &step);
    }
    dcl_status status = dcli_args_check(cluster, body, kind, false, count, args);
    if (cluster == NULL)
        return status;
    struct call call;
    begin_call(&call, cluster, box, kind, false, status == DCL_OK ? count : 0);
    call.repeats = repeats;
    call.defers = !cluster->config.sync; /* with DCL_SYNC it waits for the operation instead */
    if (status == DCL_OK)
        status = dcli_declare(cluster, box, count, args, &call.declarations);
    pthread_mutex_lock(&cluster->lock);
    if (status == DCL_OK)
        status = start_call(&call, body, count, args);
    dcli_body_let_go(call.known);
    status = dcli_cluster_end_call(cluster, status);
    if (status == DCL_OK && call.defers)
        dcli_host_push(cluster->worker[cluster->host]);
    dcli_declarations_free(&call.declarations);
    return status;
}

/* Check that a reduction takes arguments of this kind. Of inputs it reads the elements that the subscripts say, or
 * all. */
static dcl_status check_reduced(const dcl_arg *arg)
{
    switch (arg->access) {
    case DCL_ACCESS_IN:
    case DCL_ACCESS_IN_ALL:
    case DCL_ACCESS_OUT:
    case DCL_ACCESS_INOUT:
    case DCL_ACCESS_VALUE:
    case DCL_ACCESS_PRELUDE:
    case DCL_ACCESS_RESULT:
    case DCL_ACCESS_RESULT_AT:
    case DCL_ACCESS_FAST:
    case DCL_ACCESS_OPERATOR: /* refused with the statement that has it */
    case DCL_ACCESS_OVER:
        return DCL_OK;
    default:
        return dcli_refuse_arg(arg,
                               "a reduction to values takes DCL_RESULT, DCL_RESULT_AT, DCL_OUT, DCL_INOUT, DCL_IN, "
                               "DCL_IN_ALL, DCL_VALUE, DCL_PRELUDE, DCL_OVER and DCL_FAST");
    }
}

dcl_status dcli_reduction_check(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[])
{
    dcl_status status = dcli_args_check(cluster, body, DCLI_TEXT_BODY, true, count, args);
    for (int k = 0; k < count && status == DCL_OK; k++) {
        status = check_reduced(&args[k]);
        if (status == DCL_OK && args[k].access == DCL_ACCESS_RESULT_AT &&
            (k == 0 || args[k - 1].access != DCL_ACCESS_RESULT))
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "argument %d is DCL_RESULT_AT, and the argument before it is no DCL_RESULT; expected it "
                             "directly after the result whose index it gets",
                             k);
    }
    if (status == DCL_OK && count > DCLI_MAX_REDUCED_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "count is %d; a reduction takes at most %d arguments", count,
                         DCLI_MAX_REDUCED_PARAMS);
    return status;
}

/* The arguments of the operation of a reduction that has partial results: those of the program without DCL_FAST and
 * DCL_RESULT_AT, and those that the parser adds. @return how many */
static int list_reduced(int count, const dcl_arg args[], int added_count, const dcl_arg added[], dcl_arg all[])
{
    bool fast = false;
    int kept = 0;
    for (int k = 0; k < count; k++)
        fast |= args[k].access == DCL_ACCESS_FAST;
    for (int k = 0; k < count; k++) {
        if (args[k].access == DCL_ACCESS_FAST || args[k].access == DCL_ACCESS_RESULT_AT)
            continue;
        all[kept] = args[k];
        if (k + 1 < count && args[k + 1].access == DCL_ACCESS_RESULT_AT)
            all[kept].access = DCL_ACCESS_RESULT_PLACED;
        else if (fast && args[k].access == DCL_ACCESS_RESULT)
            all[kept].access = DCL_ACCESS_RESULT_FAST;
        if (dcli_arg_is_result(&args[k]) && args[k].result != NULL)
            all[kept].width_count = 0;
        kept++;
    }
    memcpy(all + kept, added, (size_t)added_count * sizeof *added);
    return kept + added_count;
}

/* Find the nodes that own elements at which the body of a call runs. */
static dcl_status find_computing(const struct call *call, dcli_node_list *nodes_out)
{
    const dcli_operand *owner = &call->operation.operand[call->known->body->owner];
    dcl_box box = call->operation.box;
    if (owner->view != NULL)
        dcli_transform_box(owner->view, &call->operation.box, &box);
    return dcli_layout_owners(owner->layout, &box, nodes_out);
}

dcl_status dcli_reduction_start(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                const dcl_arg args[], int added_count, const dcl_arg added[], dcli_result results_out[],
                                dcl_grid *grid_out, dcli_node_list *computing_out)
{
    dcl_arg all[DCLI_MAX_PARAMS];
    struct call call;
    count = list_reduced(count, args, added_count, added, all);
    begin_call(&call, cluster, box, DCLI_TEXT_BODY, true, count);
    call.names = true;
    dcl_status status = start_call(&call, body, count, all);
    if (status == DCL_OK) {
        memcpy(results_out, call.known->body->result, sizeof call.known->body->result);
        *grid_out = *dcli_array_grid(call.array[call.known->body->owner]);
        if (computing_out != NULL)
            status = find_computing(&call, computing_out);
    }
    dcli_body_let_go(call.known);
    return status;
}

/* ---- asking ------------------------------------------------------------------------------------------------------- */

/* Make room for the storages of a call in its foresight. */
static dcl_status foresee(const struct call *call)
{
    for (int k = 0; k < call->count && call->foresight != NULL; k++)
        if (call->states[k] != NULL && lines_of(call, k) == NULL)
            return DCL_ERR_NOMEM;
    return DCL_OK;
}

/* Record in the foresight what a call that was looked at would change. */
static void record_foreseen(const struct call *call)
{
    dcli_valid_lines *lines[DCLI_MAX_PARAMS];
    if (call->foresight == NULL)
        return;
    for (int k = 0; k < call->count; k++)
        lines[k] = lines_of(call, k);
    dcli_overlap_record(&call->operation, lines);
}

static dcl_status plan_call(struct call *call, const char *body, int count, const dcl_arg args[], dcli_planned_fn *look,
                            void *user)
{
    dcl_status status = dcli_cluster_replicas_settle(call->cluster);
    if (status == DCL_OK)
        status = prepare_call(call, body, count, args);
    if (status == DCL_OK)
        status = foresee(call);
    if (status == DCL_OK) {
        choose_overlap(call);
        dcli_directory_begin(&call->cluster->replicas.directory, &call->operation, NULL, NULL);
        status =
            look(user, &(dcli_planned){.cluster = call->cluster, .operation = &call->operation, .array = call->array});
        record_foreseen(call);
    }
    dcli_body_let_go(call->known);
    return status;
}

dcl_status dcli_forall_planned(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind,
                               int count, const dcl_arg args[], dcli_planned_fn *look, void *user)
{
    struct call call;
    begin_call(&call, cluster, box, kind, true, count);
    return plan_call(&call, body, count, args, look, user);
}

dcl_status dcli_reduction_planned(dcl_cluster *cluster, const dcl_box *box, const char *body, int count,
                                  const dcl_arg args[], int added_count, const dcl_arg added[],
                                  dcli_result results_out[], dcli_node_list *computing_out, dcli_planned_fn *look,
                                  void *user)
{
    dcl_arg all[DCLI_MAX_PARAMS];
    struct call call;
    count = list_reduced(count, args, added_count, added, all);
    begin_call(&call, cluster, box, DCLI_TEXT_BODY, true, count);
    dcl_status status = plan_call(&call, body, count, all, look, user);
    if (status == DCL_OK && results_out != NULL) /* it is in the cache of bodies while the lock is held */
        memcpy(results_out, call.known->body->result, sizeof call.known->body->result);
    if (status == DCL_OK && computing_out != NULL)
        status = find_computing(&call, computing_out);
    return status;
}

dcl_status dcli_forall_look(dcl_cluster *cluster, const dcl_box *box, const char *body, dcli_text_kind kind, int count,
                            const dcl_arg args[], const dcli_look *look)
{
    dcl_status status = cluster != NULL ? look->check(cluster, look->user) : DCL_OK;
    if (status == DCL_OK)
        status = dcli_args_check(cluster, body, kind, false, count, args);
    if (status != DCL_OK)
        return status;
    struct call call;
    begin_call(&call, cluster, box, kind, false, count);
    call.repeats = look->repeats;
    call.foresight = look->foresight;
    status = dcli_declare(cluster, box, count, args, &call.declarations);
    pthread_mutex_lock(&cluster->lock);
    if (status == DCL_OK)
        status = plan_call(&call, body, count, args, look->on, look->user);
    pthread_mutex_unlock(&cluster->lock);
    dcli_declarations_free(&call.declarations);
    return status;
}
