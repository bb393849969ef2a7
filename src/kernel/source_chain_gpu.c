/* kernel/source_chain_gpu.c - generate the kernel of a contraction for a GPU: groups of work-items compute tiles of C (chain_gpu.cl).
 *
 * Both factors' blocks of a tile are copied to local memory. While a block is multiplied, each work-item has already loaded its share of
 * the next one into registers. If a factor is contiguous along the reduced index, neighbouring work-items copy along it, otherwise along
 * the other axis. Sums stay in registers, in the order of the reduced index, so that they have the bits of the CPU's kernel.
 * Tiles of eight rows of tiles are computed column by column: what groups read at the same time remains in the second-level cache.
 * Source: V. Volkov and J. Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra" (SC 2008). */
#include <stdio.h>

#include "base/check.h"
#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/gpu_reduce.h"
#include "kernel/inside.h"
#include "kernel/source_chain.h"

enum {
    GROUP = 256, /* work-items of a group: 16 x 16 */
    BAND = 8,    /* rows of tiles that are computed column by column */
    MOST_GROUPS = 1 << 20
};

/* The side of a tile: DCL_TILE. */
static int64_t tile_of(const dcli_body *body) { return body->params[body->owner].type == DCL_DOUBLE ? 64 : 128; }

/* Emit the number of tiles of a row, dcl_row_tiles, and of all rows, dcl_tiles, for dcli_emit_reducing_row(). */
static void count_tiles(dcli_nest *nest, const dcli_chain_plan *plan)
{
    const char *const name[] = {"dcl_high", "dcl_wide"};
    const int axis[] = {plan->down, plan->across};
    for (int n = 0; n < 2; n++) {
        dcli_text_put(nest->out, "    const long %s = (", name[n]);
        dcli_emit_number(nest->out, nest->body, DCLI_FORM_GPU, DCLI_ROW_COUNT, 0, axis[n]);
        dcli_text_put(nest->out, " + DCL_TILE - 1) / DCL_TILE;\n");
    }
    dcli_text_put(nest->out, "    const long dcl_row_tiles = dcl_high * dcl_wide");
    for (int m = 0; m < nest->body->space_rank; m++)
        if (m != plan->down && m != plan->across) {
            dcli_text_put(nest->out, " * ");
            dcli_emit_number(nest->out, nest->body, DCLI_FORM_GPU, DCLI_ROW_COUNT, 0, m);
        }
    dcli_text_put(nest->out,
                  ";\n    const long dcl_tiles = dcl_each > 0 ? dcl_row_tiles * dcl_rows : dcl_row_tiles;\n");
}

/* Emit the tile's first indices, dcl_ib of axis `down` and dcl_jb of axis `across`, and the indices of the other axes. */
static void open_tile(dcli_nest *nest, const dcli_chain_plan *plan)
{
    dcli_text_put(
        nest->out,
        "    long dcl_line = dcl_tile - dcl_number * dcl_row_tiles;\n"
        "    const long dcl_in = dcl_line %% (dcl_high * dcl_wide), dcl_band = dcl_in / (%d * dcl_wide);\n"
        "    const long dcl_rest = dcl_in - dcl_band * %d * dcl_wide, dcl_deep = dcl_min(dcl_high - dcl_band * "
        "%d, (long)%d);\n"
        "    const long dcl_ib = (dcl_band * %d + dcl_rest %% dcl_deep) * DCL_TILE;\n"
        "    const long dcl_jb = dcl_rest / dcl_deep * DCL_TILE;\n"
        "    dcl_line /= dcl_high * dcl_wide;\n",
        BAND, BAND, BAND, BAND, BAND);
    for (int m = nest->body->space_rank - 1; m >= 0; m--) {
        if (m == plan->down || m == plan->across)
            continue;
        dcli_text_put(nest->out, "    const long dcl_t%d = dcl_line %% dcl_n%d; dcl_line /= dcl_n%d;\n", m, m, m);
        dcli_nest_index(nest, m);
        dcli_nest_advance(nest, m);
    }
}

/* Emit the code that loads a work-item's share of both factors' blocks from dcl_kb on: dcl_f<a>. Element number dcl_e
 * of it is at dcl_k of the reduced index, and dcl_i of the other one. */
static void emit_fetch(dcli_nest *nest, const dcli_chain_plan *plan)
{
    const int factor[] = {plan->low, plan->wide}, axis[] = {plan->down, plan->across};
    for (int n = 0; n < 2; n++) {
        char to[32], exists[96];
        dcli_emit_factor(nest, factor[n], axis[n], plan->inner);
        snprintf(to, sizeof to, "dcl_f%d[dcl_e]", n);
        snprintf(exists, sizeof exists, "dcl_i < dcl_n%d && dcl_kb + dcl_k < dcl_n%d", axis[n], plan->inner);
        dcli_text_put(nest->out,
                      "#pragma unroll\n    for (int dcl_e = 0; dcl_e < DCL_SIDE; dcl_e++) {\n"
                      "    const int dcl_k = DCL_K%d;\n    const long dcl_i = %s + DCL_I%d;\n",
                      n, n == 0 ? "dcl_ib" : "dcl_jb", n);
        dcli_emit_packed(nest, factor[n], to, exists);
        dcli_text_put(nest->out, "    }\n#undef dcl_a%d\n", factor[n]);
    }
}

/* Emit the copying of these shares to local memory. */
static void emit_share(dcli_text *out)
{
    dcli_text_put(out, "#pragma unroll\n    for (int dcl_e = 0; dcl_e < DCL_SIDE; dcl_e++) {\n"
                       "    dcl_low[DCL_K0 * DCL_PITCH + DCL_I0] = dcl_f0[dcl_e];\n"
                       "    dcl_panel[DCL_K1 * DCL_PITCH + DCL_I1] = dcl_f1[dcl_e];\n    }\n");
}

/* Define where element dcl_e of a work-item's share is: DCL_K<n> and DCL_I<n>. */
static void define_shares(dcli_text *out, const dcli_body *body, const dcli_chain_plan *plan)
{
    for (int n = 0; n < 2; n++) {
        bool along = body->access[n == 0 ? plan->low : plan->wide].unit_axis == plan->inner;
        dcli_text_put(out,
                      along ? "#define DCL_K%d (dcl_me %% DCL_DEPTH)\n"
                              "#define DCL_I%d (dcl_me / DCL_DEPTH + dcl_e * (%d / DCL_DEPTH))\n"
                            : "#define DCL_K%d (dcl_me / DCL_TILE + dcl_e * (%d / DCL_TILE))\n"
                              "#define DCL_I%d (dcl_me %% DCL_TILE)\n",
                      n, along ? n : GROUP, along ? GROUP : n);
    }
}

/* Emit the code that loads or stores the work-item's elements of C: dcl_c. Those that do not exist are 0. */
static void emit_elements(dcli_nest *nest, const dcli_chain_plan *plan, int c, bool stores)
{
    const char *statement =
        stores ? "    if (%s)\n        %s = %s;\n" : "    dcl_c[dcl_n * DCL_SIDE + dcl_m] = %s ? %s : %s;\n";
    char exists[96], element[160];
    snprintf(exists, sizeof exists, "dcl_i < dcl_n%d && dcl_j < dcl_n%d", plan->down, plan->across);
    snprintf(element, sizeof element, "dcl_p%d[dcl_x%d_%d + dcl_i * dcl_s%d_%d + dcl_j * dcl_s%d_%d]", c, c,
             nest->level[c], c, plan->down, c, plan->across);
    dcli_text_put(nest->out, "#pragma unroll\n    for (int dcl_n = 0; dcl_n < DCL_SIDE; dcl_n++)\n"
                             "#pragma unroll\n    for (int dcl_m = 0; dcl_m < DCL_SIDE; dcl_m++) {\n"
                             "    const long dcl_i = dcl_ib + DCL_CHAIN_AT(dcl_n, dcl_row);\n"
                             "    const long dcl_j = dcl_jb + DCL_CHAIN_AT(dcl_m, dcl_column);\n");
    dcli_text_put(nest->out, statement, exists, element, stores ? "dcl_c[dcl_n * DCL_SIDE + dcl_m]" : "0");
    dcli_text_put(nest->out, "    }\n");
}

static void emit_blocks(dcli_nest *nest, const dcli_chain_plan *plan)
{
    dcli_text *out = nest->out;
    dcli_text_put(out, "    DCL_ROWS(DCL_CHAIN_BEGIN)\n    dcl_T dcl_f0[DCL_SIDE], dcl_f1[DCL_SIDE];\n    {\n    const "
                       "long dcl_kb = 0;\n");
    emit_fetch(nest, plan);
    dcli_text_put(out,
                  "    }\n    for (long dcl_from = 0; dcl_from < dcl_n%d; dcl_from += DCL_DEPTH) {\n"
                  "    barrier(CLK_LOCAL_MEM_FENCE);\n",
                  plan->inner);
    emit_share(out);
    dcli_text_put(out, "    barrier(CLK_LOCAL_MEM_FENCE);\n    const long dcl_kb = dcl_from + DCL_DEPTH;\n");
    emit_fetch(nest, plan);
    dcli_text_put(out,
                  "    if (dcl_kb <= dcl_n%d) {\n#pragma unroll\n"
                  "    for (int dcl_k = 0; dcl_k < DCL_DEPTH; dcl_k++)\n        DCL_CHAIN_STEP(dcl_k)\n    } else {\n"
                  "#pragma unroll 1\n    for (int dcl_k = 0; dcl_k < dcl_n%d - dcl_from; dcl_k++)\n"
                  "        DCL_CHAIN_STEP(dcl_k)\n    }\n    }\n    DCL_ROWS(DCL_CHAIN_END)\n",
                  plan->inner, plan->inner);
}

void dcli_emit_chain_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_GPU, DCLI_VARIANT_ANY);
    dcli_chain_plan plan;
    dcli_chain_plan_of(body, &plan);
    dcl_type type = body->params[body->owner].type;
    if (variant == DCLI_VARIANT_UNIT) {
        dcli_text_put(out, "#define DCL_WORDS %d\n#define dcl_T %s\n%s", (int)(dcl_type_bytes(type) / 4),
                      dcli_kernel_type(type), dcli_cl_chain_gpu);
        define_shares(out, body, &plan);
    }
    dcli_text_put(out, "__attribute__((reqd_work_group_size(%d, 1, 1)))\n", GROUP);
    dcli_emit_reducing_signature(out, body, variant);
    dcli_text_put(out, "    __local dcl_T dcl_low[DCL_DEPTH * DCL_PITCH] __attribute__((aligned(16)));\n"
                       "    __local dcl_T dcl_panel[DCL_DEPTH * DCL_PITCH] __attribute__((aligned(16)));\n"
                       "    const int dcl_me = get_local_id(0), dcl_row = dcl_me / 16, dcl_column = dcl_me %% 16;\n");
    count_tiles(&nest, &plan);
    dcli_text_put(out,
                  "    for (long dcl_tile = get_group_id(0); dcl_tile < dcl_tiles; dcl_tile += get_num_groups(0)) {\n");
    dcli_emit_reducing_row(&nest);
    open_tile(&nest, &plan);
    dcli_text_put(out, "    dcl_T dcl_c[DCL_SIDE * DCL_SIDE] = {0};\n");
    if (!dcli_fold_is_added_to(body, 0))
        dcli_text_put(out, "    if (dcl_before > 0)\n");
    dcli_text_put(out, "    {\n");
    emit_elements(&nest, &plan, body->home, false);
    dcli_text_put(out, "    }\n");
    emit_blocks(&nest, &plan);
    emit_elements(&nest, &plan, body->home, true);
    dcli_text_put(out, "    }\n}\n");
}

dcli_launch_size dcli_chain_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table)
{
    dcli_chain_plan plan;
    dcli_chain_plan_of(body, &plan);
    int64_t groups = dcli_min(rows, MOST_GROUPS), tile = tile_of(body);
    for (int m = 0; m < body->space_rank; m++) {
        int64_t tiles = m == plan.down || m == plan.across ? (count[m] + tile - 1) / tile : count[m];
        groups = dcli_min(groups * dcli_min(dcli_max(tiles, 1), MOST_GROUPS), MOST_GROUPS);
    }
    return (dcli_launch_size){.dimensions = 1,
                              .global = {(size_t)(groups * GROUP), 1, 1},
                              .local = {GROUP, 1, 1},
                              .rows = in_table ? rows : 1,
                              .each = in_table};
}
