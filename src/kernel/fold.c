/* kernel/fold.c - generates the code by which kernels reduce values, and merges their partial results.
 *
 * On CPUs, sums of floating-point numbers are added by sum_cpu.cl: strips of many elements as runs. If the numbers of a strip are of
 * type float and too different for a run, the strip is done again as a run of doubles. Short strips, and those
 * that cannot be added as a run, go through a buffer, from which blocks are added. With DCL_FAST, one variable sums the
 * values of a strip, and another one sums the strips; the latter is added to the partial sum at the end. GPUs add few values
 * at a time (source_gpu_reduce.c).
 *
 * Other results are reduced in a variable. Their bits do not depend on the order of the values: integers wrap, and minima and
 * maxima compare integer keys that have the order of the numbers. Exceptions are products that round and operators of the
 * program, which are combined in the order of the reduced indices. */
#include "kernel/fold.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "kernel/block.h"
#include "kernel/cl.h"
#include "kernel/emit.h"
#include "kernel/inner.h"
#include "kernel/inside.h"
#include "kernel/keyed.h"
#include "kernel/names.h"
#include "kernel/place.h"
#include "kernel/single.h"
#include "kernel/source_bundle.h"
#include "kernel/source_chain.h"
#include "kernel/source_vector.h"
#include "kernel/sum.h"

enum {
    BLOCK = 1024,     /* numbers that are summed at once */
    PAUSE = 63,       /* most strips in turn that are wide runs at once, because the last one could not be a run */
    SHORT_BODY = 32,  /* most tokens of a short body */
    WIDEST_BYTES = 64 /* of a vector */
};

_Static_assert(sizeof(dcli_sum) == DCLI_PARTIAL_LONGS * sizeof(int64_t), "a sum is a partial result");

static dcl_type type_of(const dcli_body *body, int r) { return body->params[body->result[r].param].type; }

static bool is_floating(dcl_type type) { return type >= DCL_HALF; }

/* Whether partial results are a dcli_sum. */
static bool is_sum(dcli_fold fold, dcl_type type) { return fold == DCLI_FOLD_SUM && is_floating(type); }

static bool is_extreme(dcli_fold fold) { return fold == DCLI_FOLD_MIN || fold == DCLI_FOLD_MAX; }

/* Whether a result is combined in the order of the reduced indices. */
static bool is_ordered(const dcli_body *body, int r)
{
    return dcli_fold_is_ordered(body->result[r].fold, type_of(body, r));
}

/* Whether a result is the minimum or maximum of floating-point numbers: its variables are a key, and whether there was a NaN. */
static bool has_key(const dcli_body *body, int r)
{
    return is_floating(type_of(body, r)) && is_extreme(body->result[r].fold);
}

bool dcli_fold_is_summed(const dcli_body *body, int r)
{
    return is_sum(body->result[r].fold, type_of(body, r)) && !dcli_inside_is_chain(body) && !body->keyed;
}

/* Whether a result is a sum whose values are added in any order. */
static bool is_fast(const dcli_body *body, int r)
{
    return body->result[r].fast && is_sum(body->result[r].fold, type_of(body, r));
}

/* Whether a result is a sum that CPUs add in runs and blocks. */
static bool is_summed(const dcli_body *body, int r) { return dcli_fold_is_summed(body, r) && !is_fast(body, r); }

bool dcli_fold_runs(const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++)
        if (is_summed(body, r))
            return true;
    return false;
}

/* Whether all values of a result that is summed are of type float. */
static bool is_narrow(const dcli_body *body, int r)
{
    return is_summed(body, r) && (type_of(body, r) == DCL_FLOAT || dcli_adds_singles(body, r));
}

bool dcli_fold_runs_wide(const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++)
        if (is_narrow(body, r))
            return true;
    return false;
}

/* The type of the values of a result that is summed. */
static dcl_type summand_type(const dcli_body *body, int r) { return is_narrow(body, r) ? DCL_FLOAT : type_of(body, r); }

/* The type of numbers that a run adds to a result. */
static dcl_type run_type(const dcli_body *body, int r, dcli_fold_way way)
{
    return way == DCLI_FOLD_WIDE_RUN && is_narrow(body, r) ? DCL_DOUBLE : summand_type(body, r);
}

/* ---- code ---------------------------------------------------------------------------------------------------------- */

static const char *integer_of(dcl_type type) { return type == DCL_FLOAT ? "int" : "long"; }

/* The type of the variable dcl_f<r>: of the results that are not summed in blocks. */
static const char *variable_type(const dcli_body *body, int r)
{
    dcl_type type = type_of(body, r);
    bool wraps = body->result[r].fold == DCLI_FOLD_SUM || body->result[r].fold == DCLI_FOLD_PRODUCT;
    if (is_ordered(body, r))
        return dcli_kernel_type(type);
    if (is_floating(type))
        return is_fast(body, r) ? "double" : integer_of(type);
    return dcli_kernel_type(wraps && type < DCL_UINT8 ? type + (DCL_UINT8 - DCL_INT8) : type);
}

/* The operator of OpenCL C that combines two integers of a result. */
static const char *sign_of(dcli_fold fold)
{
    static const char *const sign[] = {
        [DCLI_FOLD_SUM] = "+", [DCLI_FOLD_PRODUCT] = "*", [DCLI_FOLD_AND] = "&", [DCLI_FOLD_OR] = "|",
        [DCLI_FOLD_XOR] = "^", [DCLI_FOLD_ANY] = "|",     [DCLI_FOLD_ALL] = "&"};
    return sign[fold];
}

/* The neutral element of the values that a result is made of. */
static const char *neutral_value(dcli_fold fold, dcl_type type)
{
    static const char *const least[] = {
        [DCL_INT8] = "CHAR_MIN", [DCL_INT16] = "SHRT_MIN", [DCL_INT32] = "INT_MIN", [DCL_INT64] = "LONG_MIN",
        [DCL_UINT8] = "0",       [DCL_UINT16] = "0",       [DCL_UINT32] = "0",      [DCL_UINT64] = "0"};
    static const char *const most[] = {
        [DCL_INT8] = "CHAR_MAX",   [DCL_INT16] = "SHRT_MAX",   [DCL_INT32] = "INT_MAX",   [DCL_INT64] = "LONG_MAX",
        [DCL_UINT8] = "UCHAR_MAX", [DCL_UINT16] = "USHRT_MAX", [DCL_UINT32] = "UINT_MAX", [DCL_UINT64] = "ULONG_MAX"};
    switch (fold) {
    case DCLI_FOLD_PRODUCT:
    case DCLI_FOLD_ALL:
        return "1";
    case DCLI_FOLD_MIN:
        return is_floating(type) ? "INFINITY" : most[type];
    case DCLI_FOLD_MAX:
        return is_floating(type) ? "-INFINITY" : least[type];
    case DCLI_FOLD_AND:
        return "~0L";
    default:
        return "0";
    }
}

/* The neutral element of result r, which may be of an operator of the program. */
static const char *neutral_of(const dcli_body *body, int r)
{
    char word[64];
    const dcli_result *result = &body->result[r];
    if (result->fold == DCLI_FOLD_OWN)
        return dcli_operator_split(body->params[result->combine].name, word);
    return neutral_value(result->fold, type_of(body, r));
}

const char *dcli_fold_neutral(dcli_fold fold, dcl_type type) { return neutral_value(fold, type); }

const char *dcli_fold_sign(dcli_fold fold) { return sign_of(fold); }

void dcli_emit_fold_functions(dcli_text *out, const dcli_body *body, dcli_form form)
{
    bool any_sum = false;
    if (body->keyed) {
        dcli_emit_keyed_functions(out, body, form);
        return;
    }
    for (int r = 0; r < body->result_count; r++)
        any_sum |= dcli_fold_is_summed(body, r);
    if (any_sum)
        dcli_text_put(out, "%s%s", dcli_cl_sum, form == DCLI_FORM_GPU ? dcli_cl_sum_merge : "");
    for (dcl_type type = DCL_INT8; type <= DCL_DOUBLE; type++) {
        bool summed = false, extreme = false;
        for (int r = 0; r < body->result_count; r++) {
            summed |= type_of(body, r) == type && dcli_fold_is_summed(body, r);
            summed |= type == DCL_DOUBLE && is_fast(body, r);
            summed |= (type == DCL_FLOAT || type == DCL_DOUBLE) && form == DCLI_FORM_CPU && is_narrow(body, r);
            extreme |= type_of(body, r) == type && is_extreme(body->result[r].fold);
        }
        if (!summed && !extreme)
            continue;
        if (summed) {
            dcli_text_put(out, "#define dcl_I u%s\n", integer_of(type));
            dcli_emit_of_type(out, form == DCLI_FORM_GPU ? dcli_cl_sum_gpu : dcli_cl_sum_cpu, type);
            if (form == DCLI_FORM_CPU && dcli_is_bundled(body) && dcli_runs_in_vectors(body))
                dcli_emit_of_type(out, dcli_cl_sum_vector, type);
            if (body->along)
                dcli_emit_of_type(out, dcli_cl_sum_round, type);
            dcli_text_put(out, "#undef dcl_I\n");
        }
        dcli_text_put(out, "#define dcl_I %s\n", integer_of(type));
        if (extreme && is_floating(type))
            dcli_text_put(out, "#define DCL_NEGATIVE(x) (as_%s(x) < 0)\n", integer_of(type));
        else if (extreme)
            dcli_text_put(out, "#define DCL_NEGATIVE(x) false\n");
        if (extreme)
            dcli_emit_of_type(out, dcli_cl_fold, type);
        if (extreme)
            dcli_text_put(out, "#undef DCL_NEGATIVE\n");
        if (extreme && is_floating(type))
            dcli_emit_of_type(out, dcli_cl_key, type);
        dcli_text_put(out, "#undef dcl_I\n");
    }
    for (int r = 0; r < body->result_count && form == DCLI_FORM_CPU; r++)
        if (body->result[r].placed)
            dcli_emit_merge(out, body, r);
}

void dcli_emit_variable(dcli_text *out, const dcli_body *body, int r)
{
    dcl_type type = type_of(body, r);
    const char *neutral = neutral_of(body, r), *variable = variable_type(body, r);
    if (has_key(body, r))
        dcli_text_put(out, "    %s dcl_f%d = dcl_key_%s(%s);\n    int dcl_g%d = 0;\n", variable, r,
                      dcli_kernel_type(type), neutral, r);
    else
        dcli_text_put(out, "    %s dcl_f%d = (%s)%s;\n", variable, r, variable, neutral);
    if (body->result[r].placed)
        dcli_text_put(out, "    long dcl_where%d = LONG_MAX;\n", r);
}

/* Emit a variable dcl_<name><r> with the partial sum of result r. */
static void emit_sum(dcli_text *out, char name, int r)
{
    int at = r * DCLI_PARTIAL_LONGS;
    dcli_text_put(out,
                  "    struct dcl_sum dcl_%c%d = {dcl_out[%d], dcl_out[%d], {dcl_out[%d], dcl_out[%d]}, "
                  "{dcl_out[%d], dcl_out[%d]}};\n",
                  name, r, at, at + 1, at + 2, at + 3, at + 4, at + 5);
}

void dcli_emit_slot_begin(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out,
                  "    if (dcl_slot[0] != dcl_stamp) {\n"
                  "        dcl_slot[0] = dcl_stamp;\n"
                  "        for (int dcl_n = 1; dcl_n < %d; dcl_n++)\n            dcl_slot[dcl_n] = 0;\n    }\n",
                  (int)dcli_slot_longs(body->result_count));
}

void dcli_emit_partials_begin(dcli_text *out, const dcli_body *body, bool folds)
{
    for (int r = 0; r < body->result_count && body->along; r++)
        if (dcli_fold_is_summed(body, r)) /* the top of the element before: probably that of the next one, too */
            dcli_text_put(out, "    long dcl_guess%d = 0;\n", r);
    if (body->along && dcli_fold_runs(body)) /* neighbouring elements are probably as unlike, too */
        dcli_text_put(out, "    int dcl_pause = 0, dcl_wide = 0;\n");
    dcli_emit_keyed_begin(out, body, folds);
    if (!dcli_body_is_reduced(body) || body->keyed)
        return;
    dcli_text_put(out,
                  "    __global long *const dcl_slot = dcl_partials + dcl_item * %d, *const dcl_out = dcl_slot + 1;\n",
                  (int)dcli_slot_longs(body->result_count));
    dcli_emit_slot_begin(out, body);
    if (dcli_fold_runs(body))
        dcli_text_put(out, "    int dcl_fill = 0, dcl_pause = 0, dcl_wide = 0;\n");
    for (int r = 0; r < body->result_count; r++) {
        dcl_type type = type_of(body, r);
        if (is_summed(body, r)) {
            emit_sum(out, 'f', r);
            dcli_text_put(out, "    %s dcl_y%d[%d] __attribute__((aligned(64)));\n", dcli_kernel_type(type), r, BLOCK);
            if (dcli_body_writes_beside(body)) /* the values of a run */
                dcli_text_put(out, "    %s dcl_z%d[%d] __attribute__((aligned(64)));\n",
                              dcli_kernel_type(summand_type(body, r)), r, DCLI_FOLD_STRIP);
            continue;
        }
        if (is_fast(body, r)) {
            dcli_text_put(out, "    double dcl_f%d = 0;\n", r);
            continue;
        }
        dcli_emit_variable(out, body, r);
    }
}

/* Emit the summation of what the buffers contain. */
static void emit_flush(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "    if (dcl_fill > 0) {\n    for (; dcl_fill %% DCL_SUM_LANES != 0; dcl_fill++) {\n");
    for (int r = 0; r < body->result_count; r++)
        if (is_summed(body, r))
            dcli_text_put(out, "        dcl_y%d[dcl_fill] = 0;\n", r);
    dcli_text_put(out, "    }\n");
    for (int r = 0; r < body->result_count; r++)
        if (is_summed(body, r))
            dcli_text_put(out, "    dcl_sum_%s(&dcl_f%d, dcl_y%d, dcl_fill);\n", dcli_kernel_type(type_of(body, r)), r,
                          r);
    dcli_text_put(out, "    dcl_fill = 0;\n    }\n");
}

/* Emit the variables in which a strip sums its values in any order. @return whether there are any. */
static bool emit_fast_begin(dcli_text *out, const dcli_body *body)
{
    bool any = false;
    for (int r = 0; r < body->result_count; r++)
        if (is_fast(body, r)) {
            dcli_text_put(out, "    %s dcl_h%d = 0;\n", dcli_kernel_type(type_of(body, r)), r);
            any = true;
        }
    return any;
}

static bool is_run(dcli_fold_way way) { return way == DCLI_FOLD_RUN || way == DCLI_FOLD_WIDE_RUN; }

/* Emit the variables of a run, and copies of the other results' variables. */
static void emit_run_begin(dcli_text *out, const dcli_body *body, dcli_fold_way way)
{
    int lanes = 16;
    dcli_text_put(out,
                  way == DCLI_FOLD_WIDE_RUN ? "    dcl_again = dcl_m < %d || dcl_beyond;\n    if (!dcl_again) {\n"
                                            : "    bool dcl_again = dcl_m < %d || dcl_pause > 0, dcl_beyond = false;\n"
                                              "    dcl_pause -= dcl_pause > 0;\n"
                                              "    if (!dcl_again) {\n",
                  DCLI_FOLD_LEAST_RUN);
    for (int r = 0; r < body->result_count; r++) {
        if (is_summed(body, r)) {
            const char *type = dcli_kernel_type(run_type(body, r, way));
            if (body->along)
                dcli_text_put(out,
                              "    const bool dcl_empty%d = dcl_f%d.dcl_top == 0;\n"
                              "    if (dcl_empty%d)\n        dcl_f%d.dcl_top = dcl_guess%d;\n",
                              r, r, r, r, r);
            dcli_text_put(out, "    struct dcl_run_%s dcl_w%d = dcl_run_begin_%s(&dcl_f%d);\n", type, r, type, r);
            lanes = run_type(body, r, way) == DCL_DOUBLE ? 8 : lanes;
            continue;
        }
        if (dcli_body_writes_beside(body))
            continue; /* the strip is not done again */
        dcli_text_put(out, "    const %s dcl_was%d = dcl_f%d;\n", variable_type(body, r), r, r);
        if (has_key(body, r))
            dcli_text_put(out, "    const int dcl_had%d = dcl_g%d;\n", r, r);
    }
    emit_fast_begin(out, body);
    dcli_text_put(out,
                  "    dcl_widen(0);\n"
                  "#pragma clang loop vectorize_width(%d) interleave_count(2)\n"
                  "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n",
                  lanes);
}

/* Elements in the vectors of a loop that adds in any order. Short bodies are limited by memory, which is read up to 15 % faster in
 * vectors of 16 bytes than of 32 or 64. */
static int fast_width(const dcli_body *body)
{
    int least = 8;
    for (int a = 0; a < body->access_count; a++)
        least = dcli_min(least, (int)dcl_type_bytes(body->params[body->access[a].param].type));
    return body->inside->tokens.count > SHORT_BODY || least < 4 ? 8 : 16 / least;
}

/* Whether a keyed reduction takes so few instructions per index that those of the loop itself matter. */
static bool is_keyed_shortly(const dcli_body *body)
{
    bool words = body->inside->tokens.count <= SHORT_BODY;
    for (int r = 0; r < body->result_count; r++)
        words &= dcli_keyed_longs(body, r) == 1;
    return words;
}

void dcli_emit_vectorize(dcli_text *out, const dcli_body *body)
{
    size_t most = 4;
    for (int a = 0; a < body->access_count; a++)
        most = dcli_max(most, dcl_type_bytes(body->params[body->access[a].param].type));
    if (dcli_inner_unrolls(body) || dcli_body_looks(body))
        dcli_text_put(out, "    dcl_widen(0);\n#pragma clang loop vectorize_width(%d) interleave_count(2)\n",
                      (int)(WIDEST_BYTES / most));
    else
        dcli_text_put(out, "#pragma clang loop vectorize(enable)\n");
}

void dcli_emit_strip_begin(dcli_text *out, const dcli_body *body, dcli_fold_way way)
{
    if (is_run(way)) {
        emit_run_begin(out, body, way);
        return;
    }
    bool fast = emit_fast_begin(out, body), ordered = dcli_body_is_ordered(body);
    if (body->keyed) {
        dcli_text_put(out, "%s    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n",
                      is_keyed_shortly(body) ? "#pragma clang loop unroll_count(4)\n" : "");
        return;
    }
    if (!dcli_fold_runs(body)) {
        if (fast)
            dcli_text_put(out, "#pragma clang loop vectorize_width(%d) interleave_count(4)\n", fast_width(body));
        else if (!ordered) /* asked to vectorize a loop, LLVM changes the order of its operations */
            dcli_emit_vectorize(out, body);
        dcli_text_put(out, "    for (long dcl_k = 0; dcl_k < dcl_m; dcl_k++) {\n");
        return;
    }
    dcli_text_put(out,
                  "    for (long dcl_from = 0, dcl_to; dcl_from < dcl_m; dcl_from = dcl_to) {\n"
                  "    dcl_to = dcl_min(dcl_m, dcl_from + %d);\n",
                  BLOCK);
    dcli_text_put(out, "    if (dcl_fill + dcl_to - dcl_from > %d) {\n", BLOCK);
    emit_flush(out, body);
    dcli_text_put(out, "    }\n");
    dcli_text_put(out, "%s    for (long dcl_k = dcl_from; dcl_k < dcl_to; dcl_k++) {\n",
                  ordered ? "" : "#pragma clang loop vectorize(enable)\n");
}

void dcli_emit_neutral(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count && !body->keyed; r++) {
        const char *type = dcli_kernel_type(type_of(body, r));
        bool sum = is_sum(body->result[r].fold, type_of(body, r)); /* -0 + x is x: compilers omit the addition */
        dcli_text_put(out, "    %s dcl_r%d = (%s)%s;\n", type, r, type, sum ? "-0.0f" : neutral_of(body, r));
        if (body->result[r].placed)
            dcli_text_put(out, "    bool dcl_q%d = false;\n", r);
    }
}

/* Emit the combination of dcl_f<r> with the next value. */
static void emit_ordered(dcli_text *out, const dcli_body *body, int r)
{
    char word[64];
    if (body->result[r].fold == DCLI_FOLD_PRODUCT) {
        dcli_text_put(out, "    dcl_f%d *= dcl_r%d;\n", r, r);
        return;
    }
    dcli_operator_split(body->params[body->result[r].combine].name, word);
    dcli_text_put(out, "    dcl_f%d = %s(dcl_f%d, dcl_r%d);\n", r, word, r, r);
}

void dcli_emit_fold(dcli_text *out, const dcli_body *body, dcli_fold_way way)
{
    bool once = dcli_body_writes_beside(body);
    for (int r = 0; r < body->result_count && !body->keyed; r++) {
        dcli_fold fold = body->result[r].fold;
        const char *type = variable_type(body, r);
        const char *call = fold == DCLI_FOLD_MIN ? "dcl_min" : "dcl_max";
        bool fast = is_fast(body, r) && way != DCLI_FOLD_OF_GPU;
        if (is_summed(body, r) && is_run(way))
            dcli_text_put(out,
                          once ? "    dcl_run_add_%s(&dcl_w%d, (%s)dcl_r%d);\n    dcl_z%d[dcl_k] = dcl_r%d;\n"
                               : "    dcl_run_add_%s(&dcl_w%d, (%s)dcl_r%d);\n",
                          dcli_kernel_type(run_type(body, r, way)), r, dcli_kernel_type(summand_type(body, r)), r, r,
                          r);
        else if (dcli_fold_is_summed(body, r) && !fast)
            dcli_text_put(out, "    dcl_y%d[dcl_fill + dcl_k - dcl_from] = dcl_r%d;\n", r, r);
        else if (fast)
            dcli_text_put(out, "    dcl_h%d = dcl_sum_any_order_%s(dcl_h%d, dcl_r%d);\n", r,
                          dcli_kernel_type(type_of(body, r)), r, r);
        else if (body->result[r].placed && (way == DCLI_FOLD_OF_GPU || dcli_body_writes_beside(body)))
            dcli_emit_place_fold(out, body, r, way == DCLI_FOLD_OF_GPU ? "[dcl_k]" : "");
        else if (is_ordered(body, r))
            emit_ordered(out, body, r);
        else if (is_floating(type_of(body, r)))
            dcli_text_put(out,
                          "    dcl_f%d = %s(dcl_f%d, dcl_key_%s(dcl_r%d));\n"
                          "    dcl_g%d |= dcl_r%d != dcl_r%d;\n", /* then dcl_f<r> has no meaning */
                          r, call, r, dcli_kernel_type(type_of(body, r)), r, r, r, r);
        else if (is_extreme(fold))
            dcli_text_put(out, "    dcl_f%d = %s(dcl_f%d, dcl_r%d);\n", r, call, r, r);
        else /* short types would become int, which must not overflow */
            dcli_text_put(out, "    dcl_f%d = (%s)((ulong)dcl_f%d %s (ulong)(%s)dcl_r%d);\n", r, type, r, sign_of(fold),
                          type, r);
    }
}

/* Emit how many strips are not tried as runs of floats after this one. */
static void emit_pause(dcli_text *out, dcli_fold_way way)
{
    if (way == DCLI_FOLD_RUN)
        dcli_text_put(out,
                      "    dcl_pause = dcl_outcome == DCL_RUN_WIDE ? dcl_wide : 0;\n"
                      "    dcl_wide = dcl_outcome == DCL_RUN_WIDE ? dcl_min(2 * dcl_wide + 1, %d) : 0;\n",
                      PAUSE);
}

/* Emit the end of a run whose values were kept. A sum that cannot be added as a run is added as blocks. Then comes the block for
 * strips that are not tried as runs. */
static void emit_kept_run_end(dcli_text *out, const dcli_body *body, dcli_fold_way way)
{
    dcli_text_put(out, "    int dcl_outcome = DCL_RUN_ADDED;\n");
    for (int r = 0; r < body->result_count; r++) {
        if (!is_summed(body, r))
            continue;
        const char *type = dcli_kernel_type(run_type(body, r, way));
        dcli_text_put(
            out,
            "    const int dcl_outcome%d = dcl_run_end_%s(&dcl_f%d, &dcl_w%d, dcl_m);\n"
            "    dcl_outcome = dcl_max(dcl_outcome, dcl_outcome%d);\n"
            "    if (dcl_outcome%d != DCL_RUN_ADDED) {\n"
            "        long dcl_n = dcl_m;\n"
            "        for (; dcl_n %% DCL_SUM_LANES != 0; dcl_n++)\n            dcl_z%d[dcl_n] = 0;\n"
            "        for (long dcl_at = 0; dcl_at < dcl_n; dcl_at += %d)\n"
            "            dcl_sum_%s(&dcl_f%d, dcl_z%d + dcl_at, (int)dcl_min(dcl_n - dcl_at, (long)%d));\n    }\n",
            r, type, r, r, r, r, r, BLOCK, dcli_kernel_type(summand_type(body, r)), r, r, BLOCK);
    }
    emit_pause(out, way);
    dcli_text_put(out, "    } else {\n");
}

/* Emit the end of a run. If a sum cannot be added, all results are as before it. */
static void emit_run_end(dcli_text *out, const dcli_body *body, dcli_fold_way way)
{
    dcli_text_put(out, "    int dcl_outcome = DCL_RUN_ADDED;\n");
    for (int r = 0; r < body->result_count; r++)
        if (is_summed(body, r))
            dcli_text_put(out,
                          "    const struct dcl_sum dcl_was%d = dcl_f%d;\n"
                          "    const int dcl_outcome%d = dcl_run_end_%s(&dcl_f%d, &dcl_w%d, dcl_m);\n"
                          "    dcl_outcome = dcl_max(dcl_outcome, dcl_outcome%d);\n",
                          r, r, r, dcli_kernel_type(run_type(body, r, way)), r, r, r);
    for (int r = 0; r < body->result_count && body->along; r++)
        if (dcli_fold_is_summed(body, r))
            dcli_text_put(out,
                          "    if (dcl_empty%d && !dcl_run_fits_%s(&dcl_f%d, &dcl_w%d))\n"
                          "        dcl_outcome = dcl_max(dcl_outcome, (int)DCL_RUN_AGAIN);\n",
                          r, dcli_kernel_type(run_type(body, r, way)), r, r);
    dcli_text_put(out, "    dcl_again = dcl_outcome != DCL_RUN_ADDED;\n");
    if (way == DCLI_FOLD_RUN) /* then a wide run is beyond the sum's bins, too */
        dcli_text_put(out, "    dcl_beyond = dcl_outcome == DCL_RUN_AGAIN;\n");
    emit_pause(out, way);
    dcli_text_put(out, "    if (dcl_again) {\n");
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(out, "    dcl_f%d = dcl_was%d;\n", r, r);
        if (body->along && dcli_fold_is_summed(body, r))
            dcli_text_put(out, "    if (dcl_empty%d)\n        dcl_f%d.dcl_top = 0;\n", r, r);
        if (has_key(body, r))
            dcli_text_put(out, "    dcl_g%d = dcl_had%d;\n", r, r);
    }
    dcli_text_put(out, "    }\n    }\n    if (dcl_again) {\n");
}

void dcli_emit_strip_end(dcli_text *out, const dcli_body *body, dcli_fold_way way)
{
    dcli_text_put(out, "    }\n");
    for (int r = 0; r < body->result_count; r++)
        if (is_fast(body, r))
            dcli_text_put(out, "    dcl_f%d += dcl_h%d;\n", r, r);
    if (is_run(way))
        (dcli_body_writes_beside(body) ? emit_kept_run_end : emit_run_end)(out, body, way);
    else if (dcli_fold_runs(body))
        dcli_text_put(out, "    dcl_fill += (int)(dcl_to - dcl_from);\n    }\n");
}

void dcli_emit_value(dcli_text *out, const dcli_body *body, int r)
{
    const char *type = dcli_kernel_type(type_of(body, r));
    if (is_floating(type_of(body, r)))
        dcli_text_put(out, "    long dcl_e%d = dcl_key_long_%s(dcl_g%d ? dcl_key_%s(%s) : dcl_f%d);\n", r, type, r,
                      type, neutral_value(body->result[r].fold, type_of(body, r)), r);
    else
        dcli_text_put(out, "    long dcl_e%d = (long)(%s)dcl_f%d;\n", r, type, r);
}

void dcli_emit_own_partial(dcli_text *out, const dcli_body *body, int r)
{
    char place[24] = "0", lost[16] = "0";
    dcl_type type = type_of(body, r);
    if (dcli_fold_is_summed(body, r)) {
        dcli_text_put(out,
                      "    dcl_lane_flush_%s(&dcl_f%d, &dcl_h%d);\n    long *const dcl_own%d = (long *)&dcl_h%d;\n",
                      dcli_kernel_type(type), r, r, r, r);
        return;
    }
    if (body->result[r].placed)
        snprintf(place, sizeof place, "dcl_where%d", r);
    if (is_floating(type))
        snprintf(lost, sizeof lost, "dcl_g%d", r);
    dcli_emit_value(out, body, r);
    dcli_text_put(out, "    long dcl_own%d[%d] = {1, dcl_e%d, %s, %s};\n", r, DCLI_PARTIAL_LONGS, r, lost, place);
}

void dcli_emit_partials_end(dcli_text *out, const dcli_body *body)
{
    dcli_emit_keyed_end(out, body);
    if (!dcli_body_is_reduced(body) || body->keyed)
        return;
    if (dcli_fold_runs(body))
        emit_flush(out, body);
    for (int r = 0; r < body->result_count; r++) {
        int at = r * DCLI_PARTIAL_LONGS;
        dcli_fold fold = body->result[r].fold;
        if (is_fast(body, r)) {
            emit_sum(out, 's', r);
            dcli_text_put(out,
                          "    double dcl_v%d[DCL_SUM_LANES] = {dcl_f%d};\n"
                          "    dcl_sum_double(&dcl_s%d, dcl_v%d, DCL_SUM_LANES);\n",
                          r, r, r, r);
        }
        if (is_sum(fold, type_of(body, r))) {
            char name = is_fast(body, r) ? 's' : 'f';
            dcli_text_put(out,
                          "    dcl_out[%d] = dcl_%c%d.dcl_top;\n    dcl_out[%d] = dcl_%c%d.dcl_seen;\n"
                          "    dcl_out[%d] = dcl_%c%d.dcl_high[0];\n    dcl_out[%d] = dcl_%c%d.dcl_high[1];\n"
                          "    dcl_out[%d] = dcl_%c%d.dcl_low[0];\n    dcl_out[%d] = dcl_%c%d.dcl_low[1];\n",
                          at, name, r, at + 1, name, r, at + 2, name, r, at + 3, name, r, at + 4, name, r, at + 5, name,
                          r);
            continue;
        }
        if (body->result[r].placed) {
            dcli_emit_own_partial(out, body, r);
            dcli_text_put(out,
                          "    long dcl_old%d[] = {dcl_out[%d], dcl_out[%d], dcl_out[%d], dcl_out[%d]};\n"
                          "    dcl_merge_%d(dcl_own%d, dcl_old%d);\n",
                          r, at, at + 1, at + 2, at + 3, r, r, r);
            for (int w = 0; w < 4; w++)
                dcli_text_put(out, "    dcl_out[%d] = dcl_own%d[%d];\n", at + w, r, w);
            continue;
        }
        dcli_emit_value(out, body, r);
        if (is_extreme(fold))
            dcli_text_put(out, "    if (dcl_out[%d] != 0)\n        dcl_e%d = (long)%s((%s)dcl_e%d, (%s)dcl_out[%d]);\n",
                          at, r, fold == DCLI_FOLD_MIN ? "dcl_min" : "dcl_max",
                          type_of(body, r) == DCL_UINT64 ? "ulong" : "long", r,
                          type_of(body, r) == DCL_UINT64 ? "ulong" : "long", at + 1);
        else
            dcli_text_put(
                out, "    if (dcl_out[%d] != 0)\n        dcl_e%d = (long)(%s)((ulong)dcl_e%d %s (ulong)dcl_out[%d]);\n",
                at, r, dcli_kernel_type(type_of(body, r)), r, sign_of(fold), at + 1);
        dcli_text_put(out, "    dcl_out[%d] = 1;\n    dcl_out[%d] = dcl_e%d;\n", at, at + 1, r);
        if (is_floating(type_of(body, r)))
            dcli_text_put(out, "    dcl_out[%d] |= dcl_g%d;\n", at + 2, r);
    }
}

void dcli_emit_merge(dcli_text *out, const dcli_body *body, int r)
{
    dcli_fold fold = body->result[r].fold;
    dcl_type type = type_of(body, r);
    const char *wide = type == DCL_UINT64 ? "ulong" : "long";
    dcli_text_put(out, "static void dcl_merge_%d(long *dcl_to, const long *dcl_from)\n{\n", r);
    if (is_sum(fold, type)) {
        dcli_text_put(out, "    dcl_sum_merge((struct dcl_sum *)dcl_to, (const struct dcl_sum *)dcl_from);\n}\n");
        return;
    }
    dcli_text_put(out, "    if (dcl_from[0] == 0)\n        return;\n"
                       "    const bool dcl_both = dcl_to[0] != 0;\n    dcl_to[0] = 1;\n");
    if (body->result[r].placed) {
        dcli_text_put(out, "    if (!dcl_both)\n        dcl_to[3] = dcl_from[3];\n    else {\n");
        dcli_emit_place_merge(out, body, r);
        dcli_text_put(out, "    }\n");
    }
    dcli_text_put(out, "    dcl_to[2] |= dcl_from[2];\n"
                       "    dcl_to[1] = !dcl_both ? dcl_from[1] : ");
    if (is_extreme(fold))
        dcli_text_put(out, "(long)%s((%s)dcl_to[1], (%s)dcl_from[1]);\n}\n",
                      fold == DCLI_FOLD_MIN ? "dcl_min" : "dcl_max", wide, wide);
    else
        dcli_text_put(out, "(long)(%s)((ulong)dcl_to[1] %s (ulong)dcl_from[1]);\n}\n", dcli_kernel_type(type),
                      sign_of(fold));
}

/* Whether result r starts from the present value of its element. */
bool dcli_fold_is_added_to(const dcli_body *body, int r)
{
    return body->params[body->result[r].param].access == DCL_ACCESS_INOUT;
}

void dcli_emit_ordered_begin(dcli_text *out, const dcli_body *body, int r)
{
    if (is_ordered(body, r) && dcli_fold_is_added_to(body, r))
        dcli_text_put(out, "    dcl_f%d = dcl_a%d;\n", r, body->result[r].access);
}

void dcli_emit_along_begin(dcli_text *out, const dcli_body *body)
{
    bool added = false; /* what the elements contain is the first summand */
    for (int r = 0; r < body->result_count; r++)
        added |= dcli_fold_is_summed(body, r) && dcli_fold_is_added_to(body, r);
    if (dcli_fold_runs(body))
        dcli_text_put(out, "    int dcl_fill = %d;\n", added);
    if (dcli_inside_is_chain(body))
        dcli_text_put(out,
                      dcli_fold_is_added_to(body, 0) ? "    %s dcl_f0 = dcl_a%d;\n"
                      : dcli_chain_is_blocked(body)  ? "    %s dcl_f0 = dcl_before > 0 ? dcl_a%d : 0;\n"
                                                     : "    %s dcl_f0 = 0;\n",
                      dcli_kernel_type(type_of(body, 0)), body->result[0].access);
    for (int r = 0; r < body->result_count && !dcli_inside_is_chain(body); r++) {
        if (!dcli_fold_is_summed(body, r)) {
            dcli_emit_variable(out, body, r);
            dcli_emit_ordered_begin(out, body, r);
            continue;
        }
        dcli_text_put(out,
                      "    struct dcl_sum dcl_f%d = {0, 0, {0, 0}, {0, 0}};\n"
                      "    %s dcl_y%d[%d] __attribute__((aligned(64)));\n",
                      r, dcli_kernel_type(type_of(body, r)), r, BLOCK);
        if (dcli_fold_is_added_to(body, r))
            dcli_text_put(out, "    dcl_y%d[0] = dcl_a%d;\n", r, body->result[r].access);
        else if (added)
            dcli_text_put(out, "    dcl_y%d[0] = 0;\n", r);
    }
}

void dcli_emit_along_room(dcli_text *out, const dcli_body *body, int height)
{
    for (int r = 0; r < body->result_count; r++) {
        bool summed = dcli_fold_is_summed(body, r);
        dcli_text_put(out, "    %s dcl_kept%d[%d];\n", summed ? "struct dcl_sum" : variable_type(body, r), r, height);
        if (has_key(body, r))
            dcli_text_put(out, "    int dcl_found%d[%d];\n", r, height);
    }
}

void dcli_emit_along_keep(dcli_text *out, const dcli_body *body)
{
    if (dcli_fold_runs(body))
        emit_flush(out, body);
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(out, "    dcl_kept%d[dcl_q] = dcl_f%d;\n", r, r);
        if (has_key(body, r))
            dcli_text_put(out, "    dcl_found%d[dcl_q] = dcl_g%d;\n", r, r);
    }
}

void dcli_emit_along_continue(dcli_text *out, const dcli_body *body)
{
    if (dcli_fold_runs(body))
        dcli_text_put(out, "    int dcl_fill = 0;\n");
    for (int r = 0; r < body->result_count; r++) {
        bool summed = dcli_fold_is_summed(body, r);
        dcli_text_put(out, "    %s dcl_f%d = dcl_kept%d[dcl_q];\n", summed ? "struct dcl_sum" : variable_type(body, r),
                      r, r);
        if (summed)
            dcli_text_put(out, "    %s dcl_y%d[%d] __attribute__((aligned(64)));\n", dcli_kernel_type(type_of(body, r)),
                          r, BLOCK);
        else if (has_key(body, r))
            dcli_text_put(out, "    int dcl_g%d = dcl_found%d[dcl_q];\n", r, r);
    }
}

void dcli_emit_left(dcli_text *out, const dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    dcli_text_put(out, "(%s)(%s", dcli_kernel_type(type_of(body, 0)), body->inside->contraction.minus ? "-(" : "");
    for (int t = body->inside->contraction.first, p = 1; t < body->inside->contraction.end; t++) {
        const dcli_token *token = &tokens->token[t];
        if (t != body->inside->place[p].name) { /* place 0 is the output */
            dcli_text_put(out, "%.*s", token->length, tokens->text + token->start);
            continue;
        }
        dcli_text_put(out, "dcl_a%d", body->inside->contraction.left);
        t = body->inside->place[p].close;
    }
    dcli_text_put(out, body->inside->contraction.minus ? "))" : ")");
}

void dcli_emit_chain(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "    dcl_f0 = fma(");
    dcli_emit_left(out, body);
    dcli_text_put(out, ", dcl_a%d, dcl_f0);\n", body->inside->contraction.right);
}

/* Emit dcl_e<r>: the value of result r. */
static void emit_along_value(dcli_text *out, const dcli_body *body, int r)
{
    const char *type = dcli_kernel_type(type_of(body, r));
    if (dcli_fold_is_summed(body, r))
        dcli_text_put(out, "    const %s dcl_e%d = dcl_sum_round_%s(&dcl_f%d);\n    dcl_guess%d = dcl_f%d.dcl_top;\n",
                      type, r, type, r, r, r);
    else if (has_key(body, r))
        dcli_text_put(out, "    const %s dcl_e%d = dcl_g%d ? NAN : dcl_number_%s(dcl_f%d);\n", type, r, r, type, r);
    else
        dcli_text_put(out, "    const %s dcl_e%d = (%s)dcl_f%d;\n", type, r, type, r);
}

void dcli_emit_along_store(dcli_text *out, const dcli_body *body, int r, const char *value)
{
    dcli_fold fold = body->result[r].fold;
    const char *type = dcli_kernel_type(type_of(body, r));
    int a = body->result[r].access;
    if (!dcli_fold_is_added_to(body, r) || dcli_fold_is_summed(body, r) || is_ordered(body, r))
        dcli_text_put(out, "    dcl_a%d = %s;\n", a, value);
    else if (fold == DCLI_FOLD_ANY || fold == DCLI_FOLD_ALL)
        dcli_text_put(out, "    dcl_a%d = (dcl_a%d != 0) %s %s;\n", a, a, sign_of(fold), value);
    else if (is_extreme(fold))
        dcli_text_put(out, "    dcl_a%d = dcl_%s_%s(dcl_a%d, %s);\n", a, fold == DCLI_FOLD_MIN ? "least" : "most", type,
                      a, value);
    else
        dcli_text_put(out, "    dcl_a%d = (%s)((ulong)dcl_a%d %s (ulong)%s);\n", a, type, a, sign_of(fold), value);
}

void dcli_emit_along_end(dcli_text *out, const dcli_body *body)
{
    if (dcli_fold_runs(body))
        emit_flush(out, body);
    if (dcli_inside_is_chain(body))
        dcli_text_put(out, "    dcl_a%d = dcl_f0;\n", body->result[0].access);
    for (int r = 0; r < body->result_count && !dcli_inside_is_chain(body); r++) {
        char value[24];
        emit_along_value(out, body, r);
        snprintf(value, sizeof value, "dcl_e%d", r);
        dcli_emit_along_store(out, body, r, value);
    }
}

void dcli_emit_kept_end(dcli_text *out, const dcli_body *body)
{
    if (dcli_fold_runs(body))
        emit_flush(out, body);
    for (int r = 0; r < body->result_count; r++)
        if (dcli_fold_is_summed(body, r))
            dcli_text_put(out, "    dcl_guess%d = dcl_f%d.dcl_top;\n", r, r);
        else
            emit_along_value(out, body, r);
}

/* ---- partial results -------------------------------------------------------------------------------------------------- */

/* Their words. Sums of floating-point numbers have those of dcli_sum. Other results have these: */
enum {
    ANY,   /* 1: there is a value; 0: the rest is 0, too */
    VALUE, /* an integer, of unsigned types its bits; minima and maxima of floating-point numbers: the key of a double */
    NOT_A_NUMBER, /* minima and maxima of floating-point numbers: 1 if one of the values was NaN */
    PLACE         /* minima and maxima whose index is found: its number; of none INT64_MAX */
};

/* The number that has a key: keys are integers in the order of the numbers, and -0 is below +0. */
static double number_of(int64_t key)
{
    int64_t bits = key ^ (key >> 63 & INT64_MAX);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Reduce an integer to the range of its type, as arithmetic that wraps does. */
static int64_t wrap(dcl_type type, uint64_t value)
{
    switch (type) {
    case DCL_INT8:
        return (int8_t)value;
    case DCL_INT16:
        return (int16_t)value;
    case DCL_INT32:
        return (int32_t)value;
    case DCL_UINT8:
        return (uint8_t)value;
    case DCL_UINT16:
        return (uint16_t)value;
    case DCL_UINT32:
        return (uint32_t)value;
    default:
        return (int64_t)value;
    }
}

static bool is_less(dcl_type type, int64_t a, int64_t b)
{
    return type == DCL_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t combine(dcli_fold fold, dcl_type type, int64_t a, int64_t b)
{
    switch (fold) {
    case DCLI_FOLD_SUM:
        return wrap(type, (uint64_t)a + (uint64_t)b);
    case DCLI_FOLD_PRODUCT:
        return wrap(type, (uint64_t)a * (uint64_t)b);
    case DCLI_FOLD_MIN:
        return is_less(type, b, a) ? b : a;
    case DCLI_FOLD_MAX:
        return is_less(type, a, b) ? b : a;
    case DCLI_FOLD_AND:
    case DCLI_FOLD_ALL:
        return a & b;
    case DCLI_FOLD_OR:
    case DCLI_FOLD_ANY:
        return a | b;
    default:
        return a ^ b;
    }
}

/* The number of the index of the better one of two minima or maxima. A NaN is better than a number. */
static int64_t merge_places(dcli_fold fold, dcl_type type, const dcli_partial *a, const dcli_partial *b)
{
    const dcli_partial *better = NULL;
    if (a->word[NOT_A_NUMBER] != b->word[NOT_A_NUMBER])
        better = a->word[NOT_A_NUMBER] != 0 ? a : b;
    else if (a->word[NOT_A_NUMBER] == 0 && a->word[VALUE] != b->word[VALUE])
        better = combine(fold, type, a->word[VALUE], b->word[VALUE]) == a->word[VALUE] ? a : b;
    return better != NULL ? better->word[PLACE] : dcli_min(a->word[PLACE], b->word[PLACE]);
}

int64_t dcli_partial_place(const dcli_partial *partial)
{
    return partial->word[ANY] != 0 ? partial->word[PLACE] : INT64_MAX;
}

void dcli_partial_merge(dcli_fold fold, dcl_type type, dcli_partial *partial, const dcli_partial *other)
{
    if (is_sum(fold, type)) {
        dcli_sum_merge(&partial->sum, &other->sum);
        return;
    }
    if (other->word[ANY] == 0)
        return;
    if (partial->word[ANY] == 0) {
        *partial = *other;
        return;
    }
    if (is_extreme(fold))
        partial->word[PLACE] = merge_places(fold, type, partial, other);
    partial->word[VALUE] = combine(fold, type, partial->word[VALUE], other->word[VALUE]);
    partial->word[NOT_A_NUMBER] |= other->word[NOT_A_NUMBER];
}

bool dcli_partial_is_valid(dcli_fold fold, dcl_type type, const dcli_partial *partial)
{
    if (is_sum(fold, type))
        return dcli_sum_is_valid(&partial->sum);
    for (int w = PLACE + 1; w < DCLI_PARTIAL_LONGS; w++)
        if (partial->word[w] != 0)
            return false;
    if (partial->word[PLACE] < 0 || (partial->word[PLACE] > 0 && !is_extreme(fold)))
        return false;
    if (partial->word[ANY] == 0)
        return partial->word[VALUE] == 0 && partial->word[NOT_A_NUMBER] == 0 && partial->word[PLACE] == 0;
    if (partial->word[ANY] != 1 || (partial->word[NOT_A_NUMBER] & ~INT64_C(1)) != 0)
        return false;
    if (is_floating(type))
        return !isnan(number_of(partial->word[VALUE]));
    return partial->word[NOT_A_NUMBER] == 0 && wrap(type, (uint64_t)partial->word[VALUE]) == partial->word[VALUE];
}

/* The value of a result without values: the neutral element. */
static dcli_scalar neutral(dcli_fold fold, dcl_type type)
{
    static const int64_t most[] = {
        [DCL_INT8] = INT8_MAX,   [DCL_INT16] = INT16_MAX,   [DCL_INT32] = INT32_MAX,   [DCL_INT64] = INT64_MAX,
        [DCL_UINT8] = UINT8_MAX, [DCL_UINT16] = UINT16_MAX, [DCL_UINT32] = UINT32_MAX, [DCL_UINT64] = -1};
    if (is_floating(type))
        return (dcli_scalar){.f = fold == DCLI_FOLD_MIN ? INFINITY : fold == DCLI_FOLD_MAX ? -INFINITY : 0};
    switch (fold) {
    case DCLI_FOLD_PRODUCT:
    case DCLI_FOLD_ALL:
        return (dcli_scalar){.i = 1};
    case DCLI_FOLD_MIN:
        return (dcli_scalar){.i = most[type]};
    case DCLI_FOLD_MAX:
        return (dcli_scalar){.i = type < DCL_UINT8 ? -most[type] - 1 : 0};
    case DCLI_FOLD_AND:
        return (dcli_scalar){.i = wrap(type, UINT64_MAX)};
    default:
        return (dcli_scalar){.i = 0};
    }
}

dcli_scalar dcli_partial_value(dcli_fold fold, dcl_type type, const dcli_partial *partial)
{
    if (is_sum(fold, type))
        return (dcli_scalar){.f = dcli_sum_round(&partial->sum, type)};
    if (partial->word[ANY] == 0)
        return neutral(fold, type);
    if (!is_floating(type))
        return (dcli_scalar){.i = partial->word[VALUE]};
    return (dcli_scalar){.f = partial->word[NOT_A_NUMBER] != 0 ? NAN : number_of(partial->word[VALUE])};
}
