/* kernel/source_gpu.c - the program for a GPU: a work-item is one index, or a few that lie a whole launch apart.
 * Transposed inputs pass through local memory in squares, so that both the read and the use are contiguous. The squares
 * are one column wider than needed: a column then lies in different banks.
 * Source: G. Ruetsch, P. Micikevicius, Optimizing Matrix Transpose in CUDA (NVIDIA, 2009). */
#include "kernel/inside.h"
#include "kernel/nest.h"

enum {
    SQUARE = 32,       /* side of a square of transposed input */
    SQUARE_ROWS = 8,   /* rows of it that a work-group handles at once */
    GROUP = 256,       /* work-items of a group */
    MOST_GROUPS = 32768 /* along the second and third dimension of a launch; devices limit these to 65535 */
};

/* Counters of the axes that are neither the innermost nor `second`, flattened in the launch's third dimension. */
static void open_outer(dcli_nest *nest, int second)
{
    dcli_text_put(nest->out, "    const long dcl_outer = 1");
    for (int m = 0; m < nest->innermost; m++)
        if (m != second)
            dcli_text_put(nest->out, " * dcl_n%d", m);
    dcli_text_put(nest->out, ";\n    for (long dcl_z = get_global_id(2); dcl_z < dcl_outer; dcl_z += get_global_size(2)) {\n"
                             "    long dcl_rest = dcl_z;\n");
    for (int m = nest->innermost - 1; m >= 0; m--)
        if (m != second)
            dcli_text_put(nest->out, "    const long dcl_t%d = dcl_rest %% dcl_n%d; dcl_rest /= dcl_n%d;\n", m, m, m);
    for (int m = 0; m < nest->innermost; m++)
        if (m != second) {
            dcli_nest_index(nest, m);
            dcli_nest_advance(nest, m);
        }
}

static void emit_elements(dcli_nest *nest, bool squares)
{
    for (int a = 0; a < nest->body->access_count; a++) {
        char offset[96] = "";
        if (squares && dcli_is_transposed(nest->body, a)) {
            dcli_text_put(nest->out, "#define dcl_a%d dcl_b%d[get_local_id(0)][dcl_q]\n", a, a);
            continue;
        }
        if (nest->body->access[a].reach == DCLI_REACH_AFFINE)
            dcli_nest_offset(nest, a, nest->innermost, offset, sizeof offset);
        dcli_emit_element(nest->out, nest->body, nest->variant, a, nest->row, offset);
    }
}

static void emit_plain(dcli_nest *nest)
{
    int v = nest->innermost, u = v - 1;
    if (v > 0)
        open_outer(nest, u);
    if (v > 0) {
        dcli_text_put(nest->out, "    for (long dcl_t%d = get_global_id(1); dcl_t%d < dcl_n%d; dcl_t%d += "
                                 "get_global_size(1)) {\n", u, u, u, u);
        dcli_nest_index(nest, u);
        dcli_nest_advance(nest, u);
    }
    emit_elements(nest, false);
    dcli_text_put(nest->out, "    for (long dcl_t%d = get_global_id(0); dcl_t%d < dcl_n%d; dcl_t%d += get_global_size(0)) "
                             "{\n", v, v, v, v);
    dcli_nest_index(nest, v);
    dcli_emit_statements(nest->out, nest->body);
    dcli_text_put(nest->out, v > 0 ? "    }\n    }\n    }\n" : "    }\n");
}

static void load_squares(dcli_nest *nest, int u)
{
    int v = nest->innermost;
    dcli_text_put(nest->out, "    for (int dcl_q = get_local_id(1); dcl_q < %d; dcl_q += %d) {\n", SQUARE, SQUARE_ROWS);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + dcl_q, dcl_t%d = dcl_u + get_local_id(0);\n", v, u);
    dcli_text_put(nest->out, "    if (dcl_t%d < dcl_n%d && dcl_t%d < dcl_n%d) {\n", v, v, u, u);
    for (int a = 0; a < nest->body->access_count; a++)
        if (dcli_is_transposed(nest->body, a))
            dcli_text_put(nest->out, "    dcl_b%d[dcl_q][get_local_id(0)] = dcl_p%d[dcl_x%d_%d + dcl_t%d + dcl_t%d * "
                                     "dcl_s%d_%d];\n", a, a, a, nest->level[a], u, v, a, v);
    dcli_text_put(nest->out, "    }\n    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n");
}

static void use_squares(dcli_nest *nest, int u)
{
    int v = nest->innermost;
    dcli_text_put(nest->out, "    for (int dcl_q = get_local_id(1); dcl_q < %d; dcl_q += %d) {\n", SQUARE, SQUARE_ROWS);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + get_local_id(0), dcl_t%d = dcl_u + dcl_q;\n", v, u);
    dcli_text_put(nest->out, "    if (dcl_t%d < dcl_n%d && dcl_t%d < dcl_n%d) {\n", v, v, u, u);
    dcli_nest_index(nest, u);
    dcli_nest_index(nest, v);
    dcli_nest_advance(nest, u);
    emit_elements(nest, true);
    dcli_emit_statements(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n");
}

/* All work-items of a group run the same squares, so all of them reach the barriers. */
static void emit_squares(dcli_nest *nest, int u)
{
    const dcli_body *body = nest->body;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a))
            dcli_text_put(nest->out, "    __local %s dcl_b%d[%d][%d];\n",
                          dcli_kernel_type(body->params[body->access[a].param].type), a, SQUARE, SQUARE + 1);
    open_outer(nest, u);
    dcli_text_put(nest->out, "    for (long dcl_u = get_group_id(1) * %d; dcl_u < dcl_n%d; dcl_u += get_num_groups(1) * %d)\n",
                  SQUARE, u, SQUARE);
    dcli_text_put(nest->out, "    for (long dcl_v = get_group_id(0) * %d; dcl_v < dcl_n%d; dcl_v += get_num_groups(0) * %d) "
                             "{\n", SQUARE, nest->innermost, SQUARE);
    load_squares(nest, u);
    use_squares(nest, u);
    dcli_text_put(nest->out, "    }\n    }\n");
}

static int square_axis(const dcli_body *body, dcli_variant variant)
{
    return variant == DCLI_VARIANT_UNIT ? dcli_transposed_axis(body) : -1;
}

static void emit_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    dcli_nest nest = dcli_nest_start(out, body, variant, "dcl_r.v");
    dcli_emit_signature(out, body, variant);
    dcli_text_put(out, "const dcl_row dcl_r, __global long *dcl_report)\n{\n");
    dcli_nest_row(&nest);
    int u = square_axis(body, variant);
    if (u >= 0)
        emit_squares(&nest, u);
    else
        emit_plain(&nest);
    dcli_text_put(out, "}\n");
}

void dcli_emit_gpu(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "typedef struct { long v[%d]; } dcl_row;\n", dcli_row_length(body));
    for (int variant = 0; variant < DCLI_VARIANT_COUNT; variant++)
        emit_kernel(out, body, (dcli_variant)variant);
}

static size_t groups_for(int64_t count, int64_t per_group)
{
    int64_t groups = count > 0 ? (count - 1) / per_group + 1 : 1;
    return (size_t)(groups < MOST_GROUPS ? groups : MOST_GROUPS);
}

/* The third dimension: all axes but the two that have their own; the kernel's loop takes what is beyond. */
static size_t outer_count(const dcli_body *body, const int64_t count[], int second)
{
    int64_t outer = 1;
    for (int m = 0; m < body->space_rank - 1; m++)
        if (m != second && outer < MOST_GROUPS)
            outer *= count[m] < 1 ? 1 : count[m] < MOST_GROUPS ? count[m] : MOST_GROUPS;
    return (size_t)(outer < MOST_GROUPS ? outer : MOST_GROUPS);
}

int dcli_body_launch_size(const dcli_body *body, dcli_variant variant, const int64_t count[], size_t global_out[3],
                          size_t local_out[3])
{
    int v = body->space_rank - 1, square = square_axis(body, variant), u = square >= 0 ? square : v - 1;
    size_t wide = SQUARE, high = SQUARE_ROWS;
    if (square < 0) { /* as wide as the rows are, in whole warps where that is possible */
        wide = GROUP;
        while (v > 0 && wide > 1 && (int64_t)wide / 2 >= count[v])
            wide /= 2;
        high = v > 0 ? GROUP / wide : 1;
    }
    int64_t per_group = square >= 0 ? SQUARE : (int64_t)high;
    local_out[0] = wide;
    local_out[1] = high;
    local_out[2] = 1;
    size_t across = (size_t)(count[v] > 0 ? (count[v] - 1) / (int64_t)wide + 1 : 1);
    global_out[0] = (across < (1 << 22) ? across : 1 << 22) * wide;
    global_out[1] = v > 0 ? groups_for(count[u], per_group) * high : 1;
    global_out[2] = v > 0 ? outer_count(body, count, u) : 1;
    return v > 1 ? 3 : v + 1;
}
