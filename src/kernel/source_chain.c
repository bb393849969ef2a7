/* kernel/source_chain.c - generate the kernel of a contraction for a CPU: blocks of both factors are packed, then multiplied by
 * chain.cl.
 *
 * One loop axis, "down", is used by one factor only, another, "across", by the other one only. C is computed in tiles of these two axes.
 * The factor along `down` is packed in panels of DCL_CHAIN_ROWS rows, for DCL_CHAIN_HIGH rows at once; the other one in panels of
 * DCL_CHAIN_WIDE columns, for one panel. Between two blocks of the reduced index a tile is stored in C, so the chain of an element is
 * not interrupted. Source: K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM Transactions on
 * Mathematical Software 34 (2008). */
#include "kernel/source_chain.h"

#include <stdio.h>

#include "kernel/block.h"
#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/inside.h"

bool dcli_chain_plan_of(const dcli_body *body, dcli_chain_plan *plan)
{
    const dcli_contraction *contraction = &body->inside->contraction;
    if (contraction->end == 0 || body->inner_rank != 1 || body->slanted)
        return false;
    *plan = (dcli_chain_plan){.down = -1, .across = -1, .inner = body->space_rank};
    for (int m = body->space_rank - 1; m >= 0; m--) {
        bool left = dcli_inside_depends(body, contraction->left, m);
        bool right = dcli_inside_depends(body, contraction->right, m);
        if (left == right)
            continue;
        int used = left ? contraction->left : contraction->right;
        if (plan->across < 0) {
            plan->across = m;
            plan->wide = used;
        } else if (plan->down < 0 && used != plan->wide) {
            plan->down = m;
            plan->low = used;
        }
    }
    return plan->down >= 0;
}

bool dcli_chain_is_blocked(const dcli_body *body)
{
    dcli_chain_plan plan;
    return dcli_chain_plan_of(body, &plan);
}

bool dcli_body_has_panels(const dcli_body *body, int factors_out[2])
{
    dcli_chain_plan plan;
    if (!dcli_chain_plan_of(body, &plan))
        return false;
    factors_out[0] = plan.low;
    factors_out[1] = plan.wide;
    return true;
}

void dcli_emit_chain_functions(dcli_text *out, const dcli_body *body)
{
    dcl_type type = body->params[body->owner].type;
    if (!dcli_chain_is_blocked(body))
        return;
    dcli_text_put(out, "#define DCL_WORDS %d\n#define dcl_T %s\n%s", (int)(dcl_type_bytes(type) / 4),
                  dcli_kernel_type(type), dcli_cl_chain);
}

void dcli_emit_factor(dcli_nest *nest, int a, int m, int inner)
{
    dcli_text_put(nest->out, "#define dcl_a%d dcl_p%d[dcl_x%d_%d + (dcl_i) * dcl_s%d_%d", a, a, a, nest->level[a], a,
                  m);
    if (dcli_inside_depends(nest->body, a, inner))
        dcli_text_put(nest->out, " + (dcl_kb + dcl_k) * dcl_s%d_%d", a, inner);
    dcli_text_put(nest->out, "]\n");
}

void dcli_emit_packed(dcli_nest *nest, int a, const char *to, const char *exists)
{
    const dcli_contraction *contraction = &nest->body->inside->contraction;
    dcli_text_put(nest->out, "    %s = %s ? ", to, exists);
    if (a == contraction->left)
        dcli_emit_left(nest->out, nest->body);
    else
        dcli_text_put(nest->out, "dcl_a%d", a);
    dcli_text_put(nest->out, " : 0;\n");
}

static void emit_pack_low(dcli_nest *nest, const dcli_chain_plan *plan)
{
    dcli_emit_factor(nest, plan->low, plan->down, plan->inner);
    dcli_text_put(nest->out, "    for (int dcl_u = 0; dcl_u < dcl_h; dcl_u += DCL_CHAIN_ROWS)\n"
                             "    for (int dcl_k = 0; dcl_k < dcl_d; dcl_k++)\n"
                             "    for (int dcl_r = 0; dcl_r < DCL_CHAIN_ROWS; dcl_r++) {\n"
                             "    const long dcl_i = dcl_ib + dcl_u + dcl_r;\n");
    dcli_emit_packed(nest, plan->low, "dcl_low[dcl_u * DCL_CHAIN_DEPTH + dcl_k * DCL_CHAIN_ROWS + dcl_r]",
                     "dcl_u + dcl_r < dcl_h");
    dcli_text_put(nest->out, "    }\n#undef dcl_a%d\n", plan->low);
}

static void emit_pack_wide(dcli_nest *nest, const dcli_chain_plan *plan)
{
    dcli_emit_factor(nest, plan->wide, plan->across, plan->inner);
    dcli_text_put(nest->out, "    if (dcl_s%d_%d == 1 && dcl_w == DCL_CHAIN_WIDE) {\n    const long dcl_s%d_%d = 1;\n",
                  plan->wide, plan->across, plan->wide, plan->across);
    for (int whole = 1; whole >= 0; whole--) {
        dcli_text_put(nest->out, "    for (int dcl_k = 0; dcl_k < dcl_d; dcl_k++)\n"
                                 "    for (int dcl_c = 0; dcl_c < DCL_CHAIN_WIDE; dcl_c++) {\n"
                                 "    const long dcl_i = dcl_jb + dcl_c;\n");
        dcli_emit_packed(nest, plan->wide, "dcl_panel[dcl_k * DCL_CHAIN_WIDE + dcl_c]",
                         whole != 0 ? "true" : "dcl_c < dcl_w");
        dcli_text_put(nest->out, whole != 0 ? "    }\n    } else {\n" : "    }\n    }\n");
    }
    dcli_text_put(nest->out, "#undef dcl_a%d\n", plan->wide);
}

static void emit_tiles(dcli_nest *nest, const dcli_chain_plan *plan, int c)
{
    dcli_text_put(
        nest->out,
        "    for (int dcl_u = 0; dcl_u < dcl_h; dcl_u += DCL_CHAIN_ROWS) {\n"
        "    dcl_T *const dcl_to = (dcl_T *)(ulong)(dcl_p%d + dcl_x%d_%d + (dcl_ib + dcl_u) * dcl_s%d_%d + dcl_jb * "
        "dcl_s%d_%d);\n"
        "    if (dcl_s%d_%d == 1 && dcl_w == DCL_CHAIN_WIDE && dcl_h - dcl_u >= DCL_CHAIN_ROWS)\n"
        "        dcl_chain_tile(dcl_low + dcl_u * DCL_CHAIN_DEPTH, dcl_panel, dcl_d, dcl_to, dcl_s%d_%d, dcl_fresh);\n"
        "    else\n"
        "        dcl_chain_part(dcl_low + dcl_u * DCL_CHAIN_DEPTH, dcl_panel, dcl_d, dcl_to, dcl_s%d_%d, dcl_s%d_%d, "
        "dcl_min(dcl_h - dcl_u, DCL_CHAIN_ROWS), dcl_w, dcl_fresh);\n"
        "    }\n",
        c, c, nest->level[c], c, plan->down, c, plan->across, c, plan->across, c, plan->down, c, plan->down, c,
        plan->across);
}

void dcli_emit_chain_blocks(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    dcli_chain_plan plan;
    dcli_chain_plan_of(body, &plan);
    for (int m = 0; m < body->space_rank; m++)
        if (m != plan.down && m != plan.across)
            dcli_emit_loop(nest, m);
    dcli_text_put(
        nest->out,
        "    dcl_T dcl_low[DCL_CHAIN_HIGH * DCL_CHAIN_DEPTH] __attribute__((aligned(64)));\n"
        "    dcl_T dcl_panel[DCL_CHAIN_WIDE * DCL_CHAIN_DEPTH] __attribute__((aligned(64)));\n"
        "    const long dcl_parts = dcl_max(1L, (dcl_n%d + DCL_CHAIN_HIGH - 1) / DCL_CHAIN_HIGH);\n"
        "    const long dcl_high = ((dcl_n%d + dcl_parts - 1) / dcl_parts + DCL_CHAIN_ROWS - 1) / DCL_CHAIN_ROWS * "
        "DCL_CHAIN_ROWS;\n"
        "    for (long dcl_ib = 0; dcl_ib < dcl_n%d; dcl_ib += dcl_high)\n"
        "    for (long dcl_kb = 0; dcl_kb == 0 || dcl_kb < dcl_n%d; dcl_kb += DCL_CHAIN_DEPTH) {\n"
        "    const int dcl_h = (int)dcl_min(dcl_n%d - dcl_ib, dcl_high);\n"
        "    const int dcl_d = (int)dcl_min(dcl_n%d - dcl_kb, (long)DCL_CHAIN_DEPTH);\n"
        "    const bool dcl_fresh = %s;\n",
        plan.down, plan.down, plan.down, plan.inner, plan.down, plan.inner,
        body->params[body->owner].access == DCL_ACCESS_OUT ? "dcl_kb == 0 && dcl_before == 0" : "false");
    emit_pack_low(nest, &plan);
    dcli_text_put(nest->out,
                  "    for (long dcl_jb = 0; dcl_jb < dcl_n%d; dcl_jb += DCL_CHAIN_WIDE) {\n"
                  "    const int dcl_w = (int)dcl_min(dcl_n%d - dcl_jb, (long)DCL_CHAIN_WIDE);\n",
                  plan.across, plan.across);
    emit_pack_wide(nest, &plan);
    emit_tiles(nest, &plan, body->home);
    dcli_text_put(nest->out, "    }\n    }\n");
    for (int m = 0; m < body->space_rank; m++)
        if (m != plan.down && m != plan.across)
            dcli_text_put(nest->out, "    }\n");
}
