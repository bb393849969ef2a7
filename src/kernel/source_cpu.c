/* kernel/source_cpu.c - the program for a CPU: a work-item runs the boxes of table rows as loops. */
#include "kernel/inside.h"
#include "kernel/nest.h"

static void open_loop(dcli_nest *nest, int m)
{
    dcli_text_put(nest->out, "    for (long dcl_t%d = 0; dcl_t%d < dcl_n%d; dcl_t%d++) {\n", m, m, m, m);
    dcli_nest_index(nest, m);
    dcli_nest_advance(nest, m);
}

static void emit_innermost(dcli_nest *nest)
{
    int m = nest->innermost;
    for (int a = 0; a < nest->body->access_count; a++) {
        char offset[96] = "";
        if (nest->body->access[a].reach == DCLI_REACH_AFFINE)
            dcli_nest_offset(nest, a, m, offset, sizeof offset);
        dcli_emit_element(nest->out, nest->body, nest->variant, a, nest->row, offset);
    }
    if (nest->variant == DCLI_VARIANT_UNIT)
        /* Safe: within an operation an array that is written is touched at one subscript only. */
        dcli_text_put(nest->out, "#pragma clang loop vectorize(enable)\n");
    dcli_text_put(nest->out, "    for (long dcl_t%d = 0; dcl_t%d < dcl_n%d; dcl_t%d++) {\n", m, m, m, m);
    dcli_nest_index(nest, m);
    dcli_emit_statements(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n");
}

static void emit_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_nest nest = dcli_nest_start(out, body, variant, "dcl_r");
    dcli_emit_signature(out, body, variant);
    dcli_text_put(out, "__global const long *restrict dcl_table, __global long *dcl_report)\n{\n");
    dcli_text_put(out, "    __global const long *const dcl_r = dcl_table + (long)get_global_id(0) * %d;\n",
                  dcli_row_length(body));
    dcli_nest_row(&nest);
    for (int m = 0; m < nest.innermost; m++)
        open_loop(&nest, m);
    emit_innermost(&nest);
    for (int m = 0; m < nest.innermost; m++)
        dcli_text_put(out, "    }\n");
    dcli_text_put(out, "}\n");
}

void dcli_emit_cpu(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "#pragma clang diagnostic ignored \"-Wpass-failed\"\n");
    for (int variant = 0; variant < DCLI_VARIANT_COUNT; variant++)
        emit_kernel(out, body, (dcli_variant)variant);
}
