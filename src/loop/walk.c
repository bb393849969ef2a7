/* loop/walk.c - go through the operations of a plan: the loops that the program runs, and the numbers of each
 * operation. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loop/inside.h"

struct walk {
    dcli_loops_plan *plan;
    dcli_loops_run_fn *run;
    void *user;
    int64_t counter[DCLI_LOOPS_DEPTH]; /* of the hosts */
    int64_t rounds;                    /* iterations of the innermost of them; 0: there are none */
    /* The last operation, and the last copy: each has ten kilobytes, so only what differs is set again. */
    dcli_loops_call call, copy;
    dcli_loops_reach reach[DCLI_LOOPS_REACHES]; /* of the last operation on lines */
    const dcli_loops_copy *copied;              /* `copy` copies it; NULL: none */
};

static bool evaluate(const struct walk *walk, const dcli_loops_hosts *hosts, isl_pw_aff *bound, int64_t *value_out)
{
    return dcli_loops_evaluate(walk->plan, bound, hosts->count, walk->counter, value_out);
}

/* Evaluate the bounds of a box for the current counters of the program's loops. @return false: it is empty. */
static bool find_box(const struct walk *walk, const dcli_loops_hosts *hosts, int rank, isl_pw_aff *const low[],
                     isl_pw_aff *const high[], dcl_box *box_out)
{
    box_out->rank = rank;
    for (int r = 0; r < rank; r++) {
        int64_t first, last;
        if (!evaluate(walk, hosts, low[r], &first))
            return false;
        last = first;
        if (high[r] != low[r] && !evaluate(walk, hosts, high[r], &last))
            return false;
        box_out->start[r] = first;
        box_out->count[r] = last - first + 1;
        box_out->stride[r] = 1;
    }
    return true;
}

/* Set the box and the integer arguments of an operation for the current counters. @return false: it has no threads. */
static bool find_numbers(struct walk *walk, const dcli_loops_operation *operation)
{
    const dcli_loops_hosts *hosts = &operation->hosts;
    dcli_loops_call *call = &walk->call;
    if (!find_box(walk, hosts, operation->rank, operation->low, operation->high, &call->box))
        return false;
    for (int k = 0; k < operation->operand_count; k++) {
        dcli_loops_operand *operand = &call->operand[k];
        operand->value = operation->operand[k].value;
        if (operand->symbol >= 0 || operand->access != DCL_ACCESS_VALUE)
            continue;
        if (operand->bound > 0) {
            int r = (operand->bound - 1) / 2;
            operand->value = call->box.start[r] + (operand->bound % 2 == 1 ? 0 : call->box.count[r] - 1);
            continue;
        }
        if (operand->value < 0) {
            operand->value = walk->counter[-1 - operand->value];
            continue;
        }
        const dcli_loops_run *run = &operation->run[operand->value / 2];
        bool high = operand->value % 2 == 1;
        if (!evaluate(walk, hosts, high ? run->high : run->low, &operand->value))
            operand->value = high ? -1 : 0; /* the loop has no iterations */
    }
    return true;
}

/* Add a multiple of a loop's counter to the subscripts of a read. @return false: the loop has no iterations */
static bool add_counter(const struct walk *walk, const dcli_loops_operation *operation, int loop, int64_t factor,
                        dcli_loops_span *span)
{
    const dcli_loops_run *run = &operation->run[loop];
    int64_t low, high;
    if (run->way == DCLI_LOOPS_HOSTED) {
        low = high = walk->counter[run->row];
    } else if (run->way == DCLI_LOOPS_FREE) {
        if (!evaluate(walk, &operation->hosts, run->low, &low) || !evaluate(walk, &operation->hosts, run->high, &high))
            return false;
    } else {
        factor *= run->sign;
        span->index[run->row] += factor;
        low = high = -run->rest.constant;
        for (int d = 0; d < DCLI_LOOPS_DEPTH; d++)
            if (run->rest.coef[d] != 0 &&
                !add_counter(walk, operation, walk->plan->tree->statement[run->statement].loop[d],
                             -factor * run->rest.coef[d], span))
                return false;
    }
    span->low += factor * (factor > 0 ? low : high);
    span->high += factor * (factor > 0 ? high : low);
    return true;
}

/* Find what an operation on lines reads of its inputs, for the current counters. */
static void find_reaches(struct walk *walk, const dcli_loops_operation *operation)
{
    const dcli_loops_tree *tree = walk->plan->tree;
    for (int n = 0; n < operation->reach_count; n++) {
        const dcli_loops_reader *reader = &operation->reader[n];
        const dcli_loops_statement *statement = &tree->statement[reader->statement];
        const dcli_loops_access *access = &statement->read[reader->read];
        walk->reach[n] = (dcli_loops_reach){.operand = reader->operand};
        for (int d = 0; d < tree->name[access->symbol].grid.rank; d++) {
            dcli_loops_span *span = &walk->reach[n].span[d];
            span->low = span->high = access->subscript[d].constant;
            for (int e = 0; e < statement->depth; e++)
                if (access->subscript[d].coef[e] != 0)
                    walk->reach[n].empty |=
                        !add_counter(walk, operation, statement->loop[e], access->subscript[d].coef[e], span);
        }
    }
    walk->call.reach_count = operation->reach_count;
    walk->call.reach = walk->reach;
}

/* An operand of an operation that copies. @param aside  it is the array of copies. */
static dcli_loops_operand operand_of(const dcli_loops_copy *copy, int along, dcl_access access, bool aside)
{
    dcli_loops_operand operand = {.access = access, .symbol = copy->array, .place = copy->place};
    strcpy(operand.name, access == DCL_ACCESS_OUT ? "copy" : "from");
    operand.of_copy = aside && copy->way == DCLI_LOOPS_ASIDE;
    operand.gathered = aside && copy->way != DCLI_LOOPS_ASIDE ? along + 1 : 0;
    return operand;
}

/* Issue the operation that copies a box of an array. */
static dcl_status walk_copy(struct walk *walk, const dcli_loops_operation *operation, const dcli_loops_copy *copy)
{
    dcli_loops_call *call = &walk->copy;
    if (walk->copied != copy) {
        call->operation = -1;
        call->along = -1;
        call->counter = walk->counter;
        call->body = copy->body;
        call->head = call->rest = NULL;
        call->operand_count = 2;
        call->operand[0] = operand_of(copy, operation->along, DCL_ACCESS_OUT, copy->way != DCLI_LOOPS_BACK);
        call->operand[1] = operand_of(copy, operation->along, DCL_ACCESS_IN, copy->way == DCLI_LOOPS_BACK);
        walk->copied = copy;
    }
    if (!find_box(walk, &operation->hosts, copy->rank, copy->low, copy->high, &call->box))
        return DCL_OK; /* nothing is read */
    call->rounds = walk->rounds;
    return walk->run(walk->user, call);
}

/* Issue the copies before an operation, or those after it. */
static dcl_status walk_copies(struct walk *walk, const dcli_loops_operation *operation, bool after)
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < operation->copy_count && status == DCL_OK; k++)
        if ((operation->copy[k].way == DCLI_LOOPS_BACK) == after)
            status = walk_copy(walk, operation, &operation->copy[k]);
    return status;
}

static dcl_status walk_steps(struct walk *walk, const dcli_loops_step *step);

static dcl_status walk_loop(struct walk *walk, const dcli_loops_step *step)
{
    const dcli_loops_loop *loop = &walk->plan->tree->loop[step->loop];
    int64_t low, high;
    if (!evaluate(walk, &step->hosts, step->low, &low) || !evaluate(walk, &step->hosts, step->high, &high))
        return DCL_OK;
    int64_t pace = llabs(dcli_loops_step_run(loop)), span = high - low, outer = walk->rounds;
    dcl_status status = DCL_OK;
    walk->rounds = span / pace + 1;
    for (int64_t n = 0; n <= span && status == DCL_OK;
         n += pace) { /* if it cannot count in its steps, values between them run nothing */
        walk->counter[step->hosts.count] = loop->step > 0 ? low + n : high - n;
        status = walk_steps(walk, step->first);
    }
    walk->rounds = outer;
    return status;
}

static dcl_status walk_operation(struct walk *walk, int number)
{
    const dcli_loops_operation *operation = walk->plan->operation[number];
    if (walk->call.operation != number) {
        walk->call.operation = number;
        walk->call.body = operation->body;
        walk->call.along = operation->along;
        walk->call.head = operation->head;
        walk->call.rest = operation->rest;
        walk->call.head_uses = operation->head_uses;
        walk->call.rest_uses = operation->rest_uses;
        walk->call.operand_count = operation->operand_count;
        memcpy(walk->call.operand, operation->operand, (size_t)operation->operand_count * sizeof *operation->operand);
    }
    if (!find_numbers(walk, operation))
        return DCL_OK;
    find_reaches(walk, operation);
    walk->call.rounds = walk->rounds;
    dcl_status status = walk_copies(walk, operation, false);
    if (status == DCL_OK)
        status = walk->run(walk->user, &walk->call);
    return status == DCL_OK ? walk_copies(walk, operation, true) : status;
}

static dcl_status walk_steps(struct walk *walk, const dcli_loops_step *step)
{
    dcl_status status = DCL_OK;
    for (; step != NULL && status == DCL_OK; step = step->next) {
        if (step->operation < 0)
            status = walk_loop(walk, step);
        else
            status = walk_operation(walk, step->operation);
    }
    return status;
}

dcl_status dcli_loops_plan_walk(dcli_loops_plan *plan, dcli_loops_run_fn *run, void *user)
{
    struct walk walk;
    walk.plan = plan;
    walk.run = run;
    walk.user = user;
    walk.rounds = 0;
    walk.call.operation = -1;
    walk.call.counter = walk.counter;
    walk.copied = NULL;
    isl_ctx_set_max_operations(plan->sets->ctx, 0); /* no limit: bounds are evaluated, no sets are computed */
    dcl_status status = walk_steps(&walk, plan->first);
    if (status == DCL_OK && plan->sets->failed)
        return DCLI_FAIL(DCL_ERR_NOMEM, "isl has no memory to compute the bounds of an operation");
    return status;
}
