/* workqueue/overlap.c - decides which loop bodies use the lines around parts, and records how many of these are
 * valid. */
#include "workqueue/overlap.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"

enum { LEAST_STEPS = 5 }; /* from this step of a time loop on, bodies use lines that were reserved */

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* How many lines the reads of an access are away from the line of the loop index, at most. */
static int64_t find_reach(const dcli_subscripts *subscripts)
{
    const dcli_subscript *first = &subscripts->axis[0];
    int64_t low = first->constant, high = low;
    for (int q = 0; q < subscripts->inner_rank; q++) {
        int64_t last = first->coef[subscripts->space_rank + q] * (subscripts->inner_count[q] - 1);
        low += dcli_min(0, last);
        high += dcli_max(0, last);
    }
    return dcli_max(dcli_max(-low, high), 0);
}

/* Whether the lines that an access reads have the same distances from the line of the loop index for all indices, and
 * these are small enough for find_reach(). */
static bool reads_lines(const dcli_subscripts *subscripts)
{
    const dcli_subscript *first = &subscripts->axis[0];
    bool fits = subscripts->reach == DCLI_REACH_AFFINE && first->coef[0] == 1 &&
                first->constant >= -DCLI_MOST_OVERLAP && first->constant <= DCLI_MOST_OVERLAP;
    for (int m = 1; m < subscripts->space_rank && fits; m++)
        fits = first->coef[m] == 0;
    for (int q = 0; q < subscripts->inner_rank && fits; q++) {
        int64_t coef = first->coef[subscripts->space_rank + q], count = subscripts->inner_count[q];
        fits = coef >= -DCLI_MOST_OVERLAP && coef <= DCLI_MOST_OVERLAP && count > 0 && count <= DCLI_MOST_OVERLAP;
    }
    for (int d = 0; d < subscripts->rank && fits; d++)
        fits = !subscripts->axis[d].clamped && subscripts->axis[d].period == 0;
    return fits;
}

/* Whether an access can use lines around parts: its array has the layout of the first output, and it reads nothing
 * outside the grid. If it writes, its subscripts must be `home`, those of the first output.
 * @param subscripts_out  the subscripts of the access. */
static bool access_fits(const dcli_operation *operation, int a, const dcli_subscripts *home,
                        dcli_subscripts *subscripts_out)
{
    const dcli_body_access *access = &operation->body->access[a];
    const dcli_operand *operand = &operation->operand[access->param],
                       *owner = &operation->operand[operation->body->owner];
    dcli_subscripts base;
    dcl_box foot;
    bool cut;
    if (operand->layout == NULL || operand->view != NULL || operand->reshaped || operand->generation != 0 ||
        !dcli_layout_same(operand->layout, owner->layout) ||
        dcli_operation_subscripts(operation, a, subscripts_out, &base) != DCL_OK || !reads_lines(subscripts_out))
        return false;
    if (access->written && !dcli_subscripts_same(subscripts_out, home))
        return false;
    return dcli_footprint(subscripts_out, &operation->box, &operand->layout->grid, &foot, &cut) && !cut;
}

/* Whether a body can use lines around parts at all. */
static bool body_fits(const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    const dcli_layout *layout = operation->operand[body->owner].layout;
    bool fits = layout != NULL && layout->around > 0 && !body->tile_kernel && body->result_count == 0 &&
                body->added == 0 && !body->slanted && body->space_rank == layout->grid.rank &&
                body->access[body->home].written && strstr(body->text, "printf") == NULL &&
                strstr(body->prelude, "printf") == NULL;
    for (int m = 0; m < operation->box.rank && fits; m++)
        fits = operation->box.count[m] > 0 && (operation->box.stride[m] == 1 || operation->box.count[m] == 1);
    return fits;
}

/** What an operation needs of one operand. */
struct need {
    bool content; /* its contents are needed */
    /* The body writes the operand's storage. Then lines of the operand are not received in this operation, because
     * their owners may write them before they send them. */
    bool written;
    int64_t reach; /* most lines that are needed before or after those that are computed */
    dcl_box foot;  /* box around all elements that are needed */
};

static bool writes_storage(const dcli_operation *operation, int64_t storage)
{
    for (int a = 0; a < operation->body->access_count; a++)
        if (operation->body->access[a].written &&
            operation->operand[operation->body->access[a].param].storage == storage)
            return true;
    return false;
}

/* Find what is needed of the operands. @return false: the operation cannot use lines around parts. */
static bool find_needs(const dcli_operation *operation, struct need needs[])
{
    const dcli_body *body = operation->body;
    dcli_subscripts home, base, subscripts;
    if (!body_fits(operation) || dcli_operation_subscripts(operation, body->home, &home, &base) != DCL_OK)
        return false;
    for (int k = 0; k < operation->operand_count; k++)
        needs[k] = (struct need){.written = writes_storage(operation, operation->operand[k].storage)};
    for (int a = 0; a < body->access_count; a++) {
        const dcli_body_access *access = &body->access[a];
        struct need *need = &needs[access->param];
        dcl_box foot;
        bool cut;
        if (!access_fits(operation, a, &home, &subscripts))
            return false;
        if (!access->read && !access->conditional)
            continue;
        dcli_footprint(&subscripts, &operation->box, &operation->operand[access->param].layout->grid, &foot, &cut);
        if (need->content)
            dcli_box_bound(&need->foot, &foot, &foot);
        *need = (struct need){.content = true,
                              .written = need->written,
                              .reach = dcli_max(need->reach, find_reach(&subscripts)),
                              .foot = foot};
    }
    return true;
}

/* Whether `box` contains every index of `part`; both have strides of 1. */
static bool contains(const dcl_box *box, const dcl_box *part)
{
    for (int d = 0; d < box->rank; d++)
        if (part->start[d] < box->start[d] || part->start[d] + part->count[d] > box->start[d] + box->count[d])
            return false;
    return true;
}

static bool is_whole(const dcl_box *box, const dcl_grid *grid)
{
    dcl_box whole = dcl_box_of(grid);
    return contains(box, &whole);
}

/* Whether a body that can use lines reads others than its own. */
static bool is_step(const dcli_operation *operation, const struct need needs[])
{
    bool step = false;
    for (int k = 0; k < operation->operand_count; k++)
        step |= needs[k].content && needs[k].reach > 0;
    return step;
}

/* How many steps have led to the elements that an operation writes. A body that reads only its own lines is no step,
 * such as one that sets a few elements between two steps; the steps that led to the other elements still count.
 * @param needs  of the operation's operands. */
static int64_t count_steps(const dcli_operation *operation, const dcli_valid_lines *const lines[],
                           const struct need needs[])
{
    bool step = is_step(operation, needs);
    int64_t most = 0;
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_layout *layout = operation->operand[k].layout;
        bool leaves = needs[k].written && !step && !is_whole(&operation->box, &layout->grid);
        if (needs[k].content || leaves)
            most = dcli_max(most, lines[k]->steps);
    }
    return most + step;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* How many lines around a storage's parts are valid for an operation that reads the elements in box `foot` of it. */
static int64_t valid_for(const dcli_valid_lines *lines, const dcl_box *foot)
{
    return lines->box.rank > 0 && contains(&lines->box, foot) ? lines->inside : dcli_min(lines->inside, lines->outside);
}

/* Whether an operation that receives no lines could compute lines around the parts: all arrays that it reads have some
 * valid lines. */
static bool has_valid_lines(const dcli_operation *operation, const dcli_valid_lines *const lines[],
                            const struct need needs[])
{
    bool all = true;
    for (int k = 0; k < operation->operand_count; k++)
        all &= !needs[k].content || valid_for(lines[k], &needs[k].foot) > 0;
    return all;
}

void dcli_overlap_choose(dcli_operation *operation, const dcli_valid_lines *const lines[], bool repeats)
{
    struct need needs[DCLI_MAX_PARAMS];
    operation->overlap = 0;
    for (int k = 0; k < operation->operand_count; k++)
        operation->operand[k].fresh = false;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    if (layout == NULL || layout->around == 0 || !find_needs(operation, needs))
        return;
    bool receives = false, asked = layout->rule.overlap > 0;
    if (!asked && !repeats && count_steps(operation, lines, needs) < LEAST_STEPS)
        return;
    int64_t most = layout->around, beyond = most, held = most;
    for (int k = 0; k < operation->operand_count; k++) {
        if (2 * needs[k].reach > most)
            return;                                       /* the lines are too few for a second step */
        assert(!needs[k].written || needs[k].reach == 0); /* one array is read and written at the same subscript only */
        receives |= needs[k].content && valid_for(lines[k], &needs[k].foot) < needs[k].reach;
    }
    if (!receives && !asked && !has_valid_lines(operation, lines, needs))
        return; /* a body that reads its own lines only would gain nothing */
    /* Inputs are received together: one that still has a few valid lines would end the next steps early. */
    for (int k = 0; k < operation->operand_count; k++) {
        if (!needs[k].content)
            continue;
        int64_t valid = valid_for(lines[k], &needs[k].foot);
        operation->operand[k].fresh = receives && valid < most && !needs[k].written;
        held = needs[k].written ? dcli_min(held, valid) : held;
        beyond = dcli_min(beyond, (operation->operand[k].fresh ? most : valid) - needs[k].reach);
    }
    /* With few valid lines of an array that the body writes, the steps after this one would receive again soon. Without any, the next body that
     * reads the array receives them with all others. */
    if (receives && 2 * held < most)
        beyond = 0;
    operation->overlap = beyond + 1;
}

/* Whether a body writes operand k only at lines that no node stores beside its part, so that all valid lines remain valid. */
static bool writes_apart(const dcli_operation *operation, int k)
{
    const dcli_operand *operand = &operation->operand[k];
    const dcli_layout *layout = operand->layout;
    if (operation->kind != DCLI_OP_FORALL || operation->body->tile_kernel || operation->body->result_count > 0 ||
        layout == NULL || layout->around == 0 || operand->view != NULL || operand->reshaped || operand->generation != 0)
        return false;
    for (int a = 0; a < operation->body->access_count; a++) {
        dcli_subscripts subscripts, base;
        dcl_box foot;
        bool cut;
        if (operation->body->access[a].param != k || !operation->body->access[a].written)
            continue;
        if (dcli_operation_subscripts(operation, a, &subscripts, &base) != DCL_OK ||
            subscripts.reach != DCLI_REACH_AFFINE ||
            !dcli_footprint(&subscripts, &operation->box, &layout->grid, &foot, &cut) || cut ||
            !dcli_layout_lines_are_apart(layout, foot.start[0], foot.start[0] + (foot.count[0] - 1) * foot.stride[0]))
            return false;
    }
    return true;
}

/* Record that the elements of a box were written, and that `valid` lines of them are valid around each part.
 * @param step  the body is a step, so the next body reads this box. Otherwise the next body reads the larger box that
 *              the last step wrote, and that box is kept. */
static void record_written(dcli_valid_lines *lines, const dcl_box *box, const dcl_grid *grid, int64_t valid, bool step)
{
    if (is_whole(box, grid)) {
        *lines = (dcli_valid_lines){.inside = valid, .outside = valid};
        return;
    }
    if (lines->box.rank > 0 && !step && contains(&lines->box, box)) {
        lines->inside = dcli_min(lines->inside, valid);
        return;
    }
    if (lines->box.rank > 0 && !contains(box, &lines->box))
        lines->outside = dcli_min(lines->outside, lines->inside);
    lines->box = *box;
    lines->inside = valid;
}

/* The number of steps to record for the elements that an operation writes. @param step_out  whether the operation is a
 * step. */
static int64_t steps_of(const dcli_operation *operation, dcli_valid_lines *const lines[], bool *step_out)
{
    struct need needs[DCLI_MAX_PARAMS];
    *step_out = false;
    if (operation->kind != DCLI_OP_FORALL)
        return 0;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    if (layout == NULL || layout->around == 0 || !find_needs(operation, needs))
        return 0;
    *step_out = is_step(operation, needs);
    return dcli_min(count_steps(operation, (const dcli_valid_lines *const *)lines, needs), LEAST_STEPS);
}

void dcli_overlap_record(const dcli_operation *operation, dcli_valid_lines *const lines[])
{
    bool step;
    int64_t steps = steps_of(operation, lines, &step);
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_operand *operand = &operation->operand[k];
        if (lines[k] == NULL || !operand->writes)
            continue;
        if (operation->overlap == 0 && writes_apart(operation, k))
            continue;
        if (operation->overlap == 0) /* also of a storage whose shape was changed for this operation */
            *lines[k] = (dcli_valid_lines){.steps = steps};
        else if (operand->fresh)
            *lines[k] = (dcli_valid_lines){
                .inside = operand->layout->around, .outside = operand->layout->around, .steps = lines[k]->steps};
    }
    for (int a = 0; operation->overlap > 0 && a < operation->body->access_count; a++) {
        int k = operation->body->access[a].param;
        if (!operation->body->access[a].written || lines[k] == NULL)
            continue;
        record_written(lines[k], &operation->box, &operation->operand[k].layout->grid, operation->overlap - 1, step);
        lines[k]->steps = steps;
    }
}

/* ---- received operations ----------------------------------------------------------------------------------------- */

dcl_status dcli_overlap_check_received(const dcli_operation *operation)
{
    struct need needs[DCLI_MAX_PARAMS];
    bool fits = operation->overlap > 0 && operation->kind == DCLI_OP_FORALL && find_needs(operation, needs);
    int64_t most = fits ? operation->operand[operation->body->owner].layout->around : 0;
    for (int k = 0; k < operation->operand_count; k++) {
        const dcli_operand *operand = &operation->operand[k];
        if (operation->overlap == 0 && !operand->fresh)
            continue;
        if (!fits || (operand->fresh && (!needs[k].content || needs[k].written)) ||
            operation->overlap - 1 + needs[k].reach > most)
            return DCLI_FAIL(DCL_ERR_PROTOCOL,
                             "operation %" PRId64 " computes %" PRId64 " lines around parts that have %" PRId64
                             ", or receives those of operand %d, which does not fit its body",
                             operation->number, operation->overlap - 1, most, k);
    }
    return DCL_OK;
}

bool dcli_overlap_receives(const dcli_operation *operation)
{
    bool receives = false;
    for (int k = 0; k < operation->operand_count; k++)
        receives |= operation->operand[k].fresh;
    return receives;
}

dcl_status dcli_overlap_partners(const dcli_operation *operation, int self, dcli_node_list *partners)
{
    dcli_region own, around;
    bool found;
    const dcli_layout *layout = operation->operand[operation->body->owner].layout;
    dcli_node_list owners = {0};
    dcl_status status = dcli_layout_around(layout, self, &found, &own, &around);
    if (status == DCL_OK && found)
        status = dcli_layout_owners(layout, &around.box, &owners);
    for (int64_t n = 0; n < owners.count && status == DCL_OK; n++)
        if (owners.node[n] != self)
            status = dcli_node_list_add(partners, owners.node[n]);
    dcli_node_list_free(&owners);
    return status;
}
