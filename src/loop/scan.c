/* loop/scan.c - cut the text of a loop nest into tokens. */
#include "loop/scan.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct scanner {
    const char *at;
    dcli_loops_place place;
    bool line_begins; /* nothing but white space and comments stands before `at` in its line */
    bool begun;       /* a token or a #line was read */
    dcli_loops_complaints *complaints;
} scanner;

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void step_over(scanner *scan, int length)
{
    for (; length > 0; length--, scan->at++) {
        scan->place.column++;
        if (*scan->at == '\n')
            scan->place = (dcli_loops_place){scan->place.line + 1, 1};
    }
}

/* Length of the rest of a line, with the lines on which it is continued. */
static int rest_of_line(const char *at)
{
    int length = (int)strcspn(at, "\n");
    while (at[length] == '\n' && length > 0 && at[length - 1] == '\\')
        length += 1 + (int)strcspn(at + length + 1, "\n");
    return length;
}

/* Whether a directive has this name; `*after` is what follows the name. */
static bool is_directive(const char *at, const char *name, const char **after)
{
    at += 1 + strspn(at + 1, " \t");
    *after = at + strlen(name);
    return strncmp(at, name, strlen(name)) == 0 && !is_word_byte(**after);
}

/* Read `N "FILE"` of a #line that the text begins with: from there on places are those of a program's file.
 * @return the line that follows; 0: it is none. */
static int read_line_directive(const char *at, char file_out[256])
{
    enum { MOST_LINES = 1000000000 };
    int line = 0, length = 0;
    for (at += strspn(at, " \t"); isdigit((unsigned char)*at) && line < MOST_LINES / 10; at++)
        line = 10 * line + (*at - '0');
    at += strspn(at, " \t");
    if (*at++ != '"')
        return 0;
    for (; *at != '"' && *at != '\n' && *at != '\0' && length < 255; at++) {
        at += *at == '\\' && (at[1] == '\\' || at[1] == '"');
        file_out[length++] = *at;
    }
    file_out[length] = '\0';
    return *at == '"' ? line : 0;
}

/* Step over a directive: #pragma is for compilers; others have no meaning in a nest. */
static void skip_directive(scanner *scan)
{
    const char *after;
    int line = 0;
    if (is_directive(scan->at, "line", &after) && !scan->begun)
        line = read_line_directive(after, scan->complaints->file);
    if (line == 0 && !is_directive(scan->at, "pragma", &after)) {
        if (!scan->begun)
            scan->complaints->file[0] = '\0';
        scan->begun = true; /* places of errors do not change */
        dcli_loops_complain(scan->complaints, scan->place, "directive", "a nest has no preprocessor directives");
        dcli_loops_note(scan->complaints, "pass defined numbers as DCL_VALUE, and write out the branch that is meant");
    }
    step_over(scan, rest_of_line(scan->at));
    if (line == 0)
        return;
    scan->complaints->shift = line - 1 - scan->place.line;
    scan->place.line = line - 1; /* of the directive itself */
    scan->begun = true;
}

/* Skip white space, comments and directives. */
static void skip_blank(scanner *scan)
{
    for (;;) {
        const char *end;
        if (isspace((unsigned char)*scan->at)) {
            scan->line_begins |= *scan->at == '\n';
            step_over(scan, 1);
        } else if (*scan->at == '#' && scan->line_begins) {
            skip_directive(scan);
        } else if (strncmp(scan->at, "//", 2) == 0) {
            step_over(scan, (int)strcspn(scan->at, "\n"));
        } else if (strncmp(scan->at, "/*", 2) == 0) {
            end = strstr(scan->at + 2, "*/");
            if (end == NULL)
                dcli_loops_complain(scan->complaints, scan->place, "syntax", "this comment does not end; expected */");
            step_over(scan, end != NULL ? (int)(end + 2 - scan->at) : (int)strlen(scan->at));
        } else {
            return;
        }
    }
}

/* Length of the number that begins at `at`: letters, digits, `_` and points, and a sign directly after the letter of the
 * exponent, which is p or P if the number is hexadecimal, else e or E. C's preprocessor takes all four letters in any
 * number: it would read 0xE+1 as one number, of which this is 0xE. */
static int number_length(const char *at)
{
    int n = 1;
    bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    while (is_word_byte(at[n]) || at[n] == '.' ||
           ((at[n] == '+' || at[n] == '-') && strchr(hex ? "pP" : "eE", at[n - 1]) != NULL))
        n++;
    return n;
}

static int sign_length(const char *at)
{
    static const char *const signs[] = {"<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                        "^=",  "<=",  ">=", "==", "!=", "&&", "||", "<<", ">>", "->"};
    for (size_t s = 0; s < sizeof signs / sizeof signs[0]; s++)
        if (strncmp(at, signs[s], strlen(signs[s])) == 0)
            return (int)strlen(signs[s]);
    return 1;
}

static void scan_one(scanner *scan, dcli_loops_sign *sign)
{
    skip_blank(scan);
    *sign = (dcli_loops_sign){.kind = DCLI_LOOPS_SIGN_END, .place = scan->place, .start = scan->at};
    if (*scan->at == '\0')
        return;
    scan->begun = true;
    scan->line_begins = false;
    if (isalpha((unsigned char)*scan->at) || *scan->at == '_') {
        sign->kind = DCLI_LOOPS_SIGN_NAME;
        while (is_word_byte(scan->at[sign->length]))
            sign->length++;
    } else if (isdigit((unsigned char)*scan->at) || (*scan->at == '.' && isdigit((unsigned char)scan->at[1]))) {
        sign->kind = DCLI_LOOPS_SIGN_NUMBER;
        sign->length = number_length(scan->at);
    } else {
        sign->kind = DCLI_LOOPS_SIGN_OTHER;
        sign->length = sign_length(scan->at);
    }
    step_over(scan, sign->length);
}

dcli_loops_sign *dcli_loops_signs_make(const char *text, dcli_loops_complaints *complaints, int *count_out)
{
    dcli_loops_sign *signs = NULL;
    int64_t count = 0, capacity = 0;
    scanner scan = {.at = text, .place = {1, 1}, .line_begins = true, .complaints = complaints};
    do {
        if (dcli_grow(&signs, count, &capacity, sizeof *signs) != 0) {
            dcli_free(signs);
            return NULL;
        }
        scan_one(&scan, &signs[count]);
    } while (signs[count++].kind != DCLI_LOOPS_SIGN_END);
    *count_out = (int)count;
    return signs;
}

bool dcli_loops_sign_is(const dcli_loops_sign *sign, const char *spelling)
{
    size_t length = strlen(spelling);
    return sign->kind != DCLI_LOOPS_SIGN_END && (size_t)sign->length == length &&
           memcmp(sign->start, spelling, length) == 0;
}

bool dcli_loops_sign_in(const dcli_loops_sign *sign, const char *spellings)
{
    for (const char *at = spellings; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (sign->kind != DCLI_LOOPS_SIGN_END && (size_t)sign->length == length && memcmp(sign->start, at, length) == 0)
            return true;
        at += length;
        at += strspn(at, " ");
    }
    return false;
}

dcl_status dcli_loops_fail_at(const char *text, const char *name, dcl_status status, const char *code,
                              const char *sentence)
{
    dcli_loops_complaints complaints = {.text = text};
    dcli_text said = {0};
    int count = 0, at = 0, length = (int)strcspn(sentence, ";");
    dcli_loops_sign *signs = dcli_loops_signs_make(text, &complaints, &count);
    while (at < count && !dcli_loops_sign_is(&signs[at], name))
        at++;
    if (at < count && complaints.count == 0) {
        dcli_loops_complain(&complaints, signs[at].place, code, "%.*s", length, sentence);
        if (sentence[length] == ';')
            dcli_loops_note(&complaints, "%s", sentence + length + 1 + strspn(sentence + length + 1, " "));
        dcli_loops_complaints_put(&complaints, "error", &said);
    }
    status = DCLI_FAIL(status, "%s", said.bytes != NULL && !said.failed ? said.bytes : sentence);
    dcli_text_free(&said);
    dcli_loops_complaints_free(&complaints);
    dcli_free(signs);
    return status;
}
