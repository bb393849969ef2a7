/* kernel/token.c - cut OpenCL C into tokens.
 * Only what a body may contain: preprocessor lines, digraphs and trigraphs are refused. So the brackets found here are
 * those that a compiler finds, and no text can leave the block that it is inserted into.
 * Source: ISO/IEC 9899:1999, 6.4 (lexical elements). */
#include "kernel/token.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/quote.h"

enum { DEEPEST = 200 }; /* deepest nesting of brackets, because the parser recurses */

struct scanner {
    const char *at, *line_start;
    int line;
    dcli_tokens *tokens;
};

static dcl_status fail_at(struct scanner *s, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static dcl_status fail_at(struct scanner *s, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dcl_status status = dcli_quote_fail(s->tokens->text, s->line, (int)(at - s->line_start) + 1, format, arguments);
    va_end(arguments);
    return status;
}

static bool is_name_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void new_line(struct scanner *s, const char *start)
{
    s->line++;
    s->line_start = start;
}

static dcl_status skip_comment(struct scanner *s)
{
    const char *start = s->at, *end = strstr(s->at + 2, "*/");
    if (end == NULL)
        return fail_at(s, start, "this comment is not closed; end it with */");
    for (; s->at < end; s->at++)
        if (*s->at == '\n')
            new_line(s, s->at + 1);
    s->at = end + 2;
    return DCL_OK;
}

/* Skip blanks and comments. @return DCL_OK or DCL_ERR_BODY. */
static dcl_status skip_blanks(struct scanner *s)
{
    for (;;) {
        if (*s->at == '\n') {
            new_line(s, ++s->at);
        } else if (*s->at != '\0' && strchr(" \t\r\v\f", *s->at) != NULL) {
            s->at++;
        } else if (s->at[0] == '/' && s->at[1] == '/') {
            s->at += strcspn(s->at, "\n");
        } else if (s->at[0] == '/' && s->at[1] == '*') {
            dcl_status status = skip_comment(s);
            if (status != DCL_OK)
                return status;
        } else {
            return DCL_OK;
        }
    }
}

static int number_length(const char *at)
{
    int length = 1;
    while (is_name_byte(at[length]) || at[length] == '.' ||
           ((at[length] == '+' || at[length] == '-') && strchr("eEpP", at[length - 1]) != NULL))
        length++;
    return length;
}

/* Length of a string or character literal with its quotes; 0 if it is not closed on its line. */
static int quoted_length(const char *at)
{
    for (int length = 1; at[length] != '\0' && at[length] != '\n'; length++) {
        if (at[length] == at[0])
            return length + 1;
        if (at[length] == '\\' && at[length + 1] != '\0' && at[length + 1] != '\n')
            length++;
    }
    return 0;
}

static int sign_length(const char *at)
{
    static const char *const signs[] = {"<<=", ">>=", "...", "++", "--", "->", "==", "!=", "<=", ">=", "&&",
                                        "||",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>"};
    bool may_be_longer =
        at[1] != '\0' && strchr("<>=.+-&|", at[1]) != NULL; /* what follows in signs of several bytes */
    for (size_t s = 0; may_be_longer && s < sizeof signs / sizeof signs[0]; s++)
        if (strncmp(at, signs[s], strlen(signs[s])) == 0)
            return (int)strlen(signs[s]);
    return strchr("+-*/%=<>!&|^~?:;,.()[]{}", *at) != NULL ? 1 : 0;
}

static dcl_status refuse_spelling(struct scanner *s)
{
    static const char *const others[] = {"<:", ":>", "<%", "%>", "%:", "\?\?"};
    if (*s->at == '#')
        return fail_at(s, s->at, "# begins a preprocessor line; a body has none: put definitions into a DCL_PRELUDE");
    for (size_t o = 0; strchr("<:%?", *s->at) != NULL && o < sizeof others / sizeof others[0]; o++)
        if (strncmp(s->at, others[o], 2) == 0)
            return fail_at(s, s->at, "%s is a digraph or trigraph; write the sign it stands for", others[o]);
    return DCL_OK;
}

static dcl_status measure(struct scanner *s, dcli_token *token)
{
    dcl_status status = refuse_spelling(s);
    if (status != DCL_OK)
        return status;
    if (is_name_byte(*s->at) && !isdigit((unsigned char)*s->at)) {
        token->kind = DCLI_TOKEN_NAME;
        while (is_name_byte(s->at[token->length]))
            token->length++;
    } else if (isdigit((unsigned char)s->at[0]) || (s->at[0] == '.' && isdigit((unsigned char)s->at[1]))) {
        token->kind = DCLI_TOKEN_NUMBER;
        token->length = number_length(s->at);
    } else if (*s->at == '"' || *s->at == '\'') {
        token->kind = DCLI_TOKEN_TEXT;
        token->length = quoted_length(s->at);
        if (token->length == 0)
            return fail_at(s, s->at, "this %c is not closed on its line; add the closing %c", *s->at, *s->at);
    } else {
        token->length = sign_length(s->at);
        if (token->length == 0)
            return fail_at(s, s->at,
                           isprint((unsigned char)*s->at) ? "'%c' has no meaning in OpenCL C; take it away"
                                                          : "a byte of value %d has no meaning in OpenCL C; "
                                                            "outside of comments use plain ASCII",
                           (unsigned char)*s->at);
    }
    return DCL_OK;
}

static dcl_status cut(struct scanner *s)
{
    dcli_tokens *tokens = s->tokens;
    for (;;) {
        dcl_status status = skip_blanks(s);
        if (status != DCL_OK)
            return status;
        if (dcli_grow(&tokens->token, tokens->count, &tokens->capacity, sizeof *tokens->token) != 0)
            return DCL_ERR_NOMEM;
        dcli_token *token = &tokens->token[tokens->count];
        *token = (dcli_token){.kind = *s->at == '\0' ? DCLI_TOKEN_END : DCLI_TOKEN_SIGN,
                              .start = (int)(s->at - tokens->text),
                              .line = s->line,
                              .column = (int)(s->at - s->line_start) + 1,
                              .partner = -1};
        if (token->kind == DCLI_TOKEN_END)
            return DCL_OK;
        status = measure(s, token);
        if (status != DCL_OK)
            return status;
        s->at += token->length;
        tokens->count++;
    }
}

static char closing_of(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

/* Check brackets at a semicolon, token t: a statement must not end inside ( or [, except in the head of a for loop.
 * @param open  the innermost open bracket. */
static dcl_status check_open(const dcli_tokens *tokens, int open, int t)
{
    char sign = tokens->text[tokens->token[open].start];
    if (dcli_token_is(tokens, t, ";") && sign != '{' && !dcli_token_is(tokens, open - 1, "for"))
        return dcli_token_fail(tokens, open, "this %c is not closed before the statement ends; add the missing %c",
                               sign, closing_of(sign));
    return DCL_OK;
}

static dcl_status match_brackets(dcli_tokens *tokens)
{
    int open[DEEPEST], depth = 0;
    for (int t = 0; t < tokens->count; t++) {
        const dcli_token *token = &tokens->token[t];
        char sign = tokens->text[token->start];
        if (token->kind != DCLI_TOKEN_SIGN || token->length != 1)
            continue;
        if (depth > 0 && check_open(tokens, open[depth - 1], t) != DCL_OK)
            return DCL_ERR_BODY;
        if (strchr("([{", sign) != NULL) {
            if (depth == DEEPEST)
                return dcli_token_fail(tokens, t, "brackets are nested deeper than %d; use helper variables", DEEPEST);
            open[depth++] = t;
        } else if (strchr(")]}", sign) != NULL) {
            if (depth == 0)
                return dcli_token_fail(tokens, t, "this %c closes nothing; take it away or add what it closes", sign);
            char opened = tokens->text[tokens->token[open[depth - 1]].start];
            if (closing_of(opened) != sign)
                return dcli_token_fail(tokens, t, "found %c, expected %c to close the %c of line %d, column %d", sign,
                                       closing_of(opened), opened, tokens->token[open[depth - 1]].line,
                                       tokens->token[open[depth - 1]].column);
            depth--;
            tokens->token[t].partner = open[depth];
            tokens->token[open[depth]].partner = t;
        }
    }
    if (depth == 0)
        return DCL_OK;
    char opened = tokens->text[tokens->token[open[depth - 1]].start];
    return dcli_token_fail(tokens, open[depth - 1], "this %c is not closed; add the missing %c", opened,
                           closing_of(opened));
}

/* Refuse a text with characters that change where lines end, even inside words and comments: a backslash at the end of
 * a line joins lines; a lone carriage return ends a line for clang, so that a comment ends earlier than it seems. */
static dcl_status refuse_odd_lines(struct scanner *s)
{
    for (const char *at = s->at; *at != '\0'; at++) {
        if (*at == '\r' && at[1] != '\n')
            return fail_at(s, at, "a carriage return alone ends a line only for some compilers; end lines with \\n");
        if (*at == '\\' && at[1 + strspn(at + 1, " \t\r\v\f")] == '\n')
            return fail_at(s, at, "a backslash at the end of a line joins it to the next; take the backslash away");
        if (*at == '\n')
            new_line(s, at + 1);
    }
    return DCL_OK;
}

dcl_status dcli_tokens_make(const char *text, dcli_tokens *tokens_out)
{
    dcli_tokens tokens = {.text = text};
    struct scanner first = {.at = text, .line_start = text, .line = 1, .tokens = &tokens}, scanner = first;
    dcl_status status = refuse_odd_lines(&first);
    if (status == DCL_OK)
        status = cut(&scanner);
    if (status == DCL_OK)
        status = match_brackets(&tokens);
    if (status != DCL_OK)
        dcli_tokens_free(&tokens);
    else
        *tokens_out = tokens;
    return status;
}

void dcli_tokens_free(dcli_tokens *tokens)
{
    dcli_free(tokens->token);
    *tokens = (dcli_tokens){0};
}

dcli_token_kind dcli_token_kind_of(const dcli_tokens *tokens, int t)
{
    return t < 0 || t >= tokens->count ? DCLI_TOKEN_END : tokens->token[t].kind;
}

bool dcli_token_is(const dcli_tokens *tokens, int t, const char *spelling)
{
    if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_END)
        return false;
    const dcli_token *token = &tokens->token[t];
    return token->kind != DCLI_TOKEN_TEXT &&
           strncmp(tokens->text + token->start, spelling, (size_t)token->length) == 0 &&
           spelling[token->length] == '\0';
}

bool dcli_token_in(const dcli_tokens *tokens, int t, const char *spellings)
{
    if (dcli_token_kind_of(tokens, t) == DCLI_TOKEN_END)
        return false;
    const dcli_token *token = &tokens->token[t];
    for (const char *at = spellings; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if ((int)length == token->length && strncmp(tokens->text + token->start, at, length) == 0)
            return token->kind != DCLI_TOKEN_TEXT;
        at += length + strspn(at + length, " ");
    }
    return false;
}

bool dcli_tokens_equal(const dcli_tokens *tokens, int a, int b, int count)
{
    for (int t = 0; t < count; t++) {
        const dcli_token *x = &tokens->token[a + t], *y = &tokens->token[b + t];
        if (x->length != y->length || memcmp(tokens->text + x->start, tokens->text + y->start, (size_t)x->length) != 0)
            return false;
    }
    return true;
}

int dcli_token_split(const dcli_tokens *tokens, int open, int capacity, int first_out[], int end_out[])
{
    int close = tokens->token[open].partner, parts = 0, first = open + 1;
    if (first == close)
        return 0;
    for (int t = first; t <= close; t++) {
        if (t == close || dcli_token_is(tokens, t, ",")) {
            if (parts < capacity) {
                first_out[parts] = first;
                end_out[parts] = t;
            }
            parts++;
            first = t + 1;
        } else if (tokens->token[t].partner > t) {
            t = tokens->token[t].partner;
        }
    }
    return parts;
}

dcl_status dcli_token_fail(const dcli_tokens *tokens, int t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dcl_status status =
        dcli_quote_fail(tokens->text, tokens->token[t].line, tokens->token[t].column, format, arguments);
    va_end(arguments);
    return status;
}

dcl_status dcli_token_fail_behind(const dcli_tokens *tokens, int t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dcl_status status = dcli_quote_fail(tokens->text, tokens->token[t].line,
                                        tokens->token[t].column + tokens->token[t].length, format, arguments);
    va_end(arguments);
    return status;
}
