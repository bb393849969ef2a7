/* kernel/log.c - translate a compiler's log into a sentence about the user's text.
 * Generated programs name their parts by #line: "body", "prelude", "generated". NVIDIA's compiler ignores this and
 * counts the lines of the whole program (`<kernel>:41:20: ...`); these lines are looked up in the program text. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "kernel/quote.h"
#include "kernel/rewrite.h"

enum part { PART_BODY, PART_PRELUDE, PART_GENERATED, PART_COUNT };

static const char *const part_names[PART_COUNT] = {"body", "prelude", "generated"};

/* One message of a log: `file:line:column: error: message`. */
struct message {
    const char *file;
    int file_length;
    int line, column;
    const char *text;
    int length;
};

static bool read_count(const char **at, int *out)
{
    char *end;
    long value = isdigit((unsigned char)**at) ? strtol(*at, &end, 10) : -1;
    if (value < 0 || value > INT32_MAX)
        return false;
    *out = (int)value;
    *at = end;
    return true;
}

/* Skip <...>, which may be nested. */
static const char *pass_angles(const char *at)
{
    for (int depth = 0; *at != '\0' && *at != '\n'; at++) {
        depth += (*at == '<') - (*at == '>');
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Parse ":12:20: " at `at`, and take the rest of the line as message text. The column may be missing. For a macro, PoCL
 * inserts the position of its definition before the last colon: ` <Spelling=file:291:23>`. @return false: there is no
 * position. */
static bool read_position(const char *at, struct message *out)
{
    out->column = 1;
    if (*at++ != ':' || !read_count(&at, &out->line) || *at++ != ':')
        return false;
    if (read_count(&at, &out->column)) {
        if (strncmp(at, " <Spelling=", 11) == 0)
            at = pass_angles(at + 1);
        if (*at++ != ':')
            return false;
    }
    out->text = at + strspn(at, " ");
    out->length = (int)strcspn(out->text, "\r\n");
    return true;
}

/* Skip the words that begin a relevant message at *at: "error:", or without `error` the warning about a call of an
 * unknown function, which some compilers leave to a linker that names no lines. @return false: it is another
 * message. */
static bool pass_kind(const char **at, bool error)
{
    const char *word = *at + (strncmp(*at, "fatal ", 6) == 0 ? 6 : 0), *kind = error ? "error:" : "warning:";
    if (strncmp(word, kind, strlen(kind)) != 0)
        return false;
    word += strlen(kind);
    word += strspn(word, " ");
    if (!error && strncmp(word, "implicit declaration", 20) != 0)
        return false;
    *at = word;
    return true;
}

static bool is_called(const char *name, int length, const char *part)
{
    int wanted = (int)strlen(part);
    return length >= wanted && memcmp(name + length - wanted, part, (size_t)wanted) == 0;
}

/* Parse one line of a log. clang and NVIDIA write `file:line:column: error: message`, PoCL writes
 * `error: file:line:column: message`. @return false: the line is no error (without `error`: no call of an unknown
 * function). */
static bool read_line(const char *line, bool error, struct message *out)
{
    const char *end = line + strcspn(line, "\n");
    bool leads = pass_kind(&line, error);
    for (const char *at = line; (at = memchr(at, ':', (size_t)(end - at))) != NULL; at++) {
        if (!read_position(at, out))
            continue;
        const char *text = out->text;
        if (!leads && !pass_kind(&out->text, error))
            continue;
        out->length -= (int)(out->text - text);
        out->file = line;
        out->file_length = (int)(at - line);
        return !is_called(out->file, out->file_length, "lanes"); /* the other kernels repeat it (kernel/lanes.h) */
    }
    return false;
}

/* Find the first error of a log, or else the first call of an unknown function. */
static bool find_message(const char *log, bool error, struct message *out)
{
    for (const char *line = log; *line != '\0';) {
        if (read_line(line, error, out))
            return true;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return error && find_message(log, false, out);
}

/* Find line *line_in_out of a program in one of its parts, following the #line directives. @return the part; the line
 * becomes its number there. */
static enum part look_up(const char *source, int *line_in_out)
{
    enum part part = PART_GENERATED;
    int here = 1, line = 1;
    for (const char *at = source; *at != '\0' && line < *line_in_out; line++, here++) {
        char name[16];
        if (sscanf(at, "#line %d \"%15[a-z]\"", &here, name) == 2) {
            here--;
            for (int p = 0; p < PART_COUNT; p++)
                if (strcmp(name, part_names[p]) == 0)
                    part = (enum part)p;
        }
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    *line_in_out = here;
    return part;
}

static bool has_line(const char *text, int line)
{
    for (; line > 1 && text != NULL; line--) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL;
}

/* Find the part of the program that a message is about: by the file that it names, else by its line. message->line
 * becomes a line of that part. */
static enum part find_part(const dcli_body *body, dcli_form form, bool watched, bool gathers, struct message *message)
{
    for (int p = 0; p < PART_COUNT; p++)
        if (is_called(message->file, message->file_length, part_names[p]))
            return (enum part)p;
    const char *names[DCLI_VARIANT_MOST];
    char *source = dcli_body_program(body, form, watched, gathers, names);
    int line = message->line;
    enum part part = source != NULL ? look_up(source, &line) : PART_GENERATED;
    dcli_free(source);
    if (part != PART_GENERATED) {
        message->line = line;
        return part;
    }
    return has_line(body->text, message->line) ? PART_BODY : PART_GENERATED;
}

static bool is_of_unknown_name(const struct message *message)
{
    static const char *const unknown[] = {"undeclared", "implicit declaration", "undefined"};
    for (size_t u = 0; u < sizeof unknown / sizeof unknown[0]; u++)
        if (memmem(message->text, (size_t)message->length, unknown[u], strlen(unknown[u])) != NULL)
            return true;
    return false;
}

/* An array of the call whose name the message quotes; NULL: none. */
static const char *named_array(const dcli_body *body, const struct message *message)
{
    for (int k = 0; k < body->param_count; k++) {
        char quoted[sizeof body->params[k].name + 2];
        int length = snprintf(quoted, sizeof quoted, "'%s'", body->params[k].name);
        if (body->params[k].rank > 0 && memmem(message->text, (size_t)message->length, quoted, (size_t)length) != NULL)
            return body->params[k].name;
    }
    return NULL;
}

/* A parameter whose name differs only in case from one that a message quotes; NULL: none. */
static const char *named_otherwise(const dcli_body *body, const struct message *message)
{
    const char *quote = memchr(message->text, '\'', (size_t)message->length);
    const char *end =
        quote != NULL ? memchr(quote + 1, '\'', (size_t)(message->text + message->length - quote - 1)) : NULL;
    for (int k = 0; end != NULL && k < body->param_count; k++)
        if (strlen(body->params[k].name) == (size_t)(end - quote - 1) &&
            strncasecmp(quote + 1, body->params[k].name, (size_t)(end - quote - 1)) == 0)
            return body->params[k].name;
    return NULL;
}

/* Add advice if a compiler stumbles over another language's operator for a power. */
static void put_power(dcli_text *out, const char *text, const struct message *message, int column)
{
    for (int line = 1; line < message->line && text != NULL; line++) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    if (text == NULL || column < 1 || (size_t)column > strcspn(text, "\n"))
        return;
    const char *at = text + column - 1;
    if (*at == '^')
        dcli_text_put(out, "; ^ is the exclusive or of integers: for a power write x * x, or pow(x, y)");
    else if (at[0] == '*' && (at[1] == '*' || (at > text && at[-1] == '*')))
        dcli_text_put(out, "; OpenCL C has no **: for a power write x * x, or pow(x, y)");
}

/* Add advice for an undeclared name: an array that a prelude names, or most often a forgotten argument. */
static void put_remedy(dcli_text *out, const dcli_body *body, const struct message *message, bool in_prelude)
{
    const char *array = is_of_unknown_name(message) ? named_array(body, message) : NULL;
    if (array != NULL)
        dcli_text_put(out, "; %s is an array of this call, which only the body names: write %s(...) there", array,
                      array);
    else if (is_of_unknown_name(message) && named_otherwise(body, message) != NULL)
        dcli_text_put(out, "; this call has %s: capital letters count", named_otherwise(body, message));
    else if (is_of_unknown_name(message) && !in_prelude)
        dcli_text_put(out, "; declare it: an array with DCL_IN or DCL_OUT, a scalar with DCL_VALUE, a function in a "
                           "DCL_PRELUDE");
}

static void put_body_error(dcli_text *out, const dcli_body *body, const struct message *message)
{
    dcli_text rewritten = {0};
    dcli_shift_list shifts = {0};
    dcli_rewrite(body, &rewritten, &shifts);
    int column = dcli_shift_back(&shifts, message->line, message->column);
    out->failed |= rewritten.failed;
    dcli_text_put(out, "line %d, column %d: %.*s", message->line, column, message->length, message->text);
    put_remedy(out, body, message, false);
    put_power(out, body->text, message, column);
    dcli_quote(out, body->text, message->line, column);
    dcli_text_free(&rewritten);
    dcli_free(shifts.shift);
}

char *dcli_body_log(const dcli_body *body, dcli_form form, bool watched, bool gathers, const char *build_log)
{
    dcli_text out = {0};
    struct message message;
    if (!find_message(build_log, true, &message)) {
        int shown = (int)strnlen(build_log, 600);
        dcli_text_put(&out, "the compiler of the device refused the body and named no line; its log begins: %.*s",
                      shown, build_log);
        return dcli_text_take(&out);
    }
    switch (find_part(body, form, watched, gathers, &message)) {
    case PART_PRELUDE:
        dcli_text_put(&out, "prelude line %d, column %d: %.*s", message.line, message.column, message.length,
                      message.text);
        put_remedy(&out, body, &message, true);
        dcli_quote(&out, body->prelude, message.line, message.column);
        break;
    case PART_GENERATED:
        dcli_text_put(&out,
                      "the compiler of the device refused what was generated around the body: %.*s; this is a "
                      "mistake of the library, or the prelude redefines a word of OpenCL C",
                      message.length, message.text);
        break;
    default:
        put_body_error(&out, body, &message);
    }
    return dcli_text_take(&out);
}
