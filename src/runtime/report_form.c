/* runtime/report_form.c - report which indices a reduction keeps and reduces, how it combines values, and what that costs. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/keyed.h"
#include "kernel/names.h"
#include "kernel/product.h"
#include "runtime/partials.h"

static void add_index(dcli_report *report, int index, const char *use, int64_t first, int64_t count)
{
    if (report->seen.index_count < DCL_MAX_RANK)
        report->index[report->seen.index_count++] =
            (dcl_report_index){.name = dcli_index_name(index), .use = use, .first = first, .count = count};
}

static dcl_status add_indices(dcli_report *report, const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    const dcl_box *box = &operation->box;
    int64_t start[DCL_MAX_RANK], count[DCL_MAX_RANK];
    unsigned kept = 0;
    for (int r = 0; r < body->result_count && body->keyed && dcli_keyed_is_along(body); r++)
        kept |= body->indices & ~dcli_keyed_reduced(body, r);
    for (int turn = kept != 0 ? 0 : 1; turn < 2; turn++) /* kept indices come first */
        for (int m = 0; m < body->space_rank; m++) {
            bool keeps = (kept >> body->index_of_axis[m] & 1) != 0;
            if (keeps == (turn == 0))
                add_index(report, body->index_of_axis[m],
                          body->along || keeps            ? "kept"
                          : dcli_body_writes_beside(body) ? "kept and reduced"
                                                          : "reduced",
                          box->start[m], box->count[m] > 0 ? (box->count[m] - 1) * box->stride[m] + 1 : 0);
        }
    if (!body->along || body->inner_rank == 0)
        return DCL_OK;
    dcl_status status = dcli_operation_inner(operation, start, count);
    for (int q = 0; q < body->inner_rank && status == DCL_OK; q++)
        add_index(report, body->index_of_axis[body->space_rank + q], "reduced", start[q], count[q]);
    return status;
}

/* How a result is combined. */
static const char *way_of(const dcli_body *body, const dcli_result *result)
{
    dcl_type type = body->params[result->param].type;
    if (dcli_body_is_product(body))
        return "in any order by OpenBLAS (DCL_FAST), on CPUs that have it and if a product has 262,144 multiply-adds; "
               "else "
               "a chain of fused multiply-adds in the order of the reduced indices";
    if (dcli_body_is_chain(body))
        return "a chain of fused multiply-adds in the order of the reduced indices";
    if (dcli_fold_is_ordered(result->fold, type))
        return "combined in ascending order of the reduced indices";
    if (result->fold == DCLI_FOLD_ANY || result->fold == DCLI_FOLD_ALL)
        return "exact";
    if (type != DCL_HALF && type != DCL_FLOAT && type != DCL_DOUBLE)
        return "exact, integers wrap";
    if (result->fold != DCLI_FOLD_SUM)
        return "exact";
    if (result->fast)
        return "a sum in any order (DCL_FAST)";
    return "a sum that does not depend on the order, because values are rounded to multiples of one unit and added as "
           "integers; the error is at most n m 2^-50";
}

/* Bytes of a node's partial results. */
static int64_t partial_bytes(const dcli_operation *operation)
{
    int64_t longs = 0;
    for (int n = 0; n < dcli_body_partial_arrays(operation->body); n++) {
        const dcli_operand *partials = &operation->operand[operation->body->partials + n];
        longs += dcl_grid_count(dcli_operand_grid(partials)) / partials->layout->node_count;
    }
    return longs * (int64_t)sizeof(int64_t);
}

/* Put how many nodes combine partial results, and how. @param elements  the number of results that are elements */
static dcl_status put_combining(dcli_text *text, const dcli_planned *planned, int elements)
{
    const dcli_operation *operation = planned->operation;
    const dcli_body *body = operation->body;
    const dcli_operand *owner = &operation->operand[body->owner];
    dcl_box box = operation->box;
    dcli_node_list computing = {0};
    if (owner->view != NULL)
        dcli_transform_box(owner->view, &operation->box, &box);
    dcl_status status = dcli_layout_owners(owner->layout, &box, &computing);
    int steps = dcli_tree_steps(planned->cluster, computing.count), others = elements < body->result_count;
    int64_t bytes = partial_bytes(operation);
    dcli_node_list_free(&computing);
    if (status != DCL_OK)
        return status;
    dcli_text_put(text, "; %d operations; each node sends %" PRId64 " bytes of partial results to ",
                  1 + steps * body->result_count + elements + others, bytes);
    if (steps > 0)
        dcli_text_put(text, "another one, up a tree of %d steps, ", steps);
    if (elements > 0)
        dcli_text_put(text, "%sthe nodes that store the elements; the program %s",
                      steps > 0 ? "and the first one to " : "",
                      others ? "gets those of the values, and waits" : "does not wait");
    else
        dcli_text_put(text, "%sthe program, which waits", steps > 0 ? "and the first one to " : "");
    return DCL_OK;
}

static dcl_status put_method(dcli_text *text, const dcli_planned *planned)
{
    const dcli_operation *operation = planned->operation;
    const dcli_body *body = operation->body;
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(text, "%s%s: %s", r > 0 ? "; " : "", body->params[body->result[r].param].name,
                      way_of(body, &body->result[r]));
    if (body->along)
        return DCL_OK;
    int elements = 0;
    for (int r = 0; r < body->result_count; r++)
        elements += body->params[body->result[r].param].rank > 0;
    if (!body->keyed)
        return put_combining(text, planned, elements);
    if (dcli_keyed_is_along(body))
        dcli_text_put(text, "; computed where %s is stored, because that moves less", body->params[body->owner].name);
    dcli_text_put(text,
                  "; each node reduces into %" PRId64 " bytes of partial results, which further operations combine "
                  "where the outputs are stored; the program does not wait",
                  partial_bytes(operation));
    return DCL_OK;
}

dcl_status dcli_report_describe(dcli_report *report, const dcli_planned *planned)
{
    const dcli_operation *operation = planned->operation;
    dcli_text text = {0};
    dcl_status status = DCL_OK;
    if (planned->form != NULL) {
        memcpy(report->index, planned->form->index, (size_t)planned->form->count * sizeof *report->index);
        report->seen.index_count = planned->form->count;
        dcli_text_put(&text, "%s", planned->form->method);
    } else if (operation->body == NULL || operation->body->result_count == 0) {
        return DCL_OK;
    } else if ((status = add_indices(report, operation)) == DCL_OK) {
        status = put_method(&text, planned);
    }
    report->seen.index = report->index;
    char *method = dcli_text_take(&text);
    report->seen.method = method != NULL ? dcli_report_keep(report, method) : NULL;
    dcli_free(method);
    return status != DCL_OK || report->seen.method != NULL ? status : DCL_ERR_NOMEM;
}
