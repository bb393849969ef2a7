/* loop/describe.c - say how a loop nest would run, and why, or print it as a scheme. */
#include "loop/describe.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "loop/inside.h"
#include "loop/scheme.h"

/* ---- schemes ------------------------------------------------------------------------------------------------------- */

/* A loop is parallel if it has one iteration per thread in all operations. */
static dcli_scheme_way way_of(const dcli_loops_plan *plan, int loop)
{
    for (int o = 0; o < plan->operation_count; o++)
        for (int s = 0; s < plan->tree->statement_count; s++)
            if (dcli_loops_in(plan->operation[o]->statements, s) && dcli_loops_depth_in(plan->tree, s, loop) >= 0 &&
                plan->operation[o]->run[loop].way != DCLI_LOOPS_FIXED)
                return DCLI_SCHEME_IN_ORDER;
    return DCLI_SCHEME_PARALLEL;
}

/* Whether a statement belongs to another operation than those before it in the text. */
static bool begins_operation(const dcli_loops_plan *plan, int statement)
{
    for (int o = 0; o < plan->operation_count && statement > 0; o++)
        if (dcli_loops_in(plan->operation[o]->statements, statement) !=
            dcli_loops_in(plan->operation[o]->statements, statement - 1))
            return true;
    return false;
}

/* Print a nest as a scheme.
 * @param tree  of the nest's text as written. The plan's tree may have more statements or loops (loop/split.c); then
 *              the scheme does not say how loops run. */
static dcl_status put_scheme(const dcli_loops_plan *plan, const dcli_loops_tree *tree, int language, dcli_text *out)
{
    dcli_scheme_way way[DCLI_LOOPS_MOST] = {DCLI_SCHEME_ANY};
    bool wait[DCLI_LOOPS_STATEMENTS] = {false};
    bool same = plan->tree->statement_count == tree->statement_count && plan->tree->loop_count == tree->loop_count;
    for (int l = 0; l < tree->loop_count && same; l++)
        way[l] = way_of(plan, l);
    for (int s = 0; s < tree->statement_count && same; s++)
        wait[s] = begins_operation(plan, s);
    dcli_scheme_print(tree, language, way, wait, out);
    return out->failed ? DCL_ERR_NOMEM : DCL_OK;
}

static dcl_status scheme_of(const dcli_loops_plan *plan, const char *nest, int language, dcli_text *out)
{
    dcli_loops_complaints complaints = {.text = nest};
    dcli_loops_tree *tree = dcli_loops_parse(nest, plan->tree->name_count, plan->tree->name, &complaints);
    dcl_status status = tree != NULL ? put_scheme(plan, tree, language, out) : DCL_ERR_NOMEM;
    dcli_loops_tree_free(tree);
    dcli_loops_complaints_free(&complaints);
    return status;
}

static dcl_status describe_plan(dcli_loops_plan *plan, const char *nest, const char *scheme, char **text_out)
{
    dcli_text text = {0};
    dcl_status status = DCL_OK;
    isl_ctx_set_max_operations(plan->sets->ctx, 0);
    if (scheme != NULL)
        status = scheme_of(plan, nest, dcli_scheme_language(scheme), &text);
    else
        dcli_loops_plan_explain(plan, &text);
    if (status == DCL_OK) {
        *text_out = dcli_text_take(&text);
        status = *text_out != NULL ? DCL_OK : DCL_ERR_NOMEM;
    }
    dcli_text_free(&text);
    return status;
}

/* ---- the interface ------------------------------------------------------------------------------------------------- */

static void name_of(const dcl_nest_argument *argument, dcli_loops_name *name)
{
    *name = (dcli_loops_name){.access = argument->access, .type = argument->type, .value = argument->value};
    memcpy(name->name, argument->name, sizeof name->name);
    name->is_integer = argument->access == DCL_ACCESS_VALUE && argument->type <= DCL_UINT64;
    name->whole = ~0u;      /* as on one node */
    name->any_shape = true; /* memory of the program */
    name->grid.rank = argument->rank;
    name->grid.type = argument->type;
    memcpy(name->grid.extent, argument->extent, sizeof name->grid.extent);
}

static dcl_status only_parse(const char *nest, int count, const dcli_loops_name names[])
{
    dcli_loops_complaints complaints = {.text = nest};
    dcli_loops_tree *tree = dcli_loops_parse(nest, count, names, &complaints);
    dcl_status status = tree != NULL ? dcli_loops_complaints_end(&complaints) : DCL_ERR_NOMEM;
    dcli_loops_tree_free(tree);
    dcli_loops_complaints_free(&complaints);
    return status;
}

dcl_status dcl_nest_describe(const char *nest, int count, const dcl_nest_argument arguments[], bool only_read,
                             const char *scheme, char **text_out)
{
    if (scheme != NULL && dcli_scheme_language(scheme) < 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "the language is '%.40s'; expected en, uk or ru", scheme);
    dcli_loops_name *names = dcli_calloc((size_t)(count > 0 ? count : 1), sizeof *names);
    dcli_loops_plan *plan = NULL;
    if (names == NULL)
        return DCL_ERR_NOMEM;
    for (int n = 0; n < count; n++)
        name_of(&arguments[n], &names[n]);
    dcl_status status = only_read ? only_parse(nest, count, names) : dcli_loops_plan_make(nest, count, names, &plan);
    if (plan != NULL)
        status = describe_plan(plan, nest, scheme, text_out);
    dcli_loops_plan_free(plan);
    dcli_free(names);
    return status;
}

void dcl_nest_forget(char *text) { dcli_free(text); }
