/* kernel/source_kept.c - generates, for CPUs, keyed reductions whose keys are indices: reductions along axes that are
 * computed where an input is stored (runtime/at_input.c).
 *
 * A work-item reduces its box before it changes the node's partial results. If the innermost index is reduced, one
 * element of the results after the other is reduced in variables, as by the kernels of reductions along axes. If
 * that index is kept, up to BLOCK neighbouring elements are reduced at once in a table, by loops that compilers
 * vectorize. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/inside.h"
#include "kernel/keyed.h"
#include "kernel/names.h"
#include "kernel/nest.h"

enum { BLOCK = 1024 }; /* elements; their table of slots, 24 KB, stays in the first-level cache */

static dcl_type type_of(const dcli_body *body, int r) { return body->params[body->result[r].param].type; }

static int rank_of(const dcli_body *body, int r) { return body->params[body->result[r].param].rank; }

static bool is_sum(const dcli_body *body, int r) { return dcli_keyed_longs(body, r) > 1; }

static bool is_kept(const dcli_body *body, int m)
{
    return (dcli_keyed_reduced(body, 0) >> body->index_of_axis[m] & 1) == 0;
}

bool dcli_keyed_folds(const dcli_body *body)
{
    if (!body->keyed || body->slanted || body->over != NULL || !dcli_keyed_is_along(body) ||
        !dcli_keyed_adds_once(body) || dcli_transposed_axis(body) >= 0 || strstr(body->text, "printf") != NULL ||
        strstr(body->prelude, "printf") != NULL)
        return false;
    for (int r = 1; r < body->result_count; r++)
        if (dcli_keyed_reduced(body, r) != dcli_keyed_reduced(body, 0))
            return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    return true;
}

bool dcli_keyed_folds_blocks(const dcli_body *body)
{
    return dcli_keyed_folds(body) && is_kept(body, body->space_rank - 1);
}

dcli_body *dcli_keyed_as_along(const dcli_body *body)
{
    dcli_body *along = dcli_malloc(sizeof *along);
    if (along == NULL)
        return NULL;
    *along = *body;
    along->keyed = false;
    along->along = true;
    return along;
}

/* Emit the keys of a result, the first parameters of a macro: `k0, k1, `. */
static void put_keys(dcli_text *out, int rank)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "k%d, ", d);
}

/* What dcl_into<r> does in a loop over a block: note in dcl_fits whether all values fit into their slots, add values
 * that fit, or add any. */
enum { FITTING, ADDING, ANY };

/* Define dcl_into<r>, which the statements of the text call, for loops over a block. */
static void put_block_calls(dcli_text *out, const dcli_body *body, int what)
{
    for (int r = 0; r < body->result_count; r++) {
        const char *name = dcli_kernel_type(type_of(body, r));
        dcli_text_put(out, "#undef dcl_into%d\n#define dcl_into%d(", r, r);
        put_keys(out, rank_of(body, r));
        if (!is_sum(body, r) && what == FITTING)
            dcli_text_put(out, "x) (void)(x)\n");
        else if (!is_sum(body, r))
            dcli_text_put(out, "x) dcl_put_%d(true, dcl_own%d, dcl_out%d, (ulong)dcl_k, (%s)(x))\n", r, r, r, name);
        else if (what == FITTING)
            dcli_text_put(out, "x) dcl_fits &= dcl_slot_takes(dcl_own%d, (ulong)dcl_k, (%s)(x))\n", r, name);
        else if (what == ADDING)
            dcli_text_put(out, "x) dcl_slot_add(dcl_own%d, (ulong)dcl_k, (%s)(x))\n", r, name);
        else
            dcli_text_put(out,
                          "x) dcl_slot_any(dcl_own%d, (ulong)dcl_k, dcl_out%d + 6 * (dcl_at%d + dcl_k * dcl_by%d), "
                          "(%s)(x))\n",
                          r, r, r, r, name);
    }
}

/* Define dcl_into<r> for loops that reduce in variables. */
static void put_line_calls(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++) {
        dcli_fold fold = body->result[r].fold;
        dcli_text_put(out, "#undef dcl_into%d\n#define dcl_into%d(", r, r);
        put_keys(out, rank_of(body, r));
        if (fold == DCLI_FOLD_MIN || fold == DCLI_FOLD_MAX)
            dcli_text_put(out, "x) (dcl_r%d = dcl_%s_%s(dcl_r%d, (x)))\n", r, fold == DCLI_FOLD_MIN ? "least" : "most",
                          dcli_kernel_type(type_of(body, r)), r);
        else
            dcli_text_put(out, "x) (dcl_r%d %s= (x))\n", r, dcli_fold_sign(fold));
    }
}

/* Emit dcl_at<r>, the number of an element of result r: in a block, of its first one, and dcl_by<r>, the distance of
 * the next one. Also emit dcl_inside: whether elements with these keys exist. The library has checked that before, so
 * if they do not, nothing is done. */
static void put_numbers(dcli_nest *nest, bool block)
{
    const dcli_body *body = nest->body;
    int v = nest->innermost;
    if (block)
        dcli_text_put(nest->out, "    const long %s = dcl_i%d + dcl_v * dcl_d%d;\n",
                      dcli_index_name(body->index_of_axis[v]), v, v);
    dcli_text_put(nest->out, "    bool dcl_inside = true;\n");
    for (int r = 0; r < body->result_count; r++) {
        int kept[DCL_MAX_RANK], rank = rank_of(body, r);
        dcli_keyed_axes(body, r, kept);
        for (int d = 0; d < rank; d++) {
            bool runs = block && kept[d] == body->index_of_axis[v];
            dcli_text_put(nest->out, "    dcl_inside &= %s >= dcl_low%d_%d && %s - dcl_low%d_%d < dcl_extent%d_%d;\n",
                          dcli_index_name(kept[d]), r, d, dcli_index_name(kept[d]), r, d, r, d);
            if (runs)
                dcli_text_put(nest->out,
                              "    dcl_inside &= %s + (dcl_m - 1) * dcl_d%d - dcl_low%d_%d < dcl_extent%d_%d;\n"
                              "    const long dcl_by%d = dcl_d%d",
                              dcli_index_name(kept[d]), v, r, d, r, d, r, v);
            for (int after = d + 1; after < rank && runs; after++)
                dcli_text_put(nest->out, " * dcl_extent%d_%d", r, after);
            dcli_text_put(nest->out, "%s", runs ? ";\n" : "");
        }
        dcli_text_put(nest->out, "    const long dcl_at%d = ", r);
        for (int d = 1; d < rank; d++)
            dcli_text_put(nest->out, "(");
        for (int d = 0; d < rank; d++)
            if (d == 0)
                dcli_text_put(nest->out, "(%s - dcl_low%d_0)", dcli_index_name(kept[d]), r);
            else
                dcli_text_put(nest->out, " * dcl_extent%d_%d + (%s - dcl_low%d_%d))", r, d, dcli_index_name(kept[d]), r,
                              d);
        dcli_text_put(nest->out, ";\n");
    }
}

/* Begin loops over all axes that are kept, or over all that are reduced, except the innermost axis. @return number of
 * loops. */
static int open_loops(dcli_nest *nest, bool kept)
{
    int count = 0;
    for (int m = 0; m < nest->innermost; m++)
        if (is_kept(nest->body, m) == kept) {
            dcli_emit_loop(nest, m);
            count++;
        }
    return count;
}

static void close_loops(dcli_nest *nest, int count)
{
    for (int n = 0; n < count; n++)
        dcli_text_put(nest->out, "    }\n");
}

static void put_loop(dcli_nest *nest, int what, const char *pragma)
{
    put_block_calls(nest->out, nest->body, what);
    dcli_text_put(nest->out,
                  "%s    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n    const long dcl_t%d = dcl_v + dcl_k;\n",
                  pragma, nest->innermost);
    dcli_nest_index(nest, nest->innermost);
    dcli_emit_text(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n");
}

/* Emit the code that empties a block's table. */
static void put_clear(dcli_nest *nest)
{
    for (int r = 0; r < nest->body->result_count; r++)
        dcli_text_put(nest->out,
                      is_sum(nest->body, r) ? "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)\n"
                                              "        dcl_slot_clear(dcl_own%d, (ulong)dcl_k);\n"
                                            : "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)\n"
                                              "        dcl_own%d[dcl_k] = 0;\n",
                      r);
}

/* Emit the code that adds a block's table to the node's partial results: sums only, or all results. */
static void put_share(dcli_nest *nest, bool sums_only)
{
    for (int r = 0; r < nest->body->result_count; r++)
        if (is_sum(nest->body, r))
            dcli_text_put(
                nest->out,
                "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)\n"
                "        dcl_slot_share(dcl_own%d, (ulong)dcl_k, dcl_out%d + 6 * (dcl_at%d + dcl_k * dcl_by%d));\n",
                r, r, r, r);
        else if (!sums_only)
            dcli_text_put(nest->out,
                          "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++)\n"
                          "        dcl_share_at_%d(dcl_out%d + dcl_at%d + dcl_k * dcl_by%d, dcl_own%d[dcl_k]);\n",
                          r, r, r, r, r);
}

/* Emit the code that fetches the block's part of the next line of each input into the second-level cache. Lines are far
 * apart, and of each a block has 4 KB, where processors would have to recognize a stream anew. */
static void put_next_line(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int v = nest->innermost, line = -1;
    for (int m = 0; m < v; m++)
        line = is_kept(body, m) ? line : m;
    for (int a = 0; a < body->access_count && line >= 0 && nest->variant == DCLI_VARIANT_UNIT; a++)
        if (!body->access[a].written && body->access[a].unit_axis == v && dcli_inside_depends(body, a, line))
            dcli_text_put(nest->out,
                          "    for (long dcl_f = 0; dcl_f < dcl_m; dcl_f += 64 / (long)sizeof(%s))\n"
                          "        DCL_FAR_AHEAD(dcl_p%d + dcl_x%d_%d + dcl_v + dcl_f + dcl_s%d_%d);\n",
                          dcli_kernel_type(body->params[body->access[a].param].type), a, a, nest->level[a], a, line);
}

static void emit_blocks(dcli_nest *nest)
{
    static const char vector[] = "#pragma clang loop vectorize_width(8) interleave_count(1)\n";
    bool sums = false;
    int v = nest->innermost, kept = open_loops(nest, true);
    for (int r = 0; r < nest->body->result_count; r++)
        sums |= is_sum(nest->body, r);
    dcli_text_put(nest->out,
                  "    for (long dcl_v = 0, dcl_m; dcl_v < dcl_n%d; dcl_v += dcl_m) {\n"
                  "    dcl_m = dcl_min(dcl_n%d - dcl_v, (long)%d);\n%s    {\n",
                  v, v, BLOCK, sums ? "    int dcl_left = DCL_SLOT_ADDITIONS;\n" : "");
    put_numbers(nest, true);
    dcli_text_put(nest->out, "    if (dcl_inside) {\n");
    put_clear(nest);
    int reduced = open_loops(nest, false);
    put_next_line(nest);
    dcli_emit_nest_elements(nest);
    dcli_text_put(nest->out, "    dcl_widen(0);\n");
    if (sums) {
        dcli_text_put(nest->out, "    long dcl_fits = -1;\n");
        put_loop(nest, FITTING, vector);
        dcli_text_put(nest->out, "    if (dcl_fits < 0) {\n");
    }
    put_loop(nest, ADDING, sums ? vector : "#pragma clang loop vectorize(enable)\n");
    if (sums) {
        dcli_text_put(nest->out, "    } else {\n");
        put_loop(nest, ANY, "");
        dcli_text_put(nest->out, "    }\n    if (--dcl_left == 0) {\n    dcl_left = DCL_SLOT_ADDITIONS;\n");
        put_share(nest, true);
        dcli_text_put(nest->out, "    }\n");
    }
    dcli_emit_elements_end(nest->out, nest->body);
    close_loops(nest, reduced);
    put_share(nest, false);
    dcli_text_put(nest->out, "    }\n    }\n    }\n");
    close_loops(nest, kept);
}

static void emit_lines(dcli_nest *nest, const dcli_body *along)
{
    const dcli_body *body = nest->body;
    if (dcli_fold_runs(along))
        dcli_text_put(nest->out, "    int dcl_pause = 0, dcl_wide = 0;\n");
    int kept = open_loops(nest, true);
    dcli_emit_along_begin(nest->out, along);
    int reduced = open_loops(nest, false);
    put_line_calls(nest->out, body);
    dcli_nest line = *nest;
    line.body = along;
    dcli_emit_reduced_line(&line);
    close_loops(nest, reduced);
    put_numbers(nest, false);
    dcli_text_put(nest->out, "    if (dcl_inside) {\n");
    dcli_emit_kept_end(nest->out, along);
    for (int r = 0; r < body->result_count; r++)
        if (is_sum(body, r))
            dcli_text_put(nest->out, "    dcl_sum_share_all(dcl_out%d + 6 * dcl_at%d, &dcl_f%d);\n", r, r, r);
        else
            dcli_text_put(nest->out, "    dcl_put_%d(false, dcl_own%d, dcl_out%d, (ulong)dcl_at%d, dcl_e%d);\n", r, r,
                          r, r, r);
    dcli_text_put(nest->out, "    }\n");
    close_loops(nest, kept);
}

void dcli_emit_kept(dcli_nest *nest)
{
    dcli_body *along = dcli_keyed_as_along(nest->body);
    if (dcli_keyed_folds_blocks(nest->body))
        emit_blocks(nest);
    else if (along != NULL)
        emit_lines(nest, along);
    else
        nest->out->failed = true;
    dcli_free(along);
    dcli_emit_keyed_calls(nest->out, nest->body, DCLI_KEYED_CHECKED); /* as kernels that follow expect */
}
