/* kernel/stretch.c - finds the comparisons of a body, and emits the code that cuts lines into stretches. */
#include "kernel/stretch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/guard.h"
#include "kernel/inside.h"
#include "kernel/nest.h"

/* ---- finding ------------------------------------------------------------------------------------------------------ */

/* Whether token t, a number, is an integer of type int or long. */
static bool is_signed_integer(const dcli_tokens *tokens, int t)
{
    char text[32], *end;
    size_t length = (size_t)tokens->token[t].length;
    if (length >= sizeof text)
        return false;
    memcpy(text, tokens->text + tokens->token[t].start, length);
    text[length] = '\0';
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    return errno == 0 && value <= INT64_MAX && end > text && strspn(end, "lL") == strlen(end);
}

/* Whether token t can be part of a sum of indices, scalars and literals that are signed integers. Sums of floating-point numbers
 * are rounded, so that those with an index may rise and fall along a line. */
static bool is_of_sum(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NAME) {
        const dcli_param *scalar = dcli_param_at(body, t);
        return dcli_guard_knows(body, t) && !dcli_token_is(tokens, t + 1, "(") && !dcli_guard_is_unsigned(body, t) &&
               (scalar == NULL ||
                (scalar->type != DCL_HALF && scalar->type != DCL_FLOAT && scalar->type != DCL_DOUBLE));
    }
    if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NUMBER)
        return !dcli_guard_is_unsigned(body, t) && is_signed_integer(tokens, t);
    return dcli_token_in(tokens, t, "+ -");
}

/* Whether tokens first .. end - 1 are a comparison with an index, in which operands and operators alternate. Others are left where
 * they are: compilers take constants out of loops, and report errors there. */
static bool is_comparison(const dcli_body *body, int first, int end)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    bool index = false, operand = false; /* an operand precedes */
    for (int t = first; t < end; t++) {
        dcli_token_kind kind = dcli_token_kind_of(tokens, t);
        bool is_operand = kind == DCLI_TOKEN_NAME || kind == DCLI_TOKEN_NUMBER;
        index |= kind == DCLI_TOKEN_NAME && dcli_param_at(body, t) == NULL;
        if (operand && (is_operand || dcli_token_is(tokens, t, "(")))
            return false;
        operand = is_operand || dcli_token_is(tokens, t, ")");
    }
    return index && operand;
}

/* Whether the parentheses from token `open` on contain a sum. */
static bool is_sum_in_parentheses(const dcli_body *body, int open)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int t = open + 1; t < tokens->token[open].partner; t++)
        if (!is_of_sum(body, t) && !dcli_token_in(tokens, t, "( )"))
            return false;
    return tokens->token[open].partner > open + 1;
}

/* The first token of the sum that ends before token t; t if there is none. */
static int sum_begin(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (;;) {
        if (t > 0 && is_of_sum(body, t - 1))
            t--;
        else if (t > 0 && dcli_token_is(tokens, t - 1, ")") &&
                 is_sum_in_parentheses(body, tokens->token[t - 1].partner))
            t = tokens->token[t - 1].partner;
        else
            return t;
    }
}

/* The token after the sum that begins at token t. */
static int sum_end(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (;;) {
        if (t < tokens->count && is_of_sum(body, t))
            t++;
        else if (t < tokens->count && dcli_token_is(tokens, t, "(") && is_sum_in_parentheses(body, t))
            t = tokens->token[t].partner + 1;
        else
            return t;
    }
}

static bool is_in_place(const struct dcli_body_inside *inside, int t)
{
    for (int64_t p = 0; p < inside->place_count; p++)
        if (t >= inside->place[p].name && t <= inside->place[p].close)
            return true;
    return false;
}

static bool is_in_guard(const struct dcli_body_inside *inside, int t)
{
    for (int g = 0; g < inside->guard_count; g++)
        if (t >= inside->guard[g].first && t < inside->guard[g].end)
            return true;
    return false;
}

/* Note the comparison whose operator is token t, if it is an operand of weaker operators or of none. */
static dcl_status add_comparison(dcli_body *body, int t)
{
    struct dcli_body_inside *inside = body->inside;
    const dcli_tokens *tokens = &inside->tokens;
    int first = sum_begin(body, t), end = sum_end(body, t + 1);
    if (first == t || end == t + 1 || !is_comparison(body, first, end) ||
        (first > 0 && !dcli_token_in(tokens, first - 1, "( && || ? : = += -= *= /= &= |= ^= , ; { } return")) ||
        (end < tokens->count && !dcli_token_in(tokens, end, ") && || ? : , ; }")))
        return DCL_OK;
    if (!is_in_guard(inside, t)) {
        if (dcli_grow(&inside->edit, inside->edit_count, &inside->edit_capacity, sizeof *inside->edit) != 0)
            return DCL_ERR_NOMEM;
        dcli_edit *edit = &inside->edit[inside->edit_count++];
        *edit = (dcli_edit){.first = first, .last = end - 1};
        snprintf(edit->text, sizeof edit->text, "dcl_is%d", inside->comparison_count);
    }
    inside->comparison[inside->comparison_count++] = (dcli_comparison){.first = first, .end = end};
    return DCL_OK;
}

dcl_status dcli_comparisons_find(dcli_body *body)
{
    struct dcli_body_inside *inside = body->inside;
    dcl_status status = DCL_OK;
    /* a macro of the prelude may use the text of its argument in other places */
    if (body->tile_kernel || body->keyed || inside->has_loop || strchr(body->prelude, '#') != NULL ||
        strstr(body->prelude, "%:") != NULL || strstr(body->prelude, "??") != NULL)
        return DCL_OK;
    for (int t = 1; t < inside->tokens.count && status == DCL_OK; t++)
        if (dcli_token_in(&inside->tokens, t, "< > <= >=") && inside->comparison_count < DCLI_MOST_COMPARISONS &&
            !is_in_place(inside, t))
            status = add_comparison(body, t);
    return status;
}

int dcli_comparison_at(const dcli_body *body, int t)
{
    for (int n = 0; n < body->inside->comparison_count; n++)
        if (body->inside->comparison[n].first == t)
            return n;
    return -1;
}

/* ---- emitting ----------------------------------------------------------------------------------------------------- */

static void emit_comparison(dcli_text *out, const dcli_body *body, int n)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_comparison *comparison = &body->inside->comparison[n];
    dcli_text_put(out, "(");
    for (int t = comparison->first; t < comparison->end; t++)
        dcli_text_put(out, "%.*s%s", (int)tokens->token[t].length, tokens->text + tokens->token[t].start,
                      t < comparison->end - 1 ? " " : ")");
}

void dcli_emit_comparisons(dcli_text *out, const dcli_body *body, bool held)
{
    for (int n = 0; n < body->inside->comparison_count; n++) {
        dcli_text_put(out, "#define dcl_is%d ", n);
        if (held)
            dcli_text_put(out, "dcl_held%d", n);
        else
            emit_comparison(out, body, n);
        dcli_text_put(out, "\n");
    }
}

void dcli_emit_comparisons_end(dcli_text *out, const dcli_body *body)
{
    for (int n = 0; n < body->inside->comparison_count; n++)
        dcli_text_put(out, "#undef dcl_is%d\n", n);
}

void dcli_emit_stretch(dcli_nest *nest, const char *first, const char *count, void (*index)(dcli_nest *))
{
    const dcli_body *body = nest->body;
    dcli_text *out = nest->out;
    const int comparisons = body->inside->comparison_count;
    for (int n = 0; n < comparisons; n++)
        dcli_text_put(out, n == 0 ? "    int dcl_held%d" : ", dcl_held%d", n);
    dcli_text_put(out, ";\n    {\n    const long dcl_k = %s;\n", first);
    index(nest);
    for (int n = 0; n < comparisons; n++) {
        dcli_text_put(out, "    dcl_held%d = ", n);
        emit_comparison(out, body, n);
        dcli_text_put(out, ";\n");
    }
    /* Each comparison changes at most once, so the elements with the first one's values come before all others. Find the last of
     * them by bisection. */
    dcli_text_put(out,
                  "    }\n    for (long dcl_like = 0, dcl_other = %s, dcl_next = %s - 1; dcl_like + 1 < dcl_other;\n"
                  "         dcl_next = (dcl_like + dcl_other) / 2) {\n"
                  "    const long dcl_k = %s + dcl_next;\n",
                  count, count, first);
    index(nest);
    for (int n = 0; n < comparisons; n++) {
        dcli_text_put(out, n == 0 ? "    if (dcl_held%d == " : " && dcl_held%d == ", n);
        emit_comparison(out, body, n);
    }
    dcli_text_put(
        out,
        ")\n        dcl_like = dcl_next;\n    else\n        dcl_other = dcl_next;\n    %s = dcl_like + 1;\n    }\n",
        count);
}
