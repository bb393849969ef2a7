/* kernel/source_series.c - generate the program of a series: the loops of several bodies as functions, and a kernel that
 * calls them step by step. */
#include "kernel/series.h"

#include <string.h>

#include "kernel/cl.h"
#include "kernel/emit.h"
#include "kernel/follow.h"
#include "kernel/inside.h"
#include "kernel/nest.h"

enum { LEAST_FOLLOWERS = 3 }; /* of a body whose neighbours in memory share an offset: it is compiled twice */

bool dcli_series_takes(const dcli_body *body)
{
    if (body->tile_kernel || body->result_count > 0 || body->inside->has_loop || body->prelude[0] != '\0' ||
        strstr(body->text, "printf") != NULL)
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    return true;
}

/* Emit the loops over a row's box. Each access has an offset of its own, which every line advances: for short lines, this takes a
 * considerable part of the time. So neighbours in memory are addressed from one of them, if all of a row are. */
static void emit_nest(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    dcli_nest follows = *nest;
    if (nest->variant != DCLI_VARIANT_UNIT || body->space_rank < 2 || dcli_count_followers(body) < LEAST_FOLLOWERS) {
        dcli_emit_plain_nest(nest);
        return;
    }
    follows.follows = true;
    dcli_text_put(nest->out, "    if (true");
    dcli_emit_followers_test(nest);
    dcli_emit_either_nest(&follows, nest);
}

static void emit_function(dcli_text *out, const dcli_body *body, dcli_variant variant, int64_t code)
{
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_CPU, variant);
    dcli_text_put(out, "static void dcl_step_%d(", (int)code);
    dcli_emit_parameters(out, body);
    dcli_text_put(out,
                  "__global const long *restrict const dcl_table, const long dcl_rows)\n{\n"
                  "    for (long dcl_at = 0; dcl_at < dcl_rows; dcl_at++) {\n"
                  "    __global const long *const dcl_r = dcl_table + dcl_at * %d;\n",
                  dcli_row_length(body));
    dcli_nest_row(&nest);
    emit_nest(&nest);
    dcli_text_put(out, "    }\n}\n");
}

/* Emit the functions of a body. Macros that have the names of its parameters are hidden from this body only. */
static void emit_functions(dcli_text *out, const dcli_body *body, int place)
{
    dcli_emit_opening(out, body);
    if (body->slanted) /* it uses macros of the opening */
        dcli_text_put(out, "#ifndef DCL_BOUND\n#define DCL_BOUND\n%s#endif\n", dcli_cl_bound);
    dcli_emit_hidden_names(out, body, true);
    emit_function(out, body, DCLI_VARIANT_UNIT, dcli_step_code(place, DCLI_VARIANT_UNIT));
    emit_function(out, body, DCLI_VARIANT_ANY, dcli_step_code(place, DCLI_VARIANT_ANY));
    dcli_emit_hidden_names(out, body, false);
}

static void emit_call(dcli_text *out, const dcli_body *body, int64_t code)
{
    int at = DCLI_STEP_HEAD;
    dcli_text_put(out, "        case %d:\n            dcl_step_%d(", (int)code, (int)code);
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "(__global %s%s *)(ulong)dcl_s[%d], ", body->access[a].written ? "" : "const ",
                      dcli_kernel_type(body->params[body->access[a].param].type), at++);
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE)
            dcli_text_put(out, "*(__global const %s *)(dcl_s + %d), ", dcli_kernel_type(body->params[p].type), at++);
    dcli_text_put(out, "(__global const long *)(ulong)dcl_s[%d], dcl_s[%d]);\n            break;\n", DCLI_STEP_TABLE,
                  DCLI_STEP_ROWS);
}

char *dcli_series_source(int count, const dcli_body *const bodies[])
{
    dcli_text out = {0};
    dcli_emit_cpu_opening(&out);
    for (int b = 0; b < count; b++)
        emit_functions(&out, bodies[b], b);
    dcli_text_put(
        &out,
        "__kernel void dcl_series(const ulong dcl_lists_at, const ulong dcl_now_at, const ulong dcl_claims_at, "
        "const ulong dcl_turn)\n{\n"
        "    if (dcl_lists_at == 0)\n"
        "        return;\n"
        "    dcl_share dcl_mine = DCL_SHARE(dcl_claims_at, dcl_turn, get_global_size(0));\n"
        "    for (long dcl_l; (dcl_l = dcl_share_next(&dcl_mine)) >= 0;) {\n"
        "    __global const long *const dcl_list = (__global const long *)dcl_lists_at + 2 * dcl_l;\n"
        "    __global const long *dcl_s = (__global const long *)(ulong)dcl_list[0];\n"
        "    const long dcl_count = dcl_list[1];\n"
        "    const bool dcl_tells = dcl_now_at != 0 && dcl_l == 0;\n"
        "    volatile __global long *const dcl_now = (volatile __global long *)dcl_now_at;\n"
        "    long dcl_last = 0;\n"
        "    for (long dcl_step = 0; dcl_step < dcl_count; dcl_step++) {\n"
        "        if (dcl_tells && dcl_s[%d] != dcl_last) {\n"
        "            __global const long *const dcl_text = (__global const long *)(ulong)dcl_s[%d];\n"
        "            dcl_now[0] = 0;\n"
        "            for (int dcl_k = 0; dcl_k < %d; dcl_k++)\n"
        "                dcl_now[1 + dcl_k] = dcl_text[dcl_k];\n"
        "            dcl_now[0] = dcl_last = dcl_s[%d];\n"
        "        }\n"
        "        switch (dcl_s[%d]) {\n",
        DCLI_STEP_BODY, DCLI_STEP_TEXT, DCLI_SERIES_TEXT_LONGS, DCLI_STEP_BODY, DCLI_STEP_CODE);
    for (int b = 0; b < count; b++) {
        emit_call(&out, bodies[b], dcli_step_code(b, DCLI_VARIANT_UNIT));
        emit_call(&out, bodies[b], dcli_step_code(b, DCLI_VARIANT_ANY));
    }
    dcli_text_put(&out,
                  "        }\n"
                  "        dcl_s += dcl_s[%d];\n"
                  "    }\n"
                  "    if (dcl_tells)\n"
                  "        dcl_now[0] = 0;\n"
                  "    }\n"
                  "}\n",
                  DCLI_STEP_LENGTH);
    return dcli_text_take(&out);
}
