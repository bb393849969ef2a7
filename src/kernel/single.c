/* kernel/single.c - finds sums of type double whose summands are of type float.
 *
 * The expressions that are understood consist of +, -, *, /, parentheses, numbers, scalars, indices, elements and variables of the
 * body. Their type is float if one of these operands is of type float, and none is of type double: C converts integers to float. */
#include "kernel/single.h"

#include <ctype.h>
#include <string.h>

#include "kernel/guard.h"
#include "kernel/inside.h"
#include "kernel/names.h"

/* What an operand does to the type of an expression. */
typedef enum operand { UNKNOWN, INTEGER, SINGLE } operand;

static operand of_type(dcl_type type) { return type == DCL_FLOAT ? SINGLE : type < DCL_HALF ? INTEGER : UNKNOWN; }

/* A number: digits only, or one that ends with f. */
static operand of_number(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    const char *text = tokens->text + token->start;
    int digits = 0;
    while (digits < token->length && isdigit((unsigned char)text[digits]))
        digits++;
    if (digits == token->length)
        return INTEGER;
    bool hexadecimal = token->length > 1 && (text[1] == 'x' || text[1] == 'X');
    return !hexadecimal && text[token->length - 1] == 'f' ? SINGLE : UNKNOWN;
}

/* Whether a token has the spelling of token t. */
static bool same(const dcli_tokens *tokens, int t, int other)
{
    return dcli_token_kind_of(tokens, other) == DCLI_TOKEN_NAME && dcli_tokens_equal(tokens, t, other, 1);
}

/* Whether the name at token t is that of a variable which the body declares: `float NAME`. */
static bool is_single_variable(const dcli_tokens *tokens, int t)
{
    for (int k = 1; k < tokens->count; k++)
        if (dcli_token_is(tokens, k - 1, "float") && same(tokens, t, k))
            return true;
    return false;
}

static bool is_index(const dcli_body *body, int t)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    return dcli_body_has_index(body,
                               dcli_name_index(tokens->text + tokens->token[t].start, (size_t)tokens->token[t].length));
}

/* The operand that begins at token t. @param last_out  its last token. */
static operand operand_at(const dcli_body *body, int t, int *last_out)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    const dcli_place *place = dcli_inside_place(body, t);
    const dcli_param *param = dcli_param_at(body, t);
    *last_out = place != NULL ? place->close : t;
    if (place != NULL)
        return of_type(body->params[body->access[place->access].param].type);
    if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NUMBER)
        return of_number(tokens, t);
    if (dcli_token_kind_of(tokens, t) != DCLI_TOKEN_NAME)
        return UNKNOWN;
    if (param != NULL)
        return param->access == DCL_ACCESS_VALUE ? of_type(param->type) : UNKNOWN;
    if (is_index(body, t))
        return INTEGER;
    return is_single_variable(tokens, t) ? SINGLE : UNKNOWN;
}

static bool is_call(const dcli_tokens *tokens, int t)
{
    const dcli_token *token = &tokens->token[t];
    return dcli_token_is(tokens, t + 1, "(") && !dcli_name_is_type(tokens->text + token->start, (size_t)token->length);
}

/* Whether all names of the text are known, so that no declaration hides one of them. Functions may be called. */
static bool knows_all_names(const dcli_body *body)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    for (int t = 0; t < tokens->count; t++) {
        const dcli_place *place = dcli_inside_place(body, t);
        if (place != NULL)
            t = place->close;
        else if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NAME && !dcli_token_in(tokens, t, "float const if else") &&
                 dcli_param_at(body, t) == NULL && !is_index(body, t) && !is_call(tokens, t) &&
                 !is_single_variable(tokens, t))
            return false;
    }
    return true;
}

/* The only token that is the name of a result; -1: there are several. */
static int token_of(const dcli_body *body, int r)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    int found = -1;
    for (int t = 0; t < tokens->count; t++)
        if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_NAME &&
            dcli_token_is(tokens, t, body->params[body->result[r].param].name)) {
            if (found >= 0)
                return -1;
            found = t;
        }
    return found;
}

bool dcli_adds_singles(const dcli_body *body, int r)
{
    const dcli_tokens *tokens = &body->inside->tokens;
    if (body->params[body->result[r].param].type != DCL_DOUBLE || body->result[r].fold != DCLI_FOLD_SUM ||
        body->prelude[0] != '\0' || body->inside->has_loop || !knows_all_names(body))
        return false;
    int t = token_of(body, r);
    if (t < 0 || !(t == 0 || dcli_token_in(tokens, t - 1, "; { } ) else")))
        return false;
    t = dcli_token_is(tokens, t + 1, "(") ? tokens->token[t + 1].partner + 1 : t + 1;
    if (!dcli_token_in(tokens, t, "+= -="))
        return false;
    bool single = false;
    for (t++; !dcli_token_is(tokens, t, ";"); t++) {
        if (dcli_token_in(tokens, t, "( ) + - * /"))
            continue;
        operand operand = operand_at(body, t, &t);
        if (operand == UNKNOWN)
            return false;
        single |= operand == SINGLE;
    }
    return single;
}
