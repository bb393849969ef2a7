/* kernel/element.c - reductions into single elements of arrays: find them, and generate the body that combines partial results. */
#include "kernel/element.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/cl.h"
#include "kernel/emit.h"
#include "kernel/fold.h"
#include "kernel/names.h"

/* ---- subscripts ------------------------------------------------------------------------------------------------------ */

/* Whether a token is an integer without a suffix, decimal or octal as in C. */
static bool is_integer(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    const char *digits = tokens->text + token->start;
    for (int c = 0; c < token->length; c++)
        if (!isdigit((unsigned char)digits[c]) || (digits[0] == '0' && digits[c] > '7'))
            return false;
    return dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NUMBER && token->length < 19;
}

bool dcli_is_constant(const dcli_tokens *tokens, int first, int end, int count, const dcli_param params[])
{
    bool sign = dcli_token_is(tokens, first, "-");
    if (end - first != 1 + sign)
        return false;
    for (int p = 0; p < count && !sign; p++)
        if (params[p].access == DCL_ACCESS_VALUE && params[p].type < DCL_HALF &&
            dcli_token_is(tokens, first, params[p].name))
            return true;
    return is_integer(tokens, end - 1);
}

/* The value of a constant subscript. @return false: it is none. */
static bool read_constant(const dcli_tokens *tokens, int first, int end, int count, const dcl_arg args[],
                          int64_t *value_out)
{
    bool sign = dcli_token_is(tokens, first, "-");
    if (end - first != 1 + sign)
        return false;
    for (int k = 0; k < count && !sign; k++)
        if (args[k].access == DCL_ACCESS_VALUE && args[k].type < DCL_HALF &&
            dcli_token_is(tokens, first, args[k].name)) {
            *value_out = args[k].value.i;
            return true;
        }
    if (!is_integer(tokens, end - 1))
        return false;
    int64_t value = strtoll(tokens->text + tokens->token[end - 1].start, NULL, 0);
    *value_out = sign ? -value : value;
    return true;
}

/* Whether argument k is an element: the same constant subscripts wherever it has some. */
static bool read_element(const dcli_tokens *tokens, int k, int rank, int count, const dcl_arg args[],
                         dcli_reduced_element *element)
{
    int found = -1, first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    element->arg = k;
    for (int t = 0; t < tokens->count; t++) {
        if (!dcli_token_is(tokens, t, args[k].name) || !dcli_token_is(tokens, t + 1, "("))
            continue;
        int length = tokens->token[t + 1].partner - t;
        if (found >= 0 &&
            (tokens->token[found + 1].partner - found != length || !dcli_tokens_equal(tokens, t, found, length)))
            return false;
        if (found < 0 && dcli_token_split(tokens, t + 1, DCL_MAX_RANK, first, end) != rank)
            return false;
        for (int d = 0; d < rank && found < 0; d++)
            if (!read_constant(tokens, first[d], end[d], count, args, &element->index[d]))
                return false;
        found = t;
    }
    return found >= 0;
}

/* The index that token t is: a letter i to p that is no argument. -1: none. */
static int index_at(const dcli_tokens *tokens, int t, int count, const dcl_arg args[])
{
    const dcli_token *token = &tokens->token[t];
    for (int k = 0; k < count; k++)
        if (args[k].name != NULL && dcli_token_is(tokens, t, args[k].name))
            return -1;
    return dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NAME
               ? dcli_name_index(tokens->text + token->start, (size_t)token->length)
               : -1;
}

/* The indices in the brackets of a place of an array, the token `open` and its partner. */
static unsigned indices_in(const dcli_tokens *tokens, int open, int count, const dcl_arg args[])
{
    unsigned found = 0;
    for (int t = open + 1; t < tokens->token[open].partner; t++) {
        int index = dcli_token_in(tokens, t - 1, ". ->") || dcli_token_is(tokens, t + 1, "(")
                        ? -1
                        : index_at(tokens, t, count, args);
        found |= index >= 0 ? 1U << index : 0;
    }
    return found;
}

/* All indices of the text. */
static unsigned all_indices(const dcli_tokens *tokens, int count, const dcl_arg args[], const int ranks[])
{
    unsigned found = 0;
    for (int t = 0; t < tokens->count; t++)
        for (int k = 0; k < count; k++)
            if (ranks[k] > 0 && dcli_token_is(tokens, t, args[k].name) && dcli_token_is(tokens, t + 1, "("))
                found |= indices_in(tokens, t + 1, count, args);
    return found;
}

/* Whether argument k is an ordinary output: its subscripts are all indices of the text wherever it has some, and the text assigns to it
 * by operators of C. `X(i) += A(i);` with DCL_OUT starts from the neutral element, so it is a reduction by keys. */
static bool is_ordinary(const dcli_tokens *tokens, int k, int rank, unsigned indices, int count, const dcl_arg args[])
{
    bool first = true;
    for (int t = 0; t < tokens->count; t++) {
        if (!dcli_token_is(tokens, t, args[k].name) || !dcli_token_is(tokens, t + 1, "("))
            continue;
        int behind = tokens->token[t + 1].partner + 1;
        if (dcli_token_kind_of(tokens, behind) == DCLI_TOKEN_NAME ||
            (first && args[k].access == DCL_ACCESS_OUT && dcli_token_in(tokens, behind, "+= -= *= &= |= ^=")) ||
            behind - t != 2 * rank + 2 || indices_in(tokens, t + 1, count, args) != indices ||
            __builtin_popcount(indices) != rank)
            return false;
        first = false;
    }
    return !first;
}

int dcli_elements_find(const char *text, int count, const dcl_arg args[], const int ranks[], dcli_reduced_element out[])
{
    dcli_tokens tokens;
    int found = 0;
    bool all = true;
    if (dcli_tokens_make(text, &tokens) != DCL_OK) /* the parser will say why */
        return 0;
    unsigned indices = all_indices(&tokens, count, args, ranks);
    for (int k = 0; k < count && all; k++) {
        if (args[k].access != DCL_ACCESS_OUT && args[k].access != DCL_ACCESS_INOUT)
            continue;
        dcli_reduced_element element;
        if (read_element(&tokens, k, ranks[k], count, args, &element)) {
            all = found < DCLI_MAX_RESULTS;
            if (all)
                out[found++] = element;
        } else {
            all = is_ordinary(&tokens, k, ranks[k], indices, count, args);
        }
    }
    dcli_tokens_free(&tokens);
    return all ? found : 0;
}

/* ---- combining -------------------------------------------------------------------------------------------------------- */

/* Put OpenCL C of the library into a prelude, where names must not begin with dcl_ or DCL_. */
static void put_renamed(dcli_text *out, const char *text)
{
    while (*text != '\0') {
        const char *lower = strstr(text, "dcl_"), *upper = strstr(text, "DCL_");
        const char *next = lower == NULL || (upper != NULL && upper < lower) ? upper : lower;
        if (next == NULL) {
            dcli_text_put(out, "%s", text);
            return;
        }
        dcli_text_put(out, "%.*s%s", (int)(next - text), text, next == lower ? "reduce_" : "REDUCE_");
        text = next + strlen("dcl_");
    }
}

/* Put "reduce_element(i,j)". */
static void put_element(dcli_text *out, int rank)
{
    dcli_text_put(out, DCLI_ELEMENT);
    for (int d = 0; d < rank; d++)
        dcli_text_put(out, "%c%s", d == 0 ? '(' : ',', dcli_index_name(d));
    dcli_text_put(out, ")");
}

/* Put word k of a partial result; -1: its stamp. */
static const char *word(char text[40], bool tree, int k)
{
    if (tree)
        snprintf(text, 40, DCLI_ELEMENT_WORDS "(0, %d)", k + 1);
    else if (k < 0)
        snprintf(text, 40, DCLI_ELEMENT_WORDS "(reduce_n * reduce_step)");
    else
        snprintf(text, 40, DCLI_ELEMENT_WORDS "(reduce_a + %d)", k);
    return text;
}

/* Put the loop over slots, whose words are reduce_x from 1 on. */
static void put_loop(dcli_text *out, bool tree)
{
    char text[40];
    dcli_text_put(out, tree ? "for (long reduce_n = 0; reduce_n < 1; reduce_n++) {\n"
                            : "for (long reduce_n = 0; reduce_n < reduce_count; reduce_n++) {\n"
                              "    const long reduce_a = reduce_first + reduce_n * reduce_step;\n");
    dcli_text_put(out, "    if (%s != reduce_stamp)\n        continue;\n", word(text, tree, -1));
    dcli_text_put(out, "    const long reduce_x[] = {reduce_stamp");
    for (int k = 0; k < DCLI_PARTIAL_LONGS; k++)
        dcli_text_put(out, ", %s", word(text, tree, k));
    dcli_text_put(out, "};\n");
}

/* Put the statements that merge the words reduce_x into the sum reduce_s. */
static void put_sum_merge(dcli_text *out)
{
    dcli_text_put(out, "    struct reduce_sum reduce_o = {reduce_x[1], reduce_x[2], {reduce_x[3], reduce_x[4]},\n"
                       "        {reduce_x[5], reduce_x[6]}};\n"
                       "    if (reduce_o.reduce_top != 0 || reduce_o.reduce_seen != 0)\n"
                       "        reduce_sum_merge(&reduce_s, &reduce_o);\n");
}

static void put_sum(dcli_text *out, dcl_type type, int rank, bool added, bool tree)
{
    dcli_text_put(out, "struct reduce_sum reduce_s = {0, 0, {0, 0}, {0, 0}};\n");
    if (added) {
        dcli_text_put(out, "reduce_sum_number(&reduce_s, ");
        put_element(out, rank);
        dcli_text_put(out, ");\n");
    }
    put_loop(out, tree);
    put_sum_merge(out);
    dcli_text_put(out, "}\n");
    put_element(out, rank);
    dcli_text_put(out, " = (%s)reduce_sum_value(&reduce_s, %s);\n", dcli_kernel_type(type),
                  type == DCL_FLOAT ? "true" : "false");
}

/* Put the statement that combines a value reduce_y with reduce_v: integers, or keys of doubles (kernel/key.cl). */
static void put_combination(dcli_text *out, dcli_fold fold, dcl_type type)
{
    const char *wide = type == DCL_UINT64 ? "ulong" : "long";
    if (fold == DCLI_FOLD_MIN || fold == DCLI_FOLD_MAX)
        dcli_text_put(out, "reduce_v = reduce_any ? (long)%s((%s)reduce_v, (%s)reduce_y) : reduce_y;\n",
                      fold == DCLI_FOLD_MIN ? "min" : "max", wide, wide);
    else
        dcli_text_put(out, "reduce_v = reduce_any ? (long)(%s)((ulong)reduce_v %s (ulong)reduce_y) : reduce_y;\n",
                      dcli_kernel_type(type), dcli_fold_sign(fold));
}

/* Put the statements by which the element's present value becomes the first value. */
static void put_present(dcli_text *out, dcli_fold fold, dcl_type type, int rank)
{
    if (type < DCL_HALF) {
        dcli_text_put(out, "reduce_v = (long)");
        put_element(out, rank);
        bool truth = fold == DCLI_FOLD_ANY || fold == DCLI_FOLD_ALL;
        dcli_text_put(out, "%s;\nreduce_any = true;\n", truth ? " != 0" : "");
        return;
    }
    dcli_text_put(out, "const double reduce_p = ");
    put_element(out, rank);
    dcli_text_put(out, ";\nreduce_nan = reduce_p != reduce_p;\nif (!reduce_nan) {\n"
                       "    reduce_v = as_long(reduce_p) ^ (as_long(reduce_p) >> 63 & LONG_MAX);\n"
                       "    reduce_any = true;\n}\n");
}

static void put_fold(dcli_text *out, dcli_fold fold, dcl_type type, int rank, bool added, bool tree)
{
    const char *name = dcli_kernel_type(type), *neutral = dcli_fold_neutral(fold, type);
    dcli_text_put(out, "bool reduce_any = false, reduce_nan = false;\nlong reduce_v = 0;\n");
    if (added)
        put_present(out, fold, type, rank);
    put_loop(out, tree);
    dcli_text_put(out, "    if (reduce_x[1] != 0) {\n"
                       "        const long reduce_y = reduce_x[2];\n"
                       "        reduce_nan = reduce_nan || reduce_x[3] != 0;\n");
    put_combination(out, fold, type);
    dcli_text_put(out, "reduce_any = true;\n    }\n}\n");
    put_element(out, rank);
    if (type < DCL_HALF)
        dcli_text_put(out, " = reduce_any ? (%s)reduce_v : (%s)%s;\n", name, name, neutral);
    else
        dcli_text_put(
            out, " = reduce_nan ? NAN : reduce_any ? (%s)as_double(reduce_v ^ (reduce_v >> 63 & LONG_MAX)) : (%s)%s;\n",
            name, name, neutral);
}

static dcl_status take(dcli_text *text, dcli_text *prelude, char **text_out, char **prelude_out)
{
    *text_out = dcli_text_take(text);
    *prelude_out = dcli_text_take(prelude);
    if (*text_out != NULL && *prelude_out != NULL)
        return DCL_OK;
    dcli_free(*text_out);
    dcli_free(*prelude_out);
    *text_out = *prelude_out = NULL;
    return DCL_ERR_NOMEM;
}

static bool is_float_sum(dcli_fold fold, dcl_type type) { return fold == DCLI_FOLD_SUM && type >= DCL_HALF; }

dcl_status dcli_element_source(dcli_fold fold, dcl_type type, int rank, bool added, bool tree, char **text_out,
                               char **prelude_out)
{
    dcli_text text = {0}, prelude = {0};
    if (is_float_sum(fold, type)) {
        const char *const parts[] = {dcli_cl_sum, dcli_cl_sum_merge, dcli_cl_sum_round, dcli_cl_element};
        for (size_t n = 0; n < sizeof parts / sizeof parts[0]; n++)
            put_renamed(&prelude, parts[n]);
        put_sum(&text, type, rank, added, tree);
    } else {
        put_fold(&text, fold, type, rank, added, tree);
    }
    return take(&text, &prelude, text_out, prelude_out);
}

/* Whether a body has the arguments that the runtime passes to the body that combines: the first ones, in this order. */
static bool has_element_params(const dcli_body *body)
{
    static const struct {
        const char *name;
        dcl_access access;
    } expected[DCLI_ELEMENT_PARAMS] = {{DCLI_ELEMENT, DCL_ACCESS_OUT},         {DCLI_ELEMENT_WORDS, DCL_ACCESS_IN_ALL},
                                       {DCLI_ELEMENT_FIRST, DCL_ACCESS_VALUE}, {DCLI_ELEMENT_STEP, DCL_ACCESS_VALUE},
                                       {DCLI_ELEMENT_COUNT, DCL_ACCESS_VALUE}, {DCLI_ELEMENT_STAMP, DCL_ACCESS_VALUE}};
    bool found = body->param_count >= DCLI_ELEMENT_PARAMS && body->access_count == 2 &&
                 body->access[0].param == DCLI_ELEMENT_PARAM_WORDS &&
                 body->access[1].param == DCLI_ELEMENT_PARAM_ELEMENT &&
                 body->params[DCLI_ELEMENT_PARAM_WORDS].rank == 1;
    for (int k = 0; k < DCLI_ELEMENT_PARAMS && found; k++)
        found = strcmp(body->params[k].name, expected[k].name) == 0 && body->params[k].access == expected[k].access &&
                (k == DCLI_ELEMENT_PARAM_ELEMENT || body->params[k].type == DCL_INT64);
    return found;
}

/* Whether a prelude, as the runtime sends it, consists of one text: it ends each text of a call by a line feed. */
static bool is_prelude(const char *prelude, const char *text)
{
    size_t length = strlen(text);
    return strncmp(prelude, text, length) == 0 && (prelude[length] == '\0' || strcmp(prelude + length, "\n") == 0);
}

dcli_combines dcli_element_recognize(const dcli_body *body)
{
    dcli_combines combines = {0};
    if (!has_element_params(body))
        return combines;
    const dcli_param *element = &body->params[DCLI_ELEMENT_PARAM_ELEMENT];
    if (element->type == DCL_HALF) /* the runtime reduces into none; other programs may send such a body */
        return combines;
    for (dcli_fold fold = DCLI_FOLD_SUM; fold < DCLI_FOLD_OWN && !combines.known; fold++) {
        char *text, *prelude;
        if (dcli_element_source(fold, element->type, element->rank, false, false, &text, &prelude) != DCL_OK)
            break;
        combines.known = strcmp(text, body->text) == 0 && is_prelude(body->prelude, prelude);
        combines.fold = fold;
        dcli_free(text);
        dcli_free(prelude);
    }
    return combines;
}

/* Put the statements that merge the words reduce_x into reduce_q, for a result that is not a sum. They do the same as
 * dcli_partial_merge(). */
static void put_fold_merge(dcli_text *out, dcli_fold fold, dcl_type type)
{
    bool extreme = fold == DCLI_FOLD_MIN || fold == DCLI_FOLD_MAX;
    dcli_text_put(out, "    if (reduce_x[1] == 0)\n        continue;\n"
                       "    if (reduce_q[1] == 0) {\n"
                       "        for (int reduce_k = 1; reduce_k < 7; reduce_k++)\n"
                       "            reduce_q[reduce_k] = reduce_x[reduce_k];\n        continue;\n    }\n"
                       "    const bool reduce_any = true;\n    const long reduce_y = reduce_x[2];\n"
                       "    long reduce_v = reduce_q[2];\n");
    put_combination(out, fold, type);
    if (extreme)
        dcli_text_put(out, "    if (reduce_q[3] != reduce_x[3])\n"
                           "        reduce_q[4] = reduce_q[3] != 0 ? reduce_q[4] : reduce_x[4];\n"
                           "    else if (reduce_q[3] == 0 && reduce_q[2] != reduce_x[2])\n"
                           "        reduce_q[4] = reduce_v == reduce_q[2] ? reduce_q[4] : reduce_x[4];\n"
                           "    else\n        reduce_q[4] = min(reduce_q[4], reduce_x[4]);\n");
    dcli_text_put(out, "    reduce_q[2] = reduce_v;\n    reduce_q[3] |= reduce_x[3];\n");
}

dcl_status dcli_tree_source(dcli_fold fold, dcl_type type, bool rows, char **text_out, char **prelude_out)
{
    dcli_text text = {0}, prelude = {0};
    bool sum = is_float_sum(fold, type);
    dcli_text_put(&text, "long reduce_q[7] = {reduce_stamp, 0, 0, 0, 0, 0, 0};\n%s",
                  sum ? "struct reduce_sum reduce_s = {0, 0, {0, 0}, {0, 0}};\n" : "");
    dcli_text_put(
        &text,
        "for (long reduce_slot = 0; reduce_slot < reduce_count; reduce_slot++) {\n"
        "    long reduce_x[8];\n" /* the last one is for words that are not needed */
        "    for (long reduce_column = 0; reduce_column < reduce_step; reduce_column++) {\n"
        "        const long reduce_y = %s;\n"
        "        const long reduce_k = reduce_column - reduce_first + 1;\n"
        "        reduce_x[reduce_column == 0 ? 0 : reduce_k > 0 && reduce_k < 7 ? reduce_k : 7] = reduce_y;\n    }\n"
        "    if (reduce_x[0] != reduce_stamp)\n        continue;\n",
        rows ? "reduce_words(constant(i + reduce_slot*reduce_part, 0, reduce_last, 0), reduce_column)"
             : "reduce_words(constant(i*reduce_part + reduce_slot*reduce_step + reduce_column, 0, reduce_last, 0))");
    if (sum) {
        put_renamed(&prelude, dcli_cl_sum);
        put_renamed(&prelude, dcli_cl_sum_merge);
        put_sum_merge(&text);
    } else {
        put_fold_merge(&text, fold, type);
    }
    dcli_text_put(&text, "}\n");
    if (sum)
        dcli_text_put(&text, "reduce_q[1] = reduce_s.reduce_top;\nreduce_q[2] = reduce_s.reduce_seen;\n"
                             "for (int reduce_k = 0; reduce_k < 2; reduce_k++) {\n"
                             "    reduce_q[3 + reduce_k] = reduce_s.reduce_high[reduce_k];\n"
                             "    reduce_q[5 + reduce_k] = reduce_s.reduce_low[reduce_k];\n}\n");
    dcli_text_put(&text, DCLI_TREE "(i,j) = reduce_q[j];\n");
    return take(&text, &prelude, text_out, prelude_out);
}
