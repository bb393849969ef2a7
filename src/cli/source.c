/* cli/source.c - cut the text of a C program into tokens, and print errors in it. */
#include "cli/source.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

typedef struct scanner {
    const char *at, *end;
    int line, column;
    bool directives;  /* are tokens of their own */
    bool line_begins; /* nothing but blanks and comments stands before `at` in its line */
} scanner;

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80; }

static void step_over(scanner *scan, int length)
{
    for (; length > 0 && scan->at < scan->end; length--, scan->at++) {
        scan->column++;
        if (*scan->at == '\n') {
            scan->line++;
            scan->column = 1;
        }
    }
}

static int left(const scanner *scan) { return (int)(scan->end - scan->at); }

static bool begins(const scanner *scan, const char *with)
{
    return left(scan) >= (int)strlen(with) && memcmp(scan->at, with, strlen(with)) == 0;
}

static int comment_length(const scanner *scan)
{
    int n = 2, most = left(scan);
    if (scan->at[1] == '/') {
        while (n < most &&
               (scan->at[n] != '\n' || scan->at[n - 1] == '\\' || (scan->at[n - 1] == '\r' && scan->at[n - 2] == '\\')))
            n++;
        return n;
    }
    while (n < most && (scan->at[n] != '/' || scan->at[n - 1] != '*' || n < 3))
        n++;
    return n < most ? n + 1 : n;
}

/* Without an end of the line: a quote that is not closed is an apostrophe of a text. */
static int quoted_length(const scanner *scan)
{
    int n = 1, most = left(scan);
    while (n < most && scan->at[n] != scan->at[0] && scan->at[n] != '\n')
        n += scan->at[n] == '\\' ? 2 : 1;
    return n >= most ? most : scan->at[n] == '\n' ? n : n + 1;
}

/* Length of the rest of a line, without its end, with the lines on which it is continued and comments that begin in it. */
static int rest_of_line(const scanner *scan)
{
    scanner rest = *scan;
    while (rest.at < rest.end && *rest.at != '\n') {
        int length = 1;
        if (begins(&rest, "\\\n"))
            length = 2;
        else if (begins(&rest, "\\\r\n"))
            length = 3;
        else if (begins(&rest, "//") || begins(&rest, "/*"))
            length = comment_length(&rest);
        else if (*rest.at == '"' || *rest.at == '\'')
            length = quoted_length(&rest);
        step_over(&rest, length);
    }
    return (int)(rest.at - scan->at);
}

static int number_length(const scanner *scan)
{
    int n = 1, most = left(scan);
    bool hex = most > 1 && scan->at[0] == '0' && (scan->at[1] == 'x' || scan->at[1] == 'X');
    while (n < most &&
           (is_word_byte(scan->at[n]) || scan->at[n] == '.' ||
            ((scan->at[n] == '+' || scan->at[n] == '-') && strchr(hex ? "pP" : "eE", scan->at[n - 1]) != NULL)))
        n++;
    return n;
}

static int sign_length(const scanner *scan)
{
    static const char *const signs[] = {"<<=", ">>=", "...", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=",
                                        "|=",  "^=",  "<=",  ">=", "==", "!=", "&&", "||", "<<", ">>", "->"};
    for (size_t s = 0; s < sizeof signs / sizeof signs[0]; s++)
        if (begins(scan, signs[s]))
            return (int)strlen(signs[s]);
    return 1;
}

static void skip_blank(scanner *scan)
{
    while (scan->at < scan->end) {
        if (*scan->at == '\n')
            scan->line_begins = true;
        if (isspace((unsigned char)*scan->at) || begins(scan, "\\\n"))
            step_over(scan, *scan->at == '\\' ? 2 : 1);
        else if (begins(scan, "\\\r\n"))
            step_over(scan, 3);
        else if (begins(scan, "//") || begins(scan, "/*"))
            step_over(scan, comment_length(scan));
        else
            return;
    }
}

static cli_token next_token(scanner *scan)
{
    skip_blank(scan);
    cli_token token = {.kind = CLI_TOKEN_END, .start = scan->at, .line = scan->line, .column = scan->column};
    if (scan->at == scan->end)
        return token;
    char c = *scan->at;
    if (c == '#' && scan->line_begins && scan->directives) {
        token.kind = CLI_TOKEN_DIRECTIVE;
        token.length = rest_of_line(scan);
    } else if (isdigit((unsigned char)c) || (c == '.' && left(scan) > 1 && isdigit((unsigned char)scan->at[1]))) {
        token.kind = CLI_TOKEN_NUMBER;
        token.length = number_length(scan);
    } else if (is_word_byte(c)) {
        token.kind = CLI_TOKEN_NAME;
        while (token.length < left(scan) && is_word_byte(c = scan->at[token.length]))
            token.length++;
    } else if (c == '"' || c == '\'') {
        token.kind = CLI_TOKEN_QUOTED;
        token.length = quoted_length(scan);
    } else {
        token.kind = CLI_TOKEN_OTHER;
        token.length = sign_length(scan);
    }
    scan->line_begins = false;
    step_over(scan, token.length);
    return token;
}

static cli_token *cut(scanner scan, int *count_out)
{
    int count = 0, capacity = 64;
    cli_token *tokens = cli_alloc((size_t)capacity, sizeof *tokens);
    do {
        if (count == capacity) {
            cli_token *more = cli_alloc((size_t)capacity * 2, sizeof *more);
            memcpy(more, tokens, (size_t)capacity * sizeof *more);
            free(tokens);
            tokens = more;
            capacity *= 2;
        }
        tokens[count] = next_token(&scan);
    } while (tokens[count++].kind != CLI_TOKEN_END);
    *count_out = count;
    return tokens;
}

void cli_source_cut(const char *path, const char *text, cli_source *source_out)
{
    *source_out = (cli_source){.path = path, .text = text};
    source_out->token = cut((scanner){text, text + strlen(text), 1, 1, true, true}, &source_out->count);
}

void cli_source_free(cli_source *source) { free(source->token); }

cli_token *cli_source_cut_directive(const cli_token *directive, int skip, int *count_out)
{
    scanner scan = {directive->start + 1,
                    directive->start + directive->length,
                    directive->line,
                    directive->column + 1,
                    false,
                    false};
    for (int word = 0; word < skip; word++)
        next_token(&scan);
    return cut(scan, count_out);
}

bool cli_directive_is(const cli_token *directive, const char *words)
{
    scanner scan = {directive->start, directive->start + directive->length, 1, 1, false, false};
    while (*words != '\0') {
        size_t length = *words == '#' ? 1 : strcspn(words, " ");
        cli_token word = next_token(&scan);
        if ((size_t)word.length != length || memcmp(word.start, words, length) != 0)
            return false;
        words += length;
        words += strspn(words, " ");
    }
    return true;
}

bool cli_token_is(const cli_token *token, const char *spelling)
{
    return token->kind != CLI_TOKEN_END && (size_t)token->length == strlen(spelling) &&
           memcmp(token->start, spelling, (size_t)token->length) == 0;
}

bool cli_token_in(const cli_token *token, const char *spellings)
{
    for (const char *at = spellings; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (token->kind != CLI_TOKEN_END && (size_t)token->length == length && memcmp(token->start, at, length) == 0)
            return true;
        at += length;
        at += strspn(at, " ");
    }
    return false;
}

bool cli_token_same(const cli_token *a, const cli_token *b)
{
    return a->length == b->length && memcmp(a->start, b->start, (size_t)a->length) == 0;
}

/* Print the line of a place, and a caret below its column. */
static void print_line(const cli_source *source, const cli_token *at)
{
    const char *line = at->start;
    while (line > source->text && line[-1] != '\n')
        line--;
    fprintf(stderr, "    %.*s\n    ", (int)strcspn(line, "\r\n"), line);
    for (; line < at->start; line++) /* a tab stays one, so that the caret stands below its place */
        fputc(*line == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

bool cli_source_error(cli_source *source, const cli_token *at, const char *code, const char *note, const char *format,
                      ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s:%d:%d: error: ", source->path, at->line, at->column);
    vfprintf(stderr, format, values);
    fprintf(stderr, " [%s]\n", code);
    va_end(values);
    print_line(source, at);
    if (note != NULL)
        fprintf(stderr, "  note: %s\n", note);
    source->errors++;
    return false;
}
