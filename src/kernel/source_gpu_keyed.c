/* kernel/source_gpu_keyed.c - generates the kernels of keyed reductions for GPUs.
 *
 * Groups share the tiles as in source_gpu_reduce.c. A group reduces into tables in local memory (source_keyed.c), and adds them to the
 * node's partial results at its end. If there are sums of floating-point numbers, all work-items of a group meet after every tile, so that
 * the tops of its sums can change. */
#include "kernel/gpu_reduce.h"
#include "kernel/inside.h"
#include "kernel/keyed.h"

/* Emit the work of one work-item within a tile. */
static void emit_tile(dcli_nest *nest)
{
    int v = nest->innermost;
    dcli_emit_reducing_row(nest);
    dcli_emit_tile_place(nest);
    dcli_text_put(nest->out, "    if (dcl_line < dcl_lines) {\n");
    dcli_emit_line_indices(nest, v);
    bool narrowed = dcli_nest_narrow(nest, v, 0, v);
    dcli_emit_nest_elements(nest);
    dcli_text_put(nest->out,
                  "    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++) {\n"
                  "    const long dcl_t%d = dcl_begin + dcl_k * dcl_wide;\n    if (dcl_t%d < dcl_n%d) {\n",
                  v, v, v);
    dcli_nest_index(nest, v);
    dcli_emit_text(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n    }\n");
    dcli_emit_elements_end(nest->out, nest->body);
    dcli_text_put(nest->out, narrowed ? "    }\n    }\n" : "    }\n");
}

/* Emit a tile in one round, or in two if a number is too large for the top of its sum. dcl_again is the last tile that has a second one. */
static void emit_rounds(dcli_nest *nest)
{
    dcli_text *out = nest->out;
    dcli_text_put(out, "    for (int dcl_round = 0; dcl_round < 2; dcl_round++) {\n");
    dcli_emit_keyed_asked(out, nest->body);
    dcli_text_put(out, "    {\n");
    emit_tile(nest);
    dcli_text_put(out, "    }\n    if (");
    dcli_emit_keyed_again(out, nest->body);
    dcli_text_put(out, ")\n        dcl_again = dcl_tile;\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
                       "    if (dcl_round > 0 || dcl_again != dcl_tile)\n        break;\n");
    dcli_emit_keyed_group(out, nest->body, "dcl_raise_", false);
    dcli_text_put(out, "    barrier(CLK_LOCAL_MEM_FENCE);\n    }\n");
    dcli_emit_keyed_group(out, nest->body, "dcl_settle_", false);
    dcli_text_put(out, "    barrier(CLK_LOCAL_MEM_FENCE);\n");
}

void dcli_emit_keyed_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_GPU, variant);
    bool rounds = dcli_keyed_has_rounds(body);
    dcli_emit_reducing_signature(out, body, variant);
    if (rounds)
        dcli_text_put(out, "    __local volatile long dcl_again;\n"
                           "    if (get_local_id(0) == 0 && get_local_id(1) == 0)\n        dcl_again = -1;\n");
    dcli_emit_keyed_group_begin(out, body);
    dcli_emit_tile_counts(&nest);
    dcli_text_put(out,
                  "    for (long dcl_tile = get_group_id(0); dcl_tile < dcl_tiles; dcl_tile += get_num_groups(0)) {\n");
    if (rounds) {
        emit_rounds(&nest);
    } else {
        dcli_text_put(out, "    const int dcl_round = 0;\n");
        emit_tile(&nest);
    }
    dcli_text_put(out, "    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n");
    dcli_emit_keyed_group(out, body, "dcl_end_", true);
    dcli_text_put(out, "}\n");
}
