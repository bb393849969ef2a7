/* kernel/keyed.c - keyed reductions: parse statements such as H(bin(i)) += w(i);
 *
 * Such a statement becomes a call, dcl_into0((bin(i)), (w(i)));, of a function that finds the partial result of the element
 * (source_keyed.c). So keys are any expressions, and a result is no access of the body. */
#include "kernel/keyed.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "kernel/emit.h"
#include "kernel/macro.h"
#include "kernel/names.h"
#include "kernel/parser.h"
#include "kernel/reduced.h"

/* ---- which reductions are keyed -------------------------------------------------------------------------------------- */

static bool is_one_of(const dcli_tokens *tokens, int t, int count, const char *const names[])
{
    for (int n = 0; n < count; n++)
        if (dcli_token_is(tokens, t, names[n]))
            return true;
    return false;
}

static int index_of(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    return token->kind == DCLI_TOKEN_NAME ? dcli_name_index(tokens->text + token->start, (size_t)token->length) : -1;
}

/* Whether the body declares the variable at token t: after the name of a type, or after a comma outside of parentheses. */
static bool is_variable(const dcli_tokens *tokens, int t)
{
    const dcli_token *name = &tokens->token[t];
    int close = 0; /* of the parentheses around token d */
    for (int d = 1; d < t; d++) {
        const dcli_token *token = &tokens->token[d], *before = token - 1;
        if (dcli_token_is(tokens, d, "("))
            close = dcli_max(close, token->partner);
        if (token->kind == DCLI_TOKEN_NAME && token->length == name->length &&
            memcmp(tokens->text + token->start, tokens->text + name->start, (size_t)name->length) == 0 &&
            (before->kind == DCLI_TOKEN_NAME || (dcli_token_is(tokens, d - 1, ",") && d > close)))
            return true;
    }
    return false;
}

bool dcli_text_is_keyed(const char *text, int output_count, const char *const outputs[], int param_count,
                        const char *const params[])
{
    dcli_tokens tokens;
    bool keyed = false;
    if (dcli_tokens_make(text, &tokens) != DCL_OK)
        return false; /* whoever parses the text next finds the same mistake */
    for (int t = 0; t < tokens.count; t++) {
        int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
        if (tokens.token[t].kind != DCLI_TOKEN_NAME || !is_one_of(&tokens, t, output_count, outputs) ||
            !dcli_token_is(&tokens, t + 1, "("))
            continue;
        int count = dcli_token_split(&tokens, t + 1, DCL_MAX_RANK, first, end);
        for (int d = 0; d < dcli_min(count, DCL_MAX_RANK); d++)
            keyed |= end[d] != first[d] + 1 || index_of(&tokens, first[d]) < 0 ||
                     is_one_of(&tokens, first[d], param_count, params) || is_variable(&tokens, first[d]);
    }
    dcli_tokens_free(&tokens);
    return keyed;
}

/* ---- statements ------------------------------------------------------------------------------------------------------ */

static dcl_status fail_form(const dcli_parser *parser, int t, const dcli_param *param)
{
    return dcli_token_fail(
        parser->tokens, t,
        "%s is reduced; expected a statement %s(...) += ..., with += -= *= &= |= ^= min= or max=; its "
        "elements are known only after the call",
        param->name, param->name);
}

/* Check a key that is a single name: an index has a range, and elements of arrays are integers. */
static dcl_status check_key(const dcli_parser *parser, const dcli_param *param, int first, int end)
{
    const dcli_body *body = parser->body;
    const dcli_tokens *tokens = parser->tokens;
    int index = end == first + 1 ? index_of(tokens, first) : -1;
    if (first == end)
        return dcli_token_fail(tokens, first, "a subscript of %s is empty; expected a key, an integer", param->name);
    for (int p = 0; p < body->param_count; p++) {
        const dcli_param *key = &body->params[p];
        if (!dcli_token_is(tokens, first, key->name))
            continue;
        bool whole = key->rank > 0
                         ? dcli_token_is(tokens, first + 1, "(") && tokens->token[first + 1].partner == end - 1
                         : end == first + 1;
        if (whole && key->type >= DCL_HALF)
            return dcli_token_fail(tokens, first,
                                   "a key of %s is of type %s; expected an integer; convert it, as in (int)%s%s",
                                   param->name, dcli_kernel_type(key->type), key->name, key->rank > 0 ? "(...)" : "");
        index = -1;
    }
    if (index < 0 || dcli_body_has_index(body, index) || is_variable(tokens, first))
        return DCL_OK;
    return dcli_token_fail(
        tokens, first,
        "the range of index %s is unknown, because it stands in no subscript of an input; expected it in "
        "a subscript of a DCL_IN, such as A(%s)",
        dcli_index_name(index), dcli_index_name(index));
}

/* Replace the tokens before the value: `H(b) +=` becomes `dcl_into0((b), (`. */
static dcl_status edit_before(dcli_parser *parser, int t, int r, int count, const int end[], int next, bool minus)
{
    const dcli_param *param = &parser->body->params[parser->body->result[r].param];
    dcli_edit edit = {.first = t, .last = t + 1};
    snprintf(edit.text, sizeof edit.text, "dcl_into%d((", r);
    dcl_status status = dcli_add_edit(parser, &edit);
    for (int d = 0; d < count && status == DCL_OK; d++) {
        edit = (dcli_edit){.first = end[d], .last = d < count - 1 ? end[d] : next - 1, .text = "), ("};
        if (d == count - 1 && minus) /* as the result's type: an unsigned value would wrap in its own */
            snprintf(edit.text, sizeof edit.text, "), -(%s)(", dcli_kernel_type(param->type));
        status = dcli_add_edit(parser, &edit);
    }
    return status;
}

dcl_status dcli_parse_keyed(dcli_parser *parser, int t, int p, dcli_spot spot, int *next_out)
{
    dcli_body *body = parser->body;
    const dcli_tokens *tokens = parser->tokens;
    const dcli_param *param = &body->params[p];
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK], r = 0;
    dcli_operator found;
    while (body->result[r].param != p)
        r++;
    if (!dcli_token_is(tokens, t + 1, "("))
        return dcli_token_fail(tokens, t, "%s is an array and stands without subscripts; write %s(...) += ...;",
                               param->name, param->name);
    int close = tokens->token[t + 1].partner;
    if (t != parser->start || spot.brackets > 0 ||
        !dcli_operator_at(tokens, close + 1, body->param_count, body->params, &found))
        return fail_form(parser, t, param);
    int count = dcli_token_split(tokens, t + 1, DCL_MAX_RANK, first, end);
    if (count != param->rank)
        return dcli_token_fail(tokens, t, "%s has %d subscript%s here; expected %d, one per axis of the array",
                               param->name, count, count == 1 ? "" : "s", param->rank);
    if (dcli_fold_is_ordered(found.fold, param->type) || found.fold == DCLI_FOLD_ANY || found.fold == DCLI_FOLD_ALL)
        return dcli_token_fail(
            tokens, close + 1,
            "%s has keys and is reduced by an operator that keyed reductions do not have; expected += "
            "-= min= max=, or for integers also *= &= |= ^=",
            param->name);
    dcl_status status =
        dcli_check_operator(parser, close + 1, param, body->result[r].used ? (int)body->result[r].fold : -1);
    int next = found.next;
    for (int d = 0; d < count && status == DCL_OK; d++)
        status = check_key(parser, param, first[d], end[d]);
    if (status != DCL_OK)
        return status;
    body->result[r].used = true;
    body->result[r].fold = found.fold;
    *next_out = next;
    int semicolon = dcli_find_token(tokens, next, ";");
    status = edit_before(parser, t, r, count, end, next, dcli_token_is(tokens, close + 1, "-="));
    if (status == DCL_OK)
        status = dcli_add_edit(parser, &(dcli_edit){.first = semicolon, .last = semicolon - 1, .text = "))"});
    return status == DCL_OK ? dcli_parse_expression(parser, t + 2, close,
                                                    (dcli_spot){.maybe = spot.maybe, .brackets = spot.brackets + 1})
                            : status;
}

void dcli_keyed_axes(const dcli_body *body, int r, int kept_out[])
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int rank = body->params[body->result[r].param].rank;
    bool before = false;
    dcli_reduced s;
    for (int d = 0; d < rank; d++)
        kept_out[d] = -1;
    for (int t = 0; t < tokens->count; t++) {
        int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
        if (!dcli_find_reduced(body, t, &s) || s.result != r)
            continue;
        dcli_token_split(tokens, t + 1, DCL_MAX_RANK, first, end);
        for (int d = 0; d < rank; d++) {
            int index = end[d] == first[d] + 1 && !is_variable(tokens, first[d]) ? index_of(tokens, first[d]) : -1;
            for (int p = 0; p < body->param_count; p++)
                index = dcli_token_is(tokens, first[d], body->params[p].name) ? -1 : index;
            kept_out[d] = before && kept_out[d] != index ? -1 : index;
        }
        before = true;
    }
}

unsigned dcli_keyed_reduced(const dcli_body *body, int r)
{
    int kept[DCL_MAX_RANK];
    unsigned reduced = body->indices;
    dcli_keyed_axes(body, r, kept);
    for (int d = 0; d < body->params[body->result[r].param].rank; d++)
        reduced &= kept[d] >= 0 ? ~(1U << kept[d]) : ~0U;
    return reduced;
}

bool dcli_keyed_is_along(const dcli_body *body)
{
    for (int r = 0; r < body->result_count; r++) {
        unsigned kept = body->indices & ~dcli_keyed_reduced(body, r);
        if (__builtin_popcount(kept) != body->params[body->result[r].param].rank)
            return false;
    }
    return body->keyed;
}

bool dcli_keyed_adds_once(const dcli_body *body)
{
    int statements[DCLI_MAX_RESULTS] = {0};
    dcli_reduced s;
    for (int t = 0; t < body->inside->tokens.count; t++)
        if (dcli_find_reduced(body, t, &s))
            statements[s.result]++;
    for (int r = 0; r < body->result_count; r++)
        if (dcli_keyed_longs(body, r) > 1 && (statements[r] > 1 || body->inside->has_loop))
            return false;
    return true;
}

/* Whether tokens first .. end - 1 may depend on an index: they contain its name or a macro of the prelude. */
static bool may_have_index(const dcli_body *body, int first, int end, const char *index)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    char *macros = dcli_macros_list(body->prelude);
    bool may = macros == NULL;
    for (int t = first; t < end && !may; t++)
        may = tokens->token[t].kind == DCLI_TOKEN_NAME &&
              (dcli_token_is(tokens, t, index) ||
               dcli_macros_have(macros, tokens->text + tokens->token[t].start, tokens->token[t].length));
    dcli_free(macros);
    return may;
}

bool dcli_keyed_adds_lines(const dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const char *innermost = dcli_index_name(body->index_of_axis[body->space_rank - 1]);
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    dcli_reduced s;
    if (!body->keyed || body->result_count > 1 || dcli_keyed_longs(body, 0) == 1 || !dcli_find_reduced(body, 0, &s) ||
        s.end != tokens->count - 1 || strstr(body->text, "printf") != NULL || strstr(body->prelude, "printf") != NULL)
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE)
            return false;
    int last = dcli_token_split(tokens, 1, DCL_MAX_RANK, first, end) - 1;
    return end[last] == first[last] + 1 && dcli_token_is(tokens, first[last], innermost) &&
           !may_have_index(body, first[0], first[last], innermost);
}

/* ---- parameters that are added --------------------------------------------------------------------------------------- */

static dcl_status add_param(dcli_body *body, const dcli_param *param)
{
    if (body->param_count == DCLI_MAX_PARAMS)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "this keyed reduction has more than %d arguments, of which each output counts 2 and 2 per axis; "
            "reduce into fewer outputs at once",
            DCLI_MAX_PARAMS);
    body->params[body->param_count++] = *param;
    body->added++;
    return DCL_OK;
}

dcl_status dcli_add_keyed(dcli_body *body)
{
    dcl_status status = DCL_OK;
    body->partials = body->param_count;
    for (int r = 0; r < body->result_count && status == DCL_OK; r++) {
        int rank = body->params[body->result[r].param].rank;
        dcli_param param = {.access = DCL_ACCESS_INOUT, .type = DCL_INT64, .rank = rank + 2};
        if (rank > DCLI_KEYED_MOST_RANK)
            return DCLI_FAIL(DCL_ERR_INVALID, "output %s of a keyed reduction has %d axes; expected at most %d",
                             body->params[body->result[r].param].name, rank, DCLI_KEYED_MOST_RANK);
        snprintf(param.name, sizeof param.name, "dcl_partials%d", r);
        status = add_param(body, &param);
    }
    for (int r = 0; r < body->result_count && status == DCL_OK; r++)
        for (int d = 0; d < 2 * body->params[body->result[r].param].rank && status == DCL_OK; d++) {
            dcli_param param = {.access = DCL_ACCESS_VALUE, .type = DCL_INT64};
            snprintf(param.name, sizeof param.name, "dcl_%s%d_%d", d % 2 == 0 ? "low" : "extent", r, d / 2);
            status = add_param(body, &param);
        }
    return status;
}

int dcli_keyed_longs(const dcli_body *body, int r)
{
    bool sum = body->result[r].fold == DCLI_FOLD_SUM && body->params[body->result[r].param].type >= DCL_HALF;
    return sum ? DCLI_PARTIAL_LONGS : 1;
}

int64_t dcli_keyed_room(const dcli_body *body, int r, const dcli_scalar values[])
{
    int64_t longs = dcli_keyed_longs(body, r);
    int p = body->partials + body->result_count;
    for (int before = 0; before < r; before++)
        p += 2 * body->params[body->result[before].param].rank;
    for (int d = 0; d < body->params[body->result[r].param].rank; d++) {
        int64_t extent = values[p + 2 * d + 1].i;
        if (extent < 0 || !dcli_mul(longs, extent, &longs))
            return -1;
    }
    return longs;
}
