/* cli/number.c - compute constant expressions of a program. */
#include "cli/number.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

enum {
    DEEPEST = 32,      /* brackets, and macros inside of macros */
    MOST_STEPS = 10000 /* operands of an expression, with those of its macros */
};

/* An expression that is computed. */
typedef struct reader {
    const cli_constants *constants;
    const cli_token *token;
    int count, at, depth;
    int *steps;
} reader;

static bool read_level(reader *reader, int level, cli_number *out);
static bool read_unary(reader *reader, cli_number *out);

static bool is(const reader *reader, const char *spelling)
{
    return reader->at < reader->count && cli_token_is(&reader->token[reader->at], spelling);
}

static double real_of(const cli_number *number) { return number->is_real ? number->real : (double)number->integer; }

static bool read_literal(const cli_token *token, cli_number *out)
{
    char text[64], *end;
    if (token->length >= (int)sizeof text)
        return false;
    memcpy(text, token->start, (size_t)token->length);
    text[token->length] = '\0';
    unsigned long long integer = strtoull(text, &end, 0);
    if (strspn(end, "uUlL") == strlen(end)) {
        *out = (cli_number){.integer = (long long)integer};
        return integer <= LLONG_MAX;
    }
    *out = (cli_number){.is_real = true, .real = strtod(text, &end)};
    return strspn(end, "fFlL") == strlen(end);
}

/* Compute what a name stands for. */
static bool read_name(reader *outer, cli_number *out)
{
    const cli_token *name = &outer->token[outer->at++];
    const cli_constant *found = cli_constants_find(outer->constants, name);
    if (found == NULL)
        return outer->constants->variable != NULL && outer->constants->variable(outer->constants->user, name, out);
    if (found->token == NULL) {
        *out = found->value;
        return found->known;
    }
    reader inner = {outer->constants, found->token, found->count - 1, 0, outer->depth + 1, outer->steps};
    return !found->has_arguments && inner.count > 0 && inner.depth < DEEPEST && read_level(&inner, 0, out) &&
           inner.at == inner.count;
}

/* Convert as a cast to a type of these words does. */
static void cast(bool to_real, cli_number *number)
{
    if (to_real && !number->is_real)
        *number = (cli_number){.is_real = true, .real = (double)number->integer};
    else if (!to_real && number->is_real && number->real > -9e18 && number->real < 9e18)
        *number = (cli_number){.integer = (long long)number->real};
}

/* Read an expression in parentheses, or a cast and its operand. */
static bool read_parentheses(reader *reader, cli_number *out)
{
    static const char types[] = "int long short char unsigned signed float double size_t int32_t int64_t";
    bool casts = false, to_real = false;
    for (reader->at++; reader->at < reader->count && cli_token_in(&reader->token[reader->at], types); reader->at++) {
        to_real |= cli_token_in(&reader->token[reader->at], "float double");
        casts = true;
    }
    if (!casts && !read_level(reader, 0, out))
        return false;
    if (!is(reader, ")"))
        return false;
    reader->at++;
    if (!casts)
        return true;
    if (!read_unary(reader, out))
        return false;
    cast(to_real, out);
    return true;
}

static bool read_unary(reader *reader, cli_number *out)
{
    if (reader->at >= reader->count || reader->depth >= DEEPEST || ++*reader->steps > MOST_STEPS)
        return false;
    const cli_token *token = &reader->token[reader->at];
    reader->depth++;
    bool read = false;
    if (cli_token_in(token, "- +")) {
        reader->at++;
        read = read_unary(reader, out);
        if (read && cli_token_is(token, "-")) {
            out->real = -out->real;
            read = !__builtin_sub_overflow(0, out->integer, &out->integer);
        }
    } else if (cli_token_is(token, "(")) {
        read = read_parentheses(reader, out);
    } else if (token->kind == CLI_TOKEN_NUMBER) {
        reader->at++;
        read = read_literal(token, out);
    } else if (token->kind == CLI_TOKEN_NAME) {
        read = read_name(reader, out);
    }
    reader->depth--;
    return read;
}

static bool combine_reals(char op, double left, double right, cli_number *out)
{
    *out = (cli_number){.is_real = true};
    out->real = op == '+' ? left + right : op == '-' ? left - right : op == '*' ? left * right : left / right;
    return strchr("+-*/", op) != NULL;
}

static bool combine_integers(char op, long long left, long long right, cli_number *out)
{
    *out = (cli_number){0};
    switch (op) {
    case '+':
        return !__builtin_add_overflow(left, right, &out->integer);
    case '-':
        return !__builtin_sub_overflow(left, right, &out->integer);
    case '*':
        return !__builtin_mul_overflow(left, right, &out->integer);
    case '/':
    case '%':
        if (right == 0 || (left == LLONG_MIN && right == -1))
            return false;
        out->integer = op == '/' ? left / right : left % right;
        return true;
    case '<':
        if (left < 0 || right < 0 || right > 62 || left > LLONG_MAX >> right)
            return false;
        out->integer = left << right;
        return true;
    case '>':
        if (left < 0 || right < 0 || right > 62)
            return false;
        out->integer = left >> right;
        return true;
    case '&':
        out->integer = left & right;
        return true;
    case '|':
        out->integer = left | right;
        return true;
    default:
        return false;
    }
}

/* The operators by precedence, the loosest first. */
static const char *const levels[] = {"|", "&", "<< >>", "+ -", "* / %"};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static bool read_level(reader *reader, int level, cli_number *out)
{
    if (level == LEVELS)
        return read_unary(reader, out);
    if (!read_level(reader, level + 1, out))
        return false;
    while (reader->at < reader->count && cli_token_in(&reader->token[reader->at], levels[level])) {
        char op = reader->token[reader->at++].start[0];
        cli_number left = *out, right;
        if (!read_level(reader, level + 1, &right))
            return false;
        if (left.is_real || right.is_real ? !combine_reals(op, real_of(&left), real_of(&right), out)
                                          : !combine_integers(op, left.integer, right.integer, out))
            return false;
    }
    return true;
}

bool cli_number_of(const cli_constants *constants, const cli_token *token, int count, cli_number *out)
{
    int steps = 0;
    reader reader = {constants, token, count, 0, 0, &steps};
    return count > 0 && read_level(&reader, 0, out) && reader.at == count;
}

bool cli_constant_value(const cli_constants *constants, const cli_constant *constant, cli_number *out)
{
    cli_constants alone = *constants;
    alone.variable = NULL;
    return cli_number_of(&alone, &constant->name, 1, out);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static cli_constant *add(cli_constants *constants)
{
    if (constants->count == constants->capacity) {
        int capacity = constants->capacity > 0 ? 2 * constants->capacity : 32;
        cli_constant *more = cli_alloc((size_t)capacity, sizeof *more);
        if (constants->count > 0)
            memcpy(more, constants->constant, (size_t)constants->count * sizeof *more);
        free(constants->constant);
        constants->constant = more;
        constants->capacity = capacity;
    }
    return &constants->constant[constants->count++];
}

void cli_constants_free(cli_constants *constants)
{
    for (int c = 0; c < constants->count; c++)
        free(constants->constant[c].token);
    free(constants->constant);
}

const cli_constant *cli_constants_find(const cli_constants *constants, const cli_token *name)
{
    for (int c = constants->count - 1; c >= 0; c--)
        if (cli_token_same(&constants->constant[c].name, name))
            return constants->constant[c].name.kind == CLI_TOKEN_NAME ? &constants->constant[c] : NULL;
    return NULL;
}

void cli_constants_directive(cli_constants *constants, const cli_token *directive)
{
    bool defines = cli_directive_is(directive, "#define");
    if (!defines && !cli_directive_is(directive, "#undef"))
        return;
    int count;
    cli_token *token = cli_source_cut_directive(directive, 1, &count);
    if (token[0].kind != CLI_TOKEN_NAME) {
        free(token);
        return;
    }
    cli_constant *constant = add(constants);
    *constant = (cli_constant){.name = token[0], .token = token, .count = count - 1};
    memmove(token, token + 1, (size_t)(count - 1) * sizeof *token);
    constant->has_arguments =
        cli_token_is(&token[0], "(") && token[0].start == constant->name.start + constant->name.length;
    if (!defines)
        constant->name.kind = CLI_TOKEN_OTHER; /* forgotten */
}

void cli_constants_enum(cli_constants *constants, const cli_token *at)
{
    at += at->kind == CLI_TOKEN_NAME;
    if (!cli_token_is(at++, "{"))
        return;
    cli_number next = {0};
    bool known = true;
    while (at->kind == CLI_TOKEN_NAME) {
        const cli_token *name = at++;
        if (cli_token_is(at, "=")) {
            int count = 0, inside = 0;
            for (at++; at[count].kind != CLI_TOKEN_END; count++) {
                inside += cli_token_is(&at[count], "(") - cli_token_is(&at[count], ")");
                if (inside == 0 && cli_token_in(&at[count], ", }"))
                    break;
            }
            known = cli_number_of(constants, at, count, &next) && !next.is_real;
            at += count;
        }
        cli_constant *constant = add(constants);
        *constant = (cli_constant){.name = *name, .value = next, .known = known};
        known = known && !__builtin_add_overflow(next.integer, 1, &next.integer);
        if (!cli_token_is(at, ","))
            return;
        at++;
    }
}
