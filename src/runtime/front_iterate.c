/* runtime/front_iterate.c - dcl_iterate(): time loops that stop by a condition on the nodes. It calls public functions, which
 * resolve the handles, but reads the condition's value without waiting. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "base/text.h"
#include "kernel/token.h"
#include "runtime/front.h"
#include "runtime/transfer.h"

#define MET "condition_is_met" /* the array that gets the condition's value */

/* A loop in progress. */
struct loop {
    dcl_cluster *cluster; /* a handle, as `met` */
    int64_t every;
    dcl_array *met; /* NULL: the loop has no condition */
    char *body;     /* stores the condition's value */
    int count;
    dcl_arg args[DCLI_MAX_PARAMS];
    int64_t reading; /* the operation that reads the value; 0: none */
    int64_t checked; /* the operation that computed it */
    int32_t value;
};

/* ---- reading without waiting ------------------------------------------------------------------------------------------ */

/* Start to read the condition's value into the loop. */
static dcl_status start_reading(struct loop *loop)
{
    dcli_call call;
    dcli_call_begin_operation(&call, "dcl_iterate");
    dcl_array *array = dcli_call_array(&call, MET, loop->met);
    if (call.status != DCL_OK)
        return dcli_call_end(&call, call.status);
    return dcli_call_end(&call, dcli_array_start_reading(array, &loop->value, &loop->checked, &loop->reading));
}

/* Wait until the value has been read. @param met_out  whether the condition is met. */
static dcl_status finish_reading(struct loop *loop, bool *met_out)
{
    int64_t reading = loop->reading;
    *met_out = false;
    if (reading == 0)
        return DCL_OK;
    dcli_call call;
    dcli_call_begin_operation(&call, "dcl_iterate");
    dcl_array *array = dcli_call_array(&call, MET, loop->met);
    loop->reading = 0;
    if (call.status != DCL_OK)
        return dcli_call_end(&call, call.status);
    dcl_status status = dcli_call_end(&call, dcli_array_finish_reading(array, loop->checked, reading));
    *met_out = status == DCL_OK && loop->value != 0;
    return status;
}

/* ---- the condition ---------------------------------------------------------------------------------------------------- */

/* Check that the text is one expression: statements and closed parentheses would end the generated one. */
static dcl_status check_expression(const char *text)
{
    dcli_tokens tokens;
    dcl_status status = dcli_tokens_make(text, &tokens);
    if (status != DCL_OK)
        return status;
    for (int t = 0; t < tokens.count && status == DCL_OK; t++)
        if (dcli_token_is(&tokens, t, ";"))
            status = dcli_token_fail(&tokens, t,
                                     "the condition has a semicolon; expected an expression, such as "
                                     "rho(0) < eps");
    dcli_tokens_free(&tokens);
    return status;
}

static dcl_status check_arg(const dcl_arg *arg, int k)
{
    if (arg->access == DCL_ACCESS_IN || arg->access == DCL_ACCESS_IN_ALL || arg->access == DCL_ACCESS_VALUE ||
        arg->access == DCL_ACCESS_PRELUDE)
        return DCL_OK;
    if (arg->access < DCL_ACCESS_OUT || arg->access > DCL_ACCESS_HOST_INOUT)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "argument %d of the condition has access number %d; expected that of an input", k,
                         (int)arg->access);
    return dcli_refuse_arg(arg, "a condition takes DCL_IN, DCL_IN_ALL, DCL_VALUE and DCL_PRELUDE; change arrays in the "
                                "steps");
}

static dcl_status check(const dcl_cluster *cluster, int64_t steps, dcl_step_fn *step, int64_t every,
                        const dcl_call *until)
{
    if (cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    if (steps < 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "steps is %" PRId64 "; expected 0 or more", steps);
    if (step == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "step is NULL; expected a function that makes the calls of one step");
    if (until == NULL && every != 0)
        return DCLI_FAIL_NULL("until is NULL, but every is %" PRId64 "; expected DCL_UNTIL() or DCL_NEVER", every);
    if (until == NULL)
        return DCL_OK;
    if (every < 1)
        return DCLI_FAIL(DCL_ERR_INVALID, "every is %" PRId64 "; expected 1 or more steps between two checks", every);
    if (until->struct_size == sizeof *until && until->kind != DCL_CALL_IS_BODY)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the condition is a call of kind %d; expected one of kind %d, as DCL_UNTIL() makes it",
                         (int)until->kind, (int)DCL_CALL_IS_BODY);
    if (until->struct_size != sizeof *until || until->text == NULL || until->args == NULL || until->arg_count < 1 ||
        until->arg_count >= DCLI_MAX_PARAMS || until->arg_bytes > sizeof(dcl_arg))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the condition is no description with a text and 1 to %d arguments; expected DCL_UNTIL() or "
                         "DCL_NEVER",
                         DCLI_MAX_PARAMS - 1);
    dcl_status status = check_expression(until->text);
    for (int k = 0; k < until->arg_count && status == DCL_OK; k++) {
        dcl_arg arg = {0};
        memcpy(&arg, (const char *)until->args + (size_t)k * until->arg_bytes, until->arg_bytes);
        status = check_arg(&arg, k);
    }
    return status;
}

static dcl_status make_condition(struct loop *loop, const dcl_call *until)
{
    dcli_text text = {0};
    dcli_text_put(&text, MET "(i) = (%s\n) != 0;", until->text); /* the text may end with a comment */
    loop->body = dcli_text_take(&text);
    if (loop->body == NULL)
        return DCL_ERR_NOMEM;
    dcl_map *map = dcl_map_block(loop->cluster);
    loop->met = dcl_agile(dcl_grid_1d(DCL_INT32, 1), map);
    dcl_map_release(map);
    if (loop->met == NULL)
        return dcl_status_of(NULL);
    loop->args[loop->count++] = DCL_OUT_AS(MET, loop->met);
    for (int k = 0; k < until->arg_count; k++) {
        dcl_arg *arg = &loop->args[loop->count++];
        memset(arg, 0, sizeof *arg);
        memcpy(arg, (const char *)until->args + (size_t)k * until->arg_bytes, until->arg_bytes);
    }
    return DCL_OK;
}

static dcl_call condition(const struct loop *loop)
{
    return dcl_call_body(loop->cluster, NULL, loop->body, loop->count, loop->args);
}

/* Check the condition after a step. *met_out: the check before has found it met. */
static dcl_status check_condition(struct loop *loop, bool *met_out)
{
    dcl_status status = finish_reading(loop, met_out);
    if (status != DCL_OK || *met_out)
        return status;
    const dcl_call call = condition(loop);
    status = dcl_call_run(&call);
    return status == DCL_OK ? start_reading(loop) : status;
}

dcl_status dcl_iterate(dcl_cluster *cluster, int64_t steps, dcl_step_fn *step, void *user, int64_t *steps_out,
                       int64_t every, const dcl_call *until)
{
    struct loop loop = {.cluster = cluster, .every = every};
    dcli_call call;
    dcli_call_begin_operation(&call, "dcl_iterate");
    dcl_status status = dcli_call_end(&call, check(cluster, steps, step, every, until));
    if (status != DCL_OK)
        return status;
    if (until != NULL && (status = make_condition(&loop, until)) == DCL_OK) {
        const dcl_call first = condition(&loop); /* its mistakes are found before the first step */
        dcl_counters none;
        status = dcl_call_explain(&first, DCL_ALL_NODES, &none);
    }
    int64_t made = 0;
    bool met = false, last;
    while (status == DCL_OK && made < steps && !met) {
        status = step(user, made);
        made += status == DCL_OK;
        if (status == DCL_OK && until != NULL && made % every == 0)
            status = check_condition(&loop, &met);
    }
    dcl_status end = finish_reading(&loop, &last); /* nobody must write to loop.value any more */
    if (steps_out != NULL)
        *steps_out = made;
    dcl_release(loop.met);
    dcli_free(loop.body);
    return status == DCL_OK ? end : status;
}
