/* kernel/source_edges.c - dcl_checked at the edges of arrays: rows whose reads stay inside, thanks to min, max, clamp, reflect,
 * symmetric and constant, are run without checks.
 *
 * A check costs several times the read that it belongs to, and keeps compilers from vectorizing the loop. Whether a row needs none
 * follows from its box: sums of indices lie between their values at the corners of the box, limits keep that order, and mirrors
 * lead to elements between their limits. So one test per row replaces those of all its reads. */
#include "kernel/inner.h"
#include "kernel/inside.h"
#include "kernel/nest.h"

bool dcli_edges_may_be_plain(const dcli_body *body)
{
    bool limits = false, others = false;
    for (int a = 0; a < body->access_count; a++) {
        others |= body->access[a].reach != DCLI_REACH_AFFINE;
        limits |= dcli_boundary_clamps_any(body, a);
        for (int d = 0; !others && d < body->params[body->access[a].param].rank; d++)
            others |= dcli_body_wraps(body, a, d);
    }
    return limits && !others && !body->slanted && body->inner_rank == 0;
}

/* Write the first or last value of the variable of inner axis q. */
static void put_inner(dcli_text *out, const dcli_body *body, int q, bool last)
{
    const dcli_inner *inner = &body->inside->inner[q];
    bool limit = last == (inner->step > 0);
    dcli_text_put(out, "(");
    dcli_affine_print(limit ? &inner->limit : &inner->first, body, out);
    dcli_text_put(out, ")");
    if (limit && !inner->inclusive)
        dcli_text_put(out, last ? " - 1" : " + 1");
}

/* Write the least or greatest value of a sum's index in the row's box. */
static void put_index(dcli_text *out, const dcli_body *body, int index, bool last)
{
    if (index >= DCL_MAX_RANK) {
        put_inner(out, body, index - DCL_MAX_RANK, last);
        return;
    }
    int m = body->inside->axis_of_index[index];
    dcli_text_put(out, last ? "dcl_i%d + (dcl_n%d - 1) * dcl_d%d" : "dcl_i%d", m, m, m);
}

/* Write a bound of a sum in the row's box: the least value, or the greatest. */
static void put_bound(dcli_text *out, const dcli_body *body, const dcli_affine *sum, bool greatest)
{
    dcli_text_put(out, "0");
    for (int t = 0; t < sum->count; t++) {
        dcli_affine factor = {.count = 1, .term = {sum->term[t]}};
        factor.term[0].index = -1;
        dcli_text_put(out, sum->term[t].index < 0 ? " + (" : greatest ? " + dcl_larger((" : " + dcl_smaller((");
        for (int last = 0; last < (sum->term[t].index < 0 ? 1 : 2); last++) {
            dcli_text_put(out, last ? ", (" : "");
            dcli_affine_print(&factor, body, out);
            dcli_text_put(out, ")");
            if (sum->term[t].index < 0)
                continue;
            dcli_text_put(out, " * (");
            put_index(out, body, sum->term[t].index, last == 1);
            dcli_text_put(out, ")");
        }
        dcli_text_put(out, sum->term[t].index < 0 ? "" : ")");
    }
}

/* Write the least or greatest subscript that is read on axis d of an access. */
static void put_subscript(dcli_text *out, const dcli_body *body, int a, int d, bool greatest)
{
    const dcli_affine *sum = dcli_inside_subscript(body, a, d);
    const dcli_boundary *boundary = dcli_boundary_of(body, sum);
    int limits = boundary != NULL ? boundary->count : 0;
    bool mirrors =
        boundary != NULL && (boundary->kind == DCLI_BOUNDARY_REFLECT || boundary->kind == DCLI_BOUNDARY_SYMMETRIC);
    for (int n = limits - 1; n >= 0 && !mirrors; n--)
        dcli_text_put(out, boundary->limit[n].is_max ? "dcl_larger(" : "dcl_smaller(");
    if (mirrors)
        dcli_affine_print(&boundary->limit[greatest].value, body, out);
    else
        put_bound(out, body, sum, greatest);
    for (int n = 0; n < limits && !mirrors; n++) {
        dcli_text_put(out, ", ");
        dcli_affine_print(&boundary->limit[n].value, body, out);
        dcli_text_put(out, ")");
    }
}

void dcli_emit_edges_test(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    dcli_text_put(nest->out, "    const bool dcl_plain = true");
    for (int a = 0; a < body->access_count; a++)
        for (int d = 0; d < body->params[body->access[a].param].rank && !body->access[a].written; d++) {
            dcli_text_put(nest->out, "\n        && ");
            put_subscript(nest->out, body, a, d, false);
            dcli_text_put(nest->out, " >= ");
            dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_LOW, a, d);
            dcli_text_put(nest->out, "\n        && ");
            put_subscript(nest->out, body, a, d, true);
            dcli_text_put(nest->out, " < ");
            dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_END, a, d);
        }
    dcli_text_put(nest->out, ";\n");
}
