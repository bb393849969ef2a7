/* kernel/source_over.c - generate the bounds of loops over index spaces that are not boxes.
 *
 * A bound of DCL_OVER that depends on several indices narrows the loop over the innermost of them. The generated
 * block redefines start and count of this axis. The loop inside it is the same as for a box. */
#include "kernel/names.h"
#include "kernel/nest.h"
#include "kernel/over.h"

/* The innermost axis on which a bound depends, if it depends on several; -1: it does not. */
static int axis_of(const dcli_body *body, const dcli_bound *bound)
{
    int last = -1;
    for (int t = 0; t < bound->sum.count; t++)
        if (bound->sum.term[t].index >= 0 && body->inside->axis_of_index[bound->sum.term[t].index] > last)
            last = body->inside->axis_of_index[bound->sum.term[t].index];
    return dcli_bound_is_slanted(bound) ? last : -1;
}

bool dcli_over_bounds(const dcli_body *body, int first, int last)
{
    for (int b = 0; b < body->inside->over.count; b++) {
        int axis = axis_of(body, &body->inside->over.bound[b]);
        if (axis >= first && axis <= last)
            return true;
    }
    return false;
}

/* Emit a bound as a call of dcl_bound(). The index of axis m has its value at counter 0. */
static void put_bound(const dcli_nest *nest, const dcli_bound *bound, int m)
{
    dcli_affine coef = {.count = 0};
    for (int t = 0; t < bound->sum.count; t++)
        if (bound->sum.term[t].index == nest->body->index_of_axis[m]) {
            coef.term[coef.count] = bound->sum.term[t];
            coef.term[coef.count++].index = -1;
        }
    dcli_text_put(nest->out, "    dcl_bound(");
    dcli_affine_print(&bound->sum, nest->body, nest->out);
    dcli_text_put(nest->out, ", (");
    dcli_affine_print(&coef, nest->body, nest->out);
    dcli_text_put(nest->out, ") * dcl_d%d, &dcl_begin%d, &dcl_end%d);\n", m, m, m);
}

void dcli_emit_over_bounds(const dcli_nest *nest, int m, int first, int last)
{
    const dcli_body *body = nest->body;
    dcli_text_put(nest->out, "    {\n    const long %s = dcl_i%d;\n", dcli_index_name(body->index_of_axis[m]), m);
    for (int b = 0; b < body->inside->over.count; b++) {
        int axis = axis_of(body, &body->inside->over.bound[b]);
        if (axis >= first && axis <= last)
            put_bound(nest, &body->inside->over.bound[b], m);
    }
    dcli_text_put(nest->out, "    }\n");
}

bool dcli_nest_narrow(dcli_nest *nest, int m, int first, int last)
{
    if (!dcli_over_bounds(nest->body, first, last))
        return false;
    dcli_text_put(nest->out, "    long dcl_begin%d = 0, dcl_end%d = dcl_n%d;\n", m, m, m);
    dcli_emit_over_bounds(nest, m, first, last);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_begin%d, dcl_skip%d = dcl_i%d + dcl_begin%d * dcl_d%d;\n", m,
                  m, m, m, m, m);
    dcli_nest_advance(nest, m);
    dcli_text_put(nest->out,
                  "    {\n    const long dcl_i%d = dcl_skip%d, dcl_n%d = dcl_max(dcl_end%d - dcl_begin%d, 0L);\n", m, m,
                  m, m, m);
    return true;
}

void dcli_emit_over_test(dcli_text *out, const dcli_body *body, int last)
{
    for (int b = 0; b < body->inside->over.count; b++) {
        int axis = axis_of(body, &body->inside->over.bound[b]);
        if (axis < 0 || axis > last)
            continue;
        dcli_text_put(out, " && ");
        dcli_affine_print(&body->inside->over.bound[b].sum, body, out);
        dcli_text_put(out, " >= 0");
    }
}
