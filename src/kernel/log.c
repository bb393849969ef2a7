/* kernel/log.c - a compiler's log turned into a sentence about the user's text.
 * Generated programs name their parts by #line: "body", "prelude", "generated". A compiler that keeps only the numbers
 * (`<kernel>:1:20: ...`) is taken to mean the body. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/quote.h"
#include "kernel/rewrite.h"

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

/* ":12:20: " at `at`, and the message behind it. The column may be missing. */
static bool read_position(const char *at, struct message *out)
{
    out->column = 1;
    if (*at++ != ':' || !read_count(&at, &out->line) || *at++ != ':')
        return false;
    if (read_count(&at, &out->column) && *at++ != ':')
        return false;
    out->text = at + strspn(at, " ");
    out->length = (int)strcspn(out->text, "\r\n");
    return true;
}

/* Passes the word "error:" or "fatal error:" at the start of a text. */
static bool pass_error(const char **at)
{
    const char *word = *at + (strncmp(*at, "fatal ", 6) == 0 ? 6 : 0);
    if (strncmp(word, "error:", 6) != 0)
        return false;
    *at = word + 6 + strspn(word + 6, " ");
    return true;
}

/* clang and NVIDIA write `file:line:column: error: message`, PoCL `error: file:line:column: message`. */
static bool read_line(const char *line, struct message *out)
{
    const char *end = line + strcspn(line, "\n");
    bool leads = pass_error(&line);
    for (const char *at = line; (at = memchr(at, ':', (size_t)(end - at))) != NULL; at++) {
        if (!read_position(at, out))
            continue;
        const char *text = out->text;
        if (!leads && !pass_error(&out->text))
            continue;
        out->length -= (int)(out->text - text);
        out->file = line;
        out->file_length = (int)(at - line);
        return true;
    }
    return false;
}

/* The first error of a log. */
static bool find_error(const char *log, struct message *out)
{
    while (*log != '\0') {
        if (read_line(log, out))
            return true;
        log += strcspn(log, "\n");
        log += *log == '\n';
    }
    return false;
}

static bool is_in(const struct message *message, const char *part)
{
    int length = (int)strlen(part);
    return message->file_length >= length &&
           memcmp(message->file + message->file_length - length, part, (size_t)length) == 0;
}

/* A name nobody declared is most often an argument that was forgotten. */
static const char *remedy(const struct message *message)
{
    static const char *const unknown[] = {"undeclared", "implicit declaration", "undefined"};
    for (size_t u = 0; u < sizeof unknown / sizeof unknown[0]; u++)
        if (memmem(message->text, (size_t)message->length, unknown[u], strlen(unknown[u])) != NULL)
            return "; declare it: an array with DCL_IN or DCL_OUT, a scalar with DCL_VALUE, a function in a DCL_PRELUDE";
    return "";
}

static void put_body_error(dcli_text *out, const dcli_body *body, const struct message *message)
{
    dcli_text rewritten = {0};
    dcli_shift_list shifts = {0};
    dcli_rewrite(body, &rewritten, &shifts);
    int column = dcli_shift_back(&shifts, message->line, message->column);
    out->failed |= rewritten.failed;
    dcli_text_put(out, "line %d, column %d: %.*s%s", message->line, column, message->length, message->text,
                  remedy(message));
    dcli_quote(out, body->text, message->line, column);
    dcli_text_free(&rewritten);
    dcli_free(shifts.shift);
}

char *dcli_body_log(const dcli_body *body, const char *build_log)
{
    dcli_text out = {0};
    struct message message;
    if (!find_error(build_log, &message)) {
        int shown = (int)strnlen(build_log, 600);
        dcli_text_put(&out, "the compiler of the device refused the body and named no line; its log begins: %.*s", shown,
                      build_log);
    } else if (is_in(&message, "prelude")) {
        dcli_text_put(&out, "prelude line %d, column %d: %.*s", message.line, message.column, message.length,
                      message.text);
        dcli_quote(&out, body->prelude, message.line, message.column);
    } else if (is_in(&message, "generated")) {
        dcli_text_put(&out, "the compiler of the device refused what was generated around the body: %.*s; this is a "
                            "mistake of the library, or the prelude redefines a word of OpenCL C", message.length,
                      message.text);
    } else {
        put_body_error(&out, body, &message);
    }
    return dcli_text_take(&out);
}
