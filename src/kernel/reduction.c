/* kernel/reduction.c - parse what a body reduces: its indices, its results and their operators.
 *
 * In a reduction the names of arguments come first: a letter i..p is an index if it is no argument and stands in a
 * subscript. If the results are values, the indices range over the array of the first input that is read at all of them, each
 * in a subscript of its own; its owners compute. If the results are arrays, owners of the first one compute, and the indices
 * that it does not have are reduced (kernel/along.c). */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/element.h"
#include "kernel/emit.h"
#include "kernel/names.h"
#include "kernel/parser.h"

/* ---- indices ------------------------------------------------------------------------------------------------------- */

static int find_param(const dcli_body *body, const dcli_tokens *tokens, int t)
{
    for (int p = 0; p < body->param_count; p++)
        if (dcli_token_is(tokens, t, body->params[p].name))
            return p;
    return -1;
}

/* The number of the index that token t may name: a letter that is no argument. -1: none. */
static int index_at(const dcli_body *body, const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    if (token->kind != DCLI_TOKEN_NAME || find_param(body, tokens, t) >= 0 || dcli_token_in(tokens, t - 1, ". ->") ||
        dcli_token_is(tokens, t + 1, "("))
        return -1;
    return dcli_name_index(tokens->text + token->start, (size_t)token->length);
}

/* The letters whose ranges DCL_OVER gives, as a set. */
static unsigned letters_of_over(const dcli_body *body)
{
    dcli_tokens tokens = {0};
    unsigned letters = 0;
    dcl_status status = body->over != NULL ? dcli_tokens_make(body->over, &tokens) : DCL_OK;
    for (int t = 1; t + 1 < tokens.count && status == DCL_OK; t++) { /* dcli_over_read() says what else is wrong */
        int index = dcli_token_in(&tokens, t - 1, "< <=") && dcli_token_in(&tokens, t + 1, "< <=")
                        ? index_at(body, &tokens, t)
                        : -1;
        letters |= index >= 0 ? 1U << index : 0;
    }
    dcli_tokens_free(&tokens);
    return letters;
}

/* Check that no subscript between the brackets at token `open` is an array or a result with the name of an index. */
static dcl_status check_letters(const dcli_body *body, const dcli_tokens *tokens, int open)
{
    for (int t = open + 1; t < tokens->token[open].partner; t++) {
        const dcli_token *token = &tokens->token[t];
        int p = token->kind == DCLI_TOKEN_NAME && !dcli_token_is(tokens, t + 1, "(") ? find_param(body, tokens, t) : -1;
        if (p >= 0 && body->params[p].access != DCL_ACCESS_VALUE &&
            dcli_name_index(tokens->text + token->start, (size_t)token->length) >= 0)
            return dcli_refuse_as_index(tokens, t, body->params[p].name);
    }
    return DCL_OK;
}

dcl_status dcli_find_indices(dcli_parser *parser)
{
    dcli_body *body = parser->body;
    const dcli_tokens *tokens = parser->tokens;
    const unsigned ranged = letters_of_over(body);
    for (int t = 0; t < tokens->count; t++) {
        int p = tokens->token[t].kind == DCLI_TOKEN_NAME ? find_param(body, tokens, t) : -1;
        if (p < 0 || body->params[p].rank == 0 || !dcli_token_is(tokens, t + 1, "("))
            continue;
        dcl_status status = check_letters(body, tokens, t + 1);
        if (status != DCL_OK)
            return status;
        if (dcli_param_is_result(&body->params[p]))
            continue; /* keys are any expressions, elements have constant subscripts */
        for (int s = t + 2; s < tokens->token[t + 1].partner; s++) {
            int index = index_at(body, tokens, s);
            body->indices |= index >= 0 ? 1U << index : 0;
        }
    }
    for (int t = 0; t < tokens->count && ranged != 0; t++) { /* an index may stand outside of all subscripts */
        int index = index_at(body, tokens, t);
        body->indices |= index >= 0 ? ranged & 1U << index : 0;
    }
    if (body->indices == 0)
        body->indices = ranged;
    if (!body->along)
        body->space_rank = __builtin_popcount(body->indices);
    if (body->indices != 0)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_BODY,
        "no array has an index as its subscript, and DCL_OVER gives no index a range; expected a reduction "
        "over indices, which are called i to p, such as %s += A(i);",
        body->params[body->result[0].param].name);
}

/* ---- results ------------------------------------------------------------------------------------------------------- */

struct operator
{
    char spelling[64]; /* of words, such as min, without the = */
    dcli_fold fold;
    const char *call; /* the function that combines two values, of type _<type>; NULL: the operator does */
    bool word;
    bool integers; /* for integers only */
    int param;     /* of an operator of the program */
};

static const struct operator operators[] = {
    {"+=", DCLI_FOLD_SUM, NULL, false, false, -1},        {"-=", DCLI_FOLD_SUM, NULL, false, false, -1},
    {"*=", DCLI_FOLD_PRODUCT, NULL, false, false, -1},    {"&=", DCLI_FOLD_AND, NULL, false, true, -1},
    {"|=", DCLI_FOLD_OR, NULL, false, true, -1},          {"^=", DCLI_FOLD_XOR, NULL, false, true, -1},
    {"min", DCLI_FOLD_MIN, "dcl_least", true, false, -1}, {"max", DCLI_FOLD_MAX, "dcl_most", true, false, -1},
    {"any", DCLI_FOLD_ANY, NULL, true, true, -1},         {"all", DCLI_FOLD_ALL, NULL, true, true, -1},
};

/* Find the operator at token t. @return whether there is one. */
static bool operator_at(const dcli_tokens *tokens, int t, int count, const dcli_param params[], struct operator* found)
{
    for (size_t n = 0; n < sizeof operators / sizeof operators[0]; n++)
        if (dcli_token_is(tokens, t, operators[n].spelling) &&
            (!operators[n].word || dcli_token_is(tokens, t + 1, "="))) {
            *found = operators[n];
            return true;
        }
    for (int p = 0; p < count; p++) {
        if (params[p].access != DCL_ACCESS_OPERATOR)
            continue;
        *found = (struct operator){.fold = DCLI_FOLD_OWN, .word = true, .param = p};
        dcli_operator_split(params[p].name, found->spelling);
        if (dcli_token_is(tokens, t, found->spelling) && dcli_token_is(tokens, t + 1, "="))
            return true;
    }
    return false;
}

bool dcli_operator_at(const dcli_tokens *tokens, int t, int count, const dcli_param params[],
                      dcli_operator *operator_out)
{
    struct operator found;
    if (!operator_at(tokens, t, count, params, &found))
        return false;
    *operator_out = (dcli_operator){
        .fold = found.fold, .integers = found.integers, .param = found.param, .next = t + (found.word ? 2 : 1)};
    return true;
}

dcl_status dcli_add_edit(dcli_parser *parser, const dcli_edit *edit)
{
    struct dcli_body_inside *inside = parser->inside;
    if (dcli_grow(&inside->edit, inside->edit_count, &inside->edit_capacity, sizeof *inside->edit) != 0)
        return DCL_ERR_NOMEM;
    inside->edit[inside->edit_count++] = *edit;
    return DCL_OK;
}

int dcli_find_token(const dcli_tokens *tokens, int t, const char *spellings)
{
    while (t < tokens->count && !dcli_token_in(tokens, t, spellings))
        t = tokens->token[t].partner > t ? tokens->token[t].partner : t + 1;
    return t;
}

/* Check a statement whose operator is at token t. @param before  the operator of an earlier statement; -1: none. */
static dcl_status check_found(const dcli_tokens *tokens, int t, const dcli_param *param, const struct operator* found,
                              int before)
{
    int comma = dcli_find_token(tokens, t, "; ,");
    if (dcli_token_is(tokens, comma, ","))
        return dcli_token_fail(tokens, comma,
                               "the statement that reduces %s has a comma; expected one expression; write two "
                               "statements",
                               param->name);
    if (found->integers && param->type >= DCL_HALF)
        return dcli_token_fail(
            tokens, t, "%s is of a floating-point type; expected an integer for %s, or += *= min= max=", param->name,
            found->spelling);
    if (before >= 0 && before != (int)found->fold)
        return dcli_token_fail(tokens, t, "%s was reduced by another operator before; expected one for all statements",
                               param->name);
    return DCL_OK;
}

dcl_status dcli_check_operator(const dcli_parser *parser, int t, const dcli_param *param, int before)
{
    struct operator found;
    return operator_at(parser->tokens, t, parser->body->param_count, parser->body->params, &found)
               ? check_found(parser->tokens, t, param, &found, before)
               : DCLI_FAIL(DCL_ERR_INTERNAL, "no operator");
}

/* Replace result r, the tokens from t to `last`, by the variable for one index. `low min= x;` becomes
 * `dcl_r0 = dcl_least_float(dcl_r0, (x));`, `found any= x;` becomes `dcl_r0 = dcl_r0 | ((x) != 0);`. */
static dcl_status edit_result(dcli_parser *parser, int t, int last, int r, const struct operator* found)
{
    const dcli_tokens *tokens = parser->tokens;
    dcli_edit edit = {.first = t, .last = last};
    const char *end = "))";
    snprintf(edit.text, sizeof edit.text, "dcl_r%d", r);
    if (!found->word)
        return dcli_add_edit(parser, &edit);
    dcl_type type = parser->body->params[parser->body->result[r].param].type;
    char mark[24] = ""; /* an expression, as the statement may follow an `if` */
    if (parser->body->result[r].placed)
        snprintf(mark, sizeof mark, "dcl_q%d = true, ", r);
    edit.last = last + 2;
    if (found->call != NULL) {
        snprintf(edit.text, sizeof edit.text, "%sdcl_r%d = %s_%s(dcl_r%d, (", mark, r, found->call,
                 dcli_kernel_type(type), r);
    } else if (found->fold == DCLI_FOLD_OWN) {
        snprintf(edit.text, sizeof edit.text, "dcl_r%d = %s(dcl_r%d, (", r, found->spelling, r);
    } else {
        snprintf(edit.text, sizeof edit.text, "dcl_r%d = dcl_r%d %c ((", r, r,
                 found->fold == DCLI_FOLD_ANY ? '|' : '&');
        end = ") != 0)";
    }
    dcl_status status = dcli_add_edit(parser, &edit);
    dcli_edit close = {.first = dcli_find_token(tokens, t, ";"), .last = dcli_find_token(tokens, t, ";") - 1};
    snprintf(close.text, sizeof close.text, "%s", end);
    return status == DCL_OK ? dcli_add_edit(parser, &close) : status;
}

/* Parse the subscripts of an output that is reduced, result r. */
static dcl_status read_output(dcli_parser *parser, int t, int r)
{
    dcli_body *body = parser->body;
    dcli_result *result = &body->result[r];
    const dcli_param *param = &body->params[result->param];
    int a = -1;
    if (!dcli_token_is(parser->tokens, t + 1, "("))
        return dcli_token_fail(parser->tokens, t,
                               "%s is an array and stands without subscripts; write %s(i, ...) += ...;", param->name,
                               param->name);
    dcl_status status = dcli_list_access(parser, t, result->param, &a);
    if (status == DCL_OK)
        status = dcli_check_permutation(parser, a, t);
    if (status == DCL_OK && result->used && result->access != a)
        return dcli_token_fail(parser->tokens, t,
                               "%s is reduced here at other subscripts than in line %d, column %d; expected the same; "
                               "reduce into a second array",
                               param->name, body->access[result->access].line, body->access[result->access].column);
    if (status != DCL_OK)
        return status;
    result->access = a;
    body->access[a].written = true;
    body->access[a].read = param->access == DCL_ACCESS_INOUT;
    return DCL_OK;
}

/* Parse the subscripts of result r, an element of an array: the bracket at token `open`. */
static dcl_status read_element(dcli_parser *parser, int open, int r)
{
    const dcli_tokens *tokens = parser->tokens;
    dcli_result *result = &parser->body->result[r];
    const dcli_param *param = &parser->body->params[result->param];
    if (!dcli_token_is(tokens, open, "("))
        return dcli_token_fail(tokens, open - 1, "%s is an array and stands without subscripts; write %s(0) += ...;",
                               param->name, param->name);
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK], count = dcli_token_split(tokens, open, DCL_MAX_RANK, first, end);
    if (count != param->rank)
        return dcli_token_fail(tokens, open - 1, "%s has %d subscript%s here; expected %d, one per axis of the array",
                               param->name, count, count == 1 ? "" : "s", param->rank);
    for (int d = 0; d < count; d++)
        if (!dcli_is_constant(tokens, first[d], end[d], parser->body->param_count, parser->body->params))
            return dcli_token_fail(
                tokens, first[d],
                "subscript %d of %s is no constant; expected numbers or the names of integer DCL_VALUEs for an element",
                d + 1, param->name);
    if (!result->used)
        result->element = open;
    int length = tokens->token[open].partner - open;
    if (tokens->token[result->element].partner - result->element != length ||
        !dcli_tokens_equal(tokens, open, result->element, length))
        return dcli_token_fail(tokens, open - 1,
                               "%s is reduced here into another element than in line %d, column %d; expected the same; "
                               "reduce into a second array",
                               param->name, tokens->token[result->element - 1].line,
                               tokens->token[result->element - 1].column);
    return DCL_OK;
}

dcl_status dcli_parse_result(dcli_parser *parser, int t, int param, dcli_spot spot, int *next_out)
{
    dcli_body *body = parser->body;
    const dcli_tokens *tokens = parser->tokens;
    const dcli_param *declared = &body->params[param];
    bool output = dcli_param_is_output(declared), element = !output && declared->rank > 0;
    int last = (output || element) && dcli_token_is(tokens, t + 1, "(") ? tokens->token[t + 1].partner : t;
    struct operator found;
    bool any = operator_at(tokens, last + 1, body->param_count, body->params, &found);
    int r = 0;
    while (body->result[r].param != param)
        r++;
    if (t != parser->start || spot.brackets > 0 || !any)
        return dcli_token_fail(tokens, t,
                               "%s is %s; expected a statement %s%s += ..., with += -= *= &= |= ^= min= max= any= all= "
                               "or a DCL_OPERATOR; its "
                               "value is known only after the call",
                               declared->name, output || element ? "reduced" : "DCL_RESULT", declared->name,
                               output    ? "(i, ...)"
                               : element ? "(0)"
                                         : "");
    dcl_status status = output ? read_output(parser, t, r) : element ? read_element(parser, t + 1, r) : DCL_OK;
    if (status == DCL_OK)
        status = check_found(tokens, last + 1, declared, &found, body->result[r].used ? (int)body->result[r].fold : -1);
    if (status != DCL_OK)
        return status;
    body->result[r].used = true;
    body->result[r].fold = found.fold;
    body->result[r].combine = found.param;
    *next_out = last + (found.word ? 3 : 2);
    return edit_result(parser, t, last, r, &found);
}

/* ---- the body as a whole --------------------------------------------------------------------------------------------- */

/* Whether the subscripts of an access are the indices of the body, all of them, each once. */
static bool is_home(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    int rank = body->params[access->param].rank;
    unsigned seen = 0;
    if (access->reach != DCLI_REACH_AFFINE || rank != body->space_rank)
        return false;
    for (int d = 0; d < rank; d++) {
        int index = dcli_affine_plain_index(dcli_inside_subscript(body, a, d));
        seen |= index >= 0 ? 1U << index : 0;
    }
    return seen == body->indices;
}

static dcl_status check_result(const dcli_body *body, int r)
{
    const char *name = body->params[body->result[r].param].name;
    dcli_fold fold = body->result[r].fold;
    if (!body->result[r].used && body->keyed)
        return DCLI_FAIL(DCL_ERR_BODY,
                         "%s is an output, but the body does not reduce into it; write %s(...) += ...;, or declare "
                         "DCL_IN(%s)",
                         name, name, name);
    if (!body->result[r].used)
        return DCLI_FAIL(DCL_ERR_BODY,
                         "%s is DCL_RESULT, but the body does not reduce it; write %s += ...;, or leave it out", name,
                         name);
    if (!body->outline && dcli_fold_is_ordered(fold, body->params[body->result[r].param].type))
        return DCLI_FAIL(DCL_ERR_BODY,
                         "%s is combined in one order, %s, which reductions to values cannot do; expected an array: "
                         "reduce along one axis, such as y(i) *= A(i,j); with DCL_OUT(y)",
                         name, fold == DCLI_FOLD_OWN ? "by an operator of the program" : "as a product that rounds");
    if (body->result[r].placed && fold != DCLI_FOLD_MIN && fold != DCLI_FOLD_MAX)
        return DCLI_FAIL(DCL_ERR_BODY,
                         "DCL_RESULT_AT follows %s, which is no minimum or maximum; expected %s min= ...; or %s max= "
                         "...;, as only these are the value of one index",
                         name, name, name);
    return DCL_OK;
}

/* List the indices of the body: "i,j". */
static void list_indices(const dcli_body *body, char names[3 * DCL_MAX_RANK])
{
    names[0] = '\0';
    for (int n = 0; n < DCL_MAX_RANK; n++)
        if (dcli_body_has_index(body, n))
            snprintf(names + strlen(names), 3 * DCL_MAX_RANK - strlen(names), "%s%s", names[0] != '\0' ? "," : "",
                     dcli_index_name(n));
}

/* Find the home access: of a body with outputs that of the first one, else the first input that has all indices. All outputs must have
 * all indices. */
static dcl_status find_home(dcli_body *body)
{
    char names[3 * DCL_MAX_RANK];
    int first = body->access_count;
    list_indices(body, names);
    for (int a = 0; a < body->access_count; a++) {
        if (!body->access[a].written)
            continue;
        if (!is_home(body, a))
            return DCLI_FAIL(DCL_ERR_BODY,
                             "line %d, column %d: output %s is not written at (%s), in any order; expected all indices "
                             "of the body, as "
                             "each of their combinations writes one element; write it with a call of its own",
                             body->access[a].line, body->access[a].column, body->params[body->access[a].param].name,
                             names);
        if (first == body->access_count || body->access[a].param < body->access[first].param)
            first = a;
    }
    body->home = first < body->access_count ? first : 0;
    while (body->home < body->access_count && !is_home(body, body->home))
        body->home++;
    return DCL_OK;
}

dcl_status dcli_refuse_own_space(const dcli_body *body)
{
    char names[3 * DCL_MAX_RANK];
    list_indices(body, names);
    return DCLI_FAIL(
        DCL_ERR_BODY,
        "no DCL_IN is read at (%s), in any order; expected one, as its elements say over which indices the "
        "body is reduced, and where",
        names);
}

dcl_status dcli_check_reduction(dcli_body *body)
{
    dcl_status status = DCL_OK;
    for (int r = 0; r < body->result_count && status == DCL_OK; r++)
        status = check_result(body, r);
    if (status == DCL_OK)
        status = find_home(body);
    if (status != DCL_OK)
        return status;
    if (body->home < body->access_count) {
        body->owner = body->access[body->home].param;
        return DCL_OK;
    }
    if (!body->outline)
        return dcli_refuse_own_space(body);
    body->own_space = true;
    for (int n = 0, m = 0; n < DCL_MAX_RANK; n++)
        if (dcli_body_has_index(body, n))
            body->index_of_axis[m++] = n;
    return DCL_OK;
}

dcl_status dcli_add_partials(dcli_body *body)
{
    if (body->keyed)
        return dcli_add_keyed(body);
    if (body->param_count > DCLI_MAX_REDUCED_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "a reduction has %d arguments; expected at most %d", body->param_count,
                         DCLI_MAX_REDUCED_PARAMS);
    body->partials = body->param_count;
    body->added = DCLI_MAX_PARAMS - DCLI_MAX_REDUCED_PARAMS;
    body->params[body->param_count++] =
        (dcli_param){.name = "dcl_partials", .access = DCL_ACCESS_INOUT, .type = DCL_INT64, .rank = 1};
    body->params[body->param_count++] =
        (dcli_param){.name = "dcl_stamp", .access = DCL_ACCESS_VALUE, .type = DCL_INT64};
    return DCL_OK;
}
