/* kernel/parse.c - parse a body, and check the rules for the body as a whole. */
#include "kernel/parser.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/filter.h"
#include "kernel/guard.h"
#include "kernel/inner.h"
#include "kernel/macro.h"
#include "kernel/names.h"
#include "kernel/over.h"
#include "kernel/scattered.h"
#include "kernel/stretch.h"

static int written_access(const dcli_body *body, int param)
{
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].param == param && body->access[a].written)
            return a;
    return -1;
}

/* Check that an array which is written is read only at the same subscripts: an element at others may belong to another
 * iteration. @param written  the access that is written. */
static dcl_status check_alias(const dcli_body *body, int written)
{
    int param = body->access[written].param;
    const char *name = body->params[param].name;
    for (int a = 0; a < body->access_count; a++)
        if (a != written && body->access[a].param == param)
            return dcli_token_fail(
                &body->inside->tokens, dcli_inside_first_token(body, a),
                "%s is %s here at another subscript than it is written at in line %d, column %d; %s a "
                "second array and dcl_swap(%s, ...) them afterwards",
                name, body->access[a].written ? "written" : "read", body->access[written].line,
                body->access[written].column, body->access[a].written ? "use" : "write to", name);
    return DCL_OK;
}

static dcl_status fail_early_read(const dcli_parser *parser, int t, const char *name)
{
    const dcli_tokens *tokens = parser->tokens;
    if (parser->hidden < 0)
        return dcli_token_fail(
            tokens, t, "%s is DCL_OUT, but read here before it is surely written; declare DCL_INOUT(%s)", name, name);
    const dcli_token *macro = &tokens->token[parser->hidden];
    return dcli_token_fail(tokens, t,
                           "%s is DCL_OUT, but read here before it is surely written, as the prelude's %.*s in line %d "
                           "may be more than an expression; write that out, or declare DCL_INOUT(%s)",
                           name, macro->length, tokens->text + macro->start, macro->line, name);
}

static dcl_status check_output(const dcli_parser *parser, int param)
{
    const dcli_body *body = parser->body;
    const dcli_param *declared = &body->params[param];
    int a = written_access(body, param);
    if (a < 0)
        return DCLI_FAIL(DCL_ERR_BODY,
                         "%s is %s, but the body does not assign to it; declare DCL_IN(%s) or write %s(i, "
                         "...) = ...;",
                         declared->name, dcli_access_name(declared->access), declared->name, declared->name);
    dcl_status status = check_alias(body, a);
    if (status == DCL_OK && declared->access == DCL_ACCESS_OUT && body->access[a].read)
        status = fail_early_read(parser, parser->early_read[a], declared->name);
    return status;
}

/* Find which index belongs to which loop axis, from the subscripts of the home access. */
static void name_axes(dcli_body *body)
{
    int a = body->home;
    for (int m = 0; m < DCL_MAX_RANK; m++)
        body->inside->axis_of_index[m] = -1;
    for (int m = 0; m < body->space_rank; m++)
        body->index_of_axis[m] = dcli_affine_plain_index(dcli_inside_subscript(body, a, m));
    for (int m = 0; m < body->space_rank + body->inner_rank; m++)
        body->inside->axis_of_index[body->index_of_axis[m]] = m;
}

/* The innermost axis, of the loop or an inner one, along which an access is contiguous: only the subscript of the contiguous array axis depends
 * on it, with coefficient +1. */
static int find_unit_axis(const dcli_body *body, int a)
{
    const dcli_param *param = &body->params[body->access[a].param];
    int unit_subscript = param->rank - 1 - param->turned;
    if (unit_subscript < 0 || unit_subscript >= param->rank)
        return -1;
    for (int m = body->space_rank + body->inner_rank - 1; m >= 0; m--) {
        int index = body->index_of_axis[m];
        bool unit = dcli_affine_has_unit(dcli_inside_subscript(body, a, unit_subscript), index);
        for (int d = 0; d < param->rank && unit; d++)
            unit = d == unit_subscript || !dcli_affine_uses(dcli_inside_subscript(body, a, d), index);
        if (unit)
            return m;
    }
    return -1;
}

/* Whether an index is used outside the subscripts of affine accesses. Macros of a prelude are not expanded; if it has
 * directives, the answer is yes. */
static bool uses_indices(const dcli_body *body)
{
    const struct dcli_body_inside *inside = body->inside;
    int64_t place = 0;
    if (strpbrk(body->prelude, "#%?") != NULL) /* characters that begin a directive in any spelling */
        return true;
    for (int t = 0; t < inside->tokens.count; t++) {
        const dcli_token *token = &inside->tokens.token[t];
        while (place < inside->place_count && inside->place[place].name < t)
            place++;
        if (place < inside->place_count && inside->place[place].name == t) {
            t = body->access[inside->place[place].access].reach == DCLI_REACH_AFFINE ? inside->place[place].close : t;
            continue;
        }
        int index = token->kind == DCLI_TOKEN_NAME
                        ? dcli_name_index(inside->tokens.text + token->start, (size_t)token->length)
                        : -1;
        if (index >= 0 && inside->axis_of_index[index] >= 0)
            return true;
    }
    return false;
}

static bool has_condition(const dcli_tokens *tokens)
{
    static const char *const words[] = {"if", "switch", "?", "&&", "||"};
    for (int t = 0; t < tokens->count; t++)
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
            if (dcli_token_is(tokens, t, words[w]))
                return true;
    return false;
}

/* Whether a body is blind (dcli_body.blind). Not blind are bodies with declared reaches, which find elements by
 * indices; with inner axes, whose steps joined rows would have to share; with boundaries, whose works at edges differ
 * from the others; with bounds that depend on indices; and bodies that find the index of a result. */
static bool is_blind(const dcli_body *body)
{
    if (dcli_body_places(body) || body->slanted)
        return false;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach != DCLI_REACH_AFFINE || body->inside->access_inner_count[a] > 0 ||
            dcli_boundary_clamps_any(body, a))
            return false;
    return !uses_indices(body);
}

static dcl_status check_body(dcli_parser *parser)
{
    dcli_body *body = parser->body;
    dcl_status status = body->over != NULL ? dcli_over_read(body) : DCL_OK;
    if (status == DCL_OK && body->along)
        status = dcli_check_along(body);
    else if (status == DCL_OK && body->result_count > 0)
        status = dcli_check_reduction(body);
    for (int p = 0; p < body->param_count && status == DCL_OK; p++)
        if (dcli_param_is_output(&body->params[p]))
            status = check_output(parser, p);
    if (status != DCL_OK || body->own_space)
        return status;
    if (body->result_count == 0)
        body->home = written_access(body, body->owner);
    name_axes(body);
    for (int a = 0; a < body->access_count && dcli_over_is_partial(body); a++)
        body->access[a].conditional |= body->access[a].written;
    for (int a = 0; a < body->access_count; a++)
        if (body->access[a].reach == DCLI_REACH_AFFINE)
            body->access[a].unit_axis = find_unit_axis(body, a);
    body->blind = !body->along && is_blind(body);
    body->inside->has_condition = has_condition(&body->inside->tokens);
    body->inside->scattered = dcli_scattered_find(body);
    if (body->outline)
        return DCL_OK;
    status = dcli_guards_find(body);
    if (status == DCL_OK)
        status = dcli_comparisons_find(body);
    if (status == DCL_OK)
        status = dcli_inner_edit(body);
    if (status != DCL_OK)
        return status;
    return dcli_body_is_reduced(body) ? dcli_add_partials(body) : DCL_OK;
}

/* The indices of a body: the letters by which the first output is indexed where it occurs first, or, if they are none, i, j, ... */
static unsigned find_indices(const dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const unsigned first_letters = (1U << body->space_rank) - 1;
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK], t = 0;
    unsigned found = 0;
    while (t < tokens->count && !(dcli_token_is(tokens, t, body->params[body->owner].name) &&
                                  dcli_token_is(tokens, t + 1, "(") && !dcli_token_in(tokens, t - 1, ". ->")))
        t++;
    if (t == tokens->count || dcli_token_split(tokens, t + 1, DCL_MAX_RANK, first, end) != body->space_rank)
        return first_letters;
    for (int d = 0; d < body->space_rank; d++) {
        const dcli_token *token = &tokens->token[first[d]];
        int index = end[d] == first[d] + 1 ? dcli_name_index(tokens->text + token->start, (size_t)token->length) : -1;
        for (int p = 0; p < body->param_count; p++)
            index = dcli_token_is(tokens, first[d], body->params[p].name) ? -1 : index;
        if (index < 0 || (found >> index & 1) != 0)
            return first_letters;
        found |= 1U << index;
    }
    return found;
}

dcl_status dcli_parse(dcli_body *body, bool survey)
{
    dcl_status status = dcli_tokens_make(body->text, &body->inside->tokens);
    if (status != DCL_OK)
        return status;
    if (body->inside->tokens.count == 0)
        return DCLI_FAIL(DCL_ERR_BODY, "the body is empty; expected statements like C(i) = A(i) + B(i);");
    dcli_parser parser = {.body = body,
                          .inside = body->inside,
                          .tokens = &body->inside->tokens,
                          .survey = survey,
                          .hidden = -1,
                          .switch_block = -1};
    if (body->result_count > 0)
        status = dcli_find_indices(&parser);
    else if (!survey && !body->tile_kernel)
        body->indices = find_indices(body);
    if (status == DCL_OK)
        status = dcli_macros_check(body, &parser.hidden);
    if (status == DCL_OK)
        status = dcli_parse_statements(&parser);
    for (int a = 0; a < body->access_count; a++)
        body->access[a].conditional = body->access[a].written && !body->along && (parser.written >> a & 1) == 0;
    return status == DCL_OK && !survey ? check_body(&parser) : status;
}

/* Refuse a prelude with a carriage return that is not followed by a line feed: compilers end a line and a comment
 * there, kernel/macro.c does not. */
static dcl_status check_returns(const char *prelude)
{
    int line = 1;
    for (const char *at = prelude; *at != '\0'; at++) {
        if (*at == '\r' && at[1] != '\n')
            return DCLI_FAIL(DCL_ERR_BODY,
                             "prelude line %d has a carriage return alone, which ends a line only for some compilers; "
                             "end lines with \\n",
                             line);
        line += *at == '\n';
    }
    return DCL_OK;
}

static dcl_status check_length(const char *text, const char *what)
{
    size_t length = strlen(text);
    if (length <= DCLI_MAX_BODY_BYTES)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_BODY, "the %s is %zu bytes long; expected at most %d; split it", what, length,
                     DCLI_MAX_BODY_BYTES);
}

/* Copy a text, with lines joined that end with a backslash; compilers accept blanks after it. @return NULL: no memory. */
static char *join_lines(const char *text)
{
    char *joined = dcli_strdup(text), *to = joined;
    for (const char *at = text; joined != NULL && *at != '\0';) {
        size_t end = *at == '\\' ? 1 + strspn(at + 1, " \t\r\v\f") : 0;
        if (end > 0 && at[end] == '\n')
            at += end + 1;
        else
            *to++ = *at++;
    }
    if (joined != NULL)
        *to = '\0';
    return joined;
}

dcli_body *dcli_body_new(const char *text, const char *prelude, int count, const dcli_param params[])
{
    if (check_length(text, "body") != DCL_OK || check_length(prelude, "prelude") != DCL_OK ||
        check_returns(prelude) != DCL_OK || dcli_neutrals_check(count, params, prelude) != DCL_OK)
        return NULL;
    dcli_body *body = dcli_calloc(1, sizeof *body);
    if (body == NULL)
        return NULL;
    body->text = dcli_strdup(text);
    body->prelude = body->text != NULL ? dcli_strdup(prelude) : NULL;
    body->inside = body->prelude != NULL ? dcli_calloc(1, sizeof *body->inside) : NULL;
    if (body->inside == NULL || (body->inside->joined = join_lines(prelude)) == NULL) {
        dcli_body_free(body);
        return NULL;
    }
    body->param_count = count;
    memcpy(body->params, params, (size_t)count * sizeof *params);
    return body;
}

dcl_status dcli_finish_body(dcli_body *body, dcl_status status, dcli_body **body_out)
{
    if (status == DCL_OK)
        status = dcli_filter_check(body);
    if (status != DCL_OK) {
        dcli_body_free(body);
        return status;
    }
    dcli_rows_lay_out(body);
    *body_out = body;
    return status;
}

/* Make a body with a DCL_OVER. @param over  "" for none. @return NULL: as of dcli_body_new(). */
static dcli_body *new_over(const char *text, const char *prelude, const char *over, int count,
                           const dcli_param params[])
{
    if (check_length(over, "text of DCL_OVER") != DCL_OK)
        return NULL;
    dcli_body *body = dcli_body_new(text, prelude, count, params);
    if (body == NULL || *over == '\0' || (body->over = dcli_strdup(over)) != NULL)
        return body;
    dcli_body_free(body);
    return NULL;
}

static dcl_status parse_body(const char *text, const char *prelude, const char *over, bool outline, int count,
                             const dcli_param params[], dcli_body **body_out)
{
    dcl_status status = dcli_params_check(count, params, false);
    if (status != DCL_OK)
        return status;
    dcli_body *body = new_over(text, prelude, over, count, params);
    if (body == NULL)
        return dcli_error_status();
    body->outline = outline;
    for (int p = 0; p < count; p++)
        if (dcli_param_is_result(&params[p])) {
            body->keyed |= params[p].rank > 0 && params[p].turned == 0;
            body->result[body->result_count++] = (dcli_result){.param = p,
                                                               .fast = params[p].access == DCL_ACCESS_RESULT_FAST,
                                                               .placed = params[p].access == DCL_ACCESS_RESULT_PLACED};
        }
    if (body->result_count == 0) {
        while (!dcli_param_is_output(&params[body->owner]))
            body->owner++;
        body->space_rank = params[body->owner].rank;
        body->indices = (1U << body->space_rank) - 1;
    }
    return dcli_finish_body(body, dcli_parse(body, false), body_out);
}

static dcl_status parse_along(const char *text, const char *prelude, const char *over, int count,
                              const dcli_param params[], dcli_body **body_out)
{
    dcl_status status = dcli_along_params_check(count, params);
    if (status != DCL_OK)
        return status;
    dcli_body *body = new_over(text, prelude, over, count, params);
    if (body == NULL)
        return dcli_error_status();
    for (int p = 0; p < count; p++)
        if (dcli_param_is_output(&params[p]))
            body->result[body->result_count++].param = p;
    body->along = true;
    body->owner = body->result[0].param;
    body->space_rank = params[body->owner].rank;
    body->inside->has_loop = true;
    return dcli_finish_body(body, dcli_parse(body, false), body_out);
}

dcl_status dcli_over_parse(bool along, bool fast, const char *text, const char *prelude, const char *over, int count,
                           const dcli_param params[], dcli_body **body_out)
{
    dcl_status status = along ? parse_along(text, prelude, over, count, params, body_out)
                              : parse_body(text, prelude, over, false, count, params, body_out);
    if (status == DCL_OK)
        (*body_out)->fast = along && fast;
    return status;
}

dcl_status dcli_outline_parse(const char *text, const char *prelude, const char *over, int count,
                              const dcli_param params[], dcli_body **body_out)
{
    return parse_body(text, prelude, over, true, count, params, body_out);
}

dcl_status dcli_body_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                           dcli_body **body_out)
{
    return parse_body(text, prelude, "", false, count, params, body_out);
}

dcl_status dcli_along_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                            dcli_body **body_out)
{
    return parse_along(text, prelude, "", count, params, body_out);
}

void dcli_body_free(dcli_body *body)
{
    if (body == NULL)
        return;
    if (body->inside != NULL) {
        dcli_tokens_free(&body->inside->tokens);
        dcli_over_free(body->inside);
        dcli_free(body->inside->joined);
        dcli_free(body->inside->place);
        dcli_free(body->inside->subscript);
        dcli_free(body->inside->boundary);
        dcli_free(body->inside->edit);
        dcli_free(body->inside->inner);
    }
    dcli_free(body->inside);
    dcli_free(body->text);
    dcli_free(body->prelude);
    dcli_free(body->over);
    dcli_free(body);
}

size_t dcli_body_bytes(const dcli_body *body)
{
    const struct dcli_body_inside *inside = body->inside;
    return sizeof *body + sizeof *inside + strlen(body->text) + strlen(body->prelude) + strlen(inside->joined) + 3 +
           (body->over != NULL ? strlen(body->over) + 1 : 0) +
           (size_t)inside->over.capacity * sizeof *inside->over.bound +
           (size_t)inside->over.tokens.capacity * sizeof *inside->over.tokens.token +
           (size_t)inside->tokens.capacity * sizeof *inside->tokens.token +
           (size_t)inside->place_capacity * sizeof *inside->place +
           (size_t)inside->edit_capacity * sizeof *inside->edit +
           (size_t)inside->inner_capacity * sizeof *inside->inner +
           (size_t)inside->boundary_capacity * sizeof *inside->boundary +
           (size_t)inside->subscript_capacity * sizeof *inside->subscript;
}
