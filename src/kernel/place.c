/* kernel/place.c - generates the code that finds the index of a minimum or maximum.
 *
 * On CPUs the extreme value of a strip is found by the usual, vectorized loop. A second loop looks for its index
 * only if the strip's value is better than the result, or equal to it at a lower index. GPUs number each value. */
#include "kernel/place.h"

#include "kernel/fold.h"
#include "kernel/inside.h"
#include "kernel/names.h"

static dcl_type type_of(const dcli_body *body, int r) { return body->params[body->result[r].param].type; }

static bool is_floating(dcl_type type) { return type >= DCL_HALF; }

/* The relation of a better value to another one. */
static const char *better(const dcli_body *body, int r) { return body->result[r].fold == DCLI_FOLD_MIN ? "<" : ">"; }

static const char *variable_type(dcl_type type)
{
    return type == DCL_FLOAT ? "int" : type == DCL_DOUBLE ? "long" : dcli_kernel_type(type);
}

void dcli_emit_places_begin(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++) {
        dcl_type type = type_of(body, r);
        const char *neutral = dcli_fold_neutral(body->result[r].fold, type), *name = dcli_kernel_type(type);
        if (!body->result[r].placed)
            continue;
        dcli_text_put(out, "    const %s dcl_best%d = dcl_f%d;\n", variable_type(type), r, r);
        if (is_floating(type))
            dcli_text_put(out, "    const int dcl_lost%d = dcl_g%d;\n    dcl_f%d = dcl_key_%s(%s);\n    dcl_g%d = 0;\n",
                          r, r, r, name, neutral, r);
        else
            dcli_text_put(out, "    const int dcl_lost%d = 0, dcl_g%d = 0;\n    dcl_f%d = (%s)%s;\n", r, r, r, name,
                          neutral);
    }
}

void dcli_emit_place(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    for (int m = 1; m < body->space_rank; m++)
        dcli_text_put(nest->out, "(");
    for (int m = 0; m < body->space_rank; m++) {
        if (m > 0) {
            dcli_text_put(nest->out, ") * (");
            dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_END, body->home, m);
            dcli_text_put(nest->out, " - ");
            dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_LOW, body->home, m);
            dcli_text_put(nest->out, ") + ");
        }
        dcli_text_put(nest->out, "%s - ", dcli_index_name(body->index_of_axis[m]));
        dcli_emit_number(nest->out, body, nest->form, DCLI_ROW_GRID_LOW, body->home, m);
    }
}

/* Emit the loop that looks for the first index of the strip with the value that the strip has found. */
static void emit_search(dcli_nest *nest, int r)
{
    dcli_text *out = nest->out;
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    const char *name = dcli_kernel_type(type_of(body, r));
    dcli_text_put(out, "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n    const long dcl_t%d = dcl_v + dcl_k;\n",
                  v);
    dcli_nest_index(nest, v);
    dcli_emit_neutral(out, body);
    dcli_emit_text(out, body);
    if (is_floating(type_of(body, r)))
        dcli_text_put(out,
                      "    if (dcl_q%d && (dcl_g%d ? dcl_r%d != dcl_r%d : dcl_r%d == dcl_r%d && dcl_key_%s(dcl_r%d) == "
                      "dcl_f%d)) {\n",
                      r, r, r, r, r, r, name, r, r);
    else
        dcli_text_put(out, "    if (dcl_q%d && dcl_r%d == dcl_f%d) {\n", r, r, r);
    dcli_text_put(out, "    const long dcl_l = ");
    dcli_emit_place(nest);
    dcli_text_put(out,
                  ";\n    const bool dcl_new = dcl_g%d > dcl_lost%d || (!dcl_g%d && dcl_f%d %s dcl_best%d);\n"
                  "    dcl_where%d = dcl_new ? dcl_l : dcl_min(dcl_where%d, dcl_l);\n    break;\n    }\n    }\n",
                  r, r, r, r, better(body, r), r, r, r);
}

void dcli_emit_places_end(dcli_nest *nest)
{
    dcli_text *out = nest->out;
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    if (!dcli_body_places(body))
        return;
    dcli_text_put(out, "    long dcl_first;\n    {\n    const long dcl_t%d = dcl_v;\n", v);
    dcli_nest_index(nest, v);
    dcli_text_put(out, "    dcl_first = ");
    dcli_emit_place(nest);
    dcli_text_put(out, ";\n    }\n");
    for (int r = 0; r < body->result_count; r++) {
        if (!body->result[r].placed)
            continue;
        dcli_text_put(out,
                      "    if (dcl_g%d ? !dcl_lost%d || dcl_first < dcl_where%d\n"
                      "               : !dcl_lost%d && (dcl_f%d %s dcl_best%d || (dcl_f%d == dcl_best%d && dcl_first < "
                      "dcl_where%d))) {\n",
                      r, r, r, r, r, better(body, r), r, r, r, r);
        emit_search(nest, r);
        dcli_text_put(out, "    }\n    dcl_f%d = %s(dcl_f%d, dcl_best%d);\n", r,
                      body->result[r].fold == DCLI_FOLD_MIN ? "dcl_min" : "dcl_max", r, r);
        if (is_floating(type_of(body, r)))
            dcli_text_put(out, "    dcl_g%d |= dcl_lost%d;\n", r, r);
    }
}

void dcli_emit_place_fold(dcli_text *out, const dcli_body *body, int r, const char *subscript)
{
    bool floating = is_floating(type_of(body, r));
    const char *name = dcli_kernel_type(type_of(body, r)), *relation = better(body, r);
    dcli_text_put(out, "    {\n    const long dcl_l = dcl_l%d%s;\n    if (dcl_l == LONG_MAX) {\n    }", r, subscript);
    if (floating)
        dcli_text_put(
            out,
            " else if (dcl_r%d != dcl_r%d) {\n    dcl_where%d = dcl_g%d ? dcl_min(dcl_where%d, dcl_l) : dcl_l;\n"
            "    dcl_g%d = 1;\n    }",
            r, r, r, r, r, r);
    dcli_text_put(out, " else {\n    const %s dcl_key = ", variable_type(type_of(body, r)));
    dcli_text_put(out, floating ? "dcl_key_%s(dcl_r%d);\n" : "(%s)dcl_r%d;\n", name, r);
    if (floating)
        dcli_text_put(out, "    if (dcl_g%d == 0)\n    ", r);
    dcli_text_put(out,
                  "    dcl_where%d = dcl_key %s dcl_f%d ? dcl_l : dcl_key == dcl_f%d ? dcl_min(dcl_where%d, dcl_l) : "
                  "dcl_where%d;\n"
                  "    dcl_f%d = dcl_key %s dcl_f%d ? dcl_key : dcl_f%d;\n    }\n    }\n",
                  r, relation, r, r, r, r, r, relation, r, r);
}

void dcli_emit_place_merge(dcli_text *out, const dcli_body *body, int r)
{
    const char *wide = type_of(body, r) == DCL_UINT64 ? "ulong" : "long";
    dcli_text_put(out,
                  "    if (dcl_to[2] != dcl_from[2] || (dcl_to[2] == 0 && dcl_to[1] != dcl_from[1]))\n"
                  "        dcl_to[3] = dcl_from[2] > dcl_to[2] || (dcl_from[2] == dcl_to[2] && (%s)dcl_from[1] %s "
                  "(%s)dcl_to[1]) ? dcl_from[3] : dcl_to[3];\n"
                  "    else\n        dcl_to[3] = dcl_min(dcl_to[3], dcl_from[3]);\n",
                  wide, better(body, r), wide);
}
