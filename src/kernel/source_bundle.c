/* kernel/source_bundle.c - generate sums of floating-point numbers along an axis for a CPU, several elements at once.
 *
 * A bundle is a few neighbouring elements of the outputs. A strip of the inner axis is added for all of them in one loop, each as a
 * run of its own (kernel/sum_cpu.cl). What they read in common, as x in `y(i) += A(i,j) * x(j);`, is loaded once, and several rows
 * of A are read at the same time, which hides more of the memory's latency. For 8192 x 8192 doubles on two cores, one element at a time
 * reads A at 30 GB/s, four at 48, and OpenMP sums it at 61. */
#include "kernel/source_bundle.h"

#include <stdio.h>
#include <string.h>

#include "kernel/cl.h"
#include "kernel/fold.h"
#include "kernel/inside.h"
#include "kernel/source_vector.h"

/* How the sums of a strip are added. */
enum way {
    RUNS,   /* as runs (kernel/sum_cpu.cl), by loops that the compiler vectorizes */
    NARROW, /* as struct dcl_narrow (kernel/sum_vector.cl) */
    VECTORS /* as struct dcl_vectors */
};

enum {
    RUN_BYTES = 32, /* of the types of runs that are added at once */
    FIRST = 1024    /* summands of the first element, from which tops are guessed */
};

/* Eight floats take 10 % less time than four, eight doubles 10 % more. */
int dcli_bundle_height(const dcli_body *body)
{
    int bytes = 0;
    for (int r = 0; r < body->result_count; r++)
        bytes += (int)dcl_type_bytes(body->params[body->result[r].param].type);
    return RUN_BYTES / bytes;
}

static const char *type_of(const dcli_body *body, int r)
{
    return dcli_kernel_type(body->params[body->result[r].param].type);
}

bool dcli_is_bundled(const dcli_body *body)
{
    if (!body->along || body->slanted || body->inner_rank != 1 || dcli_bundle_height(body) < 2)
        return false;
    for (int r = 0; r < body->result_count; r++)
        if (!dcli_fold_is_summed(body, r))
            return false;
    return dcli_transposed_axis(body) < 0;
}

/* Open a loop over the elements of a bundle. The last bundle may be short: its last element is then computed several times.
 * @param count  of elements: a number, or dcl_h */
static dcli_nest open_elements(const dcli_nest *nest, const char *count)
{
    dcli_nest element = *nest;
    int m = nest->body->space_rank - 1;
    dcli_text_put(nest->out,
                  "    for (int dcl_q = 0; dcl_q < %s; dcl_q++) {\n"
                  "    const long dcl_t%d = dcl_min(dcl_u + dcl_q, dcl_n%d - 1);\n",
                  count, m, m);
    dcli_nest_index(&element, m);
    dcli_nest_advance(&element, m);
    return element;
}

/* Emit dcl_top<r>, the top that the runs of all elements assume, and dcl_alike: whether no element has another one. */
static void emit_common_tops(const dcli_nest *nest, const char *height)
{
    dcli_text *out = nest->out;
    dcli_text_put(out, "    bool dcl_alike = true;\n");
    for (int r = 0; r < nest->body->result_count; r++)
        dcli_text_put(
            out,
            "    long dcl_top%d = 0;\n    for (int dcl_q = 0; dcl_q < %s; dcl_q++)\n"
            "        dcl_top%d = dcl_max(dcl_top%d, dcl_kept%d[dcl_q].dcl_top);\n"
            "    dcl_top%d = dcl_top%d == 0 ? dcl_guess%d : dcl_top%d;\n"
            "    for (int dcl_q = 0; dcl_q < %s; dcl_q++)\n"
            "        dcl_alike &= dcl_kept%d[dcl_q].dcl_top == 0 || dcl_kept%d[dcl_q].dcl_top == dcl_top%d;\n",
            r, height, r, r, r, r, r, r, r, height, r, r, r);
}

/* Emit the code that adds the runs to the sums of their elements. An element whose sum was empty has the assumed top if
 * a slice of the top bin is not 0. If these cancel, the element is computed by blocks. */
static void emit_runs_end(const dcli_nest *nest, const char *height, enum way way)
{
    const dcli_body *body = nest->body;
    dcli_text *out = nest->out;
    dcli_text_put(out, "    int dcl_outcome = DCL_RUN_ADDED, dcl_judged = DCL_RUN_ADDED;\n    bool dcl_zero = true;\n");
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(out,
                      "    dcl_zero &= dcl_most%d == 0;\n    if (dcl_most%d != 0)\n"
                      "        dcl_judged = dcl_%s_judge_%s(dcl_top%d, dcl_most%d",
                      r, r, way == VECTORS ? "vectors" : "run", type_of(body, r), r, r);
        if (way != VECTORS)
            dcli_text_put(out, ", dcl_least%d", r);
        dcli_text_put(out, ");\n    dcl_outcome = dcl_max(dcl_outcome, dcl_judged);\n");
    }
    if (way == NARROW)
        dcli_text_put(out, "    dcl_general = dcl_outcome == DCL_RUN_WIDE;\n");
    if (way != VECTORS)
        dcli_text_put(out,
                      "    dcl_pause = dcl_outcome == DCL_RUN_WIDE ? dcl_wide : 0;\n"
                      "    dcl_wide = dcl_outcome == DCL_RUN_WIDE ? dcl_min(2 * dcl_wide + 1, %d) : 0;\n",
                      DCLI_FOLD_LONGEST_PAUSE);
    dcli_text_put(out,
                  "    if (dcl_outcome == DCL_RUN_ADDED)\n        dcl_redo = 0;\n"
                  "    for (int dcl_q = 0; dcl_q < %s && !dcl_zero && dcl_outcome == DCL_RUN_ADDED; dcl_q++) {\n",
                  height);
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(out,
                      "    const struct dcl_sum dcl_was%d = dcl_kept%d[dcl_q];\n"
                      "    dcl_kept%d[dcl_q].dcl_top = dcl_top%d;\n    if (dcl_most%d != 0)\n",
                      r, r, r, r, r);
        if (way == RUNS)
            dcli_text_put(out, "        dcl_run_put_%s(&dcl_kept%d[dcl_q], &dcl_w%d[dcl_q], dcl_m);\n",
                          type_of(body, r), r, r);
        else if (way == NARROW)
            dcli_text_put(
                out, "        dcl_narrow_put(&dcl_kept%d[dcl_q], &dcl_w%d[dcl_q], dcl_by%d, dcl_least%d, dcl_count);\n",
                r, r, r, r);
        else
            dcli_text_put(out, "        dcl_vectors_put(&dcl_kept%d[dcl_q], &dcl_w%d[dcl_q], dcl_by%d, dcl_count);\n",
                          r, r, r);
        dcli_text_put(out,
                      "    const bool dcl_unsure%d = dcl_was%d.dcl_top == 0 &&\n"
                      "        (dcl_kept%d[dcl_q].dcl_high[0] | dcl_kept%d[dcl_q].dcl_low[0]) == 0;\n",
                      r, r, r, r);
    }
    dcli_text_put(out, "    if (");
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(out, "%sdcl_unsure%d", r > 0 ? " || " : "", r);
    dcli_text_put(out, ") {\n        dcl_redo |= 1 << dcl_q;\n");
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(out, "        dcl_kept%d[dcl_q] = dcl_was%d;\n", r, r);
    dcli_text_put(out, "    }\n    }\n");
}

/* Emit the loop over a strip whose runs share their constants and the bounds of their magnitudes, so that the sums of all elements fit
 * into the registers. */
static void emit_run_strip(const dcli_nest *nest, const char *height)
{
    const dcli_body *body = nest->body;
    dcli_text *out = nest->out;
    int v = nest->innermost;
    for (int r = 0; r < body->result_count; r++) {
        const char *integer = strcmp(type_of(body, r), "float") == 0 ? "uint" : "ulong";
        dcli_text_put(
            out,
            "    struct dcl_run_%s dcl_v%d[%s], dcl_w%d[%s];\n    %s dcl_most%d = 0, dcl_least%d = -1;\n"
            "    const struct dcl_sum dcl_bare%d = {dcl_top%d, 0, {0, 0}, {0, 0}};\n"
            "    const struct dcl_run_%s dcl_run%d = dcl_run_begin_%s(&dcl_bare%d);\n"
            "#pragma unroll\n    for (int dcl_q = 0; dcl_q < %s; dcl_q++)\n        dcl_v%d[dcl_q] = dcl_run%d;\n",
            type_of(body, r), r, height, r, height, integer, r, r, r, r, type_of(body, r), r, type_of(body, r), r,
            height, r, r);
    }
    dcli_text_put(out,
                  "    dcl_widen(0);\n#pragma clang loop vectorize_width(8) interleave_count(1)\n"
                  "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n    const long dcl_t%d = dcl_v + dcl_k;\n",
                  v);
    dcli_nest strip = *nest;
    strip.pointed = true;
    dcli_nest_index(&strip, v);
    dcli_text_put(out, "#pragma unroll\n");
    dcli_nest element = open_elements(&strip, height);
    dcli_emit_nest_elements(&element);
    dcli_emit_neutral(out, body);
    dcli_emit_statements(out, body);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(out,
                      "    dcl_v%d[dcl_q].dcl_most = dcl_most%d;\n    dcl_v%d[dcl_q].dcl_least = dcl_least%d;\n"
                      "    dcl_run_add_%s(&dcl_v%d[dcl_q], dcl_r%d);\n"
                      "    dcl_most%d = dcl_v%d[dcl_q].dcl_most;\n    dcl_least%d = dcl_v%d[dcl_q].dcl_least;\n",
                      r, r, r, r, type_of(body, r), r, r, r, r, r, r);
    dcli_text_put(out, "    }\n    }\n#pragma unroll\n    for (int dcl_q = 0; dcl_q < %s; dcl_q++) {\n", height);
    for (int r = 0; r < body->result_count; r++) /* dcl_v<r> is never in memory, because its indices are constants */
        dcli_text_put(out,
                      "    dcl_w%d[dcl_q] = dcl_v%d[dcl_q];\n    dcl_w%d[dcl_q].dcl_most = dcl_most%d;\n"
                      "    dcl_w%d[dcl_q].dcl_least = dcl_least%d;\n",
                      r, r, r, r, r, r);
    dcli_text_put(out, "    }\n");
}

/* Emit the sums of a strip, dcl_m elements from dcl_v on. Bit q of dcl_redo: element q was not added. */
static void emit_runs(const dcli_nest *nest, const char *height, enum way way)
{
    dcli_text_put(nest->out, "    {\n");
    emit_common_tops(nest, height);
    dcli_text_put(nest->out, "    if (dcl_alike) {\n");
    if (way == RUNS)
        emit_run_strip(nest, height);
    else
        dcli_emit_vector_strip(nest, height, way == NARROW);
    emit_runs_end(nest, height, way);
    dcli_text_put(nest->out, "    }\n    }\n");
}

/* Emit the summation of a strip by blocks, for the elements of dcl_redo. */
static void emit_blocks(const dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    dcli_nest element = open_elements(nest, "dcl_h");
    int v = nest->innermost;
    dcli_text_put(nest->out, "    if ((dcl_redo >> dcl_q & 1) == 0)\n        continue;\n");
    dcli_emit_along_continue(nest->out, body);
    dcli_emit_nest_elements(&element);
    dcli_emit_strip_begin(nest->out, body, DCLI_FOLD_BUFFERED);
    dcli_text_put(nest->out, "    const long dcl_t%d = dcl_v + dcl_k;\n", v);
    dcli_nest_index(&element, v);
    dcli_emit_neutral(nest->out, body);
    dcli_emit_statements(nest->out, body);
    dcli_emit_fold(nest->out, body, DCLI_FOLD_BUFFERED);
    dcli_emit_strip_end(nest->out, body, DCLI_FOLD_BUFFERED);
    dcli_emit_along_keep(nest->out, body);
    dcli_text_put(nest->out, "    }\n");
}

/* Emit the code that begins, or ends, the sums of a bundle's elements. */
static void emit_outputs(const dcli_nest *nest, void (*emit)(dcli_text *, const dcli_body *), bool ends)
{
    dcli_nest element = open_elements(nest, "dcl_h");
    if (ends)
        dcli_emit_along_continue(nest->out, nest->body);
    dcli_emit_along_elements(&element, emit);
    if (!ends)
        dcli_emit_along_keep(nest->out, nest->body);
    dcli_text_put(nest->out, "    }\n");
}

/* Emit the ways in which the elements of a bundle may be added together. */
static void emit_ways(const dcli_nest *nest, const char *height)
{
    const dcli_body *body = nest->body;
    bool vectors = dcli_runs_in_vectors(body),
         narrow = vectors && body->params[body->result[0].param].type == DCL_FLOAT;
    dcli_text_put(nest->out, "    const bool dcl_together = dcl_known != 0 && 2 * dcl_h >= %s && dcl_m >= %d;\n",
                  height, DCLI_FOLD_LEAST_RUN);
    if (vectors)
        dcli_text_put(nest->out, "    bool dcl_general = dcl_together;\n");
    if (!vectors || narrow) {
        dcli_text_put(nest->out,
                      "    if (dcl_known != 0 && dcl_pause > 0)\n        dcl_pause--;\n    else if (dcl_together)\n");
        emit_runs(nest, height, narrow ? NARROW : RUNS);
    }
    if (vectors) {
        dcli_text_put(nest->out, "    if (dcl_general)\n");
        emit_runs(nest, height, VECTORS);
    }
}

void dcli_emit_bundles(dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    int m = body->space_rank - 1, v = nest->innermost, height = dcli_bundle_height(body);
    char elements[8];
    snprintf(elements, sizeof elements, "%d", height);
    for (int outer = 0; outer < m; outer++)
        dcli_emit_loop(nest, outer);
    dcli_text_put(nest->out,
                  "    for (long dcl_u = 0; dcl_u < dcl_n%d; dcl_u += %d) {\n"
                  "    const int dcl_h = (int)dcl_min(dcl_n%d - dcl_u, (long)%d);\n",
                  m, height, m, height);
    dcli_emit_along_room(nest->out, body, height);
    emit_outputs(nest, dcli_emit_along_begin, false);
    dcli_text_put(nest->out, "    for (int dcl_q = dcl_h; dcl_q < %d; dcl_q++) {\n", height);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "    dcl_kept%d[dcl_q] = dcl_kept%d[0];\n", r, r);
    dcli_text_put(nest->out,
                  "    }\n    for (long dcl_v = 0, dcl_m; dcl_v < dcl_n%d; dcl_v += dcl_m) {\n"
                  "    dcl_m = dcl_min(dcl_n%d - dcl_v, (long)%d);\n"
                  "    for (int dcl_known = ",
                  v, v, dcli_runs_in_vectors(body) ? DCLI_VECTOR_STRIP : DCLI_FOLD_STRIP);
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "%sdcl_guess%d != 0", r > 0 ? " && " : "", r);
    dcli_text_put(nest->out, "; dcl_known < 2; dcl_known++) {\n    int dcl_redo = dcl_known != 0 ? -1 : 1;\n");
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "    const struct dcl_sum dcl_first%d = dcl_kept%d[0];\n", r, r);
    dcli_text_put(
        nest->out,
        "    const long dcl_strip = dcl_m;\n    if (dcl_known == 0)\n        dcl_m = dcl_min(dcl_m, (long)%d);\n",
        FIRST);
    emit_ways(nest, elements);
    emit_blocks(nest);
    dcli_text_put(nest->out, "    dcl_m = dcl_strip;\n    if (dcl_known != 0)\n        break;\n");
    for (int r = 0; r < body->result_count; r++)
        dcli_text_put(nest->out, "    dcl_guess%d = dcl_kept%d[0].dcl_top;\n    dcl_kept%d[0] = dcl_first%d;\n", r, r,
                      r, r);
    dcli_text_put(nest->out, "    }\n    }\n");
    emit_outputs(nest, dcli_emit_along_end, true);
    dcli_text_put(nest->out, "    }\n");
    for (int outer = 0; outer < m; outer++)
        dcli_text_put(nest->out, "    }\n");
}
