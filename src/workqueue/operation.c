/* workqueue/operation.c - what follows from a descriptor before it is planned. */
#include "workqueue/operation.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

static bool is_whole(const dcl_box *box, const dcl_grid *grid)
{
    for (int d = 0; d < grid->rank; d++)
        if (box->start[d] != grid->origin[d] || box->count[d] != grid->extent[d] ||
            (box->stride[d] != 1 && box->count[d] > 1))
            return false;
    return true;
}

static void resolve_forall(dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    const dcl_grid *space = &operation->operand[body->first_output].layout->grid;
    bool whole = is_whole(&operation->box, space);
    for (int a = 0; a < body->access_count; a++) {
        const dcli_body_access *access = &body->access[a];
        dcli_operand *operand = &operation->operand[access->param];
        operand->reads |= access->read || access->conditional; /* what is not overwritten is kept */
        operand->writes |= access->written;
        if (access->written && !access->conditional && whole)
            operand->overwrites = true;
    }
    for (int k = 0; k < operation->operand_count; k++)
        operation->operand[k].overwrites &= !operation->operand[k].reads;
}

void dcli_operation_resolve(dcli_operation *operation)
{
    dcli_operand *array = &operation->operand[0];
    switch (operation->kind) {
    case DCLI_OP_FORALL:
        resolve_forall(operation);
        break;
    case DCLI_OP_CREATE:
    case DCLI_OP_RELEASE:
        array->writes = true;
        break;
    case DCLI_OP_FILL:
    case DCLI_OP_LOAD:
        array->writes = array->overwrites = true;
        break;
    case DCLI_OP_WRITE:
        array->writes = true;
        array->overwrites = is_whole(&operation->box, &array->layout->grid);
        break;
    case DCLI_OP_READ:
    case DCLI_OP_SAVE:
        array->reads = true;
        break;
    case DCLI_OP_KIND_COUNT:
        break;
    }
}

static dcl_status check_operands(const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    for (int k = 0; k < body->param_count; k++) {
        const dcli_param *param = &body->params[k];
        const dcli_layout *layout = operation->operand[k].layout;
        if (layout != NULL && (layout->grid.rank != param->rank || layout->grid.type != param->type))
            return DCLI_FAIL(DCL_ERR_INTERNAL, "argument %s does not fit the parsed body", param->name);
    }
    return DCL_OK;
}

/* All outputs cover the same index space: axis d of an output runs loop axis m, so its extent is the first output's. */
static dcl_status check_output(const dcli_operation *operation, int a, const dcli_subscripts *subscripts)
{
    const dcli_body *body = operation->body;
    int k = body->access[a].param;
    const dcl_grid *grid = &operation->operand[k].layout->grid;
    const dcl_grid *space = &operation->operand[body->first_output].layout->grid;
    for (int d = 0; d < grid->rank; d++)
        for (int m = 0; m < space->rank; m++) {
            if (subscripts->axis[d].coef[m] == 0)
                continue;
            if (grid->extent[d] != space->extent[m] || grid->origin[d] != space->origin[m])
                return DCLI_FAIL(DCL_ERR_INVALID,
                                 "axis %d of output %s runs %" PRId64 "..%" PRId64 "; expected %" PRId64 "..%" PRId64
                                 ", as axis %d of the first output %s with the same index; give both the same extent "
                                 "and origin",
                                 d, body->params[k].name, grid->origin[d], grid->origin[d] + grid->extent[d] - 1,
                                 space->origin[m], space->origin[m] + space->extent[m] - 1, m,
                                 body->params[body->first_output].name);
        }
    return DCL_OK;
}

static bool same_subscripts(const dcli_subscripts *a, const dcli_subscripts *b)
{
    if (a->reach != DCLI_REACH_AFFINE || b->reach != DCLI_REACH_AFFINE || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++) {
        if (a->axis[d].constant != b->axis[d].constant)
            return false;
        for (int m = 0; m < a->space_rank; m++)
            if (a->axis[d].coef[m] != b->axis[d].coef[m])
                return false;
    }
    return true;
}

static dcl_status check_alias(const dcli_operation *operation, int a, int b, const dcli_subscripts subscripts[])
{
    const dcli_body_access *first = &operation->body->access[a], *second = &operation->body->access[b];
    const dcli_param *params = operation->body->params;
    if (operation->operand[first->param].storage != operation->operand[second->param].storage ||
        !(first->written || second->written))
        return DCL_OK;
    bool same = same_subscripts(&subscripts[a], &subscripts[b]);
    if (same && first->param == second->param)
        return DCL_OK;
    const dcli_body_access *written = second->written ? second : first, *other = second->written ? first : second;
    if (same) /* compilers may take two names for two places in memory */
        return DCLI_FAIL(DCL_ERR_BODY,
                         "line %d, column %d: %s and %s are the same array, which is written; give it one name, with "
                         "DCL_INOUT",
                         other->line, other->column, params[other->param].name, params[written->param].name);
    return DCLI_FAIL(DCL_ERR_BODY,
                     "line %d, column %d: %s and %s are the same array, written and used at different subscripts; an "
                     "operation may read and write an array only at the same subscript; write a second array and "
                     "exchange them with dcl_swap()",
                     other->line, other->column, params[other->param].name, params[written->param].name);
}

dcl_status dcli_operation_check(const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    dcl_status status = check_operands(operation);
    if (status != DCL_OK)
        return status;
    status = dcli_box_check(&operation->box, &operation->operand[body->first_output].layout->grid);
    dcli_subscripts subscripts[DCLI_MAX_ACCESSES];
    for (int a = 0; a < body->access_count && status == DCL_OK; a++) {
        status = dcli_body_subscripts(body, a, operation->value, &subscripts[a]);
        if (status == DCL_OK && body->access[a].written)
            status = check_output(operation, a, &subscripts[a]);
        for (int b = 0; b < a && status == DCL_OK; b++)
            status = check_alias(operation, b, a, subscripts);
    }
    return status;
}
