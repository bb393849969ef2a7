/* kernel/source_gpu_reduce.c - generates the kernels that reduce values on a GPU.
 *
 * Few groups run, as many as keep the device busy, and each reduces many tiles of the launch's rows: a tile is as wide as
 * a group along the innermost axis, times EACH, and as high along the other axes together. Work-items reduce in variables;
 * at the end those of a group merge their partial results in local memory (group.cl), and the last group merges those of all groups
 * into the node's (last.cl). So one slot is read and merged by the host.
 *
 * On an H200, with 132 compute units, a sum of 40960 x 40960 floats takes 1.67 ms with four groups per compute unit and EACH = 32; with
 * 1024 groups 1.75 ms, with three groups per unit 1.90 ms; with EACH = 16 and 1024 groups 1.91 ms, with EACH = 64 4.4 ms. The sum, the
 * least and the greatest element as doubles in one pass take 3.8 ms instead of 5.4; but a sum as float, one as double and a maximum
 * as float 3.7 ms instead of 3.3. Fewer groups also leave fewer partial results to merge: 20 us less of a sum.
 *
 * A sum of 8192 x 8192 floats takes 83 us there, a kernel that only reads them 65. With one, three or four groups per unit it takes 108,
 * 101 and 91 us, with EACH = 16 and 48 it takes 99 and 118, with at most 64 and 80 registers per work-item 108 and 84. A sum of few
 * elements takes 9 us, a body without reduction 4: the difference is the merging at the end. */
#include <stdio.h>

#include "base/check.h"
#include "kernel/block.h"
#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/gpu_reduce.h"
#include "kernel/inside.h"
#include "kernel/nest.h"
#include "kernel/place.h"

enum {
    GROUP = 256, /* most work-items of a group: a power of two, as group.cl requires */
    WARP = 32,   /* work-items that the hardware executes together */
    EACH = 32,   /* indices of the innermost axis that a work-item has of a tile */
    FEWER = 16,  /* those in reductions by keys */
    MOST_GROUPS = DCLI_GROUP_SLOTS - DCLI_GROUPS_FROM
};

/* Indices of the innermost axis that a work-item has of a tile. In keyed reductions a loop may add many values per index, and only some
 * fit into a slot within a tile (kernel/keyed_sum_gpu.cl). */
static int each_of(const dcli_body *body)
{
    if (body->keyed && body->inside->has_loop)
        return 1;
    return body->keyed ? FEWER : EACH;
}

void dcli_emit_tile_counts(dcli_nest *nest)
{
    int v = nest->innermost, each = each_of(nest->body);
    dcli_text_put(nest->out, "    const long dcl_wide = get_local_size(0), dcl_high = get_local_size(1);\n"
                             "    const long dcl_across = (");
    dcli_emit_number(nest->out, nest->body, DCLI_FORM_GPU, DCLI_ROW_COUNT, 0, v);
    dcli_text_put(nest->out, " + dcl_wide * %d - 1) / (dcl_wide * %d);\n    const long dcl_lines = 1", each, each);
    for (int m = 0; m < v; m++) {
        dcli_text_put(nest->out, " * ");
        dcli_emit_number(nest->out, nest->body, DCLI_FORM_GPU, DCLI_ROW_COUNT, 0, m);
    }
    dcli_text_put(nest->out, ";\n    const long dcl_row_tiles = dcl_across * ((dcl_lines + dcl_high - 1) / dcl_high);\n"
                             "    const long dcl_tiles = dcl_each > 0 ? dcl_row_tiles * dcl_rows : dcl_row_tiles;\n");
}

void dcli_emit_reducing_row(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int at[dcli_row_length(body)], count = dcli_row_own(body, at);
    dcli_text_put(nest->out,
                  "    const long dcl_number = dcl_each > 0 ? dcl_tile / dcl_row_tiles : 0;\n"
                  "    __global const long *const dcl_o = dcl_table + ((ulong)dcl_first + dcl_number) * %d;\n",
                  count);
    for (int n = 0; n < count; n++)
        dcli_text_put(nest->out, "    const long dcl_o%d = dcl_each > 0 ? dcl_o[%d] : dcl_r.dcl_v[%d];\n", at[n], n,
                      at[n]);
    dcli_nest_row(nest);
}

void dcli_emit_line_indices(dcli_nest *nest, int axes)
{
    for (int m = axes - 1; m >= 0; m--) {
        if (m > 0)
            dcli_text_put(nest->out, "    const long dcl_t%d = dcl_line %% dcl_n%d; dcl_line /= dcl_n%d;\n", m, m, m);
        else
            dcli_text_put(nest->out, "    const long dcl_t0 = dcl_line;\n");
        dcli_nest_index(nest, m);
        dcli_nest_advance(nest, m);
    }
}

void dcli_emit_tile_place(dcli_nest *nest)
{
    dcli_text_put(nest->out,
                  "    const long dcl_in = dcl_tile - dcl_number * dcl_row_tiles, dcl_down = dcl_in / dcl_across;\n"
                  "    long dcl_line = dcl_down * dcl_high + get_local_id(1);\n"
                  "    const long dcl_begin = (dcl_in - dcl_down * dcl_across) * dcl_wide * %d + get_local_id(0);\n",
                  each_of(nest->body));
}

/* Emit the indices of all axes but the innermost, from dcl_line, the number of the work-item's line in the row. */
static void open_line(dcli_nest *nest)
{
    dcli_emit_tile_place(nest);
    dcli_text_put(nest->out, "    if (dcl_line >= dcl_lines)\n        continue;\n");
    dcli_emit_line_indices(nest, nest->innermost);
}

/* Emit the values of DCL_EACH indices of the innermost axis, at a distance: dcl_y<r>. @param check  some may be beyond the row. */
static void emit_values(dcli_nest *nest, const char *distance, bool check)
{
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    dcli_text_put(nest->out,
                  "#pragma unroll\n    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++) {\n"
                  "    const long dcl_t%d = dcl_begin + dcl_k * %s;\n",
                  v, distance);
    dcli_nest_index(nest, v);
    dcli_emit_neutral(nest->out, body);
    dcli_text_put(nest->out, check ? "    if (dcl_t%d < dcl_n%d) {\n" : "    {\n", v, v);
    dcli_emit_text(nest->out, body);
    dcli_text_put(nest->out, "    }\n");
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(nest->out, "    dcl_y%d[dcl_k] = dcl_r%d;\n", r, r);
        if (!body->result[r].placed)
            continue;
        dcli_text_put(nest->out, "    dcl_l%d[dcl_k] = !dcl_q%d ? LONG_MAX : ", r, r);
        dcli_emit_place(nest);
        dcli_text_put(nest->out, ";\n");
    }
    dcli_text_put(nest->out, "    }\n");
}

/* The usual tile is a loop of constant length and distance, without conditions and before any value is used, so that the compiler issues
 * all reads at once. */
void dcli_emit_reducing_tile(dcli_nest *nest, int wide)
{
    const dcli_body *body = nest->body;
    char distance[16];
    bool variables = false;
    snprintf(distance, sizeof distance, "%d", wide);
    dcli_emit_nest_elements(nest);
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(nest->out, "    %s dcl_y%d[DCL_EACH];\n",
                      dcli_kernel_type(body->params[body->result[r].param].type), r);
        variables |= !dcli_fold_is_summed(body, r);
        if (body->result[r].placed)
            dcli_text_put(nest->out, "    long dcl_l%d[DCL_EACH];\n", r);
    }
    dcli_text_put(nest->out, "    if (dcl_wide == %d && dcl_begin + (DCL_EACH - 1) * %d < dcl_n%d) {\n", wide, wide,
                  nest->innermost);
    emit_values(nest, distance, false);
    dcli_text_put(nest->out, "    } else {\n");
    emit_values(nest, "dcl_wide", true);
    dcli_text_put(nest->out, "    }\n");
    dcli_emit_elements_end(nest->out, body);
    if (variables) {
        dcli_text_put(nest->out, "    const int dcl_fill = 0, dcl_from = 0;\n"
                                 "#pragma unroll\n    for (int dcl_k = 0; dcl_k < DCL_EACH; dcl_k++) {\n");
        for (int r = 0; r < body->result_count; r++)
            dcli_text_put(nest->out, "    const %s dcl_r%d = dcl_y%d[dcl_k];\n",
                          dcli_kernel_type(body->params[body->result[r].param].type), r, r);
        dcli_emit_fold(nest->out, body, DCLI_FOLD_OF_GPU);
        dcli_text_put(nest->out, "    }\n");
    }
    for (int r = 0; r < body->result_count; r++)
        if (dcli_fold_is_summed(body, r))
            dcli_text_put(nest->out, "    dcl_lane_add_%s(&dcl_f%d, &dcl_h%d, dcl_y%d);\n",
                          dcli_kernel_type(body->params[body->result[r].param].type), r, r, r);
}

void dcli_emit_reducing_variables(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++) {
        const char *type = dcli_kernel_type(body->params[body->result[r].param].type);
        if (dcli_fold_is_summed(body, r))
            dcli_text_put(out,
                          "    struct dcl_sum dcl_h%d = {0};\n    struct dcl_lane_%s dcl_f%d;\n    "
                          "dcl_lane_start_%s(&dcl_f%d, 0);\n",
                          r, type, r, type, r);
        else
            dcli_emit_variable(out, body, r);
    }
}

/* Emit the end of a kernel: the group's partial results are left in a slot of its own, and the last group merges all. In the
 * second turn, all groups but the last merge empty partial results. Both merges are turns of one loop, and no barrier is under a condition, because PoCL's compiler copies what
 * follows a loop with barriers. */
static void close_partials(dcli_text *out, const dcli_body *body)
{
    int length = (int)dcli_slot_longs(body->result_count);
    for (int r = 0; r < body->result_count; r++)
        dcli_emit_own_partial(out, body, r);
    dcli_text_put(out,
                  "    __global long *const dcl_slot = dcl_partials;\n"
                  "    volatile __global long *const dcl_left = dcl_partials + %d;\n"
                  "    const bool dcl_leads = get_local_id(0) == 0 && get_local_id(1) == 0;\n"
                  "    bool dcl_last = false;\n"
                  "    for (int dcl_turn = 0; dcl_turn < 2; dcl_turn++) {\n",
                  DCLI_GROUPS_FROM * length);
    for (int r = 0, at = 1; r < body->result_count; r++, at += DCLI_PARTIAL_LONGS)
        dcli_text_put(out,
                      "    if (dcl_turn == 1)\n"
                      "        dcl_collect_%d(dcl_own%d, dcl_left + %d, %d, dcl_last ? get_num_groups(0) : 0);\n"
                      "    dcl_group_%d(dcl_own%d, dcl_room, get_local_size(0) * get_local_size(1), 1);\n"
                      "    if (dcl_leads && dcl_turn == 0)\n"
                      "        dcl_leave_%d(dcl_own%d, dcl_left + get_group_id(0) * %d + %d);\n"
                      "    if (dcl_leads && dcl_last)\n"
                      "        dcl_join_%d(dcl_own%d, dcl_slot + %d);\n",
                      r, r, at, length, r, r, r, r, length, at, r, r, at);
    dcli_text_put(
        out,
        "    dcl_last = dcl_is_last((volatile __global uint *)(dcl_partials + %d), dcl_room, dcl_turn == 0);\n"
        "    if (dcl_leads && dcl_last) {\n",
        length + 1);
    dcli_emit_slot_begin(out, body);
    dcli_text_put(out, "    }\n    }\n");
}

void dcli_emit_reducing_functions(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "%s#define DCL_EACH %d\n", dcli_cl_names, each_of(body));
    dcli_emit_fold_functions(out, body, DCLI_FORM_GPU);
    bool reduced = dcli_body_is_reduced(body) && !body->keyed;
    dcli_text_put(out, "%s", reduced ? dcli_cl_fence : "");
    for (int r = 0; r < body->result_count && body->inside->contraction.end == 0 && !body->keyed; r++) {
        if (dcli_fold_is_ordered(body->result[r].fold, body->params[body->result[r].param].type))
            continue;
        dcli_emit_merge(out, body, r);
        dcli_text_put(out, "#define dcl_R %d\n%s%s#undef dcl_R\n", r, dcli_cl_group, reduced ? dcli_cl_last : "");
    }
}

void dcli_emit_reducing_signature(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_emit_signature(out, body, DCLI_FORM_GPU, variant);
    dcli_text_put(out, "const dcl_row dcl_r, __global const long *restrict dcl_table, const uint dcl_first, "
                       "const uint dcl_rows, const uint dcl_each, __global long *dcl_report)\n{\n");
}

void dcli_emit_reducing_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_GPU, variant);
    dcli_emit_reducing_signature(out, body, variant);
    dcli_text_put(out, "    __local long dcl_room[%d * DCL_LONGS];\n", GROUP);
    dcli_emit_reducing_variables(out, body);
    dcli_emit_tile_counts(&nest);
    dcli_text_put(out,
                  "    for (long dcl_tile = get_group_id(0); dcl_tile < dcl_tiles; dcl_tile += get_num_groups(0)) {\n");
    dcli_emit_reducing_row(&nest);
    open_line(&nest);
    bool narrowed = dcli_nest_narrow(&nest, nest.innermost, 0, nest.innermost);
    dcli_emit_reducing_tile(&nest, GROUP);
    dcli_text_put(out, narrowed ? "    }\n" : "");
    dcli_text_put(out, "    }\n");
    close_partials(out, body);
    dcli_text_put(out, "}\n");
}

dcli_launch_size dcli_reducing_launch_size(const dcli_body *body, const int64_t count[], int64_t rows, bool in_table)
{
    int v = body->space_rank - 1;
    int64_t wide = GROUP, lines = 1, tiles, each = each_of(body);
    while (wide > WARP && wide / 2 * each >= count[v])
        wide /= 2;
    for (int m = 0; m < v; m++)
        lines = dcli_min(lines, INT32_MAX) * dcli_min(dcli_max(count[m], 1), INT32_MAX);
    int64_t high = GROUP / wide;
    while (high > 1 && high / 2 >= lines)
        high /= 2;
    tiles = (count[v] + wide * each - 1) / (wide * each);
    tiles = dcli_min(tiles, MOST_GROUPS) * dcli_min((lines + high - 1) / high, MOST_GROUPS);
    tiles = dcli_min(tiles, MOST_GROUPS) * dcli_min(rows, MOST_GROUPS);
    int64_t groups = dcli_max(dcli_min(tiles, MOST_GROUPS), 1);
    return (dcli_launch_size){.dimensions = 2,
                              .global = {(size_t)(groups * wide), (size_t)high, 1},
                              .local = {(size_t)wide, (size_t)high, 1},
                              .rows = in_table ? rows : 1,
                              .each = in_table};
}
