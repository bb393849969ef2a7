/* net/include.c - a scanner of lines, comments, literals and directives; it does not expand macros, by which no directive is made. */
#include "net/include.h"

#include <stdio.h>
#include <string.h>

enum { END = -1 };

/** A position in the text; characters are read with continuations of lines taken out. */
typedef struct reader {
    const char *text;
    size_t length, at;
} reader;

static bool is_space(int c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\0'; }
static bool is_line_end(int c) { return c == '\n' || c == '\r'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* Length of a continuation at `at`: a backslash, spaces and the end of the line. @return 0: there is none. */
static size_t continuation(const reader *r, size_t at)
{
    if (at >= r->length || r->text[at] != '\\')
        return 0;
    size_t end = at + 1;
    while (end < r->length && is_space(r->text[end]) && r->text[end] != '\0')
        end++;
    if (end >= r->length || !is_line_end(r->text[end]))
        return 0;
    bool two = end + 1 < r->length && is_line_end(r->text[end + 1]) && r->text[end + 1] != r->text[end];
    return end + 1 + two - at;
}

static int peek(reader *r)
{
    for (size_t skip; (skip = continuation(r, r->at)) > 0;)
        r->at += skip;
    return r->at < r->length ? (unsigned char)r->text[r->at] : END;
}

static int next(reader *r)
{
    int c = peek(r);
    r->at += c != END;
    return c;
}

static bool take(reader *r, char wanted)
{
    if (peek(r) != wanted)
        return false;
    r->at++;
    return true;
}

/* Skip the rest of a comment that a / has begun. @return false: it is none. */
static bool skip_comment(reader *r)
{
    if (take(r, '/')) {
        while (peek(r) != END && !is_line_end(peek(r)))
            r->at++;
        return true;
    }
    if (!take(r, '*'))
        return false;
    for (int c; (c = next(r)) != END;)
        if (c == '*' && take(r, '/'))
            break;
    return true;
}

/* Skip a string or a character after its first quote. One that is not closed ends with its line, as for Clang. */
static void skip_literal(reader *r, int quote)
{
    for (int c; (c = peek(r)) != END && !is_line_end(c);) {
        r->at++;
        if (c == quote)
            return;
        if (c == '\\' && peek(r) != END && !is_line_end(peek(r)))
            r->at++;
    }
}

/* Skip spaces and comments within a line. */
static void skip_spaces(reader *r)
{
    for (;;) {
        int c = peek(r);
        size_t before = r->at;
        if (is_space(c)) {
            r->at++;
            continue;
        }
        if (c != '/')
            return;
        r->at++;
        if (!skip_comment(r)) {
            r->at = before;
            return;
        }
    }
}

static void skip_line(reader *r)
{
    for (int c; (c = peek(r)) != END && !is_line_end(c);) {
        r->at++;
        if (c == '/')
            skip_comment(r);
        else if (c == '"' || c == '\'')
            skip_literal(r, c);
    }
}

/* Read what follows #include if it is neither "NAME" nor <NAME>. The reader's position does not change. */
static void read_rest(const reader *r, dcli_include *include)
{
    reader ahead = *r;
    size_t count = 0;
    while (peek(&ahead) != END && !is_line_end(peek(&ahead)) && count < DCLI_MOST_INCLUDE) {
        skip_spaces(&ahead);
        int c = peek(&ahead);
        if (c == END || is_line_end(c))
            break;
        include->name[count++] = (char)c;
        ahead.at++;
    }
    include->name[count < DCLI_MOST_INCLUDE ? count : 0] = '\0';
}

/* Read the name after #include. */
static void read_name(reader *r, dcli_include *include)
{
    int open = peek(r), close = open == '<' ? '>' : open;
    size_t count = 0;
    include->form = 0;
    if (open != '"' && open != '<') {
        read_rest(r, include);
        return;
    }
    r->at++;
    for (int c; (c = peek(r)) != END && !is_line_end(c);) {
        r->at++;
        if (c == close) {
            include->form = (char)open;
            break;
        }
        if (count < DCLI_MOST_INCLUDE)
            include->name[count++] = (char)c;
    }
    include->name[include->form != 0 && count < DCLI_MOST_INCLUDE ? count : 0] = '\0';
}

/* Read a directive after its #. @return whether it is one to report. */
static bool read_directive(reader *r, dcli_include *include)
{
    char word[24];
    size_t count = 0;
    skip_spaces(r);
    while (is_letter(peek(r))) {
        int c = next(r);
        if (count < sizeof word - 1)
            word[count++] = (char)c;
    }
    word[count] = '\0';
    include->is_message = strcmp(word, "error") == 0 || strcmp(word, "warning") == 0;
    include->name[0] = '\0';
    if (include->is_message) {
        while (peek(r) != END && !is_line_end(peek(r)))
            r->at++;
        return true;
    }
    static const char *const readers[] = {"include", "include_next", "import", "embed", "__include_macros"};
    for (size_t w = 0; w < sizeof readers / sizeof readers[0]; w++)
        if (strcmp(word, readers[w]) == 0) {
            skip_spaces(r);
            read_name(r, include);
            skip_line(r);
            return true;
        }
    return false;
}

bool dcli_include_next(const char *text, size_t length, size_t at, dcli_include *include_out)
{
    reader r = {text, length, at};
    bool begins = true; /* nothing but spaces since the line has begun */
    if (at == 0 && length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.at = 3; /* the mark of UTF-8 */
    while (peek(&r) != END) {
        size_t begin = r.at;
        int c = next(&r);
        if (is_line_end(c)) {
            begins = true;
        } else if (c == '/') {
            begins = skip_comment(&r) && begins;
        } else if (c == '"' || c == '\'') {
            skip_literal(&r, c);
            begins = false;
        } else if (begins && (c == '#' || (c == '%' && take(&r, ':')))) {
            begins = false;
            if (read_directive(&r, include_out)) {
                include_out->begin = begin;
                include_out->end = r.at;
                return true;
            }
        } else if (!is_space(c)) {
            begins = false;
        }
    }
    return false;
}

bool dcli_has_trigraph(const char *text, size_t length)
{
    return memmem(text, length, "\?\?=", 3) != NULL || memmem(text, length, "\?\?/", 3) != NULL;
}
