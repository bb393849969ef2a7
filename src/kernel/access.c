/* kernel/access.c - parse one access of an array: its subscripts, how it is used, and whether its role allows that. */
#include "kernel/parser.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/names.h"

dcli_reach dcli_reach_of(dcl_access access)
{
    switch (access) {
    case DCL_ACCESS_IN_ALL:
        return DCLI_REACH_ALL;
    case DCL_ACCESS_IN_ROWS:
        return DCLI_REACH_ROWS;
    case DCL_ACCESS_IN_COLUMNS:
        return DCLI_REACH_COLUMNS;
    case DCL_ACCESS_IN_HALO:
        return DCLI_REACH_HALO;
    case DCL_ACCESS_IN_CROSS:
        return DCLI_REACH_CROSS;
    case DCL_ACCESS_IN_BOX:
    case DCL_ACCESS_IN_AT:
        return DCLI_REACH_BOX;
    case DCL_ACCESS_IN_FUNCTION:
        return DCLI_REACH_FUNCTION;
    default:
        return DCLI_REACH_AFFINE;
    }
}

static dcl_status check_rank(const dcli_parser *parser, int name, dcli_param *param, int found)
{
    if (parser->survey && param->rank == 0 && found <= DCL_MAX_RANK)
        param->rank = found; /* the rank is not known yet: take that of the first occurrence */
    if (found == param->rank && found > 0)
        return DCL_OK;
    if (param->rank == 0)
        return dcli_token_fail(parser->tokens, name, "%s has %d subscripts here; expected 1 to %d", param->name, found,
                               DCL_MAX_RANK);
    return dcli_token_fail(parser->tokens, name, "%s has %d subscript%s here; expected %d, one per axis of the array",
                           param->name, found, found == 1 ? "" : "s", param->rank);
}

/* In a survey: find the access that has the same text as tokens `name` .. `close`. @return its number; -1: none. */
static int find_by_text(const dcli_parser *parser, int param, int name, int close)
{
    const struct dcli_body_inside *inside = parser->inside;
    for (int64_t p = 0; p < inside->place_count; p++) {
        const dcli_place *place = &inside->place[p];
        if (parser->body->access[place->access].param == param && place->close - place->name == close - name &&
            dcli_tokens_equal(parser->tokens, place->name, name, close - name))
            return place->access;
    }
    return -1;
}

static int find_by_subscripts(const dcli_parser *parser, int param, const dcli_affine subscript[])
{
    const dcli_body *body = parser->body;
    for (int a = 0; a < body->access_count; a++) {
        if (body->access[a].param != param)
            continue;
        bool equal = true;
        if (body->access[a].reach == DCLI_REACH_AFFINE)
            for (int d = 0; d < body->params[param].rank && equal; d++)
                equal = dcli_affine_equal(dcli_inside_subscript(body, a, d), &subscript[d]);
        if (equal)
            return a;
    }
    return -1;
}

/* List the inner axes that the subscripts of an access use. @return false: more than a plan has axes for. */
static bool list_inner(const dcli_body *body, int rank, const dcli_affine subscript[], signed char list_out[],
                       int *count_out)
{
    *count_out = 0;
    for (int q = 0; q < body->inside->inner_count; q++) {
        bool used = false;
        for (int d = 0; d < rank; d++)
            used |= dcli_affine_uses(&subscript[d], DCL_MAX_RANK + q);
        if (used && body->space_rank + *count_out == DCL_MAX_RANK)
            return false;
        if (used)
            list_out[(*count_out)++] = (signed char)q;
    }
    return true;
}

static dcl_status add_access(dcli_parser *parser, int param, int name, const dcli_affine subscript[], int *access_out)
{
    dcli_body *body = parser->body;
    struct dcli_body_inside *inside = parser->inside;
    if (body->access_count == DCLI_MAX_ACCESSES)
        return dcli_token_fail(parser->tokens, name,
                               "this is access number %d to arrays; expected at most %d different "
                               "ones; split the body",
                               DCLI_MAX_ACCESSES + 1, DCLI_MAX_ACCESSES);
    int a = body->access_count++;
    body->access[a] = (dcli_body_access){.param = param,
                                         .reach = dcli_reach_of(body->params[param].access),
                                         .unit_axis = -1,
                                         .line = parser->tokens->token[name].line,
                                         .column = parser->tokens->token[name].column};
    parser->early_read[a] = -1;
    inside->access_inner_count[a] = 0;
    if (subscript != NULL &&
        !list_inner(body, body->params[param].rank, subscript, inside->access_inner[a], &inside->access_inner_count[a]))
        return dcli_token_fail(
            parser->tokens, name,
            "the subscripts of %s use too many loop variables; expected at most %d axes of the index "
            "space and loop variables together; declare DCL_IN_ALL(%s)",
            body->params[param].name, DCL_MAX_RANK, body->params[param].name);
    inside->first_subscript[a] = subscript != NULL ? (int)inside->subscript_count : -1;
    for (int d = 0; subscript != NULL && d < body->params[param].rank; d++) {
        if (dcli_grow(&inside->subscript, inside->subscript_count, &inside->subscript_capacity,
                      sizeof *inside->subscript) != 0)
            return DCL_ERR_NOMEM;
        inside->subscript[inside->subscript_count++] = subscript[d];
    }
    if (subscript != NULL && !dcli_boundary_constants_agree(body, a))
        return dcli_token_fail(
            parser->tokens, name,
            "subscripts of %s have different values beyond their limits; where several subscripts are beyond, "
            "only one value can be read; write the same value in each constant(...)",
            body->params[param].name);
    *access_out = a;
    return DCL_OK;
}

/* Find the access that an occurrence belongs to, or add one: parse its subscripts if they must be affine. Those of a
 * declared reach are any expressions, which may contain accesses themselves; dcli_parse_access() parses them after it
 * has listed the occurrence. */
static dcl_status read_subscripts(dcli_parser *parser, int name, int param, int *access_out)
{
    dcli_param *declared = &parser->body->params[param];
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    int count = dcli_token_split(parser->tokens, name + 1, DCL_MAX_RANK, first, end);
    dcl_status status = check_rank(parser, name, declared, count);
    if (status != DCL_OK)
        return status;
    dcli_affine subscript[DCL_MAX_RANK];
    bool affine = !parser->survey && dcli_reach_of(declared->access) == DCLI_REACH_AFFINE;
    for (int d = 0; affine && d < count; d++) {
        dcli_affine_reader reader = {.tokens = parser->tokens, .body = parser->body, .param = param, .axis = d};
        status = dcli_affine_read(&reader, first[d], end[d], &subscript[d]);
        if (status != DCL_OK)
            return status;
    }
    int close = parser->tokens->token[name + 1].partner;
    *access_out =
        parser->survey ? find_by_text(parser, param, name, close) : find_by_subscripts(parser, param, subscript);
    return *access_out >= 0 ? DCL_OK : add_access(parser, param, name, affine ? subscript : NULL, access_out);
}

static dcl_status add_place(dcli_parser *parser, int access, int name)
{
    struct dcli_body_inside *inside = parser->inside;
    if (dcli_grow(&inside->place, inside->place_count, &inside->place_capacity, sizeof *inside->place) != 0)
        return DCL_ERR_NOMEM;
    inside->place[inside->place_count++] =
        (dcli_place){.access = access, .name = name, .close = parser->tokens->token[name + 1].partner};
    return DCL_OK;
}

/* Whether an occurrence is an attempt to reduce, such as S(0) += A(i), in which many iterations would write one
 * element. */
static bool is_sum(const dcli_parser *parser, int name)
{
    int close = parser->tokens->token[name + 1].partner;
    return dcli_usage_of(parser->tokens, name, close) == DCLI_UPDATES;
}

dcl_status dcli_check_permutation(const dcli_parser *parser, int a, int name)
{
    const dcli_body *body = parser->body;
    const dcli_param *param = &body->params[body->access[a].param];
    bool seen[DCL_MAX_RANK] = {false};
    for (int d = 0; d < param->rank; d++) {
        int index = dcli_affine_plain_index(dcli_inside_subscript(body, a, d));
        if (index < 0 && !body->along && is_sum(parser, name))
            return dcli_token_fail(
                parser->tokens, name,
                "%s is summed up where subscript %d is no plain index; a body writes each element of "
                "its output once; dcl_reduce() sums over elements (docs/reductions.md)",
                param->name, d + 1);
        if (index < 0 || seen[index])
            return dcli_token_fail(parser->tokens, name,
                                   "%s is written where subscript %d is %s; an output is written at "
                                   "the plain indices, each once, in any order; shift what is read instead",
                                   param->name, d + 1, index < 0 ? "no plain index" : "an index that was used before");
        seen[index] = true;
    }
    return DCL_OK;
}

static dcl_status write_access(dcli_parser *parser, int a, int name, dcli_spot spot)
{
    dcli_body *body = parser->body;
    const dcli_param *param = &body->params[body->access[a].param];
    if (!parser->survey) {
        if (!dcli_param_is_output(param))
            return dcli_token_fail(parser->tokens, name,
                                   "%s is %s, but written here; declare DCL_OUT(%s), or "
                                   "DCL_INOUT(%s) when it is read as well",
                                   param->name, dcli_access_name(param->access), param->name, param->name);
        dcl_status status = dcli_check_permutation(parser, a, name);
        if (status != DCL_OK)
            return status;
    }
    body->access[a].written = true;
    if (parser->hidden < 0 && dcli_is_sure(parser, name, parser->tokens->token[name + 1].partner, spot))
        parser->pending |= UINT64_C(1) << a;
    return DCL_OK;
}

static void read_access(dcli_parser *parser, int a, int name)
{
    if ((parser->written >> a & 1) != 0)
        return; /* it reads what this iteration wrote before, not the value from before */
    parser->body->access[a].read = true;
    if (parser->early_read[a] < 0)
        parser->early_read[a] = name;
}

/* Whether an operator such as max= begins at token t of a survey, in which outputs of reductions are not known as such. */
static bool reduces_by_word(const dcli_parser *parser, int t, dcli_operator *operator_out)
{
    return parser->survey && dcli_token_kind_of(parser->tokens, t) == DCLI_TOKEN_NAME &&
           dcli_operator_at(parser->tokens, t, parser->body->param_count, parser->body->params, operator_out);
}

static dcl_status check_surroundings(const dcli_parser *parser, int name, int param)
{
    const dcli_tokens *tokens = parser->tokens;
    const char *text = parser->body->params[param].name;
    if (!dcli_token_is(tokens, name + 1, "("))
        return dcli_token_fail(tokens, name, "%s is an array and stands without subscripts; write %s(i, ...)", text,
                               text);
    if (dcli_takes_address(tokens, name - 1))
        return dcli_token_fail(tokens, name - 1,
                               "the address of an element of %s is taken; elements have no address in "
                               "a body; use its value",
                               text);
    int close = tokens->token[name + 1].partner;
    dcli_token_kind behind = dcli_token_kind_of(tokens, close + 1);
    if (reduces_by_word(parser, close + 1, &(dcli_operator){0}))
        return DCL_OK;
    if (dcli_token_in(tokens, close + 1, "min max any all") && dcli_token_is(tokens, close + 2, "="))
        return dcli_token_fail(tokens, close + 1,
                               "an operator that is a word combines values of several indices, as dcl_reduce() does, "
                               "and %s(...) is written once at each index; write an expression such as max(%s(...), "
                               "...) behind =",
                               text, text);
    if (behind == DCLI_TOKEN_NAME || behind == DCLI_TOKEN_NUMBER)
        return dcli_token_fail_behind(tokens, close, "an operator or a semicolon is missing behind %s(...)", text);
    return DCL_OK;
}

dcl_status dcli_list_access(dcli_parser *parser, int name, int param, int *access_out)
{
    dcl_status status = read_subscripts(parser, name, param, access_out);
    return status == DCL_OK ? add_place(parser, *access_out, name) : status;
}

dcl_status dcli_parse_access(dcli_parser *parser, int name, int param, dcli_spot spot, int *next_out)
{
    dcl_status status = check_surroundings(parser, name, param);
    int access = -1;
    if (status == DCL_OK)
        status = dcli_list_access(parser, name, param, &access);
    if (status != DCL_OK)
        return status;
    int close = parser->tokens->token[name + 1].partner;
    *next_out = close + 1;
    dcli_usage usage = dcli_usage_of(parser->tokens, name, close);
    dcli_operator operator;
    if (reduces_by_word(parser, close + 1, &operator)) {
        usage = DCLI_UPDATES;
        *next_out = operator.next;
    }
    if (usage != DCLI_WRITES)
        read_access(parser, access, name);
    if (usage != DCLI_READS)
        status = write_access(parser, access, name, spot);
    if (status == DCL_OK && parser->inside->first_subscript[access] < 0)
        status = dcli_parse_expression(parser, name + 2, close,
                                       (dcli_spot){.maybe = spot.maybe, .brackets = spot.brackets + 1});
    return status;
}
