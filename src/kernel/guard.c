/* kernel/guard.c - finds the guards of a body, and emits their macros. */
#include "kernel/guard.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/inside.h"
#include "kernel/names.h"
#include "kernel/stretch.h"

/* ---- finding ------------------------------------------------------------------------------------------------------ */

const dcli_param *dcli_param_at(const dcli_body *body, int t)
{
    for (int p = 0; p < body->param_count; p++)
        if (dcli_token_is(&body->inside->tokens, t, body->params[p].name))
            return &body->params[p];
    return NULL;
}

bool dcli_guard_knows(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_param *param = dcli_param_at(body, t);
    if (param != NULL)
        return param->access == DCL_ACCESS_VALUE;
    const dcli_token *token = &tokens->token[t];
    int index = dcli_name_index(tokens->text + token->start, (size_t)token->length);
    return index >= 0 && body->inside->axis_of_index[index] >= 0;
}

/* Whether tokens [first, end) can be a guard: a body cannot change indices or scalars. */
static bool is_guard(const dcli_body *body, int first, int end)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int t = first; t < end; t++) {
        bool is_name = dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NAME;
        if (is_name ? !dcli_guard_knows(body, t) || dcli_token_is(tokens, t + 1, "(")
                    : dcli_token_kind_of(tokens, t) != DCLI_TOKEN_NUMBER &&
                          !dcli_token_in(tokens, t, "( ) < > <= >= == != && || ! + - * / %"))
            return false;
    }
    return end > first;
}

/* Whether a guard is usually true: those of the inside of a grid are, `i == 0` and `i == 0 || i == n - 1` are not. */
static bool is_usually_true(const dcli_tokens *tokens, int first, int end)
{
    if (dcli_token_is(tokens, first, "(") && tokens->token[first].partner == end - 1)
        return is_usually_true(tokens, first + 1, end - 1);
    if (dcli_token_is(tokens, first, "!") && dcli_token_is(tokens, first + 1, "(") &&
        tokens->token[first + 1].partner == end - 1)
        return !is_usually_true(tokens, first + 2, end - 1);
    bool either = false, both = false, equal = false;
    for (int t = first; t < end; t++) {
        either |= dcli_token_is(tokens, t, "||");
        both |= dcli_token_is(tokens, t, "&&");
        equal |= dcli_token_is(tokens, t, "==");
        if (dcli_token_is(tokens, t, "("))
            t = tokens->token[t].partner;
    }
    return !either && (both || !equal);
}

/* Where the condition of the `?` at token t begins: conditions bind stronger than the tokens that end the loop. */
static int condition_begin(const dcli_tokens *tokens, int t)
{
    int first = t;
    while (first > 0 && !dcli_token_in(tokens, first - 1, "= += -= *= /= %= &= |= ^= <<= >>= ( [ { , ; ? :"))
        first = dcli_token_in(tokens, first - 1, ") ]") ? tokens->token[first - 1].partner : first - 1;
    return first;
}

static bool is_in_place(const struct dcli_body_inside *inside, int t)
{
    for (int64_t p = 0; p < inside->place_count; p++)
        if (t >= inside->place[p].name && t <= inside->place[p].close)
            return true;
    return false;
}

static dcl_status add_guard(dcli_body *body, int first, int end)
{
    struct dcli_body_inside *inside = body->inside;
    if (inside->guard_count == DCLI_MOST_GUARDS || is_in_place(inside, first) || !is_guard(body, first, end))
        return DCL_OK;
    if (dcli_grow(&inside->edit, inside->edit_count, &inside->edit_capacity, sizeof *inside->edit) != 0)
        return DCL_ERR_NOMEM;
    dcli_edit *edit = &inside->edit[inside->edit_count++];
    *edit = (dcli_edit){.first = first, .last = end - 1};
    snprintf(edit->text, sizeof edit->text, "dcl_g%d", inside->guard_count);
    inside->guard[inside->guard_count++] =
        (dcli_guard){.first = first, .end = end, .usual = is_usually_true(&inside->tokens, first, end)};
    return DCL_OK;
}

static bool is_one_statement(const dcli_tokens *tokens)
{
    for (int t = 0; t < tokens->count; t++)
        if (dcli_token_in(tokens, t, "{ ; if") && !(t == tokens->count - 1 && dcli_token_is(tokens, t, ";")))
            return false;
    return tokens->count > 0;
}

dcl_status dcli_guards_find(dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    if (body->result_count > 0 || body->tile_kernel || body->inside->has_loop)
        return DCL_OK;
    if (dcli_token_is(tokens, 0, "if") && dcli_token_is(tokens, 1, "("))
        return add_guard(body, 2, tokens->token[1].partner);
    dcl_status status = DCL_OK;
    int count = is_one_statement(tokens) ? (int)tokens->count : 0;
    for (int t = 0; t < count && status == DCL_OK; t++)
        if (dcli_token_is(tokens, t, "?"))
            status = add_guard(body, condition_begin(tokens, t), t);
    return status;
}

/* ---- convex guards ------------------------------------------------------------------------------------------------- */

static bool has_one_of(const dcli_tokens *tokens, int first, int end, const char *words)
{
    for (int t = first; t < end; t++)
        if (dcli_token_in(tokens, t, words))
            return true;
    return false;
}

/* Whether parentheses contain no condition, or a condition whose value is only combined by && and ||. @param t  the
 * opening parenthesis, in the guard. */
static bool stands_alone(const dcli_tokens *tokens, const dcli_guard *guard, int t)
{
    int close = tokens->token[t].partner;
    return !has_one_of(tokens, t, close, "< > <= >= == && ||") ||
           ((t == guard->first || dcli_token_in(tokens, t - 1, "( && ||")) &&
            (close == guard->end - 1 || dcli_token_in(tokens, close + 1, ") && ||")));
}

bool dcli_guard_is_unsigned(const dcli_body *body, int t)
{
    const dcli_param *param = dcli_param_at(body, t);
    if (param != NULL)
        return param->type == DCL_UINT32 || param->type == DCL_UINT64;
    const dcli_token *token = &body->inside->tokens.token[t];
    return token->kind == DCLI_TOKEN_NUMBER &&
           (memchr(body->inside->tokens.text + token->start, 'u', (size_t)token->length) != NULL ||
            memchr(body->inside->tokens.text + token->start, 'U', (size_t)token->length) != NULL);
}

static bool is_convex(const dcli_body *body, const dcli_guard *guard)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int comparisons = 0; /* since the last && or || */
    for (int t = guard->first; t < guard->end; t++) {
        if (dcli_token_in(tokens, t, guard->usual ? "|| ! != * / %" : "&& ! != == * / %") ||
            dcli_guard_is_unsigned(body, t) || (dcli_token_is(tokens, t, "(") && !stands_alone(tokens, guard, t)))
            return false;
        if (dcli_token_in(tokens, t, "< > <= >= ==") && ++comparisons > 1)
            return false;
        if (dcli_token_in(tokens, t, "&& ||")) {
            if (comparisons == 0)
                return false;
            comparisons = 0;
        }
    }
    return comparisons == 1;
}

bool dcli_guards_are_convex(const dcli_body *body)
{
    for (int g = 0; g < body->inside->guard_count; g++)
        if (!is_convex(body, &body->inside->guard[g]))
            return false;
    return true;
}

/* ---- emitting ----------------------------------------------------------------------------------------------------- */

/* Emit the tokens of a guard, in one line. @param named  with the macros of its comparisons in place of these. */
static void emit_condition(dcli_text *out, const dcli_body *body, const dcli_guard *guard, bool named)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    dcli_text_put(out, "(");
    for (int t = guard->first; t < guard->end; t++) {
        int comparison = named ? dcli_comparison_at(body, t) : -1;
        if (comparison >= 0) {
            dcli_text_put(out, "dcl_is%d", comparison);
            t = body->inside->comparison[comparison].end - 1;
        } else {
            dcli_text_append(out, tokens->text + tokens->token[t].start, (size_t)tokens->token[t].length);
        }
        dcli_text_put(out, t < guard->end - 1 ? " " : "");
    }
    dcli_text_put(out, ")");
}

void dcli_emit_guards(dcli_text *out, const dcli_body *body, dcli_guards_as as)
{
    const struct dcli_body_inside *inside = body->inside;
    dcli_emit_comparisons(out, body, as == DCLI_GUARDS_HELD);
    for (int g = 0; g < inside->guard_count; g++) {
        dcli_text_put(out, "#define dcl_g%d ", g);
        if (as == DCLI_GUARDS_USUAL)
            dcli_text_put(out, "%d", (int)inside->guard[g].usual);
        else
            emit_condition(out, body, &inside->guard[g], as == DCLI_GUARDS_HELD);
        dcli_text_put(out, "\n");
    }
}

void dcli_emit_guards_end(dcli_text *out, const dcli_body *body)
{
    for (int g = 0; g < body->inside->guard_count; g++)
        dcli_text_put(out, "#undef dcl_g%d\n", g);
    dcli_emit_comparisons_end(out, body);
}

void dcli_emit_guards_test(dcli_text *out, const dcli_body *body)
{
    const struct dcli_body_inside *inside = body->inside;
    for (int g = 0; g < inside->guard_count; g++) {
        dcli_text_put(out, g > 0 ? " && %s" : "%s", inside->guard[g].usual ? "" : "!");
        emit_condition(out, body, &inside->guard[g], false);
    }
}
