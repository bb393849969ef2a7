/* kernel/source_gpu.c - generates the program for a GPU: a work-item computes one, a few, or a block of indices of a
 * row, not a loop over the whole row.
 *
 * A launch runs one row, whose numbers are kernel arguments; or it runs many rows that differ only in their own numbers
 * (dcli_row_own()), for example the segments of a dealt map. In the latter case dimension 2 of the launch also runs
 * over the rows, and each work-item reads its row's own numbers from a table. The common numbers stay kernel arguments,
 * which take no registers. A launch of one row does not read a table; a fast one without transposed inputs has a kernel
 * of its own, dcl_one, in which all numbers are kernel arguments: a guarded five-point stencil takes a sixth less time
 * than in dcl_unit. (Transposed inputs would make it 1.5 % slower.)
 *
 * In dcl_mixed, rows that read only memory of the GPU and rows that read that of another GPU alternate (lower/mixed.c).
 *
 * Dimension 0 of a launch is the innermost axis. Dimension 1 is the next axis or, if inputs are transposed, the axis
 * across. Dimension 2 combines all other axes, and indices that exceed dimension 1. Kernels usually need no division.
 *
 * Transposed inputs pass through local memory in squares, so that both the read and the use are contiguous. The squares
 * are one column wider than needed, so that the elements of a column lie in different memory banks.
 * Source: G. Ruetsch, P. Micikevicius, Optimizing Matrix Transpose in CUDA (NVIDIA, 2009).
 *
 * On an H200 (16384 x 16384 float, GB/s): C = A + B^T runs at 3940 in this way; at 2950 if squares may lie beyond
 * dimension 1, because the offsets then take registers, so that fewer work-groups run at a time; at 2330 with loops
 * over squares. C = A + B runs at 4380 with 4 indices per work-item in a loop of constant length, at 3620 in another
 * loop, at 3450 with one index. A five-point stencil with a guard runs at 2000 with 4 indices in a loop in which a
 * read waits for the guard. If the guard is tested for all indices first (kernel/guard.h), it runs at 2750 in groups
 * of 256 x 1 work-items, at 3280 in groups of 32 x 8 with 8 indices of a line, at 3500 there with blocks of 4 x 4
 * indices, whose lines share what they read, and at 3800 if these lines are vectors (kernel/vectors.h). */
#include "base/check.h"
#include "kernel/cl.h"
#include "kernel/follow.h"
#include "kernel/gpu_reduce.h"
#include "kernel/guard.h"
#include "kernel/inside.h"
#include "kernel/nest.h"
#include "kernel/source_chain.h"
#include "kernel/sweep.h"
#include "kernel/vectors.h"

enum {
    SQUARE = DCLI_SQUARE,
    SQUARE_ROWS = 8,                 /* rows of a square that a work-group processes at a time: its size along
                                        dimension 1 */
    GROUP = 256,                     /* number of work-items of a work-group */
    NEAR_WIDE = 32,                  /* work-items of a group along dimension 0, if neighbouring rows share elements */
    BLOCK_LINES = 4,                 /* lines of the block of a work-item, if neighbouring rows share elements */
    FEW_LINES = 2,                   /* the same if there are further axes, along which neighbours are read, too */
    BLOCK_BYTES = 16,                /* bytes of these lines: longer ones take too many registers */
    WARP = 32,                       /* work-items that the hardware executes together */
    EACH = 4,                        /* indices of a long row that one work-item computes */
    MOST_GROUPS = DCLI_MOST_SQUARES, /* most groups along dimensions 1 and 2 */
    MOST_GROUPS_0 = 1 << 27,         /* most groups along dimension 0: with 256 work-items each more than memory has
                                        elements */
    MANY = 1 << 20, /* in launches with at least this many indices a work-item computes several of them */
    MOST_DEEP = 64  /* most work-items of a group along dimension 2 */
};

/* Begin the code for dimension 2 of a launch. It runs over all axes but the innermost and u, and over the parts of u:
 * if dimension 1 does not cover axis u, the axis is divided into parts of dcl_span indices, of which the work-item has
 * number dcl_part. A launch has work-items for all parts, so parts alone need no loop. Other axes need one. Squares get
 * one in any case: a loop makes a stencil 10 % slower but squares 25 % faster. A brace stays open.
 * @param part  an expression: the number of indices of a part; NULL: the axis is in one part. */
static void open_outer(dcli_nest *nest, int u, const char *part)
{
    if (part != NULL)
        dcli_text_put(nest->out,
                      "    const long dcl_span = %s;\n"
                      "    const long dcl_parts = dcl_n%d <= dcl_span ? 1 : (dcl_n%d + dcl_span - 1) / dcl_span;\n",
                      part, u, u);
    else
        dcli_text_put(nest->out, "    const long dcl_span = 0, dcl_parts = 1;\n");
    dcli_text_put(nest->out, "    const long dcl_outer = dcl_parts");
    int last = -1; /* the last axis to be split off: it gets the rest, without a division */
    for (int m = nest->innermost - 1; m >= 0; m--)
        if (m != u) {
            dcli_text_put(nest->out, " * dcl_n%d", m);
            last = m;
        }
    dcli_text_put(nest->out, nest->innermost > 1 || part == NULL
                                 ? ";\n    for (long dcl_z = dcl_begin; dcl_z < dcl_outer; dcl_z += dcl_turn) {\n"
                                 : ";\n    const long dcl_z = dcl_begin;\n    if (dcl_z < dcl_outer) {\n");
    dcli_text_put(nest->out,
                  "    long dcl_rest = dcl_z, dcl_part = 0;\n"
                  "    if (dcl_parts > 1) {\n    dcl_part = dcl_rest %% dcl_parts;\n    dcl_rest /= dcl_parts;\n"
                  "    }\n");
    for (int m = nest->innermost - 1; m >= 0; m--)
        if (m != u && m != last)
            dcli_text_put(nest->out, "    const long dcl_t%d = dcl_rest %% dcl_n%d; dcl_rest /= dcl_n%d;\n", m, m, m);
    if (last >= 0)
        dcli_text_put(nest->out, "    const long dcl_t%d = dcl_rest;\n", last);
    for (int m = 0; m < nest->innermost; m++)
        if (m != u) {
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
        dcli_emit_element(nest->out, nest->body, nest->form, nest->variant, a, offset);
    }
}

/* Whether each work-item gets one index: bodies with loops take long, so more indices per work-item gain nothing. */
static bool is_single(const dcli_body *body) { return body->inside->has_loop; }

/* Whether two reads are of neighbouring rows of one array: subscripts that depend on axis u differ. */
static bool are_rows(const dcli_body *body, int a, int b, int u)
{
    const dcli_body_access *x = &body->access[a], *y = &body->access[b];
    if (x->param != y->param || x->written || y->written || x->reach != DCLI_REACH_AFFINE || y->reach != x->reach)
        return false;
    for (int d = 0; d < body->params[x->param].rank; d++) {
        const dcli_affine *first = dcli_inside_subscript(body, a, d), *second = dcli_inside_subscript(body, b, d);
        int index = body->index_of_axis[u];
        if (dcli_affine_uses(first, index) && dcli_affine_uses(second, index) && !dcli_affine_equal(first, second))
            return true;
    }
    return false;
}

/* Whether an array is read in several rows that are next to each other along dimension 1. */
static bool shares_rows(const dcli_body *body)
{
    bool shared = false;
    for (int a = 0; a < body->access_count && body->space_rank > 1; a++)
        for (int b = 0; b < a; b++)
            shared |= are_rows(body, a, b, body->space_rank - 2);
    return shared;
}

/* The size of a group along dimension 0. Groups of bodies whose rows share elements are flat squares, so that fewer
 * elements are read by several groups. */
static int wide_of(const dcli_body *body) { return shares_rows(body) ? NEAR_WIDE : GROUP; }

/* Emit the body for `steps` indices at a distance of GROUP, in a loop of constant length: the compiler issues the
 * reads of all steps at once. */
static void emit_steps(dcli_nest *nest, int steps, bool usual)
{
    int v = nest->innermost;
    dcli_text_put(nest->out,
                  "#pragma unroll\n    for (int dcl_k = 0; dcl_k < %d; dcl_k++) {\n"
                  "    const long dcl_t%d = dcl_q + dcl_k * %d;\n",
                  steps, v, GROUP);
    dcli_nest_index(nest, v);
    (usual ? dcli_emit_usual_text : dcli_emit_text)(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n");
}

/* Emit dcl_usual, for a body with guards: whether a work-item has EACH indices, and all guards have their usual
 * values at these. */
static void emit_usual_test(dcli_nest *nest)
{
    int v = nest->innermost;
    dcli_text_put(nest->out,
                  "    bool dcl_usual = dcl_g == %d && dcl_q + %d < dcl_n%d;\n#pragma unroll\n"
                  "    for (int dcl_k = 0; dcl_k < %d; dcl_k++) {\n    const long dcl_t%d = dcl_q + dcl_k * %d;\n",
                  EACH * GROUP, (EACH - 1) * GROUP, v, EACH, v, GROUP);
    dcli_nest_index(nest, v);
    dcli_text_put(nest->out, "    dcl_usual = dcl_usual && ");
    dcli_emit_guards_test(nest->out, nest->body);
    dcli_text_put(nest->out, ";\n    }\n    if (dcl_usual) {\n");
}

/* Emit the code for EACH indices per work-item, or for one if the launch has enough work-items. A work-item that
 * has EACH indices, in a group of the usual width, takes a loop of constant length without conditions. If the body
 * has guards, it takes that loop only if the guards have their usual values at its indices: a read under a condition
 * is not issued before the condition is known. Work-items at the end of a row, which have up to EACH indices, take a
 * shorter loop of this kind if there are no guards; an H200 is 0.5 % faster with these loops, even where no work-item
 * takes them. Those with one index, and other groups, take the last loop, which is not unrolled: unrolled, its
 * registers are those of the whole kernel. */
static void emit_indices(dcli_nest *nest)
{
    int v = nest->innermost;
    dcli_text_put(
        nest->out,
        "    const long dcl_w = get_local_size(0), dcl_g = dcl_n%d <= get_global_size(0) ? dcl_w : dcl_w * %d;\n"
        "    const long dcl_o = get_group_id(0) * dcl_g, dcl_q = dcl_o + get_local_id(0);\n"
        "    const long dcl_end = dcl_min(dcl_n%d, dcl_o + dcl_g);\n",
        v, EACH, v);
    bool unrolled = nest->variant == DCLI_VARIANT_UNIT, guarded = nest->body->inside->guard_count > 0;
    if (unrolled && guarded) {
        emit_usual_test(nest);
        emit_steps(nest, EACH, true);
        dcli_text_put(nest->out, "    } else ");
    }
    for (int steps = EACH; unrolled && !guarded && steps > 1; steps--) {
        dcli_text_put(nest->out, "    if (dcl_g == %d && dcl_q + %d < dcl_n%d) {\n", EACH * GROUP, (steps - 1) * GROUP,
                      v);
        emit_steps(nest, steps, false);
        dcli_text_put(nest->out, "    } else ");
    }
    if (unrolled)
        dcli_text_put(nest->out, "{\n#pragma unroll 1\n");
    dcli_text_put(nest->out, "    for (long dcl_t%d = dcl_q; dcl_t%d < dcl_end; dcl_t%d += dcl_w) {\n", v, v, v);
    dcli_nest_index(nest, v);
    dcli_emit_statements(nest->out, nest->body);
    dcli_text_put(nest->out, unrolled ? "    }\n    }\n" : "    }\n");
}

/* Emit the code for several indices per work-item of a body with conditions that are no guards. A loop of constant
 * length would only take registers. */
static void emit_conditional(dcli_nest *nest)
{
    int v = nest->innermost;
    dcli_text_put(nest->out,
                  "    for (long dcl_t%d = get_global_id(0); dcl_t%d < dcl_n%d; dcl_t%d += get_global_size(0)) {\n", v,
                  v, v, v);
    dcli_nest_index(nest, v);
    dcli_emit_statements(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n");
}

/* Emit a kernel without squares. A work-group covers as many indices of the innermost axis as it is wide, one per
 * work-item; or EACH times as many, and each work-item computes indices at the distance of that width. */
static void emit_plain(dcli_nest *nest)
{
    int v = nest->innermost, u = v - 1;
    if (v > 0) {
        open_outer(nest, u, "get_global_size(1)");
        dcli_text_put(nest->out, "    const long dcl_t%d = dcl_part * dcl_span + get_global_id(1);\n", u);
        dcli_text_put(nest->out, "    if (dcl_t%d < dcl_n%d) {\n", u, u);
        dcli_nest_index(nest, u);
        dcli_nest_advance(nest, u);
    }
    bool narrowed = dcli_nest_narrow(nest, v, 0, v);
    emit_elements(nest, false);
    if (is_single(nest->body)) {
        dcli_text_put(nest->out, "    const long dcl_t%d = get_global_id(0);\n    if (dcl_t%d < dcl_n%d) {\n", v, v, v);
        dcli_nest_index(nest, v);
        dcli_emit_statements(nest->out, nest->body);
        dcli_text_put(nest->out, "    }\n");
    } else if (narrowed || (nest->body->inside->has_condition && nest->body->inside->guard_count == 0)) {
        emit_conditional(nest);
    } else {
        emit_indices(nest);
    }
    dcli_text_put(nest->out, narrowed ? "    }\n" : "");
    dcli_text_put(nest->out, v > 0 ? "    }\n    }\n" : "");
}

/* The block that a work-item computes in a large launch: `lines` neighbouring lines of `columns` elements each,
 * which are `wide` elements apart. lines 0: work-items compute no blocks. */
struct block {
    int lines, columns, wide;
    bool swept; /* the block is a sweep: kernel/sweep.h */
};

static struct block block_of(const dcli_body *body, dcli_variant variant)
{
    if (variant != DCLI_VARIANT_UNIT && variant != DCLI_VARIANT_ONE)
        return (struct block){0};
    if (dcli_sweeps_on_gpus(body))
        return (struct block){DCLI_GPU_LINES, DCLI_GPU_COLUMNS, NEAR_WIDE, true};
    if (!shares_rows(body) || is_single(body) || body->slanted ||
        (body->inside->has_condition && body->inside->guard_count == 0))
        return (struct block){0};
    int widest = 4;
    for (int a = 0; a < body->access_count; a++)
        widest = dcli_max(widest, (int)dcl_type_bytes(body->params[body->access[a].param].type));
    return (struct block){body->space_rank > 2 ? FEW_LINES : BLOCK_LINES, BLOCK_BYTES / widest, NEAR_WIDE, false};
}

/* Begin the loops over a block's elements. Compilers unroll them, and so issue the reads of all elements at once.
 * @param apart  an expression: the distance between elements of a line.
 * @param corners  only over the elements at the corners. */
static void open_block(dcli_nest *nest, const struct block *block, const char *apart, bool corners)
{
    int v = nest->innermost, u = v - 1, across = corners ? dcli_max(block->columns - 1, 1) : 1;
    int down = corners ? dcli_max(block->lines - 1, 1) : 1;
    dcli_text_put(
        nest->out,
        "#pragma unroll\n    for (int dcl_k = 0; dcl_k < %d; dcl_k += %d) {\n"
        "    const long dcl_t%d = dcl_v + dcl_k * %s;\n"
        "#pragma unroll\n    for (int dcl_l = 0; dcl_l < %d; dcl_l += %d) {\n    const long dcl_t%d = dcl_u + dcl_l;\n",
        block->columns, across, v, apart, block->lines, down, u);
    dcli_nest_index(nest, v);
    dcli_nest_index(nest, u);
}

/* Emit the statements of a block at all of whose elements the guards have their usual values. Reads of different
 * lines are written so that compilers see which elements they share. */
static void emit_block(const dcli_nest *nest, const struct block *block)
{
    dcli_nest line = *nest;
    char apart[16];
    snprintf(apart, sizeof apart, "%d", block->wide);
    open_block(&line, block, apart, false);
    dcli_nest_advance(&line, line.innermost - 1);
    emit_elements(&line, false);
    dcli_emit_followers(&line);
    dcli_emit_usual_text(line.out, line.body);
    dcli_emit_elements_end(line.out, line.body);
    dcli_text_put(line.out, "    }\n    }\n");
}

/* emit_block() for lines that are vectors. */
static void emit_vector_block(const dcli_nest *nest, const struct block *block, const dcli_vectors *vectors)
{
    dcli_nest line = *nest;
    int v = line.innermost, u = v - 1;
    dcli_text_put(line.out,
                  "#pragma unroll\n    for (int dcl_l = 0; dcl_l < %d; dcl_l++) {\n"
                  "    const long dcl_t%d = dcl_u + dcl_l, dcl_t%d = dcl_v;\n",
                  block->lines, u, v);
    dcli_nest_index(&line, u);
    dcli_nest_advance(&line, u);
    emit_elements(&line, false);
    dcli_emit_followers(&line);
    dcli_emit_vectors(&line, vectors);
    dcli_text_put(line.out,
                  "#pragma unroll\n    for (int dcl_k = 0; dcl_k < %d; dcl_k++) {\n"
                  "    const long dcl_t%d = dcl_v + dcl_k;\n",
                  block->columns, v);
    dcli_nest_index(&line, v);
    dcli_emit_usual_text(line.out, line.body);
    dcli_text_put(line.out, "    }\n");
    dcli_emit_vectors_end(&line, vectors);
    dcli_emit_elements_end(line.out, line.body);
    dcli_text_put(line.out, "    }\n");
}

/* Emit the counters dcl_u and dcl_v at which a work-item's block begins, and dcl_apart, the distance between
 * elements of a line. Vectors begin at multiples of their size. So if a row does not, its first block begins before
 * the row. */
static void emit_block_begin(dcli_nest *nest, const struct block *block, const dcli_vectors *vectors)
{
    dcli_text *out = nest->out;
    dcli_text_put(out, "    const long dcl_u = dcl_part * dcl_span + get_global_id(1) * dcl_lines;\n"
                       "    const long dcl_o = get_group_id(0) * get_local_size(0) * dcl_columns;\n");
    if (vectors->length == 0) {
        dcli_text_put(out, "    const long dcl_apart = get_local_size(0), dcl_v = dcl_o + get_local_id(0);\n");
        return;
    }
    dcli_text_put(out, "    const bool dcl_vectors = dcl_large");
    dcli_emit_vectors_test(nest, vectors);
    dcli_text_put(out,
                  ";\n    const long dcl_apart = dcl_vectors ? 1 : get_local_size(0);\n"
                  "    const long dcl_v = dcl_o + (dcl_vectors ? (long)get_local_id(0) * %d - ",
                  block->columns);
    dcli_emit_vectors_shift(nest, vectors);
    dcli_text_put(out, " : (long)get_local_id(0));\n");
}

/* Emit dcl_whole: whether a work-item computes its block as a whole. The guards of all elements are tested first,
 * because a read under a condition is not issued before the condition is known. */
static void emit_whole_test(dcli_nest *nest, const struct block *block)
{
    int v = nest->innermost, u = v - 1;
    dcli_text_put(
        nest->out,
        "    bool dcl_whole = dcl_large && dcl_u + %d <= dcl_n%d && dcl_v >= 0 && dcl_v + %d * dcl_apart < dcl_n%d",
        block->lines, u, block->columns - 1, v);
    if (!block->swept)
        dcli_emit_followers_test(nest);
    dcli_text_put(nest->out, ";\n");
    if (nest->body->inside->guard_count == 0)
        return;
    open_block(nest, block, "dcl_apart", dcli_guards_are_convex(nest->body));
    dcli_text_put(nest->out, "    dcl_whole = dcl_whole && ");
    dcli_emit_guards_test(nest->out, nest->body);
    dcli_text_put(nest->out, ";\n    }\n    }\n");
}

/* Emit a kernel in which a work-item computes a block if the launch is large enough, otherwise one element. Blocks
 * that reach beyond an axis, or at which some guard does not have its usual value, are computed element by element,
 * in a loop that is not unrolled: the registers of an unrolled one would be those of the whole kernel. */
static void emit_blocks(dcli_nest *nest, const struct block *block)
{
    dcli_text *out = nest->out;
    int v = nest->innermost, u = v - 1;
    dcli_text_put(out,
                  "    const bool dcl_large = dcl_n%d > get_global_size(0);\n"
                  "    const long dcl_lines = dcl_large ? %d : 1, dcl_columns = dcl_large ? %d : 1;\n",
                  v, block->lines, block->columns);
    open_outer(nest, u, "get_global_size(1) * dcl_lines");
    dcli_vectors vectors = block->swept ? (dcli_vectors){0} : dcli_vectors_find(nest->body, block->columns);
    emit_block_begin(nest, block, &vectors);
    emit_whole_test(nest, block);
    if (vectors.length > 0) {
        dcli_text_put(out, "    if (dcl_whole && dcl_vectors) {\n");
        emit_vector_block(nest, block, &vectors);
        dcli_text_put(out, "    } else ");
    }
    dcli_text_put(out, "    if (dcl_whole) {\n");
    if (block->swept) {
        dcli_nest line = *nest;
        dcli_text_put(out, "    const long dcl_t%d = dcl_u;\n", u);
        dcli_nest_advance(&line, u);
        dcli_emit_gpu_sweep(&line, block->wide);
    } else {
        emit_block(nest, block);
    }
    dcli_text_put(out,
                  "    } else {\n#pragma unroll 1\n"
                  "    for (long dcl_t%d = dcl_u; dcl_t%d < dcl_min(dcl_n%d, dcl_u + dcl_lines); dcl_t%d++) {\n",
                  u, u, u, u);
    dcli_nest_index(nest, u);
    dcli_nest_advance(nest, u);
    emit_elements(nest, false);
    dcli_text_put(out,
                  "#pragma unroll 1\n    for (long dcl_t%d = dcl_v > 0 ? dcl_v : 0, dcl_k = dcl_t%d - dcl_v; dcl_k < "
                  "dcl_columns && "
                  "dcl_t%d < dcl_n%d; dcl_k++, dcl_t%d += dcl_apart) {\n",
                  v, v, v, v, v);
    dcli_nest_index(nest, v);
    dcli_emit_statements(out, nest->body);
    dcli_text_put(out, "    }\n    }\n    }\n    }\n");
}

/* Open the loop over the rows of a square that a work-item handles; it has a constant number of steps. */
static void open_square(dcli_nest *nest)
{
    dcli_text_put(nest->out,
                  "#pragma unroll\n    for (int dcl_k = 0; dcl_k < %d; dcl_k += %d) {\n"
                  "    const int dcl_q = dcl_k + get_local_id(1);\n",
                  SQUARE, SQUARE_ROWS);
}

static void load_squares(dcli_nest *nest, int u)
{
    int v = nest->innermost;
    open_square(nest);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + dcl_q, dcl_t%d = dcl_u + get_local_id(0);\n", v, u);
    dcli_text_put(nest->out, "    if (dcl_t%d < dcl_n%d && dcl_t%d < dcl_n%d) {\n", v, v, u, u);
    for (int a = 0; a < nest->body->access_count; a++)
        if (dcli_is_transposed(nest->body, a))
            dcli_text_put(nest->out,
                          "    dcl_b%d[dcl_q][get_local_id(0)] = dcl_p%d[dcl_x%d_%d + dcl_t%d + dcl_t%d * "
                          "dcl_s%d_%d];\n",
                          a, a, a, nest->level[a], u, v, a, v);
    dcli_text_put(nest->out, "    }\n    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n");
}

static void use_squares(dcli_nest *nest, int u)
{
    int v = nest->innermost;
    open_square(nest);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + get_local_id(0), dcl_t%d = dcl_u + dcl_q;\n", v, u);
    dcli_text_put(nest->out, "    if (dcl_t%d < dcl_n%d && dcl_t%d < dcl_n%d) {\n", v, v, u, u);
    dcli_nest_index(nest, u);
    dcli_nest_index(nest, v);
    dcli_nest_advance(nest, u);
    emit_elements(nest, true);
    dcli_emit_statements(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n");
}

/* Emit a kernel that transposes inputs by squares. All work-items of a group have the same square, so all of them reach
 * the barriers. dcli_row_is_unit() ensures that dimension 1 covers the axis across. */
static void emit_squares(dcli_nest *nest, int u)
{
    const dcli_body *body = nest->body;
    for (int a = 0; a < body->access_count; a++)
        if (dcli_is_transposed(body, a))
            dcli_text_put(nest->out, "    __local %s dcl_b%d[%d][%d];\n",
                          dcli_kernel_type(body->params[body->access[a].param].type), a, SQUARE, SQUARE + 1);
    open_outer(nest, u, NULL);
    dcli_text_put(nest->out,
                  "    const long dcl_u = get_group_id(1) * %d;\n"
                  "    const long dcl_v = get_group_id(0) * %d;\n",
                  SQUARE, SQUARE);
    load_squares(nest, u);
    use_squares(nest, u);
    dcli_text_put(nest->out, "    }\n");
}

static int square_axis(const dcli_body *body, dcli_variant variant)
{
    return variant == DCLI_VARIANT_UNIT ? dcli_transposed_axis(body) : -1;
}

bool dcli_body_has_one(const dcli_body *body) { return body->result_count == 0 && dcli_transposed_axis(body) < 0; }

bool dcli_body_may_mix(const dcli_body *body, int a)
{
    return !body->access[a].written && body->access[a].reach == DCLI_REACH_AFFINE;
}

bool dcli_body_mixes(const dcli_body *body)
{
    bool any = false;
    for (int a = 0; a < body->access_count; a++)
        any |= dcli_body_may_mix(body, a);
    return any && !body->tile_kernel && body->result_count == 0 && !body->slanted && !dcli_chain_is_blocked(body);
}

/* Emit how a work-item finds its row in the table: its number dcl_number, its own numbers dcl_f. Groups with
 * barriers have no surplus work-items. */
static void find_row(dcli_text *out, bool barriers, int count)
{
    dcli_text_put(out, "    const uint dcl_number = (uint)get_global_id(2) / dcl_each;\n");
    if (!barriers)
        dcli_text_put(out, "    if (dcl_number >= dcl_rows)\n        return;\n");
    dcli_text_put(out, "    __global const long *const dcl_f = dcl_table + ((ulong)dcl_first + dcl_number) * %d;\n",
                  count);
}

/* Emit a work-item's row: its own numbers, as dcl_o<index in the row>, and where in dimension 2 the work-item begins
 * and how far its next step is. In dcl_one the row is an argument; if there is a dcl_one, dcl_unit reads own numbers
 * from the table only; other kernels can do either. */
static void open_row(dcli_text *out, const dcli_body *body, dcli_variant variant, bool barriers)
{
    int at[dcli_row_length(body)], count = dcli_row_own(body, at);
    bool table = variant == DCLI_VARIANT_MIXED || (variant == DCLI_VARIANT_UNIT && dcli_body_has_one(body));
    bool either = !table && variant != DCLI_VARIANT_ONE;
    if (table)
        find_row(out, barriers, count);
    for (int n = 0; n < count; n++)
        dcli_text_put(out, table ? "    const long dcl_o%d = dcl_f[%d];\n" : "    long dcl_o%d = dcl_r.dcl_v[%d];\n",
                      at[n], table ? n : at[n]);
    dcli_text_put(out, table ? "    const long dcl_begin = get_global_id(2) - (long)dcl_number * dcl_each;\n"
                               "    const long dcl_turn = dcl_each;\n"
                             : "    long dcl_begin = get_global_id(2), dcl_turn = get_global_size(2);\n");
    if (!either)
        return;
    dcli_text_put(out, "    if (dcl_each > 0) {\n");
    find_row(out, barriers, count);
    dcli_text_put(out, "    dcl_begin -= (long)dcl_number * dcl_each;\n    dcl_turn = dcl_each;\n");
    for (int n = 0; n < count; n++)
        dcli_text_put(out, "    dcl_o%d = dcl_f[%d];\n", at[n], n);
    dcli_text_put(out, "    }\n");
}

/* Whether a kernel computes a contraction in blocks, without checks. */
static bool is_blocked(const dcli_body *body, dcli_variant variant)
{
    return (variant == DCLI_VARIANT_UNIT || variant == DCLI_VARIANT_ANY) && dcli_chain_is_blocked(body);
}

/* The type of an access as a kernel argument. */
static const char *type_of(const dcli_body *body, int a)
{
    return dcli_kernel_type(body->params[body->access[a].param].type);
}

/* The signature of dcl_mixed: accesses that rows find in different memories have two arguments. */
static void emit_mixed_signature(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "__kernel void %s(", dcli_variant_kernel(DCLI_FORM_GPU, DCLI_VARIANT_MIXED));
    for (int a = 0; a < body->access_count; a++)
        dcli_text_put(out, "__global %s%s *restrict dcl_%s%d, ", body->access[a].written ? "" : "const ",
                      type_of(body, a), dcli_body_may_mix(body, a) ? "here" : "p", a);
    for (int a = 0; a < body->access_count; a++)
        if (dcli_body_may_mix(body, a))
            dcli_text_put(out, "__global const %s *restrict dcl_there%d, ", type_of(body, a), a);
    for (int p = 0; p < body->param_count; p++)
        if (body->params[p].access == DCL_ACCESS_VALUE)
            dcli_text_put(out, "const %s %s, ", dcli_kernel_type(body->params[p].type), body->params[p].name);
}

/* In dcl_mixed, choose the memory of each access by the number of the row. */
static void emit_mixed_choice(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "    const bool dcl_there = ((dcl_first + dcl_number) & 1) != 0;\n");
    for (int a = 0; a < body->access_count; a++)
        if (dcli_body_may_mix(body, a))
            dcli_text_put(out, "    __global const %s *const dcl_p%d = dcl_there ? dcl_there%d : dcl_here%d;\n",
                          type_of(body, a), a, a, a);
}

static void emit_kernel(dcli_text *out, const dcli_body *body, dcli_variant variant)
{
    if (is_blocked(body, variant)) {
        dcli_emit_chain_kernel(out, body, variant);
        return;
    }
    if (body->result_count > 0) {
        (body->keyed   ? dcli_emit_keyed_kernel
         : body->along ? dcli_emit_along_kernel
                       : dcli_emit_reducing_kernel)(out, body, variant);
        return;
    }
    bool one = variant == DCLI_VARIANT_ONE, mixed = variant == DCLI_VARIANT_MIXED;
    dcli_nest nest = dcli_nest_start(out, body, DCLI_FORM_GPU, one || mixed ? DCLI_VARIANT_UNIT : variant);
    int u = square_axis(body, nest.variant);
    struct block block = block_of(body, nest.variant);
    if (u >= 0)
        dcli_text_put(out, "__attribute__((reqd_work_group_size(%d, %d, 1)))\n", SQUARE, SQUARE_ROWS);
    if (mixed)
        emit_mixed_signature(out, body);
    else
        dcli_emit_signature(out, body, DCLI_FORM_GPU, variant);
    dcli_text_put(out, "const dcl_row dcl_r, %s__global long *dcl_report)\n{\n",
                  one ? ""
                      : "__global const long *restrict dcl_table, const uint dcl_first, const uint dcl_rows, "
                        "const uint dcl_each, ");
    open_row(out, body, variant, u >= 0);
    if (mixed)
        emit_mixed_choice(out, body);
    dcli_nest_row(&nest);
    if (u >= 0)
        emit_squares(&nest, u);
    else if (block.lines > 0)
        emit_blocks(&nest, &block);
    else
        emit_plain(&nest);
    dcli_text_put(out, "}\n");
}

void dcli_emit_gpu(dcli_text *out, const dcli_body *body, dcli_variant checked, bool mixed)
{
    dcli_text_put(out, "#define DCL_UNROLL\ntypedef struct { long dcl_v[%d]; } dcl_row;\n", dcli_row_length(body));
    dcli_text_put(out, "%s", body->slanted ? dcli_cl_bound : "");
    if (body->result_count > 0)
        dcli_emit_reducing_functions(out, body);
    emit_kernel(out, body, DCLI_VARIANT_UNIT);
    emit_kernel(out, body, DCLI_VARIANT_ANY);
    emit_kernel(out, body, checked);
    if (checked != DCLI_VARIANT_WATCHED && dcli_body_has_one(body))
        emit_kernel(out, body, DCLI_VARIANT_ONE);
    if (mixed)
        emit_kernel(out, body, DCLI_VARIANT_MIXED);
}

static int64_t groups_for(int64_t count, int64_t per_group) { return count > 0 ? (count - 1) / per_group + 1 : 1; }

/* The size of dimension 2: the parts of axis `second` times all axes except that and the innermost. If it exceeds
 * MOST_GROUPS, the kernel loops. */
static int64_t outer_groups(const dcli_body *body, const int64_t count[], int second, int64_t parts)
{
    int64_t outer = dcli_min(parts, MOST_GROUPS);
    for (int m = 0; m < body->space_rank - 1; m++)
        if (m != second)
            outer = dcli_min(outer * dcli_min(dcli_max(count[m], 1), MOST_GROUPS), MOST_GROUPS);
    return outer;
}

/* Whether a launch has enough indices for work-items that compute several of them. */
static bool is_large(const dcli_body *body, const int64_t count[], int64_t rows)
{
    int64_t indices = rows;
    for (int m = 0; m < body->space_rank && indices < MANY; m++)
        indices = dcli_min(indices, MANY) * dcli_min(dcli_max(count[m], 1), MANY);
    return indices >= MANY;
}

/* How many indices of the innermost axis a work-item computes: EACH, but 1 if the body has a loop or the launch is
 * small. */
static int64_t indices_each(const dcli_body *body, const int64_t count[], int64_t rows)
{
    return !is_single(body) && is_large(body, count, rows) ? EACH : 1;
}

/* How many groups, whose work-items compute blocks, cover the innermost axis. If blocks are vectors, the first may
 * begin before the axis. */
static int64_t groups_across(const struct block *block, int64_t count)
{
    return groups_for(count + (block->swept ? 0 : block->columns - 1), block->wide * block->columns);
}

/* Whether work-items of a launch compute blocks. They derive this from the size of the launch along dimension 0,
 * which is then less than the extent of the axis. */
static bool computes_blocks(const dcli_body *body, const struct block *block, const int64_t count[], int64_t rows)
{
    int v = body->space_rank - 1;
    return block->lines > 0 && is_large(body, count, rows) && groups_across(block, count[v]) * block->wide < count[v];
}

/* The size of a launch of one row.
 * @param rows  number of rows of this shape; if they have few indices together, each work-item computes one.
 * @param block  of block_of(). */
static dcli_launch_size size_of_row(const dcli_body *body, int square, const int64_t count[], int64_t rows,
                                    const struct block *block)
{
    int v = body->space_rank - 1, u = square >= 0 ? square : v - 1;
    /* Indices that a group covers along dimensions 0 and 1. */
    int64_t wide = SQUARE, high = SQUARE_ROWS, across = SQUARE, down = SQUARE;
    bool blocks = square < 0 && computes_blocks(body, block, count, rows);
    if (blocks) {
        wide = block->wide;
        high = GROUP / wide;
        across = wide * block->columns;
        down = high * block->lines;
    } else if (square < 0) {
        int64_t each = block->lines > 0 ? 1 : indices_each(body, count, rows);
        for (wide = wide_of(body); v > 0 && wide > 1 && wide / 2 * (wide > WARP ? each : 1) >= count[v];)
            wide /= 2; /* as wide as the rows are long, but whole warps if possible */
        high = v > 0 ? GROUP / wide : 1;
        across = wide * each;
        down = high;
    }
    int64_t groups_0 = blocks ? groups_across(block, count[v]) : groups_for(count[v], across);
    int64_t groups = v > 0 ? groups_for(count[u], down) : 1, groups_1 = dcli_min(groups, MOST_GROUPS);
    int64_t outer = v > 0 ? outer_groups(body, count, u, groups_for(groups, groups_1)) : 1;
    return (dcli_launch_size){
        .dimensions = v > 0 ? 3 : 1,
        .global = {(size_t)(dcli_min(groups_0, MOST_GROUPS_0) * wide), (size_t)(groups_1 * high), (size_t)outer},
        .local = {(size_t)wide, (size_t)high, 1},
        .rows = 1};
}

/* If one group is enough for a row and rows are small, let a group compute several of them, along dimension 2. */
static void fold_rows(const dcli_body *body, const int64_t count[], int64_t rows, dcli_launch_size *size)
{
    int v = body->space_rank - 1;
    if (size->global[0] > size->local[0] || size->global[1] > size->local[1] || size->global[2] > 1)
        return;
    while (v == 0 && size->local[0] > 1 && (int64_t)size->local[0] / 2 >= count[0])
        size->global[0] = size->local[0] /= 2;
    while (v > 0 && size->local[1] > 1 && (int64_t)size->local[1] / 2 >= count[v - 1])
        size->global[1] = size->local[1] /= 2;
    while (size->local[2] < MOST_DEEP && size->local[0] * size->local[1] * size->local[2] < GROUP &&
           (int64_t)size->local[2] < rows)
        size->local[2] *= 2;
}

dcli_launch_size dcli_body_launch_size(const dcli_body *body, dcli_variant variant, const int64_t count[], int64_t rows,
                                       bool in_table)
{
    if (is_blocked(body, variant))
        return dcli_chain_launch_size(body, count, rows, in_table);
    if (body->result_count > 0)
        return (body->along ? dcli_along_launch_size : dcli_reducing_launch_size)(body, count, rows, in_table);
    int square = square_axis(body, variant);
    struct block block = block_of(body, variant);
    dcli_launch_size size = size_of_row(body, square, count, rows, &block);
    if (!in_table)
        return size;
    if (square < 0)
        fold_rows(body, count, rows, &size);
    int64_t deep = (int64_t)size.local[2], each = (int64_t)size.global[2];
    size.rows = dcli_min(rows, MOST_GROUPS * deep / each);
    size.each = (uint32_t)each;
    size.dimensions = 3;
    size.global[2] = (size_t)(groups_for(size.rows * each, deep) * deep);
    return size;
}
