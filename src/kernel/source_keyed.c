/* kernel/source_keyed.c - generate the code by which keyed reductions find and change partial results.
 *
 * On CPUs, a work-item has partial results of its own if a result has few elements, and adds them to the node's at its
 * end. Without own partial results, it changes the node's directly. The node's are always changed atomically.
 *
 * On GPUs, a group has the partial results of its own in local memory, and several tables of them if there are few
 * elements: neighbours use different ones, so that they rarely meet. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/block.h"
#include "kernel/cl.h"
#include "kernel/emit.h"
#include "kernel/fold.h"
#include "kernel/inside.h"
#include "kernel/keyed.h"

enum {
    SLOT_BYTES = 24,       /* of a work-item's own partial result of a sum, in the table struct dcl_slots */
    GROUP_SLOT_BYTES = 32, /* of a struct dcl_slot, the same of a group of a GPU */
    GROUP_BYTES =
        1
        << 15, /* of local memory that a group has for all results: GPUs have 48 KB or more per group, as OpenCL 1.2 asks
                              for 32 KB of full devices */
    SHORT_BODY = 32, /* most tokens of a body whose keys are computed twice */
    SLOT_COPIES = 8, /* most tables of slots, and of words, that a group has */
    WORD_COPIES = 32
};

static dcl_type type_of(const dcli_body *body, int r) { return body->params[body->result[r].param].type; }

static int rank_of(const dcli_body *body, int r) { return body->params[body->result[r].param].rank; }

static bool is_extreme(dcli_fold fold) { return fold == DCLI_FOLD_MIN || fold == DCLI_FOLD_MAX; }

static bool is_floating(dcl_type type) { return type >= DCL_HALF; }

static bool is_sum(const dcli_body *body, int r) { return dcli_keyed_longs(body, r) == DCLI_PARTIAL_LONGS; }

/* The type of words. */
static const char *word_type(const dcli_body *body, int r)
{
    return dcl_type_bytes(type_of(body, r)) == 8 ? "ulong" : "uint";
}

/* The type of a work-item's, or group's, own partial results: of CPUs that of the table of all sums. */
static const char *own_type(const dcli_body *body, dcli_form form, int r)
{
    return !is_sum(body, r) ? word_type(body, r) : form == DCLI_FORM_GPU ? "struct dcl_slot" : "struct dcl_slots";
}

static int word_bytes(const dcli_body *body, int r) { return dcl_type_bytes(type_of(body, r)) == 8 ? 8 : 4; }

static int own_count(const dcli_body *body, int r)
{
    return DCLI_KEYED_OWN_BYTES / (is_sum(body, r) ? SLOT_BYTES : word_bytes(body, r));
}

static int group_count(const dcli_body *body, int r)
{
    return GROUP_BYTES / body->result_count / (is_sum(body, r) ? GROUP_SLOT_BYTES : word_bytes(body, r));
}

int64_t dcli_keyed_group_count(const dcli_body *body, int r) { return group_count(body, r); }

bool dcli_keyed_has_own(const dcli_body *body, int r, int64_t elements) { return elements <= own_count(body, r); }

/* ---- words ----------------------------------------------------------------------------------------------------------- */

static void put_word_macros(dcli_text *out, dcli_fold fold, dcl_type type)
{
    static const char *const words[] = {[DCLI_FOLD_SUM] = "(dcl_U)(x)",
                                        [DCLI_FOLD_PRODUCT] = "((dcl_U)(x) - 1)",
                                        [DCLI_FOLD_AND] = "(~(dcl_U)(x))",
                                        [DCLI_FOLD_OR] = "(dcl_U)(x)",
                                        [DCLI_FOLD_XOR] = "(dcl_U)(x)",
                                        [DCLI_FOLD_MIN] = "(DCL_BITS(DCL_FIRST) - DCL_BITS(x))",
                                        [DCLI_FOLD_MAX] = "(DCL_BITS(x) - DCL_BITS(DCL_FIRST))"};
    static const char *const joins[] = {
        [DCLI_FOLD_SUM] = "((x) + (y))",  [DCLI_FOLD_PRODUCT] = "(((x) + 1) * ((y) + 1) - 1)",
        [DCLI_FOLD_AND] = "((x) | (y))",  [DCLI_FOLD_OR] = "((x) | (y))",
        [DCLI_FOLD_XOR] = "((x) ^ (y))",  [DCLI_FOLD_MIN] = "dcl_max(x, y)",
        [DCLI_FOLD_MAX] = "dcl_max(x, y)"};
    const char *name = dcli_kernel_type(type);
    if (is_extreme(fold))
        dcli_text_put(out, "#define DCL_FIRST (%s)%s\n#define DCL_BITS(x) (dcl_U)%s%s(x)\n", name,
                      dcli_fold_neutral(fold, type), is_floating(type) ? "dcl_key_" : "",
                      is_floating(type) ? name : "");
    dcli_text_put(out, "#define DCL_WORD(x) %s%s\n#define DCL_JOIN(x, y) %s\n",
                  is_extreme(fold) && is_floating(type) ? "(x) != (x) ? ~(dcl_U)0 : " : "", words[fold], joins[fold]);
}

/* Emit the macros by which a GPU changes a word: DCL_SWAP, and DCL_NATIVE if one instruction combines words.
 * Instructions on 64 bits other than the addition need an extension of their own (cl_khr_int64_extended_atomics). */
static void put_atomics(dcli_text *out, dcli_fold fold, bool wide)
{
    static const char *const native[DCLI_FOLD_XOR + 1] = {
        [DCLI_FOLD_SUM] = "add", [DCLI_FOLD_AND] = "or",  [DCLI_FOLD_OR] = "or",
        [DCLI_FOLD_XOR] = "xor", [DCLI_FOLD_MIN] = "max", [DCLI_FOLD_MAX] = "max"};
    const char *start = wide ? "atom" : "atomic";
    dcli_text_put(out, "#define DCL_SWAP %s_cmpxchg\n", start);
    if (native[fold] != NULL && (!wide || fold == DCLI_FOLD_SUM))
        dcli_text_put(out, "#define DCL_NATIVE(p, x) %s_%s(p, x)\n", start, native[fold]);
}

void dcli_keyed_put_value(dcli_text *out, dcli_fold fold, dcl_type type, const char *partial)
{
    const char *name = dcli_kernel_type(type), *neutral = dcli_fold_neutral(fold, type);
    if (fold == DCLI_FOLD_PRODUCT)
        dcli_text_put(out, "%s + 1", partial);
    else if (fold == DCLI_FOLD_AND)
        dcli_text_put(out, "~%s", partial);
    else if (!is_extreme(fold))
        dcli_text_put(out, "%s", partial);
    else if (!is_floating(type))
        dcli_text_put(out,
                      fold == DCLI_FOLD_MAX ? "(%s)((ulong)(%s)%s + (ulong)%s)" : "(%s)((ulong)(%s)%s - (ulong)%s)",
                      name, name, neutral, partial);
    if (!is_extreme(fold) || !is_floating(type))
        return;
    bool single = type == DCL_FLOAT;
    const char *word = single ? "uint" : "ulong", *integer = single ? "int" : "long";
    const char *first = fold == DCLI_FOLD_MAX ? (single ? "0x807fffff" : "0x800fffffffffffff")
                                              : (single ? "0x7f800000" : "0x7ff0000000000000");
    char key[96]; /* keys of infinities: kernel/key.cl */
    snprintf(key, sizeof key, "(%s)((%s)%s %c (%s)%s)", integer, word, first, fold == DCLI_FOLD_MAX ? '+' : '-', word,
             partial);
    dcli_text_put(out, "(%s)%s == ~(%s)0 ? NAN : as_%s(%s ^ (%s >> %d & %s))", word, partial, word, name, key, key,
                  single ? 31 : 63, single ? "0x7fffffff" : "0x7fffffffffffffff");
}

char *dcli_keyed_functions(dcl_type type)
{
    dcli_text text = {0}, out = {0};
    dcli_text_put(&text, "%s%s%s", dcli_cl_names, dcli_cl_sum, dcli_cl_sum_one);
    dcli_emit_of_type(&text, dcli_cl_sum_round, type);
    char *from = dcli_text_take(&text);
    if (from == NULL)
        return NULL;
    for (const char *at = from; *at != '\0';) { /* names of the library are refused in preludes */
        if (strncmp(at, "dcl_", 4) == 0 || strncmp(at, "DCL_", 4) == 0) {
            dcli_text_put(&out, "%s", *at == 'd' ? "keyed_" : "KEYED_");
            at += 4;
        } else {
            dcli_text_append(&out, at++, 1);
        }
    }
    dcli_free(from);
    return dcli_text_take(&out);
}

/* ---- code ------------------------------------------------------------------------------------------------------------ */

/* Emit a list separated by commas: for each axis of a result, `before`, the number of the axis, and `after`. */
static void put_axes(dcli_text *out, int rank, const char *before, const char *after)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s%s%d%s", d > 0 ? ", " : "", before, d, after);
}

/* Emit dcl_outside_<r>, which reports that no element has the keys dcl_k. It is a function that is not inlined, because
 * it is rarely called and would slow down the loop. */
static void put_outside(dcli_text *out, const dcli_body *body, int r)
{
    int rank = rank_of(body, r);
    dcli_text_put(out, "DCL_KEYED_RARE void dcl_outside_%d(__global long *dcl_report, ", r);
    put_axes(out, rank, "const long dcl_k", "");
    dcli_text_put(out, ")\n{\n    if (dcl_is_first(dcl_report)) {\n        dcl_report[1] = %d;\n",
                  body->access_count + r);
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "        dcl_report[%d] = dcl_k%d;\n", d + 2, d);
    dcli_text_put(out, "    }\n}\n");
}

/* Emit the macro dcl_into<r>(keys, value), to which the text's statements become calls. */
static void put_call(dcli_text *out, const dcli_body *body, dcli_form form, int r)
{
    int rank = rank_of(body, r);
    bool sum = is_sum(body, r), gpu = form == DCLI_FORM_GPU;
    char low[24], extent[24], left[40] = "";
    snprintf(low, sizeof low, "dcl_low%d_", r);
    snprintf(extent, sizeof extent, "dcl_extent%d_", r);
    if (gpu)
        snprintf(left, sizeof left, sum ? "dcl_round, &dcl_asked%d, " : "dcl_round, ", r);
    else if (sum)
        snprintf(left, sizeof left, "&dcl_left%d, ", r);
    dcli_text_put(out, "#define dcl_into%d(", r);
    put_axes(out, rank, "k", "");
    dcli_text_put(out, ", x) dcl_into_%d(dcl_report, ", r);
    put_axes(out, rank, low, "");
    dcli_text_put(out, ", ");
    put_axes(out, rank, extent, "");
    dcli_text_put(out, ", ");
    put_axes(out, rank, "(k", ") | 0");
    dcli_text_put(out, ", dcl_has_own%d, dcl_own%d, %sdcl_out%d, dcl_elements%d, x)\n", r, r, left, r, r);
}

/* Emit dcl_into_<r>, which reduces a value into the element that has the keys dcl_k, and its call. Keys of
 * floating-point types cannot be operands of |. */
static void put_into(dcli_text *out, const dcli_body *body, dcli_form form, int r)
{
    int rank = rank_of(body, r);
    bool sum = is_sum(body, r), gpu = form == DCLI_FORM_GPU;
    const char *state = gpu   ? sum ? "const int dcl_round, struct dcl_asked *dcl_asked, " : "const int dcl_round, "
                        : sum ? "int *dcl_left, "
                              : "";
    const char *given = gpu ? sum ? "dcl_round, dcl_asked, " : "dcl_round, " : sum ? "dcl_left, " : "";
    dcli_text_put(out, "DCL_KEYED_INLINE void dcl_into_%d(__global long *dcl_report, ", r);
    put_axes(out, rank, "const long dcl_l", "");
    dcli_text_put(out, ", ");
    put_axes(out, rank, "const long dcl_n", "");
    dcli_text_put(out, ", ");
    put_axes(out, rank, "const long dcl_k", "");
    dcli_text_put(
        out,
        ", const bool dcl_has_own, %s%s *dcl_own, %s__global long *dcl_out, const ulong dcl_n, const %s dcl_x)\n"
        "{\n    if (DCL_KEYED_LIKELY(",
        gpu ? "volatile __local " : "", own_type(body, form, r), state, dcli_kernel_type(type_of(body, r)));
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%s(ulong)dcl_k%d - (ulong)dcl_l%d < (ulong)dcl_n%d", d > 0 ? " && " : "", d, d, d);
    dcli_text_put(out, "))\n        dcl_put_%d(dcl_has_own, dcl_own, %sdcl_out, %s(ulong)(", r, given,
                  sum && !gpu ? "dcl_n, " : "");
    for (int d = 1; d < rank; d++)
        dcli_text_put(out, "(");
    for (int d = 0; d < rank; d++) {
        if (d > 0)
            dcli_text_put(out, " * dcl_n%d + ", d);
        dcli_text_put(out, "(dcl_k%d - dcl_l%d)%s", d, d, d > 0 ? ")" : "");
    }
    dcli_text_put(out, "), dcl_x);\n    else\n        dcl_outside_%d(dcl_report, ", r);
    put_axes(out, rank, "dcl_k", "");
    dcli_text_put(out, ");\n}\n");
    put_call(out, body, form, r);
}

/* Emit the functions by which reductions along axes reduce in variables. */
static void put_fold_functions(dcli_text *out, const dcli_body *body)
{
    dcli_body *along = dcli_keyed_as_along(body);
    if (along != NULL)
        dcli_emit_fold_functions(out, along, DCLI_FORM_CPU);
    else
        out->failed = true;
    dcli_free(along);
}

void dcli_emit_keyed_functions(dcli_text *out, const dcli_body *body, dcli_form form)
{
    bool sums = false, keys[DCL_DOUBLE + 1] = {false};
    bool folds = form == DCLI_FORM_CPU && dcli_keyed_folds(body);
    if (!body->keyed)
        return;
    if (folds)
        put_fold_functions(out, body);
    dcli_text_put(out,
                  "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                  "#define DCL_KEYED_AHEAD 64 /* keys that are looked at before their values are reduced */\n"
                  "#define DCL_SLOTS %d\n"
                  "#define DCL_KEYED(name) DCL_PASTE(name, DCL_R)\n"
                  "#ifdef __clang__\n#define DCL_KEYED_INLINE static inline __attribute__((always_inline))\n"
                  "#define DCL_KEYED_RARE static __attribute__((noinline, cold))\n"
                  "#define DCL_KEYED_LIKELY(x) __builtin_expect(x, 1)\n"
                  "#else\n#define DCL_KEYED_INLINE static inline\n#define DCL_KEYED_RARE static\n"
                  "#define DCL_KEYED_LIKELY(x) (x)\n#endif\n",
                  DCLI_KEYED_OWN_BYTES / SLOT_BYTES);
    for (int r = 0; r < body->result_count; r++) {
        dcl_type type = type_of(body, r);
        bool key = is_extreme(body->result[r].fold) && is_floating(type);
        if (key && !keys[type] && !folds) {
            dcli_text_put(out, "#define dcl_I %s\n", type == DCL_FLOAT ? "int" : "long");
            dcli_emit_of_type(out, dcli_cl_key, type);
            dcli_text_put(out, "#undef dcl_I\n");
        }
        keys[type] |= key;
        if (is_sum(body, r) && !sums)
            dcli_text_put(out, "%s%s%s%s%s%s", folds ? "" : dcli_cl_sum, dcli_cl_sum_one, dcli_cl_fence,
                          dcli_cl_keyed_lock, folds ? dcli_cl_sum_merge : "", folds ? dcli_cl_keyed_merge : "");
        sums |= is_sum(body, r);
    }
    const char *words = form == DCLI_FORM_GPU ? dcli_cl_keyed_gpu : dcli_cl_keyed;
    const char *slots = form == DCLI_FORM_GPU ? dcli_cl_keyed_sum_gpu : dcli_cl_keyed_sum;
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(out, "#define DCL_R %d\n", r);
        if (!is_sum(body, r)) {
            dcli_text_put(out, "#define dcl_U %s\n", word_type(body, r));
            put_word_macros(out, body->result[r].fold, type_of(body, r));
            if (form == DCLI_FORM_GPU)
                put_atomics(out, body->result[r].fold, word_bytes(body, r) == 8);
        }
        dcli_emit_of_type(out, is_sum(body, r) ? slots : words, type_of(body, r));
        put_outside(out, body, r);
        put_into(out, body, form, r);
        dcli_text_put(out, "#undef DCL_R\n#undef dcl_U\n#undef DCL_WORD\n#undef DCL_JOIN\n#undef DCL_BITS\n"
                           "#undef DCL_FIRST\n#undef DCL_SWAP\n#undef DCL_NATIVE\n");
    }
}

/* Emit the variables of result r that kernels for CPUs and for GPUs have. @param most  how many elements the result
 * may have so that its partial results have room in memory of a work-item's or group's own. */
static void put_elements(dcli_text *out, const dcli_body *body, int r, int most)
{
    dcli_text_put(out,
                  "    __global long *const dcl_out%d = dcl_partials%d;\n    const ulong dcl_elements%d = (ulong)(", r,
                  r, r);
    for (int d = 0; d < rank_of(body, r); d++)
        dcli_text_put(out, "%sdcl_extent%d_%d", d > 0 ? " * " : "", r, d);
    dcli_text_put(out, ");\n    const bool dcl_has_own%d = dcl_elements%d <= %d;\n", r, r, most);
}

void dcli_emit_keyed_begin(dcli_text *out, const dcli_body *body, bool folds)
{
    for (int r = 0; r < body->result_count && body->keyed; r++) {
        put_elements(out, body, r, folds ? 0 : own_count(body, r));
        if (folds && is_sum(body, r))
            dcli_text_put(out, "    long dcl_guess%d = 0;\n", r);
        dcli_text_put(out, "    %s dcl_own%d[%d];\n", own_type(body, DCLI_FORM_CPU, r), r,
                      is_sum(body, r) ? 1 : own_count(body, r));
        if (is_sum(body, r))
            dcli_text_put(out, "    int dcl_left%d = DCL_SLOT_ADDITIONS;\n", r);
        dcli_text_put(out, "    if (dcl_has_own%d)\n        dcl_begin_%d(dcl_own%d, dcl_elements%d);\n", r, r, r, r);
    }
}

void dcli_emit_keyed_end(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count && body->keyed; r++)
        dcli_text_put(out, "    if (dcl_has_own%d)\n        dcl_end_%d(dcl_own%d, dcl_out%d, dcl_elements%d);\n", r, r,
                      r, r, r);
}

/* ---- strips ---------------------------------------------------------------------------------------------------------- */

bool dcli_keyed_looks_ahead(const dcli_body *body)
{
    if (!body->keyed || body->inside->tokens.count > SHORT_BODY || strstr(body->text, "printf") != NULL ||
        strstr(body->prelude, "printf") != NULL)
        return false;
    for (int r = 0; r < body->result_count; r++)
        if (is_sum(body, r))
            return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    return true;
}

/* Emit the number of the element that has the keys k0, k1, ..., counted from keys 0. @param key  what stands before
 * an axis' number. */
static void put_number_of(dcli_text *out, int rank, int r, const char *key)
{
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "(");
    for (int d = 0; d < rank; d++) {
        if (d > 0)
            dcli_text_put(out, " * dcl_extent%d_%d + ", r, d);
        dcli_text_put(out, "(long)(%s%d))", key, d);
    }
}

/* Emit dcl_into<r> for a strip whose values may be added as vectors. Signs are combined, since compilers vectorize
 * that. */
static void put_line_call(dcli_text *out, const dcli_body *body, dcli_keyed_calls calls, int r)
{
    int rank = rank_of(body, r);
    const char *name = dcli_kernel_type(type_of(body, r));
    dcli_text_put(out, "#define dcl_into%d(", r);
    put_axes(out, rank, "k", "");
    if (calls == DCLI_KEYED_INSIDE) {
        dcli_text_put(out, ", x) (dcl_outside |= 0");
        for (int d = 0; d < rank; d++)
            dcli_text_put(out,
                          " | ((ulong)((k%d) | 0) - (ulong)dcl_low%d_%d) | "
                          "((ulong)dcl_extent%d_%d - 1 - ((ulong)((k%d) | 0) - (ulong)dcl_low%d_%d))",
                          d, r, d, r, d, d, r, d);
        dcli_text_put(out, ", (void)(x))\n");
        return;
    }
    dcli_text_put(out, calls == DCLI_KEYED_FITTING ? ", x) dcl_fits &= dcl_slot_fits(" : ", x) dcl_slot_add(");
    dcli_text_put(out, "dcl_own%d, (ulong)(", r);
    put_number_of(out, rank, r, "k");
    dcli_text_put(out, " - dcl_lowest), (%s)(x))\n", name);
}

void dcli_emit_keyed_lines(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "    bool dcl_added = false;\n    if (dcl_m >= 8 && dcl_has_own0");
    for (int d = 0; d < rank_of(body, 0); d++) /* so that numbers of elements do not overflow */
        dcli_text_put(out, " && dcl_low0_%d > -(1L << 40) && dcl_low0_%d < 1L << 40", d, d);
    dcli_text_put(out, ") {\n    ulong dcl_outside = 0;\n    long dcl_fits = -1;\n    const long dcl_lowest = ");
    put_number_of(out, rank_of(body, 0), 0, "dcl_low0_");
    dcli_text_put(out, ";\n");
}

void dcli_emit_keyed_room(dcli_text *out)
{
    dcli_text_put(out, "    if (dcl_left0 <= dcl_m) {\n        dcl_settle_0(dcl_own0, dcl_out0, dcl_elements0);\n"
                       "        dcl_left0 = DCL_SLOT_ADDITIONS;\n    }\n    dcl_left0 -= (int)dcl_m;\n");
}

void dcli_emit_keyed_calls(dcli_text *out, const dcli_body *body, dcli_keyed_calls calls)
{
    for (int r = 0; r < body->result_count; r++) {
        int rank = rank_of(body, r);
        dcli_text_put(out, "#undef dcl_into%d\n", r);
        if (calls == DCLI_KEYED_CHECKED) {
            put_call(out, body, DCLI_FORM_CPU, r);
            continue;
        }
        if (calls >= DCLI_KEYED_INSIDE) {
            put_line_call(out, body, calls, r);
            continue;
        }
        dcli_text_put(out, "#define dcl_into%d(", r);
        put_axes(out, rank, "k", "");
        if (calls == DCLI_KEYED_UNCHECKED) {
            dcli_text_put(out, ", x) dcl_put_%d(true, dcl_base%d, dcl_out%d, (ulong)", r, r, r);
            put_number_of(out, rank, r, "k");
            dcli_text_put(out, ", x)\n");
            continue;
        }
        dcli_text_put(out, ", x) (");
        for (int d = 0; d < rank; d++) /* compilers leave out one of the two */
            dcli_text_put(
                out,
                "dcl_near%d_%d = dcl_max_uint(dcl_near%d_%d, sizeof((k%d) | 0) == 4 ? (uint)((k%d) | 0) - "
                "(uint)dcl_low%d_%d : 0u), "
                "dcl_far%d_%d = dcl_max_ulong(dcl_far%d_%d, sizeof((k%d) | 0) == 4 ? 0 : (ulong)((k%d) | 0) - "
                "(ulong)dcl_low%d_%d), ",
                r, d, r, d, d, d, r, d, r, d, r, d, d, d, r, d);
        dcli_text_put(out, "(void)(x))\n");
    }
}

void dcli_emit_keyed_look(dcli_text *out, const dcli_body *body)
{
    char low[24];
    for (int r = 0; r < body->result_count; r++) {
        snprintf(low, sizeof low, "dcl_low%d_", r);
        dcli_text_put(out, "    %s *const dcl_base%d = (%s *)((ulong)dcl_own%d - sizeof(%s) * ", word_type(body, r), r,
                      word_type(body, r), r, word_type(body, r));
        put_number_of(out, rank_of(body, r), r, low);
        dcli_text_put(out, ");\n");
    }
    dcli_text_put(out, "    for (bool dcl_looks = true");
    for (int r = 0; r < body->result_count; r++) {
        dcli_text_put(out, " && dcl_has_own%d", r);
        for (int d = 0; d < rank_of(body, r); d++)
            dcli_text_put(out, " && dcl_low%d_%d >= 0 && dcl_low%d_%d < 1 << 30", r, d, r, d);
    }
    dcli_text_put(out, "; dcl_looks && dcl_from + DCL_KEYED_AHEAD <= dcl_m; dcl_from += DCL_KEYED_AHEAD) {\n");
    for (int r = 0; r < body->result_count; r++)
        for (int d = 0; d < rank_of(body, r); d++)
            dcli_text_put(out, "    uint dcl_near%d_%d = 0;\n    ulong dcl_far%d_%d = 0;\n", r, d, r, d);
}

void dcli_emit_keyed_looked(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "    if (false");
    for (int r = 0; r < body->result_count; r++)
        for (int d = 0; d < rank_of(body, r); d++)
            dcli_text_put(out, " || dcl_max((ulong)dcl_near%d_%d, dcl_far%d_%d) >= (ulong)dcl_extent%d_%d", r, d, r, d,
                          r, d);
    dcli_text_put(out, ")\n        break;\n");
}

/* ---- groups of GPUs -------------------------------------------------------------------------------------------------- */

bool dcli_keyed_has_rounds(const dcli_body *body)
{
    bool sums = false;
    for (int r = 0; r < body->result_count; r++)
        sums |= is_sum(body, r);
    return sums;
}

void dcli_emit_keyed_group_begin(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++) /* the outermost block of a kernel declares local memory */
        dcli_text_put(out, "    __local %s dcl_room%d[%d];\n", own_type(body, DCLI_FORM_GPU, r), r,
                      group_count(body, r));
    dcli_text_put(out, "    const uint dcl_size = get_local_size(0) * get_local_size(1);\n"
                       "    const uint dcl_me = get_local_id(1) * get_local_size(0) + get_local_id(0);\n");
    for (int r = 0; r < body->result_count; r++) {
        put_elements(out, body, r, group_count(body, r));
        dcli_text_put(out,
                      "    const uint dcl_n_%d = dcl_has_own%d ? (uint)dcl_elements%d : 0;\n"
                      "    const uint dcl_copies%d = dcl_min((uint)%d, (uint)%d / dcl_max(dcl_n_%d, 1u));\n"
                      "    volatile __local %s *const dcl_own%d = dcl_room%d + dcl_me %% dcl_copies%d * dcl_n_%d;\n"
                      "    dcl_begin_%d(dcl_room%d, dcl_n_%d * dcl_copies%d, dcl_me, dcl_size);\n",
                      r, r, r, r, is_sum(body, r) ? SLOT_COPIES : WORD_COPIES, group_count(body, r), r,
                      own_type(body, DCLI_FORM_GPU, r), r, r, r, r, r, r, r, r);
    }
    dcli_text_put(out, "    barrier(CLK_LOCAL_MEM_FENCE);\n");
}

void dcli_emit_keyed_asked(dcli_text *out, const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++)
        if (is_sum(body, r))
            dcli_text_put(out, "    struct dcl_asked dcl_asked%d = {DCL_SLOT_ADDITIONS, false};\n", r);
}

void dcli_emit_keyed_again(dcli_text *out, const dcli_body *body)
{
    dcli_text_put(out, "false");
    for (int r = 0; r < body->result_count; r++)
        if (is_sum(body, r))
            dcli_text_put(out, " || dcl_asked%d.dcl_again", r);
}

void dcli_emit_keyed_group(dcli_text *out, const dcli_body *body, const char *function, bool words)
{
    for (int r = 0; r < body->result_count; r++)
        if (words || is_sum(body, r))
            dcli_text_put(out, "    %s%d(dcl_room%d, dcl_out%d, dcl_n_%d, dcl_copies%d, dcl_me, dcl_size);\n", function,
                          r, r, r, r, r);
}
