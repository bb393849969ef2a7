/* kernel/expression.c - parse expressions and declarations: which names they use, and how.
 * No tree is built: the tokens next to a name determine its use, and the compiler checks the rest. */
#include "kernel/parser.h"

#include <ctype.h>
#include <string.h>

#include "kernel/names.h"

static const char assignments[] = "+= -= *= /= %= &= |= ^= <<= >>=";

static bool is_type(const dcli_tokens *tokens, int t)
{
    return dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NAME &&
           dcli_name_is_type(tokens->text + tokens->token[t].start, (size_t)tokens->token[t].length);
}

/* Whether the parentheses that end at token `close` enclose a type: (float), (__global float *), (my_type *). */
static bool is_cast(const dcli_tokens *tokens, int close)
{
    int open = tokens->token[close].partner;
    bool type = dcli_token_is(tokens, close - 1, "*") || is_type(tokens, close - 1);
    for (int t = open + 1; t < close; t++)
        if (tokens->token[t].kind != DCLI_TOKEN_NAME && !dcli_token_is(tokens, t, "*"))
            return false;
    return type;
}

/* Whether token t ends an operand, so that an operator after it is binary. */
static bool ends_operand(const dcli_tokens *tokens, int t)
{
    switch (dcli_token_kind_of(tokens, t)) {
    case DCLI_TOKEN_NAME:
        return !dcli_token_in(tokens, t, "case else do sizeof");
    case DCLI_TOKEN_NUMBER:
    case DCLI_TOKEN_TEXT:
        return true;
    case DCLI_TOKEN_SIGN:
        return dcli_token_is(tokens, t, ")") ? !is_cast(tokens, t) : dcli_token_is(tokens, t, "]");
    default:
        return false;
    }
}

bool dcli_takes_address(const dcli_tokens *tokens, int t)
{
    return dcli_token_is(tokens, t, "&") && !ends_operand(tokens, t - 1);
}

/* Extend the tokens [first, last] by pairs of parentheses that enclose nothing else: (C(i)) = ... is an assignment,
 * too. f(C(i)) is a call and adds none. If a `)` stands before, the parenthesis begins a statement, as in if (x) (C(i))
 * = ..., or the operand of a cast. @return number of pairs. */
static int unwrap(const dcli_tokens *tokens, int *first, int *last)
{
    int pairs = 0;
    while (
        dcli_token_is(tokens, *first - 1, "(") && dcli_token_is(tokens, *last + 1, ")") &&
        !dcli_token_is(tokens, *first - 2, "]") &&
        (dcli_token_kind_of(tokens, *first - 2) != DCLI_TOKEN_NAME || dcli_token_in(tokens, *first - 2, "else do"))) {
        (*first)--;
        (*last)++;
        pairs++;
    }
    return pairs;
}

bool dcli_is_sure(const dcli_parser *parser, int first, int last, dcli_spot spot)
{
    bool plain = unwrap(parser->tokens, &first, &last) == spot.brackets;
    first -= dcli_token_in(parser->tokens, first - 1, "++ --");
    return plain && !spot.maybe && (first == parser->start || dcli_token_in(parser->tokens, first - 1, "= ,"));
}

dcli_usage dcli_usage_of(const dcli_tokens *tokens, int first, int last)
{
    unwrap(tokens, &first, &last);
    if (dcli_token_is(tokens, last + 1, "="))
        return DCLI_WRITES;
    if (dcli_token_in(tokens, last + 1, assignments) || dcli_token_in(tokens, last + 1, "++ --"))
        return DCLI_UPDATES;
    return dcli_token_in(tokens, first - 1, "++ --") ? DCLI_UPDATES : DCLI_READS;
}

/* Whether the prelude has the name at token t before a parenthesis: it is a function, or a macro with parameters. */
static bool is_function(const dcli_parser *parser, int t)
{
    const dcli_token *token = &parser->tokens->token[t];
    const char *prelude = parser->body->prelude, *name = parser->tokens->text + token->start;
    size_t length = (size_t)token->length;
    for (const char *at = prelude; (at = memmem(at, strlen(at), name, length)) != NULL; at++) {
        const char *behind = at + length + strspn(at + length, " \t\r\n");
        if ((at == prelude || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) && *behind == '(')
            return true;
    }
    return false;
}

/* Whether `real (*i)`, `real * i` or `real (i) = 5` declares i, where `real` at token `type` may be a type of the
 * prelude: as an expression each would compute something useless. */
static bool is_declarator(const dcli_parser *parser, int type, int t, dcli_spot spot)
{
    const dcli_tokens *tokens = parser->tokens;
    if (dcli_token_in(tokens, type, "if while for switch return else do case sizeof"))
        return false;
    bool begins = type == parser->start || (dcli_token_kind_of(tokens, type - 1) == DCLI_TOKEN_NAME &&
                                            !dcli_token_in(tokens, type - 1, "else do case sizeof"));
    if (dcli_token_is(tokens, t - 1, "*"))
        return t - 2 != type || (begins && spot.brackets == 0);
    int behind = t + 1, pairs = 0;
    for (; dcli_token_is(tokens, behind, ")"); pairs++)
        behind++;
    return begins && pairs == spot.brackets &&
           (dcli_token_in(tokens, behind, "= [") ||
            (dcli_token_in(tokens, behind, ", ;") && !is_function(parser, type)));
}

/* Whether token t is declared: `long i`, `long (i)`, `float *i`, `struct { ... } i`, and `, i` in a declaration. */
static bool is_declared(const dcli_parser *parser, int t, dcli_spot spot)
{
    const dcli_tokens *tokens = parser->tokens;
    int before = t - 1, pairs = 0;
    for (; dcli_token_in(tokens, before, "( *"); before--)
        pairs += dcli_token_is(tokens, before, "(");
    if (dcli_token_is(tokens, before, ","))
        return pairs == spot.brackets && (parser->declaring || dcli_token_in(tokens, t + 1, ", ; ="));
    if (before == t - 1 && dcli_token_is(tokens, before, ")"))
        return dcli_token_in(tokens, tokens->token[before].partner - 1, "__attribute__ __attribute");
    if (dcli_token_is(tokens, before, "}")) /* the } of a struct, not of a compound literal */
        return t > parser->start && !dcli_token_in(tokens, tokens->token[before].partner - 1, ") =");
    if (dcli_token_kind_of(tokens, before) != DCLI_TOKEN_NAME)
        return false;
    if (before == t - 1)
        return !dcli_token_in(tokens, before, "case else do sizeof");
    return is_type(tokens, before) || is_declarator(parser, before, t, spot);
}

/* Refuse to declare, change or point to an index or a scalar: subscripts were parsed for the values that they have. */
static dcl_status check_constant(const dcli_parser *parser, int t, dcli_spot spot, const char *what)
{
    const dcli_tokens *tokens = parser->tokens;
    const dcli_token *token = &tokens->token[t];
    const char *name = tokens->text + token->start;
    if (is_declared(parser, t, spot))
        return dcli_token_fail(tokens, t, "%.*s is %s and cannot be declared anew; choose another name", token->length,
                               name, what);
    if (dcli_usage_of(tokens, t, t) != DCLI_READS)
        return dcli_token_fail(tokens, t, "%.*s is %s and cannot be assigned to; use a variable of your own",
                               token->length, name, what);
    if (dcli_takes_address(tokens, t - 1))
        return dcli_token_fail(tokens, t - 1, "%.*s is %s and has no address; copy it into a variable of your own",
                               token->length, name, what);
    return DCL_OK;
}

static int find_param(const dcli_parser *parser, int t)
{
    for (int p = 0; p < parser->body->param_count; p++)
        if (dcli_token_is(parser->tokens, t, parser->body->params[p].name))
            return p;
    return -1;
}

static dcl_status read_name(dcli_parser *parser, int t, dcli_spot spot, int *next_out)
{
    const dcli_tokens *tokens = parser->tokens;
    const dcli_token *token = &tokens->token[t];
    const char *name = tokens->text + token->start;
    *next_out = t + 1;
    if (dcli_token_in(tokens, t - 1, ". ->"))
        return DCL_OK; /* it names a member of a struct or vector, not a variable */
    const char *refused = dcli_name_refused(name, (size_t)token->length);
    if (refused != NULL)
        return dcli_token_fail(tokens, t, "%.*s cannot stand in a body: %s", token->length, name, refused);
    int param = find_param(parser, t);
    if (param < 0) {
        int index = dcli_name_index(name, (size_t)token->length);
        return dcli_body_has_index(parser->body, index) ? check_constant(parser, t, spot, "an index of the body")
                                                        : DCL_OK;
    }
    bool along = parser->body->along && dcli_param_is_output(&parser->body->params[param]);
    if (parser->body->keyed && dcli_param_is_result(&parser->body->params[param]))
        return dcli_parse_keyed(parser, t, param, spot, next_out);
    if (along || dcli_param_is_result(&parser->body->params[param]))
        return dcli_parse_result(parser, t, param, spot, next_out);
    if (parser->body->params[param].access == DCL_ACCESS_VALUE)
        return check_constant(parser, t, spot, "a DCL_VALUE");
    return dcli_parse_access(parser, t, param, spot, next_out);
}

dcl_status dcli_parse_expression(dcli_parser *parser, int first, int end, dcli_spot spot)
{
    const dcli_tokens *tokens = parser->tokens;
    bool inherited = spot.maybe;
    int open = 0; /* number of ? without their : so far */
    dcl_status status = DCL_OK;
    for (int t = first; t < end && status == DCL_OK;) {
        if (tokens->token[t].kind == DCLI_TOKEN_NAME) {
            status = read_name(parser, t, spot, &t);
        } else if (tokens->token[t].partner > t) {
            if (dcli_token_is(tokens, t, "(") && dcli_token_is(tokens, t + 1, "{"))
                return dcli_token_fail(tokens, t + 1,
                                       "statements inside an expression are not supported; put them before it");
            dcli_spot inner = {.maybe = spot.maybe, .brackets = spot.brackets + 1};
            status = dcli_parse_expression(parser, t + 1, tokens->token[t].partner, inner);
            t = tokens->token[t].partner + 1;
        } else {
            if (dcli_token_in(tokens, t, "? && ||"))
                spot.maybe = true;
            else if (dcli_token_in(tokens, t, ", ;") && open == 0)
                spot.maybe = inherited; /* after ? a comma does not end what is perhaps not evaluated; : does not
                                           either */
            open += dcli_token_is(tokens, t, "?");
            open -= dcli_token_is(tokens, t, ":") && open > 0;
            t++;
        }
    }
    return status;
}
