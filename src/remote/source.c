/* remote/source.c - filtering texts and options of programs: no input or output. */
#include "remote/source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "net/include.h"

/* ---- options ---- */

/** An allowed compiler option that is one word: no argument follows it after a blank. */
typedef struct rule {
    const char *name;
    const char *value; /* characters that may follow, beside letters and digits; NULL: nothing may follow */
} rule;

/* Options beginning with -cl- are OpenCL's or a vendor's, and name no file, so all are allowed; other options are
 * listed one by one. -cl-std= may not choose C++ for OpenCL (in_table()): its literals would hide directives from
 * net/include.h. */
static const rule rules[] = {{"-cl-", "-_=+.,"},
                             {"-w", NULL},
                             {"-Werror", NULL},
                             {"-W", "-"},
                             {"-g", NULL},
                             {"-O", NULL},
                             {"-O0", NULL},
                             {"-O1", NULL},
                             {"-O2", NULL},
                             {"-O3", NULL},
                             {"-create-library", NULL},
                             {"-enable-link-options", NULL}};

/* Whether an option is one of the table. */
static bool in_table(const char *at, size_t length)
{
    static const char version[] = "-cl-std=";
    if (length >= sizeof version - 1 && memcmp(at, version, sizeof version - 1) == 0)
        return length > sizeof version + 1 && memcmp(at + sizeof version - 1, "CL", 2) == 0 &&
               strspn(at + sizeof version + 1, "0123456789.") == length - sizeof version - 1;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        size_t named = strlen(rules[r].name), c = named;
        if (length < named || memcmp(at, rules[r].name, named) != 0)
            continue;
        while (rules[r].value != NULL && c < length &&
               (isalnum((unsigned char)at[c]) || strchr(rules[r].value, at[c]) != NULL))
            c++;
        if (c == length)
            return true;
    }
    return false;
}

static bool refuse(const char *at, size_t length, const char *reason, char *why_out, size_t capacity)
{
    enum { MOST = 100 };
    char shown[MOST + 1];
    size_t count = length < MOST ? length : MOST;
    for (size_t c = 0; c < count; c++)
        shown[c] = isprint((unsigned char)at[c]) ? at[c] : '?';
    shown[count] = '\0';
    snprintf(why_out, capacity, "DCL: the option %s is refused: %s\n", shown, reason);
    return false;
}

/* Check an option or a part of one between spaces. @param defines  whether -D or -U stands before it. */
static bool check_part(const char *at, size_t length, bool defines, bool quoted, char *why_out, size_t capacity)
{
    static const char list[] = "expected -D, -U, -w, -W..., -g, -O0 to -O3, or one that begins with -cl-";
    if (defines || quoted)
        for (size_t c = 0; c < length; c++) /* a driver that ignores quotes would read it as an option or a file */
            if ((c == 0 && (at[c] == '-' || at[c] == '@')) || (quoted && at[c] == '/'))
                return refuse(at, length, "it stands in a definition, but could be read as a file or an option",
                              why_out, capacity);
    if (defines || quoted || (length > 2 && (memcmp(at, "-D", 2) == 0 || memcmp(at, "-U", 2) == 0)))
        return true;
    if (length >= 2 && memcmp(at, "-I", 2) == 0)
        return refuse(at, length, "compilers read no files of the worker; the driver sends the files that it finds",
                      why_out, capacity);
    return in_table(at, length) || refuse(at, length, list, why_out, capacity);
}

bool dcli_options_check(const char *options, char *why_out, size_t capacity)
{
    static const char spaces[] = " \t\n\r\v\f";
    bool defines = false, quoted = false; /* of the part: it follows -D alone; it begins within quotes */
    for (const char *at = options + strspn(options, spaces); *at != '\0'; at += strspn(at, spaces)) {
        size_t length = strcspn(at, spaces);
        bool alone = length == 2 && (memcmp(at, "-D", 2) == 0 || memcmp(at, "-U", 2) == 0);
        if (alone && !quoted && !defines) {
            defines = true;
            at += length;
            continue;
        }
        if (!check_part(at, length, defines, quoted, why_out, capacity))
            return false;
        defines = false;
        for (size_t c = 0; c < length; c++)
            quoted ^= at[c] == '"' && (c == 0 || at[c - 1] != '\\');
        at += length;
    }
    return true;
}

/* ---- text ---- */

/** A text that grows. `failed`: there was no memory. */
typedef struct output {
    char *text;
    size_t length, capacity;
    bool failed;
} output;

static void add(output *out, const char *bytes, size_t length)
{
    if (out->failed || out->length + length + 1 > out->capacity) {
        size_t capacity = 2 * out->capacity + length + 1;
        char *grown = out->failed ? NULL : dcli_realloc(out->text, capacity, 1);
        if (grown == NULL) {
            out->failed = true;
            return;
        }
        out->text = grown;
        out->capacity = capacity;
    }
    if (length > 0)
        memcpy(out->text + out->length, bytes, length);
    out->length += length;
    out->text[out->length] = '\0';
}

static void add_text(output *out, const char *text) { add(out, text, strlen(text)); }

static bool is_sent_along(const dcli_include *include)
{
    int number = 0, end = 0;
    return include->form == '"' && sscanf(include->name, DCLI_INCLUDE_NAME "%n", &number, &end) == 1 && end > 0 &&
           include->name[end] == '\0';
}

/* Replace a directive by one that fails. */
static void add_refusal(output *out, const char *text, const dcli_include *include)
{
    add_text(out, "#error DCL: ");
    for (const char *c = include->name; *c != '\0'; c++) {
        bool plain = isalnum((unsigned char)*c) || strchr("._+-/", *c) != NULL;
        add(out, plain ? c : "_", 1);
    }
    if (include->name[0] == '\0')
        add_text(out, "a file named by a macro");
    add_text(out, " is not there: the driver found it in no folder of -I, and compilers read no files of the worker");
    for (size_t c = include->begin; c < include->end; c++)
        if (text[c] == '\n' || (text[c] == '\r' && (c + 1 == include->end || text[c + 1] != '\n')))
            add_text(out, "\n");
}

/* A compiler reads a comment in an inactive #error, but not in an active one. Take the beginning of a comment out, so that
 * both see the same directives after it. */
static void add_message(output *out, const char *text, const dcli_include *include)
{
    for (size_t c = include->begin; c < include->end; c++) {
        bool comment = text[c] == '/';
        add(out, comment ? " " : &text[c], 1);
    }
}

char *dcli_source_confine(const char *text, size_t length, size_t *length_out)
{
    output out = {0};
    dcli_include include;
    size_t done = 0;
    add(&out, "", 0);
    if (dcli_has_trigraph(text, length)) { /* compilers differ in what a directive is then */
        add_text(&out,
                 "#error DCL: the text has a trigraph with = or a slash; write the character that it stands for\n");
        length = 0;
    }
    while (dcli_include_next(text, length, done, &include)) {
        add(&out, text + done, include.begin - done);
        if (include.is_message)
            add_message(&out, text, &include);
        else if (is_sent_along(&include))
            add(&out, text + include.begin, include.end - include.begin);
        else
            add_refusal(&out, text, &include);
        done = include.end;
    }
    add(&out, text + done, length - done);
    if (out.failed) {
        dcli_free(out.text);
        return NULL;
    }
    *length_out = out.length;
    return out.text;
}
