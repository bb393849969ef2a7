/* kernel/statement.c - parse statements: where they end, and which paths lead through them. */
#include "kernel/parser.h"

#include <string.h>

#include "kernel/inner.h"
#include "kernel/names.h"

enum { DEEPEST = 200 }; /* deepest nesting of statements */

static const dcli_spot in_brackets = {.brackets = 1};

static dcl_status read_statement(dcli_parser *parser);

/* End the current statement. The arrays that it writes count as written from here on. */
static void settle(dcli_parser *parser)
{
    parser->written |= parser->pending;
    parser->pending = 0;
    parser->declaring = false;
}

static bool is_name(const dcli_parser *parser, int t)
{
    return dcli_token_kind_of(parser->tokens, t) == DCLI_TOKEN_NAME;
}

static bool is_type(const dcli_parser *parser, int t)
{
    const dcli_token *token = &parser->tokens->token[t];
    return is_name(parser, t) && dcli_name_is_type(parser->tokens->text + token->start, (size_t)token->length);
}

static bool is_result(const dcli_parser *parser, int t)
{
    for (int r = 0; r < parser->body->result_count; r++)
        if (dcli_token_is(parser->tokens, t, parser->body->params[parser->body->result[r].param].name))
            return true;
    return false;
}

/* Find the semicolon that ends the simple statement beginning at `at`. */
static dcl_status find_end(const dcli_parser *parser, int *end_out)
{
    const dcli_tokens *tokens = parser->tokens;
    for (int t = parser->at;; t++) {
        if (dcli_token_is(tokens, t, ";")) {
            *end_out = t;
            return DCL_OK;
        }
        bool ends =
            dcli_token_kind_of(tokens, t) == DCLI_TOKEN_END || dcli_token_is(tokens, t, "}") ||
            (t > parser->at && dcli_token_in(tokens, t, "if else for while do switch break continue return goto")) ||
            (dcli_token_is(tokens, t, "{") && !dcli_token_in(tokens, t - 1, "= )") &&
             !dcli_token_in(tokens, t - 1, "struct union enum") && !dcli_token_in(tokens, t - 2, "struct union enum"));
        if (ends)
            return dcli_token_fail_behind(tokens, t > parser->at ? t - 1 : t, "a semicolon is missing here");
        if (tokens->token[t].partner > t)
            t = tokens->token[t].partner;
    }
}

static dcl_status read_simple(dcli_parser *parser)
{
    int end = parser->at;
    dcl_status status = find_end(parser, &end);
    if (status != DCL_OK)
        return status;
    parser->declaring =
        is_type(parser, parser->at) ||
        (is_name(parser, parser->at) && is_name(parser, parser->at + 1) && !is_result(parser, parser->at));
    parser->start = parser->at;
    status = dcli_parse_expression(parser, parser->at, end, (dcli_spot){0});
    settle(parser);
    parser->at = end + 1;
    return status;
}

/* Require the parentheses after if, while, switch, for. */
static dcl_status expect_parentheses(dcli_parser *parser, int keyword, int *close_out)
{
    const dcli_tokens *tokens = parser->tokens;
    if (!dcli_token_is(tokens, keyword + 1, "("))
        return dcli_token_fail_behind(tokens, keyword, "expected ( behind %.*s", tokens->token[keyword].length,
                                      tokens->text + tokens->token[keyword].start);
    *close_out = tokens->token[keyword + 1].partner;
    if (*close_out == keyword + 2 && !dcli_token_is(tokens, keyword, "for"))
        return dcli_token_fail(tokens, *close_out, "expected a condition between the parentheses");
    return DCL_OK;
}

static dcl_status read_condition(dcli_parser *parser)
{
    int close = 0;
    dcl_status status = expect_parentheses(parser, parser->at, &close);
    if (status != DCL_OK)
        return status;
    status = dcli_parse_expression(parser, parser->at + 2, close, in_brackets);
    settle(parser);
    parser->at = close + 1;
    return status;
}

static dcl_status read_if(dcli_parser *parser)
{
    dcl_status status = read_condition(parser);
    if (status != DCL_OK)
        return status;
    uint64_t before = parser->written;
    status = read_statement(parser);
    uint64_t after_then = parser->written;
    parser->written = before;
    if (status == DCL_OK && dcli_token_is(parser->tokens, parser->at, "else")) {
        parser->at++;
        status = read_statement(parser);
    }
    parser->written &= after_then;
    return status;
}

/* Parse the body of a loop. The loop may run zero times, so after it the arrays that it writes do not count as written. */
static dcl_status read_loop_body(dcli_parser *parser)
{
    uint64_t before = parser->written;
    parser->inside->has_loop = true;
    parser->loops++;
    dcl_status status = read_statement(parser);
    parser->loops--;
    parser->written = before;
    return status;
}

static dcl_status read_while(dcli_parser *parser)
{
    uint64_t before = parser->written;
    dcl_status status = read_condition(parser);
    if (status == DCL_OK)
        status = read_loop_body(parser);
    parser->written = before;
    return status;
}

static dcl_status read_do(dcli_parser *parser)
{
    const dcli_tokens *tokens = parser->tokens;
    parser->at++;
    dcl_status status = read_loop_body(parser);
    if (status != DCL_OK)
        return status;
    if (!dcli_token_is(tokens, parser->at, "while"))
        return dcli_token_fail_behind(tokens, parser->at - 1, "expected while (...); at the end of do");
    uint64_t before = parser->written;
    status = read_condition(parser);
    parser->written = before;
    if (status != DCL_OK)
        return status;
    if (!dcli_token_is(tokens, parser->at, ";"))
        return dcli_token_fail_behind(tokens, parser->at - 1, "a semicolon is missing here");
    parser->at++;
    return DCL_OK;
}

static dcl_status read_for(dcli_parser *parser)
{
    const dcli_tokens *tokens = parser->tokens;
    int keyword = parser->at, close = 0, semicolon[2] = {0}, found = 0;
    dcl_status status = expect_parentheses(parser, keyword, &close);
    if (status != DCL_OK)
        return status;
    for (int t = keyword + 2; t<close; t = tokens->token[t].partner> t ? tokens->token[t].partner : t + 1)
        if (dcli_token_is(tokens, t, ";") && found++ < 2)
            semicolon[found - 1] = t;
    if (found != 2)
        return dcli_token_fail(tokens, keyword, "a for loop has three parts separated by two semicolons; found %d",
                               found);
    parser->declaring = is_type(parser, keyword + 2) || is_name(parser, keyword + 3);
    parser->start = keyword + 2;
    status = dcli_parse_expression(parser, keyword + 2, semicolon[0], (dcli_spot){0});
    settle(parser);
    uint64_t before = parser->written;
    if (status == DCL_OK)
        status = dcli_parse_expression(parser, semicolon[0] + 1, close, in_brackets);
    settle(parser);
    parser->written = before; /* the condition and the step run after the body, and perhaps never */
    parser->at = close + 1;
    if (status == DCL_OK)
        status = dcli_inner_find(parser, keyword, semicolon);
    if (status == DCL_OK)
        status = read_loop_body(parser);
    return status;
}

static dcl_status read_switch(dcli_parser *parser)
{
    dcl_status status = read_condition(parser);
    if (status != DCL_OK)
        return status;
    int around_block = parser->switch_block;
    uint64_t around_written = parser->switch_written, before = parser->written;
    parser->switch_block = parser->at;
    parser->switch_written = before;
    parser->switches++;
    status = read_statement(parser);
    parser->switches--;
    parser->switch_block = around_block;
    parser->switch_written = around_written;
    parser->written = before; /* it is possible that no case is taken */
    return status;
}

/* Parse a label of a switch. A jump to it may skip everything before it. Such jumps are known only for labels directly
 * in the switch's block; others are refused. */
static dcl_status read_label(dcli_parser *parser, int block)
{
    const dcli_tokens *tokens = parser->tokens;
    int label = parser->at, t = label;
    if (block < 0 || block != parser->switch_block)
        return dcli_token_fail(tokens, label,
                               "this label does not stand directly in the braces of a switch; move it there");
    while (!dcli_token_in(tokens, t, ": ; { }") && t < tokens->count)
        t++;
    if (!dcli_token_is(tokens, t, ":"))
        return dcli_token_fail(tokens, label, "this label has no colon; write case value: or default:");
    dcl_status status = dcli_parse_expression(parser, label + 1, t, in_brackets);
    parser->written = parser->switch_written;
    parser->at = t + 1;
    return status;
}

static dcl_status read_block(dcli_parser *parser)
{
    int open = parser->at, close = parser->tokens->token[open].partner;
    dcl_status status = DCL_OK;
    parser->at++;
    while (status == DCL_OK && parser->at < close)
        status = dcli_token_in(parser->tokens, parser->at, "case default") ? read_label(parser, open)
                                                                           : read_statement(parser);
    parser->at = close + 1;
    return status;
}

static dcl_status read_jump(dcli_parser *parser)
{
    const dcli_tokens *tokens = parser->tokens;
    bool leaves = dcli_token_is(tokens, parser->at, "break");
    if (parser->loops == 0 && !(leaves && parser->switches > 0))
        return dcli_token_fail(tokens, parser->at,
                               "%s stands outside of the body's own loops; the loops over the indices "
                               "run to their end; use if",
                               leaves ? "break" : "continue");
    if (!dcli_token_is(tokens, parser->at + 1, ";"))
        return dcli_token_fail_behind(tokens, parser->at, "a semicolon is missing here");
    parser->at += 2;
    return DCL_OK;
}

/* Skip __attribute__((opencl_unroll_hint(2))) before a loop, which only the compiler uses. Before other statements an
 * attribute is part of them. */
static void skip_attributes(dcli_parser *parser)
{
    const dcli_tokens *tokens = parser->tokens;
    int t = parser->at;
    while (dcli_token_in(tokens, t, "__attribute__ __attribute") && dcli_token_is(tokens, t + 1, "("))
        t = tokens->token[t + 1].partner + 1;
    if (dcli_token_in(tokens, t, "for while do"))
        parser->at = t;
}

static dcl_status read_one(dcli_parser *parser)
{
    static const struct {
        const char *word;
        dcl_status (*read)(dcli_parser *parser);
    } kinds[] = {{"if", read_if},         {"for", read_for},    {"while", read_while},   {"do", read_do},
                 {"switch", read_switch}, {"break", read_jump}, {"continue", read_jump}, {"{", read_block}};
    const dcli_tokens *tokens = parser->tokens;
    skip_attributes(parser);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (dcli_token_is(tokens, parser->at, kinds[k].word))
            return kinds[k].read(parser);
    if (dcli_token_is(tokens, parser->at, "else"))
        return dcli_token_fail(tokens, parser->at, "this else belongs to no if");
    if (dcli_token_in(tokens, parser->at, "case default"))
        return read_label(parser, -1);
    if (dcli_token_is(tokens, parser->at, "}") || dcli_token_kind_of(tokens, parser->at) == DCLI_TOKEN_END)
        return dcli_token_fail_behind(tokens, parser->at - 1, "a statement is missing here");
    return read_simple(parser);
}

static dcl_status read_statement(dcli_parser *parser)
{
    if (parser->depth == DEEPEST)
        return dcli_token_fail(parser->tokens, parser->at, "statements are nested deeper than %d; simplify the body",
                               DEEPEST);
    parser->depth++;
    dcl_status status = read_one(parser);
    parser->depth--;
    return status;
}

dcl_status dcli_parse_statements(dcli_parser *parser)
{
    dcl_status status = DCL_OK;
    while (status == DCL_OK && parser->at < parser->tokens->count)
        status = read_statement(parser);
    return status;
}
