/* workqueue/operation.c - checks and completes an operation before it is planned. */
#include "workqueue/operation.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "segment/declared.h"
#include "segment/image.h"
#include "segment/wide.h"
#include "workqueue/narrow.h"

static bool is_whole(const dcl_box *box, const dcl_grid *grid)
{
    for (int d = 0; d < grid->rank; d++)
        if (box->start[d] != grid->origin[d] || box->count[d] != grid->extent[d] ||
            (box->stride[d] != 1 && box->count[d] > 1))
            return false;
    return true;
}

/* Whether an operand shows all elements of its array: it is the array itself, or a view of all of it. */
static bool sees_all(const dcli_operand *operand)
{
    return operand->view == NULL || dcli_transform_covers(operand->view, &operand->layout->grid);
}

/* Whether an access has the same layout and the same subscripts as the first output, so that both find their elements
 * at the same offsets. */
static bool lies_as_first(const dcli_operation *operation, int a)
{
    const dcli_body *body = operation->body;
    int first = body->home;
    dcli_subscripts own, subscripts, first_subscripts;
    return dcli_layout_same(operation->operand[body->access[a].param].layout, operation->operand[body->owner].layout) &&
           dcli_operation_subscripts(operation, a, &own, &subscripts) == DCL_OK &&
           dcli_operation_subscripts(operation, first, &own, &first_subscripts) == DCL_OK &&
           dcli_subscripts_same(&subscripts, &first_subscripts);
}

/* Whether an output's access reaches all stored elements of the output, although a body runs only for the stored
 * elements of its first output. */
static bool meets_all(const dcli_operation *operation, int a)
{
    const dcli_body *body = operation->body;
    int k = body->access[a].param;
    bool some = operation->operand[k].layout->partial || operation->operand[body->owner].layout->partial;
    return !some || k == body->owner || lies_as_first(operation, a);
}

static void resolve_forall(dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    const dcl_grid *space = dcli_operand_grid(&operation->operand[body->owner]);
    bool whole = is_whole(&operation->box, space);
    for (int a = 0; a < body->access_count; a++) {
        const dcli_body_access *access = &body->access[a];
        dcli_operand *operand = &operation->operand[access->param];
        operand->reads |= access->read || access->conditional; /* elements that are not written keep their value */
        operand->writes |= access->written;
        if (access->written && !access->conditional && whole && sees_all(operand) && meets_all(operation, a))
            operand->overwrites = true;
    }
    for (int k = body->partials; k < body->partials + dcli_body_partial_arrays(body); k++) {
        operation->operand[k].writes = true;
        operation->operand[k].reads = body->keyed; /* others begin with empty slots (dcli_body.partials) */
        operation->operand[k].overwrites = !body->keyed;
    }
    for (int k = 0; k < operation->operand_count; k++) {
        operation->operand[k].overwrites &= !operation->operand[k].reads;
        operation->operand[k].writes |= operation->operand[k].fresh;
        if (operation->operand[k].writes) {
            operation->operand[k].generation = 0;
            operation->operand[k].keeps = false;
        }
    }
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
    case DCLI_OP_LOAD:
        array->writes = array->overwrites = true;
        break;
    case DCLI_OP_FILL:
    case DCLI_OP_WRITE:
        array->writes = true;
        array->overwrites = is_whole(&operation->box, &array->layout->grid);
        break;
    case DCLI_OP_READ:
    case DCLI_OP_SAVE:
        array->reads = true;
        break;
    case DCLI_OP_MOVE:
        array->reads = array->keeps = true;
        break;
    case DCLI_OP_DROP:
    case DCLI_OP_KIND_COUNT:
        break;
    }
}

dcl_status dcli_operation_inner(const dcli_operation *operation, int64_t start_out[], int64_t count_out[])
{
    const dcl_grid *grids[DCLI_MAX_PARAMS] = {NULL};
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].layout != NULL)
            grids[k] = dcli_operand_grid(&operation->operand[k]);
    dcl_status status = dcli_along_ranges(operation->body, grids, start_out, count_out);
    if (status == DCL_OK && operation->body->over != NULL)
        status = dcli_over_inner(operation->body, operation->value, &operation->box, start_out, count_out);
    return status;
}

/* Complete the subscripts of an access by the ranges of the inner axes: constants are for counters 0. */
static dcl_status add_inner(const dcli_operation *operation, int a, dcli_subscripts *own)
{
    int64_t start[DCL_MAX_RANK];
    const dcli_body *body = operation->body;
    dcl_status status = dcli_operation_inner(operation, start, own->inner_count);
    for (int q = 0; q < own->inner_rank && status == DCL_OK; q++) {
        bool used = false;
        for (int d = 0; d < own->rank; d++)
            used |= own->axis[d].coef[own->space_rank + q] != 0;
        own->inner_count[q] = used ? own->inner_count[q] : 1; /* an output is written even if nothing is reduced */
    }
    for (int d = 0; d < own->rank && status == DCL_OK && own->reach == DCLI_REACH_AFFINE; d++)
        for (int q = 0; q < own->inner_rank; q++) {
            int64_t first;
            if (!dcli_mul(own->axis[d].coef[own->space_rank + q], start[q], &first) ||
                !dcli_add(own->axis[d].constant, first, &own->axis[d].constant))
                return DCLI_FAIL(
                    DCL_ERR_BODY, "line %d, column %d: subscript %d of %s overflows 64 bits; use smaller coefficients",
                    body->access[a].line, body->access[a].column, d + 1, body->params[body->access[a].param].name);
        }
    return status;
}

/* Find the least and the greatest value of subscript d. @return false: nothing is read, or 128 bits do not suffice. */
static bool range_of(const dcli_subscripts *subscripts, int d, const dcl_box *box, dcli_wide *low_out,
                     dcli_wide *high_out)
{
    *low_out = *high_out = subscripts->axis[d].constant;
    for (int m = 0; m < subscripts->space_rank + subscripts->inner_rank; m++) {
        int q = m - subscripts->space_rank;
        int64_t start = q < 0 ? box->start[m] : 0, count = q < 0 ? box->count[m] : subscripts->inner_count[q];
        dcli_wide coef = subscripts->axis[d].coef[m], first = coef * start,
                  last = coef * dcli_run_last(start, count, q < 0 ? box->stride[m] : 1);
        if (count < 1 || __builtin_add_overflow(*low_out, dcli_wide_min(first, last), low_out) ||
            __builtin_add_overflow(*high_out, dcli_wide_max(first, last), high_out))
            return false;
    }
    return true;
}

/* Whether all indices of axis v of an operand's grid stand for all indices of an axis of its array, so that both wrap
 * around at the same place. */
static bool sees_axis(const dcli_operand *operand, int v)
{
    if (operand->view == NULL)
        return true;
    int d = dcli_transform_base_axis(operand->view, v);
    return d < 0 || ((operand->view->step[d] == 1 || operand->view->step[d] == -1) &&
                     operand->view->grid.extent[v] == operand->layout->grid.extent[d]);
}

static dcl_status fail_wrap(const dcli_operation *operation, int a, int d, const char *what)
{
    const dcli_body_access *access = &operation->body->access[a];
    return DCLI_FAIL(DCL_ERR_BODY, "line %d, column %d: subscript %d of %s: %s", access->line, access->column, d + 1,
                     operation->body->params[access->param].name, what);
}

/* Complete subscript d, which has a period: shift its constant by a multiple of the period, so that the numbers lie
 * around those of the axis. Numbers outside are read at the other end of the axis, as those beyond a periodic edge. */
static dcl_status wrap(const dcli_operation *operation, int a, int d, dcli_subscripts *own)
{
    dcli_subscript *subscript = &own->axis[d];
    const dcli_operand *operand = &operation->operand[operation->body->access[a].param];
    const dcl_grid *grid = dcli_operand_grid(operand);
    dcli_wide low, high, period = subscript->period;
    char text[320];
    if (period < 1) {
        snprintf(text, sizeof text, "the right side of %% is %" PRId64 "; expected the extent of the axis, %" PRId64,
                 subscript->period, grid->extent[d]);
        return fail_wrap(operation, a, d, text);
    }
    if (!range_of(own, d, &operation->box, &low, &high))
        return DCL_OK;
    if (low < 0) {
        snprintf(text, sizeof text,
                 "the left side of %% is %" PRId64 " for some index, and %% of a negative number is negative in C; "
                 "expected 0 or more; add the extent: (i - 1 + n) %% n",
                 dcli_wide_clip(low));
        return fail_wrap(operation, a, d, text);
    }
    if (high < period)
        return DCL_OK;
    if (period != grid->extent[d] || grid->origin[d] != 0 || !sees_axis(operand, d)) {
        snprintf(text, sizeof text,
                 "it wraps around at %" PRId64 ", and the axis has the indices %" PRId64 "..%" PRId64
                 "%s; expected the extent of an axis that begins at 0; otherwise declare DCL_IN_ALL",
                 subscript->period, grid->origin[d], grid->origin[d] + grid->extent[d] - 1,
                 sees_axis(operand, d) ? "" : ", which are only some of those of the array behind this view");
        return fail_wrap(operation, a, d, text);
    }
    dcli_wide shift = (low + (high - low) / 2) / period * period;
    if (low - shift < -period || high - shift >= 2 * period) {
        snprintf(text, sizeof text,
                 "the left side of %% runs from %" PRId64 " to %" PRId64
                 "; expected it to wrap around once; otherwise declare DCL_IN_ALL",
                 dcli_wide_clip(low), dcli_wide_clip(high));
        return fail_wrap(operation, a, d, text);
    }
    subscript->shift = (int64_t)shift; /* it lies between 0 and `high`, which check_range() requires to fit */
    if (shift > INT64_MAX || !dcli_sub(subscript->constant, subscript->shift, &subscript->constant))
        return fail_wrap(operation, a, d, "it overflows 64 bits; use smaller numbers");
    return DCL_OK;
}

dcl_status dcli_operation_subscripts(const dcli_operation *operation, int a, dcli_subscripts *own_out,
                                     dcli_subscripts *base_out)
{
    const dcli_body_access *access = &operation->body->access[a];
    const dcli_transform *view = operation->operand[access->param].view;
    dcl_status status = dcli_body_subscripts(operation->body, a, operation->value, own_out);
    if (status == DCL_OK && operation->body->inner_rank > 0)
        status = add_inner(operation, a, own_out);
    for (int d = 0; d < own_out->rank && status == DCL_OK; d++)
        if (dcli_body_wraps(operation->body, a, d))
            status = wrap(operation, a, d, own_out);
    if (status != DCL_OK)
        return status;
    own_out->declared = operation->operand[access->param].declared;
    *base_out = *own_out;
    if (view != NULL && !dcli_transform_subscripts(view, own_out, base_out))
        return DCLI_FAIL(DCL_ERR_BODY,
                         "line %d, column %d: a subscript of %s overflows 64 bits on the array behind this view; use "
                         "smaller coefficients, or a view with smaller strides",
                         access->line, access->column, operation->body->params[access->param].name);
    return DCL_OK;
}

/* Widen axis v of a view's grid by the halo on both sides. The axis shows all of the periodic axis d of the base.
 * @param backwards  in descending order. */
static void widen(dcl_grid *grid, int v, const dcli_layout *layout, int d, bool backwards)
{
    int64_t before = backwards ? layout->rule.halo_high[d] : layout->rule.halo_low[d];
    int64_t behind = backwards ? layout->rule.halo_low[d] : layout->rule.halo_high[d], first, end;
    if (!dcli_add(grid->origin[v], -before, &first) || !dcli_add(grid->origin[v] + grid->extent[v], behind, &end))
        return; /* the indices would overflow: there are no neighbours */
    grid->origin[v] = first;
    grid->extent[v] = end - first;
}

/* Widen an axis by its own extent on both sides. */
static void widen_by_period(dcl_grid *grid, int v)
{
    int64_t first, end;
    if (grid->extent[v] > INT64_MAX / 3 || !dcli_sub(grid->origin[v], grid->extent[v], &first) ||
        !dcli_add(first, 3 * grid->extent[v], &end))
        return;
    grid->origin[v] = first;
    grid->extent[v] = end - first;
}

dcl_grid dcli_access_grid(const dcli_operation *operation, int a)
{
    const dcli_body_access *access = &operation->body->access[a];
    const dcli_operand *operand = &operation->operand[access->param];
    const dcli_layout *layout = operand->layout;
    dcl_grid grid = *dcli_operand_grid(operand);
    bool near =
        access->reach == DCLI_REACH_AFFINE || access->reach == DCLI_REACH_HALO || access->reach == DCLI_REACH_CROSS;
    near = near && layout->rule.periodic != 0 && !dcli_body_writes(operation->body, access->param);
    for (int d = 0; near && d < layout->grid.rank; d++) {
        int v = operand->view != NULL ? operand->view->axis[d] : d;
        int64_t step = operand->view != NULL ? operand->view->step[d] : 1;
        if (dcli_layout_wraps(layout, d) && v >= 0 && (step == 1 || step == -1) &&
            dcli_operand_grid(operand)->extent[v] == layout->grid.extent[d])
            widen(&grid, v, layout, d, step < 0);
    }
    for (int v = 0; v < grid.rank; v++)
        if (dcli_body_wraps(operation->body, a, v)) {
            grid.origin[v] = dcli_operand_grid(operand)->origin[v];
            grid.extent[v] = dcli_operand_grid(operand)->extent[v];
            if (sees_axis(operand, v))
                widen_by_period(&grid, v);
        }
    return grid;
}

bool dcli_access_footprint(const dcli_operation *operation, int a, const dcli_subscripts *own, const dcl_box *space,
                           dcl_box *seen_out, dcl_box *footprint_out, bool *cut_out)
{
    const dcli_operand *operand = &operation->operand[operation->body->access[a].param];
    dcl_grid grid = dcli_access_grid(operation, a);
    dcli_subscripts narrow;
    bool some =
        dcli_footprint(dcli_operation_narrow(operation, a, own, space, &narrow), space, &grid, seen_out, cut_out);
    if (operand->view == NULL)
        *footprint_out = *seen_out;
    else
        dcli_transform_box(operand->view, seen_out, footprint_out);
    return some;
}

static dcl_status check_operands(const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    const dcl_grid *space = dcli_operand_grid(&operation->operand[body->owner]);
    if (dcli_body_is_reduced(body) && operation->operand[body->owner].layout->partial)
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "array %s, over whose elements the body is reduced, stores only some of its elements; expected an array "
            "that stores all; reduce a copy of it under another map (dcl_copy())",
            body->params[body->owner].name);
    for (int k = 0; k < body->param_count; k++) {
        const dcli_param *param = &body->params[k];
        const dcli_operand *operand = &operation->operand[k];
        const dcl_grid *grid = operand->layout != NULL ? dcli_operand_grid(operand) : NULL;
        if (grid != NULL && (grid->rank != param->rank || grid->type != param->type))
            return DCLI_FAIL(DCL_ERR_INTERNAL, "argument %s does not fit the parsed body", param->name);
        dcl_status status = grid == NULL ? DCL_OK
                                         : dcli_declared_check(dcli_reach_of(param->access), &operand->declared,
                                                               param->name, space, grid);
        if (status != DCL_OK)
            return status;
    }
    return DCL_OK;
}

/* Check an output: it is not broadcast; if only some of its elements are stored, it is laid out as the first output;
 * and axis d, indexed by loop axis m, has the extent and origin of axis m of the first output, whose index space all
 * outputs share. */
static dcl_status check_output(const dcli_operation *operation, int a, const dcli_subscripts *subscripts)
{
    const dcli_body *body = operation->body;
    int k = body->access[a].param;
    const dcl_grid *grid = dcli_operand_grid(&operation->operand[k]);
    const dcl_grid *space = dcli_operand_grid(&operation->operand[body->owner]);
    if (operation->operand[k].view != NULL && dcli_transform_broadcasts(operation->operand[k].view))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "output %s is a view with a broadcast axis: several of its indices stand for one element; "
                         "expected a view that can be written; write to the array behind it",
                         body->params[k].name);
    if (operation->operand[k].layout->partial && k != body->owner && !lies_as_first(operation, a))
        return DCLI_FAIL(
            DCL_ERR_UNSUPPORTED,
            "output %s stores only some of its elements, and not at the same places as the first output %s, "
            "for whose elements the body runs; expected both laid out alike and written at the same "
            "subscripts; make %s with the map of %s, or write it by a body of its own",
            body->params[k].name, body->params[body->owner].name, body->params[k].name, body->params[body->owner].name);
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
                                 body->params[body->owner].name);
        }
    return DCL_OK;
}

/* An input of a tile kernel without a declared reach has the tile's own box, so its grid must be that of the first
 * output. */
static dcl_status check_tile_input(const dcli_operation *operation, int a)
{
    const dcli_body *body = operation->body;
    const dcli_param *param = &body->params[body->access[a].param];
    const dcl_grid *grid = dcli_operand_grid(&operation->operand[body->access[a].param]);
    const dcl_grid *space = dcli_operand_grid(&operation->operand[body->owner]);
    for (int d = 0; d < space->rank; d++)
        if (grid->extent[d] != space->extent[d] || grid->origin[d] != space->origin[d])
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axis %d of %s runs %" PRId64 "..%" PRId64 "; expected %" PRId64 "..%" PRId64
                             ", as that of the first output %s, for a tile has its own box of it; declare what a tile "
                             "reads: DCL_IN_ALL, DCL_IN_ROWS, DCL_IN_COLUMNS, DCL_IN_BOX or DCL_IN_FUNCTION",
                             d, param->name, grid->origin[d], grid->origin[d] + grid->extent[d] - 1, space->origin[d],
                             space->origin[d] + space->extent[d] - 1, body->params[body->owner].name);
    return DCL_OK;
}

/* Whether a subscript fits 64 bits for all indices of a box. Kernels compute with 64 bits and would wrap around. */
static bool fits(const dcli_subscripts *subscripts, int d, const dcl_box *box)
{
    dcli_wide low, high, shift = subscripts->axis[d].shift;
    for (int q = 0; q < subscripts->inner_rank; q++)
        if (subscripts->inner_count[q] < 1)
            return true; /* nothing is read */
    return range_of(subscripts, d, box, &low, &high) && low + shift >= INT64_MIN && high + shift <= INT64_MAX;
}

static dcl_status check_range(const dcli_operation *operation, int a, const dcli_subscripts *subscripts)
{
    const dcli_body_access *access = &operation->body->access[a];
    const dcl_box *box = &operation->box;
    bool some = subscripts->reach == DCLI_REACH_AFFINE;
    for (int m = 0; m < box->rank && some; m++)
        some = box->count[m] > 0;
    for (int d = 0; d < subscripts->rank && some; d++)
        if (!fits(subscripts, d, box))
            return DCLI_FAIL(DCL_ERR_BODY,
                             "line %d, column %d: subscript %d of %s does not fit 64 bits for some index that the body "
                             "runs over; expected it to; use smaller coefficients, or narrow the loop with "
                             "dcl_forall_over()",
                             access->line, access->column, d + 1, operation->body->params[access->param].name);
    return DCL_OK;
}

/* Whether the footprints of two accesses of one storage have no element in common. Footprints are bounding boxes, so a
 * "no" may be wrong; a "yes" is right. */
static bool are_apart(const dcli_operation *operation, int a, int b, const dcli_subscripts own[])
{
    dcl_box seen, foot[2];
    bool cut;
    const dcl_grid *grid = &operation->operand[operation->body->access[a].param].layout->grid;
    if (!dcli_access_footprint(operation, a, &own[a], &operation->box, &seen, &foot[0], &cut) ||
        !dcli_access_footprint(operation, b, &own[b], &operation->box, &seen, &foot[1], &cut))
        return true;
    /* The written footprint lies inside the grid; only the reader's may leave it. */
    int reader = dcli_box_leaves(&foot[1], grid);
    return !dcli_images_meet(&foot[reader], grid, &foot[1 - reader]);
}

static dcl_status check_alias(const dcli_operation *operation, int a, int b, const dcli_subscripts own[],
                              const dcli_subscripts subscripts[])
{
    const dcli_body_access *first = &operation->body->access[a], *second = &operation->body->access[b];
    const dcli_param *params = operation->body->params;
    if (operation->operand[first->param].storage != operation->operand[second->param].storage ||
        !(first->written || second->written))
        return DCL_OK;
    bool alike = dcli_grid_same_shape(&operation->operand[first->param].layout->grid,
                                      &operation->operand[second->param].layout->grid); /* a reshaped view has another
                                                                                           grid than its base */
    bool same = alike && dcli_subscripts_same(&subscripts[a], &subscripts[b]);
    if ((same && first->param == second->param) || (alike && !same && are_apart(operation, a, b, own)))
        return DCL_OK;
    const dcli_body_access *written = second->written ? second : first, *other = second->written ? first : second;
    if (same) /* compilers may assume that two names do not alias */
        return DCLI_FAIL(DCL_ERR_BODY,
                         "line %d, column %d: %s and %s are the same array, which is written; give it one name, with "
                         "DCL_INOUT",
                         other->line, other->column, params[other->param].name, params[written->param].name);
    return DCLI_FAIL(DCL_ERR_BODY,
                     "line %d, column %d: %s and %s are the same array, written and used at different subscripts; an "
                     "operation may read and write an array only at the same subscript, or through views that have no "
                     "element in common; write a second array and exchange them with dcl_swap()",
                     other->line, other->column, params[other->param].name, params[written->param].name);
}

dcl_status dcli_operation_check(const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    dcl_status status = check_operands(operation);
    if (status != DCL_OK)
        return status;
    status = dcli_box_check(&operation->box, dcli_operand_grid(&operation->operand[body->owner]));
    dcli_subscripts own[DCLI_MAX_ACCESSES], subscripts[DCLI_MAX_ACCESSES];
    for (int a = 0; a < body->access_count && status == DCL_OK; a++) {
        status = dcli_operation_subscripts(operation, a, &own[a], &subscripts[a]);
        if (status == DCL_OK)
            status = check_range(operation, a, &own[a]);
        if (status == DCL_OK && body->access[a].written)
            status = check_output(operation, a, &own[a]);
        else if (status == DCL_OK && body->tile_kernel && own[a].reach == DCLI_REACH_AFFINE)
            status = check_tile_input(operation, a);
        for (int b = 0; b < a && status == DCL_OK; b++)
            status = check_alias(operation, b, a, own, subscripts);
    }
    return status;
}
